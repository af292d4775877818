"""ONNX Col2Im: columns of window elements added up to images, in any number of dimensions."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.ir import SSAValue

from ge_xdsl.dialects.ge.types import RANK_LIMIT, DataType
from ge_xdsl.importers.onnx.builder import Builder
from ge_xdsl.importers.onnx.node import Node
from ge_xdsl.importers.onnx.table import Converter


@dataclass(frozen=True)
class Places:
    """For one dimension: image size, kernel size, number of windows, and where each element
    [kernel, window] belongs."""

    size: SSAValue
    kernel: SSAValue
    windows: SSAValue
    position: SSAValue


SIZES_LIMIT = RANK_LIMIT // 2
"""Most dimensions of an image: its elements are numbered by kernel element and window."""


def col2im(node: Node, g: Builder) -> SSAValue:
    """ScatterElements with reduction add, on rows of zeros with one place more for what falls
    into the padding

    The sizes of image and kernel are operands, so that all indices are computed in the graph.
    """
    x, image, block = (node.input(k) for k in range(3))
    shape = g.shape(image)
    if shape is None or len(shape) != 1 or not 1 <= shape[0] <= SIZES_LIMIT:
        node.fail(
            f"the image shape is {g.tensor_text(image)}, expected a vector of 1 to "
            f"{SIZES_LIMIT} sizes"
        )
    rank = shape[0]
    places = [_places(node, g, image, block, k, rank) for k in range(rank)]
    total = g.part("ReduceProd", image, g.helper([0], "int32"), keep_dims=False)
    indices = _indices(g, places, total, rank)
    lead = [g.dim(x, 0), _channels(g, x, places)]
    one = g.scalar(1, "int64")
    rows = _reshaped(g, x, [*lead, g.scalar(-1, "int64")])
    wide = g.part("BroadcastTo", indices, g.part("Shape", rows, dtype=int(DataType.DT_INT64)))
    dims = g.part("Pack", [*lead, g.part("Add", total, one)], axis=0, N=3)
    zeros = g.part("Fill", dims, g.like(0, x))
    added = g.part("ScatterElements", zeros, wide, rows, axis=2, reduction="add")
    bounds = g.helper([0], "int64"), g.part("Unsqueeze", total, axes=[0]), g.helper([2], "int64")
    kept = g.part("StridedSliceV2", added, *bounds)
    return _reshaped(g, kept, [*lead, *(place.size for place in places)])


def _reshaped(g: Builder, x: SSAValue, dims: list[SSAValue]) -> SSAValue:
    return g.part("Reshape", x, g.part("Pack", dims, axis=0, N=len(dims)))


def _listed(node: Node, name: str, default: int, count: int) -> list[int]:
    values = node.peek_integers(name) or [default] * count
    if len(values) != count:
        node.fail(f"attribute '{name}' has {len(values)} entries, expected {count}")
    return values


def _places(
    node: Node, g: Builder, image: SSAValue, block: SSAValue, axis: int, rank: int
) -> Places:
    """position = window * stride + element * dilation - padding before"""
    stride = _listed(node, "strides", 1, rank)[axis]
    dilation = _listed(node, "dilations", 1, rank)[axis]
    pads = _listed(node, "pads", 0, 2 * rank)
    if axis == rank - 1:
        node.ignore("strides", "dilations", "pads")
    if stride < 1 or dilation < 1:
        node.fail(f"stride and dilation are {stride} and {dilation}, expected at least 1")
    size, kernel = (g.take(v, g.scalar(axis, "int64"), 0) for v in (image, block))
    one = g.scalar(1, "int64")
    span = g.part("Mul", g.part("Sub", kernel, one), g.scalar(dilation, "int64"))
    room = g.part("Sub", g.part("Add", size, g.scalar(pads[axis] + pads[rank + axis] - 1, "int64")),
                  span)  # fmt: skip
    steps = g.part("FloorDiv", room, g.scalar(stride, "int64"))
    windows = g.part("Add", steps, one)
    element = g.part("Mul", g.along(g.range(kernel), 0, 2), g.scalar(dilation, "int64"))
    start = g.part("Mul", g.range(windows), g.scalar(stride, "int64"))
    position = g.part("Sub", g.part("Add", element, start), g.scalar(pads[axis], "int64"))
    return Places(size, kernel, windows, position)


def _indices(g: Builder, places: list[Places], total: SSAValue, rank: int) -> SSAValue:
    """The place in a row of each element, in the order of the columns: all kernel elements, then
    all windows. An element in the padding gets the place after the last."""
    flat: SSAValue = g.scalar(0, "int64")
    inside: SSAValue = g.scalar(True, "bool")
    zero = g.scalar(0, "int64")
    for k, place in enumerate(places):
        dims: list[SSAValue] = [g.scalar(1, "int64")] * (2 * rank)
        dims[k], dims[rank + k] = place.kernel, place.windows
        position = _reshaped(g, place.position, dims)
        flat = g.part("Add", g.part("Mul", flat, place.size), position)
        above = g.part("GreaterEqual", position, zero)
        below = g.part("Less", position, place.size)
        inside = g.part("LogicalAnd", inside, g.part("LogicalAnd", above, below))
    found = g.part("SelectV2", inside, flat, total)
    return g.part("Reshape", found, g.helper([1, 1, -1], "int64"))


def _channels(g: Builder, x: SSAValue, places: list[Places]) -> SSAValue:
    """Channels of the image: those of x over the elements of a kernel."""
    count: SSAValue = g.scalar(1, "int64")
    for place in places:
        count = g.part("Mul", count, place.kernel)
    return g.part("FloorDiv", g.dim(x, 1), count)


TABLE: dict[str, Converter] = {"Col2Im": col2im}
