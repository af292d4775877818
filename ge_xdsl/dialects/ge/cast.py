"""Conversion of the element type, and copies."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xdsl.utils.exceptions import VerifyException

from ge_xdsl.dialects.ge.elements import NO_NUMBERS, convert
from ge_xdsl.dialects.ge.fields import integer, operand, result, variadic, variadic_result
from ge_xdsl.dialects.ge.hifloat8 import nearest
from ge_xdsl.dialects.ge.op import GeOp
from ge_xdsl.dialects.ge.types import DataType, Tensor, numpy_dtype, tensor_of

if TYPE_CHECKING:
    from ge_xdsl.dialects.ge.types import Array


def _check_number(name: str, dtype: DataType) -> None:
    if dtype in NO_NUMBERS and dtype is not DataType.DT_UNDEFINED:
        raise VerifyException(f"{name} is {dtype.name}, expected a numeric type")


def _converted(x: Array, dtype: DataType) -> Array:
    if dtype is not DataType.DT_HIFLOAT8:
        return convert(x, numpy_dtype(dtype))
    import numpy as np

    return nearest(convert(x, np.dtype(np.float64)))


class CastOp(GeOp):
    """y = x in the element type whose GE number is dst_type.

    A float becomes an integer by truncation toward 0; what is out of range saturates and NaN
    gives 0. Integers wrap. Whatever is not 0 is true. Floats round to nearest even, those
    of HIFLOAT8 half away from 0 (`hifloat8`).
    C1: dst_type is the number of a numeric element type. C2: x has a numeric element type.
    """

    name = "ge.Cast"

    x = operand()
    y = result()
    dst_type = integer()

    def infer(self, x: Tensor) -> Tensor:
        _check_number("x", x.dtype)  # C2
        known = self.dst_type in DataType.__members__.values()
        if not known or self.dst_type in NO_NUMBERS:  # C1
            raise VerifyException(
                f"dst_type is {self.dst_type}, expected GE's number of a numeric type"
            )
        return x.with_dtype(DataType(self.dst_type))

    def evaluate(self, x: Array) -> Array:
        return _converted(x, DataType(self.dst_type))


class CastLikeOp(GeOp):
    """y = x in the element type of target, converted as Cast does.

    C1: target has a numeric element type. C2: x has a numeric element type.
    """

    name = "ge.CastLike"

    x = operand()
    target = operand()
    y = result()

    def infer(self, x: Tensor, target: Tensor) -> Tensor:
        _check_number("target", target.dtype)  # C1
        _check_number("x", x.dtype)  # C2
        return x.with_dtype(target.dtype)

    def evaluate(self, x: Array, target: Array) -> Array:
        return _converted(x, tensor_of(self.target.type).dtype)


class Copy(GeOp):
    """y has the shape and element type of x."""

    x = operand()
    y = result()

    def infer(self, x: Tensor) -> Tensor:
        return x


class IdentityOp(Copy):
    """y = x"""

    name = "ge.Identity"

    def evaluate(self, x: Array) -> Array:
        return x


class TensorMoveOp(Copy):
    """y = x, in memory of its own"""

    name = "ge.TensorMove"

    def evaluate(self, x: Array) -> Array:
        return x.copy()


class ZerosLikeOp(Copy):
    """y = 0 for each element of x"""

    name = "ge.ZerosLike"

    def evaluate(self, x: Array) -> Array:
        import numpy as np

        return np.zeros_like(x)


class OnesLikeOp(Copy):
    """y = 1 for each element of x"""

    name = "ge.OnesLike"

    def evaluate(self, x: Array) -> Array:
        import numpy as np

        return np.ones_like(x)


class IdentityNOp(GeOp):
    """y0 = x0, y1 = x1, ..."""

    name = "ge.IdentityN"

    x = variadic()
    y = variadic_result()

    def infer(self, x: list[Tensor]) -> list[Tensor]:
        return x

    def evaluate(self, x: list[Array]) -> list[Array]:
        return x
