"""Parts of attention blocks that older graphs fuse, for encoders and for shifted windows.

Their fusions make the operands, and the order of steps inside is not public where a docstring says
that the values are unconfirmed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from xdsl.utils.exceptions import VerifyException

from ge_xdsl.dialects.ge.elements import one_element_type
from ge_xdsl.dialects.ge.extents import at_least_rank, bounded, count_of, merge_shapes, of_rank
from ge_xdsl.dialects.ge.fields import (
    boolean,
    booleans,
    floating,
    integer,
    integers,
    operand,
    optional,
    result,
)
from ge_xdsl.dialects.ge.matmul import contract
from ge_xdsl.dialects.ge.op import GeOp
from ge_xdsl.dialects.ge.operands import check_length
from ge_xdsl.dialects.ge.recurrent import dims, part_of
from ge_xdsl.dialects.ge.shapes import merge_dim, multiply_dims, normalize_axes
from ge_xdsl.dialects.ge.suffix import check_floats
from ge_xdsl.dialects.ge.types import DYNAMIC, DataType, Tensor

if TYPE_CHECKING:
    from ge_xdsl.dialects.ge.types import Array


class AttentionScoreOp(GeOp):
    """attention_score [B * S, N * D] = softmax(query @ key^T * scale + padding_mask) @ value

    softmax_output is [B, N, S, keys]. The values are unconfirmed. C1: query and padding_mask have
    rank 4. C2: keep_prob is above 0 and at most 1. C3: query, key and value are floating-point
    tensors of one element type. C4: softmax_axes are dimensions of softmax_output.
    """

    name = "ge.AttentionScore"

    query = operand()
    key = operand()
    value = operand()
    padding_mask = operand()
    scale = operand()
    drop_mask = optional()
    attention_score = result()
    softmax_output = result()
    keep_prob = floating(1.0)
    query_transpose = boolean(False)
    key_transpose = boolean(False)
    bmm_score_transpose_a = boolean(False)
    bmm_score_transpose_b = boolean(False)
    softmax_axes = integers((-1,))

    def infer(self, query: Tensor, key: Tensor, value: Tensor, *rest: Tensor | None) -> object:
        check_floats(query=query, key=key, value=value)  # C3
        one_element_type(query, key, value)  # C3
        check_keep(self.keep_prob)  # C2
        normalize_axes(self.softmax_axes, 4, "softmax_axes")  # C4
        b, n, s, d = dims(query, 4, "query")  # C1
        keys = dims(rest[0], 4, "padding_mask")[3]  # C1
        score = bounded((multiply_dims(b, s), multiply_dims(n, d)))
        return query.with_shape(score), query.with_shape((b, n, s, keys))


def check_keep(probability: float) -> None:
    """A share of elements that stay."""
    if not 0 < probability <= 1:
        raise VerifyException(f"keep_prob is {probability}, expected above 0, at most 1")


class SwinAttentionScoreOp(GeOp):
    """attention_score [B, S, N * D] = softmax((query * scale) @ key^T + masks) @ value

    softmax is [B, N, S, keys]. The values are unconfirmed. C1: query has rank 4. C2: keep_prob is
    above 0 and at most 1. C3: query, key and value are floating-point tensors of one element type.
    C4: padding_mask1 is given, of rank 4. C5: softmax_axes are dimensions of softmax.
    """

    name = "ge.SwinAttentionScore"

    query = operand()
    key = operand()
    value = operand()
    padding_mask1 = optional()
    padding_mask2 = optional()
    scale = operand()
    drop_mask = optional()
    attention_score = result()
    softmax = result()
    keep_prob = floating(1.0)
    query_transpose = boolean(False)
    key_transpose = boolean(False)
    bmm_score_transpose_a = boolean(False)
    bmm_score_transpose_b = boolean(False)
    softmax_axes = integers(())

    def infer(self, query: Tensor, key: Tensor, value: Tensor, *rest: Tensor | None) -> object:
        check_floats(query=query, key=key, value=value)  # C3
        one_element_type(query, key, value)  # C3
        check_keep(self.keep_prob)  # C2
        normalize_axes(self.softmax_axes, 4, "softmax_axes")  # C5
        b, n, s, d = dims(query, 4, "query")  # C1
        if rest[0] is None:  # C4
            raise VerifyException("padding_mask1 is missing, expected it")
        keys = dims(rest[0], 4, "padding_mask1")[3]  # C4
        return query.with_shape((b, s, multiply_dims(n, d))), query.with_shape((b, n, s, keys))


class AttentionLnQKVOp(GeOp):
    """norm = layer norm of x, and its products with three kernels; the values are unconfirmed

    norm has the shape of x, mean and variance one number per row; that query_output, key_output and
    value_output are the plain products [rows, columns] is unconfirmed, as a later step may arrange
    their heads. C1: x has rank 2 or more. C2: the kernels have rank 2 and the columns of x as rows.
    C3: gamma has the columns of x.
    """

    name = "ge.AttentionLnQKV"

    x = operand()
    kernel_query = operand()
    kernel_key = operand()
    kernel_value = operand()
    gamma = operand()
    beta = operand()
    bias_query = optional()
    bias_key = optional()
    bias_value = optional()
    norm = result()
    query_output = result()
    key_output = result()
    value_output = result()
    mean = result()
    variance = result()
    epsilon = floating(1e-07)
    trans_a = boolean(False)
    trans_b = boolean(False)

    def infer(self, x: Tensor, *rest: Tensor | None) -> object:
        at_least_rank(x, 2, "x")  # C1
        columns = DYNAMIC if x.shape is None else x.shape[-1]
        gamma = rest[3]
        if gamma is not None and gamma.shape:
            merge_dim(gamma.shape[-1], columns, "columns of gamma and x")  # C3
        lead = None if x.shape is None else x.shape[:-1]
        products: list[Tensor] = []
        for io, kernel in zip(self.prototype.inputs[1:4], rest[:3], strict=True):
            first, second = dims(kernel, 2, io.name)  # C2
            inner, outer = (second, first) if self.trans_b else (first, second)
            merge_dim(inner, columns, f"rows of {io.name} and columns of x")  # C2
            products.append(x.with_shape(None if lead is None else (*lead, outer)))
        kept = x.with_shape(None if lead is None else (*lead, 1))
        return x, *products, kept, kept


class AttentionQKVGradWOp(GeOp):
    """dw_query = x^T @ query_dx, dw_key = x^T @ key_dw, dw_value = x^T @ value_dw, dbias_* = the
    column sums of query_dx, key_dw and value_dw

    A missing gradient gives zeros. C1: the operands are matrices with as many rows. C2: trans_a is
    true and the other flags false.
    """

    name = "ge.AttentionQKVGradW"

    x = operand()
    query_dx = operand()
    key_dw = optional()
    value_dw = optional()
    dw_query = result()
    dw_key = result()
    dw_value = result()
    dbias_query = result()
    dbias_key = result()
    dbias_value = result()
    trans_a = boolean(True)
    trans_b = boolean(False)
    trans_dw = boolean(False)

    widens = True

    def infer(self, x: Tensor, *gradients: Tensor | None) -> object:
        if not self.trans_a or self.trans_b or self.trans_dw:  # C2
            raise VerifyException(
                f"trans_a is {self.trans_a}, trans_b {self.trans_b} and trans_dw {self.trans_dw}, "
                "expected True, False and False"
            )
        rows, columns = dims(x, 2, "x")  # C1
        weights: list[Tensor] = []
        biases: list[Tensor] = []
        for io, tensor in zip(self.prototype.inputs[1:], gradients, strict=True):
            mine = gradients[0] if tensor is None else tensor
            have, width = dims(mine, 2, io.name)  # C1
            merge_dim(rows, have, f"rows of x and {io.name}")  # C1
            weights.append(x.with_shape((columns, width)))
            biases.append(x.with_shape((width,)))
        return *weights, *biases

    def evaluate(self, x: Array, *gradients: Array | None) -> object:
        import numpy as np

        assert gradients[0] is not None
        empty = np.zeros_like(gradients[0])
        given = [empty if g is None else g for g in gradients]
        sums = [np.sum(g, axis=0, dtype=g.dtype) for g in given]
        return *(contract(x.T, g) for g in given), *sums


class AttentionQKVGradXOp(GeOp):
    """dx = ln_dx + query_dx @ kernel_query^T + key_dw @ kernel_key^T + value_dw @ kernel_value^T

    C1: the operands are matrices, and each gradient has the columns of its kernel. C2: the kernels
    have one number of rows, the gradients too. C3: trans_a is false and trans_b true. C4: ln_dx has
    the shape of dx.
    """

    name = "ge.AttentionQKVGradX"

    ln_dx = optional()
    query_dx = operand()
    key_dw = operand()
    value_dw = operand()
    kernel_query = operand()
    kernel_key = operand()
    kernel_value = operand()
    dx = result()
    trans_a = boolean(False)
    trans_b = boolean(True)

    widens = True

    def infer(self, ln_dx: Tensor | None, *rest: Tensor) -> Tensor:
        if self.trans_a or not self.trans_b:  # C3
            raise VerifyException(
                f"trans_a is {self.trans_a} and trans_b {self.trans_b}, expected False and True"
            )
        rows = columns = DYNAMIC
        names = [io.name for io in self.prototype.inputs[1:]]
        for i in range(3):
            have, inner = dims(rest[i], 2, names[i])  # C1
            outer, width = dims(rest[i + 3], 2, names[i + 3])  # C1
            merge_dim(inner, width, f"columns of {names[i]} and {names[i + 3]}")  # C1
            rows = merge_dim(rows, have, "rows of the gradients")  # C2
            columns = merge_dim(columns, outer, "rows of the kernels")  # C2
        shape = (rows, columns)
        if ln_dx is not None:
            merge_shapes(shape, ln_dx.shape, "shapes of dx and ln_dx")  # C4
        return rest[0].with_shape(shape)

    def evaluate(self, ln_dx: Array | None, *rest: Array) -> Array:
        first, second, third = (contract(rest[i], rest[i + 3].T) for i in range(3))
        found = first + second + third
        return found if ln_dx is None else found + ln_dx


class SwinTransformerLnQKVOp(GeOp):
    """Query, key and value [B * M / seq_length, head_num, seq_length, head_dim] of x [B, M, C]

    Layer norm, windows, one product with weight [C, 3 * C]; the values are unconfirmed. C1: x has
    rank 3. C2: head_num, head_dim and seq_length are at least 1. C3: seq_length divides B * M. C4:
    shifts has no entry or 4.
    """

    name = "ge.SwinTransformerLnQKV"

    x = operand()
    gamma = operand()
    beta = operand()
    weight = operand()
    bias = operand()
    query_output = result()
    key_output = result()
    value_output = result()
    head_num = integer()
    head_dim = integer()
    seq_length = integer()
    shifts = integers(())
    epsilon = floating(1e-07)

    def infer(self, x: Tensor, *rest: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        b, m, _ = dims(x, 3, "x")  # C1
        if len(self.shifts):
            check_length(self.shifts, 4, "shifts")  # C4
        heads, length, depth = (
            count_of(value, name, 1)  # C2
            for value, name in (
                (self.head_num, "head_num"),
                (self.seq_length, "seq_length"),
                (self.head_dim, "head_dim"),
            )
        )
        windows = part_of(multiply_dims(b, m), length, "x")  # C3
        out = x.with_shape(bounded((windows, heads, length, depth)))
        return out, out, out


class SwinAttentionFFNOp(GeOp):
    """y = x1 @ x2 + bias + x3 in the shape of x1, its windows put back; the values are unconfirmed

    C1: x1 has rank 3 and x2 rank 2. C2: shifts has no entry or 4.
    """

    name = "ge.SwinAttentionFFN"

    x1 = operand()
    x2 = operand()
    bias = operand()
    x3 = optional()
    y = result()
    shifts = integers(())

    def infer(self, x1: Tensor, x2: Tensor, bias: Tensor, x3: Tensor | None) -> Tensor:
        of_rank(x1, 3, "x1")  # C1
        of_rank(x2, 2, "x2")  # C1
        if len(self.shifts):
            check_length(self.shifts, 4, "shifts")  # C2
        return x1


class _MultiHead(GeOp):
    """Heads of a block with projections: B = rows / tgt_len, N heads of D numbers."""

    attn_head_num = integer()
    attn_dim_per_head = integer()
    src_len = integer()
    tgt_len = integer()
    keep_prob = floating()
    softmax_use_float = boolean()

    def sizes(self, query: Tensor) -> tuple[int, int, int, int, int]:
        """(B, N, D, source length, target length)."""
        check_keep(self.keep_prob)  # C2
        n, d, source, target = (
            count_of(self.get_attr(name), name, 1)  # C3
            for name in ("attn_head_num", "attn_dim_per_head", "src_len", "tgt_len")
        )
        rows = dims(query, 2, "query")[0]  # C1
        return part_of(rows, target, "query"), n, d, source, target  # C4


class MultiHeadAttentionOp(_MultiHead):
    """A block of attention with its projections, y = context @ out_proj_weight

    attn_scores are f32 when softmax_use_float; dropout_mask has a bit per score. The values are
    unconfirmed. C1: query has rank 2. C2: keep_prob is above 0 and at most 1. C3: attn_head_num,
    attn_dim_per_head, src_len and tgt_len are at least 1. C4: tgt_len divides the rows of query.
    """

    name = "ge.MultiHeadAttention"

    query = operand()
    key = operand()
    value = operand()
    query_weight = operand()
    key_weight = operand()
    value_weight = operand()
    attn_mask = operand()
    out_proj_weight = operand()
    query_bias = optional()
    key_bias = optional()
    value_bias = optional()
    out_proj_bias = optional()
    dropout_mask_input = optional()
    y = result()
    dropout_mask = result()
    query_res = result()
    key_res = result()
    value_res = result()
    attn_scores = result()
    attn_res = result()
    context = result()

    def infer(self, query: Tensor, *rest: Tensor | None) -> object:
        b, n, d, source, target = self.sizes(query)
        rows = DYNAMIC if query.shape is None else query.shape[0]
        scores = bounded((b, n, target, source))
        count = multiply_dims(*scores)
        wide = DataType.DT_FLOAT if self.softmax_use_float else query.dtype
        keys = query.with_shape(bounded((b, n, source, d)))
        return (
            query.with_shape(bounded((rows, n * d))),
            Tensor(DataType.DT_UINT8, (DYNAMIC if count == DYNAMIC else count // 8,)),
            query.with_shape((b, n, target, d)),
            keys,
            keys,
            Tensor(wide, scores),
            query.with_shape(scores),
            query.with_shape((multiply_dims(b, target), n * d)),
        )


class MultiHeadAttentionGradOp(_MultiHead):
    """Gradients of MultiHeadAttention, each in the shape of what it belongs to

    Those of the biases have one number per column of their weight. The values are unconfirmed. C1:
    query has rank 2. C2: keep_prob is above 0 and at most 1. C3: attn_head_num, attn_dim_per_head,
    src_len and tgt_len are at least 1. C4: tgt_len divides the rows of query. C5: bias_grad_mask
    has 4 entries. C6: the weights have rank 2.
    """

    name = "ge.MultiHeadAttentionGrad"

    query = operand()
    key = operand()
    value = operand()
    query_weight = operand()
    key_weight = operand()
    value_weight = operand()
    out_proj_weight = operand()
    query_res = operand()
    key_res = operand()
    value_res = operand()
    attn_scores = operand()
    attn_res = operand()
    context = operand()
    y_grad = operand()
    dropout_mask = optional()
    query_weight_grad = result()
    key_weight_grad = result()
    value_weight_grad = result()
    out_proj_weight_grad = result()
    query_grad = result()
    key_grad = result()
    value_grad = result()
    query_bias_grad = result()
    key_bias_grad = result()
    value_bias_grad = result()
    out_proj_bias_grad = result()
    bias_grad_mask = booleans()

    def infer(self, query: Tensor, *rest: Tensor | None) -> object:
        self.sizes(query)
        check_length(self.bias_grad_mask, 4, "bias_grad_mask")  # C5
        inputs = [query, *(t for t in rest[:2] if t is not None)]
        weights = [t for t in rest[2:6] if t is not None]
        names = [io.name for io in self.prototype.inputs[3:7]]
        widths = [dims(t, 2, name)[1] for t, name in zip(weights, names, strict=True)]  # C6
        return *weights, *inputs, *(query.with_shape((width,)) for width in widths)
