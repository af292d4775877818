"""Attention, rotary embedding and routing: loops over heads and rows in f64 against `evaluate`."""

import numpy as np
import pytest
from op_runs import run
from op_witness import BF16, F16, F32, F64, I32, I64, assert_close, sample

FLOATS = (F32, F16, BF16)
B, N, D = 2, 4, 8


def reference(q, k, v, scale=1.0, shift=None, hide=None):
    """[B, N, S, D] in loops; `hide` tells (b, n, i, j)."""
    out = np.zeros((*q.shape[:3], v.shape[-1]))
    rows = np.zeros((*q.shape[:3], 2))
    share = q.shape[1] // k.shape[1]
    for b, n, i in np.ndindex(*q.shape[:3]):
        kv = n // share
        seen = [j for j in range(k.shape[2]) if hide is None or not hide(b, n, i, j)]
        if not seen:
            continue
        s = np.array([q[b, n, i] @ k[b, kv, j] * scale for j in seen])
        s = s if shift is None else s + shift[b, n, i, seen]
        p = np.exp(s - s.max())
        rows[b, n, i] = s.max(), p.sum()
        out[b, n, i] = p @ v[b, kv, seen] / p.sum()
    return out, rows


def to_layout(x, layout):
    b, n, s, d = x.shape
    return {
        "BNSD": lambda: x,
        "BSND": lambda: x.transpose(0, 2, 1, 3),
        "BSH": lambda: x.transpose(0, 2, 1, 3).reshape(b, s, n * d),
        "SBH": lambda: x.transpose(2, 0, 1, 3).reshape(s, b, n * d),
        "NSD": lambda: x[0],
        "SH": lambda: x[0].transpose(1, 0, 2).reshape(s, n * d),
        "TND": lambda: x[0].transpose(1, 0, 2),
        "NTD": lambda: x[0],
        "NBSD": lambda: x.transpose(1, 0, 2, 3),
    }[layout]()


def heads(sq, skv, dtype=F32, kv_heads=N, batch=B):
    shapes = [(batch, N, sq, D), (batch, kv_heads, skv, D), (batch, kv_heads, skv, D)]
    arrays = [sample("any", s, dtype, i) for i, s in enumerate(shapes)]
    return arrays, [a.astype(F64) for a in arrays]


def check(found, expected, dtype, scale=64):
    half = np.dtype(dtype).itemsize == 2
    assert_close(found, np.asarray(expected).astype(dtype), scale=2 if half else scale)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("kv_heads", [N, 2, 1])
@pytest.mark.parametrize("layout", ["BSH", "SBH", "BSND", "BNSD"])
def test_flash_attention_score(layout, kv_heads, dtype):
    given, exact = heads(3, 5, dtype, kv_heads)
    out, rows = reference(*exact, scale=0.3)
    operands = [to_layout(a, layout) for a in given]
    attrs = {"head_num": N, "input_layout": layout, "is_flash": True, "scale_value": 0.3}
    largest, total, empty, found = run("FlashAttentionScore", *operands, **attrs)
    check(found, to_layout(out, layout), dtype)
    check(largest, np.repeat(rows[..., :1], 8, -1), F32)
    check(total, np.repeat(rows[..., 1:], 8, -1), F32)
    assert empty.shape == (0, 0, 0, 0)


@pytest.mark.parametrize("shape", [(3, 5), (B, 1, 3, 5), (1, N, 3, 5)])
def test_flash_attention_score_masks(shape):
    given, exact = heads(3, 5)
    shift = sample("any", (B, N, 3, 5), F32, 4)
    mask = (np.random.default_rng(1).random(shape) < 0.4).astype(F32)
    full = np.broadcast_to(mask, (B, N, 3, 5))

    def hide(b, n, i, j):
        return full[b, n, i, j] or not i - 2 <= j <= i + 1

    attrs = {"head_num": N, "input_layout": "BNSD", "is_flash": True, "scale_value": 0.5}
    attrs |= {"pre_tockens": 2, "next_tockens": 1}
    out, _ = reference(*exact, scale=0.5, shift=shift * 0.5, hide=hide)
    found = run("FlashAttentionScore", *given, shift, None, None, mask, **attrs)[3]
    check(found, out, F32)


def test_flash_attention_score_drops():
    (q, k, v), _ = heads(2, 3)
    keep = np.random.default_rng(1).integers(0, 2, (B, N, 2, 3))
    bits = np.packbits(keep.reshape(-1), bitorder="little")
    attrs = {"head_num": N, "input_layout": "BNSD", "is_flash": True, "keep_prob": 0.5}
    found = run("FlashAttentionScore", q, k, v, None, bits, **attrs)[3]
    s = q.astype(F64) @ k.swapaxes(-1, -2)
    p = np.exp(s - s.max(-1, keepdims=True))
    p = p / p.sum(-1, keepdims=True) * keep * 2
    check(found, p @ v, F32, scale=64)
    with pytest.raises(ValueError, match="drop_mask has 8 bits, expected 48 or more"):
        run("FlashAttentionScore", q, k, v, None, bits[:1], **attrs)


MODES = {
    0: lambda i, j, sq, skv: not i - 2 <= j <= i + 1,
    1: lambda *_: False,
    2: lambda i, j, sq, skv: j > i,
    3: lambda i, j, sq, skv: j > i + skv - sq,
    4: lambda i, j, sq, skv: not i + skv - sq - 2 <= j <= i + skv - sq + 1,
}


@pytest.mark.parametrize("op", ["PromptFlashAttention", "FusedInferAttentionScore"])
@pytest.mark.parametrize("lengths", [None, ([3], [4]), ([2, 4], [6, 3])])
@pytest.mark.parametrize("mode", MODES)
def test_prompt_attention_modes(mode, lengths, op):
    given, exact = heads(4, 6, kv_heads=2)
    mask = np.random.default_rng(1).random((4, 6)) < 0.3
    operands = [None, None] if lengths is None else [np.array(a, I64) for a in lengths]
    q_len, kv_len = ([4] * B, [6] * B) if lengths is None else ((a * B)[:B] for a in lengths)

    def hide(b, n, i, j):
        outside = i >= q_len[b] or j >= kv_len[b] or (mode < 2 and mask[i, j])
        return outside or MODES[mode](i, j, q_len[b], kv_len[b])

    attrs = {"num_heads": N, "num_key_value_heads": 2, "input_layout": "BNSD", "sparse_mode": mode}
    attrs |= {"pre_tokens": 2, "next_tokens": 1}
    attrs["scale" if op.startswith("Fused") else "scale_value"] = 0.4
    given = [given[0], [given[1]], [given[2]]] if op.startswith("Fused") else given
    found = run(op, *given, None, mask, *operands, **attrs)[0]
    check(found, reference(*exact, scale=0.4, hide=hide)[0], F32)


def test_mode_0_without_a_mask_hides_nothing():
    given, exact = heads(4, 6)
    attrs = {"num_heads": N, "num_key_value_heads": 0, "input_layout": "BNSD"}
    found = run("PromptFlashAttention", *given, **attrs)[0]
    check(found, reference(*exact)[0], F32)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("layout", ["BSH", "BSND", "BNSD", "NSD", "SH", "BNSD_BSND"])
def test_prompt_attention_layouts(layout, dtype):
    before, _, after = layout.partition("_")
    batch = 1 if before in ("NSD", "SH") else B
    given, exact = heads(3, 5, dtype, 2, batch)
    shift = sample("any", (batch, N, 3, 5), dtype, 4)
    attrs = {"num_heads": N, "num_key_value_heads": 2, "input_layout": layout}
    found = run("PromptFlashAttention", *(to_layout(a, before) for a in given), shift, **attrs)[0]
    out, _ = reference(*exact, shift=shift.astype(F64))
    check(found, to_layout(out, after or before), dtype)


@pytest.mark.parametrize("layout", ["BNSD", "BNSD_BSND", "BNSD_NBSD", "BSND_NBSD", "BSH_NBSD"])
def test_fused_infer_attention(layout):
    before, _, after = layout.partition("_")
    given, exact = heads(3, 5)
    q, k, v = (to_layout(a, before) for a in given)
    attrs = {"num_heads": N, "input_layout": layout, "softmax_lse_flag": True}
    found, lse = run("FusedInferAttentionScore", q, [k], [v], **attrs)
    out, rows = reference(*exact)
    check(found, to_layout(out, after or before), F32)
    check(lse, rows[..., :1] + np.log(rows[..., 1:]), F32)
    _, lse = run("FusedInferAttentionScore", q, [k], [v], num_heads=N, input_layout=layout)
    assert lse.shape == (0,)


@pytest.mark.parametrize("layout", ["BSH", "BSND", "BNSD"])
@pytest.mark.parametrize("listed", [False, True])
def test_incremental_attention(listed, layout):
    given, exact = heads(1, 6, kv_heads=2)
    mask = np.random.default_rng(1).random((B, 1, 1, 6)) < 0.3
    sizes = [6, 4]

    def hide(b, n, i, j):
        return j >= sizes[b] or (not listed and mask[b, 0, 0, j])

    q = to_layout(given[0], layout)
    attrs = {"num_heads": N, "num_key_value_heads": 2, "input_layout": layout, "scale_value": 0.4}
    if listed:
        keys, values = (
            [to_layout(a[b : b + 1, :, :size], layout) for b, size in enumerate(sizes)]
            for a in given[1:]
        )
        found = run("IncreFlashAttention", q, keys, values, **attrs)[0]
    else:
        k, v = (to_layout(a, layout) for a in given[1:])
        lengths = np.array(sizes, I64)
        found = run("IncreFlashAttention", q, [k], [v], None, mask, lengths, **attrs)[0]
    check(found, to_layout(reference(*exact, scale=0.4, hide=hide)[0], layout), F32)


def test_attention_refuses_values():
    (q, k, v), _ = heads(1, 3)
    attrs = {"num_heads": N, "num_key_value_heads": 0, "input_layout": "BNSD"}
    lengths = np.array([4], I64)
    with pytest.raises(ValueError, match=r"actual lengths are \[4, 4\], expected 0 to 3"):
        run("PromptFlashAttention", q, k, v, None, None, None, lengths, **attrs)
    one = np.ones(1, F32)
    for op, given in (
        ("PromptFlashAttention", (q, k, v, *[None] * 4, one.astype(np.uint64))),
        ("IncreFlashAttention", (q, [k], [v], *[None] * 3, one.astype(np.uint64))),
        ("FusedInferAttentionScore", (q, [k], [v], *[None] * 4, one.astype(np.uint64))),
    ):
        with pytest.raises(ValueError, match=r"de.*_scale1 is given, expected none: its mode"):
            run(op, *given, **attrs)
    q, k, v = (a.astype(np.int8) for a in (q, k, v))
    with pytest.raises(ValueError, match="query is DT_INT8, expected a float: its mode"):
        run("PromptFlashAttention", q, k, v, **attrs)
    for op in ("IncreFlashAttention", "FusedInferAttentionScore"):
        with pytest.raises(ValueError, match="query or key is DT_INT8, expected floats"):
            run(op, q, [k], [v], **attrs)


def test_attention_modes_without_a_value():
    (q, k, v), _ = heads(2, 3)
    attrs = {"head_num": N, "input_layout": "BNSD"}
    with pytest.raises(ValueError, match="sparse_mode is 7, expected 0 to 6 to have a value"):
        run("FlashAttentionScore", q, k, v, sparse_mode=7, **attrs)
    with pytest.raises(ValueError, match="pse_type is 2, expected 0 or 1 to have a value"):
        run("FlashAttentionScore", q, k, v, pse_type=2, **attrs)
    attrs["input_layout"] = "TND"
    q, k, v = (to_layout(a[:1], "TND") for a in (q, k, v))
    ends = np.array([2], I64), np.array([3], I64)
    shift = sample("any", (1, N, 2, 3), F32)
    for operands, name in (((shift, None), "real_shift"), ((None, shift.view(np.uint8)), "drop")):
        with pytest.raises(ValueError, match=f"{name}.* is given, expected none: its layout"):
            run("FlashAttentionScore", q, k, v, *operands, *[None] * 3, *ends, **attrs)
    with pytest.raises(ValueError, match="atten_mask is given, expected none: its layout"):
        run("FlashAttentionScore", q, k, v, *[None] * 3, shift, None, *ends, **attrs)
    with pytest.raises(ValueError, match="queries have 1 ends and keys 2, expected as many"):
        run("FlashAttentionScore", q, k, v, *[None] * 5, ends[0], np.array([1, 3], I64), **attrs)
    attrs = {"num_heads": N, "num_key_value_heads": 0, "input_layout": "TND"}
    with pytest.raises(ValueError, match="pse_shift or atten_mask is given, expected none: its"):
        run("PromptFlashAttention", q, k, v, shift, None, *ends, **attrs)


# Forms of newer graphs


FLASH_MODES = {
    **MODES,
    5: lambda i, j, sq, skv: j > i + skv - sq and j >= 2,
    6: lambda i, j, sq, skv: j > i + skv - sq and j >= 2,
}


@pytest.mark.parametrize("mode", FLASH_MODES)
@pytest.mark.parametrize("pse_type", [0, 1])
def test_flash_attention_score_modes(pse_type, mode):
    given, exact = heads(4, 6, kv_heads=2)
    shift = sample("any", (B, N, 4, 6), F32, 4)
    mask = np.random.default_rng(1).random((4, 6)) < 0.3
    prefix = np.array([2], I64) if mode > 4 else None

    def hide(b, n, i, j):
        return (mode < 2 and mask[i, j]) or FLASH_MODES[mode](i, j, 4, 6)

    attrs = {"head_num": N, "input_layout": "BNSD", "sparse_mode": mode, "pse_type": pse_type}
    attrs |= {"scale_value": 0.4, "pre_tockens": 2, "next_tockens": 1}
    found = run("FlashAttentionScore", *given, shift, None, None, mask, prefix, **attrs)[3]
    added = shift * (0.4 if pse_type else 1)
    check(found, reference(*exact, scale=0.4, shift=added, hide=hide)[0], F32)


PACKED_ENDS = [3, 3, 7], [2, 4, 9]
"""Three items: the second has no query."""


def packed_reference(q, k, v, mode):
    """[1, N, T, D] item by item."""
    out, rows, sq, skv = np.zeros((*q.shape[:3], D)), np.zeros((*q.shape[:3], 2)), 0, 0
    for q_end, kv_end in zip(*PACKED_ENDS, strict=True):
        size = q_end - sq, kv_end - skv
        part = q[:, :, sq:q_end], k[:, :, skv:kv_end], v[:, :, skv:kv_end]

        def hide(b, n, i, j, size=size):
            return FLASH_MODES[mode](i, j, *size)

        out[:, :, sq:q_end], rows[:, :, sq:q_end] = reference(*part, scale=0.3, hide=hide)
        sq, skv = q_end, kv_end
    return out, rows


@pytest.mark.parametrize("mode", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("dtype", FLOATS)
def test_packed_items_attend_to_their_own(dtype, mode):
    given, exact = heads(7, 9, dtype, 2, batch=1)
    out, rows = packed_reference(*exact, mode)
    q, k, v = (to_layout(a, "TND") for a in given)
    ends = [np.array(e, I64) for e in PACKED_ENDS]
    prefix = np.array([2, 2, 2], I64) if mode > 4 else None
    attrs = {"head_num": N, "input_layout": "TND", "sparse_mode": mode, "scale_value": 0.3}
    attrs |= {"pre_tockens": 2, "next_tockens": 1}
    largest, total, _, found = run(
        "FlashAttentionScore", q, k, v, *[None] * 4, prefix, *ends, **attrs
    )
    check(found, to_layout(out, "TND"), dtype)
    check(total, np.repeat(rows[0, ..., 1:].swapaxes(0, 1), 8, -1), F32)
    assert largest.shape == (7, N, 8)
    if mode > 4:
        return
    for layout in ("TND", "TND_NTD", "NTD_TND"):
        before, _, after = layout.partition("_")
        q, k, v = (to_layout(a, before) for a in given)
        attrs = {"num_heads": N, "num_key_value_heads": 2, "input_layout": layout}
        attrs |= {"sparse_mode": mode, "pre_tokens": 2, "next_tokens": 1}
        operands = [q, [k], [v], None, None, *ends]
        found, lse = run(
            "FusedInferAttentionScore", *operands, scale=0.3, softmax_lse_flag=True, **attrs
        )
        check(found, to_layout(out, after or before), dtype)
        assert lse.shape == (7, N, 1)
        if layout != "TND_NTD":
            found = run("PromptFlashAttention", q, k, v, *operands[3:], scale_value=0.3, **attrs)[0]
            check(found, to_layout(out, after or before), dtype)


# Rotary embedding


def rotated(x, mode):
    out = np.empty_like(x)
    d = x.shape[-1]
    for i in range(d):
        if mode == "half":
            out[..., i] = -x[..., i + d // 2] if i < d // 2 else x[..., i - d // 2]
        elif mode == "interleave":
            out[..., i] = -x[..., i + 1] if i % 2 == 0 else x[..., i - 1]
        else:
            quarter = d // 4
            step = quarter if i // quarter % 2 == 0 else -quarter
            out[..., i] = np.sign(-step) * x[..., i + step]
    return out


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("angles", [(1, 3, 1, 8), (2, 3, 4, 8), (1, 1, 1, 8)])
def test_rotary(angles, dtype):
    x = sample("any", (2, 3, 4, 8), dtype)
    cos, sin = sample("any", angles, dtype, 1), sample("any", angles, dtype, 2)
    ex, ec, es = (a.astype(F64) for a in (x, cos, sin))
    wants = [ex * ec + rotated(ex, m) * es for m in ("half", "interleave", "quarter")]
    order = np.concatenate([ex[..., ::2], ex[..., 1::2]], -1)
    wants.append(order * ec + rotated(order, "half") * es)
    for mode, want in zip(("half", "interleave", "quarter"), wants, strict=False):
        check(run("RotaryMul", x, cos, sin, rotary_mode=mode)[0], want, dtype)
    matrix = np.eye(8, k=1).astype(dtype) - np.eye(8, k=-1).astype(dtype)
    found = run("RotaryPositionEmbedding", x, cos, sin, matrix)[0]
    check(found, ex * ec + (ex @ matrix.astype(F64)) * es, dtype)
    for mode, want in enumerate(wants):
        check(run("RotaryPositionEmbedding", x, cos, sin, mode=mode)[0], want, dtype)


@pytest.mark.parametrize("mode", ["half", "interleave", "quarter"])
def test_apply_rotary_pos_emb(mode):
    q, k = sample("any", (2, 3, 4, 8), F32), sample("any", (2, 3, 2, 8), F32, 1)
    cos, sin = (sample("any", (2, 3, 1, 8), F32, i) for i in (2, 3))
    found = run("ApplyRotaryPosEmb", q, k, cos, sin, rotary_mode=mode)
    for have, x in zip(found, (q, k), strict=True):
        x = x.astype(F64)
        check(have, x * cos + rotated(x, mode) * sin, F32)


def test_rotary_gradient():
    shapes = [(2, 3, 4), (1, 3, 4), (2, 1, 4), (2, 3, 4)]
    x, r1, r2, dy = (sample("any", s, F64, i) for i, s in enumerate(shapes))

    def loss(x, r1, r2):
        return ((x * r1 + rotated(x, "half") * r2) * dy).sum()

    found = run("RotaryMulGrad", x, r1, r2, dy)
    for place, have in enumerate(found):
        given = [x, r1, r2]
        wanted = np.empty_like(have)
        for at in np.ndindex(*have.shape):
            step = np.zeros_like(have)
            step[at] = 1e-6
            up, down = (
                [*given[:place], given[place] + s, *given[place + 1 :]] for s in (step, -step)
            )
            wanted[at] = (loss(*up) - loss(*down)) / 2e-6
        np.testing.assert_allclose(have, wanted, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("filled", [False, True])
def test_kv_rms_norm_rope_cache(filled):
    kv, gamma = sample("any", (2, 1, 3, 12), F32), sample("any", (8,), F32, 1)
    cos, sin = (sample("any", (2, 1, 3, 4), F32, i) for i in (2, 3))
    index = np.array([[4, 0, -1], [1, 2, 3]], I64)
    k_cache, ckv_cache = sample("any", (2, 1, 5, 4), F32, 4), sample("any", (2, 1, 5, 8), F32, 5)
    found = run(
        "KvRmsNormRopeCache", kv, gamma, cos, sin, index, k_cache, ckv_cache, is_output_kv=filled
    )
    left = kv[..., :8].astype(F64)
    c_kv = left / np.sqrt((left**2).mean(-1, keepdims=True) + 1e-5) * gamma
    right = kv[..., 8:].astype(F64)
    order = np.concatenate([right[..., ::2], right[..., 1::2]], -1)
    k_rope = order * cos + rotated(order, "half") * sin
    for cache, rows, have in ((k_cache, k_rope, found[0]), (ckv_cache, c_kv, found[1])):
        want = cache.astype(F64)
        for b, s in np.ndindex(2, 3):
            if index[b, s] >= 0:
                want[b, 0, index[b, s]] = rows[b, 0, s]
        check(have, want, F32)
    check(found[2], k_rope if filled else k_rope * 0, F32)
    check(found[3], c_kv if filled else c_kv * 0, F32)


def test_kv_rms_norm_rope_cache_refuses_values():
    kv, gamma, cos = np.ones((1, 1, 1, 4), F32), np.ones(2, F32), np.ones((1, 1, 1, 2), F32)
    cache = np.ones((1, 1, 3, 2), F32)
    index = np.zeros((1, 1), I64)

    def refused(text, *operands, index=index, caches=(cache, cache), **attrs):
        with pytest.raises(ValueError, match=text):
            run("KvRmsNormRopeCache", kv, gamma, cos, cos, index, *caches, *operands, **attrs)

    refused("k_rope_scale is given, expected none: its mode is not modelled", gamma)
    refused("cache_mode is 'PA', expected Norm", index=index[0], cache_mode="PA")
    refused(r"index has a place outside \[-1, 3\), expected all inside", index=index + 3)
    codes = cache.astype(np.int8)
    refused("a cache has another element type than kv, expected the same", caches=(codes, codes))


# Routing


def softmax(x):
    p = np.exp(x - x.max(-1, keepdims=True))
    return p / p.sum(-1, keepdims=True)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("shape", [(5, 8), (2, 3, 8)])
@pytest.mark.parametrize("stops", [False, True])
def test_gating_top_k_softmax(stops, shape, dtype):
    x = (np.random.default_rng(1).permutation(np.prod(shape)).reshape(shape) / 8).astype(dtype)
    finished = np.zeros(shape[:-1], bool) if stops else None
    if stops:
        finished.flat[1] = True
    p = softmax(x.astype(F64))
    experts = np.argsort(-p, -1)[..., :3]
    best = np.take_along_axis(p, experts, -1)
    shown = experts.copy()
    if stops:
        shown.reshape(-1, 3)[1] = 8
    y, found, rows = run("MoeGatingTopKSoftmax", x, finished, k=3)
    check(y, best, dtype)
    check(found, shown, I32)
    count = np.prod(shape[:-1])
    for r, j in np.ndindex(count, 3):
        assert rows.reshape(count, 3)[r, j] == j * count + r
    y, found, all_p = run(
        "MoeGatingTopKSoftmaxV2", x, finished, k=3, output_softmax_result_flag=True
    )
    check(y, best, dtype)
    check(all_p, p, F32)
    y, found, all_p = run("MoeGatingTopKSoftmaxV2", x, finished, k=3, renorm=1)
    check(y, softmax(np.take_along_axis(x.astype(F64), experts, -1)), dtype)
    check(found, shown, I32)
    assert not all_p.any()


@pytest.mark.parametrize("norm", [0, 1])
@pytest.mark.parametrize(("groups", "used", "select"), [(1, 1, 0), (4, 2, 0), (4, 2, 1)])
@pytest.mark.parametrize("with_bias", [False, True])
def test_gating_top_k(with_bias, groups, used, select, norm):
    x = sample("any", (6, 12), F32)
    bias = sample("any", (12,), F32, 1) if with_bias else None
    attrs = {"k": 3, "group_count": groups, "k_group": used, "group_select_mode": select}
    y, experts, out = run(
        "MoeGatingTopK", x, bias, **attrs, norm_type=norm, routed_scaling_factor=2.5, out_flag=True
    )
    wide = x.astype(F64)
    n = 1 / (1 + np.exp(-wide)) if norm else softmax(wide)
    check(out, n, F32)
    for r in range(6):
        scores = n[r] + (0 if bias is None else bias)
        parts = scores.reshape(groups, -1)
        value = [sum(sorted(part)[-2:]) if select else max(part) for part in parts]
        best = sorted(range(groups), key=lambda g: -value[g])[:used]
        allowed = [e for e in range(12) if e // (12 // groups) in best]
        chosen = sorted(allowed, key=lambda e: -scores[e])[:3]
        assert experts[r].tolist() == chosen
        want = n[r, chosen] / ((n[r, chosen].sum() + 1e-20) if norm else 1) * 2.5
        check(y[r], want, F32)


@pytest.mark.parametrize("active", [0, 3, 99])
def test_init_and_finalize_routing(active):
    rows, k, count = 5, 2, 4
    x = sample("any", (rows, 3), F32)
    rng = np.random.default_rng(1)
    experts = np.stack([rng.permutation(count)[:k] for _ in range(rows)]).astype(I32)
    row_idx = np.arange(rows * k, dtype=I32).reshape(k, rows).T.copy()
    pairs = sorted(
        ((experts[r, j], r * k + j, row_idx[r, j]) for r, j in np.ndindex(rows, k)),
        key=lambda t: t[:2],
    )
    expanded, places, in_order = run("MoeInitRouting", x, row_idx, experts, active_num=active)
    assert in_order.tolist() == [e for e, *_ in pairs]
    for i, (_, _, choice) in enumerate(pairs):
        assert places[choice] == i
    taken = min(rows, active) * k
    assert_close(expanded, np.array([x[c % rows] for *_, c in pairs[:taken]], F32).reshape(-1, 3))
    quantised = run(
        "MoeInitRoutingQuant", x, row_idx, experts, active_num=active, scale=10.0, offset=1.0
    )[0]
    want = np.clip(np.rint(expanded * F32(10) + F32(1)), -128, 127)
    assert_close(quantised, want.astype(np.int8))
    totals = run("MoeComputeExpertTokens", in_order, num_experts=count)[0]
    assert totals.tolist() == [int((in_order <= e).sum()) for e in range(count)]
    if active < rows:
        return
    x1, x2 = sample("any", (rows, 3), F32, 2), sample("any", (rows, 3), F32, 3)
    bias, scales = sample("any", (count, 3), F32, 4), sample("positive", (rows, k), F32, 5)
    found = run("MoeFinalizeRouting", expanded, x1, x2, bias, scales, places, experts)[0]
    want = x1.astype(F64) + x2
    for r, j in np.ndindex(rows, k):
        want[r] += scales[r, j] * (x[r].astype(F64) + bias[experts[r, j]])
    check(found, want, F32, scale=32)
    found = run("MoeFinalizeRoutingV2", expanded, places, x1, x2, bias, scales, experts)[0]
    check(found, want, F32, scale=32)


@pytest.mark.parametrize("mode", range(4))
def test_finalize_routing_v2_modes(mode):
    rows, k = 3, 2
    expanded = sample("any", (2, 4, 5) if mode % 2 else (8, 5), F32)
    flat = expanded.reshape(8, 5).astype(F64)
    choices = np.array([[0, 5], [-1, 2], [7, 1]], I32)
    scales, bias = sample("positive", (rows, k), F32, 1), sample("any", (4, 5), F32, 2)
    experts = np.array([[0, 1], [2, 3], [1, 0]], I32)
    places = (choices.T if mode < 2 else choices).reshape(-1)
    found = run(
        "MoeFinalizeRoutingV2", expanded, places, None, None, bias, scales, experts,
        drop_pad_mode=mode,
    )[0]  # fmt: skip
    want = np.zeros((rows, 5))
    for r, j in np.ndindex(rows, k):
        if choices[r, j] >= 0:
            want[r] += scales[r, j] * (flat[choices[r, j]] + bias[experts[r, j]])
    check(found, want, F32, scale=32)
    found = run("MoeFinalizeRoutingV2", expanded, choices[:, 1], drop_pad_mode=mode)[0]
    check(found, flat[choices[:, 1]], F32)


def test_routing_refuses_values():
    x, experts = np.ones((2, 3), F32), np.zeros((2, 1), I32)
    with pytest.raises(ValueError, match="row_idx is no permutation, expected each number once"):
        run("MoeInitRouting", x, experts, experts, active_num=2)
    bias, scales = np.ones((1, 3), F32), np.ones((2, 1), F32)
    places = np.array([0, 5], I32)
    with pytest.raises(
        ValueError, match=r"expanded_row_idx has a row outside \[-1, 2\), expected all inside"
    ):
        run("MoeFinalizeRoutingV2", x, places, None, None, bias, scales, experts)
    with pytest.raises(ValueError, match=r"an expert is outside \[0, 1\), expected all inside"):
        run("MoeFinalizeRoutingV2", x, places // 5, None, None, bias, scales, experts + 1)
