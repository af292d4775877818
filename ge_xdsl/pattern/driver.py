"""Running rules over a graph in GE's order.

Every rule in turn sweeps the candidates of its root type in node order; nodes that a rewrite
makes become candidates at the end; each is tried once. `pattern.fixpoint` is the other driver;
both run the same `Rule` objects on xDSL's PatternRewriter.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from time import perf_counter

from xdsl.ir import Block, Operation

from ge_xdsl.dialects.ge.collect import seldom
from ge_xdsl.dialects.ge.op import GeOp
from ge_xdsl.dialects.ge.registry import op_class
from ge_xdsl.pattern.decompose import decompose, node_boundary
from ge_xdsl.pattern.fixpoint import run_fixpoint
from ge_xdsl.pattern.guard import Guard
from ge_xdsl.pattern.index import BlockIndex
from ge_xdsl.pattern.pattern_rule import (
    MANY,
    GraphRewriter,
    PatternRule,
    RuleReport,
    RunReport,
    makes_nodes,
)
from ge_xdsl.pattern.provenance import GraphNames, listing_of
from ge_xdsl.pattern.recorder import Recorder
from ge_xdsl.pattern.rewrite import Scope
from ge_xdsl.pattern.rule import APPLIED, Applied, Rule
from ge_xdsl.pattern.verify import verifier_of

__all__ = [
    "MANY",
    "GraphRewriter",
    "PatternRule",
    "RuleReport",
    "RunReport",
    "decompose",
    "node_boundary",
    "run_fixpoint",
    "run_ge",
]


def run_ge(
    block: Block,
    rules: Sequence[Rule],
    *,
    pass_name: str = "",
    infer: bool = True,
    recorders: Sequence[Recorder] = (),
    names: GraphNames | None = None,
) -> RunReport:
    """Run rules over one graph in GE's order; subgraphs are graphs of their own.

    `infer`: new nodes get inferred types, checked against what their readers had. `names`: shared
    by the runs over a graph and its subgraphs, which would each look for its names. Raises
    CompileError when a replacement does not fit or rewriting does not end.
    """
    run = _GeRun(block, pass_name, infer, recorders, names, makes_nodes(rules))
    with seldom(run.index.size):
        try:
            run.many = len(rules) >= MANY
            for rule in rules:
                run.sweep(rule)
        finally:
            run.scope.finish()
    if names is not None and run.report.changed:
        names.note_all(block)
    return run.report


class _GeRun:
    """The state of `run_ge`: one index of the block for all rules."""

    def __init__(
        self,
        block: Block,
        pass_name: str,
        infer: bool,
        recorders: Sequence[Recorder],
        shared: GraphNames | None,
        names: bool,
    ) -> None:
        self.block = block
        self.pass_name = pass_name
        self.recorders = recorders
        self.explains = any(recorder.explains for recorder in recorders)
        self.report = RunReport()
        verifier = verifier_of(recorders)
        self.scope = Scope(block, pass_name, infer, verifier=verifier, graph_names=shared)
        self.index = BlockIndex(block, names=names and shared is None)
        self.scope.names.listing = self.listing
        if shared is None:
            self.scope.names.graph.measured(block, self.index.longest_name)
        self.rewriter = GraphRewriter(self.scope, self.index)
        self.rewriter.listen(self.index.moved, self.replaced)
        self.rewriter.operation_insertion_handler.append(self.inserted)
        self.rewriter.operation_removal_handler.append(self.guard_removed)
        self.rewriter.operation_modification_handler.append(self.index.modified)
        self.guard = Guard(0)
        self.many = False
        self.moves = 0
        self.stale = False
        """Whether something was rewritten since the index looked at edges and their producers."""
        self.queue: list[Operation] = []
        self.roots: frozenset[type[Operation]] = frozenset()
        self.grows = True
        """Whether the index itself adds new ops to the queue."""
        self.ahead: list[Operation] = []
        self.done: set[Operation] = set()
        self.by_hand = False
        """Whether the rule at work names its new nodes itself."""

    def inserted(self, op: Operation) -> None:
        if self.by_hand:
            self.scope.names.graph.note(op)
        if op.parent is self.block:
            self.index.inserted(op)
            self.guard.created.append(op)
            if not self.grows and type(op) in self.roots:
                self.queue.append(op)

    def listing(self, block: Block) -> tuple[Sequence[Operation], Sequence[Operation]]:
        """The ops of a block, and those with subgraphs; of its own one also what is gone."""
        return self.index.listing if block is self.block else listing_of(block)

    def replaced(
        self, new: list[GeOp], old: list[GeOp], touched: list[tuple[Operation, int]]
    ) -> None:
        """Note what a plan did."""
        self.rewriter.has_done_action = True
        index = self.index
        for op in new:
            index.inserted(op)
            if not self.grows and type(op) in self.roots:
                self.queue.append(op)
        if index.follows_edges:
            for user, place in touched:
                index.moved(user, place)
        self.guard.created += new
        self.guard.erased += old

    def guard_removed(self, op: Operation) -> None:
        self.guard.erased.append(op)

    def sweep(self, rule: Rule) -> None:
        """Try one rule at all its candidates, and at those that its rewrites add."""
        started = perf_counter()
        report = RuleReport(rule.name)
        self.report.rules.append(report)
        self.select(rule)
        self.by_hand = not isinstance(rule, PatternRule)
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
        self.done.clear()
        if self.many and self.stale:
            self.stale = False
            index.forget_details()
            if not index.edges_in_order:
                index.forget_edges()
        if self.scope.order.moves != self.moves or (index.dirty and rule.many_outputs):
            self.moves = self.scope.order.moves
            index.refresh()
        roots = [cls for name in rule.root_types if (cls := op_class(name)) is not None]
        self.roots = frozenset(roots)
        if index.has(roots) and self.possible(rule):
            self.queue, self.grows = index.candidates(roots)

    def possible(self, rule: Rule) -> bool:
        """Whether the graph has the op types and edges that the rule needs."""
        if self.explains:
            return True
        index = self.index
        if not index.has_all_types(rule.required_types):
            return False
        if not self.many:
            return True
        edges = rule.required_edges
        return index.has_repeats(rule.root_features) and all(map(index.has_edge, edges))

    def pending(self, near: Sequence[Operation] | None = None) -> Iterator[Operation]:
        """The ops to try: candidates in order, new ones last.

        Only those in `near` up to the first rewrite, where it is given. New ops that are of the
        types that they replace come first, so that a rule which feeds on itself is found at its
        first site.
        """
        block, queue, done, ahead = self.block, self.queue, self.done, self.ahead
        position, rewrites = 0, self.guard.count
        sweep: Sequence[Operation] = queue if near is None else near
        while True:
            if ahead:
                op = ahead.pop()
                done.add(op)
            elif position < len(sweep):  # grows while it is read
                op = sweep[position]
                position += 1
                if done and op in done:
                    continue
            else:
                return
            if op.parent is block:
                yield op
                if sweep is not queue and self.guard.count > rewrites:
                    position, sweep = queue.index(op) + 1, queue

    def applied(self, rule: Rule, report: RuleReport, op: Operation) -> None:
        """Note a rewrite."""
        report.matched += 1
        report.applied += 1
        self.stale = True
        new = self.guard.applied(rule.name, op)
        if new:
            self.ahead += [op for op in reversed(new) if type(op) in self.roots]

    def run_pattern(self, rule: PatternRule, report: RuleReport) -> None:
        """The sweep of a pattern when nobody records the attempts.

        Among many rules only the ops with a required edge are tried, up to the first rewrite:
        that may make the edge elsewhere.
        """
        index, pattern = self.index, rule.pattern
        first, match = pattern.first, pattern.match
        tried = 0
        for op in self.pending(index.near(rule.root_features) if self.many else None):
            tried += 1
            if first is None:
                found = match(op, index)
            else:
                state = first(op, (), ())
                if state is None:
                    continue
                found = pattern.search(op, state, index)
            if found is not None:
                self.rewriter.start(op)
                if rule.apply(found, self.rewriter) is APPLIED:
                    self.applied(rule, report, op)
                else:
                    report.matched += 1
        report.tried = tried

    def run_rule(self, rule: Rule, report: RuleReport) -> None:
        attempt = rule.explain if self.explains else rule.attempt
        for op in self.pending():
            if not isinstance(op, GeOp):
                continue
            report.tried += 1
            self.rewriter.start(op)
            started = perf_counter()
            outcome = attempt(op, self.rewriter)
            if isinstance(outcome, Applied):
                self.applied(rule, report, op)
            elif outcome.matched:
                report.matched += 1
            elif not self.explains:
                continue
            micros = (perf_counter() - started) * 1e6
            for recorder in self.recorders:
                recorder.attempt(self.pass_name, rule.name, op, outcome, micros)
