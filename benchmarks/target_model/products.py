"""Cube kernels: matrix products and convolutions with a given tile, split and depth."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from xdsl.ir import Block, SSAValue

from benchmarks.target_model.build import add, alloc, arguments, finish, loop
from ge_xdsl.dialects.aicore.cube import FixpipeOp, MmadOp
from ge_xdsl.dialects.aicore.maps import CopyMapL1Op, Geometry, Load3dOp
from ge_xdsl.dialects.aicore.move import CopyGmL1Op, LoadL0aOp, LoadL0bOp
from ge_xdsl.dialects.aicore.op import Index
from ge_xdsl.dialects.aicore.structure import ForOp, KernelOp
from ge_xdsl.dialects.aicore.types import BLOCK_BYTES, Tile, padded
from ge_xdsl.targets import Target

SIZES = {"f16": 2, "bf16": 2, "f32": 4, "i8": 1}


@dataclass(frozen=True, slots=True)
class Plan:
    """How a product is split.

    `tile` is m, n and k of an L0 tile, `steps` L0 tiles lie in an L1 tile. `grid` gives each core
    one block of the result, gone through row by row, or column by column (`down`); without it
    tiles are dealt in turn, by strips of `strip` tile rows. Buffers of L1 are two, or four when
    `steps` is 1, unless `single`.
    """

    tile: tuple[int, int, int]
    steps: int = 4
    grid: tuple[int, int] | None = None
    down: bool = False
    strip: int = 0
    single: bool = False
    unit_flag: bool = False
    element: str = "f16"
    out: str = "f16"
    cores: int = 0

    @property
    def l1_buffers(self) -> int:
        """Buffers of each factor in L1."""
        return 1 if self.single else 4 if self.steps == 1 else 2


@dataclass(slots=True)
class Cell:
    """Where the body of one output tile stands, and its origins and valid sizes."""

    body: Block
    origins: tuple[SSAValue, SSAValue]
    sizes: tuple[SSAValue, SSAValue]
    image: list[Index] = field(default_factory=list[Index])


def product_kernel(chip: Target, m: int, n: int, k: int, plan: Plan) -> KernelOp:
    """y = a b with row-major factors."""
    body = arguments(
        Tile((m, k), plan.element, "gm"),
        Tile((k, n), plan.element, "gm"),
        Tile((m, n), plan.out, "gm"),
    )
    cell, blocks = tile_cell(body, m, n, plan, plan.cores or chip.cube_cores)
    c = accumulate(cell, body.args[0], body.args[1], k, plan, chip)
    drain(cell, c, body.args[2], plan)
    return finish("product", "cube", blocks, body)


def tile_cell(body: Block, m: int, n: int, plan: Plan, cores: int) -> tuple[Cell, int]:
    """The loops over output tiles; the number of cores that take part."""
    tm, tn, _ = plan.tile
    if plan.grid is None:
        over = loop(body, [m, n], [tm, tn], ["m", "n"], True, plan.strip)
        count = -(-m // tm) * -(-n // tn)
        origins, sizes = (over.origin(0), over.origin(1)), (over.length(0), over.length(1))
        return Cell(over.body, origins, sizes), min(cores, count)
    rows, cols = plan.grid
    steps = [padded(-(-m // rows), tm), padded(-(-n // cols), tn)]
    over = loop(body, [m, n], steps, ["gm", "gn"], True)
    inner = inner_tiles(over, (0, 1), (tm, tn), plan.down)
    return inner, -(-m // steps[0]) * -(-n // steps[1])


def inner_tiles(over: ForOp, dims: tuple[int, int], tile: tuple[int, int], down: bool) -> Cell:
    """The loop over the tiles of a core's block."""
    order = dims[::-1] if down else dims
    steps = tile[::-1] if down else tile
    extents = [over.length(i) for i in order]
    bases = [over.origin(i) for i in order]
    inner = loop(over.body, extents, list(steps), ["m", "n"], False, 0, bases)
    i, j = (1, 0) if down else (0, 1)
    return Cell(inner.body, (inner.origin(i), inner.origin(j)), (inner.length(i), inner.length(j)))


def accumulate(cell: Cell, a: SSAValue, b: SSAValue, k: int, plan: Plan, chip: Target) -> SSAValue:
    """Bring panels of both factors to L1 and L0 and multiply; the tile of sums in L0C."""
    tm, tn, tk = plan.tile
    sums = "i32" if plan.element == "i8" else "f32"
    c_buffers = 2 if tm * tn * 4 * 2 <= chip.l0c else 1
    c = alloc(cell.body, (tm, tn), sums, "l0c", layout="nz", buffers=c_buffers)
    depth = tk * plan.steps
    outer = loop(cell.body, [k], [depth], ["k1"])
    (m, n), (vm, vn) = cell.origins, cell.sizes
    k1, vk1 = outer.origin(0), outer.length(0)
    buffers = plan.l1_buffers
    a1 = alloc(outer.body, (tm, depth), plan.element, "l1", layout="nz", buffers=buffers)
    add(outer.body, CopyGmL1Op.build(a, a1, offsets=[m, k1], sizes=[vm, vk1]))
    b1 = alloc(outer.body, (depth, tn), plan.element, "l1", layout="nz", buffers=buffers)
    add(outer.body, CopyGmL1Op.build(b, b1, offsets=[k1, n], sizes=[vk1, vn]))
    inner = loop(outer.body, [vk1], [tk], ["k0"])
    k0, vk0 = inner.origin(0), inner.length(0)
    a0 = alloc(inner.body, (tm, tk), plan.element, "l0a", layout=chip.l0a_layout, buffers=2)
    add(inner.body, LoadL0aOp.build(a1, a0, offsets=[0, k0], sizes=[vm, vk0]))
    b0 = alloc(inner.body, (tk, tn), plan.element, "l0b", layout="zn", buffers=2)
    add(inner.body, LoadL0bOp.build(b1, b0, offsets=[k0, 0], sizes=[vk0, vn]))
    multiply(inner.body, (a0, b0, c), [vm, vn, vk0], [k1, k0], plan)
    return c


def multiply(
    body: Block,
    tiles: tuple[SSAValue, SSAValue, SSAValue],
    sizes: Sequence[Index],
    at: Sequence[SSAValue],
    plan: Plan,
) -> None:
    """One mmad that begins with zero where all indices of `at` are zero."""
    flag = plan.unit_flag or None
    add(body, MmadOp.build(*tiles, sizes=sizes, at=at, init="zero", unit_flag=flag))


def drain(cell: Cell, c: SSAValue, y: SSAValue, plan: Plan) -> None:
    """The fixpipe of an output tile."""
    offsets: list[Index] = [*cell.image, *cell.origins]
    quant = "deq_f16" if plan.element == "i8" else None
    add(
        cell.body,
        FixpipeOp.build(
            c,
            y,
            offsets=offsets,
            sizes=list(cell.sizes),
            quant=quant,
            scale=1.0 if quant else None,
            unit_flag=plan.unit_flag or None,
        ),
    )


def conv_kernel(
    chip: Target, images: int, blocks: int, outputs: int, geometry: Geometry, plan: Plan
) -> KernelOp:
    """A convolution of a map in channel blocks with a filter in whole blocks, no bias.

    `plan.grid` splits images and output channels; without it tiles are dealt in turn.
    """
    c0 = BLOCK_BYTES // SIZES[plan.element]
    high, wide = geometry.size
    k, m = blocks * geometry.taps * c0, geometry.pixels
    body = arguments(
        Tile((images, blocks, high * wide * c0), plan.element, "gm"),
        Tile((k, outputs), plan.element, "gm", "zn"),
        Tile((images, m, outputs), plan.out, "gm"),
    )
    cell, used = _conv_cell(body, images, m, outputs, plan, plan.cores or chip.cube_cores)
    c = _conv_sums(cell, body, k, geometry, plan, chip)
    drain(cell, c, body.args[2], plan)
    return finish("conv", "cube", used, body)


def _conv_cell(
    body: Block, images: int, m: int, n: int, plan: Plan, cores: int
) -> tuple[Cell, int]:
    """The loops over output tiles of all images."""
    tm, tn, _ = plan.tile
    if plan.grid is None:
        over = loop(body, [images, m, n], [1, tm, tn], ["i", "m", "n"], True)
        origins, sizes = (over.origin(1), over.origin(2)), (over.length(1), over.length(2))
        count = images * -(-m // tm) * -(-n // tn)
        return Cell(over.body, origins, sizes, [over.origin(0)]), min(cores, count)
    rows, cols = plan.grid
    step = padded(-(-n // cols), tn)
    over = loop(body, [images, m, n], [1, m, step], ["i", "gm", "gn"], True)
    cell = inner_tiles(over, (1, 2), (tm, tn), plan.down)
    cell.image = [over.origin(0)]
    return cell, min(rows, images) * -(-n // step)


def _conv_sums(
    cell: Cell, args: Block, k: int, geometry: Geometry, plan: Plan, chip: Target
) -> SSAValue:
    """The sums of an output tile, map rows unfolded on the way to L0A."""
    tm, tn, tk = plan.tile
    c0 = BLOCK_BYTES // SIZES[plan.element]
    per_block = geometry.taps * c0
    depth = padded(tk * plan.steps, per_block)
    c = alloc(cell.body, (tm, tn), "f32", "l0c", layout="nz")
    outer = loop(cell.body, [k], [depth], ["k1"])
    (m, n), (vm, vn) = cell.origins, cell.sizes
    k1, vk1 = outer.origin(0), outer.length(0)
    columns = geometry.most_rows(tm) * geometry.size[1] * c0
    shape, buffers = (depth // per_block, columns), plan.l1_buffers
    a1 = alloc(outer.body, shape, plan.element, "l1", buffers=buffers)
    options = geometry.options()
    at: list[Index] = [*cell.image, m, k1]
    add(
        outer.body,
        CopyMapL1Op.build(args.args[0], a1, offsets=at, sizes=[vm, vk1], **options),
    )
    b1 = alloc(outer.body, (depth, tn), plan.element, "l1", layout="zn", buffers=buffers)
    add(outer.body, CopyGmL1Op.build(args.args[1], b1, offsets=[k1, n], sizes=[vk1, vn]))
    inner = loop(outer.body, [vk1], [tk], ["k0"])
    k0, vk0 = inner.origin(0), inner.length(0)
    a0 = alloc(inner.body, (tm, tk), plan.element, "l0a", layout=chip.l0a_layout, buffers=2)
    add(inner.body, Load3dOp.build(a1, a0, offsets=[m, k0], sizes=[vm, vk0], **options))
    b0 = alloc(inner.body, (tk, tn), plan.element, "l0b", layout="zn", buffers=2)
    add(inner.body, LoadL0bOp.build(b1, b0, offsets=[k0, 0], sizes=[vk0, vn]))
    multiply(inner.body, (a0, b0, c), [vm, vn, vk0], [k1, k0], plan)
    return c
