"""What the source of a batched kernel calls: products, parts of tiles, rows by index, maps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ge_xdsl.dialects.aicore.maps import Geometry
from ge_xdsl.dialects.ge.elements import convert
from ge_xdsl.interpreters.batched import Unfit
from ge_xdsl.interpreters.indexed_tiles import round_to_whole, scalar

if TYPE_CHECKING:
    from ge_xdsl.dialects.ge.types import Array as Numbers


def part(tile: Numbers, rows: int, cols: int) -> Numbers:
    """The corner of a tile; a dimension of 1 may stand for one that is repeated."""
    have = tile.shape[-2:]
    if (have[0] >= rows or have[0] == 1) and (have[1] >= cols or have[1] == 1):
        return tile[..., :rows, :cols]
    raise Unfit


def inner(tile: Numbers, row: int, col: int, rows: int, cols: int) -> Numbers:
    """A part of a tile."""
    if row + rows > tile.shape[-2] or col + cols > tile.shape[-1]:
        raise Unfit
    return tile[..., row : row + rows, col : col + cols]


def full(tile: Numbers, rows: int, cols: int) -> Numbers:
    """The corner of a tile with nothing left to repeat but along the grid."""
    import numpy as np

    if tile.shape[-2:] == (rows, cols):
        return tile
    return np.broadcast_to(part(tile, rows, cols), (*tile.shape[:-2], rows, cols))


def join(old: Numbers | None, new: Numbers, rows: int, cols: int) -> Numbers:
    """What a buffer holds after `new` was written over the corner of `old`."""
    import numpy as np

    new = full(new, rows, cols)
    if old is None or (rows >= old.shape[-2] and cols >= old.shape[-1]):
        return new
    if rows > old.shape[-2] or cols > old.shape[-1]:
        raise Unfit
    grid = np.broadcast_shapes(old.shape[:-2], new.shape[:-2])
    out = np.empty((*grid, *old.shape[-2:]), old.dtype)
    out[...] = old
    out[..., :rows, :cols] = new
    return out


def plus(product: Numbers, bias: Numbers) -> Numbers:
    """The product with a row added."""
    return product + bias


def matmul(a: Numbers, b: Numbers) -> Numbers:
    """a b in f32: one product for all tiles that share no axis of the grid.

    Axes along which only a differs become rows, those along which only b differs columns.
    """
    import numpy as np

    a, b = a.astype(np.float32, copy=False), b.astype(np.float32, copy=False)
    axes = a.ndim - 2
    pairs = list(zip(a.shape[:axes], b.shape[:axes], strict=True))
    left = [i for i, (p, q) in enumerate(pairs) if p > 1 and q == 1]
    right = [i for i, (p, q) in enumerate(pairs) if q > 1 and p == 1]
    if not left and not right:
        return np.matmul(a, b)
    both = [i for i in range(axes) if i not in left and i not in right]
    sizes = [pairs[i][0] for i in both]
    (m, k), n = a.shape[-2:], b.shape[-1]
    x = a.transpose([*both, *left, *right, axes, axes + 1]).reshape([*sizes, -1, k])
    y = b.transpose([*both, axes, *left, *right, axes + 1]).reshape([*sizes, k, -1])
    rows, cols = [pairs[i][0] for i in left], [pairs[i][1] for i in right]
    product = np.matmul(x, y).reshape([*sizes, *rows, m, *cols, n])
    order = [*both, *left, axes, *right, axes + 1]
    places = {axis: place for place, axis in enumerate(order)}
    return product.transpose([places[axis] for axis in range(axes + 2)])


def rows_of(
    flat: Numbers,
    shape: tuple[int, int],
    index: Numbers,
    column: int,
    counts: tuple[int, ...],
    steps: tuple[int, ...],
    cols: int,
    wraps: bool,
) -> Numbers:
    """[grid..., rows, cols]: the rows that the index names, from a column of each tile's own."""
    import numpy as np

    low = -shape[0] if wraps else 0
    if index.size and (index.min() < low or index.max() >= shape[0]):
        raise Unfit
    matrix = flat.reshape(shape)
    places = index[..., 0, :, None]
    if all(count == 1 for count in counts):
        if column + cols > shape[1]:
            raise Unfit
        return matrix[places[..., 0], column : column + cols]
    wide = np.arange(column, column + cols)
    for count, step in zip(counts, steps, strict=True):
        wide = np.arange(count)[:, None] * step + wide[..., None, :]
    return matrix[places, wide[..., None, :]]


def flat(view: Numbers, pixels: int, owned: bool) -> Numbers:
    """[grid..., lines, width, channels] as [grid..., pixels, channels], not of the map itself."""
    values = view if owned else view.copy("K")
    return values.reshape((*view.shape[:-3], pixels, view.shape[-1]))


def im2col(x: Numbers, shape: Sequence[int], g: Geometry, c0: int) -> Numbers:
    """[..., pixels, blocks * taps * c0] for a map [..., blocks, H * W * c0]; 0 in the padding."""
    import numpy as np

    *lead, blocks, _ = shape
    (high, wide), (out_high, out_wide) = g.size, g.out
    whole = (out_high - 1) * g.stride[0] + g.span
    padded = np.zeros((_count(lead), blocks, max(whole, g.pad[0] + high), g.width, c0), x.dtype)
    grid = x.reshape(-1, blocks, high, wide, c0)
    padded[:, :, g.pad[0] : g.pad[0] + high, g.pad[1] : g.pad[1] + wide] = grid
    # pixels, then blocks and taps: one copy of a view, in which taps of a row are neighbours
    lead_step, block, row, column, one = padded.strides
    steps = (
        *(lead_step, row * g.stride[0], column * g.stride[1], block),
        *(row * g.dilation[0], column * g.dilation[1], one),
    )
    sizes = (_count(lead), out_high, out_wide, blocks, *g.kernel, c0)
    return np.ascontiguousarray(np.ndarray(sizes, x.dtype, _bytes_of(padded), 0, steps))


def _bytes_of(array: Numbers) -> Numbers:
    """The memory of a row-major array: element types of ml_dtypes have no buffer."""
    import numpy as np

    return array.reshape(-1).view(np.uint8)


def spread_map(x: Numbers, shape: Sequence[int], g: Geometry, value: float) -> Numbers:
    """[..., channels, rows, columns] with `value` around the map [..., channels, H * W]."""
    import numpy as np

    high, wide = g.size
    whole = (g.out[0] - 1) * g.stride[0] + g.span
    out = np.full((_count(shape[:-1]), whole, g.width), value, x.dtype)
    used = min(high, whole - g.pad[0])
    if used > 0:
        grid = x.reshape(-1, high, wide)[:, :used]
        out[:, g.pad[0] : g.pad[0] + used, g.pad[1] : g.pad[1] + wide] = grid
    return out


def _count(shape: Sequence[int]) -> int:
    out = 1
    for dim in shape:
        out *= dim
    return out


def gather(tile: Numbers, index: Numbers, rows: int) -> Numbers:
    """[grid..., rows, cols]: for each row the elements that the index, or its one row, names."""
    import numpy as np

    if index.size and (index.min() < 0 or index.max() >= tile.shape[-1]):
        raise Unfit
    values = tile[..., :rows, :]
    if index.shape[-2] == 1 and index.size == index.shape[-1]:
        return values[..., index.reshape(-1)]
    grid = np.broadcast_shapes(values.shape[:-2], index.shape[:-2])
    places = np.broadcast_to(index, (*grid, rows, index.shape[-1]))
    return np.take_along_axis(np.broadcast_to(values, (*grid, rows, tile.shape[-1])), places, -1)


def order(values: Numbers, descending: bool) -> Numbers:
    """The stable order of each row, NaN last."""
    import numpy as np

    values = -values if descending else values
    return np.argsort(values, axis=-1, kind="stable").astype(np.int32)


def scan(values: Numbers, kind: str, exclusive: bool, reverse: bool) -> Numbers:
    """Running sums, products, maxima or minima down the rows."""
    import numpy as np

    calls = {"add": np.add, "mul": np.multiply, "max": np.maximum, "min": np.minimum}
    values = values[..., ::-1, :] if reverse else values
    found = calls[kind].accumulate(values, axis=-2, dtype=values.dtype)
    if exclusive:
        start = np.full_like(found[..., :1, :], 0 if kind == "add" else 1)
        found = np.concatenate([start, found[..., :-1, :]], axis=-2)
    return found[..., ::-1, :] if reverse else found


CALLS: dict[str, Any] = {
    "part": part,
    "inner": inner,
    "full": full,
    "join": join,
    "plus": plus,
    "matmul": matmul,
    "rows_of": rows_of,
    "flat": flat,
    "convert": convert,
    "round_to_whole": round_to_whole,
    "scalar": scalar,
    "gather": gather,
    "order": order,
    "scan": scan,
    "Unfit": Unfit,
}
"""The functions that the source names."""
