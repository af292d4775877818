"""Convolutions (kernels are not flipped). Sums run in f32 for half floats, in i32 for i8."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING, ClassVar

from xdsl.utils.exceptions import VerifyException

from ge_xdsl.dialects.ge.conv_geometry import (
    ConvolutionGeometry,
    check_groups,
    correlate,
    result_name,
)
from ge_xdsl.dialects.ge.elements import one_element_type, rectify
from ge_xdsl.dialects.ge.fields import AttrField
from ge_xdsl.dialects.ge.flat_windows import COLUMNS_BYTES, depthwise_sums
from ge_xdsl.dialects.ge.limits import check_shape
from ge_xdsl.dialects.ge.matmul import contract, product_dtype
from ge_xdsl.dialects.ge.op import integer, integers, operand, optional, result, string
from ge_xdsl.dialects.ge.operands import check_channels, check_rank, with_layout
from ge_xdsl.dialects.ge.shapes import multiply_dims
from ge_xdsl.dialects.ge.types import DYNAMIC, Format, Tensor, tensor_of
from ge_xdsl.dialects.ge.windows import (
    Window,
    channels_as,
    channels_first,
    pad_planes,
    window_view,
)

if TYPE_CHECKING:
    from ge_xdsl.dialects.ge.types import Array


class Convolution(ConvolutionGeometry):
    """A convolution of x with filter."""

    x = operand()
    filter = operand()

    offset_x: ClassVar[AttrField[int]]  # declared by the subclasses, in prototype order

    def result_tensor(self, x: Tensor, kernel: Sequence[int], channels: int) -> Tensor:
        """y of an x whose shape is known."""
        assert x.shape is not None
        counts = [window.count for window in self.windows(x.shape, kernel)]
        shape = self.in_format(x.shape[0], channels, counts)
        return with_layout(x, product_dtype(x.dtype), shape)

    def unknown_result(self, x: Tensor, channels: int) -> Tensor:
        """y of an x whose rank is unknown."""
        dims = tuple(channels if letter == "C" else DYNAMIC for letter in self.data_format)
        return with_layout(x, product_dtype(x.dtype), dims)

    def pad_fill(self, x: Array) -> float:
        """What padding holds: offset_x for i8, else 0."""
        return self.offset_x if x.dtype.itemsize == 1 else 0

    def convolve(self, x: Array, weight: Array, groups: int, bias: Array | None = None) -> Array:
        """x in data_format, weight [Cout, Cin/groups, kernel...] -> y in data_format.

        A bias has the element type of x and one number per output channel.
        """
        windows = self.windows(x.shape, weight.shape[2:])
        planes = channels_first(x, self.data_format)
        counts = [window.count for window in windows]
        if prod((planes.shape[0], weight.shape[0], *counts)) == 0:
            y = _empty_result(x, planes.shape[0], weight.shape[0], counts)
        elif weight.shape[1] == 1 and groups > 1:
            padded = pad_planes(planes, windows, self.pad_fill(x))
            y = depthwise_sums(padded, weight, windows, result_name(x), bias)
            return channels_as(y, self.data_format)
        elif len(windows) == 3:
            y = correlate(planes, weight, windows, groups, self.pad_fill(x))
        elif all(window.is_pointwise for window in windows):
            high, wide = windows
            y = _pointwise(planes[:, :, :: high.stride, :: wide.stride], weight, groups)
        else:
            padded = pad_planes(planes, windows, self.pad_fill(x))
            y = _unfolded(padded, weight, groups, windows)
        return self.add_bias(channels_as(y, self.data_format), bias)

    def add_bias(self, y: Array, bias: Array | None) -> Array:
        """Add one number per channel to y, in place."""
        if bias is None:
            return y
        shape = [1] * y.ndim
        shape[self.data_format.index("C")] = -1
        y += bias.reshape(shape).astype(y.dtype, copy=False)
        return y


def _empty_result(x: Array, batch: int, channels: int, counts: Sequence[int]) -> Array:
    import numpy as np

    return np.zeros((batch, channels, *counts), result_name(x))


def _pointwise(planes: Array, weight: Array, groups: int) -> Array:
    """A 1x1 convolution: one matrix product per image and group."""
    n, c, h, w = planes.shape
    columns = planes.reshape(n, groups, c // groups, h * w)
    matrix = weight.reshape(groups, weight.shape[0] // groups, -1)
    return contract(matrix, columns).reshape(n, weight.shape[0], h, w)


def _unfolded(padded: Array, weight: Array, groups: int, windows: Sequence[Window]) -> Array:
    """Unfold windows to columns, a few output rows at a time, and multiply by the filter."""
    import numpy as np

    high, wide = windows
    n = padded.shape[0]
    depth = weight[0].size
    matrix = weight.reshape(groups, weight.shape[0] // groups, depth)
    view = window_view(padded, windows)
    check_shape((groups, depth, wide.count), "windows of a row of results")
    y = np.empty((n, groups, matrix.shape[1], high.count, wide.count), result_name(padded))
    row = depth * groups * wide.count * padded.itemsize
    step = max(1, COLUMNS_BYTES // max(row, 1))
    for image in range(n):
        for top in range(0, high.count, step):
            block = view[image, ..., top : top + step, :]
            rows = block.shape[-2]
            columns = block.reshape(groups, depth, rows * wide.count)
            part = contract(matrix, columns)
            y[image, :, :, top : top + rows] = part.reshape(groups, -1, rows, wide.count)
    return y.reshape(n, weight.shape[0], high.count, wide.count)


class GroupedConvolution(Convolution):
    """The rules of Conv2D, of Conv3D and of their fused forms."""

    strides = integers()
    pads = integers()
    dilations = integers((1, 1, 1, 1))
    groups = integer(1)
    data_format = string("NHWC")
    offset_x = integer(0)

    adjusts_groups: ClassVar[bool] = True
    """Whether groups = 1 stands for any number that divides the channels."""

    def group_count(self, inputs: int, depth: int) -> int:
        """The groups in effect: GE takes Cin/depth for groups = 1 when it divides."""
        if DYNAMIC in (inputs, depth) or depth == 0:
            return self.groups
        if self.adjusts_groups and self.groups == 1 and inputs % depth == 0:
            return max(inputs // depth, 1)
        return self.groups

    def infer_y(
        self, x: Tensor, filter: Tensor, bias: Tensor | None, offset_w: Tensor | None
    ) -> Tensor:
        """The result tensor; raises for what Conv2D's constraints refuse."""
        one_element_type(x, filter)  # C5
        self.check_attributes()  # C1 C2 C3
        if offset_w is not None:  # C9
            raise VerifyException("offset_w is given, expected none: GE reserves it")
        if filter.shape is None:
            return self._of_unknown_filter(x)
        rank = len(self.data_format)
        check_rank(filter.shape, rank, "filter")  # C4
        out, depth, *kernel = (filter.shape[i] for i in self.filter_axes(filter))
        check_channels(bias, out, "bias")  # C8
        if x.shape is None:
            return self.unknown_result(x, out)
        check_rank(x.shape, rank, "x")  # C4
        inputs = self.channels_of(x.shape)
        check_groups(inputs, depth, out, self.group_count(inputs, depth))  # C6 C7
        return self.result_tensor(x, kernel, out)  # C10

    def _of_unknown_filter(self, x: Tensor) -> Tensor:
        unknown = self.unknown_result(x, DYNAMIC)
        if x.shape is None or unknown.shape is None:
            return unknown
        check_rank(x.shape, len(self.data_format), "x")
        return with_layout(x, unknown.dtype, (x.shape[0], *unknown.shape[1:]))

    def value(self, x: Array, filter: Array, bias: Array | None) -> Array:
        """conv(x, filter) + bias, filter in its own format."""
        weight, groups = self.kernel(filter, self.channels_of(x.shape))
        return self.add_bias(self.convolve(x, weight, groups), bias)

    def kernel(self, filter: Array, inputs: int) -> tuple[Array, int]:
        """filter as [Cout, Cin/groups, kernel...], and the groups for that many input channels."""
        weight = filter.transpose(self.filter_axes(tensor_of(self.filter.type)))
        return weight, self.group_count(inputs, weight.shape[1])


class Conv2DOp(GroupedConvolution):
    """A convolution, here in NCHW:

        y[n, o, i, j] = bias[o] + sum over c, u, v of
            x[n, c, i*sh + u*dh, j*sw + v*dw] * filter[o, c, u, v]

    x is padded by `pads` [top, bottom, left, right] (with 0, with offset_x for i8) and laid out
    by data_format; filter is NCHW for NCHW and HWCN for NHWC unless its type names a format.
    i8 operands give i32. C1: data_format is NCHW or NHWC. C2: strides, dilations and pads have 4
    entries. C3: strides and dilations are positive and 1 for N and C, pads not negative. C4: x
    and filter have rank 4. C5: one element type. C6: the channels of x are filter depth * groups
    (groups = 1 stands for any number that divides, as in GE). C7: groups divide the output
    channels. C8: bias has one entry per output channel. C9: no offset_w. C10: the window fits
    the padded input and is not empty. C11: node attributes `padding` and `auto_pad` name a mode.
    """

    name = "ge.Conv2D"

    bias = optional()
    offset_w = optional()
    y = result()

    def infer(
        self, x: Tensor, filter: Tensor, bias: Tensor | None, offset_w: Tensor | None
    ) -> Tensor:
        return self.infer_y(x, filter, bias, offset_w)

    def evaluate(
        self, x: Array, filter: Array, bias: Array | None, offset_w: Array | None
    ) -> Array:
        return self.value(x, filter, bias)


class FusedConv2DBiasAddReluOp(GroupedConvolution):
    """y = activation(Conv2D(x, filter) + bias), in one kernel. The project's own op, not GE's.

    Operands, attributes and constraints C1 to C11 are Conv2D's (data_format, entry counts,
    positive strides, rank, element type, channels, groups, bias, offset_w, window, padding mode),
    but bias must be there. C12: activation is ReLU, max(., 0).
    """

    name = "ge.FusedConv2D_BiasAdd_ReLU"

    bias = operand()
    offset_w = optional()
    activation = string("ReLU")
    y = result()

    def infer(self, x: Tensor, filter: Tensor, bias: Tensor, offset_w: Tensor | None) -> Tensor:
        if self.activation != "ReLU":  # C12
            raise VerifyException(f"activation is '{self.activation}', expected 'ReLU'")
        return self.infer_y(x, filter, bias, offset_w)

    def evaluate(self, x: Array, filter: Array, bias: Array, offset_w: Array | None) -> Array:

        y = self.value(x, filter, bias)
        return rectify(y, out=y)


class DepthwiseConv2DOp(Convolution):
    """A convolution of each channel by itself, here in NCHW:

        y[n, c*K + k, i, j] = bias[c*K + k] + sum over u, v of
            x[n, c, i*sh + u*dh, j*sw + v*dw] * filter[u, v, c, k]

    K is the channel multiplier; filter is HWCN unless its type says NCHW ([K, C, kh, kw]).
    C1: data_format is NCHW or NHWC. C2: strides, dilations and pads have 4 entries. C3: strides
    and dilations are positive and 1 for N and C, pads not negative. C4: x and filter have rank 4.
    C5: one element type. C6: filter has the channels of x. C8: bias has one entry per output
    channel. C9: no offset_w. C10: the window fits the padded input and is not empty.
    """

    name = "ge.DepthwiseConv2D"

    bias = optional()
    offset_w = optional()
    strides = integers()
    dilations = integers((1, 1, 1, 1))
    pads = integers()
    data_format = string("NHWC")
    offset_x = integer(0)
    y = result()

    def infer(
        self, x: Tensor, filter: Tensor, bias: Tensor | None, offset_w: Tensor | None
    ) -> Tensor:
        one_element_type(x, filter)  # C5
        self.check_attributes()  # C1 C2 C3
        if offset_w is not None:  # C9
            raise VerifyException("offset_w is given, expected none: GE reserves it")
        if filter.shape is None:
            return self.unknown_result(x, DYNAMIC)
        check_rank(filter.shape, 4, "filter")  # C4
        many, channels, *kernel = (filter.shape[i] for i in self.filter_axes(filter))
        out = multiply_dims(many, channels)
        check_channels(bias, out, "bias")  # C8
        if x.shape is None:
            return self.unknown_result(x, out)
        check_rank(x.shape, 4, "x")  # C4
        inputs = x.shape[self.data_format.index("C")]
        if DYNAMIC not in (inputs, channels) and inputs != channels:  # C6
            raise VerifyException(f"x has {inputs} channels, expected {channels} as in filter")
        return self.result_tensor(x, kernel, out)  # C10

    def filter_axes(self, filter: Tensor) -> tuple[int, ...]:
        """NCHW when its type says so, else HWCN: the default does not follow data_format."""
        named = filter.layout.origin_format == Format.FORMAT_NCHW
        return (0, 1, 2, 3) if named else (3, 2, 0, 1)

    def evaluate(
        self, x: Array, filter: Array, bias: Array | None, offset_w: Array | None
    ) -> Array:
        weight, groups = self.kernel(filter, self.channels_of(x.shape))
        return self.add_bias(self.convolve(x, weight, groups), bias)

    def kernel(self, filter: Array, inputs: int) -> tuple[Array, int]:
        """filter as [Cout, 1, kernel...], and one group per input channel."""
        weight = filter.transpose(self.filter_axes(tensor_of(self.filter.type)))
        many, channels, high, wide = weight.shape
        return weight.transpose(1, 0, 2, 3).reshape(channels * many, 1, high, wide), inputs
