"""Gathering, finding and making numbers: onnxruntime or numpy against `evaluate`."""

import numpy as np
import pytest
from op_runs import make, onnx_outputs, run
from op_witness import BF16, F16, F32, F64, I32, I64, U8, assert_close, sample

ANY = (F32, F16, BF16, I64, np.bool_)


@pytest.mark.parametrize("dtype", ANY)
@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("shape", [(), (3,), (2, 2), (0,)])
def test_gather_v2_as_onnx(shape, axis, dtype):
    x = sample("any", (4, 5, 6), dtype)
    indices = np.random.default_rng(1).integers(-4, 4, shape)
    wide = x.astype(F32) if dtype in (F16, BF16) else x
    expected = onnx_outputs("Gather", wide, indices, axis=axis)[0].astype(dtype)
    y = run("GatherV2", x, indices, np.array(axis, I32), negative_index_support=True)[0]
    assert_close(y, expected)


@pytest.mark.parametrize("batch_dims", [1, 2, -1])
@pytest.mark.parametrize("axis", [2, 3])
def test_gather_v2_with_batch_dimensions(batch_dims, axis):
    x = sample("any", (2, 3, 4, 5), F32)
    indices = np.random.default_rng(1).integers(0, 4, (2, 3, 2))
    batch = batch_dims % 3
    y = run("GatherV2", x, indices, np.array(axis, I64), batch_dims=batch_dims)[0]
    rows = [
        np.take(x[place], indices[place], axis=axis - batch)
        for place in np.ndindex(x.shape[:batch])
    ]
    assert_close(y, np.stack(rows).reshape(*x.shape[:batch], *rows[0].shape))


@pytest.mark.parametrize(
    ("indices", "support", "text"),
    [
        ([0, -1], False, r"index is -1, expected one in \[0, 3\)"),
        ([3], True, r"index is 3, expected one in \[-3, 3\)"),
    ],
)
def test_gather_v2_outside(indices, support, text):
    x, indices, axis = sample("any", (3,), F32), np.array(indices), np.array(0)
    op = make("GatherV2", (x, indices, axis), True, attrs={"negative_index_support": support})
    with pytest.raises(ValueError, match=text):
        op.execute([x, indices, axis])


@pytest.mark.parametrize("dim", [0, 1, -1])
@pytest.mark.parametrize("index_type", [I32, I64])
def test_gather_elements_as_onnx(dim, index_type):
    x = sample("any", (4, 5, 6), F32)
    shape = [4, 5, 6]
    shape[dim] = 3
    index = np.random.default_rng(1).integers(-4, 4, shape).astype(index_type)
    expected = onnx_outputs("GatherElements", x, index, axis=dim)[0]
    assert_close(run("GatherElements", x, index, dim=dim)[0], expected)


def test_gather_elements_of_a_part():
    x = sample("any", (4, 5), F32)
    index = np.array([[3, 0], [1, 1]], I64)
    assert_close(run("GatherElements", x, index)[0], np.take_along_axis(x[:, :2], index, 0))


@pytest.mark.parametrize("axis", [-1, 0, 1, 2])
@pytest.mark.parametrize(("dtype", "value_type"), [(I32, F32), (I64, BF16), (U8, I32)])
def test_one_hot(axis, dtype, value_type):
    x = np.array([[0, 2, 9], [1, 3, 2]], dtype)
    on, off = np.array([5], value_type), np.array([2], value_type)
    y = run("OneHot", x, np.array(4, I32), on, off, axis=axis)[0]
    values = np.array([2, 5], F32)
    expected = onnx_outputs("OneHot", x.astype(I64), np.array(4, I64), values, axis=axis)[0]
    assert_close(y, expected.astype(value_type))


def test_one_hot_turns_negative_numbers_off():
    y = run("OneHot", np.array([-1, 1], I64), np.array([2], I64), *np.array([[1], [0]], F32))[0]
    assert_close(y, np.array([[0, 0], [0, 1]], F32))
    empty = run("OneHot", np.array([1], I64), np.array([-3], I64), *np.array([[1], [0]], F32))[0]
    assert empty.shape == (1, 0)


@pytest.mark.parametrize("dtype", [F32, I64, np.bool_])
@pytest.mark.parametrize("shape", [(7,), (3, 4), (0, 2)])
def test_where_and_non_zero_as_onnx(shape, dtype):
    x = (np.random.default_rng(1).integers(0, 2, shape)).astype(dtype)
    expected = onnx_outputs("NonZero", x)[0]
    assert_close(run("NonZero", x, transpose=True)[0], expected)
    assert_close(run("NonZero", x, dtype=3)[0], expected.T.astype(I32))
    assert_close(run("Where", x)[0], expected.T)


@pytest.mark.parametrize("dtype", ANY)
@pytest.mark.parametrize("shape", [(), (3,), (2, 0), (2, 3, 4)])
def test_fill(shape, dtype):
    value = np.array(1, dtype)
    for operand in (value, value.reshape(1)):
        y = run("Fill", np.array(shape, I64), operand)[0]
        assert_close(y, np.ones(shape, dtype))


@pytest.mark.parametrize("dtype", [F32, F64, I32, I64])
@pytest.mark.parametrize("numbers", [(0, 5, 1), (7, -2, -3), (3, 3, 1), (-4, 9, 4)])
def test_range_as_onnx(numbers, dtype):
    given = [np.array(v, dtype) for v in numbers]
    assert_close(run("Range", *given)[0], onnx_outputs("Range", *given)[0])


@pytest.mark.parametrize(
    ("numbers", "dtype", "expected"),
    [
        ((0, 6, 2), I32, [0, 2, 4, 6]),
        ((0, 5, 2), I64, [0, 2, 4]),
        ((6, 0, -3), F32, [6, 3, 0]),
        ((0, 1, 0.25), F16, [0, 0.25, 0.5, 0.75, 1]),
        ((1, 2, 0.5), BF16, [1, 1.5, 2]),
    ],
)
def test_closed_range(numbers, dtype, expected):
    given = [np.array(v, dtype) for v in numbers]
    assert_close(run("Range", *given, is_closed=True)[0], np.array(expected, dtype))


def test_range_of_mixed_types_is_f32():
    y = run("Range", np.array(1, I32), np.array(3, F32), np.array(0.5, F32))[0]
    assert_close(y, np.array([1, 1.5, 2, 2.5], F32))
