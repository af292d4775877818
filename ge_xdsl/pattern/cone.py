"""The ops right above some values, and computing the values from what enters these ops."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from math import isqrt, prod
from typing import TYPE_CHECKING, Any, cast

from xdsl.ir import Block, Operation, SSAValue
from xdsl.utils.exceptions import VerifyException

from ge_xdsl.dialects.ge.op import GeOp, constant_of, set_type
from ge_xdsl.dialects.ge.types import DYNAMIC, DataType, Tensor, numpy_dtype, tensor_of
from ge_xdsl.pattern import exact
from ge_xdsl.pattern.exact import Inexact
from ge_xdsl.pattern.graph import is_constant
from ge_xdsl.pattern.samples import (
    LIMIT,
    RANDOM,
    SIZES,
    TOO_LARGE,
    NotChecked,
    Size,
    adds,
    sample,
    turns_of,
)

if TYPE_CHECKING:
    from ge_xdsl.dialects.ge.types import Array

LEVELS = 12
"""How many ops above a rewritten value are computed; what enters from further up is sampled."""

ELEMENT_WORK = 32
"""How many multiplications of a matrix product take as long as an element of another op."""
PRODUCTS = re.compile(r"Attention|Conv|Einsum|FullyConnection|GEMM|GRU|LSTM|MatMul|Matmul|RNN")
"""Ops that multiply their first two operands with sums over what the result does not have: of so
many products as the root of the three sizes' product says."""

EVALUATION_ERRORS = (
    ValueError,
    TypeError,
    IndexError,
    ArithmeticError,
    MemoryError,
    VerifyException,
)


class Cone:
    """The ops up to `height` above some values, and the tensors that enter from above.

    With `inputs`, everything between them and the values belongs to it however deep, and the
    height counts from the inputs; without, what lies up to LEVELS above the values does.
    """

    def __init__(
        self,
        values: Sequence[SSAValue],
        height: int = LEVELS,
        inputs: Sequence[SSAValue] = (),
    ) -> None:
        self.ops: list[GeOp] = []
        self.leaves: list[SSAValue] = []
        between = _above(values, None if inputs else LEVELS, inputs)
        above = _above(inputs or values, height)
        self.inside = {
            op
            for value in (*between, *above)
            if isinstance(op := value.owner, GeOp) and not op.regions
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

    def workable_size(self, values: Sequence[SSAValue], seed: int, limit: int) -> Size:
        """The size for unknown dimensions with which the old values can be computed in no more
        than `limit` multiplications; raises NotChecked when there is none."""
        reason = NotChecked("no size of the unknown dimensions fits")
        dynamic = any(DYNAMIC in (_tensor(leaf).shape or ()) for leaf in self.leaves)
        for size in SIZES if dynamic else SIZES[:1]:
            if size is not SIZES[0] and self.work(size) > limit:
                break
            try:
                self.compute(values, self.sampled(RANDOM, seed, size))
                return size
            except NotChecked as error:
                reason = error
        raise reason

    def sampled(self, kind: str, seed: int, size: Size, turn: int = 0) -> dict[SSAValue, Array]:
        """An array for each tensor that enters; known constants keep their values."""
        found: dict[SSAValue, Array] = {}
        for i, leaf in enumerate(self.leaves):
            known = constant_of(leaf)
            if known is None:
                known = sample(_tensor(leaf), kind, seed + i, size, turn)
            found[leaf] = known
        return found

    def work(self, size: Size = SIZES[0]) -> int:
        """About how many multiplications it takes to compute the values once; an element that an
        op reads or gives counts as ELEMENT_WORK of them."""
        total = 0
        for op in self.ops:
            with suppress(*EVALUATION_ERRORS):  # computing it tells what is wrong
                _infer(op)
            read, made = (
                [_elements(v, size) for v in values] for values in (op.operands, op.results)
            )
            total += ELEMENT_WORK * (sum(read) + sum(made))
            if len(read) > 1 and made and PRODUCTS.search(op.op_type):
                total += isqrt(read[0] * read[1] * max(made))
        return total

    def check_leaves(self) -> None:
        """Raise NotChecked when a tensor that enters is too large to be sampled."""
        if any(
            _elements(leaf, SIZES[0]) > LIMIT for leaf in self.leaves if constant_of(leaf) is None
        ):
            raise NotChecked(TOO_LARGE)

    def turns(self, kind: str, size: Size) -> int:
        """How often to try a kind of samples to see all of its values; 0 for one that differs
        from no other here."""
        varied = [_tensor(leaf) for leaf in self.leaves if constant_of(leaf) is None]
        if not adds(kind, [t.dtype for t in varied]):
            return 0
        return turns_of(kind, [prod(size.fill(t.shape or ())) for t in varied])

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
                _infer(op)
                with np.errstate(all="ignore"):
                    results = op.execute([arrays[value] for value in op.operands])
            except EVALUATION_ERRORS as error:
                text = str(error).removeprefix(f"{op.name}: ") or type(error).__name__
                raise NotChecked(f"{op.name}: {text}") from None
            arrays.update(zip(op.results, results, strict=True))
        return [arrays[value] for value in values]

    def in_wide_floats(self, value: SSAValue, arrays: dict[SSAValue, Array]) -> Array | None:
        """A value as f64 arithmetic gives it, None where that cannot be told.

        What overflows on the way in the graph's own types does not there.
        """
        needed = self._needed([value])
        ops = [op for op in self.ops if op in needed]
        touched = dict.fromkeys([*self.leaves, *(r for op in ops for r in op.results)])
        types = {v: v.type for v in touched if _tensor(v).dtype in exact.MANTISSA}
        try:
            for v in types:
                set_type(v, _tensor(v).with_dtype(DataType.DT_DOUBLE).type)
            known = {v: array for v in self.leaves if (array := _known(v, arrays)) is not None}
            return _in_f64(ops, {v: _widened(v, array) for v, array in known.items()})[value]
        except (*EVALUATION_ERRORS, KeyError):
            return None
        finally:
            for v, attr in types.items():
                set_type(v, attr)

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
        import numpy as np

        before, after = self._needed(old), self._needed(new)
        slack = sum(_rounding(op) for op in self.ops if op in after and op not in before)
        found: dict[SSAValue, Array] = {}
        for op in self.ops:
            if (op in before) != (op in after):
                operands = [_exact(value, found, arrays) for value in op.operands]
                try:
                    with np.errstate(all="ignore"):
                        results = exact.evaluate(op, operands)
                except EVALUATION_ERRORS as error:
                    raise Inexact(f"{op.name}: {error}") from None
                found.update(zip(op.results, results, strict=True))
        sides = [[_exact(value, found, arrays) for value in side] for side in (old, new)]
        return sides[0], sides[1], slack


def _above(
    values: Sequence[SSAValue], height: int | None, stops: Sequence[SSAValue] = ()
) -> dict[SSAValue, None]:
    """Values and what they are computed from, up to so many edges above, but not `stops`."""
    found: dict[SSAValue, None] = {}
    ends = set(stops)
    frontier = list(dict.fromkeys(values))
    level = 0
    while frontier and (height is None or level < height):
        following: dict[SSAValue, None] = {}
        for value in frontier:
            if value not in found and value not in ends:
                found[value] = None
                owner = value.owner
                if isinstance(owner, GeOp):
                    following.update(dict.fromkeys(owner.operands))
        frontier = list(following)
        level += 1
    return found


def meeting(old: Sequence[SSAValue], new: Sequence[SSAValue]) -> list[SSAValue]:
    """What enters two sides that are computed from the same tensors: the nearest that both have
    within LEVELS, where they part."""
    left, right = _above(old, LEVELS), _above(new, LEVELS)
    apart = [value.owner for value in (*left, *right) if (value in left) != (value in right)]
    read = {v for op in dict.fromkeys(apart) if isinstance(op, GeOp) for v in op.operands}
    read.update(old, new)
    return [value for value in left if value in right and value in read]


def _infer(op: GeOp) -> None:
    """Give an op types where inference was still to come."""
    if any(tensor_of(r.type).dtype == DataType.DT_UNDEFINED for r in op.results):
        op.update_types()


def _elements(value: SSAValue, size: Size) -> int:
    """How many elements a tensor has with a size of the unknown dimensions; 0 where that cannot
    be told."""
    try:
        shape = tensor_of(value.type).shape or ()
    except ValueError:
        return 0
    return prod(size.fill(shape))


def _known(leaf: SSAValue, arrays: dict[SSAValue, Array]) -> Array | None:
    return arrays[leaf] if leaf in arrays else constant_of(leaf)


def _in_f64(ops: Sequence[GeOp], found: dict[SSAValue, Array]) -> dict[SSAValue, Array]:
    """The arrays of ops whose float tensors all have the type f64."""
    import numpy as np

    for op in ops:
        with np.errstate(all="ignore"):
            made = op.evaluate(*op.arrange([found[v] for v in op.operands]))
        found.update((r, _widened(r, a)) for r, a in zip(op.results, _flat(made), strict=True))
    return found


def _widened(value: SSAValue, array: Any) -> Array:
    """An array of a tensor's type."""
    import numpy as np

    return np.asarray(array, numpy_dtype(_tensor(value).dtype))


def _flat(found: Any) -> list[Any]:
    """What `evaluate` gave, without the lists of dynamic results."""
    if not isinstance(found, list | tuple):
        return [found]
    return [array for item in cast("Sequence[Any]", found) for array in _flat(item)]


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
