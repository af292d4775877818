"""Finding the pass, the rule and the site that break a graph's numbers, and a small graph that
still shows it.

Every pass runs between two runs of the graph on samples. The first pass after which an output
differs, or that fails, runs again with each of its rewrites checked: the first wrong one names
rule and site, and the ops around it become the reduced graph. For a pass without rules the graph
is cut down, output by output, level by level, op by op, as long as it still fails.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, OpResult, SSAValue
from xdsl.passes import ModulePass

from ge_xdsl.dialects.ge.graph import main_function
from ge_xdsl.dialects.ge.names import describe_value
from ge_xdsl.dialects.ge.op import CONSTANT_TYPES, GeOp
from ge_xdsl.errors import CompileError, Location
from ge_xdsl.passes import registry
from ge_xdsl.passes.extract import extract
from ge_xdsl.passes.ge_custom_passes import GeCustomPassesPass
from ge_xdsl.passes.manager import PassManager
from ge_xdsl.passes.numbers import FiniteWatch, GraphSamples
from ge_xdsl.passes.session import Session, SessionContext
from ge_xdsl.pattern.recorder import Recorder
from ge_xdsl.pattern.samples import NotChecked
from ge_xdsl.pattern.verify import WORK_LIMIT, Failure, Verifier

TRIALS = 200
"""How many graphs are tried in order to find a small one."""
KEPT = 4
"""How many wrong rewrites of a pass are looked at."""
LEVELS = (1, 2, 3, 4, 6, 8, 12, 24, 48)
"""How many levels above a site are kept, in order, until the graph shows the fault."""

_NAMES = re.compile(r"'[^']*'")


@dataclass(frozen=True)
class Fault:
    """What a pass did wrong to a graph."""

    site: str
    text: str
    is_failure: bool = False
    """Whether the pass failed, and did not change numbers."""
    place: Location | None = None
    """Where in the pass it failed."""

    def resembles(self, other: Fault | None) -> bool:
        """Whether a smaller graph shows the same fault, names aside."""
        if other is None or self.is_failure != other.is_failure:
            return False
        return not self.is_failure or _NAMES.sub("", self.text) == _NAMES.sub("", other.text)


@dataclass(frozen=True)
class Finding:
    """The first pass that is wrong: where, how much, and a small graph that shows it."""

    pass_name: str
    rule: str
    site: str
    fault: Fault
    reduced: ModuleOp

    def lines(self, file: str) -> list[str]:
        """The finding for people, with the name of the file that has the reduced graph."""
        label = "error" if self.fault.is_failure else "max error"
        at = f", at {self.fault.place}" if self.fault.place else ""
        return [
            f"pass: {self.pass_name}",
            f"rule: {self.rule or 'unknown, no rewrite of the pass was told apart'}",
            f"site: {self.site}",
            f"{label}: {self.fault.text}{at}",
            f"file: {file}",
        ]


class Catcher(Verifier):
    """A verifier that keeps the surroundings of the first wrong rewrites, smallest first."""

    def __init__(self, limit: int | None = None) -> None:
        super().__init__(limit=limit or WORK_LIMIT)
        self.cones: list[Sequence[ModuleOp]] = []
        """Per failure, of the first KEPT ones."""

    def check(
        self,
        pass_name: str,
        rule: str,
        old: Sequence[SSAValue],
        new: Sequence[SSAValue],
        finite: bool = False,
        inputs: Sequence[SSAValue] = (),
    ) -> Failure | None:
        failure = super().check(pass_name, rule, old, new, finite, inputs)
        if failure is not None and len(self.cones) < KEPT:
            self.cones.append([extract(old, levels) for levels in LEVELS])
        return failure


@dataclass
class Bisection:
    """One search through a list of passes."""

    session: Session
    limit: int | None = None
    """How many multiplications a run of the graph, and the check of one rewrite, may take; the
    usual limits for None."""
    shapes: Mapping[str, Sequence[int]] | None = None
    """What `--shape` says of the graph inputs."""
    checked: int = 0
    unchecked: dict[str, int] = field(default_factory=dict[str, int])
    """Reason -> passes around which the graph could not be run."""
    trials: int = 0
    latest: tuple[ModuleOp, GraphSamples] | None = None
    """The module after the last pass, and what it gave: the next pass starts from there."""

    def run(self, module: ModuleOp, passes: Sequence[ModulePass]) -> Finding | None:
        """Run the passes in place up to the first that is wrong; None when none is."""
        items = list(steps(passes))
        for number, (name, item) in enumerate(items, 1):
            before = copied(module)
            fault = self.fault(item, module, self.session)
            if fault is not None:
                place = f"{name}, number {number} of {len(items)}"
                return self.locate(place, item, before, fault)
        return None

    @property
    def blind(self) -> bool:
        """Whether there were passes, and none could be checked."""
        return bool(self.unchecked) and not self.checked

    def summary(self) -> str:
        """What was checked, in one line."""
        parts = [f"no pass is wrong, {self.checked} checked by numbers"]
        if self.blind:
            parts = ["no pass is checked by numbers, expected a graph that runs before and after"]
        parts += [f"{count} not checked: {why}" for why, count in sorted(self.unchecked.items())]
        return "; ".join(parts)

    def fault(self, item: ModulePass, module: ModuleOp, session: Session) -> Fault | None:
        """Run one pass in place; what is wrong with it on this graph, None for nothing.

        Where the graph cannot be run, the rewrites are checked one by one.
        """
        catcher, watch = Catcher(self.limit), FiniteWatch()
        reason = ""
        samples: GraphSamples | None = None
        known, self.latest = self.latest, None
        try:
            same = known is not None and known[0] is module
            samples = known[1] if known is not None and same else self.sampled(module)
        except NotChecked as error:
            reason = str(error)
        try:
            self.apply(item, module, session, (watch if samples else catcher,))
            found = samples.rerun(main_function(module), watch.finite) if samples else None
        except NotChecked as error:
            reason, found = str(error), None
        except CompileError as error:
            said = [note for note in error.notes if note.startswith("set_error_message: ")]
            return Fault(error.subject, "; ".join([error.message, *said]), True, error.location)
        for failure in catcher.failures:
            return Fault(failure.site, f"{failure.difference} on {failure.sample}")
        if found is not None:
            site, text, kind = found
            return Fault(site, f"{text} on {kind}")
        if reason:
            self.unchecked[reason] = self.unchecked.get(reason, 0) + 1
        else:
            self.checked += 1
            self.latest = (module, samples) if samples else None
        return None

    def sampled(self, module: ModuleOp) -> GraphSamples:
        """The main graph on every kind of sample; raises NotChecked."""
        return GraphSamples.of(main_function(module), shapes=self.shapes, limit=self.limit)

    def apply(
        self, item: ModulePass, module: ModuleOp, session: Session, recorders: Sequence[Recorder]
    ) -> None:
        """Run one pass in place, with these recorders besides those of the session."""
        listening = replace(session, recorders=[*session.recorders, *recorders])
        PassManager(SessionContext(listening), [item]).run(module)

    def shows(self, item: ModulePass, module: ModuleOp, fault: Fault) -> bool:
        """Whether a pass does to a copy of this graph what it did to the whole one."""
        self.trials += 1
        quiet = replace(self.session, recorders=[], messages=[])
        other = Bisection(quiet, self.limit, self.shapes)
        try:
            return fault.resembles(other.fault(item, module.clone(), quiet))
        except CompileError:  # what was cut out is no valid graph by itself
            return False

    def locate(self, place: str, item: ModulePass, before: ModuleOp, fault: Fault) -> Finding:
        """Name the rule and the site of a fault, and reduce the graph."""
        catcher = Catcher(self.limit)
        quiet = replace(self.session, messages=[])
        if not fault.is_failure:
            with suppress(CompileError):  # a refused rewrite may end the pass
                self.apply(item, copied(before), quiet, (catcher,))
        if not catcher.failures:
            reduced = self.tidied(item, self.shrunk(item, before, fault), fault)
            return Finding(place, "", _site(reduced, fault), fault, reduced)
        first, found = self.culprit(item, catcher, fault)
        reduced = self.tidied(item, found or self.shrunk(item, before, fault), fault)
        site = f"{first.site} at {first.location}" if first.location else first.site
        exact = Fault(site, f"{first.difference} on {first.sample}")
        return Finding(place, first.rule, site, exact, reduced)

    def culprit(
        self, item: ModulePass, catcher: Catcher, fault: Fault
    ) -> tuple[Failure, ModuleOp | None]:
        """The first wrong rewrite whose surroundings show the fault by themselves, with them; the
        first of all and None when there is none."""
        for failure, cones in zip(catcher.failures, catcher.cones, strict=False):
            found = next((cone for cone in cones if self.shows(item, cone, fault)), None)
            if found is not None:
                return failure, found
        return catcher.failures[0], None

    # Reducing

    def shrunk(self, item: ModulePass, module: ModuleOp, fault: Fault) -> ModuleOp:
        """The module, or a part of it above one tensor, that still shows the fault."""
        for value in outputs_of(module):
            alone = extract([value])
            if self.shows(item, alone, fault):
                above = self.raised(item, alone, fault)
                return self.lowered(item, above, fault)
        return module

    def raised(self, item: ModulePass, module: ModuleOp, fault: Fault) -> ModuleOp:
        """The graph above the first tensor in order at which the fault shows, by halving."""
        block = main_function(module).body.block
        values = [op.results[0] for op in block.ops if isinstance(op, GeOp) and op.results]
        low, high, best = 0, len(values) - 1, module
        while low < high and self.trials < TRIALS:
            middle = (low + high) // 2
            part = extract([values[middle]])
            if self.shows(item, part, fault):
                high, best = middle, part
            else:
                low = middle + 1
        return best

    def lowered(self, item: ModulePass, module: ModuleOp, fault: Fault) -> ModuleOp:
        """The fewest levels above the outputs that show the fault."""
        parts = (extract(outputs_of(module), levels) for levels in LEVELS)
        return next((part for part in parts if self.shows(item, part, fault)), module)

    def tidied(self, item: ModulePass, module: ModuleOp, fault: Fault) -> ModuleOp:
        """The graph without the ops that can each be a graph input as well."""
        position = 0
        while self.trials < TRIALS:
            ops = list(_removable(outputs_of(module)))
            if position >= len(ops):
                break
            part = extract(outputs_of(module), None, {ops[position]})
            if self.shows(item, part, fault):
                module = part
            else:
                position += 1
        return module


def copied(module: ModuleOp) -> ModuleOp:
    """A copy of a module whose ops still know where they were read from."""
    copy = module.clone()
    for old, new in zip(module.walk(), copy.walk(), strict=True):
        if isinstance(old, GeOp) and isinstance(new, GeOp):
            new.source = old.source
    return copy


def _removable(outputs: Sequence[SSAValue]) -> Iterator[Operation]:
    """The ops of a graph but those of its outputs and constants, in reverse order."""
    roots = {value.owner for value in outputs}
    block = next((owner.parent for owner in roots if isinstance(owner, Operation)), None)
    for op in reversed(list(block.ops)) if block is not None else ():
        if isinstance(op, GeOp) and op not in roots and op.op_type not in CONSTANT_TYPES:
            yield op


def outputs_of(module: ModuleOp) -> Sequence[SSAValue]:
    """The tensors that the main graph returns."""
    last = main_function(module).body.block.last_op
    return () if last is None else list(last.operands)


def _site(reduced: ModuleOp, fault: Fault) -> str:
    if fault.is_failure and fault.site:
        return fault.site
    results = [value for value in outputs_of(reduced) if isinstance(value, OpResult)]
    return describe_value(results[0]) if results else fault.site


def steps(passes: Iterable[ModulePass]) -> Iterator[tuple[str, ModulePass]]:
    """Each pass with its name; the user passes that a `ge-custom-passes` runs, one by one."""
    for item in passes:
        single = list(_user_passes(item)) if isinstance(item, GeCustomPassesPass) else []
        if single:
            yield from single
        else:
            yield item.name, item


def _user_passes(item: GeCustomPassesPass) -> Iterator[tuple[str, ModulePass]]:
    for stage in (item.stage,) if item.stage else registry.STAGES:
        for user_pass in registry.passes_of(stage):
            if item.only in ("", user_pass.name):
                name = user_pass.name
                yield f"{name} ({item.name})", GeCustomPassesPass(stage, name)
