"""Losses: onnxruntime and formulas in f64 against `evaluate`."""

import numpy as np
import pytest
from op_runs import make, onnx_outputs, run
from op_witness import BF16, F16, F32, F64, I32, I64, assert_close, sample

DTYPES = (F32, F16, BF16)
REDUCTIONS = {"none": lambda v: v, "sum": np.sum, "mean": np.mean}


def softmax(x, axis):
    e = np.exp(x - x.max(axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    ("shape", "label_shape"),
    [((4, 5), (4, 5)), ((4, 5), (1, 5)), ((5,), (5,)), ((2, 5, 3), (2, 5, 3))],
)
def test_softmax_cross_entropy(shape, label_shape, dtype):
    x, labels = sample("any", shape, dtype), sample("positive", label_shape, dtype, 1)
    wide = np.atleast_2d(x.astype(F64))
    all_labels = np.broadcast_to(labels.astype(F64), wide.shape)
    p = softmax(wide, 1)
    loss, backprop = run("SoftmaxCrossEntropyWithLogits", x, labels)
    assert_close(loss, -(all_labels * np.log(p)).sum(axis=1).astype(dtype), 4)
    assert_close(backprop, (p - all_labels).astype(dtype), 4)


@pytest.mark.parametrize("dtype", DTYPES)
def test_sparse_softmax_cross_entropy(dtype):
    x, labels = sample("any", (4, 5), dtype), np.array([0, 4, 2, 2], I32)
    p = softmax(x.astype(F64), 1)
    loss, backprop = run("SparseSoftmaxCrossEntropyWithLogits", x, labels)
    assert_close(loss, -np.log(p[np.arange(4), labels]).astype(dtype), 4)
    assert_close(backprop, (p - np.eye(5)[labels]).astype(dtype), 4)


def test_softmax_does_not_overflow():
    x = np.array([[1000.0, 0.0]], F32)
    loss, backprop = run("SparseSoftmaxCrossEntropyWithLogits", x, np.array([1], I64))
    assert (loss.tolist(), backprop.tolist()) == ([1000.0], [[1.0, -1.0]])


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_sigmoid_cross_entropy(dtype, reduction):
    p, t = sample("any", (3, 4), dtype), np.abs(sample("unit", (3, 4), dtype, 1))
    w, pos = sample("positive", (3, 4), dtype, 2), sample("positive", (4,), dtype, 3)
    a, b, c, d = (v.astype(F64) for v in (p, t, w, pos))
    plain = -(b * np.log(sigmoid(a)) + (1 - b) * np.log(sigmoid(-a)))
    assert_close(run("SigmoidCrossEntropyWithLogits", p, t)[0], plain.astype(dtype), 4)
    combine, op = REDUCTIONS[reduction], "SigmoidCrossEntropyWithLogitsV2"
    y = run(op, p, t, None, None, reduction=reduction)[0]
    assert_close(y, np.asarray(combine(plain)).astype(dtype), 4)
    heavy = -c * (d * b * np.log(sigmoid(a)) + (1 - b) * np.log(sigmoid(-a)))
    y = run(op, p, t, w, pos, reduction=reduction)[0]
    assert_close(y, np.asarray(combine(heavy)).astype(dtype), 4)


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_differences(dtype, reduction):
    p, t = sample("any", (3, 4), dtype), sample("any", (3, 4), dtype, 1)
    d = p.astype(F64) - t.astype(F64)
    combine = REDUCTIONS[reduction]
    for sigma in (1.0, 2.5, 0.0):
        smooth = np.array(
            [
                [0.5 * v * v / sigma if abs(v) < sigma else abs(v) - 0.5 * sigma for v in r]
                for r in d
            ]
        )
        assert_close(run("SmoothL1Loss", p, t, sigma=sigma)[0], smooth.astype(dtype), 4)
        y = run("SmoothL1LossV2", p, t, sigma=sigma, reduction=reduction)[0]
        assert_close(y, np.asarray(combine(smooth)).astype(dtype), 4)
    y = run("MseLoss", p, t, reduction=reduction)[0]
    assert_close(y, np.asarray(combine(d * d)).astype(dtype), 4)
    y = run("LpLoss", p, t, p=1, reduction=reduction)[0]
    assert_close(y, np.asarray(combine(np.abs(d))).astype(dtype), 4)
    margin = np.log(1 + np.exp(-p.astype(F64) * t.astype(F64)))
    y = run("SoftMarginLoss", p, t, reduction=reduction)[0]
    assert_close(y, np.asarray(combine(margin)).astype(dtype), 4)


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_binary_cross_entropy(dtype, reduction):
    x, t = (np.abs(sample("unit", (3, 4), dtype, i)) for i in (0, 1))
    x[0, :2], t[0, :2] = [0, 1], [1, 0]
    w = sample("positive", (4,), dtype, 2)
    a, b = x.astype(F64), t.astype(F64)
    with np.errstate(divide="ignore"):
        logs = np.maximum(np.log(a), -100), np.maximum(np.log(1 - a), -100)
    loss = -(b * logs[0] + (1 - b) * logs[1])
    combine = REDUCTIONS[reduction]
    y = run("BinaryCrossEntropy", x, t, None, reduction=reduction)[0]
    assert_close(y, np.asarray(combine(loss)).astype(dtype), 4)
    y = run("BinaryCrossEntropy", x, t, w, reduction=reduction)[0]
    assert_close(y, np.asarray(combine(loss * w.astype(F64))).astype(dtype), 4)


@pytest.mark.parametrize("reduction", [*REDUCTIONS, "batchmean"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_divergences(dtype, reduction):
    x, t = sample("any", (3, 4), dtype), np.abs(sample("unit", (3, 4), dtype, 1))
    t[0, 0] = 0
    a, b = x.astype(F64), t.astype(F64)
    combine = REDUCTIONS.get(reduction) or (lambda v: v.sum() / 3)
    loss = np.where(b > 0, b * (np.log(np.where(b > 0, b, 1)) - a), 0)
    y = run("KLDivV2", x, t, reduction=reduction)[0]
    assert_close(y, np.asarray(combine(loss)).astype(dtype), 8)
    y = run("KLDivV2", x, t, reduction=reduction, log_target=True)[0]
    assert_close(y, np.asarray(combine(np.exp(b) * (b - a))).astype(dtype), 8)


@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_poisson(reduction):
    x, t = sample("unit", (3, 4), F32), sample("positive", (3, 4), F32, 1)
    a, b = x.astype(F64), t.astype(F64)
    plain = np.exp(a) - b * a
    extra = np.where(b > 1, b * np.log(b) - b + 0.5 * np.log(2 * np.pi * b), 0)
    combine = REDUCTIONS[reduction]
    y = run("PoissonNllLoss", x, t, reduction=reduction)[0]
    assert_close(y, np.asarray(combine(plain)).astype(F32), 4)
    y = run("PoissonNllLoss", x, t, reduction=reduction, full=True)[0]
    assert_close(y, np.asarray(combine(plain + extra)).astype(F32), 4)
    y = run("PoissonNllLoss", t, t, reduction=reduction, log_input=False, eps=0.5)[0]
    assert_close(y, np.asarray(combine(b - b * np.log(b + 0.5))).astype(F32), 4)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("shape", [(4, 5), (2, 5, 3)])
def test_class_losses_as_onnx(shape, reduction, weighted):
    x = sample("any", shape, F32)
    target = np.random.default_rng(0).integers(0, 5, (shape[0], *shape[2:]))
    weight = sample("positive", (5,), F32, 1) if weighted else None
    attrs = {"reduction": reduction, "ignore_index": 3}
    y, total = run("NLLLoss", x, target, weight, **attrs)
    assert_close(y, onnx_outputs("NegativeLogLikelihoodLoss", x, target, weight, **attrs)[0], 4)
    used = target[target != 3]
    wanted = weight[used].sum() if weighted else used.size
    assert_close(total, np.array(wanted, F32), 4)
    expected = onnx_outputs("SoftmaxCrossEntropyLoss", x, target, weight, count=2, **attrs)
    found = run("SoftmaxCrossEntropyLoss", x, target, weight, **attrs)
    for a, b in zip(found, expected, strict=True):
        assert_close(a, b, 4)


def test_class_loss_of_one_row():
    y, total = run("NLLLoss", np.array([1, 2, 3], F16), np.array(1, I32), None)
    assert (y, total) == (-2, 1)
    assert y.shape == total.shape == ()
    nothing = run("NLLLoss", np.ones((2, 3), F32), np.array([-100, -100]), None)
    assert np.isnan(nothing[0])
    assert nothing[1] == 0


def test_classes_that_do_not_exist():
    arrays = [np.zeros((2, 3), F32), np.array([0, 3])]
    op = make("NLLLoss", arrays, True)
    with pytest.raises(ValueError, match="classes reach from 0 to 3, expected 0 to 2"):
        op.execute(arrays)
