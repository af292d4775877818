"""Checking a rewrite by numbers: the old and the new value on the same sampled tensors.

Both values are computed from what lies a few levels above them: every op in between is evaluated
once, constants with their real values, and the tensors that enter from further above are sampled.
Where all ops that the rewrite takes away and adds are arithmetic or data movement they are also
computed without rounding and must be equal; elsewhere floats are compared within a tolerance.
What cannot be computed (unknown rank, no value semantics) is counted as not checked, with the
reason, never as right.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from numbers import Integral
from typing import TYPE_CHECKING

from xdsl.ir import Operation, SSAValue

from ge_xdsl.dialects.ge.graph import location_of
from ge_xdsl.dialects.ge.names import describe_value
from ge_xdsl.dialects.ge.op import GeOp, constant_of
from ge_xdsl.dialects.ge.types import tensor_of
from ge_xdsl.errors import CompileError, Location, counted
from ge_xdsl.pattern import exact
from ge_xdsl.pattern.cone import LEVELS, Cone, meeting
from ge_xdsl.pattern.exact import Inexact
from ge_xdsl.pattern.recorder import Recorder
from ge_xdsl.pattern.rule import Outcome
from ge_xdsl.pattern.samples import (
    EVERY_SAMPLE,
    NONFINITE,
    SAMPLES,
    SIZES,
    Difference,
    NotChecked,
    judged,
)

if TYPE_CHECKING:
    from ge_xdsl.dialects.ge.types import Array

WORK_LIMIT = 1 << 32
"""Multiplications that computing both sides of a rewrite once may take: a tenth of a second or so,
and there are about ten runs."""
CONTEXT_LIMIT = 1 << 26
"""Above so many fewer ops above the inputs of a rewrite are computed."""
HEIGHTS = (LEVELS, 6, 3, 1)
"""How many ops above the inputs of a rewrite are computed, as far as the limits and the unknown
dimensions allow."""
SHOWN = 3
"""How many inputs a message shows."""
FEW = 4
"""Inputs of up to so many elements are shown whole."""


class WrongRewrite(CompileError):
    """A rewrite that changes the result; it was not applied."""


@dataclass(frozen=True, slots=True)
class Failure:
    """One wrong rewrite: which rule of which pass, where, on what samples, and how wrong."""

    pass_name: str
    rule: str
    site: str
    sample: str
    difference: str
    location: Location | None = None

    def error(self) -> WrongRewrite:
        """The failure as the error that users see."""
        owner = f" of pass '{self.pass_name}'" if self.pass_name else ""
        return WrongRewrite(
            f"rule '{self.rule}'{owner} changes the result on {self.sample}: "
            f"{self.difference}, expected the same values (the rewrite is undone)",
            subject=self.site,
            location=self.location,
        )


@dataclass
class Verifier:
    """Checks rewrites as they happen and remembers the outcomes."""

    seed: int = 0
    passed: int = 0
    failures: list[Failure] = field(default_factory=list[Failure])
    unchecked: dict[str, int] = field(default_factory=dict[str, int])
    """Reason -> rewrites that could not be checked for it."""
    kinds: Sequence[str] = EVERY_SAMPLE
    """The kinds of samples that rewrites are tried on."""
    limit: int = WORK_LIMIT
    """Rewrites that take more multiplications than this to compute are not checked."""
    exact: int = 0
    """How many of those that passed are equal without rounding."""
    rounded: dict[str, int] = field(default_factory=dict[str, int])
    """Why others were compared within a tolerance -> how many."""

    explains = False

    def attempt(
        self, pass_name: str, rule: str, root: GeOp, outcome: Outcome, micros: float
    ) -> None:
        """A recorder's hook; rewrites are checked before they are applied."""

    def swept(self, pass_name: str, rule: str, tried: int, micros: float) -> None:
        """A recorder's hook, not used here."""

    def check(
        self,
        pass_name: str,
        rule: str,
        old: Sequence[SSAValue],
        new: Sequence[SSAValue],
        finite: bool = False,
        inputs: Sequence[SSAValue] = (),
    ) -> Failure | None:
        """Compare values that are to be replaced with their replacements; the failure, if any.

        `finite`: the rule asks for no NaN and no infinity, none is tried. `inputs`: what enters
        the replaced ops, if the caller knows it.
        """
        kinds = [kind for kind in self.kinds if kind != NONFINITE or not finite]
        trial = _Trial(old, new, inputs)
        try:
            trial.choose_height(self.limit, self.seed)
            found = trial.first_difference(kinds, self.seed)
        except NotChecked as reason:
            text = str(reason)
            self.unchecked[text] = self.unchecked.get(text, 0) + 1
            return None
        if found is None:
            self._count(trial)
            return None
        owner = old[0].owner
        failure = Failure(
            pass_name,
            rule,
            describe_value(old[0]),
            *found,
            location_of(owner) if isinstance(owner, Operation) else None,
        )
        self.failures.append(failure)
        return failure

    def _count(self, trial: _Trial) -> None:
        self.passed += 1
        self.exact += not trial.inexact
        if trial.inexact:
            self.rounded[trial.inexact] = self.rounded.get(trial.inexact, 0) + 1

    def summary(self) -> str:
        """What was checked, in one line."""
        total = counted(self.passed + len(self.failures), "rewrite")
        parts = [f"checked {total} by numbers, {len(self.failures)} wrong"]
        parts += [f"{self.exact} equal without rounding"] * bool(self.exact)
        parts += [f"{n} within a tolerance: {why}" for why, n in sorted(self.rounded.items())]
        parts += [f"{count} not checked: {why}" for why, count in sorted(self.unchecked.items())]
        return "; ".join(parts)


class _Trial:
    """One rewrite on samples."""

    def __init__(
        self, old: Sequence[SSAValue], new: Sequence[SSAValue], inputs: Sequence[SSAValue]
    ) -> None:
        self.old = old
        self.new = new
        self.inputs = inputs or meeting(old, new)
        self.inexact = ""
        """Why the two sides cannot be compared without rounding, '' while they can."""
        self.cone = self.cone_of(HEIGHTS[0])
        self.elements = 0
        """How many elements of the old results were compared."""
        self.size = SIZES[0]
        """What stands for unknown dimensions."""

    def cone_of(self, height: int) -> Cone:
        """What is computed, with so many ops above the inputs."""
        return Cone([*self.old, *self.new], height, self.inputs)

    def choose_height(self, limit: int, seed: int) -> None:
        """Compute fewer ops above the inputs where all are much work, or where no one size of the
        unknown dimensions fits them all. Raises NotChecked when no height will do."""
        problem: NotChecked | None = None
        heights = HEIGHTS if self.inputs else HEIGHTS[:1]
        for height in heights:
            if height != HEIGHTS[0]:
                self.cone = self.cone_of(height)
            most = limit if height == heights[-1] else min(limit, CONTEXT_LIMIT)
            if self.cone.work() > most:
                continue
            try:
                self.size = self.cone.workable_size(self.old, seed, most)
                return
            except NotChecked as reason:
                problem = problem or reason
        self.cone.check_leaves()
        raise problem or NotChecked(
            f"takes more than {limit} multiplications, raise the limit with --verify-limit"
        )

    def first_difference(self, kinds: Sequence[str], seed: int) -> tuple[str, str] | None:
        """The samples on which the two sides differ, and how; None when they never do.

        Raises NotChecked when the new side has no values at all, or the results have no elements.
        Samples that the old side is not defined on are left out.
        """
        cone = self.cone
        for kind in kinds:
            for turn in range(cone.turns(kind, self.size)):
                found = self._difference(kind, cone.sampled(kind, seed, self.size, turn))
                if found is not None:
                    return found
        if not self.elements:
            raise NotChecked("the results have no elements")
        return None

    def _difference(self, kind: str, arrays: dict[SSAValue, Array]) -> tuple[str, str] | None:
        """How the two sides differ on some arrays; None too where the old one is not defined."""
        try:
            before = self.cone.compute(self.old, arrays)
        except NotChecked:
            return None
        try:
            after = self.cone.compute(self.new, arrays)
        except NotChecked as reason:
            if kind in SAMPLES and _has_values(self.new):
                return kind, f"the new graph cannot be computed, {reason}"
            raise
        return self._compare(kind, before, after, arrays)

    def _compare(
        self,
        kind: str,
        before: Sequence[Array],
        after: Sequence[Array],
        arrays: dict[SSAValue, Array],
    ) -> tuple[str, str] | None:
        for i, (a, b) in enumerate(zip(before, after, strict=True)):
            self.elements += a.size
            dtype = tensor_of(self.old[i].type).dtype
            wide = [partial(self.cone.in_wide_floats, v[i], arrays) for v in (self.old, self.new)]
            old, new, found = judged(a, b, dtype, kind, *wide)
            if found is not None:
                return f"{kind}{self._inputs(found, old, arrays)}", _told(i, found, old, new)
        if kind in SAMPLES and not self.inexact:
            return self._compare_exactly(kind, arrays)
        return None

    def _compare_exactly(self, kind: str, arrays: dict[SSAValue, Array]) -> tuple[str, str] | None:
        try:
            before, after, slack = self.cone.exactly(self.old, self.new, arrays)
        except Inexact as reason:
            self.inexact = str(reason)
            return None
        for i, (a, b) in enumerate(zip(before, after, strict=True)):
            found = exact.compared(a, b, slack)
            if found is not None:
                return f"{kind}{self._inputs(found, a, arrays)}", _told(i, found, a, b)
        return None

    def _inputs(self, found: Difference, old: Array, arrays: dict[SSAValue, Array]) -> str:
        """The inputs that led to the worst element, as far as they are few or lie below it."""
        told: list[str] = []
        for leaf in self.cone.leaves:
            array = arrays[leaf]
            if constant_of(leaf) is not None or array.dtype.kind == "O":
                continue
            name = _short(leaf)
            if found.at and array.shape == old.shape:
                told.append(f"{name}{list(found.at)} = {_shown(array[found.at])}")
            elif array.size <= FEW:
                told.append(f"{name} = {_shown_all(array)}")
        more = f" and {len(told) - SHOWN} more" * (len(told) > SHOWN)
        return f" ({', '.join(told[:SHOWN])}{more})" if told else ""


def _has_values(values: Sequence[SSAValue]) -> bool:
    """Whether the ops that give some values can be evaluated at all."""
    owners = [value.owner for value in values]
    return all(op.has_evaluate() for op in owners if isinstance(op, GeOp))


def _short(value: SSAValue) -> str:
    """The quoted name of a tensor."""
    text = describe_value(value)
    return text[text.index("'") :] if "'" in text else text


def _told(index: int, found: Difference, old: Array, new: Array) -> str:
    """A difference with the output's index and its two values at the worst place."""
    text = f"output {index} {found.text}"
    if found.at is None:
        return text
    where = f" at {list(found.at)}" if found.at else ""
    return f"{text} ({_shown(new[found.at])}{where}, it was {_shown(old[found.at])})"


def _shown(value: object) -> str:
    if isinstance(value, Integral):
        return str(int(value))
    try:
        return f"{float(value):.6g}"  # pyright: ignore[reportArgumentType]
    except (TypeError, ValueError, OverflowError):
        return str(value)


def _shown_all(array: Array) -> str:
    items = [_shown(value) for value in array.ravel()]
    return f"[{', '.join(items)}]" if array.ndim else items[0]


def verifier_of(recorders: Sequence[Recorder]) -> Verifier | None:
    """The verifier among the recorders of a run, if rewrites are to be checked."""
    return next((r for r in recorders if isinstance(r, Verifier)), None)
