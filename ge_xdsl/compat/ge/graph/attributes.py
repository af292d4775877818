"""Attribute values of the graph API: how Python values are stored and read back."""

# The API names its own internals with underscores; this package shares them.
# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Mapping, MutableMapping
from typing import Any, NoReturn, cast

from xdsl.ir import Attribute

from ge_xdsl.compat.ge._quirks import upstream_quirks
from ge_xdsl.compat.ge.graph.tensor import Tensor
from ge_xdsl.dialects.ge.op import GeOp, extra_key
from ge_xdsl.dialects.ge.prototype import AttrKind, decode, encode, kind_of
from ge_xdsl.dialects.ge.types import DataType, numpy_dtype
from ge_xdsl.dialects.ge.weights import const_attr

_SCALARS: tuple[tuple[type, AttrKind], ...] = (
    (str, "String"),
    (float, "Float"),
    (bool, "Bool"),
    (DataType, "Type"),
    (Tensor, "Tensor"),
    (int, "Int"),
)
_ITEMS: tuple[tuple[type, AttrKind], ...] = (
    (float, "ListFloat"),
    (bool, "ListBool"),
    (int, "ListInt"),
    (str, "ListString"),
)


def check_key(key: object, what: str = "Attribute key") -> None:
    """Raise TypeError for an attribute name that is no string."""
    if not isinstance(key, str):
        raise TypeError(f"{what} must be a string")


def kind_of_value(value: Any) -> AttrKind:
    """The attribute kind of a Python value; raises ValueError when GE stores no such value."""
    for cls, kind in _SCALARS:
        if isinstance(value, cls):
            return kind
    if isinstance(value, list):
        items = cast("list[Any]", value)
        if not items:
            raise ValueError("Empty list is not supported")
        for cls, kind in _ITEMS:
            if all(isinstance(item, cls) for item in items):
                return kind
    cls = type(cast("object", value))
    raise ValueError(f"Unsupported attribute type: {cls} for value: {value}")


def attribute_of(value: Any, key: str = "") -> Attribute:
    """The IR attribute of a Python value; `key` names the weight of a large tensor."""
    kind = kind_of_value(value)
    if isinstance(value, Tensor):
        return tensor_attribute(value, key)
    if kind == "Int":
        value = _wrapped(value)
    elif kind == "ListInt":
        value = [_wrapped(item) for item in value]
    return encode(kind, value)


def _wrapped(value: int) -> int:
    """An integer as the 64 signed bits that GE keeps of it."""
    return (int(value) + (1 << 63)) % (1 << 64) - (1 << 63)


def tensor_attribute(tensor: Tensor, key: str) -> Attribute:
    """The IR attribute of a tensor; one without data has no elements."""
    array = tensor._values()
    if array is None:
        import numpy as np

        array = np.zeros(0, numpy_dtype(tensor.data_type))
    return const_attr(array, key, tensor.data_type)


def value_of(attr: Attribute) -> Any:
    """The Python value of a stored attribute; raises RuntimeError for kinds GE cannot read."""
    kind = kind_of(attr)
    if kind == "Tensor":
        from ge_xdsl.dialects.ge.weights import tensor_of_const

        known = tensor_of_const(attr)
        try:
            return Tensor._create_from(decode(attr), None if known is None else known.dtype)
        except ValueError as error:
            raise RuntimeError(f"Failed to read the tensor: {error}") from None
    value: Any = decode(attr)
    if value == ():
        if upstream_quirks():
            raise RuntimeError("Failed to get list value: the list is empty")
        return []
    if kind is None or kind == "ListListInt":
        raise RuntimeError(f"Unsupported attribute type: {attr.name}")
    if kind.startswith("List"):
        return [int(item) if kind == "ListType" else item for item in value]
    return value


def op_attribute(op: GeOp, key: str) -> Attribute | None:
    """A stored attribute of an op: a declared one, else one that the prototype does not have."""
    if key in op.prototype.attr_by_name:
        return op.properties.get(key)
    return op.attributes.get(extra_key(key))


def set_op_attribute(op: GeOp, key: str, value: Any) -> None:
    """Store an attribute of an op: a declared one in its declared kind.

    Raises ValueError for a value that GE does not store or that the prototype does not allow.
    """
    attr = attribute_of(value, op.node_name)
    spec = op.prototype.attr_by_name.get(key)
    if spec is None:
        op.attributes[extra_key(key)] = attr
        return
    try:
        op.properties[key] = attr if spec.kind == "Tensor" else encode(spec.kind, value)
    except ValueError as error:
        raise ValueError(f"attribute '{key}' of {op.op_type} {error}") from None


def get_extra(attributes: Mapping[str, Attribute], key: str) -> Attribute | None:
    """A stored attribute that no prototype declares."""
    return attributes.get(extra_key(key))


def set_extra(attributes: MutableMapping[str, Attribute], key: str, value: Any) -> None:
    attributes[extra_key(key)] = attribute_of(value, key)


def missing(key: str, owner: str) -> NoReturn:
    raise RuntimeError(f"Failed to get attribute '{key}' from {owner}")
