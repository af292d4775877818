"""Batch normalisation in pieces: the statistics, the update, inference and the gradients.

These ops have no data_format: channels are the last dimension of an NHWC or NDHWC tensor and the
second of any other. M is the number of elements per channel.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from xdsl.utils.exceptions import VerifyException

from ge_xdsl.dialects.ge.extents import at_least_rank
from ge_xdsl.dialects.ge.fields import boolean, floating, integer, operand, optional, result, string
from ge_xdsl.dialects.ge.op import GeOp
from ge_xdsl.dialects.ge.operands import check_channels
from ge_xdsl.dialects.ge.rounding import chosen
from ge_xdsl.dialects.ge.shapes import shape_text
from ge_xdsl.dialects.ge.suffix import check_floats, one_shape
from ge_xdsl.dialects.ge.types import DYNAMIC, DataType, Format, Tensor, tensor_of

if TYPE_CHECKING:
    from xdsl.ir import SSAValue

    from ge_xdsl.dialects.ge.types import Array

_LAST = frozenset({Format.FORMAT_NHWC, Format.FORMAT_NDHWC})


def channel_axis_of(x: Tensor, rank: int) -> int:
    """The channel dimension by the tensor's format."""
    return rank - 1 if x.layout.format in _LAST else 1


def channel_count(x: Tensor, name: str = "x") -> int:
    """The number of channels, DYNAMIC while unknown; raises for rank below 2."""
    at_least_rank(x, 2, name)
    return DYNAMIC if x.shape is None else x.shape[channel_axis_of(x, len(x.shape))]


def check_parameters(x: Tensor, **tensors: Tensor | None) -> int:
    """x has channels, and each operand one number per channel; the channel count."""
    channels = channel_count(x)
    for name, tensor in tensors.items():
        check_channels(tensor, channels, name)
    return channels


class _View:
    """An array of x by channels: reductions over the rest, parameters shaped to broadcast."""

    def __init__(self, value: SSAValue, x: Array) -> None:
        self.axis = channel_axis_of(tensor_of(value.type), x.ndim)
        self.rank = x.ndim
        self.others = tuple(i for i in range(x.ndim) if i != self.axis)
        self.count = x.size // max(x.shape[self.axis], 1)

    def along(self, values: Array) -> Array:
        shape = [1] * self.rank
        shape[self.axis] = -1
        return values.reshape(shape)

    def sum(self, x: Array) -> Array:
        import numpy as np

        return np.sum(x, axis=self.others, dtype=np.float32)


class BNInferOp(GeOp):
    """y = scale * (x - mean) / sqrt(variance + epsilon) + offset per channel.

    C1: x has rank >= 2. C2: scale, offset, mean and variance have one number per channel.
    """

    name = "ge.BNInfer"

    x = operand()
    scale = operand()
    offset = operand()
    mean = operand()
    variance = operand()
    epsilon = floating()
    y = result()

    widens = True

    def infer(
        self, x: Tensor, scale: Tensor, offset: Tensor, mean: Tensor, variance: Tensor
    ) -> Tensor:
        check_parameters(x, scale=scale, offset=offset, mean=mean, variance=variance)  # C1 C2
        return x

    def evaluate(self, x: Array, *parameters: Array) -> Array:
        import numpy as np

        view = _View(self.x, x)
        scale, offset, mean, variance = (view.along(a) for a in parameters)
        rstd = 1 / np.sqrt(variance + np.float32(self.epsilon))
        return ((x - mean) * (rstd * scale) + offset).astype(x.dtype)


class BNInferenceDOp(GeOp):
    """y = (x + mean) * variance * scale + b per channel.

    mean and variance are prepared: minus the scaled mean, and one over the root of the scaled
    variance; momentum and epsilon are not used. mode has no effect: it is Caffe's choice of a
    kernel. C1: x has rank >= 2. C2: mean, variance, scale and b have one number per channel. C3:
    use_global_stats is true.
    """

    name = "ge.BNInferenceD"

    x = operand()
    mean = operand()
    variance = operand()
    scale = optional()
    b = optional()
    momentum = floating(0.9)
    epsilon = floating(1e-05)
    use_global_stats = boolean(True)
    mode = integer(1)
    y = result()

    widens = True

    def infer(
        self,
        x: Tensor,
        mean: Tensor,
        variance: Tensor,
        scale: Tensor | None,
        b: Tensor | None,
    ) -> Tensor:
        check_parameters(x, mean=mean, variance=variance, scale=scale, b=b)  # C1 C2
        if not self.use_global_stats:  # C3
            raise VerifyException("use_global_stats is false, expected true: mean is given")
        return x

    def evaluate(
        self, x: Array, mean: Array, variance: Array, scale: Array | None, b: Array | None
    ) -> Array:
        view = _View(self.x, x)
        y = (x + view.along(mean)) * view.along(variance)
        y = y if scale is None else y * view.along(scale)
        y = y if b is None else y + view.along(b)
        return y.astype(x.dtype)


class BatchNorm3DOp(GeOp):
    """y = scale * (x - m) / sqrt(v + epsilon) + offset per channel of a volume.

    Inference (is_training = false): m = mean, v = variance, which the other results repeat.
    Training: m and v (biased) are those of x, batch_mean and reserve_space_1 are m, batch_variance
    is v * M/(M - 1) and reserve_space_2 is v. C1: data_format is NDHWC or NCDHW. C2: x has rank 5.
    C3: scale, offset, mean and variance have one number per channel. C4: inference needs mean and
    variance.
    """

    name = "ge.BatchNorm3D"

    x = operand()
    scale = operand()
    offset = operand()
    mean = optional()
    variance = optional()
    epsilon = floating(0.0001)
    data_format = string("NCDHW")
    is_training = boolean(True)
    y = result()
    batch_mean = result()
    batch_variance = result()
    reserve_space_1 = result()
    reserve_space_2 = result()

    widens = True

    def infer(self, x: Tensor, *rest: Tensor | None) -> tuple[Tensor, ...]:
        chosen(self.data_format, "data_format", ("NDHWC", "NCDHW"))  # C1
        if x.rank not in (None, 5):  # C2
            raise VerifyException(f"x is {shape_text(x.shape)}, expected rank 5")
        channels = DYNAMIC if x.shape is None else x.shape[1 if self._channels_second() else -1]
        for name, tensor in zip(("scale", "offset", "mean", "variance"), rest, strict=True):
            check_channels(tensor, channels, name)  # C3
        if not self.is_training and None in rest[2:]:  # C4
            raise VerifyException("mean or variance is missing, expected both when not training")
        scale = rest[0]
        assert scale is not None
        return (x, *(scale.with_shape(scale.shape),) * 4)

    def _channels_second(self) -> bool:
        return self.data_format == "NCDHW"

    def evaluate(self, x: Array, *rest: Array | None) -> tuple[Array, ...]:
        import numpy as np

        scale, offset, mean, variance = rest
        assert scale is not None
        assert offset is not None
        axis = 1 if self._channels_second() else 4
        shape = [1] * 5
        shape[axis] = -1
        if self.is_training:
            others = tuple(i for i in range(5) if i != axis)
            m = np.mean(x, axis=others, dtype=x.dtype)
            v = np.var(x, axis=others, dtype=x.dtype)
        else:
            assert mean is not None
            assert variance is not None
            m, v = mean.reshape(-1), variance.reshape(-1)
        rstd = 1 / np.sqrt(v + v.dtype.type(self.epsilon))
        a = scale.reshape(-1) * rstd
        y = x * a.reshape(shape) + (offset.reshape(-1) - m * a).reshape(shape)
        unbiased = v * _unbias(x.size // max(m.size, 1)) if self.is_training else v
        kept: list[Array] = [m, unbiased, m, v]
        saved = (s.astype(scale.dtype).reshape(scale.shape) for s in kept)
        return y.astype(x.dtype), *saved


def _unbias(count: int) -> Any:
    """M / (M - 1), 0 for one element."""
    import numpy as np

    return np.float32(count / (count - 1) if count > 1 else 0)


class BNTrainingReduceOp(GeOp):
    """sum = sum of x, square_sum = sum of x^2 per channel, in f32.

    C1: x is a floating-point tensor. C2: x has rank >= 2.
    """

    name = "ge.BNTrainingReduce"

    x = operand()
    sum = result()
    square_sum = result()

    widens = True

    def infer(self, x: Tensor) -> tuple[Tensor, Tensor]:
        check_floats(x=x)  # C1
        reduced = Tensor(DataType.DT_FLOAT, (channel_count(x),))  # C2
        return reduced, reduced

    def evaluate(self, x: Array) -> tuple[Array, Array]:
        view = _View(self.operands[0], x)
        return view.sum(x), view.sum(x * x)


class BN3DTrainingReduceOp(BNTrainingReduceOp):
    """sum = sum of x, square_sum = sum of x^2 per channel of a volume, in f32.

    C1: x is a floating-point tensor. C2: x has rank >= 2.
    """

    name = "ge.BN3DTrainingReduce"


class BNTrainingUpdateOp(GeOp):
    """m = sum / M, v = square_sum / M - m^2, y = scale * (x - m) / sqrt(v + epsilon) + offset

    The new mean is (1 - factor) * mean + factor * m, the new variance the same of v * M/(M - 1)
    (0 for M = 1); batch_mean is m and batch_variance v. C1: x has rank >= 2. C2: the other operands
    have one number per channel.
    """

    name = "ge.BNTrainingUpdate"

    x = operand()
    sum = operand()
    square_sum = operand()
    scale = operand()
    offset = operand()
    mean = operand()
    variance = operand()
    factor = floating()
    epsilon = floating()
    y = result()
    new_mean = result("mean")
    new_variance = result("variance")
    batch_mean = result()
    batch_variance = result()

    widens = True

    def infer(self, x: Tensor, *rest: Tensor) -> tuple[Tensor, ...]:
        names = ("sum", "square_sum", "scale", "offset", "mean", "variance")
        check_parameters(x, **dict(zip(names, rest, strict=True)))  # C1 C2
        plain = [t.with_shape(t.shape) for t in rest]
        return x, plain[4], plain[5], plain[0], plain[1]

    def evaluate(self, x: Array, *rest: Array) -> tuple[Array, ...]:
        import numpy as np

        view = _View(self.x, x)
        y, m, v = _updated(view, x, rest[:4], self.epsilon)
        factor = np.float32(self.factor)
        mean, variance = rest[4:]
        new_mean = (1 - factor) * mean + factor * m.reshape(mean.shape)
        unbiased = (v * _unbias(view.count)).reshape(variance.shape)
        new_variance = (1 - factor) * variance + factor * unbiased
        moments = [a.reshape(rest[0].shape).astype(rest[0].dtype) for a in (m, v)]
        return y, new_mean.astype(mean.dtype), new_variance.astype(variance.dtype), *moments


def _updated(view: _View, x: Array, given: tuple[Array, ...], epsilon: float) -> Any:
    """y, and the mean and biased variance per channel, from the sums."""
    import numpy as np

    total, square, scale, offset = (a.reshape(-1) for a in given)
    m = total / total.dtype.type(max(view.count, 1))
    v = square / square.dtype.type(max(view.count, 1)) - m * m
    rstd = 1 / np.sqrt(v + v.dtype.type(epsilon))
    y = x * view.along(scale * rstd) + view.along(offset - scale * m * rstd)
    return y.astype(x.dtype), m, v


class BN3DTrainingUpdateOp(BNTrainingUpdateOp):
    """BNTrainingUpdate for volumes.

    C1: x has rank >= 2. C2: the other operands have one number per channel.
    """

    name = "ge.BN3DTrainingUpdate"


class BNTrainingUpdateV2Op(GeOp):
    """m = sum / M, v = square_sum / M - m^2, y = scale * (x - m) / sqrt(v + epsilon) + offset

    batch_mean is m, batch_variance is v. C1: x has rank >= 2. C2: the other operands have one
    number per channel.
    """

    name = "ge.BNTrainingUpdateV2"

    x = operand()
    sum = operand()
    square_sum = operand()
    scale = operand()
    offset = operand()
    epsilon = floating()
    y = result()
    batch_mean = result()
    batch_variance = result()

    widens = True

    def infer(self, x: Tensor, *rest: Tensor) -> tuple[Tensor, ...]:
        names = ("sum", "square_sum", "scale", "offset")
        check_parameters(x, **dict(zip(names, rest, strict=True)))  # C1 C2
        return x, rest[0].with_shape(rest[0].shape), rest[1].with_shape(rest[1].shape)

    def evaluate(self, x: Array, *rest: Array) -> tuple[Array, ...]:
        y, m, v = _updated(_View(self.x, x), x, rest, self.epsilon)
        return y, m.reshape(rest[0].shape), v.reshape(rest[1].shape)


class BNTrainingUpdateV3Op(GeOp):
    """m = sum / M, v = square_sum / M - m^2, y = scale * (x - m) / sqrt(v + epsilon) + offset

    batch_mean and reserve_1 are m, batch_variance is v * M/(M - 1) (0 for M = 1), reserve_2 is v.
    C1: x has rank >= 2. C2: the other operands have one number per channel.
    """

    name = "ge.BNTrainingUpdateV3"

    x = operand()
    sum = operand()
    square_sum = operand()
    scale = operand()
    offset = operand()
    epsilon = floating()
    y = result()
    batch_mean = result()
    batch_variance = result()
    reserve_1 = result()
    reserve_2 = result()

    widens = True

    def infer(self, x: Tensor, *rest: Tensor) -> tuple[Tensor, ...]:
        names = ("sum", "square_sum", "scale", "offset")
        check_parameters(x, **dict(zip(names, rest, strict=True)))  # C1 C2
        mean, variance = (t.with_shape(t.shape) for t in rest[:2])
        return x, mean, variance, mean, variance

    def evaluate(self, x: Array, *rest: Array) -> tuple[Array, ...]:
        view = _View(self.x, x)
        y, m, v = _updated(view, x, rest, self.epsilon)
        mean, variance = m.reshape(rest[0].shape), v.reshape(rest[1].shape)
        return y, mean, variance * _unbias(view.count), mean, variance


class BNInferGradOp(GeOp):
    """x_backprop = grads * scale / sqrt(batch_variance + epsilon) per channel.

    C1: grads has rank >= 2. C2: scale and batch_variance have one number per channel.
    """

    name = "ge.BNInferGrad"

    grads = operand()
    scale = operand()
    batch_variance = operand()
    epsilon = floating(0.0001)
    x_backprop = result()

    widens = True

    def infer(self, grads: Tensor, scale: Tensor, batch_variance: Tensor) -> Tensor:
        channels = channel_count(grads, "grads")  # C1
        check_channels(scale, channels, "scale")  # C2
        check_channels(batch_variance, channels, "batch_variance")  # C2
        return grads

    def evaluate(self, grads: Array, scale: Array, batch_variance: Array) -> Array:
        import numpy as np

        factor = scale / np.sqrt(batch_variance + np.float32(self.epsilon))
        return (grads * _View(self.grads, grads).along(factor)).astype(grads.dtype)


class BNTrainingUpdateGradOp(GeOp):
    """diff_scale = sum of grads * (x - batch_mean) / sqrt(batch_variance + epsilon),
    diff_offset = sum of grads, per channel

    C1: grads and x have one shape, of rank >= 2. C2: batch_mean and batch_variance have one number
    per channel.
    """

    name = "ge.BNTrainingUpdateGrad"

    grads = operand()
    x = operand()
    batch_mean = operand()
    batch_variance = operand()
    epsilon = floating(0.0001)
    diff_scale = result()
    diff_offset = result()

    widens = True

    def infer(self, grads: Tensor, x: Tensor, batch_mean: Tensor, batch_variance: Tensor) -> Any:
        one_shape(grads=grads, x=x)  # C1
        check_parameters(x, batch_mean=batch_mean, batch_variance=batch_variance)  # C1 C2
        return (batch_mean.with_shape(batch_mean.shape),) * 2

    def evaluate(self, grads: Array, x: Array, batch_mean: Array, batch_variance: Array) -> Any:
        import numpy as np

        view = _View(self.x, x)
        rstd = 1 / np.sqrt(batch_variance + np.float32(self.epsilon))
        normal = (x - view.along(batch_mean)) * view.along(rstd)
        sums = view.sum(grads * normal), view.sum(grads)
        return tuple(s.reshape(batch_mean.shape).astype(batch_mean.dtype) for s in sums)


class BN3DTrainingUpdateGradOp(BNTrainingUpdateGradOp):
    """BNTrainingUpdateGrad for volumes.

    C1: grads and x have one shape, of rank >= 2. C2: batch_mean and batch_variance have one number
    per channel.
    """

    name = "ge.BN3DTrainingUpdateGrad"


class BNTrainingReduceGradOp(GeOp):
    """y = scale * rstd * (grads - diff_offset / M - n * diff_scale / M) per channel

    n = (x - batch_mean) * rstd, rstd = 1 / sqrt(batch_variance + epsilon). C1: grads and x have one
    shape, of rank >= 2. C2: the other operands have one number per channel.
    """

    name = "ge.BNTrainingReduceGrad"

    grads = operand()
    x = operand()
    diff_scale = operand()
    diff_offset = operand()
    scale = operand()
    batch_mean = operand()
    batch_variance = operand()
    epsilon = floating(0.0001)
    y = result()

    widens = True

    def infer(self, grads: Tensor, x: Tensor, *rest: Tensor) -> Tensor:
        shape = one_shape(grads=grads, x=x)  # C1
        names = ("diff_scale", "diff_offset", "scale", "batch_mean", "batch_variance")
        check_parameters(x, **dict(zip(names, rest, strict=True)))  # C1 C2
        return Tensor(grads.dtype, shape, grads.layout)

    def evaluate(self, grads: Array, x: Array, *rest: Array) -> Array:
        import numpy as np

        view = _View(self.x, x)
        diff_scale, diff_offset, scale, mean, variance = (view.along(a) for a in rest)
        rstd = 1 / np.sqrt(variance + np.float32(self.epsilon))
        count = np.float32(max(view.count, 1))
        inner = grads - diff_offset / count - (x - mean) * rstd * diff_scale / count
        return (scale * rstd * inner).astype(grads.dtype)


class BN3DTrainingReduceGradOp(BNTrainingReduceGradOp):
    """BNTrainingReduceGrad for volumes.

    C1: grads and x have one shape, of rank >= 2. C2: the other operands have one number per
    channel.
    """

    name = "ge.BN3DTrainingReduceGrad"


class BatchNormV3Op(GeOp):
    """y = (x - m) / sqrt(v + epsilon) * weight + bias per channel, the second dimension of x

    In training m and v are those of x, over n numbers each, and the running ones move by momentum:
    running_mean*(1 - momentum) + m*momentum, and so for the variance with v*n/(n - 1). Else m and v
    are the running ones, which stay. save_mean and save_rstd hold m and 1/sqrt(v + epsilon), f32.
    C1: x has rank 2 or more and is a floating-point tensor. C2: the other operands have one number
    per channel. C3: momentum is 0 to 1.
    """

    name = "ge.BatchNormV3"

    x = operand()
    weight = operand()
    bias = operand()
    running_mean = operand()
    running_var = operand()
    y = result()
    new_running_mean = result("running_mean")
    new_running_var = result("running_var")
    save_mean = result()
    save_rstd = result()
    epsilon = floating(9.999999747378752e-06)
    momentum = floating(0.10000000149011612)
    is_training = boolean(True)

    widens = True

    def infer(self, x: Tensor, *rest: Tensor) -> tuple[Tensor, ...]:
        check_floats(x=x)  # C1
        at_least_rank(x, 2, "x")  # C1
        if not 0 <= self.momentum <= 1:  # C3
            raise VerifyException(f"momentum is {self.momentum}, expected 0 to 1")
        channels = DYNAMIC if x.shape is None else x.shape[1]
        for name, tensor in zip(
            ("weight", "bias", "running_mean", "running_var"), rest, strict=True
        ):
            check_channels(tensor, channels, name)  # C2
        saved = Tensor(DataType.DT_FLOAT, rest[0].shape)
        return x, rest[2], rest[3], saved, saved

    def evaluate(
        self, x: Array, weight: Array, bias: Array, running_mean: Array, running_var: Array
    ) -> tuple[Array, ...]:
        import numpy as np

        axes = (0, *range(2, x.ndim))
        along = (-1, *(1,) * (x.ndim - 2))
        m, v = running_mean.reshape(-1), running_var.reshape(-1)
        if self.is_training:
            m = x.mean(axis=axes, dtype=np.float32)
            v = x.var(axis=axes, dtype=np.float32)
        rstd = 1 / np.sqrt(v + np.float32(self.epsilon))
        y = (x - m.reshape(along)) * (rstd * weight.reshape(-1)).reshape(along)
        y = (y + bias.reshape(along)).astype(x.dtype, copy=False)
        if self.is_training:
            count = x.size // max(x.shape[1], 1)
            unbiased = v * np.float32(count / (count - 1) if count > 1 else np.nan)
            running_mean = self._moved(running_mean, m)
            running_var = self._moved(running_var, unbiased)
        kept: list[Array] = [m, rstd]
        saved = [a.astype(np.float32).reshape(weight.shape) for a in kept]
        return (y, running_mean, running_var, *saved)

    def _moved(self, running: Array, now: Array) -> Array:
        """A running number per channel, a part of the way to what it is now."""
        import numpy as np

        step = np.float32(self.momentum)
        kept: Array = running * (1 - step)
        return kept + step * now.reshape(kept.shape)
