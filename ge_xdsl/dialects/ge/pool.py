"""Pooling over height and width."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING, ClassVar

from xdsl.utils.exceptions import VerifyException

from ge_xdsl.dialects.ge.extents import bounded
from ge_xdsl.dialects.ge.fields import AttrField
from ge_xdsl.dialects.ge.op import GeOp, boolean, integer, integers, operand, result, string
from ge_xdsl.dialects.ge.operands import check_length, check_rank, with_layout
from ge_xdsl.dialects.ge.shapes import shape_text
from ge_xdsl.dialects.ge.types import DYNAMIC, Tensor
from ge_xdsl.dialects.ge.windows import (
    Window,
    channels_as,
    channels_first,
    check_format,
    pad_planes,
    reduce_windows,
    same_pads,
    spatial_axes,
    window_count,
)

if TYPE_CHECKING:
    from ge_xdsl.dialects.ge.types import Array


class PoolGeometry(GeOp):
    """Windows from ksize, strides, a padding mode and data_format; N and C stay."""

    widens = True

    # Declared by the subclasses, in the order of their prototypes.
    ksize: ClassVar[AttrField[Sequence[int]]]
    strides: ClassVar[AttrField[Sequence[int]]]
    data_format: ClassVar[AttrField[str]]

    modes: tuple[str, ...] = ("SAME", "VALID")

    def mode(self) -> str:
        """SAME, VALID or CALCULATED."""
        raise NotImplementedError

    def window(self, size: int, axis: int, which: int) -> Window:
        """The windows over one dimension: `which` is 0 for height and 1 for width."""
        return self.make_window(size, axis, (0, 0))

    def make_window(
        self,
        size: int,
        axis: int,
        pads: Sequence[int],
        ceil_mode: bool = False,
        drops_last: bool = True,
    ) -> Window:
        """The windows over a dimension for the padding mode; `pads` count outside SAME."""
        kernel, stride = self.ksize[axis], self.strides[axis]
        if self.mode() == "SAME":
            if size == DYNAMIC:
                return Window(kernel, stride)
            before, after = same_pads(size, kernel, stride)
            return Window(kernel, stride, 1, before, after, -(-size // stride))
        window = Window(kernel, stride, 1, pads[0], pads[1])
        count = window_count(size, window, ceil_mode, drops_last)
        return Window(kernel, stride, 1, pads[0], pads[1], count)

    def check_attributes(self) -> None:
        """data_format, ksize, strides and the padding mode."""
        check_format(self.data_format)  # C1
        for values, name in ((self.ksize, "ksize"), (self.strides, "strides")):  # C2
            check_length(values, 4, name)
            if min(values) < 1 or values[0] != 1 or values[self.data_format.index("C")] != 1:
                raise VerifyException(
                    f"{name} are {list(values)}, expected positive ones, 1 for N and C"
                )
        if self.mode() not in self.modes:  # C3
            raise VerifyException(
                f"padding is '{self.mode()}', expected one of {', '.join(self.modes)}"
            )

    def windows(self, shape: Sequence[int]) -> tuple[Window, Window]:
        """The windows over height and width of an x of `shape`."""
        height, width = spatial_axes(self.data_format)
        return self.window(shape[height], height, 0), self.window(shape[width], width, 1)

    def pooled(self, x: Tensor, name: str = "x") -> tuple[int, ...]:
        """The shape of y for an operand called `name`."""
        self.check_attributes()
        if x.shape is None:
            return (DYNAMIC,) * 4
        check_rank(x.shape, 4, name)  # C4
        high, wide = self.windows(x.shape)  # C5
        dims = dict(zip(self.data_format, x.shape, strict=True))
        dims |= {"H": high.count, "W": wide.count}
        return bounded([dims[letter] for letter in self.data_format])


class _Pool(PoolGeometry):
    """Pooling of x over its windows."""

    x = operand()
    ksize = integers()
    strides = integers()

    def infer(self, x: Tensor) -> Tensor:
        return with_layout(x, x.dtype, self.pooled(x))

    def evaluate(self, x: Array) -> Array:
        windows = self.windows(x.shape)
        planes = channels_first(x, self.data_format)
        return channels_as(self.pool(planes, windows), self.data_format)

    def pool(self, planes: Array, windows: tuple[Window, Window]) -> Array:
        """NCHW planes -> one value per window."""
        raise NotImplementedError


def largest(planes: Array, windows: Sequence[Window]) -> Array:
    """[N, C, spatial...] -> the maximum of each window; padding is the lowest value."""
    import numpy as np

    return reduce_windows(pad_planes(planes, windows, lowest(planes)), windows, np.maximum)


def lowest(planes: Array) -> float:
    """What max pooling pads with."""
    import numpy as np

    return -np.inf if planes.dtype.kind in "fV" else np.iinfo(planes.dtype).min


def _inside(window: Window, low: int, high: int) -> Array:
    """How many elements of each window lie in [low, high) of the unpadded positions."""
    import numpy as np

    first = np.arange(window.count) * window.stride - window.before
    return np.minimum(first + window.kernel, high) - np.maximum(first, low)


def divisors(windows: Sequence[Window], sizes: Sequence[int], padding_counts: bool) -> Array:
    """[counts...]: elements of each window in the image, or in the padded image; at least 1."""
    import numpy as np

    found: Array = np.ones((), np.int64)
    for window, size in zip(windows, sizes, strict=True):
        low, high = (-window.before, size + window.after) if padding_counts else (0, size)
        found = found[..., None] * np.maximum(_inside(window, low, high), 0)
    return np.maximum(found, 1)


def mean(planes: Array, windows: Sequence[Window], padding_counts: bool, divisor: int = 0) -> Array:
    """Window sums over the number of elements in the image, or in the padded image."""
    import numpy as np

    total = reduce_windows(pad_planes(planes, windows, 0), windows, np.add)
    if divisor:
        return total / total.dtype.type(divisor)
    return total / divisors(windows, planes.shape[2:], padding_counts).astype(total.dtype)


class _PaddedPool(_Pool):
    padding = string()
    data_format = string("NHWC")
    y = result()

    def mode(self) -> str:
        return self.padding


class MaxPoolOp(_PaddedPool):
    """y = the maximum of each window; SAME pads with the lowest value.

    C1: data_format is NCHW or NHWC. C2: ksize and strides have 4 entries, positive, 1 for N and
    C. C3: padding is SAME or VALID. C4: x has rank 4. C5: a window fits the input.
    """

    name = "ge.MaxPool"

    def pool(self, planes: Array, windows: tuple[Window, Window]) -> Array:
        return largest(planes, windows)


class AvgPoolOp(_PaddedPool):
    """y = the mean of the elements of each window that are not padding.

    C1: data_format is NCHW or NHWC. C2: ksize and strides have 4 entries, positive, 1 for N and
    C. C3: padding is SAME or VALID. C4: x has rank 4. C5: a window fits the input.
    """

    name = "ge.AvgPool"

    def pool(self, planes: Array, windows: tuple[Window, Window]) -> Array:
        return mean(planes, windows, padding_counts=False)


class CalculatedGeometry(PoolGeometry):
    """Windows with explicit pads, ceil_mode and global_pooling."""

    padding_mode: ClassVar[AttrField[str]]
    pads: ClassVar[AttrField[Sequence[int]]]
    global_pooling: ClassVar[AttrField[bool]]
    ceil_mode: ClassVar[AttrField[bool]]

    modes = ("CALCULATED", "SAME", "VALID")

    def mode(self) -> str:
        return self.padding_mode

    def check_attributes(self) -> None:
        super().check_attributes()
        check_length(self.pads, 4, "pads")  # C6
        if min(self.pads) < 0:
            raise VerifyException(f"pads are {list(self.pads)}, expected none negative")

    def window(self, size: int, axis: int, which: int) -> Window:
        if self.global_pooling:
            return Window(size, 1, 1, 0, 0, 1)
        return self.explicit_window(size, axis, self.pads[2 * which : 2 * which + 2])

    def explicit_window(self, size: int, axis: int, pads: Sequence[int]) -> Window:
        """The windows over a dimension with (before, after) `pads`."""
        raise NotImplementedError


class AverageGeometry(CalculatedGeometry):
    """AvgPoolV2's windows: ceil_mode drops none, VALID with ceil_mode pads."""

    def explicit_window(self, size: int, axis: int, pads: Sequence[int]) -> Window:
        padded = self.padding_mode == "CALCULATED" or self.ceil_mode
        return self.make_window(
            size, axis, pads if padded else (0, 0), self.ceil_mode, drops_last=False
        )


class _CalculatedPool(CalculatedGeometry, _Pool):
    padding_mode = string("CALCULATED")
    pads = integers((0, 0, 0, 0))
    data_format = string("NCHW")
    global_pooling = boolean(False)
    ceil_mode = boolean(False)
    y = result()


class MaxPoolV3Op(_CalculatedPool):
    """y = the maximum of each window; padding is the lowest value.

    CALCULATED pads by `pads` [top, bottom, left, right]; ceil_mode rounds the number of windows
    up but drops one that would start in the right padding, and only counts for CALCULATED.
    global_pooling takes the whole plane as the window. C1: data_format is NCHW or NHWC. C2: ksize
    and strides have 4 entries, positive, 1 for N and C. C3: padding_mode is CALCULATED, SAME or
    VALID. C4: x has rank 4. C5: a window fits the padded input. C6: 4 pads, none negative.
    """

    name = "ge.MaxPoolV3"

    def explicit_window(self, size: int, axis: int, pads: Sequence[int]) -> Window:
        calculated = self.padding_mode == "CALCULATED"
        return self.make_window(
            size, axis, pads if calculated else (0, 0), self.ceil_mode and calculated
        )

    def pool(self, planes: Array, windows: tuple[Window, Window]) -> Array:
        return largest(planes, windows)


class AvgPoolV2Op(AverageGeometry, _CalculatedPool):
    """y = the sum of each window over its divisor.

    The divisor is divisor_override when not 0, else the number of elements in the image
    (`exclusive`) or in the padded image. ceil_mode rounds the number of windows up and drops
    none; VALID with ceil_mode pads like CALCULATED. C1: data_format is NCHW or NHWC. C2: ksize
    and strides have 4 entries, positive, 1 for N and C. C3: padding_mode is CALCULATED, SAME or
    VALID. C4: x has rank 4. C5: a window fits the padded input. C6: 4 pads, none negative.
    """

    name = "ge.AvgPoolV2"

    exclusive = boolean(True)
    divisor_override = integer(0)

    def pool(self, planes: Array, windows: tuple[Window, Window]) -> Array:
        return mean(planes, windows, not self.exclusive, self.divisor_override)


class GlobalAveragePoolOp(GeOp):
    """y = the mean over every dimension after the second, which become 1.

    C1: x has rank 3, 4 or 5.
    """

    name = "ge.GlobalAveragePool"

    x = operand()
    y = result()

    widens = True

    def infer(self, x: Tensor) -> Tensor:
        if x.shape is None:
            return with_layout(x, x.dtype, None)
        if len(x.shape) not in (3, 4, 5):  # C1
            raise VerifyException(f"x is {shape_text(x.shape)}, expected rank 3, 4 or 5")
        return with_layout(x, x.dtype, x.shape[:2] + (1,) * (len(x.shape) - 2))

    def evaluate(self, x: Array) -> Array:
        import numpy as np

        axes = tuple(range(2, x.ndim))
        if x.dtype.kind != "f" or x.itemsize < 4:
            return x.mean(axis=axes, keepdims=True, dtype=x.dtype)
        total: Array = np.add.reduce(
            x, axis=axes, keepdims=True
        )  # what `mean` does, without its checks
        total /= prod(x.shape[2:])
        return total
