"""ATen bags of embeddings: rows of a table looked up and combined bag by bag."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from ge_xdsl.dialects.ge.types import DataType
from ge_xdsl.importers.torch.builder import TorchBuilder
from ge_xdsl.importers.torch.call import Call
from ge_xdsl.importers.torch.table import Converter

LONG = DataType.DT_INT64
SUM, MEAN, MAX = range(3)


def embedding_bag(call: Call, g: TorchBuilder) -> Sequence[SSAValue | None]:
    """UnsortedSegmentSum or -Max of gathered rows; a mean is divided by the number of rows. What
    torch gives besides is for its gradient and not given."""
    mode, table = call.integer("mode"), call.value("weight")
    rows = g.part("GatherV2", table, call.value("indices"), g.helper(0, "int32"))
    bags, count = _bags(call, g), g.size(g.known_dim(call.value("offsets"), 0))
    if call.raw("include_last_offset"):
        count = g.part("Sub", count, g.scalar(1, "int64"))
    dtype = g.dtype(table)
    kept = _kept(call, g, dtype)
    factor = call.raw("per_sample_weights")
    for column in (kept, factor):
        if isinstance(column, SSAValue) and mode != MAX:
            rows = g.part("Mul", rows, g.part("Unsqueeze", column, axes=[1]))
    if mode == SUM:
        return [g.op("UnsortedSegmentSum", rows, bags, count), None, None, None]
    ones = kept or g.part("BroadcastTo", g.operand(1, dtype), g.shape_of(bags))
    sizes = g.part("Unsqueeze", g.part("UnsortedSegmentSum", ones, bags, count), axes=[1])
    if mode == MEAN:
        total = g.part("UnsortedSegmentSum", rows, bags, count)
        least = g.part("Maximum", sizes, g.operand(1, dtype))
        return [g.op("RealDiv", total, least), None, None, None]
    most = g.part("UnsortedSegmentMax", rows, _left_out(g, bags, kept), count)
    filled = g.part("Greater", sizes, g.operand(0, dtype))
    return [g.op("SelectV2", filled, most, g.operand(0, dtype)), None, None, None]


def _bags(call: Call, g: TorchBuilder) -> SSAValue:
    """The bag of each index: the number of bags that start after the first and up to there."""
    places = g.range(g.dim(call.value("indices"), 0))
    starts = g.cast(call.value("offsets"), LONG)
    if call.raw("include_last_offset"):
        bounds = ([0], [-1], [0], [1])
        starts = g.part("StridedSliceV2", starts, *(g.helper(b, "int64") for b in bounds))
    row = g.part("Unsqueeze", starts, axes=[0])
    begun = g.part("LessEqual", row, g.part("Unsqueeze", places, axes=[1]))
    return g.part("Sub", g.sum(g.cast(begun, LONG), [1]), g.scalar(1, "int64"))


def _kept(call: Call, g: TorchBuilder, dtype: DataType) -> SSAValue | None:
    """1 for an index that counts and 0 for the one that pads, None where none does."""
    padding = call.raw("padding_idx")
    if not isinstance(padding, int) or padding < 0:
        return None
    indices = call.value("indices")
    return g.cast(g.part("NotEqual", indices, g.operand(padding, g.dtype(indices))), dtype)


def _left_out(g: TorchBuilder, bags: SSAValue, kept: SSAValue | None) -> SSAValue:
    """The bags, -1 where an index pads."""
    if kept is None:
        return bags
    padding = g.part("Equal", kept, g.operand(0, g.dtype(kept)))
    return g.part("SelectV2", padding, g.scalar(-1, "int64"), bags)


TABLE: dict[str, Converter] = dict.fromkeys(
    ("_embedding_bag", "_embedding_bag_forward_only"), embedding_bag
)
