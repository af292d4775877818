"""Reductions over the slices of x that share a segment id."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, ClassVar

from ge_xdsl.dialects.ge.extents import (
    at_least_rank,
    bounded,
    count_of,
    int_of,
    limit_of,
    merge_shapes,
    of_rank,
)
from ge_xdsl.dialects.ge.fields import boolean, integer, operand, result
from ge_xdsl.dialects.ge.limits import check_shape
from ge_xdsl.dialects.ge.op import GeOp
from ge_xdsl.dialects.ge.operands import check_index, check_scalar, known_int
from ge_xdsl.dialects.ge.scatter_nd import put_at
from ge_xdsl.dialects.ge.types import DYNAMIC, Tensor, tensor_of

if TYPE_CHECKING:
    from ge_xdsl.dialects.ge.types import Array


class _Segments(GeOp):
    widens = True
    how: ClassVar[str] = "add"

    def segment_type(self, x: Tensor, segment_ids: Tensor, count: int) -> Tensor:
        check_index(segment_ids, "segment_ids")  # C1
        if x.shape is None or segment_ids.shape is None:
            return x.with_shape(None)
        depth = len(segment_ids.shape)
        merge_shapes(
            x.shape[:depth], segment_ids.shape, "leading shapes of x and segment_ids"
        )  # C2
        return x.with_shape(bounded((count, *x.shape[depth:])))

    def neutral(self) -> float:
        """What a segment without slices holds."""
        if self.how == "add":
            return 0
        if self.how == "mul":
            return 1
        return limit_of(tensor_of(self.results[0].type).dtype, self.how == "max")

    def reduced(self, x: Array, segment_ids: Array, count: int, neutral: float) -> Array:
        import numpy as np

        ids = segment_ids.reshape(-1)
        if ids.size and ids.max() >= count:
            raise ValueError(f"segment id is {ids.max()}, expected one below {count}")
        tail = x.shape[segment_ids.ndim :]
        rows = x.reshape(ids.size, math.prod(tail))
        kept = ids >= 0
        check_shape((count, *tail))
        y = np.full((count, math.prod(tail)), neutral, x.dtype)
        put_at(y, ids[kept], rows[kept], self.how)
        return y.reshape(count, *tail)


class UnsortedSegment(_Segments):
    """y[i] = the slices x[j] with segment_ids[j] = i, combined. Negative ids are left out.

    C1: segment_ids is i32 or i64. C2: x starts with its dimensions. C3: num_segments is one i32 or
    i64, at least 0, and y has at most 2^40 elements.
    """

    x = operand()
    segment_ids = operand()
    num_segments = operand()
    y = result()

    def infer(self, x: Tensor, segment_ids: Tensor, num_segments: Tensor) -> Tensor:
        check_index(num_segments, "num_segments")  # C3
        check_scalar(num_segments, "num_segments")  # C3
        known = known_int(self, "num_segments")
        count = DYNAMIC if known is None else count_of(known, "num_segments")  # C3
        return self.segment_type(x, segment_ids, count)

    def evaluate(self, x: Array, segment_ids: Array, num_segments: Array) -> Array:
        count = count_of(int_of(num_segments, "num_segments"), "num_segments")
        return self.reduced(x, segment_ids, count, self.neutral())


class UnsortedSegmentD(_Segments):
    """y[i] = the slices x[j] with segment_ids[j] = i, combined. Negative ids are left out.

    C1: segment_ids is i32 or i64. C2: x starts with its dimensions. C3: num_segments is at least 0,
    and y has at most 2^40 elements.
    """

    x = operand()
    segment_ids = operand()
    y = result()
    num_segments = integer()

    def infer(self, x: Tensor, segment_ids: Tensor) -> Tensor:
        return self.segment_type(x, segment_ids, count_of(self.num_segments, "num_segments"))  # C3

    def evaluate(self, x: Array, segment_ids: Array) -> Array:
        return self.reduced(x, segment_ids, self.num_segments, self.neutral())


class UnsortedSegmentSumOp(UnsortedSegment):
    """y[i] = the sum of the slices x[j] with segment_ids[j] = i; negative ids are left out.

    Without any such slice y[i] is 0. is_preprocessed and check_ids
    are hints of the kernel.
    C1: segment_ids is i32 or i64. C2: x starts with its dimensions. C3: num_segments is one i32 or
    i64, at least 0, and y has at most 2^40 elements.
    """

    name = "ge.UnsortedSegmentSum"

    how = "add"

    is_preprocessed = boolean(False)
    check_ids = boolean(False)


class UnsortedSegmentProdOp(UnsortedSegment):
    """y[i] = the product of the slices x[j] with segment_ids[j] = i; negative ids are left out.

    Without any such slice y[i] is 1.
    C1: segment_ids is i32 or i64. C2: x starts with its dimensions. C3: num_segments is one i32 or
    i64, at least 0, and y has at most 2^40 elements.
    """

    name = "ge.UnsortedSegmentProd"

    how = "mul"


class UnsortedSegmentMaxOp(UnsortedSegment):
    """y[i] = the maximum of the slices x[j] with segment_ids[j] = i; negative ids are left out.

    Without any such slice y[i] is the smallest finite value of its type.
    C1: segment_ids is i32 or i64. C2: x starts with its dimensions. C3: num_segments is one i32 or
    i64, at least 0, and y has at most 2^40 elements.
    """

    name = "ge.UnsortedSegmentMax"

    how = "max"


class UnsortedSegmentMinOp(UnsortedSegment):
    """y[i] = the minimum of the slices x[j] with segment_ids[j] = i; negative ids are left out.

    Without any such slice y[i] is the largest finite value of its type.
    C1: segment_ids is i32 or i64. C2: x starts with its dimensions. C3: num_segments is one i32 or
    i64, at least 0, and y has at most 2^40 elements.
    """

    name = "ge.UnsortedSegmentMin"

    how = "min"


class UnsortedSegmentSumDOp(UnsortedSegmentD):
    """y[i] = the sum of the slices x[j] with segment_ids[j] = i; negative ids are left out.

    Without any such slice y[i] is 0.
    C1: segment_ids is i32 or i64. C2: x starts with its dimensions. C3: num_segments is at least 0,
    and y has at most 2^40 elements.
    """

    name = "ge.UnsortedSegmentSumD"

    how = "add"


class UnsortedSegmentProdDOp(UnsortedSegmentD):
    """y[i] = the product of the slices x[j] with segment_ids[j] = i; negative ids are left out.

    Without any such slice y[i] is 1.
    C1: segment_ids is i32 or i64. C2: x starts with its dimensions. C3: num_segments is at least 0,
    and y has at most 2^40 elements.
    """

    name = "ge.UnsortedSegmentProdD"

    how = "mul"


class UnsortedSegmentMaxDOp(UnsortedSegmentD):
    """y[i] = the maximum of the slices x[j] with segment_ids[j] = i; negative ids are left out.

    Without any such slice y[i] is the smallest finite value of its type.
    C1: segment_ids is i32 or i64. C2: x starts with its dimensions. C3: num_segments is at least 0,
    and y has at most 2^40 elements.
    """

    name = "ge.UnsortedSegmentMaxD"

    how = "max"


class UnsortedSegmentMinDOp(UnsortedSegmentD):
    """y[i] = the minimum of the slices x[j] with segment_ids[j] = i; negative ids are left out.

    Without any such slice y[i] is the largest finite value of its type.
    C1: segment_ids is i32 or i64. C2: x starts with its dimensions. C3: num_segments is at least 0,
    and y has at most 2^40 elements.
    """

    name = "ge.UnsortedSegmentMinD"

    how = "min"


class SortedSegment(_Segments):
    """y[i] = the slices x[j] with segment_ids[j] = i, combined; 0 without any. The ids ascend.

    C1: segment_ids is i32 or i64. C2: it is a vector of the length of x.
    """

    x = operand()
    segment_ids = operand()
    y = result()

    def infer(self, x: Tensor, segment_ids: Tensor) -> Tensor:
        of_rank(segment_ids, 1, "segment_ids")  # C2
        return self.segment_type(x, segment_ids, DYNAMIC)

    def evaluate(self, x: Array, segment_ids: Array) -> Array:
        import numpy as np

        ids = segment_ids
        if (np.diff(ids) < 0).any() or (ids < 0).any():
            raise ValueError("segment_ids do not ascend from 0, expected sorted ones")
        count = count_of(int(ids[-1]) + 1 if ids.size else 0, "the number of segments")
        y = self.reduced(x, ids, count, self.neutral())
        absent = np.ones(count, np.bool_)
        absent[ids] = False
        y[absent] = 0
        return y


class SegmentSumOp(SortedSegment):
    """y[i] = the sum of the slices x[j] with segment_ids[j] = i; 0 without any. The ids ascend.

    C1: segment_ids is i32 or i64. C2: it is a vector of the length of x.
    """

    name = "ge.SegmentSum"


class SegmentMaxOp(SortedSegment):
    """y[i] = the maximum of the slices x[j] with segment_ids[j] = i; 0 without any.

    The ids ascend. C1: segment_ids is i32 or i64. C2: it is a vector of the length of x.
    """

    name = "ge.SegmentMax"

    how = "max"


class SparseSegmentMeanOp(GeOp):
    """y[s] = the mean of the slices x[indices[j]] with segment_ids[j] = s, 0 without any

    y has as many slices as the last segment tells. C1: indices and segment_ids are i32 or i64. C2:
    both have rank 1 and one length. C3: x has rank 1 or more. Values: segment_ids rise from 0 or
    more, and indices name slices of x.
    """

    name = "ge.SparseSegmentMean"

    x = operand()
    indices = operand()
    segment_ids = operand()
    y = result()

    widens = True

    def infer(self, x: Tensor, indices: Tensor, segment_ids: Tensor) -> Tensor:
        for tensor, name in ((indices, "indices"), (segment_ids, "segment_ids")):
            check_index(tensor, name)  # C1
            of_rank(tensor, 1, name)  # C2
        merge_shapes(indices.shape, segment_ids.shape, "shapes of indices and segment_ids")  # C2
        at_least_rank(x, 1, "x")  # C3
        return x.with_shape(None if x.shape is None else (DYNAMIC, *x.shape[1:]))

    def evaluate(self, x: Array, indices: Array, segment_ids: Array) -> Array:
        import numpy as np

        if (np.diff(segment_ids) < 0).any() or (segment_ids < 0).any():
            raise ValueError("segment_ids fall or are negative, expected rising ones from 0")
        if ((indices < 0) | (indices >= len(x))).any():
            raise ValueError(f"indices name no slice of x, expected 0 to {len(x) - 1}")
        count = int(segment_ids[-1]) + 1 if segment_ids.size else 0
        check_shape((count, *x.shape[1:]))
        y = np.zeros((count, *x.shape[1:]), x.dtype)
        np.add.at(y, segment_ids, x[indices])
        many = np.bincount(segment_ids, minlength=count).clip(1)
        return y / many.reshape(-1, *(1,) * (x.ndim - 1)).astype(x.dtype)
