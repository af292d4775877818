"""`.onnx` -> IR: the file, its graph's inputs, weights, nodes and outputs."""

from __future__ import annotations

import gc
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from xdsl.context import Context
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, i64
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Region, SSAValue

from ge_xdsl.dialects.ge.names import INPUT_NAMES, OUTPUT_NAMES, set_string_list
from ge_xdsl.dialects.ge.op import set_type
from ge_xdsl.dialects.ge.types import DYNAMIC, DataType, Tensor, compatible, tensor_of
from ge_xdsl.errors import CompileError, Location, nearest
from ge_xdsl.importers.onnx.builder import Builder
from ge_xdsl.importers.onnx.node import Node
from ge_xdsl.importers.onnx.order import check_text, in_order
from ge_xdsl.importers.onnx.table import CONVERTERS, converter_of
from ge_xdsl.importers.onnx.tensors import (
    MAP_FROM,
    TensorReader,
    element_count,
    element_type,
    read_file,
)
from ge_xdsl.importers.onnx.wire import split

if TYPE_CHECKING:
    from onnx import GraphProto, ModelProto, NodeProto, TensorProto, ValueInfoProto

OLDEST_OPSET = 7
"""The first opset whose arithmetic broadcasts as numpy does."""
NEWEST_OPSET = 28
"""The last opset whose changes the converters know."""

INPUT_DIMS = "ge.input_dims"
"""Function attribute: the dimensions of each graph input with their symbolic names."""
OPSET = "ge.onnx_opset"
"""Function attribute: the opset of the model that the graph was imported from."""

_MAIN_DOMAIN = ("", "ai.onnx")


def import_onnx(path: str | Path, ctx: Context | None = None) -> ModuleOp:
    """The module of an ONNX model, with a function `main`; no weight is copied.

    External data is read from the model's folder only. Raises CompileError for a file that is
    unreadable, ill-formed or uses what is not supported.
    """
    path = Path(path)
    return _import(read_file(path), str(path), path.parent)


def import_onnx_bytes(
    data: bytes, file: str = "<bytes>", folder: Path | None = None, ctx: Context | None = None
) -> ModuleOp:
    """As `import_onnx` for a model in memory; `folder` may hold its external data."""
    return _import(memoryview(data), file, folder)


def _import(data: memoryview, file: str, folder: Path | None) -> ModuleOp:
    location = Location(file)
    try:
        model, cut = _parse(data)
        weights = {index: data[start:end] for index, (start, end) in cut.items()}
        with _paused_collection():
            return GraphImporter(model, file, folder, weights).run()
    except CompileError as error:
        raise error.with_location(location) from error.__cause__


@contextmanager
def _paused_collection() -> Generator[None]:
    """Cyclic garbage collection off: an import only makes objects that stay, which the collector
    would walk again and again (a third of the time of a large graph)."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _parse(data: memoryview) -> tuple[ModelProto, dict[int, tuple[int, int]]]:
    try:
        from onnx import ModelProto
    except ImportError:
        raise CompileError(
            "reading ONNX needs the onnx package, expected: pip install ge-xdsl[onnx]"
        ) from None
    from google.protobuf.message import DecodeError

    body, cut = split(data) if len(data) >= MAP_FROM else (bytes(data), {})
    model = ModelProto()
    try:
        model.ParseFromString(body)
    except (DecodeError, ValueError, RuntimeError):
        raise CompileError("is no ONNX model, expected a serialized ModelProto") from None
    if not model.HasField("graph"):
        raise CompileError("has no graph, expected an ONNX model with one")
    return model, cut


def opset_of(model: ModelProto) -> int:
    """The opset of the main domain; raises CompileError when it is not supported."""
    versions = [entry.version for entry in model.opset_import if entry.domain in _MAIN_DOMAIN]
    opset = max(versions, default=0)
    if not versions:
        raise CompileError("names no opset of ai.onnx, expected one")
    if not OLDEST_OPSET <= opset <= NEWEST_OPSET:
        raise CompileError(f"opset is {opset}, expected {OLDEST_OPSET} to {NEWEST_OPSET}")
    return opset


class GraphImporter:
    """Imports one model: `values` maps ONNX value names to IR values."""

    def __init__(
        self, model: ModelProto, file: str, folder: Path | None, cut: dict[int, memoryview]
    ) -> None:
        self.graph: GraphProto = model.graph
        self.opset = opset_of(model)
        self.cut = cut
        self.block = Block()
        self.builder = Builder(self.block, Location(file), TensorReader(file, folder))
        self.values: dict[str, SSAValue] = {}
        self.initializers: dict[str, tuple[int, TensorProto]] = {}
        self.declared: dict[str, ValueInfoProto] = {}

    def run(self) -> ModuleOp:
        graph = self.graph
        self._note_initializers()
        inputs = [info for info in graph.input if info.name not in self.initializers]
        self.declared = {info.name: info for info in (*graph.value_info, *graph.output)}
        dims = [self._add_input(info) for info in inputs]
        nodes = in_order(graph.node, {*self.values, *self.initializers})
        for name, proto in self._named(nodes):
            self._convert(name, proto)
        self.builder.node = None
        check_text(*(info.name for info in graph.output))
        outputs = [self._output(info) for info in graph.output]
        self.block.add_op(ReturnOp(*outputs))
        function = FuncOp(
            "main",
            ([arg.type for arg in self.block.args], [value.type for value in outputs]),
            Region(self.block),
        )
        set_string_list(function, INPUT_NAMES, [info.name for info in inputs])
        set_string_list(function, OUTPUT_NAMES, [info.name for info in graph.output])
        if any(any(c.isalpha() for c in text) for text in dims):
            set_string_list(function, INPUT_DIMS, dims)
        function.attributes[OPSET] = IntegerAttr(self.opset, i64)
        return ModuleOp([function])

    # Weights and graph inputs

    def _note_initializers(self) -> None:
        graph = self.graph
        if graph.sparse_initializer:
            raise CompileError("has sparse initializers, expected dense ones")
        for index, tensor in enumerate(graph.initializer):
            check_text(tensor.name)
            if not tensor.name or tensor.name in self.initializers:
                self._refuse_name(tensor.name, "initializer")
            self.initializers[tensor.name] = (index, tensor)

    def _refuse_name(self, name: str, what: str) -> NoReturn:
        if not name:
            raise CompileError(f"an {what} has no name, expected one")
        raise CompileError(f"the name '{name}' is given to two values, expected unique names")

    def _add_input(self, info: ValueInfoProto) -> str:
        """Add a graph input; its dimensions as text, symbolic names included."""
        check_text(info.name, *(dim.dim_param for dim in info.type.tensor_type.shape.dim))
        if not info.name or info.name in self.values:
            self._refuse_name(info.name, "input")
        subject = f"graph input '{info.name}'"
        try:
            tensor = declared_tensor(info)
        except ValueError as error:
            raise CompileError(str(error), subject=subject) from None
        if tensor is None:
            raise CompileError("has no type, expected a tensor type", subject=subject)
        self.values[info.name] = self.block.insert_arg(tensor.type, len(self.block.args))
        self.builder.names.add(info.name)
        return ", ".join(_dim_text(dim) for dim in info.type.tensor_type.shape.dim)

    def _value(self, name: str) -> SSAValue | None:
        """The value of a name; an initializer becomes a Const where it is first read."""
        found = self.values.get(name)
        if found is None and (entry := self.initializers.get(name)) is not None:
            index, tensor = entry
            try:
                array = self.builder.reader.array(tensor, self.cut.get(index))
            except ValueError as error:
                raise CompileError(str(error), subject=f"initializer '{name}'") from None
            found = self.values[name] = self.builder.const(array, self.builder.unique(name))
        return found

    # Nodes

    def _named(self, nodes: Sequence[NodeProto]) -> list[tuple[str, NodeProto]]:
        """Each node with its name; a nameless node and a Constant have that of their first output.

        Names are taken before any initializer is, so that a node keeps its own.
        """
        unique = self.builder.unique
        found: list[tuple[str, NodeProto]] = []
        given: set[str] = set()
        for proto in nodes:
            check_text(proto.name, proto.op_type)
            if proto.name in given:
                raise CompileError(
                    f"the name '{proto.name}' is given to two nodes, expected unique names"
                )
            if proto.name:
                given.add(proto.name)
            name = "" if proto.op_type == "Constant" else proto.name
            name = name or next((out for out in proto.output if out), proto.op_type)
            found.append((unique(name), proto))
        return found

    def _convert(self, name: str, proto: NodeProto) -> None:
        outputs = list(proto.output)
        node = self.builder.node = Node(proto, name, self.opset, outputs)
        if proto.domain not in _MAIN_DOMAIN or proto.op_type not in CONVERTERS:
            _refuse_op(node, proto.domain)
        for value in proto.input:
            found = self._value(value) if value else None
            if found is None and value:
                node.fail(
                    f"input '{value}' is not defined, expected a graph input, an initializer "
                    "or an output of another node"
                )
            node.inputs.append(found)
        results = converter_of(proto.op_type)(node, self.builder)
        if node.attrs:
            node.finish()
        values = (results,) if isinstance(results, SSAValue) else results
        node.only_outputs(len(values))
        for output, value in zip(outputs, values, strict=False):
            if output:
                self._define(output, value)

    def _define(self, name: str, value: SSAValue) -> None:
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

    def _output(self, info: ValueInfoProto) -> SSAValue:
        found = self._value(info.name)
        if found is None:
            raise CompileError(
                "is not defined, expected the output of a node",
                subject=f"graph output '{info.name}'",
            )
        return found


def _refuse_op(node: Node, domain: str) -> NoReturn:
    if domain not in _MAIN_DOMAIN:
        node.fail(f"the domain '{domain}' is not supported, expected an op of ai.onnx")
    hint = nearest(node.op_type, sorted(CONVERTERS))
    node.fail(f"the op is not supported, expected one of the {len(CONVERTERS)} that are{hint}")


def declared_tensor(info: ValueInfoProto) -> Tensor | None:
    """The tensor type that a model declares, None when it declares none.

    A dimension that is absent, symbolic or -1 is unknown. Raises ValueError for types that are no
    tensors or have hostile dimensions.
    """
    kind = info.type.WhichOneof("value")
    if kind is None:
        return None
    if kind != "tensor_type":
        raise ValueError(f"is a {kind.removesuffix('_type')}, expected a tensor")
    declared = info.type.tensor_type
    if not declared.elem_type:
        return None
    dtype = element_type(declared.elem_type)
    if not declared.HasField("shape"):
        return Tensor(dtype, None)
    dims = [_dim(dim) for dim in declared.shape.dim]
    element_count([dim for dim in dims if dim != DYNAMIC])
    return Tensor(dtype, tuple(dims))


def _dim(dim: Any) -> int:
    if not dim.HasField("dim_value") or dim.dim_value == -1:
        return DYNAMIC
    return -2 if dim.dim_value == DYNAMIC else dim.dim_value


def _dim_text(dim: Any) -> str:
    if dim.dim_param:
        return dim.dim_param
    found = _dim(dim)
    return "?" if found == DYNAMIC else str(found)
