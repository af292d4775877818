"""Diagonals, triangles and bands of matrices: the last two dimensions unless an op says otherwise.

The D ops get a constant `assist` that helps a kernel; it has no say in the result.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from xdsl.utils.exceptions import VerifyException

from ge_xdsl.dialects.ge.elements import NO_NUMBERS, one_element_type
from ge_xdsl.dialects.ge.extents import (
    at_least_rank,
    bounded,
    count_of,
    int_of,
    merge_shapes,
)
from ge_xdsl.dialects.ge.fields import (
    boolean,
    floating,
    integer,
    integers,
    operand,
    optional,
    result,
)
from ge_xdsl.dialects.ge.op import GeOp
from ge_xdsl.dialects.ge.operands import check_index, check_scalar
from ge_xdsl.dialects.ge.shapes import Shape, multiply_dims, shape_text
from ge_xdsl.dialects.ge.types import DYNAMIC, DataType, Tensor, numpy_dtype

if TYPE_CHECKING:
    from ge_xdsl.dialects.ge.types import Array


def _least(a: int, b: int) -> int:
    """The smaller of two dimensions, unknown when one is."""
    return DYNAMIC if DYNAMIC in (a, b) else min(a, b)


class _Diag(GeOp):
    def spread_type(self, x: Tensor) -> Tensor:
        return x.with_shape(None if x.shape is None else bounded((*x.shape, *x.shape)))  # C1

    def spread(self, x: Array) -> Array:
        import numpy as np

        y = np.zeros(bounded((x.size, x.size)), x.dtype)
        np.fill_diagonal(y, x.reshape(-1))
        return y.reshape((*x.shape, *x.shape))


class DiagOp(_Diag):
    """y[i, j, i, j] = x[i, j], and so on for any rank, 0 elsewhere: x.shape twice.

    C1: y has at most 2^40 elements.
    """

    name = "ge.Diag"

    x = operand()
    y = result()

    def infer(self, x: Tensor) -> Tensor:
        return self.spread_type(x)

    def evaluate(self, x: Array) -> Array:
        return self.spread(x)


class DiagDOp(_Diag):
    """y[i, j, i, j] = x[i, j], and so on for any rank, 0 elsewhere: x.shape twice.

    C1: y has at most 2^40 elements.
    """

    name = "ge.DiagD"

    x = operand()
    assist = operand()
    y = result()

    def infer(self, x: Tensor, assist: Tensor) -> Tensor:
        return self.spread_type(x)

    def evaluate(self, x: Array, assist: Array) -> Array:
        return self.spread(x)


class _DiagPart(GeOp):
    def half(self, x: Tensor) -> Tensor:
        if x.shape is None:
            return x
        middle = len(x.shape) // 2
        if len(x.shape) % 2 or not x.shape:  # C1
            raise VerifyException(f"x is {shape_text(x.shape)}, expected an even rank above 0")
        halves = x.shape[:middle], x.shape[middle:]
        return x.with_shape(merge_shapes(*halves, "halves of the shape of x"))  # C2

    def part(self, x: Array) -> Array:
        head = x.shape[: x.ndim // 2]
        count = math.prod(head)
        return x.reshape(count, count).diagonal().reshape(head).copy()


class DiagPartOp(_DiagPart):
    """y[i, j] = x[i, j, i, j], and so on for any even rank.

    C1: x has an even rank above 0. C2: the first half of its shape repeats.
    """

    name = "ge.DiagPart"

    x = operand()
    y = result()

    def infer(self, x: Tensor) -> Tensor:
        return self.half(x)

    def evaluate(self, x: Array) -> Array:
        return self.part(x)


class DiagPartDOp(_DiagPart):
    """y[i, j] = x[i, j, i, j], and so on for any even rank.

    C1: x has an even rank above 0. C2: the first half of its shape repeats.
    """

    name = "ge.DiagPartD"

    x = operand()
    assist = operand()
    y = result()

    def infer(self, x: Tensor, assist: Tensor) -> Tensor:
        return self.half(x)

    def evaluate(self, x: Array, assist: Array) -> Array:
        return self.part(x)


def _square(x: Array, offset: int) -> Array:
    """A matrix with the vector x on its diagonal `offset` above the main one."""
    import numpy as np

    bounded((x.size + abs(offset),) * 2)
    return np.diag(x.reshape(-1), offset)


def _square_shape(count: int, offset: int) -> tuple[int, ...]:
    side = DYNAMIC if count == DYNAMIC else count + abs(offset)
    return bounded((side, side))


class DiagFlatOp(GeOp):
    """y = a matrix with the elements of x, row-major, on its diagonal.

    It is [n, n], n = size + |diagonal|; diagonal counts upward from the main one. C1: y has at most
    2^40 elements.
    """

    name = "ge.DiagFlat"

    x = operand()
    y = result()
    diagonal = integer(0)

    def infer(self, x: Tensor) -> Tensor:
        count = DYNAMIC if x.shape is None else multiply_dims(*x.shape)
        return x.with_shape(_square_shape(count, self.diagonal))  # C1

    def evaluate(self, x: Array) -> Array:
        return _square(x, self.diagonal)


class DiagV2Op(GeOp):
    """y = a matrix with the vector x on its diagonal, or the diagonal of the matrix x.

    diagonal counts upward from the main one. C1: x has rank 1 or 2. C2: y has at most 2^40
    elements.
    """

    name = "ge.DiagV2"

    x = operand()
    y = result()
    diagonal = integer(0)

    def infer(self, x: Tensor) -> Tensor:
        if x.rank not in (None, 1, 2):  # C1
            raise VerifyException(f"x is {shape_text(x.shape)}, expected rank 1 or 2")
        if x.shape is None:
            return x
        if len(x.shape) == 1:
            return x.with_shape(_square_shape(x.shape[0], self.diagonal))  # C2
        rows, columns = x.shape
        if DYNAMIC in x.shape:
            return x.with_shape((DYNAMIC,))
        up, down = max(self.diagonal, 0), max(-self.diagonal, 0)
        return x.with_shape((max(min(rows - down, columns - up), 0),))

    def evaluate(self, x: Array) -> Array:
        import numpy as np

        if x.ndim == 1:
            return _square(x, self.diagonal)
        rows, columns = x.shape
        return np.diagonal(x, min(max(self.diagonal, -rows), columns)).copy()


class _MatrixDiag(GeOp):
    def widened(self, x: Tensor) -> Tensor:
        at_least_rank(x, 1, "x")  # C1
        return x.with_shape(None if x.shape is None else bounded((*x.shape, x.shape[-1])))  # C2

    def spread(self, x: Array) -> Array:
        import numpy as np

        y = np.zeros(bounded((*x.shape, x.shape[-1])), x.dtype)
        np.einsum("...ii->...i", y)[...] = x
        return y


class MatrixDiagOp(_MatrixDiag):
    """y[..., i, i] = x[..., i], 0 elsewhere.

    C1: x has rank >= 1. C2: y has at most 2^40 elements.
    """

    name = "ge.MatrixDiag"

    x = operand()
    y = result()

    def infer(self, x: Tensor) -> Tensor:
        return self.widened(x)

    def evaluate(self, x: Array) -> Array:
        return self.spread(x)


class MatrixDiagDOp(_MatrixDiag):
    """y[..., i, i] = x[..., i], 0 elsewhere.

    C1: x has rank >= 1. C2: y has at most 2^40 elements.
    """

    name = "ge.MatrixDiagD"

    x = operand()
    assist = operand()
    y = result()

    def infer(self, x: Tensor, assist: Tensor) -> Tensor:
        return self.widened(x)

    def evaluate(self, x: Array, assist: Array) -> Array:
        return self.spread(x)


class _MatrixPart(GeOp):
    def diagonal_shape(self, x: Tensor) -> Shape:
        at_least_rank(x, 2, "x")  # C1
        return None if x.shape is None else (*x.shape[:-2], _least(*x.shape[-2:]))


class MatrixDiagPartOp(_MatrixPart):
    """y[..., i] = x[..., i, i]. C1: x has rank >= 2."""

    name = "ge.MatrixDiagPart"

    x = operand()
    y = result()

    def infer(self, x: Tensor) -> Tensor:
        return x.with_shape(self.diagonal_shape(x))

    def evaluate(self, x: Array) -> Array:
        return x.diagonal(axis1=-2, axis2=-1).copy()


class MatrixDiagPartDOp(_MatrixPart):
    """y[..., i] = x[..., i, i]. C1: x has rank >= 2."""

    name = "ge.MatrixDiagPartD"

    x = operand()
    assist = operand()
    y = result()

    def infer(self, x: Tensor, assist: Tensor) -> Tensor:
        return x.with_shape(self.diagonal_shape(x))

    def evaluate(self, x: Array, assist: Array) -> Array:
        return x.diagonal(axis1=-2, axis2=-1).copy()


class _SetDiag(_MatrixPart):
    def check(self, x: Tensor, diagonal: Tensor) -> Tensor:
        one_element_type(x, diagonal)  # C2
        wanted = self.diagonal_shape(x)
        merge_shapes(diagonal.shape, wanted, "shapes of diagonal and of that of x")  # C3
        return x

    def placed(self, x: Array, diagonal: Array) -> Array:
        import numpy as np

        y = x.copy()
        places = np.arange(min(x.shape[-2:]))
        y[..., places, places] = diagonal
        return y


class MatrixSetDiagOp(_SetDiag):
    """y = x with y[..., i, i] = diagonal[..., i].

    C1: x has rank >= 2. C2: x and diagonal have one element type. C3: diagonal has the shape of the
    main diagonals of x.
    """

    name = "ge.MatrixSetDiag"

    x = operand()
    diagonal = operand()
    y = result()

    def infer(self, x: Tensor, diagonal: Tensor) -> Tensor:
        return self.check(x, diagonal)

    def evaluate(self, x: Array, diagonal: Array) -> Array:
        return self.placed(x, diagonal)


class MatrixSetDiagDOp(_SetDiag):
    """y = x with y[..., i, i] = diagonal[..., i].

    C1: x has rank >= 2. C2: x and diagonal have one element type. C3: diagonal has the shape of the
    main diagonals of x.
    """

    name = "ge.MatrixSetDiagD"

    x = operand()
    diagonal = operand()
    assist = operand()
    y = result()

    def infer(self, x: Tensor, diagonal: Tensor, assist: Tensor) -> Tensor:
        return self.check(x, diagonal)

    def evaluate(self, x: Array, diagonal: Array, assist: Array) -> Array:
        return self.placed(x, diagonal)


def band(x: Array, low: float, high: float) -> Array:
    """x where low <= column - row <= high, 0 elsewhere."""
    import numpy as np

    rows, columns = np.ogrid[: x.shape[-2], : x.shape[-1]]
    step = np.asarray(columns - rows)
    return np.where((step >= low) & (step <= high), x, x.dtype.type(0))


class Triangle(GeOp):
    """A triangle of x, 0 elsewhere. C1: x has rank >= 2."""

    x = operand()
    y = result()
    diagonal = integer(0)

    def infer(self, x: Tensor) -> Tensor:
        at_least_rank(x, 2, "x")  # C1
        return x


class TrilOp(Triangle):
    """y = x where column - row <= diagonal, 0 elsewhere. C1: x has rank >= 2."""

    name = "ge.Tril"

    def evaluate(self, x: Array) -> Array:
        return band(x, -math.inf, self.diagonal)


class TriuOp(Triangle):
    """y = x where column - row >= diagonal, 0 elsewhere. C1: x has rank >= 2."""

    name = "ge.Triu"

    def evaluate(self, x: Array) -> Array:
        return band(x, self.diagonal, math.inf)


class TriluOp(GeOp):
    """y = x where column - row >= k if upper is not 0, else where it is <= k; 0 elsewhere.

    k is 0 when it is missing. C1: x has rank >= 2. C2: k is one i32 or i64.
    """

    name = "ge.Trilu"

    x = operand()
    k = optional()
    y = result()
    upper = integer(0)

    def infer(self, x: Tensor, k: Tensor | None) -> Tensor:
        at_least_rank(x, 2, "x")  # C1
        if k is not None:
            check_index(k, "k")  # C2
            check_scalar(k, "k")  # C2
        return x

    def evaluate(self, x: Array, k: Array | None) -> Array:
        offset = 0 if k is None else int_of(k, "k")
        return band(x, offset, math.inf) if self.upper else band(x, -math.inf, offset)


class MatrixBandPartOp(GeOp):
    """y = x where row - column <= num_lower and column - row <= num_upper, 0 elsewhere.

    A negative number keeps the whole triangle. C1: x has rank >= 2. C2: num_lower and num_upper are
    one i32 or i64 each.
    """

    name = "ge.MatrixBandPart"

    x = operand()
    num_lower = operand()
    num_upper = operand()
    y = result()

    def infer(self, x: Tensor, num_lower: Tensor, num_upper: Tensor) -> Tensor:
        at_least_rank(x, 2, "x")  # C1
        for tensor, name in ((num_lower, "num_lower"), (num_upper, "num_upper")):
            check_index(tensor, name)  # C2
            check_scalar(tensor, name)  # C2
        return x

    def evaluate(self, x: Array, num_lower: Array, num_upper: Array) -> Array:
        lower, upper = int_of(num_lower, "num_lower"), int_of(num_upper, "num_upper")
        return band(x, -math.inf if lower < 0 else -lower, math.inf if upper < 0 else upper)


class EyeOp(GeOp):
    """y = ones on the main diagonal, 0 elsewhere: batch_shape + [num_rows, num_columns].

    num_columns <= 0 means num_rows. C1: num_rows is at least 1. C2: batch_shape has no entry
    below 1. C3: dtype is GE's number of a numeric type. C4: y has at most 2^40 elements.
    """

    name = "ge.Eye"

    y = result()
    num_rows = integer()
    num_columns = integer(0)
    batch_shape = integers(())
    dtype = integer(0)

    def infer(self) -> Tensor:
        known = {int(t): t for t in DataType if t not in NO_NUMBERS}
        if self.dtype not in known:  # C3
            raise VerifyException(f"dtype is {self.dtype}, expected GE's number of a numeric type")
        rows = count_of(self.num_rows, "num_rows", 1)  # C1
        batch = tuple(count_of(n, "batch_shape entry", 1) for n in self.batch_shape)  # C2
        columns = self.num_columns if self.num_columns > 0 else rows
        return Tensor(known[self.dtype], bounded((*batch, rows, columns)))  # C4

    def evaluate(self) -> Array:
        import numpy as np

        y = self.infer()
        assert y.shape is not None
        rows, columns = y.shape[-2:]
        one = np.asarray(np.eye(rows, columns, dtype=np.int8)).astype(numpy_dtype(y.dtype))
        return np.broadcast_to(one, y.shape).copy()


class FillDiagonalOp(GeOp):
    """y = x with fill_value on its main diagonal y[i, i, ...].

    With wrap the diagonal of a tall matrix starts again below one row each time it has reached the
    last column. C1: x has rank >= 2. C2: all its dimensions are equal for a rank above 2.
    """

    name = "ge.FillDiagonal"

    x = operand()
    y = result()
    fill_value = floating()
    wrap = boolean(False)

    def infer(self, x: Tensor) -> Tensor:
        at_least_rank(x, 2, "x")  # C1
        if x.shape is not None and len(x.shape) > 2 and len(set(x.shape) - {DYNAMIC}) > 1:  # C2
            raise VerifyException(f"x is {shape_text(x.shape)}, expected equal dimensions")
        return x

    def evaluate(self, x: Array) -> Array:
        import numpy as np

        y = x.copy()
        if y.size:
            np.fill_diagonal(y, self.fill_value, wrap=self.wrap)
        return y
