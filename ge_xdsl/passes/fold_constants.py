"""`ge-fold-constants`: compute at compile time what depends on constants only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from ge_xdsl.dialects.ge.graph import functions
from ge_xdsl.dialects.ge.names import describe
from ge_xdsl.dialects.ge.op import CONSTANT_TYPES, GeOp
from ge_xdsl.dialects.ge.types import Tensor, numpy_dtype, tensor_of
from ge_xdsl.interpreters.ge import EVALUATION_ERRORS
from ge_xdsl.passes.edits import (
    Folder,
    Replacements,
    constants_of,
    is_pure,
    ordered_ops,
    visit_order,
)
from ge_xdsl.passes.session import Session, session_of

if TYPE_CHECKING:
    from ge_xdsl.dialects.ge.types import Array

FOLD_LIMIT = 1 << 20
"""A folded constant may take this many bytes, or as many as the constants it comes from."""

TOTAL_LIMIT = 1 << 28
"""All constants folded in one function may take this many bytes besides those it had."""

WIDEST = 16
"""Bytes of the widest element type, complex128."""

DATA_SIZED = frozenset(
    {
        "ListDiff",
        "MaskedSelect",
        "MaskedSelectV2",
        "NonZero",
        "Unique",
        "UniqueConsecutive",
        "UniqueExt2",
        "UniqueWithCounts",
        "UniqueWithCountsExt2",
        "Where",
    }
)
"""Ops whose result sizes depend on values but are at most the operands' elements x rank."""


@dataclass(frozen=True)
class GeFoldConstantsPass(ModulePass):
    """Replace ops on constants by their values, up to a size limit in bytes (`limit`)."""

    name = "ge-fold-constants"
    limit: int = FOLD_LIMIT

    def __post_init__(self) -> None:
        if self.limit < 0:
            raise ValueError(f"option 'limit' is {self.limit}, expected 0 or more")

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in functions(op):
            _fold_function(func, self.limit, session_of(ctx))
            func.update_function_type()


def _fold_function(func: FuncOp, limit: int, session: Session) -> None:
    replacements = Replacements()
    folder = Folder(func, replacements)
    budget = TOTAL_LIMIT + sum(_constant_bytes(op) for op in func.body.block.ops)
    pinned = {op for block in func.body.blocks for op in ordered_ops(block)}
    for op in visit_order(func.body.block):
        replacements.rewire(op)
        if not isinstance(op, GeOp) or op in pinned:
            continue
        arrays = evaluated(op, min(limit, budget), session, most=budget)
        if arrays is not None:
            budget -= sum(array.nbytes for array in arrays)
            folder.fold(op, arrays)
    replacements.finish()


def _constant_bytes(op: Operation) -> int:
    if not isinstance(op, GeOp) or op.op_type not in CONSTANT_TYPES:
        return 0
    return _byte_size(tensor_of(op.results[0].type)) or 0


def evaluated(
    op: GeOp, limit: int, session: Session, *, small: bool = False, most: int = TOTAL_LIMIT
) -> Sequence[Array] | None:
    """The values of an op on constants, None where it is not to be folded.

    `small`: the constants that it reads have to be below the limit too. `most`: the bytes that the
    results must not exceed however large the constants are.

    An op that is not defined on its constants stays and is warned about: running it would fail.
    """
    if op.op_type in CONSTANT_TYPES or not op.results or not op.operands:
        return None
    if op.regions or not is_pure(op) or not op.has_evaluate():
        return None
    arrays = constants_of(op)
    if arrays is None or not fits(op, arrays, limit, most):
        return None
    if small and sum(array.nbytes for array in arrays) > limit:
        return None
    return values_of(op, arrays, session)


def values_of(op: GeOp, arrays: Sequence[Array], session: Session) -> Sequence[Array] | None:
    """The op's results on these operands; None and a warning where it is not defined on them."""
    import numpy as np

    try:
        with np.errstate(all="ignore"):
            return op.execute(arrays)
    except EVALUATION_ERRORS as error:
        text = str(error).removeprefix(f"{op.name}: ").split("\n")[0]
        session.warn(f"{describe(op)}: not folded: {text or type(error).__name__}")
        return None


def fits(op: GeOp, arrays: Sequence[Array], limit: int, most: int) -> bool:
    """Whether the results are known to stay below the limit before anything is computed.

    An operand that is used twice counts once.
    """
    if op.op_type in DATA_SIZED:
        bound = sum(array.size * max(array.ndim, 1) * WIDEST for array in arrays)
        return bound * len(op.results) <= limit
    total = 0
    for result in op.results:
        size = _byte_size(tensor_of(result.type))
        if size is None:
            return False
        total += size
    distinct = dict(zip(op.operands, arrays, strict=True))
    given = sum(array.nbytes for array in distinct.values())
    return total <= max(limit, min(given, most))


def _byte_size(tensor: Tensor) -> int | None:
    """The bytes of a value, None for unknown dimensions and types of no fixed width."""
    size = tensor.size()
    try:
        return None if size is None else size * numpy_dtype(tensor.dtype).itemsize
    except ValueError:
        return None
