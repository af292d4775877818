"""Elementwise maths on one operand: the result has the operand's shape."""

from __future__ import annotations

from math import log
from typing import TYPE_CHECKING

from xdsl.utils.exceptions import VerifyException

from ge_xdsl.dialects.ge.elements import (
    BOOL,
    COMPLEX,
    FLOATS,
    INTEGERS,
    as_float,
    require,
)
from ge_xdsl.dialects.ge.fields import floating, integer, operand, result
from ge_xdsl.dialects.ge.op import GeOp
from ge_xdsl.dialects.ge.types import DataType, Tensor

if TYPE_CHECKING:
    from ge_xdsl.dialects.ge.types import Array


class Unary(GeOp):
    """y has the shape and element type of x."""

    x = operand()
    y = result()

    widens = True

    def infer(self, x: Tensor) -> Tensor:
        return x


class FloatUnary(Unary):
    """y has the shape and element type of x.

    C1: x is a floating-point tensor.
    """

    def infer(self, x: Tensor) -> Tensor:
        require(x, "x", FLOATS, "a floating-point type")  # C1
        return x


class ComplexUnary(Unary):
    """y has the shape and element type of x.

    C1: x is a floating-point or complex tensor.
    """

    def infer(self, x: Tensor) -> Tensor:
        require(x, "x", FLOATS | COMPLEX, "a floating-point or complex type")  # C1
        return x


class Predicate(GeOp):
    """y is a boolean for each element of x."""

    x = operand()
    y = result()

    def infer(self, x: Tensor) -> Tensor:
        return x.with_dtype(DataType.DT_BOOL)


class AbsOp(Unary):
    """y = |x|, in x's type even for complex x; the smallest integer stays as it is."""

    name = "ge.Abs"

    def evaluate(self, x: Array) -> Array:
        import numpy as np

        return np.abs(x).astype(x.dtype, copy=False)


class NegOp(Unary):
    """y = -x"""

    name = "ge.Neg"

    def evaluate(self, x: Array) -> Array:
        return -x


class SignOp(Unary):
    """y = -1, 0 or 1 with the sign of x, 0 for NaN; x / |x| for complex x."""

    name = "ge.Sign"

    def evaluate(self, x: Array) -> Array:
        import numpy as np

        if x.dtype.kind == "c":
            return x / np.where(x == 0, x.dtype.type(1), np.abs(x))
        return (x > 0).astype(x.dtype) - (x < 0).astype(x.dtype)


class SquareOp(Unary):
    """y = x * x; integers wrap."""

    name = "ge.Square"

    def evaluate(self, x: Array) -> Array:
        return x * x


class ReciprocalOp(ComplexUnary):
    """y = 1 / x"""

    name = "ge.Reciprocal"

    def evaluate(self, x: Array) -> Array:
        return 1 / x


class SqrtOp(ComplexUnary):
    """y = sqrt(x), NaN below 0"""

    name = "ge.Sqrt"

    def evaluate(self, x: Array) -> Array:
        import numpy as np

        return np.sqrt(x)


class RsqrtOp(ComplexUnary):
    """y = 1 / sqrt(x)"""

    name = "ge.Rsqrt"

    def evaluate(self, x: Array) -> Array:
        import numpy as np

        return 1 / np.sqrt(x)


class _Based(GeOp):
    """Exp and Log share `base`, `scale` and `shift`."""

    x = operand()
    y = result()
    base = floating(-1.0)
    scale = floating(1.0)
    shift = floating(0.0)

    widens = True

    def check_base(self, x: Tensor) -> None:
        if self.base != -1 and self.base <= 0:  # C2
            raise VerifyException(f"base is {self.base}, expected -1 or more than 0")
        plain = (self.base, self.scale, self.shift) == (-1, 1, 0)
        if not plain and (x.dtype in COMPLEX or x.dtype is DataType.DT_DOUBLE):  # C3
            raise VerifyException(
                f"base, scale or shift is set and x is {x.dtype.name}, expected f32, f16 or bf16"
            )

    def affine(self, x: Array) -> Array:
        """scale * x + shift"""
        return x if (self.scale, self.shift) == (1, 0) else x * self.scale + self.shift


class ExpOp(_Based):
    """y = base ^ (scale * x + shift), where base -1 stands for e.

    C1: x is a floating-point or complex tensor. C2: base is -1 or positive. C3: base, scale and
    shift are the defaults when x is f64 or complex.
    """

    name = "ge.Exp"

    def infer(self, x: Tensor) -> Tensor:
        require(x, "x", FLOATS | COMPLEX, "a floating-point or complex type")  # C1
        self.check_base(x)
        return x

    def evaluate(self, x: Array) -> Array:
        import numpy as np

        exponent = self.affine(x)
        return np.exp(exponent if self.base == -1 else exponent * log(self.base))


class LogOp(_Based):
    """y = log(scale * x + shift) to the base `base`, where base -1 stands for e.

    y is f32 when x holds integers or booleans, else has x's type. C1: x is a tensor of numbers.
    C2: base is -1 or positive. C3: base, scale and shift are the defaults when x is f64 or complex.
    """

    name = "ge.Log"

    def infer(self, x: Tensor) -> Tensor:
        require(x, "x", FLOATS | COMPLEX | INTEGERS | BOOL, "numbers")  # C1
        self.check_base(x)
        return x.with_dtype(DataType.DT_FLOAT) if x.dtype in INTEGERS | BOOL else x

    def evaluate(self, x: Array) -> Array:
        import numpy as np

        found = np.log(self.affine(as_float(x)))
        return found if self.base == -1 else found / log(self.base)


class Expm1Op(ComplexUnary):
    """y = e^x - 1"""

    name = "ge.Expm1"

    def evaluate(self, x: Array) -> Array:
        import numpy as np

        return np.expm1(x)


class Log1pOp(ComplexUnary):
    """y = ln(1 + x)"""

    name = "ge.Log1p"

    def evaluate(self, x: Array) -> Array:
        import numpy as np

        return np.log1p(x)


class ErfOp(FloatUnary):
    """y = 2 / sqrt(pi) * integral of e^(-t^2) from 0 to x"""

    name = "ge.Erf"

    def evaluate(self, x: Array) -> Array:
        from ge_xdsl.dialects.ge.special import erf

        return erf(x)


class ErfcOp(FloatUnary):
    """y = 1 - erf(x)"""

    name = "ge.Erfc"

    def evaluate(self, x: Array) -> Array:
        from ge_xdsl.dialects.ge.special import erfc

        return erfc(x)


class SinOp(ComplexUnary):
    """y = sin(x)"""

    name = "ge.Sin"

    def evaluate(self, x: Array) -> Array:
        import numpy as np

        return np.sin(x)


class CosOp(ComplexUnary):
    """y = cos(x)"""

    name = "ge.Cos"

    def evaluate(self, x: Array) -> Array:
        import numpy as np

        return np.cos(x)


class AtanOp(ComplexUnary):
    """y = arctan(x)"""

    name = "ge.Atan"

    def evaluate(self, x: Array) -> Array:
        import numpy as np

        return np.arctan(x)


class SinhOp(ComplexUnary):
    """y = sinh(x)"""

    name = "ge.Sinh"

    def evaluate(self, x: Array) -> Array:
        import numpy as np

        return np.sinh(x)


class CoshOp(ComplexUnary):
    """y = cosh(x)"""

    name = "ge.Cosh"

    def evaluate(self, x: Array) -> Array:
        import numpy as np

        return np.cosh(x)


class AsinhOp(ComplexUnary):
    """y = arsinh(x)"""

    name = "ge.Asinh"

    def evaluate(self, x: Array) -> Array:
        import numpy as np

        return np.arcsinh(x)


class AcoshOp(ComplexUnary):
    """y = arcosh(x), NaN below 1"""

    name = "ge.Acosh"

    def evaluate(self, x: Array) -> Array:
        import numpy as np

        return np.arccosh(x)


class AtanhOp(ComplexUnary):
    """y = artanh(x), NaN outside [-1, 1]"""

    name = "ge.Atanh"

    def evaluate(self, x: Array) -> Array:
        import numpy as np

        return np.arctanh(x)


class FloorOp(FloatUnary):
    """y = the largest whole number up to x"""

    name = "ge.Floor"

    def evaluate(self, x: Array) -> Array:
        import numpy as np

        return np.floor(x)


class CeilOp(FloatUnary):
    """y = the smallest whole number from x up"""

    name = "ge.Ceil"

    def evaluate(self, x: Array) -> Array:
        import numpy as np

        return np.ceil(x)


class RoundOp(Unary):
    """y = x rounded to `decimals` decimals, ties to even; decimals may be negative.

    C1: decimals is between -38 and 38, the powers of 10 that f32 holds.
    """

    name = "ge.Round"

    decimals = integer(0)

    def infer(self, x: Tensor) -> Tensor:
        if abs(self.decimals) > 38:  # C1
            raise VerifyException(f"decimals is {self.decimals}, expected -38 to 38")
        return x

    def evaluate(self, x: Array) -> Array:
        import numpy as np

        return np.round(x, self.decimals)


class IsNanOp(Predicate):
    """y = whether x is NaN"""

    name = "ge.IsNan"

    def evaluate(self, x: Array) -> Array:
        import numpy as np

        return np.isnan(x)


class IsInfOp(Predicate):
    """y = whether x is an infinity of either sign"""

    name = "ge.IsInf"

    def evaluate(self, x: Array) -> Array:
        import numpy as np

        return np.isinf(x)


class IsFiniteOp(Predicate):
    """y = whether x is neither NaN nor an infinity"""

    name = "ge.IsFinite"

    def evaluate(self, x: Array) -> Array:
        import numpy as np

        return np.isfinite(x)
