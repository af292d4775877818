"""ONNX pooling."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xdsl.ir import SSAValue

from ge_xdsl.dialects.ge.types import DYNAMIC
from ge_xdsl.importers.onnx.builder import Builder
from ge_xdsl.importers.onnx.node import Node
from ge_xdsl.importers.onnx.table import Converter
from ge_xdsl.importers.onnx.windows import Window, kernel_of, same_pads, spatial, window_of


def max_pool(node: Node, g: Builder) -> SSAValue:
    """MaxPoolV3"""
    node.expect("storage_order", 0)
    return _pool(node, g, "MaxPoolV3", {})


def average_pool(node: Node, g: Builder) -> SSAValue:
    """AvgPoolV2"""
    exclusive = not node.flag("count_include_pad", False)
    return _pool(node, g, "AvgPoolV2", {"exclusive": exclusive})


def _pool(node: Node, g: Builder, op_type: str, attrs: dict[str, Any]) -> SSAValue:
    """A 2-D pool in NCHW; a 1-D one between Unsqueeze and Squeeze of dimension 3."""
    x = node.input(0)
    kernel = kernel_of(node)
    rank = spatial(node, len(kernel) + 2)
    window = window_of(node, rank)
    shape = g.shape(x)
    if shape is not None and len(shape) != rank + 2:
        node.fail(f"the input has rank {len(shape)}, expected {rank + 2} for the kernel {kernel}")
    if window.dilations != [1] * rank:
        node.fail(f"attribute 'dilations' is {window.dilations}, expected {[1] * rank}")
    ceil_mode = node.flag("ceil_mode", False)
    mode, pads = _padding(node, g, kernel, window)
    if op_type == "AvgPoolV2" and ceil_mode and mode == "CALCULATED":
        _check_last_window(node, g, kernel, window)
    ksize, strides = [1, 1, *kernel], [1, 1, *window.strides]
    if rank == 1:
        x = g.part("Unsqueeze", x, axes=[3])
        ksize, strides, pads = [*ksize, 1], [*strides, 1], [*pads, 0, 0]
    y = g.part(
        op_type, x, ksize=ksize, strides=strides, padding_mode=mode, pads=pads,
        data_format="NCHW", ceil_mode=ceil_mode, **attrs,
    )  # fmt: skip
    return g.part("Squeeze", y, axis=[3]) if rank == 1 else y


def _padding(
    node: Node, g: Builder, kernel: Sequence[int], window: Window
) -> tuple[str, list[int]]:
    """GE's padding_mode and pads; GE's SAME pads like SAME_UPPER."""
    if window.auto_pad in ("NOTSET", "VALID"):
        return ("CALCULATED" if window.auto_pad == "NOTSET" else "VALID"), window.ge_pads()
    if window.auto_pad == "SAME_UPPER":
        return "SAME", window.ge_pads()
    shape = g.shape(node.input(0))
    sizes = g.static_dims((shape or ())[2:] or (DYNAMIC,), "auto_pad SAME_LOWER")
    pads = same_pads(sizes, kernel, window)
    explicit = Window(window.strides, window.dilations, pads, "NOTSET")
    return "CALCULATED", explicit.ge_pads()


def _check_last_window(node: Node, g: Builder, kernel: Sequence[int], window: Window) -> None:
    """With ceil_mode ONNX drops a window that starts in the padding after, AvgPoolV2 does not."""
    shape = g.shape(node.input(0))
    before, after = window.pads[: len(kernel)], window.pads[len(kernel) :]
    sizes = zip((shape or ())[2:], kernel, window.strides, before, after, strict=False)
    for size, length, stride, first, last in sizes:
        if (
            size != DYNAMIC
            and -(-(size + first + last - length) // stride) * stride >= size + first
        ):
            node.fail("ceil_mode adds a window that starts in the padding, expected none")


def global_max_pool(node: Node, g: Builder) -> SSAValue:
    """ReduceMax over the spatial dimensions, which stay as 1"""
    x = node.input(0)
    axes = g.helper(range(2, g.rank(x, "GlobalMaxPool")), "int32")
    return g.part("ReduceMax", x, axes, keep_dims=True, noop_with_empty_axes=False)


def global_average_pool(node: Node, g: Builder) -> SSAValue:
    """GlobalAveragePool"""
    return g.op("GlobalAveragePool", node.input(0))


TABLE: dict[str, Converter] = {
    "AveragePool": average_pool,
    "GlobalAveragePool": global_average_pool,
    "GlobalMaxPool": global_max_pool,
    "MaxPool": max_pool,
}
