"""Checking whole passes by numbers: the graph's outputs before and after, on sampled inputs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from math import prod
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass

from ge_xdsl.dialects.ge.graph import main_function
from ge_xdsl.dialects.ge.names import input_names, output_names
from ge_xdsl.dialects.ge.types import DYNAMIC, DataType, tensor_of
from ge_xdsl.errors import CompileError, PassError, counted
from ge_xdsl.interpreters.program import Program
from ge_xdsl.pattern.cone import Cone
from ge_xdsl.pattern.exact import MANTISSA
from ge_xdsl.pattern.samples import (
    NONFINITE,
    RANDOM,
    SAMPLES,
    SIZES,
    SMALL,
    NotChecked,
    adds,
    judged,
    sample,
    turns_of,
)
from ge_xdsl.pattern.verify import Failure, Verifier

if TYPE_CHECKING:
    from ge_xdsl.dialects.ge.types import Array

LIGHT = 1 << 22
"""A graph of no more multiplications runs as often as small inputs need to see all values."""


@dataclass(frozen=True)
class _Run:
    """A graph on one set of samples: the kind, the inputs and the outputs that they gave."""

    kind: str
    inputs: Mapping[str, Array]
    outputs: Sequence[Array]
    wide: Sequence[Array | None]
    """The outputs as f64 arithmetic gives them, None where nothing needs them."""


@dataclass
class GraphSamples:
    """What a graph gave for sampled inputs, and how another graph differs from it."""

    runs: list[_Run]

    @staticmethod
    def of(func: FuncOp, kinds: Sequence[str] = SAMPLES, seed: int = 0) -> GraphSamples:
        """Run a graph on samples; unknown dimensions are tried as 3, 1, 2.

        Samples that it is not defined on are left out. Raises NotChecked when no size of the
        unknown dimensions fits random values, an op has no values or all results are empty.
        """
        reason = NotChecked("no size of the unknown dimensions fits")
        for size in SIZES:
            try:
                return GraphSamples(list(_first_runs(func, kinds, seed, size)))
            except CompileError as error:
                reason = NotChecked(error.message)
        raise reason

    def rerun(self, func: FuncOp, finite: bool = False) -> tuple[str, str, str] | None:
        """Run another graph and keep its outputs; how they differ: output, what, kind of sample.

        `finite`: NaN and infinities say nothing. Raises PassError when the number of outputs
        differs, NotChecked when the graph cannot run.
        """
        before = self.runs
        types = returned_types(func)
        if len(types) != len(before[0].outputs):
            raise PassError(f"the graph has {len(types)} outputs, it had {len(before[0].outputs)}")
        program = Program(func)
        try:
            self.runs = [_run(func, program, run.kind, run.inputs) for run in before]
        except CompileError as error:
            raise NotChecked(error.message) from None
        for old, new in zip(before, self.runs, strict=True):
            found = None if finite and old.kind == NONFINITE else _compared(func, old, new)
            if found is not None:
                return *found, old.kind
        return None


def _first_runs(func: FuncOp, kinds: Sequence[str], seed: int, size: int) -> Iterator[_Run]:
    """A graph on the samples of some kinds; raises CompileError where random ones fail."""
    program = Program(func)
    tensors = [tensor_of(arg.type) for arg in func.body.block.args]
    shapes = [[size if d == DYNAMIC else d for d in t.shape or ()] for t in tensors]
    last = func.body.block.last_op
    assert last is not None
    light = Cone(last.operands, len(func.body.block.ops)).work() <= LIGHT
    for kind in kinds:
        if not adds(kind, [t.dtype for t in tensors]):
            continue
        turns = turns_of(kind, [prod(shape) for shape in shapes]) if light else 1
        for turn in range(turns):
            try:
                run = _run(func, program, kind, _inputs(func, kind, seed, size, turn))
            except CompileError:
                if kind == RANDOM:
                    raise
                continue
            if not any(array.size for array in run.outputs):
                raise NotChecked("the results have no elements")
            yield run


def _run(func: FuncOp, program: Program, kind: str, inputs: Mapping[str, Array]) -> _Run:
    outputs = program.run(inputs)
    return _Run(kind, inputs, outputs, _in_f64(func, kind, inputs, outputs))


def _compared(func: FuncOp, old: _Run, new: _Run) -> tuple[str, str] | None:
    """The first output that differs, and how."""
    names, types = output_names(func), returned_types(func)
    for i, (name, dtype) in enumerate(zip(names, types, strict=True)):
        wide = [partial(run.wide.__getitem__, i) for run in (old, new)]
        _, _, found = judged(old.outputs[i], new.outputs[i], dtype, old.kind, *wide)
        if found is not None:
            return f"graph output '{name}'", found.text
    return None


def _in_f64(
    func: FuncOp, kind: str, inputs: Mapping[str, Array], outputs: Sequence[Array]
) -> list[Array | None]:
    """In f64 the outputs for small values, and of others the floats that are not finite."""
    import numpy as np

    types = returned_types(func)
    last = func.body.block.last_op
    assert last is not None
    odd = [
        kind == SMALL or (t in MANTISSA and not np.isfinite(a).all())
        for t, a in zip(types, outputs, strict=True)
    ]
    if not any(odd):
        return [None] * len(odd)
    cone = Cone(last.operands, len(func.body.block.ops))
    named: dict[SSAValue, Array] = dict(zip(func.body.block.args, inputs.values(), strict=True))
    return [
        cone.in_wide_floats(value, named) if is_odd else None
        for value, is_odd in zip(last.operands, odd, strict=True)
    ]


def _inputs(func: FuncOp, kind: str, seed: int, size: int, turn: int) -> dict[str, Array]:
    named = zip(input_names(func), func.body.block.args, strict=True)
    return {
        name: sample(tensor_of(arg.type), kind, seed + i, size, turn)
        for i, (name, arg) in enumerate(named)
    }


class FiniteWatch(Verifier):
    """Checks no rewrite, and remembers whether a rule asked for finite numbers only."""

    finite = False

    def check(
        self,
        pass_name: str,
        rule: str,
        old: Sequence[SSAValue],
        new: Sequence[SSAValue],
        finite: bool = False,
        inputs: Sequence[SSAValue] = (),
    ) -> Failure | None:
        """Never a failure."""
        self.finite = self.finite or finite
        return None


@dataclass
class NumberCheck:
    """Runs the main graph around each pass; unknown dimensions are tried as 3, 1, 2."""

    seed: int = 0
    kinds: Sequence[str] = SAMPLES
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
        parts = [f"checked {counted(self.passed, 'pass')} by numbers"]
        parts += [f"{count} not checked: {why}" for why, count in sorted(self.unchecked.items())]
        return "; ".join(parts)


def returned_types(func: FuncOp) -> list[DataType]:
    """The element types of a graph's outputs."""
    last = func.body.block.last_op
    assert last is not None
    return [tensor_of(value.type).dtype for value in last.operands]
