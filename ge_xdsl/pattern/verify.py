"""Checking a rewrite by numbers: the old and the new value on the same sampled tensors.

Both values are computed from what lies a few levels above them: every op in between is evaluated
once, constants with their real values, and the tensors that enter from further above are sampled.
What cannot be computed (unknown rank, no value semantics) is counted as not checked, with the
reason, never as right.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from xdsl.ir import Block, Operation, SSAValue
from xdsl.utils.exceptions import VerifyException

from ge_xdsl.dialects.ge.graph import location_of
from ge_xdsl.dialects.ge.names import describe_value
from ge_xdsl.dialects.ge.op import GeOp, constant_of
from ge_xdsl.dialects.ge.types import DYNAMIC, DataType, Tensor, numpy_dtype, tensor_of
from ge_xdsl.errors import CompileError, Location
from ge_xdsl.pattern.recorder import Recorder
from ge_xdsl.pattern.rule import Outcome

if TYPE_CHECKING:
    from ge_xdsl.dialects.ge.types import Array

LEVELS = 12
"""How many ops above a rewritten value are computed; what enters from further up is sampled."""
LIMIT = 1 << 24
"""Tensors of more elements than this are not sampled."""
SIZES = (3, 1, 2)
"""What unknown dimensions are tried as, in order, until the old value can be computed."""

THRESHOLDS = {
    DataType.DT_FLOAT16: 2.0**-10,
    DataType.DT_BF16: 2.0**-7,
    DataType.DT_FLOAT: 2.0**-13,
    DataType.DT_DOUBLE: 2.0**-40,
    DataType.DT_COMPLEX64: 2.0**-13,
    DataType.DT_COMPLEX128: 2.0**-40,
    DataType.DT_FLOAT8_E4M3FN: 2.0**-3,
    DataType.DT_FLOAT8_E5M2: 2.0**-2,
}
"""Relative error that is allowed on average; ten times it on any one element. The rule for
differential tests of Ascend operators; f64 is the project's own. Other types must be equal."""


EVALUATION_ERRORS = (
    ValueError,
    TypeError,
    IndexError,
    ArithmeticError,
    MemoryError,
    VerifyException,
)


class NotChecked(Exception):
    """A rewrite that cannot be checked; the text says why."""


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
    ) -> Failure | None:
        """Compare values that are to be replaced with their replacements; the failure, if any."""
        try:
            found = self._first_difference(old, new)
        except NotChecked as reason:
            text = str(reason)
            self.unchecked[text] = self.unchecked.get(text, 0) + 1
            return None
        if found is None:
            self.passed += 1
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

    def _first_difference(
        self, old: Sequence[SSAValue], new: Sequence[SSAValue]
    ) -> tuple[str, str] | None:
        cone = Cone([*old, *new])
        size = cone.workable_size(old, self.seed)
        for kind in SAMPLES:
            arrays = cone.sampled(kind, self.seed, size)
            before = cone.compute(old, dict(arrays))
            try:
                after = cone.compute(new, dict(arrays))
            except NotChecked as reason:
                if kind == "random values":
                    return kind, f"the new graph cannot be computed, {reason}"
                raise
            for i, (a, b) in enumerate(zip(before, after, strict=True)):
                text = difference(a, b, tensor_of(old[i].type).dtype)
                if text:
                    return kind, f"output {i} {text}"
        return None

    def summary(self) -> str:
        """What was checked, in one line."""
        total = self.passed + len(self.failures)
        parts = [f"checked {total} rewrites by numbers, {len(self.failures)} wrong"]
        parts += [f"{count} not checked: {why}" for why, count in sorted(self.unchecked.items())]
        return "; ".join(parts)


def verifier_of(recorders: Sequence[Recorder]) -> Verifier | None:
    """The verifier among the recorders of a run, if rewrites are to be checked."""
    return next((r for r in recorders if isinstance(r, Verifier)), None)


SAMPLES = ("random values", "edge values", "zeros")


class Cone:
    """The ops up to `LEVELS` above some values, and the tensors that enter from above."""

    def __init__(self, values: Sequence[SSAValue]) -> None:
        self.ops: list[GeOp] = []
        self.leaves: list[SSAValue] = []
        self._collect(values)

    def _collect(self, values: Sequence[SSAValue]) -> None:
        levels: dict[SSAValue, int] = {}
        frontier = list(dict.fromkeys(values))
        for level in range(LEVELS):
            following: dict[SSAValue, None] = {}
            for value in frontier:
                if value not in levels:
                    levels[value] = level
                    owner = value.owner
                    if isinstance(owner, GeOp):
                        following.update(dict.fromkeys(owner.operands))
            frontier = list(following)
        self.inside = {
            op for value in levels if isinstance(op := value.owner, GeOp) and not op.regions
        }
        self._order(values)

    def _order(self, values: Sequence[SSAValue]) -> None:
        """Producers before readers, without recursion."""
        seen: set[SSAValue] = set()
        placed: set[GeOp] = set()
        stack: list[tuple[SSAValue, bool]] = [(value, False) for value in reversed(values)]
        while stack:
            value, ready = stack.pop()
            owner = value.owner
            if not isinstance(owner, GeOp) or owner not in self.inside:
                if value not in seen:
                    seen.add(value)
                    self.leaves.append(value)
                continue
            if ready:
                if owner not in placed:
                    placed.add(owner)
                    self.ops.append(owner)
                continue
            if value in seen:
                continue
            seen.add(value)
            stack.append((value, True))
            stack += [(operand, False) for operand in reversed(list(owner.operands))]

    def workable_size(self, values: Sequence[SSAValue], seed: int) -> int:
        """The size for unknown dimensions with which the old values can be computed."""
        reason = NotChecked("no size of the unknown dimensions fits")
        dynamic = any(DYNAMIC in (_tensor(leaf).shape or ()) for leaf in self.leaves)
        for size in SIZES if dynamic else SIZES[:1]:
            try:
                self.compute(values, self.sampled(SAMPLES[0], seed, size))
                return size
            except NotChecked as error:
                reason = error
        raise reason

    def sampled(self, kind: str, seed: int, size: int) -> dict[SSAValue, Array]:
        """An array for each tensor that enters; known constants keep their values."""
        found: dict[SSAValue, Array] = {}
        for i, leaf in enumerate(self.leaves):
            known = constant_of(leaf)
            found[leaf] = sample(_tensor(leaf), kind, seed + i, size) if known is None else known
        return found

    def compute(self, values: Sequence[SSAValue], arrays: dict[SSAValue, Array]) -> list[Array]:
        """The arrays of some values; raises NotChecked when an op cannot be evaluated."""
        import numpy as np

        needed = self._needed(values)
        for op in self.ops:
            if op not in needed:
                continue
            try:
                if any(tensor_of(r.type).dtype == DataType.DT_UNDEFINED for r in op.results):
                    op.update_types()
                with np.errstate(all="ignore"):
                    results = op.execute([arrays[value] for value in op.operands])
            except EVALUATION_ERRORS as error:
                text = str(error).removeprefix(f"{op.name}: ") or type(error).__name__
                raise NotChecked(f"{op.name}: {text}") from None
            arrays.update(zip(op.results, results, strict=True))
        return [arrays[value] for value in values]

    def _needed(self, values: Sequence[SSAValue]) -> set[Operation | Block]:
        needed: set[Operation | Block] = set()
        stack = list(values)
        while stack:
            owner = stack.pop().owner
            if isinstance(owner, GeOp) and owner in self.inside and owner not in needed:
                needed.add(owner)
                stack += owner.operands
        return needed


def _tensor(value: SSAValue) -> Tensor:
    try:
        return tensor_of(value.type)
    except ValueError as error:
        raise NotChecked(str(error)) from None


def sample(tensor: Tensor, kind: str, seed: int, size: int) -> Array:
    """An array of a tensor's type: `size` stands for unknown dimensions.

    Random values are normal, or small integers; edge values add zeros, negative and large ones.
    """
    import numpy as np

    if tensor.shape is None:
        raise NotChecked("a tensor of unknown rank enters")
    shape = tuple(size if dim == DYNAMIC else dim for dim in tensor.shape)
    if int(np.prod(shape, dtype=np.float64)) > LIMIT:
        raise NotChecked(f"a tensor of more than {LIMIT} elements enters")
    try:
        dtype = numpy_dtype(tensor.dtype)
    except ValueError as error:
        raise NotChecked(str(error)) from None
    if kind == "zeros" or dtype.kind == "O":
        return np.zeros(shape, dtype)
    rng = np.random.default_rng(seed)
    if dtype.kind in "biu":
        return rng.integers(0, 2 if dtype.kind == "b" else 4, shape).astype(dtype)
    values = rng.standard_normal(shape)
    if kind == "edge values":
        values = rng.choice([0.0, -0.0, 1.0, -1.0, 0.5, -3.0, 8.0, 100.0, -100.0], shape)
    return values.astype(dtype)


def difference(old: Array, new: Array, dtype: DataType) -> str:
    """How two arrays differ beyond the type's threshold, '' when they do not."""
    import numpy as np

    if old.shape != new.shape:
        return f"has shape {new.shape}, it was {old.shape}"
    if old.dtype != new.dtype:
        return f"is {new.dtype}, it was {old.dtype}"
    threshold = THRESHOLDS.get(dtype)
    if threshold is None:
        count = int((old != new).sum())
        return f"differs in {count} of {old.size} elements" if count else ""
    wide = np.complex128 if old.dtype.kind == "c" else np.float64
    a, b = old.astype(wide), new.astype(wide)
    odd = (np.isnan(a) != np.isnan(b)) | ((np.isinf(a) | np.isinf(b)) & ~(a == b))
    odd &= ~(np.isnan(a) & np.isnan(b))
    if odd.any():
        return f"differs in {int(odd.sum())} infinite or NaN elements of {old.size}"
    finite = np.isfinite(a)
    error = np.abs(a[finite] - b[finite])
    if not error.size:
        return ""
    scale = float(np.abs(a[finite]).max())
    allowed = 10 * threshold * np.abs(a[finite]) + threshold * scale
    if (error <= allowed).all():
        return ""
    return f"is off by up to {error.max():.3g} where the largest value is {scale:.3g}"
