"""Blocks of space as channels or images, rolls, reversals and repeats: transposes and gathers."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.ir import SSAValue

from ge_xdsl.dialects.ge.extents import ints_of
from ge_xdsl.dialects.ge.op import GeOp
from ge_xdsl.dialects.ge.rearrange import (
    DepthToSpaceOp,
    RepeatInterleaveOp,
    ReverseSequenceOp,
    RollOp,
    SpaceToDepthOp,
)
from ge_xdsl.dialects.ge.types import DataType, tensor_of
from ge_xdsl.lowering.expand.builder import Builder, Expansion

LONGEST_GATHERED = 2048
"""Elements of a row that is repeated by a gather, at most, before and after."""

Pairs = list[tuple[int, int]]


# Blocks


def space_to_depth(build: Builder, op: GeOp) -> SSAValue:
    """The rows and columns of each block as channels"""
    assert isinstance(op, SpaceToDepthOp)
    x, b = op.operands[0], op.block_size
    if op.first_channels(tensor_of(x.type), op.data_format):
        n, c, high, wide = build.shape(x)
        split, order = [n, c, high // b, b, wide // b, b], [0, 1, 3, 5, 2, 4]
    else:
        n, high, wide, c = build.shape(x)
        split, order = [n, high // b, b, wide // b, b, c], [0, 1, 3, 2, 4, 5]
    turned = build.transpose(build.reshape(x, split), order)
    return build.reshape(turned, build.shape(op.results[0]))


def depth_to_space(build: Builder, op: GeOp) -> SSAValue:
    """Channels as the rows and columns of blocks"""
    assert isinstance(op, DepthToSpaceOp)
    x, b, by_blocks = op.operands[0], op.block_size, op.mode == "DCR"
    row, column, depth = (0, 1, 2) if by_blocks else (1, 2, 0)
    if op.first_channels(tensor_of(x.type), op.data_format):
        n, c, high, wide = build.shape(x)
        inner = c // b**2
        blocks = [b, b, inner] if by_blocks else [inner, b, b]
        split = [n, *blocks, high, wide]
        order = [0, 1 + depth, 4, 1 + row, 5, 1 + column]
    else:
        n, high, wide, c = build.shape(x)
        inner = c // b**2
        blocks = [b, b, inner] if by_blocks else [inner, b, b]
        split = [n, high, wide, *blocks]
        order = [0, 1, 3 + row, 2, 3 + column, 3 + depth]
    turned = build.transpose(build.reshape(x, split), order)
    return build.reshape(turned, build.shape(op.results[0]))


def _blocks(build: Builder, op: GeOp, borders: str) -> tuple[list[int], Pairs]:
    """The sizes of blocks, and the paddings or crops of each dimension."""
    names = op.prototype.attr_by_name
    if "block_size" in names:
        blocks = [int(op.get_attr("block_size"))] * 2
    elif "block_shape" in names:
        blocks = [int(n) for n in op.get_attr("block_shape")]
    else:
        blocks = list(ints_of(build.known(build.slot("block_shape"), "block_shape")))
    if borders in names:
        flat = [int(n) for n in op.get_attr(borders)]
    else:
        flat = list(ints_of(build.known(build.slot(borders), borders)))
    return blocks, [(flat[2 * i], flat[2 * i + 1]) for i in range(len(blocks))]


def space_to_batch(build: Builder, op: GeOp) -> SSAValue:
    """Places of blocks before the images, x padded by zeros"""
    x, y = op.operands[0], op.results[0]
    blocks, pads = _blocks(build, op, "paddings")
    count = len(blocks)
    rest = build.shape(x)[count + 1 :]
    if any(map(any, pads)):
        pairs = [[0, 0], *(list(pair) for pair in pads), *([0, 0] for _ in rest)]
        x = build("Pad", x, build.const(pairs, DataType.DT_INT64))
    shape = build.shape(x)
    pairs = zip(shape[1 : count + 1], blocks, strict=True)
    split = [shape[0], *(n for size, b in pairs for n in (size // b, b)), *rest]
    inner, outer = range(2, 2 * count + 1, 2), range(1, 2 * count + 1, 2)
    order = [*inner, 0, *outer, *range(2 * count + 1, len(split))]
    return build.reshape(build.transpose(build.reshape(x, split), order), build.shape(y))


def batch_to_space(build: Builder, op: GeOp) -> SSAValue:
    """Images as the places of blocks, the crops cut"""
    x, y = op.operands[0], op.results[0]
    blocks, crops = _blocks(build, op, "crops")
    count, shape = len(blocks), build.shape(x)
    n, sizes, rest = shape[0] // prod(blocks), shape[1 : count + 1], shape[count + 1 :]
    split = [*blocks, n, *sizes, *rest]
    pairs = [i for k in range(count) for i in (count + 1 + k, k)]
    order = [count, *pairs, *range(2 * count + 1, len(split))]
    whole = [n, *(s * b for s, b in zip(sizes, blocks, strict=True)), *rest]
    found = build.reshape(build.transpose(build.reshape(x, split), order), whole)
    for i, (first, last) in enumerate(crops):
        found = build.slice(found, i + 1, first, whole[i + 1] - first - last)
    return build.like(found, y)


# Along one dimension


def roll(build: Builder, op: GeOp) -> SSAValue:
    """Two slices in the other order, for each dimension"""
    assert isinstance(op, RollOp)
    x = op.operands[0]
    shape = build.shape(x)
    if not op.dims:
        flat = build.reshape(x, [build.count(x)])
        return build.reshape(_rolled(build, flat, 0, op.shifts[0]), shape)
    if shape:
        for shift, dim in zip(op.shifts, op.dims, strict=True):
            x = _rolled(build, x, dim % len(shape), shift)
    return build("Identity", x) if x is op.operands[0] else x


def _rolled(build: Builder, x: SSAValue, axis: int, shift: int) -> SSAValue:
    size = build.shape(x)[axis]
    first = size - shift % size
    if first == size:
        return x
    parts = [build.slice(x, axis, first, size - first), build.slice(x, axis, 0, first)]
    return build.concat(parts, axis)


def reverse(build: Builder, op: GeOp) -> SSAValue:
    """A gather from the end on, for each dimension"""
    import numpy as np

    x = op.operands[0]
    shape = build.shape(x)
    if "axis" in op.prototype.attr_by_name:
        axes: Sequence[int] = op.get_attr("axis")
    else:
        axes = ints_of(build.known(build.slot("axis"), "axis"))
    for axis in axes if shape else ():
        size = shape[axis]
        if size > 1:
            places = np.arange(size - 1, -1, -1, dtype=np.int32)
            x = build("GatherV2", x, build.array(places), [axis % len(shape)])
    return build("Identity", x) if x is op.operands[0] else x


def repeat(build: Builder, op: GeOp) -> SSAValue:
    """A gather of each entry as often as it is repeated"""
    import numpy as np

    assert isinstance(op, RepeatInterleaveOp)
    x = op.operands[0]
    axis = op.axis % len(build.shape(x))
    size = build.shape(x)[axis]
    repeats = build.known(build.slot("repeats"), "repeats")
    each = np.broadcast_to(repeats.reshape(-1), (size,))
    places = np.repeat(np.arange(size, dtype=np.int32), each)
    return build("GatherV2", x, build.array(places), [axis])


def tile(build: Builder, op: GeOp) -> SSAValue:
    """Short runs repeated by a gather in UB, longer ones by copies, the last dimension first"""
    import numpy as np

    x, y = op.operands[0], op.results[0]
    out, shape = build.shape(y), build.shape(x)
    have = [1] * (len(out) - len(shape)) + list(shape)
    run = 1
    for axis in reversed(range(len(out))):
        run *= have[axis]
        times = out[axis] // have[axis]
        if times == 1:
            continue
        rows = build.reshape(x, [build.count(x) // run, run])
        if run <= LONGEST_GATHERED:
            places = np.tile(np.arange(run, dtype=np.int32), min(times, LONGEST_GATHERED // run))
            rows = build("GatherV2", rows, build.array(places), [1])
            left, over = divmod(times, len(places) // run)
        else:
            left, over = times, 0
        parts = [build("Tile", rows, [1, left])] if left > 1 else [rows]
        if over:
            parts.append(build.slice(rows, 1, 0, over * run))
        x = build.concat(parts, 1)
        run *= times
    return build("Identity", x) if build.shape(x) == out else build.reshape(x, out)


def reverse_sequence(build: Builder, op: GeOp) -> SSAValue:
    """Rows gathered from computed places: length - 1 - step in a sequence, else step"""
    import numpy as np

    assert isinstance(op, ReverseSequenceOp)
    x = op.operands[0]
    shape = build.shape(x)
    time, batch = op.seq_dim % len(shape), op.batch_dim % len(shape)
    order = [batch, time, *(i for i in range(len(shape)) if i not in (batch, time))]
    turned = build.transpose(x, order)
    count, size, *rest = build.shape(turned)
    lengths = build.cast(op.operands[1], DataType.DT_INT32)
    lengths = build.spread(build.reshape(lengths, [count, 1]), [count, size])
    steps = build.array(np.tile(np.arange(size, dtype=np.int32), (count, 1)))
    back = build("Sub", build("Sub", lengths, 1), steps)
    place = build("SelectV2", build("Less", steps, lengths), back, steps)
    first = np.arange(count, dtype=np.int32).reshape(count, 1) * size
    number = build("Add", place, build.array(np.tile(first, (1, size))))
    table = build.reshape(turned, [count * size, prod(rest)])
    rows = build("GatherV2", table, build.reshape(number, [count * size]), [0])
    found = build.reshape(rows, [count, size, *rest])
    return build.transpose(found, [order.index(i) for i in range(len(shape))])


EXPANSIONS: dict[str, Expansion] = {
    "SpaceToDepth": space_to_depth,
    "DepthToSpace": depth_to_space,
    **{f"SpaceToBatch{form}": space_to_batch for form in ("", "D", "ND", "NDD")},
    **{f"BatchToSpace{form}": batch_to_space for form in ("", "D", "ND", "NDD")},
    "Roll": roll,
    **dict.fromkeys(("ReverseV2", "ReverseV2D"), reverse),
    "RepeatInterleave": repeat,
    "ReverseSequence": reverse_sequence,
    **dict.fromkeys(("Tile", "TileD"), tile),
}
