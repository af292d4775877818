"""`ge.es.tensor_holder`: a tensor of a graph that is being built, with arithmetic operators."""

# The API names its own internals with underscores; this package shares them.
# pyright: reportPrivateUsage=false

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self, cast

from xdsl.ir import Operation, SSAValue

from ge_xdsl.compat.ge.es.tensor_like import convert_to_tensor_holder
from ge_xdsl.compat.ge.graph.node import Node, node_of
from ge_xdsl.compat.ge.graph.tensor_desc import is_int_list, shape_of
from ge_xdsl.dialects.ge import nodes as ports
from ge_xdsl.dialects.ge.op import set_type
from ge_xdsl.dialects.ge.types import DataType, Format, Layout, Tensor, tensor_of

if TYPE_CHECKING:
    from ge_xdsl.compat.ge.es.graph_builder import GraphBuilder


class TensorHolder:
    """One output of a node of a builder's graph."""

    _handle: SSAValue
    _builder: GraphBuilder

    def __init__(self, *_: Any, **__: Any) -> None:
        raise RuntimeError("TensorHolder objects should not be created directly")

    @classmethod
    def _create_from(cls, handle: SSAValue | None, builder: GraphBuilder | None) -> Self:
        if handle is None:
            raise ValueError("Tensor handle cannot be None")
        if builder is None:
            raise ValueError("Owner builder cannot be None")
        holder = cls.__new__(cls)
        holder._handle = handle
        holder._builder = builder
        return holder

    @property
    def name(self) -> str:
        """The name of the node that produces the tensor."""
        return self._get_node_snapshot().name

    def _get_node_snapshot(self) -> Node:
        handle = ports.handle_of(self._handle)
        assert handle is not None
        return node_of(handle)

    def get_owner_builder(self) -> GraphBuilder:
        return self._builder

    def _anchor(self) -> SSAValue:
        """The value that control edges of the producer start and end at."""
        return self._handle

    @classmethod
    def _of_node(cls, op: Operation, builder: GraphBuilder) -> TensorHolder:
        """The holder of a node without outputs: it names the node and nothing else."""
        holder = _NodeHolder.__new__(_NodeHolder)
        holder._node = op
        holder._builder = builder
        return holder

    # Description

    def _describe(self, **changes: Any) -> Self:
        old = tensor_of(self._handle.type)
        shape = changes.get("shape", old.shape)
        layout = changes.get("layout", old.layout)
        set_type(self._handle, Tensor(changes.get("dtype", old.dtype), shape, layout).type)
        return self

    def set_data_type(self, data_type: DataType) -> Self:
        self._builder._check_open("set data type")
        if not isinstance(cast("object", data_type), DataType):
            raise TypeError("Data type must be a DataType enum")
        return self._describe(dtype=data_type)

    def set_format(self, format: Format) -> Self:
        """Set the format and the origin format."""
        self._builder._check_open("set format")
        if not isinstance(cast("object", format), Format):
            raise TypeError("Format must be a Format enum")
        return self._describe(layout=Layout(format, format))

    def set_shape(self, shape: list[int]) -> Self:
        """Set the shape and the origin shape."""
        self._builder._check_open("set shape")
        if not isinstance(cast("object", shape), list):
            raise TypeError("Shape must be a list of integers")
        if not is_int_list(shape):
            raise TypeError("All shape dimensions must be integers")
        return self._describe(shape=shape_of(shape))

    # Arithmetic

    def _binary(self, op_type: str, other: Any, reflected: bool = False) -> TensorHolder:
        word = op_type.lower()
        builder = self._builder
        if isinstance(other, TensorHolder):
            if other._builder is not builder:
                raise ValueError(
                    f"Cannot perform {word}: tensors from different GraphBuilders "
                    f"('{builder.name}' vs '{other._builder.name}')"
                )
            builder._check_open(word)
        value = convert_to_tensor_holder(other, builder)
        if value is None:
            raise AttributeError(f"Cannot perform {word}: the other operand is None")
        pair = (value, self) if reflected else (self, value)
        return builder._node(op_type, pair)

    def add(self, other: Any) -> TensorHolder:
        return self._binary("Add", other)

    def sub(self, other: Any) -> TensorHolder:
        return self._binary("Sub", other)

    def mul(self, other: Any) -> TensorHolder:
        return self._binary("Mul", other)

    def div(self, other: Any) -> TensorHolder:
        return self._binary("Div", other)

    __add__ = add
    __radd__ = add
    __sub__ = sub
    __mul__ = mul
    __rmul__ = mul
    __truediv__ = div

    def __rsub__(self, other: Any) -> TensorHolder:
        return self._binary("Sub", other, reflected=True)

    def __rtruediv__(self, other: Any) -> TensorHolder:
        return self._binary("Div", other, reflected=True)


class _NodeHolder(TensorHolder):
    """What a function returns for a node without outputs."""

    _node: Operation

    @property
    def _handle(self) -> SSAValue:  # pyright: ignore[reportIncompatibleVariableOverride]
        raise RuntimeError(f"node {self.name} has no output, expected one")

    def _anchor(self) -> SSAValue:
        return ports.anchors(self._node)[0]

    def _get_node_snapshot(self) -> Node:
        return node_of(self._node)
