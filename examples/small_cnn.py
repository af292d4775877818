"""Writes a small convolutional classifier as ONNX: the demo's model when no download is possible.

    python examples/small_cnn.py FILE.onnx

Two conv + add + relu blocks, a useless `+ 0`, global pooling, and a matmul with bias. Weights are
drawn from a fixed seed.
"""

import sys
from itertools import pairwise
from pathlib import Path

CHANNELS = (3, 8, 16)
CLASSES = 10


def build():
    """The model as an `onnx.ModelProto`: x f32[1,3,32,32] -> probabilities f32[1,10]."""
    import numpy as np
    from onnx import TensorProto, helper, numpy_helper

    rng = np.random.default_rng(0)
    nodes, weights = [], []

    def weight(name, *shape, value=None):
        array = rng.standard_normal(shape) * 0.2 if value is None else np.asarray(value)
        weights.append(numpy_helper.from_array(array.astype(np.float32), name))
        return name

    def node(op, inputs, **attrs):
        name = f"{op.lower()}{len(nodes)}"
        nodes.append(helper.make_node(op, inputs, [name], name=name, **attrs))
        return name

    value = "x"
    for i, (inner, outer) in enumerate(pairwise(CHANNELS)):
        kernel = weight(f"kernel{i}", outer, inner, 3, 3)
        value = node("Conv", [value, kernel], kernel_shape=[3, 3], pads=[1] * 4, strides=[2, 2])
        value = node("Add", [value, weight(f"bias{i}", 1, outer, 1, 1)])
        value = node("Relu", [value])
    value = node("Add", [value, weight("zero", value=0.0)])
    value = node("GlobalAveragePool", [value])
    value = node("Flatten", [value])
    value = node("MatMul", [value, weight("classes", CHANNELS[-1], CLASSES)])
    value = node("Add", [value, weight("class_bias", CLASSES)])
    value = node("Softmax", [value], axis=-1)
    graph = helper.make_graph(
        nodes,
        "small_cnn",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, 32, 32])],
        [helper.make_tensor_value_info(value, TensorProto.FLOAT, [1, CLASSES])],
        weights,
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


if __name__ == "__main__":
    Path(sys.argv[1]).write_bytes(build().SerializeToString())
