"""ONNX activations and softmax."""

from __future__ import annotations

from math import prod

from xdsl.ir import SSAValue

from ge_xdsl.dialects.ge.types import DYNAMIC, FLOATS, DataType
from ge_xdsl.importers.onnx.builder import Builder
from ge_xdsl.importers.onnx.node import Node
from ge_xdsl.importers.onnx.table import Converter

SAME = "HardSwish Mish Relu Sigmoid Softplus Softsign Tanh"
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


SELU_ALPHA, SELU_GAMMA = 1.67326319217681884765625, 1.05070102214813232421875
"""The only factors that GE's Selu has."""


def selu(node: Node, g: Builder) -> SSAValue:
    """Selu; with other factors the Elu that it scales."""
    x = node.input(0)
    alpha, gamma = node.floating("alpha", SELU_ALPHA), node.floating("gamma", SELU_GAMMA)
    if (alpha, gamma) == (SELU_ALPHA, SELU_GAMMA):
        return g.op("Selu", x)
    return g.part("Muls", g.part("Elu", x, alpha=alpha), value=gamma)


def celu(node: Node, g: Builder) -> SSAValue:
    """Celu; its third factor is that of the positive numbers."""
    alpha = node.floating("alpha", 1.0)
    return g.op("Celu", node.input(0), alpha1=alpha, alpha2=alpha, alpha3=1.0)


def p_relu(node: Node, g: Builder) -> SSAValue:
    """PRelu for one slope per channel or in all, else a choice between x and x * slope."""
    x, slope = node.input(0), node.input(1)
    shape, slopes = g.shape(x), g.shape(slope)
    if shape is not None and slopes is not None and len(shape) > 1:
        size, channel = prod(slopes), len(shape) - 2
        placed = size == slopes[-1 - channel] if len(slopes) > channel else False
        if DYNAMIC not in slopes and (size == 1 or (placed and size == shape[1])):
            return g.op("PRelu", x, g.part("Reshape", slope, g.helper([-1], "int64")))
    negative = g.part("Less", x, g.like(0, x))
    return g.part("SelectV2", negative, g.part("Mul", x, slope), x)


def shrink(node: Node, g: Builder) -> SSAValue:
    """Shrink; of integers the choice that it stands for."""
    x = node.input(0)
    bias, limit = node.floating("bias", 0.0), node.floating("lambd", 0.5)
    if g.dtype(x) in FLOATS:
        return g.op("Shrink", x, lambd=limit, bias=bias)
    wide = g.cast(x, DataType.DT_FLOAT)
    low = g.part("Less", wide, g.like(-limit, wide))
    high = g.part("Greater", wide, g.like(limit, wide))
    zero = g.part("ZerosLike", wide)
    inner = g.part("SelectV2", high, g.part("Adds", wide, value=-bias), zero)
    return g.cast(g.part("SelectV2", low, g.part("Adds", wide, value=bias), inner), g.dtype(x))


def swish(node: Node, g: Builder) -> SSAValue:
    """Swish"""
    return g.op("Swish", node.input(0), scale=node.floating("alpha", 1.0))


def thresholded_relu(node: Node, g: Builder) -> SSAValue:
    """Mul(x, Threshold(x))"""
    x = node.input(0)
    above = g.part("Threshold", x, threshold=node.floating("alpha", 1.0))
    return g.part("Mul", x, above)


TABLE: dict[str, Converter] = {
    **dict.fromkeys(SAME.split(), plain),
    "Celu": celu,
    "PRelu": p_relu,
    "Selu": selu,
    "Shrink": shrink,
    "Swish": swish,
    "ThresholdedRelu": thresholded_relu,
    "Elu": elu,
    "Gelu": gelu,
    "HardSigmoid": hard_sigmoid,
    "LeakyRelu": leaky_relu,
    "LogSoftmax": softmax,
    "Softmax": softmax,
}
