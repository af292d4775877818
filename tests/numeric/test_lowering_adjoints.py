"""Transposed convolutions in three dimensions, filter gradients and folds, against `evaluate`."""

import numpy as np
import pytest
from lowered_op import check_op
from op_witness import F16, F32, I32, sample

FLAT = {"data_format": "NCHW"}
SOLID = {"data_format": "NCDHW"}


def f(*shape, seed=0):
    return sample("any", shape, F32, seed)


def w(*shape):
    return f(*shape, seed=1) / 4


def ints(*values):
    return np.array(values, I32)


STEPS = {"strides": [1, 1, 2, 1], "pads": [1, 1, 1, 0], "dilations": [1, 1, 1, 2]}
CUBES = {"strides": [1, 1, 2, 1, 2], "pads": [1, 0, 1, 1, 0, 1]}
PLAIN = {"strides": [1, 1, 1, 1, 1], "pads": [0] * 6}
FOLDS = {"dilation": [1, 1], "padding": [1, 0], "stride": [2, 1]}

CASES = {
    "Conv2DBackpropFilter": [
        ([f(2, 4, 9, 8), ints(6, 4, 3, 2), f(2, 6, 5, 7)], {**STEPS, **FLAT}),
        ([f(2, 9, 8, 4), ints(3, 2, 2, 6), f(2, 5, 7, 6)],
         {"strides": [1, 2, 1, 1], "pads": [1, 1, 1, 0], "dilations": [1, 1, 2, 1], "groups": 2}),
    ],
    "Conv2DBackpropFilterD": [
        ([f(1, 3, 10, 11), f(1, 5, 4, 5)],
         {"filter_size": [5, 3, 3, 3], "strides": [1, 1, 2, 2], "pads": [0] * 4, **FLAT}),
    ],
    "Conv3DBackpropFilter": [
        ([f(1, 4, 5, 6, 7), ints(3, 4, 2, 3, 3), f(1, 3, 3, 6, 3)], {**CUBES, **SOLID}),
    ],
    "Conv3DBackpropFilterD": [
        ([f(1, 5, 6, 7, 4), f(1, 4, 4, 5, 3)], {"filter_size": [2, 3, 3, 4, 3], **PLAIN}),
    ],
    "Conv3DBackpropFilterV2": [
        ([f(1, 4, 5, 6, 7), ints(2, 2, 2, 3, 3), f(1, 2, 4, 4, 5)],
         {**PLAIN, **SOLID, "groups": 2}),
    ],
    "DepthwiseConv2DBackpropFilter": [
        ([f(2, 3, 9, 8), ints(3, 2, 3, 2), f(2, 6, 5, 7)], {**STEPS, **FLAT}),
    ],
    "DepthwiseConv2DBackpropFilterD": [
        ([f(1, 9, 8, 3), f(1, 7, 7, 3)],
         {"filter_size": [3, 2, 3, 1], "strides": [1] * 4, "pads": [0] * 4}),
    ],
    "Conv3DTranspose": [
        ([ints(0, 0, 0, 0, 0), f(1, 4, 3, 4, 3), w(4, 3, 2, 3, 3), f(3)],
         {**CUBES, **SOLID, "output_padding": [0, 0, 1, 0, 1]}),
        ([ints(0, 0, 0, 0, 0), f(1, 4, 3, 4, 5), w(4, 3, 1, 3, 3)],
         {"strides": [1] * 5, "pads": [1, 1, 0, 0, 1, 1], **SOLID}),
    ],
    "Conv3DTransposeD": [
        ([f(1, 3, 4, 3, 4), w(2, 2, 2, 3, 4)],
         {"input_size": [1, 6, 8, 6, 3], "strides": [1, 2, 2, 2, 1], "pads": [0] * 6}),
    ],
    "Conv3DTransposeV2": [
        ([ints(1, 4, 4, 6, 5), f(1, 4, 3, 4, 3), w(4, 2, 2, 3, 3)],
         {**PLAIN, **SOLID, "groups": 2}),
    ],
    "Conv3DBackpropInput": [
        ([ints(1, 3, 5, 6, 7), w(4, 3, 2, 3, 3), f(1, 4, 3, 6, 3)], {**CUBES, **SOLID}),
    ],
    "Conv3DBackpropInputD": [
        ([w(4, 3, 2, 3, 3), f(1, 4, 4, 4, 5)],
         {"input_size": [1, 3, 5, 6, 7], **PLAIN, **SOLID}),
    ],
    "Conv3DBackpropInputV2": [
        ([ints(1, 3, 5, 6, 7), w(4, 3, 2, 3, 3), f(1, 4, 4, 4, 5)], {**PLAIN, **SOLID}),
    ],
    "Col2im": [
        ([f(2, 3, 6, 35), ints(9, 8)], {**FOLDS, "kernel_size": [3, 2]}),
        ([f(2, 3, 4, 12), ints(6, 8)],
         {"kernel_size": [2, 2], "stride": [2, 2], "padding": [0, 0], "dilation": [1, 1]}),
    ],
    "Col2ImV2": [([f(2, 18, 35), ints(9, 8), ints(3, 2)], FOLDS)],
}  # fmt: skip
"""Op type -> operands and attributes."""
RUNS = [(name, i) for name, cases in CASES.items() for i in range(len(cases))]


@pytest.mark.parametrize("dtype", [F32, F16])
@pytest.mark.parametrize(("op_type", "which"), RUNS)
def test_adjoints(op_type, which, dtype):
    inputs, attrs = CASES[op_type][which]
    given = [a.astype(dtype) if a.dtype == F32 else a for a in inputs]
    check_op(op_type, *given, checked=True, **attrs)


@pytest.mark.parametrize("op_type", CASES)
def test_adjoints_on_another_chip(op_type):
    inputs, attrs = CASES[op_type][0]
    check_op(op_type, *inputs, chip="Ascend950PR_958x", **attrs)
