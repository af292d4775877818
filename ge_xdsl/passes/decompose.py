"""`ge-decompose`: large ops as small ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from ge_xdsl.passes.session import session_of
from ge_xdsl.pattern.fixpoint import run_fixpoint
from ge_xdsl.rewrites.catalog import decompose_rules, selected


@dataclass(frozen=True)
class GeDecomposePass(ModulePass):
    """Replace normalisations and composed activations by elementwise ops and reductions.

    `to=primitive` decomposes whatever has a rule. `only`: names of the rules to run, all when not
    given.
    """

    name = "ge-decompose"
    to: Literal["primitive"] = "primitive"
    only: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        selected(decompose_rules(), self.only)

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        rules = selected(decompose_rules(), self.only)
        run_fixpoint(op, rules, pass_name=self.name, recorders=session_of(ctx).recorders)
