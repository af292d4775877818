"""Quantisation and its fusions as kernels: the codes and scales that `evaluate` gives."""

import numpy as np
import pytest
from lowered_op import check_op
from op_witness import BF16, F16, F32, I8, I32, I64, U8, sample

RNG = np.random.default_rng(5)
NEAR = {"AddRmsNormQuant", "AddRmsNormDynamicQuant", "AddRmsNormDynamicQuantV2"}
NEAR |= {"MultiAddRmsNormDynamicQuant", "RmsNormDynamicQuant", "SwiGluQuant"}
"""Codes of what is summed in another order, or of another exp: one apart where they were near."""


def f(*shape, dtype=F32, seed=0):
    return sample("any", shape, dtype, seed)


def p(*shape, dtype=F32, seed=0):
    """Numbers above 0."""
    return (np.abs(sample("any", shape, F32, seed)) + 0.3).astype(dtype)


def codes(*shape, dtype=I8):
    return RNG.integers(-128, 128, shape).astype(dtype)


def wholes(*shape):
    return RNG.integers(-30000, 30000, shape).astype(I32)


def ends(*values, dtype=I64):
    return np.array(values, dtype)


def packed(*values):
    """f32 scales in the low half of u64."""
    return np.array(values, F32).view(np.uint32).astype(np.uint64)


WIDE = f(5, 37) * 20
WIDE[0, :3] = np.nan, 6e4, -6e4
ROW_OF_ZEROS = f(5, 3, 36)
ROW_OF_ZEROS[1, 1] = 0
CONV = {"strides": [1, 1, 1, 1], "pads": [1, 1, 1, 1], "data_format": "NCHW"}
LOW, HIGH = np.array(-2.3, F32), np.array(4, F32)

CASES = {
    "AscendQuant": [
        ([WIDE], {"scale": 3.7, "offset": 0.5}),
        ([WIDE.astype(F16)],
         {"scale": 3.7, "offset": 0.5, "sqrt_mode": True, "round_mode": "Floor"}),
    ],
    "AscendQuantV2": [
        ([WIDE.astype(BF16), p(37, dtype=BF16), f(37, dtype=BF16)], {}),
        ([WIDE, p(5), f(1)], {"axis": -2, "round_mode": "ceil"}),
        ([f(2, 3, 5), p(1, 1, 5)], {"sqrt_mode": True, "round_mode": "trunc"}),
    ],
    "AscendDequant": [
        ([wholes(5, 37), p(37) / 100], {"relu_flag": True, "dtype": 1}),
        ([wholes(5, 37), p(1, dtype=F16) / 60], {"sqrt_mode": True, "dtype": 27}),
        ([wholes(2, 3, 3), packed(1.5, 0.3, 1e-7)], {"known": ("deq_scale",)}),
    ],
    "AscendAntiQuant": [([codes(5, 37)], {"scale": 0.3, "offset": 2.0, "dtype": 1})],
    "AscendAntiQuantV2": [
        ([codes(5, 37), p(37, dtype=F16), f(37, dtype=F16)], {}),
        ([codes(5, 37), p(5), f(1)], {"dst_type": 27, "sqrt_mode": True}),
    ],
    "Quantize": [
        ([WIDE, p(37), np.arange(37).astype(I32)], {"dtype": "torch.quint8"}),
        ([f(3, 4, 5, dtype=F16), p(4, dtype=F16)], {"dtype": "torch.qint8"}),
    ],
    "Dequantize": [
        ([codes(3, 40), LOW, HIGH], {}),
        ([codes(3, 40).astype(U8), LOW, HIGH], {}),
        ([codes(3, 40).astype(U8), LOW.reshape(1), HIGH.reshape(1)], {"mode": "SCALED"}),
    ],
    "QuantUpdateScatter": [
        ([codes(2, 7, 8), ends(3, 0), f(2, 2, 8), p(8)], {"reduce": "update"}),
        ([codes(2, 7, 8), ends(3, 0), f(2, 2, 8, dtype=BF16), p(1, dtype=BF16) * 9,
          np.array([3], I32)], {"reduce": "update", "reciprocal_scale": True}),
    ],
    "ExtendConv2D": [
        ([codes(1, 4, 9, 9), codes(5, 4, 3, 3), wholes(5) // 9, None, packed(0.1, 0.2, 3, 1, 10)],
         {**CONV, "enable_relu0": True, "dtype0": 2, "known": ("scale0",)}),
        ([codes(1, 4, 9, 9), codes(5, 4, 3, 3), None, None, packed(0.001)],
         {**CONV, "dtype0": 1, "known": ("scale0",)}),
    ],
    "GroupQuant": [
        ([f(6, 9), p(3, 9), ends(2, 2, 6)], {}),
        ([f(6, 9), p(3, 9), ends(2, 3, 6, dtype=I32), f(1)], {"known": ("group_index",)}),
    ],
    "DynamicQuant": [
        ([ROW_OF_ZEROS], {}),
        ([f(40, 130, dtype=BF16), p(130, dtype=BF16)], {}),
        ([f(4, 36), p(2, 36), ends(1, 4, dtype=I32)], {}),
    ],
    "DynamicQuantV2": [
        ([ROW_OF_ZEROS], {}),
        ([f(4, 36, dtype=F16), p(2, 36, dtype=F16), ends(1, 4)], {"is_symmetrical": True}),
        ([f(2, 7, 9), p(7)], {"quant_mode": "perchannel"}),
        ([ROW_OF_ZEROS], {"quant_mode": "pertensor"}),
        ([f(7, 9)], {"quant_mode": "pertensor", "is_symmetrical": True}),
    ],
    "SwiGluQuant": [
        ([f(40, 180, dtype=F16)], {"activate_left": True}),
        ([f(3, 18), p(9), f(9)], {"quant_mode": "static"}),
        ([f(4, 18), p(2, 9), f(2, 9), ends(1, 3)], {"quant_mode": "static", "group_list_type": 1}),
    ],
    "AddRmsNormQuant": [
        ([f(37, 129), f(37, 129, seed=1), p(129), p(129), None,
          np.arange(129).astype(I32) - 60], {}),
        ([*(f(4, 18, dtype=F16, seed=i) for i in range(2)),
          *(p(18, dtype=F16, seed=i) for i in range(3)), None, None, f(18, dtype=F16)],
         {"div_mode": False}),
    ],
    "AddRmsNormDynamicQuant": [
        ([f(37, 129), f(37, 129, seed=1), p(129), p(129), p(129, seed=1)], {}),
        ([f(4, 18), f(4, 18, seed=1), p(18), None, None, p(18)], {}),
        ([f(4, 18), f(4, 18, seed=1), p(18), p(18), None], {"output_mask": (False, True)}),
    ],
    "AddRmsNormDynamicQuantV2": [
        ([*(f(4, 18, dtype=BF16, seed=i) for i in range(2)), p(18, dtype=BF16)], {}),
        ([f(4, 18), f(4, 18, seed=1), p(18), p(18), p(18), f(18)], {}),
    ],
    "MultiAddRmsNormDynamicQuant": [
        ([[f(4, 18), f(4, 18, seed=1)], f(4, 18, seed=2), p(18), p(18), p(18, seed=1)], {}),
        ([[f(3, 1, 300, dtype=F16)], f(3, 1, 300, dtype=F16, seed=1), p(300, dtype=F16)], {}),
    ],
    "RmsNormDynamicQuant": [
        ([f(37, 129), p(129), p(129, seed=1), f(129)], {}),
        ([f(5, 9), p(9)], {}),
    ],
    "FakeQuantWithMinMaxVars": [([f(4, 18), LOW, HIGH], {}), ([f(7), LOW, HIGH], {"num_bits": 4})],
    "FakeQuantWithMinMaxVarsPerChannel": [([f(40, 5), -p(5), p(5)], {"narrow_range": True})],
    "FakeQuantWithMinMaxArgsGradient": [([f(4, 5), f(4, 5, seed=1)], {"min": -1.0, "max": 2.0})],
    "FakeQuantWithMinMaxVarsGradient": [([f(4, 50), f(4, 50, seed=1), LOW, HIGH / 2], {})],
    "FakeQuantWithMinMaxVarsPerChannelGradient": [
        ([f(40, 5), f(40, 5, seed=1) * 3, -p(5), p(5)], {"narrow_range": True}),
        ([f(5), f(5, seed=1) * 3, -p(5), p(5)], {}),
    ],
}  # fmt: skip


@pytest.mark.parametrize("chip", ["Ascend910B1", "Ascend310P3"])
@pytest.mark.parametrize("op_type", CASES)
def test_quantisation(op_type, chip):
    for inputs, attrs in CASES[op_type]:
        near = op_type in NEAR
        check_op(op_type, *inputs, chip=chip, checked=True, near=near, **attrs)


def test_a_norm_and_the_quantisation_behind_it_are_one_kernel():
    inputs = [f(64, 1024), f(64, 1024, seed=1), p(1024)]
    report = check_op("AddRmsNormDynamicQuant", *inputs, near=True)
    (kernel,) = report.kernels
    assert kernel.us < 12


PACKED_AT_RUN_TIME = "no lowering for a scale that is packed that is not constant"
DECLINED = [
    ("AscendDequant", [wholes(3, 4), packed(1.5)], {}, PACKED_AT_RUN_TIME),
    ("DynamicQuant", [f(3, 4)], {"dst_type": 29}, "no lowering for element type DT_INT4"),
    ("Quantize", [f(3, 4), p(1)], {"dtype": "torch.qint32"},
     "no lowering for codes of DT_INT32 that are rounded by rint"),
    ("Dequantize", [wholes(3, 4), LOW, HIGH], {}, "no lowering for element type DT_INT32"),
]  # fmt: skip


@pytest.mark.parametrize(("op_type", "inputs", "attrs", "why"), DECLINED)
def test_what_stays_a_call(op_type, inputs, attrs, why):
    check_op(op_type, *inputs, why=why, **attrs)
