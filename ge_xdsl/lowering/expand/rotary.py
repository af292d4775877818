"""Rotary position embeddings: their forms, their gradient, and the caches of keys they end in."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from ge_xdsl.dialects.ge.op import GeOp
from ge_xdsl.dialects.ge.types import DataType
from ge_xdsl.lowering.expand.builder import Builder, Expansion
from ge_xdsl.lowering.expand.norms import rms
from ge_xdsl.lowering.expand.terms import Term, formula, term


def turned(build: Builder, x: SSAValue, mode: str) -> SSAValue:
    """The last dimension as a rotation moves it, without its signs: gathered in UB."""
    size = build.shape(x)[-1]
    period = {"half": size, "interleave": 2, "quarter": size // 2}[mode]
    step = period // 2
    places = [i - i % period + (i % period + step) % period for i in range(size)]
    return build("GatherV2", x, places, [len(build.shape(x)) - 1])


def signs(build: Builder, rank: int, size: int, mode: str) -> Term:
    """-1 for the places of the last dimension that a rotation negates, 1 for the others."""
    period = {"half": size, "interleave": 2, "quarter": size // 2}[mode]
    line = [-1.0 if i % period < period // 2 else 1.0 for i in range(size)]
    return Term(build, build.const(line, DataType.DT_FLOAT)).reshape([1] * (rank - 1) + [size])


def rotate(build: Builder, x: Term, mode: str) -> Term:
    """The last dimension rotated: halves, quarters or neighbours."""
    moved = Term(build, turned(build, x.value, mode))
    return moved * signs(build, len(x.shape), x.shape[-1], mode)


def evens_first(build: Builder, x: Term) -> Term:
    """The even places of the last dimension, then the odd ones."""
    rank, shape = len(x.shape), x.shape
    pairs = x.reshape([*shape[:-1], shape[-1] // 2, 2]).value
    turned = build.transpose(pairs, [*range(rank - 1), rank, rank - 1])
    return Term(build, build.reshape(turned, shape))


def embedded(build: Builder, x: SSAValue, cos: SSAValue, sin: SSAValue, mode: str) -> SSAValue:
    """x cos + rotated x sin, in the element type of x: sin gets the signs."""
    rank, size = len(build.shape(x)), build.shape(x)[-1]
    wide, moved, c, s = (term(build, v) for v in (x, turned(build, x, mode), cos, sin))
    s = s * signs(build, rank, size, mode)
    return build.cast((wide * c + moved * s).value, build.dtype(x))


def rotary_mul(build: Builder, op: GeOp) -> SSAValue:
    x, r1, r2 = op.operands
    return embedded(build, x, r1, r2, op.get_attr("rotary_mode"))


def _rotary_mul_grad(build: Builder, op: GeOp, x: Term, r1: Term, r2: Term, dy: Term) -> list[Term]:
    dx = dy * r1 - rotate(build, dy * r2, "half")
    turned = rotate(build, x, "half")
    return [dx, _summed(dy * x, r1.shape), _summed(dy * turned, r2.shape)]


def _summed(x: Term, shape: Sequence[int]) -> Term:
    """The sums over the dimensions that `shape` has as 1."""
    axes = [i for i, d in enumerate(shape) if d == 1 and x.shape[i] > 1]
    return x.sum(axes) if axes else x


MODES = ("half", "interleave", "quarter", "half")
"""The `mode` of RotaryPositionEmbedding; the last with the even places first."""


def rotary_embedding(build: Builder, op: GeOp) -> SSAValue:
    x, cos, sin, *others = op.operands
    if others:
        raise build.decline("with a matrix")
    mode = op.get_attr("mode")
    x = evens_first(build, Term(build, x)).value if mode == 3 else x
    return embedded(build, x, cos, sin, MODES[mode])


def apply_rotary(build: Builder, op: GeOp) -> list[SSAValue]:
    """Both the query and the key"""
    query, key, cos, sin = op.operands
    return [embedded(build, x, cos, sin, op.get_attr("rotary_mode")) for x in (query, key)]


def kv_cache(build: Builder, op: GeOp) -> list[SSAValue]:
    """KvRmsNormRopeCache: rows normalised and rotated, and put into the caches"""
    kv, gamma, cos, sin, index, k_cache, ckv_cache, *others = op.operands
    if others or op.get_attr("cache_mode") != "Norm":
        raise build.decline("for this cache_mode, and with scales or offsets")
    dv, width = build.shape(gamma)[-1], build.shape(kv)[-1]
    left = term(build, build.slice(kv, 3, 0, dv))
    right = evens_first(build, Term(build, build.slice(kv, 3, dv, width - dv)))
    c_kv = left * rms(left, 1, op.get_attr("epsilon")) * term(build, gamma)
    k_rope = Term(build, embedded(build, right.value, cos, sin, "half"))
    places = _cache_rows(build, index, build.shape(k_cache)[2])
    found = [
        _written(build, cache, places, build.cast(rows.value, build.dtype(cache)))
        for cache, rows in ((k_cache, k_rope), (ckv_cache, c_kv))
    ]
    for rows, result in zip((k_rope, c_kv), op.results[2:], strict=True):
        zero = build.const(0, build.dtype(result))
        shown = op.get_attr("is_output_kv")
        found.append(rows.like(result) if shown else build.spread(zero, build.shape(result)))
    return found


def _cache_rows(build: Builder, index: SSAValue, length: int) -> SSAValue:
    """The row of each (b, s) among those of all caches, i32; -1 stays, which names no row."""
    batch, count = build.shape(index)
    places = build.cast(index, DataType.DT_INT32)
    starts = build.const([[b * length] for b in range(batch)], DataType.DT_INT32)
    rows = build("Add", places, build.spread(starts, [batch, count]))
    rows = build.where(build("Less", places, 0), places, rows)
    return build.reshape(rows, [batch * count])


def _written(build: Builder, cache: SSAValue, places: SSAValue, rows: SSAValue) -> SSAValue:
    """The cache with rows at places."""
    shape = build.shape(cache)
    width = shape[-1]
    table = build.reshape(cache, [build.count(cache) // width, width])
    parts = build.reshape(rows, [build.count(places), width])
    return build.reshape(build("ScatterUpdate", table, places, parts), shape)


EXPANSIONS: dict[str, Expansion] = {
    "RotaryMul": rotary_mul,
    "RotaryMulGrad": formula(_rotary_mul_grad),
    "RotaryPositionEmbedding": rotary_embedding,
    "ApplyRotaryPosEmb": apply_rotary,
    "KvRmsNormRopeCache": kv_cache,
}
