"""ONNX ops that pick elements by index, and tensors made from numbers."""

from __future__ import annotations

from xdsl.ir import SSAValue

from ge_xdsl.importers.onnx.builder import Builder
from ge_xdsl.importers.onnx.data import tensor_value
from ge_xdsl.importers.onnx.node import Node
from ge_xdsl.importers.onnx.table import Converter


def constant_of_shape(node: Node, g: Builder) -> SSAValue:
    """Fill(dims, Const value)"""
    import numpy as np

    value = tensor_value(node, g) if node.has("value") else np.zeros(1, np.float32)
    if value.size != 1:
        node.fail(f"the value has {value.size} elements, expected 1")
    return g.part("Fill", node.input(0), g.const(value.reshape(()), g.part_name("Const")))


def range_(node: Node, g: Builder) -> SSAValue:
    """Range"""
    node.expect("stash_type", 1)
    return g.op("Range", node.input(0), node.input(1), node.input(2))


def gather(node: Node, g: Builder) -> SSAValue:
    """GatherV2(x, indices, Const axis); ONNX counts negative indices from the end."""
    x, indices = node.input(0), node.input(1)
    axis = g.helper(node.integer("axis", 0), "int32")
    return g.part("GatherV2", x, indices, axis, negative_index_support=True)


def gather_elements(node: Node, g: Builder) -> SSAValue:
    """GatherElements"""
    return g.op("GatherElements", node.input(0), node.input(1), dim=node.integer("axis", 0))


TABLE: dict[str, Converter] = {
    "ConstantOfShape": constant_of_shape,
    "Gather": gather,
    "GatherElements": gather_elements,
    "Range": range_,
}
