"""Ragged sequences, sparse rows and picks against plain loops."""

import numpy as np
import pytest
from op_runs import run
from op_witness import F16, F32, F64, I32, I64, assert_close, sample


@pytest.mark.parametrize("dtype", [F32, F16, I32])
@pytest.mark.parametrize("lengths", [([1, 2], [2, 3]), ([0, 3], [4, 1]), ([], [])])
def test_outer_sums(lengths, dtype):
    first, second = lengths
    a, b = sample("any", (sum(first), 3), dtype), sample("any", (sum(second), 3), dtype, 1)
    (found,) = run("DynSeqOuter", a, b, np.array(first, I32), np.array(second, I32))
    rows = []
    for i in range(len(first)):
        x, y = a[sum(first[:i]) :], b[sum(second[:i]) :]
        rows += [x[f] + y[g] for g in range(second[i]) for f in range(first[i])]
    np.testing.assert_array_equal(found, np.array(rows, dtype).reshape(-1, 3))


@pytest.mark.parametrize("ksize", [1, 2, 9])
def test_moving_sums(ksize):
    beams, frames = [2, 1, 0], [3, 4, 2]
    alpha, energy = sample("unit", (10,), F32), sample("any", (10,), F32, 1)
    (found,) = run(
        "MovingSumWithSigmoid", alpha, energy, np.array(beams + frames, I32), ksize=ksize
    )
    wanted = np.zeros((3, 9))
    start = 0
    for i in range(3):
        for r, c in np.ndindex(beams[i], frames[i]):
            at = start + r * frames[i] + c
            total = alpha[at : at + min(ksize, frames[i] - c)].astype(F64).sum()
            wanted[sum(beams[:i]) + r, sum(frames[:i]) + c] = total / (
                1 + np.exp(-float(energy[at]))
            )
        start += beams[i] * frames[i]
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("axis", [0, 1, -1, 10000])
@pytest.mark.parametrize("out_max_val", [False, True])
def test_arg_max_with_k(out_max_val, axis):
    x = np.round(sample("any", (3, 4, 5), F32))
    indices, values = run("ArgMaxWithK", x, axis=axis, topk=2, out_max_val=out_max_val)
    rows = x.reshape(3, 20) if axis == 10000 else np.moveaxis(x, axis, -1)
    flat = rows.reshape(-1, rows.shape[-1])
    order = [sorted(range(row.size), key=lambda i: (-row[i], i))[:2] for row in flat]
    picks = np.array(order, I32).reshape(*rows.shape[:-1], 2)
    best = np.take_along_axis(rows, picks, -1)
    if axis != 10000:
        picks, best = np.moveaxis(picks, -1, axis), np.moveaxis(best, -1, axis)
    np.testing.assert_array_equal(values, best)
    np.testing.assert_array_equal(indices, best if out_max_val and axis != 10000 else picks)


def test_non_zero_with_value():
    x = np.array([[0, 2.5, -0.0], [np.nan, 0, -1]], F32)
    value, index, count = run("NonZeroWithValue", x)
    assert count.tolist() == [3]
    np.testing.assert_array_equal(value[:3], [2.5, np.nan, -1])
    np.testing.assert_array_equal(index.reshape(2, 6)[:, :3], [[0, 1, 1], [1, 0, 2]])


@pytest.mark.parametrize("binary", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_ragged_counts(weighted, binary):
    splits, values = np.array([0, 3, 3, 6], I64), np.array([1, 1, 5, 0, 3, 1], I32)
    weights = sample("any", (6 if weighted else 0,), F32)
    (found,) = run(
        "RaggedBinCount", splits, values, np.array([4], I32), weights, binary_output=binary
    )
    wanted = np.zeros((3, 4))
    for row in range(3):
        for i in range(splits[row], splits[row + 1]):
            if values[i] < 4:
                added = weights[i] if weighted else 1
                wanted[row, values[i]] = 1 if binary else wanted[row, values[i]] + added
    assert_close(found, wanted.astype(F32))


def test_ragged_counts_refuse_values():
    one = np.zeros(0, F32)

    def refused(text, splits, values):
        operands = np.array(splits, I64), np.array(values, I32), np.array([4], I32), one
        with pytest.raises(ValueError, match=text):
            run("RaggedBinCount", *operands)

    refused(r"splits are \[0, 2, 1, 3\], expected rising ones from 0 to 3", [0, 2, 1, 3], [1, 1, 1])
    refused(r"splits are \[0, 2\], expected rising ones from 0 to 3", [0, 2], [1, 1, 1])
    refused("a value is -1, expected none negative", [0, 3], [1, -1, 1])


def test_map_index():
    rows = np.array([[1, 2], [3, 4], [1, 2]], I32)
    for x, want in (([3, 4], 1), ([1, 2], 0), ([2, 1], -1)):
        assert run("MapIndex", np.array(x, I32), rows.reshape(-1))[0].tolist() == [want]


@pytest.mark.parametrize(("batch", "fraction"), [(4, 0.5), (6, 0.9), (0, 0.5), (3, 0.0)])
def test_sub_sample_labels(batch, fraction):
    labels = np.array([1, 0, 1, -1, 0, 1, 0, 0], I32)
    order = np.array([5, 3, 1, 7, 0, 6, 2, 4], I32)
    (found,) = run(
        "SubSampleLabels", labels, order, batch_size_per_images=batch, positive_fraction=fraction
    )
    wanted = np.full(8, -1)
    left = int(batch * fraction)
    for place in order:
        if labels[place] == 1 and left > 0:
            wanted[place], left = 1, left - 1
    left = batch - (wanted == 1).sum()
    for place in order:
        if labels[place] == 0 and left > 0:
            wanted[place], left = 0, left - 1
    np.testing.assert_array_equal(found, wanted)
    with pytest.raises(ValueError, match="shuffle_matrix is no permutation, expected each number"):
        run("SubSampleLabels", labels, order * 0, batch_size_per_images=4, positive_fraction=0.5)
