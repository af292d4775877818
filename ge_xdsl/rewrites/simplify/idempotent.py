"""Ops that change nothing when they run a second time."""

from __future__ import annotations

from xdsl.pattern_rewriter import PatternRewriter

from ge_xdsl.dialects.ge.op import GeOp
from ge_xdsl.pattern.rule import Applied, Declined, Outcome, Rule
from ge_xdsl.rewrites.support import bypass_problem, defining

IDEMPOTENT = ("Relu", "Relu6", "Abs", "Sign", "Floor", "Ceil", "Round")


class RemoveIdempotent(Rule):
    """f(f(x)) -> f(x) for f = Relu, Relu6, Abs, Sign, Floor, Ceil, Round"""

    name = "RemoveIdempotent"
    root_types = IDEMPOTENT

    def attempt(self, op: GeOp, rewriter: PatternRewriter) -> Outcome:
        inner = defining(op.operands[0], op.op_type)
        if inner is None:
            return Declined(f"operand is no {op.op_type}, expected one", op)
        if inner.properties != op.properties:
            return Declined("attributes of the two differ, expected equal ones", op, 1)
        problem = bypass_problem(op.results[0], inner.results[0])
        if problem:
            return Declined(problem, op, 1, matched=True)
        rewriter.replace(op, (), [inner.results[0]])
        return Applied()
