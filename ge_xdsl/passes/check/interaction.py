"""Which rules get in each other's way, which help each other, and which can never fire.

Two rules interact on a graph when one of them, run first, changes how often the other applies.
For patterns the graphs are made from the patterns themselves (`overlap`); for rules written by
hand a graph is given.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations, islice
from typing import Any

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from ge_xdsl.dialects.ge.graph import ge_ops, main_function
from ge_xdsl.dialects.ge.op import GeOp
from ge_xdsl.dialects.ge.text import module_text
from ge_xdsl.dialects.ge.types import DataType
from ge_xdsl.errors import CompileError, counted
from ge_xdsl.passes.check.graphs import own_match, own_module, typed
from ge_xdsl.passes.check.meaning import meaning
from ge_xdsl.passes.check.overlap import feeding, overlaps
from ge_xdsl.passes.extract import extract
from ge_xdsl.pattern.driver import run_ge
from ge_xdsl.pattern.fixpoint import run_fixpoint
from ge_xdsl.pattern.graph import PatternGraph
from ge_xdsl.pattern.pattern_rule import PatternRule
from ge_xdsl.pattern.rule import Rule

GRAPHS = 40
"""Most graphs that one pair of patterns is tried on."""
TYPINGS = 4
"""Most choices of shapes for one of them."""
PARTS = 200
"""Most parts of a given graph that are tried as a smaller witness."""


@dataclass(frozen=True)
class Unit:
    """A rule that can run by itself."""

    name: str
    rule: Rule
    infers: bool = True
    fixpoint: bool = False
    """Whether it runs until nothing changes, as the builtin rules do; else one sweep as in GE."""

    def run(self, module: ModuleOp) -> int:
        """Run on the main graph in place; how often it applied."""
        if self.fixpoint:
            return run_fixpoint(module, [self.rule]).applied
        return run_ge(main_function(module).body.block, [self.rule], infer=self.infers).applied

    @property
    def graph(self) -> PatternGraph | None:
        return self.rule.pattern.graph if isinstance(self.rule, PatternRule) else None

    def replacement(self) -> FuncOp | None:
        """What stands for the pattern's own graph, None where the hook asks for more."""
        if not isinstance(self.rule, PatternRule):
            return None
        try:
            return self.rule.build(own_match(self.rule.pattern))
        except CompileError:
            return None


@dataclass(frozen=True)
class Effect:
    """What the order of two rules does to one graph."""

    alone: tuple[int, int]
    """How often each applies by itself."""
    after: tuple[int, int]
    """How often each applies after the other one."""
    differs: bool
    """Whether the two orders give different graphs."""

    @property
    def interacts(self) -> bool:
        return self.differs or self.alone != self.after

    def texts(self, first: str, second: str) -> Iterator[str]:
        """The effect in words."""
        names = (first, second)
        for i, (alone, after) in enumerate(zip(self.alone, self.after, strict=True)):
            if alone != after:
                what = "takes" if after < alone else "makes"
                count = abs(after - alone)
                plural = "" if count == 1 else "es"
                yield f"'{names[1 - i]}' {what} {count} match{plural} of '{names[i]}'"
        if self.differs:
            yield "the results differ by order"


def effect(first: Unit, second: Unit, module: ModuleOp) -> Effect | None:
    """Try two rules in both orders on copies of a graph; None when neither applies, or one
    fails."""
    orders = [(first, second), (second, first)]
    alone: list[int] = []
    after: list[int] = []
    results: list[list[str]] = []
    try:
        for one, other in orders:
            copy = module.clone()
            alone.append(one.run(copy))
            after.append(other.run(copy))
            if one.fixpoint and other.fixpoint:
                copy = module.clone()
                run_fixpoint(copy, [one.rule, other.rule])
            results.append(meaning(copy))
    except CompileError:  # a replacement that does not fit this graph
        return None
    if not any(alone):
        return None
    return Effect((alone[0], alone[1]), (after[1], after[0]), results[0] != results[1])


@dataclass(frozen=True)
class Interaction:
    """Two rules that interact, the first one in the order in which they run first."""

    first: str
    second: str
    effect: Effect
    witness: ModuleOp
    """A small graph on which they do."""

    def lines(self) -> list[str]:
        """For people: the pair, what happens, and the graph."""
        head = f"{self.first} and {self.second}: "
        text = module_text(self.witness).strip().splitlines()
        inner = [line for line in text if line not in ("builtin.module {", "}")]
        told = ", ".join(self.effect.texts(self.first, self.second))
        return [head + told, *(f"  {line}" for line in inner)]

    def as_json(self) -> dict[str, Any]:
        alone, after = self.effect.alone, self.effect.after
        return {
            "rules": [self.first, self.second],
            "alone": list(alone),
            "after_the_other": list(after),
            "results_differ": self.effect.differs,
            "witness": module_text(self.witness),
        }


@dataclass
class OrderReport:
    """What was found about the order of some rules."""

    rules: int = 0
    pairs: int = 0
    interactions: list[Interaction] = field(default_factory=list[Interaction])
    shadowed: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    """A rule that never fires, and the one before it that takes its matches."""

    def lines(self) -> list[str]:
        """For people; the pairs whose results differ first."""
        rules, pairs = counted(self.rules, "rule"), counted(self.pairs, "pair")
        head = f"{rules}, {pairs}, {len(self.interactions)} interact"
        lines = [head]
        for rule, other in self.shadowed:
            lines.append(f"{rule} never fires: {other} stands before it and takes all its matches")
        for found in sorted(self.interactions, key=lambda item: not item.effect.differs):
            lines += found.lines()
        return lines

    def as_json(self) -> dict[str, Any]:
        return {
            "rules": self.rules,
            "pairs": self.pairs,
            "shadowed": [{"rule": rule, "by": other} for rule, other in self.shadowed],
            "interactions": [found.as_json() for found in self.interactions],
        }


def report_on_patterns(stages: Iterable[Sequence[Unit]]) -> OrderReport:
    """Try the pattern rules of each stage, in their order, on graphs made from them."""
    report = OrderReport()
    for units in stages:
        report.rules += len(units)
        for first, second in combinations(units, 2):
            report.pairs += 1
            found = _smallest(first, second, _meetings(first, second))
            if found is not None:
                report.interactions.append(found)
            if _takes_all(first, second):
                report.shadowed.append((second.name, first.name))
    return report


def report_on_graph(units: Sequence[Unit], module: ModuleOp) -> OrderReport:
    """Try every pair of rules on one graph."""
    report = OrderReport(len(units))
    for first, second in combinations(units, 2):
        report.pairs += 1
        found = effect(first, second, module)
        if found is not None and found.interacts:
            witness, shown = _reduced(first, second, module, found)
            report.interactions.append(Interaction(first.name, second.name, shown, witness))
    return report


def _meetings(first: Unit, second: Unit) -> Iterator[ModuleOp]:
    """Graphs in which the patterns of two rules meet, with types."""
    a, b = first.graph, second.graph
    if a is None or b is None:
        return
    made: list[Iterable[ModuleOp]] = [overlaps(a.func, b.func)]
    for one, graph, other in ((first, a, b), (second, b, a)):
        new = one.replacement()
        if new is not None:
            made.append(feeding(graph, new, other.func))
    for graphs in made:
        for module in islice(graphs, GRAPHS):
            yield from _typed(module)


def _typed(module: ModuleOp) -> Iterator[ModuleOp]:
    for sample in islice(typed(module, "", DataType.DT_FLOAT), TYPINGS):
        yield sample.module


def _smallest(first: Unit, second: Unit, graphs: Iterable[ModuleOp]) -> Interaction | None:
    """The interaction with the smallest graph, one with different results before any other."""
    best: Interaction | None = None
    for module in graphs:
        found = effect(first, second, module)
        if found is None or not found.interacts:
            continue
        made = Interaction(first.name, second.name, found, module)
        if best is None or _rank(made) < _rank(best):
            best = made
    return best


def _rank(found: Interaction) -> tuple[bool, int]:
    return not found.effect.differs, len(list(ge_ops(found.witness)))


def _takes_all(first: Unit, second: Unit) -> bool:
    """Whether the second rule never applies after the first on graphs of its own pattern."""
    graph = second.graph
    if graph is None:
        return False
    fired = False
    for module in _typed(own_module(graph)):
        found = effect(first, second, module)
        if found is None or not found.alone[1]:
            continue
        fired = True
        if found.after[1]:
            return False
    return fired


def _reduced(first: Unit, second: Unit, module: ModuleOp, whole: Effect) -> tuple[ModuleOp, Effect]:
    """A part of a graph on which two rules still interact, results that differ kept so."""
    ops = [op for op in main_function(module).body.block.ops if isinstance(op, GeOp)]
    parts = ((levels, op) for levels in (1, 2, 3, 4) for op in ops if op.results)
    for levels, op in islice(parts, PARTS):
        part = extract([op.results[0]], levels)
        found = effect(first, second, part)
        if found is not None and found.interacts and found.differs >= whole.differs:
            return part, found
    return module, whole
