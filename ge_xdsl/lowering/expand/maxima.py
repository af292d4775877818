"""Pools that tell where each maximum stood, adaptive maxima, and the gradient of the former."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import TYPE_CHECKING

from xdsl.ir import SSAValue

from ge_xdsl.dialects.ge.op import GeOp
from ge_xdsl.dialects.ge.pool import PoolGeometry
from ge_xdsl.dialects.ge.pool_adaptive import AdaptiveMaxPool2dOp, AdaptiveMaxPool3dOp, bounds
from ge_xdsl.dialects.ge.pool_argmax import MaxPoolGradWithArgmaxV3Op, MaxPoolWithArgmaxV3Op
from ge_xdsl.dialects.ge.types import DataType
from ge_xdsl.dialects.ge.windows import Window
from ge_xdsl.lowering.expand.builder import Builder, Expansion
from ge_xdsl.lowering.expand.planes import as_planes, from_planes, gathered
from ge_xdsl.lowering.expand.pools import LOWEST, Tap
from ge_xdsl.lowering.expand.terms import Term
from ge_xdsl.lowering.movement import contiguous

if TYPE_CHECKING:
    from ge_xdsl.dialects.ge.types import Array

MOST_PLACES = 256
"""Elements of the largest window whose maximum is looked for, along all its dimensions together."""
FEW_PLACES = 9
"""Elements of the largest window that are compared one after the other."""
LARGEST_PLANE = 1 << 14
"""Elements of the largest plane of which elements are gathered at once."""


def adaptive_max(build: Builder, op: GeOp) -> list[SSAValue]:
    """One tap per place in the longest window; shorter ones see their last element again."""
    import numpy as np

    assert isinstance(op, AdaptiveMaxPool2dOp | AdaptiveMaxPool3dOp)
    x = op.operands[0]
    axes = op.spatial(len(build.shape(x)))
    lines: list[Line] = []
    for axis, count in zip(axes, op.output_size, strict=True):
        first, last = bounds(build.shape(x)[axis], count)
        length = int((last - first).max())
        named = [first + t for t in range(length)]
        lines.append(Line([np.minimum(place, last - 1) for place in named], named))
    best, index = first_maximum(build, x, axes, lines, True)
    return [build.like(best, op.results[0]), build.like(index, op.results[1])]


# Maxima and where they are


@dataclass(frozen=True, slots=True)
class Line:
    """Windows over one dimension.

    `places[t]` is where their element t lies, or the nearest that they have. `named[t]` is the
    same but where the nearest came before, which no search for the first maximum takes again.
    """

    places: Sequence[Array]
    named: Sequence[Array]


def line_of(build: Builder, window: Window, size: int) -> Line:
    """Windows over a dimension of `size` elements, without padding."""
    import numpy as np

    first = np.arange(window.count) * window.stride - window.before
    step = window.dilation
    low = np.maximum(0, -(first // step)) * step + first
    high = np.minimum(window.kernel - 1, (size - 1 - first) // step) * step + first
    if (low > high).any():
        raise build.decline("for a window without an element of x")
    named = [np.maximum(first + t * step, low) for t in range(window.kernel)]
    return Line([np.minimum(place, high) for place in named], named)


def first_maximum(
    build: Builder, x: SSAValue, axes: Sequence[int], lines: Sequence[Line], nan_wins: bool
) -> tuple[SSAValue, SSAValue]:
    """The first maximum of each window over dimensions, and its place in them (f32).

    The elements of small windows are compared one after the other; those of others along the last
    dimension, then along the one before.
    """
    sizes = [build.shape(x)[axis] for axis in axes]
    if prod(sizes) >= 1 << 24:
        raise build.decline("for planes of 2^24 elements or more")
    strides = contiguous(sizes)
    if all(len(line.places[0]) == 1 for line in lines) and sizes == [
        len(li.places) for li in lines
    ]:
        return _of_planes(build, x, axes)
    if sum(len(line.places) for line in lines) > MOST_PLACES:
        raise build.decline(f"for windows of more than {MOST_PLACES} elements along all dimensions")
    if prod(len(line.places) for line in lines) <= FEW_PLACES:
        return _at_once(build, x, axes, lines, nan_wins)
    best, index = x, None
    for axis, line, stride in reversed(list(zip(axes, lines, strides, strict=True))):
        best, index = _along(build, best, index, (axis, line, stride), nan_wins)
    assert index is not None
    return best, index


def _of_planes(build: Builder, x: SSAValue, axes: Sequence[int]) -> tuple[SSAValue, SSAValue]:
    """The maximum of all elements of neighbouring dimensions, and the least place that has it."""
    import numpy as np

    shape = build.shape(x)
    first, size = axes[0], prod(shape[axis] for axis in axes)
    flat = [*shape[:first], size, *shape[axes[-1] + 1 :]]
    value = Term(build, build.reshape(build.wide(x), flat))
    best = value.max([first])
    hot = value.same(best).call("LogicalOr", value.is_("NotEqual", value))
    ramp = np.arange(size, dtype=np.float32).reshape(
        [-1 if i == first else 1 for i in range(len(flat))]
    )
    place = hot.pick(Term(build, build.array(ramp)), float(size))
    index = Term(build, build.reduce("Min", place.value, [first]))
    out = [1 if axis in axes else d for axis, d in enumerate(shape)]
    return best.reshape(out).value, index.reshape(out).value


def _along(
    build: Builder,
    x: SSAValue,
    index: SSAValue | None,
    part: tuple[int, Line, int],
    nan_wins: bool,
) -> tuple[SSAValue, SSAValue]:
    """The first maximum of windows over one dimension, and its place with that in the later ones.

    `part`: the dimension, its windows, and what one step along it counts.
    """
    axis, line, stride = part
    best: Term | None = None
    place: Term | None = None
    for places, named in zip(line.places, line.named, strict=True):
        value = Term(build, gathered(build, x, axis, places))
        mine = _number(build, named * stride, [axis], value.shape)
        if index is not None:
            mine = mine + Term(build, gathered(build, index, axis, places))
        if best is None or place is None:
            best, place = value, mine
            continue
        better = _better(value, best, nan_wins)
        best, place = better.pick(value, best), better.pick(mine, place)
    assert best is not None
    assert place is not None
    return best.value, place.value


def _better(value: Term, best: Term, nan_wins: bool) -> Term:
    """Where a value takes the place of the best so far."""
    if not nan_wins:
        return value > best
    return (value <= best).call("LogicalNot").both(best.same(best))


def _at_once(
    build: Builder, x: SSAValue, axes: Sequence[int], lines: Sequence[Line], nan_wins: bool
) -> tuple[SSAValue, SSAValue]:
    """`first_maximum` of windows of a few elements."""
    strides = contiguous([build.shape(x)[axis] for axis in axes])
    parts = _at_places(build, x, axes, lines)
    best = Term(build, parts[0][1])
    shape = best.shape
    base = _grid(strides, [line.named[0] for line in lines])
    index = _number(build, base * 0, axes, shape)
    for tap, part in parts[1:]:
        value = Term(build, part)
        better = _better(value, best, nan_wins)
        best = better.pick(value, best)
        table = _grid(strides, [line.named[t] for t, line in zip(tap, lines, strict=True)])
        index = better.pick(_number(build, table - base, axes, shape), index)
    return best.value, (index + _number(build, base, axes, shape)).value


def _grid(strides: Sequence[int], places: Sequence[Array]) -> Array:
    """Where elements lie in all dimensions, from their places in each."""
    import numpy as np

    found: Array = np.zeros((), np.int64)
    for stride, place in zip(strides, places, strict=True):
        found = found[..., None] + place * stride
    return found


def _number(build: Builder, table: Array, axes: Sequence[int], shape: Sequence[int]) -> Term:
    """A table over some dimensions in f32; a single number where it is the same everywhere."""
    if (table == table.reshape(-1)[0]).all():
        found = build.array(table.reshape(-1)[:1].reshape([1] * len(shape)).astype("float32"))
    else:
        wide = [d if axis in axes else 1 for axis, d in enumerate(shape)]
        found = build.array(table.reshape(wide).astype("float32"))
    return Term(build, build.spread(found, shape))


def _at_places(
    build: Builder, x: SSAValue, axes: Sequence[int], lines: Sequence[Line]
) -> list[Tap]:
    """What windows have at each element: small planes gathered at once, others by dimension."""
    shape = build.shape(x)
    size = prod(shape[axis] for axis in axes)
    taps = list(product(*(range(len(line.places)) for line in lines)))
    if axes[-1] == len(shape) - 1 and size <= LARGEST_PLANE:
        flat = build.reshape(x, [*shape[: axes[0]], size])
        out = [*shape[: axes[0]], *(len(line.places[0]) for line in lines)]
        strides = contiguous([shape[axis] for axis in axes])
        found: list[Tap] = []
        for tap in taps:
            grid = _grid(strides, [li.places[t] for li, t in zip(lines, tap, strict=True)])
            part = gathered(build, flat, axes[0], grid.reshape(-1))
            found.append((tap, build.reshape(part, out)))
        return found
    parts: list[Tap] = [((), x)]
    for axis, line in reversed(list(zip(axes, lines, strict=True))):
        parts = [
            ((t, *tap), gathered(build, part, axis, places))
            for t, places in enumerate(line.places)
            for tap, part in parts
        ]
    return sorted(parts, key=lambda item: item[0])


def argmax_planes(
    build: Builder, planes: SSAValue, windows: Sequence[Window], nan_wins: bool
) -> tuple[SSAValue, SSAValue]:
    """The maxima of windows over planes and their places h * W + w in f32."""
    if not nan_wins:
        x = Term(build, planes)
        planes = x.same(x).pick(x, LOWEST).value
    sizes = build.shape(planes)[2:]
    lines = [line_of(build, w, size) for w, size in zip(windows, sizes, strict=True)]
    return first_maximum(build, planes, [2, 3], lines, nan_wins)


def argmax_v3(build: Builder, op: GeOp) -> list[SSAValue]:
    """MaxPoolWithArgmaxV3"""
    assert isinstance(op, MaxPoolWithArgmaxV3Op)
    x = op.operands[0]
    planes = _batched(build, x, op.data_format)
    windows = op.windows(build.shape(planes)[2:])
    found = argmax_planes(build, planes, windows, True)
    return [
        build.like(from_planes(build, value, op.data_format), result)
        for value, result in zip(found, op.results, strict=True)
    ]


def _batched(build: Builder, x: SSAValue, data_format: str) -> SSAValue:
    """Images as [N, C, H, W], one image as a batch of one."""
    shape = build.shape(x)
    image = x if len(shape) == 4 else build.reshape(x, [1, *shape])
    return as_planes(build, image, data_format)


def argmax(build: Builder, op: GeOp) -> list[SSAValue]:
    """MaxPoolWithArgmax: places that count channels, and images where it is asked for"""
    import numpy as np

    assert isinstance(op, PoolGeometry)
    x = op.operands[0]
    planes = as_planes(build, x, op.data_format)
    n, c, high, wide = build.shape(planes)
    windows = op.windows(build.shape(x))
    best, places = argmax_planes(build, planes, windows, bool(op.get_attr("nan_prop")))
    index = build.cast(places, DataType.DT_INT32)
    channel = np.arange(c).reshape(1, -1, 1, 1)
    if op.data_format == "NHWC":
        index = build("Mul", index, c) if c > 1 else index
        offset = channel
    else:
        offset = channel * (high * wide)
    if op.get_attr("include_batch_in_index"):
        offset = offset + np.arange(n).reshape(-1, 1, 1, 1) * (c * high * wide)
    if n * c * high * wide >= 1 << 31:
        raise build.decline("for 2^31 elements or more")
    if offset.any():
        index = build("Add", index, build.array(offset.astype(np.int32)))
    return [
        build.like(from_planes(build, value, op.data_format), result)
        for value, result in zip((best, index), op.results, strict=True)
    ]


def argmax_gradient(build: Builder, op: GeOp) -> SSAValue:
    """Each gradient added at its place in a row of zeros per plane."""
    assert isinstance(op, MaxPoolGradWithArgmaxV3Op)
    x, grad, places = op.operands
    n, c, high, wide = build.shape(_batched(build, x, op.data_format))
    updates, index = (
        _lines(build, _batched(build, value, op.data_format), n * c)
        for value in (build.wide(grad), places)
    )
    zeros = build.spread(build.const(0, build.dtype(updates)), [n * c, high * wide])
    y = build("ScatterElements", zeros, index, updates, axis=1, reduction="add")
    y = build.reshape(y, [n, c, high, wide])
    return build.like(from_planes(build, y, op.data_format), op.results[0])


def _lines(build: Builder, x: SSAValue, rows: int) -> SSAValue:
    return build.reshape(x, [rows, build.count(x) // rows])


EXPANSIONS: dict[str, Expansion] = {
    **dict.fromkeys(("AdaptiveMaxPool2d", "AdaptiveMaxPool3d"), adaptive_max),
    "MaxPoolWithArgmaxV3": argmax_v3,
    "MaxPoolWithArgmax": argmax,
    "MaxPoolGradWithArgmaxV3": argmax_gradient,
}
