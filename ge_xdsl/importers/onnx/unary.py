"""ONNX elementwise ops of one operand."""

from __future__ import annotations

from xdsl.ir import SSAValue

from ge_xdsl.importers.onnx.builder import Builder
from ge_xdsl.importers.onnx.node import Node
from ge_xdsl.importers.onnx.table import Converter

SAME = (
    "Abs Acos Acosh Asin Asinh Atan Atanh Ceil Cos Cosh Erf Exp Floor Log Neg Reciprocal Round "
    "Sign Sin Sinh Sqrt Tan"
)
"""The ops that GE has under the same name."""


def unary(node: Node, g: Builder) -> SSAValue:
    """The GE op of the same name."""
    return g.op(node.op_type, node.input(0))


TABLE: dict[str, Converter] = dict.fromkeys(SAME.split(), unary)
