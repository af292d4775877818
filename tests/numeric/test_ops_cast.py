"""Casts and copies: onnxruntime or a formula against `evaluate`."""

import ml_dtypes
import numpy as np
import pytest
from op_witness import (
    BF16,
    F16,
    F32,
    F64,
    I8,
    I16,
    I32,
    I64,
    U8,
    assert_close,
    build,
    run_ge,
    run_onnx,
    sample,
)

from ge_xdsl.dialects.ge.types import DataType, tensor_of

NUMBERS = {
    F32: DataType.DT_FLOAT,
    F16: DataType.DT_FLOAT16,
    BF16: DataType.DT_BF16,
    F64: DataType.DT_DOUBLE,
    I8: DataType.DT_INT8,
    U8: DataType.DT_UINT8,
    I16: DataType.DT_INT16,
    I32: DataType.DT_INT32,
    I64: DataType.DT_INT64,
    np.bool_: DataType.DT_BOOL,
}
ONNX_NUMBERS = {F32: 1, U8: 2, I8: 3, I16: 5, I32: 6, I64: 7, np.bool_: 9, F16: 10, F64: 11}
"""ONNX's own numbers for element types."""


@pytest.mark.parametrize("source", list(ONNX_NUMBERS), ids=lambda d: np.dtype(d).name)
@pytest.mark.parametrize("to", list(ONNX_NUMBERS), ids=lambda d: np.dtype(d).name)
def test_cast_in_range_against_onnxruntime(source, to):
    if source == F16:
        x = np.array([0, -0.75, 1.5, 2.25, 100.5, 0.1]).astype(source)
    else:
        x = sample("positive" if U8 in (source, to) else "any", (3, 4), source)
    expected = run_onnx("Cast", x.astype(F32) if source == F16 else x, to=ONNX_NUMBERS[to])
    found = run_ge("Cast", x, dst_type=int(NUMBERS[to]))
    np.testing.assert_array_equal(found, expected.astype(to))
    assert found.dtype == to


@pytest.mark.parametrize("source", [F32, F64, F16, BF16], ids=lambda d: np.dtype(d).name)
@pytest.mark.parametrize("to", [I8, U8, I16, I32, I64], ids=lambda d: np.dtype(d).name)
def test_float_to_integer_truncates_and_saturates(source, to):
    values = [1.9, -1.9, 0.5, -0.5, 127, 300, -300, 7e4, -7e4, 1e10, -1e10, 1e30, -1e30]
    with np.errstate(over="ignore"):
        x = np.array([*values, np.inf, -np.inf, np.nan]).astype(source)
    limits = np.iinfo(to)
    expected = [
        0
        if np.isnan(v)
        else limits.max
        if v >= limits.max
        else limits.min
        if v <= limits.min
        else int(v)
        for v in x.astype(np.float64).tolist()
    ]
    assert run_ge("Cast", x, dst_type=int(NUMBERS[to])).tolist() == expected


def test_integers_wrap_and_anything_but_zero_is_true():
    x = np.array([300, -1, 256, 0], np.int32)
    assert run_ge("Cast", x, dst_type=int(DataType.DT_INT8)).tolist() == [44, -1, 0, 0]
    assert run_ge("Cast", x, dst_type=int(DataType.DT_UINT8)).tolist() == [44, 255, 0, 0]
    floats = np.array([0.0, -0.0, 0.3, np.nan, np.inf], np.float32)
    found = run_ge("Cast", floats, dst_type=int(DataType.DT_BOOL))
    assert found.tolist() == [False, False, True, True, True]


def test_float_rounding_is_to_nearest_even():
    x = np.array([1 + 2**-11, 1 + 3 * 2**-11, 65520, -1e9], np.float32)
    half = run_ge("Cast", x, dst_type=int(DataType.DT_FLOAT16))
    assert half.astype(np.float64).tolist() == [1, 1 + 2**-9, np.inf, -np.inf]
    x = np.array([1 + 2**-8, 1 + 3 * 2**-8], np.float32)
    brain = run_ge("Cast", x, dst_type=int(DataType.DT_BF16))
    assert brain.astype(np.float64).tolist() == [1, 1 + 2**-6]


@pytest.mark.parametrize(
    ("name", "values", "expected"),
    [
        ("DT_INT4", [1.9, -9, 9, -2.5, np.nan], [1, -8, 7, -2, 0]),
        ("DT_FLOAT8_E4M3FN", [1.0, 0.3, 448], [1, 0.3125, 448]),
        ("DT_FLOAT8_E5M2", [1.0, 0.3, 1e6], [1, 0.3125, np.inf]),
    ],
)
def test_small_types(name, values, expected):
    small = run_ge("Cast", np.array(values, np.float32), dst_type=int(DataType[name]))
    assert small.astype(np.float64).tolist() == expected
    back = run_ge("Cast", small, dst_type=int(DataType.DT_FLOAT), constant=False)
    assert back.tolist() == expected
    if name == "DT_INT4":
        wide = run_ge("Cast", small, dst_type=int(DataType.DT_INT32), constant=False)
        assert wide.tolist() == expected
        assert small.dtype == ml_dtypes.int4


def test_complex_drops_the_imaginary_part():
    x = np.array([1.5 + 2j, -3j], np.complex64)
    assert run_ge("Cast", x, dst_type=int(DataType.DT_FLOAT)).tolist() == [1.5, 0]
    assert run_ge("Cast", x, dst_type=int(DataType.DT_BOOL)).tolist() == [True, True]
    real = np.array([2], np.int32)
    assert run_ge("Cast", real, dst_type=int(DataType.DT_COMPLEX64)).dtype == np.complex64


@pytest.mark.parametrize("shape", [(), (0, 3), (2, 1, 3)])
def test_shape_is_kept(shape):
    x = sample("any", shape, F32)
    assert run_ge("Cast", x, dst_type=int(DataType.DT_INT64)).shape == shape


def test_cast_to_a_type_without_numpy_type_infers_but_does_not_run():
    op = build("Cast", np.zeros((2,), np.float32), dst_type=int(DataType.DT_COMPLEX32))
    assert tensor_of(op.y.type).dtype is DataType.DT_COMPLEX32
    with pytest.raises(ValueError, match="DT_COMPLEX32 has no numpy type"):
        op.execute([np.zeros((2,), np.float32)])


def test_cast_like():
    x, target = np.array([1.7, -2.2, 300], np.float32), np.zeros((1,), np.int8)
    assert run_ge("CastLike", x, target).tolist() == [1, -2, 127]


@pytest.mark.parametrize("dtype", list(NUMBERS), ids=lambda d: np.dtype(d).name)
def test_copies(dtype):
    for shape in ((), (0, 2), (2, 3)):
        x = sample("any", shape, dtype)
        assert_close(run_ge("Identity", x), x)
        assert_close(run_ge("TensorMove", x), x)
        assert_close(run_ge("ZerosLike", x), np.zeros(shape, dtype))
        assert_close(run_ge("OnesLike", x), np.ones(shape, dtype))


def test_identity_n():
    x = [np.array([1.5], np.float32), np.array([2, 3], np.int64)]
    op = build("IdentityN", x)
    found = op.execute(x)
    assert [a.tolist() for a in found] == [[1.5], [2, 3]]
    assert [tensor_of(r.type).dtype.name for r in op.results] == ["DT_FLOAT", "DT_INT64"]
