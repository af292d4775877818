"""Overlaps, encodings and decodings of boxes. Everything runs in f32 and rounds once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from xdsl.utils.exceptions import VerifyException

from ge_xdsl.dialects.ge.elements import one_element_type, require
from ge_xdsl.dialects.ge.extents import bounded
from ge_xdsl.dialects.ge.op import (
    GeOp,
    boolean,
    floating,
    floats,
    integer,
    integers,
    operand,
    result,
    string,
)
from ge_xdsl.dialects.ge.operands import check_length
from ge_xdsl.dialects.ge.recurrent import dims, expect
from ge_xdsl.dialects.ge.shapes import merge_dim
from ge_xdsl.dialects.ge.types import DYNAMIC, DataType, Tensor

if TYPE_CHECKING:
    from ge_xdsl.dialects.ge.types import Array


def rows_of(tensor: Tensor, name: str, width: int = 4) -> int:
    """The rows of an operand [N, width]."""
    expect(tensor, (DYNAMIC, width), name)
    return dims(tensor, 2, name)[0]


class IouOp(GeOp):
    """overlap[m, n] = intersection / union of gtboxes[m] and bboxes[n], boxes x1, y1, x2, y2.

    mode iof divides by the area of gtboxes[m]. eps = 1 adds 1 to the width and height of boxes
    and intersections; a smaller one is added to the boxes' alone. aligned pairs row with row and
    gives [M, 1]. C1: bboxes are [N, 4] and gtboxes [M, 4]. C2: one element type. C3: mode is iou
    or iof. C4: 0 <= eps <= 1. C5: aligned needs N = M.
    """

    name = "ge.Iou"

    bboxes = operand()
    gtboxes = operand()
    mode = string("iou")
    eps = floating(1.0)
    aligned = boolean(False)
    overlap = result()

    widens = True

    def infer(self, bboxes: Tensor, gtboxes: Tensor) -> Tensor:
        one_element_type(bboxes, gtboxes)  # C2
        n, m = rows_of(bboxes, "bboxes"), rows_of(gtboxes, "gtboxes")  # C1
        if self.mode not in ("iou", "iof"):  # C3
            raise VerifyException(f"mode is '{self.mode}', expected 'iou' or 'iof'")
        if not 0 <= self.eps <= 1:  # C4
            raise VerifyException(f"eps is {self.eps:g}, expected 0 to 1")
        if self.aligned:
            return Tensor(bboxes.dtype, (merge_dim(m, n, "rows of gtboxes and bboxes"), 1))  # C5
        return Tensor(bboxes.dtype, bounded((m, n)))

    def evaluate(self, bboxes: Array, gtboxes: Array) -> Array:
        import numpy as np

        first = gtboxes[:, None, :]
        second = bboxes[:, None, :] if self.aligned else bboxes[None, :, :]
        zero, eps = bboxes.dtype.type(0), bboxes.dtype.type(self.eps)
        inner = eps if self.eps == 1 else zero
        low = np.maximum(first[..., :2], second[..., :2])
        high = np.minimum(first[..., 2:], second[..., 2:])
        inter = np.maximum(high - low + inner, zero).prod(axis=-1)
        wanted = (first[..., 2:] - first[..., :2] + eps).prod(axis=-1)
        given = (second[..., 2:] - second[..., :2] + eps).prod(axis=-1)
        return inter / (wanted + given - inter if self.mode == "iou" else wanted)


def _centers(boxes: Array) -> tuple[Array, Array]:
    """Corners -> centre and size [N, 2]; sizes count both ends (+ 1)."""
    one, half = boxes.dtype.type(1), boxes.dtype.type(0.5)
    return (boxes[:, :2] + boxes[:, 2:]) * half, boxes[:, 2:] - boxes[:, :2] + one


def _four(values: Sequence[float], name: str) -> None:
    check_length(values, 4, name)


class BoundingBoxEncodeOp(GeOp):
    """delats = (d - means) / stds where d tells ground_truth_box g relative to anchor_box p:

        (gx - px) / pw, (gy - py) / ph, ln(gw / pw), ln(gh / ph)

    with centres x, y and sizes w = x2 - x1 + 1, h of boxes x1, y1, x2, y2. C1: both are [N, 4].
    C2: one element type. C3: means and stds have 4 entries.
    """

    name = "ge.BoundingBoxEncode"

    anchor_box = operand()
    ground_truth_box = operand()
    delats = result()
    means = floats((0.0, 0.0, 0.0, 0.0))
    stds = floats((1.0, 1.0, 1.0, 1.0))

    widens = True

    def infer(self, anchor_box: Tensor, ground_truth_box: Tensor) -> Tensor:
        one_element_type(anchor_box, ground_truth_box)  # C2
        _four(self.means, "means")  # C3
        _four(self.stds, "stds")
        n, m = rows_of(anchor_box, "anchor_box"), rows_of(ground_truth_box, "ground_truth_box")
        rows = merge_dim(n, m, "rows of anchor_box and ground_truth_box")  # C1
        return Tensor(anchor_box.dtype, (rows, 4))

    def evaluate(self, anchor_box: Array, ground_truth_box: Array) -> Array:
        import numpy as np

        place, size = _centers(anchor_box)
        wanted, wide = _centers(ground_truth_box)
        found = np.concatenate([(wanted - place) / size, np.log(wide / size)], axis=1)
        kind = found.dtype
        return (found - np.array(self.means, kind)) / np.array(self.stds, kind)


class BoundingBoxDecodeOp(GeOp):
    """The boxes that deltas * stds + means = (dx, dy, dw, dh) tell relative to rois:

        gx = px + pw * dx,  gw = pw * exp(dw);  x1 = gx - gw/2 + 0.5,  x2 = gx + gw/2 - 0.5

    clamped to [0, W] and [0, H] of max_shape = [H, W], NaN to 0. wh_ratio_clip has no effect.
    C1: both are [N, 4]. C2: one element type. C3: means and stds have 4 entries, max_shape 2.
    """

    name = "ge.BoundingBoxDecode"

    rois = operand()
    deltas = operand()
    bboxes = result()
    means = floats((0.0, 0.0, 0.0, 0.0))
    stds = floats((1.0, 1.0, 1.0, 1.0))
    max_shape = integers()
    wh_ratio_clip = floating(0.016)

    widens = True

    def infer(self, rois: Tensor, deltas: Tensor) -> Tensor:
        one_element_type(rois, deltas)  # C2
        _four(self.means, "means")  # C3
        _four(self.stds, "stds")
        check_length(self.max_shape, 2, "max_shape")
        n, m = rows_of(rois, "rois"), rows_of(deltas, "deltas")
        return Tensor(rois.dtype, (merge_dim(n, m, "rows of rois and deltas"), 4))  # C1

    def evaluate(self, rois: Array, deltas: Array) -> Array:
        import numpy as np

        kind = rois.dtype
        d = deltas * np.array(self.stds, kind) + np.array(self.means, kind)
        place, size = _centers(rois)
        half = kind.type(0.5)
        center, reach = place + size * d[:, :2], size * np.exp(d[:, 2:]) * half
        boxes = np.concatenate([center - reach + half, center + reach - half], axis=1)
        high, wide = self.max_shape
        limits = np.array([wide, high, wide, high], kind)
        return np.nan_to_num(np.clip(boxes, 0, limits), nan=0.0)


class DecodeBboxV2Op(GeOp):
    """Boxes ymin, xmin, ymax, xmax from codes (ty, tx, th, tw) / scales relative to anchors.

    th and tw are cut at decode_clip when it is not 0; centre = t * size + min + size / 2, size =
    size * exp(t). reversed_box holds one box per column. C1: boxes and anchors are [N, 4],
    [4, N] with reversed_box. C2: one element type. C3: scales has 4 entries. C4: decode_clip is
    0 to 10.
    """

    name = "ge.DecodeBboxV2"

    boxes = operand()
    anchors = operand()
    scales = floats((1.0, 1.0, 1.0, 1.0))
    decode_clip = floating(0.0)
    reversed_box = boolean(False)
    y = result()

    widens = True

    def infer(self, boxes: Tensor, anchors: Tensor) -> Tensor:
        one_element_type(boxes, anchors)  # C2
        _four(self.scales, "scales")  # C3
        if not 0 <= self.decode_clip <= 10:  # C4
            raise VerifyException(f"decode_clip is {self.decode_clip:g}, expected 0 to 10")
        sizes: list[int] = []
        for tensor, name in ((boxes, "boxes"), (anchors, "anchors")):  # C1
            expect(tensor, (4, DYNAMIC) if self.reversed_box else (DYNAMIC, 4), name)
            sizes.append(dims(tensor, 2, name)[1 if self.reversed_box else 0])
        rows = merge_dim(sizes[0], sizes[1], "boxes and anchors")
        return Tensor(boxes.dtype, (4, rows) if self.reversed_box else (rows, 4))

    def evaluate(self, boxes: Array, anchors: Array) -> Array:
        import numpy as np

        codes, old = (boxes, anchors) if self.reversed_box else (boxes.T, anchors.T)
        t = codes / np.array(self.scales, boxes.dtype).reshape(4, 1)
        growth = np.minimum(t[2:], self.decode_clip) if self.decode_clip else t[2:]
        half, size = boxes.dtype.type(0.5), old[2:] - old[:2]
        center = t[:2] * size + old[:2] + size * half
        reach = size * np.exp(growth.astype(boxes.dtype)) * half
        y = np.concatenate([center - reach, center + reach])
        return y if self.reversed_box else np.ascontiguousarray(y.T)


class YoloBoxesEncodeOp(GeOp):
    """Targets of gt_bboxes relative to anchor_boxes (x1, y1, x2, y2), per row:

        clamp((gcx - acx) / stride + 0.5, e, 1 - e), the same in y, ln(max(gw / aw, e)), in h

    with e = 1e-6. performance_mode has no effect: it allows a coarser logarithm. C1: both are [N,
    4], stride [N]. C2: one element type, stride i32.
    """

    name = "ge.YoloBoxesEncode"

    anchor_boxes = operand()
    gt_bboxes = operand()
    stride = operand()
    encoded_bboxes = result()
    performance_mode = string("high_precision")

    widens = True

    def infer(self, anchor_boxes: Tensor, gt_bboxes: Tensor, stride: Tensor) -> Tensor:
        one_element_type(anchor_boxes, gt_bboxes)  # C2
        require(stride, "stride", {DataType.DT_INT32}, "DT_INT32")
        n, m = rows_of(anchor_boxes, "anchor_boxes"), rows_of(gt_bboxes, "gt_bboxes")  # C1
        rows = merge_dim(n, m, "rows of anchor_boxes and gt_bboxes")
        rows = merge_dim(rows, dims(stride, 1, "stride")[0], "rows of boxes and stride")
        return Tensor(anchor_boxes.dtype, (rows, 4))

    def evaluate(self, anchor_boxes: Array, gt_bboxes: Array, stride: Array) -> Array:
        import numpy as np

        kind = anchor_boxes.dtype.type
        least, half = kind(1e-6), kind(0.5)
        anchor = (anchor_boxes[:, :2] + anchor_boxes[:, 2:]) * half
        wanted = (gt_bboxes[:, :2] + gt_bboxes[:, 2:]) * half
        step = stride.astype(anchor_boxes.dtype)[:, None]
        place = np.clip((wanted - anchor) / step + half, least, kind(1) - least)
        ratio = (gt_bboxes[:, 2:] - gt_bboxes[:, :2]) / (anchor_boxes[:, 2:] - anchor_boxes[:, :2])
        return np.concatenate([place, np.log(np.maximum(ratio, least))], axis=1)


class AnchorResponseFlagsOp(GeOp):
    """flags: which cells of a feature map hold the centre of a box, num_base_anchors times each.

    The cell of a centre (cx, cy) is row floor(cy / strides[1]) and column floor(cx / strides[0]),
    clamped into featmap_size = [fh, fw]; what is not finite counts as 0. flags is u8
    [fh * fw * num_base_anchors]. C1: gt_bboxes are [N, 4]. C2: featmap_size and strides have 2
    positive entries, num_base_anchors is positive.
    """

    name = "ge.AnchorResponseFlags"

    gt_bboxes = operand()
    flags = result()
    featmap_size = integers()
    strides = integers()
    num_base_anchors = integer()

    widens = True

    def infer(self, gt_bboxes: Tensor) -> Tensor:
        rows_of(gt_bboxes, "gt_bboxes")  # C1
        lists = (self.featmap_size, self.strides)
        if any(len(values) != 2 for values in lists):  # C2
            raise VerifyException(
                f"featmap_size is {list(lists[0])} and strides {list(lists[1])}, expected 2 entries"
            )
        if min(*self.featmap_size, *self.strides, self.num_base_anchors) < 1:
            raise VerifyException("a size, stride or number of anchors is < 1, expected >= 1")
        high, wide = self.featmap_size
        bounded((high, wide, self.num_base_anchors))
        return Tensor(DataType.DT_UINT8, (high * wide * self.num_base_anchors,))

    def evaluate(self, gt_bboxes: Array) -> Array:
        import numpy as np

        center = (gt_bboxes[:, :2] + gt_bboxes[:, 2:]) * gt_bboxes.dtype.type(0.5)
        center = np.nan_to_num(center, nan=0.0, posinf=0.0, neginf=0.0)
        high, wide = self.featmap_size
        cells = np.floor(center / np.array(self.strides, gt_bboxes.dtype))
        column = np.clip(cells[:, 0], 0, wide - 1).astype(np.int64)
        row = np.clip(cells[:, 1], 0, high - 1).astype(np.int64)
        flags = np.zeros(high * wide, np.uint8)
        flags[row * wide + column] = 1
        return flags.repeat(self.num_base_anchors)
