"""Elementwise ops under a second name or signature, the inverse error function, and casts of
cameras."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xdsl.utils.exceptions import VerifyException

from ge_xdsl.dialects.ge.elements import (
    as_float,
    convert,
    one_element_type,
    require,
)
from ge_xdsl.dialects.ge.elementwise import Binary, broadcast_result
from ge_xdsl.dialects.ge.extents import checked_shape, merge_shapes, of_rank
from ge_xdsl.dialects.ge.fields import data_type, floating, integer, operand, result
from ge_xdsl.dialects.ge.op import GeOp
from ge_xdsl.dialects.ge.operands import check_scalar
from ge_xdsl.dialects.ge.shapes import normalize_axis
from ge_xdsl.dialects.ge.suffix import check_floats
from ge_xdsl.dialects.ge.types import DYNAMIC, DataType, Tensor
from ge_xdsl.dialects.ge.unary import FloatUnary

if TYPE_CHECKING:
    from ge_xdsl.dialects.ge.types import Array


class AddV2Op(Binary):
    """y = x1 + x2; integers wrap."""

    name = "ge.AddV2"

    def evaluate(self, x1: Array, x2: Array) -> Array:
        return x1 + x2


class SubV2Op(Binary):
    """y = x1 - x2; integers wrap."""

    name = "ge.SubV2"

    def evaluate(self, x1: Array, x2: Array) -> Array:
        return x1 - x2


class MulV2Op(Binary):
    """y = x1 * x2; integers wrap."""

    name = "ge.MulV2"

    def evaluate(self, x1: Array, x2: Array) -> Array:
        return x1 * x2


class MaximumV2Op(Binary):
    """y = the larger of x1 and x2, NaN where one is"""

    name = "ge.MaximumV2"

    def evaluate(self, x1: Array, x2: Array) -> Array:
        import numpy as np

        return np.maximum(x1, x2)


class _ToZ(GeOp):
    """z has the shape and element type of x.

    C1: x is a floating-point tensor.
    """

    x = operand()
    z = result()

    widens = True

    def infer(self, x: Tensor) -> Tensor:
        check_floats(x=x)  # C1
        return x


class CeilV2Op(_ToZ):
    """z = the smallest whole number from x up"""

    name = "ge.CeilV2"

    def evaluate(self, x: Array) -> Array:
        import numpy as np

        return np.ceil(x)


class SquareV2Op(_ToZ):
    """z = x * x"""

    name = "ge.SquareV2"

    def evaluate(self, x: Array) -> Array:
        return x * x


class TanV2Op(FloatUnary):
    """y = tan(x)"""

    name = "ge.TanV2"

    def evaluate(self, x: Array) -> Array:
        import numpy as np

        return np.tan(x)


class TruncV2Op(FloatUnary):
    """y = x without its fraction"""

    name = "ge.TruncV2"

    def evaluate(self, x: Array) -> Array:
        import numpy as np

        return np.trunc(x)


class Log1pV2Op(GeOp):
    """y = ln(1 + x1)

    C1: x1 is a floating-point tensor.
    """

    name = "ge.Log1pV2"

    x1 = operand()
    y = result()

    widens = True

    def infer(self, x1: Tensor) -> Tensor:
        check_floats(x1=x1)  # C1
        return x1

    def evaluate(self, x1: Array) -> Array:
        import numpy as np

        return np.log1p(x1)


class ErfinvOp(GeOp):
    """output_y = the number whose error function is input_x; infinite at -1 and 1, NaN beyond

    Two steps of Newton from Winitzki's estimate, in f64. C1: input_x is a floating-point tensor.
    """

    name = "ge.Erfinv"

    input_x = operand()
    output_y = result()

    widens = True

    def infer(self, input_x: Tensor) -> Tensor:
        check_floats(input_x=input_x)  # C1
        return input_x

    def evaluate(self, input_x: Array) -> Array:
        from ge_xdsl.dialects.ge.special import erfinv

        return erfinv(input_x).astype(input_x.dtype)


class AxpyV1Op(GeOp):
    """output_z = input_a * input_x + input_y, input_a one number; integers wrap

    C1: the operands have one element type. C2: input_a is one element. C3: input_x and input_y
    have one shape.
    """

    name = "ge.AxpyV1"

    input_a = operand()
    input_x = operand()
    input_y = operand()
    output_z = result()

    widens = True

    def infer(self, input_a: Tensor, input_x: Tensor, input_y: Tensor) -> Tensor:
        one_element_type(input_a, input_x, input_y)  # C1
        check_scalar(input_a, "input_a")  # C2
        shape = merge_shapes(input_x.shape, input_y.shape, "shapes of input_x and input_y")  # C3
        return input_x.with_shape(shape)

    def evaluate(self, input_a: Array, input_x: Array, input_y: Array) -> Array:
        return input_a.reshape(()) * input_x + input_y


class AxpyV2Op(GeOp):
    """y = x1 + alpha * x2, alpha one number; integers are computed in f32 and truncated.

    C1: x1 and x2 broadcast. C2: x1 and x2 have one element type, which is y's. C3: alpha is one
    element.
    """

    name = "ge.AxpyV2"

    x1 = operand()
    x2 = operand()
    alpha = operand()
    y = result()

    widens = True

    def infer(self, x1: Tensor, x2: Tensor, alpha: Tensor) -> Tensor:
        check_scalar(alpha, "alpha")  # C3
        return broadcast_result(one_element_type(x1, x2), x1, x2)  # C1 C2

    def evaluate(self, x1: Array, x2: Array, alpha: Array) -> Array:
        wide = as_float(x1)
        number = alpha.reshape(()).astype(wide.dtype)
        return convert(wide + number * as_float(x2), x1.dtype)


class AxpyV3Op(GeOp):
    """z = a * x + y

    C1: x and y are floating-point tensors of one element type. C2: they broadcast.
    """

    name = "ge.AxpyV3"

    x = operand()
    y = operand()
    z = result()
    a = floating(1.0)

    widens = True

    def infer(self, x: Tensor, y: Tensor) -> Tensor:
        check_floats(x=x, y=y)  # C1
        return broadcast_result(one_element_type(x, y), x, y)  # C1 C2

    def evaluate(self, x: Array, y: Array) -> Array:
        return x.dtype.type(self.a) * x + y


class FusedMulAddNL2lossOp(GeOp):
    """y1 = x1 * x3 + x2, x3 one number; y2 = sum(x1^2) / 2, a scalar

    C1: the operands have one element type. C2: x3 is one element. C3: x1 and x2 have one shape.
    """

    name = "ge.FusedMulAddNL2loss"

    x1 = operand()
    x2 = operand()
    x3 = operand()
    y1 = result()
    y2 = result()

    widens = True

    def infer(self, x1: Tensor, x2: Tensor, x3: Tensor) -> tuple[Tensor, Tensor]:
        one_element_type(x1, x2, x3)  # C1
        check_scalar(x3, "x3")  # C2
        shape = merge_shapes(x1.shape, x2.shape, "shapes of x1 and x2")  # C3
        return x1.with_shape(shape), x1.with_shape(())

    def evaluate(self, x1: Array, x2: Array, x3: Array) -> tuple[Array, Array]:
        import numpy as np

        loss = np.sum(x1 * x1, dtype=x1.dtype) / x1.dtype.type(2)
        return x1 * x3.reshape(()) + x2, np.asarray(loss, x1.dtype)


class ReluV2Op(GeOp):
    """y = max(x, 0); mask = 1 where x > 0, a bit per element in the shape of x

    Older devices block the channels of the mask and pack its bits; this is the form of newer ones.
    """

    name = "ge.ReluV2"

    x = operand()
    y = result()
    mask = result()

    widens = True

    def infer(self, x: Tensor) -> tuple[Tensor, Tensor]:
        return x, Tensor(DataType.DT_UINT1, x.shape)

    def evaluate(self, x: Array) -> tuple[Array, Array]:
        import numpy as np

        return np.maximum(x, x.dtype.type(0)), x > 0


class ReluGradV2Op(GeOp):
    """backprops = gradients where mask is not 0, else 0; mask is the one of ReluV2

    C1: mask is u8 or u1. C2: gradients and mask have one shape.
    """

    name = "ge.ReluGradV2"

    gradients = operand()
    mask = operand()
    backprops = result()

    widens = True

    def infer(self, gradients: Tensor, mask: Tensor) -> Tensor:
        require(mask, "mask", (DataType.DT_UINT8, DataType.DT_UINT1), "DT_UINT8 or DT_UINT1")  # C1
        merge_shapes(gradients.shape, mask.shape, "shapes of gradients and mask")  # C2
        return gradients

    def evaluate(self, gradients: Array, mask: Array) -> Array:
        import numpy as np

        return np.where(mask != 0, gradients, gradients.dtype.type(0))


class _Extreme(GeOp):
    """The running extreme and its place along a dimension.

    C1: the dimension is in [-rank, rank).
    """

    x = operand()
    y = result()
    indices = result()

    def places(self, x: Tensor, axis: int) -> tuple[Tensor, Tensor]:
        if x.shape is not None:
            normalize_axis(axis, len(x.shape))  # C1
        return x, x.with_dtype(DataType.DT_INT32)

    def running(self, x: Array, axis: int, sign: int) -> tuple[Array, Array]:
        """The extreme so far and where it last stood; a NaN stays."""
        import numpy as np

        rows: Array = np.moveaxis(np.atleast_1d(x), normalize_axis(axis, x.ndim), 0)
        keep = np.maximum if sign > 0 else np.minimum
        best: Array = keep.accumulate(rows, axis=0)
        steps = np.reshape(np.arange(len(best)), (-1,) + (1,) * (best.ndim - 1))
        hits = np.where((rows == best) | (rows != rows), steps, 0)
        place = np.maximum.accumulate(hits, axis=0).astype(np.int32)
        found = (np.moveaxis(a, 0, normalize_axis(axis, x.ndim)) for a in (best, place))
        value, where = (a.reshape(x.shape) for a in found)
        return value, where


class CummaxOp(_Extreme):
    """y = the largest of x so far along dim, indices = where it last stood (i32)"""

    name = "ge.Cummax"

    dim = integer()

    def infer(self, x: Tensor) -> tuple[Tensor, Tensor]:
        return self.places(x, self.dim)

    def evaluate(self, x: Array) -> tuple[Array, Array]:
        return self.running(x, self.dim, 1)


class CumminOp(_Extreme):
    """y = the smallest of x so far along axis, indices = where it last stood (i32)"""

    name = "ge.Cummin"

    axis = integer()

    def infer(self, x: Tensor) -> tuple[Tensor, Tensor]:
        return self.places(x, self.axis)

    def evaluate(self, x: Array) -> tuple[Array, Array]:
        return self.running(x, self.axis, -1)


_COMPLEX = {
    DataType.DT_FLOAT: DataType.DT_COMPLEX64,
    DataType.DT_DOUBLE: DataType.DT_COMPLEX128,
}


class ComplexOp(GeOp):
    """out = real + i * imag, broadcast together

    C1: real and imag are f32 or f64, of one element type. C2: they broadcast. C3: Tout is the
    complex type of twice their width.
    """

    name = "ge.Complex"

    real = operand()
    imag = operand()
    out = result()
    Tout = data_type(DataType.DT_COMPLEX64)

    def infer(self, real: Tensor, imag: Tensor) -> Tensor:
        wide = {
            DataType.DT_FLOAT: DataType.DT_COMPLEX64,
            DataType.DT_DOUBLE: DataType.DT_COMPLEX128,
        }
        require(real, "real", wide, "DT_FLOAT or DT_DOUBLE")  # C1
        dtype = wide.get(one_element_type(real, imag), self.Tout)  # C1
        if self.Tout is not dtype:  # C3
            raise VerifyException(f"Tout is {self.Tout.name}, expected {dtype.name}")
        return broadcast_result(dtype, real, imag)  # C2

    def evaluate(self, real: Array, imag: Array) -> Array:
        import numpy as np

        found = np.empty(np.broadcast_shapes(real.shape, imag.shape), np.result_type(real, 1j))
        found.real, found.imag = real, imag
        return found


class AdaCastOp(GeOp):
    """y = x * (1 / pixel) as f16, clipped to its finite range; pixel <= 0 counts as 65535

    C1: x is u16.
    """

    name = "ge.AdaCast"

    x = operand()
    y = result()
    pixel = integer(65535)

    def infer(self, x: Tensor) -> Tensor:
        require(x, "x", (DataType.DT_UINT16,), "DT_UINT16")  # C1
        return x.with_dtype(DataType.DT_FLOAT16)

    def evaluate(self, x: Array) -> Array:
        import numpy as np

        step = np.float32(1) / np.float32(self.pixel if self.pixel > 0 else 65535)
        return np.clip(x.astype(np.float32) * step, -65504, 65504).astype(np.float16)


class TransArgbOp(GeOp):
    """y = x [A, B, C, D, E] as i16 [A, D, E, C, B]; that the fraction is cut off is unconfirmed

    C1: x is f16. C2: x has rank 5.
    """

    name = "ge.TransArgb"

    x = operand()
    y = result()

    def infer(self, x: Tensor) -> Tensor:
        require(x, "x", (DataType.DT_FLOAT16,), "DT_FLOAT16")  # C1
        of_rank(x, 5, "x")  # C2
        shape = (DYNAMIC,) * 5 if x.shape is None else [x.shape[i] for i in (0, 3, 4, 2, 1)]
        return Tensor(DataType.DT_INT16, tuple(shape))

    def evaluate(self, x: Array) -> Array:
        import numpy as np

        return convert(x.transpose(0, 3, 4, 2, 1), np.dtype(np.int16))


class BlendFaceBgPartTwoOp(GeOp):
    """fused_img = acc_face / (acc_mask + epsilon) * max_mask + bg_img * (1 - max_mask)

    C1: acc_face, acc_mask and max_mask are f32. C2: bg_img is u8 or f32. C3: all have one shape.
    """

    name = "ge.BlendFaceBgPartTwo"

    acc_face = operand()
    acc_mask = operand()
    max_mask = operand()
    bg_img = operand()
    fused_img = result()
    epsilon = floating(1e-12)

    def infer(self, acc_face: Tensor, *rest: Tensor) -> Tensor:
        ios = self.prototype.inputs
        for io, tensor in zip(ios, (acc_face, *rest[:2]), strict=False):
            require(tensor, io.name, (DataType.DT_FLOAT,), "DT_FLOAT")  # C1
        types = (DataType.DT_FLOAT, DataType.DT_UINT8)
        require(rest[2], "bg_img", types, "DT_FLOAT or DT_UINT8")  # C2
        shape = acc_face.shape
        for io, tensor in zip(ios[1:], rest, strict=True):
            shape = merge_shapes(shape, tensor.shape, f"shapes of acc_face and {io.name}")  # C3
        return acc_face.with_shape(shape)

    def evaluate(self, acc_face: Array, *rest: Array) -> Array:
        import numpy as np

        acc_mask, max_mask, bg_img = rest
        face = acc_face / (acc_mask + np.float32(self.epsilon)) * max_mask
        return face + bg_img.astype(np.float32) * (1 - max_mask)


class ContinuationIndicatorOp(GeOp):
    """y = f32 [time_step, batch_size] of ones, the first row of zeros; the values are unconfirmed

    C1: time_step and batch_size are at least 0.
    """

    name = "ge.ContinuationIndicator"

    y = result()
    time_step = integer()
    batch_size = integer()

    def infer(self) -> Tensor:
        shape = checked_shape((self.time_step, self.batch_size))  # C1
        return Tensor(DataType.DT_FLOAT, shape)

    def evaluate(self) -> Array:
        import numpy as np

        found = np.ones((self.time_step, self.batch_size), np.float32)
        found[:1] = 0
        return found
