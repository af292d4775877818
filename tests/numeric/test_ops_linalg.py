"""Linear algebra: onnxruntime, defining equations and loops against `evaluate`."""

import numpy as np
import pytest
from op_runs import make, onnx_outputs, run
from op_witness import BF16, F16, F32, F64, I8, I32, I64, U8, assert_close, sample


def matrices(dtype, shape=(2, 4, 4)):
    """Well-conditioned ones."""
    x = sample("any", shape, F64)
    return (x + 9 * np.eye(shape[-1])).astype(dtype)


@pytest.mark.parametrize("dtype", [F32, F16, BF16])
@pytest.mark.parametrize("shape", [(3, 3), (2, 4, 4), (2, 1, 1)])
def test_determinant_as_onnx(shape, dtype):
    x = matrices(dtype, shape)
    expected = onnx_outputs("Det", x.astype(F32))[0].astype(dtype)
    assert_close(run("MatrixDeterminant", x)[0], expected, 2)


@pytest.mark.parametrize("op", ["LogMatrixDeterminant", "Slogdet"])
def test_signed_log(op):
    x = matrices(F64)
    x[0, [0, 1]] = x[0, [1, 0]]
    sign, size = run(op, x)
    assert_close(sign * np.exp(size), np.asarray(np.linalg.det(x)), 10)
    assert sign.tolist() == [-1, 1]
    sign, size = run(op, np.zeros((2, 2), F32))
    assert (sign, size) == (0, -np.inf)


@pytest.mark.parametrize("dtype", [F64, np.complex128])
def test_inverse(dtype):
    x = matrices(F64).astype(dtype)
    if dtype == np.complex128:
        x = x + 1j * sample("any", x.shape, F64, 1)
    eye = np.broadcast_to(np.eye(4, dtype=dtype), x.shape)
    np.testing.assert_allclose(x @ run("MatrixInverse", x)[0], eye, atol=1e-12)
    y = run("MatrixInverse", x, adjoint=True)[0]
    np.testing.assert_allclose(x.swapaxes(-1, -2).conj() @ y, eye, atol=1e-12)


def test_inverse_of_halves_is_rounded_once():
    x = matrices(F16)
    wide = np.linalg.inv(x.astype(F64)).astype(F16)
    assert_close(run("MatrixInverse", x)[0], wide, 2)


@pytest.mark.parametrize(
    ("op_type", "count", "message"),
    [
        ("MatrixInverse", 1, "x is singular, expected an invertible matrix"),
        ("Cholesky", 1, "x is not positive definite, expected a positive definite matrix"),
        ("MatrixSolve", 2, "matrix is singular, expected an invertible one"),
        ("MatrixTriangularSolve", 2, "matrix is singular, expected an invertible one"),
    ],
)
def test_matrices_that_an_op_is_not_defined_on(op_type, count, message):
    x = [np.zeros((2, 2), F32)] * count
    with pytest.raises(ValueError, match=f"^{message}$"):
        make(op_type, x, True).execute(x)


def test_cholesky():
    x = matrices(F64)
    x = x @ x.swapaxes(-1, -2)
    y = run("Cholesky", x)[0]
    np.testing.assert_allclose(y @ y.swapaxes(-1, -2), x, atol=1e-10)
    assert not np.triu(y, 1).any()


@pytest.mark.parametrize("adjoint", [False, True])
def test_solve(adjoint):
    x, rhs = matrices(F64), sample("any", (2, 4, 3), F64, 1)
    given = x.swapaxes(-1, -2) if adjoint else x
    y = run("MatrixSolve", x, rhs, adjoint=adjoint)[0]
    np.testing.assert_allclose(given @ y, rhs, atol=1e-10)
    for lower, triangle in ((True, np.tril(x)), (False, np.triu(x))):
        given = triangle.swapaxes(-1, -2) if adjoint else triangle
        y = run("MatrixTriangularSolve", x, rhs, lower=lower, adjoint=adjoint)[0]
        np.testing.assert_allclose(given @ y, rhs, atol=1e-10)


@pytest.mark.parametrize(
    ("dtype", "wanted"), [(F32, F32), (BF16, BF16), (I8, I64), (U8, np.uint64), (np.bool_, I64)]
)
def test_trace(dtype, wanted):
    x = sample("any", (4, 3), dtype)
    total = sum(float(x[i, i]) for i in range(3))
    assert_close(run("Trace", x)[0], np.array(total, np.float64).astype(wanted))


@pytest.mark.parametrize("dtype", [F32, F16, I8])
def test_products_of_vectors(dtype):
    a, b = sample("any", (5,), dtype), sample("any", (5,), dtype, 1)
    wide = (np.prod([v.astype(F64) for v in (a, b)], axis=0)).sum()
    expected = np.array(wide).astype(I64).astype(dtype) if dtype == I8 else np.array(wide, dtype)
    assert_close(run("Dot", a, b)[0], expected, 2)
    outer = [[float(p) * float(q) for q in b[:3]] for p in a]
    assert_close(run("Ger", a, b[:3])[0], np.array(outer).astype(dtype))


@pytest.mark.parametrize("dim", [0, 2, -1, -65530])
def test_cross(dim):
    shape = {0: (3, 2, 4), -65530: (2, 3, 3)}.get(dim, (2, 4, 3))
    place = 1 if dim == -65530 else dim
    x1, x2 = sample("any", shape, F32), sample("any", shape, F32, 1)
    expected = np.cross(x1, x2, axis=place)
    attrs = {} if dim == -65530 else {"dim": dim}
    assert_close(run("Cross", x1, x2, **attrs)[0], expected, 2)


@pytest.mark.parametrize(
    ("equation", "shapes"),
    [
        ("ij,jk->ik", [(2, 3), (3, 4)]),
        ("bij, bjk -> bik", [(5, 2, 3), (5, 3, 4)]),
        ("ii->i", [(3, 3)]),
        ("ij->", [(2, 3)]),
        ("...ij,...jk->...ik", [(5, 2, 3), (5, 3, 4)]),
        ("ij,jk,kl->il", [(2, 3), (3, 4), (4, 2)]),
    ],
)
@pytest.mark.parametrize("dtype", [F32, F16])
def test_einsum_as_onnx(equation, shapes, dtype):
    x = [sample("any", shape, dtype, i) for i, shape in enumerate(shapes)]
    expected = onnx_outputs("Einsum", *x, equation=equation)[0]
    if "." in equation:
        op = make("Einsum", [x], True, attrs={"equation": equation, "N": len(x)})
        assert_close(op.execute(x)[0], expected, 8)
        return
    assert_close(run("Einsum", x, equation=equation, N=len(x))[0], expected, 8)


@pytest.mark.parametrize("keep", [False, True])
@pytest.mark.parametrize("axes", [[], [0], [1, -1]])
@pytest.mark.parametrize("p", [1, 2, 3, 0])
@pytest.mark.parametrize("dtype", [F32, F16])
def test_norm(p, axes, keep, dtype):
    x = sample("any", (3, 4, 5), dtype)
    x[0, 0] = 0
    wide, along = np.abs(x.astype(F64)), tuple(axes) or None
    if p == 0:
        found = np.sum(wide != 0, axis=along, keepdims=keep)
    else:
        found = np.sum(wide**p, axis=along, keepdims=keep) ** (1 / p)
    attrs = {"axes": axes, "keepdim": keep}
    for op, power in (("LpNorm", p), ("LpNormV2", float(p))):
        assert_close(run(op, x, p=power, **attrs)[0], np.asarray(found).astype(dtype), 4)


def test_norm_of_infinite_power():
    x = np.array([[1, -4], [2, 3]], F32)
    assert run("LpNormV2", x, p=float("inf"), axes=[1])[0].tolist() == [4, 3]
    assert run("LpNormV2", x, p=float("-inf"), axes=[1])[0].tolist() == [1, 2]
    assert run("LpNormV2", np.zeros((2, 2), F32), epsilon=0.5)[0] == 0.5
    none = np.zeros((0,), F32)
    op = make("LpNormV2", [none], True, attrs={"p": float("inf")})
    with pytest.raises(ValueError, match="x has no elements, expected some for p = inf"):
        op.execute([none])


@pytest.mark.parametrize("dtype", [F32, BF16])
def test_l2_loss(dtype):
    x = sample("any", (3, 4), dtype)
    assert_close(run("L2Loss", x)[0], np.array((x.astype(F64) ** 2).sum() / 2).astype(dtype))
    assert run("Dot", np.zeros(0, I32), np.zeros(0, I32))[0] == 0
