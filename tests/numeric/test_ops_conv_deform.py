"""Deformable convolution: bilinear reads by a loop, and onnxruntime's Conv on what they give."""

import math

import numpy as np
import pytest
from op_runs import onnx_outputs, run
from op_witness import F16, F32, assert_close, sample

# x, kernel, strides, pads, dilations, deformable groups
CASES = {
    "plain": ((1, 4, 6, 5), (3, 3), (1, 1), (1, 1, 1, 1), (1, 1), 1),
    "strided": ((2, 2, 7, 8), (2, 3), (2, 1), (0, 1, 1, 0), (1, 1), 2),
    "dilated": ((1, 4, 8, 8), (3, 2), (1, 2), (2, 1, 0, 1), (2, 3), 4),
}


def counts_of(case):
    shape, kernel, strides, pads, dilations, _ = CASES[case]
    return [
        (n + a + b - (k - 1) * d - 1) // s + 1
        for n, k, s, d, a, b in zip(
            shape[2:], kernel, strides, dilations, pads[::2], pads[1::2], strict=True
        )
    ]


def bilinear(plane, y, x):
    top, left = math.floor(y), math.floor(x)
    total = 0.0
    for i, j in ((top, left), (top, left + 1), (top + 1, left), (top + 1, left + 1)):
        if 0 <= i < plane.shape[0] and 0 <= j < plane.shape[1]:
            total += float(plane[i, j]) * (1 - abs(y - i)) * (1 - abs(x - j))
    return total


def deformed(x, offsets, case):
    """[N, C, oh*kh, ow*kw] by one read per element."""
    _, (kh, kw), strides, pads, dilations, groups = CASES[case]
    oh, ow = counts_of(case)
    y = np.zeros((*x.shape[:2], oh * kh, ow * kw))
    block = groups * kh * kw
    for n, c, i, j, a, b in np.ndindex(*x.shape[:2], oh, ow, kh, kw):
        index = (c // (x.shape[1] // groups)) * kh * kw + a * kw + b
        moved = offsets[n, :, i, j].astype(np.float64)
        py = i * strides[0] - pads[0] + a * dilations[0] + moved[block + index]
        px = j * strides[1] - pads[2] + b * dilations[1] + moved[index]
        y[n, c, i * kh + a, j * kw + b] = moved[2 * block + index] * bilinear(x[n, c], py, px)
    return y.astype(F32)


def operands(case, dtype):
    shape, (kh, kw), _, _, _, groups = CASES[case]
    x = sample("any", shape, dtype)
    offsets = sample("unit", (shape[0], 3 * groups * kh * kw, *counts_of(case)), dtype, 1)
    return x, (offsets * dtype(2)).astype(dtype)


def attributes(case, channels_last):
    _, _, strides, pads, dilations, groups = CASES[case]

    def wide(values):
        return [1, *values, 1] if channels_last else [1, 1, *values]

    return {
        "strides": wide(strides), "dilations": wide(dilations), "pads": pads,
        "deformable_groups": groups, "data_format": "NHWC" if channels_last else "NCHW",
    }  # fmt: skip


@pytest.mark.parametrize("channels_last", [False, True])
@pytest.mark.parametrize("dtype", [F32, F16])
@pytest.mark.parametrize("case", CASES)
def test_offsets(case, dtype, channels_last):
    x, offsets = operands(case, dtype)
    expected = deformed(x, offsets, case).astype(dtype)
    if channels_last:
        x, offsets, expected = (np.moveaxis(v, 1, -1) for v in (x, offsets, expected))
    attrs = attributes(case, channels_last)
    y = run("DeformableOffsets", x, offsets, ksize=CASES[case][1], **attrs)[0]
    assert_close(y, expected, scale=32)


@pytest.mark.parametrize("channels_last", [False, True])
@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize("case", CASES)
def test_convolution_of_what_the_offsets_give(case, groups, channels_last):
    x, offsets = operands(case, F32)
    kernel = CASES[case][1]
    weight = sample("any", (6, x.shape[1] // groups, *kernel), F32, 2)
    bias = sample("any", (6,), F32, 3)
    expected = onnx_outputs(
        "Conv", deformed(x, offsets, case), weight, bias, strides=kernel, group=groups
    )[0]
    if channels_last:
        x, offsets, expected = (np.moveaxis(v, 1, -1) for v in (x, offsets, expected))
        weight = weight.transpose(2, 3, 1, 0)
    attrs = attributes(case, channels_last)
    y = run("DeformableConv2D", x, weight, offsets, bias, groups=groups, **attrs)[0]
    np.testing.assert_allclose(y, expected, rtol=1e-4, atol=1e-3)
