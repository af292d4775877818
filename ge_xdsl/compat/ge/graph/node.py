"""`ge.graph.node`: one node of a graph, a view of an op, a graph input or the graph's outputs."""

# The API names its own internals with underscores; this package shares them.
# pyright: reportPrivateUsage=false

from __future__ import annotations

from typing import Any, Self

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, IntegerAttr, i64
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, BlockArgument, Operation, OpResult, SSAValue

from ge_xdsl.compat.ge.graph import attributes as attrs
from ge_xdsl.compat.ge.graph.tensor_desc import NotCopyable, TensorDesc
from ge_xdsl.dialects.ge import nodes as ports
from ge_xdsl.dialects.ge.nodes import Handle
from ge_xdsl.dialects.ge.op import GeOp, extra_key, set_type
from ge_xdsl.dialects.ge.types import DataType, is_tensor_type, tensor_of


class Node(NotCopyable):
    """One node. Two views of one node are different objects: compare names."""

    _handle: Handle
    _owns_handle: bool

    def __init__(self) -> None:
        raise RuntimeError("Node objects should not be created directly.")

    @classmethod
    def _create_from(cls, handle: Handle) -> Self:
        node = cls.__new__(cls)
        node._handle = handle
        node._owns_handle = False
        return node

    def __repr__(self) -> str:
        """`<Node MatMul 'mm'>`, for a print while a pass is written."""
        if ports.block_of(self._handle) is None:
            return "<Node, erased>"
        return f"<Node {self.type} '{self.name}'>"

    def _live(self, what: str) -> Handle:
        if ports.block_of(self._handle) is None:
            raise RuntimeError(f"Failed to get Node {what}")
        return self._handle

    @property
    def name(self) -> str:
        return ports.handle_name(self._live("name"))

    @property
    def type(self) -> str:
        return ports.handle_type(self._live("type"))

    # Ports

    def _slots(self) -> list[SSAValue | None]:
        handle = self._live("inputs")
        return [None] if isinstance(handle, BlockArgument) else ports.input_slots(handle)

    def _outputs(self) -> list[SSAValue]:
        return list(ports.outputs(self._live("outputs")))

    def get_inputs_size(self) -> int:
        """The number of inputs that are there; a Data node has one of its own."""
        handle = self._live("inputs")
        return 1 if isinstance(handle, BlockArgument) else len(handle.operands)

    def get_outputs_size(self) -> int:
        return len(self._outputs())

    def get_in_data_nodes_and_port_indexes(self, in_index: int) -> tuple[Node, int]:
        """The producer of an input port and the producer's output port."""
        _check_index(in_index, "Input index")
        slots = self._slots()
        value = slots[in_index] if 0 <= in_index < len(slots) else None
        handle = None if value is None else ports.handle_of(value)
        if value is None or handle is None:
            raise RuntimeError(f"Failed to get input data node for index {in_index}")
        index = value.index if isinstance(value, OpResult) else 0
        return Node._create_from(handle), index

    def get_out_data_nodes_and_port_indexes(self, out_index: int) -> list[tuple[Node, int]]:
        """The consumers of an output port, each with its input port."""
        _check_index(out_index, "Output index")
        values = self._outputs()
        if not 0 <= out_index < len(values):
            return []
        return [
            (Node._create_from(op), ports.port_of_operand(op, index))
            for op, index in ports.consumers(values[out_index])
        ]

    def get_in_control_nodes(self) -> list[Node]:
        edges = ports.control_edges(self._live("control inputs"), outgoing=False)
        return [_producer(edge.src) for edge in edges]

    def get_out_control_nodes(self) -> list[Node]:
        edges = ports.control_edges(self._live("control outputs"), outgoing=True)
        return [_producer(edge.dst) for edge in edges]

    # Attributes

    def has_attr(self, attr_name: str) -> bool:
        attrs.check_key(attr_name, "attr_name")
        return self._attribute(attr_name) is not None

    def get_attr(self, key: str) -> Any:
        """A stored attribute; raises RuntimeError for one that is not stored.

        An optional attribute that was never set away from its default is not stored.
        """
        attrs.check_key(key)
        attr = self._attribute(key)
        if attr is None:
            attrs.missing(key, "Node")
        return attrs.value_of(attr)

    def set_attr(self, key: str, value: Any) -> None:
        attrs.check_key(key)
        handle = self._live("attributes")
        if isinstance(handle, GeOp) and not ports.is_terminator(handle):
            attrs.set_op_attribute(handle, key, value)
        elif isinstance(handle, Operation):
            attrs.set_extra(handle.attributes, key, value)
        elif key != "index":
            _set_argument_attr(handle, key, attrs.attribute_of(value, key))
        elif value != handle.index:
            raise RuntimeError(f"Failed to set attribute 'index': input {handle.index} is by place")

    def _attribute(self, key: str) -> Attribute | None:
        handle = self._live("attributes")
        if isinstance(handle, GeOp) and not ports.is_terminator(handle):
            return attrs.op_attribute(handle, key)
        if isinstance(handle, Operation):
            return attrs.get_extra(handle.attributes, key)
        if key == "index":
            return IntegerAttr(handle.index, i64)
        return attrs.get_extra(_argument_attrs(handle), key)

    def get_input_attr(self, attr_name: str, input_index: int) -> Any:
        return self._port_attr("input", attr_name, input_index)

    def set_input_attr(self, attr_name: str, input_index: int, value: Any) -> None:
        self._set_port_attr("input", attr_name, input_index, value)

    def get_output_attr(self, attr_name: str, output_index: int) -> Any:
        return self._port_attr("output", attr_name, output_index)

    def set_output_attr(self, attr_name: str, output_index: int, value: Any) -> None:
        self._set_port_attr("output", attr_name, output_index, value)

    def _port_attr(self, side: str, name: str, index: int) -> Any:
        key = self._port_key(side, name, index, "get")
        attr = self._attribute(key)
        if attr is None:
            raise RuntimeError(
                f"Failed to get Node {self.name} {side} attribute '{name}' for index {index}"
            )
        return attrs.value_of(attr)

    def _set_port_attr(self, side: str, name: str, index: int, value: Any) -> None:
        self.set_attr(self._port_key(side, name, index, "set"), value)

    def _port_key(self, side: str, name: str, index: int, verb: str) -> str:
        attrs.check_key(name, "Attribute name")
        _check_index(index, f"{side.capitalize()} index")
        size = len(self._slots() if side == "input" else self._outputs())
        if not 0 <= index < size:
            raise RuntimeError(
                f"Failed to {verb} Node {self.name} {side} attribute '{name}' for index {index}"
            )
        return f"ge.{side}_attr.{index}.{name}"

    # Descriptions

    def get_input_desc(self, index: int) -> TensorDesc:
        """The description of an input: one written to this port, else the producer's.

        The op of a graph that is being built has descriptions of its own, which say nothing until
        shapes are inferred; so has an op whose results have no types yet.
        """
        _check_index(index, "Input index")
        handle = self._live("inputs")
        if isinstance(handle, BlockArgument) and index == 0:
            return _desc_of(handle.type)
        slots = self._slots()
        value = slots[index] if 0 <= index < len(slots) else None
        if value is None:
            raise RuntimeError(f"Failed to get input desc for index {index}")
        assert isinstance(handle, Operation)
        written = handle.attributes.get(_desc_key(index))
        if written is None and _is_untyped(handle):
            return TensorDesc()
        return _desc_of(value.type if written is None else written)

    def get_output_desc(self, index: int) -> TensorDesc:
        _check_index(index, "Output index")
        values = self._outputs()
        if not 0 <= index < len(values):
            raise RuntimeError(f"Failed to get output desc for index {index}")
        return _desc_of(values[index].type)

    def update_input_desc(self, index: int, tensor_desc: TensorDesc) -> None:
        """Describe an input port by itself; the producer's description stays."""
        _check_index(index, "Input index")
        attr = _type_of(tensor_desc)
        handle = self._live("inputs")
        slots = self._slots()
        if isinstance(handle, BlockArgument) and index == 0:
            set_type(handle, attr)
        elif isinstance(handle, BlockArgument) or not 0 <= index < len(slots):
            raise RuntimeError(f"Failed to update input desc for index {index}")
        else:
            handle.attributes[_desc_key(index)] = attr

    def update_output_desc(self, index: int, tensor_desc: TensorDesc) -> None:
        _check_index(index, "Output index")
        attr = _type_of(tensor_desc)
        values = self._outputs()
        if not 0 <= index < len(values):
            raise RuntimeError(f"Failed to update output desc for index {index}")
        set_type(values[index], attr)


def _producer(value: SSAValue) -> Node:
    handle = ports.handle_of(value)
    assert handle is not None
    return Node._create_from(handle)


def _check_index(index: object, what: str) -> None:
    if not isinstance(index, int):
        raise TypeError(f"{what} must be an integer")


def _desc_key(port: int) -> str:
    return f"ge.input_desc.{port}"


def _desc_of(attr: Attribute) -> TensorDesc:
    tensor = tensor_of(attr) if is_tensor_type(attr) else None
    return TensorDesc._create_from(tensor)


def _is_untyped(op: Operation) -> bool:
    """Whether no result of a node has an element type, as before shapes are inferred."""
    return bool(op.results) and all(
        is_tensor_type(result.type) and tensor_of(result.type).dtype == DataType.DT_UNDEFINED
        for result in op.results
    )


def _type_of(desc: object) -> Attribute:
    if not isinstance(desc, TensorDesc):
        raise TypeError("tensor_desc must be a TensorDesc")
    return desc._tensor().type


def _argument_attrs(arg: BlockArgument) -> dict[str, Attribute]:
    """The attributes of a graph input; {} for an input of a subgraph."""
    func = arg.block.parent_op()
    if not isinstance(func, FuncOp) or func.arg_attrs is None:
        return {}
    return dict(func.arg_attrs.data[arg.index].data)


def _set_argument_attr(arg: BlockArgument, key: str, attr: Attribute) -> None:
    func = arg.block.parent_op()
    if not isinstance(func, FuncOp):
        raise RuntimeError(f"Failed to set attribute '{key}' of an input of a subgraph")
    args = arg.block.args
    old = func.arg_attrs
    listed = list(old.data) if old is not None else [DictionaryAttr({}) for _ in args]
    entries = dict(listed[arg.index].data)
    entries[extra_key(key)] = attr
    listed[arg.index] = DictionaryAttr(entries)
    func.arg_attrs = ArrayAttr(listed)


def node_of(handle: Handle) -> Node:
    """The API's view of a node."""
    return Node._create_from(handle)


def handle_behind(node: object) -> Handle | None:
    """The handle of a Node, None for anything else."""
    return node._handle if isinstance(node, Node) else None
