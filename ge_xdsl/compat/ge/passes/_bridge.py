"""`ge.passes._bridge`: the functions by which an engine creates passes and calls their hooks.

GE's compiler drives passes through these. This project's own engine calls the same classes
directly (`adapters`); tests and tools that speak the protocol find it here.
"""

# The API names its own internals with underscores; this package shares them.
# pyright: reportPrivateUsage=false

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any, TypeVar, cast

from ge_xdsl.compat.ge.graph.graph import Graph, take_function
from ge_xdsl.compat.ge.graph.node import Node
from ge_xdsl.compat.ge.passes._handles import hand_over, held
from ge_xdsl.compat.ge.passes.base import DecomposePass, FusionBasePass, PatternFusionPass
from ge_xdsl.compat.ge.passes.bootstrap import load_pass_plugins
from ge_xdsl.compat.ge.passes.pattern import ensure_pattern
from ge_xdsl.compat.ge.passes.registry import (
    get_registered_pass_by_descriptor_key,
    get_registered_pass_dicts,
)
from ge_xdsl.compat.ge.passes.values import MatchResult, PassContext, PatternMatcherConfig
from ge_xdsl.passes.loader import MODULE_PREFIX

P = TypeVar("P", bound=FusionBasePass)

_holders: dict[int, FusionBasePass] = {}


# Holders


def load_and_get_pass_descriptors() -> list[dict[str, Any]]:
    """Load what the environment names; every registered pass as plain values."""
    load_pass_plugins()
    return get_registered_pass_dicts()


def create_pass_holder(instance_id: int, descriptor_key: str) -> bool:
    """Make the instance of a registered pass, unless that id has one."""
    if instance_id not in _holders:
        descriptor = get_registered_pass_by_descriptor_key(descriptor_key)
        if descriptor is None:
            raise KeyError(f"python pass descriptor is not registered: {descriptor_key}")
        _holders[instance_id] = descriptor.cls()
    return True


def destroy_pass_holder(instance_id: int) -> bool:
    """Forget an instance; whether there was one."""
    return _holders.pop(instance_id, None) is not None


def clear_pass_holders() -> None:
    """Forget every instance."""
    _holders.clear()


def clear_loaded_pass_modules() -> None:
    """Forget the modules of loaded pass files, so that the next load runs them again."""
    for name in [name for name in sys.modules if name.startswith(MODULE_PREFIX)]:
        del sys.modules[name]


def _holder(instance_id: int) -> FusionBasePass:
    found = _holders.get(instance_id)
    if found is None:
        raise KeyError(f"python pass holder is not created: {instance_id}")
    return found


def _holder_of(instance_id: int, cls: type[P]) -> P:
    found = _holder(instance_id)
    if not isinstance(found, cls):
        raise TypeError(f"python pass holder is not {cls.__name__}: {instance_id}")
    return found


# Objects behind handles


def borrow_match_result(handle: int) -> MatchResult:
    """The match behind a handle, for the length of a hook."""
    return MatchResult._create_from(held(handle))


def borrow_node(handle: int) -> Node:
    """The node behind a handle."""
    return Node._create_from(held(handle))


def release_graph(graph: Graph) -> int:
    """Take a graph away from its Python object; the handle of its function."""
    return hand_over(take_function(graph, "Graph handle is empty"))


# Calls


def run_fusion_base_pass(instance_id: int, graph: Any, context: Any = None) -> Any:
    """What the `run` of an instance returns."""
    if context is not None and not isinstance(context, PassContext):
        raise TypeError("context type error")
    return _holder(instance_id).run(graph, cast("PassContext", context))


def get_pass_patterns(instance_id: int) -> list[int]:
    """The handles of an instance's patterns, which are taken away from it."""
    found: Any = _holder_of(instance_id, PatternFusionPass).patterns()
    if found is None:
        return []
    if isinstance(found, str | bytes) or not isinstance(found, Iterable):
        raise TypeError("PatternFusionPass.patterns must return an iterable of Pattern or Graph")
    return [ensure_pattern(item).release() for item in cast("Iterable[Any]", found)]


def get_pattern_matcher_config(instance_id: int) -> int | None:
    """The handle of an instance's matcher options, None when it has none."""
    config: Any = _holder_of(instance_id, PatternFusionPass).matcher_config
    if config is None:
        return None
    if not isinstance(config, PatternMatcherConfig):
        raise TypeError("PatternFusionPass.matcher_config must be PatternMatcherConfig or None")
    return hand_over(config)


def call_meet_requirements(instance_id: int, handle: int, context: Any = None) -> bool:
    """Whether an instance accepts a match; the match ends with the call."""
    owner = _holder_of(instance_id, PatternFusionPass)
    match = borrow_match_result(handle)
    try:
        return bool(owner.meet_requirements(match, context))
    finally:
        match._invalidate()


def call_replacement(instance_id: int, handle: int, context: Any = None) -> int:
    """The handle of an instance's replacement of a match, which ends with the call."""
    owner = _holder_of(instance_id, PatternFusionPass)
    match = borrow_match_result(handle)
    try:
        graph = owner.replacement(match, context)
    finally:
        match._invalidate()
    if not isinstance(graph, Graph):
        raise TypeError("PatternFusionPass.replacement must return ge.graph.Graph")
    return release_graph(graph)


def call_decompose_meet_requirements(instance_id: int, handle: int, context: Any = None) -> bool:
    """Whether an instance accepts a node."""
    owner = _holder_of(instance_id, DecomposePass)
    return bool(owner.meet_requirements(borrow_node(handle), context))


def call_decompose_replacement(instance_id: int, handle: int, context: Any = None) -> int:
    """The handle of an instance's replacement of a node."""
    owner = _holder_of(instance_id, DecomposePass)
    graph: Any = owner.replacement(borrow_node(handle), context)
    if not isinstance(graph, Graph):
        raise TypeError("DecomposePass.replacement must return ge.graph.Graph")
    return release_graph(graph)
