"""What a kernel moves between GM and the cores, and how much of it reaches HBM.

The unit is a panel: what one output tile needs of one GM tile. A round is one output tile of every
core. A panel that was used less than an L2 ago is a hit, else it comes from HBM. Written data
stays in the part of L2 that reads leave it, the rest goes to HBM, less efficiently than reads. A
workspace stays in L2.
"""

from __future__ import annotations

import itertools
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from math import prod

from xdsl.ir import Block, BlockArgument, Operation, SSAValue

from ge_xdsl.dialects.aicore.cross import AffineOp, TakeOp, WorkspaceOp
from ge_xdsl.dialects.aicore.legality import check_iterations
from ge_xdsl.dialects.aicore.move import CopyRowsOp
from ge_xdsl.dialects.aicore.op import Index, Instruction
from ge_xdsl.dialects.aicore.structure import ForOp, KernelOp
from ge_xdsl.dialects.aicore.types import TileType, tile_of
from ge_xdsl.dialects.aicore.view import StridedOp
from ge_xdsl.interpreters.rounds import Read, Rounds, all_rounds, first_round, sources, tile_loops
from ge_xdsl.targets import Target
from ge_xdsl.targets.cost import row_loss

MOST_TILES = 1 << 16
"""Rounds are gone through one by one only for loops of at most so many output tiles."""

ALWAYS_HELD = 1 / 16
"""What is read again and takes no more than this part of L2 is taken to stay there."""
MOST_PHASES = 8
"""Rounds that alternate more often than this count as alike."""


@dataclass(slots=True)
class Phase:
    """Rounds in a row that are alike in what they miss.

    `cold`: share of an instruction's bytes that come from HBM; `read` HBM bytes; HBM seconds.
    """

    rounds: int = 0
    cold: dict[Instruction, float] = field(default_factory=dict[Instruction, float])
    read: float = 0.0
    seconds: float = 0.0


@dataclass(slots=True)
class Traffic:
    """What all cores together move, and what that means for each access.

    `sharers`: cores that read the same panel in the same round; bytes of HBM reads and writes and
    of GM traffic, workspaces not counted; HBM seconds.
    """

    phases: list[Phase] = field(default_factory=list[Phase])
    sharers: dict[Instruction, float] = field(default_factory=dict[Instruction, float])
    hbm_read: float = 0.0
    hbm_written: float = 0.0
    gm_read: float = 0.0
    gm_written: float = 0.0
    seconds: float = 0.0

    @property
    def hbm_bytes(self) -> int:
        """Bytes to and from HBM."""
        return round(self.hbm_read + self.hbm_written)


@dataclass(slots=True, eq=False)
class _Use:
    """The instructions that move one GM tile in one loop over cores, in one direction."""

    value: SSAValue
    ops: list[Instruction]
    writes: bool
    bypass: bool
    bytes: float = 0.0
    """Of a panel."""
    keys: int = 0
    """Number of panels."""
    moved: float = 0.0
    missed: float = 0.0
    sharers: float = 1.0
    each: list[float] = field(default_factory=list[float])
    """Bytes that every round misses, where rounds were gone through."""
    indices: tuple[SSAValue, ...] = ()
    """What tells its panels apart."""
    scattered: bool = False
    """Whether each tile has rows of its own, which values tell: its panels are those."""


def traffic_of(kernel: KernelOp, target: Target) -> Traffic:
    """The GM and HBM traffic of one launch; raises CompileError for loops that are too long."""
    check_iterations(kernel)
    found = Traffic()
    loops = [item for body in bodies(kernel) for item in _uses(body).items()]
    results = sum(_size(use) for _, uses in loops for use in uses if use.writes)
    parts = [
        _follow(uses, loop, kernel.blocks, target, _beside(uses, results, kernel))
        for loop, uses in loops
    ]
    phases = parts[0] if len(parts) == 1 else []
    every = [use for part in parts for phase in part for use in phase.uses]
    kept = sum(use.missed for use in every if not use.bypass and not use.writes)
    found.phases = [_phase(part, target) for part in phases] or [_phase(_Part(0, every), target)]
    for use in dict.fromkeys(every):
        _count(found, use)
    found.hbm_read = sum(phase.read for phase in found.phases)
    found.hbm_written = write_back(kept, found.gm_written, target.l2 * target.l2_usable)
    rate = _rate(kernel.core == "cube", target)
    back = found.hbm_written / target.hbm_write_efficiency / rate
    total = sum(phase.rounds for phase in found.phases)
    for phase in found.phases:
        phase.seconds += back * (phase.rounds / total if total else 1.0)
    found.seconds = sum(phase.seconds for phase in found.phases)
    return found


def bodies(kernel: KernelOp) -> list[Block]:
    """The blocks that cores run: the kernel's own, or one per section."""
    if kernel.core == "mix":
        return [section.body for section in kernel.sections]
    return [kernel.body]


def _size(use: _Use) -> float:
    """Bytes of a GM tile."""
    return 0.0 if _inside(use) else tile_of(use.value).size * _distinct(use.value)


def _beside(uses: Sequence[_Use], results: float, kernel: KernelOp) -> float:
    """Bytes that the other cores of a mixed kernel write meanwhile."""
    if kernel.core != "mix":
        return 0.0
    return results - sum(_size(use) for use in uses if use.writes)


def _rate(cube: bool, target: Target) -> float:
    return target.hbm_l1_bandwidth if cube else target.hbm_ub_bandwidth


def _inside(use: _Use) -> bool:
    """Whether a use is of a workspace, which stays in L2."""
    return isinstance(use.value.owner, TakeOp | WorkspaceOp)


def _count(found: Traffic, use: _Use) -> None:
    """Add what a use moves between the kernel's arguments and the cores."""
    if not use.writes:
        found.sharers.update(dict.fromkeys(use.ops, use.sharers))
    if _inside(use):
        return
    if use.writes:
        found.gm_written += use.moved
    else:
        found.gm_read += use.moved


def _phase(part: _Part, target: Target) -> Phase:
    """What the reads of some rounds miss, and the HBM time of that."""
    found = Phase(part.rounds)
    for use in part.uses:
        if use.writes or _inside(use):
            continue
        moved, missed = part.of(use)
        found.cold.update(dict.fromkeys(use.ops, missed / moved if moved else 0.0))
        loss, cube = _loss(use, target)
        found.read += missed
        found.seconds += missed * loss / _rate(cube, target)
    return found


@dataclass(slots=True)
class _Part:
    """Rounds `start` to `start + rounds` of the uses of a loop; all of them when rounds is 0."""

    rounds: int
    uses: Sequence[_Use]
    start: int = 0

    def of(self, use: _Use) -> tuple[float, float]:
        """Bytes that a use moves and misses in these rounds."""
        if not self.rounds or not use.each:
            return use.moved, use.missed
        share = self.rounds / len(use.each)
        return use.moved * share, sum(use.each[self.start : self.start + self.rounds])


def _loss(use: _Use, target: Target) -> tuple[float, bool]:
    """HBM bytes per useful byte of a use's reads, the largest of them, and whether it is to L1."""
    cube = any(op.pipe == "MTE2" and tile_of(op.written).space == "l1" for op in use.ops)
    works = [
        op.work(instruction_sizes(op))._replace(unaligned=is_unaligned(op, target.l2_line))
        for op in use.ops
    ]
    return max((row_loss(work, target) for work in works), default=1.0), cube


def write_back(read: float, written: float, capacity: float) -> float:
    """Written bytes that reach HBM: reads and writes share an L2 of `capacity` in proportion."""
    share = written / (read + written) if written else 0.0
    return max(0.0, written - capacity * share)


def _uses(body: Block) -> dict[ForOp | None, list[_Use]]:
    """The GM tiles that each loop over cores moves, those outside of any under None."""
    found: dict[ForOp | None, dict[tuple[SSAValue, bool], _Use]] = {}
    for op in body.walk():
        if not isinstance(op, Instruction) or not op.window:
            continue
        value = op.tile(op.window)
        if not isinstance(value.type, TileType) or value.type.data.space != "gm":
            continue
        writes = op.written is value
        uses = found.setdefault(_loop_of(op), {})
        bypass = "l2_hint" in op.options and op.option("l2_hint") == "bypass"
        use = uses.setdefault((value, writes), _Use(value, [], writes, bypass))
        use.ops.append(op)
    return {loop: list(uses.values()) for loop, uses in found.items()}


def _loop_of(op: Operation) -> ForOp | None:
    """The loop over cores around an op."""
    parent = op.parent_op()
    while parent is not None:
        if isinstance(parent, ForOp) and parent.over_cores:
            return parent
        parent = parent.parent_op()
    return None


def _follow(
    uses: Sequence[_Use], loop: ForOp | None, cores: int, target: Target, beside: float = 0.0
) -> list[_Part]:
    """Fill in what the uses of a loop move and miss; its rounds in parts that are alike."""
    if all(use.writes or _inside(use) for use in uses):
        for use in uses:
            use.moved = _size(use)
        return [_Part(0, uses)]
    around = tile_loops(loop)
    simple = len(around) < 2 and not any(_sums(op) for use in uses for op in use.ops)
    tiles = prod(_counts(loop)) if loop is not None else 1
    rounds: Rounds | None = None
    if not simple and tiles <= MOST_TILES:
        rounds = all_rounds(around, cores)
        tiles = sum(len(part) for part in rounds.places)
    for use in uses:
        _size_up(use, loop, rounds, tiles)
    reads = [use for use in uses if not use.writes]
    begun = rounds or (first_round(loop, cores) if loop is not None else all_rounds((), cores))
    first = begun.places[0]
    for use in reads:
        if _inside(use):  # each core has its own
            continue
        use.sharers = len(first) / max(1, len(set(map(begun.reader(use.indices), first))))
    capacity = target.l2 * target.l2_usable
    again = sum(use.missed for use in reads if use.missed < use.moved)
    if tiles > MOST_TILES or again <= capacity * ALWAYS_HELD:
        return [_Part(0, uses)]
    _evict(uses, rounds or all_rounds(around, cores), capacity, beside)
    return _parts(uses)


def _size_up(use: _Use, loop: ForOp | None, rounds: Rounds | None, tiles: int) -> None:
    """The panels of a use: how many, their bytes, and what all output tiles move of them."""
    use.indices = tuple(
        dict.fromkeys(v for op in use.ops for v in op.offsets if isinstance(v, SSAValue))
    )
    if rounds:
        key = rounds.reader(use.indices)
        use.keys = len({k for part in rounds.places for k in map(key, part)})
    else:
        use.keys = _panels(use, loop) if loop is not None else 1
    use.bytes = tile_of(use.value).size * _distinct(use.value) / use.keys
    use.moved = use.bytes * tiles
    use.missed = use.bytes * use.keys
    picked = _picked(use, loop)
    if picked:
        use.scattered, use.moved, use.bytes = True, picked, picked / tiles
        use.missed = min(use.missed, picked)


def _picked(use: _Use, loop: ForOp | None) -> float:
    """The bytes that a loop gathers by rows, all of its extents; 0 for uses of another kind."""
    alone = all(isinstance(op, CopyRowsOp) and op.parent_op() is loop for op in use.ops)
    if loop is None or not alone:
        return 0.0
    extents = [extent for extent in loop.extents if isinstance(extent, int)]
    return float(tile_of(use.value).size * prod(extents) * len(use.ops))


def _parts(uses: Sequence[_Use]) -> list[_Part]:
    """The rounds of a loop by whether they miss most of what they read."""
    reads = [use for use in uses if not use.writes and not _inside(use)]
    rounds = max((len(use.each) for use in reads), default=0)
    moved = sum(use.moved for use in reads) / max(rounds, 1)
    misses = [sum(use.each[r] for use in reads) >= moved / 2 for r in range(rounds)]
    found: list[_Part] = []
    for r, cold in enumerate(misses):
        if found and misses[r - 1] == cold:
            found[-1].rounds += 1
        else:
            found.append(_Part(1, uses, r))
    return found if 1 < len(found) <= MOST_PHASES else [_Part(0, uses)]


def _evict(uses: Sequence[_Use], rounds: Rounds, capacity: float, beside: float) -> None:
    """Count the bytes that miss: the panel was not used since so many others that L2 is full.

    `beside` bytes come to L2 from elsewhere, as many in each round.
    """
    cache: OrderedDict[int, float] = OrderedDict()
    held = 0.0
    for use in uses:
        use.missed = 0.0 if not use.writes else use.missed
    panels = [_panel_numbers(i, use, rounds, len(uses)) for i, use in enumerate(uses)]
    for r in range(len(rounds.places)):
        for use, numbers in zip(uses, panels, strict=True):
            new = 0
            for panel in numbers[r]:
                if panel in cache:
                    cache.move_to_end(panel)
                    continue
                new += 1
                if not use.bypass:
                    cache[panel] = use.bytes
                    held += use.bytes
            use.each.append(0.0 if use.writes else new * use.bytes)
            use.missed += use.each[-1]
        if beside:
            cache[-1 - r] = beside / len(rounds.places)
            held += beside / len(rounds.places)
        while held > capacity and len(cache) > 1:
            held -= cache.popitem(last=False)[1]
    for use in uses:
        # rows that are picked again are no more than there are
        share = _size(use) / use.missed if use.scattered and use.missed > _size(use) else 1.0
        use.each = [each * share for each in use.each]
        use.missed *= share


def _panel_numbers(first: int, use: _Use, rounds: Rounds, step: int) -> list[list[int]]:
    """The panels of a use that each round needs, by numbers that no other use has."""
    key: Read = rounds.reader(use.indices)
    known: dict[object, int] = {}
    if use.scattered:
        count = itertools.count(first, step)
        return [[next(count) for _ in part] for part in rounds.places]
    return [
        [known.setdefault(k, len(known) * step + first) for k in dict.fromkeys(map(key, part))]
        for part in rounds.places
    ]


def _sums(op: Instruction) -> bool:
    """Whether an offset is a sum of indices."""
    return any(isinstance(v, SSAValue) and isinstance(v.owner, AffineOp) for v in op.offsets)


def _counts(loop: ForOp) -> list[int]:
    """Iterations of each dimension of a loop of known extents."""
    pairs = zip(loop.extents, loop.steps, strict=True)
    return [-(-extent // step) for extent, step in pairs if isinstance(extent, int)]


def _panels(use: _Use, loop: ForOp) -> int:
    """The panels of a use when a loop over cores is all that goes from tile to tile."""
    origins = {loop.origin(i): i for i in range(len(loop.steps))}
    dims = {origins[v] for index in use.indices for v in sources(index) if v in origins}
    counts = _counts(loop)
    return prod(counts[dim] for dim in dims)


def is_unaligned(op: Instruction, line: int) -> bool:
    """Whether the rows that an instruction moves of a GM tile begin inside L2 lines.

    Rows that follow each other without a gap share their lines.
    """
    value = op.tile(op.window)
    tile = tile_of(value)
    if tile.layout != "nd":
        return False
    strides = value.owner.strides if isinstance(value.owner, StridedOp) else None
    pitch = tile.shape[-1] if strides is None or len(strides) < 2 else strides[-2]
    return width_of(op.sizes[-1]) != pitch and pitch * tile.size % line != 0


def width_of(size: Index) -> int:
    """A valid size where it is known: a number, or all of a loop's dimension; else 0."""
    if isinstance(size, int):
        return size
    loop = size.owner.parent_op() if isinstance(size.owner, Block) else None
    if not isinstance(loop, ForOp) or not isinstance(size, BlockArgument):
        return 0
    extent = loop.extents[size.index // 2]
    return extent if isinstance(extent, int) and extent <= loop.steps[size.index // 2] else 0


def _distinct(value: SSAValue) -> int:
    """The elements of a GM tile, those that strides of 0 repeat once."""
    tile = tile_of(value)
    if not isinstance(value.owner, StridedOp):
        return tile.count
    pairs = zip(tile.shape, value.owner.strides, strict=True)
    return prod(dim for dim, stride in pairs if stride)


def instruction_sizes(op: Instruction) -> Sequence[int]:
    """The largest valid sizes of an instruction: known numbers, else the core-side tile's."""
    shape = next(t.shape for t in map(tile_of, reversed(op.operands[: len(op.tile_names())])))
    return [v if isinstance(v, int) else shape[-1] for v in op.sizes]
