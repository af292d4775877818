"""Matrix products of the domain `com.microsoft`: transposed, scaled, activated, of packed weights.

Written from onnxruntime's operator documentation; what they compute is held against onnxruntime.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from ge_xdsl.dialects.ge.types import DataType
from ge_xdsl.importers.onnx.builder import Builder
from ge_xdsl.importers.onnx.contrib import biased
from ge_xdsl.importers.onnx.conv import conv
from ge_xdsl.importers.onnx.matmul import gemm, product
from ge_xdsl.importers.onnx.node import Node
from ge_xdsl.importers.onnx.table import Converter

FLOAT, INT32 = DataType.DT_FLOAT, DataType.DT_INT32


def fused_mat_mul(node: Node, g: Builder) -> SSAValue:
    """alpha * (a @ b), each operand transposed before"""
    a, b = (
        _operand(
            node, g, node.input(k), node.flag(f"trans{side}", False),
            node.flag(f"transBatch{side}", False),
        )
        for k, side in enumerate("AB")
    )  # fmt: skip
    alpha = node.floating("alpha", 1.0)
    found = product(g, a, b)
    return found if alpha == 1.0 else g.part("Muls", found, value=alpha)


def _operand(node: Node, g: Builder, value: SSAValue, last: bool, batch: bool) -> SSAValue:
    """An operand with its last two dimensions exchanged, or its first one moved behind the other
    ones of the batch."""
    if not last and not batch:
        return value
    rank = g.rank(value, node.op_type)
    if rank < 2:
        return value
    perm = list(range(rank))
    if batch:
        perm = [*range(1, rank - 1), 0, rank - 1]
    if last:
        perm[-2:] = [perm[-1], perm[-2]]
    return g.transpose(value, perm)


ACTIVATIONS = {"Relu": "Relu", "Tanh": "Tanh", "Sigmoid": "Sigmoid"}


def activated(
    node: Node, g: Builder, x: SSAValue, name: str, parameters: Sequence[float]
) -> SSAValue:
    """The activation of a fused op on its result."""
    alpha, beta = [*parameters, 0.0, 0.0][:2]
    if name in ACTIVATIONS:
        return g.part(ACTIVATIONS[name], x)
    if name == "LeakyRelu":
        return g.part("LeakyRelu", x, negative_slope=alpha)
    if name == "HardSigmoid":
        return g.part("HardSigmoid", x, alpha=alpha, beta=beta)
    if name == "Clip":
        return g.part("ClipByValue", x, g.like(alpha, x), g.like(beta, x))
    known = ", ".join([*ACTIVATIONS, "LeakyRelu", "HardSigmoid", "Clip"])
    node.fail(f"attribute 'activation' is '{name}', expected one of {known}")


def _parameters(node: Node) -> list[float]:
    return [node.floating(f"activation_{which}", 0.0) for which in ("alpha", "beta", "gamma")]


def fused_gemm(node: Node, g: Builder) -> SSAValue:
    """Gemm, then its activation"""
    name, parameters = node.string("activation", ""), _parameters(node)
    found = gemm(node, g)
    return activated(node, g, found, name, parameters) if name else found


def fused_mat_mul_activation(node: Node, g: Builder) -> SSAValue:
    """FusedMatMul, then its activation"""
    name, parameters = node.string("activation", ""), _parameters(node)
    node.ignore("activation_axis")
    return activated(node, g, fused_mat_mul(node, g), name, parameters)


def fused_conv(node: Node, g: Builder) -> SSAValue:
    """Conv, plus the sum, then the activation"""
    name, parameters = node.string("activation", ""), node.floats("activation_params") or []
    other = node.optional(3)
    found = biased(g, conv(node, g), other)
    return activated(node, g, found, name, parameters) if name else found


def mat_mul_n_bits(node: Node, g: Builder) -> SSAValue:
    """a @ w^T of a weight of 2, 4 or 8 bits with a scale and zero point for each block of a row"""
    a, packed, scales = (node.input(k) for k in range(3))
    columns, rows = node.required_integer("K"), node.required_integer("N")
    block, bits = node.required_integer("block_size"), node.integer("bits", 4)
    node.ignore("accuracy_level")
    node.expect("weight_prepacked", 0)
    if bits not in (2, 4, 8) or block < 1 or columns < 1 or rows < 1:
        node.fail(f"has {bits} bits in blocks of {block}, expected 2, 4 or 8 bits")
    if node.optional(4) is not None:
        node.fail("has g_idx, expected blocks in order")
    count = -(-columns // block)
    dtype = g.dtype(a)
    values = g.cast(unpacked(g, packed, bits, [rows, count, block]), FLOAT)
    zero = node.optional(3)
    if zero is None:
        low = g.scalar(float(1 << (bits - 1)), "float32")
    elif g.dtype(zero) == DataType.DT_UINT8:
        width = -(-count * bits // 8) * 8 // bits
        low = g.cast(unpacked(g, zero, bits, [rows, width, 1]), FLOAT)
        low = _first(g, low, 1, count, width)
    else:
        low = g.part("Reshape", g.cast(zero, FLOAT), g.helper([rows, count, 1], "int64"))
    factor = g.part("Reshape", g.cast(scales, FLOAT), g.helper([rows, count, 1], "int64"))
    weight = g.part("Mul", g.part("Sub", values, low), factor)
    weight = g.part("Reshape", weight, g.helper([rows, count * block], "int64"))
    weight = g.cast(_first(g, weight, 1, columns, count * block), dtype)
    return biased(g, product(g, a, g.transpose(weight, [1, 0])), node.optional(5))


def _first(g: Builder, value: SSAValue, axis: int, count: int, total: int) -> SSAValue:
    """The first `count` of `total` entries of a dimension."""
    if count == total:
        return value
    bounds = ([0], [count], [axis], [1])
    return g.part("StridedSliceV2", value, *(g.helper(b, "int64") for b in bounds))


def unpacked(g: Builder, packed: SSAValue, bits: int, shape: Sequence[int]) -> SSAValue:
    """The numbers of `bits` bits in bytes, lowest bits first, in a shape."""
    if bits != 8:
        mask = g.scalar((1 << bits) - 1, "uint8")
        parts: list[SSAValue] = []
        for shift in range(0, 8, bits):
            moved = packed
            if shift:
                moved = g.part("RightShift", packed, g.scalar(shift, "uint8"))
            parts.append(g.part("BitwiseAnd", moved, mask))
        packed = g.part("Pack", parts, axis=-1, N=len(parts))
    return g.part("Reshape", packed, g.helper(shape, "int64"))


TABLE: dict[str, Converter] = {
    "com.microsoft::FusedConv": fused_conv,
    "com.microsoft::FusedGemm": fused_gemm,
    "com.microsoft::FusedMatMul": fused_mat_mul,
    "com.microsoft::FusedMatMulActivation": fused_mat_mul_activation,
    "com.microsoft::MatMulNBits": mat_mul_n_bits,
    "com.microsoft::TransposeMatMul": fused_mat_mul,
}
