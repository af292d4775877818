"""When the buffers of a kernel are in use, and whether those in use at one time fit beside
each other.

A buffer that one vector pipe alone touches, and that is not doubled, lives from its first use to
its last in an iteration: the pipe runs in order, so the next iteration cannot meet this one. Any
other buffer is used by pipes that run ahead of each other, and lives as long as the loop at the
kernel's top level that it is in; between such loops all pipes meet.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from xdsl.ir import Block, Operation, SSAValue

from ge_xdsl.dialects.aicore.op import Instruction
from ge_xdsl.dialects.aicore.structure import AllocOp, KernelOp, SectionOp
from ge_xdsl.dialects.aicore.types import ALIGNMENT, Tile, padded, tile_of
from ge_xdsl.errors import CompileError
from ge_xdsl.targets.target import Target

IN_ORDER = frozenset({"V"})
"""Pipes that run their instructions strictly one after the other."""


@dataclass(frozen=True, slots=True)
class Life:
    """A buffer (all its copies): its space, its bytes, and its first and last place of use."""

    name: str
    space: str
    bytes: int
    first: int
    last: int
    copies: int = 1

    def meets(self, other: Life) -> bool:
        """Whether both are in use at one time."""
        return self.first <= other.last and other.first <= self.last

    def __str__(self) -> str:
        if self.copies == 1:
            return f"{self.name} {self.bytes}"
        return f"{self.name} {self.copies} x {self.bytes // self.copies}"


def spaces_of(kernel: KernelOp) -> list[tuple[Block, str, dict[AllocOp, Life]]]:
    """The buffers of each core kind's body and space, in program order."""
    bodies = [op.body for op in kernel.body.ops if isinstance(op, SectionOp)]
    found: list[tuple[Block, str, dict[AllocOp, Life]]] = []
    for body in bodies or [kernel.body]:
        by_space: dict[str, dict[AllocOp, Life]] = {}
        for op, life in lives(body).items():
            by_space.setdefault(life.space, {})[op] = life
        found += [(body, space, part) for space, part in by_space.items()]
    return found


def lives(body: Block) -> dict[AllocOp, Life]:
    """The lives of all buffers in a body."""
    spans: dict[Operation, tuple[int, int]] = {}
    _number(body, 0, spans)
    uses: dict[SSAValue, list[Instruction]] = {}
    for op in body.walk():
        if isinstance(op, Instruction):
            for value in dict.fromkeys((*op.read(), op.written)):
                uses.setdefault(value, []).append(op)
    found: dict[AllocOp, Life] = {}
    for op in body.walk():
        if isinstance(op, AllocOp):
            found[op] = _life(op, uses.get(op.results[0], []), body, spans)
    return found


def _number(block: Block, place: int, spans: dict[Operation, tuple[int, int]]) -> int:
    """Give every op the places that it and what is in it stands at."""
    for op in block.ops:
        first = place
        place += 1
        for region in op.regions:
            for inner in region.blocks:
                place = _number(inner, place, spans)
        spans[op] = (first, place - 1)
    return place


def _life(
    op: AllocOp,
    uses: Sequence[Instruction],
    body: Block,
    spans: Mapping[Operation, tuple[int, int]],
) -> Life:
    tile, copies = tile_of(op.results[0]), op.buffers
    name = op.results[0].name_hint or "tile"
    size = ring_bytes(tile, copies)
    home = op.parent
    if uses and copies == 1 and {use.pipe for use in uses} <= IN_ORDER and home is not None:
        places = [spans[_within(use, home)] for use in uses]
        first, last = min(p[0] for p in places), max(p[1] for p in places)
        return Life(name, tile.space, size, first, last)
    first, last = spans[_within(op, body)]
    if op.parent is body:  # outside of any loop: as long as the kernel
        first, last = 0, max(span[1] for span in spans.values())
    return Life(name, tile.space, size, first, last, copies)


def _within(op: Operation, block: Block) -> Operation:
    """The op of a block that is `op` or holds it."""
    while op.parent is not block:
        parent = op.parent_op()
        assert parent is not None
        op = parent
    return op


def ring_bytes(tile: Tile, copies: int) -> int:
    """Bytes of all copies of a buffer, each at a multiple of what its space asks for."""
    return padded(tile.bytes, ALIGNMENT[tile.space]) * copies


def peak(found: Sequence[Life]) -> int:
    """The most bytes in use at one time: what no placement is below."""
    return max(
        (sum(o.bytes for o in found if o.first <= b.first <= o.last) for b in found), default=0
    )


def check_room(kernel: KernelOp, target: Target) -> None:
    """Raise CompileError unless a kernel's buffers fit the target's memories.

    Buffers with addresses must lie inside and apart from those that live at the same time.
    """
    for _, space, part in spaces_of(kernel):
        capacity = target.capacity(space)
        placed = {op: op.address for op in part if op.address is not None}
        size = peak(list(part.values())) if not placed else 0
        if size > capacity:
            _fail(
                kernel,
                f"takes {size} bytes of {space} ({listed(list(part.values()))})",
                f"at most {capacity} on {target.name}",
            )
        _check_placed(kernel, part, placed, capacity)


def _check_placed(
    kernel: KernelOp, part: Mapping[AllocOp, Life], placed: Mapping[AllocOp, int], capacity: int
) -> None:
    """Raise CompileError for a buffer that is outside, or meets another."""
    before: list[tuple[AllocOp, int]] = []
    for op, address in sorted(placed.items(), key=lambda item: item[1]):
        life = part[op]
        end = address + life.bytes
        if end > capacity:
            what = f"'{life.name}' ends at {end} of {life.space}"
            _fail(kernel, what, f"at most {capacity}")
        for other, start in before:
            if start + part[other].bytes > address and part[other].meets(life):
                what = f"'{part[other].name}' and '{life.name}' share {life.space} from {address}"
                _fail(kernel, what, "buffers that live at one time apart")
        before = [(o, s) for o, s in before if s + part[o].bytes > address]
        before.append((op, address))


def listed(found: Sequence[Life]) -> str:
    """Names and sizes, the largest first, at most eight of them."""
    ordered = sorted(found, key=lambda life: -life.bytes)
    more = f", {len(ordered) - 8} more" if len(ordered) > 8 else ""
    return ", ".join(str(life) for life in ordered[:8]) + more


def _fail(kernel: KernelOp, what: str, expected: str) -> None:
    raise CompileError(
        f"{what}, expected {expected}",
        subject=f"aicore.kernel @{kernel.sym_name}",
        location=kernel.source,
    )
