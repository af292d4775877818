"""Ragged sequences, sparse rows and picks: what has one length per item."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xdsl.utils.exceptions import VerifyException

from ge_xdsl.dialects.ge.elements import FLOATS, one_element_type, require
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
    integer,
    operand,
    optional,
    result,
)
from ge_xdsl.dialects.ge.gradients import sigmoid
from ge_xdsl.dialects.ge.op import GeOp
from ge_xdsl.dialects.ge.operands import (
    check_index,
    check_scalar,
    known_int,
    known_ints,
)
from ge_xdsl.dialects.ge.shapes import merge_dim, multiply_dims, normalize_axis
from ge_xdsl.dialects.ge.types import DYNAMIC, DataType, Tensor

if TYPE_CHECKING:
    from ge_xdsl.dialects.ge.types import Array

_I32 = (DataType.DT_INT32,)


class DynSeqOuterOp(GeOp):
    """y = for each item, x1[f] + x2[b] of its rows, f fastest, items one after another

    x1 holds seq_len1[i] rows of item i, x2 seq_len2[i]. C1: x1 and x2 have one element type and
    rank >= 1, and equal dimensions but the first. C2: seq_len1 and seq_len2 are i32 of rank 1, as
    long as each other. C3: no length is negative, and they add up to the rows.
    """

    name = "ge.DynSeqOuter"

    x1 = operand()
    x2 = operand()
    seq_len1 = operand()
    seq_len2 = operand()
    y = result()

    widens = True

    def infer(self, x1: Tensor, x2: Tensor, seq_len1: Tensor, seq_len2: Tensor) -> Tensor:
        one_element_type(x1, x2)  # C1
        for name, tensor in (("x1", x1), ("x2", x2)):
            at_least_rank(tensor, 1, name)  # C1
        tails = [None if t.shape is None else (DYNAMIC, *t.shape[1:]) for t in (x1, x2)]
        tail = merge_shapes(tails[0], tails[1], "rows of x1 and x2")  # C1
        for name, tensor in (("seq_len1", seq_len1), ("seq_len2", seq_len2)):
            require(tensor, name, _I32, "DT_INT32")  # C2
            of_rank(tensor, 1, name)  # C2
        merge_shapes(seq_len1.shape, seq_len2.shape, "shapes of seq_len1 and seq_len2")  # C2
        first, second = known_ints(self, "seq_len1"), known_ints(self, "seq_len2")
        if tail is None:
            return x1.with_shape(None)
        if first is None or second is None:
            return x1.with_shape(tail)
        for lengths, tensor, name in ((first, x1, "x1"), (second, x2, "x2")):
            self._check(lengths, DYNAMIC if tensor.shape is None else tensor.shape[0], name)  # C3
        rows = sum(a * b for a, b in zip(first, second, strict=True))
        return x1.with_shape(bounded((rows, *tail[1:])))

    def _check(self, lengths: tuple[int, ...] | list[int], rows: int, name: str) -> None:
        if min(lengths, default=0) < 0 or rows not in (DYNAMIC, sum(lengths)):
            raise VerifyException(
                f"lengths of {name} are {list(lengths)}, expected none negative, {rows} in all"
            )

    def evaluate(self, x1: Array, x2: Array, seq_len1: Array, seq_len2: Array) -> Array:
        import numpy as np

        lengths = ints_of(seq_len1), ints_of(seq_len2)
        for counts, rows, name in zip(lengths, (x1, x2), ("x1", "x2"), strict=True):
            self._check(counts, rows.shape[0], name)
        tail = x1.shape[1:]
        parts: list[Array] = [np.zeros((0, *tail), x1.dtype)]
        first = second = 0
        for a, b in zip(*lengths, strict=True):
            sums = x2[second : second + b, None] + x1[None, first : first + a]
            parts.append(sums.reshape(a * b, *tail))
            first, second = first + a, second + b
        return np.concatenate(parts)


class MovingSumWithSigmoidOp(GeOp):
    """Block i of y, beams[i] x frames[i]: sigmoid(energy[r, c]) * sum of alpha[r, c : c + ksize]

    alpha and energy hold the blocks one after another, row-major; offset lists beams and then
    frames. The blocks stand on the diagonal of y; that the rest is 0 is unconfirmed. C1: alpha and
    energy are floating-point tensors. C2: offset is i32 of rank 1, of an even length. C3: ksize is
    at least 1. C4: no beam or frame is negative, and alpha and energy hold all blocks.
    """

    name = "ge.MovingSumWithSigmoid"

    alpha = operand()
    energy = operand()
    offset = operand()
    y = result()
    ksize = integer()

    widens = True

    def infer(self, alpha: Tensor, energy: Tensor, offset: Tensor) -> Tensor:
        require(alpha, "alpha", FLOATS, "a floating-point type")  # C1
        require(energy, "energy", FLOATS, "a floating-point type")  # C1
        require(offset, "offset", _I32, "DT_INT32")  # C2
        of_rank(offset, 1, "offset")  # C2
        count_of(self.ksize, "ksize", 1)  # C3
        if offset.shape and offset.shape[0] != DYNAMIC and offset.shape[0] % 2:  # C2
            raise VerifyException(f"offset has {offset.shape[0]} entries, expected an even number")
        known = known_ints(self, "offset")
        if known is None:
            return energy.with_shape((DYNAMIC, DYNAMIC))
        beams, frames = self._blocks(known, alpha.size(), energy.size())
        return energy.with_shape(bounded((sum(beams), sum(frames))))

    def _blocks(
        self, values: tuple[int, ...] | list[int], *sizes: int | None
    ) -> tuple[list[int], list[int]]:
        half = len(values) // 2
        beams, frames = list(values[:half]), list(values[half:])
        total = sum(b * f for b, f in zip(beams, frames, strict=True))
        if min(values, default=0) < 0 or any(s is not None and s < total for s in sizes):
            raise VerifyException(
                f"offset is {list(values)}, expected none negative and {total} elements in alpha "
                "and energy"
            )
        return beams, frames

    def evaluate(self, alpha: Array, energy: Array, offset: Array) -> Array:
        import numpy as np

        beams, frames = self._blocks(ints_of(offset), alpha.size, energy.size)
        y: Array = np.zeros((sum(beams), sum(frames)), energy.dtype)
        row = column = start = 0
        for b, f in zip(beams, frames, strict=True):
            block = slice(start, start + b * f)
            a, e = (x.reshape(-1)[block].reshape(b, f) for x in (alpha, energy))
            sums = np.concatenate([np.zeros((b, 1), a.dtype), np.cumsum(a, axis=1)], axis=1)
            ends = np.minimum(np.arange(f) + self.ksize, f)
            y[row : row + b, column : column + f] = sigmoid(e) * (sums[:, ends] - sums[:, :f])
            row, column, start = row + b, column + f, block.stop
        return y


class ArgMaxWithKOp(GeOp):
    """The topk largest along axis, best first: their places and values

    With axis 10000 each item of the batch is flat and the results are [N, topk]. With a given axis
    and out_max_val both results hold values in the type of x, as in Caffe; else indices are i32. Of
    equal ones the lowest place comes first, which is unconfirmed. C1: axis is 10000 or in [-rank,
    rank). C2: topk is 1 to the places there are. C3: x has rank >= 1.
    """

    name = "ge.ArgMaxWithK"

    x = operand()
    indices = result()
    values = result()
    axis = integer(10000)
    out_max_val = boolean(False)
    topk = integer(1)

    def infer(self, x: Tensor) -> tuple[Tensor, Tensor]:
        at_least_rank(x, 1, "x")  # C3
        is_flat = self.axis == 10000
        dtype = x.dtype if self.out_max_val and not is_flat else DataType.DT_INT32
        if x.shape is None:
            shape = (DYNAMIC, self.topk) if is_flat else None
            return Tensor(dtype, shape), x.with_shape(shape)
        if is_flat:
            self._check(multiply_dims(*x.shape[1:]))  # C2
            shape = (x.shape[0], self.topk)
        else:
            axis = normalize_axis(self.axis, len(x.shape))  # C1
            self._check(x.shape[axis])  # C2
            shape = (*x.shape[:axis], self.topk, *x.shape[axis + 1 :])
        return Tensor(dtype, shape), x.with_shape(shape)

    def _check(self, places: int) -> None:
        if self.topk < 1 or (places != DYNAMIC and self.topk > places):
            raise VerifyException(f"topk is {self.topk}, expected 1 to {places}")

    def evaluate(self, x: Array) -> tuple[Array, Array]:
        import numpy as np

        is_flat = self.axis == 10000
        axis = 1 if is_flat else normalize_axis(self.axis, x.ndim)
        rows = x.reshape(x.shape[0], int(np.prod(x.shape[1:], dtype=np.int64))) if is_flat else x
        order = np.argsort(-rows.astype(np.float64), axis=axis, kind="stable")
        places = order[(slice(None),) * axis + (slice(self.topk),)]
        values = np.take_along_axis(rows, places, axis)
        if self.out_max_val and not is_flat:
            return values, values
        return places.astype(np.int32), values


class NonZeroWithValueOp(GeOp):
    """The elements of a matrix that are not 0, their places, and how many there are

    value [R * C] and index [2 * R * C] (rows in the first half, columns in the second) hold count
    entries and then zeros, which stand for anything. NaN counts as not 0. C1: x has rank 2. C2:
    transpose is false and dtype DT_INT32.
    """

    name = "ge.NonZeroWithValue"

    x = operand()
    value = result()
    index = result()
    count = result()
    transpose = boolean(False)
    dtype = data_type(DataType.DT_INT32)

    def infer(self, x: Tensor) -> tuple[Tensor, ...]:
        of_rank(x, 2, "x")  # C1
        if self.transpose or self.dtype is not DataType.DT_INT32:  # C2
            raise VerifyException(
                f"transpose is {self.transpose} and dtype {self.dtype.name}, expected False and "
                "DT_INT32"
            )
        size = DYNAMIC if x.shape is None else multiply_dims(*x.shape)
        index = Tensor(DataType.DT_INT32, (multiply_dims(2, size),))
        return x.with_shape((size,)), index, Tensor(DataType.DT_INT32, (1,))

    def evaluate(self, x: Array) -> tuple[Array, ...]:
        import numpy as np

        rows, columns = np.nonzero(x)
        value = np.zeros(x.size, x.dtype)
        index = np.zeros((2, x.size), np.int32)
        value[: rows.size] = x[rows, columns]
        index[0, : rows.size], index[1, : rows.size] = rows, columns
        return value, index.reshape(-1), np.array([rows.size], np.int32)


class RaggedBinCountOp(GeOp):
    """output[b, v] = the weights of the values v among values[splits[b] : splits[b + 1]], summed

    Without weights (an empty tensor) each counts 1; binary_output tells whether there is one.
    Values of size and more are dropped; splits that fall and negative values have no result. C1:
    splits is i64 of rank 1, 2 entries or more. C2: values is i32 or i64 of rank 1. C3: size is one
    number, 0 or more. C4: weights is empty or as long as values.
    """

    name = "ge.RaggedBinCount"

    splits = operand()
    values = operand()
    size = operand()
    weights = operand()
    output = result()
    binary_output = boolean(False)

    def infer(self, splits: Tensor, values: Tensor, size: Tensor, weights: Tensor) -> Tensor:
        require(splits, "splits", (DataType.DT_INT64,), "DT_INT64")  # C1
        of_rank(splits, 1, "splits")  # C1
        check_index(values, "values")  # C2
        of_rank(values, 1, "values")  # C2
        check_index(size, "size")  # C3
        check_scalar(size, "size")  # C3
        of_rank(weights, 1, "weights")  # C4
        if weights.shape and weights.shape[0] > 0 and values.shape:
            merge_dim(values.shape[0], weights.shape[0], "lengths of values and weights")  # C4
        rows = splits.shape[0] if splits.shape else DYNAMIC
        if rows != DYNAMIC and rows < 2:  # C1
            raise VerifyException(f"splits has {rows} entries, expected 2 or more")
        known = known_int(self, "size")
        width = DYNAMIC if known is None else count_of(known, "size")  # C3
        rows = DYNAMIC if rows == DYNAMIC else rows - 1
        return weights.with_shape(bounded((rows, width)))

    def evaluate(self, splits: Array, values: Array, size: Array, weights: Array) -> Array:
        import numpy as np

        ends, width = ints_of(splits), count_of(int_of(size, "size"), "size")
        if ends[0] != 0 or ends[-1] != values.size or sorted(ends) != ends:
            raise ValueError(f"splits are {ends}, expected rising ones from 0 to {values.size}")
        if values.size and values.min() < 0:
            raise ValueError(f"a value is {values.min()}, expected none negative")
        rows = np.repeat(np.arange(len(ends) - 1), np.diff(ends))
        y = np.zeros((len(ends) - 1, width), weights.dtype)
        inside = values < width
        if self.binary_output:
            y[rows[inside], values[inside]] = 1
            return y
        added = weights if weights.size else np.ones(values.size, weights.dtype)
        np.add.at(y, (rows[inside], values[inside]), added[inside])
        return y


class MapIndexOp(GeOp):
    """y = [the first row of data_seq, as rows of len(x), that equals x], else [-1], i32

    level_index and transpose do not change it. C1: x and data_seq are i32 of rank 1. C2: data_seq
    is a multiple of x in length.
    """

    name = "ge.MapIndex"

    x = operand()
    data_seq = operand()
    level_index = optional()
    y = result()
    transpose = boolean(False)

    def infer(self, x: Tensor, data_seq: Tensor, level_index: Tensor | None) -> Tensor:
        for name, tensor in (("x", x), ("data_seq", data_seq)):
            require(tensor, name, _I32, "DT_INT32")  # C1
            of_rank(tensor, 1, name)  # C1
        if x.shape and data_seq.shape and DYNAMIC not in (x.shape[0], data_seq.shape[0]):
            width, length = x.shape[0], data_seq.shape[0]
            if width == 0 or length % width:  # C2
                raise VerifyException(
                    f"data_seq has {length} entries, expected a multiple of {width}"
                )
        return Tensor(DataType.DT_INT32, (1,))

    def evaluate(self, x: Array, data_seq: Array, level_index: Array | None) -> Array:
        import numpy as np

        hits = np.nonzero((data_seq.reshape(-1, x.size) == x).all(axis=1))[0]
        return np.array([hits[0] if hits.size else -1], np.int32)


class SortedSparseSegmentMeanGradOp(GeOp):
    """y[sorted_indices[j]] += x[segment_ids[i]] / (how often that segment id occurs), i =
    pre_location_indices[j]; y [output_dim0, ...] starts at 0; the values are unconfirmed

    C1: x is a floating-point tensor of rank >= 1. C2: the indices are i32 or i64 of rank 1, as long
    as each other. C3: output_dim0 is one i32, 0 or more.
    """

    name = "ge.SortedSparseSegmentMeanGrad"

    x = operand()
    sorted_indices = operand()
    pre_location_indices = operand()
    segment_ids = operand()
    output_dim0 = operand()
    y = result()

    def infer(self, x: Tensor, *rest: Tensor) -> Tensor:
        require(x, "x", FLOATS, "a floating-point type")  # C1
        at_least_rank(x, 1, "x")  # C1
        length = DYNAMIC
        for io, tensor in zip(self.prototype.inputs[1:4], rest, strict=False):
            check_index(tensor, io.name)  # C2
            of_rank(tensor, 1, io.name)  # C2
            have = tensor.shape[0] if tensor.shape else DYNAMIC
            length = merge_dim(length, have, "lengths of the indices")  # C2
        require(rest[3], "output_dim0", _I32, "DT_INT32")  # C3
        check_scalar(rest[3], "output_dim0")  # C3
        known = known_int(self, "output_dim0")
        rows = DYNAMIC if known is None else count_of(known, "output_dim0")  # C3
        return x.with_shape(None if x.shape is None else bounded((rows, *x.shape[1:])))


class _Sampling(GeOp):
    """Some positive and negative labels, the others -1."""

    batch_size_per_images = integer()
    positive_fraction = floating()

    def checked(self, labels: Tensor) -> Tensor:
        require(labels, "labels", _I32, "DT_INT32")  # C1
        of_rank(labels, 1, "labels")  # C1
        count_of(self.batch_size_per_images, "batch_size_per_images")  # C2
        if not 0 <= self.positive_fraction <= 1:  # C3
            raise VerifyException(f"positive_fraction is {self.positive_fraction}, expected 0 to 1")
        return labels


class SubSampleLabelsOp(_Sampling):
    """y = labels with 1 for the first positives in the order of shuffle_matrix, 0 for the first
    negatives, -1 for the others

    At most int(batch_size_per_images * positive_fraction) positives stay, and as many negatives as
    are left of the batch. C1: labels is i32 of rank 1. C2: batch_size_per_images is 0 or more. C3:
    positive_fraction is 0 to 1. C4: shuffle_matrix is i32 in the shape of labels, a permutation.
    """

    name = "ge.SubSampleLabels"

    labels = operand()
    shuffle_matrix = operand()
    y = result()

    def infer(self, labels: Tensor, shuffle_matrix: Tensor) -> Tensor:
        require(shuffle_matrix, "shuffle_matrix", _I32, "DT_INT32")  # C4
        merge_shapes(labels.shape, shuffle_matrix.shape, "labels and shuffle_matrix")  # C4
        return self.checked(labels)  # C1 C2 C3

    def evaluate(self, labels: Array, shuffle_matrix: Array) -> Array:
        import numpy as np

        if not np.array_equal(np.sort(shuffle_matrix), np.arange(labels.size)):  # C4
            raise ValueError("shuffle_matrix is no permutation, expected each number once")
        y = np.full(labels.shape, -1, np.int32)
        shuffled = labels[shuffle_matrix]
        limit = int(self.batch_size_per_images * self.positive_fraction)
        positives = shuffle_matrix[shuffled == 1][:limit]
        left = self.batch_size_per_images - positives.size
        y[positives] = 1
        y[shuffle_matrix[shuffled == 0][:left]] = 0
        return y


class SubSampleOp(_Sampling):
    """y = labels with 1 and 0 for some positives and negatives drawn by chance, -1 for the others

    It draws its own permutation, so that it has no value here. C1: labels is i32 of rank 1. C2:
    batch_size_per_images is 0 or more. C3: positive_fraction is 0 to 1.
    """

    name = "ge.SubSample"

    labels = operand()
    y = result()

    def infer(self, labels: Tensor) -> Tensor:
        return self.checked(labels)  # C1 C2 C3
