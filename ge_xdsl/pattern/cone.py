"""The ops right above some values, and computing the values from what enters these ops."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from xdsl.ir import Block, Operation, SSAValue
from xdsl.utils.exceptions import VerifyException

from ge_xdsl.dialects.ge.op import GeOp, constant_of
from ge_xdsl.dialects.ge.types import DYNAMIC, DataType, Tensor, tensor_of
from ge_xdsl.pattern import exact
from ge_xdsl.pattern.exact import Inexact
from ge_xdsl.pattern.graph import is_constant
from ge_xdsl.pattern.samples import RANDOM, SIZES, NotChecked, sample

if TYPE_CHECKING:
    from ge_xdsl.dialects.ge.types import Array

LEVELS = 12
"""How many ops above a rewritten value are computed; what enters from further up is sampled."""

EVALUATION_ERRORS = (
    ValueError,
    TypeError,
    IndexError,
    ArithmeticError,
    MemoryError,
    VerifyException,
)


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
                self.compute(values, self.sampled(RANDOM, seed, size))
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
        """The arrays of some values; raises NotChecked when an op cannot be evaluated.

        `arrays` has what enters, and gets what is computed; what it has already is taken from it.
        """
        import numpy as np

        needed = self._needed(values)
        for op in self.ops:
            if op not in needed or (op.results and op.results[0] in arrays):
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

    def exactly(
        self, old: Sequence[SSAValue], new: Sequence[SSAValue], arrays: dict[SSAValue, Array]
    ) -> tuple[list[Array], list[Array], float]:
        """The old and the new values without rounding, and how far they may be apart.

        `arrays` has the floats of every value. Ops that both sides use keep their floats: what
        differs is computed from there. A rule that makes constants may round each of them once.
        Raises Inexact where an op has no exact values.
        """
        before, after = self._needed(old), self._needed(new)
        slack = sum(_rounding(op) for op in self.ops if op in after and op not in before)
        found: dict[SSAValue, Array] = {}
        for op in self.ops:
            if (op in before) != (op in after):
                operands = [_exact(value, found, arrays) for value in op.operands]
                try:
                    results = exact.evaluate(op, operands)
                except EVALUATION_ERRORS as error:
                    raise Inexact(f"{op.name}: {error}") from None
                found.update(zip(op.results, results, strict=True))
        sides = [[_exact(value, found, arrays) for value in side] for side in (old, new)]
        return sides[0], sides[1], slack


def _exact(value: SSAValue, found: dict[SSAValue, Array], arrays: dict[SSAValue, Array]) -> Array:
    known = found.get(value)
    if known is None:
        known = found[value] = exact.lifted(arrays[value], _tensor(value).dtype)
    return known


def _rounding(op: GeOp) -> float:
    """The relative error of a constant that looks rounded, 0 for one that is exact."""
    if not is_constant(op):
        return 0.0
    value = op.results[0]
    dtype = _tensor(value).dtype
    array = constant_of(value)
    if dtype not in exact.MANTISSA or array is None or not exact.roundings(array, dtype):
        return 0.0
    return 2.0 ** (1 - exact.MANTISSA[dtype])


def _tensor(value: SSAValue) -> Tensor:
    try:
        return tensor_of(value.type)
    except ValueError as error:
        raise NotChecked(str(error)) from None
