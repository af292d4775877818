"""ONNX ops on bits."""

from __future__ import annotations

from xdsl.ir import SSAValue

from ge_xdsl.dialects.ge.types import DataType, numpy_dtype
from ge_xdsl.importers.onnx.builder import Builder
from ge_xdsl.importers.onnx.node import Node
from ge_xdsl.importers.onnx.table import Converter
from ge_xdsl.importers.onnx.tensors import type_attribute


def binary(node: Node, g: Builder) -> SSAValue:
    """The GE op of the same name."""
    return g.op(node.op_type, node.input(0), node.input(1))


def bitwise_not(node: Node, g: Builder) -> SSAValue:
    """Invert"""
    return g.op("Invert", node.input(0))


def bit_shift(node: Node, g: Builder) -> SSAValue:
    """LeftShift or RightShift

    ONNX shifts by a count outside [0, bits) as far as it goes: to 0, or to -1 for negative
    numbers to the right. GE takes the nearest count inside, so that the rest is chosen here.
    """
    direction = node.string("direction", "")
    if direction not in ("LEFT", "RIGHT"):
        node.fail(f"attribute 'direction' is '{direction}', expected 'LEFT' or 'RIGHT'")
    x, count = node.input(0), node.input(1)
    bits = 8 * numpy_dtype(g.dtype(x)).itemsize
    op_type = f"{direction.capitalize()}Shift"
    known = g.known(count)
    if known is not None and all(0 <= n < bits for n in known):
        return g.part(op_type, x, count)
    inside = g.part("Less", count, g.like(bits, count))
    signed = numpy_dtype(g.dtype(x)).kind == "i"
    if signed:
        natural = g.part("GreaterEqual", count, g.like(0, count))
        inside = g.part("LogicalAnd", inside, natural)
    if signed and direction == "RIGHT":
        return g.part(op_type, x, g.part("SelectV2", inside, count, g.like(bits - 1, count)))
    shifted = g.part(op_type, x, count)
    return g.part("SelectV2", inside, shifted, g.part("ZerosLike", shifted))


def bit_cast(node: Node, g: Builder) -> SSAValue:
    """Bitcast; Cast between BOOL, which has no bits in GE, and a byte"""
    x, target = node.input(0), type_attribute(node, "to")
    if DataType.DT_BOOL in (g.dtype(x), target):
        other = target if g.dtype(x) == DataType.DT_BOOL else g.dtype(x)
        if other not in (DataType.DT_BOOL, DataType.DT_INT8, DataType.DT_UINT8):
            node.fail(f"casts the bits of BOOL and {other.name}, expected a type of one byte")
        return g.op("Cast", x, dst_type=int(target))
    return g.op("Bitcast", x, type=target)


def xor(node: Node, g: Builder) -> SSAValue:
    """BitwiseXor of both operands cast to i32, cast back"""
    a, b = (g.cast(node.input(k), DataType.DT_INT32) for k in range(2))
    return g.cast(g.part("BitwiseXor", a, b), DataType.DT_BOOL)


TABLE: dict[str, Converter] = {
    **dict.fromkeys(("BitwiseAnd", "BitwiseOr", "BitwiseXor"), binary),
    "BitCast": bit_cast,
    "BitShift": bit_shift,
    "BitwiseNot": bitwise_not,
    "Xor": xor,
}
