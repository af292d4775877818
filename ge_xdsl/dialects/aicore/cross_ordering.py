"""Whether flags between cores order what a mixed kernel does to its workspaces.

One AI core is run, its cube core and its two vector cores side by side: loops over cores for as
many iterations as bring every workspace round, the others whole. Each pipe of each core has a
vector clock; flags inside a core and between cores carry them. Two accesses of one buffer of a
workspace whose windows overlap, one of them a write, must be ordered by what the later one knows.
That no core waits for ever, that every flag is waited for and none is set more than 15 times before
is seen on the way.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass, field

from xdsl.ir import Block, Operation, SSAValue

from ge_xdsl.dialects.aicore.cross import (
    CROSS_COUNT,
    AffineOp,
    BlockIdxOp,
    BoundOp,
    CrossFlag,
    CrossSetOp,
    SubBlockIdxOp,
    SyncAllOp,
    TakeOp,
    WorkspaceOp,
)
from ge_xdsl.dialects.aicore.op import Index, Instruction
from ge_xdsl.dialects.aicore.structure import ForOp, KernelOp, tile_order
from ge_xdsl.dialects.aicore.sync import ALL, Flag, PipeBarrierOp, SetFlagOp
from ge_xdsl.dialects.aicore.types import PIPES, SUB_CORES, tile_of
from ge_xdsl.errors import CompileError

Place = tuple[str, str]
"""A core of the AI core and one of its pipes."""
Clock = dict[Place, int]
Window = tuple[tuple[int, int], ...]
"""First and end of each dimension."""
Condition = Callable[[], bool]

CUBE = "the cube core"
VECTORS = tuple(f"vector core {sub}" for sub in range(SUB_CORES))


@dataclass(frozen=True, slots=True)
class _Access:
    """What an instruction did to a window of a buffer, and when."""

    place: Place
    time: int
    window: Window
    op: Instruction


@dataclass
class _Buffer:
    """One buffer of a workspace: the last access of each kind."""

    name: str
    seen: dict[tuple[Place, bool, Window], _Access] = field(
        default_factory=dict[tuple[Place, bool, Window], _Access]
    )


def check_cross_order(kernel: KernelOp) -> None:
    """Raise CompileError for the first two accesses that are not ordered, or a wrong flag.

    X1: overlapping accesses of a workspace, one of them a write, are ordered. X2: no core waits
    for ever. X3: every flag that is set is waited for. X4: a flag is set at most 15 times before.
    """
    _Proof(kernel).run()


class _Proof:
    """The clocks, buffers and flags between cores of one AI core."""

    def __init__(self, kernel: KernelOp) -> None:
        self.kernel = kernel
        units = (CUBE, *VECTORS)
        self.clocks: dict[Place, Clock] = {(unit, pipe): {} for unit in units for pipe in PIPES}
        self.queues: dict[tuple[str, str, int, int], list[Clock]] = {}
        """(who set, who waits, mode, id) -> what each set knew."""
        self.meetings: dict[tuple[str, int], dict[str, Clock]] = {}
        """(which cores, how often) -> what each core that has come knew."""
        self.buffers: dict[SSAValue, list[_Buffer]] = {}
        for op in kernel.body.ops:
            if isinstance(op, WorkspaceOp):
                name = op.results[0].name_hint or "workspace"
                self.buffers[op.results[0]] = [_Buffer(name) for _ in range(op.buffers)]
        most = max((len(found) for found in self.buffers.values()), default=1)
        self.rounds = most + 1

    def fail(self, text: str, op: Instruction | CrossFlag | None = None) -> None:
        """Raise."""
        subject = f"aicore.kernel @{self.kernel.sym_name}"
        where = self.kernel.source if op is None or op.source is None else op.source
        raise CompileError(text, subject=subject, location=where)

    def run(self) -> None:
        """Run the cores in turn until all have ended."""
        programs: dict[str, Generator[Condition]] = {}
        for section in self.kernel.sections:
            for unit in (CUBE,) if section.core == "cube" else VECTORS:
                programs[unit] = _Core(self, unit).block(section.body)
        waiting: dict[str, Condition] = {unit: lambda: True for unit in programs}
        while waiting:
            moved = False
            for unit in list(waiting):
                while unit in waiting and waiting[unit]():
                    moved = True
                    try:
                        waiting[unit] = next(programs[unit])
                    except StopIteration:
                        del waiting[unit]
            if not moved:
                self.fail(f"{' and '.join(waiting)} wait for flags that no core sets")
        for (src, dst, _, number), queue in self.queues.items():
            if queue:
                self.fail(f"flag {number} from {src} to {dst} is set but not waited for")


class _Core:
    """One core: its indices, turns and flags."""

    def __init__(self, proof: _Proof, unit: str) -> None:
        self.proof = proof
        self.unit = unit
        self.values: dict[SSAValue, int] = {}
        self.turns: dict[Operation | SSAValue | tuple[str, int, int, int], int] = {}
        self.taken: dict[SSAValue, _Buffer] = {}
        self.flags: dict[tuple[str, str, int], Clock] = {}

    # Control

    def block(self, block: Block) -> Generator[Condition]:
        """Run a block; gives what it waits for."""
        for op in block.ops:
            if isinstance(op, ForOp):
                yield from self.loop(op)
            elif isinstance(op, CrossSetOp):
                self.cross_set(op)
            elif isinstance(op, CrossFlag):
                yield from self.cross_wait(op)
            elif isinstance(op, SyncAllOp):
                yield from self.meet(op)
            else:
                self.step(op)

    def step(self, op: Operation) -> None:
        """An op that waits for no other core."""
        if isinstance(op, Instruction):
            self.access(op)
        elif isinstance(op, TakeOp):
            buffers = self.proof.buffers[op.operands[0]]
            self.taken[op.results[0]] = buffers[self.turn(op.operands[0]) % len(buffers)]
        elif isinstance(op, Flag):
            self.flag(op)
        elif isinstance(op, PipeBarrierOp) and op.pipe == ALL:
            every: Clock = {}
            for pipe in PIPES:
                _join(every, self.clock(pipe))
            for pipe in PIPES:
                _join(self.clock(pipe), every)
        elif isinstance(op, AffineOp):
            pairs = zip(op.factors, op.operands, strict=True)
            known = [(factor, self.values.get(value)) for factor, value in pairs]
            if all(value is not None for _, value in known):
                total = sum(factor * (value or 0) for factor, value in known)
                self.values[op.results[0]] = op.constant + total
        elif isinstance(op, BoundOp):
            if (value := self.values.get(op.operands[0])) is not None:
                self.values[op.results[0]] = op.of(value)
        elif isinstance(op, BlockIdxOp):
            self.values[op.results[0]] = 0
        elif isinstance(op, SubBlockIdxOp):
            self.values[op.results[0]] = VECTORS.index(self.unit)

    def cross_id(self, op: CrossFlag) -> int:
        """The flag that an op between cores speaks of this time."""
        return op.first + self.turn((op.name, op.first, op.count, op.mode)) % op.count

    def turn(self, op: Operation | SSAValue | tuple[str, int, int, int]) -> int:
        """How often the op, or what it stands for, came before."""
        found = self.turns.get(op, 0)
        self.turns[op] = found + 1
        return found

    def loop(self, op: ForOp) -> Generator[Condition]:
        """The iterations of this core."""
        known = [self.number(value) for value in op.extents]
        extents = [1 if value is None else value for value in known]
        bases = [self.number(value) or 0 for value in op.bases]
        counts = [-(-extent // step) for extent, step in zip(extents, op.steps, strict=True)]
        tiles = list(tile_order(counts, op.strip))
        if op.over_cores:
            tiles = tiles[:: self.proof.kernel.blocks][: self.proof.rounds]
        if op.over_subcores:
            tiles = tiles[VECTORS.index(self.unit) :: SUB_CORES]
        for tile in tiles:
            for i, place in enumerate(tile):
                start = place * op.steps[i]
                self.values[op.origin(i)] = bases[i] + start
                self.values[op.length(i)] = min(op.steps[i], extents[i] - start)
            yield from self.block(op.body)

    def number(self, value: Index) -> int | None:
        return value if isinstance(value, int) else self.values.get(value)

    # Clocks

    def clock(self, pipe: str) -> Clock:
        return self.proof.clocks[self.unit, pipe]

    def tick(self, pipe: str) -> int:
        """Give a pipe one more instruction."""
        clock = self.clock(pipe)
        clock[self.unit, pipe] = clock.get((self.unit, pipe), 0) + 1
        return clock[self.unit, pipe]

    def flag(self, op: Flag) -> None:
        """A flag between pipes of this core; `ordering` tells whether they come in pairs."""
        key = (op.src, op.dst, op.first + self.turn(op) % op.count)
        if isinstance(op, SetFlagOp):
            self.flags[key] = dict(self.clock(op.src))
        else:
            _join(self.clock(op.dst), self.flags.pop(key, {}))

    def access(self, op: Instruction) -> None:
        """Hold a window of a workspace against what was done to it before."""
        time = self.tick(op.pipe)
        if not op.window:
            return
        buffer = self.taken.get(op.tile(op.window))
        if buffer is None:
            return
        place, window = (self.unit, op.pipe), self.window(op)
        writes = op.written is op.tile(op.window)
        clock = self.clock(op.pipe)
        for (other, wrote, _), earlier in buffer.seen.items():
            known = other == place or clock.get(other, 0) >= earlier.time
            if not known and (writes or wrote) and _overlap(window, earlier.window):
                self.unordered(op, writes, buffer, earlier, wrote)
        buffer.seen[place, writes, window] = _Access(place, time, window, op)

    def unordered(
        self, op: Instruction, writes: bool, buffer: _Buffer, earlier: _Access, wrote: bool
    ) -> None:
        """Two accesses that no flag orders."""
        now, before = ("writes" if flag else "reads" for flag in (writes, wrote))
        where = f"{earlier.op.name} on {earlier.place[1]} of {earlier.place[0]}"
        how = "a flag" if earlier.place[0] == self.unit else "a flag between cores"
        self.proof.fail(
            f"{op.name} on {op.pipe} of {self.unit} {now} workspace '{buffer.name}' while {where} "
            f"may still be at it ({before}), expected {how} to order them",
            op,
        )

    def window(self, op: Instruction) -> Window:
        """The part of the workspace that an instruction uses; all of it where that is not known."""
        shape = tile_of(op.tile(op.window)).shape
        sizes: list[Index] = [*(1 for _ in shape[2:]), *op.sizes[:2]]
        found: list[tuple[int, int]] = []
        for offset, size, dim in zip(op.offsets, sizes, shape, strict=True):
            first, count = self.number(offset), self.number(size)
            known = first is not None and count is not None
            found.append((first or 0, (first or 0) + (count or 0)) if known else (0, dim))
        return tuple(found)

    # Flags between cores

    def partners(self, mode: int) -> tuple[str, ...]:
        """The cores that a flag of a mode is for."""
        if mode == 2:
            return VECTORS if self.unit == CUBE else (CUBE,)
        return (CUBE,) if self.unit == CUBE else VECTORS

    def cross_set(self, op: CrossSetOp) -> None:
        number = self.cross_id(op)
        self.tick(op.pipe)
        for other in self.partners(op.mode):
            queue = self.proof.queues.setdefault((self.unit, other, op.mode, number), [])
            queue.append(dict(self.clock(op.pipe)))
            if len(queue) > CROSS_COUNT:
                self.proof.fail(
                    f"flag {number} from {self.unit} to {other} is set {len(queue)} times before "
                    f"it is waited for, expected at most {CROSS_COUNT}",
                    op,
                )

    def cross_wait(self, op: CrossFlag) -> Generator[Condition]:
        number = self.cross_id(op)
        keys = [(other, self.unit, op.mode, number) for other in self.partners(op.mode)]
        queues = self.proof.queues
        yield lambda: all(queues.get(key) for key in keys)
        for key in keys:
            _join(self.clock(op.pipe), queues[key].pop(0))

    def meet(self, op: SyncAllOp) -> Generator[Condition]:
        """Wait until all cores are here; then each pipe knows all."""
        units = (CUBE, *VECTORS) if op.cores == "all" else self.partners(1)
        key = (op.cores, self.turn(op))
        here = self.proof.meetings.setdefault(key, {})
        mine = here.setdefault(self.unit, {})
        for pipe in PIPES:
            _join(mine, self.clock(pipe))
        yield lambda: all(unit in here for unit in units)
        for unit in units:
            for pipe in PIPES:
                _join(self.clock(pipe), here[unit])


def _join(clock: Clock, other: Clock) -> None:
    """Know what another clock knows, too."""
    for place, time in other.items():
        if clock.get(place, 0) < time:
            clock[place] = time


def _overlap(a: Window, b: Window) -> bool:
    return all(x < q and p < y for (x, y), (p, q) in zip(a, b, strict=True))
