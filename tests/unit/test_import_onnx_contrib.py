"""Ops of `com.microsoft` and SimplifiedLayerNormalization against onnxruntime, on small inputs."""

import numpy as np
import onnxruntime
import pytest
from onnx import helper
from onnx_graphs import node, value

from ge_xdsl.dialects.ge.graph import main_function, verify
from ge_xdsl.errors import CompileError
from ge_xdsl.importers.onnx.reader import import_onnx_bytes
from ge_xdsl.importers.onnx.table import FAMILIES
from ge_xdsl.interpreters.ge import run_function

RNG = np.random.default_rng(3)


def f(*shape):
    return RNG.standard_normal(shape).astype(np.float32)


def u8(*shape):
    return RNG.integers(0, 255, shape).astype(np.uint8)


def i8(*shape):
    return RNG.integers(-128, 127, shape).astype(np.int8)


def s(number, dtype="float32"):
    return np.array(number, dtype)


def i32(values):
    return np.array(values, np.int32)


X, GAMMA, BETA = f(2, 3, 8), f(8), f(8)
Q8 = (u8(2, 3, 4), s(0.05), s(120, "uint8"))
ZERO = s(3, "uint8")
IMAGE = (u8(1, 4, 5, 6), s(0.1), s(100, "uint8"))
ROTARY = {"num_heads": 2}
POSITIONS = np.array([[0, 1, 2], [4, 5, 6]], np.int64)
CACHE = (np.cos(f(9, 2)), np.sin(f(9, 2)))
WIDE_CACHE = (np.cos(f(9, 4)), np.sin(f(9, 4)))
MASK = i32([[1, 1, 0], [1, 1, 1]])
PAST = f(2, 2, 2, 4, 4)
OLD = (f(2, 2, 4, 4), f(2, 2, 4, 4))

# op, inputs (None: left out), attributes, outputs, tolerance relative to the largest number
CASES = [
    ("Gelu", [X], {}, 1, 1e-5),
    ("BiasGelu", [X, GAMMA], {}, 1, 1e-5),
    ("FastGelu", [X, GAMMA], {}, 1, 1e-5),
    ("FastGelu", [X], {}, 1, 1e-5),
    ("QuickGelu", [X], {}, 1, 1e-5),
    ("QuickGelu", [X], {"alpha": 0.7}, 1, 1e-5),
    (":SimplifiedLayerNormalization", [X, GAMMA], {"epsilon": 1e-3}, 2, 1e-5),
    (":SimplifiedLayerNormalization", [X, f(3, 8)], {"axis": 1}, 1, 1e-5),
    ("SkipSimplifiedLayerNormalization", [X, X[::-1], GAMMA, BETA], {}, "y,,,t", 1e-5),
    ("SkipSimplifiedLayerNormalization", [X, X * 2, GAMMA], {"epsilon": 1e-2}, 1, 1e-5),
    ("SkipLayerNormalization", [X, X[::-1], GAMMA, BETA, GAMMA], {"epsilon": 1e-3}, "y,,,t", 1e-5),
    ("SkipLayerNormalization", [X, X[0], GAMMA], {}, 1, 1e-5),
    (
        "EmbedLayerNormalization",
        [
            i32([[1, 4, 0], [2, 2, 3]]),
            i32([[0, 1, 1], [0, 0, 1]]),
            f(5, 8),
            f(6, 8),
            f(2, 8),
            GAMMA,
            BETA,
            MASK,
        ],
        {"epsilon": 1e-5},
        2,
        1e-5,
    ),
    (
        "EmbedLayerNormalization",
        [
            i32([[1, 4, 0], [2, 2, 3]]),
            None,
            f(5, 8),
            f(6, 8),
            None,
            GAMMA,
            BETA,
            None,
            i32([[3, 2, 1], [0, 0, 0]]),
        ],
        {},
        "y,m,t",
        1e-5,
    ),
    ("Inverse", [f(2, 3, 3)], {}, 1, 1e-4),
    ("Trilu", [f(4, 4), s(1, "int64")], {"upper": 0}, 1, 0),
    ("GridSample", [f(1, 2, 4, 4), f(1, 3, 3, 2)], {"mode": "bilinear"}, 1, 1e-5),
    ("ExpandDims", [X, s(1, "int32")], {}, 1, 0),
    ("Range", [s(1.0), s(3.0), s(0.5)], {}, 1, 0),
    ("GatherND", [X, np.array([[0, 1], [1, 2]], np.int64)], {}, 1, 0),
    ("Pad", [f(2, 3), np.array([0, 1, 1, 0], np.int64), s(2.0)], {"mode": "constant"}, 1, 0),
    ("FusedMatMul", [f(2, 3, 4), f(2, 3, 5)], {"transA": 1, "alpha": 0.5}, 1, 1e-5),
    ("FusedMatMul", [f(2, 3, 4), f(2, 5, 4)], {"transB": 1}, 1, 1e-5),
    (
        "FusedMatMul",
        [f(3, 2, 4), f(3, 2, 5)],
        {"transBatchA": 1, "transBatchB": 1, "transA": 1},
        1,
        1e-5,
    ),
    ("TransposeMatMul", [f(3, 4), f(5, 4)], {"transB": 1, "alpha": 2.0}, 1, 1e-5),
    (
        "FusedGemm",
        [f(3, 4), f(4, 5), f(5)],
        {"activation": "LeakyRelu", "activation_alpha": 0.3, "beta": 0.5},
        1,
        1e-5,
    ),
    ("FusedGemm", [f(3, 4), f(5, 4)], {"activation": "Tanh", "transB": 1}, 1, 1e-5),
    (
        "FusedConv",
        [f(1, 2, 5, 5), f(3, 2, 3, 3), f(3)],
        {"activation": "Relu", "pads": [1, 1, 1, 1]},
        1,
        1e-5,
    ),
    (
        "FusedConv",
        [f(1, 2, 5, 5), f(3, 2, 3, 3), f(3), f(1, 3, 3, 3)],
        {"activation": "Clip", "activation_params": [-0.5, 0.75]},
        1,
        1e-5,
    ),
    (
        "FusedConv",
        [f(1, 2, 5, 5), f(3, 2, 3, 3)],
        {"activation": "HardSigmoid", "activation_params": [0.3, 0.4]},
        1,
        1e-5,
    ),
    (
        "MatMulNBits",
        [f(2, 3, 40), u8(6, 3, 8), np.abs(f(6, 3))],
        {"K": 40, "N": 6, "bits": 4, "block_size": 16},
        1,
        1e-4,
    ),
    (
        "MatMulNBits",
        [f(3, 32), u8(6, 2, 8), np.abs(f(6, 2)), u8(6, 1), None, f(6)],
        {"K": 32, "N": 6, "bits": 4, "block_size": 16},
        1,
        1e-4,
    ),
    (
        "MatMulNBits",
        [f(3, 32), u8(6, 2, 16), np.abs(f(6, 2)), u8(6, 2)],
        {"K": 32, "N": 6, "bits": 8, "block_size": 16},
        1,
        1e-4,
    ),
    (
        "DynamicQuantizeMatMul",
        [f(3, 4), i8(4, 5), s(0.02), s(3, "int8"), f(5)],
        {},
        1,
        1e-4,
    ),
    ("DynamicQuantizeMatMul", [f(3, 4), u8(4, 5), np.abs(f(5))], {}, 1, 1e-4),
    (
        "MatMulIntegerToFloat",
        [u8(3, 4), i8(4, 5), s(0.1), np.abs(f(5)), s(100, "uint8"), i8(5), f(5)],
        {},
        1,
        1e-4,
    ),
    (
        "QGemm",
        [u8(3, 4), s(0.1), s(100, "uint8"), i8(5, 4), np.abs(f(5)), i8(5), i32([1, 2, 3, 4, 5])],
        {"transB": 1, "alpha": 0.5},
        1,
        1e-4,
    ),
    (
        "QGemm",
        [
            u8(3, 4),
            s(0.1),
            s(100, "uint8"),
            u8(4, 5),
            s(0.05),
            s(7, "uint8"),
            None,
            s(2.5),
            s(9, "uint8"),
        ],
        {},
        1,
        1 / 255,
    ),
    ("QLinearAdd", [*Q8, *Q8, s(0.11), ZERO], {}, 1, 1 / 255),
    (
        "QLinearMul",
        [*Q8, i8(3, 4).view(np.uint8), s(0.1), s(1, "uint8"), s(0.7), ZERO],
        {},
        1,
        1 / 255,
    ),
    ("QLinearSigmoid", [*Q8, s(1 / 256), s(0, "uint8")], {}, 1, 1 / 255),
    ("QLinearLeakyRelu", [*Q8, s(0.05), ZERO], {"alpha": 0.2}, 1, 1 / 255),
    ("QLinearSoftmax", [*Q8, s(1 / 256), s(0, "uint8")], {"opset": 13, "axis": 2}, 1, 1 / 255),
    ("QLinearSoftmax", [*Q8, s(1 / 256), s(0, "uint8")], {"opset": 11, "axis": 1}, 1, 1 / 255),
    ("QLinearGlobalAveragePool", [*IMAGE, s(0.02), ZERO], {}, 1, 1 / 255),
    ("QLinearGlobalAveragePool", [*IMAGE, s(0.02), ZERO], {"channels_last": 1}, 1, 1 / 255),
    (
        "QLinearAveragePool",
        [*IMAGE, s(0.05), s(128, "uint8")],
        {"kernel_shape": [2, 2], "strides": [2, 1]},
        1,
        1 / 255,
    ),
    (
        "QLinearAveragePool",
        [*IMAGE, s(0.05), s(128, "uint8")],
        {"kernel_shape": [2, 2], "channels_last": 1},
        1,
        1 / 255,
    ),
    ("QLinearConcat", [s(0.06), ZERO, *Q8, *Q8], {"axis": 1}, 1, 1 / 255),
    (
        "QLinearWhere",
        [np.array([[True], [False], [True]]), *Q8, *Q8, s(0.06), ZERO],
        {},
        1,
        1 / 255,
    ),
    ("QuantizeLinear", [X, s(0.02), s(100, "uint8")], {}, 1, 0),
    ("DequantizeLinear", [u8(2, 3), s(0.02), s(100, "uint8")], {}, 1, 1e-6),
    ("RotaryEmbedding", [X, POSITIONS, *CACHE], {"num_heads": 2}, 1, 1e-5),
    ("RotaryEmbedding", [X, np.array([3], np.int64), *CACHE], {"interleaved": 1}, 1, 1e-5),
    ("RotaryEmbedding", [f(2, 2, 3, 8), POSITIONS, *WIDE_CACHE], {}, 1, 1e-5),
    (
        "RotaryEmbedding",
        [f(2, 2, 3, 8), POSITIONS, *CACHE],
        {"rotary_embedding_dim": 4, "num_heads": 2},
        1,
        1e-5,
    ),
    ("Attention", [X, f(8, 24), f(24)], {"num_heads": 2}, 1, 1e-5),
    ("Attention", [X, f(8, 24), f(24), MASK], {"num_heads": 2}, 1, 1e-4),
    ("Attention", [X, f(8, 24), f(24), i32([2, 3])], {"num_heads": 2}, 1, 1e-4),
    ("Attention", [X, f(8, 24), f(24), i32([3, 3, 1, 0])], {"num_heads": 2}, 1, 1e-4),
    (
        "Attention",
        [X, f(8, 24), f(24), i32(np.tril(np.ones((2, 3, 3))))],
        {"num_heads": 2, "scale": 0.3},
        1,
        1e-4,
    ),
    ("Attention", [X, f(8, 24), f(24)], {"num_heads": 2, "unidirectional": 1}, 1, 1e-5),
    ("Attention", [X, f(8, 24), f(24), None, PAST], {"num_heads": 2, "unidirectional": 1}, 2, 1e-5),
    ("Attention", [X, f(8, 24), f(24), None, None, f(2, 2, 3, 3)], {"num_heads": 2}, 1, 1e-5),
    (
        "Attention",
        [X, f(8, 20), f(20)],
        {"num_heads": 2, "qkv_hidden_sizes": [8, 8, 4]},
        1,
        1e-5,
    ),
    (
        "QAttention",
        [u8(2, 3, 8), i8(8, 24), f(24), s(0.02), s(0.01), MASK, s(120, "uint8"), s(2, "int8")],
        {"num_heads": 2},
        1,
        1e-4,
    ),
    ("MultiHeadAttention", [X, f(2, 5, 8), f(2, 5, 8)], {"num_heads": 2}, 1, 1e-5),
    ("MultiHeadAttention", [X, X, X, f(24)], {"num_heads": 2, "scale": 0.2}, 1, 1e-5),
    ("MultiHeadAttention", [X, X, X, None, MASK], {"num_heads": 2}, 1, 1e-4),
    ("MultiHeadAttention", [X, X, X, None, None, f(1, 2, 3, 3)], {"num_heads": 2}, 1, 1e-5),
    ("MultiHeadAttention", [X, X, X, None, None, None, *OLD], {"num_heads": 2}, 3, 1e-5),
    ("MultiHeadAttention", [X, f(2, 2, 5, 4), f(2, 2, 5, 4)], {"num_heads": 2}, 1, 1e-5),
    ("MultiHeadAttention", [X, X, X], {"num_heads": 2, "unidirectional": 1}, 1, 1e-5),
]

GROUPED = {"num_heads": 4, "kv_num_heads": 2}


def grouped(length, past, ends, packed=False, **attrs):
    """Inputs of GroupQueryAttention: heads of 16 elements, a batch of len(ends)."""
    batch = len(ends)
    cache = [f(batch, 2, past, 16), f(batch, 2, past, 16)]
    parts = [f(batch, length, 128), None, None]
    if not packed:
        parts = [f(batch, length, 64), f(batch, length, 32), f(batch, length, 32)]
    total = s(max(ends) + 1, "int32")
    rotary = [*(np.cos(f(20, 8)), np.sin(f(20, 8)))] if attrs.get("do_rotary") else []
    return (
        "GroupQueryAttention", [*parts, *cache, i32(ends), total, *rotary],
        {**GROUPED, **attrs}, 3, 1e-5,
    )  # fmt: skip


CASES += [
    grouped(3, 0, [2, 2]),
    grouped(1, 4, [4, 4]),
    grouped(1, 4, [4, 4], do_rotary=1),
    grouped(3, 0, [2], packed=True, do_rotary=1, rotary_interleaved=1),
    grouped(1, 5, [5, 5], packed=True, local_window_size=3),
    grouped(4, 0, [3, 3], local_window_size=2, scale=0.3),
]
NAMES = [f"{op.strip(':')}-{k}" for k, (op, *_) in enumerate(CASES)]


def made_of(op, arrays, attrs, outputs):
    names = [f"i{k}" if array is not None else "" for k, array in enumerate(arrays)]
    wanted = outputs.split(",") if isinstance(outputs, str) else [f"o{k}" for k in range(outputs)]
    domain = "" if op[0] == ":" else "com.microsoft"
    one = node(op.strip(":"), names, wanted, "n", domain=domain, **attrs)
    given = {name: array for name, array in zip(names, arrays, strict=True) if name}
    graph = helper.make_graph(
        [one], "g", [value(name, array) for name, array in given.items()],
        [helper.make_empty_tensor_value_info(name) for name in wanted if name],
    )  # fmt: skip
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8), given


@pytest.mark.parametrize(("op", "arrays", "attrs", "outputs", "tolerance"), CASES, ids=NAMES)
def test_as_onnxruntime(op, arrays, attrs, outputs, tolerance):
    made, given = made_of(op, arrays, attrs, outputs)
    data = made.SerializeToString()
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"])
    expected = session.run(None, given)
    module = import_onnx_bytes(data)
    verify(module)
    found = run_function(main_function(module), given)
    for ours, theirs in zip(found, expected, strict=True):
        assert (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape)
        scale = np.abs(theirs.astype(np.float64)).max(initial=1e-30)
        error = np.abs(ours.astype(np.float64) - theirs.astype(np.float64)).max(initial=0)
        assert error <= tolerance * max(scale, 1.0 if theirs.dtype.kind == "f" else 255), error


UNTESTED = {
    "BiasAdd": "no kernel on the CPU",
    "ComplexMul": "no kernel on the CPU",
    "ComplexMulConj": "no kernel on the CPU",
    "FusedMatMulActivation": "no kernel on the CPU",
    "LayerNormalization": "no kernel of its own on the CPU",
    "QLinearReduceMean": "no kernel on the CPU",
}


def test_every_contrib_op_is_compared():
    tested = {op.strip(":") for op, *_ in CASES}
    known = {
        name.rpartition("::")[2]
        for family, names in FAMILIES.items()
        if family.startswith("contrib")
        for name in names.split()
    }
    assert tested.isdisjoint(UNTESTED)
    assert tested | set(UNTESTED) == known


PLAIN = [
    ("BiasAdd", [X, GAMMA, X * 2], {}, lambda x, b, t: x + b + t),
    ("ComplexMul", [f(3, 2), f(3, 2)], {}, lambda a, b: pairs(complexes(a) * complexes(b))),
    (
        "ComplexMulConj", [f(3, 2), f(3, 2)], {},
        lambda a, b: pairs(complexes(a) * complexes(b).conj()),
    ),
    (
        "FusedMatMulActivation", [f(3, 4), f(4, 5)], {"activation": "Relu", "alpha": 2.0},
        lambda a, b: np.maximum(2 * (a @ b), 0),
    ),
    ("LayerNormalization", [X, GAMMA, BETA], {}, lambda x, g, b: normal(x) * g + b),
    (
        "QLinearReduceMean", [*Q8, s(0.05), ZERO], {"axes": [2], "keepdims": 0},
        lambda x, xs, xz, ys, yz: np.clip(
            np.round((x.astype(np.float64) - xz).mean(2) * xs / ys) + yz, 0, 255
        ).astype(np.uint8),
    ),
]  # fmt: skip


def complexes(array):
    return array[..., 0] + 1j * array[..., 1]


def pairs(array):
    return np.stack([array.real, array.imag], -1).astype(np.float32)


def normal(x):
    mean = x.mean(-1, keepdims=True)
    return (x - mean) / np.sqrt(((x - mean) ** 2).mean(-1, keepdims=True) + 1e-5)


@pytest.mark.parametrize(("op", "arrays", "attrs", "formula"), PLAIN, ids=[c[0] for c in PLAIN])
def test_by_formula(op, arrays, attrs, formula):
    made, given = made_of(op, arrays, attrs, 1)
    module = import_onnx_bytes(made.SerializeToString())
    verify(module)
    [found] = run_function(main_function(module), given)
    expected = formula(*arrays)
    assert found.dtype == expected.dtype
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


REFUSED = [
    ("FusedGemm", [f(3, 4), f(4, 5)], {"activation": "Selu"}, "attribute 'activation' is 'Selu'"),
    (
        "MatMulNBits", [f(3, 32), u8(6, 2, 8), f(6, 2)],
        {"K": 32, "N": 6, "bits": 3, "block_size": 16}, "has 3 bits in blocks of 16, expected 2, 4",
    ),
    (
        "MatMulNBits", [f(3, 32), u8(6, 2, 8), f(6, 2), None, i32(np.zeros(32))],
        {"K": 32, "N": 6, "block_size": 16}, "has g_idx, expected blocks in order",
    ),
    ("QLinearConcat", [s(0.1), ZERO, *Q8, Q8[0]], {"axis": 0}, "has 6 inputs, expected 2 and 3"),
    (
        "QLinearAdd", [*Q8, Q8[0], None, None, s(0.1)], {}, "an operand or a scale is missing",
    ),
    ("Attention", [X, f(8, 24), f(24)], {"num_heads": 5}, "and 5 heads, expected parts of 24"),
    ("Attention", [X, f(8, 24), f(24)], {"num_heads": 2, "do_rotary": 1}, "'do_rotary' is 1"),
    ("MultiHeadAttention", [f(2, 3, 2, 3, 4)], {"num_heads": 2}, "are packed, expected three"),
    (
        "MultiHeadAttention", [X, X, X, None, None, None, *OLD, i32([4])], {"num_heads": 2},
        "has a shared buffer for the past, expected none",
    ),
    (
        "MultiHeadAttention", [X, f(2, 2, 5, 4), f(2, 2, 5, 4), f(24)], {"num_heads": 2},
        "has a bias and keys of rank 4, expected rank 3",
    ),
    (
        "RotaryEmbedding", [X, POSITIONS, *CACHE], {"rotary_embedding_dim": 4},
        "has rotary_embedding_dim and no num_heads, expected both",
    ),
    (*grouped(1, 4, [4])[:2], {"num_heads": 4, "kv_num_heads": 3}, "4 heads and 3 key heads"),
    (*grouped(1, 4, [4])[:2], {**GROUPED, "softcap": 2.0}, "has attribute 'softcap', expected"),
    (
        *grouped(1, 4, [4])[:2], {**GROUPED, "k_quant_type": "PER_TENSOR"},
        "attribute 'k_quant_type' is 'PER_TENSOR', expected 'NONE'",
    ),
    (*grouped(1, 4, [4])[:2], {**GROUPED, "do_rotary": 1}, "has do_rotary and no cos_cache"),
    (
        "GroupQueryAttention", [*grouped(1, 4, [4])[1], None, None, i32([[1]])], GROUPED,
        "input 9 is given, expected none but attention_bias after sin_cache",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("op", "arrays", "attrs", "text"), REFUSED, ids=[c[3] for c in REFUSED])
def test_refused(op, arrays, attrs, text):
    made, _ = made_of(op, arrays, attrs, 1)
    with pytest.raises(CompileError) as error:
        import_onnx_bytes(made.SerializeToString())
    assert f"{op} 'n': " in str(error.value)
    assert text in str(error.value)


DYNAMIC = [
    "SkipLayerNormalization-10", "EmbedLayerNormalization-12", "Attention-56", "Attention-62",
    "MultiHeadAttention-67", "MultiHeadAttention-70", "RotaryEmbedding-52",
    "GroupQueryAttention-75", "FusedMatMul-21", "DynamicQuantizeMatMul-34",
]  # fmt: skip


@pytest.mark.parametrize("name", DYNAMIC)
def test_with_unknown_lengths(name):
    """Batch and sequence are symbolic: the same numbers."""
    op, arrays, attrs, outputs, _ = CASES[NAMES.index(name)]
    made, given = made_of(op, arrays, attrs, outputs)
    fixed = run_function(main_function(import_onnx_bytes(made.SerializeToString())), given)
    for info in made.graph.input:
        dims = info.type.tensor_type.shape.dim
        if len(dims) > 2:
            for place in {0, len(dims) - 2}:
                dims[place].dim_param = f"{info.name}_{place}"
    module = import_onnx_bytes(made.SerializeToString())
    verify(module)
    for ours, theirs in zip(run_function(main_function(module), given), fixed, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-5)
