"""The pieces that both drivers share: the rewriter, pattern rules, and reports."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from xdsl.builder import InsertOpInvT
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter
from xdsl.rewriter import InsertPoint

from ge_xdsl.dialects.ge.op import GeOp, KnownValues
from ge_xdsl.errors import CompileError
from ge_xdsl.pattern.access import next_use, user_of
from ge_xdsl.pattern.boundary import has_control_edge, makes_cycle
from ge_xdsl.pattern.compile import CompiledPattern
from ge_xdsl.pattern.index import BlockIndex
from ge_xdsl.pattern.match import Candidates, Match
from ge_xdsl.pattern.plan import Plan, Plans
from ge_xdsl.pattern.rewrite import Moved, Replaced, Scope, replace_in
from ge_xdsl.pattern.rule import APPLIED, MISSED, Declined, Outcome, Rule
from ge_xdsl.pattern.verify import WrongRewrite

Meet = Callable[[Match], "bool | Declined"]
Build = Callable[[Match], "FuncOp | None"]

Matcher = Callable[[Operation, "Candidates | None"], "Match | None"]

UNMET = Declined("the requirements are not met", matched=True)
CYCLE = Declined("fusing it would make a cycle", matched=True)

MANY = 8
"""From this many rules on it pays to know which edges between op types a graph has."""


class GraphRewriter(PatternRewriter):
    """A rewriter that knows the block it works on: names, positions, ops by type."""

    def __init__(self, scope: Scope, index: BlockIndex) -> None:
        first = scope.block.first_op
        assert first is not None
        super().__init__(first)
        self.scope = scope
        self.index = index
        self.modified_in_place = False

    def listen(self, moved: Moved, replaced: Replaced) -> None:
        """Have `moved` told of each operand that reads something else, `replaced` of plans."""
        self.scope.rewriter = self
        self.scope.moved = moved
        self.scope.replaced = replaced if self.scope.verifier is None else None
        self.scope.batched = True

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

    def replace_all_uses_with(
        self, from_value: SSAValue, to_value: SSAValue | None, safe_erase: bool = True
    ) -> None:
        """Let the readers of a value read another; linear, also where a reader is wide."""
        scope = self.scope
        if scope.verifier is not None and to_value is not None and from_value is not to_value:
            failure = scope.verifier.check(
                scope.pass_name, scope.rule, [from_value], [to_value], scope.finite
            )
            if failure is not None:
                raise failure.error()
        if to_value is None or scope.moved is None or from_value is to_value:
            super().replace_all_uses_with(from_value, to_value, safe_erase)
            return
        use = from_value.first_use
        while use is not None:
            user, index, following = user_of(use), use.index, next_use(use)
            scope.set_operand(user, index, to_value)
            self.has_done_action = True
            scope.moved(user, index)
            use = following
        if to_value.name_hint is None:
            to_value.name_hint = from_value.name_hint

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
        self.root_features = pattern.root_features
        self.many_outputs = len(pattern.graph.outputs) > 1
        self.depth = pattern.depth
        self.plans = Plans(pattern.graph)

    def attempt(self, op: GeOp, rewriter: PatternRewriter) -> Outcome:
        known = isinstance(rewriter, GraphRewriter)
        match = self.pattern.match(op, rewriter.index if known else None)
        if match is None:
            return MISSED
        graph = graph_of(op, rewriter)
        outcome = self.apply(match, graph)
        if graph is not rewriter:
            graph.scope.finish()
        return outcome

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
        block = scope.block
        simple = not self.many_outputs and not has_control_edge(block)
        if not simple and makes_cycle(match.targets, scope.order, block):
            return CYCLE
        replacement = self.build(match)
        if replacement is None:
            raise CompileError(
                "replacement is None, expected a graph", subject=f"rule '{self.name}'"
            )
        plannable = simple and match.closed and scope.replaced and not KnownValues.current
        plan = self.plans.find(replacement) if plannable else None
        if plan is not None and plan.rewrite(scope, match.targets, match.inputs):
            return APPLIED
        scope.rule, scope.finite = self.name, self.finite
        try:
            new = replace_in(scope, match.boundary, replacement, acyclic=True)
        except WrongRewrite as error:
            return Declined(error.message, match.root, len(match.targets), True)
        if plan is not None:
            self.learn(plan, match, new, scope)
        return APPLIED

    def learn(self, plan: Plan, match: Match, new: Sequence[GeOp], scope: Scope) -> None:
        """Let a plan that left a match to the general way do the next one like it."""
        if plan.current():
            plan.learn(match.inputs, match.outputs[0], new, scope)
        else:
            self.plans.forget(plan.func)


def makes_nodes(rules: Sequence[Rule]) -> bool:
    """Whether a run is likely to name nodes: it has patterns, and not so many that most of them
    are there in vain."""
    return len(rules) < MANY and any(isinstance(rule, PatternRule) for rule in rules)


def graph_of(op: GeOp, rewriter: PatternRewriter) -> GraphRewriter:
    """The rewriter itself, or one around a stock rewriter for a single attempt."""
    if isinstance(rewriter, GraphRewriter):
        return rewriter
    block = op.parent
    assert block is not None
    return GraphRewriter(Scope(block, rewriter=rewriter), BlockIndex(block))


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
