"""Tile shapes of convolutions: on the cube by price, by taps the most rows that fit UB."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from ge_xdsl.dialects.aicore.encoding import copy_instructions
from ge_xdsl.dialects.aicore.maps import LANES, Geometry
from ge_xdsl.dialects.aicore.types import BLOCK_BYTES, UB_ALIGN, padded
from ge_xdsl.errors import CompileError
from ge_xdsl.lowering.tiling import BLOCK, BUFFERS, MatmulTiling, candidates
from ge_xdsl.targets.cost import Work, ceil_div, cost
from ge_xdsl.targets.target import Target


@dataclass(frozen=True, slots=True)
class ConvShape:
    """A convolution of `batch` images (times groups) as products of m x k by k x n."""

    batch: int
    n: int
    blocks: int
    """Channel blocks of one group."""
    size: int
    """Bytes of an element of the map."""
    geometry: Geometry
    bias: bool
    groups: int = 1

    @property
    def m(self) -> int:
        return self.geometry.pixels

    @property
    def out_size(self) -> int:
        return self.size

    @property
    def k_step(self) -> int:
        """What k1 is a multiple of."""
        return self.depth

    @property
    def by_channels(self) -> bool:
        """Whether k1 is whole channel blocks, whatever k0 is."""
        return True

    @property
    def depth(self) -> int:
        """Columns of the im2col matrix per channel block."""
        return self.geometry.taps * BLOCK_BYTES // self.size

    @property
    def k(self) -> int:
        return self.blocks * self.depth

    def map_bytes(self, m: int) -> int:
        """L1 bytes of a channel block of what m pixels need."""
        return self.geometry.most_rows(m) * self.geometry.size[1] * BLOCK_BYTES

    def left_bytes(self) -> int:
        """Bytes of the maps in GM, one for all groups of an image being split among them."""
        high, wide = self.geometry.size
        return self.batch * self.blocks * high * wide * BLOCK_BYTES

    def right_bytes(self) -> int:
        """Bytes of the filter in GM."""
        return self.groups * self.k * padded(self.n, BLOCK) * self.size

    def a_bytes(self, m: int, k1: int) -> int:
        """Bytes of the part of a map that m pixels need, in L1."""
        return ceil_div(k1, self.depth) * self.map_bytes(m)

    def b_bytes(self, n: int, k1: int) -> int:
        """Bytes of a tile of the filter in L1."""
        return n * k1 * self.size

    def copy_a(self, m: int, k1: int) -> Work:
        """Bringing what m pixels need of the channel blocks of k1 columns to L1."""
        blocks = ceil_div(k1, self.depth)
        run = self.map_bytes(m)
        split = copy_instructions(blocks, run, prod(self.geometry.size) * BLOCK_BYTES)
        return Work("gm_l1", bytes=blocks * run, rows=blocks, instructions=split)

    def copy_b(self, n: int, k1: int) -> Work:
        """Bringing k1 rows and n columns of the filter to L1: runs of whole blocks."""
        count, blocks = k1 * padded(n, BLOCK) * self.size, ceil_div(k1 * self.size, BLOCK_BYTES)
        runs = [padded(width, BLOCK) * BLOCK_BYTES for width in (n, self.n)]
        split = copy_instructions(blocks, *runs)
        return Work("gm_l1", bytes=count, rows=blocks, instructions=split)

    def load_a(self, m: int, k0: int) -> Work:
        """Unfolding m pixels and k0 columns to L0A."""
        return Work(
            "load3d",
            bytes=padded(m, BLOCK) * padded(k0, BLOCK) * self.size,
            stride=self.geometry.stride[1],
            lines=ceil_div(BLOCK, self.geometry.out[1]),
        )

    def load_b(self, n: int, k0: int) -> Work:
        """Bringing k0 rows and n columns of the filter from L1 to L0B."""
        return Work("l1_l0b", bytes=padded(n, BLOCK) * padded(k0, BLOCK) * self.size)


def conv_tiling(shape: ConvShape, target: Target) -> MatmulTiling:
    """The cheapest tiling that fits; of equal ones the first with the largest tile.

    Raises CompileError when none fits.
    """
    best: tuple[float, int, MatmulTiling] | None = None
    for m in candidates(shape.m):
        for n in candidates(shape.n):
            tiling = _fill(shape, m, n, target)
            if tiling is None:
                continue
            key = (_cycles(shape, tiling, target), -m * n)
            if best is None or key < best[:2]:
                best = (*key, tiling)
    if best is None:
        raise CompileError(f"no tile of the map fits the memories of {target.name}, expected one")
    return best[2]


def _fill(shape: ConvShape, m: int, n: int, target: Target) -> MatmulTiling | None:
    if m * n * 4 > target.capacity("l0c"):
        return None
    if shape.bias and n * 4 * BUFFERS > target.capacity("bt"):
        return None
    per_l0 = min(
        target.capacity("l0a") // (m * shape.size * BUFFERS),
        target.capacity("l0b") // (n * shape.size * BUFFERS),
    )
    k0 = min(per_l0 // BLOCK * BLOCK, shape.k)
    room = target.capacity("l1") - (n * 4 * BUFFERS if shape.bias else 0)
    each = (shape.map_bytes(m) + shape.depth * n * shape.size) * BUFFERS
    blocks = min(room // each, shape.blocks)
    if not k0 or not blocks:
        return None
    double = 2 * m * n * 4 <= target.capacity("l0c")
    return MatmulTiling(m, n, k0, blocks * shape.depth, 2 if double else 1)


def _cycles(shape: ConvShape, tiling: MatmulTiling, target: Target) -> float:
    """A bound on the cycles of the most loaded core: rounds of tiles, the slowest pipe each."""
    m, n = min(tiling.m, shape.m), min(tiling.n, shape.n)
    tiles = shape.batch * ceil_div(shape.m, tiling.m) * ceil_div(shape.n, tiling.n)
    geometry, size = shape.geometry, shape.size
    blocks = tiling.k1 // shape.depth
    cube = cost(Work("mmad", m=m, n=n, k=tiling.k0, size=size), target).busy
    part = Work(
        "load3d",
        bytes=padded(m, BLOCK) * tiling.k0 * size,
        stride=geometry.stride[1],
        lines=ceil_div(BLOCK, geometry.out[1]),
    )
    load = cost(part, target).busy
    load += cost(Work("l1_l0b", bytes=padded(n, BLOCK) * tiling.k0 * size), target).busy
    move = cost(Work("gm_l1", bytes=blocks * shape.map_bytes(m), rows=blocks), target).busy
    weights = tiling.k1 * padded(n, BLOCK) * size
    move += cost(Work("gm_l1", bytes=weights, rows=tiling.k1 * size // BLOCK_BYTES), target).busy
    out = cost(Work("fixpipe", bytes=m * n * size, elements=m * n), target).busy
    steps = ceil_div(shape.k, tiling.k0) * max(cube, load)
    per_tile = max(steps, ceil_div(shape.k, tiling.k1) * move)
    drain = out if tiling.c_buffers == 1 else 0.0
    rounds = ceil_div(tiles, target.cube_cores)
    return rounds * max(per_tile + drain, out) + move + target.l1_latency + out


def tap_bytes(geometry: Geometry, lines: int, size: int, out: int, weights: bool) -> int:
    """UB bytes of a tile of `lines` output rows of 8 channels, computed in f32."""
    rows = (lines - 1) * geometry.stride[0] + geometry.span
    pixels = lines * geometry.out[1]
    taken = LANES * rows * padded(geometry.size[1] * size, UB_ALIGN) * BUFFERS
    if size != 4:
        taken += LANES * rows * padded(geometry.size[1] * 4, UB_ALIGN)
    taken += rows * geometry.width * LANES * 4
    taken += pixels * LANES * 4 + LANES * padded(pixels * 4, UB_ALIGN)
    taken += LANES * padded(pixels * out, UB_ALIGN) * BUFFERS
    taken += LANES * padded(pixels * 4, UB_ALIGN) * 2  # factors or a bias, repeated
    if weights:
        taken += LANES * padded(geometry.taps * 4, UB_ALIGN) * 4 + geometry.taps * LANES * 4
    return taken


def tap_lines(
    geometry: Geometry, planes: int, size: int, out: int, weights: bool, target: Target
) -> int:
    """Output rows of a tile: the most that fit UB, cut to give all cores the same.

    `planes` counts groups of 8 channels. Raises CompileError when one row does not fit.
    """
    capacity, high = target.capacity("ub"), geometry.out[0]
    most = high
    while most > 1 and tap_bytes(geometry, most, size, out, weights) > capacity:
        most = max(1, most * 3 // 4)
    taken = tap_bytes(geometry, most, size, out, weights)
    if taken > capacity:
        raise CompileError(
            f"an output row of 8 channels takes {taken} bytes of UB, expected at most {capacity}"
        )
    wanted = ceil_div(target.vector_cores, planes)
    return ceil_div(high, max(ceil_div(high, most), min(high, wanted)))
