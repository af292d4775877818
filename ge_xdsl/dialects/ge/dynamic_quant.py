"""Quantisation whose scales come from the data, or belong to groups of rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from xdsl.utils.exceptions import VerifyException

from ge_xdsl.dialects.ge.extents import at_least_rank
from ge_xdsl.dialects.ge.fields import boolean, floating, integer, operand, optional, result, string
from ge_xdsl.dialects.ge.gated import halved, halves
from ge_xdsl.dialects.ge.gradients import sigmoid
from ge_xdsl.dialects.ge.op import GeOp
from ge_xdsl.dialects.ge.operands import check_index, check_scalar
from ge_xdsl.dialects.ge.rounding import (
    CODES,
    LARGEST,
    SMALL_FLOATS,
    chosen,
    chosen_type,
    symmetric,
    to_codes,
)
from ge_xdsl.dialects.ge.shapes import Shape, merge_dim, shape_text
from ge_xdsl.dialects.ge.suffix import check_floats
from ge_xdsl.dialects.ge.types import DataType, Tensor

if TYPE_CHECKING:
    from ge_xdsl.dialects.ge.types import Array


class GroupQuantOp(GeOp):
    """y[r] = round(x[r] * scale[e] + offset) in dst_type, saturated, e the group of row r.

    group_index holds the end of each group, in order. C1: x and scale are floating-point tensors of
    rank 2. C2: scale has the columns of x. C3: group_index is i32 or i64, one end per row of scale.
    C4: offset is one number. C5: dst_type is i8 or i4.
    """

    name = "ge.GroupQuant"

    x = operand()
    scale = operand()
    group_index = operand()
    offset = optional()
    y = result()
    dst_type = integer(2)

    widens = True

    def infer(self, x: Tensor, scale: Tensor, group_index: Tensor, offset: Tensor | None) -> Tensor:
        check_floats(x=x, scale=scale)  # C1
        for tensor, name in ((x, "x"), (scale, "scale")):
            if tensor.rank not in (None, 2):  # C1
                raise VerifyException(f"{name} is {shape_text(tensor.shape)}, expected rank 2")
        if x.shape is not None and scale.shape is not None:
            merge_dim(x.shape[1], scale.shape[1], "columns of x and scale")  # C2
        check_index(group_index, "group_index")  # C3
        if group_index.rank not in (None, 1):  # C3
            raise VerifyException(
                f"group_index is {shape_text(group_index.shape)}, expected rank 1"
            )
        if scale.shape is not None and group_index.shape is not None:
            merge_dim(scale.shape[0], group_index.shape[0], "rows of scale and group_index")  # C3
        if offset is not None:
            check_scalar(offset, "offset")  # C4
        return Tensor(chosen_type(self.dst_type, "dst_type", CODES), x.shape)  # C5

    def evaluate(self, x: Array, scale: Array, group_index: Array, offset: Array | None) -> Array:
        t = x * scale[group_of_rows(group_index, x.shape[0])]
        t = t if offset is None else t + offset.reshape(())
        return to_codes(t, DataType(self.dst_type))


def group_of_rows(ends: Array, rows: int) -> Array:
    """The group of each row, from the ends of the groups.

    Raises ValueError when the ends fall or the last is not the number of rows.
    """
    import numpy as np

    ordered = ends.size > 0 and ends[0] >= 0 and bool(np.all(np.diff(ends) >= 0))
    if not ordered or ends[-1] != rows:
        raise ValueError(f"group_index is {ends.tolist()}, expected rising ends up to {rows}")
    return np.searchsorted(ends, np.arange(rows), side="right")


class DynamicQuantOp(GeOp):
    """t = x * smooth_scales, scale = max|t| / Q over the last dimension, y = round(t / scale)

    Q is 127 for i8, 7 for i4, 57344 and 448 for the f8 types; a row of zeros has scale 0 and codes
    0. With group_index (the ends of groups of rows) smooth_scales has one row per group.
    C1: x and smooth_scales are floating-point tensors. C2: x has rank >= 2. C3: smooth_scales has
    the last dimension of x, and rank 2 with group_index, which needs it. C4: group_index is i32 or
    i64. C5: dst_type is i8, i4 or an f8.
    """

    name = "ge.DynamicQuant"

    x = operand()
    smooth_scales = optional()
    group_index = optional()
    y = result()
    scale = result()
    dst_type = integer(2)

    widens = True

    def infer(self, x: Tensor, smooth: Tensor | None, groups: Tensor | None) -> Any:
        check_smooth_rows(x, smooth, groups, -1)  # C1 C2 C3 C4
        dtype = chosen_type(self.dst_type, "dst_type", CODES | SMALL_FLOATS)  # C5
        rows = None if x.shape is None else x.shape[:-1]
        return Tensor(dtype, x.shape), Tensor(DataType.DT_FLOAT, rows)

    def evaluate(self, x: Array, smooth: Array | None, groups: Array | None) -> Any:
        t = smoothed(x, smooth, groups, -1)
        return symmetric(t, (-1,), DataType(self.dst_type))


def check_smooth_rows(x: Tensor, smooth: Tensor | None, groups: Tensor | None, axis: int) -> None:
    """x, smooth_scales and group_index of the dynamic quantisations."""
    check_floats(x=x, smooth_scales=smooth)
    at_least_rank(x, 2, "x")
    if groups is not None:
        if smooth is None:
            raise VerifyException("smooth_scales is missing, expected it with group_index")
        check_index(groups, "group_index")
    if smooth is None or smooth.shape is None:
        return
    rank = 1 if groups is None else 2
    if len(smooth.shape) != rank:
        raise VerifyException(f"smooth_scales is {shape_text(smooth.shape)}, expected rank {rank}")
    if x.shape is not None:
        merge_dim(x.shape[axis], smooth.shape[-1], "lengths of x and smooth_scales")


def smoothed(x: Array, smooth: Array | None, groups: Array | None, axis: int) -> Array:
    """x times its smoothing factors along `axis`, chosen per row where there are groups."""
    if smooth is None:
        return x
    if groups is None:
        return x * (smooth if axis == -1 else smooth[:, None])
    rows = x.reshape(-1, x.shape[-1])
    return (rows * smooth[group_of_rows(groups, rows.shape[0])]).reshape(x.shape)


_SPANS = {DataType.DT_INT8: 255.0, DataType.DT_INT4: 15.0}


class DynamicQuantV2Op(GeOp):
    """scale = (max t - min t) / R, offset = Q - max t / scale, y = round(t / scale + offset)

    t = x * smooth_scales; the extrema are over the last dimension (quant_mode pertoken), the one
    before it (perchannel) or all (pertensor). (Q, R) is (127, 255) for i8 and (7, 15) for i4. With
    is_symmetrical it is DynamicQuant and offset is 0. C1: x and smooth_scales are floating-point
    tensors. C2: x has rank >= 2. C3: smooth_scales has the dimension of the extrema, and rank 2
    with group_index, which needs it. C4: group_index is i32 or i64. C5: dst_type is i8 or i4, or an
    f8 with is_symmetrical. C6: quant_mode is pertoken, perchannel or pertensor. C7: dst_type_max is
    0. C8: group_index goes with pertoken.
    """

    name = "ge.DynamicQuantV2"

    x = operand()
    smooth_scales = optional()
    group_index = optional()
    y = result()
    scale = result()
    offset = result()
    dst_type = integer(2)
    is_symmetrical = boolean(False)
    quant_mode = string("pertoken")
    dst_type_max = floating(0.0)

    widens = True

    def _axis(self) -> int:
        return -2 if self.quant_mode == "perchannel" else -1

    def infer(self, x: Tensor, smooth: Tensor | None, groups: Tensor | None) -> Any:
        chosen(self.quant_mode, "quant_mode", ("pertoken", "perchannel", "pertensor"))  # C6
        check_smooth_rows(x, smooth, groups, self._axis())  # C1 C2 C3 C4
        allowed = CODES | SMALL_FLOATS if self.is_symmetrical else CODES
        dtype = chosen_type(self.dst_type, "dst_type", allowed)  # C5
        if self.dst_type_max != 0:  # C7
            raise VerifyException(f"dst_type_max is {self.dst_type_max}, expected 0")
        if groups is not None and self.quant_mode != "pertoken":  # C8
            raise VerifyException(f"quant_mode is '{self.quant_mode}', expected pertoken")
        rows: Shape = (1,)
        if self.quant_mode != "pertensor":
            axis = self._axis()
            rows = (
                None if x.shape is None else (*x.shape[:axis], *x.shape[len(x.shape) + axis :][1:])
            )
        scale = Tensor(DataType.DT_FLOAT, rows)
        return Tensor(dtype, x.shape), scale, scale

    def evaluate(self, x: Array, smooth: Array | None, groups: Array | None) -> Any:
        import numpy as np

        t = smoothed(x, smooth, groups, self._axis()).astype(np.float32)
        whole = self.quant_mode == "pertensor"
        axes = tuple(range(t.ndim)) if whole else (self._axis() % t.ndim,)
        dtype = DataType(self.dst_type)
        if self.is_symmetrical:
            y, scale = symmetric(t, axes, dtype)
            offset = np.zeros_like(scale)
        else:
            y, scale, offset = _asymmetric(t, axes, dtype)
        shape = (1,) if whole else scale.shape
        return y, scale.reshape(shape), offset.reshape(shape)


def _asymmetric(t: Array, axes: tuple[int, ...], dtype: DataType) -> Any:
    """(codes, scale, offset); a constant row has scale 0, offset Q and codes Q."""
    import numpy as np

    high = np.max(t, axis=axes, keepdims=True, initial=-np.inf)
    low = np.min(t, axis=axes, keepdims=True, initial=np.inf)
    scale = ((high - low) / np.float32(_SPANS[dtype])).astype(np.float32)
    divisor = np.where(scale == 0, np.float32(np.inf), scale)
    offset = np.float32(LARGEST[dtype]) - high / divisor
    codes = to_codes(t / divisor + offset, dtype)
    return codes, np.squeeze(scale, axis=axes), np.squeeze(offset, axis=axes).astype(np.float32)


class SwiGluQuantOp(GeOp):
    """t = a / (1 + e^-a) * b * smooth_scales, y = round(t * scale), scale = Q / max|t| per row

    a and b are the right and the left half of the last dimension of x, the other way round with
    activate_left. Q is 127 for i8 and 7 for i4: scale multiplies, and is 0 for a row of zeros. With
    quant_mode static, y = round(t + offsets) and scale is zeros. With group_index (the ends of
    groups of rows, their sizes for group_list_type 1) smooth_scales and offsets have one row per
    group. C1: x, smooth_scales and offsets are floating-point tensors. C2: x has rank >= 2 and an
    even last dimension. C3: smooth_scales and offsets have the length of a half, and rank 2 with
    group_index. C4: group_index is i32 or i64. C5: dst_type is i8 or i4. C6: quant_mode is dynamic
    or static. C7: group_list_type is 0 or 1.
    """

    name = "ge.SwiGluQuant"

    x = operand()
    smooth_scales = optional()
    offsets = optional()
    group_index = optional()
    y = result()
    scale = result()
    activate_left = boolean(False)
    quant_mode = string("dynamic")
    group_list_type = integer(0)
    dst_type = integer(2)

    widens = True

    def infer(self, x: Tensor, smooth: Tensor | None, *rest: Tensor | None) -> Any:
        offsets, groups = rest
        check_floats(x=x, smooth_scales=smooth, offsets=offsets)  # C1
        at_least_rank(x, 2, "x")  # C2
        half = halved(x.shape, -1)  # C2
        for tensor, name in ((smooth, "smooth_scales"), (offsets, "offsets")):  # C3
            _check_factors(half, tensor, name, 1 if groups is None else 2)
        if groups is not None:
            check_index(groups, "group_index")  # C4
        dtype = chosen_type(self.dst_type, "dst_type", CODES)  # C5
        chosen(self.quant_mode, "quant_mode", ("dynamic", "static"))  # C6
        chosen(self.group_list_type, "group_list_type", (0, 1))  # C7
        rows = None if half is None else half[:-1]
        return Tensor(dtype, half), Tensor(DataType.DT_FLOAT, rows)

    def evaluate(self, x: Array, smooth: Array | None, *rest: Array | None) -> Any:
        import numpy as np

        offsets, groups = rest
        if groups is not None and self.group_list_type:
            groups = np.cumsum(groups)
        left, right = halves(x, -1)
        a, b = (left, right) if self.activate_left else (right, left)
        t = smoothed(a * sigmoid(a) * b, smooth, groups, -1)
        dtype = DataType(self.dst_type)
        if self.quant_mode == "static":
            if offsets is not None:
                rows = t.reshape(-1, t.shape[-1])
                added = offsets if groups is None else offsets[group_of_rows(groups, len(rows))]
                t = (rows + added).reshape(t.shape)
            return to_codes(t, dtype), np.zeros(t.shape[:-1], np.float32)
        largest = np.max(np.abs(t), axis=-1, keepdims=True, initial=np.float32(0))
        safe = np.where(largest == 0, np.float32(1), largest)
        scale = np.where(largest == 0, np.float32(0), np.float32(LARGEST[dtype]) / safe)
        return to_codes(t * scale, dtype), scale[..., 0].astype(np.float32)


def _check_factors(half: Shape, tensor: Tensor | None, name: str, rank: int) -> None:
    if tensor is None or tensor.shape is None:
        return
    if len(tensor.shape) != rank:
        raise VerifyException(f"{name} is {shape_text(tensor.shape)}, expected rank {rank}")
    if half is not None:
        merge_dim(half[-1], tensor.shape[-1], f"lengths of a half of x and {name}")


class DequantSwigluQuantOp(GeOp):
    """y = quantised swiglu of the dequantised x, with its scale per row.

    The value semantics is unconfirmed. C1: x has an even last dimension. C2: activate_dim is the
    last dimension. C3: dst_type is i8.
    """

    name = "ge.DequantSwigluQuant"

    x = operand()
    weight_scale = optional()
    activation_scale = optional()
    bias = optional()
    quant_scale = optional()
    quant_offset = optional()
    group_index = optional()
    y = result()
    scale = result()
    activate_left = boolean(False)
    quant_mode = string("static")
    dst_type = integer(2)
    round_mode = string("rint")
    activate_dim = integer(-1)
    swiglu_mode = integer(0)
    clamp_limit = floating(7.0)
    glu_alpha = floating(1.702)
    glu_bias = floating(1.0)

    def infer(self, x: Tensor, *rest: Tensor | None) -> tuple[Tensor, Tensor]:
        half = halved(x.shape, -1)  # C1
        last = -1 if x.shape is None else len(x.shape) - 1
        if self.activate_dim not in (-1, last):  # C2
            raise VerifyException(f"activate_dim is {self.activate_dim}, expected the last one")
        dtype = chosen_type(self.dst_type, "dst_type", (DataType.DT_INT8,))  # C3
        rows = None if half is None else half[:-1]
        return Tensor(dtype, half), Tensor(DataType.DT_FLOAT, rows)
