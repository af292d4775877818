"""`ge.offline_compile`: compiling a graph to a file.

GE writes `.om` files, which only its own runtime reads. Here a model is the optimised graph in
GE's serialized form, and `save_model` writes it as `.air`.
"""

# The API names its own internals with underscores; this package shares them.
# pyright: reportPrivateUsage=false

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn, cast

from ge_xdsl.compat.ge._engine import acquire, compiled, needs_device, release, string_options
from ge_xdsl.compat.ge.error import note_error, raise_ge_error
from ge_xdsl.compat.ge.graph.graph import Graph
from ge_xdsl.compat.ge.graph.tensor_desc import NotCopyable
from ge_xdsl.errors import CompileError

__all__ = [
    "GraphWithOptions",
    "ModelBuffer",
    "build_finalize",
    "build_initialize",
    "build_model",
    "bundle_build_model",
    "bundle_save_model",
    "save_model",
]

ENDING = ".air"


@dataclass
class GraphWithOptions:
    """A graph of a bundle and its build options."""

    graph: Graph
    build_options: dict[str, str] = field(default_factory=dict[str, str])


class ModelBuffer(NotCopyable):
    """A compiled model: the bytes of its serialized graph."""

    _data: bytes

    def __init__(self) -> None:
        self._data = b""

    def get_length(self) -> int:
        """The size in bytes."""
        return len(self._data)

    length = property(get_length)


def build_initialize(global_options: dict[str, str] | None = None) -> None:
    """Load the pass files that the environment names; the options hold for every build."""
    given = string_options(
        {} if global_options is None else global_options,
        "global_options must be a dictionary of strings",
    )
    acquire("aclgrphBuildInitialize", given)


def build_finalize() -> None:
    """Forget the pass files and the options."""
    release()


def build_model(graph: Graph, build_options: dict[str, str] | None = None) -> ModelBuffer:
    """The compiled model of a graph, which stays as it is; raises GeError."""
    from ge_xdsl.exporters.gepb import air_bytes

    _check_graph(graph)
    own = string_options(
        {} if build_options is None else build_options,
        "build_options must be a dictionary of strings",
    )
    facts = {"graph": graph.name}
    func = compiled(graph, own, "aclgrphBuildModel", facts)
    made = ModelBuffer()
    try:
        made._data = air_bytes(func)
    except CompileError as error:
        note_error(error.render())
        raise_ge_error("aclgrphBuildModel", None, **facts)
    return made


def save_model(output_file: str, model: ModelBuffer) -> None:
    """Write a model to `<output_file>.air`; raises GeError when it cannot be written."""
    if not isinstance(cast("object", output_file), str):
        raise TypeError("output_file must be a string")
    if not isinstance(cast("object", model), ModelBuffer):
        raise TypeError("model must be a ModelBuffer")
    path = Path(output_file if output_file.endswith(ENDING) else f"{output_file}{ENDING}")
    part = path.with_name(f".{path.name}.part")
    try:
        part.write_bytes(model._data)
        part.replace(path)
    except (OSError, ValueError) as error:
        note_error(f"{path}: {error}")
        raise_ge_error("aclgrphSaveModel", output_file=output_file)
    finally:
        part.unlink(missing_ok=True)


def bundle_build_model(graph_with_options: list[GraphWithOptions]) -> NoReturn:
    """Raises GeError: a bundle is a device format."""
    given = cast("object", graph_with_options)
    if not isinstance(given, list):
        raise TypeError("graph_with_options must be a list of GraphWithOptions")
    items = cast("list[Any]", given)
    if not all(isinstance(item, GraphWithOptions) for item in items):
        raise TypeError("graph_with_options must be a list of GraphWithOptions")
    if len(items) < 2:
        raise ValueError("graph_with_options size must be larger than 1")
    needs_device("aclgrphBundleBuildModel")


def bundle_save_model(output_file: str, model: ModelBuffer) -> NoReturn:
    """Raises GeError: a bundle is a device format."""
    if not isinstance(cast("object", output_file), str):
        raise TypeError("output_file must be a string")
    if not isinstance(cast("object", model), ModelBuffer):
        raise TypeError("model must be a ModelBuffer")
    needs_device("aclgrphBundleSaveModel")


def _check_graph(graph: object) -> None:
    if not isinstance(graph, Graph):
        raise TypeError("graph must be a Graph")
