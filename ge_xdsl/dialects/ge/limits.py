"""How large values may become: refused by their shapes, before numpy allocates anything."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING

from xdsl.utils.exceptions import VerifyException

from ge_xdsl.dialects.ge.op import CONSTANT_TYPES, GeOp, KnownValues
from ge_xdsl.dialects.ge.types import Tensor, tensor_of

if TYPE_CHECKING:
    from ge_xdsl.dialects.ge.types import Array

ELEMENT_LIMIT = 2**27
"""Most elements of one array that a run or a folding computes: 512 MiB of f32."""


def check_shape(shape: Sequence[int], what: str = "result") -> None:
    """Raise ValueError for a shape of more than ELEMENT_LIMIT elements; unknown ones pass."""
    count = prod(shape)
    if count > ELEMENT_LIMIT and min(shape) >= 0:
        raise ValueError(f"{what} has {count} elements, expected at most {ELEMENT_LIMIT}")


def check_sizes(op: GeOp, arrays: Sequence[Array]) -> None:
    """Raise ValueError when a result of `op` on these operands is above ELEMENT_LIMIT.

    Inference sees the operands' values, so a shape that the graph computes is known too.
    """
    if op.op_type in CONSTANT_TYPES or not op.has_infer():
        return
    tensors = [
        Tensor(tensor_of(value.type).dtype, array.shape)
        for value, array in zip(op.operands, arrays, strict=True)
    ]
    try:
        with KnownValues(dict(zip(op.operands, arrays, strict=True))):
            results = op.inferred(tensors) or ()
    except VerifyException:  # evaluate refuses these operands too, and may say more
        return
    for tensor in results:
        if tensor.shape is not None:
            check_shape(tensor.shape)
