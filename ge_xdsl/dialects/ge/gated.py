"""Gated units, shrinkage, thresholds, and further activation functions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from xdsl.utils.exceptions import VerifyException

from ge_xdsl.dialects.ge.activation import GeluV2Op, gelu_tanh
from ge_xdsl.dialects.ge.activation_grad import gelu_slope
from ge_xdsl.dialects.ge.fields import boolean, floating, integer, operand, result
from ge_xdsl.dialects.ge.gradients import Pairwise, sigmoid
from ge_xdsl.dialects.ge.op import GeOp
from ge_xdsl.dialects.ge.rounding import chosen
from ge_xdsl.dialects.ge.shapes import Shape, normalize_axis, shape_text
from ge_xdsl.dialects.ge.suffix import check_floats, one_shape
from ge_xdsl.dialects.ge.types import DYNAMIC, Tensor
from ge_xdsl.dialects.ge.unary import FloatUnary, Unary

if TYPE_CHECKING:
    from ge_xdsl.dialects.ge.types import Array


def halved(shape: Shape, axis: int, what: str = "dim") -> Shape:
    """The shape of one half along `axis`; raises when its length is odd."""
    if shape is None:
        return None
    if not shape:
        raise VerifyException("x is scalar, expected rank 1 or more")
    place = normalize_axis(axis, len(shape), what)
    size = shape[place]
    if size != DYNAMIC and size % 2:
        raise VerifyException(f"x is {shape_text(shape)}, expected an even dimension {place}")
    half = size if size == DYNAMIC else size // 2
    return (*shape[:place], half, *shape[place + 1 :])


def halves(x: Array, axis: int) -> list[Array]:
    """The first and the second half of x along `axis`."""
    import numpy as np

    return np.split(x, 2, axis=axis)


class _Gated(GeOp):
    """A result of half the length of x along dim.

    C1: x is a floating-point tensor. C2: dim is a dimension of x. C3: its length is even.
    """

    x = operand()

    widens = True

    def gated(self, x: Tensor) -> Tensor:
        check_floats(x=x)  # C1
        return x.with_shape(halved(x.shape, self.get_attr("dim")))  # C2 C3


class SwiGluOp(_Gated):
    """y = a / (1 + e^-a) * b, a and b the halves of x along dim."""

    name = "ge.SwiGlu"

    y = result()
    dim = integer(-1)

    def infer(self, x: Tensor) -> Tensor:
        return self.gated(x)

    def evaluate(self, x: Array) -> Array:
        a, b = halves(x, self.dim)
        return a * sigmoid(a) * b


class GLUOp(_Gated):
    """y = a / (1 + e^-b), a and b the halves of x along dim."""

    name = "ge.GLU"

    y = result()
    dim = integer(-1)

    def infer(self, x: Tensor) -> Tensor:
        return self.gated(x)

    def evaluate(self, x: Array) -> Array:
        a, b = halves(x, self.dim)
        return a * sigmoid(b)


class _GatedGradient(GeOp):
    """The gradient of x from that of a result of half its length along dim.

    C1: y_grad and x are floating-point tensors. C2: dim is a dimension of x. C3: its length is
    even. C4: y_grad has the shape of one half.
    """

    y_grad = operand()
    x = operand()
    x_grad = result()
    dim = integer(-1)

    widens = True

    def infer(self, y_grad: Tensor, x: Tensor) -> Tensor:
        check_floats(y_grad=y_grad, x=x)  # C1
        half = x.with_shape(halved(x.shape, self.dim))  # C2 C3
        one_shape(half=half, y_grad=y_grad)  # C4
        return x

    def joined(self, first: Array, second: Array) -> Array:
        import numpy as np

        return np.concatenate([first, second], axis=self.dim)


class SwiGluGradOp(_GatedGradient):
    """x_grad = [dy * b * s * (1 + a * (1 - s)), dy * a * s] along dim, s = 1 / (1 + e^-a)

    a and b are the halves of x.
    """

    name = "ge.SwiGluGrad"

    def evaluate(self, y_grad: Array, x: Array) -> Array:
        a, b = halves(x, self.dim)
        s = sigmoid(a)
        return self.joined(y_grad * b * s * (1 + a * (1 - s)), y_grad * a * s)


class GLUGradOp(_GatedGradient):
    """x_grad = [dy * s, dy * a * s * (1 - s)] along dim, s = 1 / (1 + e^-b)

    a and b are the halves of x.
    """

    name = "ge.GLUGrad"

    def evaluate(self, y_grad: Array, x: Array) -> Array:
        a, b = halves(x, self.dim)
        s = sigmoid(b)
        return self.joined(y_grad * s, y_grad * a * s * (1 - s))


def gelu_of(x: Array, approximate: int) -> Array:
    """Gelu, by tanh for approximate 1 and by erf for 0."""
    from math import sqrt

    from ge_xdsl.dialects.ge.special import erf

    return gelu_tanh(x) if approximate else x * 0.5 * (1 + erf(x * sqrt(0.5)))


class GeGluV2Op(_Gated):
    """gelu = Gelu(b), y = a * gelu, a and b the halves of x along dim; a is activated instead of b
    with activate_left.

    Gelu goes by tanh for approximate 1 and by erf for 0. C1: x is a floating-point tensor. C2: dim
    is a dimension of x. C3: its length is even. C4: approximate is 0 or 1.
    """

    name = "ge.GeGluV2"

    y = result()
    gelu = result()
    dim = integer(-1)
    approximate = integer(1)
    activate_left = boolean(False)

    def infer(self, x: Tensor) -> tuple[Tensor, Tensor]:
        chosen(self.approximate, "approximate", (0, 1))  # C4
        half = self.gated(x)  # C1 C2 C3
        return half, half

    def evaluate(self, x: Array) -> tuple[Array, Array]:
        a, b = halves(x, self.dim)
        gate, other = (a, b) if self.activate_left else (b, a)
        active = gelu_of(gate, self.approximate)
        return other * active, active


class GeGluGradV2Op(GeOp):
    """dx = [dy * gelu, dy * a * Gelu'(b)] along dim, a and b the halves of x.

    With activate_left [dy * b * Gelu'(a), dy * gelu]. Gelu goes by tanh for approximate 1 and by
    erf for 0. C1: dy, x and gelu are floating-point tensors. C2: dim is a dimension of x. C3: its
    length is even. C4: dy and gelu have the shape of one half. C5: approximate is 0 or 1.
    """

    name = "ge.GeGluGradV2"

    dy = operand()
    x = operand()
    gelu = operand()
    dx = result()
    dim = integer(-1)
    approximate = integer(1)
    activate_left = boolean(False)

    widens = True

    def infer(self, dy: Tensor, x: Tensor, gelu: Tensor) -> Tensor:
        chosen(self.approximate, "approximate", (0, 1))  # C5
        check_floats(dy=dy, x=x, gelu=gelu)  # C1
        half = x.with_shape(halved(x.shape, self.dim))  # C2 C3
        one_shape(half=half, dy=dy, gelu=gelu)  # C4
        return x

    def evaluate(self, dy: Array, x: Array, gelu: Array) -> Array:
        import numpy as np

        a, b = halves(x, self.dim)
        gate, other = (a, b) if self.activate_left else (b, a)
        through = dy * other * self._slope(gate)
        parts = [through, dy * gelu] if self.activate_left else [dy * gelu, through]
        return np.concatenate(parts, axis=self.dim)

    def _slope(self, gate: Array) -> Array:
        from math import pi, sqrt

        import numpy as np

        from ge_xdsl.dialects.ge.special import erf

        if self.approximate:
            return gelu_slope(gate)
        density = np.exp(gate * gate * -0.5) * (1 / sqrt(2 * pi))
        return (1 + erf(gate * sqrt(0.5))) * 0.5 + gate * density


class GeluMulOp(GeluV2Op):
    """y = Gelu(a) * b, a and b the halves of x along its last dimension.

    approximate as in GeluV2. C1: x is a floating-point tensor. C2: approximate is 'none' or 'tanh'.
    C3: the last dimension is even. That the first half is the activated one is unconfirmed.
    """

    name = "ge.GeluMul"

    def infer(self, x: Tensor) -> Tensor:
        y = super().infer(x)  # C1 C2
        return y.with_shape(halved(x.shape, -1))  # C3

    def evaluate(self, x: Array) -> Array:
        a, b = halves(x, -1)
        return super().evaluate(a) * b


class SiluMulOp(Pairwise):
    """z = x / (1 + e^-x) * y"""

    name = "ge.SiluMul"

    x = operand()
    y = operand()
    z = result()

    def evaluate(self, x: Array, y: Array) -> Array:
        return x * sigmoid(x) * y


class _Shrinking(GeOp):
    """`input_x` and `output_y` of one type.

    C1: input_x is a floating-point tensor.
    """

    input_x = operand()
    output_y = result()

    widens = True

    def infer(self, input_x: Tensor) -> Tensor:
        check_floats(input_x=input_x)  # C1
        return input_x


class HardShrinkOp(_Shrinking):
    """output_y = input_x where |input_x| > lambd, else 0."""

    name = "ge.HardShrink"

    lambd = floating(0.5)

    def evaluate(self, input_x: Array) -> Array:
        import numpy as np

        return np.where(np.abs(input_x) > self.lambd, input_x, input_x.dtype.type(0))


class SoftShrinkOp(_Shrinking):
    """output_y = input_x moved by lambd towards 0, and 0 from -lambd to lambd."""

    name = "ge.SoftShrink"

    lambd = floating(0.5)

    def evaluate(self, input_x: Array) -> Array:
        import numpy as np

        moved = input_x - np.copysign(input_x.dtype.type(self.lambd), input_x)
        return np.where(np.abs(input_x) > self.lambd, moved, input_x.dtype.type(0))


class ShrinkOp(_Shrinking):
    """output_y = input_x - bias above lambd, input_x + bias below -lambd, else 0.

    A negative lambd counts as 0.
    """

    name = "ge.Shrink"

    lambd = floating(0.5)
    bias = floating(0.0)

    def evaluate(self, input_x: Array) -> Array:
        import numpy as np

        lambd, zero = max(self.lambd, 0.0), input_x.dtype.type(0)
        below = np.where(input_x < -lambd, input_x + self.bias, zero)
        return np.where(input_x > lambd, input_x - self.bias, below)


class ThresholdOp(Unary):
    """y = 1 where x > threshold, else 0."""

    name = "ge.Threshold"

    threshold = floating(0.0)

    def evaluate(self, x: Array) -> Array:
        return (x > self.threshold).astype(x.dtype)


class ThresholdV2DOp(Unary):
    """y = x where x > threshold, else value."""

    name = "ge.ThresholdV2D"

    threshold = floating()
    value = floating()

    def evaluate(self, x: Array) -> Array:
        import numpy as np

        return np.where(x > self.threshold, x, x.dtype.type(self.value))


class ThresholdedReluOp(FloatUnary):
    """y = x where x > alpha, else 0."""

    name = "ge.ThresholdedRelu"

    alpha = floating(1.0)

    def evaluate(self, x: Array) -> Array:
        import numpy as np

        return np.where(x > self.alpha, x, x.dtype.type(0))


class LogSigmoidOp(FloatUnary):
    """y = -ln(1 + e^-x)"""

    name = "ge.LogSigmoid"

    def evaluate(self, x: Array) -> Array:
        import numpy as np

        return -np.logaddexp(-x, x.dtype.type(0))


class SquaredReluOp(FloatUnary):
    """y = max(x, 0)^2"""

    name = "ge.SquaredRelu"

    def evaluate(self, x: Array) -> Array:
        import numpy as np

        positive = np.maximum(x, x.dtype.type(0))
        return positive * positive


class CeluV2Op(FloatUnary):
    """y = x from 0 up, else alpha * (e^(x / alpha) - 1).

    C1: x is a floating-point tensor. C2: alpha is not 0.
    """

    name = "ge.CeluV2"

    alpha = floating(1.0)

    def infer(self, x: Tensor) -> Tensor:
        if self.alpha == 0:  # C2
            raise VerifyException("alpha is 0, expected another number")
        return super().infer(x)  # C1

    def evaluate(self, x: Array) -> Array:
        import numpy as np

        return np.where(x >= 0, x, np.expm1(x / self.alpha) * self.alpha)


class HardSwishV2Op(FloatUnary):
    """y = x * min(max(x + 3, 0), 6) / 6"""

    name = "ge.HardSwishV2"

    def evaluate(self, x: Array) -> Array:
        import numpy as np

        return x * np.clip(x + 3, 0, 6) / 6


class SoftplusV2Op(FloatUnary):
    """y = ln(1 + e^(beta * x)) / beta, and x where beta * x > threshold."""

    name = "ge.SoftplusV2"

    beta = floating(1.0)
    threshold = floating(20.0)

    def evaluate(self, x: Array) -> Array:
        import numpy as np

        t = x * self.beta
        return np.where(t > self.threshold, x, np.logaddexp(t, x.dtype.type(0)) / self.beta)


class SoftplusV2GradOp(Pairwise):
    """output_backprops = input_gradients / (1 + e^(-beta * input_features))

    It is input_gradients where beta * input_features > threshold.
    """

    name = "ge.SoftplusV2Grad"

    input_gradients = operand()
    input_features = operand()
    output_backprops = result()
    beta = floating(1.0)
    threshold = floating(20.0)

    def evaluate(self, input_gradients: Array, input_features: Array) -> Array:
        import numpy as np

        t = input_features * self.beta
        return np.where(t > self.threshold, input_gradients, input_gradients * sigmoid(t))


class LogitOp(FloatUnary):
    """y = ln(z / (1 - z)), z = x clipped to [eps, 1 - eps]; a negative eps does not clip."""

    name = "ge.Logit"

    eps = floating(-1.0)

    def evaluate(self, x: Array) -> Array:
        import numpy as np

        eps = x.dtype.type(self.eps)
        z: Any = x if self.eps < 0 else np.clip(x, eps, 1 - eps)
        return np.log(z / (1 - z))


class FastGeluV2Op(FloatUnary):
    """y approximates Gelu piecewise.

    The value semantics is unconfirmed.
    """

    name = "ge.FastGeluV2"


class InvOp(FloatUnary):
    """y = 1 / x"""

    name = "ge.Inv"

    def evaluate(self, x: Array) -> Array:
        return 1 / x
