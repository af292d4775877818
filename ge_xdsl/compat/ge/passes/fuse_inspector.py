"""`ge.passes.fuse_inspector`: may nodes be fused, and noting that they were."""

# The API names its own internals with underscores; this package shares them.
# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NoReturn

from xdsl.ir import Operation

from ge_xdsl.compat.ge.graph.node import Node
from ge_xdsl.compat.ge.passes.values import PassContext
from ge_xdsl.dialects.ge import nodes as ports
from ge_xdsl.dialects.ge.nodes import Handle
from ge_xdsl.dialects.ge.op import GeOp
from ge_xdsl.passes.registry import current_run
from ge_xdsl.pattern.boundary import makes_cycle
from ge_xdsl.pattern.provenance import Origins, fuse_problem
from ge_xdsl.pattern.rule import APPLIED


@dataclass(frozen=True)
class FuseCheckResult:
    """Whether nodes may be fused, and why not."""

    ok: bool
    reason: str = ""


def can_fuse(nodes: Iterable[Node]) -> FuseCheckResult:
    """Whether the nodes may become one: live, in one graph, of one label, without a cycle."""
    handles = _handles(nodes, "nodes")
    reason = _problem(handles, "nodes_before_fuse is empty")
    ops = [handle for handle in handles if isinstance(handle, Operation)]
    reason = reason or fuse_problem(ops)
    if not reason and ops and makes_cycle(ops):
        reason = "it will create cycle after fuse"
    return FuseCheckResult(not reason, reason)


def report_fuse(
    nodes_before: Iterable[Node], nodes_after: Iterable[Node], context: PassContext
) -> None:
    """Record a fusion made by hand, after relinking and before the old nodes are removed.

    Raises RuntimeError without nodes, for nodes of several graphs, and without a pass name.
    """
    before = _handles(nodes_before, "nodes_before")
    after = _handles(nodes_after, "nodes_after")
    name = context.get_pass_name()
    reason = _problem(before, "nodes_before is empty")
    if not reason and after:
        reason = _problem([*before, *after], "")
    if reason or not name:
        _refuse(context, name, reason or "the pass has no name")
    old = [handle for handle in before if isinstance(handle, Operation)]
    origins = Origins()
    origins.record([handle for handle in after if isinstance(handle, GeOp)], old, name)
    origins.flush()
    run = current_run()
    root = next((op for op in old if isinstance(op, GeOp)), None)
    if run is not None and root is not None:
        run.report(root, APPLIED)


def _refuse(context: PassContext, name: str, reason: str) -> NoReturn:
    text = f"Failed to report fusion result, pass_name={name}, status=4294967295: {reason}"
    context.set_error_message(text)
    raise RuntimeError(text)


def _handles(nodes: Iterable[object], what: str) -> list[Handle]:
    found: list[Handle] = []
    for node in nodes:
        if not isinstance(node, Node):
            raise TypeError(f"{what} must contain only ge.graph.Node objects")
        if node._handle is None:  # pyright: ignore[reportUnnecessaryComparison]
            raise RuntimeError("Node handle is empty")
        found.append(node._handle)
    return found


def _problem(handles: Sequence[Handle], empty: str) -> str:
    """Why nodes do not stand together in one graph, '' when they do."""
    if not handles:
        return empty
    home = ports.block_of(handles[0])
    for handle in handles:
        block = ports.block_of(handle)
        if block is None:
            return "a node is no longer in a graph"
        if block is not home:
            return f"nodes belong to different graphs, node: {ports.handle_name(handle)}"
    return ""
