"""Running a pass on graphs made for it, and on models, and comparing the numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import islice

from xdsl.dialects.builtin import ModuleOp

from ge_xdsl.dialects.ge.types import DataType
from ge_xdsl.errors import counted, one_line
from ge_xdsl.passes.bisect import Bisection, Fault, copied
from ge_xdsl.passes.check.findings import Finding
from ge_xdsl.passes.check.graphs import Sample, op_modules, own_module, samples_of
from ge_xdsl.passes.check.lint import Opened, rule_label
from ge_xdsl.passes.ge_custom_passes import GeCustomPassesPass
from ge_xdsl.passes.infer_shape import GeInferShapePass
from ge_xdsl.passes.manager import PassManager
from ge_xdsl.passes.session import Session, SessionContext
from ge_xdsl.pattern.statistics import Statistics

LIMIT = 240
"""Most graphs that one pattern is tried on."""
REASONS = 4
"""Most reasons for graphs without a check that are shown one by one."""
DTYPE_NAMES = {
    DataType.DT_FLOAT: "f32",
    DataType.DT_FLOAT16: "f16",
    DataType.DT_BF16: "bf16",
    DataType.DT_INT32: "i32",
    DataType.DT_INT64: "i64",
    DataType.DT_BOOL: "bool",
}


@dataclass(frozen=True)
class Counterexample:
    """A small graph on which a pass is wrong."""

    module: ModuleOp
    fault: Fault
    what: str
    """The kind of graph: variant, element type and shapes, or the model it was cut from."""


@dataclass
class Tally:
    """What was tried with one pass, and what came of it."""

    tried: Counter[str] = field(default_factory=Counter[str])
    """Element type -> graphs."""
    shapes: set[tuple[tuple[int, ...], ...]] = field(
        default_factory=set[tuple[tuple[int, ...], ...]]
    )
    variants: Counter[str] = field(default_factory=Counter[str])
    rewritten: int = 0
    compared: int = 0
    """Graphs with rewrites whose numbers were compared."""
    wrong: int = 0
    unchecked: Counter[str] = field(default_factory=Counter[str])
    fired: Counter[str] = field(default_factory=Counter[str])
    """Rule -> rewrites in the graphs made for it."""
    refused: Counter[str] = field(default_factory=Counter[str])
    examples: dict[bool, Counterexample] = field(default_factory=dict[bool, Counterexample])
    """The first wrong graph whose numbers differ, and under True the first that fails."""
    messages: list[str] = field(default_factory=list[str])

    @property
    def example(self) -> Counterexample | None:
        """The first counterexample, one with other numbers before one that fails."""
        return self.examples.get(False) or self.examples.get(True)

    def lines(self, name: str) -> list[str]:
        """The tally for people."""
        kinds = ", ".join(f"{count} {kind}" for kind, count in self.tried.items())
        head = f"{one_line(name)}: {counted(self.tried.total(), 'graph')} tried"
        if kinds:
            variants = counted(len(self.variants), "variant")
            head += f" ({kinds}; {variants}, {counted(len(self.shapes), 'choice')} of shapes)"
        lines = [f"{head}, {self.rewritten} rewritten, {self.wrong} wrong"]
        lines += [
            f"  '{rule_label(rule)}' fired {counted(n, 'time')}" for rule, n in self.fired.items()
        ]
        lines += [f"  refused {n}: {why}" for why, n in sorted(self.refused.items())]
        ranked = sorted(self.unchecked.items(), key=lambda reason: (-reason[1], reason[0]))
        lines += [f"  not checked {n}: {why}" for why, n in ranked[:REASONS]]
        if rest := ranked[REASONS:]:
            count = sum(n for _, n in rest)
            lines.append(f"  not checked {count}: {counted(len(rest), 'other reason')}")
        return lines


class Trial:
    """Tries one pass."""

    def __init__(self, opened: Opened, session: Session) -> None:
        self.opened = opened
        self.session = session
        user_pass = opened.user_pass
        self.item = GeCustomPassesPass(user_pass.stage, user_pass.name)
        self.tally = Tally()

    def on_own_graphs(self) -> None:
        """Run on the graphs of each rule, or of each op type of a decompose pass."""
        for rule in self.opened.contents.rules:
            self.tally.fired[rule.name] = 0
            self.on_samples(rule.name, samples_of(own_module(rule.pattern.graph)))
        for op_type in self.opened.contents.op_types:
            self.tally.fired[op_type] = 0
            made = (sample for module in op_modules(op_type) for sample in samples_of(module))
            self.on_samples(op_type, made)

    def on_samples(self, rule: str, samples: Iterator[Sample]) -> None:
        """Run on graphs that were made for one rule."""
        for sample in islice(samples, LIMIT):
            kind = DTYPE_NAMES[sample.dtype]
            self.tally.tried[kind] += 1
            self.tally.shapes.add(sample.shapes)
            self.tally.variants[sample.variant] += 1
            fault, counts = self.run(sample.module)
            if fault is None or not fault.is_failure:
                self.tally.fired[rule] += counts.get(rule, 0)
            if fault is not None:
                shapes = ", ".join(str(list(shape)) for shape in sample.shapes)
                what = f"{sample.variant}, {kind}, shapes {shapes}"
                self.wrong(Counterexample(sample.module, fault, what))

    def on_model(self, name: str, module: ModuleOp) -> str:
        """Run on a model; a line that tells what happened."""
        work = copied(module)
        PassManager(SessionContext(replace(self.session, messages=[])), [GeInferShapePass()]).run(
            work
        )
        before = copied(work)
        search = Bisection(replace(self.session, messages=[]))
        fault, counts = self.run(work, search)
        fired, by = sum(counts.values()), one_line(self.opened.name)
        if fault is not None:
            found = search.locate(self.opened.name, self.item, before, fault)
            self.wrong(Counterexample(found.reduced, found.fault, f"cut from {name}"))
            return f"{name}: {by} is wrong at {found.site}: {found.fault.text}"
        checked = "the numbers agree" if search.checked else "not checked: "
        return f"{name}: {by} rewrote {fired}, {checked}" + "".join(search.unchecked)

    def wrong(self, example: Counterexample) -> None:
        self.tally.wrong += 1
        self.tally.examples.setdefault(example.fault.is_failure, example)

    def run(
        self, module: ModuleOp, search: Bisection | None = None
    ) -> tuple[Fault | None, Mapping[str, int]]:
        """Run on one graph, in a copy: what is wrong, and the rewrites by rule."""
        statistics = Statistics()
        session = replace(self.session, recorders=[statistics], messages=[])
        search = search or Bisection(session)
        fault = search.fault(self.item, copied(module), session)
        counts = {rule: counts.applied for (_, rule), counts in statistics.counts.items()}
        self.tally.rewritten += any(counts.values())
        self.tally.compared += any(counts.values()) and not search.unchecked
        for row in statistics.counts.values() if fault is None else ():
            self.tally.refused.update(row.refused)
        self.tally.unchecked.update(search.unchecked)
        known = set(self.tally.messages)
        self.tally.messages += [text for text in session.messages if text not in known]
        return fault, counts

    def findings(self, file: str) -> Iterator[Finding]:
        """What the trial found, `file` being where the counterexample stands."""
        tally, opened = self.tally, self.opened
        for is_failure, example in sorted(tally.examples.items()):
            see = f"; see {file}" if example is self.tally.example else ""
            fault = example.fault.text
            expected = "" if ", expected " in fault else ", expected a rewrite"
            text = f"fails ({example.what}): {fault}{expected}{see}"
            if not is_failure:
                text = (
                    f"changes the result ({example.what}): {example.fault.site} "
                    f"{example.fault.text}, expected the same values{see}"
                )
            place = example.fault.place or opened.user_pass.location
            yield Finding("error", opened.name, text, place)
        for rule in opened.contents.rules:
            if not tally.fired[rule.name]:
                why = self.why_never()
                text = f"pattern '{rule_label(rule.name)}' never fired{why}, expected it to"
                yield opened.finding("warning", text, rule)
        for op_type in opened.contents.op_types:
            if not tally.fired[op_type]:
                text = f"no node of type {op_type} was replaced{self.why_never()}, expected one"
                yield opened.finding("warning", text)
        if tally.rewritten and not tally.compared and not tally.wrong:
            why = f": {tally.unchecked.most_common(1)[0][0]}" if tally.unchecked else ""
            text = f"no rewrite was compared by numbers{why}"
            yield opened.finding("warning", f"{text}, expected one; try it on a model as well")
        for text in dict.fromkeys(tally.messages):
            if text not in opened.warnings:  # those are errors of their own
                yield opened.told("warning", text, "no warning")

    def why_never(self) -> str:
        """The likeliest reason for a rule that never fired."""
        if not self.tally.tried.total():
            return ", no graph with known shapes could be made for it"
        if True in self.tally.examples:
            return f" on {self.tally.tried.total()} graphs, it fails"
        if self.tally.refused:
            return (
                f" on {self.tally.tried.total()} graphs, {self.tally.refused.most_common(1)[0][0]}"
            )
        return f" on {self.tally.tried.total()} graphs"
