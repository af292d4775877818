"""A kernel ready to run: for all tiles at once where it can be, core by core, or checked.

`Kernel.run` gives the arrays that a kernel writes for those that it reads. The fast way is that of
`batched`; where a kernel does not fit it, or a run of it fails, its cores run one after the other
as `codegen` has it, which also finds the words for what is wrong. Checked runs are core by core
on buffers that know of every element whether it was written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from itertools import product
from types import CodeType
from typing import TYPE_CHECKING, Any

from xdsl.ir import Operation, SSAValue

from ge_xdsl.dialects.aicore.cube import FixpipeOp
from ge_xdsl.dialects.aicore.move import CopyUbGmOp
from ge_xdsl.dialects.aicore.structure import ForOp, KernelOp
from ge_xdsl.dialects.aicore.types import SUB_CORES, Tile, tile_of
from ge_xdsl.dialects.aicore.view import StridedOp
from ge_xdsl.dialects.ge.types import numpy_dtype
from ge_xdsl.dialects.located import Located
from ge_xdsl.errors import CompileError
from ge_xdsl.interpreters.batched import BatchedSource, LoopSource, Unfit, matrix_shape
from ge_xdsl.interpreters.batched_calls import CALLS
from ge_xdsl.interpreters.checked import CheckedMemory
from ge_xdsl.interpreters.codegen import CompiledKernel, compile_kernel
from ge_xdsl.interpreters.cross_cores import CUBE, CrossCores, Unit, run_in_turn
from ge_xdsl.interpreters.tiles import DATA_TYPES, Memory, matrix_of

if TYPE_CHECKING:
    from ge_xdsl.dialects.ge.types import Array

CUBE_BYTES = 1 << 26
"""Most bytes of the tiles of one instruction that a cube kernel does at once."""
VECTOR_BYTES = 1 << 20
"""The same of a vector kernel, whose instructions come back to what is in a cache."""
UNFOLDED_BYTES = 1 << 29
"""Most bytes of an unfolded map."""
FAST_ERRORS = (Unfit, ValueError, TypeError, IndexError, MemoryError)
"""What ends the run for all tiles at once: the run core by core decides what was wrong."""


@lru_cache(maxsize=1024)
def compiled(text: str, name: str) -> CodeType:
    """The code of a source; equal kernels share it."""
    return compile(text, f"<kernel {name}>", "exec")


class Batched:
    """The functions of a kernel that do all tiles at once; raises Unfit."""

    def __init__(self, kernel: KernelOp) -> None:
        import numpy as np

        source = BatchedSource(kernel)
        self.source = source
        self.args = [tile_of(arg) for arg in kernel.body.args]
        self.outputs = kernel.outputs
        names: dict[str, Any] = {"np": np, "ndarray": np.ndarray, **CALLS, **source.objects}
        exec(compiled(source.text, "for all tiles"), names)
        limit = CUBE_BYTES if kernel.core == "cube" else VECTOR_BYTES
        self.loops: list[tuple[Callable[..., tuple[int, ...]], LoopSource, list[list[int]]]] = [
            (names[loop.name], loop, list(grids(loop, limit))) for loop in source.loops
        ]
        for unfolded in source.derived.values():
            size = _product(unfolded.array.bound) * self.args[unfolded.argument].size
            if size > UNFOLDED_BYTES:
                raise Unfit("a map that is too large to unfold")
        self.known: dict[tuple[int, str], tuple[Array, Array]] = {}
        """What was made of an argument last, for one that stays the same from run to run."""

    def run(self, arrays: Sequence[Array]) -> list[Array]:
        """The arrays written; raises one of FAST_ERRORS."""
        import numpy as np

        inputs = [self.matrix(i, array) for i, array in enumerate(arrays)]
        dtypes = [numpy_dtype(DATA_TYPES[tile.element]) for tile in self.args[len(arrays) :]]
        tiles = self.args[len(arrays) :]
        written = [np.empty(t.shape, d) for t, d in zip(tiles, dtypes, strict=True)]
        buffers = [_bytes(array) for array in (*inputs, *written)]
        stored = [0] * self.outputs
        maps: dict[str, Array] = {}
        for function, loop, every in self.loops:
            for name in loop.maps:
                if name not in maps:
                    maps[name] = self.unfolded(name, inputs)
            unfolded = [maps[name] for name in loop.maps]
            for grid in every:
                counts = function(*grid, *buffers, *unfolded)
                stored = [a + b for a, b in zip(stored, counts, strict=True)]
        if any(count != array.size for count, array in zip(stored, written, strict=True)):
            raise Unfit
        return written

    def matrix(self, i: int, array: Array) -> Array:
        """The array of an argument, row-major; blocks are put together."""
        import numpy as np

        tile = self.args[i]
        if tile.layout == "nd":
            return np.ascontiguousarray(array)
        return self.keep(i, "matrix", array, lambda a: whole_matrix(a, tile))

    def unfolded(self, name: str, inputs: Sequence[Array]) -> Array:
        """An unfolded map, as bytes."""
        found = self.source.derived[name]
        array = inputs[found.argument]
        return _bytes(self.keep(found.argument, name, array, found.make))

    def keep(self, i: int, what: str, array: Array, make: Callable[[Array], Array]) -> Array:
        """`make(array)`, kept for a constant: an array that nobody may write to."""
        if array.flags.writeable:
            return make(array)
        known = self.known.get((i, what))
        if known is None or known[0] is not array:
            known = self.known[i, what] = (array, make(array))
        return known[1]


def whole_matrix(array: Array, tile: Tile) -> Array:
    """The matrix of a tile that is stored in blocks, padded to whole blocks."""
    import numpy as np

    stored = np.ascontiguousarray(array).reshape(tile.storage)
    rows, cols = matrix_shape(tile)[-2:]
    return np.ascontiguousarray(matrix_of(stored, tile)).reshape(*tile.shape[:-2], rows, cols)


def _bytes(array: Array) -> Array:
    """The memory of a row-major array."""
    import numpy as np

    return array.reshape(-1).view(np.uint8)


def grids(loop: LoopSource, limit: int) -> Iterator[list[int]]:
    """First origin, count and valid length per axis: parts of the loop with equal tiles."""
    op = loop.loop
    for parts in product(*(_parts(e, s) for e, s in _dims(op))):
        counts = [count for _, count, _ in parts]
        chunk = _chunks(counts, max(1, limit // loop.point_bytes))
        for starts in product(*(range(0, n, c) for n, c in zip(counts, chunk, strict=True))):
            grid: list[int] = []
            for i, (origin, count, length) in enumerate(parts):
                first = starts[i]
                grid += [origin + first * op.steps[i], min(chunk[i], count - first), length]
            yield grid


def _dims(op: ForOp) -> list[tuple[int, int]]:
    pairs = zip(op.extents, op.steps, strict=True)
    return [(extent, step) for extent, step in pairs if isinstance(extent, int)]


def _parts(extent: int, step: int) -> list[tuple[int, int, int]]:
    """The whole tiles of a dimension and its last one: origin, count, valid length."""
    whole, rest = divmod(extent, step)
    found = [(0, whole, step)] if whole else []
    return [*found, (whole * step, 1, rest)] if rest else found


def _chunks(counts: Sequence[int], points: int) -> list[int]:
    """How much of each axis is done at once, so that at most so many points are."""
    chunk = list(counts)
    for i in range(len(counts)):
        rest = _product(chunk[i + 1 :])
        chunk[i] = max(1, min(chunk[i], points // rest))
    return chunk


def _product(numbers: Sequence[int]) -> int:
    out = 1
    for number in numbers:
        out *= number
    return out


class Kernel:
    """One kernel, made ready when it first runs."""

    def __init__(self, kernel: KernelOp, *, checked: bool = False) -> None:
        self.kernel = kernel
        self.checked = checked
        self.batched: Batched | None = None
        self.why = ""
        """Why the last run was not for all tiles at once."""
        self.compiled: CompiledKernel | None = None
        if not checked:
            try:
                self.batched = Batched(kernel)
            except Unfit as error:
                self.why = str(error)

    def run(self, arrays: Sequence[Array]) -> list[Array]:
        """The arrays written, in the shapes of their tiles; raises CompileError."""
        import numpy as np

        if self.batched is not None:
            try:
                with np.errstate(all="ignore"):
                    return self.batched.run(arrays)
            except FAST_ERRORS as error:
                why = f"{type(error).__name__}: {error}"
            found = self.by_core(arrays)
            self.batched, self.why = None, why  # nothing was wrong: it does not fit
            return found
        return self.by_core(arrays)

    def by_core(self, arrays: Sequence[Array]) -> list[Array]:
        """`run`, one core after the other, or in turn where they wait for each other."""
        if self.compiled is None:
            self.compiled = compile_kernel(self.kernel, checked=self.checked)
        return run_kernel(self.kernel, self.compiled, arrays, self.checked)


def run_kernel(
    kernel: KernelOp, compiled: CompiledKernel, arrays: Sequence[Array], checked: bool
) -> list[Array]:
    """The arrays that a kernel writes, in the shapes of its tiles, for those that it reads."""
    import numpy as np

    memories = list(_memories(kernel, arrays, checked))
    try:
        with np.errstate(all="ignore"):
            _run_cores(kernel, compiled, memories)
    except (ValueError, IndexError) as error:
        raise _failure(kernel, compiled, error) from error
    for memory in memories:
        if memory.missing:
            how = "unwritten" if memory.missing > 0 else "written again"
            raise CompileError(
                f"leaves {abs(memory.missing)} of {memory.array.size} elements of "
                f"'{memory.name}' {how}{_first_missing(memory)}, expected each to be written once",
                subject=f"aicore.kernel @{kernel.sym_name}",
                location=kernel.source,
            )
    return [memory.array for memory in memories[len(arrays) :]]


def _memories(kernel: KernelOp, arrays: Sequence[Array], checked: bool) -> Iterator[Memory]:
    """The arguments in GM."""
    import numpy as np

    kind = CheckedMemory if checked else Memory
    for i, arg in enumerate(kernel.body.args):
        tile, name = tile_of(arg), arg.name_hint or f"argument {i}"
        if i < len(arrays):
            stored = np.ascontiguousarray(arrays[i]).reshape(tile.storage)
            yield kind(name, stored, True, tile=tile)
            continue
        memory = kind(name, _empty(tile, f"aicore.kernel @{kernel.sym_name}"), False)
        if _is_added_to(arg):
            memory.make_joined()
        yield memory


def _is_added_to(value: SSAValue) -> bool:
    """Whether an instruction adds to what the tile, or a view of it, holds."""
    users = [use.operation for use in value.uses]
    views = [op.results[0] for op in users if isinstance(op, StridedOp)]
    stores = [op for op in users if isinstance(op, CopyUbGmOp | FixpipeOp) and op.written is value]
    added = any(op.option("atomic") == "add" for op in stores)
    return added or any(_is_added_to(view) for view in views)


def _run_cores(kernel: KernelOp, compiled: CompiledKernel, memories: Sequence[Memory]) -> None:
    units = units_of(kernel)
    cross = CrossCores([unit for unit, _ in units])
    if not compiled.takes_turns:
        for (core, sub), kind in units:
            compiled.functions[kind](core, kernel.blocks, sub, cross, *memories)
        return
    programs = {
        (core, sub): compiled.functions[kind](core, kernel.blocks, sub, cross, *memories)
        for (core, sub), kind in units
    }
    run_in_turn(cross, programs)


def units_of(kernel: KernelOp) -> list[tuple[Unit, str]]:
    """The cores that run a kernel, each with the name of its function."""
    if kernel.core != "mix":
        return [((core, CUBE), "kernel") for core in range(kernel.blocks)]
    found: list[tuple[Unit, str]] = []
    for core in range(kernel.blocks):
        found.append(((core, CUBE), "cube"))
        found += [((core, sub), "vector") for sub in range(SUB_CORES)]
    return found


def _failure(kernel: KernelOp, compiled: CompiledKernel, error: Exception) -> CompileError:
    """An error in words: the instruction that was executed, the kernel, what was wrong."""
    op: Operation | None = None
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == compiled.file:
            op = compiled.ops.get(trace.tb_lineno)
        trace = trace.tb_next
    subject = f"aicore.kernel @{kernel.sym_name}"
    source = op.source if isinstance(op, Located) else None
    return CompileError(
        str(error),
        subject=subject if op is None else f"{op.name} in {subject}",
        location=source or kernel.source,
    )


def _first_missing(memory: Memory) -> str:
    """Where the first element is that is not written, in a checked run."""
    import numpy as np

    if not isinstance(memory, CheckedMemory) or memory.done.all():
        return ""
    first = np.argwhere(~memory.done)[0]
    return f", the first at [{', '.join(str(n) for n in first)}]"


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
