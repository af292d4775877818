"""Arithmetic, comparisons, logic and conversions in ONNX."""

from __future__ import annotations

from collections.abc import Sequence

from ge_xdsl.dialects.ge.elementwise import BiasAddOp
from ge_xdsl.dialects.ge.op import GeOp, constant_of
from ge_xdsl.dialects.ge.types import FLOATS, DataType, numpy_dtype
from ge_xdsl.exporters.onnx.graph import Graph, NoFormError
from ge_xdsl.exporters.onnx.table import Converter

SAME = (
    "Abs Acos Acosh Asin Asinh Atan Atanh Ceil Cos Cosh Erf Exp Floor Identity Log Neg Reciprocal "
    "Round Sigmoid Sign Sin Sinh Softplus Softsign Sqrt Tan Tanh"
)
"""The ops of one operand that ONNX has under the same name."""
OTHERS = {
    "Invert": "BitwiseNot",
    "IsInf": "IsInf",
    "IsNan": "IsNaN",
    "LogicalNot": "Not",
    "Rint": "Round",
    "TensorMove": "Identity",
}
UNARY = {**{name: name for name in SAME.split()}, **OTHERS}
BINARY = {
    "Add": "Add",
    "BitwiseAnd": "BitwiseAnd",
    "BitwiseOr": "BitwiseOr",
    "BitwiseXor": "BitwiseXor",
    "Div": "Div",
    "LogicalAnd": "And",
    "LogicalOr": "Or",
    "Maximum": "Max",
    "Minimum": "Min",
    "Mul": "Mul",
    "Pow": "Pow",
    "RealDiv": "Div",
    "Sub": "Sub",
}
COMPARISONS = {"Equal": "Equal", "Greater": "Greater", "GreaterEqual": "GreaterOrEqual",
               "Less": "Less", "LessEqual": "LessOrEqual"}  # fmt: skip
TRUTHS = ("IsInf", "IsNan", "LogicalNot", "LogicalAnd", "LogicalOr")
BOOL = DataType.DT_BOOL


def unary(op: GeOp, g: Graph) -> str:
    """The op that `UNARY` names."""
    g.defaults(op)
    dtype = BOOL if op.op_type in TRUTHS else None
    return g.add(UNARY[op.op_type], g.of(op.operands[0]), dtype=dtype)


def binary(op: GeOp, g: Graph) -> str:
    """The op that `BINARY` names; quotients of integers are rounded down by some."""
    g.defaults(op)
    if op.op_type == "Div" and g.dtype(op.operands[0]) not in FLOATS:
        return floor_div(op, g)
    dtype = BOOL if op.op_type in TRUTHS else None
    return g.add(BINARY[op.op_type], *map(g.of, op.operands), dtype=dtype)


def comparison(op: GeOp, g: Graph) -> str:
    """The op that `COMPARISONS` names"""
    return g.add(COMPARISONS[op.op_type], *map(g.of, op.operands), dtype=BOOL)


def not_equal(op: GeOp, g: Graph) -> str:
    """Not(Equal)"""
    return g.add("Not", g.add("Equal", *map(g.of, op.operands), dtype=BOOL))


def with_number(op: GeOp, g: Graph) -> str:
    """Add or Mul with a scalar, of floats"""
    x = g.of(op.operands[0])
    if g.types[x] not in FLOATS:
        raise NoFormError("integers are computed in f32")
    value = g.number_like(op.get_attr("value"), x)
    return g.add("Add" if op.op_type == "Adds" else "Mul", x, value)


def square(op: GeOp, g: Graph) -> str:
    """Mul(x, x)"""
    x = g.of(op.operands[0])
    return g.add("Mul", x, x)


def squared_difference(op: GeOp, g: Graph) -> str:
    """Mul(d, d) of d = Sub"""
    difference = g.add("Sub", *map(g.of, op.operands))
    return g.add("Mul", difference, difference)


def rsqrt(op: GeOp, g: Graph) -> str:
    """Reciprocal(Sqrt)"""
    return g.add("Reciprocal", g.add("Sqrt", g.of(op.operands[0])))


def power(op: GeOp, g: Graph) -> str:
    """Pow(x * scale + shift, power)"""
    x, scale, shift = g.of(op.operands[0]), op.get_attr("scale"), op.get_attr("shift")
    if scale == 0:
        raise NoFormError("attribute 'scale' is 0")
    if scale != 1:
        x = g.add("Mul", x, g.number_like(scale, x))
    if shift != 0:
        x = g.add("Add", x, g.number_like(shift, x))
    return g.add("Pow", x, g.number_like(op.get_attr("power"), x))


def total(op: GeOp, g: Graph) -> str:
    """Sum"""
    return g.add("Sum", *map(g.of, op.operands))


def modulo(op: GeOp, g: Graph) -> str:
    """Mod: as C's fmod, or of integers with the sign of the divisor"""
    if op.op_type == "FloorMod" and g.dtype(op.operands[0]) in FLOATS:
        raise NoFormError("Mod of floats has the sign of the dividend")
    return g.add("Mod", *map(g.of, op.operands), fmod=int(op.op_type == "Mod"))


def shift(op: GeOp, g: Graph) -> str:
    """BitShift of unsigned numbers by known numbers of bits that they have"""
    bits = 8 * numpy_dtype(g.dtype(op.operands[0])).itemsize
    if not all(0 <= number < bits for number in g.known(op.operands[1])):
        raise NoFormError("a number of bits is out of range")
    direction = "LEFT" if op.op_type == "LeftShift" else "RIGHT"
    return g.add("BitShift", *map(g.of, op.operands), direction=direction)


def floor_div(op: GeOp, g: Graph) -> str:
    """Floor(Div) of floats, Div(x - Mod(x, y), y) of integers"""
    x, y = map(g.of, op.operands)
    if g.types[x] in FLOATS:
        return g.add("Floor", g.add("Div", x, y))
    return g.add("Div", g.add("Sub", x, g.add("Mod", x, y)), y)


def div_no_nan(op: GeOp, g: Graph) -> str:
    """Where(Equal(y, 0), 0, Div(x, y)) of floats"""
    x, y = map(g.of, op.operands)
    if g.types[x] not in FLOATS:
        raise NoFormError("integers divide otherwise than floats")
    zero = g.number_like(0, x)
    none = g.add("Equal", y, zero, dtype=BOOL)
    return g.add("Where", none, zero, g.add("Div", x, y), dtype=g.types[x])


def clip(op: GeOp, g: Graph) -> str:
    """Clip between two scalars in order, else Max(Min(x, high), low)"""
    x, low, high = map(g.of, op.operands)
    limits = [constant_of(value) for value in op.operands[1:]]
    if all(limit is not None and limit.shape == () for limit in limits):
        least, most = (limit for limit in limits if limit is not None)
        if least <= most:
            return g.add("Clip", x, low, high)
    return g.add("Max", g.add("Min", x, high), low)


def relu6(op: GeOp, g: Graph) -> str:
    """Clip to [0, 6]"""
    x = g.of(op.operands[0])
    return g.add("Clip", x, g.number_like(0, x), g.number_like(6, x))


def select(op: GeOp, g: Graph) -> str:
    """Where"""
    condition, then, other = map(g.of, op.operands)
    return g.add("Where", condition, then, other, dtype=g.types[then])


def same_select(op: GeOp, g: Graph) -> str:
    """Where, when the condition has the shape of its operands: a vector chooses rows in GE"""
    shapes = [g.dims(value) for value in op.operands]
    if len(set(shapes)) != 1:
        raise NoFormError("the condition has another shape than its operands")
    return select(op, g)


def masked_fill(op: GeOp, g: Graph) -> str:
    """Where(mask, value, x)"""
    x, mask, value = map(g.of, op.operands)
    if g.rank(op.operands[2]):
        value = g.add("Reshape", value, g.ints([]))
    return g.add("Where", mask, value, x, dtype=g.types[x])


def cast(op: GeOp, g: Graph) -> str:
    """Cast"""
    return g.cast(g.of(op.operands[0]), g.dtype(op.results[0]))


def cast_like(op: GeOp, g: Graph) -> str:
    """CastLike"""
    x, target = map(g.of, op.operands)
    return g.add("CastLike", x, target, dtype=g.types[target])


def constant_like(op: GeOp, g: Graph) -> str:
    """Expand(0 or 1, Shape(x))"""
    x = g.of(op.operands[0])
    number = g.number_like(int(op.op_type == "OnesLike"), x)
    return g.add("Expand", number, g.add("Shape", x, dtype=DataType.DT_INT64))


def identities(op: GeOp, g: Graph) -> Sequence[str]:
    """Identity of each"""
    return [g.of(value) for value in op.operands]


def bias_add(op: BiasAddOp, g: Graph) -> str:
    """Add, with ones after the channels"""
    x, bias = map(g.of, op.operands)
    after = g.rank(op.operands[0]) - 2
    axis = op.channel_axis(g.tensor(op.operands[0]))
    if axis == 1 and after:
        bias = g.add("Unsqueeze", bias, g.ints(range(1, 1 + after)))
    return g.add("Add", x, bias)


TABLE: dict[str, Converter] = {
    **dict.fromkeys(UNARY, unary),
    **dict.fromkeys(BINARY, binary),
    **dict.fromkeys(COMPARISONS, comparison),
    **dict.fromkeys(("Adds", "Muls"), with_number),
    **dict.fromkeys(("AccumulateNV2", "AddN"), total),
    **dict.fromkeys(("OnesLike", "ZerosLike"), constant_like),
    **dict.fromkeys(("FloorMod", "Mod"), modulo),
    "BiasAdd": bias_add,
    "Cast": cast,
    "CastLike": cast_like,
    "ClipByValue": clip,
    "DivNoNan": div_no_nan,
    "FloorDiv": floor_div,
    "IdentityN": identities,
    "LeftShift": shift,
    "RightShift": shift,
    "MaskedFill": masked_fill,
    "NotEqual": not_equal,
    "Power": power,
    "Relu6": relu6,
    "Rsqrt": rsqrt,
    "Select": same_select,
    "SelectV2": select,
    "Square": square,
    "SquaredDifference": squared_difference,
}
