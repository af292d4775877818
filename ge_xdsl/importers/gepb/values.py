"""Parts of GE's messages as values of the IR: descriptions, constants and attributes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, StringAttr
from xdsl.ir import Attribute

from ge_xdsl.dialects.ge import hifloat8
from ge_xdsl.dialects.ge.gepb import ATTR_DEF, PROTO_DTYPES, Message
from ge_xdsl.dialects.ge.gepb_text import text_of
from ge_xdsl.dialects.ge.prototype import AttrKind, encode
from ge_xdsl.dialects.ge.types import (
    DYNAMIC,
    RANK_LIMIT,
    DataType,
    Format,
    Layout,
    Tensor,
)
from ge_xdsl.dialects.ge.weights import const_attr

_SCALARS: tuple[tuple[str, AttrKind], ...] = (
    ("s", "String"),
    ("i", "Int"),
    ("f", "Float"),
    ("b", "Bool"),
    ("dt", "Type"),
)
_LISTS: dict[str, AttrKind] = {
    "s": "ListString",
    "i": "ListInt",
    "f": "ListFloat",
    "b": "ListBool",
    "dt": "ListType",
}


def text(value: Any) -> str:
    """A `bytes` field that holds text; raises ValueError when it does not."""
    try:
        return bytes(value).decode("utf-8")
    except UnicodeDecodeError:
        raise ValueError("attribute is no UTF-8 text, expected a string") from None


def tensor_of_descriptor(desc: Message) -> Tensor:
    """Element type, shape and layout of a description; raises ValueError for unknown ones."""
    number = desc.get("dtype")
    name = PROTO_DTYPES.get(number)
    if name is None:
        raise ValueError(f"element type is number {number}, expected one of GE's")
    shape_def = desc.get("shape")
    dims: Sequence[int] = () if shape_def is None else shape_def.get("dim")
    shape = _shape(dims)
    layout = _layout(desc, shape)
    return Tensor(DataType[name], shape, Layout() if shape is None else layout)


def _layout(desc: Message, shape: tuple[int, ...] | None) -> Layout:
    attrs = desc.get("attr")
    storage = _format(desc.get("layout"))
    given = attrs.get("origin_format")
    origin = storage if given is None else _format(text(given.get("s")))
    known = attrs.get("origin_shape_initialized")
    dims = attrs.get("origin_shape")
    if dims is None or (known is not None and not known.get("b")):
        return Layout(storage, origin)
    listed = dims.get("list")
    before = _shape([] if listed is None else listed.get("i"))
    return Layout(storage, origin, None if before == shape else before)


def _format(name: str) -> Format:
    if not name:
        return Format.FORMAT_ND
    found = Format.__members__.get(f"FORMAT_{name}")
    if found is None:
        raise ValueError(f"format is '{name}', expected one of GE's")
    return found


def _shape(dims: Sequence[int]) -> tuple[int, ...] | None:
    if len(dims) > RANK_LIMIT:
        raise ValueError(f"shape has {len(dims)} dimensions, expected at most {RANK_LIMIT}")
    if list(dims) == [-2]:
        return None
    if any(dim < -1 for dim in dims):
        raise ValueError(f"shape is {list(dims)}, expected dimensions of at least -1")
    return tuple(DYNAMIC if dim == -1 else dim for dim in dims)


def constant(value: Message, key: str) -> Attribute:
    """The attribute of a TensorDef, whose bytes are not copied; raises ValueError."""
    import numpy as np

    desc = value.get("desc")
    tensor = tensor_of_descriptor(desc if desc is not None else Message("TensorDescriptor"))
    size = tensor.size()
    if size is None:
        raise ValueError(f"constant is {tensor}, expected a known shape")
    kind = hifloat8.stored_kind(tensor.dtype)
    data = memoryview(value.get("data"))
    if kind.hasobject or size * kind.itemsize != len(data):
        raise ValueError(
            f"constant has {len(data)} bytes, expected {size * kind.itemsize} for {tensor}"
        )
    array = np.frombuffer(data, kind).reshape(tensor.shape or ())
    return const_attr(hifloat8.from_stored(array, tensor.dtype), key, tensor.dtype)


def attribute(value: Message, kind: AttrKind | None, key: str) -> Attribute:
    """The IR's form of an attribute value, of the declared `kind` or else of its own.

    `key` names the weight of a large tensor. Raises ValueError for a value that fits neither.
    """
    given = value.get("t")
    if given is not None:
        if kind not in (None, "Tensor"):
            raise ValueError(f"is a tensor, expected {kind}")
        return constant(given, key)
    own, plain = _plain(value)
    if own is None:
        if kind is None or not kind.startswith("List"):
            raise ValueError(f"is {_what(value)}, expected {kind or 'a value'}")
        own = kind
    return encode(kind or own, plain)


def _plain(value: Message) -> tuple[AttrKind | None, Any]:
    """Kind and Python value of an attribute; no kind for an empty list and for unknown forms."""
    for name, kind in _SCALARS:
        found = value.fields.get(name)
        if found is not None:
            return kind, text(found) if name == "s" else found
    rows = value.get("list_list_int")
    if rows is not None:
        return "ListListInt", [row.get("list_i") for row in rows.get("list_list_i")]
    listed = value.get("list")
    for name, kind in _LISTS.items() if listed is not None else ():
        items = cast("Message", listed).get(name)
        if items:
            return kind, [text(item) for item in items] if name == "s" else items
    return None, []


def _what(value: Message) -> str:
    return f"a value of form {next(iter(value.fields), 'none')}"


def is_empty_list(value: Message) -> bool:
    """Whether an attribute is a list without elements, of whatever kind."""
    listed = value.get("list")
    return listed is not None and not any(
        items for name, items in listed.fields.items() if name != "val_type"
    )


def undeclared(value: Message, key: str) -> Attribute:
    """The IR's form of an attribute that no prototype declares.

    One of a kind that the IR has no values for (a function, a graph, bytes, a description) is its
    text in GE's form, under `ATTR_DEF`.
    """
    if is_empty_list(value):
        return ArrayAttr([])
    if value.get("t") is None and _plain(value)[0] is None:
        return DictionaryAttr({ATTR_DEF: StringAttr(text_of(value))})
    return attribute(value, None, key)
