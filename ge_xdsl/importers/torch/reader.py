"""Exported programs and fx graphs -> IR: inputs, weights, calls and outputs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Region, SSAValue

from ge_xdsl.dialects.ge.names import INPUT_DIMS, INPUT_NAMES, OUTPUT_NAMES, set_string_list
from ge_xdsl.dialects.ge.types import DataType, Tensor
from ge_xdsl.errors import CompileError, Location
from ge_xdsl.importers.torch.builder import TorchBuilder
from ge_xdsl.importers.torch.call import Call, is_value, shape_of_fake
from ge_xdsl.importers.torch.fused import fused_decompositions
from ge_xdsl.importers.torch.symbols import SYMBOLIC, convert_symbolic
from ge_xdsl.importers.torch.table import converter_of
from ge_xdsl.importers.torch.values import array_of_tensor, dtype_of_torch, torch_module

CHECKS = frozenset(
    {
        "_assert_async", "_assert_scalar", "_assert_tensor_metadata", "sym_constrain_range",
        "sym_constrain_range_for_size",
    }
)  # fmt: skip
"""Operators that only check what export found; they give nothing."""


def import_exported(program: Any) -> ModuleOp:
    """The module of a `torch.export.ExportedProgram`, with a function `main`; no weight is copied.

    The program is decomposed to the core ATen operators. Graph inputs have the names of the
    arguments of `forward`; outputs are the tensors that it returns (None is left out), then the
    new values of buffers that it writes, under their names. Raises CompileError for an operator
    without a conversion.
    """
    table = torch_module().export.default_decompositions()
    table.update(fused_decompositions())
    program = program.run_decompositions(table)
    graph, signature = program.graph_module.graph, program.graph_signature
    nodes = {node.name: node for node in graph.nodes if node.op == "placeholder"}
    constants: dict[str, tuple[str, Any]] = {}
    for spec in signature.input_specs:
        if spec.target is None:
            continue
        tensor = program.state_dict.get(spec.target)
        if tensor is None:
            tensor = program.constants.get(spec.target)
        constants[spec.arg.name] = (spec.target, tensor)
    importer = GraphImporter(program.graph_module, constants)
    importer.add_inputs(nodes.values())
    importer.convert()
    results = importer.returned()
    user: list[tuple[str, Any]] = []
    states: list[tuple[str, Any]] = []
    for spec, result in zip(signature.output_specs, results, strict=True):
        if spec.kind.name == "USER_OUTPUT":
            user.append((getattr(spec.arg, "name", "") or "output", result))
        else:
            states.append((spec.target or spec.arg.name, result))
    return importer.finish([(n, v) for n, v in (*user, *states) if v is not None])


@dataclass
class ImportedGraph:
    """A module and how its inputs and outputs stand in those of the fx graph."""

    module: ModuleOp
    inputs: list[str | None]
    """For each placeholder the name of the graph input, None for one that nothing reads."""
    outputs: list[Any]
    """For each output the index of the graph's output as `Slot`, or the constant that it is."""


@dataclass(frozen=True)
class Slot:
    """An output of the graph; `fake` is what torch knows of it."""

    index: int
    fake: Any = field(compare=False)


def import_fx(graph_module: Any) -> ImportedGraph:
    """The module of an fx graph of core ATen operators whose nodes have fake values.

    Every placeholder that something reads becomes a graph input.
    """
    importer = GraphImporter(graph_module, {})
    placeholders = [n for n in graph_module.graph.nodes if n.op == "placeholder"]
    importer.add_inputs(placeholders)
    importer.convert()
    named: list[tuple[str, Any]] = []
    outputs: list[Any] = []
    sources = importer.output_nodes()
    for source, result in zip(sources, importer.returned(), strict=True):
        if is_value(result):
            outputs.append(Slot(len(named), source.meta.get("val")))
            named.append((source.name, result))
        else:
            outputs.append(result)
    module = importer.finish(named)
    names = [n.name if n.name in importer.input_names else None for n in placeholders]
    return ImportedGraph(module, names, outputs)


class GraphImporter:
    """Imports one fx graph; `constants` are the placeholders that stand for tensors."""

    def __init__(self, graph_module: Any, constants: Mapping[str, tuple[str, Any]]) -> None:
        self.graph_module = graph_module
        self.graph = graph_module.graph
        self.constants = constants
        self.block = Block()
        self.builder = TorchBuilder(self.block, Location("<torch>"))
        self.builder.names.update(node.name for node in self.graph.nodes)
        self.values: dict[Any, Any] = {}
        self.input_names: list[str] = []
        self.dims: list[str] = []

    def add_inputs(self, placeholders: Any) -> None:
        """A graph input for each placeholder that is a tensor or a size, a Const for a weight."""
        for node in placeholders:
            fake = node.meta.get("val")
            if node.name in self.constants:
                if node.users:
                    self.values[node] = self._weight(*self.constants[node.name])
            elif hasattr(fake, "dtype"):
                tensor = _at(node, lambda f=fake: Tensor(dtype_of_torch(f.dtype), shape_of_fake(f)))
                self._add_input(node, tensor, ", ".join(_dim_text(dim) for dim in fake.shape))
            elif fake is None or isinstance(fake, int | float | str):
                self.values[node] = fake
            else:
                self._add_input(node, Tensor(DataType.DT_INT64, ()), "")

    def _add_input(self, node: Any, tensor: Tensor, dims: str) -> None:
        self.values[node] = self.block.insert_arg(tensor.type, len(self.block.args))
        self.input_names.append(node.name)
        self.dims.append(dims)

    def _weight(self, name: str, tensor: Any) -> SSAValue:
        if tensor is None or not hasattr(tensor, "dtype"):
            raise CompileError(
                f"is {type(tensor).__name__}, expected a tensor", subject=f"constant '{name}'"
            )
        try:
            array = array_of_tensor(tensor)
        except CompileError as error:
            raise CompileError(error.message, subject=f"constant '{name}'") from None
        return self.builder.const(array, self.builder.unique(name))

    def convert(self) -> None:
        """Convert every call, in order."""
        for node in self.graph.nodes:
            if node.op == "call_function":
                self.values[node] = self._call(node)
            elif node.op == "get_attr":
                self.values[node] = self._attribute(node)
            elif node.op not in ("placeholder", "output"):
                raise CompileError(
                    "is no call of an operator, expected one", subject=f"{node.op} '{node.name}'"
                )

    def _attribute(self, node: Any) -> SSAValue:
        found = self.graph_module
        for part in node.target.split("."):
            found = getattr(found, part)
        return self._weight(node.target, found)

    def _call(self, node: Any) -> Any:
        if node.target in SYMBOLIC:
            call = Call(node, SYMBOLIC[node.target], {})
            self.builder.node = call
            return convert_symbolic(call, self.builder, [self._resolve(a) for a in node.args])
        schema = getattr(node.target, "_schema", None)
        op_type = str(node.target) if schema is not None else _name_of(node.target)
        call = Call(node, op_type, self._arguments(node, schema) if schema is not None else {})
        base = schema.name.split("::")[-1] if schema is not None else ""
        if base in CHECKS:
            return None
        converter = converter_of(base)
        if converter is None:
            call.fail("has no conversion, expected a core ATen operator that the importer knows")
        self.builder.node = call
        try:
            return self._settled(call, converter(call, self.builder))
        except CompileError as error:
            if error.subject:
                raise
            raise CompileError(error.message, subject=f"{op_type} '{node.name}'") from error

    def _settled(self, call: Call, found: SSAValue | Sequence[SSAValue | None]) -> Any:
        settle = self.builder.settle
        if isinstance(found, SSAValue):
            return settle(call, found, call.results[0])
        fakes = call.results
        return [
            None if value is None else settle(call, value, fake)
            for value, fake in zip(found, [*fakes, *[None] * len(found)], strict=False)
        ]

    def _arguments(self, node: Any, schema: Any) -> dict[str, Any]:
        """Arguments by the names of the operator's schema, defaults filled."""
        found: dict[str, Any] = {}
        for k, argument in enumerate(schema.arguments):
            if k < len(node.args):
                given = node.args[k]
            elif argument.name in node.kwargs:
                given = node.kwargs[argument.name]
            else:
                given = argument.default_value if argument.has_default_value() else None
            found[argument.name] = self._resolve(given)
        return found

    def _resolve(self, item: Any) -> Any:
        """An argument with values in place of nodes."""
        if isinstance(item, list | tuple):
            return [self._resolve(part) for part in cast("Sequence[Any]", item)]
        return self.values[item] if _is_node(item) else item

    def output_nodes(self) -> list[Any]:
        """What the graph returns, as nodes and constants."""
        (output,) = (node for node in self.graph.nodes if node.op == "output")
        return list(output.args[0])

    def returned(self) -> list[Any]:
        """What the graph returns, as values and constants."""
        return [self._resolve(item) for item in self.output_nodes()]

    def finish(self, outputs: Sequence[tuple[str, Any]]) -> ModuleOp:
        """The module with these outputs; numbers among them become Consts."""
        self.builder.node = None
        names: list[str] = []
        values: list[SSAValue] = []
        for name, value in outputs:
            names.append(name)
            values.append(value if is_value(value) else self._number(name, value))
        self.block.add_op(ReturnOp(*values))
        types = [arg.type for arg in self.block.args], [value.type for value in values]
        function = FuncOp("main", types, Region(self.block))
        set_string_list(function, INPUT_NAMES, self.input_names)
        set_string_list(function, OUTPUT_NAMES, names)
        if any(any(c.isalpha() for c in text) for text in self.dims):
            set_string_list(function, INPUT_DIMS, self.dims)
        return ModuleOp([function])

    def _number(self, name: str, value: Any) -> SSAValue:
        if not isinstance(value, int | float):
            raise CompileError(
                f"is {type(value).__name__}, expected a tensor", subject=f"output '{name}'"
            )
        import numpy as np

        return self.builder.const(np.array(value), self.builder.unique(name))


def _at(node: Any, make: Callable[[], Any]) -> Any:
    """`make()`, with the node named in its error."""
    try:
        return make()
    except CompileError as error:
        raise CompileError(error.message, subject=f"graph input '{node.name}'") from None


def _is_node(item: Any) -> bool:
    return hasattr(item, "op") and hasattr(item, "meta")


def _name_of(target: Any) -> str:
    return getattr(target, "__name__", str(target))


def _dim_text(dim: Any) -> str:
    text = str(dim)
    return text if text.isalnum() else "?"
