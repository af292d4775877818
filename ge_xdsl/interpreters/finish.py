"""What a convolution's results go through before they leave the cache, in place.

The posts of a step are what stands behind its convolution: sums with other arrays of the same
shape, and activations. They work on a few rows of the results at a time, as one line of numbers,
because numpy's loops start anew for each row of a sum with a broadcast operand.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ge_xdsl.dialects.ge.types import Array

CHUNK = 1 << 16
"""Elements that are worked on together: long enough for a call, short enough for the cache."""

Post = Callable[["Array"], None]
"""Works on an array in place."""


@lru_cache(maxsize=256)
def number(value: float) -> Any:
    """A scalar as an array of f32: calls on these skip the conversion of Python's numbers."""
    import numpy as np

    array = np.array(value, np.float32)
    array.flags.writeable = False
    return array


def relu() -> Post:
    """max(y, 0)."""
    return clip(0.0, float("inf"))


def clip(low: float, high: float) -> Post:
    """min(max(y, low), high); NaN stays."""
    floor, roof = number(low), number(high)

    def post(y: Array) -> None:
        y.clip(floor, roof, out=y)

    return post


class Times:
    """y * factor."""

    def __init__(self, factor: float) -> None:
        self.factor = factor

    def __call__(self, y: Array) -> None:
        y *= number(self.factor)


def plus(summand: float) -> Post:
    """y + summand."""
    more = number(summand)

    def post(y: Array) -> None:
        y += more

    return post


def hard_swish() -> Post:
    """y * min(max(y + 3, 0), 6): six times the hard swish of y."""
    import numpy as np

    three, floor, roof = number(3), number(0), number(6)

    def post(y: Array) -> None:
        gate = np.add(y, three)
        gate.clip(floor, roof, out=gate)
        y *= gate

    return post


def hard_sigmoid(alpha: float, beta: float) -> Sequence[Post]:
    """min(max(alpha * y + beta, 0), 1)."""
    return Times(alpha), plus(beta), clip(0.0, 1.0)


def leaky_relu(slope: float) -> Post:
    """y above 0, else slope * y, for a slope from 0 to 1."""
    import numpy as np

    by = number(slope)

    def post(y: Array) -> None:
        np.maximum(y, np.multiply(y, by), out=y)

    return post


class Added:
    """The sum with another array, at its place among the operands of the step."""

    def __init__(self, place: int) -> None:
        self.place = place


class Finish:
    """A bias per channel and posts, for at most so many rows of `length` numbers."""

    def __init__(
        self, bias: Array | None, rows: int, length: int, posts: Sequence[Post | Added]
    ) -> None:
        import numpy as np

        self.rows = max(1, min(CHUNK // length, rows))
        """The rows to work on together."""
        self.posts = posts
        self.bias = None
        if bias is not None:
            self.bias = np.tile(bias, self.rows * length // len(bias))

    def run(self, part: Array, others: Sequence[Array]) -> None:
        """Work on part [rows, ...], contiguous like the others, which have its shape."""
        if len(part) <= self.rows:
            self._few(part, others)
            return
        for first in range(0, len(part), self.rows):
            some = slice(first, first + self.rows)
            self._few(part[some], [array[some] for array in others])

    def _few(self, part: Array, others: Sequence[Array]) -> None:
        y = part.reshape(-1)
        if self.bias is not None:
            y += self.bias[: len(y)]
        for post in self.posts:
            if isinstance(post, Added):
                y += others[post.place].reshape(-1)
            else:
                post(y)
