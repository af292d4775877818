"""The steps of keys that a tile of queries sees, the last one first, and what edges hide of them.

Query i sees the keys from i + first to i + last. Steps before the first key that one of a tile's
queries sees and behind the last one are left out. A step has at least as many keys as a tile has
queries, so the upper edge crosses no more than the last two, which are those that are scored ahead
of all others; what comes after them is before the last key of every query.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from xdsl.ir import Block, SSAValue

from ge_xdsl.dialects.aicore.cross import AffineOp, BoundOp
from ge_xdsl.dialects.aicore.op import Index
from ge_xdsl.lowering.online import Flash

if TYPE_CHECKING:
    from ge_xdsl.dialects.ge.types import Array

AHEAD = 2
"""Steps that the scores are ahead of the parts."""
Terms = tuple[tuple[int, Index], ...]


def total(body: Block, terms: Terms, constant: int = 0) -> Index:
    """A sum of products, a number where all of them are."""
    constant += sum(factor * value for factor, value in terms if isinstance(value, int))
    left = [(factor, value) for factor, value in terms if isinstance(value, SSAValue)]
    if not left or (left == [(1, left[0][1])] and not constant):
        return left[0][1] if left else constant
    op = AffineOp.make(left, constant)
    body.add_op(op)
    return op.results[0]


def bounded(body: Block, value: Index, low: int, high: int, by: int = 1) -> Index:
    """The largest multiple of `by` up to a value, but at least `low` and at most `high`."""
    if low >= high:
        return high
    if isinstance(value, int):
        return min(max(value // by * by, low), high)
    op = BoundOp.make(value, by, low, high)
    body.add_op(op)
    return op.results[0]


class Spans:
    """The steps of one tile: queries `m` on, `vm` of them; the last step comes first.

    All are keys in whole steps, as an index that stands in `body` or as a number where it is known.
    """

    def __init__(self, body: Block, flash: Flash, m: SSAValue, vm: SSAValue) -> None:
        self.body = body
        self.flash = f = flash
        self.m = m
        self.steps = -(-f.keys // f.step)
        self.ahead = min(AHEAD, self.steps)
        every, step = self.steps * f.step, f.step
        self.whole = f.keys // step * step
        """The keys of steps that have all of theirs."""
        self.short = f.keys - self.whole
        """The keys of the last step, where it has fewer."""
        self.first: Index = 0
        """Where the first step begins."""
        if f.first is not None:
            place = total(body, ((1, m),), f.first)
            self.first = bounded(body, place, 0, every - step, step)
        self.end: Index = every
        """Where the last one ends."""
        if f.last is not None:
            place = total(body, ((1, m), (1, vm)), f.last + step - 1)
            self.end = bounded(body, place, step, every, step)
        count = total(body, ((1, self.end), (-1, self.first)))
        self.begun = bounded(body, count, step, self.ahead * step)
        """The keys of the steps that are ahead."""
        self.rest = bounded(body, total(body, ((1, count), (-1, self.begun))), 0, every)
        """The keys of those that come after them."""

    @cached_property
    def tail(self) -> Index:
        """The keys of the last step where it has fewer, 0 where that is not seen."""
        past = total(self.body, ((1, self.end),), -self.whole)
        return bounded(self.body, past, 0, self.short)

    @cached_property
    def whole_begun(self) -> Index:
        """The keys of steps ahead that have all of theirs."""
        if not self.short:
            return self.begun
        most = self.ahead * self.flash.step
        late = total(self.body, ((1, self.end),), -self.whole)
        late = bounded(self.body, late, 0, self.flash.step)
        left = total(self.body, ((1, self.begun), (-1, late)))
        return bounded(self.body, left, 0, min(most, self.whole))

    def back(self, body: Block, end: Index, t: Index) -> Index:
        """Where the step begins that is `t` keys before the one that ends at a key."""
        return total(body, ((1, end), (-1, t)), -self.flash.step)

    def length(self, body: Block, j: Index) -> Index:
        """The keys that the step at key `j` has."""
        if not self.short:
            return self.flash.step
        left = total(body, ((-1, j),), self.flash.keys)
        return bounded(body, left, self.short, self.flash.step)

    def column(self, body: Block, j: Index, edge: int) -> Index:
        """The column of an edge's limits for the step at key `j`."""
        f = self.flash
        place = total(body, ((1, j), (-1, self.m)), f.step - edge)
        return bounded(body, place, 0, f.step + f.queries)


def limits(flash: Flash) -> Array:
    """[edges, queries, columns]: what scores are at most (least, for a negative scale).

    Row r of column c is that of a key c - step keys beyond the edge of query 0: the upper edge
    hides it where c - step > r, the lower one where c - step < r.
    """
    import numpy as np

    distance = np.arange(2 * flash.step + flash.queries) - flash.step
    rows = np.arange(flash.queries)[:, None]
    planes = [distance > rows] if flash.last is not None else []
    planes += [distance < rows] if flash.first is not None else []
    hides = np.stack(planes)
    return np.where(hides, flash.hidden, -flash.hidden).astype(np.float16)
