"""Ops on the bits of integers, packing of truth values into bytes, and reinterpretation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xdsl.utils.exceptions import VerifyException

from ge_xdsl.dialects.ge.elements import (
    BOOL,
    COMMUTATIVE,
    FLOATS,
    INTEGERS,
    NO_NUMBERS,
    one_element_type,
    require,
)
from ge_xdsl.dialects.ge.elementwise import broadcast_result
from ge_xdsl.dialects.ge.extents import bounded, count_of, of_rank
from ge_xdsl.dialects.ge.fields import boolean, data_type, integer, operand, result
from ge_xdsl.dialects.ge.op import GeOp
from ge_xdsl.dialects.ge.operands import check_scalar
from ge_xdsl.dialects.ge.shapes import shape_text
from ge_xdsl.dialects.ge.types import DYNAMIC, DataType, Tensor, numpy_dtype, tensor_of

if TYPE_CHECKING:
    from ge_xdsl.dialects.ge.types import Array

_INTEGER = "an integer type"


class BitwiseBinary(GeOp):
    """y is x1 and x2 broadcast together, bit by bit.

    C1: the shapes broadcast. C2: x1 and x2 have one element type, which is y's.
    C3: it is an integer type.
    """

    x1 = operand()
    x2 = operand()
    y = result()

    def infer(self, x1: Tensor, x2: Tensor) -> Tensor:
        dtype = one_element_type(x1, x2)  # C2
        require(x1, "x1", INTEGERS, _INTEGER)  # C3
        return broadcast_result(dtype, x1, x2)  # C1


class BitwiseAndOp(BitwiseBinary):
    """y = x1 & x2"""

    name = "ge.BitwiseAnd"
    traits = COMMUTATIVE

    def evaluate(self, x1: Array, x2: Array) -> Array:
        return x1 & x2


class BitwiseOrOp(BitwiseBinary):
    """y = x1 | x2"""

    name = "ge.BitwiseOr"
    traits = COMMUTATIVE

    def evaluate(self, x1: Array, x2: Array) -> Array:
        return x1 | x2


class BitwiseXorOp(BitwiseBinary):
    """y = x1 ^ x2"""

    name = "ge.BitwiseXor"
    traits = COMMUTATIVE

    def evaluate(self, x1: Array, x2: Array) -> Array:
        return x1 ^ x2


class BitwiseNotOp(GeOp):
    """y = ~x, the logical complement of booleans. C1: x is an integer or boolean tensor."""

    name = "ge.BitwiseNot"

    x = operand()
    y = result()

    def infer(self, x: Tensor) -> Tensor:
        require(x, "x", INTEGERS | BOOL, "an integer type or DT_BOOL")  # C1
        return x

    def evaluate(self, x: Array) -> Array:
        return ~x


class InvertOp(GeOp):
    """y = ~x. C1: x is an integer tensor."""

    name = "ge.Invert"

    x = operand()
    y = result()

    def infer(self, x: Tensor) -> Tensor:
        require(x, "x", INTEGERS, _INTEGER)  # C1
        return x

    def evaluate(self, x: Array) -> Array:
        return ~x


class InvertV2Op(GeOp):
    """y = ~x1. C1: x1 is an integer tensor."""

    name = "ge.InvertV2"

    x1 = operand()
    y = result()

    def infer(self, x1: Tensor) -> Tensor:
        require(x1, "x1", INTEGERS, _INTEGER)  # C1
        return x1

    def evaluate(self, x1: Array) -> Array:
        return ~x1


class Shift(GeOp):
    """z is x shifted by y bits; a y outside [0, bits) counts as the nearest number inside.

    C1: the shapes broadcast. C2: x and y have one element type, which is z's.
    C3: it is an integer type.
    """

    x = operand()
    y = operand()
    z = result()

    def infer(self, x: Tensor, y: Tensor) -> Tensor:
        dtype = one_element_type(x, y)  # C2
        require(x, "x", INTEGERS, _INTEGER)  # C3
        return broadcast_result(dtype, x, y)  # C1


def _clamp_shift(y: Array) -> Array:
    import numpy as np

    return np.clip(y, 0, 8 * y.dtype.itemsize - 1).astype(y.dtype, copy=False)


class LeftShiftOp(Shift):
    """z = x << y; bits that leave are lost."""

    name = "ge.LeftShift"

    def evaluate(self, x: Array, y: Array) -> Array:
        return x << _clamp_shift(y)


class RightShiftOp(Shift):
    """z = x >> y; the sign is copied for signed types, 0 for unsigned ones."""

    name = "ge.RightShift"

    def evaluate(self, x: Array, y: Array) -> Array:
        return x >> _clamp_shift(y)


class PopulationCountOp(GeOp):
    """y = the number of 1 bits of x (two's complement), u8. C1: x is an integer tensor."""

    name = "ge.PopulationCount"

    x = operand()
    y = result()

    def infer(self, x: Tensor) -> Tensor:
        require(x, "x", INTEGERS, _INTEGER)  # C1
        return x.with_dtype(DataType.DT_UINT8)

    def evaluate(self, x: Array) -> Array:
        import numpy as np

        return np.bitwise_count(x.view(f"u{x.dtype.itemsize}")).astype(np.uint8, copy=False)


class SignbitOp(GeOp):
    """y = whether the sign bit of x is set: -0.0 and negative NaN count, unsigned never do.

    C1: x is a floating-point or integer tensor.
    """

    name = "ge.Signbit"

    x = operand()
    y = result()

    def infer(self, x: Tensor) -> Tensor:
        require(x, "x", FLOATS | INTEGERS, "a floating-point or integer type")  # C1
        return x.with_dtype(DataType.DT_BOOL)

    def evaluate(self, x: Array) -> Array:
        import numpy as np

        if x.dtype.kind in "iu":
            return x < 0
        return np.signbit(x).astype(np.bool_, copy=False)


def _packed_rows(size: int, per_row: int) -> None:
    if per_row % size:
        raise VerifyException(f"{per_row} bytes, expected a multiple of size {size}")


class SignBitsPackOp(GeOp):
    """y = one bit per element of x, 1 where x < 0, the first element in the highest bit.

    x [n] gives u8 [size, ceil(n/8)/size]; bits past the end are 1. Zeros of either sign and NaN
    give 0. C1: x is a vector. C2: x is a floating-point tensor. C3: size is at least 1 and divides
    the number of bytes.
    """

    name = "ge.SignBitsPack"

    x = operand()
    y = result()
    size = integer()

    def infer(self, x: Tensor) -> Tensor:
        of_rank(x, 1, "x")  # C1
        require(x, "x", FLOATS, "a floating-point type")  # C2
        rows = count_of(self.size, "size", 1)  # C3
        count = x.size()
        if count is None:
            return Tensor(DataType.DT_UINT8, (rows, DYNAMIC))
        _packed_rows(rows, -(-count // 8))  # C3
        return Tensor(DataType.DT_UINT8, (rows, -(-count // 8) // rows))

    def evaluate(self, x: Array) -> Array:
        import numpy as np

        _packed_rows(self.size, -(-x.size // 8))
        bits = np.pad(x < 0, (0, -x.size % 8), constant_values=True)
        return np.packbits(bits).reshape(self.size, -1)


class SignBitsUnpackOp(GeOp):
    """y = +1 for each 1 bit of x, -1 for each 0 bit, the lowest bit of a byte first.

    x u8 [n] gives [size, 8*n/size] of dtype. C1: x is a vector. C2: x is u8. C3: size is at least
    1 and divides 8*n. C4: dtype is f32 or f16.
    """

    name = "ge.SignBitsUnpack"

    x = operand()
    y = result()
    size = integer()
    dtype = data_type()

    def infer(self, x: Tensor) -> Tensor:
        of_rank(x, 1, "x")  # C1
        require(x, "x", {DataType.DT_UINT8}, "DT_UINT8")  # C2
        rows = count_of(self.size, "size", 1)  # C3
        if self.dtype not in (DataType.DT_FLOAT, DataType.DT_FLOAT16):  # C4
            raise VerifyException(f"dtype is {self.dtype.name}, expected DT_FLOAT or DT_FLOAT16")
        count = x.size()
        if count is None:
            return Tensor(self.dtype, (rows, DYNAMIC))
        self._check_bits(8 * count)  # C3
        return Tensor(self.dtype, (rows, 8 * count // rows))

    def _check_bits(self, bits: int) -> None:
        if bits % self.size:
            raise VerifyException(f"{bits} bits, expected a multiple of size {self.size}")

    def evaluate(self, x: Array) -> Array:
        import numpy as np

        self._check_bits(8 * x.size)
        bits = np.unpackbits(x, bitorder="little")
        values = np.array([-1, 1], numpy_dtype(self.dtype))
        return values[bits].reshape(self.size, 8 * x.size // self.size)


class CompareAndBitpackOp(GeOp):
    """y = whether x > threshold, eight elements of the last dimension per byte, highest bit first.

    x [..., 8*n] gives u8 [..., n]. C1: x and threshold have one element type. C2: threshold is one
    element. C3: the last dimension of x is a multiple of 8.
    """

    name = "ge.CompareAndBitpack"

    x = operand()
    threshold = operand()
    y = result()

    def infer(self, x: Tensor, threshold: Tensor) -> Tensor:
        one_element_type(x, threshold)  # C1
        check_scalar(threshold, "threshold")  # C2
        if x.shape is None:
            return Tensor(DataType.DT_UINT8, None)
        last = x.shape[-1] if x.shape else 1
        if last != DYNAMIC and last % 8:  # C3
            raise VerifyException(
                f"x is {shape_text(x.shape)}, expected a last dimension that is a multiple of 8"
            )
        shape = (*x.shape[:-1], DYNAMIC if last == DYNAMIC else last // 8)
        return Tensor(DataType.DT_UINT8, shape)

    def evaluate(self, x: Array, threshold: Array) -> Array:
        import numpy as np

        return np.packbits((x > threshold.reshape(())).astype(np.bool_), axis=-1)


_WORDS = frozenset(DataType) - NO_NUMBERS - {DataType.DT_BOOL}


def _item_bytes(dtype: DataType) -> int:
    """The size of an element that fills whole bytes; raises for others."""
    if dtype not in _WORDS:
        raise VerifyException(f"element type is {dtype.name}, expected numbers of whole bytes")
    found = numpy_dtype(dtype)
    if found.name.removeprefix("u") in ("int4", "int2") or found.itemsize == 0:
        raise VerifyException(f"element type is {dtype.name}, expected numbers of whole bytes")
    return found.itemsize


class BitcastOp(GeOp):
    """y = the bytes of x read as elements of `type`.

    Types of one size keep the shape. A wider type takes up the last dimension, which is the ratio
    of the sizes; a narrower one adds a last dimension of that ratio. With keep_dim the rank stays
    and the last dimension is scaled instead. C1: both element types are numbers of whole bytes.
    C2: the last dimension of x is the ratio for a wider type (a multiple of it with keep_dim).
    """

    name = "ge.Bitcast"

    x = operand()
    y = result()
    type = data_type()
    keep_dim = boolean(False)

    def infer(self, x: Tensor) -> Tensor:
        have, want = _item_bytes(x.dtype), _item_bytes(self.type)  # C1
        if x.shape is None:
            return Tensor(self.type, None)
        if have == want:
            return x.with_dtype(self.type)
        if self.keep_dim:
            return Tensor(self.type, self._scaled(x.shape, have, want))
        if have > want:
            return Tensor(self.type, bounded((*x.shape, have // want)))
        if not x.shape or x.shape[-1] not in (DYNAMIC, want // have):  # C2
            raise VerifyException(
                f"x is {shape_text(x.shape)}, expected a last dimension of {want // have}"
            )
        return Tensor(self.type, x.shape[:-1])

    def _scaled(self, shape: tuple[int, ...], have: int, want: int) -> tuple[int, ...]:
        last = shape[-1] if shape else 1
        if last == DYNAMIC:
            return shape
        if not shape or last * have % want:  # C2
            raise VerifyException(
                f"x is {shape_text(shape)}, expected a last dimension whose bytes are a "
                f"multiple of {want}"
            )
        return (*shape[:-1], last * have // want)

    def evaluate(self, x: Array) -> Array:
        import numpy as np

        y = self.infer(Tensor(tensor_of(self.x.type).dtype, x.shape))
        raw = np.ascontiguousarray(x).reshape(-1).view(numpy_dtype(self.type))
        return raw.reshape(y.shape)
