"""Gradients of convolutions in their filter: a sum over windows in f64 against `evaluate`."""

import itertools

import numpy as np
import pytest
from op_runs import run
from op_witness import F16, F32, F64, I32, assert_close, sample

# x, filter [Cout, Cin/g, kernel], strides, pads (begin and end pairs), dilations, groups
CASES = {
    "plain": ((2, 3, 5, 6), (4, 3, 3, 2), (1, 1), (0, 0, 0, 0), (1, 1), 1),
    "strided": ((1, 2, 7, 8), (3, 2, 3, 3), (2, 3), (1, 0, 1, 2), (1, 1), 1),
    "dilated": ((1, 2, 8, 7), (2, 2, 3, 2), (1, 2), (1, 1, 0, 0), (2, 3), 1),
    "grouped": ((2, 6, 5, 5), (4, 3, 3, 3), (1, 1), (1, 1, 1, 1), (1, 1), 2),
    "3-D": ((1, 4, 4, 5, 4), (2, 2, 2, 3, 2), (2, 1, 1), (1, 0, 1, 1, 0, 1), (1, 2, 1), 2),
}


def counts_of(case):
    shape, weight, strides, pads, dilations, _ = CASES[case]
    return tuple(
        (n + a + b - (k - 1) * d - 1) // s + 1
        for n, k, s, a, b, d in zip(
            shape[2:], weight[2:], strides, pads[::2], pads[1::2], dilations, strict=True
        )
    )


def gradient(x, dy, case):
    """dW[o, c, taps] = sum of dy[n, o, places] * x[n, c, places * stride + taps * dilation]."""
    _, weight, strides, pads, dilations, groups = CASES[case]
    pairs = list(zip(pads[::2], pads[1::2], strict=True))
    x = np.pad(x.astype(F64), [(0, 0), (0, 0), *pairs])
    dw = np.zeros(weight)
    for place in itertools.product(*map(range, dy.shape[2:])):
        for tap in itertools.product(*map(range, weight[2:])):
            at = tuple(
                p * s + t * d for p, s, t, d in zip(place, strides, tap, dilations, strict=True)
            )
            left = dy[(slice(None), slice(None), *place)].astype(F64)
            right = x[(slice(None), slice(None), *at)]
            for g in range(groups):
                outs = slice(g * weight[0] // groups, (g + 1) * weight[0] // groups)
                ins = slice(g * weight[1], (g + 1) * weight[1])
                dw[(outs, slice(None), *tap)] += left[:, outs].T @ right[:, ins]
    return dw.astype(F32)


def spread(values, channels_last):
    return [1, *values, 1] if channels_last else [1, 1, *values]


@pytest.mark.parametrize("channels_last", [False, True])
@pytest.mark.parametrize("dtype", [F32, F16])
@pytest.mark.parametrize("case", CASES)
def test_filter_gradient(case, dtype, channels_last):
    shape, weight, strides, pads, dilations, groups = CASES[case]
    x = sample("any", shape, dtype, 1)
    dy = sample("any", (shape[0], weight[0], *counts_of(case)), dtype, 2)
    expected = gradient(x, dy, case)
    letters = "DHW"[-len(strides) :]
    if channels_last:
        x, dy = np.moveaxis(x, 1, -1), np.moveaxis(dy, 1, -1)
        expected = expected.transpose(*range(2, x.ndim), 1, 0)
    attrs = {
        "strides": spread(strides, channels_last),
        "dilations": spread(dilations, channels_last),
        "pads": list(pads),
        "groups": groups,
        "data_format": f"N{letters}C" if channels_last else f"NC{letters}",
    }
    op = f"Conv{x.ndim - 2}DBackpropFilter"
    size = np.array(expected.shape, I32)
    assert_close(run(op, x, size, dy, **attrs)[0], expected, scale=16)
    const = run(f"{op}D", x, dy, filter_size=list(expected.shape), **attrs)[0]
    assert_close(const, expected, scale=16)
    if x.ndim == 5:
        assert_close(run(f"{op}V2", x, size, dy, **attrs)[0], expected, scale=16)


@pytest.mark.parametrize("channels_last", [False, True])
@pytest.mark.parametrize("many", [1, 3])
def test_depthwise_filter_gradient(many, channels_last):
    """One group per channel in the sum of `gradient`."""
    CASES["depthwise"] = ((2, 4, 6, 5), (4 * many, 1, 3, 2), (2, 1), (1, 1, 0, 0), (1, 1), 4)
    shape, weight, strides, pads, _, _ = CASES["depthwise"]
    x = sample("any", shape, F32, 1)
    dy = sample("any", (2, weight[0], *counts_of("depthwise")), F32, 2)
    expected = gradient(x, dy, "depthwise").reshape(4, many, 3, 2).transpose(2, 3, 0, 1)
    if channels_last:
        x, dy = np.moveaxis(x, 1, -1), np.moveaxis(dy, 1, -1)
    attrs = {"strides": spread(strides, channels_last), "pads": list(pads)}
    attrs["data_format"] = "NHWC" if channels_last else "NCHW"
    size = np.array([3, 2, 4, many], I32)
    y = run("DepthwiseConv2DBackpropFilter", x, size, dy, **attrs)[0]
    assert_close(y, expected, scale=16)
    y = run("DepthwiseConv2DBackpropFilterD", x, dy, filter_size=size.tolist(), **attrs)[0]
    assert_close(y, expected, scale=16)
