"""From numbers to quantised codes: rounding modes, saturation, and scales of 19 bits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from xdsl.utils.exceptions import VerifyException

from ge_xdsl.dialects.ge import hifloat8
from ge_xdsl.dialects.ge.types import DataType, numpy_dtype

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from ge_xdsl.dialects.ge.types import Array

CODES = frozenset({DataType.DT_INT8, DataType.DT_INT4})
"""The integer types of quantised values."""
SMALL_FLOATS = frozenset({DataType.DT_FLOAT8_E5M2, DataType.DT_FLOAT8_E4M3FN, DataType.DT_HIFLOAT8})
"""The 8-bit floats of quantised values."""
LARGEST = {
    DataType.DT_INT8: 127.0,
    DataType.DT_INT4: 7.0,
    DataType.DT_FLOAT8_E5M2: 57344.0,
    DataType.DT_FLOAT8_E4M3FN: 448.0,
    DataType.DT_HIFLOAT8: hifloat8.LARGEST,
}
"""The largest value that symmetric quantisation gives."""
MODES = ("round", "rint", "floor", "ceil", "trunc")
"""The rounding modes; `round` and `rint` round half to even."""


def chosen_type(number: int, name: str, allowed: Collection[DataType]) -> DataType:
    """The data type that an integer attribute names, one of `allowed`."""
    for dtype in sorted(allowed):
        if dtype == number:
            return dtype
    options = [f"{int(t)} ({t.name})" for t in sorted(allowed)]
    raise VerifyException(f"{name} is {number}, expected {_either(options)}")


def _either(options: Sequence[str]) -> str:
    return " or ".join(filter(None, (", ".join(options[:-1]), options[-1])))


def chosen(value: str | int, name: str, allowed: Collection[Any]) -> None:
    """Raises unless the attribute `name` has one of the values `allowed`."""
    if value not in allowed:
        shown = f"'{value}'" if isinstance(value, str) else value
        options = [str(v) or "''" for v in allowed]
        raise VerifyException(f"{name} is {shown}, expected {_either(options)}")


def check_away(dtype: DataType, mode: str) -> None:
    """HiFloat8 rounds halves away from zero: the meaning of other modes is not known."""
    if dtype is DataType.DT_HIFLOAT8 and mode.lower() != "round":
        raise VerifyException(f"round_mode is '{mode}', expected 'round' for {dtype.name}")


def to_codes(x: Array, dtype: DataType, mode: str = "rint") -> Array:
    """f32 numbers as `dtype`: rounded and clipped (NaN is 0), or cast to a small float."""
    import numpy as np

    wanted = numpy_dtype(dtype)
    if dtype is DataType.DT_HIFLOAT8:
        return hifloat8.nearest(x)
    if dtype in SMALL_FLOATS:
        return x.astype(wanted)
    import ml_dtypes

    limits = ml_dtypes.iinfo(wanted)
    steps: dict[str, Any] = {"floor": np.floor, "ceil": np.ceil, "trunc": np.trunc}
    whole = steps.get(mode.lower(), np.rint)(x)
    whole = np.clip(np.where(np.isnan(whole), 0, whole), float(limits.min), float(limits.max))
    if dtype is DataType.DT_INT4:
        return whole.astype(np.int8).astype(wanted)
    return _whole(whole, wanted, limits)


def _whole(whole: Array, wanted: Any, limits: Any) -> Array:
    """Clipped whole numbers in an integer type whose limits f32 may not hold."""
    import numpy as np

    if wanted.itemsize < 4:
        return whole.astype(wanted)
    found = np.where(whole >= float(limits.max), 0, whole).astype(wanted)
    np.copyto(found, limits.max, where=whole >= float(limits.max))
    return found


def symmetric(x: Array, axes: tuple[int, ...], dtype: DataType, least: float = 0.0) -> Any:
    """(codes, scale): scale = max|x| / Q over axes, codes = rint(x / scale); 0 where scale is 0."""
    import numpy as np

    largest = np.max(np.abs(x), axis=axes, keepdims=True, initial=np.float32(least))
    scale = (largest / np.float32(LARGEST[dtype])).astype(np.float32)
    codes = to_codes(x / np.where(scale == 0, np.float32(1), scale), dtype)
    return codes, np.squeeze(scale, axis=axes)


def short_scale(scale: Array) -> Array:
    """f32 scales with the 10 highest bits of the fraction, as the cube unit keeps them.

    u64 and i64 scales hold the f32 in their low half.
    """
    import numpy as np

    if scale.dtype.kind in "iu":
        low = (scale.astype(np.uint64) & np.uint64(0xFFFFFFFF)).astype(np.uint32)
    else:
        low = scale.astype(np.float32).view(np.uint32)
    return (low & np.uint32(0xFFFFE000)).view(np.float32)
