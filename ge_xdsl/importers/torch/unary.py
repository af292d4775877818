"""ATen functions of one operand."""

from __future__ import annotations

import math

from xdsl.ir import SSAValue

from ge_xdsl.dialects.ge.types import FLOATS, DataType
from ge_xdsl.importers.torch.builder import TorchBuilder
from ge_xdsl.importers.torch.call import Call
from ge_xdsl.importers.torch.elementwise import base_of
from ge_xdsl.importers.torch.table import Converter

OPS = {
    "abs": "Abs", "acos": "Acos", "acosh": "Acosh", "asin": "Asin", "asinh": "Asinh",
    "atan": "Atan", "atanh": "Atanh", "ceil": "Ceil", "cos": "Cos", "cosh": "Cosh",
    "erf": "Erf", "erfc": "Erfc", "exp": "Exp", "expm1": "Expm1", "floor": "Floor",
    "log": "Log", "log1p": "Log1p", "neg": "Neg", "reciprocal": "Reciprocal",
    "round": "Round", "rsqrt": "Rsqrt", "sign": "Sign", "sin": "Sin", "sinh": "Sinh",
    "sqrt": "Sqrt", "square": "Square", "tan": "Tan", "trunc": "Trunc",
}  # fmt: skip
"""ATen operator -> the GE op."""

TESTS = {"isinf": "IsInf", "isnan": "IsNan"}
"""ATen test of an element -> the GE op, which takes floats."""

ROUNDINGS = {"ceil", "floor", "round", "trunc"}
LOGARITHMS = {"log2": 2.0, "log10": 10.0}


def unary(call: Call, g: TorchBuilder) -> SSAValue:
    """The op that `OPS` names, in the element type of the result; an integer is round already."""
    x, base = g.cast(call.value("self"), call.dtype), base_of(call)
    if base in ROUNDINGS and call.dtype not in FLOATS:
        return x
    decimals = call.raw("decimals") or 0
    return g.op(OPS[base], x, **({"decimals": decimals} if decimals else {}))


def test(call: Call, g: TorchBuilder) -> SSAValue:
    """The op that `TESTS` names; of other types in f32"""
    x = g.floating(call.value("self"), DataType.DT_FLOAT)
    return g.op(TESTS[base_of(call)], x)


def logarithm(call: Call, g: TorchBuilder) -> SSAValue:
    """Log(x) / log(base)"""
    natural = g.part("Log", g.cast(call.value("self"), call.dtype))
    return g.op("Mul", natural, g.operand(1 / math.log(LOGARITHMS[base_of(call)]), call.dtype))


TABLE: dict[str, Converter] = {
    **dict.fromkeys(OPS, unary),
    **dict.fromkeys(TESTS, test),
    **dict.fromkeys(LOGARITHMS, logarithm),
}
