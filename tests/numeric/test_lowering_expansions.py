"""Ops that are lowered as graphs of others: what `evaluate` gives, and why some are not."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lowered_op import check_op, make_with
from op_runs import SHAPING
from op_witness import BF16, F16, F32, I8, I32, I64, U8, sample

from ge_xdsl.dialects.ge.registry import op_class
from ge_xdsl.lowering.expand import EXPANSIONS, activations, expanded, losses
from ge_xdsl.lowering.expand import arithmetic as maths
from ge_xdsl.lowering.expand.builder import NotExpandedError

SHAPES = [(37, 129), (5,), (1, 1, 3), (2, 3, 4, 7)]
POSITIVE = {"Log", "ReduceLogSum", "Xlogy", "RsqrtGrad", "SqrtGrad", "AcoshGrad", "PoissonNllLoss"}
POSITIVE |= {"GeluGrad"}  # its derivative crosses 0 below, where both sides lose digits
UNIT = {"AsinGrad", "AcosGrad", "Logit", "BinaryCrossEntropy"}
ATTRS = {
    "ThresholdV2D": {"threshold": 0.5, "value": 2.0},
    "ThresholdGradV2D": {"threshold": 0.5},
    "NanToNum": {"nan": 0.5, "posinf": 3.0, "neginf": -3.0},
    "Exp": {"base": 2.0, "scale": 0.5, "shift": 1.0},
    "Log": {"base": 10.0, "scale": 2.0, "shift": 1.0},
    "GeluV2": {"approximate": "tanh"},
    "LpLoss": {"p": 1},
    "KLDiv": {"reduction": "batchmean"},
    "SquareSumV1": {"axis": [0]},
    "SquareSumV2": {"axis": [0]},
}
SPECIAL = {
    # operands of other shapes, or results of fewer elements than operands
    *("SwiGlu", "GLU", "SwiGluGrad", "GLUGrad", "GeGluV2", "GeGluGradV2", "GeluMul", "PReluGrad"),
    *("FusedMulAddN", "ClipByValueV2", "BiasAddGrad", "SoftmaxCrossEntropyWithLogits"),
    *("RotaryMul", "RotaryPositionEmbedding", "ApplyRotaryPosEmb", "ScaledMaskedSoftmax"),
    *("SoftmaxGradExt", "LogitGrad"),
}
F32_ONLY = {"FakeQuantWithMinMaxArgs"}
SAME = sorted({*activations.FORMULAS, *maths.FORMULAS, *losses.FORMULAS} - SPECIAL)
"""Formulas on operands of one shape."""


def operands(op_type, shape, dtype):
    kind = "positive" if op_type in POSITIVE else "unit" if op_type in UNIT else "any"
    found = []
    for i in range(len(op_class(op_type).prototype.inputs)):
        x = sample(kind, shape, dtype, i)
        found.append(np.abs(x) if kind == "unit" and op_type != "AsinGrad" else x)
    return found


@pytest.mark.parametrize("dtype", [F32, F16, BF16])
@pytest.mark.parametrize("op_type", SAME)
def test_formulas(op_type, dtype):
    attrs, dtype = ATTRS.get(op_type, {}), F32 if op_type in F32_ONLY else dtype
    for shape in ((37, 129), (1, 5)):
        report = check_op(op_type, *operands(op_type, shape, dtype), **attrs)
        assert report.us > 0


@settings(max_examples=12, deadline=None, derandomize=True, database=None)
@given(
    op_type=st.sampled_from(SAME),
    shape=st.lists(st.integers(1, 9), min_size=1, max_size=4).map(tuple),
    dtype=st.sampled_from([F32, F16, BF16]),
)
def test_formulas_on_drawn_shapes(op_type, shape, dtype):
    if op_type in ("ReduceVar", "ReduceStd", "ReduceStdV2") and np.prod(shape) < 2:
        return
    attrs, dtype = ATTRS.get(op_type, {}), F32 if op_type in F32_ONLY else dtype
    check_op(op_type, *operands(op_type, shape, dtype), **attrs)


def f(*shape, kind="any", dtype=F32, seed=0):
    return sample(kind, shape, dtype, seed)


def ints(values, dtype=I64):
    return np.array(values, dtype)


def rng():
    return np.random.default_rng(3)


CASES = {
    # halves, channels, rows
    "SwiGlu": ([f(5, 8)], {}),
    "GLU": ([f(4, 5)], {"dim": 0}),
    "SwiGluGrad": ([f(4, 3), f(4, 6)], {}),
    "GLUGrad": ([f(4, 3), f(4, 6)], {}),
    "GeGluV2": ([f(3, 8)], {"activate_left": True, "approximate": 0}),
    "GeGluGradV2": ([f(3, 4), f(3, 8), f(3, 4)], {}),
    "PReluGrad": ([f(2, 3, 5), f(2, 3, 5), f(3)], {}),
    "PRelu": ([f(2, 3, 5), f(3)], {}),
    "BiasAddGrad": ([f(4, 6)], {"data_format": "NHWC"}),
    "SoftmaxCrossEntropyWithLogits": ([f(6, 5), f(6, 5)], {}),
    "SparseSoftmaxCrossEntropyWithLogits": ([f(6, 5), ints([0, 4, 1, 2, 3, 3], I32)], {}),
    "RotaryMul": ([f(2, 3, 4, 8), f(1, 3, 1, 8), f(1, 3, 1, 8)], {"rotary_mode": "interleave"}),
    "RotaryPositionEmbedding": ([f(2, 3, 4, 8), f(1, 3, 1, 8), f(1, 3, 1, 8)], {"mode": 2}),
    "ScaledMaskedSoftmax": ([f(2, 3, 5, 8), f(2, 3, 5, 8) > 0], {"scale": 0.5}),
    # norms
    "GroupNorm": ([f(2, 6, 5, 7), f(6), f(6)], {"num_groups": 3}),
    "GroupNormSilu": ([f(2, 6, 5, 7), f(6), f(6)], {"num_groups": 2}),
    "InstanceNorm": ([f(2, 3, 4, 5), f(3), f(3)], {"data_format": "NCHW"}),
    "BNTrainingReduce": ([f(2, 3, 4, 5)], {}),
    "LayerNormGrad": ([f(5, 7), f(5, 7), f(5, 1, kind="positive"), f(5, 1), f(7)], {}),
    "AddRmsNorm": ([f(5, 16), f(5, 16), f(16)], {}),
    "RmsNormGrad": ([f(5, 16), f(5, 16), f(5, kind="positive"), f(16)], {}),
    "L2Normalize": ([f(3, 5)], {"axis": [1]}),
    "LpNormV2": ([f(3, 5)], {"p": 1.0, "axes": [1]}),
    "LRN": ([f(2, 6, 3, 4)], {}),
    # reductions
    "ReduceSum": ([f(3, 4, 5, 6), ints([0, 2])], {}),
    "ReduceMeanD": ([f(2, 30000, 3)], {"axes": [0, 1, 2]}),
    "ReduceMax": ([sample("any", (5, 6), I64), ints([1])], {}),
    "ReduceProdD": ([sample("any", (4, 3), I8)], {"axes": [1]}),
    "ReduceAllD": ([f(4, 3) > 0], {"axes": [0]}),
    "ArgMaxV2": ([sample("any", (4, 7), U8), ints([1])], {}),
    "HardMax": ([f(4, 7)], {"axis": 1}),
    "Sort": ([f(5, 33)], {"axis": 0, "descending": True}),
    "SortWithIndex": ([f(5, 9), sample("any", (5, 9), I32)], {}),
    "TopKV2": ([f(3, 50), ints(7, I32)], {}),
    "CumsumD": ([f(4, 9)], {"axis": 1, "exclusive": True, "reverse": True}),
    "CumprodD": ([f(7)], {"axis": 0}),
    # by index
    "GatherV2": ([f(3, 5, 4), ints([4, 0, 2]), ints([1])], {}),
    "GatherElements": ([f(3, 5, 4), rng().integers(-3, 3, (2, 5, 3))], {"dim": 0}),
    "GatherNd": ([f(4, 5, 6), ints([[0, 1], [3, 4], [2, 2]])], {}),
    "ScatterElements": (
        [f(4, 5), rng().integers(-4, 4, (3, 4)), f(3, 4)],
        {"axis": 0, "reduction": "add"},
    ),
    "ScatterNdUpdate": ([f(4, 5, 3), ints([[0, 1], [3, 4]]), f(2, 3)], {}),
    "TensorScatterMax": ([f(6, 3), ints([[1], [1], [5]]), f(3, 3)], {}),
    "ScatterNd": ([ints([[1], [1], [4]]), f(3, 5), ints([6, 5])], {}),
    "IndexAdd": ([f(4, 6), ints([5, 0, 5]), f(4, 3)], {"axis": 1}),
    "IndexFill": ([f(4, 6), ints([-1, 2]), f(1)], {"dim": 1}),
    "OneHot": ([ints([3, 0, 9]), ints([5], I32), f(1), f(1, seed=1)], {}),
    # moves
    "PadV3": ([f(2, 7, 9), ints([0, 0, 2, 1, 3, 0])], {"mode": "reflect"}),
    "ReverseV2": ([f(3, 5), ints([1])], {}),
    "Roll": ([f(3, 5)], {"shifts": [2], "dims": [1]}),
    "DepthToSpace": ([f(1, 8, 3, 4)], {"block_size": 2, "data_format": "NCHW"}),
    "MatrixDiag": ([f(3, 5)], {}),
    "Tril": ([f(2, 5, 6)], {"diagonal": 1}),
    # images
    "ResizeBilinearV2": ([f(2, 3, 5, 7), ints([9, 4])], {"half_pixel_centers": True}),
    "ResizeNearestNeighborV2": ([f(2, 3, 5, 7, dtype=F16), ints([10, 14])], {}),
    # products
    "GEMM": ([f(4, 5), f(5, 3), f(4, 3), f(1), f(1)], {}),
    "FusedMatMul": ([f(4, 5), f(5, 3), None, f(4, 3)], {"fused_op_type": "add"}),
    "BatchMatMulV2": ([f(2, 1, 4, 5), f(3, 5, 6)], {}),
    "Einsum": ([[f(2, 4, 5), f(2, 5, 3)]], {"equation": "bij,bjk->ikb", "N": 2}),
    "MatMulV2": (
        [sample("any", (37, 50), I8), sample("any", (50, 9), I8), sample("any", (9,), I32)],
        {},
    ),
}  # fmt: skip


@pytest.mark.parametrize("op_type", CASES)
def test_cases(op_type):
    inputs, attrs = CASES[op_type]
    check_op(op_type, *inputs, **attrs)


@pytest.mark.parametrize("dtype", [F16, BF16])
@pytest.mark.parametrize("op_type", ["GroupNorm", "AddRmsNorm", "ReduceSum", "ScatterElements"])
def test_half_floats_are_rounded_once(op_type, dtype):
    inputs, attrs = CASES[op_type]
    halves = [a.astype(dtype) if a.dtype == F32 else a for a in inputs]
    check_op(op_type, *halves, **attrs)


RESIZES = [
    ("nearest", "asymmetric", (1, 3, 10, 14)),
    ("linear", "half_pixel", (1, 3, 9, 4)),
    ("cubic", "align_corners", (1, 3, 8, 11)),
]


@pytest.mark.parametrize(("mode", "coordinates", "sizes"), RESIZES)
def test_resizes(mode, coordinates, sizes):
    check_op(
        "Resize", f(1, 3, 5, 7), None, None, ints(sizes),
        mode=mode, coordinate_transformation_mode=coordinates,
    )  # fmt: skip


LAYERS = ["forward", "reverse", "bidirectional"]


@pytest.mark.parametrize("direction", LAYERS)
def test_gru_layers(direction):
    d, time, batch, size, hidden = (2 if direction == LAYERS[2] else 1), 4, 3, 5, 6
    w, r = f(d, 3 * hidden, size, seed=1), f(d, 3 * hidden, hidden, seed=2)
    lengths = ints([4, 1, 3], I32)
    report = check_op(
        "CommonGRU", f(time, batch, size), w / 3, r / 3, f(d, 6 * hidden, seed=3), lengths,
        f(d, batch, hidden, seed=4), direction=direction, hidden_size=hidden,
    )  # fmt: skip
    products = [k for k in report.kernels if "MatMul" in k.name]
    assert len(products) == d * (time + 1)


@pytest.mark.parametrize("direction", LAYERS)
def test_lstm_layers(direction):
    d, time, batch, size, hidden = (2 if direction == LAYERS[2] else 1), 3, 2, 5, 4
    w, r = f(d, 4 * hidden, size, seed=1), f(d, 4 * hidden, hidden, seed=2)
    check_op(
        "CommonLSTM", f(time, batch, size), w / 3, r / 3, f(d, 8 * hidden, seed=3),
        direction=direction, hidden_size=hidden,
    )  # fmt: skip


def test_dynamic_rnn():
    x, w = f(3, 2, 5), f(9, 16, seed=1)
    check_op("DynamicRNN", x, w / 3, f(16, seed=2), forget_bias=1.0)


CONVOLUTIONS = [
    # data format, x, filter, attributes: strides, pads, dilations in the format's order
    ("Conv2D", (2, 9, 7, 3), (4, 3, 3, 3), {"strides": [1, 2, 1, 1], "data_format": "NHWC"}),
    ("Conv2D", (1, 1, 1, 4410), (36, 1, 1, 256), {"strides": [1, 1, 1, 64]}),
    ("Conv3D", (1, 3, 5, 6, 7), (4, 3, 3, 2, 3), {"strides": [1] * 5, "data_format": "NCDHW"}),
]


@pytest.mark.parametrize("known", [(), ("filter",)])
@pytest.mark.parametrize(("op_type", "x", "w", "attrs"), CONVOLUTIONS)
def test_convolutions(op_type, x, w, attrs, known):
    attrs = {"data_format": "NCHW", "pads": [0] * (2 * len(x) - 4), **attrs}
    check_op(op_type, f(*x), f(*w, seed=1) / 4, known=known, **attrs)


TRANSPOSED = [
    {"strides": [1, 1, 2, 2], "pads": [0, 0, 0, 0]},
    {"strides": [1, 1, 2, 1], "pads": [1, 0, 1, 1], "output_padding": [0, 0, 1, 0]},
    {"strides": [1, 1, 1, 1], "pads": [1, 1, 0, 0], "dilations": [1, 1, 2, 1]},
]


@pytest.mark.parametrize("kernel", [(2, 2), (3, 3)])
@pytest.mark.parametrize("attrs", TRANSPOSED)
def test_transposed_convolutions(attrs, kernel):
    check_op(
        "Conv2DTranspose", ints([0, 0, 0, 0]), f(2, 4, 5, 3), f(4, 3, *kernel, seed=1), f(3),
        data_format="NCHW", **attrs,
    )  # fmt: skip


def test_convolutions_of_codes_are_exact():
    x, w = sample("any", (1, 4, 7, 6), I8), sample("any", (5, 4, 3, 3), I8)
    attrs = {"strides": [1, 1, 2, 1], "pads": [1, 1, 0, 0], "data_format": "NCHW"}
    check_op("Conv2D", x, w, sample("any", (5,), I32), **attrs)
    w = sample("any", (4, 3, 3, 3), I8)
    check_op("Deconvolution", x, w, sample("any", (3,), I32), strides=[2, 2])


REFUSED = [
    ("Sort", [sample("any", (4, 5), I32)], {}, "no lowering for a reduction of element type i32"),
    ("LpNormV2", [f(3, 5)], {"p": 3.0}, "no lowering for p = 3.0"),
    ("Einsum", [[f(4, 4)]], {"equation": "ii->i", "N": 1},
     "no lowering for labels that repeat or stand for any dimensions"),
    ("Add", [f(3, 4, dtype=np.float64)] * 2, {}, "no lowering for element type DT_DOUBLE"),
    ("Adds", [sample("any", (3,), I32)], {"value": 0.5}, "no lowering for element type i32"),
    ("ReduceVar", [f(1, 5)], {"dim": [0]}, "no lowering for a variance of one element"),
    ("ReduceSum", [f(0, 5), ints([0])], {}, "no lowering for a tensor without elements"),
    ("NonZero", [f(3, 5)], {}, "no lowering: the shape of the result is known only once the"),
    ("ScatterAdd", [sample("any", (4,), I64), ints([1]), ints([2])], {},
     "no lowering for a scatter of element type"),
]  # fmt: skip


@pytest.mark.parametrize(("op_type", "inputs", "attrs", "why"), REFUSED)
def test_what_stays_a_whole_tensor_call_says_why(op_type, inputs, attrs, why):
    check_op(op_type, *inputs, why=why, **attrs)


def codes(*shape):
    return sample("any", shape, I8)


def wholes(*shape):
    return sample("any", shape, I64)


RNN = [f(3, 2, 5), f(5, 16), f(4, 16)]
HEADS = {"num_heads": 2, "num_key_value_heads": 2, "input_layout": "BSH"}
DECLINED = [
    ("Adds", [f(3)], {"value": float("inf")}, "with a value that is not finite"),
    ("Muls", [wholes(3)], {"value": 0.5}, "for integers with a value that is none"),
    ("PadV3D", [f(3, 5)], {"paddings": [[1, 1], [1, 1]], "paddings_contiguous": False},
     "for paddings that are not contiguous"),
    ("LogitGrad", [f(3, kind="unit"), f(3)], {"eps": -1.0}, "with a negative eps"),
    ("AscendQuant", [f(3)], {"scale": 1.0, "offset": 0.0, "dst_type": 29},
     "for element type DT_INT4"),
    ("ScaledMaskedSoftmax", [f(2, 3, 5, 8)], {"fixed_triu_mask": True}, "with fixed_triu_mask"),
    ("ResizeBilinearV2", [f(1, 3, 5, 7), ints([9, 4])], {"scales": [2.0, 2.0]}, "with scales set"),
    ("CommonLSTM", [f(2, 3, 5), f(1, 16, 5), f(1, 16, 4)], {"hidden_size": 4, "clip": 1.0},
     "with clip or input_forget set"),
    ("DynamicRNN", [f(3, 2, 5), f(9, 16), f(16)], {"cell_clip": 1.0},
     "for both directions or with cell_clip set"),
    ("DynamicRNNV2", RNN, {"recurrent_activation": "hard_sigmoid"}, "for hard_sigmoid"),
    ("DynamicRNNV2", [*RNN, None, ints([1, 3], I32)], {},
     "for long sequences, and sequences of different lengths"),
    ("CommonGRU", [f(513, 1, 2), f(1, 6, 2), f(1, 6, 2)], {"hidden_size": 2},
     "for a sequence of 513 steps, expected at most 512"),
    ("DynamicGRUV2", [f(513, 1, 2), f(2, 6), f(2, 6)], {},
     "for a sequence of 513 steps, expected at most 512"),
    ("DynamicGRUV2", [f(3, 1, 2), f(2, 6), f(2, 6)], {"keep_prob": 0.5}, "with keep_prob set"),
    ("DynamicRNN", [f(3, 2, 5), f(9, 16), f(16)], {"num_proj": 2}, "with num_proj set"),
    ("CommonLSTM", [f(2, 3, 5), f(1, 16, 5), f(1, 16, 4)],
     {"hidden_size": 4, "activations": ["tanh"]}, "with activations set"),
    ("CumsumD", [wholes(3, 4)], {"axis": 0}, "for a scan of element type DT_INT64"),
    ("CumsumD", [f(3, 40000)], {"axis": 0}, "for a scan of columns that are too long"),
    ("TopKV2", [wholes(3, 50), ints(7, I32)], {}, "for a sort of element type DT_INT64"),
    ("FlashAttentionScore", [f(1, 4, 8)] * 3,
     {"head_num": 2, "input_layout": "BSH", "pse_type": 2},
     "for this layout, sparse_mode or pse_type"),
    ("IncreFlashAttention", [f(2, 1, 8), [f(1, 4, 8)] * 2, [f(1, 4, 8)] * 2], HEADS,
     "with keys in parts"),
    ("FusedInferAttentionScore", [f(1, 4, 8), [f(1, 4, 8)], [f(1, 4, 8)]],
     {**HEADS, "softmax_lse_flag": True}, "for packed layouts, and for softmax_lse_flag"),
]  # fmt: skip


@pytest.mark.parametrize(("op_type", "inputs", "attrs", "why"), DECLINED)
def test_what_no_expansion_is_for(op_type, inputs, attrs, why):
    op = make_with(op_type, inputs, SHAPING, (), attrs)
    with pytest.raises(NotExpandedError) as error:
        expanded(op, lambda op: "", 0)
    assert str(error.value) == f"no lowering {why}"


def test_every_expansion_is_of_an_op_that_is_known():
    for op_type in EXPANSIONS:
        assert op_class(op_type).has_evaluate(), op_type
