"""Comparison, logic and selection."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xdsl.utils.exceptions import VerifyException

from ge_xdsl.dialects.ge.elements import BOOL, COMMUTATIVE, one_element_type, require
from ge_xdsl.dialects.ge.elementwise import broadcast_result
from ge_xdsl.dialects.ge.fields import operand, result
from ge_xdsl.dialects.ge.op import GeOp
from ge_xdsl.dialects.ge.shapes import merge_dim, shape_text
from ge_xdsl.dialects.ge.types import DataType, Tensor

if TYPE_CHECKING:
    from ge_xdsl.dialects.ge.types import Array


class Comparison(GeOp):
    """y is a boolean for each pair of x1 and x2 broadcast together; NaN differs from all.

    C1: the shapes broadcast. C2: x1 and x2 have one element type.
    """

    x1 = operand()
    x2 = operand()
    y = result()

    def infer(self, x1: Tensor, x2: Tensor) -> Tensor:
        one_element_type(x1, x2)  # C2
        return broadcast_result(DataType.DT_BOOL, x1, x2)  # C1


class EqualOp(Comparison):
    """y = x1 == x2"""

    name = "ge.Equal"
    traits = COMMUTATIVE

    def evaluate(self, x1: Array, x2: Array) -> Array:
        return x1 == x2


class NotEqualOp(Comparison):
    """y = x1 != x2"""

    name = "ge.NotEqual"
    traits = COMMUTATIVE

    def evaluate(self, x1: Array, x2: Array) -> Array:
        return x1 != x2


class LessOp(Comparison):
    """y = x1 < x2"""

    name = "ge.Less"

    def evaluate(self, x1: Array, x2: Array) -> Array:
        return x1 < x2


class LessEqualOp(Comparison):
    """y = x1 <= x2"""

    name = "ge.LessEqual"

    def evaluate(self, x1: Array, x2: Array) -> Array:
        return x1 <= x2


class GreaterOp(Comparison):
    """y = x1 > x2"""

    name = "ge.Greater"

    def evaluate(self, x1: Array, x2: Array) -> Array:
        return x1 > x2


class GreaterEqualOp(Comparison):
    """y = x1 >= x2"""

    name = "ge.GreaterEqual"

    def evaluate(self, x1: Array, x2: Array) -> Array:
        return x1 >= x2


class LogicalAndOp(Comparison):
    """y = x1 and x2

    C1: the shapes broadcast. C2: x1 and x2 have one element type. C3: they are booleans.
    """

    name = "ge.LogicalAnd"
    traits = COMMUTATIVE

    def infer(self, x1: Tensor, x2: Tensor) -> Tensor:
        one_element_type(x1, x2)  # C2
        require(x1, "x1", BOOL, "DT_BOOL")  # C3
        return broadcast_result(DataType.DT_BOOL, x1, x2)  # C1

    def evaluate(self, x1: Array, x2: Array) -> Array:
        return x1 & x2


class LogicalOrOp(Comparison):
    """y = x1 or x2; a number that is not 0 is true."""

    name = "ge.LogicalOr"
    traits = COMMUTATIVE

    def evaluate(self, x1: Array, x2: Array) -> Array:
        return (x1 != 0) | (x2 != 0)


class LogicalNotOp(GeOp):
    """y = not x

    C1: x is boolean.
    """

    name = "ge.LogicalNot"

    x = operand()
    y = result()

    def infer(self, x: Tensor) -> Tensor:
        require(x, "x", BOOL, "DT_BOOL")  # C1
        return x

    def evaluate(self, x: Array) -> Array:
        return ~x


class SelectOp(GeOp):
    """y = x1 where condition holds, else x2; condition indexes the leading dimensions.

    C1: x1 and x2 have one shape. C2: condition's shape is the first dimensions of it.
    C3: condition is boolean. C4: x1 and x2 have one element type, which is y's.
    """

    name = "ge.Select"

    condition = operand()
    x1 = operand()
    x2 = operand()
    y = result()

    def infer(self, condition: Tensor, x1: Tensor, x2: Tensor) -> Tensor:
        require(condition, "condition", BOOL, "DT_BOOL")  # C3
        dtype = one_element_type(x1, x2)  # C4
        known = x2 if x1.shape is None else x1
        if x1.shape is not None and x2.shape is not None:  # C1
            _check_prefix("x2", x2, x1, exact=True)
            pairs = zip(x1.shape, x2.shape, strict=True)
            known = Tensor(dtype, tuple(merge_dim(a, b, "dimensions") for a, b in pairs), x1.layout)
        if condition.shape is not None and known.shape is not None:  # C2
            _check_prefix("condition", condition, known, exact=False)
        return known.with_dtype(dtype)

    def evaluate(self, condition: Array, x1: Array, x2: Array) -> Array:
        import numpy as np

        extra = (1,) * (x1.ndim - condition.ndim)
        return np.where(condition.reshape(condition.shape + extra), x1, x2)


def _check_prefix(name: str, part: Tensor, whole: Tensor, exact: bool) -> None:
    """The shape of `part` is the leading dimensions of `whole`, all of them when `exact`."""
    dims, expected = part.shape or (), whole.shape or ()
    fits = len(dims) == len(expected) or (not exact and len(dims) < len(expected))
    if not fits or any(a != b and a >= 0 and b >= 0 for a, b in zip(dims, expected, strict=False)):
        word = "" if exact else "the leading dimensions of "
        raise VerifyException(
            f"{name} is {shape_text(dims)}, expected {word}{shape_text(expected)}"
        )


class SelectV2Op(GeOp):
    """result = then where condition holds, else `else`; all three are broadcast.

    C1: the shapes broadcast. C2: condition is boolean. C3: then and else have one element type,
    which is the result's.
    """

    name = "ge.SelectV2"

    condition = operand()
    then = operand()
    else_ = operand()
    result = result()

    def infer(self, condition: Tensor, then: Tensor, else_: Tensor) -> Tensor:
        require(condition, "condition", BOOL, "DT_BOOL")  # C2
        dtype = one_element_type(then, else_)  # C3
        return broadcast_result(dtype, then, else_, condition)  # C1

    def evaluate(self, condition: Array, then: Array, else_: Array) -> Array:
        import numpy as np

        return np.where(condition, then, else_)


class MaskedFillOp(GeOp):
    """y = value where mask holds, else x; x and mask are broadcast.

    C1: the shapes of x and mask broadcast. C2: mask is boolean. C3: value is one element.
    C4: x and value have one element type, which is y's.
    """

    name = "ge.MaskedFill"

    x = operand()
    mask = operand()
    value = operand()
    y = result()

    def infer(self, x: Tensor, mask: Tensor, value: Tensor) -> Tensor:
        require(mask, "mask", BOOL, "DT_BOOL")  # C2
        if value.size() not in (None, 1):  # C3
            raise VerifyException(f"value is {shape_text(value.shape)}, expected one element")
        return broadcast_result(one_element_type(x, value), x, mask)  # C4, C1

    def evaluate(self, x: Array, mask: Array, value: Array) -> Array:
        import numpy as np

        return np.where(mask, value.reshape(()), x)
