"""How a folded convolution takes one op behind it: a table by op type.

Each entry gets the step, the op, the place of the convolution's result among its operands and the
operands that are constants; it says whether the step does now what the op did.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from ge_xdsl.dialects.ge.activation import HardSigmoidOp, LeakyReluOp
from ge_xdsl.dialects.ge.norm import BatchNormOp
from ge_xdsl.dialects.ge.op import GeOp
from ge_xdsl.dialects.ge.types import DataType, tensor_of
from ge_xdsl.interpreters.finish import (
    Added,
    Times,
    clip,
    hard_sigmoid,
    hard_swish,
    leaky_relu,
    plus,
    relu,
)
from ge_xdsl.interpreters.folded import FoldedStep, is_moderate

if TYPE_CHECKING:
    from ge_xdsl.dialects.ge.types import Array

Constants = Sequence["Array | None"]
Absorb = Callable[[FoldedStep, GeOp, int, Constants], bool]


def absorbs(step: FoldedStep, op: GeOp, place: int, constants: Constants) -> bool:
    """Whether the step takes the op, which it has done then but for the order of steps."""
    absorb = _TABLE.get(op.op_type)
    types = {tensor_of(value.type).dtype for value in op.results[:1]}
    if absorb is None or types != {DataType.DT_FLOAT}:
        return False
    return absorb(step, op, place, constants)


def _batch_norm(step: FoldedStep, op: GeOp, place: int, constants: Constants) -> bool:
    import numpy as np

    assert isinstance(op, BatchNormOp)
    arrays = [a.astype(np.float64).reshape(-1) for a in constants if a is not None]
    if place or len(arrays) != 4 or op.is_training or step.posts:
        return False
    if op.data_format.find("C") != step.channel_axis:
        return False
    if any(array.size != step.channels for array in arrays):
        return False
    gamma, beta, mean, variance = arrays
    with np.errstate(all="ignore"):
        scale = gamma / np.sqrt(variance + op.epsilon)
        return step.line(scale, beta - mean * scale)


def _transpose(step: FoldedStep, op: GeOp, place: int, constants: Constants) -> bool:
    perm = constants[1]
    order = None if perm is None else tuple(int(i) for i in perm)
    if place or order is None or sorted(order) != [0, 1, 2, 3]:
        return False
    step.perm = tuple(step.perm[i] for i in order)
    return True


def _add(step: FoldedStep, op: GeOp, place: int, constants: Constants) -> bool:
    other = constants[1 - place]
    if other is not None:
        return _shift(step, other)
    shape = tensor_of(op.operands[1 - place].type).shape
    if shape is None or len(shape) != 4:
        return False
    step.posts.append(Added(len(step.perms)))
    step.perms.append(step.perm)
    return True


def _subtract(step: FoldedStep, op: GeOp, place: int, constants: Constants) -> bool:
    other = constants[1]
    return not place and other is not None and _shift(step, -other)


def _multiply(step: FoldedStep, op: GeOp, place: int, constants: Constants) -> bool:
    other = constants[1 - place]
    return other is not None and _scale(step, other)


def _divide(step: FoldedStep, op: GeOp, place: int, constants: Constants) -> bool:
    import numpy as np

    other = constants[1]
    if place or other is None or not other.all():
        return False
    return _scale(step, 1 / other.astype(np.float64))


def _scale(step: FoldedStep, by: Array) -> bool:
    """Scale by one moderate number, or by one per channel while nothing else was taken."""
    numbers = _per_channel(step, by)
    if numbers is None:
        return False
    if not step.posts:
        return step.line(numbers, 0.0)
    factor, last = numbers.item(), step.posts[-1]
    if not is_moderate(factor):
        return False
    if isinstance(last, Times) and is_moderate(last.factor * factor):
        step.posts[-1] = Times(last.factor * factor)
    else:
        step.posts.append(Times(factor))
    return True


def _shift(step: FoldedStep, by: Array) -> bool:
    """Add one number, or one per channel while nothing else was taken."""
    numbers = _per_channel(step, by)
    if numbers is None:
        return False
    if not step.posts:
        return step.line(1.0, numbers)
    step.posts.append(plus(numbers.item()))
    return True


def _per_channel(step: FoldedStep, array: Array) -> Array | None:
    """One finite number, or one per channel if the step has no posts yet, as a line of f64."""
    import numpy as np

    if array.ndim > 4 or not np.isfinite(array).all():
        return None
    if array.size != 1:
        shape = [1] * 4
        shape[step.channel_axis] = step.channels
        if step.posts or (1,) * (4 - array.ndim) + array.shape != tuple(shape):
            return None
    return array.astype(np.float64).reshape(-1)


def _relu(step: FoldedStep, op: GeOp, place: int, constants: Constants) -> bool:
    step.posts.append(relu())
    return True


def _hard_swish(step: FoldedStep, op: GeOp, place: int, constants: Constants) -> bool:
    step.posts += [hard_swish(), Times(1 / 6)]
    return True


def _hard_sigmoid(step: FoldedStep, op: GeOp, place: int, constants: Constants) -> bool:
    assert isinstance(op, HardSigmoidOp)
    step.posts += hard_sigmoid(op.alpha, op.beta)
    return True


def _leaky_relu(step: FoldedStep, op: GeOp, place: int, constants: Constants) -> bool:
    assert isinstance(op, LeakyReluOp)
    if not 0 < op.negative_slope <= 1:
        return False
    step.posts.append(leaky_relu(op.negative_slope))
    return True


def _clip(step: FoldedStep, op: GeOp, place: int, constants: Constants) -> bool:
    _, low, high = constants
    if place or low is None or high is None or low.size != 1 or high.size != 1:
        return False
    if max(low.ndim, high.ndim) > 1 or not low.item() <= high.item():
        return False
    step.posts.append(clip(low.item(), high.item()))
    return True


_TABLE: dict[str, Absorb] = {
    "Add": _add,
    "BatchNorm": _batch_norm,
    "ClipByValue": _clip,
    "Div": _divide,
    "HardSigmoid": _hard_sigmoid,
    "HardSwish": _hard_swish,
    "LeakyRelu": _leaky_relu,
    "Mul": _multiply,
    "RealDiv": _divide,
    "Relu": _relu,
    "Sub": _subtract,
    "Transpose": _transpose,
}
