"""IR -> HTML: a page that draws a graph, to be opened in any browser, without scripts or links.

Each graph is a drawing of its own: one box per node, below everything that it reads. A box has the
GE op type, the node's name and its result types; its tooltip has the attributes. Constants are
named where they are read and have no box. Control edges are dashed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from html import escape

from xdsl.ir import Block, OpResult, SSAValue

from ge_xdsl.dialects.ge import nodes
from ge_xdsl.dialects.ge.op import CONSTANT_TYPES, GeOp
from ge_xdsl.exporters.dot import type_text
from ge_xdsl.exporters.readable import attribute_text

WIDTH, GAP, LINE, ROW = 190, 20, 14, 110
"""Pixels: width of a box, space between two, height of a line of text, distance of two rows."""
LONGEST = 28
"""Most characters of a line in a box; the tooltip has all."""
STYLE = """
body { font: 14px sans-serif; }
text { font: 11px monospace; text-anchor: middle; }
rect { fill: #f4f7fb; stroke: #456; }
path { fill: none; stroke: #89a; }
.end { fill: #fff; rx: 10px; }
.control { stroke-dasharray: 4; }
"""


def html_text(block: Block) -> str:
    """The page of a graph and its subgraphs."""
    title = escape(nodes.graph_name(block))
    head = '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
    parts = [f"{head}<title>{title}</title>\n<style>{STYLE}</style>\n</head>\n<body>"]
    for graph in _graphs(block):
        parts += _Drawing(graph).lines()
    return "\n".join([*parts, "</body>\n</html>\n"])


def _graphs(block: Block) -> Iterator[Block]:
    """A graph and its subgraphs, in order."""
    yield block
    for op in block.ops:
        for region in op.regions:
            for inner in region.blocks:
                yield from _graphs(inner)


class _Drawing:
    """One graph; `places` has the left edge and the top of each box."""

    def __init__(self, block: Block) -> None:
        self.block = block
        self.shown = [h for h in nodes.handles(block) if not _is_constant(h)]
        self.places: dict[int, tuple[int, int]] = {}
        rows: Counter[int] = Counter()
        levels: dict[int, int] = {}
        for handle in self.shown:
            sources = [levels.get(id(source), -1) for source, _, _ in _sources(handle)]
            level = levels[id(handle)] = max(sources, default=-1) + 1
            self.places[id(handle)] = (GAP + rows[level] * (WIDTH + GAP), GAP + level * ROW)
            rows[level] += 1
        self.width = GAP + max(rows.values(), default=0) * (WIDTH + GAP)
        self.height = GAP + len(rows) * ROW

    def lines(self) -> Iterator[str]:
        yield f"<h2>{escape(nodes.graph_name(self.block))}</h2>"
        yield f'<svg width="{self.width}" height="{self.height}">'
        for handle in self.shown:
            yield from self.edges(handle)
        for handle in self.shown:
            yield from self.box(handle)
        yield "</svg>"

    def edges(self, handle: nodes.Handle) -> Iterator[str]:
        x, y = self.places[id(handle)]
        for source, what, is_control in _sources(handle):
            if id(source) not in self.places:
                continue
            left, top = self.places[id(source)]
            ends = f"M{left + WIDTH // 2} {top + _height(source)} L{x + WIDTH // 2} {y}"
            look = ' class="control"' * is_control
            yield f'<path{look} d="{ends}"><title>{escape(what)}</title></path>'

    def box(self, handle: nodes.Handle) -> Iterator[str]:
        x, y = self.places[id(handle)]
        look = "" if isinstance(handle, GeOp) else ' class="end"'
        size = f'x="{x}" y="{y}" width="{WIDTH}" height="{_height(handle)}"'
        yield f"<g><title>{escape(_tooltip(handle))}</title><rect{look} {size}/>"
        for row, text in enumerate(_labels(handle), 1):
            shown = text if len(text) <= LONGEST else f"{text[: LONGEST - 3]}..."
            yield f'<text x="{x + WIDTH // 2}" y="{y + row * LINE}">{escape(shown)}</text>'
        yield "</g>"


def _is_constant(handle: nodes.Handle) -> bool:
    return isinstance(handle, GeOp) and handle.op_type in CONSTANT_TYPES


def _sources(handle: nodes.Handle) -> Iterator[tuple[nodes.Handle, str, bool]]:
    """What a node reads or waits for: the node, a text, and whether it is a control edge."""
    if isinstance(handle, SSAValue):
        return
    for port, value in enumerate(nodes.input_slots(handle)):
        source = None if value is None else nodes.handle_of(value)
        if value is not None and source is not None:
            index = value.index if isinstance(value, OpResult) else 0
            yield source, f"output {index} to input {port}: {type_text(value)}", False
    for edge in nodes.control_edges(handle, outgoing=False):
        source = nodes.handle_of(edge.operands[0])
        if source is not None:
            yield source, "control edge", True


def _labels(handle: nodes.Handle) -> list[str]:
    """The lines of a box."""
    parts = [nodes.handle_type(handle), nodes.handle_name(handle)]
    parts += [type_text(value) for value in nodes.outputs(handle)]
    read = [source for source, _, _ in _sources(handle) if _is_constant(source)]
    return [part for part in (*parts, *map(_constant, read)) if part]


def _constant(handle: nodes.Handle) -> str:
    """`name = 0.5` of a small constant, else its name and type."""
    assert isinstance(handle, GeOp)
    value = handle.properties.get("value")
    text = attribute_text(value) if value is not None else ""
    shown = text if text and len(text) <= LONGEST else type_text(handle.results[0])
    return f"{handle.node_name} = {shown}"


def _height(handle: nodes.Handle) -> int:
    return LINE * len(_labels(handle)) + LINE // 2


def _tooltip(handle: nodes.Handle) -> str:
    """Everything about a node, a line each."""
    lines = _labels(handle)
    if isinstance(handle, GeOp):
        known = handle.prototype.attr_by_name
        lines += [
            f"{name}: {attribute_text(attr)}"
            for name, attr in handle.properties.items()
            if name in known
        ]
    return "\n".join(lines)
