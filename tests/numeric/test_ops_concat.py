"""Joining and splitting: onnxruntime or numpy against `evaluate`."""

import numpy as np
import pytest
from op_runs import onnx_outputs, run
from op_witness import BF16, F16, F32, I8, I32, I64, assert_close, sample

ANY = (F32, F16, BF16, I64, np.bool_)


@pytest.mark.parametrize("dtype", ANY)
@pytest.mark.parametrize(
    ("axis", "lengths"), [(0, (2, 1)), (1, (3, 0, 2)), (-1, (1, 4)), (2, (5,))]
)
def test_concatenations(axis, lengths, dtype):
    shape = [2, 3, 4]
    parts = []
    for seed, length in enumerate(lengths):
        shape[axis] = length
        parts.append(sample("any", shape, dtype, seed))
    expected = np.concatenate(parts, axis)
    if dtype not in (F16, BF16):
        assert_close(expected, onnx_outputs("Concat", *parts, axis=axis)[0])
    for index in (np.array(axis, I32), np.array([axis], I64)):
        assert_close(run("Concat", index, parts)[0], expected)
        assert_close(run("ConcatV2", parts, index)[0], expected)
    assert_close(run("ConcatD", parts, concat_dim=axis)[0], expected)
    assert_close(run("ConcatV2D", parts, concat_dim=axis, N=len(parts))[0], expected)


def test_scalars_concatenate_as_vectors():
    parts = [np.array(1, I32), np.array(2, I32)]
    assert_close(run("ConcatD", parts, concat_dim=0)[0], np.array([1, 2], I32))


@pytest.mark.parametrize("dtype", ANY)
@pytest.mark.parametrize(("axis", "parts"), [(0, 2), (1, 3), (-1, 1), (-2, 6)])
def test_split_into_equal_parts(axis, parts, dtype):
    x = sample("any", (4, 6, 2), dtype)
    expected = np.split(x, parts, axis)
    even = run("Split", np.array(axis, I32), x, num_split=parts, counts=(parts,))
    attribute = run("SplitD", x, split_dim=axis, num_split=parts, counts=(parts,))
    for found in (even, attribute):
        for have, want in zip(found, expected, strict=True):
            assert_close(have, want)


@pytest.mark.parametrize(
    ("axis", "sizes", "exact"),
    [(1, (1, 2, 3), (1, 2, 3)), (-2, (-1, 4), (2, 4)), (0, (4, 0), (4, 0)), (1, (-1,), (6,))],
)
@pytest.mark.parametrize("dtype", [F32, I8])
def test_split_v_as_onnx(axis, sizes, exact, dtype):
    x = sample("any", (4, 6, 2), dtype)
    expected = onnx_outputs("Split", x, np.array(exact, I64), axis=axis, count=len(exact))
    count = len(sizes)
    found = run(
        "SplitV", x, np.array(sizes, I64), np.array(axis, I32), num_split=count, counts=(count,)
    )
    for have, want in zip(found, expected, strict=True):
        assert_close(have, want)


@pytest.mark.parametrize("axis", [0, 1, -1, -3])
def test_pack_and_unpack(axis):
    parts = [sample("any", (2, 3), F32, seed) for seed in range(4)]
    packed = run("Pack", parts, axis=axis)[0]
    assert_close(packed, np.stack(parts, axis))
    for have, want in zip(run("Unpack", packed, num=4, axis=axis, counts=(4,)), parts, strict=True):
        assert_close(have, want)


def test_pack_of_scalars():
    parts = [np.array(3, I64), np.array(4, I64)]
    assert_close(run("Pack", parts)[0], np.array([3, 4], I64))
