"""Attention as one mixed kernel with online softmax, in f16 or bf16.

for each tile of queries, dealt to the AI cores:
    cube:    for each tile of keys: scores = queries keys^T; a tile behind, parts = weights values
    vectors: for each tile of keys, half of the queries each:
                 top' = max(top, scores scale); weights = exp(scores scale - top')
                 sum = sum exp(top - top') + weights; out = out exp(top - top') + parts
             y = out / sum

Scores, weights and parts go through channels in GM: two buffers that take turns, with a flag that
says that one is filled and one that says that it is free. The cube core is a tile of keys ahead,
so that it multiplies while the vector cores exponentiate.
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
    CopyGmUbOp,
    CopyUbGmOp,
    LoadL0aOp,
    LoadL0bOp,
)
from ge_xdsl.dialects.aicore.op import Index
from ge_xdsl.dialects.aicore.structure import ForOp, KernelOp, SectionOp
from ge_xdsl.dialects.aicore.types import Tile
from ge_xdsl.dialects.aicore.vector import (
    VbinaryOp,
    VbrcOp,
    VcastOp,
    VcmpOp,
    VdupOp,
    VreduceOp,
    VscalarOp,
    VselOp,
    VunaryOp,
)
from ge_xdsl.lowering.matmul import alloc
from ge_xdsl.targets.target import Target

QUERIES = 128
"""Rows of a tile of scores: with as many columns L0A and L0C are full."""
HALF = QUERIES // 2
LONGEST = 128
"""The longest head for which the tiles fit L0."""
LEAST = -3.4028234663852886e38
"""The smallest f32: the score of what is hidden."""
NOTHING = 1e-30
"""Below the sum of any row that sees a key, which is about 1 or more."""
ROW = 8
"""How often the largest score and the sum of a row are written."""


@dataclass(frozen=True, slots=True)
class Flash:
    """Heads [batch, heads, group, length, dim]; keys and values have no group.

    `mask` is the batch of a mask [mask, length, keys], 1 where it serves all, 0 without one.
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
    step: int = 128
    """Columns of a tile of scores."""
    depth: int = 2
    """Buffers of what vector cores load and store for each of them."""


@dataclass(frozen=True, slots=True)
class Channel:
    """A workspace with the first id of its flags: two for free buffers, two for filled ones."""

    workspace: SSAValue
    first: int

    def take(self, body: Block, pipe: str, produces: bool) -> SSAValue:
        """The next buffer, once it is free (or filled)."""
        take = TakeOp.make(self.workspace)
        body.add_op(take)
        body.add_op(CrossWaitOp.make(pipe, self.first + (0 if produces else 2), 2))
        return take.results[0]

    def give(self, body: Block, pipe: str, produces: bool) -> None:
        """It is filled (or free) now."""
        body.add_op(CrossSetOp.make(pipe, self.first + (2 if produces else 0), 2))

    def begin(self, body: Block) -> None:
        """The consumer says that both buffers are free."""
        for k in range(2):
            body.add_op(CrossSetOp.make("MTE2", self.first + k))

    def end(self, body: Block, pipe: str) -> None:
        """The producer waits until both are."""
        for k in range(2):
            body.add_op(CrossWaitOp.make(pipe, self.first + k))


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
        space = WorkspaceOp.make(Tile((QUERIES, width), kind, "gm"), 2)
        space.results[0].name_hint = hint
        block.add_op(space)
        channels.append(Channel(space.results[0], 4 * i))
    block.add_op(SectionOp.make("cube", _Cube(f, values, channels, target).section()))
    block.add_op(SectionOp.make("vector", _Vector(f, values, channels).section()))
    count = prod(heads[:3]) * -(-f.length // QUERIES)
    return KernelOp.make(name, "mix", min(count, target.cube_cores), 3 if f.rows else 1, block)


class _Side:
    """What both kinds of cores share: the loop over tiles of queries."""

    def __init__(
        self, flash: Flash, args: Mapping[str, SSAValue], channels: Sequence[Channel]
    ) -> None:
        self.flash = flash
        self.args = args
        self.scores, self.weights, self.parts = channels
        f = flash
        extents = [f.batch, f.heads, f.group, f.length]
        self.loop = ForOp.make(extents, [1, 1, 1, QUERIES], ["b", "n", "g", "m"], over_cores=True)
        self.b, self.n, self.g, self.m = (self.loop.origin(i) for i in range(4))
        self.vm = self.loop.length(3)
        self.body = self.loop.body

    def ub(self, body: Block, width: int, element: str, hint: str, buffers: int = 1) -> SSAValue:
        """A tile of half of the queries."""
        return alloc(body, Tile((HALF, width), element, "ub"), hint, buffers)


class _Cube(_Side):
    """The products, the scores one tile of keys ahead of the parts."""

    def __init__(
        self,
        flash: Flash,
        args: Mapping[str, SSAValue],
        channels: Sequence[Channel],
        target: Target,
    ) -> None:
        super().__init__(flash, args, channels)
        self.layout = target.l0a_layout

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
        """The loop over tiles of keys, its first scores and last parts outside."""
        f, body = self.flash, self.body
        element = f.element
        q1 = alloc(body, Tile((QUERIES, f.dim), element, "l1", "nz"), "q1", 2)
        self.q0 = alloc(body, Tile((QUERIES, f.dim), element, "l0a", self.layout), "q0")
        self.p0 = alloc(body, Tile((QUERIES, f.step), element, "l0a", self.layout), "p0")
        self.k0 = alloc(body, Tile((f.dim, f.step), element, "l0b", "zn"), "k0")
        self.v0 = alloc(body, Tile((f.step, f.dim), element, "l0b", "zn"), "v0")
        self.s = alloc(body, Tile((QUERIES, f.step), "f32", "l0c", "nz"), "s")
        self.o = alloc(body, Tile((QUERIES, f.dim), "f32", "l0c", "nz"), "o")
        at: list[Index] = [self.b, self.n, self.g, self.m, 0]
        sizes: list[Index] = [self.vm, f.dim]
        body.add_op(CopyGmL1Op.build(self.args["q"], q1, offsets=at, sizes=sizes))
        body.add_op(LoadL0aOp.build(q1, self.q0, offsets=[0, 0], sizes=sizes))
        self.score(body, 0, min(f.step, f.keys), 1)
        if f.keys > f.step:
            loop = ForOp.make([f.keys - f.step], [f.step], ["j"], bases=[f.step])
            body.add_op(loop)
            self.score(loop.body, loop.origin(0), loop.length(0), 2)
            before = AffineOp.make([(1, loop.origin(0))], -f.step)
            loop.body.add_op(before)
            self.part(loop.body, before.results[0], f.step, 2)
        last = (f.keys - 1) // f.step * f.step
        self.part(body, last, f.keys - last, 1)

    def load(self, body: Block, name: str, j: Index, vj: Index, buffers: int) -> SSAValue:
        """A tile of keys or values in L1."""
        f = self.flash
        tile = Tile((f.step, f.dim), f.element, "l1", "nz")
        room = alloc(body, tile, f"{name}1", buffers)
        offsets: list[Index] = [self.b, self.n, j, 0]
        body.add_op(CopyGmL1Op.build(self.args[name], room, offsets=offsets, sizes=[vj, f.dim]))
        return room

    def score(self, body: Block, j: Index, vj: Index, buffers: int) -> None:
        """scores = queries keys^T"""
        f = self.flash
        k1 = self.load(body, "k", j, vj, buffers)
        body.add_op(LoadL0bOp.build(k1, self.k0, offsets=[0, 0], sizes=[f.dim, vj], transpose=True))
        body.add_op(MmadOp.build(self.q0, self.k0, self.s, sizes=[self.vm, vj, f.dim], init="zero"))
        out = self.scores.take(body, "FIX", True)
        body.add_op(FixpipeOp.build(self.s, out, offsets=[0, 0], sizes=[self.vm, vj]))
        self.scores.give(body, "FIX", True)

    def part(self, body: Block, j: Index, vj: Index, buffers: int) -> None:
        """parts = weights values"""
        f = self.flash
        v1 = self.load(body, "v", j, vj, buffers)
        p1 = alloc(body, Tile((QUERIES, f.step), f.element, "l1", "nz"), "p1")
        tile = self.weights.take(body, "MTE2", False)
        body.add_op(CopyGmL1Op.build(tile, p1, offsets=[0, 0], sizes=[self.vm, vj]))
        self.weights.give(body, "MTE2", False)
        body.add_op(LoadL0bOp.build(v1, self.v0, offsets=[0, 0], sizes=[vj, f.dim]))
        body.add_op(LoadL0aOp.build(p1, self.p0, offsets=[0, 0], sizes=[self.vm, vj]))
        body.add_op(MmadOp.build(self.p0, self.v0, self.o, sizes=[self.vm, f.dim, vj], init="zero"))
        out = self.parts.take(body, "FIX", True)
        body.add_op(FixpipeOp.build(self.o, out, offsets=[0, 0], sizes=[self.vm, f.dim]))
        self.parts.give(body, "FIX", True)


class _Vector(_Side):
    """Softmax and output, for half of the queries each."""

    def section(self) -> Block:
        """The vector section."""
        block = Block()
        self.scores.begin(block)
        self.parts.begin(block)
        block.add_op(self.loop)
        self.fill()
        self.weights.end(block, "MTE3")
        return block

    def fill(self) -> None:
        """Start, all tiles of keys, and the quotient."""
        f, body = self.flash, self.body
        self.top, self.sum, self.factor = (
            self.ub(body, 1, "f32", hint) for hint in ("top", "sum", "factor")
        )
        self.out = self.ub(body, f.dim, "f32", "out")
        for tile, width, value in (
            (self.top, 1, LEAST),
            (self.sum, 1, 0.0),
            (self.out, f.dim, 0.0),
        ):
            body.add_op(VdupOp.build(tile, sizes=[HALF, width], value=value))
        loop = ForOp.make([f.keys], [f.step], ["j"])
        body.add_op(loop)
        inner, j, vj = loop.body, loop.origin(0), loop.length(0)
        scores = self.scores.take(inner, "MTE2", False)
        weights = self.weights.take(inner, "MTE3", True)
        half, r, vr = self.half(inner)
        self.weigh(half, scores, weights, (r, vr, j, vj))
        self.scores.give(inner, "MTE2", False)
        self.weights.give(inner, "MTE3", True)
        parts = self.parts.take(inner, "MTE2", False)
        half, r, vr = self.half(inner)
        self.add(half, parts, r, vr)
        self.parts.give(inner, "MTE2", False)
        half, r, vr = self.half(body)
        self.finish(half, r, vr)

    def half(self, body: Block) -> tuple[Block, SSAValue, SSAValue]:
        """The loop over the halves of a tile of queries, one for each vector core."""
        loop = ForOp.make([self.vm], [HALF], ["r"], over_subcores=True)
        body.add_op(loop)
        return loop.body, loop.origin(0), loop.length(0)

    def row(self, body: Block, r: SSAValue) -> SSAValue:
        """The row of all queries that is row r of the tile."""
        place: Operation = AffineOp.make([(1, self.m), (1, r)])
        body.add_op(place)
        return place.results[0]

    def weigh(
        self,
        body: Block,
        scores: SSAValue,
        weights: SSAValue,
        place: tuple[SSAValue, SSAValue, SSAValue, SSAValue],
    ) -> None:
        """The weights of a tile of keys, the new largest scores and sums."""
        f, (r, vr, _, vj) = self.flash, place
        sizes: list[Index] = [vr, vj]
        one: list[Index] = [vr, 1]
        x = self.ub(body, f.step, "f32", "x", f.depth)
        body.add_op(CopyGmUbOp.build(scores, x, offsets=[r, 0], sizes=sizes))
        body.add_op(VscalarOp.build(x, x, sizes=sizes, kind="muls", value=f.scale))
        bits = self.hide(body, x, place) if f.mask else None
        top = self.ub(body, 1, "f32", "now")
        wide = self.ub(body, f.step, "f32", "wide")
        body.add_op(VreduceOp.build(x, top, sizes=sizes, kind="max", axis="cols"))
        body.add_op(VbinaryOp.build(top, self.top, top, sizes=one, kind="max"))
        body.add_op(VbinaryOp.build(self.top, top, self.factor, sizes=one, kind="sub"))
        body.add_op(VunaryOp.build(self.factor, self.factor, sizes=one, kind="exp"))
        body.add_op(VunaryOp.build(top, self.top, sizes=one, kind="copy"))
        body.add_op(VbrcOp.build(top, wide, sizes=sizes))
        body.add_op(VbinaryOp.build(x, wide, x, sizes=sizes, kind="sub"))
        body.add_op(VunaryOp.build(x, x, sizes=sizes, kind="exp"))
        if bits is not None:
            body.add_op(VdupOp.build(wide, sizes=sizes, value=0.0))
            body.add_op(VselOp.build(bits, wide, x, x, sizes=sizes))
        body.add_op(VreduceOp.build(x, top, sizes=sizes, kind="sum", axis="cols"))
        body.add_op(VbinaryOp.build(self.sum, self.factor, self.sum, sizes=one, kind="mul"))
        body.add_op(VbinaryOp.build(self.sum, top, self.sum, sizes=one, kind="add"))
        w = self.ub(body, f.step, f.element, "w", f.depth)
        body.add_op(VcastOp.build(x, w, sizes=sizes))
        body.add_op(CopyUbGmOp.build(w, weights, offsets=[r, 0], sizes=sizes))

    def hide(
        self, body: Block, x: SSAValue, place: tuple[SSAValue, SSAValue, SSAValue, SSAValue]
    ) -> SSAValue:
        """The smallest score where the mask is set; its bits."""
        f, (r, vr, j, vj) = self.flash, place
        sizes: list[Index] = [vr, vj]
        read = self.ub(body, f.step, "i1", "mask", f.depth)
        number, zero = self.ub(body, f.step, "f16", "number"), self.ub(body, f.step, "f16", "zero")
        bits, least = self.ub(body, f.step, "bit", "bits"), self.ub(body, f.step, "f32", "least")
        offsets: list[Index] = [self.b if f.mask > 1 else 0, self.row(body, r), j]
        body.add_op(CopyGmUbOp.build(self.args["mask"], read, offsets=offsets, sizes=sizes))
        body.add_op(VcastOp.build(read, number, sizes=sizes))
        body.add_op(VdupOp.build(zero, sizes=sizes, value=0.0))
        body.add_op(VcmpOp.build(number, zero, bits, sizes=sizes, kind="ne"))
        body.add_op(VdupOp.build(least, sizes=sizes, value=LEAST))
        body.add_op(VselOp.build(bits, least, x, x, sizes=sizes))
        return bits

    def add(self, body: Block, parts: SSAValue, r: SSAValue, vr: SSAValue) -> None:
        """out = out factor + parts"""
        f = self.flash
        sizes: list[Index] = [vr, f.dim]
        part, wide = (
            self.ub(body, f.dim, "f32", "part", f.depth),
            self.ub(body, f.dim, "f32", "spread"),
        )
        body.add_op(CopyGmUbOp.build(parts, part, offsets=[r, 0], sizes=sizes))
        body.add_op(VbrcOp.build(self.factor, wide, sizes=sizes))
        body.add_op(VbinaryOp.build(self.out, wide, self.out, sizes=sizes, kind="mul"))
        body.add_op(VbinaryOp.build(self.out, part, self.out, sizes=sizes, kind="add"))

    def finish(self, body: Block, r: SSAValue, vr: SSAValue) -> None:
        """y = out / sum, 0 for a row that sees nothing"""
        f, row = self.flash, self.row(body, r)
        sizes: list[Index] = [vr, f.dim]
        offsets: list[Index] = [self.b, self.n, self.g, row, 0]
        one: list[Index] = [vr, 1]
        total, wide = self.ub(body, 1, "f32", "total"), self.ub(body, f.dim, "f32", "below")
        body.add_op(VscalarOp.build(self.sum, total, sizes=one, kind="maxs", value=NOTHING))
        body.add_op(VbrcOp.build(total, wide, sizes=sizes))
        body.add_op(VbinaryOp.build(self.out, wide, wide, sizes=sizes, kind="div"))
        y = self.ub(body, f.dim, f.element, "y")
        body.add_op(VcastOp.build(wide, y, sizes=sizes))
        body.add_op(CopyUbGmOp.build(y, self.args["y"], offsets=offsets, sizes=sizes))
        for name, tile in (("top", self.top), ("sum", self.sum)) if f.rows else ():
            spread = self.ub(body, ROW, "f32", f"{name}_row")
            body.add_op(VbrcOp.build(tile, spread, sizes=[vr, ROW]))
            body.add_op(CopyUbGmOp.build(spread, self.args[name], offsets=offsets, sizes=[vr, ROW]))
