"""Long dense literals, read at once: `dense<[[1.0, 2.0], ...]> : tensor<...>` of plain numbers.

The general parser makes an object of each element. Here the brackets are held against the type's
shape and the numbers converted together. Whatever does not fit (other numbers than decimal ones,
values out of range, another shape, mistakes) is left to the general parser, which accepts the same
language and writes the errors.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from xdsl.dialects.builtin import BytesAttr, DenseIntOrFPElementsAttr

from ge_xdsl.dialects.ge.types import is_tensor_type, numpy_dtype, tensor_of

if TYPE_CHECKING:
    from ge_xdsl.dialects.ge.types import Array

LEAST = 1 << 10
"""Shortest literal, in characters, that is read here."""

_LITERAL = re.compile(r"<(\[[-+.\deE,\[\]\s]*+)>", re.ASCII)
_INTEGER = r"-?[0-9]++"
_FLOAT = r"-?[0-9]++\.[0-9]*+(?:[eE][-+]?[0-9]++)?+"
_SPACES = r"[ \n\t]*+"
_LISTS = {
    kind: re.compile(f"{_SPACES}{number}{_SPACES}(?:,{_SPACES}{number}{_SPACES})*+", re.ASCII)
    for kind, number in (("i", _INTEGER), ("u", _INTEGER), ("f", _FLOAT))
}
_BRACKETS = re.compile(r"[^\[\],]+")


def literal_at(text: str, start: int) -> re.Match[str] | None:
    """The literal that opens with `<` at `start`, when it is long and of plain characters."""
    found = _LITERAL.match(text, start)
    return found if found is not None and found.end() - start >= LEAST else None


def dense_of(literal: str, type_: Any) -> DenseIntOrFPElementsAttr | None:
    """The attribute of a literal of a tensor type, None when only the general parser can tell."""
    if not is_tensor_type(type_):
        return None
    tensor = tensor_of(type_)
    if not tensor.shape or min(tensor.shape) < 1 or tensor.dtype.name not in _TYPES:
        return None
    if _BRACKETS.sub("", literal) != _brackets(tensor.shape):
        return None
    array = _numbers(literal, numpy_dtype(tensor.dtype))
    if array is None:
        return None
    return DenseIntOrFPElementsAttr(type_, BytesAttr(array.tobytes()))


_TYPES = frozenset(
    {
        *("DT_FLOAT", "DT_FLOAT16", "DT_DOUBLE", "DT_INT8", "DT_INT16", "DT_INT32", "DT_INT64"),
        *("DT_UINT8", "DT_UINT16", "DT_UINT32", "DT_UINT64"),
    }
)
"""The element types whose numbers numpy converts as the general parser does."""


def _brackets(shape: Sequence[int]) -> str:
    """The brackets and commas of a literal of this shape."""
    text = ""
    for dim in reversed(shape):
        text = f"[{','.join([text] * dim)}]"
    return text


def _numbers(literal: str, dtype: Any) -> Array | None:
    """The numbers of a literal in order; None for others than decimal ones that the type holds."""
    import numpy as np

    flat = literal.replace("[", " ").replace("]", " ")
    if _LISTS[dtype.kind].fullmatch(flat) is None:
        return None
    words = flat.split(",")
    try:
        if dtype.kind == "f":
            with np.errstate(over="ignore"):
                array = np.array([float(word) for word in words]).astype(dtype)
            return array if np.isfinite(array).all() else None
        return np.array([int(word) for word in words], dtype)
    except (OverflowError, ValueError):
        return None
