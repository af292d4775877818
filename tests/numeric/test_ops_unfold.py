"""Windows as columns by loops, and onnxruntime's Col2Im against the fold."""

import numpy as np
import pytest
from op_runs import make, onnx_outputs, run
from op_witness import F16, F32, I8, I32, I64, assert_close, sample

from ge_xdsl.dialects.ge.types import DataType, Format, Layout, Tensor

# size, kernel, strides, dilations, pads [h, w]
CASES = {
    "plain": ((5, 6), (2, 3), (1, 1), (1, 1), (0, 0)),
    "strided": ((7, 8), (3, 2), (2, 3), (1, 1), (1, 0)),
    "dilated": ((8, 7), (2, 3), (1, 2), (3, 2), (1, 2)),
}


def columns(x, kernel, strides, dilations, pads):
    """[N, C*kh*kw, Ho, Wo] for pads [top, bottom, left, right]."""
    x = np.pad(x, [(0, 0), (0, 0), pads[:2], pads[2:]])
    counts = [
        (n - (k - 1) * d - 1) // s + 1
        for n, k, d, s in zip(x.shape[2:], kernel, dilations, strides, strict=True)
    ]
    y = np.zeros((x.shape[0], x.shape[1], *kernel, *counts), x.dtype)
    for a, b, i, j in np.ndindex(*kernel, *counts):
        row, column = i * strides[0] + a * dilations[0], j * strides[1] + b * dilations[1]
        y[:, :, a, b, i, j] = x[:, :, row, column]
    return y.reshape(x.shape[0], -1, *counts)


@pytest.mark.parametrize("dtype", [F32, F16, I8])
@pytest.mark.parametrize("case", CASES)
def test_unfold(case, dtype):
    size, kernel, strides, dilations, pads = CASES[case]
    x = sample("any", (2, 3, *size), dtype)
    full = [pads[0], pads[0], pads[1], pads[1]]
    expected = columns(x, kernel, strides, dilations, full)
    attrs = {"ksizes": kernel, "strides": strides, "dilations": dilations}
    for given in (list(pads), full):
        assert_close(run("Im2col", x, pads=given, **attrs)[0], expected)
    op = make("Im2col", (x,), True, (), None, {"pads": full, **attrs})
    moved, kind = np.moveaxis(x, 1, -1), {F32: "DT_FLOAT", F16: "DT_FLOAT16", I8: "DT_INT8"}[dtype]
    layout = Layout(Format.FORMAT_NHWC, Format.FORMAT_NHWC)
    value = op.parent.insert_arg(Tensor(DataType[kind], moved.shape, layout).type, 1)
    other = type(op).build(value, pads=full, **attrs)
    assert_close(other.execute([moved])[0], np.moveaxis(expected, 1, -1))


@pytest.mark.parametrize("stride", [1, 2, 3])
def test_unfold_modes(stride):
    x = sample("any", (1, 2, 7, 8), F32)
    attrs = {"ksizes": (3, 2), "strides": [stride]}
    y = run("Im2col", x, padding_mode="VALID", pads=[5], **attrs)[0]
    assert_close(y, columns(x, (3, 2), (stride, stride), (1, 1), [0, 0, 0, 0]))
    pads = []
    for n, k in ((7, 3), (8, 2)):
        total = max((-(-n // stride) - 1) * stride + k - n, 0)
        pads += [total // 2, total - total // 2]
    y = run("Im2col", x, padding_mode="SAME", **attrs)[0]
    assert_close(y, columns(x, (3, 2), (stride, stride), (1, 1), pads))


@pytest.mark.parametrize("dtype", [F32, F16])
@pytest.mark.parametrize("case", CASES)
def test_fold_as_onnx(case, dtype):
    size, kernel, strides, dilations, pads = CASES[case]
    shape = columns(np.zeros((2, 3, *size)), kernel, strides, dilations, np.repeat(pads, 2)).shape
    x = sample("any", (2, shape[1], shape[2] * shape[3]), dtype)
    image, block = np.array(size, I64), np.array(kernel, I64)
    expected = onnx_outputs(
        "Col2Im", x, image, block, strides=strides, dilations=dilations, pads=[*pads, *pads]
    )[0]
    attrs = {"dilation": dilations, "padding": pads, "stride": strides}
    y = run("Col2ImV2", x, image.astype(I32), block.astype(I32), **attrs)[0]
    assert_close(y, expected, scale=4)
    parts = x.reshape(2, 3, kernel[0] * kernel[1], -1)
    y = run("Col2im", parts, image.astype(I32), kernel_size=kernel, **attrs)[0]
    assert_close(y, expected, scale=4)
