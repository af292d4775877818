"""Elementwise maths on one operand: onnxruntime or a formula against `evaluate`."""

import math

import numpy as np
import pytest
from op_witness import BF16, F16, F32, F64, I8, I32, I64, assert_close, run_ge, run_onnx, sample

SHAPES = [(), (3,), (0, 2), (2, 3, 4)]
FLOATS = (F32, F16, BF16)

UNARY = [
    ("Abs", "Abs", (*FLOATS, F64, I8, I32, I64), "any"),
    ("Neg", "Neg", (*FLOATS, F64, I8, I32, I64), "any"),
    ("Sign", "Sign", (*FLOATS, F64, I8, I32, I64), "any"),
    ("Reciprocal", "Reciprocal", (*FLOATS, F64), "nonzero"),
    ("Sqrt", "Sqrt", (*FLOATS, F64), "positive"),
    ("Exp", "Exp", (*FLOATS, F64), "any"),
    ("Log", "Log", (*FLOATS, F64), "positive"),
    ("Erf", "Erf", (*FLOATS,), "any"),
    ("Sin", "Sin", (*FLOATS, F64), "any"),
    ("Cos", "Cos", (*FLOATS, F64), "any"),
    ("Atan", "Atan", FLOATS, "any"),
    ("Sinh", "Sinh", FLOATS, "any"),
    ("Cosh", "Cosh", FLOATS, "any"),
    ("Asinh", "Asinh", FLOATS, "any"),
    ("Acosh", "Acosh", FLOATS, "above"),
    ("Atanh", "Atanh", FLOATS, "unit"),
    ("Floor", "Floor", (*FLOATS, F64), "any"),
    ("Ceil", "Ceil", (*FLOATS, F64), "any"),
    ("Round", "Round", (*FLOATS, F64), "any"),
    ("IsNan", "IsNaN", (F32, F64, F16), "any"),
    ("IsInf", "IsInf", (F32, F64), "any"),
]


@pytest.mark.parametrize(
    ("ge_type", "onnx_type", "kind", "dtype"),
    [
        pytest.param(a, b, kind, dtype, id=f"{a}-{np.dtype(dtype).name}")
        for a, b, dtypes, kind in UNARY
        for dtype in dtypes
    ],
)
def test_unary_against_onnxruntime(ge_type, onnx_type, kind, dtype):
    for shape in SHAPES:
        x = sample(kind, shape, dtype)
        assert_close(run_ge(ge_type, x), run_onnx(onnx_type, x))


FORMULAS = [
    ("Rsqrt", "positive", lambda v: 1 / math.sqrt(v)),
    ("Square", "any", lambda v: v * v),
    ("Expm1", "unit", math.expm1),
    ("Log1p", "positive", math.log1p),
    ("Erfc", "any", math.erfc),
    ("IsFinite", "any", math.isfinite),
]


@pytest.mark.parametrize("dtype", [F32, F16, BF16, F64])
@pytest.mark.parametrize(("ge_type", "kind", "formula"), FORMULAS, ids=[row[0] for row in FORMULAS])
def test_unary_against_a_formula(ge_type, kind, formula, dtype):
    for shape in SHAPES:
        x = sample(kind, shape, dtype)
        expected = np.array([formula(float(v)) for v in x.reshape(-1)]).reshape(shape)
        to = np.bool_ if ge_type == "IsFinite" else dtype
        assert_close(run_ge(ge_type, x), expected.astype(to))


EDGES = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 0.5, 1.5, 2.5, -0.5, -1.5])


@pytest.mark.parametrize(
    ("ge_type", "expected"),
    [
        ("Sign", [0, 1, -1, 0, 0, 1, 1, 1, -1, -1]),
        ("Round", [np.nan, np.inf, -np.inf, 0, 0, 0, 2, 2, 0, -2]),
        ("Abs", [np.nan, np.inf, np.inf, 0, 0, 0.5, 1.5, 2.5, 0.5, 1.5]),
        ("Reciprocal", [np.nan, 0, 0, np.inf, -np.inf, 2, 1 / 1.5, 0.4, -2, -1 / 1.5]),
        ("Sqrt", [np.nan, np.inf, np.nan, 0, 0, *(v**0.5 for v in (0.5, 1.5, 2.5)), *[np.nan] * 2]),
        ("IsNan", [1] + [0] * 9),
        ("IsInf", [0, 1, 1] + [0] * 7),
        ("IsFinite", [0, 0, 0] + [1] * 7),
        ("Exp", [np.nan, np.inf, 0, 1, 1, *np.exp([0.5, 1.5, 2.5, -0.5, -1.5])]),
        ("Erf", [np.nan, 1, -1, 0, 0, *(math.erf(v) for v in (0.5, 1.5, 2.5, -0.5, -1.5))]),
    ],
)
def test_special_values(ge_type, expected):
    for dtype in (F32, F16, BF16):
        found = run_ge(ge_type, EDGES.astype(dtype))
        np.testing.assert_allclose(
            found.astype(np.float64), np.array(expected, np.float64), rtol=2**-8
        )


def test_rounding_to_decimals():
    x = np.array([0.125, 12.375, -7.77, 1234.5], np.float32)
    assert_close(run_ge("Round", x, decimals=2), np.array([0.12, 12.38, -7.77, 1234.5], np.float32))
    assert run_ge("Round", np.array([15, 25, -14], np.int32), decimals=-1).tolist() == [20, 20, -10]


@pytest.mark.parametrize("dtype", [F32, F16, BF16])
@pytest.mark.parametrize(
    ("base", "scale", "shift"), [(2.0, 1.0, 0.0), (10.0, 0.5, 0.25), (-1.0, -1.0, 1.5)]
)
def test_exp_and_log_to_a_base(dtype, base, scale, shift):
    x = sample("unit", (3, 4), dtype)
    wide = x.astype(np.float64)
    number = math.e if base == -1 else base
    expected = number ** (scale * wide + shift)
    found = run_ge("Exp", x, base=base, scale=scale, shift=shift)
    assert_close(found, expected.astype(dtype), scale=2)
    inner = scale * wide + shift + 2
    expected = (np.log(inner) / math.log(number)).astype(dtype)
    found = run_ge("Log", x, base=base, scale=scale, shift=shift + 2)
    assert_close(found, expected, scale=2)


def test_log_of_integers_is_f32():
    found = run_ge("Log", np.array([1, 8, 0], np.int32), base=2.0)
    assert_close(found, np.array([0, 3, -np.inf], np.float32))


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_complex(dtype):
    x = np.array([3 + 4j, 0, -2j], dtype)
    assert run_ge("Abs", x).tolist() == [5, 0, 2]
    np.testing.assert_allclose(run_ge("Sign", x), [0.6 + 0.8j, 0, -1j], rtol=1e-6)
    y = run_ge("Sqrt", x)
    np.testing.assert_allclose(y * y, x, rtol=1e-6, atol=1e-6)


def test_the_smallest_integer_stays():
    assert run_ge("Abs", np.array([-128, -127], np.int8)).tolist() == [-128, 127]
