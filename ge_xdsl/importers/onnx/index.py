"""ONNX ops that pick elements by index, and tensors made from numbers."""

from __future__ import annotations

from xdsl.ir import SSAValue

from ge_xdsl.dialects.ge.types import DataType
from ge_xdsl.importers.onnx.builder import Builder
from ge_xdsl.importers.onnx.data import tensor_value
from ge_xdsl.importers.onnx.node import Node
from ge_xdsl.importers.onnx.table import Converter
from ge_xdsl.importers.onnx.tensors import type_attribute


def constant_of_shape(node: Node, g: Builder) -> SSAValue:
    """Fill(dims, Const value)"""
    import numpy as np

    value = tensor_value(node, g) if node.has("value") else np.zeros(1, np.float32)
    if value.size != 1:
        node.fail(f"the value has {value.size} elements, expected 1")
    return g.part("Fill", node.input(0), g.const(value.reshape(()), g.part_name("Const")))


def range_(node: Node, g: Builder) -> SSAValue:
    """Range"""
    node.expect("stash_type", 1)
    return g.op("Range", node.input(0), node.input(1), node.input(2))


def gather(node: Node, g: Builder) -> SSAValue:
    """GatherV2(x, indices, Const axis); ONNX counts negative indices from the end."""
    x, indices = node.input(0), node.input(1)
    axis = g.helper(node.integer("axis", 0), "int32")
    return g.part("GatherV2", x, indices, axis, negative_index_support=True)


def gather_elements(node: Node, g: Builder) -> SSAValue:
    """GatherElements"""
    return g.op("GatherElements", node.input(0), node.input(1), dim=node.integer("axis", 0))


def gather_nd(node: Node, g: Builder) -> SSAValue:
    """GatherNd; batch dimensions become leading indices."""
    x, indices = node.input(0), node.input(1)
    batch = node.integer("batch_dims", 0)
    if batch:
        indices = _with_batch(node, g, indices, batch)
    return g.part("GatherNd", x, indices, negative_index_support=True)


def _with_batch(node: Node, g: Builder, indices: SSAValue, batch: int) -> SSAValue:
    """The indices after those of the first `batch` dimensions, which they share with x."""
    rank = g.rank(indices, "batch_dims")
    if not 0 < batch < rank:
        node.fail(f"attribute 'batch_dims' is {batch}, expected one in [0, {rank})")
    indices = g.cast(indices, DataType.DT_INT64)
    one = g.helper([1], "int64")
    lead = g.part(
        "StridedSliceV2", g.shape_of(indices), g.helper([0], "int64"), g.helper([-1], "int64")
    )
    shape = g.part("ConcatD", [lead, one], concat_dim=0, N=2)
    steps = [g.along(g.range(g.dim(indices, k)), k, rank) for k in range(batch)]
    columns = [g.part("BroadcastTo", step, shape) for step in steps]
    return g.part("ConcatD", [*columns, indices], concat_dim=-1, N=batch + 1)


def compress(node: Node, g: Builder) -> SSAValue:
    """GatherV2 at the Squeeze of the Where of the condition; of the Flatten without an axis"""
    x, condition = node.input(0), node.input(1)
    axis = 0
    if node.has("axis"):
        axis = node.integer("axis", 0)
    else:
        x = g.part("Reshape", x, g.helper([-1], "int64"))
    places = g.part("Squeeze", g.part("Where", condition), axis=[1])
    return g.take(x, places, axis)


def eye_like(node: Node, g: Builder) -> SSAValue:
    """Cast(Equal(rows + k, columns)) of two Ranges"""
    x = node.input(0)
    if g.rank(x, "EyeLike") != 2:
        node.fail(f"the input is {g.tensor_text(x)}, expected a matrix")
    target = type_attribute(node, "dtype", g.dtype(x))
    rows, columns = (g.range(g.dim(x, k)) for k in range(2))
    rows = g.part("Add", g.along(rows, 0, 2), g.scalar(node.integer("k", 0), "int64"))
    return g.cast(g.part("Equal", rows, columns), target)


def non_zero(node: Node, g: Builder) -> SSAValue:
    """NonZero with one row per dimension"""
    return g.part("NonZero", node.input(0), transpose=True, dtype=DataType.DT_INT64)


def one_hot(node: Node, g: Builder) -> SSAValue:
    """OneHot of indices that count from the start; off and on are the entries of `values`"""
    indices, depth, values = node.input(0), node.input(1), node.input(2)
    axis = node.integer("axis", -1)
    if axis < -1:
        axis += g.rank(indices, "a negative axis") + 1
    indices, depth = (g.cast(v, DataType.DT_INT64) for v in (indices, g.as_scalar(depth)))
    negative = g.part("Less", indices, g.scalar(0, "int64"))
    indices = g.part("SelectV2", negative, g.part("Add", indices, depth), indices)
    off, on = (g.take(values, g.scalar(k, "int64"), 0) for k in range(2))
    return g.part("OneHot", indices, depth, on, off, axis=axis)


TABLE: dict[str, Converter] = {
    "Compress": compress,
    "ConstantOfShape": constant_of_shape,
    "EyeLike": eye_like,
    "Gather": gather,
    "GatherElements": gather_elements,
    "GatherND": gather_nd,
    "NonZero": non_zero,
    "OneHot": one_hot,
    "Range": range_,
}
