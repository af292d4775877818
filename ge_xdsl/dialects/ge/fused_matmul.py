"""Later matrix products, and products fused with a permutation or an elementwise op."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING

from xdsl.utils.exceptions import VerifyException

from ge_xdsl.dialects.ge.elements import one_element_type
from ge_xdsl.dialects.ge.extents import of_rank
from ge_xdsl.dialects.ge.fields import (
    boolean,
    integer,
    integers,
    operand,
    optional,
    result,
    string,
)
from ge_xdsl.dialects.ge.gated import gelu_of
from ge_xdsl.dialects.ge.matmul import (
    Matrices,
    check_columns,
    check_reserved,
    contract,
    matrix_shape,
    multiply,
    product_dtype,
)
from ge_xdsl.dialects.ge.op import GeOp
from ge_xdsl.dialects.ge.operands import check_channels
from ge_xdsl.dialects.ge.rounding import chosen
from ge_xdsl.dialects.ge.shapes import (
    Shape,
    broadcast,
    merge_dim,
    multiply_dims,
    normalize_axis,
    shape_text,
)
from ge_xdsl.dialects.ge.suffix import one_shape
from ge_xdsl.dialects.ge.types import DYNAMIC, DataType, Tensor

if TYPE_CHECKING:
    from ge_xdsl.dialects.ge.types import Array


def _lengthen(x1: Tensor, swaps: bool) -> Tensor:
    """A stack of matrices [B, M, K] as one [B * M, K]."""
    if x1.shape is None or len(x1.shape) != 3 or swaps:
        return x1
    return x1.with_shape((multiply_dims(*x1.shape[:2]), x1.shape[2]))


class MatMulV3Op(Matrices):
    """y = op(x1) @ op(x2) + bias, where op swaps the two dimensions under transpose_x1/x2.

    x1 may be a stack [B, M, K], whose rows follow each other in y [B * M, N]. opImplMode is 1, or
    64 for products of f32 numbers cut to fewer bits, which are not modelled. C1: x1 and x2 have
    rank 1 or 2, or x1 rank 3 without transpose_x1. C2: the inner dimensions are equal. C3: one
    element type. C4: bias is one row of y's length. C5: no offset_w, offset_x = 0. C6: opImplMode
    is 1.
    """

    name = "ge.MatMulV3"

    x1 = operand()
    x2 = operand()
    bias = optional()
    offset_w = optional()
    transpose_x1 = boolean(False)
    transpose_x2 = boolean(False)
    offset_x = integer(0)
    opImplMode = integer(1)
    y = result()

    def infer(self, x1: Tensor, x2: Tensor, bias: Tensor | None, offset_w: Tensor | None) -> Tensor:
        check_reserved(offset_w, self.offset_x)  # C5
        chosen(self.opImplMode, "opImplMode", (1,))  # C6
        rows = _lengthen(x1, self.transpose_x1)  # C1
        y = self._infer(rows, x2, bias, (self.transpose_x1, self.transpose_x2))  # C1 C2 C3 C4
        return y

    def evaluate(self, x1: Array, x2: Array, bias: Array | None, offset_w: Array | None) -> Array:
        rows = x1.reshape(-1, x1.shape[-1]) if x1.ndim == 3 else x1
        y = multiply(rows, x2, self.transpose_x1, self.transpose_x2)
        return y if bias is None else (y + bias).reshape(y.shape)


class BatchMatMulV3Op(GeOp):
    """y = op(x1) @ op(x2) + bias over the last two dimensions; leading dimensions broadcast.

    op swaps the last two dimensions under adj_x1/adj_x2. enable_hf32 would cut f32 numbers to fewer
    bits, which is not modelled. C1: rank >= 1. C2: the inner dimensions are equal. C3: one element
    type. C4: the leading dimensions broadcast. C5: bias broadcasts with y and has its columns.
    C6: no offset_w, offset_x = 0. C7: enable_hf32 is false.
    """

    name = "ge.BatchMatMulV3"

    x1 = operand()
    x2 = operand()
    bias = optional()
    offset_w = optional()
    adj_x1 = boolean(False)
    adj_x2 = boolean(False)
    offset_x = integer(0)
    enable_hf32 = boolean(False)
    y = result()

    widens = True

    def infer(self, x1: Tensor, x2: Tensor, bias: Tensor | None, offset_w: Tensor | None) -> Tensor:
        one_element_type(x1, x2)  # C3
        check_reserved(offset_w, self.offset_x)  # C6
        refuse_short(self.enable_hf32)  # C7
        shape = matrix_shape(x1.shape, x2.shape, self.adj_x1, self.adj_x2)  # C1 C2 C4
        if bias is not None:
            shape = check_columns(shape, bias)  # C5
            shape = broadcast(shape, bias.shape) if shape is not None else None
        return Tensor(product_dtype(x1.dtype), shape)

    def evaluate(self, x1: Array, x2: Array, bias: Array | None, offset_w: Array | None) -> Array:
        y = multiply(x1, x2, self.adj_x1, self.adj_x2)
        return y if bias is None else y + bias


def refuse_short(enable_hf32: bool) -> None:
    """Products of f32 numbers cut to fewer bits are not modelled."""
    if enable_hf32:
        raise VerifyException("enable_hf32 is true, expected false: its rounding is not modelled")


_FUSED = ("", "add", "mul", "relu", "gelu_tanh", "gelu_erf", "16cast32")


class FusedMatMulOp(Matrices):
    """y = f(op(x1) @ op(x2) + bias), op swaps under transpose_x1/x2, f is fused_op_type

    f is nothing (''), add or mul with x3, relu, gelu_tanh, gelu_erf, or 16cast32, which gives f32;
    their value semantics beyond the names is unconfirmed. inner_precise has no effect: sums are in
    f32. C1: x1 and x2 have rank 1 or 2. C2: the inner dimensions are equal. C3: one element type.
    C4: bias is one row of y's length. C5: fused_op_type is one of these. C6: x3 comes with add and
    mul only, in the shape of y. C7: enable_hf32 is false.
    """

    name = "ge.FusedMatMul"

    x1 = operand()
    x2 = operand()
    bias = optional()
    x3 = optional()
    transpose_x1 = boolean(False)
    transpose_x2 = boolean(False)
    enable_hf32 = boolean(False)
    fused_op_type = string("")
    inner_precise = integer(1)
    y = result()

    def infer(self, x1: Tensor, x2: Tensor, bias: Tensor | None, x3: Tensor | None) -> Tensor:
        chosen(self.fused_op_type, "fused_op_type", _FUSED)  # C5
        refuse_short(self.enable_hf32)  # C7
        y = self._infer(x1, x2, bias, (self.transpose_x1, self.transpose_x2))  # C1 C2 C3 C4
        if (x3 is not None) != (self.fused_op_type in ("add", "mul")):  # C6
            raise VerifyException(
                f"x3 is {'missing' if x3 is None else 'given'}, expected it for add and mul only"
            )
        one_shape(y=y, x3=x3)  # C6
        return y.with_dtype(DataType.DT_FLOAT) if self.fused_op_type == "16cast32" else y

    def evaluate(self, x1: Array, x2: Array, bias: Array | None, x3: Array | None) -> Array:
        import numpy as np

        y = multiply(x1, x2, self.transpose_x1, self.transpose_x2)
        y = y if bias is None else (y + bias).reshape(y.shape)
        kind = self.fused_op_type
        if x3 is not None:
            return y + x3 if kind == "add" else y * x3
        if kind == "relu":
            return np.maximum(y, y.dtype.type(0))
        if kind.startswith("gelu"):
            return gelu_of(y, kind == "gelu_tanh")
        return y


def _permuted(shape: Shape, perm: Sequence[int], name: str) -> Shape:
    """A shape in another order of dimensions; no `perm` leaves it."""
    if not perm:
        return shape
    if sorted(perm) != list(range(len(perm))) or len(perm) != 3:
        raise VerifyException(f"{name} is {list(perm)}, expected an order of 0, 1 and 2")
    return None if shape is None else tuple(shape[i] for i in perm)


class TransposeBatchMatMulOp(GeOp):
    """y = perm_y(perm_x1(x1) @ perm_x2(x2) + bias): three dimensions in another order each

    C1: x1 and x2 have rank 3. C2: the orders have 3 entries, or none. C3: batch and inner
    dimensions are equal. C4: one element type. C5: bias has one number per column. C6: no scale,
    and batch_split_factor is 1. C7: enable_hf32 is false.
    """

    name = "ge.TransposeBatchMatMul"

    x1 = operand()
    x2 = operand()
    bias = optional()
    scale = optional()
    perm_x1 = integers(())
    perm_x2 = integers(())
    perm_y = integers(())
    enable_hf32 = boolean(False)
    batch_split_factor = integer(1)
    y = result()

    widens = True

    def infer(self, x1: Tensor, x2: Tensor, bias: Tensor | None, scale: Tensor | None) -> Tensor:
        one_element_type(x1, x2)  # C4
        refuse_short(self.enable_hf32)  # C7
        if scale is not None:  # C6
            raise VerifyException("scale is given, expected none: its mode is not modelled")
        chosen(self.batch_split_factor, "batch_split_factor", (1,))  # C6
        of_rank(x1, 3, "x1")  # C1
        of_rank(x2, 3, "x2")  # C1
        a = _permuted(x1.shape, self.perm_x1, "perm_x1")  # C2
        b = _permuted(x2.shape, self.perm_x2, "perm_x2")  # C2
        product: Shape = None
        if a is not None and b is not None:
            batch = merge_dim(a[0], b[0], "batch dimensions")  # C3
            merge_dim(a[2], b[1], "inner dimensions")  # C3
            product = (batch, a[1], b[2])
            check_channels(bias, b[2], "bias")  # C5
        return x1.with_shape(_permuted(product, self.perm_y, "perm_y"))  # C2

    def evaluate(self, x1: Array, x2: Array, bias: Array | None, scale: Array | None) -> Array:
        a = x1.transpose(self.perm_x1) if self.perm_x1 else x1
        b = x2.transpose(self.perm_x2) if self.perm_x2 else x2
        y = contract(a, b)
        y = y if bias is None else y + bias.reshape(-1)
        return y.transpose(self.perm_y) if self.perm_y else y


class FullyConnectionOp(GeOp):
    """y = x2d @ op(w) + b, x2d the dimensions of x from axis on as one

    w is [N, K], or [K, N] with transpose. y is [x0, x1, N] for axis 2 and [x0, N] for axis 1, but
    [1, N, 1, 1] for axis 1 and a single x0. num_output does not count. i8 and i4 operands give i32.
    C1: axis is 1 or 2 in the rank of x. C2: w has rank 2, or 4 with 1 for the last two. C3: K is
    the product of the dimensions of x from axis on. C4: one element type. C5: b has one number per
    column. C6: no offset_w, offset_x = 0.
    """

    name = "ge.FullyConnection"

    x = operand()
    w = operand()
    b = optional()
    offset_w = optional()
    num_output = integer()
    transpose = boolean(False)
    axis = integer(1)
    offset_x = integer(0)
    y = result()

    widens = True

    def infer(self, x: Tensor, w: Tensor, b: Tensor | None, offset_w: Tensor | None) -> Tensor:
        one_element_type(x, w)  # C4
        check_reserved(offset_w, self.offset_x)  # C6
        rows = (DYNAMIC, DYNAMIC) if w.shape is None else self._matrix(w.shape)
        n, k = (rows[1], rows[0]) if self.transpose else (rows[0], rows[1])
        check_channels(b, n, "b")  # C5
        dtype = product_dtype(x.dtype)
        if x.shape is None:
            if self.axis not in (1, 2, -1, -2, -3):  # C1
                raise VerifyException(f"axis is {self.axis}, expected 1 or 2")
            return Tensor(dtype, None)
        axis = normalize_axis(self.axis, len(x.shape))  # C1
        if axis not in (1, 2):  # C1
            raise VerifyException(f"axis is {self.axis}, expected 1 or 2")
        merge_dim(multiply_dims(*x.shape[axis:]), k, "inner dimensions")  # C3
        if axis == 2:
            return Tensor(dtype, (*x.shape[:2], n))
        if x.shape[0] == DYNAMIC:
            return Tensor(dtype, None)
        return Tensor(dtype, (1, n, 1, 1) if x.shape[0] == 1 else (x.shape[0], n))

    def _matrix(self, shape: Sequence[int]) -> Sequence[int]:
        if len(shape) == 2 or (len(shape) == 4 and all(d in (1, DYNAMIC) for d in shape[2:])):
            return shape
        raise VerifyException(f"w is {shape_text(shape)}, expected rank 2")  # C2

    def evaluate(self, x: Array, w: Array, b: Array | None, offset_w: Array | None) -> Array:
        axis = self.axis % x.ndim
        matrix = w.reshape(w.shape[:2])
        lead = x.shape[:axis]
        rows = x.reshape(prod(lead), prod(x.shape[axis:]))
        y = contract(rows, matrix if self.transpose else matrix.T)
        y = y if b is None else y + b.reshape(-1)
        shape = (*lead, y.shape[1]) if axis == 2 or lead[0] != 1 else (1, y.shape[1], 1, 1)
        return y.reshape(shape)
