"""Quantized ops of the domain `com.microsoft`: arithmetic on the numbers that integers stand for.

Written from onnxruntime's operator documentation; what they compute is held against onnxruntime.
"""

from __future__ import annotations

from collections.abc import Callable

from xdsl.ir import SSAValue

from ge_xdsl.dialects.ge.types import DataType
from ge_xdsl.importers.onnx.builder import Builder
from ge_xdsl.importers.onnx.contrib import biased
from ge_xdsl.importers.onnx.matmul import product
from ge_xdsl.importers.onnx.node import Node
from ge_xdsl.importers.onnx.pool import average_pool
from ge_xdsl.importers.onnx.quant import columns, dequantize, quantize, requantized, rows
from ge_xdsl.importers.onnx.table import Converter

FLOAT, INT32, UINT8 = DataType.DT_FLOAT, DataType.DT_INT32, DataType.DT_UINT8

Apply = Callable[[SSAValue], SSAValue]


def real(g: Builder, value: SSAValue, scale: SSAValue, zero: SSAValue | None) -> SSAValue:
    """(value - zero point) * scale in f32, one scale for all."""
    return g.part("Mul", g.cast(g.less_zero_point(value, zero, INT32), FLOAT), g.as_scalar(scale))


def stored(
    g: Builder, value: SSAValue, scale: SSAValue, zero: SSAValue | None, dtype: DataType
) -> SSAValue:
    """A real number as the integer that stands for it."""
    quotient = g.part("RealDiv", value, g.as_scalar(scale))
    return requantized(g, quotient, None if zero is None else g.as_scalar(zero), dtype)


def binary(node: Node, g: Builder) -> SSAValue:
    """Add or Mul of the real numbers"""
    a, a_scale, a_zero, b, b_scale, b_zero, scale = (node.optional(k) for k in range(7))
    if a is None or a_scale is None or b is None or b_scale is None or scale is None:
        node.fail("an operand or a scale is missing, it is required")
    left, right = real(g, a, a_scale, a_zero), real(g, b, b_scale, b_zero)
    found = g.part(node.op_type.removeprefix("QLinear"), left, right)
    return stored(g, found, scale, node.optional(7), g.dtype(a))


def _unary(node: Node, g: Builder, apply: Apply) -> SSAValue:
    x = node.input(0)
    found = apply(real(g, x, node.input(1), node.optional(2)))
    return stored(g, found, node.input(3), node.optional(4), g.dtype(x))


def sigmoid(node: Node, g: Builder) -> SSAValue:
    """Sigmoid of the real numbers"""
    return _unary(node, g, lambda x: g.part("Sigmoid", x))


def leaky_relu(node: Node, g: Builder) -> SSAValue:
    """LeakyRelu of the real numbers"""
    alpha = node.floating("alpha", 0.01)
    return _unary(node, g, lambda x: g.part("LeakyRelu", x, negative_slope=alpha))


def softmax(node: Node, g: Builder) -> SSAValue:
    """SoftmaxV2 of the real numbers; before opset 13 over all dimensions from `axis` on"""
    opset, axis = node.integer("opset", 13), node.integer("axis", -1)
    axes = [axis]
    if opset < 13:
        rank = g.rank(node.input(0), "QLinearSoftmax before opset 13")
        axes = list(range(g.axis(axis, rank), rank))
    return _unary(node, g, lambda x: g.part("SoftmaxV2", x, axes=axes))


def reduce_mean(node: Node, g: Builder) -> SSAValue:
    """ReduceMean of the real numbers"""
    axes, keep = node.integers("axes") or [], node.flag("keepdims", True)
    places = g.helper(axes, "int32")
    return _unary(node, g, lambda x: g.part("ReduceMean", x, places, keep_dims=keep))


def _channels_last(node: Node, g: Builder, x: SSAValue) -> tuple[list[int], list[int]]:
    """The permutations that move the channels to the second place and back."""
    rank = g.rank(x, node.op_type)
    if not node.flag("channels_last", False):
        return list(range(rank)), list(range(rank))
    return [0, rank - 1, *range(1, rank - 1)], [0, *range(2, rank), 1]


def global_average_pool(node: Node, g: Builder) -> SSAValue:
    """ReduceMean over the dimensions of space of the real numbers"""
    rank = g.rank(node.input(0), node.op_type)
    last = node.flag("channels_last", False)
    axes = g.helper(range(1, rank - 1) if last else range(2, rank), "int32")
    return _unary(node, g, lambda x: g.part("ReduceMean", x, axes, keep_dims=True))


def average(node: Node, g: Builder) -> SSAValue:
    """AveragePool of the real numbers"""
    there, back = _channels_last(node, g, node.input(0))

    def pool(x: SSAValue) -> SSAValue:
        kept = node.inputs[0]
        node.inputs[0] = g.transpose(x, there)
        found = average_pool(node, g)
        node.inputs[0] = kept
        return g.transpose(found, back)

    return _unary(node, g, pool)


def concat(node: Node, g: Builder) -> SSAValue:
    """ConcatD of the real numbers"""
    scale, zero = node.input(0), node.input(1)
    rest = len(node.inputs) - 2
    if rest < 3 or rest % 3:
        node.fail(f"has {len(node.inputs)} inputs, expected 2 and 3 for each tensor")
    parts = [
        real(g, node.input(k), node.input(k + 1), node.optional(k + 2))
        for k in range(2, len(node.inputs), 3)
    ]
    axis = node.required_integer("axis")
    found = g.part("ConcatD", parts, concat_dim=axis, N=len(parts))
    return stored(g, found, scale, zero, g.dtype(node.input(2)))


def where(node: Node, g: Builder) -> SSAValue:
    """SelectV2 of the real numbers"""
    condition, x, x_scale, x_zero, y, y_scale, y_zero, scale, zero = (
        node.input(k) for k in range(9)
    )
    left, right = real(g, x, x_scale, x_zero), real(g, y, y_scale, y_zero)
    return stored(g, g.part("SelectV2", condition, left, right), scale, zero, g.dtype(x))


def integer_product(
    g: Builder, a: SSAValue, a_zero: SSAValue | None, b: SSAValue, b_zero: SSAValue | None
) -> SSAValue:
    """The product of both operands less their zero points, as f32."""
    left = g.part("Sub", g.cast(a, INT32), rows(g, a_zero, INT32))
    right = g.part("Sub", g.cast(b, INT32), columns(g, b_zero, INT32))
    return g.cast(product(g, left, right), FLOAT)


def mat_mul_integer_to_float(node: Node, g: Builder) -> SSAValue:
    """The integer product times both scales, plus the bias"""
    a, b, a_scale, b_scale = (node.input(k) for k in range(4))
    total = integer_product(g, a, node.optional(4), b, node.optional(5))
    total = g.part("Mul", total, g.part("Mul", rows(g, a_scale, FLOAT), b_scale))
    return biased(g, total, node.optional(6))


def dynamically(g: Builder, x: SSAValue) -> tuple[SSAValue, SSAValue, SSAValue]:
    """x as u8 with the scale and zero point of its own range, as DynamicQuantizeLinear does."""
    axes = g.helper(range(g.rank(x, "dynamic quantization")), "int32")
    nothing = g.scalar(0.0, "float32")
    low = g.part("Minimum", g.part("ReduceMin", x, axes, keep_dims=False), nothing)
    high = g.part("Maximum", g.part("ReduceMax", x, axes, keep_dims=False), nothing)
    scale = g.part("RealDiv", g.part("Sub", high, low), g.scalar(255.0, "float32"))
    zero = g.part("Round", g.part("RealDiv", g.part("Neg", low), scale))
    limits = (g.scalar(limit, "float32") for limit in (0.0, 255.0))
    zero = g.part("ClipByValue", zero, *limits)
    whole = requantized(g, g.part("RealDiv", x, scale), zero, UINT8)
    return whole, scale, g.cast(zero, UINT8)


def dynamic_quantize_mat_mul(node: Node, g: Builder) -> SSAValue:
    """The product with an operand that is quantized by its own range"""
    b, b_scale = node.input(1), node.input(2)
    whole, scale, zero = dynamically(g, node.input(0))
    total = integer_product(g, whole, zero, b, node.optional(3))
    return biased(g, g.part("Mul", total, g.part("Mul", b_scale, scale)), node.optional(4))


def q_gemm(node: Node, g: Builder) -> SSAValue:
    """The integer product plus C, scaled; quantized where there is a scale for it"""
    a, a_scale, a_zero, b, b_scale, b_zero = (node.input(k) for k in range(6))
    alpha = node.floating("alpha", 1.0)
    a = g.transpose(a, [1, 0]) if node.flag("transA", False) else a
    turned = node.flag("transB", False)
    b = g.transpose(b, [1, 0]) if turned else b
    total = integer_product(g, a, a_zero, b, b_zero)
    if (c := node.optional(6)) is not None:
        total = g.part("Add", total, g.cast(c, FLOAT))
    scale = g.part("Mul", g.as_scalar(a_scale), b_scale)
    if alpha != 1.0:
        scale = g.part("Muls", scale, value=alpha)
    total = g.part("Mul", total, scale)
    if (y_scale := node.optional(7)) is None:
        return total
    return stored(g, total, y_scale, node.optional(8), g.dtype(a))


TABLE: dict[str, Converter] = {
    "com.microsoft::DequantizeLinear": dequantize,
    "com.microsoft::DynamicQuantizeMatMul": dynamic_quantize_mat_mul,
    "com.microsoft::MatMulIntegerToFloat": mat_mul_integer_to_float,
    "com.microsoft::QGemm": q_gemm,
    "com.microsoft::QLinearAdd": binary,
    "com.microsoft::QLinearAveragePool": average,
    "com.microsoft::QLinearConcat": concat,
    "com.microsoft::QLinearGlobalAveragePool": global_average_pool,
    "com.microsoft::QLinearLeakyRelu": leaky_relu,
    "com.microsoft::QLinearMul": binary,
    "com.microsoft::QLinearReduceMean": reduce_mean,
    "com.microsoft::QLinearSigmoid": sigmoid,
    "com.microsoft::QLinearSoftmax": softmax,
    "com.microsoft::QLinearWhere": where,
    "com.microsoft::QuantizeLinear": quantize,
}
