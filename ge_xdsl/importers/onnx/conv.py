"""ONNX convolutions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Attribute, SSAValue

from ge_xdsl.dialects.ge.op import extra_key
from ge_xdsl.dialects.ge.types import DYNAMIC, DataType
from ge_xdsl.importers.onnx.builder import Builder
from ge_xdsl.importers.onnx.node import Node
from ge_xdsl.importers.onnx.table import Converter
from ge_xdsl.importers.onnx.windows import Window, spans, spatial, window_of

FORMATS = {1: "NCHW", 2: "NCHW", 3: "NCDHW"}
"""Spatial dimensions -> the data_format of the GE op; one becomes two."""


def conv(node: Node, g: Builder) -> SSAValue:
    """Conv2D in NCHW or Conv3D in NCDHW; a 1-D one between Unsqueeze and Squeeze of dimension 2."""
    return convolution(node, g, node.input(0), node.input(1), node.optional(2))


def convolution(
    node: Node, g: Builder, x: SSAValue, weight: SSAValue, bias: SSAValue | None
) -> SSAValue:
    """The convolution with the node's attributes."""
    rank = spatial(node, g.rank(weight, node.op_type))
    window = window_of(node, rank)
    groups = node.integer("group", 1)
    _check_shapes(node, g, x, weight, groups)
    if rank == 1:
        x, weight = (g.part("Unsqueeze", value, axes=[2]) for value in (x, weight))
    extra: dict[str, Attribute] = {}
    if window.auto_pad != "NOTSET":
        extra[extra_key("auto_pad")] = StringAttr(window.auto_pad)
    op_type = "Conv3D" if rank == 3 else "Conv2D"
    attrs = _attrs(rank, window, groups)
    y = g.add(op_type, (x, weight, bias), attrs, g.part_name(op_type), extra=extra).results[0]
    return g.part("Squeeze", y, axis=[2]) if rank == 1 else y


def _attrs(rank: int, window: Window, groups: int) -> dict[str, Any]:
    wide = window.widened() if rank == 1 else window
    return {
        "strides": [1, 1, *wide.strides],
        "pads": wide.ge_pads(),
        "dilations": [1, 1, *wide.dilations],
        "groups": groups,
        "data_format": FORMATS[rank],
    }


def _check_shapes(node: Node, g: Builder, x: SSAValue, weight: SSAValue, groups: int) -> None:
    """What ONNX demands and GE does not: the kernel's shape, and groups that fit exactly."""
    filter_shape, shape = g.shape(weight), g.shape(x)
    assert filter_shape is not None
    check_kernel(node, filter_shape)
    if groups < 1:
        node.fail(f"attribute 'group' is {groups}, expected at least 1")
    if shape is None or len(shape) < 2 or DYNAMIC in (shape[1], filter_shape[1]):
        return
    if shape[1] != filter_shape[1] * groups:
        node.fail(
            f"the input has {shape[1]} channels, expected {filter_shape[1] * groups} "
            f"({filter_shape[1]} in each of {groups} groups)"
        )


def check_kernel(node: Node, shape: Sequence[int]) -> None:
    """The attribute `kernel_shape` is that of the weight."""
    kernel = node.integers("kernel_shape")
    if kernel is not None and (
        len(kernel) != len(shape) - 2
        or any(w not in (k, DYNAMIC) for k, w in zip(kernel, shape[2:], strict=True))
    ):
        node.fail(f"attribute 'kernel_shape' is {kernel}, expected {list(shape[2:])} as in W")


def conv_transpose(node: Node, g: Builder) -> SSAValue:
    """Conv2DTranspose or Conv3DTranspose with a Const input_size of zeros.

    SAME padding and `output_shape` become explicit pads, for which sizes have to be known.
    """
    x, weight, bias = node.input(0), node.input(1), node.optional(2)
    rank = spatial(node, g.rank(weight, node.op_type))
    shape = g.shape(weight)
    assert shape is not None
    check_kernel(node, shape)
    window, extra = _transposed_window(node, g, x, shape[2:], rank)
    groups = node.integer("group", 1)
    if rank == 1:
        x, weight = (g.part("Unsqueeze", value, axes=[2]) for value in (x, weight))
        extra = [0, *extra]
    op_type = "Conv3DTranspose" if rank == 3 else "Conv2DTranspose"
    size = g.helper([0] * (len(extra) + 2), "int32")
    attrs = {**_attrs(rank, window, groups), "output_padding": [0, 0, *extra]}
    y = g.part(op_type, size, x, weight, bias, **attrs)
    return g.part("Squeeze", y, axis=[2]) if rank == 1 else y


def _transposed_window(
    node: Node, g: Builder, x: SSAValue, kernel: Sequence[int], rank: int
) -> tuple[Window, list[int]]:
    """The window with explicit pads, and what is added at the end of each dimension."""
    window = window_of(node, rank)
    extra = node.integers("output_padding") or [0] * rank
    if len(extra) != rank or min(extra) < 0:
        node.fail(f"attribute 'output_padding' is {extra}, expected {rank} integers of at least 0")
    wanted = node.integers("output_shape")
    if wanted is None and not window.auto_pad.startswith("SAME"):
        return window, extra
    sizes = g.static_dims((g.shape(x) or ())[2:] or (DYNAMIC,), "a given output shape")
    if len(sizes) != rank:
        node.fail(f"the input is {g.tensor_text(x)}, expected rank {rank + 2}")
    lengths = spans(g.static_dims(kernel, "a given output shape"), window)
    if wanted is None:
        wanted = [n * s for n, s in zip(sizes, window.strides, strict=True)]
    wanted = wanted[-rank:]
    if len(wanted) != rank:
        node.fail(f"attribute 'output_shape' is {wanted}, expected {rank} integers")
    before: list[int] = []
    after: list[int] = []
    for k in range(rank):
        full = (sizes[k] - 1) * window.strides[k] + extra[k] + lengths[k]
        total = full - wanted[k]
        if total < 0:
            extra[k] -= total
        less, more = max(total, 0) // 2, max(total, 0) - max(total, 0) // 2
        upper = window.auto_pad == "SAME_UPPER"
        before.append(less if upper else more)
        after.append(more if upper else less)
    return Window(window.strides, window.dilations, [*before, *after], "NOTSET"), extra


def conv_integer(node: Node, g: Builder) -> SSAValue:
    """Conv2D or Conv3D of both operands less their zero points, in f32, cast to i32"""
    x = g.less_zero_point(node.input(0), node.optional(2), DataType.DT_FLOAT)
    weight = g.less_zero_point(node.input(1), node.optional(3), DataType.DT_FLOAT, 0)
    return g.cast(convolution(node, g, x, weight, None), DataType.DT_INT32)


def deform_conv(node: Node, g: Builder) -> SSAValue:
    """DeformableConv2D, whose offsets are all x offsets, all y offsets and all masks, one for each
    group and kernel element; ONNX has pairs (y, x), and the masks apart."""
    x, weight, offset = (node.input(k) for k in range(3))
    bias, mask = node.optional(3), node.optional(4)
    if g.rank(weight, "DeformConv") != 4:
        node.fail(f"the weight is {g.tensor_text(weight)}, expected rank 4 (2-D)")
    window = window_of(node, 2)
    groups, deformed = node.integer("group", 1), node.integer("offset_group", 1)
    _check_shapes(node, g, x, weight, groups)
    shape = g.static_dims(g.shape(offset) or (DYNAMIC,), "DeformConv")
    if len(shape) != 4 or shape[1] % 2:
        node.fail(f"the offsets are {g.tensor_text(offset)}, expected rank 4 and pairs of channels")
    batch, channels, *plane = shape
    pairs = g.part("Reshape", offset, g.helper([batch, channels // 2, 2, *plane], "int64"))
    down, right = (g.take(pairs, g.scalar(k, "int64"), 2) for k in range(2))
    if mask is None:
        mask = g.part("OnesLike", right)
    offsets = g.part("ConcatD", [right, down, mask], concat_dim=1, N=3)
    attrs = {**_attrs(2, window, groups), "deformable_groups": deformed}
    return g.part("DeformableConv2D", x, weight, offsets, bias, **attrs)


TABLE: dict[str, Converter] = {
    "Conv": conv,
    "ConvInteger": conv_integer,
    "ConvTranspose": conv_transpose,
    "DeformConv": deform_conv,
}
