"""`ge.session`: compiling graphs with the registered passes and running them, without a device."""

# The API names its own internals with underscores; this package shares them.
# pyright: reportPrivateUsage=false

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

from xdsl.dialects.func import FuncOp

from ge_xdsl.compat.ge._engine import compiled, needs_device, string_options
from ge_xdsl.compat.ge.allocator import Allocator
from ge_xdsl.compat.ge.error import GeError, note_error, raise_ge_error
from ge_xdsl.compat.ge.graph.graph import Graph
from ge_xdsl.compat.ge.graph.tensor import Tensor
from ge_xdsl.compat.ge.graph.tensor_desc import NotCopyable
from ge_xdsl.dialects.ge.names import input_names
from ge_xdsl.errors import CompileError

__all__ = ["GeError", "Session"]


@dataclass
class _Added:
    graph: Graph
    options: dict[str, str]
    func: FuncOp | None = None
    """The compiled graph; made when it is first run."""


class Session(NotCopyable):
    """Graphs by number. A graph is compiled when it is first run; `run_graph` runs it in numpy."""

    def __init__(self, options: dict[str, str] | None = None) -> None:
        given = {} if options is None else options
        self._options = string_options(given, "option must be a dictionary")
        self._graphs: dict[int, _Added] = {}

    def add_graph(
        self, graph_id: int, add_graph: Graph, options: dict[str, str] | None = None
    ) -> int:
        """Add a graph under a new number; 0. Raises GeError for a number that is taken."""
        _check_int(graph_id, "Graph_id must be an integer")
        if not isinstance(cast("object", add_graph), Graph):
            raise TypeError("Add_graph must be a Graph")
        own = string_options({} if options is None else options, "options must be a dictionary")
        if graph_id in self._graphs:
            note_error("the graph id is taken, expected a new one")
            raise_ge_error("AddGraph", graph_id=graph_id)
        self._graphs[graph_id] = _Added(add_graph, {**self._options, **own})
        return 0

    def remove_graph(self, graph_id: int) -> int:
        """Forget a graph; 0. Raises GeError for an unknown number."""
        _check_int(graph_id, "Graph_id must be an integer")
        self._added(graph_id, "RemoveGraph")
        del self._graphs[graph_id]
        return 0

    def run_graph(self, graph_id: int, inputs: list[Tensor]) -> list[Tensor]:
        """The outputs of a graph for one tensor per input, in order of the input indices.

        The first run compiles the graph with the registered passes. Raises GeError when the
        compile fails and for tensors that do not fit.
        """
        _check_int(graph_id, "Graph_id must be an integer")
        _check_inputs(inputs)
        added = self._added(graph_id, "RunGraph")
        if added.func is None:
            added.func = compiled(added.graph, added.options, "RunGraph", {"graph_id": graph_id})
        return _run(added.func, inputs, graph_id)

    def run_graph_with_stream_async(
        self, graph_id: int, stream: int, inputs: list[Tensor]
    ) -> list[Tensor]:
        """Raises GeError: streams are a device's."""
        _check_int(graph_id, "Graph_id must be an integer")
        _check_int(stream, "Stream must be an integer")
        _check_inputs(inputs)
        needs_device("RunGraphWithStreamAsync")

    def register_external_allocator(self, stream: int, allocator: Allocator) -> int:
        """Raises GeError: streams are a device's."""
        _check_int(stream, "stream must be an integer")
        if not isinstance(cast("object", allocator), Allocator):
            raise TypeError("allocator must be an Allocator instance")
        needs_device("RegisterExternalAllocator")

    def unregister_external_allocator(self, stream: int) -> int:
        """Raises GeError: streams are a device's."""
        _check_int(stream, "stream must be an integer")
        needs_device("UnregisterExternalAllocator")

    def _added(self, graph_id: int, api_name: str) -> _Added:
        found = self._graphs.get(graph_id)
        if found is None:
            note_error("no graph has this id, expected one that was added")
            raise_ge_error(api_name, graph_id=graph_id)
        return found


def _check_int(value: object, message: str) -> None:
    if not isinstance(value, int):
        raise TypeError(message)


def _check_inputs(inputs: object) -> None:
    if not isinstance(inputs, list):
        raise TypeError("inputs must be a list of Tensor")
    if not all(isinstance(item, Tensor) for item in cast("list[Any]", inputs)):
        raise TypeError("All elements in inputs must be the type of Tensor")


def _run(func: FuncOp, inputs: list[Tensor], graph_id: int) -> list[Tensor]:
    from ge_xdsl.interpreters.ge import run_function

    names = input_names(func)
    try:
        if len(inputs) != len(names):
            raise CompileError(f"{len(inputs)} inputs are given, expected {len(names)}")
        arrays = {name: _array(name, item) for name, item in zip(names, inputs, strict=True)}
        found = run_function(func, arrays)
    except CompileError as error:
        note_error(error.render())
        raise_ge_error("RunGraph", graph_id=graph_id)
    return [Tensor._create_from(array) for array in found]


def _array(name: str, tensor: Tensor) -> Any:
    array = tensor._values()
    if array is None:
        raise CompileError("tensor has no data, expected values", subject=f"graph input '{name}'")
    return array
