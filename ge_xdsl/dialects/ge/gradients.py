"""Gradients of elementwise maths, of extrema, of softmax and of a bias.

dy stands for the incoming gradient, whatever the op calls it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ge_xdsl.dialects.ge.elements import COMPLEX, FLOATS, one_element_type, require
from ge_xdsl.dialects.ge.extents import at_least_rank
from ge_xdsl.dialects.ge.fields import boolean, integer, integers, operand, result, string
from ge_xdsl.dialects.ge.op import GeOp
from ge_xdsl.dialects.ge.rounding import chosen
from ge_xdsl.dialects.ge.shapes import broadcast, normalize_axes, normalize_axis
from ge_xdsl.dialects.ge.suffix import check_floats, one_shape
from ge_xdsl.dialects.ge.types import DYNAMIC, Tensor

if TYPE_CHECKING:
    from ge_xdsl.dialects.ge.types import Array


def sigmoid(x: Array) -> Array:
    """1 / (1 + e^-x)"""
    import numpy as np

    return 1 / (1 + np.exp(-x))


class Pairwise(GeOp):
    """A result from two operands of one shape.

    C1: both operands are floating-point tensors of one element type. C2: they have one shape.
    """

    widens = True

    def infer(self, first: Tensor, second: Tensor) -> Tensor:
        names = [io.name for io in self.prototype.inputs]
        given = dict(zip(names, (first, second), strict=True))
        check_floats(**given)  # C1
        one_element_type(first, second)  # C1
        return Tensor(first.dtype, one_shape(**given), first.layout)  # C2


class _OfOutput(Pairwise):
    """`y` and `dy`, with the gradient `z`."""

    y = operand()
    dy = operand()
    z = result()


class SqrtGradOp(_OfOutput):
    """z = dy / (2 * y), y the square root."""

    name = "ge.SqrtGrad"

    def evaluate(self, y: Array, dy: Array) -> Array:
        return dy * 0.5 / y


class RsqrtGradOp(_OfOutput):
    """z = -dy * y^3 / 2, y the result of Rsqrt."""

    name = "ge.RsqrtGrad"

    def evaluate(self, y: Array, dy: Array) -> Array:
        return dy * y * y * y * -0.5


class ReciprocalGradOp(_OfOutput):
    """z = -dy * y^2, y the reciprocal."""

    name = "ge.ReciprocalGrad"

    def evaluate(self, y: Array, dy: Array) -> Array:
        return -dy * y * y


class AsinGradOp(_OfOutput):
    """z = dy / sqrt(1 - y^2), y the operand of Asin."""

    name = "ge.AsinGrad"

    def evaluate(self, y: Array, dy: Array) -> Array:
        import numpy as np

        return dy / np.sqrt(1 - y * y)


class AcosGradOp(_OfOutput):
    """z = -dy / sqrt(1 - y^2), y the operand of Acos."""

    name = "ge.AcosGrad"

    def evaluate(self, y: Array, dy: Array) -> Array:
        import numpy as np

        return -dy / np.sqrt(1 - y * y)


class AtanGradOp(_OfOutput):
    """z = dy / (1 + y^2), y the operand of Atan."""

    name = "ge.AtanGrad"

    def evaluate(self, y: Array, dy: Array) -> Array:
        return dy / (1 + y * y)


class AsinhGradOp(_OfOutput):
    """z = dy / cosh(y), y the result of Asinh."""

    name = "ge.AsinhGrad"

    def evaluate(self, y: Array, dy: Array) -> Array:
        import numpy as np

        return dy / np.cosh(y)


class AcoshGradOp(_OfOutput):
    """z = dy / sinh(y), y the result of Acosh."""

    name = "ge.AcoshGrad"

    def evaluate(self, y: Array, dy: Array) -> Array:
        import numpy as np

        return dy / np.sinh(y)


class AbsGradOp(_OfOutput):
    """z = dy * sign(y), y the operand of Abs; 0 at 0."""

    name = "ge.AbsGrad"

    def evaluate(self, y: Array, dy: Array) -> Array:
        import numpy as np

        return dy * np.sign(y)


class _Conjugating(_OfOutput):
    """Gradients that take complex operands too, y conjugated under complex_conj.

    C1: both operands are floating-point or complex tensors of one element type. C2: they have one
    shape.
    """

    complex_conj = boolean(False)

    def infer(self, first: Tensor, second: Tensor) -> Tensor:
        for tensor, name in ((first, "y"), (second, "dy")):
            require(tensor, name, FLOATS | COMPLEX, "a floating-point or complex type")  # C1
        one_element_type(first, second)  # C1
        return Tensor(first.dtype, one_shape(y=first, dy=second), first.layout)  # C2

    def output(self, y: Array) -> Array:
        return y.conj() if self.complex_conj and y.dtype.kind == "c" else y


class SigmoidGradOp(_Conjugating):
    """z = dy * y * (1 - y), y the result of Sigmoid."""

    name = "ge.SigmoidGrad"

    def evaluate(self, y: Array, dy: Array) -> Array:
        y = self.output(y)
        return dy * y * (1 - y)


class TanhGradOp(_Conjugating):
    """z = dy * (1 - y^2), y the result of Tanh."""

    name = "ge.TanhGrad"

    def evaluate(self, y: Array, dy: Array) -> Array:
        y = self.output(y)
        return dy * (1 - y * y)


class InvGradOp(Pairwise):
    """y = -grad * x^2, x the result of Inv."""

    name = "ge.InvGrad"

    x = operand()
    grad = operand()
    y = result()

    def evaluate(self, x: Array, grad: Array) -> Array:
        return -grad * x * x


class SoftmaxGradOp(GeOp):
    """grad_x = softmax * (grad_softmax - sum over axes of softmax * grad_softmax)

    C1: both operands are floating-point tensors. C2: they broadcast. C3: axes are dimensions of
    the result, none twice.
    """

    name = "ge.SoftmaxGrad"

    softmax = operand()
    grad_softmax = operand()
    grad_x = result()
    axes = integers((-1,))

    widens = True

    def infer(self, softmax: Tensor, grad_softmax: Tensor) -> Tensor:
        check_floats(softmax=softmax, grad_softmax=grad_softmax)  # C1
        shape = broadcast(softmax.shape, grad_softmax.shape)  # C2
        if shape is not None:
            normalize_axes(self.axes, len(shape))  # C3
        return softmax.with_shape(shape)

    def evaluate(self, softmax: Array, grad_softmax: Array) -> Array:
        import numpy as np

        products = softmax * grad_softmax
        total = np.sum(products, axis=tuple(self.axes), keepdims=True, dtype=products.dtype)
        return softmax * (grad_softmax - total)


class LogSoftmaxGradOp(GeOp):
    """y = grad - e^x * sum over axis of grad, x the result of LogSoftmaxV2.

    C1: both operands are floating-point tensors. C2: they have one shape. C3: axis lists its
    dimensions, none twice.
    """

    name = "ge.LogSoftmaxGrad"

    grad = operand()
    x = operand()
    y = result()
    axis = integers((-1,))

    widens = True

    def infer(self, grad: Tensor, x: Tensor) -> Tensor:
        check_floats(grad=grad, x=x)  # C1
        shape = one_shape(grad=grad, x=x)  # C2
        if shape is not None:
            normalize_axes(self.axis, len(shape), "axis")  # C3
        return grad.with_shape(shape)

    def evaluate(self, grad: Array, x: Array) -> Array:
        import numpy as np

        total = np.sum(grad, axis=tuple(self.axis), keepdims=True, dtype=grad.dtype)
        return grad - np.exp(x) * total


class SoftmaxGradExtOp(GeOp):
    """y = (grad - sum over axes of grad * x1) * x1 * x2

    axes is one dimension; without keep_dims the sum broadcasts as it is. C1: all operands are
    floating-point tensors. C2: grad and x1 have one shape. C3: axes is one of its dimensions.
    C4: x2 broadcasts to it.
    """

    name = "ge.SoftmaxGradExt"

    grad = operand()
    x1 = operand()
    x2 = operand()
    y = result()
    axes = integer(1)
    keep_dims = boolean(True)

    widens = True

    def infer(self, grad: Tensor, x1: Tensor, x2: Tensor) -> Tensor:
        check_floats(grad=grad, x1=x1, x2=x2)  # C1
        shape = one_shape(grad=grad, x1=x1)  # C2
        if shape is not None:
            normalize_axis(self.axes, len(shape), "axes")  # C3
            one_shape(grad=grad, result=grad.with_shape(broadcast(shape, x2.shape)))  # C4
        return grad.with_shape(shape)

    def evaluate(self, grad: Array, x1: Array, x2: Array) -> Array:
        import numpy as np

        total = np.sum(grad * x1, axis=self.axes, keepdims=self.keep_dims, dtype=grad.dtype)
        return (grad - total) * x1 * x2


class ConfusionSoftmaxGradOp(GeOp):
    """y = grad - sum over the last dimension of grad * x

    C1: both operands are floating-point tensors of rank >= 1. C2: they broadcast, to the shape of
    grad.
    """

    name = "ge.ConfusionSoftmaxGrad"

    grad = operand()
    x = operand()
    y = result()

    widens = True

    def infer(self, grad: Tensor, x: Tensor) -> Tensor:
        check_floats(grad=grad, x=x)  # C1
        at_least_rank(grad, 1, "grad")  # C1
        one_shape(grad=grad, result=grad.with_shape(broadcast(grad.shape, x.shape)))  # C2
        return grad

    def evaluate(self, grad: Array, x: Array) -> Array:
        import numpy as np

        return grad - np.sum(grad * x, axis=-1, keepdims=True, dtype=grad.dtype)


class ConfusionMulGradOp(GeOp):
    """output0 = input0 * input1, output1 = sum over axes of input1 * input2 (in f32 for halves)

    No axes means all of them. C1: all operands have one element type. C2: they have one shape.
    C3: axes are its dimensions, none twice.
    """

    name = "ge.ConfusionMulGrad"

    input0 = operand()
    input1 = operand()
    input2 = operand()
    output0 = result()
    output1 = result()
    axes = integers(())
    keep_dims = boolean(False)

    widens = True

    def infer(self, input0: Tensor, input1: Tensor, input2: Tensor) -> tuple[Tensor, Tensor]:
        one_element_type(input0, input1, input2)  # C1
        shape = one_shape(input0=input0, input1=input1, input2=input2)  # C2
        if shape is None:
            return input0, input1.with_shape(None)
        axes = normalize_axes(self.axes, len(shape)) or tuple(range(len(shape)))  # C3
        kept = [
            1 if i in axes else d for i, d in enumerate(shape) if self.keep_dims or i not in axes
        ]
        return input0.with_shape(shape), input1.with_shape(kept)

    def evaluate(self, input0: Array, input1: Array, input2: Array) -> tuple[Array, Array]:
        import numpy as np

        products = input1 * input2
        axes = tuple(self.axes) or None
        total = np.sum(products, axis=axes, keepdims=self.keep_dims, dtype=products.dtype)
        return input0 * input1, np.asarray(total)


class BiasAddGradOp(GeOp):
    """y = sum of x over all but the channels, which data_format NHWC has last, else second.

    C1: data_format is NHWC, NDHWC, NCHW or NCDHW. C2: x has rank >= 2.
    """

    name = "ge.BiasAddGrad"

    x = operand()
    y = result()
    data_format = string("NHWC")

    widens = True

    def infer(self, x: Tensor) -> Tensor:
        chosen(self.data_format, "data_format", ("NHWC", "NDHWC", "NCHW", "NCDHW"))  # C1
        at_least_rank(x, 2, "x")  # C2
        return x.with_shape((DYNAMIC if x.shape is None else x.shape[self._axis()],))

    def _axis(self) -> int:
        return 1 if self.data_format.startswith("NC") else -1

    def evaluate(self, x: Array) -> Array:
        import numpy as np

        axis = self._axis() % x.ndim
        return np.sum(x, axis=tuple(i for i in range(x.ndim) if i != axis), dtype=x.dtype)


class _Extremum(GeOp):
    """y1 = grads where x1 wins, y2 = grads where x2 does, each summed to its operand's shape.

    C1: all operands have one element type. C2: grads has the shape of x1 and x2 broadcast.
    """

    grads = operand()
    x1 = operand()
    x2 = operand()
    y1 = result()
    y2 = result()
    grad_x = boolean(True)
    grad_y = boolean(True)

    widens = True

    def infer(self, grads: Tensor, x1: Tensor, x2: Tensor) -> tuple[Tensor, Tensor]:
        one_element_type(grads, x1, x2)  # C1
        one_shape(grads=grads, operands=x1.with_shape(broadcast(x1.shape, x2.shape)))  # C2
        return x1, x2

    def split(self, grads: Array, x1: Array, x2: Array, first: Any) -> tuple[Array, Array]:
        import numpy as np

        zero = grads.dtype.type(0)
        halves = np.where(first, grads, zero), np.where(first, zero, grads)
        return reduce_to(halves[0], x1), reduce_to(halves[1], x2)


def reduce_to(wide: Array, like: Array) -> Array:
    """Sums over the dimensions in which `like` was broadcast to `wide`."""
    import numpy as np

    lead = wide.ndim - like.ndim
    axes = (*range(lead), *(lead + i for i, d in enumerate(like.shape) if d == 1))
    return np.sum(wide, axis=axes, dtype=wide.dtype).reshape(like.shape)


class MaximumGradOp(_Extremum):
    """y1 = grads where x1 >= x2, y2 = grads elsewhere, each summed to its operand's shape.

    Both results are computed whatever grad_x and grad_y say. C1: all operands have one element
    type. C2: grads has the shape of x1 and x2 broadcast.
    """

    name = "ge.MaximumGrad"

    def evaluate(self, grads: Array, x1: Array, x2: Array) -> tuple[Array, Array]:
        return self.split(grads, x1, x2, x1 >= x2)


class MinimumGradOp(_Extremum):
    """y1 = grads where x1 <= x2, y2 = grads elsewhere, each summed to its operand's shape.

    Both results are computed whatever grad_x and grad_y say. C1: all operands have one element
    type. C2: grads has the shape of x1 and x2 broadcast.
    """

    name = "ge.MinimumGrad"

    def evaluate(self, grads: Array, x1: Array, x2: Array) -> tuple[Array, Array]:
        return self.split(grads, x1, x2, x1 <= x2)
