"""Arithmetic with a constant that changes nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xdsl.ir import SSAValue
from xdsl.pattern_rewriter import PatternRewriter

from ge_xdsl.dialects.ge.op import GeOp, constant_of
from ge_xdsl.dialects.ge.shapes import shape_text
from ge_xdsl.dialects.ge.types import DataType
from ge_xdsl.pattern.rule import Applied, Declined, Outcome, Rule
from ge_xdsl.rewrites.support import static_bypass_problem, tensor

if TYPE_CHECKING:
    from ge_xdsl.dialects.ge.types import Array

NEUTRAL = {"Add": 0, "Sub": 0, "Mul": 1, "RealDiv": 1, "Div": 1}
COMMUTES = frozenset({"Add", "Mul"})
LIMIT = 1 << 16
"""Larger constants are not looked through."""


class RemoveNeutral(Rule):
    """x + 0 -> x, 0 + x -> x, x - 0 -> x, x * 1 -> x, 1 * x -> x, x / 1 -> x

    Only where the result has the element type and the shape of x, that is, where the constant
    does not widen it. All values stay equal; one bit pattern does not: -0.0 + 0.0 is 0.0, and
    without the sum it stays -0.0 (the two compare equal).
    """

    name = "RemoveNeutral"
    root_types = tuple(NEUTRAL)

    def attempt(self, op: GeOp, rewriter: PatternRewriter) -> Outcome:
        neutral = NEUTRAL[op.op_type]
        left, right = op.operands
        declined = _decline(op, left, right, neutral)
        if declined is None:
            rewriter.replace(op, (), [left])
            return Applied()
        if op.op_type in COMMUTES and constant_of(left) is not None:
            declined = _decline(op, right, left, neutral)
            if declined is None:
                rewriter.replace(op, (), [right])
                return Applied()
        return declined


def _decline(op: GeOp, x: SSAValue, constant: SSAValue, neutral: int) -> Declined | None:
    array = constant_of(constant)
    if array is None:
        return Declined(f"no operand is constant, expected {neutral}", op)
    if array.size > LIMIT:
        return Declined(f"constant has {array.size} elements, expected at most {LIMIT}", op)
    if not array.size or not _all_equal(array, neutral):
        return Declined(f"constant of {shape_text(array.shape)} is not all {neutral}", op)
    if tensor(x).dtype is DataType.DT_BOOL:
        return Declined("x is DT_BOOL, expected numbers", op, 1)
    problem = static_bypass_problem(op.results[0], x)
    return Declined(problem, op, 1, matched=True) if problem else None


def _all_equal(array: Array, value: int) -> bool:
    return array.dtype.kind not in "OSU" and bool((array == value).all())
