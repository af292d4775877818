"""Sorting and the largest elements: onnxruntime and Python's sort against `evaluate`."""

import numpy as np
import pytest
from op_runs import make, onnx_outputs, run
from op_witness import BF16, F16, F32, I32, I64, U8, assert_close, sample

KINDS = (F32, F16, BF16, I32, U8)


def few_values(shape, dtype):
    return sample("any", shape, I32).astype(dtype)


def by_python(x, axis, descending):
    """Stable sorting of each line with Python's `sorted`."""
    values, places = np.empty_like(x), np.empty(x.shape, I64)
    for line in np.ndindex(np.delete(x.shape, axis).tolist() and tuple(np.delete(x.shape, axis))):
        spot = [*line[: axis % x.ndim], slice(None), *line[axis % x.ndim :]]
        row = x[tuple(spot)]
        order = sorted(
            range(row.size), key=lambda i, r=row: -float(r[i]) if descending else float(r[i])
        )
        values[tuple(spot)], places[tuple(spot)] = row[order], order
    return values, places


@pytest.mark.parametrize("dtype", KINDS)
@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_sort(axis, descending, dtype):
    x = few_values((3, 4, 5), dtype)
    values, places = by_python(x, axis, descending)
    y1, y2 = run("Sort", x, axis=axis, descending=descending)
    assert_close(y1, values)
    assert_close(y2, places.astype(I32))
    index = places.astype(I64) * 10
    attrs = {"axis": axis, "descending": descending}
    y, moved = run("SortWithIndex", x, np.argsort(np.argsort(index, axis), axis), **attrs)
    assert_close(y, values)
    assert moved.shape == x.shape
    if dtype not in (I32, U8):
        assert_close(run("SortV2", x, **attrs)[0], values)


def test_sort_with_index_moves_the_index():
    x, index = np.array([3, 1, 2], F32), np.array([30, 10, 20], I64)
    assert_close(run("SortWithIndex", x, index)[1], np.array([10, 20, 30], I64))


def test_nan_is_largest():
    x = np.array([1, np.nan, 3, np.nan], F32)
    assert_close(run("Sort", x, y2_dtype=9)[1], np.array([0, 2, 1, 3], I64))
    assert_close(run("Sort", x, y2_dtype=9, descending=True)[1], np.array([1, 3, 2, 0], I64))


def test_scalars_are_sorted():
    one = np.array(4.0, F32)
    assert_close(run("Sort", one)[1], np.array(0, I32))
    assert_close(run("SortV2", one)[0], one)
    assert_close(run("SortWithIndex", one, np.array(7, I32))[1], np.array(7, I32))


@pytest.mark.parametrize("dtype", [F32, F16, I32])
@pytest.mark.parametrize("largest", [True, False])
@pytest.mark.parametrize(("axis", "k"), [(-1, 3), (0, 2), (1, 4), (1, 0)])
def test_top_k_as_onnx(axis, k, largest, dtype):
    x = np.random.default_rng(3).permutation(60).reshape(3, 4, 5).astype(dtype)
    wide = x.astype(F32) if dtype == F16 else x
    values, places = onnx_outputs(
        "TopK", wide, np.array([k], I64), count=2, axis=axis, largest=int(largest)
    )
    assist, attrs = np.zeros(4, F16), {"dim": axis, "largest": largest}
    for op, inputs, more in (
        ("TopK", [np.array(k, I32)], {}),
        ("TopKV2", [np.array(k, I64)], {"indices_dtype": 9}),
        ("TopKV2D", [np.array(k, I32), assist], {}),
        ("TopKD", [assist], {"k": k}),
    ):
        found = run(op, x, *inputs, **attrs, **more)
        assert_close(found[0], values.astype(dtype))
        assert_close(found[1], places.astype(I64 if more.get("indices_dtype") else I32))


def test_top_k_takes_the_first_of_equal_elements():
    values, places = run("TopK", np.array([1, 3, 3, 2, 3], F32), np.array(2, I32))
    assert_close(values, np.array([3, 3], F32))
    assert_close(places, np.array([1, 2], I32))


@pytest.mark.parametrize("reverse", [False, True])
def test_nth_element(reverse):
    x = sample("any", (3, 5), F16)
    for n in range(5):
        expected = [sorted(row.tolist(), reverse=reverse)[n] for row in x]
        y = run("NthElement", x, np.array(n, I32), reverse=reverse)[0]
        assert_close(y, np.array(expected, F16))


@pytest.mark.parametrize("k", [1, 2, 3, 9])
def test_in_top_k(k):
    scores = np.array([[3, 1, 2], [1, 1, 0], [5, 5, 5], [1, 2, np.inf], [1, 2, 3], [1, 2, 3]], F32)
    targets = np.array([2, 1, 2, 1, 3, -1], I32)
    better = [1, 0, 0]
    expected = np.array([b < k for b in better] + [False] * 3)
    assert_close(run("InTopKD", scores, targets, k=k)[0], expected)
    for op in ("InTopK", "InTopKV2"):
        assert_close(run(op, scores, targets, np.array(k, I32))[0], expected)


def test_in_top_k_of_no_classes():
    found = run("InTopKD", np.zeros((2, 0), F32), np.zeros(2, I32), k=1)[0]
    assert_close(found, np.zeros(2, bool))


@pytest.mark.parametrize(
    ("op_type", "name", "value", "text"),
    [
        ("TopK", "k", 4, r"k is 4, expected 0 to 3"),
        ("TopK", "k", [1, 2], r"k is 2, expected one element"),
        ("NthElement", "n", 3, r"n is 3, expected one in \[0, 3\)"),
    ],
)
def test_refused_values(op_type, name, value, text):
    x = np.zeros((2, 3), F32)
    op = make(op_type, (x, np.array(1, I32)), False)
    with pytest.raises(ValueError, match=text):
        op.execute([x, np.array(value, I32)])
