"""IR -> GE's readable dump: the text of `str(graph)` and of `ge_readable_*.txt` files.

    graph("g"):
      %x : [#users=1] = Node[type=Data] (attrs = {index: 0})
      %relu : [#users=1] = Node[type=Relu] (inputs = (x=%x))

      return (%relu)

`#users` on the line of a node counts its outputs, on the line of a `get_element` its readers.
Control edges and attributes that no prototype declares are not shown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, cast

from xdsl.ir import Attribute, Block, BlockArgument, Operation, SSAValue

from ge_xdsl.dialects.ge import nodes
from ge_xdsl.dialects.ge.assembly import region_names
from ge_xdsl.dialects.ge.op import GeOp
from ge_xdsl.dialects.ge.prototype import decode, kind_of
from ge_xdsl.dialects.ge.types import DataType
from ge_xdsl.dialects.ge.weights import WeightAttr

if TYPE_CHECKING:
    from ge_xdsl.dialects.ge.nodes import Handle
    from ge_xdsl.dialects.ge.types import Array

SHOWN = 6
"""A tensor with more elements is cut to its first and last three."""


def readable_text(block: Block) -> str:
    """The dump of a graph and, below it, of its subgraphs, depth first."""
    return "\n".join(_graph(block))


def _graph(block: Block) -> Iterator[str]:
    """The text of one graph, then of each subgraph; a blank line comes between any two."""
    yield "".join(f"{line}\n" for line in _lines(block))
    for op in block.ops:
        for region in op.regions:
            for inner in region.blocks:
                yield from _graph(inner)


def _lines(block: Block) -> Iterator[str]:
    yield f'graph("{nodes.graph_name(block)}"):'
    names: dict[SSAValue, str] = {}
    elements = 0
    last: Operation | None = None
    for handle in nodes.handles(block):
        if nodes.is_terminator(handle):
            last = cast("Operation", handle)
            continue
        values = nodes.outputs(handle)
        name = nodes.handle_name(handle)
        yield (
            f"  %{name} : [#users={len(values)}] = "
            f"Node[type={nodes.handle_type(handle)}] {_details(handle, names)}"
        )
        if len(values) < 2:
            names.update(dict.fromkeys(values, f"%{name}"))
            continue
        for index, value in enumerate(values):
            element = f"%ret_{elements}" if elements else "%ret"
            elements += 1
            names[value] = element
            users = len(nodes.consumers(value))
            yield f"  {element} : [#users={users}] = get_element[node=%{name}]({index})"
    if last is not None and last.operands:
        yield ""
        yield f"  return ({_returned(last.operands, names)})"


def _returned(values: Sequence[SSAValue], names: dict[SSAValue, str]) -> str:
    found = [_source(value, names) for value in values]
    if len(found) == 1:
        return found[0]
    return ", ".join(f"output_{i}={name}" for i, name in enumerate(found))


def _source(value: SSAValue, names: dict[SSAValue, str]) -> str:
    """How a reader names a tensor; an op that reads what comes later sees the node's name."""
    handle = nodes.handle_of(value)
    return names.get(value) or f"%{nodes.handle_name(handle) if handle is not None else ''}"


def _details(handle: Handle, names: dict[SSAValue, str]) -> str:
    inputs = ", ".join(
        f"{name}={_source(value, names)}"
        for name, value in _inputs(handle)
        if nodes.handle_of(value) is not None
    )
    attrs = ", ".join(f"{name}: {text}" for name, text in _attrs(handle) if text != '""')
    parts = [f"inputs = ({inputs})"] if inputs else []
    return f"({', '.join([*parts, *([f'attrs = {{{attrs}}}'] if attrs else [])])})"


def _inputs(handle: Handle) -> Iterator[tuple[str, SSAValue]]:
    """IR name and tensor of each connected input."""
    if isinstance(handle, BlockArgument):
        return
    if not isinstance(handle, GeOp):
        yield from ((f"_input_{i}", value) for i, value in enumerate(handle.operands))
        return
    first = 1 if handle.op_type == "For" else 0
    # a Variable that a builder made lacks the input that its prototype declares
    for io, value in zip(
        handle.prototype.inputs, handle.arrange(list(handle.operands)), strict=False
    ):
        if isinstance(value, list):
            yield from ((f"{io.name}_{i}", item) for i, item in enumerate(value, first))
        elif value is not None:
            yield io.name, value


def _attrs(handle: Handle) -> Iterator[tuple[str, str]]:
    """Name and text of each subgraph, then of each stored attribute, in declared order."""
    if isinstance(handle, BlockArgument):
        yield "index", str(handle.index)
        return
    if not isinstance(handle, GeOp):
        return
    graphs = nodes.region_graph_names(handle)
    fields = region_names(handle.prototype, len(handle.regions))
    yield from ((field, f"%{graph}") for field, graph in zip(fields, graphs, strict=True))
    for spec in handle.prototype.attrs:
        stored = handle.properties.get(spec.name)
        if stored is not None:
            yield spec.name, attribute_text(stored)


def attribute_text(attr: Attribute) -> str:
    """The text of an attribute's value."""
    kind = kind_of(attr)
    if kind == "Tensor":
        if isinstance(attr, WeightAttr) and not attr.data.attached:
            return "<unloaded>"
        return tensor_text(decode(attr))
    return _value_text(decode(attr))


def _value_text(value: Any) -> str:
    if isinstance(value, tuple):
        return f"{{{', '.join(_value_text(item) for item in cast('tuple[Any, ...]', value))}}}"
    text = next((text for cls, text in _TEXTS if isinstance(value, cls)), str)
    return text(value)


_TEXTS: tuple[tuple[type, Callable[[Any], str]], ...] = (
    (bool, lambda v: "true" if v else "false"),
    (float, lambda v: f"{v:.6f}"),
    (str, lambda v: f'"{v}"'),
    (DataType, lambda v: v.name),
)


def tensor_text(array: Array) -> str:
    """The values of a tensor: `[1 2 3]`, a long one cut, `<empty>` without any."""
    if array.dtype.kind in "OcSU":
        return "<not_supported>"
    if not array.size:
        return "<empty>"
    flat = array.reshape(-1)
    half = SHOWN // 2
    if flat.size > SHOWN:
        parts = [*map(_number_text, flat[:half]), "...", *map(_number_text, flat[-half:])]
    else:
        parts = list(map(_number_text, flat))
    return f"[{' '.join(parts)}]"


def _number_text(number: Any) -> str:
    if number.dtype.kind in "biu" or "int" in number.dtype.name:
        return str(int(number))
    return f"{float(number):.6f}"
