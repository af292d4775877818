"""`ge_onnx_*.pbtxt` dumps -> `ge.proto.ModelDef`: the form for viewers, read back.

Op types read `ge:<Type>`, descriptions are attributes, subgraphs nodes behind the one that has
them. Where the form has one kind for several of GE's, `doc_string` tells which it was; dumps of
other writers leave it out, and then the prototype decides, or integers stay integers.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, cast

from ge_xdsl.dialects.ge.gepb import LIST_KINDS, PROTO_DTYPES, GepbError, Message
from ge_xdsl.dialects.ge.gepb_text import parse
from ge_xdsl.dialects.ge.registry import op_class

_PORT = re.compile(
    r"(input|output)_desc_(dtype|shape|layout|size|origin_layout|origin_shape|attr_.*):(\d+)", re.S
)
_WHOLE = re.compile(r"(input|output)_desc_(\d+|nums)")
_NUMBER_OF = {name: number for number, name in PROTO_DTYPES.items()}
PORT_LIMIT = 1 << 16
"""Most ports of a node."""


def is_viewer_text(text: str) -> bool:
    """Whether a text is the form for viewers: its first field of a graph is a node."""
    found = re.search(r"^\s*(ir_version|producer_name)\s*:|\bop\s*\{|\bnode\s*\{", text, re.M)
    return found is not None and (found.group(1) is not None or "node" in found.group())


def model_of_text(text: str) -> Message:
    """The `ModelDef` of a dump; raises GepbError for what is none."""
    graph = parse("OnnxModel", text).get("graph")
    if graph is None:
        return Message("ModelDef")
    graphs: list[Message] = []
    _graph(graph, graphs)
    return Message("ModelDef", {"name": graph.get("name"), "graph": graphs})


def _graph(graph: Message, graphs: list[Message]) -> None:
    """Add a graph, then the graphs in it."""
    made = Message("GraphDef", {"name": graph.get("name")})
    if graph.get("doc_string"):
        made.fields["attr"] = parse("NamedAttrs", graph.get("doc_string")).get("attr")
    graphs.append(made)
    ops: list[Message] = []
    for node in graph.get("node"):
        if node.get("op_type") == "subgraph":
            if not ops:
                raise GepbError(f"subgraph '{node.get('name')}' comes first, expected an op before")
            inner = next((a.get("g") for a in node.get("attribute") if a.get("g")), None)
            if inner is None:
                raise GepbError(f"subgraph '{node.get('name')}' has no graph, expected one")
            ops[-1].fields.setdefault("subgraph_name", []).append(inner.get("name"))
            _graph(inner, graphs)
        else:
            ops.append(_op(node))
    made.fields["op"] = ops
    made.fields["output"] = [value.get("name") for value in graph.get("output")]


class _Ports:
    """The descriptions of one side of a node, by number."""

    def __init__(self) -> None:
        self.count = 0
        self.fields: dict[int, dict[str, Any]] = {}

    def put(self, index: int, name: str, value: Any) -> None:
        if index >= PORT_LIMIT:
            raise GepbError(f"description {index} is too far, expected at most {PORT_LIMIT}")
        self.count = max(self.count, index + 1)
        self.fields.setdefault(index, {})[name] = value

    def descriptions(self) -> Iterator[Message]:
        for index in range(self.count):
            yield _descriptor(self.fields.get(index, {}))


def _op(node: Message) -> Message:
    op_type = node.get("op_type").removeprefix("ge:")
    ports = {"input": _Ports(), "output": _Ports()}
    attrs: dict[str, Message] = {}
    tensors: dict[str, dict[str, Any]] = {}
    named = [(attr.get("name"), attr) for attr in node.get("attribute")]
    bases = {name.removesuffix("_desc_dtype") for name, _ in named if name.endswith("_desc_dtype")}
    seen: set[str] = set()
    for name, attr in named:
        if name in ("id", "stream_id") and name not in seen:
            seen.add(name)
        elif not (_put_port(ports, name, attr) or _put_tensor(tensors, bases, name, attr)):
            attrs[name] = _value(op_type, name, attr)
    for base, fields in tensors.items():
        if "data" in fields:
            attrs[base] = Message("AttrDef", {"t": _tensor(fields)})
    return Message(
        "OpDef",
        {
            "name": node.get("name"),
            "type": op_type,
            "input": node.get("input"),
            "attr": attrs,
            "input_desc": list(ports["input"].descriptions()),
            "output_desc": list(ports["output"].descriptions()),
        },
    )


def _put_port(ports: dict[str, _Ports], name: str, attr: Message) -> bool:
    """Keep what an attribute tells of a port; whether it does."""
    if (whole := _WHOLE.fullmatch(name)) is not None:
        side, index = whole.groups()
        if index == "nums":
            count = attr.get("i")
            if not 0 <= count <= PORT_LIMIT:
                raise GepbError(f"{name} is {count}, expected at most {PORT_LIMIT}")
            ports[side].count = max(count, ports[side].count)
            return True
        return _put_whole(ports[side], side, int(index), attr)
    found = _PORT.fullmatch(name)
    if found is None:
        return False
    side, what, index = found.groups()
    ports[side].put(int(index), what, _value("", name, attr))
    return True


def _put_whole(ports: _Ports, side: str, index: int, attr: Message) -> bool:
    """A description that stands in one JSON text."""
    try:
        entries: Any = json.loads(bytes(attr.get("s")).decode("utf-8"))
    except (ValueError, RecursionError):
        return False
    if not isinstance(entries, dict):
        return False
    for key, value in cast("dict[str, Any]", entries).items():
        found = _PORT.fullmatch(key)
        if found is not None and found.group(1) == side:
            ports.put(index, found.group(2), _form_of_plain(value))
    return True


def _form_of_plain(value: Any) -> Message:
    """A JSON value as an attribute."""
    if isinstance(value, bool | int):
        return Message("AttrDef", {"i": int(value)})
    if isinstance(value, float):
        return Message("AttrDef", {"f": value})
    if isinstance(value, str):
        return Message("AttrDef", {"s": value.encode("utf-8", "replace")})
    items = cast("list[Any]", value) if isinstance(value, list) else []
    kind = "s" if items and isinstance(items[0], str) else "i"
    listed = [str(v).encode() if kind == "s" else int(v) if isinstance(v, int) else 0
              for v in items]  # fmt: skip
    return Message("AttrDef", {"list": Message("ListValue", {kind: listed})})


def _put_tensor(
    tensors: dict[str, dict[str, Any]], bases: set[str], name: str, attr: Message
) -> bool:
    """Keep a part of a tensor attribute; whether it is one."""
    for part in ("desc_dtype", "desc_shape", "desc_layout", "data"):
        base = name.removesuffix(f"_{part}")
        if base != name and base in bases:
            tensors.setdefault(base, {})[part.removeprefix("desc_")] = _form(attr)
            return True
    return False


def _tensor(fields: dict[str, Any]) -> Message:
    """The constant of a tensor attribute."""
    return Message("TensorDef", {"desc": _descriptor(fields), "data": bytes(_text(fields, "data"))})


def _text(fields: dict[str, Any], name: str) -> bytes:
    found = fields.get(name)
    return bytes(found.get("s")) if found is not None else b""


def _descriptor(fields: dict[str, Any]) -> Message:
    """A description from what was told of a port."""
    name = _text(fields, "dtype").decode("utf-8", "replace")
    if name and name not in _NUMBER_OF:
        raise GepbError(f"element type is '{name}', expected one of GE's")
    attrs: dict[str, Message] = {
        key.removeprefix("attr_"): value for key, value in fields.items() if key[:5] == "attr_"
    }
    if "origin_layout" in fields:
        attrs["origin_format"] = fields["origin_layout"]
    if "origin_shape" in fields:
        attrs["origin_shape"] = fields["origin_shape"]
    made: dict[str, Any] = {
        "dtype": _NUMBER_OF.get(name, 0),
        "layout": _text(fields, "layout").decode("utf-8", "replace"),
        "attr": attrs,
    }
    listed = fields["shape"].get("list") if "shape" in fields else None
    made["shape"] = Message("ShapeDef", {"dim": [] if listed is None else listed.get("i")})
    return Message("TensorDescriptor", made)


_LISTS = {"floats": "f", "ints": "i", "strings": "s"}
_LIST_TYPES = {6: "f", 7: "i", 8: "s"}


def _form(attr: Message) -> Message:
    """An attribute in GE's form, by the field that it sets."""
    for name in ("f", "i", "s"):
        if name in attr.fields:
            return Message("AttrDef", {name: attr.fields[name]})
    for name, own in _LISTS.items():
        if name in attr.fields:
            return _list(own, attr.fields[name])
    listed = _LIST_TYPES.get(attr.get("type"))
    if listed is not None:
        return _list(listed, [])
    return Message("AttrDef", {{1: "f", 2: "i"}.get(attr.get("type"), "s"): _ZERO[attr.get("type")]}
                   if attr.get("type") in _ZERO else {})  # fmt: skip


_ZERO: dict[int, Any] = {1: 0.0, 2: 0, 3: b""}


def _list(name: str, items: list[Any]) -> Message:
    value = {name: items, "val_type": LIST_KINDS[name]} if items else {}
    return Message("AttrDef", {"list": Message("ListValue", value)})


def _value(op_type: str, name: str, attr: Message) -> Message:
    """The value of an attribute of a node, of the kind that the writer noted or GE declares."""
    form = _form(attr)
    hint: str = attr.get("doc_string")
    cls = op_class(op_type)
    spec = None if cls is None else cls.prototype.attr_by_name.get(name)
    if hint in ("b", "dt") and "i" in form.fields:
        return Message("AttrDef", {hint: bool(form.get("i")) if hint == "b" else form.get("i")})
    if hint in ("list b", "list dt"):
        kind = hint.removeprefix("list ")
        found = form.get("list")
        items: list[int] = [] if found is None else found.get("i")
        return _list(kind, [bool(n) for n in items] if kind == "b" else items)
    if hint == "list_list_int" or (spec is not None and spec.kind == "ListListInt"):
        return _rows(name, form)
    if hint == "text":
        return parse("AttrDef", bytes(form.get("s")).decode("utf-8", "replace"))
    return form


def _rows(name: str, form: Message) -> Message:
    """A list of lists, each the text of one."""
    listed = form.get("list")
    rows: list[Message] = []
    texts: list[bytes] = [] if listed is None else listed.get("s")
    for text in texts:
        try:
            row: Any = json.loads(bytes(text).decode("utf-8"))
            numbers = [int(n) for n in cast("list[Any]", row)]
        except (ValueError, TypeError, RecursionError):
            raise GepbError(f"attribute '{name}' is no list of lists, expected one") from None
        rows.append(Message("ListInt", {"list_i": numbers}))
    return Message("AttrDef", {"list_list_int": Message("ListListInt", {"list_list_i": rows})})
