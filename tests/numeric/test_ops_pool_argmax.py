"""Max pooling with positions against onnxruntime's MaxPool, and its gradient."""

import numpy as np
import pytest
from op_runs import onnx_outputs, run
from op_witness import F16, F32, I32, I64, assert_close, sample

# ksize, strides, pads [h, w], dilation
WINDOWS = {
    "plain": ((2, 2), (2, 2), (0, 0), (1, 1)),
    "padded": ((3, 2), (1, 2), (1, 1), (1, 1)),
    "dilated": ((2, 3), (2, 1), (0, 1), (3, 2)),
}


def witness(x, case, **more):
    """Values, and positions in the plane of each channel."""
    ksize, strides, pads, dilation = WINDOWS[case]
    y, index = onnx_outputs(
        "MaxPool", x, count=2, kernel_shape=ksize, strides=strides, pads=[*pads, *pads],
        dilations=dilation, **more,
    )  # fmt: skip
    planes = np.arange(x.shape[0] * x.shape[1]).reshape(*x.shape[:2], 1, 1)
    return y, index - planes * x.shape[2] * x.shape[3]


@pytest.mark.parametrize("data_format", ["NCHW", "NHWC"])
@pytest.mark.parametrize("ceil_mode", [False, True])
@pytest.mark.parametrize("dtype", [F32, F16])
@pytest.mark.parametrize("case", WINDOWS)
def test_v3_as_onnx(case, dtype, ceil_mode, data_format):
    x = np.round(sample("any", (2, 3, 8, 9), dtype) * dtype(1))  # many equal values
    expected, index = witness(x, case, ceil_mode=int(ceil_mode))
    ksize, strides, pads, dilation = WINDOWS[case]
    attrs = {"ksize": ksize, "strides": strides, "pads": pads, "dilation": dilation}
    attrs |= {"ceil_mode": ceil_mode, "data_format": data_format}
    if data_format == "NHWC":
        x, expected, index = (np.moveaxis(a, 1, -1) for a in (x, expected, index))
    for number, kind in ((3, I32), (9, I64)):
        y, argmax = run("MaxPoolWithArgmaxV3", x, dtype=number, **attrs)
        assert_close(y, expected)
        assert_close(argmax, index.astype(kind))
    y, argmax = run("MaxPoolWithArgmaxV3", x[0], **attrs)
    assert_close(y, expected[0])
    assert_close(argmax, index[0].astype(I32))


@pytest.mark.parametrize("data_format", ["NCHW", "NHWC"])
@pytest.mark.parametrize("batch", [False, True])
@pytest.mark.parametrize(("padding", "onnx_mode"), [("SAME", "SAME_UPPER"), ("VALID", "VALID")])
def test_tensorflow_positions_count_the_channel(padding, onnx_mode, batch, data_format):
    x = sample("any", (2, 3, 7, 8), F32)
    expected, index = onnx_outputs(
        "MaxPool", x, count=2, kernel_shape=(3, 2), strides=(2, 2), auto_pad=onnx_mode
    )
    place = np.stack(np.unravel_index(index, x.shape))
    if data_format == "NHWC":
        flat = np.ravel_multi_index((place[0], place[2], place[3], place[1]), (2, 7, 8, 3))
    else:
        flat = index
    if not batch:
        flat = flat % x[0].size
    ksize, strides = [1, 1, 3, 2], [1, 1, 2, 2]
    if data_format == "NHWC":
        x, expected, flat = (np.moveaxis(a, 1, -1) for a in (x, expected, flat))
        ksize, strides = [1, 3, 2, 1], [1, 2, 2, 1]
    y, argmax = run(
        "MaxPoolWithArgmax", x, ksize=ksize, strides=strides, padding=padding,
        include_batch_in_index=batch, data_format=data_format,
    )  # fmt: skip
    assert_close(y, expected)
    assert_close(argmax, flat.astype(I64))


def test_nan_counts_as_the_lowest_value_unless_it_propagates():
    x = np.array([np.nan, 1, 2, np.nan], F32).reshape(1, 1, 1, 4)
    attrs = {"ksize": [1, 1, 1, 2], "strides": [1, 1, 1, 2], "padding": "VALID",
             "data_format": "NCHW", "Targmax": 3}  # fmt: skip
    y, argmax = run("MaxPoolWithArgmax", x, **attrs)
    assert_close(y, np.array([1, 2], F32).reshape(1, 1, 1, 2))
    assert argmax.reshape(-1).tolist() == [1, 2]
    y, argmax = run("MaxPoolWithArgmax", x, nan_prop=True, **attrs)
    assert np.isnan(y).all()
    assert argmax.reshape(-1).tolist() == [0, 3]


@pytest.mark.parametrize("data_format", ["NCHW", "NHWC"])
@pytest.mark.parametrize("case", WINDOWS)
def test_gradient_adds_at_the_positions(case, data_format):
    x = sample("any", (2, 3, 8, 9), F32)
    y, index = witness(x, case)
    grad = sample("any", y.shape, F32, 1)
    expected = np.zeros((6, 72), F32)
    for plane in range(6):
        np.add.at(expected[plane], index.reshape(6, -1)[plane], grad.reshape(6, -1)[plane])
    expected = expected.reshape(x.shape)
    ksize, strides, pads, dilation = WINDOWS[case]
    if data_format == "NHWC":
        x, grad, index, expected = (np.moveaxis(a, 1, -1) for a in (x, grad, index, expected))
    attrs = {"ksize": ksize, "strides": strides, "pads": pads, "dilation": dilation}
    attrs["data_format"] = data_format
    assert_close(run("MaxPoolGradWithArgmaxV3", x, grad, index, **attrs)[0], expected)
    found = run("MaxPoolGradWithArgmaxV3", x[1], grad[1], index[1].astype(I32), **attrs)[0]
    assert_close(found, expected[1])


def test_positions_outside_of_the_plane_are_refused():
    x, grad = np.zeros((1, 1, 2, 2), F32), np.zeros((1, 1, 1, 1), F32)
    with pytest.raises(ValueError, match=r"argmax is outside of \[0, 4\), expected plane"):
        run(
            "MaxPoolGradWithArgmaxV3", x, grad, np.full((1, 1, 1, 1), 4, I32), ksize=[2, 2],
            strides=[1, 1], pads=[0, 0],
        )  # fmt: skip


def test_a_window_of_padding_alone_is_refused():
    with pytest.raises(ValueError, match="a window has no element of x, expected one"):
        run(
            "MaxPoolWithArgmaxV3", np.zeros((1, 1, 1, 1), F32), ksize=[2, 2], strides=[1, 1],
            pads=[1, 1], dilation=[2, 2],
        )  # fmt: skip
