"""Pooling over one and three dimensions, Caffe's pooling and the Lp norm against onnxruntime."""

import math

import numpy as np
import pytest
from op_runs import onnx_outputs, run
from op_witness import F16, F32, F64, I8, assert_close, sample
from xdsl.dialects.builtin import StringAttr

# ksize, strides, pads (begin and end pairs), dilation
WINDOWS = {
    "plain": ((2, 2, 2), (2, 2, 2), (0,) * 6, (1, 1, 1)),
    "overlapping": ((3, 2, 3), (1, 2, 1), (1, 1, 0, 1, 1, 0), (1, 1, 1)),
    "uneven": ((2, 3, 2), (3, 2, 2), (0, 1, 1, 0, 0, 0), (1, 1, 1)),
}
DILATED = WINDOWS | {"dilated": ((2, 3, 2), (1, 2, 1), (1, 0, 1, 1, 0, 0), (2, 1, 3))}


def onnx_attrs(case, **more):
    ksize, strides, pads, dilation = DILATED[case]
    attrs = {"kernel_shape": ksize, "strides": strides, **more}
    if "auto_pad" not in more:
        attrs["pads"] = [*pads[::2], *pads[1::2]]
    return attrs | ({"dilations": dilation} if dilation != (1, 1, 1) else {})


def lists(case, count):
    """The lists of a case with 3 entries or with 5 (channels last)."""
    ksize, strides, _, dilation = DILATED[case]
    if count == 3:
        return list(ksize), list(strides), list(dilation)
    return [1, *ksize, 1], [1, *strides, 1], [1, *dilation, 1]


@pytest.mark.parametrize("count", [3, 5])
@pytest.mark.parametrize("ceil_mode", [0, 1])
@pytest.mark.parametrize("dtype", [F32, F16, I8])
@pytest.mark.parametrize("case", DILATED)
def test_max_pool_3d_as_onnx(case, dtype, ceil_mode, count):
    x = sample("any", (2, 3, 6, 7, 8), dtype)
    expected = onnx_outputs("MaxPool", x.astype(F32), **onnx_attrs(case, ceil_mode=ceil_mode))[0]
    expected = expected.astype(dtype)
    ksize, strides, dilation = lists(case, count)
    y = run(
        "MaxPool3D", np.moveaxis(x, 1, -1), ksize=ksize, strides=strides, dilation=dilation,
        pads=list(DILATED[case][2]), padding="CALCULATED", ceil_mode=ceil_mode,
    )[0]  # fmt: skip
    assert_close(y, np.moveaxis(expected, 1, -1))


@pytest.mark.parametrize(("mode", "onnx_mode"), [("SAME", "SAME_UPPER"), ("VALID", "VALID")])
@pytest.mark.parametrize("case", WINDOWS)
def test_max_pool_3d_modes_as_onnx(case, mode, onnx_mode):
    x = sample("any", (1, 2, 5, 6, 7), F32)
    expected = onnx_outputs("MaxPool", x, **onnx_attrs(case, auto_pad=onnx_mode))[0]
    ksize, strides, _ = lists(case, 3)
    y = run(
        "MaxPool3D", x, ksize=ksize, strides=strides, padding=mode, pads=[1] * 6,
        data_format="NCDHW",
    )[0]  # fmt: skip
    assert_close(y, expected)


@pytest.mark.parametrize("include", [False, True])
@pytest.mark.parametrize("dtype", [F32, F16])
@pytest.mark.parametrize("case", WINDOWS)
def test_avg_pool_3d_as_onnx(case, dtype, include):
    x = sample("any", (2, 3, 6, 7, 8), dtype)
    expected = onnx_outputs("AveragePool", x, **onnx_attrs(case, count_include_pad=int(include)))[0]
    ksize, strides, _ = lists(case, 3)
    attrs = {"ksize": ksize, "strides": strides, "pads": list(DILATED[case][2])}
    attrs |= {"count_include_pad": include, "data_format": "NCDHW"}
    assert_close(run("AvgPool3D", x, **attrs)[0], expected, scale=4)
    assert_close(run("AvgPool3DD", x, **attrs)[0], expected, scale=4)


def test_avg_pool_3d_same_excludes_padding():
    x = sample("any", (1, 2, 5, 6, 7), F32)
    expected = onnx_outputs("AveragePool", x, **onnx_attrs("overlapping", auto_pad="SAME_UPPER"))[0]
    ksize, strides, _ = lists("overlapping", 3)
    y = run(
        "AvgPool3D", x, ksize=ksize, strides=strides, pads=[0], data_format="NCDHW",
        node_attrs={"ge.padding": StringAttr("SAME")},
    )[0]  # fmt: skip
    assert_close(y, expected, scale=4)


def test_avg_pool_3d_divisor_override_and_single_entries():
    x = sample("any", (1, 4, 4, 4, 2), F32)
    y = run("AvgPool3D", x, ksize=[2], strides=[2], pads=[0], divisor_override=3)[0]
    blocks = x.reshape(1, 2, 2, 2, 2, 2, 2, 2).sum(axis=(2, 4, 6), dtype=F64)
    assert_close(y, (blocks / 3).astype(F32), scale=4)


def row_means(x, k, s, pads, ceil_mode, include):
    """AvgPool1D by a loop over windows, in f64."""
    left, right = pads
    size = x.shape[-1]
    room = (size + left + right - k) / s
    count = (math.ceil(room) if ceil_mode else math.floor(room)) + 1
    if ceil_mode and left and (count - 1) * s >= size + left:
        count -= 1
    y = np.zeros((*x.shape[:-1], count))
    for i in range(count):
        start = i * s - left
        inside = [p for p in range(start, start + k) if 0 <= p < size]
        padded = [p for p in range(start, start + k) if p < size + right]
        total = x[..., inside].astype(F64).sum(axis=-1)
        y[..., i] = total / max(len(padded if include else inside), 1)
    return y.astype(x.dtype)


@pytest.mark.parametrize("include", [False, True])
@pytest.mark.parametrize("ceil_mode", [False, True])
@pytest.mark.parametrize(("k", "s", "pads"), [(3, 2, (1, 1)), (2, 3, (0, 1)), (4, 1, (2, 0))])
@pytest.mark.parametrize("shape", [(2, 3, 10), (7,), (1, 2, 3, 9)])
def test_avg_pool_1d(shape, k, s, pads, ceil_mode, include):
    x = sample("any", shape, F32)
    expected = row_means(x, k, s, pads, ceil_mode, include)
    attrs = {"ksize": k, "strides": s, "pads": pads, "ceil_mode": ceil_mode}
    assert_close(run("AvgPool1D", x, count_include_pad=include, **attrs)[0], expected, scale=4)
    assist = sample("any", expected.shape, F32, 1)
    y = run("AvgPool1DD", x, assist, **attrs)[0]
    assert y.shape == expected.shape


def test_avg_pool_1d_d_multiplies_the_sums():
    x, assist = np.arange(6, dtype=F32), np.array([0.5, 0.25, 1], F32)
    y = run("AvgPool1DD", x, assist, ksize=2, strides=2, pads=[0, 0])[0]
    assert_close(y, np.array([0.5, 1.25, 9], F32))


@pytest.mark.parametrize("data_format", ["NCHW", "NHWC"])
@pytest.mark.parametrize("ceil_mode", [0, 1])
@pytest.mark.parametrize(
    ("window", "stride", "pad"),
    [((3, 3), (2, 2), (1, 1)), ((2, 3), (2, 2), (0, 0)), ((2, 2), (3, 3), (1, 0))],
)
def test_caffe_pooling_rounds_up_by_default(window, stride, pad, ceil_mode, data_format):
    x = sample("any", (1, 2, 7, 8), F32)
    counts = []
    for n, k, s, p in zip((7, 8), window, stride, pad, strict=True):
        room = (n + 2 * p - k) / s
        count = (math.floor(room) if ceil_mode else math.ceil(room)) + 1
        counts.append(count - 1 if any(pad) and (count - 1) * s >= n + p else count)
    best, means = np.zeros((1, 2, *counts), F32), np.zeros((1, 2, *counts), F32)
    for i in range(counts[0]):
        for j in range(counts[1]):
            top, left = i * stride[0] - pad[0], j * stride[1] - pad[1]
            bottom, right = min(top + window[0], 7 + pad[0]), min(left + window[1], 8 + pad[1])
            part = x[:, :, max(top, 0) : min(bottom, 7), max(left, 0) : min(right, 8)]
            best[:, :, i, j] = part.max(axis=(2, 3))
            size = (bottom - top) * (right - left)
            means[:, :, i, j] = part.astype(F64).sum(axis=(2, 3)) / size
    attrs = {"window": window, "stride": stride, "pad": [pad[0], pad[0], pad[1], pad[1]]}
    attrs |= {"ceil_mode": ceil_mode, "data_format": data_format}
    if data_format == "NHWC":
        x, best, means = (np.moveaxis(a, 1, -1) for a in (x, best, means))
    assert_close(run("Pooling", x, mode=0, **attrs)[0], best)
    assert_close(run("Pooling", x, mode=1, **attrs)[0], means, scale=4)


def test_caffe_global_pooling():
    x = sample("any", (2, 3, 5, 6), F32)
    y = run("Pooling", x, mode=1, global_pooling=True)[0]
    assert_close(y, onnx_outputs("GlobalAveragePool", x)[0], scale=4)


def test_caffe_mean_of_bytes_is_refused():
    with pytest.raises(ValueError, match="x is int8, expected floats for a mean"):
        run("Pooling", np.ones((1, 1, 2, 2), I8), mode=1)


@pytest.mark.parametrize("p", [1, 2, 3])
@pytest.mark.parametrize("shape", [(2, 3, 4, 5), (1, 2, 3, 4, 2)])
def test_global_lp_pool_as_onnx(shape, p):
    x = sample("any", shape, F32)
    assert_close(run("GlobalLpPool", x, p=p)[0], onnx_outputs("GlobalLpPool", x, p=p)[0], scale=4)
