"""Diagonals and triangles: onnxruntime, numpy and loops against `evaluate`."""

import numpy as np
import pytest
from op_runs import onnx_outputs, run
from op_witness import BF16, F16, F32, I32, I64, assert_close, sample

DTYPES = (F32, F16, BF16, I32, np.bool_)
ASSIST = np.ones(1, F32)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(3,), (2, 3), ()])
def test_diag_and_back(shape, dtype):
    x = sample("any", shape, dtype)
    expected = np.zeros((*shape, *shape), dtype)
    for place in np.ndindex(shape):
        expected[(*place, *place)] = x[place]
    assert_close(run("Diag", x)[0], expected)
    assert_close(run("DiagD", x, ASSIST)[0], expected)
    if shape:
        assert_close(run("DiagPart", expected)[0], x)
        assert_close(run("DiagPartD", expected, ASSIST)[0], x)


@pytest.mark.parametrize("offset", [-2, 0, 1])
def test_flat_and_v2(offset):
    x, matrix = sample("any", (2, 3), F16), sample("any", (4, 3), F16)
    assert_close(run("DiagFlat", x, diagonal=offset)[0], np.diagflat(x, offset))
    assert_close(run("DiagV2", x[0], diagonal=offset)[0], np.diag(x[0], offset))
    assert_close(run("DiagV2", matrix, diagonal=offset)[0], np.diag(matrix, offset))
    assert run("DiagV2", matrix, diagonal=9)[0].shape == (0,)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(3, 4), (2, 4, 3), (2, 2, 3, 3)])
def test_batched_matrices(shape, dtype):
    x = sample("any", shape, dtype)
    count = min(shape[-2:])
    part = np.stack([x[..., i, i] for i in range(count)], axis=-1)
    assert_close(run("MatrixDiagPart", x)[0], part)
    assert_close(run("MatrixDiagPartD", x, ASSIST)[0], part)
    wide = np.zeros((*part.shape, count), dtype)
    replaced = x.copy()
    for i in range(count):
        wide[..., i, i] = part[..., i]
        replaced[..., i, i] = part[..., count - 1 - i]
    assert_close(run("MatrixDiag", part)[0], wide)
    assert_close(run("MatrixDiagD", part, ASSIST)[0], wide)
    flipped = part[..., ::-1].copy()
    assert_close(run("MatrixSetDiag", x, flipped)[0], replaced)
    assert_close(run("MatrixSetDiagD", x, flipped, ASSIST)[0], replaced)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("offset", [-2, 0, 1, 9])
def test_triangles_as_onnx(offset, dtype):
    x = sample("any", (2, 4, 3), dtype)
    wide = x.astype(F32)
    for upper, op in ((0, "Tril"), (1, "Triu")):
        expected = onnx_outputs("Trilu", wide, np.array(offset, I64), upper=upper)[0].astype(dtype)
        assert_close(run(op, x, diagonal=offset)[0], expected)
        assert_close(run("Trilu", x, np.array(offset, I64), upper=upper)[0], expected)
    assert_close(run("Trilu", x, None)[0], np.tril(x))


@pytest.mark.parametrize(("lower", "upper"), [(0, 0), (1, 0), (-1, 1), (0, -1), (-1, -1), (5, 5)])
def test_band(lower, upper):
    x = sample("any", (2, 4, 5), F32)
    expected = x.copy()
    for m, n in np.ndindex(4, 5):
        if not ((lower < 0 or m - n <= lower) and (upper < 0 or n - m <= upper)):
            expected[:, m, n] = 0
    assert_close(run("MatrixBandPart", x, np.array(lower), np.array(upper))[0], expected)


@pytest.mark.parametrize(("number", "dtype"), [(0, F32), (1, F16), (3, I32), (12, np.bool_)])
def test_eye(number, dtype):
    assert_close(run("Eye", num_rows=3, dtype=number)[0], np.eye(3, dtype=dtype))
    y = run("Eye", num_rows=2, num_columns=4, batch_shape=[2, 1], dtype=number)[0]
    assert_close(y, np.tile(np.eye(2, 4, dtype=dtype), (2, 1, 1, 1)))


@pytest.mark.parametrize("wrap", [False, True])
@pytest.mark.parametrize("shape", [(3, 3), (7, 3), (2, 4), (3, 3, 3)])
def test_fill_diagonal(shape, wrap):
    x = sample("any", shape, F32)
    expected = x.copy()
    for i in range(min(shape)):
        expected[(i,) * len(shape)] = 5
    if wrap and shape == (7, 3):
        for i in range(3):
            expected[4 + i, i] = 5
    assert_close(run("FillDiagonal", x, fill_value=5.0, wrap=wrap)[0], expected)
