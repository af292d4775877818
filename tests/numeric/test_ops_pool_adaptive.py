"""Adaptive pooling and the gradients of means: loops over windows against `evaluate`."""

import itertools
import math

import numpy as np
import pytest
from op_runs import run
from op_witness import BF16, F16, F32, F64, I32, I64, assert_close, sample

from ge_xdsl.dialects.ge.types import DataType, Format, Layout, Tensor


def regions(sizes, counts):
    """Output place -> slices of its window."""
    for place in itertools.product(*map(range, counts)):
        yield (
            place,
            tuple(
                slice(math.floor(i * n / m), math.ceil((i + 1) * n / m))
                for i, n, m in zip(place, sizes, counts, strict=True)
            ),
        )


def pooled(x, counts):
    """Means, maxima and the positions of the maxima over the last dimensions."""
    sizes = x.shape[-len(counts) :]
    lead = x.shape[: -len(counts)]
    means, best = np.zeros((*lead, *counts)), np.zeros((*lead, *counts), x.dtype)
    index = np.zeros((*lead, *counts), np.int64)
    flat = np.arange(math.prod(sizes)).reshape(sizes)
    for place, region in regions(sizes, counts):
        part = x[(..., *region)].reshape(*lead, -1)
        means[(..., *place)] = part.astype(F64).mean(axis=-1)
        best[(..., *place)] = part.max(axis=-1)
        index[(..., *place)] = flat[region].reshape(-1)[part.argmax(axis=-1)]
    return means.astype(x.dtype), best, index


@pytest.mark.parametrize("dtype", [F32, F16, BF16])
@pytest.mark.parametrize("counts", [(1, 1), (3, 2), (7, 5), (9, 13), (4, 10)])
@pytest.mark.parametrize("lead", [(2, 3), (3,)])
def test_two_dimensions(lead, counts, dtype):
    x = np.round(sample("any", (*lead, 7, 10), dtype).astype(F32)).astype(dtype)
    means, best, index = pooled(x, counts)
    assert_close(run("AdaptiveAvgPool2d", x, output_size=counts)[0], means, scale=4)
    y, argmax = run("AdaptiveMaxPool2d", x, output_size=counts)
    assert_close(y, best)
    assert_close(argmax, index.astype(I32))


@pytest.mark.parametrize("counts", [(1, 1, 1), (2, 3, 2), (4, 7, 5)])
@pytest.mark.parametrize("lead", [(2, 2), (2,)])
def test_three_dimensions(lead, counts):
    x = np.round(sample("any", (*lead, 4, 5, 6), F32))
    means, best, index = pooled(x, counts)
    y = run("AdaptiveAvgPool3d", x, output_size=counts, data_format="NCDHW")[0]
    assert_close(y, means, scale=4)
    channel = len(lead) - 1
    y = run("AdaptiveAvgPool3d", np.moveaxis(x, channel, -1), output_size=counts)[0]
    assert_close(y, np.moveaxis(means, channel, -1), scale=4)
    y, argmax = run("AdaptiveMaxPool3d", x, output_size=counts, indices_dtype=9)
    assert_close(y, best)
    assert_close(argmax, index.astype(I64))


def test_maxima_follow_the_layout_of_the_type():
    from op_runs import make

    x = sample("any", (1, 3, 7, 10), F32)
    op = make("AdaptiveMaxPool2d", (x,), True, (), None, {"output_size": [2, 3]})
    moved = np.moveaxis(x, 1, -1)
    layout = Layout(Format.FORMAT_NHWC, Format.FORMAT_NHWC)
    value = op.parent.insert_arg(Tensor(DataType.DT_FLOAT, moved.shape, layout).type, 1)
    found = type(op).build(value, output_size=[2, 3]).execute([moved])
    for expected, have in zip(op.execute([x]), found, strict=True):
        assert_close(have, np.moveaxis(expected, 1, -1))


@pytest.mark.parametrize("counts", [(1, 1), (3, 2), (7, 5), (9, 13)])
@pytest.mark.parametrize("lead", [(2, 3), (3,)])
def test_gradient_spreads_each_mean(lead, counts):
    grad = sample("any", (*lead, *counts), F32)
    expected = np.zeros((*lead, 7, 10))
    for place, region in regions((7, 10), counts):
        size = math.prod(s.stop - s.start for s in region)
        expected[(..., *region)] += grad[(..., *place, None, None)].astype(F64) / size
    y = run("AdaptiveAvgPool2dGrad", grad, orig_input_shape=[*lead, 7, 10])[0]
    assert_close(y, expected.astype(F32), scale=8)


def adjoint(op_type, x_shape, grad, attrs):
    """The gradient of a linear op: its values on each unit vector, against grad."""
    basis = np.eye(math.prod(x_shape), dtype=F32).reshape(-1, *x_shape)
    found = [(run(op_type, unit, **attrs)[0].astype(F64) * grad).sum() for unit in basis]
    return np.array(found).reshape(x_shape).astype(F32)


@pytest.mark.parametrize("padding", ["SAME", "VALID"])
def test_avg_pool_grad_is_the_adjoint_of_avg_pool(padding):
    shape = (1, 5, 6, 2)
    attrs = {"ksize": [1, 3, 2, 1], "strides": [1, 2, 2, 1], "padding": padding}
    y = run("AvgPool", np.zeros(shape, F32), **attrs)[0]
    grad = sample("any", y.shape, F32)
    found = gradient("AvgPoolGrad", shape, grad, attrs)
    assert_close(found, adjoint("AvgPool", shape, grad, attrs), scale=8)


def gradient(op_type, shape, grad, attrs):
    return run(op_type, np.array(shape, I32), grad, **attrs)[0]


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"exclusive": False},
        {"ceil_mode": True, "exclusive": False},
        {"divisor_override": 5},
        {"global_pooling": True},
        {"padding_mode": "SAME"},
    ],
)
def test_avg_pool_v2_grad_is_the_adjoint_of_avg_pool_v2(more):
    shape = (1, 2, 5, 6)
    attrs = {"ksize": [1, 1, 3, 2], "strides": [1, 1, 2, 2], "pads": [1, 0, 1, 1], **more}
    y = run("AvgPoolV2", np.zeros(shape, F32), **attrs)[0]
    grad = sample("any", y.shape, F32)
    expected = adjoint("AvgPoolV2", shape, grad, attrs)
    assert_close(gradient("AvgPoolV2Grad", shape, grad, attrs), expected, scale=8)
    if "divisor_override" not in more:
        found = run("AvgPoolV2GradD", grad, orig_input_shape=shape, **attrs)[0]
        assert_close(found, expected, scale=8)


@pytest.mark.parametrize(
    "more", [{}, {"count_include_pad": False}, {"ceil_mode": True}, {"divisor_override": 7}]
)
def test_avg_pool_3d_grad_is_the_adjoint_of_avg_pool_3d(more):
    shape = (1, 4, 5, 4, 1)
    attrs = {"ksize": [2, 3, 2], "strides": [2], "pads": [1, 0, 1, 1, 0, 1], **more}
    y = run("AvgPool3D", np.zeros(shape, F32), **attrs)[0]
    grad = sample("any", y.shape, F32)
    expected = adjoint("AvgPool3D", shape, grad, attrs)
    assert_close(gradient("AvgPool3DGrad", shape, grad, attrs), expected, scale=8)
    found = run("AvgPool3DGradD", grad, orig_input_shape=shape, **attrs)[0]
    assert_close(found, expected, scale=8)
