"""One core in time: pipes, buffers and flags, instruction by instruction.

Every pipe runs its instructions in program order and the pipes run side by side. In a kernel with
flags, only flags and barriers order the pipes: a flag is set when all that its pipe was given
before is complete, and holds the waiting pipe until then. In a kernel without, an instruction
starts when what it reads is complete and the buffer that it writes is no longer in use.
Iterations of a loop that repeat a state of the pipes are not simulated again.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from ge_xdsl.dialects.aicore.structure import tile_order
from ge_xdsl.dialects.aicore.types import SUB_CORES
from ge_xdsl.interpreters.shares import core_lengths
from ge_xdsl.interpreters.timed import (
    Bound,
    Charge,
    Cross,
    FlagKey,
    Hold,
    Issue,
    Loop,
    Meet,
    Signal,
    Step,
    Take,
    Timed,
)
from ge_xdsl.interpreters.timing import PIPES
from ge_xdsl.targets import Target
from ge_xdsl.targets.cost import Work, conflict_cycles, cost, instructions

TOLERANCE = 1e-6
"""Two states of the pipes are the same when no time differs by more, in cycles."""
FLAG_CYCLES = 1.0
"""Cycles of a pipe that a set, a wait or a barrier takes [PTO]."""
WARM, MEASURED = 12, 8
"""Iterations of a loop with flags between cores that are run, and run and measured, before the
rest is taken to go on at that pace."""
PERIODS = 4
"""Iterations after which a loop may repeat a state: one for every buffer of a ring."""
SHORT = 8
"""Iterations of an innermost loop that are not worth a look at whether they repeat a state."""
CONFLICT = "conflict"
"""Name under which the cycles that bank conflicts take are counted."""
CUBE = PIPES.index("M")
OTHER = {"cube": "vector", "vector": "cube"}


@dataclass(slots=True)
class Event:
    """What a pipe did: an instruction, or `count` iterations of a loop like those before."""

    pipe: int
    name: str
    start: float
    end: float
    args: dict[str, object]


@dataclass(frozen=True, slots=True)
class Mark:
    """Cycles so far: in all, of each pipe, and lost to bank conflicts."""

    end: float = 0.0
    busy: tuple[float, ...] = (0.0,) * len(PIPES)
    conflicts: float = 0.0

    def since(self, last: Mark) -> Mark:
        """The cycles from another mark to this one."""
        busy = tuple(a - b for a, b in zip(self.busy, last.busy, strict=True))
        return Mark(self.end - last.end, busy, self.conflicts - last.conflicts)

    @property
    def idle(self) -> float:
        """The cycles in which the busiest pipe waits."""
        return max(0.0, self.end - max(self.busy))


@dataclass
class Meeting:
    """What the cores of one AI core tell each other: when flags were set."""

    flags: dict[tuple[str, int], deque[float]] = field(
        default_factory=dict[tuple[str, int], "deque[float]"]
    )
    """Who set it and the id -> the times that are not yet waited for."""
    arrived: dict[int, dict[str, float]] = field(default_factory=dict[int, dict[str, float]])
    """Number of a `sync_all` -> when each kind came to it."""
    paces: dict[int, dict[str, float]] = field(default_factory=dict[int, dict[str, float]])
    """Number of a loop that is cut short -> cycles per iteration of each kind of core."""
    spans: dict[int, set[int]] = field(default_factory=dict[int, set[int]])
    """Number of a loop that is cut short -> the iterations that each kind of core leaves out."""
    cuts: bool = True
    """Whether loops in which cores wait for each other are cut short."""

    @property
    def uneven(self) -> bool:
        """Whether cores left out different parts of a loop."""
        return any(len(spans) > 1 for spans in self.spans.values())

    def shift(self, number: int, times: float) -> float:
        """The cycles that `times` iterations take at the slowest pace; moves the flags by it."""
        pace = self.paces[number]
        shift = times * max(pace.values())
        if pace.pop("moved", None) is None:
            for queue in self.flags.values():
                for k, time in enumerate(queue):
                    queue[k] = time + shift
            pace["moved"] = 0.0
        return shift


Turned = int | tuple[bool, int, int, int]
"""The `id` of a flag op, or whether a cross flag is set, its first id, how many, and its mode."""


@dataclass(slots=True)
class Snapshot:
    """Everything that decides the next iterations, after one of a loop."""

    times: list[float]
    """When pipes are free and complete, and buffers and flags, the next of each first."""
    busy: list[float]
    turns: dict[Turned, int]
    """How often each flag op has run."""
    traffic: dict[str, float]

    def repeats(self, last: Snapshot) -> bool:
        """Whether everything has moved by one step since `last`, or lies still in the past."""
        if len(self.times) != len(last.times):
            return False
        base, step = self.base(last), self.step(last)
        return all(
            abs(a - b - step) <= TOLERANCE or (a == b and a <= base)
            for a, b in zip(self.times, last.times, strict=True)
        )

    def base(self, last: Snapshot) -> float:
        """When the first of the pipes that have worked since `last` is free."""
        return self.times[self._first(last)] if self._first(last) >= 0 else 0.0

    def step(self, last: Snapshot) -> float:
        """By how much that has moved since `last`."""
        first = self._first(last)
        return self.times[first] - last.times[first] if first >= 0 else 0.0

    def _first(self, last: Snapshot) -> int:
        """That pipe, -1 when none has worked."""
        worked = [p for p, busy in enumerate(self.busy) if busy != last.busy[p]]
        return min(worked, key=lambda p: self.times[p], default=-1)


def _zeros() -> list[float]:
    return [0.0] * len(PIPES)


@dataclass(eq=False)
class CoreTime:
    """The pipes and buffers of one core, and the cycle in which each is free."""

    timed: Timed
    target: Target
    core: int
    blocks: int
    kind: str = "vector"
    meeting: Meeting = field(default_factory=Meeting)
    phases: Sequence[int] = ()
    """Rounds of each phase."""
    free: list[float] = field(default_factory=_zeros)
    done: list[float] = field(default_factory=_zeros)
    """When all that a pipe was given so far is complete."""
    busy: list[float] = field(default_factory=_zeros)
    last_start: list[float] = field(default_factory=_zeros)
    flags: dict[FlagKey, float] = field(default_factory=dict[FlagKey, float])
    """When each flag is set."""
    turns: dict[Turned, int] = field(default_factory=dict[Turned, int])
    """Flag op -> how often it has run."""
    waits: dict[int, Signal] = field(default_factory=dict[int, Signal])
    """The waits in loops that have run."""
    meetings: int = 0
    cuts: int = 0
    """Loops that were cut short."""
    phase: int = 0
    marks: list[Mark] = field(default_factory=list[Mark])
    """What was when each phase but the last ended."""
    traffic: dict[str, float] = field(default_factory=dict[str, float])
    """Path or unit -> bytes."""
    issued: int = 0
    """Instructions that were really simulated."""
    events: list[Event] | None = None

    def __post_init__(self) -> None:
        """Make the buffers and numbers of the core."""
        rings = self.timed.rings
        self.written = [[0.0] * n for n in rings]
        self.read = [[0.0] * n for n in rings]
        self.current = [0] * len(rings)
        self.numbers = list(self.timed.numbers)
        for place in self.timed.block_places:
            self.numbers[place] = self.core
        self.left = list(self.phases) if len(self.phases) > 1 else []

    @property
    def end(self) -> float:
        """When everything so far is complete."""
        return max(*self.free, *self.done)

    def mark(self) -> Mark:
        """What is now."""
        return Mark(self.end, tuple(self.busy), self.traffic.get(CONFLICT, 0.0))

    @property
    def progress(self) -> int:
        """A number that grows with everything that is done."""
        return self.issued + sum(self.turns.values()) + self.meetings + self.cuts

    def busy_cycles(self) -> dict[str, float]:
        """Pipe -> the cycles that it was busy."""
        return {name: value for name, value in zip(PIPES, self.busy, strict=True) if value}

    def run(self) -> Iterator[None]:
        """Run everything; stops where another core must go on first."""
        return self.block(self.timed.steps)

    def block(self, steps: Sequence[Step]) -> Iterator[None]:
        """Run steps in program order."""
        for step in steps:
            if isinstance(step, Issue):
                self.issue(step)
            elif isinstance(step, Take):
                ring = step.ring
                self.current[ring] = (self.current[ring] + 1) % self.timed.rings[ring]
            elif isinstance(step, Signal):
                self.signal(step)
            elif isinstance(step, Loop):
                yield from self.loop(step)
            elif isinstance(step, Cross):
                yield from self.cross(step)
            elif isinstance(step, Hold):
                self.hold(step.pipe)
            elif isinstance(step, Meet):
                yield from self.meet(step)
            elif isinstance(step, Bound):
                self.numbers[step.place] = step.op.of(self.numbers[step.value])
            else:
                terms = (factor * self.numbers[place] for factor, place in step.terms)
                self.numbers[step.place] = step.constant + sum(terms)

    # Instructions

    def charge(self, step: Issue) -> Charge:
        """What an instruction costs for its current valid sizes."""
        sizes = tuple([self.numbers[place] for place in step.sizes])
        found = step.costs.get((self.phase, sizes))
        if found is None:
            work = step.op.work(sizes)._replace(conflict=step.conflict)
            cold = step.cold[min(self.phase, len(step.cold) - 1)]
            amount = cost(work, self.target, cold, step.sharers)
            each = instructions(work, self.target)
            found = Charge(
                amount.busy, amount.latency, work.bytes, each, counted(work, self.target)
            )
            step.costs[self.phase, sizes] = found
        return found

    def issue(self, step: Issue) -> None:
        """Put an instruction on its pipe."""
        charge = self.charge(step)
        pipe = step.pipe
        start = self.free[pipe]
        if not self.timed.synced:
            start = max(start, self.ready(step))
        if step.overlaps and pipe != CUBE:
            start = max(start, self.last_start[CUBE])
        stop = start + charge.busy
        if step.overlaps:
            stop = max(stop, self.beside(step))
        complete = stop + charge.latency
        self.free[pipe] = stop
        self.busy[pipe] += charge.busy
        self.last_start[pipe] = start
        for ring in step.reads:
            slot = self.current[ring]
            self.read[ring][slot] = max(self.read[ring][slot], stop)
        if step.writes >= 0:
            self.written[step.writes][self.current[step.writes]] = complete
        self.done[pipe] = max(self.done[pipe], complete)
        for name, count in charge.counts:
            self.traffic[name] = self.traffic.get(name, 0.0) + count
        self.issued += 1
        if self.events is not None:
            args: dict[str, object] = {"bytes": charge.bytes, "instructions": charge.instructions}
            self.events.append(Event(pipe, step.op.name, start, stop, args))

    def beside(self, step: Issue) -> float:
        """When what shares a tile with an instruction, block by block, is through with it."""
        if step.pipe != CUBE:
            return self.free[CUBE]
        return self.read[step.writes][self.current[step.writes]]

    def ready(self, step: Issue) -> float:
        """When the buffers of an instruction can be used."""
        start = 0.0
        shared = step.overlaps
        for ring in step.reads:
            if not shared or step.pipe == CUBE:
                start = max(start, self.written[ring][self.current[ring]])
        if step.writes >= 0 and not shared:
            slot = self.current[step.writes]
            start = max(start, self.read[step.writes][slot], self.written[step.writes][slot])
        return start

    # Order

    def signal(self, step: Signal) -> None:
        """Set a flag or wait for it."""
        name = id(step)
        turn = self.turns.get(name, 0)
        self.turns[name] = turn + 1
        key = step.keys[turn % len(step.keys)]
        pipe = step.pipe
        start = self.free[pipe]
        if not step.sets:
            start = max(start, self.flags.get(key, 0.0))
            if step.inside:
                self.waits[name] = step
        self.free[pipe] = start + FLAG_CYCLES
        self.busy[pipe] += FLAG_CYCLES
        if step.sets:
            self.flags[key] = max(self.free[pipe], self.done[pipe])

    def hold(self, pipe: int) -> None:
        """Hold a pipe until it has completed what it was given, or all pipes for all."""
        if pipe >= 0:
            self.free[pipe] = max(self.free[pipe], self.done[pipe]) + FLAG_CYCLES
            self.busy[pipe] += FLAG_CYCLES
            return
        self.free = [self.end + FLAG_CYCLES] * len(PIPES)

    def cross(self, step: Cross) -> Iterator[None]:
        """Set a flag for the other cores, or wait for one of theirs."""
        # a core counts its sets of a flag, and its waits, over all places where it does them
        name = (step.sets, step.first, step.count, step.mode)
        turn = self.turns.get(name, 0)
        number = step.first + turn % step.count
        pipe = step.pipe
        mine = step.mode in (0, 1)
        setter = self.kind if step.sets or mine else OTHER[self.kind]
        queue = self.meeting.flags.setdefault((setter, number), deque())
        start = self.free[pipe]
        if not step.sets:
            while not queue:
                yield
            start = max(start, queue.popleft())
        self.turns[name] = turn + 1
        self.free[pipe] = start + FLAG_CYCLES
        self.busy[pipe] += FLAG_CYCLES
        if step.sets:
            queue.append(max(self.free[pipe], self.done[pipe]))

    def meet(self, step: Meet) -> Iterator[None]:
        """Wait until all cores of a kind, or all, have come here."""
        here = self.meeting.arrived.setdefault(self.meetings, {})
        self.meetings += 1
        here[self.kind] = self.end
        while step.cores == "all" and len(here) < len(OTHER):
            yield
        last = max(here.values()) if step.cores == "all" else self.end
        self.free = [last + self.target.sync_all] * len(PIPES)

    # Loops

    def loop(self, step: Loop) -> Iterator[None]:
        """Run a loop; equal iterations in a row are cut short once they repeat a state."""
        extents = [self.numbers[place] for place in step.extents]
        share, of = {"cores": (self.core, self.blocks), "subcores": (0, SUB_CORES)}.get(
            step.share, (0, 1)
        )
        if step.by_origin:
            yield from self.each(step, extents, share, of)
            return
        for lengths, count in core_lengths(extents, step.steps, step.strip, share, of):
            for place, length in zip(step.lengths, lengths, strict=True):
                self.numbers[place] = length
            for part in self.by_phase(count) if step.tiles and self.left else (count,):
                yield from self.repeat(step, part)

    def by_phase(self, count: int) -> Iterator[int]:
        """Split iterations where phases begin."""
        while count:
            if not self.left[0] and len(self.left) > 1:
                self.left.pop(0)
                self.phase += 1
                self.marks.append(self.mark())
            part = min(count, self.left[0]) if len(self.left) > 1 else count
            self.left[0] -= part
            count -= part
            yield part

    def each(self, step: Loop, extents: Sequence[int], share: int, of: int) -> Iterator[None]:
        """Run a loop whose sizes depend on where an iteration stands."""
        counts = [-(-e // s) for e, s in zip(extents, step.steps, strict=True)]
        for index in list(tile_order(counts, step.strip))[share::of]:
            for i, k in enumerate(index):
                origin = k * step.steps[i]
                self.numbers[step.origins[i]] = origin
                self.numbers[step.lengths[i]] = min(step.steps[i], extents[i] - origin)
            for _ in self.by_phase(1) if step.tiles and self.left else (1,):
                yield from self.block(step.body)

    def repeat(self, step: Loop, count: int) -> Iterator[None]:
        """Run `count` equal iterations."""
        if step.meets and self.meeting.cuts and count > 2 * (WARM + MEASURED):
            yield from self.cut_short(step, count)
            return
        past: deque[Snapshot] = deque(maxlen=PERIODS)
        watched = not step.meets and (step.nested or count > SHORT)
        for done in range(1, count + 1):
            yield from self.block(step.body)
            if not watched or done == count:
                continue
            now = self.snapshot()
            for period, last in enumerate(reversed(past), 1):
                times = (count - done) // period
                if times and now.repeats(last):
                    self.skip(times, now, last)
                    for _ in range((count - done) % period):
                        yield from self.block(step.body)
                    return
            past.append(now)

    def cut_short(self, step: Loop, count: int) -> Iterator[None]:
        """Run the first iterations; go on at their pace together with the other core."""
        for _ in range(WARM):
            yield from self.block(step.body)
        before = self.snapshot()
        for _ in range(MEASURED):
            yield from self.block(step.body)
        now = self.snapshot()
        number = self.cuts
        self.cuts += 1
        here = self.meeting.paces.setdefault(number, {})
        here[self.kind] = now.step(before) / MEASURED
        periods = (count - WARM - MEASURED) // MEASURED
        self.meeting.spans.setdefault(number, set()).add(periods)
        while len(here) < len(OTHER):
            yield
        left = count - WARM - MEASURED
        end = self.end
        shift = self.meeting.shift(number, periods * MEASURED)
        for values in (self.free, self.done, self.last_start, *self.written, *self.read):
            for k in range(len(values)):
                values[k] += shift
        for key in self.flags:
            self.flags[key] += shift
        for pipe, busy in enumerate(now.busy):
            self.busy[pipe] += periods * (busy - before.busy[pipe])
        for path, moved in now.traffic.items():
            self.traffic[path] += periods * (moved - before.traffic.get(path, 0.0))
        self.note_skip(end, shift, periods * MEASURED)
        for _ in range(left % MEASURED):
            yield from self.block(step.body)

    def snapshot(self) -> Snapshot:
        """The state after an iteration."""
        times = [*self.free, *self.done]
        for ring, place in enumerate(self.current):
            written, read = self.written[ring], self.read[ring]
            times += [*written[place:], *written[:place], *read[place:], *read[:place]]
        times += self.flags_in_turn()
        return Snapshot(times, list(self.busy), dict(self.turns), dict(self.traffic))

    def flags_in_turn(self) -> list[float]:
        """When the flags that are waited for in loops are set, each op's next one first."""
        return [self.flags.get(key, 0.0) for key in self._keys_in_turn()]

    def _keys_in_turn(self) -> list[FlagKey]:
        found: list[FlagKey] = []
        for name, step in self.waits.items():
            turn = self.turns[name] % len(step.keys)
            found += step.keys[turn:] + step.keys[:turn]
        return found

    def skip(self, times: int, now: Snapshot, last: Snapshot) -> None:
        """Take `times` more periods that move everything as the one since `last` did."""
        shift = times * now.step(last)
        moved = iter([a != b for a, b in zip(now.times, last.times, strict=True)])
        before = self.end
        for pipe, busy in enumerate(now.busy):
            self.busy[pipe] += times * (busy - last.busy[pipe])
        for path, count in now.traffic.items():
            self.traffic[path] += times * (count - last.traffic.get(path, 0.0))
        for values in (self.free, self.done):
            for pipe in range(len(PIPES)):
                values[pipe] += shift if next(moved) else 0.0
        for pipe, busy in enumerate(now.busy):
            self.last_start[pipe] += shift if busy != last.busy[pipe] else 0.0
        for ring, place in enumerate(self.current):
            count = self.timed.rings[ring]
            for values in (self.written[ring], self.read[ring]):
                for k in range(count):
                    values[(place + k) % count] += shift if next(moved) else 0.0
        self._skip_flags(times, now, last, [shift if move else 0.0 for move in moved])
        self.note_skip(before, shift, times)

    def note_skip(self, start: float, shift: float, times: int) -> None:
        """Note iterations like those before, for a trace."""
        if self.events is not None:
            args: dict[str, object] = {"repeats": times}
            self.events.append(Event(-1, "equal iterations", start, start + shift, args))

    def _skip_flags(
        self, times: int, now: Snapshot, last: Snapshot, shifts: Sequence[float]
    ) -> None:
        """The flag that comes next may have another id after the skipped periods."""
        set_times = self.flags_in_turn()
        for name, turn in now.turns.items():
            self.turns[name] += times * (turn - last.turns.get(name, 0))
        for key, time, shift in zip(self._keys_in_turn(), set_times, shifts, strict=True):
            self.flags[key] = time + shift


def counted(work: Work, target: Target) -> tuple[tuple[str, float], ...]:
    """What is counted of an instruction: bytes by path, products and lanes in bytes, conflicts."""
    if work.kind == "mmad":
        return (("products", work.m * work.n * work.k * work.size),)
    if work.kind not in ("vector", "reduce"):
        return ((work.kind, work.bytes),)
    lanes = ("lanes", work.elements * work.size)
    conflict = conflict_cycles(work, target)
    return (lanes, (CONFLICT, conflict)) if conflict else (lanes,)


def run_together(cores: Sequence[CoreTime]) -> bool:
    """Run cores that wait for each other; whether all come to their end, cut short alike."""
    running: list[tuple[CoreTime, Iterator[None]]] = [(core, core.run()) for core in cores]
    while running:
        before = sum(core.progress for core, _ in running)
        if any(core.meeting.uneven for core, _ in running):
            return False
        left = [(core, steps) for core, steps in running if _goes_on(steps)]
        if len(left) == len(running) and sum(core.progress for core, _ in left) == before:
            return False
        running = left
    return not any(core.meeting.uneven for core in cores)


def _goes_on(steps: Iterator[None]) -> bool:
    """Run to the next stop; whether there is one."""
    for _ in steps:
        return True
    return False
