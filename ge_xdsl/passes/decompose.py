"""`ge-decompose`: large ops as small ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from ge_xdsl.errors import UsageError
from ge_xdsl.lowering import decompose
from ge_xdsl.passes.session import session_of
from ge_xdsl.pattern.fixpoint import run_fixpoint
from ge_xdsl.rewrites.catalog import decompose_rules, selected
from ge_xdsl.targets import target


@dataclass(frozen=True)
class GeDecomposePass(ModulePass):
    """Replace normalisations and composed activations by elementwise ops and reductions.

    `to=primitive` decomposes whatever has a rule. `only`: names of the rules to run, all when not
    given. `to=target` decomposes what the target has no kernel for, where that gives ops that it
    has kernels for; there are no rules to choose from.
    """

    name = "ge-decompose"
    to: Literal["primitive", "target"] = "primitive"
    only: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        selected(decompose_rules(), self.only)
        if self.only and self.to == "target":
            raise UsageError("only is given with to=target, expected it with to=primitive")

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if self.to == "target":
            decompose(op, target(session_of(ctx).target))
            return
        rules = selected(decompose_rules(), self.only)
        run_fixpoint(op, rules, pass_name=self.name, recorders=session_of(ctx).recorders)
