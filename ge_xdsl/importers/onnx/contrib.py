"""Ops of the domain `com.microsoft` that exported transformers hold: activations, norms, sums.

Written from onnxruntime's operator documentation; what they compute is held against onnxruntime.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from ge_xdsl.dialects.ge.types import DataType
from ge_xdsl.importers.onnx.builder import Builder
from ge_xdsl.importers.onnx.node import Node
from ge_xdsl.importers.onnx.norm import layer_normalization
from ge_xdsl.importers.onnx.table import Converter, converter_of

FLOAT = DataType.DT_FLOAT


def biased(g: Builder, x: SSAValue, bias: SSAValue | None) -> SSAValue:
    """x + bias where there is one."""
    return x if bias is None else g.part("Add", x, bias)


def gelu(node: Node, g: Builder) -> SSAValue:
    """GeluV2 by erf"""
    return g.op("GeluV2", node.input(0), approximate="none")


def bias_gelu(node: Node, g: Builder) -> SSAValue:
    """GeluV2(a + b) by erf"""
    return g.op("GeluV2", g.part("Add", node.input(0), node.input(1)), approximate="none")


def fast_gelu(node: Node, g: Builder) -> SSAValue:
    """GeluV2(x + bias) by tanh"""
    return g.op("GeluV2", biased(g, node.input(0), node.optional(1)), approximate="tanh")


def quick_gelu(node: Node, g: Builder) -> SSAValue:
    """Swish: x * sigmoid(alpha * x)"""
    return g.op("Swish", node.input(0), scale=node.floating("alpha", 1.702))


def simplified(
    node: Node, g: Builder, x: SSAValue, gamma: SSAValue, epsilon: float, axis: int
) -> tuple[SSAValue, SSAValue]:
    """x / sqrt(mean(x^2) + epsilon) * gamma over the dimensions from `axis` on, and the factor."""
    rank = g.rank(x, node.op_type)
    wide = g.cast(x, FLOAT)
    axes = g.helper(range(g.axis(axis, rank), rank), "int32")
    mean = g.part("ReduceMean", g.part("Square", wide), axes, keep_dims=True)
    factor = g.part("Rsqrt", g.part("Adds", mean, value=epsilon))
    normal = g.cast(g.part("Mul", wide, factor), g.dtype(gamma))
    return g.part("Mul", normal, gamma), factor


def simplified_layer_normalization(node: Node, g: Builder) -> Sequence[SSAValue]:
    """RmsNorm over the last dimension, else what it stands for"""
    x, gamma = node.input(0), node.input(1)
    axis, epsilon = node.integer("axis", -1), node.floating("epsilon", 1e-5)
    node.ignore("stash_type")
    last = axis in (-1, (len(g.shape(x) or ()) or 0) - 1)
    if last and g.dtype(x) == g.dtype(gamma) and len(g.shape(gamma) or ()) == 1:
        return g.add("RmsNorm", (x, gamma), {"epsilon": epsilon}, node.name).results
    return simplified(node, g, x, gamma, epsilon, axis)


def skip_simplified(node: Node, g: Builder) -> Sequence[SSAValue | None]:
    """RmsNorm(x + skip + bias), and the sum as the fourth output"""
    total = _total(node, g, node.optional(3))
    epsilon = node.floating("epsilon", 1e-5)
    op = g.add("RmsNorm", (total, node.input(2)), {"epsilon": epsilon}, node.name)
    return [op.results[0], None, op.results[1], total]


def _total(node: Node, g: Builder, bias: SSAValue | None) -> SSAValue:
    return g.part("Add", biased(g, node.input(0), bias), node.input(1))


def _normal(
    node: Node, g: Builder, x: SSAValue, gamma: SSAValue, beta: SSAValue | None, epsilon: float
) -> Sequence[SSAValue]:
    """LayerNorm over the last dimension: result, mean and variance."""
    shape = g.part("Shape", x)
    wide = g.part("BroadcastTo", gamma, shape)
    low = g.part("BroadcastTo", g.like(0.0, x) if beta is None else beta, shape)
    attrs = {"begin_norm_axis": -1, "epsilon": epsilon}
    return g.add("LayerNorm", (x, wide, low), attrs, g.part_name("LayerNorm")).results


def skip_layer_normalization(node: Node, g: Builder) -> Sequence[SSAValue]:
    """LayerNorm(x + skip + bias), mean, 1 / deviation, and the sum"""
    total = _total(node, g, node.optional(4))
    epsilon = node.floating("epsilon", 1e-12)
    y, mean, variance = _normal(node, g, total, node.input(2), node.optional(3), epsilon)
    rstd = g.part("Rsqrt", g.part("Adds", variance, value=epsilon)) if node.wants(2) else variance
    return [y, mean, rstd, total]


def embed_layer_normalization(node: Node, g: Builder) -> Sequence[SSAValue]:
    """LayerNorm of the sum of word, position and segment embeddings; how many words each row has;
    the sum"""
    ids, segments = node.input(0), node.optional(1)
    words, places, kinds = node.input(2), node.input(3), node.optional(4)
    mask, positions = node.optional(7), node.optional(8)
    epsilon = node.floating("epsilon", 1e-12)
    node.ignore("mask_index_type")
    total = g.take(words, ids, 0)
    if positions is None:
        total = g.part("Add", total, g.take(places, g.range(g.dim(ids, 1)), 0))
    else:
        total = g.part("Add", total, g.take(places, positions, 0))
    if segments is not None and kinds is not None:
        total = g.part("Add", total, g.take(kinds, segments, 0))
    y = _normal(node, g, total, node.input(5), node.input(6), epsilon)[0]
    count = g.part("ZerosLike", ids) if mask is None else mask
    return [y, g.sum(g.cast(count, DataType.DT_INT32), [1]), total]


def main_op(node: Node, g: Builder) -> SSAValue | Sequence[SSAValue | None]:
    """The op of the same name of ONNX's own, in its form of opset 18"""
    node.opset = 18
    return converter_of(node.op_type)(node, g)


def inverse(node: Node, g: Builder) -> SSAValue:
    """MatrixInverse"""
    return g.op("MatrixInverse", node.input(0))


def expand_dims(node: Node, g: Builder) -> SSAValue:
    """ExpandDims"""
    return g.op("ExpandDims", node.input(0), node.input(1))


def bias_add(node: Node, g: Builder) -> SSAValue:
    """x + bias + skip"""
    x, bias, skip = (node.input(k) for k in range(3))
    return g.op("Add", g.part("Add", x, bias), skip)


def complex_mul(node: Node, g: Builder) -> SSAValue:
    """(a + ib)(c + id), pairs in the last dimension; ComplexMulConj takes the conjugate of d"""
    sign = -1.0 if node.op_type == "ComplexMulConj" else 1.0
    (a, b), (c, d) = (
        [g.take(value, g.helper([k], "int64"), -1) for k in range(2)]
        for value in (node.input(0), node.input(1))
    )
    if sign < 0:
        d = g.part("Neg", d)
    real = g.part("Sub", g.part("Mul", a, c), g.part("Mul", b, d))
    imaginary = g.part("Add", g.part("Mul", a, d), g.part("Mul", b, c))
    return g.op("ConcatD", [real, imaginary], concat_dim=-1, N=2)


TABLE: dict[str, Converter] = {
    "SimplifiedLayerNormalization": simplified_layer_normalization,
    "com.microsoft::BiasAdd": bias_add,
    "com.microsoft::BiasGelu": bias_gelu,
    "com.microsoft::ComplexMul": complex_mul,
    "com.microsoft::ComplexMulConj": complex_mul,
    "com.microsoft::EmbedLayerNormalization": embed_layer_normalization,
    "com.microsoft::ExpandDims": expand_dims,
    "com.microsoft::FastGelu": fast_gelu,
    "com.microsoft::GatherND": main_op,
    "com.microsoft::Gelu": gelu,
    "com.microsoft::GridSample": main_op,
    "com.microsoft::Inverse": inverse,
    "com.microsoft::LayerNormalization": layer_normalization,
    "com.microsoft::Pad": main_op,
    "com.microsoft::QuickGelu": quick_gelu,
    "com.microsoft::Range": main_op,
    "com.microsoft::SkipLayerNormalization": skip_layer_normalization,
    "com.microsoft::SkipSimplifiedLayerNormalization": skip_simplified,
    "com.microsoft::Trilu": main_op,
}
