"""Places in sorted sequences, and counts of values: bisection, bins and confusion matrices."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from xdsl.utils.exceptions import VerifyException

from ge_xdsl.dialects.ge.arg import check_index_type
from ge_xdsl.dialects.ge.elements import HALVES, one_element_type
from ge_xdsl.dialects.ge.extents import (
    at_least_rank,
    bounded,
    count_of,
    int_of,
    ints_of,
    merge_shapes,
    of_rank,
)
from ge_xdsl.dialects.ge.fields import (
    boolean,
    data_type,
    floating,
    floats,
    integer,
    operand,
    optional,
    result,
    string,
)
from ge_xdsl.dialects.ge.op import GeOp
from ge_xdsl.dialects.ge.operands import check_index, check_scalar, known_int
from ge_xdsl.dialects.ge.types import DYNAMIC, DataType, Tensor, numpy_dtype

if TYPE_CHECKING:
    from ge_xdsl.dialects.ge.types import Array


def search_rows(rows: Array, values: Array, right: bool) -> Array:
    """How many elements of each sorted row are < the value (<= when `right`), in i64.

    rows [..., n] and values [..., m] have equal leading dimensions. One stable sort of both
    together does all rows at once: an element's place less the values before it is the answer.
    """
    import numpy as np

    first, second = (rows, values) if right else (values, rows)
    order = np.argsort(np.concatenate([first, second], axis=-1), axis=-1, kind="stable")
    from_first = order < first.shape[-1]
    before = np.cumsum(from_first if right else ~from_first, axis=-1, dtype=np.int64)
    found = np.empty_like(before)
    np.put_along_axis(found, order, before, axis=-1)
    return found[..., first.shape[-1] :] if right else found[..., : values.shape[-1]]


class SearchSortedOp(GeOp):
    """out = the place of each value in its sorted row: b[i-1] < v <= b[i], b[i-1] <= v < b[i] when
    right.

    sorted_sequence is one vector for all values, or has their leading dimensions. sorter (i64)
    gives the order of an unsorted sequence. C1: sorted_sequence and values have one element type.
    C2: sorted_sequence has rank >= 1. C3: their leading dimensions are equal unless it is a vector.
    C4: sorter is i32 or i64 in the shape of sorted_sequence. C5: dtype is i32 or i64.
    """

    name = "ge.SearchSorted"

    sorted_sequence = operand()
    values = operand()
    sorter = optional()
    out = result()
    dtype = data_type(DataType.DT_INT64)
    right = boolean(False)

    widens = True

    def infer(self, sorted_sequence: Tensor, values: Tensor, sorter: Tensor | None) -> Tensor:
        one_element_type(sorted_sequence, values)  # C1
        at_least_rank(sorted_sequence, 1, "sorted_sequence")  # C2
        check_index_type(self.dtype, "dtype")  # C5
        shape = sorted_sequence.shape
        if sorter is not None:
            check_index(sorter, "sorter")  # C4
            shape = merge_shapes(shape, sorter.shape, "shapes of sorted_sequence and sorter")  # C4
        if shape is not None and len(shape) > 1:
            at_least_rank(values, 1, "values")  # C3
            head = None if values.shape is None else values.shape[:-1]
            merge_shapes(shape[:-1], head, "leading shapes of sorted_sequence and values")  # C3
        return Tensor(self.dtype, values.shape)

    def evaluate(self, sorted_sequence: Array, values: Array, sorter: Array | None) -> Array:
        import numpy as np

        rows = sorted_sequence
        if sorter is not None:
            rows = np.take_along_axis(rows, sorter, axis=-1)
        if rows.ndim == 1:
            found = np.searchsorted(rows, values, side="right" if self.right else "left")
        else:
            found = search_rows(rows, values, self.right)
        return np.asarray(found).astype(numpy_dtype(self.dtype))


class _Bound(GeOp):
    """C1: sorted_x and values have one element type. C2: both are matrices. C3: they have one
    number of rows. C4: out_type is i32 or i64.
    """

    sorted_x = operand()
    values = operand()
    y = result()

    widens = True

    def bound_type(self, sorted_x: Tensor, values: Tensor, out_type: DataType) -> Tensor:
        one_element_type(sorted_x, values)  # C1
        of_rank(sorted_x, 2, "sorted_x")  # C2
        of_rank(values, 2, "values")  # C2
        check_index_type(out_type, "out_type")  # C4
        if sorted_x.shape is not None and values.shape is not None:
            merge_shapes(sorted_x.shape[:1], values.shape[:1], "rows of sorted_x and values")  # C3
        return Tensor(out_type, values.shape)


class LowerBoundOp(_Bound):
    """y[i, j] = how many elements of the sorted row i of sorted_x are < values[i, j].

    C1: sorted_x and values have one element type. C2: both are matrices. C3: they have one number
    of rows. C4: out_type is i32 or i64.
    """

    name = "ge.LowerBound"

    out_type = data_type(DataType.DT_INT32)

    def infer(self, sorted_x: Tensor, values: Tensor) -> Tensor:
        return self.bound_type(sorted_x, values, self.out_type)

    def evaluate(self, sorted_x: Array, values: Array) -> Array:
        return search_rows(sorted_x, values, False).astype(numpy_dtype(self.out_type))


class UpperBoundOp(_Bound):
    """y[i, j] = how many elements of the sorted row i of sorted_x are <= values[i, j].

    C1: sorted_x and values have one element type. C2: both are matrices. C3: they have one number
    of rows. C4: out_type is i32 or i64.
    """

    name = "ge.UpperBound"

    out_type = data_type()

    def infer(self, sorted_x: Tensor, values: Tensor) -> Tensor:
        return self.bound_type(sorted_x, values, self.out_type)

    def evaluate(self, sorted_x: Array, values: Array) -> Array:
        return search_rows(sorted_x, values, True).astype(numpy_dtype(self.out_type))


class BucketizeOp(GeOp):
    """y = how many boundaries are <= x (right, the default here) or < x.

    C1: boundaries ascend. C2: dtype is i32 or i64.
    """

    name = "ge.Bucketize"

    x = operand()
    y = result()
    boundaries = floats()
    dtype = data_type(DataType.DT_INT32)
    right = boolean(True)

    widens = True

    def infer(self, x: Tensor) -> Tensor:
        check_index_type(self.dtype, "dtype")  # C2
        numbers = list(self.boundaries)
        if any(not a <= b for a, b in pairwise(numbers)):  # C1
            raise VerifyException(f"boundaries are {numbers}, expected ascending numbers")
        return x.with_dtype(self.dtype)

    def evaluate(self, x: Array) -> Array:
        import numpy as np

        side = "right" if self.right else "left"
        found = np.searchsorted(np.array(self.boundaries, "f8"), x.astype("f8"), side=side)
        return np.asarray(found).astype(numpy_dtype(self.dtype))


class BucketizeV2Op(GeOp):
    """y = how many boundaries are < x (the default here) or <= x (right); i32 when out_int32.

    C1: boundaries is a vector. C2: x and boundaries have one element type.
    """

    name = "ge.BucketizeV2"

    x = operand()
    boundaries = operand()
    y = result()
    out_int32 = boolean(False)
    right = boolean(False)

    widens = True

    def infer(self, x: Tensor, boundaries: Tensor) -> Tensor:
        of_rank(boundaries, 1, "boundaries")  # C1
        one_element_type(x, boundaries)  # C2
        return x.with_dtype(DataType.DT_INT32 if self.out_int32 else DataType.DT_INT64)

    def evaluate(self, x: Array, boundaries: Array) -> Array:
        import numpy as np

        found = np.searchsorted(boundaries, x, side="right" if self.right else "left")
        return np.asarray(found).astype("i4" if self.out_int32 else "i8")


def _bin_range(x: Array, low: Any, high: Any) -> tuple[Any, Any]:
    """The range of a histogram: that of the data when low and high are equal."""
    if low == high and x.size:
        low, high = x.min(), x.max()
    if low == high:
        low, high = low - 1, high + 1
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise ValueError(f"range is {low} to {high}, expected finite ascending bounds")
    return low, high


def binned(x: Array, bins: int, low: Any, high: Any) -> Array:
    """Counts (i64) of x in `bins` equal bins over [low, high].

    A value of `high` falls into the last bin; others outside, and NaN, into none. Integers are
    divided as integers.
    """
    import numpy as np

    if x.dtype.kind in "iu":
        x, low, high = x.astype(np.int64), int(low), int(high)
    low, high = _bin_range(x, low, high)
    x = x[(x >= low) & (x <= high)]
    if x.dtype.kind in "iu":
        places = (x - low) * bins // (high - low)
    else:
        places = ((x - low) * bins / (high - low)).astype(np.int64)
    return np.bincount(np.minimum(places, bins - 1).reshape(-1), minlength=bins)


class HistogramOp(GeOp):
    """y[i] = the number of elements of x in bin i of `bins` equal ones over [min, max].

    The range is that of the data when min is max (one more on both sides when all are equal).
    max falls into the last bin; others outside, and NaN, are not counted. y has x's type, f32 for
    f16. C1: bins is at least 1. C2: min is at most max.
    """

    name = "ge.Histogram"

    x = operand()
    y = result()
    bins = integer(100)
    min = floating(0.0)
    max = floating(0.0)

    widens = True

    def infer(self, x: Tensor) -> Tensor:
        bins = count_of(self.bins, "bins", 1)  # C1
        if not self.min <= self.max:  # C2
            raise VerifyException(f"min is {self.min} and max {self.max}, expected min <= max")
        return Tensor(DataType.DT_FLOAT if x.dtype in HALVES else x.dtype, (bins,))

    def evaluate(self, x: Array) -> Array:
        counts = binned(x.reshape(-1), self.bins, self.min, self.max)
        return counts.astype(x.dtype)


class HistogramV2Op(GeOp):
    """y[i] = the number of elements of x in bin i of `bins` equal ones over [min, max].

    The range is that of the data when min is max (one more on both sides when all are equal).
    max falls into the last bin; others outside, and NaN, are not counted. C1: bins is at least 1.
    C2: min and max are one element of x's type. C3: y_dtype is i32 or f32.
    """

    name = "ge.HistogramV2"

    x = operand()
    min = operand()
    max = operand()
    y = result()
    bins = integer(100)
    y_dtype = data_type(DataType.DT_INT32)

    widens = True

    def infer(self, x: Tensor, min: Tensor, max: Tensor) -> Tensor:
        bins = count_of(self.bins, "bins", 1)  # C1
        one_element_type(x, min, max)  # C2
        check_scalar(min, "min")  # C2
        check_scalar(max, "max")  # C2
        if self.y_dtype not in (DataType.DT_INT32, DataType.DT_FLOAT):  # C3
            raise VerifyException(f"y_dtype is {self.y_dtype.name}, expected DT_INT32 or DT_FLOAT")
        return Tensor(self.y_dtype, (bins,))

    def evaluate(self, x: Array, min: Array, max: Array) -> Array:
        low, high = min.reshape(-1)[0], max.reshape(-1)[0]
        return binned(x.reshape(-1), self.bins, low, high).astype(numpy_dtype(self.y_dtype))


class _FixedWidth(GeOp):
    """C1: x and range have one element type. C2: range has two elements. C3: dtype is 3 (i32)."""

    x = operand()
    range = operand()

    widens = True

    def counted(self, x: Tensor, range: Tensor, bins: int, dtype: int) -> Tensor:
        one_element_type(x, range)  # C1
        if range.size() not in (None, 2):  # C2
            raise VerifyException(f"range has {range.size()} elements, expected 2")
        if dtype != 3:  # C3
            raise VerifyException(f"dtype is {dtype}, expected 3 (DT_INT32)")
        return Tensor(DataType.DT_INT32, (bins,))

    def counts(self, x: Array, range: Array, bins: int) -> Array:
        import numpy as np

        low, high = (float(v) for v in range.reshape(-1))
        if not low < high or not math.isfinite(high - low):
            raise ValueError(f"range is {low} to {high}, expected finite ascending bounds")
        x = x.reshape(-1).astype(np.float64)
        if np.isnan(x).any():
            raise ValueError("x has NaN, expected numbers")
        places = (np.clip(x, low, high) - low) / ((high - low) / bins)
        found = np.bincount(np.minimum(places.astype(np.int64), bins - 1), minlength=bins)
        return found.astype(np.int32)


class HistogramFixedWidthOp(_FixedWidth):
    """y[i] = the number of elements of x in bin i of nbins equal ones over range = [low, high].

    Values outside count in the first or last bin. NaN and a range that does not ascend are not
    defined. C1: x and range have one element type. C2: range has two elements. C3: dtype is 3
    (i32). C4: nbins is one i32 or i64, at least 1.
    """

    name = "ge.HistogramFixedWidth"

    nbins = operand()
    y = result()
    dtype = integer(3)

    def infer(self, x: Tensor, range: Tensor, nbins: Tensor) -> Tensor:
        check_index(nbins, "nbins")  # C4
        check_scalar(nbins, "nbins")  # C4
        known = known_int(self, "nbins")
        bins = DYNAMIC if known is None else count_of(known, "nbins", 1)  # C4
        return self.counted(x, range, bins, self.dtype)

    def evaluate(self, x: Array, range: Array, nbins: Array) -> Array:
        return self.counts(x, range, count_of(int_of(nbins, "nbins"), "nbins", 1))


class HistogramFixedWidthDOp(_FixedWidth):
    """y[i] = the number of elements of x in bin i of nbins equal ones over range = [low, high].

    Values outside count in the first or last bin. NaN and a range that does not ascend are not
    defined. C1: x and range have one element type. C2: range has two elements. C3: dtype is 3
    (i32). C4: nbins is at least 1.
    """

    name = "ge.HistogramFixedWidthD"

    y = result()
    nbins = integer()
    dtype = integer(3)

    def infer(self, x: Tensor, range: Tensor) -> Tensor:
        return self.counted(x, range, count_of(self.nbins, "nbins", 1), self.dtype)  # C4

    def evaluate(self, x: Array, range: Array) -> Array:
        return self.counts(x, range, self.nbins)


def _check_not_negative(values: Array, name: str) -> None:
    if values.size and values.min() < 0:
        raise ValueError(f"{name} has {values.min()}, expected none negative")


class _Counts(GeOp):
    def counted_size(self, size: Tensor) -> int:
        check_index(size, "size")  # C1
        check_scalar(size, "size")  # C1
        known = known_int(self, "size")
        return DYNAMIC if known is None else count_of(known, "size")  # C1

    def check_weights(self, values: Tensor, weights: Tensor) -> None:
        if weights.size():  # empty or not is open while it is unknown
            merge_shapes(values.shape, weights.shape, "shapes of the values and weights")  # C2


class BincountOp(_Counts):
    """bins[i] = the sum of the weights (of ones when weights is empty) where array is i.

    Numbers beyond size are not counted, negative ones are not defined. C1: size is one i32 or
    i64, not negative. C2: weights is empty or has the shape of array. C3: array is i32 or i64.
    """

    name = "ge.Bincount"

    array = operand()
    size = operand()
    weights = operand()
    bins = result()

    def infer(self, array: Tensor, size: Tensor, weights: Tensor) -> Tensor:
        check_index(array, "array")  # C3
        self.check_weights(array, weights)
        return Tensor(weights.dtype, (self.counted_size(size),))

    def evaluate(self, array: Array, size: Array, weights: Array) -> Array:
        import numpy as np

        _check_not_negative(array, "array")
        bins = np.zeros(count_of(int_of(size, "size"), "size"), weights.dtype)
        inside = array < bins.size
        each = weights[inside] if weights.size else bins.dtype.type(1)
        np.add.at(bins, array[inside], each)
        return bins


class DenseBincountOp(_Counts):
    """output[i] = the sum of the weights (of ones when weights is empty) where input is i.

    A matrix is counted row by row: [rows, size]. With binary_output 1 stands for any count above
    0. Numbers beyond size are not counted, negative ones are not defined. C1: size is one i32 or
    i64, not negative. C2: weights is empty or has the shape of input. C3: input is i32 or i64.
    C4: it has rank 1 or 2.
    """

    name = "ge.DenseBincount"

    input = operand()
    size = operand()
    weights = operand()
    output = result()
    binary_output = boolean(False)

    def infer(self, input: Tensor, size: Tensor, weights: Tensor) -> Tensor:
        check_index(input, "input")  # C3
        self.check_weights(input, weights)
        if input.rank not in (None, 1, 2):  # C4
            raise VerifyException(f"input has rank {input.rank}, expected 1 or 2")
        count = self.counted_size(size)
        if input.shape is None:
            return Tensor(weights.dtype, None)
        return Tensor(weights.dtype, bounded((*input.shape[:-1], count)))

    def evaluate(self, input: Array, size: Array, weights: Array) -> Array:
        import numpy as np

        _check_not_negative(input, "input")
        count = count_of(int_of(size, "size"), "size")
        rows = input.reshape(-1, input.shape[-1])
        found = np.zeros(bounded((rows.shape[0], count)), weights.dtype)
        inside = rows < count
        each = weights.reshape(rows.shape)[inside] if weights.size else found.dtype.type(1)
        place = np.nonzero(inside)[0], rows[inside]
        if self.binary_output:
            found[place] = 1
        else:
            np.add.at(found, place, each)
        return found.reshape((*input.shape[:-1], count))


_MATRIX_TYPES = {
    "float32": DataType.DT_FLOAT,
    "int32": DataType.DT_INT32,
    "float16": DataType.DT_FLOAT16,
    "int8": DataType.DT_INT8,
    "uint8": DataType.DT_UINT8,
}


class ConfusionMatrixOp(GeOp):
    """y[labels[i], predictions[i]] += weights[i], or 1 without weights: [num_classes, num_classes].

    Classes outside are not defined. C1: num_classes is at least 1. C2: dtype is float32, int32,
    float16, int8 or uint8. C3: labels, predictions and weights are vectors of one length.
    """

    name = "ge.ConfusionMatrix"

    labels = operand()
    predictions = operand()
    weights = optional()
    y = result()
    num_classes = integer()
    dtype = string()

    def infer(self, labels: Tensor, predictions: Tensor, weights: Tensor | None) -> Tensor:
        classes = count_of(self.num_classes, "num_classes", 1)  # C1
        if self.dtype not in _MATRIX_TYPES:  # C2
            raise VerifyException(
                f"dtype is '{self.dtype}', expected one of {', '.join(_MATRIX_TYPES)}"
            )
        shape = None
        for tensor, name in (
            (labels, "labels"),
            (predictions, "predictions"),
            (weights, "weights"),
        ):
            if tensor is not None:
                of_rank(tensor, 1, name)  # C3
                shape = merge_shapes(shape, tensor.shape, f"shapes of labels and {name}")  # C3
        return Tensor(_MATRIX_TYPES[self.dtype], bounded((classes, classes)))

    def evaluate(self, labels: Array, predictions: Array, weights: Array | None) -> Array:
        import numpy as np

        rows, columns = (ints_of(a) for a in (labels, predictions))
        places = np.array([rows, columns], np.int64)
        if places.size and (places.min() < 0 or places.max() >= self.num_classes):
            raise ValueError(
                f"classes reach from {places.min()} to {places.max()}, "
                f"expected 0 to {self.num_classes - 1}"
            )
        y = np.zeros((self.num_classes, self.num_classes), np.float64)
        np.add.at(y, (places[0], places[1]), 1 if weights is None else weights.astype(np.float64))
        return y.astype(numpy_dtype(_MATRIX_TYPES[self.dtype]))
