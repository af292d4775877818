"""Activations and softmax in ONNX."""

from __future__ import annotations

from math import sqrt

from ge_xdsl.dialects.ge.op import GeOp
from ge_xdsl.exporters.onnx.graph import Graph, NoFormError
from ge_xdsl.exporters.onnx.table import Converter

SAME = "HardSwish Mish Relu"


def plain(op: GeOp, g: Graph) -> str:
    """The op of the same name"""
    g.defaults(op)
    return g.add(op.op_type, g.of(op.operands[0]))


def leaky_relu(op: GeOp, g: Graph) -> str:
    """LeakyRelu"""
    return g.add("LeakyRelu", g.of(op.operands[0]), alpha=op.get_attr("negative_slope"))


def elu(op: GeOp, g: Graph) -> str:
    """Elu"""
    g.defaults(op, "scale", "input_scale")
    return g.add("Elu", g.of(op.operands[0]), alpha=op.get_attr("alpha"))


def celu(op: GeOp, g: Graph) -> str:
    """Celu, which has one factor for both places, and none for positive numbers"""
    first, second, third = (op.get_attr(f"alpha{k}") for k in (1, 2, 3))
    if first != second or third != 1:
        raise NoFormError("alpha1 and alpha2 differ, or alpha3 is not 1")
    return g.add("Celu", g.of(op.operands[0]), alpha=first)


def selu(op: GeOp, g: Graph) -> str:
    """Selu"""
    return g.add("Selu", g.of(op.operands[0]))


def p_relu(op: GeOp, g: Graph) -> str:
    """PRelu, with the slopes along dimension 1"""
    x, slope = map(g.of, op.operands)
    rank, slopes = g.rank(op.operands[0]), g.dims(op.operands[1])
    if slopes not in ((), (1,)):
        if len(slopes) != 1 or rank < 2:
            raise NoFormError("the slopes are neither one number nor a vector for dimension 1")
        slope = g.add("Reshape", slope, g.ints([-1, *[1] * (rank - 2)]))
    return g.add("PRelu", x, slope)


def hard_sigmoid(op: GeOp, g: Graph) -> str:
    """HardSigmoid"""
    attrs = {name: op.get_attr(name) for name in ("alpha", "beta")}
    return g.add("HardSigmoid", g.of(op.operands[0]), **attrs)


def swish(op: GeOp, g: Graph) -> str:
    """Mul(x, Sigmoid(scale * x))"""
    x, scale = g.of(op.operands[0]), op.get_attr("scale")
    inner = x if scale == 1 else g.add("Mul", x, g.number_like(scale, x))
    return g.add("Mul", x, g.add("Sigmoid", inner))


def gelu_v2(op: GeOp, g: Graph) -> str:
    """x * (1 + Erf(x / sqrt(2))) / 2, or the form with Tanh"""
    if op.get_attr("approximate") == "tanh":
        return gelu(op, g)
    x = g.of(op.operands[0])
    inner = g.add("Erf", g.add("Mul", x, g.number_like(sqrt(0.5), x)))
    return _half(g, x, inner)


def _half(g: Graph, x: str, inner: str) -> str:
    """x * (1 + inner) / 2"""
    raised = g.add("Add", inner, g.number_like(1, x))
    return g.add("Mul", g.add("Mul", x, raised), g.number_like(0.5, x))


def gelu(op: GeOp, g: Graph) -> str:
    """x * (1 + Tanh(sqrt(2 / pi) * (x + 0.044715 * x^3))) / 2"""
    x = g.of(op.operands[0])
    cube = g.add("Mul", g.add("Mul", x, x), x)
    inner = g.add("Add", x, g.add("Mul", cube, g.number_like(0.044715, x)))
    return _half(
        g, x, g.add("Tanh", g.add("Mul", inner, g.number_like(sqrt(2 / 3.141592653589793), x)))
    )


def threshold(op: GeOp, g: Graph) -> str:
    """Cast(Greater(x, threshold))"""
    from ge_xdsl.dialects.ge.types import DataType

    x = g.of(op.operands[0])
    above = g.add("Greater", x, g.number_like(op.get_attr("threshold"), x), dtype=DataType.DT_BOOL)
    return g.cast(above, g.types[x])


def softmax(op: GeOp, g: Graph) -> str:
    """Softmax or LogSoftmax along one dimension; along several ones their definition"""
    x, axes = g.of(op.operands[0]), list(op.get_attr("axes"))
    is_log = op.op_type == "LogSoftmaxV2"
    if not is_log:
        g.defaults(op, "half_to_float")
    if len(axes) == 1 and g.rank(op.operands[0]):
        return g.add("LogSoftmax" if is_log else "Softmax", x, axis=axes[0])
    if not axes or not g.rank(op.operands[0]):
        raise NoFormError("there is no axis, or x is a scalar")
    where = g.ints(axes)
    moved = g.add("Sub", x, g.add("ReduceMax", x, where, keepdims=1))
    exponent = g.add("Exp", moved)
    total = g.add("ReduceSum", exponent, where, keepdims=1)
    return g.add("Sub", moved, g.add("Log", total)) if is_log else g.add("Div", exponent, total)


TABLE: dict[str, Converter] = {
    **dict.fromkeys(SAME.split(), plain),
    **dict.fromkeys(("LogSoftmaxV2", "SoftmaxV2"), softmax),
    "Celu": celu,
    "Elu": elu,
    "Gelu": gelu,
    "GeluV2": gelu_v2,
    "HardSigmoid": hard_sigmoid,
    "LeakyRelu": leaky_relu,
    "PRelu": p_relu,
    "Selu": selu,
    "Swish": swish,
    "Threshold": threshold,
}
