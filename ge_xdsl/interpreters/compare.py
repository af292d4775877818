"""Are two arrays equal for the purpose of a test? One rule for everybody.

The rule of the CANN accuracy standard: the mean relative error is below thr and the largest one
below 10 thr, thr = 2^-10 for f16, 2^-7 for bf16, 2^-13 for f32; where the reference is small
(below 2^-11, 2^-8, 2^-14) the absolute error counts instead, and the result may have at most twice
as many elements with more than 2^-16, 2^-16, 2^-30 of it as a result rounded once has. Integers
are equal exactly. Beside it stands the plain rule max|diff| <= 1e-3 max|reference|.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ge_xdsl.dialects.ge.types import DataType, dtype_of_numpy

if TYPE_CHECKING:
    from ge_xdsl.dialects.ge.types import Array

THRESHOLD = {
    DataType.DT_FLOAT16: 2**-10,
    DataType.DT_BF16: 2**-7,
    DataType.DT_FLOAT: 2**-13,
    DataType.DT_DOUBLE: 2**-13,
}
"""Element type -> thr."""
SMALL = {
    DataType.DT_FLOAT16: (2**-11, 2**-16),
    DataType.DT_BF16: (2**-8, 2**-16),
    DataType.DT_FLOAT: (2**-14, 2**-30),
    DataType.DT_DOUBLE: (2**-14, 2**-30),
}
"""Element type -> below which magnitude a value is small, and the absolute error it may have."""
EPSILON = 1e-7
PLAIN_RATIO = 1e-3


@dataclass(frozen=True, slots=True)
class Comparison:
    """`ok` by the standard, `plain` by the plain rule, and the errors; `text` says it in words."""

    ok: bool
    plain: bool
    max_abs: float
    mere: float
    """Mean relative error of the values that are not small."""
    mare: float
    """Largest relative error of the values that are not small."""
    text: str


def accept(got: Array, want: Array, dtype: DataType | None = None) -> Comparison:
    """Compare a result with its reference; `dtype` (of the result, else `got`'s) sets thr."""
    import numpy as np

    kind = dtype if dtype is not None else dtype_of_numpy(got.dtype)
    if got.shape != want.shape:
        return _refused(f"shape is {got.shape}, expected {want.shape}")
    if kind not in THRESHOLD:
        return _exact(got, want)
    if not got.size:
        return Comparison(True, True, 0.0, 0.0, 0.0, "no elements")
    a, b = got.astype(np.float64), want.astype(np.float64)
    special = ~(np.isfinite(a) & np.isfinite(b))
    if special.any():
        same = (a == b) | (np.isnan(a) & np.isnan(b))
        if not same[special].all():
            count = int((special & ~same).sum())
            return _refused(f"{count} infinities or NaNs differ")
        a, b = a[~special], b[~special]
    return _floats(np.abs(a - b), np.abs(b), kind)


def _floats(diff: Array, size: Array, kind: DataType) -> Comparison:
    """The rule for finite values: absolute errors and magnitudes of the reference."""
    below, allowed = SMALL[kind]
    threshold = THRESHOLD[kind]
    small = size < below
    relative = diff[~small] / (size[~small] + EPSILON)
    mere = float(relative.mean()) if relative.size else 0.0
    mare = float(relative.max()) if relative.size else 0.0
    bad_small = int((diff[small] > allowed).sum())
    # a reference rounded once has no such element, and max(0, 1) * 2 of them are accepted
    ok = mere < threshold and mare < 10 * threshold and bad_small <= 2
    max_abs = float(diff.max()) if diff.size else 0.0
    plain = max_abs <= PLAIN_RATIO * (float(size.max()) if size.size else 0.0)
    text = (
        f"max abs {max_abs:.3g}, mean rel {mere:.3g} of {threshold:.3g}, "
        f"max rel {mare:.3g} of {10 * threshold:.3g}"
    )
    if bad_small:
        text += f", {bad_small} small values off by more than {allowed:.3g}"
    return Comparison(ok, plain, max_abs, mere, mare, text)


def _exact(got: Array, want: Array) -> Comparison:
    wrong = int((got != want).sum())
    if wrong:
        return _refused(f"{wrong} of {got.size} elements differ, expected equal ones")
    return Comparison(True, True, 0.0, 0.0, 0.0, "equal")


def _refused(text: str) -> Comparison:
    return Comparison(False, False, float("inf"), float("inf"), float("inf"), text)
