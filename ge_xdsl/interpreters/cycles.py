"""How long a kernel takes: an event simulation of the most loaded core, joined with HBM time.

Every pipe runs its instructions in program order and the pipes run side by side. An instruction
starts when its pipe is free, what it reads is complete, and the buffer it writes is no longer in
use. A flag is set when all that its pipe was given before is complete, and holds the waiting pipe
until then; each set and each wait takes a cycle of its pipe. In a kernel without flags the order
comes from the buffers alone. Loop iterations that repeat a state of the pipes are not simulated
again.

HBM is shared by all cores: bytes that miss L2 and written bytes that L2 does not absorb take
their time at the HBM bandwidth, and (core^p + hbm^p)^(1/p) joins it with the core's. Every kernel
is taken to start with none of its operands in L2.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby

from xdsl.ir import Block, SSAValue

from ge_xdsl.dialects.aicore.op import Index, Instruction
from ge_xdsl.dialects.aicore.structure import AllocOp, ForOp, KernelOp, tile_order
from ge_xdsl.dialects.aicore.sync import ALL, Flag, PipeBarrierOp, SetFlagOp, WaitFlagOp
from ge_xdsl.interpreters.timing import PIPES, KernelTiming
from ge_xdsl.interpreters.traffic import Traffic, traffic_of
from ge_xdsl.targets import Target
from ge_xdsl.targets.cost import Cost, cost

TOLERANCE = 1e-6
"""Two states of the pipes are the same when no time differs by more, in cycles."""
BUSY_BOUND = 0.7
"""A pipe that is busy for this share of the time is what the kernel is bound by."""

FLAG_CYCLES = 1.0
"""Cycles of a pipe that a set, a wait or a barrier takes."""

Lengths = tuple[int, ...]


@dataclass(slots=True)
class Slot:
    """One buffer: when its last write can be read and when its last read has ended."""

    written: float = 0.0
    read: float = 0.0


@dataclass(slots=True)
class Slots:
    """The buffers of an alloc in turn."""

    slots: list[Slot]
    current: int = 0

    def take(self) -> None:
        self.current = (self.current + 1) % len(self.slots)

    def slot(self) -> Slot:
        return self.slots[self.current]

    def in_turn(self) -> list[Slot]:
        """All buffers, the current one first."""
        return self.slots[self.current :] + self.slots[: self.current]


@dataclass
class CoreSimulation:
    """The pipes and buffers of one core, and the cycle in which each is free."""

    target: Target
    core: int
    blocks: int
    cold: Mapping[SSAValue, float]
    """GM tile -> share of its bytes that are not in L2."""
    free: dict[str, float] = field(default_factory=lambda: dict.fromkeys(PIPES, 0.0))
    busy: dict[str, float] = field(default_factory=lambda: dict.fromkeys(PIPES, 0.0))
    rings: dict[SSAValue, Slots] = field(default_factory=dict[SSAValue, Slots])
    lengths: dict[SSAValue, int] = field(default_factory=dict[SSAValue, int])
    costs: dict[tuple[Instruction, Lengths], Cost] = field(
        default_factory=dict[tuple[Instruction, Lengths], Cost]
    )
    done: dict[str, float] = field(default_factory=lambda: dict.fromkeys(PIPES, 0.0))
    """When all that a pipe was given so far is complete."""
    flags: dict[tuple[str, str, int], float] = field(
        default_factory=dict[tuple[str, str, int], float]
    )
    """When each flag is set."""
    turns: dict[Flag, int] = field(default_factory=dict[Flag, int])
    end: float = 0.0
    """When everything so far is complete."""
    simulated: int = 0
    """Instructions that were really simulated."""

    def block(self, block: Block) -> None:
        """Run the ops of a block in program order."""
        for op in block.ops:
            if isinstance(op, AllocOp):
                ring = self.rings.get(op.results[0])
                if ring is None:
                    ring = Slots([Slot() for _ in range(op.buffers)])
                    self.rings[op.results[0]] = ring
                ring.take()
            elif isinstance(op, ForOp):
                self.loop(op)
            elif isinstance(op, Instruction):
                self.issue(op)
            elif isinstance(op, SetFlagOp | WaitFlagOp):
                self.signal(op)
            elif isinstance(op, PipeBarrierOp):
                self.barrier(op.pipe)

    def signal(self, op: SetFlagOp | WaitFlagOp) -> None:
        """Set a flag or wait for it."""
        turn = self.turns.get(op, 0)
        self.turns[op] = turn + 1
        key = (op.src, op.dst, op.first + turn % op.count)
        pipe = op.pipe
        start = self.free[pipe]
        if isinstance(op, WaitFlagOp):
            start = max(start, self.flags.get(key, 0.0))
        self.free[pipe] = start + FLAG_CYCLES
        self.busy[pipe] += FLAG_CYCLES
        if isinstance(op, SetFlagOp):
            self.flags[key] = max(self.free[pipe], self.done[pipe])
        self.end = max(self.end, self.free[pipe])

    def barrier(self, pipe: str) -> None:
        """Hold a pipe until it has completed what it was given, or all pipes for all."""
        if pipe != ALL:
            self.free[pipe] = max(self.free[pipe], self.done[pipe]) + FLAG_CYCLES
            self.busy[pipe] += FLAG_CYCLES
            return
        last = max(*self.free.values(), *self.done.values()) + FLAG_CYCLES
        self.free = dict.fromkeys(PIPES, last)
        self.end = max(self.end, last)

    def number(self, value: Index) -> int:
        return value if isinstance(value, int) else self.lengths[value]

    def cost(self, op: Instruction) -> Cost:
        """The cycles of an instruction for its current valid sizes."""
        sizes = tuple(self.number(v) for v in op.sizes)
        found = self.costs.get((op, sizes))
        if found is None:
            share = self.cold.get(op.tile(op.window), 0.0) if op.window else 0.0
            found = self.costs[op, sizes] = cost(op.work(sizes), self.target, share)
        return found

    def issue(self, op: Instruction) -> None:
        """Put an instruction on its pipe."""
        amount = self.cost(op)
        start = self.free[op.pipe]
        reads = [self.rings[v].slot() for v in op.read() if v in self.rings]
        for slot in reads:
            start = max(start, slot.written)
        target = self.rings.get(op.written)
        if target is not None:
            start = max(start, target.slot().read, target.slot().written)
        stop = start + amount.busy
        self.free[op.pipe] = stop
        self.busy[op.pipe] += amount.busy
        for slot in reads:
            slot.read = max(slot.read, stop)
        if target is not None:
            target.slot().written = stop + amount.latency
        self.done[op.pipe] = max(self.done[op.pipe], stop + amount.latency)
        self.end = max(self.end, stop + amount.latency)
        self.simulated += 1

    def loop(self, op: ForOp) -> None:
        """Run a loop; equal iterations in a row are cut short once they repeat a state."""
        for lengths, group in groupby(self.iterations(op)):
            count = sum(1 for _ in group)
            for i, length in enumerate(lengths):
                self.lengths[op.length(i)] = length
            self.repeat(op, count)

    def iterations(self, op: ForOp) -> list[Lengths]:
        """The valid lengths of each iteration of this core."""
        extents = [self.number(v) for v in op.extents]
        if op.over_cores:
            every = iteration_lengths(extents, op.steps, op.strip)
            return every[self.core :: self.blocks]
        return iteration_lengths(extents, op.steps)

    def repeat(self, op: ForOp, count: int) -> None:
        """Run `count` equal iterations."""
        last: Snapshot | None = None
        for done in range(1, count + 1):
            before = dict(self.busy)
            self.block(op.body)
            if done == count:
                return
            now = self.snapshot(before)
            if last is not None and now.repeats(last):
                self.skip(count - done, now, last)
                return
            last = now

    def snapshot(self, before: Mapping[str, float]) -> Snapshot:
        """The state after an iteration that began with these busy cycles."""
        spent = {p: self.busy[p] - before[p] for p in PIPES if self.busy[p] != before[p]}
        times = [self.free[p] for p in spent]
        for ring in self.rings.values():
            for slot in ring.in_turn():
                times += (slot.written, slot.read)
        times += self.done.values()
        times += (self.flags.get(key, 0.0) for key in self.flags_in_turn())
        base = min(times[: len(spent)], default=0.0)
        return Snapshot(base, times, spent, dict(self.turns))

    def flags_in_turn(self) -> list[tuple[str, str, int]]:
        """The flags that are waited for in loops, each op's next one first."""
        return [
            (op.src, op.dst, op.first + (turn + k) % op.count)
            for op, turn in self.turns.items()
            if isinstance(op, WaitFlagOp) and isinstance(op.parent_op(), ForOp)
            for k in range(op.count)
        ]

    def skip(self, times: int, now: Snapshot, last: Snapshot) -> None:
        """Take `times` more iterations that move everything as the last one did."""
        shift = times * (now.base - last.base)
        for pipe, spent in now.spent.items():
            self.free[pipe] += shift
            self.busy[pipe] += times * spent
        moved = [a != b for a, b in zip(now.times, last.times, strict=True)]
        i = len(now.spent)
        for ring in self.rings.values():
            for slot in ring.in_turn():
                slot.written += shift if moved[i] else 0.0
                slot.read += shift if moved[i + 1] else 0.0
                i += 2
        for pipe in self.done:
            self.done[pipe] += shift if moved[i] else 0.0
            i += 1
        set_times = [self.flags.get(key, 0.0) for key in self.flags_in_turn()]
        for op, turn in now.turns.items():
            self.turns[op] += times * (turn - last.turns.get(op, 0))
        # the flag that comes next may have another id now
        for k, key in enumerate(self.flags_in_turn()):
            self.flags[key] = set_times[k] + (shift if moved[i + k] else 0.0)
        self.end += shift


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Everything that decides the next iterations, after one of a loop."""

    base: float
    """When the first of the loop's pipes is free."""
    times: list[float]
    """When the loop's pipes are free, and the times of all buffers, each ring's next one first."""
    spent: dict[str, float]
    """Pipe -> busy cycles of the last iteration."""
    turns: dict[Flag, int]
    """How often each flag op has run."""

    def repeats(self, last: Snapshot) -> bool:
        """Whether everything has moved by one step since `last`, or lies still in the past."""
        if self.spent.keys() != last.spent.keys() or len(self.times) != len(last.times):
            return False
        step = self.base - last.base
        return all(
            abs(a - b - step) <= TOLERANCE or (a == b and a <= self.base)
            for a, b in zip(self.times, last.times, strict=True)
        )


def iteration_lengths(
    extents: Sequence[int], steps: Sequence[int], strip: int = 0
) -> list[Lengths]:
    """The valid lengths of every iteration of a loop nest, in its order."""
    dims = [
        [min(step, extent - origin) for origin in range(0, extent, step)]
        for extent, step in zip(extents, steps, strict=True)
    ]
    order = tile_order([len(dim) for dim in dims], strip)
    return [tuple(dim[i] for dim, i in zip(dims, tile, strict=True)) for tile in order]


def busiest_core(kernel: KernelOp) -> int:
    """The core with the most elements to do in the loops over cores, the first of equals."""
    load = [0] * kernel.blocks
    for op in kernel.body.ops:
        if isinstance(op, ForOp) and op.over_cores:
            extents = [e for e in op.extents if isinstance(e, int)]
            for i, lengths in enumerate(iteration_lengths(extents, op.steps, op.strip)):
                count = 1
                for length in lengths:
                    count *= length
                load[i % kernel.blocks] += count
    return load.index(max(load))


def time_kernel(kernel: KernelOp, target: Target) -> KernelTiming:
    """The predicted time of one launch of a kernel on a target; `ops` is left empty."""
    traffic = traffic_of(kernel, target)
    core = CoreSimulation(target, busiest_core(kernel), kernel.blocks, traffic.cold)
    core.block(kernel.body)
    hbm = traffic.seconds * target.clock_hz
    power = target.join_power
    top = max(core.end, hbm, 1.0)
    cycles = top * ((core.end / top) ** power + (hbm / top) ** power) ** (1 / power)
    us = target.launch_us + cycles / target.clock_mhz
    return KernelTiming(
        name=kernel.sym_name,
        ops=(),
        core=kernel.core,
        blocks=kernel.blocks,
        cycles=cycles,
        us=us,
        launch_us=target.launch_us,
        busy={pipe: value for pipe, value in core.busy.items() if value},
        hbm_bytes=traffic.hbm_bytes,
        bound=bound_of(core, traffic, cycles, target),
    )


def bound_of(core: CoreSimulation, traffic: Traffic, cycles: float, target: Target) -> str:
    """What most of the time is spent on: `launch`, `HBM`, a pipe, or `latency`."""
    if cycles / target.clock_mhz < target.launch_us:
        return "launch"
    if traffic.seconds * target.clock_hz >= core.end:
        return "HBM"
    pipe = max(PIPES, key=lambda p: core.busy[p])
    return pipe if core.busy[pipe] >= BUSY_BOUND * core.end else "latency"
