"""Pools as two-dimensional pools, kernel taps and products with matrices; their gradients."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING, Any

from xdsl.ir import SSAValue

from ge_xdsl.dialects.ge.extents import ints_of
from ge_xdsl.dialects.ge.op import GeOp
from ge_xdsl.dialects.ge.pool import PoolGeometry, divisors
from ge_xdsl.dialects.ge.pool_3d import (
    AvgPool1DDOp,
    AvgPool1DOp,
    GlobalLpPoolOp,
    Pool3DGeometry,
    PoolingOp,
)
from ge_xdsl.dialects.ge.pool_adaptive import (
    AdaptiveAvgPool2dGradOp,
    AdaptiveAvgPool2dOp,
    AdaptiveAvgPool3dOp,
    weights,
)
from ge_xdsl.dialects.ge.types import DataType
from ge_xdsl.dialects.ge.windows import Window, spatial_axes
from ge_xdsl.lowering.expand.builder import Builder, Expansion
from ge_xdsl.lowering.expand.images import along
from ge_xdsl.lowering.expand.planes import as_planes, from_planes, padded, steps
from ge_xdsl.lowering.expand.terms import term
from ge_xdsl.lowering.pool import MOST_TAPS

if TYPE_CHECKING:
    from ge_xdsl.dialects.ge.types import Array

LOWEST = float("-inf")
"""What a maximum is padded with."""
FEW_TAPS = 9
"""Elements of a window over one dimension that is read element by element."""
SMALL_PLANE = 1024
"""Elements of the largest plane that is taken as a row of a matrix."""
LARGEST_MATRIX = 1 << 22
"""Elements of the largest matrix of weights along one dimension."""

Tap = tuple[tuple[int, ...], SSAValue]
"""A kernel element, and what all windows have there."""


# Maxima and sums of windows


def pooled(build: Builder, x: SSAValue, windows: Sequence[Window], kind: str) -> SSAValue:
    """`kind` (Max or Sum) of windows over the last dimensions of planes [N, C, ...]."""
    *deep, high, wide = windows
    shape = build.shape(x)
    images = (shape[0], prod(shape[1:-2]))
    flat = build.reshape(x, [*images, *shape[-2:]])
    found = _in_planes(build, flat, (high, wide), kind)
    found = build.reshape(found, [*shape[:-2], high.count, wide.count])
    for i, window in enumerate(deep):
        found = _along_depth(build, found, 2 + i, window, kind)
    return found


def _in_planes(build: Builder, x: SSAValue, windows: tuple[Window, Window], kind: str) -> SSAValue:
    """Windows over height and width: the pool that has a kernel, or taps when they are dilated."""
    shape = build.shape(x)
    single = all(w.kernel == w.stride == 1 and not w.before for w in windows)
    if single and tuple(w.count for w in windows) == shape[2:]:
        return x
    if _whole(windows, shape[2:]):
        return build.reduce(kind, x, [2, 3])
    high, wide = windows
    taps = high.kernel * wide.kernel
    if high.kernel > 1 and wide.kernel > 1 and taps > MOST_TAPS:
        rows = Window(1, count=shape[2])
        columns = Window(1, count=wide.count)
        return _in_planes(build, _in_planes(build, x, (rows, wide), kind), (high, columns), kind)
    if any(w.dilation > 1 for w in windows):
        return _combined(build, taps_of(build, x, windows, _fill(kind)), kind)
    pads: list[int] = []
    for i, w in enumerate(windows):
        after = (w.count - 1) * w.stride + w.span - w.before - shape[2 + i]
        x = build.slice(x, 2 + i, 0, shape[2 + i] + min(after, 0))
        pads += [w.before, max(after, 0)]
    attrs: dict[str, Any] = {
        "ksize": [1, 1, *(w.kernel for w in windows)],
        "strides": [1, 1, *(w.stride for w in windows)],
        "padding_mode": "CALCULATED",
        "pads": pads,
        "data_format": "NCHW",
    }
    if kind == "Max":
        return build("MaxPoolV3", x, **attrs)
    return build("AvgPoolV2", x, exclusive=False, divisor_override=1, **attrs)


def _along_depth(build: Builder, x: SSAValue, axis: int, window: Window, kind: str) -> SSAValue:
    """Windows over one more dimension: whole planes combined."""
    line = padded(build, x, axis, [window], _fill(kind))
    parts = [
        ((t,), steps(build, line, axis, t * window.dilation, window.count, window.stride))
        for t in range(window.kernel)
    ]
    return _combined(build, parts, kind)


def _fill(kind: str) -> float:
    return LOWEST if kind == "Max" else 0.0


def _combined(build: Builder, parts: Sequence[Tap], kind: str) -> SSAValue:
    """The maximum or sum of all taps."""
    found = parts[0][1]
    for _, part in parts[1:]:
        found = build("Maximum" if kind == "Max" else "Add", found, part)
    return found


def taps_of(build: Builder, x: SSAValue, windows: Sequence[Window], fill: float) -> list[Tap]:
    """What windows over the dimensions after the second have at each kernel element, in order."""
    if prod(w.kernel for w in windows) > MOST_TAPS:
        raise build.decline(f"for windows of more than {MOST_TAPS} elements")
    found: list[Tap] = [((), padded(build, x, 2, windows, fill))]
    for i, w in reversed(list(enumerate(windows))):
        found = [
            ((t, *tap), steps(build, part, 2 + i, t * w.dilation, w.count, w.stride))
            for t in range(w.kernel)
            for tap, part in found
        ]
    return sorted(found, key=lambda item: item[0])


def averaged(
    build: Builder,
    x: SSAValue,
    windows: Sequence[Window],
    padding_counts: bool,
    divisor: int = 0,
) -> SSAValue:
    """The mean of windows over the dimensions of planes, in f32 for half floats."""
    sizes = build.shape(x)[2:]
    sums = pooled(build, build.wide(x), windows, "Sum")
    return _over(build, sums, windows, sizes, padding_counts, divisor)


def _over(
    build: Builder,
    x: SSAValue,
    windows: Sequence[Window],
    sizes: Sequence[int],
    padding_counts: bool,
    divisor: int,
) -> SSAValue:
    """Values of windows over their divisors."""
    table = divisors(windows, sizes, padding_counts)
    if divisor or (table == table.reshape(-1)[0]).all():
        number = divisor or int(table.reshape(-1)[0])
        return x if number == 1 else build("Muls", x, value=1 / number)
    factors = build.array((1 / table).astype("float32")[None, None])
    return build("Mul", x, factors)


def flat_pool(build: Builder, op: GeOp) -> SSAValue:
    """Pools of NHWC images, and of whole planes."""
    assert isinstance(op, PoolGeometry)
    x, y = op.operands[0], op.results[0]
    windows = op.windows(build.shape(x))
    planes = as_planes(build, x, op.data_format)
    if build.dtype(x) in (DataType.DT_INT8, DataType.DT_UINT8) and "Max" in op.op_type:
        planes = build.cast(planes, DataType.DT_FLOAT16)
    elif op.data_format == "NCHW" and not _in_steps(windows, build.shape(x)[2:]):
        raise build.decline("for windows of this size, or for this element type")
    if "Max" in op.op_type:
        found = pooled(build, planes, windows, "Max")
    else:
        names = op.prototype.attr_by_name
        counts = "exclusive" in names and not op.get_attr("exclusive")
        divisor = op.get_attr("divisor_override") if "divisor_override" in names else 0
        found = averaged(build, planes, windows, counts, divisor)
    return build.like(from_planes(build, found, op.data_format), y)


def _in_steps(windows: Sequence[Window], sizes: Sequence[int]) -> bool:
    """Whether windows are whole planes, or too large for a kernel to take them at once."""
    if _whole(windows, sizes):
        return True
    return min(w.kernel for w in windows) > 1 and prod(w.kernel for w in windows) > MOST_TAPS


def _whole(windows: Sequence[Window], sizes: Sequence[int]) -> bool:
    """Whether there is one window, which is the plane."""
    pairs = zip(windows, sizes, strict=True)
    return all(w.kernel == n and w.count == 1 and not w.before for w, n in pairs)


def pool_3d(build: Builder, op: GeOp) -> SSAValue:
    """MaxPool3D, AvgPool3D and AvgPool3DD."""
    assert isinstance(op, Pool3DGeometry)
    x, y = op.operands[0], op.results[0]
    planes = as_planes(build, x, op.data_format)
    windows = op.windows(build.shape(x))
    if "Max" in op.op_type:
        found = pooled(build, planes, windows, "Max")
    else:
        found = averaged(
            build, planes, windows, _padding_counts(op), op.get_attr("divisor_override")
        )
    return build.like(from_planes(build, found, op.data_format), y)


def _padding_counts(op: GeOp) -> bool:
    """Whether a divisor counts padding."""
    names = op.prototype.attr_by_name
    if "count_include_pad" in names:
        same = isinstance(op, Pool3DGeometry) and op.mode() == "SAME"
        return bool(op.get_attr("count_include_pad")) and not same
    return "exclusive" in names and not op.get_attr("exclusive")


def pool_1d(build: Builder, op: GeOp) -> SSAValue:
    """Windows over the last dimension, as over a plane of one row."""
    assert isinstance(op, AvgPool1DOp | AvgPool1DDOp)
    x, y = op.operands[0], op.results[0]
    size = build.shape(x)[-1]
    window = op.window(size)
    flat = build.reshape(build.wide(x), [1, build.count(x) // size, size])
    if window.kernel <= FEW_TAPS:
        sums = _combined(build, taps_of(build, flat, [window], 0.0), "Sum")
    else:
        planes = build.reshape(flat, [1, build.count(x) // size, 1, size])
        sums = pooled(build, planes, (Window(1, count=1), window), "Sum")
    if isinstance(op, AvgPool1DDOp):
        sums = build("Mul", build.reshape(sums, build.shape(y)), build.wide(op.operands[1]))
        return build.like(sums, y)
    table = divisors((window,), (size,), op.count_include_pad)
    return build.like(build("Mul", sums, build.array((1 / table).astype("float32"))), y)


def caffe(build: Builder, op: GeOp) -> SSAValue:
    """Pooling"""
    assert isinstance(op, PoolingOp)
    x, y = op.operands[0], op.results[0]
    windows = op.windows(build.shape(x))
    planes = as_planes(build, x, op.data_format)
    if op.mode == 0:
        found = pooled(build, planes, windows, "Max")
    else:
        found = averaged(build, planes, windows, True)
    return build.like(from_planes(build, found, op.data_format), y)


def lp_pool(build: Builder, op: GeOp) -> SSAValue:
    """(sum |x|^p)^(1/p) of each plane"""
    assert isinstance(op, GlobalLpPoolOp)
    x = term(build, op.operands[0])
    axes = list(range(2, len(x.shape)))
    if op.p == 2:
        found = x.square().sum(axes).sqrt()
    elif op.p == 1:
        found = x.abs().sum(axes)
    else:
        found = x.abs().call("Pow", op.p).sum(axes).call("Pow", 1 / op.p)
    return found.like(op.results[0])


# Gradients of means


def mean_gradient(build: Builder, op: GeOp) -> SSAValue:
    """Each gradient over its divisor, added up along each dimension by a matrix of zeros and ones.

    The matrix of a dimension has a row per window, with ones where the window lies.
    """
    assert isinstance(op, PoolGeometry | Pool3DGeometry)
    names = op.prototype.input_index
    grad = build.slot("input_grad" if "input_grad" in names else "grads")
    assert grad is not None
    if "orig_input_shape" in op.prototype.input_index:
        known = build.known(build.slot("orig_input_shape"), "orig_input_shape")
        shape = list(ints_of(known))
    else:
        shape = list(op.get_attr("orig_input_shape"))
    windows = op.windows(shape)
    sizes = [shape[axis] for axis in spatial_axes(op.data_format)]
    names = op.prototype.attr_by_name
    divisor = op.get_attr("divisor_override") if "divisor_override" in names else 0
    dx = build.wide(as_planes(build, grad, op.data_format))
    dx = _over(build, dx, windows, sizes, _padding_counts(op), divisor)
    matrices = [_cover(build, w, size) for w, size in zip(windows, sizes, strict=True)]
    dx = _spread(build, dx, range(2, 2 + len(sizes)), matrices)
    return build.like(from_planes(build, dx, op.data_format), op.results[0])


def _cover(build: Builder, window: Window, size: int) -> Array:
    """[count, size]: how often window j has element i."""
    import numpy as np

    if window.count * size > LARGEST_MATRIX:
        raise build.decline(f"for {window.count} windows over {size} elements")
    matrix = np.zeros((window.count, size), np.float32)
    rows = np.arange(window.count)
    for tap in range(window.kernel):
        place = rows * window.stride + tap * window.dilation - window.before
        inside = (place >= 0) & (place < size)
        matrix[rows[inside], place[inside]] += 1
    return matrix


def _spread(
    build: Builder, x: SSAValue, axes: Sequence[int], matrices: Sequence[Array]
) -> SSAValue:
    """Dimensions times a matrix each: small planes by one product with all of them."""
    import numpy as np

    shape = build.shape(x)
    sizes, counts = (prod(m.shape[i] for m in matrices) for i in (0, 1))
    last = list(axes) == list(range(len(shape) - len(matrices), len(shape)))
    if last and max(sizes, counts) <= SMALL_PLANE and build.multiplies(DataType.DT_FLOAT):
        whole = matrices[0]
        for matrix in matrices[1:]:
            whole = np.kron(whole, matrix)
        flat = build.reshape(x, [build.count(x) // sizes, sizes])
        y = build("MatMulV2", flat, build.array(whole))
        return build.reshape(y, [*shape[: axes[0]], *(m.shape[1] for m in matrices)])
    for axis, matrix in zip(axes, matrices, strict=True):
        square = matrix.shape[0] == matrix.shape[1]
        if not (square and (matrix == np.eye(matrix.shape[0])).all()):
            x = along(build, x, axis, matrix)
    return x


# Adaptive pools


def adaptive_mean(build: Builder, op: GeOp) -> SSAValue:
    """Equal windows as a pool, others as products with their weights."""
    assert isinstance(op, AdaptiveAvgPool2dOp | AdaptiveAvgPool3dOp)
    x = op.operands[0]
    shape = build.shape(x)
    axes = op.spatial(len(shape))
    pairs = [(shape[a], n) for a, n in zip(axes, op.output_size, strict=True)]
    wide = build.wide(x)
    if all(n == 1 for _, n in pairs):
        return build.like(build.reduce("Mean", wide, axes), op.results[0])
    for size, count in pairs:
        _small(build, size, count)
    matrices = [weights(size, count, "float32") for size, count in pairs]
    return build.like(_spread(build, wide, axes, matrices), op.results[0])


def adaptive_gradient(build: Builder, op: GeOp) -> SSAValue:
    """Each gradient spread evenly: products with the weights, turned."""
    import numpy as np

    assert isinstance(op, AdaptiveAvgPool2dGradOp)
    grad = build.wide(op.operands[0])
    rank = len(build.shape(grad))
    matrices: list[Array] = []
    for size, count in zip(op.orig_input_shape[-2:], build.shape(grad)[-2:], strict=True):
        _small(build, size, count)
        matrices.append(np.ascontiguousarray(weights(size, count, "float32").T))
    grad = _spread(build, grad, [rank - 2, rank - 1], matrices)
    return build.like(grad, op.results[0])


def _small(build: Builder, size: int, count: int) -> None:
    if size * count > LARGEST_MATRIX:
        raise build.decline(f"for {count} windows over {size} elements")


EXPANSIONS: dict[str, Expansion] = {
    **dict.fromkeys(("MaxPool", "MaxPoolV3", "AvgPool", "AvgPoolV2"), flat_pool),
    **dict.fromkeys(("MaxPool3D", "AvgPool3D", "AvgPool3DD"), pool_3d),
    **dict.fromkeys(("AvgPool1D", "AvgPool1DD"), pool_1d),
    "Pooling": caffe,
    "GlobalLpPool": lp_pool,
    **dict.fromkeys(
        (
            *("AvgPoolGrad", "AvgPoolV2Grad", "AvgPoolV2GradD"),
            *("AvgPool3DGrad", "AvgPool3DGradD"),
        ),
        mean_gradient,
    ),
    **dict.fromkeys(("AdaptiveAvgPool2d", "AdaptiveAvgPool3d"), adaptive_mean),
    "AdaptiveAvgPool2dGrad": adaptive_gradient,
}
