"""Sums and means of dilated or cut-off windows, for which GE has no pool: convolutions with ones.

Each channel is taken for an image of its own, so that one kernel of ones does for all.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from math import prod
from typing import TYPE_CHECKING

from xdsl.ir import SSAValue

from ge_xdsl.dialects.ge.types import DYNAMIC, numpy_dtype
from ge_xdsl.importers.onnx.builder import Builder
from ge_xdsl.importers.onnx.windows import Window, spans

if TYPE_CHECKING:
    from ge_xdsl.dialects.ge.types import Array


def counts(
    sizes: Sequence[int], kernel: Sequence[int], window: Window, ceil_mode: bool
) -> list[int]:
    """The number of windows over each dimension; with ceil_mode one more where some of the input
    is left, but none that starts in the padding after."""
    found: list[int] = []
    half = len(kernel)
    for k, (size, span) in enumerate(zip(sizes, spans(kernel, window), strict=True)):
        stride, before, after = window.strides[k], window.pads[k], window.pads[half + k]
        room = size + before + after - span
        count = (-(-room // stride) if ceil_mode else room // stride) + 1
        if ceil_mode and (count - 1) * stride >= size + before:
            count -= 1
        found.append(count)
    return found


def window_sums(
    g: Builder, x: SSAValue, kernel: Sequence[int], window: Window, ceil_mode: bool
) -> SSAValue:
    """The sum of each window of an x of known shape."""
    import numpy as np

    shape = g.static_dims(g.shape(x) or (DYNAMIC,), "dilations or ceil_mode")
    windows = counts(shape[2:], kernel, window, ceil_mode)
    if min(windows, default=1) < 1:
        raise g.error(f"the windows cover {windows}, expected at least one over each dimension")
    rank, half = len(kernel), max(len(kernel), 2)
    pads = list(window.pads)
    for k, span in enumerate(spans(kernel, window)):
        last = (windows[k] - 1) * window.strides[k] + span
        pads[rank + k] = max(last - shape[2 + k] - pads[k], 0)
    wide = Window(window.strides, window.dilations, pads, "NOTSET")
    sizes, ones = shape[2:], list(kernel)
    if rank == 1:
        wide, sizes, ones = wide.widened(), [1, *sizes], [1, *ones]
    g.check_count(prod(ones))
    planes = g.part("Reshape", x, g.helper([-1, 1, *sizes], "int64"))
    weight = g.const(np.ones([1, 1, *ones], numpy_dtype(g.dtype(x))), g.part_name("Const"))
    y = g.part(
        "Conv3D" if half == 3 else "Conv2D", planes, weight, strides=[1, 1, *wide.strides],
        pads=wide.ge_pads(), dilations=[1, 1, *wide.dilations],
        data_format="NCDHW" if half == 3 else "NCHW",
    )  # fmt: skip
    return g.part("Reshape", y, g.helper([*shape[:2], *windows], "int64"))


def window_means(
    g: Builder,
    x: SSAValue,
    kernel: Sequence[int],
    window: Window,
    ceil_mode: bool,
    counts_pads: bool,
) -> SSAValue:
    """The sum of each window over the number of its elements in the image, or in the padded one."""
    total = window_sums(g, x, kernel, window, ceil_mode)
    shape = g.static_dims(g.shape(x) or (DYNAMIC,), "dilations or ceil_mode")
    windows = counts(shape[2:], kernel, window, ceil_mode)
    g.check_count(max(prod(windows), *windows) * max(kernel))
    half = len(kernel)
    along: list[Array] = []
    for k, count in enumerate(windows):
        ends = (window.pads[k], window.pads[half + k]) if counts_pads else (0, 0)
        along.append(_inside(shape[2 + k], count, kernel[k], window, k, ends))
    divisor = reduce(lambda a, b: a[..., None] * b, along)
    typed = divisor.astype(numpy_dtype(g.dtype(x)))
    return g.part("RealDiv", total, g.const(typed, g.part_name("Const")))


def _inside(
    size: int, count: int, length: int, window: Window, axis: int, ends: tuple[int, int]
) -> Array:
    """How many elements of each window are not before -ends[0] nor after size + ends[1]."""
    import numpy as np

    starts = np.arange(count)[:, None] * window.strides[axis] - window.pads[axis]
    places = starts + np.arange(length) * window.dilations[axis]
    return ((places >= -ends[0]) & (places < size + ends[1])).sum(axis=1)
