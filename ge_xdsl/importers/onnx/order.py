"""Putting the nodes of an ONNX graph in an order in which every value is defined before its use."""

from __future__ import annotations

import heapq
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from ge_xdsl.errors import CompileError

if TYPE_CHECKING:
    from onnx import NodeProto


def in_order(nodes: Sequence[NodeProto], defined: Collection[str]) -> Sequence[NodeProto]:
    """The nodes as they are when they are sorted, else in dependency order, stable.

    `defined` names graph inputs and initializers. Raises CompileError for a name that two values
    have and for a cycle.
    """
    producer: dict[str, int] = {}
    for index, node in enumerate(nodes):
        for output in node.output:
            check_text(output)
            if output in producer or output in defined:
                raise CompileError(
                    f"the name '{output}' is given to two values, expected unique names",
                    subject=_subject(node),
                )
            if output:
                producer[output] = index
    sources = [{producer[name] for name in node.input if name in producer} for node in nodes]
    if all(max(found, default=-1) < index for index, found in enumerate(sources)):
        return nodes
    return _sorted(nodes, sources)


def check_text(*names: object) -> None:
    """Refuse strings that the protobuf library could not decode and left as bytes."""
    for name in names:
        if not isinstance(name, str):
            raise CompileError(f"a name is {name!r}, expected UTF-8 text")


def _sorted(nodes: Sequence[NodeProto], sources: Sequence[set[int]]) -> list[NodeProto]:
    users: list[list[int]] = [[] for _ in nodes]
    waiting = [len(found) for found in sources]
    for index, found in enumerate(sources):
        for source in sorted(found):
            users[source].append(index)
    ready = [index for index, count in enumerate(waiting) if not count]
    order: list[NodeProto] = []
    while ready:
        index = heapq.heappop(ready)
        order.append(nodes[index])
        for user in users[index]:
            waiting[user] -= 1
            if not waiting[user]:
                heapq.heappush(ready, user)
    if len(order) != len(nodes):
        raise CompileError(
            "the node depends on itself, expected a graph without cycles",
            subject=_subject(nodes[_on_cycle(sources, waiting)]),
        )
    return order


def _on_cycle(sources: Sequence[set[int]], waiting: Sequence[int]) -> int:
    """A node on a cycle: follow unmet dependencies until one comes again."""
    seen: set[int] = set()
    index = next(i for i, count in enumerate(waiting) if count)
    while index not in seen:
        seen.add(index)
        index = min(source for source in sources[index] if waiting[source])
    return index


def _subject(node: NodeProto) -> str:
    return f"{node.op_type} '{node.name or next(iter(node.output), '')}'"
