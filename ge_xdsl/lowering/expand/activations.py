"""Activation functions, gated units and their gradients as formulas."""

from __future__ import annotations

from math import pi, sqrt
from typing import Any

from ge_xdsl.dialects.ge.op import GeOp
from ge_xdsl.lowering.expand.builder import Builder, Expansion
from ge_xdsl.lowering.expand.terms import Formula, Term, formula

SELU_ALPHA = 1.6732632423543772
SELU_SCALE = 1.0507009873554805


def _attrs(call: Any, *names: str) -> Formula:
    """A formula of the operands and some attributes by position."""
    return lambda build, op, *terms: call(*terms, *(op.get_attr(name) for name in names))


def gelu_tanh(x: Term) -> Term:
    """x / 2 (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3)))"""
    return x.call("Gelu")


def gelu_erf(x: Term) -> Term:
    return x.call("GeluV2", approximate="none")


def gelu_slope(x: Term) -> Term:
    """The derivative of gelu_tanh."""
    c = sqrt(2 / pi)
    t = ((x + x * x * x * 0.044715) * c).tanh()
    inner = (x * x * (3 * 0.044715) + 1) * c
    return (t + 1) * 0.5 + x * 0.5 * (1 - t * t) * inner


def normal_slope(x: Term) -> Term:
    """F(x) + x f(x), F and f the normal distribution and its density."""
    density = (x * x * -0.5).exp() * (1 / sqrt(2 * pi))
    return ((x * sqrt(0.5)).erf() + 1) * 0.5 + x * density


def sigmoid_slope(x: Term, scale: float = 1.0) -> Term:
    """s (1 + scale x (1 - s)), s = 1 / (1 + exp(-scale x)): the derivative of x s."""
    t = x * scale if scale != 1 else x
    s = t.sigmoid()
    return s * (t * (1 - s) + 1)


def log_sigmoid(x: Term) -> Term:
    return -(-x).call("Softplus")


def _mish_grad(build: Builder, op: GeOp, grad: Term, x: Term, tanhx: Term | None) -> Term:
    t = tanhx or x.call("Softplus").tanh()
    return grad * (t + x * (1 - t * t) * x.sigmoid())


def _elu_grad_v2(build: Builder, op: GeOp, grads: Term, y: Term) -> Term:
    scale, slope, alpha = (op.get_attr(n) for n in ("scale", "input_scale", "alpha"))
    if op.get_attr("is_result"):
        below = grads * (y + alpha * scale) * slope
    else:
        below = grads * (y * slope).exp() * (slope * alpha * scale)
    return (y > 0.0).pick(grads * scale, below)


def _gelu_grad_v2(build: Builder, op: GeOp, dy: Term, x: Term) -> Term:
    return dy * (gelu_slope(x) if op.get_attr("approximate") == "tanh" else normal_slope(x))


def _logit(build: Builder, op: GeOp, x: Term) -> Term:
    eps = op.get_attr("eps")
    z = x if eps < 0 else x.clip(eps, 1 - eps)
    return (z / (1 - z)).log()


def _softplus_v2(build: Builder, op: GeOp, x: Term) -> Term:
    beta = op.get_attr("beta")
    t = x * beta
    return (t > op.get_attr("threshold")).pick(x, t.call("Softplus") * (1 / beta))


def _softplus_v2_grad(build: Builder, op: GeOp, grads: Term, x: Term) -> Term:
    t = x * op.get_attr("beta")
    return (t > op.get_attr("threshold")).pick(grads, grads * t.sigmoid())


def _shrink(build: Builder, op: GeOp, x: Term) -> Term:
    lambd, bias = op.get_attr("lambd"), op.get_attr("bias")
    below = (x < -lambd).pick(x + bias, 0.0)
    return (x > lambd).pick(x - bias, below)


def _soft_shrink(x: Term, lambd: float) -> Term:
    moved = (x > 0.0).pick(x - lambd, x + lambd)
    return (x.abs() > lambd).pick(moved, 0.0)


def _hard_sigmoid_grad(grads: Term, x: Term, alpha: float, beta: float) -> Term:
    linear = x * alpha + beta
    return (linear > 0.0).both(linear < 1.0).pick(grads * alpha, 0.0)


def _hard_swish_grad(grad: Term, x: Term) -> Term:
    middle = grad * (x * (1 / 3) + 0.5)
    return (x < -3.0).pick(0.0, (x > 3.0).pick(grad, middle))


def _hardtanh_grad(y: Term, grad: Term, low: float, high: float) -> Term:
    return (y > low).both(y < high).pick(grad, 0.0)


def _halves(build: Builder, x: Term, axis: int) -> tuple[Term, Term]:
    a, b = build.halves(x.value, axis)
    return Term(build, a), Term(build, b)


def _joined(build: Builder, a: Term, b: Term, axis: int) -> Term:
    rank = len(a.shape)
    return Term(build, build.concat([a.value, b.value], axis % rank))


def _gated(call: Any, backwards: bool = False) -> Formula:
    def expand(build: Builder, op: GeOp, x: Term) -> Term:
        return call(*_halves(build, x, op.get_attr("dim")))

    return expand


def _gated_grad(call: Any) -> Formula:
    def expand(build: Builder, op: GeOp, dy: Term, x: Term) -> Term:
        dim = op.get_attr("dim")
        a, b = call(dy, *_halves(build, x, dim))
        return _joined(build, a, b, dim)

    return expand


def _swiglu_grad(dy: Term, a: Term, b: Term) -> tuple[Term, Term]:
    s = a.sigmoid()
    return dy * b * s * (a * (1 - s) + 1), dy * a * s


def _glu_grad(dy: Term, a: Term, b: Term) -> tuple[Term, Term]:
    s = b.sigmoid()
    return dy * s, dy * a * s * (1 - s)


def _geglu(build: Builder, op: GeOp, x: Term) -> list[Term]:
    a, b = _halves(build, x, op.get_attr("dim"))
    gate, other = (a, b) if op.get_attr("activate_left") else (b, a)
    active = gelu_tanh(gate) if op.get_attr("approximate") else gelu_erf(gate)
    return [other * active, active]


def _geglu_grad(build: Builder, op: GeOp, dy: Term, x: Term, gelu: Term) -> Term:
    dim = op.get_attr("dim")
    left = op.get_attr("activate_left")
    a, b = _halves(build, x, dim)
    gate, other = (a, b) if left else (b, a)
    slope = gelu_slope(gate) if op.get_attr("approximate") else normal_slope(gate)
    parts = (dy * gelu, dy * other * slope)
    first, second = parts[::-1] if left else parts
    return _joined(build, first, second, dim)


def _gelu_mul(build: Builder, op: GeOp, x: Term) -> Term:
    a, b = _halves(build, x, -1)
    tanh = op.get_attr("approximate") != "none"
    return (gelu_tanh(a) if tanh else gelu_erf(a)) * b


def _prelu_grad(build: Builder, op: GeOp, grads: Term, x: Term, weights: Term) -> list[Term]:
    rank = len(x.shape)
    if len(weights.shape) <= 1 and build.count(weights.value) > 1 and rank > 1:
        wide = weights.reshape([build.count(weights.value), *([1] * (rank - 2))])
    elif build.count(weights.value) == 1:
        wide = weights.reshape([1] * max(rank, 1))
    else:
        wide = weights
    dx = (x > 0.0).pick(grads, wide * grads)
    part = (x > 0.0).pick(0.0, x * grads)
    lead = rank - len(wide.shape)
    axes = [i for i in range(rank) if i < lead or wide.shape[i - lead] == 1]
    return [dx, part.sum(axes) if axes else part]


FORMULAS: dict[str, Formula] = {
    "Celu": _attrs(
        lambda x, a1, a2, a3: (x >= 0.0).pick(x * a3, (x * (1 / a2)).expm1() * a1),
        *("alpha1", "alpha2", "alpha3"),
    ),
    "CeluV2": _attrs(lambda x, a: (x >= 0.0).pick(x, (x * (1 / a)).expm1() * a), "alpha"),
    "SwiGlu": _gated(lambda a, b: a * a.sigmoid() * b),
    "GLU": _gated(lambda a, b: a * b.sigmoid()),
    "SwiGluGrad": _gated_grad(_swiglu_grad),
    "GLUGrad": _gated_grad(_glu_grad),
    "GeGluV2": _geglu,
    "GeGluGradV2": _geglu_grad,
    "GeluMul": _gelu_mul,
    "SiluMul": _attrs(lambda x, y: x * x.sigmoid() * y),
    "HardShrink": _attrs(lambda x, n: (x.abs() > n).pick(x, 0.0), "lambd"),
    "SoftShrink": _attrs(_soft_shrink, "lambd"),
    "Shrink": _shrink,
    "Threshold": _attrs(lambda x, n: (x > n).pick(x * 0.0 + 1.0, 0.0), "threshold"),
    "ThresholdV2D": _attrs(lambda x, n, v: (x > n).pick(x, v), "threshold", "value"),
    "ThresholdedRelu": _attrs(lambda x, n: (x > n).pick(x, 0.0), "alpha"),
    "LogSigmoid": _attrs(log_sigmoid),
    "SquaredRelu": _attrs(lambda x: x.call("Relu").square()),
    "HardSwishV2": _attrs(lambda x: x * (x + 3).clip(0, 6) / 6.0),
    "SoftplusV2": _softplus_v2,
    "SoftplusV2Grad": _softplus_v2_grad,
    "Logit": _logit,
    "ReluGrad": _attrs(lambda g, x: (x > 0.0).pick(g, 0.0)),
    "Relu6Grad": _attrs(lambda g, x: (x > 0.0).both(x < 6.0).pick(g, 0.0)),
    "LeakyReluGrad": _attrs(lambda g, x, n: (x > 0.0).pick(g, g * n), "negative_slope"),
    "SoftplusGrad": _attrs(lambda g, x: g * x.sigmoid()),
    "SoftsignGrad": _attrs(lambda g, x: g / (x.abs() + 1).square()),
    "ThresholdGradV2D": _attrs(lambda g, x, n: (x > n).pick(g, 0.0), "threshold"),
    "HardShrinkGrad": _attrs(lambda g, x, n: (x.abs() > n).pick(g, 0.0), "lambd"),
    "SoftShrinkGrad": _attrs(lambda g, x, n: (x.abs() > n).pick(g, 0.0), "lambd"),
    "LogSigmoidGrad": _attrs(lambda g, x: g * (-x).sigmoid()),
    "HardSigmoidGrad": _attrs(_hard_sigmoid_grad, "alpha", "beta"),
    "HardSwishGrad": _attrs(_hard_swish_grad),
    "HardtanhGrad": _attrs(_hardtanh_grad, "min_val", "max_val"),
    "EluGrad": _attrs(lambda g, y: (y > 0.0).pick(g, g * (y + 1))),
    "EluGradV2": _elu_grad_v2,
    "SeluGrad": _attrs(
        lambda g, y: (y > 0.0).pick(g * SELU_SCALE, g * (y + SELU_SCALE * SELU_ALPHA))
    ),
    "SiluGrad": _attrs(lambda dy, x: dy * sigmoid_slope(x)),
    "FastGeluGrad": _attrs(lambda dy, x: dy * sigmoid_slope(x, 1.702)),
    "GeluGradV2": _gelu_grad_v2,
    "GeluGrad": _attrs(lambda dy, x, y: dy * gelu_slope(x)),
    "SwishGrad": _attrs(lambda g, x, y, n: g * sigmoid_slope(x, n), "scale"),
    "MishGrad": _mish_grad,
    "PReluGrad": _prelu_grad,
    "SqrtGrad": _attrs(lambda y, dy: dy * 0.5 / y),
    "RsqrtGrad": _attrs(lambda y, dy: dy * y * y * y * -0.5),
    "ReciprocalGrad": _attrs(lambda y, dy: -dy * y * y),
    "AsinGrad": _attrs(lambda y, dy: dy / (1 - y * y).sqrt()),
    "AcosGrad": _attrs(lambda y, dy: -dy / (1 - y * y).sqrt()),
    "AtanGrad": _attrs(lambda y, dy: dy / (y * y + 1)),
    "AsinhGrad": _attrs(lambda y, dy: dy / y.call("Cosh")),
    "AcoshGrad": _attrs(lambda y, dy: dy / y.call("Sinh")),
    "AbsGrad": _attrs(lambda y, dy: dy * y.call("Sign")),
    "SigmoidGrad": _attrs(lambda y, dy: dy * y * (1 - y)),
    "TanhGrad": _attrs(lambda y, dy: dy * (1 - y * y)),
    "InvGrad": _attrs(lambda x, grad: -grad * x * x),
}
"""Op type -> its formula."""

EXPANSIONS: dict[str, Expansion] = {name: formula(call) for name, call in FORMULAS.items()}
