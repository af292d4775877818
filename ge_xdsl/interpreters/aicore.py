"""Run a lowered module: kernels as tile programs, the other GE ops as whole-tensor calls.

Every whole-tensor call is counted by op type in the report. The instructions of a core run in
program order; that flags order them on the pipes is proved before (`dialects.aicore.ordering`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Operation

from ge_xdsl.dialects.aicore.legality import check_kernel
from ge_xdsl.dialects.aicore.structure import KernelOp, LaunchOp
from ge_xdsl.dialects.aicore.types import tile_of
from ge_xdsl.dialects.aicore.view import ViewOp
from ge_xdsl.dialects.ge.graph import main_function
from ge_xdsl.dialects.ge.op import GeOp
from ge_xdsl.dialects.ge.types import tensor_of
from ge_xdsl.errors import CompileError
from ge_xdsl.interpreters.cycles import time_kernel
from ge_xdsl.interpreters.kernels import Kernel
from ge_xdsl.interpreters.program import Program, Runner
from ge_xdsl.interpreters.tiles import DATA_TYPES
from ge_xdsl.interpreters.timing import KernelTiming, Report
from ge_xdsl.targets import Target, target

if TYPE_CHECKING:
    from ge_xdsl.dialects.ge.types import Array

REASON = "aicore.reason"
"""Attribute of a GE op that was not lowered: why."""
LOOPS = frozenset({"While", "StatelessWhile", "For"})
"""Ops that run all their subgraphs; others run one of them."""
UNCOUNTED = frozenset({"Const", "Constant", "NoOp", "control_edge", "yield"})
"""Ops that compute nothing."""


class LoweredProgram:
    """A lowered module ready to run many times; it must not change while this is in use.

    `checked` runs every kernel core by core, and an access of what was not written, of what lies
    outside its tile, or a second write of an output element is an error that names kernel,
    instruction, buffer and range. Raises CompileError for kernels that do not fit the target or
    the tensors.
    """

    def __init__(self, module: ModuleOp, chip: Target | str, *, checked: bool = False) -> None:
        self.func = main_function(module)
        self.target = target(chip)
        self.checked = checked
        self.kernels = kernels_of(module)
        for kernel in self.kernels.values():
            check_kernel(kernel, self.target)
        self.ready: dict[str, Kernel] = {}
        if not isinstance(self.func.body.block.last_op, ReturnOp):
            raise CompileError("has no func.return, expected one", subject="func.func")
        self.program = Program(self.func, self.runner)
        self.timing: Report | None = None

    def run(self, inputs: Mapping[str, Array]) -> list[Array]:
        """The graph's outputs, in order, for named input arrays.

        Raises CompileError for wrong inputs, for kernels that read what is not written, and for
        values that an op is not defined on.
        """
        return self.program.run(inputs)

    @property
    def report(self) -> Report:
        """What the kernels cost on the target."""
        if self.timing is None:
            self.timing = report_of(self.func, self.kernels, self.target)
        return self.timing

    def runner(self, op: Operation) -> Runner | None:
        """What runs a view or a launch."""
        if isinstance(op, ViewOp):
            shape = tensor_of(op.results[0].type).shape or ()
            return lambda arrays: [arrays[0].reshape(shape)]
        if not isinstance(op, LaunchOp):
            raise CompileError("is no launch and no GE op, expected one", subject=op.name)
        kernel = kernel_of(op, self.kernels)
        ready = self.ready.get(kernel.sym_name)
        if ready is None:
            ready = self.ready[kernel.sym_name] = Kernel(kernel, checked=self.checked)
        return _launcher(ready, [tensor_of(value.type).shape or () for value in op.results])


def _launcher(kernel: Kernel, shapes: Sequence[tuple[int, ...]]) -> Runner:
    """What runs a kernel and gives its results in the shapes of the launch's tensors."""

    def launch(arrays: Sequence[Array]) -> Sequence[Array]:
        found = kernel.run(arrays)
        return [array.reshape(shape) for array, shape in zip(found, shapes, strict=True)]

    return launch


def run(
    module: ModuleOp,
    inputs: Mapping[str, Array],
    chip: Target | str,
    *,
    checked: bool = False,
) -> tuple[list[Array], Report]:
    """The graph's outputs, in order, and what the kernels cost on a target.

    `checked` and the errors are those of `LoweredProgram`.
    """
    program = LoweredProgram(module, chip, checked=checked)
    return program.run(inputs), program.report


def estimate(module: ModuleOp, chip: Target | str) -> Report:
    """What the kernels of a module cost on a target; nothing is executed."""
    return report_of(main_function(module), kernels_of(module), target(chip))


def kernels_of(module: ModuleOp) -> dict[str, KernelOp]:
    """The kernels of a module by symbol."""
    return {op.sym_name: op for op in module.body.block.ops if isinstance(op, KernelOp)}


def kernel_of(launch: LaunchOp, kernels: Mapping[str, KernelOp]) -> KernelOp:
    """The kernel that a launch names, checked against the launch's tensors."""
    kernel = kernels.get(launch.kernel)
    if kernel is None:
        raise CompileError(
            f"kernel @{launch.kernel} is not defined",
            subject=launch.name,
            location=launch.source,
        )
    args = kernel.body.args
    values = [*launch.operands, *launch.results]
    if len(args) != len(values) or kernel.outputs != len(launch.results):
        raise CompileError(
            f"has {len(launch.operands)} operands and {len(launch.results)} results, expected "
            f"{len(args) - kernel.outputs} and {kernel.outputs}",
            subject=f"{launch.name} @{launch.kernel}",
            location=launch.source,
        )
    for arg, value in zip(args, values, strict=True):
        tensor, tile = tensor_of(value.type), tile_of(arg)
        if tensor.size() != tile.count or tensor.dtype != DATA_TYPES[tile.element]:
            raise CompileError(
                f"passes {value.type} for {tile}, expected as many elements of one type",
                subject=f"{launch.name} @{launch.kernel}",
                location=launch.source,
            )
    return kernel


def report_of(func: FuncOp, kernels: Mapping[str, KernelOp], chip: Target) -> Report:
    """The timing of every launch and the count of every whole-tensor call of a graph.

    Of the branches of an If or Case the one that takes longest counts, the body of a loop once.
    """
    return _Tally(kernels, chip).block(func.body.block).report(chip)


class _Tally:
    """What a block launches, calls and views."""

    def __init__(
        self,
        kernels: Mapping[str, KernelOp],
        chip: Target,
        known: dict[str, KernelTiming] | None = None,
    ) -> None:
        self.kernels = kernels
        self.chip = chip
        self.known: dict[str, KernelTiming] = {} if known is None else known
        self.timings: list[KernelTiming] = []
        self.calls: dict[str, int] = {}
        self.reasons: dict[str, list[str]] = {}
        self.views = 0

    def block(self, block: Block) -> _Tally:
        """Count the ops of a block."""
        for op in block.ops:
            if isinstance(op, LaunchOp):
                kernel = kernel_of(op, self.kernels)
                if kernel.sym_name not in self.known:
                    self.known[kernel.sym_name] = time_kernel(kernel, self.chip)
                timing = replace(self.known[kernel.sym_name], ops=tuple(op.nodes))
                self.timings.append(timing)
            elif isinstance(op, ViewOp):
                self.views += len(op.nodes)
            elif isinstance(op, GeOp) and op.regions:
                self.subgraphs(op)
            elif isinstance(op, GeOp) and op.op_type not in UNCOUNTED:
                self.call(op)
        return self

    def call(self, op: GeOp) -> None:
        """A whole-tensor call."""
        self.calls[op.op_type] = self.calls.get(op.op_type, 0) + 1
        attr = op.attributes.get(REASON)
        texts = self.reasons.setdefault(op.op_type, [])
        text = attr.data if isinstance(attr, StringAttr) else "was not lowered"
        if text not in texts:
            texts.append(text)

    def subgraphs(self, op: GeOp) -> None:
        """The slowest of the branches, or all regions of a loop."""
        parts = [
            _Tally(self.kernels, self.chip, self.known).block(region.block) for region in op.regions
        ]
        if op.op_type not in LOOPS:
            parts = [max(parts, key=lambda part: sum(k.us for k in part.timings))]
        for part in parts:
            self.timings += part.timings
            self.views += part.views
            for name, count in part.calls.items():
                self.calls[name] = self.calls.get(name, 0) + count
            for name, texts in part.reasons.items():
                have = self.reasons.setdefault(name, [])
                have += [text for text in texts if text not in have]

    def report(self, chip: Target) -> Report:
        """The report of all that was counted."""
        return Report(chip.name, self.timings, self.calls, self.reasons, self.views)
