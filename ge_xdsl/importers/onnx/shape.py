"""ONNX ops that change only the shape, and those that tell it."""

from __future__ import annotations

from xdsl.dialects.builtin import IntegerAttr, i64
from xdsl.ir import SSAValue

from ge_xdsl.dialects.ge.op import extra_key
from ge_xdsl.importers.onnx.builder import Builder
from ge_xdsl.importers.onnx.node import Node
from ge_xdsl.importers.onnx.table import Converter

INT64 = 9
"""GE's number of DT_INT64, the element type of ONNX shapes."""


def reshape(node: Node, g: Builder) -> SSAValue:
    """Reshape; `allowzero` says whether a 0 is taken literally or copies the dimension of x.

    The node attribute is left out for a constant shape without 0, where it says nothing.
    """
    allowzero = node.integer("allowzero", 0)
    inputs = node.input(0), node.input(1)
    known = g.known(inputs[1])
    if known is not None and 0 not in known:
        return g.op("Reshape", *inputs)
    extra = {extra_key("allowzero"): IntegerAttr(int(allowzero != 0), i64)}
    return g.add("Reshape", inputs, {}, node.name, extra=extra).results[0]


def flatten(node: Node, g: Builder) -> SSAValue:
    """Flatten"""
    return g.op("Flatten", node.input(0), axis=node.integer("axis", 1))


def squeeze(node: Node, g: Builder) -> SSAValue:
    """Squeeze, or SqueezeV3 with the axes as an operand."""
    if node.opset >= 13:
        return g.op("SqueezeV3", node.input(0), node.optional(1))
    return g.op("Squeeze", node.input(0), axis=node.integers("axes") or [])


def unsqueeze(node: Node, g: Builder) -> SSAValue:
    """Unsqueeze, or UnsqueezeV3 with the axes as an operand."""
    if node.opset >= 13:
        return g.op("UnsqueezeV3", node.input(0), node.input(1))
    axes = node.integers("axes")
    if not axes:
        node.fail("attribute 'axes' is missing, it is required")
    return g.op("Unsqueeze", node.input(0), axes=axes)


def transpose(node: Node, g: Builder) -> SSAValue:
    """Transpose(x, Const perm); without perm the dimensions are reversed."""
    x, perm = node.input(0), node.integers("perm")
    if perm is None:
        perm = list(reversed(range(g.rank(x, "Transpose without perm"))))
    return g.part("Transpose", x, g.helper(perm, "int32"))


def shape_(node: Node, g: Builder) -> SSAValue:
    """Shape in i64, and StridedSliceV2 for a part of it."""
    start = node.integer("start", 0)
    end = node.integer("end", 2**63 - 1)
    if (start, end) == (0, 2**63 - 1):
        return g.op("Shape", node.input(0), dtype=INT64)
    shape = g.part("Shape", node.input(0), dtype=INT64)
    return g.part("StridedSliceV2", shape, g.helper([start], "int64"), g.helper([end], "int64"))


def size(node: Node, g: Builder) -> SSAValue:
    """Size in i64"""
    return g.op("Size", node.input(0), dtype=INT64)


def expand(node: Node, g: Builder) -> SSAValue:
    """Expand"""
    return g.op("Expand", node.input(0), node.input(1))


def tile(node: Node, g: Builder) -> SSAValue:
    """Tile"""
    return g.op("Tile", node.input(0), node.input(1))


TABLE: dict[str, Converter] = {
    "Expand": expand,
    "Flatten": flatten,
    "Reshape": reshape,
    "Shape": shape_,
    "Size": size,
    "Squeeze": squeeze,
    "Tile": tile,
    "Transpose": transpose,
    "Unsqueeze": unsqueeze,
}
