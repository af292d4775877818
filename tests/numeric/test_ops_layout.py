"""Storage formats: element by element against `evaluate`."""

import numpy as np
import pytest
from op_runs import make, run
from op_witness import F16, F32, I8, assert_close, sample

from ge_xdsl.dialects.ge.op import set_type
from ge_xdsl.dialects.ge.types import tensor_of

AXES = ("NCHW", "NHWC", "HWCN")


def reordered(x, source, target):
    return np.einsum(f"{source}->{target}".lower(), x)


def element(y, target, n, c, h, w, block, size):
    """Where the blocked formats keep element (n, c, h, w)."""
    if target == "NC1HWC0":
        return y[n, c // block, h, w, c % block]
    row = (c // block * size[0] + h) * size[1] + w
    return y[row, n // 16, n % 16, c % block]


def unblock(y, source, target, logical):
    """The op on a src whose type tells nothing, into a dst type that is known."""
    op = make("TransData", [y], True, attrs={"src_format": source, "dst_format": target})
    set_type(op.dst, tensor_of(op.dst.type).with_shape(logical).type)
    return op.execute([y])[0]


@pytest.mark.parametrize(("dtype", "block"), [(F16, 16), (F32, 16), (I8, 32)])
@pytest.mark.parametrize("target", ["NC1HWC0", "FRACTAL_Z"])
@pytest.mark.parametrize("source", AXES)
def test_channel_blocks(source, target, dtype, block):
    nchw = sample("any", (18, 35, 2, 3), dtype)
    x = reordered(nchw, "NCHW", source)
    y = run("TransData", x, src_format=source, dst_format=target)[0]
    for place in np.ndindex(nchw.shape):
        assert element(y, target, *place, block, (2, 3)) == nchw[place]
    assert np.count_nonzero(y) == np.count_nonzero(nchw)
    assert_close(unblock(y, target, source, x.shape), x)


@pytest.mark.parametrize(("dtype", "block"), [(F16, 16), (I8, 32)])
@pytest.mark.parametrize("shape", [(20, 35), (2, 3, 16, 32), (2, 1, 1)])
def test_fractal_matrices(shape, dtype, block):
    x = sample("any", shape, dtype)
    y = run("TransData", x, src_format="ND", dst_format="FRACTAL_NZ")[0]
    for *head, m, n in np.ndindex(shape):
        assert y[(*head, n // block, m // 16, m % 16, n % block)] == x[(*head, m, n)]
    assert np.count_nonzero(y) == np.count_nonzero(x)
    assert_close(unblock(y, "FRACTAL_NZ", "ND", shape), x)


@pytest.mark.parametrize("source", AXES)
@pytest.mark.parametrize("target", AXES)
def test_plain_formats(source, target):
    x = sample("any", (2, 3, 4, 5), F32)
    y = run("TransData", x, src_format=source, dst_format=target)[0]
    assert_close(y, reordered(x, source, target))


def test_unknown_shape():
    y = np.zeros((1, 1, 2, 2, 16), F16)
    op = make("TransData", [y], True, attrs={"src_format": "NC1HWC0", "dst_format": "NCHW"})
    with pytest.raises(ValueError, match="dst is .*, expected a known shape to unblock to"):
        op.execute([y])
