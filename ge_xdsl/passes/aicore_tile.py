"""The pass that chooses the tile of matrix products and convolutions, before they are lowered."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from ge_xdsl.dialects.aicore.structure import KernelOp
from ge_xdsl.dialects.ge.graph import functions
from ge_xdsl.errors import CompileError, UsageError
from ge_xdsl.lowering.convert import choose_all
from ge_xdsl.lowering.tile_choice import choice, choice_or_value_error
from ge_xdsl.passes.session import session_of


@dataclass(frozen=True)
class AicoreTilePass(ModulePass):
    """Give matrix products and convolutions the tile M,N,K; those of `only` by node name.

    A tile has M x N elements of the result, and K columns of the left factor in L0A. Ops that have
    a tile keep it. A name of `only` that no such op has is an error, and so is a graph that is
    lowered: this pass stands before convert-ge-to-aicore, which obeys the tiles.
    """

    name = "aicore-tile"

    tile: tuple[int, ...] = ()
    only: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.tile:
            choice_or_value_error(self.tile)

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        tile = choice(self.tile or None)
        if tile is None:
            raise UsageError(f"pass {self.name}: option 'tile' is missing, expected tile=M,N,K")
        if any(isinstance(child, KernelOp) for child in op.body.block.ops):
            text = ",".join(map(str, tile))
            raise CompileError(
                "the graph is lowered, expected this pass before convert-ge-to-aicore: "
                f"aicore-tile{{tile={text}}},convert-ge-to-aicore",
                subject=self.name,
            )
        bodies = [list(func.body.block.ops) for func in functions(op)]
        for name in self.only:
            if not sum(choose_all(ops, tile, (name,)) for ops in bodies):
                raise CompileError(
                    f"no matrix product or convolution without a tile is called '{name}', "
                    "expected one",
                    subject=self.name,
                )
        if not self.only and not sum(choose_all(ops, tile) for ops in bodies):
            session_of(ctx).warn(
                f"{self.name} has no effect, expected a matrix product or convolution without a "
                "tile"
            )
