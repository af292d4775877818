"""Rounding to the values that quantisation keeps, and the gradients of that.

For q from q0 (1 with narrow_range, else 0) to q1 = 2^num_bits - 1: step = (max - min) / (q1 - q0),
z = q0 - min / step rounded half up and clipped to [q0, q1], low = (q0 - z) * step and
high = (q1 - z) * step, so that 0 is kept exactly.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from xdsl.utils.exceptions import VerifyException

from ge_xdsl.dialects.ge.elements import require
from ge_xdsl.dialects.ge.extents import at_least_rank
from ge_xdsl.dialects.ge.fields import boolean, floating, integer, operand, result
from ge_xdsl.dialects.ge.op import GeOp
from ge_xdsl.dialects.ge.operands import check_scalar
from ge_xdsl.dialects.ge.shapes import merge_dim, shape_text
from ge_xdsl.dialects.ge.suffix import one_shape
from ge_xdsl.dialects.ge.types import DataType, Tensor

if TYPE_CHECKING:
    from ge_xdsl.dialects.ge.types import Array


class _Fake(GeOp):
    """num_bits, narrow_range, and the range they make of min and max."""

    def check(self, **tensors: Tensor) -> None:
        """The operands are f32, num_bits is 2 to 16."""
        for name, tensor in tensors.items():
            require(tensor, name, (DataType.DT_FLOAT,), "DT_FLOAT")
        bits: int = self.get_attr("num_bits")
        if not 2 <= bits <= 16:
            raise VerifyException(f"num_bits is {bits}, expected 2 to 16")

    def nudged(self, low: Any, high: Any) -> tuple[Array, Array, Array]:
        """(low, high, step); raises ValueError unless min < max."""
        import numpy as np

        low, high = np.asarray(low, np.float32), np.asarray(high, np.float32)
        if not np.all(low < high):
            raise ValueError("min is not below max, expected min < max")
        first = np.float32(1 if self.get_attr("narrow_range") else 0)
        last = np.float32(2 ** self.get_attr("num_bits") - 1)
        step = (high - low) / (last - first)
        zero = np.clip(np.floor(first - low / step + np.float32(0.5)), first, last)
        return (first - zero) * step, (last - zero) * step, step

    def rounded(self, x: Array, low: Any, high: Any) -> Array:
        import numpy as np

        low, high, step = self.nudged(low, high)
        shifted = np.clip(x, low, high) - low
        return np.floor(shifted / step + np.float32(0.5)) * step + low


def _check_range(low: float, high: float) -> None:
    if not low < high:
        raise VerifyException(f"min is {low} and max {high}, expected min < max")


class FakeQuantWithMinMaxArgsOp(_Fake):
    """y = floor((clip(x, low, high) - low) / step + 1/2) * step + low

    low, high and step are those of min and max (see the module). C1: x is f32. C2: num_bits is 2 to
    16. C3: min < max.
    """

    name = "ge.FakeQuantWithMinMaxArgs"

    x = operand()
    y = result()
    min = floating(-6.0)
    max = floating(6.0)
    num_bits = integer(8)
    narrow_range = boolean(False)

    def infer(self, x: Tensor) -> Tensor:
        self.check(x=x)  # C1 C2
        _check_range(self.min, self.max)  # C3
        return x

    def evaluate(self, x: Array) -> Array:
        return self.rounded(x, self.min, self.max)


class FakeQuantWithMinMaxArgsGradientOp(_Fake):
    """y = gradients where low <= x <= high, else 0

    low and high are those of min and max (see the module). C1: gradients and x are f32. C2:
    num_bits is 2 to 16. C3: min < max. C4: gradients and x have one shape.
    """

    name = "ge.FakeQuantWithMinMaxArgsGradient"

    gradients = operand()
    x = operand()
    y = result()
    min = floating(-6.0)
    max = floating(6.0)
    num_bits = integer(8)
    narrow_range = boolean(False)

    def infer(self, gradients: Tensor, x: Tensor) -> Tensor:
        self.check(gradients=gradients, x=x)  # C1 C2
        _check_range(self.min, self.max)  # C3
        return gradients.with_shape(one_shape(gradients=gradients, x=x))  # C4

    def evaluate(self, gradients: Array, x: Array) -> Array:
        import numpy as np

        low, high, _ = self.nudged(self.min, self.max)
        return np.where((x >= low) & (x <= high), gradients, np.float32(0))


class FakeQuantWithMinMaxVarsOp(_Fake):
    """y = floor((clip(x, low, high) - low) / step + 1/2) * step + low

    low, high and step are those of min and max (see the module). C1: all operands are f32. C2:
    num_bits is 2 to 16. C3: min and max are one number.
    """

    name = "ge.FakeQuantWithMinMaxVars"

    x = operand()
    min = operand()
    max = operand()
    y = result()
    num_bits = integer(8)
    narrow_range = boolean(False)

    def infer(self, x: Tensor, low: Tensor, high: Tensor) -> Tensor:
        self.check(x=x, min=low, max=high)  # C1 C2
        check_scalar(low, "min")  # C3
        check_scalar(high, "max")  # C3
        return x

    def evaluate(self, x: Array, low: Array, high: Array) -> Array:
        return self.rounded(x, low.reshape(()), high.reshape(()))


class FakeQuantWithMinMaxVarsGradientOp(_Fake):
    """backprops_wrt_x = gradients inside [low, high], the others the sums below and above it.

    low and high are those of min and max (see the module); the sums are scalars. C1: all operands
    are f32. C2: num_bits is 2 to 16. C3: min and max are one number. C4: gradients and x have one
    shape.
    """

    name = "ge.FakeQuantWithMinMaxVarsGradient"

    gradients = operand()
    x = operand()
    min = operand()
    max = operand()
    backprops_wrt_x = result()
    backprop_wrt_min = result()
    backprop_wrt_max = result()
    num_bits = integer(8)
    narrow_range = boolean(False)

    def infer(self, gradients: Tensor, x: Tensor, low: Tensor, high: Tensor) -> Any:
        self.check(gradients=gradients, x=x, min=low, max=high)  # C1 C2
        check_scalar(low, "min")  # C3
        check_scalar(high, "max")  # C3
        shape = one_shape(gradients=gradients, x=x)  # C4
        return gradients.with_shape(shape), low, high

    def evaluate(self, gradients: Array, x: Array, low: Array, high: Array) -> Any:
        least, most, _ = self.nudged(low.reshape(()), high.reshape(()))
        return _split(gradients, x, least, most, tuple(range(x.ndim)), low.shape)


def _split(
    gradients: Array, x: Array, low: Array, high: Array, axes: tuple[int, ...], shape: Any
) -> tuple[Array, Array, Array]:
    """Gradients inside the range, and their sums over axes below and above it."""
    import numpy as np

    below = np.sum(gradients * (x < low), axis=axes, dtype=np.float32)
    above = np.sum(gradients * (x > high), axis=axes, dtype=np.float32)
    inside = np.where((x >= low) & (x <= high), gradients, np.float32(0))
    return inside, np.asarray(below).reshape(shape), np.asarray(above).reshape(shape)


def _check_channels(x: Tensor, **tensors: Tensor) -> None:
    """x has channels last, and each operand one number for each."""
    at_least_rank(x, 1, "x")
    for name, tensor in tensors.items():
        if tensor.rank not in (None, 1):
            raise VerifyException(f"{name} is {shape_text(tensor.shape)}, expected rank 1")
        if x.shape is not None and tensor.shape is not None:
            merge_dim(x.shape[-1], tensor.shape[0], f"channels of x and {name}")


class FakeQuantWithMinMaxVarsPerChannelOp(_Fake):
    """y = floor((clip(x, low, high) - low) / step + 1/2) * step + low per place of the last
    dimension.

    low, high and step are those of min and max (see the module). C1: all operands are f32. C2:
    num_bits is 2 to 16. C3: min and max are vectors of the length of the last dimension of x.
    """

    name = "ge.FakeQuantWithMinMaxVarsPerChannel"

    x = operand()
    min = operand()
    max = operand()
    y = result()
    num_bits = integer(8)
    narrow_range = boolean(False)

    def infer(self, x: Tensor, low: Tensor, high: Tensor) -> Tensor:
        self.check(x=x, min=low, max=high)  # C1 C2
        _check_channels(x, min=low, max=high)  # C3
        return x

    def evaluate(self, x: Array, low: Array, high: Array) -> Array:
        return self.rounded(x, low, high)


class FakeQuantWithMinMaxVarsPerChannelGradientOp(_Fake):
    """backprops_wrt_x = gradients inside [low, high], the others the sums below and above it.

    low and high are those of min and max (see the module) per place of the last dimension, over
    the rest of which the sums go. C1: all operands are f32. C2: num_bits is 2 to 16. C3: min and
    max are vectors of the length of the last dimension of x. C4: gradients and x have one shape.
    """

    name = "ge.FakeQuantWithMinMaxVarsPerChannelGradient"

    gradients = operand()
    x = operand()
    min = operand()
    max = operand()
    backprops_wrt_x = result()
    backprops_wrt_min = result()
    backprops_wrt_max = result()
    num_bits = integer(8)
    narrow_range = boolean(False)

    def infer(self, gradients: Tensor, x: Tensor, low: Tensor, high: Tensor) -> Any:
        self.check(gradients=gradients, x=x, min=low, max=high)  # C1 C2
        _check_channels(x, min=low, max=high)  # C3
        shape = one_shape(gradients=gradients, x=x)  # C4
        return gradients.with_shape(shape), low, high

    def evaluate(self, gradients: Array, x: Array, low: Array, high: Array) -> Any:
        least, most, _ = self.nudged(low, high)
        return _split(gradients, x, least, most, tuple(range(x.ndim - 1)), low.shape)
