"""Activation functions, and softmax."""

from __future__ import annotations

from collections.abc import Sequence
from math import pi, sqrt
from typing import TYPE_CHECKING

from xdsl.utils.exceptions import VerifyException

from ge_xdsl.dialects.ge.elements import FLOATS, as_float, convert, rectify, require
from ge_xdsl.dialects.ge.fields import boolean, floating, integers, operand, result, string
from ge_xdsl.dialects.ge.op import GeOp
from ge_xdsl.dialects.ge.shapes import normalize_axes, shape_text
from ge_xdsl.dialects.ge.types import DataType, Tensor
from ge_xdsl.dialects.ge.unary import ComplexUnary, FloatUnary, Unary

if TYPE_CHECKING:
    from ge_xdsl.dialects.ge.types import Array


class ReluOp(Unary):
    """y = max(x, 0)"""

    name = "ge.Relu"

    def evaluate(self, x: Array) -> Array:
        return rectify(x)


class Relu6Op(Unary):
    """y = min(max(x, 0), 6)"""

    name = "ge.Relu6"

    def evaluate(self, x: Array) -> Array:
        import numpy as np

        return np.clip(x, x.dtype.type(0), x.dtype.type(6))


class LeakyReluOp(FloatUnary):
    """y = x above 0, else negative_slope * x"""

    name = "ge.LeakyRelu"

    negative_slope = floating(0.0)

    def evaluate(self, x: Array) -> Array:
        import numpy as np

        slope = self.negative_slope
        y = np.asarray(x * slope)
        if 0 < slope <= 1:
            return np.maximum(x, y, out=y)
        return np.where(x > 0, x, y)


class PReluOp(GeOp):
    """y = max(x, 0) + weight * min(x, 0)

    C1: x and weight have one floating-point element type. C2: weight is one number, one per
    channel (dimension 1 of x), or of the shape of x without its first dimension.
    """

    name = "ge.PRelu"

    x = operand()
    weight = operand()
    y = result()

    widens = True

    def infer(self, x: Tensor, weight: Tensor) -> Tensor:
        require(x, "x", FLOATS, "a floating-point type")  # C1
        require(weight, "weight", (x.dtype,), f"{x.dtype.name} as x is")  # C1
        if x.shape is not None and weight.shape is not None:  # C2
            check_slopes(x.shape, weight.shape)
        return x

    def evaluate(self, x: Array, weight: Array) -> Array:
        import numpy as np

        if weight.ndim == 1 and weight.size != 1 and x.ndim > 1:
            weight = weight.reshape(-1, *(1,) * (x.ndim - 2))
        return np.where(x > 0, x, x * (weight.reshape(()) if weight.size == 1 else weight))


def check_slopes(x: Sequence[int], weight: Sequence[int], name: str = "weight") -> None:
    """The slopes of PRelu are one number, one per channel, or of the shape of one image."""
    if len(weight) <= 1:
        length = weight[0] if weight else 1
        channels = x[min(1, len(x) - 1)] if x else 1
        fits = length in (1, channels) or min(length, channels) < 0
    else:
        fits = len(weight) == len(x) - 1 and all(
            a == b or a == 1 or min(a, b) < 0 for a, b in zip(weight, x[1:], strict=True)
        )
    if not fits:
        raise VerifyException(
            f"{name} is {shape_text(weight)}, expected one number, one per channel or "
            f"{shape_text(x[1:])}"
        )


class EluOp(FloatUnary):
    """y = scale * x above 0, else scale * alpha * (e^(input_scale * x) - 1)"""

    name = "ge.Elu"

    alpha = floating(1.0)
    scale = floating(1.0)
    input_scale = floating(1.0)

    def evaluate(self, x: Array) -> Array:
        import numpy as np

        below = np.expm1(x * self.input_scale) * (self.alpha * self.scale)
        return np.where(x > 0, x * self.scale, below)


class CeluOp(FloatUnary):
    """y = alpha3 * x from 0 up, else alpha1 * (e^(x / alpha2) - 1)"""

    name = "ge.Celu"

    alpha1 = floating(1.0)
    alpha2 = floating(1.0)
    alpha3 = floating(1.0)

    def evaluate(self, x: Array) -> Array:
        import numpy as np

        return np.where(x >= 0, x * self.alpha3, np.expm1(x / self.alpha2) * self.alpha1)


class SeluOp(FloatUnary):
    """y = s * x above 0, else s * a * (e^x - 1), with fixed s and a"""

    name = "ge.Selu"

    def evaluate(self, x: Array) -> Array:
        import numpy as np

        scale, alpha = 1.0507009873554805, 1.6732632423543772
        return np.where(x > 0, x * scale, np.expm1(x) * (scale * alpha))


class HardSigmoidOp(GeOp):
    """output_y = min(max(alpha * input_x + beta, 0), 1); integers truncate.

    C1: input_x is a floating-point or i32 tensor.
    """

    name = "ge.HardSigmoid"

    input_x = operand()
    output_y = result()
    alpha = floating(0.16666666)
    beta = floating(0.5)

    widens = True

    def infer(self, input_x: Tensor) -> Tensor:
        allowed = FLOATS | {DataType.DT_INT32}
        require(input_x, "input_x", allowed, "a floating-point type or DT_INT32")  # C1
        return input_x

    def evaluate(self, input_x: Array) -> Array:
        import numpy as np

        linear = np.asarray(as_float(input_x) * self.alpha)
        linear += self.beta
        return convert(np.clip(linear, 0, 1, out=linear), input_x.dtype)


class HardSwishOp(FloatUnary):
    """y = x * min(max(x + 3, 0), 6) / 6"""

    name = "ge.HardSwish"

    def evaluate(self, x: Array) -> Array:
        import numpy as np

        y = np.asarray(x + 3)
        np.clip(y, 0, 6, out=y)
        y *= x
        y /= 6
        return y


class SigmoidOp(ComplexUnary):
    """y = 1 / (1 + e^-x)"""

    name = "ge.Sigmoid"

    def evaluate(self, x: Array) -> Array:
        import numpy as np

        return 1 / (1 + np.exp(-x))


class TanhOp(ComplexUnary):
    """y = tanh(x)"""

    name = "ge.Tanh"

    def evaluate(self, x: Array) -> Array:
        import numpy as np

        return np.tanh(x)


class SwishOp(FloatUnary):
    """y = x / (1 + e^(-scale * x))"""

    name = "ge.Swish"

    scale = floating(1.0)

    def evaluate(self, x: Array) -> Array:
        import numpy as np

        return x / (1 + np.exp(x * -self.scale))


class SoftplusOp(FloatUnary):
    """y = ln(1 + e^x)"""

    name = "ge.Softplus"

    def evaluate(self, x: Array) -> Array:
        import numpy as np

        return np.logaddexp(x, x.dtype.type(0))


class SoftsignOp(FloatUnary):
    """y = x / (1 + |x|)"""

    name = "ge.Softsign"

    def evaluate(self, x: Array) -> Array:
        import numpy as np

        return x / (1 + np.abs(x))


class MishOp(FloatUnary):
    """y = x * tanh(ln(1 + e^x))"""

    name = "ge.Mish"

    def evaluate(self, x: Array) -> Array:
        import numpy as np

        return x * np.tanh(np.logaddexp(x, x.dtype.type(0)))


class FastGeluOp(FloatUnary):
    """y = x / (1 + e^(-1.702 * x))"""

    name = "ge.FastGelu"

    def evaluate(self, x: Array) -> Array:
        import numpy as np

        return x / (1 + np.exp(x * -1.702))


def gelu_tanh(x: Array) -> Array:
    """x / 2 * (1 + tanh(u)) = x / (1 + e^(-2 u)), u = sqrt(2 / pi) * (x + 0.044715 * x^3).

    The second form loses no digits where tanh is near -1.
    """
    import numpy as np

    return x / (1 + np.exp((x + x * x * x * 0.044715) * (-2 * sqrt(2 / pi))))


class GeluOp(FloatUnary):
    """y = x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3)))"""

    name = "ge.Gelu"

    def evaluate(self, x: Array) -> Array:
        return gelu_tanh(x)


class GeluV2Op(FloatUnary):
    """y = x / 2 * (1 + erf(x / sqrt(2))), or the formula of Gelu when approximate is 'tanh'.

    C1: x is a floating-point tensor. C2: approximate is 'none' or 'tanh'.
    """

    name = "ge.GeluV2"

    approximate = string("none")

    def infer(self, x: Tensor) -> Tensor:
        if self.approximate not in ("none", "tanh"):  # C2
            raise VerifyException(f"approximate is '{self.approximate}', expected none or tanh")
        return super().infer(x)  # C1

    def evaluate(self, x: Array) -> Array:
        from ge_xdsl.dialects.ge.special import erf

        if self.approximate == "tanh":
            return gelu_tanh(x)
        return x * 0.5 * (1 + erf(x * sqrt(0.5)))


class SoftmaxV2Op(GeOp):
    """y = e^(x - m) / sum over axes of e^(x - m), where m is the maximum over axes.

    y is f32 when x is f16 and half_to_float is set, else has x's element type.
    C1: x is a floating-point tensor. C2: axes are dimensions of x, none twice.
    """

    name = "ge.SoftmaxV2"

    x = operand()
    y = result()
    axes = integers((-1,))
    half_to_float = boolean(False)

    widens = True

    def infer(self, x: Tensor) -> Tensor:
        require(x, "x", FLOATS, "a floating-point type")  # C1
        if x.shape is not None:
            normalize_axes(self.axes, len(x.shape))  # C2
        widened = self.half_to_float and x.dtype is DataType.DT_FLOAT16
        return x.with_dtype(DataType.DT_FLOAT) if widened else x

    def evaluate(self, x: Array) -> Array:
        import numpy as np

        axes = normalize_axes(self.axes, x.ndim) if x.ndim else ()
        powers = np.exp(x - np.max(x, axis=axes, keepdims=True, initial=-np.inf))
        return powers / np.sum(powers, axis=axes, keepdims=True)


class LogSoftmaxV2Op(GeOp):
    """logsoftmax = (logits - m) - ln(sum over axes of e^(logits - m)), m the maximum over axes.

    C1: logits is a floating-point tensor. C2: axes are dimensions of logits, none twice.
    """

    name = "ge.LogSoftmaxV2"

    logits = operand()
    logsoftmax = result()
    axes = integers((-1,))

    widens = True

    def infer(self, logits: Tensor) -> Tensor:
        require(logits, "logits", FLOATS, "a floating-point type")  # C1
        if logits.shape is not None:
            normalize_axes(self.axes, len(logits.shape))  # C2
        return logits

    def evaluate(self, logits: Array) -> Array:
        import numpy as np

        axes = normalize_axes(self.axes, logits.ndim) if logits.ndim else ()
        shifted = logits - np.max(logits, axis=axes, keepdims=True, initial=-np.inf)
        return shifted - np.log(np.sum(np.exp(shifted), axis=axes, keepdims=True))
