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
from ge_xdsl.lowering.online import ROW, Flash, Online, Scores, later
from ge_xdsl.targets.target import Target

PART = 128
"""Keys that the cube core multiplies with at a time."""
LONGEST = 128
"""The longest head for which the tiles fit L0."""
AHEAD = 2
"""Steps that the scores are ahead of the parts."""
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
        extents = [f.batch, f.heads, f.group, f.length]
        self.loop = ForOp.make(extents, [1, 1, 1, f.queries], ["b", "n", "g", "m"], over_cores=True)
        self.b, self.n, self.g, self.m = (self.loop.origin(i) for i in range(4))
        self.vm = self.loop.length(3)
        self.body = self.loop.body
        self.steps = -(-f.keys // f.step)
        self.ahead = min(AHEAD, self.steps)
        self.begun = self.ahead * f.step

    def over(self, first: int, end: int) -> tuple[Block, SSAValue, SSAValue] | None:
        """A loop over the steps from one key to another, None when there are none."""
        if first >= end:
            return None
        loop = ForOp.make([end - first], [self.flash.step], ["j"], bases=[first])
        self.body.add_op(loop)
        return loop.body, loop.origin(0), loop.length(0)


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
        keys = f.keys
        if (found := self.over(0, min(self.begun, keys))) is not None:
            self.score(*found)
        if (found := self.over(self.begun, keys)) is not None:
            inner, j, vj = found
            self.score(inner, j, vj)
            self.part(inner, later(inner, j, -self.begun), f.step)
        if (found := self.over((self.steps - self.ahead) * f.step, keys)) is not None:
            self.part(*found)

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
        self.online = Online(self.body, self.flash, self.ahead)
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
        f = self.flash
        whole = f.keys // f.step * f.step
        if (found := self.over(0, min(self.begun, whole))) is not None:
            self.weigh(found[0], found[1], f.step)
        if (found := self.over(self.begun, whole)) is not None:
            self.weigh(found[0], found[1], f.step)
            self.add(found[0])
        if whole < f.keys:
            self.weigh(self.body, whole, f.keys - whole)
            if self.steps > self.ahead:
                self.add(self.body)
        found = self.over((self.steps - self.ahead) * f.step, f.keys)
        assert found is not None
        self.add(found[0], turned=True)

    def weigh(self, body: Block, j: Index, size: int) -> None:
        """weights = exp(scores scale - top)"""
        scores = self.scores.take(body, "MTE2", False)
        weights = self.weights.take(body, "MTE3", True)
        inner, r, vr = self.half(body)
        mask = self.args.get("mask")
        first: Index = self.b if self.flash.mask > 1 else 0
        at: list[Index] = [first, self.row(inner, r), j] if mask is not None else []
        self.online.weigh(inner, Scores(scores, weights, r, vr, size, mask, at))
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
