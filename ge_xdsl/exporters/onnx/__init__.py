"""IR -> ONNX. `model` writes whole graphs, the family files convert single ops."""
