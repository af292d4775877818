"""IR -> an ONNX model.

Ops that the standard has are written in its terms; the others, and those with attributes or types
that it lacks, keep their GE type and attributes in the domain `ai.ge`. Names of nodes, graph inputs
and graph outputs stay. Control edges are not written.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from xdsl.dialects.builtin import ArrayAttr, BytesAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Block, SSAValue

from ge_xdsl.dialects.ge import nodes
from ge_xdsl.dialects.ge.assembly import region_names
from ge_xdsl.dialects.ge.data import ControlEdgeOp, UnconnectedOp
from ge_xdsl.dialects.ge.names import (
    METADATA,
    describe,
    input_names,
    output_names,
    string_list,
    symbolic_dims,
)
from ge_xdsl.dialects.ge.op import CONSTANT_TYPES, GeOp, constant_of
from ge_xdsl.dialects.ge.opaque import DOMAIN as DOMAIN_KEY
from ge_xdsl.dialects.ge.opaque import MISSING, OP_TYPE, UNUSED, OpaqueOp
from ge_xdsl.dialects.ge.prototype import decode, kind_of
from ge_xdsl.dialects.ge.store import chunks
from ge_xdsl.dialects.ge.types import Tensor, dtype_of_numpy, numpy_dtype, tensor_of
from ge_xdsl.errors import CompileError
from ge_xdsl.exporters.onnx.control import WRITERS
from ge_xdsl.exporters.onnx.graph import (
    DOMAIN,
    OPSET,
    Graph,
    Names,
    Node,
    NoFormError,
    Weight,
    attribute,
)
from ge_xdsl.exporters.onnx.table import converters
from ge_xdsl.exporters.onnx.tensors import ELEMENT_TYPES, data_of, tensor_proto, value_info

if TYPE_CHECKING:
    from onnx import GraphProto, ModelProto, TensorProto

Warn = Callable[[str], None]

IR_VERSION = 8
INLINE_LIMIT = 2**30
"""Weights of more bytes in all stand in a file beside the model."""
ALIGNMENT = 4096
"""Where weights in a file start: at multiples of this many bytes."""
LEAST_OUTSIDE = 1024
"""Weights of fewer bytes stay in the model."""


class Model:
    """A graph as an ONNX model.

    `proto` is the message; `foreign` counts the op types in the domain `ai.ge`, `reasons` tell
    why the first of each is there. With `location`
    large weights are references to the file of that name, which holds `blocks`.
    """

    def __init__(self, func: FuncOp, location: str = "") -> None:
        try:
            from onnx import helper
        except ImportError:
            raise CompileError(
                "onnx is not installed, expected the extra: pip install 'ge_xdsl[onnx]'"
            ) from None

        self.names = Names()
        self.location = location
        self.offset = 0
        self.outside: list[Weight] = []
        self.foreign: Counter[str] = Counter()
        self.reasons: dict[str, str] = {}
        self.domains: dict[str, int] = {}
        graph = self._main(func)
        opsets = [helper.make_opsetid("", OPSET)]
        if self.foreign:
            self.domains[DOMAIN] = 1
        opsets += [helper.make_opsetid(name, v) for name, v in sorted(self.domains.items()) if name]
        self.proto: ModelProto = helper.make_model(
            graph, producer_name="ge_xdsl", opset_imports=opsets, ir_version=IR_VERSION
        )
        words = string_list(func, METADATA)
        for key, value in zip(words[::2], words[1::2], strict=False):
            self.proto.metadata_props.add(key=key, value=value)
        for info, names in zip(self.proto.graph.input, symbolic_dims(func), strict=True):
            for dim, name in zip(info.type.tensor_type.shape.dim, names, strict=True):
                if name and not dim.HasField("dim_value"):
                    dim.dim_param = name

    def data(self) -> bytes:
        """The bytes of the model's file."""
        return self.proto.SerializeToString(deterministic=True)

    def blocks(self) -> Iterator[bytes]:
        """The bytes of the weights file, one weight after the other."""
        for weight in self.outside:
            yield from chunks(weight.array)
            yield bytes(-weight.array.nbytes % ALIGNMENT)

    def _store(self, weight: Weight) -> TensorProto:
        """The initializer of a weight, with its values or with where they are."""
        from onnx import StringStringEntryProto, TensorProto

        size = weight.array.nbytes
        if not self.location or size < LEAST_OUTSIDE:
            weight.proto.raw_data = data_of(weight.array)
            return weight.proto
        weight.proto.data_location = TensorProto.EXTERNAL
        entries = {"location": self.location, "offset": self.offset, "length": size}
        for key, value in entries.items():
            weight.proto.external_data.append(StringStringEntryProto(key=key, value=str(value)))
        self.offset += -(-size // ALIGNMENT) * ALIGNMENT
        self.outside.append(weight)
        return weight.proto

    # Graphs

    def _main(self, func: FuncOp) -> GraphProto:
        block = func.body.block
        inputs, outputs = input_names(func), output_names(func)
        self._claim(block, inputs, outputs)
        graph = Graph(self.names)
        for arg, name in zip(block.args, inputs, strict=True):
            graph.values[arg], graph.types[name] = name, tensor_of(arg.type).dtype
        return self._graph(block, graph, func.sym_name.data, inputs, outputs)

    def _claim(self, block: Block, inputs: Sequence[str], outputs: Sequence[str]) -> None:
        """Take the names of inputs and outputs; one value may be several of them by one name."""
        last = block.last_op
        returned = list(last.operands) if last is not None else []
        named: dict[str, SSAValue] = {}
        for index, (name, value) in enumerate(
            zip([*inputs, *outputs], [*block.args, *returned], strict=True)
        ):
            if named.setdefault(name, value) is not value or (
                index < len(inputs) and name in self.names.taken
            ):
                raise CompileError(f"two inputs or outputs are named '{name}', expected one")
            self.names.taken.add(name)

    def _graph(
        self, block: Block, graph: Graph, name: str, inputs: Sequence[str], outputs: Sequence[str]
    ) -> GraphProto:
        """The nodes of a block; an output that a node makes has that name from the start."""
        last = block.last_op
        returned = list(last.operands) if last is not None else []
        for value, output in zip(returned, outputs, strict=True):
            owner = value.owner
            made_here = isinstance(owner, GeOp) and owner.op_type not in CONSTANT_TYPES
            if made_here and value not in graph.values:
                graph.values[value] = output
        infos = self.write_ops(block, graph)
        for value, output in zip(returned, outputs, strict=True):
            if (source := graph.of(value)) != output:
                graph.nodes.append(Node("Identity", [source], [output], name=output))
        return self.close(graph, name, typed(inputs, block.args), typed(outputs, returned), infos)

    def write_ops(self, block: Block, graph: Graph) -> list[tuple[str, Tensor]]:
        """Write the ops of a block; the values that need a declaration, with their names."""
        infos: list[tuple[str, Tensor]] = []
        for op in block.ops:
            if op is not block.last_op and isinstance(op, GeOp):
                infos += self._op(op, graph)
        return infos

    def close(
        self,
        graph: Graph,
        name: str,
        inputs: Sequence[tuple[str, Tensor]],
        outputs: Sequence[tuple[str, Tensor]],
        infos: Sequence[tuple[str, Tensor]],
    ) -> GraphProto:
        """The message of a graph whose nodes are all written."""
        proto = graph.proto(name)
        proto.initializer.extend(map(self._store, graph.weights))
        self._declare(proto.input, inputs)
        self._declare(proto.output, outputs)
        named = {name for name, _ in (*inputs, *outputs)}
        self._declare(proto.value_info, [item for item in infos if item[0] not in named], False)
        return proto

    def _declare(
        self, place: Any, values: Sequence[tuple[str, Tensor]], required: bool = True
    ) -> None:
        for name, tensor in values:
            if not required and tensor.dtype not in ELEMENT_TYPES:
                continue
            try:
                place.append(value_info(name, tensor))
            except ValueError as error:
                raise CompileError(str(error), subject=f"graph input or output '{name}'") from None

    # Ops

    def _op(self, op: GeOp, graph: Graph) -> list[tuple[str, Tensor]]:
        """Write an op; the results that only a declaration gives a type, with their names."""
        if isinstance(op, ControlEdgeOp) or op.token:
            return []
        if isinstance(op, UnconnectedOp):
            raise CompileError("is an open operand, expected a value", subject=describe(op))
        many = len(op.results) > 1
        for index, value in enumerate(op.results):
            if value not in graph.values:
                stem = op.node_name or op.op_type
                graph.values[value] = self.names.unique(f"{stem}_{index}" if many else stem)
        graph.op = op
        if op.op_type in CONSTANT_TYPES:
            self._constant(op, graph)
            return []
        if isinstance(op, OpaqueOp):
            graph.nodes.append(self._opaque(op, graph))
            return typed(map(graph.of, op.results), op.results)
        kept = len(graph.weights)
        try:
            if (write := WRITERS.get(op.op_type)) is not None:
                return write(op, graph, self)
            convert = converters().get(op.op_type)
            if convert is None:
                raise NoFormError("the op is not standard")
            found = convert(op, graph)
            graph.finish(op, [found] if isinstance(found, str) else found)
            return []
        except NoFormError as error:
            self.reasons.setdefault(op.op_type, str(error))
            graph.drop(kept)
        self.foreign[op.op_type] += 1
        graph.nodes.append(self._foreign_node(op, graph))
        return typed(map(graph.of, op.results), op.results)

    def _constant(self, op: GeOp, graph: Graph) -> None:
        array = constant_of(op.results[0])
        if array is None:
            raise CompileError("has no data, expected its weights", subject=describe(op))
        try:
            graph.weight(array, tensor_of(op.results[0].type).dtype, graph.of(op.results[0]))
        except ValueError as error:
            raise CompileError(str(error), subject=describe(op)) from None

    def branch(self, block: Block, outer: Graph, sources: Sequence[str] | None) -> GraphProto:
        """A subgraph that reads `sources`, or has inputs of its own."""
        inner = Graph(self.names, outer)
        names = [self.names.unique(f"{nodes.graph_name(block)}_{nodes.handle_name(arg)}")
                 for arg in block.args] if sources is None else list(sources)  # fmt: skip
        for arg, name in zip(block.args, names, strict=True):
            inner.values[arg], inner.types[name] = name, tensor_of(arg.type).dtype
        last = block.last_op
        count = len(last.operands) if last is not None else 0
        title = nodes.graph_name(block)
        outputs = [self.names.unique(f"{title}_output_{k}") for k in range(count)]
        proto = self._graph(block, inner, title, names, outputs)
        if sources is not None:
            del proto.input[:]
        return proto

    def _opaque(self, op: OpaqueOp, graph: Graph) -> Node:
        """A node of a foreign domain as it was read."""
        domain = op.text(DOMAIN_KEY)
        self.domains[domain] = max(op.version(), self.domains.get(domain, 0))
        inputs = [graph.of(value) for value in op.operands]
        for place in op.positions(MISSING):
            inputs.insert(place, "")
        outputs = [graph.of(value) for value in op.results]
        for value, name in zip(op.results, outputs, strict=True):
            graph.types[name] = tensor_of(value.type).dtype
        for place in op.positions(UNUSED):
            outputs[place] = "" if not op.results[place].uses.get_length() else outputs[place]
        attrs = {name: _own(name, attr, op) for name, attr in op.node_attributes().items()}
        return Node(op.text(OP_TYPE), inputs, outputs, attrs, domain, op.node_name)

    def _foreign_node(self, op: GeOp, graph: Graph) -> Node:
        """The op as it is, in the domain `ai.ge`."""
        inputs = [graph.of(value) for value in nodes.input_slots(op)]
        while inputs and not inputs[-1]:
            inputs.pop()
        outputs = [graph.of(value) for value in op.results]
        for value, name in zip(op.results, outputs, strict=True):
            graph.types[name] = tensor_of(value.type).dtype
        attrs: dict[str, Any] = {}
        for spec in op.prototype.attrs:
            if spec.name in op.properties:
                attrs[spec.name] = _attribute(spec.name, spec.kind, op.get_attr(spec.name), op)
        if op.prototype.needs_operand_segments:
            attrs["input_counts"] = list(op.operand_counts())
        fields = region_names(op.prototype, len(op.regions))
        for field, region in zip(fields, op.regions, strict=True):
            attrs[field] = self.branch(region.block, graph, None)
        return Node(op.op_type, inputs, outputs, attrs, DOMAIN, op.node_name)


def typed(names: Iterable[str], values: Iterable[SSAValue]) -> list[tuple[str, Tensor]]:
    """Names with the types of the values that have them."""
    return [(name, tensor_of(v.type)) for name, v in zip(names, values, strict=True)]


def _attribute(name: str, kind: str, value: Any, op: GeOp) -> Any:
    """An attribute of a GE op: types are numbers, lists of lists JSON."""
    from onnx import AttributeProto, helper

    if kind == "Tensor":
        try:
            tensor = tensor_proto(value, dtype_of_numpy(value.dtype), name)
        except ValueError as error:
            raise CompileError(f"attribute '{name}': {error}", subject=describe(op)) from None
        tensor.raw_data = data_of(value)
        return helper.make_attribute(name, tensor)
    if kind == "ListListInt":
        return helper.make_attribute(name, json.dumps(value))
    types = {"Int": "INT", "Bool": "INT", "Type": "INT", "Float": "FLOAT", "String": "STRING"}
    plain = types[kind.removeprefix("List")]
    convert = {"INT": int, "FLOAT": float, "STRING": str}[plain]
    if not kind.startswith("List"):
        return attribute(name, convert(value))
    number = AttributeProto.AttributeType.Value(f"{plain}S")
    return helper.make_attribute(name, [convert(item) for item in value], attr_type=number)


def _own(name: str, attr: Attribute, op: GeOp) -> Any:
    """An attribute of an opaque op in ONNX's form."""
    from onnx import helper

    if isinstance(attr, BytesAttr):
        return helper.make_attribute(name, attr.data)
    kind = kind_of(attr)
    if kind is None and attr == ArrayAttr([]):
        kind = "ListString"
    if kind is None:
        raise CompileError(f"attribute is {attr}, expected a value of ONNX's", subject=describe(op))
    return _attribute(name, kind, decode(attr), op)


def weight_bytes(func: FuncOp) -> int:
    """Bytes of all constants of a graph and its subgraphs."""
    found = 0
    for op in func.walk():
        if isinstance(op, GeOp) and op.op_type in CONSTANT_TYPES:
            tensor = tensor_of(op.results[0].type)
            found += (tensor.size() or 0) * numpy_dtype(tensor.dtype).itemsize
    return found


def onnx_bytes(func: FuncOp, warn: Warn | None = None) -> bytes:
    """A graph as the bytes of an `.onnx` file; raises CompileError for what ONNX cannot hold.

    `warn` is told which ops are not standard.
    """
    size = weight_bytes(func)
    if size > INLINE_LIMIT:
        raise CompileError(
            f"the weights have {size} bytes, expected at most {INLINE_LIMIT} in a stream; "
            "with -o FILE.onnx they stand beside it"
        )
    return told(Model(func), warn).data()


def told(model: Model, warn: Warn | None) -> Model:
    """The model; `warn` gets a line about the ops that no standard op stands for, and why."""
    if warn is not None and model.foreign:
        kinds = "; ".join(
            f"{kind} x {count} ({model.reasons[kind]})"
            for kind, count in sorted(model.foreign.items())
        )
        warn(
            f"{model.foreign.total()} ops have no standard form and are in domain {DOMAIN}: {kinds}"
        )
    return model


def write_onnx(func: FuncOp, path: Path, warn: Warn | None = None) -> Path | None:
    """Write an `.onnx` file, and beside it `<name>.data` for weights above `INLINE_LIMIT`.

    Both are replaced when complete, the weights first. Returns the path of the weights.
    """
    from ge_xdsl.exporters.files import is_replaceable, replacing, write_bytes

    if weight_bytes(func) <= INLINE_LIMIT or not is_replaceable(path):
        write_bytes(path, onnx_bytes(func, warn))
        return None
    data = path.with_name(f"{path.name}.data")
    model = told(Model(func, data.name), warn)
    with replacing(path) as file:
        file.write(model.data())
        with replacing(data) as weights:
            for block in model.blocks():
                weights.write(block)
    return data
