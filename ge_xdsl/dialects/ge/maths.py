"""Elementwise arithmetic beyond the everyday: inverse circular functions, guarded products, sums of
products, and values that are not finite.
"""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING

from xdsl.utils.exceptions import VerifyException

from ge_xdsl.dialects.ge.elements import (
    COMPLEX,
    FLOATS,
    INTEGERS,
    convert,
    one_element_type,
    require,
)
from ge_xdsl.dialects.ge.elementwise import Binary, Ternary, broadcast_result
from ge_xdsl.dialects.ge.extents import merge_shapes
from ge_xdsl.dialects.ge.fields import boolean, floating, floats, integer, operand, result, variadic
from ge_xdsl.dialects.ge.op import GeOp
from ge_xdsl.dialects.ge.operands import check_scalar
from ge_xdsl.dialects.ge.types import DataType, Tensor
from ge_xdsl.dialects.ge.unary import FloatUnary, Unary

if TYPE_CHECKING:
    from ge_xdsl.dialects.ge.types import Array


def wide(x: Array) -> Array:
    """Integers in f64, others as they are."""
    return x.astype("f8") if x.dtype.kind in "iu" else x


class _Circular(Unary):
    """C1: x is a floating-point, complex or integer tensor."""

    def infer(self, x: Tensor) -> Tensor:
        numbers = FLOATS | COMPLEX | INTEGERS
        require(x, "x", numbers, "a floating-point, complex or integer type")  # C1
        return x


class AcosOp(_Circular):
    """y = arc cosine of x, NaN outside [-1, 1]; integers truncate.

    C1: x is a floating-point, complex or integer tensor.
    """

    name = "ge.Acos"

    def evaluate(self, x: Array) -> Array:
        import numpy as np

        return convert(np.arccos(wide(x)), x.dtype)


class AsinOp(_Circular):
    """y = arc sine of x, NaN outside [-1, 1]; integers truncate.

    C1: x is a floating-point, complex or integer tensor.
    """

    name = "ge.Asin"

    def evaluate(self, x: Array) -> Array:
        import numpy as np

        return convert(np.arcsin(wide(x)), x.dtype)


class TanOp(_Circular):
    """y = tangent of x; integers truncate.

    C1: x is a floating-point, complex or integer tensor.
    """

    name = "ge.Tan"

    def evaluate(self, x: Array) -> Array:
        import numpy as np

        return convert(np.tan(wide(x)), x.dtype)


class RintOp(FloatUnary):
    """y = x rounded to an integer, halves to even."""

    name = "ge.Rint"

    def evaluate(self, x: Array) -> Array:
        import numpy as np

        return np.rint(x)


class SincOp(FloatUnary):
    """y = sin(pi x) / (pi x), 1 at 0."""

    name = "ge.Sinc"

    def evaluate(self, x: Array) -> Array:
        import numpy as np

        return np.asarray(np.sinc(x)).astype(x.dtype, copy=False)


class TruncOp(GeOp):
    """output_y = input_x without its fraction; integers stay."""

    name = "ge.Trunc"

    input_x = operand()
    output_y = result()

    def infer(self, input_x: Tensor) -> Tensor:
        return input_x

    def evaluate(self, input_x: Array) -> Array:
        import numpy as np

        return input_x if input_x.dtype.kind in "iu" else np.trunc(input_x)


class NanToNumOp(GeOp):
    """y = x with NaN, infinity and minus infinity replaced by nan, posinf and neginf.

    C1: x is a floating-point tensor.
    """

    name = "ge.NanToNum"

    x = operand()
    y = result()
    nan = floating()
    posinf = floating()
    neginf = floating()

    widens = True

    def infer(self, x: Tensor) -> Tensor:
        require(x, "x", FLOATS, "a floating-point type")  # C1
        return x

    def evaluate(self, x: Array) -> Array:
        import numpy as np

        y = np.where(np.isnan(x), x.dtype.type(self.nan), x)
        y = np.where(x == np.inf, x.dtype.type(self.posinf), y)
        return np.where(x == -np.inf, x.dtype.type(self.neginf), y)


class _InfinityTest(GeOp):
    x = operand()
    y = result()

    def infer(self, x: Tensor) -> Tensor:
        require(x, "x", FLOATS, "a floating-point type")  # C1
        return x.with_dtype(DataType.DT_BOOL)


class IsPosInfOp(_InfinityTest):
    """y = whether x is infinity. C1: x is a floating-point tensor."""

    name = "ge.IsPosInf"

    def evaluate(self, x: Array) -> Array:
        import numpy as np

        return np.equal(x, x.dtype.type(np.inf))


class IsNegInfOp(_InfinityTest):
    """y = whether x is minus infinity. C1: x is a floating-point tensor."""

    name = "ge.IsNegInf"

    def evaluate(self, x: Array) -> Array:
        import numpy as np

        return np.equal(x, x.dtype.type(-np.inf))


class XlogyOp(Binary):
    """y = x1 * log(x2), 0 where x1 is 0 unless x2 is NaN."""

    name = "ge.Xlogy"

    def evaluate(self, x1: Array, x2: Array) -> Array:
        import numpy as np

        return np.where((x1 == 0) & ~np.isnan(x2), x1.dtype.type(0), x1 * np.log(x2))


class XdivyOp(Binary):
    """y = x1 / x2, 0 where x1 is 0."""

    name = "ge.Xdivy"

    def evaluate(self, x1: Array, x2: Array) -> Array:
        import numpy as np

        return np.where(x1 == 0, x1.dtype.type(0), x1 / x2)


class MulNoNanOp(Binary):
    """y = x1 * x2, 0 where x2 is 0, whatever x1 is."""

    name = "ge.MulNoNan"

    def evaluate(self, x1: Array, x2: Array) -> Array:
        import numpy as np

        return np.where(x2 == 0, x1.dtype.type(0), x1 * x2)


class TruncateModOp(Binary):
    """y = x1 - trunc(x1 / x2) * x2, with the sign of x1 (C's fmod)."""

    name = "ge.TruncateMod"

    def evaluate(self, x1: Array, x2: Array) -> Array:
        import numpy as np

        return np.fmod(x1, x2)


class Atan2Op(Binary):
    """y = the angle of the point (x2, x1), in (-pi, pi]."""

    name = "ge.Atan2"

    def evaluate(self, x1: Array, x2: Array) -> Array:
        import numpy as np

        return np.arctan2(x1, x2).astype(x1.dtype, copy=False)


class GcdOp(Binary):
    """y = the greatest common divisor of x1 and x2, not negative.

    C1: the shapes broadcast. C2: x1 and x2 have one element type, which is y's. C3: it is an
    integer type.
    """

    name = "ge.Gcd"

    def infer(self, x1: Tensor, x2: Tensor) -> Tensor:
        y = super().infer(x1, x2)
        require(x1, "x1", INTEGERS, "an integer type")  # C3
        return y

    def evaluate(self, x1: Array, x2: Array) -> Array:
        import numpy as np

        return np.gcd(x1, x2)


class IsCloseOp(GeOp):
    """y = |x1 - x2| <= atol + rtol*|x2|; equal infinities are close, NaNs with equal_nan.

    C1: the shapes broadcast. C2: x1 and x2 have one element type.
    """

    name = "ge.IsClose"

    x1 = operand()
    x2 = operand()
    y = result()
    rtol = floating(1e-05)
    atol = floating(1e-08)
    equal_nan = boolean(False)

    widens = True

    def infer(self, x1: Tensor, x2: Tensor) -> Tensor:
        one_element_type(x1, x2)  # C2
        return broadcast_result(DataType.DT_BOOL, x1, x2)  # C1

    def evaluate(self, x1: Array, x2: Array) -> Array:
        import numpy as np

        found = np.isclose(x1, x2, rtol=self.rtol, atol=self.atol, equal_nan=self.equal_nan)
        return np.asarray(found)


class ApproximateEqualOp(GeOp):
    """y = |x1 - x2| < tolerance.

    C1: x1 and x2 have one shape. C2: they have one element type.
    """

    name = "ge.ApproximateEqual"

    x1 = operand()
    x2 = operand()
    y = result()
    tolerance = floating(1e-05)

    widens = True

    def infer(self, x1: Tensor, x2: Tensor) -> Tensor:
        one_element_type(x1, x2)  # C2
        return Tensor(DataType.DT_BOOL, merge_shapes(x1.shape, x2.shape, "shapes of x1 and x2"))

    def evaluate(self, x1: Array, x2: Array) -> Array:
        import numpy as np

        return np.abs(x1 - x2) < self.tolerance


class EltwiseOp(GeOp):
    """y = the product (mode 0), the sum (1) or the maximum (2) of all x, a sum weighted by coeff.

    C1: all have one element type. C2: all have one shape. C3: N is the number of operands. C4: mode
    is 0, 1 or 2. C5: coeff is empty or has one number per operand of a sum.
    """

    name = "ge.Eltwise"

    x = variadic()
    y = result()
    N = integer()
    mode = integer(1)
    coeff = floats(())

    widens = True

    def infer(self, x: list[Tensor]) -> Tensor:
        if len(x) != self.N or not x:  # C3
            raise VerifyException(f"has {len(x)} operands, expected N = {self.N}, at least 1")
        if self.mode not in (0, 1, 2):  # C4
            raise VerifyException(f"mode is {self.mode}, expected 0, 1 or 2")
        if self.mode == 1 and self.coeff and len(self.coeff) != self.N:  # C5
            raise VerifyException(f"coeff has {len(self.coeff)} numbers, expected {self.N}")
        dtype = one_element_type(*x)  # C1
        shape = x[0].shape
        for tensor in x[1:]:
            shape = merge_shapes(shape, tensor.shape, "shapes of two operands")  # C2
        return Tensor(dtype, shape, x[0].layout) if shape == x[0].shape else Tensor(dtype, shape)

    def evaluate(self, x: list[Array]) -> Array:
        import numpy as np

        if self.mode == 1 and self.coeff:
            x = [a * a.dtype.type(c) for a, c in zip(x, self.coeff, strict=True)]
        return reduce((np.multiply, np.add, np.maximum)[self.mode], x)


class FusedMulAddAddOp(GeOp):
    """y = x1 * x2 + x3 + x4, in the shape of x1.

    C1: the operands have one element type. C2: x2, x3 and x4 broadcast to x1.
    """

    name = "ge.FusedMulAddAdd"

    x1 = operand()
    x2 = operand()
    x3 = operand()
    x4 = operand()
    y = result()

    widens = True

    def infer(self, x1: Tensor, x2: Tensor, x3: Tensor, x4: Tensor) -> Tensor:
        dtype = one_element_type(x1, x2, x3, x4)  # C1
        whole = broadcast_result(dtype, x1, x2, x3, x4)  # C2
        merge_shapes(x1.shape, whole.shape, "shapes of x1 and of all together")  # C2
        return x1.with_dtype(dtype)

    def evaluate(self, x1: Array, x2: Array, x3: Array, x4: Array) -> Array:
        return x1 * x2 + x3 + x4


class FusedMulAddNOp(GeOp):
    """y = x1 * x3 + x2, x3 one number.

    C1: the operands have one element type. C2: x3 is one element. C3: x1 and x2 have one shape.
    """

    name = "ge.FusedMulAddN"

    x1 = operand()
    x2 = operand()
    x3 = operand()
    y = result()

    widens = True

    def infer(self, x1: Tensor, x2: Tensor, x3: Tensor) -> Tensor:
        one_element_type(x1, x2, x3)  # C1
        check_scalar(x3, "x3")  # C2
        merge_shapes(x1.shape, x2.shape, "shapes of x1 and x2")  # C3
        return x1

    def evaluate(self, x1: Array, x2: Array, x3: Array) -> Array:
        return x1 * x3.reshape(()) + x2


class ClipByValueV2Op(Ternary):
    """y = max(min(x, clip_value_max), clip_value_min); NaN stays NaN."""

    name = "ge.ClipByValueV2"

    x = operand()
    clip_value_min = operand()
    clip_value_max = operand()
    y = result()

    def evaluate(self, x: Array, clip_value_min: Array, clip_value_max: Array) -> Array:
        import numpy as np

        return np.maximum(np.minimum(x, clip_value_max), clip_value_min)
