"""ONNX's distinct elements."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from ge_xdsl.dialects.ge.types import DataType
from ge_xdsl.importers.onnx.builder import Builder
from ge_xdsl.importers.onnx.node import Node
from ge_xdsl.importers.onnx.table import Converter

INT64 = DataType.DT_INT64


def unique(node: Node, g: Builder) -> Sequence[SSAValue]:
    """UniqueWithCountsAndSorting of all elements, with the first place of each by
    UnsortedSegmentMin; in the order of these places when it is not sorted."""
    if node.has("axis"):
        axis = node.integer("axis", 0)
        if g.rank(node.input(0), "axis") != 1:
            node.fail(f"attribute 'axis' is {axis}, expected none, or a vector")
    ordered = node.flag("sorted", True)
    flat = g.part("Reshape", node.input(0), g.helper([-1], "int64"))
    op = g.add(
        "UniqueWithCountsAndSorting", (flat,),
        {"return_inverse": True, "return_counts": True, "sorted": True, "out_idx": INT64},
        node.name,
    )  # fmt: skip
    values, inverse, counts = op.results
    return _numbered(g, flat, values, inverse, counts, ordered, 0)


def _numbered(
    g: Builder,
    x: SSAValue,
    values: SSAValue,
    inverse: SSAValue,
    counts: SSAValue,
    ordered: bool,
    axis: int,
) -> list[SSAValue]:
    """Y, first places, inverse and counts; `ordered` leaves them as they are."""
    total = g.dim(values, axis)
    places = g.range(g.dim(x, axis))
    first = g.part("UnsortedSegmentMin", places, inverse, total)
    if ordered:
        return [values, first, inverse, counts]
    order = g.add(
        "TopK", (first, total), {"largest": False, "dim": 0}, g.part_name("TopK")
    ).results[1]  # fmt: skip
    rank = g.part("InvertPermutation", order)
    return [
        g.take(values, order, axis),
        g.take(first, order, 0),
        g.cast(g.take(rank, inverse, 0), INT64),
        g.take(counts, order, 0),
    ]


TABLE: dict[str, Converter] = {"Unique": unique}
