"""Kernels that turn matrices on the vector core: rows x columns to columns x rows, in batches.

for each tile, dealt to the vector cores: copy_gm_ub; vtranspose; copy_ub_gm
"""

from __future__ import annotations

from xdsl.ir import Block

from ge_xdsl.dialects.aicore.move import CopyGmUbOp, CopyUbGmOp
from ge_xdsl.dialects.aicore.structure import ForOp, KernelOp
from ge_xdsl.dialects.aicore.types import BLOCK_BYTES, Tile, tile_of
from ge_xdsl.dialects.aicore.vector import VdupOp, VtransposeOp
from ge_xdsl.dialects.aicore.view import StridedOp
from ge_xdsl.lowering.matmul import alloc
from ge_xdsl.lowering.tiling import BUFFERS, fewest_cores, turn_tiling
from ge_xdsl.targets.target import Target


def turn_kernel(
    name: str, batch: int, rows: int, cols: int, element: str, target: Target
) -> KernelOp:
    """y[b] = x[b] turned, x of batch x rows x cols."""
    x, y = Tile((batch, rows, cols), element, "gm"), Tile((batch, cols, rows), element, "gm")
    block = Block(arg_types=[x.type, y.type])
    block.args[0].name_hint, block.args[1].name_hint = "x", "y"
    tile = turn_tiling(batch, rows, cols, x.size, target)
    loop = ForOp.make([batch, rows, cols], [1, *tile], ["p", "r", "c"], over_cores=True)
    block.add_op(loop)
    p, r, c = (loop.origin(i) for i in range(3))
    vr, vc = loop.length(1), loop.length(2)
    body = loop.body
    source = alloc(body, Tile(tile, element, "ub"), "t0", BUFFERS)
    turned = alloc(body, Tile(tile[::-1], element, "ub"), "t1", BUFFERS)
    body.add_op(CopyGmUbOp.build(block.args[0], source, offsets=[p, r, c], sizes=[vr, vc]))
    body.add_op(VtransposeOp.build(source, turned, sizes=[vr, vc]))
    body.add_op(CopyUbGmOp.build(turned, block.args[1], offsets=[p, c, r], sizes=[vc, vr]))
    count = batch * -(-rows // tile[0]) * -(-cols // tile[1])
    return KernelOp.make(name, "vector", fewest_cores(count, target.vector_cores), 1, block)


def block_kernel(
    name: str, batch: int, channels: int, pixels: int, element: str, target: Target
) -> KernelOp:
    """[batch, channels, pixels] to [batch, channel blocks, pixels * C0], zero in the last block."""
    size = Tile((1,), element, "gm").size
    c0 = BLOCK_BYTES // size
    blocks, whole = -(-channels // c0), channels // c0
    x = Tile((batch, channels, pixels), element, "gm")
    y = Tile((batch, blocks, pixels * c0), element, "gm")
    block = Block(arg_types=[x.type, y.type])
    block.args[0].name_hint, block.args[1].name_hint = "x", "y"
    step = turn_tiling(batch * blocks, c0, pixels, size, target)[1]
    count = 0
    for lanes, first, number in ((c0, 0, whole), (channels % c0, whole, 1)):
        if not lanes or not number:
            continue
        strides = [channels * pixels, c0 * pixels, pixels, 1]
        tile = Tile((batch, number, lanes, pixels), element, "gm")
        source = StridedOp.make(block.args[0], first * c0 * pixels, strides, tile)
        strides = [blocks * pixels * c0, pixels * c0, c0, 1]
        tile = Tile((batch, number, pixels, c0), element, "gm")
        target_view = StridedOp.make(block.args[1], first * pixels * c0, strides, tile)
        block.add_op(source)
        block.add_op(target_view)
        count = max(count, batch * number * -(-pixels // step))
        _block_loop(block, source, target_view, (batch, number, lanes, pixels), step)
    return KernelOp.make(name, "vector", fewest_cores(count, target.vector_cores), 1, block)


def _block_loop(
    block: Block,
    source: StridedOp,
    result: StridedOp,
    extents: tuple[int, int, int, int],
    step: int,
) -> None:
    """The loop over the channel blocks that have so many channels."""
    batch, number, lanes, pixels = extents
    element, c0 = tile_of(source.results[0]).element, tile_of(result.results[0]).shape[-1]
    loop = ForOp.make([batch, number, pixels], [1, 1, step], ["p", "b", "m"], over_cores=True)
    block.add_op(loop)
    p, b, m = (loop.origin(i) for i in range(3))
    vm, body = loop.length(2), loop.body
    rows = alloc(body, Tile((c0, step), element, "ub"), "t0", BUFFERS)
    turned = alloc(body, Tile((step, c0), element, "ub"), "t1", BUFFERS)
    if lanes < c0:
        body.add_op(VdupOp.build(rows, sizes=[c0, vm], value=0.0))
    body.add_op(CopyGmUbOp.build(source.results[0], rows, offsets=[p, b, 0, m], sizes=[lanes, vm]))
    body.add_op(VtransposeOp.build(rows, turned, sizes=[c0, vm]))
    body.add_op(CopyUbGmOp.build(turned, result.results[0], offsets=[p, b, m, 0], sizes=[vm, c0]))
