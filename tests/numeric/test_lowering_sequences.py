"""Places in rows as kernels: against `evaluate`, and against formulas of their own."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lowered_op import check_op
from op_witness import F16, F32, I8, I16, I32, I64, U8, sample

RNG = np.random.default_rng(7)


def ints(values, dtype=I32):
    return np.array(values, dtype)


def drawn(low, high, dtype, *shape):
    return RNG.integers(low, high, shape).astype(dtype)


def boxes(count, dtype=F32):
    corners = RNG.uniform(-20, 90, (count, 4)).astype(dtype)
    corners[0, 0], corners[1, 3] = np.inf, np.nan
    return corners


GRID = {"featmap_size": [7, 9], "strides": [8, 6], "num_base_anchors": 3}
SPLITS = ints([0, 2, 2, 11], I64)
SPARSE = sample("any", (5, 7), F32) * (RNG.random((5, 7)) < 0.4)
LABELS = ints([1, 0, 0, 1, -1, 1, 0, 1, 0, 0, 0])
ORDER = RNG.permutation(11).astype(I32)

CASES = {
    "AnchorResponseFlags": [([boxes(11)], GRID), ([boxes(40, F16)], GRID)],
    "MapIndex": [
        ([ints([1, 2, 3]), ints([1, 2, 9, 1, 2, 3, 1, 2, 3])], {}),
        ([ints([1, 2]), ints([2, 1, 1 << 24, 2])], {}),
        ([ints([5]), ints([5])], {}),
    ],
    "RaggedBinCount": [
        ([SPLITS, RNG.integers(0, 6, 11).astype(kind), ints(4), weights], {"binary_output": binary})
        for kind in (I32, I64)
        for weights in (sample("any", (11,), F32), np.zeros(0, F32))
        for binary in (False, True)
    ],
    "SubSampleLabels": [
        ([LABELS, ORDER], {"batch_size_per_images": size, "positive_fraction": share})
        for size, share in ((4, 0.5), (5, 1.0), (100, 0.25), (0, 0.5), (3, 0.0))
    ],
    "NonZeroWithValue": [
        ([SPARSE.astype(kind)], {}) for kind in (F32, F16, I32)
    ] + [([np.zeros((2, 3), F32)], {}), ([np.full((1, 1), np.nan, F32)], {})],
    "MovingSumWithSigmoid": [
        ([sample("any", (30,), kind), sample("any", (30,), kind), ints([2, 0, 3, 1, 4, 5, 6, 0])],
         {"ksize": size})
        for kind in (F32, F16) for size in (1, 3, 9)
    ],
    "Bincount": [([RNG.integers(0, 9, 40).astype(I32), ints(7), np.zeros(0, F32)], {})],
    "DenseBincount": [([RNG.integers(0, 9, (3, 40)), ints(7), np.zeros(0, F32)], {})],
    "Gcd": [
        ([drawn(-99, 99, I8, 4, 1, 7), drawn(-99, 99, I8, 5, 1)], {}),
        ([drawn(0, 256, U8, 9, 7), drawn(0, 256, U8, 7)], {}),
        ([drawn(-32767, 32768, I16, 9, 7), ints([28657, 17711, 0, 1, -6, 2, 8], I16)], {}),
    ],
}  # fmt: skip


@pytest.mark.parametrize("chip", ["Ascend910B1", "Ascend310P3"])
@pytest.mark.parametrize("op_type", CASES)
def test_places_in_rows(op_type, chip):
    for inputs, attrs in CASES[op_type]:
        check_op(op_type, *inputs, chip=chip, checked=True, known=("offset",), **attrs)


@pytest.mark.parametrize(
    ("dtype", "fibonacci"), [(U8, (233, 144)), (I8, (89, 55)), (I16, (28657, 17711))]
)
def test_numbers_that_need_the_most_divisions(dtype, fibonacci):
    a, b = (ints([n], dtype) for n in fibonacci)
    for pair in ((a, b), (b, a), (a, a), (a * 0, b), (a * 0, b * 0)):
        assert math.gcd(*(int(x[0]) for x in pair)) in (1, fibonacci[0], fibonacci[1], 0)
        check_op("Gcd", *pair, exact=True)


@pytest.mark.parametrize("dtype", [I8, I16])
def test_the_least_number_is_its_own_divisor(dtype):
    least = np.iinfo(dtype).min
    check_op("Gcd", ints([least] * 3, dtype), ints([least, 0, 6], dtype), exact=True)


@settings(max_examples=20, deadline=None, derandomize=True, database=None)
@given(mask=st.lists(st.booleans(), min_size=1, max_size=1300), rows=st.integers(1, 5))
def test_any_number_of_elements_is_put_together(mask, rows):
    x = np.resize(np.array(mask, F32) * 2, (rows, -(-len(mask) // rows)))
    check_op("NonZeroWithValue", x, exact=True)


@pytest.mark.parametrize("dtype", [I32, I64])
def test_numbers_that_f32_does_not_hold_stay_calls(dtype):
    x = ints([12, 18], dtype)
    check_op("Gcd", x, x, why=f"no lowering for element type DT_{np.dtype(dtype).name.upper()}")


def test_many_elements_that_are_put_one_by_one_stay_a_call():
    why = "no lowering for 16384 elements, which are put one by one"
    check_op("NonZeroWithValue", np.ones((128, 128), F32), why=why)


def test_other_weights_than_f32_stay_calls():
    given = [SPLITS, drawn(0, 6, I32, 11), ints(4), drawn(0, 6, I32, 11)]
    check_op("RaggedBinCount", *given, why="no lowering for weights of DT_INT32")
    given = [ints([0, 2048], I64), drawn(0, 6, I32, 2048), ints(1 << 17), drawn(0, 6, F32, 2048)]
    why = "no lowering for 131072 bins of 2048 values"
    check_op("RaggedBinCount", *given, why=why)


@pytest.mark.parametrize("size", [2047, 2048, 2049, 6001])
def test_long_rows_are_compared_by_chunks(size):
    values = drawn(0, 9, I32, size)
    report = check_op("Bincount", values, ints(9), np.zeros(0, F32), exact=True, checked=True)
    assert max(k.us for k in report.kernels) < 2 * max(k.roofline_us for k in report.kernels)
    row = np.sort(sample("any", (size,), F32))
    row[-1] = np.inf
    check_op("SearchSorted", row, sample("any", (3, 5), F32), right=True, exact=True)
    check_op("LowerBound", np.stack([row, row * 2]), sample("any", (2, 7), F32), exact=True)


def test_bins_are_not_stored_before_they_are_summed():
    """What 100 comparisons of each of a million values give would be 400 MB."""
    inputs = [drawn(0, 100, I32, 1 << 18), ints(100), np.zeros(0, F32)]
    report = check_op("Bincount", *inputs, exact=True)
    assert report.us < 150
