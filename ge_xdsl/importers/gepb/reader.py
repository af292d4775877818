"""`ge.proto.ModelDef` -> IR. Data nodes become inputs, NetOutput the outputs, subgraphs regions."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from xdsl.context import Context
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, FunctionType, ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.utils.exceptions import VerifyException

from ge_xdsl.dialects.ge import nodes
from ge_xdsl.dialects.ge.data import ConstOp, ControlEdgeOp, YieldOp
from ge_xdsl.dialects.ge.gepb import GepbError, Message, decode
from ge_xdsl.dialects.ge.gepb_text import parse
from ge_xdsl.dialects.ge.names import INPUT_NAMES
from ge_xdsl.dialects.ge.op import CONSTANT_TYPES, NAME, GeOp, extra_key
from ge_xdsl.dialects.ge.prototype import Io, Prototype, encode
from ge_xdsl.dialects.ge.registry import op_class, unknown_op
from ge_xdsl.dialects.ge.store import open_regular
from ge_xdsl.dialects.ge.types import Tensor, tensor_of
from ge_xdsl.dialects.ge.weights import const_attr, tensor_of_const
from ge_xdsl.errors import CompileError, Location
from ge_xdsl.importers.gepb.files import PLACE, WeightFiles, place_of
from ge_xdsl.importers.gepb.values import (
    attribute,
    tensor_of_descriptor,
    text,
    undeclared,
)

DEPTH_LIMIT = 32
"""Most subgraphs inside each other."""

_DECLARATION = ("_ir_", "_input_name_", "_output_name_", "_opt_input", "_src_out_peer_index")
"""Attributes that repeat the prototype or that only GE's own reader needs."""


def import_air(path: Path | None, ctx: Context | None = None) -> ModuleOp:
    """The module of an `.air` file, or of standard input; raises CompileError."""
    file, data = _read(path)
    try:
        return module_of_model(decode("ModelDef", data), file)
    except GepbError as error:
        raise CompileError(str(error), location=Location(file)) from None


def import_proto_text(path: Path | None, ctx: Context | None = None) -> ModuleOp:
    """The module of a `ge_proto` or `ge_onnx` dump, or of standard input; raises CompileError.

    What the text begins with tells which of the two it is.
    """
    from ge_xdsl.importers.gepb.viewer import is_viewer_text, model_of_text
    from ge_xdsl.importers.mlir import decoded

    file, data = _read(path)
    text = decoded(data, file)
    try:
        model = model_of_text(text) if is_viewer_text(text) else parse("ModelDef", text)
        return module_of_model(model, file)
    except GepbError as error:
        raise CompileError(str(error), location=Location(file)) from None


def _read(path: Path | None) -> tuple[str, bytes]:
    if path is None:
        from ge_xdsl.importers import stdin_bytes

        return "<stdin>", stdin_bytes()
    with open_regular(path) as file:
        return str(path), file.read()


def module_of_model(model: Message, file: str) -> ModuleOp:
    """The module with the root graph of a model; raises CompileError."""
    return ModuleOp([function_of_model(model, file)])


def function_of_model(model: Message, file: str) -> FuncOp:
    """The root graph of a model as a function, its subgraphs as regions; raises CompileError."""
    graphs: Sequence[Message] = model.get("graph")
    if not graphs:
        raise CompileError("model has no graph, expected one", location=Location(file))
    by_name: dict[str, Message] = {graph.get("name"): graph for graph in graphs[1:]}
    builder = _Model(by_name, file)
    block = builder.block(graphs[0], 0)
    name = graphs[0].get("name") or "graph"
    last = block.last_op
    assert last is not None
    signature = FunctionType.from_lists(
        [arg.type for arg in block.args], [value.type for value in last.operands]
    )
    func = FuncOp.create(
        properties={"sym_name": StringAttr(name), "function_type": signature},
        attributes=builder.extras(graphs[0], f"graph '{name}'"),
        regions=[Region(block)],
    )
    builder.describe_inputs(block, graphs[0])
    return func


class _Model:
    """Builds the graphs of one model."""

    def __init__(self, graphs: dict[str, Message], file: str) -> None:
        self.graphs = graphs
        self.file = file
        self.used: set[str] = set()
        self.files = WeightFiles(file)

    def fail(self, subject: str, message: str) -> CompileError:
        return CompileError(message, subject=subject, location=Location(self.file))

    def block(self, graph: Message, depth: int) -> Block:
        """The body of a graph; its terminator returns, or yields in a subgraph."""
        return _Graph(self, graph, depth).build()

    def region(self, name: str, node: str, depth: int) -> Region:
        """The body of the subgraph of that name."""
        graph = self.graphs.get(name)
        if graph is None or name in self.used or depth > DEPTH_LIMIT:
            what = "is used twice" if graph is not None else "is not in the model"
            raise self.fail(f"node '{node}'", f"subgraph '{name}' {what}, expected one of its own")
        self.used.add(name)
        return Region(self.block(graph, depth))

    def extras(self, holder: Message, subject: str) -> dict[str, Attribute]:
        """The attributes that no prototype declares."""
        found: dict[str, Attribute] = {}
        for key, value in holder.get("attr").items():
            if key.startswith(_DECLARATION) or key in ("index", "_parent_node_index"):
                continue
            try:
                found[extra_key(key)] = undeclared(value, f"{subject}.{key}")
            except ValueError as error:
                raise self.fail(subject, f"attribute '{key}' {error}") from None
        return found

    def describe_inputs(self, block: Block, graph: Message) -> None:
        """Keep the names, types and attributes of a graph's inputs."""
        data = data_nodes(graph)
        names = [node.get("name") for node in data]
        if names != [f"input_{i}" for i in range(len(names))]:
            nodes.set_argument_strings(block, INPUT_NAMES, names)
        types = [node.get("type") for node in data]
        if any(kind != "Data" for kind in types):
            nodes.set_argument_strings(block, nodes.INPUT_TYPES, types)
        func = block.parent_op()
        extras = [self.extras(node, f"node '{node.get('name')}'") for node in data]
        if isinstance(func, FuncOp) and any(extras):
            func.arg_attrs = ArrayAttr([DictionaryAttr(entries) for entries in extras])


def data_nodes(graph: Message) -> list[Message]:
    """The inputs of a graph in the order of their indices."""
    found = [op for op in graph.get("op") if op.get("type") in nodes.DATA_TYPES]
    return sorted(found, key=_input_index)


def _input_index(node: Message) -> int:
    attrs = node.get("attr")
    index = attrs.get("_parent_node_index") or attrs.get("index")
    return 0 if index is None else index.get("i")


class _Graph:
    """Builds one graph."""

    def __init__(self, model: _Model, graph: Message, depth: int) -> None:
        self.model = model
        self.depth = depth
        self.ops: list[Message] = graph.get("op")
        self.graph = graph
        self.values: dict[str, Sequence[SSAValue]] = {}
        names = Counter(op.get("name") for op in self.ops)
        twice = [name for name, count in names.items() if count > 1]
        if twice:
            raise self.fail(twice[0], f"{names[twice[0]]} nodes have this name, expected one")

    def fail(self, node: str, message: str) -> CompileError:
        return self.model.fail(f"node '{node}'", message)

    def build(self) -> Block:
        data = data_nodes(self.graph)
        block = Block(arg_types=[self.types(node, "output_desc")[0].type for node in data])
        for node, arg in zip(data, block.args, strict=True):
            self.values[node.get("name")] = [arg]
        inner = [op for op in self.ops if op.get("type") not in (*nodes.DATA_TYPES, "NetOutput")]
        made: list[tuple[Message, GeOp]] = []
        for node in self.ordered(inner):
            op = self.op(node)
            block.add_op(op)
            self.values[node.get("name")] = op.results
            made.append((node, op))
        for node, op in made:
            self.control_edges(block, node, op)
        block.add_op(self.terminator())
        return block

    def types(self, node: Message, side: str) -> list[Tensor]:
        descs = node.get(side)
        if not descs and node.get("type") in nodes.DATA_TYPES:
            raise self.fail(node.get("name"), "has no output description, expected one")
        try:
            return [tensor_of_descriptor(desc) for desc in descs]
        except ValueError as error:
            raise self.fail(node.get("name"), str(error)) from None

    # Edges

    def entries(self, node: Message) -> tuple[list[tuple[str, int] | None], list[str]]:
        """What each data input reads, None for an open one, and the control sources."""
        data: list[tuple[str, int] | None] = []
        control: list[str] = []
        for entry in node.get("input"):
            name, _, index = entry.rpartition(":")
            if not entry:
                data.append(None)
            elif not name or not index.lstrip("-").isascii() or not index.lstrip("-").isdigit():
                raise self.fail(node.get("name"), f"input is '{entry}', expected <node>:<index>")
            elif int(index) < 0:
                control.append(name)
            else:
                data.append((name, int(index)))
        return data, control

    def ordered(self, ops: list[Message]) -> list[Message]:
        """The nodes in dependency order, near that of the file; a cycle is an error."""
        place = {op.get("name"): i for i, op in enumerate(ops)}
        readers: dict[str, list[int]] = {}
        waiting: list[int] = []
        for i, op in enumerate(ops):
            sources = {entry[0] for entry in self.entries(op)[0] if entry is not None}
            inner = [name for name in sources if name in place]
            for name in inner:
                readers.setdefault(name, []).append(i)
            waiting.append(len(inner))
        ready = [i for i, count in enumerate(waiting) if not count]
        order: list[Message] = []
        while ready:
            op = ops[heapq.heappop(ready)]
            order.append(op)
            for i in readers.get(op.get("name"), ()):
                waiting[i] -= 1
                if not waiting[i]:
                    heapq.heappush(ready, i)
        if len(order) < len(ops):
            stuck = next(op for op, count in zip(ops, waiting, strict=True) if count)
            raise self.fail(stuck.get("name"), "depends on itself, expected a graph without cycles")
        return order

    def value(self, node: str, entry: tuple[str, int]) -> SSAValue:
        found = self.values.get(entry[0], ())
        if entry[1] >= len(found):
            what = f"{entry[0]}:{entry[1]}"
            raise self.fail(node, f"reads '{what}', expected an output of a node of the graph")
        return found[entry[1]]

    def control_edges(self, block: Block, node: Message, op: GeOp) -> None:
        for name in self.entries(node)[1]:
            source = self.values.get(name, ())
            if not source or not op.results:
                what = f"control edge from '{name}'"
                raise self.fail(node.get("name"), f"{what}, expected two nodes with outputs")
            block.add_op(ControlEdgeOp.build(source[0], op.results[0]))

    def terminator(self) -> Operation:
        last = next((op for op in self.ops if op.get("type") == "NetOutput"), None)
        found: list[SSAValue] = []
        if last is not None:
            name = last.get("name")
            for entry in self.entries(last)[0]:
                if entry is None:
                    raise self.fail(name, "has an input without a source, expected one")
                found.append(self.value(name, entry))
        if self.depth:
            return YieldOp.build(found)
        made = ReturnOp.create(operands=found)
        if last is not None and (last.get("name") != "NetOutput" or not found):
            made.attributes[NAME] = StringAttr(last.get("name"))
        return made

    # Nodes

    def op(self, node: Message) -> GeOp:
        name, op_type = node.get("name"), node.get("type")
        if op_type == "FileConstant" and (made := self.file_constant(node)) is not None:
            return made
        cls = op_class(op_type)
        if cls is None:
            raise self.fail(name, " ".join(unknown_op(f"ge.{op_type}")))
        proto = cls.prototype
        counts = self.counts(node, proto.outputs, "output", len(node.get("output_desc")))
        attrs = self.attrs(node, proto)
        types: list[Attribute] = [t.type for t in self.types(node, "output_desc")]
        if op_type in CONSTANT_TYPES and "value" in attrs:
            types = [_constant_type(attrs["value"], types)]
        names = [str(graph) for graph in node.get("subgraph_name")]
        regions = [self.model.region(graph, name, self.depth + 1) for graph in names]
        dynamic = [n for n, io in zip(counts, proto.outputs, strict=True) if io.kind == "dynamic"]
        try:
            made = cls.build(
                *self.inputs(node, proto),
                result_types=types,
                result_counts=dynamic,
                regions=regions,
                node_name=name,
                **attrs,
            )
            if (given := len(nodes.outputs(made))) != sum(counts):
                raise ValueError(f"has {given} outputs, expected {sum(counts)}")
        except (ValueError, VerifyException, IndexError) as error:
            raise self.fail(name, str(error).removeprefix(f"ge.{op_type}: ")) from None
        made.attributes.update(self.undeclared(node, proto))
        made.attributes.update(self.port_extras(node))
        self.subgraphs(made, names)
        return made

    def file_constant(self, node: Message) -> GeOp | None:
        """A Const whose values are a view of the file that a FileConstant names; None for one that
        names no file."""
        try:
            place = place_of(node)
            if place is None:
                return None
            array, tensor = self.model.files.array(place, self.types(node, "output_desc"))
        except ValueError as error:
            raise self.fail(node.get("name"), str(error)) from None
        made = ConstOp.create(
            result_types=(tensor.type,),
            properties={"value": const_attr(array, node.get("name"), tensor.dtype)},
            attributes={NAME: StringAttr(node.get("name"))},
        )
        rest = {k: v for k, v in node.get("attr").items() if k not in PLACE}
        holder = Message("OpDef", {"attr": rest})
        made.attributes.update(self.model.extras(holder, f"node '{node.get('name')}'"))
        return made

    def subgraphs(self, made: GeOp, names: list[str]) -> None:
        if not names:
            return
        made.attributes[nodes.SUBGRAPH_NAMES] = encode("ListString", names)
        for graph, region in zip(names, made.regions, strict=True):
            self.model.describe_inputs(region.block, self.model.graphs[graph])

    def attrs(self, node: Message, proto: Prototype) -> dict[str, Attribute]:
        found: dict[str, Attribute] = {}
        for spec in proto.attrs:
            value = node.get("attr").get(spec.name)
            if value is None:
                continue
            try:
                found[spec.name] = attribute(value, spec.kind, node.get("name"))
            except ValueError as error:
                message = f"attribute '{spec.name}' {error}"
                raise self.fail(node.get("name"), message) from None
        return found

    def undeclared(self, node: Message, proto: Prototype) -> dict[str, Attribute]:
        rest = {k: v for k, v in node.get("attr").items() if k not in proto.attr_by_name}
        return self.model.extras(Message("OpDef", {"attr": rest}), f"node '{node.get('name')}'")

    def port_extras(self, node: Message) -> dict[str, Attribute]:
        """The attributes of the descriptions of a node's ports, under the node's keys for them."""
        named = {
            f"ge.{side}_attr.{index}.{key}": value
            for side in ("input", "output")
            for index, desc in enumerate(node.get(f"{side}_desc"))
            for key, value in port_attrs(desc).items()
        }
        holder = Message("OpDef", {"attr": named})
        return self.model.extras(holder, f"node '{node.get('name')}'") if named else {}

    def inputs(self, node: Message, proto: Prototype) -> list[SSAValue | list[SSAValue] | None]:
        """One entry per declared input."""
        name = node.get("name")
        entries = self.entries(node)[0]
        counts = self.counts(node, proto.inputs, "input", len(entries))
        found: list[SSAValue | list[SSAValue] | None] = []
        start = 0
        for io, count in zip(proto.inputs, counts, strict=True):
            part = [self.value(name, e) for e in entries[start : start + count] if e is not None]
            start += count
            if io.kind == "dynamic":
                found.append(part)
            else:
                found.append(part[0] if part else None)
        if start < len(entries):
            raise self.fail(name, f"has {len(entries)} inputs, expected {start}")
        return found

    def counts(self, node: Message, ios: Sequence[Io], side: str, total: int) -> list[int]:
        """How many ports each declared input or output has."""
        loose = [io for io in ios if io.kind == "dynamic"]
        if len(loose) < 2:
            left = max(total - (len(ios) - len(loose)), 0)
            return [left if io.kind == "dynamic" else 1 for io in ios]
        listed = node.get("attr").get(f"_{side}_name_key")
        given = None if listed is None else listed.get("list")
        keys: Sequence[bytes] = () if given is None else given.get("s")
        known = Counter(_port_owner(text(key), ios) for key in keys)
        return [known[io.name] if io.kind == "dynamic" else 1 for io in ios]


def port_attrs(desc: Message) -> dict[str, Message]:
    """The attributes of a description that are not part of its type."""
    attrs: dict[str, Message] = desc.get("attr")
    return {key: value for key, value in attrs.items() if key not in _TYPE_ATTRS}


_TYPE_ATTRS = frozenset(
    {
        "format_for_int",
        "origin_data_type",
        "origin_format",
        "origin_format_for_int",
        "origin_shape",
        "origin_shape_initialized",
    }
)


def _port_owner(port: str, ios: Sequence[Io]) -> str:
    """The declared input or output that a port name such as `x0` belongs to."""
    if any(io.name == port and io.kind != "dynamic" for io in ios):
        return port
    return port.rstrip("0123456789")


def _constant_type(value: Attribute, types: Sequence[Attribute]) -> Attribute:
    """The type of a constant: the description's when it is that of the values."""
    own = tensor_of_const(value)
    assert own is not None
    if types:
        given = tensor_of(types[0])
        if (given.dtype, given.shape) == (own.dtype, own.shape):
            return types[0]
    return own.type
