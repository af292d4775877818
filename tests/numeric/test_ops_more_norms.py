"""Layer, batch, group and instance normalisation: formulas in f64 against `evaluate`."""

import numpy as np
import pytest
from op_runs import onnx_outputs, run
from op_witness import BF16, F16, F32, F64, I64, assert_close, sample
from xdsl.ir import Block

from ge_xdsl.dialects.ge.registry import op_class
from ge_xdsl.dialects.ge.types import DataType, Format, Layout, Tensor, tensor_of

FLOATS = (F32, F16, BF16)


def check(found, expected, dtype, scale=32):
    half = np.dtype(dtype).itemsize == 2
    assert_close(found, np.asarray(expected).astype(dtype), scale=4 if half else scale)


def standard(x, axes, epsilon):
    x = x.astype(F64)
    mean, variance = x.mean(axes, keepdims=True), x.var(axes, keepdims=True)
    rstd = 1 / np.sqrt(variance + epsilon)
    return (x - mean) * rstd, mean, variance, rstd


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("tail", [(8,), (3, 8)])
@pytest.mark.parametrize("affine", [False, True])
def test_layer_norm_v4(affine, tail, dtype):
    x = sample("any", (2, 3, 8), dtype)
    gamma, beta = (sample("any", tail, dtype, i) for i in (1, 2)) if affine else (None, None)
    axes = tuple(range(-len(tail), 0))
    n, mean, _, rstd = standard(x, axes, 1e-3)
    want = n * gamma.astype(F64) + beta.astype(F64) if affine else n
    found = run("LayerNormV4", x, np.array(tail, I64), gamma, beta, epsilon=1e-3)
    check(found[0], want, dtype)
    check(found[1], mean, F32)
    check(found[2], rstd, F32)


@pytest.mark.parametrize("types", [(F32, F32), (F16, F16), (F16, F32), (BF16, F16)])
@pytest.mark.parametrize("with_bias", [False, True])
@pytest.mark.parametrize("op", ["AddLayerNorm", "InplaceAddLayerNorm"])
def test_add_layer_norm(op, with_bias, types):
    x1, x2 = (sample("any", (2, 3, 8), t, i) for i, t in enumerate(types))
    gamma, beta, bias = (sample("any", (8,), types[0], i) for i in (2, 3, 4))
    bias = bias if with_bias else None
    total = x1.astype(F64) + x2.astype(F64) + (bias.astype(F64) if with_bias else 0)
    n, mean, _, rstd = standard(total, -1, 1e-3)
    found = run(op, x1, x2, gamma, beta, bias, epsilon=1e-3)
    wide = types[0] if types[0] == types[1] else F32
    kinds = (wide, wide) if op == "AddLayerNorm" else types
    check(found[0], n * gamma.astype(F64) + beta.astype(F64), kinds[0])
    check(found[1], mean, F32)
    check(found[2], rstd, F32)
    check(found[3], total, kinds[1])


def test_layer_norm_gradients():
    shapes = [(3, 8), (3, 8), (8,)]
    dy, x, gamma = (sample("any", s, F32, i) for i, s in enumerate(shapes))
    n, mean, variance, _ = standard(x, -1, 1e-12)
    moments = variance.astype(F32), mean.astype(F32)

    def loss(x):
        return (standard(x, -1, 1e-12)[0] * gamma * dy).sum()

    steps = np.eye(24).reshape(24, 3, 8) * 1e-5
    wanted = np.array([(loss(x + s) - loss(x - s)) / 2e-5 for s in steps]).reshape(3, 8)
    for op in ("LayerNormXBackprop", "LayerNormXBackpropV2", "LayerNormGrad"):
        found = run(op, dy, x, *moments, gamma)
        np.testing.assert_allclose(found[0], wanted, rtol=1e-3, atol=1e-4)
        if op.endswith("V2"):
            check(found[1], n, F32)
        if op == "LayerNormGrad":
            check(found[1], (dy * n).sum(0), F32)
            check(found[2], dy.astype(F64).sum(0), F32)
    for op, operands in (
        ("LayerNormBetaGammaBackprop", (dy, x, *moments)),
        ("LayerNormBetaGammaBackpropV2", (dy, n.astype(F32))),
    ):
        found = run(op, *operands, shape_gamma=[8])
        check(found[0], (dy * n).sum(0), F32)
        check(found[1], dy.astype(F64).sum(0), F32)


def test_gradients_of_half_floats_use_a_larger_epsilon():
    x = np.zeros((1, 4), F16)
    ones, zero = np.ones(4, F16), np.zeros((1, 1), F16)
    dy = np.array([[1, 0, 0, 0]], F16)
    found = run("LayerNormXBackprop", dy, x, zero, zero, ones)[0]
    want = (dy - dy.mean()) / np.sqrt(1e-5)
    check(found, want, F16)


@pytest.mark.parametrize("axes", [(0, 2, 3), (1, 2, 3)])
def test_mvn_v2_as_onnx(axes):
    x = sample("any", (2, 3, 4, 5), F32)
    found = run("MVNV2", x, axes=axes)[0]
    assert_close(found, onnx_outputs("MeanVarianceNormalization", x, axes=axes)[0], scale=32)


# Per channel


def channels(seed, kind="any", dtype=F32):
    return sample(kind, (3,), dtype, seed)


def along(values):
    return values.astype(F64).reshape(-1, 1, 1)


@pytest.mark.parametrize("dtype", FLOATS)
def test_bn_infer(dtype):
    x = sample("any", (2, 3, 4, 5), dtype)
    scale, offset, mean = (channels(i) for i in (1, 2, 3))
    variance = channels(4, "positive")
    want = (x.astype(F64) - along(mean)) / np.sqrt(along(variance) + 1e-3)
    found = run("BNInfer", x, scale, offset, mean, variance, epsilon=1e-3)[0]
    check(found, want * along(scale) + along(offset), dtype)
    found = run("BNInferenceD", x, mean, variance, scale, offset)[0]
    want = (x.astype(F64) + along(mean)) * along(variance) * along(scale) + along(offset)
    check(found, want, dtype)
    found = run("BNInferenceD", x, mean, variance)[0]
    check(found, (x.astype(F64) + along(mean)) * along(variance), dtype)


def test_channels_follow_the_format():
    cls = op_class("BNTrainingReduce")
    layout = Layout(Format.FORMAT_NHWC, Format.FORMAT_NHWC)
    for shape, kind, count in (((2, 4, 5, 3), layout, 3), ((2, 4, 5, 3), Layout(), 4)):
        block = Block(arg_types=[Tensor(DataType.DT_FLOAT, shape, kind).type])
        op = cls.build(block.args[0])
        block.add_op(op)
        assert tensor_of(op.results[0].type).shape == (count,)
        x = sample("any", shape, F32)
        total, square = op.execute([x])
        axes = (0, 1, 2) if kind is layout else (0, 2, 3)
        check(total, x.astype(F64).sum(axes), F32)
        check(square, (x.astype(F64) ** 2).sum(axes), F32)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("volume", [False, True])
def test_batch_norm_training_in_pieces(volume, dtype):
    shape = (2, 3, 4, 5, 2) if volume else (2, 3, 4, 5)
    prefix = "BN3D" if volume else "BN"
    axes = tuple(i for i in range(len(shape)) if i != 1)
    x = sample("any", shape, dtype)
    wide = x.astype(F64)
    count = wide.size // 3
    total, square = run(prefix + "TrainingReduce", x)
    check(total, wide.sum(axes), F32)
    check(square, (wide**2).sum(axes), F32)
    n, mean, variance, _ = standard(x, axes, 1e-3)
    mean, variance = mean.reshape(-1), variance.reshape(-1)
    scale, offset, old_mean = (channels(i) for i in (1, 2, 3))
    old_variance = channels(4, "positive")
    places = (-1, *(1,) * (len(shape) - 2))
    y = n * scale.reshape(places) + offset.reshape(places)
    given = (x, total, square, scale, offset)
    attrs = {"factor": 0.25, "epsilon": 1e-3}
    found = run(prefix + "TrainingUpdate", *given, old_mean, old_variance, **attrs)
    unbiased = variance * count / (count - 1)
    for have, want in zip(
        found[1:],
        (0.75 * old_mean + 0.25 * mean, 0.75 * old_variance + 0.25 * unbiased, mean, variance),
        strict=True,
    ):
        check(have, want, F32, scale=128)
    check(found[0], y, dtype, scale=128)
    if volume:
        return
    for version, wants in ((2, (mean, variance)), (3, (mean, unbiased, mean, variance))):
        found = run(f"BNTrainingUpdateV{version}", *given, epsilon=1e-3)
        check(found[0], y, dtype, scale=128)
        for have, want in zip(found[1:], wants, strict=True):
            check(have, want, F32, scale=128)


@pytest.mark.parametrize("volume", [False, True])
def test_batch_norm_gradients(volume):
    shape = (2, 3, 2, 2, 1) if volume else (2, 3, 2, 2)
    prefix = "BN3D" if volume else "BN"
    axes = tuple(i for i in range(len(shape)) if i != 1)
    dy, x = (sample("any", shape, F32, i) for i in (0, 1))
    scale = channels(2)
    n, mean, variance, _ = standard(x, axes, 1e-3)
    moments = [a.reshape(-1).astype(F32) for a in (mean, variance)]
    found = run(prefix + "TrainingUpdateGrad", dy, x, *moments, epsilon=1e-3)
    check(found[0], (dy * n).sum(axes), F32)
    check(found[1], dy.astype(F64).sum(axes), F32)
    places = (-1, *(1,) * (len(shape) - 2))

    def loss(x):
        return (standard(x, axes, 1e-3)[0] * scale.reshape(places) * dy).sum()

    steps = np.eye(x.size).reshape(x.size, *shape) * 1e-5
    wanted = np.array([(loss(x + s) - loss(x - s)) / 2e-5 for s in steps]).reshape(shape)
    dx = run(prefix + "TrainingReduceGrad", dy, x, *found, scale, *moments, epsilon=1e-3)[0]
    np.testing.assert_allclose(dx, wanted, rtol=1e-3, atol=1e-4)
    if not volume:
        have = run("BNInferGrad", dy, scale, moments[1], epsilon=1e-3)[0]
        check(have, dy * along(scale) / np.sqrt(variance + 1e-3), F32)


@pytest.mark.parametrize("data_format", ["NCDHW", "NDHWC"])
def test_batch_norm_3d(data_format):
    x = sample("any", (2, 3, 4, 5, 2), F32)
    scale, offset, mean = (channels(i) for i in (1, 2, 3))
    variance = channels(4, "positive")
    n, m, v, _ = standard(x, (0, 2, 3, 4), 1e-3)

    def wide(a):
        return a.astype(F64).reshape(-1, 1, 1, 1)

    def placed(a):
        return np.moveaxis(a, 1, -1) if data_format == "NDHWC" else a

    attrs = {"data_format": data_format, "epsilon": 1e-3}
    found = run("BatchNorm3D", placed(x), scale, offset, **attrs)
    check(found[0], placed(n * wide(scale) + wide(offset)), F32)
    m, v = m.reshape(-1), v.reshape(-1)
    for have, want in zip(found[1:], (m, v * 80 / 79, m, v), strict=True):
        check(have, want, F32)
    given = (placed(x), scale, offset, mean, variance)
    found = run("BatchNorm3D", *given, is_training=False, **attrs)
    y = (x - wide(mean)) / np.sqrt(wide(variance) + 1e-3) * wide(scale) + wide(offset)
    check(found[0], placed(y), F32)
    for have, want in zip(found[1:], (mean, variance) * 2, strict=True):
        assert_close(have, want)


# Groups, images, neighbours


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("groups", [1, 2, 6])
@pytest.mark.parametrize("shape", [(2, 6, 4, 3), (3, 6), (2, 6, 5)])
def test_group_norm(shape, groups, dtype):
    x, gamma, beta = (sample("any", s, dtype, i) for i, s in enumerate([shape, (6,), (6,)]))
    rows = x.reshape(shape[0], groups, -1)
    n, mean, variance, rstd = standard(rows, -1, 1e-3)
    places = (-1, *(1,) * (len(shape) - 2))
    plain = n.reshape(shape)
    t = plain * gamma.astype(F64).reshape(places) + beta.astype(F64).reshape(places)
    moments = [a[..., 0] for a in (mean, variance, rstd)]
    attrs = {"num_groups": groups, "eps": 1e-3}
    found = run("GroupNorm", x, gamma, beta, **attrs)
    for have, want in zip(found, (t, *moments[:2]), strict=True):
        check(have, want, dtype)
    check(run("GroupNormRelu", x, gamma, beta, **attrs)[0], np.maximum(t, 0), dtype)
    found = run("GroupNormSilu", x, gamma, beta, **attrs)
    for have, want in zip(found, (t / (1 + np.exp(-t)), moments[0], moments[2]), strict=True):
        check(have, want, dtype)
    check(run("GroupNormSilu", x, activate_silu=False, **attrs)[0], plain, dtype)
    found = run("GroupNormSwish", x, gamma, beta, swish_scale=1.5, **attrs)
    check(found[0], t / (1 + np.exp(-1.5 * t)), dtype)
    found = run("GroupNormSwish", x, gamma, beta, activate_swish=False, **attrs)
    check(found[0], t, dtype)


@pytest.mark.parametrize("dtype", FLOATS)
def test_instance_norm_in_pieces(dtype):
    x = sample("any", (2, 3, 4, 5), dtype)
    wide = x.astype(F64)
    total, square = run("INTrainingReduceV2", x)
    check(total, wide.sum((2, 3), keepdims=True), F32)
    check(square, (wide**2).sum((2, 3), keepdims=True), F32)
    n, mean, variance, _ = standard(x, (2, 3), 1e-3)
    unbiased = variance * 20 / 19
    shape = (2, 3, 1, 1)
    gamma, beta, old_mean = (sample("any", shape, F32, i) for i in (1, 2, 3))
    old_variance = sample("positive", shape, F32, 4)
    found = run("INTrainingUpdateV2", x, total, square, epsilon=1e-3)
    for have, want, kind in zip(found, (n, mean, unbiased), (dtype, F32, F32), strict=True):
        check(have, want, kind, scale=256)
    one = (total[0] * 0, square[0])  # of all images, without their dimension
    assert [a.shape for a in run("INTrainingUpdateV2", x, *one)] == [x.shape, shape, shape]
    given = (gamma, beta, old_mean, old_variance)
    found = run("INTrainingUpdateV2", x, total, square, *given, epsilon=1e-3, momentum=0.25)
    wants = (n * gamma + beta, 0.25 * mean + 0.75 * old_mean, 0.25 * unbiased + 0.75 * old_variance)
    for have, want, kind in zip(found, wants, (dtype, F32, F32), strict=True):
        check(have, want, kind, scale=256)
    found = run("INInferV2", x, *given, epsilon=1e-3)
    want = (wide - old_mean) / np.sqrt(old_variance.astype(F64) + 1e-3) * gamma + beta
    check(found[0], want, dtype)
    assert_close(found[1], old_mean)
    assert_close(found[2], old_variance)


@pytest.mark.parametrize("axis", [(), (1,), (1, -1)])
def test_l2_normalize(axis):
    x = sample("any", (2, 3, 4), F32)
    x[0] = 0
    square = (x.astype(F64) ** 2).sum(axis or None, keepdims=True)
    want = x / np.sqrt(np.maximum(square, 0.5))
    check(run("L2Normalize", x, axis=axis, eps=0.5)[0], want, F32)


@pytest.mark.parametrize("spatial", [False, True])
@pytest.mark.parametrize("shared", [False, True])
def test_normalize(shared, spatial):
    x, w = sample("any", (2, 3, 4, 5), F32), sample("any", (1,) if shared else (3,), F32, 1)
    square = (x.astype(F64) ** 2).sum((1, 2, 3) if spatial else 1, keepdims=True)
    found = run("Normalize", x, w, across_spatial=spatial, channel_shared=shared)[0]
    check(found, x * w.reshape(1, -1, 1, 1) / np.sqrt(square + 1e-10), F32)


@pytest.mark.parametrize("size", [1, 3, 9])
def test_lrn_as_onnx(size):
    x = sample("any", (2, 5, 3, 4), F32)
    attrs = {"bias": 2.0, "beta": 0.75}
    want = onnx_outputs("LRN", x, alpha=0.3, size=size, **attrs)[0]
    found = run("LRN", x, alpha=0.3 / size, depth_radius=size // 2, **attrs)[0]
    assert_close(found, want, scale=16)


@pytest.mark.parametrize(
    ("axis", "num_axes", "blob", "shape"),
    [
        (1, 1, True, (3,)),
        (-2, 2, True, (4, 5)),
        (1, -1, True, (3, 4, 5)),
        (1, 0, True, (1,)),
        (0, 1, False, (2, 3)),
        (2, 1, True, (1,)),
    ],
)
def test_scale_and_bias(axis, num_axes, blob, shape):
    x, scale, bias = (sample("any", s, F32, i) for i, s in enumerate([(2, 3, 4, 5), shape, shape]))
    start = axis % 4
    wide = (*(1,) * start, *shape, *(1,) * 4)[:4] if shape != (1,) else ()
    a, b = (v.astype(F64).reshape(wide) for v in (scale, bias))
    attrs = {"axis": axis, "num_axes": num_axes}
    found = run("Scale", x, scale, bias, scale_from_blob=blob, **attrs)[0]
    check(found, x * a + b, F32)
    check(run("Scale", x, scale, scale_from_blob=blob, **attrs)[0], x * a, F32)
    check(run("Bias", x, bias, bias_from_blob=blob, **attrs)[0], x + b, F32)
