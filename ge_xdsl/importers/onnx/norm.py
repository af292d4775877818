"""ONNX normalisations, for inference."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from ge_xdsl.dialects.ge.types import DataType
from ge_xdsl.importers.onnx.builder import Builder
from ge_xdsl.importers.onnx.node import Node
from ge_xdsl.importers.onnx.table import Converter


def batch_normalization(node: Node, g: Builder) -> SSAValue:
    """BatchNorm with is_training = false, which is not GE's default."""
    node.ignore("momentum")
    node.expect("spatial", 1)
    node.expect("training_mode", 0)
    return g.op(
        "BatchNorm",
        *(node.input(k) for k in range(5)),
        epsilon=node.floating("epsilon", 1e-5),
        data_format="NCHW",
        is_training=False,
    )


def instance_normalization(node: Node, g: Builder) -> SSAValue:
    """InstanceNorm"""
    epsilon = node.floating("epsilon", 1e-5)
    inputs = (node.input(k) for k in range(3))
    return g.op("InstanceNorm", *inputs, data_format="NCHW", epsilon=epsilon)


def layer_normalization(node: Node, g: Builder) -> Sequence[SSAValue]:
    """LayerNorm of x and of gamma and beta broadcast to the shape of x.

    The optional outputs are the mean and Rsqrt(Adds(variance, epsilon)).
    """
    x, gamma, beta = node.input(0), node.input(1), node.optional(2)
    axis, epsilon = node.integer("axis", -1), node.floating("epsilon", 1e-5)
    node.expect("stash_type", 1)
    shape = g.part("Shape", x)
    gamma = g.part("BroadcastTo", gamma, shape)
    beta = g.part("BroadcastTo", g.like(0.0, x) if beta is None else beta, shape)
    attrs = {"begin_norm_axis": axis, "epsilon": epsilon}
    y, mean, variance = g.add(
        "LayerNorm", (x, gamma, beta), attrs, g.part_name("LayerNorm")
    ).results
    results: list[SSAValue] = [y]
    if node.wants(1) or node.wants(2):
        results.append(_float(g, mean))
    if node.wants(2):
        rstd = g.part("Rsqrt", g.part("Adds", variance, value=epsilon))
        results.append(_float(g, rstd))
    return results


def _float(g: Builder, value: SSAValue) -> SSAValue:
    """A statistic as f32, which stash_type = 1 asks for."""
    if g.dtype(value) == DataType.DT_FLOAT:
        return value
    return g.part("Cast", value, dst_type=int(DataType.DT_FLOAT))


TABLE: dict[str, Converter] = {
    "BatchNormalization": batch_normalization,
    "InstanceNormalization": instance_normalization,
    "LayerNormalization": layer_normalization,
}
