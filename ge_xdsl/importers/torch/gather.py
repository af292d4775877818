"""ATen look-ups by index tensors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
    x, places = call.value("self"), _places(call, g)
    if len(places) == 1:
        ((axis, tensor),) = places.items()
        axis_value = g.helper(axis, "int32")
        return g.op("GatherV2", x, tensor, axis_value, negative_index_support=True)
    front = _front(g, x, places)
    found = g.part("GatherNd", front, _tuples(g, front, list(places.values())))
    rank = len(call.shape)
    width = rank - (g.rank(x, "index") - len(places))
    first = _start(places)
    return g.transpose(
        found, [*range(width, width + first), *range(width), *range(width + first, rank)]
    )


def index_put(call: Call, g: TorchBuilder) -> SSAValue:
    """TensorScatterUpdate, or TensorScatterAdd to accumulate, with the indexed dimensions first;
    Transpose back"""
    x, values, places = call.value("self"), call.value("values"), _places(call, g)
    front = _front(g, x, places)
    tuples = _tuples(g, front, list(places.values()))
    axes, rank = list(places), g.rank(x, "index_put")
    width, first = len(g.shape(tuples) or ()) - 1, _start(places)
    kept = [g.known_dim(front, len(axes) + k) for k in range(rank - len(axes))]
    spread = [g.known_dim(tuples, k) for k in range(width)]
    values = g.broadcast(values, [*kept[:first], *spread, *kept[first:]])
    order = [*range(first, first + width), *range(first), *range(first + width, width + len(kept))]
    op_type = "TensorScatterAdd" if call.flag("accumulate") else "TensorScatterUpdate"
    found = g.part(op_type, front, tuples, g.transpose(values, order))
    moved = [*axes, *(k for k in range(rank) if k not in places)]
    return g.transpose(found, [moved.index(k) for k in range(rank)])


def nonzero(call: Call, g: TorchBuilder) -> SSAValue:
    """NonZero"""
    return g.op("NonZero", call.value("self"))


def _places(call: Call, g: TorchBuilder) -> dict[int, SSAValue]:
    """Dimension -> its index tensor; a mask stands for the places where it is true."""
    places: dict[int, SSAValue] = {}
    axis = 0
    for tensor in cast("Sequence[Any]", call.raw("indices")):
        if tensor is None:
            axis += 1
            continue
        masked = g.dtype(tensor) in (DataType.DT_BOOL, DataType.DT_UINT8)
        for part in _true_places(tensor, g) if masked else [tensor]:
            places[axis] = part
            axis += 1
    return places


def _true_places(mask: SSAValue, g: TorchBuilder) -> list[SSAValue]:
    """For each dimension of a mask, the positions along it of the elements that are true."""
    found = g.part("NonZero", mask)
    return [
        g.part("GatherV2", found, g.helper(k, "int32"), g.helper(1, "int32"))
        for k in range(g.rank(mask, "a mask"))
    ]


def _front(g: TorchBuilder, x: SSAValue, places: Mapping[int, SSAValue]) -> SSAValue:
    """x with the indexed dimensions first."""
    rest = [k for k in range(g.rank(x, "index")) if k not in places]
    return g.transpose(x, [*places, *rest])


def _start(places: Mapping[int, SSAValue]) -> int:
    """Where torch puts the dimensions of the index tensors: in place of neighbours, else first."""
    axes = list(places)
    return axes[0] if axes == list(range(axes[0], axes[0] + len(axes))) else 0


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
    "index_put": index_put,
    "index_select": index_select,
    "nonzero": nonzero,
}
