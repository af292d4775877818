"""Cutting a small graph out of a large one: some tensors and the ops right above them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, BlockArgument, Operation, Region, SSAValue
from xdsl.utils.exceptions import VerifyException

from ge_xdsl.dialects.ge.names import INPUT_NAMES, input_names, set_string_list, ssa_name
from ge_xdsl.dialects.ge.op import CONSTANT_TYPES, GeOp
from ge_xdsl.dialects.ge.types import DataType, tensor_of


def extract(
    outputs: Sequence[SSAValue], levels: int | None = None, cut: Collection[Operation] = ()
) -> ModuleOp:
    """A module whose main graph computes copies of `outputs`, tensors of one block.

    Ops up to `levels` edges above the outputs are copied, all with None, but not the ops of `cut`
    and what only they read. Tensors that enter become graph inputs of the same type, constants
    come along. Node names stay.
    """
    inside = _cone(outputs, levels, cut)
    block = Block()
    values: dict[SSAValue, SSAValue] = {}
    names: list[str] = []
    taken = {op.node_name for op in inside if isinstance(op, GeOp)}
    for value in _entering(inside, outputs):
        values[value] = block.insert_arg(value.type, len(block.args))
        names.append(_unique(_input_name(value, len(names)), taken))
    for op in inside:
        block.add_op(_typed(op.clone(values)))
    block.add_op(ReturnOp(*(values[value] for value in outputs)))
    types = [value.type for value in outputs]
    func = FuncOp("main", ([arg.type for arg in block.args], types), Region(block))
    set_string_list(func, INPUT_NAMES, names)
    for arg, name in zip(block.args, names, strict=True):
        arg.name_hint = ssa_name(name)
    return ModuleOp([func])


def _typed(op: Operation) -> Operation:
    """The op with types, where inference was still to come."""
    if isinstance(op, GeOp) and any(
        tensor_of(value.type).dtype == DataType.DT_UNDEFINED for value in op.results
    ):
        with suppress(VerifyException, ValueError):  # then it stays as it was
            op.update_types()
    return op


def read_by(op: Operation) -> Iterator[SSAValue]:
    """What an op reads, its subgraphs included, from outside of itself."""
    yield from op.operands
    if op.regions:
        inner = {value for child in op.walk() for value in child.results}
        for child in op.walk():
            for value in child.operands if child is not op else ():
                owner = value.owner
                home = owner if isinstance(owner, Block) else owner.parent
                if value not in inner and not _is_within(home, op):
                    yield value


def _is_within(block: Block | None, op: Operation) -> bool:
    while block is not None:
        parent = block.parent_op()
        if parent is op:
            return True
        block = parent.parent if parent is not None else None
    return False


def _cone(
    outputs: Sequence[SSAValue], levels: int | None, cut: Collection[Operation]
) -> list[Operation]:
    """The ops to copy, in the order of the block."""
    found: dict[Operation, None] = {}
    frontier = [value.owner for value in outputs if isinstance(value.owner, Operation)]
    level = 0
    while frontier:
        deep = levels is not None and level >= levels
        new = [op for op in dict.fromkeys(frontier) if op not in found and op not in cut]
        if deep:
            new = [op for op in new if isinstance(op, GeOp) and op.op_type in CONSTANT_TYPES]
        found.update(dict.fromkeys(new))
        owners = [value.owner for op in new for value in read_by(op)]
        frontier = [owner for owner in owners if isinstance(owner, Operation)]
        level += 1
    block = next((op.parent for op in found), None)
    return [op for op in block.ops if op in found] if block is not None else []


def _entering(inside: Sequence[Operation], outputs: Sequence[SSAValue]) -> list[SSAValue]:
    """The tensors that the ops read, or that are outputs, and that no op of them gives."""
    made = {value for op in inside for value in op.results}
    needed = [value for op in inside for value in read_by(op)]
    return [value for value in dict.fromkeys([*needed, *outputs]) if value not in made]


def _input_name(value: SSAValue, index: int) -> str:
    owner = value.owner
    if isinstance(value, BlockArgument) and isinstance(owner, Block):
        parent = owner.parent_op()
        return input_names(parent)[value.index] if isinstance(parent, FuncOp) else f"in_{index}"
    return (owner.node_name if isinstance(owner, GeOp) else "") or f"in_{index}"


def _unique(name: str, taken: set[str]) -> str:
    found, count = name, 0
    while found in taken:
        count += 1
        found = f"{name}_{count}"
    taken.add(found)
    return found
