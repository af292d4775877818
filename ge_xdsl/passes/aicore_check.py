"""The pass that holds kernels against the target: capacities, cores, layouts, paths, order."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from ge_xdsl.dialects.aicore.legality import check
from ge_xdsl.passes.session import session_of
from ge_xdsl.targets import target


@dataclass(frozen=True)
class AicoreCheckPass(ModulePass):
    """Fail with the first kernel that the session's target cannot run."""

    name = "aicore-check"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        check(op, target(session_of(ctx).target))
