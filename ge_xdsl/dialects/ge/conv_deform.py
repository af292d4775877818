"""Deformable convolution: windows whose elements are displaced by offsets and scaled by masks."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, ClassVar

from xdsl.utils.exceptions import VerifyException

from ge_xdsl.dialects.ge.conv_geometry import ConvolutionGeometry, check_groups, correlate
from ge_xdsl.dialects.ge.elements import one_element_type
from ge_xdsl.dialects.ge.fields import AttrField
from ge_xdsl.dialects.ge.op import boolean, integer, integers, operand, optional, result, string
from ge_xdsl.dialects.ge.operands import check_channels, check_length, check_rank, with_layout
from ge_xdsl.dialects.ge.sampling import linear
from ge_xdsl.dialects.ge.shapes import merge_dim, shape_text
from ge_xdsl.dialects.ge.types import DYNAMIC, Tensor, tensor_of
from ge_xdsl.dialects.ge.windows import Window, channels_as, channels_first, spatial_axes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ge_xdsl.dialects.ge.types import Array


class _Deformed(ConvolutionGeometry):
    """Offsets hold three blocks of deformable_groups * kh * kw channels: x, y and mask."""

    deformable_groups: ClassVar[AttrField[int]]
    modulated: ClassVar[AttrField[bool]]

    def check_offsets(self, x: Tensor, offsets: Tensor, kernel: Sequence[int]) -> Sequence[int]:
        """The windows' counts [oh, ow]; raises when offsets do not fit."""
        if not self.modulated:  # C6
            raise VerifyException("modulated is false, expected true")
        if self.deformable_groups < 1:  # C7
            raise VerifyException(
                f"deformable_groups is {self.deformable_groups}, expected at least 1"
            )
        for tensor, name in ((x, "x"), (offsets, "offsets")):  # C4
            if tensor.shape is not None:
                check_rank(tensor.shape, 4, name)
        image, moved = x.shape or (DYNAMIC,) * 4, offsets.shape or (DYNAMIC,) * 4
        merge_dim(image[0], moved[0], "batches of x and offsets")  # C8
        channels = self.channels_of(image)
        if channels != DYNAMIC and channels % self.deformable_groups:  # C7
            raise VerifyException(
                f"x has {channels} channels, expected a multiple of {self.deformable_groups}"
            )
        wanted = DYNAMIC
        if DYNAMIC not in kernel:
            wanted = 3 * self.deformable_groups * kernel[0] * kernel[1]
        merge_dim(self.channels_of(moved), wanted, "channels of offsets and of the kernel")  # C9
        counts = [window.count for window in self.windows(image, kernel)]
        axes = spatial_axes(self.data_format)
        what = "sizes of offsets and windows"
        return [merge_dim(moved[a], n, what) for a, n in zip(axes, counts, strict=True)]  # C10

    def gathered(self, x: Array, offsets: Array, kernel: Sequence[int]) -> Array:
        """[N, C, kh, kw, oh, ow]: what each displaced kernel element reads, times its mask."""
        planes = channels_first(x, self.data_format)
        moved = channels_first(offsets, self.data_format)
        n, c, high, wide = planes.shape
        groups, taps = self.deformable_groups, kernel[0] * kernel[1]
        oh, ow = moved.shape[2:]
        blocks = moved.reshape(n, 3, groups, taps, oh, ow).swapaxes(1, 2)
        blocks = blocks.reshape(n * groups, 3, taps * oh * ow)
        base = self._places(x.shape, kernel)
        rows = base[0].reshape(1, -1) + blocks[:, 1]
        columns = base[1].reshape(1, -1) + blocks[:, 0]
        parts = planes.reshape(n * groups, c // groups, high, wide)
        found = linear(parts, (rows, columns)) * blocks[:, 2:3]
        return found.reshape(n, c, *kernel, oh, ow)

    def _places(self, shape: Sequence[int], kernel: Sequence[int]) -> tuple[Array, Array]:
        """[kh, kw, oh, ow] twice: the undisplaced row and column of each kernel element."""
        import numpy as np

        first, second = (_along(window) for window in self.windows(shape, kernel))
        rows, columns = np.broadcast_arrays(first[:, None, :, None], second[None, :, None, :])
        return rows, columns


def _along(window: Window) -> Array:
    """[kernel, count] f32: position of each kernel element in each window."""
    import numpy as np

    taps, places = np.arange(window.kernel) * window.dilation, np.arange(window.count)
    found = places[None, :] * window.stride + taps[:, None] - window.before
    return found.astype(np.float32)


class DeformableOffsetsOp(_Deformed):
    """Each kernel element of each window on its own, displaced by an offset and scaled by a mask:

        y[n, c, i*kh + a, j*kw + b] = mask * x[n, c] at
            (i*sh + a*dh - top + offset_y, j*sw + b*dw - left + offset_x)

    read bilinearly, 0 outside. The channels of offsets are three blocks of [deformable_groups,
    kh, kw]: the x offsets, the y offsets, the masks. C1: data_format is NCHW or NHWC. C2: strides,
    dilations and pads have 4 entries, ksize 2. C3: strides and dilations are positive and 1 for N
    and C, pads not negative, ksize positive. C4: x and offsets have rank 4. C5: one element type.
    C6: modulated is true. C7: deformable_groups divide the channels. C8: one batch. C9: offsets
    have 3 * deformable_groups * kh * kw channels. C10: offsets have one place per window.
    """

    name = "ge.DeformableOffsets"

    x = operand()
    offsets = operand()
    strides = integers()
    pads = integers()
    ksize = integers()
    dilations = integers((1, 1, 1, 1))
    data_format = string("NHWC")
    deformable_groups = integer(1)
    modulated = boolean(True)
    y = result()

    def infer(self, x: Tensor, offsets: Tensor) -> Tensor:
        one_element_type(x, offsets)  # C5
        self.check_attributes()  # C1 C2 C3
        check_length(self.ksize, 2, "ksize")  # C2
        if min(self.ksize) < 1:  # C3
            raise VerifyException(f"ksize is {list(self.ksize)}, expected positive entries")
        counts = self.check_offsets(x, offsets, self.ksize)
        image = x.shape or (DYNAMIC,) * 4
        sizes = [
            DYNAMIC if n == DYNAMIC else n * k for n, k in zip(counts, self.ksize, strict=True)
        ]
        return with_layout(x, x.dtype, self.in_format(image[0], self.channels_of(image), sizes))

    def evaluate(self, x: Array, offsets: Array) -> Array:
        found = self.gathered(x, offsets, self.ksize)
        n, c, high, wide, oh, ow = found.shape
        y = found.transpose(0, 1, 4, 2, 5, 3).reshape(n, c, oh * high, ow * wide)
        return channels_as(y, self.data_format)


class DeformableConv2DOp(_Deformed):
    """A convolution whose kernel elements are displaced and scaled as in DeformableOffsets:

        y[n, o, i, j] = bias[o] + sum over c, a, b of filter[o, c, a, b] * mask * x[n, c] at
            (i*sh + a*dh - top + offset_y, j*sw + b*dw - left + offset_x)

    filter is NCHW or, in an NHWC convolution, HWCN, unless its type names a format. C1:
    data_format is NCHW or NHWC. C2: strides, dilations and pads have 4 entries. C3: strides and
    dilations are positive and 1 for N and C, pads not negative. C4: x, filter and offsets have
    rank 4. C5: one element type. C6: modulated is true. C7: deformable_groups divide the
    channels. C8: one batch. C9: offsets have 3 * deformable_groups * kh * kw channels. C10:
    offsets have one place per window. C11: x has filter depth * groups channels, groups divide
    the output channels. C12: bias has one entry per output channel.
    """

    name = "ge.DeformableConv2D"

    x = operand()
    filter = operand()
    offsets = operand()
    bias = optional()
    strides = integers()
    pads = integers()
    dilations = integers((1, 1, 1, 1))
    groups = integer(1)
    data_format = string("NHWC")
    deformable_groups = integer(1)
    modulated = boolean(True)
    y = result()

    def infer(self, x: Tensor, filter: Tensor, offsets: Tensor, bias: Tensor | None) -> Tensor:
        one_element_type(x, filter, offsets, bias)  # C5
        self.check_attributes()  # C1 C2 C3
        if filter.shape is None:
            counts = self.check_offsets(x, offsets, (DYNAMIC, DYNAMIC))
            out = DYNAMIC
        else:
            if len(filter.shape) != 4:  # C4
                raise VerifyException(f"filter is {shape_text(filter.shape)}, expected rank 4")
            out, depth, *kernel = (filter.shape[i] for i in self.filter_axes(filter))
            check_channels(bias, out, "bias")  # C12
            counts = self.check_offsets(x, offsets, kernel)
            inputs = DYNAMIC if x.shape is None else self.channels_of(x.shape)
            check_groups(inputs, depth, out, self.groups)  # C11
        batch = DYNAMIC if x.shape is None else x.shape[0]
        return with_layout(x, x.dtype, self.in_format(batch, out, counts))

    def evaluate(self, x: Array, filter: Array, offsets: Array, bias: Array | None) -> Array:
        weight = filter.transpose(self.filter_axes(tensor_of(self.filter.type)))
        found = self.gathered(x, offsets, weight.shape[2:])
        n, c, high, wide, oh, ow = found.shape
        # Every kernel element as a channel of its own: a pointwise product per place.
        columns = found.reshape(n, c * high * wide, oh, ow)
        matrix = weight.reshape(weight.shape[0], prod(weight.shape[1:]), 1, 1)
        windows = (Window(1, count=oh), Window(1, count=ow))
        y = correlate(columns, matrix, windows, self.groups)
        if bias is not None:
            y += bias.reshape(1, -1, 1, 1)
        return channels_as(y, self.data_format)
