"""Where the cores of a kernel stand, round by round: one output tile of every core each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from xdsl.ir import Block, BlockArgument, SSAValue

from ge_xdsl.dialects.aicore.cross import AffineOp
from ge_xdsl.dialects.aicore.op import Index, Instruction
from ge_xdsl.dialects.aicore.structure import ForOp, tile_order
from ge_xdsl.dialects.aicore.types import tile_of

Place: TypeAlias = dict[SSAValue, int]
"""The value of every index of the loops around an output tile."""


@dataclass(frozen=True, slots=True)
class Nest:
    """A loop as plain numbers and values."""

    extents: tuple[Index, ...]
    steps: tuple[int, ...]
    bases: tuple[Index, ...]
    origins: tuple[SSAValue, ...]
    lengths: tuple[SSAValue, ...]
    strip: int

    @classmethod
    def of(cls, loop: ForOp) -> Nest:
        """Of a loop op."""
        count = len(loop.steps)
        return cls(
            tuple(loop.extents),
            tuple(loop.steps),
            tuple(loop.bases),
            tuple(loop.origin(i) for i in range(count)),
            tuple(loop.length(i) for i in range(count)),
            loop.strip,
        )

    def counts(self, place: Place) -> list[int]:
        """Iterations of each dimension, when the loops around stand at a place."""
        return [-(-number(e, place) // s) for e, s in zip(self.extents, self.steps, strict=True)]

    def at(self, index: Sequence[int], place: Place) -> Place:
        """A place with the origins and lengths of one iteration."""
        made = dict(place)
        for i, k in enumerate(index):
            step = self.steps[i]
            made[self.origins[i]] = number(self.bases[i], place) + k * step
            made[self.lengths[i]] = min(step, number(self.extents[i], place) - k * step)
        return made


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
        most.update(zip(nest.lengths, nest.steps, strict=True))
        inner = [op for op in loop.body.ops if isinstance(op, ForOp)]
        loop = next((op for op in inner if _writes_gm(op)), None)
    return found


def _writes_gm(loop: ForOp) -> bool:
    return any(
        isinstance(op, Instruction) and tile_of(op.written).space == "gm" for op in loop.walk()
    )


def first_round(loop: ForOp, cores: int) -> list[Place]:
    """The output tiles that the cores begin with."""
    nest = Nest.of(loop)
    found: list[Place] = []
    for index in tile_order(nest.counts({}), nest.strip):
        found.append(nest.at(index, {}))
        if len(found) == cores:
            break
    return found


def all_rounds(loops: Sequence[ForOp], cores: int) -> list[list[Place]]:
    """The output tiles of each round, one of every core that has one."""
    if not loops:
        return [[{}]]
    first, *inner = [Nest.of(loop) for loop in loops]
    order = list(tile_order(first.counts({}), first.strip))
    columns = [
        [place for index in order[core::cores] for place in _inner(inner, first.at(index, {}))]
        for core in range(min(cores, len(order)))
    ]
    longest = max(len(column) for column in columns)
    return [[column[r] for column in columns if r < len(column)] for r in range(longest)]


def _inner(nests: Sequence[Nest], place: Place) -> list[Place]:
    """The places of the iterations of the loops inside, from one place around them."""
    if not nests:
        return [place]
    nest = nests[0]
    return [
        inner
        for index in tile_order(nest.counts(place), nest.strip)
        for inner in _inner(nests[1:], nest.at(index, place))
    ]


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
    if isinstance(value.owner, AffineOp):
        parts = list(value.owner.operands)
    inner = [part for part in parts if isinstance(part, SSAValue)]
    return [value, *(found for part in inner for found in sources(part))]


def number(index: Index, place: Place) -> int:
    """The value of an index; one that no output tile decides counts as what it starts from."""
    if isinstance(index, int):
        return index
    found = place.get(index)
    if found is not None:
        return found
    owner = index.owner
    if not isinstance(owner, AffineOp):
        return number(base_of(index), place)
    terms = zip(owner.factors, owner.operands, strict=True)
    return owner.constant + sum(factor * number(value, place) for factor, value in terms)
