"""ONNX convolutions."""

from __future__ import annotations

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Attribute, SSAValue

from ge_xdsl.dialects.ge.op import extra_key
from ge_xdsl.dialects.ge.types import DYNAMIC
from ge_xdsl.importers.onnx.builder import Builder
from ge_xdsl.importers.onnx.node import Node
from ge_xdsl.importers.onnx.table import Converter
from ge_xdsl.importers.onnx.windows import spatial, window_of


def conv(node: Node, g: Builder) -> SSAValue:
    """Conv2D in NCHW; a 1-D one between Unsqueeze and Squeeze of dimension 2."""
    x, weight = node.input(0), node.input(1)
    rank = spatial(node, g.rank(weight, "Conv"))
    window = window_of(node, rank)
    groups = node.integer("group", 1)
    _check_shapes(node, g, groups)
    if rank == 1:
        x = g.part("Unsqueeze", x, axes=[2])
        weight = g.part("Unsqueeze", weight, axes=[2])
        window = window.widened()
    attrs = {
        "strides": [1, 1, *window.strides],
        "pads": window.ge_pads(),
        "dilations": [1, 1, *window.dilations],
        "groups": groups,
        "data_format": "NCHW",
    }
    extra: dict[str, Attribute] = {}
    if window.auto_pad != "NOTSET":
        extra[extra_key("auto_pad")] = StringAttr(window.auto_pad)
    name = g.part_name("Conv2D")
    y = g.add("Conv2D", (x, weight, node.optional(2)), attrs, name, extra=extra).results[0]
    return g.part("Squeeze", y, axis=[2]) if rank == 1 else y


def _check_shapes(node: Node, g: Builder, groups: int) -> None:
    """What ONNX demands and GE does not: the kernel's shape, and groups that fit exactly."""
    weight, x = g.shape(node.input(1)), g.shape(node.input(0))
    kernel = node.integers("kernel_shape")
    assert weight is not None
    if kernel is not None and (
        len(kernel) != len(weight) - 2
        or any(w not in (k, DYNAMIC) for k, w in zip(kernel, weight[2:], strict=True))
    ):
        node.fail(f"attribute 'kernel_shape' is {kernel}, expected {list(weight[2:])} as in W")
    if groups < 1:
        node.fail(f"attribute 'group' is {groups}, expected at least 1")
    if x is None or len(x) < 2 or DYNAMIC in (x[1], weight[1]):
        return
    if x[1] != weight[1] * groups:
        node.fail(
            f"the input has {x[1]} channels, expected {weight[1] * groups} "
            f"({weight[1]} in each of {groups} groups)"
        )


TABLE: dict[str, Converter] = {"Conv": conv}
