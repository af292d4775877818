"""Reading images at positions between their elements, in any number of dimensions.

`planes` are [N, C, sizes...]; positions are one [N, P] array per spatial dimension, in elements
(0 is the centre of the first one). Results are [N, C, P].
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from math import prod
from typing import TYPE_CHECKING, Any

from ge_xdsl.dialects.ge.resampling import cubic_weights

if TYPE_CHECKING:
    from ge_xdsl.dialects.ge.types import Array

Positions = Sequence["Array"]


def pick(planes: Array, indices: Positions) -> Array:
    """The elements at integer positions; 0 outside."""
    import numpy as np

    sizes = planes.shape[2:]
    n, c = planes.shape[:2]
    inside: Array = np.ones(indices[0].shape, np.bool_)
    place: Array = np.zeros(indices[0].shape, np.int64)
    for index, size in zip(indices, sizes, strict=True):
        inside &= (index >= 0) & (index < size)
        place = place * size + np.clip(index, 0, max(size - 1, 0))
    flat = planes.reshape(n, c, prod(sizes))
    if not flat.shape[2]:
        return np.zeros((n, c, indices[0].shape[1]), planes.dtype)
    found = np.take_along_axis(flat, place[:, None, :], axis=2)
    return np.where(inside[:, None, :], found, planes.dtype.type(0))


def finite(position: Array, size: int) -> Array:
    """Positions that fit an integer: what is not a number or far outside lies at -2 or size + 1."""
    import numpy as np

    return np.clip(np.nan_to_num(position, nan=-2.0), -2, size + 1)


def nearest(planes: Array, positions: Positions) -> Array:
    """The element whose centre is nearest, the even one of two; 0 outside."""
    import numpy as np

    pairs = zip(positions, planes.shape[2:], strict=True)
    return pick(planes, [np.rint(finite(p, size)).astype(np.int64) for p, size in pairs])


def linear(planes: Array, positions: Positions) -> Array:
    """The multilinear interpolation of the neighbours; those outside count as 0."""
    import numpy as np

    places = [finite(p, size) for p, size in zip(positions, planes.shape[2:], strict=True)]
    lows = [np.floor(p) for p in places]
    total: Array = np.zeros((*planes.shape[:2], places[0].shape[1]), planes.dtype)
    for corner in product((0, 1), repeat=len(places)):
        weight: Array = np.ones(places[0].shape, places[0].dtype)
        indices: list[Array] = []
        for place, low, step in zip(places, lows, corner, strict=True):
            weight = weight * (place - low if step else 1 - (place - low))
            indices.append(low.astype(np.int64) + step)
        total = total + pick(planes, indices) * weight.astype(planes.dtype)[:, None, :]
    return total


def cubic(planes: Array, positions: Positions, padding: str, align: bool) -> Array:
    """The bicubic interpolation (a = -0.75) of 16 neighbours, which are padded one by one."""
    import numpy as np

    sizes = planes.shape[2:]
    places = [np.nan_to_num(p, nan=-2.0) for p in positions]
    lows = [np.floor(p) for p in places]
    weights = [cubic_weights(p - low, -0.75) for p, low in zip(places, lows, strict=True)]
    total: Array = np.zeros((*planes.shape[:2], places[0].shape[1]), planes.dtype)
    for taps in product(range(4), repeat=len(sizes)):
        indices: list[Array] = []
        weight: Array = np.ones(places[0].shape, places[0].dtype)
        for tap, low, size, weighted in zip(taps, lows, sizes, weights, strict=True):
            place = pad_position(low + (tap - 1), size, padding, align)
            indices.append(finite(place, size).astype(np.int64))
            weight = weight * weighted[..., tap]
        total = total + pick(planes, indices) * weight.astype(planes.dtype)[:, None, :]
    return total


def pad_position(position: Array, size: int, padding: str, align: bool) -> Array:
    """`zeros` leaves positions outside; `border` clips them and `reflection` mirrors them.

    The mirrors stand at the outer elements' centres with `align`, else at their outer edges.
    """
    import numpy as np

    if padding == "zeros":
        return position
    mirrored = _mirrored(position, size, align) if padding == "reflection" else position
    return np.clip(mirrored, 0, size - 1)


def _mirrored(position: Array, size: int, align: bool) -> Array:
    """Positions folded back and forth between the mirrors."""
    import numpy as np

    kind = position.dtype.type
    low: Any = kind(0 if align else -0.5)
    span: Any = kind(size - 1 if align else size)
    if span == 0:
        return np.zeros_like(position)
    away: Array = np.abs(position - low)
    extra: Array = np.fmod(away, span)
    even: Array = np.floor(away / span) % 2 == 0
    inner, outer = np.asarray(extra + low), np.asarray(span - extra + low)
    return np.where(even, inner, outer)
