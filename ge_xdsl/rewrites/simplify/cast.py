"""Conversions of the element type that lead nowhere."""

from __future__ import annotations

from xdsl.pattern_rewriter import PatternRewriter

from ge_xdsl.dialects.ge.op import GeOp
from ge_xdsl.dialects.ge.types import DataType
from ge_xdsl.pattern.rule import Applied, Declined, Outcome, Rule
from ge_xdsl.rewrites.support import bypass_problem, defining, is_ordered, tensor

_SIGNED = ("INT8", "INT16", "INT32", "INT64")
_UNSIGNED = ("UINT8", "UINT16", "UINT32", "UINT64")
_WIDER: dict[str, tuple[str, ...]] = {
    "FLOAT16": ("FLOAT", "DOUBLE"),
    "BF16": ("FLOAT", "DOUBLE"),
    "FLOAT": ("DOUBLE",),
    "BOOL": (*_SIGNED, *_UNSIGNED, "FLOAT16", "BF16", "FLOAT", "DOUBLE"),
    "INT8": (*_SIGNED[1:], "FLOAT16", "BF16", "FLOAT", "DOUBLE"),
    "INT16": (*_SIGNED[2:], "FLOAT", "DOUBLE"),
    "INT32": ("INT64", "DOUBLE"),
    "UINT8": (*_SIGNED[1:], *_UNSIGNED[1:], "FLOAT16", "BF16", "FLOAT", "DOUBLE"),
    "UINT16": (*_SIGNED[2:], *_UNSIGNED[2:], "FLOAT", "DOUBLE"),
    "UINT32": ("INT64", "UINT64", "DOUBLE"),
}
LOSSLESS = frozenset(
    (DataType[f"DT_{narrow}"], DataType[f"DT_{wide}"])
    for narrow, wides in _WIDER.items()
    for wide in wides
)
"""(from, to): every value of `from` is a value of `to`."""


class RemoveCastToSame(Rule):
    """Cast(x: t) to t -> x"""

    name = "RemoveCastToSame"
    root_types = ("Cast",)

    def attempt(self, op: GeOp, rewriter: PatternRewriter) -> Outcome:
        have, want = tensor(op.operands[0]).dtype, tensor(op.results[0]).dtype
        if have != want:
            return Declined(f"x is {have.name}, expected {want.name}", op)
        problem = bypass_problem(op.results[0], op.operands[0])
        if problem:
            return Declined(problem, op, 1, matched=True)
        rewriter.replace(op, (), [op.operands[0]])
        return Applied()


class RemoveCastRoundTrip(Rule):
    """Cast(Cast(x: t) to u) to t -> x where u has every value of t (`LOSSLESS`)

    The inner one stays while others read it.
    """

    name = "RemoveCastRoundTrip"
    root_types = ("Cast",)

    def attempt(self, op: GeOp, rewriter: PatternRewriter) -> Outcome:
        inner = defining(op.operands[0], "Cast")
        if inner is None:
            return Declined("x is no Cast, expected one", op)
        x = inner.operands[0]
        have, middle, want = (tensor(v).dtype for v in (x, inner.results[0], op.results[0]))
        if have != want:
            return Declined(f"the casts lead to {want.name}, expected {have.name}", op, 1)
        if (have, middle) not in LOSSLESS:
            return Declined(f"{middle.name} has not every value of {have.name}", op, 1)
        problem = bypass_problem(op.results[0], x)
        if problem or is_ordered(inner):
            problem = problem or "the inner Cast is at a control edge, expected none"
            return Declined(problem, op, 1, matched=True)
        rewriter.replace(op, (), [x])
        return Applied()
