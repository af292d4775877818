"""Attention as one mixed kernel with online softmax, in f16 or bf16.

for each tile of queries, dealt to the AI cores:
    cube:    for each step of keys: scores = queries keys^T
                 some steps behind, parts = weights values
    vectors: for each step of keys, half of the queries each:
                 top' = max(top, scores scale); weights = exp(scores scale - top')
                 sum = sum exp(top - top') + weights
                 some steps behind, out = out exp(top - top') + parts
             y = out / sum

Scores, weights and parts go through channels in GM: some buffers that take turns, a flag that
counts those that are filled and one that counts those that are free. Both kinds of cores are
`AHEAD` steps ahead with the scores: the cube core multiplies while the vector cores exponentiate,
and neither waits for what the other made of the same step.

A step is cut into parts of `width` keys, a buffer each, so that a part is copied while another is
computed; what needs all of them (the largest score, the sum) joins them elementwise first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod

from xdsl.ir import Block, Operation, SSAValue

from ge_xdsl.dialects.aicore.cross import AffineOp, CrossSetOp, CrossWaitOp, TakeOp, WorkspaceOp
from ge_xdsl.dialects.aicore.cube import FixpipeOp, MmadOp
from ge_xdsl.dialects.aicore.move import (
    CopyGmL1Op,
    LoadL0aOp,
    LoadL0bOp,
)
from ge_xdsl.dialects.aicore.op import Index
from ge_xdsl.dialects.aicore.structure import ForOp, KernelOp, SectionOp
from ge_xdsl.dialects.aicore.types import Tile, padded
from ge_xdsl.lowering.matmul import alloc
from ge_xdsl.lowering.online import ROW, Flash, Online, Scores
from ge_xdsl.lowering.spans import AHEAD, Spans, total
from ge_xdsl.targets.target import Target

PART = 128
"""Keys that the cube core multiplies with at a time."""
LONGEST = 128
"""The longest head for which the tiles fit L0."""
TURNS = AHEAD + 1
"""Buffers of a channel: those ahead, and one that is being used up."""


@dataclass(frozen=True, slots=True)
class Channel:
    """A workspace with the first id of its flags: one counts free buffers, one filled ones."""

    workspace: SSAValue
    first: int

    def take(self, body: Block, pipe: str, produces: bool) -> SSAValue:
        """The next buffer, once it is free (or filled)."""
        take = TakeOp.make(self.workspace)
        body.add_op(take)
        body.add_op(CrossWaitOp.make(pipe, self.first + (0 if produces else 1)))
        return take.results[0]

    def give(self, body: Block, pipe: str, produces: bool) -> None:
        """It is filled (or free) now."""
        body.add_op(CrossSetOp.make(pipe, self.first + (1 if produces else 0)))

    def begin(self, body: Block) -> None:
        """The consumer says that all buffers are free."""
        for _ in range(TURNS):
            body.add_op(CrossSetOp.make("MTE2", self.first))

    def end(self, body: Block, pipe: str) -> None:
        """The producer waits until they are."""
        for _ in range(TURNS):
            body.add_op(CrossWaitOp.make(pipe, self.first))


def flash_kernel(name: str, flash: Flash, target: Target) -> KernelOp:
    """The kernel; arguments are queries, keys, values, the mask, and the results."""
    f, element = flash, flash.element
    heads = (f.batch, f.heads, f.group, f.length)
    args = {
        "q": Tile((*heads, f.dim), element, "gm"),
        "k": Tile((f.batch, f.heads, f.keys, f.dim), element, "gm"),
        "v": Tile((f.batch, f.heads, f.keys, f.dim), element, "gm"),
    }
    if f.mask:
        args["mask"] = Tile((f.mask, f.length, f.keys), "i1", "gm")
    if f.edges:
        columns = 2 * f.step + f.queries
        args["limits"] = Tile((len(f.edges), f.queries, columns), "f16", "gm")
    if f.rows:
        args["top"] = args["sum"] = Tile((*heads, ROW), "f32", "gm")
    args["y"] = Tile((*heads, f.dim), element, "gm")
    block = Block(arg_types=[tile.type for tile in args.values()])
    for arg, hint in zip(block.args, args, strict=True):
        arg.name_hint = hint
    values = dict(zip(args, block.args, strict=True))
    shapes = [("scores", f.step, "f32"), ("weights", f.step, element), ("parts", f.dim, "f32")]
    channels: list[Channel] = []
    for i, (hint, width, kind) in enumerate(shapes):
        space = WorkspaceOp.make(Tile((f.queries, width), kind, "gm"), TURNS)
        space.results[0].name_hint = hint
        block.add_op(space)
        channels.append(Channel(space.results[0], 2 * i))
    block.add_op(SectionOp.make("cube", _Cube(f, values, channels, target).section()))
    block.add_op(SectionOp.make("vector", _Vector(f, values, channels).section()))
    count = prod(heads[:3]) * -(-f.length // f.queries)
    return KernelOp.make(name, "mix", min(count, target.cube_cores), 3 if f.rows else 1, block)


class _Side:
    """What both kinds of cores share: the loop over tiles of queries, and the order of steps."""

    def __init__(
        self, flash: Flash, args: Mapping[str, SSAValue], channels: Sequence[Channel]
    ) -> None:
        self.flash = flash
        self.args = args
        self.scores, self.weights, self.parts = channels
        f = flash
        dims = {"b": (f.batch, 1), "n": (f.heads, 1), "g": (f.group, 1), "m": (f.length, f.queries)}
        # tiles with as many steps come one after the other, so that each core has its share
        names = ["m", "b", "n", "g"] if f.edges else list(dims)
        extents, steps = zip(*(dims[name] for name in names), strict=True)
        self.loop = ForOp.make(extents, steps, names, over_cores=True)
        self.b, self.n, self.g, self.m = (self.loop.origin(names.index(name)) for name in dims)
        self.vm = self.loop.length(names.index("m"))
        self.body = self.loop.body
        self.spans = Spans(self.body, f, self.m, self.vm)

    def over(self, keys: Index) -> tuple[Block, SSAValue] | None:
        """A loop over steps that have so many keys in all, None when there are none."""
        if keys == 0:
            return None
        loop = ForOp.make([keys], [self.flash.step], ["t"])
        self.body.add_op(loop)
        return loop.body, loop.origin(0)


class _Cube(_Side):
    """The products, the scores some steps ahead of the parts."""

    def __init__(
        self,
        flash: Flash,
        args: Mapping[str, SSAValue],
        channels: Sequence[Channel],
        target: Target,
    ) -> None:
        super().__init__(flash, args, channels)
        self.target = target

    def section(self) -> Block:
        """The cube section."""
        block = Block()
        self.weights.begin(block)
        block.add_op(self.loop)
        self.fill()
        self.scores.end(block, "FIX")
        self.parts.end(block, "FIX")
        return block

    def fill(self) -> None:
        """Bring the queries to L0A, where they stay, and go through all steps."""
        f, body = self.flash, self.body
        self.buffers()
        at: list[Index] = [self.b, self.n, self.g, self.m, 0]
        sizes: list[Index] = [self.vm, f.dim]
        body.add_op(CopyGmL1Op.build(self.args["q"], self.q1, offsets=at, sizes=sizes))
        body.add_op(LoadL0aOp.build(self.q1, self.q0, offsets=[0, 0], sizes=sizes))
        spans = self.spans
        later = total(body, ((1, spans.first), (1, spans.rest)))
        first = total(body, ((1, spans.first), (1, spans.begun)))
        if (found := self.over(spans.begun)) is not None:
            inner, t = found
            j = spans.back(inner, spans.end, t)
            self.score(inner, j, spans.length(inner, j))
        if (found := self.over(spans.rest)) is not None:
            inner, t = found
            j = spans.back(inner, later, t)
            self.score(inner, j, f.step)
            before = total(inner, ((1, j),), spans.ahead * f.step)
            self.part(inner, before, spans.length(inner, before))
        if (found := self.over(spans.begun)) is not None:
            inner, t = found
            j = spans.back(inner, first, t)
            self.part(inner, j, spans.length(inner, j))

    def buffers(self) -> None:
        """Those that all steps share."""
        f, layout = self.flash, self.target.l0a_layout
        step = min(f.step, padded(f.keys, 16))
        self.cut = min(PART, step)
        self.q1 = self.tile((f.queries, f.dim), "l1", "nz", "q1")
        self.k1 = self.tile((step, f.dim), "l1", "nz", "k1")
        self.v1 = self.tile((step, f.dim), "l1", "nz", "v1")
        self.p1 = self.tile((f.queries, step), "l1", "nz", "p1")
        self.q0 = self.tile((f.queries, f.dim), "l0a", layout, "q0")
        self.p0 = self.tile((f.queries, self.cut), "l0a", layout, "p0")
        self.k0 = self.tile((f.dim, self.cut), "l0b", "zn", "k0")
        self.v0 = self.tile((self.cut, f.dim), "l0b", "zn", "v0")
        self.s = self.tile((f.queries, self.cut), "l0c", "nz", "s")
        self.o = self.tile((f.queries, f.dim), "l0c", "nz", "o")

    def tile(self, shape: tuple[int, int], space: str, layout: str, hint: str) -> SSAValue:
        """A buffer of all steps."""
        element = "f32" if space == "l0c" else self.flash.element
        return alloc(self.body, Tile(shape, element, space, layout), hint, 1)

    def load(self, body: Block, name: str, room: SSAValue, j: Index, vj: Index) -> None:
        """The keys or values of a step to L1."""
        offsets: list[Index] = [self.b, self.n, j, 0]
        sizes: list[Index] = [vj, self.flash.dim]
        body.add_op(CopyGmL1Op.build(self.args[name], room, offsets=offsets, sizes=sizes))

    def score(self, body: Block, j: Index, vj: Index) -> None:
        """scores = queries keys^T"""
        f = self.flash
        self.load(body, "k", self.k1, j, vj)
        out = self.scores.take(body, "FIX", True)
        parts = ForOp.make([vj], [self.cut], ["h"])
        body.add_op(parts)
        inner, h, vh = parts.body, parts.origin(0), parts.length(0)
        sizes: list[Index] = [f.dim, vh]
        inner.add_op(LoadL0bOp.build(self.k1, self.k0, offsets=[h, 0], sizes=sizes, transpose=True))
        sizes = [self.vm, vh, f.dim]
        inner.add_op(
            MmadOp.build(self.q0, self.k0, self.s, sizes=sizes, init="zero", unit_flag=True)
        )
        sizes = [self.vm, vh]
        inner.add_op(FixpipeOp.build(self.s, out, offsets=[0, h], sizes=sizes, unit_flag=True))
        self.scores.give(body, "FIX", True)

    def part(self, body: Block, j: Index, vj: Index) -> None:
        """parts = weights values"""
        f = self.flash
        self.load(body, "v", self.v1, j, vj)
        weights = self.weights.take(body, "MTE2", False)
        sizes: list[Index] = [self.vm, vj]
        body.add_op(CopyGmL1Op.build(weights, self.p1, offsets=[0, 0], sizes=sizes))
        self.weights.give(body, "MTE2", False)
        parts = ForOp.make([vj], [self.cut], ["h"])
        body.add_op(parts)
        inner, h, vh = parts.body, parts.origin(0), parts.length(0)
        inner.add_op(LoadL0aOp.build(self.p1, self.p0, offsets=[0, h], sizes=[self.vm, vh]))
        inner.add_op(LoadL0bOp.build(self.v1, self.v0, offsets=[h, 0], sizes=[vh, f.dim]))
        sizes = [self.vm, f.dim, vh]
        product = MmadOp.build(
            self.p0, self.v0, self.o, sizes=sizes, at=[h], init="zero", unit_flag=True
        )
        inner.add_op(product)
        out = self.parts.take(body, "FIX", True)
        sizes = [self.vm, f.dim]
        body.add_op(FixpipeOp.build(self.o, out, offsets=[0, 0], sizes=sizes, unit_flag=True))
        self.parts.give(body, "FIX", True)


class _Vector(_Side):
    """Softmax and output, for half of the queries each."""

    def section(self) -> Block:
        """The vector section."""
        block = Block()
        self.scores.begin(block)
        self.parts.begin(block)
        block.add_op(self.loop)
        self.online = Online(self.body, self.flash, self.spans.ahead)
        self.online.start()
        self.fill()
        inner, r, vr = self.half(self.body)
        offsets: list[Index] = [self.b, self.n, self.g, self.row(inner, r), 0]
        results = {name: self.args[name] for name in ("top", "sum", "y") if name in self.args}
        self.online.finish(inner, vr, results, offsets)
        self.weights.end(block, "MTE3")
        return block

    def half(self, body: Block) -> tuple[Block, SSAValue, SSAValue]:
        """The loop over the halves of a tile of queries, one for each vector core."""
        loop = ForOp.make([self.vm], [self.flash.half], ["r"], over_subcores=True)
        body.add_op(loop)
        return loop.body, loop.origin(0), loop.length(0)

    def row(self, body: Block, r: SSAValue) -> SSAValue:
        """The row of all queries that is row r of the tile."""
        place: Operation = AffineOp.make([(1, self.m), (1, r)])
        body.add_op(place)
        return place.results[0]

    def fill(self) -> None:
        """All steps; the last one, where it has fewer keys, apart."""
        f, spans = self.flash, self.spans
        self.tail()
        end = total(self.body, ((1, spans.first), (1, spans.rest), (1, spans.whole_begun)))
        if (found := self.over(spans.whole_begun)) is not None:
            inner, t = found
            self.weigh(inner, self.place(inner, end, t), f.step, f.edges)
        later = total(self.body, ((1, spans.first), (1, spans.rest)))
        if (found := self.over(spans.rest)) is not None:
            inner, t = found
            lower = [] if f.first is None else [f.first]
            self.weigh(inner, self.place(inner, later, t), f.step, lower)
            self.add(inner)
        found = self.over(spans.begun)
        assert found is not None
        self.add(found[0], turned=True)

    def place(self, body: Block, end: Index, t: Index) -> Index:
        """Where a step begins, if that is asked for."""
        asked = self.flash.mask or self.flash.edges
        return self.spans.back(body, end, t) if asked else 0

    def tail(self) -> None:
        """The last step, where it has fewer keys."""
        body, spans = self.body, self.spans
        if spans.tail == 0:
            return
        if isinstance(spans.tail, SSAValue):
            loop = ForOp.make([spans.tail], [spans.short], ["t"])
            body.add_op(loop)
            body = loop.body
        self.weigh(body, spans.whole, spans.short, self.flash.edges)

    def weigh(self, body: Block, j: Index, size: int, edges: Sequence[int] = ()) -> None:
        """weights = exp(scores scale - top); some of the scores are beyond one of the edges."""
        f = self.flash
        scores = self.scores.take(body, "MTE2", False)
        weights = self.weights.take(body, "MTE3", True)
        inner, r, vr = self.half(body)
        mask = self.args.get("mask")
        first: Index = self.b if f.mask > 1 else 0
        at: list[Index] = [first, self.row(inner, r), j] if mask is not None else []
        limits = [(f.edges.index(edge), self.spans.column(inner, j, edge)) for edge in edges]
        step = Scores(scores, weights, r, vr, size, mask, at, self.args.get("limits"), limits)
        self.online.weigh(inner, step)
        self.scores.give(body, "MTE2", False)
        self.weights.give(body, "MTE3", True)

    def add(self, body: Block, turned: bool = False) -> None:
        """out = out factor + parts; `turned` when no new weights were made before."""
        parts = self.parts.take(body, "MTE2", False)
        inner, r, vr = self.half(body)
        if turned:
            self.online.turn(inner, vr)
        self.online.add(inner, parts, r, vr)
        self.parts.give(body, "MTE2", False)
