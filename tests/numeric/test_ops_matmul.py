"""Matrix products: onnxruntime or numpy in f64 against `evaluate`."""

import numpy as np
import pytest
from op_runs import onnx_outputs, run
from op_witness import BF16, F16, F32, F64, I8, I32, assert_close, sample

FLOATS = (F32, F16, BF16)


def product(a, b, dtype):
    """numpy's matmul in f64 (i64 for integers), rounded once."""
    wide = np.int64 if np.dtype(dtype).kind == "i" else np.float64
    return np.matmul(a.astype(wide), b.astype(wide)).astype(dtype)


@pytest.mark.parametrize("dtype", [*FLOATS, I32])
@pytest.mark.parametrize("op_type", ["MatMul", "MatMulV2"])
@pytest.mark.parametrize(("swap_a", "swap_b"), [(False, False), (True, False), (False, True)])
def test_matmul_with_bias(op_type, swap_a, swap_b, dtype):
    a, b = sample("any", (4, 7), dtype, 1), sample("any", (7, 5), dtype, 2)
    bias = sample("any", (5,), dtype, 3)
    x1, x2 = (a.T if swap_a else a), (b.T if swap_b else b)
    y = run(op_type, x1, x2, bias, transpose_x1=swap_a, transpose_x2=swap_b)[0]
    expected = product(a, b, F64 if np.dtype(dtype).kind != "i" else dtype)
    assert_close(y, (expected + bias.astype(expected.dtype)).astype(dtype), scale=8)


@pytest.mark.parametrize(
    ("a", "b", "shape"),
    [
        ((3, 4), (4, 5), (3, 5)),
        ((4,), (4, 5), (5,)),
        ((3, 4), (4,), (3,)),
        ((4,), (4,), (1, 1)),
        ((0, 4), (4, 5), (0, 5)),
        ((3, 0), (0, 5), (3, 5)),
    ],
)
@pytest.mark.parametrize("op_type", ["MatMul", "BatchMatMul"])
def test_vectors_and_empty_matrices(op_type, a, b, shape):
    a, b = sample("any", a, F32, 1), sample("any", b, F32, 2)
    assert_close(run(op_type, a, b)[0], product(a, b, F32).reshape(shape))


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(
    ("a", "b"),
    [
        ((2, 3, 4, 6), (2, 3, 6, 5)),
        ((3, 1, 4, 6), (2, 6, 5)),
        ((4, 6), (2, 2, 6, 5)),
        ((6,), (2, 6, 5)),
    ],
)
def test_batch_matmul_as_onnx(a, b, dtype):
    a, b = sample("any", a, dtype, 1), sample("any", b, dtype, 2)
    expected = onnx_outputs("MatMul", a, b)[0]
    for op_type in ("BatchMatMul", "BatchMatMulV2"):
        assert_close(run(op_type, a, b)[0], expected, scale=8)


def test_batch_matmul_adjoint_and_bias():
    a, b = sample("any", (2, 6, 4), F32, 1), sample("any", (2, 5, 6), F32, 2)
    bias = sample("any", (2, 1, 5), F32, 3)
    y = run("BatchMatMulV2", a, b, bias, adj_x1=True, adj_x2=True)[0]
    assert_close(y, product(a.swapaxes(1, 2), b.swapaxes(1, 2), F32) + bias, scale=8)


@pytest.mark.parametrize("depth", [16, 3000])
def test_i8_sums_in_i32(depth):
    a, b = np.full((2, depth), -128, I8), np.full((depth, 3), -127, I8)
    bias = np.array([1, 2, 3], I32)
    y = run("MatMulV2", a, b, bias)[0]
    assert_close(y, np.broadcast_to(bias + I32(depth * 128 * 127), (2, 3)))
    assert_close(run("BatchMatMulV2", a[None], b[None])[0], product(a, b, I32)[None])


@pytest.mark.parametrize("dtype", [F32, F16])
@pytest.mark.parametrize(("swap_a", "swap_b"), [(0, 0), (1, 0), (0, 1), (1, 1)])
def test_gemm_as_onnx(swap_a, swap_b, dtype):
    a = sample("any", (6, 4) if swap_a else (4, 6), dtype, 1)
    b = sample("any", (5, 6) if swap_b else (6, 5), dtype, 2)
    c = sample("any", (4, 5), dtype, 3)
    alpha, beta = np.array([0.5], dtype), np.array([-2], dtype)
    y = run("GEMM", a, b, c, alpha, beta, transpose_a=bool(swap_a), transpose_b=bool(swap_b))[0]
    expected = onnx_outputs("Gemm", a, b, c, alpha=0.5, beta=-2.0, transA=swap_a, transB=swap_b)[0]
    assert_close(y, expected, scale=8)


def test_gemm_i8_operands_and_i32_c():
    a, b = sample("any", (2, 3), I8, 1), sample("any", (3, 2), I8, 2)
    c = sample("any", (2, 2), I32, 3)
    y = run("GEMM", a, b, c, np.array([2], I32), np.array([3], I32))[0]
    assert_close(y, 2 * product(a, b, I32) + 3 * c)
