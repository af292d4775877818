"""Elementwise leftovers: onnxruntime and Python's math against `evaluate`."""

import math

import numpy as np
import pytest
from op_runs import onnx_outputs, run
from op_witness import BF16, F16, F32, F64, I8, I32, assert_close, sample

DTYPES = (F32, F16, BF16)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("op", ["Acos", "Asin", "Tan"])
def test_circular_as_onnx(op, dtype):
    x = sample("unit", (3, 4), dtype)
    assert_close(run(op, x)[0], onnx_outputs(op, x)[0], 4)


def test_circular_of_others():
    assert run("Asin", np.array([1, 0, -1], I32))[0].tolist() == [1, 0, -1]
    assert run("Tan", np.array([1, 2], I32))[0].tolist() == [1, -2]
    assert np.isnan(run("Acos", np.array([1.5], F32))[0]).all()
    z = np.array([0.5 + 0.5j], np.complex64)
    np.testing.assert_allclose(np.cos(run("Acos", z)[0]), z, rtol=1e-6)


@pytest.mark.parametrize("dtype", DTYPES)
def test_rounding_and_sinc(dtype):
    x = np.array([0.5, 1.5, -2.5, 2.4, -0.0, 7.75], dtype)
    assert run("Rint", x)[0].tolist() == [0, 2, -2, 2, 0, 8]
    assert run("Trunc", x)[0].tolist() == [0, 1, -2, 2, 0, 7]
    expected = [math.sin(math.pi * v) / (math.pi * v) if v else 1 for v in x.astype(F64)]
    assert_close(run("Sinc", x)[0], np.array(expected).astype(dtype), 4)
    assert run("Trunc", np.array([3], I32))[0].tolist() == [3]


@pytest.mark.parametrize("dtype", DTYPES)
def test_values_that_are_not_finite(dtype):
    x = np.array([np.nan, np.inf, -np.inf, 1, 0], dtype)
    y = run("NanToNum", x, nan=5.0, posinf=6.0, neginf=7.0)[0]
    assert_close(y, np.array([5, 6, 7, 1, 0], dtype))
    assert run("IsPosInf", x)[0].tolist() == [False, True, False, False, False]
    assert run("IsNegInf", x)[0].tolist() == [False, False, True, False, False]
    zeros = np.zeros(5, dtype)
    assert_close(run("MulNoNan", x, zeros)[0], zeros)
    assert_close(run("Xdivy", zeros, x)[0], zeros)
    y = run("Xlogy", zeros, x)[0]
    assert np.isnan(y[0].astype(F32))
    assert_close(y[1:], zeros[1:])


@pytest.mark.parametrize("dtype", DTYPES)
def test_guarded_products(dtype):
    a, b = sample("any", (3, 4), dtype), sample("positive", (4,), dtype, 1)
    wide, other = a.astype(F64), b.astype(F64)
    assert_close(run("Xlogy", a, b)[0], (wide * np.log(other)).astype(dtype), 2)
    assert_close(run("Xdivy", a, b)[0], (wide / other).astype(dtype), 2)
    assert_close(run("MulNoNan", a, b)[0], (wide * other).astype(dtype), 2)
    angles = [[math.atan2(p, q) for p, q in zip(r, other, strict=True)] for r in wide]
    assert_close(run("Atan2", a, b)[0], np.array(angles).astype(dtype), 2)


def test_remainders_and_divisors():
    a, b = np.array([7, -7, 6, 0], I32), np.array([3, 3, -4, 5], I32)
    assert run("TruncateMod", a, b)[0].tolist() == [1, -1, 2, 0]
    assert run("Gcd", a, b)[0].tolist() == [1, 1, 2, 5]
    y = run("TruncateMod", np.array([-7.5], F32), np.array([2], F32))[0]
    assert y.tolist() == [math.fmod(-7.5, 2)]


def test_closeness():
    a, b = np.array([1, 1, np.inf, np.nan], F32), np.array([1.001, 2, np.inf, np.nan], F32)
    assert run("IsClose", a, b, rtol=0.01)[0].tolist() == [True, False, True, False]
    assert run("IsClose", a, b, rtol=0.01, equal_nan=True)[0].tolist() == [True, False, True, True]
    y = run("ApproximateEqual", a, b, tolerance=0.01)[0]
    assert y.tolist() == [True, False, False, False]


@pytest.mark.parametrize("dtype", [F32, F16, I8])
def test_eltwise(dtype):
    x = [sample("any", (3, 4), dtype, i) for i in range(3)]
    wide = [a.astype(F64) for a in x]
    for mode, expected in ((0, np.prod(wide, 0)), (1, np.sum(wide, 0)), (2, np.max(wide, 0))):
        expected = (
            expected.astype(np.int64).astype(dtype) if dtype == I8 else expected.astype(dtype)
        )
        assert_close(run("Eltwise", x, N=3, mode=mode)[0], expected, 4)
    if dtype != I8:
        y = run("Eltwise", x, N=3, coeff=[1.0, -2.0, 0.5])[0]
        assert_close(y, (wide[0] - 2 * wide[1] + wide[2] / 2).astype(dtype), 4)


@pytest.mark.parametrize("dtype", DTYPES)
def test_sums_of_products(dtype):
    a, b, c, d = (sample("any", s, dtype, i) for i, s in enumerate([(3, 4), (4,), (3, 1), (3, 4)]))
    wide = [v.astype(F64) for v in (a, b, c, d)]
    y = run("FusedMulAddAdd", a, b, c, d)[0]
    assert_close(y, (wide[0] * wide[1] + wide[2] + wide[3]).astype(dtype), 4)
    y = run("FusedMulAddN", a, d, b[:1])[0]
    assert_close(y, (wide[0] * wide[1][0] + wide[3]).astype(dtype), 4)
    low, high = np.array(1, dtype), np.array(-1, dtype)
    assert_close(run("ClipByValueV2", a, high, low)[0], np.clip(wide[0], -1, 1).astype(dtype))
    assert (run("ClipByValueV2", a, low, high)[0] == low).all()
