"""Blocks of space, rolls, reversals and repeats as kernels that move elements, exactly."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lowered_op import check_op
from op_witness import F16, F32, I8, I32, I64, sample


def f(*shape):
    return sample("any", shape, F32)


def ints(values, dtype=I64):
    return np.array(values, dtype)


FLAT = {"data_format": "NCHW"}
KNOWN = ("block_shape", "paddings", "crops", "repeats")
CASES = {
    "SpaceToDepth": [
        ([f(2, 3, 6, 4)], {"block_size": 2, **FLAT}),
        ([f(1, 6, 9, 5)], {"block_size": 3, "data_format": "NHWC"}),
    ],
    "DepthToSpace": [
        ([f(2, 18, 4, 5)], {"block_size": 3, "mode": mode, **FLAT}) for mode in ("DCR", "CRD")
    ] + [([f(2, 4, 5, 8)], {"block_size": 2, "mode": "CRD", "data_format": "NHWC"})],
    "SpaceToBatch": [([f(2, 5, 6, 3), ints([[1, 0], [0, 2]])], {"block_size": 2})],
    "SpaceToBatchD": [([f(2, 4, 6, 3)], {"block_size": 2, "paddings": [0, 0, 0, 0]})],
    "SpaceToBatchND": [
        ([f(2, 5, 6, 3), ints([2, 3]), ints([[1, 0], [0, 3]])], {}),
        ([f(2, 6), ints([3]), ints([[0, 0]])], {}),
    ],
    "SpaceToBatchNDD": [([f(1, 4, 6, 3)], {"block_shape": [2, 3], "paddings": [0, 2, 3, 0]})],
    "BatchToSpace": [([f(8, 3, 4, 3), ints([[1, 0], [0, 2]])], {"block_size": 2})],
    "BatchToSpaceD": [([f(4, 3, 4, 3)], {"block_size": 2, "crops": [0, 0, 1, 1]})],
    "BatchToSpaceND": [([f(6, 4, 5, 3), ints([2, 3]), ints([[1, 1], [0, 4]])], {})],
    "BatchToSpaceNDD": [([f(6, 4, 5)], {"block_shape": [3], "crops": [2, 1]})],
    "Roll": [
        ([f(3, 5, 6)], {"shifts": [2, -1], "dims": [1, -1]}),
        ([f(3, 5)], {"shifts": [4], "dims": []}),
        ([f(3, 5)], {"shifts": [5], "dims": [1]}),
    ],
    "ReverseV2": [([f(3, 5, 6), ints([0, -1])], {}), ([f(1, 4), ints([0])], {})],
    "ReverseV2D": [([f(3, 5, 6)], {"axis": [1]})],
    "RepeatInterleave": [
        ([f(3, 4, 5), ints([2])], {"axis": 1}),
        ([f(3, 4), ints([0, 3, 1, 2])], {"axis": -1}),
    ],
    "Tile": [
        ([f(30, 4, 1), ints([1, 3, 50])], {}),
        ([f(90, 3), ints([2, 1, 77])], {}),
        ([f(7, 1), ints([1, 5000])], {}),
    ],
    "TileD": [([f(60, 2, 3), ], {"multiples": [1, 7, 9]})],
    "ReverseSequence": [
        ([f(4, 7, 3), ints([7, 0, 3, 1])], {"seq_dim": 1, "batch_dim": 0}),
        ([f(6, 2, 5), ints([4, 0, 1, 6, 2], I32)], {"seq_dim": 0, "batch_dim": 2}),
    ],
}  # fmt: skip
"""Op type -> operands and attributes."""
RUNS = [(name, i) for name, cases in CASES.items() for i in range(len(cases))]


@pytest.mark.parametrize("dtype", [F32, F16, I8, I64])
@pytest.mark.parametrize(("op_type", "which"), RUNS)
def test_rearranged(op_type, which, dtype):
    (x, *rest), attrs = CASES[op_type][which]
    x = sample("any", x.shape, dtype)
    check_op(op_type, x, *rest, known=KNOWN, exact=True, checked=dtype == F16, **attrs)


@pytest.mark.parametrize("op_type", CASES)
def test_rearranged_on_another_chip(op_type):
    inputs, attrs = CASES[op_type][0]
    check_op(op_type, *inputs, known=KNOWN, exact=True, chip="Ascend310P3", **attrs)


def test_large_images_are_moved_at_the_speed_of_memory():
    x = sample("any", (1, 64, 270, 480), F16)
    report = check_op("DepthToSpace", x, block_size=2, mode="CRD", exact=True, **FLAT)
    assert report.us < 1.5 * (2 * x.nbytes / 1.48e6 + 5.4)  # a cold stream, and a launch [us]


def test_short_runs_are_repeated_at_the_speed_of_memory():
    x = sample("any", (512, 96, 1), F16)
    report = check_op("Tile", x, ints([1, 1, 64]), exact=True)
    assert report.us < 4 * (65 * x.nbytes / 1.48e6 + 5.4)


def test_gathers_of_many_single_elements_fit():
    index = np.random.default_rng(0).integers(0, 900, 300000)
    check_op("GatherV2", f(900, 1), index, ints([0]), exact=True)


@settings(max_examples=15, deadline=None, derandomize=True, database=None)
@given(
    shape=st.lists(st.integers(1, 7), min_size=1, max_size=4).map(tuple),
    shift=st.integers(-9, 9),
    data=st.data(),
)
def test_any_roll_and_reversal(shape, shift, data):
    axis = data.draw(st.integers(0, len(shape) - 1))
    check_op("Roll", f(*shape), shifts=[shift], dims=[axis], exact=True)
    check_op("ReverseV2D", f(*shape), axis=[axis], exact=True)
