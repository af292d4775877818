"""ONNX reductions."""

from __future__ import annotations

from xdsl.ir import SSAValue

from ge_xdsl.dialects.ge.types import DataType
from ge_xdsl.importers.onnx.builder import Builder
from ge_xdsl.importers.onnx.node import Node
from ge_xdsl.importers.onnx.table import Converter

AXES_AS_INPUT = {"ReduceSum": 13}
"""The opset from which the axes are an input; 18 for the ops not listed."""

OF_BOOLS = {"ReduceMax": "ReduceAny", "ReduceMin": "ReduceAll"}
"""The GE op that is the extremum of truth values, which ReduceMax and ReduceMin do not take."""


def reduce(node: Node, g: Builder) -> SSAValue:
    """The GE op of the same name with the axes as a Const or an operand."""
    x, keep = node.input(0), node.flag("keepdims", True)
    noop = node.flag("noop_with_empty_axes", False)
    axes = node.optional(1)
    if node.opset < AXES_AS_INPUT.get(node.op_type, 18):
        listed = node.integers("axes")
        axes = None if listed is None else g.helper(listed, "int32")
    if axes is None and noop:
        return g.part("Identity", x)
    if axes is None:
        axes = g.helper(range(g.rank(x, "a reduction without axes")), "int32")
    if g.dtype(x) == DataType.DT_BOOL and node.op_type in OF_BOOLS:
        if noop:
            node.fail("attribute 'noop_with_empty_axes' is 1, expected 0 for BOOL")
        return g.part(OF_BOOLS[node.op_type], x, axes, keep_dims=keep)
    name = node.name if node.opset >= 13 else g.part_name(node.op_type)
    attrs = {"keep_dims": keep, "noop_with_empty_axes": noop}
    return g.add(node.op_type, (x, axes), attrs, name).results[0]


TABLE: dict[str, Converter] = dict.fromkeys(
    ("ReduceMax", "ReduceMean", "ReduceMin", "ReduceProd", "ReduceSum"), reduce
)
