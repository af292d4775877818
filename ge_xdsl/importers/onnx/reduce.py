"""ONNX reductions."""

from __future__ import annotations

from xdsl.ir import SSAValue

from ge_xdsl.dialects.ge.types import FLOATS, DataType
from ge_xdsl.importers.onnx.builder import Builder
from ge_xdsl.importers.onnx.node import Node
from ge_xdsl.importers.onnx.table import Converter

AXES_AS_INPUT = {"ReduceSum": 13}
"""The opset from which the axes are an input; 18 for the ops not listed."""

OF_BOOLS = {"ReduceMax": "ReduceAny", "ReduceMin": "ReduceAll"}
"""The GE op that is the extremum of truth values, which ReduceMax and ReduceMin do not take."""


def axes_of(node: Node, g: Builder) -> SSAValue | None:
    """The axes as a Const or an operand; None for a reduction of no dimension."""
    axes = node.optional(1)
    noop = node.flag("noop_with_empty_axes", False)
    if node.opset < AXES_AS_INPUT.get(node.op_type, 18):
        listed = node.integers("axes")
        axes = None if listed is None else g.helper(listed, "int32")
    if axes is not None and g.shape(axes) == (0,):
        axes = None
    if axes is None and noop:
        return None
    if axes is None:
        axes = g.helper(range(g.rank(node.input(0), "a reduction without axes")), "int32")
    return axes


def reduce(node: Node, g: Builder) -> SSAValue:
    """The GE op of the same name with the axes as a Const or an operand."""
    x, keep = node.input(0), node.flag("keepdims", True)
    axes = axes_of(node, g)
    if axes is None:
        return g.part("Identity", x)
    if g.dtype(x) == DataType.DT_BOOL and node.op_type in OF_BOOLS:
        return g.part(OF_BOOLS[node.op_type], x, axes, keep_dims=keep)
    name = node.name if node.opset >= 13 else g.part_name(node.op_type)
    return g.add(node.op_type, (x, axes), {"keep_dims": keep}, name).results[0]


def composed(node: Node, g: Builder) -> SSAValue:
    """ReduceSum of |x| or x^2, its square root or logarithm, or the logarithm of that of exp(x)"""
    x, keep = node.input(0), node.flag("keepdims", True)
    before, after = COMPOSED[node.op_type]
    axes = axes_of(node, g)
    highest = None
    if node.op_type == "ReduceLogSumExp" and axes is not None:
        x, highest = _below_zero(g, x, axes)
    found = g.part(before, x) if before else x
    if axes is not None:
        found = g.part("ReduceSum", found, axes, keep_dims=keep)
    if after and g.dtype(found) not in FLOATS:
        wide = g.part(after, g.cast(found, DataType.DT_DOUBLE))
        return g.cast(wide, g.dtype(found))
    found = g.part(after, found) if after else found
    if highest is None:
        return found
    shape = g.part("Shape", found, dtype=int(DataType.DT_INT64))
    return g.part("Add", found, g.reshape_exactly(highest, shape))


def _below_zero(g: Builder, x: SSAValue, axes: SSAValue) -> tuple[SSAValue, SSAValue]:
    """x less its largest element (0 where that is infinite), so that exp does not overflow."""
    highest = g.part("ReduceMax", x, axes, keep_dims=True)
    finite = g.part("IsFinite", highest)
    highest = g.part("SelectV2", finite, highest, g.part("ZerosLike", highest))
    return g.part("Sub", x, highest), highest


COMPOSED = {
    "ReduceL1": ("Abs", ""),
    "ReduceL2": ("Square", "Sqrt"),
    "ReduceLogSum": ("", "Log"),
    "ReduceLogSumExp": ("Exp", "Log"),
    "ReduceSumSquare": ("Square", ""),
}
"""ONNX op -> the GE ops before and after ReduceSum that it stands for."""

TABLE: dict[str, Converter] = {
    **dict.fromkeys(("ReduceMax", "ReduceMean", "ReduceMin", "ReduceProd", "ReduceSum"), reduce),
    **dict.fromkeys(COMPOSED, composed),
}
