"""Slices that a vector chain reads from their source, so that they need no kernel of their own.

A slice whose only users are the ops of one chain is a strided view of GM there: rows of `inner`
neighbouring elements, `stride` apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from xdsl.ir import Operation, SSAValue

from ge_xdsl.dialects.aicore.types import Tile
from ge_xdsl.dialects.ge.op import GeOp
from ge_xdsl.dialects.ge.types import tensor_of
from ge_xdsl.lowering import moves
from ge_xdsl.lowering.movement import Copy, Movement
from ge_xdsl.lowering.tensors import element_of
from ge_xdsl.targets.target import Target

SHORTEST = 128
"""Bytes of the shortest row that is read in place: shorter ones are copied together first."""


@dataclass(frozen=True, slots=True)
class Window:
    """Rows of `inner` elements, from `offset`, `stride` elements apart, of `count` elements."""

    count: int
    offset: int
    inner: int
    stride: int

    def strides(self, shape: Sequence[int]) -> tuple[int, ...]:
        """The strides of the window seen in a shape whose last dimensions make up a row."""
        found: list[int] = []
        for i in range(len(shape)):
            after = prod(shape[i + 1 :])
            found.append(after if after < self.inner else after // self.inner * self.stride)
        return tuple(found)

    def splits(self, shape: Sequence[int]) -> list[tuple[int, ...]]:
        """A shape that is broadcast along rows, so that what merges dimensions keeps them apart."""
        size = 1
        for i in reversed(range(len(shape))):
            if size == self.inner:
                return [(*shape[: i + 1], *(1,) * (len(shape) - i - 1))]
            size *= shape[i]
        return []


Windows = dict[SSAValue, tuple[SSAValue, Window]]
"""Result of a slice -> what it is a part of, and which."""


def windows_of(ops: Sequence[GeOp], shape: Sequence[int], target: Target) -> Windows:
    """The slices of a chain's size that only ops of the chain use, in order."""
    members: set[Operation] = set(ops)
    found: Windows = {}
    for owner in dict.fromkeys(v.owner for op in ops for v in op.operands):
        if isinstance(owner, GeOp) and owner not in members and owner.op_type in moves.SLICES:
            found |= _windows(owner, members, shape, target)
    return found


def _windows(op: GeOp, members: set[Operation], shape: Sequence[int], target: Target) -> Windows:
    """The used results of a slice as windows; nothing when one of them is none."""
    used = [value for value in op.results if list(value.uses)]
    if any(use.operation not in members for value in used for use in value.uses):
        return {}
    if op.parent is not next(iter(members)).parent or moves.reason(op, target):
        return {}
    if any(tensor_of(value.type).shape != tuple(shape) for value in used):
        return {}
    movement = moves.movement_of(op)
    if not isinstance(movement, Movement) or moves.keeps_order(movement):
        return {}
    (source,) = moves.data_of(op)
    size = Tile((1,), element_of(tensor_of(source.type).dtype), "gm").size
    found: Windows = {}
    for value, copy in zip(op.results, movement.copies, strict=True):
        window = _window(copy, movement.inputs[0])
        if value in used and (window is None or window.inner * size < SHORTEST):
            return {}
        if value in used and window is not None:
            found[value] = (source, window)
    return found


def _window(copy: Copy, count: int) -> Window | None:
    """A copy's source as rows; None when its dimensions take more than one stride."""
    if copy.src is None:
        return None
    inner, stride, outer = 1, 0, 1
    pairs = zip(reversed(copy.shape), reversed(copy.src.strides), strict=True)
    for dim, step in pairs:
        if dim == 1:
            continue
        if not stride and step == inner:
            inner *= dim
        elif not stride and step > inner:
            stride, outer = step, dim
        elif stride and step == stride * outer:
            outer *= dim
        else:
            return None
    return Window(count, copy.src.offset, inner, stride)
