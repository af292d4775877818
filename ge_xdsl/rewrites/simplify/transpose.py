"""Transposes that cancel or combine."""

from __future__ import annotations

from typing import cast

from xdsl.ir import SSAValue
from xdsl.pattern_rewriter import PatternRewriter

from ge_xdsl.dialects.ge.op import GeOp
from ge_xdsl.dialects.ge.operands import known_ints
from ge_xdsl.dialects.ge.shape import TransposeDOp, TransposeOp
from ge_xdsl.pattern.rule import Applied, Declined, Outcome, Rule
from ge_xdsl.rewrites.support import Emitter, NamePool, bypass_problem, defining, is_ordered

TRANSPOSES = ("Transpose", "TransposeD")


class RemoveIdentityTranspose(Rule):
    """Transpose(x, [0, 1, ..., n]) -> x, TransposeD the same"""

    name = "RemoveIdentityTranspose"
    root_types = TRANSPOSES

    def attempt(self, op: GeOp, rewriter: PatternRewriter) -> Outcome:
        perm = permutation_of(op)
        if perm is None:
            return Declined("perm is not constant, expected a constant one", op)
        if perm != tuple(range(len(perm))):
            return Declined(f"perm is {list(perm)}, expected the identity", op)
        problem = bypass_problem(op.results[0], op.operands[0])
        if problem:
            return Declined(problem, op, 1, matched=True)
        rewriter.replace(op, (), [op.operands[0]])
        return Applied()


class ComposeTransposes(Rule):
    """Transpose(Transpose(x, p), q) -> Transpose(x, [p[i] for i in q])

    Either one may be a TransposeD. The inner one stays while others read it. One that
    RemoveIdentityTranspose removes is left to it, so that the order of the rules is no matter.
    """

    name = "ComposeTransposes"
    root_types = TRANSPOSES

    def __init__(self, names: NamePool | None = None) -> None:
        self.names = names or NamePool()

    def attempt(self, op: GeOp, rewriter: PatternRewriter) -> Outcome:
        inner = defining(op.operands[0], *TRANSPOSES)
        if inner is None:
            return Declined("operand is no transpose, expected one", op)
        p, q = permutation_of(inner), permutation_of(op)
        if p is None or q is None:
            which = "inner" if p is None else "outer"
            return Declined(f"{which} perm is not constant, expected a constant one", op, 1)
        if len(p) != len(q):
            return Declined(f"perms have {len(p)} and {len(q)} entries, expected equal", op, 1)
        if is_ordered(op) or is_ordered(inner):
            return Declined("a transpose is at a control edge, expected none", op, 1, matched=True)
        if does_nothing(inner, p) or does_nothing(op, q):
            return Declined("one perm is the identity, expected another", op, 1)
        _replace(rewriter, op, inner.operands[0], tuple(p[i] for i in q), self.names)
        return Applied()


def does_nothing(op: GeOp, perm: tuple[int, ...]) -> bool:
    """Whether a transpose with this permutation gives its operand as it is."""
    identity = perm == tuple(range(len(perm)))
    return identity and not bypass_problem(op.results[0], op.operands[0])


def permutation_of(op: GeOp) -> tuple[int, ...] | None:
    """The permutation of a transpose counted from the front, None while it is unknown."""
    if isinstance(op, TransposeDOp):
        perm: tuple[int, ...] | None = tuple(op.perm)
    else:
        perm = known_ints(op, "perm")
    return None if perm is None else tuple(i % len(perm) for i in perm)


def _replace(
    rewriter: PatternRewriter,
    op: GeOp,
    x: SSAValue,
    perm: tuple[int, ...],
    names: NamePool,
) -> None:
    emit = Emitter(op, names)
    if isinstance(op, TransposeDOp):
        emit.replace(rewriter, emit(TransposeDOp, x, perm=perm))
        return
    import numpy as np

    old = op.constant("perm")
    assert old is not None
    constant = emit.const(np.array(perm, old.dtype), "perm")
    emit.replace(rewriter, emit(cast("type[GeOp]", TransposeOp), x, constant))
