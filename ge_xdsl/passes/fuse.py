"""`ge-fuse`: one op in the place of several."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from ge_xdsl.passes.session import session_of
from ge_xdsl.pattern.fixpoint import run_fixpoint
from ge_xdsl.rewrites.catalog import fusion_rules, selected


@dataclass(frozen=True)
class GeFusePass(ModulePass):
    """Replace groups of ops by one op that does their work in one kernel.

    `only`: names of the rules to run, all when not given.
    """

    name = "ge-fuse"
    only: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        selected(fusion_rules(), self.only)

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        rules = selected(fusion_rules(), self.only)
        run_fixpoint(op, rules, pass_name=self.name, recorders=session_of(ctx).recorders)
