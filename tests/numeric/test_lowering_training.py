"""Optimisers, gradients of norms, dropout and losses as kernels, against `evaluate`."""

import numpy as np
import pytest
from lowered_op import check_op
from op_witness import F16, F32, I8, I32, I64, U8, sample

BYTES = np.random.default_rng(0).integers(0, 2, (5, 7)).astype(U8)
LABELS = np.random.default_rng(0).integers(0, 5, (6, 3))
NCHW = {"data_format": "NCHW"}


def f(*shape, dtype=F32, seed=0):
    return sample("any", shape, dtype, seed)


def p(*shape, dtype=F32, seed=0):
    """Numbers above 0."""
    return (np.abs(sample("any", shape, F32, seed)) + 0.3).astype(dtype)


def one(*values):
    return [np.array([v], F32) for v in values]


def many(count, *shape):
    return [f(*shape, seed=i) for i in range(count)]


X = (37, 129)
ADAM = [*one(0.9, 0.98, 0.01, 0.9, 0.99, 1e-3), f(*X, seed=3)]
LR, MOMENTUM = one(0.1, 0.9)
IMAGE, CHANNELS = (2, 5, 3, 4), (2, 5, 1, 1)

HALVES = {
    # in f32, and in f16 where all operands are
    "ApplyMomentum": [
        ([f(*X), f(*X, seed=1), LR, f(*X, seed=2), MOMENTUM], {"use_nesterov": n})
        for n in (False, True)
    ],
    "ApplyKerasMomentum": [
        ([f(*X), f(*X, seed=1), LR, f(*X, seed=2), MOMENTUM], {"use_nesterov": n})
        for n in (False, True)
    ],
    "ApplyAdam": [([f(*X), f(*X, seed=1), p(*X), *ADAM], {"use_nesterov": True})],
    "ApplyAdamD": [([f(*X), f(*X, seed=1), p(*X), *ADAM], {})],
    "ApplyAdamWithAmsgrad": [([f(*X), f(*X, seed=1), p(*X), p(*X, seed=1), *ADAM], {})],
    "AssignAdd": [([f(*X), f(*X, seed=1)], {})],
    "AssignSub": [([f(3), f(3, seed=1)], {})],
    "BNInference": [([f(*IMAGE), f(5), p(5), *one(0.5), p(5), f(5)], {})],
    "InstanceNormGrad": [([*many(2, *IMAGE), p(2, 1, 1, 4), f(2, 1, 1, 4), p(4)], {})],
    "ConfusionMulGrad": [
        (many(3, 5, 7), {"axes": [1]}),
        (many(3, 5, 7), {"keep_dims": True}),
    ],
    "Dropout": [([f(5, 7)], {})],
    "NLLLoss": [
        ([f(6, 5), np.array([0, 4, 1, 2, 3, 3], I32), p(5)], {"reduction": how, "ignore_index": 2})
        for how in ("mean", "sum", "none")
    ] + [([f(5), np.array(3, I64)], {})],
    "SoftmaxCrossEntropyLoss": [
        ([f(6, 5, 3), LABELS.astype(I64)], {"reduction": "mean"}),
        ([f(6, 5, 3), LABELS.astype(I32), p(5)], {"reduction": "none"}),
    ],
    "MaskedSoftmaxWithRelPosBias": [
        ([f(4, 3, 2, 5, 7), f(3, 5, 7), f(2, 5, 7)], {"scale_value": 0.5}),
        ([f(12, 2, 5, 7), f(1, 3, 1, 5, 7), f(1, 2, 5, 7)], {}),
        ([f(12, 2, 5, 7), None, f(1, 2, 5, 7)], {}),
    ],
    "DropOutDoMaskV3": [([f(5, 7), np.pad(BYTES.reshape(-1), (0, 5)), *one(0.75)], {})],
    "DropOutDoMaskV3D": [
        ([f(5, 7), BYTES.reshape(-1)], {"keep_prob": 0.75}),
        ([f(5, 7), BYTES.reshape(-1)], {"keep_prob": 0.0}),
    ],
    "SoftmaxV2WithDropOutDoMaskV3D": [([f(5, 7), BYTES.reshape(-1)], {"keep_prob": 0.75})],
    "AxpyWithSoftmaxAndDropOutDoMask": [
        ([*many(2, 5, 7), BYTES.reshape(-1)], {"alpha": 0.3, "input_keep_prob": 0.75}),
    ],
    "MaskedScale": [([f(5, 7), BYTES.astype(I8)], {"value": 1.5})],
    "AttentionQKVGradW": [([f(33, 20), f(33, 17), f(33, 17, seed=1)], {})],
    "AttentionQKVGradX": [
        ([f(33, 20), *many(3, 33, 17), *many(3, 20, 17)], {}),
        ([None, *many(3, 33, 17), *many(3, 20, 17)], {}),
    ],
}  # fmt: skip

MIXED = {
    # operands of f32 beside those of another type
    "FusedMulApplyMomentumExtern": [
        ([f(*X), f(*X, seed=1), LR, f(*X, seed=2), MOMENTUM, *one(0.5), f(*X, dtype=F16)],
         {"use_nesterov": n})
        for n in (False, True)
    ],
    "LarsV2": [([f(*X), f(*X, seed=1), *one(0.1, 0.5)], {})],
    "LarsV2Update": [([f(*X), f(*X, seed=1), *one(5.0, 3.0, 0.1, 0.05)], {"use_clip": True})],
    "Assign": [([f(3, 4), f(3, 4, seed=1)], {})],
    "BatchNormGrad": [
        ([*many(2, *IMAGE), p(5), f(5), p(5)], {**NCHW, "is_training": True}),
        ([f(*IMAGE, dtype=F16), f(*IMAGE, dtype=F16, seed=1), p(4), f(4), p(4)],
         {"is_training": False}),
    ],
    "BatchNorm3DGrad": [([*many(2, 2, 5, 3, 4, 3), p(5), f(5), p(5)], {})],
    "INTrainingUpdateGrad": [([*many(2, *IMAGE), p(*CHANNELS), f(*CHANNELS)], {})],
    "INTrainingReduceGrad": [
        ([*many(2, *IMAGE), p(*CHANNELS), *many(3, *CHANNELS), p(1, 5, 1, 1)], {}),
    ],
    "INTrainingUpdateGradGammaBeta": [(many(2, 4, 1, 5), {})],
    "INInferV2D": [
        ([f(*IMAGE, dtype=F16), p(1, 5, 1, 1), f(1, 5, 1, 1), f(*CHANNELS), p(*CHANNELS),
          p(*CHANNELS)], {}),
    ],
    "BatchNormV3": [
        ([f(*IMAGE, dtype=dtype), p(5), f(5), f(5), p(5)], {"is_training": training})
        for dtype in (F32, F16) for training in (False, True)
    ],
    "LNDropoutGrad": [
        ([f(5, 7, dtype=dtype), f(5, 7, dtype=dtype, seed=1), p(5, 1), f(5, 1), f(7), BYTES],
         {"keep_prob": 0.75})
        for dtype in (F32, F16)
    ],
}  # fmt: skip


@pytest.mark.parametrize("dtype", [F32, F16])
@pytest.mark.parametrize("op_type", HALVES)
def test_in_both_widths(op_type, dtype):
    for inputs, attrs in HALVES[op_type]:
        wide = [a if a is None or a.dtype != F32 else a.astype(dtype) for a in inputs]
        check_op(op_type, *wide, checked=True, **attrs)


@pytest.mark.parametrize("chip", ["Ascend910B1", "Ascend310P3"])
@pytest.mark.parametrize("op_type", MIXED)
def test_of_several_types(op_type, chip):
    for inputs, attrs in MIXED[op_type]:
        check_op(op_type, *inputs, chip=chip, checked=True, **attrs)


def test_a_step_of_adam_is_one_kernel_of_its_traffic():
    shape = (1024, 1024)
    arrays = [f(*shape), f(*shape, seed=1), p(*shape), *ADAM[:-1], f(*shape, seed=3)]
    report = check_op("ApplyAdamD", *arrays)
    (kernel,) = report.kernels
    assert kernel.us < 4 * kernel.roofline_us


def test_masks_of_bytes_are_compared_by_the_vector_unit():
    x, mask = f(1024, 1024), np.random.default_rng(2).integers(0, 3, 1 << 20).astype(np.uint8)
    report = check_op("DropOutDoMaskV3D", x, mask, keep_prob=0.75)
    (kernel,) = report.kernels
    assert kernel.us < 3 * kernel.roofline_us


def test_a_variance_of_one_number_stays_a_call():
    why = "no lowering for a variance of one element"
    check_op("BatchNormV3", f(1, 3), p(3), f(3), f(3), p(3), why=why)
