"""The names that a subgraph takes from the graph around it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ge_xdsl.importers.onnx.order import check_text

if TYPE_CHECKING:
    from onnx import GraphProto


def free_names(graph: GraphProto) -> list[str]:
    """Names that the graph or a graph in it reads and does not define, in order of first use."""
    own = {info.name for info in graph.input}
    own.update(tensor.name for tensor in graph.initializer)
    for node in graph.node:
        own.update(node.output)
    found: dict[str, None] = {}
    for node in graph.node:
        check_text(*node.input)
        found.update(dict.fromkeys(node.input))
        for attr in node.attribute:
            if attr.HasField("g"):
                found.update(dict.fromkeys(free_names(attr.g)))
    found.update(dict.fromkeys(info.name for info in graph.output))
    return [name for name in found if name and name not in own]
