"""Quantisation and its inverse. Codes round half to even and saturate unless an op says otherwise.

A scale of u64 or i64 holds an f32 in its low half, of which the 19 highest bits count.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from xdsl.utils.exceptions import VerifyException

from ge_xdsl.dialects.ge.elements import one_element_type, require
from ge_xdsl.dialects.ge.fields import boolean, floating, integer, operand, optional, result, string
from ge_xdsl.dialects.ge.op import GeOp
from ge_xdsl.dialects.ge.operands import check_scalar
from ge_xdsl.dialects.ge.rounding import (
    CODES,
    MODES,
    SMALL_FLOATS,
    check_away,
    chosen,
    chosen_type,
    short_scale,
    to_codes,
)
from ge_xdsl.dialects.ge.shapes import Shape, broadcast, normalize_axis, shape_text
from ge_xdsl.dialects.ge.suffix import check_floats
from ge_xdsl.dialects.ge.types import DYNAMIC, DataType, Tensor, numpy_dtype

if TYPE_CHECKING:
    from ge_xdsl.dialects.ge.types import Array

REAL = frozenset({DataType.DT_FLOAT, DataType.DT_FLOAT16, DataType.DT_BF16})
PACKED = frozenset({DataType.DT_UINT64, DataType.DT_INT64})


def places(tensor: Tensor | None, name: str, shape: Shape, axes: tuple[int, ...]) -> None:
    """One number, a vector along one of `axes`, or the rank of x with 1 but along one of them."""
    if tensor is None or tensor.shape is None or shape is None:
        return
    given, rank = tensor.shape, len(shape)
    long = [i for i, d in enumerate(given) if d not in (1, DYNAMIC)]
    fits = len(long) <= (rank > 0)
    if fits and long:
        spots = [a % rank for a in axes if len(given) == 1 or long[0] == a % rank]
        fits = len(given) in (1, rank) and any(_equal(given[long[0]], shape[i]) for i in spots)
    if not fits:
        wanted = ["one number", *(shape_text((shape[a],)) for a in axes if -rank <= a < rank)]
        raise VerifyException(f"{name} is {shape_text(given)}, expected {' or '.join(wanted)}")


def _equal(a: int, b: int) -> bool:
    return a == b or DYNAMIC in (a, b)


def spread(values: Array, x: Array, axes: tuple[int, ...]) -> Array:
    """The operand that `places` allows, shaped to broadcast with x; the first axis that fits."""
    if values.size == 1:
        return values.reshape(())
    if values.ndim == x.ndim and values.ndim > 1:
        return values
    axis = next(a % x.ndim for a in axes if x.shape[a] == values.size)
    return values.reshape(-1, *(1,) * (x.ndim - 1 - axis))


class AscendQuantOp(GeOp):
    """y = round(x * scale + offset), x * scale * scale under sqrt_mode, in dst_type, saturated.

    round_mode is Round (half to even), Floor, Ceil or Trunc; f8 codes are cast without it, those of
    HIFLOAT8 with halves away from 0. C1: x is a floating-point tensor. C2: round_mode is one of
    these, Round for HIFLOAT8. C3: dst_type is i8, i4, an f8 or HIFLOAT8.
    """

    name = "ge.AscendQuant"

    x = operand()
    y = result()
    scale = floating()
    offset = floating()
    sqrt_mode = boolean(False)
    round_mode = string("Round")
    dst_type = integer(2)

    widens = True

    def infer(self, x: Tensor) -> Tensor:
        check_floats(x=x)  # C1
        chosen(self.round_mode, "round_mode", ("Round", "Floor", "Ceil", "Trunc"))  # C2
        dtype = chosen_type(self.dst_type, "dst_type", CODES | SMALL_FLOATS)  # C3
        check_away(dtype, self.round_mode)  # C2
        return Tensor(dtype, x.shape)

    def evaluate(self, x: Array) -> Array:
        scale = x.dtype.type(self.scale)
        factor = scale * scale if self.sqrt_mode else scale
        t = x * factor + x.dtype.type(self.offset)
        return to_codes(t, DataType(self.dst_type), self.round_mode)


class AscendQuantV2Op(GeOp):
    """y = round(x * scale + offset), x * scale * scale under sqrt_mode, in dst_type, saturated.

    scale and offset are one number or one for each place of `axis`. round_mode is round (half to
    even), floor, ceil or trunc. C1: all operands are floating-point tensors of one element type.
    C2: axis is a dimension of x, one of the last two for rank above 2. C3: scale and offset are one
    number or lie along axis. C4: round_mode is one of these, round (halves
    away from 0) for HIFLOAT8. C5: dst_type is i8, i4, an f8 or HIFLOAT8.
    """

    name = "ge.AscendQuantV2"

    x = operand()
    scale = operand()
    offset = optional()
    y = result()
    sqrt_mode = boolean(False)
    round_mode = string("round")
    dst_type = integer(2)
    axis = integer(-1)

    widens = True

    def infer(self, x: Tensor, scale: Tensor, offset: Tensor | None) -> Tensor:
        check_floats(x=x, scale=scale, offset=offset)  # C1
        one_element_type(x, scale, offset)  # C1
        if x.shape is not None:
            rank = len(x.shape)
            axis = normalize_axis(self.axis, rank)  # C2
            if axis < rank - 2:  # C2
                raise VerifyException(f"axis is {self.axis}, expected one of the last two")
            places(scale, "scale", x.shape, (self.axis,))  # C3
            places(offset, "offset", x.shape, (self.axis,))  # C3
        chosen(self.round_mode, "round_mode", MODES)  # C4
        dtype = chosen_type(self.dst_type, "dst_type", CODES | SMALL_FLOATS)  # C5
        check_away(dtype, self.round_mode)  # C4
        return Tensor(dtype, x.shape)

    def evaluate(self, x: Array, scale: Array, offset: Array | None) -> Array:
        factor = spread(scale, x, (self.axis,))
        t = x * factor * factor if self.sqrt_mode else x * factor
        t = t if offset is None else t + spread(offset, x, (self.axis,))
        return to_codes(t, DataType(self.dst_type), self.round_mode)


class AscendDequantOp(GeOp):
    """y = x * deq_scale, times deq_scale again under sqrt_mode, then max(y, 0) under relu_flag.

    deq_scale is one number or one for each place of the last dimension. C1: x is i32. C2: dtype is
    f32, f16 or bf16. C3: deq_scale is one number or lies along the last dimension. C4: it is u64,
    i64 or a float; with sqrt_mode f16.
    """

    name = "ge.AscendDequant"

    x = operand()
    deq_scale = operand()
    y = result()
    sqrt_mode = boolean(False)
    relu_flag = boolean(False)
    dtype = integer(0)

    def infer(self, x: Tensor, deq_scale: Tensor) -> Tensor:
        require(x, "x", (DataType.DT_INT32,), "DT_INT32")  # C1
        dtype = chosen_type(self.dtype, "dtype", REAL)  # C2
        places(deq_scale, "deq_scale", x.shape, (-1,))  # C3
        allowed = {DataType.DT_FLOAT16} if self.sqrt_mode else PACKED | REAL
        expected = (
            "DT_FLOAT16" if self.sqrt_mode else "a floating-point type, DT_UINT64 or DT_INT64"
        )
        require(deq_scale, "deq_scale", allowed, expected)  # C4
        return Tensor(dtype, x.shape)

    def evaluate(self, x: Array, deq_scale: Array) -> Array:
        import numpy as np

        packed = deq_scale.dtype.kind in "iu"
        scale = short_scale(deq_scale) if packed else deq_scale.astype(np.float32)
        factor = spread(scale, x, (-1,))
        y = x.astype(np.float32) * factor
        y = y * factor if self.sqrt_mode else y
        y = np.maximum(y, np.float32(0)) if self.relu_flag else y
        return y.astype(numpy_dtype(DataType(self.dtype)))


class AscendRequantOp(GeOp):
    """y = x * req_scale + offset in i8, where req_scale packs both in u64.

    The value semantics is unconfirmed. C1: x is i32. C2: req_scale is u64 or i64. C3: it is one
    number or lies along the last dimension.
    """

    name = "ge.AscendRequant"

    x = operand()
    req_scale = operand()
    y = result()
    relu_flag = boolean(False)

    def infer(self, x: Tensor, req_scale: Tensor) -> Tensor:
        require(x, "x", (DataType.DT_INT32,), "DT_INT32")  # C1
        require(req_scale, "req_scale", PACKED, "DT_UINT64 or DT_INT64")  # C2
        places(req_scale, "req_scale", x.shape, (-1,))  # C3
        return Tensor(DataType.DT_INT8, x.shape)


class AscendDequantS16Op(GeOp):
    """y = max(x0 * deq_scale, 0 under relu_flag) + x1 in i16, where deq_scale is packed in u64.

    The value semantics is unconfirmed. C1: x0 is i32. C2: deq_scale is u64 or i64. C3: x1 is i16.
    """

    name = "ge.AscendDequantS16"

    x0 = operand()
    deq_scale = operand()
    x1 = optional()
    y = result()
    relu_flag = boolean(False)

    def infer(self, x0: Tensor, deq_scale: Tensor, x1: Tensor | None) -> Tensor:
        require(x0, "x0", (DataType.DT_INT32,), "DT_INT32")  # C1
        require(deq_scale, "deq_scale", PACKED, "DT_UINT64 or DT_INT64")  # C2
        if x1 is not None:
            require(x1, "x1", (DataType.DT_INT16,), "DT_INT16")  # C3
        return Tensor(DataType.DT_INT16, x0.shape)


class AscendAntiQuantOp(GeOp):
    """y = (x + offset) * scale, times scale again under sqrt_mode: the offset comes first.

    C1: x is i8, i4 or an f8. C2: dtype is f32 or f16.
    """

    name = "ge.AscendAntiQuant"

    x = operand()
    y = result()
    scale = floating()
    offset = floating()
    dtype = integer(0)
    sqrt_mode = boolean(False)

    def infer(self, x: Tensor) -> Tensor:
        require(x, "x", CODES | SMALL_FLOATS, "DT_INT8, DT_INT4 or an 8-bit float")  # C1
        allowed = (DataType.DT_FLOAT, DataType.DT_FLOAT16)
        return Tensor(chosen_type(self.dtype, "dtype", allowed), x.shape)  # C2

    def evaluate(self, x: Array) -> Array:
        import numpy as np

        scale = np.float32(self.scale)
        y = (x.astype(np.float32) + np.float32(self.offset)) * scale
        return (y * scale if self.sqrt_mode else y).astype(numpy_dtype(DataType(self.dtype)))


class AscendAntiQuantV2Op(GeOp):
    """y = (x + offset) * scale, times scale again under sqrt_mode: the offset comes first.

    scale and offset are one number or one for each place of one of the last two dimensions; a
    vector that fits both lies along the last. C1: x is i8, i4 or an f8. C2: scale and offset are
    floating-point tensors of one element type. C3: they are one number or lie along one of the last
    two dimensions. C4: dst_type is f16, bf16 or f32.
    """

    name = "ge.AscendAntiQuantV2"

    x = operand()
    scale = operand()
    offset = optional()
    y = result()
    dst_type = integer(1)
    sqrt_mode = boolean(False)

    def infer(self, x: Tensor, scale: Tensor, offset: Tensor | None) -> Tensor:
        require(x, "x", CODES | SMALL_FLOATS, "DT_INT8, DT_INT4 or an 8-bit float")  # C1
        check_floats(scale=scale, offset=offset)  # C2
        one_element_type(scale, offset)  # C2
        if x.shape:
            axes = (-1, -2) if len(x.shape) > 1 else (-1,)
            places(scale, "scale", x.shape, axes)  # C3
            places(offset, "offset", x.shape, axes)  # C3
        return Tensor(chosen_type(self.dst_type, "dst_type", REAL), x.shape)  # C4

    def evaluate(self, x: Array, scale: Array, offset: Array | None) -> Array:
        import numpy as np

        axes = (-1, -2) if x.ndim > 1 else (-1,)
        factor = spread(scale.astype(np.float32), x, axes)
        t = x.astype(np.float32)
        t = t if offset is None else t + spread(offset.astype(np.float32), x, axes)
        y = t * factor * factor if self.sqrt_mode else t * factor
        return y.astype(numpy_dtype(DataType(self.dst_type)))


class AscendWeightQuantOp(GeOp):
    """y is x in dst_type, moved by offset.

    The value semantics is unconfirmed. C1: x and offset are i8. C2: dst_type is i8 or i4.
    """

    name = "ge.AscendWeightQuant"

    x = operand()
    offset = operand()
    y = result()
    dst_type = integer(2)

    def infer(self, x: Tensor, offset: Tensor) -> Tensor:
        require(x, "x", (DataType.DT_INT8,), "DT_INT8")  # C1
        require(offset, "offset", (DataType.DT_INT8,), "DT_INT8")  # C1
        return Tensor(chosen_type(self.dst_type, "dst_type", CODES), x.shape)  # C2


_NAMES = {
    "torch.qint8": DataType.DT_INT8,
    "torch.quint8": DataType.DT_UINT8,
    "torch.qint32": DataType.DT_INT32,
    "torch.float8_e5m2": DataType.DT_FLOAT8_E5M2,
    "torch.float8_e4m3fn": DataType.DT_FLOAT8_E4M3FN,
}


class QuantizeOp(GeOp):
    """y = round(x / scales + zero_points) in dtype, saturated: the scale divides.

    scales and zero_points are one number or one for each place of axis. C1: x and scales are
    floating-point tensors. C2: dtype is torch.qint8, torch.quint8, torch.qint32, torch.float8_e5m2
    or torch.float8_e4m3fn. C3: the vectors are one number or lie along axis, a dimension of x.
    """

    name = "ge.Quantize"

    x = operand()
    scales = operand()
    zero_points = optional()
    y = result()
    dtype = string()
    axis = integer(1)

    widens = True

    def infer(self, x: Tensor, scales: Tensor, zero_points: Tensor | None) -> Tensor:
        check_floats(x=x, scales=scales)  # C1
        chosen(self.dtype, "dtype", tuple(_NAMES))  # C2
        several = any(t is not None and t.size() not in (None, 1) for t in (scales, zero_points))
        if x.shape is not None and several:
            normalize_axis(self.axis, len(x.shape))  # C3
            places(scales, "scales", x.shape, (self.axis,))  # C3
            places(zero_points, "zero_points", x.shape, (self.axis,))  # C3
        return Tensor(_NAMES[self.dtype], x.shape)

    def evaluate(self, x: Array, scales: Array, zero_points: Array | None) -> Array:
        t = x / spread(scales, x, (self.axis,))
        if zero_points is not None:
            t = t + spread(zero_points.astype("float32"), x, (self.axis,))
        return to_codes(t, _NAMES[self.dtype])


class DequantizeOp(GeOp):
    """y = (x + h) * (max_range - min_range) / (2^b - 1) + min_range in f32, for MIN_COMBINED

    b is the number of bits of x, h = 2^(b-1) for signed codes and 0 for others. For SCALED it is
    x * max_range / q with q the largest code. C1: x is an 8-bit or 32-bit quantised integer.
    C2: min_range and max_range are one f32 number. C3: mode is MIN_COMBINED or SCALED.
    """

    name = "ge.Dequantize"

    x = operand()
    min_range = operand()
    max_range = operand()
    y = result()
    mode = string("MIN_COMBINED")

    def infer(self, x: Tensor, min_range: Tensor, max_range: Tensor) -> Tensor:
        allowed = {
            DataType.DT_QINT8,
            DataType.DT_QUINT8,
            DataType.DT_QINT32,
            DataType.DT_INT8,
            DataType.DT_UINT8,
            DataType.DT_INT32,
        }
        require(x, "x", allowed, "an 8-bit or 32-bit integer")  # C1
        for tensor, name in ((min_range, "min_range"), (max_range, "max_range")):  # C2
            require(tensor, name, (DataType.DT_FLOAT,), "DT_FLOAT")
            check_scalar(tensor, name)
        chosen(self.mode, "mode", ("MIN_COMBINED", "SCALED"))  # C3
        return Tensor(DataType.DT_FLOAT, x.shape)

    def evaluate(self, x: Array, min_range: Array, max_range: Array) -> Array:
        import numpy as np

        bits = 8 * x.dtype.itemsize
        signed = x.dtype.kind == "i"
        low, high = (a.reshape(()).astype(np.float64) for a in (min_range, max_range))
        wide = x.astype(np.float64)
        if self.mode == "SCALED":
            return (wide * high / (2 ** (bits - signed) - 1)).astype(np.float32)
        shifted = wide + (2 ** (bits - 1) if signed else 0)
        return (shifted * (high - low) / (2**bits - 1) + low).astype(np.float32)


class TransQuantParamV2Op(GeOp):
    """y packs scale in its low half: the f32 bits but the lowest 13, and sets bit 46.

    offset, rounded and clipped to [-256, 255], takes 9 bits from bit 37 on. A round_mode of 1
    rounds scale to the kept bits instead of cutting. C1: scale and offset are f32. C2: they
    broadcast. C3: round_mode is 0 or 1.
    """

    name = "ge.TransQuantParamV2"

    scale = operand()
    offset = optional()
    y = result()
    round_mode = integer(0)

    def infer(self, scale: Tensor, offset: Tensor | None) -> Tensor:
        for tensor, name in ((scale, "scale"), (offset, "offset")):  # C1
            if tensor is not None:
                require(tensor, name, (DataType.DT_FLOAT,), "DT_FLOAT")
        chosen(self.round_mode, "round_mode", (0, 1))  # C3
        shape = scale.shape if offset is None else broadcast(scale.shape, offset.shape)  # C2
        return Tensor(DataType.DT_UINT64, shape)

    def evaluate(self, scale: Array, offset: Array | None) -> Array:
        import numpy as np

        bits = scale.view(np.uint32).astype(np.uint64)
        if self.round_mode:
            bits = bits + np.uint64(0x0FFF) + ((bits >> np.uint64(13)) & np.uint64(1))
        packed = (bits & np.uint64(0xFFFFE000)) | np.uint64(1 << 46)
        if offset is None:
            return packed
        codes = np.clip(np.rint(offset), -256, 255).astype(np.int64) & 0x1FF
        return packed | (codes.astype(np.uint64) << np.uint64(37))


class DequantBiasOp(GeOp):
    """y = x * weight_scale * activate_scale + bias in the type that output_dtype names.

    The value semantics is unconfirmed. C1: x is i32 of rank 2. C2: output_dtype is f16 or bf16.
    """

    name = "ge.DequantBias"

    x = operand()
    weight_scale = operand()
    activate_scale = optional()
    bias = optional()
    y = result()
    output_dtype = integer()

    def infer(self, x: Tensor, *rest: Tensor | None) -> Tensor:
        require(x, "x", (DataType.DT_INT32,), "DT_INT32")  # C1
        if x.rank not in (None, 2):  # C1
            raise VerifyException(f"x is {shape_text(x.shape)}, expected rank 2")
        allowed = (DataType.DT_FLOAT16, DataType.DT_BF16)
        return Tensor(chosen_type(self.output_dtype, "output_dtype", allowed), x.shape)  # C2
