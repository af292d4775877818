"""What the kernel builders share: tiles in GM, allocations, loops, the finished kernel."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Block, Operation, SSAValue

from ge_xdsl.dialects.aicore.structure import AllocOp, ForOp, KernelOp
from ge_xdsl.dialects.aicore.types import Tile
from ge_xdsl.lowering.sync import sync_kernel


def arguments(*tiles: Tile) -> Block:
    """A kernel's body with an argument per GM tile."""
    return Block(arg_types=[tile.type for tile in tiles])


def add(block: Block, op: Operation) -> None:
    """Append an op."""
    block.add_op(op)


def alloc(block: Block, shape: Sequence[int], element: str, space: str, **more: object) -> SSAValue:
    """Append an alloc; `layout`, `buffers` and `address` as `Tile` and `AllocOp` take them."""
    layout, buffers, address = more.get("layout", "nd"), more.get("buffers", 1), more.get("address")
    tile = Tile(tuple(shape), element, space, str(layout))
    count = buffers if isinstance(buffers, int) else 1
    op = AllocOp.make(tile.type, count, address if isinstance(address, int) else None)
    block.add_op(op)
    return op.results[0]


def loop(block: Block, *args: object, **more: object) -> ForOp:
    """Append a loop, with the arguments of `ForOp.make`."""
    op = ForOp.make(*args, **more)  # pyright: ignore[reportArgumentType]
    block.add_op(op)
    return op


def finish(
    name: str, core: str, blocks: int, body: Block, outputs: int = 1, synced: bool = True
) -> KernelOp:
    """The kernel, checked, with flags unless its order comes from its buffers."""
    kernel = KernelOp.make(name, core, blocks, outputs, body)
    kernel.verify()
    if synced:
        sync_kernel(kernel)
    return kernel
