"""Normalisations in ONNX."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from ge_xdsl.dialects.ge.op import GeOp
from ge_xdsl.dialects.ge.types import DYNAMIC, HALVES, DataType
from ge_xdsl.exporters.onnx.graph import Graph, NoFormError
from ge_xdsl.exporters.onnx.table import Converter


def batch_norm(op: GeOp, g: Graph) -> Sequence[str | None]:
    """BatchNormalization for inference, channels second; the statistics are the operands"""
    if op.get_attr("is_training"):
        raise NoFormError("is_training is set")
    if not op.get_attr("data_format").startswith("NC"):
        raise NoFormError(f"data_format is {op.get_attr('data_format')}")
    if any(g.rank(value) != 1 for value in op.operands[1:]):
        raise NoFormError("scale, offset, mean or variance is no vector")
    x, scale, offset, mean, variance = map(g.of, op.operands)
    y = g.add("BatchNormalization", x, scale, offset, mean, variance,
              epsilon=op.get_attr("epsilon"))  # fmt: skip
    return [y, mean, variance, mean, variance, None]


def layer_norm(op: GeOp, g: Graph) -> Sequence[str | None]:
    """LayerNormalization; where mean or variance are read or gamma broadcasts its definition"""
    x = op.operands[0]
    rank = g.rank(x)
    if not rank:
        raise NoFormError("x is a scalar")
    start = op.get_attr("begin_norm_axis") % rank
    shapes = [g.tensor(value).shape for value in op.operands]
    last = (shapes[0] or ())[start:]
    same = len({g.dtype(value) for value in op.operands}) == 1
    read = any(value.uses for value in op.results[1:])
    if same and not read and DYNAMIC not in last and shapes[1] == shapes[2] == last:
        y = g.add("LayerNormalization", *map(g.of, op.operands), axis=start,
                  epsilon=op.get_attr("epsilon"))  # fmt: skip
        return [y, None, None]
    return _composed(op, g, list(range(start, rank)))


def _composed(op: GeOp, g: Graph, axes: Sequence[int]) -> Sequence[str]:
    """Add(Mul(Mul(x - mean, 1 / Sqrt(variance + epsilon)), gamma), beta), in f32"""
    x, gamma, beta = (wide(g, value) for value in op.operands)
    where = g.ints(axes)
    mean = g.add("ReduceMean", x, where, keepdims=1)
    centred = g.add("Sub", x, mean)
    variance = g.add("ReduceMean", g.add("Mul", centred, centred), where, keepdims=1)
    raised = g.add("Add", variance, g.number_like(op.get_attr("epsilon"), x))
    rstd = g.add("Reciprocal", g.add("Sqrt", raised))
    y = g.add("Add", g.add("Mul", g.add("Mul", centred, rstd), gamma), beta)
    found = (y, mean, rstd if op.op_type == "LayerNormV3" else variance)
    return [g.cast(name, g.dtype(v)) for name, v in zip(found, op.results, strict=True)]


def wide(g: Graph, value: SSAValue) -> str:
    """A half float as f32: GE rounds once, at the end."""
    return g.cast(g.of(value), DataType.DT_FLOAT) if g.dtype(value) in HALVES else g.of(value)


def instance_norm(op: GeOp, g: Graph) -> Sequence[str | None]:
    """InstanceNormalization, channels second"""
    x, gamma, beta = g.of(op.operands[0]), *(g.vector(v) for v in op.operands[1:])
    form = op.get_attr("data_format")
    if not (form.startswith("NC") or form == "ND") or g.rank(op.operands[0]) < 3:
        raise NoFormError(f"data_format is {form} for x of {g.rank(op.operands[0])} dimensions")
    y = g.add("InstanceNormalization", x, gamma, beta, epsilon=op.get_attr("epsilon"))
    return [y, None, None]


def lrn(op: GeOp, g: Graph) -> str:
    """LRN, whose alpha is divided by the window"""
    size = 2 * op.get_attr("depth_radius") + 1
    attrs = {name: op.get_attr(name) for name in ("bias", "beta")}
    alpha = op.get_attr("alpha") * size
    return g.add("LRN", g.of(op.operands[0]), size=size, alpha=alpha, **attrs)


def rms_norm(op: GeOp, g: Graph) -> Sequence[str]:
    """Mul(Mul(x, 1 / Sqrt(mean of squares + epsilon)), gamma), in f32"""
    x, gamma = (wide(g, value) for value in op.operands)
    rank, count = g.rank(op.operands[0]), g.rank(op.operands[1])
    where = g.ints(range(rank - count, rank))
    squares = g.add("ReduceMean", g.add("Mul", x, x), where, keepdims=1)
    raised = g.add("Add", squares, g.number_like(op.get_attr("epsilon"), x))
    rstd = g.add("Reciprocal", g.add("Sqrt", raised))
    y = g.add("Mul", g.add("Mul", x, rstd), gamma)
    return [g.cast(y, g.dtype(op.results[0])), rstd]


TABLE: dict[str, Converter] = {
    **dict.fromkeys(("LayerNorm", "LayerNormV3"), layer_norm),
    "BatchNorm": batch_norm,
    "InstanceNorm": instance_norm,
    "LRN": lrn,
    "RmsNorm": rms_norm,
}
