"""Activations and softmax: onnxruntime or a formula against `evaluate`."""

import math

import numpy as np
import pytest
from op_witness import BF16, F16, F32, F64, I8, I32, assert_close, run_ge, run_onnx, sample

SHAPES = [(), (3,), (0, 2), (2, 3, 4)]
FLOATS = (F32, F16, BF16)

ACTIVATIONS = [
    ("Relu", {}, "Relu", {}, (*FLOATS, F64, I8, I32)),
    ("LeakyRelu", {"negative_slope": 0.1}, "LeakyRelu", {"alpha": 0.1}, FLOATS),
    ("LeakyRelu", {}, "Relu", {}, FLOATS),
    ("Elu", {"alpha": 0.7}, "Elu", {"alpha": 0.7}, FLOATS),
    ("Celu", {"alpha1": 2.0, "alpha2": 2.0}, "Celu", {"alpha": 2.0}, (F32, F16)),
    ("Selu", {}, "Selu", {}, FLOATS),
    ("HardSigmoid", {"alpha": 0.2}, "HardSigmoid", {}, FLOATS),
    ("HardSwish", {}, "HardSwish", {}, FLOATS),
    ("Sigmoid", {}, "Sigmoid", {}, (*FLOATS, F64)),
    ("Tanh", {}, "Tanh", {}, (*FLOATS, F64)),
    ("Softplus", {}, "Softplus", {}, FLOATS),
    ("Softsign", {}, "Softsign", {}, FLOATS),
    ("Mish", {}, "Mish", {}, FLOATS),
    ("Gelu", {}, "Gelu", {"approximate": "tanh"}, FLOATS),
    ("GeluV2", {}, "Gelu", {}, FLOATS),
    ("GeluV2", {"approximate": "tanh"}, "Gelu", {"approximate": "tanh"}, FLOATS),
]


@pytest.mark.parametrize(
    ("ge_type", "attrs", "onnx_type", "onnx_attrs", "dtype"),
    [
        pytest.param(*row, dtype, id=f"{row[0]}-{len(row[1])}-{np.dtype(dtype).name}")
        for *row, dtypes in ACTIVATIONS
        for dtype in dtypes
    ],
)
def test_activation_against_onnxruntime(ge_type, attrs, onnx_type, onnx_attrs, dtype):
    for shape in SHAPES:
        x = sample("any", shape, dtype)
        assert_close(run_ge(ge_type, x, **attrs), run_onnx(onnx_type, x, **onnx_attrs))


def elu(v, alpha=1.5, scale=0.5, inner=2.0):
    return scale * v if v > 0 else scale * alpha * math.expm1(inner * v)


FORMULAS = [
    ("Relu6", {}, lambda v: min(max(v, 0), 6)),
    ("Swish", {}, lambda v: v / (1 + math.exp(-v))),
    ("Swish", {"scale": 2.5}, lambda v: v / (1 + math.exp(-2.5 * v))),
    ("FastGelu", {}, lambda v: v / (1 + math.exp(-1.702 * v))),
    ("GeluV2", {}, lambda v: 0.5 * v * (1 + math.erf(v / math.sqrt(2)))),
    ("HardSigmoid", {}, lambda v: min(max(v * 0.16666666 + 0.5, 0), 1)),
    ("Elu", {"alpha": 1.5, "scale": 0.5, "input_scale": 2.0}, elu),
    ("Celu", {"alpha3": 0.5}, lambda v: v * 0.5 if v >= 0 else math.expm1(v)),
]


@pytest.mark.parametrize("dtype", [F32, F16, BF16])
@pytest.mark.parametrize(
    ("ge_type", "attrs", "formula"), FORMULAS, ids=[f"{r[0]}-{len(r[1])}" for r in FORMULAS]
)
def test_activation_against_a_formula(ge_type, attrs, formula, dtype):
    for shape in SHAPES:
        x = sample("any", shape, dtype)
        expected = np.array([formula(float(v)) for v in x.reshape(-1)]).reshape(shape)
        assert_close(run_ge(ge_type, x, **attrs), expected.astype(dtype))


def test_integers():
    x = np.array([-9, -1, 0, 1, 3, 9], np.int32)
    assert run_ge("Relu6", x).tolist() == [0, 0, 0, 1, 3, 6]
    assert run_ge("HardSigmoid", x).tolist() == [0, 0, 0, 0, 1, 1]


@pytest.mark.parametrize(
    "op_type", ["Relu", "Relu6", "LeakyRelu", "Sigmoid", "HardSwish", "GeluV2"]
)
def test_nan_and_large_values(op_type):
    x = np.array([np.nan, 1e4, -1e4], np.float32)
    found = run_ge(op_type, x)
    limit = {"Relu6": 6, "Sigmoid": 1}.get(op_type, 1e4)
    np.testing.assert_array_equal(found, [np.nan, limit, 0])


@pytest.mark.parametrize(
    ("shape", "weight", "slopes"),
    [
        ((2, 3, 4, 5), (3,), (3, 1, 1)),
        ((2, 3, 4, 5), (1,), (1,)),
        ((2, 3, 4, 5), (3, 4, 5), (3, 4, 5)),
        ((2, 3, 4, 5), (3, 1, 1), (3, 1, 1)),
        ((2, 3), (3,), (3,)),
        ((3,), (3,), (3,)),
        ((3,), (), ()),
    ],
)
def test_p_relu(shape, weight, slopes):
    for dtype in FLOATS:
        x, w = sample("any", shape, dtype), sample("any", weight, dtype, seed=1)
        assert_close(run_ge("PRelu", x, w), run_onnx("PRelu", x, w.reshape(slopes)))


@pytest.mark.parametrize("dtype", [F32, F16, BF16, F64], ids=lambda d: np.dtype(d).name)
@pytest.mark.parametrize("axis", [-1, 0, 1])
def test_softmax_along_one_axis(axis, dtype):
    for shape in ((2, 3, 4), (5, 1), (0, 3)):
        x = sample("any", shape, dtype)
        found = run_ge("SoftmaxV2", x, axes=[axis])
        assert_close(found, run_onnx("Softmax", x, axis=axis))
        found = run_ge("LogSoftmaxV2", x, axes=[axis])
        assert_close(found, run_onnx("LogSoftmax", x, axis=axis))


def test_softmax_along_several_axes():
    x = sample("any", (2, 3, 4), F32)
    flat = np.moveaxis(x, 1, 0).reshape(3, 8)
    joint = np.moveaxis(run_onnx("Softmax", flat).reshape(3, 2, 4), 0, 1)
    assert_close(run_ge("SoftmaxV2", x, axes=[0, -1]), joint)
    assert_close(run_ge("LogSoftmaxV2", x, axes=[0, -1]), np.log(joint), scale=4)


def test_softmax_does_not_overflow():
    x = np.array([[1e4, 1e4], [-np.inf, 0]], np.float32)
    assert run_ge("SoftmaxV2", x).tolist() == [[0.5, 0.5], [0, 1]]


def test_softmax_half_to_float():
    x = sample("any", (2, 5), F16)
    wide = run_ge("SoftmaxV2", x, half_to_float=True)
    assert_close(wide, run_onnx("Softmax", x.astype(F32)))
    assert run_ge("SoftmaxV2", x.astype(BF16), half_to_float=True).dtype == BF16


def test_softmax_of_a_scalar():
    assert run_ge("SoftmaxV2", np.float32(3)) == 1
    assert run_ge("LogSoftmaxV2", np.float32(3)) == 0
