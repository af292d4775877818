"""Places in rows: flags of anchors, rows that are looked for, ragged counts, samples of labels."""

from __future__ import annotations

from xdsl.ir import SSAValue

from ge_xdsl.dialects.ge.boxes import AnchorResponseFlagsOp
from ge_xdsl.dialects.ge.extents import ints_of
from ge_xdsl.dialects.ge.op import GeOp
from ge_xdsl.dialects.ge.sequences import MovingSumWithSigmoidOp, SubSampleLabelsOp
from ge_xdsl.dialects.ge.types import DataType
from ge_xdsl.lowering.expand.boxes import rows_of
from ge_xdsl.lowering.expand.builder import Builder, Expansion
from ge_xdsl.lowering.expand.counting import floats, weights_of
from ge_xdsl.lowering.expand.images import along
from ge_xdsl.lowering.expand.picks import LARGEST_MAP, put_rows
from ge_xdsl.lowering.expand.places import running_before
from ge_xdsl.lowering.expand.quant import group_rows
from ge_xdsl.lowering.expand.routing import LARGEST_EXACT, order_of
from ge_xdsl.lowering.expand.running import MOST_COMPARED
from ge_xdsl.lowering.expand.tallies import ramp, tallied
from ge_xdsl.lowering.expand.terms import Term

I32 = DataType.DT_INT32
GCD_STEPS = {DataType.DT_INT8: 12, DataType.DT_UINT8: 13, DataType.DT_INT16: 23}
"""Element type -> the divisions that its numbers need at most: neighbouring Fibonacci numbers need
the most, by Lame's theorem, and one more step sorts them."""
MOST_PUT = 1 << 13
"""Single elements that are scattered, each by a copy of its own, at most."""
LEAST = {DataType.DT_INT8: -128.0, DataType.DT_INT16: -32768.0}


def anchor_flags(build: Builder, op: GeOp) -> SSAValue:
    """AnchorResponseFlags: 1 scattered to the cells of centres, then repeated for each anchor"""
    assert isinstance(op, AnchorResponseFlagsOp)
    high, wide = op.featmap_size
    if high * wide > LARGEST_EXACT:
        raise build.decline(f"for a map of {high * wide} cells")
    x1, y1, x2, y2 = rows_of(build, op.operands[0])
    cells: list[Term] = []
    for first, last, stride, size in zip((x1, y1), (x2, y2), op.strides, (wide, high), strict=True):
        center = (first + last) * 0.5
        center = (center - center).same(0.0).pick(center, 0.0)
        by = Term(build, build.const([[stride]], DataType.DT_FLOAT))
        cells.append((center / by).call("Floor").clip(0.0, float(size - 1)))
    count = build.shape(op.operands[0])[0]
    places = build.reshape(build.cast((cells[1] * wide + cells[0]).value, I32), [count])
    blank = build.spread(build.const([[0]], I32), [high * wide, 1])
    ones = build.spread(build.const([[1]], I32), [count, 1])
    flags = build.cast(put_rows(build, blank, places, ones, "Update"), DataType.DT_UINT8)
    return build.like(build.spread(flags, [high * wide, op.num_base_anchors]), op.results[0])


def map_index(build: Builder, op: GeOp) -> SSAValue:
    """MapIndex: the least number of a row that is equal everywhere, -1 where none is"""
    x, data = op.operands[:2]
    width = build.count(x)
    rows = build.count(data) // width
    if rows > LARGEST_EXACT:
        raise build.decline(f"for {rows} rows")
    table, wanted = build.reshape(data, [rows, width]), build.reshape(x, [1, width])
    hot = Term(build, build("Equal", table, build.spread(wanted, [rows, width])))
    one = Term(build, build.const([[1.0]], DataType.DT_FLOAT))
    same = build.reduce("Min", hot.pick(one, 0.0).value, [1])
    numbers = Term(build, build.reshape(ramp(build, rows), [1, rows]))
    found = (Term(build, build.reshape(same, [1, rows])) > 0.0).pick(numbers, float(rows))
    first = Term(build, build.reduce("Min", found.value, [1]))
    return (first < float(rows)).pick(first, -1.0).like(op.results[0])


def ragged_count(build: Builder, op: GeOp) -> SSAValue:
    """RaggedBinCount: bins of all rows, counted as one row of them"""
    splits, values, _, weights = op.operands
    y = op.results[0]
    rows, width = build.shape(y)
    count = build.count(values)
    if build.dtype(y) is not DataType.DT_FLOAT:
        raise build.decline(f"for weights of {build.dtype(y).name}")
    if rows * width * count > MOST_COMPARED:
        raise build.decline(f"for {rows * width} bins of {count} values")
    ends = build.cast(build.slice(splits, 0, 1, rows), I32)
    row = floats(build, group_rows(build, ends, count))
    number = floats(build, build.reshape(values, [count]))
    place = (number < float(width)).pick(row * width + number, -1.0).reshape([1, count])
    if op.get_attr("binary_output"):
        return tallied(place, "Equal", ramp(build, rows * width)).call("Minimum", 1.0).like(y)
    given = weights_of(build, weights, place.shape)
    return tallied(place, "Equal", ramp(build, rows * width), given).like(y)


def sample_labels(build: Builder, op: GeOp) -> SSAValue:
    """SubSampleLabels: how many of its kind came before in the shuffled order decides"""
    assert isinstance(op, SubSampleLabelsOp)
    labels, order = op.operands
    size = build.count(labels)
    column = build.reshape(labels, [size, 1])
    shuffled = build.reshape(build("GatherV2", column, order, [0]), [size])
    limit = int(op.batch_size_per_images * op.positive_fraction)
    hot = [build("Equal", shuffled, kind) for kind in (1, 0)]
    before = [running_before(build, build.cast(h, I32)) for h in hot]
    positive = build("LogicalAnd", hot[0], build("Less", before[0], limit))
    last = (build.slice(v, 0, size - 1, 1) for v in (before[0], build.cast(hot[0], I32)))
    kept = build("Minimum", build("Add", *last), limit)
    left = build("Sub", build.const([op.batch_size_per_images], I32), kept)
    negative = build("LogicalAnd", hot[1], build("Less", before[1], build.spread(left, [size])))
    rest = build.where(negative, build.const(0, I32), build.const(-1, I32))
    found = build.where(positive, build.const(1, I32), rest)
    if size > LARGEST_EXACT:
        raise build.decline(f"for {size} labels")
    _, places = order_of(build, order)
    table = build("GatherV2", build.reshape(found, [size, 1]), places, [0])
    return build.reshape(table, [size])


def nonzero_values(build: Builder, op: GeOp) -> list[SSAValue]:
    """NonZeroWithValue: each element goes where as many came before; the others behind the end"""
    import numpy as np

    x = op.operands[0]
    rows, columns = build.shape(x)
    size = rows * columns
    if size > MOST_PUT:
        raise build.decline(f"for {size} elements, which are put one by one")
    hot = build.reshape(build("NotEqual", x, build.const(0, build.dtype(x))), [size])
    number = build.cast(hot, I32)
    before = running_before(build, number)
    place = build.where(hot, before, build.const(size, I32))
    at = np.indices((rows, columns)).reshape(2, size, 1).astype(np.int32)
    found: list[SSAValue] = []
    for column in (build.reshape(x, [size, 1]), *(build.array(line) for line in at)):
        blank = build.spread(build.const([[0]], build.dtype(column)), [size + 1, 1])
        table = put_rows(build, blank, place, column, "Update")
        found.append(build.reshape(build.slice(table, 0, 0, size), [size]))
    last = (build.slice(v, 0, size - 1, 1) for v in (before, number))
    return [found[0], build.concat(found[1:], 0), build("Add", *last)]


def moving_sums(build: Builder, op: GeOp) -> SSAValue:
    """MovingSumWithSigmoid: blocks of known places, each with a band of ones for its sums"""
    import numpy as np

    assert isinstance(op, MovingSumWithSigmoidOp)
    alpha, energy = (floats(build, build.reshape(v, [build.count(v)])) for v in op.operands[:2])
    sizes = ints_of(build.known(build.slot("offset"), "offset"))
    half = len(sizes) // 2
    wide = build.shape(op.results[0])[1]
    parts: list[SSAValue] = []
    column = start = 0
    for beams, frames in zip(sizes[:half], sizes[half:], strict=True):
        count = beams * frames
        if frames**2 > LARGEST_MAP:
            raise build.decline(f"for a band of {frames} frames")
        if count:
            a, e = (
                build.reshape(build.slice(t.value, 0, start, count), [beams, frames])
                for t in (alpha, energy)
            )
            band = np.tri(frames, frames, 0) - np.tri(frames, frames, -op.ksize)
            sums = along(build, a, 1, band.astype(np.float32))
            block = (Term(build, e).sigmoid() * Term(build, sums)).value
            pads = [[0, 0], [column, wide - column - frames]]
            parts.append(build("Pad", block, build.const(pads, DataType.DT_INT64)))
        elif beams:
            parts.append(build.spread(build.const(0, DataType.DT_FLOAT), [beams, wide]))
        column, start = column + frames, start + count
    return build.like(build.concat(parts, 0), op.results[0])


def gcd(build: Builder, op: GeOp) -> SSAValue:
    """Gcd: a, b = b, a mod b, as often as numbers of the type need, exact in f32"""
    y = op.results[0]
    steps = GCD_STEPS.get(build.dtype(y))
    if steps is None:
        raise build.decline(f"for element type {build.dtype(y).name}")
    shape = build.shape(y)
    a, b = (floats(build, build.spread(v, shape)).abs() for v in op.operands)
    for _ in range(steps):
        by = b.call("Maximum", 1.0)
        rest = a - (a / by).call("Floor") * by
        a, b = b.same(0.0).pick(a, b), rest
    if build.dtype(y) in LEAST:
        # the number without a counterpart is its own
        a = a.same(-LEAST[build.dtype(y)]).pick(LEAST[build.dtype(y)], a)
    return a.like(y)


EXPANSIONS: dict[str, Expansion] = {
    "AnchorResponseFlags": anchor_flags,
    "MapIndex": map_index,
    "RaggedBinCount": ragged_count,
    "SubSampleLabels": sample_labels,
    "NonZeroWithValue": nonzero_values,
    "MovingSumWithSigmoid": moving_sums,
    "Gcd": gcd,
}
