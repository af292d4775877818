"""Scattering slices: onnxruntime and loops against `evaluate`."""

import numpy as np
import pytest
from op_runs import make, onnx_outputs, run
from op_witness import BF16, F16, F32, I32, I64, assert_close, sample

HOWS = {
    "Update": lambda a, b: b,
    "Add": lambda a, b: a + b,
    "Sub": lambda a, b: a - b,
    "Max": np.maximum,
    "Min": np.minimum,
}
CASES = [((5, 3), (4, 1)), ((5, 3, 2), (2, 3, 2)), ((4, 3), (6, 2)), ((3, 2), (2, 0)), ((7,), (1,))]


def operands(shape, index_shape, dtype, repeats=True):
    rng = np.random.default_rng(7)
    depth = index_shape[-1]
    indices = np.zeros(index_shape, I32)
    for k in range(depth):
        indices[..., k] = rng.integers(0, shape[k], index_shape[:-1])
    if not repeats:
        count = int(np.prod(index_shape[:-1]))
        spots = rng.permutation(int(np.prod(shape[:depth])))[:count]
        found = np.stack(np.unravel_index(spots, shape[:depth]), -1) if depth else indices
        indices = found.reshape(*index_shape).astype(I32)
    updates = sample("any", (*index_shape[:-1], *shape[depth:]), dtype, 1)
    return sample("any", shape, dtype), indices, updates


def looped(x, indices, updates, how):
    """One update after the other, in f32 for halves."""
    wide = x.astype(F32) if x.dtype in (F16, BF16) else x.copy()
    for place in np.ndindex(indices.shape[:-1]):
        spot = tuple(indices[place])
        wide[spot] = HOWS[how](wide[spot], updates[place].astype(wide.dtype))
    return wide.astype(x.dtype)


@pytest.mark.parametrize("dtype", [F32, BF16, I32])
@pytest.mark.parametrize(("shape", "index_shape"), CASES)
@pytest.mark.parametrize("how", HOWS)
def test_scatter_nd(how, shape, index_shape, dtype):
    arrays = operands(shape, index_shape, dtype)
    expected = looped(*arrays, how)
    assert_close(run(f"ScatterNd{how}", *arrays)[0], expected)
    assert_close(run(f"TensorScatter{how}", *arrays)[0], expected)
    if how == "Add":
        assert_close(run("ScatterNonAliasingAdd", *arrays)[0], expected)


@pytest.mark.parametrize("dtype", [F32, F16, I64])
@pytest.mark.parametrize(("shape", "index_shape"), CASES)
def test_spread_over_zeros(shape, index_shape, dtype):
    _, indices, updates = operands(shape, index_shape, dtype)
    expected = looped(np.zeros(shape, dtype), indices, updates, "Add")
    assert_close(run("ScatterNd", indices, updates, np.array(shape))[0], expected)
    assert_close(run("ScatterNdD", indices, updates, shape=list(shape))[0], expected)


@pytest.mark.parametrize(
    ("how", "reduction"), [("Update", "none"), ("Add", "add"), ("Max", "max"), ("Min", "min")]
)
def test_tensor_scatter_as_onnx(how, reduction):
    x, indices, updates = operands((5, 3, 2), (4, 2), F32, repeats=False)
    expected = onnx_outputs("ScatterND", x, indices.astype(I64), updates, reduction=reduction)[0]
    assert_close(run(f"TensorScatter{how}", x, indices, updates)[0], expected)


def test_booleans_and_strings_of_bits_are_moved():
    x = np.zeros((3, 2), bool)
    y = run("TensorScatterUpdate", x, np.array([[1]], I32), np.ones((1, 2), bool))[0]
    assert y.tolist() == [[False] * 2, [True] * 2, [False] * 2]


def test_operands_stay_as_they_are():
    x, indices, updates = operands((5, 3), (4, 1), F32)
    before = x.copy()
    run("ScatterNdAdd", x, indices, updates)
    np.testing.assert_array_equal(x, before)


@pytest.mark.parametrize(
    ("indices", "updates", "text"),
    [
        ([[0, 3]], [1.0], r"index is \[0, 3\], expected one inside 2x3"),
        ([[-1, 0]], [1.0], r"index is \[-1, 0\], expected one inside 2x3"),
        ([[0, 0]], [1.0, 2.0], "shapes of updates and of the slices are 2 and 1"),
    ],
)
def test_refused_values(indices, updates, text):
    x, rows = np.zeros((2, 3), F32), np.zeros((1, 2), I32)
    op = make("TensorScatterAdd", (x, rows, np.zeros(1, F32)), True)
    with pytest.raises(ValueError, match=text):
        op.execute([x, np.array(indices, I32), np.array(updates, F32)])
