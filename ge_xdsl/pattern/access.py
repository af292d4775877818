"""Fast reads of the IR's linked structure, for loops that run once per node.

xDSL's public views (`op.operands`, `value.uses`) build an object per read; these read the fields
behind them. Nothing here writes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from operator import attrgetter

from xdsl.ir import Block, BlockArgument, Operation, OpResult, SSAValue, Use

from ge_xdsl.dialects.ge.data import ControlEdgeOp

operands_of: Callable[[Operation], tuple[SSAValue, ...]] = attrgetter("_operands")
"""The operands of an op as a tuple."""
next_use: Callable[[Use], Use | None] = attrgetter("_next_use")
user_of: Callable[[Use], Operation] = attrgetter("_operation")
next_op: Callable[[Operation], Operation | None] = attrgetter("_next_op")


def producer(value: SSAValue) -> Operation | None:
    """The op that defines a value, None for a block argument."""
    return value.op if type(value) is OpResult else None


def uses(value: SSAValue) -> Iterator[Use]:
    """The uses of a value, newest first."""
    use = value.first_use
    while use is not None:
        yield use
        use = next_use(use)


def data_uses(value: SSAValue) -> Iterator[Use]:
    """The uses of a value that read it: control edges are left out."""
    use = value.first_use
    while use is not None:
        if type(user_of(use)) is not ControlEdgeOp:
            yield use
        use = next_use(use)


def block_of(value: SSAValue) -> Block | None:
    """The block that a value is defined in."""
    if isinstance(value, BlockArgument):
        return value.block
    op = producer(value)
    return None if op is None else op.parent


def in_block(op: Operation, block: Block) -> Operation | None:
    """The op of `block` that is or holds `op`; None when it is elsewhere."""
    return op if op.parent is block else block.find_ancestor_op_in_block(op)


def control_edges(block: Block) -> list[ControlEdgeOp]:
    """The control edges of a block, in order; they stand at its end, before the terminator."""
    found: list[ControlEdgeOp] = []
    op = block.last_op
    while op is not None:
        if type(op) is ControlEdgeOp:
            found.append(op)
        elif op is not block.last_op:
            break
        op = op.prev_op
    found.reverse()
    return found


def control_successors(op: Operation) -> list[Operation]:
    """The nodes that a control edge makes wait for `op`."""
    return [p for edge in _edges_at(op, 0) if (p := producer(edge.dst)) is not None]


def control_predecessors(op: Operation) -> list[Operation]:
    """The nodes that a control edge makes `op` wait for."""
    return [p for edge in _edges_at(op, 1) if (p := producer(edge.src)) is not None]


def _edges_at(op: Operation, index: int) -> list[ControlEdgeOp]:
    """The control edges whose source (0) or destination (1) is a result of `op`, oldest first."""
    found: list[ControlEdgeOp] = []
    for result in op.results:
        at: list[ControlEdgeOp] = []
        for use in uses(result):
            user = user_of(use)
            if type(user) is ControlEdgeOp and use.index == index:
                at.append(user)
        found += reversed(at)
    return found
