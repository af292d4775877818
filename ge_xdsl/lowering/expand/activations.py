"""Activation functions, gated units and their gradients as formulas."""

from __future__ import annotations

from collections.abc import Callable
from math import pi, sqrt

from ge_xdsl.dialects.ge.op import GeOp
from ge_xdsl.lowering.expand.builder import Builder, Expansion
from ge_xdsl.lowering.expand.terms import (
    Formula,
    Term,
    binary,
    binary_by,
    binary_by_two,
    formula,
    term,
    ternary,
    unary,
    unary_by,
    unary_by_three,
    unary_by_two,
)

SELU_ALPHA = 1.6732632423543772
SELU_SCALE = 1.0507009873554805


def gelu_tanh(x: Term) -> Term:
    """x / 2 (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3)))"""
    return x.call("Gelu")


def gelu_erf(x: Term) -> Term:
    return x.call("GeluV2", approximate="none")


def gelu_slope(x: Term) -> Term:
    """The derivative of gelu_tanh, with s = (1 + tanh u) / 2 = 1 / (1 + exp(-2 u))."""
    c = sqrt(2 / pi)
    s = ((x + x * x * x * 0.044715) * (2 * c)).sigmoid()
    inner = (x * x * (3 * 0.044715) + 1) * c
    return s + x * s * (1 - s) * inner * 2.0


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


def _swish_grad(build: Builder, op: GeOp, grad: Term, x: Term, y: Term | None) -> Term:
    return grad * sigmoid_slope(x, op.get_attr("scale"))


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
    lambd, bias = max(op.get_attr("lambd"), 0.0), op.get_attr("bias")
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
    # cast after the cut, so that one kernel reads both halves where they are
    a, b = build.halves(build.narrow(x.value), axis)
    return term(build, a), term(build, b)


def _joined(build: Builder, a: Term, b: Term, axis: int) -> Term:
    rank = len(a.shape)
    return Term(build, build.concat([a.value, b.value], axis % rank))


def _gated(call: Callable[[Term, Term], Term]) -> Formula:
    def expand(build: Builder, op: GeOp, x: Term) -> Term:
        return call(*_halves(build, x, op.get_attr("dim")))

    return expand


def _gated_grad(call: Callable[[Term, Term, Term], tuple[Term, Term]]) -> Formula:
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
    "Celu": unary_by_three(
        lambda x, a1, a2, a3: (x >= 0.0).pick(x * a3, (x * (1 / a2)).expm1() * a1),
        "alpha1",
        "alpha2",
        "alpha3",
    ),
    "CeluV2": unary_by(lambda x, a: (x >= 0.0).pick(x, (x * (1 / a)).expm1() * a), "alpha"),
    "SwiGlu": _gated(lambda a, b: a * a.sigmoid() * b),
    "GLU": _gated(lambda a, b: a * b.sigmoid()),
    "SwiGluGrad": _gated_grad(_swiglu_grad),
    "GLUGrad": _gated_grad(_glu_grad),
    "GeGluV2": _geglu,
    "GeGluGradV2": _geglu_grad,
    "GeluMul": _gelu_mul,
    "SiluMul": binary(lambda x, y: x * x.sigmoid() * y),
    "HardShrink": unary_by(lambda x, n: (x.abs() > n).pick(x, 0.0), "lambd"),
    "SoftShrink": unary_by(_soft_shrink, "lambd"),
    "Shrink": _shrink,
    "Threshold": unary_by(lambda x, n: (x > n).pick(x * 0.0 + 1.0, 0.0), "threshold"),
    "ThresholdV2D": unary_by_two(lambda x, n, v: (x > n).pick(x, v), "threshold", "value"),
    "ThresholdedRelu": unary_by(lambda x, n: (x > n).pick(x, 0.0), "alpha"),
    "LogSigmoid": unary(log_sigmoid),
    "SquaredRelu": unary(lambda x: x.call("Relu").square()),
    "HardSwishV2": unary(lambda x: x * (x + 3).clip(0, 6) / 6.0),
    "SoftplusV2": _softplus_v2,
    "SoftplusV2Grad": _softplus_v2_grad,
    "Logit": _logit,
    "ReluGrad": binary(lambda g, x: (x > 0.0).pick(g, 0.0)),
    "Relu6Grad": binary(lambda g, x: (x > 0.0).both(x < 6.0).pick(g, 0.0)),
    "LeakyReluGrad": binary_by(lambda g, x, n: (x > 0.0).pick(g, g * n), "negative_slope"),
    "SoftplusGrad": binary(lambda g, x: g * x.sigmoid()),
    "SoftsignGrad": binary(lambda g, x: g / (x.abs() + 1).square()),
    "ThresholdGradV2D": binary_by(lambda g, x, n: (x > n).pick(g, 0.0), "threshold"),
    "HardShrinkGrad": binary_by(lambda g, x, n: (x.abs() > n).pick(g, 0.0), "lambd"),
    "SoftShrinkGrad": binary_by(lambda g, x, n: (x.abs() > n).pick(g, 0.0), "lambd"),
    "LogSigmoidGrad": binary(lambda g, x: g * (-x).sigmoid()),
    "HardSigmoidGrad": binary_by_two(_hard_sigmoid_grad, "alpha", "beta"),
    "HardSwishGrad": binary(_hard_swish_grad),
    "HardtanhGrad": binary_by_two(_hardtanh_grad, "min_val", "max_val"),
    "EluGrad": binary(lambda g, y: (y > 0.0).pick(g, g * (y + 1))),
    "EluGradV2": _elu_grad_v2,
    "SeluGrad": binary(
        lambda g, y: (y > 0.0).pick(g * SELU_SCALE, g * (y + SELU_SCALE * SELU_ALPHA))
    ),
    "SiluGrad": binary(lambda dy, x: dy * sigmoid_slope(x)),
    "FastGeluGrad": binary(lambda dy, x: dy * sigmoid_slope(x, 1.702)),
    "GeluGradV2": _gelu_grad_v2,
    "GeluGrad": ternary(lambda dy, x, y: dy * gelu_slope(x)),
    "SwishGrad": _swish_grad,
    "MishGrad": _mish_grad,
    "PReluGrad": _prelu_grad,
    "SqrtGrad": binary(lambda y, dy: dy * 0.5 / y),
    "RsqrtGrad": binary(lambda y, dy: dy * y * y * y * -0.5),
    "ReciprocalGrad": binary(lambda y, dy: -dy * y * y),
    "AsinGrad": binary(lambda y, dy: dy / (1 - y * y).sqrt()),
    "AcosGrad": binary(lambda y, dy: -dy / (1 - y * y).sqrt()),
    "AtanGrad": binary(lambda y, dy: dy / (y * y + 1)),
    "AsinhGrad": binary(lambda y, dy: dy / y.call("Cosh")),
    "AcoshGrad": binary(lambda y, dy: dy / y.call("Sinh")),
    "AbsGrad": binary(lambda y, dy: dy * y.call("Sign")),
    "SigmoidGrad": binary(lambda y, dy: dy * y * (1 - y)),
    "TanhGrad": binary(lambda y, dy: dy * (1 - y * y)),
    "InvGrad": binary(lambda x, grad: -grad * x * x),
}
"""Op type -> its formula."""

EXPANSIONS: dict[str, Expansion] = {name: formula(call) for name, call in FORMULAS.items()}
