"""Choosing elements by mask, and sets of elements; the number of results depends on values."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xdsl.utils.exceptions import VerifyException

from ge_xdsl.dialects.ge.arg import check_index_type
from ge_xdsl.dialects.ge.elements import BOOL, INDICES, one_element_type, require
from ge_xdsl.dialects.ge.extents import ints_of, of_rank
from ge_xdsl.dialects.ge.fields import boolean, data_type, integer, operand, result
from ge_xdsl.dialects.ge.op import GeOp
from ge_xdsl.dialects.ge.operands import known_ints, vector_length
from ge_xdsl.dialects.ge.shapes import broadcast, normalize_axis
from ge_xdsl.dialects.ge.types import DYNAMIC, DataType, Tensor, numpy_dtype

if TYPE_CHECKING:
    from ge_xdsl.dialects.ge.types import Array


class MaskedSelectOp(GeOp):
    """y = the elements of x where mask is true, row-major, after broadcasting both: [n].

    C1: the shapes broadcast. C2: mask is boolean.
    """

    name = "ge.MaskedSelect"

    x = operand()
    mask = operand()
    y = result()

    def infer(self, x: Tensor, mask: Tensor) -> Tensor:
        require(mask, "mask", BOOL, "DT_BOOL")  # C2
        broadcast(x.shape, mask.shape)  # C1
        return x.with_shape((DYNAMIC,))

    def evaluate(self, x: Array, mask: Array) -> Array:
        import numpy as np

        x, mask = np.broadcast_arrays(x, mask)
        return x[mask]


class MaskedSelectV2Op(MaskedSelectOp):
    """y = the elements of x where mask is true, row-major, after broadcasting both: [n].

    C1: the shapes broadcast. C2: mask is boolean.
    """

    name = "ge.MaskedSelectV2"


def first_unique(x: Array, axis: int) -> tuple[Array, Array, Array]:
    """The distinct slices of x along axis in order of appearance, their numbers, their counts."""
    import numpy as np

    found, first, inverse, counts = np.unique(
        x, return_index=True, return_inverse=True, return_counts=True, axis=axis, equal_nan=False
    )
    order = np.argsort(first, kind="stable")
    rank = np.empty_like(order)
    rank[order] = np.arange(order.size)
    return np.take(found, order, axis=axis), rank[inverse.reshape(-1)], counts[order]


class _Unique(GeOp):
    widens = True

    def unique_types(self, x: Tensor, axis: int, index: DataType) -> tuple[Tensor, Tensor, Tensor]:
        check_index_type(index, "out_idx")  # C1
        count = Tensor(index, (DYNAMIC,))
        if x.shape is None:
            return x, count, count
        place = normalize_axis(axis, len(x.shape))  # C2
        shape = (*x.shape[:place], DYNAMIC, *x.shape[place + 1 :])
        return x.with_shape(shape), Tensor(index, (x.shape[place],)), count

    def split(self, x: Array, axis: int, index: DataType) -> tuple[Array, Array, Array]:
        y, numbers, counts = first_unique(x, normalize_axis(axis, x.ndim))
        dtype = numpy_dtype(index)
        return y, numbers.astype(dtype), counts.astype(dtype)


class UniqueOp(_Unique):
    """y = the distinct elements of x in order of appearance; x[i] = y[idx[i]].

    NaNs are distinct. C1: out_idx is i32 or i64. C2: x is a vector.
    """

    name = "ge.Unique"

    x = operand()
    y = result()
    idx = result()
    out_idx = data_type(DataType.DT_INT32)

    def infer(self, x: Tensor) -> tuple[Tensor, Tensor]:
        of_rank(x, 1, "x")  # C2
        return self.unique_types(_as_vector(x), 0, self.out_idx)[:2]

    def evaluate(self, x: Array) -> tuple[Array, Array]:
        return self.split(x, 0, self.out_idx)[:2]


def _as_vector(x: Tensor) -> Tensor:
    return x.with_shape((DYNAMIC,)) if x.shape is None else x


class UniqueWithCountsOp(_Unique):
    """y = the distinct elements of x in order of appearance; x[i] = y[idx[i]]; count of each.

    NaNs are distinct. C1: out_idx is i32 or i64. C2: x is a vector.
    """

    name = "ge.UniqueWithCounts"

    x = operand()
    y = result()
    idx = result()
    count = result()
    out_idx = data_type()

    def infer(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        of_rank(x, 1, "x")  # C2
        return self.unique_types(_as_vector(x), 0, self.out_idx)

    def evaluate(self, x: Array) -> tuple[Array, Array, Array]:
        return self.split(x, 0, self.out_idx)


class _UniqueAxis(_Unique):
    x = operand()
    axis = operand()
    y = result()
    idx = result()

    def axis_types(self, x: Tensor, axis: Tensor, index: DataType) -> tuple[Tensor, ...]:
        count = vector_length(axis, "axis")  # C3
        if count not in (DYNAMIC, 0, 1):  # C3
            raise VerifyException(f"axis has {count} elements, expected 0 or 1")
        known = () if count == 0 else known_ints(self, "axis")
        if known:
            return self.unique_types(x, known[0], index)
        if known == ():
            of_rank(x, 1, "x")  # C4
            return self.unique_types(_as_vector(x), 0, index)
        check_index_type(index, "out_idx")  # C1
        vague = None if x.shape is None else (DYNAMIC,) * len(x.shape)
        vector = Tensor(index, (DYNAMIC,))
        return x.with_shape(vague), vector, vector

    def axis_split(self, x: Array, axis: Array, index: DataType) -> tuple[Array, Array, Array]:
        places = ints_of(axis)  # one, or none for a vector, as `infer` has it
        return self.split(x, places[0] if places else 0, index)


class UniqueExt2Op(_UniqueAxis):
    """y = the distinct slices of x along axis in order of appearance; slice i of x is idx[i] of y.

    NaNs are distinct. C1: out_idx is i32 or i64. C2: axis is a dimension of x. C3: it is an i32 or
    i64 list of at most one. C4: x is a vector when axis is empty.
    """

    name = "ge.UniqueExt2"

    out_idx = data_type(DataType.DT_INT32)

    def infer(self, x: Tensor, axis: Tensor) -> tuple[Tensor, ...]:
        return self.axis_types(x, axis, self.out_idx)[:2]

    def evaluate(self, x: Array, axis: Array) -> tuple[Array, ...]:
        return self.axis_split(x, axis, self.out_idx)[:2]


class UniqueWithCountsExt2Op(_UniqueAxis):
    """y = the distinct slices of x along axis in order of appearance; slice i of x is idx[i] of y.

    count is how often each appears. NaNs are distinct. C1: out_idx is i32 or i64. C2: axis is a
    dimension of x. C3: it is an i32 or i64 list of at most one. C4: x is a vector when axis is
    empty.
    """

    name = "ge.UniqueWithCountsExt2"

    count = result()
    out_idx = data_type()

    def infer(self, x: Tensor, axis: Tensor) -> tuple[Tensor, ...]:
        return self.axis_types(x, axis, self.out_idx)

    def evaluate(self, x: Array, axis: Array) -> tuple[Array, ...]:
        return self.axis_split(x, axis, self.out_idx)


_ALL = 1000
"""The axis of UniqueConsecutive that means none: x is flattened."""


class UniqueConsecutiveOp(GeOp):
    """y = x without elements that equal the one before; slices along axis when it is given.

    axis = 1000, the default, flattens x. idx is the number of each element's run (in x's shape
    when flattened), count the length of each run; what is not asked for is empty. NaNs are
    distinct. C1: out_idx is i32 or i64. C2: axis is a dimension of x or 1000.
    """

    name = "ge.UniqueConsecutive"

    x = operand()
    y = result()
    idx = result()
    count = result()
    return_idx = boolean(False)
    return_counts = boolean(False)
    axis = integer(_ALL)
    out_idx = data_type(DataType.DT_INT64)

    widens = True

    def infer(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        check_index_type(self.out_idx, "out_idx")  # C1
        y, runs = x.with_shape((DYNAMIC,)), x.shape
        if self.axis != _ALL and x.shape is not None:
            place = normalize_axis(self.axis, len(x.shape))  # C2
            y = x.with_shape((*x.shape[:place], DYNAMIC, *x.shape[place + 1 :]))
            runs = x.shape[place : place + 1]
        elif self.axis != _ALL:
            y, runs = x, (DYNAMIC,)
        idx = runs if self.return_idx else (DYNAMIC,)
        return y, Tensor(self.out_idx, idx), Tensor(self.out_idx, (DYNAMIC,))

    def evaluate(self, x: Array) -> tuple[Array, Array, Array]:
        import numpy as np

        rows = x.reshape(-1, 1)
        place = 0
        if self.axis != _ALL:
            place = normalize_axis(self.axis, x.ndim)
            slices = np.moveaxis(np.atleast_1d(x), place, 0)
            rows = slices.reshape(slices.shape[0], -1)
        starts = np.ones(rows.shape[0], np.bool_)
        starts[1:] = (rows[1:] != rows[:-1]).any(axis=1)
        dtype, none = numpy_dtype(self.out_idx), np.empty(0, numpy_dtype(self.out_idx))
        runs = (np.cumsum(starts) - 1).astype(dtype)
        y = x.reshape(-1)[starts] if self.axis == _ALL else np.compress(starts, x, axis=place)
        counts = np.diff(np.append(np.flatnonzero(starts), starts.size)).astype(dtype)
        idx = runs.reshape(x.shape) if self.axis == _ALL else runs
        return y, idx if self.return_idx else none, counts if self.return_counts else none


class UniqueWithCountsAndSortingOp(GeOp):
    """y = the distinct elements of x, ascending; x = y[indices]; counts of each.

    x is flattened, indices have its shape. `sorted` promises the order that this op has anyway;
    what is not asked for is empty. NaNs are distinct. C1: out_idx is i32 or i64.
    """

    name = "ge.UniqueWithCountsAndSorting"

    x = operand()
    y = result()
    indices = result()
    counts = result()
    return_inverse = boolean(False)
    return_counts = boolean(False)
    sorted = boolean(True)
    out_idx = data_type(DataType.DT_INT64)

    widens = True

    def infer(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        check_index_type(self.out_idx, "out_idx")  # C1
        vector = Tensor(self.out_idx, (DYNAMIC,))
        indices = vector.with_shape(x.shape) if self.return_inverse else vector
        return x.with_shape((DYNAMIC,)), indices, vector

    def evaluate(self, x: Array) -> tuple[Array, Array, Array]:
        import numpy as np

        y, inverse, counts = np.unique(x, return_inverse=True, return_counts=True, equal_nan=False)
        dtype, none = numpy_dtype(self.out_idx), np.empty(0, numpy_dtype(self.out_idx))
        indices = inverse.reshape(x.shape).astype(dtype) if self.return_inverse else none
        return y, indices, counts.astype(dtype) if self.return_counts else none


class ListDiffOp(GeOp):
    """out = the elements of x that are not in y, in their order; idx = where they stand in x.

    C1: x and y are vectors. C2: they have one element type. C3: out_idx is i32 or i64.
    """

    name = "ge.ListDiff"

    x = operand()
    y = operand()
    out = result()
    idx = result()
    out_idx = data_type(DataType.DT_INT32)

    widens = True

    def infer(self, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        of_rank(x, 1, "x")  # C1
        of_rank(y, 1, "y")  # C1
        one_element_type(x, y)  # C2
        check_index_type(self.out_idx, "out_idx")  # C3
        return x.with_shape((DYNAMIC,)), Tensor(self.out_idx, (DYNAMIC,))

    def evaluate(self, x: Array, y: Array) -> tuple[Array, Array]:
        import numpy as np

        kept = np.flatnonzero(~np.isin(x, y))
        return x[kept], kept.astype(numpy_dtype(self.out_idx))


class InvertPermutationOp(GeOp):
    """y[x[i]] = i. C1: x is a vector. C2: x is i32 or i64."""

    name = "ge.InvertPermutation"

    x = operand()
    y = result()

    def infer(self, x: Tensor) -> Tensor:
        of_rank(x, 1, "x")  # C1
        require(x, "x", INDICES, "DT_INT32 or DT_INT64")  # C2
        return x

    def evaluate(self, x: Array) -> Array:
        import numpy as np

        if not np.array_equal(np.sort(x), np.arange(x.size)):
            raise ValueError(f"x is no permutation of 0 to {x.size - 1}, expected one")
        y = np.empty_like(x)
        y[x] = np.arange(x.size, dtype=x.dtype)
        return y
