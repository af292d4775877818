"""`ge.passes.pattern`: `@pattern` methods, their `inputs`, and what they may return."""

# The API names its own internals with underscores; this package shares them.
# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

from ge_xdsl.compat.ge.es.graph_builder import GraphBuilder
from ge_xdsl.compat.ge.es.tensor_holder import TensorHolder
from ge_xdsl.compat.ge.graph.graph import Graph
from ge_xdsl.compat.ge.passes.values import NodeIo, Pattern, create_pattern

__all__ = ["NodeIo", "Pattern", "PatternInputs", "create_pattern", "ensure_pattern", "pattern"]

MARK = "__ge_pattern__"
"""The function attribute that `@pattern` sets."""

F = TypeVar("F", bound=Callable[..., Any])


def pattern(method: F) -> F:
    """Mark a method of a PatternFusionPass as one pattern; it stays a plain function."""
    setattr(method, MARK, True)
    return method


INPUT_LIMIT = 10_000
"""Most inputs of one pattern or replacement; all below the highest index are created."""


class PatternInputs:
    """The external inputs of a pattern or replacement, created when they are first named."""

    def __init__(self, builder: GraphBuilder) -> None:
        self._builder = builder
        self._created: list[TensorHolder] = []

    def __getitem__(self, index: int | slice) -> Any:
        """Input `index`, or a list of inputs for a slice with a stop."""
        if isinstance(index, slice):
            start, stop = _bounds(index)
            self._create(stop)
            return self._created[start:stop]
        if not isinstance(cast("object", index), int):
            raise TypeError("PatternInputs index must be an integer or slice")
        if index < 0:
            raise ValueError("PatternInputs index must be non-negative")
        self._create(int(index) + 1)
        return self._created[index]

    def _create(self, count: int) -> None:
        if count > INPUT_LIMIT:
            raise ValueError(
                f"PatternInputs index is {count - 1}, expected less than {INPUT_LIMIT}"
            )
        while len(self._created) < count:
            self._created.append(self._builder.create_input(len(self._created)))

    def __iter__(self) -> Any:
        raise TypeError(
            "PatternInputs cannot be iterated because the input count is unknown; use inputs[:N]"
        )

    def created(self) -> list[TensorHolder]:
        """The inputs created so far, in index order."""
        return list(self._created)


def _bounds(index: slice) -> tuple[int, int]:
    start, stop, step = index.start, index.stop, index.step
    if step not in (None, 1):
        raise ValueError("PatternInputs slice step must be 1")
    if stop is None:
        raise ValueError("PatternInputs slice must provide a stop index, such as inputs[:3]")
    start = 0 if start is None else start
    if not isinstance(start, int) or not isinstance(stop, int):
        raise TypeError("PatternInputs index must be an integer or slice")
    if start < 0 or stop < 0:
        raise ValueError("PatternInputs slice indices must be non-negative")
    if stop < start:
        raise ValueError("PatternInputs slice stop must be greater than or equal to start")
    return start, stop


def ensure_pattern(value: Any) -> Pattern:
    """A Pattern for a Pattern or Graph; raises TypeError for anything else."""
    if isinstance(value, Pattern):
        return value
    if isinstance(value, Graph):
        return create_pattern(value)
    raise TypeError("PatternFusionPass.patterns must return Pattern or Graph objects")


def build_pattern(owner: object, method: Callable[..., Any]) -> Pattern:
    """The pattern that a `@pattern` method describes.

    Captures: the created inputs by index, then the returned tensors in order.
    """
    builder = GraphBuilder(f"{type(owner).__name__}_{method.__name__}_pattern")
    inputs = PatternInputs(builder)
    found = method(owner, inputs)
    if isinstance(found, Pattern | Graph):
        return ensure_pattern(found)
    if _all_of(found, Pattern | Graph):
        raise TypeError(
            "A @pattern method supports a single pattern only, expected one method per pattern"
        )
    outputs = _holders(found, "patterns")
    made = create_pattern(builder.build_and_reset(outputs))
    for tensor in (*inputs.created(), *outputs):
        made._capture_exactly(tensor)
    return made


def build_replacement(owner: object, hook: Callable[..., Any], extra: tuple[Any, ...]) -> Graph:
    """The graph that an expression-style replacement describes."""
    builder = GraphBuilder(f"{type(owner).__name__}_replacement")
    found = hook(owner, PatternInputs(builder), *extra)
    if isinstance(found, Graph):
        return found
    return builder.build_and_reset(_holders(found, "replacement"))


def _holders(found: Any, what: str) -> list[TensorHolder]:
    if isinstance(found, TensorHolder):
        return [found]
    if _all_of(found, TensorHolder):
        return list(found)
    raise TypeError(
        f"Expression-style {what} must return a TensorHolder or a non-empty list/tuple of "
        f"TensorHolder, not {type(found).__name__}"
    )


def _all_of(found: Any, cls: Any) -> bool:
    if not isinstance(found, list | tuple) or not found:
        return False
    return all(isinstance(item, cls) for item in cast("list[Any]", found))
