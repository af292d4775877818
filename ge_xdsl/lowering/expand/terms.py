"""Formulas on tensors: arithmetic on terms makes elementwise GE ops."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.ir import SSAValue

from ge_xdsl.dialects.ge.op import GeOp
from ge_xdsl.lowering.expand.builder import Builder, Expansion


class Term:
    """A floating-point value in a formula, in f32 where it would be of half floats."""

    __slots__ = ("build", "value")

    def __init__(self, build: Builder, value: SSAValue) -> None:
        self.build = build
        self.value = value

    def call(self, op_type: str, *others: Term | float, **attrs: object) -> Term:
        """An op on this term and others."""
        values = [o.value if isinstance(o, Term) else o for o in others]
        return Term(self.build, self.build(op_type, self.value, *values, **attrs))

    def __add__(self, other: Term | float) -> Term:
        if isinstance(other, Term):
            return self.call("Add", other)
        return self.call("Adds", value=float(other))

    def __radd__(self, other: float) -> Term:
        return self + other

    def __mul__(self, other: Term | float) -> Term:
        if isinstance(other, Term):
            return self.call("Mul", other)
        return self.call("Muls", value=float(other))

    def __rmul__(self, other: float) -> Term:
        return self * other

    def __neg__(self) -> Term:
        return self.call("Neg")

    def __sub__(self, other: Term | float) -> Term:
        return self.call("Sub", other) if isinstance(other, Term) else self + -other

    def __rsub__(self, other: float) -> Term:
        return -self + other

    def __truediv__(self, other: Term | float) -> Term:
        return self.call("RealDiv", other)

    def __rtruediv__(self, other: float) -> Term:
        one = self.call("Reciprocal")
        return one if other == 1 else one * other

    def is_(self, kind: str, other: Term | float) -> Term:
        """A comparison: Greater, GreaterEqual, Less, LessEqual, Equal, NotEqual."""
        return self.call(kind, other)

    def __gt__(self, other: Term | float) -> Term:
        return self.is_("Greater", other)

    def __ge__(self, other: Term | float) -> Term:
        return self.is_("GreaterEqual", other)

    def __lt__(self, other: Term | float) -> Term:
        return self.is_("Less", other)

    def __le__(self, other: Term | float) -> Term:
        return self.is_("LessEqual", other)

    def same(self, other: Term | float) -> Term:
        """Where both are equal."""
        return self.is_("Equal", other)

    def both(self, other: Term) -> Term:
        """And, of truth values."""
        return self.call("LogicalAnd", other)

    def pick(self, a: Term | float, b: Term | float) -> Term:
        """a where this truth value holds, else b."""
        values = [v.value if isinstance(v, Term) else v for v in (a, b)]
        return Term(self.build, self.build.where(self.value, *values))

    def abs(self) -> Term:
        return self.call("Abs")

    def exp(self) -> Term:
        return self.call("Exp")

    def log(self) -> Term:
        return self.call("Log")

    def sqrt(self) -> Term:
        return self.call("Sqrt")

    def tanh(self) -> Term:
        return self.call("Tanh")

    def sigmoid(self) -> Term:
        return self.call("Sigmoid")

    def erf(self) -> Term:
        return self.call("Erf")

    def expm1(self) -> Term:
        return self.call("Expm1")

    def square(self) -> Term:
        return self.call("Square")

    def clip(self, low: float, high: float) -> Term:
        """Held between two numbers."""
        return self.call("Minimum", high).call("Maximum", low)

    def sum(self, axes: Sequence[int], keep: bool = True) -> Term:
        """The sum over dimensions."""
        return Term(self.build, self.build.reduce("Sum", self.value, axes, keep))

    def mean(self, axes: Sequence[int], keep: bool = True) -> Term:
        return Term(self.build, self.build.reduce("Mean", self.value, axes, keep))

    def max(self, axes: Sequence[int], keep: bool = True) -> Term:
        return Term(self.build, self.build.reduce("Max", self.value, axes, keep))

    def like(self, result: SSAValue) -> SSAValue:
        """The value in the element type and shape of a result of the op."""
        return self.build.like(self.value, result)

    @property
    def shape(self) -> tuple[int, ...]:
        return self.build.shape(self.value)

    def reshape(self, shape: Sequence[int]) -> Term:
        """The elements in another shape."""
        return Term(self.build, self.build.reshape(self.value, shape))


Formula = Callable[..., "Term | Sequence[Term]"]
"""The results of an op (build, op, one term per operand, None where it is missing)."""


def formula(call: Formula) -> Expansion:
    """The expansion that a formula is."""

    def expand(build: Builder, op: GeOp) -> list[SSAValue]:
        terms: list[Term | None] = []
        for io in op.prototype.inputs:
            slot = build.slot(io.name)
            terms.append(None if slot is None else Term(build, build.wide(slot)))
        made = call(build, op, *terms)
        found = [made] if isinstance(made, Term) else list(made)
        return [term.like(value) for term, value in zip(found, op.results, strict=True)]

    return expand


def unary(call: Callable[[Term], Term]) -> Formula:
    """A formula of one operand."""

    def expand(build: Builder, op: GeOp, x: Term) -> Term:
        return call(x)

    return expand


def binary(call: Callable[[Term, Term], Term]) -> Formula:
    """A formula of two operands."""

    def expand(build: Builder, op: GeOp, a: Term, b: Term) -> Term:
        return call(a, b)

    return expand


def ternary(call: Callable[[Term, Term, Term], Term]) -> Formula:
    """A formula of three operands."""

    def expand(build: Builder, op: GeOp, a: Term, b: Term, c: Term) -> Term:
        return call(a, b, c)

    return expand


def unary_by(call: Callable[[Term, float], Term], name: str) -> Formula:
    """A formula of one operand and the attribute `name`."""

    def expand(build: Builder, op: GeOp, x: Term) -> Term:
        return call(x, op.get_attr(name))

    return expand


def unary_by_two(call: Callable[[Term, float, float], Term], one: str, two: str) -> Formula:
    """A formula of one operand and two attributes."""

    def expand(build: Builder, op: GeOp, x: Term) -> Term:
        return call(x, op.get_attr(one), op.get_attr(two))

    return expand


def unary_by_three(
    call: Callable[[Term, float, float, float], Term], one: str, two: str, three: str
) -> Formula:
    """A formula of one operand and three attributes."""

    def expand(build: Builder, op: GeOp, x: Term) -> Term:
        return call(x, op.get_attr(one), op.get_attr(two), op.get_attr(three))

    return expand


def binary_by(call: Callable[[Term, Term, float], Term], name: str) -> Formula:
    """A formula of two operands and the attribute `name`."""

    def expand(build: Builder, op: GeOp, a: Term, b: Term) -> Term:
        return call(a, b, op.get_attr(name))

    return expand


def binary_by_two(call: Callable[[Term, Term, float, float], Term], one: str, two: str) -> Formula:
    """A formula of two operands and two attributes."""

    def expand(build: Builder, op: GeOp, a: Term, b: Term) -> Term:
        return call(a, b, op.get_attr(one), op.get_attr(two))

    return expand


def term(build: Builder, value: SSAValue) -> Term:
    """A value as a term, in f32 when it is of half floats."""
    return Term(build, build.wide(value))
