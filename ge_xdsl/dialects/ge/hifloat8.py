"""HiFloat8: 8 bits whose exponent gets as many of them as it needs.

A code is a sign, a prefix that says how many bits D the exponent has, the exponent, and the
mantissa in what is left:

    prefix   11    10    01    001   0001   0000
    D         4     3     2     1      0    -
    mantissa  1     2     3     3      3    -
    exponent  8-15  4-7   2-3   1      0    in size, each of both signs

The D exponent bits are a sign and D - 1 bits behind a leading one that is not stored. Under 0000
the last three bits m give 2^(m - 23), from 2^-22 to 2^-16; m = 0 is zero, or NaN with the sign bit.
The largest exponent with mantissa 1 is an infinity, so that 2^15 is the largest number. There is
no negative zero. Source: the published definition of the format (arXiv 2409.16626).

Numbers round to the nearest, halves away from zero. That those from 1.25 * 2^15 on, half way to
where an infinity stands, give one is unconfirmed: devices may saturate instead. In memory the
numbers are held as f16, which has every one of them.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from ge_xdsl.dialects.ge.types import DataType, numpy_dtype

if TYPE_CHECKING:
    import numpy as np

    from ge_xdsl.dialects.ge.types import Array

LARGEST = 2.0**15
NAN_CODE = 0x80
INFINITY_CODE = 0x6F
_PREFIXES = ((0b11, 2, 4), (0b10, 2, 3), (0b01, 2, 2), (0b001, 3, 1), (0b0001, 4, 0))
"""Prefix, its length, and how many exponent bits follow."""


def number_of(code: int) -> float:
    """The number of a code of 8 bits."""
    sign = -1.0 if code & 0x80 else 1.0
    rest = code & 0x7F
    if rest == INFINITY_CODE:
        return sign * float("inf")
    for prefix, length, bits in _PREFIXES:
        left = 7 - length
        if rest >> left == prefix:
            mantissa_bits = left - bits
            field = rest >> mantissa_bits & (1 << bits) - 1
            fraction = (rest & (1 << mantissa_bits) - 1) / (1 << mantissa_bits)
            return sign * (1 + fraction) * 2.0 ** _exponent(field, bits)
    if rest == 0:
        return 0.0 if sign > 0 else float("nan")
    return sign * 2.0 ** (rest - 23)


def _exponent(field: int, bits: int) -> int:
    """A sign bit before a size whose leading one is left out; 0 has no bits."""
    if bits == 0:
        return 0
    size = 1 << bits - 1 | field & (1 << bits - 1) - 1
    return -size if field >> bits - 1 else size


@cache
def _numbers() -> Array:
    """[256] f16: the numbers of all codes."""
    import numpy as np

    return np.array([number_of(code) for code in range(256)], np.float16)


@cache
def _ladder() -> tuple[Array, Array]:
    """The finite numbers from 0 up in f64 with an infinity behind them, and the bounds between."""
    import numpy as np

    numbers = _numbers()[:128].astype(np.float64)
    finite = np.sort(numbers[np.isfinite(numbers)])
    next_up = np.append(finite[1:], 1.5 * LARGEST)
    return np.append(finite, np.inf), (finite + next_up) / 2


def nearest(x: Array) -> Array:
    """Floats as the nearest HiFloat8 numbers, in f16."""
    import numpy as np

    values, bounds = _ladder()
    wide = np.asarray(x).astype(np.float64)
    size = values[np.searchsorted(bounds, np.abs(wide), side="right")]
    found = np.where(size == 0, 0, np.copysign(size, wide))
    return np.where(np.isnan(wide), np.nan, found).astype(np.float16)


def decode(codes: Array) -> Array:
    """u8 codes -> f16 numbers."""
    return _numbers()[codes]


def encode(numbers: Array) -> Array:
    """Numbers of the format (as `nearest` gives them) -> u8 codes."""
    import numpy as np

    values = _numbers()[:128].astype(np.float64)
    order = np.argsort(values)
    wide = np.asarray(numbers).astype(np.float64)
    codes = order[np.searchsorted(values[order], np.abs(wide)).clip(max=127)].astype(np.uint8)
    codes = np.where(wide < 0, codes | 0x80, codes)
    return np.where(np.isnan(wide), NAN_CODE, codes).astype(np.uint8)


def as_stored(array: Array, dtype: DataType) -> Array:
    """Values of an element type as a file or a device holds them: HiFloat8 as codes."""
    return encode(array) if dtype is DataType.DT_HIFLOAT8 else array


def stored_kind(dtype: DataType) -> np.dtype[Any]:
    """The numpy type of what `as_stored` gives."""
    import numpy as np

    return np.dtype(np.uint8) if dtype is DataType.DT_HIFLOAT8 else numpy_dtype(dtype)


def from_stored(array: Array, dtype: DataType) -> Array:
    """The values of what `as_stored` gives."""
    return decode(array) if dtype is DataType.DT_HIFLOAT8 else array
