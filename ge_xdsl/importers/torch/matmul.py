"""ATen matrix products."""

from __future__ import annotations

from xdsl.ir import SSAValue

from ge_xdsl.dialects.ge.types import DataType
from ge_xdsl.importers.torch.builder import TorchBuilder
from ge_xdsl.importers.torch.call import Call
from ge_xdsl.importers.torch.elementwise import base_of
from ge_xdsl.importers.torch.table import Converter


def _of_matrices(g: TorchBuilder, x: SSAValue) -> str:
    """MatMul, as the torch backend of CANN emits; MatMulV2 for the integers that only it takes."""
    return "MatMulV2" if g.dtype(x) in (DataType.DT_INT8, DataType.DT_INT4) else "MatMul"


def product(call: Call, g: TorchBuilder) -> SSAValue:
    """MatMul of matrices"""
    x = call.value("self")
    return g.op(_of_matrices(g, x), x, call.value("mat2"))


def batch_product(call: Call, g: TorchBuilder) -> SSAValue:
    """BatchMatMulV2"""
    return g.op("BatchMatMulV2", call.value("self"), call.value("mat2"))


def add_product(call: Call, g: TorchBuilder) -> SSAValue:
    """beta * self + alpha * product: a bias vector is MatMul's own, else Add"""
    bias, alpha, beta = call.value("self"), call.number("alpha"), call.number("beta")
    batched = base_of(call) == "baddbmm"
    left, right = (
        call.value(name) for name in (("batch1", "batch2") if batched else ("mat1", "mat2"))
    )
    if not batched and alpha == 1 and beta == 1 and len(g.shape(bias) or ()) == 1:
        shape = g.shape(bias)
        if shape == call.shape[-1:]:
            return g.op(_of_matrices(g, left), left, right, bias)
    found = g.part("BatchMatMulV2" if batched else _of_matrices(g, left), left, right)
    if alpha != 1:
        found = g.part("Mul", found, g.like(alpha, found))
    if beta == 0:  # what stands in self does not count, not even NaN
        return found
    if beta != 1:
        bias = g.part("Mul", bias, g.like(beta, bias))
    return g.op("Add", found, bias)


def linear(call: Call, g: TorchBuilder) -> SSAValue:
    """BatchMatMulV2, or MatMul of matrices, with the transposed weight, and Add of the bias"""
    x, weight, bias = call.value("input"), call.value("weight"), call.optional("bias")
    if len(g.shape(x) or ()) == 2:
        return g.op(_of_matrices(g, x), x, weight, bias, transpose_x2=True)
    found = g.part("BatchMatMulV2", x, weight, adj_x2=True)
    return found if bias is None else g.op("Add", found, bias)


def vectors(call: Call, g: TorchBuilder) -> SSAValue:
    """BatchMatMulV2; of two vectors it gives 1x1, torch a scalar"""
    left = call.value("self")
    right = call.value({"dot": "tensor", "mv": "vec", "matmul": "other"}[base_of(call)])
    found = g.part("BatchMatMulV2", left, right)
    return found if call.shape else g.as_scalar(found)


TABLE: dict[str, Converter] = {
    "addmm": add_product,
    "baddbmm": add_product,
    "bmm": batch_product,
    "dot": vectors,
    "linear": linear,
    "matmul": vectors,
    "mm": product,
    "mv": vectors,
}
