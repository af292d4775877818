"""From L0C to GM through UB, on chips without a fixpipe (arch 100 and 200).

    for rows of the tile:   copy_l0c_ub, bias, relu, rounding on the vector unit, copy_ub_gm

Cube and vector unit are in one core there, so a cube kernel runs on all pipes. There is no bias
table either: the bias is added to the sums in f32.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from xdsl.ir import Block, SSAValue

from ge_xdsl.dialects.aicore.cross import AffineOp
from ge_xdsl.dialects.aicore.move import CopyGmUbOp, CopyUbGmOp
from ge_xdsl.dialects.aicore.op import Index
from ge_xdsl.dialects.aicore.paths import COUPLED, CopyL0cUbOp
from ge_xdsl.dialects.aicore.structure import AllocOp, ForOp
from ge_xdsl.dialects.aicore.types import Tile, padded, tile_of
from ge_xdsl.dialects.aicore.vector import VbinaryOp, VbrcOp, VcastOp, VscalarOp, VunaryOp
from ge_xdsl.lowering.conv_tiling import ConvShape
from ge_xdsl.lowering.tiling import BLOCK, BUFFERS, MAX_VECTOR_TILE, MatmulShape
from ge_xdsl.targets.cost import Work, cost
from ge_xdsl.targets.target import Target

S = TypeVar("S", bound=MatmulShape | ConvShape)


def without_table(shape: S, target: Target) -> S:
    """A product's sizes for the search: a bias takes no room where there is no bias table."""
    return replace(shape, bias=False) if shape.bias and not target.bt else shape


def refused(element: str, target: Target) -> str:
    """Why the cube unit of a chip does not take factors of an element type, '' when it does."""
    if target.arch in COUPLED and element in ("f32", "bf16"):
        return f"no {element} factors on the cube unit of {target.name}, expected f16, i8 or ui8"
    return ""


def drain_cycles(m: int, n: int, out_size: int, target: Target) -> float:
    """Cycles of the busier of vector unit and MTE3 for a tile of m x n sums."""
    sums = cost(Work("l0c_ub", bytes=padded(m, BLOCK) * padded(n, BLOCK) * 4), target).busy
    moved = cost(Work("ub_gm", bytes=m * n * out_size, rows=m, size=out_size), target).busy
    return max(sums, moved)


def part_rows(n: int) -> int:
    """Rows of a tile of n columns that go through UB at a time: whole cube blocks."""
    return max(BLOCK, MAX_VECTOR_TILE // padded(n, BLOCK) // BLOCK * BLOCK)


@dataclass(frozen=True, slots=True)
class Way:
    """Where a tile of sums goes: the window of y, and what is done to it on the way."""

    y: SSAValue
    lead: Sequence[Index]
    m: Index
    n: Index
    vm: Index
    vn: Index
    relu: bool
    bias: SSAValue | None = None
    """The bias in GM."""
    bias_at: Sequence[Index] = ()
    """The window of the bias."""


def drain_through_ub(body: Block, c: SSAValue, way: Way) -> None:
    """Append what brings the tile `c` of L0C to GM."""
    rows, cols = tile_of(c).shape
    step = min(rows, part_rows(cols))
    row = _bias_row(body, way, cols) if way.bias is not None else None
    if step == rows:
        _part(body, c, way, (step, cols), (0, way.m, way.vm), row)
        return
    loop = ForOp.make([way.vm], [step], ["r"], bases=[way.m])
    body.add_op(loop)
    at = loop.origin(0)
    terms = [(1, at)] + ([(-1, way.m)] if isinstance(way.m, SSAValue) else [])
    inside = AffineOp.make(terms, 0 if isinstance(way.m, SSAValue) else -way.m)
    loop.body.add_op(inside)
    place = (inside.results[0], at, loop.length(0))
    _part(loop.body, c, way, (step, cols), place, row)


def _bias_row(body: Block, way: Way, cols: int) -> SSAValue:
    """The tile's part of the bias in UB, in f32."""
    assert way.bias is not None
    element = tile_of(way.bias).element
    read = _ub(body, "bias", 1, cols, element, BUFFERS)
    body.add_op(CopyGmUbOp.build(way.bias, read, offsets=list(way.bias_at), sizes=[1, way.vn]))
    if element == "f32":
        return read
    row = _ub(body, "bias_f32", 1, cols, "f32")
    body.add_op(VcastOp.build(read, row, sizes=[1, way.vn]))
    return row


def _part(
    body: Block,
    c: SSAValue,
    way: Way,
    shape: tuple[int, int],
    place: tuple[Index, Index, Index],
    row: SSAValue | None,
) -> None:
    """Some rows; `place` is where they stand in the tile and in y, and how many there are."""
    inside, at, count = place
    sizes: list[Index] = [count, way.vn]
    element, out = tile_of(c).element, tile_of(way.y).element
    direct = row is None and (element, out) in (("f32", "f16"), ("f32", "f32"), ("i32", "i32"))
    kind = out if direct else element
    # what is copied to GM has two buffers, so that the next part is computed meanwhile
    x = _ub(body, "sums", *shape, kind, BUFFERS if kind == out else 1)
    body.add_op(CopyL0cUbOp.build(c, x, offsets=[inside, 0], sizes=sizes))
    if row is not None:
        wide = _ub(body, "bias_rows", *shape, "f32")
        body.add_op(VbrcOp.build(row, wide, sizes=sizes))
        body.add_op(VbinaryOp.build(x, wide, x, sizes=sizes, kind="add"))
    if way.relu and kind == "i32":
        body.add_op(VscalarOp.build(x, x, sizes=sizes, kind="maxs", value=0.0))
    elif way.relu:
        body.add_op(VunaryOp.build(x, x, sizes=sizes, kind="relu"))
    if kind != out:
        rounded = _ub(body, "rounded", *shape, out, BUFFERS)
        body.add_op(VcastOp.build(x, rounded, sizes=sizes))
        x = rounded
    offsets: list[Index] = [*way.lead, at, way.n]
    body.add_op(CopyUbGmOp.build(x, way.y, offsets=offsets, sizes=sizes))


def _ub(body: Block, hint: str, rows: int, cols: int, element: str, buffers: int = 1) -> SSAValue:
    """Add a buffer in UB."""
    op = AllocOp.make(Tile((rows, cols), element, "ub").type, buffers)
    op.results[0].name_hint = hint
    body.add_op(op)
    return op.results[0]
