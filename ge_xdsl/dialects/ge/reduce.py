"""Reductions over axes, given as an operand or (the D ops) as an attribute."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING

from ge_xdsl.dialects.ge.elements import convert
from ge_xdsl.dialects.ge.fields import boolean, integers, operand, result
from ge_xdsl.dialects.ge.op import GeOp
from ge_xdsl.dialects.ge.operands import known_ints, vector_length
from ge_xdsl.dialects.ge.shapes import normalize_axis
from ge_xdsl.dialects.ge.types import DYNAMIC, DataType, Tensor

if TYPE_CHECKING:
    from ge_xdsl.dialects.ge.types import Array


def reduced_axes(axes: Sequence[int], rank: int, noop: bool) -> tuple[int, ...]:
    """The axes to reduce, sorted; an axis may be named twice.

    No axes at all mean none when `noop`, else every one.
    """
    if not axes and not noop:
        return tuple(range(rank))
    found = {normalize_axis(axis, rank, "axis") for axis in axes}
    return tuple(sorted(found)) if rank else ()


class Reduction(GeOp):
    """What all reductions share; `combine` reduces an array over sorted axes."""

    widens = True

    @abstractmethod
    def combine(self, x: Array, axes: tuple[int, ...], keep: bool) -> Array:
        """x reduced over `axes`, which stay as dimensions of 1 when `keep`."""

    def reduced_type(self, dtype: DataType) -> DataType:
        """The element type of the result."""
        return dtype

    def reduced(self, x: Tensor, axes: Sequence[int], noop: bool, keep: bool) -> Tensor:
        """The result of reducing x over known axes."""
        dtype = self.reduced_type(x.dtype)
        if x.shape is None:
            scalar = not axes and not noop and not keep
            return Tensor(dtype, () if scalar else None)
        gone = reduced_axes(axes, len(x.shape), noop)
        dims = [(1 if i in gone else d) for i, d in enumerate(x.shape) if keep or i not in gone]
        return x.with_dtype(dtype) if not gone else Tensor(dtype, tuple(dims))


class OperandReduction(Reduction):
    """y reduces x over the axes in an operand, all when it is empty.

    C1: axes is an i32 or i64 scalar or vector. C2: each axis is a dimension of x.
    """

    x = operand()
    axes = operand()
    y = result()
    keep_dims = boolean(False)

    def noop(self) -> bool:
        """Whether empty axes leave x as it is."""
        return False

    def infer(self, x: Tensor, axes: Tensor) -> Tensor:
        count = vector_length(axes, "axes")  # C1
        known = () if count == 0 else known_ints(self, "axes")
        if known is not None:
            return self.reduced(x, known, self.noop(), self.keep_dims)  # C2
        return self.unknown(x, count)

    def unknown(self, x: Tensor, count: int) -> Tensor:
        """The result of reducing x over `count` axes that are not known yet."""
        dtype = self.reduced_type(x.dtype)
        if x.shape is None or (count == DYNAMIC and not self.keep_dims):
            return Tensor(dtype, None)
        if self.keep_dims:
            return Tensor(dtype, tuple(1 if d == 1 else DYNAMIC for d in x.shape))
        return Tensor(dtype, (DYNAMIC,) * max(len(x.shape) - count, 0))

    def evaluate(self, x: Array, axes: Array) -> Array:
        named = [int(axis) for axis in axes.reshape(-1).tolist()]
        return self.combine(x, reduced_axes(named, x.ndim, self.noop()), self.keep_dims)


class NoopReduction(OperandReduction):
    """y reduces x over the axes in an operand; noop_with_empty_axes says what none means.

    C1: axes is an i32 or i64 scalar or vector. C2: each axis is a dimension of x.
    """

    noop_with_empty_axes = boolean(True)

    def noop(self) -> bool:
        return self.noop_with_empty_axes


class AttributeReduction(Reduction):
    """y reduces x over the axes in an attribute, all when it is empty.

    C1: each axis is a dimension of x.
    """

    x = operand()
    y = result()
    axes = integers()
    keep_dims = boolean(False)

    def noop(self) -> bool:
        """Whether empty axes leave x as it is."""
        return False

    def infer(self, x: Tensor) -> Tensor:
        return self.reduced(x, self.axes, self.noop(), self.keep_dims)  # C1

    def evaluate(self, x: Array) -> Array:
        return self.combine(x, reduced_axes(self.axes, x.ndim, self.noop()), self.keep_dims)


class _Sum(Reduction):
    def combine(self, x: Array, axes: tuple[int, ...], keep: bool) -> Array:
        import numpy as np

        is_short = axes == (x.ndim - 1,) and 1 < x.shape[-1] < _FEW
        if is_short and x.dtype.kind == "f" and x.itemsize >= 4:
            return _sum_of_few(x, keep)
        return np.sum(x, axis=axes, keepdims=keep, dtype=x.dtype)


_FEW = 8
"""Numbers that numpy adds up one by one; the loop over such short rows takes most of its time."""


def _sum_of_few(x: Array, keep: bool) -> Array:
    """The sums over a short last dimension, in numpy's order, as sums of whole arrays."""
    import numpy as np

    total = np.asarray(x[..., 0] + x[..., 1])
    for i in range(2, x.shape[-1]):
        total += x[..., i]
    return total[..., None] if keep else total


class _Mean(Reduction):
    def combine(self, x: Array, axes: tuple[int, ...], keep: bool) -> Array:
        import numpy as np

        exact = np.float64 if x.dtype.kind in "iu" else x.dtype
        total = np.sum(x, axis=axes, keepdims=keep, dtype=exact)
        count = prod(x.shape[axis] for axis in axes)
        return convert(np.asarray(np.true_divide(total, count)), x.dtype)


class _Max(Reduction):
    def combine(self, x: Array, axes: tuple[int, ...], keep: bool) -> Array:
        import numpy as np

        if x.dtype.kind == "b":
            return np.any(x, axis=axes, keepdims=keep)
        lowest = np.iinfo(x.dtype).min if x.dtype.kind in "iu" else -np.inf
        return np.max(x, axis=axes, keepdims=keep, initial=lowest)


class _Min(Reduction):
    def combine(self, x: Array, axes: tuple[int, ...], keep: bool) -> Array:
        import numpy as np

        highest = np.iinfo(x.dtype).max if x.dtype.kind in "iu" else np.inf
        return np.min(x, axis=axes, keepdims=keep, initial=highest)


class _Prod(Reduction):
    def combine(self, x: Array, axes: tuple[int, ...], keep: bool) -> Array:
        import numpy as np

        return np.prod(x, axis=axes, keepdims=keep, dtype=x.dtype)


class _Truth(Reduction):
    def reduced_type(self, dtype: DataType) -> DataType:
        return DataType.DT_BOOL


class _All(_Truth):
    def combine(self, x: Array, axes: tuple[int, ...], keep: bool) -> Array:
        import numpy as np

        return np.all(x, axis=axes, keepdims=keep)


class _Any(_Truth):
    def combine(self, x: Array, axes: tuple[int, ...], keep: bool) -> Array:
        import numpy as np

        return np.any(x, axis=axes, keepdims=keep)


class ReduceSumOp(_Sum, NoopReduction):
    """y = sum of x over axes; integers wrap."""

    name = "ge.ReduceSum"


class ReduceSumDOp(_Sum, AttributeReduction):
    """y = sum of x over axes; integers wrap."""

    name = "ge.ReduceSumD"


class ReduceMeanOp(_Mean, NoopReduction):
    """y = mean of x over axes; integers truncate toward 0. NaN (0 for integers) over nothing."""

    name = "ge.ReduceMean"


class ReduceMeanDOp(_Mean, AttributeReduction):
    """y = mean of x over axes; integers truncate toward 0. NaN (0 for integers) over nothing."""

    name = "ge.ReduceMeanD"

    noop_with_empty_axes = boolean(False)

    def noop(self) -> bool:
        return self.noop_with_empty_axes


class ReduceMaxOp(_Max, NoopReduction):
    """y = maximum of x over axes, NaN where one is; the lowest value of the type over nothing."""

    name = "ge.ReduceMax"


class ReduceMaxDOp(_Max, AttributeReduction):
    """y = maximum of x over axes, NaN where one is; the lowest value of the type over nothing."""

    name = "ge.ReduceMaxD"


class ReduceMinOp(_Min, NoopReduction):
    """y = minimum of x over axes, NaN where one is; the highest value of the type over nothing."""

    name = "ge.ReduceMin"


class ReduceMinDOp(_Min, AttributeReduction):
    """y = minimum of x over axes, NaN where one is; the highest value of the type over nothing."""

    name = "ge.ReduceMinD"


class ReduceProdOp(_Prod, NoopReduction):
    """y = product of x over axes; integers wrap."""

    name = "ge.ReduceProd"


class ReduceProdDOp(_Prod, AttributeReduction):
    """y = product of x over axes; integers wrap."""

    name = "ge.ReduceProdD"


class ReduceAllOp(_All, OperandReduction):
    """y = whether all of x over axes are true; a number that is not 0 is."""

    name = "ge.ReduceAll"


class ReduceAllDOp(_All, AttributeReduction):
    """y = whether all of x over axes are true."""

    name = "ge.ReduceAllD"


class ReduceAnyOp(_Any, OperandReduction):
    """y = whether one of x over axes is true; a number that is not 0 is."""

    name = "ge.ReduceAny"


class ReduceAnyDOp(_Any, AttributeReduction):
    """y = whether one of x over axes is true."""

    name = "ge.ReduceAnyD"
