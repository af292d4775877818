"""GE ops that move elements: transposes, slices, splits, concatenations, pads, repeats, gathers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import isnan, prod
from typing import Any, cast

from xdsl.ir import Block, SSAValue

from ge_xdsl.dialects.aicore.move import CopyGmUbOp, CopyRowsOp, CopyUbGmOp
from ge_xdsl.dialects.aicore.structure import ForOp, KernelOp
from ge_xdsl.dialects.aicore.types import Tile
from ge_xdsl.dialects.ge.concat import ConcatDOp, ConcatOp, ConcatV2DOp, ConcatV2Op, PackOp
from ge_xdsl.dialects.ge.op import GeOp, constant_of
from ge_xdsl.dialects.ge.slice import PadOp, PadV3Op, pad_pairs
from ge_xdsl.dialects.ge.types import tensor_of
from ge_xdsl.lowering.gather import gather_reason, gather_unit, shared_gather
from ge_xdsl.lowering.matmul import alloc
from ge_xdsl.lowering.movement import (
    SHORT_RUN,
    Copy,
    Ints,
    Movement,
    Side,
    contiguous,
    merged,
    movement_kernel,
)
from ge_xdsl.lowering.tensors import element_of, static_tensor, unshaped
from ge_xdsl.lowering.tiling import BUFFERS, Slot, vector_tiling
from ge_xdsl.lowering.unit import Placer, Unit, launch_unit
from ge_xdsl.targets.target import Target

SLICES = frozenset(
    {
        *("Transpose", "TransposeD", "Slice", "SliceD", "StridedSlice", "StridedSliceV2"),
        *("Split", "SplitD", "SplitV", "Unpack", "BroadcastTo", "Expand", "SplitVD", "PhonySplit"),
        *("StridedSliceD", "SliceDV2", "StridedSliceV3", "Permute", "BroadcastToD", "ExpandD"),
    }
)
"""Each result is a strided view of x."""
JOINS = frozenset({"Concat", "ConcatD", "ConcatV2", "ConcatV2D", "Pack"})
BEYOND = 1e39
"""Beyond f32: stands for infinity, which rounds to it, in the text of an instruction."""
MANY = 1 << 14
"""Elements of a result from which on short runs are not copied one by one."""
TYPES = SLICES | JOINS | {"Pad", "PadV3", "Tile", "TileD", "GatherV2", "AsStrided"}


def reason(op: GeOp, target: Target) -> str:
    """Why an op is not lowered, '' when it is."""
    if "vector" not in target.lowers:
        return f"no vector kernels for {target.name}"
    moved = [*data_of(op), *op.results]
    for value in moved:
        tensor = static_tensor(value)
        if tensor is None:
            return unshaped(value)
        if not element_of(tensor.dtype):
            return f"no lowering for element type {tensor.dtype.name}"
    if op.op_type == "GatherV2":
        return _gather_reason(op, target)
    known = [v for v in op.operands if v not in data_of(op)]
    if any(constant_of(v) is None for v in known):
        return "no lowering for operands that are not constant"
    found = movement_of(op)
    if isinstance(found, str):
        return found
    return _too_short(found) if op.op_type in ("Tile", "TileD") else ""


def _too_short(found: Movement) -> str:
    """Why many runs of a few bytes are not copied one by one, '' when they are longer or few."""
    copy = merged(found.copies[0])
    together = copy.src is not None and copy.src.strides[-1] == 1
    length, count = copy.shape[-1] if together else 1, prod(copy.shape)
    run = length * Tile((1,), found.element, "gm").size
    if run >= SHORT_RUN or count < MANY:
        return ""
    return f"no lowering for {count // length} runs of {run} bytes"


def data_of(op: GeOp) -> list[SSAValue]:
    """The operands that are moved; the others must be known."""
    slot = op.operand_slot("x")
    return [slot] if isinstance(slot, SSAValue) else list(slot or ())


def unit(op: GeOp, target: Target) -> Unit:
    """The launch of an op, or a view when its elements keep their order."""
    if op.op_type == "GatherV2":
        return _gather_unit(op, target)
    found = movement_of(op)
    assert isinstance(found, Movement)
    data, results = data_of(op), list(op.results)
    if len(results) == len(data) == 1 and keeps_order(found):

        def place(placer: Placer) -> Sequence[SSAValue]:
            return [placer.view(placer.value(data[0]), results[0].type, counts=True)]

        return Unit([op], results, place)
    return launch_unit(
        [op], data, results, found, lambda name: movement_kernel(name, found, target)
    )


def keeps_order(found: Movement) -> bool:
    """Whether a movement is one copy of all elements in their order."""
    if len(found.copies) != 1 or found.inputs != found.outputs:
        return False
    (copy,) = found.copies
    if copy.src is None:
        return False
    pairs = zip(copy.shape, copy.src.strides, contiguous(copy.shape), strict=True)
    return all(dim == 1 or a == b for dim, a, b in pairs)


def movement_of(op: GeOp) -> Movement | str:
    """What an op moves, or why it has no lowering."""
    data, results = data_of(op), list(op.results)
    element = element_of(tensor_of(results[0].type).dtype)
    inputs = tuple(tensor_of(v.type).size() or 0 for v in data)
    outputs = tuple(tensor_of(v.type).size() or 0 for v in results)
    value = 0.0
    if op.op_type in JOINS:
        copies = _joined(op)
    elif isinstance(op, PadOp | PadV3Op):
        found = _padded(op)
        if isinstance(found, str):
            return found
        copies, value = found
    elif op.op_type in ("Tile", "TileD"):
        copies = _tiled(op)
    elif op.op_type == "AsStrided":
        copies = _viewed(op)
    elif max(_shape(data[0]), default=0) > MOST_SLICED:
        return f"no lowering for a dimension of more than {MOST_SLICED}"
    else:
        copies = _sliced(op)
    if any(copy.src and min(copy.src.strides, default=0) < 0 for copy in copies):
        return "no lowering for a slice that goes backwards"
    return Movement(element, inputs, outputs, tuple(copies), value)


MOST_SLICED = 1 << 28
"""The longest dimension of what is sliced or transposed: `_sliced` numbers its elements."""


def _shape(value: SSAValue) -> Ints:
    return tuple(tensor_of(value.type).shape or ())


def _sliced(op: GeOp) -> list[Copy]:
    """The views that evaluating an op gives, seen on the coordinates of x one by one.

    A slice or transpose moves coordinate i of x linearly, so what it makes of an array that holds
    that coordinate everywhere (its other dimensions repeated, not stored) tells all.
    """
    import numpy as np

    (x,) = data_of(op)
    shape, strides = _shape(x), contiguous(_shape(x))
    offsets = [0] * len(op.results)
    steps = [[0] * len(_shape(result)) for result in op.results]
    for i, dim in enumerate(shape):
        line = np.arange(dim).reshape(-1, *(1,) * (len(shape) - i - 1))
        arrays = [np.broadcast_to(line, shape) if v is x else constant_of(v) for v in op.operands]
        made: Any = op.evaluate(*op.arrange(arrays))
        parts = cast("list[Any]", [*made] if isinstance(made, (list, tuple)) else [made])
        for k, y in enumerate(parts):
            first = int(y[(0,) * y.ndim])
            offsets[k] += first * strides[i]
            for d in range(y.ndim):
                if y.shape[d] > 1:
                    place = tuple(int(d == j) for j in range(y.ndim))
                    steps[k][d] += (int(y[place]) - first) * strides[i]
    base = 1
    return [
        Copy(
            _shape(result),
            Side(0, offsets[k], tuple(steps[k])),
            Side(base + k, 0, contiguous(_shape(result))),
        )
        for k, result in enumerate(op.results)
    ]


def _joined(op: GeOp) -> list[Copy]:
    """One copy per operand, side by side in the result."""
    data = data_of(op)
    shape = _shape(op.results[0])
    rank, strides = len(shape), contiguous(shape)
    axis = _join_axis(op) % rank
    copies: list[Copy] = []
    start = 0
    for i, value in enumerate(data):
        part = list(shape)
        part[axis] = 1 if isinstance(op, PackOp) else (_shape(value) or (1,))[axis]
        side = Side(len(data), start * strides[axis], strides)
        copies.append(Copy(tuple(part), Side(i, 0, contiguous(part)), side))
        start += part[axis]
    return copies


def _join_axis(op: GeOp) -> int:
    if isinstance(op, PackOp):
        return op.axis
    if isinstance(op, ConcatDOp | ConcatV2DOp):
        return op.concat_dim
    assert isinstance(op, ConcatOp | ConcatV2Op)
    axis = op.constant("concat_dim")
    assert axis is not None
    return int(axis.reshape(-1)[0])


def _padded(op: PadOp | PadV3Op) -> tuple[list[Copy], float] | str:
    """x inside and boxes of the value around it: before and after along each dimension."""
    flat = op.constant("paddings")
    assert flat is not None
    shape, out = _shape(op.operands[0]), _shape(op.results[0])
    together, value = True, 0.0
    if isinstance(op, PadV3Op):
        if op.mode != "constant":
            return f"no lowering for mode {op.mode}"
        together = op.paddings_contiguous
        fill = op.constant("constant_values")
        value = 0.0 if fill is None else float(fill.reshape(-1)[0])
        if isnan(value):
            return "no lowering for a pad with a value that is no number"
        value = max(-BEYOND, min(value, BEYOND))
    pairs = pad_pairs([int(v) for v in flat.reshape(-1)], len(shape), together)
    strides, own = contiguous(out), contiguous(shape)
    kept = [n + min(b, 0) + min(a, 0) for n, (b, a) in zip(shape, pairs, strict=True)]
    if 0 in kept:
        return "no lowering for a pad that keeps nothing"
    offset = sum(max(-b, 0) * s for (b, _), s in zip(pairs, own, strict=True))
    place = [max(b, 0) for b, _ in pairs]
    start = sum(p * s for p, s in zip(place, strides, strict=True))
    copies = [Copy(tuple(kept), Side(0, offset, own), Side(1, start, strides))]
    for i in range(len(shape)):
        # dimensions before i: only where x lies; after i: all
        for first, last in ((0, place[i]), (place[i] + kept[i], out[i])):
            box = (*kept[:i], last - first, *out[i + 1 :])
            at = sum(p * s for p, s in zip(place[:i], strides, strict=False))
            if last > first:
                copies.append(Copy(box, None, Side(1, at + first * strides[i], strides)))
    return copies, value


def _tiled(op: GeOp) -> list[Copy]:
    """Each dimension of the result as (times, size), times with a stride of 0."""
    out, shape = _shape(op.results[0]), _shape(op.operands[0])
    have = (1,) * (len(out) - len(shape)) + shape
    dims: list[int] = []
    src: list[int] = []
    for size, dim, stride in zip(out, have, contiguous(have), strict=True):
        dims += [size // dim, dim]
        src += [0, stride]
    return [Copy(tuple(dims), Side(0, 0, tuple(src)), Side(1, 0, contiguous(dims)))]


def _viewed(op: GeOp) -> list[Copy]:
    """The strides that the op has."""
    size, stride, offset = (
        tuple(int(n) for n in array.reshape(-1))
        for name in ("size", "stride", "storage_offset")
        if (array := op.constant(name)) is not None
    )
    return [Copy(size, Side(0, sum(offset), stride), Side(1, 0, contiguous(size)))]


def _gather_reason(op: GeOp, target: Target) -> str:
    axis = op.constant("axis")
    if axis is None:
        return "no lowering for an axis that is not constant"
    rank = len(_shape(op.operands[0]))
    if rank < 1 or op.get_attr("batch_dims"):
        return "no lowering for batch_dims"
    place = int(axis.reshape(-1)[0]) % rank
    if place not in (0, rank - 1):
        return "no lowering for an axis between others"
    if element_of(tensor_of(op.operands[1].type).dtype) not in ("i32", "i64"):
        return "no lowering for indices of this element type"
    if static_tensor(op.operands[1]) is None:
        return unshaped(op.operands[1])
    return gather_reason(op, target) if place else ""


def _gather_unit(op: GeOp, target: Target) -> Unit:
    """y[j] = x[indices[j]], rows of all that follows dimension 0."""
    shape = _shape(op.operands[0])
    axis = op.constant("axis")
    if axis is not None and int(axis.reshape(-1)[0]) % len(shape):
        return gather_unit(op, shared_gather(op), target)
    count, width = tensor_of(op.operands[1].type).size() or 0, prod(shape[1:])
    element = element_of(tensor_of(op.operands[0].type).dtype)
    index = element_of(tensor_of(op.operands[1].type).dtype)
    wraps = bool(op.get_attr("negative_index_support"))
    key = ("gather", shape[0], count, width, element, index, wraps)
    make = _gather_maker((shape[0], count, width), element, index, wraps, target)
    return launch_unit([op], op.operands[:2], op.results, key, make)


def _gather_maker(
    sizes: tuple[int, int, int], element: str, index: str, wraps: bool, target: Target
) -> Callable[[str], KernelOp]:
    rows, count, width = sizes

    def make(name: str) -> KernelOp:
        tiles = [
            Tile((rows, width), element, "gm"),
            Tile((1, count), index, "gm"),
            Tile((count, width), element, "gm"),
        ]
        block = Block(arg_types=[tile.type for tile in tiles])
        for arg, hint in zip(block.args, ("x", "index", "y"), strict=True):
            arg.name_hint = hint
        slots = [Slot(element, True, True, BUFFERS), Slot(index, True, False, BUFFERS)]
        tile = vector_tiling((count, width), slots, target)
        loop = ForOp.make([count, width], tile, ["r", "c"], over_cores=True)
        block.add_op(loop)
        body, (r, c) = loop.body, (loop.origin(0), loop.origin(1))
        vr, vc = loop.length(0), loop.length(1)
        places = alloc(body, Tile((1, tile[0]), index, "ub"), "places", BUFFERS)
        taken = alloc(body, Tile(tile, element, "ub"), "t0", BUFFERS)
        body.add_op(CopyGmUbOp.build(block.args[1], places, offsets=[0, r], sizes=[1, vr]))
        body.add_op(
            CopyRowsOp.build(
                block.args[0], places, taken, offsets=[0, c], sizes=[vr, vc], wraps=wraps or None
            )
        )
        body.add_op(CopyUbGmOp.build(taken, block.args[2], offsets=[r, c], sizes=[vr, vc]))
        blocks = -(-count // tile[0]) * -(-width // tile[1])
        return KernelOp.make(name, "vector", min(blocks, target.vector_cores), 1, block)

    return make
