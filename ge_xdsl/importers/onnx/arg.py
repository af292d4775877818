"""ONNX ops that tell or mark where extrema are."""

from __future__ import annotations

from xdsl.ir import SSAValue

from ge_xdsl.dialects.ge.types import DataType
from ge_xdsl.importers.onnx.builder import Builder
from ge_xdsl.importers.onnx.node import Node
from ge_xdsl.importers.onnx.table import Converter

GE_NAME = {"ArgMax": "ArgMaxV2", "ArgMin": "ArgMin"}


def arg(node: Node, g: Builder) -> SSAValue:
    """ArgMaxV2 or ArgMin along a Const axis in i64, and ExpandDims when dimensions are kept.

    The last of equal extrema is the first one along the reversed axis.
    """
    x, axis = node.input(0), node.integer("axis", 0)
    keep, last = node.flag("keepdims", True), node.flag("select_last_index", False)
    if last:
        x = g.reverse(x, axis)
    dim = g.helper(axis, "int32")
    found = g.part(GE_NAME[node.op_type], x, dim, dtype=DataType.DT_INT64)
    if last:
        length = g.dim(node.input(0), axis)
        found = g.part("Sub", g.part("Sub", length, g.scalar(1, "int64")), found)
    return g.part("ExpandDims", found, dim) if keep else found


def hardmax(node: Node, g: Builder) -> SSAValue:
    """HardMax; before opset 13 over all dimensions from `axis` on together."""
    x = node.input(0)
    axis = node.integer("axis", -1 if node.opset >= 13 else 1)
    if node.opset >= 13:
        return g.op("HardMax", x, axis=axis)
    flat = g.part("HardMax", g.part("Flatten", x, axis=axis), axis=-1)
    return g.reshape_exactly(flat, g.shape_of(x))


TABLE: dict[str, Converter] = {"ArgMax": arg, "ArgMin": arg, "Hardmax": hardmax}
