"""A bias added to a matrix product becomes the product's own bias."""

from __future__ import annotations

from typing import Any, cast

from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter

from ge_xdsl.dialects.ge.elementwise import BiasAddOp
from ge_xdsl.dialects.ge.matmul import BatchMatMulOp, BatchMatMulV2Op
from ge_xdsl.dialects.ge.names import describe
from ge_xdsl.dialects.ge.op import NAME, GeOp, extra_key
from ge_xdsl.dialects.ge.prototype import encode
from ge_xdsl.dialects.ge.shapes import shape_text
from ge_xdsl.dialects.ge.types import DYNAMIC
from ge_xdsl.pattern.rule import Applied, Declined, Outcome, Rule
from ge_xdsl.rewrites.support import fuse, make_like, merge_problem, sole_consumer, tensor


class FuseMatMulBias(Rule):
    """Add(MatMul(x1, x2), b) -> MatMul(x1, x2, bias = b)

        Add(M(x1, x2), b), Add(b, M(x1, x2)), BiasAdd(M(x1, x2), b) -> M(x1, x2, bias = b)

    M is MatMul, MatMulV2, BatchMatMulV2 or BatchMatMul, which becomes BatchMatMulV2 because only
    that has a bias. b is a vector of one value per column. The product has one consumer, and rank
    2 unless it is batched; it keeps its name. Half floats are rounded once instead of twice.
    """

    name = "FuseMatMulBias"
    root_types = ("MatMul", "MatMulV2", "BatchMatMul", "BatchMatMulV2")

    def attempt(self, op: GeOp, rewriter: PatternRewriter) -> Outcome:
        product = op.results[0]
        add = sole_consumer(product, f"{op.op_type} output")
        if isinstance(add, str):
            return Declined(add, op)
        if not _is_sum(add):
            return Declined(f"consumer is {describe(add)}, expected BiasAdd or Add", add)
        bias = add.operands[1] if add.operands[0] is product else add.operands[0]
        problem = _own_bias(op) or bias_problem(product, cast("GeOp", add), bias)
        if problem:
            return Declined(problem, add, 1)
        ops = [op, cast("GeOp", add)]
        problem = merge_problem(ops)
        if problem:
            return Declined(problem, add, 2, matched=True)
        return _fuse(rewriter, ops, bias, self.name)


def _fuse(rewriter: PatternRewriter, ops: list[GeOp], bias: SSAValue, rule: str) -> Outcome:
    old, add = ops
    batched = isinstance(old, BatchMatMulOp)
    attrs: dict[str, Any] = {
        spec.name: value
        for spec in old.prototype.attrs
        if (value := old.properties.get(spec.name)) is not None
    }
    extra = {key: attr for key, attr in old.attributes.items() if key != NAME}
    extra[extra_key("has_bias")] = encode("Bool", True)
    inputs = (old.operands[0], old.operands[1], bias)
    new = make_like(add, BatchMatMulV2Op if batched else type(old), inputs, attrs, extra)
    if isinstance(new, str):
        return Declined(new, old, 2, matched=True)
    new.node_name = old.node_name or add.node_name
    fuse(rewriter, new, ops, rule)
    return Applied()


def _is_sum(op: Operation) -> bool:
    return isinstance(op, GeOp) and op.op_type in ("Add", "BiasAdd")


def _own_bias(op: GeOp) -> str:
    count = len(op.operands)
    return f"{op.op_type} has {count} operands, expected 2" if count != 2 else ""


def bias_problem(product: SSAValue, add: GeOp, bias: SSAValue) -> str:
    """Why `add` does not add one value per column of the product, '' when it does."""
    y, b = tensor(product), tensor(bias)
    owner = cast("GeOp", product.owner)
    if isinstance(add, BiasAddOp):
        if add.x is not product:
            return "the product is the bias of BiasAdd, expected its x"
        if y.shape is not None and add.channel_axis(y) % len(y.shape) != len(y.shape) - 1:
            return f"BiasAdd adds along dimension 1 of {shape_text(y.shape)}, expected the last"
    if y.shape is None or b.shape is None:
        return f"shapes are {shape_text(y.shape)} and {shape_text(b.shape)}, expected known ranks"
    if not owner.op_type.startswith("Batch") and len(y.shape) != 2:
        return f"product is {shape_text(y.shape)}, expected rank 2"
    columns = y.shape[-1] if y.shape else 1
    if len(b.shape) != 1 or not y.shape or not _same(b.shape[0], columns):
        wide = tensor(add.results[0]).shape not in (None, y.shape)
        more = " and broadcasts the product" if wide else ""
        return f"bias is {shape_text(b.shape)}{more}, expected {shape_text((columns,))}"
    if y.dtype != b.dtype:
        return f"bias is {b.dtype.name}, expected {y.dtype.name}"
    return ""


def _same(length: int, columns: int) -> bool:
    """Whether a bias has a value per column: an unknown length could still be 1, which repeats."""
    return length == columns and length != DYNAMIC
