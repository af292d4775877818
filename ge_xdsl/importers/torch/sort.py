"""ATen sorting."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from ge_xdsl.dialects.ge.types import DataType
from ge_xdsl.importers.torch.builder import TorchBuilder
from ge_xdsl.importers.torch.call import Call
from ge_xdsl.importers.torch.table import Converter


def topk(call: Call, g: TorchBuilder) -> Sequence[SSAValue]:
    """TopKV2"""
    attrs = {name: call.flag(name) for name in ("sorted", "largest")}
    inputs = (call.value("self"), g.cast(g.size(call.raw("k")), DataType.DT_INT32))
    return g.add("TopKV2", inputs, {**attrs, "dim": call.integer("dim")}, call.name).results


def sort(call: Call, g: TorchBuilder) -> Sequence[SSAValue]:
    """Sort, which is stable"""
    attrs = {
        "axis": call.integer("dim"),
        "descending": call.flag("descending"),
        "stable": True,
    }
    return g.add("Sort", (call.value("self"),), attrs, call.name).results


def histogram(call: Call, g: TorchBuilder) -> SSAValue:
    """Histogram"""
    low, high = (float(call.number(name)) for name in ("min", "max"))
    return g.op("Histogram", call.value("self"), bins=call.integer("bins"), min=low, max=high)


def bucketize(call: Call, g: TorchBuilder) -> SSAValue:
    """The number of boundaries below each element; with `right` also those that equal it"""
    x, edges = call.value("self"), call.value("boundaries")
    dtype = g.promoted(x, edges)
    column = g.part("Unsqueeze", g.cast(x, dtype), axes=[g.rank(x, "bucketize")])
    passes = "GreaterEqual" if call.flag("right") else "Greater"
    passed = g.cast(g.part(passes, column, g.cast(edges, dtype)), DataType.DT_INT64)
    return g.op("ReduceSum", passed, g.helper([-1], "int32"))


TABLE: dict[str, Converter] = {
    "bucketize": bucketize,
    "histc": histogram,
    "sort": sort,
    "topk": topk,
}
