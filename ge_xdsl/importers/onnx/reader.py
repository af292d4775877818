"""`.onnx` -> IR: the file, its graph's inputs, weights, nodes and outputs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from xdsl.context import Context
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, i64
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Region

from ge_xdsl.dialects.ge.collect import paused
from ge_xdsl.dialects.ge.names import (
    INPUT_DIMS,
    INPUT_NAMES,
    METADATA,
    OUTPUT_NAMES,
    set_string_list,
)
from ge_xdsl.dialects.ge.text import GeContext
from ge_xdsl.dialects.ge.types import DYNAMIC
from ge_xdsl.errors import CompileError, Location
from ge_xdsl.importers.onnx.builder import Builder
from ge_xdsl.importers.onnx.functions import Functions, opsets_of
from ge_xdsl.importers.onnx.order import check_text
from ge_xdsl.importers.onnx.scope import Scope, refuse_name
from ge_xdsl.importers.onnx.tensors import (
    MAP_FROM,
    TensorReader,
    declared_tensor,
    dimension,
    read_file,
)
from ge_xdsl.importers.onnx.wire import split

if TYPE_CHECKING:
    from onnx import GraphProto, ModelProto, ValueInfoProto

OLDEST_OPSET = 7
"""The first opset whose arithmetic broadcasts as numpy does."""
NEWEST_OPSET = 28
"""The last opset whose changes the converters know."""

OPSET = "ge.onnx_opset"
"""Function attribute: the opset of the model that the graph was imported from."""

OTHER_DOMAINS = ("ai.onnx.ml", "ai.onnx.preview", "ai.onnx.preview.training")
"""The other domains of ONNX; a model may use one of them alone."""


def import_onnx(path: str | Path, ctx: Context | None = None) -> ModuleOp:
    """The module of an ONNX model, with a function `main`; no weight is copied.

    External data is read from the model's folder only. Raises CompileError for a file that is
    unreadable, ill-formed or uses what is not supported.
    """
    path = Path(path)
    return _import(read_file(path), str(path), path.parent, ctx)


def import_onnx_bytes(
    data: bytes, file: str = "<bytes>", folder: Path | None = None, ctx: Context | None = None
) -> ModuleOp:
    """As `import_onnx` for a model in memory; `folder` may hold its external data."""
    return _import(memoryview(data), file, folder, ctx)


def _import(data: memoryview, file: str, folder: Path | None, ctx: Context | None) -> ModuleOp:
    location = Location(file)
    try:
        with paused(len(data)):
            model, cut = _parse(data)
            weights = {index: data[start:end] for index, (start, end) in cut.items()}
            return GraphImporter(model, file, folder, weights, ctx).run()
    except CompileError as error:
        raise error.with_location(location) from error.__cause__


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
    """The opset of the main domain, 0 for a model that only uses another domain of ONNX.

    Raises CompileError when it is not supported.
    """
    versions = opsets_of(model.opset_import)
    opset = versions.get("")
    if opset is None:
        if any(domain in versions for domain in OTHER_DOMAINS):
            return 0
        raise CompileError("names no opset of ai.onnx, expected one")
    if not OLDEST_OPSET <= opset <= NEWEST_OPSET:
        raise CompileError(f"opset is {opset}, expected {OLDEST_OPSET} to {NEWEST_OPSET}")
    return opset


class GraphImporter:
    """Imports the main graph of one model."""

    def __init__(
        self,
        model: ModelProto,
        file: str,
        folder: Path | None,
        cut: dict[int, memoryview],
        ctx: Context | None = None,
    ) -> None:
        self.graph: GraphProto = model.graph
        self.metadata = [(entry.key, entry.value) for entry in model.metadata_props]
        self.opset = opset_of(model)
        self.cut = cut
        self.block = Block()
        self.builder = Builder(
            self.block,
            Location(file),
            TensorReader(file, folder),
            ctx if isinstance(ctx, GeContext) else GeContext(),
        )
        self.scope = Scope(self.builder, Functions(model), opsets_of(model.opset_import))

    def run(self) -> ModuleOp:
        graph, scope = self.graph, self.scope
        scope.note_initializers(graph, self.cut)
        inputs = [info for info in graph.input if info.name not in scope.initializers]
        scope.declared = {info.name: info for info in (*graph.value_info, *graph.output)}
        dims = [self._add_input(info) for info in inputs]
        scope.convert_all(graph.node)
        self.builder.node = None
        outputs = [scope.output(info.name) for info in graph.output]
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
        if self.metadata:
            words = [word for pair in self.metadata for word in pair]
            check_text(*words)
            set_string_list(function, METADATA, words)
        return ModuleOp([function])

    def _add_input(self, info: ValueInfoProto) -> str:
        """Add a graph input; its dimensions as text, symbolic names included."""
        check_text(info.name, *(dim.dim_param for dim in info.type.tensor_type.shape.dim))
        if not info.name or info.name in self.scope.values:
            refuse_name(info.name, "input")
        subject = f"graph input '{info.name}'"
        try:
            tensor = declared_tensor(info)
        except ValueError as error:
            raise CompileError(str(error), subject=subject) from None
        if tensor is None:
            raise CompileError("has no type, expected a tensor type", subject=subject)
        argument = self.block.insert_arg(tensor.type, len(self.block.args))
        self.scope.values[info.name] = argument
        self.builder.names.add(info.name)
        return ", ".join(_dim_text(dim) for dim in info.type.tensor_type.shape.dim)


def _dim_text(dim: Any) -> str:
    if dim.dim_param:
        return dim.dim_param
    found = dimension(dim)
    return "?" if found == DYNAMIC else str(found)
