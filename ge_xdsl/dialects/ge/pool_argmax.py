"""Max pooling that tells where each maximum stood, and its gradient."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING, Any

from xdsl.utils.exceptions import VerifyException

from ge_xdsl.dialects.ge.elements import INDICES, one_element_type, require
from ge_xdsl.dialects.ge.extents import bounded, merge_shapes
from ge_xdsl.dialects.ge.op import GeOp, boolean, integer, integers, operand, result, string
from ge_xdsl.dialects.ge.operands import check_length, with_layout
from ge_xdsl.dialects.ge.pool import PoolGeometry, lowest
from ge_xdsl.dialects.ge.shapes import shape_text
from ge_xdsl.dialects.ge.types import DataType, Tensor, numpy_dtype
from ge_xdsl.dialects.ge.windows import (
    Window,
    channels_as,
    channels_first,
    check_format,
    pad_planes,
    taps,
    window_count,
)

if TYPE_CHECKING:
    from ge_xdsl.dialects.ge.types import Array


def index_dtype(number: int, name: str) -> DataType:
    """The type of argmax for a GE type number, 3 for i32 and 9 for i64."""
    if number not in (3, 9):
        raise VerifyException(f"{name} is {number}, expected 3 or 9")
    return DataType(number)


def positions(tap: Sequence[int], windows: Sequence[Window], sizes: Sequence[int]) -> Any:
    """[Ho, Wo]: the plane index that each window's kernel element `tap` reads, -1 in padding."""
    import numpy as np

    axes = [
        np.arange(w.count) * w.stride + t * w.dilation - w.before
        for t, w in zip(tap, windows, strict=True)
    ]
    rows, columns = axes[0][:, None], axes[1][None, :]
    inside = (rows >= 0) & (rows < sizes[0]) & (columns >= 0) & (columns < sizes[1])
    return np.where(inside, rows * sizes[1] + columns, -1)


def argmax_windows(
    planes: Array, windows: Sequence[Window], nan_wins: bool = True
) -> tuple[Array, Array]:
    """[N, C, H, W] -> the maximum of each window and its plane index h * W + w (i64).

    The first maximum in row order wins. A NaN wins over numbers (`nan_wins`) or counts as the
    lowest value. Raises ValueError when a window has no element of the image.
    """
    import numpy as np

    low = lowest(planes)
    if not nan_wins:
        planes = np.where(np.isnan(planes), planes.dtype.type(low), planes)
    padded = pad_planes(planes, windows, low)
    shape = (*planes.shape[:2], *(w.count for w in windows))
    best, index = np.full(shape, low, planes.dtype), np.full(shape, -1, np.int64)
    for tap, places in taps(windows):
        part = padded[(slice(None), slice(None), *places)]
        place = positions(tap, windows, planes.shape[2:])
        better = (place >= 0) & ((part > best) | (index < 0))
        if nan_wins and planes.dtype.kind == "f":
            better |= (place >= 0) & np.isnan(part) & ~np.isnan(best)
        best, index = np.where(better, part, best), np.where(better, place, index)
    if index.size and index.min() < 0:
        raise ValueError("a window has no element of x, expected one")
    return best, index


class MaxPoolWithArgmaxOp(PoolGeometry):
    """y = the maximum of each window and argmax = its flat position in x's image.

    The position counts the channel: (h*W + w)*C + c in NHWC, (c*H + h)*W + w in NCHW, and with
    include_batch_in_index n*C*H*W on top. The first maximum wins. NaN counts as the lowest value
    unless nan_prop. C1: data_format is NCHW or NHWC. C2: ksize and strides have 4 entries,
    positive, 1 for N and C. C3: padding is SAME or VALID. C4: x has rank 4. C5: a window fits the
    input. C6: Targmax is 3 (i32) or 9 (i64).
    """

    name = "ge.MaxPoolWithArgmax"

    x = operand()
    y = result()
    argmax = result()
    ksize = integers()
    strides = integers()
    padding = string()
    Targmax = integer(9)
    include_batch_in_index = boolean(False)
    data_format = string("NHWC")
    nan_prop = boolean(False)

    def mode(self) -> str:
        return self.padding

    def infer(self, x: Tensor) -> list[Tensor]:
        dtype = index_dtype(self.Targmax, "Targmax")  # C6
        y = with_layout(x, x.dtype, self.pooled(x))
        return [y, y.with_dtype(dtype)]

    def evaluate(self, x: Array) -> list[Array]:
        import numpy as np

        planes = channels_first(x, self.data_format)
        best, index = argmax_windows(planes, self.windows(x.shape), self.nan_prop)
        n, c, high, wide = planes.shape
        channel: Array = np.arange(int(c)).reshape(-1, 1, 1)
        if self.data_format == "NHWC":
            index = index * c + channel
        else:
            index = channel * (high * wide) + index
        if self.include_batch_in_index:
            index = index + np.arange(int(n)).reshape(-1, 1, 1, 1) * (c * high * wide)
        index = index.astype(numpy_dtype(DataType(self.Targmax)))
        return [channels_as(best, self.data_format), channels_as(index, self.data_format)]


class _ArgmaxV3(GeOp):
    """Windows of MaxPoolWithArgmaxV3: lists [h, w], a batch of planes or one image of planes."""

    ksize = integers()
    strides = integers()
    pads = integers()
    dtype = integer(3)
    dilation = integers((1, 1))
    ceil_mode = boolean(False)
    data_format = string("NCHW")

    widens = True

    def check_attributes(self) -> None:
        """Lists, type number and format."""
        check_format(self.data_format)  # C1
        lists = (
            (self.ksize, "ksize"),
            (self.strides, "strides"),
            (self.dilation, "dilation"),
            (self.pads, "pads"),
        )
        for values, name in lists:  # C2
            check_length(values, 2, name)
            if min(values) < (0 if name == "pads" else 1):
                raise VerifyException(
                    f"{name} are {list(values)}, expected pads >= 0 and others >= 1"
                )
        index_dtype(self.dtype, "dtype")  # C3

    def windows(self, sizes: Sequence[int]) -> tuple[Window, ...]:
        """The windows over height and width."""
        found: list[Window] = []
        lists = (self.ksize, self.strides, self.dilation, self.pads)
        for size, k, s, d, p in zip(sizes, *lists, strict=True):
            window = Window(k, s, d, p, p)
            found.append(Window(k, s, d, p, p, window_count(size, window, self.ceil_mode)))
        return tuple(found)

    def channel_axis(self, rank: int) -> int:
        """Where the channels stand in an x of `rank`."""
        return rank - 3 if self.data_format == "NCHW" else rank - 1

    def pooled(self, x: Tensor) -> tuple[int, ...] | None:
        """The shape of y."""
        self.check_attributes()
        if x.shape is None:
            return None
        if len(x.shape) not in (3, 4):  # C4
            raise VerifyException(f"x is {shape_text(x.shape)}, expected rank 3 or 4")
        channel = self.channel_axis(len(x.shape))
        spatial = [axis for axis in range(len(x.shape) - 3, len(x.shape)) if axis != channel]
        shape = list(x.shape)
        for axis, window in zip(spatial, self.windows([shape[a] for a in spatial]), strict=True):
            shape[axis] = window.count  # C5
        return bounded(shape)

    def planes(self, x: Array) -> Array:
        """x as [N, C, H, W]."""
        image = x if x.ndim == 4 else x[None]
        return channels_first(image, self.data_format)


class MaxPoolWithArgmaxV3Op(_ArgmaxV3):
    """y = the maximum of each window and argmax = its position h*W + w in the plane of x.

    The first maximum wins, NaN over numbers. ceil_mode rounds the number of windows up but drops
    one that starts in the right padding. C1: data_format is NCHW or NHWC. C2: ksize, strides,
    dilation and pads have 2 entries [h, w], pads none negative, the others positive. C3: dtype
    is 3 (i32) or 9 (i64). C4: x has rank 4, or 3 without the batch. C5: a window fits the padded
    input.
    """

    name = "ge.MaxPoolWithArgmaxV3"

    x = operand()
    y = result()
    argmax = result()

    def infer(self, x: Tensor) -> list[Tensor]:
        y = with_layout(x, x.dtype, self.pooled(x))
        return [y, y.with_dtype(DataType(self.dtype))]

    def evaluate(self, x: Array) -> list[Array]:
        planes = self.planes(x)
        best, index = argmax_windows(planes, self.windows(planes.shape[2:]))
        index = index.astype(numpy_dtype(DataType(self.dtype)))
        found = [channels_as(a, self.data_format) for a in (best, index)]
        return found if x.ndim == 4 else [a[0] for a in found]


class MaxPoolGradWithArgmaxV3Op(_ArgmaxV3):
    """The gradient of MaxPoolWithArgmaxV3: each grad is added to x's plane at its argmax.

    y has the shape of x. C1: data_format is NCHW or NHWC. C2: ksize, strides, dilation and pads
    have 2 entries [h, w], pads none negative, the others positive. C3: dtype is 3 or 9. C4: x has
    rank 4, or 3. C5: a window fits the padded input. C6: grad and argmax have the shape of the
    pooled x. C7: grad has the type of x, argmax is i32 or i64.
    """

    name = "ge.MaxPoolGradWithArgmaxV3"

    x = operand()
    grad = operand()
    argmax = operand()
    y = result()

    def infer(self, x: Tensor, grad: Tensor, argmax: Tensor) -> Tensor:
        one_element_type(x, grad)  # C7
        require(argmax, "argmax", INDICES, "DT_INT32 or DT_INT64")  # C7
        pooled = self.pooled(x)
        for tensor, name in ((grad, "grad"), (argmax, "argmax")):  # C6
            merge_shapes(pooled, tensor.shape, f"shapes of the pooled x and {name}")
        return with_layout(x, x.dtype, x.shape)

    def evaluate(self, x: Array, grad: Array, argmax: Array) -> Array:
        import numpy as np

        planes = self.planes(x)
        n, c, high, wide = planes.shape
        pooled = prod(argmax.shape[-2:] if self.data_format[1] == "C" else argmax.shape[-3:-1])
        index = self.planes(argmax).reshape(n * c, pooled).astype(np.int64)
        if index.size and not 0 <= index.min() <= index.max() < high * wide:
            raise ValueError(f"argmax is outside of [0, {high * wide}), expected plane positions")
        y: Array = np.zeros((n * c, high * wide), x.dtype)
        rows: Array = np.arange(int(n * c)).reshape(-1, 1)
        np.add.at(y, (rows, index), self.planes(grad).reshape(n * c, pooled))
        y = channels_as(y.reshape(planes.shape), self.data_format)
        return y if x.ndim == 4 else y[0]
