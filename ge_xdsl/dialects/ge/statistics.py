"""Reductions beyond sums and extremes: logarithms of sums, norms, variances."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING

from ge_xdsl.dialects.ge.elements import FLOATS, NO_NUMBERS, convert, one_element_type, require
from ge_xdsl.dialects.ge.extents import merge_shapes
from ge_xdsl.dialects.ge.fields import (
    boolean,
    data_type,
    integer,
    integers,
    operand,
    result,
)
from ge_xdsl.dialects.ge.op import GeOp
from ge_xdsl.dialects.ge.reduce import AttributeReduction, OperandReduction, reduced_axes
from ge_xdsl.dialects.ge.types import DataType, Tensor, numpy_dtype

if TYPE_CHECKING:
    from ge_xdsl.dialects.ge.types import Array

_FLOAT = "a floating-point type"


class ReduceLogSumOp(OperandReduction):
    """y = log(sum of x over axes); without axes y = log(x).

    C1: axes is an i32 or i64 scalar or vector. C2: each axis is a dimension of x. C3: x is a
    floating-point tensor.
    """

    name = "ge.ReduceLogSum"

    def noop(self) -> bool:
        return True

    def infer(self, x: Tensor, axes: Tensor) -> Tensor:
        require(x, "x", FLOATS, _FLOAT)  # C3
        return super().infer(x, axes)

    def combine(self, x: Array, axes: tuple[int, ...], keep: bool) -> Array:
        import numpy as np

        return np.asarray(np.log(np.sum(x, axis=axes, keepdims=keep)))


class ReduceLogSumExpOp(OperandReduction):
    """y = log(sum of exp(x) over axes), computed around the maximum of x.

    noop_with_empty_axes says what no axes mean: all of them, or none. C1: axes is an i32 or i64
    scalar or vector. C2: each axis is a dimension of x. C3: x is a floating-point tensor.
    """

    name = "ge.ReduceLogSumExp"

    noop_with_empty_axes = boolean(False)

    def noop(self) -> bool:
        return self.noop_with_empty_axes

    def infer(self, x: Tensor, axes: Tensor) -> Tensor:
        require(x, "x", FLOATS, _FLOAT)  # C3
        return super().infer(x, axes)

    def combine(self, x: Array, axes: tuple[int, ...], keep: bool) -> Array:
        import numpy as np

        top = np.asarray(np.max(x, axis=axes, keepdims=True, initial=-np.inf))
        base = np.asarray(np.where(np.isfinite(top), top, x.dtype.type(0)))
        total = np.asarray(np.log(np.sum(np.exp(x - base), axis=axes, keepdims=True)) + base)
        return total if keep else np.asarray(np.squeeze(total, axis=axes))


class _Euclid(OperandReduction):
    def combine(self, x: Array, axes: tuple[int, ...], keep: bool) -> Array:
        return euclidean(x, axes, keep)


def euclidean(x: Array, axes: tuple[int, ...], keep: bool) -> Array:
    """sqrt(sum x^2), of integers truncated."""
    import numpy as np

    exact = x.astype(np.float64) if x.dtype.kind in "iu" else x
    total = np.sum(np.square(exact), axis=axes, keepdims=keep)
    return convert(np.asarray(np.sqrt(total)), x.dtype)


class EuclideanNormOp(_Euclid):
    """y = sqrt(sum of x^2 over axes), of integers truncated.

    C1: axes is an i32 or i64 scalar or vector. C2: each axis is a dimension of x.
    """

    name = "ge.EuclideanNorm"


class EuclideanNormDOp(AttributeReduction):
    """y = sqrt(sum of x^2 over axes), of integers truncated. C1: each axis is a dimension of x."""

    name = "ge.EuclideanNormD"

    axes = integers(())

    def combine(self, x: Array, axes: tuple[int, ...], keep: bool) -> Array:
        return euclidean(x, axes, keep)


class ReduceMeanWithCastOp(OperandReduction):
    """y = mean of x over axes in the type `dtype`; x's own when that is DT_UNDEFINED.

    noop_with_empty_axes says what no axes mean: none, or all of them. C1: axes is an i32 or i64
    scalar or vector. C2: each axis is a dimension of x. C3: dtype is numeric.
    """

    name = "ge.ReduceMeanWithCast"

    noop_with_empty_axes = boolean(True)
    dtype = data_type(DataType.DT_UNDEFINED)

    def noop(self) -> bool:
        return self.noop_with_empty_axes

    def infer(self, x: Tensor, axes: Tensor) -> Tensor:
        if self.dtype is not DataType.DT_UNDEFINED:
            numbers = frozenset(DataType) - NO_NUMBERS
            require(Tensor(self.dtype, ()), "dtype", numbers, "a numeric type")  # C3
        return super().infer(x, axes)

    def reduced_type(self, dtype: DataType) -> DataType:
        return dtype if self.dtype is DataType.DT_UNDEFINED else self.dtype

    def combine(self, x: Array, axes: tuple[int, ...], keep: bool) -> Array:
        import numpy as np

        exact = np.float64 if x.dtype.kind in "iub" else x.dtype
        total = np.sum(x, axis=axes, keepdims=keep, dtype=exact)
        mean = np.asarray(total / prod(x.shape[axis] for axis in axes)).astype(exact)
        undefined = self.dtype is DataType.DT_UNDEFINED
        return convert(mean, x.dtype if undefined else numpy_dtype(self.dtype))


class _Axes(GeOp):
    """Reductions over attribute axes, all when none is named; the ops number the constraints."""

    widens = True

    def reduced(self, x: Tensor, axes: Sequence[int], keep: bool, noop: bool = False) -> Tensor:
        if x.shape is None:
            return x if axes or noop or keep else x.with_shape(())
        gone = reduced_axes(axes, len(x.shape), noop)  # C1
        dims = [1 if i in gone else d for i, d in enumerate(x.shape) if keep or i not in gone]
        return x.with_shape(dims) if gone else x


def squares(x: Array, axes: tuple[int, ...], keep: bool) -> Array:
    """sum x^2"""
    import numpy as np

    return np.asarray(np.sum(np.square(x), axis=axes, keepdims=keep, dtype=x.dtype))


class SquareSumV1Op(_Axes):
    """y = sum of x^2 over axis. C1: each entry of axis is a dimension of x.

    C2: x is a floating-point tensor.
    """

    name = "ge.SquareSumV1"

    x = operand()
    y = result()
    axis = integers()
    keep_dims = boolean(False)
    noop_with_empty_axes = boolean(False)

    def infer(self, x: Tensor) -> Tensor:
        require(x, "x", FLOATS, _FLOAT)  # C2
        return self.reduced(x, self.axis, self.keep_dims, self.noop_with_empty_axes)

    def evaluate(self, x: Array) -> Array:
        axes = reduced_axes(self.axis, x.ndim, self.noop_with_empty_axes)
        return squares(x, axes, self.keep_dims)


class SquareSumV2Op(_Axes):
    """y1 = sum of x^2 over axis, y2 = x^2. C1: each entry of axis is a dimension of x.

    C2: x is a floating-point tensor.
    """

    name = "ge.SquareSumV2"

    x = operand()
    y1 = result()
    y2 = result()
    axis = integers()
    keep_dims = boolean(False)

    def infer(self, x: Tensor) -> tuple[Tensor, Tensor]:
        require(x, "x", FLOATS, _FLOAT)  # C2
        return self.reduced(x, self.axis, self.keep_dims), x

    def evaluate(self, x: Array) -> tuple[Array, Array]:
        return squares(x, reduced_axes(self.axis, x.ndim, False), self.keep_dims), x * x


class SquareSumAllOp(GeOp):
    """y1 = sum of x1^2, y2 = sum of x2^2, both scalars.

    C1: x1 and x2 are floating-point tensors of one element type. C2: they have one shape.
    """

    name = "ge.SquareSumAll"

    x1 = operand()
    x2 = operand()
    y1 = result()
    y2 = result()

    widens = True

    def infer(self, x1: Tensor, x2: Tensor) -> tuple[Tensor, Tensor]:
        require(x1, "x1", FLOATS, _FLOAT)  # C1
        one_element_type(x1, x2)  # C1
        merge_shapes(x1.shape, x2.shape, "shapes of x1 and x2")  # C2
        return x1.with_shape(()), x2.with_shape(())

    def evaluate(self, x1: Array, x2: Array) -> tuple[Array, Array]:
        axes = tuple(range(x1.ndim))
        return squares(x1, axes, False), squares(x2, axes, False)


class ReduceMeanVarianceOp(_Axes):
    """mean = mean of x over axes, variance = the mean of x^2: not centred, in spite of the name.

    C1: each axis is a dimension of x. C2: x is a floating-point tensor.
    """

    name = "ge.ReduceMeanVariance"

    x = operand()
    mean = result()
    variance = result()
    axes = integers(())
    keep_dims = boolean(True)

    def infer(self, x: Tensor) -> tuple[Tensor, Tensor]:
        require(x, "x", FLOATS, _FLOAT)  # C2
        y = self.reduced(x, self.axes, self.keep_dims)
        return y, y

    def evaluate(self, x: Array) -> tuple[Array, Array]:
        import numpy as np

        axes = reduced_axes(self.axes, x.ndim, False)
        mean = np.asarray(np.mean(x, axis=axes, keepdims=self.keep_dims))
        return mean, np.asarray(np.mean(np.square(x), axis=axes, keepdims=self.keep_dims))


def spread(x: Array, axes: tuple[int, ...], keep: bool, less: int) -> tuple[Array, Array]:
    """Variance, with count - less as divisor (at least 0), and mean."""
    import numpy as np

    mean = np.mean(x, axis=axes, keepdims=True)
    count = max(prod(x.shape[axis] for axis in axes) - less, 0)
    total = np.sum(np.square(x - mean), axis=axes, keepdims=keep)
    variance = np.asarray(np.divide(total, x.dtype.type(count)))
    return variance, np.asarray(mean if keep else np.squeeze(mean, axis=axes))


class _Spread(_Axes):
    def two(self, x: Tensor, dim: Sequence[int], keep: bool) -> tuple[Tensor, Tensor]:
        require(x, "x", FLOATS, _FLOAT)  # C2
        y = self.reduced(x, dim, keep)
        return y, y


class ReduceStdOp(_Spread):
    """y1 = the standard deviation of x over dim, y2 = the mean.

    The divisor of the variance is the count less 1 when unbiased, else the count. That y2 is the
    mean follows from ReduceStdV2. C1: each entry of
    dim is a dimension of x. C2: x is a floating-point tensor.
    """

    name = "ge.ReduceStd"

    x = operand()
    y1 = result()
    y2 = result()
    dim = integers(())
    unbiased = boolean(True)
    keepdim = boolean(False)

    def infer(self, x: Tensor) -> tuple[Tensor, Tensor]:
        return self.two(x, self.dim, self.keepdim)

    def evaluate(self, x: Array) -> tuple[Array, Array]:
        import numpy as np

        axes = reduced_axes(self.dim, x.ndim, False)
        variance, mean = spread(x, axes, self.keepdim, int(self.unbiased))
        return np.asarray(np.sqrt(variance)), mean


class ReduceStdV2Op(_Spread):
    """std = the standard deviation of x over dim, with count - correction as divisor; mean.

    is_mean_out is a hint that the mean is used. C1: each entry of dim is a dimension of x. C2: x is
    a floating-point tensor.
    """

    name = "ge.ReduceStdV2"

    x = operand()
    std = result()
    mean = result()
    dim = integers(())
    correction = integer(1)
    keepdim = boolean(False)
    is_mean_out = boolean(True)

    def infer(self, x: Tensor) -> tuple[Tensor, Tensor]:
        return self.two(x, self.dim, self.keepdim)

    def evaluate(self, x: Array) -> tuple[Array, Array]:
        import numpy as np

        axes = reduced_axes(self.dim, x.ndim, False)
        variance, mean = spread(x, axes, self.keepdim, self.correction)
        return np.asarray(np.sqrt(variance)), mean


class ReduceVarOp(_Spread):
    """var = the variance of x over dim, with count - correction as divisor; mean.

    is_mean_out is a hint that the mean is used. C1: each entry of dim is a dimension of x. C2: x is
    a floating-point tensor.
    """

    name = "ge.ReduceVar"

    x = operand()
    var = result()
    mean = result()
    dim = integers(())
    correction = integer(1)
    keepdim = boolean(False)
    is_mean_out = boolean(True)

    def infer(self, x: Tensor) -> tuple[Tensor, Tensor]:
        return self.two(x, self.dim, self.keepdim)

    def evaluate(self, x: Array) -> tuple[Array, Array]:
        axes = reduced_axes(self.dim, x.ndim, False)
        return spread(x, axes, self.keepdim, self.correction)
