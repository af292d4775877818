"""Normalisation: onnxruntime or the formula in f64 against `evaluate`."""

import numpy as np
import pytest
from op_runs import onnx_outputs, run
from op_witness import BF16, F16, F32, assert_close, sample

FLOATS = (F32, F16, BF16)


def channels(seed, count, dtype=F32, kind="any"):
    return sample(kind, (count,), dtype, seed)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("data_format", ["NCHW", "NHWC"])
@pytest.mark.parametrize("shape", [(2, 3, 4, 5), (4, 3), (2, 3, 7), (0, 3, 4, 4)])
def test_batch_norm_inference_as_onnx(shape, data_format, dtype):
    x = sample("any", shape, dtype)
    scale, offset, mean = (channels(i, 3) for i in (1, 2, 3))
    variance = channels(4, 3, kind="positive")
    wide = [a.astype(F32) for a in (x, scale, offset, mean, variance)]
    expected = onnx_outputs("BatchNormalization", *wide, epsilon=1e-3)[0].astype(dtype)
    if data_format == "NHWC":
        x, expected = np.moveaxis(x, 1, -1), np.moveaxis(expected, 1, -1)
    found = run(
        "BatchNorm", x, scale, offset, mean, variance, epsilon=1e-3, data_format=data_format,
        is_training=False,
    )  # fmt: skip
    assert_close(found[0], expected, scale=16)
    for have, want in zip(found[1:5], (mean, variance, mean, variance), strict=True):
        assert_close(have, want)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(("given", "factor"), [(False, 1.0), (True, 1.0), (True, 0.25)])
def test_batch_norm_training(given, factor, dtype):
    x = sample("any", (2, 4, 5, 3), dtype)
    scale, offset, mean, variance = (channels(i, 3, kind="positive") for i in range(4))
    old = (mean, variance) if given else (None, None)
    found = run("BatchNorm", x, scale, offset, *old, epsilon=1e-3, exponential_avg_factor=factor)
    exact = x.astype(np.float64)
    m, v = exact.mean((0, 1, 2)), exact.var((0, 1, 2))
    rest = (1 - factor) * mean if given else 0, (1 - factor) * variance if given else 0
    expected = (
        ((exact - m) / np.sqrt(v + 1e-3) * scale + offset).astype(dtype),
        (factor * m + rest[0]).astype(F32),
        (factor * v * 40 / 39 + rest[1]).astype(F32),
        m.astype(F32),
        (1 / np.sqrt(v + 1e-3)).astype(F32),
    )
    for have, want in zip(found[:5], expected, strict=True):
        assert_close(have, want, scale=16)
    assert found[5].shape == (1,)


def test_batch_norm_training_of_one_element_per_channel():
    x = sample("any", (1, 1, 1, 3), F32)
    found = run("BatchNorm", x, channels(1, 3), channels(2, 3))
    assert_close(found[2], np.zeros(3, F32))


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("momentum", [0.0, 2.0])
@pytest.mark.parametrize("with_affine", [False, True])
def test_bn_inference(momentum, with_affine, dtype):
    x = sample("any", (2, 3, 4, 5), dtype)
    mean, variance = channels(1, 3, dtype), channels(2, 3, dtype, "positive")
    affine = (channels(3, 3, dtype), channels(4, 3, dtype)) if with_affine else (None, None)
    y = run("BNInference", x, mean, variance, np.array([momentum], dtype), *affine)[0]
    s = 1 / momentum if momentum else 0

    def per(values):
        return values.astype(np.float64)[:, None, None]

    expected = (x.astype(np.float64) - per(mean) * s) / np.sqrt(per(variance) * s + 1e-5)
    if with_affine:
        expected = expected * per(affine[0]) + per(affine[1])
    if momentum:
        assert_close(y, expected.astype(dtype), scale=16)
    else:
        np.testing.assert_allclose(y.astype(F32), expected, rtol=2**-6)


def layer_norm(x, gamma, beta, axis, epsilon):
    axes = tuple(range(axis % x.ndim, x.ndim))
    wide = x.astype(np.float64)
    mean, variance = wide.mean(axes, keepdims=True), wide.var(axes, keepdims=True)
    y = (wide - mean) / np.sqrt(variance + epsilon) * gamma + beta
    return y.astype(x.dtype), mean.astype(gamma.dtype), variance.astype(beta.dtype)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(
    ("shape", "axis", "params"),
    [
        ((2, 3, 4), -1, (4,)),
        ((2, 3, 4), 1, (3, 4)),
        ((2, 3, 4), 0, (2, 3, 4)),
        ((2, 3, 4), 2, (2, 3, 4)),
        ((5,), 0, (5,)),
        ((2, 3, 4), 1, (1, 4)),
    ],
)
def test_layer_norm(shape, axis, params, dtype):
    x, gamma, beta = (sample("any", s, dtype, i) for i, s in enumerate((shape, params, params)))
    expected = layer_norm(x, gamma.astype(F32), beta.astype(F32), axis, 1e-3)
    found = run("LayerNorm", x, gamma, beta, begin_norm_axis=axis, epsilon=1e-3)
    for have, want in zip(found, expected, strict=True):
        assert_close(have, want.astype(dtype), scale=16)
    *_, rstd = run("LayerNormV3", x, gamma, beta, begin_norm_axis=axis, epsilon=1e-3)
    assert_close(rstd, (1 / np.sqrt(expected[2] + 1e-3)).astype(dtype), scale=16)


@pytest.mark.parametrize("dtype", FLOATS)
def test_layer_norm_as_onnx(dtype):
    x, gamma, beta = (sample("any", s, dtype, i) for i, s in enumerate(((2, 5, 8), (8,), (8,))))
    expected = onnx_outputs("LayerNormalization", x, gamma, beta, axis=-1, epsilon=1e-5)[0]
    y = run("LayerNorm", x, gamma, beta, begin_norm_axis=-1, epsilon=1e-5)[0]
    assert_close(y, expected, scale=16)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("data_format", ["NCHW", "NHWC", "ND"])
def test_instance_norm_as_onnx(data_format, dtype):
    x = sample("any", (2, 3, 4, 5), dtype)
    gamma, beta = channels(1, 3, dtype), channels(2, 3, dtype)
    expected = onnx_outputs("InstanceNormalization", x, gamma, beta, epsilon=1e-3)[0]
    means = x.astype(np.float64).mean((2, 3), keepdims=True).astype(dtype)
    if data_format == "NHWC":
        x, expected, means = (np.moveaxis(a, 1, -1) for a in (x, expected, means))
    y, mean, variance = run("InstanceNorm", x, gamma, beta, data_format=data_format, epsilon=1e-3)
    assert_close(y, expected, scale=16)
    assert_close(mean, means, scale=16)
    assert variance.shape == mean.shape
