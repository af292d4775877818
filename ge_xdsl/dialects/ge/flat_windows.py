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
from math import gcd, prod
from typing import TYPE_CHECKING

from ge_xdsl.dialects.ge.limits import check_shape
from ge_xdsl.dialects.ge.matmul import contract

if TYPE_CHECKING:
    from ge_xdsl.dialects.ge.types import Array
    from ge_xdsl.dialects.ge.windows import Window

COLUMNS_BYTES = 2 << 20
"""Upper size of the unfolded block that one product reads; it should stay in the cache."""


class FlatWindows:
    """The pieces of `padded` [N, C, spatial...] that the kernel elements meet, `length` each.

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
        for phase in product(*map(phases, windows)):
            ranges = zip(phase, strides, strict=True)
            part = padded[(slice(None), slice(None), *(slice(p, None, s) for p, s in ranges))]
            short = [n - have for n, have in zip(sizes, part.shape[2:], strict=True)]
            if any(short):  # read between results only
                room = np.zeros((*padded.shape[:2], *sizes), padded.dtype)
                room[tuple(map(slice, part.shape))] = part
                part = room
            self.planes[phase] = part.reshape(*padded.shape[:2], prod(sizes))

    def gather(self, image: int, some: slice, room: Array) -> None:
        """Write the pieces of some channels to room [channels, kernel elements, length].

        Kernel elements of one phase stand at even distances, so one strided copy takes them all.
        """
        from numpy.lib.stride_tricks import as_strided

        into = room.reshape(len(room), *(w.kernel for w in self.windows), self.length)
        for phase, start, jumps, taps in _gatherings(tuple(self.windows), tuple(self.steps)):
            part = self.planes[phase][image, some, start : start + self.length]
            channel, each = part.strides
            to = into[(slice(None), *(slice(*t) for t in taps))]
            away = [jump * each for jump in jumps]
            to[...] = as_strided(part, to.shape, (channel, *away, each))

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


def phases(window: Window) -> list[int]:
    """The phases of a dimension that some kernel element meets."""
    period = window.stride // gcd(window.stride, window.dilation)
    taps = range(min(period, window.kernel))
    return sorted({t * window.dilation % window.stride for t in taps})


_Gathering = tuple[tuple[int, ...], int, tuple[int, ...], tuple[tuple[int, int, int], ...]]
"""A phase, where its first piece starts, how far apart the next ones are along each dimension of
the kernel, and which kernel elements they belong to, as the arguments of a slice."""


@lru_cache(maxsize=1024)
def _gatherings(windows: tuple[Window, ...], steps: tuple[int, ...]) -> tuple[_Gathering, ...]:
    """What `gather` copies: the kernel elements in groups that meet one phase.

    Element t of a dimension reads place t * dilation: the phase t * dilation mod stride repeats
    after stride / gcd(stride, dilation) elements.
    """
    periods = [w.stride // gcd(w.stride, w.dilation) for w in windows]
    found: list[_Gathering] = []
    for first in product(*(range(min(p, w.kernel)) for p, w in zip(periods, windows, strict=True))):
        places = [t * w.dilation for t, w in zip(first, windows, strict=True)]
        phase = tuple(p % w.stride for p, w in zip(places, windows, strict=True))
        ways = list(zip(places, windows, steps, periods, strict=True))
        start = sum(p // w.stride * step for p, w, step, _ in ways)
        jumps = tuple(period * w.dilation // w.stride * step for _, w, step, period in ways)
        taps = zip(first, windows, periods, strict=True)
        found.append((phase, start, jumps, tuple((t, w.kernel, period) for t, w, period in taps)))
    return tuple(found)


def depthwise_sums(
    padded: Array,
    weight: Array,
    windows: Sequence[Window],
    dtype: str,
    bias: Array | None = None,
) -> Array:
    """weight [C * K, 1, kernel...] -> y [N, C * K, counts...]: each channel by itself.

    The pieces of some channels are gathered to columns [kernel elements, windows], and one product
    per channel sums them; a bias [C * K] is the weight of one more row, of ones. Results are of
    `dtype`, which `contract` gives.
    """
    import numpy as np

    n, c = padded.shape[:2]
    many = weight.shape[0] // c
    flat = FlatWindows(padded, windows)
    out = flat.empty(n, c * many, dtype)
    y = out.reshape(n, c, many, out.shape[2])
    scales = weight.reshape(c, many, weight[0].size)
    if bias is not None:
        scales = np.concatenate((scales, bias.reshape(c, many, 1)), axis=2)
    rows = scales.shape[2]
    block = max(1, COLUMNS_BYTES // (flat.length * rows * padded.itemsize))
    shape = (min(block, c), rows, flat.length)
    check_shape(shape, "windows of a channel")
    columns = np.empty(shape, padded.dtype)
    if bias is not None:
        columns[:, -1] = 1
    for image, first in product(range(n), range(0, c, block)):
        some = slice(first, min(first + block, c))
        room = columns[: some.stop - first]
        flat.gather(image, some, room[:, : weight[0].size])
        y[image, some, :, : flat.length] = contract(scales[some], room)
    return flat.folded(out)
