"""The names of one graph, subgraph or function body, and the conversion of its nodes in order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NoReturn, TypeAlias

from xdsl.ir import OpResult, SSAValue

from ge_xdsl.dialects.ge.data import ConstOp
from ge_xdsl.dialects.ge.op import set_type
from ge_xdsl.dialects.ge.types import DYNAMIC, DataType, Tensor, compatible, tensor_of
from ge_xdsl.errors import CompileError
from ge_xdsl.importers.onnx.builder import Builder
from ge_xdsl.importers.onnx.functions import Functions, key_of, opsets_of
from ge_xdsl.importers.onnx.node import Node
from ge_xdsl.importers.onnx.opaque import opaque
from ge_xdsl.importers.onnx.order import check_text, in_order
from ge_xdsl.importers.onnx.plugins import by_plugin, conversion_of
from ge_xdsl.importers.onnx.table import (
    CONVERTERS,
    GE_DOMAIN,
    Converter,
    converter_of,
    ge_op_converter,
)
from ge_xdsl.importers.onnx.tensors import declared_tensor

if TYPE_CHECKING:
    from onnx import (
        AttributeProto,
        FunctionProto,
        GraphProto,
        NodeProto,
        SparseTensorProto,
        TensorProto,
        ValueInfoProto,
    )

    Initializer: TypeAlias = tuple[TensorProto | SparseTensorProto, memoryview | None]
    """A tensor, and its raw data where that was cut out."""

VALUES = (OpResult, SSAValue)
"""The classes of values, the usual one first: for it no abstract base class is asked."""

DEPTH_LIMIT = 32
"""How deep subgraphs and function calls may nest."""
EXPANSION_LIMIT = 2**16
"""Most nodes that subgraphs and function bodies of one model may expand to."""


class Scope:
    """Converts nodes: `values` maps ONNX value names to IR values, None for an input left out.

    `outer` is the scope around a subgraph, whose initializers it sees; `bindings` gives the
    attributes of the function call that the nodes belong to, `prefix` the start of their names.
    """

    def __init__(
        self,
        builder: Builder,
        functions: Functions,
        opsets: Mapping[str, int],
        *,
        outer: Scope | None = None,
        depth: int = 0,
        prefix: str = "",
        bindings: Mapping[str, AttributeProto] | None = None,
    ) -> None:
        self.builder = builder
        self.functions = functions
        self.opsets = opsets
        self.outer = outer
        self.depth = depth
        self.prefix = prefix
        self.bindings = bindings
        self.converters: dict[tuple[str, str], tuple[int, Converter]] = {}
        self.values: dict[str, SSAValue | None] = {}
        self.constants: dict[str, SSAValue] = {}
        self.initializers: dict[str, Initializer] = {}
        self.declared: dict[str, ValueInfoProto] = {}

    # Names

    def note_initializers(
        self, graph: GraphProto, cut: Mapping[int, memoryview] | None = None
    ) -> None:
        """Make the initializers of a graph known; they become Consts where they are read."""
        for index, tensor in enumerate(graph.initializer):
            check_text(tensor.name)
            if not tensor.name or tensor.name in self.initializers:
                refuse_name(tensor.name, "initializer")
            self.initializers[tensor.name] = (tensor, cut.get(index) if cut else None)
        for sparse in graph.sparse_initializer:
            name = sparse.values.name
            check_text(name)
            if not name or name in self.initializers:
                refuse_name(name, "initializer")
            self.initializers[name] = (sparse, None)

    def lookup(self, name: str) -> SSAValue | None:
        """The value of a name, None for one that is not defined or was left out."""
        found = self.values.get(name)
        if found is None and name not in self.values:
            found = self._constant(name)
        return found

    def _constant(self, name: str) -> SSAValue | None:
        """A Const in the current block for an initializer or a constant of an outer graph."""
        if (outer := self.constants.get(name)) is not None:
            found = self.builder.copy_const(outer)
        elif (entry := self._initializer(name)) is not None:
            try:
                array = self.builder.reader.array(*entry)
            except ValueError as error:
                raise CompileError(str(error), subject=f"initializer '{name}'") from None
            found = self.builder.const(array, self.builder.unique(name))
        else:
            return None
        self.values[name] = found
        return found

    def _initializer(self, name: str) -> Initializer | None:
        scope: Scope | None = self
        while scope is not None:
            if (entry := scope.initializers.get(name)) is not None:
                return entry
            scope = scope.outer
        return None

    # Nodes

    def convert_all(self, nodes: Sequence[NodeProto]) -> None:
        """Convert nodes, put in dependency order first."""
        for name, proto in self._named(in_order(nodes, {*self.values, *self.initializers})):
            self.convert(name, proto)

    def _named(self, nodes: Sequence[NodeProto]) -> list[tuple[str, NodeProto]]:
        """Each node with its name; a nameless node and a Constant have that of their first output.

        Names are taken before any initializer is, so that a node keeps its own.
        """
        unique = self.builder.unique
        found: list[tuple[str, NodeProto]] = []
        given: set[str] = set()
        for proto in nodes:
            check_text(proto.name, proto.op_type, proto.domain)
            if proto.name in given:
                raise CompileError(
                    f"the name '{proto.name}' is given to two nodes, expected unique names"
                )
            if proto.name:
                given.add(proto.name)
            name = "" if proto.op_type == "Constant" else proto.name
            name = name or next((out for out in proto.output if out), proto.op_type)
            found.append((unique(self.prefix + name), proto))
        return found

    def convert(self, name: str, proto: NodeProto) -> None:
        """Append the ops of one node and define its outputs."""
        builder, values = self.builder, self.values
        opset, converter = self._how(proto)
        outputs = proto.output
        node = builder.node = Node(proto, name, opset, outputs, self.bindings)
        node.scope = self
        inputs = node.inputs
        for value in proto.input:
            found = values.get(value)
            if found is None and value and value not in values:
                found = self._constant(value)
                if found is None:
                    node.fail(
                        f"input '{value}' is not defined, expected a graph input, an initializer "
                        "or an output of another node"
                    )
            inputs.append(found)
        results = converter(node, builder)
        builder.node = node
        if node.attrs:
            node.finish()
        given = (results,) if isinstance(results, VALUES) else results
        if len(outputs) > len(given):
            node.only_outputs(len(given))
        for output, value in zip(outputs, given, strict=False):
            if output:
                self._define(output, value)

    def _how(self, proto: NodeProto) -> tuple[int, Converter]:
        """The opset of a node's domain and what converts it: its function in the model, its
        converter, or the function that the operator set defines it with."""
        key = (proto.domain, proto.op_type)
        found = self.converters.get(key)
        if found is not None:
            return found
        domain, op_type = key_of(*key)
        opset = self.opsets.get(domain, 0)
        if (conversion := conversion_of(domain, opset, op_type)) is not None:
            return opset, lambda node, g: by_plugin(node, g, conversion)
        if (local := self.functions.local.get((domain, op_type, proto.overload))) is not None:
            return opset, lambda node, _: self.call(node, local)
        known = op_type if not domain else f"{domain}::{op_type}"
        if domain == GE_DOMAIN:
            found = (opset, ge_op_converter())
        else:
            found = (opset, converter_of(known) if known in CONVERTERS else _by_function)
        if not self.functions.local:  # else the overload has a say
            self.converters[key] = found
        return found

    def by_function(self, node: Node) -> list[SSAValue | None]:
        """The results by the function that the operator set defines the op with; without one the
        node is kept as it is."""
        domain = key_of(node.proto.domain, "")[0]
        body = self.functions.of_operator_set(node, node.proto, domain)
        if body is None:
            return list(opaque(node, self.builder, domain))
        return self.call(node, body)

    def call(self, node: Node, function: FunctionProto) -> list[SSAValue | None]:
        """The results of a function on a node's inputs: its body is put in the node's place."""
        self._enter(node, len(function.node))
        if len(node.inputs) > len(function.input):
            node.fail(f"has {len(node.inputs)} inputs, expected at most {len(function.input)}")
        defaults = {attr.name: attr for attr in function.attribute_proto}
        declared = [*function.attribute, *defaults]
        given = {name: node.attrs.pop(name) for name in declared if name in node.attrs}
        opsets = opsets_of(function.opset_import) or self.opsets
        inner = Scope(
            self.builder,
            self.functions,
            opsets,
            depth=self.depth + 1,
            prefix=f"{node.name}_",
            bindings={**defaults, **given},
        )
        padding: list[SSAValue | None] = [None] * len(function.input)
        inner.values.update(zip(function.input, [*node.inputs, *padding], strict=False))
        inner.convert_all(function.node)
        return [inner.lookup(name) for name in function.output]

    def run(
        self, graph: GraphProto, inputs: Sequence[SSAValue], captured: Mapping[str, SSAValue]
    ) -> list[SSAValue]:
        """The outputs of a subgraph whose ops are appended to the builder's current block.

        `captured` maps names of this scope to the values that stand for them in that block;
        constants are copied into it.
        """
        node = self.builder.node
        assert node is not None
        self._enter(node, len(graph.node))
        inner = Scope(
            self.builder,
            self.functions,
            self.opsets,
            outer=self,
            depth=self.depth + 1,
            prefix=self.prefix,
            bindings=self.bindings,
        )
        inner.note_initializers(graph)
        inner.declared = {info.name: info for info in (*graph.value_info, *graph.output)}
        inner.values.update(captured)
        inner.constants = {n: v for n, v in captured.items() if is_const(v)}
        for name in inner.constants:
            del inner.values[name]
        formal = [info.name for info in graph.input if info.name not in inner.initializers]
        if len(formal) != len(inputs):
            node.fail(f"a subgraph has {len(formal)} inputs, expected {len(inputs)}")
        inner.values.update(zip(formal, inputs, strict=True))
        inner.convert_all(graph.node)
        self.builder.node = node
        return [inner.output(info.name) for info in graph.output]

    def _enter(self, node: Node, count: int) -> None:
        """Count what is expanded; raises for what nests or grows without bound."""
        if self.depth >= DEPTH_LIMIT:
            node.fail(f"functions and subgraphs nest deeper than {DEPTH_LIMIT} levels")
        self.functions.expanded += count
        if self.functions.expanded > EXPANSION_LIMIT:
            node.fail(f"functions and subgraphs expand to more than {EXPANSION_LIMIT} nodes")

    def output(self, name: str) -> SSAValue:
        """The value of a graph output."""
        check_text(name)
        found = self.lookup(name)
        if found is None:
            raise CompileError(
                "is not defined, expected the output of a node", subject=f"graph output '{name}'"
            )
        return found

    # Types

    def _define(self, name: str, value: SSAValue | None) -> None:
        if value is not None:
            tensor = tensor_of(value.type)
            if tensor.shape is None or DYNAMIC in tensor.shape:
                info = self.declared.get(name)
                if info is not None:
                    self._refine(value, tensor, info)
        self.values[name] = value

    def _refine(self, value: SSAValue, tensor: Tensor, info: ValueInfoProto) -> None:
        """Fill what inference leaves unknown from the type that the model declares."""
        node = self.builder.node
        subject = f"{node.op_type} '{node.name}'" if node else ""
        try:
            declared = declared_tensor(info)
        except ValueError as error:
            raise CompileError(f"output '{info.name}' {error}", subject=subject) from None
        if declared is None:
            return
        if not compatible(tensor, declared):
            raise CompileError(
                f"output '{info.name}' is declared {declared}, infer gives {tensor}",
                subject=subject,
            )
        if declared.shape is None:
            return
        known = tensor.shape or declared.shape
        pairs = zip(known, declared.shape, strict=True)
        shape = tuple(b if a == DYNAMIC else a for a, b in pairs)
        dtype = declared.dtype if tensor.dtype == DataType.DT_UNDEFINED else tensor.dtype
        set_type(value, Tensor(dtype, shape, tensor.layout).type)


def _by_function(node: Node, builder: Builder) -> list[SSAValue | None]:
    return node.scope.by_function(node)


def is_const(value: SSAValue) -> bool:
    return isinstance(value.owner, ConstOp)


def refuse_name(name: str, what: str) -> NoReturn:
    """Raise for a value without a name of its own."""
    if not name:
        raise CompileError(f"an {what} has no name, expected one")
    raise CompileError(f"the name '{name}' is given to two values, expected unique names")
