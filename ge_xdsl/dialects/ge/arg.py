"""Positions of the largest and smallest elements along a dimension.

The first of equal elements counts, and NaN comes before every number.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING

from xdsl.utils.exceptions import VerifyException

from ge_xdsl.dialects.ge.elements import INDICES, one_element_type, require
from ge_xdsl.dialects.ge.extents import int_of, merge_shapes
from ge_xdsl.dialects.ge.fields import boolean, data_type, integer, operand, result
from ge_xdsl.dialects.ge.op import GeOp
from ge_xdsl.dialects.ge.operands import check_index, check_scalar, known_int
from ge_xdsl.dialects.ge.shapes import Shape, normalize_axis
from ge_xdsl.dialects.ge.types import DYNAMIC, FLOATS, DataType, Tensor, numpy_dtype

if TYPE_CHECKING:
    from ge_xdsl.dialects.ge.types import Array


def check_index_type(dtype: DataType, name: str) -> None:
    """The type of positions, in attribute `name`, is i32 or i64."""
    if dtype not in INDICES:
        raise VerifyException(f"{name} is {dtype.name}, expected DT_INT32 or DT_INT64")


def without_axis(shape: Shape, axis: int, keep: bool, what: str = "dimension") -> Shape:
    """The shape without one dimension, or with 1 there when `keep`; scalars stay scalars."""
    if shape is None:
        return None
    place = normalize_axis(axis, len(shape), what)
    kept = (1,) if keep and shape else ()
    return (*shape[:place], *kept, *shape[place + 1 :])


class _Arg(GeOp):
    @abstractmethod
    def find(self, x: Array, axis: int) -> Array:
        """The positions along `axis`, which goes away."""

    def positions(self, x: Array, dimension: int, dtype: DataType) -> Array:
        import numpy as np

        place = normalize_axis(dimension, x.ndim, "dimension")
        x = np.atleast_1d(x)
        if x.shape[place] == 0:
            raise ValueError(f"dimension {place} of x is 0, expected at least 1")
        return np.asarray(self.find(x, place)).astype(numpy_dtype(dtype))


class _ArgMax(_Arg):
    def find(self, x: Array, axis: int) -> Array:
        import numpy as np

        return np.argmax(x, axis=axis)


class _ArgMin(_Arg):
    def find(self, x: Array, axis: int) -> Array:
        import numpy as np

        return np.argmin(x, axis=axis)


class _ByOperand(_Arg):
    x = operand()
    dimension = operand()
    y = result()
    dtype = data_type(DataType.DT_INT64)

    widens = True

    def infer(self, x: Tensor, dimension: Tensor) -> Tensor:
        check_index(dimension, "dimension")  # C1
        check_scalar(dimension, "dimension")  # C1
        check_index_type(self.dtype, "dtype")  # C3
        known = known_int(self, "dimension")
        if x.shape is not None and len(x.shape) <= 1 and known is None:
            return Tensor(self.dtype, ())
        if known is None:
            unknown = None if x.shape is None else (DYNAMIC,) * (len(x.shape) - 1)
            return Tensor(self.dtype, unknown)
        return Tensor(self.dtype, without_axis(x.shape, known, False))  # C2

    def evaluate(self, x: Array, dimension: Array) -> Array:
        return self.positions(x, int_of(dimension, "dimension"), self.dtype)


class ArgMaxV2Op(_ArgMax, _ByOperand):
    """y = the position of the maximum of x along dimension, which goes away.

    C1: dimension is one i32 or i64. C2: it is a dimension of x. C3: dtype is i32 or i64.
    """

    name = "ge.ArgMaxV2"


class ArgMinOp(_ArgMin, _ByOperand):
    """y = the position of the minimum of x along dimension, which goes away.

    C1: dimension is one i32 or i64. C2: it is a dimension of x. C3: dtype is i32 or i64.
    """

    name = "ge.ArgMin"


class _ByAttribute(_Arg):
    x = operand()
    y = result()
    dimension = integer()
    dtype = data_type(DataType.DT_INT64)

    widens = True

    def infer(self, x: Tensor) -> Tensor:
        return Tensor(DataType.DT_INT32, without_axis(x.shape, self.dimension, False))  # C1

    def evaluate(self, x: Array) -> Array:
        return self.positions(x, self.dimension, DataType.DT_INT32)


class ArgMaxDOp(_ArgMax, _ByAttribute):
    """y = the position of the maximum of x along dimension, which goes away.

    y is i32, the only type that the op has for it; dtype has no say. C1: dimension is one of x's.
    """

    name = "ge.ArgMaxD"


class ArgMinDOp(_ArgMin, _ByAttribute):
    """y = the position of the minimum of x along dimension, which goes away.

    y is i32, the only type that the op has for it; dtype has no say. C1: dimension is one of x's.
    """

    name = "ge.ArgMinD"


class _WithValue(_Arg):
    x = operand()
    indice = result()
    values = result()
    dimension = integer()
    keep_dims = boolean(False)
    indice_dtype = data_type(DataType.DT_INT32)

    widens = True

    def infer(self, x: Tensor) -> tuple[Tensor, Tensor]:
        check_index_type(self.indice_dtype, "indice_dtype")  # C2
        shape = without_axis(x.shape, self.dimension, self.keep_dims)  # C1
        return Tensor(self.indice_dtype, shape), x.with_shape(shape)

    def evaluate(self, x: Array) -> tuple[Array, Array]:
        import numpy as np

        found = self.positions(x, self.dimension, DataType.DT_INT64)
        place = normalize_axis(self.dimension, x.ndim, "dimension")
        kept = np.expand_dims(found, place)
        values = np.take_along_axis(np.atleast_1d(x), kept, axis=place)
        if not self.keep_dims or not x.ndim:
            kept, values = found, values.reshape(found.shape)
        return kept.astype(numpy_dtype(self.indice_dtype)), values


class ArgMaxWithValueOp(_ArgMax, _WithValue):
    """indice = the position of the maximum along dimension, values = that maximum.

    C1: dimension is one of x's. C2: indice_dtype is i32 or i64.
    """

    name = "ge.ArgMaxWithValue"


class ArgMinWithValueOp(_ArgMin, _WithValue):
    """indice = the position of the minimum along dimension, values = that minimum.

    C1: dimension is one of x's. C2: indice_dtype is i32 or i64.
    """

    name = "ge.ArgMinWithValue"


class _PutAlong(GeOp):
    var = operand()
    indices = operand()
    updates = operand()

    def put_type(self, var: Tensor, indices: Tensor, updates: Tensor, dimension: int) -> Tensor:
        one_element_type(var, updates)  # C1
        check_index(indices, "indices")  # C2
        gone = without_axis(var.shape, dimension, False)  # C3
        shape = merge_shapes(indices.shape, updates.shape, "shapes of indices and updates")
        merge_shapes(shape, gone, "shapes of indices and of var without the dimension")  # C4
        return var

    def put(self, var: Array, indices: Array, updates: Array, dimension: int) -> Array:
        import numpy as np

        place = normalize_axis(dimension, var.ndim, "dimension")
        if indices.size and (indices.min() < 0 or indices.max() >= var.shape[place]):
            raise ValueError(
                f"indices reach from {indices.min()} to {indices.max()}, "
                f"expected 0 to {var.shape[place] - 1}"
            )
        y = var.copy()
        np.put_along_axis(
            y, np.expand_dims(indices, place), np.expand_dims(updates, place), axis=place
        )
        return y


class ArgMaxGradOp(_PutAlong):
    """y = var with updates at the positions `indices` along dimension.

    C1: var and updates have one element type. C2: indices is i32 or i64. C3: dimension is one of
    var's. C4: indices and updates have var's shape without it.
    """

    name = "ge.ArgMaxGrad"

    y = result()
    dimension = integer()

    def infer(self, var: Tensor, indices: Tensor, updates: Tensor) -> Tensor:
        return self.put_type(var, indices, updates, self.dimension)

    def evaluate(self, var: Array, indices: Array, updates: Array) -> Array:
        return self.put(var, indices, updates, self.dimension)


class ArgMaxGradDOp(_PutAlong):
    """y = var with updates at the positions `indices` along dimension.

    assist is a ramp for the kernel and has no say. C1: var and updates have one element type.
    C2: indices is i32 or i64. C3: dimension is one of var's. C4: indices and updates have var's
    shape without it.
    """

    name = "ge.ArgMaxGradD"

    assist = operand()
    y = result()
    dimension = integer()

    def infer(self, var: Tensor, indices: Tensor, updates: Tensor, assist: Tensor) -> Tensor:
        return self.put_type(var, indices, updates, self.dimension)

    def evaluate(self, var: Array, indices: Array, updates: Array, assist: Array) -> Array:
        return self.put(var, indices, updates, self.dimension)


class HardMaxOp(GeOp):
    """y = 1 at the first maximum of x along axis, 0 elsewhere.

    C1: x is a floating-point tensor or i32. C2: axis is a dimension of x.
    """

    name = "ge.HardMax"

    x = operand()
    y = result()
    axis = integer(-1)

    def infer(self, x: Tensor) -> Tensor:
        require(x, "x", FLOATS | {DataType.DT_INT32}, "a floating-point type or DT_INT32")  # C1
        if x.shape is not None:
            normalize_axis(self.axis, len(x.shape))  # C2
        return x

    def evaluate(self, x: Array) -> Array:
        import numpy as np

        y = np.zeros(x.shape or (1,), x.dtype)
        place = normalize_axis(self.axis, x.ndim)
        if y.size:
            wide = x.reshape(y.shape).astype("f4") if x.dtype.itemsize == 2 else x.reshape(y.shape)
            first = np.expand_dims(np.argmax(wide, axis=place), place)
            np.put_along_axis(y, first, y.dtype.type(1), axis=place)
        return y.reshape(x.shape)
