"""Fused attention: o = softmax(q @ k^T * scale + shift, where not masked) @ v per head.

A mask hides where it is not 0. A query that sees no key gives 0. Layouts: B batch, S sequence, N
heads, D length of a head, H = N * D.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from xdsl.utils.exceptions import VerifyException

from ge_xdsl.dialects.ge.elements import one_element_type, require
from ge_xdsl.dialects.ge.fields import (
    boolean,
    floating,
    integer,
    operand,
    optional,
    result,
    string,
    variadic,
)
from ge_xdsl.dialects.ge.heads import (
    PACKED,
    Window,
    as_scores,
    check_heads,
    check_lengths,
    check_mask_shape,
    from_heads,
    head_dims,
    hidden,
    joined,
    laid_out,
    lengths_of,
    scores_of,
    spans_of,
    split_layout,
    to_heads,
    weigh,
    weigh_packed,
)
from ge_xdsl.dialects.ge.op import GeOp
from ge_xdsl.dialects.ge.rounding import chosen
from ge_xdsl.dialects.ge.types import DYNAMIC, DataType, Tensor

if TYPE_CHECKING:
    from ge_xdsl.dialects.ge.types import Array

SIMPLE = ("BSH", "BSND", "BNSD", "NSD", "SH")
INPUTS = frozenset({DataType.DT_FLOAT, DataType.DT_FLOAT16, DataType.DT_BF16, DataType.DT_INT8})


class _Inference(GeOp):
    """What the attention ops for inference share."""

    layouts: ClassVar[tuple[str, ...]]

    widens = True

    def kv_heads(self) -> int:
        """0 means as many as query heads."""
        return self.get_attr("num_key_value_heads") or self.get_attr("num_heads")

    def head_counts(self) -> tuple[int, int]:
        return self.get_attr("num_heads"), self.kv_heads()

    def out_dtype_of(self, query: Tensor, quant_scale2: Tensor | None) -> DataType:
        """i8 with quant_scale2, f16 for i8 queries, else that of query."""
        if quant_scale2 is not None:
            return DataType.DT_INT8
        return DataType.DT_FLOAT16 if query.dtype is DataType.DT_INT8 else query.dtype

    def check_masks(self, rest: Sequence[Tensor | None], b: int, n: int, sq: int, skv: int) -> None:
        """The shapes of pse_shift, atten_mask and both lengths, which `rest` starts with."""
        packed = split_layout(self.get_attr("input_layout"))[0] in PACKED
        if not packed:
            check_mask_shape(rest[0], "pse_shift", b, n, sq, skv)
            if self.get_attr("sparse_mode") < 2:
                check_mask_shape(rest[1], "atten_mask", b, n, sq, skv)
        check_lengths(rest[2], "actual_seq_lengths", DYNAMIC if packed else b)
        check_lengths(rest[3], "actual_seq_lengths_kv", DYNAMIC if packed else b)

    def refuse(self, names: Sequence[str], arrays: Sequence[Array | None]) -> None:
        """Raises ValueError for an operand whose meaning is not modelled."""
        for name, array in zip(names, arrays, strict=True):
            if array is not None:
                raise ValueError(f"{name} is given, expected none: its mode is not modelled")

    def attention(
        self,
        q: Array,
        keys: Sequence[Array],
        values: Sequence[Array],
        masks: tuple[Array | None, Array | None],
        lengths: tuple[Array | None, Array | None],
        window: Window,
        scale: float,
    ) -> Any:
        """(attention, max, sum) with [B, N, S, D] arrays; masks are pse_shift and atten_mask."""
        import numpy as np

        layout, _ = split_layout(self.get_attr("input_layout"))
        if layout in PACKED:
            k, v = (to_heads(a[0], layout, 0) for a in (keys, values))
            return self._packed((q, k, v), masks, lengths, window, scale)
        k, sizes = joined(keys, layout, self.kv_heads())
        v, _ = joined(values, layout, self.kv_heads())
        shift, mask = masks
        scores = scores_of(q, k) * np.float32(scale)
        scores = scores if shift is None else scores + as_scores(shift)
        b, _, sq, skv = scores.shape
        kv_lengths = lengths[1] if lengths[1] is not None else sizes
        places = lengths_of(lengths[0], sq, b), lengths_of(kv_lengths, skv, b)
        return weigh(scores, hidden(window, mask, *places, (sq, skv)), v)

    def _packed(
        self,
        qkv: tuple[Array, Array, Array],
        masks: tuple[Array | None, Array | None],
        lengths: tuple[Array | None, Array | None],
        window: Window,
        scale: float,
    ) -> Any:
        """`attention` for items one after another, ending where `lengths` say."""
        shift, mask = masks
        if shift is not None or (mask is not None and window.mode < 2):
            raise ValueError(
                "pse_shift or atten_mask is given, expected none: its layout is not modelled"
            )
        return weigh_packed(qkv, spans_of(qkv, lengths), window, scale)


class PromptFlashAttentionOp(_Inference):
    """attention_out = softmax(query @ key^T * scale_value + pse_shift, where not hidden) @ value

    sparse_mode 0: atten_mask hides, with it also keys outside i - pre_tokens <= j <= i +
    next_tokens; 1: atten_mask; 2: j > i; 3: j > i + Skv - Sq; 4: outside i + Skv - Sq - pre_tokens
    <= j <= i + Skv - Sq + next_tokens. The lengths cut Sq and Skv per item; rows beyond are 0. Key
    heads (num_key_value_heads, 0 for as many) divide the query's. That pse_shift comes after the
    scale is unconfirmed. Layouts with T have the items one after another, and the lengths say where
    each ends. The quantised forms have no value here. inner_precise has no effect: sums are in f32.
    C1: input_layout is BSH, BSND, BNSD, NSD, SH, BNSD_BSND, TND or NTD_TND. C2: query, key and
    value are of one type, a float or i8. C3: their heads, batches, sequences and head lengths fit.
    C4: atten_mask and pse_shift broadcast to [B, N, Sq, Skv] (atten_mask for sparse modes 0 and 1,
    both but in layouts with T). C5: lengths are i32 or i64, one or one per item. C6: sparse_mode is
    0 to 4.
    """

    name = "ge.PromptFlashAttention"

    query = operand()
    key = operand()
    value = operand()
    pse_shift = optional()
    atten_mask = optional()
    actual_seq_lengths = optional()
    actual_seq_lengths_kv = optional()
    deq_scale1 = optional()
    quant_scale1 = optional()
    deq_scale2 = optional()
    quant_scale2 = optional()
    quant_offset2 = optional()
    attention_out = result()
    num_heads = integer()
    scale_value = floating(1.0)
    pre_tokens = integer(214748647)
    next_tokens = integer(0)
    input_layout = string("BSH")
    num_key_value_heads = integer(1)
    sparse_mode = integer(0)
    inner_precise = integer(1)

    layouts = (*SIMPLE, "BNSD_BSND", "TND", "NTD_TND")

    def infer(self, query: Tensor, key: Tensor, value: Tensor, *rest: Tensor | None) -> Tensor:
        chosen(self.input_layout, "input_layout", self.layouts)  # C1
        chosen(self.sparse_mode, "sparse_mode", (0, 1, 2, 3, 4))  # C6
        require(query, "query", INPUTS, "a floating-point type or DT_INT8")  # C2
        one_element_type(query, key, value)  # C2
        layout, out_layout = split_layout(self.input_layout)
        b, n, sq, skv, dv = check_heads(query, key, value, layout, self.head_counts())  # C3
        self.check_masks(rest, b, n, sq, skv)  # C4 C5
        shape = laid_out(out_layout, b, n, sq, dv)
        return Tensor(self.out_dtype_of(query, rest[7]), shape)

    def evaluate(self, query: Array, key: Array, value: Array, *rest: Array | None) -> Array:
        self.refuse([io.name for io in self.prototype.inputs[7:]], rest[4:])
        if query.dtype.kind == "i":
            raise ValueError("query is DT_INT8, expected a float: its mode is not modelled")
        layout, out_layout = split_layout(self.input_layout)
        q = to_heads(query, layout, self.num_heads)
        window = Window(self.sparse_mode, self.pre_tokens, self.next_tokens)
        masks, lengths = (rest[0], rest[1]), (rest[2], rest[3])
        out, *_ = self.attention(q, [key], [value], masks, lengths, window, self.scale_value)
        return from_heads(out, out_layout).astype(query.dtype)


def _check_lists(
    query: Tensor,
    key: Sequence[Tensor],
    value: Sequence[Tensor],
    layout: str,
    heads: tuple[int, int],
) -> tuple[int, int, int, int, int]:
    """(B, N, Sq, Skv, Dv) for keys and values in one tensor, or in one per item of the batch."""
    if not key or len(key) != len(value):
        raise VerifyException(
            f"key lists {len(key)} tensors and value {len(value)}, expected as many, 1 or more"
        )
    if len(key) == 1:
        return check_heads(query, key[0], value[0], layout, heads)
    b, n, sq, d = head_dims(query, layout, heads[0], "query")
    if b not in (len(key), DYNAMIC):
        raise VerifyException(f"key lists {len(key)} tensors, expected 1 or {b}")
    dv = DYNAMIC
    one = Tensor(query.dtype, laid_out(layout, 1, n, sq, d))
    for k, v in zip(key, value, strict=True):
        dv = check_heads(one, k, v, layout, heads)[4]
    return len(key), n, sq, DYNAMIC, dv


class IncreFlashAttentionOp(_Inference):
    """attention_out = softmax(query @ key^T * scale_value + pse_shift, where not hidden) @ value

    One query per item (Sq = 1). key and value are one tensor each, or list one per item. atten_mask
    hides, actual_seq_lengths cuts the keys per item. Key heads (num_key_value_heads, 0 for as many)
    divide the query's. That pse_shift comes after the scale is unconfirmed. Quantised keys, paged
    keys (block_table) and kv_padding_size have no value here. So block_size, which belongs to paged
    keys, has no effect, nor has inner_precise: sums are in f32. C1: input_layout is BSH, BSND,
    BNSD, NSD or SH. C2: query is a float or i8. C3: heads, batches, sequences and head lengths fit,
    as many keys as values, one or one per item. C4: Sq is 1. C5: atten_mask and pse_shift broadcast
    to [B, N, 1, Skv]. C6: lengths are i32 or i64, one or one per item.
    """

    name = "ge.IncreFlashAttention"

    query = operand()
    key = variadic()
    value = variadic()
    pse_shift = optional()
    atten_mask = optional()
    actual_seq_lengths = optional()
    dequant_scale1 = optional()
    quant_scale1 = optional()
    dequant_scale2 = optional()
    quant_scale2 = optional()
    quant_offset2 = optional()
    antiquant_scale = optional()
    antiquant_offset = optional()
    block_table = optional()
    kv_padding_size = optional()
    attention_out = result()
    num_heads = integer()
    scale_value = floating(1.0)
    input_layout = string("BSH")
    num_key_value_heads = integer(1)
    block_size = integer(0)
    inner_precise = integer(1)

    layouts = SIMPLE

    def infer(
        self, query: Tensor, key: Sequence[Tensor], value: Sequence[Tensor], *rest: Tensor | None
    ) -> Tensor:
        chosen(self.input_layout, "input_layout", self.layouts)  # C1
        require(query, "query", INPUTS, "a floating-point type or DT_INT8")  # C2
        layout = self.input_layout
        dtype = self.out_dtype_of(query, rest[6])
        if rest[10] is not None:  # paged keys
            return Tensor(dtype, query.shape)
        b, n, sq, skv, dv = _check_lists(query, key, value, layout, self.head_counts())  # C3
        if sq not in (1, DYNAMIC):  # C4
            raise VerifyException(f"query has {sq} places, expected 1")
        check_mask_shape(rest[0], "pse_shift", b, n, 1, skv)  # C5
        check_mask_shape(rest[1], "atten_mask", b, n, 1, skv)  # C5
        check_lengths(rest[2], "actual_seq_lengths", b)  # C6
        return Tensor(dtype, laid_out(layout, b, n, 1, dv))

    def evaluate(
        self, query: Array, key: Sequence[Array], value: Sequence[Array], *rest: Array | None
    ) -> Array:
        self.refuse([io.name for io in self.prototype.inputs[6:]], rest[3:])
        if query.dtype.kind == "i" or key[0].dtype.kind == "i":
            raise ValueError("query or key is DT_INT8, expected floats: its mode is not modelled")
        layout = self.input_layout
        q = to_heads(query, layout, self.num_heads)
        masks, lengths = (rest[0], rest[1]), (None, rest[2])
        window = Window(1)
        out, *_ = self.attention(q, key, value, masks, lengths, window, self.scale_value)
        return from_heads(out, layout).astype(query.dtype)


class FusedInferAttentionScoreOp(_Inference):
    """attention_out = softmax(query @ key^T * scale + pse_shift, where not hidden) @ value

    Sparse modes, lengths and key heads as in PromptFlashAttention; key and value are one tensor
    each, or list one per item. With softmax_lse_flag softmax_lse (f32) is ln(sum of e^score) of
    each row as [B, N, Sq, 1] ([T, N, 1]), which is unconfirmed, else it is empty. The operands
    after actual_seq_lengths_kv have no value here. So block_size, antiquant_mode,
    key_antiquant_mode, value_antiquant_mode and query_quant_mode, which belong to them, have no
    effect, nor has inner_precise: sums are in f32. C1: input_layout is BSH, BSND, BNSD, NSD, SH,
    BNSD_BSND, TND, TND_NTD, NTD_TND, or BNSD, BSND or BSH with _NBSD. C2: query is a float or i8.
    C3: heads, batches, sequences and head lengths fit, as many keys as values, one or one per item.
    C4: atten_mask and pse_shift broadcast to [B, N, Sq, Skv] (atten_mask for sparse modes 0 and 1).
    C5: lengths are i32 or i64, one or one per item. C6: sparse_mode is 0 to 4. C7: pse_type is 0.
    C8: out_dtype is 0.
    """

    name = "ge.FusedInferAttentionScore"

    query = operand()
    key = variadic()
    value = variadic()
    pse_shift = optional()
    atten_mask = optional()
    actual_seq_lengths = optional()
    actual_seq_lengths_kv = optional()
    dequant_scale1 = optional()
    quant_scale1 = optional()
    dequant_scale2 = optional()
    quant_scale2 = optional()
    quant_offset2 = optional()
    antiquant_scale = optional()
    antiquant_offset = optional()
    block_table = optional()
    query_padding_size = optional()
    kv_padding_size = optional()
    key_antiquant_scale = optional()
    key_antiquant_offset = optional()
    value_antiquant_scale = optional()
    value_antiquant_offset = optional()
    key_shared_prefix = optional(newer=True)
    value_shared_prefix = optional(newer=True)
    actual_shared_prefix_len = optional(newer=True)
    query_rope = optional(newer=True)
    key_rope = optional(newer=True)
    key_rope_antiquant_scale = optional(newer=True)
    dequant_scale_query = optional(newer=True)
    learnable_sink = optional(newer=True)
    q_start_idx = optional(newer=True)
    kv_start_idx = optional(newer=True)
    attention_out = result()
    softmax_lse = result()
    num_heads = integer()
    scale = floating(1.0)
    pre_tokens = integer(2147483647)
    next_tokens = integer(2147483647)
    input_layout = string("BSH")
    num_key_value_heads = integer(0)
    sparse_mode = integer(0)
    inner_precise = integer(0)
    block_size = integer(0)
    antiquant_mode = integer(0)
    softmax_lse_flag = boolean(False)
    key_antiquant_mode = integer(0)
    value_antiquant_mode = integer(0)
    query_quant_mode = integer(0)
    pse_type = integer(0)
    out_dtype = integer(0)

    layouts = (
        *SIMPLE,
        *("BNSD_BSND", "BNSD_NBSD", "BSND_NBSD", "BSH_NBSD"),
        *("TND", "TND_NTD", "NTD_TND"),
    )

    def infer(
        self, query: Tensor, key: Sequence[Tensor], value: Sequence[Tensor], *rest: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        self._check_attributes()  # C1 C6 C7 C8
        require(query, "query", INPUTS, "a floating-point type or DT_INT8")  # C2
        layout, out_layout = split_layout(self.input_layout)
        dtype = self.out_dtype_of(query, rest[7])
        if rest[11] is not None:  # paged keys: only the query is in its layout
            b, n, sq, d = head_dims(query, layout, self.num_heads, "query")
            return Tensor(dtype, laid_out(out_layout, b, n, sq, d)), self._lse(b, n, sq)
        b, n, sq, skv, dv = _check_lists(query, key, value, layout, self.head_counts())  # C3
        self.check_masks(rest, b, n, sq, skv)  # C4 C5
        return Tensor(dtype, laid_out(out_layout, b, n, sq, dv)), self._lse(b, n, sq)

    def _check_attributes(self) -> None:
        chosen(self.input_layout, "input_layout", self.layouts)
        chosen(self.sparse_mode, "sparse_mode", (0, 1, 2, 3, 4))
        chosen(self.pse_type, "pse_type", (0,))
        chosen(self.out_dtype, "out_dtype", (0,))

    def _lse(self, b: int, n: int, sq: int) -> Tensor:
        if not self.softmax_lse_flag:
            return Tensor(DataType.DT_FLOAT, (0,))
        packed = split_layout(self.input_layout)[0] in PACKED
        return Tensor(DataType.DT_FLOAT, (sq, n, 1) if packed else (b, n, sq, 1))

    def evaluate(
        self, query: Array, key: Sequence[Array], value: Sequence[Array], *rest: Array | None
    ) -> tuple[Array, Array]:
        import numpy as np

        self.refuse([io.name for io in self.prototype.inputs[7:]], rest[4:])
        if query.dtype.kind == "i" or key[0].dtype.kind == "i":
            raise ValueError("query or key is DT_INT8, expected floats: its mode is not modelled")
        layout, out_layout = split_layout(self.input_layout)
        q = to_heads(query, layout, self.num_heads)
        window = Window(self.sparse_mode, self.pre_tokens, self.next_tokens)
        masks, lengths = (rest[0], rest[1]), (rest[2], rest[3])
        out, largest, total = self.attention(q, key, value, masks, lengths, window, self.scale)
        lse = (largest + np.log(total)).astype(np.float32)
        if layout in PACKED:
            lse = lse[0].transpose(1, 0, 2)
        lse = lse if self.softmax_lse_flag else np.zeros(0, np.float32)
        return from_heads(out, out_layout).astype(query.dtype), lse
