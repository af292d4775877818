"""ONNX linear algebra."""

from __future__ import annotations

from xdsl.ir import SSAValue

from ge_xdsl.importers.onnx.builder import Builder
from ge_xdsl.importers.onnx.node import Node
from ge_xdsl.importers.onnx.table import Converter


def det(node: Node, g: Builder) -> SSAValue:
    """MatrixDeterminant"""
    return g.op("MatrixDeterminant", node.input(0))


def einsum(node: Node, g: Builder) -> SSAValue:
    """Einsum; an equation without an arrow gets the labels that stand once, in their order."""
    values = node.all_inputs()
    equation = node.string("equation", "").replace(" ", "")
    if "->" not in equation:
        letters = sorted(set(equation) - set(",."))
        once = "".join(letter for letter in letters if equation.count(letter) == 1)
        equation = f"{equation}->{'...' if '...' in equation else ''}{once}"
    return g.op("Einsum", values, equation=equation, N=len(values))


TABLE: dict[str, Converter] = {"Det": det, "Einsum": einsum}
