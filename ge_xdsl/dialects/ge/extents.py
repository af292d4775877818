"""Shapes and counts that come from values: bounded, and read the same way everywhere.

A number in an attribute or a constant may ask for any amount of memory, so that each shape made
of such numbers passes through `bounded`.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING, Any

from xdsl.utils.exceptions import VerifyException

from ge_xdsl.dialects.ge.elements import INTEGERS
from ge_xdsl.dialects.ge.op import GeOp
from ge_xdsl.dialects.ge.operands import known_ints, vector_length
from ge_xdsl.dialects.ge.shapes import Shape, merge_dim, shape_text
from ge_xdsl.dialects.ge.types import DYNAMIC, DataType, Tensor, numpy_dtype

if TYPE_CHECKING:
    from ge_xdsl.dialects.ge.types import Array

ELEMENT_LIMIT = 2**40
"""The most elements of a result whose shape comes from values."""


def bounded(shape: Sequence[int]) -> tuple[int, ...]:
    """The shape; raises when it has negative dimensions or more than ELEMENT_LIMIT elements."""
    count = 1
    for dim in shape:
        if dim != DYNAMIC and dim < 0:
            raise VerifyException(f"shape is {list(shape)}, expected none negative")
        count *= 1 if dim == DYNAMIC else dim
    if count > ELEMENT_LIMIT:
        raise VerifyException(f"result has {count} elements, expected at most {ELEMENT_LIMIT}")
    return tuple(shape)


def ints_of(array: Array) -> list[int]:
    """The integers of an operand, flat."""
    return [int(v) for v in array.reshape(-1).tolist()]


def as_rows(array: Array) -> Array:
    """An array as a matrix of its last dimension, none of whose sizes need be known as not 0."""
    return array.reshape(prod(array.shape[:-1]), array.shape[-1])


def int_of(array: Array, name: str) -> int:
    """The one integer of an operand; raises ValueError when it has another count."""
    if array.size != 1:
        raise ValueError(f"{name} has {array.size} elements, expected 1")
    return int(array.reshape(-1)[0])


def listed_shape(op: GeOp, name: str, tensor: Tensor) -> Shape:
    """The shape that an i32 or i64 vector operand lists, as far as it is known."""
    count = vector_length(tensor, name)
    known = known_ints(op, name)
    if known is None:
        return None if count == DYNAMIC else (DYNAMIC,) * count
    return checked_shape(known)


def checked_shape(values: Sequence[int]) -> tuple[int, ...]:
    """A shape of values that must all be known: a negative one is refused."""
    if any(v < 0 for v in values):
        raise VerifyException(f"shape is {list(values)}, expected none negative")
    return bounded(values)


def count_of(value: int, name: str, least: int = 0) -> int:
    """A number of things; raises when it is below `least` or beyond ELEMENT_LIMIT."""
    if not least <= value <= ELEMENT_LIMIT:
        raise VerifyException(f"{name} is {value}, expected {least} to {ELEMENT_LIMIT}")
    return value


def merge_shapes(a: Shape, b: Shape, what: str) -> Shape:
    """The shape that both stand for; raises when they differ where both are known."""
    if a is None or b is None:
        return a if b is None else b
    if len(a) != len(b) or any(m != n and DYNAMIC not in (m, n) for m, n in zip(a, b, strict=True)):
        raise VerifyException(
            f"{what} are {shape_text(a)} and {shape_text(b)}, expected equal ones"
        )
    return tuple(merge_dim(m, n, what) for m, n in zip(a, b, strict=True))


def at_least_rank(tensor: Tensor, rank: int, name: str) -> None:
    """Raises when the rank is known and below `rank`."""
    if tensor.shape is not None and len(tensor.shape) < rank:
        raise VerifyException(f"{name} is {shape_text(tensor.shape)}, expected rank {rank} or more")


def of_rank(tensor: Tensor, rank: int, name: str) -> None:
    """Raises when the rank is known and another one."""
    if tensor.rank not in (None, rank):
        raise VerifyException(f"{name} is {shape_text(tensor.shape)}, expected rank {rank}")


def limit_of(dtype: DataType, lowest: bool) -> float:
    """The smallest or largest finite value of an element type, an int for integers."""
    import ml_dtypes

    info: Any = ml_dtypes.iinfo if dtype in INTEGERS else ml_dtypes.finfo
    limits = info(numpy_dtype(dtype))
    found = limits.min if lowest else limits.max
    return int(found) if dtype in INTEGERS else float(found)
