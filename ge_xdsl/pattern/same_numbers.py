"""When constants of different element types hold the same numbers, at the precision of both."""

from __future__ import annotations

from math import floor, isfinite, isnan, log2
from typing import TYPE_CHECKING

from ge_xdsl.dialects.ge.op import GeOp
from ge_xdsl.dialects.ge.types import DataType, numpy_dtype, tensor_of
from ge_xdsl.pattern.access import data_uses, operands_of, user_of
from ge_xdsl.pattern.equal import SHOWN
from ge_xdsl.pattern.exact import MANTISSA

if TYPE_CHECKING:
    from ge_xdsl.dialects.ge.types import Array


def number_difference(
    have: Array, dtype: DataType, wanted: Array, wanted_dtype: DataType, ulps: int = 0
) -> str:
    """How the elements of two constants of one size differ, '' when they are the same numbers.

    Two floats are rounded to the narrower of the two types first; `ulps`: how many steps of that
    type they may be apart. An integer is the float of its value.
    """
    narrow = None
    if dtype in MANTISSA and wanted_dtype in MANTISSA:
        narrow = min(dtype, wanted_dtype, key=lambda t: MANTISSA[t])
    elif not (_is_number(have, dtype) and _is_number(wanted, wanted_dtype)):
        return f"const is {dtype.name}, expected {wanted_dtype.name}"
    pairs = zip(_numbers(have, narrow), _numbers(wanted, narrow), strict=True)
    if all(_near(a, b, narrow, ulps) for a, b in pairs):
        return ""
    if have.size > SHOWN:
        return f"const value differs from the {wanted.size} numbers expected"
    return f"const value is {have.tolist()}, expected {wanted.tolist()}"


def _is_number(array: Array, dtype: DataType) -> bool:
    return dtype in MANTISSA or array.dtype.kind in "biu"


def _numbers(array: Array, dtype: DataType | None) -> list[float]:
    """The elements as Python numbers, rounded to a float type where one is given."""
    import numpy as np

    if dtype is not None:
        with np.errstate(all="ignore"):
            array = array.astype(numpy_dtype(dtype))
    wide = array if array.dtype.kind in "biu" else array.astype(np.float64)
    return wide.ravel().tolist()


def _near(a: float, b: float, dtype: DataType | None, ulps: int) -> bool:
    if a == b or (isnan(a) and isnan(b)):
        return True
    if not ulps or dtype is None or not (isfinite(a) and isfinite(b)):
        return False
    exponent = floor(log2(max(abs(a), abs(b))))
    return abs(a - b) <= ulps * 2.0 ** (exponent + 1 - MANTISSA[dtype])


def keeps_ranks(op: GeOp) -> bool:
    """Whether a constant of one element, or a Cast of one, raises the rank of no reader's result.

    Then it stands for a scalar: `[1]` beside a vector is as good as `[]`.
    """
    value = op.results[0]
    rank = len(tensor_of(value.type).shape or ())
    for use in data_uses(value):
        user = user_of(use)
        if isinstance(user, GeOp) and user.op_type == "Cast":
            if not keeps_ranks(user):
                return False
            continue
        others = [v for v in operands_of(user) if v is not value]
        shapes = [tensor_of(v.type).shape for v in others]
        if not any(shape is not None and len(shape) >= rank for shape in shapes):
            return rank == 0
    return True
