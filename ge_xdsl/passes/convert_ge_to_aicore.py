"""The pass that turns GE ops into kernels and launches."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from ge_xdsl.lowering.convert import convert, idle_tile
from ge_xdsl.lowering.tile_choice import choice, choice_or_value_error
from ge_xdsl.passes.session import session_of
from ge_xdsl.targets import target


@dataclass(frozen=True)
class ConvertGeToAicorePass(ModulePass):
    """Lower GE ops to kernels of the session's target; what cannot be stays and tells why.

    `tile` is M,N,K for the matrix products and convolutions that have no tile of their own.
    """

    name = "convert-ge-to-aicore"

    tile: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if self.tile:
            choice_or_value_error(self.tile)

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        session = session_of(ctx)
        tile = choice(self.tile or session.tile or None)
        if not convert(op, target(session.target), tile) and tile is not None:
            session.warn(idle_tile(tile))
