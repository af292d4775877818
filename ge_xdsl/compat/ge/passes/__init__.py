"""`ge.passes`: writing, registering and running fusion passes.

Names are imported when they are first used. The attribute `pattern` is the decorator; the
submodule of that name is reached by its full name.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ge_xdsl.compat.ge.passes.pattern import pattern

if TYPE_CHECKING:
    from ge_xdsl.compat.ge.passes.base import (
        DecomposePass,
        FusionBasePass,
        PassStage,
        PatternFusionPass,
    )
    from ge_xdsl.compat.ge.passes.fuse_inspector import FuseCheckResult, can_fuse, report_fuse
    from ge_xdsl.compat.ge.passes.infer import infer_shape
    from ge_xdsl.compat.ge.passes.registry import (
        clear_registered_passes,
        get_registered_pass_by_descriptor_key,
        get_registered_pass_dicts,
        get_registered_passes,
        register_decompose_pass,
        register_fusion_pass,
    )
    from ge_xdsl.compat.ge.passes.replacement import create_replacement
    from ge_xdsl.compat.ge.passes.subgraph import (
        SubgraphBoundary,
        SubgraphInput,
        SubgraphOutput,
        SubgraphRewriter,
    )
    from ge_xdsl.compat.ge.passes.values import (
        MatchResult,
        NodeIo,
        PassContext,
        Pattern,
        PatternMatcherConfig,
        PatternMatcherConfigBuilder,
        create_pattern,
    )

_HOMES = {
    "base": "DecomposePass FusionBasePass PassStage PatternFusionPass",
    "fuse_inspector": "FuseCheckResult can_fuse report_fuse",
    "infer": "infer_shape",
    "registry": "clear_registered_passes get_registered_pass_by_descriptor_key "
    "get_registered_pass_dicts get_registered_passes register_decompose_pass "
    "register_fusion_pass",
    "replacement": "create_replacement",
    "subgraph": "SubgraphBoundary SubgraphInput SubgraphOutput SubgraphRewriter",
    "values": "MatchResult NodeIo PassContext Pattern PatternMatcherConfig "
    "PatternMatcherConfigBuilder create_pattern",
}
"""Submodule -> the names that it gives to the package."""
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names.split()}


def __getattr__(name: str) -> Any:
    home = _HOME_OF.get(name)
    if home is None:
        raise AttributeError(f"module 'ge.passes' has no attribute '{name}'")
    found = getattr(import_module(f"{__name__}.{home}"), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


__all__ = [
    "DecomposePass",
    "FuseCheckResult",
    "FusionBasePass",
    "MatchResult",
    "NodeIo",
    "PassContext",
    "PassStage",
    "Pattern",
    "PatternFusionPass",
    "PatternMatcherConfig",
    "PatternMatcherConfigBuilder",
    "SubgraphBoundary",
    "SubgraphInput",
    "SubgraphOutput",
    "SubgraphRewriter",
    "can_fuse",
    "clear_registered_passes",
    "create_pattern",
    "create_replacement",
    "get_registered_pass_by_descriptor_key",
    "get_registered_pass_dicts",
    "get_registered_passes",
    "infer_shape",
    "pattern",
    "register_decompose_pass",
    "register_fusion_pass",
    "report_fuse",
]
