"""GE elementwise ops as sequences of vector instructions, one recipe per op type.

bf16 and the functions that the vector unit lacks are computed in f32. The result of every GE op
is rounded to its element type, so a chain in one kernel gives what its ops give one by one.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite, pi, sqrt

from ge_xdsl.dialects.ge.op import GeOp
from ge_xdsl.dialects.ge.types import tensor_of
from ge_xdsl.lowering.buffers import Program, Value
from ge_xdsl.lowering.emitter import (
    SCALAR_ONLY,
    UNSIGNED,
    Emitter,
    Operand,
    Recipe,
    cast_to,
    spread,
)
from ge_xdsl.lowering.recipes_math import FLOATS, MATHS, NUMBERS, TESTS
from ge_xdsl.lowering.tensors import element_of


def _unary(kind: str) -> Recipe:
    return lambda emit, op, args: emit.unary(kind, args[0])


def _either(kind: str) -> Recipe:
    return lambda emit, op, args: emit.either(kind, args[0], args[1])


def _sub(emit: Emitter, op: GeOp, args: Sequence[Operand]) -> int:
    return emit.sub(args[0], args[1])


def _relu(emit: Emitter, op: GeOp, args: Sequence[Operand]) -> int:
    if emit.element not in ("f16", "f32"):
        return emit.scalar("maxs", args[0], 0.0)
    return emit.unary("relu", args[0])


def _neg(emit: Emitter, op: GeOp, args: Sequence[Operand]) -> int:
    """-x = -1 x"""
    if emit.element in SCALAR_ONLY:
        return emit.program.step("scalar", (emit.value(args[0]),), emit.size(args[0]), "neg")
    return emit.scalar("muls", args[0], -1.0)


def _square(emit: Emitter, op: GeOp, args: Sequence[Operand]) -> int:
    x = emit.value(args[0])
    return emit.binary("mul", x, x)


def _squared_difference(emit: Emitter, op: GeOp, args: Sequence[Operand]) -> int:
    d = _sub(emit, op, args)
    return emit.binary("mul", d, d)


def _attribute(kind: str) -> Recipe:
    return lambda emit, op, args: emit.scalar(kind, args[0], op.get_attr("value"))


def _sigmoid(emit: Emitter, op: GeOp, args: Sequence[Operand]) -> int:
    """1 / (1 + exp(-x))"""
    return emit.binary("div", 1.0, _one_plus_exp(emit, args[0], -1.0))


def _one_plus_exp(emit: Emitter, x: Operand, factor: float) -> int:
    """1 + exp(factor x)"""
    return emit.scalar("adds", emit.unary("exp", emit.scalar("muls", x, factor)), 1.0)


def _swish(emit: Emitter, op: GeOp, args: Sequence[Operand]) -> int:
    """x / (1 + exp(-scale x))"""
    return emit.binary("div", args[0], _one_plus_exp(emit, args[0], -op.get_attr("scale")))


def _fast_gelu(emit: Emitter, op: GeOp, args: Sequence[Operand]) -> int:
    """x / (1 + exp(-1.702 x))"""
    return emit.binary("div", args[0], _one_plus_exp(emit, args[0], -1.702))


def _clip(emit: Emitter, op: GeOp, args: Sequence[Operand]) -> int:
    """max(min(x, high), low)"""
    x, low, high = args
    return emit.either("max", emit.either("min", x, high), low)


def _between(emit: Emitter, x: Operand, low: float, high: float) -> int:
    return emit.scalar("mins", emit.scalar("maxs", x, low), high)


def _relu6(emit: Emitter, op: GeOp, args: Sequence[Operand]) -> int:
    return _between(emit, args[0], 0.0, 6.0)


def _hard_sigmoid(emit: Emitter, op: GeOp, args: Sequence[Operand]) -> int:
    """alpha x + beta, held between 0 and 1"""
    scaled = emit.scalar("muls", args[0], op.get_attr("alpha"))
    return _between(emit, emit.scalar("adds", scaled, op.get_attr("beta")), 0.0, 1.0)


def _hard_swish(emit: Emitter, op: GeOp, args: Sequence[Operand]) -> int:
    """x min(max(x + 3, 0), 6) / 6"""
    gate = _between(emit, emit.scalar("adds", args[0], 3.0), 0.0, 6.0)
    return emit.binary("div", emit.binary("mul", args[0], gate), 6.0)


def _leaky_relu(emit: Emitter, op: GeOp, args: Sequence[Operand]) -> int:
    """max(x, 0) + slope min(x, 0)"""
    below = emit.scalar("muls", emit.scalar("mins", args[0], 0.0), op.get_attr("negative_slope"))
    return emit.binary("add", emit.scalar("maxs", args[0], 0.0), below)


def _sum(emit: Emitter, op: GeOp, args: Sequence[Operand]) -> int:
    out = emit.value(args[0])
    for arg in args[1:]:
        out = emit.either("add", out, arg)
    return out


def _multiply_add(emit: Emitter, op: GeOp, args: Sequence[Operand]) -> int:
    """a b + c"""
    return emit.either("add", emit.either("mul", args[0], args[1]), args[2])


def _batch_norm(emit: Emitter, op: GeOp, args: Sequence[Operand]) -> int:
    """(x - mean) (rstd scale) + offset, rstd = 1 / sqrt(variance + epsilon) per channel"""
    x, scale, offset, mean, variance = args
    rstd = emit.unary("rsqrt", emit.scalar("adds", variance, op.get_attr("epsilon")))
    scaled = emit.binary("mul", emit.sub(x, mean), emit.either("mul", rstd, scale))
    return emit.either("add", scaled, offset)


def _compare(kind: str) -> Recipe:
    """A truth value; 32-bit integers are compared by a difference that is 0 only for equal ones.

    a < b where max(a, b) - a is not 0: wrapped around or not.
    """
    order = {"eq": "eq", "ne": "ne", "lt": "ne", "le": "eq", "gt": "ne", "ge": "eq"}

    def recipe(emit: Emitter, op: GeOp, args: Sequence[Operand]) -> int:
        a, b = args
        if emit.element in HELD_BY:
            held = Emitter(emit.program, HELD_BY[emit.element])
            return truth(emit.program, held.compare(kind, a, b))
        if emit.element in SCALAR_ONLY:
            return emit.one_by_one(kind, a, b, "i1")
        if emit.element != "i32":
            return truth(emit.program, emit.compare(kind, a, b))
        if kind in ("lt", "le", "gt", "ge"):
            # lt and ge ask whether b is above a, gt and le whether a is above b
            below = a if kind in ("lt", "ge") else b
            a, b = emit.either("max", a, b), below
        difference = cast_to(emit.program, emit.sub(a, b), "f32")
        bits = Emitter(emit.program, "f32").compare(order[kind], difference, 0.0)
        return truth(emit.program, bits)

    return recipe


HELD_BY = {"i8": "f16", "ui8": "f16", "i16": "f32"}
"""Element types that are not compared by the vector unit -> one that is, with all their numbers."""


def truth(program: Program, bits: int) -> int:
    """Bits as truth values in bytes."""
    found = cast_to(program, Emitter(program, "f16").select(bits, 1.0, 0.0), "i1")
    program.bits[found] = bits
    return found


def bits_of(program: Program, x: int) -> int:
    """The bits of a truth value, compared again when it comes from memory."""
    found = program.bits.get(x)
    if found is None:
        found = program.bits[x] = Emitter(program, "f16").compare("ne", x, 0.0)
    return found


def _select(emit: Emitter, op: GeOp, args: Sequence[Operand]) -> int:
    condition, a, b = args
    assert isinstance(condition, int)
    return chosen(emit, condition, a, b)


def _masked_fill(emit: Emitter, op: GeOp, args: Sequence[Operand]) -> int:
    x, mask, value = args
    assert isinstance(mask, int)
    return chosen(emit, mask, value, x)


def chosen(emit: Emitter, condition: int, a: Operand, b: Operand) -> int:
    """a where the truth value holds, else b."""
    if emit.element not in SCALAR_ONLY:
        return emit.select(bits_of(emit.program, condition), a, b)
    if emit.element in ("i8", "ui8") and isinstance(a, int) and isinstance(b, int):
        found = Emitter(emit.program, "f16").select(bits_of(emit.program, condition), a, b)
        return cast_to(emit.program, found, emit.element)
    size = emit.size(condition, a, b)
    mask = spread(emit.program, condition, Value("i1", size.rows, size.cols))
    return emit.program.step("scalar", (mask, emit.fit(a, size), emit.fit(b, size)), size, "select")


def _not(emit: Emitter, op: GeOp, args: Sequence[Operand]) -> int:
    """1 - x on truth values"""
    return emit.scalar("adds", emit.scalar("muls", args[0], -1.0), 1.0)


TANH_LIMIT = 9.0
TANH_P = (135135.0, 17325.0, 378.0, 1.0)
TANH_Q = (135135.0, 62370.0, 3150.0, 28.0)
"""tanh(t) = t P(t^2) / Q(t^2): Lambert's continued fraction cut after the seventh term."""


def _tanh(emit: Emitter, op: GeOp, args: Sequence[Operand]) -> int:
    """The continued fraction at x / 4, then tanh(2t) = 2 tanh(t) / (1 + tanh(t)^2) twice."""
    x = emit.scalar("mins", emit.scalar("maxs", args[0], -TANH_LIMIT), TANH_LIMIT)
    t = emit.scalar("muls", x, 0.25)
    z = emit.binary("mul", t, t)
    p = emit.binary("mul", t, emit.polynomial(z, TANH_P))
    y = emit.binary("div", p, emit.polynomial(z, TANH_Q))
    for _ in range(2):
        below = emit.scalar("adds", emit.binary("mul", y, y), 1.0)
        y = emit.binary("div", emit.scalar("muls", y, 2.0), below)
    return y


ERF_LIMIT = 3.92
ERF_P = (1.12837916, 0.188240044, 0.052482542, 0.00367892382, 0.000284012278, 2.08046045e-06)
ERF_Q = (1.0, 0.500156384, 0.113232269, 0.0147939042, 0.00114357795, 3.83618633e-05)
"""erf(x) = x P(x^2) / Q(x^2) for |x| <= 3.92: least squares of the relative error, which stays
below 4e-7 in f32."""


def _erf(emit: Emitter, op: GeOp, args: Sequence[Operand]) -> int:
    x = emit.scalar("mins", emit.scalar("maxs", args[0], -ERF_LIMIT), ERF_LIMIT)
    z = emit.binary("mul", x, x)
    p = emit.binary("mul", x, emit.polynomial(z, ERF_P))
    return emit.binary("div", p, emit.polynomial(z, ERF_Q))


def _gelu_v2(emit: Emitter, op: GeOp, args: Sequence[Operand]) -> int:
    """x / 2 (1 + erf(x / sqrt 2))"""
    x = emit.value(args[0])
    gate = emit.scalar("adds", _erf(emit, op, [emit.scalar("muls", x, sqrt(0.5))]), 1.0)
    return emit.binary("mul", emit.scalar("muls", x, 0.5), gate)


def _gelu(emit: Emitter, op: GeOp, args: Sequence[Operand]) -> int:
    """x / (1 + exp(-2 u)), u = sqrt(2 / pi) (x + 0.044715 x^3), as (1 + tanh u) / 2 is"""
    x = emit.value(args[0])
    cube = emit.scalar("muls", emit.binary("mul", emit.binary("mul", x, x), x), 0.044715)
    below = _one_plus_exp(emit, emit.binary("add", x, cube), -2 * sqrt(2 / pi))
    return emit.binary("div", x, below)


def _cast(emit: Emitter, op: GeOp, args: Sequence[Operand]) -> int:
    """The element type is that of the result; a number that is not 0 is true."""
    if emit.element != "i1":
        return emit.value(args[0])
    (x,) = args
    assert isinstance(x, int)
    have = emit.program.values[x].element
    if have == "i1":
        return x
    if have in UNSIGNED - {"ui8"}:
        return Emitter(emit.program, have).one_by_one("ne", x, 0.0, "i1")
    # no number but 0 is 0 in f32
    x = cast_to(emit.program, x, "f16" if have in ("f16", "i8", "ui8") else "f32")
    return truth(
        emit.program, Emitter(emit.program, emit.program.values[x].element).compare("ne", x, 0.0)
    )


def _copy(emit: Emitter, op: GeOp, args: Sequence[Operand]) -> int:
    """x as it is; it is repeated to the shape of the result afterwards."""
    return emit.value(args[0])


TRUTHS = frozenset({"i1"})
MOVED = NUMBERS | TRUTHS

RECIPES: dict[str, tuple[Recipe, frozenset[str]]] = {
    "Add": (_either("add"), NUMBERS),
    "Sub": (_sub, NUMBERS),
    "Mul": (_either("mul"), NUMBERS),
    "Maximum": (_either("max"), NUMBERS),
    "Minimum": (_either("min"), NUMBERS),
    "SquaredDifference": (_squared_difference, FLOATS),
    "AddN": (_sum, NUMBERS),
    "BiasAdd": (_either("add"), FLOATS),
    "FusedMulAdd": (_multiply_add, FLOATS),
    "ClipByValue": (_clip, NUMBERS),
    "BatchNorm": (_batch_norm, FLOATS),
    "Relu": (_relu, NUMBERS),
    "Relu6": (_relu6, NUMBERS),
    "LeakyRelu": (_leaky_relu, FLOATS),
    "HardSigmoid": (_hard_sigmoid, FLOATS),
    "HardSwish": (_hard_swish, FLOATS),
    "Exp": (_unary("exp"), FLOATS),
    "Log": (_unary("ln"), FLOATS),
    "Sqrt": (_unary("sqrt"), FLOATS),
    "Rsqrt": (_unary("rsqrt"), FLOATS),
    "Reciprocal": (_unary("rec"), FLOATS),
    "Neg": (_neg, NUMBERS),
    "Square": (_square, NUMBERS),
    "Muls": (_attribute("muls"), FLOATS),
    "Adds": (_attribute("adds"), FLOATS),
    "Sigmoid": (_sigmoid, FLOATS),
    "Swish": (_swish, FLOATS),
    "FastGelu": (_fast_gelu, FLOATS),
    "Gelu": (_gelu, FLOATS),
    "GeluV2": (_gelu_v2, FLOATS),
    "Tanh": (_tanh, FLOATS),
    "Erf": (_erf, FLOATS),
    "Cast": (_cast, NUMBERS | TRUTHS),
    "BroadcastTo": (_copy, MOVED),
    "Expand": (_copy, MOVED),
    "Equal": (_compare("eq"), NUMBERS),
    "NotEqual": (_compare("ne"), NUMBERS),
    "Less": (_compare("lt"), NUMBERS),
    "LessEqual": (_compare("le"), NUMBERS),
    "Greater": (_compare("gt"), NUMBERS),
    "GreaterEqual": (_compare("ge"), NUMBERS),
    "LogicalAnd": (_either("min"), TRUTHS),
    "LogicalOr": (_either("max"), TRUTHS),
    "LogicalNot": (_not, TRUTHS),
    "SelectV2": (_select, MOVED),
    "Select": (_select, MOVED),
    "MaskedFill": (_masked_fill, MOVED),
    **MATHS,
    **{name: (recipe, FLOATS) for name, recipe in TESTS.items()},
}
"""Op type -> its recipe and the element types of what it computes with."""

COMPARISONS = frozenset(
    {"Equal", "NotEqual", "Less", "LessEqual", "Greater", "GreaterEqual", *TESTS}
)
MASKS = {"SelectV2": 0, "MaskedFill": 1, "Select": 0}
"""Op type -> the operand that is a truth value beside the others."""
DATA_OPERANDS = {"BroadcastTo": 1, "Expand": 1}
"""Op type -> how many operands the recipe gets; the others are known at compile time."""
LOGIC = frozenset({"LogicalAnd", "LogicalOr", "LogicalNot"})

IN_F32 = frozenset(
    {
        *("Sigmoid", "Tanh", "Erf", "Rsqrt", "Muls", "Adds", "SquaredDifference", "Swish"),
        *("FastGelu", "Gelu", "GeluV2", "BatchNorm", "HardSigmoid", "HardSwish", "LeakyRelu"),
        *("AddN", "FusedMulAdd", *MATHS, *TESTS),
    }
) - {"Abs", "Div", "RealDiv", "Inv", "TensorMove"}
"""Op types whose recipe would round more than once, or a number that f16 does not hold, in f16."""

PLAIN = {
    "Exp": ("base, scale or shift", {"base": -1.0, "scale": 1.0, "shift": 0.0}),
    "Log": ("base, scale or shift", {"base": -1.0, "scale": 1.0, "shift": 0.0}),
    "BatchNorm": ("is_training", {"is_training": False}),
    "GeluV2": ("approximate", {"approximate": "none"}),
}
"""Op type -> attributes whose values its recipe is for, and what to call others."""


def decline(op: GeOp, operands: Sequence[str], result: str) -> str:
    """Why an op has no recipe for these element types and attributes, '' when it has."""
    _, allowed = RECIPES[op.op_type]
    computed = [e for i, e in enumerate(operands) if MASKS.get(op.op_type) != i]
    if op.op_type not in COMPARISONS:
        computed.append(result)
    for element in computed:
        if element not in allowed:
            return f"no lowering for element type {element}"
    if op.op_type != "Cast" and len(set(computed)) > 1 and op.op_type != "BatchNorm":
        return f"no lowering for element types {', '.join((*operands, result))}"
    what, values = PLAIN.get(op.op_type, ("", {}))
    if any(op.get_attr(name) != value for name, value in values.items()):
        return f"no lowering with {what} set"
    if op.op_type in ("Muls", "Adds") and not isfinite(op.get_attr("value")):
        return "no lowering with a value that is not finite"
    if any(list(value.uses) for value in op.results[1:]):
        return "no lowering when more than the first result is used"
    return ""


def emit_op(program: Program, op: GeOp, args: Sequence[Operand], result: str) -> int:
    """Append the instructions of an op; its result, in the element type `result`."""
    recipe, _ = RECIPES[op.op_type]
    element = result
    if op.op_type in COMPARISONS:
        element = element_of(tensor_of(op.operands[0].type).dtype)
    if op.op_type in LOGIC or (op.op_type in MASKS and result == "i1"):
        element = "f16"
    elif op.op_type not in ("Cast", *MASKS, *DATA_OPERANDS) and (
        element == "bf16" or (op.op_type in IN_F32 and element == "f16")
    ):
        element = "f32"
    return cast_to(program, recipe(Emitter(program, element), op, args), result)
