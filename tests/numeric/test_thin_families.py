"""Ops that other tests run on one or two operands, on drawn shapes and element types: empty ones,
scalars, broadcast ones, halves. The witness is a formula in f64; that of a gradient is the slope of
the forward formula, found by differences, so that no derivative is written down twice.
"""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from op_runs import run
from op_witness import BF16, F16, F32, F64, I32, I64, TOLERANCE

EXAMPLES = 12
STEP = 1e-5
HALVES_TOO = (F32, F16, BF16)
SINGLE = (F32,)

shapes = st.lists(st.integers(0, 3), max_size=3).map(tuple)
seeds = st.integers(0, 2**16)


def drawn(rng, shape, dtype):
    """Numbers of a few units in the element type, and the same ones in f64."""
    x = np.asarray(rng.normal(size=shape) * 2).astype(dtype)
    return x, x.astype(F64)


def slope(function, x, dy):
    """The gradient of sum(function(x) * dy) in x, by central differences."""
    x = np.asarray(x)
    found = np.zeros(x.shape)
    for place in np.ndindex(x.shape):
        ends = []
        for sign in (1, -1):
            moved = x.copy()
            moved[place] += sign * STEP
            ends.append((function(moved) * dy).sum())
        found[place] = (ends[0] - ends[1]) / (2 * STEP)
    return found


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def softmax(x, axis=-1):
    e = np.exp(x - x.max(axis, keepdims=True, initial=0))
    return e / e.sum(axis, keepdims=True)


erf = np.vectorize(math.erf, otypes=[F64])


def gelu(x):
    return x * (1 + erf(x / math.sqrt(2))) / 2


def gelu_by_tanh(x):
    return x * sigmoid(2 * math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))


def halves(x):
    return np.split(x, 2, axis=-1)


def last(shape, size):
    """The shape with another last dimension; a vector for a scalar."""
    return (*shape[:-1], size)


def away(x):
    """x away from 0, where a formula has a corner."""
    return np.asarray(np.copysign(np.abs(x) + x.dtype.type(0.1), x))


def unary_slope(op, forward, order):
    """A gradient op of `forward` whose operands stand in `order` (x, dy, y)."""

    def row(rng, shape, dtype):
        x = away(drawn(rng, shape, dtype)[0])
        dy, wide_dy = drawn(rng, shape, dtype)
        wide = x.astype(F64)
        given = {"x": x, "dy": dy, "y": forward(wide).astype(dtype)}
        return op, [given[k] for k in order], {}, [slope(forward, wide, wide_dy)]

    return row


def of_result(op, forward, order, **attrs):
    """A gradient op that takes the result of `forward` in place of its operand."""

    def row(rng, shape, dtype):
        x = away(drawn(rng, shape, F64)[0])
        dy, wide_dy = drawn(rng, shape, dtype)
        given = {"y": forward(x).astype(dtype), "dy": dy}
        return op, [given[k] for k in order], attrs, [slope(forward, x, wide_dy)]

    return row


def elu(x):
    return np.where(x > 0, x, np.expm1(np.minimum(x, 0)))


def selu(x):
    scale, alpha = 1.0507009873554805, 1.6732632423543772
    return scale * np.where(x > 0, x, alpha * np.expm1(np.minimum(x, 0)))


def hardtanh(x):
    return np.clip(x, -1, 1)


def div_no_nan(rng, shape, dtype):
    (a, wide_a), (b, _) = drawn(rng, shape, dtype), drawn(rng, shape[-1:], dtype)
    b[rng.random(b.shape) < 0.4] = 0
    wide_b = b.astype(F64)
    safe = np.where(wide_b == 0, 1, wide_b)
    return "DivNoNan", [a, b], {}, [np.where(wide_b == 0, 0, wide_a / safe)]


def truncate_mod(rng, shape, dtype):
    (a, wide_a), (b, _) = drawn(rng, shape, dtype), drawn(rng, shape[-1:], dtype)
    b = np.round(away(b)) + b.dtype.type(5)  # whole divisors far from the quotients' ends
    return "TruncateMod", [np.round(a), b], {}, [np.fmod(np.round(wide_a), b.astype(F64))]


def l2_loss(rng, shape, dtype):
    x, wide = drawn(rng, shape, dtype)
    return "L2Loss", [x], {}, [(wide**2).sum() / 2]


def square_sums(rng, shape, dtype):
    (a, wide_a), (b, wide_b) = drawn(rng, shape, dtype), drawn(rng, shape, dtype)
    return "SquareSumAll", [a, b], {}, [(wide_a**2).sum(), (wide_b**2).sum()]


def cast_like(rng, shape, dtype):
    x, wide = drawn(rng, shape, F32)
    return "CastLike", [x, np.zeros(3, dtype)], {}, [wide]


def complex_parts(rng, shape, dtype):
    (a, wide_a), (b, wide_b) = drawn(rng, shape, dtype), drawn(rng, shape[-1:], dtype)
    return "Complex", [a, b], {}, [wide_a + 1j * wide_b]


def relu_mask(rng, shape, dtype):
    x, wide = drawn(rng, shape, dtype)
    return "ReluV2", [x], {}, [np.maximum(wide, 0), (wide > 0).astype(F64)]


def relu_masked(rng, shape, dtype):
    dy, wide = drawn(rng, shape, dtype)
    mask = rng.integers(0, 2, shape).astype(np.uint8)
    return "ReluGradV2", [dy, mask], {}, [wide * mask]


def logit(rng, shape, dtype):
    x = rng.uniform(0, 1, shape).astype(dtype)
    z = np.clip(x.astype(F64), float(F32(0.125)), 0.875)
    return "Logit", [x], {"eps": 0.125}, [np.log(z / (1 - z))]


def logit_slope(rng, shape, dtype):
    x = rng.uniform(0.2, 0.8, shape).astype(dtype)
    dy, wide_dy = drawn(rng, shape, dtype)
    wide = x.astype(F64)
    return "LogitGrad", [x, dy], {"eps": 0.1}, [slope(lambda z: np.log(z / (1 - z)), wide, wide_dy)]


def extremum_slopes(op, forward):
    def row(rng, shape, dtype):
        (a, wide_a), (b, wide_b) = drawn(rng, shape, dtype), drawn(rng, shape[-1:], dtype)
        dy, wide_dy = drawn(rng, shape, dtype)
        first = slope(lambda z: forward(z, wide_b), wide_a, wide_dy)
        second = slope(lambda z: forward(wide_a, z), wide_b, wide_dy)
        return op, [dy, a, b], {}, [first, second]

    return row


def prelu_slopes(rng, shape, dtype):
    shape = (*shape[:1], 2, *shape[1:]) if shape else (2, 2)
    x = away(drawn(rng, shape, dtype)[0])
    (dy, wide_dy), (w, wide_w) = drawn(rng, shape, dtype), drawn(rng, (2,), dtype)
    wide = x.astype(F64)

    def forward(x, w):
        return np.where(x > 0, x, x * w.reshape(-1, *(1,) * (x.ndim - 2)))

    first = slope(lambda z: forward(z, wide_w), wide, wide_dy)
    return "PReluGrad", [dy, x, w], {}, [first, slope(lambda z: forward(wide, z), wide_w, wide_dy)]


def gated(op, forward, gradient=False):
    def row(rng, shape, dtype):
        size = 2 * (shape[-1] if shape else 1)
        x, wide = drawn(rng, last(shape, size), dtype)
        if not gradient:
            return op, [x], {}, [forward(wide)]
        dy, wide_dy = drawn(rng, last(shape, size // 2), dtype)
        return op, [dy, x], {}, [slope(forward, wide, wide_dy)]

    return row


def swiglu(x):
    a, b = halves(x)
    return a * sigmoid(a) * b


def glu(x):
    a, b = halves(x)
    return a * sigmoid(b)


def gelu_mul(x):
    a, b = halves(x)
    return gelu(a) * b


def rms(x, gamma):
    return x / np.sqrt((x**2).mean(-1, keepdims=True) + 1e-6) * gamma


def rms_slopes(rng, shape, dtype):
    shape = last(shape, 3)
    (x, wide), (dy, wide_dy) = drawn(rng, shape, dtype), drawn(rng, shape, dtype)
    gamma, wide_gamma = drawn(rng, (3,), dtype)
    rstd = (1 / np.sqrt((wide**2).mean(-1, keepdims=True) + 1e-6)).astype(F32)
    dx = slope(lambda z: rms(z, wide_gamma), wide, wide_dy)
    return (
        "RmsNormGrad",
        [dy, x, rstd, gamma],
        {},
        [
            dx,
            slope(lambda z: rms(wide, z), wide_gamma, wide_dy),
        ],
    )


def layer_norm_slopes(rng, shape, dtype):
    shape = last(shape, 3)
    (x, wide), (dy, wide_dy) = drawn(rng, shape, dtype), drawn(rng, shape, dtype)
    (gamma, wide_gamma), (_, beta) = drawn(rng, (3,), dtype), drawn(rng, (3,), dtype)

    def norm(x, gamma, beta):
        centred = x - x.mean(-1, keepdims=True)
        return centred / np.sqrt((centred**2).mean(-1, keepdims=True)) * gamma + beta

    moments = [wide.var(-1, keepdims=True).astype(F32), wide.mean(-1, keepdims=True).astype(F32)]
    expected = [
        slope(lambda z: norm(z, wide_gamma, beta), wide, wide_dy),
        slope(lambda z: norm(wide, z, beta), wide_gamma, wide_dy),
        slope(lambda z: norm(wide, wide_gamma, z), beta, wide_dy),
    ]
    return "LayerNormGrad", [dy, x, *moments, gamma], {}, expected


def mean_variance_norm(rng, shape, dtype):
    x, wide = drawn(rng, (2, *last(shape, 3)), dtype)
    centred = wide - wide.mean((0, -1), keepdims=True)
    root = np.sqrt((centred**2).mean((0, -1), keepdims=True))
    return "MVNV2", [x], {"axes": [0, -1]}, [centred / (root + 1e-9)]


def per_channel(values, rank):
    return values.reshape(-1, *(1,) * (rank - 2))


def batch_norm_inference_slope(rng, shape, dtype):
    shape = (2, 3, *shape)
    (dy, wide_dy), (scale, wide_scale) = drawn(rng, shape, dtype), drawn(rng, (3,), F32)
    variance = rng.uniform(0.5, 2, 3).astype(F32)

    def forward(x):
        root = np.sqrt(variance.astype(F64) + 1e-4)
        return (x - 0.5) / per_channel(root, x.ndim) * per_channel(wide_scale, x.ndim)

    return "BNInferGrad", [dy, scale, variance], {}, [slope(forward, np.zeros(shape), wide_dy)]


def batch_norm_parameter_slopes(rng, shape, dtype):
    shape = (2, 3, *shape)
    (dy, wide_dy), (x, wide) = drawn(rng, shape, dtype), drawn(rng, shape, dtype)
    mean, variance = rng.normal(size=3).astype(F32), rng.uniform(0.5, 2, 3).astype(F32)
    centred = wide - per_channel(mean.astype(F64), wide.ndim)
    normal = centred / per_channel(np.sqrt(variance.astype(F64) + 1e-4), wide.ndim)

    def forward(scale, offset):
        return normal * per_channel(scale, wide.ndim) + per_channel(offset, wide.ndim)

    zero = np.zeros(3)
    expected = [
        slope(lambda z: forward(z, zero), zero, wide_dy),
        slope(lambda z: forward(zero, z), zero, wide_dy),
    ]
    return "BNTrainingUpdateGrad", [dy, x, mean, variance], {}, expected


def softmax_slope(rng, shape, dtype):
    shape = last(shape, 3)
    x, (dy, wide_dy) = rng.normal(size=shape), drawn(rng, shape, dtype)
    return "SoftmaxGrad", [softmax(x).astype(dtype), dy], {}, [slope(softmax, x, wide_dy)]


def log_softmax_slope(rng, shape, dtype):
    shape = last(shape, 3)
    x, (dy, wide_dy) = rng.normal(size=shape), drawn(rng, shape, dtype)

    def forward(x):
        return np.log(softmax(x))

    return "LogSoftmaxGrad", [dy, forward(x).astype(dtype)], {}, [slope(forward, x, wide_dy)]


def rotary_slopes(rng, shape, dtype):
    shape = (1, 2, *shape[-1:], 4) if shape else (1, 2, 1, 4)
    (x, wide), (dy, wide_dy) = drawn(rng, shape, dtype), drawn(rng, shape, dtype)
    angles = (1, 1, *shape[2:])
    (cos, wide_cos), (sin, wide_sin) = drawn(rng, angles, dtype), drawn(rng, angles, dtype)

    def forward(x, cos, sin):
        a, b = halves(x)
        return x * cos + np.concatenate([-b, a], -1) * sin

    expected = [
        slope(lambda z: forward(z, wide_cos, wide_sin), wide, wide_dy),
        slope(lambda z: forward(wide, z, wide_sin), wide_cos, wide_dy),
        slope(lambda z: forward(wide, wide_cos, z), wide_sin, wide_dy),
    ]
    return "RotaryMulGrad", [x, cos, sin, dy], {}, expected


def log_determinant(op):
    def row(rng, shape, dtype):
        x, wide = drawn(rng, (*shape[:2], 3, 3), dtype)
        a, b, c = (wide[..., i, :] for i in range(3))
        found = (a * np.cross(b, c)).sum(-1)
        return op, [x], {}, [np.sign(found), np.log(np.abs(found))]

    return row


def embedding(rng, shape, dtype):
    x, wide = drawn(rng, (4, *shape), dtype)
    indices = np.asarray(rng.integers(0, 4, shape[:2]), I64)
    picked = [wide[i] for i in indices.reshape(-1)]
    expected = np.array(picked).reshape((*indices.shape, *shape))
    return "Embedding", [x, indices], {}, [expected]


def lars(rng, shape, dtype):
    (w, wide_w), (g, wide_g) = drawn(rng, shape, dtype), drawn(rng, shape, dtype)
    decay, rate = np.array(0.1, F32), np.array(0.3, F32)
    size = [math.sqrt(sum(float(v) ** 2 for v in a.reshape(-1))) for a in (wide_w, wide_g)]
    factor = 0.001 * size[0] / (0.1 * size[0] + size[1] + 1e-5)
    return "LarsV2", [w, g, decay, rate], {}, [(wide_w * 0.1 + wide_g) * factor]


def moved(op, make):
    """An op that only moves: `make(wide, rng)` gives operands after x, attributes, results."""

    def row(rng, shape, dtype):
        x, wide = drawn(rng, (*shape, 2), dtype)
        others, attrs, expected = make(wide, rng)
        return op, [x, *others], attrs, expected

    return row


ROWS = {
    "DivNoNan": (div_no_nan, HALVES_TOO),
    "TruncateMod": (truncate_mod, HALVES_TOO),
    "L2Loss": (l2_loss, HALVES_TOO),
    "SquareSumAll": (square_sums, HALVES_TOO),
    "CastLike": (cast_like, HALVES_TOO),
    "Complex": (complex_parts, SINGLE),
    "ReluV2": (relu_mask, HALVES_TOO),
    "ReluGradV2": (relu_masked, HALVES_TOO),
    "Logit": (logit, HALVES_TOO),
    "LogitGrad": (logit_slope, HALVES_TOO),
    "MaximumGrad": (extremum_slopes("MaximumGrad", np.maximum), HALVES_TOO),
    "MinimumGrad": (extremum_slopes("MinimumGrad", np.minimum), HALVES_TOO),
    "InvGrad": (of_result("InvGrad", lambda x: 1 / x, ("y", "dy")), SINGLE),
    "EluGrad": (of_result("EluGrad", elu, ("dy", "y")), SINGLE),
    "SeluGrad": (of_result("SeluGrad", selu, ("dy", "y")), SINGLE),
    "HardtanhGrad": (of_result("HardtanhGrad", hardtanh, ("y", "dy")), SINGLE),
    "GeluGrad": (unary_slope("GeluGrad", gelu_by_tanh, ("dy", "x", "y")), HALVES_TOO),
    "SwishGrad": (
        unary_slope("SwishGrad", lambda x: x * sigmoid(x), ("dy", "x", "y")),
        HALVES_TOO,
    ),
    "PReluGrad": (prelu_slopes, HALVES_TOO),
    "SwiGluGrad": (gated("SwiGluGrad", swiglu, gradient=True), HALVES_TOO),
    "GLUGrad": (gated("GLUGrad", glu, gradient=True), HALVES_TOO),
    "GeluMul": (gated("GeluMul", gelu_mul), HALVES_TOO),
    "SoftmaxGrad": (softmax_slope, SINGLE),
    "LogSoftmaxGrad": (log_softmax_slope, SINGLE),
    "RmsNormGrad": (rms_slopes, SINGLE),
    "LayerNormGrad": (layer_norm_slopes, SINGLE),
    "MVNV2": (mean_variance_norm, SINGLE),
    "BNInferGrad": (batch_norm_inference_slope, HALVES_TOO),
    "BNTrainingUpdateGrad": (batch_norm_parameter_slopes, HALVES_TOO),
    "RotaryMulGrad": (rotary_slopes, HALVES_TOO),
    "Slogdet": (log_determinant("Slogdet"), SINGLE),
    "LogMatrixDeterminant": (log_determinant("LogMatrixDeterminant"), SINGLE),
    "Embedding": (embedding, HALVES_TOO),
    "LarsV2": (lars, SINGLE),
    "UnsqueezeV2": (
        moved("UnsqueezeV2", lambda x, rng: ([], {"axis": [-1, 0]}, [x[None, ..., None]])),
        HALVES_TOO,
    ),
    "BroadcastToD": (
        moved(
            "BroadcastToD",
            lambda x, rng: ([], {"shape": [3, *(-1 for _ in x.shape)]}, [np.stack([x] * 3)]),
        ),
        HALVES_TOO,
    ),
    "ExpandD": (
        moved("ExpandD", lambda x, rng: ([], {"shape": [3, *x.shape]}, [np.stack([x] * 3)])),
        HALVES_TOO,
    ),
    "SliceDV2": (
        moved(
            "SliceDV2",
            lambda x, rng: (
                [np.array([0] * (x.ndim - 1) + [1], I32)],
                {"size": [-1] * x.ndim},
                [x[..., 1:]],
            ),
        ),
        HALVES_TOO,
    ),
}
"""Op type -> what draws its operands and gives its results in f64, and the element types."""
ROUGH = {
    **dict.fromkeys(("Slogdet", "LogMatrixDeterminant", "MVNV2", "LayerNormGrad"), 256),
    **dict.fromkeys(("RmsNormGrad", "InvGrad", "Logit", "LogitGrad"), 16),
}
"""How many times the usual tolerance, where a formula cancels digits."""


def check_close(found, expected, dtype, scale):
    """Within the element type's tolerance, relative to the largest number."""
    expected = np.asarray(expected)
    assert found.shape == expected.shape
    found = found.astype(np.complex128 if found.dtype.kind == "c" else F64)
    largest = np.abs(expected).max(initial=1)
    bound = 4 * scale * TOLERANCE[np.dtype(dtype).name] * largest
    np.testing.assert_allclose(found, expected, rtol=0, atol=bound)


@pytest.mark.parametrize("op_type", ROWS)
@settings(max_examples=EXAMPLES, deadline=None, derandomize=True, database=None)
@given(shape=shapes, data=st.data(), seed=seeds)
def test_drawn_operands(op_type, shape, data, seed):
    make, dtypes = ROWS[op_type]
    dtype = data.draw(st.sampled_from(dtypes))
    name, inputs, attrs, expected = make(np.random.default_rng(seed), shape, dtype)
    found = run(name, *inputs, **attrs)
    assert len(found) == len(expected)
    for array, wide in zip(found, expected, strict=True):
        check_close(array, wide, dtype, ROUGH.get(op_type, 1))


@pytest.mark.parametrize("equal_nan", [False, True])
@settings(max_examples=EXAMPLES, deadline=None, derandomize=True, database=None)
@given(shape=shapes, seed=seeds)
def test_closeness(equal_nan, shape, seed):
    rng = np.random.default_rng(seed)
    a = drawn(rng, shape, F32)[0]
    b = a + rng.choice([0, 1e-7, 1e-3, np.nan, np.inf], shape).astype(F32)
    expected = np.isclose(a, b, rtol=1e-5, atol=1e-8, equal_nan=equal_nan)
    found = run("IsClose", a, b, equal_nan=equal_nan)[0]
    np.testing.assert_array_equal(found, expected)
    plain = np.where(np.isfinite(b), b, 0)
    near = run("ApproximateEqual", a, plain, tolerance=1e-4)[0]
    np.testing.assert_array_equal(near, np.abs(a.astype(F64) - plain) < 1e-4)


@settings(max_examples=EXAMPLES, deadline=None, derandomize=True, database=None)
@given(size=st.integers(0, 6), seed=seeds)
def test_permutations_and_counts(size, seed):
    rng = np.random.default_rng(seed)
    order = rng.permutation(size).astype(I32)
    assert run("InvertPermutation", order)[0].tolist() == [
        order.tolist().index(i) for i in range(size)
    ]
    x = rng.uniform(-1, 6, size).astype(F32)
    found = run("HistogramFixedWidth", x, np.array([0, 5], F32), np.array(5, I32))[0]
    bins = [min(max(math.floor(v), 0), 4) for v in x.tolist()]
    assert found.tolist() == [bins.count(i) for i in range(5)]
