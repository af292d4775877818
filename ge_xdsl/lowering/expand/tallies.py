"""How many values are equal to, below or above each number of a table: comparisons, summed up."""

from __future__ import annotations

from xdsl.ir import SSAValue

from ge_xdsl.dialects.ge.types import DataType
from ge_xdsl.lowering.expand.builder import Builder
from ge_xdsl.lowering.expand.terms import Term

CHUNK = 2048
"""Values of a row that are compared at a time, so that what the comparisons give stays in UB."""


def tallied(values: Term, kind: str, table: SSAValue, weights: Term | None = None) -> Term:
    """[.., m, 1] f32: how many of f32 values [.., n] have `kind` to each of a table [.., m].

    `kind` is a comparison: Equal, Less, LessEqual, GreaterEqual. With weights, their sum.
    """
    build = values.build
    *lead, size = values.shape
    chunk = min(size, CHUNK)
    chunks = -(-size // chunk)
    *above, count = build.shape(table)
    parts = _chunks(values, chunks * chunk, float("nan"))
    row = build.reshape(parts, [*lead, 1, chunks, chunk])
    hot = Term(build, build(kind, row, build.reshape(table, [*above, count, 1, 1])))
    rank = len(hot.shape)
    if weights is None:
        each = Term(build, build.const([1.0], DataType.DT_FLOAT)).reshape([1] * rank)
    else:
        flat = _chunks(weights, chunks * chunk, 0.0)
        each = Term(build, build.reshape(flat, [*lead, 1, chunks, chunk]))
    sums = hot.pick(each, 0.0).sum([rank - 1])
    return sums.reshape([*hot.shape[:-2], chunks]).sum([rank - 2])


def _chunks(row: Term, size: int, fill: float) -> SSAValue:
    """A row with what lacks until `size`: what is not a number compares with nothing."""
    build, shape = row.build, row.shape
    if shape[-1] == size:
        return row.value
    rest = build.const(fill, DataType.DT_FLOAT)
    missing = [*shape[:-1], size - shape[-1]]
    return build.concat([row.value, build.spread(rest, missing)], len(shape) - 1)


def ramp(build: Builder, count: int) -> SSAValue:
    """0, 1, ... in f32."""
    return build.const(range(count), DataType.DT_FLOAT)
