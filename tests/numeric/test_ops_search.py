"""Bisection, bins and counts: Python's bisect, numpy's histogram and loops against `evaluate`."""

from bisect import bisect_left, bisect_right

import numpy as np
import pytest
from op_runs import make, run
from op_witness import BF16, F16, F32, I8, I16, I32, I64, U8, assert_close, sample

DTYPES = (F32, F16, BF16, I32)


def few_values(shape, dtype, seed=0):
    return sample("any", shape, I32, seed).astype(dtype)


def bisected(rows, values, right):
    """Per leading row, where each value belongs."""
    find = bisect_right if right else bisect_left
    found = np.empty(values.shape, I64)
    for place in np.ndindex(values.shape):
        row = rows if rows.ndim == 1 else rows[place[:-1]]
        found[place] = find(row.tolist(), values[place])
    return found


@pytest.mark.parametrize("right", [False, True])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(6,), (2, 3, 6), (2, 3, 0)])
def test_search_sorted(shape, dtype, right):
    rows = np.sort(few_values(shape, dtype), axis=-1)
    values = few_values((2, 3, 4), dtype, 1)
    out = run("SearchSorted", rows, values, right=right)[0]
    assert_close(out, bisected(rows, values, right))
    out = run("SearchSorted", rows, values, right=right, dtype=3)[0]
    assert_close(out, bisected(rows, values, right).astype(I32))


def test_search_sorted_with_the_order_given():
    rows, values = few_values((2, 5), F32), few_values((2, 3), F32, 1)
    sorter = np.argsort(rows, axis=-1)
    expected = bisected(np.sort(rows, axis=-1), values, False)
    assert_close(run("SearchSorted", rows, values, sorter)[0], expected)
    expected = bisected(np.sort(rows[0]), values, True)
    assert_close(run("SearchSorted", rows[0], values, sorter[0], right=True)[0], expected)


@pytest.mark.parametrize("dtype", DTYPES)
def test_bounds(dtype):
    rows, values = np.sort(few_values((3, 6), dtype), axis=-1), few_values((3, 4), dtype, 1)
    for kind, number in ((I32, 3), (I64, 9)):
        lower = run("LowerBound", rows, values, out_type=number)[0]
        assert_close(lower, bisected(rows, values, False).astype(kind))
        upper = run("UpperBound", rows, values, out_type=number)[0]
        assert_close(upper, bisected(rows, values, True).astype(kind))


@pytest.mark.parametrize("right", [False, True])
@pytest.mark.parametrize("dtype", DTYPES)
def test_bucketize(dtype, right):
    x, bounds = few_values((3, 4), dtype), [-3.0, 0.0, 0.0, 5.0]
    expected = bisected(np.array(bounds), x.astype(np.float64), right)
    assert_close(run("Bucketize", x, boundaries=bounds, right=right)[0], expected.astype(I32))
    y = run("BucketizeV2", x, np.array(bounds).astype(dtype), right=right)[0]
    assert_close(y, expected)
    y = run("BucketizeV2", x, np.array(bounds).astype(dtype), right=right, out_int32=True)[0]
    assert_close(y, expected.astype(I32))


def test_bucketize_defaults_differ():
    x, bounds = np.array([5.0], F32), np.array([5.0], F32)
    assert run("Bucketize", x, boundaries=[5.0])[0].tolist() == [1]
    assert run("BucketizeV2", x, bounds)[0].tolist() == [0]


@pytest.mark.parametrize(("low", "high"), [(-2.0, 3.0), (0.0, 0.0), (1.0, 7.0)])
def test_histogram_of_floats(low, high):
    x = np.append(sample("any", (300,), F32), [low, high, np.nan]).astype(F32)
    if low == high:
        x = x[:-1]
    given = (x.min(), x.max()) if low == high else (low, high)
    expected = np.histogram(x[~np.isnan(x)], bins=7, range=given)[0]
    assert_close(run("Histogram", x, bins=7, min=low, max=high)[0], expected.astype(F32))
    bounds = np.array([low], F32), np.array([high], F32)
    y = run("HistogramV2", x, *bounds, bins=7)[0]
    assert_close(y, expected.astype(I32))
    assert run("HistogramV2", x, *bounds, bins=7, y_dtype=0)[0].dtype == F32


@pytest.mark.parametrize("dtype", [I8, I16, I32, I64, U8])
def test_histogram_divides_integers_as_integers(dtype):
    x = np.random.default_rng(0).integers(0, 30, 200).astype(dtype)
    expected = [0] * 7
    for v in x.tolist():
        if 2 <= v <= 25:
            expected[min((v - 2) * 7 // 23, 6)] += 1
    found = run("Histogram", x, bins=7, min=2.0, max=25.0)[0]
    assert_close(found, np.array(expected, dtype))
    y = run("HistogramV2", x, np.array(2, dtype), np.array(25, dtype), bins=7)[0]
    assert_close(y, np.array(expected, I32))


def test_histogram_of_equal_or_no_elements():
    assert_close(run("Histogram", np.full(4, 2, F32), bins=4)[0], np.array([0, 0, 4, 0], F32))
    assert_close(run("Histogram", np.zeros(0, F32), bins=2)[0], np.zeros(2, F32))
    assert run("Histogram", np.zeros(3, F16), bins=1)[0].dtype == F32


@pytest.mark.parametrize("dtype", [F32, I32])
def test_histogram_fixed_width(dtype):
    x = np.array([-5, -1, 0, 1, 2, 3, 4, 5, 9], dtype)
    span = np.array([0, 5], dtype)
    expected = np.histogram(np.clip(x, 0, 5), bins=5, range=(0, 5))[0].astype(I32)
    assert_close(run("HistogramFixedWidth", x, span, np.array(5, I32))[0], expected)
    assert_close(run("HistogramFixedWidthD", x, span, nbins=5)[0], expected)


@pytest.mark.parametrize("dtype", [F32, I32])
def test_bincount(dtype):
    array = np.array([[0, 2, 2], [5, 1, 2]], I32)
    weights = np.array([[1, 2, 3], [4, 5, 6]], dtype)
    size = np.array(4, I32)
    assert_close(run("Bincount", array, size, weights)[0], np.array([1, 5, 11, 0], dtype))
    assert_close(run("Bincount", array, size, weights[0, :0])[0], np.array([1, 1, 3, 0], dtype))
    rows = run("DenseBincount", array, size, weights)[0]
    assert_close(rows, np.array([[1, 0, 5, 0], [0, 5, 6, 0]], dtype))
    rows = run("DenseBincount", array, size, weights[0, :0], binary_output=True)[0]
    assert_close(rows, np.array([[1, 0, 1, 0], [0, 1, 1, 0]], dtype))
    one = run("DenseBincount", array[0], size, weights[0])[0]
    assert_close(one, np.array([1, 0, 5, 0], dtype))


@pytest.mark.parametrize(("word", "kind"), [("float32", F32), ("int32", I32), ("uint8", U8)])
def test_confusion_matrix(word, kind):
    labels, predictions = np.array([0, 1, 1, 2], I32), np.array([0, 1, 2, 2], I32)
    attrs = {"num_classes": 3, "dtype": word}
    y = run("ConfusionMatrix", labels, predictions, None, **attrs)[0]
    assert_close(y, np.array([[1, 0, 0], [0, 1, 1], [0, 0, 1]], kind))
    y = run("ConfusionMatrix", labels, predictions, np.array([2, 3, 4, 5], I32), **attrs)[0]
    assert_close(y, np.array([[2, 0, 0], [0, 3, 4], [0, 0, 5]], kind))


@pytest.mark.parametrize(
    ("op_type", "arrays", "attrs", "text"),
    [
        (
            "Histogram",
            [np.array([1, np.inf], F32)],
            {},
            "range is 1.0 to inf, expected finite ascending bounds",
        ),
        (
            "HistogramFixedWidthD",
            [np.zeros(2, F32), np.array([1, 1], F32)],
            {"nbins": 2},
            "range is 1.0 to 1.0, expected finite ascending bounds",
        ),
        (
            "HistogramFixedWidthD",
            [np.array([np.nan], F32), np.array([0, 1], F32)],
            {"nbins": 2},
            "x has NaN, expected numbers",
        ),
        (
            "Bincount",
            [np.array([-1], I32), np.array(2, I32), np.zeros(0, F32)],
            {},
            "array has -1, expected none negative",
        ),
        (
            "DenseBincount",
            [np.array([-1], I32), np.array(2, I32), np.zeros(0, F32)],
            {},
            "input has -1, expected none negative",
        ),
        (
            "ConfusionMatrix",
            [np.array([0], I32), np.array([3], I32)],
            {"num_classes": 3, "dtype": "int32"},
            "classes reach from 0 to 3, expected 0 to 2",
        ),
    ],
)
def test_refused_values(op_type, arrays, attrs, text):
    op = make(op_type, arrays, True, attrs=attrs)
    with pytest.raises(ValueError, match=text):
        op.execute(arrays)
