"""Expansions on drawn shapes and element types: what `evaluate` gives, never above the bound."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from lowered_op import check_op
from op_witness import BF16, F16, F32, I32, U8, sample


def f(shape, dtype, seed=0):
    return sample("any", tuple(shape), dtype, seed)


def p(shape, dtype, seed=0):
    """Numbers above 0."""
    return (np.abs(sample("any", tuple(shape), F32, seed)) + 0.3).astype(dtype)


def one(value, dtype):
    return np.array([value], dtype)


def mask(shape):
    return np.random.default_rng(1).integers(0, 2, int(np.prod(shape))).astype(U8)


MAKERS = {
    "AscendQuantV2": lambda s, t: ([f(s, t) * 9, p(s[-1:], t), f(s[-1:], t)], {}),
    "DynamicQuant": lambda s, t: ([f(s, t), p(s[-1:], t)], {}),
    "DynamicQuantV2": lambda s, t: ([f(s, t)], {"quant_mode": "pertensor"}),
    "SwiGluQuant": lambda s, t: ([f([*s[:-1], 2 * s[-1]], t)], {"near": True}),
    "RmsNormDynamicQuant": lambda s, t: ([f(s, t), p(s[-1:], t)], {"near": True}),
    "AddRmsNormQuant": lambda s, t: (
        [f(s, t), f(s, t, 1), p(s[-1:], t), p(s[-1:], t)], {"near": True}),
    "RotaryMul": lambda s, t: (
        [f([2, *s[:-1], 2 * s[-1]], t), *(f([1] * len(s) + [2 * s[-1]], t, i) for i in (1, 2))],
        {"rotary_mode": "interleave"}),
    "MoeGatingTopKSoftmax": lambda s, t: ([f((s[0], 1 + s[-1]), t)], {"k": 1 + s[-1] // 2}),
    "MoeFinalizeRoutingV2": lambda s, t: (
        [f((s[0] * 2, s[-1]), t), np.arange(s[0] * 2)[::-1].astype(I32), f((s[0], s[-1]), t), None,
         None, p((s[0], 2), t)], {}),
    "ApplyAdamD": lambda s, t: (
        [f(s, t), f(s, t, 1), p(s, t), *(one(v, t) for v in (0.9, 0.98, 0.01, 0.9, 0.99, 1e-3)),
         f(s, t, 3)], {}),
    "BNInference": lambda s, t: (
        [f(s, t), f(s[1:2], t), p(s[1:2], t), one(0.5, t), p(s[1:2], t), f(s[1:2], t)], {}),
    "DropOutDoMaskV3D": lambda s, t: ([f(s, t), mask(s)], {"keep_prob": 0.75}),
    "InTopKD": lambda s, t: (
        [f((s[0], s[-1]), F32), np.arange(s[0]).astype(I32) % s[-1]], {"k": 1 + s[-1] // 3}),
    "Erfinv": lambda s, t: ([np.clip(f(s, F32) / 5, -0.99, 0.99).astype(t)], {}),
    "GroupedMatmul": lambda s, t: (
        [[f((s[0], 16), t)], [f((3, 16, s[-1]), t)], [], [], [], [], [],
         np.array([s[0] // 3, s[0] // 2, s[0]])],
        {"counts": (1,), "split_item": 3, "group_type": 0}),
}  # fmt: skip
"""Op type -> its operands and attributes from a shape and an element type."""


@settings(max_examples=40, deadline=None, derandomize=True, database=None)
@given(
    op_type=st.sampled_from(sorted(MAKERS)),
    shape=st.lists(st.integers(1, 9), min_size=1, max_size=3).flatmap(
        lambda lead: st.integers(1, 70).map(lambda last: [*lead, last])
    ),
    dtype=st.sampled_from([F32, F16, BF16]),
    chip=st.sampled_from(["Ascend910B1", "Ascend950PR_958x"]),
)
def test_drawn_shapes(op_type, shape, dtype, chip):
    inputs, attrs = MAKERS[op_type](shape, dtype)
    check_op(op_type, *inputs, chip=chip, checked=True, **attrs)
