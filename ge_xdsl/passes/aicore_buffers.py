"""The pass that gives buffers their addresses."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from ge_xdsl.lowering.placement import place_buffers
from ge_xdsl.passes.session import session_of
from ge_xdsl.targets import target


@dataclass(frozen=True)
class AicoreBuffersPass(ModulePass):
    """Place the buffers of kernels in their spaces; those that never live together share bytes."""

    name = "aicore-buffers"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        place_buffers(op, target(session_of(ctx).target))
