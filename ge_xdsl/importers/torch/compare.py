"""ATen comparisons, logic and choices."""

from __future__ import annotations

from xdsl.ir import SSAValue

from ge_xdsl.dialects.ge.types import DataType
from ge_xdsl.importers.torch.builder import TorchBuilder
from ge_xdsl.importers.torch.call import Call
from ge_xdsl.importers.torch.elementwise import base_of
from ge_xdsl.importers.torch.table import Converter

OPS = {
    "eq": "Equal",
    "ge": "GreaterEqual",
    "gt": "Greater",
    "le": "LessEqual",
    "lt": "Less",
    "ne": "NotEqual",
}
LOGIC = {"logical_and": "LogicalAnd", "logical_or": "LogicalOr", "logical_xor": "NotEqual"}


def compare(call: Call, g: TorchBuilder) -> SSAValue:
    """The op that `OPS` names, in the element type that torch promotes the operands to"""
    left, right = call.value("self"), call.raw("other")
    dtype = g.promoted(left, right)
    return g.op(OPS[base_of(call)], g.cast(left, dtype), g.operand(right, dtype))


def logic(call: Call, g: TorchBuilder) -> SSAValue:
    """The op that `LOGIC` names, of truth values"""
    left, right = (_truth(g, call.value(name)) for name in ("self", "other"))
    return g.op(LOGIC[base_of(call)], left, right)


def _truth(g: TorchBuilder, value: SSAValue) -> SSAValue:
    if g.dtype(value) == DataType.DT_BOOL:
        return value
    return g.part("NotEqual", value, g.like(0, value))


def negate(call: Call, g: TorchBuilder) -> SSAValue:
    """LogicalNot"""
    return g.op("LogicalNot", _truth(g, call.value("self")))


def is_finite(call: Call, g: TorchBuilder) -> SSAValue:
    """IsFinite; of other types than floats in f32"""
    return g.op("IsFinite", g.floating(call.value("self"), DataType.DT_FLOAT))


def where(call: Call, g: TorchBuilder) -> SSAValue:
    """SelectV2"""
    dtype = call.dtype
    then, other = (g.operand(call.raw(name), dtype) for name in ("self", "other"))
    return g.op("SelectV2", _truth(g, call.value("condition")), then, other)


def masked_fill(call: Call, g: TorchBuilder) -> SSAValue:
    """SelectV2 of the filling and the tensor"""
    dtype = call.dtype
    fill = g.operand(call.raw("value"), dtype)
    return g.op("SelectV2", call.value("mask"), fill, call.value("self"))


TABLE: dict[str, Converter] = {
    **dict.fromkeys(OPS, compare),
    **dict.fromkeys(LOGIC, logic),
    "isfinite": is_finite,
    "logical_not": negate,
    "masked_fill": masked_fill,
    "where": where,
}
