"""The acceptance rule: what it lets through and what not, by element type."""

import ml_dtypes
import numpy as np
import pytest

from ge_xdsl.dialects.ge.types import DataType
from ge_xdsl.interpreters.compare import accept

RNG = np.random.default_rng(0)
BASE = RNG.uniform(1, 2, 1000)


@pytest.mark.parametrize(
    ("dtype", "threshold"),
    [(np.float16, 2**-10), (ml_dtypes.bfloat16, 2**-7), (np.float32, 2**-13)],
)
def test_mean_relative_error(dtype, threshold):
    want = BASE.astype(dtype)
    kind = accept(want, want)
    assert kind.ok
    assert kind.max_abs == 0
    wide = want.astype(np.float64)
    names = {2**-10: DataType.DT_FLOAT16, 2**-7: DataType.DT_BF16, 2**-13: DataType.DT_FLOAT}
    assert accept(wide * (1 + 0.9 * threshold), wide, names[threshold]).ok
    assert not accept(wide * (1 + 1.1 * threshold), wide, names[threshold]).ok


def test_one_large_error_is_refused_even_with_a_small_mean():
    want = BASE.astype(np.float32)
    got = want.copy()
    got[3] *= 1 + 11 * 2**-13
    result = accept(got, want)
    assert not result.ok
    assert result.mare == pytest.approx(11 * 2**-13, rel=1e-3)
    assert "max rel 0.00134 of 0.00122" in result.text


def test_small_values_are_held_to_their_absolute_error():
    want = np.full(10, 2.0**-15, np.float32)
    assert accept(want + np.float32(2**-32), want).ok
    result = accept(want + np.float32(2**-20), want)
    assert not result.ok
    assert "10 small values off by more than 9.31e-10" in result.text


def test_integers_are_equal_or_not():
    want = np.arange(9)
    assert accept(want, want).text == "equal"
    assert accept(want + 1, want).text == "9 of 9 elements differ, expected equal ones"


def test_shapes_and_infinities():
    a = np.array([1.0, np.inf, np.nan], np.float32)
    assert accept(a, a).ok
    assert accept(a, a[:2]).text == "shape is (3,), expected (2,)"
    assert accept(a, np.array([1, -np.inf, np.nan], np.float32)).text == (
        "1 infinities or NaNs differ"
    )
    empty = np.zeros(0, np.float32)
    assert accept(empty, empty).text == "no elements"


def test_the_plain_rule():
    want = np.array([100.0, 1e-3], np.float32)
    got = want + np.float32(0.05)
    assert accept(got, want).plain
    assert not accept(got, want).ok
    assert not accept(want + np.float32(0.2), want).plain
