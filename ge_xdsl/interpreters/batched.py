"""A kernel as Python source that does all tiles of equal size in one numpy call per instruction.

The iterations of a loop over cores are independent: each is one point of a grid with an axis per
loop dimension. A tile becomes an array [grid..., rows, columns], 1 along the axes that it does not
depend on. A window of GM is a strided view of it, with no copy; buffers hold matrices, not their
blocks, for on every legal path the layouts agree. What a map instruction unfolds is unfolded once
for the whole map and viewed. Loops inside stay loops.

An index is a `Form`: a scalar expression and a factor per grid axis. A kernel with anything else
(state from one tile to the next, unknown instructions) raises `Unfit` here, a run that reads more
than was written raises an error; both are then run core by core, as `codegen` has it, which tells
what is wrong, if anything is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from xdsl.ir import Block, Operation, SSAValue

from ge_xdsl.dialects.aicore.cross import AffineOp
from ge_xdsl.dialects.aicore.op import Index, Instruction
from ge_xdsl.dialects.aicore.structure import AllocOp, ForOp, KernelOp
from ge_xdsl.dialects.aicore.sync import PipeBarrierOp, SetFlagOp, WaitFlagOp
from ge_xdsl.dialects.aicore.types import Tile, tile_of
from ge_xdsl.dialects.aicore.view import StridedOp
from ge_xdsl.dialects.ge.types import numpy_dtype
from ge_xdsl.interpreters.codegen import name_of
from ge_xdsl.interpreters.tiles import DATA_TYPES


class Unfit(Exception):
    """The kernel cannot be run for all tiles at once."""


@dataclass(frozen=True, slots=True)
class Form:
    """An index: a scalar expression, and a factor for each grid axis."""

    scalar: str
    grid: tuple[int, ...]

    def plus(self, other: Form) -> Form:
        """The sum."""
        grid = tuple(a + b for a, b in zip(self.grid, other.grid, strict=True))
        if self.scalar == "0" or other.scalar == "0":
            return Form(other.scalar if self.scalar == "0" else self.scalar, grid)
        return Form(f"({self.scalar} + {other.scalar})", grid)

    def times(self, factor: int) -> Form:
        """The product with a number."""
        scalar = "0" if self.scalar == "0" or not factor else f"{factor} * {self.scalar}"
        return Form(scalar, tuple(factor * n for n in self.grid))


@dataclass(frozen=True, slots=True)
class Array:
    """A row-major array in GM as the source sees it: name, shape, strides and offset in elements.

    `bound` has the shape that windows must stay in.
    """

    name: str
    element: str
    bound: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int
    written: bool


@dataclass(frozen=True, slots=True)
class Unfolded:
    """A map as the matrix or the padded map that instructions view: of which argument, and how.

    `make` gives it for the argument's array, `shape` is its shape.
    """

    argument: int
    make: Callable[[Any], Any]
    array: Array


@dataclass(frozen=True, slots=True)
class LoopSource:
    """The function of one loop over cores, `loop(o0, n0, v0, ..., *arrays)`.

    `o` are the first origins, `n` the counts along the axes, `v` the valid lengths. It returns
    how many elements of each written argument it has stored.
    """

    loop: ForOp
    name: str
    maps: tuple[str, ...]
    """The unfolded maps that it takes after the arguments."""
    point_bytes: int
    """Bytes of the largest tile of one grid point."""


def row_major(shape: Sequence[int]) -> tuple[int, ...]:
    """The strides of a row-major array, in elements."""
    strides: list[int] = []
    step = 1
    for dim in reversed(shape):
        strides.insert(0, step)
        step *= dim
    return tuple(strides)


class BatchedSource:
    """The source text of one kernel and the objects that it names; raises Unfit."""

    def __init__(self, kernel: KernelOp) -> None:
        self.lines: list[str] = []
        self.objects: dict[str, Any] = {}
        self.loops: list[LoopSource] = []
        self.pending: list[str] = []
        """Conditions on windows of the statement that is being made."""
        self.arrays: dict[SSAValue, Array] = {}
        self.names: dict[SSAValue, str] = {}
        self.taken: set[str] = set()
        self.forms: dict[SSAValue, Form] = {}
        self.axes = 0
        self.derived: dict[str, Unfolded] = {}
        """The unfolded maps by name."""
        args = list(kernel.body.args)
        self.outputs = args[len(args) - kernel.outputs :]
        self.arguments = [self.name(arg) for arg in args]
        for arg in kernel.body.args:
            self.argument(arg, arg in self.outputs)
        for op in kernel.body.ops:
            if isinstance(op, ForOp) and op.over_cores:
                self.over_cores(op)
            elif isinstance(op, StridedOp):
                self.strided(op)
            elif not isinstance(op, SetFlagOp | WaitFlagOp | PipeBarrierOp):
                raise Unfit(f"{op.name} outside a loop over cores")
        self.text = "\n".join(self.lines) + "\n"

    # Names, indices and arrays

    def name(self, value: SSAValue) -> str:
        """The Python name of an SSA value."""
        return name_of(value, self.names, self.taken)

    def argument(self, arg: SSAValue, written: bool) -> None:
        """Note an argument as an array; weights in blocks are put together before the run."""
        tile = tile_of(arg)
        self.objects[f"{tile.element}_t"] = numpy_dtype(DATA_TYPES[tile.element])
        if tile.layout != "nd" and written:
            raise Unfit(f"writes {tile}")
        shape = matrix_shape(tile)
        self.arrays[arg] = Array(
            self.name(arg), tile.element, tile.shape, row_major(shape), 0, written
        )

    def strided(self, op: StridedOp) -> None:
        """Other strides on an array."""
        base = self.arrays[op.operands[0]]
        tile = tile_of(op.results[0])
        self.arrays[op.results[0]] = Array(
            base.name, base.element, tile.shape, tuple(op.strides), op.offset, base.written
        )

    def constant(self, text: str) -> Form:
        return Form(text, (0,) * self.axes)

    def form(self, value: Index) -> Form:
        """What is known of an index."""
        if isinstance(value, int):
            return self.constant(str(value))
        found = self.forms.get(value)
        if found is None:
            raise Unfit("an index that is no loop's")
        return found

    def scalar(self, value: Index) -> str:
        """An index that is the same for all tiles."""
        form = self.form(value)
        if any(form.grid):
            raise Unfit("a size or condition that differs between tiles")
        return form.scalar

    def sizes(self, op: Instruction) -> tuple[str, str]:
        """The first two valid sizes of an instruction."""
        return self.scalar(op.sizes[0]), self.scalar(op.sizes[1])

    def emit(self, depth: int, text: str) -> None:
        """A line of source, after the conditions that it needs."""
        if self.pending:
            conditions = " and ".join(dict.fromkeys(self.pending))
            self.lines.append("    " * depth + f"if not ({conditions}): raise Unfit")
            self.pending = []
        self.lines.append("    " * depth + text)

    # Loops and blocks

    def over_cores(self, op: ForOp) -> None:
        """A function for the loop; its grid has an axis per dimension."""
        self.axes = len(op.steps)
        k = len(self.loops)
        params: list[str] = []
        for i, step in enumerate(op.steps):
            grid = tuple(step if a == i else 0 for a in range(self.axes))
            self.forms[op.origin(i)] = Form(f"o{i}", grid)
            self.forms[op.length(i)] = self.constant(f"v{i}")
            params += (f"o{i}", f"n{i}", f"v{i}")
        allocs = [tile_of(a.results[0]) for a in op.walk() if isinstance(a, AllocOp)]
        point = max((tile.bytes for tile in allocs), default=1)
        start = len(self.lines)
        self.block(op.body, 1)
        counts = [self.count(arg) for arg in self.outputs]
        maps = list(self.derived)
        head = [f"def loop{k}({', '.join([*params, *self.arguments, *maps])}):"]
        head += [f"    {name} = 0" for name in counts]
        self.lines[start:start] = head
        self.emit(1, f"return ({''.join(f'{name}, ' for name in counts)})")
        self.loops.append(LoopSource(op, f"loop{k}", tuple(maps), point))

    def count(self, output: SSAValue) -> str:
        """The variable that counts stored elements."""
        return f"stored_{self.name(output)}"

    def block(self, block: Block, depth: int) -> None:
        """The statements of a block."""
        from ge_xdsl.interpreters.batched_ops import STATEMENTS

        for op in block.ops:
            if isinstance(op, ForOp):
                self.loop(op, depth)
            elif isinstance(op, AllocOp):
                self.emit(depth, f"{self.name(op.results[0])} = None")
            elif isinstance(op, AffineOp):
                total = self.constant(str(op.constant))
                for factor, value in zip(op.factors, op.operands, strict=True):
                    total = total.plus(self.form(value).times(factor))
                self.forms[op.results[0]] = total
            elif isinstance(op, SetFlagOp | WaitFlagOp | PipeBarrierOp):
                continue  # all of an instruction is done before the next begins
            elif isinstance(op, Instruction) and type(op) in STATEMENTS:
                self.check_state(op)
                STATEMENTS[type(op)](self, op, depth)
            else:
                raise Unfit(op.name)

    def loop(self, op: ForOp, depth: int) -> None:
        """A loop inside, as one."""
        if op.over_subcores:
            raise Unfit("a loop over subcores")
        for i, (extent, step) in enumerate(zip(op.extents, op.steps, strict=True)):
            end, name, length = self.scalar(extent), self.name(op.origin(i)), op.length(i)
            self.emit(depth, f"for {name} in range(0, {end}, {step}):")
            depth += 1
            self.emit(depth, f"{self.name(length)} = min({step}, {end} - {name})")
            self.forms[op.origin(i)] = self.form(op.bases[i]).plus(self.constant(name))
            self.forms[length] = self.constant(self.name(length))
        if not op.body.first_op:
            self.emit(depth, "pass")
        self.block(op.body, depth)

    def check_state(self, op: Instruction) -> None:
        """Refuse a buffer from outside the loop over cores: it would pass from tile to tile."""
        for value in (*op.read(), op.written):
            if tile_of(value).space != "gm" and not over_cores_parent(value.owner):
                raise Unfit("a buffer that stays from one tile to the next")

    # Buffers

    def writers(self, value: SSAValue) -> list[Instruction]:
        """The instructions that write a buffer."""
        users = (use.operation for use in value.uses)
        return [op for op in users if isinstance(op, Instruction) and op.written is value]

    def sizes_written(self, value: SSAValue) -> tuple[str, str] | None:
        """The rows and columns that every write of a buffer has; None when they differ."""
        from ge_xdsl.interpreters.batched_ops import written_sizes

        try:
            found = {written_sizes(self, op) for op in self.writers(value)}
        except Unfit:  # sizes of a loop that comes later
            return None
        return next(iter(found)) if len(found) == 1 else None

    def read(self, op: Instruction, name: str, rows: str, cols: str) -> str:
        """The rows x cols corner of a buffer."""
        value = op.tile(name)
        if self.sizes_written(value) == (rows, cols):
            return self.name(value)
        return f"part({self.name(value)}, {rows}, {cols})"

    def write(self, op: Instruction, depth: int, rows: str, cols: str, text: str) -> None:
        """Give a buffer new contents, beside what is left of the old where that was larger."""
        value = op.written
        name = self.name(value)
        if self.sizes_written(value) is None:
            text = f"join({name}, {text}, {rows}, {cols})"
        self.emit(depth, f"{name} = {text}")

    # GM

    def window(self, array: Array, offsets: Sequence[Form], rows: str, cols: str) -> str:
        """A view [grid..., rows, cols] of an array, at these offsets."""
        sizes = [*("1" for _ in offsets[2:]), rows, cols]
        self.check_inside(array, offsets, sizes)
        return self.view(array, offsets, (rows, cols), array.strides[-2:])

    def view(
        self, array: Array, offsets: Sequence[Form], sizes: Sequence[str], steps: Sequence[int]
    ) -> str:
        """A view [grid..., *sizes] with these strides for the sizes."""
        element = numpy_dtype(DATA_TYPES[array.element]).itemsize
        place = self.constant(str(array.offset))
        for form, stride in zip(offsets, array.strides, strict=True):
            place = place.plus(form.times(stride))
        grid = [f"n{a}" if place.grid[a] else "1" for a in range(self.axes)]
        shape = ", ".join((*grid, *sizes))
        strides = ", ".join(str(element * n) for n in (*place.grid, *steps))
        where = f"{array.element}_t, {array.name}, {element} * ({place.scalar})"
        return f"ndarray(({shape}), {where}, ({strides}))"

    def check_inside(self, array: Array, offsets: Sequence[Form], sizes: Sequence[str]) -> None:
        """Note the conditions that keep a window in its array, those that are not plain."""
        for form, size, dim in zip(offsets, sizes, array.bound, strict=True):
            grid = [f"{c} * (n{a} - 1)" for a, c in enumerate(form.grid) if c]
            last = " + ".join([form.scalar, *grid, size])
            if not (form.scalar == "0" and not grid and size.isdigit() and int(size) <= dim):
                self.pending.append(f"0 <= {form.scalar} and {last} <= {dim}")


def matrix_shape(tile: Tile) -> tuple[int, ...]:
    """The shape of a tile in GM once its blocks are put together."""
    if tile.layout == "nd":
        return tile.shape
    r0, c0 = tile.blocks
    *lead, rows, cols = tile.shape
    return (*lead, -(-rows // r0) * r0, -(-cols // c0) * c0)


def over_cores_parent(op: Operation | Block) -> bool:
    """Whether an op stands in a loop over cores."""
    parent = op.parent_op()
    while parent is not None:
        if isinstance(parent, ForOp) and parent.over_cores:
            return True
        parent = parent.parent_op()
    return False


Statement = Callable[[BatchedSource, Any, int], None]
"""Emits what executes an instruction at a depth of the source."""
