"""The value classes that GE implements natively, under the name of its native module."""

from __future__ import annotations

from ge_xdsl.compat.ge.passes._handles import hand_over, held, take
from ge_xdsl.compat.ge.passes.subgraph import (
    SubgraphBoundary,
    SubgraphInput,
    SubgraphOutput,
    SubgraphRewriter,
)
from ge_xdsl.compat.ge.passes.values import (
    MatchResult,
    PassContext,
    Pattern,
    PatternMatcherConfig,
    PatternMatcherConfigBuilder,
)

__all__ = [
    "MatchResult",
    "PassContext",
    "Pattern",
    "PatternMatcherConfig",
    "PatternMatcherConfigBuilder",
    "SubgraphBoundary",
    "SubgraphInput",
    "SubgraphOutput",
    "SubgraphRewriter",
    "hand_over",
    "held",
    "take",
]
