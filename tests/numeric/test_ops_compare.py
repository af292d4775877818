"""Comparison, logic and selection: onnxruntime or a formula against `evaluate`."""

import numpy as np
import pytest
from op_witness import BF16, F16, F32, F64, I32, I64, assert_close, run_ge, run_onnx, sample

PAIRS = [((2, 3), (2, 3)), ((2, 1, 4), (3, 1)), ((), (3,)), ((), ()), ((0, 3), (1, 3))]
NUMBERS = (F32, F16, BF16, F64, I32, I64)

COMPARISONS = [
    ("Equal", "Equal", False),
    ("NotEqual", "Equal", True),
    ("Less", "Less", False),
    ("LessEqual", "LessOrEqual", False),
    ("Greater", "Greater", False),
    ("GreaterEqual", "GreaterOrEqual", False),
]


@pytest.mark.parametrize("dtype", NUMBERS, ids=lambda d: np.dtype(d).name)
@pytest.mark.parametrize(("ge_type", "onnx_type", "inverted"), COMPARISONS)
def test_comparisons(ge_type, onnx_type, inverted, dtype):
    for first, second in PAIRS:
        # Whole numbers from a short range, so that equal pairs do occur.
        x1 = np.asarray(np.round(sample("unit", first, F64) * 2)).astype(dtype)
        x2 = np.asarray(np.round(sample("unit", second, F64, seed=1) * 2)).astype(dtype)
        expected = run_onnx(onnx_type, x1, x2)
        assert_close(run_ge(ge_type, x1, x2), ~expected if inverted else expected)


@pytest.mark.parametrize("dtype", [F32, F16, BF16])
def test_nan_differs_from_all(dtype):
    x = np.array([np.nan, 1, 2]).astype(dtype)
    expected = {
        "Equal": [0, 1, 1],
        "NotEqual": [1, 0, 0],
        "LessEqual": [0, 1, 1],
        "GreaterEqual": [0, 1, 1],
        "Less": [0, 0, 0],
        "Greater": [0, 0, 0],
    }
    for op_type, truth in expected.items():
        assert run_ge(op_type, x, x).tolist() == [bool(t) for t in truth]


def test_strings_compare():
    a, b = np.array(["x", "y"], object), np.array(["x", "z"], object)
    assert run_ge("Equal", a, b, constant=False).tolist() == [True, False]


def test_logic():
    for first, second in PAIRS:
        a, b = sample("any", first, np.bool_), sample("any", second, np.bool_, seed=1)
        assert_close(run_ge("LogicalAnd", a, b), run_onnx("And", a, b))
        assert_close(run_ge("LogicalOr", a, b), run_onnx("Or", a, b))
        assert_close(run_ge("LogicalNot", a), run_onnx("Not", a))


def test_numbers_are_true_when_not_zero():
    a, b = np.array([0, -1, 0, 0.5]).astype(F16), np.array([0, 0, np.nan, 2]).astype(F16)
    assert run_ge("LogicalOr", a, b).tolist() == [False, True, True, True]


TRIPLES = [
    ((2, 3), (2, 3), (2, 3)),
    ((3,), (2, 1), ()),
    ((2, 1, 1), (3, 1), (4,)),
    ((), (), ()),
    ((0, 3), (1, 3), (3,)),
]


@pytest.mark.parametrize(
    "dtype", [F32, F16, F64, I32, I64, np.bool_], ids=lambda d: str(np.dtype(d))
)
def test_select_v2(dtype):
    for shapes in TRIPLES:
        condition = sample("any", shapes[0], np.bool_)
        then, other = (sample("any", s, dtype, seed=i) for i, s in enumerate(shapes[1:], 1))
        if dtype == F16:
            expected = np.where(condition, then, other)
        elif dtype == np.bool_:
            expected = (condition & then) | (~condition & other)
        else:
            expected = run_onnx("Where", condition, then, other)
        assert_close(run_ge("SelectV2", condition, then, other), expected)


@pytest.mark.parametrize("dtype", [F32, BF16, I64], ids=lambda d: str(np.dtype(d)))
def test_select_indexes_leading_dimensions(dtype):
    x1, x2 = sample("any", (2, 3, 4), dtype), sample("any", (2, 3, 4), dtype, seed=1)
    for shape in ((), (2,), (2, 3), (2, 3, 4)):
        condition = sample("any", shape, np.bool_, seed=2)
        found = run_ge("Select", condition, x1, x2)
        expected = x2.copy()
        expected[condition] = x1[condition]
        assert_close(found, expected)


@pytest.mark.parametrize("dtype", [F32, F16, BF16, I32], ids=lambda d: str(np.dtype(d)))
def test_masked_fill(dtype):
    for shape, mask_shape in (((2, 3), (3,)), ((3,), (2, 1)), ((), ()), ((0, 2), (2,))):
        x, mask = sample("any", shape, dtype), sample("any", mask_shape, np.bool_, seed=1)
        value = np.array([7]).astype(dtype)
        expected = np.array(np.broadcast_to(x, np.broadcast_shapes(shape, mask_shape)))
        expected[np.broadcast_to(mask, expected.shape)] = value[0]
        assert_close(run_ge("MaskedFill", x, mask, value), expected)
