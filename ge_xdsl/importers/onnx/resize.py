"""ONNX changes of the size of images."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from xdsl.ir import SSAValue

from ge_xdsl.dialects.ge.op import constant_of
from ge_xdsl.dialects.ge.types import DYNAMIC, DataType
from ge_xdsl.importers.onnx.builder import Builder
from ge_xdsl.importers.onnx.node import Node
from ge_xdsl.importers.onnx.table import Converter

MODES = ("half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric", "tf_crop_and_resize")
POLICIES = {"not_larger": "ReduceMin", "not_smaller": "ReduceMax"}
"""keep_aspect_ratio_policy -> the reduction of the scales to the one that all dimensions get."""


def resize(node: Node, g: Builder) -> SSAValue:
    """ResizeNearestNeighborV2 for the nearest element below in the last two dimensions of an
    NCHW image, else Resize with one scale or size for every dimension."""
    if node.opset < 11:
        return upsample(node, g)
    x = node.input(0)
    roi, scales, sizes = (_given(g, node.optional(k)) for k in (1, 2, 3))
    if (scales is None) == (sizes is None):
        node.fail("scales or sizes are missing or both given, expected one of them")
    attrs = _attributes(node)
    axes = node.integers("axes")
    policy = node.string("keep_aspect_ratio_policy", "stretch")
    rank = g.rank(x, "Resize")
    if attrs["coordinate_transformation_mode"] != "tf_crop_and_resize":
        roi = None
    if policy != "stretch" and sizes is not None:
        sizes = _kept_aspect(node, g, sizes, axes or list(range(rank)), policy)
    if axes is not None:
        places = g.helper([g.axis(axis, rank) for axis in axes], "int64")
        scales, sizes, roi = _all_axes(g, x, places, scales, sizes, roi)
    if (plane := _nearest_below(g, x, scales, sizes, attrs)) is not None:
        return g.part("ResizeNearestNeighborV2", x, plane)
    return _resized(g, x, rank, roi, scales, sizes, attrs)


def _given(g: Builder, value: SSAValue | None) -> SSAValue | None:
    """An optional input; an empty one counts as left out."""
    return None if value is None or g.shape(value) == (0,) else value


def _attributes(node: Node) -> dict[str, Any]:
    """The attributes of Resize, which have the names and defaults of ONNX."""
    node.expect("antialias", 0)
    mode = node.string("coordinate_transformation_mode", "half_pixel")
    if mode not in MODES:
        node.fail(
            f"attribute 'coordinate_transformation_mode' is '{mode}', "
            f"expected one of {', '.join(MODES)}"
        )
    return {
        "coordinate_transformation_mode": mode,
        "cubic_coeff_a": node.floating("cubic_coeff_a", -0.75),
        "exclude_outside": node.integer("exclude_outside", 0),
        "extrapolation_value": node.floating("extrapolation_value", 0.0),
        "mode": node.string("mode", "nearest"),
        "nearest_mode": node.string("nearest_mode", "round_prefer_floor"),
    }


def _kept_aspect(
    node: Node, g: Builder, sizes: SSAValue, axes: Sequence[int], policy: str
) -> SSAValue:
    """floor(s * size + 0.5) with one scale s for all axes: the least or largest of the wanted."""
    if policy not in POLICIES:
        known = ", ".join(["stretch", *POLICIES])
        node.fail(f"attribute 'keep_aspect_ratio_policy' is '{policy}', expected one of {known}")
    shape = g.shape_of(node.input(0))
    dims = g.cast(g.take(shape, g.helper(axes, "int64"), 0), DataType.DT_FLOAT)
    scales = g.part("RealDiv", g.cast(sizes, DataType.DT_FLOAT), dims)
    scale = g.part(POLICIES[policy], scales, g.helper([0], "int32"), keep_dims=True)
    wanted = g.part("Adds", g.part("Mul", scale, dims), value=0.5)
    return g.cast(g.part("Floor", wanted), DataType.DT_INT64)


def _all_axes(
    g: Builder,
    x: SSAValue,
    axes: SSAValue,
    scales: SSAValue | None,
    sizes: SSAValue | None,
    roi: SSAValue | None,
) -> tuple[SSAValue | None, SSAValue | None, SSAValue | None]:
    """Scales, sizes and region of every dimension from those of some axes."""
    rank = g.rank(x, "axes")
    if scales is not None:
        scales = g.part("ScatterElements", g.floats([1.0] * rank), axes, scales)
    if sizes is not None:
        sizes = g.cast(sizes, DataType.DT_INT64)
        sizes = g.part("ScatterElements", g.shape_of(x), axes, sizes)
    if roi is not None:
        ends = g.part("Add", axes, g.scalar(rank, "int64"))
        places = g.part("ConcatD", [axes, ends], concat_dim=0, N=2)
        whole = g.floats([0.0] * rank + [1.0] * rank)
        roi = g.part("ScatterElements", whole, places, g.cast(roi, DataType.DT_FLOAT))
    return scales, sizes, roi


def _nearest_below(
    g: Builder,
    x: SSAValue,
    scales: SSAValue | None,
    sizes: SSAValue | None,
    attrs: Mapping[str, Any],
) -> SSAValue | None:
    """The size of the plane where ResizeNearestNeighborV2 does the same, else None."""
    shape = g.shape(x)
    if shape is None or len(shape) != 4 or DYNAMIC in shape:
        return None
    wanted = (attrs["mode"], attrs["coordinate_transformation_mode"], attrs["nearest_mode"])
    if wanted != ("nearest", "asymmetric", "floor"):
        return None
    given = g.known(sizes)
    if scales is not None and (factors := constant_of(scales)) is not None:
        exact = [d * float(f) for d, f in zip(shape, factors.reshape(-1), strict=False)]
        given = [int(size) for size in exact] if all(s.is_integer() for s in exact) else None
    if given is None or tuple(given[:2]) != shape[:2] or len(given) != 4:
        return None
    return g.helper(given[2:], "int32")


def _resized(
    g: Builder,
    x: SSAValue,
    rank: int,
    roi: SSAValue | None,
    scales: SSAValue | None,
    sizes: SSAValue | None,
    attrs: Mapping[str, Any],
) -> SSAValue:
    """Resize; of fewer than four dimensions with leading ones of length 1"""
    missing = 4 - rank
    if missing <= 0:
        return g.part("Resize", x, roi, scales, sizes, **attrs)
    if roi is not None:
        raise g.error(f"the input has rank {rank}, expected 4 or 5 for tf_crop_and_resize")
    x = g.part("Unsqueeze", x, axes=list(range(missing)))
    if scales is not None:
        scales = g.part("ConcatD", [g.floats([1.0] * missing), scales], concat_dim=0, N=2)
    if sizes is not None:
        sizes = g.cast(sizes, DataType.DT_INT64)
        sizes = g.part("ConcatD", [g.helper([1] * missing, "int64"), sizes], concat_dim=0, N=2)
    y = g.part("Resize", x, None, scales, sizes, **attrs)
    return g.part("Squeeze", y, axis=list(range(missing)))


def upsample(node: Node, g: Builder) -> SSAValue:
    """Resize with asymmetric positions"""
    mode = node.string("mode", "nearest")
    if mode not in ("nearest", "linear"):
        node.fail(f"attribute 'mode' is '{mode}', expected 'nearest' or 'linear'")
    if node.opset >= 9:
        scales = node.input(1)
    else:
        scales = g.floats(node.floats("scales") or [])
    return g.part(
        "Resize", node.input(0), None, scales, None, mode=mode,
        coordinate_transformation_mode="asymmetric", nearest_mode="floor",
    )  # fmt: skip


TABLE: dict[str, Converter] = {"Resize": resize, "Upsample": upsample}
