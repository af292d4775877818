"""The pass that orders the pipes of kernels by flags."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from ge_xdsl.lowering.sync import insert_sync


@dataclass(frozen=True)
class AicoreSyncPass(ModulePass):
    """Insert set_flag, wait_flag and pipe_barrier into every kernel that has none yet."""

    name = "aicore-sync"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        insert_sync(op)
