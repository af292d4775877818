"""The source text of gathers, orders, scans and scalar loops for all tiles at once."""

from __future__ import annotations

from xdsl.ir import Operation

from ge_xdsl.dialects.aicore.indexed import (
    COMPARISONS,
    ScalarOp,
    VargreduceOp,
    VgatherOp,
    VscanOp,
    VsortOp,
)
from ge_xdsl.dialects.aicore.types import tile_of
from ge_xdsl.dialects.ge.types import numpy_dtype
from ge_xdsl.interpreters.batched import BatchedSource, Statement
from ge_xdsl.interpreters.tiles import DATA_TYPES


def _gather(src: BatchedSource, op: VgatherOp, depth: int) -> None:
    rows, cols = src.sizes(op)
    many = tile_of(op.tile("index")).shape[0] > 1
    index = src.read(op, "index", rows if many else "1", cols)
    src.write(op, depth, rows, cols, f"gather({src.name(op.tile('src'))}, {index}, {rows})")


def _sort(src: BatchedSource, op: VsortOp, depth: int) -> None:
    rows, cols = src.sizes(op)
    values = f"full({src.name(op.tile('src'))}, {rows}, {cols})"
    text = f"order({values}, {op.option('descending')})"
    src.write(op, depth, rows, cols, text)


def _arg(src: BatchedSource, op: VargreduceOp, depth: int) -> None:
    rows, cols = src.sizes(op)
    by_cols = op.option("axis") == "cols"
    values = f"full({src.name(op.tile('src'))}, {rows}, {cols})"
    text = f"np.arg{op.option('kind')}({values}, axis={-1 if by_cols else -2}, keepdims=True)"
    left = (rows, "1") if by_cols else ("1", cols)
    src.write(op, depth, *left, f"{text}.astype(np.int32)")


def _scan(src: BatchedSource, op: VscanOp, depth: int) -> None:
    rows, cols = src.sizes(op)
    values = f"full({src.name(op.tile('src'))}, {rows}, {cols})"
    how = f"{op.option('kind')!r}, {op.option('exclusive')}, {op.option('reverse')}"
    src.write(op, depth, rows, cols, f"scan({values}, {how})")


def _scalar(src: BatchedSource, op: ScalarOp, depth: int) -> None:
    rows, cols = src.sizes(op)
    kind, element = op.option("kind"), tile_of(op.written).element
    dtype = src.objects[f"{element}_t"] = numpy_dtype(DATA_TYPES[element])
    args = [src.read(op, name, rows, cols) for name in op.tile_names()[:-1]]
    if op.has_value:
        source = op.tile_type("a").element if kind in COMPARISONS else element
        src.objects[source] = numpy_dtype(DATA_TYPES[source]).type
        value = op.option("value")
        number = repr(value) if dtype.kind == "f" else str(int(value))
        args.append(f"{source}({number})")
    if kind == "fill":
        text = f"np.full({(1,) * (src.axes + 2)}, {args[0]})"
    else:
        text = f"scalar({kind!r}, {element}_t, {', '.join(args)}).astype({element}_t, copy=False)"
    src.write(op, depth, rows, cols, text)


INDEXED_STATEMENTS: dict[type[Operation], Statement] = {
    VgatherOp: _gather,
    VsortOp: _sort,
    VargreduceOp: _arg,
    VscanOp: _scan,
    ScalarOp: _scalar,
}
"""Instruction by index -> what emits the source that executes it for all tiles."""
