"""`ge.graph.graph`: a live view of a graph, a `func.func` or the region of a control-flow op."""

# The API names its own internals with underscores; this package shares them.
# pyright: reportPrivateUsage=false

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import Any, Self, cast

from xdsl.dialects.builtin import ArrayAttr, FunctionType, StringAttr
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, BlockArgument, Operation, Region, SSAValue

from ge_xdsl.compat.ge.graph import attributes as attrs
from ge_xdsl.compat.ge.graph import dump
from ge_xdsl.compat.ge.graph.node import Node, handle_behind, node_of
from ge_xdsl.compat.ge.graph.tensor_desc import NotCopyable
from ge_xdsl.dialects.ge import nodes as ports
from ge_xdsl.dialects.ge.data import ControlEdgeOp, UnconnectedOp
from ge_xdsl.dialects.ge.names import (
    INPUT_DIMS,
    INPUT_NAMES,
    input_names,
    set_string_list,
    string_list,
)
from ge_xdsl.dialects.ge.nodes import Handle, graph_name, sub_blocks
from ge_xdsl.errors import CompileError

UNLISTED = "ge.unlisted_subgraphs"
"""Function attribute: the subgraphs that `remove_subgraph` took off the graph's list."""


class DumpFormat(Enum):
    """The text forms of a graph dump."""

    kOnnx = 0
    kTxt = 1
    kReadable = 2


class Graph(NotCopyable):
    """A graph of nodes. `Pattern(graph)` and a returned replacement take it over."""

    _handle: Block | None
    _owns_handle: bool
    _owner: Any

    def __init__(self, name: str = "graph") -> None:
        if not isinstance(cast("object", name), str):
            raise TypeError("Graph name must be a string")
        block = Block()
        block.add_op(ReturnOp.create())
        new_function(name, block)
        self._handle = block
        self._owns_handle = True
        self._owner = None

    @classmethod
    def _create_from(
        cls, handle: FuncOp | Block | None, owns_handle: bool = True, owner: Any = None
    ) -> Self:
        """A view of an existing graph."""
        if handle is None:
            raise ValueError("Graph pointer cannot be None")
        graph = cls.__new__(cls)
        graph._handle = handle if isinstance(handle, Block) else handle.body.block
        graph._owns_handle = owns_handle
        graph._owner = owner
        return graph

    def _live(self, what: str) -> Block:
        if self._handle is None:
            raise RuntimeError(f"Failed to get Graph {what}")
        return self._handle

    def _transfer_ownership_when_pass_as_subgraph(self, builder: Any) -> None:
        """Hand the graph to the builder of the op that holds it; a second time is an error."""
        if not self._owns_handle:
            raise RuntimeError(
                f"Graph :{self.name} already has an new owner builder :{self._owner.name}, "
                "cannot transfer ownership again"
            )
        self._owns_handle = False
        self._owner = builder

    # Nodes

    @property
    def name(self) -> str:
        return graph_name(self._live("name"))

    def get_direct_nodes(self) -> list[Node]:
        """The nodes of this graph: Data, then ops in order, NetOutput last."""
        return [node_of(handle) for handle in ports.handles(self._live("nodes"))]

    def get_all_nodes(self) -> list[Node]:
        """The nodes of this graph and of its subgraphs."""
        found = self.get_direct_nodes()
        for block in sub_blocks(self._live("nodes")):
            found += [node_of(handle) for handle in ports.handles(block)]
        return found

    def find_node_by_name(self, name: str) -> Node:
        if not isinstance(cast("object", name), str):
            raise TypeError("name must be a string")
        for handle in ports.handles(self._live("nodes")):
            if ports.handle_name(handle) == name:
                return node_of(handle)
        raise RuntimeError(f"Failed to find Node name {name}")

    def get_attr(self, key: str) -> Any:
        attrs.check_key(key)
        attr = attrs.get_extra(self._owner_op("attribute").attributes, self._attr_key(key))
        if attr is None:
            attrs.missing(key, f"Graph {self.name}")
        return attrs.value_of(attr)

    def set_attr(self, key: str, value: Any) -> None:
        attrs.check_key(key)
        attrs.set_extra(self._owner_op("attribute").attributes, self._attr_key(key), value)

    def _attr_key(self, key: str) -> str:
        """A subgraph's attributes stand on its op, apart from those of the node."""
        block = self._live("attribute")
        if isinstance(block.parent_op(), FuncOp):
            return key
        return f"ge.graph_attr.{ports.region_index(block)}.{key}"

    def _owner_op(self, what: str) -> Operation:
        owner = self._live(what).parent_op()
        assert owner is not None
        return owner

    # Edits

    def remove_node(self, node: Node) -> None:
        """Drop a node and its edges; what read it is left unconnected.

        The inputs behind a removed input move down by one. Raises RuntimeError for a node of
        another graph, the outputs, and an input of a subgraph, which its op feeds.
        """
        handle = self._member(node, "node must be a Node")
        owner = self._owner_op("nodes")
        inner = isinstance(handle, BlockArgument) and not isinstance(owner, FuncOp)
        if handle is None or inner or ports.is_terminator(handle):
            raise RuntimeError(f"Failed to remove Node {node.name} from Graph {self.name}")
        for outgoing in (True, False):
            for edge in ports.control_edges(handle, outgoing):
                _erase(edge)
        fed = [pair for value in ports.outputs(handle) for pair in ports.consumers(value)]
        for op, port in [(op, ports.port_of_operand(op, index)) for op, index in fed]:
            ports.set_input_slot(op, port, None)
        if isinstance(handle, Operation):
            _erase(handle)
        elif isinstance(owner, FuncOp):
            _erase_input(owner, handle)
        self._refresh()

    def add_data_edge(
        self, src_node: Node, src_port_index: int, dst_node: Node, dst_port_index: int
    ) -> None:
        """Feed an unconnected input port of `dst_node`."""
        src = self._member(src_node, "src_node must be a Node")
        _check_port(src_port_index, "src_port_index")
        dst = self._member(dst_node, "dst_node must be a Node")
        _check_port(dst_port_index, "dst_port_index")
        values = ports.outputs(src) if src is not None else ()
        slots = ports.input_slots(dst) if isinstance(dst, Operation) else []
        ok = 0 <= src_port_index < len(values) and 0 <= dst_port_index < len(slots)
        if not ok or not _is_open(slots[dst_port_index]):
            raise RuntimeError(
                f"Failed to add DataEdge from Node {src_node.name}, Port Index {src_port_index} "
                f"to Node {dst_node.name}, Port Index {dst_port_index}"
            )
        assert isinstance(dst, Operation)
        before = slots[dst_port_index]
        ports.set_input_slot(dst, dst_port_index, values[src_port_index])
        if before is not None:
            _drop_placeholder(before)
        self._refresh()

    def remove_edge(
        self, src_node: Node, src_port_index: int, dst_node: Node, dst_port_index: int
    ) -> None:
        """Drop a data edge, or a control edge when both ports are -1."""
        src = self._member(src_node, "src_node must be a Node")
        _check_port(src_port_index, "src_port_index")
        dst = self._member(dst_node, "dst_node must be a Node")
        _check_port(dst_port_index, "dst_port_index")
        if not self._removed(src, src_port_index, dst, dst_port_index):
            raise RuntimeError(
                f"Failed to remove Edge from Node {src_node.name}, Port Index {src_port_index} "
                f"to Node {dst_node.name}, Port Index {dst_port_index}"
            )
        self._refresh()

    def _removed(self, src: Handle | None, i: int, dst: Handle | None, j: int) -> bool:
        if src is None or dst is None:
            return False
        if i == -1 and j == -1:
            edge = _control_edge(src, dst)
            if edge is not None:
                _erase(edge)
            return edge is not None
        values = ports.outputs(src)
        slots = ports.input_slots(dst) if isinstance(dst, Operation) else []
        if not (0 <= i < len(values) and 0 <= j < len(slots) and slots[j] is values[i]):
            return False
        assert isinstance(dst, Operation)
        ports.set_input_slot(dst, j, None)
        return True

    def add_control_edge(self, src_node: Node, dst_node: Node) -> None:
        """Make `dst_node` run after `src_node`."""
        src = self._member(src_node, "src_node must be a Node")
        dst = self._member(dst_node, "dst_node must be a Node")
        ends = [ports.anchors(end) for end in (src, dst) if end is not None]
        if len(ends) < 2 or not all(ends):
            raise RuntimeError(
                f"Failed to add Control from Node {src_node.name} to Node {dst_node.name}"
            )
        add_control_edge(self._live("nodes"), ends[0][0], ends[1][0])

    def _member(self, node: Node, message: str) -> Handle | None:
        """The handle of a direct node of this graph, None for a node of another."""
        handle = handle_behind(node)
        if handle is None:
            raise TypeError(message)
        return handle if ports.block_of(handle) is self._live("nodes") else None

    def _refresh(self) -> None:
        """Keep the function type that of the graph's inputs and outputs."""
        owner = self._owner_op("type")
        if isinstance(owner, FuncOp):
            update_function_type(owner)

    # Subgraphs

    def get_all_subgraphs(self) -> list[Graph]:
        """The subgraphs of a root graph, direct ones first; a subgraph lists none of its own."""
        block = self._live("subgraphs")
        if not isinstance(block.parent_op(), FuncOp):
            return []
        return [Graph._create_from(inner, False) for inner in _listed(block)]

    def get_subgraph(self, name: str) -> Graph | None:
        """The subgraph of that name, found from the root; None when there is none."""
        if not isinstance(cast("object", name), str):
            raise TypeError("name must be a string")
        for inner in _listed(_root(self._live("subgraphs"))):
            if graph_name(inner) == name:
                return Graph._create_from(inner, False)
        return None

    def add_subgraph(self, subgraph: Graph) -> None:
        """List a subgraph again that `remove_subgraph` took off.

        Raises RuntimeError for a graph that no op of this one holds and for a name that is listed.
        """
        if not isinstance(cast("object", subgraph), Graph):
            raise TypeError("subgraph must be a Graph")
        root, inner = _root(self._live("subgraphs")), subgraph._live("name")
        name = graph_name(inner)
        owner = root.parent_op()
        unlisted = string_list(owner, UNLISTED) if owner is not None else []
        if inner is root or _root(inner) is not root or owner is None or name not in unlisted:
            raise RuntimeError(f"Failed to add subgraph '{name}' to graph '{self.name}'")
        set_string_list(owner, UNLISTED, [other for other in unlisted if other != name])

    def remove_subgraph(self, name: str) -> None:
        """Take a subgraph off the graph's list; its op keeps it. An unknown name is accepted."""
        if not isinstance(cast("object", name), str):
            raise TypeError("name must be a string")
        root = _root(self._live("subgraphs"))
        owner = root.parent_op()
        if owner is not None and any(graph_name(inner) == name for inner in _listed(root)):
            set_string_list(owner, UNLISTED, [*string_list(owner, UNLISTED), name])

    # Dumps and files

    def dump_to_stream(self, format: DumpFormat = DumpFormat.kReadable) -> str:
        """The graph as text. Raises RuntimeError for what the form cannot hold."""
        _check_dump_format(format)
        return dump.text_of(self._live("dump"), format.name)

    def dump_to_file(self, format: DumpFormat = DumpFormat.kReadable, suffix: str = "") -> None:
        """Write the text into the dump folder, under a name with a running number."""
        if not isinstance(cast("object", suffix), str):
            raise TypeError("Suffix must be a string")
        text = self.dump_to_stream(format)
        dump.write(text, format.name, suffix)

    def __str__(self) -> str:
        return self.dump_to_stream()

    def save_to_air(self, file_path: str) -> None:
        """Write the graph as an `.air` file, whole or not at all."""
        if not isinstance(cast("object", file_path), str):
            raise TypeError("file_path must be a string")
        func = function_of(self)
        try:
            if func is None:
                raise CompileError("graph was taken over or is a subgraph, expected a whole one")
            dump.save_air(func, Path(file_path))
        except CompileError as error:
            raise RuntimeError(f"Failed to save graph to AIR format: {error.message}") from None

    def load_from_air(self, file_path: str) -> None:
        """Make this the graph of an `.air` file; on failure it stays as it is."""
        if not isinstance(cast("object", file_path), str):
            raise TypeError("file_path must be a string")
        self._live("name")
        try:
            func = dump.load_air(Path(file_path))
        except CompileError as error:
            raise RuntimeError(f"Failed to load graph from AIR format: {error.message}") from None
        self._handle = func.body.block


def update_function_type(func: FuncOp) -> None:
    """Set a function's type to that of its arguments and returned values."""
    last = func.body.block.last_op
    outputs = tuple(value.type for value in last.operands) if last is not None else ()
    key = (tuple(arg.type for arg in func.body.block.args), outputs)
    found = _FUNCTION_TYPES.get(key)
    if found is None:
        found = _FUNCTION_TYPES[key] = FunctionType.from_lists(*key)
    func.function_type = found


_FUNCTION_TYPES: dict[tuple[tuple[Attribute, ...], ...], FunctionType] = {}
_EMPTY = FunctionType.from_lists((), ())


def new_function(name: str, block: Block) -> FuncOp:
    """A function with that body; xDSL's constructor would check what is known here."""
    properties: dict[str, Attribute] = {"sym_name": StringAttr(name), "function_type": _EMPTY}
    return FuncOp.create(properties=properties, regions=[Region(block)])


def _listed(root: Block) -> list[Block]:
    """The subgraphs of a root graph without those taken off its list."""
    owner = root.parent_op()
    unlisted = string_list(owner, UNLISTED) if owner is not None else []
    return [inner for inner in sub_blocks(root) if graph_name(inner) not in unlisted]


def _check_dump_format(format: object) -> None:
    if not isinstance(format, DumpFormat):
        known = ", ".join(str(member) for member in DumpFormat)
        raise TypeError(f"Format must be in [{known}]")


def _root(block: Block) -> Block:
    owner = block.parent_op()
    while owner is not None and not isinstance(owner, FuncOp) and owner.parent is not None:
        block = owner.parent
        owner = block.parent_op()
    return block


def add_control_edge(block: Block, src: SSAValue, dst: SSAValue) -> None:
    """A control edge at the end of a block, before its terminator."""
    edge = ControlEdgeOp.build(src, dst)
    last = block.last_op
    if last is not None and ports.is_terminator(last) and not isinstance(last, ControlEdgeOp):
        block.insert_op_before(edge, last)
    else:
        block.add_op(edge)


def _control_edge(src: Handle, dst: Handle) -> ControlEdgeOp | None:
    for edge in ports.control_edges(src, outgoing=True):
        if ports.handle_of(edge.dst) is dst:
            return edge
    return None


def _is_open(value: SSAValue | None) -> bool:
    return value is None or isinstance(value.owner, UnconnectedOp)


def _erase(op: Operation) -> None:
    """Detach and erase an op; a placeholder that only it read goes with it."""
    fed = list(op.operands)
    op.detach()
    op.erase()
    for value in fed:
        _drop_placeholder(value)


def _erase_input(func: FuncOp, arg: BlockArgument) -> None:
    """Take a graph input that nothing reads off its function, with what is kept for it."""
    index, names = arg.index, input_names(func)
    for key, listed in (
        (INPUT_NAMES, names),
        (INPUT_DIMS, string_list(func, INPUT_DIMS)),
        (ports.INPUT_TYPES, string_list(func, ports.INPUT_TYPES)),
    ):
        if index < len(listed):
            set_string_list(func, key, [*listed[:index], *listed[index + 1 :]])
    if func.arg_attrs is not None:
        kept = func.arg_attrs.data
        func.arg_attrs = ArrayAttr([*kept[:index], *kept[index + 1 :]])
    arg.block.erase_arg(arg)


def _drop_placeholder(value: SSAValue) -> None:
    owner = value.owner
    if isinstance(owner, UnconnectedOp) and not value.uses:
        owner.detach()
        owner.erase()


def _check_port(index: object, what: str) -> None:
    if not isinstance(index, int):
        raise TypeError(f"{what} must be an integer")


def take_function(graph: Graph, empty: str) -> FuncOp:
    """The function of a built graph, taken away from the Python object.

    Raises RuntimeError with the text `empty` when the graph was taken before.
    """
    block = graph._handle
    owner = block.parent_op() if block is not None else None
    if not isinstance(owner, FuncOp):
        raise RuntimeError(empty)
    graph._handle = None
    return owner


def function_of(graph: Graph) -> FuncOp | None:
    """The function behind a graph, None for an emptied one or a subgraph."""
    block = graph._handle
    owner = block.parent_op() if block is not None else None
    return owner if isinstance(owner, FuncOp) else None
