"""ONNX comparisons, logic and selection."""

from __future__ import annotations

from xdsl.ir import SSAValue

from ge_xdsl.importers.onnx.builder import Builder
from ge_xdsl.importers.onnx.node import Node
from ge_xdsl.importers.onnx.table import Converter

BINARY = {
    "And": "LogicalAnd",
    "Equal": "Equal",
    "Greater": "Greater",
    "GreaterOrEqual": "GreaterEqual",
    "Less": "Less",
    "LessOrEqual": "LessEqual",
    "Or": "LogicalOr",
}
"""ONNX op -> the GE op of two operands that it is."""


def binary(node: Node, g: Builder) -> SSAValue:
    """The op that `BINARY` names."""
    return g.op(BINARY[node.op_type], node.input(0), node.input(1))


def not_(node: Node, g: Builder) -> SSAValue:
    """LogicalNot"""
    return g.op("LogicalNot", node.input(0))


def where(node: Node, g: Builder) -> SSAValue:
    """SelectV2"""
    return g.op("SelectV2", node.input(0), node.input(1), node.input(2))


TABLE: dict[str, Converter] = {**dict.fromkeys(BINARY, binary), "Not": not_, "Where": where}
