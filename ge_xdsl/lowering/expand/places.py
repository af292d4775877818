"""Indexing by several operands, and elements put into or taken from places that are known."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING, Any

from xdsl.ir import SSAValue

from ge_xdsl.dialects.ge.cache import ScatterOp
from ge_xdsl.dialects.ge.diagonal import FillDiagonalOp
from ge_xdsl.dialects.ge.diagonal_band import MatrixDiagV2Op
from ge_xdsl.dialects.ge.extents import ints_of, limit_of
from ge_xdsl.dialects.ge.gather import EmbeddingDenseGradOp
from ge_xdsl.dialects.ge.op import GeOp
from ge_xdsl.dialects.ge.patches import ExtractImagePatchesOp, UpsampleOp
from ge_xdsl.dialects.ge.slice import pad_pairs, strided_cuts
from ge_xdsl.dialects.ge.static_slice import (
    PadV3GradOp,
    StridedSliceGradDOp,
    StridedSliceGradOp,
)
from ge_xdsl.dialects.ge.types import DataType, Format, tensor_of
from ge_xdsl.dialects.ge.unfold import Im2colOp
from ge_xdsl.lowering.expand.builder import Builder, Expansion
from ge_xdsl.lowering.expand.images import along
from ge_xdsl.lowering.expand.picks import LARGEST_MAP, as_index, linear_index, put_rows, wrapped
from ge_xdsl.lowering.expand.planes import as_planes, columns, from_planes, padded

if TYPE_CHECKING:
    from ge_xdsl.dialects.ge.types import Array

LONGEST_SCAN = 512
"""Elements that are counted in one row."""
LARGEST_TABLE = 1 << 15
"""Elements of the largest table of which single elements are gathered in UB."""


# Several indices


class _Indexed:
    """x with the dimensions that are indexed in front, as rows of what is left."""

    def __init__(self, build: Builder, x: SSAValue) -> None:
        sizes = ints_of(build.known(build.slot("indexed_sizes"), "indexed_sizes"))
        shape = build.shape(x)
        self.places = [i for i, size in enumerate(sizes) if size == 1]
        rest = [i for i in range(len(shape)) if i not in self.places]
        self.order = [*self.places, *rest]
        self.kept = [shape[i] for i in rest]
        self.build = build
        heads = [shape[i] for i in self.places]
        flat: list[SSAValue] = []
        indices = build.many("indices")
        self.picked = _common([build.shape(index) for index in indices])
        for index, size in zip(indices, heads, strict=True):
            spread = build.spread(wrapped(build, as_index(build, index), size), self.picked)
            flat.append(build.reshape(spread, [prod(self.picked), 1]))
        kinds = {build.dtype(index) for index in flat}
        if len(kinds) > 1:
            flat = [build.cast(index, DataType.DT_INT32) for index in flat]
        self.rows = linear_index(build, build.concat(flat, 1), heads)
        turned = build.transpose(x, self.order)
        self.table = build.reshape(turned, [prod(heads), prod(self.kept)])

    @property
    def result_order(self) -> list[int]:
        """Where the dimensions of [picked, kept] stand in the indexed part."""
        count, places = len(self.picked), self.places
        adjacent = places[-1] - places[0] == len(places) - 1
        first = places[0] if adjacent else 0
        kept = list(range(count, count + len(self.kept)))
        return [*kept[:first], *range(count), *kept[first:]]


def _common(shapes: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    """The shape that all broadcast to."""
    import numpy as np

    return tuple(int(d) for d in np.broadcast_shapes(*shapes))


def index(build: Builder, op: GeOp) -> SSAValue:
    """Index"""
    x, y = op.operands[0], op.results[0]
    if not build.many("indices"):
        return build("Identity", x)
    found = _Indexed(build, x)
    rows = build("GatherV2", found.table, found.rows, [0])
    split = build.reshape(rows, [*found.picked, *found.kept])
    return build.like(build.transpose(split, found.result_order), y)


def index_put(build: Builder, op: GeOp) -> SSAValue:
    """IndexPutV2"""
    x, value = op.operands[:2]
    if not build.many("indices"):
        raise build.decline("without indices")
    found = _Indexed(build, x)
    order = found.result_order
    dims = [*found.picked, *found.kept]
    spread = build.spread(_ranked(build, value, len(order)), [dims[i] for i in order])
    updates = build.transpose(spread, [order.index(i) for i in range(len(order))])
    updates = build.reshape(updates, [prod(found.picked), prod(found.kept)])
    how = "Add" if op.get_attr("accumulate") else "Update"
    table = put_rows(build, found.table, found.rows, updates, how)
    shape = build.shape(x)
    split = build.reshape(table, [shape[i] for i in found.order])
    return build.transpose(split, [found.order.index(i) for i in range(len(shape))])


def _ranked(build: Builder, x: SSAValue, rank: int) -> SSAValue:
    """`x` with dimensions of 1 before its own."""
    shape = build.shape(x)
    return build.reshape(x, [*(1 for _ in range(rank - len(shape))), *shape])


def sparse_to_dense(build: Builder, op: GeOp) -> SSAValue:
    """A default everywhere, and values at places"""
    indices, values, default = (
        value for name in ("indices", "values", "default_value")
        if (value := build.slot(name)) is not None
    )  # fmt: skip
    y = op.results[0]
    shape = build.shape(y)
    count = build.count(indices) // max(len(shape), 1)
    rows = linear_index(build, build.reshape(indices, [count, len(shape)]), shape)
    blank = build.spread(build.reshape(default, [1, 1]), [prod(shape), 1])
    wide = build.spread(build.reshape(values, [build.count(values), 1]), [count, 1])
    return build.reshape(put_rows(build, blank, rows, wide, "Update"), shape)


def sparse_add(build: Builder, op: GeOp) -> SSAValue:
    """SparseTensorDenseAdd"""
    indices, values, _, x = op.operands
    shape = build.shape(x)
    rows = linear_index(build, indices, shape)
    table = build.reshape(x, [prod(shape), 1])
    wide = build.reshape(values, [build.count(values), 1])
    return build.reshape(put_rows(build, table, rows, wide, "Add"), shape)


def embedding_gradient(build: Builder, op: GeOp) -> SSAValue:
    """Rows added up where the table was read, each over how often where that is asked for"""
    import numpy as np

    assert isinstance(op, EmbeddingDenseGradOp)
    grad, indices = op.operands
    width, count = build.shape(grad)[-1], op.num_weights
    places = build.reshape(indices, [build.count(indices)])
    rows = build.reshape(build.wide(grad), [build.count(indices), width])
    if op.scale_grad_by_freq:
        ones = build.spread(build.const([[1.0]], DataType.DT_FLOAT), [build.count(places), 1])
        blank = build.spread(build.const([[0.0]], DataType.DT_FLOAT), [count, 1])
        often = put_rows(build, blank, places, ones, "Add")
        rows = build("RealDiv", rows, build("GatherV2", often, places, [0]))
    zeros = build.spread(build.const(0, build.dtype(rows)), [count, width])
    table = put_rows(build, zeros, places, rows, "Add")
    if 0 <= op.padding_idx < count:
        counts = (np.arange(count) != op.padding_idx).reshape(count, 1)
        mask = build.spread(build.array(counts), [count, width])
        table = build.where(mask, table, 0.0)
    return build.like(table, op.results[0])


def masked_scatter(build: Builder, op: GeOp) -> SSAValue:
    """The next of updates where the mask is true: how many came before is a running sum"""
    x, mask, updates = op.operands
    shape, size = build.shape(x), build.count(updates)
    count = build.count(x)
    if size > LARGEST_TABLE:
        raise build.decline(f"for {size} updates, of which single ones are taken")
    hot = build.reshape(build.spread(mask, shape), [count])
    before = running_before(build, build.cast(hot, DataType.DT_INT32))
    place = build("Minimum", before, size - 1)
    table = build.reshape(updates, [1, size])
    found = build("GatherV2", table, place, [1])
    return build.where(build.reshape(hot, shape), build.reshape(found, shape), x)


def running_before(build: Builder, x: SSAValue) -> SSAValue:
    """The sum of all elements before each, of a vector of i32: by rows, then of rows."""
    (count,) = build.shape(x)
    if count <= LONGEST_SCAN:
        row = build.reshape(x, [1, count])
        return build.reshape(build("CumsumD", row, axis=1, exclusive=True), [count])
    rows = -(-count // LONGEST_SCAN)
    whole = rows * LONGEST_SCAN
    if whole != count:
        x = build("Pad", x, build.const([[0, whole - count]], DataType.DT_INT64))
    table = build.reshape(x, [rows, LONGEST_SCAN])
    inner = build("CumsumD", table, axis=1, exclusive=True)
    last = build.slice(inner, 1, LONGEST_SCAN - 1, 1)
    each = build("Add", last, build.slice(table, 1, LONGEST_SCAN - 1, 1))
    outer = build.reshape(running_before(build, build.reshape(each, [rows])), [rows, 1])
    found = build.reshape(build("Add", inner, outer), [whole])
    return build.slice(found, 0, 0, count)


def segment_extremes(build: Builder, op: GeOp) -> SSAValue:
    """UnsortedSegmentMax and Min: rows combined into what a segment without any has"""
    x, ids = op.operands[:2]
    y = op.results[0]
    how = "Max" if "Max" in op.op_type else "Min"
    shape, tail = build.shape(y), build.shape(x)[len(build.shape(ids)) :]
    start = build.const(limit_of(build.dtype(x), how == "Max"), build.dtype(x))
    table = build.spread(build.reshape(start, [1, 1]), [shape[0], prod(tail)])
    rows = build.reshape(x, [build.count(ids), prod(tail)])
    flat = build.reshape(ids, [build.count(ids)])
    return build.reshape(put_rows(build, table, flat, rows, how), shape)


def slabs(build: Builder, op: GeOp) -> SSAValue:
    """Scatter: rows of each slab to where the index says"""
    import numpy as np

    assert isinstance(op, ScatterOp)
    var, indices, updates = op.operands
    shape, new = build.shape(var), build.shape(updates)
    axis = op.axis % len(shape)
    middle, size, tail = prod(shape[1:axis]), shape[axis], prod(shape[axis + 1 :])
    count, length = new[0], new[axis]
    index = build.cast(indices, DataType.DT_INT32)
    if len(build.shape(index)) == 2:
        item = build.slice(index, 1, 0, 1)
        start = build.slice(index, 1, 1, 1)
        first = build("Add", build("Mul", item, middle * size), start)
    else:
        items = np.arange(count, dtype=np.int32).reshape(count, 1) * (middle * size)
        first = build("Add", build.reshape(index, [count, 1]), build.array(items))
    inner = (np.arange(middle)[:, None] * size + np.arange(length)).reshape(1, -1)
    places = build("Add", first, build.array(inner.astype(np.int32)))
    table = build.reshape(var, [shape[0] * middle * size, tail])
    rows = build.reshape(updates, [count * middle * length, tail])
    flat = build.reshape(places, [count * middle * length])
    return build.reshape(put_rows(build, table, flat, rows, "Update"), shape)


# Places that are known


def set_diagonal(build: Builder, op: GeOp) -> SSAValue:
    """MatrixSetDiag: the diagonal where the mask of it is, else x"""
    import numpy as np

    x, diagonal = op.operands[:2]
    *lead, rows, cols = build.shape(x)
    wide = [*lead, rows, 1] if rows <= cols else [*lead, 1, cols]
    spread = build.spread(build.reshape(diagonal, wide), build.shape(x))
    mask = np.eye(rows, cols, dtype=bool).reshape(*(1 for _ in lead), rows, cols)
    return build.where(build.spread(build.array(mask), build.shape(x)), spread, x)


def fill_diagonal(build: Builder, op: GeOp) -> SSAValue:
    import numpy as np

    assert isinstance(op, FillDiagonalOp)
    x = op.operands[0]
    shape = build.shape(x)
    if prod(shape) > LARGEST_MAP:
        raise build.decline(f"for a mask of {prod(shape)} elements")
    mask = np.zeros(shape, bool)
    np.fill_diagonal(mask, True, wrap=op.wrap)
    value = build.const(op.fill_value, build.dtype(x))
    one = build.spread(build.reshape(value, [1] * len(shape)), shape)
    return build.where(build.array(mask), one, x)


def band(build: Builder, op: GeOp) -> SSAValue:
    """MatrixDiagV2: elements of the diagonals gathered, from a column of padding where none is"""
    import numpy as np

    assert isinstance(op, MatrixDiagV2Op)
    diagonal, y = op.operands[0], op.results[0]
    padding = build.slot("padding_value")
    assert padding is not None
    ends, high, wide = (
        build.known(build.slot(name), name) for name in ("k", "num_rows", "num_cols")
    )
    *lead, rows, cols = build.shape(y)
    size = build.count(diagonal) // max(prod(lead), 1)
    if rows * cols > LARGEST_MAP:
        raise build.decline(f"for a map of {rows * cols} elements")
    shape = build.shape(diagonal)[len(lead) :]
    ramp = np.arange(1, size + 1, dtype=np.int64).reshape(shape)
    places = op.evaluate(ramp, ends, high, wide, np.zeros((), np.int64))
    table = build.reshape(diagonal, [prod(lead), size])
    column = build.spread(build.reshape(padding, [1, 1]), [prod(lead), 1])
    numbers = build.array(places.reshape(-1).astype(np.int32))
    found = build("GatherV2", build.concat([column, table], 1), numbers, [1])
    return build.like(found, y)


def slice_gradient(build: Builder, op: GeOp) -> SSAValue:
    """Zeros around dy, and between its elements where the slice went by steps"""
    assert isinstance(op, StridedSliceGradOp | StridedSliceGradDOp)
    dy, y = op.operands[-1], op.results[0]
    shape = build.shape(y)
    if isinstance(op, StridedSliceGradOp):
        begin, end, strides = (
            ints_of(build.known(build.slot(name), name)) for name in ("begin", "end", "strides")
        )
        cuts = strided_cuts(shape, begin, end, strides, op.masks())
    else:
        cuts = op.cuts(shape)
    ranges: list[tuple[int, int, int]] = []
    for cut in cuts:
        if cut.is_new:
            continue
        place = cut.position() if cut.shrinks else None
        found = cut.range() if place is None else (place, 1, 1)
        assert found is not None
        ranges.append(found)
    dy = build.reshape(dy, [count for _, _, count in ranges])
    for axis, ((first, step, count), size) in enumerate(zip(ranges, shape, strict=True)):
        dy = _placed(build, dy, axis, (first, step, count), size)
    return build.like(dy, y)


def _placed(
    build: Builder, x: SSAValue, axis: int, place: tuple[int, int, int], size: int
) -> SSAValue:
    """The elements of a dimension from `first` on, `step` apart, in zeros."""
    import numpy as np

    first, step, count = place
    pads = [[0, 0] for _ in build.shape(x)]
    if step == 1:
        if count == size:
            return x
        pads[axis] = [first, size - first - count]
        return build("Pad", x, build.const(pads, DataType.DT_INT64))
    pads[axis] = [0, 1]
    with_zero = build("Pad", x, build.const(pads, DataType.DT_INT64))
    places = np.full(size, count, np.int32)
    places[first + step * np.arange(count)] = np.arange(count)
    return build("GatherV2", with_zero, build.array(places), [axis])


def pad_gradient(build: Builder, op: GeOp) -> SSAValue:
    """PadV3Grad: along each dimension a product with the matrix of where elements came from"""
    assert isinstance(op, PadV3GradOp)
    x, y = op.operands[0], op.results[0]
    flat = ints_of(build.known(build.slot("paddings"), "paddings"))
    pairs = pad_pairs(flat, len(build.shape(x)), op.paddings_contiguous)
    mode = "wrap" if op.mode == "circular" else op.mode
    wide = build.wide(x)
    if build.dtype(wide) != DataType.DT_FLOAT:
        raise build.decline(f"for element type {build.dtype(x).name}")
    for axis, (size, pair) in enumerate(zip(build.shape(y), pairs, strict=True)):
        if any(pair):
            wide = along(build, wide, axis, _sources(build, size, pair, mode))
    return build.like(wide, y)


def _sources(build: Builder, size: int, pair: tuple[int, int], mode: str) -> Array:
    """[padded, size]: 1 where an element of the padded dimension came from one of its own."""
    import numpy as np

    whole = size + sum(pair)
    if whole * size > LARGEST_MAP:
        raise build.decline(f"for a dimension of {whole} elements")
    matrix = np.zeros((whole, size), np.float32)
    modes: dict[str, Any] = {"mode": mode}
    sources: Array = np.pad(np.arange(size), pair, **modes)
    matrix[np.arange(whole), sources] = 1
    return matrix


# Windows


def patches(build: Builder, op: GeOp) -> SSAValue:
    """ExtractImagePatches: [kh, kw, C] of each window"""
    assert isinstance(op, ExtractImagePatchesOp)
    x, y = op.operands[0], op.results[0]
    layout = tensor_of(x.type).layout.origin_format
    order = "NCHW" if layout == Format.FORMAT_NCHW else "NHWC"
    planes = as_planes(build, x, order)
    high, wide = op.windows(build.shape(planes)[2:])
    found = columns(build, padded(build, planes, 2, [high, wide]), high, wide)
    n, c, kh, kw, pixels = build.shape(found)
    if order == "NCHW":
        return build.like(build.transpose(found, [0, 2, 3, 1, 4]), y)
    flat = build.reshape(found, [n, c, kh * kw, pixels])
    return build.like(build.transpose(flat, [0, 3, 2, 1]), y)


def im2col(build: Builder, op: GeOp) -> SSAValue:
    """Im2col: [C, kh, kw] of each window"""
    assert isinstance(op, Im2colOp)
    x, y = op.operands[0], op.results[0]
    order = op.data_format()
    planes = as_planes(build, x, order)
    high, wide = op.windows(build.shape(planes)[2:])
    found = columns(build, padded(build, planes, 2, [high, wide]), high, wide)
    n, c, kh, kw, _ = build.shape(found)
    maps = build.reshape(found, [n, c * kh * kw, high.count, wide.count])
    return build.like(from_planes(build, maps, order), y)


def upsample(build: Builder, op: GeOp) -> SSAValue:
    """Each column repeated by a gather in UB, then each row."""
    import numpy as np

    assert isinstance(op, UpsampleOp)
    if op.scale != 1.0:
        raise build.decline(f"for scale {op.scale}")
    x = op.operands[0]
    n, c, high, wide = build.shape(x)
    if op.stride_w > 1:
        places = np.arange(wide, dtype=np.int32).repeat(op.stride_w)
        x = build("GatherV2", x, build.array(places), [3])
    rows = build.reshape(x, [n, c, high, 1, wide * op.stride_w])
    if op.stride_h > 1:
        rows = build("Tile", rows, [1, 1, 1, op.stride_h, 1])
    return build.like(rows, op.results[0])


EXPANSIONS: dict[str, Expansion] = {
    "Index": index,
    "IndexPutV2": index_put,
    "SparseToDense": sparse_to_dense,
    "SparseTensorDenseAdd": sparse_add,
    "EmbeddingDenseGrad": embedding_gradient,
    "MaskedScatter": masked_scatter,
    **{f"UnsortedSegment{how}{form}": segment_extremes
       for how in ("Max", "Min") for form in ("", "D")},
    "Scatter": slabs,
    **dict.fromkeys(("MatrixSetDiag", "MatrixSetDiagD"), set_diagonal),
    "FillDiagonal": fill_diagonal,
    "MatrixDiagV2": band,
    **dict.fromkeys(("StridedSliceGrad", "StridedSliceGradD"), slice_gradient),
    "PadV3Grad": pad_gradient,
    "ExtractImagePatches": patches,
    "Im2col": im2col,
    "Upsample": upsample,
}  # fmt: skip
