"""Reductions: onnxruntime or a formula against `evaluate`."""

import itertools

import numpy as np
import pytest
from op_witness import (
    BF16,
    F16,
    F32,
    F64,
    I8,
    I32,
    I64,
    assert_close,
    build,
    run_ge,
    run_onnx,
    sample,
)

from ge_xdsl.dialects.ge.types import DYNAMIC, tensor_of

KINDS = ["ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd"]
AXES = [[0], [-1], [0, 2], [1, 0], [0, 1, 2]]


@pytest.mark.parametrize("dtype", [F32, F16, BF16, F64, I32, I64], ids=lambda d: np.dtype(d).name)
@pytest.mark.parametrize("op_type", KINDS)
def test_reduce_against_onnxruntime(op_type, dtype):
    for axes, keep in itertools.product(AXES, (False, True)):
        x = sample("any", (2, 3, 4), dtype)
        if op_type == "ReduceProd":
            x = np.sign(x).astype(dtype) + x / 4 if np.dtype(dtype).kind != "i" else x % 4
            x = x.astype(dtype)
        expected = run_onnx(op_type, x, np.array(axes, np.int64), keepdims=int(keep))
        found = run_ge(op_type, x, np.array(axes, np.int32), keep_dims=keep)
        assert_close(found, expected, scale=4)
        assert_close(run_ge(f"{op_type}D", x, axes=axes, keep_dims=keep), expected, scale=4)


@pytest.mark.parametrize("op_type", KINDS)
def test_empty_axes(op_type):
    x = sample("any", (2, 3), F32)
    none = np.zeros((0,), np.int64)
    everything = run_onnx(op_type, x, keepdims=0)
    assert_close(run_ge(op_type, x, none), x)
    assert_close(run_ge(op_type, x, none, noop_with_empty_axes=False), everything, scale=4)
    assert_close(run_ge(f"{op_type}D", x, axes=[]), everything, scale=4)
    kept = run_ge(op_type, x, none, noop_with_empty_axes=False, keep_dims=True)
    assert_close(kept, everything.reshape(1, 1), scale=4)


def test_reduce_mean_d_can_keep_all():
    x = sample("any", (2, 3), F32)
    assert_close(run_ge("ReduceMeanD", x, axes=[], noop_with_empty_axes=True), x)


def test_axes_may_repeat_and_be_scalar():
    x = sample("any", (2, 3, 4), F32)
    expected = x.astype(F64).sum(axis=1).astype(F32)
    assert_close(run_ge("ReduceSum", x, np.int32(1)), expected)
    assert_close(run_ge("ReduceSum", x, np.array([1, -2, 1])), expected)
    assert_close(run_ge("ReduceSumD", x, axes=[-2, 1]), expected)


def test_scalar_stays_scalar():
    for op_type in KINDS:
        found = run_ge(op_type, np.float32(2.5), np.array([0], np.int32))
        assert found.shape == ()
        assert found == 2.5


def test_zero_size():
    x = np.zeros((2, 0, 3), np.float32)
    for op_type, expected in zip(KINDS, (0, np.nan, -np.inf, np.inf, 1), strict=True):
        found = run_ge(op_type, x, np.array([1]))
        np.testing.assert_array_equal(found, np.full((2, 3), expected, np.float32))
        assert run_ge(op_type, x, np.array([0])).shape == (0, 3)
    whole = np.zeros((0,), np.int8)
    assert run_ge("ReduceMax", whole, np.array([0])) == -128
    assert run_ge("ReduceMin", whole, np.array([0])) == 127
    assert run_ge("ReduceMean", whole, np.array([0])) == 0


@pytest.mark.parametrize("axes", [[0], [1], [0, 1]])
def test_maximum_and_minimum_of_bools(axes):
    x = np.array([[True, False, False], [True, True, False]])
    for op_type, ends in (("ReduceMax", np.any), ("ReduceMin", np.all)):
        found = run_ge(op_type, x, np.array(axes, np.int32), keep_dims=False)
        np.testing.assert_array_equal(found, ends(x, tuple(axes)))


def test_integers_keep_their_type():
    x = np.array([100, 100, -3], np.int8)
    axis = np.array([0])
    assert run_ge("ReduceSum", x, axis) == np.int8(197 - 256)
    assert run_ge("ReduceProd", x, axis) == np.array(-30000).astype(np.int8)
    assert run_ge("ReduceMean", np.array([-3, 0], I8), axis) == -1
    assert run_ge("ReduceMean", np.array([3, 4], I32), axis) == 3


def test_halves_accumulate_in_f32():
    x = np.full((4096,), 1.0, F16)
    x[0] = 2048
    assert run_ge("ReduceSum", x, np.array([0])) == 6144  # f16 sums stop at 2048
    x = np.full((300,), 300.0, F16)
    assert run_ge("ReduceMean", x, np.array([0])) == 300  # the sum is beyond f16


def test_nan_propagates():
    x = np.array([[1, np.nan], [2, 3]], np.float32)
    for op_type in KINDS:
        assert np.isnan(run_ge(op_type, x, np.array([1]))).tolist() == [True, False]


@pytest.mark.parametrize("keep", [False, True])
@pytest.mark.parametrize("axes", [[0], [-1], [0, 1], []])
def test_all_and_any(axes, keep):
    x = np.array([[0, 1, 1], [0, 1, 0]], bool)
    gone = {a % 2 for a in axes} or {0, 1}
    for op_type, initial in (("ReduceAll", True), ("ReduceAny", False)):
        shape = [1 if i in gone else n for i, n in enumerate(x.shape)]
        expected = np.full(shape, initial)
        for i, j in np.ndindex(x.shape):
            place = tuple(0 if d in gone else k for d, k in enumerate((i, j)))
            both = (expected[place], x[i, j])
            expected[place] = all(both) if initial else any(both)
        if not keep:
            expected = expected.reshape([n for i, n in enumerate(x.shape) if i not in gone])
        found = run_ge(op_type, x, np.array(axes, np.int32), keep_dims=keep)
        assert_close(found, expected)
        assert_close(run_ge(f"{op_type}D", x, axes=axes, keep_dims=keep), expected)
        assert_close(
            run_ge(op_type, x.astype(F32), np.array(axes, np.int32), keep_dims=keep), expected
        )


def shape_of(op):
    return tensor_of(op.y.type).shape


def test_axes_that_are_not_known():
    x, axes = np.zeros((2, 1, 4), np.float32), np.array([0, 2], np.int32)
    unknown = {"constant": False}
    assert shape_of(build("ReduceSum", x, axes, **unknown)) == (DYNAMIC,)
    kept = build("ReduceSum", x, axes, keep_dims=True, **unknown)
    assert shape_of(kept) == (DYNAMIC, 1, DYNAMIC)
    none = np.zeros((0,), np.int32)
    assert shape_of(build("ReduceSum", x, none, **unknown)) == (2, 1, 4)
    assert shape_of(build("ReduceAll", x, none, **unknown)) == ()
    found = run_ge("ReduceSum", x, axes, constant=False)
    assert found.shape == (1,)
