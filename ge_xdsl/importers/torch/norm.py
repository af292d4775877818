"""ATen normalisations."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from ge_xdsl.importers.torch.builder import TorchBuilder
from ge_xdsl.importers.torch.call import Call
from ge_xdsl.importers.torch.table import Converter


def batch_norm(call: Call, g: TorchBuilder) -> Sequence[SSAValue | None]:
    """BatchNorm with is_training = false, which is not GE's default; the saved statistics, which
    are empty in inference, are not given"""
    mean, variance = call.value("running_mean"), call.value("running_var")
    scale, offset = call.optional("weight"), call.optional("bias")
    if scale is None:
        scale = g.part("OnesLike", mean)
    if offset is None:
        offset = g.part("ZerosLike", mean)
    x = call.value("input")
    attrs = {
        "epsilon": float(call.number("eps")),
        "data_format": "NCHW",
        "is_training": False,
    }
    op = g.add("BatchNorm", (x, scale, offset, mean, variance), attrs, call.name)
    return [op.results[0], None, None]


def batch_norm_training(call: Call, g: TorchBuilder) -> Sequence[SSAValue | None]:
    """BatchNorm by the mean and variance of the input; then these, as mean and 1/sqrt(variance +
    eps), and what they move the running ones to (with the unbiased variance)"""
    x, eps = call.value("input"), float(call.number("eps"))
    if "training" in call.args and not call.flag("training"):
        y, *_ = batch_norm(call, g)
        old = [call.optional("running_mean"), call.optional("running_var")]
        return [y, None, None, *old]
    axes = [0, *range(2, g.rank(x, "batch norm"))]
    mean = g.part("ReduceMean", x, g.helper(axes, "int32"), keep_dims=True)
    squares = g.part("Square", g.part("Sub", x, mean))
    variance = g.part("ReduceMean", squares, g.helper(axes, "int32"), keep_dims=False)
    mean = g.reshape(mean, [-1])
    scale, offset = call.optional("weight"), call.optional("bias")
    scale = g.part("OnesLike", mean) if scale is None else scale
    offset = g.part("ZerosLike", mean) if offset is None else offset
    attrs = {"epsilon": eps, "data_format": "NCHW", "is_training": False}
    y = g.add("BatchNorm", (x, scale, offset, mean, variance), attrs, call.name).results[0]
    rstd = g.part("Rsqrt", g.part("Add", variance, g.like(eps, variance)))
    count = g.count(x, axes, g.dtype(variance))
    factor = g.part("RealDiv", count, g.part("Sub", count, g.like(1, count)))
    moved = [
        _moved(call, g, call.optional("running_mean"), mean),
        _moved(call, g, call.optional("running_var"), g.part("Mul", variance, factor)),
    ]
    return [y, mean, rstd, *moved]


def _moved(call: Call, g: TorchBuilder, old: SSAValue | None, new: SSAValue) -> SSAValue | None:
    """old + momentum * (new - old)"""
    if old is None:
        return None
    step = g.part("Mul", g.part("Sub", new, old), g.like(call.number("momentum"), old))
    return g.part("Add", old, step)


def layer_norm(call: Call, g: TorchBuilder) -> Sequence[SSAValue]:
    """LayerNormV4"""
    size = g.sizes(call.dims("normalized_shape"))
    inputs = (call.value("input"), size, call.optional("weight"), call.optional("bias"))
    return g.add("LayerNormV4", inputs, {"epsilon": float(call.number("eps"))}, call.name).results


def group_norm(call: Call, g: TorchBuilder) -> Sequence[SSAValue]:
    """GroupNorm and Rsqrt(variance + eps); a missing weight is ones, a missing bias zeros"""
    x, channels, eps = call.value("input"), call.integer("C"), float(call.number("eps"))
    scale, offset = call.optional("weight"), call.optional("bias")
    if scale is None:
        scale = g.part("Fill", g.helper([channels], "int64"), g.like(1, x))
    if offset is None:
        offset = g.part("Fill", g.helper([channels], "int64"), g.like(0, x))
    attrs = {"num_groups": call.integer("group"), "eps": eps}
    y, mean, variance = g.add("GroupNorm", (x, scale, offset), attrs, call.name).results
    rstd = g.part("Rsqrt", g.part("Add", variance, g.like(eps, variance)))
    return [y, mean, rstd]


TABLE: dict[str, Converter] = {
    "_native_batch_norm_legit": batch_norm_training,
    "_native_batch_norm_legit_functional": batch_norm_training,
    "_native_batch_norm_legit_no_training": batch_norm,
    "native_group_norm": group_norm,
    "native_layer_norm": layer_norm,
}
