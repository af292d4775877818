"""What `infer` asks of its operands: constant values, element types, lengths, ranks."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.utils.exceptions import VerifyException

from ge_xdsl.dialects.ge.elements import INDICES, require
from ge_xdsl.dialects.ge.op import GeOp
from ge_xdsl.dialects.ge.shapes import shape_text
from ge_xdsl.dialects.ge.types import DYNAMIC, DataType, Layout, Tensor

LIST_LIMIT = 256
"""Most entries of a list of axes, dimensions or pads; a type must not ask for a longer shape."""


def known_ints(op: GeOp, name: str) -> tuple[int, ...] | None:
    """The integers of a constant operand, flat; None while they are unknown or it is absent."""
    array = op.constant(name)
    return None if array is None else tuple(int(v) for v in array.reshape(-1).tolist())


def known_int(op: GeOp, name: str) -> int | None:
    """The one integer of a constant operand, None while it is unknown."""
    values = known_ints(op, name)
    if values is None:
        return None
    if len(values) != 1:
        raise VerifyException(f"{name} has {len(values)} elements, expected 1")
    return values[0]


def check_index(tensor: Tensor | None, name: str) -> None:
    """Shapes, axes and indices are i32 or i64."""
    if tensor is not None:
        require(tensor, name, INDICES, "DT_INT32 or DT_INT64")


def vector_length(tensor: Tensor, name: str) -> int:
    """The length of an operand that lists numbers (a scalar is a list of one); may be DYNAMIC."""
    check_index(tensor, name)
    if tensor.shape is None:
        return DYNAMIC
    if len(tensor.shape) > 1:
        raise VerifyException(f"{name} is {shape_text(tensor.shape)}, expected rank 1")
    length = tensor.shape[0] if tensor.shape else 1
    if length > LIST_LIMIT:
        raise VerifyException(f"{name} has {length} entries, expected at most {LIST_LIMIT}")
    return length


def check_scalar(tensor: Tensor, name: str) -> None:
    """A single number: a scalar or one element."""
    if tensor.size() not in (None, 1):
        raise VerifyException(f"{name} is {shape_text(tensor.shape)}, expected one element")


def check_rank(shape: Sequence[int], rank: int, name: str) -> None:
    """A shape has `rank` dimensions."""
    if len(shape) != rank:
        raise VerifyException(f"{name} is {shape_text(shape)}, expected rank {rank}")


def check_length(values: Sequence[object], length: int, name: str) -> None:
    """A list attribute or operand has `length` entries."""
    if len(values) != length:
        raise VerifyException(f"{name} has {len(values)} entries, expected {length}")


def check_channels(tensor: Tensor | None, channels: int, name: str) -> None:
    """A per-channel operand: one number per channel, alone or among dimensions of 1."""
    if tensor is None or tensor.shape is None:
        return
    long = [d for d in tensor.shape if d != 1] or [1]
    differs = long[0] != channels and DYNAMIC not in (long[0], channels)
    if not tensor.shape or len(long) > 1 or differs:
        raise VerifyException(
            f"{name} is {shape_text(tensor.shape)}, expected "
            f"{'one number per channel' if channels == DYNAMIC else channels}"
        )


def with_layout(x: Tensor, dtype: DataType, shape: tuple[int, ...] | None) -> Tensor:
    """A result in the layout of `x`, for ops that keep the meaning of each dimension."""
    layout = Layout(x.layout.format, x.layout.origin_format)
    return Tensor(dtype, shape, layout)
