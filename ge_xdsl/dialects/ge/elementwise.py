"""Elementwise arithmetic on several operands, or on one and numbers: with broadcasting."""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING

from xdsl.utils.exceptions import VerifyException

from ge_xdsl.dialects.ge.elements import (
    COMMUTATIVE,
    FLOATS,
    as_float,
    compute_dtype,
    convert,
    one_element_type,
    promote,
    require,
)
from ge_xdsl.dialects.ge.fields import floating, integer, operand, result, string, variadic
from ge_xdsl.dialects.ge.op import GeOp
from ge_xdsl.dialects.ge.shapes import broadcast, merge_dim, shape_text
from ge_xdsl.dialects.ge.types import DataType, Tensor, tensor_of

if TYPE_CHECKING:
    from ge_xdsl.dialects.ge.types import Array


def broadcast_result(dtype: DataType, *operands: Tensor) -> Tensor:
    """A result of all operands broadcast, in the layout of the first one that has its shape."""
    shape = broadcast(*(tensor.shape for tensor in operands))
    for tensor in operands:
        if tensor.shape == shape:
            return tensor.with_dtype(dtype)
    return Tensor(dtype, shape)


class Binary(GeOp):
    """y is x1 and x2 broadcast together.

    C1: the shapes broadcast. C2: x1 and x2 have one element type, which is y's.
    """

    x1 = operand()
    x2 = operand()
    y = result()

    widens = True

    def infer(self, x1: Tensor, x2: Tensor) -> Tensor:
        dtype = one_element_type(x1, x2)  # C2
        return broadcast_result(dtype, x1, x2)  # C1


class Promoting(Binary):
    """y is x1 and x2 broadcast together, in their common type.

    C1: the shapes broadcast. C2: the element types promote to a common one, which is y's.
    """

    def infer(self, x1: Tensor, x2: Tensor) -> Tensor:
        return broadcast_result(promote(x1.dtype, x2.dtype), x1, x2)  # C2, C1

    def common(self, *arrays: Array) -> list[Array]:
        """The arrays in the type that y is computed in."""
        dtype = compute_dtype(tensor_of(self.y.type).dtype)
        return [array.astype(dtype, copy=False) for array in arrays]


class AddOp(Binary):
    """y = x1 + x2; or for booleans, integers wrap, strings are joined."""

    name = "ge.Add"
    traits = COMMUTATIVE

    def evaluate(self, x1: Array, x2: Array) -> Array:
        return x1 + x2


class SubOp(Binary):
    """y = x1 - x2; exclusive or for booleans, integers wrap."""

    name = "ge.Sub"

    def evaluate(self, x1: Array, x2: Array) -> Array:
        return x1 ^ x2 if x1.dtype.kind == "b" else x1 - x2


class MulOp(Promoting):
    """y = x1 * x2; and for booleans, integers wrap."""

    name = "ge.Mul"
    traits = COMMUTATIVE

    def evaluate(self, x1: Array, x2: Array) -> Array:
        x1, x2 = self.common(x1, x2)
        return x1 * x2


class PowOp(Promoting):
    """y = x1 ^ x2; an integer to a negative integer is not defined."""

    name = "ge.Pow"

    def evaluate(self, x1: Array, x2: Array) -> Array:
        import numpy as np

        x1, x2 = self.common(x1, x2)
        if x2.dtype.kind == "i" and (x2 < 0).any():
            raise ValueError(f"exponent is {x2.min()}, expected none below 0 for integers")
        return np.power(x1, x2)


class RealDivOp(Binary):
    """y = x1 / x2; integers truncate toward 0, booleans give f32.

    C1: the shapes broadcast. C2: x1 and x2 have one element type.
    """

    name = "ge.RealDiv"

    def infer(self, x1: Tensor, x2: Tensor) -> Tensor:
        dtype = one_element_type(x1, x2)  # C2
        boolean = dtype is DataType.DT_BOOL
        return broadcast_result(DataType.DT_FLOAT if boolean else dtype, x1, x2)  # C1

    def evaluate(self, x1: Array, x2: Array) -> Array:
        import numpy as np

        to = np.dtype(np.float32) if x1.dtype.kind == "b" else x1.dtype
        return convert(np.true_divide(x1, x2), to)


class DivOp(Binary):
    """y = x1 / x2; integers round down, and give 0 where x2 is 0 (the device: anything)."""

    name = "ge.Div"

    def evaluate(self, x1: Array, x2: Array) -> Array:
        return x1 // x2 if x1.dtype.kind in "iu" else x1 / x2


class FloorDivOp(Binary):
    """y = floor(x1 / x2); integers give 0 where x2 is 0 (the device: anything)."""

    name = "ge.FloorDiv"

    def evaluate(self, x1: Array, x2: Array) -> Array:
        import numpy as np

        return x1 // x2 if x1.dtype.kind in "iu" else np.floor(x1 / x2)


class TruncateDivOp(Binary):
    """y = trunc(x1 / x2); integers give 0 where x2 is 0 (the device: anything)."""

    name = "ge.TruncateDiv"

    def evaluate(self, x1: Array, x2: Array) -> Array:
        import numpy as np

        return (x1 - np.fmod(x1, x2)) // x2 if x1.dtype.kind in "iu" else np.trunc(x1 / x2)


class DivNoNanOp(Binary):
    """y = 0 where x2 is 0, else x1 / x2 as Div does it."""

    name = "ge.DivNoNan"

    def evaluate(self, x1: Array, x2: Array) -> Array:
        import numpy as np

        quotient = x1 // x2 if x1.dtype.kind in "iu" else x1 / x2
        return np.where(x2 == 0, x1.dtype.type(0), quotient)


class ModOp(Binary):
    """y = x1 - trunc(x1 / x2) * x2, with the sign of x1 (C's fmod)."""

    name = "ge.Mod"

    def evaluate(self, x1: Array, x2: Array) -> Array:
        import numpy as np

        return np.fmod(x1, x2)


class FloorModOp(Binary):
    """y = x1 - floor(x1 / x2) * x2, with the sign of x2 (Python's %)."""

    name = "ge.FloorMod"

    def evaluate(self, x1: Array, x2: Array) -> Array:
        import numpy as np

        return np.mod(x1, x2)


class MaximumOp(Binary):
    """y = max(x1, x2), NaN where one is NaN."""

    name = "ge.Maximum"
    traits = COMMUTATIVE

    def evaluate(self, x1: Array, x2: Array) -> Array:
        import numpy as np

        return np.maximum(x1, x2)


class MinimumOp(Binary):
    """y = min(x1, x2), NaN where one is NaN."""

    name = "ge.Minimum"
    traits = COMMUTATIVE

    def evaluate(self, x1: Array, x2: Array) -> Array:
        import numpy as np

        return np.minimum(x1, x2)


class SquaredDifferenceOp(Binary):
    """y = (x1 - x2)^2"""

    name = "ge.SquaredDifference"
    traits = COMMUTATIVE

    def evaluate(self, x1: Array, x2: Array) -> Array:
        import numpy as np

        return np.square(x1 - x2)


class AxpyOp(Binary):
    """y = x1 + alpha * x2; integers are computed in f32 and truncated."""

    name = "ge.Axpy"

    alpha = floating()

    def evaluate(self, x1: Array, x2: Array) -> Array:
        return convert(as_float(x1) + as_float(x2) * self.alpha, x1.dtype)


class Scalar(GeOp):
    """y combines x and a number; integers are computed in f32 and truncated toward 0."""

    x = operand()
    y = result()
    value = floating()

    widens = True

    def infer(self, x: Tensor) -> Tensor:
        return x


class AddsOp(Scalar):
    """y = x + value"""

    name = "ge.Adds"

    def evaluate(self, x: Array) -> Array:
        return convert(as_float(x) + self.value, x.dtype)


class MulsOp(Scalar):
    """y = x * value"""

    name = "ge.Muls"

    def evaluate(self, x: Array) -> Array:
        return convert(as_float(x) * self.value, x.dtype)


class PowerOp(GeOp):
    """y = (x * scale + shift) ^ power; all of y is shift ^ power when scale is 0.

    C1: x is a floating-point tensor.
    """

    name = "ge.Power"

    x = operand()
    y = result()
    power = floating(1.0)
    scale = floating(1.0)
    shift = floating(0.0)

    widens = True

    def infer(self, x: Tensor) -> Tensor:
        require(x, "x", FLOATS, "a floating-point type")  # C1
        return x

    def evaluate(self, x: Array) -> Array:
        import numpy as np

        if self.scale == 0:
            x = np.zeros_like(x)
        return np.power(x * self.scale + self.shift, self.power)


class _Sum(GeOp):
    x = variadic()
    y = result()
    N = integer()

    widens = True

    def check(self, x: list[Tensor]) -> DataType:
        """The element type of the operands."""
        if not x or len(x) != self.N:  # C3
            raise VerifyException(f"has {len(x)} operands, expected N = {self.N}, at least 1")
        return one_element_type(*x)  # C2

    def evaluate(self, x: list[Array]) -> Array:
        import numpy as np

        return reduce(np.add, x)


class AddNOp(_Sum):
    """y = x0 + x1 + ...

    C1: the shapes broadcast. C2: all have one element type. C3: N is the number of operands.
    """

    name = "ge.AddN"

    def infer(self, x: list[Tensor]) -> Tensor:
        return broadcast_result(self.check(x), *x)  # C1


class AccumulateNV2Op(_Sum):
    """y = x0 + x1 + ...

    C1: all have one shape. C2: all have one element type. C3: N is the number of operands.
    """

    name = "ge.AccumulateNV2"

    def infer(self, x: list[Tensor]) -> Tensor:
        self.check(x)
        return reduce(_merged, x)  # C1


def _merged(a: Tensor, b: Tensor) -> Tensor:
    """The tensor that both stand for, as far as their dimensions are known."""
    if a.shape is None or b.shape is None:
        return a if b.shape is None else b
    if len(a.shape) != len(b.shape):
        raise VerifyException(
            f"shapes are {shape_text(a.shape)} and {shape_text(b.shape)}, expected equal ones"
        )
    pairs = zip(a.shape, b.shape, strict=True)
    shape = tuple(merge_dim(m, n, "dimensions of two operands") for m, n in pairs)
    return Tensor(a.dtype, shape, a.layout)


_CHANNEL_SECOND = ("NCHW", "NCDHW")
_CHANNEL_LAST = ("NHWC", "NDHWC")


class BiasAddOp(GeOp):
    """y = x + bias, along the channels.

    The channel dimension is 1 for NCHW and NCDHW, the last for NHWC and NDHWC. The format of x
    decides; data_format does when x has none of these.
    C1: bias is a vector. C2: x and bias have one element type. C3: bias has one element per
    channel. C4: data_format is one of the four. C5: x has a batch and a channel dimension.
    """

    name = "ge.BiasAdd"

    x = operand()
    bias = operand()
    y = result()
    data_format = string("NHWC")

    widens = True

    def infer(self, x: Tensor, bias: Tensor) -> Tensor:
        one_element_type(x, bias)  # C2
        if bias.rank not in (None, 1):  # C1
            raise VerifyException(f"bias is {shape_text(bias.shape)}, expected a vector")
        axis = self.channel_axis(x)
        if x.shape is None:
            return x
        if len(x.shape) < 2:  # C5
            raise VerifyException(f"x is {shape_text(x.shape)}, expected rank 2 or more")
        if bias.shape is not None:  # C3
            merge_dim(bias.shape[0], x.shape[axis], "lengths of bias and of the channels")
        return x

    def channel_axis(self, x: Tensor) -> int:
        """1 or -1."""
        own = x.layout.format.name.removeprefix("FORMAT_")
        known = (*_CHANNEL_SECOND, *_CHANNEL_LAST)
        chosen = own if own in known else self.data_format
        if chosen not in known:  # C4
            raise VerifyException(f"data_format is '{chosen}', expected {', '.join(known)}")
        return 1 if chosen in _CHANNEL_SECOND else -1

    def evaluate(self, x: Array, bias: Array) -> Array:
        after = x.ndim - 2 if self.channel_axis(tensor_of(self.x.type)) == 1 else 0
        return x + bias.reshape(-1, *(1,) * after)


class Ternary(GeOp):
    """y is three operands broadcast together.

    C1: the shapes broadcast. C2: the operands have one element type, which is y's.
    """

    widens = True

    def infer(self, a: Tensor, b: Tensor, c: Tensor) -> Tensor:
        return broadcast_result(one_element_type(a, b, c), a, b, c)  # C2, C1


class ClipByValueOp(Ternary):
    """y = max(min(x, clip_value_max), clip_value_min); NaN stays NaN."""

    name = "ge.ClipByValue"

    x = operand()
    clip_value_min = operand()
    clip_value_max = operand()
    y = result()

    def evaluate(self, x: Array, clip_value_min: Array, clip_value_max: Array) -> Array:
        import numpy as np

        if clip_value_min.ndim == clip_value_max.ndim == 0 and clip_value_min <= clip_value_max:
            return np.asarray(np.clip(x, clip_value_min, clip_value_max))
        y = np.asarray(np.minimum(x, clip_value_max))
        fits = clip_value_min.ndim == 0 and clip_value_min.dtype == y.dtype
        return np.maximum(y, clip_value_min, out=y if fits else None)


class LerpOp(Ternary):
    """y = start + weight * (end - start)"""

    name = "ge.Lerp"

    start = operand()
    end = operand()
    weight = operand()
    y = result()

    def evaluate(self, start: Array, end: Array, weight: Array) -> Array:
        return start + weight * (end - start)


class FusedMulAddOp(Ternary):
    """y = x1 * x2 + x3"""

    name = "ge.FusedMulAdd"

    x1 = operand()
    x2 = operand()
    x3 = operand()
    y = result()

    def evaluate(self, x1: Array, x2: Array, x3: Array) -> Array:
        return x1 * x2 + x3


class _AddScaled(GeOp):
    """C1: input_data, x1 and x2 broadcast. C2: the operands have one element type, which is y's.

    C3: value is one element.
    """

    input_data = operand()
    x1 = operand()
    x2 = operand()
    value = operand()
    y = result()

    widens = True

    def infer(self, input_data: Tensor, x1: Tensor, x2: Tensor, value: Tensor) -> Tensor:
        if value.size() not in (None, 1):  # C3
            raise VerifyException(f"value is {shape_text(value.shape)}, expected one element")
        dtype = one_element_type(input_data, x1, x2, value)  # C2
        return broadcast_result(dtype, input_data, x1, x2)  # C1


class AddcmulOp(_AddScaled):
    """y = input_data + value * x1 * x2

    C1: input_data, x1 and x2 broadcast. C2: the operands have one element type, which is y's.
    C3: value is one element.
    """

    name = "ge.Addcmul"

    def evaluate(self, input_data: Array, x1: Array, x2: Array, value: Array) -> Array:
        return input_data + value.reshape(()) * x1 * x2


class AddcdivOp(_AddScaled):
    """y = input_data + value * x1 / x2; integers truncate.

    C1: input_data, x1 and x2 broadcast. C2: the operands have one element type, which is y's.
    C3: value is one element.
    """

    name = "ge.Addcdiv"

    def evaluate(self, input_data: Array, x1: Array, x2: Array, value: Array) -> Array:
        return convert(input_data + value.reshape(()) * x1 / x2, input_data.dtype)
