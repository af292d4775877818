"""Ops without a kernel of their own as graphs of ops that have one.

An op is expanded when its kernel is missing and all ops of the graph, or their own expansions,
are lowered: whole or not at all. The new ops have no names but for the one that gives the first
result that is used and no constant, which has the name of the old op.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xdsl.ir import Block, SSAValue
from xdsl.utils.exceptions import VerifyException

from ge_xdsl.dialects.ge.op import CONSTANT_TYPES, GeOp, constant_of
from ge_xdsl.dialects.ge.types import tensor_of
from ge_xdsl.lowering.calls import RANDOM_TYPES
from ge_xdsl.lowering.expand.builder import Builder, Expansion, NotExpandedError
from ge_xdsl.lowering.expand.table import EXPANSIONS
from ge_xdsl.lowering.tensors import element_of, unshaped

NO_KERNEL = "no lowering"
"""The reason of an op that never has a kernel of its own: that of its expansion tells more."""
MAX_DEPTH = 8
"""Expansions within expansions."""
MAX_CONSTANT = 1 << 16
"""Elements of the largest result that is worked out at compile time."""

Reason = Callable[[GeOp], str]
"""Why an op has no kernel, '' when it has one."""


@dataclass(frozen=True, slots=True)
class Expanded:
    """What became of the ops of a block that have no kernel."""

    refused: dict[GeOp, str]
    """Op that was left -> why."""
    made: list[tuple[GeOp, list[GeOp]]]
    """Op that is gone, the ops that took its place."""


def expand_block(block: Block, reason: Reason) -> Expanded:
    """Expand what can be."""
    refused: dict[GeOp, str] = {}
    found: list[tuple[GeOp, list[GeOp]]] = []
    for op in list(block.ops):
        if not isinstance(op, GeOp) or not _may_expand(op):
            continue
        why = reason(op)
        if not why:
            continue
        try:
            made, values = expanded(op, reason, 0)
        except NotExpandedError as error:
            if why == NO_KERNEL:
                refused[op] = str(error)
            continue
        _replace(block, op, made, values)
        found.append((op, made))
    return Expanded(refused, found)


def _may_expand(op: GeOp) -> bool:
    return op.op_type in EXPANSIONS or is_constant(op)


def is_constant(op: GeOp) -> bool:
    """Whether the results depend on constants alone and are small."""
    if op.op_type in CONSTANT_TYPES or op.regions or not op.results or not op.has_evaluate():
        return False
    sizes = [tensor_of(value.type).size() for value in op.results]
    if any(size is None or not 0 < size <= MAX_CONSTANT for size in sizes):
        return False
    return op.op_type not in NOT_CONSTANT and (
        op.op_type in SHAPES or all(constant_of(value) is not None for value in op.operands)
    )


NOT_CONSTANT = frozenset(RANDOM_TYPES)
"""What is drawn when the graph runs, though its operands are constants."""
SHAPES = frozenset({"Shape", "ShapeN", "Size", "Rank", "GatherShapes"})
EMPTY_IS_NONE = frozenset({"Bincount", "DenseBincount", "RaggedBinCount"})
"""Op types that take an empty operand for a missing one."""


def expanded(op: GeOp, reason: Reason, depth: int) -> tuple[list[GeOp], list[SSAValue]]:
    """The ops, not inserted yet, and the values of the results; raises NotExpandedError."""
    build = Builder(op, reason)
    done: list[GeOp] = []
    moved: dict[SSAValue, SSAValue] = {}
    try:
        values = _values(build, op)
        _check_values(op, values)
        for new in build.made:
            _add(new, reason, depth, done, moved)
    except (NotExpandedError, VerifyException, ValueError) as error:
        _discard([*build.made, *done])
        if isinstance(error, NotExpandedError):
            raise
        raise NotExpandedError(f"no lowering: {error}") from error
    return done, [moved.get(value, value) for value in values]


def _add(
    op: GeOp, reason: Reason, depth: int, done: list[GeOp], moved: dict[SSAValue, SSAValue]
) -> None:
    """Take an op of an expansion, or the ops of its own expansion."""
    why = "" if op.op_type in CONSTANT_TYPES else _is_worked_out(op) or reason(op)
    if not why:
        done.append(op)
        return
    if depth >= MAX_DEPTH or not _may_expand(op):
        raise NotExpandedError(f"{why} ({op.op_type} in the expansion)")
    inner, values = expanded(op, reason, depth + 1)
    done += inner
    for old, new in zip(op.results, values, strict=True):
        old.replace_all_uses_with(new)
        moved[old] = new
    op.drop_all_references()


def _is_worked_out(op: GeOp) -> str:
    """Why an op of an expansion needs no kernel: arithmetic on constants that grows none."""
    if not is_constant(op):
        return ""
    sizes = [tensor_of(value.type).size() or 0 for value in op.operands]
    grows = any((tensor_of(value.type).size() or 0) > max(sizes) for value in op.results)
    return "" if grows else "no lowering for what is constant"


def _values(build: Builder, op: GeOp) -> Sequence[SSAValue]:
    if is_constant(op):
        return _folded(build, op)
    for value in (*op.operands, *op.results):
        tensor = tensor_of(value.type)
        if tensor.size() == 0 and (
            op.op_type in EMPTY_IS_NONE if value in op.operands else not list(value.uses)
        ):
            continue
        if not tensor.size():
            raise NotExpandedError(unshaped(value))
        if not element_of(tensor.dtype):
            raise NotExpandedError(f"no lowering for element type {tensor.dtype.name}")
    found = EXPANSIONS[op.op_type](build, op)
    return [found] if isinstance(found, SSAValue) else found


def _folded(build: Builder, op: GeOp) -> list[SSAValue]:
    """The results as constants."""
    import numpy as np

    arrays: list[object] = []
    for value in op.operands:
        tensor = tensor_of(value.type)
        known = constant_of(value)
        if known is None:
            if not tensor.is_static:
                raise NotExpandedError(unshaped(value))
            known = np.broadcast_to(np.int64(0), tensor.shape or ())
        arrays.append(known)
    found = op.execute(arrays)  # pyright: ignore[reportArgumentType]
    return [
        build.array(array, tensor_of(value.type).dtype)
        for array, value in zip(found, op.results, strict=True)
    ]


def _check_values(op: GeOp, values: Sequence[SSAValue]) -> None:
    for old, new in zip(op.results, values, strict=True):
        if old.type != new.type:
            raise NotExpandedError(f"no lowering: expands to {new.type}, expected {old.type}")


def _discard(made: Sequence[GeOp]) -> None:
    for op in reversed(made):
        op.drop_all_references()


def _replace(block: Block, op: GeOp, made: Sequence[GeOp], values: Sequence[SSAValue]) -> None:
    for new in made:
        block.insert_op_before(new, op)
    used = [new.owner for old, new in zip(op.results, values, strict=True) if list(old.uses)]
    used.sort(key=lambda owner: isinstance(owner, GeOp) and owner.op_type in CONSTANT_TYPES)
    first = used[0] if used else values[0].owner
    if isinstance(first, GeOp) and not first.node_name and op.node_name:
        first.node_name = op.node_name
    for old, new in zip(op.results, values, strict=True):
        if isinstance(new.owner, GeOp):
            new.name_hint = old.name_hint
        old.replace_all_uses_with(new)
    op.detach()
    op.erase()
    for new in reversed(made):
        if not any(list(value.uses) for value in new.results):
            new.detach()
            new.erase()


__all__ = ["EXPANSIONS", "Expanded", "Expansion", "expand_block", "expanded"]
