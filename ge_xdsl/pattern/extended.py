"""Matching beyond GE, for passes that ask for it: commuted operands, copies in between.

A GE pattern means what GE makes of it; these rules hold only for passes with a `Matching`. The
search is depth first with backtracking, one order of the operands after the other, so that a
pattern is never multiplied out: a wrong order fails at the first op type that differs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from xdsl.ir import Block, BlockArgument, Operation, OpResult, SSAValue

from ge_xdsl.dialects.ge.op import GeOp
from ge_xdsl.pattern.access import operands_of, producer
from ge_xdsl.pattern.compile import CompiledPattern, Edge
from ge_xdsl.pattern.graph import PatternGraph, is_constant
from ge_xdsl.pattern.index import Feature
from ge_xdsl.pattern.match import (
    BlockCandidates,
    Candidates,
    Match,
    MatcherConfig,
    boundary_miss,
    node_difference,
)
from ge_xdsl.pattern.near import behind_copies

ATTRIBUTE = "__ge_xdsl_matching__"
"""The attribute of a pass class that holds its `Matching`."""
COMMUTATIVE = frozenset(
    (
        "Add",
        "AddV2",
        "BitwiseAnd",
        "BitwiseOr",
        "BitwiseXor",
        "Equal",
        "LogicalAnd",
        "LogicalOr",
        "Maximum",
        "Minimum",
        "Mul",
        "NotEqual",
        "SquaredDifference",
    )
)
"""Op types with f(x1, x2) = f(x2, x1)."""

Goals: TypeAlias = "tuple[SSAValue, SSAValue, Goals] | None"
"""What is still to be matched: pattern tensor, tensor, and the rest."""


@dataclass(frozen=True, slots=True)
class Matching:
    """How the patterns of a pass match beyond GE's rules."""

    commutative: bool = False
    """The two operands of a commutative op match in either order."""
    through_copies: bool = False
    """Identity and a Cast to the same type may stand between two nodes of the pattern."""

    def notes(self) -> list[str]:
        """What it adds, for texts that show a pattern."""
        commuted = ["operands of commutative ops match in either order"] * self.commutative
        return commuted + ["copies may stand between two nodes"] * self.through_copies


class ExtendedPattern(CompiledPattern):
    """A pattern that matches by a `Matching`; what it finds is a match like any other."""

    def __init__(self, graph: PatternGraph, config: MatcherConfig, matching: Matching) -> None:
        super().__init__(graph, config)
        self.matching = matching

    @property
    def required_edges(self) -> Sequence[Edge]:
        """None: an edge may be at the other operand, or have a copy in it."""
        return ()

    @property
    def root_features(self) -> Sequence[Feature]:
        return ()

    def match(self, root: Operation, candidates: Candidates | None = None) -> Match | None:
        """The first match with `root` as output 0's node that keeps the closure rule."""
        block = root.parent
        first = self.graph.outputs[0]
        if block is None or not isinstance(root, GeOp) or not isinstance(first, OpResult):
            return None
        if first.index >= len(root.results):
            return None
        search = _Backtracking(self, block, candidates or BlockCandidates(block))
        for outputs in search.outputs(0, root.results[first.index]):
            targets = [search.nodes[op] for op in self.graph.nodes]
            inputs = [search.inputs[arg.index] for arg in self.graph.used_inputs]
            match = Match(self.graph, targets, inputs, outputs)
            if boundary_miss(match) is None:
                return match
        return None


class _Backtracking:
    """One search; `nodes` and `inputs` hold while a solution is being looked at."""

    def __init__(self, pattern: ExtendedPattern, block: Block, candidates: Candidates) -> None:
        self.block = block
        self.graph = pattern.graph
        self.config = pattern.config
        self.matching = pattern.matching
        self.candidates = candidates
        self.nodes: dict[GeOp, GeOp] = {}
        self.inputs: dict[int, SSAValue] = {}

    def outputs(self, index: int, value: SSAValue) -> Iterator[list[SSAValue]]:
        """Every way to match the outputs from `index` on, which is to be `value`."""
        for _ in self.solutions((self.graph.outputs[index], value, None)):
            own = [value] if isinstance(self.graph.outputs[index], OpResult) else []
            if index + 1 == len(self.graph.outputs):
                yield own
                continue
            for candidate in self.values_for(self.graph.outputs[index + 1]):
                for rest in self.outputs(index + 1, candidate):
                    yield [*own, *rest]

    def values_for(self, output: SSAValue) -> Iterator[SSAValue]:
        if isinstance(output, OpResult) and isinstance(output.op, GeOp):
            for op in self.candidates.of_type(output.op):
                if output.index < len(op.results):
                    yield op.results[output.index]
        else:  # an output that is a pattern input stands for a graph input
            yield from self.block.args

    def solutions(self, goals: Goals) -> Iterator[None]:
        """Every way to reach the goals; what is bound is taken back when the caller goes on."""
        if goals is None:
            yield
            return
        pattern, value, rest = goals
        if isinstance(pattern, BlockArgument):
            known = self.inputs.get(pattern.index)
            if known is None:
                self.inputs[pattern.index] = value
                yield from self.solutions(rest)
                del self.inputs[pattern.index]
            elif known is value:
                yield from self.solutions(rest)
            return
        assert isinstance(pattern, OpResult)
        for seen in self.seen_as(value):
            yield from self.at_node(pattern, seen, rest)

    def seen_as(self, value: SSAValue) -> Iterator[SSAValue]:
        """A tensor, then what it is a copy of."""
        yield value
        if self.matching.through_copies:
            behind, names = behind_copies(value)
            if names:
                yield behind

    def at_node(self, pattern: OpResult, value: SSAValue, rest: Goals) -> Iterator[None]:
        p, t = pattern.op, producer(value)
        assert isinstance(p, GeOp)
        if not isinstance(t, GeOp) or not isinstance(value, OpResult):
            return
        if value.index != pattern.index:
            return
        known = self.nodes.get(p)
        if known is not None:
            if known is t:
                yield from self.solutions(rest)
            return
        taken = not is_constant(p) and any(t is other for other in self.nodes.values())
        if taken or node_difference(self.graph, self.config, p, t):
            return
        self.nodes[p] = t
        for operands in self.orders(t):
            goals = rest
            for pair in reversed(list(zip(operands_of(p), operands, strict=True))):
                goals = (*pair, goals)
            yield from self.solutions(goals)
        del self.nodes[p]

    def orders(self, op: GeOp) -> Iterator[Sequence[SSAValue]]:
        """The operands of an op, in the other order too where that means the same."""
        operands = operands_of(op)
        yield operands
        if self.matching.commutative and op.op_type in COMMUTATIVE and len(operands) == 2:
            yield [operands[1], operands[0]]
