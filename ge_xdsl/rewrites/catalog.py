"""The builtin rules by the pass that runs them, in the order in which they are tried."""

from __future__ import annotations

from collections.abc import Sequence

from ge_xdsl.errors import nearest
from ge_xdsl.pattern.rule import Rule
from ge_xdsl.rewrites.decompose.gelu import DecomposeGelu
from ge_xdsl.rewrites.decompose.layer_norm import DecomposeLayerNorm
from ge_xdsl.rewrites.decompose.softmax import DecomposeSoftmax
from ge_xdsl.rewrites.fusion.conv2d_bias_relu import FuseConv2DBiasRelu
from ge_xdsl.rewrites.fusion.matmul_bias import FuseMatMulBias
from ge_xdsl.rewrites.simplify.cast import RemoveCastRoundTrip, RemoveCastToSame
from ge_xdsl.rewrites.simplify.idempotent import RemoveIdempotent
from ge_xdsl.rewrites.simplify.identity import RemoveIdentity
from ge_xdsl.rewrites.simplify.neutral import RemoveNeutral
from ge_xdsl.rewrites.simplify.reshape import ComposeReshapes, RemoveNoopReshape
from ge_xdsl.rewrites.simplify.transpose import ComposeTransposes, RemoveIdentityTranspose
from ge_xdsl.rewrites.support import NamePool


def fusion_rules() -> list[Rule]:
    """What `ge-fuse` runs."""
    return [FuseConv2DBiasRelu(), FuseMatMulBias()]


def simplify_rules() -> list[Rule]:
    """What `ge-simplify` runs."""
    return [
        RemoveIdentity(),
        RemoveCastToSame(),
        RemoveCastRoundTrip(),
        RemoveIdentityTranspose(),
        ComposeTransposes(NamePool()),
        RemoveNoopReshape(),
        ComposeReshapes(),
        RemoveIdempotent(),
        RemoveNeutral(),
    ]


def decompose_rules() -> list[Rule]:
    """What `ge-decompose` runs; new nodes get names that are unique in their graph."""
    names = NamePool()
    return [DecomposeLayerNorm(names), DecomposeSoftmax(names), DecomposeGelu(names)]


def selected(rules: Sequence[Rule], only: Sequence[str]) -> list[Rule]:
    """The rules named in `only`, all when it is empty; raises ValueError for an unknown name."""
    known = [rule.name for rule in rules]
    for name in only:
        if name not in known:
            hint = nearest(name, known)
            raise ValueError(f"option 'only' is '{name}', expected one of {', '.join(known)}{hint}")
    return [rule for rule in rules if not only or rule.name in only]
