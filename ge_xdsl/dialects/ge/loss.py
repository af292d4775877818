"""Loss functions.

`reduction` is none, sum or mean: each element's loss, their sum, or their mean, the latter two as
scalars. Logarithms of softmax and sigmoid are computed without overflow.
"""

from __future__ import annotations

from math import pi
from typing import TYPE_CHECKING

from xdsl.utils.exceptions import VerifyException

from ge_xdsl.dialects.ge.elements import FLOATS, INDICES, one_element_type, require
from ge_xdsl.dialects.ge.extents import at_least_rank, merge_shapes
from ge_xdsl.dialects.ge.fields import (
    boolean,
    floating,
    integer,
    operand,
    optional,
    result,
    string,
)
from ge_xdsl.dialects.ge.op import GeOp
from ge_xdsl.dialects.ge.shapes import Shape, broadcast, merge_dim, shape_text
from ge_xdsl.dialects.ge.types import DataType, Tensor

if TYPE_CHECKING:
    from ge_xdsl.dialects.ge.types import Array

_FLOAT = "a floating-point type"
_LABELS = INDICES | {DataType.DT_UINT8}
_REDUCTIONS = ("none", "sum", "mean")


def log_softmax(x: Array, axis: int) -> Array:
    """x - max - log(sum(exp(x - max))) along one axis."""
    import numpy as np

    shifted = x - np.max(x, axis=axis, keepdims=True, initial=-np.inf)
    return np.asarray(shifted - np.log(np.sum(np.exp(shifted), axis=axis, keepdims=True)))


def check_reduction(reduction: str) -> None:
    """Raises for a reduction that is not none, sum or mean."""
    if reduction not in _REDUCTIONS:
        raise VerifyException(f"reduction is '{reduction}', expected none, sum or mean")


def reduced_loss(loss: Array, reduction: str) -> Array:
    """The losses, their sum or their mean."""
    import numpy as np

    if reduction == "none":
        return loss
    return np.asarray(np.sum(loss) if reduction == "sum" else np.mean(loss))


def softplus(x: Array) -> Array:
    """log(1 + exp(x)) without overflow."""
    import numpy as np

    return np.asarray(np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x))))


class _Pair(GeOp):
    """Two floating-point operands of one element type and shape; the ops number the constraints."""

    widens = True

    def pair(self, a: Tensor, b: Tensor, names: str) -> Tensor:
        require(a, names.split()[0], FLOATS, _FLOAT)  # C1
        dtype = one_element_type(a, b)  # C1
        return Tensor(dtype, merge_shapes(a.shape, b.shape, f"shapes of {names}"))  # C2


def _with_reduction(loss: Tensor, reduction: str) -> Tensor:
    check_reduction(reduction)  # C3
    return loss if reduction == "none" else loss.with_shape(())


class SoftmaxCrossEntropyWithLogitsOp(GeOp):
    """loss = -sum(labels * log_softmax(features)), backprop = softmax(features) - labels.

    Classes are the last dimension of vectors and matrices, dimension 1 of higher ranks; features
    and labels broadcast. A vector counts as one row. C1: features and labels are floating-point
    tensors of one element type. C2: they broadcast. C3: they have rank >= 1.
    """

    name = "ge.SoftmaxCrossEntropyWithLogits"

    features = operand()
    labels = operand()
    loss = result()
    backprop = result()

    widens = True

    def infer(self, features: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
        require(features, "features", FLOATS, _FLOAT)  # C1
        dtype = one_element_type(features, labels)  # C1
        at_least_rank(features, 1, "features")  # C3
        at_least_rank(labels, 1, "labels")  # C3
        shape = broadcast(features.shape, labels.shape)  # C2
        if shape is None:
            return Tensor(dtype, None), Tensor(dtype, None)
        shape = (1, *shape) if len(shape) == 1 else shape
        return Tensor(dtype, (shape[0], *shape[2:])), Tensor(dtype, shape)

    def evaluate(self, features: Array, labels: Array) -> tuple[Array, Array]:
        import numpy as np

        features, labels = (np.atleast_2d(a) for a in np.broadcast_arrays(features, labels))
        logs = log_softmax(features, 1)
        return np.asarray(-np.sum(labels * logs, axis=1)), np.exp(logs) - labels


def _class_shape(x: Tensor, target: Tensor, name: str) -> Shape:
    """The shape of class numbers for scores with classes in dimension 1 (0 of a vector)."""
    require(target, name, _LABELS, "DT_INT32, DT_INT64 or DT_UINT8")
    at_least_rank(x, 1, "the scores")
    if x.shape is None:
        return target.shape
    classless = () if len(x.shape) == 1 else (x.shape[0], *x.shape[2:])
    return merge_shapes(target.shape, classless, f"shapes of {name} and of the scores")


def _picked(x: Array, target: Array) -> Array:
    """x[n, target[n, ...], ...]; raises ValueError for a class that does not exist."""
    import numpy as np

    rows = x if x.ndim > 1 else x[None]
    picks = target if x.ndim > 1 else target.reshape(1)
    if picks.size and (picks.min() < 0 or picks.max() >= rows.shape[1]):
        raise ValueError(
            f"classes reach from {picks.min()} to {picks.max()}, expected 0 to {rows.shape[1] - 1}"
        )
    index = np.expand_dims(picks.astype(np.int64), 1)
    return np.take_along_axis(rows, index, axis=1).squeeze(1).reshape(target.shape)


class SparseSoftmaxCrossEntropyWithLogitsOp(GeOp):
    """loss[i] = -log_softmax(features[i])[labels[i]], backprop = softmax(features) - one-hot.

    C1: features is a floating-point tensor. C2: it has rank 2. C3: labels is i32 or i64 with one
    number per row.
    """

    name = "ge.SparseSoftmaxCrossEntropyWithLogits"

    features = operand()
    labels = operand()
    loss = result()
    backprop = result()

    widens = True

    def infer(self, features: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
        require(features, "features", FLOATS, _FLOAT)  # C1
        if features.rank not in (None, 2):  # C2
            raise VerifyException(f"features is {shape_text(features.shape)}, expected rank 2")
        require(labels, "labels", INDICES, "DT_INT32 or DT_INT64")  # C3
        rows = None if features.shape is None else features.shape[:1]
        shape = merge_shapes(labels.shape, rows, "shapes of labels and of the rows")  # C3
        return features.with_shape(shape), features

    def evaluate(self, features: Array, labels: Array) -> tuple[Array, Array]:
        import numpy as np

        logs = log_softmax(features, 1)
        backprop = np.exp(logs)
        loss = -_picked(logs, labels)
        backprop[np.arange(labels.size), labels] -= 1
        return loss, backprop


class SigmoidCrossEntropyWithLogitsOp(_Pair):
    """loss = max(p, 0) - p*t + log(1 + exp(-|p|)) for each element.

    C1: predict and target are floating-point tensors of one element type. C2: they have one shape.
    """

    name = "ge.SigmoidCrossEntropyWithLogits"

    predict = operand()
    target = operand()
    loss = result()

    def infer(self, predict: Tensor, target: Tensor) -> Tensor:
        return self.pair(predict, target, "predict and target")

    def evaluate(self, predict: Array, target: Array) -> Array:
        return softplus(predict) - predict * target


class SigmoidCrossEntropyWithLogitsV2Op(_Pair):
    """loss = weight * ((1 - t)*p + (1 + (pos_weight - 1)*t) * log(1 + exp(-p))), then reduced.

    C1: all operands are floating-point tensors of one element type. C2: predict and target have one
    shape. C3: reduction is none, sum or mean. C4: weight and pos_weight broadcast to predict.
    """

    name = "ge.SigmoidCrossEntropyWithLogitsV2"

    predict = operand()
    target = operand()
    weight = optional()
    pos_weight = optional()
    loss = result()
    reduction = string("mean")

    def infer(
        self, predict: Tensor, target: Tensor, weight: Tensor | None, pos_weight: Tensor | None
    ) -> Tensor:
        loss = self.pair(predict, target, "predict and target")
        for tensor, name in ((weight, "weight"), (pos_weight, "pos_weight")):
            if tensor is not None:
                one_element_type(predict, tensor)  # C1
                whole = broadcast(loss.shape, tensor.shape)  # C4
                merge_shapes(loss.shape, whole, f"shapes of predict and of it with {name}")  # C4
        return _with_reduction(loss, self.reduction)

    def evaluate(
        self, predict: Array, target: Array, weight: Array | None, pos_weight: Array | None
    ) -> Array:
        positive = 1 if pos_weight is None else 1 + (pos_weight - 1) * target
        loss = (1 - target) * predict + positive * softplus(-predict)
        return reduced_loss(loss if weight is None else loss * weight, self.reduction)


class SmoothL1LossOp(_Pair):
    """loss = d^2 / (2 sigma) where |d| < sigma, else |d| - sigma/2, with d = predict - label.

    C1: predict and label are floating-point tensors of one element type. C2: they have one shape.
    """

    name = "ge.SmoothL1Loss"

    predict = operand()
    label = operand()
    loss = result()
    sigma = floating(1.0)

    def infer(self, predict: Tensor, label: Tensor) -> Tensor:
        return self.pair(predict, label, "predict and label")

    def evaluate(self, predict: Array, label: Array) -> Array:
        return smooth_l1(predict - label, self.sigma)


def smooth_l1(d: Array, sigma: float) -> Array:
    """d^2 / (2 sigma) where |d| < sigma, else |d| - sigma/2."""
    import numpy as np

    size = np.abs(d)
    if sigma == 0:
        return size
    return np.asarray(np.where(size < sigma, size * size * (0.5 / sigma), size - 0.5 * sigma))


class SmoothL1LossV2Op(_Pair):
    """loss = d^2 / (2 sigma) where |d| < sigma, else |d| - sigma/2, d = predict - label; reduced.

    C1: predict and label are floating-point tensors of one element type. C2: they have one shape.
    C3: reduction is none, sum or mean.
    """

    name = "ge.SmoothL1LossV2"

    predict = operand()
    label = operand()
    loss = result()
    sigma = floating(1.0)
    reduction = string("mean")

    def infer(self, predict: Tensor, label: Tensor) -> Tensor:
        return _with_reduction(self.pair(predict, label, "predict and label"), self.reduction)

    def evaluate(self, predict: Array, label: Array) -> Array:
        return reduced_loss(smooth_l1(predict - label, self.sigma), self.reduction).astype(
            predict.dtype, copy=False
        )


class MseLossOp(_Pair):
    """y = (predict - label)^2, then reduced.

    C1: predict and label are floating-point tensors of one element type. C2: they have one shape.
    C3: reduction is none, sum or mean.
    """

    name = "ge.MseLoss"

    predict = operand()
    label = operand()
    y = result()
    reduction = string("mean")

    def infer(self, predict: Tensor, label: Tensor) -> Tensor:
        return _with_reduction(self.pair(predict, label, "predict and label"), self.reduction)

    def evaluate(self, predict: Array, label: Array) -> Array:
        import numpy as np

        return reduced_loss(np.square(predict - label), self.reduction)


class LpLossOp(_Pair):
    """y = |predict - label|, then reduced. C1: predict and label are floating-point tensors of one
    element type. C2: they have one shape. C3: reduction is none, sum or mean. C4: p is 1.
    """

    name = "ge.LpLoss"

    predict = operand()
    label = operand()
    y = result()
    p = integer()
    reduction = string("mean")

    def infer(self, predict: Tensor, label: Tensor) -> Tensor:
        if self.p != 1:  # C4
            raise VerifyException(f"p is {self.p}, expected 1")
        return _with_reduction(self.pair(predict, label, "predict and label"), self.reduction)

    def evaluate(self, predict: Array, label: Array) -> Array:
        import numpy as np

        return reduced_loss(np.abs(predict - label), self.reduction)


class SoftMarginLossOp(_Pair):
    """output_z = log(1 + exp(-input_y * input_x)), then reduced.

    C1: input_x and input_y are floating-point tensors of one element type. C2: they have one shape.
    C3: reduction is none, sum or mean.
    """

    name = "ge.SoftMarginLoss"

    input_x = operand()
    input_y = operand()
    output_z = result()
    reduction = string("mean")

    def infer(self, input_x: Tensor, input_y: Tensor) -> Tensor:
        return _with_reduction(self.pair(input_x, input_y, "input_x and input_y"), self.reduction)

    def evaluate(self, input_x: Array, input_y: Array) -> Array:
        return reduced_loss(softplus(-input_x * input_y), self.reduction)


class BinaryCrossEntropyOp(_Pair):
    """output = -weight * (y*log(x) + (1 - y)*log(1 - x)), logarithms at least -100; then reduced.

    C1: all operands are floating-point tensors of one element type. C2: x and y have one shape.
    C3: reduction is none, sum or mean. C4: weight broadcasts to x.
    """

    name = "ge.BinaryCrossEntropy"

    x = operand()
    y = operand()
    weight = optional()
    output = result()
    reduction = string("mean")

    def infer(self, x: Tensor, y: Tensor, weight: Tensor | None) -> Tensor:
        loss = self.pair(x, y, "x and y")
        if weight is not None:
            one_element_type(x, weight)  # C1
            whole = broadcast(loss.shape, weight.shape)  # C4
            merge_shapes(loss.shape, whole, "shapes of x and of it with weight")  # C4
        return _with_reduction(loss, self.reduction)

    def evaluate(self, x: Array, y: Array, weight: Array | None) -> Array:
        import numpy as np

        ones, zeros = (np.maximum(np.log(p), x.dtype.type(-100)) for p in (x, 1 - x))
        loss = -(y * ones + (1 - y) * zeros)
        return reduced_loss(loss if weight is None else loss * weight, self.reduction)


class _Divergence(_Pair):
    """What both forms of the Kullback-Leibler divergence share."""

    def reduced(self, x: Tensor, target: Tensor, reduction: str) -> Tensor:
        """The result's tensor."""
        loss = self.pair(x, target, "x and target")
        if reduction == "batchmean":
            return loss.with_shape(())
        if reduction not in _REDUCTIONS:  # C3
            raise VerifyException(
                f"reduction is '{reduction}', expected none, sum, mean or batchmean"
            )
        return _with_reduction(loss, reduction)

    def value(self, x: Array, target: Array, reduction: str, is_log: bool) -> Array:
        """The result; `is_log` when target is a logarithm."""
        import numpy as np

        if is_log:
            loss = np.exp(target) * (target - x)
        else:
            safe = np.where(target > 0, target, x.dtype.type(1))
            loss = np.where(target > 0, target * (np.log(safe) - x), x.dtype.type(0))
        if reduction == "batchmean":
            return np.asarray(np.sum(loss) / x.dtype.type(x.shape[0] if x.ndim else 1))
        return reduced_loss(np.asarray(loss), reduction)


class KLDivV2Op(_Divergence):
    """y = target * (log(target) - x), 0 where target is 0, then reduced.

    With log_target, target is a logarithm: exp(target) * (target - x). batchmean divides the sum by
    the first dimension. C1: x and target are floating-point tensors of one element type. C2: they
    have one shape. C3: reduction is none, sum, mean or batchmean.
    """

    name = "ge.KLDivV2"

    x = operand()
    target = operand()
    y = result()
    reduction = string("mean")
    log_target = boolean(False)

    def infer(self, x: Tensor, target: Tensor) -> Tensor:
        return self.reduced(x, target, self.reduction)

    def evaluate(self, x: Array, target: Array) -> Array:
        return self.value(x, target, self.reduction, self.log_target)


class KLDivOp(_Divergence):
    """y = target * (log(target) - x), 0 where target is 0, then reduced.

    batchmean divides the sum by the first dimension. C1: x and target are floating-point tensors of
    one element type. C2: they have one shape. C3: reduction is none, sum, mean or batchmean.
    """

    name = "ge.KLDiv"

    x = operand()
    target = operand()
    y = result()
    reduction = string()

    def infer(self, x: Tensor, target: Tensor) -> Tensor:
        return self.reduced(x, target, self.reduction)

    def evaluate(self, x: Array, target: Array) -> Array:
        return self.value(x, target, self.reduction, False)


class PoissonNllLossOp(_Pair):
    """loss = exp(x) - target*x with log_input, else x - target*log(x + eps); then reduced.

    full adds Stirling's target*log(target) - target + log(2 pi target)/2 where target > 1.
    C1: input_x and target are floating-point tensors of one element type. C2: they have one shape.
    C3: reduction is none, sum or mean.
    """

    name = "ge.PoissonNllLoss"

    input_x = operand()
    target = operand()
    loss = result()
    log_input = boolean(True)
    full = boolean(False)
    eps = floating(1e-8)
    reduction = string("mean")

    def infer(self, input_x: Tensor, target: Tensor) -> Tensor:
        return _with_reduction(self.pair(input_x, target, "input_x and target"), self.reduction)

    def evaluate(self, input_x: Array, target: Array) -> Array:
        import numpy as np

        if self.log_input:
            loss = np.exp(input_x) - target * input_x
        else:
            loss = input_x - target * np.log(input_x + self.eps)
        if self.full:
            safe = np.where(target > 1, target, target.dtype.type(1))
            stirling = safe * np.log(safe) - safe + 0.5 * np.log(2 * pi * safe)
            loss = loss + np.where(target > 1, stirling, target.dtype.type(0))
        return reduced_loss(np.asarray(loss), self.reduction)


def _check_weight(x: Tensor, weight: Tensor | None) -> None:
    if weight is None or weight.shape is None:
        return
    if len(weight.shape) != 1:
        raise VerifyException(f"weight is {shape_text(weight.shape)}, expected rank 1")
    if x.shape:
        classes = x.shape[min(1, len(x.shape) - 1)]
        merge_dim(weight.shape[0], classes, "lengths of weight and of the classes")


class NLLLossOp(GeOp):
    """y = -weight[t] * x[n, t, ...] for the class t = target[n, ...]; 0 where t is ignore_index.

    mean divides the sum by total_weight, the sum of the weights used (1 each without weight); it is
    NaN when none is. x is [N, C, ...] or [C]. C1: x and weight are floating-point tensors of one
    element type. C2: target is i32, i64 or u8 in the shape of x without classes. C3: reduction is
    none, sum or mean. C4: weight has one number per class.
    """

    name = "ge.NLLLoss"

    x = operand()
    target = operand()
    weight = optional()
    y = result()
    total_weight = result()
    reduction = string("mean")
    ignore_index = integer(-100)

    widens = True

    def infer(self, x: Tensor, target: Tensor, weight: Tensor | None) -> tuple[Tensor, Tensor]:
        require(x, "x", FLOATS, _FLOAT)  # C1
        one_element_type(x, weight)  # C1
        loss = x.with_shape(_class_shape(x, target, "target"))  # C2
        _check_weight(x, weight)  # C4
        return _with_reduction(loss, self.reduction), x.with_shape(())

    def evaluate(self, x: Array, target: Array, weight: Array | None) -> tuple[Array, Array]:
        loss, weights = weighted_nll(x, target, weight, self.ignore_index)
        return nll_reduced(loss, weights, self.reduction), weights.sum().reshape(())


def weighted_nll(
    x: Array, target: Array, weight: Array | None, ignored: int
) -> tuple[Array, Array]:
    """-weight[t] * x[n, t, ...] and weight[t], both 0 where t is `ignored`."""
    import numpy as np

    used = target != ignored
    classes = np.where(used, target, 0)
    picked = _picked(x, classes)
    weights = np.ones(target.shape, x.dtype) if weight is None else weight[classes]
    weights = np.asarray(np.where(used, weights, x.dtype.type(0)))
    return np.asarray(np.where(used, -weights * picked, x.dtype.type(0))), weights


def nll_reduced(loss: Array, weights: Array, reduction: str) -> Array:
    """The losses, their sum, or their sum over that of the weights."""
    import numpy as np

    if reduction == "mean":
        return np.asarray(np.sum(loss) / np.sum(weights))
    return reduced_loss(loss, reduction)


class SoftmaxCrossEntropyLossOp(GeOp):
    """log_prop = log_softmax(scores) over dimension 1; loss = its negative log likelihood.

    As NLLLoss on log_prop with class numbers labels, ONNX's SoftmaxCrossEntropyLoss; note that
    ignore_index is 0 unless it is set. C1: scores and weights are floating-point tensors of one
    element type. C2: labels is i32 or i64 in the shape of scores without classes. C3: reduction is
    none, sum or mean. C4: weights has one number per class. C5: scores has rank >= 2.
    """

    name = "ge.SoftmaxCrossEntropyLoss"

    scores = operand()
    labels = operand()
    weights = optional()
    loss = result()
    log_prop = result()
    ignore_index = integer(0)
    reduction = string("mean")

    widens = True

    def infer(self, scores: Tensor, labels: Tensor, weights: Tensor | None) -> list[Tensor]:
        require(scores, "scores", FLOATS, _FLOAT)  # C1
        one_element_type(scores, weights)  # C1
        at_least_rank(scores, 2, "scores")  # C5
        loss = scores.with_shape(_class_shape(scores, labels, "labels"))  # C2
        _check_weight(scores, weights)  # C4
        return [_with_reduction(loss, self.reduction), scores]

    def evaluate(self, scores: Array, labels: Array, weights: Array | None) -> list[Array]:
        logs = log_softmax(scores, 1)
        loss, used = weighted_nll(logs, labels, weights, self.ignore_index)
        return [nll_reduced(loss, used, self.reduction), logs]
