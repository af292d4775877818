"""What a kernel moves between GM and the cores, and how much of it reaches HBM.

The unit is a panel: what the iterations of the loop over cores with one value of some of its
indices read of one GM tile. All cores work in rounds, one iteration each. A panel that was used
less than an L2 ago is a hit. Written data stays in the part of L2 that reads leave it, the rest
goes to HBM, less efficiently than reads.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import prod

from xdsl.ir import Operation, SSAValue

from ge_xdsl.dialects.aicore.op import Instruction
from ge_xdsl.dialects.aicore.structure import ForOp, KernelOp, tile_order
from ge_xdsl.dialects.aicore.types import TileType, tile_of
from ge_xdsl.dialects.aicore.view import StridedOp
from ge_xdsl.targets import Target

SMALL_DMA = 8192
"""The fixed HBM cost of a DMA is not applied to ones of fewer bytes than this."""


@dataclass(frozen=True, slots=True)
class Traffic:
    """`cold`: GM tile -> share of the bytes read that come from HBM; HBM bytes and seconds."""

    cold: Mapping[SSAValue, float]
    hbm_bytes: int
    seconds: float


@dataclass(frozen=True, slots=True)
class _Panels:
    """The panels of one GM tile: which loop dimensions number them, and their size in bytes."""

    value: SSAValue
    dims: tuple[int, ...]
    bytes: float
    dma_bytes: int
    written: bool


def traffic_of(kernel: KernelOp, target: Target) -> Traffic:
    """The HBM traffic of one launch."""
    capacity = target.l2 * target.l2_usable
    bandwidth = target.hbm_l1_bandwidth if kernel.core == "cube" else target.hbm_ub_bandwidth
    cold: dict[SSAValue, float] = {}
    seconds, total, written = 0.0, 0.0, 0.0
    for loop, values in _uses(kernel).items():
        panels = [_panels(value, loop) for value in values]
        used = cold_bytes(panels, loop, kernel.blocks, capacity)
        for item in panels:
            touched, missed = used[item.value]
            if item.written:
                written += touched
                continue
            cold[item.value] = missed / touched if touched else 0.0
            loss = 1 + target.hbm_dma_loss / max(item.dma_bytes, SMALL_DMA)
            seconds += missed * loss / bandwidth
            total += missed
    back = write_back(total, written, capacity)
    seconds += back / target.hbm_write_efficiency / bandwidth
    return Traffic(cold, round(total + back), seconds)


def _uses(kernel: KernelOp) -> dict[ForOp | None, list[SSAValue]]:
    """The GM tiles that each loop over cores moves, those outside of any under None."""
    found: dict[ForOp | None, dict[SSAValue, None]] = {}
    values: list[SSAValue] = list(kernel.body.args)
    values += [op.results[0] for op in kernel.body.ops if isinstance(op, StridedOp)]
    for value in values:
        for use in value.uses:
            if isinstance(use.operation, Instruction):
                found.setdefault(_loop_of(use.operation), {})[value] = None
    return {loop: list(used) for loop, used in found.items()}


def _loop_of(op: Operation) -> ForOp | None:
    parent = op.parent_op()
    while parent is not None and not isinstance(parent, KernelOp):
        if isinstance(parent, ForOp) and parent.over_cores:
            return parent
        parent = parent.parent_op()
    return None


def write_back(read: float, written: float, capacity: float) -> float:
    """Written bytes that reach HBM: reads and writes share an L2 of `capacity` in proportion."""
    share = written / (read + written) if written else 0.0
    return max(0.0, written - capacity * share)


def _panels(value: SSAValue, loop: ForOp | None) -> _Panels:
    """The panels of a GM tile, from the windows through which a loop uses it."""
    tile = tile_of(value)
    dims: set[int] = set()
    dma = 0
    written = False
    for use in value.uses:
        op = use.operation
        if not isinstance(op, Instruction) or _loop_of(op) is not loop:
            continue
        written |= op.written is value
        if loop is not None:
            origins = {loop.origin(i): i for i in range(len(loop.steps))}
            dims |= {origins[v] for v in op.offsets if isinstance(v, SSAValue) and v in origins}
        dma = max(dma, _largest(op))
    count = 1
    for dim in sorted(dims):
        extent = loop.extents[dim] if loop is not None else 1
        step = loop.steps[dim] if loop is not None else 1
        count *= -(-extent // step) if isinstance(extent, int) else 1
    size = tile.size * _distinct(value)
    return _Panels(value, tuple(sorted(dims)), size / count, dma, written)


def _distinct(value: SSAValue) -> int:
    """The elements of a GM tile, those that strides of 0 repeat once."""
    tile = tile_of(value)
    if not isinstance(value.owner, StridedOp):
        return tile.count
    pairs = zip(tile.shape, value.owner.strides, strict=True)
    return prod(dim for dim, stride in pairs if stride)


def _largest(op: Operation) -> int:
    """Bytes of a whole tile of the core-side operand of a copy."""
    inner = [v.type.data for v in op.operands if isinstance(v.type, TileType)]
    return max((t.bytes for t in inner if t.space != "gm"), default=0)


def cold_bytes(
    panels: list[_Panels], loop: ForOp | None, cores: int, capacity: float
) -> dict[SSAValue, tuple[float, float]]:
    """GM tile -> bytes that the cores move, and bytes that miss an L2 of `capacity` bytes."""
    dims = zip(loop.extents, loop.steps, strict=True) if loop is not None else ()
    counts = [-(-extent // step) for extent, step in dims if isinstance(extent, int)]
    iterations = 1
    for count in counts:
        iterations *= count
    moved = {item.value: item.bytes * iterations for item in panels}
    once = {item.value: item.bytes * _numbers(item, counts) for item in panels}
    if sum(once.values()) <= capacity or all(once[v] == moved[v] for v in moved):
        return {v: (moved[v], once[v]) for v in moved}
    missed = dict.fromkeys(moved, 0.0)
    cache: OrderedDict[tuple[SSAValue, tuple[int, ...]], float] = OrderedDict()
    held = 0.0
    order = list(tile_order(counts, loop.strip if loop is not None else 0))
    for keys in _rounds(panels, order, cores):
        for item, key in keys:
            if (item.value, key) in cache:
                cache.move_to_end((item.value, key))
                continue
            missed[item.value] += item.bytes
            cache[item.value, key] = item.bytes
            held += item.bytes
            while held > capacity and len(cache) > 1:
                held -= cache.popitem(last=False)[1]
    return {v: (moved[v], missed[v]) for v in moved}


def _numbers(item: _Panels, counts: list[int]) -> int:
    out = 1
    for dim in item.dims:
        out *= counts[dim]
    return out


def _rounds(
    panels: list[_Panels], order: list[tuple[int, ...]], cores: int
) -> Iterator[list[tuple[_Panels, tuple[int, ...]]]]:
    """The panels that the cores use in each round, each once, in order."""
    for start in range(0, len(order), cores):
        part = order[start : start + cores]
        keys: dict[tuple[int, tuple[int, ...]], None] = {}
        for i, item in enumerate(panels):
            for index in part:
                keys[i, tuple(index[dim] for dim in item.dims)] = None
        yield [(panels[i], key) for i, key in keys]
