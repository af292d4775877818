"""Matrix products. Sums run in f32 for half floats and in i32 for i8 (the cube unit's rule)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xdsl.utils.exceptions import VerifyException

from ge_xdsl.dialects.ge.elements import one_element_type
from ge_xdsl.dialects.ge.op import GeOp, boolean, integer, operand, optional, result
from ge_xdsl.dialects.ge.operands import check_scalar
from ge_xdsl.dialects.ge.shapes import broadcast, merge_dim, shape_text
from ge_xdsl.dialects.ge.types import DataType, Tensor

if TYPE_CHECKING:
    from ge_xdsl.dialects.ge.shapes import Shape
    from ge_xdsl.dialects.ge.types import Array

_NARROW = frozenset({DataType.DT_INT8, DataType.DT_INT4})
"""Integer operands whose products are summed in i32."""


def product_dtype(dtype: DataType) -> DataType:
    """The element type of a cube result: i32 for narrow integers, else the operands'."""
    return DataType.DT_INT32 if dtype in _NARROW else dtype


def contract(a: Array, b: Array) -> Array:
    """a @ b with the cube unit's accumulation; i8 and i4 operands give i32.

    Narrow integers go through a float product that is exact: every partial sum stays below
    2^24 in f32 (K <= 1024) and far below 2^53 in f64.
    """
    import numpy as np

    if a.dtype.itemsize > 1 or a.dtype.kind == "b":
        return a @ b
    exact = np.float32 if a.shape[-1] <= 1024 else np.float64
    return (a.astype(exact) @ b.astype(exact)).astype(np.int64).astype(np.int32)


def check_reserved(offset_w: Tensor | None, offset_x: int) -> None:
    """The quantised-input offsets that GE reserves."""
    if offset_w is not None:
        raise VerifyException("offset_w is given, expected none: GE reserves it")
    if offset_x != 0:
        raise VerifyException(f"offset_x is {offset_x}, expected 0: GE reserves it")


def matrix_shape(a: Shape, b: Shape, swap_a: bool, swap_b: bool) -> Shape:
    """The shape of op(a) @ op(b), where a vector is lifted to a matrix.

    The lifted dimension is dropped again when exactly one side was lifted.
    """
    if a is None or b is None:
        return None
    if not a or not b:
        raise VerifyException(f"shapes are {shape_text(a)} and {shape_text(b)}, expected rank >= 1")
    rows = (1, a[0]) if len(a) == 1 else (a[-1], a[-2]) if swap_a else a[-2:]
    columns = (b[0], 1) if len(b) == 1 else (b[-1], b[-2]) if swap_b else b[-2:]
    merge_dim(rows[1], columns[0], "inner dimensions")
    kept = (
        *(() if len(a) == 1 and len(b) > 1 else (rows[0],)),
        *(() if len(b) == 1 and len(a) > 1 else (columns[1],)),
    )
    batch = broadcast(a[:-2], b[:-2])
    return None if batch is None else (*batch, *kept)


def multiply(a: Array, b: Array, swap_a: bool, swap_b: bool) -> Array:
    """op(a) @ op(b) in the shape that `matrix_shape` gives."""
    if a.ndim == 1 and b.ndim == 1:
        return contract(a[None, :], b[:, None])
    a = a.swapaxes(-1, -2) if swap_a and a.ndim > 1 else a
    b = b.swapaxes(-1, -2) if swap_b and b.ndim > 1 else b
    return contract(a, b)


def check_columns(y: Shape, bias: Tensor | None) -> Shape:
    """y with the columns that bias tells; raises when both are known and differ."""
    if bias is None or not bias.shape or not y:
        return y
    return (*y[:-1], merge_dim(y[-1], bias.shape[-1], "columns and bias length"))


class Matrices(GeOp):
    """The rules of MatMul and MatMulV2: matrices, a vector standing for one."""

    widens = True

    def _infer(
        self, x1: Tensor, x2: Tensor, bias: Tensor | None, swap: tuple[bool, bool]
    ) -> Tensor:
        one_element_type(x1, x2)  # C3
        for tensor, name in ((x1, "x1"), (x2, "x2")):  # C1
            if tensor.rank is not None and tensor.rank not in (1, 2):
                raise VerifyException(f"{name} is {shape_text(tensor.shape)}, expected rank 1 or 2")
        shape = matrix_shape(x1.shape, x2.shape, *swap)  # C2
        if bias is not None and bias.shape is not None and any(d != 1 for d in bias.shape[:-1]):
            raise VerifyException(f"bias is {shape_text(bias.shape)}, expected one row")  # C4
        return Tensor(product_dtype(x1.dtype), check_columns(shape, bias))  # C4


class MatMulOp(Matrices):
    """y = op(x1) @ op(x2) + bias, where op swaps the two dimensions under transpose_x1/x2.

    A vector x1 is a row and a vector x2 a column; that dimension is not in y (but [K] @ [K] is
    [1, 1]). C1: x1 and x2 have rank 1 or 2. C2: the inner dimensions are equal. C3: one element
    type. C4: bias is one row of y's length.
    """

    name = "ge.MatMul"

    x1 = operand()
    x2 = operand()
    bias = optional()
    transpose_x1 = boolean(False)
    transpose_x2 = boolean(False)
    y = result()

    def infer(self, x1: Tensor, x2: Tensor, bias: Tensor | None) -> Tensor:
        return self._infer(x1, x2, bias, (self.transpose_x1, self.transpose_x2))

    def evaluate(self, x1: Array, x2: Array, bias: Array | None) -> Array:
        y = multiply(x1, x2, self.transpose_x1, self.transpose_x2)
        return y if bias is None else (y + bias).reshape(y.shape)


class MatMulV2Op(Matrices):
    """y = op(x1) @ op(x2) + bias, where op swaps the two dimensions under transpose_x1/x2.

    i8 and i4 operands give i32. C1: x1 and x2 have rank 1 or 2. C2: the inner dimensions are
    equal. C3: one element type. C4: bias is one row of y's length. C5: no offset_w, offset_x = 0.
    """

    name = "ge.MatMulV2"

    x1 = operand()
    x2 = operand()
    bias = optional()
    offset_w = optional()
    transpose_x1 = boolean(False)
    transpose_x2 = boolean(False)
    offset_x = integer(0)
    y = result()

    def infer(self, x1: Tensor, x2: Tensor, bias: Tensor | None, offset_w: Tensor | None) -> Tensor:
        check_reserved(offset_w, self.offset_x)  # C5
        return self._infer(x1, x2, bias, (self.transpose_x1, self.transpose_x2))

    def evaluate(self, x1: Array, x2: Array, bias: Array | None, offset_w: Array | None) -> Array:
        y = multiply(x1, x2, self.transpose_x1, self.transpose_x2)
        return y if bias is None else (y + bias).reshape(y.shape)


class BatchMatMulOp(GeOp):
    """y[..., :, :] = op(x1[..., :, :]) @ op(x2[..., :, :]); leading dimensions broadcast.

    op swaps the last two dimensions under adj_x1/adj_x2 (no conjugation); a vector operand is
    lifted as in MatMul and not swapped. C1: rank >= 1. C2: the inner dimensions are equal.
    C3: one element type. C4: the leading dimensions broadcast.
    """

    name = "ge.BatchMatMul"

    x1 = operand()
    x2 = operand()
    adj_x1 = boolean(False)
    adj_x2 = boolean(False)
    y = result()

    widens = True

    def infer(self, x1: Tensor, x2: Tensor) -> Tensor:
        one_element_type(x1, x2)  # C3
        shape = matrix_shape(x1.shape, x2.shape, self.adj_x1, self.adj_x2)  # C1 C2 C4
        return Tensor(product_dtype(x1.dtype), shape)

    def evaluate(self, x1: Array, x2: Array) -> Array:
        return multiply(x1, x2, self.adj_x1, self.adj_x2)


class BatchMatMulV2Op(GeOp):
    """y = op(x1) @ op(x2) + bias over the last two dimensions; leading dimensions broadcast.

    i8 and i4 operands give i32. C1: rank >= 1. C2: the inner dimensions are equal. C3: one
    element type. C4: the leading dimensions broadcast. C5: bias broadcasts with y and has its
    columns. C6: no offset_w, offset_x = 0.
    """

    name = "ge.BatchMatMulV2"

    x1 = operand()
    x2 = operand()
    bias = optional()
    offset_w = optional()
    adj_x1 = boolean(False)
    adj_x2 = boolean(False)
    offset_x = integer(0)
    y = result()

    widens = True

    def infer(self, x1: Tensor, x2: Tensor, bias: Tensor | None, offset_w: Tensor | None) -> Tensor:
        one_element_type(x1, x2)  # C3
        check_reserved(offset_w, self.offset_x)  # C6
        shape = matrix_shape(x1.shape, x2.shape, self.adj_x1, self.adj_x2)  # C1 C2 C4
        if bias is not None:
            shape = check_columns(shape, bias)  # C5
            shape = broadcast(shape, bias.shape) if shape is not None else None
        return Tensor(product_dtype(x1.dtype), shape)

    def evaluate(self, x1: Array, x2: Array, bias: Array | None, offset_w: Array | None) -> Array:
        y = multiply(x1, x2, self.adj_x1, self.adj_x2)
        return y if bias is None else y + bias


class GEMMOp(GeOp):
    """y = alpha * op(a) @ op(b) + beta * c, where op swaps under transpose_a/transpose_b.

    y has the type of c; sums run in i32 for i8 operands. C1: a and b have rank 2. C2: the inner
    dimensions are equal. C3: a and b have one element type. C4: c is the full [M, N]. C5: alpha
    and beta hold one element. C6: alpha, beta and c have one element type.
    """

    name = "ge.GEMM"

    a = operand()
    b = operand()
    c = operand()
    alpha = operand()
    beta = operand()
    transpose_a = boolean(False)
    transpose_b = boolean(False)
    y = result()

    widens = True

    def infer(self, a: Tensor, b: Tensor, c: Tensor, alpha: Tensor, beta: Tensor) -> Tensor:
        one_element_type(a, b)  # C3
        for tensor, name in ((alpha, "alpha"), (beta, "beta")):  # C6
            if tensor.dtype != c.dtype:
                raise VerifyException(
                    f"{name} is {tensor.dtype.name}, expected the type of c, {c.dtype.name}"
                )
        check_scalar(alpha, "alpha")  # C5
        check_scalar(beta, "beta")
        for tensor, name in ((a, "a"), (b, "b"), (c, "c")):  # C1
            if tensor.rank not in (None, 2):
                raise VerifyException(f"{name} is {shape_text(tensor.shape)}, expected rank 2")
        full = matrix_shape(a.shape, b.shape, self.transpose_a, self.transpose_b)  # C2
        if full is None or c.shape is None:
            return c.with_shape(c.shape or full)
        pairs = zip(c.shape, full, ("rows of c and a @ b", "columns of c and a @ b"), strict=True)
        return c.with_shape([merge_dim(have, want, what) for have, want, what in pairs])  # C4

    def evaluate(self, a: Array, b: Array, c: Array, alpha: Array, beta: Array) -> Array:
        product = multiply(a, b, self.transpose_a, self.transpose_b)
        y = alpha.reshape(()) * product.astype(c.dtype) + beta.reshape(()) * c
        return y.astype(c.dtype)
