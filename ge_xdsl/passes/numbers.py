"""Checking whole passes by numbers: the graph's outputs before and after, on sampled inputs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from math import prod
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass

from ge_xdsl.dialects.ge.graph import main_function
from ge_xdsl.dialects.ge.names import input_names, output_names, symbolic_dims
from ge_xdsl.dialects.ge.op import GeOp, set_type
from ge_xdsl.dialects.ge.shapes import shape_text
from ge_xdsl.dialects.ge.types import DYNAMIC, DataType, Tensor, compatible, tensor_of
from ge_xdsl.errors import CompileError, PassError, counted
from ge_xdsl.interpreters.program import Program
from ge_xdsl.passes.edits import merged
from ge_xdsl.pattern.cone import EVALUATION_ERRORS, Cone
from ge_xdsl.pattern.exact import MANTISSA
from ge_xdsl.pattern.samples import (
    EVERY_SAMPLE,
    NONFINITE,
    RANDOM,
    SIZES,
    SMALL,
    NotChecked,
    Size,
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
GRAPH_LIMIT = 1 << 36
"""Multiplications that one run of a graph may take: seconds, and there are about ten runs."""
NARROW = 2
"""Integers that enter are below this where the graph takes no larger ones: few rows to look up."""
Shapes = Mapping[str, Sequence[int]]
"""Shapes of graph inputs by name."""


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
    def of(
        func: FuncOp, seed: int = 0, shapes: Shapes | None = None, limit: int | None = None
    ) -> GraphSamples:
        """Run a graph on every kind of sample; unknown dimensions are those of `shapes`, else
        tried as SIZES says.

        Samples that it is not defined on are left out. Raises NotChecked when no size of the
        unknown dimensions fits random values, an op has no values, all results are empty, or a
        run takes more than `limit` multiplications.
        """
        reason = NotChecked("")
        for inputs in _choices(func, shapes or {}):
            try:
                return GraphSamples(list(_first_runs(func, inputs, seed, limit or GRAPH_LIMIT)))
            except CompileError as error:
                reason = NotChecked(error.message)
        raise _hinted(func, reason)

    def rerun(self, func: FuncOp, finite: bool = False) -> tuple[str, str, str] | None:
        """Run another graph and keep its outputs; how they differ: output, what, kind of sample.

        `finite`: NaN and infinities say nothing. Raises PassError when the number of outputs
        differs, NotChecked when the graph cannot run.
        """
        before = self.runs
        types = returned_types(func)
        if len(types) != len(before[0].outputs):
            raise PassError(
                f"the graph has {len(types)} outputs, expected {len(before[0].outputs)} as before"
            )
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


@dataclass(frozen=True)
class _Inputs:
    """What enters a graph: tensors of known shapes, and whether integers are below NARROW."""

    tensors: Mapping[str, Tensor]
    narrow: bool = False

    def sampled(self, kind: str, seed: int, turn: int) -> dict[str, Array]:
        """An array for each graph input."""
        arrays = {
            name: sample(tensor, kind, seed + i, SIZES[0], turn)
            for i, (name, tensor) in enumerate(self.tensors.items())
        }
        if not self.narrow:
            return arrays
        return {
            name: a % a.dtype.type(NARROW) if a.dtype.kind in "iu" else a
            for name, a in arrays.items()
        }


def _choices(func: FuncOp, shapes: Shapes) -> Iterator[_Inputs]:
    """What may enter a graph, the likeliest first; raises NotChecked for an unknown rank."""
    tried: set[tuple[Tensor, ...]] = set()
    for size in SIZES:
        tensors = _filled(func, shapes, size)
        key = tuple(tensors.values())
        if key in tried:
            continue
        tried.add(key)
        yield _Inputs(tensors)
        if any(tensor.dtype.name.startswith(("DT_INT", "DT_UINT")) for tensor in key):
            yield _Inputs(tensors, True)


def _filled(func: FuncOp, shapes: Shapes, size: Size) -> dict[str, Tensor]:
    """The graph inputs with known shapes; dimensions of one name have one size."""
    symbols = symbolic_dims(func)
    batches = {dims[0] for dims in symbols if dims and dims[0]}
    found: dict[str, Tensor] = {}
    for name, arg, dims in zip(input_names(func), func.body.block.args, symbols, strict=True):
        tensor = _asked(tensor_of(arg.type), shapes.get(name))
        if tensor.shape is None:
            raise NotChecked(f"graph input '{name}' has unknown rank, expected --shape {name}=...")
        filled = list(size.fill(tensor.shape))
        for i, symbol in enumerate(dims):
            if tensor.shape[i] == DYNAMIC and symbol:
                filled[i] = size.first if symbol in batches else size.others
        found[name] = tensor.with_shape(filled)
    return found


def _asked(tensor: Tensor, shape: Sequence[int] | None) -> Tensor:
    """A graph input as `--shape` fixes it; that of a whole graph may not fit a part of it."""
    if shape is None or not compatible(given := tensor.with_shape(shape), tensor):
        return tensor
    return merged(given, tensor)


def _hinted(func: FuncOp, reason: NotChecked) -> NotChecked:
    """Why a graph could not run, with the option that may help."""
    ops = [op for op in func.walk() if isinstance(op, GeOp)]
    if all(op.has_evaluate() for op in ops if not op.regions):
        for name, arg in zip(input_names(func), func.body.block.args, strict=True):
            shape = tensor_of(arg.type).shape
            if shape is None or DYNAMIC in shape:
                text = f"no size fits graph input '{name}' of shape {shape_text(shape)}"
                return NotChecked(f"{text}, expected --shape {name}=... ({reason})")
    return reason


def _work(func: FuncOp, tensors: Sequence[Tensor]) -> int:
    """About how many multiplications a run of a graph on such tensors takes."""
    if any(tensor_of(a.type) != t for a, t in zip(func.body.block.args, tensors, strict=True)):
        func = func.clone()
        for arg, tensor in zip(func.body.block.args, tensors, strict=True):
            set_type(arg, tensor.type)
        for op in func.body.block.ops:
            if isinstance(op, GeOp):
                with suppress(*EVALUATION_ERRORS, CompileError):  # the run tells what is wrong
                    op.update_types()
    last = func.body.block.last_op
    assert last is not None
    return Cone(last.operands, len(func.body.block.ops)).work()


def _first_runs(func: FuncOp, inputs: _Inputs, seed: int, limit: int) -> Iterator[_Run]:
    """A graph on the samples of every kind; raises CompileError where random ones fail."""
    program = Program(func)
    tensors = list(inputs.tensors.values())
    work = _work(func, tensors)
    if work > limit:
        raise NotChecked(
            f"takes more than {limit} multiplications, raise the limit with --verify-limit"
        )
    for kind in EVERY_SAMPLE:
        if not adds(kind, [t.dtype for t in tensors]):
            continue
        turns = turns_of(kind, [prod(t.shape or ()) for t in tensors]) if work <= LIGHT else 1
        for turn in range(turns):
            try:
                run = _run(func, program, kind, inputs.sampled(kind, seed, turn))
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
    """Runs the main graph around each pass, on samples as GraphSamples takes them."""

    seed: int = 0
    shapes: Shapes | None = None
    """What `--shape` says of the graph inputs."""
    limit: int | None = None
    """Multiplications that one run may take, GRAPH_LIMIT for None."""
    watch: FiniteWatch = field(default_factory=FiniteWatch)
    """A recorder of the passes that run."""
    passed: int = 0
    unchecked: dict[str, int] = field(default_factory=dict[str, int])
    """Reason -> passes that could not be checked for it."""
    samples: GraphSamples | None = None

    def before(self, item: ModulePass, module: ModuleOp) -> None:
        """Run the graph as it is, unless the last pass's run already tells its outputs."""
        self.watch.finite = False
        if self.samples is None:
            func = main_function(module)
            try:
                self.samples = GraphSamples.of(func, self.seed, self.shapes, self.limit)
            except NotChecked as reason:
                self._skip(reason)

    def after(self, item: ModulePass, module: ModuleOp) -> None:
        """Compare with the run before; raises PassError when an output differs."""
        samples, self.samples = self.samples, None
        if samples is None:
            return
        try:
            found = samples.rerun(main_function(module), self.watch.finite)
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
