"""Gelu and GeluV2 as elementwise arithmetic."""

from __future__ import annotations

from math import pi, sqrt

from xdsl.ir import SSAValue
from xdsl.pattern_rewriter import PatternRewriter

from ge_xdsl.dialects.ge.activation import GeluV2Op, TanhOp
from ge_xdsl.dialects.ge.elementwise import AddOp, AddsOp, MulOp, MulsOp
from ge_xdsl.dialects.ge.op import GeOp
from ge_xdsl.dialects.ge.unary import ErfOp
from ge_xdsl.pattern.rule import Applied, Declined, Outcome, Rule
from ge_xdsl.rewrites.decompose.precision import float_problem, to_type, widened
from ge_xdsl.rewrites.support import Emitter, NamePool, is_ordered, tensor


class DecomposeGelu(Rule):
    """Gelu(x)   -> x/2 * (1 + Tanh(sqrt(2/pi) * (x + 0.044715 * x*x*x)))
    GeluV2(x) -> x/2 * (1 + Erf(x * sqrt(1/2))); with approximate = tanh as Gelu

    Factors are Muls, summands Adds. Half floats are computed in f32.
    """

    name = "DecomposeGelu"
    root_types = ("Gelu", "GeluV2")
    depth = 1

    def __init__(self, names: NamePool | None = None) -> None:
        self.names = names or NamePool()

    def attempt(self, op: GeOp, rewriter: PatternRewriter) -> Outcome:
        problem = float_problem(op.operands[0])
        if problem or is_ordered(op):
            return Declined(problem or "is at a control edge, expected none", op, matched=True)
        emit = Emitter(op, self.names)
        old = tensor(op.results[0]).dtype
        x = to_type(emit, op.operands[0], widened(old))
        exact = isinstance(op, GeluV2Op) and op.approximate == "none"
        inner = emit(ErfOp, emit(MulsOp, x, value=sqrt(0.5))) if exact else _tanh(emit, x)
        y = emit(MulOp, emit(MulsOp, x, value=0.5), emit(AddsOp, inner, value=1.0))
        emit.replace(rewriter, to_type(emit, y, old))
        return Applied()


def _tanh(emit: Emitter, x: SSAValue) -> SSAValue:
    cube = emit(MulOp, emit(MulOp, x, x), x)
    inner = emit(AddOp, x, emit(MulsOp, cube, value=0.044715))
    return emit(TanhOp, emit(MulsOp, inner, value=sqrt(2 / pi)))
