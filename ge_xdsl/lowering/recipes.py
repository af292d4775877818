"""GE elementwise ops as sequences of vector instructions, one recipe per op type.

bf16 and the functions that the vector unit lacks are computed in f32. The result of every GE op
is rounded to its element type, so a chain in one kernel gives what its ops give one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import isfinite

from ge_xdsl.dialects.ge.op import GeOp
from ge_xdsl.lowering.buffers import Program, Value

Operand = int | float
"""A virtual value, or a number known at compile time."""

Recipe = Callable[["Emitter", GeOp, Sequence[Operand]], int]


class Emitter:
    """Appends instructions in one element type to a program."""

    def __init__(self, program: Program, element: str) -> None:
        self.program = program
        self.element = element

    def value(self, x: Operand) -> int:
        """A full-size value in the element type: number, cast and broadcast as needed."""
        if not isinstance(x, int):
            return self.program.once("vdup", (), Value(self.element), x)
        x = cast_to(self.program, x, self.element)
        have = self.program.values[x]
        if have.rows and have.cols:
            return x
        return self.program.once("vbrc", (x,), Value(self.element))

    def unary(self, kind: str, x: Operand) -> int:
        return self.program.step("vunary", (self.value(x),), self.element, kind)

    def binary(self, kind: str, a: Operand, b: Operand) -> int:
        sources = (self.value(a), self.value(b))
        return self.program.step("vbinary", sources, self.element, kind)

    def scalar(self, kind: str, x: Operand, value: float) -> int:
        return self.program.step("vscalar", (self.value(x),), self.element, kind, value)

    def polynomial(self, z: int, coefficients: Sequence[float]) -> int:
        """c[0] + z (c[1] + z (c[2] + ...)), by Horner's rule."""
        top = coefficients[-1]
        out = z if top == 1 else self.scalar("muls", z, top)
        for c in coefficients[-2:0:-1]:
            out = self.binary("mul", self.scalar("adds", out, c), z)
        return self.scalar("adds", out, coefficients[0])


def cast_to(program: Program, x: int, element: str) -> int:
    """`x` in another element type, of x's size."""
    have = program.values[x]
    if have.element == element:
        return x
    if "f32" not in (have.element, element):
        x = cast_to(program, x, "f32")
    return program.once("vcast", (x,), Value(element, have.rows, have.cols))


def _unary(kind: str) -> Recipe:
    return lambda emit, op, args: emit.unary(kind, args[0])


def _binary(kind: str, scalar: str) -> Recipe:
    """A commutative op: with a number on either side it is a scalar instruction."""

    def recipe(emit: Emitter, op: GeOp, args: Sequence[Operand]) -> int:
        a, b = args
        if not isinstance(b, int):
            return emit.scalar(scalar, a, b)
        if not isinstance(a, int):
            return emit.scalar(scalar, b, a)
        return emit.binary(kind, a, b)

    return recipe


def _sub(emit: Emitter, op: GeOp, args: Sequence[Operand]) -> int:
    """a - number = a + (-number)"""
    a, b = args
    return emit.scalar("adds", a, -b) if not isinstance(b, int) else emit.binary("sub", a, b)


def _div(emit: Emitter, op: GeOp, args: Sequence[Operand]) -> int:
    return emit.binary("div", args[0], args[1])


def _relu(emit: Emitter, op: GeOp, args: Sequence[Operand]) -> int:
    if emit.element == "i32":
        return emit.scalar("maxs", args[0], 0.0)
    return emit.unary("relu", args[0])


def _neg(emit: Emitter, op: GeOp, args: Sequence[Operand]) -> int:
    """-x = -1 x"""
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
    e = emit.unary("exp", emit.scalar("muls", args[0], -1.0))
    return emit.binary("div", 1.0, emit.scalar("adds", e, 1.0))


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


def _cast(emit: Emitter, op: GeOp, args: Sequence[Operand]) -> int:
    """The element type is that of the result."""
    return emit.value(args[0])


FLOATS = frozenset({"f16", "bf16", "f32"})
NUMBERS = FLOATS | {"i32"}

RECIPES: dict[str, tuple[Recipe, frozenset[str]]] = {
    "Add": (_binary("add", "adds"), NUMBERS),
    "Sub": (_sub, NUMBERS),
    "Mul": (_binary("mul", "muls"), NUMBERS),
    "Maximum": (_binary("max", "maxs"), NUMBERS),
    "Minimum": (_binary("min", "mins"), NUMBERS),
    "RealDiv": (_div, FLOATS),
    "Div": (_div, FLOATS),
    "SquaredDifference": (_squared_difference, FLOATS),
    "Relu": (_relu, NUMBERS),
    "Abs": (_unary("abs"), FLOATS),
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
    "Tanh": (_tanh, FLOATS),
    "Erf": (_erf, FLOATS),
    "Cast": (_cast, NUMBERS),
}
"""Op type -> its recipe and the element types that it takes."""

IN_F32 = frozenset({"Sigmoid", "Tanh", "Erf", "Rsqrt", "Muls", "Adds", "SquaredDifference"})
"""Op types whose recipe would round more than once, or a number that f16 does not hold, in f16."""

CASTS = frozenset(
    {(a, b) for a in FLOATS for b in FLOATS if a != b}
    | {("f32", "i32"), ("f16", "i32"), ("bf16", "i32"), ("i32", "f32")}
)
"""Element types that Cast converts with one rounding."""

PLAIN = {"Exp": (-1.0, 1.0, 0.0), "Log": (-1.0, 1.0, 0.0)}
"""Op type -> the values of base, scale and shift that its recipe is for."""


def decline(op: GeOp, operands: Sequence[str], result: str) -> str:
    """Why an op has no recipe for these element types and attributes, '' when it has."""
    _, allowed = RECIPES[op.op_type]
    for element in (*operands, result):
        if element not in allowed:
            return f"no lowering for element type {element}"
    if op.op_type == "Cast":
        if (operands[0], result) not in CASTS:
            return f"no lowering for a cast from {operands[0]} to {result}"
    elif len({*operands, result}) > 1:
        return f"no lowering for element types {', '.join((*operands, result))}"
    plain = PLAIN.get(op.op_type)
    if plain and tuple(op.get_attr(a) for a in ("base", "scale", "shift")) != plain:
        return "no lowering with base, scale or shift set"
    if op.op_type in ("Muls", "Adds") and not isfinite(op.get_attr("value")):
        return "no lowering with a value that is not finite"
    return ""


def emit_op(program: Program, op: GeOp, args: Sequence[Operand], result: str) -> int:
    """Append the instructions of an op; its result, in the element type `result`."""
    recipe, _ = RECIPES[op.op_type]
    in_f32 = result == "bf16" or (op.op_type in IN_F32 and result == "f16")
    element = "f32" if in_f32 and op.op_type != "Cast" else result
    return cast_to(program, recipe(Emitter(program, element), op, args), result)
