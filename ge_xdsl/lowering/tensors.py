"""GE tensors as the kernels see them: element types and flattened shapes."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from ge_xdsl.dialects.aicore.types import ELEMENT_BYTES
from ge_xdsl.dialects.ge.types import DataType, Tensor, element_type, tensor_of

ELEMENTS = {dtype: str(element_type(dtype)) for dtype in DataType}
"""GE data type -> its name as the element type of a tile, where tiles have it."""


def element_of(dtype: DataType) -> str:
    """The element type of a tile, '' for one that no tile has."""
    name = ELEMENTS[dtype]
    return name if name in ELEMENT_BYTES else ""


def static_tensor(value: SSAValue) -> Tensor | None:
    """The tensor of a value when it has elements and all its dimensions are known."""
    tensor = tensor_of(value.type)
    return tensor if tensor.size() else None


UNKNOWN = "no lowering for an unknown shape, expected --shape NAME=1x3x224x224 for the inputs"
EMPTY = "no lowering for a tensor without elements"


def unshaped(*values: SSAValue) -> str:
    """Why values whose shape is not known, or that have no elements, have no kernel."""
    known = all(tensor_of(value.type).is_static for value in values)
    return EMPTY if known else UNKNOWN


def merged_shape(
    shape: Sequence[int], operands: Sequence[Sequence[int]]
) -> tuple[tuple[int, ...], list[tuple[int, ...]]]:
    """`shape` with neighbouring dimensions merged where no operand broadcasts one of them only.

    `operands` are shapes that broadcast to `shape`. Returns the merged shape, of rank 2 or more,
    and each operand's, with 1 where it is broadcast.
    """
    rank = len(shape)
    padded = [(1,) * (rank - len(o)) + tuple(o) for o in operands]
    dims: list[int] = []
    patterns: list[tuple[bool, ...]] = []
    for i, dim in enumerate(shape):
        if dim == 1:
            continue
        pattern = tuple(o[i] != 1 for o in padded)
        if patterns and patterns[-1] == pattern:
            dims[-1] *= dim
        else:
            dims.append(dim)
            patterns.append(pattern)
    everywhere = tuple(True for _ in operands)
    while len(dims) < 2:
        dims.insert(0, 1)
        patterns.insert(0, everywhere)
    each = [
        tuple(d if p[i] else 1 for d, p in zip(dims, patterns, strict=True))
        for i in range(len(operands))
    ]
    return tuple(dims), each
