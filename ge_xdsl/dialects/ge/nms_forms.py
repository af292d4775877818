"""More forms of non-maximum suppression, and overlaps that count the distance of boxes."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from xdsl.utils.exceptions import VerifyException

from ge_xdsl.dialects.ge.elements import INDICES, one_element_type, require
from ge_xdsl.dialects.ge.extents import bounded, count_of, int_of
from ge_xdsl.dialects.ge.fields import (
    boolean,
    data_type,
    floating,
    integer,
    integers,
    operand,
    optional,
    result,
    string,
)
from ge_xdsl.dialects.ge.nms import check_numbers, corners, overlaps, scalar, suppressed
from ge_xdsl.dialects.ge.op import GeOp
from ge_xdsl.dialects.ge.operands import known_int
from ge_xdsl.dialects.ge.recurrent import dims, expect
from ge_xdsl.dialects.ge.rounding import chosen
from ge_xdsl.dialects.ge.shapes import merge_dim
from ge_xdsl.dialects.ge.suffix import check_floats
from ge_xdsl.dialects.ge.types import DYNAMIC, DataType, Tensor

if TYPE_CHECKING:
    from ge_xdsl.dialects.ge.types import Array


class _Suppression(GeOp):
    """TensorFlow's suppression of boxes [N, 4] by scores [N]."""

    def checked(self, boxes: Tensor, scores: Tensor, size: Tensor, **numbers: Tensor) -> Tensor:
        """selected_indices, of a length that values decide."""
        expect(boxes, (DYNAMIC, 4), "boxes")  # C1
        expect(scores, dims(boxes, 2, "boxes")[:1], "scores")  # C1
        check_numbers(max_output_size=size, **numbers)  # C2
        limit = known_int(self, "max_output_size")
        if limit is not None:
            count_of(limit, "max_output_size")  # C3
        return Tensor(DataType.DT_INT32, (DYNAMIC,))

    def kept(
        self, boxes: Array, scores: Array, size: Array, iou: float, least: float = -math.inf
    ) -> list[int]:
        limit = count_of(int_of(size, "max_output_size"), "max_output_size")
        wide = boxes.astype("float32")
        return suppressed(corners(wide), scores.astype("float32"), limit, iou, least)


class NonMaxSuppressionOp(_Suppression):
    """selected_indices = the boxes that stay, best first, at most max_output_size, i32

    A box goes when its overlap with a better one that stays exceeds iou_threshold. C1: boxes are
    [N, 4] and scores [N]. C2: max_output_size is one i32. C3: it is not negative.
    """

    name = "ge.NonMaxSuppression"

    boxes = operand()
    scores = operand()
    max_output_size = operand()
    selected_indices = result()
    iou_threshold = floating(0.5)

    def infer(self, boxes: Tensor, scores: Tensor, max_output_size: Tensor) -> Tensor:
        return self.checked(boxes, scores, max_output_size)

    def evaluate(self, boxes: Array, scores: Array, max_output_size: Array) -> Array:
        import numpy as np

        kept = self.kept(boxes, scores, max_output_size, self.iou_threshold)
        return np.array(kept, np.int32)


class NonMaxSuppressionV2Op(_Suppression):
    """selected_indices = the boxes that stay, best first, at most max_output_size, i32

    A box goes when its overlap with a better one that stays exceeds iou_threshold. C1: boxes are
    [N, 4] and scores [N]. C2: max_output_size (i32) and iou_threshold hold one number. C3:
    max_output_size is not negative.
    """

    name = "ge.NonMaxSuppressionV2"

    boxes = operand()
    scores = operand()
    max_output_size = operand()
    iou_threshold = operand()
    selected_indices = result()

    def infer(self, boxes: Tensor, scores: Tensor, size: Tensor, iou: Tensor) -> Tensor:
        return self.checked(boxes, scores, size, iou_threshold=iou)

    def evaluate(self, boxes: Array, scores: Array, size: Array, iou: Array) -> Array:
        import numpy as np

        kept = self.kept(boxes, scores, size, scalar(iou, "iou_threshold"))
        return np.array(kept, np.int32)


class NonMaxSuppressionV3Op(_Suppression):
    """selected_indices = the boxes that stay, best first, at most max_output_size, i32

    Only boxes with a score above score_threshold take part; one goes when its overlap with a better
    one that stays exceeds iou_threshold. C1: boxes are [N, 4] and scores [N]. C2: max_output_size
    (i32) and the thresholds hold one number. C3: max_output_size is not negative. C4: offset is 0:
    what 1 adds is unconfirmed.
    """

    name = "ge.NonMaxSuppressionV3"

    boxes = operand()
    scores = operand()
    max_output_size = operand()
    iou_threshold = operand()
    score_threshold = operand()
    selected_indices = result()
    offset = integer(0)

    def infer(self, boxes: Tensor, scores: Tensor, size: Tensor, *rest: Tensor) -> Tensor:
        chosen(self.offset, "offset", (0,))  # C4
        iou, least = rest
        return self.checked(boxes, scores, size, iou_threshold=iou, score_threshold=least)

    def evaluate(self, boxes: Array, scores: Array, size: Array, *rest: Array) -> Array:
        import numpy as np

        iou, least = scalar(rest[0], "iou_threshold"), scalar(rest[1], "score_threshold")
        return np.array(self.kept(boxes, scores, size, iou, least), np.int32)


class NonMaxSuppressionV5Op(_Suppression):
    """The boxes that stay, their scores and their number, by hard or soft suppression

    With soft_nms_sigma 0 a box goes when its overlap with a better one that stays exceeds
    iou_threshold. Else its score is multiplied by e^(-overlap^2 / (2 * sigma)) for each better one
    that stays (0 above iou_threshold), and it stays while that exceeds score_threshold.
    pad_to_max_output_size fills up with zeros. C1: boxes are [N, 4] and scores [N]. C2:
    max_output_size (i32), the thresholds and soft_nms_sigma hold one number. C3: max_output_size is
    not negative. C4: T is the element type of scores.
    """

    name = "ge.NonMaxSuppressionV5"

    boxes = operand()
    scores = operand()
    max_output_size = operand()
    iou_threshold = operand()
    score_threshold = operand()
    soft_nms_sigma = operand()
    selected_indices = result()
    selected_scores = result()
    valid_outputs = result()
    pad_to_max_output_size = boolean(False)
    T = data_type()

    def infer(self, boxes: Tensor, scores: Tensor, size: Tensor, *rest: Tensor) -> Any:
        names = ("iou_threshold", "score_threshold", "soft_nms_sigma")
        indices = self.checked(boxes, scores, size, **dict(zip(names, rest, strict=True)))
        require(scores, "scores", (self.T,), f"{self.T.name}, which T tells")  # C4
        limit = known_int(self, "max_output_size")
        if limit is not None and self.pad_to_max_output_size:
            indices = indices.with_shape((limit,))
        return indices, scores.with_shape(indices.shape), Tensor(DataType.DT_INT32, ())

    def evaluate(self, boxes: Array, scores: Array, size: Array, *rest: Array) -> Any:
        import numpy as np

        iou, least, sigma = (scalar(a, "threshold") for a in rest)
        limit = count_of(int_of(size, "max_output_size"), "max_output_size")
        kept, values = soft_suppressed(boxes, scores, limit, iou, least, sigma)
        pad = limit - len(kept) if self.pad_to_max_output_size else 0
        indices = np.pad(np.array(kept, np.int32), (0, pad))
        found = np.pad(np.array(values, scores.dtype), (0, pad))
        return indices, found, np.array(len(kept), np.int32)


def soft_suppressed(
    boxes: Array, scores: Array, limit: int, iou: float, least: float, sigma: float
) -> tuple[list[int], list[float]]:
    """The boxes that stay and their scores at that time; sigma 0 is hard suppression."""
    import numpy as np

    places = corners(boxes.astype(np.float32))
    left = scores.astype(np.float32).copy()
    kept: list[int] = []
    values: list[float] = []
    while len(kept) < limit and left.size:
        best = int(np.argmax(left))
        if not left[best] > least:
            break
        kept.append(best)
        values.append(float(left[best]))
        overlap = overlaps(places[best], places)
        factor = np.exp(overlap * overlap * np.float32(-0.5 / sigma)) if sigma > 0 else 1
        left = np.where(overlap <= iou, left * factor, -np.inf).astype(np.float32)
        left[best] = -np.inf
    return kept, values


class NonMaxSuppressionV7Op(GeOp):
    """selected_indices [max_boxes_size, 3] = (batch, class, box) of the boxes that stay

    As NonMaxSuppressionV6 with index_id, which a fusion prepares; its values are unconfirmed. C1:
    boxes are [B, N, 4] and scores [B, C, N]. C2: index_id is [B, C, N, 3]. C3: center_point_box is
    0 or 1. C4: max_boxes_size is 0 (unknown) or more.
    """

    name = "ge.NonMaxSuppressionV7"

    boxes = operand()
    scores = operand()
    max_output_size = optional()
    iou_threshold = optional()
    score_threshold = optional()
    index_id = optional()
    selected_indices = result()
    center_point_box = integer(0)
    max_boxes_size = integer(0)

    def infer(self, boxes: Tensor, scores: Tensor, *rest: Tensor | None) -> Tensor:
        chosen(self.center_point_box, "center_point_box", (0, 1))  # C3
        expect(boxes, (DYNAMIC, DYNAMIC, 4), "boxes")  # C1
        batch, count, _ = dims(boxes, 3, "boxes")
        expect(scores, (batch, DYNAMIC, count), "scores")  # C1
        classes = dims(scores, 3, "scores")[1]
        expect(rest[3], (batch, classes, count, 3), "index_id")  # C2
        rows = count_of(self.max_boxes_size, "max_boxes_size")  # C4
        return Tensor(DataType.DT_INT32, bounded((rows or DYNAMIC, 3)))


class RotatedNMSOp(GeOp):
    """The detections [N, 6] and places [N] that stay of boxes with an angle

    is_angle tells whether angles are degrees. The values are unconfirmed. C1: boxes are [N, 5] and
    scores and labels [N]. C2: labels is i32 or i64.
    """

    name = "ge.RotatedNMS"

    boxes = operand()
    scores = operand()
    labels = operand()
    selected_detections = result()
    keep_indices = result()
    iou_threshold = floating()
    is_angle = boolean(True)

    def infer(self, boxes: Tensor, scores: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
        expect(boxes, (DYNAMIC, 5), "boxes")  # C1
        rows = dims(boxes, 2, "boxes")[:1]
        expect(scores, rows, "scores")  # C1
        expect(labels, rows, "labels")  # C1
        require(labels, "labels", INDICES, "DT_INT32 or DT_INT64")  # C2
        return Tensor(boxes.dtype, (rows[0], 6)), Tensor(labels.dtype, rows)


class BatchMultiClassNonMaxSuppressionOp(GeOp):
    """The max_total_size best boxes of each image after suppression per class

    nmsed_boxes [B, max_total_size, 4], nmsed_scores and nmsed_classes [B, max_total_size],
    nmsed_num [B]; older forms with transpose_box give other shapes. The values are unconfirmed. C1:
    boxes are [B, N, q, 4] ([B, q, 4, N] under transpose_box). C2: scores are [B, N, C] ([B, C, N]).
    C3: max_size_per_class and max_total_size are 0 or more.
    """

    name = "ge.BatchMultiClassNonMaxSuppression"

    boxes = operand()
    scores = operand()
    clip_window = optional()
    num_valid_boxes = optional()
    nmsed_boxes = result()
    nmsed_scores = result()
    nmsed_classes = result()
    nmsed_num = result()
    score_threshold = floating()
    iou_threshold = floating()
    max_size_per_class = integer()
    max_total_size = integer()
    change_coordinate_frame = boolean(False)
    transpose_box = boolean(False)
    image_size = integers(())

    def infer(self, boxes: Tensor, scores: Tensor, *rest: Tensor | None) -> tuple[Tensor, ...]:
        swapped = self.transpose_box
        expect(
            boxes, (DYNAMIC, DYNAMIC, *((4, DYNAMIC) if swapped else (DYNAMIC, 4))), "boxes"
        )  # C1
        shape = dims(boxes, 4, "boxes")
        batch, count = shape[0], shape[3 if swapped else 1]
        expect(
            scores, (batch, DYNAMIC, count) if swapped else (batch, count, DYNAMIC), "scores"
        )  # C2
        count_of(self.max_size_per_class, "max_size_per_class")  # C3
        total = count_of(self.max_total_size, "max_total_size")  # C3
        flat = bounded((batch, total))
        return (
            Tensor(boxes.dtype, bounded((batch, total, 4))),
            Tensor(scores.dtype, flat),
            Tensor(scores.dtype, flat),
            Tensor(DataType.DT_INT32, (batch,)),
        )


class _Distance(GeOp):
    """Overlaps of pairs of boxes [4, N]."""

    trans = boolean(False)
    is_cross = boolean(True)
    mode = string("iou")

    widens = True

    def pairs(self, bboxes: Tensor, gtboxes: Tensor) -> Tensor:
        check_floats(bboxes=bboxes, gtboxes=gtboxes)  # C1
        one_element_type(bboxes, gtboxes)  # C1
        chosen(self.mode, "mode", ("iou",))  # C3
        for name, tensor in (("bboxes", bboxes), ("gtboxes", gtboxes)):
            expect(tensor, (4, DYNAMIC), name)  # C2
        n, m = dims(bboxes, 2, "bboxes")[1], dims(gtboxes, 2, "gtboxes")[1]
        return Tensor(bboxes.dtype, (1, merge_dim(n, m, "boxes of bboxes and gtboxes")))  # C2

    def measured(self, bboxes: Array, gtboxes: Array) -> tuple[Array, ...]:
        """(overlap, squared distance of centres over that of the hull, widths and heights)."""
        import numpy as np

        if self.is_cross:
            raise ValueError("is_cross is true, expected false to have a value")
        a, b = (_sides(boxes, self.trans) for boxes in (bboxes, gtboxes))
        low, high = np.maximum(a[:2], b[:2]), np.minimum(a[2:], b[2:])
        inter = np.prod(np.maximum(high - low, 0), axis=0)
        sizes = a[2:] - a[:2], b[2:] - b[:2]
        union = np.prod(sizes[0], axis=0) + np.prod(sizes[1], axis=0) - inter
        hull = np.maximum(a[2:], b[2:]) - np.minimum(a[:2], b[:2])
        apart = (a[:2] + a[2:] - b[:2] - b[2:]) / 2
        tiny = a.dtype.type(1e-9)
        distance = np.sum(apart * apart, axis=0) / (np.sum(hull * hull, axis=0) + tiny)
        return inter / (union + tiny), distance, *sizes


def _sides(boxes: Array, centred: bool) -> Array:
    """x1, y1, x2, y2 of boxes [4, N]; `centred` ones are x, y, width, height."""
    import numpy as np

    if not centred:
        return boxes
    half = boxes[2:] / 2
    return np.concatenate([boxes[:2] - half, boxes[:2] + half])


class DIoUOp(_Distance):
    """overlap = IoU - d^2 / c^2 of pairs of boxes, d the distance of centres, c the hull's diagonal

    Boxes are x1, y1, x2, y2, under trans x, y, width, height. 1e-9 is added to what divides. Only
    is_cross = false has a value. C1: both are floating-point tensors of one element type. C2: both
    are [4, N]. C3: mode is iou.
    """

    name = "ge.DIoU"

    bboxes = operand()
    gtboxes = operand()
    overlap = result()

    def infer(self, bboxes: Tensor, gtboxes: Tensor) -> Tensor:
        return self.pairs(bboxes, gtboxes)

    def evaluate(self, bboxes: Array, gtboxes: Array) -> Array:
        overlap, distance, *_ = self.measured(bboxes, gtboxes)
        return (overlap - distance)[None]


class CIoUOp(_Distance):
    """overlap = IoU - d^2 / c^2 - a * v of pairs of boxes, atan_sub = the difference of arctangents

    d is the distance of centres, c the diagonal of the hull, v = 4 / pi^2 * (atan(w2 / h2) -
    atan(w1 / h1))^2, a = v / (1 - IoU + v). Boxes are x1, y1, x2, y2, under trans x, y, width,
    height. 1e-9 is added to what divides. Only is_cross = false has a value. atan_sub_flag has no
    effect: it says whether atan_sub is wanted, which always comes. C1: both are floating-point
    tensors of one element type. C2: both are [4, N]. C3: mode is iou.
    """

    name = "ge.CIoU"

    bboxes = operand()
    gtboxes = operand()
    overlap = result()
    atan_sub = result()
    atan_sub_flag = boolean(False)

    def infer(self, bboxes: Tensor, gtboxes: Tensor) -> tuple[Tensor, Tensor]:
        found = self.pairs(bboxes, gtboxes)
        return found, found

    def evaluate(self, bboxes: Array, gtboxes: Array) -> tuple[Array, Array]:
        import numpy as np

        overlap, distance, first, second = self.measured(bboxes, gtboxes)
        tiny = overlap.dtype.type(1e-9)
        tilt = np.arctan(second[0] / (second[1] + tiny)) - np.arctan(first[0] / (first[1] + tiny))
        v = tilt * tilt * overlap.dtype.type(4 / math.pi**2)
        weight = v / (1 - overlap + v + tiny)
        return (overlap - distance - weight * v)[None], tilt[None]


class GIoUOp(GeOp):
    """overlap = IoU - (hull - union) / hull of boxes; its values are unconfirmed

    C1: bboxes and gtboxes are floating-point tensors of one element type. C2: both are [N, 4], of
    as many rows unless is_cross. C3: mode is iou or iof.
    """

    name = "ge.GIoU"

    bboxes = operand()
    gtboxes = operand()
    overlap = result()
    trans = boolean(False)
    is_cross = boolean(True)
    mode = string("iou")

    def infer(self, bboxes: Tensor, gtboxes: Tensor) -> Tensor:
        check_floats(bboxes=bboxes, gtboxes=gtboxes)  # C1
        one_element_type(bboxes, gtboxes)  # C1
        chosen(self.mode, "mode", ("iou", "iof"))  # C3
        for name, tensor in (("bboxes", bboxes), ("gtboxes", gtboxes)):
            expect(tensor, (DYNAMIC, 4), name)  # C2
        n, m = dims(bboxes, 2, "bboxes")[0], dims(gtboxes, 2, "gtboxes")[0]
        if self.is_cross:
            return Tensor(bboxes.dtype, bounded((n, m)))
        return Tensor(bboxes.dtype, (1, merge_dim(n, m, "rows of bboxes and gtboxes")))  # C2


class _Rotated(GeOp):
    """Every box of one operand against every box of the other, per item."""

    def crossed(self, boxes: Tensor, query_boxes: Tensor) -> Tensor:
        require(boxes, "boxes", (DataType.DT_FLOAT,), "DT_FLOAT")  # C1
        require(query_boxes, "query_boxes", (DataType.DT_FLOAT,), "DT_FLOAT")  # C1
        expect(boxes, (DYNAMIC, 5, DYNAMIC), "boxes")  # C2
        batch, _, n = dims(boxes, 3, "boxes")
        expect(query_boxes, (batch, 5, DYNAMIC), "query_boxes")  # C2
        other, _, k = dims(query_boxes, 3, "query_boxes")
        return Tensor(boxes.dtype, bounded((merge_dim(batch, other, "batches"), n, k)))


class RotatedOverlapsOp(_Rotated):
    """overlaps [B, N, K] = the areas that boxes and query_boxes with an angle share

    The unit of the angles is unconfirmed, so that it has no value here. C1: both are f32. C2: boxes
    are [B, 5, N] and query_boxes [B, 5, K].
    """

    name = "ge.RotatedOverlaps"

    boxes = operand()
    query_boxes = operand()
    overlaps = result()
    trans = boolean(False)

    def infer(self, boxes: Tensor, query_boxes: Tensor) -> Tensor:
        return self.crossed(boxes, query_boxes)  # C1 C2


class RotatedIouOp(_Rotated):
    """iou [B, N, K] of boxes and query_boxes with an angle

    The unit of the angles is unconfirmed, so that it has no value here. C1: both are f32. C2: boxes
    are [B, 5, N] and query_boxes [B, 5, K]. C3: mode is iou or iof, is_cross true.
    """

    name = "ge.RotatedIou"

    boxes = operand()
    query_boxes = operand()
    iou = result()
    trans = boolean(False)
    mode = string("iou")
    is_cross = boolean(True)
    v_threshold = floating(0.0)
    e_threshold = floating(0.0)

    def infer(self, boxes: Tensor, query_boxes: Tensor) -> Tensor:
        chosen(self.mode, "mode", ("iou", "iof"))  # C3
        if not self.is_cross:  # C3
            raise VerifyException("is_cross is false, expected true")
        return self.crossed(boxes, query_boxes)  # C1 C2
