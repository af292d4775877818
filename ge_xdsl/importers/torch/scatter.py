"""ATen writes into a tensor."""

from __future__ import annotations

from xdsl.ir import SSAValue

from ge_xdsl.dialects.ge.types import DYNAMIC, DataType
from ge_xdsl.importers.torch.builder import TorchBuilder
from ge_xdsl.importers.torch.call import Call
from ge_xdsl.importers.torch.elementwise import base_of
from ge_xdsl.importers.torch.slice import LAST
from ge_xdsl.importers.torch.table import Converter


def scatter(call: Call, g: TorchBuilder) -> SSAValue:
    """ScatterElements; one number is written everywhere"""
    x, index = call.value("self"), call.value("index")
    if call.raw("reduce") is not None:
        call.fail(f"argument 'reduce' is {call.raw('reduce')}, expected none")
    source = call.raw("src")
    if source is None:
        source = g.part("BroadcastTo", g.operand(call.raw("value"), call.dtype), g.shape_of(index))
    reduction = "add" if base_of(call) == "scatter_add" else "none"
    return g.op("ScatterElements", x, index, source, axis=call.integer("dim"), reduction=reduction)


REDUCTIONS = {"sum": "add", "prod": "mul"}
"""What torch calls a reduction -> what ScatterElements calls it."""


def scatter_reduce(call: Call, g: TorchBuilder) -> SSAValue:
    """ScatterElements that adds or multiplies"""
    x, how = call.value("self"), call.raw("reduce")
    if how not in REDUCTIONS or not call.flag("include_self"):
        rest = "" if call.flag("include_self") else " without the elements that are there"
        call.fail(f"reduction is {how}{rest}, expected sum or prod with those that are there")
    return g.op(
        "ScatterElements", x, call.value("index"), call.value("src"),
        axis=call.integer("dim"), reduction=REDUCTIONS[how],
    )  # fmt: skip


def masked(call: Call, g: TorchBuilder) -> SSAValue:
    """MaskedScatter"""
    return g.op("MaskedScatter", call.value("self"), call.value("mask"), call.value("source"))


def slice_scatter(call: Call, g: TorchBuilder) -> SSAValue:
    """ConcatD of what stands before the slice, the source and what stands after; with a step
    ScatterElements"""
    x, source = call.value("self"), call.value("src")
    axis = call.integer("dim") % g.rank(x, "slice_scatter")
    size = (g.shape(x) or ())[axis]
    start, end = call.raw("start") or 0, call.raw("end")
    if size == DYNAMIC or not isinstance(start, int) or not isinstance(end, int | None):
        call.fail("bounds are known at run time only, expected known ones")
    first, stop, step = slice(start, LAST if end is None else end, call.integer("step")).indices(
        size
    )
    return _written(call, g, x, source, axis, list(range(first, stop, step)))


def select_scatter(call: Call, g: TorchBuilder) -> SSAValue:
    """As `slice_scatter` for one entry, whose dimension the source has not"""
    x = call.value("self")
    axis = call.integer("dim") % g.rank(x, "select_scatter")
    size = (g.shape(x) or ())[axis]
    if size == DYNAMIC:
        call.fail("bounds are known at run time only, expected known ones")
    source = g.part("Unsqueeze", call.value("src"), axes=[axis])
    return _written(call, g, x, source, axis, [call.integer("index") % size])


def _written(
    call: Call, g: TorchBuilder, x: SSAValue, source: SSAValue, axis: int, places: list[int]
) -> SSAValue:
    """x with the entries of `source` at `places` of one dimension."""
    if not places:
        return x
    source = g.cast(source, call.dtype)
    if len(places) == (g.shape(x) or ())[axis]:
        return source
    column = g.along(g.helper(places, "int64"), axis, len(call.shape))
    index = g.part("BroadcastTo", g.cast(column, DataType.DT_INT64), g.shape_of(source))
    return g.op("ScatterElements", x, index, source, axis=axis)


TABLE: dict[str, Converter] = {
    "masked_scatter": masked,
    "scatter": scatter,
    "scatter_add": scatter,
    "scatter_reduce": scatter_reduce,
    "select_scatter": select_scatter,
    "slice_scatter": slice_scatter,
}
