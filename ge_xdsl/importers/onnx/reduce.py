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


def named(node: Node, g: Builder) -> SSAValue:
    """LpNormV2, SquareSumV1, ReduceLogSum or ReduceLogSumExp for floats; of other types, and for
    axes that the run tells where GE has them as an attribute, what they stand for."""
    x, keep = node.input(0), node.flag("keepdims", True)
    axes = axes_of(node, g)
    known = g.known(axes)
    if g.dtype(x) not in FLOATS or axes is None:
        return _composed(node, g, x, axes, keep)
    if node.op_type.startswith("ReduceLog"):
        name = node.name if node.opset >= 13 else g.part_name(node.op_type)
        return g.add(node.op_type, (x, axes), {"keep_dims": keep}, name).results[0]
    if known is None:
        return _composed(node, g, x, axes, keep)
    if not known:
        known = list(range(g.rank(x, "a reduction without axes")))
    if node.op_type == "ReduceSumSquare":
        return g.op("SquareSumV1", x, axis=known, keep_dims=keep)
    p = float(node.op_type[-1])
    return g.op("LpNormV2", x, p=p, axes=known, keepdim=keep, epsilon=0.0)


def _composed(node: Node, g: Builder, x: SSAValue, axes: SSAValue | None, keep: bool) -> SSAValue:
    """ReduceSum of |x| or x^2, its square root or logarithm, or the logarithm of that of exp(x)"""
    before, after = COMPOSED[node.op_type]
    if before == "Exp" and g.dtype(x) not in FLOATS:
        x = g.cast(x, DataType.DT_DOUBLE)
    found = g.part(before, x) if before else x
    if axes is not None:
        found = g.part("ReduceSum", found, axes, keep_dims=keep)
    if not after:
        return found
    dtype = g.dtype(node.input(0))
    wide = found if g.dtype(found) in FLOATS else g.cast(found, DataType.DT_DOUBLE)
    return g.cast(g.part(after, wide), dtype)


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
    **dict.fromkeys(COMPOSED, named),
}
