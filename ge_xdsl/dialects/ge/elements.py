"""Element types: what operands must agree on, promotion, and conversion of values."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any

from xdsl.irdl import traits_def
from xdsl.traits import Commutative, Pure
from xdsl.utils.exceptions import VerifyException

from ge_xdsl.dialects.ge.types import FLOATS, HALVES, DataType, Tensor, numpy_dtype

if TYPE_CHECKING:
    import numpy as np

    from ge_xdsl.dialects.ge.types import Array

COMMUTATIVE = traits_def(Pure(), Commutative())
"""The traits of an op with f(x1, x2) = f(x2, x1)."""

_SIGNED = {
    8: DataType.DT_INT8,
    16: DataType.DT_INT16,
    32: DataType.DT_INT32,
    64: DataType.DT_INT64,
}
_UNSIGNED = {
    8: DataType.DT_UINT8,
    16: DataType.DT_UINT16,
    32: DataType.DT_UINT32,
    64: DataType.DT_UINT64,
}
_COMPLEX = {16: DataType.DT_COMPLEX32, 32: DataType.DT_COMPLEX64, 64: DataType.DT_COMPLEX128}
_FLOAT_BITS = {
    DataType.DT_FLOAT16: 16,
    DataType.DT_BF16: 16,
    DataType.DT_FLOAT: 32,
    DataType.DT_DOUBLE: 64,
}
_BITS = {dtype: bits for table in (_SIGNED, _UNSIGNED) for bits, dtype in table.items()}

INTEGERS = frozenset(_BITS)
COMPLEX = frozenset(_COMPLEX.values())
INDICES = frozenset({DataType.DT_INT32, DataType.DT_INT64})
"""The element types of axes, shapes and indices."""
BOOL = frozenset({DataType.DT_BOOL})
NO_NUMBERS = frozenset(
    {
        DataType.DT_STRING,
        DataType.DT_STRING_REF,
        DataType.DT_RESOURCE,
        DataType.DT_VARIANT,
        DataType.DT_DUAL,
        DataType.DT_DUAL_SUB_INT8,
        DataType.DT_DUAL_SUB_UINT8,
        DataType.DT_UNDEFINED,
        DataType.DT_MAX,
    }
)
"""The data types that no value can be converted to or from."""


def one_element_type(*tensors: Tensor | None) -> DataType:
    """The element type that all share which are there; an undefined one agrees with any.

    Raises VerifyException when two differ.
    """
    found = DataType.DT_UNDEFINED
    for tensor in tensors:
        if tensor is None:
            continue
        if found is DataType.DT_UNDEFINED:
            found = tensor.dtype
        elif tensor.dtype not in (found, DataType.DT_UNDEFINED):
            raise VerifyException(
                f"operands are {found.name} and {tensor.dtype.name}, expected one element type"
            )
    return found


def require(tensor: Tensor, name: str, allowed: Collection[DataType], expected: str) -> None:
    """Raises unless the element type of operand `name` is undefined or one of `allowed`."""
    if tensor.dtype not in allowed and tensor.dtype is not DataType.DT_UNDEFINED:
        raise VerifyException(f"{name} is {tensor.dtype.name}, expected {expected}")


def promote(a: DataType, b: DataType) -> DataType:
    """The common type of a mixed arithmetic op.

    bool < integers < floats < complex; a kind above wins with its own width, within a kind the
    wider wins. f16 with bf16 gives f32, unsigned with signed the signed type that holds both.
    Raises VerifyException when there is none.
    """
    if a == b or b is DataType.DT_UNDEFINED:
        return a
    if a is DataType.DT_UNDEFINED:
        return b
    if a in COMPLEX or b in COMPLEX:
        return _COMPLEX[max(_component_bits(a), _component_bits(b))]
    for kind in (FLOATS, INTEGERS):
        if a in kind or b in kind:
            if a in kind and b in kind:
                return _wider_float(a, b) if kind is FLOATS else _wider_integer(a, b)
            _require_number(b if a in kind else a)
            return a if a in kind else b
    raise VerifyException(f"operands are {a.name} and {b.name}, expected numbers")


def _require_number(dtype: DataType) -> None:
    if dtype not in INTEGERS and dtype is not DataType.DT_BOOL:
        raise VerifyException(f"an operand is {dtype.name}, expected a number")


def _component_bits(dtype: DataType) -> int:
    """The width that a real or imaginary part needs to hold `dtype`; integers fit any."""
    if dtype in COMPLEX:
        return next(bits for bits, known in _COMPLEX.items() if known is dtype)
    if dtype not in FLOATS:
        _require_number(dtype)
        return 0
    return 32 if dtype is DataType.DT_BF16 else _FLOAT_BITS[dtype]


def _wider_float(a: DataType, b: DataType) -> DataType:
    if a in HALVES and b in HALVES:
        return DataType.DT_FLOAT
    return max(a, b, key=_FLOAT_BITS.__getitem__)


def _wider_integer(a: DataType, b: DataType) -> DataType:
    if (a in _SIGNED.values()) == (b in _SIGNED.values()):
        return max(a, b, key=_BITS.__getitem__)
    signed, unsigned = (a, b) if a in _SIGNED.values() else (b, a)
    bits = max(_BITS[signed], 2 * _BITS[unsigned])
    if bits not in _SIGNED:
        raise VerifyException(f"operands are {a.name} and {b.name}, expected a common integer type")
    return _SIGNED[bits]


def compute_dtype(dtype: DataType) -> np.dtype[Any]:
    """The numpy dtype that arithmetic on `dtype` runs in: f32 for halves, else its own."""
    return numpy_dtype(DataType.DT_FLOAT if dtype in HALVES else dtype)


def as_float(array: Array) -> Array:
    """Integers and booleans in f32, as the vector unit computes them; others as they are."""
    return array.astype("float32") if array.dtype.kind in "iub" else array


def rectify(x: Array, out: Array | None = None) -> Array:
    """max(x, 0), NaN stays: numpy's clip reads numbers in vectors where its maximum does not."""
    import numpy as np

    kind = x.dtype.type
    if x.dtype.kind != "f":
        return np.maximum(x, kind(0), out=out)
    return np.clip(x, kind(0), kind(np.inf), out=out)


def convert(array: Array, dtype: np.dtype[Any]) -> Array:
    """`array` in another element type, the way a cast op does it.

    To bool: x != 0. Float to integer: truncates toward 0 and saturates, NaN gives 0. Integer to
    integer wraps. To float: rounds to nearest even, an overflow gives an infinity (NaN in types
    without one). Complex to real: drops the imaginary part.
    """
    import numpy as np

    if array.dtype == dtype:
        return array
    if dtype == np.bool_:
        return array != 0
    if dtype.kind != "c" and array.dtype.kind == "c":
        array = array.real
    if array.dtype.kind == "V":  # small ml_dtypes types: f32 holds each of their values
        array = array.astype(np.float32)
    with np.errstate(all="ignore"):
        if array.dtype.kind == "f" and _is_integer(dtype):
            return _saturate(array, dtype)
        return array.astype(dtype)


def _is_integer(dtype: np.dtype[Any]) -> bool:
    return dtype.kind in "iu" or dtype.name.removeprefix("u") in ("int4", "int2")


def _saturate(array: Array, dtype: np.dtype[Any]) -> Array:
    import ml_dtypes
    import numpy as np

    limits = ml_dtypes.iinfo(dtype)
    low, high = float(limits.min), float(limits.max)
    if array.dtype.itemsize == 2:
        array = array.astype(np.float32)
    whole = np.trunc(array)
    inside = np.where((whole > low) & (whole < high), whole, 0)
    # astype of a float to a type of 4 bits takes a detour, as numpy has no direct one.
    found = inside.astype(dtype if dtype.kind in "iu" else np.int8)
    np.copyto(found, limits.max, where=whole >= high)
    np.copyto(found, limits.min, where=whole <= low)
    return found.astype(dtype, copy=False)
