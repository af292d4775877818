"""Reductions, sorts and scans over dimensions that kernels do not take as they are."""

from __future__ import annotations

from math import prod

from xdsl.ir import SSAValue

from ge_xdsl.dialects.ge.op import GeOp
from ge_xdsl.dialects.ge.types import HALVES, DataType
from ge_xdsl.lowering.expand.arithmetic import axes_of
from ge_xdsl.lowering.expand.builder import Builder, Expansion

SMALL = (DataType.DT_INT8, DataType.DT_UINT8, DataType.DT_INT16)
"""Integers that i32 holds with room to spare."""
PAIRS = {"Sum": "Add", "Max": "Maximum", "Min": "Minimum", "Prod": "Mul"}
"""A reduction -> the op on two elements."""
MOST = 8192
"""Elements that one kernel reduces to one when a whole row does not fit."""


def _kind(op: GeOp) -> str:
    """Sum, Mean, Max, Min, Prod, All or Any."""
    return op.op_type.removeprefix("Reduce").removesuffix("D")


def reduce(build: Builder, op: GeOp) -> SSAValue:
    """One reduction after another, of dimensions that are neighbours and not too long."""
    kind, x, y = _kind(op), op.operands[0], op.results[0]
    shape, dtype = build.shape(x), build.dtype(x)
    axes = [axis for axis in axes_of(build, op) if shape[axis] > 1]
    if not axes:
        return build("Identity", x) if shape == build.shape(y) else build.like(x, y)
    if dtype in SMALL and kind in PAIRS:
        wide = build.cast(x, DataType.DT_INT32)
        return build.like(build.reduce(kind, wide, axes), y)
    if kind in ("All", "Any") and dtype != DataType.DT_BOOL:
        return build.like(build.reduce(kind, build.cast(x, DataType.DT_BOOL), axes), y)
    if dtype == DataType.DT_INT64 and kind in PAIRS:
        return build.like(_by_halves(build, kind, x, axes), y)
    if dtype not in (*HALVES, DataType.DT_FLOAT, DataType.DT_INT32, DataType.DT_BOOL):
        raise build.decline(f"for a reduction of element type {dtype.name}")
    if axes != list(range(axes[0], axes[-1] + 1)):
        return build.like(_gathered(build, kind, build.wide(x), axes), y)
    return build.like(_in_parts(build, kind, build.wide(x), axes), y)


def _gathered(build: Builder, kind: str, x: SSAValue, axes: list[int]) -> SSAValue:
    """The dimensions moved to the end and reduced as one."""
    shape = build.shape(x)
    kept = [i for i in range(len(shape)) if i not in axes]
    turned = build.transpose(x, [*kept, *axes])
    lead = [shape[i] for i in kept]
    flat = build.reshape(turned, [*lead, prod(shape[i] for i in axes)])
    return build.reduce(kind, flat, [len(lead)], False)


def _in_parts(build: Builder, kind: str, x: SSAValue, axes: list[int]) -> SSAValue:
    """Rows that are too long cut to parts that are reduced first."""
    shape = build.shape(x)
    count = prod(shape[axis] for axis in axes)
    lead, tail = shape[: axes[0]], shape[axes[-1] + 1 :]
    part = _part(count)
    if part in (1, count):
        raise build.decline(f"for a reduction of {count} elements to one")
    step = "Sum" if kind == "Mean" else kind
    flat = build.reshape(x, [*lead, count // part, part, *tail])
    first = build.reduce(step, flat, [len(lead) + 1], False)
    y = build.reduce(step, first, [len(lead)], False)
    return build("Muls", y, value=1 / count) if kind == "Mean" else y


def _part(count: int) -> int:
    """A divisor near the square root, so that both reductions are short; 1 for a prime."""
    best = 1
    for n in range(1, int(count**0.5) + 1):
        if count % n == 0:
            best = n
    return count // best if count // best <= MOST else best


def _by_halves(build: Builder, kind: str, x: SSAValue, axes: list[int]) -> SSAValue:
    """Integers of 64 bits: one half and the other, until one is left."""
    for axis in axes:
        size = build.shape(x)[axis]
        while size > 1:
            half = size // 2
            a, b = build.slice(x, axis, 0, half), build.slice(x, axis, half, half)
            y = build(PAIRS[kind], a, b)
            if size % 2:
                y = build.concat([y, build.slice(x, axis, size - 1, 1)], axis)
            x, size = y, half + size % 2
    return x


def _axis_of(build: Builder, op: GeOp, name: str) -> int:
    rank = len(build.shape(op.operands[0]))
    if name in op.prototype.attr_by_name:
        return op.get_attr(name) % max(rank, 1)
    return int(build.known(build.slot(name), name).reshape(-1)[0]) % max(rank, 1)


def arg(build: Builder, op: GeOp) -> list[SSAValue]:
    """The place of an extremum: of one element, or of small integers in f32."""
    x = op.operands[0]
    axis = _axis_of(build, op, "dimension")
    shape, dtype = build.shape(x), build.dtype(x)
    index, *values = op.results
    if not shape or shape[axis] == 1:
        zero = build.const(0, build.dtype(index))
        place = build.spread(zero, build.shape(index)) if build.shape(index) else zero
        return [place, *(build.like(build("Identity", x), v) for v in values)]
    if dtype not in SMALL:
        raise build.decline(f"for a reduction of element type {dtype.name}")
    wide = build.cast(x, DataType.DT_FLOAT)
    how = "ArgMaxD" if "Max" in op.op_type else "ArgMinD"
    place = build.like(build(how, wide, dimension=axis), index)
    kind = "Max" if "Max" in op.op_type else "Min"
    return [place, *(build.like(build.reduce(kind, x, [axis]), v) for v in values)]


def hard_max(build: Builder, op: GeOp) -> SSAValue:
    """1 at the first maximum, else 0"""
    x, axis = op.operands[0], op.get_attr("axis")
    place = build.cast(build("ArgMaxD", x, dimension=axis), DataType.DT_INT32)
    return build.like(_at(build, x, place, axis), op.results[0])


def _at(build: Builder, x: SSAValue, place: SSAValue, axis: int) -> SSAValue:
    """Whether each element stands at `place` along the axis; `place` lacks it."""
    shape = build.shape(x)
    axis %= len(shape)
    ramp = build.reshape(
        build.const(range(shape[axis]), build.dtype(place)),
        [shape[axis] if i == axis else 1 for i in range(len(shape))],
    )
    wide = build.reshape(place, [1 if i == axis else d for i, d in enumerate(shape)])
    return build("Equal", build.spread(wide, shape), build.spread(ramp, shape))


def put_along(build: Builder, op: GeOp) -> SSAValue:
    """var with updates where the indices say along a dimension"""
    var, place, updates = op.operands[:3]
    axis = op.get_attr("dimension")
    shape = build.shape(var)
    axis %= len(shape)
    wide = build.reshape(updates, [1 if i == axis else d for i, d in enumerate(shape)])
    index = build.cast(place, DataType.DT_INT32)
    return build("SelectV2", _at(build, var, index, axis), build.spread(wide, shape), var)


def sort(build: Builder, op: GeOp) -> list[SSAValue]:
    """Sorted along another dimension than the last, or small integers as f32."""
    x, axis = op.operands[0], op.get_attr("axis")
    shape = build.shape(x)
    if not shape or shape[axis] == 1:
        places = [build.spread(build.const(0, build.dtype(v)), shape) for v in op.results[1:]]
        return [build("Identity", x), *places]
    y, order = sorted_along(build, x, axis, op.get_attr("descending"))
    results = list(op.results)
    return [build.like(v, r) for v, r in zip((y, order), results, strict=False)]


def sorted_along(
    build: Builder, x: SSAValue, axis: int, descending: bool
) -> tuple[SSAValue, SSAValue]:
    """Values and places (i32) in order along a dimension."""
    dtype = build.dtype(x)
    if dtype in SMALL:
        x = build.cast(x, DataType.DT_FLOAT)
    elif dtype not in (*HALVES, DataType.DT_FLOAT):
        raise build.decline(f"for a sort of element type {dtype.name}")
    turned = build.to_last(x, axis)
    y, order = build.results("Sort", turned, axis=-1, descending=descending)
    y = build.cast(build.from_last(y, axis), dtype)
    return y, build.from_last(order, axis)


def top_k(build: Builder, op: GeOp) -> list[SSAValue]:
    """Sorted, and cut after k."""
    x, (values, places) = op.operands[0], op.results
    names = op.prototype.attr_by_name
    axis = op.get_attr("dim") if "dim" in names else -1
    largest = op.get_attr("largest") if "largest" in names else True
    count = build.shape(values)[axis] if build.shape(values) else 1
    if not build.shape(x) or build.shape(x)[axis] == 1:
        zero = build.spread(build.const(0, build.dtype(places)), build.shape(places))
        return [build.like(build("Identity", x), values), zero]
    y, order = sorted_along(build, x, axis, bool(largest))
    cut = [build.slice(v, axis, 0, count) for v in (y, order)]
    return [build.like(v, r) for v, r in zip(cut, (values, places), strict=True)]


def sort_with_index(build: Builder, op: GeOp) -> list[SSAValue]:
    """Values sorted, and what stood beside them."""
    x, index = op.operands
    axis = op.get_attr("axis")
    if not build.shape(x) or build.shape(x)[axis] == 1:
        return [build("Identity", x), build("Identity", index)]
    y, order = sorted_along(build, x, axis, op.get_attr("descending"))
    turned = build.to_last(index, axis)
    picked = build("GatherElements", turned, build.to_last(order, axis), dim=-1)
    return [y, build.from_last(picked, axis)]


def scan(build: Builder, op: GeOp) -> SSAValue:
    """A running sum or product along the last dimension: turned, or two columns for one."""
    x, y = op.operands[0], op.results[0]
    axis = _axis_of(build, op, "axis")
    shape, dtype = build.shape(x), build.dtype(x)
    name = op.op_type.removesuffix("D") + "D"
    flags = {flag: op.get_attr(flag) for flag in ("exclusive", "reverse")}
    if not shape or shape[axis] == 1:
        return _one_scanned(build, op)
    if dtype in SMALL:
        wide = build.cast(x, DataType.DT_INT32)
        return build.like(build(name, wide, axis=axis, **flags), y)
    if dtype not in (*HALVES, DataType.DT_FLOAT, DataType.DT_INT32):
        raise build.decline(f"for a scan of element type {dtype.name}")
    lead, tail = prod(shape[:axis]), prod(shape[axis + 1 :])
    if tail > 1:
        raise build.decline("for a scan of columns that are too long")
    columns = build.transpose(build.reshape(x, [lead, shape[axis]]), [1, 0])
    if lead == 1:
        pair = build.concat([columns, columns], 1)
        done = build.slice(build(name, pair, axis=0, **flags), 1, 0, 1)
    else:
        done = build(name, columns, axis=0, **flags)
    return build.reshape(build.transpose(done, [1, 0]), shape)


def _one_scanned(build: Builder, op: GeOp) -> SSAValue:
    x = op.operands[0]
    if not op.get_attr("exclusive"):
        return build("Identity", x)
    start = build.const(1 if "prod" in op.op_type else 0, build.dtype(x))
    return build.spread(start, build.shape(x)) if build.shape(x) else start


EXPANSIONS: dict[str, Expansion] = {
    **{
        f"Reduce{kind}{form}": reduce
        for kind in ("Sum", "Mean", "Max", "Min", "Prod", "All", "Any")
        for form in ("", "D")
    },
    **dict.fromkeys(("ArgMaxV2", "ArgMaxD", "ArgMin", "ArgMinD"), arg),
    **dict.fromkeys(("ArgMaxWithValue", "ArgMinWithValue"), arg),
    **dict.fromkeys(("ArgMaxGrad", "ArgMaxGradD"), put_along),
    "HardMax": hard_max,
    **dict.fromkeys(("Sort", "SortV2"), sort),
    "SortWithIndex": sort_with_index,
    **dict.fromkeys(("TopK", "TopKV2", "TopKD", "TopKV2D"), top_k),
    **dict.fromkeys(("Cumsum", "CumsumD", "Cumprod", "CumprodD"), scan),
}
