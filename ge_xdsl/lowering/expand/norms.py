"""Normalisations over rows, channels and groups, and their gradients, as formulas."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

from ge_xdsl.dialects.ge.batch_norm import channel_axis_of
from ge_xdsl.dialects.ge.group_norm import BiasOp, ScaleOp
from ge_xdsl.dialects.ge.norm import channel_axis
from ge_xdsl.dialects.ge.op import GeOp
from ge_xdsl.dialects.ge.types import HALVES, tensor_of
from ge_xdsl.lowering.expand.builder import Builder, Expansion
from ge_xdsl.lowering.expand.terms import Formula, Term, formula


def rsqrt(x: Term, epsilon: float) -> Term:
    """1 / sqrt(x + epsilon)"""
    return (x + epsilon).call("Rsqrt")


def moments(x: Term, axes: Sequence[int]) -> tuple[Term, Term, Term]:
    """Mean, centred x and biased variance."""
    mean = x.mean(axes)
    centred = x - mean
    return mean, centred, centred.square().mean(axes)


def last_axes(x: Term, rank: int) -> list[int]:
    """The last `rank` dimensions."""
    count = len(x.shape)
    return list(range(count - rank, count))


def scaled(y: Term, gamma: Term | None, beta: Term | None) -> Term:
    """y gamma + beta of what is given"""
    y = y if gamma is None else y * gamma
    return y if beta is None else y + beta


def standardized(x: Term, rank: int, epsilon: float) -> tuple[Term, Term, Term]:
    """(x - mean) rstd over the last dimensions, mean and rstd."""
    mean, centred, variance = moments(x, last_axes(x, rank))
    rstd = rsqrt(variance, epsilon)
    return centred * rstd, mean, rstd


def rms(x: Term, rank: int, epsilon: float) -> Term:
    """1 / sqrt(mean of x^2 + epsilon) over the last dimensions"""
    return rsqrt(x.square().mean(last_axes(x, rank)), epsilon)


def _layer_norm(build: Builder, op: GeOp, x: Term, gamma: Term, beta: Term) -> list[Term]:
    begin = op.get_attr("begin_norm_axis") % max(len(x.shape), 1)
    rank = len(x.shape) - begin
    mean, centred, variance = moments(x, last_axes(x, rank))
    rstd = rsqrt(variance, op.get_attr("epsilon"))
    y = scaled(centred * rstd, gamma, beta)
    return [y, mean, rstd if op.op_type == "LayerNormV3" else variance]


def _layer_norm_v4(
    build: Builder, op: GeOp, x: Term, shape: Term, gamma: Term | None, beta: Term | None
) -> list[Term]:
    y, mean, rstd = standardized(x, build.count(shape.value), op.get_attr("epsilon"))
    return [scaled(y, gamma, beta), mean, rstd]


def _add_layer_norm(
    build: Builder,
    op: GeOp,
    x1: Term,
    x2: Term,
    gamma: Term,
    beta: Term,
    bias: Term | None,
) -> list[Term]:
    x = x1 + x2 if bias is None else x1 + x2 + bias
    y, mean, rstd = standardized(x, len(gamma.shape), op.get_attr("epsilon"))
    found = [scaled(y, gamma, beta), mean, rstd, x]
    return found[: len(op.results)]


def _row_sums(dy: Term, normal: Term, rank: int) -> tuple[Term, Term]:
    rows = list(range(len(dy.shape) - rank))
    if not rows:
        return dy * normal, dy * 1.0
    return (dy * normal).sum(rows), dy.sum(rows)


def _wide_moment(x: Term, moment: Term, rank: int) -> Term:
    lead = x.shape[: len(x.shape) - rank]
    return moment.reshape([*lead, *([1] * rank)])


def _gradient_epsilon(build: Builder, op: GeOp) -> float:
    half = build.dtype(op.operands[1]) in HALVES
    return 1e-5 if half else 1e-12


def _layer_norm_grad(
    build: Builder, op: GeOp, dy: Term, x: Term, variance: Term, mean: Term, gamma: Term
) -> list[Term]:
    rank = len(gamma.shape)
    axes = last_axes(x, rank)
    rstd = rsqrt(_wide_moment(x, variance, rank), _gradient_epsilon(build, op))
    normal = (x - _wide_moment(x, mean, rank)) * rstd
    g = dy * gamma
    dx = rstd * (g - g.mean(axes) - normal * (g * normal).mean(axes))
    if op.op_type == "LayerNormXBackprop":
        return [dx]
    return [dx, normal] if op.op_type.endswith("V2") else [dx, *_row_sums(dy, normal, rank)]


def _beta_gamma(build: Builder, op: GeOp, dy: Term, normal: Term) -> list[Term]:
    return list(_row_sums(dy, normal, len(op.get_attr("shape_gamma"))))


def _beta_gamma_of_x(
    build: Builder, op: GeOp, dy: Term, x: Term, variance: Term, mean: Term
) -> list[Term]:
    rank = len(op.get_attr("shape_gamma"))
    rstd = rsqrt(_wide_moment(x, variance, rank), _gradient_epsilon(build, op))
    return list(_row_sums(dy, (x - _wide_moment(x, mean, rank)) * rstd, rank))


def _mvn(build: Builder, op: GeOp, x: Term) -> Term:
    _, centred, variance = moments(x, op.get_attr("axes"))
    return centred / (variance.sqrt() + op.get_attr("eps"))


def _rms_norm(build: Builder, op: GeOp, x: Term, gamma: Term) -> list[Term]:
    rstd = rms(x, len(gamma.shape), op.get_attr("epsilon"))
    return [x * rstd * gamma, rstd]


def _rms_norm_grad(
    build: Builder, op: GeOp, dy: Term, x: Term, rstd: Term, gamma: Term
) -> list[Term]:
    rank = len(gamma.shape)
    r = _wide_moment(x, rstd, rank)
    g = dy * gamma
    mean = (g * x).mean(last_axes(x, rank))
    rows = list(range(len(x.shape) - rank))
    dgamma = dy * x * r
    return [r * (g - x * r * r * mean), dgamma.sum(rows) if rows else dgamma]


def _add_rms_norm(build: Builder, op: GeOp, x1: Term, x2: Term, gamma: Term) -> list[Term]:
    x = x1 * op.get_attr("scale") + x2 if op.op_type == "FusedAddRmsNorm" else x1 + x2
    rstd = rms(x, len(gamma.shape), op.get_attr("epsilon"))
    return [x * rstd * gamma, rstd, x]


# Per channel


class _Channels:
    """The dimensions of x around its channels."""

    def __init__(self, x: Term, axis: int) -> None:
        self.axis = axis
        self.rank = len(x.shape)
        self.others = [i for i in range(self.rank) if i != axis]
        self.count = prod(x.shape[i] for i in self.others)

    def along(self, values: Term) -> Term:
        """Numbers per channel, shaped to broadcast."""
        shape = [1] * self.rank
        shape[self.axis] = prod(values.shape)
        return values.reshape(shape)

    def unbias(self) -> float:
        return self.count / (self.count - 1) if self.count > 1 else 0.0


def _by_format(build: Builder, op: GeOp, x: Term, name: str = "x") -> _Channels:
    index = op.prototype.input_index[name]
    return _Channels(x, channel_axis_of(tensor_of(op.operands[index].type), len(x.shape)))


def _batch_norm(
    build: Builder, op: GeOp, x: Term, scale: Term, offset: Term, *rest: Term | None
) -> list[Term]:
    view = _Channels(x, channel_axis(op.get_attr("data_format"), len(x.shape)))
    if not op.get_attr("is_training"):
        return _known_batch_norm(op, view, x, scale, offset, *rest)
    mean, centred, variance = moments(x, view.others)
    rstd = rsqrt(variance, op.get_attr("epsilon"))
    y = centred * (rstd * view.along(scale)) + view.along(offset)
    unbiased = variance * view.unbias()
    if op.op_type == "BatchNorm3D":
        return [y, mean, unbiased, mean, variance]
    factor = op.get_attr("exponential_avg_factor")
    running = [mean * factor, unbiased * factor]
    for i, old in enumerate(rest[:2]):
        if old is not None and factor != 1:
            running[i] = running[i] + view.along(old) * (1 - factor)
    return [y, *running, mean, rstd, view.along(scale).sum([view.axis]) * 0.0]


def _known_batch_norm(
    op: GeOp, view: _Channels, x: Term, scale: Term, offset: Term, *rest: Term | None
) -> list[Term]:
    """With statistics that are given, and given on."""
    mean, variance = rest[:2]
    assert mean is not None
    assert variance is not None
    rstd = rsqrt(view.along(variance), op.get_attr("epsilon"))
    y = (x - view.along(mean)) * (rstd * view.along(scale)) + view.along(offset)
    kept = [y, *(t * 1.0 for t in (mean, variance, mean, variance))]
    if op.op_type == "BatchNorm3D":
        return kept
    return [*kept, view.along(mean).sum([view.axis]) * 0.0]


def _bn_infer(build: Builder, op: GeOp, x: Term, *rest: Term) -> Term:
    view = _by_format(build, op, x)
    scale, offset, mean, variance = (view.along(a) for a in rest)
    return (x - mean) * (rsqrt(variance, op.get_attr("epsilon")) * scale) + offset


def _bn_inference_d(
    build: Builder, op: GeOp, x: Term, mean: Term, variance: Term, *rest: Term | None
) -> Term:
    view = _by_format(build, op, x)
    wide = [None if a is None else view.along(a) for a in rest]
    return scaled((x + view.along(mean)) * view.along(variance), *wide)


def _bn_reduce(build: Builder, op: GeOp, x: Term) -> list[Term]:
    view = _by_format(build, op, x)
    return [x.sum(view.others), x.square().sum(view.others)]


def _updated(view: _Channels, x: Term, given: Sequence[Term], epsilon: float) -> list[Term]:
    """y, mean and variance from sums."""
    total, square, scale, offset = (view.along(a) for a in given)
    mean = total * (1 / view.count)
    variance = square * (1 / view.count) - mean * mean
    rstd = rsqrt(variance, epsilon)
    y = x * (scale * rstd) + (offset - scale * mean * rstd)
    return [y, mean, variance]


def _bn_update(build: Builder, op: GeOp, x: Term, *rest: Term) -> list[Term]:
    view = _by_format(build, op, x)
    y, m, v = _updated(view, x, rest[:4], op.get_attr("epsilon"))
    if op.op_type == "BNTrainingUpdateV2":
        return [y, m, v]
    if op.op_type == "BNTrainingUpdateV3":
        return [y, m, v * view.unbias(), m, v]
    factor = op.get_attr("factor")
    mean, variance = (view.along(a) for a in rest[4:])
    new = mean * (1 - factor) + m * factor
    return [y, new, variance * (1 - factor) + v * (factor * view.unbias()), m, v]


def _bn_infer_grad(build: Builder, op: GeOp, grads: Term, scale: Term, variance: Term) -> Term:
    view = _by_format(build, op, grads, "grads")
    return grads * view.along(scale * rsqrt(variance, op.get_attr("epsilon")))


def _bn_update_grad(
    build: Builder, op: GeOp, grads: Term, x: Term, mean: Term, variance: Term
) -> list[Term]:
    view = _by_format(build, op, x)
    rstd = rsqrt(view.along(variance), op.get_attr("epsilon"))
    normal = (x - view.along(mean)) * rstd
    return [(grads * normal).sum(view.others), grads.sum(view.others)]


def _bn_reduce_grad(build: Builder, op: GeOp, grads: Term, x: Term, *rest: Term) -> Term:
    view = _by_format(build, op, x)
    d_scale, d_offset, scale, mean, variance = (view.along(a) for a in rest)
    rstd = rsqrt(variance, op.get_attr("epsilon"))
    share = 1 / view.count
    inner = grads - d_offset * share - (x - mean) * rstd * d_scale * share
    return scale * rstd * inner


# Per image and group


def _group_norm(build: Builder, op: GeOp, x: Term, *affine: Term | None) -> list[Term]:
    groups = op.get_attr("num_groups")
    eps = op.get_attr("eps")
    images, channels = x.shape[:2]
    flat = x.reshape([images, groups, prod(x.shape) // (images * groups)])
    n, mean, rstd = standardized(flat, 1, eps)
    shape = [1, channels, *([1] * (len(x.shape) - 2))]
    wide = [None if a is None else a.reshape(shape) for a in (*affine, None, None)[:2]]
    y = scaled(n.reshape(x.shape), *wide)
    kind = op.op_type
    if kind == "GroupNormRelu":
        return [y.call("Relu")]
    if kind == "GroupNormSilu" and op.get_attr("activate_silu"):
        y = y * y.sigmoid()
    if kind == "GroupNormSwish" and op.get_attr("activate_swish"):
        y = y * (y * op.get_attr("swish_scale")).sigmoid()
    if kind == "GroupNorm":
        return [y, mean, (flat - mean).square().mean([2])]
    return [y, mean, rstd]


def _instance_norm(build: Builder, op: GeOp, x: Term, gamma: Term, beta: Term) -> list[Term]:
    rank, letters = len(x.shape), op.get_attr("data_format")
    axis = 1 if letters == "ND" else channel_axis(letters, rank)
    view = _Channels(x, axis)
    mean, centred, variance = moments(x, [i for i in range(1, rank) if i != axis])
    rstd = rsqrt(variance, op.get_attr("epsilon"))
    y = centred * (rstd * view.along(gamma)) + view.along(beta)
    return [y, mean, variance]


def _in_reduce(build: Builder, op: GeOp, x: Term) -> list[Term]:
    axes = list(range(2, len(x.shape)))
    return [x.sum(axes), x.square().sum(axes)]


def _in_update(build: Builder, op: GeOp, x: Term, *rest: Term | None) -> list[Term]:
    total, square, gamma, beta, mean, variance = rest
    assert total is not None
    assert square is not None
    count = prod(x.shape[2:])
    m = total * (1 / count)
    v = square * (1 / count) - m * m
    y = (x - m) * rsqrt(v, op.get_attr("epsilon"))
    y = scaled(y, gamma, beta) if gamma is not None and beta is not None else y
    v = v * (count / (count - 1) if count > 1 else 0.0)
    if mean is not None and variance is not None:
        weight = op.get_attr("momentum")
        m = m * weight + mean * (1 - weight)
        v = v * weight + variance * (1 - weight)
    return [y, m, v]


def _in_infer(build: Builder, op: GeOp, x: Term, *rest: Term | None) -> list[Term]:
    gamma, beta, mean, variance = rest
    assert mean is not None
    assert variance is not None
    y = (x - mean) * rsqrt(variance, op.get_attr("epsilon"))
    return [scaled(y, gamma, beta), mean * 1.0, variance * 1.0]


def _l2_normalize(build: Builder, op: GeOp, x: Term) -> Term:
    axes = list(op.get_attr("axis")) or list(range(len(x.shape)))
    square = x.square().sum(axes)
    return x / square.call("Maximum", op.get_attr("eps")).sqrt()


def _normalize(build: Builder, op: GeOp, x: Term, scale: Term) -> Term:
    axes = [1, 2, 3] if op.get_attr("across_spatial") else [1]
    square = x.square().sum(axes)
    wide = scale.reshape([1, prod(scale.shape), 1, 1])
    return x * wide * rsqrt(square, op.get_attr("eps"))


def _lrn(build: Builder, op: GeOp, x: Term) -> Term:
    """x / (bias + alpha sum of x^2 of the channels around)^beta, the sum by a band of ones"""
    import numpy as np

    channels = x.shape[1]
    radius = min(op.get_attr("depth_radius"), channels)
    ramp = np.arange(channels)
    band = (np.abs(ramp[:, None] - ramp) <= radius).astype(np.float32)
    flat = x.square().reshape([x.shape[0], channels, prod(x.shape[2:])])
    total = Term(build, build("BatchMatMulV2", build.array(band[None]), flat.value))
    base = total.reshape(x.shape) * op.get_attr("alpha") + op.get_attr("bias")
    return x * (base.log() * -op.get_attr("beta")).exp()


def _lp_norm(build: Builder, op: GeOp, x: Term) -> Term:
    axes = list(op.get_attr("axes")) or list(range(len(x.shape)))
    p = float(op.get_attr("p"))
    size = x.abs()
    if p == float("inf"):
        y = size.max(axes)
    elif p == 2:
        y = size.square().sum(axes).sqrt()
    elif p == 1:
        y = size.sum(axes)
    else:
        raise build.decline(f"for p = {p}")
    return y.call("Maximum", op.get_attr("epsilon"))


def _blob(call: Callable[[Term, Term, Term | None], Term]) -> Formula:
    def expand(build: Builder, op: GeOp, x: Term, *given: Term | None) -> Term:
        assert isinstance(op, ScaleOp | BiasOp)
        from_blob = op.scale_from_blob if isinstance(op, ScaleOp) else op.bias_from_blob
        wide: list[Any] = []
        for a in given:
            if a is None:
                wide.append(None)
                continue
            shape = op.span(x.shape, a.shape, op.axis, op.num_axes, from_blob)
            wide.append(a.reshape(shape or [1] * len(x.shape)))
        return call(x, *wide)

    return expand


def _dot(build: Builder, op: GeOp, a: Term, b: Term) -> Term:
    return (a * b).sum([0])


def _ger(build: Builder, op: GeOp, a: Term, b: Term) -> Term:
    return a.reshape([prod(a.shape), 1]) * b.reshape([1, prod(b.shape)])


FORMULAS: dict[str, Formula] = {
    "LayerNorm": _layer_norm,
    "LayerNormV3": _layer_norm,
    "LayerNormV4": _layer_norm_v4,
    "AddLayerNorm": _add_layer_norm,
    "InplaceAddLayerNorm": _add_layer_norm,
    "LayerNormXBackprop": _layer_norm_grad,
    "LayerNormXBackpropV2": _layer_norm_grad,
    "LayerNormGrad": _layer_norm_grad,
    "LayerNormBetaGammaBackpropV2": _beta_gamma,
    "LayerNormBetaGammaBackprop": _beta_gamma_of_x,
    "MVNV2": _mvn,
    "RmsNorm": _rms_norm,
    "RmsNormGrad": _rms_norm_grad,
    "AddRmsNorm": _add_rms_norm,
    "InplaceAddRmsNorm": _add_rms_norm,
    "FusedAddRmsNorm": _add_rms_norm,
    "BatchNorm": _batch_norm,
    "BatchNorm3D": _batch_norm,
    "BNInfer": _bn_infer,
    "BNInferenceD": _bn_inference_d,
    "BNTrainingReduce": _bn_reduce,
    "BN3DTrainingReduce": _bn_reduce,
    "BNTrainingUpdate": _bn_update,
    "BN3DTrainingUpdate": _bn_update,
    "BNTrainingUpdateV2": _bn_update,
    "BNTrainingUpdateV3": _bn_update,
    "BNInferGrad": _bn_infer_grad,
    "BNTrainingUpdateGrad": _bn_update_grad,
    "BN3DTrainingUpdateGrad": _bn_update_grad,
    "BNTrainingReduceGrad": _bn_reduce_grad,
    "BN3DTrainingReduceGrad": _bn_reduce_grad,
    **dict.fromkeys(
        ("GroupNorm", "GroupNormRelu", "GroupNormSilu", "GroupNormSwish"),
        _group_norm,
    ),
    "InstanceNorm": _instance_norm,
    "INTrainingReduceV2": _in_reduce,
    "INTrainingUpdateV2": _in_update,
    "INInferV2": _in_infer,
    "L2Normalize": _l2_normalize,
    "Normalize": _normalize,
    "LRN": _lrn,
    "LpNorm": _lp_norm,
    "LpNormV2": _lp_norm,
    "Scale": _blob(lambda x, a, b: x * a if b is None else x * a + b),
    "Bias": _blob(lambda x, a, b=None: x + a),
    "Dot": _dot,
    "Ger": _ger,
}
"""Op type -> its formula."""

EXPANSIONS: dict[str, Expansion] = {name: formula(call) for name, call in FORMULAS.items()}
