"""ATen arithmetic of two or more operands; numbers become scalar Consts."""

from __future__ import annotations

from typing import Any

from xdsl.ir import SSAValue

from ge_xdsl.dialects.ge.types import FLOATS
from ge_xdsl.importers.torch.builder import TorchBuilder
from ge_xdsl.importers.torch.call import Call
from ge_xdsl.importers.torch.table import Converter

BINARY = {
    "add": "Add",
    "atan2": "Atan2",
    "floor_divide": "FloorDiv",
    "fmod": "Mod",
    "maximum": "Maximum",
    "minimum": "Minimum",
    "mul": "Mul",
    "pow": "Pow",
    "remainder": "FloorMod",
    "sub": "Sub",
}
"""ATen operator -> the GE op of two operands that it is."""

ROUNDED = {None: "RealDiv", "floor": "FloorDiv", "trunc": "TruncateDiv"}
"""Rounding mode of div -> the GE op."""


def base_of(call: Call) -> str:
    """The operator without namespace and overload."""
    return call.op_type.split(".")[1]


def binary(call: Call, g: TorchBuilder) -> SSAValue:
    """The op that `BINARY` names; `alpha` multiplies the second operand first."""
    left, right = call.raw("self"), call.raw("other")
    if base_of(call) == "pow":
        right = call.raw("exponent")
    return g.op(BINARY[base_of(call)], *_pair(call, g, left, right))


def _pair(call: Call, g: TorchBuilder, left: Any, right: Any) -> tuple[SSAValue, SSAValue]:
    """Both operands in the element type of the result, the second one times `alpha`."""
    dtype = call.dtype
    alpha = call.raw("alpha")
    first, second = g.operand(left, dtype), g.operand(right, dtype)
    if alpha is not None and alpha != 1:
        second = g.part("Mul", second, g.operand(alpha, dtype))
    return first, second


def reverse_subtract(call: Call, g: TorchBuilder) -> SSAValue:
    """Sub of the operands in the other order; `alpha` multiplies the subtrahend."""
    dtype, alpha = call.dtype, call.number("alpha")
    taken = call.value("self")
    if alpha != 1:
        taken = g.part("Mul", g.cast(taken, dtype), g.operand(alpha, dtype))
    return g.op("Sub", g.operand(call.raw("other"), dtype), g.cast(taken, dtype))


def divide(call: Call, g: TorchBuilder) -> SSAValue:
    """RealDiv, FloorDiv or, rounded towards zero, TruncateDiv: of floats Trunc(RealDiv)"""
    mode = call.raw("rounding_mode")
    first, second = _pair(call, g, call.raw("self"), call.raw("other"))
    if mode == "trunc" and call.dtype in FLOATS:
        return g.op("Trunc", g.part("RealDiv", first, second))
    return g.op(ROUNDED[mode], first, second)


def clamp(call: Call, g: TorchBuilder) -> SSAValue:
    """ClipByValue of numbers in order; else Minimum(Maximum(x, min), max), where max wins."""
    dtype = call.dtype
    x, low, high = g.cast(call.value("self"), dtype), call.raw("min"), call.raw("max")
    if isinstance(low, int | float) and isinstance(high, int | float) and low <= high:
        return g.op("ClipByValue", x, g.operand(low, dtype), g.operand(high, dtype))
    if low is not None:
        limit = g.operand(low, dtype)
        x = g.op("Maximum", x, limit) if high is None else g.part("Maximum", x, limit)
    return x if high is None else g.op("Minimum", x, g.operand(high, dtype))


def add_product(call: Call, g: TorchBuilder) -> SSAValue:
    """self + value * (tensor1 * tensor2), or of the quotient"""
    dtype = call.dtype
    x, first, second = (g.cast(call.value(k), dtype) for k in ("self", "tensor1", "tensor2"))
    part = g.part("Mul" if base_of(call) == "addcmul" else "RealDiv", first, second)
    if call.number("value") != 1:
        part = g.part("Mul", part, g.operand(call.number("value"), dtype))
    return g.op("Add", x, part)


TABLE: dict[str, Converter] = {
    **dict.fromkeys(BINARY, binary),
    "addcdiv": add_product,
    "addcmul": add_product,
    "clamp": clamp,
    "clamp_max": clamp,
    "clamp_min": clamp,
    "div": divide,
    "rsub": reverse_subtract,
}
