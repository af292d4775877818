"""Running rules until none applies, in time linear in the work they do.

A worklist is seeded once with the ops that some rule can start from. After a rewrite only what it
concerns is tried again: the new ops, the ops above them as far up as rules look down, the
producers of what the new ops read or the old ones read (whatever their number of uses), and
readers of tensors that lost a reader. Ops that lose their last reader are erased on the way.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from time import perf_counter
from typing import TypeAlias

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, OpResult, SSAValue
from xdsl.traits import Pure

from ge_xdsl.dialects.ge.collect import seldom
from ge_xdsl.dialects.ge.graph import functions
from ge_xdsl.dialects.ge.op import GeOp
from ge_xdsl.pattern.access import is_ge, operands_of, user_of, uses
from ge_xdsl.pattern.guard import Guard
from ge_xdsl.pattern.index import AnyEdge, BlockIndex, has_features
from ge_xdsl.pattern.match import Match
from ge_xdsl.pattern.pattern_rule import (
    MANY,
    GraphRewriter,
    Matcher,
    PatternRule,
    RuleReport,
    RunReport,
    makes_nodes,
)
from ge_xdsl.pattern.provenance import GraphNames, listing_of
from ge_xdsl.pattern.recorder import Recorder
from ge_xdsl.pattern.rewrite import Scope
from ge_xdsl.pattern.rule import Applied, Rule
from ge_xdsl.pattern.verify import verifier_of

FAN_OUT = 64
"""Readers of one tensor that are tried again when something two or more edges below changed;
with more of them the whole block is swept once more at the end instead."""
FEW_RULES = 4
"""With more rules at one op type, what the op reads decides which are tried."""
FEW_USES = 4
"""A tensor with more readers than this that loses one cannot become private to a match."""


def run_fixpoint(
    module: ModuleOp,
    rules: Sequence[Rule],
    *,
    pass_name: str = "",
    infer: bool = True,
    dce: bool = True,
    recorders: Sequence[Recorder] = (),
) -> RunReport:
    """Apply rules to all graphs of a module until none applies.

    `dce`: erase ops that the rewriting leaves without a reader (not those that had none before).
    Raises CompileError when the rewriting does not end.
    """
    report = RunReport([RuleReport(rule.name) for rule in rules])
    started = perf_counter()
    for func in functions(module):
        changed = True
        while changed:
            indices = _indices(func, makes_nodes(rules))
            changed = False
            names = GraphNames(func) if len(indices) > 1 else None
            with seldom(sum(index.size for index in indices)):
                for index in reversed(indices):
                    run = _Fixpoint(index, rules, pass_name, infer, dce, recorders, report, names)
                    if run.run() and names is not None:
                        names.note_all(index.block)
                        changed = True
    micros = (perf_counter() - started) * 1e6
    for rule in report.rules:
        for recorder in recorders:
            recorder.swept(pass_name, rule.rule, rule.tried, rule.micros or micros / len(rules))
    return report


def _indices(func: FuncOp, names: bool) -> list[BlockIndex]:
    """The indices of a graph's block and of those of its subgraphs, outer ones first.

    `names`: of use is the longest name in the graph.
    """
    found = [BlockIndex(block, names=names) for region in func.regions for block in region.blocks]
    for index in found:  # grows while it is read
        for op in index.nested:
            found += [BlockIndex(inner) for region in op.regions for inner in region.blocks]
    return found


_Entry: TypeAlias = "tuple[Rule, RuleReport, Matcher | None]"


def _matcher(rule: Rule) -> Matcher | None:
    """How a pattern is matched; None for a rule that is written by hand."""
    return rule.pattern.match if isinstance(rule, PatternRule) else None


class _Choice:
    """The rules for ops of one class that read certain classes; what else they want is tested
    once for all that want the same."""

    def __init__(
        self, entries: Sequence[_Entry], sources: Sequence[type[Operation] | None]
    ) -> None:
        self.entries = [
            entry
            for entry in entries
            if all(
                edge[1] < len(sources) and sources[edge[1]] is edge[2]
                for edge, _ in entry[0].root_features
            )
        ]
        wanted = [tuple(entry[0].root_features) for entry in self.entries]
        self.features = list(dict.fromkeys(wanted))
        self.group = [self.features.index(features) for features in wanted]
        self.shared = 2 * len(self.features) <= len(self.entries)
        self.known: dict[tuple[bool, ...], Sequence[_Entry]] = {}

    def at(self, op: Operation) -> Sequence[_Entry]:
        """The rules to try at an op, in their order."""
        if not self.shared:
            return self.entries
        fits = tuple([has_features(op, features) for features in self.features])
        found = self.known.get(fits)
        if found is None:
            pairs = zip(self.entries, self.group, strict=True)
            found = self.known[fits] = [entry for entry, group in pairs if fits[group]]
        return found


class _Fixpoint:
    """One block's worklist."""

    by_hand = False
    """Whether the rule at work names its new nodes itself."""
    hopeless: frozenset[type[Operation]] = frozenset()
    """The classes of ops that are left out of the stack up to the first rewrite, since no rule
    fits them as they are."""

    def __init__(
        self,
        index: BlockIndex,
        rules: Sequence[Rule],
        pass_name: str,
        infer: bool,
        dce: bool,
        recorders: Sequence[Recorder],
        report: RunReport,
        names: GraphNames | None,
    ) -> None:
        block = self.block = index.block
        self.pass_name = pass_name
        self.dce = dce
        self.recorders = recorders
        self.explains = any(recorder.explains for recorder in recorders)
        verifier = verifier_of(recorders)
        self.scope = Scope(block, pass_name, infer, verifier=verifier, graph_names=names)
        self.index = index
        self.scope.names.listing = self.listing
        if names is None:
            self.scope.names.graph.measured(block, index.longest_name)
        self.rewriter = GraphRewriter(self.scope, self.index)
        self.rewriter.listen(self.moved, self.replaced)
        self.rewriter.operation_insertion_handler.append(self.inserted)
        self.rewriter.operation_removal_handler.append(self.removed)
        self.rewriter.operation_modification_handler.append(self.modified)
        self.guard = Guard(10 * self.index.size + 1000)
        self.stack: list[Operation] = []
        self.queued: set[int] = set()
        self.loose: list[SSAValue] = []
        self.new: list[Operation] = []
        self.changed: dict[Operation, None] = {}
        self.incomplete = False
        self.depth = max((rule.depth for rule in rules), default=1)
        self.pairs = list(zip(rules, report.rules, strict=True))
        self.dormant: dict[AnyEdge, None] = {}
        self.by_class: dict[type[Operation], Sequence[_Entry]] = {}
        self.by_sources: dict[tuple[type[Operation] | None, ...], _Choice] = {}
        self.pure: dict[type[Operation], bool] = {}

    # Which rules can start from which ops

    def sleep(self) -> None:
        """Note the edges that rules wait for; such a rule sleeps until one of them is made."""
        if self.explains or not any(rule.required_edges for rule, _ in self.pairs):
            return
        wanted = dict.fromkeys(edge for rule, _ in self.pairs for edge in rule.required_edges)
        self.dormant = {
            edge: None for edge in wanted if not self.index.has_edge(edge, refresh=False)
        }
        self.by_class = {}
        self.by_sources = {}

    def rules_for(self, cls: type[Operation]) -> Sequence[_Entry]:
        """The awake rules that can start from ops of a class."""
        found = self.by_class.get(cls)
        if found is None:
            name = cls.prototype.op_type if issubclass(cls, GeOp) and cls is not GeOp else ""
            found = self.by_class[cls] = [
                (rule, report, None if self.recorders else _matcher(rule))
                for rule, report in self.pairs
                if name in rule.root_types and self.dormant.keys().isdisjoint(rule.required_edges)
            ]
        return found

    def rules_at(self, op: Operation, entries: Sequence[_Entry]) -> Sequence[_Entry]:
        """Those of many rules that want the op types that `op` reads."""
        operands = operands_of(op)
        if len(entries) <= FEW_RULES or len(operands) > FEW_RULES or self.explains:
            return entries
        sources = [type(v.op) if type(v) is OpResult else None for v in operands]
        key = (type(op), *sources)
        found = self.by_sources.get(key)
        if found is None:
            found = self.by_sources[key] = _Choice(entries, sources)
        return found.at(op)

    def wake(self, op: Operation) -> None:
        """Wake the rules that waited for an edge that `op` has."""
        for i, value in enumerate(operands_of(op)):
            self.wake_edge(op, i, value)

    def wake_edge(self, op: Operation, index: int, value: SSAValue) -> None:
        """Wake the rules that waited for the edge of one operand."""
        if type(value) is OpResult:
            edge = (type(op), index, type(value.op))
            if edge in self.dormant:
                del self.dormant[edge]
                self.by_class = {}
                self.by_sources = {}

    def listing(self, block: Block) -> tuple[Sequence[Operation], Sequence[Operation]]:
        """The ops of a block, and those with subgraphs; of its own one also what is gone."""
        return self.index.listing if block is self.block else listing_of(block)

    # What the rewriter reports

    def inserted(self, op: Operation) -> None:
        if self.by_hand:
            self.scope.names.graph.note(op)
        if op.parent is not self.block:
            return
        self.new.append(op)
        self.index.inserted(op)
        self.guard.created.append(op)
        if self.dormant:
            self.wake(op)

    def removed(self, op: Operation) -> None:
        self.loose += operands_of(op)
        self.scope.order.removed(op)
        self.guard.erased.append(op)

    def modified(self, op: Operation) -> None:
        self.index.modified(op)
        self.changed[op] = None
        if self.dormant:
            self.wake(op)

    def moved(self, op: Operation, index: int) -> None:
        self.index.moved(op, index)
        self.changed[op] = None
        if self.dormant:
            self.wake_edge(op, index, operands_of(op)[index])

    def replaced(
        self, new: list[GeOp], old: list[GeOp], touched: list[tuple[Operation, int]]
    ) -> None:
        """Note what a plan did."""
        self.rewriter.has_done_action = True
        for op in new:
            self.inserted(op)
        for user, place in touched:
            self.moved(user, place)
        for op in old:
            self.loose += operands_of(op)
        self.guard.erased += old

    # The worklist

    def push(self, op: Operation) -> None:
        cls = type(op)
        rules = self.by_class.get(cls)
        if rules is None:
            rules = self.rules_for(cls)
        if rules and op.parent is self.block:
            key = id(op)
            if key not in self.queued:
                self.queued.add(key)
                self.stack.append(op)

    def seed(self) -> None:
        if self.guard.count:
            self.index.refresh()
        first = not self.guard.count
        fitting = self.fitting() if len(self.pairs) >= MANY and first else None
        if fitting is None and first:
            self.sleep()
        wanted = [cls for cls in self.index.buckets if self.rules_for(cls)]
        if fitting is not None:
            self.hopeless = frozenset(wanted)
            if fitting:
                self.stack += [op for op in reversed(self.index.ops) if op in fitting]
        elif len(wanted) == 1:
            self.stack += reversed(self.index.buckets[wanted[0]])
        elif wanted:
            classes = frozenset(wanted)
            self.stack += [op for op in reversed(self.index.ops) if type(op) in classes]
        self.queued = set(map(id, self.stack))

    def fitting(self) -> dict[Operation, None] | None:
        """The ops that have what the index knows of the roots of some rule; None where a rule may
        start from ops of which it knows nothing."""
        if self.explains:
            return None
        lists: dict[int, Sequence[Operation]] = {}
        for rule, _ in self.pairs:
            has_types = self.index.has_all_types(rule.required_types)
            if not has_types or not self.index.has_type(rule.root_types):
                continue
            near = self.index.near(rule.root_features)
            if near is None:
                return None
            lists[id(near)] = near
        return {op: None for near in lists.values() for op in near}

    def resume(self, root: Operation) -> None:
        """After the first rewrite put the ops behind its root on the stack that were left out."""
        classes, self.hopeless = self.hopeless, frozenset()
        ops = self.index.ops
        rest = islice(ops, ops.index(root) + 1, None)
        self.stack[:] = reversed([op for op in rest if type(op) in classes])
        self.queued.clear()
        self.queued.update(map(id, self.stack))
        self.sleep()

    def run(self) -> bool:
        """Drain the worklist; whether anything was rewritten."""
        if not any(self.index.has_type(rule.root_types) for rule, _ in self.pairs):
            return False
        changed = False
        try:
            while True:
                self.incomplete = False
                self.seed()
                swept = self.drain()
                changed |= swept
                if not swept or not self.incomplete:
                    return changed
        finally:
            self.scope.finish()

    def drain(self) -> bool:
        changed = False
        stack, queued, block, index = self.stack, self.queued, self.block, self.index
        while stack:
            op = stack.pop()
            queued.discard(id(op))
            if op.parent is block and is_ge(op):
                entries = self.by_class.get(type(op)) or self.rules_for(type(op))
                for rule, report, match in self.rules_at(op, entries):
                    report.tried += 1
                    found = None if match is None else match(op, index)
                    if found is None and match is not None:
                        continue
                    if self.attempt(rule, report, op, found):
                        changed = True
                        break
        return changed

    def attempt(self, rule: Rule, report: RuleReport, op: GeOp, found: Match | None) -> bool:
        """Try one rule at one op, where it may be known to match; whether it rewrote."""
        rewriter = self.rewriter
        rewriter.start(op)
        self.scope.rule, self.scope.finite = rule.name, rule.finite
        self.by_hand = not isinstance(rule, PatternRule)
        if not self.recorders:
            if found is not None and isinstance(rule, PatternRule):
                outcome = rule.apply(found, rewriter)
            else:
                outcome = rule.attempt(op, rewriter)
            if outcome.__class__ is not Applied and not rewriter.has_done_action:
                return False
        else:
            started = perf_counter()
            outcome = (rule.explain if self.explains else rule.attempt)(op, rewriter)
            micros = (perf_counter() - started) * 1e6
            report.micros += micros
            if isinstance(outcome, Applied) or outcome.matched or self.explains:
                for recorder in self.recorders:
                    recorder.attempt(self.pass_name, rule.name, op, outcome, micros)
        if not isinstance(outcome, Applied) and not rewriter.has_done_action:
            report.matched += outcome.matched
            return False
        report.matched += 1
        report.applied += 1
        self.settle(rule, op)
        return True

    def settle(self, rule: Rule, root: Operation) -> None:
        """After a rewrite: erase what died, and try again what it concerns."""
        if self.hopeless:
            self.resume(root)
        self.incomplete |= self.rewriter.modified_in_place
        self.rewriter.modified_in_place = False
        self.sweep_dead()
        self.guard.applied(rule.name, root)
        for op in self.changed:
            if self.depth > 2:
                self.push_above(op, self.depth - 2)
            self.push_producers(op)
            self.push(op)
        for op in reversed(self.new):
            self.push_producers(op)
            self.push(op)
        self.changed.clear()
        self.new.clear()

    def sweep_dead(self) -> None:
        """Go through the tensors that lost a reader."""
        while self.loose:
            value = self.loose.pop()
            if type(value) is not OpResult or value.op.parent is not self.block:
                self.push_readers(value)
                continue
            op = value.op
            if self.dce and self.is_dead(op):
                self.rewriter.handle_operation_removal(op)
                op.detach()
                op.erase()
            else:
                self.push_readers(value)
                self.push(op)

    def is_dead(self, op: Operation) -> bool:
        for result in op.results:
            if result.first_use is not None:
                return False
        cls = type(op)
        pure = self.pure.get(cls)
        if pure is None:
            pure = self.pure[cls] = issubclass(cls, GeOp) and cls.has_trait(Pure)
        return pure

    def push_readers(self, value: SSAValue) -> None:
        """Try the readers of a tensor that has become almost private."""
        if value.first_use is None:
            return
        few = list(islice(uses(value), FEW_USES + 1))
        if len(few) <= FEW_USES:
            for use in few:
                user = user_of(use)
                if self.depth > 2:
                    self.push_above(user, self.depth - 2)
                self.push(user)

    def push_producers(self, op: Operation) -> None:
        """Try the ops that `op` reads: a rule may look at its root's readers and theirs."""
        operands = operands_of(op)
        if len(operands) > FAN_OUT and op in self.changed:
            self.incomplete |= isinstance(op, GeOp)
            return
        for value in operands:
            if type(value) is OpResult:
                self.push(value.op)

    def push_above(self, op: Operation, levels: int) -> None:
        """Try the ops up to `levels` edges above `op`."""
        level = [op]
        while levels > 0 and level:
            above: dict[Operation, None] = {}
            for below in level:
                for result in below.results:
                    readers = list(islice(uses(result), FAN_OUT + 1))
                    if len(readers) > FAN_OUT:
                        self.incomplete = True
                        readers.pop()
                    above.update(dict.fromkeys(user_of(use) for use in readers))
            level = list(above)
            for user in level:
                self.push(user)
            levels -= 1
