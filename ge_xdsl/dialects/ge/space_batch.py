"""Blocks of space moved to the batch and back, in the order of TensorFlow.

Batch entry (r*n_columns + c)*N + n of the blocked side holds place (r, c) of each block of entry n.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from xdsl.utils.exceptions import VerifyException

from ge_xdsl.dialects.ge.extents import at_least_rank, bounded, count_of, ints_of, of_rank
from ge_xdsl.dialects.ge.fields import integer, integers, operand, result
from ge_xdsl.dialects.ge.op import GeOp
from ge_xdsl.dialects.ge.operands import check_index, known_ints, vector_length
from ge_xdsl.dialects.ge.rearrange import divided
from ge_xdsl.dialects.ge.shapes import multiply_dims
from ge_xdsl.dialects.ge.types import DYNAMIC, Tensor

if TYPE_CHECKING:
    from ge_xdsl.dialects.ge.types import Array


def blocks_to_batch(x: Array, blocks: Sequence[int], pads: Sequence[Sequence[int]]) -> Array:
    """[N, d1, ..., rest] padded by zeros -> [N * prod(blocks), d1/b1, ..., rest]."""
    import numpy as np

    count = len(blocks)
    before = [(0, 0), *((int(a), int(b)) for a, b in pads), *[(0, 0)] * (x.ndim - 1 - count)]
    x = np.pad(x, before)
    sizes = [divided(x.shape[i + 1], b, f"padded dimension {i + 1}") for i, b in enumerate(blocks)]
    split = [n for pair in zip(sizes, blocks, strict=True) for n in pair]
    rest = x.shape[count + 1 :]
    y = x.reshape((x.shape[0], *split, *rest))
    inner, outer = range(2, 2 * count + 1, 2), range(1, 2 * count + 1, 2)
    y = y.transpose((*inner, 0, *outer, *range(2 * count + 1, y.ndim)))
    return y.reshape((x.shape[0] * math.prod(blocks), *sizes, *rest))


def batch_to_blocks(x: Array, blocks: Sequence[int], crops: Sequence[Sequence[int]]) -> Array:
    """[N * prod(blocks), d1, ..., rest] -> [N, d1*b1 less crops, ..., rest]."""
    count = len(blocks)
    n = divided(x.shape[0], math.prod(blocks), "batch")
    sizes, rest = x.shape[1 : count + 1], x.shape[count + 1 :]
    y = x.reshape((*blocks, n, *sizes, *rest))
    pairs = [i for k in range(count) for i in (count + 1 + k, k)]
    y = y.transpose((count, *pairs, *range(2 * count + 1, y.ndim)))
    y = y.reshape((n, *(s * b for s, b in zip(sizes, blocks, strict=True)), *rest))
    kept = [slice(int(a), y.shape[i + 1] - int(b)) for i, (a, b) in enumerate(crops)]
    return y[(slice(None), *kept)]


def _pairs(flat: Sequence[int], count: int, name: str) -> list[tuple[int, int]]:
    if len(flat) != 2 * count:
        raise VerifyException(f"{name} has {len(flat)} entries, expected {2 * count}")
    if any(n < 0 for n in flat):
        raise VerifyException(f"{name} are {list(flat)}, expected none negative")
    return [(flat[2 * i], flat[2 * i + 1]) for i in range(count)]


def _check_blocks(blocks: Sequence[int], x: Tensor) -> None:
    for block in blocks:
        count_of(block, "block size", 1)
    at_least_rank(x, len(blocks) + 1, "x")


def to_batch_type(x: Tensor, blocks: Sequence[int], flat: Sequence[int] | None) -> Tensor:
    """The result of blocks_to_batch; `flat` lists the paddings, None while they are unknown."""
    _check_blocks(blocks, x)  # C1 C2
    pads = None if flat is None else _pairs(flat, len(blocks), "paddings")  # C3
    if x.shape is None:
        return x
    dims = list(x.shape)
    for i, block in enumerate(blocks, 1):
        padded = DYNAMIC if pads is None or dims[i] == DYNAMIC else dims[i] + sum(pads[i - 1])
        dims[i] = divided(padded, block, f"padded dimension {i}")  # C4
    return x.with_shape(bounded((multiply_dims(dims[0], *blocks), *dims[1:])))


def from_batch_type(x: Tensor, blocks: Sequence[int], flat: Sequence[int] | None) -> Tensor:
    """The result of batch_to_blocks; `flat` lists the crops, None while they are unknown."""
    _check_blocks(blocks, x)  # C1 C2
    crops = None if flat is None else _pairs(flat, len(blocks), "crops")  # C3
    if x.shape is None:
        return x
    dims = list(x.shape)
    dims[0] = divided(dims[0], math.prod(blocks), "batch")  # C4
    for i, block in enumerate(blocks, 1):
        if dims[i] == DYNAMIC or crops is None:
            dims[i] = DYNAMIC
            continue
        dims[i] = dims[i] * block - sum(crops[i - 1])
        if dims[i] < 0:  # C4
            raise VerifyException(
                f"crops are {list(crops[i - 1])} of dimension {i}, "
                f"expected at most {x.shape[i] * block} in all"
            )
    return x.with_shape(bounded(dims))


class SpaceToBatchOp(GeOp):
    """y = x padded by zeros, the places of each block as batch entries: NHWC, square blocks.

    C1: block_size is at least 1. C2: x has rank 4. C3: paddings has two numbers for height and
    two for width, none negative. C4: the padded dimensions are multiples of the block sizes.
    C5: paddings is i32 or i64.
    """

    name = "ge.SpaceToBatch"

    x = operand()
    paddings = operand()
    y = result()
    block_size = integer()

    def infer(self, x: Tensor, paddings: Tensor) -> Tensor:
        check_index(paddings, "paddings")  # C5
        of_rank(x, 4, "x")  # C2
        return to_batch_type(x, (self.block_size,) * 2, known_ints(self, "paddings"))

    def evaluate(self, x: Array, paddings: Array) -> Array:
        pairs = _pairs(ints_of(paddings), 2, "paddings")
        return blocks_to_batch(x, (self.block_size,) * 2, pairs)


class SpaceToBatchDOp(GeOp):
    """y = x padded by zeros, the places of each block as batch entries: NHWC, square blocks.

    C1: block_size is at least 1. C2: x has rank 4. C3: paddings has two numbers for height and
    two for width, none negative. C4: the padded dimensions are multiples of the block sizes.
    """

    name = "ge.SpaceToBatchD"

    x = operand()
    y = result()
    block_size = integer()
    paddings = integers()

    def infer(self, x: Tensor) -> Tensor:
        of_rank(x, 4, "x")  # C2
        return to_batch_type(x, (self.block_size,) * 2, self.paddings)

    def evaluate(self, x: Array) -> Array:
        return blocks_to_batch(x, (self.block_size,) * 2, _pairs(self.paddings, 2, "paddings"))


class SpaceToBatchNDOp(GeOp):
    """y = x padded by zeros, the places of each block as batch entries.

    The dimensions after the batch are blocked, one per entry of block_shape. C1: block sizes
    are at least 1. C2: x has a dimension for each and the batch. C3: paddings has two numbers
    per block, none negative. C4: the padded dimensions are multiples of the block sizes. C5:
    block_shape and paddings are i32 or i64.
    """

    name = "ge.SpaceToBatchND"

    x = operand()
    block_shape = operand()
    paddings = operand()
    y = result()

    def infer(self, x: Tensor, block_shape: Tensor, paddings: Tensor) -> Tensor:
        vector_length(block_shape, "block_shape")  # C5
        check_index(paddings, "paddings")  # C5
        blocks = known_ints(self, "block_shape")
        if blocks is None:
            return x.with_shape(None if x.shape is None else (DYNAMIC,) * len(x.shape))
        return to_batch_type(x, blocks, known_ints(self, "paddings"))

    def evaluate(self, x: Array, block_shape: Array, paddings: Array) -> Array:
        blocks = ints_of(block_shape)
        return blocks_to_batch(x, blocks, _pairs(ints_of(paddings), len(blocks), "paddings"))


class SpaceToBatchNDDOp(GeOp):
    """y = x padded by zeros, the places of each block as batch entries.

    The dimensions after the batch are blocked, one per entry of block_shape. C1: block sizes
    are at least 1. C2: x has a dimension for each and the batch. C3: paddings has two numbers
    per block, none negative. C4: the padded dimensions are multiples of the block sizes.
    """

    name = "ge.SpaceToBatchNDD"

    x = operand()
    y = result()
    block_shape = integers()
    paddings = integers()

    def infer(self, x: Tensor) -> Tensor:
        return to_batch_type(x, self.block_shape, self.paddings)

    def evaluate(self, x: Array) -> Array:
        pairs = _pairs(self.paddings, len(self.block_shape), "paddings")
        return blocks_to_batch(x, self.block_shape, pairs)


class BatchToSpaceOp(GeOp):
    """y = the batch entries of x as places of blocks, less crops: NHWC, square blocks.

    C1: block_size is at least 1. C2: x has rank 4. C3: crops has two numbers for height and two
    for width, none negative. C4: the batch is a multiple of the block sizes and crops leave
    none negative. C5: crops is i32 or i64.
    """

    name = "ge.BatchToSpace"

    x = operand()
    crops = operand()
    y = result()
    block_size = integer()

    def infer(self, x: Tensor, crops: Tensor) -> Tensor:
        check_index(crops, "crops")  # C5
        of_rank(x, 4, "x")  # C2
        return from_batch_type(x, (self.block_size,) * 2, known_ints(self, "crops"))

    def evaluate(self, x: Array, crops: Array) -> Array:
        pairs = _pairs(ints_of(crops), 2, "crops")
        return batch_to_blocks(x, (self.block_size,) * 2, pairs)


class BatchToSpaceDOp(GeOp):
    """y = the batch entries of x as places of blocks, less crops: NHWC, square blocks.

    C1: block_size is at least 1. C2: x has rank 4. C3: crops has two numbers for height and two
    for width, none negative. C4: the batch is a multiple of the block sizes and crops leave
    none negative.
    """

    name = "ge.BatchToSpaceD"

    x = operand()
    y = result()
    block_size = integer()
    crops = integers()

    def infer(self, x: Tensor) -> Tensor:
        of_rank(x, 4, "x")  # C2
        return from_batch_type(x, (self.block_size,) * 2, self.crops)

    def evaluate(self, x: Array) -> Array:
        return batch_to_blocks(x, (self.block_size,) * 2, _pairs(self.crops, 2, "crops"))


class BatchToSpaceNDOp(GeOp):
    """y = the batch entries of x as places of blocks, less crops.

    The dimensions after the batch are blocked, one per entry of block_shape. C1: block sizes
    are at least 1. C2: x has a dimension for each and the batch. C3: crops has two numbers per
    block, none negative. C4: the batch is a multiple of the block sizes and crops leave none
    negative. C5: block_shape and crops are i32 or i64.
    """

    name = "ge.BatchToSpaceND"

    x = operand()
    block_shape = operand()
    crops = operand()
    y = result()

    def infer(self, x: Tensor, block_shape: Tensor, crops: Tensor) -> Tensor:
        vector_length(block_shape, "block_shape")  # C5
        check_index(crops, "crops")  # C5
        blocks = known_ints(self, "block_shape")
        if blocks is None:
            return x.with_shape(None if x.shape is None else (DYNAMIC,) * len(x.shape))
        return from_batch_type(x, blocks, known_ints(self, "crops"))

    def evaluate(self, x: Array, block_shape: Array, crops: Array) -> Array:
        blocks = ints_of(block_shape)
        return batch_to_blocks(x, blocks, _pairs(ints_of(crops), len(blocks), "crops"))


class BatchToSpaceNDDOp(GeOp):
    """y = the batch entries of x as places of blocks, less crops.

    The dimensions after the batch are blocked, one per entry of block_shape. C1: block sizes
    are at least 1. C2: x has a dimension for each and the batch. C3: crops has two numbers per
    block, none negative. C4: the batch is a multiple of the block sizes and crops leave none
    negative.
    """

    name = "ge.BatchToSpaceNDD"

    x = operand()
    y = result()
    block_shape = integers()
    crops = integers()

    def infer(self, x: Tensor) -> Tensor:
        return from_batch_type(x, self.block_shape, self.crops)

    def evaluate(self, x: Array) -> Array:
        pairs = _pairs(self.crops, len(self.block_shape), "crops")
        return batch_to_blocks(x, self.block_shape, pairs)
