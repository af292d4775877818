"""Copies that nothing needs."""

from __future__ import annotations

from xdsl.pattern_rewriter import PatternRewriter

from ge_xdsl.dialects.ge.op import GeOp
from ge_xdsl.pattern.rule import Applied, Declined, Outcome, Rule
from ge_xdsl.rewrites.support import bypass_problem


class RemoveIdentity(Rule):
    """Identity(x) -> x

    One at a control edge stays: it holds a place in the order.
    """

    name = "RemoveIdentity"
    root_types = ("Identity",)

    def attempt(self, op: GeOp, rewriter: PatternRewriter) -> Outcome:
        problem = bypass_problem(op.results[0], op.operands[0])
        if problem:
            return Declined(problem, op, matched=True)
        rewriter.replace(op, (), [op.operands[0]])
        return Applied()
