"""Pools, their gradients and places of maxima as kernels, against `evaluate`."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lowered_op import check_op
from op_witness import BF16, F16, F32, I8, I32, sample

FLAT = {"data_format": "NCHW"}
LAST = {"data_format": "NHWC"}
SOLID = {"data_format": "NCDHW"}


def f(*shape, dtype=F32, seed=0):
    return sample("any", shape, dtype, seed)


def shape_of(*sizes):
    return np.array(sizes, I32)


ODD = {"ksize": [1, 1, 3, 2], "strides": [1, 1, 2, 1]}
"""Windows of [N, C, H, W] that do not cover x evenly."""
LAST_ODD = {"ksize": [1, 3, 2, 1], "strides": [1, 2, 1, 1], "data_format": "NHWC"}

CASES = {
    "MaxPool": [
        ([f(2, 9, 7, 5)], {"ksize": [1, 3, 3, 1], "strides": [1, 2, 2, 1], "padding": "SAME"}),
        ([f(1, 4, 4, 3)], {"ksize": [1, 2, 2, 1], "strides": [1, 2, 2, 1], "padding": "VALID"}),
    ],
    "AvgPool": [
        ([f(2, 9, 7, 5)], {"ksize": [1, 3, 3, 1], "strides": [1, 2, 2, 1], "padding": "SAME"}),
    ],
    "MaxPoolV3": [
        ([sample("any", (2, 3, 9, 7), I8)], {**ODD, **FLAT, "pads": [1, 1, 0, 1]}),
        ([f(2, 3, 40, 50)], {**ODD, **FLAT, "global_pooling": True}),
        ([f(2, 9, 7, 3)], {**LAST_ODD, "ceil_mode": True}),
    ],
    "AvgPoolV2": [
        ([f(2, 3, 40, 50)], {**ODD, **FLAT, "global_pooling": True}),
        ([f(1, 9, 7, 3)], {**LAST_ODD, "pads": [1, 1, 0, 1], "exclusive": False}),
        ([f(1, 3, 30, 41)], {"ksize": [1, 1, 9, 12], "strides": [1, 1, 2, 3], **FLAT,
                             "pads": [4, 4, 5, 6]}),
    ],
    "MaxPool3D": [
        ([f(1, 3, 5, 6, 7)], {"ksize": [2, 3, 3], "strides": [1, 2, 2], "padding": "CALCULATED",
                              "pads": [1, 0, 1, 1, 0, 1], **SOLID}),
        ([f(2, 4, 5, 6, 3)], {"ksize": [2], "strides": [2], "padding": "SAME"}),
        ([f(1, 2, 7, 9, 8)], {"ksize": [2], "strides": [1], "padding": "VALID", "dilation": [2],
                              **SOLID}),
    ],
    "AvgPool3D": [
        ([f(1, 3, 5, 6, 7)], {"ksize": [2, 3, 3], "strides": [1, 2, 2], "pads": [1, 0, 1, 1, 0, 1],
                              **SOLID, "ceil_mode": True, "count_include_pad": False}),
        ([f(2, 4, 5, 6, 3)], {"ksize": [2], "strides": [2], "pads": [0], "divisor_override": 3}),
    ],
    "AvgPool3DD": [
        ([f(1, 3, 5, 6, 7)], {"ksize": [3], "strides": [2], "pads": [1], **SOLID}),
    ],
    "AvgPool1D": [
        ([f(2, 3, 37)], {"ksize": 4, "strides": 3, "pads": [1, 2], "ceil_mode": True}),
        ([f(50)], {"ksize": 2, "strides": 1, "pads": [0, 0], "count_include_pad": True}),
    ],
    "AvgPool1DD": [([f(2, 3, 9), f(2, 3, 4)], {"ksize": 3, "strides": 2, "pads": [0, 0]})],
    "Pooling": [
        ([f(2, 3, 9, 8)], {"mode": 0, "window": [3, 3], "stride": [2, 2], "pad": [1, 1, 1, 1]}),
        ([f(2, 3, 9, 8)], {"mode": 1, "window": [3, 2], "stride": [2, 2], "pad": [1, 1, 0, 0]}),
        ([f(2, 9, 8, 3)], {"mode": 1, "global_pooling": True, **LAST}),
    ],
    "GlobalLpPool": [([f(2, 3, 5, 7)], {"p": p}) for p in (1.0, 2.0, 3.0)],
    "AvgPoolGrad": [
        ([shape_of(2, 9, 7, 5), f(2, 5, 4, 5)],
         {"ksize": [1, 3, 3, 1], "strides": [1, 2, 2, 1], "padding": "SAME"}),
    ],
    "AvgPoolV2Grad": [
        ([shape_of(2, 3, 9, 8), f(2, 3, 5, 5)],
         {"ksize": [1, 1, 3, 2], "strides": [1, 1, 2, 2], "pads": [1, 1, 1, 1],
          "exclusive": False, **FLAT}),
    ],
    "AvgPoolV2GradD": [
        ([f(2, 3, 4, 4)],
         {"orig_input_shape": [2, 3, 8, 8], "ksize": [1, 1, 2, 2], "strides": [1, 1, 2, 2],
          **FLAT}),
    ],
    "AvgPool3DGrad": [
        ([shape_of(1, 3, 5, 6, 7), f(1, 3, 3, 3, 4)],
         {"ksize": [3], "strides": [2], "pads": [1], **SOLID, "count_include_pad": False}),
    ],
    "AvgPool3DGradD": [
        ([f(1, 2, 3, 3, 2)],
         {"orig_input_shape": [1, 4, 6, 6, 2], "ksize": [2], "strides": [2], "pads": [0],
          "divisor_override": 5}),
    ],
    "AdaptiveAvgPool2d": [
        ([f(2, 3, 7, 9)], {"output_size": [3, 4]}),
        ([f(3, 8, 6)], {"output_size": [4, 3]}),
        ([f(2, 3, 7, 9)], {"output_size": [1, 1]}),
    ],
    "AdaptiveAvgPool3d": [
        ([f(2, 5, 7, 6, 3)], {"output_size": [2, 3, 6]}),
        ([f(2, 3, 4, 6, 6)], {"output_size": [2, 3, 2], **SOLID}),
    ],
    "AdaptiveAvgPool2dGrad": [([f(2, 3, 3, 4)], {"orig_input_shape": [2, 3, 7, 9]})],
    "AdaptiveMaxPool2d": [
        ([f(2, 3, 7, 9)], {"output_size": [3, 4]}),
        ([f(3, 8, 6)], {"output_size": [4, 3]}),
        ([f(3, 5, 6)], {"output_size": [5, 1]}),
    ],
    "AdaptiveMaxPool3d": [
        ([f(2, 3, 5, 7, 6)], {"output_size": [2, 3, 6]}),
        ([f(3, 4, 6, 6)], {"output_size": [2, 3, 2], "indices_dtype": 9}),
    ],
    "MaxPoolWithArgmaxV3": [
        ([f(2, 3, 9, 8)], {"ksize": [3, 2], "strides": [2, 2], "pads": [1, 1]}),
        ([f(9, 8, 3)], {"ksize": [2, 2], "strides": [1, 2], "pads": [0, 0], "dtype": 9, **LAST}),
        ([f(1, 2, 9, 8)], {"ksize": [2, 3], "strides": [2, 1], "pads": [1, 1], "dilation": [2, 2],
                           "ceil_mode": True}),
        ([f(1, 1, 150, 160)], {"ksize": [3, 3], "strides": [2, 2], "pads": [1, 1]}),
        ([np.where(f(1, 2, 6, 6) > 2, np.nan, f(1, 2, 6, 6))],
         {"ksize": [3, 3], "strides": [1, 1], "pads": [1, 1]}),
    ],
    "MaxPoolWithArgmax": [
        ([np.where(f(1, 6, 6, 2) > 2, np.nan, f(1, 6, 6, 2))],
         {"ksize": [1, 2, 2, 1], "strides": [1, 2, 2, 1], "padding": "VALID"}),
        ([f(2, 9, 8, 3)], {"ksize": [1, 3, 3, 1], "strides": [1, 2, 2, 1], "padding": "SAME",
                           "include_batch_in_index": True}),
        ([f(2, 3, 9, 8)], {"ksize": [1, 1, 2, 2], "strides": [1, 1, 2, 2], "padding": "VALID",
                           "Targmax": 3, "nan_prop": True, **FLAT}),
    ],
    "MaxPoolGradWithArgmaxV3": [
        ([f(2, 3, 9, 8), f(2, 3, 4, 4), np.random.default_rng(0).integers(0, 72, (2, 3, 4, 4))],
         {"ksize": [2, 2], "strides": [2, 2], "pads": [0, 0]}),
        ([f(9, 8, 3), f(4, 4, 3), np.random.default_rng(1).integers(0, 72, (4, 4, 3), I32)],
         {"ksize": [2, 2], "strides": [2, 2], "pads": [0, 0], **LAST}),
    ],
}  # fmt: skip
"""Op type -> operands and attributes."""
RUNS = [(name, i) for name, cases in CASES.items() for i in range(len(cases))]


@pytest.mark.parametrize("dtype", [F32, F16])
@pytest.mark.parametrize(("op_type", "which"), RUNS)
def test_pools(op_type, which, dtype):
    inputs, attrs = CASES[op_type][which]
    arrays = [a.astype(dtype) if a.dtype == F32 else a for a in inputs]
    check_op(op_type, *arrays, checked=True, **attrs)


@pytest.mark.parametrize("chip", ["Ascend310P3", "Ascend950PR_958x"])
@pytest.mark.parametrize("op_type", CASES)
def test_pools_on_other_chips(op_type, chip):
    inputs, attrs = CASES[op_type][0]
    check_op(op_type, *inputs, chip=chip, **attrs)


WINDOWS = st.tuples(st.integers(1, 3), st.integers(1, 3), st.integers(0, 1))
"""Kernel, stride and padding over a dimension."""
DRAWN = settings(max_examples=12, deadline=None, derandomize=True, database=None)


@DRAWN
@given(
    sizes=st.tuples(st.integers(1, 3), st.integers(1, 9), st.integers(3, 11), st.integers(3, 11)),
    high=WINDOWS,
    wide=WINDOWS,
    ceil=st.booleans(),
    dtype=st.sampled_from([F32, F16, BF16]),
)
def test_any_windows(sizes, high, wide, ceil, dtype):
    kernel, strides, pads = zip(high, wide, strict=True)
    pads = [min(p, k // 2) for p, k in zip(pads, kernel, strict=True)]
    x = f(*sizes, dtype=dtype)
    attrs = {"ksize": list(kernel), "strides": list(strides), "pads": pads, "ceil_mode": ceil}
    check_op("MaxPoolWithArgmaxV3", x, **attrs)
    solid = {"ksize": [1, *kernel], "strides": [1, *strides], "pads": [0, *pads], **SOLID}
    check_op("AvgPool3D", x[:, :, None], **solid, ceil_mode=ceil)


@DRAWN
@given(
    sizes=st.tuples(st.integers(1, 3), st.integers(1, 5), st.integers(1, 9), st.integers(1, 9)),
    counts=st.tuples(st.integers(1, 9), st.integers(1, 9)),
    dtype=st.sampled_from([F32, F16, BF16]),
)
def test_any_adaptive_windows(sizes, counts, dtype):
    x = f(*sizes, dtype=dtype)
    for op_type in ("AdaptiveAvgPool2d", "AdaptiveMaxPool2d"):
        check_op(op_type, x, output_size=list(counts))


REFUSED = [
    ("MaxPoolV3", [sample("any", (1, 2, 5, 5), I32)], {**ODD, **FLAT},
     "no lowering for element type DT_INT32"),
    ("AvgPoolV2GradD", [f(1, 1, 5, 999)],
     {"orig_input_shape": [1, 1, 5, 5000], "ksize": [1, 1, 1, 6], "strides": [1, 1, 1, 5], **FLAT},
     "for 999 windows over 5000 elements"),
    ("AdaptiveAvgPool2d", [f(1, 1, 5, 5000)], {"output_size": [5, 999]},
     "for 999 windows over 5000 elements"),
    ("MaxPoolWithArgmaxV3", [f(1, 1, 204, 103)],
     {"ksize": [200, 100], "strides": [1, 1], "pads": [0, 0]},
     "windows of more than 256 elements along all dimensions"),
    ("MaxPool3D", [f(1, 2, 3, 5, 200)],
     {"ksize": [1, 1, 70], "strides": [1], "padding": "VALID", "dilation": [2],
      "data_format": "NCDHW"}, "for windows of more than 64 elements"),
]  # fmt: skip


@pytest.mark.parametrize(("op_type", "inputs", "attrs", "why"), REFUSED)
def test_pools_that_stay_calls_say_why(op_type, inputs, attrs, why):
    check_op(op_type, *inputs, why=why, **attrs)
