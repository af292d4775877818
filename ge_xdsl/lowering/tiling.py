"""Tile shapes from a target's capacities: integer arithmetic only, no IR.

Matrix product: every candidate tile of y that fits the memories is priced by the target's costs,
and the cheapest is taken. Elementwise: the largest tile that fits UB, cut so that all cores get
an equal number.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import NamedTuple

from ge_xdsl.dialects.aicore.encoding import cut_instructions
from ge_xdsl.dialects.aicore.lifetimes import Life, ring_bytes
from ge_xdsl.dialects.aicore.types import BLOCK_BYTES, UB_ALIGN, Tile, padded
from ge_xdsl.errors import CompileError
from ge_xdsl.lowering.placement import extent, placed
from ge_xdsl.targets.cost import Work, ceil_div, cost
from ge_xdsl.targets.target import Target

BLOCK = 16
"""Rows and columns of a cube block: tile sizes are multiples of it."""
TILE_SIZES = (16, 32, 48, 64, 96, 128, 192, 256)
MAX_STEPS = 4
"""The largest number of L0 tiles in an L1 tile along k."""
BUFFERS = 2
"""Buffers of everything that one pipe fills while another reads."""
MAX_VECTOR_TILE = 16384
"""Elements of the largest vector tile: 32 KB of f16 are enough for full bandwidth."""
MIN_VECTOR_TILE = 512
"""Elements below which a tile is not cut further to occupy more cores."""
L2_LINE = 512
"""Bytes of the lines that rows in GM had better start at."""
LINE = 64
"""Vector tiles are cut at multiples of this many elements."""


class MatmulTiling(NamedTuple):
    """A tile of y is m x n; along k, L1 holds k1 and L0 holds k0 at a time.

    With `stay` one factor's panel, all of k, is kept in L1 while the tiles of the other pass by on
    one core (and in L0, where k0 is all of k). Otherwise the tiles of y are dealt to the cores,
    by strips of `strip` tile rows (or columns, `by_columns`).
    """

    m: int
    n: int
    k0: int
    k1: int
    c_buffers: int
    """Buffers of the tile of y in L0C."""
    a_buffers: int = BUFFERS
    """Buffers of the left factor in L1."""
    b_buffers: int = BUFFERS
    l0_buffers: int = BUFFERS
    """Buffers of both factors in L0."""
    stay: str = ""
    """`a` or `b`: the factor whose panel stays in L1."""
    group: int = 0
    """Tiles of the other factor that pass by one panel; 0 for all."""
    by_columns: bool = False
    strip: int = 0
    """Tile rows of a strip; 0 for as many as stay in half of L2."""


@dataclass(frozen=True, slots=True)
class MatmulShape:
    """y[b] = x1[b] x2[b] with `size`-byte factors and `out_size`-byte results.

    `turn_a` and `turn_b` tell that a factor lies transposed in GM; a factor of `a_batch` or
    `b_batch` 1 is one matrix for the whole batch (0 stands for `batch`).
    """

    batch: int
    m: int
    n: int
    k: int
    size: int
    out_size: int
    bias: bool = False
    turn_a: bool = False
    turn_b: bool = False
    a_batch: int = 0
    b_batch: int = 0

    @property
    def k_step(self) -> int:
        """What k1 is a multiple of, or all of k: whole blocks of rows and of 32 bytes."""
        return max(BLOCK, BLOCK_BYTES // self.size)

    @property
    def by_channels(self) -> bool:
        """Whether k1 is whole channel blocks, whatever k0 is."""
        return False

    def left_bytes(self) -> int:
        """Bytes of the left factor in GM."""
        return (self.a_batch or self.batch) * self.m * self.k * self.size

    def right_bytes(self) -> int:
        """Bytes of the right factor in GM."""
        return (self.b_batch or self.batch) * self.k * self.n * self.size

    def a_bytes(self, m: int, k1: int) -> int:
        """Bytes of a tile of the left factor in L1, whose rows are whole blocks."""
        return (padded(m, self.k_step) if self.turn_a else m) * k1 * self.size

    def b_bytes(self, n: int, k1: int) -> int:
        """Bytes of a tile of the right factor in L1, whose rows are whole blocks."""
        return (n if self.turn_b else padded(n, self.k_step)) * k1 * self.size

    def copy_a(self, m: int, k1: int) -> Work:
        """Bringing m rows and k1 columns of the left factor to L1."""
        return self._copy(k1, m, self.m) if self.turn_a else self._copy(m, k1, self.k)

    def copy_b(self, n: int, k1: int) -> Work:
        """Bringing k1 rows and n columns of the right factor to L1."""
        return self._copy(n, k1, self.k) if self.turn_b else self._copy(k1, n, self.n)

    def _copy(self, rows: int, cols: int, pitch: int) -> Work:
        """A window of a matrix with rows of `pitch` elements."""
        unaligned = cols < pitch and pitch * self.size % L2_LINE != 0
        moved, count = rows * cols * self.size, cut_instructions(rows, pitch)
        return Work("gm_l1", bytes=moved, rows=rows, unaligned=unaligned, instructions=count)

    def load_a(self, m: int, k0: int) -> Work:
        """Bringing m rows and k0 columns of the left factor from L1 to L0A."""
        return Work("l1_l0a", bytes=padded(m, BLOCK) * padded(k0, BLOCK) * self.size)

    def load_b(self, n: int, k0: int) -> Work:
        """Bringing k0 rows and n columns of the right factor from L1 to L0B."""
        return Work("l1_l0b", bytes=padded(n, BLOCK) * padded(k0, BLOCK) * self.size)


def matmul_tiling(shape: MatmulShape, target: Target) -> MatmulTiling:
    """The cheapest tiling that fits; of equal ones the first with the largest tile."""
    best: tuple[float, int, MatmulTiling] | None = None
    for m in candidates(shape.m):
        for n in candidates(shape.n):
            tiling = _fill(shape, m, n, target)
            if tiling is None:
                continue
            key = (matmul_cycles(shape, tiling, target), -m * n)
            if best is None or key < best[:2]:
                best = (*key, tiling)
    if best is None:
        raise CompileError(f"no tile fits the memories of {target.name}, expected one")
    return best[2]


def candidates(extent: int) -> list[int]:
    """Tile sizes that are not larger than the padded extent, which is one itself if small."""
    whole = padded(extent, BLOCK)
    sizes = [size for size in TILE_SIZES if size < whole]
    return [*sizes, whole] if whole <= TILE_SIZES[-1] else sizes


def _fill(shape: MatmulShape, m: int, n: int, target: Target) -> MatmulTiling | None:
    """The tiling with an m x n tile and the longest k that fit, None when nothing fits."""
    if m * n * 4 > target.capacity("l0c"):
        return None
    if shape.bias and n * 4 * BUFFERS > target.capacity("bt"):
        return None
    unit = max(BLOCK, BLOCK_BYTES // shape.size)
    whole = padded(shape.k, unit)
    per_l0 = min(
        target.capacity("l0a") // (m * shape.size * BUFFERS),
        target.capacity("l0b") // (n * shape.size * BUFFERS),
    )
    k0 = min(per_l0 // unit * unit, whole)
    if not k0:
        return None
    room = target.capacity("l1") - (n * 4 * BUFFERS if shape.bias else 0)
    each = (shape.a_bytes(m, k0) + shape.b_bytes(n, k0)) * BUFFERS
    steps = min(room // each, MAX_STEPS, ceil_div(whole, k0))
    if not steps:
        return None
    double = 2 * m * n * 4 <= target.capacity("l0c")
    return MatmulTiling(m, n, k0, min(k0 * steps, whole), 2 if double else 1)


def matmul_cycles(shape: MatmulShape, tiling: MatmulTiling, target: Target) -> float:
    """A bound on the cycles of the most loaded core: rounds of tiles, the slowest pipe each."""
    m, n = min(tiling.m, shape.m), min(tiling.n, shape.n)
    tiles = shape.batch * ceil_div(shape.m, tiling.m) * ceil_div(shape.n, tiling.n)
    rounds = ceil_div(tiles, target.cube_cores)
    k0, k1 = min(tiling.k0, shape.k), min(tiling.k1, shape.k)
    size = shape.size
    cube = cost(Work("mmad", m=m, n=n, k=k0, size=size), target).busy
    rows, cols = padded(m, BLOCK), padded(n, BLOCK)
    load = cost(Work("l1_l0a", bytes=rows * k0 * size), target).busy
    load += cost(Work("l1_l0b", bytes=cols * k0 * size), target).busy
    move = cost(Work("gm_l1", bytes=m * k1 * size, rows=m), target).busy
    move += cost(Work("gm_l1", bytes=n * k1 * size, rows=k1), target).busy
    out = cost(Work("fixpipe", bytes=m * n * shape.out_size, elements=m * n), target).busy
    per_tile = max(ceil_div(shape.k, k0) * max(cube, load), ceil_div(shape.k, k1) * move)
    drain = out if tiling.c_buffers == 1 else 0.0
    first = move + target.l1_latency + out
    return rounds * max(per_tile + drain, out) + first


@dataclass(frozen=True, slots=True)
class Slot:
    """A UB tile of a vector kernel: full size, or one row or one column of it."""

    element: str
    rows: bool
    cols: bool
    buffers: int

    def tile(self, rows: int, cols: int) -> Tile:
        """The tile that it is when a full one has rows x cols elements."""
        return Tile((rows if self.rows else 1, cols if self.cols else 1), self.element, "ub")


def slots_bytes(slots: Sequence[Slot], rows: int, cols: int) -> int:
    """Bytes of UB that the slots take."""
    return sum(slot.tile(rows, cols).bytes * slot.buffers for slot in slots)


@dataclass(frozen=True, slots=True)
class Slots:
    """The UB tiles of a kernel, and when they are in use: first and last step, None for always."""

    slots: Sequence[Slot]
    lives: Sequence[tuple[int, int] | None] = ()

    def bytes(self, rows: int, cols: int, capacity: int) -> int:
        """Bytes of UB that they take; exact where it is more than `capacity` without reuse."""
        apart = slots_bytes(self.slots, rows, cols)
        if apart <= capacity or not self.lives:
            return apart
        found = [
            Life("", "ub", ring_bytes(slot.tile(rows, cols), slot.buffers), *(life or ALWAYS))
            for slot, life in zip(self.slots, self.lives, strict=True)
        ]
        return extent(found, placed(found, UB_ALIGN, {}))


ALWAYS = (-1, 1 << 30)
"""The life of a tile that is never free."""


def fewest_cores(count: int, cores: int) -> int:
    """The fewest cores that do `count` tiles in as many rounds as all cores would.

    Each core that starts takes time.
    """
    return ceil_div(count, ceil_div(count, cores))


def vector_tiling(
    shape: Sequence[int],
    slots: Sequence[Slot] | Slots,
    target: Target,
    whole: str = "",
    limit: int = MAX_VECTOR_TILE,
) -> tuple[int, int]:
    """Rows and columns of the tile; `shape` ends with them and loops over what is before.

    The tile has at most `limit` elements, and with `whole` all `rows` or all `cols`. Raises
    CompileError when not even a tile of one row of `LINE` elements fits, or one of a whole row or
    column.
    """
    rows, cols = shape[-2:]
    lead = prod(shape[:-2])
    room = slots if isinstance(slots, Slots) else Slots(slots)
    if whole:
        return _whole_tiling((lead, rows, cols), room, target, whole, limit)
    capacity = target.capacity("ub")
    tile = _cut(rows, cols, lead, limit, target.vector_cores)
    while room.bytes(*tile, capacity) > capacity:
        if limit <= LINE:
            raise CompileError(
                f"a tile of {LINE} elements takes {room.bytes(*tile, capacity)} bytes of UB, "
                f"expected at most {capacity}"
            )
        limit = max(LINE, limit * 7 // 8)
        tile = _cut(rows, cols, lead, limit, target.vector_cores)
    return tile


def _whole_tiling(
    shape: tuple[int, int, int], slots: Slots, target: Target, whole: str, limit: int
) -> tuple[int, int]:
    """The largest tile of whole rows (or columns) that fits, cut to give all cores the same."""
    lead, rows, cols = shape
    capacity = target.capacity("ub")
    by_rows = whole == "cols"
    length, count, step = (cols, rows, 1) if by_rows else (rows, cols, BLOCK)
    share = ceil_div(lead * count, target.vector_cores)
    size = min(count, share, max(1, limit // length))
    size = min(count, padded(ceil_div(count, ceil_div(count, size)), step))
    while True:
        tile = (size, cols) if by_rows else (rows, size)
        if slots.bytes(*tile, capacity) <= capacity:
            return tile
        if size <= step:
            what = "a row" if by_rows else f"{step} columns"
            raise CompileError(
                f"{what} of {length} elements takes {slots.bytes(*tile, capacity)} bytes of UB, "
                f"expected at most {capacity}"
            )
        size = max(step, size * 3 // 4 // step * step)


def _cut(rows: int, cols: int, lead: int, limit: int, cores: int) -> tuple[int, int]:
    """A tile of at most `limit` elements, as many tiles as give every core the same number.

    Whole rows are kept together unless one is too long, or there are fewer rows than cores.
    """
    if cols <= limit and lead * rows >= cores:
        parts = ceil_div(rows, max(1, limit // cols))
        wanted = ceil_div(lead * parts, cores) * cores // lead
        parts = min(rows, max(parts, min(wanted, rows * cols // MIN_VECTOR_TILE)))
        return ceil_div(rows, parts), cols
    parts = ceil_div(cols, max(LINE, limit // LINE * LINE))
    wanted = ceil_div(lead * rows * parts, cores) * cores // (lead * rows)
    parts = max(parts, min(wanted, cols // MIN_VECTOR_TILE))
    height = 1
    if parts == 1:
        height = max(1, min(rows, limit // cols, MIN_VECTOR_TILE // cols))
    return height, min(cols, padded(ceil_div(cols, parts), LINE))


MAX_TURNED = 8192
"""Elements of the largest tile of a kernel that turns matrices."""


def turn_tiling(batch: int, rows: int, cols: int, size: int, target: Target) -> tuple[int, int]:
    """Rows and columns of the tile that is turned: multiples of 16, long runs on both sides.

    Tiles are halved, the longer side first, while some cores would have none.
    """
    limit = MAX_TURNED * 2 // size
    tile = [min(padded(rows, BLOCK), 128), min(padded(cols, BLOCK), 128)]
    if rows <= BLOCK:
        tile[1] = min(padded(cols, BLOCK), padded(limit // tile[0], BLOCK))
    elif cols <= BLOCK:
        tile[0] = min(padded(rows, BLOCK), padded(limit // tile[1], BLOCK))
    while max(tile) > BLOCK and (
        prod(tile) > limit
        or batch * ceil_div(rows, tile[0]) * ceil_div(cols, tile[1]) < target.vector_cores
    ):
        side = 0 if tile[0] > tile[1] else 1
        tile[side] = padded(tile[side] // 2, BLOCK)
    if cols * size % L2_LINE:  # parts of rows begin inside lines: fewer, longer ones
        while tile[1] * size < L2_LINE and tile[1] < cols and tile[0] > 2 * BLOCK:
            tile = [padded(tile[0] // 2, BLOCK), min(tile[1] * 2, padded(cols, BLOCK))]
    return min(tile[0], rows), min(tile[1], cols)
