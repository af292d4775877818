"""GE's serialized graphs: the field tables of its messages and their binary form.

`ge.proto.ModelDef` is what `.air` files hold in protobuf's wire format and `ge_proto_*.txt` dumps
in its text format (`gepb_text`). A message here is a `Message`: its kind and its set fields by
name, a list for a repeated field and a dictionary for a map.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias, cast

Type: TypeAlias = Literal["int", "bool", "float", "string", "bytes", "map"]

ATTR_DEF = "ge.attr_def"
"""The one key of an attribute of the IR that holds the text of an AttrDef."""
DEPTH_LIMIT = 64
"""Most messages inside each other that are read."""


class GepbError(ValueError):
    """Bytes or text that are no such message."""


@dataclass(frozen=True, slots=True)
class Field:
    """One field: `type` is a scalar type, `map` (to AttrDef), or the kind of a message."""

    number: int
    name: str
    type: str
    repeated: bool = False


@dataclass
class Message:
    """A message: its kind in `KINDS`, and the fields that are set."""

    kind: str
    fields: dict[str, Any] = field(default_factory=dict[str, Any])

    def get(self, name: str) -> Any:
        """A field's value; for one that is not set, its default."""
        found = self.fields.get(name)
        if found is not None:
            return found
        spec = by_name(self.kind)[name]
        if spec.repeated:
            return []
        if spec.type == "map":
            return {}
        return _DEFAULTS.get(spec.type)


_DEFAULTS: dict[str, Any] = {"int": 0, "bool": False, "float": 0.0, "string": "", "bytes": b""}


def _kind(text: str) -> tuple[Field, ...]:
    """Fields from words `number:name:type`, `*` after the type of a repeated one."""
    fields: list[Field] = []
    for word in text.split():
        number, name, kind = word.split(":")
        fields.append(Field(int(number), name, kind.rstrip("*"), kind.endswith("*")))
    return tuple(fields)


_DESCRIPTOR = """1:name:string 2:dtype:int 3:shape:ShapeDef 4:layout:string 5:attr:map
    9:has_out_attr:bool 10:size:int 11:weight_size:int 12:reuse_input:bool 13:output_tensor:bool
    14:device_type:string 15:input_tensor:bool 16:real_dim_cnt:int 17:reuse_input_index:int
    18:data_offset:int 19:cmps_size:int 20:cmps_tab:string 21:cmps_tab_offset:int"""
_OP = """1:name:string 2:type:string 5:input:string* 10:attr:map 20:has_out_attr:bool 21:id:int
    22:stream_id:int 23:input_name:string* 24:src_name:string* 25:src_index:int*
    26:dst_name:string* 27:dst_index:int* 28:input_i:int* 29:output_i:int* 30:workspace:int*
    31:workspace_bytes:int* 32:is_input_const:bool* 33:input_desc:TensorDescriptor*
    34:output_desc:TensorDescriptor* 35:subgraph_name:string*"""
_ATTR = """1:list:ListValue 2:s:bytes 3:i:int 4:f:float 5:b:bool 7:bt:bytes 10:func:NamedAttrs
    11:td:TensorDescriptor 12:t:TensorDef 13:g:GraphDef 14:list_list_int:ListListInt 15:dt:int
    16:list_list_float:ListListFloat 17:expression:string"""
_LIST = """2:s:bytes* 3:i:int* 4:f:float* 5:b:bool* 7:bt:bytes* 8:td:TensorDescriptor*
    9:t:TensorDef* 10:g:GraphDef* 11:na:NamedAttrs* 12:dt:int* 20:val_type:int"""

KINDS: dict[str, tuple[Field, ...]] = {
    "ModelDef": _kind(
        "1:name:string 2:version:int 3:custom_version:string 7:graph:GraphDef* 11:attr:map"
    ),
    "GraphDef": _kind("1:name:string 4:input:string* 5:output:string* 6:op:OpDef* 11:attr:map"),
    "OpDef": _kind(_OP),
    "TensorDescriptor": _kind(_DESCRIPTOR),
    "ShapeDef": _kind("1:dim:int*"),
    "TensorDef": _kind("1:desc:TensorDescriptor 2:data:bytes"),
    "AttrDef": _kind(_ATTR),
    "ListValue": _kind(_LIST),
    "ListListInt": _kind("1:list_list_i:ListInt*"),
    "ListInt": _kind("1:list_i:int*"),
    "ListListFloat": _kind("1:list_list_f:ListFloat*"),
    "ListFloat": _kind("1:list_f:float*"),
    "NamedAttrs": _kind("1:name:string 2:attr:map"),
    "OnnxModel": _kind("1:ir_version:int 2:producer_name:string 7:graph:OnnxGraph"),
    "OnnxGraph": _kind("1:node:OnnxNode* 2:name:string 10:doc_string:string 12:output:OnnxValue*"),
    "OnnxNode": _kind(
        "1:input:string* 2:output:string* 3:name:string 4:op_type:string 5:attribute:OnnxAttr*"
    ),
    "OnnxValue": _kind("1:name:string"),
    "OnnxAttr": _kind(
        "1:name:string 2:f:float 3:i:int 4:s:bytes 6:g:OnnxGraph 7:floats:float* 8:ints:int* "
        "9:strings:bytes* 13:doc_string:string 20:type:int"
    ),
}
"""Kind of message -> its fields. Fields that are not here are skipped when they are read."""

_BY_NUMBER = {kind: {f.number: f for f in fields} for kind, fields in KINDS.items()}
_BY_NAME = {kind: {f.name: f for f in fields} for kind, fields in KINDS.items()}


def by_name(kind: str) -> Mapping[str, Field]:
    """The fields of a kind of message by name."""
    return _BY_NAME[kind]


# Writing


def encode(message: Message) -> bytes:
    """A message in wire format: fields by number, map entries by key."""
    parts: list[bytes] = []
    for spec in KINDS[message.kind]:
        value = message.fields.get(spec.name)
        if value is None:
            continue
        if spec.type == "map":
            for key in sorted(value):
                entry = _encoded(1, "string", key) + _encoded(2, "AttrDef", value[key])
                parts.append(_varint(spec.number << 3 | 2) + _varint(len(entry)) + entry)
        elif spec.repeated:
            parts.append(_repeated(spec, value))
        else:
            parts.append(_encoded(spec.number, spec.type, value))
    return b"".join(parts)


def _repeated(spec: Field, values: list[Any]) -> bytes:
    if spec.type not in _PACKED:
        return b"".join(_encoded(spec.number, spec.type, value) for value in values)
    if not values:
        return b""
    packed = b"".join(_PACKED[spec.type](value) for value in values)
    return _varint(spec.number << 3 | 2) + _varint(len(packed)) + packed


_PACKED: dict[str, Callable[[Any], bytes]] = {
    "int": lambda v: _varint(int(v) & (1 << 64) - 1),
    "bool": lambda v: _varint(int(v)),
    "float": lambda v: struct.pack("<f", v),
}


def _encoded(number: int, kind: str, value: Any) -> bytes:
    scalar = _PACKED.get(kind)
    if scalar is not None:
        return _varint(number << 3 | (5 if kind == "float" else 0)) + scalar(value)
    if kind == "string":
        payload = cast("str", value).encode("utf-8")
    elif kind == "bytes":
        payload = cast("bytes", value)
    else:
        payload = encode(cast("Message", value))
    return _varint(number << 3 | 2) + _varint(len(payload)) + payload


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


# Reading


def decode(kind: str, data: bytes | memoryview) -> Message:
    """The message in wire-format bytes; raises GepbError for anything else.

    `bytes` fields are views of `data`, so that weights are not copied.
    """
    return _decode(kind, memoryview(data), DEPTH_LIMIT)


def _decode(kind: str, data: memoryview, depth: int) -> Message:
    if depth == 0:
        raise GepbError(f"messages are nested deeper than {DEPTH_LIMIT}, expected fewer")
    message = Message(kind)
    known = _BY_NUMBER[kind]
    for number, wire, payload in _fields(data, kind):
        spec = known.get(number)
        if spec is None:
            continue
        if spec.type == "map":
            key, value = _entry(payload, wire, depth, spec)
            message.fields.setdefault(spec.name, {})[key] = value
            continue
        values = _values(spec, wire, payload, depth)
        if spec.repeated:
            message.fields.setdefault(spec.name, []).extend(values)
        elif values:
            message.fields[spec.name] = values[-1]
    return message


def _entry(payload: Any, wire: int, depth: int, spec: Field) -> tuple[str, Message]:
    if wire != 2:
        raise _wrong(spec, wire)
    key, value = "", Message("AttrDef")
    for number, inner, part in _fields(payload, spec.name):
        if number == 1 and inner == 2:
            key = _text(part, spec)
        elif number == 2 and inner == 2:
            value = _decode("AttrDef", part, depth - 1)
    return key, value


def _fields(data: memoryview, kind: str) -> Iterator[tuple[int, int, Any]]:
    """Number, wire type and payload of each field: an integer, 4 bytes, or a view."""
    position, end = 0, len(data)
    while position < end:
        tag, position = _read_varint(data, position, kind)
        wire = tag & 7
        if wire == 0:
            value, position = _read_varint(data, position, kind)
            yield tag >> 3, wire, value
            continue
        if wire == 2:
            size, position = _read_varint(data, position, kind)
        elif wire in (1, 5):
            size = 8 if wire == 1 else 4
        else:
            raise GepbError(f"{kind} has a field of wire type {wire}, expected 0, 1, 2 or 5")
        if position + size > end:
            raise GepbError(f"{kind} ends inside a field, expected {size} more bytes of it")
        yield tag >> 3, wire, data[position : position + size]
        position += size


def _read_varint(data: memoryview, position: int, kind: str) -> tuple[int, int]:
    value = shift = 0
    while position < len(data) and shift < 70:
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & (1 << 64) - 1, position
        shift += 7
    raise GepbError(f"{kind} ends inside a number, expected at most 10 bytes of it")


def _values(spec: Field, wire: int, payload: Any, depth: int) -> list[Any]:
    """The values of one field in the bytes; several when they are packed."""
    if spec.type in ("int", "bool"):
        if wire == 0:
            return [_signed(payload, spec)]
        if wire == 2 and spec.repeated:
            return [_signed(value, spec) for value in _packed(payload, spec)]
    elif spec.type == "float":
        if wire == 5 or (wire == 2 and spec.repeated and len(payload) % 4 == 0):
            return list(struct.unpack(f"<{len(payload) // 4}f", payload))
    elif wire == 2:
        if spec.type == "string":
            return [_text(payload, spec)]
        if spec.type == "bytes":
            return [payload]
        return [_decode(spec.type, payload, depth - 1)]
    raise _wrong(spec, wire)


def _packed(payload: memoryview, spec: Field) -> Iterator[int]:
    position = 0
    while position < len(payload):
        value, position = _read_varint(payload, position, spec.name)
        yield value


def _signed(value: int, spec: Field) -> Any:
    if spec.type == "bool":
        return bool(value)
    return value - (1 << 64) if value >> 63 else value


def _text(payload: memoryview, spec: Field) -> str:
    try:
        return bytes(payload).decode("utf-8")
    except UnicodeDecodeError:
        raise GepbError(f"field {spec.name} is no UTF-8 text, expected some") from None


def _wrong(spec: Field, wire: int) -> GepbError:
    return GepbError(f"field {spec.name} has wire type {wire}, expected that of {spec.type}")


# Enumerations

_PROTO_NAMES = """0:UNDEFINED 1:FLOAT 2:FLOAT16 3:INT8 4:UINT8 5:INT16 6:UINT16 7:INT32 8:INT64
    9:UINT32 10:UINT64 11:BOOL 12:DOUBLE 13:STRING 16:COMPLEX64 17:COMPLEX128 18:QINT8 19:QINT16
    20:QINT32 21:QUINT8 22:QUINT16 23:RESOURCE 24:STRING_REF 25:DUAL 26:VARIANT 27:BF16 28:INT4
    29:UINT1 30:INT2 31:UINT2 32:COMPLEX32 33:HIFLOAT8 34:FLOAT8_E5M2 35:FLOAT8_E4M3FN
    36:FLOAT8_E8M0 37:FLOAT6_E3M2 38:FLOAT6_E2M3 39:FLOAT4_E2M1 40:FLOAT4_E1M2 41:HIFLOAT4"""
PROTO_DTYPES: dict[int, str] = {
    int(number): f"DT_{name}"
    for number, _, name in (word.partition(":") for word in _PROTO_NAMES.split())
}
"""The element type numbers of TensorDescriptor.dtype and GE's names; not those of ge.DataType."""

LIST_KINDS = {"s": 1, "i": 2, "f": 3, "b": 4, "bt": 5, "td": 6, "t": 7, "g": 8, "na": 9, "dt": 10}
"""Field of a ListValue -> its `val_type`."""
