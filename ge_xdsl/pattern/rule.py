"""The shape of a rewrite rule: root op types, and an attempt that rewrites or says why not.

A `Rule` is an xDSL `RewritePattern`, so the stock walker runs it too; the project's own drivers
call `attempt` and keep the outcome for statistics and `--explain`.
"""

from __future__ import annotations

import abc
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from xdsl.ir import Operation
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

from ge_xdsl.dialects.ge.op import GeOp

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ge_xdsl.pattern.compile import Edge
    from ge_xdsl.pattern.index import Feature


@dataclass(frozen=True, slots=True)
class Applied:
    """The rule matched and the graph was rewritten."""


@dataclass(frozen=True, slots=True)
class Declined:
    """The rule did not rewrite; `reason` reads `<what is>, <what was expected>`.

    `progress` counts how much of the pattern matched before it failed (0 when only the root
    type did): the nearest misses have the highest. `matched` tells a refusal by a check
    (the pattern fits, the rewrite is not allowed) from a pattern that does not fit. `total` is
    how many nodes the pattern has, 0 when nobody counted.
    """

    reason: str
    at: Operation | None = None
    progress: int = 0
    matched: bool = False
    total: int = 0


Outcome: TypeAlias = Applied | Declined

APPLIED = Applied()
MISSED = Declined("does not match")
"""The outcome of a miss whose reason nobody asked for."""


class Rule(RewritePattern, abc.ABC):
    """One named rewrite rule over GE ops."""

    name: str = ""
    """What statistics and explanations call the rule."""
    root_types: tuple[str, ...] = ()
    """The GE op types that the rule can start from; never empty."""
    required_types: tuple[str, ...] = ()
    """Op types without which the rule cannot match, for the driver's prefilter."""
    required_edges: tuple[Edge, ...] = ()
    """Edges (reader class, operand index, producer class) without which it cannot match."""
    root_features: Sequence[Feature] = ()
    """What the index knows of ops that the rule can start from, for the driver's prefilter."""
    many_outputs: bool = False
    """Whether it looks for further nodes all over the graph, in the order of the graph."""
    finite: bool = False
    """Whether it is right for finite numbers only; checks by numbers then try no others."""
    depth: int = 2
    """How many edges below the root the rule looks; a change further down does not concern it."""

    @abc.abstractmethod
    def attempt(self, op: GeOp, rewriter: PatternRewriter) -> Outcome:
        """Try the rule at a root op. A rule that declines leaves the graph as it was."""

    def explain(self, op: GeOp, rewriter: PatternRewriter) -> Outcome:
        """The same, with the reason for a miss spelled out."""
        return self.attempt(op, rewriter)

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        if isinstance(op, GeOp) and op.op_type in self.root_types:
            self.attempt(op, rewriter)
