"""ONNX ops of classic machine learning (domain ai.onnx.ml) that are tensor ops."""

from __future__ import annotations

from xdsl.ir import SSAValue

from ge_xdsl.importers.onnx.builder import Builder
from ge_xdsl.importers.onnx.node import Node
from ge_xdsl.importers.onnx.table import Converter


def binarizer(node: Node, g: Builder) -> SSAValue:
    """Cast(Greater(x, threshold))"""
    x = node.input(0)
    above = g.part("Greater", x, g.like(node.floating("threshold", 0.0), x))
    return g.cast(above, g.dtype(x))


def array_feature_extractor(node: Node, g: Builder) -> SSAValue:
    """GatherV2 along the last dimension; of a vector a matrix with one row"""
    x = node.input(0)
    places = g.part("Reshape", node.input(1), g.helper([-1], "int64"))
    found = g.take(x, places, -1)
    if g.rank(x, "ArrayFeatureExtractor") > 1:
        return found
    return g.part("Unsqueeze", found, axes=[0])


TABLE: dict[str, Converter] = {
    "ai.onnx.ml::ArrayFeatureExtractor": array_feature_extractor,
    "ai.onnx.ml::Binarizer": binarizer,
}
