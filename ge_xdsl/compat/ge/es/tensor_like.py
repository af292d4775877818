"""`ge.es.tensor_like`: Python numbers and lists as constants of a graph that is being built."""

# The API names its own internals with underscores; this package shares them.
# pyright: reportPrivateUsage=false

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias, Union, cast

from ge_xdsl.compat.ge.graph.tensor import any_is, flatten
from ge_xdsl.dialects.ge.types import DataType

if TYPE_CHECKING:
    from ge_xdsl.compat.ge.es.graph_builder import GraphBuilder
    from ge_xdsl.compat.ge.es.tensor_holder import TensorHolder

Number: TypeAlias = int | float
TensorLike: TypeAlias = Union["TensorHolder", Number, list[Any]]

_LEAF = "Value must be int|float or nested lists of int|float"


def convert_to_tensor_holder(value: Any, owner_builder: GraphBuilder) -> TensorHolder | None:
    """A holder for `value`: itself, a new Const for a number or nested list, None for None.

    Integers become int64, a list with one float becomes float32. Raises TypeError for other
    values, ValueError for ragged lists.
    """
    from ge_xdsl.compat.ge.es.tensor_holder import TensorHolder

    if value is None or isinstance(value, TensorHolder):
        return value
    if not isinstance(value, int | float | list):
        raise TypeError(
            "Value must be TensorHolder or int|float or nested lists of int|float, "
            f"not {type(value).__name__}"
        )
    flat, shape = _flatten_and_infer_shape(cast("Any", value))
    dtype = DataType.DT_FLOAT if any_is(flat, float) else DataType.DT_INT64
    return owner_builder._constant(flat, dtype, shape, "scalar")


def resolve_builder(*values: Any) -> GraphBuilder:
    """The first builder among the arguments, or the builder of the first holder."""
    from ge_xdsl.compat.ge.es.graph_builder import GraphBuilder
    from ge_xdsl.compat.ge.es.tensor_holder import TensorHolder

    if not values:
        raise ValueError("At least one argument is required to resolve GraphBuilder")
    for value in values:
        if isinstance(value, GraphBuilder):
            return value
        if isinstance(value, TensorHolder):
            return value.get_owner_builder()
    raise ValueError(
        "Please ensure at least one input tensor or an explicit owner_builder is provided "
        "when supported"
    )


def _flatten_and_infer_shape(value: Any) -> tuple[list[Any], list[int]]:
    """The leaves of nested lists and their shape; raises for ragged lists and other leaves."""
    shape = _shape(value)
    flat = flatten(value)
    if shape.count(0) and shape != [0]:
        raise TypeError(_LEAF)
    if not all(issubclass(kind, int | float) for kind in set(map(type, flat))):
        raise TypeError(_LEAF)
    return flat, shape


def _shape(value: Any) -> list[int]:
    if not isinstance(value, list):
        return []
    parts = cast("list[Any]", value)
    if not any_is(parts, list):
        return [len(parts)]
    shapes = [_shape(part) for part in parts]
    if any(shape != shapes[0] for shape in shapes):
        raise ValueError("Irregular nested list: all sub-lists must have the same shape")
    return [len(parts), *shapes[0]]


def _unflatten(flat: list[Any], shape: list[int]) -> Any:
    """Nested lists of `shape` over a flat list."""
    if not shape:
        raise ValueError("Shape cannot be empty")
    count = 1
    for dim in shape:
        count *= dim
    if len(flat) != count:
        raise ValueError(f"Length of list {len(flat)} does not match shape {shape}")
    if len(shape) == 1:
        return list(flat)
    step = count // shape[0] if shape[0] else 0
    return [_unflatten(flat[i * step : (i + 1) * step], shape[1:]) for i in range(shape[0])]


__all__ = ["Number", "TensorLike", "convert_to_tensor_holder", "resolve_builder"]

_PRIVATE = (_flatten_and_infer_shape, _unflatten)
"""Helpers that GE's own tests import by name."""
