"""When two attributes or constants count as the same: bit for bit, defaults filled in."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import TYPE_CHECKING, Any, cast

from xdsl.dialects.builtin import DenseIntOrFPElementsAttr
from xdsl.ir import Attribute

from ge_xdsl.dialects.ge.assembly import float_text
from ge_xdsl.dialects.ge.op import GeOp
from ge_xdsl.dialects.ge.prototype import AttrSpec, decode
from ge_xdsl.dialects.ge.types import tensor_of
from ge_xdsl.dialects.ge.weights import WeightAttr, array_of, same_bytes, tensor_of_const

if TYPE_CHECKING:
    from ge_xdsl.dialects.ge.types import Array

SHOWN = 4
"""Constants of up to so many elements are shown in reasons."""


def attr_value(op: GeOp, spec: AttrSpec) -> Any:
    """The decoded value of a declared attribute, or its default; None when it has none."""
    stored = op.properties.get(spec.name)
    return spec.unset if stored is None else decode(stored)


def attr_text(value: Any) -> str:
    """An attribute's value as reasons print it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return float_text(value)
    if isinstance(value, list | tuple):
        items = cast("Sequence[Any]", value)
        return f"[{', '.join(attr_text(v) for v in items)}]"
    return getattr(value, "name", None) or str(value)


def same_value(a: Any, b: Any) -> bool:
    """Equality of decoded attribute values by bits: -0.0 is not 0.0, NaN is NaN, 1 is not true."""
    if a is b:
        return True
    if hasattr(a, "dtype") or hasattr(b, "dtype"):
        return same_array(a, b)
    return _text(a) == _text(b)


def _text(value: Any) -> str:
    # A list and a tuple of the same values are one attribute.
    if isinstance(value, list | tuple):
        return f"[{','.join(_text(v) for v in cast('Sequence[Any]', value))}]"
    return repr(value)


def same_array(a: Array | None, b: Array | None) -> bool:
    if a is None or b is None:
        return a is b
    return a.dtype == b.dtype and a.shape == b.shape and same_bytes(a, b)


def same_property(op: GeOp, name: str, expected: Any) -> bool:
    """Whether the declared attribute `name` of `op` has the decoded value `expected`.

    An attribute that is required but missing is the same as nothing.
    """
    spec = op.prototype.attr_by_name.get(name)
    return spec is not None and same_value(attr_value(op, spec), expected)


def same_constant(op: GeOp, expected: Attribute | None) -> bool:
    """Whether a constant op has the shape, element type and bytes of `expected`.

    No expectation fits any constant; a constant without data fits none.
    """
    if expected is None:
        return True
    attr = op.properties.get("value")
    if attr is expected:
        return True
    if attr is None or not _same_tensor(attr, expected):
        return False
    ours, theirs = _raw(attr), _raw(expected)
    if ours is not None and theirs is not None:
        if ours == theirs:
            return True
        if len(ours) == len(theirs):
            return False
    elif not _has_data(attr) or not _has_data(expected):
        return False
    return same_array(_array(op.properties["value"]), _array(expected))


_dense_type: Callable[[Attribute], Attribute] = attrgetter("type")


def _same_tensor(a: Attribute, b: Attribute) -> bool:
    """Whether two constants have one shape and element type."""
    if type(a) is DenseIntOrFPElementsAttr and type(b) is DenseIntOrFPElementsAttr:
        ours, theirs = _dense_type(a), _dense_type(b)
        return ours is theirs or tensor_of(ours) == tensor_of(theirs)
    return tensor_of_const(a) == tensor_of_const(b)


def _raw(attr: Attribute) -> bytes | None:
    """The bytes of an inline constant; fewer than its type says when all elements are equal."""
    return attr.data.data if isinstance(attr, DenseIntOrFPElementsAttr) else None


def _has_data(attr: Attribute) -> bool:
    return not isinstance(attr, WeightAttr) or attr.data.attached


def _array(attr: Attribute) -> Array:
    return array_of(cast("DenseIntOrFPElementsAttr[Any] | WeightAttr", attr))


def constant_difference(op: GeOp, expected: Attribute) -> str:
    """How a constant differs from the pattern's: its type, or its value."""
    attr = op.properties.get("value")
    if attr is None or not _has_data(attr):
        return "const has no value, expected one"
    ours, theirs = tensor_of_const(attr), tensor_of_const(expected)
    if not _has_data(expected):
        return f"const is {ours}, expected {theirs}"
    have, want = _array(attr), _array(expected)
    if ours != theirs:
        same = have.shape == want.shape and bool((have == want).all())
        return f"const is {ours}, expected {theirs}" + (" of the same value" if same else "")
    if have.size > SHOWN:
        return f"const value differs in {int((have != want).sum())} of {have.size} elements"
    return f"const value is {have.tolist()}, expected {want.tolist()}"
