"""Masks and sets of elements: onnxruntime, itertools and loops against `evaluate`."""

from itertools import groupby

import numpy as np
import pytest
from op_runs import make, onnx_outputs, run
from op_witness import BF16, F16, F32, I8, I32, I64, assert_close, sample

DTYPES = (F32, F16, BF16, I32, I8)


def few_values(shape, dtype, seed=0):
    return (sample("any", shape, I32, seed) // 3).astype(dtype)


@pytest.mark.parametrize("op", ["MaskedSelect", "MaskedSelectV2"])
@pytest.mark.parametrize(
    ("shape", "mask_shape"), [((3, 4), (3, 4)), ((3, 4), (4,)), ((4,), (2, 4))]
)
def test_masked_select(shape, mask_shape, op):
    x, mask = sample("any", shape, F16), sample("any", mask_shape, bool)
    wide = np.zeros(np.broadcast_shapes(shape, mask_shape), F16) + x
    picked = [wide[p] for p in np.ndindex(wide.shape) if np.broadcast_to(mask, wide.shape)[p]]
    assert_close(run(op, x, mask)[0], np.array(picked, F16))


@pytest.mark.parametrize("dtype", DTYPES)
def test_unique_as_onnx(dtype):
    x = few_values((20,), dtype)
    wide = x.astype(F32)
    y, _, inverse, counts = onnx_outputs("Unique", wide, count=4, sorted=0)
    found = run("Unique", x)
    assert_close(found[0], y.astype(dtype))
    assert_close(found[1], inverse.astype(I32))
    found = run("UniqueWithCounts", x, out_idx=9)
    assert_close(found[0], y.astype(dtype))
    assert_close(found[1], inverse)
    assert_close(found[2], counts)


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_unique_along_an_axis_as_onnx(axis):
    x = few_values((6, 5), F32)
    x[4] = x[1]
    x[:, 3] = x[:, 0]
    y, _, inverse, counts = onnx_outputs("Unique", x, count=4, sorted=0, axis=axis)
    found = run("UniqueExt2", x, np.array([axis], I32))
    assert_close(found[0], y)
    assert_close(found[1], inverse.astype(I32))
    found = run("UniqueWithCountsExt2", x, np.array([axis], I64), out_idx=9)
    assert_close(found[0], y)
    assert_close(found[2], counts)


def test_unique_without_an_axis():
    x = few_values((9,), F32)
    expected = run("Unique", x)
    for found, wanted in zip(run("UniqueExt2", x, np.zeros(0, I32)), expected, strict=True):
        assert_close(found, wanted)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(24,), (4, 6), (0,), ()])
def test_unique_consecutive_flat(shape, dtype):
    x = few_values(shape, dtype)
    runs = [(k, len(list(g))) for k, g in groupby(x.reshape(-1).tolist())]
    y, idx, counts = run("UniqueConsecutive", x, return_idx=True, return_counts=True)
    assert_close(y, np.array([k for k, _ in runs], dtype))
    numbers = [i for i, (_, n) in enumerate(runs) for _ in range(n)]
    assert_close(idx, np.array(numbers, I64).reshape(shape))
    assert_close(counts, np.array([n for _, n in runs], I64))


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_unique_consecutive_along_an_axis(axis):
    x = np.moveaxis(np.array([[1, 2], [1, 2], [3, 4], [1, 2]], F32), 0, axis)
    attrs = {"axis": axis, "return_idx": True, "return_counts": True, "out_idx": 3}
    y, idx, counts = run("UniqueConsecutive", x, **attrs)
    assert_close(y, np.moveaxis(np.array([[1, 2], [3, 4], [1, 2]], F32), 0, axis))
    assert_close(idx, np.array([0, 0, 1, 2], I32))
    assert_close(counts, np.array([2, 1, 1], I32))


def test_what_is_not_asked_for_is_empty():
    for op in ("UniqueConsecutive", "UniqueWithCountsAndSorting"):
        _, numbers, counts = run(op, np.array([1, 1, 2], F32))
        assert numbers.size == counts.size == 0


@pytest.mark.parametrize("dtype", DTYPES)
def test_sorted_unique_as_onnx(dtype):
    x = few_values((4, 6), dtype)
    y, _, inverse, counts = onnx_outputs("Unique", x.astype(F32), count=4, sorted=1)
    attrs = {"return_inverse": True, "return_counts": True}
    found = run("UniqueWithCountsAndSorting", x, **attrs)
    assert_close(found[0], y.astype(dtype))
    assert_close(found[1], inverse.reshape(4, 6))
    assert_close(found[2], counts)


@pytest.mark.parametrize("dtype", DTYPES)
def test_list_diff(dtype):
    x, y = few_values((12,), dtype), few_values((4,), dtype, 1)
    kept = [i for i, v in enumerate(x.tolist()) if v not in y.tolist()]
    out, idx = run("ListDiff", x, y)
    assert_close(out, x[kept])
    assert_close(idx, np.array(kept, I32))


def test_invert_permutation():
    x = np.array([2, 0, 3, 1], I32)
    assert_close(run("InvertPermutation", x)[0], np.array([1, 3, 0, 2], I32))
    op = make("InvertPermutation", [x], True)
    with pytest.raises(ValueError, match="x is no permutation of 0 to 3, expected one"):
        op.execute([np.array([0, 0, 1, 2], I32)])


def test_axis_of_a_matrix_is_needed():
    x = np.zeros((2, 2), F32)
    op = make("UniqueExt2", [x, np.array([0], I32)], False)
    with pytest.raises(ValueError, match="x is 2x2, expected rank 1"):
        op.execute([x, np.zeros(0, I32)])
