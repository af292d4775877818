"""The pass that turns GE ops into kernels and launches."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from ge_xdsl.lowering import convert
from ge_xdsl.passes.session import session_of
from ge_xdsl.targets import target


@dataclass(frozen=True)
class ConvertGeToAicorePass(ModulePass):
    """Lower GE ops to kernels of the session's target; what cannot be stays and tells why."""

    name = "convert-ge-to-aicore"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        convert(op, target(session_of(ctx).target))
