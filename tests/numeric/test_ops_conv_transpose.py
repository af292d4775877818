"""Transposed convolutions and gradients in x: onnxruntime's ConvTranspose against `evaluate`."""

import numpy as np
import pytest
from op_runs import make, onnx_outputs, run
from op_witness import BF16, F16, F32, I8, I32, I64, assert_close, sample
from xdsl.dialects.builtin import StringAttr
from xdsl.utils.exceptions import VerifyException

from ge_xdsl.dialects.ge.prototype import encode
from ge_xdsl.dialects.ge.types import DYNAMIC, DataType, Tensor

# x, filter [Cx, Cy/g, kernel], strides, pads (begin and end pairs), dilations, groups, extra
CASES = {
    "plain": ((2, 3, 5, 6), (3, 4, 3, 3), (1, 1), (0, 0, 0, 0), (1, 1), 1, (0, 0)),
    "strided": ((1, 3, 5, 6), (3, 2, 3, 4), (2, 3), (1, 0, 1, 2), (1, 1), 1, (0, 0)),
    "dilated": ((1, 2, 5, 4), (2, 3, 2, 3), (1, 2), (1, 1, 0, 1), (2, 3), 1, (0, 1)),
    "grouped": ((2, 6, 4, 5), (6, 2, 3, 3), (2, 2), (1, 1, 1, 1), (1, 1), 3, (1, 1)),
    "stride over kernel": ((1, 2, 3, 4), (2, 2, 1, 2), (3, 3), (0, 0, 0, 0), (1, 1), 1, (2, 0)),
    "no image": ((0, 2, 5, 5), (2, 3, 3, 3), (1, 1), (0, 0, 0, 0), (1, 1), 1, (0, 0)),
    "3-D": (
        (1, 4, 3, 4, 5), (4, 2, 2, 3, 2), (2, 1, 2), (1, 0, 1, 1, 0, 1), (1, 2, 1), 2, (1, 0, 1),
    ),
    "3-D plain": ((2, 2, 3, 3, 3), (2, 3, 2, 2, 2), (1, 1, 1), (0,) * 6, (1, 1, 1), 1, (0, 0, 0)),
}  # fmt: skip


def witness(x, weight, bias, case, **more):
    _, _, strides, pads, dilations, groups, extra = CASES[case]
    attrs = {"strides": strides, "dilations": dilations, "group": groups}
    if "auto_pad" not in more:
        attrs["pads"] = [*pads[::2], *pads[1::2]]
        attrs["output_padding"] = extra
    if not x.size:
        shape = list(onnx_outputs("ConvTranspose", np.ones((1, *x.shape[1:]), F32), weight, bias,
                                  **attrs)[0].shape)  # fmt: skip
        return np.zeros((0, *shape[1:]), x.dtype)
    return onnx_outputs("ConvTranspose", x, weight, bias, **attrs, **more)[0]


def spread(values, channels_last, fill):
    return [fill, *values, fill] if channels_last else [fill, fill, *values]


def arrays(case, dtype):
    x, weight = (sample("any", s, dtype, i) for i, s in enumerate(CASES[case][:2]))
    groups = CASES[case][5]
    return x, weight, sample("any", (weight.shape[1] * groups,), dtype, 7)


def last(array):
    return np.moveaxis(array, 1, -1)


def attributes(case, channels_last=False):
    _, _, strides, pads, dilations, groups, extra = CASES[case]
    letters = "DHW" if len(strides) == 3 else "HW"
    return {
        "strides": spread(strides, channels_last, 1),
        "dilations": spread(dilations, channels_last, 1),
        "pads": list(pads),
        "groups": groups,
        "output_padding": spread(extra, channels_last, 0),
        "data_format": f"N{letters}C" if channels_last else f"NC{letters}",
    }


@pytest.mark.parametrize("channels_last", [False, True])
@pytest.mark.parametrize("dtype", [F32, F16, BF16])
@pytest.mark.parametrize("case", CASES)
def test_transposed_as_onnx(case, dtype, channels_last):
    x, weight, bias = arrays(case, dtype)
    expected = witness(x, weight, bias, case)
    attrs = attributes(case, channels_last)
    if channels_last:
        x, expected = last(x), last(expected)
        weight = weight.transpose(*range(2, weight.ndim), 1, 0)
    op = f"Conv{x.ndim - 2}DTranspose"
    zeros = np.zeros(x.ndim, I32)
    assert_close(run(op, zeros, x, weight, bias, **attrs)[0], expected, scale=16)
    const = run(f"{op}D", x, weight, bias, input_size=[0] * x.ndim, **attrs)[0]
    assert_close(const, expected, scale=16)
    if x.ndim == 5:
        assert_close(run(f"{op}V2", zeros, x, weight, bias, **attrs)[0], expected, scale=16)
    if x.size:
        size = np.array(expected.shape, I64)
        assert_close(run(op, size, x, weight, bias, **attrs)[0], expected, scale=16)


@pytest.mark.parametrize("channels_last", [False, True])
@pytest.mark.parametrize("case", [c for c in CASES if "no" not in c])
def test_backprop_input_as_onnx(case, channels_last):
    x, weight, _ = arrays(case, F32)
    expected = witness(x, weight, None, case)
    attrs = attributes(case, channels_last)
    del attrs["output_padding"]
    if channels_last:
        x, expected = last(x), last(expected)
        weight = weight.transpose(*range(2, weight.ndim), 1, 0)
    op = f"Conv{x.ndim - 2}DBackpropInput"
    size = np.array(expected.shape, I32)
    assert_close(run(op, size, weight, x, **attrs)[0], expected, scale=16)
    const = run(f"{op}D", weight, x, input_size=list(expected.shape), **attrs)[0]
    assert_close(const, expected, scale=16)
    if x.ndim == 5:
        assert_close(run(f"{op}V2", size, weight, x, **attrs)[0], expected, scale=16)


@pytest.mark.parametrize("channels_last", [False, True])
@pytest.mark.parametrize("many", [1, 3])
def test_depthwise_backprop_input_as_onnx(many, channels_last):
    dy = sample("any", (2, 4 * many, 5, 4), F32, 1)
    weight = sample("any", (3, 2, 4, many), F32, 2)
    forward = weight.transpose(2, 3, 0, 1).reshape(4 * many, 1, 3, 2)
    expected = onnx_outputs(
        "ConvTranspose", dy, forward, strides=(2, 1), pads=(1, 0, 1, 0), group=4
    )[0]
    attrs = {"strides": spread((2, 1), channels_last, 1), "pads": [1, 1, 0, 0]}
    attrs["data_format"] = "NHWC" if channels_last else "NCHW"
    if channels_last:
        dy, expected = last(dy), last(expected)
    size = np.array(expected.shape, I32)
    y = run("DepthwiseConv2DBackpropInput", size, weight, dy, **attrs)[0]
    assert_close(y, expected, scale=16)
    y = run("DepthwiseConv2DBackpropInputD", weight, dy, input_size=list(expected.shape), **attrs)[
        0
    ]
    assert_close(y, expected, scale=16)


@pytest.mark.parametrize("case", ["plain", "grouped", "strided"])
def test_deconvolution_as_onnx(case):
    x, weight, bias = arrays(case, F32)
    _, _, strides, pads, dilations, groups, _ = CASES[case]
    expected = onnx_outputs(
        "ConvTranspose", x, weight, bias, strides=strides, pads=[*pads[::2], *pads[1::2]],
        dilations=dilations, group=groups,
    )[0]  # fmt: skip
    y = run("Deconvolution", x, weight, bias, strides=strides, pads=pads, groups=groups)[0]
    assert_close(y, expected, scale=16)


def test_bytes_are_summed_in_i32():
    x, weight = sample("any", (1, 4, 5, 5), I8, 1), sample("any", (4, 3, 3, 3), I8, 2)
    y = run("Deconvolution", x, weight, sample("any", (3,), I32, 3), strides=(2, 2))[0]
    expected = onnx_outputs(
        "ConvTranspose", x.astype(F32), weight.astype(F32), sample("any", (3,), I32, 3).astype(F32),
        strides=(2, 2),
    )[0]  # fmt: skip
    assert_close(y, expected.astype(I32))


@pytest.mark.parametrize("mode", ["SAME_UPPER", "SAME_LOWER", "VALID"])
@pytest.mark.parametrize("case", ["plain", "strided", "grouped"])
def test_auto_pad_as_onnx(case, mode):
    x, weight, _ = arrays(case, F32)
    attrs = attributes(case) | {"output_padding": [0] * 4}
    expected = witness(x, weight, None, case, auto_pad=mode)
    node_attrs = {"ge.auto_pad": StringAttr(mode)}
    y = run("Conv2DTranspose", np.zeros(4, I32), x, weight, node_attrs=node_attrs, **attrs)[0]
    assert_close(y, expected, scale=16)


def test_output_shape_of_the_node():
    x, weight, _ = arrays("strided", F32)
    attrs = attributes("strided") | {"pads": [0] * 4}
    node_attrs = {"ge.output_shape": encode("ListInt", [12, 20])}
    y = run("Conv2DTranspose", np.zeros(4, I32), x, weight, node_attrs=node_attrs, **attrs)[0]
    expected = onnx_outputs("ConvTranspose", x, weight, strides=(2, 3), output_padding=(1, 1))[0]
    assert_close(y, expected, scale=16)
    node_attrs["ge.auto_pad"] = StringAttr("SAME_LOWER")
    node_attrs["ge.output_shape"] = encode("ListInt", [10, 17])
    y = run("Conv2DTranspose", np.zeros(4, I32), x, weight, node_attrs=node_attrs, **attrs)[0]
    expected = onnx_outputs(
        "ConvTranspose", x, weight, strides=(2, 3), output_shape=(10, 17), auto_pad="SAME_LOWER"
    )[0]
    assert_close(y, expected, scale=16)


def test_unknown_size_keeps_the_channels():
    x, weight, _ = arrays("grouped", F32)
    op = make("Conv2DTranspose", (np.zeros(4, I32), x, weight), False, (), None,
              attributes("grouped"))  # fmt: skip
    size, filter = Tensor(DataType.DT_INT32, (4,)), Tensor(DataType.DT_FLOAT, weight.shape)
    [y] = op.inferred([size, Tensor(DataType.DT_FLOAT, x.shape), filter])
    assert y.shape == (2, 6, DYNAMIC, DYNAMIC)
    [y] = op.inferred([size, Tensor(DataType.DT_FLOAT, None), filter])
    assert y.shape == (DYNAMIC, 6, DYNAMIC, DYNAMIC)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (encode("ListInt", [3, 20]), "output_shape is 3, expected at least 11"),
        (encode("ListInt", [12]), r"output_shape is \(12,\), expected 2 sizes"),
        (StringAttr("12"), "output_shape is 12, expected 2 sizes"),
    ],
)
def test_an_output_shape_that_does_not_fit(value, text):
    x, weight, _ = arrays("strided", F32)
    attrs = attributes("strided") | {"pads": [0] * 4, "output_padding": [0] * 4}
    with pytest.raises(VerifyException, match=text):
        run(
            "Conv2DTranspose", np.zeros(4, I32), x, weight, node_attrs={"ge.output_shape": value},
            **attrs,
        )  # fmt: skip


def test_a_size_of_height_and_width_alone():
    x, weight, _ = arrays("strided", F32)
    expected = onnx_outputs("ConvTranspose", x, weight, strides=(2, 3), output_padding=(1, 1))[0]
    attrs = attributes("strided") | {"pads": [0] * 4, "output_padding": [0, 0, 1, 1]}
    size = np.array([0, 0, *expected.shape[2:]], I64)
    assert_close(run("Conv2DTranspose", size, x, weight, **attrs)[0], expected, scale=16)
