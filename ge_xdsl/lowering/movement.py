"""Kernels that only move elements: strided copies through UB, tiles turned where rows change.

for each copy, for each tile (some neighbours at a time when it is small), dealt to the cores:
    copy_gm_ub; vtranspose when the runs of source and destination lie along other dimensions;
    copy_ub_gm
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from xdsl.ir import Block, SSAValue

from ge_xdsl.dialects.aicore.indexed import ScalarOp
from ge_xdsl.dialects.aicore.move import CopyGmUbOp, CopyUbGmOp
from ge_xdsl.dialects.aicore.op import Index
from ge_xdsl.dialects.aicore.structure import ForOp, KernelOp
from ge_xdsl.dialects.aicore.types import Tile
from ge_xdsl.dialects.aicore.vector import VdupOp, VtransposeOp
from ge_xdsl.dialects.aicore.view import StridedOp
from ge_xdsl.lowering.matmul import alloc
from ge_xdsl.lowering.tiling import BUFFERS, Slot, turn_tiling, vector_tiling
from ge_xdsl.targets.target import Target

Ints = tuple[int, ...]
Views = list[SSAValue]
MOST_GROUPS = 4
"""Tiles of one iteration, at most: two flags each of the eight between two pipes."""
SHORT_RUN = 64
"""Bytes of a run that is too short to be written by itself: two sectors of an L2 line."""
GROUP_BYTES = 32768
"""Bytes that an iteration moves at most when it moves several tiles: DMA is at its best then."""


@dataclass(frozen=True, slots=True)
class Side:
    """Where the elements of a copy lie in an argument of the kernel."""

    arg: int
    """Number of the argument, those that are read first."""
    offset: int
    strides: Ints


@dataclass(frozen=True, slots=True)
class Copy:
    """dst[i] = src[i] for all i in `shape`; without a source the kernel's fill value."""

    shape: Ints
    src: Side | None
    dst: Side


@dataclass(frozen=True, slots=True)
class Movement:
    """A kernel's copies. Arguments are flat: sizes in elements, those that are read first."""

    element: str
    inputs: Ints
    outputs: Ints
    copies: tuple[Copy, ...]
    value: float = 0.0


def contiguous(shape: Sequence[int]) -> Ints:
    """The strides of a row-major array."""
    return tuple(prod(shape[i + 1 :]) for i in range(len(shape)))


def merged(copy: Copy) -> Copy:
    """The copy with neighbouring dimensions merged where both sides allow it, ones dropped."""
    src = copy.src.strides if copy.src else copy.dst.strides
    dims: list[tuple[int, int, int]] = []
    for item in zip(copy.shape, src, copy.dst.strides, strict=True):
        dim, s, d = item
        if dim == 1:
            continue
        if dims and dims[-1][1] == s * dim and dims[-1][2] == d * dim:
            dims[-1] = (dims[-1][0] * dim, s, d)
        else:
            dims.append(item)
    dims = dims or [(1, 1, 1)]
    return _rebuilt(copy, dims)


def _rebuilt(copy: Copy, dims: Sequence[tuple[int, int, int]]) -> Copy:
    """A copy of the same sides with other dimensions (size, source stride, destination stride)."""
    shape, src, dst = (tuple(part) for part in zip(*dims, strict=True))
    source = None if copy.src is None else Side(copy.src.arg, copy.src.offset, src)
    return Copy(shape, source, Side(copy.dst.arg, copy.dst.offset, dst))


def movement_kernel(name: str, movement: Movement, target: Target) -> KernelOp:
    """The kernel of a movement."""
    sizes = [*movement.inputs, *movement.outputs]
    block = Block(arg_types=[Tile((n,), movement.element, "gm").type for n in sizes])
    for i, arg in enumerate(block.args):
        reads = len(movement.inputs)
        arg.name_hint = f"x{i}" if i < reads else f"y{i - reads}"
    count = 1
    for copy in movement.copies:
        count = max(count, _Loop(merged(copy), movement, block, target).fill())
    blocks = min(count, target.vector_cores)
    return KernelOp.make(name, "vector", blocks, len(movement.outputs), block)


class _Loop:
    """The loop of one copy, several groups of its tiles at a time where these are small."""

    def __init__(self, copy: Copy, movement: Movement, block: Block, target: Target) -> None:
        self.copy = copy
        self.movement = movement
        self.block = block
        self.target = target
        self.element = movement.element
        self.size = Tile((1,), self.element, "gm").size

    def fill(self) -> int:
        """Add the loop; its number of iterations."""
        copy = self.copy
        src = copy.src.strides if copy.src else copy.dst.strides
        if (src[-1], copy.dst.strides[-1]) == (1, 1):
            return self.rows(_longest_rows(copy, SHORT_RUN // self.size))
        across = next((i for i, s in enumerate(src) if s == 1), -1)
        if copy.dst.strides[-1] == 1 and across >= 0 and self.size in (1, 2, 4) and src[-1]:
            return self.turned(across)
        # runs of one element
        dims = list(zip(copy.shape, src, copy.dst.strides, strict=True))
        return self.rows(_rebuilt(copy, [*dims, (1, 1, 1)]))

    def groups(self, shape: Ints, tile: tuple[int, int], turns: bool) -> tuple[int, int]:
        """The dimension before the last two whose neighbours are moved together, and how many.

        A tile waits for memory twice, so that small ones should not go alone; all cores still
        get some. A tile that is turned is kept both ways.
        """
        kept = [tile, tile[::-1]] if turns else [tile]
        each = BUFFERS * sum(Tile(shape, self.element, "ub").bytes for shape in kept)
        parts = prod(shape[:-2]) * -(-shape[-2] // tile[0]) * -(-shape[-1] // tile[1])
        most = min(
            MOST_GROUPS,
            self.target.capacity("ub") // each,
            GROUP_BYTES // Tile(tile, self.element, "gm").bytes,
            parts // self.target.vector_cores,
        )
        found = [(_divisor(dim, most), -i) for i, dim in enumerate(shape[:-2])]
        count, place = max(found, default=(1, 0))
        return -place, max(count, 1)

    def strided(self, side: Side, shape: Ints, strides: Ints) -> SSAValue:
        """A view of an argument."""
        arg = self.block.args[side.arg]
        view = StridedOp.make(arg, side.offset, strides, Tile(shape, self.element, "gm"))
        view.results[0].name_hint = f"{arg.name_hint}_view"
        self.block.add_op(view)
        return view.results[0]

    def views(self, side: Side, shape: Ints, strides: Ints, group: tuple[int, int]) -> Views:
        """A view for each of the neighbours that are moved together."""
        place, count = group
        if count == 1:
            return [self.strided(side, shape, strides)]
        fewer = _replaced(shape, place, shape[place] // count)
        wider = _replaced(strides, place, strides[place] * count)
        starts = [side.offset + k * strides[place] for k in range(count)]
        return [self.strided(Side(side.arg, at, strides), fewer, wider) for at in starts]

    def rows(self, copy: Copy) -> int:
        """Runs on both sides along the last dimension."""
        shape, src, dst = copy.shape, copy.src, copy.dst
        pairs = [(side, side.strides) for side in (src, dst) if side is not None]
        if len(shape) == 1:
            shape, pairs = (1, *shape), [(side, (s[0] * shape[0], *s)) for side, s in pairs]
        tile = vector_tiling(shape, [Slot(self.element, True, True, BUFFERS)], self.target)
        group = self.groups(shape, tile, False) if src is not None else (0, 1)
        views = [self.views(side, shape, strides, group) for side, strides in pairs]
        if group[1] > 1:
            shape = _replaced(shape, group[0], shape[group[0]] // group[1])
        loop, origins, lengths = self.loop(shape, tile)
        body = loop.body
        if src is None:
            room = alloc(body, Tile(tile, self.element, "ub"), "t0", 1)
            fill = VdupOp.build if self.element in VdupOp.computes else _filled
            body.add_op(fill(room, sizes=lengths, value=self.movement.value))
            body.add_op(CopyUbGmOp.build(room, views[-1][0], offsets=origins, sizes=lengths))
            return _count(shape, tile)
        rooms = self.rooms(body, tile, group[1], 0)
        for room, view in zip(rooms, views[0], strict=True):
            body.add_op(CopyGmUbOp.build(view, room, offsets=origins, sizes=lengths))
        for room, view in zip(rooms, views[1], strict=True):
            body.add_op(CopyUbGmOp.build(room, view, offsets=origins, sizes=lengths))
        return _count(shape, tile)

    def rooms(self, body: Block, tile: tuple[int, int], count: int, first: int) -> list[SSAValue]:
        """So many tiles in UB, named from t`first` on."""
        kind = Tile(tile, self.element, "ub")
        return [alloc(body, kind, f"t{first + k}", BUFFERS) for k in range(count)]

    def loop(self, shape: Ints, tile: tuple[int, int]) -> tuple[ForOp, list[Index], list[Index]]:
        """The loop over tiles, its origins, and the lengths of a tile."""
        steps = (*(1 for _ in shape[:-2]), *tile)
        names = [*(f"d{i}" for i in range(len(shape) - 2)), "r", "c"]
        loop = ForOp.make(shape, steps, names, over_cores=True)
        self.block.add_op(loop)
        rank = len(shape)
        origins: list[Index] = [loop.origin(i) for i in range(rank)]
        lengths: list[Index] = [
            step if dim % step == 0 else loop.length(rank - 2 + i)
            for i, (dim, step) in enumerate(zip(shape[-2:], tile, strict=True))
        ]
        return loop, origins, lengths

    def turned(self, across: int) -> int:
        """Source runs along dimension `across`, destination runs along the last one."""
        copy = self.copy
        assert copy.src is not None
        lead = [i for i in range(len(copy.shape) - 1) if i != across]
        order = [*lead, len(copy.shape) - 1, across]
        shape = tuple(copy.shape[i] for i in order)
        tile = turn_tiling(prod(shape[:-2]), shape[-2], shape[-1], self.size, self.target)
        group = self.groups(shape, tile, True)
        flipped = [*lead, across, len(copy.shape) - 1]
        (sources, results) = (
            self.views(
                side,
                tuple(copy.shape[i] for i in dims),
                tuple(side.strides[i] for i in dims),
                group,
            )
            for side, dims in ((copy.src, order), (copy.dst, flipped))
        )
        if group[1] > 1:
            shape = _replaced(shape, group[0], shape[group[0]] // group[1])
        loop, origins, lengths = self.loop(shape, tile)
        body = loop.body
        places = [*origins[:-2], origins[-1], origins[-2]]
        rooms = self.rooms(body, tile, group[1], 0)
        turned = self.rooms(body, (tile[1], tile[0]), group[1], group[1])
        for room, source in zip(rooms, sources, strict=True):
            body.add_op(CopyGmUbOp.build(source, room, offsets=origins, sizes=lengths))
        for room, back, result in zip(rooms, turned, results, strict=True):
            body.add_op(VtransposeOp.build(room, back, sizes=lengths))
            body.add_op(CopyUbGmOp.build(back, result, offsets=places, sizes=lengths[::-1]))
        return _count(shape, tile)


def _longest_rows(copy: Copy, least: int) -> Copy:
    """The copy with its longest dimension before the runs, so that tiles are large.

    One whose runs lie side by side in the source or in the destination goes before others.
    Runs of fewer than `least` elements stay as the destination has them, together.
    """
    if len(copy.shape) < 3 or copy.src is None or copy.shape[-1] < least:
        return copy
    *lead, last = zip(copy.shape, copy.src.strides, copy.dst.strides, strict=True)
    near = 2 * last[0]
    longest = max(range(len(lead)), key=lambda i: (min(lead[i][1:]) <= near, lead[i][0], i))
    moved = [*lead[:longest], *lead[longest + 1 :], lead[longest], last]
    return _rebuilt(copy, moved)


def _divisor(number: int, most: int) -> int:
    """The largest divisor of a number that is at most `most`, at least 1."""
    return next((n for n in range(min(most, number), 1, -1) if number % n == 0), 1)


def _replaced(numbers: Ints, place: int, number: int) -> Ints:
    return (*numbers[:place], number, *numbers[place + 1 :])


def _filled(room: SSAValue, sizes: Sequence[Index], value: float) -> ScalarOp:
    """A tile filled element by element, of a type that the vector unit does not repeat."""
    return ScalarOp.build(room, sizes=sizes, value=value, kind="fill")


def _count(shape: Ints, tile: tuple[int, int]) -> int:
    rows, cols = shape[-2:]
    return prod(shape[:-2]) * -(-rows // tile[0]) * -(-cols // tile[1])
