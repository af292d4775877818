"""ONNX Fourier transforms, as products with matrices of cosines and sines."""

from __future__ import annotations

from math import pi

from xdsl.ir import SSAValue

from ge_xdsl.dialects.ge.types import DataType, numpy_dtype
from ge_xdsl.importers.onnx.builder import Builder
from ge_xdsl.importers.onnx.node import Node
from ge_xdsl.importers.onnx.table import Converter

LENGTH_LIMIT = 4096
"""Longest transform whose matrix is made at import; longer ones are computed in the graph."""

Pair = tuple[SSAValue, SSAValue | None]
"""Real and imaginary part; the latter None for real numbers."""


def _waves(g: Builder, rows: SSAValue, length: SSAValue, dtype: DataType, sign: int) -> Pair:
    """cos and sin of sign*2*pi*k*n/length for k < rows, n < length: matrices [rows, length]."""
    import numpy as np

    known = [g.known(value) for value in (rows, length)]
    if known[0] and known[1] and max(*known[0], *known[1]) <= LENGTH_LIMIT:
        count, size = known[0][0], known[1][0]
        turns = np.outer(np.arange(count), np.arange(size)) % max(size, 1)
        angle = sign * 2 * pi * turns / max(size, 1)
        parts = (wave.astype(numpy_dtype(dtype)) for wave in (np.cos(angle), np.sin(angle)))
        real, imaginary = (g.const(part, g.part_name("Const")) for part in parts)
        return real, imaginary
    row = g.along(g.range(rows), 0, 2)
    turns_value = g.part("FloorMod", g.part("Mul", row, g.range(length)), length)
    wide = g.cast(turns_value, DataType.DT_DOUBLE)
    turn = g.part("RealDiv", wide, g.cast(length, DataType.DT_DOUBLE))
    angle_value = g.part("Mul", turn, g.like(sign * 2 * pi, turn))
    real, imaginary = (g.cast(g.part(wave, angle_value), dtype) for wave in ("Cos", "Sin"))
    return real, imaginary


def _split(g: Builder, x: SSAValue) -> Pair:
    """The parts of x along its last dimension, which has length 1 or 2."""
    shape = g.shape(x)
    if shape is None or not shape or shape[-1] not in (1, 2):
        raise g.error(f"the input is {g.tensor_text(x)}, expected a last dimension of 1 or 2")
    real = g.take(x, g.scalar(0, "int64"), -1)
    return real, g.take(x, g.scalar(1, "int64"), -1) if shape[-1] == 2 else None


def _fit(g: Builder, x: SSAValue, length: SSAValue) -> SSAValue:
    """x [n, m] with its rows cut off or filled up with zeros to a length."""
    bounds = (g.helper([0], "int64"), g.part("Unsqueeze", length, axes=[0]))
    x = g.part("StridedSliceV2", x, *bounds)
    missing = g.part("Sub", length, g.dim(x, 0))
    zero = g.scalar(0, "int64")
    pads = g.part("Pack", [zero, zero, missing, zero], axis=0, N=4)
    return g.part("PadV3", x, pads, g.like(0, x), mode="constant", paddings_contiguous=False)


def _product(g: Builder, waves: Pair, x: Pair) -> Pair:
    """The complex product of the matrices of waves with x."""
    cosine, sine = waves
    assert sine is not None
    real, imaginary = x
    first, second = (g.part("BatchMatMulV2", wave, real) for wave in (cosine, sine))
    if imaginary is None:
        return first, second
    first = g.part("Sub", first, g.part("BatchMatMulV2", sine, imaginary))
    return first, g.part("Add", second, g.part("BatchMatMulV2", cosine, imaginary))


def transform(g: Builder, x: Pair, length: SSAValue | None, inverse: bool, onesided: bool) -> Pair:
    """The transform of the columns of x [n, m]; `length` cuts or fills them."""
    real, imaginary = x
    dtype = g.dtype(real)
    rows = g.dim(real, 0)
    one, two = g.scalar(1, "int64"), g.scalar(2, "int64")
    if inverse and onesided:
        return _inverse_of_half(g, x, length), None
    if length is not None:
        real = _fit(g, real, length)
        imaginary = None if imaginary is None else _fit(g, imaginary, length)
    size = rows if length is None else length
    kept = g.part("Add", g.part("FloorDiv", size, two), one) if onesided else size
    found = _product(g, _waves(g, kept, size, dtype, 1 if inverse else -1), (real, imaginary))
    if not inverse:
        return found
    divisor = g.cast(size, dtype)
    first, second = (g.part("RealDiv", part, divisor) for part in found if part is not None)
    return first, second


def _inverse_of_half(g: Builder, x: Pair, length: SSAValue | None) -> SSAValue:
    """The real signal whose transform starts with x: each entry but the first, and the middle one
    of an even length, stands for itself and its conjugate."""
    real, imaginary = x
    dtype = g.dtype(real)
    one, two = g.scalar(1, "int64"), g.scalar(2, "int64")
    if length is None:
        length = g.part("Mul", g.part("Sub", g.dim(real, 0), one), two)
    kept = g.part("Add", g.part("FloorDiv", length, two), one)
    real = _fit(g, real, kept)
    waves = _waves(g, kept, length, dtype, 1)
    cosine, sine = (g.transpose(wave, [1, 0]) for wave in waves if wave is not None)
    index = g.range(kept)
    alone = g.part("Equal", g.part("FloorMod", g.part("Mul", index, two), length),
                   g.scalar(0, "int64"))  # fmt: skip
    weight = g.part("SelectV2", alone, one, two)
    weight = g.along(g.cast(weight, dtype), 0, 2)
    total = g.part("BatchMatMulV2", cosine, g.part("Mul", real, weight))
    if imaginary is not None:
        scaled = g.part("Mul", _fit(g, imaginary, kept), weight)
        total = g.part("Sub", total, g.part("BatchMatMulV2", sine, scaled))
    return g.part("RealDiv", total, g.cast(length, dtype))


def dft(node: Node, g: Builder) -> SSAValue:
    """The transform along one dimension, which is moved to the front and back again"""
    x, length = node.input(0), node.optional(1)
    inverse, onesided = node.flag("inverse", False), node.flag("onesided", False)
    rank = g.rank(x, "DFT")
    length = None if length is None else g.cast(g.as_scalar(length), DataType.DT_INT64)
    if node.opset < 20:
        axis: int | None = node.integer("axis", 1)
        place = g.scalar(axis, "int64")
    else:
        given = node.optional(2)
        place = g.scalar(-2, "int64") if given is None else g.as_scalar(given)
        known = g.known(place)
        axis = None if known is None else known[0]
    if axis is not None:
        axis = g.axis(axis, rank)
        order = [axis, *(k for k in range(rank - 1) if k != axis)]
        perm: SSAValue = g.helper(order, "int64")
        back: SSAValue = g.helper([*(order.index(k) for k in range(rank - 1)), rank - 1], "int64")
    else:
        perm, back = _orders(g, place, rank)
    parts = _split(g, x)
    flat: list[SSAValue] = []
    rest: SSAValue | None = None
    for part in parts:
        if part is not None:
            moved = g.part("Transpose", part, perm)
            shape = g.part("Shape", moved, dtype=int(DataType.DT_INT64))
            rest = g.part("StridedSliceV2", shape, g.helper([1], "int64"),
                          g.helper([2**31], "int64"))  # fmt: skip
            flat.append(_matrix(g, moved))
    assert rest is not None
    found = transform(g, (flat[0], flat[1] if len(flat) > 1 else None), length, inverse, onesided)
    values = [part for part in found if part is not None]
    y = g.part("Pack", values, axis=-1, N=len(values))
    dims = [g.part("Unsqueeze", g.dim(y, 0), axes=[0]), rest, g.helper([len(values)], "int64")]
    y = g.reshape_exactly(y, g.part("ConcatD", dims, concat_dim=0, N=3))
    return g.part("Transpose", y, back)


def _matrix(g: Builder, x: SSAValue) -> SSAValue:
    """x with all dimensions after the first in one."""
    return g.part("Flatten", x, axis=1)


def _orders(g: Builder, axis: SSAValue, rank: int) -> tuple[SSAValue, SSAValue]:
    """The permutation that moves a dimension (not the last) to the front, and the one back; the
    latter with the last dimension added."""
    axis = g.part("FloorMod", axis, g.scalar(rank, "int64"))
    places = g.helper(range(rank - 1), "int64")
    others = g.part("Squeeze", g.part("Where", g.part("NotEqual", places, axis)), axis=[1])
    perm = g.part("ConcatD", [g.part("Unsqueeze", axis, axes=[0]), others], concat_dim=0, N=2)
    perm = g.part("Reshape", perm, g.helper([rank - 1], "int64"))
    back = g.part("InvertPermutation", perm)
    back = g.part("ConcatD", [back, g.helper([rank - 1], "int64")], concat_dim=0, N=2)
    return perm, back


def stft(node: Node, g: Builder) -> SSAValue:
    """DFT of frames that are gathered from the signal [batch, length, 1 or 2]"""
    signal, step = node.input(0), g.cast(g.as_scalar(node.input(1)), DataType.DT_INT64)
    window, given = node.optional(2), node.optional(3)
    if window is None and given is None:
        node.fail("inputs 2 and 3 are missing, expected a window or a frame length")
    size = g.dim(window, 0) if given is None and window is not None else None
    if given is not None:
        size = g.cast(g.as_scalar(given), DataType.DT_INT64)
    assert size is not None
    onesided = node.flag("onesided", True)
    room = g.part("Sub", g.dim(signal, 1), size)
    count = g.part("Add", g.part("FloorDiv", room, step), g.scalar(1, "int64"))
    starts = g.part("Mul", g.range(count), step)
    places = g.part("Add", g.along(g.range(size), 0, 2), starts)  # [frame length, frames]
    flat: list[SSAValue] = []
    for part in _split(g, signal):
        if part is None:
            continue
        frames = g.take(part, places, 1)  # [batch, frame length, frames]
        frames = g.transpose(frames, [1, 0, 2])
        if window is not None:
            frames = g.part("Mul", frames, g.along(window, 0, 3))
        flat.append(_matrix(g, frames))
    found = transform(g, (flat[0], flat[1] if len(flat) > 1 else None), None, False, onesided)
    values = [part for part in found if part is not None]
    y = g.part("Pack", values, axis=-1, N=len(values))
    dims = [g.dim(y, 0), g.dim(signal, 0), count, g.scalar(len(values), "int64")]
    y = g.reshape_exactly(y, g.part("Pack", dims, axis=0, N=4))
    return g.transpose(y, [1, 2, 0, 3])


TABLE: dict[str, Converter] = {"DFT": dft, "STFT": stft}
