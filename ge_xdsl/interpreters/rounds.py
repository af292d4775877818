"""Where the cores of a kernel stand, round by round: one output tile of every core each."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice
from operator import getitem, itemgetter
from typing import TypeAlias

from xdsl.ir import Block, BlockArgument, SSAValue

from ge_xdsl.dialects.aicore.cross import AffineOp, BoundOp
from ge_xdsl.dialects.aicore.op import Index, Instruction
from ge_xdsl.dialects.aicore.structure import ForOp, tile_order
from ge_xdsl.dialects.aicore.types import tile_of

Place: TypeAlias = tuple[int, ...]
"""Origin and length of every dimension of the loops around an output tile, outer loops first."""
Read: TypeAlias = Callable[[Place], Hashable]
"""What tells a place from others."""


@dataclass(frozen=True, slots=True)
class Rounds:
    """The output tiles of each round, one of every core that has one."""

    slots: dict[SSAValue, int]
    """Where a place holds the value of an index."""
    places: list[list[Place]]

    def reader(self, indices: Sequence[SSAValue]) -> Read:
        """A function of a place whose values differ where those of the indices do."""
        parts = [_reduced(index, self.slots) for index in indices]
        slots = [part for part in parts if isinstance(part, int)]
        sums = [part for part in parts if isinstance(part, _Sum)]
        if sums:
            return lambda place: (*(place[i] for i in slots), *(part.of(place) for part in sums))
        return itemgetter(*slots) if slots else _same

    def number(self, index: Index) -> Callable[[Place], int]:
        """A function of a place that gives an index there."""
        return _sum(index, self.slots).of


def _same(place: Place) -> Hashable:
    """All places are alike."""
    return 0


@dataclass(frozen=True, slots=True)
class _Sum:
    """A sum of products of a factor and the value in a slot, and of sums within bounds."""

    constant: int
    terms: tuple[tuple[int, int], ...]
    bounded: tuple[tuple[int, BoundOp, _Sum], ...] = ()
    """Factor, bounds and what is bounded."""

    def of(self, place: Place) -> int:
        found = self.constant + sum([factor * place[slot] for factor, slot in self.terms])
        for factor, bound, part in self.bounded:
            found += factor * bound.of(part.of(place))
        return found


def _reduced(index: Index, slots: dict[SSAValue, int]) -> int | _Sum | None:
    """The slot that holds an index or a sum of slots; None for what no output tile decides.

    Such an index counts as what it starts from.
    """
    if isinstance(index, int):
        return None
    if index in slots:
        return slots[index]
    if not isinstance(index.owner, AffineOp | BoundOp):
        return _reduced(base_of(index), slots)
    found = _sum(index, slots)
    return found if found.terms or found.bounded else None


def _sum(index: Index, slots: dict[SSAValue, int]) -> _Sum:
    """An index as a sum."""
    if isinstance(index, int):
        return _Sum(index, ())
    if index in slots:
        return _Sum(0, ((1, slots[index]),))
    owner = index.owner
    if isinstance(owner, BoundOp):
        part = _sum(owner.operands[0], slots)
        return _Sum(0, (), ((1, owner, part),))
    if not isinstance(owner, AffineOp):
        return _sum(base_of(index), slots)
    constant, terms = owner.constant, list[tuple[int, int]]()
    bounded: list[tuple[int, BoundOp, _Sum]] = []
    for factor, value in zip(owner.factors, owner.operands, strict=True):
        part = _sum(value, slots)
        constant += factor * part.constant
        terms += [(factor * inner, slot) for inner, slot in part.terms]
        bounded += [(factor * inner, bound, of) for inner, bound, of in part.bounded]
    return _Sum(constant, tuple(terms), tuple(bounded))


@dataclass(slots=True)
class Nest:
    """A loop as plain numbers and values."""

    extents: tuple[Index, ...]
    steps: tuple[int, ...]
    bases: tuple[Index, ...]
    values: tuple[SSAValue, ...]
    """Origin and length of each dimension."""
    strip: int
    known: dict[tuple[int, ...], list[Place]] = field(
        default_factory=dict[tuple[int, ...], "list[Place]"]
    )
    """Extents and bases -> the places of all iterations."""

    @classmethod
    def of(cls, loop: ForOp) -> Nest:
        """Of a loop op."""
        count = len(loop.steps)
        values = [v for i in range(count) for v in (loop.origin(i), loop.length(i))]
        extents, steps, bases = tuple(loop.extents), tuple(loop.steps), tuple(loop.bases)
        return cls(extents, steps, bases, tuple(values), loop.strip)

    def places(self, around: Place, slots: dict[SSAValue, int]) -> list[Place]:
        """Origins and lengths of all iterations, when the loops around stand at a place."""
        numbers = tuple([_sum(v, slots).of(around) for v in (*self.extents, *self.bases)])
        found = self.known.get(numbers)
        if found is None:
            found = self.known[numbers] = self._iterations(numbers)
        return found

    def _tables(self, numbers: tuple[int, ...]) -> list[list[Place]]:
        """Origin and length of each iteration of each dimension; `numbers` as in `known`."""
        count = len(self.steps)
        parts = zip(numbers[:count], numbers[count:], self.steps, strict=True)
        return [
            [(base + k * step, min(step, extent - k * step)) for k in range(-(-extent // step))]
            for extent, base, step in parts
        ]

    def _iterations(self, numbers: tuple[int, ...]) -> list[Place]:
        *lead, cols = self._tables(numbers)
        if lead:
            rows, strip = lead.pop(), self.strip or 1
            tops = range(0, len(rows), strip)
            cols = [row + col for i in tops for col in cols for row in rows[i : i + strip]]
        for table in reversed(lead):
            cols = [place + rest for place in table for rest in cols]
        return cols

    def first(self, cores: int) -> list[Place]:
        """The places of the first iterations of a loop that nothing is around."""
        tables = self._tables(tuple([_sum(v, {}).constant for v in (*self.extents, *self.bases)]))
        order = tile_order([len(table) for table in tables], self.strip)
        return [
            tuple(chain.from_iterable(map(getitem, tables, index)))
            for index in islice(order, cores)
        ]


MOST_PLACES = 1 << 13
"""Output tiles beyond which what is innermost counts as one tile."""


def tile_loops(loop: ForOp | None) -> list[ForOp]:
    """The loop over cores and the loops in it that go from one output tile to the next."""
    found: list[ForOp] = []
    most: dict[SSAValue, int] = {}
    places = 1
    while loop is not None:
        nest = Nest.of(loop)
        for extent, step in zip(nest.extents, nest.steps, strict=True):
            known = extent if isinstance(extent, int) else most.get(extent, step)
            places *= -(-known // step)
        if found and places > MOST_PLACES:
            break
        found.append(loop)
        most.update(zip(nest.values[1::2], nest.steps, strict=True))
        inner = [op for op in loop.body.ops if isinstance(op, ForOp)]
        loop = next((op for op in inner if _writes_gm(op)), None)
    return found


def _writes_gm(loop: ForOp) -> bool:
    return any(
        isinstance(op, Instruction) and tile_of(op.written).space == "gm" for op in loop.walk()
    )


def first_round(loop: ForOp, cores: int) -> Rounds:
    """The output tiles that the cores begin with."""
    nest = Nest.of(loop)
    return Rounds(_slots([nest]), [nest.first(cores)])


def all_rounds(loops: Sequence[ForOp], cores: int) -> Rounds:
    """The output tiles of each round, one of every core that has one."""
    nests = [Nest.of(loop) for loop in loops]
    slots = _slots(nests)
    if not nests:
        return Rounds(slots, [[()]])
    order = nests[0].places((), slots)
    if len(nests) == 1:
        starts = range(0, len(order), cores)
        return Rounds(slots, [order[start : start + cores] for start in starts])
    columns = [
        [place for around in order[core::cores] for place in _inner(nests[1:], around, slots)]
        for core in range(min(cores, len(order)))
    ]
    longest = max(len(column) for column in columns)
    rounds = [[column[r] for column in columns if r < len(column)] for r in range(longest)]
    return Rounds(slots, rounds)


def _slots(nests: Sequence[Nest]) -> dict[SSAValue, int]:
    return {value: i for i, value in enumerate(v for nest in nests for v in nest.values)}


def _inner(nests: Sequence[Nest], around: Place, slots: dict[SSAValue, int]) -> list[Place]:
    """The places of the iterations of the loops inside, from one place around them."""
    if not nests:
        return [around]
    inside = [around + place for place in nests[0].places(around, slots)]
    if len(nests) == 1:
        return inside
    return [inner for place in inside for inner in _inner(nests[1:], place, slots)]


def base_of(value: SSAValue) -> Index:
    """What the origins of a loop start from, 0 for a value that is no origin."""
    block = value.owner
    loop = block.parent_op() if isinstance(block, Block) else None
    if not isinstance(loop, ForOp) or loop.over_cores or not isinstance(value, BlockArgument):
        return 0
    return 0 if value.index % 2 else loop.bases[value.index // 2]


def sources(value: SSAValue) -> list[SSAValue]:
    """An index and those that it is made of: terms of a sum, the base of an origin."""
    parts: list[Index] = [base_of(value)]
    if isinstance(value.owner, AffineOp | BoundOp):
        parts = list(value.owner.operands)
    inner = [part for part in parts if isinstance(part, SSAValue)]
    return [value, *(found for part in inner for found in sources(part))]
