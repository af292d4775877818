"""Gradients of convolutions in their filter, and sums of columns back into images."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from xdsl.ir import SSAValue

from ge_xdsl.dialects.ge.conv_gradient import DepthwiseGradient, FilterGradient
from ge_xdsl.dialects.ge.extents import ints_of
from ge_xdsl.dialects.ge.op import GeOp
from ge_xdsl.dialects.ge.unfold import Col2imOp, Col2ImV2Op
from ge_xdsl.dialects.ge.windows import Window
from ge_xdsl.lowering.expand.builder import Builder, Expansion
from ge_xdsl.lowering.expand.images import along
from ge_xdsl.lowering.expand.planes import as_planes, columns, padded, steps

if TYPE_CHECKING:
    from ge_xdsl.dialects.ge.types import Array

LARGEST_MATRIX = 1 << 22
"""Elements of the largest matrix that says where columns go."""


# Gradients in the filter


def filter_gradient(build: Builder, op: GeOp) -> SSAValue:
    """The sum over images of dy times what the windows have, in f32"""
    import numpy as np

    assert isinstance(op, FilterGradient)
    names = op.prototype.input_index
    x, dy = build.slot("x" if "x" in names else "input"), build.slot("out_backprop")
    assert x is not None
    assert dy is not None
    if "filter_size" in names:
        size = list(ints_of(build.known(build.slot("filter_size"), "filter_size")))
    else:
        size = list(op.get_attr("filter_size"))
    planes = build.wide(as_planes(build, x, op.data_format))
    grads = build.wide(as_planes(build, dy, op.data_format))
    if isinstance(op, DepthwiseGradient):
        high, wide, channels, many = size
        windows = op.windows(build.shape(x), (high, wide))
        dw = _gradient(build, planes, grads, windows, channels)
        dw = build.reshape(dw, [channels, many, high, wide])
        return build.like(build.transpose(dw, [2, 3, 0, 1]), op.results[0])
    axes = op.gradient_axes()
    windows = op.windows(build.shape(x), [size[axis] for axis in axes[2:]])
    dw = _gradient(build, planes, grads, windows, op.groups)
    return build.like(build.transpose(dw, [int(i) for i in np.argsort(axes)]), op.results[0])


def _gradient(
    build: Builder, x: SSAValue, dy: SSAValue, windows: tuple[Window, ...], groups: int
) -> SSAValue:
    """[Cout, Cin / groups, kernel...] of planes x and dy."""
    if len(windows) == 2:
        return _flat_gradient(build, x, dy, windows[0], windows[1], groups)
    depth, high, wide = windows
    x = padded(build, x, 2, [depth])
    images = build.shape(x)[0] * depth.count
    grads = _sheets(build, dy, images)
    parts: list[SSAValue] = []
    for tap in range(depth.kernel):
        part = steps(build, x, 2, tap * depth.dilation, depth.count, depth.stride)
        dw = _flat_gradient(build, _sheets(build, part, images), grads, high, wide, groups)
        out, each, kh, kw = build.shape(dw)
        parts.append(build.reshape(dw, [out, each, 1, kh, kw]))
    return build.concat(parts, 2)


def _sheets(build: Builder, x: SSAValue, images: int) -> SSAValue:
    """[N, C, D, H, W] as images [N * D, C, H, W]."""
    _, c, _, high, wide = build.shape(x)
    return build.reshape(build.transpose(x, [0, 2, 1, 3, 4]), [images, c, high, wide])


def _flat_gradient(
    build: Builder, x: SSAValue, dy: SSAValue, high: Window, wide: Window, groups: int
) -> SSAValue:
    """The same over height and width."""
    n, c = build.shape(x)[:2]
    out, pixels = build.shape(dy)[1], high.count * wide.count
    taps = high.kernel * wide.kernel
    found = columns(build, padded(build, x, 2, [high, wide]), high, wide)
    right = build.reshape(found, [n * groups, c // groups * taps, pixels])
    left = build.reshape(dy, [n * groups, out // groups, pixels])
    product = build("BatchMatMulV2", left, right, adj_x2=True)
    dw = build.reduce("Sum", build.reshape(product, [n, out * (c // groups) * taps]), [0])
    return build.reshape(dw, [out, c // groups, high.kernel, wide.kernel])


# Sums of columns


def fold(build: Builder, op: GeOp) -> SSAValue:
    """Columns turned to [.., kernel row, window row, kernel column, window column], then summed

    along each direction by a matrix that says where in the image they lie."""
    assert isinstance(op, Col2imOp | Col2ImV2Op)
    x, y = op.operands[0], op.results[0]
    size = ints_of(build.known(build.slot("output_size"), "output_size"))
    if isinstance(op, Col2ImV2Op):
        kernel = ints_of(build.known(build.slot("kernel_size"), "kernel_size"))
    else:
        kernel = op.kernel_size
    high, wide = op.places(size, kernel)
    n, c = build.shape(y)[:2]
    split = [n * c, high.kernel, wide.kernel, high.count, wide.count]
    turned = build.transpose(build.reshape(build.wide(x), split), [0, 1, 3, 2, 4])
    if all(w.kernel == w.stride and w.dilation == 1 and not w.before for w in (high, wide)) and (
        high.count * high.stride == size[0] and wide.count * wide.stride == size[1]
    ):
        blocks = build.transpose(build.reshape(x, split), [0, 3, 1, 4, 2])
        return build.like(blocks, y)
    rows = [n * c, high.kernel * high.count, wide.kernel * wide.count]
    found = along(build, build.reshape(turned, rows), 2, _places(build, wide, size[1]))
    return build.like(along(build, found, 1, _places(build, high, size[0])), y)


def _places(build: Builder, window: Window, size: int) -> Array:
    """[kernel * windows, size]: 1 where a kernel element of a window lies in the image."""
    import numpy as np

    if window.kernel * window.count * size > LARGEST_MATRIX:
        raise build.decline(f"for {window.count} windows over {size} elements")
    taps = np.arange(window.kernel)[:, None] * window.dilation
    place = (taps + np.arange(window.count) * window.stride - window.before).reshape(-1)
    inside = (place >= 0) & (place < size)
    matrix = np.zeros((prod(place.shape), size), np.float32)
    matrix[np.nonzero(inside)[0], place[inside]] = 1
    return matrix


EXPANSIONS: dict[str, Expansion] = {
    **dict.fromkeys(
        (
            *("Conv2DBackpropFilter", "Conv2DBackpropFilterD"),
            *("Conv3DBackpropFilter", "Conv3DBackpropFilterD", "Conv3DBackpropFilterV2"),
            *("DepthwiseConv2DBackpropFilter", "DepthwiseConv2DBackpropFilterD"),
        ),
        filter_gradient,
    ),
    **dict.fromkeys(("Col2im", "Col2ImV2"), fold),
}
