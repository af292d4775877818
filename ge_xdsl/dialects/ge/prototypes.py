"""The table of every public GE op's prototype, read one op at a time.

`prototypes.txt` holds one op a line, sorted by op type, so that finding one is a binary search
over the bytes of the file and only the line that is found is parsed:

    MatMul nn | x1:=3 x2:=3 bias?:=3 | y:=3 | transpose_x1:Bool=false | then_branch branches*
    op, ge.es module | inputs | outputs | attributes | subgraphs

`?` marks an optional and `*` a dynamic one, `+` after that one which only newer forms of the op
have. A data type stands without `DT_`, in lower case; `=3` names the set of types on the line that
starts with `=3`, and no type at all means any. An attribute is `name:Kind` when required and
`name:Kind=default` when not, the default in JSON without blanks.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, cast

from ge_xdsl.dialects.ge.prototype import AttrKind, AttrSpec, Io, IoKind, Prototype, Subgraph
from ge_xdsl.dialects.ge.types import DataType

FILE = Path(__file__).with_name("prototypes.txt")

_KINDS: dict[str, IoKind] = {"?": "optional", "*": "dynamic"}
_MARKS: dict[str, str] = {"required": "", "optional": "?", "dynamic": "*"}
_BY_NAME = {dtype.name.removeprefix("DT_").lower(): dtype for dtype in DataType}


@cache
def prototype_of(op_type: str) -> Prototype | None:
    """The prototype of a public GE op, None for a type that GE does not have."""
    line = find_line(table_bytes(), op_type)
    return None if line is None or line[0] in "#=" else parse_line(line)


def known_ops() -> list[str]:
    """Every op type of the table, sorted."""
    return list(_names())


@cache
def _names() -> tuple[str, ...]:
    return tuple(line.split(" ", 1)[0] for line in op_lines(table_bytes().decode()))


@cache
def table_bytes() -> bytes:
    return FILE.read_bytes()


def op_lines(text: str) -> Iterator[str]:
    """The lines of a table's text that describe ops."""
    return (line for line in text.splitlines() if line and line[0] not in "#=")


def find_line(text: bytes, key: str) -> str | None:
    """The line of sorted `text` whose first word is `key`, by binary search."""
    if not key or not key.isascii() or not key.isprintable() or " " in key:
        return None
    wanted = key.encode()
    low, high = 0, len(text)
    while low < high:
        start = text.rfind(b"\n", low, (low + high) // 2) + 1 or low
        end = text.find(b"\n", start)
        end = len(text) if end < 0 else end
        word = text[start:end].split(b" ", 1)[0]
        if word == wanted:
            return text[start:end].decode()
        if word < wanted:
            low = end + 1
        else:
            high = start
    return None


def parse_line(line: str) -> Prototype:
    """The prototype that a line of the table describes."""
    head, inputs, outputs, attrs, subgraphs = (part.strip() for part in line.split("|"))
    op_type, module = head.split(" ")
    return Prototype(
        op_type,
        tuple(map(_io, inputs.split())),
        tuple(map(_io, outputs.split())),
        tuple(map(_attr, attrs.split())),
        tuple(map(_subgraph, subgraphs.split())),
        module,
    )


def _io(text: str) -> Io:
    marked, _, dtypes = text.partition(":")
    name = marked.rstrip("+")
    kind = _KINDS.get(name[-1], "required")
    return Io(name.rstrip("?*"), kind, _types(dtypes), name != marked)


def _types(text: str) -> tuple[DataType, ...]:
    if text.startswith("="):
        return type_set(text)
    return (_BY_NAME[text],) if text else ()


@cache
def type_set(name: str) -> tuple[DataType, ...]:
    line = find_line(table_bytes(), name)
    assert line is not None, f"type set {name} is not in {FILE.name}"
    return tuple(_BY_NAME[word] for word in line.split(" ")[1:])


def _attr(text: str) -> AttrSpec:
    name, _, rest = text.partition(":")
    kind, given, default = rest.partition("=")
    if not given:
        return AttrSpec(name, cast("AttrKind", kind), required=True)
    return AttrSpec(name, cast("AttrKind", kind), default=_decoded(kind, json.loads(default)))


def _decoded(kind: str, value: Any) -> Any:
    if kind.endswith("Type"):
        return DataType[value] if kind == "Type" else tuple(DataType[item] for item in value)
    if kind == "ListListInt":
        return tuple(tuple(item) for item in value)
    return tuple(value) if kind.startswith("List") else value


def _subgraph(text: str) -> Subgraph:
    return Subgraph(text.rstrip("*"), "dynamic" if text.endswith("*") else "static")


def line_of(proto: Prototype, aliases: Mapping[tuple[DataType, ...], str]) -> str:
    """The line of the table that describes a prototype; `aliases` names its type sets."""
    parts = (
        f"{proto.op_type} {proto.module}",
        " ".join(_io_text(io, aliases) for io in proto.inputs),
        " ".join(_io_text(io, aliases) for io in proto.outputs),
        " ".join(map(_attr_text, proto.attrs)),
        " ".join(g.name + ("*" if g.kind == "dynamic" else "") for g in proto.subgraphs),
    )
    return " | ".join(parts).rstrip()


def type_word(dtype: DataType) -> str:
    """How the table writes a data type."""
    return dtype.name.removeprefix("DT_").lower()


def _io_text(io: Io, aliases: Mapping[tuple[DataType, ...], str]) -> str:
    name = io.name + _MARKS[io.kind] + "+" * io.newer
    if not io.dtypes:
        return name
    return f"{name}:{type_word(io.dtypes[0]) if len(io.dtypes) == 1 else aliases[io.dtypes]}"


def _attr_text(attr: AttrSpec) -> str:
    if attr.required:
        return f"{attr.name}:{attr.kind}"
    text = json.dumps(_json(attr.default), separators=(",", ":"))
    text = text.replace(" ", r"\u0020").replace("|", r"\u007c")
    return f"{attr.name}:{attr.kind}={text}"


def _json(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_json(item) for item in cast("tuple[Any, ...]", value)]
    return value.name if isinstance(value, DataType) else value
