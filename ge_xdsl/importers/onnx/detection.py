"""ONNX ops of object detection."""

from __future__ import annotations

from xdsl.ir import SSAValue

from ge_xdsl.dialects.ge.types import DataType
from ge_xdsl.importers.onnx.builder import Builder
from ge_xdsl.importers.onnx.node import Node
from ge_xdsl.importers.onnx.table import Converter

LARGEST = 2**31 - 1
"""The largest i32, in which GE counts boxes."""


def non_max_suppression(node: Node, g: Builder) -> SSAValue:
    """NonMaxSuppressionV6, whose rows of -1 are dropped, in i64"""
    boxes, scores, limit = node.input(0), node.input(1), node.optional(2)
    count = g.scalar(0, "int32") if limit is None else _count(g, limit)
    thresholds = [
        None if value is None else g.as_scalar(value)
        for value in (node.optional(3), node.optional(4))
    ]
    rows = g.part(
        "NonMaxSuppressionV6", boxes, scores, count, *thresholds,
        center_point_box=node.integer("center_point_box", 0),
    )  # fmt: skip
    rows = g.cast(rows, DataType.DT_INT64)
    used = g.part("GreaterEqual", g.take(rows, g.scalar(0, "int64"), 1), g.scalar(0, "int64"))
    places = g.part("Squeeze", g.part("Where", used), axis=[1])
    return g.take(rows, places, 0)


def _count(g: Builder, limit: SSAValue) -> SSAValue:
    """A number of boxes as an i32 scalar."""
    known = g.known(limit)
    if known is not None and len(known) == 1:
        return g.scalar(max(min(known[0], LARGEST), -1), "int32")
    limited = g.part("Minimum", g.as_scalar(limit), g.like(LARGEST, limit))
    return g.cast(limited, DataType.DT_INT32)


def roi_align(node: Node, g: Builder) -> SSAValue:
    """ROIAlign of the regions with the number of their image in front

    roi_end_mode is 2 for half_pixel and 0 for output_half_pixel, the only one before opset 16.
    """
    x, rois, batch = (node.input(k) for k in range(3))
    mode = node.string("mode", "avg")
    if mode not in ("avg", "max"):
        node.fail(f"attribute 'mode' is '{mode}', expected 'avg' or 'max'")
    default = "half_pixel" if node.opset >= 16 else "output_half_pixel"
    transform = node.string("coordinate_transformation_mode", default)
    ends = {"half_pixel": 2, "output_half_pixel": 0}
    if transform not in ends:
        node.fail(
            f"attribute 'coordinate_transformation_mode' is '{transform}', "
            f"expected one of {', '.join(ends)}"
        )
    column = g.part("Unsqueeze", g.cast(batch, g.dtype(rois)), axes=[1])
    regions = g.part("ConcatD", [column, rois], concat_dim=1, N=2)
    return g.part(
        "ROIAlign", x, regions, pooled_height=node.integer("output_height", 1),
        pooled_width=node.integer("output_width", 1), pool_mode=mode,
        sample_num=node.integer("sampling_ratio", 0), roi_end_mode=ends[transform],
        spatial_scale=node.floating("spatial_scale", 1.0),
    )  # fmt: skip


def max_roi_pool(node: Node, g: Builder) -> SSAValue:
    """ROIPooling"""
    size, scale = node.integers("pooled_shape") or [], node.floating("spatial_scale", 1.0)
    if len(size) != 2:
        node.fail(f"attribute 'pooled_shape' is {size}, expected 2 integers")
    return g.op(
        "ROIPooling", node.input(0), node.input(1), pooled_h=size[0], pooled_w=size[1],
        spatial_scale_h=scale, spatial_scale_w=scale,
    )  # fmt: skip


TABLE: dict[str, Converter] = {
    "MaxRoiPool": max_roi_pool,
    "NonMaxSuppression": non_max_suppression,
    "RoiAlign": roi_align,
}
