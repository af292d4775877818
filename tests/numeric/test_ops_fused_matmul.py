"""Later, fused, quantised and grouped matrix products: formulas in f64 against `evaluate`."""

import numpy as np
import pytest
from op_runs import run
from op_witness import BF16, F16, F32, F64, I8, I32, I64, assert_close, sample

FLOATS = (F32, F16, BF16)


def wide(*arrays):
    return [a.astype(F64) for a in arrays]


def check(found, expected, dtype, scale=16):
    assert_close(found, np.asarray(expected).astype(dtype), scale=scale)


def gelu(x):
    from math import erf

    return x / 2 * (1 + np.vectorize(erf, otypes=[F64])(x / np.sqrt(2)))


def gelu_tanh(x):
    return x / 2 * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("swap", [(False, False), (True, False), (False, True), (True, True)])
@pytest.mark.parametrize("with_bias", [False, True])
def test_matmul_v3(with_bias, swap, dtype):
    a, b = (sample("any", s, dtype, i) for i, s in enumerate([(3, 4), (4, 5)]))
    bias = sample("any", (5,), dtype, 2) if with_bias else None
    want = a.astype(F64) @ b.astype(F64) + (bias.astype(F64) if with_bias else 0)
    x1, x2 = a.T if swap[0] else a, b.T if swap[1] else b
    found = run("MatMulV3", x1, x2, bias, transpose_x1=swap[0], transpose_x2=swap[1])[0]
    check(found, want, dtype)
    found = run("BatchMatMulV3", x1, x2, bias, adj_x1=swap[0], adj_x2=swap[1])[0]
    check(found, want, dtype)
    found = run("FusedMatMul", x1, x2, bias, transpose_x1=swap[0], transpose_x2=swap[1])[0]
    check(found, want, dtype)


def test_matmul_v3_lengthens_a_stack():
    a, b = sample("any", (2, 3, 4), F32), sample("any", (4, 5), F32, 1)
    check(run("MatMulV3", a, b)[0], (a.astype(F64) @ b).reshape(6, 5), F32)


def test_batch_matmul_v3_broadcasts():
    a, b = sample("any", (2, 1, 3, 4), F32), sample("any", (5, 4, 6), F32, 1)
    bias = sample("any", (6,), F32, 2)
    check(run("BatchMatMulV3", a, b, bias)[0], a.astype(F64) @ b + bias, F32)


FUSED = {
    "add": lambda y, x3: y + x3,
    "mul": lambda y, x3: y * x3,
    "relu": lambda y, _: np.maximum(y, 0),
    "gelu_erf": lambda y, _: gelu(y),
    "gelu_tanh": lambda y, _: gelu_tanh(y),
}


@pytest.mark.parametrize("kind", FUSED)
def test_fused_matmul(kind):
    a, b, c = (sample("any", s, F32, i) for i, s in enumerate([(3, 4), (4, 5), (3, 5)]))
    x3 = c if kind in ("add", "mul") else None
    found = run("FusedMatMul", a, b, None, x3, fused_op_type=kind)[0]
    check(found, FUSED[kind](a.astype(F64) @ b, c), F32)


def test_fused_matmul_to_f32():
    a, b = sample("any", (3, 4), F16), sample("any", (4, 5), F16, 1)
    found = run("FusedMatMul", a, b, fused_op_type="16cast32")[0]
    check(found, a.astype(F64) @ b.astype(F64), F32)


@pytest.mark.parametrize("dtype", FLOATS)
def test_transpose_batch_matmul(dtype):
    a, b, bias = (sample("any", s, dtype, i) for i, s in enumerate([(3, 2, 4), (2, 4, 5), (5,)]))
    perms = {"perm_x1": (1, 0, 2), "perm_x2": (0, 1, 2), "perm_y": (1, 0, 2)}
    found = run("TransposeBatchMatMul", a, b, bias, **perms)[0]
    want = a.astype(F64).transpose(1, 0, 2) @ b.astype(F64) + bias.astype(F64)
    check(found, want.transpose(1, 0, 2), dtype)
    assert run("TransposeBatchMatMul", a.transpose(1, 0, 2), b)[0].shape == (2, 3, 5)


@pytest.mark.parametrize("transpose", [False, True])
@pytest.mark.parametrize(
    ("shape", "axis", "width", "out"),
    [
        ((2, 3, 4), 1, 12, (2, 5)),
        ((2, 3, 4), 2, 4, (2, 3, 5)),
        ((1, 3, 2, 2), 1, 12, (1, 5, 1, 1)),
        ((2, 3, 4), -1, 4, (2, 3, 5)),
    ],
)
def test_fully_connection(shape, axis, width, out, transpose):
    x, w, b = (sample("any", s, F32, i) for i, s in enumerate([shape, (5, width), (5,)]))
    given = w.T if transpose else w
    found = run("FullyConnection", x, given, b, num_output=5, axis=axis, transpose=transpose)[0]
    check(found, (x.reshape(-1, width).astype(F64) @ w.T + b).reshape(out), F32)


# Quantised operands


def codes(shape, seed):
    return np.random.default_rng(seed).integers(-128, 128, shape).astype(I8)


def cut(scale):
    return (scale.view(np.uint32) & np.uint32(0xFFFFE000)).view(F32)


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("bias", [None, I32, F32])
@pytest.mark.parametrize("pertoken", [False, True])
def test_quant_batch_matmul_v3(pertoken, bias, packed):
    a, b = codes((2, 3, 40), 1), codes((40, 5), 2)
    scale = sample("positive", (5,), F32, 3) / 100
    given = scale.view(np.uint32).astype(np.uint64) if packed else scale
    extra = None if bias is None else (sample("any", (5,), F32, 4) * 100).astype(bias)
    rows = sample("positive", (3,), F32, 5) if pertoken else None
    total = a.astype(F64) @ b.astype(F64) + (extra if bias is I32 else 0)
    want = total * (cut(scale) if packed else scale) * (rows[:, None] if pertoken else 1)
    want = want + (extra if bias is F32 else 0)
    found = run("QuantBatchMatmulV3", a, b, given, None, extra, rows, dtype=0)[0]
    check(found, want, F32)
    found = run("QuantBatchMatmulV3", a, b, given, None, extra, rows, dtype=27)[0]
    check(found, want, BF16, scale=1)


def test_quant_batch_matmul_v3_to_integers():
    a, b = codes((3, 40), 1), codes((5, 40), 2)
    scale, offset = np.array([0.003], F32), np.array([3.4], F32)
    total = a.astype(I64) @ b.astype(I64).T
    attrs = {"transpose_x2": True}
    found = run("QuantBatchMatmulV3", a, b, scale, dtype=3, **attrs)[0]
    assert_close(found, total.astype(I32))
    found = run("QuantBatchMatmulV3", a, b, scale, offset, dtype=2, **attrs)[0]
    nine = np.clip(np.rint(total.astype(F32) * cut(scale)), -256, 255) + 3
    assert_close(found, np.clip(nine, -128, 127).astype(I8))


def test_a_single_scale_keeps_19_bits():
    a, b = np.full((1, 1), 100, I8), np.full((1, 1), 100, I8)
    scale = np.array([0.1], F32)
    found = run("QuantBatchMatmulV3", a, b, scale, dtype=0)[0]
    assert_close(found, (F32(10000) * cut(scale)).reshape(1, 1))
    bias = np.zeros(1, F32)
    found = run("QuantBatchMatmulV3", a, b, scale, None, bias, dtype=0)[0]
    assert_close(found, (F32(10000) * scale).reshape(1, 1))


def test_quant_batch_matmul_v3_of_small_floats():
    import ml_dtypes

    a, b = (sample("any", (4, 4), F32, i).astype(ml_dtypes.float8_e4m3fn) for i in (1, 2))
    scale = np.array([2, 3, 4, 5], F32)
    found = run("QuantBatchMatmulV3", a, b, scale, dtype=0)[0]
    check(found, a.astype(F64) @ b.astype(F64) * scale, F32)


@pytest.mark.parametrize("swap", [False, True])
@pytest.mark.parametrize("form", ["one", "column", "group"])
@pytest.mark.parametrize("dtype", [F16, BF16])
def test_weight_quant_batch_matmul_v2(dtype, form, swap):
    x, w = sample("any", (3, 70), dtype), codes((70, 5), 2)
    shape = {"one": (1,), "column": (1, 5), "group": (3, 5)}[form]
    scale, offset = (sample("positive", shape, dtype, i) for i in (3, 4))
    bias = sample("any", (5,), F32, 5)
    group = 32 if form == "group" else 0

    def rows(values):
        full = np.repeat(values, 32, axis=0)[:70] if group else values
        return full.astype(F32)

    wide_w = (w.astype(F32) + rows(offset)).astype(dtype).astype(F32)
    wide_w = (wide_w * rows(scale)).astype(dtype)
    want = x.astype(F64) @ wide_w.astype(F64) + bias
    given = [a.T if swap and a.ndim > 1 else a for a in (w, scale, offset)]
    attrs = {"antiquant_group_size": group, "transpose_weight": swap}
    found = run("WeightQuantBatchMatmulV2", x, *given, None, None, bias, **attrs)[0]
    check(found, want, dtype, scale=2)
    quant, shift = np.array([0.05], F32), np.array([2.0], F32)
    found = run("WeightQuantBatchMatmulV2", x, *given, quant, shift, bias, **attrs)[0]
    exact = np.clip(np.rint(want * 0.05 + 2), -128, 127)
    assert np.abs(found.astype(F64) - exact).max() <= 1
    assert found.dtype == I8


# Groups


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("swap", [False, True])
@pytest.mark.parametrize("with_bias", [False, True])
def test_grouped_matmul(with_bias, swap, dtype):
    sizes = [2, 0, 3]
    x = [sample("any", (n, 4), dtype, i) for i, n in enumerate(sizes)]
    w = [sample("any", (4, 5), dtype, i + 5) for i in range(3)]
    bias = [sample("any", (5,), dtype, i + 9) for i in range(3)] if with_bias else []
    want = [
        a.astype(F64) @ b.astype(F64) + (bias[i].astype(F64) if bias else 0)
        for i, (a, b) in enumerate(zip(x, w, strict=True))
    ]
    given = [a.T for a in w] if swap else w
    none = [[]] * 4
    attrs = {"transpose_weight": swap}
    found = run("GroupedMatmul", x, given, bias, *none, None, counts=[3], **attrs)
    for have, wanted in zip(found, want, strict=True):
        check(have, wanted, dtype)
    attrs |= {"split_item": 3, "group_type": 0}
    found = run("GroupedMatmul", x, given, bias, *none, None, counts=[1], **attrs)[0]
    check(found, np.concatenate(want), dtype)
    rows = np.concatenate([*x, np.ones((2, 4), dtype)])
    ends = np.array([2, 2, 5], I64)
    stacked = [np.stack(given)], [np.stack(bias)] if bias else []
    padded = np.concatenate([*want, np.zeros((2, 5))])
    for matrices, biases in (stacked, (given, bias)):
        found = run("GroupedMatmul", [rows], matrices, biases, *none, ends, counts=[1], **attrs)[0]
        check(found, padded, dtype)


def test_grouped_matmul_splits_the_inner_dimension():
    x, w = sample("any", (6, 3), F32), sample("any", (6, 5), F32, 1)
    attrs = {"split_item": 2, "group_type": 2, "transpose_x": True}
    ends = np.array([2, 6], I64)
    found = run("GroupedMatmul", [x], [w], [], [], [], [], [], ends, counts=[1], **attrs)[0]
    check(found, [x[s].T.astype(F64) @ w[s] for s in (slice(2), slice(2, 6))], F32)


def test_grouped_matmul_refuses_values():
    x, w, one = np.ones((4, 2), F32), np.ones((2, 2, 3), F32), np.ones(3, F32)
    attrs = {"split_item": 3, "group_type": 0, "counts": [1]}
    for ends, text in (
        ([3, 2], r"group ends are \[3, 2\], expected rising ones up to 4"),
        ([2, 5], r"group ends are \[2, 5\], expected rising ones up to 4"),
        ([2, 3, 4], "3 groups of rows, expected 2"),
    ):
        with pytest.raises(ValueError, match=text):
            run("GroupedMatmul", [x], [w], [], [], [], [], [], np.array(ends, I64), **attrs)
    ends = np.array([2, 4], I64)
    with pytest.raises(ValueError, match="scale is missing, expected it for DT_INT8 operands"):
        run("GroupedMatmul", [x.astype(I8)], [w.astype(I8)], *[[]] * 5, ends, **attrs)
    attrs |= {"group_type": 2, "transpose_x": True}
    with pytest.raises(ValueError, match="bias or a scale is given, expected none when group_l"):
        run("GroupedMatmul", [x], [x], [one], *[[]] * 4, ends, **attrs)


GROUP_LISTS = {0: [2, 2, 5], 1: [2, 0, 3], 2: [[0, 2], [1, 0], [2, 3]]}


@pytest.mark.parametrize("kind", GROUP_LISTS)
def test_grouped_matmul_group_lists(kind):
    x, w = sample("any", (6, 4), F32), sample("any", (3, 4, 5), F32, 1)
    attrs = {"split_item": 3, "group_type": 0, "group_list_type": kind}
    listed = np.array(GROUP_LISTS[kind], I64)
    found = run("GroupedMatmul", [x], [w], *[[]] * 5, listed, counts=[1], **attrs)[0]
    wanted = [x[:2].astype(F64) @ w[0], x[2:5].astype(F64) @ w[2], np.zeros((1, 5))]
    check(found, np.concatenate(wanted), F32)


def test_grouped_matmul_table_names_the_groups():
    x, w = sample("any", (5, 4), F32), sample("any", (4, 4, 5), F32, 1)
    attrs = {"split_item": 3, "group_type": 0, "group_list_type": 2}
    listed = np.array([[3, 2], [1, 3]], I64)
    found = run("GroupedMatmul", [x], [w], *[[]] * 5, listed, counts=[1], **attrs)[0]
    check(found, np.concatenate([x[:2].astype(F64) @ w[3], x[2:].astype(F64) @ w[1]]), F32)


def expected_codes(dtype, exact):
    return np.clip(np.rint(exact), -128, 127) if dtype == -1 else exact


@pytest.mark.parametrize("dtype", [-1, 0, 1, 3])
@pytest.mark.parametrize("per_token", [False, True])
def test_grouped_matmul_of_codes(per_token, dtype):
    x, w = codes((5, 4), 1), codes((2, 4, 3), 2)
    bias = sample("any", (2, 3), I32, 3)
    scale = np.array([[0.25, 0.5, 0.125], [0.5, 1.0, 0.75]], F32)
    token = np.array([1.0, 0.5, 2.0, 0.25, 1.5], F32) if per_token else None
    offset = np.full((2, 3), 1.0, F32)
    attrs = {"split_item": 3, "group_type": 0, "dtype": dtype, "counts": [1]}
    operands = [bias], [scale], [offset], [], [], np.array([2, 5], I64), token
    found = run("GroupedMatmul", [x], [w], *operands, **attrs)[0]
    rows = []
    for i in range(5):
        e = int(i >= 2)
        y = (x[i].astype(F64) @ w[e] + bias[e]) * scale[e] * (token[i] if per_token else 1) + 1
        rows.append(expected_codes(dtype, y))
    kinds = {-1: I8, 0: F16, 1: BF16, 3: F32}
    check(found, np.array(rows), kinds[dtype])
    sums = run("GroupedMatmul", [x], [w], *[[]] * 5, operands[5], **attrs | {"dtype": 2})[0]
    np.testing.assert_array_equal(sums[:2], x[:2].astype(I32) @ w[0].astype(I32))


def test_grouped_matmul_of_coded_weights_and_activations():
    x, w = sample("any", (4, 4), F16), codes((2, 4, 3), 2)
    scale, offset = sample("any", (2, 3), F16, 3), sample("any", (2, 3), F16, 4)
    ends = np.array([1, 4], I64)
    attrs = {"split_item": 3, "group_type": 0, "counts": [1]}
    operands = [], [], [], [scale], [offset], ends
    exact = np.concatenate(
        [
            x[s].astype(F64) @ ((w[e] + offset[e].astype(F64)) * scale[e].astype(F64))
            for e, s in enumerate([slice(1), slice(1, 4)])
        ]
    )
    for act, function in {0: lambda y: y, 1: "relu", 2: "gelu", 4: "fastgelu", 5: "silu"}.items():
        found = run("GroupedMatmul", [x], [w], *operands, act_type=act, **attrs)[0]
        wanted = ACTIVATIONS[function](exact) if act else exact
        check(found, wanted, F16)


ACTIVATIONS = {
    "relu": lambda x: np.maximum(x, 0),
    "silu": lambda x: x / (1 + np.exp(-x)),
    "fastgelu": lambda x: x / (1 + np.exp(-1.702 * x)),
    "gelu": gelu_tanh,
}


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("dtype", FLOATS)
def test_ffn(dtype, activation):
    shapes = [(2, 3, 4), (4, 8), (8, 4), (8,), (4,)]
    x, w1, w2, b1, b2 = (sample("any", s, dtype, i) for i, s in enumerate(shapes))
    ex, e1, e2, c1, c2 = wide(x, w1, w2, b1, b2)
    want = ACTIVATIONS[activation](ex @ e1 + c1) @ e2 + c2
    found = run("FFN", x, w1, w2, None, b1, b2, activation=activation)[0]
    check(found, want, dtype)


@pytest.mark.parametrize("ends", [False, True])
def test_ffn_of_experts(ends):
    x = sample("any", (7, 4), F32)
    w1, w2 = sample("any", (2, 4, 8), F32, 1), sample("any", (2, 8, 4), F32, 2)
    tokens = np.array([2, 5] if ends else [2, 3], I64)
    found = run("FFN", x, w1, w2, tokens, activation="relu", tokens_index_flag=ends)[0]
    parts = [np.maximum(x[s] @ w1[e], 0) @ w2[e] for e, s in enumerate([slice(2), slice(2, 5)])]
    check(found, np.concatenate([*parts, np.zeros((2, 4))]), F32)


def test_ffn_of_codes():
    x, w1, w2 = codes((3, 4), 1), codes((4, 8), 2), codes((8, 4), 3)
    b1, b2 = sample("any", (8,), I32, 4), sample("any", (4,), I32, 5)
    d1, d2 = (np.full(n, 0.002, F32) for n in (8, 4))
    packed = [a.view(np.uint32).astype(np.uint64) for a in (d1, d2)]
    scale, offset = np.array([2.0], F32), np.array([1.0], F32)
    found = run("FFN", x, w1, w2, None, b1, b2, scale, offset, *packed, activation="relu")[0]
    hidden = np.maximum((x.astype(F64) @ w1 + b1) * cut(d1), 0) * 2 + 1
    hidden = np.clip(np.rint(hidden), -128, 127)
    check(found, (hidden @ w2 + b2) * cut(d2), F16, scale=2)


def test_ffn_of_quantised_weights():
    x, w1, w2 = sample("any", (3, 4), F32), codes((4, 8), 2), codes((8, 4), 3)
    s1, s2 = (sample("positive", s, F32, 4) / 99 for s in ((8,), (4,)))
    o1, o2 = sample("any", (8,), F32, 5), sample("any", (4,), F32, 6)
    given = [None] * 7 + [s1, s2, o1, o2]
    found = run("FFN", x, w1, w2, *given, activation="relu")[0]
    hidden = np.maximum(x.astype(F64) @ ((w1 + o1) * s1), 0)
    check(found, hidden @ ((w2 + o2) * s2), F32, scale=64)


def test_ffn_refuses_values():
    x, w1, w2 = np.ones((3, 4), F32), np.ones((4, 8), F32), np.ones((8, 4), F32)
    why = "activation is 'swiglu', expected fastgelu, gelu, relu or silu"
    with pytest.raises(ValueError, match=why):
        run("FFN", x, w1, w2, activation="swiglu")
    x, w1, w2 = (a.astype(I8) for a in (x, w1, w2))
    with pytest.raises(ValueError, match="scale or a deq_scale is missing, expected all"):
        run("FFN", x, w1, w2, activation="relu")
