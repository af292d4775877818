"""Pooling: onnxruntime or a loop over windows against `evaluate`."""

import math

import numpy as np
import pytest
from op_runs import onnx_outputs, run
from op_witness import BF16, F16, F32, I8, I32, U8, assert_close, sample

FLOATS = (F32, F16, BF16)
# ksize, strides, pads [top, bottom, left, right]
WINDOWS = {
    "plain": ((2, 3), (1, 1), (0, 0, 0, 0)),
    "strided": ((3, 3), (2, 2), (1, 1, 1, 1)),
    "uneven pads": ((3, 2), (2, 3), (1, 0, 0, 1)),
    "gaps": ((1, 2), (3, 4), (0, 0, 0, 0)),
    "large": ((6, 7), (1, 2), (2, 2, 3, 3)),
}


def four(values, data_format):
    return [1, 1, *values] if data_format == "NCHW" else [1, *values, 1]


def as_format(array, data_format):
    return array.transpose(0, 2, 3, 1) if data_format == "NHWC" else array


def onnx_pads(pads):
    return [pads[0], pads[2], pads[1], pads[3]]


@pytest.mark.parametrize("data_format", ["NCHW", "NHWC"])
@pytest.mark.parametrize("ceil_mode", [False, True])
@pytest.mark.parametrize("dtype", [*FLOATS, I8, U8])
@pytest.mark.parametrize("case", WINDOWS)
def test_max_pool_v3_as_onnx(case, dtype, ceil_mode, data_format):
    ksize, strides, pads = WINDOWS[case]
    x = sample("any", (2, 3, 8, 10), dtype)
    expected = onnx_outputs(
        "MaxPool", x, kernel_shape=ksize, strides=strides, pads=onnx_pads(pads),
        ceil_mode=int(ceil_mode),
    )[0]  # fmt: skip
    y = run(
        "MaxPoolV3", as_format(x, data_format), ksize=four(ksize, data_format),
        strides=four(strides, data_format), pads=pads, data_format=data_format,
        ceil_mode=ceil_mode,
    )[0]  # fmt: skip
    assert_close(y, as_format(expected, data_format))


@pytest.mark.parametrize("exclusive", [False, True])
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("case", WINDOWS)
def test_avg_pool_v2_as_onnx(case, dtype, exclusive):
    ksize, strides, pads = WINDOWS[case]
    x = sample("any", (2, 3, 8, 10), dtype)
    expected = onnx_outputs(
        "AveragePool", x, kernel_shape=ksize, strides=strides, pads=onnx_pads(pads),
        count_include_pad=int(not exclusive),
    )[0]  # fmt: skip
    y = run(
        "AvgPoolV2", x, ksize=[1, 1, *ksize], strides=[1, 1, *strides], pads=pads,
        exclusive=exclusive,
    )[0]  # fmt: skip
    assert_close(y, expected, scale=4)


def window_means(x, ksize, strides, pads, counts, exclusive):
    """AvgPoolV2's divisors by a loop over windows, in f64."""
    y = np.zeros((*x.shape[:2], *counts))
    (height, width), (top, bottom, left, right) = x.shape[2:], pads
    for i in range(counts[0]):
        for j in range(counts[1]):
            rows = range(i * strides[0] - top, i * strides[0] - top + ksize[0])
            columns = range(j * strides[1] - left, j * strides[1] - left + ksize[1])
            inside = [(r, c) for r in rows for c in columns if 0 <= r < height and 0 <= c < width]
            bounds = (
                [r for r in rows if r < height + bottom],
                [c for c in columns if c < width + right],
            )
            total = sum(
                (x[:, :, r, c].astype(np.float64) for r, c in inside), np.zeros(x.shape[:2])
            )
            size = len(inside) if exclusive else len(bounds[0]) * len(bounds[1])
            y[:, :, i, j] = total / max(size, 1)
    return y.astype(x.dtype)


@pytest.mark.parametrize("mode", ["CALCULATED", "VALID"])
@pytest.mark.parametrize("exclusive", [False, True])
@pytest.mark.parametrize("pads", [(0, 0, 0, 0), (1, 0, 0, 1), (1, 1, 1, 1)])
def test_avg_pool_v2_ceil_mode_drops_no_window(pads, exclusive, mode):
    x = sample("any", (1, 2, 6, 7), F32)
    ksize, strides = (3, 2), (2, 4)
    counts = tuple(
        math.ceil((n + a + b - k) / s) + 1
        for n, k, s, a, b in zip((6, 7), ksize, strides, pads[::2], pads[1::2], strict=True)
    )
    y = run(
        "AvgPoolV2", x, ksize=[1, 1, *ksize], strides=[1, 1, *strides], pads=pads,
        ceil_mode=True, exclusive=exclusive, padding_mode=mode,
    )[0]  # fmt: skip
    assert_close(y, window_means(x, ksize, strides, pads, counts, exclusive), scale=4)


def test_avg_pool_v2_divisor_override():
    x = sample("any", (1, 2, 4, 4), F32)
    y = run("AvgPoolV2", x, ksize=[1, 1, 2, 2], strides=[1, 1, 2, 2], divisor_override=3)[0]
    blocks = x.reshape(1, 2, 2, 2, 2, 2).sum(axis=(3, 5), dtype=np.float64)
    assert_close(y, (blocks / 3).astype(F32))


@pytest.mark.parametrize("data_format", ["NCHW", "NHWC"])
@pytest.mark.parametrize(("mode", "onnx_mode"), [("SAME", "SAME_UPPER"), ("VALID", "VALID")])
@pytest.mark.parametrize(
    ("op_type", "onnx_type"), [("MaxPool", "MaxPool"), ("AvgPool", "AveragePool")]
)
@pytest.mark.parametrize(
    ("ksize", "strides"), [((3, 4), (2, 3)), ((2, 2), (1, 1)), ((1, 4), (3, 2))]
)
def test_tensorflow_pools_as_onnx(op_type, onnx_type, mode, onnx_mode, data_format, ksize, strides):
    x = sample("any", (2, 3, 7, 9), F32)
    expected = onnx_outputs(onnx_type, x, kernel_shape=ksize, strides=strides, auto_pad=onnx_mode)[
        0
    ]
    y = run(
        op_type, as_format(x, data_format), ksize=four(ksize, data_format),
        strides=four(strides, data_format), padding=mode, data_format=data_format,
    )[0]  # fmt: skip
    assert_close(y, as_format(expected, data_format), scale=4)
    if op_type == "MaxPool" or mode == "SAME":
        same = run(
            f"{'MaxPoolV3' if op_type == 'MaxPool' else 'AvgPoolV2'}", x, ksize=[1, 1, *ksize],
            strides=[1, 1, *strides], padding_mode=mode,
        )[0]  # fmt: skip
        assert_close(same, expected, scale=4)


def test_max_pool_of_integers_pads_with_the_lowest_value():
    x = np.full((1, 1, 2, 2), -(2**31), I32)
    y = run("MaxPoolV3", x, ksize=[1, 1, 2, 2], strides=[1, 1, 1, 1], pads=[1] * 4)[0]
    assert_close(y, np.full((1, 1, 3, 3), -(2**31), I32))


def test_max_pool_keeps_nan():
    x = np.array([[[[1, np.nan, 2, 3]]]], F32)
    y = run("MaxPoolV3", x, ksize=[1, 1, 1, 2], strides=[1, 1, 1, 1])[0]
    np.testing.assert_array_equal(y, np.array([[[[np.nan, np.nan, 3]]]], F32))


@pytest.mark.parametrize(
    ("op_type", "onnx_type"), [("MaxPoolV3", "GlobalMaxPool"), ("AvgPoolV2", "GlobalAveragePool")]
)
def test_global_pooling_flag(op_type, onnx_type):
    x = sample("any", (2, 3, 5, 6), F32)
    y = run(
        op_type, x, ksize=[1, 1, 1, 1], strides=[1, 1, 1, 1], pads=[1] * 4, global_pooling=True
    )[0]
    assert_close(y, onnx_outputs(onnx_type, x)[0], scale=4)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("shape", [(2, 3, 5), (2, 3, 5, 6), (1, 2, 3, 4, 5)])
def test_global_average_pool_as_onnx(shape, dtype):
    x = sample("any", shape, dtype)
    assert_close(run("GlobalAveragePool", x)[0], onnx_outputs("GlobalAveragePool", x)[0], scale=4)


def test_no_images():
    x = np.zeros((0, 3, 4, 4), F32)
    assert run("MaxPoolV3", x, ksize=[1, 1, 2, 2], strides=[1, 1, 2, 2])[0].shape == (0, 3, 2, 2)
    assert run("AvgPoolV2", x, ksize=[1, 1, 2, 2], strides=[1, 1, 2, 2])[0].shape == (0, 3, 2, 2)
