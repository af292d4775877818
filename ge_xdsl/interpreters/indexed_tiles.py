"""Gather, scatter, sort, scan and scalar loops on UB buffers, in numpy, and as source text."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

from ge_xdsl.dialects.aicore.indexed import COMPARISONS, ScalarOp
from ge_xdsl.dialects.aicore.op import Index, Instruction
from ge_xdsl.dialects.aicore.types import tile_of
from ge_xdsl.dialects.ge.elements import convert
from ge_xdsl.dialects.ge.types import numpy_dtype
from ge_xdsl.interpreters.tiles import DATA_TYPES, Buffer

if TYPE_CHECKING:
    from ge_xdsl.dialects.ge.types import Array


def vgather(src: Buffer, index: Buffer, dst: Buffer, rows: int, cols: int) -> None:
    """dst[i, j] = src[i, index[i or 0, j]]; raises ValueError for an index that src has not."""
    import numpy as np

    many = index.tile.shape[0] > 1
    places = index.get(0, 0, rows if many else 1, cols)
    bad = places[(places < 0) | (places >= src.cols)]
    if bad.size:
        raise ValueError(f"gathers element {bad[0]} of '{src.name}', which has {src.cols}")
    values = src.get(0, 0, rows, src.cols)
    dst.put(np.take_along_axis(values, places, 1) if many else values[:, places[0]])


def vsort(src: Buffer, dst: Buffer, rows: int, cols: int, descending: bool) -> None:
    """The stable order of each row, NaN above all numbers."""
    import numpy as np

    values = src.get(0, 0, rows, cols)
    if descending:  # from the end, so that equal elements keep their order
        order = np.argsort(values[:, ::-1], axis=1, kind="stable")
        order = (cols - 1 - order)[:, ::-1]
    else:
        order = np.argsort(values, axis=1, kind="stable")
    dst.put(order.astype(np.int32))


def vargreduce(src: Buffer, dst: Buffer, rows: int, cols: int, kind: str, axis: str) -> None:
    """The place of the first largest or smallest element."""
    import numpy as np

    call = np.argmax if kind == "max" else np.argmin
    found = call(src.get(0, 0, rows, cols), axis=1 if axis == "cols" else 0)
    dst.put(found.astype(np.int32).reshape((rows, 1) if axis == "cols" else (1, cols)))


def vscan(
    src: Buffer, dst: Buffer, rows: int, cols: int, kind: str, exclusive: bool, reverse: bool
) -> None:
    """Running sums, products, maxima or minima down the rows, rounded at every step."""
    import numpy as np

    calls = {"add": np.add, "mul": np.multiply, "max": np.maximum, "min": np.minimum}
    values = src.get(0, 0, rows, cols)
    values = values[::-1] if reverse else values
    found = calls[kind].accumulate(values, axis=0, dtype=values.dtype)
    if exclusive:
        start = np.full((1, cols), 0 if kind == "add" else 1, values.dtype)
        found = np.concatenate([start, found[:-1]])
    dst.put(found[::-1] if reverse else found)


def vscatter(
    updates: Buffer,
    index: Buffer,
    dst: Buffer,
    rows: int,
    cols: int,
    kind: str,
    elements: bool,
    first: int,
) -> None:
    """dst[index - first] = kind(that, updates), in the order of the rows of updates."""
    import numpy as np

    values = updates.get(0, 0, rows, cols)
    places = index.get(0, 0, rows if elements else 1, cols if elements else rows) - first
    dst.need(dst.rows, cols)
    inside = (places >= 0) & (places < dst.rows)
    whole = dst.data[: dst.rows, :cols]
    if elements:
        row, column = places[inside], np.nonzero(inside)[1]
        _put(whole, (row, column), values[inside], kind)
    else:
        _put(whole, places[0][inside[0]], values[inside[0]], kind)


def _put(whole: Array, places: Any, values: Array, kind: str) -> None:
    import numpy as np

    if kind == "update":
        whole[places] = values
        return
    calls: dict[str, Any] = {
        "add": np.add,
        "sub": np.subtract,
        "mul": np.multiply,
        "div": np.divide,
        "max": np.maximum,
        "min": np.minimum,
    }
    calls[kind].at(whole, places, values)


def _floor_divide(a: Array, b: Array) -> Array:
    import numpy as np

    return np.where(b == 0, 0, np.floor_divide(a, np.where(b == 0, 1, b)))


def _truncated(a: Array, b: Array) -> Array:
    """a / b towards zero."""
    import numpy as np

    below = np.where(b == 0, 1, b)
    whole = np.floor_divide(a, below)
    up = (whole * below != a) & ((a < 0) != (below < 0))
    return np.where(b == 0, 0, whole + up)


def _remainder(a: Array, b: Array) -> Array:
    return a - _truncated(a, b) * b


def _modulus(a: Array, b: Array) -> Array:
    return a - _floor_divide(a, b) * b


def _bits(a: Array, b: Array) -> Array:
    """Bits to shift by, held to what the type has."""
    import numpy as np

    return np.clip(b, 0, a.dtype.itemsize * 8 - 1)


def _shift_left(a: Array, b: Array) -> Array:
    import numpy as np

    return np.left_shift(a, _bits(a, b))


def _shift_right(a: Array, b: Array) -> Array:
    import numpy as np

    return np.right_shift(a, _bits(a, b))


def scalar(kind: str, dtype: Any, *arrays: Any) -> Array:
    """What a scalar loop of this kind gives on arrays (the last may be a number)."""
    import numpy as np

    if kind == "cast":
        return convert(arrays[0], dtype)
    if kind == "select":
        return cast("Array", np.where(arrays[0], arrays[1], arrays[2]))
    calls: dict[str, Callable[..., Array]] = {
        "add": np.add,
        "sub": np.subtract,
        "mul": np.multiply,
        "div": _truncated,
        "floordiv": _floor_divide,
        "rem": _remainder,
        "mod": _modulus,
        "max": np.maximum,
        "min": np.minimum,
        "and": np.bitwise_and,
        "or": np.bitwise_or,
        "xor": np.bitwise_xor,
        "shl": _shift_left,
        "shr": _shift_right,
        "eq": np.equal,
        "ne": np.not_equal,
        "lt": np.less,
        "le": np.less_equal,
        "gt": np.greater,
        "ge": np.greater_equal,
        "not": np.invert,
        "neg": np.negative,
        "abs": np.abs,
        "sign": np.sign,
        "copy": np.asarray,
    }
    return calls[kind](*arrays)


def round_to_whole(values: Array, mode: str) -> Array:
    """Whole numbers in the same element type; `round` takes halves away from zero."""
    import numpy as np

    if mode == "round":
        wide = values.astype(np.float64)
        return np.copysign(np.floor(np.abs(wide) + 0.5), wide).astype(values.dtype)
    calls = {"rint": np.rint, "floor": np.floor, "ceil": np.ceil, "trunc": np.trunc}
    return calls[mode](values)


FUNCTIONS: dict[str, Any] = {
    "round_to_whole": round_to_whole,
    "vgather": vgather,
    "vsort": vsort,
    "vargreduce": vargreduce,
    "vscan": vscan,
    "vscatter": vscatter,
    "scalar": scalar,
}
"""What the statements below call."""


def statement(
    op: Instruction, name: Callable[[Any], str], index: Callable[[Index], str], objects: Any
) -> str:
    """The Python statement that executes an op; `name` and `index` give names of values."""
    sizes = ", ".join(index(size) for size in op.sizes)
    if isinstance(op, ScalarOp):
        return _scalar_statement(op, name, sizes, objects)
    tiles = ", ".join(name(op.tile(tile)) for tile in op.tiles)
    options = [repr(op.option(option)) for option in op.options]
    options += [index(value) for value in op.at]
    call = op.name.removeprefix("aicore.")
    return f"{call}({', '.join([tiles, sizes, *options])})"


def _scalar_statement(
    op: ScalarOp, name: Callable[[Any], str], sizes: str, objects: dict[str, Any]
) -> str:
    kind, element = op.option("kind"), tile_of(op.written).element
    dtype = objects[f"{element}_dtype"] = numpy_dtype(DATA_TYPES[element])
    write = f"{name(op.written)}.write({sizes})[...]"
    source = element
    args = [f"{name(op.tile(t))}.read({sizes})" for t in op.tile_names()[:-1]]
    if op.has_value:
        if kind in COMPARISONS:
            source = op.tile_type("a").element
        objects[source] = numpy_dtype(DATA_TYPES[source]).type
        value = op.option("value")
        number = repr(value) if dtype.kind == "f" else str(int(value))
        args.append(f"{source}({number})")
    if kind == "fill":
        return f"{write} = {args[0]}"
    return f"{write} = scalar({kind!r}, {element}_dtype, {', '.join(args)})"
