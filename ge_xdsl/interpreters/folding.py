"""Which steps of a program are joined: convolutions take along what stands behind them.

A convolution of f32 by constants takes the op that alone reads its result: an affine op per
channel with constants, a normalisation by constants, a transposition (the result is a view), a
sum with another result, an activation. The step then stands where the last op it took stood.
Identities are left out, and a hard swish that is written as four ops counts as one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ge_xdsl.dialects.ge.conv import Conv2DOp, DepthwiseConv2DOp
from ge_xdsl.dialects.ge.op import GeOp
from ge_xdsl.dialects.ge.types import DataType, tensor_of
from ge_xdsl.interpreters.absorb import absorbs
from ge_xdsl.interpreters.finish import Times, hard_swish
from ge_xdsl.interpreters.folded import ActivationStep, AnyStep, FoldedStep, is_moderate
from ge_xdsl.interpreters.gates import Gate, Values, gates

if TYPE_CHECKING:
    from xdsl.ir import Operation

    from ge_xdsl.dialects.ge.types import Array


def fold(steps: Sequence[AnyStep], values: Values, outputs: Sequence[int]) -> list[AnyStep]:
    """The steps that do what `steps` do for the values of `outputs`, with dead values told.

    `values` holds the arrays that are the same in every run.
    """
    found = _Folding(_without_copies(steps, outputs), values, outputs).folded()
    _hand_on_factors(found, outputs)
    _tell_dead(found, values, outputs)
    return found


def _without_copies(steps: Sequence[AnyStep], outputs: Sequence[int]) -> list[AnyStep]:
    """Leave out ops that give their operand as it is, unless that is asked for."""
    same: dict[int, int] = {}
    found: list[AnyStep] = []
    for step in steps:
        step.inputs = [same.get(i, i) for i in step.inputs]
        if _is_copy(step.op) and not step.remembers and step.outputs[0] not in outputs:
            same[step.outputs[0]] = step.inputs[0]
        else:
            found.append(step)
    return found


def _is_copy(op: Operation | None) -> bool:
    """Whether an op gives its operand of f32, whatever it holds."""
    if not isinstance(op, GeOp) or op.op_type not in ("Identity", "Cast"):
        return False
    x, y = (tensor_of(value.type).dtype for value in (op.operands[0], op.results[0]))
    return x == y == DataType.DT_FLOAT


def _hand_on_factors(steps: Sequence[AnyStep], outputs: Sequence[int]) -> None:
    """A factor at the end of a step goes to the filters of the convolutions that read it."""
    uses = Counter([i for step in steps for i in step.inputs] + list(outputs))
    readers: dict[int, list[FoldedStep]] = {}
    for step in steps:
        if isinstance(step, FoldedStep) and step.inputs:
            readers.setdefault(step.inputs[0], []).append(step)
    for step in steps:
        if not isinstance(step, FoldedStep) or not step.posts:
            continue
        last, found = step.posts[-1], readers.get(step.outputs[0], [])
        if not isinstance(last, Times) or not last.factor or not is_moderate(last.factor):
            continue
        if len(found) == uses[step.outputs[0]] > 0:
            step.posts.pop()
            step.outward = last.factor
            for reader in found:
                reader.inward = last.factor


def _tell_dead(steps: Sequence[AnyStep], values: Values, outputs: Sequence[int]) -> None:
    last: dict[int, AnyStep] = {}
    for step in steps:
        step.dead = []
        last.update(dict.fromkeys([*step.inputs, *step.outputs], step))
    kept = set(outputs)
    for slot, step in last.items():
        if slot not in kept and values[slot] is None:
            step.dead.append(slot)
    for step in steps:
        step.find_spare()


class _Folding:
    """One walk over the steps, with the convolutions that may still take something."""

    def __init__(self, steps: Sequence[AnyStep], values: Values, outputs: Sequence[int]) -> None:
        self.steps = steps
        self.values = values
        self.uses = Counter([i for step in steps for i in step.inputs] + list(outputs))
        self.places: dict[int, int] = {}
        """Where the step stands that gives a value first."""
        self.found: dict[int, AnyStep] = {}
        """The new steps, by where the last step in each stood."""

    def folded(self) -> list[AnyStep]:
        """The new steps, in order."""
        ends = gates(self.steps, self.values, self.uses)
        for place, step in enumerate(self.steps):
            gate = ends.get(step.outputs[0]) if step.outputs else None
            if gate is not None:
                self._put(place, self._joined(gate))
            elif self._is_foldable(step):
                self._put(place, FoldedStep(step, self._constants([step])))
            else:
                self._put(place, self._owner(step) or step)
        return [self.found[place] for place in sorted(self.found)]

    def _put(self, place: int, step: AnyStep) -> None:
        self.found[place] = step
        if step.outputs:
            self.places[step.outputs[0]] = place

    def _drop(self, value: int) -> None:
        """Take the step that gives a value out of the list."""
        del self.found[self.places[value]]

    def _maker(self, value: int, uses: int) -> FoldedStep | None:
        """The convolution that gives a value, if that is read so many times."""
        place = self.places.get(value)
        step = None if place is None else self.found.get(place)
        return step if isinstance(step, FoldedStep) and self.uses[value] == uses else None

    def _constants(self, steps: Sequence[AnyStep]) -> dict[int, Array]:
        slots = (i for step in steps for i in step.inputs)
        return {i: array for i in slots if (array := self.values[i]) is not None}

    def _is_foldable(self, step: AnyStep) -> bool:
        """Whether a step is a convolution of f32 by constants."""
        op = step.op
        if not isinstance(op, Conv2DOp | DepthwiseConv2DOp) or op.offset_w is not None:
            return False
        known = [self.values[i] for i in step.inputs]
        types = {tensor_of(value.type).dtype for value in op.operands}
        if known[0] is not None or any(array is None for array in known[1:]):
            return False
        return types == {DataType.DT_FLOAT}

    def _owner(self, step: AnyStep) -> FoldedStep | None:
        """The convolution that now does what `step` does too, taken from its place."""
        op = step.op
        if not isinstance(op, GeOp) or step.remembers or any(map(self.uses.get, step.outputs[1:])):
            return None
        owners = [i for i in step.inputs if self._maker(i, 1) is not None]
        if not owners:
            return None
        slot = max(owners, key=self.places.__getitem__)
        owner = self._maker(slot, 1)
        known = [self.values[i] for i in step.inputs]
        place = step.inputs.index(slot)
        if owner is None or not absorbs(owner, op, place, known):
            return None
        self._drop(slot)
        constants = self._constants([step])
        owner.take(step, constants, [i for i in step.inputs if i != slot and i not in constants])
        return owner

    def _joined(self, gate: Gate) -> FoldedStep | ActivationStep:
        """The four steps of a gate as one, with the convolution before them where there is one."""
        for step in gate.steps[:3]:
            self._drop(step.outputs[0])
        constants = self._constants(gate.steps)
        owner = self._maker(gate.x, 2)
        if owner is not None:
            self._drop(gate.x)
        joined = owner or ActivationStep(gate.steps[0], constants)
        for step in gate.steps if owner is not None else gate.steps[1:]:
            joined.take(step, constants, ())
        joined.posts += [hard_swish(), Times(1 / 6)]
        return joined
