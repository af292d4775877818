"""Mixed kernels: a product with a vector epilogue, and attention with an online softmax.

A cube core and its two vector cores exchange tiles through a workspace; flags between the cores
tell when a buffer of it is full, and when it is free again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from xdsl.ir import Block, SSAValue

from benchmarks.target_model.build import add, alloc, arguments, finish, loop
from benchmarks.target_model.products import Cell, Plan, accumulate, drain, tile_cell
from benchmarks.target_model.vector import compute
from ge_xdsl.dialects.aicore.cross import (
    AffineOp,
    CrossSetOp,
    CrossWaitOp,
    TakeOp,
    WorkspaceOp,
)
from ge_xdsl.dialects.aicore.move import (
    CopyGmUbOp,
    CopyUbGmOp,
)
from ge_xdsl.dialects.aicore.op import Index
from ge_xdsl.dialects.aicore.structure import KernelOp, SectionOp
from ge_xdsl.dialects.aicore.types import Tile
from ge_xdsl.lowering.flash import flash_kernel
from ge_xdsl.lowering.online import Flash
from ge_xdsl.lowering.placement import place_kernel
from ge_xdsl.lowering.sync import sync_kernel
from ge_xdsl.targets import Target

DEPTH = 2
"""Buffers of a workspace."""
UB_KEYS = 64
"""Keys of a step of attention that lie in one tile of UB."""
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


def attention_kernel(chip: Target, rows: int, depth: int, q: int, kv: int) -> KernelOp:
    """Attention of one head with `rows` queries and keys, in blocks of q and steps of kv.

    It is the kernel that the compiler makes, with the largest tiles in UB that fit.
    """
    flash = Flash(1, 1, 1, rows, rows, depth, depth**-0.5, "f16", queries=q, step=kv)
    flash = replace(flash, width=UB_KEYS, stores=DEPTH, loads=DEPTH)
    kernel = flash_kernel("attention", flash, chip)
    place_kernel(kernel, chip)
    sync_kernel(kernel)
    return kernel
