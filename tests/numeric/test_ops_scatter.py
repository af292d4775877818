"""Scattering along one dimension: onnxruntime and loops against `evaluate`."""

import numpy as np
import pytest
from op_runs import make, onnx_outputs, run
from op_witness import BF16, F16, F32, I32, I64, assert_close, sample

HOWS = {
    "Update": lambda a, b: b,
    "Add": lambda a, b: a + b,
    "Sub": lambda a, b: a - b,
    "Mul": lambda a, b: a * b,
    "Div": lambda a, b: a / b,
    "Max": np.maximum,
    "Min": np.minimum,
}


@pytest.mark.parametrize("dtype", [F32, F16, I32])
@pytest.mark.parametrize("index_shape", [(4,), (2, 3), ()])
@pytest.mark.parametrize("how", HOWS)
def test_rows(how, index_shape, dtype):
    var = sample("nonzero", (5, 3), dtype)
    indices = np.random.default_rng(2).integers(0, 5, index_shape).astype(I32)
    updates = sample("nonzero", (*index_shape, 3), dtype, 1)
    updates = np.where(updates == 0, 1, updates).astype(dtype)
    wide = var.astype(np.float64)
    for place in np.ndindex(index_shape):
        wide[indices[place]] = HOWS[how](wide[indices[place]], updates[place].astype(np.float64))
        if dtype == I32:
            wide = np.trunc(wide)
    assert_close(run(f"Scatter{how}", var, indices, updates)[0], wide.astype(dtype), 4)


def test_integers_divided_by_zero_give_zero():
    y = run("ScatterDiv", np.array([7, -7], I32), np.array([0, 1]), np.array([0, 2], I32))[0]
    assert y.tolist() == [0, -3]


@pytest.mark.parametrize("dtype", [F32, F16, I64])
@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("reduction", ["none", "add", "mul"])
def test_elements_as_onnx(reduction, axis, dtype):
    data = sample("any", (4, 5, 3), dtype)
    rng = np.random.default_rng(3)
    shape = [3, 4, 2]
    size = data.shape[axis]
    line = np.stack([rng.permutation(size)[: shape[axis]] for _ in range(24 // shape[axis])])
    indices = np.moveaxis(line.reshape(*np.delete(shape, axis), shape[axis]), -1, axis) - size // 2
    updates = sample("any", shape, dtype, 1)
    attrs = {"axis": axis, "reduction": reduction}
    expected = onnx_outputs("ScatterElements", data, indices, updates, **attrs)[0]
    assert_close(run("ScatterElements", data, indices, updates, **attrs)[0], expected)
    assert_close(run("ScatterElementsV2", data, indices, updates, **attrs)[0], expected)


def test_elements_repeated():
    data, indices = np.array([1, 2, 3], F32), np.array([1, 1, 0], I32)
    updates = np.array([10, 20, 30], F32)
    for reduction, kept, dropped in (
        ("add", [31, 32, 3], [30, 30, 3]),
        ("mul", [30, 400, 3], [30, 200, 3]),
    ):
        attrs = {"reduction": reduction}
        y = run("ScatterElements", data, indices, updates, **attrs)[0]
        assert y.tolist() == kept
        y = run("ScatterElementsV2", data, indices, updates, include_self=False, **attrs)[0]
        assert y.tolist() == dropped


@pytest.mark.parametrize("mask_shape", [(3, 4), (4,), (3, 1)])
def test_masked_scatter(mask_shape):
    x, mask = sample("any", (3, 4), BF16), sample("any", mask_shape, bool)
    updates = sample("any", (13,), BF16, 1)
    wide, expected, taken = np.broadcast_to(mask, (3, 4)), x.copy(), 0
    for place in np.ndindex(3, 4):
        if wide[place]:
            expected[place] = updates[taken]
            taken += 1
    assert_close(run("MaskedScatter", x, mask, updates)[0], expected)


@pytest.mark.parametrize("dtype", [F32, F16, I32])
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_index_add(axis, dtype):
    var, indices = sample("any", (3, 4, 5), dtype), np.array([2, 0, 2], I32)
    shape = [3, 4, 5]
    shape[axis] = 3
    updates = sample("any", shape, dtype, 1)
    wide = np.moveaxis(var.astype(np.float64), axis, 0).copy()
    scaled = wide.copy()
    for i, row in zip(indices, np.moveaxis(updates, axis, 0).astype(np.float64), strict=True):
        wide[i] += row
        scaled[i] += 2 * row
    expected = np.moveaxis(wide, 0, axis).astype(dtype)
    assert_close(run("IndexAdd", var, indices, updates, axis=axis)[0], expected)
    assert_close(run("InplaceIndexAdd", var, indices, updates, None, axis=axis)[0], expected)
    alpha = np.array([2], dtype)
    y = run("InplaceIndexAdd", var, indices, updates, alpha, axis=axis)[0]
    assert_close(y, np.moveaxis(scaled, 0, axis).astype(dtype))


@pytest.mark.parametrize("op", ["IndexFill", "InplaceIndexFill"])
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_index_fill(axis, op):
    x, indices = sample("any", (3, 4, 5), F16), np.array([2, -3], I64)
    expected = np.moveaxis(x.copy(), axis, 0).copy()
    expected[[2, -3]] = 9
    y = run(op, x, indices, np.array(9, F16), dim=axis)[0]
    assert_close(y, np.moveaxis(expected, 0, axis))


@pytest.mark.parametrize(
    ("op_type", "arrays", "text"),
    [
        ("ScatterAdd", [np.zeros((2, 3), F32), np.array([2], I32), np.zeros((1, 3), F32)],
         r"index is 2, expected one in \[0, 2\)"),
        ("ScatterElements", [np.zeros(2, F32), np.array([2], I32), np.zeros(1, F32)],
         r"index is 2, expected one in \[-2, 2\)"),
        ("MaskedScatter", [np.zeros(3, F32), np.ones(3, bool), np.zeros(2, F32)],
         "updates has 2 elements, expected 3 or more"),
    ],
)  # fmt: skip
def test_refused_values(op_type, arrays, text):
    op = make(op_type, arrays, True)
    with pytest.raises(ValueError, match=text):
        op.execute(arrays)
