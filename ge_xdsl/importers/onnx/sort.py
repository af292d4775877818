"""ONNX ops that sort."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from ge_xdsl.dialects.ge.types import DataType
from ge_xdsl.importers.onnx.builder import Builder
from ge_xdsl.importers.onnx.node import Node
from ge_xdsl.importers.onnx.table import Converter


def top_k(node: Node, g: Builder) -> Sequence[SSAValue]:
    """TopK, whose i32 indices are cast to i64; before opset 10 with a Const k."""
    axis = node.integer("axis", -1)
    if node.opset < 10:
        k = g.scalar(node.required_integer("k"), "int32")
    else:
        k = g.as_scalar(node.input(1))
    attrs = {
        "sorted": node.flag("sorted", True),
        "largest": node.flag("largest", True),
        "dim": axis,
    }
    op = g.add("TopK", (node.input(0), k), attrs, node.name)
    values, indices = op.results
    return [values, g.cast(indices, DataType.DT_INT64)]


TABLE: dict[str, Converter] = {"TopK": top_k}
