"""Images read at computed positions, as kernels, against `evaluate`."""

from itertools import product

import numpy as np
import pytest
from lowered_op import check_op
from op_witness import BF16, F16, F32, I32, sample


def f(*shape, seed=0):
    return sample("any", shape, F32, seed)


def grid(*shape, seed=1):
    """Coordinates of which some lie outside, and one nowhere."""
    places = np.random.default_rng(seed).uniform(-1.4, 1.4, shape).astype(F32)
    places.reshape(-1)[3] = np.nan
    return places


def rois(count, size, seed=2):
    rng = np.random.default_rng(seed)
    first, second = rng.uniform(0, size * 0.7, (2, count)), rng.uniform(2, size, (2, count))
    batch = rng.integers(0, 2, count)
    return np.stack([batch, *first, *(first + second)], axis=1).astype(F32)


def moves(*shape, seed=3):
    return np.random.default_rng(seed).uniform(-1.5, 1.5, shape).astype(F32)


MODES = [
    {"interpolation_mode": mode, "padding_mode": padding, "align_corners": align}
    for mode, padding, align in product(
        ("bilinear", "nearest", "bicubic"), ("zeros", "border", "reflection"), (False, True)
    )
]
DEFORMED = {"strides": [1, 1, 1, 1], "pads": [1, 1, 1, 1]}
PLANES = {"data_format": "NCHW"}

CASES = {
    "GridSampler2D": [
        ([f(2, 3, 7, 9), grid(2, 5, 6, 2)], {}),
        ([f(1, 40, 20, 30), grid(1, 11, 13, 2)], {"padding_mode": "border"}),
    ],
    "GridSampler3D": [
        ([f(2, 3, 4, 7, 6), grid(2, 5, 6, 2, 3)], {"padding_mode": "reflection"}),
        ([f(1, 3, 4, 7, 6), grid(1, 5, 6, 2, 3)], {"interpolation_mode": "nearest"}),
    ],
    "GridSample": [
        ([f(2, 7, 9, 3), grid(2, 5, 6, 2)], {"channel_last": True}),
        ([f(2, 3, 4, 7, 6), grid(2, 5, 6, 2, 3)], {"align_corners": True}),
    ],
    "AffineGrid": [
        ([f(2, 2, 3), np.array([2, 3, 5, 7], I32)], {}),
        ([f(2, 3, 4), np.array([2, 3, 4, 1, 7], I32)], {"align_corners": True}),
    ],
    "ROIAlign": [
        ([f(2, 3, 14, 17), rois(5, 14)],
         {"spatial_scale": 0.5, "pooled_height": 3, "pooled_width": 4, "roi_end_mode": mode,
          "sample_num": 2})
        for mode in (0, 1, 2)
    ],
    "DeformableOffsets": [
        ([f(2, 5, 6, 4), moves(2, 5, 6, 27)], {**DEFORMED, "ksize": [3, 3]}),
        ([f(1, 4, 7, 6), moves(1, 24, 4, 3)],
         {"strides": [1, 1, 2, 2], "pads": [1, 0, 0, 0], "ksize": [2, 2], "deformable_groups": 2,
          **PLANES}),
    ],
    "DeformableConv2D": [
        ([f(2, 4, 5, 6), f(6, 4, 3, 3, seed=4) / 4, moves(2, 27, 5, 6), f(6)],
         {**DEFORMED, **PLANES}),
        ([f(1, 8, 7, 6), f(6, 4, 2, 2, seed=4) / 4, moves(1, 24, 4, 3)],
         {"strides": [1, 1, 2, 2], "pads": [1, 0, 0, 0], "deformable_groups": 2, "groups": 2,
          **PLANES}),
        ([f(2, 5, 6, 4), f(3, 3, 4, 5, seed=4) / 4, moves(2, 5, 6, 27)], {**DEFORMED}),
    ],
}  # fmt: skip
"""Op type -> operands and attributes."""
RUNS = [(name, i) for name, cases in CASES.items() for i in range(len(cases))]


@pytest.mark.parametrize("dtype", [F32, F16, BF16])
@pytest.mark.parametrize(("op_type", "which"), RUNS)
def test_samples(op_type, which, dtype):
    inputs, attrs = CASES[op_type][which]
    given = [a.astype(dtype) if a.dtype == F32 else a for a in inputs]
    check_op(op_type, *given, checked=dtype == F32, **attrs)


@pytest.mark.parametrize("attrs", MODES, ids=lambda m: "-".join(map(str, m.values())))
def test_modes_of_grids(attrs):
    check_op("GridSampler2D", f(2, 3, 7, 9), grid(2, 5, 6, 2), **attrs)


@pytest.mark.parametrize("chip", ["Ascend310P3", "Ascend950PR_958x"])
@pytest.mark.parametrize("op_type", CASES)
def test_samples_on_other_chips(op_type, chip):
    inputs, attrs = CASES[op_type][0]
    given = [a.astype(F16) if a.dtype == F32 else a for a in inputs]
    check_op(op_type, *given, chip=chip, **attrs)


SIZES = {"spatial_scale": 0.5, "pooled_height": 3, "pooled_width": 4}
REFUSED = [
    ("ROIAlign", [f(2, 3, 14, 17), rois(5, 14)], {**SIZES, "sample_num": 0},
     "for a number of samples that the regions' sizes tell"),
]  # fmt: skip


@pytest.mark.parametrize(("op_type", "inputs", "attrs", "why"), REFUSED)
def test_samples_that_stay_calls_say_why(op_type, inputs, attrs, why):
    check_op(op_type, *inputs, why=why, **attrs)
