"""Patches, spectra and regions: further ops that look at an image or a signal piece by piece."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from xdsl.utils.exceptions import VerifyException

from ge_xdsl.dialects.ge.elements import COMPLEX, INDICES, require
from ge_xdsl.dialects.ge.extents import bounded, checked_shape, count_of
from ge_xdsl.dialects.ge.fields import (
    boolean,
    floating,
    floats,
    integer,
    integers,
    operand,
    optional,
    result,
    string,
)
from ge_xdsl.dialects.ge.op import GeOp
from ge_xdsl.dialects.ge.operands import check_length, with_layout
from ge_xdsl.dialects.ge.recurrent import dims, expect
from ge_xdsl.dialects.ge.rounding import chosen
from ge_xdsl.dialects.ge.shapes import merge_dim, multiply_dims, shape_text
from ge_xdsl.dialects.ge.suffix import check_floats
from ge_xdsl.dialects.ge.types import DYNAMIC, DataType, Format, Tensor, tensor_of
from ge_xdsl.dialects.ge.windows import (
    Window,
    channels_as,
    channels_first,
    pad_planes,
    same_pads,
    window_count,
    window_view,
)

if TYPE_CHECKING:
    from ge_xdsl.dialects.ge.types import Array


def _order(op: GeOp) -> str:
    """NCHW when the type of x says so, else NHWC."""
    layout = tensor_of(op.operands[0].type).layout
    return "NCHW" if layout.origin_format == Format.FORMAT_NCHW else "NHWC"


def _check_steps(values: Sequence[int], order: str, name: str) -> None:
    """4 positive entries, 1 for images and channels."""
    check_length(values, 4, name)
    if min(values) < 1 or values[0] != 1 or values[order.index("C")] != 1:
        raise VerifyException(f"{name} is {list(values)}, expected positive entries, 1 for N and C")


def _placed(size: int, kernel: int, stride: int, rate: int, same: bool) -> Window:
    """The windows over one dimension, padded to ceil(size / stride) of them when `same`."""
    span = (kernel - 1) * rate + 1
    before, after = same_pads(size, span, stride) if same and size != DYNAMIC else (0, 0)
    window = Window(kernel, stride, rate, before, after)
    count = DYNAMIC if size == DYNAMIC else window_count(size, window)
    return Window(kernel, stride, rate, before, after, count)


class ExtractImagePatchesOp(GeOp):
    """y[n, i, j] = the patch of x that window (i, j) covers, its pixels row by row

    In NHWC y is [N, Ho, Wo, kh*kw*C], element (u*kw + v)*C + c; an NCHW x (by its type) has the
    list entries in that order and the patches in dimension 1. padding SAME fills up with zeros to
    ceil(size / stride) windows. C1: x has rank 4. C2: ksizes, strides and rates have 4 positive
    entries, 1 for N and C. C3: padding is SAME or VALID. C4: a window fits the padded x.
    """

    name = "ge.ExtractImagePatches"

    x = operand()
    ksizes = integers()
    strides = integers()
    rates = integers()
    padding = string()
    y = result()

    def windows(self, sizes: Sequence[int]) -> tuple[Window, ...]:
        """The windows over the height and the width of x."""
        order = _order(self)
        same = self.padding == "SAME"
        found: list[Window] = []
        for size, place in zip(sizes, (order.index("H"), order.index("W")), strict=True):
            steps = (self.ksizes[place], self.strides[place], self.rates[place])
            found.append(_placed(size, *steps, same=same))
        return tuple(found)

    def infer(self, x: Tensor) -> Tensor:
        order = _order(self)
        for name in ("ksizes", "strides", "rates"):
            _check_steps(self.get_attr(name), order, name)  # C2
        chosen(self.padding, "padding", ("SAME", "VALID"))  # C3
        sizes = dict(zip(order, dims(x, 4, "x"), strict=True))  # C1
        high, wide = self.windows((sizes["H"], sizes["W"]))  # C4
        sizes |= {"C": multiply_dims(sizes["C"], *self.ksizes), "H": high.count, "W": wide.count}
        return with_layout(x, x.dtype, bounded([sizes[letter] for letter in order]))

    def evaluate(self, x: Array) -> Array:
        order = _order(self)
        planes = channels_first(x, order)
        windows = self.windows(planes.shape[2:])
        view = window_view(pad_planes(planes, windows, 0), windows)
        n, c, kh, kw, high, wide = view.shape
        patches = view.transpose(0, 2, 3, 1, 4, 5).reshape(n, kh * kw * c, high, wide)
        return channels_as(patches, order)


class Mask2ArgmaxOp(GeOp):
    """argmax = the positions that the bit mask of a max pooling of x tells, in the mask's type

    The layout of the mask belongs to the kernel, so there are no values here. Shapes are those of
    the pooling in NHWC. C1: x has rank 4. C2: ksize and strides have 4 positive entries, 1 for N
    and C. C3: padding is SAME or VALID. C4: mask is i32 or i64. C5: a window fits x. C6:
    originshape has 4 entries, none negative.
    """

    name = "ge.Mask2Argmax"

    x = operand()
    mask = operand()
    argmax = result()
    ksize = integers()
    strides = integers()
    padding = string()
    originshape = integers()

    def infer(self, x: Tensor, mask: Tensor) -> Tensor:
        _check_steps(self.ksize, "NHWC", "ksize")  # C2
        _check_steps(self.strides, "NHWC", "strides")  # C2
        chosen(self.padding, "padding", ("SAME", "VALID"))  # C3
        require(mask, "mask", INDICES, "DT_INT32 or DT_INT64")  # C4
        check_length(self.originshape, 4, "originshape")  # C6
        checked_shape(self.originshape)  # C6
        n, high, wide, c = dims(x, 4, "x")  # C1
        same = self.padding == "SAME"
        counts = [
            _placed(size, self.ksize[i], self.strides[i], 1, same).count  # C5
            for i, size in ((1, high), (2, wide))
        ]
        return mask.with_shape((n, *counts, c))


class PSROIPoolingOp(GeOp):
    """y [N * R, output_dim, group_size, group_size] of rois [N, 5, R]; the values are unconfirmed

    C1: x has rank 4. C2: rois are [N, 5, R]. C3: group_size is 1 to 127. C4: x has output_dim *
    group_size^2 channels. C5: x and rois are floating-point tensors.
    """

    name = "ge.PSROIPooling"

    x = operand()
    rois = operand()
    y = result()
    output_dim = integer()
    group_size = integer()
    spatial_scale = floating()

    def infer(self, x: Tensor, rois: Tensor) -> Tensor:
        check_floats(x=x, rois=rois)  # C5
        if not 0 < self.group_size < 128:  # C3
            raise VerifyException(f"group_size is {self.group_size}, expected 1 to 127")
        size, depth = self.group_size, count_of(self.output_dim, "output_dim")
        merge_dim(dims(x, 4, "x")[1], depth * size * size, "channels of x and of the bins")  # C1 C4
        expect(rois, (DYNAMIC, 5, DYNAMIC), "rois")  # C2
        batch, _, rows = dims(rois, 3, "rois")
        return x.with_shape(bounded((multiply_dims(batch, rows), depth, size, size)))


class UpsampleOp(GeOp):
    """y[n, c, i, j] = x[n, c, i // stride_h, j // stride_w]; only scale 1 has a confirmed value

    C1: x has rank 4. C2: stride_h and stride_w are 1 or more.
    """

    name = "ge.Upsample"

    x = operand()
    y = result()
    scale = floating(1.0)
    stride_h = integer(2)
    stride_w = integer(2)

    def infer(self, x: Tensor) -> Tensor:
        n, c, high, wide = dims(x, 4, "x")  # C1
        down = count_of(self.stride_h, "stride_h", 1)  # C2
        right = count_of(self.stride_w, "stride_w", 1)  # C2
        shape = (n, c, multiply_dims(high, down), multiply_dims(wide, right))
        return with_layout(x, x.dtype, bounded(shape))

    def evaluate(self, x: Array) -> Array:
        if self.scale != 1.0:
            raise ValueError(f"scale is {self.scale}, expected 1: its meaning is unconfirmed")
        return x.repeat(self.stride_h, axis=2).repeat(self.stride_w, axis=3)


class _SizedResize(GeOp):
    def check_modes(self) -> None:
        """The names of modes and formats."""
        chosen(self.get_attr("mode"), "mode", ("nearest", "linear", "cubic", "bilinear"))
        chosen(self.get_attr("data_format"), "data_format", ("NCHW", "NHWC"))


class ResizeDOp(_SizedResize):
    """y = x with height and width `sizes`; the values of its modes are unconfirmed

    C1: x is a floating-point tensor of rank 4. C2: sizes has 2 positive entries. C3: mode is
    nearest, linear, cubic or bilinear, and data_format NCHW or NHWC.
    """

    name = "ge.ResizeD"

    x = operand()
    y = result()
    sizes = integers()
    scales = floats(())
    roi = integers(())
    coordinate_transformation_mode = string("half_pixel")
    cubic_coeff_a = floating(-0.75)
    exclude_outside = integer(0)
    extrapolation_value = floating(0.0)
    mode = string("nearest")
    nearest_mode = string("round_prefer_floor")
    data_format = string("NCHW")

    def infer(self, x: Tensor) -> Tensor:
        check_floats(x=x)  # C1
        self.check_modes()  # C3
        check_length(self.sizes, 2, "sizes")  # C2
        high, wide = (count_of(size, "sizes", 1) for size in self.sizes)  # C2
        shape = list(dims(x, 4, "x"))  # C1
        shape[self.data_format.index("H")], shape[self.data_format.index("W")] = high, wide
        return with_layout(x, x.dtype, bounded(shape))


class ResizeGradDOp(_SizedResize):
    """y = the gradient of ResizeD in the shape original_size; the values are unconfirmed

    C1: grads is a floating-point tensor of rank 4. C2: original_size has 4 entries, none negative.
    C3: mode is nearest, linear, cubic or bilinear, and data_format NCHW or NHWC. C4: grads and
    original_size have the same images and channels.
    """

    name = "ge.ResizeGradD"

    grads = operand()
    y = result()
    original_size = integers()
    roi = integers(())
    scales = floats(())
    coordinate_transformation_mode = string("half_pixel")
    cubic_coeff_a = floating(-0.75)
    exclude_outside = integer(0)
    extrapolation_value = floating(0.0)
    mode = string("nearest")
    nearest_mode = string("round_prefer_floor")
    data_format = string("NCHW")

    def infer(self, grads: Tensor) -> Tensor:
        check_floats(grads=grads)  # C1
        self.check_modes()  # C3
        check_length(self.original_size, 4, "original_size")  # C2
        shape = checked_shape(self.original_size)  # C2
        have = dims(grads, 4, "grads")  # C1
        for letter in "NC":
            place = self.data_format.index(letter)
            merge_dim(have[place], shape[place], "images and channels")  # C4
        return with_layout(grads, grads.dtype, shape)


class STFTOp(GeOp):
    """y[b, f, t] = sum over k of window[k] * x[b, t*hop + k] * e^(-2 pi i f k / n_fft)

    As torch.stft without centering: 1 + (L - n_fft) // hop_length frames; hop_length 0 stands for
    n_fft // 4 and win_length 0 for n_fft. A window of win_length is centred in n_fft zeros, a
    missing one is ones. normalized divides by sqrt(n_fft), onesided keeps n_fft // 2 + 1
    frequencies; without return_complex the last dimension holds real and imaginary part. C1: x has
    rank 1 or 2. C2: n_fft is 1 or more and at most the length of x. C3: win_length is 0 to n_fft,
    hop_length not negative. C4: window has win_length entries. C5: x is real when onesided.
    """

    name = "ge.STFT"

    x = operand()
    window = optional()
    y = result()
    hop_length = integer(0)
    win_length = integer(0)
    normalized = boolean(False)
    onesided = boolean(True)
    return_complex = boolean(True)
    n_fft = integer()

    def steps(self) -> tuple[int, int, int]:
        """Samples from frame to frame, of the window, and frequencies."""
        count = self.n_fft // 2 + 1 if self.onesided else self.n_fft
        return self.hop_length or max(self.n_fft // 4, 1), self.win_length or self.n_fft, count

    def infer(self, x: Tensor, window: Tensor | None) -> Tensor:
        count_of(self.n_fft, "n_fft", 1)  # C2
        if not 0 <= self.win_length <= self.n_fft or self.hop_length < 0:  # C3
            raise VerifyException(
                f"win_length is {self.win_length} and hop_length {self.hop_length}, expected "
                f"0 to {self.n_fft} and none negative"
            )
        hop, length, count = self.steps()
        expect(window, (length,), "window")  # C4
        if self.onesided and x.dtype in COMPLEX:  # C5
            raise VerifyException(f"x is {x.dtype.name}, expected a real type when onesided")
        wide = x.dtype in (DataType.DT_DOUBLE, DataType.DT_COMPLEX128)
        dtype = DataType.DT_COMPLEX128 if wide else DataType.DT_COMPLEX64
        if not self.return_complex:
            dtype = DataType.DT_DOUBLE if wide else DataType.DT_FLOAT
        if x.shape is None:
            return Tensor(dtype, None)
        if len(x.shape) not in (1, 2):  # C1
            raise VerifyException(f"x is {shape_text(x.shape)}, expected rank 1 or 2")
        tail = () if self.return_complex else (2,)
        frames = DYNAMIC if x.shape[-1] == DYNAMIC else self._frames(x.shape[-1], hop)
        return Tensor(dtype, bounded((*x.shape[:-1], count, frames, *tail)))

    def _frames(self, samples: int, hop: int) -> int:
        if samples < self.n_fft:  # C2
            raise VerifyException(f"n_fft is {self.n_fft}, expected at most {samples}")
        return 1 + (samples - self.n_fft) // hop

    def evaluate(self, x: Array, window: Array | None) -> Array:
        import numpy as np

        hop, length, count = self.steps()
        frames = np.lib.stride_tricks.sliding_window_view(x, self.n_fft, axis=-1)[..., ::hop, :]
        before = (self.n_fft - length) // 2
        weights = np.zeros(self.n_fft, x.dtype if window is None else window.dtype)
        weights[before : before + length] = 1 if window is None else window
        found = np.fft.fft(frames * weights, axis=-1)[..., :count].swapaxes(-1, -2)
        if self.normalized:
            found = found / np.sqrt(self.n_fft)
        wide = x.dtype.name in ("float64", "complex128")
        found = found.astype("complex128" if wide else "complex64")
        return found if self.return_complex else np.stack((np.real(found), np.imag(found)), axis=-1)
