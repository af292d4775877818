"""Images read at computed positions: rows of a table of pixels are gathered and weighted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

from xdsl.ir import SSAValue

from ge_xdsl.dialects.ge.conv_deform import DeformableConv2DOp, DeformableOffsetsOp
from ge_xdsl.dialects.ge.grid import AffineGridOp, GridSampleOp, GridSampler2DOp, GridSampler3DOp
from ge_xdsl.dialects.ge.op import GeOp
from ge_xdsl.dialects.ge.roi import ROIAlignOp
from ge_xdsl.dialects.ge.types import HALVES, DataType, tensor_of
from ge_xdsl.lowering.expand.builder import Builder, Expansion
from ge_xdsl.lowering.expand.planes import as_planes
from ge_xdsl.lowering.expand.terms import Term

if TYPE_CHECKING:
    from ge_xdsl.dialects.ge.types import Array

EXACT = 1 << 24
"""Whole numbers that f32 holds."""
FEW_VALUES = 1 << 20
"""Values up to which a sum over taps by rows beats one slice of weights for each tap."""
CUBIC = -0.75
"""The a of bicubic sampling."""


class Pixels:
    """Planes [N, C, sizes...] as a table of one row per pixel."""

    def __init__(self, build: Builder, planes: SSAValue) -> None:
        n, c, *sizes = build.shape(planes)
        if prod(sizes) > EXACT or n * prod(sizes) >= 1 << 31:
            raise build.decline(f"for planes of {prod(sizes)} elements")
        self.build = build
        self.images, self.channels, self.sizes = n, c, sizes
        flat = build.reshape(planes, [n, c, prod(sizes)])
        turned = build.transpose(flat, [0, 2, 1])
        self.table = build.reshape(turned, [n * prod(sizes), c])

    def weighted(
        self, lines: Sequence[Line], image: Term | None = None, factor: Term | None = None
    ) -> Term:
        """[points, C] in f32: the sum of pixels times their weights, at all pairs of taps.

        `image` tells whose pixels a point reads, else points are dealt; its weights are times
        `factor`.
        """
        build = self.build
        taps = prod(line.index.shape[0] for line in lines)
        points = lines[0].index.shape[1]
        place = _combined(lines, [line.index for line in lines], self.sizes)
        weight = _combined(lines, [line.weight for line in lines], None).reshape([taps, points])
        if factor is not None:
            weight = weight * factor.reshape([1, points])
        number = self._numbered(place.reshape([taps, points]), image)
        rows = build("GatherV2", self.table, number, [0])
        if points * self.channels < FEW_VALUES:
            wide = Term(build, build.reshape(build.wide(rows), [taps, points, self.channels]))
            found = wide * weight.reshape([taps, points, 1])
            return (
                found.reshape([taps, points * self.channels])
                .sum([0])
                .reshape([points, self.channels])
            )
        total: Term | None = None
        for tap in range(taps):
            part = Term(build, build.wide(build.slice(rows, 0, tap * points, points)))
            each = Term(build, build.slice(weight.value, 0, tap, 1)).reshape([points, 1])
            total = part * each if total is None else total + part * each
        assert total is not None
        return total

    def _numbered(self, place: Term, image: Term | None) -> SSAValue:
        """Rows of the table, from places in an image [taps, points]."""
        build = self.build
        taps, points = place.shape
        number = build.cast(place.value, DataType.DT_INT32)
        if image is not None:
            whole = build.cast((image * prod(self.sizes)).value, DataType.DT_INT32)
            number = build("Add", number, build.reshape(whole, [1, points]))
        elif self.images > 1:
            starts = [[[i * prod(self.sizes)] for i in range(self.images)]]
            split = build.reshape(number, [taps, self.images, points // self.images])
            number = build("Add", split, build.const(starts, DataType.DT_INT32))
        return build.reshape(number, [taps * points])


@dataclass(frozen=True, slots=True)
class Line:
    """[taps, points] along one dimension: whole positions in range, and weights."""

    index: Term
    weight: Term


def _combined(lines: Sequence[Line], values: Sequence[Term], sizes: Sequence[int] | None) -> Term:
    """[taps, ..., points]: places in a plane of `sizes`, or products of weights."""
    found: Term | None = None
    for i, value in enumerate(values):
        taps, points = value.shape
        shape = [1] * len(lines)
        shape[i] = taps
        wide = value.reshape([*shape, points])
        if found is None:
            found = wide
        elif sizes is None:
            found = found * wide
        else:
            found = found * float(sizes[i]) + wide
    assert found is not None
    return found


def _finite(position: Term, size: int) -> Term:
    """Positions that fit an integer; what is not a number or far outside lies outside."""
    known = position.same(position).pick(position, -2.0)
    return known.clip(-2.0, float(size + 1))


def _steps(build: Builder, *numbers: float) -> Term:
    """A column of numbers, one for each tap."""
    return Term(build, build.const([[n] for n in numbers], DataType.DT_FLOAT))


def _kept(index: Term, weight: Term | float, size: int) -> Line:
    """Positions moved into range, of no weight where they were outside."""
    moved = index.clip(0.0, float(size - 1))
    inside = index.same(moved)
    if not isinstance(weight, Term):
        build = index.build
        ones = build.spread(build.const([[weight]], DataType.DT_FLOAT), index.shape)
        weight = Term(build, ones)
    return Line(moved, inside.pick(weight, 0.0))


def linear_line(position: Term, size: int) -> Line:
    """The two neighbours of positions [1, points]."""
    place = _finite(position, size)
    low = place.call("Floor")
    index = low + _steps(place.build, 0, 1)
    weight = (_steps(place.build, 1, 0) - (place - low)).abs()
    return _kept(index, weight, size)


def nearest_line(position: Term, size: int) -> Line:
    """The element whose centre is nearest, the even one of two."""
    return _kept(_finite(position, size).call("Rint"), 1.0, size)


def cubic_line(position: Term, size: int, padding: str, align: bool) -> Line:
    """The four neighbours, each padded by itself, by the kernel of Keys [1981]."""
    place = position.same(position).pick(position, -2.0)
    low = place.call("Floor")
    offsets = _steps(place.build, -1, 0, 1, 2)
    index = _finite(padded_position(low + offsets, size, padding, align), size)
    x = (offsets - (place - low)).abs()
    near = ((x * (CUBIC + 2) - (CUBIC + 3)) * x) * x + 1
    far = ((x * CUBIC - 5 * CUBIC) * x + 8 * CUBIC) * x - 4 * CUBIC
    return _kept(index, (x <= 1.0).pick(near, far), size)


def padded_position(position: Term, size: int, padding: str, align: bool) -> Term:
    """`zeros` leaves positions outside; `border` clips them, `reflection` mirrors them first."""
    if padding == "zeros":
        return position
    if padding == "reflection":
        position = _mirrored(position, size, align)
    return position.clip(0.0, float(size - 1))


def _mirrored(position: Term, size: int, align: bool) -> Term:
    """Positions folded between the centres of the outer elements, or between their edges."""
    low = 0.0 if align else -0.5
    span = float(size - 1 if align else size)
    if span == 0:
        return position * 0.0
    away = (position - low).abs()
    folds = (away / span).call("Floor")
    extra = away - folds * span
    odd = folds - (folds * 0.5).call("Floor") * 2.0
    return (odd < 0.5).pick(extra, span - extra) + low


# Grids


def grid_sample(build: Builder, op: GeOp) -> SSAValue:
    """GridSampler2D, GridSampler3D and GridSample"""
    assert isinstance(op, GridSampler2DOp | GridSampler3DOp | GridSampleOp)
    x, grid = op.operands
    if isinstance(op, GridSampleOp) and op.channel_last:
        x = as_planes(build, x, "NHWC")
    pixels = Pixels(build, x)
    rank = len(pixels.sizes)
    points = build.count(grid) // rank
    lines = build.transpose(build.reshape(build.wide(grid), [points, rank]), [1, 0])
    align, padding = op.align_corners, op.padding_mode
    found: list[Line] = []
    for i, size in enumerate(pixels.sizes):
        part = build.slice(lines, 0, rank - 1 - i, 1)
        position = _unnormalized(Term(build, part), size, align)
        if op.interpolation_mode == "bicubic":
            found.append(cubic_line(position, size, padding, align))
            continue
        call = nearest_line if op.interpolation_mode == "nearest" else linear_line
        found.append(call(padded_position(position, size, padding, align), size))
    return _as_planes(build, pixels, pixels.weighted(found), op.results[0])


def _unnormalized(grid: Term, size: int, align: bool) -> Term:
    """A coordinate in [-1, 1] in elements."""
    if align:
        return ((grid + 1) * 0.5) * float(size - 1)
    return ((grid + 1) * float(size) - 1) * 0.5


def _as_planes(build: Builder, pixels: Pixels, rows: Term, y: SSAValue) -> SSAValue:
    """Rows [N * points, C] as the planes of y."""
    points = build.count(rows.value) // (pixels.images * pixels.channels)
    narrow = build.cast(rows.value, build.dtype(y))
    split = build.reshape(narrow, [pixels.images, points, pixels.channels])
    return build.like(build.transpose(split, [0, 2, 1]), y)


def affine_grid(build: Builder, op: GeOp) -> SSAValue:
    """The sum over coordinates of theta's column times the coordinate of each place."""
    import numpy as np

    assert isinstance(op, AffineGridOp)
    theta, y = op.operands[0], op.results[0]
    n, rows, columns = build.shape(theta)
    points = build.shape(y)[1]
    known = build.known(build.slot("output_size"), "output_size")
    units = [np.eye(1, columns, k, np.float32).repeat(rows, 0) for k in range(columns)]
    base = [_coordinate(op, unit, known) for unit in units]
    flat = build.transpose(build.reshape(build.wide(theta), [n * rows, columns]), [1, 0])
    total: Term | None = None
    for k, line in enumerate(base):
        column = Term(build, build.reshape(build.slice(flat, 0, k, 1), [n * rows, 1]))
        part = column * Term(build, build.array(line.reshape(1, points)))
        total = part if total is None else total + part
    assert total is not None
    turned = build.transpose(build.reshape(total.value, [n, rows, points]), [0, 2, 1])
    return build.like(turned, y)


def _coordinate(op: AffineGridOp, theta: Array, output_size: Array) -> Array:
    """[points]: a coordinate of all places, as the map that picks it alone gives it."""
    import numpy as np

    sizes = np.array([1, *output_size.reshape(-1)[1:]])
    return op.evaluate(theta[None].astype(np.float32), sizes)[0, :, 0]


# Regions


def roi_align(build: Builder, op: GeOp) -> SSAValue:
    """The mean of samples, all of them gathered at once: [samples, R, bins]."""
    assert isinstance(op, ROIAlignOp)
    if not op.sample_num:
        raise build.decline("for a number of samples that the regions' sizes tell")
    if op.pool_mode == "max" or op.roi_end_mode == 3:
        raise build.decline(f"for pool_mode {op.pool_mode}, roi_end_mode {op.roi_end_mode}")
    pixels = Pixels(build, op.operands[0])
    rois = build.transpose(build.wide(op.operands[1]), [1, 0])
    count = build.shape(rois)[1]
    image, left, top, right, bottom = (
        Term(build, build.slice(rois, 0, k, 1)).reshape([count, 1]) for k in range(5)
    )
    bins = (op.pooled_height, op.pooled_width)
    ends = ((top, bottom), (left, right))
    lines = [
        _roi_line(op, *pair, number, size)
        for pair, number, size in zip(ends, bins, pixels.sizes, strict=True)
    ]
    samples = op.sample_num
    shape = (samples, samples, count, *bins)
    spreads = [(samples, 1, count, bins[0], 1), (1, samples, count, 1, bins[1])]
    found_lines: list[Line] = []
    kept: list[Term] = []
    for (place, near), spread, size in zip(lines, spreads, pixels.sizes, strict=True):
        found_lines.append(linear_line(_wide(build, place, spread, shape), size))
        kept.append(_wide(build, near, spread, shape))
    images = _wide(build, image, (1, 1, count, 1, 1), shape)
    found = pixels.weighted(found_lines, images, kept[0] * kept[1])
    found = found.reshape([samples * samples, count * prod(bins) * pixels.channels])
    mean = found.sum([0]) * (1 / samples**2)
    rows = build.reshape(build.cast(mean.value, build.dtype(op.results[0])),
                         [count, prod(bins), pixels.channels])  # fmt: skip
    return build.like(build.transpose(rows, [0, 2, 1]), op.results[0])


def _wide(build: Builder, line: Term, shape: Sequence[int], wanted: Sequence[int]) -> Term:
    """A value spread over samples, regions and bins, in one dimension."""
    full = build.spread(build.reshape(line.value, shape), wanted)
    return Term(build, build.reshape(full, [1, prod(wanted)]))


def _roi_line(op: ROIAlignOp, first: Term, last: Term, count: int, size: int) -> tuple[Term, Term]:
    """[samples, R, count]: positions along a direction, and 1 where they are close enough."""
    import numpy as np

    build, samples = first.build, op.sample_num
    start = first * op.spatial_scale
    end = (last + 1 if op.roi_end_mode == 1 else last) * op.spatial_scale
    if op.roi_end_mode == 2:
        start, end = start - 0.5, end - 0.5
    length = end - start
    if op.roi_end_mode < 2:
        length = length.call("Maximum", float(1 - op.roi_end_mode))
    step = length * (1 / count)
    part = (np.arange(samples, dtype=np.float32) + np.float32(0.5)) / np.float32(samples)
    table = np.arange(count, dtype=np.float32) + part[:, None]
    rows = Term(build, build.array(table.reshape(samples, 1, count)))
    regions = first.shape[0]
    place = step.reshape([1, regions, 1]) * rows + start.reshape([1, regions, 1])
    near = (place >= -1.0).both(place <= float(size))
    ones = Term(build, build.spread(build.const([1.0], DataType.DT_FLOAT), place.shape))
    return place.clip(0.0, float(size - 1)), near.pick(ones, 0.0)


# Deformable convolutions


def _deformed(
    build: Builder, op: DeformableConv2DOp | DeformableOffsetsOp, kernel: Sequence[int]
) -> tuple[Term, int, int]:
    """[N, groups, oh, ow, kh, kw, C / groups]: what displaced elements read; oh and ow."""
    import numpy as np

    x, offsets = op.x, op.offsets
    planes = as_planes(build, x, op.data_format)
    moved = build.wide(as_planes(build, offsets, op.data_format))
    n, c, high, wide = build.shape(planes)
    groups, (kh, kw) = op.deformable_groups, kernel
    oh, ow = build.shape(moved)[2:]
    blocks = build.reshape(moved, [n, 3, groups, kh * kw, oh * ow])
    blocks = build.transpose(blocks, [1, 0, 2, 4, 3])
    pixels = Pixels(build, build.reshape(planes, [n * groups, c // groups, high, wide]))
    points = oh * ow * kh * kw
    right, down, mask = (
        Term(build, build.reshape(build.slice(blocks, 0, k, 1), [n * groups, points]))
        for k in range(3)
    )
    first, second = (
        np.arange(w.kernel) * w.dilation + np.arange(w.count)[:, None] * w.stride - w.before
        for w in op.windows(build.shape(x), kernel)
    )
    shape = (oh, ow, kh, kw)
    base = [np.broadcast_to(first[:, None, :, None], shape),
            np.broadcast_to(second[None, :, None, :], shape)]  # fmt: skip
    rows, columns = (
        part + Term(build, build.array(line.reshape(1, points).astype(np.float32)))
        for part, line in zip((down, right), base, strict=True)
    )
    lines = [
        linear_line(position.reshape([1, n * groups * points]), size)
        for position, size in zip((rows, columns), (high, wide), strict=True)
    ]
    found = pixels.weighted(lines, None, mask)
    return found.reshape([n, groups, oh, ow, kh, kw, c // groups]), oh, ow


def deformable_offsets(build: Builder, op: GeOp) -> SSAValue:
    assert isinstance(op, DeformableOffsetsOp)
    y = op.results[0]
    found, _, _ = _deformed(build, op, op.ksize)
    narrow = build.cast(found.value, build.dtype(y))
    if op.data_format[1] == "C":
        turned = build.transpose(narrow, [0, 1, 6, 2, 4, 3, 5])
    else:
        turned = build.transpose(narrow, [0, 2, 4, 3, 5, 1, 6])
    return build.like(turned, y)


def deformable_conv(build: Builder, op: GeOp) -> SSAValue:
    """A product of what displaced elements read and the filter, for each group."""
    assert isinstance(op, DeformableConv2DOp)
    y = op.results[0]
    axes = op.filter_axes(tensor_of(op.filter.type))
    weight = build.transpose(op.filter, [axes[0], axes[2], axes[3], axes[1]])
    out, kh, kw, depth = build.shape(weight)
    found, oh, ow = _deformed(build, op, (kh, kw))
    n, many = found.shape[0], op.groups
    taps, pixels = kh * kw, n * oh * ow
    parts: list[SSAValue] = []
    for part in _halves(build, found, build.dtype(op.x)):
        columns = build.transpose(part, [0, 2, 3, 4, 5, 1, 6])
        columns = build.reshape(columns, [pixels, taps, many, depth])
        columns = build.transpose(columns, [2, 0, 1, 3])
        parts.append(build.reshape(columns, [many, pixels, taps * depth]))
    columns = build.concat(parts, 2)
    right = build.reshape(weight, [many, out // many, taps * depth])
    right = build.concat([right] * len(parts), 2)
    product = build("BatchMatMulV2", columns, right, adj_x2=True)
    rows = build.reshape(build.transpose(product, [1, 0, 2]), [n, oh * ow, out])
    if op.bias is not None:
        bias = build.reshape(build.wide(op.bias), [1, 1, out])
        rows = build.cast(build("Add", build.wide(rows), bias), build.dtype(y))
    rows = build.reshape(rows, [n, oh, ow, out])
    return build.like(as_planes(build, rows, "NHWC") if op.data_format[1] == "C" else rows, y)


def _halves(build: Builder, x: Term, dtype: DataType) -> list[SSAValue]:
    """An f32 value as a sum of half floats, which the cube multiplies as it is in f32."""
    if dtype not in HALVES:
        return [x.value]
    high = build.cast(x.value, dtype)
    rest = x - Term(build, build.wide(high))
    return [high, build.cast(rest.value, dtype)]


EXPANSIONS: dict[str, Expansion] = {
    **dict.fromkeys(("GridSampler2D", "GridSampler3D", "GridSample"), grid_sample),
    "AffineGrid": affine_grid,
    "ROIAlign": roi_align,
    "DeformableOffsets": deformable_offsets,
    "DeformableConv2D": deformable_conv,
}
