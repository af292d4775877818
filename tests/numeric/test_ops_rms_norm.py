"""Root-mean-square normalisation: formulas in f64 against `evaluate`."""

import ml_dtypes
import numpy as np
import pytest
from op_runs import run
from op_witness import BF16, F16, F32, assert_close, sample

FLOATS = (F32, F16, BF16)
SUMS = ("AddRmsNorm", "InplaceAddRmsNorm", "FusedAddRmsNorm")


def normal(x, rank, epsilon):
    wide = x.astype(np.float64)
    axes = tuple(range(x.ndim - rank, x.ndim))
    rstd = 1 / np.sqrt((wide**2).mean(axes, keepdims=True) + epsilon)
    return wide * rstd, rstd


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(("shape", "tail"), [((2, 3, 8), (8,)), ((4, 5), (4, 5)), ((0, 6), (6,))])
def test_rms_norm(shape, tail, dtype):
    x, gamma = sample("any", shape, dtype), sample("any", tail, dtype, 1)
    y, rstd = run("RmsNorm", x, gamma, epsilon=1e-3)
    n, want = normal(x, len(tail), 1e-3)
    assert_close(y, (n * gamma.astype(np.float64)).astype(dtype), scale=4)
    assert_close(rstd, want.astype(F32), scale=4)


def test_rms_norm_gradient_is_the_difference_quotient():
    dy, x, gamma = (sample("any", s, F32, i) for i, s in enumerate([(3, 8), (3, 8), (8,)]))
    n, rstd = normal(x, 1, 1e-6)
    dx, dgamma = run("RmsNormGrad", dy, x, rstd.astype(F32), gamma)

    def loss(values):
        return (normal(values, 1, 1e-6)[0] * gamma * dy).sum()

    steps = np.eye(24).reshape(24, 3, 8) * 1e-5
    slopes = [(loss(x + s) - loss(x - s)) / 2e-5 for s in steps]
    np.testing.assert_allclose(dx.reshape(-1), slopes, rtol=1e-3, atol=1e-3)
    np.testing.assert_allclose(dgamma, (dy * n).sum(0), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("op", SUMS)
def test_sums(op, dtype):
    x1, x2, gamma = (sample("any", s, dtype, i) for i, s in enumerate([(2, 3, 8)] * 2 + [(8,)]))
    attrs = {"scale": 0.5} if op == "FusedAddRmsNorm" else {}
    y, rstd, x = run(op, x1, x2, gamma, epsilon=1e-3, **attrs)
    total = x1.astype(np.float64) * attrs.get("scale", 1) + x2.astype(np.float64)
    n, want = normal(total, 1, 1e-3)
    assert_close(x, total.astype(dtype))
    assert_close(y, (n * gamma.astype(np.float64)).astype(dtype), scale=4)
    assert_close(rstd, want.astype(F32), scale=4)


def codes(t, low=-128, high=127):
    return np.clip(np.rint(t), low, high)


def near(found, wanted):
    """Codes may differ by one where the exact value lies at a half."""
    assert np.abs(found.astype(np.int32) - wanted).max() <= 1
    assert (found.astype(np.int32) == wanted).mean() > 0.9


@pytest.mark.parametrize("div_mode", [True, False])
@pytest.mark.parametrize("second", [True, False])
def test_add_rms_norm_quant(second, div_mode):
    x1, x2 = (sample("any", (4, 16), F16, i) for i in (0, 1))
    gamma, beta = (sample("any", (16,), F16, i) for i in (2, 3))
    scales = sample("positive", (16,), F32, 4)
    zeros = np.arange(16, dtype=np.int32)
    rest = (scales * 2, zeros, zeros) if second else (None, zeros, None)
    y1, y2, x = run(
        "AddRmsNormQuant", x1, x2, gamma, scales, *rest, beta, div_mode=div_mode, epsilon=1e-3
    )
    total = x1.astype(np.float64) + x2
    n = normal(total, 1, 1e-3)[0] * gamma + beta
    factor = 1 / scales if div_mode else scales
    near(y1, codes(n * factor + zeros))
    near(
        y2, codes(n * (1 / (2 * scales) if div_mode else 2 * scales) + zeros) if second else y2 * 0
    )
    assert_close(x, total.astype(F16))
    assert y1.dtype == np.int8


def dynamic(t, top=127):
    scale = np.abs(t).max(-1) / top
    return codes(t / np.where(scale == 0, 1, scale)[..., None]), scale


@pytest.mark.parametrize("dst_type", [2, 29])
@pytest.mark.parametrize("smooths", [0, 1, 2])
def test_add_rms_norm_dynamic_quant(smooths, dst_type):
    x1, x2 = (sample("any", (3, 4, 16), F16, i) for i in (0, 1))
    x1[0, 0], x2[0, 0] = 0, 0
    gamma = sample("any", (16,), F16, 2)
    smooth = [sample("positive", (16,), F16, i) for i in (3, 4)][:smooths]
    given = [*smooth, None, None][:2]
    top = 127 if dst_type == 2 else 7
    n = normal(x1.astype(np.float64) + x2, 1, 1e-6)[0] * gamma
    want = [dynamic(n * (1 if s is None else s), top) for s in given]
    first = run("AddRmsNormDynamicQuant", x1, x2, gamma, *given, dst_type=dst_type)
    both = run("AddRmsNormDynamicQuantV2", x1, x2, gamma, *given, dst_type=dst_type)
    for y1, y2, scale1, scale2 in ((*first[:2], *first[3:]), (*both[:2], *both[5:])):
        near(y1, want[0][0])
        np.testing.assert_allclose(scale1, want[0][1], rtol=1e-5, atol=1e-7)
        assert y1.dtype == (np.int8 if dst_type == 2 else ml_dtypes.int4)
        if smooths < 2:
            assert y2.shape == scale2.shape == (1,)
            continue
        near(y2, want[1][0])
        np.testing.assert_allclose(scale2, want[1][1], rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose(both[2], n, rtol=1e-4, atol=1e-6)
    assert_close(both[3], n.astype(F16), scale=2)
    assert_close(both[4], (x1 + x2).astype(F16))


def test_add_rms_norm_dynamic_quant_masks():
    x, gamma = sample("any", (3, 8), F32), sample("any", (8,), F32, 1)
    found = run("AddRmsNormDynamicQuant", x, x, gamma, output_mask=[False, True])
    assert [a.shape for a in found] == [(1,), (3, 8), (3, 8), (1,), (3,)]
    mask = [False, True, False, False]
    found = run("AddRmsNormDynamicQuantV2", x, x, gamma, output_mask=mask)
    assert [a.shape for a in found] == [(1,), (3, 8), (1,), (1,), (3, 8), (1,), (3,)]


@pytest.mark.parametrize("count", [1, 3])
def test_multi_add_rms_norm_dynamic_quant(count):
    x1 = [sample("any", (4, 16), F16, i) for i in range(count)]
    x2, gamma, smooth = (sample("positive", s, F16, 9) for s in ((4, 16), (16,), (16,)))
    y1, y2, x, y, scale1, scale2 = run(
        "MultiAddRmsNormDynamicQuant", x1, x2, gamma, smooth, smooth * 2
    )
    total = sum(a.astype(np.float64) for a in x1) + x2
    n = normal(total, 1, 1e-6)[0] * gamma
    for found, scale, t in ((y1, scale1, n * smooth), (y2, scale2, n * smooth * 2)):
        want, factor = dynamic(t)
        near(found, want)
        np.testing.assert_allclose(scale, factor, rtol=1e-5)
    assert_close(x, total.astype(F16))
    assert_close(y, n.astype(F16), scale=2)


def test_rms_norm_dynamic_quant():
    x, gamma, smooth, beta = (
        sample("any", s, F16, i) for i, s in enumerate([(3, 16), (16,), (16,), (16,)])
    )
    y, scale = run("RmsNormDynamicQuant", x, gamma, smooth, beta)
    want, factor = dynamic((normal(x, 1, 1e-6)[0] * gamma + beta) * smooth)
    near(y, want)
    np.testing.assert_allclose(scale, factor, rtol=1e-5)
