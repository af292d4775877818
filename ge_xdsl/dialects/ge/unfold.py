"""Windows of an image as columns, and the sum of columns back to an image."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from xdsl.utils.exceptions import VerifyException

from ge_xdsl.dialects.ge.extents import bounded, ints_of
from ge_xdsl.dialects.ge.op import GeOp, integers, operand, result, string
from ge_xdsl.dialects.ge.operands import check_length, known_ints, vector_length, with_layout
from ge_xdsl.dialects.ge.recurrent import dims
from ge_xdsl.dialects.ge.shapes import merge_dim, multiply_dims
from ge_xdsl.dialects.ge.types import DYNAMIC, Format, Tensor, tensor_of
from ge_xdsl.dialects.ge.windows import (
    Window,
    channels_as,
    channels_first,
    pad_planes,
    same_pads,
    taps,
    window_count,
    window_view,
)

if TYPE_CHECKING:
    from ge_xdsl.dialects.ge.types import Array


def check_list(values: Sequence[int], lengths: Sequence[int], least: int, name: str) -> None:
    """A list of one of `lengths` with entries of at least `least`."""
    if len(values) not in lengths or min(values) < least:
        wanted = " or ".join(map(str, lengths))
        raise VerifyException(f"{name} is {list(values)}, expected {wanted} entries >= {least}")


class Im2colOp(GeOp):
    """Each window as a column: channel c*kh*kw + u*kw + v of y holds element (u, v) of channel c.

    y is [N, C*kh*kw, Ho, Wo], NHWC when x's type says so. padding_mode CALCULATED pads by pads
    (one entry for all, [h, w] or [top, bottom, left, right]); SAME gives ceil(n / stride) windows,
    VALID pads nothing. C1: x has rank 4. C2: ksizes has 2 positive entries, strides and dilations
    1 or 2. C3: pads has 1, 2 or 4 entries, none negative. C4: padding_mode is CALCULATED, SAME or
    VALID. C5: a window fits the padded input.
    """

    name = "ge.Im2col"

    x = operand()
    ksizes = integers()
    strides = integers((1,))
    dilations = integers((1,))
    padding_mode = string("CALCULATED")
    pads = integers((0,))
    y = result()

    def data_format(self) -> str:
        """NHWC when the type of x says so."""
        layout = tensor_of(self.x.type).layout
        return "NHWC" if layout.origin_format == Format.FORMAT_NHWC else "NCHW"

    def windows(self, sizes: Sequence[int]) -> tuple[Window, ...]:
        """The windows over height and width."""
        pads = list(self.pads)
        pairs = pads if len(pads) == 4 else [p for p in pads * (2 // len(pads)) for _ in (0, 1)]
        steps = [list(v) * (2 // len(v)) for v in (self.strides, self.dilations)]
        found: list[Window] = []
        for i, (size, kernel) in enumerate(zip(sizes, self.ksizes, strict=True)):
            stride, dilation = steps[0][i], steps[1][i]
            before, after = (
                pairs[2 * i : 2 * i + 2] if self.padding_mode == "CALCULATED" else (0, 0)
            )
            if self.padding_mode == "SAME" and size != DYNAMIC:
                before, after = same_pads(size, (kernel - 1) * dilation + 1, stride)
            if self.padding_mode == "SAME" and size == DYNAMIC:
                found.append(Window(kernel, stride, dilation))
                continue
            window = Window(kernel, stride, dilation, before, after)
            count = window_count(size, window)
            found.append(Window(kernel, stride, dilation, before, after, count))
        return tuple(found)

    def infer(self, x: Tensor) -> Tensor:
        check_list(self.ksizes, (2,), 1, "ksizes")  # C2
        check_list(self.strides, (1, 2), 1, "strides")
        check_list(self.dilations, (1, 2), 1, "dilations")
        check_list(self.pads, (1, 2, 4), 0, "pads")  # C3
        if self.padding_mode not in ("CALCULATED", "SAME", "VALID"):  # C4
            raise VerifyException(
                f"padding_mode is '{self.padding_mode}', expected CALCULATED, SAME or VALID"
            )
        order = self.data_format()
        sizes = dict(zip(order, dims(x, 4, "x"), strict=True))  # C1
        high, wide = self.windows((sizes["H"], sizes["W"]))  # C5
        channels = multiply_dims(sizes["C"], *self.ksizes)
        sizes |= {"C": channels, "H": high.count, "W": wide.count}
        return with_layout(x, x.dtype, bounded([sizes[letter] for letter in order]))

    def evaluate(self, x: Array) -> Array:
        order = self.data_format()
        planes = channels_first(x, order)
        windows = self.windows(planes.shape[2:])
        view = window_view(pad_planes(planes, windows, 0), windows)
        n, c, kh, kw, high, wide = view.shape
        return channels_as(view.reshape(n, c * kh * kw, high, wide), order)


class _Fold(GeOp):
    """Columns are added to the windows of an image that they come from."""

    widens = True

    def check_lists(self) -> None:
        """dilation, padding and stride have 2 entries."""
        check_list(self.get_attr("dilation"), (2,), 1, "dilation")  # C2
        check_list(self.get_attr("padding"), (2,), 0, "padding")
        check_list(self.get_attr("stride"), (2,), 1, "stride")

    def places(self, sizes: Sequence[int], kernel: Sequence[int]) -> list[Window]:
        """The windows over an image of `sizes`."""
        lists = (kernel, self.get_attr("stride"), self.get_attr("dilation"))
        found: list[Window] = []
        for size, k, s, d, p in zip(sizes, *lists, self.get_attr("padding"), strict=True):
            window = Window(k, s, d, p, p)
            found.append(Window(k, s, d, p, p, window_count(size, window)))
        return found

    def folded(
        self, x: Tensor, batch: int, channels: int, size: Sequence[int] | None, columns: int,
        kernel: Sequence[int] | None,
    ) -> Tensor:  # fmt: skip
        """[N, C, h, w]; the number of columns is that of the windows."""
        sizes = (DYNAMIC, DYNAMIC)
        if size is not None:
            check_list(size, (2,), 1, "output_size")  # C3
            sizes = (size[0], size[1])
        if size is not None and kernel is not None:
            high, wide = self.places(sizes, kernel)
            merge_dim(columns, high.count * wide.count, "columns of x and windows")  # C4
        return Tensor(x.dtype, bounded((batch, channels, *sizes)))

    def value(self, columns: Array, sizes: Sequence[int], kernel: Sequence[int]) -> Array:
        """[N, C, kh*kw, columns] -> [N, C, h, w]."""
        import numpy as np

        check_list(sizes, (2,), 1, "output_size")
        windows = self.places(sizes, kernel)
        n, c = columns.shape[:2]
        counts = [window.count for window in windows]
        parts = columns.reshape(n, c, *kernel, *counts)
        room = [
            max((w.count - 1) * w.stride + w.span, w.before + size)
            for w, size in zip(windows, sizes, strict=True)
        ]
        y = np.zeros((n, c, *room), columns.dtype)
        for tap, spots in taps(windows):
            y[(slice(None), slice(None), *spots)] += parts[(slice(None), slice(None), *tap)]
        inside = (slice(w.before, w.before + size) for w, size in zip(windows, sizes, strict=True))
        return y[(slice(None), slice(None), *inside)]


def pair_of(op: GeOp, tensor: Tensor, name: str) -> Sequence[int] | None:
    """The 2 values of an operand, None while they are unknown."""
    length = vector_length(tensor, name)
    if length not in (DYNAMIC, 2):
        raise VerifyException(f"{name} has {length} entries, expected 2")
    return known_ints(op, name)


class Col2imOp(_Fold):
    """y[n, c] = the sum of the columns x[n, c, :, l] over the windows of an image of output_size.

    x is [N, C, kh*kw, L]; padding is symmetric. C1: x has rank 4. C2: kernel_size, dilation,
    padding and stride have 2 entries, padding none negative, the others positive. C3: output_size
    holds 2 positive entries. C4: L is the number of windows. C5: x has kh*kw rows.
    """

    name = "ge.Col2im"

    x = operand()
    output_size = operand()
    kernel_size = integers()
    dilation = integers()
    padding = integers()
    stride = integers()
    y = result()

    def infer(self, x: Tensor, output_size: Tensor) -> Tensor:
        self.check_lists()
        check_list(self.kernel_size, (2,), 1, "kernel_size")  # C2
        batch, channels, rows, columns = dims(x, 4, "x")  # C1
        merge_dim(rows, multiply_dims(*self.kernel_size), "rows of x and of the kernel")  # C5
        size = pair_of(self, output_size, "output_size")  # C3
        return self.folded(x, batch, channels, size, columns, self.kernel_size)

    def evaluate(self, x: Array, output_size: Array) -> Array:
        return self.value(x, ints_of(output_size), self.kernel_size)


class Col2ImV2Op(_Fold):
    """Col2im of x [N, C*kh*kw, L] whose kernel_size is an operand.

    C1: x has rank 3. C2: kernel_size holds 2 positive entries; dilation, padding and stride have
    2 entries, padding none negative, the others positive. C3: output_size holds 2 positive
    entries. C4: L is the number of windows. C5: x has a multiple of kh*kw rows.
    """

    name = "ge.Col2ImV2"

    x = operand()
    output_size = operand()
    kernel_size = operand()
    dilation = integers()
    padding = integers()
    stride = integers()
    y = result()

    def infer(self, x: Tensor, output_size: Tensor, kernel_size: Tensor) -> Tensor:
        self.check_lists()
        batch, rows, columns = dims(x, 3, "x")  # C1
        kernel = pair_of(self, kernel_size, "kernel_size")  # C2
        channels = DYNAMIC
        if kernel is not None:
            check_list(kernel, (2,), 1, "kernel_size")  # C2
            each = kernel[0] * kernel[1]
            if rows != DYNAMIC and rows % each:  # C5
                raise VerifyException(f"x has {rows} rows, expected a multiple of {each}")
            channels = DYNAMIC if rows == DYNAMIC else rows // each
        size = pair_of(self, output_size, "output_size")  # C3
        return self.folded(x, batch, channels, size, columns, kernel)

    def evaluate(self, x: Array, output_size: Array, kernel_size: Array) -> Array:
        kernel = ints_of(kernel_size)
        check_length(kernel, 2, "kernel_size")
        n, rows, columns = x.shape
        each = kernel[0] * kernel[1]
        parts = x.reshape(n, rows // each, each, columns)
        return self.value(parts, ints_of(output_size), kernel)
