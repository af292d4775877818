"""The source text of map instructions for all tiles at once: views of a map unfolded once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from xdsl.ir import Operation, SSAValue

from ge_xdsl.dialects.aicore.maps import (
    CopyMapL1Op,
    CopyMapUbOp,
    Geometry,
    Load3dOp,
    MapInstruction,
    VspreadOp,
    VtapOp,
    block_size,
)
from ge_xdsl.dialects.aicore.types import tile_of
from ge_xdsl.interpreters.batched import (
    Array,
    BatchedSource,
    Form,
    Statement,
    Unfit,
    Unfolded,
    row_major,
)
from ge_xdsl.interpreters.batched_calls import im2col, spread_map


def _unfolded(
    src: BatchedSource, value: SSAValue, kind: str, shape: Sequence[int], make: Callable[..., Any]
) -> Array:
    """The unfolded map of an argument, made once."""
    base = src.arrays[value]
    if base.offset or base.strides != row_major(base.bound) or base.written:
        raise Unfit("a map that is no argument")
    name = f"{base.name}_{kind}"
    found = src.derived.get(name)
    if found is None:
        bound = tuple(shape)
        array = Array(name, base.element, bound, row_major(bound), 0, False)
        number = src.arguments.index(base.name)
        found = src.derived[name] = Unfolded(number, make, array)
    return found.array


def _only_writer(src: BatchedSource, value: SSAValue, user: Operation) -> MapInstruction:
    """The map instruction that gives a buffer its contents, seen from where it is used."""
    writers = src.writers(value)
    if len(writers) != 1 or not isinstance(writers[0], MapInstruction):
        raise Unfit("a map of several sources")
    block = writers[0].parent
    parent: Any = user.parent
    while parent is not None and parent is not block:
        above = parent.parent_op()
        parent = above.parent if above is not None else None
    if parent is None:
        raise Unfit("a map from another loop")
    return writers[0]


def _key(geometry: Geometry, *more: Any) -> str:
    numbers = [
        n
        for name in ("kernel", "stride", "dilation", "pad", "out")
        for n in getattr(geometry, name)
    ]
    return "_".join(
        str(n).replace("-", "m").replace(".", "p").replace("+", "") for n in (*numbers, *more)
    )


def _nothing(src: BatchedSource, op: MapInstruction, depth: int) -> None:
    """The map is unfolded as a whole, once; what uses the buffer views that."""


def _load3d(src: BatchedSource, op: Load3dOp, depth: int) -> None:
    copy = _only_writer(src, op.tile("src"), op)
    if not isinstance(copy, CopyMapL1Op) or copy.geometry != op.geometry:
        raise Unfit("a map of another geometry")
    value, geometry = copy.tile("src"), op.geometry
    tile = tile_of(value)
    c0 = block_size(tile)
    *lead, blocks, _ = tile.shape
    shape = (*lead, geometry.pixels, blocks * geometry.taps * c0)
    make = partial(im2col, shape=tile.shape, g=geometry, c0=c0)
    array = _unfolded(src, value, f"cols{_key(geometry)}", shape, make)
    *first, _, k = (src.form(v) for v in copy.offsets)
    m, inner = (src.form(v) for v in op.offsets)
    rows, cols = src.sizes(op)
    src.write(op, depth, rows, cols, src.window(array, [*first, m, k.plus(inner)], rows, cols))


def _tap(src: BatchedSource, op: VtapOp, depth: int) -> None:
    spread = _only_writer(src, op.tile("src"), op)
    copy = _only_writer(src, spread.tile("src"), spread)
    geometry = op.geometry
    if not isinstance(copy, CopyMapUbOp) or {copy.geometry, spread.geometry} != {geometry}:
        raise Unfit("a map of another geometry")
    value, fill = copy.tile("src"), spread.option("value")
    tile = tile_of(value)
    high = (geometry.out[0] - 1) * geometry.stride[0] + geometry.span
    shape = (*tile.shape[:-1], high, geometry.width)
    kind = f"map{_key(geometry, fill)}"
    make = partial(spread_map, shape=tile.shape, g=geometry, value=fill)
    array = _unfolded(src, value, kind, shape, make)
    *lead, channel, m = (src.form(v) for v in copy.offsets)
    channels, pixels = src.sizes(op)
    src.emit(depth, f"lines = -(-{pixels} // {geometry.out[1]})")
    view = _tap_view(src, array, geometry, (*lead, channel, m), op.option("tap"), channels)
    _tapped(src, op, depth, view)


def _tap_view(
    src: BatchedSource,
    array: Array,
    geometry: Geometry,
    offsets: Sequence[Form],
    tap: Sequence[int],
    channels: str,
) -> str:
    """The pixels of one kernel tap, [grid..., lines, width, channels]."""
    *lead, m = offsets
    wide = geometry.out[1]
    if any(factor % wide for factor in m.grid):
        raise Unfit("a tile of part of an output row")
    stride = geometry.stride
    line = Form(f"({m.scalar} // {wide})", tuple(f // wide for f in m.grid)).times(stride[0])
    row = line.plus(src.constant(str(tap[0] * geometry.dilation[0])))
    column = src.constant(str(tap[1] * geometry.dilation[1]))
    reach = f"((lines - 1) * {stride[0]} + 1)"
    sizes = [*("1" for _ in lead[1:]), channels, reach, str((wide - 1) * stride[1] + 1)]
    src.check_inside(array, (*lead, row, column), sizes)
    steps = (array.strides[-2] * stride[0], stride[1], array.strides[-3])
    return src.view(array, (*lead, row, column), ("lines", str(wide), channels), steps)


def _tapped(src: BatchedSource, op: VtapOp, depth: int, view: str) -> None:
    kind, name = op.option("kind"), src.name(op.written)
    channels, pixels = src.sizes(op)
    wide = op.geometry.out[1]
    if kind == "muladd":
        place = op.option("tap")[0] * op.geometry.kernel[1] + op.option("tap")[1]
        weight = f"inner({src.name(op.tile('weight'))}, {place}, 0, 1, {channels})"
        view = f"{view} * {weight}[..., None, :]"
    if src.sizes_written(op.written) is None:
        raise Unfit("sums of several sizes")
    if op.option("first"):
        src.emit(depth, f"{name} = flat({view}, {pixels}, {kind == 'muladd'})")
        return
    src.emit(depth, f"grid = {name}.reshape({name}.shape[:-2] + (lines, {wide}, {channels}))")
    if kind == "max":
        src.emit(depth, f"np.maximum(grid, {view}, out=grid)")
    else:
        src.emit(depth, f"grid += {view}")
    src.emit(depth, f"{name} = grid.reshape({name}.shape)")


MAP_STATEMENTS: dict[type[Operation], Statement] = {
    CopyMapL1Op: _nothing,
    CopyMapUbOp: _nothing,
    VspreadOp: _nothing,
    Load3dOp: _load3d,
    VtapOp: _tap,
}
"""Map instruction -> what emits the source that executes it for all tiles."""
