"""Adaptive pooling: output position i takes [floor(i*n/m), ceil((i+1)*n/m)) of n elements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from xdsl.utils.exceptions import VerifyException

from ge_xdsl.dialects.ge.extents import bounded
from ge_xdsl.dialects.ge.fields import AttrField
from ge_xdsl.dialects.ge.op import GeOp, integer, integers, operand, result, string
from ge_xdsl.dialects.ge.operands import check_length, with_layout
from ge_xdsl.dialects.ge.pool_argmax import index_dtype
from ge_xdsl.dialects.ge.shapes import shape_text
from ge_xdsl.dialects.ge.types import DYNAMIC, DataType, Format, Tensor, numpy_dtype, tensor_of
from ge_xdsl.dialects.ge.windows import check_format

if TYPE_CHECKING:
    from ge_xdsl.dialects.ge.types import Array


def bounds(size: int, count: int) -> tuple[Any, Any]:
    """First and one past the last element of each of `count` windows over `size`."""
    import numpy as np

    step = np.arange(count)
    return step * size // count, -(-(step + 1) * size // count)


def adaptive_mean(x: Array, axis: int, count: int) -> Array:
    """The mean of each window along `axis`."""
    import numpy as np

    size = x.shape[axis]
    first, last = bounds(size, count)
    pad = [(0, 0)] * x.ndim
    pad[axis] = (0, 1)  # reduceat takes no index past the end
    edges = np.stack([first, last], axis=1).reshape(-1)
    sums = np.add.reduceat(np.pad(x, pad), edges, axis=axis)
    kept = (slice(None),) * axis + (slice(None, None, 2),)
    shape = [1] * x.ndim
    shape[axis] = count
    return sums[kept] / (last - first).reshape(shape).astype(x.dtype)


def adaptive_max(x: Array, index: Array, axis: int, count: int) -> tuple[Array, Array]:
    """The first maximum of each window along `axis`, and the entry of `index` at its place."""
    import numpy as np

    size = x.shape[axis]
    first, last = bounds(size, count)
    width = int((last - first).max(initial=1))
    places = np.minimum(first[:, None] + np.arange(width), last[:, None] - 1)
    windows = np.take(x, places.reshape(-1), axis=axis)
    split = (*x.shape[:axis], count, width, *x.shape[axis + 1 :])
    best = windows.reshape(split).argmax(axis=axis + 1)[(slice(None),) * (axis + 1) + (None,)]
    values = np.take_along_axis(windows.reshape(split), best, axis + 1)
    indices = np.take(index, places.reshape(-1), axis=axis).reshape(split)
    found = np.take_along_axis(indices, best, axis + 1)
    return values.squeeze(axis + 1), found.squeeze(axis + 1)


class _Adaptive(GeOp):
    """output_size replaces the spatial dimensions."""

    output_size: ClassVar[AttrField[Sequence[int]]]

    widens = True
    dims: ClassVar[int] = 2

    def spatial(self, rank: int) -> list[int]:
        """Where the spatial dimensions stand in an x of `rank`."""
        return list(range(rank - self.dims, rank))

    def pooled(self, x: Tensor) -> tuple[int, ...] | None:
        """The shape of y."""
        check_length(self.output_size, self.dims, "output_size")  # C1
        if min(self.output_size) < 1:
            raise VerifyException(
                f"output_size is {list(self.output_size)}, expected positive entries"
            )
        if x.shape is None:
            return None
        low = self.dims + 1
        if len(x.shape) not in (low, low + 1):  # C2
            raise VerifyException(f"x is {shape_text(x.shape)}, expected rank {low} or {low + 1}")
        shape = list(x.shape)
        for axis, size in zip(self.spatial(len(shape)), self.output_size, strict=True):
            if shape[axis] == 0:  # C3
                raise VerifyException(f"x is {shape_text(x.shape)}, expected no empty plane")
            shape[axis] = size
        return bounded(shape)

    def means(self, x: Array) -> Array:
        """The mean of each window."""
        for axis, size in zip(self.spatial(x.ndim), self.output_size, strict=True):
            x = adaptive_mean(x, axis, size)
        return x

    def maxima(self, x: Array) -> list[Array]:
        """The maximum of each window and its position in the volume of x, row by row."""
        import numpy as np

        axes = self.spatial(x.ndim)
        sizes = [x.shape[axis] for axis in axes]
        shape = [size if axis in axes else 1 for axis, size in enumerate(x.shape)]
        index: Array = np.arange(int(np.prod(sizes))).reshape(shape)
        index = np.broadcast_to(index, x.shape)
        for axis, size in reversed(list(zip(axes, self.output_size, strict=True))):
            x, index = adaptive_max(x, index, axis, size)
        return [x, index]


class AdaptiveAvgPool2dOp(_Adaptive):
    """y[..., i, j] = the mean of rows floor(i*H/Ho) to ceil((i+1)*H/Ho) and of such columns.

    output_size is [Ho, Wo]; x is NCHW or CHW. C1: output_size has 2 positive entries. C2: x has
    rank 3 or 4. C3: x has no empty plane.
    """

    name = "ge.AdaptiveAvgPool2d"

    x = operand()
    output_size = integers()
    y = result()

    def infer(self, x: Tensor) -> Tensor:
        return with_layout(x, x.dtype, self.pooled(x))

    def evaluate(self, x: Array) -> Array:
        return self.means(x)


class AdaptiveAvgPool3dOp(_Adaptive):
    """AdaptiveAvgPool2d over depth, height and width; data_format says where they stand.

    C1: output_size has 3 positive entries. C2: x has rank 4 or 5. C3: x has no empty volume. C4:
    data_format is NDHWC or NCDHW (without N for rank 4).
    """

    name = "ge.AdaptiveAvgPool3d"
    dims = 3

    x = operand()
    output_size = integers()
    data_format = string("NDHWC")
    y = result()

    def spatial(self, rank: int) -> list[int]:
        start = rank - 4 if self.data_format == "NDHWC" else rank - 3
        return list(range(start, start + 3))

    def infer(self, x: Tensor) -> Tensor:
        check_format(self.data_format, ("NDHWC", "NCDHW"))  # C4
        return with_layout(x, x.dtype, self.pooled(x))

    def evaluate(self, x: Array) -> Array:
        return self.means(x)


class AdaptiveMaxPool2dOp(_Adaptive):
    """The maximum of the windows of AdaptiveAvgPool2d, and argmax = its place h*W + w.

    The first maximum wins. x is NCHW or CHW, NHWC when its type says so. argmax is i32. C1:
    output_size has 2 positive entries. C2: x has rank 3 or 4. C3: x has no empty plane.
    """

    name = "ge.AdaptiveMaxPool2d"

    x = operand()
    output_size = integers()
    y = result()
    argmax = result()

    def spatial(self, rank: int) -> list[int]:
        last = tensor_of(self.x.type).layout.origin_format == Format.FORMAT_NHWC
        return [rank - 3, rank - 2] if last else [rank - 2, rank - 1]

    def infer(self, x: Tensor) -> list[Tensor]:
        y = with_layout(x, x.dtype, self.pooled(x))
        return [y, y.with_dtype(DataType.DT_INT32)]

    def evaluate(self, x: Array) -> list[Array]:
        y, argmax = self.maxima(x)
        return [y, argmax.astype("int32")]


class AdaptiveMaxPool3dOp(_Adaptive):
    """AdaptiveMaxPool2d over depth, height and width of an NCDHW or CDHW x.

    indices = (d*H + h)*W + w. C1: output_size has 3 positive entries. C2: x has rank 4 or 5. C3:
    x has no empty volume. C4: indices_dtype is 3 (i32) or 9 (i64).
    """

    name = "ge.AdaptiveMaxPool3d"
    dims = 3

    x = operand()
    output_size = integers()
    indices_dtype = integer(3)
    y = result()
    indices = result()

    def infer(self, x: Tensor) -> list[Tensor]:
        dtype = index_dtype(self.indices_dtype, "indices_dtype")  # C4
        y = with_layout(x, x.dtype, self.pooled(x))
        return [y, y.with_dtype(dtype)]

    def evaluate(self, x: Array) -> list[Array]:
        y, indices = self.maxima(x)
        return [y, indices.astype(numpy_dtype(DataType(self.indices_dtype)))]


class AdaptiveAvgPool2dGradOp(GeOp):
    """The gradient of AdaptiveAvgPool2d: each input_grad is spread evenly over its window.

    output_grad has orig_input_shape. C1: orig_input_shape has the rank of input_grad, 3 or 4, and
    positive planes. C2: leading dimensions are those of input_grad.
    """

    name = "ge.AdaptiveAvgPool2dGrad"

    input_grad = operand()
    orig_input_shape = integers()
    output_grad = result()

    widens = True

    def infer(self, input_grad: Tensor) -> Tensor:
        wanted = tuple(self.orig_input_shape)
        if len(wanted) not in (3, 4) or min(wanted) < 0 or min(wanted[-2:]) < 1:  # C1
            raise VerifyException(
                f"orig_input_shape is {list(wanted)}, expected 3 or 4 sizes and no empty plane"
            )
        given = input_grad.shape
        if given is not None and (
            len(given) != len(wanted)
            or any(a not in (b, DYNAMIC) for a, b in zip(given[:-2], wanted[:-2], strict=False))
        ):  # C1 C2
            raise VerifyException(
                f"input_grad is {shape_text(given)}, expected the rank and planes of "
                f"{shape_text(wanted)}"
            )
        return with_layout(input_grad, input_grad.dtype, bounded(wanted))

    def evaluate(self, input_grad: Array) -> Array:
        high, wide = (
            weights(size, count, input_grad.dtype)
            for size, count in zip(self.orig_input_shape[-2:], input_grad.shape[-2:], strict=True)
        )
        return high @ input_grad @ wide.swapaxes(0, 1)


def weights(size: int, count: int, dtype: Any) -> Array:
    """[size, count]: 1 / length of window j where it covers element i."""
    import numpy as np

    first, last = bounds(size, count)
    place = np.arange(size)[:, None]
    covered = (place >= first) & (place < last)
    return (covered / (last - first)).astype(dtype)
