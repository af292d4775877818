"""ONNX conversions of the element type."""

from __future__ import annotations

from xdsl.ir import SSAValue

from ge_xdsl.dialects.ge.types import FLOATS, DataType
from ge_xdsl.importers.onnx.builder import Builder
from ge_xdsl.importers.onnx.node import Node
from ge_xdsl.importers.onnx.table import Converter
from ge_xdsl.importers.onnx.tensors import type_attribute

SATURATING = {
    DataType.DT_FLOAT8_E4M3FN: 448.0,
    DataType.DT_FLOAT8_E5M2: 57344.0,
}
"""Element type -> its largest finite value, which larger ones become by default."""


def cast_(node: Node, g: Builder) -> SSAValue:
    """Cast; to 8-bit floats ClipByValue comes first unless `saturate` is 0."""
    mode = node.string("round_mode", "up")
    if mode != "up":
        node.fail(f"attribute 'round_mode' is '{mode}', expected 'up'")
    x, target = node.input(0), type_attribute(node, "to")
    clipped = saturated(g, x, target) if node.flag("saturate", True) else x
    if clipped is not x:
        return g.part("Cast", clipped, dst_type=int(target))
    return g.op("Cast", x, dst_type=int(target))


def cast_like(node: Node, g: Builder) -> SSAValue:
    """CastLike"""
    mode = node.string("round_mode", "up")
    if mode != "up":
        node.fail(f"attribute 'round_mode' is '{mode}', expected 'up'")
    x, target = node.input(0), node.input(1)
    clipped = saturated(g, x, g.dtype(target)) if node.flag("saturate", True) else x
    if clipped is not x:
        return g.part("CastLike", clipped, target)
    return g.op("CastLike", x, target)


def saturated(g: Builder, x: SSAValue, target: DataType) -> SSAValue:
    """x within the finite values of an 8-bit float type."""
    limit = SATURATING.get(target)
    if limit is None or g.dtype(x) not in FLOATS:
        return x
    return g.part("ClipByValue", x, g.like(-limit, x), g.like(limit, x))


TABLE: dict[str, Converter] = {"Cast": cast_, "CastLike": cast_like}
