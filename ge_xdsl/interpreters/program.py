"""A graph made ready to run many times: what does not change between runs is worked out once.

A `Program` gives the arrays that `run_function` gives, which stays as the plain description of a
run; only what `folded` takes together is rounded less often. Done once: where every operand
stands and when it is dropped, the element types of results, whether half floats are widened, what
depends on constants alone, and, while the shapes stay the same, the check of sizes and what is
computed from shapes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from operator import is_
from threading import Lock
from typing import TYPE_CHECKING, Any

from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from ge_xdsl.dialects.ge.limits import check_sizes
from ge_xdsl.dialects.ge.op import CONSTANT_TYPES, GeOp
from ge_xdsl.dialects.ge.types import HELD_AS_HALVES, DataType, numpy_dtype, tensor_of
from ge_xdsl.errors import CompileError
from ge_xdsl.interpreters.folded import AnyStep
from ge_xdsl.interpreters.folding import fold
from ge_xdsl.interpreters.ge import (
    EVALUATION_ERRORS,
    RUNNERS,
    bind_inputs,
    last_uses,
    op_failure,
)
from ge_xdsl.interpreters.in_place import (
    FITS,
    HELD_ONCE,
    WRITERS,
    Writer,
    raise_heap_thresholds,
    spare,
)

if TYPE_CHECKING:
    from ge_xdsl.dialects.ge.types import Array

_SHAPES_ONLY = frozenset({"Shape", "ShapeN", "Rank", "Size"})
"""The ops that read the shapes of their operands and no values."""

_RESHAPING = frozenset(
    {"ExpandDims", "Flatten", "FlattenV2", "Reshape", "Squeeze", "SqueezeV3", "Unsqueeze",
     "UnsqueezeV3"}
)  # fmt: skip
"""The ops that give the elements of their first operand in a shape that the others tell."""

Runner = Callable[[Sequence["Array"]], Sequence["Array"]]
"""Gives the results of an op for one array per operand; raises CompileError that names the op."""

Others = Callable[[Operation], Runner | None]
"""Gives the runner of an op that is no GE op, None when there is none."""

KEPT_ELEMENTS = 1 << 20
"""Most elements of a computed value that is kept because it depends on constants alone."""


class Program:
    """A function ready to run, in any threads; it must not change while its program is in use."""

    def __init__(self, func: FuncOp, others: Others | None = None) -> None:
        raise_heap_thresholds()
        self.func = func
        self.body = Body(func.body.block, others)

    def run(self, inputs: Mapping[str, Array]) -> list[Array]:
        """The graph's outputs, in order, for named input arrays.

        Raises CompileError for missing, unknown or ill-typed inputs and for values that an op is
        not defined on.
        """
        import numpy as np

        with np.errstate(all="ignore"):
            outputs = self.body.run(bind_inputs(self.func, inputs))
        return [_own(array) for array in outputs]


def _own(array: Array) -> Array:
    """An array that may be written, laid out in the order of its dimensions."""
    import numpy as np

    found = np.require(array, requirements="C") if array.ndim else array
    return found if found.flags.writeable else found.copy()


class Body:
    """The block of a function or of a subgraph, as steps over numbered values."""

    def __init__(self, block: Block, others: Others | None = None) -> None:
        self.others = others
        self.lock = Lock()
        self.slots: dict[SSAValue, int] = {value: i for i, value in enumerate(block.args)}
        self.outputs: list[int] = []
        self.first: list[Step | OtherStep] = []
        """The steps that depend on constants alone, until they have run."""
        self.steps: list[AnyStep] = []
        self.fixed: set[int] = set()
        self.derived: set[int] = set()
        """The values that depend on constants and shapes alone."""
        last = last_uses(block)
        for op in block.ops:
            if isinstance(op, ReturnOp) or op is block.last_op:
                self.outputs = [self.slots[value] for value in op.operands]
            else:
                self._add(op, last.get(op, ()))
        self.kept: list[Array | None] = [None] * len(self.slots)

    def _add(self, op: Operation, dead: Sequence[SSAValue]) -> None:
        if not isinstance(op, GeOp):
            self._add_other(op, dead)
            return
        if op.op_type == "control_edge":
            return
        inputs = [self.slots[value] for value in op.operands]
        outputs = list(range(len(self.slots), len(self.slots) + len(op.results)))
        self.slots.update(zip(op.results, outputs, strict=True))
        varying = {i for i, slot in enumerate(inputs) if slot not in self.fixed}
        step = Step(op, inputs, outputs, varying)
        step.others = self.others
        if not varying and _is_fixed(op):
            self.fixed.update(outputs)
            self.first.append(step)
        else:
            self.steps.append(step)
            if self._is_derived(op, inputs):
                step.remembers = True
                self.derived.update(outputs)
            elif op.op_type in _RESHAPING and not step.widens:
                step.reshapes = all(i in self.fixed or i in self.derived for i in inputs[1:])
        step.dead = [slot for v in dead if (slot := self.slots[v]) not in self.fixed]
        step.find_spare()

    def _add_other(self, op: Operation, dead: Sequence[SSAValue]) -> None:
        """An op that is no GE op, if there is a way to run it."""
        run = self.others(op) if self.others is not None else None
        if run is None:
            raise CompileError("is no GE op, expected one", subject=op.name)
        inputs = [self.slots[value] for value in op.operands]
        outputs = list(range(len(self.slots), len(self.slots) + len(op.results)))
        self.slots.update(zip(op.results, outputs, strict=True))
        step = OtherStep(run, inputs, outputs)
        if all(slot in self.fixed for slot in inputs) and _is_small(op):
            self.fixed.update(outputs)
            self.first.append(step)
        else:
            self.steps.append(step)
        step.dead = [slot for v in dead if (slot := self.slots[v]) not in self.fixed]

    def _is_derived(self, op: GeOp, inputs: Sequence[int]) -> bool:
        if op.op_type in _SHAPES_ONLY:
            return True
        return _is_pure(op) and all(i in self.fixed or i in self.derived for i in inputs)

    def run(self, inputs: Sequence[Array]) -> list[Array]:
        """The values of the terminator's operands for one array per block argument."""
        if self.first:
            with self.lock:
                if self.first:
                    self._keep()
        values: list[Any] = self.kept.copy()
        values[: len(inputs)] = inputs
        for step in self.steps:
            arrays = [values[i] for i in step.inputs]
            results = step.recall(arrays) if step.remembers else step.run(arrays)
            for slot, result in zip(step.outputs, results, strict=True):
                values[slot] = result
            for slot in step.dead:
                values[slot] = None
        return [values[i] for i in self.outputs]

    def _keep(self) -> None:
        """Run what depends on constants alone, and keep what other steps read of it.

        Weights stand in a file at any byte; numpy would copy those that are not aligned in each
        run anew.
        """
        import numpy as np

        values: list[Any] = self.kept.copy()
        for step in self.first:
            results = step.run([values[i] for i in step.inputs])
            for slot, array in zip(step.outputs, results, strict=True):
                values[slot] = _read_only(np.require(array, requirements="A"))
        self.steps = fold(self.steps, values, self.outputs)
        needed = {i for step in self.steps for i in step.inputs}.union(self.outputs)
        self.kept = [array if i in needed else None for i, array in enumerate(values)]
        self.first = []


def _is_fixed(op: GeOp) -> bool:
    """Whether the results depend on the operands alone and are small enough to keep."""
    if op.op_type in CONSTANT_TYPES:
        return True
    return _is_pure(op) and _is_small(op)


def _is_small(op: Operation) -> bool:
    sizes = [tensor_of(value.type).size() for value in op.results]
    return all(size is not None and size <= KEPT_ELEMENTS for size in sizes)


def _is_pure(op: GeOp) -> bool:
    return op.has_trait(Pure) and not op.regions


def _read_only(array: Array) -> Array:
    """A view of an array that outlives a run: nothing may write to it."""
    view = array.view()
    view.flags.writeable = False
    return view


class OtherStep:
    """One op that is no GE op, with the function that runs it."""

    __slots__ = ("dead", "inputs", "outputs", "runner")
    op = None
    remembers = False

    def __init__(self, run: Runner, inputs: list[int], outputs: list[int]) -> None:
        self.runner = run
        self.inputs = inputs
        self.outputs = outputs
        self.dead: list[int] = []

    def run(self, arrays: Sequence[Array]) -> Sequence[Array]:
        """The results on one array per operand; raises CompileError that names the op."""
        return self.runner(arrays)

    def recall(self, arrays: Sequence[Array]) -> Sequence[Array]:
        """`run`: nothing is remembered."""
        return self.run(arrays)

    def find_spare(self) -> None:
        """Nothing: what runs it is not known."""


class Step:
    """One op of a program."""

    __slots__ = (
        "array_type", "bodies", "dead", "dtypes", "fixed_operands", "inputs", "last", "op",
        "others", "outputs", "read", "remembers", "reshaped", "reshapes", "runner",
        "shapes", "spare", "varying", "widens", "writer",
    )  # fmt: skip

    def __init__(self, op: GeOp, inputs: list[int], outputs: list[int], varying: set[int]) -> None:
        import numpy as np

        self.op = op
        self.varying = varying
        """The positions of the operands that are not the same in every run."""
        self.inputs = inputs
        self.outputs = outputs
        self.dead: list[int] = []
        self.others: Others | None = None
        self.runner = RUNNERS.get(op.op_type)
        self.bodies: dict[Block, Body] = {}
        self.fixed_operands = op.prototype.fixed_operands >= 0
        types = [tensor_of(value.type).dtype for value in (*op.operands, *op.results)]
        self.widens = op.widens and not HELD_AS_HALVES.isdisjoint(types)
        self.widens = self.widens or DataType.DT_UNDEFINED in types
        self.widens = self.widens or DataType.DT_HIFLOAT8 in types[len(op.operands) :]
        self.array_type: type[Any] = np.ndarray
        self.dtypes: list[np.dtype[Any]] = []
        """The element types of the results, once the first run has asked for them."""
        self.remembers = False
        """Whether results are kept for operands that are the same arrays as in the last run."""
        self.reshapes = False
        """Whether the result is the first operand in a shape that its own and constants tell."""
        self.reshaped: tuple[tuple[int, ...], Sequence[Array], tuple[int, ...]] | None = None
        """The first operand's shape, the other operands and the result's shape, last time."""
        self.writer: Writer | None = None
        self.spare: list[int] = []
        """The operands that are not read later: the writer may put the result in their memory."""
        self.last: tuple[Sequence[Any], Sequence[Array]] | None = None
        """What `recall` saw last, the operands or their shapes, and the results."""
        self.shapes: list[tuple[int, ...]] | None = None
        """The operands' shapes when sizes were checked last."""
        self.read: list[tuple[int, Array]] = []
        """The operands whose values that check asked for, and the values."""

    def find_spare(self) -> None:
        """Once the dead values are known: whether a result may replace an operand, and which."""
        self.writer = None
        writer = WRITERS.get(self.op.op_type)
        if writer is None or self.widens or self.remembers or HELD_ONCE < 0:
            return
        places = [0] if self.op.op_type in FITS else range(len(self.inputs))
        self.spare = [i for i in places if self.inputs[i] in self.dead]
        self.writer = writer if self.spare else None

    def room(self, arrays: Sequence[Array]) -> Array | None:
        """The operand whose memory the result may take."""
        return spare(self.op.op_type, arrays, self.spare)

    def run(self, arrays: Sequence[Array]) -> Sequence[Array]:
        """The results on one array per operand; raises CompileError that names the op."""
        if self.runner is not None:
            return self.runner(self.op, arrays, self.run_body)
        if self.reshapes:
            return self.reshape(arrays)
        return self.evaluate(arrays)

    def reshape(self, arrays: Sequence[Array]) -> Sequence[Array]:
        """`evaluate`, with the shape that was found for the same shape and operands."""
        x, *others = arrays
        known = self.reshaped
        if known is not None and x.shape == known[0] and all(map(is_, others, known[1])):
            return (x.reshape(known[2]),)
        found = self.evaluate(arrays)
        self.reshaped = x.shape, others, found[0].shape
        return found

    def evaluate(self, arrays: Sequence[Array]) -> Sequence[Array]:
        """The results by the op's own evaluation; raises CompileError that names the op."""
        op = self.op
        try:
            if self.shapes != [a.shape for a in arrays] or self.read:
                self.check(arrays)
            if self.widens:
                return op.execute_checked(arrays)
            if self.writer is not None and (room := self.room(arrays)) is not None:
                return self.writer(op, arrays, room) or (room,)
            found = op.evaluate(*(arrays if self.fixed_operands else op.arrange(arrays)))
            flat = (found,) if type(found) is self.array_type else found
            return flat if self.fits(flat) else op.narrowed(found)
        except (*EVALUATION_ERRORS, VerifyException) as error:
            raise op_failure(op, error) from error

    def fits(self, found: Any) -> bool:
        """Whether what `evaluate` gave is a flat sequence of arrays of the right types."""
        if type(found) not in (tuple, list) or len(found) != len(self.dtypes):
            return False
        kind = self.array_type
        return all(
            type(a) is kind and a.dtype == t for a, t in zip(found, self.dtypes, strict=True)
        )

    def recall(self, arrays: Sequence[Array]) -> Sequence[Array]:
        """`run`, or what it gave last on the same arrays (for ops on shapes: the same shapes)."""
        last = self.last  # read and written at once: other threads may run the step too
        if self.op.op_type in _SHAPES_ONLY:
            key: Sequence[Any] = [a.shape for a in arrays]
            same = last is not None and key == last[0]
        else:
            key = arrays
            same = last is not None and all(map(is_, arrays, last[0]))
        if last is not None and same:
            return last[1]
        found = [_read_only(a) for a in self.run(arrays)]
        self.last = key, found
        return found

    def run_body(self, block: Block, inputs: Sequence[Array]) -> list[Array]:
        """A subgraph's block, made ready when it is first run."""
        body = self.bodies.get(block)
        if body is None:
            body = self.bodies[block] = Body(block, self.others)
        return body.run(inputs)

    def check(self, arrays: Sequence[Array]) -> None:
        """The check of sizes, unless it was done for these shapes and the values it reads."""
        shapes = [a.shape for a in arrays]
        if shapes == self.shapes and all(_equal(arrays[i], value) for i, value in self.read):
            return
        read = check_sizes(self.op, arrays)
        self.read = [(i, arrays[i].copy()) for i in read if i in self.varying]
        self.shapes = shapes
        if not self.widens:
            self.dtypes = [numpy_dtype(tensor_of(r.type).dtype) for r in self.op.results]


def _equal(a: Array, b: Array) -> bool:
    return a is b or bool((a == b).all())
