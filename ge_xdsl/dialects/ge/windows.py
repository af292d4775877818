"""Sliding windows of convolution and pooling: their geometry, and views of arrays through them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from xdsl.utils.exceptions import VerifyException

from ge_xdsl.dialects.ge.limits import check_shape
from ge_xdsl.dialects.ge.types import DYNAMIC

if TYPE_CHECKING:
    from ge_xdsl.dialects.ge.types import Array


@dataclass(frozen=True, slots=True)
class Window:
    """One spatial dimension: where the windows stand and how many there are.

    Window i covers padded positions i*stride + t*dilation for t in [0, kernel). `count` is
    DYNAMIC while the size is unknown.
    """

    kernel: int
    stride: int = 1
    dilation: int = 1
    before: int = 0
    after: int = 0
    count: int = DYNAMIC

    @property
    def span(self) -> int:
        """Padded positions between the first and the last element of a window, inclusive."""
        return (self.kernel - 1) * self.dilation + 1

    @property
    def is_pointwise(self) -> bool:
        """Whether each window is one element of the input, padding excluded."""
        return self.kernel == 1 and self.before == 0 and self.after == 0


def same_pads(size: int, span: int, stride: int, lower: bool = False) -> tuple[int, int]:
    """Padding that gives ceil(size/stride) windows; the odd element goes last unless `lower`.

    total = max(span - (size mod stride or stride), 0)
    """
    total = max(span - (size % stride or stride), 0)
    small, large = total // 2, total - total // 2
    return (large, small) if lower else (small, large)


def window_count(
    size: int, window: Window, ceil_mode: bool = False, drops_last: bool = True
) -> int:
    """floor((size + pads - span + (stride - 1 if ceil_mode)) / stride) + 1.

    With `ceil_mode` and `drops_last`, a last window that starts in the right padding is dropped.
    """
    if DYNAMIC in (size, window.kernel):
        return DYNAMIC
    padded = size + window.before + window.after
    extra = window.stride - 1 if ceil_mode else 0
    count = (padded - window.span + extra) // window.stride + 1
    if ceil_mode and drops_last and (count - 1) * window.stride >= size + window.before:
        count -= 1
    if count < 1:
        raise VerifyException(
            f"window of {window.span} is larger than the padded input, expected at most {padded}"
        )
    return count


_SPATIAL = {"NCHW": (2, 3), "NHWC": (1, 2), "NCDHW": (2, 3, 4), "NDHWC": (1, 2, 3)}


def spatial_axes(data_format: str) -> tuple[int, ...]:
    """Positions of (depth,) height and width in a shape of `data_format`."""
    return _SPATIAL.get(data_format) or tuple(
        data_format.index(letter) for letter in "DHW" if letter in data_format
    )


def check_format(data_format: str, allowed: Sequence[str] = ("NCHW", "NHWC")) -> None:
    """data_format is one of `allowed`."""
    if data_format not in allowed:
        raise VerifyException(f"data_format is '{data_format}', expected {' or '.join(allowed)}")


def channels_first(x: Array, data_format: str) -> Array:
    """An NHWC (NDHWC) array viewed as NCHW (NCDHW)."""
    return x if data_format[1] == "C" else x.transpose(0, x.ndim - 1, *range(1, x.ndim - 1))


def channels_as(y: Array, data_format: str) -> Array:
    """An NCHW (NCDHW) array in `data_format`."""
    import numpy as np

    if data_format[1] == "C":
        return y
    return np.ascontiguousarray(y.transpose(0, *range(2, y.ndim), 1))


def pad_planes(x: Array, windows: Sequence[Window], fill: Any) -> Array:
    """[N, C, spatial...] with the padding that the windows reach; the rest is cut off."""
    import numpy as np

    reach = [(w.count - 1) * w.stride + w.span for w in windows]
    after = [max(r - w.before - n, 0) for r, w, n in zip(reach, windows, x.shape[2:], strict=True)]
    if any(w.before for w in windows) or any(after):
        sides = [(w.before, a) for w, a in zip(windows, after, strict=True)]
        padded = [n + before + a for n, (before, a) in zip(x.shape[2:], sides, strict=True)]
        check_shape((*x.shape[:2], *padded), "padded input")
        room = np.full_like(x, fill, shape=(*x.shape[:2], *padded))  # in the memory order of x
        inner = (slice(w.before, w.before + n) for w, n in zip(windows, x.shape[2:], strict=True))
        room[(slice(None), slice(None), *inner)] = x
        x = room
    return x[(slice(None), slice(None), *map(slice, reach))]


def window_view(padded: Array, windows: Sequence[Window]) -> Array:
    """[N, C, H', W'] -> [N, C, kh, kw, Ho, Wo] without a copy; `padded` by `pad_planes`.

    The same for any number of spatial dimensions.
    """
    from numpy.lib.stride_tricks import sliding_window_view

    n = len(windows)
    axes = tuple(range(2, 2 + n))
    view = sliding_window_view(padded, tuple(w.span for w in windows), axis=axes)
    steps = [slice(None, None, w.stride) for w in windows]
    steps += [slice(None, None, w.dilation) for w in windows]
    strided = view[(slice(None), slice(None), *steps)]
    return strided.transpose(0, 1, *range(2 + n, 2 + 2 * n), *axes)


def taps(windows: Sequence[Window]) -> Iterator[tuple[tuple[int, ...], tuple[slice, ...]]]:
    """Each kernel element, with the padded positions that it reads over all windows."""
    from itertools import product

    for tap in product(*(range(w.kernel) for w in windows)):
        yield (
            tap,
            tuple(
                slice(t * w.dilation, t * w.dilation + (w.count - 1) * w.stride + 1, w.stride)
                for t, w in zip(tap, windows, strict=True)
            ),
        )


def reduce_windows(padded: Array, windows: Sequence[Window], combine: Any) -> Array:
    """`combine` (np.maximum, np.add) over each window, one spatial dimension after the other.

    [N, C, H', W'] -> [N, C, Ho, Wo], with any number of spatial dimensions; `padded` by
    `pad_planes`.
    """
    order = list(enumerate(windows, start=2))
    is_channels_last = padded.strides[1] == padded.itemsize and padded.shape[1] > 1
    for axis, window in order if is_channels_last else reversed(order):  # long pieces first
        total: Array | None = None
        for tap in range(0, window.span, window.dilation):
            stop = tap + (window.count - 1) * window.stride + 1
            part = padded[(slice(None),) * axis + (slice(tap, stop, window.stride),)]
            if total is None:
                total = part.copy(order="K") if window.kernel > 1 else part
            else:
                combine(total, part, out=total)
        assert total is not None
        padded = total
    return padded
