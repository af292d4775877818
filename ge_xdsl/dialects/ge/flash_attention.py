"""Fused attention for training: the attention, and the largest score and sum of each row.

Layouts: B batch, S sequence, N heads, D length of a head, H = N * D, T all sequences in a row.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from xdsl.utils.exceptions import VerifyException

from ge_xdsl.dialects.ge.elements import one_element_type
from ge_xdsl.dialects.ge.fields import (
    boolean,
    floating,
    integer,
    operand,
    optional,
    result,
    string,
)
from ge_xdsl.dialects.ge.heads import (
    Window,
    as_scores,
    check_heads,
    check_lengths,
    check_mask_shape,
    from_heads,
    hidden,
    laid_out,
    lengths_of,
    scores_of,
    spans_of,
    to_heads,
    weigh,
    weigh_packed,
)
from ge_xdsl.dialects.ge.op import GeOp
from ge_xdsl.dialects.ge.rounding import chosen
from ge_xdsl.dialects.ge.suffix import check_floats
from ge_xdsl.dialects.ge.types import DYNAMIC, DataType, Tensor

if TYPE_CHECKING:
    from ge_xdsl.dialects.ge.types import Array


class FlashAttentionScoreOp(GeOp):
    """attention_out = (softmax(s) kept by drop_mask / keep_prob) @ value per head,
    s = scale_value * (query @ key^T + real_shift), hidden by atten_mask and sparse_mode

    sparse_mode 0: atten_mask hides, with it also keys outside i - pre_tockens <= j <= i +
    next_tockens; 1: atten_mask; 2: j > i; 3: j > i + Skv - Sq; 4: outside i + Skv - Sq -
    pre_tockens <= j <= i + Skv - Sq + next_tockens; 5 and 6: as 3, the first prefix[b] keys seen; 7
    and 8 have no value here. pse_type 1 (default) adds real_shift before the scale, 0 after it; 2
    and 3 make the shift themselves and have no value here. drop_mask has a bit per score, lowest
    first, 1 to keep. softmax_max and softmax_sum (f32) are those of each row, eight times;
    softmax_out is empty. Key heads may divide the query's. Layout TND has the items one after
    another, ending where actual_seq_qlen and actual_seq_kvlen say; other layouts ignore those. The
    oldest form of the op ends with atten_mask and has neither sparse_mode nor pse_type. is_flash
    and inner_precise have no effect: sums are in f32 whatever the kernel. C1: input_layout is BSH,
    SBH, BSND, BNSD or TND. C2: query, key and value are floating-point tensors of one element type.
    C3: their heads, batches, sequences and head lengths fit. C4: atten_mask (in sparse modes 0 and
    1) and real_shift broadcast to [B, N, Sq, Skv]. C5: no padding_mask. C6: keep_prob is above 0
    and at most 1. C7: sparse_mode is 0 to 8, pse_type 0 to 3. C8: TND goes with actual_seq_qlen and
    actual_seq_kvlen, i32 or i64 of rank 1. C9: sparse modes 5 and 6 go with prefix, i32 or i64, one
    or one per item.
    """

    name = "ge.FlashAttentionScore"

    query = operand()
    key = operand()
    value = operand()
    real_shift = optional()
    drop_mask = optional()
    padding_mask = optional()
    atten_mask = optional()
    prefix = optional(newer=True)
    actual_seq_qlen = optional(newer=True)
    actual_seq_kvlen = optional(newer=True)
    q_start_idx = optional(newer=True)
    kv_start_idx = optional(newer=True)
    softmax_max = result()
    softmax_sum = result()
    softmax_out = result()
    attention_out = result()
    scale_value = floating(1.0)
    keep_prob = floating(1.0)
    pre_tockens = integer(2147483647)
    next_tockens = integer(2147483647)
    head_num = integer()
    is_flash = boolean(True)
    input_layout = string()
    inner_precise = integer(0)
    sparse_mode = integer(0)
    pse_type = integer(1)

    widens = True

    def infer(self, query: Tensor, key: Tensor, value: Tensor, *rest: Tensor | None) -> Any:
        shift, _, padding_mask, atten_mask = rest[:4]
        layout = self.input_layout
        chosen(layout, "input_layout", ("BSH", "SBH", "BSND", "BNSD", "TND"))  # C1
        chosen(self.sparse_mode, "sparse_mode", range(9))  # C7
        chosen(self.pse_type, "pse_type", range(4))  # C7
        check_floats(query=query, key=key, value=value)  # C2
        one_element_type(query, key, value)  # C2
        kv_heads = self._kv_heads(query.shape, key.shape)
        if kv_heads is None:
            kv_heads, key, value = self.head_num, key.with_shape(None), value.with_shape(None)
        b, n, sq, skv, dv = check_heads(query, key, value, layout, (self.head_num, kv_heads))  # C3
        self._check_lengths(rest[4:7], b)  # C8 C9
        if layout != "TND":
            if self.sparse_mode < 2:
                check_mask_shape(atten_mask, "atten_mask", b, n, sq, skv)  # C4
            check_mask_shape(shift, "real_shift", b, n, sq, skv)  # C4
        if padding_mask is not None:  # C5
            raise VerifyException("padding_mask is given, expected none: GE reserves it")
        if not 0 < self.keep_prob <= 1:  # C6
            raise VerifyException(f"keep_prob is {self.keep_prob}, expected above 0, at most 1")
        row = Tensor(DataType.DT_FLOAT, (sq, n, 8) if layout == "TND" else (b, n, sq, 8))
        out = query.with_shape(laid_out(layout, b, n, sq, dv))
        return row, row, query.with_shape((0, 0, 0, 0)), out

    def _check_lengths(self, operands: Sequence[Tensor | None], batch: int) -> None:
        prefix, *ends = operands
        is_packed = self.input_layout == "TND"
        if self.sparse_mode in (5, 6):
            if prefix is None:
                raise VerifyException(
                    f"prefix is missing, expected it for sparse_mode {self.sparse_mode}"
                )
            check_lengths(prefix, "prefix", DYNAMIC if is_packed else batch)
        for tensor, name in zip(ends, ("actual_seq_qlen", "actual_seq_kvlen"), strict=True):
            if is_packed and tensor is None:
                raise VerifyException(f"{name} is missing, expected it for input_layout TND")
            check_lengths(tensor if is_packed else None, name, DYNAMIC)

    def _kv_heads(self, query: Sequence[int] | None, key: Sequence[int] | None) -> int | None:
        """Key heads: a dimension of key, or its columns over the length of a query head."""
        heads = self.head_num
        if not query or not key or heads < 1:
            return None
        layout = self.input_layout
        if layout in ("BSND", "BNSD", "TND"):
            found = key[layout.index("N")] if len(key) == len(layout) else heads
            return None if found == DYNAMIC else found
        if DYNAMIC in (query[-1], key[-1]):
            return None
        return key[-1] // (query[-1] // heads) if query[-1] >= heads else heads

    def evaluate(self, query: Array, key: Array, value: Array, *rest: Array | None) -> Any:
        import numpy as np

        self._refuse_modes()
        layout = self.input_layout
        q = to_heads(query, layout, self.head_num)
        kv_heads = self._kv_heads(query.shape, key.shape)
        k, v = (to_heads(a, layout, kv_heads or 1) for a in (key, value))
        prefix = () if rest[4] is None else rest[4].tolist()
        window = Window(self.sparse_mode, self.pre_tockens, self.next_tockens, prefix)
        weighed = self._packed if layout == "TND" else self._plain
        out, *rows = weighed((q, k, v), rest, window)
        repeated = [np.repeat(a, 8, axis=-1).astype(np.float32) for a in rows]
        if layout == "TND":
            repeated = [a[0].transpose(1, 0, 2) for a in repeated]
        empty = np.zeros((0, 0, 0, 0), query.dtype)
        return *repeated, empty, from_heads(out, layout).astype(query.dtype)

    def _refuse_modes(self) -> None:
        if self.sparse_mode > 6:
            raise ValueError(f"sparse_mode is {self.sparse_mode}, expected 0 to 6 to have a value")
        if self.pse_type > 1:
            raise ValueError(f"pse_type is {self.pse_type}, expected 0 or 1 to have a value")

    def _plain(
        self, qkv: tuple[Array, Array, Array], rest: Sequence[Array | None], window: Window
    ) -> Any:
        """(attention, max, sum) of a batch."""
        q, k, v = qkv
        shift, drop_mask, _, atten_mask = rest[:4]
        scores = self._shifted(scores_of(q, k), shift)
        b, _, sq, skv = scores.shape
        lengths = lengths_of(None, sq, b), lengths_of(None, skv, b)
        hide = hidden(window, atten_mask, *lengths, (sq, skv))
        return weigh(scores, hide, v, self._keep(drop_mask, scores.shape))

    def _packed(
        self, qkv: tuple[Array, Array, Array], rest: Sequence[Array | None], window: Window
    ) -> Any:
        """(attention, max, sum) of items one after another."""
        for name, array in zip(("real_shift", "drop_mask"), rest[:2], strict=True):
            if array is not None:
                raise ValueError(f"{name} is given, expected none: its layout is not modelled")
        if rest[3] is not None and self.sparse_mode < 2:
            raise ValueError("atten_mask is given, expected none: its layout is not modelled")
        return weigh_packed(qkv, spans_of(qkv, rest[5:7]), window, self.scale_value)

    def _shifted(self, scores: Array, shift: Array | None) -> Array:
        import numpy as np

        scale = np.float32(self.scale_value)
        if shift is None:
            return scores * scale
        added = as_scores(shift)
        return (scores + added) * scale if self.pse_type else scores * scale + added

    def _keep(self, drop_mask: Array | None, shape: Sequence[int]) -> Array | None:
        """What probabilities are multiplied by."""
        import numpy as np

        if drop_mask is None:
            return None
        size = math.prod(shape)
        bits: Array = np.unpackbits(drop_mask.view(np.uint8).reshape(-1), bitorder="little")
        if bits.size < size:
            raise ValueError(f"drop_mask has {bits.size} bits, expected {size} or more")
        return bits[:size].reshape(shape) / np.float32(self.keep_prob)
