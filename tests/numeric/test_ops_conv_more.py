"""Conv3D, padding modes, requantised and per-image convolutions against onnxruntime."""

import numpy as np
import pytest
from op_runs import onnx_outputs, run
from op_witness import BF16, F16, F32, F64, I8, I32, assert_close, sample

from ge_xdsl.dialects.ge.conv_more import packed_scales

# x, filter, strides, pads (begin and end pairs), dilations, groups
CASES = {
    "plain": ((2, 3, 4, 5, 6), (4, 3, 2, 3, 3), (1, 1, 1), (0,) * 6, (1, 1, 1), 1),
    "strided": ((1, 2, 5, 6, 7), (3, 2, 3, 3, 2), (2, 1, 3), (1, 0, 1, 1, 0, 2), (1, 1, 1), 1),
    "dilated": ((1, 2, 6, 7, 7), (2, 2, 2, 3, 2), (1, 2, 1), (1, 1, 2, 0, 0, 0), (3, 1, 2), 1),
    "grouped": ((2, 6, 4, 4, 4), (4, 3, 2, 2, 2), (1, 1, 1), (1,) * 6, (1, 1, 1), 2),
    "no image": ((0, 3, 4, 5, 6), (4, 3, 2, 3, 3), (1, 1, 1), (0,) * 6, (1, 1, 1), 1),
}


@pytest.mark.parametrize("channels_last", [False, True])
@pytest.mark.parametrize("dtype", [F32, F16, BF16])
@pytest.mark.parametrize("case", CASES)
def test_conv3d_as_onnx(case, dtype, channels_last):
    shape, kernel, strides, pads, dilations, groups = CASES[case]
    x, weight = sample("any", shape, dtype, 1), sample("any", kernel, dtype, 2)
    bias = sample("any", kernel[:1], dtype, 3)
    expected = onnx_outputs(
        "Conv", x, weight, bias, strides=strides, pads=[*pads[::2], *pads[1::2]],
        dilations=dilations, group=groups,
    )[0]  # fmt: skip
    attrs = {"pads": list(pads), "groups": groups}
    attrs |= {"strides": [1, 1, *strides], "dilations": [1, 1, *dilations]}
    attrs["data_format"] = "NCDHW"
    if channels_last:
        x, expected = np.moveaxis(x, 1, -1), np.moveaxis(expected, 1, -1)
        weight = weight.transpose(2, 3, 4, 1, 0)
        attrs |= {"strides": [1, *strides, 1], "dilations": [1, *dilations, 1]}
        attrs["data_format"] = "NDHWC"
    assert_close(run("Conv3D", x, weight, bias, **attrs)[0], expected, scale=16)
    assert_close(run("Conv3DV2", x, weight, bias, **attrs)[0], expected, scale=16)


@pytest.mark.parametrize("mode", ["SAME", "SAME_UPPER", "SAME_LOWER", "VALID"])
@pytest.mark.parametrize("stride", [1, 2, 3])
def test_pad_modes_as_onnx(mode, stride):
    onnx_mode = "SAME_UPPER" if mode == "SAME" else mode
    x, weight = sample("any", (1, 2, 8, 9), F32, 1), sample("any", (3, 2, 3, 2), F32, 2)
    expected = onnx_outputs("Conv", x, weight, strides=[stride] * 2, auto_pad=onnx_mode)[0]
    y = run("Conv2DV2", x, weight, strides=[1, 1, stride, stride], pad_mode=mode)[0]
    assert_close(y, expected, scale=16)
    x, weight = sample("any", (1, 2, 5, 6, 7), F32, 1), sample("any", (3, 2, 3, 2, 2), F32, 2)
    expected = onnx_outputs("Conv", x, weight, strides=[stride] * 3, auto_pad=onnx_mode)[0]
    y = run("Conv3DV2", x, weight, strides=[1, 1, *[stride] * 3], pad_mode=mode)[0]
    assert_close(y, expected, scale=16)


def words(scale):
    """f32 scales in the low half of 64-bit words, with bits above that must not count."""
    return scale.astype(F32).view(np.uint32).astype(np.uint64) | np.uint64(5 << 40)


@pytest.mark.parametrize("relu", [False, True])
@pytest.mark.parametrize("entries", [1, 4])
@pytest.mark.parametrize("dtype0", [-1, 0, 1, 2])
def test_extend_conv2d_requantises(dtype0, entries, relu):
    x, weight = sample("any", (1, 3, 6, 6), I8, 1), sample("any", (4, 3, 3, 3), I8, 2)
    bias, scale = sample("any", (4,), I32, 3), np.linspace(0.9, 0.01, entries).astype(F32)
    y0, y1 = run(
        "ExtendConv2D", x, weight, bias, None, words(scale), strides=[1] * 4, pads=[1] * 4,
        enable_relu0=relu, dtype0=dtype0,
    )  # fmt: skip
    exact = onnx_outputs("Conv", x.astype(F32), weight.astype(F32), bias.astype(F32), pads=[1] * 4)
    scaled = (exact[0] * scale.reshape(1, -1, 1, 1)).astype(F32)
    scaled = np.maximum(scaled, 0) if relu else scaled
    if dtype0 in (-1, 2):
        expected = np.clip(np.round(scaled), -128, 127).astype(I8)
        assert (np.abs(scaled) > 128).any()
    else:
        expected = scaled.astype({0: F32, 1: F16}[dtype0])
    assert_close(y0, expected)
    assert_close(y1, expected)


def test_extend_conv2d_without_scale_is_conv2d():
    x, weight = sample("any", (1, 3, 6, 6), F16, 1), sample("any", (4, 3, 3, 3), F16, 2)
    y = run("ExtendConv2D", x, weight, strides=[1] * 4, pads=[1] * 4)[0]
    assert_close(y, onnx_outputs("Conv", x, weight, pads=[1] * 4)[0], scale=4)


@pytest.mark.parametrize("dtype", [F32, F16, I8])
@pytest.mark.parametrize("groups", [1, 3])
def test_correlation_slides_each_filter_over_its_own_image(groups, dtype):
    x, kernel = sample("any", (2, 3, 6, 5), dtype, 1), sample("any", (2, 3, 3, 2), dtype, 2)
    y = run("Correlation", kernel, x, groups=groups)[0]
    expected = np.zeros((2, groups, 4, 4), F64)
    for i in range(4):
        for j in range(4):
            part = x[:, :, i : i + 3, j : j + 2].astype(F64) * kernel.astype(F64)
            part = part.sum(axis=(2, 3))
            expected[:, :, i, j] = part if groups == 3 else part.sum(axis=1, keepdims=True)
    assert_close(y, expected.astype(I32 if dtype == I8 else dtype), scale=4)


def test_correlation_of_no_images():
    empty = np.zeros((0, 3, 6, 5), F32)
    assert run("Correlation", empty[:, :, :2, :2], empty, groups=1)[0].shape == (0, 1, 5, 4)


def test_packed_scales_are_counted():
    with pytest.raises(ValueError, match="scale has 3 entries, expected 1 or 4"):
        packed_scales(words(np.ones(3, F32)), 4)
