"""How large values may become: refused by their shapes, before numpy allocates anything."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import prod
from typing import TYPE_CHECKING, Any

from xdsl.ir import SSAValue
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


class _Reads(dict[SSAValue, Any]):
    """Known values that remember which were asked for."""

    def __init__(self, values: Mapping[SSAValue, Any]) -> None:
        super().__init__(values)
        self.asked: set[SSAValue] = set()

    def get(self, key: SSAValue, default: Any = None, /) -> Any:
        self.asked.add(key)
        return super().get(key, default)


def check_sizes(op: GeOp, arrays: Sequence[Array]) -> list[int]:
    """Raise ValueError for operands that `infer` refuses, or a result above ELEMENT_LIMIT.

    Inference sees the operands' values, so a shape that the graph computes is known too. Returns
    the positions of the operands whose values it asked for.
    """
    if op.op_type in CONSTANT_TYPES or not op.has_infer():
        return []
    tensors = [
        replace(tensor_of(value.type), shape=array.shape)
        for value, array in zip(op.operands, arrays, strict=True)
    ]
    results: Sequence[Tensor] = ()
    with KnownValues(dict(zip(op.operands, arrays, strict=True))):
        KnownValues.current = reads = _Reads(KnownValues.current)
        try:
            results = op.inferred(tensors) or ()
        except VerifyException as error:
            raise ValueError(str(error)) from None
    for tensor in results:
        if tensor.shape is not None:
            check_shape(tensor.shape)
    return [i for i, value in enumerate(op.operands) if value in reads.asked]
