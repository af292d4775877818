"""ONNX conversions of the element type."""

from __future__ import annotations

from xdsl.ir import SSAValue

from ge_xdsl.importers.onnx.builder import Builder
from ge_xdsl.importers.onnx.node import Node
from ge_xdsl.importers.onnx.table import Converter
from ge_xdsl.importers.onnx.tensors import element_type


def cast_(node: Node, g: Builder) -> SSAValue:
    """Cast"""
    node.expect("saturate", 1)
    mode = node.string("round_mode", "up")
    if mode != "up":
        node.fail(f"attribute 'round_mode' is '{mode}', expected 'up'")
    try:
        target = element_type(node.required_integer("to"))
    except ValueError as error:
        node.fail(f"attribute 'to': {error}")
    return g.op("Cast", node.input(0), dst_type=int(target))


def cast_like(node: Node, g: Builder) -> SSAValue:
    """CastLike"""
    node.expect("saturate", 1)
    return g.op("CastLike", node.input(0), node.input(1))


TABLE: dict[str, Converter] = {"Cast": cast_, "CastLike": cast_like}
