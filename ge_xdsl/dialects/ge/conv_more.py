"""Further convolutions: three dimensions, a padding mode, requantised results, deformed windows."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from xdsl.utils.exceptions import VerifyException

from ge_xdsl.dialects.ge.conv import GroupedConvolution
from ge_xdsl.dialects.ge.conv_geometry import correlate, known_mode, result_name
from ge_xdsl.dialects.ge.elements import convert, one_element_type
from ge_xdsl.dialects.ge.fields import AttrField
from ge_xdsl.dialects.ge.matmul import product_dtype
from ge_xdsl.dialects.ge.op import (
    GeOp,
    boolean,
    integer,
    integers,
    operand,
    optional,
    result,
    string,
)
from ge_xdsl.dialects.ge.operands import check_rank
from ge_xdsl.dialects.ge.rounding import chosen, chosen_type
from ge_xdsl.dialects.ge.shapes import merge_dim
from ge_xdsl.dialects.ge.types import DYNAMIC, DataType, Tensor, numpy_dtype, tensor_of
from ge_xdsl.dialects.ge.windows import Window, window_count

if TYPE_CHECKING:
    from ge_xdsl.dialects.ge.types import Array


class Conv3DOp(GroupedConvolution):
    """Conv2D over three spatial dimensions: x NCDHW or NDHWC, filter NCDHW or DHWCN.

    C1: data_format is NDHWC or NCDHW. C2: strides and dilations have 5 entries, pads 6 ([front,
    back, top, bottom, left, right]). C3: strides and dilations are positive and 1 for N and C,
    pads not negative. C4: x and filter have rank 5. C5: one element type. C6: the channels of x
    are filter depth * groups (groups = 1 stands for any number that divides). C7: groups divide
    the output channels. C8: bias has one entry per output channel. C9: no offset_w. C10: the
    window fits the padded input.
    """

    name = "ge.Conv3D"
    formats = ("NDHWC", "NCDHW")

    bias = optional()
    offset_w = optional()
    dilations = integers((1, 1, 1, 1, 1))
    data_format = string("NDHWC")
    y = result()

    def infer(
        self, x: Tensor, filter: Tensor, bias: Tensor | None, offset_w: Tensor | None
    ) -> Tensor:
        return self.infer_y(x, filter, bias, offset_w)

    def evaluate(
        self, x: Array, filter: Array, bias: Array | None, offset_w: Array | None
    ) -> Array:
        return self.value(x, filter, bias)


_PAD_MODES = ("SPECIFIC", "SAME", "SAME_UPPER", "SAME_LOWER", "VALID")


class _PadMode(GroupedConvolution):
    """Padding from the attribute pad_mode; groups stand as they are."""

    pads = integers((0, 0, 0, 0))
    data_format = string("NCHW")
    pad_mode: ClassVar[AttrField[str]]

    adjusts_groups = False

    def padding_mode(self) -> str:
        if self.pad_mode not in _PAD_MODES:
            known = ", ".join(_PAD_MODES)
            raise VerifyException(f"pad_mode is '{self.pad_mode}', expected one of {known}")
        return known_mode(self.pad_mode, "pad_mode")


class Conv2DV2Op(_PadMode):
    """Conv2D whose padding is pad_mode: SPECIFIC takes pads, SAME, SAME_UPPER, SAME_LOWER, VALID.

    The other constraints are those of Conv2D; groups stand as they are. C11: pad_mode is known.
    enable_hf32 allows coarser products, which are not modelled.
    """

    name = "ge.Conv2DV2"

    bias = optional()
    offset_w = optional()
    pad_mode = string("SPECIFIC")
    enable_hf32 = boolean(False)
    y = result()

    def infer(
        self, x: Tensor, filter: Tensor, bias: Tensor | None, offset_w: Tensor | None
    ) -> Tensor:
        return self.infer_y(x, filter, bias, offset_w)

    def evaluate(
        self, x: Array, filter: Array, bias: Array | None, offset_w: Array | None
    ) -> Array:
        return self.value(x, filter, bias)


class Conv3DV2Op(_PadMode):
    """Conv3D whose padding is pad_mode, in floats; groups stand as they are.

    The other constraints are those of Conv3D. C11: pad_mode is known. C12: no scale and no offset,
    which belong to quantised operands. enable_hf32 allows coarser products, which are not modelled.
    """

    name = "ge.Conv3DV2"
    formats = ("NCDHW", "NDHWC")

    bias = optional()
    scale = optional()
    offset = optional()
    offset_w = optional()
    pads = integers((0, 0, 0, 0, 0, 0))
    dilations = integers((1, 1, 1, 1, 1))
    data_format = string("NCDHW")
    pad_mode = string("SPECIFIC")
    enable_hf32 = boolean(False)
    y = result()

    def infer(
        self,
        x: Tensor,
        filter: Tensor,
        bias: Tensor | None,
        scale: Tensor | None,
        offset: Tensor | None,
        offset_w: Tensor | None,
    ) -> Tensor:
        if scale is not None or offset is not None:  # C12
            raise VerifyException("scale or offset is given, expected neither")
        return self.infer_y(x, filter, bias, offset_w)

    def evaluate(self, x: Array, filter: Array, bias: Array | None, *rest: Array | None) -> Array:
        return self.value(x, filter, bias)


def packed_scales(scale: Array, channels: int) -> Array:
    """f32 scales from 64-bit words whose low half holds them; one is repeated per channel."""
    import numpy as np

    low = (scale.reshape(-1).astype(np.uint64) & np.uint64(0xFFFFFFFF)).astype(np.uint32)
    values = low.view(np.float32)
    if values.size not in (1, channels):
        raise ValueError(f"scale has {values.size} entries, expected 1 or {channels}")
    return np.broadcast_to(values, (channels,))


class ExtendConv2DOp(_PadMode):
    """Conv2D and requantisation: y0 = convert(relu0((conv(x, filter) + bias) * scale0)).

    scale0 holds 64-bit words whose low 32 bits are the f32 scale, one or one per channel;
    enable_relu0 cuts at 0; the result is rounded to nearest even and saturated to dtype0 (a GE type
    number, -1 for the type of x). y1 repeats y0 in type and value, since dual_output is refused.
    pad_mode and groups are Conv2DV2's, as are the other constraints. C11: pad_mode is known. C12:
    scale0 has one entry or one per channel. C13: dual_output is false and scale1 missing. C14:
    round_mode is rint. C15: no relu_weight and no clip_value: they have no effect. C16: dtype0 is
    -1 or the number of f32, f16, i8 or bf16. So enable_relu1 and dtype1, which belong to the second
    output, have no effect, nor has enable_hf32, which allows coarser products.
    """

    name = "ge.ExtendConv2D"

    bias = optional()
    offset_w = optional()
    scale0 = optional()
    relu_weight0 = optional()
    clip_value0 = optional()
    scale1 = optional()
    relu_weight1 = optional()
    clip_value1 = optional()
    y0 = result()
    y1 = result()
    round_mode = string("rint")
    pad_mode = string("SPECIFIC")
    enable_hf32 = boolean(False)
    enable_relu0 = boolean(False)
    enable_relu1 = boolean(False)
    dual_output = boolean(False)
    dtype0 = integer(-1)
    dtype1 = integer(-1)

    def infer(
        self,
        x: Tensor,
        filter: Tensor,
        bias: Tensor | None,
        offset_w: Tensor | None,
        scale0: Tensor | None,
        *rest: Tensor | None,
    ) -> list[Tensor]:
        if self.dual_output or rest[2] is not None:  # C13
            raise VerifyException("dual_output or scale1 is given, expected one output")
        if self.round_mode != "rint":  # C14
            raise VerifyException(f"round_mode is '{self.round_mode}', expected 'rint'")
        if any(tensor is not None for tensor in rest):  # C15
            raise VerifyException("relu_weight or clip_value is given, expected neither")
        y = self.infer_y(x, filter, bias, offset_w)
        known = (-1, 0, 1, 2, 27)
        if self.dtype0 not in known:  # C16
            raise VerifyException(f"dtype0 is {self.dtype0}, expected one of {list(known)}")
        channels = DYNAMIC if y.shape is None else self.channels_of(y.shape)
        entries = None if scale0 is None else scale0.size()
        if channels != DYNAMIC and entries not in (None, 1, channels):  # C12
            raise VerifyException(f"scale0 has {entries} entries, expected 1 or {channels}")
        y = y.with_dtype(x.dtype if self.dtype0 == -1 else DataType(self.dtype0))
        return [y, y]

    def evaluate(
        self,
        x: Array,
        filter: Array,
        bias: Array | None,
        offset_w: Array | None,
        scale0: Array | None,
        *rest: Array | None,
    ) -> list[Array]:
        y = self.value(x, filter, bias)
        if scale0 is not None:
            shape = [1] * y.ndim
            shape[self.data_format.index("C")] = -1
            channels = y.shape[self.data_format.index("C")]
            y = y.astype("float32") * packed_scales(scale0, channels).reshape(shape)
        if self.enable_relu0:
            y = y.clip(0)
        y = requantised(y, tensor_of(self.y0.type).dtype)
        return [y, y.copy()]


def requantised(y: Array, dtype: DataType) -> Array:
    """Rounded to nearest even and saturated for integers; halves are left to the caller in f32."""
    import numpy as np

    wanted = numpy_dtype(dtype)
    if wanted.kind in "iu":
        return convert(np.rint(y.astype(np.float32)), wanted)
    return y.astype(np.float32 if wanted.itemsize == 2 else wanted)


class CorrelationOp(GeOp):
    """Each image with its own filter, stride 1 and no padding (NCHW):

        y[n, g, i, j] = sum over the channels c of group g, and u, v, of
            x[n, c, i + u, j + v] * filter[n, c, u, v]

    groups = 1 sums over all channels, groups = C over none. i8 operands give i32. C1: filter and
    x have rank 4. C2: one batch and one number of channels. C3: groups is 1 or the channels.
    C4: filter fits x. C5: one element type.
    """

    name = "ge.Correlation"

    filter = operand()
    x = operand()
    groups = integer(1)
    y = result()

    widens = True

    def infer(self, filter: Tensor, x: Tensor) -> Tensor:
        one_element_type(filter, x)  # C5
        dtype = product_dtype(x.dtype)
        for tensor, name in ((filter, "filter"), (x, "x")):  # C1
            if tensor.shape is not None:
                check_rank(tensor.shape, 4, name)
        f, s = filter.shape or (DYNAMIC,) * 4, x.shape or (DYNAMIC,) * 4
        batch = merge_dim(f[0], s[0], "batches of filter and x")  # C2
        channels = merge_dim(f[1], s[1], "channels of filter and x")
        if self.groups != 1 and channels != DYNAMIC and self.groups != channels:  # C3
            raise VerifyException(f"groups is {self.groups}, expected 1 or {channels}")
        if self.groups < 1:
            raise VerifyException(f"groups is {self.groups}, expected 1 or the channels")
        counts = [
            window_count(size, Window(kernel)) for size, kernel in zip(s[2:], f[2:], strict=True)
        ]  # C4
        return Tensor(dtype, (batch, self.groups, *counts))

    def evaluate(self, filter: Array, x: Array) -> Array:
        import numpy as np

        n, c, *sizes = x.shape
        kernel = filter.shape[2:]
        windows = [Window(k, count=size - k + 1) for k, size in zip(kernel, sizes, strict=True)]
        counts = [w.count for w in windows]
        if x.size == 0:
            return np.zeros((n, self.groups, *counts), result_name(x))
        groups, depth = (n, c) if self.groups == 1 else (n * c, 1)
        planes, weight = x.reshape(1, n * c, *sizes), filter.reshape(groups, depth, *kernel)
        y = correlate(planes, weight, windows, groups)
        return y.reshape(n, self.groups, *counts)


class _TypedResult(GeOp):
    """The element type of the result, before the attributes of the convolution."""

    dtype = integer()


class QuantConv2DOp(GroupedConvolution, _TypedResult):
    """y = (conv(x, filter) + bias) * scale in the type `dtype`; the values are unconfirmed

    scale holds 64-bit words, one or one per output channel. Operands, attributes and constraints C1
    to C8 and C10 are Conv2D's (C1 data_format, C2 entry counts, C3 positive strides, C4 rank, C5
    element type, C6 channels, C7 groups, C8 bias, C10 window). C11: scale has one entry or one per
    output channel. C12: dtype is the number of f32, f16, bf16, hif8 or f8e4m3fn. C13: round_mode is
    rint or round.
    """

    name = "ge.QuantConv2D"

    scale = operand()
    bias = optional()
    offset = optional()
    y = result()
    data_format = string("NCHW")
    round_mode = string("rint")

    def infer(
        self, x: Tensor, filter: Tensor, scale: Tensor, bias: Tensor | None, offset: Tensor | None
    ) -> Tensor:
        chosen(self.round_mode, "round_mode", ("rint", "round"))  # C13
        dtype = chosen_type(self.dtype, "dtype", _QUANT_RESULTS)  # C12
        y = self.infer_y(x, filter, bias, None)
        channels = DYNAMIC if y.shape is None else self.channels_of(y.shape)
        entries = scale.size()
        if channels != DYNAMIC and entries not in (None, 1, channels):  # C11
            raise VerifyException(f"scale has {entries} entries, expected 1 or {channels}")
        return y.with_dtype(dtype)


_QUANT_RESULTS = (
    DataType.DT_FLOAT,
    DataType.DT_FLOAT16,
    DataType.DT_BF16,
    DataType.DT_HIFLOAT8,
    DataType.DT_FLOAT8_E4M3FN,
)
