"""The source text of each instruction for all tiles at once, and the functions that it calls."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from xdsl.ir import Operation, SSAValue

from ge_xdsl.dialects.aicore.cube import FixpipeOp, MmadOp
from ge_xdsl.dialects.aicore.maps import (
    CopyMapL1Op,
    CopyMapUbOp,
    Geometry,
    Load3dOp,
    MapInstruction,
    VspreadOp,
    VtapOp,
    block_size,
)
from ge_xdsl.dialects.aicore.move import (
    CopyGmL1Op,
    CopyGmUbOp,
    CopyRowsOp,
    CopyUbGmOp,
    LoadBiasOp,
    LoadL0aOp,
    LoadL0bOp,
)
from ge_xdsl.dialects.aicore.op import Instruction
from ge_xdsl.dialects.aicore.types import tile_of
from ge_xdsl.dialects.aicore.vector import (
    VbinaryOp,
    VbrcOp,
    VcastOp,
    VcmpOp,
    VdupOp,
    VreduceOp,
    VscalarOp,
    VselOp,
    VtransposeOp,
    VunaryOp,
)
from ge_xdsl.dialects.ge.elements import convert
from ge_xdsl.dialects.ge.types import numpy_dtype
from ge_xdsl.interpreters.batched import (
    Array,
    BatchedSource,
    Form,
    Statement,
    Unfit,
    Unfolded,
    row_major,
)
from ge_xdsl.interpreters.codegen import BINARY, COMPARE, REDUCE, SCALAR
from ge_xdsl.interpreters.tiles import DATA_TYPES

if TYPE_CHECKING:
    from ge_xdsl.dialects.ge.types import Array as Numbers

UNARY = {
    "abs": "np.abs({0})",
    "relu": "np.maximum({0}, 0)",
    "exp": "np.exp({0})",
    "ln": "np.log({0})",
    "sqrt": "np.sqrt({0})",
    "rsqrt": "(1 / np.sqrt({0}.astype(np.float32))).astype({1}_t)",
    "rec": "np.reciprocal({0})",
    "copy": "{0}",
}


def written_sizes(src: BatchedSource, op: Instruction) -> tuple[str, str]:
    """The rows and columns of the buffer that an instruction writes."""
    sizes = [src.scalar(size) for size in op.sizes]
    if isinstance(op, VtransposeOp):
        return sizes[1], sizes[0]
    if isinstance(op, VtapOp):
        return sizes[1], sizes[0]
    if isinstance(op, VreduceOp):
        rows, cols = op.left(*op.sizes)
        return src.scalar(rows), src.scalar(cols)
    return sizes[0], sizes[1]


# Moves


def _window(src: BatchedSource, op: Instruction) -> str:
    array = src.arrays[op.tile(op.window)]
    rows, cols = (src.scalar(size) for size in op.sizes)
    return src.window(array, [src.form(v) for v in op.offsets], rows, cols)


def _copy_in(src: BatchedSource, op: Instruction, depth: int) -> None:
    if src.arrays[op.tile("src")].written:
        raise Unfit("reads what the kernel writes")
    rows, cols = (src.scalar(size) for size in op.sizes)
    src.write(op, depth, rows, cols, _window(src, op))


def _store(src: BatchedSource, op: Instruction, depth: int, values: str) -> None:
    """Assign a window of GM, and count its elements."""
    array = src.arrays[op.tile("dst")]
    if not array.written or op.option("atomic") != "none":
        raise Unfit("no plain store")
    src.emit(depth, f"{_window(src, op)}[...] = {values}")
    sizes = [src.scalar(size) for size in op.sizes]
    # a tile that is stored at one place for several points of the grid is counted for each
    counts = [f"n{a}" for a in range(src.axes)]
    owner = next(arg for arg in src.outputs if src.name(arg) == array.name)
    src.emit(depth, f"{src.count(owner)} += {' * '.join([*counts, *sizes])}")


def _copy_out(src: BatchedSource, op: Instruction, depth: int) -> None:
    rows, cols = (src.scalar(size) for size in op.sizes)
    _store(src, op, depth, src.read(op, "src", rows, cols))


def _fixpipe(src: BatchedSource, op: FixpipeOp, depth: int) -> None:
    rows, cols = (src.scalar(size) for size in op.sizes)
    if tile_of(op.tile("dst")).space != "gm" or op.option("quant") != "none":
        raise Unfit("a fixpipe that quantises")
    values = src.read(op, "src", rows, cols)
    if op.option("relu"):
        values = f"np.maximum({values}, 0)"
    if op.option("slope") is not None or op.option("prelu"):
        raise Unfit("a fixpipe with slopes")
    _store(src, op, depth, values)


def _load(src: BatchedSource, op: Instruction, depth: int) -> None:
    rows, cols = (src.scalar(size) for size in op.sizes)
    row, col = (src.scalar(v) for v in op.offsets)
    name = src.name(op.tile("src"))
    turned = op.option("transpose")
    r, c = (cols, rows) if turned else (rows, cols)
    if (row, col) != ("0", "0") or src.sizes_written(op.tile("src")) != (r, c):
        name = f"inner({name}, {row}, {col}, {r}, {c})"
    src.write(op, depth, rows, cols, f"{name}.swapaxes(-1, -2)" if turned else name)


def _load_bias(src: BatchedSource, op: Instruction, depth: int) -> None:
    rows, cols = (src.scalar(size) for size in op.sizes)
    row, col = (src.scalar(v) for v in op.offsets)
    text = f"inner({src.name(op.tile('src'))}, {row}, {col}, {rows}, {cols}).astype(np.float32)"
    src.write(op, depth, rows, cols, text)


def _copy_rows(src: BatchedSource, op: Instruction, depth: int) -> None:
    array = src.arrays[op.tile("src")]
    rows, cols = (src.scalar(size) for size in op.sizes)
    form = src.form(op.offsets[1])
    if array.offset or array.strides != row_major(array.bound):
        raise Unfit("rows of a strided array")
    grid = [f"n{a}" if factor else "1" for a, factor in enumerate(form.grid)]
    steps = ", ".join(str(n) for n in form.grid)
    index = src.read(op, "index", "1", rows)
    column = f"{form.scalar}, ({', '.join(grid)}, ), ({steps}, ), {cols}"
    args = f"{array.name}.view({array.element}_t), {array.bound}, {index}, {column}"
    src.write(op, depth, rows, cols, f"rows_of({args}, {op.option('wraps')})")


# The cube unit


def _mmad(src: BatchedSource, op: MmadOp, depth: int) -> None:
    m, n, k = (src.scalar(size) for size in op.sizes)
    if op.option("hf32") or tile_of(op.written).element != "f32":
        raise Unfit("a product in other types")
    product = f"matmul({src.read(op, 'a', m, k)}, {src.read(op, 'b', k, n)})"
    name = src.name(op.written)
    if src.sizes_written(op.written) is None:
        raise Unfit("sums of several sizes")
    start = product
    if op.option("init") == "bias":
        start = f"plus({product}, {src.read(op, 'bias', '1', n)})"
    if op.option("init") == "acc":
        src.emit(depth, f"{name} += {product}")
        return
    first = " and ".join(f"{src.scalar(v)} == 0" for v in op.at)
    if not first:
        src.emit(depth, f"{name} = {start}")
        return
    src.emit(depth, f"if {first}: {name} = {start}")
    src.emit(depth, f"else: {name} += {product}")


# The vector unit


def _sizes(src: BatchedSource, op: Instruction) -> tuple[str, str]:
    return src.scalar(op.sizes[0]), src.scalar(op.sizes[1])


def _element(src: BatchedSource, op: Instruction) -> str:
    """The element type written, whose dtype is known to the source."""
    element = tile_of(op.written).element
    src.objects[f"{element}_t"] = numpy_dtype(DATA_TYPES[element])
    return element


def _number(src: BatchedSource, op: Instruction) -> str:
    """The scalar of an op, rounded to the element type."""
    element = _element(src, op)
    src.objects[element] = numpy_dtype(DATA_TYPES[element]).type
    value = op.option("value")
    return f"{element}({int(value) if element.startswith('i') else value!r})"


def _unary(src: BatchedSource, op: Instruction, depth: int) -> None:
    rows, cols = _sizes(src, op)
    values = src.read(op, "src", rows, cols)
    kind = op.option("kind")
    if kind not in UNARY:
        raise Unfit(kind)
    src.write(op, depth, rows, cols, UNARY[kind].format(values, _element(src, op)))


def _binary(src: BatchedSource, op: Instruction, depth: int) -> None:
    rows, cols = _sizes(src, op)
    a, b = src.read(op, "a", rows, cols), src.read(op, "b", rows, cols)
    if op.option("kind") not in BINARY:
        raise Unfit(op.option("kind"))
    src.write(op, depth, rows, cols, f"{BINARY[op.option('kind')]}({a}, {b})")


def _scalar(src: BatchedSource, op: Instruction, depth: int) -> None:
    rows, cols = _sizes(src, op)
    if op.option("kind") not in SCALAR:
        raise Unfit(op.option("kind"))
    call = SCALAR[op.option("kind")]
    values = src.read(op, "src", rows, cols)
    src.write(op, depth, rows, cols, f"{call}({values}, {_number(src, op)})")


def _cast(src: BatchedSource, op: Instruction, depth: int) -> None:
    rows, cols = _sizes(src, op)
    element, values = _element(src, op), src.read(op, "src", rows, cols)
    if "round" in op.properties:
        raise Unfit("a rounding")
    if element.startswith(("i", "ui")):
        src.write(op, depth, rows, cols, f"convert({values}, {element}_t)")
    else:
        src.write(op, depth, rows, cols, f"{values}.astype({element}_t)")


def _compare(src: BatchedSource, op: Instruction, depth: int) -> None:
    rows, cols = _sizes(src, op)
    a, b = src.read(op, "a", rows, cols), src.read(op, "b", rows, cols)
    src.write(op, depth, rows, cols, f"{COMPARE[op.option('kind')]}({a}, {b})")


def _select(src: BatchedSource, op: Instruction, depth: int) -> None:
    rows, cols = _sizes(src, op)
    mask, a, b = (src.read(op, name, rows, cols) for name in ("mask", "a", "b"))
    src.write(op, depth, rows, cols, f"np.where({mask}, {a}, {b})")


def _reduce(src: BatchedSource, op: VreduceOp, depth: int) -> None:
    rows, cols = _sizes(src, op)
    axis = {"rows": "-2", "cols": "-1", "all": "(-2, -1)"}[op.option("axis")]
    if axis == "(-2, -1)":
        raise Unfit("a reduction of both dimensions")
    values = f"full({src.name(op.tile('src'))}, {rows}, {cols})"
    text = f"{REDUCE[op.option('kind')]}.reduce({values}, axis={axis}, keepdims=True)"
    src.write(op, depth, *written_sizes(src, op), text)


def _transpose(src: BatchedSource, op: Instruction, depth: int) -> None:
    rows, cols = _sizes(src, op)
    values = src.read(op, "src", rows, cols)
    src.write(op, depth, cols, rows, f"{values}.swapaxes(-1, -2)")


def _dup(src: BatchedSource, op: Instruction, depth: int) -> None:
    rows, cols = _sizes(src, op)
    import numpy as np

    dtype = numpy_dtype(DATA_TYPES[_element(src, op)])
    name = f"same{len(src.objects)}"
    value = op.option("value")
    with np.errstate(all="ignore"):
        src.objects[name] = np.full((1,) * (src.axes + 2), value, np.float64).astype(dtype)
    src.write(op, depth, rows, cols, name)


def _broadcast(src: BatchedSource, op: Instruction, depth: int) -> None:
    """Nothing is repeated: numpy does that where the result is used."""
    rows, cols = _sizes(src, op)
    shape = tile_of(op.tile("src")).shape
    part = ["1" if d == 1 else size for d, size in zip(shape, (rows, cols), strict=True)]
    src.write(op, depth, rows, cols, src.read(op, "src", *part))


# Maps


def _unfolded(
    src: BatchedSource, value: SSAValue, kind: str, shape: Sequence[int], make: Callable[..., Any]
) -> Array:
    """The unfolded map of an argument, made once."""
    base = src.arrays[value]
    if base.offset or base.strides != row_major(base.bound) or base.written:
        raise Unfit("a map that is no argument")
    name = f"{base.name}_{kind}"
    found = src.derived.get(name)
    if found is None:
        bound = tuple(shape)
        array = Array(name, base.element, bound, row_major(bound), 0, False)
        number = src.arguments.index(base.name)
        found = src.derived[name] = Unfolded(number, make, array)
    return found.array


def _only_writer(src: BatchedSource, value: SSAValue, user: Operation) -> MapInstruction:
    """The map instruction that gives a buffer its contents, seen from where it is used."""
    writers = src.writers(value)
    if len(writers) != 1 or not isinstance(writers[0], MapInstruction):
        raise Unfit("a map of several sources")
    block = writers[0].parent
    parent: Any = user.parent
    while parent is not None and parent is not block:
        above = parent.parent_op()
        parent = above.parent if above is not None else None
    if parent is None:
        raise Unfit("a map from another loop")
    return writers[0]


def _key(geometry: Geometry, *more: Any) -> str:
    numbers = [
        n
        for name in ("kernel", "stride", "dilation", "pad", "out")
        for n in getattr(geometry, name)
    ]
    return "_".join(
        str(n).replace("-", "m").replace(".", "p").replace("+", "") for n in (*numbers, *more)
    )


def _nothing(src: BatchedSource, op: MapInstruction, depth: int) -> None:
    """The map is unfolded as a whole, once; what uses the buffer views that."""


def _load3d(src: BatchedSource, op: Load3dOp, depth: int) -> None:
    copy = _only_writer(src, op.tile("src"), op)
    if not isinstance(copy, CopyMapL1Op) or copy.geometry != op.geometry:
        raise Unfit("a map of another geometry")
    value, geometry = copy.tile("src"), op.geometry
    tile = tile_of(value)
    c0 = block_size(tile)
    *lead, blocks, _ = tile.shape
    shape = (*lead, geometry.pixels, blocks * geometry.taps * c0)
    make = partial(im2col, shape=tile.shape, g=geometry, c0=c0)
    array = _unfolded(src, value, f"cols{_key(geometry)}", shape, make)
    *first, _, k = (src.form(v) for v in copy.offsets)
    m, inner = (src.form(v) for v in op.offsets)
    rows, cols = _sizes(src, op)
    src.write(op, depth, rows, cols, src.window(array, [*first, m, k.plus(inner)], rows, cols))


def _tap(src: BatchedSource, op: VtapOp, depth: int) -> None:
    spread = _only_writer(src, op.tile("src"), op)
    copy = _only_writer(src, spread.tile("src"), spread)
    geometry = op.geometry
    if not isinstance(copy, CopyMapUbOp) or {copy.geometry, spread.geometry} != {geometry}:
        raise Unfit("a map of another geometry")
    value, fill = copy.tile("src"), spread.option("value")
    tile = tile_of(value)
    high = (geometry.out[0] - 1) * geometry.stride[0] + geometry.span
    shape = (*tile.shape[:-1], high, geometry.width)
    kind = f"map{_key(geometry, fill)}"
    make = partial(spread_map, shape=tile.shape, g=geometry, value=fill)
    array = _unfolded(src, value, kind, shape, make)
    *lead, channel, m = (src.form(v) for v in copy.offsets)
    channels, pixels = _sizes(src, op)
    src.emit(depth, f"lines = -(-{pixels} // {geometry.out[1]})")
    view = _tap_view(src, array, geometry, (*lead, channel, m), op.option("tap"), channels)
    _tapped(src, op, depth, view)


def _tap_view(
    src: BatchedSource,
    array: Array,
    geometry: Geometry,
    offsets: Sequence[Form],
    tap: Sequence[int],
    channels: str,
) -> str:
    """The pixels of one kernel tap, [grid..., lines, width, channels]."""
    *lead, m = offsets
    wide = geometry.out[1]
    if any(factor % wide for factor in m.grid):
        raise Unfit("a tile of part of an output row")
    stride = geometry.stride
    line = Form(f"({m.scalar} // {wide})", tuple(f // wide for f in m.grid)).times(stride[0])
    row = line.plus(src.constant(str(tap[0] * geometry.dilation[0])))
    column = src.constant(str(tap[1] * geometry.dilation[1]))
    reach = f"((lines - 1) * {stride[0]} + 1)"
    sizes = [*("1" for _ in lead[1:]), channels, reach, str((wide - 1) * stride[1] + 1)]
    src.check_inside(array, (*lead, row, column), sizes)
    steps = (array.strides[-2] * stride[0], stride[1], array.strides[-3])
    return src.view(array, (*lead, row, column), ("lines", str(wide), channels), steps)


def _tapped(src: BatchedSource, op: VtapOp, depth: int, view: str) -> None:
    kind, name = op.option("kind"), src.name(op.written)
    channels, pixels = _sizes(src, op)
    wide = op.geometry.out[1]
    if kind == "muladd":
        place = op.option("tap")[0] * op.geometry.kernel[1] + op.option("tap")[1]
        weight = f"inner({src.name(op.tile('weight'))}, {place}, 0, 1, {channels})"
        view = f"{view} * {weight}[..., None, :]"
    if src.sizes_written(op.written) is None:
        raise Unfit("sums of several sizes")
    if op.option("first"):
        src.emit(depth, f"{name} = flat({view}, {pixels}, {kind == 'muladd'})")
        return
    src.emit(depth, f"grid = {name}.reshape({name}.shape[:-2] + (lines, {wide}, {channels}))")
    if kind == "max":
        src.emit(depth, f"np.maximum(grid, {view}, out=grid)")
    else:
        src.emit(depth, f"grid += {view}")
    src.emit(depth, f"{name} = grid.reshape({name}.shape)")


STATEMENTS: dict[type[Operation], Statement] = {
    CopyGmL1Op: _copy_in,
    CopyGmUbOp: _copy_in,
    CopyUbGmOp: _copy_out,
    LoadL0aOp: _load,
    LoadL0bOp: _load,
    LoadBiasOp: _load_bias,
    CopyRowsOp: _copy_rows,
    MmadOp: _mmad,
    FixpipeOp: _fixpipe,
    VunaryOp: _unary,
    VbinaryOp: _binary,
    VscalarOp: _scalar,
    VcastOp: _cast,
    VdupOp: _dup,
    VbrcOp: _broadcast,
    VcmpOp: _compare,
    VselOp: _select,
    VreduceOp: _reduce,
    VtransposeOp: _transpose,
    CopyMapL1Op: _nothing,
    CopyMapUbOp: _nothing,
    VspreadOp: _nothing,
    Load3dOp: _load3d,
    VtapOp: _tap,
}
"""Instruction -> what emits the source that executes it for all tiles."""


# What the source calls


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
    out = np.empty((_count(lead), out_high, out_wide, blocks, *g.kernel, c0), x.dtype)
    for r in range(g.kernel[0]):
        for c in range(g.kernel[1]):
            top, left = r * g.dilation[0], c * g.dilation[1]
            rows = slice(top, top + (out_high - 1) * g.stride[0] + 1, g.stride[0])
            cols = slice(left, left + (out_wide - 1) * g.stride[1] + 1, g.stride[1])
            out[:, :, :, :, r, c] = padded[:, :, rows, cols].transpose(0, 2, 3, 1, 4)
    return out


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
    "Unfit": Unfit,
}
"""The functions that the source names."""
