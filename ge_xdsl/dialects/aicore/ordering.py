"""Whether flags and barriers order all that a kernel does to its buffers.

The kernel is run in program order, each loop for as many iterations as bring every buffer round
again, and once more with the inner loops for one only (their flags may order what lies outside
them, but not where they are short); loops that may have no iteration are left out in all ways. Each
pipe has a vector clock: how far it knows each other pipe to be complete. Two accesses of a buffer,
one of them a write, by different pipes must be ordered by what the later one knows. A pipe runs its
own instructions in order, but the DMA pipes overlap them: there a barrier must stand between. A
flag must have been taken back, for certain, before it is set again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations

from xdsl.ir import Block, SSAValue

from ge_xdsl.dialects.aicore.cross import BoundOp
from ge_xdsl.dialects.aicore.cross_ordering import check_cross_order
from ge_xdsl.dialects.aicore.op import Index, Instruction
from ge_xdsl.dialects.aicore.structure import AllocOp, ForOp, KernelOp, bodies_of
from ge_xdsl.dialects.aicore.sync import ALL, PipeBarrierOp, SetFlagOp, WaitFlagOp
from ge_xdsl.dialects.aicore.types import ALIGNMENT, PIPES, padded, tile_of
from ge_xdsl.errors import CompileError

DMA_PIPES = frozenset({"MTE1", "MTE2", "MTE3"})

Clock = dict[str, int]
Stamp = tuple[str, int]
"""A pipe and how many instructions it had been given."""
Key = tuple[str, str, int, int]
"""The pipe that sets a flag, the one that waits, the first id and how many take turns."""
Use = tuple[str, tuple[SSAValue, ...], SSAValue | None]
"""A pipe, and the buffers that an instruction reads and writes."""


@dataclass(slots=True)
class _Buffer:
    """One buffer: its last write and what read it since, by pipe, with the ops."""

    name: str
    write: tuple[Stamp, Instruction] | None = None
    reads: dict[str, tuple[Stamp, Instruction]] = field(
        default_factory=dict[str, tuple[Stamp, Instruction]]
    )


@dataclass(slots=True)
class _Ring:
    buffers: list[_Buffer]
    current: int = -1


@dataclass(slots=True)
class _Flag:
    """A flag id: what its set knew, and when it was last taken back."""

    known: Clock | None = None
    taken: Stamp | None = None


def check_order(kernel: KernelOp) -> None:
    """Raise CompileError for the first two accesses that are not ordered, or a wrong flag.

    O1: two pipes that use a buffer, one to write, are ordered by a flag. O2: two copies of one
    DMA pipe are ordered by a barrier. O3: a flag is waited for before it is set again. O4: a flag
    that is waited for is set. O5: a flag that is set is waited for.
    """
    fixed = Fixed.of(kernel)
    for body in bodies_of(kernel):
        check_body_order(kernel, body, fixed)
    if kernel.core == "mix":
        check_cross_order(kernel)


def check_body_order(kernel: KernelOp, body: Block, fixed: Fixed) -> None:
    """`check_order` of what one kind of cores runs, its own buffers and flags alone."""
    flags: dict[SetFlagOp | WaitFlagOp, Key] = {}
    proofs = [_Proof(kernel, fixed, short, left, flags) for short, left in fixed.runs(body)]
    for proof in proofs:
        proof.block(body)
    for proof in proofs:
        proof.end()


class _Proof:
    """The clocks, buffers and flags while the kernel is run."""

    def __init__(
        self,
        kernel: KernelOp,
        fixed: Fixed,
        short: bool,
        left_out: frozenset[ForOp],
        keys: dict[SetFlagOp | WaitFlagOp, Key],
    ) -> None:
        self.kernel = kernel
        self.short = short
        self.left_out = left_out
        self.keys = keys
        """Pipes, first id and count of flag ops, once that was asked for."""
        self.clocks: dict[str, Clock] = {pipe: dict.fromkeys(PIPES, 0) for pipe in PIPES}
        self.complete: Clock = dict.fromkeys(PIPES, 0)
        """Per pipe: how many of its own instructions it knows to be complete."""
        self.rings: dict[SSAValue, _Ring] = {}
        self.shared = fixed.shared
        self.counts = fixed.counts
        self.used = fixed.used
        self.flags: dict[tuple[str, str, int], _Flag] = {}
        self.turns: dict[SetFlagOp | WaitFlagOp, int] = {}
        self.unmatched = ""

    def fail(self, text: str, op: Instruction | SetFlagOp | WaitFlagOp | None = None) -> None:
        """Raise."""
        subject = f"aicore.kernel @{self.kernel.sym_name}"
        where = self.kernel.source if op is None or op.source is None else op.source
        raise CompileError(text, subject=subject, location=where)

    def block(self, block: Block) -> None:
        for op in block.ops:
            if isinstance(op, AllocOp):
                self.take(op)
            elif isinstance(op, ForOp):
                few, many = self.counts[op]
                count = few if self.short else many
                for _ in range(0 if op in self.left_out else count):
                    self.block(op.body)
            elif isinstance(op, Instruction):
                self.access(op)
            elif isinstance(op, SetFlagOp):
                self.set(op)
            elif isinstance(op, WaitFlagOp):
                self.wait(op)
            elif isinstance(op, PipeBarrierOp):
                self.barrier(op.pipe)

    def take(self, op: AllocOp) -> None:
        """The next buffer of a ring."""
        value = op.results[0]
        ring = self.rings.get(value)
        if ring is None:
            name = value.name_hint or "tile"
            ring = self.rings[value] = _Ring([_Buffer(name) for _ in range(op.buffers)])
        ring.current = (ring.current + 1) % len(ring.buffers)

    def tick(self, pipe: str) -> Stamp:
        """Give a pipe one more instruction."""
        self.clocks[pipe][pipe] += 1
        return pipe, self.clocks[pipe][pipe]

    def knows(self, pipe: str, stamp: Stamp) -> bool:
        """Whether an instruction is complete when the next of `pipe` starts."""
        other, time = stamp
        if other != pipe:
            return self.clocks[pipe][other] >= time
        return pipe not in DMA_PIPES or self.complete[pipe] >= time

    def access(self, op: Instruction) -> None:
        """Hold an instruction's buffers against what came before."""
        pipe, reads, written = self.used.get(op) or self.use(op)
        for value in reads:
            self.need(op, "reads", self.buffer(value).write, value)
        if written is not None:
            buffer = self.buffer(written)
            for earlier in (buffer.write, *buffer.reads.values()):
                self.need(op, "writes", earlier, written)
            self.need_beside(op, written)
        stamp = self.tick(pipe)
        for value in reads:
            self.buffer(value).reads[pipe] = (stamp, op)
        if written is not None:
            buffer = self.buffer(written)
            buffer.write = (stamp, op)
            buffer.reads = {}

    def use(self, op: Instruction) -> Use:
        """The pipe of an instruction, and the buffers that it reads and writes."""
        reads = tuple(v for v in op.read() if v in self.rings)
        found = (op.pipe, reads, op.written if op.written in self.rings else None)
        self.used[op] = found
        return found

    def need_beside(self, op: Instruction, written: SSAValue) -> None:
        """Hold a write against what was done to other buffers in the same bytes."""
        for number, other, place in self.shared.get(written, ()):
            ring = self.rings.get(other)
            if ring is None or number != self.rings[written].current:
                continue
            buffer = ring.buffers[place]
            for earlier in (buffer.write, *buffer.reads.values()):
                self.need(op, "writes", earlier, other)

    def buffer(self, value: SSAValue) -> _Buffer:
        ring = self.rings[value]
        return ring.buffers[ring.current]

    def need(
        self,
        op: Instruction,
        now: str,
        earlier: tuple[Stamp, Instruction] | None,
        value: SSAValue,
    ) -> None:
        """Fail unless an earlier access is complete before what the op does now."""
        if earlier is None or self.knows(op.pipe, earlier[0]):
            return
        stamp, other = earlier
        if interlocked(op, value) and interlocked(other, value):
            return
        name = self.buffer(value).name
        how = "a barrier" if stamp[0] == op.pipe else "a flag"
        before = "writes" if other.written is value else "reads"
        self.fail(
            f"{op.name} on {op.pipe} {now} '{name}' while {other.name} on {stamp[0]} may still be "
            f"at it ({before}), expected {how} between them",
            op,
        )

    def turn(self, op: SetFlagOp | WaitFlagOp) -> _Flag:
        """The flag that the op speaks of this time."""
        count = self.turns.get(op, 0)
        self.turns[op] = count + 1
        key = self.keys.get(op)
        if key is None:
            key = self.keys[op] = (op.src, op.dst, op.first, op.count)
        name = (key[0], key[1], key[2] + count % key[3])
        found = self.flags.get(name)
        if found is None:
            found = self.flags[name] = _Flag()
        return found

    def set(self, op: SetFlagOp) -> None:
        flag = self.turn(op)
        again = flag.known is not None or (
            flag.taken is not None and not self.knows(op.src, flag.taken)
        )
        if again and not self.unmatched:
            self.unmatched = f"flag {_text(op)} may be set again before it is waited for"
        self.tick(op.src)
        flag.known = dict(self.clocks[op.src])

    def wait(self, op: WaitFlagOp) -> None:
        flag = self.turn(op)
        if flag.known is None:
            self.unmatched = self.unmatched or f"flag {_text(op)} is waited for but not set"
            return
        # what the other pipe knew of this one is complete, too
        self.complete[op.dst] = max(self.complete[op.dst], flag.known[op.dst])
        mine = self.clocks[op.dst]
        for pipe, time in flag.known.items():
            mine[pipe] = max(mine[pipe], time)
        flag.known = None
        flag.taken = self.tick(op.dst)

    def barrier(self, pipe: str) -> None:
        if pipe != ALL:
            self.complete[pipe] = self.clocks[pipe][pipe]
            return
        now = {name: self.clocks[name][name] for name in PIPES}
        self.complete = dict(now)
        self.clocks = {name: dict(now) for name in PIPES}

    def end(self) -> None:
        """What is left when the kernel ends."""
        left = [key for key, flag in self.flags.items() if flag.known is not None]
        if self.unmatched:
            self.fail(f"{self.unmatched}, expected sets and waits in turn")
        if left:
            src, dst, number = left[0]
            self.fail(f"flag {src} -> {dst}, {number} is set but not waited for, expected a wait")


Shared = dict[SSAValue, list[tuple[int, SSAValue, int]]]
"""Tile -> number of a copy, another tile and number of a copy that have bytes in common."""


def shared_bytes(kernel: KernelOp) -> Shared:
    """The buffers of a kernel whose addresses say that they share bytes."""
    places: list[tuple[str, int, int, SSAValue, int]] = []
    for op in kernel.walk():
        if isinstance(op, AllocOp) and op.address is not None:
            tile = tile_of(op.results[0])
            each = padded(tile.bytes, ALIGNMENT[tile.space])
            for k in range(op.buffers):
                start = op.address + k * each
                places.append((tile.space, start, start + each, op.results[0], k))
    found: Shared = {}
    places.sort(key=lambda item: item[:3])
    for i, (space, _, end, value, k) in enumerate(places):
        for other_space, start, _, other, n in places[i + 1 :]:
            if other_space != space or start >= end:
                break
            if other is not value:
                found.setdefault(value, []).append((k, other, n))
                found.setdefault(other, []).append((n, value, k))
    return found


def _text(op: SetFlagOp | WaitFlagOp) -> str:
    return f"{op.src} -> {op.dst}, {op.first}"


def iterations(loop: ForOp) -> int:
    """As many iterations as bring each buffer in the loop round, and one more."""
    return max((op.buffers for op in loop.walk() if isinstance(op, AllocOp)), default=1) + 1


def trips(kernel: KernelOp) -> dict[ForOp, tuple[int, int]]:
    """Loop -> the fewest and the most iterations that it can have.

    Loops that cores share have any number. An extent that is the length of a loop around is that
    loop's step, or what is left at its end.
    """
    lengths: dict[SSAValue, tuple[int, int]] = {}
    found: dict[ForOp, tuple[int, int]] = {}
    for op in kernel.walk():
        if not isinstance(op, ForOp):
            continue
        least, most = 1, 1
        for i, (extent, step) in enumerate(zip(op.extents, op.steps, strict=True)):
            low, high = _range(extent, lengths)
            least *= -(-low // step)
            most *= -(-high // step)
            last = (low - 1) % step + 1 if low == high else 1
            whole = low == high and last == step
            lengths[op.length(i)] = (last if not whole else step, min(step, high))
        found[op] = (1, MANY) if op.over_cores or op.over_subcores else (least, most)
    return found


def _range(extent: Index, lengths: Mapping[SSAValue, tuple[int, int]]) -> tuple[int, int]:
    """The least and the most that an extent can be."""
    if isinstance(extent, int):
        return extent, extent
    if isinstance(extent.owner, BoundOp):
        return extent.owner.low, extent.owner.high
    return lengths.get(extent, (1, MANY))


@dataclass(frozen=True, slots=True)
class Fixed:
    """What does not depend on a kernel's flags: bytes in common, trips, loops inside of others."""

    shared: Shared
    trips: Mapping[ForOp, tuple[int, int]]
    counts: Mapping[ForOp, tuple[int, int]]
    """Loop -> how often a proof runs it at least, when it runs it at all, and at most."""
    nested: bool
    used: dict[Instruction, Use] = field(default_factory=dict[Instruction, "Use"])
    """What instructions use, once that was asked for."""
    known: dict[Block, Sequence[tuple[bool, frozenset[ForOp]]]] = field(
        default_factory=dict[Block, "Sequence[tuple[bool, frozenset[ForOp]]]"]
    )
    """What proofs of a body run, once that was asked for."""

    @classmethod
    def of(cls, kernel: KernelOp) -> Fixed:
        """Of a kernel."""
        nested = any(isinstance(op, ForOp) and not op.over_cores for op in kernel.walk())
        known = trips(kernel)
        counts: dict[ForOp, tuple[int, int]] = {}
        for op, (least, most) in known.items():
            count = iterations(op)
            counts[op] = (min(max(least, 1), count), min(most, count))
        return cls(shared_bytes(kernel), known, counts, nested)

    def runs(self, body: Block) -> Sequence[tuple[bool, frozenset[ForOp]]]:
        """Whether loops inside others run for few iterations, and those that have none.

        Loops that may have none are left out and run in all ways; where they are many, all of
        them, none, and each alone.
        """
        found = self.known.get(body)
        if found is None:
            every = [op for op in body.walk() if isinstance(op, ForOp) and not self.trips[op][0]]
            sizes = range(len(every) + 1) if len(every) <= MOST_LEFT_OUT else (0, 1, len(every))
            left = [frozenset(part) for n in sizes for part in combinations(every, n)]
            turns = (True, False) if self.nested else (False,)
            found = self.known[body] = [(short, part) for part in left for short in turns]
        return found


MOST_LEFT_OUT = 3
"""Loops of which every choice is left out in turn."""
MANY = 1 << 40
"""More iterations than the proof ever needs."""


def interlocked(op: Instruction, value: SSAValue) -> bool:
    """Whether the unit flag orders an instruction's use of a tile, block by block."""
    return "unit_flag" in op.properties and tile_of(value).space == "l0c"
