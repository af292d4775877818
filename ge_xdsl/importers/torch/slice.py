"""ATen slices and borders."""

from __future__ import annotations

from xdsl.ir import SSAValue

from ge_xdsl.importers.torch.builder import TorchBuilder
from ge_xdsl.importers.torch.call import Call
from ge_xdsl.importers.torch.table import Converter

LAST = 2**63 - 1
"""The end that torch writes for a slice to the end."""


def slice_(call: Call, g: TorchBuilder) -> SSAValue:
    """StridedSliceV2 along one dimension; nothing for the whole of it"""
    x = call.value("self")
    start, end = call.raw("start"), call.raw("end")
    start, end = 0 if start is None else start, LAST if end is None else end
    step = call.integer("step")
    axis = call.integer("dim") % g.rank(x, "slice")
    if isinstance(start, int) and start == 0 and step == 1 and _is_all(g, x, axis, end):
        return x
    bounds = (g.entry(start), g.entry(end), g.helper([axis], "int64"), g.helper([step], "int64"))
    return g.op("StridedSliceV2", x, *bounds)


def _is_all(g: TorchBuilder, x: SSAValue, axis: int, end: int | SSAValue) -> bool:
    size = g.known_dim(x, axis) if isinstance(end, int) and end != LAST else None
    return isinstance(end, int) and (end == LAST or (isinstance(size, int) and end >= size))


def select(call: Call, g: TorchBuilder) -> SSAValue:
    """GatherV2 of one entry"""
    x, index = call.value("self"), call.raw("index")
    axis = g.helper(call.integer("dim") % g.rank(x, "select"), "int32")
    return g.op("GatherV2", x, g.size(index), axis, negative_index_support=True)


def pad(call: Call, g: TorchBuilder) -> SSAValue:
    """PadV3; torch lists the last dimension first. Negative pads are refused."""
    x, pads = call.value("self"), call.integers("pad")
    if min(pads, default=0) < 0:
        call.fail(f"pads are {pads}, expected none below 0")
    rank = g.rank(x, "constant_pad_nd")
    pairs = [pads[k : k + 2] for k in range(0, len(pads), 2)][::-1]
    full = [0, 0] * (rank - len(pairs)) + [p for pair in pairs for p in pair]
    fill = g.like(call.number("value"), x)
    return g.op("PadV3", x, g.helper(full, "int64"), fill)


TABLE: dict[str, Converter] = {"constant_pad_nd": pad, "select": select, "slice": slice_}
