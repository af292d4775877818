"""Elementwise arithmetic: one value in, one value out, with broadcasting."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xdsl.utils.exceptions import VerifyException

from ge_xdsl.dialects.ge.op import GeOp, operand, result
from ge_xdsl.dialects.ge.shapes import broadcast
from ge_xdsl.dialects.ge.types import Tensor

if TYPE_CHECKING:
    from ge_xdsl.dialects.ge.types import Array


class Unary(GeOp):
    """y has the shape and element type of x."""

    x = operand()
    y = result()

    widens = True

    def infer(self, x: Tensor) -> Tensor:
        return x


class Binary(GeOp):
    """y is x1 and x2 broadcast together.

    C1: the shapes broadcast. C2: x1 and x2 have one element type.
    """

    x1 = operand()
    x2 = operand()
    y = result()

    widens = True

    def infer(self, x1: Tensor, x2: Tensor) -> Tensor:
        if x1.dtype != x2.dtype:  # C2
            raise VerifyException(
                f"operands are {x1.dtype.name} and {x2.dtype.name}, expected one element type"
            )
        return x1.with_shape(broadcast(x1.shape, x2.shape))  # C1


class AddOp(Binary):
    """y = x1 + x2"""

    name = "ge.Add"

    def evaluate(self, x1: Array, x2: Array) -> Array:
        return x1 + x2


class MulOp(Binary):
    """y = x1 * x2"""

    name = "ge.Mul"

    def evaluate(self, x1: Array, x2: Array) -> Array:
        return x1 * x2


class ReluOp(Unary):
    """y = max(x, 0)"""

    name = "ge.Relu"

    def evaluate(self, x: Array) -> Array:
        import numpy as np

        return np.maximum(x, x.dtype.type(0))
