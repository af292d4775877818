"""Gathers along the last dimension, and scatters into rows, on the vector core.

gather: for each tile of y, dealt to the vector cores
    copy_gm_ub the whole rows of x; copy_gm_ub the indices; vgather; copy_ub_gm
scatter: for each tile of y, dealt to the vector cores
    copy_gm_ub it; for some updates at a time: copy_gm_ub them and their indices, vscatter;
    copy_ub_gm
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import NamedTuple

from xdsl.ir import Block, SSAValue

from ge_xdsl.dialects.aicore.indexed import VgatherOp, VscatterOp
from ge_xdsl.dialects.aicore.move import CopyGmUbOp, CopyUbGmOp
from ge_xdsl.dialects.aicore.op import Index
from ge_xdsl.dialects.aicore.structure import ForOp, KernelOp
from ge_xdsl.dialects.aicore.types import BLOCK_BYTES, ELEMENT_BYTES, Tile, padded
from ge_xdsl.dialects.aicore.vector import VcastOp, VcmpOp, VdupOp, VscalarOp, VselOp
from ge_xdsl.dialects.ge.op import GeOp
from ge_xdsl.dialects.ge.types import tensor_of
from ge_xdsl.interpreters.cycles import time_kernel
from ge_xdsl.lowering.matmul import alloc
from ge_xdsl.lowering.placement import place_kernel
from ge_xdsl.lowering.remembered import Remembered
from ge_xdsl.lowering.tensors import element_of, static_tensor, unshaped
from ge_xdsl.lowering.tiling import BUFFERS, fewest_cores
from ge_xdsl.lowering.unit import Unit, launch_unit
from ge_xdsl.targets.target import Target

ROWS = {
    "ScatterUpdate": "update",
    "ScatterAdd": "add",
    "ScatterSub": "sub",
    "ScatterMul": "mul",
    "ScatterDiv": "div",
    "ScatterMax": "max",
    "ScatterMin": "min",
}
"""Op type -> what is done with the rows that the indices name."""
ELEMENTS = {"none": "update", "add": "add", "mul": "mul"}
"""`reduction` of ScatterElements -> what is done with each element."""
TYPES = frozenset({"GatherElements", "ScatterElements", *ROWS})
UPDATES, MANY_UPDATES = 64, 512
"""Rows of updates that are brought at a time: a few, or more where rows are short."""


@dataclass(frozen=True, slots=True)
class Gather:
    """y[i, j] = x[i, index[i, j]]; one row of indices serves all rows when `shared`."""

    rows: int
    length: int
    count: int
    element: str
    index: str
    shared: bool
    wraps: bool


@dataclass(frozen=True, slots=True)
class Scatter:
    """y = x [lead, rows, cols], then y[l, index[l, j, c], c] = kind(that, updates[l, j, c]).

    With `whole` index[j] names a row instead.
    """

    kind: str
    lead: int
    rows: int
    cols: int
    count: int
    element: str
    index: str
    whole: bool
    wraps: bool


class ScatterTile(NamedTuple):
    """The tile of y, and the updates that are brought at a time."""

    rows: int
    width: int
    step: int


_KNOWN: Remembered[ScatterTile] = Remembered()


def reason(op: GeOp, target: Target) -> str:
    """Why an op is not lowered, '' when it is."""
    if "vector" not in target.lowers:
        return f"no vector kernels for {target.name}"
    for value in (*op.operands, *op.results):
        tensor = static_tensor(value)
        if tensor is None:
            return unshaped(value)
        if not element_of(tensor.dtype):
            return f"no lowering for element type {tensor.dtype.name}"
    found = _gather_of(op) if op.op_type == "GatherElements" else _scatter_of(op)
    if isinstance(found, str):
        return found
    return _gather_reason(found, target) if isinstance(found, Gather) else ""


def _shape(value: SSAValue) -> tuple[int, ...]:
    return tuple(tensor_of(value.type).shape or ())


def _element(value: SSAValue) -> str:
    return element_of(tensor_of(value.type).dtype)


def _gather_of(op: GeOp) -> Gather | str:
    x, index = (_shape(v) for v in op.operands[:2])
    dim = op.get_attr("dim") % max(len(x), 1)
    if dim != len(x) - 1 or x[:-1] != index[:-1]:
        return "no lowering for a gather other than of whole rows' elements"
    element, kind = (_element(v) for v in op.operands[:2])
    return Gather(prod(x[:-1]), x[-1], index[-1], element, kind, False, True)


def shared_gather(op: GeOp) -> Gather:
    """The gather of a GatherV2 along the last dimension."""
    x = _shape(op.operands[0])
    count = tensor_of(op.operands[1].type).size() or 0
    wraps = bool(op.get_attr("negative_index_support"))
    element, kind = (_element(v) for v in op.operands[:2])
    return Gather(prod(x[:-1]), x[-1], count, element, kind, True, wraps)


def _gather_bytes(gather: Gather, rows: int, count: int) -> int:
    """Bytes of UB that a tile takes."""
    size = ELEMENT_BYTES[gather.element]
    high = 1 if gather.shared else rows
    indices = high * padded(count * 8, BLOCK_BYTES) * 3 + 4 * high * padded(count * 4, BLOCK_BYTES)
    y = BUFFERS * rows * padded(count * size, BLOCK_BYTES)
    return BUFFERS * rows * padded(gather.length * size, BLOCK_BYTES) + indices + y


def _gather_tile(gather: Gather, target: Target) -> tuple[int, int]:
    """Rows and columns of a tile of y: all rows' sources fit beside them; (0, 0) when none do."""
    capacity = target.capacity("ub")
    for count in (gather.count, 2048, 512, 64, 16):
        if count > gather.count:
            continue
        rows = -(-gather.rows // target.vector_cores)
        while rows and _gather_bytes(gather, rows, count) > capacity:
            rows = rows * 3 // 4
        if rows:
            return rows, count
    return 0, 0


def _gather_reason(gather: Gather, target: Target) -> str:
    if gather.index not in ("i32", "i64"):
        return "no lowering for indices of this element type"
    if _gather_tile(gather, target)[0]:
        return ""
    size = _gather_bytes(gather, 1, min(gather.count, 16))
    return (
        f"no lowering: a row of {gather.length} elements takes {size} bytes of UB, expected at "
        f"most {target.capacity('ub')}"
    )


def gather_reason(op: GeOp, target: Target) -> str:
    """Why a GatherV2 along the last dimension is not lowered, '' when it is."""
    return _gather_reason(shared_gather(op), target)


def _scatter_of(op: GeOp) -> Scatter | str:
    x, index = (_shape(v) for v in op.operands[:2])
    element, kind = _element(op.operands[0]), _element(op.operands[1])
    if kind not in ("i32", "i64"):
        return "no lowering for indices of this element type"
    if op.op_type in ROWS:
        count = prod(index)
        how, whole = ROWS[op.op_type], True
        lead, rows, cols = 1, x[0], prod(x[1:])
    else:
        axis: int = op.get_attr("axis") % max(len(x), 1)
        if x[:axis] != index[:axis] or x[axis + 1 :] != index[axis + 1 :]:
            return "no lowering for indices that are smaller than the data beside the axis"
        how, whole, count = ELEMENTS[op.get_attr("reduction")], False, index[axis]
        lead, rows, cols = prod(x[:axis]), x[axis], prod(x[axis + 1 :])
    if how != "update" and element not in ("f32", "i32")[: 1 if how == "div" else 2]:
        return f"no lowering for a scatter of element type {element} with {how}"
    return Scatter(how, lead, rows, cols, count, element, kind, whole, not whole)


def unit(op: GeOp, target: Target) -> Unit:
    """The launch of a gather or scatter."""
    if op.op_type == "GatherElements":
        gather = _gather_of(op)
        assert isinstance(gather, Gather)
        return gather_unit(op, gather, target)
    scatter = _scatter_of(op)
    assert isinstance(scatter, Scatter)
    operands = list(op.operands[:3])
    return launch_unit(
        [op],
        operands,
        op.results,
        scatter,
        lambda name: scatter_kernel(name, scatter, target, best_tile(scatter, target)),
    )


def gather_unit(op: GeOp, gather: Gather, target: Target) -> Unit:
    """The launch of a gather."""
    return launch_unit(
        [op],
        op.operands[:2],
        op.results,
        gather,
        lambda name: gather_kernel(name, gather, target),
    )


def _arguments(tiles: dict[str, Tile]) -> Block:
    block = Block(arg_types=[tile.type for tile in tiles.values()])
    for arg, hint in zip(block.args, tiles, strict=True):
        arg.name_hint = hint
    return block


def gather_kernel(name: str, gather: Gather, target: Target) -> KernelOp:
    """The kernel; arguments are x, the indices and y."""
    high = 1 if gather.shared else gather.rows
    block = _arguments(
        {
            "x": Tile((gather.rows, gather.length), gather.element, "gm"),
            "index": Tile((high, gather.count), gather.index, "gm"),
            "y": Tile((gather.rows, gather.count), gather.element, "gm"),
        }
    )
    tile = _gather_tile(gather, target)
    extents = [gather.rows, gather.count]
    loop = ForOp.make(extents, tile, ["r", "c"], over_cores=True)
    block.add_op(loop)
    body, (r, c) = loop.body, (loop.origin(0), loop.origin(1))
    vr, vc = loop.length(0), loop.length(1)
    rows = alloc(body, Tile((tile[0], gather.length), gather.element, "ub"), "rows", BUFFERS)
    shape = (1 if gather.shared else tile[0], tile[1])
    sizes: list[Index] = [1 if gather.shared else vr, vc]
    body.add_op(CopyGmUbOp.build(block.args[0], rows, offsets=[r, 0], sizes=[vr, gather.length]))
    places = _indices(
        body,
        block.args[1],
        [0 if gather.shared else r, c],
        sizes,
        shape,
        gather.index,
        gather.length if gather.wraps else 0,
    )
    taken = alloc(body, Tile(tile, gather.element, "ub"), "taken", BUFFERS)
    body.add_op(VgatherOp.build(rows, places, taken, sizes=[vr, vc]))
    body.add_op(CopyUbGmOp.build(taken, block.args[2], offsets=[r, c], sizes=[vr, vc]))
    count = -(-gather.rows // tile[0]) * -(-gather.count // tile[1])
    return KernelOp.make(name, "vector", fewest_cores(count, target.vector_cores), 1, block)


def _indices(
    body: Block,
    source: SSAValue,
    offsets: Sequence[Index],
    sizes: Sequence[Index],
    shape: tuple[int, int],
    element: str,
    extent: int,
) -> SSAValue:
    """Indices in UB as i32; negative ones count from `extent` unless that is 0."""
    read = alloc(body, Tile(shape, element, "ub"), "index", BUFFERS)
    body.add_op(CopyGmUbOp.build(source, read, offsets=offsets, sizes=sizes))
    places = read
    if element == "i64":
        places = alloc(body, Tile(shape, "i32", "ub"), "places")
        body.add_op(VcastOp.build(read, places, sizes=sizes))
    if not extent:
        return places
    number = alloc(body, Tile(shape, "f32", "ub"), "number")
    zero = alloc(body, Tile(shape, "f32", "ub"), "zero")
    below = alloc(body, Tile(shape, "bit", "ub"), "below")
    ahead = alloc(body, Tile(shape, "i32", "ub"), "ahead")
    body.add_op(VcastOp.build(places, number, sizes=sizes))
    body.add_op(VdupOp.build(zero, sizes=sizes, value=0.0))
    body.add_op(VcmpOp.build(number, zero, below, sizes=sizes, kind="lt"))
    body.add_op(VscalarOp.build(places, ahead, sizes=sizes, kind="adds", value=float(extent)))
    body.add_op(VselOp.build(below, ahead, places, ahead, sizes=sizes))
    return ahead


def scatter_kernel(name: str, scatter: Scatter, target: Target, tiling: ScatterTile) -> KernelOp:
    """The kernel; arguments are x, the indices, the updates and y."""
    whole, shape = (scatter.lead, scatter.rows, scatter.cols), scatter.element
    places = (1, scatter.count) if scatter.whole else (scatter.lead, scatter.count, scatter.cols)
    block = _arguments(
        {
            "x": Tile(whole, shape, "gm"),
            "index": Tile(places, scatter.index, "gm"),
            "updates": Tile((scatter.lead, scatter.count, scatter.cols), shape, "gm"),
            "y": Tile(whole, shape, "gm"),
        }
    )
    tile = (tiling.rows, tiling.width)
    loop = ForOp.make(whole, [1, *tile], ["p", "r", "c"], over_cores=True)
    block.add_op(loop)
    body, origins = loop.body, [loop.origin(i) for i in range(3)]
    sizes: list[Index] = [loop.length(1), loop.length(2)]
    held = alloc(body, Tile(tile, shape, "ub"), "held", BUFFERS)
    body.add_op(CopyGmUbOp.build(block.args[0], held, offsets=origins, sizes=sizes))
    _scatter_loop(scatter, block, loop, held, tiling.step)
    body.add_op(CopyUbGmOp.build(held, block.args[3], offsets=origins, sizes=sizes))
    count = scatter.lead * -(-scatter.rows // tile[0]) * -(-scatter.cols // tile[1])
    return KernelOp.make(name, "vector", fewest_cores(count, target.vector_cores), 1, block)


def _scatter_loop(scatter: Scatter, block: Block, loop: ForOp, held: SSAValue, step: int) -> None:
    """The loop over the updates, some at a time."""
    p, r, c = (loop.origin(i) for i in range(3))
    vc, width = loop.length(2), loop.steps[2]
    inner = ForOp.make([scatter.count], [step], ["j"])
    loop.body.add_op(inner)
    j, vj, part = inner.origin(0), inner.length(0), inner.body
    places = _indices(
        part,
        block.args[1],
        [0, j] if scatter.whole else [p, j, c],
        [1, vj] if scatter.whole else [vj, vc],
        (1, step) if scatter.whole else (step, width),
        scatter.index,
        scatter.rows if scatter.wraps else 0,
    )
    updates = alloc(part, Tile((step, width), scatter.element, "ub"), "updates", BUFFERS)
    part.add_op(CopyGmUbOp.build(block.args[2], updates, offsets=[p, j, c], sizes=[vj, vc]))
    elements = not scatter.whole or None
    part.add_op(
        VscatterOp.build(
            updates, places, held, sizes=[vj, vc], at=[r], kind=scatter.kind, elements=elements
        )
    )


def best_tile(scatter: Scatter, target: Target) -> ScatterTile:
    """The tile whose kernel is the fastest; remembered."""
    found = _KNOWN.get(scatter, target)
    if found is not None:
        return found
    tried = scatter_tiles(scatter, target)
    times: list[float] = []
    for tile in tried if len(tried) > 1 else ():
        kernel = scatter_kernel("candidate", scatter, target, tile)
        place_kernel(kernel, target)
        times.append(time_kernel(kernel, target).us)
    return _KNOWN.put(scatter, target, tried[times.index(min(times))] if times else tried[0])


def scatter_tiles(scatter: Scatter, target: Target) -> list[ScatterTile]:
    """Tiles that are worth a look: few columns of many rows, or whole rows; few or many updates.

    Whole rows are copied at the speed of memory, but each tile goes through all updates.
    """
    size, cores = ELEMENT_BYTES[scatter.element], target.vector_cores
    narrow = padded(-(-scatter.lead * scatter.cols // cores), BLOCK_BYTES // size)
    found: dict[ScatterTile, None] = {}
    for width in (min(scatter.cols, narrow), scatter.cols):
        for step in (UPDATES, MANY_UPDATES):
            tile = _fitting(scatter, target, width, min(step, scatter.count))
            found[tile] = None
            parts = scatter.lead * -(-scatter.cols // tile.width)
            even = -(-scatter.rows * parts // cores)
            found[tile._replace(rows=min(tile.rows, even))] = None
    return list(found)


def _fitting(scatter: Scatter, target: Target, width: int, step: int) -> ScatterTile:
    """All rows where they fit, of as many columns up to `width` as leave room for some."""
    size, room = ELEMENT_BYTES[scatter.element], target.capacity("ub")
    while True:
        wide = padded(width * size, BLOCK_BYTES)
        used = step * wide * BUFFERS
        each = 1 if scatter.whole else width
        used += step * (padded(each * 8, BLOCK_BYTES) * 3 + 4 * padded(each * 4, BLOCK_BYTES))
        if scatter.whole:
            used += 8 * padded(step * 8, BLOCK_BYTES)
        high = (room - used) // (wide * BUFFERS)
        narrowest = width * size <= BLOCK_BYTES
        if high >= min(scatter.rows, 16) or (narrowest and high > 0):
            return ScatterTile(min(scatter.rows, high), width, step)
        if narrowest:
            step = max(1, step // 2)
        width = max(1, width // 2)
