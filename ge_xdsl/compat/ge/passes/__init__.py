"""`ge.passes`: writing, registering and running fusion passes.

The attribute `pattern` is the decorator; the submodule of that name is reached by its full name.
"""

from __future__ import annotations

from typing import NoReturn

from ge_xdsl.compat.ge.passes.base import (
    DecomposePass,
    FusionBasePass,
    PassStage,
    PatternFusionPass,
)
from ge_xdsl.compat.ge.passes.fuse_inspector import FuseCheckResult, can_fuse, report_fuse
from ge_xdsl.compat.ge.passes.infer import infer_shape
from ge_xdsl.compat.ge.passes.pattern import pattern
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


def __getattr__(name: str) -> NoReturn:
    raise AttributeError(f"module 'ge.passes' has no attribute '{name}'")


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
