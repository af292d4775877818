"""`Kernel`: the methods that write a kernel, instruction by instruction.

Every instruction is verified when it is written; errors name the line of Python that wrote it, and
so do later ones, of the order between pipes, of capacities, and of checked runs.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Operation, Region
from xdsl.utils.exceptions import VerifyException

from ge_xdsl.dialects.aicore.cross import (
    CROSS_FLAGS,
    CrossSetOp,
    CrossWaitOp,
    SyncAllOp,
    TakeOp,
    WorkspaceOp,
)
from ge_xdsl.dialects.aicore.cube import FixpipeOp, MmadOp
from ge_xdsl.dialects.aicore.legality import check_kernel
from ge_xdsl.dialects.aicore.move import (
    CopyGmL1Op,
    CopyGmUbOp,
    CopyUbGmOp,
    LoadBiasOp,
    LoadL0aOp,
    LoadL0bOp,
)
from ge_xdsl.dialects.aicore.op import INDEX, Index, Instruction
from ge_xdsl.dialects.aicore.paths import LoadQuantOp
from ge_xdsl.dialects.aicore.pick import ScalarLoadOp
from ge_xdsl.dialects.aicore.structure import AllocOp, ForOp, KernelOp, LaunchOp, SectionOp
from ge_xdsl.dialects.aicore.types import CORE_KINDS, ELEMENT_BYTES, SPACES, Tile, TileType
from ge_xdsl.dialects.ge.graph import verify
from ge_xdsl.dialects.ge.names import INPUT_NAMES, OUTPUT_NAMES, set_string_list
from ge_xdsl.dialects.ge.types import Tensor
from ge_xdsl.dialects.located import Located
from ge_xdsl.errors import CompileError, Location, UsageError
from ge_xdsl.interpreters.tiles import DATA_TYPES
from ge_xdsl.kernels.program import KernelProgram
from ge_xdsl.kernels.values import Buffer, Channel, Dim, Global, Sizes, Window, sum_op
from ge_xdsl.kernels.vector import VectorMethods
from ge_xdsl.lowering.placement import place_buffers
from ge_xdsl.lowering.sync import insert_sync
from ge_xdsl.targets import Target, target

HERE = str(Path(__file__).parent)
LAYOUTS = {"l1": "nz", "l0a": "zz", "l0b": "zn", "l0c": "nz", "ub": "nd", "bt": "nd", "fb": "nd"}
"""Memory -> the layout of a tile in it when none is given (arch 2201)."""
PRODUCER_PIPES = {"cube": "FIX", "vector": "MTE3"}
"""Core -> the pipe that writes to GM."""


class Kernel(VectorMethods):
    """A kernel that is being written. `core` is `cube`, `vector` or `mix`, on `blocks` cores.

    A mixed kernel runs on cube cores with their two vector cores each: what they do stands in
    `with k.cube():` and `with k.vector():`. Errors are `CompileError`s with the line of Python.
    """

    def __init__(self, name: str, core: str = "vector", blocks: int = 1) -> None:
        if core not in CORE_KINDS:
            raise UsageError(f"core is '{core}', expected {', '.join(CORE_KINDS)}")
        self.name = name
        self.core = core
        self.blocks = blocks
        self.top = Block()
        self.block = self.top
        """Where the next op goes."""
        self.section = "" if core == "mix" else core
        self.inputs: list[Global] = []
        self.outputs: list[Global] = []
        self.channels: list[Channel] = []
        self.flags = 0
        self.made: KernelProgram | None = None

    # What everything uses

    def error(self, text: str) -> CompileError:
        """An error at the line of Python that is being run."""
        return CompileError(text, subject=f"kernel '{self.name}'", location=caller())

    def add(self, op: Operation) -> Operation:
        """Write an op, and verify it."""
        if self.made is not None:
            raise self.error("is built already, expected no more instructions")
        if self.core == "mix" and self.block is self.top and isinstance(op, Instruction | ForOp):
            raise self.error(f"{op.name} is outside k.cube() and k.vector(), expected it in one")
        if isinstance(op, Located):
            op.source = caller()
        self.block.add_op(op)
        try:
            if not op.regions and not isinstance(op, WorkspaceOp):
                op.verify_()
        except VerifyException as error:
            op.detach()
            raise CompileError(
                str(error),
                subject=f"{op.name} in kernel '{self.name}'",
                location=caller(),
            ) from error
        return op

    def sum_of(self, a: Index, b: Index) -> Index:
        """The sum of two indices."""
        found = sum_op(a, b)
        return found if isinstance(found, int) else self.add(found).results[0]

    def tile_type(self, shape: Sequence[int], element: str, space: str, layout: str) -> Tile:
        """A tile's type, or an error."""
        if element not in ELEMENT_BYTES:
            raise self.error(f"element type is '{element}', expected {', '.join(ELEMENT_BYTES)}")
        if space not in SPACES:
            raise self.error(f"memory is '{space}', expected {', '.join(SPACES)}")
        if len(shape) < 2 or any(dim < 1 for dim in shape):
            raise self.error(f"shape is {tuple(shape)}, expected 2 or more dimensions, none empty")
        return Tile(tuple(shape), element, space, layout or LAYOUTS.get(space, "nd"))

    def dim(self, origin: Index, length: Index) -> Dim:
        """A Dim outside of loops: where it begins, and how much of it is valid."""
        return Dim(self, origin, length)

    # Arguments and memory

    def input(self, name: str, shape: Sequence[int], element: str, layout: str = "") -> Global:
        """A tile in GM that the kernel reads."""
        return self._argument(self.inputs, name, shape, element, layout)

    def output(self, name: str, shape: Sequence[int], element: str) -> Global:
        """A tile in GM that the kernel writes, each element once."""
        return self._argument(self.outputs, name, shape, element, "")

    def _argument(
        self, group: list[Global], name: str, shape: Sequence[int], element: str, layout: str
    ) -> Global:
        if any(name == other.name for other in (*self.inputs, *self.outputs)):
            raise self.error(f"argument '{name}' is there already, expected another name")
        if group is self.inputs and self.outputs:
            raise self.error(f"input '{name}' comes after an output, expected all inputs first")
        tile = self.tile_type(shape, element, "gm", layout)
        value = self.top.insert_arg(tile.type, len(self.top.args))
        value.name_hint = name
        group.append(Global(self, value, name))
        return group[-1]

    def alloc(
        self,
        shape: Sequence[int],
        element: str,
        space: str,
        *,
        buffers: int = 1,
        layout: str = "",
        name: str = "t",
        address: int | None = None,
    ) -> Buffer:
        """A tile in a memory of the core: `l1`, `l0a`, `l0b`, `l0c`, `ub`, `bt` or `fb`.

        With `buffers` 2 the iterations of the loop around take two in turn, so that a copy runs
        while the other is used. The layout is that of arch 2201 when none is given.
        """
        tile = self.tile_type(shape, element, space, layout)
        op = self.add(AllocOp.make(TileType(tile), buffers, address))
        op.results[0].name_hint = name
        return Buffer(self, op.results[0], name)

    def new_tile(self, shape: Sequence[int], element: str) -> Buffer:
        """A tile in UB."""
        return self.alloc(shape, element, "ub")

    def channel(
        self, shape: Sequence[int], element: str, depth: int = 2, name: str = "c"
    ) -> Channel:
        """Tiles that cube and vector cores of a mixed kernel hand over, `depth` at a time."""
        if self.core != "mix" or self.block is not self.top:
            raise self.error("a channel is not at the top of a mix kernel, expected it there")
        if self.flags + 2 * depth > CROSS_FLAGS:
            raise self.error(
                f"channels take {self.flags + 2 * depth} flags between cores, expected at most "
                f"{CROSS_FLAGS}: 2 per buffer"
            )
        op = self.add(WorkspaceOp.make(self.tile_type(shape, element, "gm", ""), depth))
        op.results[0].name_hint = name
        found = Channel(self, op.results[0], name, depth, self.flags, self.flags + depth)
        self.flags += 2 * depth
        self.channels.append(found)
        return found

    # Control

    @contextmanager
    def tiles(
        self,
        extent: Index | Dim | Sequence[Index],
        step: int | Sequence[int],
        *,
        over: str = "",
        start: Index | Sequence[Index] = 0,
        strips: int = 0,
    ) -> Generator[Any]:
        """A loop over tiles: a `Dim` for one extent, a tuple of them for several.

        The last dimension runs fastest. `over="cores"` deals the tiles to the cores, `"subcores"`
        to the two vector cores of an AI core. `start` is where the first tile begins. A Dim as
        extent stands for its length.
        """
        loop = self._loop(extent, step, over, start, strips)
        dims = tuple(Dim(self, loop.origin(k), loop.length(k)) for k in range(len(loop.steps)))
        outer, self.block = self.block, loop.body
        try:
            yield dims[0] if isinstance(step, int) else dims
        finally:
            self.block = outer

    def _loop(
        self,
        extent: Index | Dim | Sequence[Index],
        step: int | Sequence[int],
        over: str,
        start: Index | Sequence[Index],
        strips: int,
    ) -> ForOp:
        """The op of a loop, verified."""
        steps = [step] if isinstance(step, int) else list(step)
        extents = [_length(e) for e in _listed(extent, len(steps))]
        starts = _listed(start, len(steps))
        if over not in ("", "cores", "subcores"):
            raise self.error(f"a loop goes over '{over}', expected cores or subcores")
        if len(extents) != len(steps) or len(starts) != len(steps):
            raise self.error(
                f"a loop has {len(extents)} extents and {len(steps)} steps, expected as many"
            )
        names = [f"i{k}" for k in range(len(steps))]
        loop = ForOp.make(
            extents,
            steps,
            names,
            over == "cores",
            strips,
            bases=starts,
            over_subcores=over == "subcores",
        )
        self.add(loop)
        self._verify_loop(loop)
        return loop

    def _verify_loop(self, loop: ForOp) -> None:
        try:
            loop.verify_()
        except VerifyException as error:
            loop.detach()
            raise self.error(f"{loop.name} {error}") from error

    @contextmanager
    def cube(self) -> Generator[None]:
        """What the cube cores of a mixed kernel do."""
        with self._section("cube"):
            yield

    @contextmanager
    def vector(self) -> Generator[None]:
        """What the vector cores of a mixed kernel do."""
        with self._section("vector"):
            yield

    @contextmanager
    def _section(self, kind: str) -> Generator[None]:
        if self.core != "mix" or self.block is not self.top:
            raise self.error(f"k.{kind}() is not at the top of a mix kernel, expected it there")
        body = Block()
        self.add(SectionOp.make(kind, body))
        self.block, self.section = body, kind
        try:
            yield
        finally:
            self.block, self.section = self.top, ""

    def sync_all(self, cores: str = "all") -> None:
        """Wait until all cores (of a kind) have come here."""
        self.add(SyncAllOp.make(cores))

    # Channels

    def enter_channel(self, channel: Channel, produces: bool) -> tuple[Global, Callable[[], None]]:
        """The next buffer of a channel, and what to do when it has been used."""
        side = channel.producer if produces else channel.consumer
        other = channel.consumer if produces else channel.producer
        if not self.section:
            raise self.error(
                f"channel '{channel.name}' is used outside a section, expected it in one"
            )
        if side not in ("", self.section) or other == self.section:
            what = "written" if produces else "read"
            raise self.error(
                f"channel '{channel.name}' is {what} by the {self.section} cores, expected one "
                "side to write and the other to read"
            )
        if produces:
            channel.producer = self.section
        else:
            channel.consumer = self.section
        pipe = PRODUCER_PIPES[self.section] if produces else "MTE2"
        take = self.add(TakeOp.make(channel.workspace))
        take.results[0].name_hint = channel.name
        waits, sets = (channel.free, channel.filled) if produces else (channel.filled, channel.free)
        self.add(CrossWaitOp.make(pipe, waits, channel.depth))
        tile = Global(self, take.results[0], channel.name)
        return tile, lambda: self._leave_channel(pipe, sets, channel.depth)

    def _leave_channel(self, pipe: str, first: int, depth: int) -> None:
        self.add(CrossSetOp.make(pipe, first, depth))

    def _finish_channels(self, kernel: KernelOp) -> None:
        """All buffers are free at first, and waited for at the end."""
        for channel in self.channels:
            if not channel.producer or not channel.consumer:
                how = "read" if channel.producer else "written"
                raise self.error(f"channel '{channel.name}' is not {how}, expected both")
            for section in kernel.sections:
                for k in range(channel.depth):
                    if section.core == channel.consumer:
                        self._first(section.body, CrossSetOp.make("MTE2", channel.free + k), k)
                    else:
                        pipe = PRODUCER_PIPES[section.core]
                        section.body.add_op(CrossWaitOp.make(pipe, channel.free + k))

    def _first(self, block: Block, op: Operation, place: int) -> None:
        before = list(block.ops)
        if place < len(before):
            block.insert_op_before(op, before[place])
        else:
            block.add_op(op)

    # Moves

    def load(
        self, source: Window, into: Buffer | None = None, *, buffers: int = 1, name: str = "t"
    ) -> Buffer:
        """Copy a window of GM to UB, or to L1 when `into` is there.

        Without `into` a tile in UB as large as the window may be is allocated.
        """
        if not isinstance(source.tile, Global):
            raise self.error(f"'{source.tile.name}' is not in gm, expected a window of gm")
        if into is None:
            shape = self.largest(source.sizes)
            into = self.alloc(shape, source.tile.type.element, "ub", buffers=buffers, name=name)
        cls = CopyGmL1Op if into.type.space == "l1" else CopyGmUbOp
        self._windowed(cls, source, into)
        return self.wrote(into, source.sizes)

    def store(self, source: Buffer, to: Window, *, atomic: str = "") -> None:
        """Copy a tile in UB to a window of GM; `atomic` is `add`, `max` or `min`."""
        self._into(CopyUbGmOp, source, to, None, atomic=atomic or None)

    def load_l0(self, source: Window | Buffer, into: Buffer, *, transpose: bool = False) -> Buffer:
        """Copy from L1 to L0A or L0B by whole blocks, turned when `transpose` is given."""
        part = source if isinstance(source, Window) else _whole(source)
        rows, cols = part.sizes
        sizes = (cols, rows) if transpose else (rows, cols)
        cls = LoadL0aOp if into.type.space == "l0a" else LoadL0bOp
        self._windowed(cls, part, into, sizes, transpose=transpose)
        return self.wrote(into, sizes)

    def load_bias(self, source: Window | Buffer, into: Buffer) -> Buffer:
        """Copy a row from L1 to the bias table."""
        part = source if isinstance(source, Window) else _whole(source)
        self._windowed(LoadBiasOp, part, into)
        return self.wrote(into, part.sizes)

    def load_table(self, source: Window) -> Buffer:
        """Copy a row of GM to the fixpipe's buffer, through L1: scales or slopes per column."""
        shape = self.largest(source.sizes)
        row = self.load(source, self.alloc(shape, "f32", "l1", layout="nd"))
        into = self.alloc(shape, "f32", "fb")
        self._windowed(LoadQuantOp, _whole(row), into)
        return self.wrote(into, row.sizes)

    def element(self, source: Window) -> Dim:
        """An integer of a tile as where something begins, one long."""
        read = ScalarLoadOp.build(source.tile.value, offsets=source.offsets, sizes=source.sizes)
        op = self.add(
            ScalarLoadOp.create(
                operands=list(read.operands), properties=read.properties, result_types=[INDEX]
            )
        )
        return self.dim(op.results[0], 1)

    def drain(
        self, source: Buffer, to: Window, *, sizes: Sizes | None = None, **options: Any
    ) -> None:
        """Copy a tile of L0C through the fixpipe: `relu=True`, `quant`, `scale`, `atomic`."""
        self._into(FixpipeOp, source, to, sizes=sizes, **options)

    def _windowed(
        self,
        cls: type[Instruction],
        source: Window,
        into: Buffer,
        sizes: Sizes | None = None,
        **options: Any,
    ) -> None:
        tiles = (source.tile.value, into.value)
        found = sizes or source.sizes
        self.add(cls.build(*tiles, offsets=source.offsets, sizes=found, **options))

    def _into(
        self,
        cls: type[Instruction],
        source: Buffer,
        to: Window,
        sizes: Sizes | None = None,
        **options: Any,
    ) -> None:
        tiles = (source.value, to.tile.value)
        found = sizes or source.sizes
        self.add(cls.build(*tiles, offsets=to.offsets, sizes=found, **options))
        if isinstance(to.tile, Buffer):
            self.wrote(to.tile, found)

    # The cube unit

    def mmad(
        self,
        a: Buffer,
        b: Buffer,
        c: Buffer,
        *,
        first: Dim | Sequence[Dim] | None = None,
        bias: Buffer | None = None,
        accumulate: bool = False,
        hf32: bool = False,
    ) -> Buffer:
        """c = a b, or c += a b where a loop that `first` names is not at its first tile.

        A loop's Dim that starts at 0 is meant. With `bias` the sum starts from that row, with
        `accumulate` always from c.
        """
        m, k = a.sizes
        n = b.sizes[1]
        dims = [first] if isinstance(first, Dim) else list(first or ())
        at = [dim.origin for dim in dims if not isinstance(dim.origin, int)]
        init = "bias" if bias is not None else "acc" if accumulate else None
        tiles = [a.value, b.value, *([bias.value] if bias is not None else []), c.value]
        self.add(MmadOp.build(*tiles, sizes=(m, n, k), at=at, init=init, hf32=hf32))
        return self.wrote(c, (m, n))

    # The result

    def build(self, chip: str | Target = "Ascend910B1") -> KernelProgram:
        """Insert the flags between pipes, verify, check against the target: a runnable kernel.

        Raises CompileError for what does not fit the target and for accesses that no flag orders.
        """
        if self.made is not None:
            return self.made
        hardware = target(chip) if isinstance(chip, str) else chip
        if not self.outputs:
            raise self.error("writes no output, expected one")
        kernel = KernelOp.make(self.name, self.core, self.blocks, len(self.outputs), self.top)
        kernel.source = caller()
        self._finish_channels(kernel)
        module = ModuleOp([kernel, self._main()])
        verify(module)
        place_buffers(module, hardware)
        insert_sync(module)
        check_kernel(kernel, hardware)
        self.made = KernelProgram(
            module,
            hardware,
            [x.name for x in self.inputs],
            [y.name for y in self.outputs],
        )
        return self.made

    def _main(self) -> FuncOp:
        """A function that launches the kernel on tensors of the shapes of its arguments."""

        def tensor(tile: Tile) -> Any:
            return Tensor(DATA_TYPES[tile.element], tile.storage).type

        block = Block(arg_types=[tensor(x.type) for x in self.inputs])
        for value, x in zip(block.args, self.inputs, strict=True):
            value.name_hint = x.name
        results = [tensor(y.type) for y in self.outputs]
        launch = LaunchOp.make(self.name, block.args, results, [self.name])
        for value, y in zip(launch.results, self.outputs, strict=True):
            value.name_hint = y.name
        block.add_ops([launch, ReturnOp(*launch.results)])
        types = ([value.type for value in block.args], results)
        func = FuncOp("main", types, Region(block))
        set_string_list(func, INPUT_NAMES, [x.name for x in self.inputs])
        set_string_list(func, OUTPUT_NAMES, [y.name for y in self.outputs])
        return func


def caller() -> Location | None:
    """The line of Python outside this package that is being run."""
    frame = inspect.currentframe()
    while frame is not None:
        name = frame.f_code.co_filename
        if not name.startswith(HERE) and not name.endswith("contextlib.py"):
            return Location(name, frame.f_lineno, 1)
        frame = frame.f_back
    return None


def _listed(value: Any, count: int) -> list[Any]:
    if isinstance(value, list | tuple):
        return [*value]
    return [value] * count if value == 0 else [value]


def _length(extent: Index | Dim) -> Index:
    return extent.length if isinstance(extent, Dim) else extent


def _whole(buffer: Buffer) -> Window:
    return Window(buffer, (0, 0), buffer.sizes)
