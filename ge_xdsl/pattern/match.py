"""Matching a pattern graph at a node, with the reason for every miss.

This is the reference matcher: output first, backwards, backtracking over the candidates of the
further outputs. `pattern.compile` turns the same rules into straight-line checks; tests hold the
two together. Explanations come from here.

Strict rules, where upstream GE would accept an unsafe match (`MatcherConfig.upstream_quirks`
brings its behaviour back): op types are compared under attribute matching too; two pattern ops
match two ops (constants excepted); a pattern input used twice is one tensor, not one node; a
given optional operand is the same operand.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from xdsl.ir import Block, BlockArgument, Operation, OpResult, SSAValue

from ge_xdsl.dialects.ge.data import UnconnectedOp
from ge_xdsl.dialects.ge.names import describe, describe_value
from ge_xdsl.dialects.ge.op import OPERAND_SEGMENTS, GeOp
from ge_xdsl.errors import CompileError
from ge_xdsl.pattern.access import operands_of, producer, reads
from ge_xdsl.pattern.boundary import Boundary, outside_use, tangled_input, user_name
from ge_xdsl.pattern.equal import (
    attr_text,
    attr_value,
    constant_difference,
    same_constant,
    same_value,
)
from ge_xdsl.pattern.graph import PatternGraph, is_constant
from ge_xdsl.pattern.order import BlockOrder
from ge_xdsl.pattern.rule import Declined


@dataclass(frozen=True, slots=True)
class MatcherConfig:
    """What is compared besides op types and edges."""

    const_value: bool = False
    """Constants match by shape, element type and bytes."""
    ir_attr: bool = False
    """Declared attributes must be equal, defaults filled in."""
    upstream_quirks: bool = False
    """Accept what upstream GE accepts; see the module's docstring."""


class Candidates(Protocol):
    """The ops of a graph by type, in matching order: graph order, new ones at the end."""

    def of_type(self, op: GeOp) -> Iterable[Operation]:
        """The live ops of the same type as a pattern op; Const and Constant are one type."""
        ...

    def readers(
        self, value: SSAValue, classes: tuple[type[GeOp], ...], index: int
    ) -> Iterable[Operation]:
        """The ops of one type, given by its classes, whose operand `index` is `value`."""
        ...

    def sorted(self, ops: Sequence[Operation]) -> Sequence[Operation]:
        """Ops of one type in the order in which `of_type` lists them."""
        ...


class BlockCandidates:
    """The candidates of a block at rest."""

    def __init__(self, block: Block) -> None:
        self.block = block

    def readers(
        self, value: SSAValue, classes: tuple[type[GeOp], ...], index: int
    ) -> Iterable[Operation]:
        return [op for op in self.block.ops if type(op) in classes and reads(op, index, value)]

    def of_type(self, op: GeOp) -> Iterable[Operation]:
        return [t for t in self.block.ops if isinstance(t, GeOp) and _same_type(op, t)]

    def sorted(self, ops: Sequence[Operation]) -> Sequence[Operation]:
        return BlockOrder(self.block).sorted(ops)


def _same_type(p: GeOp, t: GeOp) -> bool:
    return p.op_type == t.op_type or (is_constant(p) and is_constant(t))


def _same_shape(p: GeOp, t: GeOp) -> bool:
    return _same_type(p, t) and list(p.operand_counts()) == list(t.operand_counts())


class Match:
    """A pattern graph laid on a graph: what each pattern op and input stands for.

    It holds as long as the graph is not changed.
    """

    __slots__ = ("_boundary", "_nodes", "_outputs", "closed", "graph", "inputs", "order", "targets")

    def __init__(
        self,
        graph: PatternGraph,
        targets: Sequence[GeOp],
        inputs: Sequence[SSAValue],
        outputs: Sequence[SSAValue] | None = None,
        closed: bool = False,
    ) -> None:
        self.graph = graph
        self.targets = targets
        """The matched op of each op in `graph.nodes`."""
        self.inputs = inputs
        """The tensor of each input in `graph.used_inputs`, by index."""
        self._outputs = outputs
        self.closed = closed
        """Whether each op but those of the outputs is known to have one reader, in the match,
        and no input to come from the match."""
        self.order: BlockOrder | None = None
        self._boundary: Boundary | None = None
        self._nodes: Mapping[GeOp, GeOp] | None = None

    @property
    def pattern_name(self) -> str:
        return self.graph.name

    @property
    def nodes(self) -> Mapping[GeOp, GeOp]:
        """Pattern op -> matched op."""
        if self._nodes is None:
            self._nodes = dict(zip(self.graph.nodes, self.targets, strict=True))
        return self._nodes

    @property
    def outputs(self) -> Sequence[SSAValue]:
        """The tensor of each pattern output that a node gives."""
        if self._outputs is None:
            found = map(self.value_of, self.graph.outputs)
            self._outputs = [value for value in found if value is not None]
        return self._outputs

    @property
    def boundary(self) -> Boundary:
        if self._boundary is None:
            known = [self.nodes[op] for op in self.graph.boundary_order] if self.closed else None
            self._boundary = Boundary(self.inputs, self.outputs, known)
        return self._boundary

    @property
    def root(self) -> GeOp:
        return self.targets[0]

    def value_of(self, value: SSAValue) -> SSAValue | None:
        """The tensor that a pattern tensor stands for, None when the match has none."""
        if isinstance(value, BlockArgument):
            used = self.graph.used_inputs
            return self.inputs[used.index(value)] if value in used else None
        if isinstance(value, OpResult) and isinstance(value.op, GeOp):
            target = self.nodes.get(value.op)
            return None if target is None else target.results[value.index]
        return None

    def captured(self, index: int) -> tuple[GeOp | BlockArgument, int]:
        """Captured tensor `index` as the matched node and its output index.

        Raises CompileError for an index that was not captured or not matched.
        """
        captures = self.graph.captures
        if not 0 <= index < len(captures):
            raise CompileError(
                f"captured tensor {index} does not exist, the pattern captured {len(captures)}",
                subject=f"pattern '{self.pattern_name}'",
            )
        node, output = captures[index]
        value = self.value_of(node if isinstance(node, BlockArgument) else node.results[output])
        if isinstance(value, BlockArgument):
            return value, 0
        if isinstance(value, OpResult) and isinstance(value.op, GeOp):
            return value.op, value.index
        raise CompileError(
            f"captured tensor {index} was not matched, expected one that an output needs",
            subject=f"pattern '{self.pattern_name}'",
        )

    def matched_nodes(self) -> list[GeOp]:
        """The matched ops, constants included, in the order of the graph."""
        block = self.root.parent
        if block is None:
            return list(self.targets)
        order = self.order or BlockOrder(block)
        return sorted(self.targets, key=order.label)

    def __str__(self) -> str:
        pairs = ", ".join(f"{p.op_type}:{t.node_name}" for p, t in self.nodes.items())
        return f"[PatternName:{self.pattern_name}][MatchNodesPair]{{{{{pairs}}}}}"


@dataclass(slots=True)
class _State:
    """A partial match. Copied before each candidate of a further output."""

    nodes: dict[GeOp, GeOp]
    inputs: dict[int, SSAValue]
    outputs: list[SSAValue]

    def copy(self) -> _State:
        return _State(dict(self.nodes), dict(self.inputs), list(self.outputs))


def match_at(
    graph: PatternGraph,
    config: MatcherConfig,
    root: GeOp,
    candidates: Candidates | None = None,
) -> Match | Declined:
    """The first match with `root` as the node of output 0, or the nearest miss."""
    block = root.parent
    if block is None:
        return Declined("is in no graph", root)
    search = Search(graph, config, block, candidates or BlockCandidates(block))
    outcome = search.at(root)
    place = search.nearest
    if isinstance(outcome, Declined) and place is not None and place.hint:
        return replace(outcome, reason=outcome.reason + place.hint)
    return outcome


@dataclass(frozen=True, slots=True)
class Edit:
    """One difference that matching lets pass, to find out whether it is the only one."""

    op: GeOp | None = None
    """The pattern op whose matched operands are read otherwise."""
    order: tuple[int, int] = (0, 0)
    """Two operands of it that change places."""
    at: int = -1
    """An operand of it that stands for `value`."""
    value: SSAValue | None = None
    waived: GeOp | None = None
    """A pattern op whose attributes or constant need not fit."""

    def operands(self, values: Sequence[SSAValue]) -> Sequence[SSAValue]:
        """The operands of the op matched with `op`, as this edit reads them."""
        found = list(values)
        a, b = self.order
        found[a], found[b] = found[b], found[a]
        if self.value is not None:
            found[self.at] = self.value
        return found


@dataclass(frozen=True, slots=True)
class Place:
    """Where matching stopped: the pattern tensor, the tensor, and the reader of both."""

    pattern: SSAValue
    value: SSAValue
    user: GeOp | None
    """The pattern op that reads `pattern`, None for an output."""
    index: int
    operands: int
    """How many operands the matched reader has."""
    reason: str
    hint: str
    at: Operation | None


TRIES = 2_000
"""Candidates for further outputs that one search looks at to find the nearest miss."""


class Search:
    """Assigns outputs one after another, each with its branch."""

    def __init__(
        self,
        graph: PatternGraph,
        config: MatcherConfig,
        block: Block,
        candidates: Candidates,
        edit: Edit | None = None,
    ) -> None:
        self.graph = graph
        self.config = config
        self.block = block
        self.candidates = candidates
        self.edit = edit
        self.nearest: Place | None = None
        """Where the miss that `at` returned stopped; None for one at the boundary."""
        self.tries = TRIES

    def at(self, root: GeOp) -> Match | Declined:
        """The first match with `root` as the node of output 0, or the nearest miss."""
        first = self.graph.outputs[0]
        if isinstance(first, OpResult):
            if first.index >= len(root.results):
                return Declined(f"has no output {first.index}", root)
            return self.output(0, root.results[first.index], _State({}, {}, []))
        return Declined("output 0 is a pattern input, expected a node", root)

    def output(self, index: int, value: SSAValue, state: _State) -> Match | Declined:
        """Match the branch of output `index` at `value`, then the further outputs."""
        branch = _Branch(self.graph, self.config, state, self.edit)
        place = branch.match(self.graph.outputs[index], value)
        if place is not None:
            if index:
                text = f"output {index} at {describe_value(value)}: {place.reason}"
                place = replace(place, reason=text)
            self.nearest = place
            return Declined(place.reason, place.at, len(state.nodes))
        if isinstance(self.graph.outputs[index], OpResult):
            state.outputs.append(value)
        if index + 1 == len(self.graph.outputs):
            return self.finish(state)
        nearest: Declined | None = None
        for candidate in self.values_for(self.graph.outputs[index + 1]):
            if nearest is not None and self.tries < 0:
                break
            self.tries -= 1
            self.nearest = None
            outcome = self.output(index + 1, candidate, state.copy())
            if isinstance(outcome, Match):
                return outcome
            if nearest is None or outcome.progress > nearest.progress:
                nearest, place = outcome, self.nearest
        self.nearest = place
        progress = len(state.nodes)
        return nearest or Declined(f"output {index + 1}: no candidate in the graph", None, progress)

    def values_for(self, output: SSAValue) -> Iterator[SSAValue]:
        if isinstance(output, OpResult) and isinstance(output.op, GeOp):
            for op in self.candidates.of_type(output.op):
                if output.index < len(op.results):
                    yield op.results[output.index]
        else:
            yield from self.block.args

    def finish(self, state: _State) -> Match | Declined:
        """The match, unless the boundary rule forbids it."""
        targets = [state.nodes[op] for op in self.graph.nodes]
        inputs = [state.inputs[arg.index] for arg in self.graph.used_inputs]
        match = Match(self.graph, targets, inputs, state.outputs)
        return boundary_miss(match) or match


def boundary_miss(match: Match) -> Declined | None:
    """Why the closure rule forbids a match, None when it does not."""
    progress = len(match.targets)
    for i, value in enumerate(match.inputs):
        if isinstance(producer(value), UnconnectedOp):
            return Declined(f"pattern input {i} is unconnected, expected a tensor", None, progress)
    leak = outside_use(match.boundary)
    if leak is not None:
        node, user = leak
        word = "constant" if isinstance(node, GeOp) and is_constant(node) else describe(node)
        reason = f"{word} is used outside the match by {_quoted(user)}, expected no other consumer"
        return Declined(reason, node, progress)
    inner = tangled_input(match.boundary)
    if inner >= 0:
        return Declined(
            f"pattern input {inner} is computed from an output of the match, "
            "expected a tensor from outside",
            None,
            progress,
        )
    return None


def _quoted(user: Operation) -> str:
    name = user_name(user)
    return name if isinstance(user, GeOp) or name == "the graph output" else f"'{name}'"


class _Branch:
    """One breadth-first walk from an output tensor; extends a state or says what differed."""

    def __init__(
        self, graph: PatternGraph, config: MatcherConfig, state: _State, edit: Edit | None = None
    ) -> None:
        self.config = config
        self.state = state
        self.edit = edit
        self.roots = {producer(v) for v in graph.outputs}

    def match(self, output: SSAValue, target: SSAValue) -> Place | None:
        queue: deque[tuple[SSAValue, SSAValue, GeOp | None, int]] = deque()
        queue.append((output, target, None, 0))
        while queue:
            pattern, value, user, index = queue.popleft()
            if isinstance(pattern, BlockArgument):
                reason = self.bind_input(pattern, value)
            else:
                assert isinstance(pattern, OpResult)
                assert isinstance(pattern.op, GeOp)
                known = self.state.nodes.get(pattern.op)
                reason = self.bind_node(pattern, value, known)
                if not reason and known is None:
                    pairs = zip(operands_of(pattern.op), self.operands(pattern.op), strict=True)
                    queue += [(p, t, pattern.op, i) for i, (p, t) in enumerate(pairs)]
            if reason:
                hint = self.hint(pattern, user, index)
                if user is None:
                    return Place(pattern, value, None, 0, 0, reason, hint, producer(value))
                at, text = self.state.nodes[user], f"operand {index}: {reason}"
                count = len(operands_of(at))
                return Place(pattern, value, user, index, count, text, hint, at)
        return None

    def operands(self, p: GeOp) -> Sequence[SSAValue]:
        """The operands of the op matched with `p`."""
        values = operands_of(self.state.nodes[p])
        return self.edit.operands(values) if self.edit and self.edit.op is p else values

    def bind_input(self, pattern: BlockArgument, value: SSAValue) -> str:
        known = self.state.inputs.get(pattern.index)
        if known is not None and known is not value:
            same_node = producer(known) is producer(value) is not None
            if not (self.config.upstream_quirks and same_node):
                return f"is {_tensor_name(value)}, expected {_tensor_name(known)} as elsewhere"
        self.state.inputs[pattern.index] = value
        return ""

    def bind_node(self, pattern: OpResult, value: SSAValue, known: GeOp | None) -> str:
        p = pattern.op
        t = producer(value)
        assert isinstance(p, GeOp)
        if not isinstance(t, GeOp):
            return f"is {describe_value(value)}, expected {p.op_type}"
        if known is not None and known is not t:
            return f"is {_tensor_name(value)}, expected '{known.node_name}' as elsewhere"
        reason = self.accepts(p, t)
        if reason:
            return reason
        if isinstance(value, OpResult) and value.index != pattern.index:
            return f"is output {value.index} of {describe(t)}, expected output {pattern.index}"
        if known is None:
            if not self.config.upstream_quirks and not is_constant(p):
                for other, target in self.state.nodes.items():
                    if target is t and not is_constant(other):
                        return f"is {describe(t)} again, expected another {p.op_type}"
            self.state.nodes[p] = t
        return ""

    def accepts(self, p: GeOp, t: GeOp) -> str:
        """Why pattern op `p` does not accept `t`, '' when it does."""
        if self.edit is not None and self.edit.waived is p and _same_shape(p, t):
            return ""
        if is_constant(p):
            if not is_constant(t):
                return f"is {t.op_type}, expected {p.op_type}"
            expected = p.properties.get("value")
            if self.config.const_value and expected is not None and not same_constant(t, expected):
                return constant_difference(t, expected)
            return ""
        loose = self.config.upstream_quirks and self.config.ir_attr and p not in self.roots
        if p.op_type != t.op_type and not loose:
            return f"is {t.op_type}, expected {p.op_type}"
        return (self.attributes(p, t) if self.config.ir_attr else "") or self.arity(p, t)

    def attributes(self, p: GeOp, t: GeOp) -> str:
        ours, theirs = t.prototype.attrs, p.prototype.attrs
        if sorted(a.name for a in ours) != sorted(a.name for a in theirs):
            return f"has other attributes than {p.op_type}, expected the same"
        for expected, spec in zip(theirs, ours, strict=True):
            want, have = attr_value(p, expected), attr_value(t, spec)
            if (want is None and expected.required) or (have is None and spec.required):
                return f"attribute {spec.name} has no value, expected one"
            if not same_value(want, have):
                return f"attribute {spec.name} is {attr_text(have)}, expected {attr_text(want)}"
        return ""

    def arity(self, p: GeOp, t: GeOp) -> str:
        have, want = len(operands_of(t)), len(operands_of(p))
        if have != want:
            return f"{t.op_type} has {have} operands, expected {want}"
        if not self.config.upstream_quirks:
            for io, got, expected in zip(
                t.prototype.inputs, t.operand_counts(), p.operand_counts(), strict=False
            ):
                if got != expected:
                    return f"operand '{io.name}' is {'given' if got else 'missing'}, expected " + (
                        "it" if expected else "none"
                    )
        return ""

    def hint(self, pattern: SSAValue, user: GeOp | None, index: int) -> str:
        """Where the expected op type stands instead, one step away."""
        if user is None or not isinstance(pattern, OpResult) or not isinstance(pattern.op, GeOp):
            return ""
        wanted = pattern.op.op_type
        operands = operands_of(self.state.nodes[user])
        here = producer(operands[index])
        if isinstance(here, GeOp) and here.op_type == wanted:
            return ""
        for i, value in enumerate(operands):
            op = producer(value)
            if i != index and isinstance(op, GeOp) and op.op_type == wanted:
                return f" ({wanted} is operand {i})"
        return one_step_further(here, wanted)


def one_step_further(here: Operation | None, wanted: str) -> str:
    """A note where an op reads one of the type that was expected in its place."""
    for value in operands_of(here) if here is not None else ():
        op = producer(value)
        if isinstance(op, GeOp) and op.op_type == wanted:
            return f" ({wanted} is one step further)"
    return ""


def node_difference(graph: PatternGraph, config: MatcherConfig, p: GeOp, t: GeOp) -> str:
    """Why pattern op `p` does not accept `t` by itself, '' when it does."""
    return _Branch(graph, config, _State({}, {}, [])).accepts(p, t)


def _tensor_name(value: SSAValue) -> str:
    op = producer(value)
    name = describe_value(value)
    if op is not None and len(op.results) > 1 and isinstance(value, OpResult):
        return f"output {value.index} of {name}"
    return name


__all__ = [
    "OPERAND_SEGMENTS",
    "BlockCandidates",
    "Candidates",
    "Edit",
    "Match",
    "MatcherConfig",
    "Place",
    "Search",
    "boundary_miss",
    "match_at",
    "node_difference",
    "one_step_further",
]
