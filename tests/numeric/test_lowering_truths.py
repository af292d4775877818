"""Casts to and from truth values: by the vector unit, whatever the number."""

import numpy as np
import pytest
from lowered_op import check_op
from op_witness import BF16, F16, F32, I8, I16, I32, I64, U8

from ge_xdsl.dialects.ge.types import DataType

CHIPS = ["Ascend910B1", "Ascend310P3", "Ascend950PR_958x"]
KINDS = [F32, F16, BF16, I8, U8, I16, I32, I64, np.uint16, np.uint32, np.uint64]
CODES = {F32: DataType.DT_FLOAT, F16: DataType.DT_FLOAT16, I8: DataType.DT_INT8,
         U8: DataType.DT_UINT8, I16: DataType.DT_INT16, I32: DataType.DT_INT32,
         I64: DataType.DT_INT64}  # fmt: skip


def extremes(dtype):
    """0, the numbers next to it, and the largest and smallest ones."""
    if np.dtype(dtype).kind in "iu":
        info = np.iinfo(dtype)
        found = [0, 1, max(-1, info.min), info.max, info.max - 1, info.min, info.max // 2 + 1]
        return np.array(found * 3, dtype)
    return np.array([0, -0.0, 1, -1, np.inf, -np.inf, np.nan, 6e-5] * 3, F32).astype(dtype)


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("dtype", KINDS)
def test_what_is_not_0_is_true(dtype, chip):
    x = extremes(dtype)
    assert x.astype(bool).any()
    check_op("Cast", x, dst_type=int(DataType.DT_BOOL), chip=chip, exact=True, checked=True)


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("dtype", CODES)
def test_true_is_1(dtype, chip):
    x = np.random.default_rng(0).random((5, 77)) < 0.5
    check_op("Cast", x, dst_type=int(CODES[dtype]), chip=chip, exact=True, checked=True)


@pytest.mark.parametrize("dtype", [U8, I8, I64])
def test_masks_are_made_at_the_speed_of_memory(dtype):
    x = np.ones((1024, 1024), dtype)
    for given, wanted in ((x, DataType.DT_BOOL), (x.astype(bool), CODES[dtype])):
        (kernel,) = check_op("Cast", given, dst_type=int(wanted)).kernels
        assert kernel.us < 1.5 * kernel.roofline_us


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("dtype", [I8, U8, I16])
def test_small_integers_are_compared_and_chosen(dtype, chip):
    info = np.iinfo(dtype)
    a, b = (np.random.default_rng(i).integers(info.min, info.max + 1, (7, 45)) for i in (0, 1))
    a, b = a.astype(dtype), b.astype(dtype)
    a[:, ::3] = b[:, ::3]
    a[0, :2], b[0, :2] = (info.min, info.max), (info.max, info.min)
    for op_type in ("Equal", "NotEqual", "Less", "LessEqual", "Greater", "GreaterEqual"):
        check_op(op_type, a, b, chip=chip, exact=True, checked=True)
    check_op("SelectV2", a[:, :1] > b[:, :1], a, b[0], chip=chip, exact=True, checked=True)


def test_small_integers_are_compared_at_the_speed_of_memory():
    x = np.arange(1 << 20).astype(I8).reshape(1024, 1024)
    for inputs in (("Less", x, x), ("SelectV2", x > 3, x, x)):
        (kernel,) = check_op(*inputs).kernels
        assert kernel.us < 1.5 * kernel.roofline_us
