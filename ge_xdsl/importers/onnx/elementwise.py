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


def mean(node: Node, g: Builder) -> SSAValue:
    """Muls(AccumulateNV2, 1/N), or of operands of several shapes Muls of their sum by Add"""
    inputs = node.all_inputs()
    if len(inputs) == 1:
        return g.part("Identity", inputs[0])
    if len({str(value.type) for value in inputs}) == 1:
        added = g.part("AccumulateNV2", inputs, N=len(inputs))
    else:
        added = inputs[0]
        for value in inputs[1:]:
            added = g.part("Add", added, value)
    return g.part("Muls", added, value=1 / len(inputs))


def mod(node: Node, g: Builder) -> SSAValue:
    """FloorMod, whose sign is the divisor's, or Mod, whose sign is the dividend's, for fmod = 1"""
    op_type = "Mod" if node.flag("fmod", False) else "FloorMod"
    return g.op(op_type, node.input(0), node.input(1))


def clip(node: Node, g: Builder) -> SSAValue:
    """ClipByValue, Maximum or Minimum, by the limits that are there.

    Where min is above max, which wins in ONNX and loses in ClipByValue, or where the limits are
    only known at run time, it is Minimum(Maximum(x, min), max).
    """
    x = node.input(0)
    if node.opset < 11:
        return _clip_attributes(node, g, x)
    low, high = (None if v is None else _scalar(g, v) for v in (node.optional(1), node.optional(2)))
    if low is not None and high is not None:
        if _in_order(low, high):
            return g.part("ClipByValue", x, low, high)
        return g.part("Minimum", g.part("Maximum", x, low), high)
    if low is not None:
        return g.part("Maximum", x, low)
    if high is not None:
        return g.part("Minimum", x, high)
    return g.part("Identity", x)


def _in_order(low: SSAValue, high: SSAValue) -> bool:
    """Whether the limits are constants and the lower one is first."""
    least, most = constant_of(low), constant_of(high)
    if least is None or most is None or not least.size == most.size == 1:
        return False
    return bool(least.reshape(-1)[0] <= most.reshape(-1)[0])


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
    if low > high:
        return g.part("Minimum", g.part("Maximum", x, g.like(low, x)), g.like(high, x))
    return g.part("ClipByValue", x, g.like(low, x), g.like(high, x))


TABLE: dict[str, Converter] = {
    **dict.fromkeys(BINARY, binary),
    "Clip": clip,
    "Max": extremum,
    "Mean": mean,
    "Min": extremum,
    "Mod": mod,
    "Pow": power,
    "Sum": total,
}
