"""ONNX slices and borders."""

from __future__ import annotations

from xdsl.ir import SSAValue

from ge_xdsl.dialects.ge.types import DYNAMIC, DataType
from ge_xdsl.importers.onnx.builder import Builder
from ge_xdsl.importers.onnx.node import Node
from ge_xdsl.importers.onnx.table import Converter

MODES = {"constant": "constant", "reflect": "reflect", "edge": "edge", "wrap": "circular"}
"""ONNX's name of a border -> GE's."""


def slice_(node: Node, g: Builder) -> SSAValue:
    """StridedSliceV2, whose operands are in ONNX's order; before opset 10 they are Consts."""
    x = node.input(0)
    if node.opset >= 10:
        axes, steps = node.optional(3), node.optional(4)
        starts = _clamped(g, x, node.input(1), axes, steps)
        return g.part("StridedSliceV2", x, starts, node.input(2), axes, steps)
    starts, ends, axes = (node.integers(name) for name in ("starts", "ends", "axes"))
    if starts is None or ends is None:
        node.fail("attribute 'starts' or 'ends' is missing, both are required")
    given = [g.helper(values, "int64") for values in (starts, ends, axes) if values is not None]
    return g.part("StridedSliceV2", x, *given)


def _clamped(
    g: Builder, x: SSAValue, starts: SSAValue, axes: SSAValue | None, steps: SSAValue | None
) -> SSAValue:
    """Starts that are not before the first element.

    Going backwards from there ONNX gives that element and StridedSliceV2 none; it makes no
    difference for steps above 0.
    """
    shape = g.shape(x)
    known, given, places = g.known(starts), g.known(steps), g.known(axes)
    if steps is None or (given is not None and min(given, default=1) > 0):
        return starts
    if known is not None and shape is not None and (axes is None or places is not None):
        dims = [shape[a] if -len(shape) <= a < len(shape) else 0
                for a in (places if places is not None else range(len(known)))]  # fmt: skip
        if all(s >= 0 or (d != DYNAMIC and s >= -d) for s, d in zip(known, dims, strict=False)):
            return starts
    sizes = g.shape_of(x)
    if axes is None:
        length = g.dim(starts, 0)
        bounds = g.helper([0], "int64"), g.part("Unsqueeze", length, axes=[0])
        sizes = g.part("StridedSliceV2", sizes, *bounds)
    else:
        sizes = g.take(sizes, axes, 0)
    lowest = g.cast(g.part("Neg", sizes), g.dtype(starts))
    return g.part("Maximum", starts, lowest)


def pad(node: Node, g: Builder) -> SSAValue:
    """PadV3; before opset 11 with Const operands, from then on in ONNX's order."""
    x = node.input(0)
    mode = node.string("mode", "constant")
    if mode not in MODES:
        node.fail(f"attribute 'mode' is '{mode}', expected one of {', '.join(MODES)}")
    if node.opset < 11:
        pads = node.integers("pads") or []
        half = len(pads) // 2
        pairs = [p for k in range(half) for p in (pads[k], pads[half + k])]
        value = g.like(node.floating("value", 0.0), x)
        return g.part("PadV3", x, g.helper(pairs, "int32"), value, mode=MODES[mode])
    paddings = node.input(1)
    if (axes := node.optional(3)) is not None:
        paddings = _all_pads(node, g, paddings, axes)
    fill = node.optional(2)
    if fill is not None and mode != "constant":
        fill = None
    return g.op("PadV3", x, paddings, fill, mode=MODES[mode], paddings_contiguous=False)


def _all_pads(node: Node, g: Builder, paddings: SSAValue, axes: SSAValue) -> SSAValue:
    """Pads of every dimension from those of some axes, where these are no constants by writing
    them into zeros."""
    rank = g.rank(node.input(0), "axes")
    given, places = g.known(paddings), g.known(axes)
    if given is None or places is None:
        wide = g.cast(axes, DataType.DT_INT64)
        first = g.part("FloorMod", wide, g.scalar(rank, "int64"))
        after = g.part("Add", first, g.scalar(rank, "int64"))
        indices = g.part("ConcatD", [first, after], concat_dim=0, N=2)
        return g.part("ScatterElements", g.helper([0] * (2 * rank), "int64"), indices, paddings)
    count = len(places)
    if len(given) != 2 * count or any(not -rank <= a < rank for a in places):
        node.fail(f"pads are {given} for axes {places}, expected two per axis in rank {rank}")
    pads = [0] * (2 * rank)
    for k, axis in enumerate(places):
        pads[axis % rank], pads[rank + axis % rank] = given[k], given[count + k]
    return g.helper(pads, "int64")


TABLE: dict[str, Converter] = {"Pad": pad, "Slice": slice_}
