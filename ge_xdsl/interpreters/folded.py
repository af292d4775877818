"""Convolutions of a program that take the ops behind them along.

A convolution by constants, a batch normalisation by constants that alone reads it, and an
activation that alone reads that become one step: the filter and the bias take the scale and the
shift of the normalisation, and the activation runs in place, a few elements at a time. What
onnxruntime does to a model when its session is made. The results differ from the op-by-op run by
the rounding of f32, once more or less per product.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol

from xdsl.utils.exceptions import VerifyException

from ge_xdsl.dialects.ge.conv import Conv2DOp, DepthwiseConv2DOp
from ge_xdsl.dialects.ge.elements import rectify
from ge_xdsl.dialects.ge.limits import check_sizes
from ge_xdsl.dialects.ge.norm import BatchNormOp
from ge_xdsl.dialects.ge.op import GeOp
from ge_xdsl.dialects.ge.types import DataType, tensor_of
from ge_xdsl.interpreters.ge import EVALUATION_ERRORS, op_failure

if TYPE_CHECKING:
    from xdsl.ir import Operation

    from ge_xdsl.dialects.ge.types import Array

CHUNK = 1 << 14
"""Elements of an activation that are worked on together: what they take stays in the cache."""


def _hard_swish(y: Array) -> None:
    """y * min(max(y + 3, 0), 6) / 6 over y."""
    import numpy as np

    flat = y.reshape(-1)
    room = np.empty(min(CHUNK, flat.size), y.dtype)
    for start in range(0, flat.size, CHUNK):
        part = flat[start : start + CHUNK]
        gate = room[: part.size]
        np.add(part, np.float32(3), out=gate)
        np.clip(gate, np.float32(0), np.float32(6), out=gate)
        part *= gate
        part /= np.float32(6)


def _relu(y: Array) -> None:
    rectify(y, out=y)


_ACTIVATIONS: dict[str, Callable[[Array], None]] = {"Relu": _relu, "HardSwish": _hard_swish}
"""Activations of one operand, in place on a whole array."""


class AnyStep(Protocol):
    """What a run needs of a step."""

    @property
    def op(self) -> Operation | None:
        """What the step does, None when it is no GE op of its own."""
        ...

    @property
    def inputs(self) -> list[int]:
        """The numbers of the operands' values."""
        ...

    @property
    def outputs(self) -> list[int]:
        """The numbers of the results' values."""
        ...

    @property
    def dead(self) -> list[int]:
        """The numbers of the values that nothing reads afterwards."""
        ...

    @property
    def remembers(self) -> bool:
        """Whether `recall` may give what the last run gave."""
        ...

    def run(self, arrays: Sequence[Array], /) -> Sequence[Array]:
        """One array per result."""
        ...

    def recall(self, arrays: Sequence[Array], /) -> Sequence[Array]:
        """`run`, or what it gave last on the same arrays."""
        ...


class FoldedStep:
    """A convolution of x with a filter and a bias that stay, and an activation."""

    __slots__ = (
        "activation", "bias", "conv", "dead", "groups", "inputs", "outputs", "rest", "shape",
        "weight",
    )  # fmt: skip
    op = None
    remembers = False

    def __init__(self, step: AnyStep, constants: Sequence[Array]) -> None:
        import numpy as np

        op = step.op
        assert isinstance(op, Conv2DOp | DepthwiseConv2DOp)
        self.conv = op
        self.shape: tuple[int, ...] | None = None
        """The shape of x when sizes were checked last."""
        self.rest = constants
        """The operands after x."""
        inputs = op.channels_of(tensor_of(op.x.type).shape or ())
        weight, self.groups = op.kernel(constants[0], inputs)
        self.weight = np.ascontiguousarray(weight)
        self.bias = None if op.bias is None else constants[1]
        self.inputs = step.inputs[:1]
        self.outputs = step.outputs
        self.dead = list(step.dead)
        self.activation: Callable[[Array], None] | None = None

    def normalise(self, scale: Array, shift: Array) -> None:
        """Scale and shift the result per channel, by way of the filter and the bias."""
        import numpy as np

        bias = shift if self.bias is None else self.bias * scale + shift
        self.bias = bias.astype(np.float32)
        self.weight = (self.weight * scale.reshape(-1, 1, 1, 1)).astype(np.float32)

    def take(self, other: AnyStep) -> None:
        """End where another step ended."""
        self.outputs = other.outputs[:1]
        self.dead += [slot for slot in other.dead if slot not in other.inputs[:1]]

    def run(self, arrays: Sequence[Array]) -> Sequence[Array]:
        """The result on x; raises CompileError that names the convolution."""
        (x,) = arrays
        try:
            if x.shape != self.shape:
                check_sizes(self.conv, [x, *self.rest])
                self.shape = x.shape
            y = self.conv.convolve(x, self.weight, self.groups, self.bias)
            if self.activation is not None:
                self.activation(y)
        except (*EVALUATION_ERRORS, VerifyException) as error:
            raise op_failure(self.conv, error) from error
        return (y,)

    def recall(self, arrays: Sequence[Array]) -> Sequence[Array]:
        """`run`: nothing is remembered."""
        return self.run(arrays)


def fold(
    steps: Sequence[AnyStep], values: Sequence[Array | None], outputs: Sequence[int]
) -> list[AnyStep]:
    """The steps, with what stands directly behind a convolution taken into it where it can be.

    `values` holds the arrays that are the same in every run; the values of `outputs` are asked
    for at the end.
    """
    uses = Counter([i for step in steps for i in step.inputs] + list(outputs))
    found: list[AnyStep] = []
    for step in steps:
        constants = [array for i in step.inputs[1:] if (array := values[i]) is not None]
        whole = len(constants) == len(step.inputs) - 1
        if whole and _is_foldable(step.op):
            found.append(FoldedStep(step, constants))
        elif not (whole and found and _taken(found[-1], step, constants, uses)):
            found.append(step)
    return found


def _is_foldable(op: Operation | None) -> bool:
    """Whether an op is a convolution of f32 with a known number of channels."""
    if not isinstance(op, Conv2DOp | DepthwiseConv2DOp) or op.data_format != "NCHW":
        return False
    x = tensor_of(op.x.type)
    return x.dtype == DataType.DT_FLOAT and x.shape is not None and x.shape[1] >= 0


def _taken(last: AnyStep, step: AnyStep, constants: list[Array], uses: Counter[int]) -> bool:
    """Whether the folded step `last` now does what `step` did, whose other operands stay."""
    if not isinstance(last, FoldedStep) or last.activation is not None:
        return False
    if step.inputs[0] != last.outputs[0] or uses[step.inputs[0]] != 1:
        return False
    op = step.op
    if isinstance(op, BatchNormOp) and len(constants) == 4:
        if op.is_training or op.data_format[1] != "C" or any(uses[i] for i in step.outputs[1:]):
            return False
        last.normalise(*_line(op, constants))
    elif isinstance(op, GeOp) and op.op_type in _ACTIVATIONS:
        last.activation = _ACTIVATIONS[op.op_type]
    else:
        return False
    last.take(step)
    return True


def _line(op: BatchNormOp, constants: list[Array]) -> tuple[Array, Array]:
    """Scale and shift per channel, in f64, of a batch normalisation by constants."""
    import numpy as np

    gamma, beta, mean, variance = (a.astype(np.float64).reshape(-1) for a in constants)
    scale = gamma / np.sqrt(variance + op.epsilon)
    return scale, beta - mean * scale
