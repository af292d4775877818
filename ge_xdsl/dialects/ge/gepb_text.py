"""GE's serialized graphs as text: protobuf's text format, written and read."""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Iterator
from typing import Any

from ge_xdsl.dialects.ge.gepb import (
    DEPTH_LIMIT,
    KINDS,
    PROTO_DTYPES,
    Field,
    GepbError,
    Message,
    by_name,
)

_LIST_NAMES = "NONE STRING INT FLOAT BOOL BYTES TENSOR_DESC TENSOR GRAPH NAMED_ATTRS DATA_TYPE"
_ENUMS: dict[tuple[str, str], dict[int, str]] = {
    ("TensorDescriptor", "dtype"): PROTO_DTYPES,
    ("ListValue", "val_type"): {
        number: f"VT_LIST_{name}" for number, name in enumerate(_LIST_NAMES.split())
    },
    ("OnnxAttr", "type"): {
        1: "FLOAT",
        2: "INT",
        3: "STRING",
        5: "GRAPH",
        6: "FLOATS",
        7: "INTS",
        8: "STRINGS",
    },
}
"""Fields whose numbers have names in the text."""


def text_of(message: Message) -> str:
    """A message as text, two spaces per level, map entries by key."""
    lines: list[str] = []
    _write(message, "", lines)
    return "".join(f"{line}\n" for line in lines)


def _write(message: Message, pad: str, lines: list[str]) -> None:
    for spec in KINDS[message.kind]:
        value = message.fields.get(spec.name)
        if value is None:
            continue
        if spec.type == "map":
            for key in sorted(value):
                lines.append(f"{pad}{spec.name} {{")
                lines.append(f"{pad}  key: {quoted(key.encode('utf-8'))}")
                _nested(value[key], "value", f"{pad}  ", lines)
                lines.append(f"{pad}}}")
            continue
        for item in value if spec.repeated else [value]:
            if isinstance(item, Message):
                _nested(item, spec.name, pad, lines)
            else:
                lines.append(f"{pad}{spec.name}: {_scalar(message.kind, spec, item)}")


def _nested(message: Message, name: str, pad: str, lines: list[str]) -> None:
    lines.append(f"{pad}{name} {{")
    _write(message, f"{pad}  ", lines)
    lines.append(f"{pad}}}")


def _scalar(kind: str, spec: Field, value: Any) -> str:
    if spec.type == "bool":
        return "true" if value else "false"
    if spec.type == "float":
        return float_text(value)
    if spec.type == "string":
        return quoted(value.encode("utf-8"))
    if spec.type == "bytes":
        return quoted(bytes(value))
    names = _ENUMS.get((kind, spec.name), {})
    return names.get(value, str(value))


def float_text(value: float) -> str:
    """The shortest decimal that reads back as the same float32."""
    if value != value:
        return "nan"
    if value in (float("inf"), -float("inf")):
        return "inf" if value > 0 else "-inf"
    for digits in range(6, 10):
        text = f"{value:.{digits}g}"
        if struct.pack("<f", float(text)) == struct.pack("<f", value):
            return text
    return repr(value)


_ESCAPES = {0x0A: "\\n", 0x0D: "\\r", 0x09: "\\t", 0x22: '\\"', 0x27: "\\'", 0x5C: "\\\\"}


def quoted(data: bytes) -> str:
    """Bytes as a text-format literal."""
    parts = [
        _ESCAPES.get(byte) or (chr(byte) if 0x20 <= byte < 0x7F else f"\\{byte:03o}")
        for byte in data
    ]
    return f'"{"".join(parts)}"'


# Reading

_TOKEN = re.compile(
    r"""\s+|\#[^\n]*|(?P<string>"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')"""
    r"|(?P<word>[A-Za-z_][\w.]*)|(?P<number>-?(?:0[xX][\da-fA-F]+|(?:\d+\.?\d*|\.\d+)"
    r"(?:[eE][+-]?\d+)?)f?)|(?P<mark>[{}<>:;,\[\]-])",
    re.ASCII,
)

Token = tuple[str, str, int]
"""Group of the token, its text, and its line from 1."""


def parse(kind: str, text: str) -> Message:
    """The message in a text; raises GepbError that names the line for anything else."""
    tokens = _Tokens(text)
    message = _message(kind, tokens, "", DEPTH_LIMIT)
    return message


class _Tokens:
    """The tokens of a text, one at a time."""

    def __init__(self, text: str) -> None:
        self.stream = self._scan(text)
        self.line = 1
        self.next: Token = ("", "", 1)
        self.take()

    def _scan(self, text: str) -> Iterator[Token]:
        position, line = 0, 1
        while position < len(text):
            found = _TOKEN.match(text, position)
            if found is None:
                raise GepbError(f"line {line}: {text[position]!r}, expected a field")
            if found.lastgroup is not None:
                yield found.lastgroup, found.group(), line
            line += found.group().count("\n")
            position = found.end()

    def take(self) -> Token:
        """The current token; the next one becomes current."""
        token = self.next
        self.next = next(self.stream, ("", "", token[2]))
        return token

    def accept(self, text: str) -> bool:
        """Take the current token if it is this mark."""
        if self.next[0] == "mark" and self.next[1] == text:
            self.take()
            return True
        return False

    def fail(self, expected: str) -> GepbError:
        """The error at the current token."""
        _, text, line = self.next
        return GepbError(f"line {line}: {text or 'the end'!r}, expected {expected}")


def _message(kind: str, tokens: _Tokens, closing: str, depth: int) -> Message:
    if depth == 0:
        raise GepbError(f"messages are nested deeper than {DEPTH_LIMIT}, expected fewer")
    message = Message(kind)
    while not (closing and tokens.accept(closing)):
        if not tokens.next[0] and not closing:
            break
        if tokens.next[0] != "word":
            raise tokens.fail(f"a field of {kind}")
        _field(message, tokens, depth)
        if not tokens.accept(","):
            tokens.accept(";")
    return message


def _field(message: Message, tokens: _Tokens, depth: int) -> None:
    name = tokens.take()[1]
    spec = by_name(message.kind).get(name)
    has_colon = tokens.accept(":")
    if spec is None:
        _skip(tokens, depth)
        return
    if spec.type == "map":
        key, value = _entry(tokens, depth)
        message.fields.setdefault(name, {})[key] = value
        return
    many = has_colon and tokens.accept("[")
    while not (many and tokens.accept("]")):
        value = _value(message.kind, spec, tokens, depth)
        if spec.repeated:
            message.fields.setdefault(name, []).append(value)
        else:
            message.fields[name] = value
        if not many:
            break
        tokens.accept(",")


def _entry(tokens: _Tokens, depth: int) -> tuple[str, Message]:
    key, value = "", Message("AttrDef")
    closing = _opened(tokens)
    while not tokens.accept(closing):
        name = tokens.take()[1] if tokens.next[0] == "word" else ""
        tokens.accept(":")
        if name == "key":
            key = _bytes(tokens).decode("utf-8", "replace")
        elif name == "value":
            value = _message("AttrDef", tokens, _opened(tokens), depth - 1)
        else:
            raise tokens.fail("key or value of a map entry")
    return key, value


def _opened(tokens: _Tokens) -> str:
    """The mark that ends the message which the current token opens."""
    if tokens.accept("{"):
        return "}"
    if tokens.accept("<"):
        return ">"
    raise tokens.fail("{")


def _value(kind: str, spec: Field, tokens: _Tokens, depth: int) -> Any:
    if spec.type in KINDS:
        return _message(spec.type, tokens, _opened(tokens), depth - 1)
    if spec.type == "bytes":
        return _bytes(tokens)
    if spec.type == "string":
        try:
            return _bytes(tokens).decode("utf-8")
        except UnicodeDecodeError:
            raise GepbError(f"field {spec.name} is no UTF-8 text, expected some") from None
    read = _NUMBERS[spec.type]
    sign = "-" if tokens.accept("-") else ""
    group, text, _ = tokens.next
    if group == "word":
        numbers = {name: str(number) for number, name in _ENUMS.get((kind, spec.name), {}).items()}
        text = numbers.get(text, text)
    try:
        found = read(sign + text)
    except (ValueError, OverflowError):
        raise tokens.fail(f"{spec.type} for field {spec.name}") from None
    tokens.take()
    return found


def _integer(text: str) -> int:
    value = int(text, 16) if "x" in text.lower() else int(text)
    if not -(2**63) <= value < 2**64:
        raise ValueError(text)
    return value


def _boolean(text: str) -> bool:
    return {"true": True, "t": True, "1": True, "false": False, "f": False, "0": False}[text]


def _float(text: str) -> float:
    value = float(text.rstrip("f") if text[-1:] == "f" and "inf" not in text else text)
    return struct.unpack("<f", struct.pack("<f", value))[0]


def _flag(text: str) -> bool:
    try:
        return _boolean(text)
    except KeyError:
        raise ValueError(text) from None


_NUMBERS: dict[str, Callable[[str], Any]] = {"int": _integer, "bool": _flag, "float": _float}


def _bytes(tokens: _Tokens) -> bytes:
    """One or more literals in a row."""
    parts: list[bytes] = []
    while tokens.next[0] == "string":
        parts.append(_unquoted(tokens.take()[1][1:-1]))
    if not parts:
        raise tokens.fail("a string")
    return b"".join(parts)


_ESCAPE = re.compile(r"\\([0-7]{1,3}|[xX][\da-fA-F]{1,2}|.)", re.DOTALL)
_PLAIN = {"n": b"\n", "r": b"\r", "t": b"\t", "a": b"\a", "b": b"\b", "f": b"\f", "v": b"\v"}


def _unquoted(text: str) -> bytes:
    parts: list[bytes] = []
    position = 0
    for found in _ESCAPE.finditer(text):
        parts.append(text[position : found.start()].encode("utf-8"))
        code = found.group(1)
        if code[0] in "01234567":
            parts.append(bytes([int(code, 8) & 0xFF]))
        elif code[0] in "xX" and len(code) > 1:
            parts.append(bytes([int(code[1:], 16)]))
        else:
            parts.append(_PLAIN.get(code, code.encode("utf-8")))
        position = found.end()
    parts.append(text[position:].encode("utf-8"))
    return b"".join(parts)


def _skip(tokens: _Tokens, depth: int) -> None:
    """Pass over the value of a field that is not known."""
    if tokens.next[1] in ("{", "<", "[") and tokens.next[0] == "mark":
        _skip_nested(tokens)
    elif depth and tokens.next[0] in ("string", "word", "number", "mark"):
        tokens.accept("-")
        strings = tokens.next[0] == "string"
        tokens.take()
        while strings and tokens.next[0] == "string":
            tokens.take()
    else:
        raise tokens.fail("a value")


def _skip_nested(tokens: _Tokens) -> None:
    level = 0
    while True:
        group, text, _ = tokens.next
        if not group:
            raise tokens.fail("the end of a field")
        tokens.take()
        if group == "mark":
            level += (text in "{<[") - (text in "}>]")
        if level == 0:
            return
