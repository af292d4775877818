"""Picking elements by index, finding indices, and tensors made from numbers."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from xdsl.utils.exceptions import VerifyException

from ge_xdsl.dialects.ge.elements import INDICES, one_element_type, require
from ge_xdsl.dialects.ge.op import GeOp, boolean, data_type, integer, operand, result
from ge_xdsl.dialects.ge.operands import (
    check_index,
    check_scalar,
    known_int,
    known_ints,
    vector_length,
)
from ge_xdsl.dialects.ge.shapes import merge_dim, normalize_axis, shape_text
from ge_xdsl.dialects.ge.types import DYNAMIC, DataType, Tensor, numpy_dtype

if TYPE_CHECKING:
    from ge_xdsl.dialects.ge.types import Array


def wrap_indices(indices: Array, size: int, negative: bool) -> Array:
    """Indices counted from the front; raises ValueError for one outside [0, size).

    With `negative`, [-size, 0) counts from the end.
    """
    import numpy as np

    low = -size if negative else 0
    if indices.size and (indices.min() < low or indices.max() >= size):
        bad = indices[(indices < low) | (indices >= size)].reshape(-1)[0]
        raise ValueError(f"index is {bad}, expected one in [{low}, {size})")
    return np.where(indices < 0, indices + size, indices) if negative else indices


class GatherV2Op(GeOp):
    """y[..., j, ...] = x[..., indices[j], ...] along axis.

    The shape is x's before axis, that of indices after batch_dims, x's after axis. The first
    batch_dims dimensions of x and indices go together. Negative indices count from the end under
    negative_index_support and are an error without it. is_preprocessed is a kernel's hint.
    C1: indices and axis are i32 or i64. C2: axis is in [-rank, rank). C3: batch_dims is in
    [-rank(indices), rank(indices)] and not after axis. C4: the batch dimensions are equal.
    """

    name = "ge.GatherV2"

    x = operand()
    indices = operand()
    axis = operand()
    batch_dims = integer(0)
    is_preprocessed = boolean(False)
    negative_index_support = boolean(False)
    y = result()

    def infer(self, x: Tensor, indices: Tensor, axis: Tensor) -> Tensor:
        check_index(indices, "indices")  # C1
        check_index(axis, "axis")
        known = known_int(self, "axis")
        if x.shape is None or indices.shape is None:
            return x.with_shape(None)
        shape = x.shape or (1,)
        batch = self._batch(len(indices.shape))
        rank = len(shape) - 1 + len(indices.shape) - batch
        if known is None:
            return x.with_shape((DYNAMIC,) * rank)
        place = normalize_axis(known, len(shape))  # C2
        if batch > place:  # C3
            raise VerifyException(f"batch_dims is {batch}, expected at most axis {place}")
        head = [
            merge_dim(a, b, "batch dimensions of x and indices")  # C4
            for a, b in zip(shape[:batch], indices.shape[:batch], strict=True)
        ]
        return x.with_shape(
            (*head, *shape[batch:place], *indices.shape[batch:], *shape[place + 1 :])
        )

    def _batch(self, rank: int) -> int:
        if not -rank <= self.batch_dims <= rank:  # C3
            raise VerifyException(
                f"batch_dims is {self.batch_dims}, expected one in [{-rank}, {rank}]"
            )
        return self.batch_dims + rank if self.batch_dims < 0 else self.batch_dims

    def evaluate(self, x: Array, indices: Array, axis: Array) -> Array:
        import numpy as np

        x = np.atleast_1d(x)
        place = normalize_axis(int(axis.reshape(-1)[0]), x.ndim)
        picks = wrap_indices(indices, x.shape[place], self.negative_index_support)
        batch = self._batch(indices.ndim)
        if batch == 0:
            return np.take(x, picks, axis=place)
        head, middle, tail = x.shape[:batch], x.shape[batch:place], x.shape[place + 1 :]
        rows = math.prod(head)
        flat = x.reshape(rows, math.prod(middle), x.shape[place], math.prod(tail))
        # Two advanced indices around a slice: numpy puts their [rows, picks] first.
        found = flat[np.arange(rows)[:, None], :, picks.reshape(rows, -1)]
        return found.swapaxes(1, 2).reshape(*head, *middle, *indices.shape[batch:], *tail)


class GatherElementsOp(GeOp):
    """y[i, j, k] = x[index[i, j, k], j, k] for dim = 0, and so on for other dims.

    Negative indices count from the end. C1: index is i32 or i64. C2: x and index have one rank,
    at least 1. C3: dim is in [-rank, rank). C4: index is not larger than x in any dimension
    but dim.
    """

    name = "ge.GatherElements"

    x = operand()
    index = operand()
    dim = integer(0)
    y = result()

    def infer(self, x: Tensor, index: Tensor) -> Tensor:
        check_index(index, "index")  # C1
        if x.shape is not None and index.shape is not None:
            if not x.shape:  # C2
                raise VerifyException("x is scalar, expected rank 1 or more")
            if len(x.shape) != len(index.shape):  # C2
                raise VerifyException(
                    f"x and index are {shape_text(x.shape)} and {shape_text(index.shape)}, "
                    "expected one rank"
                )
            dim = normalize_axis(self.dim, len(x.shape), "dim")  # C3
            for i, (have, want) in enumerate(zip(x.shape, index.shape, strict=True)):
                if i != dim and DYNAMIC not in (have, want) and want > have:  # C4
                    raise VerifyException(
                        f"index has {want} in dimension {i}, expected at most {have} as in x"
                    )
        return x.with_shape(index.shape)

    def evaluate(self, x: Array, index: Array) -> Array:
        import numpy as np

        dim = normalize_axis(self.dim, x.ndim, "dim")
        picks = wrap_indices(index, x.shape[dim], negative=True)
        used = tuple(slice(None) if i == dim else slice(n) for i, n in enumerate(index.shape))
        return np.take_along_axis(x[used], picks, axis=dim)


_ONE_HOT_TYPES = INDICES | {DataType.DT_UINT8}


class OneHotOp(GeOp):
    """y[..., d, ...] = on_value where d == x[...], else off_value; `depth` entries at `axis`.

    An x outside [0, depth) gives a row of off_value. axis = -1 is last. A negative depth is 0.
    C1: x is u8, i32 or i64. C2: on_value and off_value have one element type. C3: depth is i32 or
    i64. C4: axis is in [-1, rank]. C5: depth, on_value and off_value are one number each.
    """

    name = "ge.OneHot"

    x = operand()
    depth = operand()
    on_value = operand()
    off_value = operand()
    axis = integer(-1)
    y = result()

    def infer(self, x: Tensor, depth: Tensor, on_value: Tensor, off_value: Tensor) -> Tensor:
        require(x, "x", _ONE_HOT_TYPES, "DT_UINT8, DT_INT32 or DT_INT64")  # C1
        one_element_type(on_value, off_value)  # C2
        check_index(depth, "depth")  # C3
        for tensor, name in ((depth, "depth"), (on_value, "on_value"), (off_value, "off_value")):
            check_scalar(tensor, name)  # C5
        if x.shape is None:
            return on_value.with_shape(None)
        axis = self._axis(len(x.shape))
        known = known_ints(self, "depth")
        count = DYNAMIC if not known else max(known[0], 0)
        return on_value.with_shape((*x.shape[:axis], count, *x.shape[axis:]))

    def _axis(self, rank: int) -> int:
        if not -1 <= self.axis <= rank:  # C4
            raise VerifyException(f"axis is {self.axis}, expected one in [-1, {rank}]")
        return rank if self.axis == -1 else self.axis

    def evaluate(self, x: Array, depth: Array, on_value: Array, off_value: Array) -> Array:
        import numpy as np

        axis = self._axis(x.ndim)
        steps = np.arange(max(int(depth.reshape(-1)[0]), 0))
        steps = steps.reshape(-1, *(1,) * (x.ndim - axis))
        hot = np.expand_dims(x, axis) == steps
        on, off = on_value.reshape(-1)[:1], off_value.reshape(-1)[:1]
        return np.where(hot, on, off)


class WhereOp(GeOp):
    """y = the indices of the elements of x that are not 0, row-major, i64 [n, rank].

    C1: x has rank >= 1.
    """

    name = "ge.Where"

    x = operand()
    y = result()

    def infer(self, x: Tensor) -> Tensor:
        if x.shape == ():  # C1
            raise VerifyException("x is scalar, expected rank 1 or more")
        return Tensor(DataType.DT_INT64, (DYNAMIC, DYNAMIC if x.shape is None else len(x.shape)))

    def evaluate(self, x: Array) -> Array:
        import numpy as np

        return np.argwhere(x).astype(np.int64, copy=False)


class NonZeroOp(GeOp):
    """y = the indices of the elements of x that are not 0, row-major: [n, rank].

    With transpose [rank, n]. C1: dtype is i32 or i64.
    """

    name = "ge.NonZero"

    x = operand()
    transpose = boolean(False)
    dtype = data_type(DataType.DT_INT64)
    y = result()

    def infer(self, x: Tensor) -> Tensor:
        if self.dtype not in INDICES:  # C1
            raise VerifyException(f"dtype is {self.dtype.name}, expected DT_INT32 or DT_INT64")
        rank = DYNAMIC if x.shape is None else len(x.shape)
        return Tensor(self.dtype, (rank, DYNAMIC) if self.transpose else (DYNAMIC, rank))

    def evaluate(self, x: Array) -> Array:
        import numpy as np

        found = np.argwhere(x).astype(numpy_dtype(self.dtype), copy=False)
        return found.T if self.transpose else found


class FillOp(GeOp):
    """y = value everywhere, in the shape that dims lists.

    C1: dims is i32 or i64 of rank 1. C2: value is one element. C3: dims are not negative.
    """

    name = "ge.Fill"

    dims = operand()
    value = operand()
    y = result()

    def infer(self, dims: Tensor, value: Tensor) -> Tensor:
        count = vector_length(dims, "dims")  # C1
        check_scalar(value, "value")  # C2
        known = known_ints(self, "dims")
        if known is None:
            return value.with_shape(None if count == DYNAMIC else (DYNAMIC,) * count)
        if any(d < 0 for d in known):  # C3
            raise VerifyException(f"dims are {list(known)}, expected none negative")
        return value.with_shape(known)

    def evaluate(self, dims: Array, value: Array) -> Array:
        import numpy as np

        shape = [int(d) for d in dims.reshape(-1).tolist()]
        if any(d < 0 for d in shape):
            raise ValueError(f"dims are {shape}, expected none negative")
        return np.full(shape, value.reshape(()), value.dtype)


def range_count(start: float, limit: float, delta: float, is_closed: bool) -> int:
    """ceil((limit - start) / delta), or floor(...) + 1 when closed; exact for integers."""
    if not all(map(math.isfinite, (start, limit, delta))):
        raise VerifyException(f"range from {start} to {limit} by {delta}, expected finite numbers")
    if delta == 0 or (limit - start) * delta < 0:
        raise VerifyException(
            f"range from {start} to {limit} by {delta}, expected a step that leads to the limit"
        )
    if isinstance(start, int) and isinstance(limit, int) and isinstance(delta, int):
        return (limit - start) // delta + 1 if is_closed else -((start - limit) // delta)
    steps = (limit - start) / delta
    return math.floor(steps) + 1 if is_closed else math.ceil(steps)


def _number(array: Array) -> float:
    """The one number of an array, as an int where it is one."""
    value = array.reshape(-1)[0]
    return int(value) if array.dtype.kind in "iu" else float(value)


class RangeOp(GeOp):
    """y = start, start + delta, ... before limit (up to it when is_closed).

    y has the operands' element type, f32 when they differ. C1: start, limit and delta are one
    number each. C2: delta is not 0 and leads from start to limit, all finite.
    """

    name = "ge.Range"

    start = operand()
    limit = operand()
    delta = operand()
    is_closed = boolean(False)
    y = result()

    widens = True

    def infer(self, start: Tensor, limit: Tensor, delta: Tensor) -> Tensor:
        for tensor, name in ((start, "start"), (limit, "limit"), (delta, "delta")):
            check_scalar(tensor, name)  # C1
        one = start.dtype == limit.dtype == delta.dtype
        dtype = start.dtype if one else DataType.DT_FLOAT
        known = [self.constant(name) for name in ("start", "limit", "delta")]
        if any(array is None for array in known):
            return Tensor(dtype, (DYNAMIC,))
        first, last, step = (_number(array) for array in known if array is not None)
        return Tensor(dtype, (range_count(first, last, step, self.is_closed),))  # C2

    def evaluate(self, start: Array, limit: Array, delta: Array) -> Array:
        import numpy as np

        first, last, step = (_number(array) for array in (start, limit, delta))
        count = range_count(first, last, step, self.is_closed)
        dtype = start.dtype if start.dtype == limit.dtype == delta.dtype else np.dtype("f4")
        exact = np.dtype("i8") if dtype.kind in "iu" else np.dtype("f8")
        return (exact.type(first) + np.arange(count, dtype=exact) * exact.type(step)).astype(dtype)
