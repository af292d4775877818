"""Online softmax of a vector core: the weights of one step of keys after the other.

A row has the largest score so far (`top`), the sum of its exponentials, its output so far (`out`),
and the factors exp(top - top') of the last steps, for its parts of the output come some steps
later. The scores of a step lie in tiles of `width` columns, so that one is copied while another is
computed; what needs all of them, the largest and the sum, joins them elementwise first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import copysign, inf

from xdsl.ir import Block, SSAValue

from ge_xdsl.dialects.aicore.cross import AffineOp
from ge_xdsl.dialects.aicore.move import CopyGmUbOp, CopyUbGmOp
from ge_xdsl.dialects.aicore.op import Index
from ge_xdsl.dialects.aicore.structure import AllocOp
from ge_xdsl.dialects.aicore.types import Tile
from ge_xdsl.dialects.aicore.vector import (
    VbinaryOp,
    VbrcOp,
    VcastOp,
    VcmpsOp,
    VdupOp,
    VreduceOp,
    VscalarOp,
    VselsOp,
    VunaryOp,
)

LEAST = -3.4028234663852886e38
"""The smallest f32: the score of what is hidden."""
NOTHING = 1e-30
"""Below the sum of any row that sees a key, which is about 1 or more."""
ROW = 8
"""How often the largest score and the sum of a row are written."""
OUT_WIDTH = 64
"""Columns of the output in one tile."""


@dataclass(frozen=True, slots=True)
class Flash:
    """Heads [batch, heads, group, length, dim]; keys and values have no group.

    `mask` is the batch of a mask [mask, length, keys], 1 where it serves all, 0 without one.
    Query i sees keys i + `first` to i + `last`, all before or behind where that is None.
    `rows` tells whether the largest score and the sum of each row are results, too.
    """

    batch: int
    heads: int
    group: int
    length: int
    keys: int
    dim: int
    scale: float
    element: str
    mask: int = 0
    rows: bool = False
    queries: int = 128
    """Rows of a tile of scores."""
    step: int = 256
    """Keys of a step."""
    width: int = 128
    """Keys of a step in one tile of UB."""
    stores: int = 1
    """Buffers of the weights that vector cores store."""
    loads: int = 1
    """Buffers of the parts of the output that vector cores load."""
    first: int | None = None
    last: int | None = None

    @property
    def half(self) -> int:
        """Queries of a tile that a vector core takes."""
        return self.queries // 2

    @property
    def edges(self) -> list[int]:
        """The last and the first key that query 0 sees, where there are such."""
        return [edge for edge in (self.last, self.first) if edge is not None]

    @property
    def hidden(self) -> float:
        """A score beyond an edge, before the scale: its weight is 0 whatever the largest is."""
        return -copysign(inf, self.scale)


@dataclass(frozen=True, slots=True)
class Scores:
    """A step of scores: where they are and the weights go, rows `r` on, `vr` of them, its keys.

    `mask` and `at`: a tile that tells which are hidden, and the place in it; None without one.
    `limits` and `crossed`: the limits of scores by edges, and those that count with their columns.
    """

    scores: SSAValue
    weights: SSAValue
    r: Index
    vr: Index
    size: int
    mask: SSAValue | None = None
    at: Sequence[Index] = ()
    limits: SSAValue | None = None
    crossed: Sequence[tuple[int, Index]] = ()


def cuts(size: int, width: int) -> list[tuple[int, int]]:
    """Where parts of `width` begin, and how long they are."""
    return [(at, min(width, size - at)) for at in range(0, size, width)]


def later(body: Block, index: Index, by: int) -> Index:
    """An index and a number."""
    if isinstance(index, int) or not by:
        return index + by if isinstance(index, int) else index
    found = AffineOp.make([(1, index)], by)
    body.add_op(found)
    return found.results[0]


class Online:
    """The buffers of a vector core for half of a tile of queries, and what is done to them.

    They stand in `body`, so that all steps share them. Parts of the output are `late` steps behind.
    """

    def __init__(self, body: Block, flash: Flash, late: int) -> None:
        self.flash = flash
        self.body = body
        step = min(flash.step, flash.keys)
        self.width = width = min(flash.width, step)
        self.x = self.tiles(len(cuts(step, width)), width, "f32", "x")
        columns = min(OUT_WIDTH, flash.dim)
        (self.wide,) = self.tiles(1, max(width, columns), "f32", "wide")
        self.w = self.tiles(flash.stores, width, flash.element, "w")
        (self.y,) = self.tiles(1, columns, flash.element, "y")
        self.outs = cuts(flash.dim, OUT_WIDTH)
        self.out = self.tiles(len(self.outs), columns, "f32", "out")
        self.part = self.tiles(flash.loads, columns, "f32", "part")
        (self.top,) = self.tiles(1, 1, "f32", "top")
        (self.sum,) = self.tiles(1, 1, "f32", "sum")
        (self.now,) = self.tiles(1, 1, "f32", "now")
        self.factors = self.tiles(late + 1, 1, "f32", "factor")
        if flash.rows:
            (self.row,) = self.tiles(1, ROW, "f32", "row")
        if flash.edges:
            count = len(flash.edges) * len(self.x)
            self.limits = self.tiles(count, width, "f16", "limit")
        if flash.mask:
            self.hidden = self.tiles(len(self.x), width, "i1", "hidden")
            (self.number,) = self.tiles(1, width, "f16", "number")
            (self.bits,) = self.tiles(1, max(width, columns), "bit", "bits")

    def tiles(self, count: int, columns: int, element: str, hint: str) -> list[SSAValue]:
        """Some tiles of a row per query."""
        made: list[SSAValue] = []
        for i in range(count):
            op = AllocOp.make(Tile((self.flash.half, columns), element, "ub").type)
            op.results[0].name_hint = hint if count == 1 else f"{hint}{i}"
            self.body.add_op(op)
            made.append(op.results[0])
        return made

    def start(self) -> None:
        """No key was seen so far."""
        rows = self.flash.half
        zeros = [*((tile, self.outs[0][1]) for tile in self.out)]
        zeros += [(tile, 1) for tile in (self.sum, *self.factors)]
        for tile, width, value in ((self.top, 1, LEAST), *((*zero, 0.0) for zero in zeros)):
            self.body.add_op(VdupOp.build(tile, sizes=[rows, width], value=value))

    def turn(self, body: Block, vr: Index) -> None:
        """Each factor is one step older."""
        for new, old in reversed(list(pairwise(self.factors))):
            body.add_op(VunaryOp.build(new, old, sizes=[vr, 1], kind="copy"))

    def weigh(self, body: Block, step: Scores) -> None:
        """The weights of a step, the new largest scores and sums."""
        parts = cuts(step.size, self.width)
        # the first is needed longest, so it comes last
        for i in (*range(1, len(parts)), 0):
            at, count = parts[i]
            sizes: list[Index] = [step.vr, count]
            offsets: list[Index] = [step.r, at]
            body.add_op(CopyGmUbOp.build(step.scores, self.x[i], offsets=offsets, sizes=sizes))
            if step.mask is not None:
                self.hide(body, step, i)
            self.confine(body, step, i)
        self.largest(body, step)
        for i, (at, count) in enumerate(parts):
            sizes = [step.vr, count]
            w = self.w[i % len(self.w)]
            exp = self.exponentials(body, i, sizes, step.mask is not None)
            body.add_op(VcastOp.build(exp, w, sizes=sizes))
            offsets = [step.r, at]
            body.add_op(CopyUbGmOp.build(w, step.weights, offsets=offsets, sizes=sizes))
            if i:
                body.add_op(VbinaryOp.build(self.x[0], exp, self.x[0], sizes=sizes, kind="add"))
        sizes = [step.vr, parts[0][1]]
        body.add_op(VreduceOp.build(self.x[0], self.now, sizes=sizes, kind="sum", axis="cols"))
        one: list[Index] = [step.vr, 1]
        body.add_op(VbinaryOp.build(self.sum, self.factors[0], self.sum, sizes=one, kind="mul"))
        body.add_op(VbinaryOp.build(self.sum, self.now, self.sum, sizes=one, kind="add"))

    def hide(self, body: Block, step: Scores, i: int) -> None:
        """The scores of part `i` times the scale, the smallest where the mask is set."""
        assert step.mask is not None
        at, count = cuts(step.size, self.width)[i]
        sizes: list[Index] = [step.vr, count]
        hidden, x = self.hidden[i], self.x[i]
        *lead, j = step.at
        offsets: list[Index] = [*lead, later(body, j, at)]
        body.add_op(CopyGmUbOp.build(step.mask, hidden, offsets=offsets, sizes=sizes))
        body.add_op(VcastOp.build(hidden, self.number, sizes=sizes))
        body.add_op(VcmpsOp.build(self.number, self.bits, sizes=sizes, kind="eq", value=0.0))
        body.add_op(VscalarOp.build(x, x, sizes=sizes, kind="muls", value=self.flash.scale))
        body.add_op(VselsOp.build(self.bits, x, x, sizes=sizes, value=LEAST))

    def confine(self, body: Block, step: Scores, i: int) -> None:
        """The scores of part `i`, those beyond an edge hidden."""
        if step.limits is None:
            return
        at, count = cuts(step.size, self.width)[i]
        sizes: list[Index] = [step.vr, count]
        tiles = self.limits[i :: len(self.x)]
        used = list(zip(step.crossed, tiles, strict=False))
        for (edge, column), limit in used:
            offsets: list[Index] = [edge, step.r, later(body, column, at)]
            body.add_op(CopyGmUbOp.build(step.limits, limit, offsets=offsets, sizes=sizes))
        kind, x = "min" if self.flash.hidden < 0 else "max", self.x[i]
        for _, limit in used:
            body.add_op(VcastOp.build(limit, self.wide, sizes=sizes))
            body.add_op(VbinaryOp.build(x, self.wide, x, sizes=sizes, kind=kind))

    def largest(self, body: Block, step: Scores) -> None:
        """top = the largest score with those of a step; the factor of what was before."""
        scale, one = self.flash.scale, [step.vr, 1]
        self.turn(body, step.vr)
        self.join(body, step, "max" if step.mask is not None or scale >= 0 else "min")
        now, factor = self.now, self.factors[0]
        if step.mask is None:
            body.add_op(VscalarOp.build(now, now, sizes=one, kind="muls", value=scale))
        body.add_op(VbinaryOp.build(now, self.top, now, sizes=one, kind="max"))
        body.add_op(VbinaryOp.build(self.top, now, factor, sizes=one, kind="sub"))
        body.add_op(VunaryOp.build(factor, factor, sizes=one, kind="exp"))
        body.add_op(VunaryOp.build(now, self.top, sizes=one, kind="copy"))
        if step.mask is None:
            body.add_op(VscalarOp.build(now, now, sizes=one, kind="muls", value=-1.0))

    def exponentials(self, body: Block, i: int, sizes: Sequence[Index], hides: bool) -> SSAValue:
        """Where exp of part `i` less the largest is then: the part itself stays only if first.

        Where nothing hides scores they are not yet times the scale.
        """
        x, wide = self.x[i], self.wide
        body.add_op(VbrcOp.build(self.now, wide, sizes=sizes))
        if hides:
            body.add_op(VbinaryOp.build(x, wide, wide, sizes=sizes, kind="sub"))
        else:
            scale = self.flash.scale
            body.add_op(VscalarOp.build(x, wide, sizes=sizes, kind="axpy", value=scale))
        exp = wide if i else x
        body.add_op(VunaryOp.build(wide, exp, sizes=sizes, kind="exp"))
        return exp

    def join(self, body: Block, step: Scores, kind: str) -> None:
        """now = max or min over the columns of all parts of a step."""
        parts = cuts(step.size, self.width)
        joined, order = self.x[0], [*range(1, len(parts)), 0]
        if parts[-1][1] < parts[0][1]:
            order = list(range(len(parts)))
        for k, i in enumerate(order[1:]):
            a, sizes = self.wide if k else self.x[order[0]], [step.vr, parts[i][1]]
            if not k and parts[i][1] < parts[0][1]:
                whole: list[Index] = [step.vr, parts[0][1]]
                body.add_op(VunaryOp.build(a, self.wide, sizes=whole, kind="copy"))
            body.add_op(VbinaryOp.build(a, self.x[i], self.wide, sizes=sizes, kind=kind))
            joined = self.wide
        sizes = [step.vr, parts[0][1]]
        body.add_op(VreduceOp.build(joined, self.now, sizes=sizes, kind=kind, axis="cols"))

    def add(self, body: Block, parts: SSAValue, r: Index, vr: Index) -> None:
        """out = out factor + parts, by the oldest factor."""
        for i, (at, count) in enumerate(self.outs):
            sizes: list[Index] = [vr, count]
            part, out = self.part[i % len(self.part)], self.out[i]
            body.add_op(CopyGmUbOp.build(parts, part, offsets=[r, at], sizes=sizes))
            if not i:
                body.add_op(VbrcOp.build(self.factors[-1], self.wide, sizes=sizes))
            body.add_op(VbinaryOp.build(out, self.wide, out, sizes=sizes, kind="mul"))
            body.add_op(VbinaryOp.build(out, part, out, sizes=sizes, kind="add"))

    def finish(
        self, body: Block, vr: Index, results: Mapping[str, SSAValue], offsets: Sequence[Index]
    ) -> None:
        """y = out / sum, 0 for a row that sees nothing; the largest scores and sums, if wanted."""
        one: list[Index] = [vr, 1]
        if self.flash.mask:
            seen = VcmpsOp.build(self.top, self.bits, sizes=one, kind="gt", value=LEAST)
            body.add_op(seen)
            body.add_op(VselsOp.build(self.bits, self.sum, self.sum, sizes=one, value=0.0))
        body.add_op(VscalarOp.build(self.sum, self.now, sizes=one, kind="maxs", value=NOTHING))
        for i, (at, count) in enumerate(self.outs):
            sizes: list[Index] = [vr, count]
            out, y, wide = self.out[i], self.y, self.wide
            if self.flash.mask:
                body.add_op(VbrcOp.build(self.top, wide, sizes=sizes))
                body.add_op(VcmpsOp.build(wide, self.bits, sizes=sizes, kind="gt", value=LEAST))
                body.add_op(VselsOp.build(self.bits, out, out, sizes=sizes, value=0.0))
            body.add_op(VbrcOp.build(self.now, wide, sizes=sizes))
            body.add_op(VbinaryOp.build(out, wide, out, sizes=sizes, kind="div"))
            body.add_op(VcastOp.build(out, y, sizes=sizes))
            place = [*offsets[:-1], at]
            body.add_op(CopyUbGmOp.build(y, results["y"], offsets=place, sizes=sizes))
        for name, tile in (("top", self.top), ("sum", self.sum)):
            if name in results:
                sizes = [vr, ROW]
                body.add_op(VbrcOp.build(tile, self.row, sizes=sizes))
                row = CopyUbGmOp.build(self.row, results[name], offsets=offsets, sizes=sizes)
                body.add_op(row)
