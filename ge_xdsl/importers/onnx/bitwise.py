"""ONNX ops on bits."""

from __future__ import annotations

from xdsl.ir import SSAValue

from ge_xdsl.dialects.ge.types import DataType
from ge_xdsl.importers.onnx.builder import Builder
from ge_xdsl.importers.onnx.node import Node
from ge_xdsl.importers.onnx.table import Converter
from ge_xdsl.importers.onnx.tensors import type_attribute


def binary(node: Node, g: Builder) -> SSAValue:
    """The GE op of the same name."""
    return g.op(node.op_type, node.input(0), node.input(1))


def bitwise_not(node: Node, g: Builder) -> SSAValue:
    """Invert"""
    return g.op("Invert", node.input(0))


def bit_shift(node: Node, g: Builder) -> SSAValue:
    """LeftShift or RightShift"""
    direction = node.string("direction", "")
    if direction not in ("LEFT", "RIGHT"):
        node.fail(f"attribute 'direction' is '{direction}', expected 'LEFT' or 'RIGHT'")
    return g.part(f"{direction.capitalize()}Shift", node.input(0), node.input(1))


def bit_cast(node: Node, g: Builder) -> SSAValue:
    """Bitcast"""
    return g.op("Bitcast", node.input(0), type=type_attribute(node, "to"))


def xor(node: Node, g: Builder) -> SSAValue:
    """BitwiseXor of both operands cast to i32, cast back"""
    a, b = (g.cast(node.input(k), DataType.DT_INT32) for k in range(2))
    return g.cast(g.part("BitwiseXor", a, b), DataType.DT_BOOL)


TABLE: dict[str, Converter] = {
    **dict.fromkeys(("BitwiseAnd", "BitwiseOr", "BitwiseXor"), binary),
    "BitCast": bit_cast,
    "BitShift": bit_shift,
    "BitwiseNot": bitwise_not,
    "Xor": xor,
}
