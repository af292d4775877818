"""Images as planes [N, C, ...]: turned, padded, and every so-manieth element along a dimension."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from xdsl.ir import SSAValue

from ge_xdsl.dialects.ge.types import DataType, tensor_of
from ge_xdsl.dialects.ge.windows import Window
from ge_xdsl.lowering.expand.builder import Builder

if TYPE_CHECKING:
    from ge_xdsl.dialects.ge.types import Array


def as_planes(build: Builder, x: SSAValue, data_format: str) -> SSAValue:
    """Channels last as channels first, in any number of dimensions."""
    return x if data_format[1] == "C" else turned(build, x, True)


def from_planes(build: Builder, x: SSAValue, data_format: str) -> SSAValue:
    """Channels first as `data_format` has them."""
    return x if data_format[1] == "C" else turned(build, x, False)


def turned(build: Builder, x: SSAValue, to_planes: bool) -> SSAValue:
    """The last dimension moved behind the first, or back."""
    rank = len(build.shape(x))
    order = [0, rank - 1, *range(1, rank - 1)] if to_planes else [0, *range(2, rank), 1]
    return build.transpose(x, order)


def padded(
    build: Builder, x: SSAValue, axis: int, windows: Sequence[Window], fill: float = 0.0
) -> SSAValue:
    """`x` with what windows over the dimensions from `axis` on reach beyond it."""
    shape = build.shape(x)
    pads = [[0, 0] for _ in shape]
    for i, w in enumerate(windows):
        reach = (w.count - 1) * w.stride + w.span
        pads[axis + i] = [w.before, max(reach - w.before - shape[axis + i], 0)]
    if not any(map(any, pads)):
        return x
    flat = build.const(pads, DataType.DT_INT64)
    value = build.const(fill, build.dtype(x))
    return build("PadV3", x, flat, value, mode="constant", paddings_contiguous=True)


def steps(build: Builder, x: SSAValue, axis: int, start: int, count: int, step: int) -> SSAValue:
    """`count` elements of a dimension, `step` apart: in the last one gathered in UB."""
    import numpy as np

    if step == 1 or count == 1:
        return build.slice(x, axis, start, count)
    shape = build.shape(x)
    if axis == len(shape) - 1:
        places = np.arange(start, start + count * step, step, dtype=np.int32)
        return build("GatherV2", x, build.array(places), [axis])
    begin, end, strides = [0] * len(shape), list(shape), [1] * len(shape)
    begin[axis], end[axis], strides[axis] = start, start + (count - 1) * step + 1, step
    return build("StridedSlice", x, begin, end, strides)


def gathered(build: Builder, x: SSAValue, axis: int, places: Array) -> SSAValue:
    """Elements of one dimension: evenly apart by `steps`, others by a gather."""
    gaps = places[1:] - places[:-1]
    if gaps.size == 0 or (gaps[0] > 0 and (gaps == gaps[0]).all()):
        step = int(gaps[0]) if gaps.size else 1
        return steps(build, x, axis, int(places[0]), len(places), step)
    return build("GatherV2", x, build.array(places.astype("int32")), [axis])


def view(build: Builder, x: SSAValue, dims: Sequence[tuple[int, int]]) -> SSAValue:
    """Elements of x at every sum of multiples of strides; dims are (size, stride)."""
    sizes, strides = [list(part) for part in zip(*dims, strict=True)]
    result = tensor_of(x.type).with_shape(sizes)
    return build("AsStrided", x, sizes, strides, [0], result_types=[result.type])


def columns(build: Builder, x: SSAValue, high: Window, wide: Window) -> SSAValue:
    """[N, C, kh, kw, windows]: what windows over padded planes have, as runs of map rows.

    Where windows are apart, the columns that a kernel column reads are brought together first.
    """
    n, c, rows, width = build.shape(x)
    if wide.stride == 1:
        step = wide.dilation
    else:
        parts = [
            build.reshape(
                steps(build, x, 3, v * wide.dilation, wide.count, wide.stride),
                [n, c, 1, rows, wide.count],
            )
            for v in range(wide.kernel)
        ]
        x, width = build.concat(parts, 2), wide.count
        step = rows * width
    channel = build.count(x) // (n * c)
    dims = [
        (n, c * channel),
        (c, channel),
        (high.kernel, high.dilation * width),
        (wide.kernel, step),
        (high.count, high.stride * width),
        (wide.count, 1),
    ]
    found = view(build, x, dims)
    return build.reshape(found, [n, c, high.kernel, wide.kernel, high.count * wide.count])
