"""Grids and sampling against onnxruntime's GridSample and AffineGrid."""

import numpy as np
import pytest
from op_runs import make, onnx_outputs, run
from op_witness import F16, F32, I32, I64, assert_close, sample

from ge_xdsl.dialects.ge.types import DYNAMIC, DataType, Tensor

ONNX_MODE = {"bilinear": "linear", "nearest": "nearest", "bicubic": "cubic"}


def witness(x, grid, mode, padding, align):
    return onnx_outputs(
        "GridSample", x, grid, mode=ONNX_MODE[mode], padding_mode=padding, align_corners=int(align)
    )[0]


def operands(shape, places, dtype):
    """x and a grid that reaches well outside of it."""
    grid = np.random.default_rng(3).uniform(-1.8, 1.8, (shape[0], *places, len(places)))
    return sample("any", shape, dtype), grid.astype(dtype)


@pytest.mark.parametrize("align", [False, True])
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("mode", ONNX_MODE)
@pytest.mark.parametrize("dtype", [F32, F16])
def test_two_dimensions_as_onnx(dtype, mode, padding, align):
    x, grid = operands((2, 3, 5, 6), (4, 7), dtype)
    expected = witness(x, grid, mode, padding, align)
    attrs = {"interpolation_mode": mode, "padding_mode": padding, "align_corners": align}
    assert_close(run("GridSampler2D", x, grid, **attrs)[0], expected, scale=64)
    assert_close(run("GridSample", x, grid, **attrs)[0], expected, scale=64)
    y = run("GridSample", np.moveaxis(x, 1, -1), grid, channel_last=True, **attrs)[0]
    assert_close(y, expected, scale=64)


@pytest.mark.parametrize("align", [False, True])
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("mode", ["bilinear", "nearest"])
def test_three_dimensions_as_onnx(mode, padding, align):
    x, grid = operands((2, 3, 4, 5, 3), (2, 3, 4), F32)
    expected = witness(x, grid, mode, padding, align)
    attrs = {"interpolation_mode": mode, "padding_mode": padding, "align_corners": align}
    assert_close(run("GridSampler3D", x, grid, **attrs)[0], expected, scale=64)
    assert_close(run("GridSample", x, grid, **attrs)[0], expected, scale=64)


@pytest.mark.parametrize("mode", ONNX_MODE)
def test_what_is_not_a_number_lies_outside(mode):
    x = np.ones((1, 1, 3, 3), F32)
    grid = np.array([np.nan, np.inf, -np.inf, 1e30], F32).repeat(2).reshape(1, 1, 4, 2)
    y = run("GridSampler2D", x, grid, interpolation_mode=mode)[0]
    assert_close(y, np.zeros((1, 1, 1, 4), F32))


def test_no_places():
    x, grid = np.ones((1, 2, 3, 3), F32), np.zeros((1, 0, 4, 2), F32)
    assert run("GridSampler2D", x, grid)[0].shape == (1, 2, 0, 4)


@pytest.mark.parametrize("align", [False, True])
@pytest.mark.parametrize("dtype", [F32, F16])
@pytest.mark.parametrize("size", [(2, 3, 4, 5), (1, 2, 1, 6), (2, 1, 2, 3, 4)])
def test_affine_grid_as_onnx(size, dtype, align):
    n = len(size) - 2
    theta = sample("any", (size[0], n, n + 1), dtype)
    expected = onnx_outputs("AffineGrid", theta, np.array(size, I64), align_corners=int(align))[0]
    if 1 in size[2:] and not align:
        expected = None  # one place lies at 0 in any case
    y = run("AffineGrid", theta, np.array(size, I32), align_corners=align)[0]
    if expected is not None and 1 not in size[2:]:
        assert_close(y, expected.reshape(size[0], -1, n), scale=8)
    else:
        assert y.shape == (size[0], 6, 2)
        base = np.linspace(-1, 1, 6) * (1 if align else 5 / 6)
        points = np.stack([base, np.zeros(6), np.ones(6)]).T
        assert_close(y, (points @ theta.astype(np.float64).transpose(0, 2, 1)).astype(dtype), 8)


def test_affine_grid_of_an_unknown_theta_counts_coordinates():
    op = make("AffineGrid", (np.zeros((1, 2, 3), F32), np.array([1, 1, 2, 3], I32)), True)
    size = Tensor(DataType.DT_INT32, (4,))
    assert op.inferred([Tensor(DataType.DT_FLOAT, None), size])[0].shape == (1, 6, 2)
    op = make("AffineGrid", (np.zeros((1, 2, 3), F32), np.array([1, 1, 2, 3], I32)), False)
    found = op.inferred([Tensor(DataType.DT_FLOAT, None), Tensor(DataType.DT_INT32, None)])[0]
    assert found.shape == (DYNAMIC,) * 3
