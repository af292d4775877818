"""Reshapes that cancel or combine."""

from __future__ import annotations

from typing import cast

from xdsl.dialects.builtin import IntegerAttr
from xdsl.pattern_rewriter import PatternRewriter

from ge_xdsl.dialects.ge.op import NAME, GeOp
from ge_xdsl.dialects.ge.operands import known_ints
from ge_xdsl.dialects.ge.shape import ReshapeOp
from ge_xdsl.dialects.ge.types import DEFAULT_LAYOUT
from ge_xdsl.pattern.rule import Applied, Declined, Outcome, Rule
from ge_xdsl.rewrites.support import defining, is_ordered, make_like, static_bypass_problem, tensor

VIEWS = (
    "Reshape",
    "Flatten",
    "FlattenV2",
    "Squeeze",
    "SqueezeV3",
    "Unsqueeze",
    "UnsqueezeV3",
    "ExpandDims",
)
"""Ops that keep every element at its place in row-major order."""


class RemoveNoopReshape(Rule):
    """Reshape(x, shape of x) -> x, the other ops of `VIEWS` the same"""

    name = "RemoveNoopReshape"
    root_types = VIEWS

    def attempt(self, op: GeOp, rewriter: PatternRewriter) -> Outcome:
        problem = static_bypass_problem(op.results[0], op.operands[0])
        if problem:
            return Declined(problem, op)
        rewriter.replace(op, (), [op.operands[0]])
        return Applied()


class ComposeReshapes(Rule):
    """Reshape(view(x), shape) -> Reshape(x, shape) for a view of `VIEWS`

    Only where the shape does not refer to the dimensions of its operand (a 0 that copies one, a
    range of dimensions). The view stays while others read it. What RemoveNoopReshape removes is
    left to it, so that the order of the rules is no matter.
    """

    name = "ComposeReshapes"
    root_types = ("Reshape",)

    def attempt(self, op: GeOp, rewriter: PatternRewriter) -> Outcome:
        inner = defining(op.operands[0], *VIEWS)
        if inner is None:
            return Declined("operand is no reshape, expected one", op)
        if any(not static_bypass_problem(v.results[0], v.operands[0]) for v in (op, inner)):
            return Declined("one of the two changes nothing, expected another shape", op, 1)
        problem = shape_problem(cast("ReshapeOp", op))
        if problem:
            return Declined(problem, op, 1)
        if is_ordered(op) or is_ordered(inner):
            return Declined("a reshape is at a control edge, expected none", op, 1, matched=True)
        if any(tensor(v).layout != DEFAULT_LAYOUT for v in (op.operands[0], inner.operands[0])):
            return Declined("an operand is not in format ND, expected ND", op, 1, matched=True)
        extra = {key: attr for key, attr in op.attributes.items() if key != NAME}
        inputs = (inner.operands[0], op.operands[1])
        new = make_like(op, ReshapeOp, inputs, op.properties, extra)
        if isinstance(new, str):
            return Declined(new, op, 1, matched=True)
        rewriter.replace(op, new)
        return Applied()


def shape_problem(op: ReshapeOp) -> str:
    """Why the result shape depends on the operand's dimensions, '' when it does not."""
    if op.axis != 0 or op.num_axes != -1:
        return f"axis is {op.axis} and num_axes {op.num_axes}, expected 0 and -1"
    allow = op.attributes.get("ge.allowzero")
    copies = isinstance(allow, IntegerAttr) and allow.value.data == 0
    wanted = known_ints(op, "shape")
    if copies and (wanted is None or 0 in wanted):
        return "a 0 in shape copies a dimension, expected none"
    return ""
