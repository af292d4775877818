"""Running sums and products: onnxruntime and loops against `evaluate`."""

import numpy as np
import pytest
from op_runs import onnx_outputs, run
from op_witness import BF16, F16, F32, I32, I64, assert_close, sample

FLAGS = [(False, False), (False, True), (True, False), (True, True)]


@pytest.mark.parametrize("dtype", [F32, F16, I32])
@pytest.mark.parametrize(("exclusive", "reverse"), FLAGS)
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_cumsum_as_onnx(axis, exclusive, reverse, dtype):
    x = sample("any", (3, 4, 5), dtype)
    flags = {"exclusive": int(exclusive), "reverse": int(reverse)}
    expected = onnx_outputs("CumSum", x, np.array(axis, I64), **flags)[0]
    attrs = {"exclusive": exclusive, "reverse": reverse}
    assert_close(run("Cumsum", x, np.array([axis], I32), **attrs)[0], expected)
    assert_close(run("CumsumD", x, axis=axis, **attrs)[0], expected)


def looped(x, axis, exclusive, reverse, combine, neutral):
    lines = np.moveaxis(x.astype(np.float64), axis, 0)
    lines = lines[::-1] if reverse else lines
    out, total = [], np.full(lines.shape[1:], neutral)
    for row in lines:
        before = total
        total = combine(total, row)
        out.append(before if exclusive else total)
    return np.moveaxis(np.stack(out[::-1] if reverse else out), 0, axis)


@pytest.mark.parametrize("dtype", [F32, BF16, I32])
@pytest.mark.parametrize(("exclusive", "reverse"), FLAGS)
@pytest.mark.parametrize("axis", [0, -1])
def test_cumprod(axis, exclusive, reverse, dtype):
    x = sample("nonzero", (3, 4, 5), dtype)
    expected = looped(x, axis, exclusive, reverse, np.multiply, 1.0).astype(dtype)
    attrs = {"exclusive": exclusive, "reverse": reverse}
    assert_close(run("Cumprod", x, np.array(axis), **attrs)[0], expected)
    assert_close(run("CumprodD", x, axis=axis, **attrs)[0], expected)


@pytest.mark.parametrize(("dtype", "low"), [(F32, -3.4028235e38), (F16, -65504.0)])
@pytest.mark.parametrize(("exclusive", "reverse"), FLAGS)
def test_log_sum(exclusive, reverse, dtype, low):
    x = sample("any", (3, 4), dtype)
    expected = looped(x, 1, exclusive, reverse, np.logaddexp, low).astype(dtype)
    attrs = {"exclusive": exclusive, "reverse": reverse}
    assert_close(run("CumulativeLogsumexp", x, np.array(1), **attrs)[0], expected)
    assert_close(run("CumulativeLogsumexpD", x, axis=1, **attrs)[0], expected)


@pytest.mark.parametrize("shape", [(), (0, 3), (1,)])
def test_small(shape):
    x = np.full(shape, 2, F32)
    assert_close(run("CumsumD", x, axis=0)[0], x)
    assert_close(run("CumprodD", x, axis=0, exclusive=True)[0], np.ones(shape, F32))
