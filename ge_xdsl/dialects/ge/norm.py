"""Normalisation. Variance is the biased one unless a docstring says otherwise."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from xdsl.utils.exceptions import VerifyException

from ge_xdsl.dialects.ge.extents import at_least_rank
from ge_xdsl.dialects.ge.fields import AttrField
from ge_xdsl.dialects.ge.op import (
    GeOp,
    boolean,
    floating,
    integer,
    operand,
    optional,
    result,
    string,
)
from ge_xdsl.dialects.ge.operands import check_channels, with_layout
from ge_xdsl.dialects.ge.shapes import broadcast, normalize_axis, shape_text
from ge_xdsl.dialects.ge.suffix import check_floats
from ge_xdsl.dialects.ge.types import DYNAMIC, DataType, Tensor
from ge_xdsl.dialects.ge.windows import check_format

if TYPE_CHECKING:
    from ge_xdsl.dialects.ge.types import Array

_FORMATS = ("NCHW", "NHWC", "NCDHW", "NDHWC")


def channel_axis(data_format: str, rank: int) -> int:
    """1 when channels come second (NCHW, NCDHW), else the last dimension."""
    return 1 if data_format.startswith("NC") else rank - 1


def _along(values: Array, axis: int, rank: int) -> Array:
    """Per-channel numbers, shaped to broadcast along `axis` of an array of `rank`."""
    shape = [1] * rank
    shape[axis] = -1
    return values.reshape(shape)


def _others(axis: int, rank: int) -> tuple[int, ...]:
    return tuple(i for i in range(rank) if i != axis)


def affine(
    x: Array, mean: Array, rstd: Array, scale: Array, offset: Array, out: Array | None = None
) -> Array:
    """(x - mean) * rstd * scale + offset, in the type of x, with one large temporary or `out`."""
    import numpy as np

    y: Array = np.subtract(x, mean, out=out)
    y *= rstd * scale
    y += offset
    return y


class BatchNormOp(GeOp):
    """y = scale * (x - m) / sqrt(v + epsilon) + offset per channel.

    Inference (is_training = false): m = mean, v = variance, and all of batch_mean,
    batch_variance, reserve_space_1, reserve_space_2 repeat them. Training: m and v are those of x
    over all but the channels, M numbers each; with f = exponential_avg_factor

        batch_mean     = f*m             + (1 - f)*mean       (second term when mean is given)
        batch_variance = f*v*M/(M - 1)   + (1 - f)*variance   (0 for M = 1 in the first term)
        reserve_space_1 = m,  reserve_space_2 = 1/sqrt(v + epsilon)

    reserve_space_3 is one meaningless number. C1: data_format is NCHW, NHWC, NCDHW or NDHWC.
    C2: x has rank >= 2. C3: scale, offset, mean and variance have one number per channel.
    C4: inference needs mean and variance.
    """

    name = "ge.BatchNorm"

    x = operand()
    scale = operand()
    offset = operand()
    mean = optional()
    variance = optional()
    epsilon = floating(0.0001)
    data_format = string("NHWC")
    is_training = boolean(True)
    exponential_avg_factor = floating(1.0)
    y = result()
    batch_mean = result()
    batch_variance = result()
    reserve_space_1 = result()
    reserve_space_2 = result()
    reserve_space_3 = result()

    widens = True

    def infer(
        self,
        x: Tensor,
        scale: Tensor,
        offset: Tensor,
        mean: Tensor | None,
        variance: Tensor | None,
    ) -> tuple[Tensor, ...]:
        check_format(self.data_format, _FORMATS)  # C1
        if not self.is_training and (mean is None or variance is None):  # C4
            raise VerifyException("mean or variance is missing, expected both when not training")
        channels = DYNAMIC
        if x.shape is not None:
            if len(x.shape) < 2:  # C2
                raise VerifyException(f"x is {shape_text(x.shape)}, expected rank 2 or more")
            channels = x.shape[channel_axis(self.data_format, len(x.shape))]
        given = (("scale", scale), ("offset", offset), ("mean", mean), ("variance", variance))
        for name, tensor in given:
            check_channels(tensor, channels, name)  # C3
        per_channel = scale.with_shape(scale.shape)
        return (x, *(per_channel,) * 4, scale.with_shape((1,)))

    def evaluate(
        self, x: Array, scale: Array, offset: Array, mean: Array | None, variance: Array | None
    ) -> tuple[Array, ...]:
        return self.value(x, scale, offset, mean, variance)

    def value(
        self,
        x: Array,
        scale: Array,
        offset: Array,
        mean: Array | None,
        variance: Array | None,
        out: Array | None = None,
    ) -> tuple[Array, ...]:
        """`evaluate`, with y written to `out` when it is given."""
        import numpy as np

        axis = channel_axis(self.data_format, x.ndim)
        if self.is_training:
            m = x.mean(axis=_others(axis, x.ndim), dtype=np.float32)
            v = x.var(axis=_others(axis, x.ndim), dtype=np.float32)
        else:
            assert mean is not None
            assert variance is not None
            m, v = mean, variance
        rstd = 1 / np.sqrt(v + np.float32(self.epsilon))
        parts = (_along(a, axis, x.ndim) for a in (m, rstd, scale, offset))
        y = affine(x, *parts, out=out).astype(x.dtype, copy=False)
        rest = np.zeros(1, scale.dtype)
        if not self.is_training:
            m, v = m.reshape(scale.shape), v.reshape(scale.shape)
            return y, m, v, m, v, rest
        running = self._running(x.size // max(m.size, 1), m, v, mean, variance)
        saved = [a.astype(scale.dtype).reshape(scale.shape) for a in (*running, m, rstd)]
        return (y, *saved, rest)

    def _running(
        self, count: int, m: Array, v: Array, mean: Array | None, variance: Array | None
    ) -> tuple[Array, Array]:
        import numpy as np

        factor = np.float32(self.exponential_avg_factor)
        unbiased = v * np.float32(count / (count - 1) if count > 1 else 0)
        means, variances = factor * m, factor * unbiased
        if mean is not None:
            means = means + (1 - factor) * mean
        if variance is not None:
            variances = variances + (1 - factor) * variance
        return means, variances


class BNInferenceOp(GeOp):
    """y = scale * (x - s*mean) / sqrt(s*variance + epsilon) + offset, s = 1/momentum (0 for 0).

    Channels are the second dimension. mode has no effect: it is Caffe's choice of a kernel. C1: x
    has rank >= 2. C2: mean, variance, scale and offset have one number per channel. C3: momentum is
    one number. C4: use_global_stats is true.
    """

    name = "ge.BNInference"

    x = operand()
    mean = operand()
    variance = operand()
    momentum = operand()
    scale = optional()
    offset = optional()
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
        momentum: Tensor,
        scale: Tensor | None,
        offset: Tensor | None,
    ) -> Tensor:
        if momentum.size() not in (None, 1):  # C3
            raise VerifyException(f"momentum is {shape_text(momentum.shape)}, expected one element")
        if not self.use_global_stats:  # C4
            raise VerifyException("use_global_stats is false, expected true: mean is given")
        channels = DYNAMIC
        if x.shape is not None:
            if len(x.shape) < 2:  # C1
                raise VerifyException(f"x is {shape_text(x.shape)}, expected rank 2 or more")
            channels = x.shape[1]
        given = (("mean", mean), ("variance", variance), ("scale", scale), ("offset", offset))
        for name, tensor in given:
            check_channels(tensor, channels, name)  # C2
        return x

    def evaluate(
        self,
        x: Array,
        mean: Array,
        variance: Array,
        momentum: Array,
        scale: Array | None,
        offset: Array | None,
    ) -> Array:
        import numpy as np

        weight = momentum.reshape(())
        s = weight.dtype.type(0) if weight == 0 else 1 / weight
        rstd = 1 / np.sqrt(variance * s + np.float32(self.epsilon))
        one, zero = x.dtype.type(1), x.dtype.type(0)
        scale = np.full_like(mean, one) if scale is None else scale
        offset = np.full_like(mean, zero) if offset is None else offset
        parts = (_along(a, 1, x.ndim) for a in (mean * s, rstd, scale, offset))
        return affine(x, *parts).astype(x.dtype, copy=False)


def _moments(x: Array, axes: tuple[int, ...]) -> tuple[Array, Array]:
    """Mean and biased variance over `axes`, which stay as 1."""
    mean = x.mean(axis=axes, keepdims=True, dtype=x.dtype)
    centred = x - mean
    return mean, (centred * centred).mean(axis=axes, keepdims=True, dtype=x.dtype)


class _LayerNormalization(GeOp):
    """The rules of LayerNorm and LayerNormV3."""

    x = operand()
    gamma = operand()
    beta = operand()
    begin_norm_axis = integer(0)
    begin_params_axis = integer(0)
    epsilon: ClassVar[AttrField[float]]

    widens = True

    def infer(self, x: Tensor, gamma: Tensor, beta: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        if x.shape is None:
            return x, gamma.with_shape(None), beta.with_shape(None)
        rank = len(x.shape)
        begin = normalize_axis(self.begin_norm_axis, rank, "begin_norm_axis")  # C1
        normalize_axis(self.begin_params_axis, rank, "begin_params_axis")  # C2
        for tensor, name in ((gamma, "gamma"), (beta, "beta")):  # C3
            if tensor.shape is None:
                continue
            wide = broadcast(x.shape, tensor.shape)
            if wide is None or len(wide) != rank or not _within(wide, x.shape):
                raise VerifyException(
                    f"{name} is {shape_text(tensor.shape)}, expected one that broadcasts to "
                    f"{shape_text(x.shape)}"
                )
        kept = x.shape[:begin] + (1,) * (rank - begin)
        return x, gamma.with_shape(kept), beta.with_shape(kept)

    def normalized(self, x: Array, gamma: Array, beta: Array) -> tuple[Array, Array, Array, Array]:
        """y, mean, variance and 1/sqrt(variance + epsilon)."""
        import numpy as np

        begin = self.begin_norm_axis % max(x.ndim, 1)
        mean, variance = _moments(x, tuple(range(begin, x.ndim)))
        rstd = 1 / np.sqrt(variance + x.dtype.type(self.epsilon))
        y = (x - mean) * rstd * gamma + beta
        return y.astype(x.dtype, copy=False), mean, variance, rstd


def _within(wide: Sequence[int], shape: Sequence[int]) -> bool:
    return all(w == d or DYNAMIC in (w, d) for w, d in zip(wide, shape, strict=True))


class LayerNormOp(_LayerNormalization):
    """y = gamma * (x - mean) / sqrt(variance + epsilon) + beta.

    mean and variance are those over the dimensions from begin_norm_axis on, which they keep as 1.
    C1: begin_norm_axis lies in the rank of x. C2: so does begin_params_axis. C3: gamma and beta
    broadcast to x.
    """

    name = "ge.LayerNorm"

    epsilon = floating(1e-07)
    y = result()
    mean = result()
    variance = result()

    def evaluate(self, x: Array, gamma: Array, beta: Array) -> tuple[Array, Array, Array]:
        y, mean, variance, _ = self.normalized(x, gamma, beta)
        return y, mean.astype(gamma.dtype, copy=False), variance.astype(beta.dtype, copy=False)


class LayerNormV3Op(_LayerNormalization):
    """y = gamma * (x - mean) * rstd + beta, rstd = 1 / sqrt(variance + epsilon).

    As LayerNorm (C1: begin_norm_axis, C2: begin_params_axis, C3: gamma and beta broadcast to x),
    but the third result is rstd.
    """

    name = "ge.LayerNormV3"

    epsilon = floating(1e-05)
    y = result()
    mean = result()
    rstd = result()

    def evaluate(self, x: Array, gamma: Array, beta: Array) -> tuple[Array, Array, Array]:
        y, mean, _, rstd = self.normalized(x, gamma, beta)
        return y, mean.astype(gamma.dtype, copy=False), rstd.astype(beta.dtype, copy=False)


class InstanceNormOp(GeOp):
    """y = gamma * (x - mean) / sqrt(variance + epsilon) + beta per image and channel.

    mean and variance are those over the spatial dimensions, which they keep as 1. C1: data_format
    is NCHW, NHWC, NCDHW, NDHWC or ND (channels second). C2: x has rank >= 2. C3: gamma and beta
    have one number per channel.
    """

    name = "ge.InstanceNorm"

    x = operand()
    gamma = operand()
    beta = operand()
    data_format = string("NDHWC")
    epsilon = floating(1e-06)
    y = result()
    mean = result()
    variance = result()

    widens = True

    def _channel_axis(self, rank: int) -> int:
        return 1 if self.data_format == "ND" else channel_axis(self.data_format, rank)

    def infer(self, x: Tensor, gamma: Tensor, beta: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        check_format(self.data_format, (*_FORMATS, "ND"))  # C1
        if x.shape is None:
            return x, gamma.with_shape(None), gamma.with_shape(None)
        rank = len(x.shape)
        if rank < 2:  # C2
            raise VerifyException(f"x is {shape_text(x.shape)}, expected rank 2 or more")
        axis = self._channel_axis(rank)
        check_channels(gamma, x.shape[axis], "gamma")  # C3
        check_channels(beta, x.shape[axis], "beta")
        kept = tuple(d if i in (0, axis) else 1 for i, d in enumerate(x.shape))
        moment = with_layout(x, gamma.dtype, kept)
        return x, moment, moment

    def evaluate(self, x: Array, gamma: Array, beta: Array) -> tuple[Array, Array, Array]:
        import numpy as np

        axis = self._channel_axis(x.ndim)
        mean, variance = _moments(x, tuple(i for i in range(1, x.ndim) if i != axis))
        rstd = 1 / np.sqrt(variance + x.dtype.type(self.epsilon))
        scale, offset = (_along(a, axis, x.ndim) for a in (gamma, beta))
        y = affine(x, mean, rstd, scale, offset).astype(x.dtype, copy=False)
        kept = gamma.dtype
        return y, mean.astype(kept, copy=False), variance.astype(kept, copy=False)


class InstanceNormV2Op(GeOp):
    """y = x normalised per image and channel, with gamma and beta; the values are unconfirmed

    batch_mean and batch_variance are [N, C, 1, ...], f32. Whether they are those of x or move by
    momentum is not known. C1: x is a floating-point tensor of rank 3 or more. C2: gamma, beta, mean
    and variance have one number per channel or per image and channel. C3: inference needs mean and
    variance.
    """

    name = "ge.InstanceNormV2"

    x = operand()
    gamma = optional()
    beta = optional()
    mean = optional()
    variance = optional()
    y = result()
    batch_mean = result()
    batch_variance = result()
    is_training = boolean(True)
    momentum = floating(0.10000000149011612)
    epsilon = floating(9.999999747378752e-06)

    def infer(self, x: Tensor, *rest: Tensor | None) -> tuple[Tensor, Tensor, Tensor]:
        check_floats(x=x)  # C1
        at_least_rank(x, 3, "x")  # C1
        if not self.is_training and (rest[2] is None or rest[3] is None):  # C3
            raise VerifyException("mean or variance is missing, expected both when not training")
        if x.shape is None:
            unknown = Tensor(DataType.DT_FLOAT, None)
            return x, unknown, unknown
        images, channels = x.shape[:2]
        for name, tensor in zip(("gamma", "beta", "mean", "variance"), rest, strict=True):
            size = None if tensor is None else tensor.size()
            if size is not None and channels != DYNAMIC:
                whole = channels * images if images != DYNAMIC else size
                if size not in (channels, whole):  # C2
                    raise VerifyException(
                        f"{name} has {size} elements, expected {channels} or {whole}"
                    )
        kept = Tensor(DataType.DT_FLOAT, (images, channels, *(1,) * (len(x.shape) - 2)))
        return x, kept, kept
