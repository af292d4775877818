"""IR -> the text of `ge_onnx_*.pbtxt` dumps: GE's nodes in an ONNX-like message, for viewers.

Op types read `ge:<Type>`, descriptions are attributes, subgraphs nodes of type `subgraph`. Where
the form has one kind for several of GE's, `doc_string` tells which it was, so that it reads back;
that of a graph holds its attributes.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from xdsl.ir import Block

from ge_xdsl.dialects.ge.gepb import PROTO_DTYPES, Message
from ge_xdsl.dialects.ge.gepb_text import text_of
from ge_xdsl.exporters.gepb import model_of

IR_VERSION = 6
MANY_DESCRIPTIONS = 20
"""With this many descriptions on one side each becomes one JSON string."""
_TYPES = {"f": 1, "i": 2, "s": 3, "g": 5, "floats": 6, "ints": 7, "strings": 8}


def ge_onnx_text(block: Block, level: int = 1) -> str:
    """The dump of a graph and its subgraphs.

    `level` 1 writes everything, 2 leaves out strings and the values of constants, 3 all attributes.
    """
    graphs = {graph.get("name"): graph for graph in model_of(block).get("graph")}
    root = next(iter(graphs.values()))
    fields = {
        "ir_version": IR_VERSION,
        "producer_name": "GE",
        "graph": _graph(root, graphs, level),
    }
    return text_of(Message("OnnxModel", fields))


def _graph(graph: Message, graphs: dict[str, Message], level: int) -> Message:
    readers = _readers(graph)
    made: list[Message] = []
    for op in graph.get("op"):
        made.append(_node(op, readers, level))
        for name in op.get("subgraph_name"):
            inner = _attr("graph", "g", _graph(graphs[name], graphs, level))
            fields = {"name": name, "op_type": "subgraph", "attribute": [inner]}
            made.append(Message("OnnxNode", fields))
    outputs = [Message("OnnxValue", {"name": name}) for name in graph.get("output")]
    fields = {"node": made, "name": graph.get("name"), "output": outputs}
    if level == 1 and graph.get("attr"):
        fields["doc_string"] = text_of(Message("NamedAttrs", {"attr": graph.get("attr")}))
    return Message("OnnxGraph", fields)


def _readers(graph: Message) -> set[str]:
    return {entry for op in graph.get("op") for entry in op.get("input")}


def _node(op: Message, readers: set[str], level: int) -> Message:
    name = op.get("name")
    outputs = [f"{name}:{i}" for i in range(len(op.get("output_desc")))]
    found = sorted(_attributes(op, level), key=lambda entry: entry[0]) if level < 3 else []
    return Message(
        "OnnxNode",
        {
            "input": op.get("input"),
            "output": [entry for entry in [*outputs, f"{name}:-1"] if entry in readers],
            "name": name,
            "op_type": f"ge:{op.get('type')}",
            "attribute": [_attr(key, field, value, note) for key, field, value, note in found],
        },
    )


def _attr(key: str, field: str, value: Any, note: str = "") -> Message:
    fields = {"name": key, field: value, "type": _TYPES[field]}
    return Message("OnnxAttr", fields | ({"doc_string": note} if note else {}))


Entry = tuple[str, str, Any, str]
"""Name, field and value of an attribute, and which of several kinds it stands for, or ''."""


def _attributes(op: Message, level: int) -> Iterator[Entry]:
    yield "id", "i", op.get("id"), ""
    yield "stream_id", "i", op.get("stream_id"), ""
    for side in ("input_desc", "output_desc"):
        descs = op.get(side)
        yield f"{side}_nums", "i", len(descs), ""
        for index, desc in enumerate(descs):
            entries = list(_description(side, str(index), desc))
            if len(descs) >= MANY_DESCRIPTIONS:
                text = json.dumps({key: _plain(value) for key, _, value, _ in entries})
                yield f"{side}_{index}", "s", text.encode(), ""
            else:
                yield from entries
    for key, value in op.get("attr").items():
        yield from _values(key, value, level)


def _plain(value: Any) -> Any:
    return value.decode() if isinstance(value, bytes) else value


def _description(side: str, index: str, desc: Message) -> Iterator[Entry]:
    attrs = desc.get("attr")
    shape = desc.get("shape")
    yield f"{side}_dtype:{index}", "s", _dtype(desc), ""
    yield f"{side}_shape:{index}", "ints", [] if shape is None else shape.get("dim"), ""
    yield f"{side}_layout:{index}", "s", desc.get("layout").encode(), ""
    yield f"{side}_size:{index}", "i", desc.get("size"), ""
    yield f"{side}_origin_layout:{index}", "s", attrs["origin_format"].get("s"), ""
    origin = attrs.get("origin_shape")
    yield (
        f"{side}_origin_shape:{index}",
        "ints",
        [] if origin is None else origin.get("list").get("i"),
        "",
    )
    for key, value in attrs.items():
        if not key.startswith("origin_") and key != "format_for_int":
            yield from (
                (f"{side}_attr_{name}:{index}", f, v, note)
                for name, f, v, note in _values(key, value, 1)
            )


def _dtype(desc: Message) -> bytes:
    return PROTO_DTYPES[desc.get("dtype")].encode()


_LIST_FIELDS = {"s": "strings", "i": "ints", "f": "floats", "b": "ints", "dt": "ints"}


def _values(key: str, value: Message, level: int) -> Iterator[Entry]:
    """The entries of one attribute of a node."""
    field, content = next(iter(value.fields.items()))
    if field == "t":
        desc = content.get("desc")
        yield f"{key}_desc_dtype", "s", _dtype(desc), ""
        yield f"{key}_desc_shape", "ints", desc.get("shape").get("dim"), ""
        yield f"{key}_desc_layout", "s", desc.get("layout").encode(), ""
        if level < 2:
            yield f"{key}_data", "s", content.get("data"), ""
    elif field == "list":
        name: str = next(iter(content.fields), "i")
        if name not in _LIST_FIELDS:
            yield from _as_text(key, value, level)
        elif name != "s" or level < 2:
            note = f"list {name}" if name in ("b", "dt") else ""
            items = content.get(name)
            yield key, _LIST_FIELDS[name], [int(v) for v in items] if note else items, note
    elif field == "list_list_int":
        rows = [row.get("list_i") for row in content.get("list_list_i")]
        yield key, "strings", [str(row).encode() for row in rows], field
    elif field in ("s", "f"):
        if field != "s" or level < 2:
            yield key, field, content, ""
    elif field in ("i", "b", "dt"):
        yield key, "i", int(content), "" if field == "i" else field
    else:
        yield from _as_text(key, value, level)


def _as_text(key: str, value: Message, level: int) -> Iterator[Entry]:
    """An attribute of a kind that the form does not have: its own text."""
    if level < 2:
        yield key, "s", text_of(value).encode("utf-8"), "text"
