"""The pipeline: every pass of a whole compile, in order. The order stands here and nowhere else.

The names in `stage=` are GE's four `PassStage` values: the slots where user passes run.
"""

from __future__ import annotations

OPTIMIZE: tuple[str, ...] = (
    "ge-custom-passes{stage=BeforeInferShape}",
    "ge-infer-shape",
    "ge-custom-passes{stage=AfterInferShape}",
    "ge-fold-constants",
    "ge-simplify",
    "ge-cse",
    "ge-fuse",
    "ge-custom-passes{stage=AfterBuiltinFusionPass}",
    "ge-decompose",
    "ge-simplify",
    "ge-fold-constants",
    "ge-cse",
    "ge-custom-passes{stage=AfterOriginGraphOptimize}",
    "ge-dce",
)
"""Graph to better graph: what stays in the ge dialect."""

LOWER: tuple[str, ...] = (
    "convert-ge-to-aicore",
    "aicore-buffers",
    "aicore-sync",
    "aicore-check",
)
"""Graph to tile programs."""

COMPILE: tuple[str, ...] = OPTIMIZE + LOWER

ALIASES: dict[str, tuple[str, ...]] = {"ge-compile": COMPILE, "ge-optimize": OPTIMIZE}
"""Pipeline names that stand for a list of passes."""

OTHER_NAMES: dict[str, str] = {
    "ge-layout": "ge-simplify{only=RemoveIdentityTranspose,ComposeTransposes}",
    "aicore-insert-sync": "aicore-sync",
}
"""Further names of one pass, with the options that they stand for."""
