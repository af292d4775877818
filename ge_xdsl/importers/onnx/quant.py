"""ONNX quantization, composed of arithmetic: GE's own quantization ops have other roundings,
scales and element types."""

from __future__ import annotations

from xdsl.ir import SSAValue

from ge_xdsl.dialects.ge.types import DataType, numpy_dtype
from ge_xdsl.importers.onnx.builder import Builder
from ge_xdsl.importers.onnx.cast import saturated
from ge_xdsl.importers.onnx.conv import convolution
from ge_xdsl.importers.onnx.matmul import product
from ge_xdsl.importers.onnx.node import Node
from ge_xdsl.importers.onnx.table import Converter
from ge_xdsl.importers.onnx.tensors import type_attribute

FLOAT, INT32 = DataType.DT_FLOAT, DataType.DT_INT32

LIMITS = {
    DataType.DT_INT8: (-128, 127),
    DataType.DT_UINT8: (0, 255),
    DataType.DT_INT16: (-32768, 32767),
    DataType.DT_UINT16: (0, 65535),
    DataType.DT_INT4: (-8, 7),
    DataType.DT_INT2: (-2, 1),
    DataType.DT_UINT2: (0, 3),
}
"""The integer types that numbers are quantized to, and their least and largest values."""


def spread(node: Node, g: Builder, x: SSAValue, scale: SSAValue) -> SSAValue:
    """A scale or zero point as it meets x: one for all, one per entry of `axis`, or one per block
    of `block_size` entries."""
    axis, block = node.peek_integer("axis", 1), node.peek_integer("block_size", 0)
    shape = g.shape(scale)
    if shape is None:
        node.fail("the scale has unknown rank, expected a known one")
    if block:
        places = g.part("FloorDiv", g.range(g.dim(x, axis)), g.scalar(block, "int64"))
        return g.take(scale, places, axis)
    if len(shape) != 1 or shape == (1,):
        return scale
    rank = g.rank(x, "a scale per channel")
    return g.along(scale, g.axis(axis, rank), rank)


def quantize(node: Node, g: Builder) -> SSAValue:
    """Cast(ClipByValue(Round(x / scale) + zero point)); not rounded for 8-bit floats"""
    x, scale, zero = node.input(0), node.input(1), node.optional(2)
    default = DataType.DT_UINT8 if zero is None else g.dtype(zero)
    target = default
    if node.has("output_dtype") and node.peek_integer("output_dtype", 0):
        target = type_attribute(node, "output_dtype", default)
    wide = g.part("RealDiv", g.cast(x, FLOAT), g.cast(spread(node, g, x, scale), FLOAT))
    if zero is not None:
        zero = spread(node, g, x, zero)
    saturate = node.flag("saturate", True)
    node.ignore("axis", "block_size", "output_dtype", "precision")
    return requantized(g, wide, zero, target, saturate=saturate)


def requantized(
    g: Builder,
    wide: SSAValue,
    zero: SSAValue | None,
    target: DataType,
    saturate: bool = True,
) -> SSAValue:
    """An f32 quotient in a quantized element type."""
    limits = LIMITS.get(target)
    if limits is not None:
        wide = g.part("Round", wide)
    if zero is not None:
        wide = g.part("Add", wide, g.cast(zero, FLOAT))
    if limits is None:
        return g.cast(saturated(g, wide, target) if saturate else wide, target)
    low, high = (g.scalar(limit, "float32") for limit in limits)
    return g.cast(g.part("ClipByValue", wide, low, high), target)


def dequantize(node: Node, g: Builder) -> SSAValue:
    """(x - zero point) * scale, in f32, as the type of the scale or `output_dtype`"""
    x, scale, zero = node.input(0), node.input(1), node.optional(2)
    target = g.dtype(scale)
    if node.has("output_dtype") and node.peek_integer("output_dtype", 0):
        target = type_attribute(node, "output_dtype", target)
    exact = INT32 if numpy_dtype(g.dtype(x)).kind in "iu" else FLOAT
    wide = g.cast(x, exact)
    if zero is not None:
        wide = g.part("Sub", wide, g.cast(spread(node, g, x, zero), exact))
    factor = g.cast(spread(node, g, x, scale), FLOAT)
    node.ignore("axis", "block_size", "output_dtype")
    return g.cast(g.part("Mul", g.cast(wide, FLOAT), factor), target)


def mat_mul_integer(node: Node, g: Builder) -> SSAValue:
    """BatchMatMulV2 of both operands less their zero points, in i32"""
    a, b = node.input(0), node.input(1)
    left = g.part("Sub", g.cast(a, INT32), rows(g, node.optional(2), INT32))
    right = g.part("Sub", g.cast(b, INT32), columns(g, node.optional(3), INT32))
    return product(g, left, right)


def rows(g: Builder, value: SSAValue | None, dtype: DataType) -> SSAValue:
    """A zero point or scale of the rows of a matrix; 0 when there is none."""
    if value is None:
        return g.scalar(0, "int32")
    value = g.cast(value, dtype)
    shape = g.shape(value)
    if shape is not None and len(shape) == 1 and shape != (1,):
        return g.part("Reshape", value, g.helper([-1, 1], "int64"))
    return value


def columns(g: Builder, value: SSAValue | None, dtype: DataType) -> SSAValue:
    return g.scalar(0, "int32") if value is None else g.cast(value, dtype)


def q_linear_mat_mul(node: Node, g: Builder) -> SSAValue:
    """The product in i32, scaled in f32 and quantized"""
    a, a_scale, a_zero, b, b_scale, b_zero, y_scale, y_zero = (node.input(k) for k in range(8))
    integers = all(numpy_dtype(g.dtype(value)).kind in "iu" for value in (a, b))
    dtype = INT32 if integers else FLOAT
    left = g.part("Sub", g.cast(a, dtype), rows(g, a_zero, dtype))
    right = g.part("Sub", g.cast(b, dtype), columns(g, b_zero, dtype))
    total = g.cast(product(g, left, right), FLOAT)
    total = g.part("Mul", total, rows(g, a_scale, FLOAT))
    total = g.part("Mul", total, columns(g, b_scale, FLOAT))
    total = g.part("RealDiv", total, rows(g, y_scale, FLOAT))
    return requantized(g, total, rows(g, y_zero, FLOAT), g.dtype(y_zero))


def q_linear_conv(node: Node, g: Builder) -> SSAValue:
    """The convolution in f32, scaled and quantized"""
    x, x_scale, x_zero, w, w_scale, w_zero, y_scale, y_zero = (node.input(k) for k in range(8))
    bias = node.optional(8)
    left = g.less_zero_point(x, x_zero, FLOAT)
    right = g.less_zero_point(w, w_zero, FLOAT, 0)
    total = convolution(node, g, left, right, None if bias is None else g.cast(bias, FLOAT))
    scale = g.part("Mul", g.cast(x_scale, FLOAT), g.cast(w_scale, FLOAT))
    scale = g.part("RealDiv", scale, g.cast(y_scale, FLOAT))
    shape = g.shape(scale)
    if shape is not None and len(shape) == 1 and shape != (1,):
        scale = g.along(scale, 1, g.rank(w, "a scale per channel"))
    return requantized(g, g.part("Mul", total, scale), y_zero, g.dtype(y_zero))


TABLE: dict[str, Converter] = {
    "DequantizeLinear": dequantize,
    "MatMulInteger": mat_mul_integer,
    "QLinearConv": q_linear_conv,
    "QLinearMatMul": q_linear_mat_mul,
    "QuantizeLinear": quantize,
}
