"""Elementwise ops: onnxruntime or a formula against `evaluate`."""

import math

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
    run_ge,
    run_onnx,
    sample,
)

PAIRS = [
    ((2, 3), (2, 3)),
    ((2, 1, 4), (3, 1)),
    ((), (3,)),
    ((), ()),
    ((0, 3), (1, 3)),
    ((1,), (2, 0)),
    ((5, 7), (7,)),
]
FLOATS = (F32, F16, BF16)
INTS = (I32, I64)

BINARY = [
    ("Add", "Add", {}, (*FLOATS, F64, *INTS), "any"),
    ("Sub", "Sub", {}, (*FLOATS, F64, *INTS), "any"),
    ("Mul", "Mul", {}, (*FLOATS, F64, *INTS), "any"),
    ("Div", "Div", {}, (*FLOATS, F64), "nonzero"),
    ("RealDiv", "Div", {}, (*FLOATS, F64, *INTS), "nonzero"),
    ("TruncateDiv", "Div", {}, INTS, "nonzero"),
    ("Pow", "Pow", {}, FLOATS, "positive"),
    ("Maximum", "Max", {}, (*FLOATS, F64, *INTS), "any"),
    ("Minimum", "Min", {}, (*FLOATS, F64, *INTS), "any"),
    ("Mod", "Mod", {"fmod": 1}, (*FLOATS, *INTS, I8, U8), "nonzero"),
    ("FloorMod", "Mod", {}, INTS, "nonzero"),
]


def rows(table):
    return [
        pytest.param(*row, np.dtype(dtype), id=f"{row[0]}-{np.dtype(dtype).name}")
        for *row, dtypes in table
        for dtype in dtypes
    ]


@pytest.mark.parametrize(
    ("ge_type", "onnx_type", "attrs", "kind", "dtype"),
    rows([(a, b, c, e, d) for a, b, c, d, e in BINARY]),
)
def test_binary_against_onnxruntime(ge_type, onnx_type, attrs, kind, dtype):
    for first, second in PAIRS:
        x1, x2 = sample(kind, first, dtype), sample(kind, second, dtype, seed=1)
        expected = run_onnx(onnx_type, x1, x2, **attrs)
        assert_close(run_ge(ge_type, x1, x2), expected)


def divide(x1, x2, rounding):
    return [rounding(a / b) for a, b in zip(x1, x2, strict=True)]


SIGNS = np.array([7, -7, 7, -7, 6, -6, 0, 9]), np.array([2, 2, -2, -2, 3, 3, 5, -9])


@pytest.mark.parametrize("dtype", [F32, F64, F16, BF16, I8, I32, I64])
@pytest.mark.parametrize(
    ("ge_type", "formula"),
    [
        ("FloorDiv", lambda a, b: math.floor(a / b)),
        ("TruncateDiv", lambda a, b: math.trunc(a / b)),
        ("FloorMod", lambda a, b: a - math.floor(a / b) * b),
        ("Mod", lambda a, b: a - math.trunc(a / b) * b),
        ("SquaredDifference", lambda a, b: (a - b) ** 2 if abs(a - b) < 11 else None),
    ],
)
def test_rounding_of_quotients(ge_type, formula, dtype):
    pairs = [(a, b) for a, b in zip(*SIGNS, strict=True) if formula(a, b) is not None]
    x1, x2 = (np.array(column).astype(dtype) for column in zip(*pairs, strict=True))
    expected = np.array([formula(int(a), int(b)) for a, b in pairs]).astype(dtype)
    assert_close(run_ge(ge_type, x1, x2), expected)


def test_integer_division_differs_between_div_and_real_div():
    x1, x2 = np.array([-7, 7], np.int32), np.array([2, -2], np.int32)
    assert run_ge("Div", x1, x2).tolist() == [-4, -4]
    assert run_ge("RealDiv", x1, x2).tolist() == [-3, -3]
    halves = run_ge("RealDiv", np.array([True, False]), np.array([True, True]))
    assert_close(halves, np.array([1, 0], np.float32))


def test_division_by_zero():
    x1, zero = np.array([1, -1, 0, np.nan], np.float32), np.zeros(4, np.float32)
    assert_close(run_ge("DivNoNan", x1, zero), np.zeros(4, np.float32))
    np.testing.assert_array_equal(run_ge("Div", x1, zero), [np.inf, -np.inf, np.nan, np.nan])
    np.testing.assert_array_equal(run_ge("FloorDiv", x1, zero), [np.inf, -np.inf, np.nan, np.nan])
    integers = np.array([5, -5], np.int32)
    assert run_ge("DivNoNan", integers, np.array([0, 2], np.int32)).tolist() == [0, -3]


def test_booleans_and_strings():
    a, b = np.array([0, 0, 1, 1], bool), np.array([0, 1, 0, 1], bool)
    assert run_ge("Add", a, b).tolist() == [False, True, True, True]
    assert run_ge("Sub", a, b).tolist() == [False, True, True, False]
    assert run_ge("Mul", a, b).tolist() == [False, False, False, True]
    joined = run_ge("Add", np.array(["ab", "c"], object), np.array(["d", "e"], object), constant=0)
    assert joined.tolist() == ["abd", "ce"]


def test_integers_wrap():
    high = np.array([127, -128], np.int8)
    one = np.array([1, 1], np.int8)
    assert run_ge("Add", high, one).tolist() == [-128, -127]
    assert run_ge("Sub", high, one).tolist() == [126, 127]
    assert run_ge("Mul", high, np.array([2, 2], np.int8)).tolist() == [-2, 0]
    assert run_ge("Square", np.array([100000], np.int32)).tolist() == [100000**2 - 2 * 2**32]


def test_nan_propagates_through_maximum_and_minimum():
    x = np.array([1.0, np.nan], np.float32)
    for op_type in ("Maximum", "Minimum"):
        assert np.isnan(run_ge(op_type, x, x[::-1].copy())).all()


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        (F16, F32, "float32"),
        (F16, BF16, "float32"),
        (F16, I64, "float16"),
        (BF16, I32, "bfloat16"),
        (I8, U8, "int16"),
        (I32, I64, "int64"),
        (F64, F32, "float64"),
        (np.bool_, I8, "int8"),
        (np.bool_, BF16, "bfloat16"),
        (np.complex64, F64, "complex128"),
        (np.complex64, I64, "complex64"),
        (BF16, np.complex64, "complex64"),
        (np.uint32, I16, "int64"),
        (U8, np.uint16, "uint16"),
    ],
)
def test_mul_and_pow_promote(first, second, expected):
    x1, x2 = np.array([1, 3]).astype(first), np.array([[1], [2]]).astype(second)
    product = run_ge("Mul", x1, x2)
    assert product.dtype.name == expected
    wide = x1.astype(np.complex128) * x2.astype(np.complex128)
    np.testing.assert_array_equal(product.astype(np.complex128), wide)
    power = run_ge("Pow", x1, x2)
    assert power.dtype.name == expected
    np.testing.assert_allclose(
        power.astype(np.complex128), x1.astype(np.complex128) ** x2.astype(np.complex128)
    )


def test_pow_of_integers_to_a_negative_integer_is_refused():
    with pytest.raises(ValueError, match="exponent is -2, expected none below 0 for integers"):
        run_ge("Pow", np.array([2, 3], np.int32), np.array([1, -2], np.int32))


@pytest.mark.parametrize("dtype", [F32, F16, BF16])
def test_scalars(dtype):
    x = sample("any", (4, 5), dtype)
    wide = x.astype(np.float32)
    assert_close(run_ge("Adds", x, value=0.3), (wide + np.float32(0.3)).astype(dtype))
    assert_close(run_ge("Muls", x, value=-1.7), (wide * np.float32(-1.7)).astype(dtype))
    y = sample("any", (4, 5), dtype, seed=1)
    expected = (wide + y.astype(np.float32) * np.float32(0.25)).astype(dtype)
    assert_close(run_ge("Axpy", x, y, alpha=0.25), expected)


@pytest.mark.parametrize("dtype", [I16, I32, I64])
def test_scalars_truncate_integers(dtype):
    x = np.array([-3, -1, 0, 1, 3], dtype)
    assert run_ge("Muls", x, value=0.5).tolist() == [-1, 0, 0, 0, 1]
    assert run_ge("Adds", x, value=0.75).tolist() == [-2, 0, 0, 1, 3]
    assert run_ge("Adds", x, value=0.75).dtype == dtype


@pytest.mark.parametrize("dtype", [F32, F16, BF16])
@pytest.mark.parametrize(
    ("power", "scale", "shift"), [(2.0, 1.0, 0.0), (0.5, 0.5, 8.0), (-1.0, 1.0, 9.5), (3.0, 0.0, 2)]
)
def test_power(dtype, power, scale, shift):
    x = sample("unit", (3, 4), dtype)
    wide = x.astype(np.float64)
    expected = ((wide * scale + shift) ** power).astype(dtype)
    assert_close(run_ge("Power", x, power=power, scale=scale, shift=shift), expected)


def test_power_edges():
    x = np.array([np.nan, np.inf, -2.0, 0.0], np.float32)
    assert run_ge("Power", x, power=0.0).tolist() == [1, 1, 1, 1]
    assert run_ge("Power", x, power=2.0, scale=0.0, shift=3.0).tolist() == [9, 9, 9, 9]
    assert run_ge("Power", x[2:], power=3.0).tolist() == [-8, 0]
    assert np.isnan(run_ge("Power", x[2:3], power=0.5))


@pytest.mark.parametrize("dtype", [F32, F16, I32])
@pytest.mark.parametrize("op_type", ["AddN", "AccumulateNV2"])
@pytest.mark.parametrize("count", [1, 2, 5])
def test_sums(op_type, count, dtype):
    x = [sample("any", (2, 3), dtype, seed=i) for i in range(count)]
    expected = np.sum([a.astype(np.float64) for a in x], axis=0).astype(dtype)
    assert_close(run_ge(op_type, x, N=count), expected, scale=4)


def test_add_n_broadcasts_in_f32():
    x = [np.array([1, 2], np.float16), np.array([[0.5], [2048]], np.float16)]
    x.append(np.array(0.5, np.float16))
    assert run_ge("AddN", x, N=3).tolist() == [[2, 3], [2050, 2050]]


@pytest.mark.parametrize(
    ("shape", "data_format", "axis"),
    [
        ((2, 3, 4, 5), "NCHW", 1),
        ((2, 4, 5, 3), "NHWC", 3),
        ((2, 3, 4, 5, 6), "NCDHW", 1),
        ((2, 6, 4, 5, 3), "NDHWC", 4),
        ((2, 3), "NCHW", 1),
        ((0, 3), "NHWC", 1),
    ],
)
def test_bias_add(shape, data_format, axis):
    for dtype in (F32, F16, I32):
        x, bias = sample("any", shape, dtype), sample("any", (3,), dtype, seed=1)
        expected = np.moveaxis(x, axis, -1).astype(np.float64) + bias.astype(np.float64)
        expected = np.moveaxis(expected, -1, axis).astype(dtype)
        assert_close(run_ge("BiasAdd", x, bias, data_format=data_format), expected)


@pytest.mark.parametrize("dtype", [F32, F16, BF16, I32, I64])
def test_clip_by_value(dtype):
    x = sample("any", (3, 4), dtype)
    low, high = np.array(-2).astype(dtype), np.array(3).astype(dtype)
    assert_close(run_ge("ClipByValue", x, low, high), run_onnx("Clip", x, low, high))


def test_clip_by_value_lets_the_lower_bound_win_and_keeps_nan():
    x = np.array([0.0, 9.0, np.nan], np.float32)
    found = run_ge("ClipByValue", x, np.float32(5), np.float32(1))
    np.testing.assert_array_equal(found, np.array([5, 5, np.nan], np.float32))


@pytest.mark.parametrize("dtype", [F32, F16, BF16])
def test_ternary(dtype):
    a, b, c = (sample("nonzero", s, dtype, i) for i, s in enumerate([(2, 3), (3,), (2, 1)]))
    x, y, z = (v.astype(np.float32) for v in (a, b, c))
    value = np.array([0.5]).astype(dtype)
    assert_close(run_ge("Lerp", a, b, c), (x + z * (y - x)).astype(dtype), scale=4)
    assert_close(run_ge("FusedMulAdd", a, b, c), (x * y + z).astype(dtype), scale=4)
    assert_close(run_ge("Addcmul", a, b, c, value), (x + y * z / 2).astype(dtype), scale=4)
    assert_close(run_ge("Addcdiv", a, b, c, value), (x + y / z / 2).astype(dtype), scale=4)


def test_addcdiv_truncates_integers():
    one = np.array([1], np.int64)
    found = run_ge("Addcdiv", np.array([0, 0]), np.array([7, -7]), np.array([2, 2]), one)
    assert found.tolist() == [3, -3]
