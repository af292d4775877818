"""ONNX random numbers: GE's generators, scaled; the numbers themselves are GE's own."""

from __future__ import annotations

from xdsl.ir import SSAValue

from ge_xdsl.dialects.ge.types import DataType
from ge_xdsl.importers.onnx.builder import Builder
from ge_xdsl.importers.onnx.node import Node
from ge_xdsl.importers.onnx.table import Converter
from ge_xdsl.importers.onnx.tensors import type_attribute


def _seed(node: Node) -> int:
    """The seed, which ONNX gives as a float; 0 asks for any."""
    seed = node.floating("seed", 0.0)
    return int(seed) if abs(seed) < 2**62 else 0


def _scaled(
    node: Node, g: Builder, op_type: str, shape: SSAValue, target: DataType, factor: float,
    offset: float,
) -> SSAValue:  # fmt: skip
    """factor * random + offset, drawn in f32"""
    seed = _seed(node)
    drawn = g.part(op_type, shape, dtype=DataType.DT_FLOAT, seed=seed, seed2=0)
    if factor != 1.0:
        drawn = g.part("Muls", drawn, value=factor)
    if offset:
        drawn = g.part("Adds", drawn, value=offset)
    return g.cast(drawn, target)


def _shape(node: Node, g: Builder) -> SSAValue:
    shape = node.integers("shape")
    if shape is None:
        node.fail("attribute 'shape' is missing, it is required")
    return g.helper(shape, "int64")


def _target(node: Node, g: Builder, like: bool) -> DataType:
    default = g.dtype(node.input(0)) if like else DataType.DT_FLOAT
    return type_attribute(node, "dtype", default)


def normal(node: Node, g: Builder, like: bool = False) -> SSAValue:
    """RandomStandardNormal * scale + mean"""
    target = _target(node, g, like)
    shape = g.shape_of(node.input(0)) if like else _shape(node, g)
    scale, mean = node.floating("scale", 1.0), node.floating("mean", 0.0)
    return _scaled(node, g, "RandomStandardNormal", shape, target, scale, mean)


def uniform(node: Node, g: Builder, like: bool = False) -> SSAValue:
    """RandomUniform * (high - low) + low"""
    target = _target(node, g, like)
    shape = g.shape_of(node.input(0)) if like else _shape(node, g)
    low, high = node.floating("low", 0.0), node.floating("high", 1.0)
    return _scaled(node, g, "RandomUniform", shape, target, high - low, low)


def multinomial(node: Node, g: Builder) -> SSAValue:
    """Multinomial with a constant number of samples"""
    target = type_attribute(node, "dtype", DataType.DT_INT32)
    count = g.scalar(node.integer("sample_size", 1), "int32")
    return g.op("Multinomial", node.input(0), count, dtype=target, seed=_seed(node))


def bernoulli(node: Node, g: Builder) -> SSAValue:
    """Whether RandomUniform is below the probability, as a number"""
    chance = node.input(0)
    target = type_attribute(node, "dtype", g.dtype(chance))
    drawn = _scaled(node, g, "RandomUniform", g.shape_of(chance), DataType.DT_FLOAT, 1.0, 0.0)
    below = g.part("Less", drawn, g.cast(chance, DataType.DT_FLOAT))
    return g.cast(below, target)


TABLE: dict[str, Converter] = {
    "Bernoulli": bernoulli,
    "Multinomial": multinomial,
    "RandomNormal": normal,
    "RandomNormalLike": lambda node, g: normal(node, g, like=True),
    "RandomUniform": uniform,
    "RandomUniformLike": lambda node, g: uniform(node, g, like=True),
}
