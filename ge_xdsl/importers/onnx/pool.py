"""ONNX pooling."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from xdsl.ir import SSAValue

from ge_xdsl.dialects.ge.types import DYNAMIC, DataType
from ge_xdsl.importers.onnx.builder import Builder
from ge_xdsl.importers.onnx.node import Node
from ge_xdsl.importers.onnx.table import Converter
from ge_xdsl.importers.onnx.window_sums import window_means, window_sums
from ge_xdsl.importers.onnx.windows import (
    Window,
    explicit_pads,
    kernel_of,
    spans,
    spatial,
    window_of,
)


def max_pool(node: Node, g: Builder) -> SSAValue | Sequence[SSAValue]:
    """MaxPoolV3, MaxPool3D for three dimensions and for dilated windows, MaxPoolWithArgmaxV3
    when the positions are asked for."""
    x, kernel = node.input(0), kernel_of(node)
    rank, window = _window(node, g, kernel)
    ceil_mode = node.flag("ceil_mode", False)
    by_column = node.flag("storage_order", False)
    if node.wants(1):
        return _with_positions(node, g, kernel, window, ceil_mode, by_column)
    if rank == 3 or window.dilations != [1] * rank:
        return _max_3d(node, g, kernel, window, ceil_mode)
    mode, pads = _padding(node, g, kernel, window)
    return _pool_2d(g, x, "MaxPoolV3", kernel, window, mode, pads, ceil_mode=ceil_mode)


def _window(node: Node, g: Builder, kernel: Sequence[int]) -> tuple[int, Window]:
    """The number of spatial dimensions, which is that of the input too, and the window."""
    rank = spatial(node, len(kernel) + 2)
    window = window_of(node, rank)
    shape = g.shape(node.input(0))
    if shape is not None and len(shape) != rank + 2:
        node.fail(
            f"the input has rank {len(shape)}, expected {rank + 2} for the kernel {list(kernel)}"
        )
    return rank, window


def _pool_2d(
    g: Builder,
    x: SSAValue,
    op_type: str,
    kernel: Sequence[int],
    window: Window,
    mode: str,
    pads: Sequence[int],
    **attrs: Any,
) -> SSAValue:
    """A 2-D pool in NCHW; a 1-D one between Unsqueeze and Squeeze of dimension 3."""
    ksize, strides = [1, 1, *kernel], [1, 1, *window.strides]
    if len(kernel) == 1:
        x = g.part("Unsqueeze", x, axes=[3])
        ksize, strides, pads = [*ksize, 1], [*strides, 1], [*pads, 0, 0]
    y = g.part(
        op_type, x, ksize=ksize, strides=strides, padding_mode=mode, pads=pads,
        data_format="NCHW", **attrs,
    )  # fmt: skip
    return g.part("Squeeze", y, axis=[3]) if len(kernel) == 1 else y


def _max_3d(
    node: Node, g: Builder, kernel: Sequence[int], window: Window, ceil_mode: bool
) -> SSAValue:
    """MaxPool3D, with dimensions of length 1 before the spatial ones of a 1-D or 2-D input"""
    missing = 3 - len(kernel)
    x = node.input(0)
    pads = _explicit(node, g, kernel, window).ge_pads()
    if missing:
        x = g.part("Unsqueeze", x, axes=list(range(2, 2 + missing)))
    ones = [1] * (2 + missing)
    y = g.part(
        "MaxPool3D", x, ksize=[*ones, *kernel], strides=[*ones, *window.strides],
        padding="CALCULATED", pads=[0] * (2 * missing) + pads,
        dilation=[*ones, *window.dilations], ceil_mode=int(ceil_mode), data_format="NCDHW",
    )  # fmt: skip
    return g.part("Squeeze", y, axis=list(range(2, 2 + missing))) if missing else y


def _explicit(node: Node, g: Builder, kernel: Sequence[int], window: Window) -> Window:
    pads = explicit_pads(node, g, node.input(0), kernel, window)
    return Window(window.strides, window.dilations, pads, "NOTSET")


def _with_positions(
    node: Node,
    g: Builder,
    kernel: Sequence[int],
    window: Window,
    ceil_mode: bool,
    by_column: bool,
) -> Sequence[SSAValue]:
    """MaxPoolWithArgmaxV3, whose positions count within a plane: ONNX counts through the whole
    tensor, by rows or by columns of a plane."""
    x = node.input(0)
    shape = g.shape(x)
    pads = explicit_pads(node, g, x, kernel, window)
    if len(kernel) != 2 or shape is None or pads[:2] != pads[2:]:
        node.fail("output 1 is asked for, expected equal pads before and after two dimensions")
    batch, channels, height, width = g.static_dims(shape, "output 1")
    op = g.add(
        "MaxPoolWithArgmaxV3",
        (x,),
        {
            "ksize": list(kernel), "strides": window.strides, "pads": pads[:2],
            "dtype": int(DataType.DT_INT64), "dilation": window.dilations,
            "ceil_mode": ceil_mode, "data_format": "NCHW",
        },
        node.name,
    )  # fmt: skip
    y, places = op.results
    if by_column:
        columns = g.scalar(width, "int64")
        row, column = (g.part(part, places, columns) for part in ("FloorDiv", "FloorMod"))
        places = g.part("Add", row, g.part("Mul", column, g.scalar(height, "int64")))
    planes = g.part("Mul", g.helper(range(batch * channels), "int64"),
                    g.scalar(height * width, "int64"))  # fmt: skip
    planes = g.part("Reshape", planes, g.helper([batch, channels, 1, 1], "int64"))
    return [y, g.part("Add", places, planes)]


def average_pool(node: Node, g: Builder) -> SSAValue:
    """AvgPoolV2 or AvgPool3D; the quotient of two sums where these have no such windows."""
    x, kernel = node.input(0), kernel_of(node)
    rank, window = _window(node, g, kernel)
    counts_pads = node.flag("count_include_pad", False)
    ceil_mode = node.flag("ceil_mode", False)
    dilated = window.dilations != [1] * rank
    if dilated or (ceil_mode and rank < 3 and _starts_in_padding(g, x, kernel, window)):
        explicit = _explicit(node, g, kernel, window)
        return window_means(g, x, kernel, explicit, ceil_mode, counts_pads)
    if rank == 3:
        pads = _explicit(node, g, kernel, window).ge_pads()
        return g.part(
            "AvgPool3D", x, ksize=[1, 1, *kernel], strides=[1, 1, *window.strides], pads=pads,
            ceil_mode=ceil_mode, count_include_pad=counts_pads, data_format="NCDHW",
        )  # fmt: skip
    mode, pads = _padding(node, g, kernel, window)
    return _pool_2d(
        g, x, "AvgPoolV2", kernel, window, mode, pads, ceil_mode=ceil_mode,
        exclusive=not counts_pads,
    )  # fmt: skip


def _starts_in_padding(g: Builder, x: SSAValue, kernel: Sequence[int], window: Window) -> bool:
    """Whether ceil_mode adds a window that starts in the padding after, which ONNX drops and
    AvgPoolV2 does not."""
    if window.auto_pad != "NOTSET":
        return False
    before, after = window.pads[: len(kernel)], window.pads[len(kernel) :]
    sizes = zip((g.shape(x) or ())[2:], kernel, window.strides, before, after, strict=False)
    return any(
        size != DYNAMIC and -(-(size + first + last - length) // stride) * stride >= size + first
        for size, length, stride, first, last in sizes
    )


def _padding(
    node: Node, g: Builder, kernel: Sequence[int], window: Window
) -> tuple[str, list[int]]:
    """GE's padding_mode and pads; GE's SAME pads like SAME_UPPER."""
    if window.auto_pad in ("NOTSET", "VALID"):
        return ("CALCULATED" if window.auto_pad == "NOTSET" else "VALID"), window.ge_pads()
    if window.auto_pad == "SAME_UPPER":
        return "SAME", window.ge_pads()
    return "CALCULATED", _explicit(node, g, kernel, window).ge_pads()


def lp_pool(node: Node, g: Builder) -> SSAValue:
    """(sum of |x|^p over each window)^(1/p), the sum by AvgPoolV2 or AvgPool3D with divisor 1"""
    kernel = kernel_of(node)
    rank, window = _window(node, g, kernel)
    p = node.integer("p", 2)
    if p < 1:
        node.fail(f"attribute 'p' is {p}, expected at least 1")
    ceil_mode = node.flag("ceil_mode", False)
    powers = g.part("Power", g.part("Abs", node.input(0)), power=float(p))
    explicit = _explicit(node, g, kernel, window)
    if window.dilations != [1] * rank or ceil_mode:
        sums = window_sums(g, powers, kernel, explicit, ceil_mode)
    elif rank == 3:
        sums = g.part(
            "AvgPool3D", powers, ksize=[1, 1, *kernel], strides=[1, 1, *window.strides],
            pads=explicit.ge_pads(), divisor_override=1, data_format="NCDHW",
        )  # fmt: skip
    else:
        pads = explicit.ge_pads()
        sums = _pool_2d(
            g, powers, "AvgPoolV2", kernel, window, "CALCULATED", pads, divisor_override=1
        )
    return g.part("Power", sums, power=1 / p)


def global_lp_pool(node: Node, g: Builder) -> SSAValue:
    """GlobalLpPool"""
    return g.op("GlobalLpPool", node.input(0), p=float(node.integer("p", 2)))


def global_max_pool(node: Node, g: Builder) -> SSAValue:
    """ReduceMax over the spatial dimensions, which stay as 1"""
    x = node.input(0)
    axes = g.helper(range(2, g.rank(x, "GlobalMaxPool")), "int32")
    return g.part("ReduceMax", x, axes, keep_dims=True, noop_with_empty_axes=False)


def global_average_pool(node: Node, g: Builder) -> SSAValue:
    """GlobalAveragePool"""
    return g.op("GlobalAveragePool", node.input(0))


def max_unpool(node: Node, g: Builder) -> SSAValue:
    """ScatterElements of the values at their positions in a row of zeros, in the output's shape

    Positions count in the shape that the window gives; zeros after it make up a given one.
    """
    x, places = node.input(0), node.input(1)
    kernel = kernel_of(node)
    _, window = _window(node, g, kernel)
    dims = g.static_dims(g.shape(x) or (DYNAMIC,), "MaxUnpool")
    half = len(kernel)
    sizes = [
        (n - 1) * stride - window.pads[k] - window.pads[half + k] + length
        for k, (n, stride, length) in enumerate(
            zip(dims[2:], window.strides, spans(kernel, window), strict=True)
        )
    ]
    shape = [*dims[:2], *sizes]
    if min(shape) < 0:
        node.fail(f"the output is {shape}, expected no negative dimension")
    zeros = g.part("Fill", g.helper([prod(shape)], "int64"), g.like(0, x))
    row = g.helper([-1], "int64")
    flat = [g.part("Reshape", value, row) for value in (places, x)]
    y = g.part("Reshape", g.part("ScatterElements", zeros, *flat), g.helper(shape, "int64"))
    if (given := node.optional(2)) is None:
        return y
    after = g.part("Sub", given, g.helper(shape, "int64"))
    pads = g.part("ConcatD", [g.helper([0] * len(shape), "int64"), after], concat_dim=0, N=2)
    fill = g.like(0, x)
    return g.part("PadV3", y, pads, fill, mode="constant", paddings_contiguous=False)


TABLE: dict[str, Converter] = {
    "AveragePool": average_pool,
    "GlobalAveragePool": global_average_pool,
    "GlobalLpPool": global_lp_pool,
    "GlobalMaxPool": global_max_pool,
    "LpPool": lp_pool,
    "MaxPool": max_pool,
    "MaxUnpool": max_unpool,
}
