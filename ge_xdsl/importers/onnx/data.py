"""ONNX constants and pass-through ops."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from xdsl.ir import SSAValue

from ge_xdsl.dialects.ge.op import constant_of
from ge_xdsl.dialects.ge.types import DataType
from ge_xdsl.importers.onnx.builder import Builder
from ge_xdsl.importers.onnx.node import Node
from ge_xdsl.importers.onnx.table import Converter

if TYPE_CHECKING:
    from onnx import SparseTensorProto, TensorProto

    from ge_xdsl.dialects.ge.types import Array


def constant(node: Node, g: Builder) -> SSAValue:
    """Const, named like the output."""
    if len(node.attrs) != 1:
        node.fail(f"has {len(node.attrs)} attributes, expected one that gives the value")
    return g.const(_values(node, g), node.name)


def _values(node: Node, g: Builder) -> Array:
    import numpy as np

    if node.has("value_float"):
        return np.array(node.floating("value_float", 0.0), np.float32)
    if node.has("value_floats"):
        return np.array(node.floats("value_floats"), np.float32)
    if node.has("value_int"):
        return np.array(node.integer("value_int", 0), np.int64)
    if node.has("value_ints"):
        return np.array(node.integers("value_ints"), np.int64)
    if node.has("sparse_value"):
        return _read(g, node, node.value("sparse_value", "sparse_tensor"))
    if not node.has("value"):
        node.fail(f"attribute '{next(iter(node.attrs))}' is not supported, expected numbers")
    return tensor_value(node, g)


def tensor_value(node: Node, g: Builder) -> Array:
    """The values of the attribute `value`."""
    tensor = node.tensor("value")
    assert tensor is not None
    return _read(g, node, tensor)


def _read(g: Builder, node: Node, tensor: TensorProto | SparseTensorProto) -> Array:
    try:
        return g.reader.array(tensor)
    except ValueError as error:
        node.fail(f"the value {error}")


def identity(node: Node, g: Builder) -> SSAValue:
    """Identity"""
    return g.op("Identity", node.input(0))


def optional(node: Node, g: Builder) -> SSAValue:
    """The value itself: an optional that has an element is its element"""
    if node.optional(0) is None:
        node.fail("has no element, expected one")
    return g.op("Identity", node.input(0))


def dropout(node: Node, g: Builder) -> Sequence[SSAValue]:
    """Identity: a model is run, not trained, so nothing is dropped; the mask is true."""
    node.ignore("ratio", "seed", "is_test")
    training = node.optional(2)
    flag = None if training is None else constant_of(training)
    if training is not None and (flag is None or bool(flag.any())):
        node.fail("training_mode is not the constant false, expected inference")
    y = g.op("Identity", node.input(0))
    if not node.wants(1):
        return [y]
    ones = g.part("OnesLike", node.input(0))
    return [y, g.cast(ones, DataType.DT_BOOL if node.opset >= 10 else g.dtype(ones))]


def has_element(node: Node, g: Builder) -> SSAValue:
    """Whether there is an input: a tensor always is."""
    return g.const(np_bool(node.optional(0) is not None), node.name)


def np_bool(value: bool) -> Array:
    import numpy as np

    return np.array(value)


TABLE: dict[str, Converter] = {
    "Constant": constant,
    "Dropout": dropout,
    "Identity": identity,
    "Optional": optional,
    "OptionalGetElement": identity,
    "OptionalHasElement": has_element,
}
