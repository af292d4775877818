"""Gated units, shrinkage and dropout: onnxruntime or formulas in f64 against `evaluate`."""

import numpy as np
import pytest
from op_runs import onnx_outputs, run
from op_witness import BF16, F16, F32, F64, assert_close, sample

FLOATS = (F32, F16, BF16)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def gelu(x, tanh=True):
    from math import erf

    if tanh:
        return x / 2 * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))
    return x / 2 * (1 + np.vectorize(erf, otypes=[F64])(x / np.sqrt(2)))


def wide(*arrays):
    return [a.astype(F64) for a in arrays]


def check(found, expected, dtype, scale=8):
    assert_close(found, np.asarray(expected).astype(dtype), scale=scale)


GATED = {
    "SwiGlu": lambda a, b: a * sigmoid(a) * b,
    "GLU": lambda a, b: a * sigmoid(b),
}


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("dim", [-1, 0, 1])
@pytest.mark.parametrize("op", GATED)
def test_gated(op, dim, dtype):
    x = sample("any", (4, 6, 8), dtype)
    a, b = wide(*np.split(x, 2, axis=dim))
    check(run(op, x, dim=dim)[0], GATED[op](a, b), dtype)


@pytest.mark.parametrize("dim", [-1, 0])
@pytest.mark.parametrize("op", GATED)
def test_gated_gradients(op, dim):
    x = sample("any", (4, 6), F64)
    dy = sample("any", (4, 3) if dim == -1 else (2, 6), F64, 1)

    def loss(x):
        return (GATED[op](*np.split(x, 2, axis=dim)) * dy).sum()

    steps = np.eye(24).reshape(24, 4, 6) * 1e-6
    wanted = [(loss(x + s) - loss(x - s)) / 2e-6 for s in steps]
    found = run(op + "Grad", dy, x, dim=dim)[0]
    np.testing.assert_allclose(found.reshape(-1), wanted, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("approximate", [0, 1])
@pytest.mark.parametrize("left", [False, True])
def test_geglu(left, approximate):
    x = sample("any", (3, 8), F64)
    a, b = np.split(x, 2, axis=-1)
    gate, other = (a, b) if left else (b, a)
    attrs = {"activate_left": left, "approximate": approximate}
    y, active = run("GeGluV2", x, **attrs)
    np.testing.assert_allclose(active, gelu(gate, bool(approximate)), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(y, other * active)
    dy = sample("any", (3, 4), F64, 1)

    def loss(x):
        a, b = np.split(x, 2, axis=-1)
        gate, other = (a, b) if left else (b, a)
        return (other * gelu(gate, bool(approximate)) * dy).sum()

    steps = np.eye(24).reshape(24, 3, 8) * 1e-6
    wanted = [(loss(x + s) - loss(x - s)) / 2e-6 for s in steps]
    found = run("GeGluGradV2", dy, x, active, **attrs)[0]
    np.testing.assert_allclose(found.reshape(-1), wanted, rtol=1e-5, atol=1e-7)


UNARY = {
    "HardShrink": (lambda x: np.where(np.abs(x) > 0.7, x, 0), {"lambd": 0.7}),
    "SoftShrink": (lambda x: np.sign(x) * np.maximum(np.abs(x) - 0.75, 0), {"lambd": 0.75}),
    "Threshold": (lambda x: x > 0.7, {"threshold": 0.7}),
    "ThresholdV2D": (lambda x: np.where(x > 0.7, x, -3), {"threshold": 0.7, "value": -3.0}),
    "LogSigmoid": (lambda x: -np.logaddexp(-x, 0), {}),
    "SquaredRelu": (lambda x: np.maximum(x, 0) ** 2, {}),
    "SoftplusV2": (lambda x: np.where(2 * x > 3, x, np.logaddexp(2 * x, 0) / 2), {"beta": 2.0,
        "threshold": 3.0}),
    "HardSwishV2": (lambda x: x * np.clip(x + 3, 0, 6) / 6, {}),
    "Inv": (lambda x: 1 / x, {}),
    "Dropout": (lambda x: x, {"dropout_ratio": 0.3}),
}  # fmt: skip


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("op", UNARY)
def test_unary(op, dtype):
    f, attrs = UNARY[op]
    x = sample("any", (5, 13), dtype)
    check(run(op, x, **attrs)[0], f(x.astype(F64)), dtype)


@pytest.mark.parametrize("dtype", FLOATS)
def test_as_onnx(dtype):
    x = sample("any", (5, 13), dtype)
    found = run("ThresholdedRelu", x, alpha=0.7)[0]
    assert_close(found, onnx_outputs("ThresholdedRelu", x, alpha=0.7)[0])
    found = run("Shrink", x, lambd=0.7, bias=0.25)[0]
    assert_close(
        found, onnx_outputs("Shrink", x.astype(F32), lambd=0.7, bias=0.25)[0].astype(dtype)
    )
    found = run("CeluV2", x, alpha=0.7)[0]
    assert_close(found, onnx_outputs("Celu", x, alpha=0.7)[0], scale=4)


def test_shrink_takes_a_negative_bound_as_0():
    x = np.array([-1, -0.1, 0, 0.1, 1], F32)
    found = run("Shrink", x, lambd=-0.5, bias=0.5)[0]
    np.testing.assert_allclose(found, [-0.5, 0.4, 0, -0.4, 0.5], rtol=1e-6)


@pytest.mark.parametrize("eps", [-1.0, 0.25])
def test_logit(eps):
    x = np.array([0.0, 0.1, 0.25, 0.4, 0.9, 1.0], F64)
    z = x if eps < 0 else np.clip(x, eps, 1 - eps)
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(run("Logit", x, eps=eps)[0], np.log(z / (1 - z)))


@pytest.mark.parametrize("dtype", FLOATS)
def test_products_with_an_activation(dtype):
    x, y = sample("any", (3, 8), dtype), sample("any", (3, 8), dtype, 1)
    a, b = wide(x, y)
    check(run("SiluMul", x, y)[0], a * sigmoid(a) * b, dtype)


# Dropout and masked softmax


def softmax(x, axes=-1):
    powers = np.exp(x - x.max(axes, keepdims=True))
    return powers / powers.sum(axes, keepdims=True)


@pytest.mark.parametrize("keep_prob", [1.0, 0.25, 0.0])
@pytest.mark.parametrize("dtype", FLOATS)
def test_dropout_by_a_mask(keep_prob, dtype):
    x = sample("any", (3, 7), dtype)
    keep = np.random.default_rng(1).integers(0, 2, 21)
    wanted = np.where(keep.reshape(3, 7) & (keep_prob > 0), x.astype(F64) / (keep_prob or 1), 0)
    bits = np.zeros(128, np.uint8)
    for i, bit in enumerate(keep):  # lowest bit first
        bits[i // 8] |= bit << (i % 8)
    prob = np.array([keep_prob], dtype)
    check(run("DropOutDoMask", x, bits[:16], prob)[0], wanted, dtype)
    padded = np.pad(keep, (0, 107), constant_values=1).astype(np.uint8)
    check(run("DropOutDoMaskV3", x, padded, prob)[0], wanted, dtype)
    check(run("DropOutDoMaskV3D", x, padded, keep_prob=keep_prob)[0], wanted, dtype)


@pytest.mark.parametrize("dtype", FLOATS)
def test_softmax_with_dropout(dtype):
    x1, x2 = (sample("any", (2, 3, 4), dtype, i) for i in (0, 1))
    mask = np.random.default_rng(1).integers(0, 2, (2, 3, 4)).astype(np.uint8)
    a, b = wide(x1, x2)
    found = run("SoftmaxV2WithDropOutDoMaskV3D", x1, mask, keep_prob=0.5, axes=(1, 2))
    y = softmax(a, (1, 2))
    check(found[0], y, dtype)
    check(found[1], y * mask * 2, dtype)
    found = run("SoftmaxV2WithDropOutDoMaskV3D", x1[0, 0, 0], mask[:1, 0, 0], keep_prob=0.5)
    assert [float(a) for a in found] == [1, 2 * mask[0, 0, 0]]
    found = run("AxpyWithSoftmaxAndDropOutDoMask", x1, x2, mask, alpha=0.5, input_keep_prob=0.5)
    y = softmax(a + 0.5 * b)
    check(found[0], y, dtype)
    check(found[1], y * mask * 2, dtype)


@pytest.mark.parametrize("dtype", FLOATS)
def test_scaled_masked_softmax(dtype):
    x = sample("any", (2, 3, 5, 5), dtype)
    mask = np.random.default_rng(1).integers(0, 2, (2, 1, 5, 5)).astype(bool)
    scaled = x.astype(F64) * 0.5
    found = run("ScaledMaskedSoftmax", x, mask, scale=0.5)[0]
    check(found, softmax(np.where(mask, -10000, scaled)), dtype)
    found = run("ScaledMaskedSoftmax", x, scale=0.5, fixed_triu_mask=True)[0]
    hidden = np.arange(5) > np.arange(5)[:, None]
    check(found, softmax(np.where(hidden, -10000, scaled)), dtype)


@pytest.mark.parametrize("mask_type", [np.bool_, np.uint8, F32])
def test_masked_scale(mask_type):
    x = sample("any", (3, 4), F32)
    mask = sample("any", (3, 4), np.int32, 1).astype(mask_type)
    check(run("MaskedScale", x, mask, value=0.25)[0], x * mask.astype(F64) * 0.25, F32)


@pytest.mark.parametrize("form", ["windows", "flat", "unmasked"])
def test_masked_softmax_with_relative_position_bias(form):
    x = sample("any", (2, 3, 4, 5, 6), F32)
    mask, bias = sample("any", (3, 5, 6), F32, 1), sample("any", (4, 5, 6), F32, 2)
    t = x.astype(F64) * 0.5 + bias + (0 if form == "unmasked" else mask[:, None])
    given = x if form == "windows" else x.reshape(6, 4, 5, 6)
    operand = None if form == "unmasked" else mask if form == "flat" else mask[:, None]
    wide_bias = bias[None, None] if form == "windows" else bias
    found = run("MaskedSoftmaxWithRelPosBias", given, operand, wide_bias, scale_value=0.5)[0]
    check(found, softmax(t).reshape(given.shape), F32)
