"""ATen bit operations; of truth values they are logic."""

from __future__ import annotations

from xdsl.ir import SSAValue

from ge_xdsl.dialects.ge.types import DataType
from ge_xdsl.importers.torch.builder import TorchBuilder
from ge_xdsl.importers.torch.call import Call
from ge_xdsl.importers.torch.elementwise import base_of
from ge_xdsl.importers.torch.table import Converter

OPS = {
    "bitwise_and": ("BitwiseAnd", "LogicalAnd"),
    "bitwise_or": ("BitwiseOr", "LogicalOr"),
    "bitwise_xor": ("BitwiseXor", "NotEqual"),
}
"""ATen operator -> the GE op of integers and that of truth values."""


def bitwise(call: Call, g: TorchBuilder) -> SSAValue:
    """The op that `OPS` names"""
    dtype = call.dtype
    op_type = OPS[base_of(call)][dtype == DataType.DT_BOOL]
    left, right = (g.operand(call.raw(name), dtype) for name in ("self", "other"))
    return g.op(op_type, left, right)


SHIFTS = {
    "__lshift__": "LeftShift",
    "__rshift__": "RightShift",
    "bitwise_left_shift": "LeftShift",
    "bitwise_right_shift": "RightShift",
}
"""ATen operator -> the GE op."""


def shift(call: Call, g: TorchBuilder) -> SSAValue:
    """LeftShift or RightShift"""
    left, right = (g.operand(call.raw(name), call.dtype) for name in ("self", "other"))
    return g.op(SHIFTS[base_of(call)], left, right)


def invert(call: Call, g: TorchBuilder) -> SSAValue:
    """Invert or LogicalNot"""
    truth = call.dtype == DataType.DT_BOOL
    return g.op("LogicalNot" if truth else "Invert", call.value("self"))


TABLE: dict[str, Converter] = {
    **dict.fromkeys(OPS, bitwise),
    **dict.fromkeys(SHIFTS, shift),
    "bitwise_not": invert,
}
