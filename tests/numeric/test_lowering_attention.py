"""Attention as one mixed kernel with online softmax, and as products and a softmax."""

import numpy as np
import pytest
from lowered_op import check_op
from op_witness import BF16, F16, F32, I64

from ge_xdsl.dialects.aicore.legality import check
from ge_xdsl.dialects.aicore.structure import KernelOp
from ge_xdsl.dialects.ge.text import module_text, parse_module
from ge_xdsl.errors import CompileError
from ge_xdsl.interpreters import aicore
from ge_xdsl.lowering import lower
from ge_xdsl.lowering.attention import TILES
from ge_xdsl.lowering.flash import flash_kernel
from ge_xdsl.lowering.online import Flash
from ge_xdsl.lowering.placement import place_kernel
from ge_xdsl.targets import target

CHIP = "Ascend910B1"


def heads(b, n, s, d, dtype, seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((b, n, s, d)).astype(dtype)


def qkv(shape, keys, kv_heads, dtype):
    b, n, s, d = shape
    parts = [(n, s), (kv_heads, keys), (kv_heads, keys)]
    return [heads(b, k, length, d, dtype, i) for i, (k, length) in enumerate(parts)]


def text_of(q, k, v, mask, rows, scale=0.125):
    """A graph with the attention alone; `softmax_out` is empty and not returned."""
    element = {"float16": "f16", "bfloat16": "bf16", "float32": "f32"}[q.dtype.name]
    b, n, s, d = q.shape
    kind = f"tensor<{b}x{n}x{s}x{d}x{element}>"
    keys = f"tensor<{'x'.join(map(str, k.shape))}x{element}>"
    row = f"tensor<{b}x{n}x{s}x8xf32>"
    given = "" if mask is None else f"tensor<{'x'.join(map(str, mask.shape))}xi1>"
    head = f"%q : {kind}, %k : {keys}, %v : {keys}" + (f", %m : {given}" if given else "")
    call = "%q, %k, %v" + (", atten_mask = %m" if given else "")
    types = ", ".join([kind, keys, keys, *([given] if given else [])])
    results = f"{row}, {row}, {kind}" if rows else kind
    names = "%t, %s, %y" if rows else "%y"
    return f"""func.func @main({head}) -> ({results}) {{
  %t, %s, %o, %y = ge.FlashAttentionScore({call}) {{head_num = {n}, input_layout = "BNSD",
    scale_value = {scale} : f32, sparse_mode = 1}} : ({types})
    -> ({row}, {row}, tensor<0x0x0x0x{element}>, {kind})
  func.return {names} : {results}
}}""".replace("head_num = " + str(n), f"head_num = {n} : i64").replace(
        "sparse_mode = 1", "sparse_mode = 1 : i64"
    )


def reference(q, k, v, mask, scale=0.125):
    """The formula in f64: result, largest score and sum of exponentials."""
    q, k, v = (x.astype(np.float64) for x in (q, k, v))
    group = q.shape[1] // k.shape[1]
    k, v = np.repeat(k, group, 1), np.repeat(v, group, 1)
    s = q @ k.transpose(0, 1, 3, 2) * scale
    hide = np.zeros(s.shape, bool) if mask is None else np.broadcast_to(mask[:, None], s.shape)
    s = np.where(hide, -np.inf, s)
    top = s.max(-1, keepdims=True)
    p = np.where(hide, 0, np.exp(s - np.where(np.isinf(top), 0, top)))
    total = p.sum(-1, keepdims=True)
    return p / np.where(total == 0, 1, total) @ v, top, total


def sparse(text, mode, more):
    """The same graph with a sparse mode and numbers of tokens."""
    attrs = "".join(f", {name} = {value} : i64" for name, value in more.items())
    return text.replace("sparse_mode = 1 : i64", f"sparse_mode = {mode} : i64{attrs}")


def attend(q, k, v, mask=None, rows=False, chip=CHIP, scale=0.125, checked=False):
    given = dict(zip("qkv", (q, k, v), strict=True)) | ({} if mask is None else {"m": mask})
    lowered = lower(parse_module(text_of(q, k, v, mask, rows, scale)), chip)
    got, report = aicore.run(lowered, given, chip, checked=checked)
    return lowered, got, report


CASES = [
    # queries' shape, keys, key heads: whole tiles, tails, one query, grouped heads, long heads
    ((1, 1, 128, 64), 128, 1),
    ((2, 4, 200, 64), 300, 2),
    ((1, 2, 1, 16), 7, 2),
    ((1, 2, 130, 128), 257, 1),
    ((1, 1, 64, 24), 129, 1),
    # steps of 256 keys: two and a tail, three and a tail that is in one part, four
    ((1, 3, 70, 64), 513, 3),
    ((1, 2, 129, 80), 781, 1),
    ((1, 1, 33, 16), 1024, 1),
]


@pytest.mark.parametrize("dtype", [F16, BF16])
@pytest.mark.parametrize(("shape", "keys", "kv"), CASES)
def test_one_mixed_kernel(shape, keys, kv, dtype):
    q, k, v = qkv(shape, keys, kv, dtype)
    lowered, (y,), report = attend(q, k, v)
    assert [kernel.core for kernel in report.kernels] == ["mix"]
    assert not report.calls
    (kernel,) = (op for op in lowered.body.block.ops if isinstance(op, KernelOp))
    assert [section.core for section in kernel.sections] == ["cube", "vector"]
    want, _, _ = reference(q, k, v, None)
    assert np.abs(y.astype(np.float64) - want).max() < (2e-3 if dtype is F16 else 1.6e-2)


@pytest.mark.parametrize("batch", [1, 2])
def test_masks_and_rows(batch):
    q, k, v = qkv((2, 2, 150, 128), 200, 1, F16)
    mask = np.random.default_rng(5).random((batch, 150, 200)) < 0.4
    mask[0, 3] = True  # a query that sees nothing
    _, (top, total, y), report = attend(q, k, v, mask, rows=True)
    assert len(report.kernels) == 1
    want, largest, sums = reference(q, k, v, mask)
    assert np.abs(y.astype(np.float64) - want).max() < 2e-3
    assert (y[0, :, 3] == 0).all()
    seen = np.isfinite(largest)
    np.testing.assert_allclose(top[..., :1][seen], largest[seen], rtol=2e-3, atol=1e-4)
    np.testing.assert_allclose(total[..., :1], sums, rtol=2e-3)
    assert (top == top[..., :1]).all()


@pytest.mark.parametrize("scale", [-0.25, 0.0, 3.0])
@pytest.mark.parametrize("masked", [False, True])
def test_scales_of_either_sign(scale, masked):
    q, k, v = qkv((1, 1, 40, 32), 300, 1, F16)
    mask = np.triu(np.ones((1, 40, 300), bool), 1) if masked else None
    _, (top, _, y), _ = attend(q, k, v, mask, rows=True, scale=scale)
    want, largest, _ = reference(q, k, v, mask, scale)
    assert np.abs(y.astype(np.float64) - want).max() < 3e-3
    np.testing.assert_allclose(top[..., :1], largest, rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("keys", [20, 256, 700])
def test_a_checked_run_gives_the_same(keys):
    q, k, v = qkv((1, 2, 140, 16), keys, 1, F16)
    mask = np.random.default_rng(2).random((1, 140, keys)) < 0.5
    for given in (None, mask):
        lowered, (fast,), _ = attend(q, k, v, given)
        _, (slow,), _ = attend(q, k, v, given, checked=True)
        np.testing.assert_allclose(slow.astype(F32), fast.astype(F32), atol=2e-3)
        check(lowered, target(CHIP))


def test_hidden_keys_before_seen_ones_and_huge_scores():
    """The first steps of a row may be hidden as a whole; large scores do not overflow."""
    q, k, v = qkv((1, 1, 64, 16), 800, 1, F16)
    mask = np.zeros((1, 64, 800), bool)
    mask[0, :, :600] = True
    for factor in (1, 60):
        _, (y,), _ = attend(q * F16(factor), k, v, mask)
        assert np.abs(y - reference(q * F16(factor), k, v, mask)[0]).max() < 2e-3


def test_the_text_of_a_mixed_kernel_reads_back():
    lowered, _, _ = attend(*qkv((1, 1, 40, 16), 30, 1, F16))
    printed = module_text(lowered)
    assert module_text(parse_module(printed)) == printed


def test_a_group_of_heads_reads_its_keys_once():
    """One query per head: eight heads of a group take little longer than one."""

    def us(heads):
        text = text_of(*qkv((2, heads, 1, 128), 4096, 2, F16), None, False)
        return aicore.estimate(lower(parse_module(text), CHIP), CHIP).us

    assert us(16) < 1.3 * us(2)
    q, k, v = qkv((2, 6, 3, 32), 90, 2, F16)
    _, (top, total, y), _ = attend(q, k, v, rows=True)
    want, largest, sums = reference(q, k, v, None)
    assert np.abs(y.astype(np.float64) - want).max() < 2e-3
    np.testing.assert_allclose(top[..., :1], largest, rtol=2e-3, atol=1e-4)
    np.testing.assert_allclose(total[..., :1], sums, rtol=2e-3)


def test_longer_sequences_take_longer():
    def us(keys):
        text = text_of(*qkv((1, 24, 128, 64), keys, 24, F16), None, False)
        return aicore.estimate(lower(parse_module(text), CHIP), CHIP).us

    assert us(128) < us(512) < us(2048)


def test_f32_takes_products_and_a_softmax():
    q, k, v = qkv((1, 2, 20, 16), 30, 1, F32)
    _, (y,), report = attend(q, k, v)
    assert {kernel.core for kernel in report.kernels} == {"cube", "vector"}
    assert np.abs(y - reference(q, k, v, None)[0]).max() < 1e-5


@pytest.mark.parametrize("masked", [False, True])
def test_arch_3510_has_the_mixed_kernel_too(masked):
    q, k, v = qkv((1, 2, 140, 64), 600, 1, BF16)
    mask = np.random.default_rng(4).random((1, 140, 600)) < 0.3 if masked else None
    lowered, (y,), report = attend(q, k, v, mask, chip="Ascend950PR_958x", checked=True)
    assert [kernel.core for kernel in report.kernels] == ["mix"]
    check(lowered, target("Ascend950PR_958x"))
    assert np.abs(y.astype(np.float64) - reference(q, k, v, mask)[0]).max() < 1.6e-2


def test_steps_do_not_wait_for_each_other():
    """The vector unit, which has the most to do, is busy most of the time."""

    def lowered(length, dim):
        shape = (1, 24, length, dim)
        text = text_of(*(np.empty(shape, F16) for _ in "qkv"), None, False)
        (kernel,) = aicore.estimate(lower(parse_module(text), CHIP), CHIP).kernels
        return kernel

    for dim in (64, 128):
        kernel = lowered(2048, dim)
        assert kernel.busy["AIV.V"] > 0.8 * kernel.cycles


def test_tiles_get_smaller_until_they_fit():
    chip = target(CHIP)
    wide = Flash(1, 1, 1, 128, 1024, 128, 1.0, "f16", 1, True, 128, *TILES[0])
    with pytest.raises(CompileError, match=r"takes \d+ bytes of ub .*, expected at most 188416"):
        place_kernel(flash_kernel("k", wide, chip), chip)
    q, k, v = qkv((1, 1, 130, 128), 400, 1, F16)
    mask = np.zeros((1, 130, 400), bool)
    _, (y,), _ = attend(q, k, v, mask)
    assert np.abs(y.astype(np.float64) - reference(q, k, v, mask)[0]).max() < 2e-3


LAYOUTS = {
    "BSH": lambda x: x.transpose(0, 2, 1, 3).reshape(x.shape[0], x.shape[2], -1),
    "BSND": lambda x: x.transpose(0, 2, 1, 3),
    "BNSD": lambda x: x,
}


@pytest.mark.parametrize("mode", [0, 2, 3])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_layouts_and_sparse_modes(layout, mode):
    q, k, v = (LAYOUTS[layout](x) for x in qkv((2, 4, 33, 16), 50, 2, F16))
    report = check_op(
        "PromptFlashAttention", q, k, v, num_heads=4, num_key_value_heads=2,
        input_layout=layout, scale_value=0.25, sparse_mode=mode,
    )  # fmt: skip
    assert "mix" in {kernel.core for kernel in report.kernels}


PROMPT = {"num_heads": 2, "num_key_value_heads": 2, "input_layout": "BNSD", "scale_value": 0.25}


def test_the_mask_of_prompts_and_known_lengths():
    q, k, v = qkv((2, 2, 20, 16), 30, 2, F16)
    mask = np.random.default_rng(1).random((2, 1, 20, 30)) < 0.3
    check_op("PromptFlashAttention", q, k, v, None, mask, sparse_mode=1, **PROMPT)
    given = (q, k, v, None, None, np.array([20, 7], I64))
    check_op("PromptFlashAttention", *given, known=("actual_seq_lengths",), **PROMPT)


def test_what_has_no_lowering_says_why():
    q, k, v = qkv((2, 2, 20, 16), 30, 2, F16)
    given = (q, k, v, None, None, np.array([20, 7], I64))
    why = "no lowering for lengths that is not constant"
    check_op("PromptFlashAttention", *given, why=why, **PROMPT)


@pytest.mark.parametrize("element", ["f16", "f32"])
def test_an_attention_without_a_name_counts_as_timed(element):
    """Whether it is one kernel, or a graph of which only the last result is used."""
    x, rows = f"tensor<1x2x64x64x{element}>", "tensor<1x2x64x8xf32>"
    results = f"{rows}, {rows}, tensor<0x0x0x0x{element}>, {x}"
    text = f"""func.func @main(%q : {x}, %k : {x}, %v : {x}) -> {x} {{
  %a:4 = ge.FlashAttentionScore(%q, %k, %v) {{head_num = 2 : i64, input_layout = "BNSD",
    scale_value = 0.125 : f32, sparse_mode = 1 : i64}} : ({x}, {x}, {x}) -> ({results})
  func.return %a#3 : {x}
}}"""
    report = aicore.estimate(lower(parse_module(text), CHIP), CHIP)
    assert report.timed == 1
    assert not report.calls


def by_place(queries, keys, mode, pre=0, after=0):
    """What a sparse mode hides, as the op's documentation has it."""
    i, j, apart = np.arange(queries)[:, None], np.arange(keys), keys - queries
    if mode == 4:
        return ((j < i + apart - pre) | (j > i + apart + after))[None]
    return (j > i + (apart if mode == 3 else 0))[None]


EVER = 1 << 30
WINDOWS = [
    # queries' shape, keys, key heads, mode, tokens before and after: one tile, tails, group
    ((1, 1, 128, 64), 128, 1, 2, 0, 0),
    ((1, 2, 300, 64), 300, 1, 2, 0, 0),
    ((2, 4, 520, 128), 520, 2, 3, 0, 0),
    ((1, 1, 1024, 96), 1024, 1, 2, 0, 0),
    # more keys than queries, more queries than keys (some see nothing), few queries
    ((1, 1, 600, 64), 1300, 1, 3, 0, 0),
    ((1, 1, 1300, 64), 600, 1, 3, 0, 0),
    ((1, 1, 1300, 64), 600, 1, 2, 0, 0),
    ((1, 2, 7, 16), 900, 1, 3, 0, 0),
    # bands: narrow, wide, past its diagonal, open above, open below, beyond the last key
    ((1, 1, 1500, 16), 1500, 1, 4, 100, 0),
    ((1, 1, 700, 16), 700, 1, 4, 300, 200),
    ((1, 1, 500, 16), 950, 1, 4, 350, -50),
    ((1, 1, 950, 16), 500, 1, 4, 50, EVER),
    ((1, 1, 500, 16), 500, 1, 4, EVER, 70),
    ((1, 1, 900, 16), 500, 1, 4, -40, 1000),
]


def windowed(case, dtype=F16, scale=0.125, chip=CHIP, checked=False):
    """Largest scores, sums, result and report of a case; its reference."""
    shape, keys, kv, mode, pre, after = case
    q, k, v = qkv(shape, keys, kv, dtype)
    tokens = {"pre_tockens": pre, "next_tockens": after}
    text = sparse(text_of(q, k, v, None, True, scale), mode, tokens)
    lowered = lower(parse_module(text), chip)
    check(lowered, target(chip))
    got, report = aicore.run(lowered, {"q": q, "k": k, "v": v}, chip, checked=checked)
    mask = by_place(shape[2], keys, mode, pre, after)
    return got, report, reference(q, k, v, mask, scale)


@pytest.mark.parametrize("checked", [False, True])
@pytest.mark.parametrize("case", WINDOWS)
def test_what_a_query_sees_by_its_place(case, checked):
    """No mask is made, and rows that see nothing are 0."""
    (top, total, y), report, (want, largest, sums) = windowed(case, checked=checked)
    assert [kernel.core for kernel in report.kernels] == ["mix"]
    assert np.abs(y.astype(np.float64) - want).max() < 2e-3
    seen = np.isfinite(largest)
    np.testing.assert_allclose(top[..., :1][seen], largest[seen], rtol=2e-3, atol=1e-4)
    assert (top[..., :1][~seen] == np.finfo(F32).min).all()
    np.testing.assert_allclose(total[..., :1], sums, rtol=2e-3)


@pytest.mark.parametrize("scale", [-0.25, 3.0])
def test_edges_with_scales_of_either_sign(scale):
    (_, _, y), _, (want, _, _) = windowed(WINDOWS[1], BF16, scale)
    assert np.abs(y.astype(np.float64) - want).max() < 1.6e-2


@pytest.mark.parametrize("case", [WINDOWS[2], WINDOWS[9]])
def test_edges_on_arch_3510(case):
    (_, _, y), _, (want, _, _) = windowed(case, chip="Ascend950PR_958x", checked=True)
    assert np.abs(y.astype(np.float64) - want).max() < 2e-3


def test_a_window_that_hides_nothing_is_none():
    """One query that sees all keys before it: the kernel has no limits of scores."""
    for mode, keys in ((3, 900), (4, 900)):
        text = sparse(text_of(*qkv((1, 2, 1, 16), keys, 1, F16), None, False), mode, {})
        assert "limits" not in module_text(lower(parse_module(text), CHIP))


def test_windows_that_no_kernel_takes_become_masks():
    """No scale, and a band in which no query sees a key."""
    shape = (1, 1, 40, 16)
    for mode, tokens, scale in ((2, (0, 0), 0.0), (4, (-5, 2), 0.125)):
        (_, _, y), report, (want, _, _) = windowed((shape, 60, 1, mode, *tokens), scale=scale)
        assert [kernel.core for kernel in report.kernels] == ["mix"]
        assert np.abs(y.astype(np.float64) - want).max() < 2e-3


@pytest.mark.parametrize(("dim", "most"), [(64, 0.6), (128, 0.76)])
def test_causal_attention_leaves_out_what_is_hidden(dim, most):
    """The work of the vector units is little more than half; no core has much more than others."""

    def timed(mode):
        shape = (1, 24, 4096, dim)
        text = text_of(*(np.empty(shape, F16) for _ in "qkv"), None, False)
        lowered = lower(parse_module(sparse(text, mode, {})), CHIP)
        return aicore.estimate(lowered, CHIP).kernels[0]

    assert timed(2).us < most * timed(1).us
