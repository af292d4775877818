"""LayerNorm as means, differences and products."""

from __future__ import annotations

from typing import cast

from xdsl.ir import SSAValue
from xdsl.pattern_rewriter import PatternRewriter

from ge_xdsl.dialects.ge.elementwise import AddOp, AddsOp, MulOp, SubOp
from ge_xdsl.dialects.ge.norm import LayerNormOp
from ge_xdsl.dialects.ge.op import GeOp
from ge_xdsl.dialects.ge.reduce import ReduceMeanOp
from ge_xdsl.dialects.ge.shapes import shape_text
from ge_xdsl.dialects.ge.types import DataType
from ge_xdsl.dialects.ge.unary import RsqrtOp, SquareOp
from ge_xdsl.pattern.rule import Applied, Declined, Outcome, Rule
from ge_xdsl.rewrites.decompose.precision import float_problem, to_type, widened
from ge_xdsl.rewrites.support import Emitter, NamePool, consumers, is_ordered, tensor


class DecomposeLayerNorm(Rule):
    """LayerNorm(x, gamma, beta) -> y, mean, variance with

        axes = begin_norm_axis, ..., rank - 1
        mean = ReduceMean(x, axes),  d = Sub(x, mean),  variance = ReduceMean(Square(d), axes)
        y = Add(Mul(Mul(d, Rsqrt(Adds(variance, epsilon))), gamma), beta)

    The means keep the reduced dimensions as 1. Half floats are cast to f32 before and back after,
    so every result is rounded once, as LayerNorm itself does it.
    """

    name = "DecomposeLayerNorm"
    root_types = ("LayerNorm",)
    depth = 1

    def __init__(self, names: NamePool | None = None) -> None:
        self.names = names or NamePool()

    def attempt(self, op: GeOp, rewriter: PatternRewriter) -> Outcome:
        norm = cast("LayerNormOp", op)
        problem = _problem(norm)
        if problem:
            return Declined(problem, op, matched=True)
        emit = Emitter(op, self.names)
        emit.replace(rewriter, *_expand(emit, norm))
        return Applied()


def _problem(op: LayerNormOp) -> str:
    x = tensor(op.x)
    if not x.shape:
        return f"x is {shape_text(x.shape)}, expected a known rank above 0"
    types = {tensor(value).dtype for value in op.operands}
    if DataType.DT_DOUBLE in types and len(types) > 1:
        return f"x is {x.dtype.name}, expected the element type of gamma and beta beside DT_DOUBLE"
    if is_ordered(op):
        return "is at a control edge, expected none"
    return next((text for v in op.operands if (text := float_problem(v))), "")


def _expand(emit: Emitter, op: LayerNormOp) -> list[SSAValue]:
    import numpy as np

    shape, kind = tensor(op.x).shape, widened(tensor(op.x).dtype)
    assert shape is not None
    x, gamma, beta = (to_type(emit, value, kind) for value in op.operands)
    begin = op.begin_norm_axis % len(shape)
    axes = emit.const(np.arange(begin, len(shape), dtype=np.int64), "axes")
    mean = emit(ReduceMeanOp, x, axes, keep_dims=True)
    centred = emit(SubOp, x, mean)
    variance = emit(ReduceMeanOp, emit(SquareOp, centred), axes, keep_dims=True)
    rstd = emit(RsqrtOp, emit(AddsOp, variance, value=op.epsilon))
    scaled = emit(MulOp, emit(MulOp, centred, rstd), gamma)
    y = to_type(emit, emit(AddOp, scaled, beta), tensor(op.y).dtype)
    moments = ((op.mean, mean), (op.variance, variance))
    return [
        y,
        *(to_type(emit, v, tensor(old).dtype) if consumers(old) else v for old, v in moments),
    ]
