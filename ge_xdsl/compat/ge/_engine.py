"""What `ge.session`, `ge.ge_global` and `ge.offline_compile` share: plugins, options, compiling."""

# The API names its own internals with underscores; this package shares them.
# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NoReturn, cast

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from ge_xdsl.compat.ge.error import GeError, note_error, raise_ge_error
from ge_xdsl.compat.ge.graph.graph import Graph, function_of
from ge_xdsl.compat.ge.passes.bootstrap import load_pass_plugins
from ge_xdsl.errors import CompileError, UsageError
from ge_xdsl.passes import loader
from ge_xdsl.passes.graph_dumps import watch_graphs
from ge_xdsl.passes.manager import PassManager
from ge_xdsl.passes.pipeline import make_passes
from ge_xdsl.passes.session import DEFAULT_TARGET, Session, SessionContext

PIPELINE = "ge-optimize"
SOC_VERSION = "ge.socVersion"
"""The option that names the chip."""

_users = 0
"""How many initializations have not been finalized."""

_global_options: dict[str, str] = {}
"""The options of the initializations; those of a session, graph or build come before them."""


def acquire(api_name: str, options: Mapping[str, str]) -> None:
    """Load the pass files of the environment; they and the options stay until as many calls of
    `release`."""
    global _users
    try:
        load_pass_plugins()
    except Exception as error:  # what a pass file raises is its own
        loader.unload()
        note_error(f"loading pass plugins raised {loader.cause_of(error)}")
        raise_ge_error(api_name)
    _users += 1
    _global_options.update(options)


def release() -> None:
    """Undo one `acquire`; the last one forgets the passes and the modules of their files."""
    global _users
    if not _users:
        return
    _users -= 1
    if not _users:
        _global_options.clear()
        loader.unload()


def string_options(options: object, message: str) -> dict[str, str]:
    """A copy of an option dictionary; raises TypeError unless it is one of strings."""
    if not isinstance(options, dict):
        raise TypeError(message)
    found = cast("dict[Any, Any]", options)
    if not all(isinstance(key, str) and isinstance(value, str) for key, value in found.items()):
        raise TypeError(message)
    return dict(cast("dict[str, str]", found))


def compiled(
    graph: Graph, options: Mapping[str, str], api_name: str, facts: Mapping[str, object]
) -> FuncOp:
    """A copy of a graph after all stages but the lowering.

    Raises GeError that names the call and the facts.
    """
    options = {**_global_options, **options}
    func = function_of(graph)
    if func is None:
        note_error("graph is empty or a subgraph, expected a whole one")
        raise_ge_error(api_name, None, **facts)
    try:
        copy = func.clone()
        session = Session(_target(options), options)
        manager = PassManager(SessionContext(session), make_passes(PIPELINE))
        watch_graphs(manager, session)
        manager.run(ModuleOp([copy]))
    except CompileError as error:
        note_error(error.render())
        raise_ge_error(api_name, None, **facts)
    return copy


def _target(options: Mapping[str, str]) -> str:
    from ge_xdsl.targets import target

    try:
        return target(options.get(SOC_VERSION, DEFAULT_TARGET)).name
    except UsageError as error:
        raise CompileError(str(error), subject=SOC_VERSION) from None


def needs_device(api_name: str) -> NoReturn:
    """Raise the GeError of a call that only an Ascend device can serve."""
    text = f"{api_name} failed; it needs an Ascend device, expected a call that the graph can serve"
    raise GeError(text, "no Ascend device", api_name, {})
