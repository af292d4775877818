"""A GE graph as the graph API sees it, over a block of ops: handles, names and ports.

A handle is a block argument (GE's Data), an op, or the block's terminator (GE's NetOutput). An
input port is a slot of the prototype: dynamic inputs count one by one and a missing optional
input keeps its slot.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeAlias, cast

from xdsl.dialects.builtin import ArrayAttr, StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Block, BlockArgument, Operation, SSAValue

from ge_xdsl.dialects.ge.data import ControlEdgeOp, UnconnectedOp
from ge_xdsl.dialects.ge.names import INPUT_NAMES
from ge_xdsl.dialects.ge.op import NAME, OPERAND_SEGMENTS, GeOp, segments

Handle: TypeAlias = BlockArgument | Operation


def block_of(handle: Handle) -> Block | None:
    """The block that holds a handle, None when the node was removed."""
    if isinstance(handle, BlockArgument):
        return handle.block if handle.index < len(handle.block.args) else None
    return handle.parent


def is_terminator(handle: Handle) -> bool:
    """Whether the handle is the graph's NetOutput."""
    if isinstance(handle, BlockArgument):
        return False
    parent = handle.parent
    return parent is not None and parent.last_op is handle and not handle.results


def is_node(op: Operation) -> bool:
    """Whether an op is a node of the GE graph: bookkeeping ops are not."""
    return not isinstance(op, ControlEdgeOp | UnconnectedOp)


def handles(block: Block) -> Iterator[Handle]:
    """The nodes of a graph: Data, then ops in order, NetOutput last."""
    yield from block.args
    for op in block.ops:
        if is_node(op):
            yield op


def handle_of(value: SSAValue) -> Handle | None:
    """The node that produces a value, None for an operand left unconnected."""
    if isinstance(value, BlockArgument):
        return value
    owner = value.owner
    assert isinstance(owner, Operation)
    return None if isinstance(owner, UnconnectedOp) else owner


def handle_name(handle: Handle) -> str:
    """The name of a node."""
    if isinstance(handle, BlockArgument):
        return _argument_name(handle)
    attr = handle.attributes.get(NAME)
    if isinstance(attr, StringAttr):
        return attr.data
    return "NetOutput" if is_terminator(handle) else ""


def _argument_name(arg: BlockArgument) -> str:
    parent = arg.block.parent_op()
    names = parent.attributes.get(INPUT_NAMES) if isinstance(parent, FuncOp) else None
    if isinstance(names, ArrayAttr):
        listed = cast("ArrayAttr[Attribute]", names).data
        item = listed[arg.index] if arg.index < len(listed) else None
        if isinstance(item, StringAttr) and item.data:
            return item.data
    return f"input_{arg.index}"


def handle_type(handle: Handle) -> str:
    """The GE type string of a node."""
    if isinstance(handle, BlockArgument):
        return "Data"
    if isinstance(handle, GeOp) and not is_terminator(handle):
        return handle.op_type
    return "NetOutput" if is_terminator(handle) else handle.name


def outputs(handle: Handle) -> Sequence[SSAValue]:
    """The values that a node produces, in port order."""
    return (handle,) if isinstance(handle, BlockArgument) else handle.results


def input_slots(op: Operation) -> list[SSAValue | None]:
    """What feeds each input port; None for a missing optional input."""
    if not isinstance(op, GeOp) or op.prototype.fixed_operands >= 0 or is_terminator(op):
        return list(op.operands)
    slots: list[SSAValue | None] = []
    for io, value in zip(op.prototype.inputs, op.arrange(list(op.operands)), strict=True):
        if io.kind == "dynamic":
            slots += cast("list[SSAValue]", value)
        else:
            slots.append(cast("SSAValue | None", value))
    return slots


def port_of_operand(op: Operation, index: int) -> int:
    """The input port of an operand: the ports before it include missing optional inputs."""
    if not isinstance(op, GeOp) or op.prototype.fixed_operands >= 0 or is_terminator(op):
        return index
    left = index
    for port, value in enumerate(input_slots(op)):
        if value is not None:
            if left == 0:
                return port
            left -= 1
    raise AssertionError("an operand has a port")


def set_input_slot(op: Operation, port: int, value: SSAValue | None) -> None:
    """Feed an input port with `value`; None leaves it out (optional) or unconnected (required)."""
    slots = input_slots(op)
    if value is None and not _is_optional(op, port):
        value = unconnected(op).y
    slots[port] = value
    op.operands = [slot for slot in slots if slot is not None]
    if isinstance(op, GeOp) and op.prototype.needs_operand_segments and not is_terminator(op):
        op.properties[OPERAND_SEGMENTS] = segments(_counts(op, slots))


def _counts(op: GeOp, slots: Sequence[SSAValue | None]) -> list[int]:
    counts: list[int] = []
    fixed = sum(io.kind != "dynamic" for io in op.prototype.inputs)
    dynamic = sum(io.kind == "dynamic" for io in op.prototype.inputs)
    given = list(op.operand_counts())
    port = 0
    for io, count in zip(op.prototype.inputs, given, strict=True):
        if io.kind == "dynamic":
            size = len(slots) - fixed if dynamic == 1 else count
            counts.append(size)
            port += size
        else:
            counts.append(int(slots[port] is not None))
            port += 1
    return counts


def _is_optional(op: Operation, port: int) -> bool:
    if not isinstance(op, GeOp) or is_terminator(op):
        return False
    left = port
    for io, count in zip(op.prototype.inputs, op.operand_counts(), strict=True):
        width = count if io.kind == "dynamic" else 1
        if left < width:
            return io.kind == "optional"
        left -= width
    return False


def unconnected(op: Operation) -> UnconnectedOp:
    """A placeholder for an operand of `op` that an edit left open."""
    made = UnconnectedOp.build()
    block = op.parent
    assert block is not None
    block.insert_op_before(made, op)
    return made


def consumers(value: SSAValue) -> list[tuple[Operation, int]]:
    """The ops that read a value and their operand index, first link first."""
    found = [
        (use.operation, use.index)
        for use in value.uses
        if not isinstance(use.operation, ControlEdgeOp)
    ]
    return found[::-1]


def control_edges(handle: Handle, outgoing: bool) -> list[ControlEdgeOp]:
    """The control edges from (or to) a node, first link first."""
    found: list[ControlEdgeOp] = []
    for value in outputs(handle):
        for use in value.uses:
            edge = use.operation
            if isinstance(edge, ControlEdgeOp) and use.index == (0 if outgoing else 1):
                found.append(edge)
    return found[::-1]
