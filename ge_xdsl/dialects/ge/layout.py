"""Changes of storage format. Here shapes are those of the storage.

With C0 numbers to a block (32 for types of one byte, else 16) and zeros up to whole blocks:

    NC1HWC0     [N, ceil(C/C0), H, W, C0]
    FRACTAL_Z   [ceil(C/C0) * H * W, ceil(N/16), 16, C0]
    FRACTAL_NZ  [..., ceil(n/C0), ceil(m/16), 16, C0]  of matrices [..., m, n]
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from xdsl.utils.exceptions import VerifyException

from ge_xdsl.dialects.ge.elements import NO_NUMBERS
from ge_xdsl.dialects.ge.extents import at_least_rank, bounded, of_rank
from ge_xdsl.dialects.ge.fields import integer, operand, result, string
from ge_xdsl.dialects.ge.op import GeOp
from ge_xdsl.dialects.ge.shapes import Shape, multiply_dims, shape_text
from ge_xdsl.dialects.ge.types import (
    DYNAMIC,
    DataType,
    Format,
    Layout,
    Tensor,
    numpy_dtype,
    tensor_of,
)

if TYPE_CHECKING:
    from ge_xdsl.dialects.ge.types import Array

_TO_NCHW = {"NCHW": (0, 1, 2, 3), "NHWC": (0, 3, 1, 2), "HWCN": (3, 2, 0, 1)}
_FOUR = ("NC1HWC0", "FRACTAL_Z")
_BLOCKED = (*_FOUR, "FRACTAL_NZ")
_ROWS = 16


def block_size(dtype: DataType) -> int:
    """C0 of an element type."""
    small = dtype not in NO_NUMBERS and numpy_dtype(dtype).itemsize == 1
    return 32 if small else 16


def _blocks(size: int, block: int) -> int:
    return DYNAMIC if size == DYNAMIC else -(-size // block)


def blocked_shape(shape: tuple[int, ...], target: str, block: int) -> tuple[int, ...]:
    """The storage of NCHW dimensions (of matrices for FRACTAL_NZ) in a blocked format."""
    if target == "FRACTAL_NZ":
        *head, m, n = shape
        return (*head, _blocks(n, block), _blocks(m, _ROWS), _ROWS, block)
    n, c, h, w = shape
    if target == "NC1HWC0":
        return (n, _blocks(c, block), h, w, block)
    return (multiply_dims(_blocks(c, block), h, w), _blocks(n, _ROWS), _ROWS, block)


def pack(x: Array, target: str, block: int) -> Array:
    """NCHW values (matrices for FRACTAL_NZ) in a blocked format."""
    import numpy as np

    pads = [(0, 0)] * x.ndim
    if target == "FRACTAL_NZ":
        pads[-2:] = [(0, -x.shape[-2] % _ROWS), (0, -x.shape[-1] % block)]
        x = np.pad(x, pads)
        *head, m, n = x.shape
        y = x.reshape((*head, m // _ROWS, _ROWS, n // block, block))
        k = len(head)
        return y.transpose((*range(k), k + 2, k, k + 1, k + 3))
    pads[1] = (0, -x.shape[1] % block)
    pads[0] = (0, -x.shape[0] % _ROWS if target == "FRACTAL_Z" else 0)
    x = np.pad(x, pads)
    n, c, h, w = x.shape
    if target == "NC1HWC0":
        return x.reshape(n, c // block, block, h, w).transpose(0, 1, 3, 4, 2)
    y = x.reshape(n // _ROWS, _ROWS, c // block, block, h, w).transpose(2, 4, 5, 0, 1, 3)
    return y.reshape(c // block * h * w, n // _ROWS, _ROWS, block)


def unpack(x: Array, source: str, shape: tuple[int, ...]) -> Array:
    """The NCHW values (matrices for FRACTAL_NZ) of `shape` from a blocked format."""
    if source == "FRACTAL_NZ":
        *head, n1, m1, rows, block = x.shape
        k = len(head)
        y = x.transpose((*range(k), k + 1, k + 2, k, k + 3))
        y = y.reshape((*head, m1 * rows, n1 * block))
    elif source == "NC1HWC0":
        n, c1, h, w, block = x.shape
        y = x.transpose(0, 1, 4, 2, 3).reshape(n, c1 * block, h, w)
    else:
        (_, _, h, w), (_, n1, rows, block) = shape, x.shape
        y = x.reshape(-1, h, w, n1, rows, block).transpose(3, 4, 0, 5, 1, 2)
        y = y.reshape(n1 * rows, math.prod(y.shape[2:4]), h, w)
    return y[tuple(slice(n) for n in shape)]


class TransDataOp(GeOp):
    """dst = src stored in dst_format instead of src_format.

    Formats are NCHW, NHWC, HWCN and ND without blocks, and NC1HWC0, FRACTAL_Z (both of the first
    three) and FRACTAL_NZ (of any) with blocks; the padding of blocks is 0. A blocked src tells its
    unblocked dimensions by its type's origin shape, else they are unknown until dst's type has
    them. src_subformat and dst_subformat have no effect. C1: the formats are two of these, at most
    one with blocks, and one may be made of the other. C2: groups is 1. C3: src has the rank of its
    format (2 or more for FRACTAL_NZ).
    """

    name = "ge.TransData"

    src = operand()
    dst = result()
    src_format = string()
    dst_format = string()
    src_subformat = integer(0)
    dst_subformat = integer(0)
    groups = integer(1)

    def infer(self, src: Tensor) -> Tensor:
        self._check_formats()
        if self.groups != 1:  # C2
            raise VerifyException(f"groups is {self.groups}, expected 1")
        target = Format[f"FORMAT_{self.dst_format}"]
        if self.src_format in _BLOCKED:
            return self._unblocked(src, target)
        if self.src_format in _TO_NCHW and self.dst_format != "FRACTAL_NZ":
            of_rank(src, 4, "src")  # C3
        at_least_rank(src, 2 if self.dst_format == "FRACTAL_NZ" else 0, "src")  # C3
        if src.shape is None:
            return Tensor(src.dtype, None)
        source = Format[f"FORMAT_{self.src_format}"]
        if self.dst_format not in _BLOCKED:
            shape = self._reordered(src.shape)
            return Tensor(src.dtype, shape, Layout(target, target))
        flat = self._nchw(src.shape) if self.dst_format in _FOUR else src.shape
        shape = bounded(blocked_shape(flat, self.dst_format, block_size(src.dtype)))
        return Tensor(src.dtype, shape, Layout(target, source, src.shape))

    def _check_formats(self) -> None:
        plain = (*_TO_NCHW, "ND")
        pair = {self.src_format, self.dst_format}
        blocked = sum(name in _BLOCKED for name in (self.src_format, self.dst_format))
        four = "ND" in pair and bool(pair & {*_FOUR, *_TO_NCHW})
        if not pair <= {*plain, *_BLOCKED} or blocked > 1 or four:  # C1
            raise VerifyException(
                f"formats are '{self.src_format}' and '{self.dst_format}', expected two of "
                f"{', '.join((*plain, *_BLOCKED))} that can be made of each other"
            )

    def _unblocked(self, src: Tensor, target: Format) -> Tensor:
        rank = {"NC1HWC0": 5, "FRACTAL_Z": 4}.get(self.src_format)
        if rank is None:
            at_least_rank(src, 4, "src")  # C3
        else:
            of_rank(src, rank, "src")  # C3
        layout = Layout(target, target)
        if src.layout.origin_shape is not None and src.layout.origin_format == target:
            return Tensor(src.dtype, src.layout.origin_shape, layout)
        if self.src_format in _FOUR:
            return Tensor(src.dtype, (DYNAMIC,) * 4, layout)
        vague = None if src.shape is None else (*src.shape[:-4], DYNAMIC, DYNAMIC)
        return Tensor(src.dtype, vague) if vague is None else Tensor(src.dtype, vague, layout)

    def _nchw(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(shape[i] for i in _TO_NCHW[self.src_format])

    def _reordered(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        if self.src_format == self.dst_format:
            return shape
        flat = self._nchw(shape)
        return tuple(flat[_TO_NCHW[self.dst_format].index(i)] for i in range(4))

    def evaluate(self, src: Array) -> Array:
        block = block_size(tensor_of(self.src.type).dtype)
        if self.src_format in _BLOCKED:
            return self._plain(src)
        if self.src_format == self.dst_format:
            return src
        if self.dst_format == "FRACTAL_NZ":
            return pack(src, self.dst_format, block)
        flat = src.transpose(_TO_NCHW[self.src_format])
        if self.dst_format in _FOUR:
            return pack(flat, self.dst_format, block)
        return _from_nchw(flat, self.dst_format)

    def _plain(self, src: Array) -> Array:
        dst = tensor_of(self.dst.type)
        shape: Shape = dst.shape
        if shape is None or not dst.is_static:
            raise ValueError(f"dst is {shape_text(shape)}, expected a known shape to unblock to")
        if self.src_format == "FRACTAL_NZ":
            return unpack(src, self.src_format, shape)
        flat = tuple(shape[i] for i in _TO_NCHW[self.dst_format])
        return _from_nchw(unpack(src, self.src_format, flat), self.dst_format)


def _from_nchw(x: Array, target: str) -> Array:
    order = _TO_NCHW[target]
    return x.transpose([order.index(i) for i in range(4)])
