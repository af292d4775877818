"""Patterns as straight-line Python: one function of type checks per output.

`compile_pattern` writes the source of a module (`CompiledPattern.source`, kept to be read) and
runs it. A branch function takes the op to try as its output's node and what earlier branches
bound, and returns what is bound now, or None. It accepts exactly what `pattern.match` accepts;
the closure rule is decided in the same function when every interior op has a single reader, and
by `boundary_miss` otherwise.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from xdsl.ir import Block, BlockArgument, Operation, OpResult, SSAValue

from ge_xdsl.dialects.ge.names import describe
from ge_xdsl.dialects.ge.op import GeOp
from ge_xdsl.errors import CompileError, PassError
from ge_xdsl.pattern.access import item, operands_of, producer, user_of, uses
from ge_xdsl.pattern.emit import BranchSource, namespace
from ge_xdsl.pattern.graph import PatternGraph, is_constant
from ge_xdsl.pattern.index import PRIVATE, Detail, Feature
from ge_xdsl.pattern.match import (
    BlockCandidates,
    Candidates,
    Match,
    MatcherConfig,
    boundary_miss,
)
from ge_xdsl.pattern.near import explain_at
from ge_xdsl.pattern.rule import Declined

Nodes: TypeAlias = tuple[GeOp, ...]
Values: TypeAlias = tuple[SSAValue, ...]
State: TypeAlias = tuple[bool, Nodes, Values]
"""Whether the closure rule is known to hold, the bound ops, the bound inputs."""
BranchFunction: TypeAlias = Callable[[Operation, Nodes, Values], "State | None"]

Edge: TypeAlias = tuple[type[GeOp], int, type[GeOp]]
"""A required edge: class of the reader, operand index, class of the producer."""


TRIES = 64
"""After so many combinations that lead nowhere each output is looked for by itself."""
LIMIT = 100_000
"""So many combinations, and the number of ops for each output, are tried at one root."""


@dataclass(frozen=True, slots=True)
class Step:
    """How output k >= 1 gets its node."""

    output: SSAValue
    function: BranchFunction | None
    """Matches the output's branch; None when an earlier branch reached its node."""
    path: Path | None
    """How to reach candidates from a bound tensor; None when every op of the type is one."""
    slot: int = -1
    """For an output that is a pattern input: its place among the bound inputs, else -1."""
    fresh: bool = False
    """Whether that input is bound here for the first time, to a graph input."""


@dataclass(frozen=True, slots=True)
class Path:
    """From a tensor that is bound already, through its readers, up to an output's node."""

    from_input: bool
    slot: int
    result: int
    steps: Sequence[tuple[int, tuple[type[GeOp], ...], int]]
    """Operand index, classes and result index of each reader on the way."""

    def start(self, nodes: Nodes, values: Values) -> SSAValue:
        """The tensor that the path starts from."""
        return values[self.slot] if self.from_input else nodes[self.slot].results[self.result]

    def ends(self, nodes: Nodes, values: Values) -> list[Operation]:
        """The ops at the end of the path, each once."""
        tensors: Iterable[SSAValue] = (self.start(nodes, values),)
        found: dict[Operation, None] = {}
        for index, classes, result in self.steps:
            found = {
                user: None
                for tensor in tensors
                for use in uses(tensor)
                if type(user := user_of(use)) in classes and use.index == index
            }
            tensors = [op.results[result] for op in found]
        return list(found)


class CompiledPattern:
    """A pattern ready to match; made by `compile_pattern`."""

    def __init__(self, graph: PatternGraph, config: MatcherConfig) -> None:
        self.graph = graph
        self.config = config
        root = producer(graph.outputs[0])
        assert isinstance(root, GeOp)
        self.root_classes = classes_for(root)
        """The op classes that output 0 can be."""
        self.source, functions = _generate(graph, config)
        self.first: BranchFunction | None = functions[0]
        """Matches output 0's branch, the first thing that `match` does; None when it does more."""
        self._tries = 0
        """Combinations of nodes for the first outputs that led to no match, at one root."""
        self._hopeless = False
        self._steps = [_step(graph, config, k, f) for k, f in enumerate(functions) if k]
        self._outputs = [
            (graph.nodes.index(v.op), v.index)
            for v in graph.outputs
            if isinstance(v, OpResult) and isinstance(v.op, GeOp)
        ]

    @property
    def name(self) -> str:
        return self.graph.name

    @property
    def root_types(self) -> tuple[str, ...]:
        """The op types that output 0 can be."""
        return tuple(cls.prototype.op_type for cls in self.root_classes)

    @property
    def required_types(self) -> tuple[str, ...]:
        """Op types that a graph must have for the pattern to match, constants left out."""
        exact = self.graph.nodes if not self._loose else self._roots
        return tuple(dict.fromkeys(op.op_type for op in exact if not is_constant(op)))

    @property
    def required_edges(self) -> Sequence[Edge]:
        """Edges between op types that a graph must have for the pattern to match."""
        if self._loose:
            return ()
        return [
            (type(op), i, type(source))
            for op in self.graph.nodes
            for i, v in enumerate(operands_of(op))
            if isinstance(source := producer(v), GeOp) and not is_constant(source)
        ]

    @property
    def root_features(self) -> Sequence[Feature]:
        """What an op must be like to be output 0's node, as far as an index knows it."""
        if self._loose:
            return ()
        root = self.graph.nodes[0]
        found: list[Feature] = []
        for i, value in enumerate(operands_of(root)):
            source = producer(value)
            if isinstance(source, GeOp) and not is_constant(source):
                edge = (type(root), i, type(source))
                details = () if self.config.upstream_quirks else tuple(self._details(source))
                found.append((edge, details))
        return found

    def _details(self, op: GeOp) -> Iterator[Detail]:
        """What the producer of a root's operand must be like."""
        operands = operands_of(op)
        for i, value in enumerate(operands):
            source = producer(value)
            if isinstance(source, GeOp) and not is_constant(source):
                yield i, type(source)
            for j in range(i):
                if operands[j] is value:
                    yield i, j
        if op not in self._roots and len(op.results) == 1 and op.results[0].has_one_use():
            yield PRIVATE

    @property
    def depth(self) -> int:
        """The longest way in edges from output 0's node to a pattern input."""
        depths: dict[Operation | None, int] = {}
        for op in self.graph.post_order:
            below = [depths.get(producer(v), 0) for v in operands_of(op)]
            depths[op] = 1 + max(below, default=0)
        return max(depths.values())

    @property
    def _loose(self) -> bool:
        return self.config.upstream_quirks and self.config.ir_attr

    @property
    def _roots(self) -> Sequence[GeOp]:
        return [op for v in self.graph.outputs if isinstance(op := producer(v), GeOp)]

    def match(self, root: Operation, candidates: Candidates | None = None) -> Match | None:
        """The first match with `root` as output 0's node, None when there is none."""
        first = self.first
        assert first is not None
        state = first(root, (), ())
        return None if state is None else self.search(root, state, candidates)

    def search(
        self, root: Operation, state: State, candidates: Candidates | None = None
    ) -> Match | None:
        """The first match that goes on from what `first` bound at `root`."""
        if not self._steps:
            closed, nodes, values = state
            return Match(self.graph, nodes, values, None, True) if closed else self._finish(state)
        block = root.parent
        if block is None:
            return None
        self._tries, self._hopeless = 0, False
        return self._search(0, state, block, candidates or BlockCandidates(block))

    def explain(self, root: GeOp, candidates: Candidates | None = None) -> Match | Declined:
        """The match at `root`, or the nearest miss and why."""
        found = self.match(root, candidates)
        return found or explain_at(self.graph, self.config, root, candidates)

    def _search(
        self, index: int, state: State, block: Block, candidates: Candidates
    ) -> Match | None:
        if index == len(self._steps):
            return self._finish(state)
        step = self._steps[index]
        _, nodes, values = state
        if step.slot >= 0:
            return self._search_inputs(index, state, block, candidates)
        if step.function is None:
            return self._search(index + 1, state, block, candidates)
        for op in self._candidates(step, nodes, values, candidates):
            bound = step.function(op, nodes, values)
            if bound is not None:
                found = self._search(index + 1, bound, block, candidates)
                if found is not None:
                    return found
                self._tries += 1
                if self._tries >= TRIES and self._is_hopeless(block, candidates, nodes):
                    return None
        return None

    def _is_hopeless(self, block: Block, candidates: Candidates, nodes: Nodes) -> bool:
        """Whether no combination can match, asked after each one that does not.

        Raises PassError when there are too many to try them all.
        """
        if self._tries == TRIES:
            self._hopeless = not all(self._is_somewhere(s, candidates) for s in self._steps)
        elif self._tries > LIMIT + len(block.ops) * len(self._steps):
            raise PassError(
                f"more than {LIMIT} combinations of nodes fit some of the {len(self._steps) + 1} "
                f"outputs at {describe(nodes[0])}, expected outputs that share tensors",
                subject=f"pattern '{self.graph.name}'",
            )
        return self._hopeless

    def _is_somewhere(self, step: Step, candidates: Candidates) -> bool:
        """Whether the branch of an output matches anywhere by itself, if that can be told."""
        output = producer(step.output)
        if step.function is None or step.path is not None or not isinstance(output, GeOp):
            return True
        if self.config.upstream_quirks:
            return True
        k = self.graph.outputs.index(step.output)
        nodes: Any = (None,) * sum(len(branch.nodes) for branch in self.graph.branches[:k])
        values: Any = (None,) * len(bound_inputs(self.graph, k))
        found = (step.function(op, nodes, values) for op in candidates.of_type(output))
        return any(bound is not None for bound in found)

    def _search_inputs(
        self, index: int, state: State, block: Block, candidates: Candidates
    ) -> Match | None:
        """An output that is a pattern input stands for a graph input (GE's Data)."""
        step = self._steps[index]
        closed, nodes, values = state
        if not step.fresh:
            value = values[step.slot]
            held = isinstance(value, BlockArgument) and value.block is block
            return self._search(index + 1, state, block, candidates) if held else None
        for arg in block.args:
            bound = (closed, nodes, (*values[: step.slot], arg, *values[step.slot :]))
            found = self._search(index + 1, bound, block, candidates)
            if found is not None:
                return found
        return None

    def _candidates(
        self, step: Step, nodes: Nodes, values: Values, candidates: Candidates
    ) -> Iterable[Operation]:
        path = step.path
        if path is None:
            output = producer(step.output)
            assert isinstance(output, GeOp)
            return candidates.of_type(output)
        if len(path.steps) == 1:
            index, classes, _ = path.steps[0]
            return candidates.readers(path.start(nodes, values), classes, index)
        home = nodes[0].parent
        found = [op for op in path.ends(nodes, values) if op.parent is home]
        return found if len(found) < 2 else candidates.sorted(found)

    def _finish(self, state: State) -> Match | None:
        closed, nodes, values = state
        outputs = [item(nodes[slot].results, index) for slot, index in self._outputs]
        if closed:
            return Match(self.graph, nodes, values, outputs, True)
        match = Match(self.graph, nodes, values, outputs)
        return None if boundary_miss(match) is not None else match


def compile_pattern(graph: PatternGraph, config: MatcherConfig | None = None) -> CompiledPattern:
    """Compile a pattern; raises CompileError with the reasons when it can never match."""
    reasons = graph.validate()
    if reasons:
        raise CompileError(reasons[0], subject=f"pattern '{graph.name}'", notes=reasons[1:])
    return CompiledPattern(graph, config or MatcherConfig())


def classes_for(op: GeOp) -> tuple[type[GeOp], ...]:
    """The op classes that a pattern op of this type stands for, its own first."""
    from ge_xdsl.dialects.ge.data import ConstantOp, ConstOp

    return (ConstOp, ConstantOp) if is_constant(op) else (type(op),)


def _generate(
    graph: PatternGraph, config: MatcherConfig
) -> tuple[str, Sequence[BranchFunction | None]]:
    """The source of the pattern's module, and one function per output that adds something."""
    names = namespace()
    parts = [f'"""Matches pattern {graph.name!r}."""']
    todo: list[int] = []
    for k, branch in enumerate(graph.branches):
        if isinstance(branch.output, OpResult) and branch.nodes:
            parts.append(BranchSource(graph, config, k, names).text())
            todo.append(k)
    source = "\n\n\n".join(parts) + "\n"
    exec(compile(source, f"<pattern {graph.name}>", "exec"), names)
    made: Mapping[str, Any] = names
    return source, [made[f"branch_{k}"] if k in todo else None for k in range(len(graph.branches))]


def _step(
    graph: PatternGraph, config: MatcherConfig, k: int, function: BranchFunction | None
) -> Step:
    branch = graph.branches[k]
    if isinstance(branch.output, BlockArgument):
        slot = bound_inputs(graph, k + 1).index(branch.output)
        return Step(branch.output, None, None, slot, bool(branch.inputs))
    path = None if function is None or config.upstream_quirks else _path(graph, k)
    return Step(branch.output, function, path)


def bound_inputs(graph: PatternGraph, before: int) -> list[BlockArgument]:
    """The inputs that the branches before `before` bind, by index."""
    found = [arg for branch in graph.branches[:before] for arg in branch.inputs]
    return sorted(found, key=lambda arg: arg.index)


def _path(graph: PatternGraph, k: int) -> Path | None:
    """The shortest way from something bound before branch k up to its output's node."""
    branch = graph.branches[k]
    inside = set(branch.nodes)
    goal = producer(branch.output)
    inputs = bound_inputs(graph, k)
    earlier = [op for b in graph.branches[:k] for op in b.nodes]
    paths: list[Path] = []
    for op in branch.nodes:
        for i, value in enumerate(operands_of(op)):
            source = producer(value)
            if source in inside or (source is None and value not in inputs):
                continue
            steps = _steps_up(op, i, goal, branch.output, inside)
            if source is None and isinstance(value, BlockArgument):
                paths.append(Path(True, inputs.index(value), 0, steps))
            elif isinstance(source, GeOp) and isinstance(value, OpResult):
                paths.append(Path(False, earlier.index(source), value.index, steps))
    return min(paths, key=lambda p: (p.from_input, len(p.steps)), default=None)


def _steps_up(
    op: GeOp, index: int, goal: Operation | None, output: SSAValue, inside: set[GeOp]
) -> list[tuple[int, tuple[type[GeOp], ...], int]]:
    """The shortest chain of readers from operand `index` of `op` to the op `goal`."""
    queue: deque[list[tuple[GeOp, int, int]]] = deque([[(op, index, 0)]])
    seen = {op}
    while True:
        chain = queue.popleft()
        last = chain[-1][0]
        if last is goal:
            results = [result for _, _, result in chain[1:]]
            assert isinstance(output, OpResult)
            results.append(output.index)
            return [
                (i, classes_for(node), result)
                for (node, i, _), result in zip(chain, results, strict=True)
            ]
        for result in last.results:
            for use in uses(result):
                user = user_of(use)
                if isinstance(user, GeOp) and user in inside and user not in seen:
                    seen.add(user)
                    queue.append([*chain, (user, use.index, result.index)])
