"""A GE graph as GE's own API and dumps see it, over a block of ops: handles, names and ports.

A handle is a block argument (GE's Data), an op, or the block's terminator (GE's NetOutput). An
input port is a slot of the prototype: dynamic inputs count one by one and a missing optional
input keeps its slot.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeAlias, cast

from xdsl.dialects.builtin import ArrayAttr, StringAttr
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, BlockArgument, Operation, SSAValue

from ge_xdsl.dialects.ge.assembly import region_names
from ge_xdsl.dialects.ge.data import ControlEdgeOp, UnconnectedOp
from ge_xdsl.dialects.ge.names import INPUT_NAMES, string_list
from ge_xdsl.dialects.ge.op import NAME, OPERAND_SEGMENTS, GeOp, segments

Handle: TypeAlias = BlockArgument | Operation

SUBGRAPH_NAMES = "ge.subgraph_names"
"""Op attribute: the names of the graphs that its regions were built from."""
INPUT_TYPES = "ge.input_types"
"""Function or op attribute: the GE types of graph inputs that are not all plain Data."""
DATA_TYPES = frozenset({"Data", "RefData", "AippData", "AnyData", "AnnData"})
"""GE op types that stand for a graph input."""


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
    """The nodes of a graph: Data, then ops in order, NetOutput last.

    A graph that nobody built yet, without outputs, has no NetOutput.
    """
    yield from block.args
    last = block.last_op
    for op in block.ops:
        if is_node(op) and (op is not last or op.operands or not _is_bare_return(op)):
            yield op


def _is_bare_return(op: Operation) -> bool:
    return isinstance(op, ReturnOp) and NAME not in op.attributes


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
    return output_name(handle.parent) if is_terminator(handle) else ""


def output_name(block: Block | None) -> str:
    """The name of a graph's NetOutput when none is stored."""
    inside = block is not None and isinstance(block.parent_op(), GeOp)
    return f"NetOutput_{graph_name(block)}" if block is not None and inside else "NetOutput"


def _argument_name(arg: BlockArgument) -> str:
    return _of_argument(arg, INPUT_NAMES) or f"input_{arg.index}"


def _of_argument(arg: BlockArgument, key: str) -> str:
    """What a list of strings on the graph's function or op says of one input, '' for nothing."""
    owner = arg.block.parent_op()
    attr = owner.attributes.get(_place(arg.block, key)) if owner is not None else None
    listed = cast("ArrayAttr[Attribute]", attr).data if isinstance(attr, ArrayAttr) else ()
    item = listed[arg.index] if arg.index < len(listed) else None
    return item.data if isinstance(item, StringAttr) else ""


def _place(block: Block, key: str) -> str:
    """The attribute that keeps a graph's list of strings on its function or op."""
    is_function = isinstance(block.parent_op(), FuncOp)
    return key if is_function else f"{key}.{region_index(block)}"


def set_argument_strings(block: Block, key: str, values: Sequence[str]) -> None:
    """Keep a list of strings, one per input of the graph.

    A function keeps it as an attribute; an op keeps one list per region that has one.
    """
    owner = block.parent_op()
    assert owner is not None
    owner.attributes[_place(block, key)] = ArrayAttr([StringAttr(value) for value in values])


def region_index(block: Block) -> int:
    """Which region of its op a block is in."""
    owner = block.parent_op()
    assert owner is not None
    return next(i for i, region in enumerate(owner.regions) if block.parent is region)


def handle_type(handle: Handle) -> str:
    """The GE type string of a node."""
    if isinstance(handle, BlockArgument):
        return _of_argument(handle, INPUT_TYPES) or "Data"
    if isinstance(handle, GeOp) and not is_terminator(handle):
        return handle.op_type
    return "NetOutput" if is_terminator(handle) else handle.name


def outputs(handle: Handle) -> Sequence[SSAValue]:
    """The values that a node produces, in port order."""
    return () if isinstance(handle, GeOp) and handle.token else anchors(handle)


def anchors(handle: Handle) -> Sequence[SSAValue]:
    """The values that control edges of a node can start and end at: its outputs, or a token."""
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
    return [port for port, value in enumerate(input_slots(op)) if value is not None][index]


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
    for value in anchors(handle):
        for use in value.uses:
            edge = use.operation
            if isinstance(edge, ControlEdgeOp) and use.index == (0 if outgoing else 1):
                found.append(edge)
    return found[::-1]


def graph_name(block: Block) -> str:
    """The name of a graph: its function's, or `<node>_<subgraph>` inside an op."""
    owner = block.parent_op()
    if isinstance(owner, FuncOp):
        return owner.sym_name.data
    if isinstance(owner, GeOp):
        return region_graph_names(owner)[region_index(block)]
    return ""


def region_graph_names(op: GeOp) -> list[str]:
    """The graph name of each region of an op."""
    given = string_list(op, SUBGRAPH_NAMES)
    fields = region_names(op.prototype, len(op.regions))
    return [
        given[i] if i < len(given) else f"{op.node_name}_{field}" for i, field in enumerate(fields)
    ]


def sub_blocks(block: Block) -> Iterator[Block]:
    """The blocks of all subgraphs below a block: direct ones first, then theirs."""
    direct = [b for op in block.ops for region in op.regions for b in region.blocks]
    yield from direct
    for inner in direct:
        yield from sub_blocks(inner)
