"""`ge-dce`: remove ops that nothing needs."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation
from xdsl.passes import ModulePass

from ge_xdsl.dialects.ge.graph import functions
from ge_xdsl.passes.edits import CONTROL_EDGE, is_pure


@dataclass(frozen=True)
class GeDcePass(ModulePass):
    """Remove ops whose results no output and no side effect needs.

    Live are terminators, ops with side effects (ops known by their prototype only may have some)
    and what they read, transitively. A control edge lives with the op it leads to, and keeps the
    op it comes from.
    """

    name = "ge-dce"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in functions(op):
            _sweep(func.body.block, live_ops(func.body.block))


def live_ops(block: Block) -> set[Operation]:
    """The ops of a graph, subgraphs included, that have to stay; linear in uses."""
    live: set[Operation] = set()
    edges: dict[Operation, list[Operation]] = {}
    waiting: list[Operation] = []
    for op in _all_ops(block):
        if op.name == CONTROL_EDGE:
            target = op.operands[1].owner
            if isinstance(target, Operation):
                edges.setdefault(target, []).append(op)
        elif not is_pure(op) and not _in_pure_region(op, block):
            waiting.append(op)
    while waiting:
        op = waiting.pop()
        if op in live:
            continue
        live.add(op)
        waiting += (v.owner for v in op.operands if isinstance(v.owner, Operation))
        waiting += edges.get(op, ())
        waiting += _region_roots(op)
        parent = op.parent_op()
        if parent is not None and op.parent is not block:
            waiting.append(parent)
    return live


def _in_pure_region(op: Operation, block: Block) -> bool:
    """A terminator of a subgraph lives only if the op around it does."""
    last = op.parent.last_op if op.parent is not None else None
    return op.parent is not block and op is last


def _region_roots(op: Operation) -> list[Operation]:
    lasts = [inner.last_op for region in op.regions for inner in region.blocks]
    return [last for last in lasts if last is not None]


def _all_ops(block: Block) -> list[Operation]:
    found: list[Operation] = []
    for op in block.ops:
        found += op.walk()
    return found


def _sweep(block: Block, live: set[Operation]) -> None:
    """Erase what is not live, users before what they use."""
    for op in reversed(list(block.ops)):
        if op in live:
            for region in op.regions:
                for inner in region.blocks:
                    _sweep(inner, live)
        else:
            op.detach()
            op.erase()
