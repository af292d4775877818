"""Checking whole passes by numbers: the graph's outputs before and after, on sampled inputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass

from ge_xdsl.dialects.ge.graph import main_function
from ge_xdsl.dialects.ge.names import input_names, output_names
from ge_xdsl.dialects.ge.types import DataType, tensor_of
from ge_xdsl.errors import CompileError, PassError
from ge_xdsl.interpreters.program import Program
from ge_xdsl.pattern.cone import Cone
from ge_xdsl.pattern.exact import MANTISSA
from ge_xdsl.pattern.samples import (
    SAMPLES,
    SIZES,
    NotChecked,
    difference,
    sample,
    without_overflow,
)

if TYPE_CHECKING:
    from ge_xdsl.dialects.ge.types import Array


@dataclass
class GraphSamples:
    """Inputs of a graph, one set per kind of sample, and the outputs that they gave."""

    kinds: Sequence[str]
    inputs: list[dict[str, Array]]
    outputs: list[list[Array]]
    wide: list[list[Array | None]]
    """Outputs with infinities or NaN as f64 arithmetic gives them, None for others."""

    @staticmethod
    def of(func: FuncOp, kinds: Sequence[str] = SAMPLES, seed: int = 0) -> GraphSamples:
        """Run a graph on samples; unknown dimensions are tried as 3, 1, 2.

        Raises NotChecked when no size of them fits or an op has no values.
        """
        reason = NotChecked("no size of the unknown dimensions fits")
        for size in SIZES:
            try:
                inputs = [_inputs(func, kind, seed, size) for kind in kinds]
                outputs = _run_all(func, inputs)
                return GraphSamples(kinds, inputs, outputs, _all_in_f64(func, inputs, outputs))
            except CompileError as error:
                reason = NotChecked(error.message)
        raise reason

    def rerun(self, func: FuncOp) -> tuple[str, str, str] | None:
        """Run another graph and keep its outputs; how they differ: output, what, kind of sample.

        Raises PassError when the number of outputs differs, NotChecked when the graph cannot run.
        """
        old, wide = self.outputs, self.wide
        try:
            self.outputs = _run_all(func, self.inputs)
            self.wide = _all_in_f64(func, self.inputs, self.outputs)
        except CompileError as error:
            raise NotChecked(error.message) from None
        types = returned_types(func)
        if len(types) != len(old[0]):
            raise PassError(f"the graph has {len(types)} outputs, it had {len(old[0])}")
        names = output_names(func)
        for kind, before, far, after in zip(self.kinds, old, wide, self.outputs, strict=True):
            for name, a, w, b, dtype in zip(names, before, far, after, types, strict=True):
                text = difference(without_overflow(a, b, w), b, dtype)
                if text:
                    return f"graph output '{name}'", text, kind
        return None


def _run_all(func: FuncOp, inputs: Sequence[Mapping[str, Array]]) -> list[list[Array]]:
    """The outputs of a graph on each set of inputs."""
    program = Program(func)
    return [program.run(item) for item in inputs]


def _all_in_f64(
    func: FuncOp, inputs: Sequence[Mapping[str, Array]], outputs: Sequence[Sequence[Array]]
) -> list[list[Array | None]]:
    """In f64 the float outputs that are not finite, on each set of inputs."""
    import numpy as np

    types = returned_types(func)
    last = func.body.block.last_op
    assert last is not None
    found: list[list[Array | None]] = []
    for given, arrays in zip(inputs, outputs, strict=True):
        odd = [
            t in MANTISSA and not np.isfinite(a).all() for t, a in zip(types, arrays, strict=True)
        ]
        found.append([None] * len(odd))
        if any(odd):
            cone = Cone(last.operands, len(func.body.block.ops))
            args = func.body.block.args
            named: dict[SSAValue, Array] = dict(zip(args, given.values(), strict=True))
            for i in (i for i, is_odd in enumerate(odd) if is_odd):
                found[-1][i] = cone.in_wide_floats(last.operands[i], named)
    return found


def _inputs(func: FuncOp, kind: str, seed: int, size: int) -> dict[str, Array]:
    named = zip(input_names(func), func.body.block.args, strict=True)
    return {
        name: sample(tensor_of(arg.type), kind, seed + i, size)
        for i, (name, arg) in enumerate(named)
    }


@dataclass
class NumberCheck:
    """Runs the main graph around each pass; unknown dimensions are tried as 3, 1, 2."""

    seed: int = 0
    kinds: Sequence[str] = SAMPLES[:1]
    passed: int = 0
    unchecked: dict[str, int] = field(default_factory=dict[str, int])
    """Reason -> passes that could not be checked for it."""
    samples: GraphSamples | None = None

    def before(self, item: ModulePass, module: ModuleOp) -> None:
        """Run the graph as it is, unless the last pass's run already tells its outputs."""
        if self.samples is None:
            try:
                self.samples = GraphSamples.of(main_function(module), self.kinds, self.seed)
            except NotChecked as reason:
                self._skip(reason)

    def after(self, item: ModulePass, module: ModuleOp) -> None:
        """Compare with the run before; raises PassError when an output differs."""
        samples, self.samples = self.samples, None
        if samples is None:
            return
        try:
            found = samples.rerun(main_function(module))
        except NotChecked as reason:
            self._skip(reason)
            return
        if found is not None:
            output, text, kind = found
            raise PassError(
                f"pass {item.name} changes the result on {kind}: it {text}", subject=output
            )
        self.passed += 1
        self.samples = samples

    def _skip(self, reason: NotChecked) -> None:
        text = str(reason)
        self.unchecked[text] = self.unchecked.get(text, 0) + 1

    def summary(self) -> str:
        """What was checked, in one line."""
        parts = [f"checked {self.passed} passes by numbers"]
        parts += [f"{count} not checked: {why}" for why, count in sorted(self.unchecked.items())]
        return "; ".join(parts)


def returned_types(func: FuncOp) -> list[DataType]:
    """The element types of a graph's outputs."""
    last = func.body.block.last_op
    assert last is not None
    return [tensor_of(value.type).dtype for value in last.operands]
