"""Resampling along one axis: where each output element lies in the input, and with what weights.

Coordinates and weights are f32, as on the device. A resize of several axes is separable: one
gather per axis and tap. The formulas are those of ONNX Resize.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ge_xdsl.dialects.ge.types import Array

MODES = ("half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric", "tf_crop_and_resize")
"""How an output position is mapped to the input."""
ROUNDINGS = ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil")
"""Which neighbour `nearest` takes."""


@dataclass(frozen=True, slots=True)
class Axis:
    """One resized axis: sizes, scale = output / input, and the part of it that is read."""

    size: int
    count: int
    scale: float
    region: tuple[float, float] = (0.0, 1.0)


@dataclass(frozen=True, slots=True)
class Taps:
    """For each output element, the input elements that it sums: [count, taps] twice."""

    index: Array
    weight: Array


def coordinates(axis: Axis, mode: str) -> Array:
    """[count] f32: the input position of each output element."""
    import numpy as np

    f32 = np.float32
    place = np.arange(axis.count, dtype=f32)
    scale, last = f32(axis.scale), f32(axis.size - 1)
    if mode == "pytorch_half_pixel" and axis.count == 1:
        return np.zeros(1, f32)
    if mode in ("half_pixel", "pytorch_half_pixel"):
        return (place + f32(0.5)) / scale - f32(0.5)
    if mode == "align_corners":
        return place * last / f32(max(axis.count - 1, 1))
    if mode == "asymmetric":
        return place / scale
    start, end = (f32(v) for v in axis.region)
    if axis.count == 1:
        return np.full(1, f32(0.5) * (start + end) * last, f32)
    return start * last + place * (end - start) * last / f32(axis.count - 1)


def outside(position: Array, size: int) -> Array:
    """Which coordinates lie before the first or after the last element."""
    return (position < 0) | (position > size - 1)


def nearest_taps(position: Array, size: int, rounding: str) -> Taps:
    """One tap of weight 1."""
    import numpy as np

    half = np.float32(0.5)
    if rounding == "floor":
        found = np.floor(position)
    elif rounding == "ceil" or rounding == "round_prefer_floor":
        found = np.ceil(position if rounding == "ceil" else position - half)
    else:
        found = np.floor(position + half)
    index = np.clip(found, 0, size - 1).astype(np.int64)[:, None]
    return Taps(index, np.ones_like(index, np.float32))


def linear_taps(position: Array, size: int) -> Taps:
    """The two neighbours; positions outside read the border."""
    import numpy as np

    inside = np.clip(position, 0, size - 1)
    low = np.floor(inside).astype(np.int64)
    part = inside - low.astype(np.float32)
    index = np.stack([low, np.minimum(low + 1, size - 1)], axis=1)
    return Taps(index, np.stack([1 - part, part], axis=1))


def cubic_weights(part: Array, a: float) -> Array:
    """[..., 4] weights of the neighbours at -1, 0, 1 and 2 for a position at `part` of [0, 1).

    The convolution kernel of Keys with the coefficient `a`.
    """
    import numpy as np

    c = part.dtype.type(a)

    def near(t: Array) -> Array:
        return ((c + 2) * t - (c + 3)) * t * t + 1

    def far(t: Array) -> Array:
        return ((c * t - 5 * c) * t + 8 * c) * t - 4 * c

    return np.stack([far(part + 1), near(part), near(1 - part), far(2 - part)], axis=-1)


def cubic_taps(position: Array, size: int, a: float, exclude_outside: bool) -> Taps:
    """The four neighbours; those outside read the border, or with `exclude_outside` nothing."""
    import numpy as np

    low = np.floor(position)
    weight = cubic_weights(position - low, a)
    index = low.astype(np.int64)[:, None] + np.arange(-1, 3)
    if exclude_outside:
        weight = np.where((index >= 0) & (index < size), weight, np.float32(0))
        weight = weight / weight.sum(axis=1, keepdims=True)
    return Taps(np.clip(index, 0, size - 1), weight)


def resample(x: Array, axis: int, taps: Taps) -> Array:
    """The weighted sums along `axis`; a single tap copies, so that any element type is kept."""
    if taps.index.shape[1] == 1:
        return x.take(taps.index[:, 0], axis=axis)
    shape = [1] * x.ndim
    shape[axis] = -1
    total: Array | None = None
    for tap in range(taps.index.shape[1]):
        weight = taps.weight[:, tap].astype(x.dtype).reshape(shape)
        part = x.take(taps.index[:, tap], axis=axis) * weight
        total = part if total is None else total + part
    assert total is not None
    return total
