"""Running the registered passes of a stage on a `ge.graph.Graph`, outside a compile."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ge_xdsl.compat.ge.graph.graph import Graph, function_of
from ge_xdsl.errors import PassError, UsageError
from ge_xdsl.passes.ge_custom_passes import run_stage as run_passes
from ge_xdsl.passes.registry import STAGES
from ge_xdsl.passes.session import Session
from ge_xdsl.pattern.statistics import Statistics

SUCCESS = 0
FAILED = 0xFFFFFFFF


@dataclass(frozen=True)
class StageReport:
    """What the passes of a stage did to a graph."""

    status: int
    """0 when every pass ran well, also when none changed anything."""
    changed: Sequence[str]
    """The passes that changed the graph, in order; those before one that failed stay done."""
    statistics: Any
    messages: Sequence[str]
    """Warnings, and the error of the pass that failed."""


def run_stage(
    graph: Graph, stage: str, options: Mapping[str, str] | None = None, only: str = ""
) -> StageReport:
    """Run a stage's passes on a graph in place; a pass that fails leaves it as before that pass.

    `options` is what `PassContext.get_option_value` reads. Raises UsageError for an unknown
    stage and for a graph that was taken over or is a subgraph.
    """
    func = function_of(graph)
    if func is None:
        raise UsageError("graph was taken over or is a subgraph, expected a whole one")
    if stage not in STAGES:
        raise UsageError(f"stage is '{stage}', expected one of {', '.join(STAGES)}")
    statistics = Statistics()
    session = Session(options=dict(options or {}), recorders=[statistics])
    changed: list[str] = []
    status = SUCCESS
    try:
        run_passes(func, stage, session, only, changed)
    except PassError as error:
        status = FAILED
        session.messages.append(error.render())
    return StageReport(status, changed, statistics.as_json(), session.messages)
