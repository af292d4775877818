"""Matching beyond GE, for passes that ask for it.

A GE pattern means what GE makes of it; these rules hold only for passes with a `Matching`, or
with marks on their patterns (`pattern.marks`). The search is depth first with backtracking, one
order of the operands after the other, so that a pattern is never multiplied out: a wrong order
fails at the first op type that differs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from xdsl.ir import Block, BlockArgument, Operation, OpResult, SSAValue
from xdsl.traits import Commutative

from ge_xdsl.dialects.ge.names import describe, describe_value
from ge_xdsl.dialects.ge.op import GeOp, constant_of
from ge_xdsl.dialects.ge.types import tensor_of
from ge_xdsl.errors import CompileError, PassError
from ge_xdsl.pattern.access import operands_of, producer
from ge_xdsl.pattern.boundary import outside_reads, tangled_input
from ge_xdsl.pattern.compile import CompiledPattern, Edge
from ge_xdsl.pattern.equal import attr_text, attr_value, same_value
from ge_xdsl.pattern.graph import PatternGraph, is_constant
from ge_xdsl.pattern.index import Feature
from ge_xdsl.pattern.marks import NO_MARK, Mark
from ge_xdsl.pattern.match import (
    BlockCandidates,
    Candidates,
    Match,
    MatcherConfig,
    boundary_miss,
    node_difference,
    one_step_further,
)
from ge_xdsl.pattern.near import behind_copies
from ge_xdsl.pattern.rule import Declined
from ge_xdsl.pattern.same_numbers import keeps_ranks, number_difference

ATTRIBUTE = "__ge_xdsl_matching__"
"""The attribute of a pass class that holds its `Matching`."""
UNTYPED = frozenset({"AddV2"})
"""Commutative op types that have no class to carry the trait."""
COUNTS = frozenset({"N"})
"""Attributes that count the operands of a dynamic input."""

Policy: TypeAlias = Literal["refuse", "duplicate", "expose"]
Constants: TypeAlias = Literal["bits", "value"]
Bound: TypeAlias = tuple[SSAValue, ...]
"""What a pattern tensor stands for: one tensor; for `*xs` some, for an optional one also none."""
Goals: TypeAlias = "tuple[SSAValue, Bound, GeOp | None, Goals] | None"
"""What is still to be matched: pattern tensor, tensor, the op that reads it, and the rest."""


@dataclass(frozen=True, slots=True)
class Matching:
    """How the patterns of a pass match beyond GE's rules."""

    commutative: bool = False
    """The two operands of a commutative op match in either order."""
    through_copies: bool = False
    """Identity and a Cast to the same type may stand between two nodes of the pattern."""
    through: tuple[str, ...] = ()
    """Op types that may stand between two nodes: their first operand is looked at instead."""
    constants: Constants = "bits"
    """`value`: constants are compared, as numbers, at the precision of the narrower type."""
    ulps: int = 0
    """How many steps of that type two floats may be apart."""
    boundary: Policy = "refuse"
    """What happens to an inner tensor that something else reads: no match; its node stays beside
    the replacement; or it is one more output of the match."""
    finite: bool = False
    """The rules are right for finite numbers only: checks by numbers try no others."""

    def notes(self) -> list[str]:
        """What it adds, for texts that show a pattern."""
        found = ["operands of commutative ops match in either order"] * self.commutative
        found += ["copies may stand between two nodes"] * self.through_copies
        found += [f"{' and '.join(self.through)} may stand between two nodes"] * bool(self.through)
        if self.constants == "value":
            steps = f", {self.ulps} steps apart at most" * bool(self.ulps)
            found.append(f"constants match by value, whatever their element type{steps}")
        if self.boundary == "duplicate":
            found.append("inner nodes that something else reads stay")
        elif self.boundary == "expose":
            found.append("inner tensors that something else reads are further outputs")
        return found


def is_commutative(op: GeOp) -> bool:
    """Whether the two operands of an op can change places."""
    return op.has_trait(Commutative) or op.op_type in UNTYPED


FEW = 1_000
"""Nodes that one search lays on the graph before it looks at what fits at all."""
LIMIT = 20_000
"""Nodes that one search lays on the graph at most."""


class ExtendedMatch(Match):
    """A match whose pattern inputs may stand for several tensors, or for none."""

    __slots__ = ("exposed", "groups", "kept")

    def __init__(
        self,
        graph: PatternGraph,
        targets: Sequence[GeOp],
        groups: Sequence[Bound],
        outputs: Sequence[SSAValue],
    ) -> None:
        super().__init__(graph, targets, [v for group in groups for v in group], outputs)
        self.groups = groups
        """The tensors of each input in `graph.used_inputs`."""
        self.kept: Sequence[GeOp] = ()
        """Inner nodes that stay because something else reads them."""
        self.exposed: Sequence[SSAValue] = ()
        """Inner tensors that are outputs because something else reads them."""

    def value_of(self, value: SSAValue) -> SSAValue | None:
        """The first tensor that a pattern tensor stands for, None when the match has none."""
        if not isinstance(value, BlockArgument):
            return super().value_of(value)
        used = self.graph.used_inputs
        group = self.groups[used.index(value)] if value in used else ()
        return group[0] if group else None


class ExtendedPattern(CompiledPattern):
    """A pattern that matches by a `Matching` and its marks; what it finds is a match like any."""

    def __init__(self, graph: PatternGraph, config: MatcherConfig, matching: Matching) -> None:
        super().__init__(graph, config)
        self.first = None
        self.matching = matching

    @property
    def required_edges(self) -> Sequence[Edge]:
        """None: an edge may be at the other operand, or have a copy in it."""
        return ()

    @property
    def root_features(self) -> Sequence[Feature]:
        return ()

    @property
    def depth(self) -> int:
        """How many edges below the root it looks; copies in between make it more."""
        see_through = self.matching.through_copies or self.matching.through
        return super().depth * (1 + bool(see_through))

    def notes(self) -> list[str]:
        """What it accepts or asks for beyond its graph, for texts that show a pattern."""
        found = self.matching.notes()
        for value, mark in self.graph.marks.items():
            name = f"input {value.index}" if isinstance(value, BlockArgument) else _short(value)
            found += [f"{name}: {note}" for note in mark.notes()]
        return found

    def match(self, root: Operation, candidates: Candidates | None = None) -> Match | None:
        """The first match with `root` as output 0's node that keeps the closure rule."""
        found = self._found(root, candidates)
        return None if isinstance(found, Declined) else found

    def explain(self, root: GeOp, candidates: Candidates | None = None) -> Match | Declined:
        """The match at `root`, or how far the search came and what differed there."""
        return self._found(root, candidates)

    def _found(self, root: Operation, candidates: Candidates | None) -> Match | Declined:
        block = root.parent
        first = self.graph.outputs[0]
        if block is None or not isinstance(root, GeOp) or not isinstance(first, OpResult):
            return Declined("is in no graph", root)
        if first.index >= len(root.results):
            return Declined(f"has no output {first.index}", root)
        search = _Backtracking(self, block, candidates or BlockCandidates(block))
        for outputs in search.outputs(0, root.results[first.index]):
            targets = [search.nodes[op] for op in self.graph.nodes]
            groups = [search.inputs[arg.index] for arg in self.graph.used_inputs]
            match = ExtendedMatch(self.graph, targets, groups, outputs)
            closed = self._closed(match)
            if not isinstance(closed, Declined):
                return closed
            search.note(len(targets), closed.reason, closed.at)
        if search.is_too_long():
            raise PassError(
                f"is laid in more than {LIMIT} ways on the nodes at {describe(root)}, expected "
                "fewer pattern inputs that occur more than once below commutative nodes",
                subject=f"pattern '{self.graph.name}'",
            )
        depth, reason, at = search.nearest
        return Declined(reason, at or root, depth, total=len(self.graph.nodes))

    def _closed(self, match: ExtendedMatch) -> ExtendedMatch | Declined:
        """The match, with what stays or goes out by the policy; or why the closure rule forbids
        it."""
        policy = self.matching.boundary
        if policy == "refuse":
            return boundary_miss(match) or match
        leaks = outside_reads(match.boundary)
        wider = ExtendedMatch(match.graph, match.targets, match.groups, [*match.outputs, *leaks])
        if policy == "expose":
            wider.exposed = leaks
            return boundary_miss(wider) or wider
        if tangled_input(match.boundary) >= 0:
            return boundary_miss(wider) or match
        match.kept = list(dict.fromkeys(op for v in leaks if isinstance(op := producer(v), GeOp)))
        return match


def _short(value: SSAValue) -> str:
    op = producer(value)
    return op.op_type if isinstance(op, GeOp) else "input"


def extend_pattern(
    graph: PatternGraph, config: MatcherConfig, matching: Matching
) -> ExtendedPattern:
    """Compile a pattern that matches beyond GE's rules; dynamic inputs are allowed in it.

    Raises CompileError with the reasons when it can never match.
    """
    reasons = [*graph.validate(dynamic_inputs=True), *_mark_problems(graph)]
    if reasons:
        raise CompileError(reasons[0], subject=f"pattern '{graph.name}'", notes=reasons[1:])
    return ExtendedPattern(graph, config, matching)


def _mark_problems(graph: PatternGraph) -> Iterator[str]:
    """Marks that stand where they mean nothing."""
    for op in graph.nodes:
        for name, kind, part in _declared(op):
            for i, value in enumerate(part):
                mark = graph.marks.get(value, NO_MARK)
                if mark.variadic and (kind != "dynamic" or i != len(part) - 1):
                    yield f"{describe(op)}: '{name}' ends in no *xs, expected it to be the last"
                if mark.optional and kind != "optional":
                    yield f"{describe(op)}: operand '{name}' is {kind}, expected an optional one"


def _declared(op: GeOp) -> Iterator[tuple[str, str, Sequence[SSAValue]]]:
    """The declared inputs of an op: name, kind, and the operands given for it."""
    values, start = operands_of(op), 0
    counts = op.operand_counts()
    for io, count in zip(op.prototype.inputs, counts, strict=False):
        yield io.name, io.kind, values[start : start + count]
        start += count


class _Backtracking:
    """One search; `nodes` and `inputs` hold while a solution is being looked at."""

    def __init__(self, pattern: ExtendedPattern, block: Block, candidates: Candidates) -> None:
        self.block = block
        self.graph = pattern.graph
        self.config = pattern.config
        self.matching = pattern.matching
        self.marks = pattern.graph.marks
        self.candidates = candidates
        self.nodes: dict[GeOp, GeOp] = {}
        self.inputs: dict[int, Bound] = {}
        self.steps = 0
        self.fits: dict[tuple[OpResult, SSAValue], bool] = {}
        self.nearest: tuple[int, str, Operation | None] = (-1, "does not match", None)
        """How many nodes were matched when the search came furthest, why it stopped, and where."""

    def note(self, depth: int, reason: str, at: Operation | None) -> None:
        """Remember why the search stopped, if it never came further."""
        if depth > self.nearest[0]:
            self.nearest = (depth, reason, at)

    def note_operand(self, user: GeOp | None, value: SSAValue | None, reason: str) -> None:
        """The same for a tensor that an op reads, as that operand of it."""
        if user is None or value is None:
            self.note(len(self.nodes), reason, None if value is None else producer(value))
            return
        index = next((i for i, v in enumerate(operands_of(user)) if v is value), None)
        text = reason if index is None else f"operand {index}: {reason}"
        self.note(len(self.nodes), text, user)

    def outputs(self, index: int, value: SSAValue) -> Iterator[list[SSAValue]]:
        """Every way to match the outputs from `index` on, which is to be `value`."""
        for _ in self.solutions((self.graph.outputs[index], (value,), None, None)):
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
        pattern, values, user, rest = goals
        if isinstance(pattern, BlockArgument):
            yield from self.at_input(pattern, values, user, rest)
            return
        assert isinstance(pattern, OpResult)
        [value] = values
        for seen in self.seen_as(pattern, value):
            yield from self.at_node(pattern, seen, user, rest)

    def at_input(
        self, pattern: BlockArgument, values: Bound, user: GeOp | None, rest: Goals
    ) -> Iterator[None]:
        known = self.inputs.get(pattern.index)
        if known is None:
            mark = self.marks.get(pattern, NO_MARK)
            for value in values:
                if reason := mark.tensor_difference(value):
                    self.note_operand(user, value, reason)
                    return
            self.inputs[pattern.index] = values
            yield from self.solutions(rest)
            del self.inputs[pattern.index]
        elif len(known) == len(values) and all(map(_is, known, values)):
            yield from self.solutions(rest)
        else:
            other = describe_value(known[0]) if known else "no tensor"
            have = describe_value(values[0]) if values else "no tensor"
            text = f"is {have}, expected {other} as elsewhere"
            self.note_operand(user, values[0] if values else None, text)

    def seen_as(self, pattern: OpResult, value: SSAValue) -> Iterator[SSAValue]:
        """A tensor, then what it stands for by the ops that are looked through."""
        yield value
        if self.matching.through_copies or self.matching.through:
            behind = self.behind(value)
            if behind is not value:
                yield behind
                return
        op = producer(value)
        is_const = isinstance(pattern.op, GeOp) and is_constant(pattern.op)
        if is_const and self.by_value and isinstance(op, GeOp) and op.op_type == "Cast":
            yield operands_of(op)[0]

    def behind(self, value: SSAValue) -> SSAValue:
        """The tensor behind a chain of ops that are looked through."""
        while True:
            before = value
            if self.matching.through_copies:
                value, _ = behind_copies(value)
            op = producer(value)
            if isinstance(op, GeOp) and op.op_type in self.matching.through:
                operands = operands_of(op)
                value = operands[0] if operands else value
            if value is before:
                return value

    @property
    def by_value(self) -> bool:
        return self.matching.constants == "value"

    def at_node(
        self, pattern: OpResult, value: SSAValue, user: GeOp | None, rest: Goals
    ) -> Iterator[None]:
        p, t = pattern.op, producer(value)
        assert isinstance(p, GeOp)
        known = self.nodes.get(p)
        reason = self.difference(pattern, p, value, t, known)
        if reason:
            self.note_operand(user, value, reason)
            return
        assert isinstance(t, GeOp)
        if known is not None:
            yield from self.solutions(rest)
            return
        self.steps += 1
        if self.steps > FEW and (
            self.is_too_long() or not self.possible(pattern, value) or not self.all_possible(rest)
        ):
            return
        self.nodes[p] = t
        for operands in self.orders(t):
            goals = self.paired(p, t, operands)
            if isinstance(goals, str):
                self.note(len(self.nodes) - 1, goals, t)
                continue
            todo = rest
            for pair in reversed(goals):
                todo = (*pair, t, todo)
            yield from self.solutions(todo)
        del self.nodes[p]

    def is_too_long(self) -> bool:
        """Whether to give up: more steps than a search with few ways takes on this graph."""
        if self.steps <= LIMIT:
            return False
        return self.steps > LIMIT + len(self.block.ops) * len(self.graph.nodes)

    def possible(self, pattern: OpResult, value: SSAValue) -> bool:
        """Whether the part of the pattern above a tensor fits by itself, remembered.

        What other parts have bound is not asked: with that a search in all orders of many
        commutative ops is short where it finds nothing.
        """
        key = (pattern, value)
        if key not in self.fits:
            p, t = pattern.op, producer(value)
            assert isinstance(p, GeOp)
            assert isinstance(t, GeOp)
            self.fits[key] = self.differs_by_itself(pattern, p, value, t) == "" and any(
                all(self.may_stand(v, have) for v, have in goals)
                for operands in self.orders(t)
                if not isinstance(goals := self.paired(p, t, operands), str)
            )
        return self.fits[key]

    def all_possible(self, goals: Goals) -> bool:
        """Whether each of the goals can be reached by itself."""
        while goals is not None:
            pattern, values, _, goals = goals
            if not self.may_stand(pattern, values):
                return False
        return True

    def may_stand(self, pattern: SSAValue, values: Bound) -> bool:
        """The same for an operand, which may be seen as several tensors."""
        if not isinstance(pattern, OpResult):
            mark = self.marks.get(pattern, NO_MARK)
            return not any(mark.tensor_difference(value) for value in values)
        [value] = values
        return any(
            isinstance(producer(seen), GeOp) and self.possible(pattern, seen)
            for seen in self.seen_as(pattern, value)
        )

    def differs_by_itself(self, pattern: OpResult, p: GeOp, value: SSAValue, t: GeOp) -> str:
        """Why a tensor is not what a pattern node gives, whatever else is bound."""
        if not isinstance(value, OpResult) or value.index != pattern.index:
            return "is another output"
        mark = self.marks.get(pattern, NO_MARK)
        return (
            self.kind_difference(p, t) or mark.node_difference(t) or mark.tensor_difference(value)
        )

    def difference(
        self,
        pattern: OpResult,
        p: GeOp,
        value: SSAValue,
        t: Operation | None,
        known: GeOp | None,
    ) -> str:
        """Why a tensor is not what a pattern node gives, by what it is itself; '' when it is."""
        if not isinstance(t, GeOp) or not isinstance(value, OpResult):
            return f"is {describe_value(value)}, expected {p.op_type}"
        if value.index != pattern.index:
            return f"is output {value.index} of {describe(t)}, expected output {pattern.index}"
        if known is not None:
            name = known.node_name
            return "" if known is t else f"is {describe(t)}, expected '{name}' as elsewhere"
        reason = self.kind_difference(p, t)
        if reason and t.op_type != p.op_type:
            reason += one_step_further(t, p.op_type)
        if not reason and not is_constant(p) and any(t is o for o in self.nodes.values()):
            reason = f"is {describe(t)} again, expected another {p.op_type}"
        mark = self.marks.get(pattern, NO_MARK)
        return reason or mark.node_difference(t) or mark.tensor_difference(value)

    def kind_difference(self, p: GeOp, t: GeOp) -> str:
        """Why pattern op `p` does not accept `t` by its type, attributes or constant."""
        if is_constant(p) and is_constant(t) and self.by_value:
            return self.constant_difference(p, t)
        if is_constant(p) or p.op_type != t.op_type:
            return node_difference(self.graph, self.config, p, t)
        return self.attribute_difference(p, t) if self.config.ir_attr else ""

    def attribute_difference(self, p: GeOp, t: GeOp) -> str:
        """The first attribute that differs; how many operands there are is the pairing's."""
        dynamic = any(io.kind == "dynamic" for io in p.prototype.inputs)
        for spec in p.prototype.attrs:
            want, have = attr_value(p, spec), attr_value(t, spec)
            if spec.name in COUNTS and dynamic:
                continue
            if spec.required and (want is None or have is None):
                return f"attribute {spec.name} has no value, expected one"
            if not same_value(want, have):
                return f"attribute {spec.name} is {attr_text(have)}, expected {attr_text(want)}"
        return ""

    def constant_difference(self, p: GeOp, t: GeOp) -> str:
        wanted, have = constant_of(p.results[0]), constant_of(t.results[0])
        if wanted is None:
            return ""
        if have is None:
            return "const has no value, expected one"
        ours, theirs = tensor_of(p.results[0].type), tensor_of(t.results[0].type)
        if not self.shapes_fit(t, wanted.shape, have.shape):
            return f"const is {theirs}, expected {ours}"
        return number_difference(have, theirs.dtype, wanted, ours.dtype, self.matching.ulps)

    def shapes_fit(self, t: GeOp, wanted: Sequence[int], have: Sequence[int]) -> bool:
        """Whether a constant has the shape of the pattern's, or is one number as that is."""
        if tuple(wanted) == tuple(have):
            return True
        return not wanted and all(h == 1 for h in have) and keeps_ranks(t)

    def paired(
        self, p: GeOp, t: GeOp, operands: Sequence[SSAValue]
    ) -> list[tuple[SSAValue, Bound]] | str:
        """Pattern operand -> what it stands for, by declared input; or why they do not fit."""
        found: list[tuple[SSAValue, Bound]] = []
        start = 0
        given = list(t.operand_counts())
        for (name, kind, part), count in zip(_declared(p), given, strict=False):
            have = tuple(operands[start : start + count])
            start += count
            last = self.marks.get(part[-1], NO_MARK) if part else NO_MARK
            if kind == "optional" and last.optional:
                found.append((part[0], have))
                continue
            if kind == "dynamic" and last.variadic:
                fixed = len(part) - 1
                if len(have) <= fixed:
                    return f"'{name}' has {len(have)} tensors, expected {fixed + 1} or more"
                found += [(v, (h,)) for v, h in zip(part[:fixed], have[:fixed], strict=True)]
                found.append((part[-1], have[fixed:]))
                continue
            if len(part) != len(have):
                return f"{t.op_type} has {_counted(kind, name, have)}, expected " + _counted(
                    kind, name, part
                )
            found += [(v, (h,)) for v, h in zip(part, have, strict=True)]
        return found

    def orders(self, op: GeOp) -> Iterator[Sequence[SSAValue]]:
        """The operands of an op, in the other order too where that means the same."""
        operands = operands_of(op)
        yield operands
        if self.matching.commutative and len(operands) == 2 and is_commutative(op):
            yield [operands[1], operands[0]]


def _is(a: SSAValue, b: SSAValue) -> bool:
    return a is b


def _counted(kind: str, name: str, part: Sequence[SSAValue]) -> str:
    if kind == "dynamic":
        return f"{len(part)} tensors in '{name}'"
    return f"operand '{name}'" if part else f"no operand '{name}'"


__all__ = [
    "ATTRIBUTE",
    "ExtendedMatch",
    "ExtendedPattern",
    "Mark",
    "Matching",
    "extend_pattern",
    "is_commutative",
]
