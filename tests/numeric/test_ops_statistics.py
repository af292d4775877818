"""Logarithms of sums, norms and variances: onnxruntime and numpy in f64 against `evaluate`."""

import numpy as np
import pytest
from op_runs import onnx_outputs, run
from op_witness import BF16, F16, F32, F64, I32, I64, assert_close, sample

DTYPES = (F32, F16, BF16)
AXES = [[0], [1, -1], []]


@pytest.mark.parametrize("keep", [False, True])
@pytest.mark.parametrize("axes", AXES)
@pytest.mark.parametrize("dtype", DTYPES)
def test_logs_of_sums_as_onnx(dtype, axes, keep):
    x, given = sample("positive", (3, 4, 5), dtype), np.array(axes, I64)
    flags = {"keepdims": int(keep)}
    expected = onnx_outputs("ReduceLogSumExp", x, given, **flags)[0]
    assert_close(run("ReduceLogSumExp", x, given, keep_dims=keep)[0], expected, 4)
    expected = onnx_outputs("ReduceLogSum", x, given, noop_with_empty_axes=1, **flags)[0]
    if not axes:
        expected = np.log(x.astype(F32)).astype(dtype)
    assert_close(run("ReduceLogSum", x, given, keep_dims=keep)[0], expected, 4)


def test_log_sum_exp_far_from_zero():
    x = np.array([[1000, 1000], [-1000, -1000], [-np.inf, -np.inf], [np.inf, 0]], F32)
    y = run("ReduceLogSumExp", x, np.array([1]))[0]
    expected = [1000 + np.log(2), -1000 + np.log(2), -np.inf, np.inf]
    assert_close(y, np.array(expected, F32))
    y = run("ReduceLogSumExp", x, np.zeros(0, I32), noop_with_empty_axes=True)[0]
    assert_close(y, x)


@pytest.mark.parametrize("keep", [False, True])
@pytest.mark.parametrize("axes", AXES)
@pytest.mark.parametrize("dtype", DTYPES)
def test_squares_and_norms(dtype, axes, keep):
    x = sample("any", (3, 4, 5), dtype)
    squares = np.sum(x.astype(F64) ** 2, axis=tuple(axes) or None, keepdims=keep)
    squares = np.asarray(squares)
    attrs = {"keep_dims": keep}
    y = run("EuclideanNorm", x, np.array(axes, I32), **attrs)[0]
    assert_close(y, np.sqrt(squares).astype(dtype), 2)
    assert_close(run("EuclideanNormD", x, axes=axes, **attrs)[0], np.sqrt(squares).astype(dtype), 2)
    assert_close(run("SquareSumV1", x, axis=axes, **attrs)[0], squares.astype(dtype), 2)
    y1, y2 = run("SquareSumV2", x, axis=axes, **attrs)
    assert_close(y1, squares.astype(dtype), 2)
    assert_close(y2, (x.astype(F32) ** 2).astype(dtype))
    mean, second = run("ReduceMeanVariance", x, axes=axes, **attrs)
    wide = x.astype(F64)
    along = {"axis": tuple(axes) or None, "keepdims": keep}
    assert_close(mean, np.asarray(wide.mean(**along)).astype(dtype), 8)
    assert_close(second, np.asarray((wide**2).mean(**along)).astype(dtype), 8)


def test_square_sums_of_two():
    x1, x2 = sample("any", (3, 4), F16), sample("any", (3, 4), F16, 1)
    found = run("SquareSumAll", x1, x2)
    for y, x in zip(found, (x1, x2), strict=True):
        assert_close(y, np.array((x.astype(F64) ** 2).sum()).astype(F16))


def test_no_axes():
    x = sample("any", (3,), F32)
    assert_close(run("SquareSumV1", x, axis=[], noop_with_empty_axes=True)[0], x * x)
    assert run("EuclideanNormD", np.array([3, 4], I32))[0] == 5


@pytest.mark.parametrize(("number", "dtype"), [(28, F16), (0, F32), (3, I32)])
def test_mean_with_cast(number, dtype):
    x = sample("any", (3, 4), F16)
    expected = x.astype(F64).mean(axis=1).astype(F32).astype(dtype)
    assert_close(run("ReduceMeanWithCast", x, np.array([1]), dtype=number)[0], expected)
    whole = np.array([1, 2, 4], I32)
    assert run("ReduceMeanWithCast", whole, np.array(0), dtype=0)[0] == F32(7 / 3)


@pytest.mark.parametrize("keep", [False, True])
@pytest.mark.parametrize("axes", AXES)
@pytest.mark.parametrize("dtype", [F32, F16])
def test_spreads(dtype, axes, keep):
    x = sample("any", (3, 4, 5), dtype)
    wide, along = x.astype(F64), {"axis": tuple(axes) or None, "keepdims": keep}
    mean = np.asarray(wide.mean(**along)).astype(dtype)
    for less in (0, 1, 2):
        variance = np.asarray(wide.var(ddof=less, **along))
        attrs = {"dim": axes, "correction": less, "keepdim": keep}
        found = run("ReduceVar", x, **attrs)
        assert_close(found[0], variance.astype(dtype), 4)
        assert_close(found[1], mean, 8)
        assert_close(run("ReduceStdV2", x, **attrs)[0], np.sqrt(variance).astype(dtype), 4)
        if less < 2:
            found = run("ReduceStd", x, dim=axes, unbiased=bool(less), keepdim=keep)
            assert_close(found[0], np.sqrt(variance).astype(dtype), 4)
            assert_close(found[1], mean, 8)


def test_spread_of_one_element_is_not_defined():
    assert np.isnan(run("ReduceVar", np.ones(1, F32))[0])
    assert run("ReduceVar", np.ones(1, F32), correction=0)[0] == 0
