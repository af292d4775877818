"""Running extremes and sums of exponents, histograms, spectra and correlations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import log, prod
from typing import TYPE_CHECKING, cast

from xdsl.ir import SSAValue

from ge_xdsl.dialects.ge.conv_more import CorrelationOp
from ge_xdsl.dialects.ge.extents import int_of, limit_of
from ge_xdsl.dialects.ge.op import GeOp
from ge_xdsl.dialects.ge.patches import STFTOp
from ge_xdsl.dialects.ge.types import HALVES, DataType
from ge_xdsl.dialects.ge.windows import Window
from ge_xdsl.lowering.expand.builder import Builder, Expansion
from ge_xdsl.lowering.expand.images import by_columns
from ge_xdsl.lowering.expand.planes import view
from ge_xdsl.lowering.expand.tallies import tallied
from ge_xdsl.lowering.expand.terms import Term

if TYPE_CHECKING:
    from ge_xdsl.dialects.ge.types import Array

LONGEST_RUN = 4096
"""Elements of the longest dimension that is run over, in log2 of it steps."""
MOST_COMPARED = 1 << 27
"""Comparisons of values with the ends of bins, at most."""

Parts = Sequence[Term]
Combine = Callable[[Parts, Parts], Parts]


# Running combinations


def _run(build: Builder, parts: Parts, combine: Combine) -> Parts:
    """The combination of each row with all before it: with 1, 2, 4, ... rows before in turn."""
    size = parts[0].shape[0]
    step = 1
    while step < size:
        heads = [build.slice(part.value, 0, 0, step) for part in parts]
        before = [Term(build, build.slice(part.value, 0, 0, size - step)) for part in parts]
        after = [Term(build, build.slice(part.value, 0, step, size - step)) for part in parts]
        tails = combine(before, after)
        parts = [
            Term(build, build.concat([head, tail.value], 0))
            for head, tail in zip(heads, tails, strict=True)
        ]
        step *= 2
    return parts


def _rows(build: Builder, x: SSAValue, axis: int) -> SSAValue:
    """[size of the dimension, everything else]"""
    shape = build.shape(x)
    if shape[axis] > LONGEST_RUN:
        raise build.decline(f"for a run over {shape[axis]} elements")
    order = [axis, *(i for i in range(len(shape)) if i != axis)]
    return build.reshape(
        build.transpose(x, order), [shape[axis], -(-build.count(x) // shape[axis])]
    )


def _back(build: Builder, rows: SSAValue, axis: int, shape: Sequence[int]) -> SSAValue:
    """The inverse of `_rows`."""
    order = [axis, *(i for i in range(len(shape)) if i != axis)]
    split = build.reshape(rows, [shape[i] for i in order])
    return build.transpose(split, [order.index(i) for i in range(len(shape))])


def extremes(build: Builder, op: GeOp) -> list[SSAValue]:
    """Cummax and Cummin: the later of equal ones wins, NaN over numbers"""
    import numpy as np

    x = op.operands[0]
    shape = build.shape(x) or (1,)
    axis = op.get_attr("dim" if op.op_type == "Cummax" else "axis") % len(shape)
    if build.dtype(x) not in (*HALVES, DataType.DT_FLOAT):
        raise build.decline(f"for a run of element type {build.dtype(x).name}")
    rows = Term(build, _rows(build, build.wide(build.reshape(x, shape)), axis))
    steps = np.arange(rows.shape[0], dtype=np.float32).reshape(-1, 1)
    place = Term(build, build.spread(build.array(steps), rows.shape))
    more = op.op_type == "Cummax"

    def combine(before: Parts, after: Parts) -> Parts:
        a, b = before[0], after[0]
        wins = b >= a if more else b <= a
        wins = wins.call("LogicalOr", b.is_("NotEqual", b))
        return [wins.pick(b, a), wins.pick(after[1], before[1])]

    return [
        build.like(_back(build, part.value, axis, shape), result)
        for part, result in zip(_run(build, [rows, place], combine), op.results, strict=True)
    ]


def log_sums(build: Builder, op: GeOp) -> SSAValue:
    """CumulativeLogsumexp: log(e^a + e^b) = max + log1p(e^-|a - b|)"""
    x, y = op.operands[0], op.results[0]
    shape = build.shape(x) or (1,)
    if op.op_type.endswith("D"):
        axis = op.get_attr("axis")
    else:
        axis = int_of(build.known(build.slot("axis"), "axis"), "axis")
    axis %= len(shape)
    rows = _rows(build, build.wide(build.reshape(x, shape)), axis)
    if op.get_attr("reverse"):
        rows = build.flip(rows, [0])
    if op.get_attr("exclusive"):
        size, width = build.shape(rows)
        lowest = build.const([[limit_of(build.dtype(x), True)]], DataType.DT_FLOAT)
        first = build.spread(lowest, [1, width])
        rows = build.concat([first, build.slice(rows, 0, 0, size - 1)], 0) if size > 1 else first

    def combine(before: Parts, after: Parts) -> Parts:
        a, b = before[0], after[0]
        apart = a.call("Maximum", b) + (-(a - b).abs()).exp().call("Log1p")
        return [a.same(b).pick(a + log(2), apart)]  # equal infinities have no difference

    found = _run(build, [Term(build, rows)], combine)[0].value
    if op.get_attr("reverse"):
        found = build.flip(found, [0])
    return build.like(_back(build, found, axis, shape), y)


def invert(build: Builder, op: GeOp) -> SSAValue:
    """InvertPermutation: the numbers from 0 on, put where x says"""
    x = op.operands[0]
    size = build.count(x)
    ramp = build.reshape(build.const(range(size), build.dtype(x)), [size, 1])
    blank = build.spread(build.const([[0]], build.dtype(x)), [size, 1])
    return build.reshape(build("ScatterUpdate", blank, x, ramp), [size])


# Histograms

Places = Callable[["Array"], "Array"]
"""Values in f32 -> the number of their bin, -1 before the first one, their count after the last."""


def histogram(build: Builder, op: GeOp) -> SSAValue:
    """Histogram and HistogramV2: bins over [min, max]"""
    import numpy as np

    x = op.operands[0]
    if build.dtype(x) not in (*HALVES, DataType.DT_FLOAT):
        raise build.decline(f"for a histogram of element type {build.dtype(x).name}")
    bins: int = op.get_attr("bins")
    if "min" in op.prototype.attr_by_name:
        low, high = float(op.get_attr("min")), float(op.get_attr("max"))
    else:
        low, high = (
            build.known(build.slot(name), name).astype(np.float32).reshape(-1)[0]
            for name in ("min", "max")
        )
    if not low < high:
        raise build.decline("for a range that the data tell")

    def places(values: Array) -> Array:
        found = ((values - low) * bins / (high - low)).astype(np.int64)
        found = np.minimum(found, bins - 1)
        return np.where(values < low, -1, np.where(values > high, bins, found))

    return build.like(_counted(build, x, bins, places, False), op.results[0])


def fixed_width(build: Builder, op: GeOp) -> SSAValue:
    """HistogramFixedWidth: values outside count in the outer bins"""
    import numpy as np

    x = op.operands[0]
    if build.dtype(x) not in (*HALVES, DataType.DT_FLOAT):
        raise build.decline(f"for a histogram of element type {build.dtype(x).name}")
    low, high = (float(v) for v in build.known(build.slot("range"), "range").reshape(-1))
    if op.op_type.endswith("D"):
        bins = int(op.get_attr("nbins"))
    else:
        bins = int_of(build.known(build.slot("nbins"), "nbins"), "nbins")

    def places(values: Array) -> Array:
        wide = np.clip(values.astype(np.float64), low, high)
        return np.minimum(((wide - low) / ((high - low) / bins)).astype(np.int64), bins - 1)

    return build.like(_counted(build, x, bins, places, True), op.results[0])


def _counted(build: Builder, x: SSAValue, bins: int, places: Places, all_count: bool) -> SSAValue:
    """How many values reach each bin less how many reach the next one, in f32."""
    import numpy as np

    count = build.count(x)
    if (bins + 1) * count > MOST_COMPARED or count > 1 << 24:
        raise build.decline(f"for {bins} bins of {count} values")
    first = np.full(1, -np.inf, np.float32)
    ends = _first_values(places, bins)
    if all_count:
        ends = np.concatenate([first, ends[1:-1], -first])
    flat = Term(build, build.reshape(build.wide(x), [count]))
    whole = tallied(flat, "GreaterEqual", build.array(ends)).value
    if all_count:
        known = build.const([[count]], DataType.DT_FLOAT)
        whole = build.concat([known, build.slice(whole, 0, 1, bins)], 0)
    found = build("Sub", build.slice(whole, 0, 0, bins), build.slice(whole, 0, 1, bins))
    return build.reshape(found, [bins])


def _first_values(places: Places, bins: int) -> Array:
    """[bins + 1]: the least f32 in each bin or one after it, by bisection of all f32 in order.

    Infinity where there is none.
    """
    import numpy as np

    def value(key: Array) -> Array:
        bits = np.where(key < 0, -(key + 1) | 1 << 31, key).astype(np.uint32)
        return cast("Array", bits.view(np.float32))

    wanted = np.arange(bins + 1)
    low = np.full(bins + 1, -0x7F800001, np.int64)  # minus infinity
    high = np.full(bins + 1, 0x7F800000, np.int64)
    with np.errstate(all="ignore"):
        while (low < high).any():
            middle = (low + high) // 2
            inside = places(value(middle)) >= wanted
            low, high = np.where(inside, low, middle + 1), np.where(inside, middle, high)
    return value(high)


# Spectra, correlations


def spectrum(build: Builder, op: GeOp) -> SSAValue:
    """STFT: frames times the matrix of cosines and sines, in which a known window is"""
    import numpy as np

    assert isinstance(op, STFTOp)
    x, y = op.operands[0], op.results[0]
    if op.return_complex or build.dtype(x) != DataType.DT_FLOAT:
        raise build.decline("with complex numbers, or for this element type")
    hop, length, count = op.steps()
    shape = build.shape(x)
    batch, frames, size = prod(shape[:-1]), build.shape(y)[-2], op.n_fft
    angle = -2 * np.pi * np.outer(np.arange(size), np.arange(count)) / size
    matrix = np.concatenate([np.cos(angle), np.sin(angle)], axis=1)
    if op.normalized:
        matrix = matrix / np.sqrt(size)
    before = (size - length) // 2
    whole = np.zeros((size, 1))
    slot = build.slot("window")
    window = None if slot is None else build.known(slot, "a window")
    whole[before : before + length, 0] = 1 if window is None else window
    known = build.array((matrix * whole).astype(np.float32))
    dims = [(batch, shape[-1]), (frames, hop), (size, 1)]
    rows = build.reshape(view(build, x, dims), [batch * frames, size])
    found = build.reshape(build("MatMulV2", rows, known), [batch, frames, 2, count])
    return build.like(build.transpose(found, [0, 3, 1, 2]), y)


def correlation(build: Builder, op: GeOp) -> SSAValue:
    """Images side by side as groups of channels, each with its own filter"""
    assert isinstance(op, CorrelationOp)
    weight, x = op.operands
    n, c, *sizes = build.shape(x)
    kernel = build.shape(weight)[2:]
    groups, depth = (n, c) if op.groups == 1 else (n * c, 1)
    high, wide = (Window(k, count=s - k + 1) for k, s in zip(kernel, sizes, strict=True))
    planes = build.reshape(build.wide(x), [1, n * c, *sizes])
    filters = build.reshape(build.wide(weight), [groups, depth, *kernel])
    found = by_columns(build, planes, filters, [high, wide], groups, None)
    return build.like(found, op.results[0])


EXPANSIONS: dict[str, Expansion] = {
    **dict.fromkeys(("Cummax", "Cummin"), extremes),
    **dict.fromkeys(("CumulativeLogsumexp", "CumulativeLogsumexpD"), log_sums),
    "InvertPermutation": invert,
    **dict.fromkeys(("Histogram", "HistogramV2"), histogram),
    **dict.fromkeys(("HistogramFixedWidth", "HistogramFixedWidthD"), fixed_width),
    "STFT": spectrum,
    "Correlation": correlation,
}
