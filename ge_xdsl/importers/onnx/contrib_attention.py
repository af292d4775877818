"""Attention of the domain `com.microsoft`, composed of products and SoftmaxV2.

Written from onnxruntime's operator documentation; what they compute is held against onnxruntime.
B is the batch, S and T the lengths of queries and keys, N heads of h elements each.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from xdsl.dialects.builtin import IntegerAttr, i64
from xdsl.ir import SSAValue

from ge_xdsl.dialects.ge.op import extra_key
from ge_xdsl.dialects.ge.types import DYNAMIC, DataType
from ge_xdsl.importers.onnx.builder import Builder
from ge_xdsl.importers.onnx.contrib import biased
from ge_xdsl.importers.onnx.contrib_quant import integer_product
from ge_xdsl.importers.onnx.matmul import product
from ge_xdsl.importers.onnx.node import Node
from ge_xdsl.importers.onnx.table import Converter

INT64 = DataType.DT_INT64


def reshaped(g: Builder, value: SSAValue, dims: Sequence[int]) -> SSAValue:
    """Reshape in which a 0 stands for the dimension at its place, known or not."""
    shape = g.shape(value) or (DYNAMIC,) * len(dims)
    known = [
        shape[place] if dim == 0 and shape[place] != DYNAMIC else dim
        for place, dim in enumerate(dims)
    ]
    shape_value = g.helper(known, "int64")
    if 0 not in known:
        return g.part("Reshape", value, shape_value)
    extra = {extra_key("allowzero"): IntegerAttr(0, i64)}
    return g.add("Reshape", (value, shape_value), {}, g.part_name("Reshape"), extra=extra).results[
        0
    ]


def heads(g: Builder, value: SSAValue, count: int) -> SSAValue:
    """B x S x (N*h) as B x N x S x h."""
    width = (g.shape(value) or (DYNAMIC,))[-1]
    split = reshaped(g, value, [0, 0, count, -1 if width == DYNAMIC else width // max(count, 1)])
    return g.transpose(split, [0, 2, 1, 3])


def merged(g: Builder, value: SSAValue) -> SSAValue:
    """B x N x S x h as B x S x (N*h)."""
    turned = g.transpose(value, [0, 2, 1, 3])
    count, width = (g.shape(turned) or (DYNAMIC,) * 4)[2:]
    return reshaped(g, turned, [0, 0, -1 if DYNAMIC in (count, width) else count * width])


def appended(g: Builder, past: SSAValue | None, value: SSAValue) -> SSAValue:
    """Keys or values behind those of the past."""
    return value if past is None else g.part("ConcatD", [past, value], concat_dim=2, N=2)


def pieces(g: Builder, value: SSAValue, sizes: Sequence[int], axis: int) -> list[SSAValue]:
    """Consecutive parts of a dimension."""
    found: list[SSAValue] = []
    start = 0
    for size in sizes:
        bounds = ([start], [start + size], [axis], [1])
        found.append(g.part("StridedSliceV2", value, *(g.helper(b, "int64") for b in bounds)))
        start += size
    return found


def attend(
    node: Node, g: Builder, q: SSAValue, k: SSAValue, v: SSAValue, biases: Sequence[SSAValue]
) -> SSAValue:
    """softmax(q @ k^T * scale + biases) @ v, B x N x S x h."""
    scale = node.floating("scale", 0.0)
    if not scale:
        width = g.static_dims((g.shape(q) or (-1,))[-1:], node.op_type)[0]
        scale = 1 / math.sqrt(width or 1)
    scores = g.part("Muls", product(g, q, g.transpose(k, [0, 1, 3, 2])), value=scale)
    for bias in biases:
        scores = g.part("Add", scores, bias)
    return product(g, g.part("SoftmaxV2", scores, axes=[-1]), v)


def causal(g: Builder, q: SSAValue, k: SSAValue, fill: float) -> SSAValue:
    """`fill` where a key is after its query, which is the last of the keys: S x T."""
    queries, keys = g.dim(q, 2), g.dim(k, 2)
    row = g.part("Add", g.range(queries), g.part("Sub", keys, queries))
    later = g.part("Greater", g.range(keys), g.along(row, 0, 2))
    return g.part("SelectV2", later, g.like(fill, q), g.like(0.0, q))


def masked(node: Node, g: Builder, mask: SSAValue, q: SSAValue, k: SSAValue) -> SSAValue:
    """The mask's filter value where it hides a key: of rank 1 it holds ends, or ends and starts;
    of rank 2, 3 and 4 ones and zeros for B x T, B x S x T and B x 1 x M x M."""
    fill = node.floating("mask_filter_value", -10000.0)
    rank = g.rank(mask, node.op_type)
    if rank == 1:
        seen = _seen(g, mask, q, k)
    else:
        seen = g.part("Greater", mask, g.like(0, mask))
        if rank == 4:
            return _square(node, g, mask, q, k, fill)
        seen = g.part("Unsqueeze", seen, axes=[1, 2] if rank == 2 else [1])
    return g.part("SelectV2", seen, g.like(0.0, q), g.like(fill, q))


def _seen(g: Builder, mask: SSAValue, q: SSAValue, k: SSAValue) -> SSAValue:
    """Whether a key is before its row's end, and not before its start where that is given."""
    place = g.range(g.dim(k, 2))
    bounds = g.cast(mask, INT64)
    batch, given = (g.shape(q) or (-1,))[0], (g.shape(mask) or (-1,))[0]
    whole = given == 2 * batch and batch > 0
    column = g.helper([-1, 1, 1, 1], "int64")
    ends = pieces(g, bounds, [batch], 0)[0] if whole else bounds
    seen = g.part("Less", place, g.part("Reshape", ends, column))
    if whole:
        starts = pieces(g, bounds, [batch, batch], 0)[1]
        after = g.part("GreaterEqual", place, g.part("Reshape", starts, column))
        seen = g.part("LogicalAnd", seen, after)
    return seen


def _square(
    node: Node, g: Builder, mask: SSAValue, q: SSAValue, k: SSAValue, fill: float
) -> SSAValue:
    """The rows and columns of a B x 1 x M x M mask that the queries and keys have."""
    keys, queries = g.dim(k, 2), g.dim(q, 2)
    rows = g.part("Add", g.range(queries), g.part("Sub", keys, queries))
    part = g.take(g.take(mask, rows, 2), g.range(keys), 3)
    seen = g.part("Greater", part, g.like(0, part))
    return g.part("SelectV2", seen, g.like(0.0, q), g.like(fill, q))


def _split_past(g: Builder, past: SSAValue | None) -> list[SSAValue | None]:
    """Past keys and values out of 2 x B x N x P x h."""
    if past is None:
        return [None, None]
    return [g.take(past, g.scalar(k, "int64"), 0) for k in range(2)]


def attention(node: Node, g: Builder) -> Sequence[SSAValue]:
    """Self attention whose weights hold those of queries, keys and values side by side"""
    x, weights, bias = node.input(0), node.input(1), node.optional(2)
    mask, past, extra = (node.optional(k) for k in (3, 4, 5))
    sizes = node.integers("qkv_hidden_sizes")
    projected = biased(g, product(g, x, weights), bias)
    return _self_attention(node, g, projected, sizes, mask, past, extra)


def q_attention(node: Node, g: Builder) -> Sequence[SSAValue]:
    """Attention of quantized inputs and weights"""
    x, weights, bias, x_scale, w_scale = (node.input(k) for k in range(5))
    total = integer_product(g, x, node.optional(6), weights, node.optional(7))
    total = g.part("Mul", total, g.part("Mul", g.as_scalar(x_scale), w_scale))
    total = g.part("Add", total, bias)
    return _self_attention(node, g, total, None, node.optional(5), node.optional(8), None)


def _self_attention(
    node: Node,
    g: Builder,
    projected: SSAValue,
    sizes: Sequence[int] | None,
    mask: SSAValue | None,
    past: SSAValue | None,
    extra: SSAValue | None,
) -> Sequence[SSAValue]:
    count = node.required_integer("num_heads")
    node.expect("do_rotary", 0)
    node.expect("past_present_share_buffer", 0)
    node.ignore("rotary_embedding_dim")
    width = g.static_dims((g.shape(projected) or (-1,))[-1:], node.op_type)[0]
    sizes = sizes or [width // 3] * 3
    if len(sizes) != 3 or sum(sizes) != width or count < 1 or any(n % count for n in sizes):
        node.fail(f"has sizes {list(sizes)} and {count} heads, expected parts of {width}")
    q, k, v = (heads(g, part, count) for part in pieces(g, projected, sizes, 2))
    old_k, old_v = _split_past(g, past)
    k, v = appended(g, old_k, k), appended(g, old_v, v)
    biases = [] if extra is None else [extra]
    fill = node.peek_floating("mask_filter_value", -10000.0)
    if mask is not None:
        biases.append(masked(node, g, mask, q, k))
    node.ignore("mask_filter_value")
    if node.flag("unidirectional", False):
        biases.append(causal(g, q, k, fill))
    y = merged(g, attend(node, g, q, k, v, biases))
    if not node.wants(1):
        return [y]
    return [y, g.part("Pack", [k, v], axis=0, N=2)]


def multi_head_attention(node: Node, g: Builder) -> Sequence[SSAValue]:
    """Attention of projected queries, keys and values"""
    q, k, v, bias = (node.optional(i) for i in range(4))
    padding, extra, past_k, past_v = (node.optional(i) for i in range(4, 8))
    if q is None or k is None or v is None:
        node.fail("queries, keys and values are packed, expected three inputs")
    if node.optional(8) is not None or node.optional(9) is not None:
        node.fail("has a shared buffer for the past, expected none")
    count = node.required_integer("num_heads")
    q, k, v = _with_bias(node, g, [q, k, v], bias)
    q = heads(g, q, count)
    k, v = (x if g.rank(x, node.op_type) == 4 else heads(g, x, count) for x in (k, v))
    k, v = appended(g, past_k, k), appended(g, past_v, v)
    biases = [] if extra is None else [extra]
    fill = node.peek_floating("mask_filter_value", -10000.0)
    if padding is not None:
        biases.append(masked(node, g, padding, q, k))
    node.ignore("mask_filter_value")
    if node.flag("unidirectional", False):
        biases.append(causal(g, q, k, fill))
    return [merged(g, attend(node, g, q, k, v, biases)), k, v]


def _with_bias(
    node: Node, g: Builder, values: Sequence[SSAValue], bias: SSAValue | None
) -> Sequence[SSAValue]:
    """Queries, keys and values plus their parts of the bias; keys of rank 4 have it already."""
    if bias is None:
        return values
    if any(g.rank(value, node.op_type) != 3 for value in values):
        node.fail("has a bias and keys of rank 4, expected rank 3")
    sizes = [g.static_dims((g.shape(value) or (-1,))[-1:], "a bias")[0] for value in values]
    parts = pieces(g, bias, sizes, 0)
    return [g.part("Add", value, part) for value, part in zip(values, parts, strict=True)]


# Rotary embeddings


def rotated(
    g: Builder, x: SSAValue, angles: Sequence[SSAValue], width: int, interleaved: bool
) -> SSAValue:
    """The first 2 * `width` elements of the last dimension turned by angles, pairs side by side or
    half a dimension apart; the rest as it is."""
    cos, sin = angles
    total = g.static_dims((g.shape(x) or (-1,))[-1:], "RotaryEmbedding")[0]
    rest = total - 2 * width
    axis = g.rank(x, "RotaryEmbedding") - 1
    head, *tail = pieces(g, x, [2 * width, rest], axis) if rest else [x]
    if interleaved:
        bounds = ([start] for start in range(2))
        first, second = (
            g.part("StridedSliceV2", head, *(
                g.helper(b, "int64") for b in (start, [2 * width], [axis], [2])))
            for start in bounds
        )  # fmt: skip
    else:
        first, second = pieces(g, head, [width, width], axis)
    one = g.part("Sub", g.part("Mul", first, cos), g.part("Mul", second, sin))
    two = g.part("Add", g.part("Mul", first, sin), g.part("Mul", second, cos))
    if interleaved:
        pairs = g.part("Pack", [one, two], axis=axis + 1, N=2)
        turned = reshaped(g, pairs, [*[0] * axis, 2 * width])
        parts = [turned, *tail]
    else:
        parts = [one, two, *tail]
    if len(parts) == 1:
        return parts[0]
    return g.part("ConcatD", parts, concat_dim=axis, N=len(parts))


def _angles(g: Builder, cache: SSAValue, positions: SSAValue) -> SSAValue:
    """The rows of a cache for positions B x S (or S), as B x 1 x S x width."""
    found = g.take(cache, positions, 0)
    if len(g.shape(found) or ()) == 2:
        return found
    return g.part("Unsqueeze", found, axes=[1])


def rotary_embedding(node: Node, g: Builder) -> SSAValue:
    """x turned by the angles of its positions, B x S x (N*h) or B x N x S x h"""
    x, positions, cos, sin = (node.input(k) for k in range(4))
    count, part = node.integer("num_heads", 0), node.integer("rotary_embedding_dim", 0)
    interleaved = node.flag("interleaved", False)
    node.expect("is_packed_batching", 0)
    node.ignore("scale")
    width = g.static_dims((g.shape(cos) or (-1,))[-1:], node.op_type)[0]
    flat = g.rank(x, node.op_type) == 3
    if flat:
        hidden = g.static_dims((g.shape(x) or (-1,))[-1:], node.op_type)[0]
        if part and not count:
            node.fail("has rotary_embedding_dim and no num_heads, expected both")
        x = heads(g, x, count or hidden // (2 * width))
    if len(g.shape(positions) or ()) == 1:
        positions = g.part("Add", g.range(g.dim(x, 2)), g.cast(positions, INT64))
    angles = [_angles(g, cache, positions) for cache in (cos, sin)]
    y = rotated(g, x, angles, width, interleaved)
    return merged(g, y) if flat else y


def grouped_query_attention(node: Node, g: Builder) -> Sequence[SSAValue]:
    """Causal attention in which several query heads share a key head, on a growing cache"""
    for place in range(9, len(node.inputs)):
        if place != 10 and node.optional(place) is not None:
            node.fail(f"input {place} is given, expected none but attention_bias after sin_cache")
    count, shared = node.required_integer("num_heads"), node.required_integer("kv_num_heads")
    if min(count, shared) < 1 or count % shared:
        node.fail(f"has {count} heads and {shared} key heads, expected a multiple")
    _plain_attributes(node)
    q, k, v = _query_parts(node, g, count, shared)
    past_k, past_v = node.optional(3), node.optional(4)
    rank = g.helper([-1, 1], "int64")
    ends = g.part("Reshape", g.cast(node.input(5), INT64), rank)
    totals = g.part("Add", ends, g.scalar(1, "int64"))
    before = _before(g, q, totals, past_k)
    own = g.part("Add", before, g.range(g.dim(q, 2)))
    if node.flag("do_rotary", False):
        q, k = _rotate(node, g, [q, k], own)
    node.ignore("rotary_interleaved")
    keys, values = (_present(g, past, new, before) for past, new in ((past_k, k), (past_v, v)))
    hidden = _hidden(node, g, keys, own)
    biases = [g.part("SelectV2", hidden, g.like(-1e9, q), g.like(0.0, q))]
    if (extra := node.optional(10)) is not None:
        biases.append(extra)
    wide = [_repeated(g, value, shared, count // shared) for value in (keys, values)]
    return [merged(g, attend(node, g, q, wide[0], wide[1], biases)), keys, values]


def _plain_attributes(node: Node) -> None:
    """Refuse what changes the numbers and is not built."""
    for name, value in (
        ("smooth_softmax", 0), ("qk_output", 0), ("kv_cache_bit_width", 0),
        ("sliding_window_cache", 0), ("causal", 1),
    ):  # fmt: skip
        if name == "smooth_softmax" and node.peek_integer(name, 0) == -1:
            node.ignore(name)
        node.expect(name, value)
    if node.floating("softcap", 0.0):
        node.fail("has attribute 'softcap', expected none")
    for name in ("k_quant_type", "v_quant_type"):
        if (kind := node.string(name, "NONE")) != "NONE":
            node.fail(f"attribute '{name}' is '{kind}', expected 'NONE'")
    node.ignore("q_norm_epsilon", "k_norm_epsilon", "qk_norm_epsilon")


def _query_parts(node: Node, g: Builder, count: int, shared: int) -> list[SSAValue]:
    """Queries, keys and values as heads; they may stand side by side in the first input."""
    q, k, v = node.input(0), node.optional(1), node.optional(2)
    if k is None or v is None:
        hidden = g.static_dims((g.shape(q) or (-1,))[-1:], node.op_type)[0]
        width = hidden // (count + 2 * shared)
        q, k, v = pieces(g, q, [count * width, shared * width, shared * width], 2)
    return [heads(g, q, count), heads(g, k, shared), heads(g, v, shared)]


def _before(g: Builder, q: SSAValue, totals: SSAValue, past: SSAValue | None) -> SSAValue:
    """How many keys each row of the batch had before: what the totals leave, none without a past;
    B x 1."""
    old = g.part("Sub", totals, g.dim(q, 2))
    least = g.part("Maximum", old, g.scalar(0, "int64"))
    limit = g.scalar(0, "int64") if past is None else g.dim(past, 2)
    return g.part("Minimum", least, limit)


def _rotate(
    node: Node, g: Builder, values: Sequence[SSAValue], positions: SSAValue
) -> list[SSAValue]:
    cos, sin = node.optional(7), node.optional(8)
    if cos is None or sin is None:
        node.fail("has do_rotary and no cos_cache or sin_cache, expected both")
    width = g.static_dims((g.shape(cos) or (-1,))[-1:], node.op_type)[0]
    angles = [_angles(g, cache, positions) for cache in (cos, sin)]
    pairs = node.peek_integer("rotary_interleaved", 0) != 0
    return [rotated(g, value, angles, width, pairs) for value in values]


def _present(g: Builder, past: SSAValue | None, new: SSAValue, before: SSAValue) -> SSAValue:
    """The keys or values so far: in each row the new ones behind as many old ones as it had."""
    if past is None:
        return new
    both = g.part("ConcatD", [past, new], concat_dim=2, N=2)
    place = g.range(g.dim(both, 2))
    old = g.dim(past, 2)
    behind = g.part("Add", place, g.part("Sub", old, before))
    index = g.part("SelectV2", g.part("Less", place, before), place, behind)
    last = g.part("Sub", g.dim(both, 2), g.scalar(1, "int64"))
    index = g.part("Minimum", index, last)
    index = reshaped(g, index, [0, 1, -1, 1])
    spread = g.part("BroadcastTo", index, g.shape_of(both))
    return g.part("GatherElements", both, spread, dim=2)


def _hidden(node: Node, g: Builder, keys: SSAValue, own: SSAValue) -> SSAValue:
    """Whether a key is after its query or further back than the window: B x 1 x S x T."""
    query = reshaped(g, own, [0, 1, -1, 1])
    place = g.range(g.dim(keys, 2))
    hidden = g.part("Greater", place, query)
    window = node.integer("local_window_size", -1)
    if window > 0:
        oldest = g.part("Sub", query, g.scalar(window, "int64"))
        hidden = g.part("LogicalOr", hidden, g.part("LessEqual", place, oldest))
    return hidden


def _repeated(g: Builder, value: SSAValue, count: int, times: int) -> SSAValue:
    """Each of `count` heads `times` times in a row."""
    if times == 1:
        return value
    order = [head for head in range(count) for _ in range(times)]
    return g.take(value, g.helper(order, "int64"), 1)


TABLE: dict[str, Converter] = {
    "com.microsoft::Attention": attention,
    "com.microsoft::GroupQueryAttention": grouped_query_attention,
    "com.microsoft::MultiHeadAttention": multi_head_attention,
    "com.microsoft::QAttention": q_attention,
    "com.microsoft::RotaryEmbedding": rotary_embedding,
}
