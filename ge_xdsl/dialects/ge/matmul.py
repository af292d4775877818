"""Matrix products. Sums run in f32 for half floats and in i32 for i8 (the cube unit's rule)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xdsl.utils.exceptions import VerifyException

from ge_xdsl.dialects.ge.op import GeOp, boolean, operand, optional, result
from ge_xdsl.dialects.ge.shapes import merge_dim
from ge_xdsl.dialects.ge.types import Tensor

if TYPE_CHECKING:
    from ge_xdsl.dialects.ge.types import Array


class MatMulOp(GeOp):
    """y = op(x1) @ op(x2) + bias for matrices.

    C1: x1 and x2 have rank 2. C2: the inner dimensions are equal. C3: one element type.
    C4: bias has the length of y's rows.
    """

    name = "ge.MatMul"

    x1 = operand()
    x2 = operand()
    bias = optional()
    transpose_x1 = boolean(False)
    transpose_x2 = boolean(False)
    y = result()

    widens = True

    def infer(self, x1: Tensor, x2: Tensor, bias: Tensor | None) -> Tensor:
        if x1.dtype != x2.dtype:  # C3
            raise VerifyException(
                f"operands are {x1.dtype.name} and {x2.dtype.name}, expected one element type"
            )
        if x1.shape is None or x2.shape is None:
            return x1.with_shape(None)
        if len(x1.shape) != 2 or len(x2.shape) != 2:  # C1
            raise VerifyException(f"ranks are {x1.rank} and {x2.rank}, expected 2 and 2")
        m, k1 = x1.shape[::-1] if self.transpose_x1 else x1.shape
        k2, n = x2.shape[::-1] if self.transpose_x2 else x2.shape
        merge_dim(k1, k2, "inner dimensions")  # C2
        if bias is not None and bias.shape is not None:
            merge_dim(bias.shape[-1] if bias.shape else 1, n, "bias length and columns")  # C4
        return x1.with_shape((m, n))

    def evaluate(self, x1: Array, x2: Array, bias: Array | None) -> Array:
        a = x1.T if self.transpose_x1 else x1
        b = x2.T if self.transpose_x2 else x2
        y = a @ b
        return y if bias is None else y + bias
