"""Losses and masked softmax as formulas."""

from __future__ import annotations

from collections.abc import Callable
from math import log, pi

from xdsl.ir import SSAValue

from ge_xdsl.dialects.ge.op import GeOp
from ge_xdsl.dialects.ge.types import DataType
from ge_xdsl.lowering.expand.builder import Builder, Expansion
from ge_xdsl.lowering.expand.terms import Formula, Term, formula

LOWEST_LOG = -100.0
"""What BinaryCrossEntropy cuts logarithms at."""


def reduced(build: Builder, loss: Term, how: str) -> Term:
    """The losses, their sum, mean, or their sum over the batch."""
    axes = list(range(len(loss.shape)))
    if how == "none" or not axes:
        return loss
    if how == "batchmean":
        return loss.sum(axes) * (1 / loss.shape[0])
    return loss.sum(axes) if how == "sum" else loss.mean(axes)


def _how(op: GeOp) -> str:
    """The `reduction` of an op, none where it has no such attribute."""
    return op.get_attr("reduction") if "reduction" in op.prototype.attr_by_name else "none"


def _pair(call: Callable[[GeOp, Term, Term], Term]) -> Formula:
    """A loss of the op and two operands, reduced as the op says."""

    def expand(build: Builder, op: GeOp, a: Term, b: Term) -> Term:
        return reduced(build, call(op, a, b), _how(op))

    return expand


def softplus(x: Term) -> Term:
    return x.call("Softplus")


def _sigmoid_v2(
    build: Builder, op: GeOp, x: Term, t: Term, weight: Term | None, positive: Term | None
) -> Term:
    tail = softplus(-x)
    tail = tail if positive is None else ((positive - 1) * t + 1) * tail
    loss = (1 - t) * x + tail
    return reduced(build, loss if weight is None else loss * weight, _how(op))


def _smooth_l1(op: GeOp, a: Term, b: Term) -> Term:
    sigma = op.get_attr("sigma")
    size = (a - b).abs()
    if sigma == 0:
        return size
    return (size < sigma).pick(size * size * (0.5 / sigma), size - 0.5 * sigma)


def _binary(build: Builder, op: GeOp, x: Term, y: Term, weight: Term | None) -> Term:
    ones, zeros = (p.log().call("Maximum", LOWEST_LOG) for p in (x, 1 - x))
    loss = -(y * ones + (1 - y) * zeros)
    return reduced(build, loss if weight is None else loss * weight, _how(op))


def _divergence(op: GeOp, x: Term, target: Term) -> Term:
    if "log_target" in op.prototype.attr_by_name and op.get_attr("log_target"):
        return target.exp() * (target - x)
    safe = (target > 0.0).pick(target, 1.0)
    return (target > 0.0).pick(target * (safe.log() - x), 0.0)


def _poisson(op: GeOp, x: Term, target: Term) -> Term:
    if op.get_attr("log_input"):
        loss = x.exp() - target * x
    else:
        loss = x - target * (x + op.get_attr("eps")).log()
    if not op.get_attr("full"):
        return loss
    safe = (target > 1.0).pick(target, 1.0)
    stirling = safe * safe.log() - safe + (safe.log() + log(2 * pi)) * 0.5
    return loss + (target > 1.0).pick(stirling, 0.0)


def log_softmax(x: Term, axis: int) -> Term:
    """x - max - log(sum(exp(x - max)))"""
    return x.call("LogSoftmaxV2", axes=[axis])


def _softmax_cross_entropy(build: Builder, op: GeOp, x: Term, labels: Term) -> list[Term]:
    logs = log_softmax(x, 1)
    return [-((labels * logs).sum([1])), logs.exp() - labels]


def _hot(build: Builder, labels: SSAValue, count: int) -> SSAValue:
    """[N] labels -> [N, count] f32: 1 at the label"""
    number = build.count(labels)
    shape = [number, count]
    ramp = build.spread(build.const([list(range(count))], build.dtype(labels)), shape)
    wide = build.spread(build.reshape(labels, [number, 1]), shape)
    return build.cast(build("Equal", wide, ramp), DataType.DT_FLOAT)


def sparse_cross_entropy(build: Builder, op: GeOp) -> list[SSAValue]:
    x, labels = op.operands
    logs = log_softmax(Term(build, build.wide(x)), 1)
    hot = Term(build, _hot(build, labels, build.shape(x)[1]))
    found = [-((logs * hot).sum([1])), logs.exp() - hot]
    return [t.like(r) for t, r in zip(found, op.results, strict=True)]


# Codes, masks


def _fake_quant(build: Builder, op: GeOp, x: Term) -> Term:
    low, high, bits = (op.get_attr(n) for n in ("min", "max", "num_bits"))
    first = 1 if op.get_attr("narrow_range") else 0
    last = 2**bits - 1
    step = (high - low) / (last - first)
    zero = first - low / step
    place = min(max(round(zero), first), last)
    clipped = x.clip((first - place) * step, (last - place) * step)
    offset = (first - place) * step
    codes = ((clipped - offset) * (1 / step) + 0.5).call("Floor")
    return codes * step + offset


def _scaled_masked_softmax(build: Builder, op: GeOp, x: Term, mask: Term | None) -> Term:
    if "fixed_triu_mask" in op.prototype.attr_by_name and op.get_attr("fixed_triu_mask"):
        raise build.decline("with fixed_triu_mask")
    y = x * op.get_attr("scale")
    if mask is not None:
        hidden = Term(build, build.spread(mask.value, x.shape))
        y = hidden.pick(-10000.0, y)
    return y.call("SoftmaxV2", axes=[-1])


FORMULAS: dict[str, Formula] = {
    "SigmoidCrossEntropyWithLogits": _pair(lambda op, x, t: softplus(x) - x * t),
    "SigmoidCrossEntropyWithLogitsV2": _sigmoid_v2,
    "SmoothL1Loss": _pair(_smooth_l1),
    "SmoothL1LossV2": _pair(_smooth_l1),
    "MseLoss": _pair(lambda op, a, b: (a - b).square()),
    "LpLoss": _pair(lambda op, a, b: (a - b).abs()),
    "SoftMarginLoss": _pair(lambda op, x, y: softplus(-(x * y))),
    "BinaryCrossEntropy": _binary,
    "KLDivV2": _pair(_divergence),
    "KLDiv": _pair(_divergence),
    "PoissonNllLoss": _pair(_poisson),
    "SoftmaxCrossEntropyWithLogits": _softmax_cross_entropy,
    "FakeQuantWithMinMaxArgs": _fake_quant,
    "ScaledMaskedSoftmax": _scaled_masked_softmax,
}
"""Op type -> its formula."""

EXPANSIONS: dict[str, Expansion] = {
    **{name: formula(call) for name, call in FORMULAS.items()},
    "SparseSoftmaxCrossEntropyWithLogits": sparse_cross_entropy,
}
