"""Bit operations: Python's integers, onnxruntime and unpacked bits against `evaluate`."""

import numpy as np
import pytest
from op_runs import make, onnx_outputs, run
from op_witness import BF16, F16, F32, F64, I8, I16, I32, I64, U8, assert_close, sample

INTS = (I8, U8, I16, np.uint16, I32, np.uint32, I64, np.uint64)


def whole_range(dtype, shape, seed=0):
    limits = np.iinfo(dtype)
    return np.random.default_rng(seed).integers(limits.min, limits.max, shape, dtype, endpoint=True)


@pytest.mark.parametrize("dtype", INTS)
@pytest.mark.parametrize("op", ["And", "Or", "Xor"])
def test_binary_as_onnx(op, dtype):
    x1, x2 = whole_range(dtype, (2, 3, 4)), whole_range(dtype, (3, 1), 1)
    y = run(f"Bitwise{op}", x1, x2)[0]
    assert_close(y, onnx_outputs(f"Bitwise{op}", x1, x2)[0])


@pytest.mark.parametrize("op", ["BitwiseNot", "Invert", "InvertV2"])
@pytest.mark.parametrize("dtype", INTS)
def test_complement_as_onnx(op, dtype):
    x = whole_range(dtype, (2, 5))
    assert_close(run(op, x)[0], onnx_outputs("BitwiseNot", x)[0])


def test_complement_of_booleans():
    assert_close(run("BitwiseNot", np.array([True, False]))[0], np.array([False, True]))


@pytest.mark.parametrize("dtype", INTS)
@pytest.mark.parametrize("op", ["LeftShift", "RightShift"])
def test_shift_as_python_integers(op, dtype):
    bits = np.iinfo(dtype).bits
    x = whole_range(dtype, (4, 6))
    y = np.array([0, 1, 3, bits - 1, bits, 120], dtype)
    expected = np.empty_like(x)
    for place in np.ndindex(x.shape):
        steps = min(int(y[place[1]]), bits - 1)
        value = int(x[place]) << steps if op == "LeftShift" else int(x[place]) >> steps
        expected[place] = np.array(value % 2**bits, np.uint64).astype(dtype)
    assert_close(run(op, x, y)[0], expected)


def test_negative_shift_counts_as_none():
    x = np.array([5, -5], I32)
    assert_close(run("LeftShift", x, np.array([-1, -9], I32))[0], x)


@pytest.mark.parametrize("dtype", INTS)
def test_population_count(dtype):
    x = whole_range(dtype, (3, 5))
    bits = np.iinfo(dtype).bits
    expected = [[(int(v) % 2**bits).bit_count() for v in row] for row in x]
    assert_close(run("PopulationCount", x)[0], np.array(expected, U8))


@pytest.mark.parametrize("dtype", [F16, BF16, F32, F64])
def test_signbit(dtype):
    x = np.array([0.0, -0.0, 1, -1, np.inf, -np.inf], dtype)
    assert_close(run("Signbit", x)[0], np.array([0, 1, 0, 1, 0, 1], bool))


def test_signbit_of_integers():
    assert_close(run("Signbit", np.array([0, -1, 1], I8))[0], np.array([False, True, False]))
    assert not run("Signbit", np.array([0, 255], U8))[0].any()


@pytest.mark.parametrize("dtype", [F16, F32])
@pytest.mark.parametrize(("count", "size"), [(16, 1), (13, 2), (24, 3), (0, 1)])
def test_sign_bits_pack(count, size, dtype):
    x = sample("any", (count,), dtype)
    if count:
        x[:3] = [0.0, -0.0, np.nan]
    bits = "".join("1" if float(v) < 0 else "0" for v in x).ljust(-(-count // 8) * 8, "1")
    expected = [int(bits[i : i + 8], 2) for i in range(0, len(bits), 8)]
    y = run("SignBitsPack", x, size=size)[0]
    assert_close(y, np.array(expected, U8).reshape(size, -1))


@pytest.mark.parametrize(("dtype", "number"), [(F32, 0), (F16, 1)])
def test_sign_bits_unpack(dtype, number):
    x = np.array([0b00000110, 0xFF, 0x80], U8)
    y = run("SignBitsUnpack", x, size=2, dtype=number)[0]
    flat = [-1, 1, 1] + [-1] * 5 + [1] * 8 + [-1] * 7 + [1]
    assert_close(y, np.array(flat, dtype).reshape(2, 12))


@pytest.mark.parametrize("dtype", [F16, F32, I8, np.bool_])
def test_compare_and_bitpack(dtype):
    x = sample("any", (2, 16), dtype)
    y = run("CompareAndBitpack", x, np.array(0, dtype))[0]
    expected = [
        [sum((x[r, 8 * i + j] > 0) << (7 - j) for j in range(8)) for i in range(2)]
        for r in range(2)
    ]
    assert_close(y, np.array(expected, U8))


@pytest.mark.parametrize(
    ("dtype", "number", "shape", "wanted", "keep"),
    [
        (F32, 3, (2, 3), (2, 3), False),
        (F32, 4, (2, 3), (2, 3, 4), False),
        (F32, 4, (), (4,), False),
        (U8, 0, (3, 4), (3,), False),
        (I16, 9, (4,), (), False),
        (BF16, 6, (2, 2), (2, 2), False),
        (F32, 1, (2, 3), (2, 6), True),
        (F16, 0, (2, 6), (2, 3), True),
    ],
)
def test_bitcast_keeps_the_bytes(dtype, number, shape, wanted, keep):
    x = sample("any", shape, dtype)
    y = run("Bitcast", x, type=number, keep_dim=keep)[0]
    assert y.shape == wanted
    assert y.tobytes() == x.tobytes()


@pytest.mark.parametrize(
    ("op_type", "shape", "attrs", "text"),
    [
        ("SignBitsPack", (17,), {"size": 2}, "3 bytes, expected a multiple of size 2"),
        ("SignBitsUnpack", (1,), {"size": 3, "dtype": 0}, "8 bits, expected a multiple of size 3"),
        ("CompareAndBitpack", (2, 9), {}, "x is 2x9, expected a last dimension that is"),
    ],
)
def test_refused_values(op_type, shape, attrs, text):
    dtype = U8 if op_type == "SignBitsUnpack" else F32
    flexible = np.zeros((*shape[:-1], 96), dtype)
    extra = [np.array(0, F32)] if op_type == "CompareAndBitpack" else []
    op = make(op_type, (flexible, *extra), False, attrs=attrs)
    with pytest.raises(ValueError, match=text):
        op.execute([np.zeros(shape, dtype), *extra])
