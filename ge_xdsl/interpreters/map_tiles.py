"""Feature maps in L1 and UB, in numpy: im2col on the way to L0A, kernel taps on the vector core."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ge_xdsl.dialects.aicore.maps import LANES, Geometry, block_size
from ge_xdsl.interpreters.tiles import Buffer, Memory

if TYPE_CHECKING:
    from ge_xdsl.dialects.ge.types import Array


def copy_map_l1(
    src: Memory, offsets: Sequence[int], dst: Buffer, vm: int, vk: int, g: Geometry
) -> None:
    """The channel blocks and map rows that the im2col part needs, from the corner of dst."""
    *lead, m, k = offsets
    depth = g.taps * block_size(dst.tile)
    if k % depth:
        raise ValueError(f"column is {k}, expected a multiple of {depth}")
    row = g.size[1] * block_size(dst.tile)
    first = max(g.top(m), 0)
    last = min(g.top(m + vm - 1) + g.span, g.size[0])
    count = max(last - first, 0) * row
    blocks = -(-vk // depth)
    if count:
        dst.put(src.load((*lead, k // depth, first * row), blocks, count))
    else:
        dst.room(blocks, 0)


def load3d(src: Buffer, m: int, k: int, dst: Buffer, vm: int, vk: int, g: Geometry) -> None:
    """dst[:vm, :vk] = the im2col rows m.. and columns k..; zero where a window leaves the map."""
    import numpy as np

    c0 = block_size(src.tile)
    if k % c0 or vk % c0:
        raise ValueError(f"columns are {k} and {vk}, expected multiples of {c0}")
    first = max(g.top(m), 0)
    depth = src.tile.shape[0]
    rows = src.cols // (g.size[1] * c0)
    block, tap = np.divmod(np.arange(k // c0, (k + vk) // c0), g.taps)
    if not rows or block[-1] >= src.rows:
        if rows:
            raise ValueError(f"reads {block[-1] + 1} of {src.rows} channel blocks of '{src.name}'")
        dst.put(np.zeros((vm, vk), src.data.dtype))
        return
    assert depth >= src.rows
    kernel_row, kernel_col = np.divmod(tap, g.kernel[1])
    out_row, out_col = np.divmod(np.arange(m, m + vm), g.out[1])
    high = out_row[:, None] * g.stride[0] - g.pad[0] + kernel_row * g.dilation[0]
    wide = out_col[:, None] * g.stride[1] - g.pad[1] + kernel_col * g.dilation[1]
    inside = (high >= 0) & (high < g.size[0]) & (wide >= 0) & (wide < g.size[1])
    place = (high - first) * g.size[1] + wide
    if place[inside].size and place[inside].max() >= rows * g.size[1]:
        raise ValueError(f"reads row {place[inside].max() // g.size[1]} of {rows} of '{src.name}'")
    pixels = src.data[: src.rows, : src.cols].reshape(src.rows, rows * g.size[1], c0)
    values = pixels[block, np.where(inside, place, 0)]
    values[~inside] = 0
    dst.put(values.reshape(vm, vk))


def copy_map_ub(
    src: Memory, offsets: Sequence[int], dst: Buffer, vc: int, vm: int, g: Geometry
) -> None:
    """Row i * R + r of dst = map row r, counted from the first window, of channel i."""
    *lead, c, m = offsets
    rows, top, wide = dst.tile.shape[0] // LANES, g.top(m), g.size[1]
    first, last = max(top, 0), min(top + g.rows(vm), g.size[0])
    dst.room(dst.tile.shape[0], wide)
    if last <= first:
        return
    part = src.load((*lead, c, first * wide), vc, (last - first) * wide)
    grid = dst.data.reshape(LANES, rows, wide)
    grid[:vc, first - top : last - top] = part.reshape(vc, last - first, wide)


def vspread(src: Buffer, dst: Buffer, vc: int, vm: int, m: int, value: float, g: Geometry) -> None:
    """dst = `value`, and the map's pixels turned to rows of 8 channels where it lies."""
    rows, top, wide = src.tile.shape[0] // LANES, g.top(m), g.size[1]
    used = g.rows(vm)
    out = dst.write(used * g.width, vc)
    out[...] = value
    first, last = max(top, 0), min(top + used, g.size[0])
    if last <= first:
        return
    grid = src.read(src.tile.shape[0], wide).reshape(LANES, rows, wide)
    whole = dst.data[: used * g.width].reshape(used, g.width, LANES)
    part = grid[:vc, first - top : last - top].transpose(1, 2, 0)
    whole[first - top : last - top, g.pad[1] : g.pad[1] + wide, :vc] = part


def tap_view(src: Buffer, vc: int, vm: int, tap: Sequence[int], g: Geometry) -> Array:
    """The pixels of one kernel tap, [output rows, output columns, channels]."""
    lines = -(-vm // g.out[1])
    used = (lines - 1) * g.stride[0] + g.span
    src.need(used * g.width, vc)
    grid = src.data[: used * g.width].reshape(used, g.width, LANES)
    row, col = tap[0] * g.dilation[0], tap[1] * g.dilation[1]
    return grid[
        row : row + (lines - 1) * g.stride[0] + 1 : g.stride[0],
        col : col + (g.out[1] - 1) * g.stride[1] + 1 : g.stride[1],
        :vc,
    ]


def vtap(
    src: Buffer,
    weight: Buffer | None,
    dst: Buffer,
    vc: int,
    vm: int,
    kind: str,
    tap: Sequence[int],
    first: bool,
    g: Geometry,
) -> None:
    """dst = kind(dst, the tap) on whole output rows."""
    import numpy as np

    values = tap_view(src, vc, vm, tap, g)
    if weight is not None:
        place = tap[0] * g.kernel[1] + tap[1]
        values = values * weight.get(place, 0, 1, vc)
    if not first:
        dst.need(vm, vc)
    dst.room(vm, vc)
    out = dst.data[:vm].reshape(*values.shape[:2], LANES)[..., :vc]
    if first:
        out[...] = values
    elif kind == "max":
        np.maximum(out, values, out=out)
    else:
        out += values
