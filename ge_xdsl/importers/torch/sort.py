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


TABLE: dict[str, Converter] = {"sort": sort, "topk": topk}
