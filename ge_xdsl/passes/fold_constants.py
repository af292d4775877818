"""`ge-fold-constants`: compute at compile time what depends on constants only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.passes import ModulePass

from ge_xdsl.dialects.ge.graph import functions
from ge_xdsl.dialects.ge.names import describe
from ge_xdsl.dialects.ge.op import CONSTANT_TYPES, GeOp
from ge_xdsl.dialects.ge.types import numpy_dtype, tensor_of
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
    pinned = {op for block in func.body.blocks for op in ordered_ops(block)}
    for op in visit_order(func.body.block):
        replacements.rewire(op)
        if not isinstance(op, GeOp) or op in pinned:
            continue
        arrays = evaluated(op, limit, session)
        if arrays is not None:
            folder.fold(op, arrays)
    replacements.finish()


def evaluated(
    op: GeOp, limit: int, session: Session, *, small: bool = False
) -> Sequence[Array] | None:
    """The values of an op on constants, None where it is not to be folded.

    `small`: the constants that it reads have to be below the limit too.

    An op that is not defined on its constants stays and is warned about: running it would fail.
    """
    if op.op_type in CONSTANT_TYPES or not op.results or not op.operands:
        return None
    if op.regions or not is_pure(op) or not op.has_evaluate():
        return None
    arrays = constants_of(op)
    if arrays is None or not fits(op, arrays, limit):
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


def fits(op: GeOp, arrays: Sequence[Array], limit: int) -> bool:
    """Whether the results are known to stay below the limit before anything is computed."""
    given = sum(array.nbytes for array in arrays)
    if op.op_type in DATA_SIZED:
        most = sum(array.size * max(array.ndim, 1) * WIDEST for array in arrays)
        return most * len(op.results) <= limit
    total = 0
    for result in op.results:
        tensor = tensor_of(result.type)
        size = tensor.size()
        try:
            width = numpy_dtype(tensor.dtype).itemsize
        except ValueError:
            return False
        if size is None:
            return False
        total += size * width
    return total <= max(limit, given)
