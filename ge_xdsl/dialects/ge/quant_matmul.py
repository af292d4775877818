"""Matrix products of quantised operands, and of numbers with quantised weights."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from xdsl.utils.exceptions import VerifyException

from ge_xdsl.dialects.ge.elements import one_element_type, require
from ge_xdsl.dialects.ge.extents import of_rank
from ge_xdsl.dialects.ge.fields import boolean, integer, operand, optional, result
from ge_xdsl.dialects.ge.matmul import matrix_shape, multiply
from ge_xdsl.dialects.ge.op import GeOp
from ge_xdsl.dialects.ge.operands import check_channels
from ge_xdsl.dialects.ge.quant import REAL
from ge_xdsl.dialects.ge.rounding import CODES, SMALL_FLOATS, chosen_type, short_scale, to_codes
from ge_xdsl.dialects.ge.shapes import Shape, merge_dim, shape_text
from ge_xdsl.dialects.ge.suffix import check_floats
from ge_xdsl.dialects.ge.types import DYNAMIC, DataType, Tensor, numpy_dtype

if TYPE_CHECKING:
    from ge_xdsl.dialects.ge.types import Array


def product_of(a: Array, b: Array, swap_a: bool, swap_b: bool) -> Array:
    """op(a) @ op(b): in i32 for integer codes, in f32 for small floats."""
    if a.dtype.name.startswith("float8"):
        a, b = a.astype("float32"), b.astype("float32")
    return multiply(a, b, swap_a, swap_b)


class QuantBatchMatmulV3Op(GeOp):
    """y = (op(x1) @ op(x2) + bias) * scale (+ offset), then * pertoken_scale per row, in dtype

    op swaps the last two dimensions under transpose_x1/x2; leading dimensions broadcast. A float
    bias is added last. i8 codes are the sum of the rounded product and the rounded offset, both
    clipped to [-256, 255] before; an i32 result is the sum alone, without scale. A scale of u64 or
    i64 holds an f32 with 19 bits, as does a single number for i8 and i4 operands without a float
    bias. C1: x1 and x2 have one element type, i8, i4 or an f8. C2: rank 2 to 6, inner dimensions
    equal, leading ones broadcast. C3: scale and offset are one number or one per column. C4: bias
    has one number per column, alone or as [B, 1, N]. C5: pertoken_scale has one number per row.
    C6: dtype is f16, bf16, i8, i32 or f32. C7: group_size is 0. C8: offset comes with i8 only,
    pertoken_scale with a float result only.
    """

    name = "ge.QuantBatchMatmulV3"

    x1 = operand()
    x2 = operand()
    scale = operand()
    offset = optional()
    bias = optional()
    pertoken_scale = optional()
    dtype = integer()
    transpose_x1 = boolean(False)
    transpose_x2 = boolean(False)
    group_size = integer(0)
    y = result()

    def infer(self, x1: Tensor, x2: Tensor, scale: Tensor, *rest: Tensor | None) -> Tensor:
        offset, bias, pertoken = rest
        allowed = CODES | SMALL_FLOATS
        require(x1, "x1", allowed, "DT_INT8, DT_INT4 or an 8-bit float")  # C1
        one_element_type(x1, x2)  # C1
        for tensor, name in ((x1, "x1"), (x2, "x2")):  # C2
            if tensor.rank is not None and not 2 <= tensor.rank <= 6:
                raise VerifyException(f"{name} is {shape_text(tensor.shape)}, expected rank 2 to 6")
        dtype = chosen_type(self.dtype, "dtype", REAL | {DataType.DT_INT8, DataType.DT_INT32})  # C6
        if self.group_size != 0:  # C7
            raise VerifyException(f"group_size is {self.group_size}, expected 0")
        if offset is not None and dtype is not DataType.DT_INT8:  # C8
            raise VerifyException(f"offset is given for {dtype.name}, expected it for DT_INT8")
        if pertoken is not None and dtype not in REAL:  # C8
            raise VerifyException(f"pertoken_scale is given for {dtype.name}, expected a float")
        shape = matrix_shape(x1.shape, x2.shape, self.transpose_x1, self.transpose_x2)  # C2
        rows, columns = (DYNAMIC, DYNAMIC) if shape is None else shape[-2:]
        check_columns_of(scale, columns, "scale")  # C3
        check_columns_of(offset, columns, "offset")  # C3
        _check_bias(bias, columns)  # C4
        check_channels(pertoken, rows, "pertoken_scale")  # C5
        return Tensor(dtype, shape)

    def evaluate(self, x1: Array, x2: Array, scale: Array, *rest: Array | None) -> Array:
        import numpy as np

        offset, bias, pertoken = rest
        dtype = DataType(self.dtype)
        total = product_of(x1, x2, self.transpose_x1, self.transpose_x2)
        whole = bias is not None and bias.dtype.kind == "i"
        total = total + bias if whole else total
        if dtype is DataType.DT_INT32:
            return total.astype(np.int32)
        factor = self._factor(scale, bias, whole, x1.dtype.name.startswith("float8"))
        y = total.astype(np.float32) * factor
        if dtype is DataType.DT_INT8:
            y = _nine_bits(y)
            y = y if offset is None else y + _nine_bits(offset.astype(np.float32))
            return to_codes(y, dtype)
        y = y if pertoken is None else y * pertoken.reshape(-1, 1).astype(np.float32)
        y = y if bias is None or whole else y + bias.astype(np.float32)
        return y.astype(numpy_dtype(dtype))

    def _factor(self, scale: Array, bias: Array | None, whole: bool, floats: bool) -> Array:
        packed = scale.dtype.kind in "iu"
        single = scale.size == 1 and not floats and (bias is None or whole)
        cut = short_scale(scale) if packed or single else scale.astype("float32")
        return cut.reshape(-1)


def _nine_bits(x: Array) -> Array:
    import numpy as np

    return np.clip(np.rint(x), -256, 255)


def check_columns_of(tensor: Tensor | None, columns: int, name: str) -> None:
    """One number, or one per column."""
    if tensor is None or tensor.size() == 1:
        return
    check_channels(tensor, columns, name)


def _check_bias(bias: Tensor | None, columns: int) -> None:
    if bias is None or bias.shape is None:
        return
    rows = bias.shape[-2] if len(bias.shape) > 1 else 1
    if not bias.shape or rows not in (1, DYNAMIC):
        raise VerifyException(f"bias is {shape_text(bias.shape)}, expected one row")
    merge_dim(columns, bias.shape[-1], "columns and bias length")


class WeightQuantBatchMatmulV2Op(GeOp):
    """y = op(x) @ ((op(weight) + antiquant_offset) * antiquant_scale) + bias

    op swaps the two dimensions under transpose_x/transpose_weight. The sum and the product of the
    weight are each rounded to the type of x, y once. antiquant_scale is one number, one per column
    of op(weight), or one per column and group of antiquant_group_size rows. With quant_scale, y =
    round(y * quant_scale + quant_offset) in i8. inner_precise has no effect: sums are in f32. C1: x
    is f16 or bf16, weight i8 or i4. C2: x and weight have rank 2, inner dimensions equal. C3:
    antiquant_scale and antiquant_offset are one number, one per column, or one per column and
    group. C4: antiquant_scale is a float. C5: antiquant_group_size is 0, or a multiple of 32 below
    K. C6: dtype is -1 or that of y. C7: bias, quant_scale and quant_offset are one number or one
    per column, quant_offset comes with quant_scale.
    """

    name = "ge.WeightQuantBatchMatmulV2"

    x = operand()
    weight = operand()
    antiquant_scale = operand()
    antiquant_offset = optional()
    quant_scale = optional()
    quant_offset = optional()
    bias = optional()
    transpose_x = boolean(False)
    transpose_weight = boolean(False)
    antiquant_group_size = integer(0)
    dtype = integer(-1)
    inner_precise = integer(0)
    y = result()

    def infer(self, x: Tensor, weight: Tensor, *rest: Tensor | None) -> Tensor:
        scale, offset, quant_scale, quant_offset, bias = rest
        halves = (DataType.DT_FLOAT16, DataType.DT_BF16)
        require(x, "x", halves, "DT_FLOAT16 or DT_BF16")  # C1
        require(weight, "weight", CODES, "DT_INT8 or DT_INT4")  # C1
        of_rank(x, 2, "x")  # C2
        of_rank(weight, 2, "weight")  # C2
        check_floats(antiquant_scale=scale, antiquant_offset=offset)  # C4
        shape = matrix_shape(x.shape, weight.shape, self.transpose_x, self.transpose_weight)  # C2
        rows = None if weight.shape is None else weight.shape[self.transpose_weight]
        columns = DYNAMIC if shape is None else shape[1]
        self._check_groups(rows)  # C5
        for tensor, name in ((scale, "antiquant_scale"), (offset, "antiquant_offset")):  # C3
            self._check_factor(tensor, name, rows, columns)
        given = (("bias", bias), ("quant_scale", quant_scale), ("quant_offset", quant_offset))
        for name, tensor in given:  # C7
            check_columns_of(tensor, columns, name)
        if quant_offset is not None and quant_scale is None:  # C7
            raise VerifyException("quant_scale is missing, expected it with quant_offset")
        dtype = x.dtype if quant_scale is None else DataType.DT_INT8
        if self.dtype not in (-1, dtype):  # C6
            raise VerifyException(f"dtype is {self.dtype}, expected -1 or {int(dtype)}")
        return Tensor(dtype, shape)

    def _check_groups(self, rows: int | None) -> None:
        size = self.antiquant_group_size
        above = rows is not None and rows != DYNAMIC and size >= rows
        if size < 0 or size % 32 or (size and above):
            raise VerifyException(
                f"antiquant_group_size is {size}, expected 0 or a multiple of 32 below K"
            )

    def _check_factor(
        self, tensor: Tensor | None, name: str, rows: int | None, columns: int
    ) -> None:
        size = self.antiquant_group_size
        if tensor is None or tensor.shape is None or (not size and tensor.size() == 1):
            return
        groups = DYNAMIC if rows in (None, DYNAMIC) else -(-rows // size) if size else 1
        want: Shape = (columns, groups) if self.transpose_weight else (groups, columns)
        have = tensor.shape
        if len(have) == 1 and not size:
            have = (have[0], 1) if self.transpose_weight else (1, have[0])
        pairs = zip(have, want, strict=False)
        if len(have) != 2 or any(a != b and DYNAMIC not in (a, b) for a, b in pairs):
            raise VerifyException(
                f"{name} is {shape_text(tensor.shape)}, expected {shape_text(want)}"
            )

    def evaluate(self, x: Array, weight: Array, *rest: Array | None) -> Array:
        import numpy as np

        scale, offset, quant_scale, quant_offset, bias = rest
        assert scale is not None
        w = weight.astype(np.float32)
        if offset is not None:
            w = (w + self._spread(offset, weight)).astype(x.dtype).astype(np.float32)
        w = (w * self._spread(scale, weight)).astype(x.dtype).astype(np.float32)
        y = multiply(x.astype(np.float32), w, self.transpose_x, self.transpose_weight)
        y = y if bias is None else y + bias.reshape(-1).astype(np.float32)
        if quant_scale is None:
            return y.astype(x.dtype)
        packed = quant_scale.dtype.kind in "iu"
        factor: Any = short_scale(quant_scale) if packed else quant_scale.astype(np.float32)
        y = y * factor.reshape(-1)
        y = y if quant_offset is None else y + quant_offset.reshape(-1)
        return to_codes(y, DataType.DT_INT8)

    def _spread(self, values: Array, weight: Array) -> Array:
        """The operand per element of the weight as it is stored."""
        import numpy as np

        values = values.astype(np.float32)
        if values.size == 1:
            return values.reshape(())
        if not self.antiquant_group_size:
            return values.reshape((-1, 1) if self.transpose_weight else (1, -1))
        axis = int(self.transpose_weight)
        wide = np.repeat(values, self.antiquant_group_size, axis=axis)
        return wide[:, : weight.shape[1]] if axis else wide[: weight.shape[0]]
