"""Pooling over regions of interest: rows (batch, x1, y1, x2, y2) of NCHW feature maps."""

from __future__ import annotations

from math import ceil
from typing import TYPE_CHECKING, Any

from xdsl.utils.exceptions import VerifyException

from ge_xdsl.dialects.ge.elements import one_element_type
from ge_xdsl.dialects.ge.extents import bounded
from ge_xdsl.dialects.ge.limits import check_shape
from ge_xdsl.dialects.ge.op import (
    GeOp,
    floating,
    integer,
    operand,
    optional,
    result,
    string,
)
from ge_xdsl.dialects.ge.recurrent import dims, expect
from ge_xdsl.dialects.ge.sampling import linear
from ge_xdsl.dialects.ge.shapes import shape_text
from ge_xdsl.dialects.ge.types import DYNAMIC, Tensor

if TYPE_CHECKING:
    from ge_xdsl.dialects.ge.types import Array


def pooled(features: Tensor, rois: Tensor, name: str, high: int, wide: int) -> Tensor:
    """[R, C, high, wide] for features called `name`."""
    one_element_type(features, rois)
    if min(high, wide) < 1:
        raise VerifyException(f"pooled sizes are {high} and {wide}, expected positive ones")
    shape = dims(features, 4, name)
    if 0 in shape[2:]:
        raise VerifyException(f"{name} is {shape_text(shape)}, expected no empty plane")
    expect(rois, (DYNAMIC, 5), "rois")
    rows, _ = dims(rois, 2, "rois")
    return Tensor(features.dtype, bounded((rows, shape[1], high, wide)))


def batch_of(roi: Array, features: Array) -> Array:
    """The [C, H, W] maps that a region reads; raises ValueError for a batch that is not there."""
    import numpy as np

    if not np.isfinite(roi).all():
        raise ValueError(f"rois hold {roi.tolist()}, expected finite numbers")
    index = int(roi[0])
    if not 0 <= index < features.shape[0]:
        raise ValueError(f"rois name batch {index}, expected one below {features.shape[0]}")
    return features[index]


class ROIAlignOp(GeOp):
    """y[r, c, i, j] = the mean over samples of bin (i, j) of region r, read bilinearly.

    Corners times spatial_scale bound the region: roi_end_mode 0 takes them as they are and sizes
    of at least 1; 1 adds 1 to x2 and y2 before scaling and takes sizes of at least 0; 2 subtracts
    0.5 from scaled corners and takes any size; 3 has no value here. A bin has sample_num^2 evenly
    spaced samples, for 0 ceil(size / bins) in each direction. A sample more than 1 outside of the
    map counts 0, other ones read its border. pool_mode max has no value here. C1: features are
    [N, C, H, W] without empty planes, rois [R, 5]. C2: one element type. C3: pooled_height and
    pooled_width are positive. C4: roi_end_mode is 0 to 3, sample_num not negative, pool_mode avg
    or max. C5: no rois_n.
    """

    name = "ge.ROIAlign"

    features = operand()
    rois = operand()
    rois_n = optional()
    spatial_scale = floating()
    pooled_height = integer()
    pooled_width = integer()
    sample_num = integer(2)
    roi_end_mode = integer(1)
    pool_mode = string("avg")
    y = result()

    widens = True

    def infer(self, features: Tensor, rois: Tensor, rois_n: Tensor | None) -> Tensor:
        if rois_n is not None:  # C5
            raise VerifyException("rois_n is given, expected none")
        if not 0 <= self.roi_end_mode <= 3 or self.sample_num < 0:  # C4
            raise VerifyException(
                f"roi_end_mode is {self.roi_end_mode} and sample_num {self.sample_num}, expected "
                "0 to 3 and none negative"
            )
        if self.pool_mode not in ("avg", "max"):  # C4
            raise VerifyException(f"pool_mode is '{self.pool_mode}', expected avg or max")
        sizes = (self.pooled_height, self.pooled_width)
        return pooled(features, rois, "features", *sizes)  # C1 C2 C3

    def evaluate(self, features: Array, rois: Array, rois_n: Array | None) -> Array:
        import numpy as np

        if self.roi_end_mode == 3 or self.pool_mode == "max":
            raise ValueError(
                f"roi_end_mode is {self.roi_end_mode} and pool_mode '{self.pool_mode}', expected "
                "0 to 2 and 'avg'"
            )
        bins = (self.pooled_height, self.pooled_width)
        y = np.zeros((rois.shape[0], features.shape[1], *bins), features.dtype)
        for row, roi in enumerate(rois):
            y[row] = self.aligned(batch_of(roi, features), roi, bins)
        return y

    def aligned(self, planes: Array, roi: Array, bins: tuple[int, int]) -> Array:
        """[C, H, W] -> [C, bins] of one region."""
        import numpy as np

        kind = planes.dtype.type
        scale = kind(self.spatial_scale)
        lines: list[tuple[Array, Array]] = []
        for first, last, count, size in (
            (roi[2], roi[4], bins[0], planes.shape[1]),
            (roi[1], roi[3], bins[1], planes.shape[2]),
        ):
            start, end = first * scale, (last + kind(self.roi_end_mode == 1)) * scale
            if self.roi_end_mode == 2:
                start, end = start - kind(0.5), end - kind(0.5)
            length = end - start
            if self.roi_end_mode < 2:
                length = max(length, kind(1 - self.roi_end_mode))
            lines.append(self.samples(start, length, count, size))
        (rows, keeps_row), (columns, keeps_column) = lines
        check_shape((planes.shape[0], *rows.shape, *columns.shape), "grid of samples")
        points = (
            rows.repeat(columns.size).reshape(1, -1),
            np.tile(columns.reshape(-1), rows.size).reshape(1, -1),
        )
        found = linear(planes[None], points)[0]
        kept: Array = np.outer(keeps_row, keeps_column).reshape(-1)
        found[:, ~kept] = 0
        shape = (planes.shape[0], *rows.shape, *columns.shape)
        return found.reshape(shape).mean(axis=(2, 4), dtype=planes.dtype)

    def samples(self, start: Any, length: Any, count: int, size: int) -> tuple[Array, Array]:
        """[count, samples]: clipped positions along one direction, and which are close enough."""
        import numpy as np

        step = length / count
        number = self.sample_num or max(ceil(step), 1)
        check_shape((count, number), "grid of samples")
        part = (np.arange(number, dtype=np.float32) + np.float32(0.5)) / np.float32(number)
        place = start + (np.arange(count, dtype=np.float32)[:, None] + part) * step
        place = np.asarray(place, np.float32)
        return np.clip(place, 0, size - 1), (place >= -1) & (place <= size)


class ROIPoolingOp(GeOp):
    """y[r, c, i, j] = the maximum of bin (i, j) of region r of x; 0 in an empty bin.

    Corners times spatial_scale_h and spatial_scale_w are rounded (halves away from 0), both ends
    belong to the region, which has at least one element; bin p of n covers [floor(p * size / n),
    ceil((p + 1) * size / n)) from its start, clamped to the map. C1: x is [N, C, H, W] without
    empty planes, rois [R, 5]. C2: one element type. C3: pooled_h and pooled_w are positive. C4:
    no roi_actual_num.
    """

    name = "ge.ROIPooling"

    x = operand()
    rois = operand()
    roi_actual_num = optional()
    pooled_h = integer()
    pooled_w = integer()
    spatial_scale_h = floating()
    spatial_scale_w = floating()
    y = result()

    widens = True

    def infer(self, x: Tensor, rois: Tensor, roi_actual_num: Tensor | None) -> Tensor:
        if roi_actual_num is not None:  # C4
            raise VerifyException("roi_actual_num is given, expected none")
        return pooled(x, rois, "x", self.pooled_h, self.pooled_w)  # C1 C2 C3

    def evaluate(self, x: Array, rois: Array, roi_actual_num: Array | None) -> Array:
        import numpy as np

        y = np.zeros((rois.shape[0], x.shape[1], self.pooled_h, self.pooled_w), x.dtype)
        for row, roi in enumerate(rois):
            planes = batch_of(roi, x)
            rows = covered((roi[2], roi[4]), self.spatial_scale_h, self.pooled_h, planes.shape[1])
            columns = covered(
                (roi[1], roi[3]), self.spatial_scale_w, self.pooled_w, planes.shape[2]
            )
            best = np.where(rows[None, :, :, None], planes[:, None], -np.inf).max(axis=2)
            best = np.where(columns[None, None], best[:, :, None, :], -np.inf).max(axis=3)
            filled: Array = np.outer(rows.any(axis=1), columns.any(axis=1))
            y[row] = np.where(filled, best, 0)
        return y


def covered(ends: tuple[Any, Any], scale: float, bins: int, size: int) -> Array:
    """[bins, size]: which elements along one direction belong to each bin of a region."""
    import numpy as np

    first, last = (float(np.copysign(np.floor(abs(v * scale) + 0.5), v)) for v in map(float, ends))
    length = max(last - first + 1, 1)
    step = np.arange(bins)
    low = np.clip(np.floor(step * length / bins) + first, 0, size)
    high = np.clip(np.ceil((step + 1) * length / bins) + first, 0, size)
    place = np.arange(size)
    return (place >= low[:, None]) & (place < high[:, None])
