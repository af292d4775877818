"""Running rules over a graph in GE's order.

Every rule in turn sweeps the candidates of its root type in node order; nodes that a rewrite
makes become candidates at the end; each is tried once. `pattern.fixpoint` is the other driver;
both run the same `Rule` objects on xDSL's PatternRewriter.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from time import perf_counter

from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.pattern_rewriter import InsertOpInvT, PatternRewriter
from xdsl.rewriter import InsertPoint

from ge_xdsl.dialects.ge.data import UnconnectedOp
from ge_xdsl.dialects.ge.names import describe
from ge_xdsl.dialects.ge.op import GeOp
from ge_xdsl.dialects.ge.registry import op_class
from ge_xdsl.errors import CompileError
from ge_xdsl.pattern.access import operands_of, producer
from ge_xdsl.pattern.boundary import Boundary, makes_cycle
from ge_xdsl.pattern.compile import CompiledPattern
from ge_xdsl.pattern.guard import Guard
from ge_xdsl.pattern.index import BlockIndex
from ge_xdsl.pattern.match import Match
from ge_xdsl.pattern.recorder import Recorder
from ge_xdsl.pattern.rewrite import Scope, may_cycle, replace_in
from ge_xdsl.pattern.rule import APPLIED, MISSED, Applied, Declined, Outcome, Rule

Meet = Callable[[Match], "bool | Declined"]
Build = Callable[[Match], "FuncOp | None"]

UNMET = Declined("the requirements are not met", matched=True)
CYCLE = Declined("fusing it would make a cycle", matched=True)


class GraphRewriter(PatternRewriter):
    """A rewriter that knows the block it works on: names, positions, ops by type."""

    def __init__(self, scope: Scope, index: BlockIndex) -> None:
        first = scope.block.first_op
        assert first is not None
        super().__init__(first)
        self.scope = scope
        self.index = index
        self.modified_in_place = False

    def start(self, op: Operation) -> None:
        """Get ready for an attempt at `op`."""
        self.has_done_action = False
        self._current_operation = op

    def insert(self, op: InsertOpInvT, insertion_point: InsertPoint | None = None) -> InsertOpInvT:
        """Insert ops, before the op under attempt when no place is given."""
        current = self._current_operation
        if insertion_point is None and current is not None and current.parent is not None:
            insertion_point = InsertPoint.before(current)
        return super().insert(op, insertion_point)

    def notify_op_modified(self, op: Operation) -> None:
        self.modified_in_place = True
        super().notify_op_modified(op)


class PatternRule(Rule):
    """A compiled pattern with its hooks: `meet` may refuse a match, `build` gives the new graph.

    `build` may return one function every time: it is copied. Where it returns None the pass
    fails, as in GE.
    """

    def __init__(
        self,
        pattern: CompiledPattern,
        build: Build,
        meet: Meet | None = None,
        *,
        name: str = "",
    ) -> None:
        self.pattern = pattern
        self.build = build
        self.meet = meet
        self.name = name or pattern.name
        self.root_types = pattern.root_types
        self.required_types = pattern.required_types
        self.required_edges = tuple(pattern.required_edges)
        self.depth = pattern.depth

    def attempt(self, op: GeOp, rewriter: PatternRewriter) -> Outcome:
        graph = graph_of(op, rewriter)
        match = self.pattern.match(op, graph.index)
        return MISSED if match is None else self.apply(match, graph)

    def explain(self, op: GeOp, rewriter: PatternRewriter) -> Outcome:
        graph = graph_of(op, rewriter)
        match = self.pattern.explain(op, graph.index)
        return match if isinstance(match, Declined) else self.apply(match, graph)

    def apply(self, match: Match, graph: GraphRewriter) -> Outcome:
        """Rewrite a match unless its requirements or a cycle forbid it.

        Raises CompileError when the replacement does not fit.
        """
        scope = graph.scope
        match.order = scope.order
        if self.meet is not None:
            met = self.meet(match)
            if isinstance(met, Declined):
                return Declined(met.reason, met.at or match.root, len(match.targets), True)
            if not met:
                return UNMET
        boundary = match.boundary
        if may_cycle(boundary) and makes_cycle(match.targets, scope.order, scope.block):
            return CYCLE
        replacement = self.build(match)
        if replacement is None:
            raise CompileError(
                "replacement is None, expected a graph", subject=f"rule '{self.name}'"
            )
        replace_in(scope, boundary, replacement, acyclic=True)
        return APPLIED


def graph_of(op: GeOp, rewriter: PatternRewriter) -> GraphRewriter:
    """The rewriter itself, or one around a stock rewriter for a single attempt."""
    if isinstance(rewriter, GraphRewriter):
        return rewriter
    block = op.parent
    assert block is not None
    return _OneAttempt(Scope(block, rewriter=rewriter), BlockIndex(block))


class _OneAttempt(GraphRewriter):
    """Under the stock walker: origins are written at once."""


@dataclass(slots=True)
class RuleReport:
    """What one rule did in one run."""

    rule: str
    tried: int = 0
    matched: int = 0
    applied: int = 0
    micros: float = 0.0


@dataclass(slots=True)
class RunReport:
    """What the rules of one run did, in order."""

    rules: list[RuleReport] = field(default_factory=list[RuleReport])

    @property
    def tried(self) -> int:
        return sum(rule.tried for rule in self.rules)

    @property
    def matched(self) -> int:
        """Matches, refused ones included (GE's match_times)."""
        return sum(rule.matched for rule in self.rules)

    @property
    def applied(self) -> int:
        """Rewrites (GE's effect_times)."""
        return sum(rule.applied for rule in self.rules)

    @property
    def changed(self) -> bool:
        return any(rule.applied for rule in self.rules)


def run_ge(
    block: Block,
    rules: Sequence[Rule],
    *,
    pass_name: str = "",
    infer: bool = True,
    recorders: Sequence[Recorder] = (),
) -> RunReport:
    """Run rules over one graph in GE's order; subgraphs are graphs of their own.

    `infer`: new nodes get inferred types, checked against what their readers had. Raises
    CompileError when a replacement does not fit or rewriting does not end.
    """
    run = _GeRun(block, pass_name, infer, recorders)
    try:
        for rule in rules:
            run.sweep(rule)
    finally:
        run.scope.origins.flush()
    return run.report


class _GeRun:
    """The state of `run_ge`: one index of the block for all rules."""

    def __init__(
        self, block: Block, pass_name: str, infer: bool, recorders: Sequence[Recorder]
    ) -> None:
        self.block = block
        self.pass_name = pass_name
        self.recorders = recorders
        self.explains = any(recorder.explains for recorder in recorders)
        self.report = RunReport()
        self.scope = Scope(block, pass_name, infer)
        self.index = BlockIndex(block)
        self.rewriter = GraphRewriter(self.scope, self.index)
        self.scope.rewriter = self.rewriter
        self.rewriter.operation_insertion_handler.append(self.inserted)
        self.rewriter.operation_removal_handler.append(self.removed)
        self.guard = Guard(0)
        self.queue: list[Operation] = []
        self.extra: tuple[type[Operation], ...] = ()

    def inserted(self, op: Operation) -> None:
        if op.parent is self.block:
            self.index.inserted(op)
            self.guard.created.append(op)
            if type(op) in self.extra:
                self.queue.append(op)

    def removed(self, op: Operation) -> None:
        self.index.removed(op)
        self.guard.erased.append(op)

    def sweep(self, rule: Rule) -> None:
        """Try one rule at all its candidates, and at those that its rewrites add."""
        started = perf_counter()
        report = RuleReport(rule.name)
        self.report.rules.append(report)
        self.select(rule)
        if self.queue:
            self.guard = Guard(2 * self.index.size + 1000)
            if isinstance(rule, PatternRule) and not self.recorders:
                self.run_pattern(rule, report)
            else:
                self.run_rule(rule, report)
        report.micros = (perf_counter() - started) * 1e6
        for recorder in self.recorders:
            recorder.swept(self.pass_name, rule.name, report.tried, report.micros)

    def select(self, rule: Rule) -> None:
        """The candidates of a rule; none when the graph lacks what it needs."""
        index = self.index
        self.queue = []
        self.extra = ()
        if index.stale:
            index.refresh()
        roots = [cls for name in rule.root_types if (cls := op_class(name)) is not None]
        if not index.has(roots) or not self.possible(rule):
            return
        buckets = [index.buckets[cls] for cls in roots if cls in index.buckets]
        if len(roots) == 1 or all(bucket is buckets[0] for bucket in buckets):
            self.queue = buckets[0]
        else:
            self.extra = tuple(roots)
            self.queue = [op for op in self.block.ops if type(op) in self.extra]

    def possible(self, rule: Rule) -> bool:
        """Whether the graph has the op types and edges that the rule needs."""
        if self.explains:
            return True
        index = self.index
        for name in rule.required_types:
            cls = op_class(name)
            if cls is None or cls not in index.buckets:
                return False
        return index.edges.issuperset(rule.required_edges) if rule.required_edges else True

    def run_pattern(self, rule: PatternRule, report: RuleReport) -> None:
        """The sweep of a pattern when nobody records the attempts."""
        block, queue, index = self.block, self.queue, self.index
        match = rule.pattern.match
        tried = 0
        for op in queue:  # grows while it is read
            if op.parent is not block:
                continue
            tried += 1
            found = match(op, index)
            if found is not None:
                report.matched += 1
                self.rewriter.start(op)
                outcome = rule.apply(found, self.rewriter)
                if outcome is APPLIED:
                    report.applied += 1
                    self.guard.applied(rule.name, op)
        report.tried = tried

    def run_rule(self, rule: Rule, report: RuleReport) -> None:
        attempt = rule.explain if self.explains else rule.attempt
        for op in self.queue:  # grows while it is read
            if op.parent is not self.block or not isinstance(op, GeOp):
                continue
            report.tried += 1
            self.rewriter.start(op)
            started = perf_counter()
            outcome = attempt(op, self.rewriter)
            if isinstance(outcome, Applied):
                report.matched += 1
                report.applied += 1
                self.guard.applied(rule.name, op)
            elif outcome.matched:
                report.matched += 1
            elif not self.explains:
                continue
            micros = (perf_counter() - started) * 1e6
            for recorder in self.recorders:
                recorder.attempt(self.pass_name, rule.name, op, outcome, micros)


def decompose(
    block: Block,
    op_types: Sequence[str],
    build: Callable[[GeOp], FuncOp | None],
    meet: Callable[[GeOp], bool | Declined] | None = None,
    *,
    pass_name: str = "",
    infer: bool = True,
    recorders: Sequence[Recorder] = (),
) -> RunReport:
    """Replace each node of the given types, from a snapshot of the graph: GE's DecomposePass.

    The replacement has one input per tensor that the node reads (a tensor read twice counts
    once, missing optional operands are skipped) and one output per output of the node, used or
    not. New nodes are not visited. Raises CompileError when a replacement is None or does not
    fit.
    """
    report = RunReport([RuleReport(pass_name)])
    counts = report.rules[0]
    started = perf_counter()
    wanted = frozenset(op_types)
    snapshot = [op for op in block.ops if isinstance(op, GeOp) and op.op_type in wanted]
    scope = Scope(block, pass_name, infer)
    try:
        for op in snapshot if op_types else ():
            begun = perf_counter()
            outcome = _decompose_one(scope, op, build, meet)
            counts.tried += 1
            counts.matched += 1
            counts.applied += isinstance(outcome, Applied)
            for recorder in recorders:
                micros = (perf_counter() - begun) * 1e6
                recorder.attempt(pass_name, op.op_type, op, outcome, micros)
    finally:
        scope.origins.flush()
    counts.micros = (perf_counter() - started) * 1e6
    for recorder in recorders if snapshot else ():
        recorder.swept(pass_name, pass_name, counts.tried, counts.micros)
    return report


def _decompose_one(
    scope: Scope,
    op: GeOp,
    build: Callable[[GeOp], FuncOp | None],
    meet: Callable[[GeOp], bool | Declined] | None,
) -> Outcome:
    met = True if meet is None else meet(op)
    if isinstance(met, Declined):
        return Declined(met.reason, met.at or op, 1, True)
    if not met:
        return UNMET
    if not op.results:
        return Declined("has no output, expected one or more", op, 1, True)
    replacement = build(op)
    if replacement is None:
        raise CompileError("replacement is None, expected a graph", subject=describe(op))
    replace_in(scope, node_boundary(op), replacement, acyclic=True)
    return APPLIED


def node_boundary(op: GeOp) -> Boundary:
    """The boundary of one node: its operands, each tensor once, and all its outputs."""
    inputs: dict[SSAValue, None] = {}
    for value in operands_of(op):
        if not isinstance(producer(value), UnconnectedOp):
            inputs[value] = None
    return Boundary(tuple(inputs), op.results, [op])
