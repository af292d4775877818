"""ONNX elementwise arithmetic of two or more operands."""

from __future__ import annotations

from xdsl.ir import SSAValue

from ge_xdsl.dialects.ge.op import constant_of
from ge_xdsl.dialects.ge.types import DataType
from ge_xdsl.importers.onnx.builder import Builder
from ge_xdsl.importers.onnx.node import Node
from ge_xdsl.importers.onnx.table import Converter

BINARY = {"Add": "Add", "Div": "RealDiv", "Mul": "Mul", "Sub": "Sub"}
"""ONNX op -> the GE op of two operands that it is."""


def binary(node: Node, g: Builder) -> SSAValue:
    """The op that `BINARY` names."""
    return g.op(BINARY[node.op_type], node.input(0), node.input(1))


def power(node: Node, g: Builder) -> SSAValue:
    """Pow; an exponent of another element type is cast first."""
    base, exponent = node.input(0), node.input(1)
    dtype = g.dtype(base)
    if g.dtype(exponent) != dtype:
        exponent = g.part("Cast", exponent, dst_type=int(dtype))
    return g.op("Pow", base, exponent)


def extremum(node: Node, g: Builder) -> SSAValue:
    """Maximum or Minimum, folded from the left; of one input Identity."""
    op_type = "Maximum" if node.op_type == "Max" else "Minimum"
    first, *rest = node.all_inputs()
    if not rest:
        return g.part("Identity", first)
    for value in rest:
        first = g.part(op_type, first, value)
    return first


def total(node: Node, g: Builder) -> SSAValue:
    """AccumulateNV2 for operands of one shape, which is all it takes, else Add from the left."""
    first, *rest = inputs = node.all_inputs()
    if len({str(value.type) for value in inputs}) == 1:
        return g.op("AccumulateNV2", inputs, N=len(inputs))
    for value in rest:
        first = g.part("Add", first, value)
    return first


def clip(node: Node, g: Builder) -> SSAValue:
    """ClipByValue, Maximum or Minimum, by the limits that are there."""
    x = node.input(0)
    if node.opset < 11:
        return _clip_attributes(node, g, x)
    low, high = node.optional(1), node.optional(2)
    if low is not None and high is not None:
        _check_limits(node, low, high)
        return g.part("ClipByValue", x, _scalar(g, low), _scalar(g, high))
    if low is not None:
        return g.part("Maximum", x, low)
    if high is not None:
        return g.part("Minimum", x, high)
    return g.part("Identity", x)


def _check_limits(node: Node, low: SSAValue, high: SSAValue) -> None:
    """Above `max` a `min` wins in ClipByValue and loses in ONNX."""
    least, most = constant_of(low), constant_of(high)
    if least is not None and most is not None and least.size == most.size == 1:
        first, last = least.reshape(-1)[0], most.reshape(-1)[0]
        if first > last:
            node.fail(f"the limits are {first} and {last}, expected the lower one first")


def _scalar(g: Builder, limit: SSAValue) -> SSAValue:
    """A limit as it is; ONNX allows only one element."""
    shape = g.shape(limit)
    if shape not in (None, (), (1,)):
        raise g.error(f"a limit is {g.tensor_text(limit)}, expected one element")
    return limit


def _clip_attributes(node: Node, g: Builder, x: SSAValue) -> SSAValue:
    """Before opset 11: Cast(x) and ClipByValue with Const limits. The cast to f32 that GE adds
    is left out for other types, which it would change."""
    limit = 3.4028234663852886e38
    low, high = node.floating("min", -limit), node.floating("max", limit)
    if g.dtype(x) == DataType.DT_FLOAT:
        x = g.part("Cast", x, dst_type=int(DataType.DT_FLOAT))
    return g.part("ClipByValue", x, g.like(low, x), g.like(high, x))


TABLE: dict[str, Converter] = {
    **dict.fromkeys(BINARY, binary),
    "Clip": clip,
    "Max": extremum,
    "Min": extremum,
    "Pow": power,
    "Sum": total,
}
