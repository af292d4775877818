"""Run a graph of GE ops on whole numpy arrays, op by op, through `evaluate`.

This is the reference for everything else: rewrites, decompositions and lowered kernels are
compared with it. Arrays are dropped after their last use. `program` makes a graph ready to run
many times.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Operation, SSAValue

from ge_xdsl.dialects.ge.check import foreign_element_type
from ge_xdsl.dialects.ge.names import describe, input_names
from ge_xdsl.dialects.ge.op import GeOp
from ge_xdsl.dialects.ge.types import numpy_dtype, tensor_of
from ge_xdsl.errors import CompileError

if TYPE_CHECKING:
    from ge_xdsl.dialects.ge.types import Array

EVALUATION_ERRORS = (ValueError, IndexError, TypeError, MemoryError, ArithmeticError)
"""What numpy raises for values that an op is not defined on."""

LOOP_LIMIT = 1 << 16
"""Most iterations of a loop."""

Observer = Callable[[Operation, Sequence["Array"]], None]
"""Called after each op with the op and its results."""

RunBlock = Callable[[Block, Sequence["Array"]], list["Array"]]
"""Runs the block of a subgraph on one array per argument."""


def run_function(
    func: FuncOp, inputs: Mapping[str, Array], observer: Observer | None = None
) -> list[Array]:
    """The graph's outputs, in order, for named input arrays.

    Raises CompileError for missing, unknown or ill-typed inputs and for values that an op is not
    defined on.
    """
    return run_block(func.body.block, bind_inputs(func, inputs), observer)


def bind_inputs(func: FuncOp, inputs: Mapping[str, Array]) -> list[Array]:
    """One array per block argument, checked against the argument's type."""
    import numpy as np

    names = input_names(func)
    for name in inputs:
        if name not in names:
            raise CompileError(f"no graph input '{name}', expected one of {', '.join(names)}")
    bound: list[Array] = []
    for name, arg in zip(names, func.body.block.args, strict=True):
        if name not in inputs:
            raise CompileError("no array given, expected one", subject=f"graph input '{name}'")
        array = np.asarray(inputs[name])
        tensor = tensor_of(arg.type)
        if array.dtype != numpy_dtype(tensor.dtype):
            raise CompileError(
                f"array is {array.dtype}, expected {numpy_dtype(tensor.dtype)}",
                subject=f"graph input '{name}'",
            )
        if tensor.shape is not None and (
            len(tensor.shape) != array.ndim
            or any(d >= 0 and d != n for d, n in zip(tensor.shape, array.shape, strict=True))
        ):
            from ge_xdsl.dialects.ge.shapes import shape_text

            raise CompileError(
                f"array is {shape_text(array.shape)}, expected {shape_text(tensor.shape)}",
                subject=f"graph input '{name}'",
            )
        bound.append(array)
    return bound


def run_block(
    block: Block, inputs: Sequence[Array], observer: Observer | None = None
) -> list[Array]:
    """Run the ops of a block on its arguments; the values of its terminator's operands."""
    values: dict[SSAValue, Array] = dict(zip(block.args, inputs, strict=True))
    last_use = last_uses(block)
    for op in block.ops:
        arrays = [values[v] for v in op.operands]
        if isinstance(op, ReturnOp) or op is block.last_op:
            return arrays
        if not isinstance(op, GeOp):
            raise CompileError("is no GE op, expected one", subject=op.name)
        results = run_op(op, arrays, observer)
        if observer is not None:
            observer(op, results)
        values.update(zip(op.results, results, strict=True))
        for value in last_use.get(op, ()):
            values.pop(value, None)
    return []


def run_op(op: GeOp, arrays: Sequence[Array], observer: Observer | None = None) -> list[Array]:
    """One op on its operand arrays, with errors that name it; subgraphs are run as often as the
    op says."""
    import numpy as np

    if op.op_type == "control_edge":
        return []
    runner = RUNNERS.get(op.op_type)
    if runner is not None:
        return runner(op, arrays, lambda block, values: run_block(block, values, observer))
    try:
        with np.errstate(all="ignore"):
            return op.execute(arrays)
    except EVALUATION_ERRORS as error:
        raise op_failure(op, error) from error


def op_failure(op: GeOp, error: Exception) -> CompileError:
    """The error of a run for what an op's evaluation raised.

    An element type that GE's table does not list is told besides: it may be the reason.
    """
    text = str(error).removeprefix(f"{op.name}: ") or type(error).__name__
    foreign = foreign_element_type(op)
    text += f"; {foreign}" if foreign else ""
    return CompileError(text, subject=describe(op), location=op.source)


def _run_if(op: GeOp, arrays: Sequence[Array], run: RunBlock) -> list[Array]:
    """The branch that cond chooses, on the other operands."""
    cond, *inputs = arrays
    taken = bool(cond.reshape(())) if cond.size == 1 else cond.size > 0
    return run(op.regions[0 if taken else 1].block, inputs)


def _run_while(op: GeOp, arrays: Sequence[Array], run: RunBlock) -> list[Array]:
    """The body on its own results, while cond holds of them."""
    cond, body = (region.block for region in op.regions)
    values = list(arrays)
    for _ in range(LOOP_LIMIT):
        if not _holds(op, run(cond, values)[0]):
            return values
        values = run(body, values)
    raise CompileError(
        f"cond holds after {LOOP_LIMIT} iterations, expected a loop that ends",
        subject=describe(op),
        location=op.source,
    )


def _holds(op: GeOp, flag: Array) -> bool:
    if flag.size != 1:
        raise CompileError(
            f"cond gives {flag.size} elements, expected 1",
            subject=describe(op),
            location=op.source,
        )
    return bool(flag.reshape(()))


def _run_case(op: GeOp, arrays: Sequence[Array], run: RunBlock) -> list[Array]:
    """The branch that branch_index names, the last one for an index that names none."""
    number, last = _one(op, arrays[0], "branch_index"), len(op.regions) - 1
    block = op.regions[number if 0 <= number < last else last].block
    return run(block, arrays[1:])


def _run_for(op: GeOp, arrays: Sequence[Array], run: RunBlock) -> list[Array]:
    """The body on (start + n * delta, values) for n * |delta| < |limit - start|."""
    import numpy as np

    names = ("start", "limit", "delta")
    start, limit, delta = (
        _one(op, array, name) for array, name in zip(arrays[:3], names, strict=True)
    )
    rounds = -(-abs(limit - start) // abs(delta)) if delta else LOOP_LIMIT + 1
    if rounds > LOOP_LIMIT:
        raise CompileError(
            f"loop from {start} to {limit} by {delta} has more than {LOOP_LIMIT} iterations, "
            "expected fewer",
            subject=describe(op),
            location=op.source,
        )
    values = list(arrays[3:])
    for n in range(rounds):
        place = np.full(arrays[0].shape, start + n * delta, np.int64).astype(arrays[0].dtype)
        values = run(op.regions[0].block, [place, *values])
    return values


def _one(op: GeOp, array: Array, name: str) -> int:
    """The one integer of an operand."""
    if array.size != 1:
        raise CompileError(
            f"{name} has {array.size} elements, expected 1",
            subject=describe(op),
            location=op.source,
        )
    return int(array.reshape(()))


def _run_call(op: GeOp, arrays: Sequence[Array], run: RunBlock) -> list[Array]:
    return run(op.regions[0].block, arrays)


RUNNERS: dict[str, Callable[[GeOp, Sequence[Array], RunBlock], list[Array]]] = {
    "Case": _run_case,
    "For": _run_for,
    "If": _run_if,
    "PartitionedCall": _run_call,
    "StatefulPartitionedCall": _run_call,
    "StatelessCase": _run_case,
    "StatelessIf": _run_if,
    "StatelessWhile": _run_while,
    "While": _run_while,
    "_If": _run_if,
}
"""Op type -> what runs its subgraphs."""


def last_uses(block: Block) -> dict[Operation, list[SSAValue]]:
    """Op -> the values that nothing after it reads."""
    final: dict[SSAValue, Operation] = {}
    for op in block.ops:
        for value in (*op.operands, *op.results):
            final[value] = op
    found: dict[Operation, list[SSAValue]] = {}
    for value, op in final.items():
        found.setdefault(op, []).append(value)
    return found
