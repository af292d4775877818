"""ATen look-ups by index tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from xdsl.ir import SSAValue

from ge_xdsl.dialects.ge.types import DataType
from ge_xdsl.importers.torch.builder import TorchBuilder
from ge_xdsl.importers.torch.call import Call
from ge_xdsl.importers.torch.table import Converter


def embedding(call: Call, g: TorchBuilder) -> SSAValue:
    """GatherV2 of rows"""
    return g.op("GatherV2", call.value("weight"), call.value("indices"), g.helper(0, "int32"))


def index_select(call: Call, g: TorchBuilder) -> SSAValue:
    """GatherV2"""
    x, index = call.value("self"), call.value("index")
    axis = call.integer("dim") % max(g.rank(x, "index_select"), 1)
    return g.op("GatherV2", x, index, g.helper(axis, "int32"))


def gather(call: Call, g: TorchBuilder) -> SSAValue:
    """GatherElements"""
    x, index = call.value("self"), call.value("index")
    return g.op("GatherElements", x, index, dim=call.integer("dim") % max(g.rank(x, "gather"), 1))


def index(call: Call, g: TorchBuilder) -> SSAValue:
    """GatherV2 for one index tensor; for several GatherNd of their tuples, with the indexed
    dimensions first and moved back to where the first one was when they are neighbours"""
    x = call.value("self")
    given = cast("Sequence[Any]", call.raw("indices"))
    places = {k: v for k, v in enumerate(given) if v is not None}
    if any(g.dtype(v) in (DataType.DT_BOOL, DataType.DT_UINT8) for v in places.values()):
        call.fail("index is a mask, expected integers")
    if len(places) == 1:
        ((axis, tensor),) = places.items()
        axis_value = g.helper(axis, "int32")
        return g.op("GatherV2", x, tensor, axis_value, negative_index_support=True)
    axes = list(places)
    rank = g.rank(x, "index")
    rest = [k for k in range(rank) if k not in places]
    front = g.transpose(x, [*axes, *rest])
    found = g.part("GatherNd", front, _tuples(g, front, list(places.values())))
    width = len(call.shape) - len(rest)
    first = axes[0]
    if first == 0 or axes != list(range(first, first + len(axes))):
        return found
    perm = [*range(width, width + first), *range(width), *range(width + first, len(call.shape))]
    return g.transpose(found, perm)


def _tuples(g: TorchBuilder, front: SSAValue, tensors: Sequence[SSAValue]) -> SSAValue:
    """Index tensors, broadcast and counted from 0, stacked along a new last dimension."""
    total: SSAValue | None = None
    wide: list[SSAValue] = []
    for k, tensor in enumerate(tensors):
        counted = g.part("FloorMod", g.cast(tensor, DataType.DT_INT64), g.dim(front, k))
        wide.append(counted)
        zeros = g.part("ZerosLike", counted)
        total = zeros if total is None else g.part("Add", total, zeros)
    assert total is not None
    wide = [g.part("Add", total, tensor) for tensor in wide]
    axis = len(g.shape(total) or ())
    return g.part("Pack", wide, axis=axis, N=len(wide))


TABLE: dict[str, Converter] = {
    "embedding": embedding,
    "gather": gather,
    "index": index,
    "index_select": index_select,
}
