"""IR -> Graphviz: a graph as text for `dot`, one box per node, subgraphs as clusters.

A box has the GE op type, the node's name and its result types; constants are small and show what
they hold. Control edges are dashed.
"""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.ir import Block, BlockArgument, OpResult, SSAValue

from ge_xdsl.dialects.ge import nodes
from ge_xdsl.dialects.ge.data import ConstantOp, ConstOp
from ge_xdsl.dialects.ge.op import CONSTANT_TYPES, GeOp
from ge_xdsl.dialects.ge.shapes import shape_text
from ge_xdsl.dialects.ge.types import Tensor, is_tensor_type, tensor_of
from ge_xdsl.exporters.readable import attribute_text

SMALL = 'shape=plaintext, fontsize=8, height=0.2, margin="0.02"'
"""How a constant is drawn."""


def dot_text(block: Block) -> str:
    """The text of a graph; the ids of its nodes count up in the order of the graph."""
    return "\n".join(_Writer(block).lines()) + "\n"


def quoted(text: str) -> str:
    """A string literal of the language; a line break becomes a centred one."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + "".join(_visible(c) for c in escaped) + '"'


def _visible(char: str) -> str:
    if char == "\n":
        return "\\n"
    return char if char.isprintable() else "?"


class _Writer:
    """Writes a graph; `ids` has the id of each node that a value comes from."""

    def __init__(self, block: Block) -> None:
        self.block = block
        self.ids: dict[int, str] = {}
        self.clusters = 0

    def lines(self) -> Iterator[str]:
        yield f"digraph {quoted(nodes.graph_name(self.block))} {{"
        yield "  node [shape=box, fontname=monospace, fontsize=10];"
        yield from self.graph(self.block, "  ")
        yield "}"

    def graph(self, block: Block, indent: str) -> Iterator[str]:
        """The nodes and edges of one graph, and a cluster for each subgraph."""
        found = list(nodes.handles(block))
        for handle in found:
            self.ids[id(handle)] = f"n{len(self.ids)}"
            yield f"{indent}{self.ids[id(handle)]} [{_look(handle)}];"
            if isinstance(handle, GeOp):
                yield from self.subgraphs(handle, indent)
        for handle in found:
            yield from (f"{indent}{edge};" for edge in self.edges(handle))

    def subgraphs(self, op: GeOp, indent: str) -> Iterator[str]:
        for region in op.regions:
            for inner in region.blocks:
                yield f"{indent}subgraph cluster_{self.clusters} {{"
                self.clusters += 1
                yield f"{indent}  label={quoted(nodes.graph_name(inner))};"
                yield from self.graph(inner, f"{indent}  ")
                yield f"{indent}}}"
                last = inner.last_op
                if last is not None and id(last) in self.ids:
                    ends = f"{self.ids[id(last)]} -> {self.ids[id(op)]}"
                    yield f"{indent}{ends} [style=dotted, arrowhead=none];"

    def edges(self, handle: nodes.Handle) -> Iterator[str]:
        if isinstance(handle, BlockArgument):
            return
        for port, value in enumerate(nodes.input_slots(handle)):
            source = None if value is None else nodes.handle_of(value)
            if value is not None and source is not None:
                yield f"{self.ids[id(source)]} -> {self.ids[id(handle)]}{_ends(value, port)}"
        for edge in nodes.control_edges(handle, outgoing=False):
            source = nodes.handle_of(edge.operands[0])
            if source is not None:
                yield f"{self.ids[id(source)]} -> {self.ids[id(handle)]} [style=dashed]"


def _ends(value: SSAValue, port: int) -> str:
    """The ports of an edge where they are not the first."""
    index = value.index if isinstance(value, OpResult) else 0
    marks = [f'{end}label="{n}"' for end, n in (("tail", index), ("head", port)) if n]
    return f" [{', '.join(marks)}]" if marks else ""


def _look(handle: nodes.Handle) -> str:
    """The drawing attributes of a node."""
    if isinstance(handle, GeOp) and handle.op_type in CONSTANT_TYPES:
        return f"label={quoted(_constant_label(handle))}, {SMALL}"
    parts = [nodes.handle_type(handle), nodes.handle_name(handle)]
    parts += [type_text(value) for value in nodes.outputs(handle)]
    label = quoted("\n".join(part for part in parts if part))
    if isinstance(handle, BlockArgument) or nodes.is_terminator(handle):
        return f"label={label}, style=rounded"
    return f"label={label}"


def _constant_label(op: GeOp) -> str:
    """The values of a small constant, else its name and type."""
    value = op.properties.get("value")
    shown = isinstance(op, ConstOp | ConstantOp) and value is not None
    text = attribute_text(value) if shown and value is not None else op.op_type
    return f"{op.node_name}\n{type_text(op.results[0])}\n{text}"


def type_text(value: SSAValue) -> str:
    """Element type and shape of a value: `FLOAT 1x3x?`."""
    tensor = tensor_of(value.type) if is_tensor_type(value.type) else None
    return _tensor_text(tensor) if tensor is not None else str(value.type)


def _tensor_text(tensor: Tensor) -> str:
    return f"{tensor.dtype.name.removeprefix('DT_')} {shape_text(tensor.shape)}"
