"""Sums over windows that read whole planes as one long row, for long inner loops.

With a stride of 1, the elements that one kernel element meets over all windows stand behind each
other in the padded plane, apart from a few between two rows of windows. So a kernel element is one
contiguous piece of the plane, and the results in between are cut off at the end. Larger strides
first take the plane apart into one plane per phase. Works in any number of dimensions.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import product
from math import prod
from typing import TYPE_CHECKING

from ge_xdsl.dialects.ge.matmul import contract

if TYPE_CHECKING:
    from ge_xdsl.dialects.ge.types import Array
    from ge_xdsl.dialects.ge.windows import Window

COLUMNS_BYTES = 2 << 20
"""Upper size of the unfolded block that one product reads; it should stay in the cache."""


class FlatWindows:
    """The pieces of `padded` [N, C, spatial...] that the kernel elements meet, as [N, C, length].

    `padded` is cut to what the windows reach, as `pad_planes` gives it.
    """

    def __init__(self, padded: Array, windows: Sequence[Window]) -> None:
        import numpy as np

        self.windows = windows
        sizes = [-(-n // w.stride) for n, w in zip(padded.shape[2:], windows, strict=True)]
        self.steps = [prod(sizes[i + 1 :]) for i in range(len(sizes))]
        """How far apart neighbours of each dimension are."""
        self.sizes = sizes
        lasts = [(w.count - 1) * step for w, step in zip(windows, self.steps, strict=True)]
        self.length = sum(lasts) + 1
        strides = [w.stride for w in windows]
        self.planes: dict[tuple[int, ...], Array] = {}
        for phase in product(*map(range, strides)):
            ranges = zip(phase, strides, strict=True)
            part = padded[(slice(None), slice(None), *(slice(p, None, s) for p, s in ranges))]
            short = [n - have for n, have in zip(sizes, part.shape[2:], strict=True)]
            if any(short):  # read between results only
                room = np.zeros((*padded.shape[:2], *sizes), padded.dtype)
                room[tuple(map(slice, part.shape))] = part
                part = room
            self.planes[phase] = part.reshape(*padded.shape[:2], prod(sizes))

    def pieces(self) -> list[Array]:
        """One piece per kernel element, the last dimension of the kernel fastest."""
        return [
            self.planes[phase][:, :, start : start + self.length]
            for phase, start in _places(tuple(self.windows), tuple(self.steps))
        ]

    def empty(self, batch: int, channels: int, dtype: str) -> Array:
        """Room for results [N, C, length], with what `folded` needs behind it."""
        import numpy as np

        return np.empty((batch, channels, self.windows[0].count * self.steps[0]), dtype)

    def folded(self, flat: Array) -> Array:
        """Results that stand in `empty` room, as [N, C, counts...] without what is between."""
        import numpy as np

        counts = [w.count for w in self.windows]
        y = flat.reshape(*flat.shape[:2], counts[0], *self.sizes[1:])
        return np.ascontiguousarray(y[(slice(None), slice(None), *map(slice, counts))])


@lru_cache(maxsize=1024)
def _places(
    windows: tuple[Window, ...], steps: tuple[int, ...]
) -> tuple[tuple[tuple[int, ...], int], ...]:
    """Per kernel element, the phase whose plane it reads and where its piece starts there."""
    found: list[tuple[tuple[int, ...], int]] = []
    for tap in product(*(range(w.kernel) for w in windows)):
        places = [t * w.dilation for t, w in zip(tap, windows, strict=True)]
        phase = tuple(p % w.stride for p, w in zip(places, windows, strict=True))
        ways = zip(places, windows, steps, strict=True)
        found.append((phase, sum(p // w.stride * step for p, w, step in ways)))
    return tuple(found)


def depthwise_sums(padded: Array, weight: Array, windows: Sequence[Window], dtype: str) -> Array:
    """weight [C * K, 1, kernel...] -> y [N, C * K, counts...]: each channel by itself.

    The pieces of some channels are gathered to columns [kernel elements, windows], and one product
    per channel sums them. Results are of `dtype`, which `contract` gives.
    """
    import numpy as np

    n, c = padded.shape[:2]
    many = weight.shape[0] // c
    flat = FlatWindows(padded, windows)
    pieces = flat.pieces()
    out = flat.empty(n, c * many, dtype)
    y = out.reshape(n, c, many, out.shape[2])
    scales = weight.reshape(c, many, len(pieces))
    block = max(1, COLUMNS_BYTES // (flat.length * len(pieces) * padded.itemsize))
    columns = np.empty((min(block, c), len(pieces), flat.length), padded.dtype)
    for image, first in product(range(n), range(0, c, block)):
        some = slice(first, min(first + block, c))
        room = columns[: some.stop - first]
        for tap, piece in enumerate(pieces):
            room[:, tap] = piece[image, some]
        y[image, some, :, : flat.length] = contract(scales[some], room)
    return flat.folded(out)
