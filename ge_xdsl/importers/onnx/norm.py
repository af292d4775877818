"""ONNX normalisations, for inference."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from ge_xdsl.dialects.ge.types import DYNAMIC, DataType
from ge_xdsl.importers.onnx.builder import Builder
from ge_xdsl.importers.onnx.node import Node
from ge_xdsl.importers.onnx.table import Converter


def batch_normalization(node: Node, g: Builder) -> SSAValue | Sequence[SSAValue]:
    """BatchNorm with is_training = false, which is not GE's default.

    In training the mean and variance are those of x, and they move the running ones.
    """
    momentum = node.floating("momentum", 0.9)
    node.expect("spatial", 1)
    training = node.flag("training_mode", False)
    x, scale, bias, mean, variance = (node.input(k) for k in range(5))
    attrs = {
        "epsilon": node.floating("epsilon", 1e-5), "data_format": "NCHW", "is_training": False,
    }  # fmt: skip
    if not training:
        return g.op("BatchNorm", x, scale, bias, mean, variance, **attrs)
    rank = g.rank(x, "training_mode")
    axes = g.helper([0, *range(2, rank)], "int32")
    own = g.part("ReduceMean", x, axes, keep_dims=True)
    spread = g.part("ReduceMean", g.part("Square", g.part("Sub", x, own)), axes, keep_dims=False)
    own = g.part("Reshape", own, g.helper([-1], "int64"))
    y = g.part("BatchNorm", x, scale, bias, own, spread, **attrs)
    return [y, *(
        g.part("Add", g.part("Muls", old, value=momentum), g.part("Muls", new, value=1 - momentum))
        for old, new in ((mean, own), (variance, spread))
    )]  # fmt: skip


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


def rms_normalization(node: Node, g: Builder) -> SSAValue | Sequence[SSAValue | None]:
    """RmsNorm where the scale has the dimensions from `axis` on, else the function of ONNX"""
    x, scale = node.input(0), node.input(1)
    shape, scales = g.shape(x), g.shape(scale)
    axis = node.peek_integer("axis", -1)
    same = node.peek_integer("stash_type", 1) == 1 and g.dtype(x) == g.dtype(scale)
    if not same or shape is None or DYNAMIC in shape[axis:] or scales != shape[axis:]:
        return node.scope.by_function(node)
    node.ignore("axis", "stash_type")
    op = g.add("RmsNorm", (x, scale), {"epsilon": node.floating("epsilon", 1e-5)}, node.name)
    return op.results[0]


def lp_normalization(node: Node, g: Builder) -> SSAValue:
    """DivNoNan(x, LpNormV2(x)): a vector of zeros stays one."""
    x, p = node.input(0), node.integer("p", 2)
    if p not in (1, 2):
        node.fail(f"attribute 'p' is {p}, expected 1 or 2")
    axes = [node.integer("axis", -1)]
    norm = g.part("LpNormV2", x, p=float(p), axes=axes, keepdim=True, epsilon=0.0)
    return g.part("DivNoNan", x, norm)


def mean_variance_normalization(node: Node, g: Builder) -> SSAValue:
    """MVNV2"""
    return g.op("MVNV2", node.input(0), axes=node.integers("axes") or [0, 2, 3])


def lrn(node: Node, g: Builder) -> SSAValue:
    """LRN, whose window is 2 * depth_radius + 1 and whose alpha is not divided by it"""
    size = node.required_integer("size")
    if size < 1 or size % 2 == 0:
        node.fail(f"attribute 'size' is {size}, expected an odd positive number")
    return g.op(
        "LRN", node.input(0), depth_radius=size // 2, bias=node.floating("bias", 1.0),
        alpha=node.floating("alpha", 1e-4) / size, beta=node.floating("beta", 0.75),
    )  # fmt: skip


TABLE: dict[str, Converter] = {
    "LRN": lrn,
    "LpNormalization": lp_normalization,
    "MeanVarianceNormalization": mean_variance_normalization,
    "RMSNormalization": rms_normalization,
    "BatchNormalization": batch_normalization,
    "InstanceNormalization": instance_normalization,
    "LayerNormalization": layer_normalization,
}
