"""Convolutions of f32 over images whose channels stand next to each other in memory.

What neighbours in memory then are the channels of one place and the places of one row, so every
kernel here reads and writes long pieces, whatever the channels, and a depthwise convolution needs
one multiplication per kernel element with no columns unfolded. An image is [rows, columns,
channels]; a kernel is made once for a shape of x, with the filter laid out as it reads it, and
computes some rows of results at a time, which stay in the cache while `finish` works on them.
`kernel_for` chooses the kernel; sums have the rounding of f32 in any order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import prod
from typing import TYPE_CHECKING, Protocol

from ge_xdsl.dialects.ge.limits import check_shape

if TYPE_CHECKING:
    from ge_xdsl.dialects.ge.types import Array
    from ge_xdsl.dialects.ge.windows import Window

BLOCK = 1 << 16
"""Elements of results, and of unfolded columns, that are worked on together: they should stay in
the second level of the cache."""
LEAST_ROWS = 384
"""Rows of a matrix product below which laying out its second operand is felt."""
TILE = 1 << 17
"""Most elements of a depthwise filter repeated along a row."""
FILTER = 1 << 19
"""Most elements of a filter laid out for several results of a row at once."""

PRODUCTS = 1 << 24
"""Most products that are held before they are summed."""

Compute = Callable[[int, int, "Array"], None]
"""Computes the result rows from the first to before the second into [rows, columns, channels]."""


class ImageKernel(Protocol):
    """A convolution without bias of images of one shape."""

    @property
    def step(self) -> int:
        """The result rows to compute at a time."""
        ...

    def on(self, image: Array) -> Compute:
        """Make ready for one image [rows, columns, channels] of any strides."""
        ...


def kernel_for(channels: int, weight: Array, windows: Sequence[Window]) -> ImageKernel | None:
    """A kernel for weight [Cout, Cin/groups, kh, kw], None when there is none of its kind."""
    high, wide = windows
    if weight.shape[1] == channels:
        if high.is_pointwise and wide.is_pointwise:
            return Pointwise(weight, windows)
        return _dense(weight, windows)
    if weight.shape[:2] == (channels, 1) and 1 in (wide.stride, wide.dilation):
        return Depthwise(weight, windows)
    return None


def _dense(weight: Array, windows: Sequence[Window]) -> ImageKernel:
    """Columns unfolded for the number of results that is cheapest, or products before the sums."""
    counts = Unfolded.counts(windows)
    makers: list[tuple[float, Callable[[], ImageKernel]]] = []
    for kind in (Unfolded, RowPairs) if _are_even(weight) else (Unfolded,):
        cost, count = min((kind.cost(weight, windows, count), count) for count in counts)
        makers.append((cost, partial(kind, weight, windows, count)))
    if len(weight) == 1 and all(w.stride == 1 for w in windows):
        makers.append((SummedAfter.cost(weight, windows), partial(SummedAfter, weight, windows)))
    return min(makers, key=lambda found: found[0])[1]()


def _product_cost(rows: int, depth: int, columns: int) -> float:
    """About the nanoseconds of a matrix product: narrow results fill no vectors."""
    return 2e-2 * rows * depth * (columns + 6)


def _rows_at_once(width: int, channels: int, depth: int) -> int:
    """Result rows per product that keep BLOCK elements of results or columns in the cache."""
    most = max(BLOCK // (width * channels), BLOCK // (width * depth), 1)
    return max(most, -(-LEAST_ROWS // width)) if width * channels < BLOCK else most


class Pointwise:
    """A kernel of one element: one product per block of places."""

    def __init__(self, weight: Array, windows: Sequence[Window]) -> None:
        import numpy as np

        self.windows = windows
        self.matrix = np.ascontiguousarray(weight.reshape(weight.shape[:2]).T)
        self.step = _rows_at_once(windows[1].count, *weight.shape[:2])

    def on(self, image: Array) -> Compute:
        """Make ready for one image."""
        import numpy as np

        high, wide = self.windows
        image = image[: high.stride * high.count : high.stride]
        image = image[:, : wide.stride * wide.count : wide.stride]
        channels, width = image.shape[2], wide.count
        if image.strides[2] == image.itemsize:
            places = image.reshape(-1, channels)
        else:  # channels first: a transposed product reads it as well
            places = image.transpose(2, 0, 1).reshape(channels, -1).T
        matrix = self.matrix

        def compute(first: int, last: int, y: Array) -> None:
            into = y.reshape(-1, matrix.shape[1])
            np.matmul(places[first * width : last * width], matrix, out=into)

        return compute


class Unfolded:
    """Windows copied to rows, `count` neighbouring results of one row together, and a product.

    The windows of neighbouring results overlap, so together they take less copying, and the
    product has more columns, at the cost of zeros in its second operand. An image with a NaN or
    an infinity, which zeros would spread, is left to the kernel for one result, which leaves out
    the columns that a dilated window skips.
    """

    def __init__(self, weight: Array, windows: Sequence[Window], count: int) -> None:
        import numpy as np

        high, wide = self.windows = windows
        out = len(weight)
        self.weight = weight
        self.single: Unfolded | None = None
        self.count, self.out = count, out
        self.blocks = -(-wide.count // count)
        self.reach = (count - 1) * wide.stride + wide.span
        self.width = (self.blocks - 1) * count * wide.stride + self.reach
        self.pieces, self.apart = (1, 0) if count > 1 else _pieces(wide)
        """The pieces of a row of a window, and how many columns they are apart."""
        taps = weight.transpose(2, 3, 1, 0)
        if self.pieces == 1:
            taps = spread(taps, wide, count)
        self.matrix = np.ascontiguousarray(taps).reshape(-1, count * out)
        self.step = min(
            _rows_at_once(self.blocks, count * out, len(self.matrix)),
            max(1, 8 * BLOCK // (self.blocks * len(self.matrix))),
        )
        self.step = min(self.step, high.count)

    @staticmethod
    def counts(windows: Sequence[Window]) -> Sequence[int]:
        """The numbers of results to try together."""
        width = windows[1].count
        if windows[1].kernel == 1:
            return (1,)
        return [n for n in (1, 2, 3, 4, 6, 8, 11, 12, 16, 24, 32, 64) if n <= width]

    @staticmethod
    def cost(weight: Array, windows: Sequence[Window], count: int) -> float:
        """About the nanoseconds: copies of contiguous pieces, and a product."""
        high, wide = windows
        out, channels, kh, _ = weight.shape
        blocks = -(-wide.count // count)
        piece = ((count - 1) * wide.stride + wide.span) * channels
        rows = high.count * blocks
        if count > 1 and piece * kh * count * out > FILTER:
            return float("inf")
        pieces = _pieces(wide)[0] if count == 1 else 1
        piece = channels * pieces if pieces > 1 else piece
        copied = rows * kh * (8 * pieces + 0.12 * piece)
        cut = 0.3 * rows * count * out if wide.count % count else 0
        return copied + cut + _product_cost(rows, kh * piece, count * out)

    def on(self, image: Array) -> Compute:
        """Make ready for one image."""
        import numpy as np
        from numpy.lib.stride_tricks import as_strided

        high, wide = self.windows
        padded = pad_image(image, self.windows, self.width)
        if self.count > 1 and not _is_finite(padded):
            return one_by_one(self, image)
        row, column, each = _strides(padded)
        kh = high.kernel
        view = as_strided(
            padded,
            (high.count, self.blocks, kh, self.pieces, len(self.matrix) // (kh * self.pieces)),
            (
                row * high.stride,
                column * wide.stride * self.count,
                row * high.dilation,
                column * self.apart,
                each,
            ),
            writeable=False,
        )
        shape = (self.step, *view.shape[1:])
        check_shape(shape, "windows of rows of results")
        columns = np.empty(shape, np.float32)
        whole = wide.count == self.blocks * self.count

        def compute(first: int, last: int, y: Array) -> None:
            some = columns[: last - first]
            np.copyto(some, view[first:last])
            rows = some.reshape(-1, len(self.matrix))
            if whole:
                np.matmul(rows, self.matrix, out=y.reshape(-1, self.matrix.shape[1]))
                return
            part = np.matmul(rows, self.matrix).reshape(last - first, -1, self.out)
            y[...] = part[:, : wide.count]

        return compute


class RowPairs:
    """Kernels of three rows, two rows of results at a time: four products in place of six.

    Winograd's F(2, 3) along the rows: with rows d0..d3 of x and g0..g2 of the filter, the results
    are m0 + m1 + m2 and m1 - m2 - m3 for the products m of d0 - d2, d1 + d2, d2 - d1, d1 - d3 with
    g0, (g0 + g1 + g2) / 2, (g0 - g1 + g2) / 2, g2 (Lavin and Gray, 2015). `count` results of a row
    are taken together as in `Unfolded`. Not for images with a NaN or an infinity.
    """

    def __init__(self, weight: Array, windows: Sequence[Window], count: int) -> None:
        import numpy as np

        high, wide = self.windows = windows
        self.weight = weight
        self.single: Unfolded | None = None
        self.count, self.out = count, len(weight)
        self.blocks = -(-wide.count // count)
        self.reach = (count - 1) * wide.stride + wide.span
        self.width = (self.blocks - 1) * count * wide.stride + self.reach
        g0, g1, g2 = weight.transpose(2, 3, 1, 0).astype(np.float64)
        taps = np.stack((g0, (g0 + g1 + g2) / 2, (g0 - g1 + g2) / 2, g2)).astype(np.float32)
        self.matrix = spread(taps, wide, count)
        _, depth, columns = self.matrix.shape
        self.step = 2 * min(_rows_at_once(self.blocks, columns, depth), -(-high.count // 2))

    @staticmethod
    def cost(weight: Array, windows: Sequence[Window], count: int) -> float:
        """About the nanoseconds: sums of rows, copies of pieces, four products, sums of results."""
        high, wide = windows
        out, channels, kh, _ = weight.shape
        if kh != 3 or high.stride > 1 or high.dilation > 1:
            return float("inf")
        blocks = -(-wide.count // count)
        piece = ((count - 1) * wide.stride + wide.span) * channels
        pairs = -(-high.count // 2)
        if count > 1 and 4 * piece * count * out > FILTER:
            return float("inf")
        sums = 0.6 * pairs * (wide.count * wide.stride + wide.span) * channels
        copied = 4 * pairs * blocks * (8 + 0.12 * piece)
        results = 1.2 * pairs * blocks * count * out
        return (
            20000 + sums + copied + results + 4 * _product_cost(pairs * blocks, piece, count * out)
        )

    def on(self, image: Array) -> Compute:
        """Make ready for one image."""
        import numpy as np
        from numpy.lib.stride_tricks import as_strided

        high, wide = self.windows
        pairs = -(-high.count // 2)
        padded = pad_image(image, self.windows, self.width, 2 * pairs + 2)
        if not _is_finite(padded):
            return one_by_one(self, image)
        sums = _sums_of_rows(padded, pairs)
        kind, row, column, each = _strides(sums)
        _, depth, outs = self.matrix.shape
        view = as_strided(
            sums,
            (4, pairs, self.blocks, depth),
            (kind, row, column * wide.stride * self.count, each),
            writeable=False,
        )
        columns = np.empty((self.step // 2, self.blocks, depth), np.float32)
        parts = np.empty((4, columns.shape[0] * self.blocks, outs), np.float32)

        def compute(first: int, last: int, y: Array) -> None:
            top, bottom = first // 2, -(-last // 2)
            some, rows = columns[: bottom - top], (bottom - top) * self.blocks
            for rows_of, matrix, part in zip(view, self.matrix, parts, strict=True):
                np.copyto(some, rows_of[top:bottom])
                np.matmul(some.reshape(-1, depth), matrix, out=part[:rows])
            found = parts[:, :rows]
            m0, m1, m2, m3 = found.reshape(4, bottom - top, -1, self.out)
            m0 += m1
            m0 += m2
            m1 -= m2
            m1 -= m3
            y[::2] = m0[:, : wide.count]
            y[1::2] = m1[: (last - first) // 2, : wide.count]

        return compute


def _sums_of_rows(padded: Array, pairs: int) -> Array:
    """d0 - d2, d1 + d2, d2 - d1, d1 - d3 for each pair of result rows: [4, pairs, ...]."""
    import numpy as np

    d0, d1, d2, d3 = (padded[i : i + 2 * pairs - 1 : 2] for i in range(4))
    sums = np.empty((4, *d0.shape), np.float32)
    np.subtract(d0, d2, out=sums[0])
    np.add(d1, d2, out=sums[1])
    np.subtract(d2, d1, out=sums[2])
    np.subtract(d1, d3, out=sums[3])
    return sums


def one_by_one(kernel: Unfolded | RowPairs, image: Array) -> Compute:
    """By the kernel that multiplies nothing but what is in a window, with steps of its own."""
    if kernel.single is None:
        kernel.single = Unfolded(kernel.weight, kernel.windows, 1)
    single = kernel.single
    inner = single.on(image)

    def compute(first: int, last: int, y: Array) -> None:
        for start in range(first, last, single.step):
            stop = min(start + single.step, last)
            inner(start, stop, y[start - first : stop - first])

    return compute


class SummedAfter:
    """One output: the product of all places with all kernel elements, then shifted sums.

    For strides of 1. Rows stand behind each other, so a shift is one for all; what it brings
    between two rows of results is cut off.
    """

    def __init__(self, weight: Array, windows: Sequence[Window]) -> None:
        import numpy as np

        high, wide = self.windows = windows
        self.matrix = np.ascontiguousarray(
            weight[0].transpose(1, 2, 0).reshape(-1, weight.shape[1])
        )
        self.width = wide.count + wide.span - 1
        self.starts = [
            u * high.dilation * self.width + v * wide.dilation
            for u in range(high.kernel)
            for v in range(wide.kernel)
        ]
        """Where the products of each kernel element start."""
        self.step = max(1, 2 * BLOCK // (self.width * len(self.matrix)), 3 * high.span)
        self.step = min(self.step, high.count)

    @staticmethod
    def cost(weight: Array, windows: Sequence[Window]) -> float:
        """About the nanoseconds: a product, and a sum per kernel element and output."""
        high, wide = windows
        _, channels, kh, kw = weight.shape
        rows = min(high.count, 3 * high.span) + high.span
        if kh * kw * rows * (wide.count + wide.span) > PRODUCTS:
            return float("inf")
        places = (high.count + high.span) * (wide.count + wide.span)
        sums = kh * kw * (2000 + 0.15 * high.count * wide.count)
        return 1.4 * _product_cost(places, channels, kh * kw) + sums

    def on(self, image: Array) -> Compute:
        """Make ready for one image."""
        import numpy as np

        high, wide = self.windows
        padded = pad_image(image, self.windows, self.width)
        channels = padded.shape[2]

        def compute(first: int, last: int, y: Array) -> None:
            rows = padded[first : last + high.span - 1].reshape(-1, channels)
            parts = np.matmul(self.matrix, rows.T).reshape(len(self.starts), -1)
            length = (last - first - 1) * self.width + wide.count
            total = parts[0, :length].copy()
            for part, start in zip(parts[1:], self.starts[1:], strict=True):
                total += part[start : start + length]
            room = np.empty((last - first, self.width), np.float32)
            room.reshape(-1)[:length] = total
            y[:, :, 0] = room[:, : wide.count]

        return compute


class Depthwise:
    """Each channel by itself: the filter repeated along a row times shifted rows.

    With a stride along rows, the columns of each phase are first put next to each other.
    """

    def __init__(self, weight: Array, windows: Sequence[Window]) -> None:
        import numpy as np

        high, wide = self.windows = windows
        channels = weight.shape[0]
        taps = weight.reshape(channels, high.kernel, wide.kernel).transpose(1, 2, 0)
        parts = -(-wide.count * taps.size // TILE)
        self.columns = -(-wide.count // parts)
        self.tile = np.tile(taps, (1, 1, self.columns))
        self.phases = min(wide.stride, wide.kernel)
        self.width = wide.count + (wide.span - 1) // wide.stride
        self.step = max(1, BLOCK // (wide.count * channels))

    def on(self, image: Array) -> Compute:
        """Make ready for one image."""
        import numpy as np

        wide, channels = self.windows[1], image.shape[2]
        padded = self._phased(image)
        parts = [self._rows_of(padded, phase) for phase in range(self.phases)]
        spare = np.empty((self.step, wide.count * channels), np.float32) if parts[1:] else None

        def compute(first: int, last: int, y: Array) -> None:
            flat = y.reshape(last - first, -1)
            for start in range(0, wide.count, self.columns):
                some = slice(start * channels, (start + self.columns) * channels)
                into = flat[:, some]
                for phase, rows in enumerate(parts):
                    taps = self.tile[:, phase :: self.phases, : into.shape[1]]
                    total = into if not phase or spare is None else spare[: last - first, some]
                    piece = rows[first:last, ..., some]
                    np.einsum("huvl,uvl->hl", piece, taps, out=total)
                    if phase:
                        into += total

        return compute

    def _phased(self, image: Array) -> Array:
        """The padded image as [rows, phases, columns, channels]: column j of a phase is the
        image's column j * stride + phase."""
        import numpy as np

        high, wide = self.windows
        if wide.stride == 1:
            return pad_image(image, self.windows, self.width)[:, None]
        rows = (high.count - 1) * high.stride + high.span
        shape = (rows, self.phases, self.width, image.shape[2])
        check_shape(shape, "padded input")
        room = np.zeros(shape, np.float32)
        have = min(max(rows - high.before, 0), image.shape[0])
        for phase in range(self.phases):
            first = min(max(0, -(-(wide.before - phase) // wide.stride)), self.width)
            start = first * wide.stride + phase - wide.before
            part = image[:have, start :: wide.stride][:, : self.width - first]
            room[high.before : high.before + have, phase, first : first + part.shape[1]] = part
        return room

    def _rows_of(self, padded: Array, phase: int) -> Array:
        """[result rows, kernel rows, kernel columns of the phase, columns * channels]."""
        from numpy.lib.stride_tricks import as_strided

        high, wide = self.windows
        row, _, column, each = _strides(padded)
        return as_strided(
            padded[:, phase],
            (
                high.count,
                high.kernel,
                len(range(phase, wide.kernel, self.phases)),
                wide.count * padded.shape[3],
            ),
            (row * high.stride, row * high.dilation, column * wide.dilation, each),
            writeable=False,
        )


def _are_even(weight: Array) -> bool:
    """Whether the rows of the filter for each output are finite and of about the same size.

    Else the sums of rows in `RowPairs` would bring in, and not quite take out again, what a row
    of zeros or of small numbers leaves out.
    """
    import numpy as np

    sizes = np.abs(weight).max(axis=(1, 3), initial=0)
    most, least = sizes.max(axis=1, initial=0), sizes.min(axis=1, initial=np.inf)
    return bool(np.isfinite(most).all() and (most < 1e18).all() and (64 * least >= most).all())


def _pieces(wide: Window) -> tuple[int, int]:
    """The contiguous pieces that a window reads of a row, and the columns from one to the next."""
    return (wide.kernel, wide.dilation) if wide.dilation > 1 else (1, 0)


def spread(taps: Array, wide: Window, count: int) -> Array:
    """taps [rows, kernel columns, Cin, Cout] -> [rows, reach * Cin, count * Cout]: the operand
    that gives `count` neighbouring results of a row for all columns that they reach."""
    import numpy as np

    rows, _, channels, out = taps.shape
    reach = (count - 1) * wide.stride + wide.span
    matrix = np.zeros((rows, reach, channels, count, out), np.float32)
    for i in range(count):
        start = i * wide.stride
        matrix[:, start : start + wide.span : wide.dilation, :, i] = taps
    return matrix.reshape(rows, reach * channels, count * out)


def _is_finite(array: Array) -> bool:
    """Whether a contiguous array surely holds finite numbers only: so is the sum of squares."""
    import numpy as np

    flat = array.reshape(-1)
    return bool(np.isfinite(np.dot(flat, flat)))


def _strides(array: Array) -> list[int]:
    """The strides of a contiguous array, where numpy may say anything for dimensions of 1."""
    sizes = [*array.shape[1:], 1]
    return [array.itemsize * prod(sizes[i:]) for i in range(array.ndim)]


def pad_image(image: Array, windows: Sequence[Window], width: int, least: int = 0) -> Array:
    """A contiguous [rows, width, channels] that holds what the windows reach, padded by zeros,
    with `least` rows or more."""
    import numpy as np

    high, wide = windows
    rows = max((high.count - 1) * high.stride + high.span, least)
    shape = (rows, width, image.shape[2])
    is_reached = high.before == wide.before == 0 and image.shape[0] >= rows
    if is_reached and image.shape[1] == width and image.flags.c_contiguous:
        return image
    check_shape(shape, "padded input")
    room = np.empty(shape, np.float32)
    top, left = min(high.before, rows), min(wide.before, width)
    part = image[: rows - top, : width - left]
    bottom, right = top + part.shape[0], left + part.shape[1]
    room[:top] = room[bottom:] = 0
    inner = room[top:bottom]
    inner[:, :left] = inner[:, right:] = 0
    inner[:, left:right] = part
    return room
