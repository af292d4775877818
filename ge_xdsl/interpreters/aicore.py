"""Run a lowered module: kernels as tile programs, the other GE ops as whole-tensor calls.

Every whole-tensor call is counted by op type in the report. The cores of a kernel run one after
the other; the instructions of a core run in program order, so a missing synchronisation does not
show here (the timing in `cycles` derives it from the buffers).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Operation, SSAValue

from ge_xdsl.dialects.aicore.legality import check_kernel
from ge_xdsl.dialects.aicore.structure import KernelOp, LaunchOp
from ge_xdsl.dialects.aicore.types import Tile, tile_of
from ge_xdsl.dialects.aicore.view import ViewOp
from ge_xdsl.dialects.ge.graph import main_function
from ge_xdsl.dialects.ge.op import GeOp
from ge_xdsl.dialects.ge.types import numpy_dtype, tensor_of
from ge_xdsl.errors import CompileError
from ge_xdsl.interpreters.codegen import KernelFunction, compile_kernel
from ge_xdsl.interpreters.cycles import time_kernel
from ge_xdsl.interpreters.ge import bind_inputs, last_uses, run_op
from ge_xdsl.interpreters.tiles import DATA_TYPES, Memory
from ge_xdsl.interpreters.timing import KernelTiming, Report
from ge_xdsl.targets import Target, target

if TYPE_CHECKING:
    from ge_xdsl.dialects.ge.types import Array

REASON = "aicore.reason"
"""Attribute of a GE op that was not lowered: why."""
UNCOUNTED = frozenset({"Const", "Constant", "NoOp", "control_edge", "yield"})
"""Ops that compute nothing."""


def run(
    module: ModuleOp, inputs: Mapping[str, Array], chip: Target | str
) -> tuple[list[Array], Report]:
    """The graph's outputs, in order, and what the kernels cost on a target.

    Raises CompileError for wrong inputs, for a module whose kernels read what is not written, do
    not fit the target or the tensors, and for values that an op is not defined on.
    """
    func = main_function(module)
    hardware = target(chip)
    kernels = kernels_of(module)
    for kernel in kernels.values():
        check_kernel(kernel, hardware)
    compiled: dict[str, KernelFunction] = {}
    values: dict[SSAValue, Array] = dict(
        zip(func.body.block.args, bind_inputs(func, inputs), strict=True)
    )
    last_use = last_uses(func.body.block)
    for op in func.body.block.ops:
        arrays = [values[v] for v in op.operands]
        if isinstance(op, ReturnOp):
            return arrays, report_of(func, kernels, hardware)
        results = _run_one(op, arrays, kernels, compiled)
        values.update(zip(op.results, results, strict=True))
        for value in last_use.get(op, ()):
            values.pop(value, None)
    raise CompileError("has no func.return, expected one", subject="func.func")


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


def _run_one(
    op: Operation,
    arrays: Sequence[Array],
    kernels: Mapping[str, KernelOp],
    compiled: dict[str, KernelFunction],
) -> list[Array]:
    if isinstance(op, GeOp):
        return run_op(op, arrays)
    if isinstance(op, ViewOp):
        return [arrays[0].reshape(tensor_of(op.results[0].type).shape or ())]
    if not isinstance(op, LaunchOp):
        raise CompileError("is no launch and no GE op, expected one", subject=op.name)
    kernel = kernel_of(op, kernels)
    function = compiled.get(kernel.sym_name)
    if function is None:
        function = compiled[kernel.sym_name] = compile_kernel(kernel)
    outputs = run_kernel(kernel, function, arrays)
    shapes = [tensor_of(value.type).shape or () for value in op.results]
    return [array.reshape(shape) for array, shape in zip(outputs, shapes, strict=True)]


def run_kernel(kernel: KernelOp, function: KernelFunction, arrays: Sequence[Array]) -> list[Array]:
    """The arrays that a kernel writes, in the shapes of its tiles, for those that it reads."""
    import numpy as np

    args = kernel.body.args
    subject = f"aicore.kernel @{kernel.sym_name}"
    memories: list[Memory] = []
    for i, arg in enumerate(args):
        tile, name = tile_of(arg), arg.name_hint or f"argument {i}"
        if i < len(arrays):
            stored = np.ascontiguousarray(arrays[i]).reshape(tile.storage)
            memories.append(Memory(name, stored, True, tile=tile))
        else:
            memories.append(Memory(name, _empty(tile, subject), False))
    try:
        with np.errstate(all="ignore"):
            for core in range(kernel.blocks):
                function(core, kernel.blocks, *memories)
    except (ValueError, IndexError) as error:
        raise CompileError(str(error), subject=subject, location=kernel.source) from error
    for memory in memories:
        if memory.missing:
            how = "unwritten" if memory.missing > 0 else "written again"
            raise CompileError(
                f"leaves {abs(memory.missing)} of {memory.array.size} elements of "
                f"'{memory.name}' {how}, expected each to be written once",
                subject=subject,
                location=kernel.source,
            )
    return [memory.array for memory in memories[len(arrays) :]]


def _empty(tile: Tile, subject: str) -> Array:
    """Memory for a tile in GM, not initialised."""
    import numpy as np

    try:
        return np.empty(tile.shape, numpy_dtype(DATA_TYPES[tile.element]))
    except (MemoryError, ValueError):
        count = tile.count * tile.size
        raise CompileError(
            f"writes {count} bytes, expected no more than there is memory", subject=subject
        ) from None


def report_of(func: FuncOp, kernels: Mapping[str, KernelOp], chip: Target) -> Report:
    """The timing of every launch and the count of every whole-tensor call of a graph."""
    timings: list[KernelTiming] = []
    known: dict[str, KernelTiming] = {}
    calls: dict[str, int] = {}
    reasons: dict[str, list[str]] = {}
    views = 0
    for op in func.body.block.ops:
        if isinstance(op, LaunchOp):
            kernel = kernel_of(op, kernels)
            if kernel.sym_name not in known:
                known[kernel.sym_name] = time_kernel(kernel, chip)
            timings.append(replace(known[kernel.sym_name], ops=tuple(op.nodes)))
        elif isinstance(op, ViewOp):
            views += max(len(op.nodes), 1)
        elif isinstance(op, GeOp) and op.op_type not in UNCOUNTED:
            calls[op.op_type] = calls.get(op.op_type, 0) + 1
            attr = op.attributes.get(REASON)
            texts = reasons.setdefault(op.op_type, [])
            text = attr.data if isinstance(attr, StringAttr) else "was not lowered"
            if text not in texts:
                texts.append(text)
    return Report(chip.name, timings, calls, reasons, views)
