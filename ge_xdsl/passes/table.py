"""Pass name -> where its class is. Nothing is imported before a pass is named."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from ge_xdsl.errors import UsageError, nearest
from ge_xdsl.passes import stages

if TYPE_CHECKING:
    from xdsl.passes import ModulePass

PASSES: dict[str, str] = {
    "ge-custom-passes": "ge_custom_passes:GeCustomPassesPass",
    "ge-infer-shape": "infer_shape:GeInferShapePass",
    "ge-fold-constants": "fold_constants:GeFoldConstantsPass",
    "ge-cse": "cse:GeCsePass",
    "ge-dce": "dce:GeDcePass",
    "ge-simplify": "simplify:GeSimplifyPass",
    "ge-fuse": "fuse:GeFusePass",
    "ge-decompose": "decompose:GeDecomposePass",
    "aicore-tile": "aicore_tile:AicoreTilePass",
    "convert-ge-to-aicore": "convert_ge_to_aicore:ConvertGeToAicorePass",
    "aicore-buffers": "aicore_buffers:AicoreBuffersPass",
    "aicore-sync": "aicore_sync:AicoreSyncPass",
    "aicore-check": "aicore_check:AicoreCheckPass",
}
"""Kebab name -> `module:Class` under `ge_xdsl.passes`."""


def pass_class(name: str) -> type[ModulePass]:
    """The class of a pass; raises UsageError for a name that no pass has."""
    place = PASSES.get(name)
    if place is None:
        hint = _user_pass_hint(name) or nearest(name, names()) or ", see ge-opt --list-passes"
        raise UsageError(f"unknown pass '{name}'{hint}")
    module, cls = place.split(":")
    return getattr(import_module(f"ge_xdsl.passes.{module}"), cls)


def _user_pass_hint(name: str) -> str:
    """How to run a user pass, which is no pass of a pipeline."""
    from ge_xdsl.passes import registry

    if all(user_pass.name != name for user_pass in registry.registered()):
        return ""
    return f", it is a user pass, expected 'ge-custom-passes{{only={name}}}'"


def names() -> list[str]:
    """All pass names and aliases, in the order of the table."""
    return [*PASSES, *stages.OTHER_NAMES, *stages.ALIASES]


def one_line(name: str) -> str:
    """The first line of a pass's documentation."""
    if name in stages.OTHER_NAMES:
        return f"Another name of {stages.OTHER_NAMES[name]}."
    if name in stages.ALIASES:
        return (
            f"Alias of {len(stages.ALIASES[name])} passes in order, see ge-opt --describe {name}."
        )
    doc = pass_class(name).__doc__ or ""
    return doc.strip().split("\n")[0]
