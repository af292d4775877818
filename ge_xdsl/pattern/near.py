"""The nearest miss: what would have to be different, one step away, for a pattern to match.

The reference matcher says where matching stopped. Here the variants that are one step from that
place are really tried: two operands swapped, an Identity or a Cast that changes nothing read
through, a differing attribute or constant let pass. A variant that makes the whole pattern match
is named in the reason. Nothing of this runs unless somebody asks for explanations.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice

from xdsl.ir import Operation, OpResult, SSAValue

from ge_xdsl.dialects.ge.op import GeOp
from ge_xdsl.pattern.access import operands_of, producer, user_of, uses
from ge_xdsl.pattern.equal import attr_value, same_value
from ge_xdsl.pattern.graph import PatternGraph, is_constant
from ge_xdsl.pattern.match import (
    BlockCandidates,
    Candidates,
    Edit,
    Match,
    MatcherConfig,
    Place,
    Search,
)
from ge_xdsl.pattern.rule import Declined

NEIGHBOURS = 256
"""How many ops around a root are looked at for the further outputs of a pattern."""

_COPIES = ("Identity", "IdentityN", "Cast")


class Nearby:
    """The candidates around a root, nearest first; the graph's first ones when there are none."""

    def __init__(self, root: GeOp, everywhere: Candidates) -> None:
        self.everywhere = everywhere
        self.around = _around(root)

    def of_type(self, op: GeOp) -> Iterable[Operation]:
        known = set(self.around)
        block = self.around[0].parent
        first = list(islice(self.everywhere.of_type(op), NEIGHBOURS))
        near = [t for t in self.around if t.parent is block and _is_type(op, t)]
        return [*near, *(t for t in first if t not in known)] if len(near) < 2 else near

    def readers(
        self, value: SSAValue, classes: tuple[type[GeOp], ...], index: int
    ) -> Iterable[Operation]:
        return self.everywhere.readers(value, classes, index)

    def sorted(self, ops: Sequence[Operation]) -> Sequence[Operation]:
        return self.everywhere.sorted(ops)


def _is_type(op: GeOp, other: GeOp) -> bool:
    return op.op_type == other.op_type


def _around(root: GeOp) -> list[GeOp]:
    """Ops by their distance from `root`: what it reads, what reads that too, what reads it."""
    found: dict[GeOp, None] = {root: None}
    queue = deque([root])
    while queue and len(found) < NEIGHBOURS:
        op = queue.popleft()
        linked: list[Operation | None] = [producer(value) for value in operands_of(op)]
        for value in (*op.results, *operands_of(op)):
            linked += islice((user_of(use) for use in uses(value)), NEIGHBOURS)
        for other in linked:
            if isinstance(other, GeOp) and other not in found:
                found[other] = None
                queue.append(other)
    return list(found)


def explain_at(
    graph: PatternGraph,
    config: MatcherConfig,
    root: GeOp,
    candidates: Candidates | None = None,
) -> Match | Declined:
    """The match at `root`, or the nearest miss with the variant that would have matched."""
    block = root.parent
    if block is None:
        return Declined("is in no graph", root)
    everywhere = candidates or BlockCandidates(block)
    near = Nearby(root, everywhere) if len(graph.outputs) > 1 else everywhere
    search = Search(graph, config, block, near)
    outcome = search.at(root)
    if isinstance(outcome, Match):
        return outcome
    total = len(graph.nodes)
    place = search.nearest
    if place is None:
        return replace(outcome, total=total)
    note = place.hint
    for edit, text in _variants(place):
        again = Search(graph, config, block, near, edit)
        if isinstance(again.at(root), Match):
            note = f" ({text})"
            break
    return replace(outcome, reason=place.reason + note, at=place.at, total=total)


def _variants(place: Place) -> Iterator[tuple[Edit, str]]:
    """What to try at the place where matching stopped, and how the reason tells it."""
    if isinstance(place.pattern, OpResult) and isinstance(place.pattern.op, GeOp):
        yield Edit(waived=place.pattern.op), _difference(place.pattern.op, producer(place.value))
    if place.user is None:
        return
    for other in range(place.operands):
        if other != place.index:
            a, b = sorted((place.index, other))
            yield (
                Edit(op=place.user, order=(place.index, other)),
                f"matches with operands {a} and {b} swapped",
            )
    behind, names = behind_copies(place.value)
    if names:
        text = f"{' and '.join(names)} in between, matches without"
        yield Edit(op=place.user, at=place.index, value=behind), text


def _difference(p: GeOp, t: Operation | None) -> str:
    """How much differs between a pattern op and an op of its type."""
    count = 1
    if isinstance(t, GeOp) and not is_constant(p):
        specs = [spec for spec in t.prototype.attrs if spec.name in p.prototype.attr_by_name]
        count = sum(not same_value(attr_value(p, s), attr_value(t, s)) for s in specs)
    return f"{count} attributes differ, the rest matches" if count > 1 else "the only difference"


def behind_copies(value: SSAValue) -> tuple[SSAValue, list[str]]:
    """The tensor that a chain of copies repeats, and the types of the copies."""
    names: list[str] = []
    op = producer(value)
    while isinstance(op, GeOp) and op.op_type in _COPIES and isinstance(value, OpResult):
        source = operands_of(op)[value.index]
        if source.type != value.type:
            break
        names.append(op.op_type)
        value, op = source, producer(source)
    return value, list(dict.fromkeys(names))
