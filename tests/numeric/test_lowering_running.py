"""Running extremes, log sums, histograms, spectra and correlations, against `evaluate`."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lowered_op import check_op
from op_witness import F16, F32, I32, I64, sample


def f(*shape, seed=0):
    return sample("any", shape, F32, seed)


def few(*shape, seed=5):
    """Values of which many are equal."""
    return np.random.default_rng(seed).integers(-3, 4, shape).astype(F32)


def ints(values, dtype=I64):
    return np.array(values, dtype)


KNOWN = ("range", "nbins", "min", "max", "window")
CASES = {
    "Cummax": [
        ([few(5, 37)], {"dim": 1}),
        ([np.where(few(9, 4, 3) > 2, np.nan, few(9, 4, 3))], {"dim": 0}),
    ],
    "Cummin": [([few(4, 6, 5)], {"axis": 1})],
    "CumulativeLogsumexp": [([f(5, 33), ints(1)], {"reverse": True})],
    "CumulativeLogsumexpD": [
        ([f(7, 4)], {"axis": 0, "exclusive": True}),
        ([np.where(f(4, 7) > 2, -np.inf, f(4, 7))], {"axis": 1}),
    ],
    "Histogram": [
        ([f(37, 90)], {"bins": 13, "min": -2.0, "max": 2.5}),
        ([np.where(f(50) > 2, np.nan, few(50))], {"bins": 6, "min": -3.0, "max": 3.0}),
    ],
    "HistogramV2": [([few(40, 70), f(1) * 0 - 2, f(1) * 0 + 3], {"bins": 5})],
    "HistogramFixedWidth": [([f(2500), np.array([-2, 3], F32), ints(7, I32)], {})],
    "HistogramFixedWidthD": [([few(9, 9), np.array([-3, 3], F32)], {"nbins": 6})],
    "Correlation": [
        ([f(2, 3, 3, 2, seed=1), f(2, 3, 8, 9)], {}),
        ([f(2, 3, 3, 2, seed=1), f(2, 3, 8, 9)], {"groups": 3}),
    ],
}  # fmt: skip
"""Op type -> operands and attributes."""
RUNS = [(name, i) for name, cases in CASES.items() for i in range(len(cases))]


@pytest.mark.parametrize("dtype", [F32, F16])
@pytest.mark.parametrize(("op_type", "which"), RUNS)
def test_runs(op_type, which, dtype):
    inputs, attrs = CASES[op_type][which]
    given = [a.astype(dtype) if a.dtype == F32 else a for a in inputs]
    check_op(op_type, *given, known=KNOWN, checked=True, **attrs)


@pytest.mark.parametrize("op_type", CASES)
def test_runs_on_another_chip(op_type):
    inputs, attrs = CASES[op_type][0]
    check_op(op_type, *inputs, known=KNOWN, chip="Ascend950PR_958x", **attrs)


@pytest.mark.parametrize("dtype", [I32, I64])
def test_permutations_are_inverted(dtype):
    check_op("InvertPermutation", np.random.default_rng(0).permutation(50).astype(dtype))


def test_spectra():
    x, window = f(2, 300), np.hanning(40).astype(F32)
    attrs = {"n_fft": 64, "hop_length": 16, "return_complex": False}
    check_op("STFT", x, None, normalized=True, **attrs)
    check_op("STFT", x[0], window, known=KNOWN, win_length=40, onesided=False, **attrs)


@settings(max_examples=15, deadline=None, derandomize=True, database=None)
@given(
    bins=st.integers(1, 9),
    low=st.integers(-40, 20),
    width=st.integers(1, 60),
    seed=st.integers(0, 99),
)
def test_values_on_the_ends_of_bins_are_counted_as_they_are(bins, low, width, seed):
    x = np.random.default_rng(seed).integers(-50, 50, 200).astype(F32) / 10
    ends = np.array([low / 10, (low + width) / 10], F32)
    check_op("HistogramFixedWidthD", x, ends, known=KNOWN, nbins=bins)
    check_op("Histogram", x, bins=bins, min=float(ends[0]), max=float(ends[1]))


REFUSED = [
    ("Cummax", [f(5000)], {"dim": 0}, "for a run over 5000 elements"),
    ("Cummax", [ints([1, 2])], {"dim": 0}, "for a run of element type DT_INT64"),
    ("Histogram", [f(50)], {"bins": 5}, "for a range that the data tell"),
    ("Histogram", [ints([1, 2], I32)], {"bins": 5}, "for a histogram of element type DT_INT32"),
    ("HistogramFixedWidthD", [ints([1, 2], I32), ints([0, 5], I32)], {"nbins": 5},
     "for a histogram of element type DT_INT32"),
    ("Histogram", [f(300, 1000)], {"bins": 999, "min": -1.0, "max": 1.0},
     "for 999 bins of 300000 values"),
]  # fmt: skip


@pytest.mark.parametrize(("op_type", "inputs", "attrs", "why"), REFUSED)
def test_runs_that_stay_calls_say_why(op_type, inputs, attrs, why):
    check_op(op_type, *inputs, why=why, known=KNOWN, **attrs)
