"""Sorting, the largest elements, and ranks.

Sorting is stable everywhere, so that equal elements keep their order whatever `stable` says. NaN
counts as larger than every number.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from xdsl.utils.exceptions import VerifyException

from ge_xdsl.dialects.ge.arg import check_index_type
from ge_xdsl.dialects.ge.elements import FLOATS, require
from ge_xdsl.dialects.ge.extents import at_least_rank, int_of, merge_shapes, of_rank
from ge_xdsl.dialects.ge.fields import boolean, data_type, integer, operand, result
from ge_xdsl.dialects.ge.op import GeOp
from ge_xdsl.dialects.ge.operands import check_index, check_scalar, known_int
from ge_xdsl.dialects.ge.shapes import merge_dim, normalize_axis
from ge_xdsl.dialects.ge.types import DYNAMIC, DataType, Tensor, numpy_dtype

if TYPE_CHECKING:
    from ge_xdsl.dialects.ge.types import Array


def sorted_order(x: Array, axis: int, descending: bool) -> Array:
    """The positions of the elements in order along `axis`; equal ones keep their order."""
    import numpy as np

    if not descending:
        return np.argsort(x, axis=axis, kind="stable")
    last = x.shape[axis] - 1
    return np.flip(last - np.argsort(np.flip(x, axis), axis=axis, kind="stable"), axis)


class SortOp(GeOp):
    """y1 = x sorted along axis, y2 = where its elements were.

    C1: axis is a dimension of x. C2: y2_dtype is i32 or i64.
    """

    name = "ge.Sort"

    x = operand()
    y1 = result()
    y2 = result()
    axis = integer(-1)
    descending = boolean(False)
    stable = boolean(False)
    y2_dtype = data_type(DataType.DT_INT32)

    widens = True

    def infer(self, x: Tensor) -> tuple[Tensor, Tensor]:
        check_index_type(self.y2_dtype, "y2_dtype")  # C2
        if x.shape is not None:
            normalize_axis(self.axis, len(x.shape))  # C1
        return x, Tensor(self.y2_dtype, x.shape)

    def evaluate(self, x: Array) -> tuple[Array, Array]:
        import numpy as np

        if not x.ndim:
            return x, np.zeros((), numpy_dtype(self.y2_dtype))
        order = sorted_order(x, self.axis, self.descending)
        y1 = np.take_along_axis(x, order, axis=self.axis)
        return y1, order.astype(numpy_dtype(self.y2_dtype))


class SortV2Op(GeOp):
    """y = x sorted along axis. C1: axis is a dimension of x. C2: x is a floating-point tensor."""

    name = "ge.SortV2"

    x = operand()
    y = result()
    axis = integer(-1)
    descending = boolean(False)

    widens = True

    def infer(self, x: Tensor) -> Tensor:
        require(x, "x", FLOATS, "a floating-point type")  # C2
        if x.shape is not None:
            normalize_axis(self.axis, len(x.shape))  # C1
        return x

    def evaluate(self, x: Array) -> Array:
        import numpy as np

        if not x.ndim:
            return x
        y = np.sort(x, axis=self.axis)
        return np.flip(y, self.axis) if self.descending else y


class SortWithIndexOp(GeOp):
    """y = x sorted along axis, sorted_index = index in the same order.

    C1: axis is a dimension of x. C2: index is i32 or i64. C3: it has the shape of x.
    """

    name = "ge.SortWithIndex"

    x = operand()
    index = operand()
    y = result()
    sorted_index = result()
    axis = integer(-1)
    descending = boolean(False)
    stable = boolean(False)

    widens = True

    def infer(self, x: Tensor, index: Tensor) -> tuple[Tensor, Tensor]:
        check_index(index, "index")  # C2
        shape = merge_shapes(x.shape, index.shape, "shapes of x and index")  # C3
        if shape is not None:
            normalize_axis(self.axis, len(shape))  # C1
        return x.with_shape(shape), index.with_shape(shape)

    def evaluate(self, x: Array, index: Array) -> tuple[Array, Array]:
        import numpy as np

        if not x.ndim:
            return x, index
        order = sorted_order(x, self.axis, self.descending)
        picked = (np.take_along_axis(a, order, axis=self.axis) for a in (x, index))
        return next(picked), next(picked)


class _TopK(GeOp):
    widens = True

    def top_type(self, x: Tensor, k: int | None, dim: int, index: DataType) -> list[Tensor]:
        """values and indices: x with k elements along dim."""
        at_least_rank(x, 1, "x")  # C1
        if x.shape is None:
            return [x.with_shape(None), Tensor(index, None)]
        place = normalize_axis(dim, len(x.shape), "dim")  # C2
        have = x.shape[place]
        if k is not None and (k < 0 or DYNAMIC != have < k):  # C3
            most = "the dimension" if have == DYNAMIC else have
            raise VerifyException(f"k is {k}, expected 0 to {most}")
        shape = (*x.shape[:place], DYNAMIC if k is None else k, *x.shape[place + 1 :])
        return [x.with_shape(shape), Tensor(index, shape)]

    def known_k(self, k: Tensor) -> int | None:
        check_index(k, "k")  # C4
        check_scalar(k, "k")  # C4
        return known_int(self, "k")

    def top(
        self, x: Array, k: int, dim: int, largest: bool, index: DataType = DataType.DT_INT32
    ) -> tuple[Array, Array]:
        import numpy as np

        place = normalize_axis(dim, x.ndim, "dim")
        if not 0 <= k <= x.shape[place]:
            raise ValueError(f"k is {k}, expected 0 to {x.shape[place]}")
        order = np.take(sorted_order(x, place, largest), np.arange(k), axis=place)
        return np.take_along_axis(x, order, axis=place), order.astype(numpy_dtype(index))


class TopKOp(_TopK):
    """values = the k largest elements along dim (smallest when not largest), best first.

    indices (i32) are their positions. `sorted` promises the order that this op has anyway.
    C1: x has rank >= 1. C2: dim is a dimension of x. C3: k is at least 0 and at most that
    dimension. C4: k is one i32 or i64.
    """

    name = "ge.TopK"

    x = operand()
    k = operand()
    values = result()
    indices = result()
    sorted = boolean(True)
    largest = boolean(True)
    dim = integer(-1)

    def infer(self, x: Tensor, k: Tensor) -> list[Tensor]:
        return self.top_type(x, self.known_k(k), self.dim, DataType.DT_INT32)

    def evaluate(self, x: Array, k: Array) -> tuple[Array, Array]:
        return self.top(x, int_of(k, "k"), self.dim, self.largest)


class TopKV2Op(_TopK):
    """values = the k largest elements along dim (smallest when not largest), best first.

    indices are their positions, i32 or i64 as indices_dtype (3 or 9) says. `sorted` promises the
    order that this op has anyway. C1: x has rank >= 1. C2: dim is a dimension of x. C3: k is at
    least 0 and at most that dimension. C4: k is one i32 or i64. C5: indices_dtype is 3 or 9.
    """

    name = "ge.TopKV2"

    x = operand()
    k = operand()
    values = result()
    indices = result()
    sorted = boolean(True)
    dim = integer(-1)
    largest = boolean(True)
    indices_dtype = integer(3)

    def infer(self, x: Tensor, k: Tensor) -> list[Tensor]:
        if self.indices_dtype not in (3, 9):  # C5
            raise VerifyException(
                f"indices_dtype is {self.indices_dtype}, expected 3 (DT_INT32) or 9 (DT_INT64)"
            )
        return self.top_type(x, self.known_k(k), self.dim, DataType(self.indices_dtype))

    def evaluate(self, x: Array, k: Array) -> tuple[Array, Array]:
        index = DataType(self.indices_dtype)
        return self.top(x, int_of(k, "k"), self.dim, self.largest, index)


class TopKDOp(_TopK):
    """values = the k largest elements along dim (smallest when not largest), best first.

    indices (i32) are their positions. assist_seq is a ramp for the kernel and has no say, nor has
    `sorted`. C1: x has rank >= 1. C2: dim is a dimension of x. C3: k is at least 0 and at most that
    dimension.
    """

    name = "ge.TopKD"

    x = operand()
    assist_seq = operand()
    values = result()
    indices = result()
    k = integer()
    sorted = boolean(True)
    dim = integer(-1)
    largest = boolean(True)

    def infer(self, x: Tensor, assist_seq: Tensor) -> list[Tensor]:
        return self.top_type(x, self.k, self.dim, DataType.DT_INT32)

    def evaluate(self, x: Array, assist_seq: Array) -> tuple[Array, Array]:
        return self.top(x, self.k, self.dim, self.largest)


class TopKV2DOp(_TopK):
    """values = the k largest elements along dim (smallest when not largest), best first.

    indices (i32) are their positions. assist_seq is a ramp for the kernel and has no say, nor has
    `sorted`. C1: x has rank >= 1. C2: dim is a dimension of x. C3: k is at
    least 0 and at most that dimension. C4: k is one i32 or i64.
    """

    name = "ge.TopKV2D"

    x = operand()
    k = operand()
    assist_seq = operand()
    values = result()
    indices = result()
    sorted = boolean(True)
    dim = integer(-1)
    largest = boolean(True)

    def infer(self, x: Tensor, k: Tensor, assist_seq: Tensor) -> list[Tensor]:
        return self.top_type(x, self.known_k(k), self.dim, DataType.DT_INT32)

    def evaluate(self, x: Array, k: Array, assist_seq: Array) -> tuple[Array, Array]:
        return self.top(x, int_of(k, "k"), self.dim, self.largest)


class NthElementOp(GeOp):
    """y = the element at place n of the last dimension once it is sorted (backwards on reverse).

    C1: n is one i32 or i64. C2: x has rank >= 1. C3: n is inside the last dimension.
    """

    name = "ge.NthElement"

    x = operand()
    n = operand()
    y = result()
    reverse = boolean(False)

    widens = True

    def infer(self, x: Tensor, n: Tensor) -> Tensor:
        check_index(n, "n")  # C1
        check_scalar(n, "n")  # C1
        at_least_rank(x, 1, "x")  # C2
        if x.shape is None:
            return x
        known = known_int(self, "n")
        if known is not None and x.shape[-1] != DYNAMIC:
            self._check(known, x.shape[-1])
        return x.with_shape(x.shape[:-1])

    def _check(self, n: int, count: int) -> None:
        if not 0 <= n < count:  # C3
            raise VerifyException(f"n is {n}, expected one in [0, {count})")

    def evaluate(self, x: Array, n: Array) -> Array:
        import numpy as np

        place = int_of(n, "n")
        self._check(place, x.shape[-1])
        return np.sort(x, axis=-1)[..., x.shape[-1] - 1 - place if self.reverse else place]


class _InTopK(GeOp):
    def hit_type(self, predictions: Tensor, targets: Tensor) -> Tensor:
        of_rank(predictions, 2, "predictions")  # C1
        of_rank(targets, 1, "targets")  # C1
        check_index(targets, "targets")  # C2
        rows = DYNAMIC if predictions.shape is None else predictions.shape[0]
        count = DYNAMIC if targets.shape is None else targets.shape[0]
        return Tensor(DataType.DT_BOOL, (merge_dim(rows, count, "rows and targets"),))  # C3

    def hits(self, predictions: Array, targets: Array, k: int) -> Array:
        import numpy as np

        rows, classes = predictions.shape
        inside = (targets >= 0) & (targets < classes)
        if not classes:
            return np.zeros(rows, np.bool_)
        own = predictions[np.arange(rows), np.where(inside, targets, 0)]
        better = (predictions > own[:, None]).sum(axis=1)
        return inside & np.isfinite(predictions).all(axis=1) & (better < k)


class InTopKOp(_InTopK):
    """y[i] = whether class x2[i] is among the k with the largest scores of row i of x1.

    It is when fewer than k scores are larger. False for a class that does not exist and for rows
    with scores that are not finite. C1: x1 is a matrix and x2 a vector. C2: x2 is i32 or i64.
    C3: there is one of x2 per row. C4: k is one i32 or i64.
    """

    name = "ge.InTopK"

    x1 = operand()
    x2 = operand()
    k = operand()
    y = result()

    def infer(self, x1: Tensor, x2: Tensor, k: Tensor) -> Tensor:
        check_index(k, "k")  # C4
        check_scalar(k, "k")  # C4
        return self.hit_type(x1, x2)

    def evaluate(self, x1: Array, x2: Array, k: Array) -> Array:
        return self.hits(x1, x2, int_of(k, "k"))


class InTopKDOp(_InTopK):
    """y[i] = whether class x2[i] is among the k with the largest scores of row i of x1.

    It is when fewer than k scores are larger. False for a class that does not exist and for rows
    with scores that are not finite. C1: x1 is a matrix and x2 a vector. C2: x2 is i32 or i64.
    C3: there is one of x2 per row.
    """

    name = "ge.InTopKD"

    x1 = operand()
    x2 = operand()
    y = result()
    k = integer()

    def infer(self, x1: Tensor, x2: Tensor) -> Tensor:
        return self.hit_type(x1, x2)

    def evaluate(self, x1: Array, x2: Array) -> Array:
        return self.hits(x1, x2, self.k)


class InTopKV2Op(_InTopK):
    """precision[i] = whether class targets[i] is among the k largest scores of its row.

    It is when fewer than k scores are larger. False for a class that does not exist and for rows
    with scores that are not finite. C1: predictions is a matrix and targets a vector. C2: targets
    is i32 or i64. C3: there is one of targets per row. C4: k is one i32 or i64.
    """

    name = "ge.InTopKV2"

    predictions = operand()
    targets = operand()
    k = operand()
    precision = result()

    def infer(self, predictions: Tensor, targets: Tensor, k: Tensor) -> Tensor:
        check_index(k, "k")  # C4
        check_scalar(k, "k")  # C4
        return self.hit_type(predictions, targets)

    def evaluate(self, predictions: Array, targets: Array, k: Array) -> Array:
        return self.hits(predictions, targets, int_of(k, "k"))
