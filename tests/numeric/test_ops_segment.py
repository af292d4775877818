"""Reductions by segment: loops against `evaluate`."""

import numpy as np
import pytest
from op_runs import make, run
from op_witness import BF16, F16, F32, I8, I32, I64, assert_close, sample

HOWS = {"Sum": (np.add, 0), "Prod": (np.multiply, 1), "Max": (np.maximum, None),
        "Min": (np.minimum, None)}  # fmt: skip
LIMITS = {F32: 3.4028235e38, F16: 65504.0, BF16: 3.3895314e38}


def looped(x, ids, count, how):
    combine, neutral = HOWS[how]
    if neutral is None:
        high = LIMITS.get(x.dtype.type) or np.iinfo(x.dtype).max
        low = -LIMITS[x.dtype.type] if x.dtype.type in LIMITS else np.iinfo(x.dtype).min
        neutral = low if how == "Max" else high
    y = np.full((count, *x.shape[ids.ndim :]), neutral, np.float64)
    for place in np.ndindex(ids.shape):
        if ids[place] >= 0:
            y[ids[place]] = combine(y[ids[place]], x[place].astype(np.float64))
    return y.astype(x.dtype)


@pytest.mark.parametrize("dtype", [F32, F16, BF16, I32])
@pytest.mark.parametrize("shape", [(6,), (2, 3), ()])
@pytest.mark.parametrize("how", HOWS)
def test_unsorted(how, shape, dtype):
    x = sample("any", (*shape, 4), dtype)
    ids = np.random.default_rng(1).integers(-1, 3, shape).astype(I32)
    expected = looped(x, ids, 5, how)
    assert_close(run(f"UnsortedSegment{how}", x, ids, np.array(5, I32))[0], expected, 2)
    assert_close(run(f"UnsortedSegment{how}D", x, ids, num_segments=5)[0], expected, 2)


def test_empty_segments_of_integers():
    x, ids = np.array([3], I8), np.array([0], I64)
    assert run("UnsortedSegmentMaxD", x, ids, num_segments=2)[0].tolist() == [3, -128]
    assert run("UnsortedSegmentMinD", x, ids, num_segments=2)[0].tolist() == [3, 127]


@pytest.mark.parametrize("dtype", [F32, F16, I32])
@pytest.mark.parametrize("how", ["Sum", "Max"])
def test_sorted(how, dtype):
    x, ids = sample("any", (5, 3), dtype) - dtype(20), np.array([0, 0, 1, 3, 3], I32)
    expected = looped(x, ids, 4, how)
    expected[2] = 0
    assert_close(run(f"Segment{how}", x, ids)[0], expected)
    assert run(f"Segment{how}", x[:0], ids[:0])[0].shape == (0, 3)


@pytest.mark.parametrize("ids", [[1, 0], [-1, 0]])
def test_sorted_ids_ascend(ids):
    arrays = [np.zeros(2, F32), np.array(ids, I32)]
    op = make("SegmentSum", arrays, True)
    with pytest.raises(ValueError, match="segment_ids do not ascend from 0, expected sorted ones"):
        op.execute(arrays)


def test_ids_are_below_the_count():
    arrays = [np.zeros(2, F32), np.array([0, 2], I32)]
    op = make("UnsortedSegmentSumD", arrays, True, attrs={"num_segments": 2})
    with pytest.raises(ValueError, match="segment id is 2, expected one below 2"):
        op.execute(arrays)
