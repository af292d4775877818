"""ONNX activations and softmax."""

from __future__ import annotations

from xdsl.ir import SSAValue

from ge_xdsl.importers.onnx.builder import Builder
from ge_xdsl.importers.onnx.node import Node
from ge_xdsl.importers.onnx.table import Converter

SAME = "HardSwish Relu Sigmoid Softplus Tanh"
"""The ops that GE has under the same name, without attributes."""


def plain(node: Node, g: Builder) -> SSAValue:
    """The GE op of the same name."""
    return g.op(node.op_type, node.input(0))


def leaky_relu(node: Node, g: Builder) -> SSAValue:
    """LeakyRelu"""
    return g.op("LeakyRelu", node.input(0), negative_slope=node.floating("alpha", 0.01))


def elu(node: Node, g: Builder) -> SSAValue:
    """Elu"""
    return g.op("Elu", node.input(0), alpha=node.floating("alpha", 1.0))


def hard_sigmoid(node: Node, g: Builder) -> SSAValue:
    """HardSigmoid; the default alpha differs from GE's."""
    alpha, beta = node.floating("alpha", 0.2), node.floating("beta", 0.5)
    return g.op("HardSigmoid", node.input(0), alpha=alpha, beta=beta)


def gelu(node: Node, g: Builder) -> SSAValue:
    """GeluV2, which has both forms; GE's Gelu is the tanh form."""
    approximate = node.string("approximate", "none")
    if approximate not in ("none", "tanh"):
        node.fail(f"attribute 'approximate' is '{approximate}', expected 'none' or 'tanh'")
    return g.op("GeluV2", node.input(0), approximate=approximate)


def softmax(node: Node, g: Builder) -> SSAValue:
    """SoftmaxV2 or LogSoftmaxV2.

    Before opset 13 the dimensions from `axis` on are normalised together.
    """
    x = node.input(0)
    axis = node.integer("axis", -1 if node.opset >= 13 else 1)
    axes = [axis]
    if node.opset < 13 and axis != -1:
        rank = g.rank(x, f"{node.op_type} before opset 13")
        if not -rank <= axis <= rank:
            node.fail(f"attribute 'axis' is {axis}, expected one in [{-rank}, {rank}]")
        axes = list(range(axis % rank if axis < rank else axis, rank))
    if not axes:  # each element alone
        node.fail(f"attribute 'axis' is {axis}, expected one below the rank")
    return g.op(f"{node.op_type}V2", x, axes=axes)


TABLE: dict[str, Converter] = {
    **dict.fromkeys(SAME.split(), plain),
    "Elu": elu,
    "Gelu": gelu,
    "HardSigmoid": hard_sigmoid,
    "LeakyRelu": leaky_relu,
    "LogSoftmax": softmax,
    "Softmax": softmax,
}
