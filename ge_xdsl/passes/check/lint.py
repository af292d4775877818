"""What can be told about the rules of a pass without running it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from ge_xdsl.dialects.ge.graph import ge_ops
from ge_xdsl.dialects.ge.names import describe
from ge_xdsl.errors import CompileError, Location, counted
from ge_xdsl.passes.check.findings import Finding, Severity
from ge_xdsl.passes.check.graphs import own_match, own_module
from ge_xdsl.passes.registry import Contents, UserPass
from ge_xdsl.pattern.access import operands_of
from ge_xdsl.pattern.compile import CompiledPattern
from ge_xdsl.pattern.pattern_rule import PatternRule

_PLACED = re.compile(r"warning: (.+?):(\d+):\d+: ")


@dataclass(frozen=True)
class Opened:
    """A pass, what it consists of, and the warnings that opening it gave."""

    user_pass: UserPass
    contents: Contents
    warnings: Sequence[str]

    @property
    def name(self) -> str:
        return self.user_pass.name

    def finding(self, severity: Severity, text: str, rule: PatternRule | None = None) -> Finding:
        """A finding at a rule's pattern, or at the pass class."""
        place = self.contents.places.get(rule.name) if rule is not None else None
        return Finding(severity, self.name, text, place or self.user_pass.location)

    def told(self, severity: Severity, message: str, expected: str) -> Finding:
        """A finding for a warning of the run, at the line of the pass that it names."""
        start, _, text = message.partition(f"pass '{self.name}': ")
        place = _PLACED.fullmatch(start)
        found = Location(place[1], int(place[2]), 1) if place else self.user_pass.location
        what = text or message
        ending = "" if ", expected " in what else f", expected {expected}"
        return Finding(severity, self.name, what + ending, found)

    def short(self, rule: PatternRule) -> str:
        """How a finding names a rule: the method, where the name has it."""
        return rule_label(rule.name)


def rule_label(name: str) -> str:
    """The method in a rule's name `<Class>_<method>_pattern`, else the name itself."""
    inner = name.removesuffix("_pattern")
    return inner.partition("_")[2] if inner != name and "_" in inner else name


def lint(opened: Opened, fired: Mapping[str, int]) -> Iterator[Finding]:
    """Findings of one pass; `fired`: rule -> how many of its graphs it rewrote in a trial."""
    for text in opened.warnings:
        yield opened.told("error", text, "a pattern that can match")
    for position, rule in enumerate(opened.contents.rules):
        yield from _unused(opened, rule)
        yield from _replacement(opened, rule, fired.get(rule.name, 0))
        earlier = opened.contents.rules[:position]
        yield from _unreachable(opened, rule, earlier, fired.get(rule.name, 0))


def _unused(opened: Opened, rule: PatternRule) -> Iterator[Finding]:
    graph, name = rule.pattern.graph, opened.short(rule)
    for arg in graph.inputs:
        if arg not in graph.used_inputs:
            text = f"input {arg.index} of pattern '{name}' is in no node, expected it to be used"
            yield opened.finding("warning", text, rule)
    needed = set(graph.nodes)
    for op in ge_ops(graph.func):
        if op not in needed:
            text = f"{describe(op)} of pattern '{name}' leads to no output, expected it to"
            yield opened.finding("warning", text, rule)


def _replacement(opened: Opened, rule: PatternRule, fired: int) -> Iterator[Finding]:
    name = opened.short(rule)
    try:
        new = rule.build(own_match(rule.pattern))
    except CompileError:  # the trial tells whether it does so on real graphs too
        return
    if new is None:
        return
    graph = rule.pattern.graph
    last = new.body.block.last_op
    counts = (
        ("input", len(new.body.block.args), len(graph.used_inputs)),
        ("output", 0 if last is None else len(operands_of(last)), len(graph.outputs)),
    )
    for word, have, want in counts:
        if have != want:
            text = (
                f"replacement of '{name}' has {counted(have, word)}, "
                f"expected {want}, as the pattern has"
            )
            yield opened.finding("error", text, rule)
    if matches_in(rule.pattern, _module(new)):
        severity: Severity = "warning" if fired else "error"
        hope = ", only meet_requirements ends it" if fired else ""
        text = (
            f"replacement of '{name}' contains its own pattern{hope}, "
            "expected one that it does not match"
        )
        yield opened.finding(severity, text, rule)


def _module(func: FuncOp) -> ModuleOp:
    return ModuleOp([func.clone()])


def matches_in(pattern: CompiledPattern, module: ModuleOp) -> bool:
    """Whether a pattern matches anywhere in a graph."""
    return any(
        type(op) in pattern.root_classes and pattern.match(op) is not None for op in ge_ops(module)
    )


def _unreachable(
    opened: Opened, rule: PatternRule, earlier: Sequence[PatternRule], fired: int
) -> Iterator[Finding]:
    if fired:
        return
    module = own_module(rule.pattern.graph)
    for other in earlier:
        if matches_in(other.pattern, module):
            text = (
                f"pattern '{opened.short(rule)}' is unreachable, '{opened.short(other)}' stands "
                "before it and matches in its graph, expected the other order"
            )
            yield opened.finding("error", text, rule)
            return


def shadowed(passes: Sequence[Opened]) -> Iterator[Finding]:
    """Patterns in which an earlier pass of the same stage, by name, matches as well."""
    for position, later in enumerate(passes):
        for rule in later.contents.rules:
            module = own_module(rule.pattern.graph)
            types = {op.op_type for op in ge_ops(module)}
            for other in passes[:position]:
                if _touches(other, module, types):
                    text = (
                        f"pattern '{later.short(rule)}' is shadowed by pass '{other.name}', which "
                        "runs before it and matches in its graph, expected another stage or name"
                    )
                    yield later.finding("warning", text, rule)


def _touches(other: Opened, module: ModuleOp, types: set[str]) -> bool:
    if types & set(other.contents.op_types):
        return True
    return any(matches_in(rule.pattern, module) for rule in other.contents.rules)
