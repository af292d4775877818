"""Gradients of activation functions: incoming gradient times the derivative at each element."""

from __future__ import annotations

from math import pi, sqrt
from typing import TYPE_CHECKING

from xdsl.utils.exceptions import VerifyException

from ge_xdsl.dialects.ge.activation import check_slopes
from ge_xdsl.dialects.ge.elements import one_element_type
from ge_xdsl.dialects.ge.fields import boolean, floating, operand, optional, result, string
from ge_xdsl.dialects.ge.gradients import Pairwise, sigmoid
from ge_xdsl.dialects.ge.op import GeOp
from ge_xdsl.dialects.ge.rounding import chosen
from ge_xdsl.dialects.ge.shapes import broadcast, shape_text
from ge_xdsl.dialects.ge.suffix import check_floats, one_shape
from ge_xdsl.dialects.ge.types import Tensor

if TYPE_CHECKING:
    from ge_xdsl.dialects.ge.types import Array


class _OfFeatures(Pairwise):
    """`gradients` and `features`, with the gradient `backprops`."""

    gradients = operand()
    features = operand()
    backprops = result()


class ReluGradOp(GeOp):
    """backprops = gradients where features > 0, else 0; the operands broadcast.

    C1: both operands have one element type. C2: they broadcast.
    """

    name = "ge.ReluGrad"

    gradients = operand()
    features = operand()
    backprops = result()

    widens = True

    def infer(self, gradients: Tensor, features: Tensor) -> Tensor:
        one_element_type(gradients, features)  # C1
        return gradients.with_shape(broadcast(gradients.shape, features.shape))  # C2

    def evaluate(self, gradients: Array, features: Array) -> Array:
        import numpy as np

        return np.where(features > 0, gradients, gradients.dtype.type(0))


class Relu6GradOp(_OfFeatures):
    """backprops = gradients where 0 < features < 6, else 0."""

    name = "ge.Relu6Grad"

    def evaluate(self, gradients: Array, features: Array) -> Array:
        import numpy as np

        return np.where((features > 0) & (features < 6), gradients, gradients.dtype.type(0))


class LeakyReluGradOp(_OfFeatures):
    """backprops = gradients where features > 0, else negative_slope * gradients."""

    name = "ge.LeakyReluGrad"

    negative_slope = floating(0.0)

    def evaluate(self, gradients: Array, features: Array) -> Array:
        import numpy as np

        return np.where(features > 0, gradients, gradients * self.negative_slope)


class SoftplusGradOp(_OfFeatures):
    """backprops = gradients / (1 + e^-features)"""

    name = "ge.SoftplusGrad"

    def evaluate(self, gradients: Array, features: Array) -> Array:
        return gradients * sigmoid(features)


class SoftsignGradOp(Pairwise):
    """output = gradients / (1 + |features|)^2"""

    name = "ge.SoftsignGrad"

    gradients = operand()
    features = operand()
    output = result()

    def evaluate(self, gradients: Array, features: Array) -> Array:
        import numpy as np

        base = 1 + np.abs(features)
        return gradients / (base * base)


class ThresholdGradV2DOp(_OfFeatures):
    """backprops = gradients where features > threshold, else 0."""

    name = "ge.ThresholdGradV2D"

    threshold = floating()

    def evaluate(self, gradients: Array, features: Array) -> Array:
        import numpy as np

        return np.where(features > self.threshold, gradients, gradients.dtype.type(0))


class HardShrinkGradOp(_OfFeatures):
    """backprops = gradients where |features| > lambd, else 0."""

    name = "ge.HardShrinkGrad"

    lambd = floating(0.5)

    def evaluate(self, gradients: Array, features: Array) -> Array:
        import numpy as np

        return np.where(np.abs(features) > self.lambd, gradients, gradients.dtype.type(0))


class SoftShrinkGradOp(Pairwise):
    """output_y = input_grad where |input_x| > lambd, else 0."""

    name = "ge.SoftShrinkGrad"

    input_grad = operand()
    input_x = operand()
    output_y = result()
    lambd = floating(0.5)

    def evaluate(self, input_grad: Array, input_x: Array) -> Array:
        import numpy as np

        return np.where(np.abs(input_x) > self.lambd, input_grad, input_grad.dtype.type(0))


class LogSigmoidGradOp(Pairwise):
    """backprops = grads / (1 + e^features)"""

    name = "ge.LogSigmoidGrad"

    grads = operand()
    features = operand()
    backprops = result()

    def evaluate(self, grads: Array, features: Array) -> Array:
        return grads * sigmoid(-features)


class HardSigmoidGradOp(Pairwise):
    """y = alpha * grads where 0 < alpha * input_x + beta < 1, else 0."""

    name = "ge.HardSigmoidGrad"

    grads = operand()
    input_x = operand()
    y = result()
    alpha = floating(0.16666666)
    beta = floating(0.5)

    def evaluate(self, grads: Array, input_x: Array) -> Array:
        import numpy as np

        linear = input_x * self.alpha + self.beta
        return np.where((linear > 0) & (linear < 1), grads * self.alpha, grads.dtype.type(0))


class HardSwishGradOp(Pairwise):
    """y = 0 below -3, grad * (x / 3 + 1/2) up to 3, grad above."""

    name = "ge.HardSwishGrad"

    grad = operand()
    x = operand()
    y = result()

    def evaluate(self, grad: Array, x: Array) -> Array:
        import numpy as np

        middle = grad * (x / 3 + x.dtype.type(0.5))
        return np.where(x < -3, x.dtype.type(0), np.where(x > 3, grad, middle))


class HardtanhGradOp(Pairwise):
    """y = grad where min_val < result < max_val, else 0."""

    name = "ge.HardtanhGrad"

    y = result()
    result = operand()
    grad = operand()
    min_val = floating(-1.0)
    max_val = floating(1.0)

    def evaluate(self, result: Array, grad: Array) -> Array:
        import numpy as np

        inside = (result > self.min_val) & (result < self.max_val)
        return np.where(inside, grad, grad.dtype.type(0))


class _OfActivations(Pairwise):
    """`grads` and `activations`, with the gradient `y`."""

    grads = operand()
    activations = operand()
    y = result()


class EluGradOp(_OfActivations):
    """y = grads where activations > 0, else grads * (activations + 1); activations are from Elu."""

    name = "ge.EluGrad"

    def evaluate(self, grads: Array, activations: Array) -> Array:
        import numpy as np

        return np.where(activations > 0, grads, grads * (activations + 1))


class EluGradV2Op(_OfActivations):
    """y = scale * grads where activations > 0, else input_scale * grads * d

    d = scale * alpha * e^(input_scale * activations) for the operand of Elu, and
    activations + scale * alpha for its result (is_result).
    """

    name = "ge.EluGradV2"

    alpha = floating(1.0)
    scale = floating(1.0)
    input_scale = floating(1.0)
    is_result = boolean(False)

    def evaluate(self, grads: Array, activations: Array) -> Array:
        import numpy as np

        height = self.scale * self.alpha
        if self.is_result:
            slope = activations + height
        else:
            slope = np.exp(activations * self.input_scale) * height
        below = grads * slope * self.input_scale
        return np.where(activations > 0, grads * self.scale, below)


class SeluGradOp(Pairwise):
    """y = s * gradients where outputs > 0, else gradients * (outputs + s * a), as in Selu."""

    name = "ge.SeluGrad"

    gradients = operand()
    outputs = operand()
    y = result()

    def evaluate(self, gradients: Array, outputs: Array) -> Array:
        import numpy as np

        scale, alpha = 1.0507009873554805, 1.6732632423543772
        return np.where(outputs > 0, gradients * scale, gradients * (outputs + scale * alpha))


class LogitGradOp(Pairwise):
    """dx = dy / (x * (1 - x)) for x in [low, high], else 0; low = eps, high = 1 - eps.

    A negative eps means [0, 1], with NaN outside.
    """

    name = "ge.LogitGrad"

    x = operand()
    dy = operand()
    dx = result()
    eps = floating(-1.0)

    def evaluate(self, x: Array, dy: Array) -> Array:
        import numpy as np

        low = x.dtype.type(max(self.eps, 0.0))
        outside = x.dtype.type(0 if self.eps >= 0 else np.nan)
        return np.where((x < low) | (x > 1 - low), outside, dy / (x * (1 - x)))


class SiluGradOp(Pairwise):
    """dx = dy * s * (1 + x * (1 - s)), s = 1 / (1 + e^-x)"""

    name = "ge.SiluGrad"

    dy = operand()
    x = operand()
    dx = result()

    def evaluate(self, dy: Array, x: Array) -> Array:
        s = sigmoid(x)
        return dy * s * (1 + x * (1 - s))


class FastGeluGradOp(Pairwise):
    """z = dy * s * (1 + 1.702 * x * (1 - s)), s = 1 / (1 + e^(-1.702 * x))"""

    name = "ge.FastGeluGrad"

    dy = operand()
    x = operand()
    z = result()

    def evaluate(self, dy: Array, x: Array) -> Array:
        t = x * 1.702
        s = sigmoid(t)
        return dy * s * (1 + t * (1 - s))


def gelu_slope(x: Array) -> Array:
    """The derivative of x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3)))."""
    import numpy as np

    root = sqrt(2 / pi)
    t = np.tanh((x + x * x * x * 0.044715) * root)
    inner = (1 + x * x * (3 * 0.044715)) * root
    return (1 + t) * 0.5 + x * 0.5 * (1 - t * t) * inner


class GeluGradV2Op(Pairwise):
    """z = dy * (F(x) + x * f(x)), F and f the normal distribution and its density.

    With approximate 'tanh' it is the derivative of the formula of Gelu. C1: both operands are
    floating-point tensors of one element type. C2: they have one shape. C3: approximate is 'none'
    or 'tanh'.
    """

    name = "ge.GeluGradV2"

    dy = operand()
    x = operand()
    z = result()
    approximate = string("none")

    def infer(self, first: Tensor, second: Tensor) -> Tensor:
        chosen(self.approximate, "approximate", ("none", "tanh"))  # C3
        return super().infer(first, second)  # C1 C2

    def evaluate(self, dy: Array, x: Array) -> Array:
        import numpy as np

        from ge_xdsl.dialects.ge.special import erf

        if self.approximate == "tanh":
            return dy * gelu_slope(x)
        density = np.exp(x * x * -0.5) * (1 / sqrt(2 * pi))
        return dy * ((1 + erf(x * sqrt(0.5))) * 0.5 + x * density)


class _Triple(GeOp):
    """A gradient from three operands of one shape, the last of which may be missing.

    C1: all operands are floating-point tensors of one element type. C2: they have one shape.
    """

    widens = True

    def infer(self, first: Tensor, second: Tensor, third: Tensor | None) -> Tensor:
        names = [io.name for io in self.prototype.inputs]
        given = dict(zip(names, (first, second, third), strict=True))
        check_floats(**given)  # C1
        one_element_type(first, second, third)  # C1
        return Tensor(first.dtype, one_shape(**given), first.layout)  # C2


class GeluGradOp(_Triple):
    """z = dy times the derivative at x of Gelu, whose result y is not needed."""

    name = "ge.GeluGrad"

    dy = operand()
    x = operand()
    y = operand()
    z = result()

    def evaluate(self, dy: Array, x: Array, y: Array) -> Array:
        return dy * gelu_slope(x)


class SwishGradOp(_Triple):
    """grad_x = grad * s * (1 + scale * x * (1 - s)), s = 1 / (1 + e^(-scale * x)).

    The result y of Swish is not needed.
    """

    name = "ge.SwishGrad"

    grad = operand()
    x = operand()
    y = operand()
    grad_x = result()
    scale = floating(1.0)

    def evaluate(self, grad: Array, x: Array, y: Array) -> Array:
        t = x * self.scale
        s = sigmoid(t)
        return grad * s * (1 + t * (1 - s))


class MishGradOp(_Triple):
    """x_grad = grad * (t + x * (1 - t^2) / (1 + e^-x)), t = tanhx, by default tanh(ln(1 + e^x))."""

    name = "ge.MishGrad"

    grad = operand()
    x = operand()
    tanhx = optional()
    x_grad = result()

    def evaluate(self, grad: Array, x: Array, tanhx: Array | None) -> Array:
        import numpy as np

        t = np.tanh(np.logaddexp(x, x.dtype.type(0))) if tanhx is None else tanhx
        return grad * (t + x * (1 - t * t) * sigmoid(x))


class PReluGradOp(GeOp):
    """dx = grads where features > 0, else weights * grads; da = sum of features * grads where not.

    da has the shape of weights: one number, or one per channel (dimension 1). C1: all operands are
    floating-point tensors of one element type. C2: grads and features have one shape. C3: weights
    is one number or one per channel.
    """

    name = "ge.PReluGrad"

    grads = operand()
    features = operand()
    weights = operand()
    dx = result()
    da = result()

    widens = True

    def infer(self, grads: Tensor, features: Tensor, weights: Tensor) -> tuple[Tensor, Tensor]:
        check_floats(grads=grads, features=features, weights=weights)  # C1
        one_element_type(grads, features, weights)  # C1
        shape = one_shape(grads=grads, features=features)  # C2
        if shape is not None and weights.shape is not None:  # C3
            if len(weights.shape) > 1:
                text = shape_text(weights.shape)
                raise VerifyException(f"weights is {text}, expected rank 1 or less")
            check_slopes(shape, weights.shape, "weights")
        return grads.with_shape(shape), weights

    def evaluate(self, grads: Array, features: Array, weights: Array) -> tuple[Array, Array]:
        import numpy as np

        one = weights.size == 1
        per_channel = features.ndim > 1 and not one
        wide = weights.reshape(-1, *(1,) * (features.ndim - 2)) if per_channel else weights
        wide = weights.reshape(()) if one else wide
        below = np.where(features > 0, features.dtype.type(0), features * grads)
        others = tuple(i for i in range(features.ndim) if one or i != min(1, features.ndim - 1))
        da = np.sum(below, axis=others, dtype=features.dtype)
        return np.where(features > 0, grads, wide * grads), da.reshape(weights.shape)
