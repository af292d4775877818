"""ONNX running sums and products."""

from __future__ import annotations

from xdsl.ir import SSAValue

from ge_xdsl.importers.onnx.builder import Builder
from ge_xdsl.importers.onnx.node import Node
from ge_xdsl.importers.onnx.table import Converter

GE_NAME = {"CumSum": "Cumsum", "CumProd": "Cumprod"}


def cumulative(node: Node, g: Builder) -> SSAValue:
    """Cumsum or Cumprod"""
    attrs = {name: node.flag(name, False) for name in ("exclusive", "reverse")}
    return g.op(GE_NAME[node.op_type], node.input(0), g.as_scalar(node.input(1)), **attrs)


TABLE: dict[str, Converter] = dict.fromkeys(GE_NAME, cumulative)
