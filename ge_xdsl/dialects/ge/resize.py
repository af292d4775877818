"""Resizing of images."""

from __future__ import annotations

from collections.abc import Sequence
from math import floor
from typing import TYPE_CHECKING, ClassVar

from xdsl.utils.exceptions import VerifyException

from ge_xdsl.dialects.ge.elements import INDICES, require
from ge_xdsl.dialects.ge.extents import bounded, ints_of
from ge_xdsl.dialects.ge.fields import AttrField
from ge_xdsl.dialects.ge.op import (
    GeOp,
    boolean,
    data_type,
    floating,
    floats,
    integer,
    integers,
    operand,
    optional,
    result,
    string,
)
from ge_xdsl.dialects.ge.operands import (
    check_length,
    check_rank,
    known_ints,
    vector_length,
    with_layout,
)
from ge_xdsl.dialects.ge.resampling import (
    MODES,
    ROUNDINGS,
    Axis,
    Taps,
    coordinates,
    cubic_taps,
    linear_taps,
    nearest_taps,
    outside,
    resample,
)
from ge_xdsl.dialects.ge.shapes import shape_text
from ge_xdsl.dialects.ge.types import DYNAMIC, DataType, Format, Tensor, tensor_of

if TYPE_CHECKING:
    from ge_xdsl.dialects.ge.types import Array


def _require_floats(x: Array, mode: str) -> None:
    if x.dtype.kind != "f":
        raise ValueError(f"x is {x.dtype}, expected floats for {mode}")


class ResizeOp(GeOp):
    """ONNX Resize of an NCHW or NCDHW x, one axis after the other.

    sizes gives the shape of y; without it, it is floor(size * scale) per dimension (in
    tf_crop_and_resize of the part that roi selects). coordinate_transformation_mode maps output
    to input positions; mode takes the nearest neighbour (nearest_mode says which), the linear
    interpolation of two or the cubic one of four (cubic_coeff_a, exclude_outside). In
    tf_crop_and_resize, roi holds the starts and ends of the part that is read, and positions
    outside of x give extrapolation_value. C1: x has rank 4 or 5. C2: sizes and scales have one
    entry per dimension, sizes positive, scales above 0; an empty scales counts as none. C3:
    coordinate_transformation_mode, mode and nearest_mode are known. C4: tf_crop_and_resize has a
    roi with two entries per dimension.
    """

    name = "ge.Resize"

    x = operand()
    roi = optional()
    scales = optional()
    sizes = optional()
    coordinate_transformation_mode = string("half_pixel")
    cubic_coeff_a = floating(-0.75)
    exclude_outside = integer(0)
    extrapolation_value = floating(0.0)
    mode = string("nearest")
    nearest_mode = string("round_prefer_floor")
    y = result()

    widens = True

    def infer(
        self, x: Tensor, roi: Tensor | None, scales: Tensor | None, sizes: Tensor | None
    ) -> Tensor:
        self.check_attributes()
        crops = self.coordinate_transformation_mode == "tf_crop_and_resize"
        if crops and roi is None:  # C4
            raise VerifyException("roi is missing, expected one for tf_crop_and_resize")
        wanted = self.known_sizes(sizes)
        rank = x.rank if x.rank is not None else None if wanted is None else len(wanted)
        if rank is not None and rank not in (4, 5):  # C1
            raise VerifyException(f"x is {shape_text(x.shape)}, expected rank 4 or 5")
        if x.shape is None or rank is None:
            return with_layout(x, x.dtype, wanted)
        if wanted is not None:
            check_length(wanted, rank, "sizes")  # C2
            return with_layout(x, x.dtype, wanted)
        factors = None if sizes is not None or scales is None else self.constant("scales")
        parts = self.constant("roi") if crops else None
        if factors is None or factors.size == 0 or (crops and parts is None):
            return with_layout(x, x.dtype, (DYNAMIC,) * rank)
        return with_layout(x, x.dtype, self.scaled(x.shape, factors, parts))

    def check_attributes(self) -> None:
        """The names of modes."""
        for value, name, known in (
            (
                self.coordinate_transformation_mode,
                "coordinate_transformation_mode",
                MODES,
            ),
            (self.mode, "mode", ("nearest", "linear", "cubic")),
            (self.nearest_mode, "nearest_mode", ROUNDINGS),
        ):  # C3
            if value not in known:
                raise VerifyException(f"{name} is '{value}', expected one of {', '.join(known)}")

    def known_sizes(self, sizes: Tensor | None) -> tuple[int, ...] | None:
        """The shape that sizes holds, as far as it is known."""
        if sizes is None:
            return None
        count = vector_length(sizes, "sizes")
        values = known_ints(self, "sizes")
        if values is None:
            return None if count in (DYNAMIC, 0) else (DYNAMIC,) * count
        if not values:
            return None
        if min(values) < 1:  # C2
            raise VerifyException(f"sizes are {list(values)}, expected positive ones")
        return bounded(values)

    def scaled(self, shape: Sequence[int], scales: Array, roi: Array | None) -> tuple[int, ...]:
        """floor(size * scale), of the part that roi selects when there is one."""
        import numpy as np

        factors = [float(np.float32(v)) for v in scales.reshape(-1).tolist()]
        check_length(factors, len(shape), "scales")  # C2
        if not all(0 < factor < 2**31 for factor in factors):
            raise VerifyException(f"scales are {factors}, expected positive ones")
        parts = self.parts_of(roi, len(shape))
        return bounded(
            [
                DYNAMIC if d == DYNAMIC else floor(d * (end - start) * factor)
                for d, factor, (start, end) in zip(shape, factors, parts, strict=True)
            ]
        )

    def parts_of(self, roi: Array | None, rank: int) -> list[tuple[float, float]]:
        """The part of each dimension that is read; all of it outside of tf_crop_and_resize."""
        if roi is None or self.coordinate_transformation_mode != "tf_crop_and_resize":
            return [(0.0, 1.0)] * rank
        values = [float(v) for v in roi.reshape(-1).tolist()]
        check_length(values, 2 * rank, "roi")  # C4
        return list(zip(values[:rank], values[rank:], strict=True))

    def evaluate(
        self, x: Array, roi: Array | None, scales: Array | None, sizes: Array | None
    ) -> Array:
        if self.mode != "nearest":
            _require_floats(x, self.mode)
        y = x
        for place, axis in enumerate(self.axes(x.shape, roi, scales, sizes)):
            if axis.size != axis.count or axis.scale != 1 or axis.region != (0.0, 1.0):
                y = self.resized(y, place, axis)
        return y

    def axes(
        self,
        shape: Sequence[int],
        roi: Array | None,
        scales: Array | None,
        sizes: Array | None,
    ) -> list[Axis]:
        """The resize of each dimension."""
        parts = self.parts_of(roi, len(shape))
        if sizes is not None and sizes.size:
            counts = ints_of(sizes)
            check_length(counts, len(shape), "sizes")
            if any(n > d == 0 for n, d in zip(counts, shape, strict=True)):
                raise ValueError(f"x is {shape_text(shape)}, expected no empty dimension to resize")
            factors = [n / d if d else 1.0 for n, d in zip(counts, shape, strict=True)]
        elif scales is not None and scales.size:
            counts = list(self.scaled(shape, scales, roi))
            factors = [float(v) for v in scales.reshape(-1).tolist()]
        else:
            raise ValueError("sizes and scales are missing, expected one of them")
        return [Axis(*item) for item in zip(shape, counts, factors, parts, strict=True)]

    def resized(self, x: Array, place: int, axis: Axis) -> Array:
        """x with one axis resized."""
        import numpy as np

        position = coordinates(axis, self.coordinate_transformation_mode)
        y = resample(x, place, self.taps(position, axis.size))
        if self.coordinate_transformation_mode == "tf_crop_and_resize":
            shape = [1] * x.ndim
            shape[place] = -1
            out = outside(position, axis.size).reshape(shape)
            y = np.where(out, y.dtype.type(self.extrapolation_value), y)
        return y

    def taps(self, position: Array, size: int) -> Taps:
        """The neighbours for this mode."""
        if self.mode == "nearest":
            return nearest_taps(position, size, self.nearest_mode)
        if self.mode == "linear":
            return linear_taps(position, size)
        return cubic_taps(position, size, self.cubic_coeff_a, self.exclude_outside != 0)


def all_known(size: Sequence[int]) -> Sequence[int]:
    """The entries of an attribute, none of which stands for an unknown one."""
    if DYNAMIC in size:
        raise VerifyException(f"size is {list(size)}, expected 2 positive entries")
    return size


class ImageResize(GeOp):
    """Height and width of a 4-D image from a size [h, w]; they stand where the type says.

    Dimensions 1 and 2 when x's format is NHWC, else 2 and 3.
    """

    align_corners: ClassVar[AttrField[bool]]
    half_pixel_centers: ClassVar[AttrField[bool]]

    widens = True

    def spatial(self) -> tuple[int, int]:
        """Positions of height and width."""
        layout = tensor_of(self.operands[0].type).layout
        return (1, 2) if layout.origin_format == Format.FORMAT_NHWC else (2, 3)

    def check_flags(self) -> None:
        """At most one of the two flags."""
        if self.align_corners and self.half_pixel_centers:  # C3
            raise VerifyException("align_corners and half_pixel_centers are set, expected one")

    def resized(self, x: Tensor, size: Sequence[int] | None, dtype: DataType) -> Tensor:
        """The result for [h, w], DYNAMIC or None while unknown."""
        self.check_flags()
        high, wide = (DYNAMIC, DYNAMIC) if size is None else self.checked(size)
        if x.shape is None:
            return with_layout(x, dtype, (DYNAMIC,) * 4)
        name = self.prototype.inputs[0].name
        check_rank(x.shape, 4, name)  # C1
        shape = list(x.shape)
        for axis, count in zip(self.spatial(), (high, wide), strict=True):
            if shape[axis] == 0:  # C1
                raise VerifyException(f"{name} is {shape_text(x.shape)}, expected no empty plane")
            shape[axis] = count
        return with_layout(x, dtype, bounded(shape))

    def checked(self, size: Sequence[int]) -> Sequence[int]:
        """Two positive entries."""
        if len(size) != 2 or any(n < 1 and n != DYNAMIC for n in size):  # C2
            raise VerifyException(f"size is {list(size)}, expected 2 positive entries")
        return size

    def size_of(self, size: Tensor) -> Sequence[int] | None:
        """The values of the operand `size`, None while unknown."""
        require(size, "size", INDICES, "DT_INT32 or DT_INT64")
        length = vector_length(size, "size")
        if length not in (DYNAMIC, 2):  # C2
            raise VerifyException(f"size has {length} entries, expected 2")
        return known_ints(self, "size")

    def sources(self, size: int, count: int) -> Array:
        """[count] f32: dst * s, or (dst + 0.5) * s - 0.5 with half_pixel_centers.

        s = size / count, with align_corners (size - 1) / (count - 1).
        """
        import numpy as np

        place = np.arange(count, dtype=np.float32)
        if self.align_corners and count > 1:
            return place * np.float32((size - 1) / (count - 1))
        step = np.float32(size / count)
        if self.half_pixel_centers:
            return (place + np.float32(0.5)) * step - np.float32(0.5)
        return place * step

    def nearest_sources(self, size: int, count: int) -> Array:
        """[count] indices: rounded with align_corners, else floored."""
        import numpy as np

        position = self.sources(size, count)
        if self.align_corners or self.half_pixel_centers:
            position = position + np.float32(0.5)
        return np.clip(np.floor(position), 0, size - 1).astype(np.int64)

    def linear(self, x: Array, size: Sequence[int]) -> Array:
        """The bilinear value."""
        for axis, count in zip(self.spatial(), self.checked(size), strict=True):
            taps = linear_taps(self.sources(x.shape[axis], count), x.shape[axis])
            x = resample(x, axis, taps)
        return x

    def nearest(self, x: Array, size: Sequence[int]) -> Array:
        """The value of the nearest element."""
        for axis, count in zip(self.spatial(), self.checked(size), strict=True):
            x = x.take(self.nearest_sources(x.shape[axis], count), axis=axis)
        return x


def _no_scales(scales: Sequence[float]) -> None:
    if any(scales):
        raise ValueError(f"scales are {list(scales)}, expected zeros: their effect is unconfirmed")


class ResizeBilinearV2Op(ImageResize):
    """y = the bilinear interpolation of x at the scaled positions, in the type `dtype`.

    A position is dst * s with s = input / output size, (dst + 0.5) * s - 0.5 (at least 0) with
    half_pixel_centers; align_corners takes s = (input - 1) / (output - 1). scales has no confirmed
    meaning: only zeros have a value. C1: x has rank 4 and no empty plane. C2: size holds 2
    positive entries. C3: at most one of align_corners and half_pixel_centers. C4: dtype is f32,
    f16, bf16 or u8 (which has no value here).
    """

    name = "ge.ResizeBilinearV2"

    x = operand()
    size = operand()
    align_corners = boolean(False)
    half_pixel_centers = boolean(False)
    dtype = data_type(DataType.DT_FLOAT)
    scales = floats((0.0, 0.0))
    y = result()

    def infer(self, x: Tensor, size: Tensor) -> Tensor:
        known = (DataType.DT_FLOAT, DataType.DT_FLOAT16, DataType.DT_BF16, DataType.DT_UINT8)
        if self.dtype not in known:  # C4
            names = ", ".join(dtype.name for dtype in known)
            raise VerifyException(f"dtype is {self.dtype.name}, expected one of {names}")
        return self.resized(x, self.size_of(size), self.dtype)

    def evaluate(self, x: Array, size: Array) -> Array:
        _no_scales(self.scales)
        if self.dtype == DataType.DT_UINT8:
            raise ValueError("dtype is DT_UINT8, expected a float: its rounding is unconfirmed")
        return self.linear(x.astype("float32"), ints_of(size))


class ResizeBilinearV2DOp(ImageResize):
    """ResizeBilinearV2 with size as an attribute; y is f32.

    C1: x has rank 4 and no empty plane. C2: size has 2 positive entries. C3: at most one of
    align_corners and half_pixel_centers.
    """

    name = "ge.ResizeBilinearV2D"

    x = operand()
    align_corners = boolean(False)
    half_pixel_centers = boolean(False)
    size = integers()
    y = result()

    def infer(self, x: Tensor) -> Tensor:
        return self.resized(x, all_known(self.size), DataType.DT_FLOAT)

    def evaluate(self, x: Array) -> Array:
        return self.linear(x.astype("float32"), self.size)


class ResizeNearestNeighborV2Op(ImageResize):
    """y = the element of x at min(floor(dst * s), input - 1) in each dimension.

    s = input / output size; half_pixel_centers takes floor((dst + 0.5) * s), align_corners
    round(dst * s) with s = (input - 1) / (output - 1). Only zero scales have a value. C1: x has
    rank 4 and no empty plane. C2: size holds 2 positive entries. C3: at most one of align_corners
    and half_pixel_centers.
    """

    name = "ge.ResizeNearestNeighborV2"

    widens = False

    x = operand()
    size = operand()
    align_corners = boolean(False)
    half_pixel_centers = boolean(False)
    scales = floats((0.0, 0.0))
    y = result()

    def infer(self, x: Tensor, size: Tensor) -> Tensor:
        return self.resized(x, self.size_of(size), x.dtype)

    def evaluate(self, x: Array, size: Array) -> Array:
        _no_scales(self.scales)
        return self.nearest(x, ints_of(size))


class ResizeNearestNeighborV2DOp(ImageResize):
    """ResizeNearestNeighborV2 with size as an attribute.

    C1: x has rank 4 and no empty plane. C2: size has 2 positive entries. C3: at most one of
    align_corners and half_pixel_centers.
    """

    name = "ge.ResizeNearestNeighborV2D"

    widens = False

    x = operand()
    size = integers()
    align_corners = boolean(False)
    half_pixel_centers = boolean(False)
    y = result()

    def infer(self, x: Tensor) -> Tensor:
        return self.resized(x, all_known(self.size), x.dtype)

    def evaluate(self, x: Array) -> Array:
        return self.nearest(x, self.size)


class ResizeNearestNeighborV2GradOp(ImageResize):
    """The gradient of ResizeNearestNeighborV2: each of grads is added where it was read.

    size holds the height and width of y. C1: grads has rank 4 and no empty plane. C2: size holds
    2 positive entries. C3: at most one of align_corners and half_pixel_centers.
    """

    name = "ge.ResizeNearestNeighborV2Grad"

    grads = operand()
    size = operand()
    align_corners = boolean(False)
    half_pixel_centers = boolean(False)
    scales = floats((0.0, 0.0))
    y = result()

    def infer(self, grads: Tensor, size: Tensor) -> Tensor:
        return self.resized(grads, self.size_of(size), grads.dtype)

    def evaluate(self, grads: Array, size: Array) -> Array:
        import numpy as np

        _no_scales(self.scales)
        for axis, count in zip(self.spatial(), self.checked(ints_of(size)), strict=True):
            index = self.nearest_sources(count, grads.shape[axis])
            moved = np.moveaxis(grads, axis, 0)
            total = np.zeros((count, *moved.shape[1:]), grads.dtype)
            np.add.at(total, index, moved)
            grads = np.moveaxis(total, 0, axis)
        return grads


class KeepRatioResizeBilinearOp(ImageResize):
    """ResizeBilinearV2 to a size that keeps the ratio of height and width; y is f32.

    With m = min_dimension and M = max_dimension: r = min(h, w) / m and size floor(n / r + 0.5);
    when the larger one exceeds M, r = max(h, w) / M instead. C1: images has rank 4 and no empty
    plane. C2: the dimensions are positive. C3: at most one of align_corners and
    half_pixel_centers.
    """

    name = "ge.KeepRatioResizeBilinear"

    images = operand()
    min_dimension = integer()
    max_dimension = integer()
    align_corners = boolean(False)
    half_pixel_centers = boolean(False)
    y = result()

    def wanted(self, sizes: Sequence[int]) -> Sequence[int]:
        """The size [h, w] for an image of `sizes`."""
        if min(self.min_dimension, self.max_dimension) < 1:  # C2
            raise VerifyException(
                f"min_dimension is {self.min_dimension}, max_dimension {self.max_dimension}, "
                "expected positive ones"
            )
        if DYNAMIC in sizes or 0 in sizes:
            return (DYNAMIC, DYNAMIC)
        ratio = min(sizes) / self.min_dimension
        found = [floor(n / ratio + 0.5) for n in sizes]
        if max(found) > self.max_dimension:
            ratio = max(sizes) / self.max_dimension
            found = [floor(n / ratio + 0.5) for n in sizes]
        return [max(n, 1) for n in found]

    def infer(self, images: Tensor) -> Tensor:
        sizes = (DYNAMIC, DYNAMIC)
        if images.shape is not None:
            check_rank(images.shape, 4, "images")  # C1
            sizes = tuple(images.shape[axis] for axis in self.spatial())
        return self.resized(images, self.wanted(sizes), DataType.DT_FLOAT)

    def evaluate(self, images: Array) -> Array:
        sizes = [images.shape[axis] for axis in self.spatial()]
        return self.linear(images.astype("float32"), self.wanted(sizes))


class ResizeBicubicOp(ImageResize):
    """A bicubic resize to size [h, w] in the type `dtype`.

    The value semantics is unconfirmed (the coefficient of the kernel), so that there is none. C1:
    images has rank 4 and no empty plane. C2: size holds 2 positive entries. C3: at most one of
    align_corners and half_pixel_centers.
    """

    name = "ge.ResizeBicubic"

    images = operand()
    size = operand()
    align_corners = boolean(False)
    half_pixel_centers = boolean(False)
    dtype = data_type(DataType.DT_FLOAT)
    y = result()

    def infer(self, images: Tensor, size: Tensor) -> Tensor:
        return self.resized(images, self.size_of(size), self.dtype)
