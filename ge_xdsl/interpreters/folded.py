"""A convolution of a program together with the ops behind it, as one step.

The filter and the bias take the scale and the shift of what follows per channel; sums with other
arrays and activations are done on a few rows of the results while they are in the cache. What
onnxruntime does to a model when its session is made. The results differ from the op-by-op run by
the rounding of f32, a few times more or less per product. Which ops are taken is `folding`'s
matter; shapes for which this does not work are run op by op.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import TYPE_CHECKING, Protocol

from xdsl.utils.exceptions import VerifyException

from ge_xdsl.dialects.ge.conv import Conv2DOp, DepthwiseConv2DOp
from ge_xdsl.dialects.ge.limits import check_sizes
from ge_xdsl.dialects.ge.windows import channels_first
from ge_xdsl.interpreters.channels_last import ImageKernel, kernel_for
from ge_xdsl.interpreters.finish import Added, Finish, Post
from ge_xdsl.interpreters.ge import EVALUATION_ERRORS, op_failure

if TYPE_CHECKING:
    from xdsl.ir import Operation

    from ge_xdsl.dialects.ge.types import Array

PLANS = 4
"""Most shapes of x for which the laid out filters are kept."""


FACTOR = 2.0**40
"""A factor goes to a filter while it is 0 or between 1 / FACTOR and FACTOR."""
SHIFT = 2.0**16
"""Most that a bias takes up: the sum with a large number, then its opposite, is a rounding."""


def is_moderate(factor: Array | float) -> bool:
    """Whether filters may take a factor, or one per channel."""
    import numpy as np

    size = np.abs(factor)
    return bool(((size == 0) | ((size >= 1 / FACTOR) & (size <= FACTOR))).all())


class AnyStep(Protocol):
    """What a run needs of a step."""

    inputs: list[int]
    """The numbers of the operands' values."""
    outputs: list[int]
    """The numbers of the results' values."""
    dead: list[int]
    """The numbers of the values that nothing reads afterwards."""

    @property
    def op(self) -> Operation | None:
        """What the step does, None when it is no GE op of its own."""
        ...

    @property
    def remembers(self) -> bool:
        """Whether `recall` may give what the last run gave."""
        ...

    def find_spare(self) -> None:
        """Once the dead values are known: see whether a result may replace an operand."""
        ...

    def run(self, arrays: Sequence[Array], /) -> Sequence[Array]:
        """One array per result."""
        ...

    def recall(self, arrays: Sequence[Array], /) -> Sequence[Array]:
        """`run`, or what it gave last on the same arrays."""
        ...


class JoinedStep:
    """Steps that are run as one, whose other operands than x are constants or other results."""

    __slots__ = ("constants", "dead", "inputs", "outputs", "parts", "posts")
    op = None
    remembers = False

    def __init__(self, step: AnyStep, constants: Mapping[int, Array]) -> None:
        self.parts = [step]
        self.constants = dict(constants)
        self.inputs = [i for i in step.inputs if i not in constants]
        self.outputs = step.outputs[:1]
        self.dead: list[int] = []
        self.posts: list[Post | Added] = []

    def take(self, step: AnyStep, constants: Mapping[int, Array], others: Sequence[int]) -> None:
        """End where another step ended; `others` are the values it reads besides."""
        self.parts.append(step)
        self.constants.update(constants)
        self.inputs = [*self.inputs, *others]
        self.outputs = step.outputs[:1]

    def find_spare(self) -> None:
        """Nothing: the result has memory of its own."""

    def apart(self, arrays: Sequence[Array]) -> Array:
        """The result by the steps as they were, one after the other."""
        found = {**self.constants, **dict(zip(self.inputs, arrays, strict=True))}
        for step in self.parts:
            results = step.run([found[i] for i in step.inputs])
            found.update(zip(step.outputs, results, strict=True))
        return found[self.outputs[0]]


class ActivationStep(JoinedStep):
    """An activation that was written as several ops, with no convolution before it."""

    __slots__ = ()

    def run(self, arrays: Sequence[Array]) -> Sequence[Array]:
        """The result on x; raises CompileError that names an op."""
        import numpy as np

        (x,) = arrays
        if x.dtype != np.float32 or x.size == 0:
            return (self.apart(arrays),)
        y = x.copy(order="K")
        flat: Array = y.ravel(order="K")  # a view: a copy in this order leaves no gaps
        Finish(None, flat.size, 1, self.posts).run(flat, ())
        return (y,)

    def recall(self, arrays: Sequence[Array]) -> Sequence[Array]:
        """`run`: nothing is remembered."""
        return self.run(arrays)


class FoldedStep(JoinedStep):
    """A convolution of x with a filter and a bias that stay, and what follows it."""

    __slots__ = (
        "conv",
        "factor",
        "inward",
        "outward",
        "perm",
        "perms",
        "plans",
        "rest",
        "scale",
        "shift",
    )

    def __init__(self, step: AnyStep, constants: Mapping[int, Array]) -> None:
        import numpy as np

        super().__init__(step, constants)
        op = step.op
        assert isinstance(op, Conv2DOp | DepthwiseConv2DOp)
        self.conv = op
        self.rest = [constants[i] for i in step.inputs[1:]]
        """The operands after x."""
        self.scale: Array | float = 1.0
        self.shift: Array | None = None
        """What the results are multiplied by and what is added, per channel, in f64."""
        if op.bias is not None:
            self.shift = self.rest[1].astype(np.float64)
        self.inward = self.outward = 1.0
        """What x and the result are left to be multiplied by."""
        self.perm: tuple[int, ...] = (0, 1, 2, 3) if op.data_format[1] == "C" else (0, 2, 3, 1)
        """The dimensions of the result, as those of NCHW."""
        self.perms: list[tuple[int, ...]] = []
        """`perm` when each of the other operands was added."""
        self.plans: dict[tuple[int, ...], Plan | None] = {}

    @property
    def channel_axis(self) -> int:
        """Where the channels are in the result."""
        return self.perm.index(1)

    def line(self, scale: Array | float, shift: Array | float) -> bool:
        """Multiply the result by `scale`, then add `shift`, numbers or one per channel, in f64.

        Says whether that may be done: not for numbers so large or small that the ops one after the
        other overflow, or round to what they are meant to round to.
        """
        import numpy as np

        before = np.zeros(self.channels) if self.shift is None else self.shift
        whole = self.scale * scale
        shifts = (before, before * scale, before * scale + shift, shift)
        if not is_moderate(scale) or not is_moderate(whole):
            return False
        if not all((np.abs(number) <= SHIFT).all() for number in shifts):
            return False
        self.scale, self.shift = whole, before * scale + shift
        return True

    def laid_out(self, others: Sequence[Array]) -> list[Array]:
        """What is added, as contiguous [N, rows, columns, channels]; other ranks as they are."""
        import numpy as np

        found: list[Array] = []
        for array, perm in zip(others, self.perms, strict=True):
            if array.ndim == 4:
                back = [perm.index(axis) for axis in (0, 2, 3, 1)]
                array = np.ascontiguousarray(array.transpose(back))
            found.append(array)
        return found

    @property
    def channels(self) -> int:
        """The channels of the result."""
        weight, _ = self.conv.kernel(self.rest[0], 0)
        return weight.shape[0]

    def run(self, arrays: Sequence[Array]) -> Sequence[Array]:
        """The result on x and what is added; raises CompileError that names an op."""
        x = arrays[0]
        try:
            plan = self._prepared(x)
            found = None if plan is None else plan.run(x, arrays[1:], self)
        except (*EVALUATION_ERRORS, VerifyException) as error:
            raise op_failure(self.conv, error) from error
        return (self._apart(arrays) if found is None else found.transpose(self.perm),)

    def recall(self, arrays: Sequence[Array]) -> Sequence[Array]:
        """`run`: nothing is remembered."""
        return self.run(arrays)

    def _apart(self, arrays: Sequence[Array]) -> Array:
        import numpy as np

        x, *others = arrays
        if self.inward != 1:
            x = x * np.float32(self.inward)
        y = self.apart([x, *others])
        return y if self.outward == 1 else y / np.float32(self.outward)

    def _prepared(self, x: Array) -> Plan | None:
        """The filter laid out for the shape of x. Other threads may be doing the same."""
        plans = self.plans
        try:
            return plans[x.shape]
        except KeyError:
            check_sizes(self.conv, [x, *self.rest])
            plan = self._plan(x)
            self.plans = {x.shape: plan} if len(plans) >= PLANS else {**plans, x.shape: plan}
            return plan

    def _plan(self, x: Array) -> Plan | None:
        import numpy as np

        conv = self.conv
        inputs = conv.channels_of(x.shape) if x.ndim == 4 else 0
        weight, groups = conv.kernel(self.rest[0], inputs)
        if inputs == 0 or weight.shape[1] * groups != inputs or weight.shape[0] % groups:
            return None
        windows = conv.windows(x.shape, weight.shape[2:])
        if prod((x.shape[0], *weight.shape, *(w.count for w in windows))) == 0:
            return None
        scale = np.broadcast_to(np.float64(self.scale) * self.inward, weight.shape[:1])
        with np.errstate(over="ignore"):
            scaled = (weight * scale.reshape(-1, 1, 1, 1)).astype(np.float32)
        if np.isinf(scaled).sum() != np.isinf(weight).sum():
            return None
        kernel = kernel_for(inputs, scaled, windows)
        if kernel is None:
            return None
        bias = None if self.shift is None else self.shift.astype(np.float32)
        counts = (windows[0].count, windows[1].count, weight.shape[0])
        return Plan(kernel, counts, Finish(bias, counts[0], counts[1] * counts[2], self.posts))


class Plan:
    """A folded convolution for one shape of x."""

    def __init__(self, kernel: ImageKernel, counts: tuple[int, int, int], finish: Finish) -> None:
        self.kernel = kernel
        self.counts = counts
        """Rows, columns and channels of the results."""
        self.finish = finish

    def run(self, x: Array, others: Sequence[Array], step: FoldedStep) -> Array | None:
        """The result in NCHW, in memory of its own with the channels last; None when what is
        added has another shape."""
        y = _channels_last_room((x.shape[0], *self.counts))
        places = channels_first(x, step.conv.data_format).transpose(0, 2, 3, 1)
        images = y.transpose(0, 2, 3, 1)
        added = step.laid_out(others) if others else ()
        if any(array.shape != images.shape for array in added):
            return None
        for number in range(len(images)):
            self._image(places[number], images[number], [array[number] for array in added])
        return y

    def _image(self, image: Array, y: Array, added: Sequence[Array]) -> None:
        """The results y [rows, columns, channels] for one image."""
        compute, step = self.kernel.on(image), self.kernel.step
        rows = len(y)
        if step >= rows:
            compute(0, rows, y)
            self.finish.run(y, added)
            return
        for first in range(0, rows, step):
            last = min(first + step, rows)
            compute(first, last, y[first:last])
            self.finish.run(y[first:last], [array[first:last] for array in added])


def _channels_last_room(shape: Sequence[int]) -> Array:
    """Room for [N, C, H, W] that owns its memory, where the channels stand next to each other."""
    import numpy as np

    n, rows, columns, channels = shape
    row = 4 * columns * channels
    return np.ndarray(
        (n, channels, rows, columns), np.float32, strides=(row * rows, 4, row, 4 * channels)
    )
