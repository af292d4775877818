"""Positions of extremes: onnxruntime and numpy against `evaluate`."""

import numpy as np
import pytest
from op_runs import make, onnx_outputs, run
from op_witness import BF16, F16, F32, I32, I64, assert_close, sample

TYPES = {I32: 3, I64: 9}


def few_values(shape, dtype):
    return sample("any", shape, I32).astype(dtype)


@pytest.mark.parametrize("dtype", [F32, F16, BF16, I32])
@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize(("op", "onnx_op"), [("ArgMaxV2", "ArgMax"), ("ArgMin", "ArgMin")])
def test_arg_as_onnx(op, onnx_op, axis, dtype):
    x = few_values((3, 4, 5), dtype)
    for kind, number in TYPES.items():
        y = run(op, x, np.array(axis, I32), dtype=number)[0]
        wide = x.astype(F32) if dtype != I32 else x
        expected = onnx_outputs(onnx_op, wide, axis=axis, keepdims=0)[0]
        assert_close(y, expected.astype(kind))


@pytest.mark.parametrize("op", ["ArgMaxV2", "ArgMin"])
def test_nan_comes_first(op):
    x = np.array([1, np.nan, 5, np.nan], F32)
    assert_close(run(op, x, np.array([0]))[0], np.array(1, I64))
    assert_close(run(op, np.array(2.0, F32), np.array(0))[0], np.array(0, I64))


@pytest.mark.parametrize(("op", "onnx_op"), [("ArgMaxD", "ArgMax"), ("ArgMinD", "ArgMin")])
def test_attribute_forms(op, onnx_op):
    x = few_values((3, 4, 5), F32)
    for axis in (0, 2, -2):
        expected = onnx_outputs(onnx_op, x, axis=axis, keepdims=0)[0]
        assert_close(run(op, x, dimension=axis)[0], expected.astype(I32))


@pytest.mark.parametrize("keep", [False, True])
@pytest.mark.parametrize("axis", [0, -1])
@pytest.mark.parametrize("dtype", [F32, BF16, I64])
def test_with_value(dtype, axis, keep):
    x = few_values((3, 4, 5), dtype)
    wide = x.astype(np.float64)
    for op, arg, best in (("Max", np.argmax, np.max), ("Min", np.argmin, np.min)):
        attrs = {"dimension": axis, "keep_dims": keep}
        places, values = run(f"Arg{op}WithValue", x, **attrs)
        assert_close(places, arg(wide, axis=axis, keepdims=keep).astype(I32))
        assert_close(values, best(wide, axis=axis, keepdims=keep).astype(dtype))


def test_with_value_of_a_scalar():
    places, values = run("ArgMaxWithValue", np.array(3.0, F32), dimension=0, indice_dtype=9)
    assert_close(places, np.array(0, I64))
    assert_close(values, np.array(3.0, F32))


def test_nothing_to_choose_from():
    op = make("ArgMaxD", (np.zeros((2, 0), F32),), True, attrs={"dimension": 1})
    with pytest.raises(ValueError, match="dimension 1 of x is 0, expected at least 1"):
        op.execute([np.zeros((2, 0), F32)])


@pytest.mark.parametrize("op", ["ArgMaxGrad", "ArgMaxGradD"])
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_grad_puts_updates_along_the_dimension(op, axis):
    var = sample("any", (3, 4, 5), F32)
    reduced = np.zeros((3, 4, 5)).sum(axis=axis).shape
    indices = np.random.default_rng(1).integers(0, 3, reduced).astype(I32)
    updates = sample("any", reduced, F32, 2)
    expected = var.copy()
    for place in np.ndindex(reduced):
        spot = list(place)
        spot.insert(axis % 3, indices[place])
        expected[tuple(spot)] = updates[place]
    extra = [np.arange(5).astype(F32)] if op == "ArgMaxGradD" else []
    assert_close(run(op, var, indices, updates, *extra, dimension=axis)[0], expected)


def test_grad_outside():
    arrays = [np.zeros((2, 3), F32), np.array([3, 0], I32), np.zeros(2, F32)]
    op = make("ArgMaxGrad", arrays, True, attrs={"dimension": 1})
    with pytest.raises(ValueError, match="indices reach from 0 to 3, expected 0 to 2"):
        op.execute(arrays)


@pytest.mark.parametrize("dtype", [F32, F16, BF16])
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_hard_max_as_onnx(axis, dtype):
    x = few_values((3, 4, 5), dtype)
    expected = onnx_outputs("Hardmax", x.astype(F32), axis=axis)[0].astype(dtype)
    assert_close(run("HardMax", x, axis=axis)[0], expected)
