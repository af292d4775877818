"""Matrix products in ONNX."""

from __future__ import annotations

from xdsl.ir import SSAValue

from ge_xdsl.dialects.ge.op import GeOp
from ge_xdsl.dialects.ge.types import FLOATS, DataType
from ge_xdsl.exporters.onnx.graph import Graph, NoFormError
from ge_xdsl.exporters.onnx.table import Converter


def swapped(g: Graph, value: SSAValue, swap: bool) -> str:
    """An operand with its last two dimensions swapped; a vector stays as it is."""
    rank = g.rank(value) if swap else 0
    if rank < 2:
        return g.of(value)
    return g.transpose(g.of(value), [*range(rank - 2), rank - 1, rank - 2])


def product(op: GeOp, g: Graph) -> str:
    """MatMul of operands that are transposed first, and Add of the bias; Gemm of matrices"""
    x1, x2 = op.operands[:2]
    names = [name for name in ("transpose_x1", "transpose_x2", "adj_x1", "adj_x2")
             if name in op.prototype.attr_by_name]  # fmt: skip
    left, right = (op.get_attr(name) for name in names)
    bias = op.operand_slot("bias") if "bias" in op.prototype.input_index else None
    if g.rank(x1) == g.rank(x2) == 2 and (left or right):
        inputs = [g.of(x1), g.of(x2)]
        if isinstance(bias, SSAValue):
            inputs.append(g.of(bias))
        return g.add("Gemm", *inputs, transA=int(left), transB=int(right))
    y = g.add("MatMul", swapped(g, x1, left), swapped(g, x2, right))
    if g.rank(x1) == g.rank(x2) == 1:
        y = g.add("Reshape", y, g.ints([1, 1]))
    if not isinstance(bias, SSAValue):
        return y
    if g.rank(bias) > max(g.rank(op.results[0]), 1):
        raise NoFormError("the bias has more dimensions than the product")
    return g.add("Add", y, g.of(bias))


def gemm(op: GeOp, g: Graph) -> str:
    """Add(Mul(alpha, product), Mul(beta, c))"""
    a, b, c, alpha, beta = op.operands
    if len({g.dtype(value) for value in op.operands}) != 1 or g.dtype(a) not in FLOATS:
        raise NoFormError("the element types differ")
    if g.rank(alpha) or g.rank(beta):
        raise NoFormError("alpha or beta is no scalar")
    y = g.add("Gemm", g.of(a), g.of(b), transA=int(op.get_attr("transpose_a")),
              transB=int(op.get_attr("transpose_b")))  # fmt: skip
    return g.add("Add", g.add("Mul", y, g.of(alpha)), g.add("Mul", g.of(c), g.of(beta)))


def einsum(op: GeOp, g: Graph) -> str:
    """Einsum"""
    return g.add("Einsum", *map(g.of, op.operands), equation=op.get_attr("equation"))


def triangle(op: GeOp, g: Graph) -> str:
    """Trilu"""
    if op.op_type == "Trilu":
        k = op.operand_slot("k")
        place = g.long(k) if isinstance(k, SSAValue) else ""
        if isinstance(k, SSAValue) and g.rank(k):
            place = g.add("Reshape", place, g.ints([]))
        return g.add("Trilu", g.of(op.operands[0]), place, upper=int(op.get_attr("upper") != 0))
    upper = op.op_type == "Triu"
    diagonal = g.const(op.get_attr("diagonal"), DataType.DT_INT64)
    return g.add("Trilu", g.of(op.operands[0]), diagonal, upper=int(upper))


def determinant(op: GeOp, g: Graph) -> str:
    """Det"""
    return g.add("Det", g.of(op.operands[0]))


TABLE: dict[str, Converter] = {
    **dict.fromkeys(("BatchMatMul", "BatchMatMulV2", "MatMul", "MatMulV2"), product),
    **dict.fromkeys(("Tril", "Trilu", "Triu"), triangle),
    "Einsum": einsum,
    "GEMM": gemm,
    "MatrixDeterminant": determinant,
}
