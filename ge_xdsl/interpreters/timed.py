"""A kernel as the timing simulation reads it: pipes, buffers and sizes as numbers.

`timed_kernel` goes through the ops once; the simulation then runs the steps many times without
looking at an op again. Only what decides times is kept: valid sizes, not where windows lie.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

from xdsl.ir import Block, Operation, SSAValue

from ge_xdsl.dialects.aicore.cross import (
    AffineOp,
    BlockIdxOp,
    BoundOp,
    CrossSetOp,
    CrossWaitOp,
    SyncAllOp,
)
from ge_xdsl.dialects.aicore.op import Index, Instruction
from ge_xdsl.dialects.aicore.structure import AllocOp, ForOp, KernelOp
from ge_xdsl.dialects.aicore.sync import PipeBarrierOp, SetFlagOp, WaitFlagOp
from ge_xdsl.interpreters.banks import addresses, conflicts
from ge_xdsl.interpreters.rounds import tile_loops
from ge_xdsl.interpreters.timing import PIPES
from ge_xdsl.interpreters.traffic import Traffic

PIPE_NUMBER = {name: i for i, name in enumerate(PIPES)}
Lengths: TypeAlias = tuple[int, ...]
FlagKey: TypeAlias = tuple[str, str, int]
"""The pipe that sets a flag, the one that waits, and its id."""


@dataclass(slots=True, eq=False)
class Charge:
    """What an instruction costs for one choice of sizes, and what is counted of it."""

    busy: float
    latency: float
    bytes: int
    instructions: int
    """Of the hardware."""
    counts: tuple[tuple[str, float], ...]


@dataclass(slots=True, eq=False)
class Issue:
    """An instruction. `sizes` are places in the core's numbers; `reads` and `writes` rings."""

    op: Instruction
    pipe: int
    reads: tuple[int, ...]
    writes: int
    sizes: tuple[int, ...]
    cold: tuple[float, ...]
    """Share of the bytes that it reads from GM that are not in L2, in each phase."""
    sharers: float
    """Cores that read the same bytes at the same time."""
    conflict: bool
    """Whether its two sources lie in the same UB banks."""
    overlaps: bool
    """Whether the unit flag lets it share a tile with the cube or the fixpipe, block by block."""
    costs: dict[tuple[int, Lengths], Charge] = field(
        default_factory=dict[tuple[int, Lengths], Charge]
    )


@dataclass(slots=True, eq=False)
class Take:
    """The next buffer of a ring."""

    ring: int


@dataclass(slots=True, eq=False)
class Loop:
    """A loop nest; extents are places in the core's numbers, as are its origins and lengths."""

    extents: tuple[int, ...]
    steps: tuple[int, ...]
    origins: tuple[int, ...]
    lengths: tuple[int, ...]
    share: str
    """`cores`, `subcores` or nothing: who else takes iterations."""
    strip: int
    body: list[Step]
    by_origin: bool
    """Whether sizes in the body depend on where an iteration stands."""
    meets: bool
    """Whether other cores are waited for in the body."""
    tiles: bool
    """Whether an iteration is an output tile: one of the core's rounds."""
    nested: bool
    """Whether there is a loop in the body."""


@dataclass(slots=True, eq=False)
class Signal:
    """A flag from pipe to pipe that is set, or waited for; ids are taken in turn."""

    sets: bool
    pipe: int
    keys: list[FlagKey]
    """The flags, in turn."""
    inside: bool
    """Whether it stands in a loop."""


@dataclass(slots=True, eq=False)
class Cross:
    """A flag between cores that is set, or waited for."""

    sets: bool
    pipe: int
    first: int
    count: int
    mode: int


@dataclass(slots=True, eq=False)
class Hold:
    """A barrier: a pipe, or every pipe when it is negative."""

    pipe: int


@dataclass(slots=True, eq=False)
class Meet:
    """All cores of a kind, or all, wait for each other."""

    cores: str


@dataclass(slots=True, eq=False)
class Sum:
    """A number that is a sum of others."""

    place: int
    terms: tuple[tuple[int, int], ...]
    """Factor and place of each."""
    constant: int


@dataclass(slots=True, eq=False)
class Bound:
    """A number in whole steps and within bounds."""

    place: int
    value: int
    """The place of what is bounded."""
    op: BoundOp


Step: TypeAlias = Issue | Take | Loop | Signal | Cross | Hold | Meet | Sum | Bound


@dataclass(slots=True, eq=False)
class Timed:
    """What one core runs."""

    steps: list[Step]
    rings: list[int]
    """The buffers of each ring."""
    numbers: list[int]
    """The first values of all indices: constants stand where they stay."""
    block_places: list[int]
    """Where the number of the core goes."""
    synced: bool


def timed_kernel(kernel: KernelOp, body: Block, traffic: Traffic) -> Timed:
    """What one core of a kind runs of a kernel: its whole body, or that of a section."""
    return _Builder(kernel, body, traffic).timed()


class _Builder:
    """Turns ops into steps."""

    def __init__(self, kernel: KernelOp, body: Block, traffic: Traffic) -> None:
        self.kernel = kernel
        self.body = body
        self.traffic = traffic
        loops = [tile_loops(op) for op in body.ops if isinstance(op, ForOp) and op.over_cores]
        self.tile_loops = {found[-1] for found in loops}
        self.address = addresses(body)
        self.rings: list[int] = []
        self.ring_of: dict[SSAValue, int] = {}
        self.numbers: list[int] = []
        self.place_of: dict[int | SSAValue, int] = {}
        self.block_places: list[int] = []
        self.needed = _sized_by(body)

    def timed(self) -> Timed:
        """The steps of the body."""
        steps = self.steps(self.body, inside=False)
        return Timed(steps, self.rings, self.numbers, self.block_places, self.kernel.synced)

    def place(self, value: Index) -> int:
        """Where a number stands."""
        found = self.place_of.get(value)
        if found is None:
            found = self.place_of[value] = len(self.numbers)
            self.numbers.append(value if isinstance(value, int) else 0)
        return found

    def steps(self, block: Block, inside: bool) -> list[Step]:
        """The steps of a block."""
        made: list[Step] = []
        for op in block.ops:
            if isinstance(op, Instruction):
                made.append(self.issue(op))
            elif isinstance(op, AllocOp):
                ring = self.ring_of[op.results[0]] = len(self.rings)
                self.rings.append(op.buffers)
                made.append(Take(ring))
            elif isinstance(op, ForOp):
                made.append(self.loop(op))
            else:
                made += self.other(op, inside)
        return made

    def other(self, op: Operation, inside: bool) -> list[Step]:
        """The steps of an op that is no instruction, buffer or loop."""
        if isinstance(op, SetFlagOp | WaitFlagOp):
            pipe, sets = PIPE_NUMBER[op.pipe], isinstance(op, SetFlagOp)
            src, dst, first = op.flag
            keys = [(src, dst, first + k) for k in range(op.count)]
            return [Signal(sets, pipe, keys, inside)]
        if isinstance(op, PipeBarrierOp):
            return [Hold(PIPE_NUMBER.get(op.pipe, -1))]
        if isinstance(op, CrossSetOp | CrossWaitOp):
            sets = isinstance(op, CrossSetOp)
            return [Cross(sets, PIPE_NUMBER[op.pipe], op.first, op.count, op.mode)]
        if isinstance(op, SyncAllOp):
            return [Meet(op.cores)]
        if isinstance(op, BlockIdxOp):
            self.block_places.append(self.place(op.results[0]))
        if isinstance(op, AffineOp) and op.results[0] in self.needed:
            terms = zip(op.factors, op.operands, strict=True)
            places = tuple((factor, self.place(value)) for factor, value in terms)
            return [Sum(self.place(op.results[0]), places, op.constant)]
        if isinstance(op, BoundOp) and op.results[0] in self.needed:
            return [Bound(self.place(op.results[0]), self.place(op.operands[0]), op)]
        return []

    def issue(self, op: Instruction) -> Issue:
        """The step of an instruction."""
        sources = op.read()
        return Issue(
            op,
            PIPE_NUMBER[op.pipe],
            tuple(self.ring_of[v] for v in sources if v in self.ring_of),
            self.ring_of.get(op.written, -1),
            tuple(self.place(v) for v in op.sizes),
            tuple(phase.cold.get(op, 0.0) for phase in self.traffic.phases),
            self.traffic.sharers.get(op, 1.0),
            conflicts(sources, self.address),
            "unit_flag" in op.properties,
        )

    def loop(self, op: ForOp) -> Loop:
        """The step of a loop and of what is in it."""
        share = "cores" if op.over_cores else "subcores" if op.over_subcores else ""
        count = len(op.steps)
        origins = [op.origin(i) for i in range(count)]
        body = self.steps(op.body, inside=True)
        return Loop(
            tuple(self.place(v) for v in op.extents),
            tuple(op.steps),
            tuple(self.place(v) for v in origins),
            tuple(self.place(op.length(i)) for i in range(count)),
            share,
            op.strip,
            body,
            any(v in self.needed for v in origins),
            any(isinstance(s, Cross | Meet) or (isinstance(s, Loop) and s.meets) for s in body),
            op in self.tile_loops,
            any(isinstance(s, Loop) for s in body),
        )


def _sized_by(body: Block) -> set[SSAValue]:
    """The indices that sizes and extents depend on."""
    found: set[SSAValue] = set()
    todo: list[SSAValue] = []
    for op in body.walk():
        if isinstance(op, Instruction):
            todo += [v for v in op.sizes if isinstance(v, SSAValue)]
        elif isinstance(op, ForOp):
            todo += [v for v in op.extents if isinstance(v, SSAValue)]
    while todo:
        value = todo.pop()
        if value in found:
            continue
        found.add(value)
        if isinstance(value.owner, AffineOp | BoundOp):
            todo += value.owner.operands
    return found
