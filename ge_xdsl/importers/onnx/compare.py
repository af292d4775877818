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


def is_nan(node: Node, g: Builder) -> SSAValue:
    """IsNan"""
    return g.op("IsNan", node.input(0))


def is_inf(node: Node, g: Builder) -> SSAValue:
    """IsInf; of one sign only with a comparison with 0, and with neither sign never."""
    x = node.input(0)
    negative, positive = (node.flag(f"detect_{s}", True) for s in ("negative", "positive"))
    if negative and positive:
        return g.op("IsInf", x)
    found = g.part("IsInf", x)
    if not negative and not positive:
        return g.part("LogicalAnd", found, g.scalar(False, "bool"))
    sided = g.part("Greater" if positive else "Less", x, g.like(0, x))
    return g.part("LogicalAnd", found, sided)


TABLE: dict[str, Converter] = {
    **dict.fromkeys(BINARY, binary),
    "IsInf": is_inf,
    "IsNaN": is_nan,
    "Not": not_,
    "Where": where,
}
