"""Tensors made from numbers alone: fills, ramps, and one-hot rows of a given depth."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from xdsl.utils.exceptions import VerifyException

from ge_xdsl.dialects.ge.elements import FLOATS, INDICES, INTEGERS, one_element_type, require
from ge_xdsl.dialects.ge.extents import (
    bounded,
    checked_shape,
    count_of,
    int_of,
    listed_shape,
    merge_shapes,
)
from ge_xdsl.dialects.ge.fields import (
    boolean,
    floating,
    integer,
    integers,
    operand,
    result,
)
from ge_xdsl.dialects.ge.index import range_count
from ge_xdsl.dialects.ge.op import GeOp
from ge_xdsl.dialects.ge.operands import check_index, check_scalar, known_int
from ge_xdsl.dialects.ge.rounding import chosen_type
from ge_xdsl.dialects.ge.types import DYNAMIC, DataType, Tensor, numpy_dtype

if TYPE_CHECKING:
    from ge_xdsl.dialects.ge.types import Array


class FillDOp(GeOp):
    """y = value everywhere, in the shape `dims`. C1: value is one element. C2: dims are not
    negative."""

    name = "ge.FillD"

    value = operand()
    y = result()
    dims = integers()

    def infer(self, value: Tensor) -> Tensor:
        check_scalar(value, "value")  # C1
        return value.with_shape(checked_shape(self.dims))  # C2

    def evaluate(self, value: Array) -> Array:
        import numpy as np

        return np.full(self.dims, value.reshape(()), value.dtype)


class FillV2DOp(GeOp):
    """y = value everywhere, f32 in the shape `dims`. C1: dims are not negative."""

    name = "ge.FillV2D"

    y = result()
    value = floating(0.0)
    dims = integers()

    def infer(self) -> Tensor:
        return Tensor(DataType.DT_FLOAT, checked_shape(self.dims))  # C1

    def evaluate(self) -> Array:
        import numpy as np

        return np.full(self.dims, self.value, np.float32)


class FillV2Op(GeOp):
    """x = fill_value everywhere, in the shape and type of x

    C1: x and fill_value have one element type. C2: fill_value is one element.
    """

    name = "ge.FillV2"

    x = operand()
    fill_value = operand()
    new_x = result("x")

    def infer(self, x: Tensor, fill_value: Tensor) -> Tensor:
        one_element_type(x, fill_value)  # C1
        check_scalar(fill_value, "fill_value")  # C2
        return x

    def evaluate(self, x: Array, fill_value: Array) -> Array:
        import numpy as np

        return np.full(x.shape, fill_value.reshape(()), x.dtype)


_EMPTY_TYPES = FLOATS | INTEGERS | {DataType.DT_BOOL}


class EmptyOp(GeOp):
    """y = a tensor of the shape `shape`: zeros, which stand for anything unless init

    C1: shape is i32 or i64 of rank 1. C2: it has no negative entry. C3: dtype is the number of a
    data type of numbers.
    """

    name = "ge.Empty"

    shape = operand()
    y = result()
    dtype = integer(3)
    init = boolean(False)

    def infer(self, shape: Tensor) -> Tensor:
        dtype = chosen_type(self.dtype, "dtype", _EMPTY_TYPES)  # C3
        return Tensor(dtype, listed_shape(self, "shape", shape))  # C1 C2

    def evaluate(self, shape: Array) -> Array:
        import numpy as np

        wanted = checked_shape([int(d) for d in shape.reshape(-1).tolist()])
        return np.zeros(wanted, numpy_dtype(chosen_type(self.dtype, "dtype", _EMPTY_TYPES)))


class RangeDOp(GeOp):
    """y = start, start + delta, ... before limit, in the type and shape of x

    x is a ramp that the kernel uses; only its length counts. C1: delta is not 0 and leads from
    start to limit. C2: x has one element for each number. C3: x is f32 or i32.
    """

    name = "ge.RangeD"

    x = operand()
    y = result()
    start = floating()
    limit = floating()
    delta = floating()

    def infer(self, x: Tensor) -> Tensor:
        types = (DataType.DT_FLOAT, DataType.DT_INT32)
        require(x, "x", types, "DT_FLOAT or DT_INT32")  # C3
        count = range_count(self.start, self.limit, self.delta, False)  # C1
        return x.with_shape(merge_shapes(x.shape, bounded((count,)), "x and the range"))  # C2

    def evaluate(self, x: Array) -> Array:
        import numpy as np

        count = range_count(self.start, self.limit, self.delta, False)
        return (self.start + np.arange(count) * self.delta).astype(x.dtype)


class _LinearSpace(GeOp):
    def points(self, start: Tensor, stop: Tensor, num: Tensor, dtype: DataType) -> Tensor:
        """The result of `num` numbers."""
        one_element_type(start, stop)
        for io, tensor in zip(self.prototype.inputs, (start, stop, num), strict=True):
            check_scalar(tensor, io.name)
        check_index(num, "num")
        known = known_int(self, "num")
        return Tensor(dtype, (DYNAMIC if known is None else count_of(known, "num", 1),))

    def value(self, start: Array, stop: Array, num: Array, dtype: Any) -> Array:
        import numpy as np

        first, last = (a.reshape(()).astype(np.float64) for a in (start, stop))
        found = np.linspace(first, last, count_of(int_of(num, "num"), "num", 1))
        return found.astype(dtype)


class LinSpaceOp(_LinearSpace):
    """output = num numbers from start to stop, both included, evenly apart; [start] for one

    C1: start and stop are one number each, of one element type. C2: num is one i32 or i64. C3: num
    is at least 1.
    """

    name = "ge.LinSpace"

    start = operand()
    stop = operand()
    num = operand()
    output = result()

    def infer(self, start: Tensor, stop: Tensor, num: Tensor) -> Tensor:
        return self.points(start, stop, num, start.dtype)  # C1 C2 C3

    def evaluate(self, start: Array, stop: Array, num: Array) -> Array:
        return self.value(start, stop, num, start.dtype)


class LinSpaceDOp(_LinearSpace):
    """z = num numbers from start to end, both included, evenly apart, always f32

    C1: start and end are one number each, of one element type. C2: num is one i32 or i64. C3: num
    is at least 1.
    """

    name = "ge.LinSpaceD"

    start = operand()
    end = operand()
    num = operand()
    z = result()

    def infer(self, start: Tensor, end: Tensor, num: Tensor) -> Tensor:
        return self.points(start, end, num, DataType.DT_FLOAT)  # C1 C2 C3

    def evaluate(self, start: Array, end: Array, num: Array) -> Array:
        return self.value(start, end, num, "float32")


class OneHotDOp(GeOp):
    """y = on_value where the new dimension `axis`, of size depth, counts to x, else off_value.

    Only the first elements of on_value and off_value count; an x outside [0, depth) gives
    off_value. C1: x is u8, i32 or i64. C2: on_value and off_value have one element type. C3: depth
    is at least 0. C4: axis is in [-1, rank].
    """

    name = "ge.OneHotD"

    x = operand()
    on_value = operand()
    off_value = operand()
    y = result()
    depth = integer()
    axis = integer(-1)

    def infer(self, x: Tensor, on_value: Tensor, off_value: Tensor) -> Tensor:
        require(x, "x", INDICES | {DataType.DT_UINT8}, "DT_UINT8, DT_INT32 or DT_INT64")  # C1
        one_element_type(on_value, off_value)  # C2
        depth = count_of(self.depth, "depth")  # C3
        if x.shape is None:
            return on_value.with_shape(None)
        axis = self._axis(len(x.shape))
        return on_value.with_shape((*x.shape[:axis], depth, *x.shape[axis:]))

    def _axis(self, rank: int) -> int:
        if not -1 <= self.axis <= rank:  # C4
            raise VerifyException(f"axis is {self.axis}, expected one in [-1, {rank}]")
        return rank if self.axis == -1 else self.axis

    def evaluate(self, x: Array, on_value: Array, off_value: Array) -> Array:
        import numpy as np

        axis = self._axis(x.ndim)
        steps = np.arange(self.depth).reshape(-1, *(1,) * (x.ndim - axis))
        on, off = on_value.reshape(-1)[:1], off_value.reshape(-1)[:1]
        return np.where(np.expand_dims(x, axis) == steps, on, off)
