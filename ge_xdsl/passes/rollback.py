"""Undoing what a failed pass did to a graph.

A record of a graph costs one short tuple per op, so passes take it only right before their first
change. Restoring puts the very same ops back; what the pass added is dropped.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias

from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Block, Operation, SSAValue

from ge_xdsl.dialects.ge.graph import root_blocks
from ge_xdsl.dialects.ge.op import set_type
from ge_xdsl.pattern.access import operands_of

_State: TypeAlias = tuple[
    Sequence[SSAValue], tuple[Attribute, ...], dict[str, Attribute], dict[str, Attribute]
]
"""Operands, types of results, properties and attributes of an op."""


class GraphRecord:
    """A function as it was when `take` was called; taking it again changes nothing."""

    def __init__(self, func: FuncOp) -> None:
        self.func = func
        self.taken = False
        self._own: tuple[dict[str, Attribute], dict[str, Attribute]] = ({}, {})
        self._blocks: list[_BlockRecord] = []

    def take(self) -> None:
        """Record the graph, unless that was done."""
        if self.taken:
            return
        self.taken = True
        self._own = (dict(self.func.properties), dict(self.func.attributes))
        self._blocks = [_BlockRecord(block) for block in root_blocks(self.func)]

    def is_same(self) -> bool:
        """Whether the graph is as it was recorded; also when it was not."""
        own = (self.func.properties, self.func.attributes)
        return not self.taken or (own == self._own and all(r.is_same() for r in self._blocks))

    def restore(self) -> None:
        """Put the graph back as it was recorded; nothing to do when it was not."""
        if not self.taken:
            return
        self.func.properties = dict(self._own[0])
        self.func.attributes = dict(self._own[1])
        for record in self._blocks:
            record.link()
        known = {op for record in self._blocks for op in record.ops()}
        added = [op for record in self._blocks for op in record.clear() if op not in known]
        for op in added:
            op.drop_all_references()
        again: dict[SSAValue, SSAValue] = {}
        for record in self._blocks:
            again |= record.add_arguments()
        for record in self._blocks:
            record.fill(again)


class _BlockRecord:
    """The ops of one block with their operands, types and attributes."""

    def __init__(self, block: Block) -> None:
        self.block = block
        self.region = block.parent
        self.args = [(arg, arg.type) for arg in block.args]
        self.entries = [(op, *_state(op)) for op in block.ops]

    def ops(self) -> Iterator[Operation]:
        return (entry[0] for entry in self.entries)

    def is_same(self) -> bool:
        """Whether the block holds the recorded ops in their order, each as it was."""
        if self.block.parent is not self.region:
            return False
        if [(arg, arg.type) for arg in self.block.args] != self.args:
            return False
        found = list(self.block.ops)
        return len(found) == len(self.entries) and all(
            op is entry[0] and _state(op) == entry[1:]
            for op, entry in zip(found, self.entries, strict=True)
        )

    def link(self) -> None:
        """Tie the regions of ops to them again, which erasing an op has cut."""
        self.block.parent = self.region
        for op in self.block.ops:
            op.parent = self.block
        for op in self.ops():
            for region in op.regions:
                region.parent = op

    def clear(self) -> list[Operation]:
        """Take every op out of the block."""
        found = list(self.block.ops)
        for op in found:
            self.block.detach_op(op)
        return found

    def add_arguments(self) -> dict[SSAValue, SSAValue]:
        """Give the block an argument for each that was removed: the removed one -> the new one."""
        again: dict[SSAValue, SSAValue] = {}
        for index, (arg, attr) in enumerate(self.args):
            if index < len(self.block.args) and self.block.args[index] is arg:
                set_type(arg, attr)
            else:
                again[arg] = self.block.insert_arg(attr, index)
        return again

    def fill(self, again: Mapping[SSAValue, SSAValue]) -> None:
        """Put the recorded ops back, reading the new arguments in place of removed ones."""
        for op, operands, types, properties, attributes in self.entries:
            op.operands = [again.get(v, v) for v in operands] if again else operands
            op.properties = properties
            op.attributes = attributes
            for value, attr in zip(op.results, types, strict=True):
                set_type(value, attr)
            self.block.add_op(op)


def _state(op: Operation) -> _State:
    return operands_of(op), _types(op), dict(op.properties), dict(op.attributes)


def _types(op: Operation) -> tuple[Attribute, ...]:
    results: tuple[SSAValue, ...] = tuple(op.results)
    return tuple(value.type for value in results)
