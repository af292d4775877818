"""Heads of object detectors: shapes of proposals, of box decoders, and of priors.

What these kernels compute in detail is not public, so that they have shapes and no values here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from xdsl.utils.exceptions import VerifyException

from ge_xdsl.dialects.ge.extents import bounded, count_of, of_rank
from ge_xdsl.dialects.ge.fields import (
    AttrField,
    boolean,
    floating,
    floats,
    integer,
    integers,
    operand,
    result,
    string,
    variadic,
)
from ge_xdsl.dialects.ge.op import GeOp
from ge_xdsl.dialects.ge.recurrent import dims, expect
from ge_xdsl.dialects.ge.rounding import chosen
from ge_xdsl.dialects.ge.shapes import merge_dim, multiply_dims
from ge_xdsl.dialects.ge.suffix import check_floats
from ge_xdsl.dialects.ge.types import DYNAMIC, DataType, Tensor


def padded_row(count: int) -> int:
    """How many numbers of 2 bytes a row of `count` takes with the room that kernels want."""
    return DYNAMIC if count == DYNAMIC else -(-(2 * count + 32) // 32) * 32 // 2


class _Yolo(GeOp):
    """Boxes, objectness and classes out of the last feature map of a YOLO network."""

    boxes: ClassVar[AttrField[int]]
    coords: ClassVar[AttrField[int]]
    classes: ClassVar[AttrField[int]]

    def parts(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        check_floats(x=x)  # C1
        n, c, h, w = dims(x, 4, "x")  # C1
        boxes, coords, classes = (
            count_of(v, name, 1)  # C3
            for v, name in (
                (self.boxes, "boxes"),
                (self.coords, "coords"),
                (self.classes, "classes"),
            )
        )
        merge_dim(c, boxes * (coords + 1 + classes), "channels of x and of the boxes")  # C2
        area = multiply_dims(h, w)
        row = padded_row(multiply_dims(boxes, area))
        return (
            Tensor(x.dtype, bounded((n, boxes * coords, padded_row(area)))),
            Tensor(x.dtype, bounded((n, row))),
            Tensor(x.dtype, bounded((n, classes, row))),
        )


class YoloOp(_Yolo):
    """coord_data [N, boxes * coords, P(HW)], obj_prob [N, P(boxes * HW)] and classes_prob [N,
    classes, P(boxes * HW)] of x [N, boxes * (coords + 1 + classes), H, W]

    P(n) = ceil((2 n + 32) / 32) * 16, zeros behind the first n. The values are not modelled. C1: x
    is a floating-point tensor of rank 4. C2: its channels fit. C3: boxes, coords and classes are
    at least 1. C4: yolo_version is V2, V3 or V5.
    """

    name = "ge.Yolo"

    x = operand()
    coord_data = result()
    obj_prob = result()
    classes_prob = result()
    boxes = integer(3)
    coords = integer(4)
    classes = integer(80)
    yolo_version = string("V3")
    softmax = boolean(False)
    background = boolean(False)
    softmaxtree = boolean(False)

    def infer(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        chosen(self.yolo_version, "yolo_version", ("V2", "V3", "V5"))  # C4
        return self.parts(x)  # C1 C2 C3


class YoloPreDetectionOp(_Yolo):
    """The shapes of Yolo, for the fifth version; the values are not modelled

    C1: x is a floating-point tensor of rank 4. C2: its channels fit. C3: boxes, coords and classes
    are at least 1. C4: yolo_version is V2, V3 or V5.
    """

    name = "ge.YoloPreDetection"

    x = operand()
    coord_data = result()
    obj_prob = result()
    classes_prob = result()
    boxes = integer(3)
    coords = integer(4)
    classes = integer(80)
    yolo_version = string("V5")
    softmax = boolean(False)
    background = boolean(False)
    softmaxtree = boolean(False)

    def infer(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        chosen(self.yolo_version, "yolo_version", ("V2", "V3", "V5"))  # C4
        return self.parts(x)  # C1 C2 C3


class _Output(GeOp):
    """Boxes that stay after suppression: six numbers each, and how many per image."""

    post_nms_topn: ClassVar[AttrField[int]]

    def outputs(self, first: Tensor, flat: bool) -> tuple[Tensor, Tensor]:
        """box_out and box_out_num; `first` has the batch as dimension 0."""
        check_floats(coord_data=first)  # C1
        count = count_of(self.post_nms_topn, "post_nms_topn")  # C2
        n = DYNAMIC if not first.shape else first.shape[0]
        shape = (n, 6 * count) if flat else (n, 6, count)
        return Tensor(first.dtype, bounded(shape)), Tensor(DataType.DT_INT32, (n, 8))


class _YoloV2(_Output):
    """Coordinates, objectness and classes of one scale, and the images' sizes."""

    coord_data = operand()
    obj_prob = operand()
    classes_prob = operand()
    img_info = operand()

    biases = floats()
    boxes = integer(5)
    coords = integer(4)
    classes = integer(20)
    relative = boolean(True)
    obj_threshold = floating(0.5)
    post_nms_topn = integer(512)
    score_threshold = floating(0.5)
    iou_threshold = floating(0.45)
    pre_nms_topn = integer(512)

    def infer(self, coord_data: Tensor, *rest: Tensor) -> tuple[Tensor, Tensor]:
        return self.outputs(coord_data, True)


class YoloV2DetectionOutputOp(_YoloV2):
    """box_out [N, 6 * post_nms_topn] and box_out_num [N, 8]; the values are not modelled

    C1: coord_data is a floating-point tensor. C2: post_nms_topn is 0 or more.
    """

    name = "ge.YoloV2DetectionOutput"

    box_out = result()
    box_out_num = result()


class YoloV2DetectionOutputDOp(_YoloV2):
    """box_out [N, 6 * post_nms_topn] and box_out_num [N, 8]; the values are not modelled

    C1: coord_data is a floating-point tensor. C2: post_nms_topn is 0 or more.
    """

    name = "ge.YoloV2DetectionOutputD"

    windex = operand()
    hindex = operand()
    box_out = result()
    box_out_num = result()


class _YoloV3(_Output):
    """Three scales of coordinates, objectness and classes, and the images' sizes."""

    coord_data_low = operand()
    coord_data_mid = operand()
    coord_data_high = operand()
    obj_prob_low = operand()
    obj_prob_mid = operand()
    obj_prob_high = operand()
    classes_prob_low = operand()
    classes_prob_mid = operand()
    classes_prob_high = operand()
    img_info = operand()

    biases_low = floats()
    biases_mid = floats()
    biases_high = floats()
    boxes = integer(3)
    coords = integer(4)
    classes = integer(80)
    relative = boolean(True)
    obj_threshold = floating(0.5)
    post_nms_topn = integer(512)
    score_threshold = floating(0.5)
    iou_threshold = floating(0.45)
    pre_nms_topn = integer(512)

    def infer(self, coord_data: Tensor, *rest: Tensor) -> tuple[Tensor, Tensor]:
        return self.outputs(coord_data, True)


class YoloV3DetectionOutputOp(_YoloV3):
    """box_out [N, 6 * post_nms_topn] and box_out_num [N, 8]; the values are not modelled

    C1: coord_data_low is a floating-point tensor. C2: post_nms_topn is 0 or more.
    """

    name = "ge.YoloV3DetectionOutput"

    box_out = result()
    box_out_num = result()


class YoloV3DetectionOutputDOp(_YoloV3):
    """box_out [N, 6 * post_nms_topn] and box_out_num [N, 8]; the values are not modelled

    C1: coord_data_low is a floating-point tensor. C2: post_nms_topn is 0 or more.
    """

    name = "ge.YoloV3DetectionOutputD"

    windex1 = operand()
    windex2 = operand()
    windex3 = operand()
    hindex1 = operand()
    hindex2 = operand()
    hindex3 = operand()
    box_out = result()
    box_out_num = result()


class _Scales(_Output):
    """Any number of scales: coordinates, objectness and classes of all, then the images' sizes."""

    x = variadic()

    biases = floats()
    boxes = integer(3)
    coords = integer(4)
    classes = integer(80)
    relative = boolean(True)
    obj_threshold = floating(0.5)
    post_nms_topn = integer(512)
    score_threshold = floating(0.5)
    iou_threshold = floating(0.45)
    pre_nms_topn = integer(512)
    N = integer(10)
    resize_origin_img_to_net = boolean(False)
    out_box_dim = integer(3)

    def infer(self, x: Sequence[Tensor], *rest: Sequence[Tensor]) -> tuple[Tensor, Tensor]:
        chosen(self.out_box_dim, "out_box_dim", (2, 3))  # C3
        if len(x) < 4 or len(x) % 3 != 1:  # C4
            raise VerifyException(f"has {len(x)} x, expected three per scale and one more")
        return self.outputs(x[0], self.out_box_dim == 2)


class YoloV3DetectionOutputV2Op(_Scales):
    """box_out [N, 6, post_nms_topn] ([N, 6 * post_nms_topn] for out_box_dim 2), box_out_num [N, 8]

    The values are not modelled. C1: the first x is a floating-point tensor. C2: post_nms_topn is 0
    or more. C3: out_box_dim is 2 or 3. C4: x has three tensors per scale and one more.
    """

    name = "ge.YoloV3DetectionOutputV2"

    box_out = result()
    box_out_num = result()


class YoloV3DetectionOutputV2DOp(_Scales):
    """box_out [N, 6, post_nms_topn] ([N, 6 * post_nms_topn] for out_box_dim 2), box_out_num [N, 8]

    The values are not modelled. C1: the first x is a floating-point tensor. C2: post_nms_topn is 0
    or more. C3: out_box_dim is 2 or 3. C4: x has three tensors per scale and one more.
    """

    name = "ge.YoloV3DetectionOutputV2D"

    windex = variadic()
    hindex = variadic()
    box_out = result()
    box_out_num = result()


class YoloV5DetectionOutputOp(_Scales):
    """box_out [N, 6, post_nms_topn] ([N, 6 * post_nms_topn] for out_box_dim 2), box_out_num [N, 8]

    The values are not modelled. C1: the first x is a floating-point tensor. C2: post_nms_topn is 0
    or more. C3: out_box_dim is 2 or 3. C4: x has three tensors per scale and one more.
    """

    name = "ge.YoloV5DetectionOutput"

    box_out = result()
    box_out_num = result()
    alpha = floating(2.0)


class YoloV5DetectionOutputDOp(_Scales):
    """box_out [N, 6, post_nms_topn] ([N, 6 * post_nms_topn] for out_box_dim 2), box_out_num [N, 8]

    The values are not modelled. C1: the first x is a floating-point tensor. C2: post_nms_topn is 0
    or more. C3: out_box_dim is 2 or 3. C4: x has three tensors per scale and one more.
    """

    name = "ge.YoloV5DetectionOutputD"

    windex = variadic()
    hindex = variadic()
    box_out = result()
    box_out_num = result()
    alpha = floating(2.0)


class YoloxBoundingBoxDecodeOp(GeOp):
    """decoded_bboxes [B, N, 4] of bboxes relative to priors [N, 4]; the values are unconfirmed

    C1: priors are [N, 4] and bboxes [B, N, 4].
    """

    name = "ge.YoloxBoundingBoxDecode"

    priors = operand()
    bboxes = operand()
    decoded_bboxes = result()

    def infer(self, priors: Tensor, bboxes: Tensor) -> Tensor:
        expect(priors, (DYNAMIC, 4), "priors")  # C1
        rows = dims(priors, 2, "priors")[0]
        expect(bboxes, (DYNAMIC, rows, 4), "bboxes")  # C1
        batch, count, _ = dims(bboxes, 3, "bboxes")
        return bboxes.with_shape((batch, merge_dim(rows, count, "rows"), 4))


class GridAssignPositiveOp(GeOp):
    """assigned_gt_inds_pos = assigned_gt_inds with the boxes that ground truth claims; the values
    are unconfirmed

    C1: overlaps are [G, N], gt_max_overlaps [G] and the operands per box [N].
    """

    name = "ge.GridAssignPositive"

    assigned_gt_inds = operand()
    overlaps = operand()
    box_responsible_flags = operand()
    max_overlaps = operand()
    argmax_overlaps = operand()
    gt_max_overlaps = operand()
    gt_argmax_overlaps = operand()
    num_gts = operand()
    assigned_gt_inds_pos = result()
    pos_iou_thr = floating()
    min_pos_iou = floating()
    gt_max_assign_all = boolean()

    def infer(self, assigned_gt_inds: Tensor, *rest: Tensor) -> Tensor:
        overlaps, flags, largest, places, gt_largest, gt_places, _ = rest
        shape = dims(overlaps, 2, "overlaps")  # C1
        ground, boxes = shape
        for name, tensor in (
            ("assigned_gt_inds", assigned_gt_inds),
            ("box_responsible_flags", flags),
            ("max_overlaps", largest),
            ("argmax_overlaps", places),
        ):
            expect(tensor, (boxes,), name)  # C1
        expect(gt_largest, (ground,), "gt_max_overlaps")  # C1
        expect(gt_places, (ground,), "gt_argmax_overlaps")  # C1
        return assigned_gt_inds


class _Proposal(GeOp):
    """Boxes of a region proposal network."""

    feat_stride = floating(16.0)
    base_size = floating(16.0)
    min_size = floating(16.0)
    ratio = floats((0.5, 1.0, 2.0))
    scale = floats((8.0, 16.0, 32.0))
    pre_nms_topn = integer(3000)
    post_nms_topn = integer(304)
    iou_threshold = floating(0.7)
    output_actual_rois_num = boolean(False)

    def infer(self, cls_prob: Tensor, bbox_delta: Tensor, *rest: Tensor) -> tuple[Tensor, Tensor]:
        check_floats(cls_prob=cls_prob, bbox_delta=bbox_delta)  # C1
        of_rank(cls_prob, 4, "cls_prob")  # C1
        of_rank(bbox_delta, 4, "bbox_delta")  # C1
        count = count_of(self.post_nms_topn, "post_nms_topn")  # C2
        batch = dims(cls_prob, 4, "cls_prob")[0]
        rois = bounded((batch, 5, -(-count // 16) * 16))
        return Tensor(cls_prob.dtype, rois), Tensor(DataType.DT_INT32, (batch, 8))


class ProposalOp(_Proposal):
    """rois [N, 5, post_nms_topn rounded up to 16] and actual_rois_num [N, 8]; no values here

    C1: cls_prob and bbox_delta are floating-point tensors of rank 4. C2: post_nms_topn is 0 or
    more.
    """

    name = "ge.Proposal"

    cls_prob = operand()
    bbox_delta = operand()
    im_info = operand()
    rois = result()
    actual_rois_num = result()


class ProposalDOp(_Proposal):
    """rois [N, 5, post_nms_topn rounded up to 16] and actual_rois_num [N, 8]; no values here

    C1: cls_prob and bbox_delta are floating-point tensors of rank 4. C2: post_nms_topn is 0 or
    more.
    """

    name = "ge.ProposalD"

    cls_prob = operand()
    bbox_delta = operand()
    im_info = operand()
    rpn_bbox = operand()
    rois = result()
    actual_rois_num = result()


class RpnProposalsDOp(GeOp):
    """sorted_box [post_nms_num, 4] of the rois [N, 4] that stay; the values are not modelled

    C1: rois are [N, 4]. C2: post_nms_num is 0 or more.
    """

    name = "ge.RpnProposalsD"

    rois = operand()
    cls_bg_prob = operand()
    sorted_box = result()
    img_size = integers()
    score_threshold = floating()
    k = integer()
    min_size = floating()
    nms_threshold = floating()
    post_nms_num = integer()
    score_filter = boolean(True)
    box_filter = boolean(True)
    score_sigmoid = boolean(False)

    def infer(self, rois: Tensor, cls_bg_prob: Tensor) -> Tensor:
        expect(rois, (DYNAMIC, 4), "rois")  # C1
        return rois.with_shape(bounded((count_of(self.post_nms_num, "post_nms_num"), 4)))  # C2


class RpnProposalPostProcessingOp(GeOp):
    """sorted_box [post_nms_num, 4]; the values are not modelled

    C1: sorted_proposal has rank 2. C2: post_nms_num is 0 or more.
    """

    name = "ge.RpnProposalPostProcessing"

    sorted_proposal = operand()
    proposal_num = operand()
    sorted_box = result()
    img_size = integers()
    score_threshold = floating()
    k = integer()
    min_size = floating()
    nms_threshold = floating()
    post_nms_num = integer()
    box_filter = boolean(True)
    core_max_num = integer(8)

    def infer(self, sorted_proposal: Tensor, proposal_num: Tensor) -> Tensor:
        of_rank(sorted_proposal, 2, "sorted_proposal")  # C1
        count = count_of(self.post_nms_num, "post_nms_num")  # C2
        return sorted_proposal.with_shape(bounded((count, 4)))


def prior_count(sizes: int, maxima: int, ratios: Sequence[float], flip: bool) -> int:
    """How many priors a place has: ratios that repeat 1 or each other count once."""
    distinct: list[float] = [1.0]
    for ratio in ratios:
        for value in (ratio, 1 / ratio) if flip and ratio else (ratio,):
            if all(abs(value - known) >= 1e-6 for known in distinct):
                distinct.append(value)
    return sizes * len(distinct) + maxima


class PriorBoxOp(GeOp):
    """y [1, 2, H * W * P * 4, 1]: the P prior boxes of each place of x, and their variances

    P = (min_size entries) * (1 + other distinct ratios) + max_size entries. The values are not
    modelled. C1: x and img have rank 4. C2: min_size has an entry.
    """

    name = "ge.PriorBox"

    x = operand()
    img = operand()
    y = result()
    min_size = floats()
    max_size = floats()
    aspect_ratio = floats()
    img_h = integer(0)
    img_w = integer(0)
    step_h = floating(0.0)
    step_w = floating(0.0)
    flip = boolean(True)
    clip = boolean(False)
    offset = floating(0.5)
    variance = floats((0.1,))

    def infer(self, x: Tensor, img: Tensor) -> Tensor:
        of_rank(img, 4, "img")  # C1
        _, _, h, w = dims(x, 4, "x")  # C1
        if not self.min_size:  # C2
            raise VerifyException("min_size has no entry, expected one or more")
        priors = prior_count(len(self.min_size), len(self.max_size), self.aspect_ratio, self.flip)
        return x.with_shape(bounded((1, 2, multiply_dims(h, w, priors * 4), 1)))


class PriorBoxDV2Op(GeOp):
    """y [1, 2, H * W * P, 4]: the P prior boxes of each place of x, and their variances

    P is the number of boxes. The values are not modelled. C1: x and img have rank 4. C2: boxes has
    rank 1 or more.
    """

    name = "ge.PriorBoxDV2"

    x = operand()
    img = operand()
    boxes = operand()
    y = result()
    min_size = floats()
    max_size = floats()
    img_h = integer(0)
    img_w = integer(0)
    step_h = floating(0.0)
    step_w = floating(0.0)
    flip = boolean(True)
    clip = boolean(False)
    offset = floating(0.5)
    variance = floats((0.1,))

    def infer(self, x: Tensor, img: Tensor, boxes: Tensor) -> Tensor:
        of_rank(img, 4, "img")  # C1
        _, _, h, w = dims(x, 4, "x")  # C1
        if boxes.shape == ():  # C2
            raise VerifyException("boxes is scalar, expected rank 1 or more")
        priors = DYNAMIC if boxes.shape is None else boxes.shape[0]
        return x.with_shape(bounded((1, 2, multiply_dims(h, w, priors), 4)))
