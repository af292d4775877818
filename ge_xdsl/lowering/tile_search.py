"""The fastest tiling of a matrix product that is found among the legal ones.

    pairs     tile sizes m x n, by their lower bound; those beyond the best estimate are not tried
    variants  of a pair: k0, k1, buffers, which panel stays, the order of the tiles of y
    finalists the best estimates and the plain tiling, timed by the timing model

How much is tried is a number of candidates, never a time, so the result is the same everywhere.
Of equally fast tilings the first by `tile_key` is taken.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Callable, Iterator
from typing import TypeAlias

from ge_xdsl.dialects.aicore.structure import KernelOp
from ge_xdsl.dialects.aicore.types import padded
from ge_xdsl.errors import CompileError
from ge_xdsl.interpreters.cycles import time_kernel
from ge_xdsl.lowering.conv_tiling import ConvShape, conv_tiling
from ge_xdsl.lowering.drain import without_table
from ge_xdsl.lowering.remembered import Remembered
from ge_xdsl.lowering.sync import sync_kernel
from ge_xdsl.lowering.tile_choice import Choice, cut
from ge_xdsl.lowering.tile_price import (
    Prices,
    ProductShape,
    balanced_strip,
    k_unit,
    needs,
    overfull,
    panel_k,
    strip_of,
    tile_key,
)
from ge_xdsl.lowering.tiling import BLOCK, BUFFERS, MatmulShape, MatmulTiling, matmul_tiling
from ge_xdsl.targets.cost import ceil_div
from ge_xdsl.targets.target import Target

Build: TypeAlias = Callable[[MatmulTiling], KernelOp]
Shape: TypeAlias = MatmulShape | ConvShape

SIZES = (16, 32, 48, 64, 96, 128, 160, 192, 256, 320, 384)
"""Tile sizes that are tried for every extent."""
MAX_TILE = 512
PAIRS = 8
"""Tile sizes m x n of which all variants are priced."""
STRIPS = (1, 2, 3, 4, 6, 8, 12)
"""Widths of strips that are tried, below what L2 holds."""
TURNED = 2
"""Tilings that are tried in other orders of the tiles."""
FINALISTS = 2
"""Tilings that the timing model is asked about, besides the plain one."""
WORTH = 0.01
"""Share of the time that an estimate must promise before the timing model is asked."""
ALIKE = 1e-6
"""Relative difference of two times that counts as none."""
_KNOWN: Remembered[MatmulTiling] = Remembered()


def best_tiling(
    what: tuple[object, Shape], target: Target, build: Build, tile: Choice | None = None
) -> MatmulTiling:
    """The fastest tiling found, of those with a `tile` if it is given; remembered.

    `what` is the product, which tells kernels apart, and its sizes. `build` makes its kernel.
    Raises CompileError when no tiling fits.
    """
    product, shape = what[0], without_table(what[1], target)
    found = _KNOWN.get((product, tile), target)
    if found is not None:
        return found
    among = finalists(shape, target) if tile is None else with_tile(shape, tile, target)
    return _KNOWN.put((product, tile), target, fastest(among, target, build))


def plain_tiling(shape: Shape, target: Target) -> MatmulTiling:
    """Two buffers of everything, the tile of y by a simple bound."""
    if isinstance(shape, ConvShape):
        return conv_tiling(shape, target)
    return matmul_tiling(shape, target)


def finalists(shape: Shape, target: Target) -> list[MatmulTiling]:
    """The plain tiling, then the best estimates that promise to be worth a look."""
    plain = plain_tiling(shape, target)
    prices = Prices(shape, target)
    limit = prices.estimate(plain) * (1 - WORTH)
    found: dict[tuple[int, int, str], MatmulTiling] = {}
    for cycles, t in ranking(shape, target, prices):
        if cycles > limit or len(found) == FINALISTS:
            break
        found.setdefault((t.m, t.n, t.stay), t)
    among = [plain, *(t for t in found.values() if t != plain)]
    if shape.left_bytes() + shape.right_bytes() > target.l2:
        # what a round of all cores reads decides, and estimates know least of that
        turned = [t for t in square(shape, plain, target) if t not in among]
        among += sorted(turned, key=prices.estimate)[:1]
    return among


def square(shape: Shape, tiling: MatmulTiling, target: Target) -> Iterator[MatmulTiling]:
    """The tiling with strips that make a round of all cores whole rows and columns of tiles."""
    rows, cols = ceil_div(shape.m, tiling.m), ceil_div(shape.n, tiling.n)
    if tiling.stay or rows == 1 or cols == 1:
        return
    for strip in range(2, min(rows, target.cube_cores // 2) + 1):
        if target.cube_cores % strip == 0:
            yield tiling._replace(strip=strip)


def with_tile(shape: Shape, tile: Choice, target: Target) -> list[MatmulTiling]:
    """The tilings with a tile that have the best estimates.

    Raises CompileError when there is none.
    """
    m, n, k0 = cut(tile, shape)
    prices = Prices(shape, target)
    found = [t for t in variants(shape, (m, n), target, k0) if t.k0 == k0]
    found += [v for t in found for v in ordered(shape, t, target)]
    tried = {t: round(prices.estimate(t), 3) for t in found}
    if not tried:
        raise CompileError(
            f"tile {m},{n},{k0} does not fit the memories of {target.name}, expected one that does"
        )
    return [t for _, t in _sorted(tried)[:FINALISTS]]


def ranking(
    shape: ProductShape, target: Target, prices: Prices | None = None
) -> list[tuple[float, MatmulTiling]]:
    """Estimated cycles and tiling of all that were priced, the best first."""
    prices = prices or Prices(shape, target)
    tried: dict[MatmulTiling, float] = {}
    best = float("inf")
    for bound, tiling in pairs(shape, prices):
        if bound >= best:
            continue
        for variant in variants(shape, (tiling.m, tiling.n), target):
            tried[variant] = round(prices.estimate(variant), 3)
        best = min(tried.values())
    for _, tiling in _sorted(tried)[:TURNED]:
        for variant in ordered(shape, tiling, target):
            tried[variant] = round(prices.estimate(variant), 3)
    return _sorted(tried)


def _sorted(tried: dict[MatmulTiling, float]) -> list[tuple[float, MatmulTiling]]:
    return sorted(((cycles, t) for t, cycles in tried.items()), key=_place)


def _place(item: tuple[float, MatmulTiling]) -> tuple[float, tuple[int, ...]]:
    return item[0], tile_key(item[1])


def pairs(shape: ProductShape, prices: Prices) -> list[tuple[float, MatmulTiling]]:
    """Bound and simplest tiling of the `PAIRS` tile sizes with the best estimates, in order.

    Tile sizes are gone through by the least that a simple tiling of them is estimated at, until
    none of the rest can be among the best.
    """
    target, cores = prices.target, prices.target.cube_cores
    room = target.capacity("l0c") // 4
    least = [
        (round(prices.least(m, n), 3), -m * n, m, n)
        for m in sizes(shape.m, cores)
        for n in sizes(shape.n, cores)
        if m * n <= room
    ]
    found: list[tuple[float, MatmulTiling]] = []
    for cycles, _, m, n in sorted(least):
        if len(found) == PAIRS and cycles > found[-1][0]:
            break
        simple = [(round(prices.estimate(t), 3), t) for t in simplest(shape, m, n, target)]
        if simple:
            insort(found, min(simple, key=_place), key=_place)
            del found[PAIRS:]
    return [(prices.bound(t.m, t.n), t) for _, t in found]


def simplest(shape: ProductShape, m: int, n: int, target: Target) -> Iterator[MatmulTiling]:
    """Two buffers of all, and four in L1; one where two do not fit. Nothing when no k fits."""
    unit = k_unit(shape)
    c_buffers = 2 if 2 * m * n * 4 <= target.capacity("l0c") else 1
    for l0_buffers, l1_buffers in ((2, 2), (2, 4), (1, 1)):
        room = _l0_room(shape, m, n, l0_buffers, target)
        k0 = min(room // unit * unit, padded(shape.k, unit))
        if not k0:
            continue
        strip = balanced_strip(shape, m, n, target)
        buffers = (c_buffers, l1_buffers, l1_buffers, l0_buffers)
        tiling = MatmulTiling(m, n, k0, k0, *buffers, strip=strip)
        k1 = _longest(shape, tiling, target)
        if k1:
            yield tiling._replace(k1=k1)
            if l1_buffers > 2 or k1 >= shape.k:
                return


def _l0_room(shape: ProductShape, m: int, n: int, buffers: int, target: Target) -> int:
    """The most columns of k that L0A and L0B hold."""
    each = shape.size * buffers
    return min(target.capacity("l0a") // (m * each), target.capacity("l0b") // (n * each))


def sizes(extent: int, cores: int) -> list[int]:
    """Tile sizes for an extent: common ones, and those that divide it evenly, also over cores."""
    whole = padded(extent, BLOCK)
    found = {size for size in SIZES if size < whole}
    for parts in (1, 2, 3, 4, 5, 6, 8, cores // 2, cores, 2 * cores):
        size = padded(ceil_div(extent, max(1, parts)), BLOCK)
        if size <= MAX_TILE:
            found.add(size)
    return sorted(found)


def variants(
    shape: ProductShape, tile: tuple[int, int], target: Target, only: int = 0
) -> Iterator[MatmulTiling]:
    """The legal tilings with an m x n tile, and a k0 of `only` unless that is 0."""
    m, n = tile
    c_buffers = 2 if 2 * m * n * 4 <= target.capacity("l0c") else 1
    if m * n * 4 > target.capacity("l0c"):
        return
    for l0_buffers in (2, 1):
        room = _l0_room(shape, m, n, l0_buffers, target)
        for k0 in depths(shape, room) if not only else [only] * (only <= room):
            if l0_buffers == 1 and k0 < shape.k and not only:
                continue
            strip = balanced_strip(shape, m, n, target)
            first = MatmulTiling(m, n, k0, k0, c_buffers, l0_buffers=l0_buffers, strip=strip)
            yield from tiled(shape, first, target)
            yield from resident(shape, first, target)


def depths(shape: ProductShape, room: int) -> list[int]:
    """Values of k0 up to `room`: the longest, an even share, a power of two."""
    unit = k_unit(shape)
    whole = padded(shape.k, unit)
    most = min(room // unit * unit, whole)
    if most < unit:
        return []
    even = padded(ceil_div(shape.k, ceil_div(whole, most)), unit)
    return sorted({most, even, 1 << (most.bit_length() - 1)}, reverse=True)


def tiled(shape: ProductShape, first: MatmulTiling, target: Target) -> Iterator[MatmulTiling]:
    """k1 and the L1 buffers for a k0: one to four buffers, each as long as fits."""
    for buffers in (2, 3, 4, 1):
        one = first._replace(a_buffers=buffers, b_buffers=buffers)
        k1 = _longest(shape, one, target)
        if not k1 or (buffers == 1 and k1 < shape.k and _longest(shape, first, target)):
            continue
        parts = ceil_div(shape.k, k1)
        even = min(k1, padded(ceil_div(shape.k, parts), _unit(shape, one.k0)))
        for length in dict.fromkeys((k1, even)):
            yield one._replace(k1=length)


def _unit(shape: ProductShape, k0: int) -> int:
    """What k1 is a multiple of: k0, where a map does not ask for whole channel blocks."""
    return k0 if not shape.by_channels else shape.k_step


def _longest(shape: ProductShape, t: MatmulTiling, target: Target) -> int:
    """The largest k1 that fits L1 (and BT), 0 for none."""
    room = target.capacity("l1")
    if shape.bias:
        room -= t.n * 4 * BUFFERS
        if t.n * 4 * BUFFERS > target.capacity("bt"):
            return 0
    unit, whole = _unit(shape, t.k0), panel_k(shape)

    def taken(k1: int) -> int:
        return shape.a_bytes(t.m, k1) * t.a_buffers + shape.b_bytes(t.n, k1) * t.b_buffers

    if taken(whole) <= room:
        return whole
    return room // taken(unit) * unit


def ordered(shape: ProductShape, tiling: MatmulTiling, target: Target) -> Iterator[MatmulTiling]:
    """The tiling in other orders of the tiles: strips of rows or of columns, wide or narrow."""
    rows, cols = ceil_div(shape.m, tiling.m), ceil_div(shape.n, tiling.n)
    if tiling.stay or rows == 1 or cols == 1:
        return
    for by_columns in (False, True):
        turned = tiling._replace(by_columns=by_columns)
        most = strip_of(shape, turned, target)
        for strip in STRIPS:
            if strip < most:
                yield turned._replace(strip=strip)
        yield turned._replace(strip=most)


def resident(shape: ProductShape, first: MatmulTiling, target: Target) -> Iterator[MatmulTiling]:
    """Tilings that keep one factor's panel in L1; the other comes whole, or by k0."""
    whole = panel_k(shape)
    for stay in ("a", "b"):
        count, step = (shape.n, first.n) if stay == "a" else (shape.m, first.m)
        if count <= step:
            continue
        for k1 in dict.fromkeys((whole, first.k0)):
            if k1 % shape.k_step and k1 < whole and stay == "b":
                continue
            for panel, passing in ((2, 2), (1, 2), (1, 4)):
                a, b = (panel, passing) if stay == "a" else (passing, panel)
                tiling = first._replace(k1=k1, stay=stay, a_buffers=a, b_buffers=b, strip=0)
                if not overfull(needs(shape, tiling), target):
                    yield from (tiling._replace(group=n) for n in groups(shape, tiling, target))
                    break


def groups(shape: ProductShape, t: MatmulTiling, target: Target) -> list[int]:
    """Tiles to pass by a panel: all, or a part that gives every core one where panels are few."""
    rows, cols = ceil_div(shape.m, t.m), ceil_div(shape.n, t.n)
    panels, passing = (rows, cols) if t.stay == "a" else (cols, rows)
    parts = target.cube_cores // (panels * shape.batch)
    part = ceil_div(passing, parts) if parts > 1 else 0
    return [0, part] if 1 < part < passing else [0]


def fastest(found: list[MatmulTiling], target: Target, build: Build) -> MatmulTiling:
    """The one that the timing model says is the fastest, the first of equals."""
    best, least = found[0], float("inf")
    for tiling in found if len(found) > 1 else ():
        time = timed(tiling, target, build)
        if time < least * (1 - ALIKE):
            best, least = tiling, time
    return best


def timed(tiling: MatmulTiling, target: Target, build: Build) -> float:
    """Microseconds of a product's kernel by the timing model."""
    kernel = build(tiling)
    sync_kernel(kernel, thorough=False)
    return time_kernel(kernel, target).us
