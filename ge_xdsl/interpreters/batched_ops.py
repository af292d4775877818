"""The source text of each instruction for all tiles at once, and the functions that it calls."""

from __future__ import annotations

from xdsl.ir import Operation

from ge_xdsl.dialects.aicore.cube import FixpipeOp, MmadOp
from ge_xdsl.dialects.aicore.maps import (
    VtapOp,
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
from ge_xdsl.dialects.aicore.paths import CopyL0cUbOp
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
from ge_xdsl.dialects.ge.types import numpy_dtype
from ge_xdsl.interpreters.batched import (
    BatchedSource,
    Statement,
    Unfit,
    row_major,
)
from ge_xdsl.interpreters.batched_indexed import INDEXED_STATEMENTS
from ge_xdsl.interpreters.batched_maps import MAP_STATEMENTS
from ge_xdsl.interpreters.codegen import BINARY, COMPARE, REDUCE, SCALAR
from ge_xdsl.interpreters.tiles import DATA_TYPES

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


def _copy_sums(src: BatchedSource, op: CopyL0cUbOp, depth: int) -> None:
    rows, cols = (src.scalar(size) for size in op.sizes)
    row, col = (src.scalar(v) for v in op.offsets)
    values = f"inner({src.name(op.tile('src'))}, {row}, {col}, {rows}, {cols})"
    src.write(op, depth, rows, cols, f"{values}.astype({_element(src, op)}_t)")


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
    rows, cols = src.sizes(op)
    values = src.read(op, "src", rows, cols)
    kind = op.option("kind")
    if kind not in UNARY:
        raise Unfit(kind)
    src.write(op, depth, rows, cols, UNARY[kind].format(values, _element(src, op)))


def _binary(src: BatchedSource, op: Instruction, depth: int) -> None:
    rows, cols = src.sizes(op)
    a, b = src.read(op, "a", rows, cols), src.read(op, "b", rows, cols)
    if op.option("kind") not in BINARY:
        raise Unfit(op.option("kind"))
    src.write(op, depth, rows, cols, f"{BINARY[op.option('kind')]}({a}, {b})")


def _scalar(src: BatchedSource, op: Instruction, depth: int) -> None:
    rows, cols = src.sizes(op)
    if op.option("kind") not in SCALAR:
        raise Unfit(op.option("kind"))
    call = SCALAR[op.option("kind")]
    values = src.read(op, "src", rows, cols)
    src.write(op, depth, rows, cols, f"{call}({values}, {_number(src, op)})")


def _cast(src: BatchedSource, op: Instruction, depth: int) -> None:
    rows, cols = src.sizes(op)
    element, values = _element(src, op), src.read(op, "src", rows, cols)
    if "round" in op.properties:
        values = f"round_to_whole({values}, {op.option('round')!r})"
    if element.startswith(("i", "ui")):
        src.write(op, depth, rows, cols, f"convert({values}, {element}_t)")
    elif is_passed_on(src, op):
        src.write(op, depth, rows, cols, values)
    else:
        src.write(op, depth, rows, cols, f"{values}.astype({element}_t)")


def is_passed_on(src: BatchedSource, op: Instruction) -> bool:
    """Whether a cast of bytes to f16 is only cast on to f32: both at once give the same."""
    made, read = tile_of(op.written), tile_of(op.tile("src"))
    if (read.size, made.element) != (1, "f16") or len(src.writers(op.written)) != 1:
        return False
    users = [use.operation for use in op.written.uses if use.operation is not op]
    return all(
        isinstance(user, VcastOp)
        and tile_of(user.written).element == "f32"
        and "round" not in user.properties
        for user in users
    )


def _compare(src: BatchedSource, op: Instruction, depth: int) -> None:
    rows, cols = src.sizes(op)
    a, b = src.read(op, "a", rows, cols), src.read(op, "b", rows, cols)
    src.write(op, depth, rows, cols, f"{COMPARE[op.option('kind')]}({a}, {b})")


def _select(src: BatchedSource, op: Instruction, depth: int) -> None:
    rows, cols = src.sizes(op)
    mask, a, b = (src.read(op, name, rows, cols) for name in ("mask", "a", "b"))
    src.write(op, depth, rows, cols, f"np.where({mask}, {a}, {b})")


def _reduce(src: BatchedSource, op: VreduceOp, depth: int) -> None:
    rows, cols = src.sizes(op)
    axis = {"rows": "-2", "cols": "-1", "all": "(-2, -1)"}[op.option("axis")]
    if axis == "(-2, -1)":
        raise Unfit("a reduction of both dimensions")
    values = f"full({src.name(op.tile('src'))}, {rows}, {cols})"
    text = f"{REDUCE[op.option('kind')]}.reduce({values}, axis={axis}, keepdims=True)"
    src.write(op, depth, *written_sizes(src, op), text)


def _transpose(src: BatchedSource, op: Instruction, depth: int) -> None:
    rows, cols = src.sizes(op)
    values = src.read(op, "src", rows, cols)
    src.write(op, depth, cols, rows, f"{values}.swapaxes(-1, -2)")


def _dup(src: BatchedSource, op: Instruction, depth: int) -> None:
    rows, cols = src.sizes(op)
    import numpy as np

    dtype = numpy_dtype(DATA_TYPES[_element(src, op)])
    name = f"same{len(src.objects)}"
    value = op.option("value")
    with np.errstate(all="ignore"):
        src.objects[name] = np.full((1,) * (src.axes + 2), value, np.float64).astype(dtype)
    src.write(op, depth, rows, cols, name)


def _broadcast(src: BatchedSource, op: Instruction, depth: int) -> None:
    """Nothing is repeated: numpy does that where the result is used."""
    rows, cols = src.sizes(op)
    shape = tile_of(op.tile("src")).shape
    part = ["1" if d == 1 else size for d, size in zip(shape, (rows, cols), strict=True)]
    src.write(op, depth, rows, cols, src.read(op, "src", *part))


STATEMENTS: dict[type[Operation], Statement] = {
    CopyGmL1Op: _copy_in,
    CopyGmUbOp: _copy_in,
    CopyUbGmOp: _copy_out,
    LoadL0aOp: _load,
    LoadL0bOp: _load,
    LoadBiasOp: _load_bias,
    CopyL0cUbOp: _copy_sums,
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
    **MAP_STATEMENTS,
    **INDEXED_STATEMENTS,
}
"""Instruction -> what emits the source that executes it for all tiles."""
