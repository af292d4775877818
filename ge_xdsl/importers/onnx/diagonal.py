"""ONNX ops on triangles of matrices."""

from __future__ import annotations

from xdsl.ir import SSAValue

from ge_xdsl.importers.onnx.builder import Builder
from ge_xdsl.importers.onnx.node import Node
from ge_xdsl.importers.onnx.table import Converter


def trilu(node: Node, g: Builder) -> SSAValue:
    """Trilu"""
    k = node.optional(1)
    upper = int(node.flag("upper", True))
    return g.op("Trilu", node.input(0), None if k is None else g.as_scalar(k), upper=upper)


TABLE: dict[str, Converter] = {"Trilu": trilu}
