"""Gradients of batch and instance normalisation, and their inference forms with given moments."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING, ClassVar

from xdsl.utils.exceptions import VerifyException

from ge_xdsl.dialects.ge.extents import at_least_rank, merge_shapes, of_rank
from ge_xdsl.dialects.ge.fields import (
    AttrField,
    boolean,
    booleans,
    data_type,
    floating,
    operand,
    optional,
    result,
    string,
)
from ge_xdsl.dialects.ge.norm import channel_axis
from ge_xdsl.dialects.ge.op import GeOp
from ge_xdsl.dialects.ge.operands import check_channels, check_length
from ge_xdsl.dialects.ge.shapes import broadcast, shape_text
from ge_xdsl.dialects.ge.suffix import check_floats, one_shape
from ge_xdsl.dialects.ge.types import DYNAMIC, DataType, Tensor
from ge_xdsl.dialects.ge.windows import check_format

if TYPE_CHECKING:
    from ge_xdsl.dialects.ge.types import Array

INSTANCE_EPSILON = 1e-6
"""The epsilon that instance normalisation's gradients have built in."""


def standard_gradient(
    dy: Array, normal: Array, scale: Array, axes: tuple[int, ...]
) -> tuple[Array, Array, Array]:
    """(dx, sum of dy * n, sum of dy) of a normalisation over `axes`: dx = scale * (dy - mean(dy)
    - n * mean(dy * n)), scale = gamma / deviation; the sums keep their dimensions."""
    import numpy as np

    count = np.float32(max(prod(dy.shape[a] for a in axes), 1))
    products = np.sum(dy * normal, axis=axes, keepdims=True)
    totals = np.sum(dy, axis=axes, keepdims=True)
    dx = scale * (dy - totals / count - normal * products / count)
    return dx, products, totals


class _BatchNormGradient(GeOp):
    """x_backprop = scale * rstd * (dy - mean(dy) - n * mean(dy * n)) per channel."""

    epsilon: ClassVar[AttrField[float]]
    data_format: ClassVar[AttrField[str]]
    is_training: ClassVar[AttrField[bool]]

    widens = True

    def checked(
        self, dy: Tensor, x: Tensor, formats: Sequence[str], **channels: Tensor | None
    ) -> tuple[Tensor, ...]:
        """The results' tensors; `channels` have one number per channel, scale the first."""
        check_format(self.data_format, formats)
        check_floats(y_backprop=dy, x=x)
        shape = merge_shapes(dy.shape, x.shape, "shapes of y_backprop and x")
        rank = len(formats[0])
        count = DYNAMIC
        if shape is not None:
            of_rank(dy.with_shape(shape), rank, "y_backprop")
            count = shape[channel_axis(self.data_format, rank)]
        for name, tensor in channels.items():
            check_channels(tensor, count, name)
        each = Tensor(DataType.DT_FLOAT, (count,))
        return dy.with_shape(shape), *[each] * 4

    def value(self, dy: Array, x: Array, numbers: tuple[Array, Array, Array]) -> tuple[Array, ...]:
        import numpy as np

        axis = channel_axis(self.data_format, dy.ndim)
        axes = tuple(i for i in range(dy.ndim) if i != axis)
        along = tuple(-1 if i == axis else 1 for i in range(dy.ndim))
        scale, mean, spread = (a.astype(np.float32).reshape(along) for a in numbers)
        rstd = spread if self.is_training else 1 / np.sqrt(spread + np.float32(self.epsilon))
        dx, products, totals = standard_gradient(dy, (x - mean) * rstd, scale * rstd, axes)
        dx = dx if self.is_training else dy * scale * rstd
        rest = np.zeros(totals.size, np.float32)
        sums = (a.reshape(-1).astype(np.float32) for a in (products, totals))
        return dx.astype(dy.dtype), *sums, rest, rest


class BatchNormGradOp(_BatchNormGradient):
    """x_backprop = scale * rstd * (dy - mean(dy) - n * mean(dy * n)),
    scale_backprop = sum of dy * n, offset_backprop = sum of dy, per channel; n = (x - mean) * rstd

    reserve_space_1 is the mean; reserve_space_2 is rstd when is_training (older forms of the op
    hold the variance there), else the variance, and then x_backprop = dy * scale * rstd. The last
    two results hold nothing. C1: data_format is NCHW or NHWC. C2: y_backprop and x are
    floating-point tensors of one shape, of rank 4. C3: scale and the reserved spaces have one
    number per channel. C4: output_mask has 3 entries.
    """

    name = "ge.BatchNormGrad"

    y_backprop = operand()
    x = operand()
    scale = operand()
    reserve_space_1 = operand()
    reserve_space_2 = operand()
    reserve_space_3 = optional()
    x_backprop = result()
    scale_backprop = result()
    offset_backprop = result()
    reserve_space_4 = result()
    reserve_space_5 = result()
    epsilon = floating(0.0001)
    data_format = string("NHWC")
    is_training = boolean(True)
    output_mask = booleans((True, False, False))

    def infer(self, dy: Tensor, x: Tensor, *rest: Tensor | None) -> tuple[Tensor, ...]:
        check_length(self.output_mask, 3, "output_mask")  # C4
        names = ("scale", "reserve_space_1", "reserve_space_2")
        channels = dict(zip(names, rest[:3], strict=True))
        return self.checked(dy, x, ("NHWC", "NCHW"), **channels)  # C1 C2 C3

    def evaluate(self, dy: Array, x: Array, *rest: Array | None) -> tuple[Array, ...]:
        scale, mean, spread, _ = rest
        assert scale is not None
        assert mean is not None
        assert spread is not None
        return self.value(dy, x, (scale, mean, spread))


class BatchNorm3DGradOp(_BatchNormGradient):
    """x_backprop = scale * rstd * (dy - mean(dy) - n * mean(dy * n)),
    scale_backprop = sum of dy * n, offset_backprop = sum of dy, per channel; n = (x - mean) * rstd

    The operands are those of BatchNormGrad. C1: data_format is NCDHW or NDHWC. C2: y_backprop and x
    are floating-point tensors of one shape, of rank 5. C3: scale and the reserved spaces have one
    number per channel.
    """

    name = "ge.BatchNorm3DGrad"

    y_backprop = operand()
    x = operand()
    scale = operand()
    reserve_space_1 = operand()
    reserve_space_2 = operand()
    x_backprop = result()
    scale_backprop = result()
    offset_backprop = result()
    reserve_space_4 = result()
    reserve_space_5 = result()
    epsilon = floating(0.0001)
    data_format = string("NCDHW")
    is_training = boolean(True)

    def infer(self, dy: Tensor, x: Tensor, *rest: Tensor) -> tuple[Tensor, ...]:
        names = ("scale", "reserve_space_1", "reserve_space_2")
        channels = dict(zip(names, rest, strict=True))
        return self.checked(dy, x, ("NCDHW", "NDHWC"), **channels)  # C1 C2 C3

    def evaluate(self, dy: Array, x: Array, *rest: Array) -> tuple[Array, ...]:
        scale, mean, spread = rest
        return self.value(dy, x, (scale, mean, spread))


def moment_axes(x: Sequence[int], moment: Sequence[int]) -> tuple[int, ...]:
    """The dimensions that a moment of x has as 1, which its sums go over."""
    return tuple(i for i in range(1, len(x)) if moment[i] == 1)


def check_moments(x: Tensor, **moments: Tensor) -> None:
    """Each has the rank of x, and each of its dimensions or 1."""
    for name, tensor in moments.items():
        if x.shape is None or tensor.shape is None:
            continue
        fits = len(tensor.shape) == len(x.shape) and all(
            m in (1, n) or DYNAMIC in (m, n) for m, n in zip(tensor.shape, x.shape, strict=True)
        )
        if not fits:
            raise VerifyException(
                f"{name} is {shape_text(tensor.shape)}, expected dimensions of "
                f"{shape_text(x.shape)} or 1"
            )


class InstanceNormGradOp(GeOp):
    """pd_x = gamma * rstd * (dy - mean(dy) - n * mean(dy * n)), pd_gamma = sum of dy * n, pd_beta =
    sum of dy; n = (x - mean) * rstd, rstd = 1 / sqrt(variance + 1e-6)

    Channels come last; means are over the dimensions between batch and channels, sums over the
    batch too. C1: all operands are floating-point tensors, dy and x of one shape. C2: x has rank >=
    3. C3: mean and variance have dimensions of x or 1. C4: gamma has one number per channel.
    """

    name = "ge.InstanceNormGrad"

    dy = operand()
    x = operand()
    variance = operand()
    mean = operand()
    gamma = operand()
    pd_x = result()
    pd_gamma = result()
    pd_beta = result()

    widens = True

    def infer(self, dy: Tensor, x: Tensor, *rest: Tensor) -> tuple[Tensor, ...]:
        variance, mean, gamma = rest
        check_floats(dy=dy, x=x, variance=variance, mean=mean, gamma=gamma)  # C1
        shape = one_shape(dy=dy, x=x)  # C1
        at_least_rank(x, 3, "x")  # C2
        check_moments(x, variance=variance, mean=mean)  # C3
        check_channels(gamma, DYNAMIC if shape is None else shape[-1], "gamma")  # C4
        return dy.with_shape(shape), gamma, gamma

    def evaluate(self, dy: Array, x: Array, *rest: Array) -> tuple[Array, ...]:
        import numpy as np

        variance, mean, gamma = rest
        rstd = 1 / np.sqrt(variance + variance.dtype.type(INSTANCE_EPSILON))
        axes = tuple(range(1, x.ndim - 1))
        scale = gamma.reshape(-1) * rstd
        dx, products, totals = standard_gradient(dy, (x - mean) * rstd, scale, axes)
        sums = (np.sum(a, axis=0).reshape(gamma.shape) for a in (products, totals))
        return dx.astype(dy.dtype), *(a.astype(gamma.dtype) for a in sums)


class INTrainingUpdateGradOp(GeOp):
    """res_gamma = sum of dy * (x - mean) / sqrt(variance + 1e-6), res_beta = sum of dy, in f32

    The sums go over the dimensions that variance has as 1, the batch excepted, and keep them. C1:
    dy and x are floating-point tensors of one shape. C2: mean and variance have dimensions of x or
    1, and one shape.
    """

    name = "ge.INTrainingUpdateGrad"

    dy = operand()
    x = operand()
    variance = operand()
    mean = operand()
    res_gamma = result()
    res_beta = result()

    widens = True

    def infer(self, dy: Tensor, x: Tensor, *rest: Tensor) -> tuple[Tensor, ...]:
        variance, mean = rest
        check_floats(dy=dy, x=x)  # C1
        shape = one_shape(dy=dy, x=x)  # C1
        check_moments(x.with_shape(shape), variance=variance, mean=mean)  # C2
        kept = Tensor(DataType.DT_FLOAT, one_shape(variance=variance, mean=mean))  # C2
        return kept, kept

    def evaluate(self, dy: Array, x: Array, *rest: Array) -> tuple[Array, ...]:
        import numpy as np

        variance, mean = rest
        normal = (x - mean) / np.sqrt(variance + np.float32(INSTANCE_EPSILON))
        axes = moment_axes(x.shape, variance.shape)
        sums = (np.sum(a, axis=axes, keepdims=True) for a in (dy * normal, dy))
        return tuple(a.astype(np.float32) for a in sums)


class INTrainingReduceGradOp(GeOp):
    """pd_x = gamma / sqrt(variance + 1e-6) * (dy - res_beta / M - n * res_gamma / M)

    n = (x - mean) / sqrt(variance + 1e-6); M is the number of elements of each mean. C1: dy and x
    are floating-point tensors of one shape. C2: the others have dimensions of x or 1.
    """

    name = "ge.INTrainingReduceGrad"

    dy = operand()
    x = operand()
    variance = operand()
    mean = operand()
    res_gamma = operand()
    res_beta = operand()
    gamma = operand()
    pd_x = result()

    widens = True

    def infer(self, dy: Tensor, x: Tensor, *rest: Tensor) -> Tensor:
        check_floats(dy=dy, x=x)  # C1
        shape = one_shape(dy=dy, x=x)  # C1
        names = [io.name for io in self.prototype.inputs[2:]]
        check_moments(x.with_shape(shape), **dict(zip(names, rest, strict=True)))  # C2
        return dy.with_shape(shape)

    def evaluate(self, dy: Array, x: Array, *rest: Array) -> Array:
        import numpy as np

        variance, mean, res_gamma, res_beta, gamma = rest
        rstd = 1 / np.sqrt(variance + np.float32(INSTANCE_EPSILON))
        axes = moment_axes(x.shape, variance.shape)
        count = np.float32(max(prod(x.shape[a] for a in axes), 1))
        normal = (x - mean) * rstd
        dx = gamma * rstd * (dy - res_beta / count - normal * res_gamma / count)
        return dx.astype(dy.dtype)


class INTrainingUpdateGradGammaBetaOp(GeOp):
    """pd_gamma = sum of res_gamma over the batch, pd_beta = sum of res_beta, kept as dimension 1

    C1: both are floating-point tensors of one shape. C2: they have rank >= 1.
    """

    name = "ge.INTrainingUpdateGradGammaBeta"

    res_gamma = operand()
    res_beta = operand()
    pd_gamma = result()
    pd_beta = result()

    def infer(self, res_gamma: Tensor, res_beta: Tensor) -> tuple[Tensor, Tensor]:
        check_floats(res_gamma=res_gamma, res_beta=res_beta)  # C1
        shape = one_shape(res_gamma=res_gamma, res_beta=res_beta)  # C1
        at_least_rank(res_gamma.with_shape(shape), 1, "res_gamma")  # C2
        kept = None if shape is None else (1, *shape[1:])
        return res_gamma.with_shape(kept), res_beta.with_shape(kept)

    def evaluate(self, res_gamma: Array, res_beta: Array) -> tuple[Array, Array]:
        import numpy as np

        sums = [np.sum(a, axis=0, keepdims=True, dtype=a.dtype) for a in (res_gamma, res_beta)]
        return sums[0], sums[1]


class INInferV2DOp(GeOp):
    """y = (x - mean) / variance_sqrt * gamma + beta; batch_mean, batch_variance repeat the moments

    variance_sqrt is sqrt(variance + epsilon), made beforehand. C1: x has rank >= 3. C2: mean,
    variance and variance_sqrt are given. C3: the operands after x have dimensions of x or 1.
    """

    name = "ge.INInferV2D"

    x = operand()
    gamma = optional()
    beta = optional()
    mean = optional()
    variance = optional()
    variance_sqrt = optional()
    y = result()
    batch_mean = result()
    batch_variance = result()

    widens = True

    def infer(self, x: Tensor, *rest: Tensor | None) -> tuple[Tensor, Tensor, Tensor]:
        at_least_rank(x, 3, "x")  # C1
        names = [io.name for io in self.prototype.inputs[1:]]
        given = {name: t for name, t in zip(names, rest, strict=True) if t is not None}
        _, _, mean, variance, root = rest
        if mean is None or variance is None or root is None:  # C2
            raise VerifyException("mean, variance or variance_sqrt is missing, expected all")
        check_moments(x, **given)  # C3
        return x, mean, variance

    def evaluate(self, x: Array, *rest: Array | None) -> tuple[Array, Array, Array]:
        gamma, beta, mean, variance, root = rest
        assert mean is not None
        assert variance is not None
        y = (x - mean) / root
        y = y if gamma is None else y * gamma
        y = y if beta is None else y + beta
        return y.astype(x.dtype), mean, variance


class NormalizeV2Op(GeOp):
    """y = (x - mean) / variance per channel, in the type dtype; its values are unconfirmed

    C1: x is a floating-point tensor of rank 4. C2: mean and variance broadcast to x. C3: dtype is
    DT_FLOAT or DT_FLOAT16.
    """

    name = "ge.NormalizeV2"

    x = operand()
    mean = operand()
    variance = operand()
    y = result()
    dtype = data_type(DataType.DT_FLOAT)

    def infer(self, x: Tensor, mean: Tensor, variance: Tensor) -> Tensor:
        check_floats(x=x)  # C1
        of_rank(x, 4, "x")  # C1
        for name, tensor in (("mean", mean), ("variance", variance)):
            shape = broadcast(x.shape, tensor.shape)  # C2
            merge_shapes(shape, x.shape, f"shapes of x with {name} and x")  # C2
        if self.dtype not in (DataType.DT_FLOAT, DataType.DT_FLOAT16):  # C3
            raise VerifyException(f"dtype is {self.dtype.name}, expected DT_FLOAT or DT_FLOAT16")
        return x.with_dtype(self.dtype)
