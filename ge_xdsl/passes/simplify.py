"""`ge-simplify`: the graph without what does nothing."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from ge_xdsl.passes.session import session_of
from ge_xdsl.pattern.fixpoint import run_fixpoint
from ge_xdsl.rewrites.catalog import selected, simplify_rules


@dataclass(frozen=True)
class GeSimplifyPass(ModulePass):
    """Remove and combine ops that change nothing: copies, casts, transposes, reshapes, x + 0.

    `only`: names of the rules to run, all when not given.
    """

    name = "ge-simplify"
    only: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        selected(simplify_rules(), self.only)

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        rules = selected(simplify_rules(), self.only)
        run_fixpoint(op, rules, pass_name=self.name, recorders=session_of(ctx).recorders)
