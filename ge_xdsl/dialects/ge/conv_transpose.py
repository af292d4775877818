"""Transposed convolutions and gradients of convolutions in x: one adjoint, many prototypes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar, cast

from xdsl.utils.exceptions import VerifyException

from ge_xdsl.dialects.ge.conv_geometry import ConvolutionGeometry, spread
from ge_xdsl.dialects.ge.elements import one_element_type
from ge_xdsl.dialects.ge.extents import ints_of
from ge_xdsl.dialects.ge.fields import AttrField
from ge_xdsl.dialects.ge.matmul import product_dtype
from ge_xdsl.dialects.ge.op import boolean, integer, integers, operand, optional, result, string
from ge_xdsl.dialects.ge.operands import (
    check_channels,
    check_length,
    check_rank,
    known_ints,
    vector_length,
    with_layout,
)
from ge_xdsl.dialects.ge.prototype import decode
from ge_xdsl.dialects.ge.shapes import merge_dim, multiply_dims
from ge_xdsl.dialects.ge.types import DYNAMIC, DataType, Tensor, tensor_of
from ge_xdsl.dialects.ge.windows import Window, channels_as, channels_first, spatial_axes

if TYPE_CHECKING:
    from ge_xdsl.dialects.ge.types import Array

Size = Sequence[int] | None
"""input_size while it is known; zeros in it are computed where the op does that."""


class Adjoint(ConvolutionGeometry):
    """dx of y = conv(x, filter): each dy adds dy * filter to the window that it came from.

    `filter` is the one of the convolution: its output channels are the channels of dy, its depth
    times `groups` the channels of the result.
    """

    groups: ClassVar[AttrField[int]]

    def forward_dims(self, filter: Tensor) -> tuple[int, int, list[int], int]:
        """Cout, Cin/groups, kernel and groups of the convolution."""
        assert filter.shape is not None
        out, depth, *kernel = (filter.shape[i] for i in self.filter_axes(filter))
        if self.groups < 1 or (out != DYNAMIC and out % self.groups):
            raise VerifyException(
                f"filter has {out} output channels in {self.groups} groups, expected a multiple "
                "of the groups"
            )
        return out, depth, kernel, self.groups

    def forward_weight(self, filter: Array, tensor: Tensor) -> tuple[Array, int]:
        """filter as [Cout, Cin/groups, kernel...], and the groups."""
        return filter.transpose(self.filter_axes(tensor)), self.groups

    def output_paddings(self) -> Sequence[int]:
        """What is added at the end of each dimension, in data_format order."""
        return (0,) * len(self.data_format)

    def infer_dx(
        self, dy: Tensor, filter: Tensor, size: Size, name: str, bias: Tensor | None = None
    ) -> Tensor:
        """The result for a dy operand called `name`."""
        one_element_type(dy, filter)  # C5
        self.check_attributes()  # C1 C2 C3
        rank = len(self.data_format)
        if size is not None:  # C9
            self.check_size(size)
        unknown = self.in_format(DYNAMIC, DYNAMIC, (DYNAMIC,) * (rank - 2))
        shape = tuple(d or DYNAMIC for d in size) if size else unknown
        if dy.shape is not None:
            check_rank(dy.shape, rank, name)  # C4
            batch = merge_dim(dy.shape[0], shape[0], f"batches of {name} and input_size")  # C9
            shape = (batch, *shape[1:])
        if filter.shape is None:
            return with_layout(dy, product_dtype(dy.dtype), shape)
        check_rank(filter.shape, rank, "filter")  # C4
        out, depth, kernel, groups = self.forward_dims(filter)  # C7
        inputs = multiply_dims(depth, groups)
        check_channels(bias, inputs, "bias")  # C8
        what = "channels of input_size and of filter * groups"
        channels = merge_dim(self.channels_of(shape), inputs, what)  # C9
        spatial = [shape[axis] for axis in spatial_axes(self.data_format)]
        if dy.shape is not None:
            merge_dim(self.channels_of(dy.shape), out, f"channels of {name} and filter")  # C6
            if size is not None:
                spatial = self.placed(dy.shape, kernel, size)[1]  # C10
        shape = self.in_format(shape[0], channels, spatial)
        return with_layout(dy, product_dtype(dy.dtype), shape)

    def check_size(self, size: Sequence[int]) -> None:
        """input_size has one positive entry per dimension."""
        check_length(size, len(self.data_format), "input_size")
        if min(size) < 1:
            raise VerifyException(f"input_size is {list(size)}, expected positive entries")

    def placed(
        self, shape: Sequence[int], kernel: Sequence[int], size: Sequence[int]
    ) -> tuple[list[Window], list[int]]:
        """Windows (one per dy) and the size of the result over each spatial dimension."""
        axes = spatial_axes(self.data_format)
        whole = [size[axis] for axis in axes]
        pairs = [
            self.place(i, axis, shape[axis], kernel[i], whole[i]) for i, axis in enumerate(axes)
        ]
        return [window for window, _ in pairs], [total for _, total in pairs]

    def place(self, i: int, axis: int, count: int, kernel: int, size: int) -> tuple[Window, int]:
        """Windows and size over spatial dimension `i` for a `size` that is given."""
        pads = self.pads[2 * i : 2 * i + 2]
        mode = self.padding_mode()
        window = self.window(size, kernel, axis, pads, mode)
        if DYNAMIC in (count, kernel):
            return window, size
        extra = self.output_paddings()[axis] if mode == "EXPLICIT" else 0
        room = size + window.before + window.after - window.span - extra
        found = room // window.stride + 1
        if found != count:
            raise VerifyException(
                f"input_size {size} gives {found} windows along dimension {axis}, expected {count}"
            )
        return replace(window, count=count), size

    def value(self, dy: Array, filter: Array, tensor: Tensor, size: Sequence[int]) -> Array:
        """The result in data_format for a filter in the format of `tensor`."""
        weight, groups = self.forward_weight(filter, tensor)
        self.check_size(size)
        windows, sizes = self.placed(dy.shape, weight.shape[2:], size)
        dx = spread(channels_first(dy, self.data_format), weight, windows, groups, sizes)
        return channels_as(dx, self.data_format)


def size_of(op: Adjoint, tensor: Tensor) -> Size:
    """input_size of an op that has it as an operand, None while its values are unknown."""
    op.check_attributes()
    length = vector_length(tensor, "input_size")
    if length not in (DYNAMIC, len(op.data_format)):
        raise VerifyException(f"input_size has {length} entries, expected {len(op.data_format)}")
    return known_ints(op, "input_size")


class _BackpropInput(Adjoint):
    input_size = operand()
    filter = operand()
    out_backprop = operand()
    y = result()
    strides = integers()
    pads = integers()
    dilations = integers((1, 1, 1, 1))
    groups = integer(1)
    data_format = string("NHWC")

    def infer(self, input_size: Tensor, filter: Tensor, out_backprop: Tensor) -> Tensor:
        size = size_of(self, input_size)
        return self.infer_dx(out_backprop, filter, size, "out_backprop")

    def evaluate(self, input_size: Array, filter: Array, out_backprop: Array) -> Array:
        tensor = tensor_of(self.filter.type)
        return self.value(out_backprop, filter, tensor, ints_of(input_size))


class Conv2DBackpropInputOp(_BackpropInput):
    """The gradient of Conv2D in x for the gradient out_backprop of its y, here in NCHW:

        y[n, c, i*sh + u*dh - top, j*sw + v*dw - left] +=
            out_backprop[n, o, i, j] * filter[o, c, u, v]

    y has the shape that input_size holds; filter and attributes are the convolution's, and so are
    the node attributes `padding` and `auto_pad`. i8 operands give i32. C1: data_format is NCHW or
    NHWC. C2: strides, dilations and pads have 4 entries. C3: strides and dilations are positive
    and 1 for N and C, pads not negative. C4: out_backprop and filter have rank 4. C5: one element
    type. C6: out_backprop has filter's output channels. C7: groups divide these. C9: input_size
    has 4 positive entries, the batch of out_backprop and filter depth * groups channels. C10: a
    convolution of input_size has as many windows as out_backprop.
    """

    name = "ge.Conv2DBackpropInput"


class Conv3DBackpropInputOp(_BackpropInput):
    """The gradient of Conv3D in x: Conv2DBackpropInput over three spatial dimensions.

    C1: data_format is NDHWC or NCDHW. C2: strides and dilations have 5 entries, pads 6. C3:
    strides and dilations are positive and 1 for N and C, pads not negative. C4: out_backprop and
    filter have rank 5. C5: one element type. C6: out_backprop has filter's output channels. C7:
    groups divide these. C9: input_size has 5 positive entries, the batch of out_backprop and
    filter depth * groups channels. C10: a convolution of input_size has as many windows as
    out_backprop.
    """

    name = "ge.Conv3DBackpropInput"
    formats = ("NDHWC", "NCDHW")

    dilations = integers((1, 1, 1, 1, 1))
    data_format = string("NDHWC")


class Conv3DBackpropInputV2Op(Conv3DBackpropInputOp):
    """Conv3DBackpropInput, whose constraints hold; enable_hf32 changes no value here.

    C1: data_format is NDHWC or NCDHW. C9: input_size has 5 positive entries.
    """

    name = "ge.Conv3DBackpropInputV2"

    enable_hf32 = boolean(False)


class _BackpropInputD(Adjoint):
    filter = operand()
    out_backprop = operand()
    y = result()
    input_size = integers()
    strides = integers()
    pads = integers()
    dilations = integers((1, 1, 1, 1))
    groups = integer(1)
    data_format = string("NHWC")

    def infer(self, filter: Tensor, out_backprop: Tensor) -> Tensor:
        return self.infer_dx(out_backprop, filter, self.input_size, "out_backprop")

    def evaluate(self, filter: Array, out_backprop: Array) -> Array:
        tensor = tensor_of(self.filter.type)
        return self.value(out_backprop, filter, tensor, self.input_size)


class Conv2DBackpropInputDOp(_BackpropInputD):
    """Conv2DBackpropInput with input_size as an attribute, whose other constraints hold.

    C1: data_format is NCHW or NHWC. C9: input_size has 4 positive entries, the batch of
    out_backprop and filter depth * groups channels. C10: a convolution of input_size has as many
    windows as out_backprop.
    """

    name = "ge.Conv2DBackpropInputD"


class Conv3DBackpropInputDOp(_BackpropInputD):
    """Conv3DBackpropInput with input_size as an attribute, whose other constraints hold.

    C1: data_format is NDHWC or NCDHW. C9: input_size has 5 positive entries, the batch of
    out_backprop and filter depth * groups channels. C10: a convolution of input_size has as many
    windows as out_backprop.
    """

    name = "ge.Conv3DBackpropInputD"
    formats = ("NDHWC", "NCDHW")

    dilations = integers((1, 1, 1, 1, 1))
    data_format = string("NDHWC")


class DepthwiseAdjoint(Adjoint):
    """The adjoint of DepthwiseConv2D: filter is [kh, kw, C, K], dy has C*K channels."""

    def forward_dims(self, filter: Tensor) -> tuple[int, int, list[int], int]:
        assert filter.shape is not None
        *kernel, channels, many = filter.shape
        return multiply_dims(channels, many), 1, kernel, channels

    def forward_weight(self, filter: Array, tensor: Tensor) -> tuple[Array, int]:
        high, wide, channels, many = filter.shape
        weight = filter.transpose(2, 3, 0, 1).reshape(channels * many, 1, high, wide)
        return weight, channels


class DepthwiseConv2DBackpropInputOp(DepthwiseAdjoint):
    """The gradient of DepthwiseConv2D in x for the gradient out_backprop of its y.

    filter is [kh, kw, C, K], out_backprop has the C*K channels of y. C1: data_format is NCHW or
    NHWC. C2: strides, dilations and pads have 4 entries. C3: strides and dilations are positive
    and 1 for N and C, pads not negative. C4: out_backprop and filter have rank 4. C5: one element
    type. C6: out_backprop has C*K channels. C9: input_size has 4 positive entries, the batch of
    out_backprop and C channels. C10: a convolution of input_size has as many windows as
    out_backprop.
    """

    name = "ge.DepthwiseConv2DBackpropInput"

    input_size = operand()
    filter = operand()
    out_backprop = operand()
    input_grad = result()
    strides = integers()
    dilations = integers((1, 1, 1, 1))
    pads = integers()
    data_format = string("NHWC")

    def infer(self, input_size: Tensor, filter: Tensor, out_backprop: Tensor) -> Tensor:
        size = size_of(self, input_size)
        return self.infer_dx(out_backprop, filter, size, "out_backprop")

    def evaluate(self, input_size: Array, filter: Array, out_backprop: Array) -> Array:
        tensor = tensor_of(self.filter.type)
        return self.value(out_backprop, filter, tensor, ints_of(input_size))


class DepthwiseConv2DBackpropInputDOp(DepthwiseAdjoint):
    """DepthwiseConv2DBackpropInput with input_size as an attribute.

    C1: data_format is NCHW or NHWC. C9: input_size has 4 positive entries, the batch of
    out_backprop and C channels. C10: a convolution of input_size has as many windows as
    out_backprop.
    """

    name = "ge.DepthwiseConv2DBackpropInputD"

    filter = operand()
    out_backprop = operand()
    input_grad = result()
    input_size = integers()
    strides = integers()
    dilations = integers((1, 1, 1, 1))
    pads = integers()
    data_format = string("NHWC")

    def infer(self, filter: Tensor, out_backprop: Tensor) -> Tensor:
        return self.infer_dx(out_backprop, filter, self.input_size, "out_backprop")

    def evaluate(self, filter: Array, out_backprop: Array) -> Array:
        tensor = tensor_of(self.filter.type)
        return self.value(out_backprop, filter, tensor, self.input_size)


class Transposed(Adjoint):
    """The adjoint as a layer: zeros in input_size are computed, bias is added."""

    output_padding: ClassVar[AttrField[Sequence[int]]]

    def output_paddings(self) -> Sequence[int]:
        return self.output_padding

    def check_attributes(self) -> None:
        super().check_attributes()
        extra = self.output_paddings()
        check_length(extra, len(self.data_format), "output_padding")  # C11
        if min(extra) < 0 or extra[0] or self.channels_of(extra):
            raise VerifyException(
                f"output_padding is {list(extra)}, expected none negative and 0 for N and C"
            )

    def check_size(self, size: Sequence[int]) -> None:
        check_length(size, len(self.data_format), "input_size")
        spatial = {size[axis] > 0 for axis in spatial_axes(self.data_format)}
        if min(size) < 0 or len(spatial) > 1:
            raise VerifyException(
                f"input_size is {list(size)}, expected spatial sizes that are all positive or all 0"
            )

    def place(self, i: int, axis: int, count: int, kernel: int, size: int) -> tuple[Window, int]:
        if size:
            return super().place(i, axis, count, kernel, size)
        stride, dilation = self.full_strides()[axis], self.dilations[axis]
        mode = self.padding_mode()
        before, after = self.pads[2 * i : 2 * i + 2] if mode == "EXPLICIT" else (0, 0)
        wanted = self.wanted_size(i)
        if DYNAMIC in (count, kernel):
            return Window(kernel, stride, dilation, before, after), wanted or DYNAMIC
        span = (kernel - 1) * dilation + 1
        free = stride * (count - 1) + self.output_paddings()[axis] + span
        if mode.startswith("SAME"):
            size = wanted or stride * count
            small, large = max(free - size, 0) // 2, (max(free - size, 0) + 1) // 2
            before, after = (large, small) if mode == "SAME_LOWER" else (small, large)
        else:
            size = free - before - after
            if wanted and wanted < size:
                raise VerifyException(f"output_shape is {wanted}, expected at least {size}")
            size = wanted or size
        if size < 1:
            raise VerifyException(f"result has size {size} along dimension {axis}, expected >= 1")
        return Window(kernel, stride, dilation, before, after, count), size

    def wanted_size(self, i: int) -> int:
        """The entry of the node attribute `output_shape` for spatial dimension `i`, 0 if none."""
        attr = self.attributes.get("ge.output_shape")
        if attr is None:
            return 0
        values = decode(attr)
        n = len(self.data_format) - 2
        if not isinstance(values, tuple) or len(cast("tuple[int, ...]", values)) != n:
            raise VerifyException(f"output_shape is {values}, expected {n} sizes")
        return int(cast("tuple[int, ...]", values)[i])

    def with_bias(self, y: Array, bias: Array | None) -> Array:
        """y with one number per channel added, in place."""
        if bias is None:
            return y
        shape = [1] * y.ndim
        shape[self.data_format.index("C")] = -1
        y += bias.reshape(shape).astype(y.dtype, copy=False)
        return y


def _refuse_offsets(x: Tensor, offset_w: Tensor | None, offset_x: int) -> None:
    if offset_w is not None:
        raise VerifyException("offset_w is given, expected none: GE reserves it")
    if offset_x and x.dtype is DataType.DT_INT8:
        raise VerifyException(f"offset_x is {offset_x}, expected 0 for DT_INT8")


class _Transpose(Transposed):
    input_size = operand()
    x = operand()
    filter = operand()
    bias = optional()
    offset_w = optional()
    y = result()
    strides = integers()
    pads = integers()
    dilations = integers((1, 1, 1, 1))
    groups = integer(1)
    data_format = string("NHWC")
    output_padding = integers((0, 0, 0, 0))
    offset_x = integer(0)

    def infer(
        self,
        input_size: Tensor,
        x: Tensor,
        filter: Tensor,
        bias: Tensor | None,
        offset_w: Tensor | None,
    ) -> Tensor:
        _refuse_offsets(x, offset_w, self.offset_x)  # C12
        return self.infer_dx(x, filter, size_of(self, input_size), "x", bias)

    def evaluate(
        self,
        input_size: Array,
        x: Array,
        filter: Array,
        bias: Array | None,
        offset_w: Array | None,
    ) -> Array:
        y = self.value(x, filter, tensor_of(self.filter.type), ints_of(input_size))
        return self.with_bias(y, bias)


class Conv2DTransposeOp(_Transpose):
    """A transposed convolution: the adjoint of Conv2D plus bias, here in NCHW:

        y[n, c, i*sh + u*dh - top, j*sw + v*dw - left] += x[n, o, i, j] * filter[o, c, u, v]

    filter is the one of the Conv2D: its output channels are the channels of x, its depth times
    groups those of y. y is input_size; where input_size is 0 it is s*(h-1) + output_padding + span
    - pads (spatial), the batch of x, filter depth * groups. The node attribute `output_shape`
    raises the spatial sizes, `padding` and `auto_pad` replace pads (SAME gives s*h). i8 operands
    give i32. C1: data_format is NCHW or NHWC. C2: strides, dilations and pads have 4 entries. C3:
    strides and dilations are positive and 1 for N and C, pads not negative. C4: x and filter have
    rank 4. C5: one element type. C6: x has filter's output channels. C7: groups divide these. C8:
    bias has one entry per channel of y. C9: input_size has 4 entries, no negative one, spatial ones
    all positive or all 0, batch and channels that fit. C10: a convolution of y has as many windows
    as x, y is not empty, output_shape no smaller. C11: output_padding has 4 entries, none negative,
    0 for N and C. C12: no offset_w, and offset_x 0 for i8 (floats ignore it).
    """

    name = "ge.Conv2DTranspose"


class Conv3DTransposeOp(_Transpose):
    """Conv2DTranspose over three spatial dimensions.

    C1: data_format is NDHWC or NCDHW. C2: strides and dilations have 5 entries, pads 6. C3: strides
    and dilations are positive and 1 for N and C, pads not negative. C4: x and filter have rank 5.
    C5: one element type. C6: x has filter's output channels. C7: groups divide these. C8: bias has
    one entry per channel of y. C9: input_size has 5 entries, no negative one, spatial ones all
    positive or all 0, batch and channels that fit. C10: a convolution of y has as many windows as
    x. C11: output_padding has 5 entries, none negative, 0 for N and C. C12: no offset_w, and
    offset_x 0 for i8 (floats ignore it).
    """

    name = "ge.Conv3DTranspose"
    formats = ("NDHWC", "NCDHW")

    dilations = integers((1, 1, 1, 1, 1))
    data_format = string("NDHWC")
    output_padding = integers((0, 0, 0, 0, 0))


class Conv3DTransposeV2Op(Conv3DTransposeOp):
    """Conv3DTranspose, whose other constraints hold; enable_hf32 changes no value here.

    C1: data_format is NDHWC or NCDHW. C11: output_padding has 5 entries. C12: no offset_w, and
    offset_x 0 for i8 (floats ignore it).
    """

    name = "ge.Conv3DTransposeV2"

    enable_hf32 = boolean(False)


class _TransposeD(Transposed):
    x = operand()
    filter = operand()
    bias = optional()
    offset_w = optional()
    y = result()
    input_size = integers()
    strides = integers()
    pads = integers()
    dilations = integers((1, 1, 1, 1))
    groups = integer(1)
    data_format = string("NHWC")
    output_padding = integers((0, 0, 0, 0))
    offset_x = integer(0)

    def infer(
        self, x: Tensor, filter: Tensor, bias: Tensor | None, offset_w: Tensor | None
    ) -> Tensor:
        _refuse_offsets(x, offset_w, self.offset_x)  # C12
        return self.infer_dx(x, filter, self.input_size, "x", bias)

    def evaluate(
        self, x: Array, filter: Array, bias: Array | None, offset_w: Array | None
    ) -> Array:
        y = self.value(x, filter, tensor_of(self.filter.type), self.input_size)
        return self.with_bias(y, bias)


class Conv2DTransposeDOp(_TransposeD):
    """Conv2DTranspose with input_size as an attribute, whose other constraints hold.

    C1: data_format is NCHW or NHWC. C9: input_size has 4 entries, no negative one, spatial ones all
    positive or all 0. C11: output_padding has 4 entries. C12: no offset_w, and offset_x 0 for i8
    (floats ignore it).
    """

    name = "ge.Conv2DTransposeD"


class Conv3DTransposeDOp(_TransposeD):
    """Conv3DTranspose with input_size as an attribute, whose other constraints hold.

    C1: data_format is NDHWC or NCDHW. C9: input_size has 5 entries, no negative one, spatial ones
    all positive or all 0. C11: output_padding has 5 entries. C12: no offset_w, and offset_x 0 for
    i8 (floats ignore it).
    """

    name = "ge.Conv3DTransposeD"
    formats = ("NDHWC", "NCDHW")

    dilations = integers((1, 1, 1, 1, 1))
    data_format = string("NDHWC")
    output_padding = integers((0, 0, 0, 0, 0))


class DeconvolutionOp(Transposed):
    """Caffe's deconvolution: Conv2DTranspose in NCHW with a computed size and strides [h, w].

    y = [N, filter depth * groups, s*(h-1) + span - pads, ...]. i8 operands give i32. C1:
    data_format is NCHW. C2: strides have 2 entries, dilations and pads 4. C3: strides and dilations
    are positive, pads not negative. C4: x and filter have rank 4. C5: one element type. C6: x has
    filter's output channels. C7: groups divide these. C8: bias has one entry per channel of y. C10:
    y is not empty. C12: no offset_w, and offset_x 0 for i8 (floats ignore it).
    """

    name = "ge.Deconvolution"
    formats = ("NCHW",)

    x = operand()
    filter = operand()
    bias = optional()
    offset_w = optional()
    y = result()
    strides = integers((1, 1))
    pads = integers((0, 0, 0, 0))
    dilations = integers((1, 1, 1, 1))
    groups = integer(1)
    data_format = string("NCHW")
    offset_x = integer(0)

    def output_paddings(self) -> Sequence[int]:
        return (0, 0, 0, 0)

    def full_strides(self) -> Sequence[int]:
        check_length(self.strides, 2, "strides")  # C2
        return (1, 1, *self.strides)

    def infer(
        self, x: Tensor, filter: Tensor, bias: Tensor | None, offset_w: Tensor | None
    ) -> Tensor:
        _refuse_offsets(x, offset_w, self.offset_x)  # C12
        return self.infer_dx(x, filter, (0, 0, 0, 0), "x", bias)

    def evaluate(
        self, x: Array, filter: Array, bias: Array | None, offset_w: Array | None
    ) -> Array:
        y = self.value(x, filter, tensor_of(self.filter.type), (0, 0, 0, 0))
        return self.with_bias(y, bias)
