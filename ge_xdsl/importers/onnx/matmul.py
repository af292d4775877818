"""ONNX matrix products."""

from __future__ import annotations

from xdsl.ir import SSAValue

from ge_xdsl.importers.onnx.builder import Builder
from ge_xdsl.importers.onnx.node import Node
from ge_xdsl.importers.onnx.table import Converter


def matmul(node: Node, g: Builder) -> SSAValue:
    """BatchMatMulV2, also for matrices and vectors; of two vectors it gives 1x1, ONNX a scalar."""
    x1, x2 = node.input(0), node.input(1)
    if _vectors(g, x1, x2):
        return product(g, x1, x2)
    return g.op("BatchMatMulV2", x1, x2)


def _vectors(g: Builder, x1: SSAValue, x2: SSAValue) -> bool:
    return all(len(g.shape(x) or ()) == 1 for x in (x1, x2))


def product(g: Builder, x1: SSAValue, x2: SSAValue) -> SSAValue:
    """The product as one part of what a node expands to."""
    found = g.part("BatchMatMulV2", x1, x2)
    return g.part("Squeeze", found, axis=[0, 1]) if _vectors(g, x1, x2) else found


def gemm(node: Node, g: Builder) -> SSAValue:
    """alpha*op(A)@op(B) + beta*C as MatMulV2, Muls for a factor other than 1, and Add."""
    alpha, beta = node.floating("alpha", 1.0), node.floating("beta", 1.0)
    left, right = node.flag("transA", False), node.flag("transB", False)
    product = g.part(
        "MatMulV2", node.input(0), node.input(1), transpose_x1=left, transpose_x2=right
    )
    bias = node.optional(2)
    if alpha != 1.0 or (bias is not None and beta != 1.0):
        product = g.part("Muls", product, value=alpha)
        bias = None if bias is None else g.part("Muls", bias, value=beta)
    return product if bias is None else g.part("Add", product, bias)


TABLE: dict[str, Converter] = {"Gemm": gemm, "MatMul": matmul}
