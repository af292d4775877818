"""SoftmaxV2 as a maximum, powers and their sum."""

from __future__ import annotations

from typing import cast

from xdsl.pattern_rewriter import PatternRewriter

from ge_xdsl.dialects.ge.activation import SoftmaxV2Op
from ge_xdsl.dialects.ge.elementwise import RealDivOp, SubOp
from ge_xdsl.dialects.ge.op import GeOp
from ge_xdsl.dialects.ge.reduce import ReduceMaxOp, ReduceSumOp
from ge_xdsl.dialects.ge.shapes import normalize_axes, shape_text
from ge_xdsl.dialects.ge.unary import ExpOp
from ge_xdsl.pattern.rule import Applied, Declined, Outcome, Rule
from ge_xdsl.rewrites.decompose.precision import float_problem, to_type, widened
from ge_xdsl.rewrites.support import Emitter, NamePool, is_ordered, tensor


class DecomposeSoftmax(Rule):
    """SoftmaxV2(x) -> RealDiv(e, ReduceSum(e)) with e = Exp(Sub(x, ReduceMax(x)))

    Both reductions run over the axes and keep them as 1. Half floats are computed in f32.
    """

    name = "DecomposeSoftmax"
    root_types = ("SoftmaxV2",)
    depth = 1

    def __init__(self, names: NamePool | None = None) -> None:
        self.names = names or NamePool()

    def attempt(self, op: GeOp, rewriter: PatternRewriter) -> Outcome:
        softmax = cast("SoftmaxV2Op", op)
        problem = _problem(softmax)
        if problem:
            return Declined(problem, op, matched=True)
        import numpy as np

        emit = Emitter(op, self.names)
        source = tensor(softmax.x)
        assert source.shape is not None
        x = to_type(emit, softmax.x, widened(source.dtype))
        found = normalize_axes(softmax.axes, len(source.shape))
        axes = emit.const(np.array(found, np.int64), "axes")
        largest = emit(ReduceMaxOp, x, axes, keep_dims=True)
        powers = emit(ExpOp, emit(SubOp, x, largest))
        total = emit(ReduceSumOp, powers, axes, keep_dims=True)
        y = emit(RealDivOp, powers, total)
        emit.replace(rewriter, to_type(emit, y, tensor(softmax.y).dtype))
        return Applied()


def _problem(op: SoftmaxV2Op) -> str:
    x = tensor(op.x)
    if not x.shape or 0 in x.shape:
        return f"x is {shape_text(x.shape)}, expected a known rank above 0 and elements"
    if not op.axes:
        return "axes are [], expected one or more"
    return float_problem(op.x) or ("is at a control edge, expected none" if is_ordered(op) else "")
