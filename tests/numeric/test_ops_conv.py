"""Convolutions: onnxruntime's Conv against `evaluate`."""

import numpy as np
import pytest
from op_runs import make, onnx_outputs, run
from op_witness import BF16, F16, F32, F64, I8, I32, assert_close, sample
from xdsl.dialects.builtin import StringAttr

from ge_xdsl.dialects.ge.types import DYNAMIC, DataType, Format, Layout, Tensor, tensor_of

# x, filter (NCHW), strides, pads [top, bottom, left, right], dilations, groups
CASES = {
    "plain": ((2, 3, 8, 9), (4, 3, 3, 3), (1, 1), (0, 0, 0, 0), (1, 1), 1),
    "padded": ((1, 3, 8, 9), (4, 3, 3, 5), (1, 1), (1, 1, 2, 2), (1, 1), 1),
    "uneven pads": ((1, 3, 8, 9), (4, 3, 3, 3), (2, 1), (1, 0, 0, 2), (1, 1), 1),
    "strided": ((2, 3, 11, 9), (4, 3, 3, 2), (3, 2), (1, 1, 1, 1), (1, 1), 1),
    "dilated": ((1, 2, 12, 13), (3, 2, 3, 3), (1, 2), (2, 2, 2, 2), (2, 3), 1),
    "grouped": ((2, 6, 7, 7), (9, 2, 3, 3), (1, 1), (1, 1, 1, 1), (1, 1), 3),
    "depthwise": ((2, 5, 7, 8), (5, 1, 3, 3), (2, 1), (1, 0, 1, 1), (1, 2), 5),
    "multiplied": ((1, 3, 6, 6), (6, 1, 3, 3), (1, 1), (1, 1, 1, 1), (1, 1), 3),
    "pointwise": ((2, 4, 5, 6), (7, 4, 1, 1), (1, 1), (0, 0, 0, 0), (1, 1), 1),
    "pointwise strided": ((2, 4, 5, 6), (6, 2, 1, 1), (2, 3), (0, 0, 0, 0), (1, 1), 2),
    "pointwise padded": ((1, 4, 5, 6), (3, 4, 1, 1), (1, 1), (1, 1, 0, 1), (1, 1), 1),
    "one window": ((1, 2, 3, 3), (4, 2, 3, 3), (1, 1), (0, 0, 0, 0), (1, 1), 1),
    "no image": ((0, 2, 5, 5), (4, 2, 3, 3), (1, 1), (0, 0, 0, 0), (1, 1), 1),
}


def onnx_conv(x, weight, bias, strides, pads, dilations, groups):
    top, bottom, left, right = pads
    return onnx_outputs(
        "Conv", x, weight, bias, strides=strides, pads=[top, left, bottom, right],
        dilations=dilations, group=groups,
    )[0]  # fmt: skip


def spread(values, data_format):
    """[h, w] -> the 4 entries of strides and dilations."""
    return [1, 1, *values] if data_format == "NCHW" else [1, *values, 1]


def arrays(case, dtype, seed=0):
    x, weight = (sample("any", shape, dtype, seed + i) for i, shape in enumerate(CASES[case][:2]))
    return x, weight, sample("any", weight.shape[:1], dtype, seed + 2)


@pytest.mark.parametrize("data_format", ["NCHW", "NHWC"])
@pytest.mark.parametrize("dtype", [F32, F16, BF16])
@pytest.mark.parametrize("case", CASES)
def test_conv2d_as_onnx(case, dtype, data_format):
    x, weight, bias = arrays(case, dtype)
    _, _, strides, pads, dilations, groups = CASES[case]
    expected = onnx_conv(x, weight, bias, strides, pads, dilations, groups)
    if data_format == "NHWC":
        x, weight = x.transpose(0, 2, 3, 1), weight.transpose(2, 3, 1, 0)
        expected = expected.transpose(0, 2, 3, 1)
    attrs = {
        "strides": spread(strides, data_format),
        "dilations": spread(dilations, data_format),
        "pads": pads,
        "groups": groups,
        "data_format": data_format,
    }
    assert_close(run("Conv2D", x, weight, bias, **attrs)[0], expected, scale=16)
    fused = run("FusedConv2D_BiasAdd_ReLU", x, weight, bias, **attrs)[0]
    assert_close(fused, np.maximum(expected, expected.dtype.type(0)), scale=16)


def test_conv2d_of_random_geometry_as_onnx():
    rng = np.random.default_rng(5)
    for seed in range(60):
        groups = int(rng.choice([1, 1, 2, 3, 4]))
        kernel, strides = rng.integers(1, 5, (2, 2)).tolist()
        dilations, pads = rng.integers(1, 4, 2).tolist(), rng.integers(0, 4, 4).tolist()
        size = [
            max((k - 1) * d + 1, int(rng.integers(1, 15)))
            for k, d in zip(kernel, dilations, strict=True)
        ]
        depth, out = rng.integers(1, 4, 2).tolist()
        x = sample("any", (int(rng.integers(1, 3)), depth * groups, *size), F32, seed)
        weight = sample("any", (out * groups, depth, *kernel), F32, seed + 1)
        expected = onnx_conv(x, weight, None, strides, pads, dilations, groups)
        y = run(
            "Conv2D", x, weight, strides=[1, 1, *strides], dilations=[1, 1, *dilations],
            pads=pads, groups=groups, data_format="NCHW",
        )[0]  # fmt: skip
        np.testing.assert_allclose(y, expected, rtol=1e-4, atol=1e-3)


def test_conv2d_without_bias_in_blocks_of_rows():
    x, weight = sample("any", (1, 32, 90, 90), F32, 1), sample("unit", (8, 32, 3, 3), F32, 2)
    y = run("Conv2D", x, weight, strides=[1] * 4, pads=[1] * 4, data_format="NCHW")[0]
    expected = onnx_conv(x, weight, None, (1, 1), (1, 1, 1, 1), (1, 1), 1)
    np.testing.assert_allclose(y, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("kernel", [1, 3])
def test_conv2d_of_i8_sums_in_i32_and_pads_with_offset_x(kernel):
    x, weight = sample("any", (1, 4, 6, 6), I8, 1), sample("any", (4, 4, kernel, kernel), I8, 2)
    bias = sample("any", (4,), I32, 3)
    pads = [1, 1, 1, 1]
    attrs = {"strides": [1] * 4, "pads": pads, "data_format": "NCHW", "offset_x": 7}
    y = run("Conv2D", x, weight, bias, **attrs)[0]
    padded = np.pad(x.astype(F32), [(0, 0), (0, 0), (1, 1), (1, 1)], constant_values=7)
    expected = onnx_conv(padded, weight.astype(F32), bias.astype(F32), (1, 1), (0,) * 4, (1, 1), 1)
    assert_close(y, expected.astype(I32))


def test_conv2d_takes_groups_from_the_filter():
    x, weight, bias = arrays("grouped", F32)
    y = run("Conv2D", x, weight, bias, strides=[1] * 4, pads=[1] * 4, data_format="NCHW")[0]
    assert_close(y, onnx_conv(x, weight, bias, (1, 1), (1,) * 4, (1, 1), 3), scale=16)


@pytest.mark.parametrize(
    ("key", "mode", "onnx_mode"),
    [
        ("ge.padding", "SAME", "SAME_UPPER"),
        ("ge.auto_pad", "SAME_UPPER", "SAME_UPPER"),
        ("ge.auto_pad", "SAME_LOWER", "SAME_LOWER"),
        ("ge.auto_pad", "VALID", "VALID"),
    ],
)
@pytest.mark.parametrize("stride", [1, 2, 3])
def test_conv2d_padding_modes_replace_pads(key, mode, onnx_mode, stride):
    x, weight, _ = arrays("strided", F32)
    y = run(
        "Conv2D", x, weight, strides=[1, 1, stride, stride], pads=[5] * 4, data_format="NCHW",
        node_attrs={key: StringAttr(mode)},
    )[0]  # fmt: skip
    expected = onnx_outputs("Conv", x, weight, strides=[stride, stride], auto_pad=onnx_mode)[0]
    assert_close(y, expected, scale=16)


def test_conv2d_reads_the_filter_in_the_format_of_its_type():
    x, weight, _ = arrays("padded", F32)
    attrs = {"strides": [1] * 4, "pads": CASES["padded"][3], "data_format": "NCHW"}
    expected = run("Conv2D", x, weight, **attrs)[0]
    moved = weight.transpose(2, 3, 1, 0)
    layout = Layout(Format.FORMAT_HWCN, Format.FORMAT_HWCN)
    block_op = make("Conv2D", (x, weight), True, (), {}, attrs)
    x_value = block_op.operands[0]
    filter_value = block_op.parent.insert_arg(
        Tensor(DataType.DT_FLOAT, moved.shape, layout).type, len(block_op.parent.args)
    )
    op = type(block_op).build(x_value, filter_value, **attrs)
    assert tensor_of(op.y.type).shape == expected.shape
    assert_close(op.execute([x, moved])[0], expected)


def test_conv2d_keeps_what_is_known():
    x, weight, _ = arrays("padded", F32)
    attrs = {"strides": [1] * 4, "pads": [1] * 4, "data_format": "NCHW"}
    op = make("Conv2D", (x, weight), True, (), None, attrs)
    full = tensor_of(op.operands[1].type)
    [y] = op.inferred([Tensor(DataType.DT_FLOAT, (DYNAMIC, 3, DYNAMIC, 9)), full])
    assert y.shape == (DYNAMIC, 4, DYNAMIC, 7)
    [y] = op.inferred([Tensor(DataType.DT_FLOAT, None), full])
    assert y.shape == (DYNAMIC, 4, DYNAMIC, DYNAMIC)


@pytest.mark.parametrize("data_format", ["NCHW", "NHWC"])
@pytest.mark.parametrize("dtype", [F32, F16])
@pytest.mark.parametrize("many", [1, 3])
def test_depthwise_conv2d_as_onnx(many, dtype, data_format):
    x = sample("any", (2, 4, 7, 8), dtype, 1)
    weight = sample("any", (3, 2, 4, many), dtype, 2)  # HWCN: kh, kw, channels, multiplier
    bias = sample("any", (4 * many,), dtype, 3)
    expected = onnx_conv(
        x, weight.transpose(2, 3, 0, 1).reshape(4 * many, 1, 3, 2), bias, (2, 1), (1, 0, 1, 0),
        (1, 2), 4,
    )  # fmt: skip
    if data_format == "NHWC":
        x, expected = x.transpose(0, 2, 3, 1), expected.transpose(0, 2, 3, 1)
    y = run(
        "DepthwiseConv2D", x, weight, bias, strides=spread((2, 1), data_format),
        dilations=spread((1, 2), data_format), pads=[1, 0, 1, 0], data_format=data_format,
    )[0]  # fmt: skip
    assert_close(y, expected, scale=16)


def test_conv2d_refuses_windows_that_no_memory_holds():
    x, weight = np.zeros((1, 1, 1, 1), F32), np.zeros((1, 1, 2000, 2000), F32)
    given = {"strides": [1] * 4, "pads": [2000] * 4, "data_format": "NCHW"}
    with pytest.raises(ValueError, match="windows of a row of results has 8008000000 elements, e"):
        run("Conv2D", x, weight, None, None, **given)
    x, weight = np.zeros((1, 2, 1, 1), F32), np.zeros((2000, 2000, 2, 1), F32)
    with pytest.raises(
        ValueError, match=r"windows of a channel has \d+ elements, expected at most"
    ):
        run("DepthwiseConv2D", x, weight, None, None, **given)


def test_f64_stays_f64():
    x, weight, _ = arrays("plain", F64)
    y = run("Conv2D", x, weight, strides=[1] * 4, pads=[0] * 4, data_format="NCHW")[0]
    expected = onnx_conv(x.astype(F32), weight.astype(F32), None, (1, 1), (0,) * 4, (1, 1), 1)
    assert y.dtype == F64
    np.testing.assert_allclose(y, expected, rtol=1e-4, atol=1e-4)
