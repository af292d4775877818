"""Matrix products with more around them, and Einsum, as products that kernels have."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from xdsl.ir import SSAValue

from ge_xdsl.dialects.ge.linalg import einsum_terms
from ge_xdsl.dialects.ge.matmul import matrix_shape
from ge_xdsl.dialects.ge.op import GeOp
from ge_xdsl.dialects.ge.rounding import short_scale
from ge_xdsl.dialects.ge.types import HALVES, DataType, Tensor
from ge_xdsl.lowering.expand.builder import Builder, Expansion
from ge_xdsl.lowering.expand.quant import codes, wide_scale
from ge_xdsl.lowering.expand.terms import Term, term

CODES = (DataType.DT_INT8, DataType.DT_UINT8)


def product(
    build: Builder, a: SSAValue, b: SSAValue, swap_a: bool = False, swap_b: bool = False
) -> SSAValue:
    """op(a) op(b) in f32 for floats, over equal or broadcast batches.

    Half floats are multiplied as they are: the sums are f32, which leave the cube as such.
    """
    dtype = build.dtype(a)
    if dtype not in HALVES or build.dtype(b) != dtype:
        a, b = build.wide(a), build.wide(b)
    matrices = len(build.shape(a)) == len(build.shape(b)) == 2
    names = ("transpose_x1", "transpose_x2") if matrices else ("adj_x1", "adj_x2")
    attrs: dict[str, Any] = dict(zip(names, (swap_a, swap_b), strict=True))
    if build.dtype(a) in HALVES:
        shape = matrix_shape(build.shape(a), build.shape(b), swap_a, swap_b)
        attrs["result_types"] = [Tensor(DataType.DT_FLOAT, shape).type]
    return build.results("MatMulV2" if matrices else "BatchMatMulV2", a, b, **attrs)[0]


def batches(build: Builder, op: GeOp) -> SSAValue:
    """Batches that broadcast in part, a bias of another shape or of bf16, or integers."""
    x1, x2 = op.operands[:2]
    names = op.prototype.attr_by_name
    swaps = [
        bool(op.get_attr(n))
        for n in ("transpose_x1", "transpose_x2", "adj_x1", "adj_x2")
        if n in names
    ]
    bias = build.slot("bias") if "bias" in op.prototype.input_index else None
    dtype = build.dtype(x1)
    if dtype not in (*HALVES, DataType.DT_FLOAT, *CODES):
        raise build.decline(f"for element type {dtype.name}")
    if dtype in CODES:
        return _whole(build, op, bias)
    a, b = _aligned(build, x1, x2)
    if a is x1 and b is x2 and bias is None:
        a, b = _floats(build, a), _floats(build, b)
    y = product(build, a, b, *swaps[:2])
    if bias is not None:
        y = build("Add", y, _floats(build, bias))
    return build.like(y, op.results[0])


def _whole(build: Builder, op: GeOp, bias: SSAValue | None) -> SSAValue:
    """Products of integers without their bias, which is added in i32."""
    x1, x2 = op.operands[:2]
    if bias is None:
        a, b = _aligned(build, x1, x2)
        if a is x1 and b is x2:
            raise build.decline(f"for element type {build.dtype(x1).name}")
        x1, x2 = a, b
    names = ("transpose_x1", "transpose_x2", "adj_x1", "adj_x2")
    swaps = {n: op.get_attr(n) for n in names if n in op.prototype.attr_by_name}
    total = build(op.op_type, x1, x2, **swaps)
    return build.like(total if bias is None else build("Add", total, bias), op.results[0])


def quant_matmul(build: Builder, op: GeOp) -> SSAValue:
    """QuantBatchMatmulV3: an i32 product, then scales, offset and bias in f32"""
    x1, x2, scale = op.operands[:3]
    swaps = {n: bool(op.get_attr(f"transpose_{n}")) for n in ("x1", "x2")}
    if build.dtype(x1) != DataType.DT_INT8:
        raise build.decline(f"for element type {build.dtype(x1).name}")
    total = build("BatchMatMulV2", x1, x2, adj_x1=swaps["x1"], adj_x2=swaps["x2"])
    bias = build.slot("bias")
    whole = bias is not None and build.dtype(bias) == DataType.DT_INT32
    if bias is not None and whole:
        total = build("Add", total, bias)
    y = op.results[0]
    wanted = build.dtype(y)
    if wanted == DataType.DT_INT32:
        return build.like(total, y)
    factor = _factor(build, scale, bias is None or whole)
    found = Term(build, build.cast(total, DataType.DT_FLOAT)) * factor
    if wanted == DataType.DT_INT8:
        found = _nine_bits(found)
        offset = build.slot("offset")
        found = found if offset is None else found + _nine_bits(_vector(build, offset))
        return codes(found, wanted).like(y)
    pertoken = build.slot("pertoken_scale")
    if pertoken is not None:
        column = build.reshape(pertoken, [build.count(pertoken), 1])
        found = found * term(build, column)
    if bias is not None and not whole:
        found = found + term(build, bias)
    return found.like(y)


def _factor(build: Builder, scale: SSAValue, is_cut: bool) -> Term:
    """The scale as a vector in f32; one for all codes is cut to 19 bits, so must be known."""
    packed = build.dtype(scale) in (DataType.DT_UINT64, DataType.DT_INT64)
    if packed or (build.count(scale) == 1 and is_cut):
        known = build.known(scale, "a scale that is cut short")
        return Term(build, build.array(short_scale(known).reshape(-1)))
    return _vector(build, scale)


def _vector(build: Builder, x: SSAValue) -> Term:
    return term(build, build.reshape(x, [build.count(x)]))


def _nine_bits(x: Term) -> Term:
    return x.call("Rint").clip(-256.0, 255.0)


def weight_quant(build: Builder, op: GeOp) -> SSAValue:
    """WeightQuantBatchMatmulV2: (weight + offset) scale, rounded after each to the type of x"""
    x, weight = op.operands[:2]
    slots = {io.name: build.slot(io.name) for io in op.prototype.inputs}
    half = build.dtype(x)
    scale, offset = slots["antiquant_scale"], slots["antiquant_offset"]
    assert scale is not None
    w = _floats(build, weight)
    shape = build.shape(weight)
    if offset is not None:
        w = build("Add", w, _per_element(build, op, offset, shape))
        w = _floats(build, build.cast(w, half))
    w = build.cast(build("Mul", w, _per_element(build, op, scale, shape)), half)
    swaps = (bool(op.get_attr(n)) for n in ("transpose_x", "transpose_weight"))
    y = Term(build, product(build, x, w, *swaps))
    bias, quant, offset = (slots[n] for n in ("bias", "quant_scale", "quant_offset"))
    y = y if bias is None else y + _vector(build, bias)
    if quant is None:
        return y.like(op.results[0])
    y = y * wide_scale(build, build.reshape(quant, [build.count(quant)]))
    y = y if offset is None else y + _vector(build, offset)
    return codes(y, DataType.DT_INT8).like(op.results[0])


def _per_element(build: Builder, op: GeOp, values: SSAValue, shape: Sequence[int]) -> SSAValue:
    """An antiquant operand to broadcast with the weight as it is stored."""
    axis = int(op.get_attr("transpose_weight"))
    size = op.get_attr("antiquant_group_size")
    count = build.count(values)
    if count == 1:
        return _floats(build, build.reshape(values, [1, 1]))
    if not size:
        return _floats(build, build.reshape(values, [count, 1] if axis else [1, count]))
    # [groups, N] or [N, groups]: each number for `size` rows, the last group may be cut
    places = build.const([i // size for i in range(shape[axis])], DataType.DT_INT32)
    return _floats(build, build("GatherV2", values, places, [axis]))


def _floats(build: Builder, x: SSAValue) -> SSAValue:
    return build.cast(x, DataType.DT_FLOAT)


def _aligned(build: Builder, a: SSAValue, b: SSAValue) -> tuple[SSAValue, SSAValue]:
    """Factors with the same batch dimensions where these broadcast in part."""
    left, right = build.shape(a), build.shape(b)
    if len(left) < 2 or len(right) < 2 or (len(left) == len(right) == 2):
        return a, b
    rank = max(len(left), len(right))
    one = (1,) * (rank - len(left)) + left[:-2]
    two = (1,) * (rank - len(right)) + right[:-2]
    batch = tuple(max(p, q) for p, q in zip(one, two, strict=True)) if rank > 2 else ()
    a = build.reshape(a, (*one, *left[-2:]))
    b = build.reshape(b, (*two, *right[-2:]))
    return build.spread(a, (*batch, *left[-2:])), build.spread(b, (*batch, *right[-2:]))


def mat_mul_v3(build: Builder, op: GeOp) -> SSAValue:
    """A stack of matrices as one."""
    x1 = op.operands[0]
    shape = build.shape(x1)
    if len(shape) == 3:
        x1 = build.reshape(x1, [shape[0] * shape[1], shape[2]])
    y = product(
        build,
        x1,
        op.operands[1],
        bool(op.get_attr("transpose_x1")),
        bool(op.get_attr("transpose_x2")),
    )
    bias = build.slot("bias")
    y = y if bias is None else build("Add", y, build.wide(bias))
    return build.like(y, op.results[0])


def fused(build: Builder, op: GeOp) -> SSAValue:
    """FusedMatMul: add, mul, relu or gelu behind the product"""
    a, b = op.operands[:2]
    y = product(build, a, b, bool(op.get_attr("transpose_x1")), bool(op.get_attr("transpose_x2")))
    bias, x3, kind = build.slot("bias"), build.slot("x3"), op.get_attr("fused_op_type")
    y = y if bias is None else build("Add", y, build.wide(bias))
    if x3 is not None:
        y = build("Add" if kind == "add" else "Mul", y, build.wide(x3))
    elif kind == "relu":
        y = build("Relu", y)
    elif kind.startswith("gelu"):
        y = build("Gelu", y) if kind == "gelu_tanh" else build("GeluV2", y, approximate="none")
    return build.like(y, op.results[0])


def transposed_batches(build: Builder, op: GeOp) -> SSAValue:
    """TransposeBatchMatMul: permutations around the product"""
    a, b = op.operands[:2]
    for i, name in enumerate(("perm_x1", "perm_x2")):
        perm = list(op.get_attr(name))
        if perm:
            a, b = (build.transpose(a, perm), b) if i == 0 else (a, build.transpose(b, perm))
    y = product(build, a, b)
    bias = build.slot("bias")
    if bias is not None:
        y = build("Add", y, build.reshape(build.wide(bias), [build.count(bias)]))
    perm = list(op.get_attr("perm_y"))
    return build.like(build.transpose(y, perm) if perm else y, op.results[0])


def fully_connected(build: Builder, op: GeOp) -> SSAValue:
    x, w = op.operands[:2]
    shape = build.shape(x)
    axis = op.get_attr("axis") % len(shape)
    rows = build.reshape(x, [prod(shape[:axis]), prod(shape[axis:])])
    matrix = build.reshape(w, build.shape(w)[:2])
    if build.dtype(x) not in (*HALVES, DataType.DT_FLOAT):
        raise build.decline(f"for element type {build.dtype(x).name}")
    y = product(build, rows, matrix, False, not op.get_attr("transpose"))
    b = build.slot("b")
    if b is not None:
        y = build("Add", y, build.reshape(build.wide(b), [1, build.count(b)]))
    return build.like(y, op.results[0])


def gemm(build: Builder, op: GeOp) -> SSAValue:
    """alpha op(a) op(b) + beta c"""
    a, b, c, alpha, beta = op.operands
    swaps = (bool(op.get_attr(name)) for name in ("transpose_a", "transpose_b"))
    y = product(build, a, b, next(swaps), next(swaps))
    y = build("Mul", y, build.reshape(build.wide(alpha), [1, 1]))
    more = build("Mul", build.wide(c), build.reshape(build.wide(beta), [1, 1]))
    return build.like(build("Add", y, more), op.results[0])


def einsum(build: Builder, op: GeOp) -> SSAValue:
    """Operands two by two, by products over the labels that nothing later has; one by sums."""
    parts = build.many("x")
    terms, right = einsum_terms(op.get_attr("equation"), len(parts))
    if "." in "".join((*terms, right)) or any(len(set(t)) != len(t) for t in terms):
        raise build.decline("for labels that repeat or stand for any dimensions")
    values = list(parts)
    while len(values) > 1:
        rest = set(right).union(*terms[2:])
        kept = [c for c in dict.fromkeys(terms[0] + terms[1]) if c in rest]
        values[:2] = [_contracted(build, values[0], terms[0], values[1], terms[1], kept)]
        terms[:2] = ["".join(kept)]
    value, term = _summed(build, values[0], terms[0], set(right))
    return build.like(build.transpose(value, [term.index(c) for c in right]), op.results[0])


def _contracted(
    build: Builder, a: SSAValue, left: str, b: SSAValue, right: str, kept: Sequence[str]
) -> SSAValue:
    """The product of two terms with the labels `kept`, in that order."""
    a, left = _summed(build, a, left, set(right) | set(kept))
    b, right = _summed(build, b, right, set(left) | set(kept))
    sizes = dict(zip(left + right, (*build.shape(a), *build.shape(b)), strict=True))
    batch = [c for c in left if c in right and c in kept]
    inner = [c for c in left if c in right and c not in kept]
    rows = [c for c in left if c not in right]
    cols = [c for c in right if c not in left]
    one = build.transpose(a, [left.index(c) for c in (*batch, *rows, *inner)])
    two = build.transpose(b, [right.index(c) for c in (*batch, *inner, *cols)])
    counts = [prod(sizes[c] for c in group) for group in (batch, rows, inner, cols)]
    one = build.reshape(one, [counts[0], counts[1], counts[2]])
    two = build.reshape(two, [counts[0], counts[2], counts[3]])
    y = build.reshape(product(build, one, two), [sizes[c] for c in (*batch, *rows, *cols)])
    have = [*batch, *rows, *cols]
    return build.transpose(y, [have.index(c) for c in kept])


def _summed(build: Builder, x: SSAValue, term: str, wanted: set[str]) -> tuple[SSAValue, str]:
    """Labels that stand nowhere else summed away."""
    gone = [i for i, c in enumerate(term) if c not in wanted]
    if not gone:
        return x, term
    total = build.reduce("Sum", build.wide(x), gone, False)
    return total, "".join(c for c in term if c in wanted)


EXPANSIONS: dict[str, Expansion] = {
    **dict.fromkeys(
        ("MatMul", "MatMulV2", "BatchMatMul", "BatchMatMulV2", "BatchMatMulV3"), batches
    ),
    "QuantBatchMatmulV3": quant_matmul,
    "WeightQuantBatchMatmulV2": weight_quant,
    "MatMulV3": mat_mul_v3,
    "FusedMatMul": fused,
    "TransposeBatchMatMul": transposed_batches,
    "FullyConnection": fully_connected,
    "GEMM": gemm,
    "Einsum": einsum,
}
