"""Matrices from bands of diagonals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from xdsl.utils.exceptions import VerifyException

from ge_xdsl.dialects.ge.elements import one_element_type
from ge_xdsl.dialects.ge.extents import at_least_rank, bounded, int_of
from ge_xdsl.dialects.ge.fields import operand, result
from ge_xdsl.dialects.ge.op import GeOp
from ge_xdsl.dialects.ge.operands import check_scalar, known_int, known_ints, vector_length
from ge_xdsl.dialects.ge.shapes import shape_text
from ge_xdsl.dialects.ge.types import DYNAMIC, Tensor

if TYPE_CHECKING:
    from ge_xdsl.dialects.ge.types import Array


class MatrixDiagV2Op(GeOp):
    """output[..., i, j] = diagonal[..., n, m] on diagonal j - i = high - n, padding_value elsewhere

    k is one diagonal or the lowest and the highest of a band, whose diagonals stand in the second
    to last dimension, highest first and flush left; m counts from the start of the diagonal.
    num_rows and num_cols of -1 take the smallest matrix that holds the diagonals. C1: k holds 1 or
    2 rising numbers. C2: num_rows, num_cols and padding_value are single numbers. C3: diagonal has
    rank 1 or more, 2 or more for a band, which has high - low + 1 rows. C4: the matrix holds the
    diagonals, whose longest is the last dimension of diagonal. C5: padding_value has the element
    type of diagonal. Flush left is TensorFlow's rule for this form.
    """

    name = "ge.MatrixDiagV2"

    diagonal = operand()
    k = operand()
    num_rows = operand()
    num_cols = operand()
    padding_value = operand()
    output = result()

    def infer(
        self, diagonal: Tensor, k: Tensor, num_rows: Tensor, num_cols: Tensor,
        padding_value: Tensor,
    ) -> Tensor:  # fmt: skip
        one_element_type(diagonal, padding_value)  # C5
        for tensor, name in (
            (num_rows, "num_rows"), (num_cols, "num_cols"), (padding_value, "padding_value"),
        ):  # fmt: skip
            check_scalar(tensor, name)  # C2
        if vector_length(k, "k") not in (DYNAMIC, 1, 2):  # C1
            raise VerifyException(f"k is {shape_text(k.shape)}, expected 1 or 2 entries")
        at_least_rank(diagonal, 1, "diagonal")  # C3
        ends = known_ints(self, "k")
        shape = diagonal.shape
        if shape is None or ends is None:
            return diagonal.with_shape(None)
        sizes = (known_int(self, "num_rows"), known_int(self, "num_cols"))
        return diagonal.with_shape(self.matrix_shape(shape, ends, sizes))

    def matrix_shape(
        self, shape: Sequence[int], ends: Sequence[int], sizes: Sequence[int | None]
    ) -> tuple[int, ...]:
        """The shape of output, DYNAMIC where a size is None or follows from an unknown one."""
        low, high = ends[0], ends[-1]
        if high < low:  # C1
            raise VerifyException(f"k is {list(ends)}, expected rising ends")
        lead = shape[:-1]
        if low < high:
            if len(shape) < 2 or shape[-2] not in (DYNAMIC, high - low + 1):  # C3
                raise VerifyException(
                    f"diagonal is {shape_text(shape)}, expected {high - low + 1} diagonals"
                )
            lead = shape[:-2]
        least = (shape[-1] - min(high, 0), shape[-1] + max(low, 0))
        if shape[-1] == DYNAMIC:
            return (*lead, *(DYNAMIC if n in (None, -1) else n for n in sizes))
        found = [
            DYNAMIC if n is None else need if n == -1 else n
            for n, need in zip(sizes, least, strict=True)
        ]
        if DYNAMIC not in found:
            rows, columns = found
            longest = min(rows + min(high, 0), columns - max(low, 0))
            if longest != shape[-1] and min(rows, columns) != shape[-1]:  # C4
                raise VerifyException(
                    f"matrix is {rows}x{columns}, expected one whose longest diagonal of "
                    f"{low} to {high} has {shape[-1]} elements"
                )
        return bounded((*lead, *found))

    def evaluate(
        self, diagonal: Array, k: Array, num_rows: Array, num_cols: Array, padding_value: Array
    ) -> Array:
        import numpy as np

        ends = [int(v) for v in k.reshape(-1)]
        sizes = (int_of(num_rows, "num_rows"), int_of(num_cols, "num_cols"))
        shape = self.matrix_shape(diagonal.shape, ends, sizes)
        y = np.full(shape, padding_value.reshape(()), diagonal.dtype)
        low, high = ends[0], ends[-1]
        band = diagonal.reshape(*shape[:-2], high - low + 1, diagonal.shape[-1])
        for n, offset in enumerate(range(high, low - 1, -1)):
            top, left = max(-offset, 0), max(offset, 0)
            length = min(shape[-2] - top, shape[-1] - left)
            places = np.arange(max(length, 0))
            y[..., top + places, left + places] = band[..., n, : len(places)]
        return y
