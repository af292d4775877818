"""Elementwise maths, extrema, gradients of sums, and statistics as formulas."""

from __future__ import annotations

from collections.abc import Callable
from math import log, pi

from xdsl.ir import SSAValue

from ge_xdsl.dialects.ge.op import GeOp
from ge_xdsl.dialects.ge.reduce import AttributeReduction, OperandReduction, reduced_axes
from ge_xdsl.dialects.ge.types import DataType, numpy_dtype
from ge_xdsl.lowering.expand.builder import Builder, Expansion
from ge_xdsl.lowering.expand.terms import (
    Formula,
    Term,
    binary,
    formula,
    term,
    ternary,
    unary,
    unary_by_three,
)


def _atan2(y: Term, x: Term) -> Term:
    """atan(y / x), plus or minus pi where x is negative; multiples of pi / 2 where x is 0"""
    base = (y / x).call("Atan")
    turned = (y < 0.0).pick(base - pi, base + pi)
    inside = (x < 0.0).pick(turned, base)
    upright = (y > 0.0).pick(y * 0.0 + pi / 2, (y < 0.0).pick(y * 0.0 - pi / 2, y * 0.0))
    return x.same(0.0).pick(upright, inside)


def _sinc(x: Term) -> Term:
    t = x * pi
    return t.same(0.0).pick(t * 0.0 + 1.0, t.call("Sin") / t)


def _mul_no_nan(a: Term, b: Term) -> Term:
    return b.same(0.0).pick(0.0, a * b)


def _xlogy(a: Term, b: Term) -> Term:
    zero = a.same(0.0).both(b.same(b))
    return zero.pick(0.0, a * b.log())


def _xdivy(a: Term, b: Term) -> Term:
    return a.same(0.0).pick(0.0, a / b)


def _nan_to_num(x: Term, nan: float, high: float, low: float) -> Term:
    y = x.call("IsNan").pick(nan, x)
    y = x.call("IsPosInf").pick(high, y)
    return x.call("IsNegInf").pick(low, y)


def _is_close(build: Builder, op: GeOp, a: Term, b: Term) -> Term:
    """|a - b| <= atol + rtol |b| for finite b, or equal"""
    rtol, atol = op.get_attr("rtol"), op.get_attr("atol")
    near = (a - b).abs() <= b.abs() * rtol + atol
    near = near.both(b.call("IsFinite"))
    near = near.call("LogicalOr", a.same(b))
    if op.get_attr("equal_nan"):
        near = near.call("LogicalOr", a.call("IsNan").both(b.call("IsNan")))
    return near


def _mul_add_add(build: Builder, op: GeOp, a: Term, b: Term, c: Term, d: Term) -> Term:
    return a * b + c + d


def _affine(build: Builder, op: GeOp, x: Term) -> Term:
    scale, shift = op.get_attr("scale"), op.get_attr("shift")
    x = x * scale if scale != 1 else x
    return x + shift if shift != 0 else x


def _exp(build: Builder, op: GeOp, x: Term) -> Term:
    base = op.get_attr("base")
    x = _affine(build, op, x)
    return (x if base == -1 else x * log(base)).exp()


def _log(build: Builder, op: GeOp, x: Term) -> Term:
    base = op.get_attr("base")
    y = _affine(build, op, x).log()
    return y if base == -1 else y * (1 / log(base))


def _gelu_v2(build: Builder, op: GeOp, x: Term) -> Term:
    return x.call("Gelu")


def _softmax(build: Builder, op: GeOp, x: Term) -> Term:
    """Over dimensions that are no neighbours, or over one element"""
    axes = list(op.get_attr("axes"))
    below = x - x.max(axes)
    power = below.exp()
    total = power.sum(axes)
    return power / total if op.op_type == "SoftmaxV2" else below - total.log()


def _softmax_grad(build: Builder, op: GeOp, y: Term, grad: Term) -> Term:
    return y * (grad - (y * grad).sum(op.get_attr("axes")))


def _log_softmax_grad(build: Builder, op: GeOp, grad: Term, x: Term) -> Term:
    return grad - x.exp() * grad.sum(op.get_attr("axis"))


def _softmax_grad_ext(build: Builder, op: GeOp, grad: Term, x1: Term, x2: Term) -> Term:
    return (grad - (grad * x1).sum([op.get_attr("axes")])) * x1 * x2


def _confusion_softmax_grad(build: Builder, op: GeOp, grad: Term, x: Term) -> Term:
    return grad - (grad * x).sum([-1])


def _bias_add_grad(build: Builder, op: GeOp, x: Term) -> Term:
    rank = len(x.shape)
    axis = (1 if op.get_attr("data_format").startswith("NC") else -1) % rank
    return x.sum([i for i in range(rank) if i != axis], keep=False)


def _summed(build: Builder, wide: Term, like: Term) -> Term:
    """Sums over the dimensions in which `like` was broadcast"""
    shape, have = wide.shape, like.shape
    lead = len(shape) - len(have)
    axes = [i for i in range(len(shape)) if i < lead or (have[i - lead] == 1 and shape[i] > 1)]
    return wide.sum(axes) if axes else wide


def _extremum(kind: str) -> Formula:
    def expand(build: Builder, op: GeOp, grads: Term, x1: Term, x2: Term) -> list[Term]:
        wins = x1.is_(kind, x2)
        parts = wins.pick(grads, 0.0), wins.pick(0.0, grads)
        return [_summed(build, p, x) for p, x in zip(parts, (x1, x2), strict=True)]

    return expand


def axes_of(build: Builder, op: GeOp) -> list[int]:
    """The dimensions that a reduction goes over."""
    rank = len(build.shape(op.operands[0]))
    if isinstance(op, OperandReduction):
        named = build.known(build.slot("axes"), "axes")
        return list(reduced_axes([int(a) for a in named.reshape(-1)], rank, op.noop()))
    assert isinstance(op, AttributeReduction)
    return list(reduced_axes(op.axes, rank, op.noop()))


def _reduction(call: Callable[[Term, list[int]], Term]) -> Expansion:
    """A reduction by a formula of x and its dimensions."""

    def expand(build: Builder, op: GeOp) -> SSAValue:
        x = term(build, op.operands[0])
        return call(x, axes_of(build, op)).like(op.results[0])

    return expand


def _log_sum_exp(x: Term, axes: list[int]) -> Term:
    top = x.max(axes)
    top = top.call("IsFinite").pick(top, 0.0)
    return (x - top).exp().sum(axes).log() + top


def _axes(op: GeOp, name: str, rank: int) -> list[int]:
    return list(reduced_axes(op.get_attr(name), rank, False))


def _square_sum(build: Builder, op: GeOp, x: Term) -> Term:
    noop = op.get_attr("noop_with_empty_axes")
    axes = list(reduced_axes(op.get_attr("axis"), len(x.shape), noop))
    return x.square().sum(axes) if axes else x.square()


def _square_sum_v2(build: Builder, op: GeOp, x: Term) -> list[Term]:
    return [x.square().sum(_axes(op, "axis", len(x.shape))), x.square()]


def _square_sum_all(build: Builder, op: GeOp, a: Term, b: Term) -> list[Term]:
    return [t.square().sum(range(len(t.shape))) for t in (a, b)]


def _mean_variance(build: Builder, op: GeOp, x: Term) -> list[Term]:
    axes = _axes(op, "axes", len(x.shape))
    return [x.mean(axes), x.square().mean(axes)]


def _spread(less: Callable[[GeOp], int], root: bool) -> Formula:
    """The variance over `dim` with count - less as divisor, or its root; and the mean"""

    def expand(build: Builder, op: GeOp, x: Term) -> list[Term]:
        axes = _axes(op, "dim", len(x.shape))
        count = 1
        for axis in axes:
            count *= x.shape[axis]
        divisor = max(count - less(op), 0)
        if not divisor:
            raise build.decline("for a variance of one element")
        mean = x.mean(axes)
        variance = (x - mean).square().sum(axes) * (1 / divisor)
        return [variance.sqrt() if root else variance, mean]

    return expand


def _eltwise(build: Builder, op: GeOp) -> SSAValue:
    parts = [term(build, v) for v in build.many("x")]
    mode, coefficients = op.get_attr("mode"), op.get_attr("coeff")
    if mode == 1 and coefficients:
        parts = [p * c for p, c in zip(parts, coefficients, strict=True)]
    y = parts[0]
    for part in parts[1:]:
        y = y * part if mode == 0 else y + part if mode == 1 else y.call("Maximum", part)
    return y.like(op.results[0])


def _add_n(build: Builder, op: GeOp) -> SSAValue:
    parts = build.many("x")
    return build("AddN", parts, N=len(parts)) if len(parts) > 1 else build("Identity", parts[0])


def _cast_like(build: Builder, op: GeOp) -> SSAValue:
    x = op.operands[0]
    dtype = build.dtype(op.results[0])
    return build("Cast", x, dst_type=int(dtype))


def _filled(value: float) -> Expansion:
    def expand(build: Builder, op: GeOp) -> SSAValue:
        y = op.results[0]
        number = build.const(value, build.dtype(y))
        return build.spread(number, build.shape(y)) if build.shape(y) else number

    return expand


def _identities(build: Builder, op: GeOp) -> list[SSAValue]:
    return [build("Identity", v) for v in op.operands]


def _scaled_whole(op_type: str) -> Expansion:
    """Muls and Adds of integers: by a constant"""

    def expand(build: Builder, op: GeOp) -> SSAValue:
        value = op.get_attr("value")
        if build.dtype(op.operands[0]) in (DataType.DT_FLOAT, DataType.DT_FLOAT16):
            raise build.decline("with a value that is not finite")
        if value != int(value):
            raise build.decline("for integers with a value that is none")
        return build(op_type, op.operands[0], int(value))

    return expand


def _signbit(build: Builder, op: GeOp) -> SSAValue:
    """x < 0, or 1 / x < 0 for the zero below 0"""
    x = term(build, op.operands[0])
    y = (x < 0.0).call("LogicalOr", x.same(0.0).both(1.0 / x < 0.0))
    return y.like(op.results[0])


def _bool_add(build: Builder, op: GeOp) -> SSAValue:
    if build.dtype(op.operands[0]) != DataType.DT_BOOL:
        raise build.decline(f"for element type {build.dtype(op.operands[0]).name}")
    return build("LogicalOr" if op.op_type == "Add" else "LogicalAnd", *op.operands)


def _logical(build: Builder, op: GeOp) -> SSAValue:
    """And, or of numbers: of whether they are not 0"""
    return build(op.op_type, *(build.cast(v, DataType.DT_BOOL) for v in op.operands))


def _in_f32(build: Builder, op: GeOp) -> SSAValue:
    """A function of integers, computed in f32"""
    dtype = build.dtype(op.operands[0])
    if numpy_dtype(dtype).itemsize > 2:
        raise build.decline(f"for element type {dtype.name}")
    wide = [build.cast(v, DataType.DT_FLOAT) for v in op.operands]
    attrs = {spec: op.get_attr(spec) for spec in op.prototype.attr_by_name}
    return build.cast(build(op.op_type, *wide, **attrs), build.dtype(op.results[0]))


def _whole_test(value: bool) -> Expansion:
    """IsNan and the like of integers"""

    def expand(build: Builder, op: GeOp) -> SSAValue:
        y = op.results[0]
        return build.spread(build.const(value, build.dtype(y)), build.shape(y))

    return expand


def _approximate(build: Builder, op: GeOp) -> SSAValue:
    """|x1 - x2| < tolerance, the difference rounded to the operands' type"""
    difference = build("Abs", build("Sub", *op.operands))
    return build("Less", build.cast(difference, DataType.DT_FLOAT), op.get_attr("tolerance"))


def _same(build: Builder, op: GeOp) -> SSAValue:
    return build("Identity", op.operands[0])


def _squared_difference(build: Builder, op: GeOp) -> SSAValue:
    d = build("Sub", *op.operands)
    return build("Mul", d, d)


def _whole_sum(build: Builder, op: GeOp) -> SSAValue:
    a, b, c = op.operands
    return build("Add", build("Mul", a, b), c)


def _bias_add(build: Builder, op: GeOp) -> SSAValue:
    x, bias = op.operands
    rank = len(build.shape(x))
    axis = 1 if op.get_attr("data_format").startswith("NC") else rank - 1
    shape = [1] * rank
    shape[axis] = build.count(bias)
    return build("Add", x, build.reshape(bias, shape))


FORMULAS: dict[str, Formula] = {
    "Atan2": binary(_atan2),
    "Sinc": unary(_sinc),
    "MulNoNan": binary(_mul_no_nan),
    "Xlogy": binary(_xlogy),
    "Xdivy": binary(_xdivy),
    "NanToNum": unary_by_three(_nan_to_num, "nan", "posinf", "neginf"),
    "IsClose": _is_close,
    "FusedMulAddAdd": _mul_add_add,
    "FusedMulAddN": ternary(lambda a, b, c: a * c + b),
    "ClipByValueV2": ternary(lambda x, a, b: x.call("Minimum", b).call("Maximum", a)),
    "Exp": _exp,
    "Log": _log,
    "GeluV2": _gelu_v2,
    "SoftmaxV2": _softmax,
    "LogSoftmaxV2": _softmax,
    "SoftmaxGrad": _softmax_grad,
    "LogSoftmaxGrad": _log_softmax_grad,
    "SoftmaxGradExt": _softmax_grad_ext,
    "ConfusionSoftmaxGrad": _confusion_softmax_grad,
    "BiasAddGrad": _bias_add_grad,
    "MaximumGrad": _extremum("GreaterEqual"),
    "MinimumGrad": _extremum("LessEqual"),
    "SquareSumV1": _square_sum,
    "SquareSumV2": _square_sum_v2,
    "SquareSumAll": _square_sum_all,
    "ReduceMeanVariance": _mean_variance,
    "ReduceStd": _spread(lambda op: int(op.get_attr("unbiased")), True),
    "ReduceStdV2": _spread(lambda op: op.get_attr("correction"), True),
    "ReduceVar": _spread(lambda op: op.get_attr("correction"), False),
    "L2Loss": unary(lambda x: x.square().sum(range(len(x.shape))) * 0.5),
}
"""Op type -> its formula."""

EXPANSIONS: dict[str, Expansion] = {
    **{name: formula(call) for name, call in FORMULAS.items()},
    "ReduceLogSum": _reduction(lambda x, axes: x.sum(axes).log() if axes else x.log()),
    "ReduceLogSumExp": _reduction(_log_sum_exp),
    "EuclideanNorm": _reduction(lambda x, axes: x.square().sum(axes).sqrt()),
    "EuclideanNormD": _reduction(lambda x, axes: x.square().sum(axes).sqrt()),
    "ReduceMeanWithCast": _reduction(lambda x, axes: x.mean(axes) if axes else x),
    "ApproximateEqual": _approximate,
    "Eltwise": _eltwise,
    "AccumulateNV2": _add_n,
    "CastLike": _cast_like,
    "OnesLike": _filled(1.0),
    "ZerosLike": _filled(0.0),
    "IdentityN": _identities,
    "Muls": _scaled_whole("Mul"),
    "Adds": _scaled_whole("Add"),
    "Signbit": _signbit,
    "Add": _bool_add,
    "Mul": _bool_add,
    "LogicalAnd": _logical,
    "LogicalOr": _logical,
    "LogicalNot": _logical,
    "IsNan": _whole_test(False),
    "IsInf": _whole_test(False),
    "IsFinite": _whole_test(True),
    **dict.fromkeys(("Asin", "Acos", "Tan", "Pow", "Sqrt"), _in_f32),
    **dict.fromkeys(("Floor", "Ceil", "Round", "Rint", "Trunc"), _same),
    "SquaredDifference": _squared_difference,
    "FusedMulAdd": _whole_sum,
    "BiasAdd": _bias_add,
}
