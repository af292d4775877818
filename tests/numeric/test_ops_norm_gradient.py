"""Gradients of normalisations against differences of the normalisation itself in f64."""

import numpy as np
import pytest
from op_runs import run
from op_witness import BF16, F16, F32, F64, U8, assert_close, sample

FLOATS = (F32, F16, BF16)


def slopes(function, x):
    """d function / d x by central differences."""
    found = np.zeros(x.shape)
    for at in np.ndindex(*x.shape):
        step = np.zeros(x.shape)
        step[at] = 1e-5
        found[at] = (function(x + step) - function(x - step)) / 2e-5
    return found


def normalize(x, axes, epsilon):
    mean = x.mean(axis=axes, keepdims=True)
    variance = ((x - mean) ** 2).mean(axis=axes, keepdims=True)
    return (x - mean) / np.sqrt(variance + epsilon)


def moments(x, axes, dtype=F32):
    x = x.astype(F64)
    mean = x.mean(axis=axes, keepdims=True)
    return mean.astype(dtype), ((x - mean) ** 2).mean(axis=axes, keepdims=True).astype(dtype)


def near(found, exact, dtype=F32):
    exact = np.asarray(exact).astype(dtype)
    assert found.dtype == exact.dtype
    assert found.shape == exact.shape
    room = 3e-2 if np.dtype(dtype).itemsize == 2 else 2e-4
    np.testing.assert_allclose(found.astype(F64), exact.astype(F64), rtol=room, atol=room)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(
    ("op", "data_format", "shape"),
    [
        ("BatchNormGrad", "NCHW", (2, 3, 2, 2)),
        ("BatchNormGrad", "NHWC", (2, 2, 2, 3)),
        ("BatchNorm3DGrad", "NCDHW", (2, 3, 1, 2, 2)),
        ("BatchNorm3DGrad", "NDHWC", (2, 1, 2, 2, 3)),
    ],
)
def test_batch_norm_gradient(op, data_format, shape, dtype):
    axis = data_format.index("C")
    axes = tuple(i for i in range(len(shape)) if i != axis)
    x, dy = sample("any", shape, dtype), sample("any", shape, dtype, 1)
    scale = sample("any", (3,), F32, 2)
    along = [-1 if i == axis else 1 for i in range(len(shape))]
    ex, edy, gamma = x.astype(F64), dy.astype(F64), scale.astype(F64).reshape(along)
    mean, variance = moments(x, axes)
    rstd = (1 / np.sqrt(variance.astype(F64) + 1e-3)).astype(F32)
    attrs = {"epsilon": 1e-3, "data_format": data_format}
    flat = [a.reshape(-1) for a in (mean, rstd, variance)]
    found = run(op, dy, x, scale, *flat[:2], **attrs)
    near(found[0], slopes(lambda v: (normalize(v, axes, 1e-3) * gamma * edy).sum(), ex), dtype)
    near(found[1], (edy * normalize(ex, axes, 1e-3)).sum(axis=axes))
    near(found[2], edy.sum(axis=axes))
    found = run(op, dy, x, scale, flat[0], flat[2], is_training=False, **attrs)
    near(found[0], edy * gamma / np.sqrt(variance.astype(F64) + 1e-3), dtype)


@pytest.mark.parametrize("dtype", [F32, F16])
def test_instance_norm_gradient(dtype):
    shape, axes = (2, 2, 3, 4), (1, 2)
    x, dy, gamma = (
        sample("any", shape, dtype),
        sample("any", shape, dtype, 1),
        sample("any", (4,), dtype, 2),
    )
    mean, variance = moments(x, axes, dtype)
    ex, edy = x.astype(F64), dy.astype(F64)
    found = run("InstanceNormGrad", dy, x, variance, mean, gamma)
    wanted = slopes(lambda v: (normalize(v, axes, 1e-6) * gamma.astype(F64) * edy).sum(), ex)
    near(found[0], wanted, dtype)
    near(found[1], (edy * normalize(ex, axes, 1e-6)).sum(axis=(0, 1, 2)), dtype)
    near(found[2], edy.sum(axis=(0, 1, 2)), dtype)


def test_instance_norm_gradient_in_parts():
    shape, axes = (2, 3, 2, 4), (2, 3)
    x, dy = sample("any", shape, F32), sample("any", shape, F32, 1)
    gamma = sample("any", (1, 3, 1, 1), F32, 2)
    mean, variance = moments(x, axes)
    ex, edy = x.astype(F64), dy.astype(F64)
    res_gamma, res_beta = run("INTrainingUpdateGrad", dy, x, variance, mean)
    near(res_gamma, (edy * normalize(ex, axes, 1e-6)).sum(axis=axes, keepdims=True))
    near(res_beta, edy.sum(axis=axes, keepdims=True))
    (pd_x,) = run("INTrainingReduceGrad", dy, x, variance, mean, res_gamma, res_beta, gamma)
    near(pd_x, slopes(lambda v: (normalize(v, axes, 1e-6) * gamma * edy).sum(), ex))
    sums = run("INTrainingUpdateGradGammaBeta", res_gamma, res_beta)
    for have, want in zip(sums, (res_gamma, res_beta), strict=True):
        near(have, want.sum(axis=0, keepdims=True))


def test_instance_norm_with_a_given_root():
    x = sample("any", (2, 3, 2, 2), F32)
    gamma, beta = sample("any", (1, 3, 1, 1), F32, 1), sample("any", (1, 3, 1, 1), F32, 2)
    mean, variance = moments(x, (2, 3))
    root = np.sqrt(variance + F32(0.5))
    y, m, v = run("INInferV2D", x, gamma, beta, mean, variance, root)
    exact = (x.astype(F64) - mean) / root * gamma + beta
    assert_close(y, exact.astype(F32), scale=4)
    np.testing.assert_array_equal(m, mean)
    np.testing.assert_array_equal(v, variance)
    assert_close(run("INInferV2D", x, None, None, mean, variance, root)[0], ((x - mean) / root))


@pytest.mark.parametrize("rank", [1, 2])
@pytest.mark.parametrize("mask_dtype", [U8, np.bool_])
def test_layer_norm_gradient_with_dropout(mask_dtype, rank):
    shape = (3, 2, 4)
    axes = tuple(range(3 - rank, 3))
    x, dy = sample("any", shape, F32), sample("any", shape, F32, 1)
    gamma = sample("any", shape[3 - rank :], F32, 2)
    mask = np.random.default_rng(3).integers(0, 2, shape).astype(mask_dtype)
    mean, variance = moments(x, axes)
    ex, edy = x.astype(F64), dy.astype(F64)
    found = run("LNDropoutGrad", dy, x, variance, mean, gamma, mask, keep_prob=0.25)
    wanted = slopes(lambda v: (normalize(v, axes, 1e-12) * gamma * edy).sum(), ex)
    near(found[0], wanted)
    np.testing.assert_allclose(found[1], np.where(mask, found[0] * 4, 0), rtol=1e-6)
    rows = tuple(range(3 - rank))
    near(found[2], (edy * normalize(ex, axes, 1e-12)).sum(axis=rows))
    near(found[3], edy.sum(axis=rows))
