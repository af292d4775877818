"""Scopes that mark every node created inside them: attributes and control dependencies."""

# The API names its own internals with underscores; this package shares them.
# pyright: reportPrivateUsage=false

from __future__ import annotations

import threading
from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from ge_xdsl.compat.ge.graph.node import node_of
from ge_xdsl.dialects.ge.nodes import Handle, anchors

if TYPE_CHECKING:
    from ge_xdsl.compat.ge.es.tensor_holder import TensorHolder


class _Scopes(threading.local):
    def __init__(self) -> None:
        self.attrs: dict[str, Any] = {}
        self.sources: list[TensorHolder] = []


_scopes = _Scopes()


@contextmanager
def attr_scope(attr_maps: dict[str, Any]) -> Generator[None]:
    """Give every node created inside these attributes; an inner scope overrides an outer one."""
    saved = _scopes.attrs
    _scopes.attrs = {**saved, **attr_maps}
    try:
        yield
    finally:
        _scopes.attrs = saved


@contextmanager
def control_dependency_scope(tensors: list[TensorHolder]) -> Generator[None]:
    """Make every node created inside run after the producers of `tensors`."""
    saved = _scopes.sources
    _scopes.sources = [*saved, *tensors]
    try:
        yield
    finally:
        _scopes.sources = saved


def apply_scopes(handle: Handle) -> None:
    """Mark a node that was just created."""
    if _scopes.attrs:
        node = node_of(handle)
        for key, value in _scopes.attrs.items():
            node.set_attr(key, value)
    for source in _scopes.sources:
        builder = source.get_owner_builder()
        builder._depend(anchors(handle), source._anchor())
