"""Activations that exporters write as several ops: x * clip(x + 3, 0, 6) / 6, the hard swish."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ge_xdsl.dialects.ge.op import GeOp
from ge_xdsl.interpreters.folded import AnyStep

if TYPE_CHECKING:
    from ge_xdsl.dialects.ge.types import Array

Values = Sequence["Array | None"]
"""Per value, the array that is the same in every run."""


@dataclass(frozen=True, slots=True)
class Gate:
    """Four steps that are the hard swish of x, in order."""

    x: int
    steps: tuple[AnyStep, AnyStep, AnyStep, AnyStep]


def gates(steps: Sequence[AnyStep], values: Values, uses: Mapping[int, int]) -> dict[int, Gate]:
    """The gates among the steps, by the value that each ends with."""
    search = _Search(values, uses, {i: step for step in steps for i in step.outputs})
    found: dict[int, Gate] = {}
    for step in steps:
        gate = search.ending_with(step)
        if gate is not None:
            found[step.outputs[0]] = gate
    return found


@dataclass(frozen=True, slots=True)
class _Search:
    values: Values
    uses: Mapping[int, int]
    makers: Mapping[int, AnyStep]

    def ending_with(self, last: AnyStep) -> Gate | None:
        """The gate whose division by 6 is `last`."""
        if not _is(last, "RealDiv", "Div") or not self._holds(last.inputs[1], 6):
            return None
        product = self._made(last.inputs[0], "Mul")
        if product is None:
            return None
        for x, clipped in (product.inputs, product.inputs[::-1]):
            clip = self._made(clipped, "ClipByValue")
            if clip is None or not all(map(self._holds, clip.inputs[1:], (0, 6))):
                continue
            shift = self._made(clip.inputs[0], "Add")
            if shift is not None and self._is_shifted(shift, x):
                return Gate(x, (shift, clip, product, last))
        return None

    def _made(self, value: int, op_type: str) -> AnyStep | None:
        """The step of a type that makes a value which is read once."""
        step = self.makers.get(value)
        return step if step is not None and self.uses[value] == 1 and _is(step, op_type) else None

    def _is_shifted(self, step: AnyStep, x: int) -> bool:
        pairs = (step.inputs, step.inputs[::-1])
        return any(value == x and self._holds(other, 3) for value, other in pairs)

    def _holds(self, value: int, number: float) -> bool:
        """Whether a value is that number in every run."""
        array = self.values[value]
        if array is None or array.size != 1 or array.ndim > 1 or array.dtype != "float32":
            return False
        return array.item() == number


def _is(step: AnyStep, *op_types: str) -> bool:
    return isinstance(step.op, GeOp) and step.op.op_type in op_types
