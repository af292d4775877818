"""Normalisation over the trailing dimensions: what its ops ask of gamma, and their moments."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xdsl.utils.exceptions import VerifyException

from ge_xdsl.dialects.ge.elements import FLOATS, require
from ge_xdsl.dialects.ge.extents import merge_shapes
from ge_xdsl.dialects.ge.shapes import Shape, shape_text
from ge_xdsl.dialects.ge.types import DYNAMIC, DataType, Tensor

if TYPE_CHECKING:
    from ge_xdsl.dialects.ge.types import Array


def check_floats(**tensors: Tensor | None) -> None:
    """The operands that are there, by name, are floating-point tensors."""
    for name, tensor in tensors.items():
        if tensor is not None:
            require(tensor, name, FLOATS, "a floating-point type")


def one_shape(**tensors: Tensor | None) -> Shape:
    """The shape that all operands that are there share, as far as it is known."""
    found: Shape = None
    given = [(name, tensor) for name, tensor in tensors.items() if tensor is not None]
    for name, tensor in given:
        found = merge_shapes(found, tensor.shape, f"{given[0][0]} and {name}")
    return found


def check_suffix(shape: Shape, tensor: Tensor | None, name: str) -> None:
    """An operand has the trailing dimensions of `shape`, one or more of them."""
    if shape is None or tensor is None or tensor.shape is None:
        return
    tail = shape[len(shape) - len(tensor.shape) :]
    pairs = zip(tail, tensor.shape, strict=False)
    fits = 0 < len(tensor.shape) <= len(shape)
    if not fits or any(a != b and DYNAMIC not in (a, b) for a, b in pairs):
        raise VerifyException(
            f"{name} is {shape_text(tensor.shape)}, expected the last dimensions of "
            f"{shape_text(shape)}"
        )


def moment(shape: Shape, gamma: Shape, dtype: DataType = DataType.DT_FLOAT) -> Tensor:
    """A mean or 1/deviation: `shape` with 1 for each dimension that gamma has."""
    if shape is None or gamma is None:
        return Tensor(dtype, None)
    kept = len(shape) - len(gamma)
    return Tensor(dtype, (*shape[:kept], *(1,) * len(gamma)))


def over_rows(shape: Shape, gamma: Shape) -> Shape:
    """`shape` without the dimensions that gamma has."""
    if shape is None or gamma is None:
        return None
    return shape[: len(shape) - len(gamma)]


def last_axes(count: int) -> tuple[int, ...]:
    """The last `count` axes, as negative numbers."""
    return tuple(range(-count, 0))


def root_mean_square(x: Array, rank: int, epsilon: float) -> Array:
    """1 / sqrt(mean(x^2) + epsilon) over the last `rank` dimensions, which stay as 1."""
    import numpy as np

    square = np.mean(x * x, axis=last_axes(rank), keepdims=True, dtype=x.dtype)
    return 1 / np.sqrt(square + x.dtype.type(epsilon))


def standardize(x: Array, rank: int, epsilon: float) -> tuple[Array, Array, Array]:
    """(x - mean) * rstd, mean and rstd over the last `rank` dimensions, which stay as 1."""
    import numpy as np

    axes = last_axes(rank)
    mean = np.mean(x, axis=axes, keepdims=True, dtype=x.dtype)
    centred = x - mean
    variance = np.mean(centred * centred, axis=axes, keepdims=True, dtype=x.dtype)
    rstd = 1 / np.sqrt(variance + x.dtype.type(epsilon))
    return centred * rstd, mean, rstd
