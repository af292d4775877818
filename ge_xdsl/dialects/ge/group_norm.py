"""Normalisation over groups of channels, over single images, and over places around one."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

from xdsl.utils.exceptions import VerifyException

from ge_xdsl.dialects.ge.extents import at_least_rank
from ge_xdsl.dialects.ge.fields import (
    boolean,
    floating,
    integer,
    integers,
    operand,
    optional,
    result,
    string,
)
from ge_xdsl.dialects.ge.op import GeOp
from ge_xdsl.dialects.ge.operands import check_channels
from ge_xdsl.dialects.ge.rounding import chosen
from ge_xdsl.dialects.ge.shapes import Shape, normalize_axes, normalize_axis, shape_text
from ge_xdsl.dialects.ge.suffix import check_floats, one_shape, standardize
from ge_xdsl.dialects.ge.types import DYNAMIC, DataType, Tensor

if TYPE_CHECKING:
    from ge_xdsl.dialects.ge.types import Array


def group_moment(x: Tensor, num_groups: int, gamma: Tensor | None, beta: Tensor | None) -> Shape:
    """The shape of a moment per image and group; the four constraints of group normalisation."""
    check_floats(x=x, gamma=gamma, beta=beta)  # C1
    at_least_rank(x, 2, "x")  # C2
    channels = DYNAMIC if x.shape is None else x.shape[1]
    if num_groups < 1 or (channels != DYNAMIC and channels % num_groups):  # C3
        shown = "unknown" if channels == DYNAMIC else channels
        raise VerifyException(f"num_groups is {num_groups}, expected a divisor of {shown} channels")
    check_channels(gamma, channels, "gamma")  # C4
    check_channels(beta, channels, "beta")  # C4
    return (DYNAMIC if x.shape is None else x.shape[0], num_groups)


def group_normalize(
    x: Array, num_groups: int, gamma: Array | None, beta: Array | None, epsilon: float
) -> tuple[Array, Array, Array]:
    """y = n * gamma + beta with n normalised per image and group; mean and rstd [N, groups]."""
    groups = (x.shape[0], num_groups)
    width = x.shape[1] // num_groups * prod(x.shape[2:])
    n, mean, rstd = standardize(x.reshape(*groups, width), 1, epsilon)
    y = n.reshape(x.shape)
    per_channel = (-1, *(1,) * (x.ndim - 2))
    y = y if gamma is None else y * gamma.reshape(per_channel)
    y = y if beta is None else y + beta.reshape(per_channel)
    return y.astype(x.dtype), mean.reshape(groups), rstd.reshape(groups)


class GroupNormOp(GeOp):
    """y = (x - mean) / sqrt(variance + eps) * gamma + beta per image and group of channels.

    x is [N, C, ...]; mean and variance (biased) are [N, num_groups] in the type of x. data_format
    and is_training are not used. C1: all operands are floating-point tensors. C2: x has rank >= 2.
    C3: num_groups divides the channels. C4: gamma and beta have one number per channel.
    """

    name = "ge.GroupNorm"

    x = operand()
    gamma = operand()
    beta = operand()
    num_groups = integer()
    data_format = string("NCHW")
    eps = floating(0.0001)
    is_training = boolean(True)
    y = result()
    mean = result()
    variance = result()

    widens = True

    def infer(self, x: Tensor, gamma: Tensor, beta: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        kept = x.with_shape(group_moment(x, self.num_groups, gamma, beta))  # C1 C2 C3 C4
        return x, kept, kept

    def evaluate(self, x: Array, gamma: Array, beta: Array) -> tuple[Array, Array, Array]:
        import numpy as np

        y, mean, _ = group_normalize(x, self.num_groups, gamma, beta, self.eps)
        rows = x.reshape(*mean.shape, x.shape[1] // self.num_groups * prod(x.shape[2:]))
        return y, mean, np.var(rows, axis=-1, dtype=x.dtype)


class GroupNormV2Op(GeOp):
    """y = (x - mean) * rstd * gamma + beta per image and group, rstd = 1 / sqrt(variance + eps).

    x is [N, C, ...]; mean and rstd are [N, num_groups] in the type of x. That the channels are the
    second dimension whatever data_format says, and with it the value, is unconfirmed. C1: all
    operands are floating-point tensors. C2: x has rank >= 2. C3: num_groups divides the channels.
    C4: gamma and beta have one number per channel.
    """

    name = "ge.GroupNormV2"

    x = operand()
    gamma = operand()
    beta = operand()
    num_groups = integer()
    data_format = string("NHWC")
    eps = floating(1e-05)
    is_training = boolean(True)
    y = result()
    mean = result()
    rstd = result()

    def infer(self, x: Tensor, gamma: Tensor, beta: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        kept = x.with_shape(group_moment(x, self.num_groups, gamma, beta))  # C1 C2 C3 C4
        return x, kept, kept


class GroupNormReluOp(GeOp):
    """y = max(n * gamma + beta, 0), n = (x - mean) / sqrt(variance + eps) per image and group.

    x is [N, C, ...]. C1: all operands are floating-point tensors. C2: x has rank >= 2.
    C3: num_groups divides the channels. C4: gamma and beta have one number per channel.
    """

    name = "ge.GroupNormRelu"

    x = operand()
    gamma = operand()
    beta = operand()
    num_groups = integer()
    eps = floating(1e-05)
    y = result()

    widens = True

    def infer(self, x: Tensor, gamma: Tensor, beta: Tensor) -> Tensor:
        group_moment(x, self.num_groups, gamma, beta)  # C1 C2 C3 C4
        return x

    def evaluate(self, x: Array, gamma: Array, beta: Array) -> Array:
        import numpy as np

        y = group_normalize(x, self.num_groups, gamma, beta, self.eps)[0]
        return np.maximum(y, y.dtype.type(0))


class GroupNormSiluOp(GeOp):
    """t = (x - mean) * rstd * gamma + beta per image and group, y = t / (1 + e^-t).

    y = t without activate_silu. x is [N, C, ...]; mean and rstd = 1 / sqrt(variance + eps) are
    [N, num_groups] in the type of x. C1: all operands are floating-point tensors. C2: x has rank
    >= 2. C3: num_groups divides the channels. C4: gamma and beta have one number per channel.
    """

    name = "ge.GroupNormSilu"

    x = operand()
    gamma = optional()
    beta = optional()
    num_groups = integer()
    eps = floating(1e-05)
    activate_silu = boolean(True)
    y = result()
    mean = result()
    rstd = result()

    widens = True

    def infer(self, x: Tensor, gamma: Tensor | None, beta: Tensor | None) -> Any:
        kept = x.with_shape(group_moment(x, self.num_groups, gamma, beta))  # C1 C2 C3 C4
        return x, kept, kept

    def evaluate(self, x: Array, gamma: Array | None, beta: Array | None) -> Any:
        import numpy as np

        t, mean, rstd = group_normalize(x, self.num_groups, gamma, beta, self.eps)
        return t / (1 + np.exp(-t)) if self.activate_silu else t, mean, rstd


class GroupNormSwishOp(GeOp):
    """t = (x - mean) * rstd * gamma + beta per image and group, y = t / (1 + e^(-swish_scale * t)).

    y = t without activate_swish. x is [N, C, ...]; mean and rstd = 1 / sqrt(variance + eps) are
    [N, num_groups] in the type of gamma. C1: all operands are floating-point tensors. C2: x has
    rank >= 2. C3: num_groups divides the channels. C4: gamma and beta have one number per channel.
    C5: data_format is NCHW.
    """

    name = "ge.GroupNormSwish"

    x = operand()
    gamma = operand()
    beta = operand()
    num_groups = integer()
    data_format = string("NCHW")
    eps = floating(1e-05)
    activate_swish = boolean(True)
    swish_scale = floating(1.0)
    y = result()
    mean = result()
    rstd = result()

    widens = True

    def infer(self, x: Tensor, gamma: Tensor, beta: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        kept = gamma.with_shape(group_moment(x, self.num_groups, gamma, beta))  # C1 C2 C3 C4
        chosen(self.data_format, "data_format", ("NCHW",))  # C5
        return x, kept, kept

    def evaluate(self, x: Array, gamma: Array, beta: Array) -> tuple[Array, Array, Array]:
        import numpy as np

        t, mean, rstd = group_normalize(x, self.num_groups, gamma, beta, self.eps)
        y = t / (1 + np.exp(t * -self.swish_scale)) if self.activate_swish else t
        return y.astype(x.dtype), mean.astype(gamma.dtype), rstd.astype(gamma.dtype)


def _per_image(x: Tensor, **tensors: Tensor | None) -> Tensor:
    """f32 moments per image and channel of [N, C, H, W]; the operands in their shape."""
    at_least_rank(x, 3, "x")
    kept = None if x.shape is None else (*x.shape[:2], *(1,) * (len(x.shape) - 2))
    for name, tensor in tensors.items():
        if tensor is not None:
            _check_moment(kept, tensor, name)
    return Tensor(DataType.DT_FLOAT, kept)


def _check_moment(kept: Shape, tensor: Tensor, name: str) -> None:
    if kept is None or tensor.shape is None:
        return
    padded = (*(1,) * (len(kept) - len(tensor.shape)), *tensor.shape)
    pairs = zip(padded, kept, strict=False)
    fits = len(padded) == len(kept)
    if not fits or any(a not in (1, b) and DYNAMIC not in (a, b) for a, b in pairs):
        raise VerifyException(
            f"{name} is {shape_text(tensor.shape)}, expected one that broadcasts to "
            f"{shape_text(kept)}"
        )


def _places(x: Array) -> tuple[int, ...]:
    return tuple(range(2, x.ndim))


class INTrainingReduceV2Op(GeOp):
    """sum = sum of x, square_sum = sum of x^2 over the places of each image and channel, in f32.

    x is [N, C, ...]; the places stay as 1. C1: x is a floating-point tensor. C2: x has rank >= 3.
    """

    name = "ge.INTrainingReduceV2"

    x = operand()
    sum = result()
    square_sum = result()

    widens = True

    def infer(self, x: Tensor) -> tuple[Tensor, Tensor]:
        check_floats(x=x)  # C1
        kept = _per_image(x)  # C2
        return kept, kept

    def evaluate(self, x: Array) -> tuple[Array, Array]:
        import numpy as np

        def total(values: Array) -> Array:
            return np.sum(values, axis=_places(x), keepdims=True, dtype=np.float32)

        return total(x), total(x * x)


class INTrainingUpdateV2Op(GeOp):
    """m = sum / M, v = square_sum / M - m^2, y = (x - m) / sqrt(v + epsilon) * gamma + beta

    x is [N, C, ...], M the number of its places; gamma and beta count only together. batch_mean is
    m and batch_variance v * M/(M - 1) (0 for M = 1); with mean and variance, momentum * new +
    (1 - momentum) * old of each. C1: x has rank >= 3. C2: the other operands broadcast to
    [N, C, 1, ...].
    """

    name = "ge.INTrainingUpdateV2"

    x = operand()
    sum = operand()
    square_sum = operand()
    gamma = optional()
    beta = optional()
    mean = optional()
    variance = optional()
    momentum = floating(0.1)
    epsilon = floating(1e-05)
    y = result()
    batch_mean = result()
    batch_variance = result()

    widens = True

    def infer(self, x: Tensor, *rest: Tensor | None) -> tuple[Tensor, Tensor, Tensor]:
        names = ("sum", "square_sum", "gamma", "beta", "mean", "variance")
        kept = _per_image(x, **dict(zip(names, rest, strict=True)))  # C1 C2
        return x, kept, kept

    def evaluate(self, x: Array, *rest: Array | None) -> tuple[Array, Array, Array]:
        import numpy as np

        total, square, gamma, beta, mean, variance = rest
        assert total is not None
        assert square is not None
        count = prod(x.shape[2:])
        m = total / np.float32(max(count, 1))
        v = square / np.float32(max(count, 1)) - m * m
        y = (x - m) / np.sqrt(v + np.float32(self.epsilon))
        if gamma is not None and beta is not None:
            y = y * gamma + beta
        v = v * np.float32(count / (count - 1) if count > 1 else 0)
        if mean is not None and variance is not None:
            weight = np.float32(self.momentum)
            m, v = weight * m + (1 - weight) * mean, weight * v + (1 - weight) * variance
        places = (*x.shape[:2], *(1,) * (x.ndim - 2))
        m, v = (np.broadcast_to(a, places).astype(np.float32) for a in (m, v))
        return y.astype(x.dtype), m, v


class INInferV2Op(GeOp):
    """y = (x - mean) / sqrt(variance + epsilon) * gamma + beta per image and channel of [N, C, ...]

    batch_mean and batch_variance repeat mean and variance. C1: x has rank >= 3. C2: the other
    operands broadcast to [N, C, 1, ...]. C3: mean and variance are given, in that full shape.
    """

    name = "ge.INInferV2"

    x = operand()
    gamma = optional()
    beta = optional()
    mean = optional()
    variance = optional()
    epsilon = floating(1e-05)
    y = result()
    batch_mean = result()
    batch_variance = result()

    widens = True

    def infer(self, x: Tensor, *rest: Tensor | None) -> tuple[Tensor, Tensor, Tensor]:
        names = ("gamma", "beta", "mean", "variance")
        kept = _per_image(x, **dict(zip(names, rest, strict=True)))  # C1 C2
        mean, variance = rest[2:]
        if mean is None or variance is None:  # C3
            raise VerifyException("mean or variance is missing, expected both")
        one_shape(moments=kept, mean=mean, variance=variance)  # C3
        return x, mean.with_shape(kept.shape), variance.with_shape(kept.shape)

    def evaluate(self, x: Array, *rest: Array | None) -> tuple[Array, Array, Array]:
        import numpy as np

        gamma, beta, mean, variance = rest
        assert mean is not None
        assert variance is not None
        y = (x - mean) / np.sqrt(variance + np.float32(self.epsilon))
        y = y if gamma is None else y * gamma
        y = y if beta is None else y + beta
        return y.astype(x.dtype), mean, variance


class L2NormalizeOp(GeOp):
    """y = x / sqrt(max(sum of x^2 over axis, eps)); no axis means all of them.

    C1: x is a floating-point tensor. C2: axis lists dimensions of x, none twice.
    """

    name = "ge.L2Normalize"

    x = operand()
    y = result()
    axis = integers(())
    eps = floating(0.0001)

    widens = True

    def infer(self, x: Tensor) -> Tensor:
        check_floats(x=x)  # C1
        if x.shape is not None:
            normalize_axes(self.axis, len(x.shape), "axis")  # C2
        return x

    def evaluate(self, x: Array) -> Array:
        import numpy as np

        axes = tuple(self.axis) or None
        square = np.sum(x * x, axis=axes, keepdims=True, dtype=x.dtype)
        return x / np.sqrt(np.maximum(square, x.dtype.type(self.eps)))


class NormalizeOp(GeOp):
    """y = x1 * x2 / sqrt(sum of x1^2 + eps) for x1 [N, C, H, W]

    The sum is over C, H and W, or over C alone without across_spatial. C1: x1 and x2 are
    floating-point tensors. C2: x1 has rank 4. C3: x2 is one number with channel_shared, else one
    per channel.
    """

    name = "ge.Normalize"

    x1 = operand()
    x2 = operand()
    y = result()
    across_spatial = boolean(True)
    channel_shared = boolean(True)
    eps = floating(1e-10)

    widens = True

    def infer(self, x1: Tensor, x2: Tensor) -> Tensor:
        check_floats(x1=x1, x2=x2)  # C1
        if x1.rank not in (None, 4):  # C2
            raise VerifyException(f"x1 is {shape_text(x1.shape)}, expected rank 4")
        channels = DYNAMIC if x1.shape is None else x1.shape[1]
        check_channels(x2, 1 if self.channel_shared else channels, "x2")  # C3
        return x1

    def evaluate(self, x1: Array, x2: Array) -> Array:
        import numpy as np

        axes = (1, 2, 3) if self.across_spatial else (1,)
        square = np.sum(x1 * x1, axis=axes, keepdims=True, dtype=x1.dtype)
        y = x1 * x2.reshape(1, -1, 1, 1) / np.sqrt(square + x1.dtype.type(self.eps))
        return y.astype(x1.dtype)


class LRNOp(GeOp):
    """y = x / (bias + alpha * sum of x^2 over the channels from c - r to c + r)^beta

    r is depth_radius; alpha is not divided by the window; channels are the second of four
    dimensions. C1: x is a floating-point tensor. C2: x has rank 4. C3: depth_radius >= 0.
    C4: norm_region is ACROSS_CHANNELS.
    """

    name = "ge.LRN"

    x = operand()
    y = result()
    depth_radius = integer(5)
    bias = floating(1.0)
    alpha = floating(1.0)
    beta = floating(0.5)
    norm_region = string("ACROSS_CHANNELS")

    widens = True

    def infer(self, x: Tensor) -> Tensor:
        check_floats(x=x)  # C1
        if x.rank not in (None, 4):  # C2
            raise VerifyException(f"x is {shape_text(x.shape)}, expected rank 4")
        if self.depth_radius < 0:  # C3
            raise VerifyException(f"depth_radius is {self.depth_radius}, expected 0 or more")
        chosen(self.norm_region, "norm_region", ("ACROSS_CHANNELS",))  # C4
        return x

    def evaluate(self, x: Array) -> Array:
        import numpy as np

        if not x.size:
            return x
        radius = min(self.depth_radius, x.shape[1])
        padded = np.pad(x * x, ((0, 0), (radius, radius), (0, 0), (0, 0)))
        windows = np.lib.stride_tricks.sliding_window_view(padded, 2 * radius + 1, axis=1)
        base = x.dtype.type(self.bias) + x.dtype.type(self.alpha) * windows.sum(-1, dtype=x.dtype)
        return x / base ** x.dtype.type(self.beta)


class _Blob(GeOp):
    """Placing an operand of some dimensions among those of x."""

    def span(self, x: Shape, given: Shape, axis: int, num_axes: int, from_blob: bool) -> Shape:
        """The shape of the operand with 1 for the other dimensions of x; None while unknown."""
        if x is None or given is None:
            return None
        start = normalize_axis(axis, len(x))
        if not from_blob:
            num_axes = len(given)
        elif num_axes == -1:
            num_axes = len(x) - start
        if num_axes == 0 or given == (1,):
            return (1,) * len(x)
        known = tuple(given)
        want = x[start : start + num_axes]
        if len(known) != num_axes or len(want) != num_axes:
            return ()
        if any(a not in (b, 1) and DYNAMIC not in (a, b) for a, b in zip(known, want, strict=True)):
            return ()
        return (*(1,) * start, *known, *(1,) * (len(x) - start - num_axes))

    def checked(
        self, x: Tensor, tensor: Tensor | None, name: str, num_axes: int, blob: bool
    ) -> None:
        """The operand has the dimensions of x from axis on."""
        axis: int = self.get_attr("axis")
        if num_axes < -1:
            raise VerifyException(f"num_axes is {num_axes}, expected -1 or more")
        if tensor is not None and self.span(x.shape, tensor.shape, axis, num_axes, blob) == ():
            raise VerifyException(
                f"{name} is {shape_text(tensor.shape)}, expected dimensions of "
                f"{shape_text(x.shape)} from {axis} on"
            )


class ScaleOp(_Blob):
    """y = x * scale + bias, where the operands stand at the dimensions of x from axis on.

    They cover num_axes dimensions (-1 means all the rest, 0 a single number), or as many as scale
    has without scale_from_blob. C1: x and scale are floating-point tensors. C2: axis lies in the
    rank of x. C3: num_axes >= -1. C4: scale and bias have the dimensions they cover, or one
    element.
    """

    name = "ge.Scale"

    x = operand()
    scale = operand()
    bias = optional()
    y = result()
    axis = integer(1)
    num_axes = integer(1)
    scale_from_blob = boolean(True)

    widens = True

    def infer(self, x: Tensor, scale: Tensor, bias: Tensor | None) -> Tensor:
        check_floats(x=x, scale=scale)  # C1
        for tensor, name in ((scale, "scale"), (bias, "bias")):  # C2 C3 C4
            self.checked(x, tensor, name, self.num_axes, self.scale_from_blob)
        return x

    def evaluate(self, x: Array, scale: Array, bias: Array | None) -> Array:
        def placed(a: Array) -> Array:
            shape = self.span(x.shape, a.shape, self.axis, self.num_axes, self.scale_from_blob)
            return a.reshape(shape or ())

        y = x * placed(scale)
        return (y if bias is None else y + placed(bias)).astype(x.dtype)


class BiasOp(_Blob):
    """y = x + bias, where bias stands at the dimensions of x from axis on.

    It covers num_axes dimensions (-1 means all the rest, 0 a single number), or as many as it has
    without bias_from_blob. C1: x and bias have one element type. C2: axis lies in the rank of x.
    C3: num_axes >= -1. C4: bias has the dimensions it covers, or one element.
    """

    name = "ge.Bias"

    x = operand()
    bias = operand()
    y = result()
    axis = integer(1)
    num_axes = integer(1)
    bias_from_blob = boolean(True)

    widens = True

    def infer(self, x: Tensor, bias: Tensor) -> Tensor:
        from ge_xdsl.dialects.ge.elements import one_element_type

        one_element_type(x, bias)  # C1
        self.checked(x, bias, "bias", self.num_axes, self.bias_from_blob)  # C2 C3 C4
        return x

    def evaluate(self, x: Array, bias: Array) -> Array:
        shape = self.span(x.shape, bias.shape, self.axis, self.num_axes, self.bias_from_blob)
        return x + bias.reshape(shape or ())
