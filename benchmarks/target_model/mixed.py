"""Mixed kernels: a product with a vector epilogue, and attention with an online softmax.

A cube core and its two vector cores exchange tiles through a workspace; flags between the cores
tell when a buffer of it is full, and when it is free again.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Block, SSAValue

from benchmarks.target_model.build import add, alloc, arguments, finish, loop
from benchmarks.target_model.products import Cell, Plan, accumulate, drain, tile_cell
from benchmarks.target_model.vector import compute
from ge_xdsl.dialects.aicore.cross import (
    AffineOp,
    CrossSetOp,
    CrossWaitOp,
    SubBlockIdxOp,
    TakeOp,
    WorkspaceOp,
)
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
from ge_xdsl.dialects.aicore.vector import VbrcOp
from ge_xdsl.targets import Target

DEPTH = 2
"""Buffers of a workspace."""
AHEAD = 2
"""Steps that the first product of attention runs ahead of the second, one buffer each."""
PARTS = 2
"""Parts in which a vector core takes its rows of a step of attention."""
SUB_ROWS = 16
"""Rows of a tile that a vector core takes at a time."""


def take(block: Block, workspace: SSAValue) -> SSAValue:
    """The next buffer of a workspace."""
    op = TakeOp.make(workspace)
    add(block, op)
    return op.results[0]


def workspace(body: Block, shape: Sequence[int], element: str) -> SSAValue:
    """A workspace of `DEPTH` buffers."""
    op = WorkspaceOp.make(Tile(tuple(shape), element, "gm"), DEPTH)
    add(body, op)
    return op.results[0]


def free_first(block: Block, pipe: str, first: int) -> None:
    """At the start all buffers are free."""
    for k in range(DEPTH):
        add(block, CrossSetOp.make(pipe, first + k))


def take_back(block: Block, pipe: str, first: int) -> None:
    """At the end the flags of the last uses are taken back."""
    for k in range(DEPTH):
        add(block, CrossWaitOp.make(pipe, first + k))


def epilogue_kernel(
    chip: Target, m: int, n: int, k: int, plan: Plan, steps: Sequence[str]
) -> KernelOp:
    """y = steps(a b): the cube core leaves f32 tiles in the workspace, the vector cores take them.

    `plan.out` is the type of y.
    """
    tm, tn, _ = plan.tile
    body = arguments(
        Tile((m, k), plan.element, "gm"),
        Tile((k, n), plan.element, "gm"),
        Tile((m, n), plan.out, "gm"),
    )
    space = workspace(body, (tm, tn), "f32")
    cube, vector = Block(), Block()
    cell, blocks = tile_cell(cube, m, n, plan, plan.cores or chip.cube_cores)
    c = accumulate(cell, body.args[0], body.args[1], k, plan, chip)
    tile = take(cell.body, space)
    add(cell.body, CrossWaitOp.make("FIX", DEPTH, DEPTH))
    drain(Cell(cell.body, _zero(cell.body), cell.sizes), c, tile, plan)
    add(cell.body, CrossSetOp.make("FIX", 0, DEPTH))
    take_back(cube, "FIX", DEPTH)
    free_first(vector, "MTE2", DEPTH)
    cell, _ = tile_cell(vector, m, n, plan, plan.cores or chip.cube_cores)
    tile = take(cell.body, space)
    add(cell.body, CrossWaitOp.make("MTE2", 0, DEPTH))
    _epilogue(cell, tile, body.args[2], (SUB_ROWS, tn), plan, steps)
    add(cell.body, CrossSetOp.make("MTE2", DEPTH, DEPTH))
    add(body, SectionOp.make("cube", cube))
    add(body, SectionOp.make("vector", vector))
    return finish("epilogue", "mix", blocks, body, synced=False)


def _zero(block: Block) -> tuple[SSAValue, SSAValue]:
    """Two indices that are 0."""
    ops = [AffineOp.make([]), AffineOp.make([])]
    for op in ops:
        add(block, op)
    return ops[0].results[0], ops[1].results[0]


def _epilogue(
    cell: Cell,
    tile: SSAValue,
    y: SSAValue,
    shape: tuple[int, int],
    plan: Plan,
    steps: Sequence[str],
) -> None:
    """The part of a tile that one of two vector cores computes, some rows at a time."""
    vm, vn = cell.sizes
    over = loop(cell.body, [vm, vn], list(shape), ["r", "c"], over_subcores=True)
    block = over.body
    sizes: list[Index] = [over.length(0), over.length(1)]
    names = {
        "x0": alloc(block, shape, "f32", "ub", buffers=DEPTH),
        "y": alloc(block, shape, plan.out, "ub", buffers=DEPTH),
    }
    at = [over.origin(0), over.origin(1)]
    add(block, CopyGmUbOp.build(tile, names["x0"], offsets=at, sizes=sizes))
    compute(block, names, steps, sizes, shape)
    rows, cols = (AffineOp.make([(1, a), (1, b)]) for a, b in zip(cell.origins, at, strict=True))
    add(block, rows)
    add(block, cols)
    where = [rows.results[0], cols.results[0]]
    add(block, CopyUbGmOp.build(names["y"], y, offsets=where, sizes=sizes))


class Attention:
    """softmax(q k^T) v of one head: per block of queries, steps over keys; q is scaled already.

    Flags: scores full 0, free 2; weights full 4, free 6; products full 8, free 10.
    """

    def __init__(self, chip: Target, rows: int, depth: int, q: int, kv: int) -> None:
        self.chip = chip
        self.rows, self.depth, self.q, self.kv = rows, depth, q, kv
        matrix = Tile((rows, depth), "f16", "gm")
        self.body = arguments(matrix, matrix, matrix, matrix)
        self.scores = workspace(self.body, (q, kv), "f32")
        self.weights = workspace(self.body, (q, kv), "f16")
        self.products = workspace(self.body, (q, depth), "f32")

    def kernel(self) -> KernelOp:
        """The kernel."""
        cube, vector = Block(), Block()
        self.cube(cube)
        self.vector(vector)
        add(self.body, SectionOp.make("cube", cube))
        add(self.body, SectionOp.make("vector", vector))
        blocks = min(-(-self.rows // self.q), self.chip.cube_cores)
        return finish("attention", "mix", blocks, self.body, synced=False)

    # The cube core

    def cube(self, block: Block) -> None:
        """Scores run `AHEAD` steps ahead of the products with the values."""
        free_first(block, "MTE2", 6)
        over = loop(block, [self.rows, self.depth], [self.q, self.depth], ["q", "d"], True)
        body = over.body
        tiles = self.cube_tiles(body)
        size = [self.q, self.depth]
        at: list[Index] = [over.origin(0), 0]
        add(body, CopyGmL1Op.build(self.body.args[0], tiles["q1"], offsets=at, sizes=size))
        add(body, LoadL0aOp.build(tiles["q1"], tiles["q0"], offsets=[0, 0], sizes=size))
        for i in range(AHEAD):
            self.score(body, tiles, i, i * self.kv)
        main = self.steps(body)
        for i in range(AHEAD):
            later = AffineOp.make([(1, main.origin(0))], (AHEAD + i) * self.kv)
            add(main.body, later)
            self.score(main.body, tiles, i, later.results[0])
        for i in range(AHEAD):
            now = AffineOp.make([(1, main.origin(0))], i * self.kv)
            add(main.body, now)
            self.product(main.body, tiles, i, now.results[0])
        for i in range(AHEAD):
            self.product(body, tiles, i, self.rows - (AHEAD - i) * self.kv)
        take_back(block, "FIX", 2)
        take_back(block, "FIX", 10)

    def steps(self, body: Block) -> ForOp:
        """The loop over all steps but the first `AHEAD`, so many at a time."""
        ahead = AHEAD * self.kv
        return loop(body, [self.rows - ahead], [ahead], ["j"])

    def cube_tiles(self, body: Block) -> dict[str, SSAValue]:
        """The buffers of a cube core."""
        made: dict[str, SSAValue] = {}
        deep, square = (self.kv, self.depth), (self.q, self.q)
        made["q1"] = alloc(body, (self.q, self.depth), "f16", "l1", layout="nz")
        for i in range(AHEAD):
            made[f"k{i}"] = alloc(body, deep, "f16", "l1", layout="nz")
            made[f"v{i}"] = alloc(body, deep, "f16", "l1", layout="nz")
            made[f"p{i}"] = alloc(body, (self.q, self.kv), "f16", "l1", layout="nz")
        layout = self.chip.l0a_layout
        made["q0"] = alloc(body, (self.q, self.depth), "f16", "l0a", layout=layout)
        made["p0a"] = alloc(body, square, "f16", "l0a", layout=layout)
        made["k0b"] = alloc(body, (self.depth, self.q), "f16", "l0b", layout="zn")
        made["v0b"] = alloc(body, (self.q, self.depth), "f16", "l0b", layout="zn")
        made["s"] = alloc(body, square, "f32", "l0c", layout="nz")
        made["o"] = alloc(body, (self.q, self.depth), "f32", "l0c", layout="nz")
        return made

    def score(self, block: Block, tiles: dict[str, SSAValue], i: int, j: Index) -> None:
        """One step of q k^T into the workspace."""
        k1 = tiles[f"k{i}"]
        size = [self.kv, self.depth]
        add(block, CopyGmL1Op.build(self.body.args[1], k1, offsets=[j, 0], sizes=size))
        tile = take(block, self.scores)
        add(block, CrossWaitOp.make("FIX", 2 + i))
        half = loop(block, [self.kv], [self.q], ["h"])
        h, body = half.origin(0), half.body
        b0, c = tiles["k0b"], tiles["s"]
        size = [self.depth, self.q]
        add(body, LoadL0bOp.build(k1, b0, offsets=[h, 0], sizes=size, transpose=True))
        size = [self.q, self.q, self.depth]
        add(body, MmadOp.build(tiles["q0"], b0, c, sizes=size, init="zero"))
        add(body, FixpipeOp.build(c, tile, offsets=[0, h], sizes=[self.q, self.q]))
        add(block, CrossSetOp.make("FIX", i))

    def product(self, block: Block, tiles: dict[str, SSAValue], i: int, j: Index) -> None:
        """One step of the weights times v into the workspace."""
        v1, p1 = tiles[f"v{i}"], tiles[f"p{i}"]
        size = [self.kv, self.depth]
        add(block, CopyGmL1Op.build(self.body.args[2], v1, offsets=[j, 0], sizes=size))
        weights = take(block, self.weights)
        add(block, CrossWaitOp.make("MTE2", 4 + i))
        add(block, CopyGmL1Op.build(weights, p1, offsets=[0, 0], sizes=[self.q, self.kv]))
        add(block, CrossSetOp.make("MTE2", 6 + i))
        half = loop(block, [self.kv], [self.q], ["h"])
        h, body = half.origin(0), half.body
        a0, b0, c = tiles["p0a"], tiles["v0b"], tiles["o"]
        add(body, LoadL0aOp.build(p1, a0, offsets=[0, h], sizes=[self.q, self.q]))
        add(body, LoadL0bOp.build(v1, b0, offsets=[h, 0], sizes=[self.q, self.depth]))
        sizes = [self.q, self.depth, self.q]
        add(body, MmadOp.build(a0, b0, c, sizes=sizes, at=[h], init="zero"))
        tile = take(block, self.products)
        add(block, CrossWaitOp.make("FIX", 10 + i))
        add(block, FixpipeOp.build(c, tile, offsets=[0, 0], sizes=[self.q, self.depth]))
        add(block, CrossSetOp.make("FIX", 8 + i))

    # A vector core

    def vector(self, block: Block) -> None:
        """Softmax of a step's scores, and the sum of its products rescaled; rows in two parts."""
        free_first(block, "MTE2", 2)
        free_first(block, "MTE2", 10)
        over = loop(block, [self.rows, self.depth], [self.q, self.depth], ["q", "d"], True)
        body = over.body
        names = self.buffers(body)
        for i in range(AHEAD):
            self.softmax(body, names, i)
        main = self.steps(body)
        for i in range(AHEAD):
            self.softmax(main.body, names, i)
        for i in range(AHEAD):
            self.rescale(main.body, names, i)
        for i in range(AHEAD):
            self.rescale(body, names, i)
        self.store(body, names, over.origin(0))
        take_back(block, "MTE3", 6)

    def store(self, body: Block, names: dict[str, SSAValue], q: SSAValue) -> None:
        """The sums of a block of queries, in f16."""
        half = SubBlockIdxOp.make()
        add(body, half)
        for part in range(PARTS):
            size, shape = [self.part, self.depth], (self.part, self.depth)
            compute(body, names, [f"cast sums{part} p"], size, shape)
            terms = [(1, q), (self.q // 2, half.results[0])]
            row = AffineOp.make(terms, part * self.part)
            add(body, row)
            at: list[Index] = [row.results[0], 0]
            add(body, CopyUbGmOp.build(names["p"], self.body.args[3], offsets=at, sizes=size))

    @property
    def part(self) -> int:
        """Rows that a vector core takes at a time."""
        return self.q // 2 // PARTS

    def buffers(self, body: Block) -> dict[str, SSAValue]:
        """The UB buffers; 256 bytes keep the sources of an instruction in other banks."""
        made: dict[str, SSAValue] = {}
        wide, deep, column = (self.part, self.kv), (self.part, self.depth), (self.part, 1)
        for i in range(PARTS):
            made[f"s{i}"] = alloc(body, wide, "f32", "ub")
        alloc(body, (1, 64), "f32", "ub")
        for i in range(PARTS):
            made[f"o{i}"] = alloc(body, deep, "f32", "ub")
        alloc(body, (1, 64), "f32", "ub")
        for i in range(PARTS):
            made[f"sums{i}"] = alloc(body, deep, "f32", "ub")
        for i in range(PARTS):
            made[f"top{i}"] = alloc(body, column, "f32", "ub")
            made[f"total{i}"] = alloc(body, column, "f32", "ub")
        made["p"] = alloc(body, wide, "f16", "ub")
        made["new"] = alloc(body, column, "f32", "ub")
        made["row"] = alloc(body, column, "f32", "ub")
        alloc(body, (1, 64), "f32", "ub")  # before the repeated columns of each step
        return made

    def softmax(self, block: Block, names: dict[str, SSAValue], step: int) -> None:
        """The weights of a step: exp of the scores less the largest so far."""
        scores, weights = take(block, self.scores), take(block, self.weights)
        add(block, CrossWaitOp.make("MTE2", step))
        add(block, CrossWaitOp.make("MTE3", 6 + step))
        sizes, shape = [self.part, self.kv], (self.part, self.kv)
        column = [self.part, 1]
        names = {**names, "t": alloc(block, shape, "f32", "ub")}
        for i in range(PARTS):
            s, top, total = f"s{i}", f"top{i}", f"total{i}"
            at: list[Index] = [i * self.part, 0]
            add(block, CopyGmUbOp.build(scores, names[s], offsets=at, sizes=sizes))
            compute(block, names, [f"max_of {s} new"], sizes, shape)
            steps = [f"max new {top} new", f"sub {top} new {top}", f"exp {top} {top}"]
            compute(block, names, steps, column, shape)
            add(block, VbrcOp.build(names["new"], names["t"], sizes=sizes))
            steps = [f"sub {s} t {s}", f"exp {s} {s}", f"sum {s} row", f"cast {s} p"]
            compute(block, names, steps, sizes, shape)
            steps = [f"mul {total} {top} {total}", f"add {total} row {total}"]
            compute(block, names, steps, column, shape)
            add(block, CopyUbGmOp.build(names["p"], weights, offsets=at, sizes=sizes))
        add(block, CrossSetOp.make("MTE2", 2 + step))
        add(block, CrossSetOp.make("MTE3", 4 + step))

    def rescale(self, block: Block, names: dict[str, SSAValue], step: int) -> None:
        """sums = sums * factor + products."""
        products = take(block, self.products)
        add(block, CrossWaitOp.make("MTE2", 8 + step))
        sizes, shape = [self.part, self.depth], (self.part, self.depth)
        names = {**names, "t": alloc(block, shape, "f32", "ub")}
        for i in range(PARTS):
            at: list[Index] = [i * self.part, 0]
            add(block, CopyGmUbOp.build(products, names[f"o{i}"], offsets=at, sizes=sizes))
            add(block, VbrcOp.build(names[f"top{i}"], names["t"], sizes=sizes))
            total = f"sums{i}"
            steps = [f"mul {total} t {total}", f"add {total} o{i} {total}"]
            compute(block, names, steps, sizes, shape)
        add(block, CrossSetOp.make("MTE2", 10 + step))


def attention_kernel(chip: Target, rows: int, depth: int, q: int, kv: int) -> KernelOp:
    """Attention of one head with `rows` queries and keys, in blocks of q and steps of kv."""
    return Attention(chip, rows, depth, q, kv).kernel()
