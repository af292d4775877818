"""Experts, quantised products and rotary embeddings as kernels, against `evaluate`."""

import numpy as np
import pytest
from lowered_op import check_op, make_with, module_of
from op_runs import SHAPING
from op_witness import BF16, F16, F32, I8, I32, I64, sample

import ge_xdsl as gx
from ge_xdsl.lowering.expand import expanded
from ge_xdsl.lowering.expand.builder import NotExpandedError

RNG = np.random.default_rng(3)
NOTHING = [[], [], [], [], []]
SPLIT = {"counts": (1,), "split_item": 3, "group_type": 0}


def f(*shape, dtype=F32, seed=0):
    return sample("any", shape, dtype, seed)


def p(*shape, dtype=F32, seed=0):
    """Numbers above 0."""
    return (np.abs(sample("any", shape, F32, seed)) + 0.3).astype(dtype)


def h(*shape, seed=0):
    return f(*shape, dtype=F16, seed=seed)


def codes(*shape):
    return RNG.integers(-128, 128, shape).astype(I8)


def wholes(*shape):
    return RNG.integers(-30000, 30000, shape).astype(I32)


def ends(*values):
    return np.array(values, I64)


def packed(count):
    """f32 scales in the low half of u64."""
    scales = (np.arange(count) / 1e5 + 0.001).astype(F32)
    return scales.view(np.uint32).astype(np.uint64)


EXPERTS = RNG.integers(0, 8, (10, 3)).astype(I32)
COLUMNS = np.arange(30, dtype=I32).reshape(3, 10).T.copy()
PLACES = RNG.permutation(30).astype(I32)
HOLES = PLACES.copy()
HOLES[3] = -1
CACHES = np.array([[3, -1, 0], [5, 1, 2]], I64)
W, WT = h(3, 70, 90), h(3, 90, 70)

CASES = {
    "GroupedMatmul": [
        ([[h(5, 7), h(3, 7)], [h(7, 9), h(7, 9)], [f(9), f(9)], [], [], [], []],
         {"counts": (1,), "split_item": 3, "group_type": 0, "act_type": 5}),
        ([[h(40, 70)], [W], *NOTHING, ends(10, 10, 35)], {**SPLIT, "known": ("group_list",)}),
        ([[h(40, 70)], [W], [f(3, 90)], [], [], [], [], ends(10, 10, 35)],
         {**SPLIT, "act_type": 2}),
        ([[h(40, 70)], [WT], *NOTHING, ends(10, 0, 25)],
         {**SPLIT, "transpose_weight": True, "group_list_type": 1}),
        ([[h(40, 70)], [WT], *NOTHING, ends(2, 10, 0, 25).reshape(2, 2)],
         {**SPLIT, "transpose_weight": True, "group_list_type": 2}),
        ([[h(40, 70)], [*W], *NOTHING, ends(1, 2, 40)], SPLIT),
        ([[codes(40, 64)], [codes(3, 64, 96)], [], [p(3, 96) / 1000], [], [], [],
          ends(10, 12, 40), p(40) / 10], {**SPLIT, "dtype": 0}),
        ([[codes(40, 64)], [codes(3, 64, 96)], [wholes(3, 96)], [p(3, 96) / 1e4], [], [], [],
          ends(10, 12, 40)], {**SPLIT, "dtype": -1}),
        ([[h(40, 64)], [h(40, 96)], *NOTHING, ends(10, 10, 40)],
         {**SPLIT, "group_type": 2, "transpose_x": True, "known": ("group_list",)}),
    ],
    "FFN": [
        ([h(4, 10, 64), h(64, 96), h(96, 64), None, h(96), h(64)], {"activation": "gelu"}),
        ([h(40, 64), h(3, 64, 96), h(3, 96, 64), ends(10, 0, 20), h(3, 96), h(3, 64)],
         {"activation": "silu"}),
        ([h(40, 64), h(3, 64, 96), h(3, 96, 64), ends(10, 30, 40)],
         {"activation": "fastgelu", "tokens_index_flag": True, "known": ("expert_tokens",)}),
        ([codes(40, 64), codes(64, 96), codes(96, 64), None, wholes(96), wholes(64), p(1) / 1000,
          p(1), p(96) / 1000, p(64) / 1000], {"activation": "relu"}),
    ],
    "QuantBatchMatmulV3": [
        ([codes(37, 64), codes(64, 48), np.array([0.00123], F32)],
         {"dtype": 1, "known": ("scale",)}),
        ([codes(37, 64), codes(48, 64), packed(48), None, wholes(48)],
         {"dtype": 1, "transpose_x2": True, "known": ("scale",)}),
        ([codes(37, 64), codes(64, 48), packed(48), f(48) * 20], {"dtype": 2, "known": ("scale",)}),
        ([codes(37, 64), codes(64, 48), p(48) / 1000, None, f(48), p(37)], {"dtype": 0}),
    ],
    "WeightQuantBatchMatmulV2": [
        ([h(37, 64), codes(64, 48), p(48, dtype=F16) / 100, h(48), None, None, f(48)], {}),
        ([h(37, 96), codes(48, 96), p(48, 2, dtype=F16) / 100, h(48, 2)],
         {"antiquant_group_size": 64, "transpose_weight": True}),
        ([h(37, 64), codes(64, 48), p(1, dtype=F16) / 100, None, p(48), f(1)], {"near": True}),
    ],
    "MoeGatingTopKSoftmax": [([f(10, 17)], {"k": 3}), ([h(2, 5, 17), f(2, 5) > 0], {"k": 3})],
    "MoeGatingTopKSoftmaxV2": [
        ([f(10, 17), f(10) > 0], {"k": 3, "output_softmax_result_flag": True}),
        ([f(10, 17)], {"k": 3, "renorm": 1}),
    ],
    "MoeGatingTopK": [
        ([f(10, 16), f(16)], {"k": 4}),
        ([f(10, 16), f(16)], {"k": 4, "k_group": 2, "group_count": 4, "group_select_mode": 1,
                              "norm_type": 1, "routed_scaling_factor": 2.5}),
        ([h(10, 16)], {"k": 4, "k_group": 2, "group_count": 4, "out_flag": True}),
    ],
    "MoeInitRouting": [([h(10, 20), COLUMNS, EXPERTS], {"active_num": 10})],
    "MoeInitRoutingQuant": [
        ([f(10, 20), COLUMNS, EXPERTS], {"active_num": 7, "scale": 2.0, "offset": 1.0}),
    ],
    "MoeInitRoutingV3": [
        ([h(10, 20), EXPERTS, p(10)], {"expert_num": 8, "expert_tokens_num_flag": True}),
        ([f(10, 20), EXPERTS], {"expert_num": 8, "expert_tokens_num_flag": True, "active_num": 12,
                                "expert_tokens_num_type": 1, "row_idx_type": 1}),
        ([f(10, 20), EXPERTS], {"expert_num": 8, "expert_tokens_num_flag": True,
                                "expert_tokens_num_type": 2}),
    ],
    "MoeComputeExpertTokens": [([np.sort(EXPERTS.reshape(-1))], {"num_experts": 8})],
    "MoeFinalizeRouting": [
        ([h(30, 20), h(10, 20), None, h(8, 20), p(10, 3, dtype=F16), PLACES, EXPERTS], {}),
    ],
    "MoeFinalizeRoutingV2": [
        ([f(30, 20), HOLES, f(10, 20), None, f(8, 20), p(10, 3), EXPERTS], {}),
        ([f(30, 20), HOLES, f(10, 20), f(10, 20), None, p(10, 3)], {"drop_pad_mode": 2}),
        ([f(5, 6, 20), HOLES], {"drop_pad_mode": 1}),
    ],
    "RotaryMul": [
        ([h(2, 3, 4, 8), h(1, 3, 1, 8), h(1, 3, 1, 8)], {"rotary_mode": mode})
        for mode in ("half", "interleave", "quarter")
    ],
    "RotaryPositionEmbedding": [([h(2, 3, 4, 8), h(1, 3, 1, 8), h(1, 3, 1, 8)], {"mode": 3})],
    "RotaryMulGrad": [([f(2, 3, 4, 8), f(1, 3, 1, 8), f(1, 3, 1, 8), f(2, 3, 4, 8, seed=1)], {})],
    "KvRmsNormRopeCache": [
        ([f(2, 1, 3, 24), p(16), f(2, 1, 3, 8), f(2, 1, 3, 8), CACHES, f(2, 1, 7, 8),
          f(2, 1, 7, 16)], {"is_output_kv": True}),
        ([h(2, 1, 3, 24), p(16, dtype=F16), h(2, 1, 3, 8), h(2, 1, 3, 8), CACHES.astype(I32),
          h(2, 1, 7, 8), h(2, 1, 7, 16)], {}),
    ],
    "GEMM": [([h(37, 50), h(50, 33), h(37, 33), h(1), h(1)], {})],
    "Einsum": [([[h(2, 40, 50), h(2, 50, 33)]], {"equation": "bij,bjk->ikb", "N": 2})],
}  # fmt: skip


@pytest.mark.parametrize("chip", ["Ascend910B1", "Ascend310P3"])
@pytest.mark.parametrize("op_type", CASES)
def test_experts_and_products(op_type, chip):
    for inputs, attrs in CASES[op_type]:
        check_op(op_type, *inputs, chip=chip, checked=True, **attrs)


def test_factors_that_f32_has_only_on_some_chips():
    weights = [[h(40, 64)], [codes(3, 64, 96)], [], [], [], [p(3, 96) / 100], [f(3, 96)]]
    check_op("GroupedMatmul", *weights, ends(10, 12, 40), **SPLIT)
    check_op("GroupedMatmul", [f(5, 7)], [f(7, 9)], *NOTHING, counts=(1,))
    check_op("WeightQuantBatchMatmulV2", f(37, 64, dtype=BF16), codes(64, 48), p(48, dtype=BF16))
    reason = "no f32 factors on the cube unit of Ascend310P3"
    check_op(
        "GroupedMatmul", [f(5, 7)], [f(7, 9)], *NOTHING,
        counts=(1,), chip="Ascend310P3", why=reason,
    )  # fmt: skip


def test_half_factors_stay_half_and_their_sums_are_f32():
    report = check_op("FusedMatMul", h(64, 128), h(128, 64), None, h(64, 64), fused_op_type="add")
    assert [kernel.name for kernel in report.kernels] == ["MatMulV2", "Cast_Add_Cast"]


def test_groups_that_are_not_known_cost_a_few_times_those_that_are():
    x, w = h(512, 512), h(4, 512, 512)
    groups = ends(100, 200, 300, 512)
    known = check_op("GroupedMatmul", [x], [w], *NOTHING, groups, known=("group_list",), **SPLIT)
    later = check_op("GroupedMatmul", [x], [w], *NOTHING, groups, **SPLIT)
    assert later.us < 4 * known.us


def test_a_gather_costs_the_rows_that_it_takes_however_many_there_are():
    def gather(rows):
        x, places = np.broadcast_to(np.zeros((), F16), (rows, 4096)), np.zeros(1024, I32)
        op = make_with("GatherV2", [x, places, np.array([0])], SHAPING, (), {})
        (kernel,) = gx.estimate(module_of(op), "Ascend910B1").kernels
        return kernel

    small, large = gather(2048), gather(1 << 16)
    assert large.us == pytest.approx(small.us, rel=0.05)
    assert large.roofline_us <= large.us


DECLINED = [
    ("GroupedMatmul", [[h(40, 64)], [h(40, 96)], *NOTHING, ends(10, 40)],
     {**SPLIT, "group_type": 2, "transpose_x": True},
     "for groups of inner rows that are not constant"),
    ("FFN", [codes(4, 64), codes(64, 9), codes(9, 64)], {"activation": "relu"}, "without a scale"),
    ("FFN", [h(4, 64), h(64, 96), h(96, 64)], {"activation": "swiglu"}, "for activation swiglu"),
    ("FFN", [codes(4, 64), codes(64, 96), codes(96, 64), None, None, None, p(96)],
     {"activation": "relu"}, "for a scale per column between the layers"),
    ("MoeInitRoutingV3", [h(10, 20), EXPERTS], {"expert_num": 8, "quant_mode": 1},
     "with drop_pad_mode, quant_mode or active_expert_range set"),
    ("KvRmsNormRopeCache", CASES["KvRmsNormRopeCache"][1][0], {"cache_mode": "PA"},
     "for this cache_mode, and with scales or offsets"),
    ("RotaryPositionEmbedding", [h(2, 3, 4, 8), h(1, 3, 1, 8), h(1, 3, 1, 8), h(8, 8)], {},
     "with a matrix"),
    ("QuantBatchMatmulV3", [codes(4, 8), codes(8, 5), f(1)], {"dtype": 1},
     "for a scale that is cut short that is not constant"),
]  # fmt: skip


@pytest.mark.parametrize(("op_type", "inputs", "attrs", "why"), DECLINED)
def test_what_no_expansion_is_for(op_type, inputs, attrs, why):
    attrs = dict(attrs)
    op = make_with(op_type, inputs, SHAPING, attrs.pop("counts", ()), attrs)
    with pytest.raises(NotExpandedError) as error:
        expanded(op, lambda op: "", 0)
    assert str(error.value) == f"no lowering {why}"
