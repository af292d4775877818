"""`ge-fuse`: one op in the place of several."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from ge_xdsl.passes.cost_model import paying
from ge_xdsl.passes.session import session_of
from ge_xdsl.pattern.fixpoint import run_fixpoint
from ge_xdsl.rewrites.catalog import fusion_rules, selected


@dataclass(frozen=True)
class GeFusePass(ModulePass):
    """Replace groups of ops by one op that does their work in one kernel.

    `only`: names of the rules to run, all when not given. `cost-model=on`: those that make the
    graph slower on the target are left out, with a warning.
    """

    name = "ge-fuse"
    only: tuple[str, ...] = ()
    cost_model: Literal["on", "off"] = "off"

    def __post_init__(self) -> None:
        selected(fusion_rules(), self.only)

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        rules, session = selected(fusion_rules(), self.only), session_of(ctx)
        if self.cost_model == "on":
            rules = paying(rules, op, session, self.name)
        run_fixpoint(op, rules, pass_name=self.name, recorders=session.recorders)
