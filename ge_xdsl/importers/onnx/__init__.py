"""ONNX models -> GE graphs, as GE's own parser maps them; `reader.import_onnx` is the door."""
