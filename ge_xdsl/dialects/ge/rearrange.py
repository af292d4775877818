"""Elements in another order: rolled, reversed, repeated, and blocks of space moved to channels or
batch and back.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from xdsl.utils.exceptions import VerifyException

from ge_xdsl.dialects.ge.extents import at_least_rank, bounded, count_of, ints_of, of_rank
from ge_xdsl.dialects.ge.fields import integer, integers, operand, result, string
from ge_xdsl.dialects.ge.op import GeOp
from ge_xdsl.dialects.ge.operands import check_index, known_ints, vector_length
from ge_xdsl.dialects.ge.shapes import (
    merge_dim,
    multiply_dims,
    normalize_axes,
    normalize_axis,
)
from ge_xdsl.dialects.ge.types import DYNAMIC, Tensor, tensor_of

if TYPE_CHECKING:
    from ge_xdsl.dialects.ge.types import Array


class RollOp(GeOp):
    """y = x with each dims[k] rolled by shifts[k], to higher places; flattened without dims.

    C1: there is one shift per entry of dims, one in all without dims. C2: dims are dimensions of x.
    """

    name = "ge.Roll"

    x = operand()
    y = result()
    shifts = integers()
    dims = integers(())

    def infer(self, x: Tensor) -> Tensor:
        if len(self.shifts) != (len(self.dims) or 1):  # C1
            raise VerifyException(
                f"shifts has {len(self.shifts)} entries, expected {len(self.dims) or 1}"
            )
        if x.shape is not None:
            for dim in self.dims:
                normalize_axis(dim, len(x.shape), "dims")  # C2
        return x

    def evaluate(self, x: Array) -> Array:
        import numpy as np

        if not self.dims:
            return np.roll(x, self.shifts[0])
        return np.roll(x, tuple(self.shifts), tuple(self.dims)) if x.ndim else x


class _Reverse(GeOp):
    def places(self, axis: Sequence[int], rank: int) -> tuple[int, ...]:
        return normalize_axes(axis, rank, "axis")


class ReverseV2Op(_Reverse):
    """y = x with the order along each of axis reversed.

    C1: axis is an i32 or i64 list. C2: its entries are different dimensions of x.
    """

    name = "ge.ReverseV2"

    x = operand()
    axis = operand()
    y = result()

    def infer(self, x: Tensor, axis: Tensor) -> Tensor:
        vector_length(axis, "axis")  # C1
        known = known_ints(self, "axis")
        if known is not None and x.shape is not None:
            self.places(known, len(x.shape))  # C2
        return x

    def evaluate(self, x: Array, axis: Array) -> Array:
        import numpy as np

        return np.flip(x, self.places(ints_of(axis), x.ndim)) if x.ndim else x


class ReverseV2DOp(_Reverse):
    """y = x with the order along each of axis reversed.

    C1: the entries of axis are different dimensions of x.
    """

    name = "ge.ReverseV2D"

    x = operand()
    y = result()
    axis = integers()

    def infer(self, x: Tensor) -> Tensor:
        if x.shape is not None:
            self.places(self.axis, len(x.shape))  # C1
        return x

    def evaluate(self, x: Array) -> Array:
        import numpy as np

        return np.flip(x, self.places(self.axis, x.ndim)) if x.ndim else x


class ReverseSequenceOp(GeOp):
    """y = x with the first seq_lengths[b] entries along seq_dim reversed, for b along batch_dim.

    C1: seq_lengths is an i32 or i64 vector. C2: seq_dim and batch_dim are two dimensions of x.
    C3: seq_lengths has one number per entry of batch_dim.
    """

    name = "ge.ReverseSequence"

    x = operand()
    seq_lengths = operand()
    y = result()
    seq_dim = integer()
    batch_dim = integer(0)

    def infer(self, x: Tensor, seq_lengths: Tensor) -> Tensor:
        check_index(seq_lengths, "seq_lengths")  # C1
        of_rank(seq_lengths, 1, "seq_lengths")  # C1
        if x.shape is None:
            return x
        _, batch = self._dims(len(x.shape))
        if seq_lengths.shape is not None:
            merge_dim(seq_lengths.shape[0], x.shape[batch], "lengths of seq_lengths and x")  # C3
        return x

    def _dims(self, rank: int) -> tuple[int, int]:
        sequence = normalize_axis(self.seq_dim, rank, "seq_dim")  # C2
        batch = normalize_axis(self.batch_dim, rank, "batch_dim")  # C2
        if sequence == batch or rank < 2:  # C2
            raise VerifyException(
                f"seq_dim is {self.seq_dim} and batch_dim {self.batch_dim}, expected two dimensions"
            )
        return sequence, batch

    def evaluate(self, x: Array, seq_lengths: Array) -> Array:
        import numpy as np

        sequence, batch = self._dims(x.ndim)
        size = x.shape[sequence]
        if seq_lengths.size and (seq_lengths.min() < 0 or seq_lengths.max() > size):
            raise ValueError(f"seq_lengths are {seq_lengths.tolist()}, expected 0 to {size}")
        steps, lengths = np.arange(size, dtype=np.int64), seq_lengths[:, None]
        order = np.asarray(np.where(steps < lengths, lengths - 1 - steps, steps))
        shape = [1] * x.ndim
        shape[batch], shape[sequence] = order.shape
        order = (order if batch < sequence else order.T).reshape(shape)
        return np.take_along_axis(x, np.broadcast_to(order, x.shape), axis=sequence)


class RepeatInterleaveOp(GeOp):
    """y = x with entry i along axis repeated repeats[i] times, or all of them repeats times.

    C1: repeats is i32 or i64 of one number, or one per entry. C2: axis is a dimension of x (its
    default, 1000, is none). C3: repeats is not negative, and y has at most 2^40 elements.
    """

    name = "ge.RepeatInterleave"

    x = operand()
    repeats = operand()
    y = result()
    axis = integer(1000)

    def infer(self, x: Tensor, repeats: Tensor) -> Tensor:
        count = vector_length(repeats, "repeats")  # C1
        if x.shape is None:
            return x
        at_least_rank(x, 1, "x")  # C2
        place = normalize_axis(self.axis, len(x.shape))  # C2
        size = x.shape[place]
        if count not in (1, DYNAMIC):
            size = merge_dim(count, size, "lengths of repeats and of the axis")  # C1
        known = known_ints(self, "repeats")
        total = DYNAMIC
        if known is not None:
            if any(n < 0 for n in known):  # C3
                raise VerifyException(f"repeats are {list(known)}, expected none negative")
            total = multiply_dims(size, known[0]) if count == 1 else sum(known)
        return x.with_shape(bounded((*x.shape[:place], total, *x.shape[place + 1 :])))  # C3

    def evaluate(self, x: Array, repeats: Array) -> Array:
        import numpy as np

        place = normalize_axis(self.axis, x.ndim)
        each = np.broadcast_to(repeats.reshape(-1), (x.shape[place],))
        if each.size and each.min() < 0:
            raise ValueError(f"repeats are {repeats.tolist()}, expected none negative")
        count_of(int(each.sum()), "the number of entries")
        return np.repeat(x, each, axis=place)


def divided(size: int, block: int, what: str) -> int:
    """size / block, unknown when size is; raises when it does not divide."""
    if size == DYNAMIC:
        return DYNAMIC
    if size % block:
        raise VerifyException(f"{what} is {size}, expected a multiple of {block}")
    return size // block


class _Depth(GeOp):
    def first_channels(self, x: Tensor, data_format: str) -> bool:
        """Whether channels come before space: x's own format decides, else the attribute."""
        own = x.layout.format.name.removeprefix("FORMAT_")
        chosen = own if own in ("NCHW", "NHWC") else data_format
        if chosen not in ("NCHW", "NHWC"):  # C1
            raise VerifyException(f"data_format is '{chosen}', expected NCHW or NHWC")
        return chosen == "NCHW"

    def sizes(self, x: Tensor, first: bool, block: int) -> tuple[int, int, int, int] | None:
        """N, C, H and W of x."""
        of_rank(x, 4, "x")  # C2
        count_of(block, "block_size", 1)  # C3
        if x.shape is None:
            return None
        n, a, b, c = x.shape
        return (n, a, b, c) if first else (n, c, a, b)

    def arranged(self, x: Tensor, first: bool, n: int, c: int, h: int, w: int) -> Tensor:
        return x.with_shape(bounded((n, c, h, w) if first else (n, h, w, c)))


class SpaceToDepthOp(_Depth):
    """y = each block of block_size x block_size places as channels.

    [N, C, H, W] gives [N, C*b*b, H/b, W/b]. In NHWC the channel of (row, column, c) of a block is
    (row*b + column)*C + c, in NCHW c*b*b + row*b + column. The format of x decides, data_format
    when it is neither. C1: the format is NCHW or NHWC. C2: x has rank 4. C3: block_size is at
    least 1. C4: H and W are multiples of it.
    """

    name = "ge.SpaceToDepth"

    x = operand()
    y = result()
    block_size = integer()
    data_format = string("NHWC")

    def infer(self, x: Tensor) -> Tensor:
        first, b = self.first_channels(x, self.data_format), self.block_size
        sizes = self.sizes(x, first, b)
        if sizes is None:
            return x.with_shape((DYNAMIC,) * 4)
        n, c, h, w = sizes
        rows, columns = divided(h, b, "height"), divided(w, b, "width")  # C4
        return self.arranged(x, first, n, multiply_dims(c, b, b), rows, columns)

    def evaluate(self, x: Array) -> Array:
        b = self.block_size
        first = self.first_channels(tensor_of(self.x.type), self.data_format)
        if first:
            n, c, h, w = x.shape
            rows, columns = divided(h, b, "height"), divided(w, b, "width")
            y = x.reshape(n, c, rows, b, columns, b).transpose(0, 1, 3, 5, 2, 4)
            return y.reshape(n, c * b * b, rows, columns)
        n, h, w, c = x.shape
        rows, columns = divided(h, b, "height"), divided(w, b, "width")
        y = x.reshape(n, rows, b, columns, b, c).transpose(0, 1, 3, 2, 4, 5)
        return y.reshape(n, rows, columns, b * b * c)


class DepthToSpaceOp(_Depth):
    """y = the channels of x as blocks of block_size x block_size places.

    [N, C*b*b, H, W] gives [N, C, H*b, W*b]; the place (row, column) of channel c comes from channel
    (row*b + column)*C + c in mode DCR, c*b*b + row*b + column in mode CRD. The format of x decides,
    data_format when it is neither. C1: the format is NCHW or NHWC. C2: x has rank 4.
    C3: block_size is at least 1. C4: channels are a multiple of its square. C5: mode is DCR or CRD.
    """

    name = "ge.DepthToSpace"

    x = operand()
    y = result()
    block_size = integer()
    mode = string("DCR")
    data_format = string("NHWC")

    def infer(self, x: Tensor) -> Tensor:
        first, b = self.first_channels(x, self.data_format), self.block_size
        if self.mode not in ("DCR", "CRD"):  # C5
            raise VerifyException(f"mode is '{self.mode}', expected DCR or CRD")
        sizes = self.sizes(x, first, b)
        if sizes is None:
            return x.with_shape((DYNAMIC,) * 4)
        n, c, h, w = sizes
        channels = divided(c, b * b, "the number of channels")  # C4
        return self.arranged(x, first, n, channels, multiply_dims(h, b), multiply_dims(w, b))

    def evaluate(self, x: Array) -> Array:
        b = self.block_size
        first = self.first_channels(tensor_of(self.x.type), self.data_format)
        n, c, h, w = (x if first else x.transpose(0, 3, 1, 2)).shape
        inner = divided(c, b * b, "the number of channels")
        blocks = (b, b, inner) if self.mode == "DCR" else (inner, b, b)
        shape = (n, *blocks, h, w) if first else (n, h, w, *blocks)
        base = 1 if first else 3
        row, column, depth = (0, 1, 2) if self.mode == "DCR" else (1, 2, 0)
        height, width = (4, 5) if first else (1, 2)
        places = (height, base + row, width, base + column)
        order = (0, base + depth, *places) if first else (0, *places, base + depth)
        y = x.reshape(shape).transpose(order)
        return y.reshape((n, inner, h * b, w * b) if first else (n, h * b, w * b, inner))
