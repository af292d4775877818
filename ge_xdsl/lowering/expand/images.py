"""Resizes, transposed convolutions and other convolutions as products, gathers and Conv2D."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod
from typing import TYPE_CHECKING

from xdsl.ir import SSAValue

from ge_xdsl.dialects.ge.conv import GroupedConvolution
from ge_xdsl.dialects.ge.conv_geometry import ConvolutionGeometry
from ge_xdsl.dialects.ge.conv_transpose import Adjoint, DepthwiseAdjoint
from ge_xdsl.dialects.ge.op import GeOp, constant_of
from ge_xdsl.dialects.ge.resampling import Taps, coordinates, linear_taps, nearest_taps
from ge_xdsl.dialects.ge.resize import ImageResize, KeepRatioResizeBilinearOp, ResizeOp
from ge_xdsl.dialects.ge.types import HALVES, DataType, tensor_of
from ge_xdsl.dialects.ge.windows import Window
from ge_xdsl.lowering.expand.builder import Builder, Expansion
from ge_xdsl.lowering.expand.planes import as_planes, columns, from_planes, steps, view

if TYPE_CHECKING:
    from ge_xdsl.dialects.ge.types import Array


FEW = 1
"""Numbers in a column of a matrix up to which gathers beat a product."""
LONG_KERNEL = 16
"""Columns of a kernel beyond which its rows make longer runs than windows that are apart."""
MANY = 32
"""Numbers in a column of a matrix up to which gathers take the place of a product."""

# Resizes


def resampled(build: Builder, x: SSAValue, axis: int, taps: Taps) -> SSAValue:
    """A dimension resampled: by a gather for one tap, else a product with the taps' matrix."""
    import numpy as np

    size, count = build.shape(x)[axis], taps.index.shape[0]
    if taps.index.shape[1] == 1:
        places = build.array(taps.index[:, 0].astype(np.int32))
        return build("GatherV2", x, places, [axis])
    matrix = np.zeros((size, count), np.float32)
    for tap in range(taps.index.shape[1]):
        place = (taps.index[:, tap], np.asarray(range(count)))
        np.add.at(matrix, place, taps.weight[:, tap])
    return along(build, x, axis, matrix)


def along(build: Builder, x: SSAValue, axis: int, matrix: Array) -> SSAValue:
    """Each row of a dimension times an f32 matrix [size, count].

    Where few of its numbers count, or the chip has no such products: gathered, weighted, added.
    """
    import numpy as np

    most = int((matrix != 0).sum(axis=0).max())
    if most <= FEW or (most <= MANY and not build.multiplies(DataType.DT_FLOAT)):
        return _gathered(build, x, axis, matrix, most)
    shape = build.shape(x)
    size, count = matrix.shape
    lead, tail = prod(shape[:axis]), prod(shape[axis + 1 :])
    out = (*shape[:axis], count, *shape[axis + 1 :])
    if tail == 1:
        flat = build.reshape(x, [lead, size])
        return build.reshape(build("MatMulV2", flat, build.array(matrix)), out)
    left = build.array(np.ascontiguousarray(matrix.T)[None])
    flat = build.reshape(x, [lead, size, tail])
    return build.reshape(build("BatchMatMulV2", left, flat), out)


def _gathered(build: Builder, x: SSAValue, axis: int, matrix: Array, most: int) -> SSAValue:
    """The sum of `most` gathers along a dimension, each times its row of weights."""
    import numpy as np

    shape = [1] * len(build.shape(x))
    shape[axis] = matrix.shape[1]
    places = np.argsort(matrix == 0, axis=0, kind="stable")[:most]
    weights = np.take_along_axis(matrix, places, axis=0)
    found: SSAValue | None = None
    for place, weight in zip(places, weights, strict=True):
        part = build("GatherV2", x, build.array(place.astype(np.int32)), [axis])
        if (weight != 1).any():
            part = build("Mul", part, build.array(weight.reshape(shape)))
        found = part if found is None else build("Add", found, part)
    assert found is not None
    return found


def resize(build: Builder, op: GeOp) -> SSAValue:
    """ONNX Resize, one axis after the other."""
    assert isinstance(op, ResizeOp)
    x, y = op.operands[0], op.results[0]
    known = {
        name: build.known(slot, name) if (slot := build.slot(name)) is not None else None
        for name in ("roi", "scales", "sizes")
    }
    if op.coordinate_transformation_mode == "tf_crop_and_resize":
        raise build.decline("for tf_crop_and_resize")
    wide = x if op.mode == "nearest" else build.wide(x)
    for place, axis in enumerate(op.axes(build.shape(x), *known.values())):
        if axis.size != axis.count or axis.scale != 1:
            position = coordinates(axis, op.coordinate_transformation_mode)
            wide = resampled(build, wide, place, op.taps(position, axis.size))
    return build.like(wide, y)


def image_resize(build: Builder, op: GeOp) -> SSAValue:
    """ResizeBilinearV2, ResizeNearestNeighborV2 and their forms."""
    assert isinstance(op, ImageResize)
    x, y = op.operands[0], op.results[0]
    linear = "Bilinear" in op.op_type
    if "scales" in op.prototype.attr_by_name and any(op.get_attr("scales")):
        raise build.decline("with scales set")
    wide = build.cast(x, DataType.DT_FLOAT) if linear else x
    for axis in op.spatial():
        size, count = build.shape(x)[axis], build.shape(y)[axis]
        if linear:
            taps = linear_taps(op.sources(size, count), size)
        else:
            position = op.nearest_sources(size, count).astype("float32")
            taps = nearest_taps(position, size, "floor")
        if size != count or linear:
            wide = resampled(build, wide, axis, taps)
    return build.like(wide, y)


def nearest_grad(build: Builder, op: GeOp) -> SSAValue:
    """The gradient of a nearest resize: each element added where it was read."""
    import numpy as np

    assert isinstance(op, ImageResize)
    x, y = op.operands[0], op.results[0]
    wide = build.wide(x)
    for axis in op.spatial():
        size, count = build.shape(x)[axis], build.shape(y)[axis]
        matrix = np.zeros((size, count), np.float32)
        matrix[np.arange(size), op.nearest_sources(count, size)] = 1
        wide = along(build, wide, axis, matrix)
    return build.like(wide, y)


def keep_ratio(build: Builder, op: GeOp) -> SSAValue:
    assert isinstance(op, KeepRatioResizeBilinearOp)
    return image_resize(build, op)


# Convolutions


def conv2d(
    build: Builder,
    x: SSAValue,
    weight: SSAValue,
    windows: Sequence[Window],
    groups: int = 1,
    bias: SSAValue | None = None,
) -> SSAValue:
    """Conv2D of NCHW planes with a filter [Cout, Cin / groups, kh, kw]; negative pads cut x."""
    shape = list(build.shape(x))
    pads: list[int] = []
    for i, w in enumerate(windows):
        size, reach = shape[2 + i], (w.count - 1) * w.stride + w.span
        before, after = w.before, reach - w.before - size
        start, stop = max(-before, 0), size - max(-after, 0)
        x = build.slice(x, 2 + i, start, stop - start)
        pads += [max(before, 0), max(after, 0)]
    return build(
        "Conv2D",
        x,
        weight,
        bias,
        strides=[1, 1, *(w.stride for w in windows)],
        dilations=[1, 1, *(w.dilation for w in windows)],
        pads=pads,
        groups=groups,
        data_format="NCHW",
    )


def _filter(build: Builder, value: SSAValue, axes: Sequence[int]) -> SSAValue:
    """A filter as [Cout, Cin, kernel...], turned at compile time when it is known."""
    return build.transpose(value, axes)


def convolution(build: Builder, op: GeOp) -> SSAValue:
    """NHWC, channel multipliers, three dimensions and filters that are not constant."""
    assert isinstance(op, ConvolutionGeometry)
    x, w, *bias = op.operands[:3]
    shape = build.shape(x)
    stored = tensor_of(w.type)
    axes = op.filter_axes(stored)
    out, depth, *kernel = (build.shape(w)[i] for i in axes)
    inputs = shape[op.data_format.index("C")]
    windows = op.windows(shape, kernel)
    if op.op_type == "DepthwiseConv2D":
        # [K, C, kh, kw] -> [C * K, 1, kh, kw]
        weight = _filter(build, w, [axes[1], axes[0], *axes[2:]])
        weight, groups = build.reshape(weight, [out * depth, 1, *kernel]), inputs
    else:
        assert isinstance(op, GroupedConvolution)
        weight, groups = _filter(build, w, axes), op.group_count(inputs, depth)
    planes = as_planes(build, x, op.data_format)
    if len(kernel) == 3:
        y = _by_depth(build, planes, weight, windows, groups, bias[0] if bias else None)
    elif constant_of(weight) is None or (op.op_type == "Conv2D" and op.data_format == "NCHW"):
        y = by_columns(build, planes, weight, windows, groups, bias[0] if bias else None)
    else:
        y = conv2d(build, planes, weight, windows, groups, bias[0] if bias else None)
    y = from_planes(build, y, op.data_format)
    y = build("Relu", y) if op.op_type.endswith("ReLU") else y
    return build.like(y, op.results[0])


def _by_depth(
    build: Builder,
    x: SSAValue,
    weight: SSAValue,
    windows: Sequence[Window],
    groups: int,
    bias: SSAValue | None,
) -> SSAValue:
    """Three dimensions: the taps along depth side by side as channels of two-dimensional maps."""
    depth, *rest = windows
    images, channels, size, high, wide = build.shape(x)
    out, each, taps, kh, kw = build.shape(weight)
    if depth.before or (depth.count - 1) * depth.stride + depth.span > size + depth.before:
        after = max((depth.count - 1) * depth.stride + depth.span - depth.before - size, 0)
        x = build(
            "Pad",
            x,
            build.const([[0, 0], [0, 0], [depth.before, after], [0, 0], [0, 0]], DataType.DT_INT64),
        )
    parts: list[SSAValue] = []
    for tap in range(taps):
        start = tap * depth.dilation
        part = steps(build, x, 2, start, depth.count, depth.stride)
        parts.append(
            build.reshape(
                build.transpose(part, [0, 2, 1, 3, 4]),
                [images * depth.count, groups, channels // groups, high, wide],
            )
        )
    stacked = build.concat(parts, 2)
    maps = build.reshape(stacked, [images * depth.count, channels * taps, high, wide])
    turned = build.transpose(weight, [0, 2, 1, 3, 4])
    turned = build.reshape(turned, [out, taps * each, kh, kw])
    y = conv2d(build, maps, turned, rest, groups, bias)
    _, _, oh, ow = build.shape(y)
    return build.transpose(build.reshape(y, [images, depth.count, out, oh, ow]), [0, 2, 1, 3, 4])


def by_columns(
    build: Builder,
    x: SSAValue,
    weight: SSAValue,
    windows: Sequence[Window],
    groups: int,
    bias: SSAValue | None,
) -> SSAValue:
    """A product with the im2col matrix, which is written out: for any filter and map.

    Its rows are windows where that gives the longer runs, else its columns are.
    """
    high, wide = windows
    pads = [[0, 0], [0, 0]]
    for i, w in enumerate(windows):
        reach = (w.count - 1) * w.stride + w.span
        pads.append([w.before, max(reach - w.before - build.shape(x)[2 + i], 0)])
    if any(map(any, pads)):
        x = build("Pad", x, build.const(pads, DataType.DT_INT64))
    apart = wide.stride > 1 and wide.kernel > LONG_KERNEL
    by_rows = groups == 1 and (apart or wide.kernel > wide.count)
    call = _window_rows if by_rows else _window_columns
    y = call(build, x, weight, high, wide, groups, bias)
    return build.cast(y, build.dtype(x)) if build.dtype(x) in HALVES else y


def _strides(build: Builder, x: SSAValue, high: Window, wide: Window) -> dict[str, tuple[int, int]]:
    """The sizes and strides of a window's dimensions in planes: c and taps, and pixels."""
    _, channels, rows, cols = build.shape(x)
    return {
        "c": (channels, rows * cols),
        "u": (high.kernel, high.dilation * cols),
        "v": (wide.kernel, wide.dilation),
        "i": (high.count, high.stride * cols),
        "j": (wide.count, wide.stride),
    }


def _window_rows(
    build: Builder,
    x: SSAValue,
    weight: SSAValue,
    high: Window,
    wide: Window,
    groups: int,
    bias: SSAValue | None,
) -> SSAValue:
    """[pixels, C kh kw] times the turned filter, then turned to planes."""
    images, out = build.shape(x)[0], build.shape(weight)[0]
    known = _strides(build, x, high, wide)
    depth = prod(build.shape(weight)[1:])
    image = (images, prod(build.shape(x)[1:]))
    rows = view(build, x, [image, *(known[k] for k in "ijcuv")])
    pixels = high.count * wide.count
    rows = build.reshape(rows, [images * pixels, depth])
    right = build.reshape(weight, [out, depth])
    if bias is not None and build.dtype(bias) == DataType.DT_BF16:
        bias = build.cast(bias, DataType.DT_FLOAT)
    y = build("MatMulV2", rows, right, bias, transpose_x2=True)
    planes = build.transpose(build.reshape(y, [images, pixels, out]), [0, 2, 1])
    return build.reshape(planes, [images, out, high.count, wide.count])


def _window_columns(
    build: Builder,
    x: SSAValue,
    weight: SSAValue,
    high: Window,
    wide: Window,
    groups: int,
    bias: SSAValue | None,
) -> SSAValue:
    """The filter times [C kh kw, pixels], for each image and group, in f32."""
    images, out = build.shape(x)[0], build.shape(weight)[0]
    depth = prod(build.shape(weight)[1:])
    shape = [images, groups, depth, high.count * wide.count]
    found = build.reshape(columns(build, x, high, wide), shape)
    left = build.reshape(weight, [1, groups, out // groups, depth])
    if images > 1 and groups > 1:
        left = build.spread(left, [images, groups, out // groups, depth])
    y = build("BatchMatMulV2", build.wide(left), build.wide(found))
    y = build.reshape(y, [images, out, high.count, wide.count])
    if bias is not None:
        y = build("Add", y, build.reshape(build.wide(bias), [1, out, 1, 1]))
    return y


def transposed(build: Builder, op: GeOp) -> SSAValue:
    """The adjoint of a convolution: zeros between the pixels of x, then a turned filter."""
    assert isinstance(op, Adjoint)
    names = op.prototype.input_index
    dy = build.slot("x") if "x" in names else build.slot("out_backprop")
    w, bias = build.slot("filter"), build.slot("bias") if "bias" in names else None
    assert dy is not None
    assert w is not None
    weight, groups = _forward_weight(build, op, w)
    size = _input_size(build, op)
    windows, sizes = op.placed(build.shape(dy), build.shape(weight)[2:], size)
    planes = as_planes(build, dy, op.data_format)
    if (
        groups == 1
        and len(windows) == 2
        and all(w.kernel == w.stride and w.dilation == 1 for w in windows)
        and all(
            w.before == 0 and n == w.count * w.stride for w, n in zip(windows, sizes, strict=True)
        )
    ):
        y = _by_blocks(build, planes, weight)
    else:
        y = _by_zeros(build, planes, weight, windows, sizes, groups)
    if bias is not None:
        y = build(
            "Add",
            build.wide(y),
            build.reshape(build.wide(bias), [1, build.count(bias), *(1 for _ in windows)]),
        )
        y = build.cast(y, build.dtype(op.results[0]))
    y = from_planes(build, y, op.data_format)
    return build.like(y, op.results[0])


def _forward_weight(build: Builder, op: Adjoint, w: SSAValue) -> tuple[SSAValue, int]:
    """The filter as [Cout, Cin / groups, kernel...], and the groups."""
    if isinstance(op, DepthwiseAdjoint):
        high, wide, channels, many = build.shape(w)
        turned = build.transpose(w, [2, 3, 0, 1])
        return build.reshape(turned, [channels * many, 1, high, wide]), channels
    return build.transpose(w, op.filter_axes(tensor_of(w.type))), op.groups


def _input_size(build: Builder, op: Adjoint) -> list[int]:
    if "input_size" in op.prototype.input_index:
        return [int(v) for v in build.known(build.slot("input_size"), "input_size").reshape(-1)]
    if "input_size" in op.prototype.attr_by_name:
        return list(op.get_attr("input_size"))
    return [0] * len(op.data_format)


def _by_blocks(build: Builder, x: SSAValue, weight: SSAValue) -> SSAValue:
    """Windows that do not overlap: each pixel times the filter gives its own block of y."""
    images, out, high, wide = build.shape(x)
    _, depth, kh, kw = build.shape(weight)
    left = build.transpose(build.reshape(weight, [out, depth * kh * kw]), [1, 0])
    flat = build.reshape(x, [images, out, high * wide])
    lead = build.reshape(left, [1, depth * kh * kw, out])
    y = build("BatchMatMulV2", lead, flat)
    split = build.reshape(y, [images, depth, kh, kw, high, wide])
    turned = build.transpose(split, [0, 1, 4, 2, 5, 3])
    return build.reshape(turned, [images, depth, high * kh, wide * kw])


def _by_zeros(
    build: Builder,
    x: SSAValue,
    weight: SSAValue,
    windows: Sequence[Window],
    sizes: Sequence[int],
    groups: int,
) -> SSAValue:
    """y[i] = sum of z[i + before - k d] w[k], z being x with stride - 1 zeros between pixels."""
    images, out, *counts = build.shape(x)
    strides = [w.stride for w in windows]
    if any(s > 1 for s in strides):
        split = [images, out, *(d for n in counts for d in (n, 1))]
        pads = [[0, 0], [0, 0], *(pair for s in strides for pair in ([0, 0], [0, s - 1]))]
        spread = build("Pad", build.reshape(x, split), build.const(pads, DataType.DT_INT64))
        sizes_apart = [n * s for n, s in zip(counts, strides, strict=True)]
        x = build.reshape(spread, [images, out, *sizes_apart])
        for axis, (n, s) in enumerate(zip(counts, strides, strict=True)):
            x = build.slice(x, 2 + axis, 0, (n - 1) * s + 1)
    each, (depth, *kernel) = out // groups, build.shape(weight)[1:]
    spatial = list(range(len(kernel)))
    turned = build.flip(weight, [2 + i for i in spatial])
    turned = build.reshape(turned, [groups, each, depth, *kernel])
    turned = build.transpose(turned, [0, 2, 1, *(3 + i for i in spatial)])
    turned = build.reshape(turned, [groups * depth, each, *kernel])
    inner = [
        Window(w.kernel, 1, w.dilation, w.span - 1 - w.before, 0, n)
        for w, n in zip(windows, sizes, strict=True)
    ]
    if len(kernel) == 2:
        return conv2d(build, x, turned, inner, groups)
    cut = max(-inner[0].before, 0)
    x = build.slice(x, 2, cut, build.shape(x)[2] - cut)
    inner[0] = replace(inner[0], before=max(inner[0].before, 0))
    return _by_depth(build, x, turned, inner, groups, None)


EXPANSIONS: dict[str, Expansion] = {
    "Resize": resize,
    **dict.fromkeys(
        (
            *("ResizeBilinearV2", "ResizeBilinearV2D"),
            *("ResizeNearestNeighborV2", "ResizeNearestNeighborV2D"),
        ),
        image_resize,
    ),
    "KeepRatioResizeBilinear": keep_ratio,
    "ResizeNearestNeighborV2Grad": nearest_grad,
    **dict.fromkeys(
        (
            *("Conv2D", "DepthwiseConv2D", "FusedConv2D_BiasAdd_ReLU", "Conv2DV2"),
            *("Conv3D", "Conv3DV2"),
        ),
        convolution,
    ),
    **dict.fromkeys(
        (
            *("Conv2DTranspose", "Conv2DTransposeD", "Deconvolution"),
            *("Conv2DBackpropInput", "Conv2DBackpropInputD"),
            *("DepthwiseConv2DBackpropInput", "DepthwiseConv2DBackpropInputD"),
            *("Conv3DTranspose", "Conv3DTransposeD", "Conv3DTransposeV2"),
            *("Conv3DBackpropInput", "Conv3DBackpropInputD", "Conv3DBackpropInputV2"),
        ),
        transposed,
    ),
}
