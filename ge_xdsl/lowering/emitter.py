"""Appending vector instructions to a program: element types, sizes, casts and broadcasts."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ge_xdsl.dialects.aicore.vector import CASTS
from ge_xdsl.dialects.ge.op import GeOp
from ge_xdsl.lowering.buffers import Program, Value

Operand = int | float
"""A virtual value, or a number known at compile time."""

UNSIGNED = frozenset({"ui8", "ui16", "ui32", "ui64"})
SCALAR_ONLY = frozenset({"i64", "i8", *UNSIGNED})
"""Element types without vector arithmetic: the scalar unit computes them one by one."""

Recipe = Callable[["Emitter", GeOp, Sequence[Operand]], int]


class Emitter:
    """Appends instructions in one element type to a program.

    A result has the rows and columns that one of its operands has: what stands for a whole row or
    column is computed once for it, and repeated where it meets larger values.
    """

    def __init__(self, program: Program, element: str) -> None:
        self.program = program
        self.element = element

    def size(self, *args: Operand, element: str = "") -> Value:
        """The size of a result of these operands; numbers alone give a full one."""
        values = [self.program.values[x] for x in args if isinstance(x, int)]
        rows = any(v.rows for v in values) or not values
        cols = any(v.cols for v in values) or not values
        return Value(element or self.element, rows, cols)

    def fit(self, x: Operand, size: Value) -> int:
        """An operand in the element type, as large as `size`: number, cast, repeated."""
        want = Value(self.element, size.rows, size.cols)
        if not isinstance(x, int):
            how = "scalar" if self.element in SCALAR_ONLY else "vdup"
            return self.program.once(how, (), want, x)
        return spread(self.program, cast_to(self.program, x, self.element), want)

    def value(self, x: Operand) -> int:
        """An operand in the element type, as large as it is."""
        return self.fit(x, self.size(x))

    def unary(self, kind: str, x: Operand) -> int:
        return self.program.step("vunary", (self.value(x),), self.size(x), kind)

    def binary(self, kind: str, a: Operand, b: Operand) -> int:
        if self.element in SCALAR_ONLY:
            return self.one_by_one(kind, a, b)
        size = self.size(a, b)
        sources = (self.fit(a, size), self.fit(b, size))
        return self.program.step("vbinary", sources, size, kind)

    def one_by_one(self, kind: str, a: Operand, b: Operand, element: str = "") -> int:
        """kind(a, b) on the scalar unit; the result's element type when it is another."""
        size = self.size(a, b)
        if not isinstance(b, int):
            result = self.size(a, element=element)
            return self.program.step("scalar", (self.value(a),), result, kind, b)
        sources = (self.fit(a, size), self.fit(b, size))
        return self.program.step("scalar", sources, self.size(a, b, element=element), kind)

    def scalar(self, kind: str, x: Operand, value: float) -> int:
        if self.element in SCALAR_ONLY:
            return self.one_by_one(kind[:-1], x, value)
        return self.program.step("vscalar", (self.value(x),), self.size(x), kind, value)

    def either(self, kind: str, a: Operand, b: Operand) -> int:
        """A commutative op: with a number on either side it is a scalar instruction."""
        if not isinstance(b, int):
            return self.scalar(f"{kind}s", a, b)
        return self.scalar(f"{kind}s", b, a) if not isinstance(a, int) else self.binary(kind, a, b)

    def sub(self, a: Operand, b: Operand) -> int:
        """a - number = a + (-number)"""
        if self.element in SCALAR_ONLY:
            return self.one_by_one("sub", a, b)
        return self.scalar("adds", a, -b) if not isinstance(b, int) else self.binary("sub", a, b)

    def compare(self, kind: str, a: Operand, b: Operand) -> int:
        """The bits of a kind b."""
        size = self.size(a, b)
        sources = (self.fit(a, size), self.fit(b, size))
        return self.program.step("vcmp", sources, self.size(a, b, element="bit"), kind)

    def select(self, bits: int, a: Operand, b: Operand) -> int:
        """a where the bit is set, else b."""
        size = self.size(bits, a, b)
        mask = spread(self.program, bits, Value("bit", size.rows, size.cols))
        return self.program.step("vsel", (mask, self.fit(a, size), self.fit(b, size)), size)

    def reduce(self, kind: str, x: Operand) -> int:
        """One element per row or per column, along what the program has whole."""
        axis = self.program.whole
        source = self.fit(x, Value(self.element))
        result = Value(self.element, axis == "cols", axis == "rows")
        return self.program.step("vreduce", (source,), result, kind, axis=axis)

    def rounded(self, x: Operand, mode: str) -> int:
        """x rounded to a whole number: rint, floor, ceil, trunc or round (halves away from 0)."""
        return self.program.step("vcast", (self.value(x),), self.size(x), mode)

    def polynomial(self, z: int, coefficients: Sequence[float]) -> int:
        """c[0] + z (c[1] + z (c[2] + ...)), by Horner's rule."""
        top = coefficients[-1]
        out = z if top == 1 else self.scalar("muls", z, top)
        for c in coefficients[-2:0:-1]:
            out = self.binary("mul", self.scalar("adds", out, c), z)
        return self.scalar("adds", out, coefficients[0])


def spread(program: Program, x: int, want: Value) -> int:
    """`x` repeated to the rows and columns of `want`; bits by way of bytes that can be repeated."""
    have = program.values[x]
    if (have.rows, have.cols) == (want.rows, want.cols):
        return x
    if have.element != "bit":
        return program.once("vbrc", (x,), Value(have.element, want.rows, want.cols))
    emit = Emitter(program, "f16")
    ones = spread(program, emit.select(x, 1.0, 0.0), want)
    return emit.compare("ne", ones, 0.0)


STEPS = {
    ("f16", "bf16"): "f32",
    ("bf16", "f16"): "f32",
    ("i1", "f32"): "f16",
    ("i1", "bf16"): "f16",
    ("i1", "i32"): "f16",
    ("i1", "i16"): "f16",
    ("i1", "i64"): "f16",
    ("i1", "i8"): "f16",
    ("i1", "ui8"): "f16",
    ("i32", "f16"): "f32",
    ("bf16", "i32"): "f32",
    ("bf16", "i16"): "f32",
    ("f16", "i64"): "f32",
    ("bf16", "i64"): "f32",
    ("i64", "f16"): "f32",
    ("i64", "bf16"): "f32",
    ("i32", "bf16"): "f32",
    ("i16", "bf16"): "f32",
    ("i16", "i32"): "f32",
    ("i16", "i64"): "f32",
    **{(a, b): "f16" for a in ("i8", "ui8") for b in ("f32", "bf16", "i32", "i64", "i16")},
    **{("bf16", b): "f32" for b in ("i8", "ui8")},
}
"""Element types between which there is no cast -> the one on the way, which changes no number."""


def cast_to(program: Program, x: int, element: str) -> int:
    """`x` in another element type, of x's size, towards zero to an integer."""
    have = program.values[x]
    if have.element == element:
        return x
    between = STEPS.get((have.element, element))
    if between is not None:
        x = cast_to(program, x, between)
        return cast_to(program, x, element)
    if have.element == "f32" and element in ("i8", "ui8"):
        # f16 holds all whole numbers of 8 bits
        whole = program.step("vcast", (x,), Value("f32", have.rows, have.cols), "trunc")
        return cast_to(program, cast_to(program, whole, "f16"), element)
    result = Value(element, have.rows, have.cols)
    if (have.element, element) in CASTS:
        return program.once("vcast", (x,), result)
    return program.once("scalar", (x,), result)
