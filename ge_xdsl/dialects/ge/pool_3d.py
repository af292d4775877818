"""Pooling over one and over three spatial dimensions, Caffe's pooling and the Lp norm."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING, ClassVar

from xdsl.utils.exceptions import VerifyException

from ge_xdsl.dialects.ge.elements import one_element_type
from ge_xdsl.dialects.ge.extents import bounded
from ge_xdsl.dialects.ge.fields import AttrField
from ge_xdsl.dialects.ge.op import (
    GeOp,
    boolean,
    floating,
    integer,
    integers,
    operand,
    optional,
    result,
    string,
)
from ge_xdsl.dialects.ge.operands import check_length, check_rank, with_layout
from ge_xdsl.dialects.ge.pool import divisors, largest, mean
from ge_xdsl.dialects.ge.shapes import Shape, shape_text
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


class Pool3DGeometry(GeOp):
    """Windows over three dimensions.

    ksize, strides and dilation have 1 entry (for all), 3 ([d, h, w]) or 5 (in data_format order).
    """

    widens = True

    # Declared by the subclasses, in the order of their prototypes.
    ksize: ClassVar[AttrField[Sequence[int]]]
    strides: ClassVar[AttrField[Sequence[int]]]
    pads: ClassVar[AttrField[Sequence[int]]]
    data_format: ClassVar[AttrField[str]]

    def dilations(self) -> Sequence[int]:
        """One entry or more, as ksize."""
        return (1,)

    def mode(self) -> str:
        """SAME, VALID or CALCULATED."""
        return "CALCULATED"

    def ceils(self) -> bool:
        """Whether the number of windows is rounded up."""
        raise NotImplementedError

    def check_attributes(self) -> None:
        """Counts and signs of the lists, and the data format."""
        check_format(self.data_format, ("NDHWC", "NCDHW"))  # C1
        named = ((self.ksize, "ksize"), (self.strides, "strides"), (self.dilations(), "dilation"))
        for values, name in named:  # C2
            if len(values) not in (1, 3, 5) or min(values) < 1:
                raise VerifyException(
                    f"{name} are {list(values)}, expected 1, 3 or 5 positive entries"
                )
            if len(values) == 5 and (values[0] != 1 or values[self.data_format.index("C")] != 1):
                raise VerifyException(f"{name} are {list(values)}, expected 1 for N and C")
        if len(self.pads) not in (1, 3, 6) or min(self.pads) < 0:  # C3
            raise VerifyException(
                f"pads are {list(self.pads)}, expected 1, 3 or 6 entries, none negative"
            )

    def per_dimension(self, values: Sequence[int]) -> list[int]:
        """The entries for depth, height and width."""
        if len(values) == 5:
            return [values[axis] for axis in spatial_axes(self.data_format)]
        return list(values) * (3 // len(values))

    def windows(self, shape: Sequence[int]) -> tuple[Window, ...]:
        """The windows over depth, height and width of an x of `shape`."""
        pads = list(self.pads)
        pairs = pads if len(pads) == 6 else [p for p in pads * (3 // len(pads)) for _ in (0, 1)]
        sizes = [shape[axis] for axis in spatial_axes(self.data_format)]
        lists = (self.ksize, self.strides, self.dilations())
        return tuple(
            self.window(size, Window(k, s, d, pairs[2 * i], pairs[2 * i + 1]))
            for i, (size, k, s, d) in enumerate(
                zip(sizes, *map(self.per_dimension, lists), strict=True)
            )
        )

    def window(self, size: int, window: Window) -> Window:
        """The windows over one dimension; the pads of `window` count when CALCULATED."""
        kernel, stride, dilation = window.kernel, window.stride, window.dilation
        before, after = window.before, window.after
        if self.mode() == "SAME" and size != DYNAMIC:
            before, after = same_pads(size, window.span, stride)
        elif self.mode() != "CALCULATED":
            before, after = 0, 0
        if self.mode() == "SAME" and size == DYNAMIC:
            return Window(kernel, stride, dilation)
        window = Window(kernel, stride, dilation, before, after)
        ceils = self.ceils() and self.mode() == "CALCULATED"
        count = window_count(size, window, ceils)
        return Window(kernel, stride, dilation, before, after, count)

    def pooled(self, x: Tensor, name: str = "x") -> tuple[int, ...]:
        """The shape of y for an operand called `name`."""
        self.check_attributes()
        if x.shape is None:
            return (DYNAMIC,) * 5
        check_rank(x.shape, 5, name)  # C4
        dims = dict(zip(self.data_format, x.shape, strict=True))
        counts = [window.count for window in self.windows(x.shape)]  # C5
        dims |= dict(zip("DHW", counts, strict=True))
        return bounded([dims[letter] for letter in self.data_format])


class MaxPool3DOp(Pool3DGeometry):
    """y = the maximum of each window over depth, height and width; padding is the lowest value.

    padding CALCULATED pads by `pads`, and ceil_mode (0 or 1) then rounds the number of windows up
    but drops one that starts in the right padding. C1: data_format is NDHWC or NCDHW. C2: ksize,
    strides and dilation have 1, 3 or 5 entries, positive, 1 for N and C. C3: pads have 1, 3 or 6
    entries, none negative. C4: x has rank 5. C5: a window fits the padded input. C6: padding is
    SAME, VALID or CALCULATED.
    """

    name = "ge.MaxPool3D"

    x = operand()
    ksize = integers()
    strides = integers()
    padding = string()
    pads = integers((0, 0, 0, 0, 0, 0))
    dilation = integers((1, 1, 1, 1, 1))
    ceil_mode = integer(0)
    data_format = string("NDHWC")
    y = result()

    def dilations(self) -> Sequence[int]:
        return self.dilation

    def mode(self) -> str:
        return self.padding

    def ceils(self) -> bool:
        return self.ceil_mode != 0

    def infer(self, x: Tensor) -> Tensor:
        if self.padding not in ("SAME", "VALID", "CALCULATED"):  # C6
            raise VerifyException(
                f"padding is '{self.padding}', expected SAME, VALID or CALCULATED"
            )
        return with_layout(x, x.dtype, self.pooled(x))

    def evaluate(self, x: Array) -> Array:
        planes = channels_first(x, self.data_format)
        return channels_as(largest(planes, self.windows(x.shape)), self.data_format)


class Average3DGeometry(Pool3DGeometry):
    """AvgPool3D's windows and divisors; the node attribute `padding` = SAME pads as TensorFlow."""

    ceil_mode: ClassVar[AttrField[bool]]
    count_include_pad: ClassVar[AttrField[bool]]
    divisor_override: ClassVar[AttrField[int]]

    def mode(self) -> str:
        from xdsl.dialects.builtin import StringAttr

        attr = self.attributes.get("ge.padding")
        return "SAME" if isinstance(attr, StringAttr) and attr.data == "SAME" else "CALCULATED"

    def ceils(self) -> bool:
        return self.ceil_mode

    @property
    def padding_counts(self) -> bool:
        """Whether padding is counted by the divisor."""
        return self.count_include_pad and self.mode() != "SAME"


class AvgPool3DOp(Average3DGeometry):
    """y = the sum of each window over its divisor, over depth, height and width.

    The divisor is divisor_override when not 0, else the number of elements in the padded image
    (count_include_pad) or in the image. ceil_mode rounds the number of windows up but drops one
    that starts in the right padding. C1: data_format is NDHWC or NCDHW. C2: ksize and strides
    have 1, 3 or 5 entries, positive, 1 for N and C. C3: pads have 1, 3 or 6 entries, none
    negative. C4: x has rank 5. C5: a window fits the padded input.
    """

    name = "ge.AvgPool3D"

    x = operand()
    ksize = integers()
    strides = integers()
    pads = integers()
    ceil_mode = boolean(False)
    count_include_pad = boolean(True)
    divisor_override = integer(0)
    data_format = string("NDHWC")
    y = result()

    def infer(self, x: Tensor) -> Tensor:
        return with_layout(x, x.dtype, self.pooled(x))

    def evaluate(self, x: Array) -> Array:
        planes = channels_first(x, self.data_format)
        y = mean(planes, self.windows(x.shape), self.padding_counts, self.divisor_override)
        return channels_as(y, self.data_format)


class AvgPool3DDOp(Average3DGeometry):
    """AvgPool3D without the constants that a chip prepares for it, whose constraints hold.

    C1: data_format is NDHWC or NCDHW. C6: no filter and no multiplier.
    """

    name = "ge.AvgPool3DD"

    x = operand()
    filter = optional()
    multiplier = optional()
    ksize = integers()
    strides = integers()
    pads = integers()
    ceil_mode = boolean(False)
    count_include_pad = boolean(True)
    divisor_override = integer(0)
    data_format = string("NDHWC")
    y = result()

    def infer(self, x: Tensor, filter: Tensor | None, multiplier: Tensor | None) -> Tensor:
        if filter is not None or multiplier is not None:  # C6
            raise VerifyException("filter or multiplier is given, expected neither")
        return with_layout(x, x.dtype, self.pooled(x))

    def evaluate(self, x: Array, filter: Array | None, multiplier: Array | None) -> Array:
        planes = channels_first(x, self.data_format)
        y = mean(planes, self.windows(x.shape), self.padding_counts, self.divisor_override)
        return channels_as(y, self.data_format)


class _Pool1D(GeOp):
    ksize: ClassVar[AttrField[int]]
    strides: ClassVar[AttrField[int]]
    pads: ClassVar[AttrField[Sequence[int]]]
    ceil_mode: ClassVar[AttrField[bool]]
    count_include_pad: ClassVar[AttrField[bool]]

    widens = True

    def window(self, size: int) -> Window:
        """The windows over the last dimension; a last one in the right padding goes if pads[0]."""
        left, right = self.pads
        window = Window(self.ksize, self.strides, 1, left, right)
        count = window_count(size, window, self.ceil_mode, drops_last=left > 0)
        return Window(self.ksize, self.strides, 1, left, right, count)

    def pooled(self, x: Tensor) -> Shape:
        """The shape of y."""
        check_length(self.pads, 2, "pads")  # C2
        if min(self.ksize, self.strides) < 1 or min(self.pads) < 0:  # C1 C2
            raise VerifyException(
                f"ksize is {self.ksize}, strides {self.strides}, pads {list(self.pads)}, expected "
                "ksize and strides >= 1 and pads >= 0"
            )
        if x.shape is None:
            return None
        if not x.shape:  # C3
            raise VerifyException("x is scalar, expected rank 1 or more")
        return bounded((*x.shape[:-1], self.window(x.shape[-1]).count))  # C4

    def totals(self, x: Array) -> Array:
        """Window sums [1, rows, count]."""
        import numpy as np

        windows = (self.window(x.shape[-1]),)
        planes: Array = x.reshape(1, prod(x.shape[:-1]), x.shape[-1])
        return reduce_windows(pad_planes(planes, windows, 0), windows, np.add)


class AvgPool1DOp(_Pool1D):
    """y = the sum of each window over the last dimension over its number of elements.

    Elements of the image count, of the padded image with count_include_pad. ceil_mode rounds the
    number of windows up and, when pads[0] > 0, drops one that starts in the right padding. C1:
    ksize and strides are positive. C2: pads has 2 entries, none negative. C3: x has rank >= 1.
    C4: a window fits the padded input.
    """

    name = "ge.AvgPool1D"

    x = operand()
    ksize = integer()
    strides = integer()
    pads = integers()
    ceil_mode = boolean(False)
    count_include_pad = boolean(False)
    y = result()

    def infer(self, x: Tensor) -> Tensor:
        return with_layout(x, x.dtype, self.pooled(x))

    def evaluate(self, x: Array) -> Array:
        total = self.totals(x)
        windows = (self.window(x.shape[-1]),)
        y = total / divisors(windows, x.shape[-1:], self.count_include_pad).astype(total.dtype)
        return y.reshape(*x.shape[:-1], windows[0].count)


class AvgPool1DDOp(_Pool1D):
    """y = window sum * assist_matrix, which holds the reciprocal divisors of AvgPool1D.

    Constraints C1 to C4 are those of AvgPool1D. C5: assist_matrix has the shape of y. C6: one
    element type.
    """

    name = "ge.AvgPool1DD"

    x = operand()
    assist_matrix = operand()
    ksize = integer()
    strides = integer()
    pads = integers()
    ceil_mode = boolean(False)
    count_include_pad = boolean(False)
    y = result()

    def infer(self, x: Tensor, assist_matrix: Tensor) -> Tensor:
        one_element_type(x, assist_matrix)  # C6
        y = with_layout(x, x.dtype, self.pooled(x))
        if y.is_static and assist_matrix.is_static and y.shape != assist_matrix.shape:  # C5
            raise VerifyException(
                f"assist_matrix is {shape_text(assist_matrix.shape)}, "
                f"expected {shape_text(y.shape)}"
            )
        return y

    def evaluate(self, x: Array, assist_matrix: Array) -> Array:
        return self.totals(x).reshape(assist_matrix.shape) * assist_matrix


class PoolingOp(GeOp):
    """Caffe's pooling in NCHW or NHWC: the maximum (mode 0) or mean (mode 1) of each window.

    The number of windows is rounded up, with ceil_mode = 1 down (0 means ceil here); with pads, a
    window that starts in the right padding is dropped. global_pooling takes the plane as window.
    The mean divides by the elements of the window in the padded image, as Caffe does; i8 has no
    mean here. dilation has no effect. C1: data_format is NCHW or NHWC. C2: window and stride have
    2 positive entries. C3: pad has 4 entries, none negative, equal per dimension. C4: x has rank
    4. C5: mode is 0 or 1. C6: a window fits the padded input.
    """

    name = "ge.Pooling"

    x = operand()
    mode = integer(0)
    global_pooling = boolean(False)
    window = integers((1, 1))
    stride = integers((1, 1))
    pad = integers((0, 0, 0, 0))
    dilation = integers((1, 1, 1, 1))
    ceil_mode = integer(0)
    data_format = string("NCHW")
    y = result()

    widens = True

    def check_attributes(self) -> None:
        """Lists, mode and format."""
        check_format(self.data_format)  # C1
        for values, name in ((self.window, "window"), (self.stride, "stride")):  # C2
            if len(values) != 2 or min(values) < 1:
                raise VerifyException(f"{name} is {list(values)}, expected 2 positive entries")
        pad = self.pad
        if len(pad) != 4 or min(pad) < 0 or pad[0] != pad[1] or pad[2] != pad[3]:  # C3
            raise VerifyException(
                f"pad is {list(pad)}, expected [h, h, w, w] without negative entries"
            )
        if self.mode not in (0, 1):  # C5
            raise VerifyException(f"mode is {self.mode}, expected 0 or 1")

    def windows(self, shape: Sequence[int]) -> tuple[Window, ...]:
        """The windows over height and width."""
        axes = spatial_axes(self.data_format)
        return tuple(self.over(shape[axis], i) for i, axis in enumerate(axes))

    def over(self, size: int, i: int) -> Window:
        """The windows over spatial dimension `i`."""
        kernel = size if self.global_pooling else self.window[i]
        stride, pad = self.stride[i], self.pad[2 * i]
        window = Window(kernel, stride, 1, pad, pad)
        count = window_count(size, window, self.ceil_mode == 0, drops_last=False)
        if count != DYNAMIC and any(self.pad) and (count - 1) * stride >= size + pad:
            count -= 1
        return Window(kernel, stride, 1, pad, pad, count)

    def infer(self, x: Tensor) -> Tensor:
        self.check_attributes()
        if x.shape is None:
            return with_layout(x, x.dtype, (DYNAMIC,) * 4)
        check_rank(x.shape, 4, "x")  # C4
        high, wide = self.windows(x.shape)  # C6
        dims = dict(zip(self.data_format, x.shape, strict=True))
        dims |= {"H": high.count, "W": wide.count}
        return with_layout(x, x.dtype, bounded([dims[letter] for letter in self.data_format]))

    def evaluate(self, x: Array) -> Array:
        if self.mode == 1 and x.dtype.kind != "f":
            raise ValueError(f"x is {x.dtype}, expected floats for a mean")
        windows, planes = self.windows(x.shape), channels_first(x, self.data_format)
        y = largest(planes, windows) if self.mode == 0 else mean(planes, windows, True)
        return channels_as(y, self.data_format)


class GlobalLpPoolOp(GeOp):
    """y = (sum |x|^p)^(1/p) over every dimension after the second, which become 1.

    C1: x has rank 4 or 5. C2: p is positive.
    """

    name = "ge.GlobalLpPool"

    x = operand()
    p = floating(2.0)
    y = result()

    widens = True

    def infer(self, x: Tensor) -> Tensor:
        if not self.p > 0:  # C2
            raise VerifyException(f"p is {self.p:g}, expected a positive one")
        if x.shape is None:
            return with_layout(x, x.dtype, None)
        if len(x.shape) not in (4, 5):  # C1
            raise VerifyException(f"x is {shape_text(x.shape)}, expected rank 4 or 5")
        return with_layout(x, x.dtype, x.shape[:2] + (1,) * (len(x.shape) - 2))

    def evaluate(self, x: Array) -> Array:
        import numpy as np

        kind = x.dtype.type
        axes = tuple(range(2, x.ndim))
        total = (np.abs(x) ** kind(self.p)).sum(axis=axes, keepdims=True, dtype=x.dtype)
        return total ** kind(1 / self.p)


class SPPOp(GeOp):
    """Spatial pyramid pooling: level i has 4^i bins per channel; y is [N, C * bins, 1, 1].

    The order of the bins is not confirmed, so that there is no value semantics. C1: x has rank 4.
    C2: pyramid_height is 1 to 6. C3: pool_method is 0 or 1. C4: 2^(pyramid_height - 1) is at
    most the height of x.
    """

    name = "ge.SPP"

    x = operand()
    pyramid_height = integer()
    pool_method = integer(0)
    y = result()

    def infer(self, x: Tensor) -> Tensor:
        levels = self.pyramid_height
        if not 1 <= levels <= 6:  # C2
            raise VerifyException(f"pyramid_height is {levels}, expected 1 to 6")
        if self.pool_method not in (0, 1):  # C3
            raise VerifyException(f"pool_method is {self.pool_method}, expected 0 or 1")
        if x.shape is None:
            return with_layout(x, x.dtype, (DYNAMIC, DYNAMIC, 1, 1))
        check_rank(x.shape, 4, "x")  # C1
        n, c, high, _ = x.shape
        if high != DYNAMIC and 2 ** (levels - 1) > high:  # C4
            raise VerifyException(f"pyramid_height is {levels}, expected fewer for height {high}")
        bins = sum(4**i for i in range(levels))
        return with_layout(x, x.dtype, (n, DYNAMIC if c == DYNAMIC else c * bins, 1, 1))
