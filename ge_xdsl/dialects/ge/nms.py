"""Non-maximum suppression: boxes in falling order of score, without those that overlap one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from xdsl.utils.exceptions import VerifyException

from ge_xdsl.dialects.ge.elements import require
from ge_xdsl.dialects.ge.extents import bounded, count_of, int_of
from ge_xdsl.dialects.ge.op import GeOp, boolean, floating, integer, operand, optional, result
from ge_xdsl.dialects.ge.operands import check_scalar, known_int
from ge_xdsl.dialects.ge.recurrent import dims, expect
from ge_xdsl.dialects.ge.shapes import merge_dim, multiply_dims
from ge_xdsl.dialects.ge.types import DYNAMIC, DataType, Tensor

if TYPE_CHECKING:
    from ge_xdsl.dialects.ge.types import Array


def scalar(array: Array | None, name: str, default: float = 0.0) -> float:
    """The one number of an operand, or a default."""
    if array is None:
        return default
    if array.size != 1:
        raise ValueError(f"{name} has {array.size} elements, expected 1")
    return float(array.reshape(()))


def corners(boxes: Array, center: bool = False) -> Array:
    """[N, 4] boxes by any diagonal, or by centre and size -> y1, x1, y2, x2 in rising order."""
    import numpy as np

    if center:
        half = boxes[:, [3, 2]] * boxes.dtype.type(0.5)
        middle = boxes[:, [1, 0]]
        return np.concatenate([middle - half, middle + half], axis=1)
    low, high = np.minimum(boxes[:, :2], boxes[:, 2:]), np.maximum(boxes[:, :2], boxes[:, 2:])
    return np.concatenate([low, high], axis=1)


def overlaps(box: Array, others: Array) -> Array:
    """Intersection over union of one box with others; 0 where the union is not positive."""
    import numpy as np

    low, high = np.maximum(box[:2], others[:, :2]), np.minimum(box[2:], others[:, 2:])
    inter = np.maximum(high - low, 0).prod(axis=1)
    areas = (others[:, 2:] - others[:, :2]).prod(axis=1)
    union = (box[2:] - box[:2]).prod() + areas - inter
    return np.where(union > 0, inter / np.where(union > 0, union, 1), 0)


def suppressed(
    boxes: Array, scores: Array, limit: int, iou_threshold: float, score_threshold: float
) -> list[int]:
    """At most `limit` boxes (as by `corners`) whose score exceeds the threshold, best first.

    A box goes when its overlap with a better one that stays exceeds iou_threshold; of equal
    scores the first one is better.
    """
    import numpy as np

    order: Array = np.argsort(-scores, kind="stable")
    order = order[scores[order] > score_threshold]
    kept: list[int] = []
    while order.size and len(kept) < limit:
        best = int(order[0])
        kept.append(best)
        order = order[1:]
        order = order[overlaps(boxes[best], boxes[order]) <= iou_threshold]
    return kept


def check_numbers(**operands: Tensor | None) -> None:
    """Operands that hold one number each; the sizes are i32."""
    for name, tensor in operands.items():
        if tensor is not None:
            check_scalar(tensor, name)
            if name.startswith("max_"):
                require(tensor, name, {DataType.DT_INT32}, "DT_INT32")


class NonMaxSuppressionV4Op(GeOp):
    """TensorFlow's suppression of boxes [N, 4] (y1, x1, y2, x2, any diagonal) by scores [N].

    selected_indices tells the boxes that stay, best first, at most max_output_size; those with a
    score above score_threshold whose overlap with each better one that stays is at most
    iou_threshold. pad_to_max_output_size fills up with zeros. valid_outputs is their number. Both
    are i32. C1: boxes are [N, 4] and scores [N]. C2: max_output_size (i32) and the thresholds
    hold one number. C3: max_output_size is not negative.
    """

    name = "ge.NonMaxSuppressionV4"

    boxes = operand()
    scores = operand()
    max_output_size = operand()
    iou_threshold = operand()
    score_threshold = operand()
    pad_to_max_output_size = boolean(False)
    selected_indices = result()
    valid_outputs = result()

    def infer(
        self,
        boxes: Tensor,
        scores: Tensor,
        max_output_size: Tensor,
        iou_threshold: Tensor,
        score_threshold: Tensor,
    ) -> list[Tensor]:
        expect(boxes, (DYNAMIC, 4), "boxes")  # C1
        expect(scores, dims(boxes, 2, "boxes")[:1], "scores")
        check_numbers(
            max_output_size=max_output_size,
            iou_threshold=iou_threshold,
            score_threshold=score_threshold,
        )  # C2
        limit = known_int(self, "max_output_size")
        if limit is not None:
            count_of(limit, "max_output_size")  # C3
        length = DYNAMIC if limit is None or not self.pad_to_max_output_size else limit
        valid = Tensor(DataType.DT_INT32, ())
        return [Tensor(DataType.DT_INT32, (length,)), valid]

    def evaluate(
        self,
        boxes: Array,
        scores: Array,
        max_output_size: Array,
        iou_threshold: Array,
        score_threshold: Array,
    ) -> list[Array]:
        import numpy as np

        limit = count_of(int_of(max_output_size, "max_output_size"), "max_output_size")
        kept = suppressed(
            corners(boxes.astype("float32")),
            scores.astype("float32"),
            limit,
            scalar(iou_threshold, "iou_threshold"),
            scalar(score_threshold, "score_threshold"),
        )
        found = np.array(kept, np.int32)
        if self.pad_to_max_output_size:
            found = np.pad(found, (0, limit - found.size))
        return [found, np.array(len(kept), np.int32)]


class NonMaxSuppressionV6Op(GeOp):
    """ONNX NonMaxSuppression per batch and class: boxes [B, N, 4], scores [B, C, N].

    selected_indices is i32 [K, 3] with rows (batch, class, box), best first within a class, and -1
    in the rows that are left; K = B * C * min(max_output_size, N). center_point_box = 0 takes y1,
    x1, y2, x2 by any diagonal, 1 takes centre x, y, width and height. A box stays when its score
    exceeds score_threshold (if that is given) and its overlap with each better one that stays is at
    most iou_threshold (0). max_boxes_size has no effect: it only notes K. C1: boxes are [B, N, 4]
    and scores [B, C, N]. C2: max_output_size (i32), which must be given, and the thresholds hold
    one number. C3: max_output_size is not negative. C4: center_point_box is 0 or 1.
    """

    name = "ge.NonMaxSuppressionV6"

    boxes = operand()
    scores = operand()
    max_output_size = optional()
    iou_threshold = optional()
    score_threshold = optional()
    center_point_box = integer(0)
    max_boxes_size = integer(0)
    selected_indices = result()

    def infer(
        self,
        boxes: Tensor,
        scores: Tensor,
        max_output_size: Tensor | None,
        iou_threshold: Tensor | None,
        score_threshold: Tensor | None,
    ) -> Tensor:
        if max_output_size is None:  # C2
            raise VerifyException("max_output_size is missing, expected one")
        if self.center_point_box not in (0, 1):  # C4
            raise VerifyException(f"center_point_box is {self.center_point_box}, expected 0 or 1")
        expect(boxes, (DYNAMIC, DYNAMIC, 4), "boxes")  # C1
        batch, count, _ = dims(boxes, 3, "boxes")
        batches, classes, number = dims(scores, 3, "scores")
        batch = merge_dim(batch, batches, "batches of boxes and scores")
        count = merge_dim(count, number, "boxes and scores")
        check_numbers(
            max_output_size=max_output_size,
            iou_threshold=iou_threshold,
            score_threshold=score_threshold,
        )  # C2
        limit = known_int(self, "max_output_size")
        if limit is not None:
            count_of(limit, "max_output_size")  # C3
        each = DYNAMIC if limit is None or count == DYNAMIC else min(limit, count)
        rows = multiply_dims(batch, classes, 0 if limit == 0 else each)
        return Tensor(DataType.DT_INT32, bounded((rows, 3)))

    def evaluate(
        self,
        boxes: Array,
        scores: Array,
        max_output_size: Array,
        iou_threshold: Array | None,
        score_threshold: Array | None,
    ) -> Array:
        import numpy as np

        limit = min(int_of(max_output_size, "max_output_size"), boxes.shape[1])
        limits = (
            scalar(iou_threshold, "iou_threshold"),
            scalar(score_threshold, "score_threshold", -np.inf),
        )
        rows: list[Any] = []
        for batch in range(boxes.shape[0]):
            shapes = corners(boxes[batch].astype("float32"), self.center_point_box == 1)
            for label in range(scores.shape[1]):
                values = scores[batch, label].astype("float32")
                kept = suppressed(shapes, values, limit, *limits)
                rows += [(batch, label, box) for box in kept]
        total = boxes.shape[0] * scores.shape[1] * limit
        found = np.full((total, 3), -1, np.int32)
        if rows:
            found[: len(rows)] = rows
        return found


class CombinedNonMaxSuppressionOp(GeOp):
    """TensorFlow's suppression per class, and the best boxes of all classes per batch.

    boxes [B, N, q, 4] (y1, x1, y2, x2, any diagonal) with q = 1 for all classes or C, scores
    [B, N, C]. Each class keeps max_output_size_per_class boxes, the batch the best
    max_total_size: with pad_per_class S = min(max_total_size, max_output_size_per_class * C),
    else S = max_total_size. nmsed_boxes [B, S, 4] (clipped to [0, 1] with clip_boxes),
    nmsed_scores and nmsed_classes [B, S] f32, 0 in rows that are left, valid_detections [B] i32.
    C1: boxes are [B, N, q, 4], scores [B, N, C], q is 1 or C. C2: the sizes (i32) and thresholds
    hold one number. C3: the sizes are positive.
    """

    name = "ge.CombinedNonMaxSuppression"

    boxes = operand()
    scores = operand()
    max_output_size_per_class = operand()
    max_total_size = operand()
    iou_threshold = operand()
    score_threshold = operand()
    pad_per_class = boolean(False)
    clip_boxes = boolean(True)
    nmsed_boxes = result()
    nmsed_scores = result()
    nmsed_classes = result()
    valid_detections = result()

    def infer(
        self,
        boxes: Tensor,
        scores: Tensor,
        max_output_size_per_class: Tensor,
        max_total_size: Tensor,
        iou_threshold: Tensor,
        score_threshold: Tensor,
    ) -> list[Tensor]:
        expect(boxes, (DYNAMIC, DYNAMIC, DYNAMIC, 4), "boxes")  # C1
        batch, count, many, _ = dims(boxes, 4, "boxes")
        batches, number, classes = dims(scores, 3, "scores")
        batch = merge_dim(batch, batches, "batches of boxes and scores")
        merge_dim(count, number, "boxes and scores")
        if many != 1:
            merge_dim(many, classes, "classes of boxes and scores")
        check_numbers(
            max_output_size_per_class=max_output_size_per_class,
            max_total_size=max_total_size,
            iou_threshold=iou_threshold,
            score_threshold=score_threshold,
        )  # C2
        size = self.size(
            known_int(self, "max_output_size_per_class"),
            known_int(self, "max_total_size"),
            classes,
        )
        rows = (batch, size)
        f32 = DataType.DT_FLOAT
        return [
            Tensor(f32, bounded((*rows, 4))),
            Tensor(f32, rows),
            Tensor(f32, rows),
            Tensor(DataType.DT_INT32, (batch,)),
        ]

    def size(self, per_class: int | None, total: int | None, classes: int) -> int:
        """S, DYNAMIC while unknown."""
        for value, name in ((per_class, "max_output_size_per_class"), (total, "max_total_size")):
            if value is not None:
                count_of(value, name, 1)  # C3
        if total is None or (self.pad_per_class and (per_class is None or classes == DYNAMIC)):
            return DYNAMIC
        return min(total, (per_class or 0) * classes) if self.pad_per_class else total

    def evaluate(
        self,
        boxes: Array,
        scores: Array,
        max_output_size_per_class: Array,
        max_total_size: Array,
        iou_threshold: Array,
        score_threshold: Array,
    ) -> list[Array]:
        import numpy as np

        limit = int_of(max_output_size_per_class, "max_output_size_per_class")
        total = int_of(max_total_size, "max_total_size")
        size = self.size(limit, total, scores.shape[2])
        limits = (scalar(iou_threshold, "iou_threshold"), scalar(score_threshold, "threshold"))
        n = boxes.shape[0]
        found = np.zeros((n, size, 6), np.float32)
        valid = np.zeros(n, np.int32)
        for batch in range(n):
            rows = self.best(boxes[batch], scores[batch], limit, limits)[:size]
            found[batch, : len(rows)] = rows
            valid[batch] = len(rows)
        shapes = found[..., :4]
        shapes = np.clip(shapes, 0, 1) if self.clip_boxes else shapes
        return [np.ascontiguousarray(shapes), found[..., 4].copy(), found[..., 5].copy(), valid]

    def best(self, boxes: Array, scores: Array, limit: int, limits: tuple[float, float]) -> Array:
        """[kept, 6]: box, score and class of one batch, best first."""
        import numpy as np

        parts: list[Array] = [np.zeros((0, 6), np.float32)]
        for label in range(scores.shape[1]):
            shapes = boxes[:, min(label, boxes.shape[1] - 1)]
            kept = suppressed(corners(shapes), scores[:, label], limit, *limits)
            values = scores[kept, label][:, None]
            parts.append(
                np.concatenate([shapes[kept], values, np.full_like(values, label)], axis=1)
            )
        rows = np.concatenate(parts)
        return rows[np.argsort(-rows[:, 4], kind="stable")]


class NMSWithMaskOp(GeOp):
    """selected_boxes = box_scores [N, 5], selected_idx i32 [N], selected_mask u8 [N].

    The value semantics is unconfirmed (the overlap of touching boxes), so that there is none. C1:
    box_scores is [N, 5].
    """

    name = "ge.NMSWithMask"

    box_scores = operand()
    selected_boxes = result()
    selected_idx = result()
    selected_mask = result()
    iou_threshold = floating(0.5)

    def infer(self, box_scores: Tensor) -> list[Tensor]:
        expect(box_scores, (DYNAMIC, 5), "box_scores")  # C1
        rows, _ = dims(box_scores, 2, "box_scores")
        return [
            Tensor(box_scores.dtype, (rows, 5)),
            Tensor(DataType.DT_INT32, (rows,)),
            Tensor(DataType.DT_UINT8, (rows,)),
        ]
