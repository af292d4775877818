"""Gathering and indexing: onnxruntime, numpy's indexing and loops against `evaluate`."""

import numpy as np
import pytest
from op_runs import make, onnx_outputs, run
from op_witness import BF16, F16, F32, I32, I64, assert_close, sample


@pytest.mark.parametrize("dtype", [F32, F16, I32, np.bool_])
@pytest.mark.parametrize("index_shape", [(2,), (3,), (3, 1), (2, 2, 3)])
def test_gather_nd_as_onnx(index_shape, dtype):
    x = sample("any", (4, 5, 6), dtype)
    indices = np.random.default_rng(1).integers(-4, 4, index_shape)
    expected = onnx_outputs("GatherND", x.astype(F32), indices)[0].astype(dtype)
    y = run("GatherNd", x, indices, negative_index_support=True)[0]
    assert_close(y, expected)
    y = run("GatherNd", x, np.where(indices < 0, indices + x.shape[: index_shape[-1]], indices))[0]
    assert_close(y, expected)


def test_gather_nd_without_coordinates_repeats_x():
    x = sample("any", (2, 3), F32)
    assert_close(run("GatherNd", x, np.zeros((2, 0), I32))[0], np.stack([x, x]))


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("shape", [(), (3,), (2, 2)])
def test_gather_v2d(shape, axis):
    x, indices = sample("any", (4, 5, 6), BF16), np.random.default_rng(1).integers(0, 4, shape)
    assert_close(run("GatherV2D", x, indices, axis=axis)[0], np.take(x, indices, axis=axis))


@pytest.mark.parametrize("batch_dims", [0, 1, 2, -1])
def test_gather(batch_dims):
    x = sample("any", (2, 3, 4, 5), F32)
    batch = batch_dims % 3
    indices = np.random.default_rng(1).integers(0, x.shape[batch], (2, 3, 2))
    rows = [np.take(x[place], indices[place], axis=0) for place in np.ndindex(x.shape[:batch])]
    y = run("Gather", x, indices, batch_dims=batch_dims)[0]
    assert_close(y, np.stack(rows).reshape(*x.shape[:batch], *rows[0].shape))


def test_gather_counts_from_the_end():
    x = sample("any", (4, 2), F32)
    y = run("Gather", x, np.array([-1, 0]), negative_index_support=True)[0]
    assert_close(y, x[[3, 0]])


def test_embedding():
    x, indices = sample("any", (5, 3), F16), np.array([[4, 0], [2, 2]], I32)
    assert_close(run("Embedding", x, indices)[0], x[indices])


@pytest.mark.parametrize("scaled", [False, True])
@pytest.mark.parametrize("dtype", [F32, BF16])
def test_embedding_dense_grad(dtype, scaled):
    grad, indices = sample("any", (2, 3, 4), dtype), np.array([[0, 2, 2], [1, 2, 4]], I64)
    expected = np.zeros((5, 4))
    for place in np.ndindex(2, 3):
        i = indices[place]
        if i != 1:
            expected[i] += grad[place].astype(np.float64) / ((indices == i).sum() if scaled else 1)
    attrs = {"num_weights": 5, "padding_idx": 1, "scale_grad_by_freq": scaled}
    assert_close(run("EmbeddingDenseGrad", grad, indices, **attrs)[0], expected.astype(dtype))


def test_gather_shapes():
    x = [np.zeros((2, 3), F32), np.zeros((4,), I32)]
    assert run("GatherShapes", x, axes=[[1, 0], [0, 1]])[0].tolist() == [4, 3]
    assert run("GatherShapes", x, axes=[[0, 0]], dtype=9)[0].dtype == I64


PLACES = [
    ([1], [np.array([2, 0, -2])]),
    ([0, 1], [np.array([[1, 3], [0, -2]])]),
    ([1, 1], [np.array([[0], [2]]), np.array([1, 3, 0])]),
    ([0, 1, 1], [np.array([1, 3]), np.array([[0, 2]])]),
    ([1, 0, 1], [np.array([2, 1]), np.array([4, 0])]),
    ([0, 0, 0], []),
]


def as_numpy(marks, indices):
    left = iter(indices)
    return tuple(next(left) if m == 1 else slice(None) for m in marks)


@pytest.mark.parametrize(("marks", "indices"), PLACES)
def test_index(marks, indices):
    x = sample("any", (3, 4, 5), F16)
    strides = np.zeros(3, I64)
    y = run("Index", x, np.array(marks), strides, indices)[0]
    assert_close(y, np.asarray(x[as_numpy(marks, indices)]))


@pytest.mark.parametrize("accumulate", [False, True])
@pytest.mark.parametrize(("marks", "indices"), PLACES)
def test_index_put(marks, indices, accumulate):
    x = sample("any", (3, 4, 5), F32)
    place = as_numpy(marks, indices)
    value = sample("any", x[place].shape[-1:], F32, 1)
    expected = x.copy()
    expected[place] = expected[place] + value if accumulate else value
    arrays = (x, value, np.array(marks), np.zeros(3, I64), indices)
    assert_close(run("IndexPutV2", *arrays, accumulate=accumulate)[0], expected)


def test_index_put_adds_repeated_places():
    arrays = (np.zeros(3, F32), np.array([1, 2], F32), np.array([1]), np.zeros(1, I64))
    y = run("IndexPutV2", *arrays, [np.array([1, 1])], accumulate=True)[0]
    assert y.tolist() == [0, 3, 0]


@pytest.mark.parametrize(
    ("indices", "shape", "values", "wanted"),
    [
        (2, [4], 5, [9, 9, 5, 9]),
        ([0, 3], [4], [5, 6], [5, 9, 9, 6]),
        ([0, 3], [4], 5, [5, 9, 9, 5]),
        ([[0, 1], [1, 0]], [2, 2], [5, 6], [[9, 5], [6, 9]]),
    ],
)
def test_sparse_to_dense(indices, shape, values, wanted):
    arrays = np.array(indices, I32), np.array(shape), np.array(values, F32), np.array(9, F32)
    assert_close(run("SparseToDense", *arrays)[0], np.array(wanted, F32))


def test_sparse_tensor_dense_add():
    x2 = np.ones((2, 2), F16)
    places = np.array([[0, 1], [0, 1], [1, 0]], I64)
    y = run("SparseTensorDenseAdd", places, np.array([1, 2, 3], F16), np.array([2, 2]), x2)[0]
    assert y.tolist() == [[1, 4], [4, 1]]


@pytest.mark.parametrize("shape", [(4,), (2, 2)])
def test_dynamic_partition(shape):
    x = np.arange(8, dtype=F32).reshape(*shape, 2)
    found = run("DynamicPartition", x, np.array([1, 0, 1, 1], I32).reshape(shape), counts=[3],
                num_partitions=3)  # fmt: skip
    assert [y.tolist() for y in found] == [[[2, 3]], [[0, 1], [4, 5], [6, 7]], []]


@pytest.mark.parametrize(
    ("op_type", "arrays", "attrs", "text"),
    [
        ("GatherNd", [np.zeros((2, 3), F32), np.array([[0, -1]])], {},
         r"index is \[0, -1\], expected one inside 2x3"),
        ("Gather", [np.zeros(2, F32), np.array([-1])], {},
         r"index is -1, expected one in \[0, 2\)"),
        ("GatherV2D", [np.zeros(2, F32), np.array([2])], {"axis": 0},
         r"index is 2, expected one in \[0, 2\)"),
        ("EmbeddingDenseGrad", [np.zeros((1, 2), F32), np.array([3])], {"num_weights": 3},
         r"index is 3, expected one in \[0, 3\)"),
        ("SparseToDense", [np.array([[0, 1]]), np.array([3]), np.zeros(1, F32), np.zeros(1, F32)],
         {}, "indices has 2 columns, expected 1"),
    ],
)  # fmt: skip
def test_refused_values(op_type, arrays, attrs, text):
    op = make(op_type, arrays, False, attrs=attrs)
    with pytest.raises(ValueError, match=text):
        op.execute(arrays)
