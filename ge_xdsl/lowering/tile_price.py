"""What a tiling of a matrix product costs: its buffers, a lower bound, and an estimate.

All are sums of the target's costs of single instructions, each looked up once. The bound is what
the busiest pipe cannot do without; the estimate adds what the pipes wait for. The timing model
itself has the last word (`tile_search`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from ge_xdsl.dialects.aicore.paths import COUPLED
from ge_xdsl.dialects.aicore.types import BLOCK_BYTES, padded
from ge_xdsl.lowering.drain import drain_cycles
from ge_xdsl.lowering.tiling import BLOCK, BUFFERS, MatmulTiling, fewest_cores
from ge_xdsl.targets.cost import Work, ceil_div, cost, row_loss
from ge_xdsl.targets.target import Target

FLAG_CYCLES = 2.0
"""Cycles of a pipe for the set and the wait around an instruction."""
SPACES: tuple[str, ...] = ("l0a", "l0b", "l0c", "bt", "l1")


class ProductShape(Protocol):
    """A product as the search sees it: sizes, and the work of its instructions."""

    @property
    def batch(self) -> int: ...
    @property
    def m(self) -> int: ...
    @property
    def n(self) -> int: ...
    @property
    def k(self) -> int: ...
    @property
    def size(self) -> int: ...
    @property
    def out_size(self) -> int: ...
    @property
    def bias(self) -> bool: ...
    @property
    def k_step(self) -> int: ...
    @property
    def by_channels(self) -> bool: ...
    def left_bytes(self) -> int: ...
    def right_bytes(self) -> int: ...
    def a_bytes(self, m: int, k1: int) -> int: ...
    def b_bytes(self, n: int, k1: int) -> int: ...
    def copy_a(self, m: int, k1: int) -> Work: ...
    def copy_b(self, n: int, k1: int) -> Work: ...
    def load_a(self, m: int, k0: int) -> Work: ...
    def load_b(self, n: int, k0: int) -> Work: ...


@dataclass(frozen=True, slots=True)
class Need:
    """`count` buffers of `bytes` bytes each, in one space."""

    name: str
    space: str
    bytes: int
    count: int

    @property
    def total(self) -> int:
        return self.bytes * self.count

    def __str__(self) -> str:
        times = f"{self.count} x " if self.count > 1 else ""
        return f"{self.name} {times}{self.bytes}"


def k_unit(shape: ProductShape) -> int:
    """Columns of a block of k in L0: 32 bytes, and no fewer than rows."""
    return max(BLOCK, BLOCK_BYTES // shape.size)


def panel_k(shape: ProductShape) -> int:
    """Columns of a panel that has all of k."""
    return padded(shape.k, shape.k_step)


def needs(shape: ProductShape, t: MatmulTiling) -> list[Need]:
    """The buffers of a tiling."""
    unit = k_unit(shape)
    k_a, k_b = (padded(panel_k(shape) if t.stay == side else t.k1, unit) for side in "ab")
    k0 = padded(t.k0, unit)
    found = [
        Need("a0", "l0a", t.m * k0 * shape.size, t.l0_buffers),
        Need("b0", "l0b", t.n * k0 * shape.size, t.l0_buffers),
        Need("c", "l0c", t.m * t.n * 4, t.c_buffers),
        Need("a1", "l1", shape.a_bytes(t.m, k_a), t.a_buffers),
        Need("b1", "l1", shape.b_bytes(t.n, k_b), t.b_buffers),
    ]
    if shape.bias:
        found.append(Need("bias_l1", "l1", t.n * 4, BUFFERS))
        found.append(Need("bias_bt", "bt", t.n * 4, BUFFERS))
    return found


def overfull(found: Sequence[Need], target: Target) -> list[str]:
    """The spaces that buffers do not fit, in order."""
    used = dict.fromkeys(SPACES, 0)
    for need in found:
        used[need.space] += need.total
    return [space for space, size in used.items() if size and size > target.capacity(space)]


class Reads(NamedTuple):
    """What the copies of one factor meet: the share of bytes that HBM sends, and how many cores
    read the same panel at once."""

    cold: float = 0.0
    sharers: float = 1.0


@dataclass(frozen=True, slots=True)
class Hbm:
    """The copies of both factors, and the seconds that HBM is busy.

    `first` is the share of them in the first round of tiles, when little is in L2.
    """

    a: Reads
    b: Reads
    seconds: float
    first: float


ALONE = Hbm(Reads(), Reads(), 0.0, 0.0)
"""All from L2, each core for itself."""


class Deal(NamedTuple):
    """Tile rows and columns, the iterations that cores take in turn, cores, and groups."""

    rows: int
    cols: int
    tiles: int
    cores: int
    groups: int


class Prices:
    """Costs of one product on one target."""

    def __init__(self, shape: ProductShape, target: Target) -> None:
        self.shape = shape
        self.target = target
        self.cores = target.cube_cores
        self.left, self.right = shape.left_bytes(), shape.right_bytes()
        self.known: dict[tuple[object, ...], float] = {}
        self.traffic: dict[tuple[int, int, int, str, bool, int], Hbm] = {}
        self.deals: dict[tuple[int, int, str, int], Deal] = {}
        self.estimates: dict[MatmulTiling, float] = {}

    def _cost(self, key: tuple[object, ...], work: Work, reads: Reads) -> float:
        busy = cost(work, self.target, reads.cold, reads.sharers).busy
        found = self.known[key] = busy + FLAG_CYCLES
        return found

    def copies(self, m: int, n: int, k: int, hbm: Hbm = ALONE) -> tuple[float, float]:
        """Cycles of MTE2 for k columns of each factor."""
        shape, known = self.shape, self.known
        left, right = ("copy_a", m, k, hbm.a), ("copy_b", n, k, hbm.b)
        a, b = known.get(left), known.get(right)
        return (
            self._cost(left, shape.copy_a(m, k), hbm.a) if a is None else a,
            self._cost(right, shape.copy_b(n, k), hbm.b) if b is None else b,
        )

    def loads(self, m: int, n: int, k: int) -> tuple[float, float]:
        """Cycles of MTE1 for k columns of each factor."""
        shape, known = self.shape, self.known
        left, right = ("load_a", m, k), ("load_b", n, k)
        a, b = known.get(left), known.get(right)
        return (
            self._cost(left, shape.load_a(m, k), ALONE.a) if a is None else a,
            self._cost(right, shape.load_b(n, k), ALONE.b) if b is None else b,
        )

    def product(self, m: int, n: int, k: int) -> float:
        """Cycles of M."""
        key = ("mmad", m, n, k)
        found = self.known.get(key)
        if found is None:
            work = Work("mmad", m=m, n=n, k=k, size=self.shape.size)
            found = self._cost(key, work, ALONE.a)
        return found

    def drain(self, m: int, n: int) -> float:
        """Cycles of FIX for a tile of y."""
        key = ("fixpipe", m, n)
        found = self.known.get(key)
        if found is None:
            size = self.shape.out_size
            if self.target.arch in COUPLED:
                found = self.known[key] = drain_cycles(m, n, size, self.target)
            else:
                work = Work("fixpipe", bytes=m * n * size, rows=m, elements=m * n)
                found = self._cost(key, work, ALONE.a)
        return found

    def deal(self, t: MatmulTiling) -> Deal:
        """How the tiles of a tiling are dealt to the cores."""
        key = (t.m, t.n, t.stay, t.group)
        found = self.deals.get(key)
        if found is None:
            shape = self.shape
            tiles = tiles_of(shape, t)
            found = self.deals[key] = Deal(
                ceil_div(shape.m, t.m),
                ceil_div(shape.n, t.n),
                tiles,
                fewest_cores(tiles, self.cores),
                groups_of(shape, t),
            )
        return found

    def launch(self, cores: int) -> float:
        """Cycles until so many cores run."""
        return self.target.launch("cube", cores) * self.target.clock_mhz

    def bound(self, m: int, n: int) -> float:
        """Cycles that no tiling with m x n tiles is below: the work of each pipe over the cores.

        A tile that is cut short costs at least its share of a whole one.
        """
        shape = self.shape
        m, n, k = min(m, shape.m), min(n, shape.n), shape.k
        tiles = shape.batch * shape.m / m * shape.n / n
        per_core = max(tiles / self.cores, 1.0)
        copies = min(self.copies(m, n, k)) - 2 * FLAG_CYCLES
        cube = self.product(m, n, k) - 2 * FLAG_CYCLES
        work = per_core * max(cube, copies, self.drain(m, n) - 2 * FLAG_CYCLES)
        return work + self.launch(1)

    def least(self, m: int, n: int) -> float:
        """Cycles that no estimate of a tiling with m x n tiles is below when no panel stays.

        Parts of k cost at least their share, all reads at least what they do from L2.
        """
        shape, target = self.shape, self.target
        tiles = shape.batch * ceil_div(shape.m, m) * ceil_div(shape.n, n)
        c_buffers = 2 if 2 * m * n * 4 <= target.capacity("l0c") else 1
        m, n, k = min(m, shape.m), min(n, shape.n), shape.k
        out, latency = self.drain(m, n), target.l1_latency
        inner = max(self.product(m, n, k), sum(self.loads(m, n, k)))
        tile = max(inner, out, (inner + out + latency) / c_buffers, sum(self.copies(m, n, k)))
        core = ceil_div(tiles, self.cores) * tile + 2 * latency + out
        reads = (self.left + self.right) / target.hbm_l1_bandwidth
        return self.join(core, reads) + self.launch(fewest_cores(tiles, self.cores))

    def join(self, core: float, seconds: float) -> float:
        """The time of cores and HBM together, in cycles."""
        hbm, power = seconds * self.target.clock_hz, self.target.join_power
        top = max(core, hbm, 1.0)
        return top * ((core / top) ** power + (hbm / top) ** power) ** (1 / power)

    def estimate(self, t: MatmulTiling) -> float:
        """Cycles that a tiling is expected to take, with its launch."""
        found = self.estimates.get(t)
        if found is None:
            found = self.estimates[t] = self._estimate(t)
        return found

    def _estimate(self, t: MatmulTiling) -> float:
        hbm = self.hbm(t)
        core = self.tiled(t, hbm) if not t.stay else self.resident(t, hbm)
        deal = self.deal(t)
        part = 1 / ceil_div(deal.tiles, deal.cores)
        time = self.join(core * part, hbm.seconds * hbm.first)
        if part < 1:
            time += self.join(core * (1 - part), hbm.seconds * (1 - hbm.first))
        return time + self.launch(deal.cores)

    def tiled(self, t: MatmulTiling, hbm: Hbm) -> float:
        """Cycles of the busiest core when each tile of y brings both factors."""
        shape = self.shape
        m, n, k0, k1 = min(t.m, shape.m), min(t.n, shape.n), min(t.k0, shape.k), min(t.k1, shape.k)
        rounds, blocks = ceil_div(self.deal(t).tiles, self.cores), ceil_div(shape.k, k1)
        return self._pipeline(
            rounds * blocks,
            sum(self.copies(m, n, k1, hbm)),
            self._inner(t, (m, n, k0), k1, sum(self.loads(m, n, k0))),
            (blocks, rounds, self.drain(m, n)),
            t,
        )

    def resident(self, t: MatmulTiling, hbm: Hbm) -> float:
        """Cycles of the busiest core when one factor's panel stays while the other passes by."""
        shape = self.shape
        m, n, k0, k1 = min(t.m, shape.m), min(t.n, shape.n), min(t.k0, shape.k), min(t.k1, shape.k)
        deal = self.deal(t)
        passing = deal.cols if t.stay == "a" else deal.rows
        passing = min(passing, t.group or passing)
        rounds, blocks = ceil_div(deal.tiles, self.cores), ceil_div(shape.k, k1)
        side = 0 if t.stay == "a" else 1
        panel = self.copies(m, n, shape.k, hbm)[side]
        move = self.copies(m, n, k1, hbm)[1 - side]
        loads = self.loads(m, n, k0)
        load = loads[1 - side] if k0 >= shape.k else sum(loads)
        inner = self._inner(t, (m, n, k0), k1, load)
        tiles = rounds * passing
        core = self._pipeline(tiles * blocks, move, inner, (blocks, tiles, self.drain(m, n)), t)
        single = (t.a_buffers if t.stay == "a" else t.b_buffers) == 1
        wait = panel + self.target.l1_latency if single else panel
        return core + panel + (rounds - 1) * (wait if move * passing > 0 else 0.0)

    def _inner(self, t: MatmulTiling, tile: tuple[int, int, int], k1: int, load: float) -> float:
        """Cycles of MTE1 and M for k1 columns."""
        product = self.product(*tile)
        steps = ceil_div(k1, tile[2])
        return steps * max(product, load, (product + load) / t.l0_buffers)

    def _pipeline(
        self,
        blocks: int,
        move: float,
        inner: float,
        tiles: tuple[int, int, float],
        t: MatmulTiling,
    ) -> float:
        """Cycles for blocks that are brought, multiplied, and drained tile by tile.

        `tiles` has the blocks of a tile, the tiles, and the cycles to drain one.
        """
        each, count, out = tiles
        latency = self.target.l1_latency
        buffers = min(t.a_buffers if t.stay != "a" else 4, t.b_buffers if t.stay != "b" else 4)
        copying = blocks * move + inner
        drained = out + latency
        tile = max(each * inner + (drained if t.c_buffers == 1 else 0.0), out)
        tile = max(tile, (each * inner + drained) / t.c_buffers)
        multiplying = move + count * tile
        waiting = max(0, blocks - buffers) * (move + latency + inner) / buffers + move + inner
        return max(copying, multiplying, waiting) + 2 * latency + out

    def hbm(self, t: MatmulTiling) -> Hbm:
        """What comes from HBM: each factor once, more where what is read between is an L2."""
        key = (t.m, t.n, t.k1, t.stay, t.by_columns, t.strip or -t.group)
        found = self.traffic.get(key)
        if found is None:
            found = self.traffic[key] = self._hbm(t)
        return found

    def _hbm(self, t: MatmulTiling) -> Hbm:
        shape, target, deal = self.shape, self.target, self.deal(t)
        a, b = self.left, self.right
        y = shape.batch * shape.m * shape.n * shape.out_size
        capacity = target.l2 * target.l2_usable
        rows, cols = deal.rows, deal.cols
        times_a, times_b = self._times(t, (a, b, y), capacity, (rows, cols))
        moved_a = a * (deal.groups if t.stay == "a" else cols)
        moved_b = b * (deal.groups if t.stay == "b" else rows)
        shared = self._sharers(t, deal)
        read_a = a * times_a * row_loss(shape.copy_a(t.m, t.k1), target)
        read_b = b * times_b * row_loss(shape.copy_b(t.n, t.k1), target)
        read = a * times_a + b * times_b
        back = max(0.0, y - capacity * y / (read + y)) / target.hbm_write_efficiency
        tiles = min(deal.tiles, self.cores)
        early_a, early_b = tiles / shared[0] / rows, tiles / shared[1] / cols
        early = read_a / times_a * min(1.0, early_a / shape.batch)
        early += read_b / times_b * min(1.0, early_b / shape.batch)
        return Hbm(
            Reads(min(1.0, round(a * times_a / moved_a, 2)), shared[0]),
            Reads(min(1.0, round(b * times_b / moved_b, 2)), shared[1]),
            (read_a + read_b + back) / target.hbm_l1_bandwidth,
            early / (read_a + read_b + back),
        )

    def _sharers(self, t: MatmulTiling, deal: Deal) -> tuple[float, float]:
        """How many cores read the same panel of each factor in the first round."""
        rows, cols = deal.rows, deal.cols
        if t.stay:
            mine = float(min(deal.cores, deal.groups))
            other = max(1.0, deal.cores / deal.groups)
            return (mine, other) if t.stay == "a" else (other, mine)
        if t.by_columns:
            rows, cols = cols, rows
        tiles = min(deal.cores, rows * cols)
        strip = min(t.strip or strip_of(self.shape, t, self.target), rows)
        wide = ceil_div(tiles, strip)
        if wide > cols:  # a strip has fewer tiles than there are cores
            strip, wide = min(rows, ceil_div(tiles, cols)), cols
        along, across = tiles / min(strip, tiles), tiles / wide
        return (across, along) if t.by_columns else (along, across)

    def _times(
        self, t: MatmulTiling, sizes: tuple[int, int, int], capacity: float, counts: tuple[int, int]
    ) -> tuple[int, int]:
        """How often each factor is read from HBM."""
        a, b, y = sizes
        rows, cols = counts
        if a + b + y <= capacity or self.shape.batch > 1:
            return 1, 1
        if t.stay == "a":
            return 1, 1 if b <= capacity / 2 else ceil_div(rows, self.cores)
        if t.stay == "b":
            return 1 if a <= capacity / 2 else ceil_div(cols, self.cores), 1
        strip = t.strip or strip_of(self.shape, t, self.target)
        if t.by_columns:
            held = b * min(1.0, strip / cols) + a / rows
            return (
                1 if a <= capacity / 2 else ceil_div(cols, strip)
            ), 1 if held < capacity else rows
        held = a * min(1.0, strip / rows) + b / cols
        return (1 if held < capacity else cols), 1 if b <= capacity / 2 else ceil_div(rows, strip)


def strip_of(shape: ProductShape, t: MatmulTiling, target: Target) -> int:
    """Tile rows (or columns) whose factors take half of L2: they stay as the others pass."""
    if t.by_columns:
        panel, count = t.n * shape.k * shape.size, ceil_div(shape.n, t.n)
    else:
        panel, count = t.m * shape.k * shape.size, ceil_div(shape.m, t.m)
    return max(1, min(count, int(target.l2 * target.l2_usable / 2 // panel)))


def balanced_strip(shape: ProductShape, m: int, n: int, target: Target) -> int:
    """Tile rows of a strip in which the cores read the fewest bytes that others read too."""
    rows, cols = ceil_div(shape.m, m), ceil_div(shape.n, n)
    cores = min(target.cube_cores, rows * cols)
    most = strip_of(shape, MatmulTiling(m, n, BLOCK, BLOCK, 1), target)
    return max(1, min(rows, most, round((cores * n / m) ** 0.5)))


def tiles_of(shape: ProductShape, t: MatmulTiling) -> int:
    """The iterations that are dealt to the cores."""
    rows, cols = ceil_div(shape.m, t.m), ceil_div(shape.n, t.n)
    count = {"a": rows, "b": cols, "": rows * cols}[t.stay]
    return shape.batch * count * groups_of(shape, t)


def groups_of(shape: ProductShape, t: MatmulTiling) -> int:
    """How many groups of tiles pass by each panel that stays."""
    if not t.group:
        return 1
    return ceil_div(*((shape.n, t.n * t.group) if t.stay == "a" else (shape.m, t.m * t.group)))


def cores_of(shape: ProductShape, t: MatmulTiling, target: Target) -> int:
    """The fewest cores that do the tiles in as many rounds as all cores would."""
    return fewest_cores(tiles_of(shape, t), target.cube_cores)


def tile_key(t: MatmulTiling) -> tuple[int, ...]:
    """The order of equally fast tilings: larger tiles, longer k, fewer buffers, nothing special."""
    return (
        -t.m * t.n,
        -t.m,
        -t.k0,
        -t.k1,
        t.a_buffers + t.b_buffers + t.l0_buffers + t.c_buffers,
        len(t.stay),
        t.group,
        int(t.by_columns),
        t.strip,
    )
