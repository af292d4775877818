"""Steps of optimisers, gradients of norms, dropout with a given mask, and losses of classes."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.ir import SSAValue

from ge_xdsl.dialects.ge.norm import channel_axis
from ge_xdsl.dialects.ge.norm_gradient import INSTANCE_EPSILON, moment_axes
from ge_xdsl.dialects.ge.op import GeOp
from ge_xdsl.dialects.ge.types import HALVES, DataType
from ge_xdsl.lowering.expand.builder import Builder, Expansion
from ge_xdsl.lowering.expand.losses import log_softmax, reduced
from ge_xdsl.lowering.expand.norms import last_axes, rsqrt
from ge_xdsl.lowering.expand.products import product
from ge_xdsl.lowering.expand.terms import Formula, Term, formula, term

# Optimisers


def number(value: Term, like: Term) -> Term:
    """One number, to broadcast with a term."""
    return value.reshape([1] * max(len(like.shape), 1))


def _momentum(
    build: Builder, op: GeOp, var: Term, accum: Term, lr: Term, grad: Term, momentum: Term
) -> Term:
    rate, weight = number(lr, var), number(momentum, var)
    accum = accum * weight + grad
    if op.get_attr("use_nesterov"):
        return var - grad * rate - accum * weight * rate
    return var - accum * rate


def _keras_momentum(
    build: Builder, op: GeOp, var: Term, accum: Term, lr: Term, grad: Term, momentum: Term
) -> Term:
    rate, weight = number(lr, var), number(momentum, var)
    accum = weight * accum - rate * grad
    if op.get_attr("use_nesterov"):
        return var + weight * accum - rate * grad
    return var + accum


def _fused_momentum(build: Builder, op: GeOp, var: Term, accum: Term, *rest: Term) -> list[Term]:
    lr, x1, momentum, x2, copy = rest
    rate, weight = number(lr, var), number(momentum, var)
    grad = x1 * number(x2, var)
    accum = accum * weight + grad
    step = rate * (grad + weight * accum) if op.get_attr("use_nesterov") else rate * accum
    half = Term(build, build.cast(step.value, DataType.DT_FLOAT16))
    return [var - step, copy - term(build, half.value), accum]


def _adam(build: Builder, op: GeOp, var: Term, m: Term, v: Term, *rest: Term) -> list[Term]:
    """The moments, and the step without their bias"""
    *states, beta1_power, beta2_power, lr, beta1, beta2, epsilon, grad = rest
    one, two = number(beta1, var), number(beta2, var)
    m = m + (1 - one) * (grad - m)
    v = v + (1 - two) * (grad * grad - v)
    rate = number(lr, var) * (1 - number(beta2_power, var)).sqrt() / (1 - number(beta1_power, var))
    nesterov = "use_nesterov" in op.prototype.attr_by_name and op.get_attr("use_nesterov")
    top = m * one + (1 - one) * grad if nesterov else m
    spread = states[0].call("Maximum", v) if states else v
    new = var - rate * top / (number(epsilon, var) + spread.sqrt())
    return [new, m, v] if op.op_type == "ApplyAdamD" else [new]


def _lars(build: Builder, op: GeOp, w: Term, g: Term, *rest: Term) -> Term:
    *squares, weight_decay, learning_rate = rest
    axes = list(range(len(w.shape)))
    sums = squares or [w.square().sum(axes), g.square().sum(axes)]
    weight, grad = (number(t, w).sqrt() for t in sums)
    decay = number(weight_decay, w)
    scale = weight * op.get_attr("hyperpara")
    scale = scale / (decay * weight + grad + op.get_attr("epsilon"))
    if op.get_attr("use_clip"):
        scale = (scale / number(learning_rate, w)).clip(0.0, 1.0)
    return (w * decay + g) * scale


def _assigned(kind: str) -> Expansion:
    """ref = ref kind value"""
    return lambda build, op: build(kind, *op.operands)


def _assign(build: Builder, op: GeOp) -> SSAValue:
    return build("Identity", op.operands[1])


# Gradients of norms


def standard_gradient(
    dy: Term, normal: Term, scale: Term, axes: Sequence[int]
) -> tuple[Term, Term, Term]:
    """(dx, sum of dy n, sum of dy): dx = scale (dy - mean(dy) - n mean(dy n))"""
    share = 1 / max(prod(dy.shape[a] for a in axes), 1)
    products, totals = (dy * normal).sum(axes), dy.sum(axes)
    return scale * (dy - totals * share - normal * (products * share)), products, totals


def _batch_norm_grad(
    build: Builder, op: GeOp, dy: Term, x: Term, scale: Term, mean: Term, spread: Term, *_: object
) -> list[Term]:
    rank = len(x.shape)
    axis = channel_axis(op.get_attr("data_format"), rank)
    along = [x.shape[axis] if i == axis else 1 for i in range(rank)]
    axes = [i for i in range(rank) if i != axis]
    scale, mean, spread = (t.reshape(along) for t in (scale, mean, spread))
    training = op.get_attr("is_training")
    rstd = spread if training else rsqrt(spread, op.get_attr("epsilon"))
    dx, products, totals = standard_gradient(dy, (x - mean) * rstd, scale * rstd, axes)
    dx = dx if training else dy * scale * rstd
    rest = Term(build, build.spread(build.const(0, DataType.DT_FLOAT), along))
    return [dx, products, totals, rest, rest]


def _instance_norm_grad(
    build: Builder, op: GeOp, dy: Term, x: Term, variance: Term, mean: Term, gamma: Term
) -> list[Term]:
    rank = len(x.shape)
    rstd = rsqrt(variance, INSTANCE_EPSILON)
    scale = gamma.reshape([1] * (rank - 1) + [prod(gamma.shape)]) * rstd
    axes = list(range(1, rank - 1))
    dx, products, totals = standard_gradient(dy, (x - mean) * rstd, scale, axes)
    return [dx, products.sum([0]), totals.sum([0])]


def _in_update_grad(
    build: Builder, op: GeOp, dy: Term, x: Term, variance: Term, mean: Term
) -> list[Term]:
    normal = (x - mean) / (variance + INSTANCE_EPSILON).sqrt()
    axes = list(moment_axes(x.shape, variance.shape))
    if not axes:
        return [dy * normal, dy.call("Identity")]
    return [(dy * normal).sum(axes), dy.sum(axes)]


def _in_reduce_grad(build: Builder, op: GeOp, dy: Term, x: Term, *rest: Term) -> Term:
    variance, mean, res_gamma, res_beta, gamma = rest
    rstd = rsqrt(variance, INSTANCE_EPSILON)
    share = 1 / max(prod(x.shape[a] for a in moment_axes(x.shape, variance.shape)), 1)
    normal = (x - mean) * rstd
    return gamma * rstd * (dy - res_beta * share - normal * (res_gamma * share))


def _in_sums(build: Builder, op: GeOp, res_gamma: Term, res_beta: Term) -> list[Term]:
    return [res_gamma.sum([0]), res_beta.sum([0])]


def _in_infer(build: Builder, op: GeOp, x: Term, *rest: Term | None) -> list[Term]:
    gamma, beta, mean, variance, root = rest
    assert mean is not None
    assert variance is not None
    assert root is not None
    y = (x - mean) / root
    y = y if gamma is None else y * gamma
    y = y if beta is None else y + beta
    return [y, mean.call("Identity"), variance.call("Identity")]


def _batch_norm_v3(
    build: Builder, op: GeOp, x: Term, weight: Term, bias: Term, *running: Term
) -> list[Term]:
    rank, channels = len(x.shape), x.shape[1]
    axes = [0, *range(2, rank)]
    weight, bias, mean, variance = (
        t.reshape([channels if i == 1 else 1 for i in range(rank)])
        for t in (weight, bias, *running)
    )
    m, v = mean, variance
    if op.get_attr("is_training"):
        count = prod(x.shape[i] for i in axes)
        if count == 1:
            raise build.decline("for a variance of one element")
        m = x.mean(axes)
        v = (x - m).square().mean(axes)
        by = op.get_attr("momentum")
        mean = mean * (1 - by) + m * by
        variance = variance * (1 - by) + v * (count / (count - 1)) * by
    rstd = rsqrt(v, op.get_attr("epsilon"))
    y = (x - m) * (rstd * weight) + bias
    return [y, *(t.call("Identity") for t in (mean, variance, m)), rstd]


def _bn_inference(
    build: Builder,
    op: GeOp,
    x: Term,
    mean: Term,
    variance: Term,
    momentum: Term,
    *rest: Term | None,
) -> Term:
    rank, channels = len(x.shape), x.shape[1]
    along = [channels if i == 1 else 1 for i in range(rank)]
    weight = number(momentum, x)
    s = weight.same(0.0).pick(0.0, 1 / weight)
    scale, offset = (None if t is None else t.reshape(along) for t in rest)
    rstd = rsqrt(variance.reshape(along) * s, op.get_attr("epsilon"))
    y = (x - mean.reshape(along) * s) * (rstd if scale is None else rstd * scale)
    return y if offset is None else y + offset


def _ln_dropout_grad(
    build: Builder, op: GeOp, dy: Term, x: Term, variance: Term, mean: Term, gamma: Term, mask: Term
) -> list[Term]:
    rank = len(gamma.shape)
    axes, lead = last_axes(x, rank), [*x.shape[: len(x.shape) - rank], *([1] * rank)]
    half = build.dtype(op.operands[1]) in HALVES
    rstd = rsqrt(variance.reshape(lead), 1e-5 if half else 1e-12)
    normal = (x - mean.reshape(lead)) * rstd
    g = dy * gamma
    dx = rstd * (g - g.mean(axes) - normal * (g * normal).mean(axes))
    dtype = build.dtype(op.results[0])
    rounded = term(build, build.cast(dx.value, dtype))
    kept = shown(mask, x).pick(rounded / op.get_attr("keep_prob"), 0.0)
    rows = list(range(len(x.shape) - rank))
    products = dy * normal
    sums = [products.sum(rows), dy.sum(rows)] if rows else [products, dy.call("Identity")]
    return [Term(build, build.cast(dx.value, dtype)), kept, *sums]


def _confusion_mul_grad(build: Builder, op: GeOp, a: Term, b: Term, c: Term) -> list[Term]:
    axes = list(op.get_attr("axes")) or list(range(len(a.shape)))
    return [a * b, (b * c).sum(axes)]


# Dropout


def shown(mask: Term, x: Term) -> Term:
    """Whether the byte of the mask is not 0, for each element of x."""
    build, count = x.build, prod(x.shape)
    flat = build.reshape(mask.value, [build.count(mask.value)])
    bytes_ = build.reshape(build.slice(flat, 0, 0, count), x.shape)
    return Term(build, build.cast(bytes_, DataType.DT_BOOL))


def _kept(x: Term, mask: Term, keep_prob: float) -> Term:
    if keep_prob == 0:
        return x * 0.0
    return shown(mask, x).pick(x / keep_prob, 0.0)


def _dropout_v3(build: Builder, op: GeOp, x: Term, mask: Term, keep_prob: Term) -> Term:
    rate = number(keep_prob, x)
    none = rate.same(0.0)
    return shown(mask, x).pick(none.pick(0.0, x / none.pick(1.0, rate)), 0.0)


def _dropout_v3d(build: Builder, op: GeOp, x: Term, mask: Term) -> Term:
    return _kept(x, mask, op.get_attr("keep_prob"))


def _softmax_dropout(build: Builder, op: GeOp, x: Term, mask: Term) -> list[Term]:
    y = x.call("SoftmaxV2", axes=list(op.get_attr("axes")))
    return [y, _kept(y, mask, op.get_attr("keep_prob"))]


def _axpy_softmax_dropout(build: Builder, op: GeOp, x1: Term, x2: Term, mask: Term) -> list[Term]:
    y = (x1 + x2 * op.get_attr("alpha")).call("SoftmaxV2", axes=list(op.get_attr("axis")))
    return [y, _kept(y, mask, op.get_attr("input_keep_prob"))]


def _masked_scale(build: Builder, op: GeOp, x: Term, mask: Term) -> Term:
    factor = Term(build, build.cast(mask.value, DataType.DT_FLOAT))
    return x * factor * op.get_attr("value")


def _position_softmax(build: Builder, op: GeOp, x: Term, mask: Term | None, bias: Term) -> Term:
    """Softmax of x scale + bias + mask; the windows are dimensions of their own"""
    shape = x.shape
    t = x * op.get_attr("scale_value") + bias.reshape([1] * (len(shape) - 3) + [*shape[-3:]])
    if mask is not None:
        count = prod(mask.shape[:-2])
        windows = t.reshape([prod(shape[:-3]) // count, count, *shape[-3:]])
        t = (windows + mask.reshape([1, count, 1, *shape[-2:]])).reshape(shape)
    return t.call("SoftmaxV2", axes=[-1])


def _same(build: Builder, op: GeOp) -> SSAValue:
    return build("Identity", op.operands[0])


# Losses of classes


def _class_losses(
    build: Builder, op: GeOp, x: Term, target: SSAValue, weight: Term | None
) -> tuple[Term, Term]:
    """-weight[t] x[n, t, ...] and weight[t], both 0 where t is ignored; classes in dimension 1.

    One element of x is gathered for each label.
    """
    x = x if len(x.shape) > 1 else x.reshape([1, *x.shape])
    (lead, classes), tail = x.shape[:2], prod(x.shape[2:])
    labels = build.reshape(build.cast(target, DataType.DT_INT32), [lead, tail])
    used = Term(build, build("NotEqual", labels, op.get_attr("ignore_index")))
    labels = build("SelectV2", used.value, labels, build.const(0, DataType.DT_INT32))
    starts = build.const(
        [[n * classes * tail + k for k in range(tail)] for n in range(lead)], DataType.DT_INT32
    )
    place = build("Add", build("Mul", labels, tail) if tail > 1 else labels, starts)
    count = lead * tail
    flat = build.reshape(x.value, [prod(x.shape), 1])
    picked = build("GatherV2", flat, build.reshape(place, [count]), [0])
    shape = build.shape(target)
    column = used.reshape([count, 1])
    if weight is None:
        each = Term(build, build.const([[1.0]], DataType.DT_FLOAT))
    else:
        table = build.reshape(weight.value, [classes, 1])
        each = Term(build, build("GatherV2", table, build.reshape(labels, [count]), [0]))
    weights = column.pick(each, 0.0)
    loss = -(weights * Term(build, picked))
    return column.pick(loss, 0.0).reshape(shape), weights.reshape(shape)


def _class_mean(loss: Term, weights: Term, how: str) -> Term:
    axes = list(range(len(loss.shape)))
    if how == "mean":
        return loss.sum(axes) / weights.sum(axes)
    return reduced(loss.build, loss, how)


def _nll_loss(build: Builder, op: GeOp, x: Term, target: Term, weight: Term | None) -> list[Term]:
    loss, weights = _class_losses(build, op, x, target.value, weight)
    total = weights.sum(list(range(len(weights.shape))))
    return [_class_mean(loss, weights, op.get_attr("reduction")), total]


def _softmax_loss(
    build: Builder, op: GeOp, scores: Term, labels: Term, weight: Term | None
) -> list[Term]:
    logs = log_softmax(scores, 1)
    loss, weights = _class_losses(build, op, logs, labels.value, weight)
    return [_class_mean(loss, weights, op.get_attr("reduction")), logs]


# Attention


def attention_weights(build: Builder, op: GeOp) -> list[SSAValue]:
    """x^T times each gradient, and the gradients' column sums"""
    x = op.operands[0]
    found: list[SSAValue] = []
    sums: list[SSAValue] = []
    for k, name in enumerate(("query_dx", "key_dw", "value_dw")):
        grad = build.slot(name)
        if grad is None:
            for store, result in ((found, op.results[k]), (sums, op.results[k + 3])):
                zero = build.const(0, build.dtype(result))
                store.append(build.spread(zero, build.shape(result)))
            continue
        found.append(build.like(product(build, x, grad, True), op.results[k]))
        sums.append(term(build, grad).sum([0]).like(op.results[k + 3]))
    return [*found, *sums]


def attention_inputs(build: Builder, op: GeOp) -> SSAValue:
    """The sum of each gradient times its transposed kernel"""
    names = (("query_dx", "kernel_query"), ("key_dw", "kernel_key"), ("value_dw", "kernel_value"))
    total: Term | None = None
    for left, right in names:
        grad, kernel = build.slot(left), build.slot(right)
        assert grad is not None
        assert kernel is not None
        y = Term(build, product(build, grad, kernel, False, True))
        total = y if total is None else total + y
    assert total is not None
    first = build.slot("ln_dx")
    return (total if first is None else total + term(build, first)).like(op.results[0])


FORMULAS: dict[str, Formula] = {
    "ApplyMomentum": _momentum,
    "ApplyKerasMomentum": _keras_momentum,
    "FusedMulApplyMomentumExtern": _fused_momentum,
    **dict.fromkeys(("ApplyAdam", "ApplyAdamD", "ApplyAdamWithAmsgrad"), _adam),
    **dict.fromkeys(("LarsV2", "LarsV2Update"), _lars),
    **dict.fromkeys(("BatchNormGrad", "BatchNorm3DGrad"), _batch_norm_grad),
    "InstanceNormGrad": _instance_norm_grad,
    "INTrainingUpdateGrad": _in_update_grad,
    "INTrainingReduceGrad": _in_reduce_grad,
    "INTrainingUpdateGradGammaBeta": _in_sums,
    "INInferV2D": _in_infer,
    "BatchNormV3": _batch_norm_v3,
    "BNInference": _bn_inference,
    "LNDropoutGrad": _ln_dropout_grad,
    "ConfusionMulGrad": _confusion_mul_grad,
    "DropOutDoMaskV3": _dropout_v3,
    "DropOutDoMaskV3D": _dropout_v3d,
    "SoftmaxV2WithDropOutDoMaskV3D": _softmax_dropout,
    "AxpyWithSoftmaxAndDropOutDoMask": _axpy_softmax_dropout,
    "MaskedScale": _masked_scale,
    "MaskedSoftmaxWithRelPosBias": _position_softmax,
    "NLLLoss": _nll_loss,
    "SoftmaxCrossEntropyLoss": _softmax_loss,
}
"""Op type -> its formula."""

EXPANSIONS: dict[str, Expansion] = {
    **{name: formula(call) for name, call in FORMULAS.items()},
    "Assign": _assign,
    "AssignAdd": _assigned("Add"),
    "AssignSub": _assigned("Sub"),
    "Dropout": _same,
    "AttentionQKVGradW": attention_weights,
    "AttentionQKVGradX": attention_inputs,
}
