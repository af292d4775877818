"""Gradients of convolutions in their filter."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from xdsl.utils.exceptions import VerifyException

from ge_xdsl.dialects.ge.conv_geometry import ConvolutionGeometry, check_groups, filter_gradient
from ge_xdsl.dialects.ge.elements import one_element_type
from ge_xdsl.dialects.ge.extents import bounded, ints_of
from ge_xdsl.dialects.ge.fields import AttrField
from ge_xdsl.dialects.ge.op import boolean, integer, integers, operand, result, string
from ge_xdsl.dialects.ge.operands import check_length, check_rank, known_ints, vector_length
from ge_xdsl.dialects.ge.shapes import merge_dim
from ge_xdsl.dialects.ge.types import DYNAMIC, DataType, Tensor
from ge_xdsl.dialects.ge.windows import channels_first, spatial_axes

if TYPE_CHECKING:
    from ge_xdsl.dialects.ge.types import Array

Size = Sequence[int] | None


class FilterGradient(ConvolutionGeometry):
    """dW of y = conv(x, W) for a dy, summed in f32 over batch and windows.

    The result has the shape of filter_size, which is in the filter format that belongs to
    data_format: NCHW (NCDHW) for NCHW (NCDHW), else HWCN (DHWCN).
    """

    groups: ClassVar[AttrField[int]]

    def gradient_axes(self) -> tuple[int, ...]:
        """Positions of Cout, Cin/groups and the kernel in filter_size."""
        return self.filter_axes(Tensor(DataType.DT_FLOAT, None))

    def check_size(self, size: Sequence[int]) -> None:
        """filter_size has one positive entry per dimension."""
        check_length(size, len(self.data_format), "filter_size")  # C6
        if min(size) < 1:
            raise VerifyException(f"filter_size is {list(size)}, expected positive entries")
        bounded(size)

    def infer_dw(self, x: Tensor, dy: Tensor, size: Size, name: str = "x") -> Tensor:
        """The result; `name` is x's."""
        one_element_type(x, dy)  # C5
        self.check_attributes()  # C1 C2 C3
        rank = len(self.data_format)
        if size is not None:
            self.check_size(size)  # C6
        for tensor, what in ((x, name), (dy, "out_backprop")):  # C4
            if tensor.shape is not None:
                check_rank(tensor.shape, rank, what)
        if x.shape and dy.shape:
            merge_dim(x.shape[0], dy.shape[0], f"batches of {name} and out_backprop")  # C7
        if size is not None:
            self.check_sizes(x.shape, dy.shape, size)
        shape = (DYNAMIC,) * rank if size is None else tuple(size)
        return Tensor(DataType.DT_FLOAT, shape)

    def check_sizes(
        self, x: tuple[int, ...] | None, dy: tuple[int, ...] | None, size: Sequence[int]
    ) -> None:
        """filter_size against the channels and windows of x and dy, as far as they are known."""
        out, depth, *kernel = (size[axis] for axis in self.gradient_axes())
        inputs = DYNAMIC if x is None else self.channels_of(x)
        check_groups(inputs, depth, out, self.groups)  # C8
        if dy is None:
            return
        merge_dim(self.channels_of(dy), out, "channels of out_backprop and filter_size")  # C8
        if x is not None:
            counts = [window.count for window in self.windows(x, kernel)]
            places = zip(counts, spatial_axes(self.data_format), strict=True)
            for count, axis in places:  # C9
                merge_dim(count, dy[axis], "windows over x and size of out_backprop")

    def value(self, x: Array, dy: Array, size: Sequence[int]) -> Array:
        """The result in the format of filter_size."""
        import numpy as np

        self.check_size(size)
        axes = self.gradient_axes()
        windows = self.windows(x.shape, [size[axis] for axis in axes[2:]])
        planes = channels_first(x, self.data_format)
        dw = filter_gradient(planes, channels_first(dy, self.data_format), windows, self.groups)
        return dw.transpose(np.argsort(axes)).astype(np.float32, copy=False)


def size_of(op: FilterGradient, tensor: Tensor) -> Size:
    """filter_size of an op that has it as an operand, None while its values are unknown."""
    op.check_attributes()
    length = vector_length(tensor, "filter_size")
    if length not in (DYNAMIC, len(op.data_format)):
        raise VerifyException(f"filter_size has {length} entries, expected {len(op.data_format)}")
    return known_ints(op, "filter_size")


class _BackpropFilter(FilterGradient):
    x = operand()
    filter_size = operand()
    out_backprop = operand()
    y = result()
    strides = integers()
    pads = integers()
    dilations = integers((1, 1, 1, 1))
    groups = integer(1)
    data_format = string("NHWC")

    def infer(self, x: Tensor, filter_size: Tensor, out_backprop: Tensor) -> Tensor:
        return self.infer_dw(x, out_backprop, size_of(self, filter_size))

    def evaluate(self, x: Array, filter_size: Array, out_backprop: Array) -> Array:
        return self.value(x, out_backprop, ints_of(filter_size))


class Conv2DBackpropFilterOp(_BackpropFilter):
    """The gradient of Conv2D in its filter for the gradient out_backprop of its y, f32:

        y[o, c, u, v] = sum over n, i, j of
            out_backprop[n, o, i, j] * x[n, c, i*sh + u*dh - top, j*sw + v*dw - left]

    y has the shape that filter_size holds: NCHW for an NCHW convolution, HWCN for an NHWC one.
    The node attributes `padding` and `auto_pad` replace pads. C1: data_format is NCHW or NHWC.
    C2: strides, dilations and pads have 4 entries. C3: strides and dilations are positive and 1
    for N and C, pads not negative. C4: x and out_backprop have rank 4. C5: one element type. C6:
    filter_size has 4 positive entries. C7: one batch. C8: filter_size has the channels of
    out_backprop and, times groups, of x. C9: out_backprop has as many elements as x has windows.
    """

    name = "ge.Conv2DBackpropFilter"


class Conv3DBackpropFilterOp(_BackpropFilter):
    """The gradient of Conv3D in its filter: Conv2DBackpropFilter over three spatial dimensions.

    C1: data_format is NDHWC or NCDHW. C2: strides and dilations have 5 entries, pads 6. C4: x and
    out_backprop have rank 5. C6: filter_size has 5 positive entries. The others are those of
    Conv2DBackpropFilter.
    """

    name = "ge.Conv3DBackpropFilter"
    formats = ("NDHWC", "NCDHW")

    dilations = integers((1, 1, 1, 1, 1))
    data_format = string("NDHWC")


class Conv3DBackpropFilterV2Op(Conv3DBackpropFilterOp):
    """Conv3DBackpropFilter, whose other constraints hold; enable_hf32 changes no value here.

    C6: filter_size has 5 positive entries.
    """

    name = "ge.Conv3DBackpropFilterV2"

    enable_hf32 = boolean(False)


class _BackpropFilterD(FilterGradient):
    x = operand()
    out_backprop = operand()
    y = result()
    filter_size = integers()
    strides = integers()
    pads = integers()
    dilations = integers((1, 1, 1, 1))
    groups = integer(1)
    data_format = string("NHWC")

    def infer(self, x: Tensor, out_backprop: Tensor) -> Tensor:
        return self.infer_dw(x, out_backprop, self.filter_size)

    def evaluate(self, x: Array, out_backprop: Array) -> Array:
        return self.value(x, out_backprop, self.filter_size)


class Conv2DBackpropFilterDOp(_BackpropFilterD):
    """Conv2DBackpropFilter with filter_size as an attribute, whose other constraints hold.

    C6: filter_size has 4 positive entries.
    """

    name = "ge.Conv2DBackpropFilterD"


class Conv3DBackpropFilterDOp(_BackpropFilterD):
    """Conv3DBackpropFilter with filter_size as an attribute, whose other constraints hold.

    C6: filter_size has 5 positive entries.
    """

    name = "ge.Conv3DBackpropFilterD"
    formats = ("NDHWC", "NCDHW")

    dilations = integers((1, 1, 1, 1, 1))
    data_format = string("NDHWC")


class DepthwiseGradient(FilterGradient):
    """The filter gradient of DepthwiseConv2D: [kh, kw, C, K], out_backprop has C*K channels."""

    def check_sizes(
        self, x: tuple[int, ...] | None, dy: tuple[int, ...] | None, size: Sequence[int]
    ) -> None:
        *kernel, channels, many = size
        if x is not None:
            merge_dim(self.channels_of(x), channels, "channels of input and filter_size")  # C8
        if dy is not None:
            what = "channels of out_backprop and filter_size"
            merge_dim(self.channels_of(dy), channels * many, what)  # C8
        if x is not None and dy is not None:
            counts = [window.count for window in self.windows(x, kernel)]
            for count, axis in zip(counts, spatial_axes(self.data_format), strict=True):  # C9
                merge_dim(count, dy[axis], "windows over x and size of out_backprop")

    def value(self, x: Array, dy: Array, size: Sequence[int]) -> Array:
        import numpy as np

        self.check_size(size)
        high, wide, channels, many = size
        windows = self.windows(x.shape, (high, wide))
        planes = channels_first(x, self.data_format)
        dw = filter_gradient(planes, channels_first(dy, self.data_format), windows, channels)
        dw = dw.reshape(channels, many, high, wide).transpose(2, 3, 0, 1)
        return dw.astype(np.float32, copy=False)


class DepthwiseConv2DBackpropFilterOp(DepthwiseGradient):
    """The gradient of DepthwiseConv2D in its filter [kh, kw, C, K], f32.

    C1: data_format is NCHW or NHWC. C2: strides, dilations and pads have 4 entries. C3: strides
    and dilations are positive and 1 for N and C, pads not negative. C4: input and out_backprop
    have rank 4. C5: one element type. C6: filter_size has 4 positive entries. C7: one batch. C8:
    input has C channels, out_backprop C*K. C9: out_backprop has as many elements as input windows.
    """

    name = "ge.DepthwiseConv2DBackpropFilter"

    input = operand()
    filter_size = operand()
    out_backprop = operand()
    filter_grad = result()
    strides = integers()
    dilations = integers((1, 1, 1, 1))
    pads = integers()
    data_format = string("NHWC")

    def infer(self, input: Tensor, filter_size: Tensor, out_backprop: Tensor) -> Tensor:
        return self.infer_dw(input, out_backprop, size_of(self, filter_size), "input")

    def evaluate(self, input: Array, filter_size: Array, out_backprop: Array) -> Array:
        return self.value(input, out_backprop, ints_of(filter_size))


class DepthwiseConv2DBackpropFilterDOp(DepthwiseGradient):
    """DepthwiseConv2DBackpropFilter with filter_size as an attribute, whose constraints hold.

    C6: filter_size has 4 positive entries.
    """

    name = "ge.DepthwiseConv2DBackpropFilterD"

    input = operand()
    out_backprop = operand()
    filter_grad = result()
    filter_size = integers()
    strides = integers()
    dilations = integers((1, 1, 1, 1))
    pads = integers()
    data_format = string("NHWC")

    def infer(self, input: Tensor, out_backprop: Tensor) -> Tensor:
        return self.infer_dw(input, out_backprop, self.filter_size, "input")

    def evaluate(self, input: Array, out_backprop: Array) -> Array:
        return self.value(input, out_backprop, self.filter_size)
