"""Attention in any layout and sparse mode as attention over heads, or as products and a softmax."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from xdsl.ir import SSAValue

from ge_xdsl.dialects.ge.heads import PACKED, Window, hidden, lengths_of, split_layout
from ge_xdsl.dialects.ge.op import GeOp
from ge_xdsl.dialects.ge.types import DataType
from ge_xdsl.lowering.expand.builder import Builder, Expansion
from ge_xdsl.lowering.expand.terms import Term, term

if TYPE_CHECKING:
    from ge_xdsl.dialects.ge.types import Array

LEAST = -3.4028234663852886e38
"""The smallest f32: the score of what is hidden."""
NOTHING = 1e-30
"""Below the sum of any row that sees a key."""
ROW = 8
"""How often FlashAttentionScore repeats the largest score and the sum of a row."""


@dataclass(frozen=True, slots=True)
class _Attention:
    """Queries, keys and values [B, N, S, D]; what is added to scores, and what is hidden."""

    q: SSAValue
    k: SSAValue
    v: SSAValue
    scale: float
    mask: SSAValue | None = None
    shift: SSAValue | None = None
    shift_first: bool = False
    window: Window | None = None
    """Of mode 2 to 4 without a mask, for the keys that a query sees by its place."""


def to_heads(build: Builder, x: SSAValue, layout: str, heads: int) -> SSAValue:
    """A tensor in a layout as [B, N, S, D]."""
    shape = build.shape(x)
    if layout == "BNSD":
        return x
    if layout == "BSND":
        return build.transpose(x, [0, 2, 1, 3])
    if layout == "NSD":
        return build.reshape(x, [1, *shape])
    if layout in ("SH", "BSH", "SBH"):
        wide = build.transpose(x, [1, 0, 2]) if layout == "SBH" else x
        b, s, h = (1, *shape) if layout == "SH" else build.shape(wide)
        return build.transpose(build.reshape(wide, [b, s, heads, h // heads]), [0, 2, 1, 3])
    raise build.decline(f"for layout {layout}")


def from_heads(build: Builder, x: SSAValue, layout: str) -> SSAValue:
    """[B, N, S, D] in a layout."""
    b, n, s, d = build.shape(x)
    if layout == "BNSD":
        return x
    if layout == "NBSD":
        return build.transpose(x, [1, 0, 2, 3])
    if layout == "NSD":
        return build.reshape(x, [n, s, d])
    turned = build.transpose(x, [0, 2, 1, 3])
    if layout == "BSND":
        return turned
    wide = build.reshape(turned, [b, s, n * d])
    if layout == "SBH":
        return build.transpose(wide, [1, 0, 2])
    return build.reshape(wide, [s, n * d]) if layout == "SH" else wide


def hiding(
    build: Builder,
    window: Window,
    mask: SSAValue | None,
    lengths: Sequence[Array | None],
    sizes: tuple[int, int, int],
) -> SSAValue | None:
    """[1 or B, Sq, Skv] or [B, N, Sq, Skv]: what a query does not see; None when it sees all."""
    import numpy as np

    batch, queries, keys = sizes
    places = [lengths_of(n, size, batch) for n, size in zip(lengths, (queries, keys), strict=True)]
    known = hidden(window, None, places[0], places[1], (queries, keys))
    if window.mode == 0 and mask is not None:
        i, j = np.arange(queries)[:, None], np.arange(keys)
        known = known | (j < i - window.before) | (j > i + window.after)
    fixed = build.array(known[:, 0].copy()) if known.any() else None
    if mask is None or window.mode > 1:
        return fixed
    shape = build.shape(mask)
    if len(shape) == 4 and shape[1] == 1:
        mask = build.reshape(mask, [shape[0], *shape[2:]])
    elif len(shape) == 2:
        mask = build.reshape(mask, [1, *shape])
    seen = build.cast(mask, DataType.DT_BOOL)
    if fixed is None:
        return seen
    if len(build.shape(seen)) == 4:
        fixed = build.array(known.copy())
    return build("LogicalOr", seen, fixed)


def _sparse(window: Window | None) -> dict[str, Any]:
    """The attributes for what a query sees by its place, or for what a mask says."""
    if window is None:
        return {"sparse_mode": 1}
    tokens = {"pre_tockens": window.before, "next_tockens": window.after}
    return {"sparse_mode": window.mode, **tokens}


def by_place(window: Window, found: _Attention) -> bool:
    """Whether one kernel may go by the places of queries and keys alone, without a mask."""
    return window.mode > 1 and found.shift is None


def over_heads(build: Builder, found: _Attention) -> list[SSAValue]:
    """FlashAttentionScore of heads: the largest scores, the sums, an empty tensor, the result."""
    slots: list[SSAValue | None] = [None] * 3
    if found.shift is not None:
        slots[0] = found.shift
    return build.results(
        "FlashAttentionScore",
        *(found.q, found.k, found.v, *slots, found.mask),
        head_num=build.shape(found.q)[1],
        input_layout="BNSD",
        scale_value=found.scale,
        pse_type=1 if found.shift_first else 0,
        **_sparse(found.window),
    )


def flash_attention(build: Builder, op: GeOp) -> list[SSAValue]:
    """FlashAttentionScore turned to heads; over heads, products and a softmax."""
    layout, mode = op.get_attr("input_layout"), op.get_attr("sparse_mode")
    for name in ("drop_mask", "prefix"):
        if build.slot(name) is not None:
            raise build.decline(f"with {name}")
    if layout in PACKED or mode > 4 or op.get_attr("pse_type") > 1:
        raise build.decline("for this layout, sparse_mode or pse_type")
    query, key, value = op.operands[:3]
    heads = op.get_attr("head_num")
    shift, mask = build.slot("real_shift"), build.slot("atten_mask")
    first = op.get_attr("pse_type") == 1
    scale = op.get_attr("scale_value")
    if layout == "BNSD" and mode == 1:
        return _plain(build, op, _Attention(query, key, value, scale, mask, shift, first))
    q = to_heads(build, query, layout, heads)
    width = build.shape(q)[3]
    last = build.shape(key)[-1]
    kv = build.shape(key)[layout.index("N")] if "N" in layout else last // width
    k, v = (to_heads(build, x, layout, kv) for x in (key, value))
    sizes = (build.shape(q)[0], build.shape(q)[2], build.shape(k)[2])
    window = Window(mode, op.get_attr("pre_tockens"), op.get_attr("next_tockens"))
    found = _Attention(q, k, v, scale, shift=shift, shift_first=first)
    if layout != "BNSD" and by_place(window, found):
        found = replace(found, window=window)
    else:
        found = replace(found, mask=hiding(build, window, mask, (None, None), sizes))
    rows = over_heads(build, found)
    return [*rows[:3], from_heads(build, rows[3], layout)]


def _plain(build: Builder, op: GeOp, found: _Attention) -> list[SSAValue]:
    """softmax(q k^T scale) v, in f32"""
    b, n, sq, d = build.shape(found.q)
    _, heads, skv, dv = build.shape(found.v)
    wide = [
        build.reshape(build.wide(x), shape)
        for x, shape in (
            (found.q, [b, heads, n // heads * sq, d]),
            (found.k, [b, heads, skv, d]),
            (found.v, [b, heads, skv, dv]),
        )
    ]
    product = build("BatchMatMulV2", wide[0], wide[1], adj_x2=True)
    scores = Term(build, build.reshape(product, [b, n, sq, skv]))
    if found.shift is not None:
        shift = _as_scores(build, found.shift)
        scores = (
            (scores + shift) * found.scale if found.shift_first else scores * found.scale + shift
        )
    else:
        scores = scores * found.scale
    hide = None
    if found.mask is not None:
        truth = build.cast(found.mask, DataType.DT_BOOL)
        hide = Term(build, build.spread(_as_scores(build, truth).value, [b, n, sq, skv]))
        scores = hide.pick(LEAST, scores)
    top = scores.max([3])
    powers = (scores - top).exp()
    powers = powers if hide is None else hide.pick(0.0, powers)
    total = powers.sum([3])
    weights = powers / total.call("Maximum", NOTHING)
    left = build.reshape(weights.value, [b, heads, n // heads * sq, skv])
    out = build.reshape(build("BatchMatMulV2", left, wide[2]), [b, n, sq, dv])
    rows = [
        build.spread(part.value, [b, n, sq, ROW])
        if op.parent is None or list(r.uses)
        else _nothing(build, r)
        for part, r in zip((top, total), op.results[:2], strict=True)
    ]
    return [*rows, _nothing(build, op.results[2]), build.like(out, op.results[3])]


def _nothing(build: Builder, result: SSAValue) -> SSAValue:
    """Zeros in the shape of a result that nothing uses."""
    import numpy as np

    from ge_xdsl.dialects.ge.types import numpy_dtype

    dtype = build.dtype(result)
    return build.array(np.zeros(build.shape(result), numpy_dtype(dtype)), dtype)


def _as_scores(build: Builder, x: SSAValue) -> Term:
    """A mask or shift with four dimensions."""
    shape = build.shape(x)
    if len(shape) == 2:
        x = build.reshape(x, [1, 1, *shape])
    elif len(shape) == 3:
        x = build.reshape(x, [shape[0], 1, *shape[1:]])
    return term(build, x)


def inference(build: Builder, op: GeOp) -> list[SSAValue]:
    """PromptFlashAttention, IncreFlashAttention and FusedInferAttentionScore."""
    names, inputs = op.prototype.attr_by_name, op.prototype.input_index
    modelled = {"query", "key", "value", "pse_shift", "atten_mask"}
    modelled |= {"actual_seq_lengths", "actual_seq_lengths_kv"}
    others = [n for n in inputs if n not in modelled and build.many(n)]
    key, value = build.many("key"), build.many("value")
    if others or len(key) != 1:
        raise build.decline(f"with {' and '.join(others) or 'keys in parts'}")
    layout, out_layout = split_layout(op.get_attr("input_layout"))
    heads = op.get_attr("num_heads")
    kv = op.get_attr("num_key_value_heads") or heads
    if layout in PACKED or ("softmax_lse_flag" in names and op.get_attr("softmax_lse_flag")):
        raise build.decline("for packed layouts, and for softmax_lse_flag")
    q = to_heads(build, op.operands[0], layout, heads)
    k, v = (to_heads(build, x, layout, kv) for x in (key[0], value[0]))
    sizes = (build.shape(q)[0], build.shape(q)[2], build.shape(k)[2])
    incremental = op.op_type == "IncreFlashAttention"
    window = Window(1)
    if not incremental:
        window = Window(*(op.get_attr(n) for n in ("sparse_mode", "pre_tokens", "next_tokens")))
    slots = [build.slot("actual_seq_lengths")]
    slots += [build.slot("actual_seq_lengths_kv")] if not incremental else [None]
    lengths = [None if s is None else build.known(s, "lengths") for s in slots]
    lengths = lengths[::-1] if incremental else lengths
    scale = op.get_attr("scale_value" if "scale_value" in names else "scale")
    found = _Attention(q, k, v, scale, shift=build.slot("pse_shift"))
    if by_place(window, found) and lengths == [None, None]:
        found = replace(found, window=window)
    else:
        hide = hiding(build, window, build.slot("atten_mask"), lengths, sizes)
        found = replace(found, mask=hide)
    out = from_heads(build, over_heads(build, found)[3], out_layout)
    rest = [_nothing(build, r) for r in op.results[1:]]
    return [build.like(out, op.results[0]), *rest]


EXPANSIONS: dict[str, Expansion] = {
    "FlashAttentionScore": flash_attention,
    **dict.fromkeys(
        ("PromptFlashAttention", "IncreFlashAttention", "FusedInferAttentionScore"), inference
    ),
}
