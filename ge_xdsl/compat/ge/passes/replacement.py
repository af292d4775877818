"""`ge.passes.replacement`: marks a graph as a replacement."""

from __future__ import annotations

from typing import cast

from ge_xdsl.compat.ge.graph.graph import Graph


def create_replacement(graph: Graph) -> Graph:
    """The graph itself; raises TypeError for anything else."""
    if not isinstance(cast("object", graph), Graph):
        raise TypeError("replacement graph must be a ge.graph.Graph")
    return graph
