"""Gathers, scatters and rearrangements as gathers and scatters of rows."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING, Any, cast

from xdsl.ir import SSAValue

from ge_xdsl.dialects.ge.op import GeOp, constant_of
from ge_xdsl.dialects.ge.types import HALVES, DataType
from ge_xdsl.lowering.expand.builder import Builder, Expansion

if TYPE_CHECKING:
    from ge_xdsl.dialects.ge.types import Array

LARGEST_MAP = 1 << 22
"""Elements of the largest result whose places are worked out at compile time."""
LONGEST_RUN = 4096
"""Elements of the longest run that is gathered at a time."""


def as_index(build: Builder, places: SSAValue) -> SSAValue:
    """Places as i32 or i64."""
    if build.dtype(places) in (DataType.DT_INT32, DataType.DT_INT64):
        return places
    return build.cast(places, DataType.DT_INT32)


def wrapped(build: Builder, places: SSAValue, size: int) -> SSAValue:
    """Places of which negative ones count from the end."""
    known = constant_of(places)
    if known is not None:
        import numpy as np

        moved = np.where(known < 0, known + size, known)
        return build.array(moved.astype(known.dtype))
    below = build("Less", places, 0)
    return build("SelectV2", below, build("Add", places, size), places)


def rows(build: Builder, x: SSAValue, places: SSAValue) -> SSAValue:
    """x[places] along the first dimension."""
    return build("GatherV2", x, places, [0])


def take(
    build: Builder, x: SSAValue, places: SSAValue, axis: int, negative: bool = False
) -> SSAValue:
    """x[..., places, ...] along one dimension."""
    shape, count = build.shape(x), build.shape(places)
    lead, size, tail = prod(shape[:axis]), shape[axis], prod(shape[axis + 1 :])
    out = (*shape[:axis], *count, *shape[axis + 1 :])
    if negative:
        places = wrapped(build, places, size)
    flat = build.reshape(places, [build.count(places)])
    if lead == 1:
        found = rows(build, build.reshape(x, [size, tail]), flat)
        return build.reshape(found, out)
    starts = build.const([[size * i] for i in range(lead)], build.dtype(places))
    every = _sum_of(build, build.reshape(flat, [1, build.count(flat)]), starts)
    source = build.reshape(x, [lead * size, tail])
    found = rows(build, source, build.reshape(every, [build.count(every)]))
    return build.reshape(found, out)


def _sum_of(build: Builder, a: SSAValue, b: SSAValue) -> SSAValue:
    """a + b, worked out when both are known."""
    known = constant_of(a), constant_of(b)
    if known[0] is None or known[1] is None:
        return build("Add", a, b)
    return build.array((known[0] + known[1]).astype(known[0].dtype))


def gather_v2(build: Builder, op: GeOp) -> SSAValue:
    """Along any dimension, with batch dimensions in common."""
    x, places, axis = op.operands
    shape = build.shape(x) or (1,)
    place = int(build.known(axis, "axis").reshape(-1)[0]) % len(shape)
    batch = op.get_attr("batch_dims")
    batch = batch + len(build.shape(places)) if batch < 0 else batch
    x = build.reshape(x, shape)
    negative = bool(op.get_attr("negative_index_support"))
    return batched_take(build, x, as_index(build, places), place, batch, negative)


def batched_take(
    build: Builder, x: SSAValue, places: SSAValue, axis: int, batch: int, negative: bool
) -> SSAValue:
    """`take` in each of the first `batch` dimensions of x and places."""
    shape, wanted = build.shape(x), build.shape(places)
    if not batch:
        return take(build, x, places, axis, negative)
    if negative:
        places = wrapped(build, places, shape[axis])
    head, middle, size = prod(shape[:batch]), prod(shape[batch:axis]), shape[axis]
    tail, each = prod(shape[axis + 1 :]), prod(wanted[batch:])
    starts = build.const(
        [[[size * (i * middle + j)] for j in range(middle)] for i in range(head)],
        build.dtype(places),
    )
    every = _sum_of(build, build.reshape(places, [head, 1, each]), starts)
    source = build.reshape(x, [head * middle * size, tail])
    found = rows(build, source, build.reshape(every, [build.count(every)]))
    return build.reshape(found, (*shape[:axis], *wanted[batch:], *shape[axis + 1 :]))


def gather(build: Builder, op: GeOp) -> SSAValue:
    """Gather and Embedding: rows along the first dimension after the batch ones."""
    x, places = op.operands[:2]
    batch = op.get_attr("batch_dims") if "batch_dims" in op.prototype.attr_by_name else 0
    batch = batch + len(build.shape(places)) if batch < 0 else batch
    negative = "negative_index_support" in op.prototype.attr_by_name and bool(
        op.get_attr("negative_index_support")
    )
    return batched_take(build, x, as_index(build, places), batch, batch, negative)


def gather_v2_d(build: Builder, op: GeOp) -> SSAValue:
    x, places = op.operands
    axis = op.get_attr("axis") % len(build.shape(x))
    return take(build, x, as_index(build, places), axis)


def gather_elements(build: Builder, op: GeOp) -> SSAValue:
    """Along another dimension, or of fewer rows than x has, or of single elements."""
    x, index = op.operands
    dim = op.get_attr("dim") % len(build.shape(x))
    shape, wanted = build.shape(x), build.shape(index)
    for axis, (have, want) in enumerate(zip(shape, wanted, strict=True)):
        if axis != dim and have != want:
            x = build.slice(x, axis, 0, want)
    if dim != len(shape) - 1:
        turned = build("GatherElements", build.to_last(x, dim), build.to_last(index, dim), dim=-1)
        return build.from_last(turned, dim)
    if build.shape(x) != shape:
        return build("GatherElements", x, index, dim=-1)
    places = wrapped(build, index, shape[-1])
    lead = prod(shape[:-1])
    starts = build.const([[shape[-1] * i] for i in range(lead)], build.dtype(places))
    every = _sum_of(build, build.reshape(places, [lead, wanted[-1]]), starts)
    flat = build.reshape(every, [build.count(every)])
    found = rows(build, build.reshape(x, [build.count(x), 1]), flat)
    return build.reshape(found, wanted)


def linear_index(build: Builder, places: SSAValue, sizes: Sequence[int]) -> SSAValue:
    """[n, K] places in K dimensions -> [n] numbers of rows."""
    depth = len(sizes)
    places = as_index(build, places)
    count = build.count(places) // max(depth, 1)
    table = build.reshape(places, [count, depth])
    known = constant_of(places)
    strides = [prod(sizes[k + 1 :]) for k in range(depth)]
    if known is not None:
        flat = (known.reshape(count, depth) * strides).sum(axis=1)
        return build.array(flat.astype(known.dtype))
    found: SSAValue | None = None
    for k, stride in enumerate(strides):
        column = build.reshape(build.slice(table, 1, k, 1), [count])
        part = build("Mul", column, stride) if stride != 1 else column
        found = part if found is None else build("Add", found, part)
    assert found is not None
    return found


def gather_nd(build: Builder, op: GeOp) -> SSAValue:
    """Rows of all that the indices do not address."""
    x, places = op.operands[:2]
    shape, depth = build.shape(x), build.shape(places)[-1]
    negative = "negative_index_support" in op.prototype.attr_by_name and bool(
        op.get_attr("negative_index_support")
    )
    if negative:
        count = build.count(places) // depth
        sizes = build.const([list(shape[:depth])] * count, build.dtype(places))
        sizes = build.reshape(sizes, build.shape(places))
        below = build("Less", places, 0)
        places = build("SelectV2", below, build("Add", places, sizes), places)
    flat = linear_index(build, places, shape[:depth])
    source = build.reshape(x, [prod(shape[:depth]), prod(shape[depth:])])
    return build.reshape(rows(build, source, flat), build.shape(op.results[0]))


# Scatters


def put_rows(
    build: Builder, x: SSAValue, places: SSAValue, updates: SSAValue, how: str
) -> SSAValue:
    """x [n, w] with updates [m, w] combined into the rows that places [m] name."""
    dtype = build.dtype(x)
    if how != "Update":
        x, updates = _computable(build, x), _computable(build, updates)
    found = build(f"Scatter{how}", x, places, updates)
    return build.cast(found, dtype)


def _computable(build: Builder, x: SSAValue) -> SSAValue:
    """Half floats as f32, small integers as i32."""
    dtype = build.dtype(x)
    if dtype in HALVES:
        return build.cast(x, DataType.DT_FLOAT)
    if dtype in (DataType.DT_INT8, DataType.DT_UINT8, DataType.DT_INT16):
        return build.cast(x, DataType.DT_INT32)
    if dtype not in (DataType.DT_FLOAT, DataType.DT_INT32):
        raise build.decline(f"for a scatter of element type {dtype.name}")
    return x


def scatter_rows(build: Builder, op: GeOp) -> SSAValue:
    """ScatterAdd and the like of half floats and small integers."""
    var, places, updates = op.operands[:3]
    how = op.op_type.removeprefix("Scatter")
    dtype = build.dtype(var)
    if _computable(build, var) is var:
        raise build.decline(f"for element type {dtype.name}")
    return put_rows(build, var, places, updates, how)


def scatter_nd(build: Builder, op: GeOp) -> SSAValue:
    """Into the slices of the first operand that the indices address."""
    x, places, updates = op.operands[:3]
    how = next(k for k in ("Update", "Add", "Sub", "Max", "Min") if op.op_type.endswith(k))
    return _into_slices(build, x, places, updates, how)


def _into_slices(
    build: Builder, x: SSAValue, places: SSAValue, updates: SSAValue, how: str
) -> SSAValue:
    shape, depth = build.shape(x), build.shape(places)[-1]
    flat = linear_index(build, places, shape[:depth])
    count, tail = prod(shape[:depth]), prod(shape[depth:])
    table = build.reshape(x, [count, tail])
    parts = build.reshape(updates, [build.count(flat), tail])
    return build.reshape(put_rows(build, table, flat, parts, how), shape)


def scatter_into_zeros(build: Builder, op: GeOp) -> SSAValue:
    """ScatterNd: sums of updates in a tensor of zeros."""
    places, updates = op.operands[:2]
    y = op.results[0]
    zeros = build.spread(build.const(0, build.dtype(updates)), build.shape(y))
    return _into_slices(build, zeros, places, updates, "Add")


def scatter_elements(build: Builder, op: GeOp) -> SSAValue:
    """Half floats in f32; indices that are smaller than the data beside the axis: in its corner."""
    x, index, updates = op.operands[:3]
    axis = op.get_attr("axis") % len(build.shape(x))
    how = op.get_attr("reduction")
    dtype = build.dtype(x)
    if "include_self" in op.prototype.attr_by_name and not op.get_attr("include_self"):
        start = build.const(1 if how == "mul" else 0, dtype)
        blank = build.spread(start, build.shape(updates))
        x = build("ScatterElements", x, index, blank, axis=axis, reduction="none")
    if how != "none":
        x, updates = _computable(build, x), _computable(build, updates)
    shape, wanted = build.shape(x), build.shape(index)
    corner = x
    for i, (have, want) in enumerate(zip(shape, wanted, strict=True)):
        if i != axis and have != want:
            corner = build.slice(corner, i, 0, want)
    y = build("ScatterElements", corner, index, updates, axis=axis, reduction=how)
    for i in reversed(range(len(shape))):  # put the corner back
        want = wanted[i] if i != axis else shape[i]
        if want != shape[i]:
            rest = x
            for j in range(i):
                if j != axis and wanted[j] != shape[j]:
                    rest = build.slice(rest, j, 0, wanted[j])
            y = build.concat([y, build.slice(rest, i, want, shape[i] - want)], i)
    return build.cast(y, dtype)


def index_add(build: Builder, op: GeOp) -> SSAValue:
    """Rows along any dimension, turned to the front."""
    var, places, updates, *alpha = op.operands
    axis = op.get_attr("axis") % len(build.shape(var))
    if alpha:
        updates = build("Mul", updates, alpha[0])
    return _along(build, var, places, updates, axis, "Add")


def _along(
    build: Builder, x: SSAValue, places: SSAValue, updates: SSAValue, axis: int, how: str
) -> SSAValue:
    order = [axis, *(i for i in range(len(build.shape(x))) if i != axis)]
    back = [order.index(i) for i in range(len(order))]
    turned, parts = build.transpose(x, order), build.transpose(updates, order)
    return build.transpose(put_rows(build, turned, places, parts, how), back)


def index_fill(build: Builder, op: GeOp) -> SSAValue:
    """Slices along a dimension set to one value."""
    x, places, value = op.operands
    shape = build.shape(x)
    axis: int = op.get_attr("dim") % len(shape)
    flat = build.reshape(places, [build.count(places)])
    flat = wrapped(build, flat, shape[axis])
    wide = [build.count(flat) if i == axis else d for i, d in enumerate(shape)]
    one = build.reshape(value, [1] * len(shape))
    return _along(build, x, flat, build.spread(one, wide), axis, "Update")


def _modulo(build: Builder, places: SSAValue, size: int) -> SSAValue:
    """Places of which those outside go around."""
    known = constant_of(places)
    if known is None:
        return build("FloorMod", places, size)
    return build.array((known % size).astype(known.dtype))


def inplace(build: Builder, op: GeOp) -> SSAValue:
    """InplaceUpdate, Add and Sub of rows."""
    how = next(k for k in ("Update", "Add", "Sub") if k in op.op_type)
    x, *rest = op.operands
    if len(rest) == 2:
        places, v = rest
    else:
        (v,) = rest
        places = build.const(list(op.get_attr("indices")), DataType.DT_INT32)
    shape = build.shape(x)
    flat = _modulo(build, build.reshape(places, [build.count(places)]), shape[0])
    table = build.reshape(x, [shape[0], prod(shape[1:])])
    parts = build.reshape(v, [build.count(flat), prod(shape[1:])])
    return build.reshape(put_rows(build, table, flat, parts, how), shape)


# Ops that only move elements, to places known at compile time


def _places(op: GeOp, x: SSAValue, shape: Sequence[int]) -> Array:
    """For each element of y the place of x that it comes from, -1 for a zero."""
    import numpy as np

    ramp = np.arange(1, prod(shape) + 1, dtype=np.int64).reshape(shape)
    arrays: list[Any] = []
    for value in op.operands:
        known = ramp if value is x else constant_of(value)
        arrays.append(known)
    found: Any = op.evaluate(*op.arrange(arrays))
    y = cast("Array", found[0] if isinstance(found, (list, tuple)) else found)
    return y.reshape(-1).astype(np.int64) - 1


def moved(build: Builder, op: GeOp) -> SSAValue:
    """Runs of x gathered; a run of zeros behind x serves where y has one."""
    x, y = op.operands[0], op.results[0]
    for value in op.operands[1:]:
        build.known(value, "an operand beside x")
    if build.count(y) > LARGEST_MAP or build.count(x) > LARGEST_MAP:
        raise build.decline(f"for a map of {build.count(y)} elements")
    places = _places(op, x, build.shape(x))
    run = _run(places, build.count(x))
    table = build.reshape(x, [build.count(x) // run, run])
    first = places.reshape(-1, run)[:, 0]
    numbers = first // run
    if (first < 0).any():
        zeros = build.spread(build.const(0, build.dtype(x)), [1, run])
        table = build.concat([table, zeros], 0)
        numbers[first < 0] = build.count(x) // run
    import numpy as np

    found = rows(build, table, build.array(numbers.astype(np.int32)))
    return build.reshape(found, build.shape(y))


def _run(places: Array, count: int) -> int:
    """The longest run of neighbours that y is made of, at multiples of it in x."""
    import numpy as np

    best = 1
    for run in range(2, min(LONGEST_RUN, places.size, count) + 1):
        if places.size % run or count % run:
            continue
        table = places.reshape(-1, run)
        first = table[:, :1]
        whole = (table == first + np.arange(run)) & (first % run == 0)
        if (whole | ((table < 0) & (first < 0))).all():
            best = run
    return best


def masked(build: Builder, op: GeOp) -> SSAValue:
    """Triangles and bands: x, and zeros where the op gives none of it."""
    import numpy as np

    x = op.operands[0]
    for value in op.operands[1:]:
        build.known(value, "an operand beside x")
    shape = build.shape(x)
    ones = np.ones(shape[-2:], np.int64)
    arrays = [ones if v is x else constant_of(v) for v in op.operands]
    found: Any = op.evaluate(*op.arrange(arrays))
    mask = build.array(np.asarray(found).reshape(shape[-2:]) != 0)
    return build(
        "SelectV2",
        build.spread(mask, shape),
        x,
        build.spread(build.const(0, build.dtype(x)), shape),
    )


def pad(build: Builder, op: GeOp) -> SSAValue:
    """Modes edge, reflect, symmetric and circular: a gather along each padded dimension."""
    import numpy as np

    from ge_xdsl.dialects.ge.slice import pad_pairs

    x = op.operands[0]
    shape = build.shape(x)
    mode = op.get_attr("mode") if "mode" in op.prototype.attr_by_name else "constant"
    if mode not in ("edge", "reflect", "symmetric", "circular"):
        raise build.decline(f"for mode {mode}")
    flat = build.known(build.slot("paddings"), "paddings").reshape(-1)
    together = bool(op.get_attr("paddings_contiguous"))
    pairs = pad_pairs([int(v) for v in flat], len(shape), together)
    mode = "wrap" if mode == "circular" else mode
    for axis, (before, after) in enumerate(pairs):
        if before == after == 0:
            continue
        places = np.pad(
            np.arange(shape[axis], dtype=np.int32), (max(before, 0), max(after, 0)), mode=mode
        )
        places = places[max(-before, 0) : places.size - max(-after, 0)]
        x = axis_gather(build, x, build.array(places), axis)
    return x


def axis_gather(build: Builder, x: SSAValue, places: SSAValue, axis: int) -> SSAValue:
    """x[..., places, ...] for constant places: by elements in the last dimension, else by rows."""
    return build("GatherV2", x, places, [axis])


def one_hot(build: Builder, op: GeOp) -> SSAValue:
    """on where the place is x's number, else off"""
    x, _, on, off = op.operands
    y = op.results[0]
    shape = build.shape(y)
    rank = len(shape)
    axis = rank - 1 if op.get_attr("axis") == -1 else op.get_attr("axis")
    dtype = build.dtype(x)
    ramp = build.const(range(shape[axis]), dtype)
    ramp = build.reshape(ramp, [shape[axis] if i == axis else 1 for i in range(rank)])
    wide = build.reshape(x, [1 if i == axis else d for i, d in enumerate(shape)])
    hot = build("Equal", build.spread(wide, shape), build.spread(ramp, shape))
    values = [build.spread(build.reshape(v, [1] * rank), shape) for v in (on, off)]
    return build("SelectV2", hot, *values)


def fill(build: Builder, op: GeOp) -> SSAValue:
    value = op.operands[1]
    shape = build.shape(op.results[0])
    return build.spread(build.reshape(value, [1] * max(len(shape), 1)), shape)


MOVED = (
    *("Diag", "DiagD", "DiagPart", "DiagPartD", "DiagFlat", "DiagV2", "MatrixDiag"),
    *("MatrixDiagD", "MatrixDiagPart", "MatrixDiagPartD", "TransData"),
    *("StridedSlice", "StridedSliceV2", "Slice", "SliceD", "Transpose", "TransposeD"),
)
"""Ops that give elements of x or zeros, at places that the other operands and attributes tell."""

EXPANSIONS: dict[str, Expansion] = {
    "GatherV2": gather_v2,
    **dict.fromkeys(("Gather", "Embedding"), gather),
    "GatherV2D": gather_v2_d,
    "GatherElements": gather_elements,
    "GatherNd": gather_nd,
    **{f"Scatter{how}": scatter_rows for how in ("Add", "Sub", "Mul", "Div", "Max", "Min")},
    **{f"ScatterNd{how}": scatter_nd for how in ("Update", "Add", "Sub", "Max", "Min")},
    **{f"TensorScatter{how}": scatter_nd for how in ("Update", "Add", "Sub", "Max", "Min")},
    "ScatterNonAliasingAdd": scatter_nd,
    **dict.fromkeys(("ScatterNd", "ScatterNdD"), scatter_into_zeros),
    **dict.fromkeys(("ScatterElements", "ScatterElementsV2"), scatter_elements),
    **dict.fromkeys(("IndexAdd", "InplaceIndexAdd"), index_add),
    **dict.fromkeys(("IndexFill", "InplaceIndexFill"), index_fill),
    **{f"Inplace{how}{form}": inplace for how in ("Update", "Add", "Sub") for form in ("", "D")},
    **dict.fromkeys(MOVED, moved),
    **dict.fromkeys(("Tril", "Triu", "Trilu", "MatrixBandPart"), masked),
    **dict.fromkeys(("PadV3", "MirrorPad"), pad),
    "OneHot": one_hot,
    "Fill": fill,
}
