"""ONNX ops that write elements by index."""

from __future__ import annotations

from xdsl.ir import SSAValue

from ge_xdsl.dialects.ge.types import DataType
from ge_xdsl.importers.onnx.builder import Builder
from ge_xdsl.importers.onnx.node import Node
from ge_xdsl.importers.onnx.table import Converter

ND_OPS = {"none": "ScatterNdUpdate", "add": "ScatterNdAdd", "max": "ScatterNdMax",
          "min": "ScatterNdMin"}  # fmt: skip
"""Reduction -> the GE op on a copy of the data."""


def scatter_elements(node: Node, g: Builder) -> SSAValue:
    """ScatterElements; maxima and minima by the indices of single elements."""
    axis, reduction = node.integer("axis", 0), node.string("reduction", "none")
    inputs = node.input(0), node.input(1), node.input(2)
    if reduction in ("none", "add", "mul"):
        return g.op("ScatterElements", *inputs, axis=axis, reduction=reduction)
    return _scatter_nd(node, g, inputs[0], _points(g, inputs[1], axis), inputs[2], reduction)


def _points(g: Builder, indices: SSAValue, axis: int) -> SSAValue:
    """The full index of each element that ScatterElements writes: shape of indices + [rank]."""
    rank = g.rank(indices, "a reduction other than add and mul")
    axis = g.axis(axis, rank)
    shape = g.shape_of(indices)
    columns: list[SSAValue] = []
    for k in range(rank):
        if k == axis:
            column = g.cast(indices, DataType.DT_INT64)
        else:
            steps = g.range(g.dim(indices, k))
            column = g.part("BroadcastTo", g.along(steps, k, rank), shape)
        columns.append(g.part("Unsqueeze", column, axes=[-1]))
    return g.part("ConcatD", columns, concat_dim=-1, N=rank)


def scatter_nd(node: Node, g: Builder) -> SSAValue:
    """ScatterNdUpdate, Add, Max or Min on a copy of the data"""
    reduction = node.string("reduction", "none")
    return _scatter_nd(node, g, node.input(0), node.input(1), node.input(2), reduction)


def _scatter_nd(
    node: Node, g: Builder, data: SSAValue, indices: SSAValue, updates: SSAValue, reduction: str
) -> SSAValue:
    indices = _from_start(node, g, data, indices)
    if reduction == "mul":
        return _multiplied(g, data, indices, updates)
    if reduction not in ND_OPS:
        node.fail(
            f"attribute 'reduction' is '{reduction}', expected one of {', '.join(ND_OPS)}, mul"
        )
    return g.part(ND_OPS[reduction], g.part("TensorMove", data), indices, updates)


def _from_start(node: Node, g: Builder, data: SSAValue, indices: SSAValue) -> SSAValue:
    """Indices that count from the start, where some may count from the end."""
    known = g.known(indices)
    if known is not None and min(known, default=0) >= 0:
        return indices
    shape = g.shape(indices)
    width = shape[-1] if shape else -1
    if width < 0:
        node.fail(f"the indices are {g.tensor_text(indices)}, expected a known last dimension")
    limits = g.part(
        "StridedSliceV2", g.shape_of(data), g.helper([0], "int64"), g.helper([width], "int64")
    )
    limits = g.cast(limits, g.dtype(indices))
    negative = g.part("Less", indices, g.like(0, indices))
    return g.part("SelectV2", negative, g.part("Add", indices, limits), indices)


def _multiplied(g: Builder, data: SSAValue, indices: SSAValue, updates: SSAValue) -> SSAValue:
    """Products, for which GE has no op: ScatterElements on the data in a row.

    The index of an element is the sum of its indices times the sizes of the dimensions after
    them; updates of whole slices get a run of them.
    """
    rank = g.rank(data, "the reduction mul")
    shape, index_shape = g.shape(data), g.shape(indices)
    assert index_shape is not None
    dims = g.static_dims(shape or (), "the reduction mul")
    width = index_shape[-1]
    steps = [1] * rank
    for k in reversed(range(rank - 1)):
        steps[k] = steps[k + 1] * dims[k + 1]
    run = 1
    for dim in dims[width:]:
        run *= dim
    wide = g.cast(indices, DataType.DT_INT64)
    first = g.sum(g.part("Mul", wide, g.helper(steps[:width], "int64")), [-1])
    first = g.part("Reshape", first, g.helper([-1, 1], "int64"))
    places = g.part("Add", first, g.helper(range(run), "int64"))
    flat = [g.part("Reshape", value, g.helper([-1], "int64")) for value in (data, places, updates)]
    done = g.part("ScatterElements", *flat, axis=0, reduction="mul")
    return g.part("Reshape", done, g.helper(dims, "int64"))


def tensor_scatter(node: Node, g: Builder) -> SSAValue:
    """ScatterElements of a run of entries along `axis` that starts at an index per batch"""
    cache, update, start = node.input(0), node.input(1), node.optional(2)
    mode = node.string("mode", "linear")
    if mode not in ("linear", "circular"):
        node.fail(f"attribute 'mode' is '{mode}', expected 'linear' or 'circular'")
    rank = g.rank(update, "TensorScatter")
    axis = g.axis(node.integer("axis", -2), rank)
    places = g.along(g.range(g.dim(update, axis)), axis, rank)
    if start is not None:
        places = g.part("Add", places, g.along(g.cast(start, DataType.DT_INT64), 0, rank))
    if mode == "circular":
        places = g.part("FloorMod", places, g.dim(cache, axis))
    places = g.part("BroadcastTo", places, g.shape_of(update))
    return g.part("ScatterElements", cache, places, update, axis=axis)


TABLE: dict[str, Converter] = {
    "Scatter": scatter_elements,
    "ScatterElements": scatter_elements,
    "ScatterND": scatter_nd,
    "TensorScatter": tensor_scatter,
}
