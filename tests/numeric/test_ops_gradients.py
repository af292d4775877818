"""Gradients against difference quotients of the forward formula, in f64."""

from functools import partial

import numpy as np
import pytest
from op_runs import run
from op_witness import BF16, F16, F32, F64, assert_close, sample

FLOATS = (F32, F16, BF16)
S, A = 1.0507009873554805, 1.6732632423543772


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def erf(x):
    from math import erf as scalar

    return np.vectorize(scalar, otypes=[np.float64])(x)


def gelu(x):
    return x / 2 * (1 + erf(x / np.sqrt(2)))


def gelu_tanh(x):
    return x / 2 * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))


def elu(x, alpha=1.0, scale=1.0, inner=1.0):
    return np.where(x > 0, scale * x, scale * alpha * np.expm1(inner * x))


def slope(f, x):
    step = 1e-6
    return (f(x + step) - f(x - step)) / (2 * step)


OF_RESULT = {
    "SqrtGrad": (np.sqrt, "positive"),
    "RsqrtGrad": (lambda x: 1 / np.sqrt(x), "positive"),
    "ReciprocalGrad": (lambda x: 1 / x, "nonzero"),
    "AsinhGrad": (np.arcsinh, "any"),
    "AcoshGrad": (np.arccosh, "above"),
    "SigmoidGrad": (sigmoid, "any"),
    "TanhGrad": (np.tanh, "any"),
}
"""op(y, dy) -> (function, kind of x): y is the function's result."""
OF_OPERAND = {
    "AsinGrad": (np.arcsin, "unit"),
    "AcosGrad": (np.arccos, "unit"),
    "AtanGrad": (np.arctan, "any"),
    "AbsGrad": (np.abs, "nonzero"),
}
"""op(y, dy): y is the function's operand."""
OF_FEATURES = {
    "ReluGrad": (lambda x: np.maximum(x, 0), {}),
    "Relu6Grad": (lambda x: np.clip(x, 0, 6), {}),
    "LeakyReluGrad": (lambda x: np.where(x > 0, x, 0.3 * x), {"negative_slope": 0.3}),
    "SoftplusGrad": (lambda x: np.logaddexp(x, 0), {}),
    "SoftplusV2Grad": (lambda x: np.logaddexp(2 * x, 0) / 2, {"beta": 2.0}),
    "SoftsignGrad": (lambda x: x / (1 + np.abs(x)), {}),
    "LogSigmoidGrad": (lambda x: -np.logaddexp(-x, 0), {}),
    "HardSigmoidGrad": (lambda x: np.clip(0.2 * x + 0.5, 0, 1), {"alpha": 0.2}),
    "HardShrinkGrad": (lambda x: np.where(np.abs(x) > 0.7, x, 0), {"lambd": 0.7}),
    "SoftShrinkGrad": (lambda x: np.sign(x) * np.maximum(np.abs(x) - 0.7, 0), {"lambd": 0.7}),
    "ThresholdGradV2D": (lambda x: np.where(x > 0.7, x, 9), {"threshold": 0.7}),
    "SiluGrad": (lambda x: x * sigmoid(x), {}),
    "FastGeluGrad": (lambda x: x * sigmoid(1.702 * x), {}),
    "GeluGradV2": (gelu, {}),
    "HardSwishGrad": (lambda x: x * np.clip(x + 3, 0, 6) / 6, {}),
    "EluGradV2": (
        lambda x: elu(x, 0.5, 2.0, 0.7),
        {"alpha": 0.5, "scale": 2.0, "input_scale": 0.7},
    ),
    "MishGrad": (lambda x: x * np.tanh(np.logaddexp(x, 0)), {}),
}
"""op(dy, x) -> (function, attributes)."""


def pair(kind, dtype):
    x = sample(kind, (3, 17), dtype)
    return x, sample("any", (3, 17), dtype, 1)


def check(found, expected, dtype, scale=8):
    assert_close(found, np.asarray(expected).astype(dtype), scale=scale)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("op", OF_RESULT)
def test_of_the_result(op, dtype):
    f, kind = OF_RESULT[op]
    x, dy = pair(kind, F64)
    y, dy = f(x).astype(dtype), dy.astype(dtype)
    found = run(op, y, dy)[0]
    # The derivative as a function of the rounded y: x is what the inverse of f gives for it.
    inverse = {  # infinite where a half float rounded the result to its limit
        "SqrtGrad": lambda y: y**2,
        "RsqrtGrad": lambda y: y**-2.0,
        "ReciprocalGrad": lambda y: 1 / y,
        "AsinhGrad": np.sinh,
        "AcoshGrad": np.cosh,
        "SigmoidGrad": lambda y: np.log(y / (1 - y)),
        "TanhGrad": np.arctanh,
    }[op]
    with np.errstate(divide="ignore"):
        inverse = inverse(y.astype(np.float64))
    inside = np.isfinite(inverse)
    wanted = np.where(inside, slope(f, np.where(inside, inverse, 1)), 0) * dy.astype(np.float64)
    np.testing.assert_allclose(
        found.astype(np.float64), wanted, rtol=2e-3 if dtype == F32 else 2e-2, atol=1e-3
    )


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("op", OF_OPERAND)
def test_of_the_operand(op, dtype):
    f, kind = OF_OPERAND[op]
    x, dy = pair(kind, dtype)
    x = (x.astype(F32) * 0.95).astype(dtype) if kind == "unit" else x
    found = run(op, x, dy)[0]
    wanted = slope(f, x.astype(np.float64)) * dy.astype(np.float64)
    np.testing.assert_allclose(found.astype(np.float64), wanted, rtol=2e-2, atol=2e-2)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("op", OF_FEATURES)
def test_of_features(op, dtype):
    f, attrs = OF_FEATURES[op]
    x, dy = pair("any", dtype)
    found = run(op, dy, x, **attrs)[0]
    wanted = slope(f, x.astype(np.float64)) * dy.astype(np.float64)
    scale = 1e-5 if dtype == F32 else 2**-8
    np.testing.assert_allclose(found.astype(np.float64), wanted, rtol=scale, atol=scale)


@pytest.mark.parametrize(
    ("op", "f", "attrs"),
    [
        ("GeluGrad", gelu_tanh, {}),
        ("SwishGrad", lambda x: x * sigmoid(1.5 * x), {"scale": 1.5}),
    ],
)
def test_with_the_result_given_too(op, f, attrs):
    x, dy = pair("any", F32)
    found = run(op, dy, x, f(x.astype(np.float64)).astype(F32), **attrs)[0]
    np.testing.assert_allclose(found, slope(f, x.astype(np.float64)) * dy, rtol=1e-4, atol=1e-5)


def test_gelu_grad_v2_by_tanh():
    x, dy = pair("any", F32)
    found = run("GeluGradV2", dy, x, approximate="tanh")[0]
    wanted = slope(gelu_tanh, x.astype(np.float64)) * dy
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)


def test_mish_grad_takes_the_hyperbolic_tangent():
    x, dy = pair("any", F32)
    tanh = np.tanh(np.logaddexp(x, 0)).astype(F32)
    check(run("MishGrad", dy, x, tanh)[0], run("MishGrad", dy, x)[0], F32)


@pytest.mark.parametrize("op", ["EluGrad", "SeluGrad", "EluGradV2"])
def test_of_activations(op):
    x, dy = pair("any", F64)
    attrs = {}
    f = elu
    if op == "SeluGrad":
        f = partial(elu, alpha=A, scale=S)
    if op == "EluGradV2":
        f = partial(elu, alpha=0.5, scale=2.0, inner=0.7)
        attrs = {"alpha": 0.5, "scale": 2.0, "input_scale": 0.7, "is_result": True}
    found = run(op, dy, f(x), **attrs)[0]
    np.testing.assert_allclose(found, slope(f, x) * dy, rtol=1e-6, atol=1e-7)


def test_inv_grad():
    x, dy = pair("nonzero", F32)
    check(run("InvGrad", (1 / x).astype(F32), dy)[0], -dy * (1 / x.astype(np.float64)) ** 2, F32)


def test_hardtanh_grad_stops_at_the_ends():
    x = np.array([-3, -2, -1.5, 0, 0.5, 1, 2], F32)
    found = run("HardtanhGrad", x, np.ones(7, F32), min_val=-2.0, max_val=1.0)[0]
    assert found.tolist() == [0, 0, 1, 1, 1, 0, 0]


@pytest.mark.parametrize("eps", [-1.0, 0.25])
def test_logit_grad(eps):
    x = np.array([-0.5, 0.1, 0.25, 0.4, 0.9, 1.5], F64)
    dy = np.arange(1.0, 7.0)
    found = run("LogitGrad", x, dy, eps=eps)[0]
    low = max(eps, 0)
    outside = 0.0 if eps >= 0 else np.nan
    inside = (x >= low) & (x <= 1 - low)
    np.testing.assert_allclose(found, np.where(inside, dy / (x * (1 - x)), outside))


def test_complex_gradients_conjugate():
    y = np.array([0.5 + 1j, 2 - 3j], np.complex64)
    dy = np.array([1 - 1j, 2 + 2j], np.complex64)
    for conjugate in (False, True):
        v = y.conj() if conjugate else y
        found = run("TanhGrad", y, dy, complex_conj=conjugate)[0]
        np.testing.assert_allclose(found, dy * (1 - v * v), rtol=1e-6)
        found = run("SigmoidGrad", y, dy, complex_conj=conjugate)[0]
        np.testing.assert_allclose(found, dy * v * (1 - v), rtol=1e-6)


@pytest.mark.parametrize("weights", [(1,), (3,)])
def test_prelu_grad(weights):
    x, dy = (sample("any", (2, 3, 5), F64, i) for i in (0, 1))
    w = sample("any", weights, F64, 2)
    dx, da = run("PReluGrad", dy, x, w)
    wide = w.reshape(-1, 1)
    np.testing.assert_allclose(dx, dy * np.where(x > 0, 1, wide))
    terms = np.where(x > 0, 0, x * dy)
    np.testing.assert_allclose(da, terms.sum((0, 2)) if weights == (3,) else [terms.sum()])


@pytest.mark.parametrize("op", ["MaximumGrad", "MinimumGrad"])
@pytest.mark.parametrize("dtype", [F32, np.int32])
def test_extremum_grad(op, dtype):
    x1, x2 = sample("any", (2, 1, 4), dtype), sample("any", (3, 4), dtype, 1)
    x2[0, 0] = x1[0, 0, 0]
    dy = sample("any", (2, 3, 4), dtype, 2)
    y1, y2 = run(op, dy, x1, x2)
    first = x1 >= x2 if op == "MaximumGrad" else x1 <= x2
    check(y1, np.where(first, dy, 0).sum(1, keepdims=True), dtype)
    check(y2, np.where(first, 0, dy).sum(0), dtype)


@pytest.mark.parametrize("axes", [(-1,), (1, 2)])
def test_softmax_grad(axes):
    x, dy = (sample("any", (2, 3, 4), F64, i) for i in (0, 1))
    powers = np.exp(x)
    y = powers / powers.sum(axes, keepdims=True)

    def loss(x):
        powers = np.exp(x)
        return (powers / powers.sum(axes, keepdims=True) * dy).sum()

    steps = np.eye(24).reshape(24, 2, 3, 4) * 1e-6
    wanted = [(loss(x + s) - loss(x - s)) / 2e-6 for s in steps]
    found = run("SoftmaxGrad", y, dy, axes=axes)[0]
    np.testing.assert_allclose(found.reshape(-1), wanted, rtol=1e-5, atol=1e-7)
    found = run("LogSoftmaxGrad", dy, np.log(y), axis=axes)[0]
    np.testing.assert_allclose(found, dy - y * dy.sum(axes, keepdims=True), rtol=1e-7)


def test_fused_softmax_gradients():
    x, dy = (sample("any", (2, 3, 4), F64, i) for i in (0, 1))
    found = run("ConfusionSoftmaxGrad", dy, x)[0]
    np.testing.assert_allclose(found, dy - (dy * x).sum(-1, keepdims=True))
    found = run("SoftmaxGradExt", dy, x, np.array([0.5]), axes=-1, keep_dims=True)[0]
    np.testing.assert_allclose(found, (dy - (dy * x).sum(-1, keepdims=True)) * x * 0.5)


@pytest.mark.parametrize("keep_dims", [False, True])
@pytest.mark.parametrize("axes", [(), (0,), (1, -1)])
def test_confusion_mul_grad(axes, keep_dims):
    a, b, c = (sample("any", (2, 3, 4), F64, i) for i in range(3))
    product, total = run("ConfusionMulGrad", a, b, c, axes=axes, keep_dims=keep_dims)
    np.testing.assert_allclose(product, a * b)
    np.testing.assert_allclose(total, (b * c).sum(axes or None, keepdims=keep_dims))


@pytest.mark.parametrize("data_format", ["NHWC", "NCHW"])
@pytest.mark.parametrize("dtype", FLOATS)
def test_bias_add_grad(data_format, dtype):
    x = sample("any", (2, 3, 4, 3), dtype)
    found = run("BiasAddGrad", x, data_format=data_format)[0]
    axes = (0, 2, 3) if data_format == "NCHW" else (0, 1, 2)
    check(found, x.astype(np.float64).sum(axes), dtype, scale=16)
