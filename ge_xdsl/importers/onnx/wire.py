"""Finding the weights in a serialized ONNX model, so that they are neither parsed nor copied.

A protobuf message is a run of fields: a varint `number << 3 | wire type`, then a varint (0),
8 bytes (1), a length and that many bytes (2) or 4 bytes (5). The model's graph is field 7, a
graph's initializer field 5, a tensor's raw data field 9. `split` cuts the raw data of large
initializers out, and what is left is a small model that the protobuf library parses as usual.
"""

from __future__ import annotations

from collections.abc import Iterator

GRAPH = 7
INITIALIZER = 5
RAW_DATA = 9
SMALL = 4096
"""Initializers of at most this many bytes stay in the message."""

Piece = tuple[int, int]
"""A half-open range of the file that is kept."""


class MalformedError(Exception):
    """The bytes are no run of fields; the protobuf library is left to say so."""


def split(data: memoryview) -> tuple[bytes, dict[int, Piece]]:
    """The model without the raw data of its large initializers, and where these stand.

    Keys of the result are positions among all initializers. Malformed bytes come back as they are.
    """
    cut: dict[int, Piece] = {}
    try:
        return _model(data, cut), cut
    except (MalformedError, IndexError):
        return bytes(data), {}


def _fields(data: memoryview, start: int, end: int) -> Iterator[tuple[int, int, int, int]]:
    """(number, start of the tag, start of the payload, end) of each field; length-delimited ones
    have number > 0, others their number negated."""
    position = start
    while position < end:
        tag, body = _varint(data, position)
        kind = tag & 7
        if kind == 2:
            length, body = _varint(data, body)
            stop = body + length
        elif kind == 0:
            stop = _varint(data, body)[1]
        elif kind in (1, 5):
            stop = body + (8 if kind == 1 else 4)
        else:
            raise MalformedError
        if stop > end:
            raise MalformedError
        yield (tag >> 3 if kind == 2 else -(tag >> 3)), position, body, stop
        position = stop


def _varint(data: memoryview, position: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, position
        shift += 7
        if shift > 63:
            raise MalformedError


def _encoded(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _message(number: int, parts: list[bytes | memoryview]) -> list[bytes | memoryview]:
    """A length-delimited field that holds `parts`."""
    return [_encoded(number << 3 | 2) + _encoded(sum(map(len, parts))), *parts]


def _model(data: memoryview, cut: dict[int, Piece]) -> bytes:
    parts: list[bytes | memoryview] = []
    index = 0
    for number, start, body, end in _fields(data, 0, len(data)):
        if number == GRAPH:
            graph, index = _graph(data, body, end, index, cut)
            parts += _message(GRAPH, graph)
        else:
            parts.append(data[start:end])
    return b"".join(parts)


def _graph(
    data: memoryview, start: int, end: int, index: int, cut: dict[int, Piece]
) -> tuple[list[bytes | memoryview], int]:
    parts: list[bytes | memoryview] = []
    kept = start  # start of the run of fields that stay as they are
    for number, field, body, stop in _fields(data, start, end):
        if number != INITIALIZER:
            continue
        if stop - body > SMALL and (raw := _raw_data(data, body, stop)) is not None:
            first, at, after = raw
            cut[index] = (at, after)
            parts.append(data[kept:field])
            parts += _message(INITIALIZER, [data[body:first], data[after:stop]])
            kept = stop
        index += 1
    parts.append(data[kept:end])
    return parts, index


def _raw_data(data: memoryview, start: int, end: int) -> tuple[int, int, int] | None:
    """Tag, start and end of the one raw data field; None when there is none, or several."""
    found = [
        (tag, body, stop)
        for number, tag, body, stop in _fields(data, start, end)
        if number == RAW_DATA
    ]
    return found[0] if len(found) == 1 else None
