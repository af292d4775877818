"""The fused attention kernels of eager inference as the operators that they stand for.

Without gradients torch captures `TransformerEncoderLayer` and `MultiheadAttention` as one operator
each, which its own table does not decompose. With a mask they stay as they are.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ge_xdsl.importers.torch.values import torch_module


def fused_decompositions() -> dict[Any, Callable[..., Any]]:
    """Operator -> a function of torch that computes the same."""
    aten = torch_module().ops.aten
    return {
        aten._native_multi_head_attention.default: attention,
        aten._transformer_encoder_layer_fwd.default: encoder_layer,
        aten.scaled_dot_product_attention.default: scaled_attention,
    }


def _heads(x: Any, count: int) -> Any:
    """[batch, length, width] as [batch, heads, length, width / heads]."""
    return x.unflatten(-1, (count, -1)).transpose(1, 2)


def _attended(x: Any, heads: int, weight: Any, bias: Any, out_weight: Any, out_bias: Any) -> Any:
    """Self-attention without a mask."""
    functional = torch_module().nn.functional
    parts = functional.linear(x, weight, bias).chunk(3, -1)
    query, key, value = (_heads(part, heads) for part in parts)
    scores = query @ key.transpose(-2, -1) * (query.shape[-1] ** -0.5)
    y = scores.softmax(-1) @ value
    return functional.linear(y.transpose(1, 2).flatten(2), out_weight, out_bias)


def attention(
    query: Any,
    key: Any,
    value: Any,
    embed_dim: int,
    num_head: int,
    qkv_weight: Any,
    qkv_bias: Any,
    proj_weight: Any,
    proj_bias: Any,
    mask: Any = None,
    need_weights: bool = True,
    average_attn_weights: bool = True,
    mask_type: int | None = None,
) -> Any:
    """Self-attention whose weights nothing asks for; NotImplemented for any other."""
    if mask is not None or need_weights or key is not query or value is not query:
        return NotImplemented
    y = _attended(query, num_head, qkv_weight, qkv_bias, proj_weight, proj_bias)
    return y, query.new_empty((0,))


def scaled_attention(
    query: Any,
    key: Any,
    value: Any,
    attn_mask: Any = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Any:
    """softmax(query key' scale + mask) value, laid out in memory as the kernel of eager torch
    does: [batch, length, heads, width], which a view after it may rely on. NotImplemented with
    dropout."""
    if dropout_p:
        return NotImplemented
    if enable_gqa:
        groups = query.shape[-3] // key.shape[-3]
        key, value = (x.repeat_interleave(groups, -3) for x in (key, value))
    scores = query @ key.transpose(-2, -1) * (scale or query.shape[-1] ** -0.5)
    if is_causal:
        attn_mask = query.new_ones(scores.shape[-2:], dtype=torch_module().bool).tril()
    if attn_mask is not None and attn_mask.dtype == torch_module().bool:
        scores = scores.masked_fill(~attn_mask, float("-inf"))
    elif attn_mask is not None:
        scores = scores + attn_mask
    y = scores.softmax(-1) @ value
    return y.transpose(-3, -2).contiguous().transpose(-3, -2) if y.dim() > 2 else y


def encoder_layer(
    src: Any,
    embed_dim: int,
    num_heads: int,
    qkv_weight: Any,
    qkv_bias: Any,
    proj_weight: Any,
    proj_bias: Any,
    use_gelu: bool,
    norm_first: bool,
    eps: float,
    *tensors: Any,
    mask: Any = None,
    mask_type: int | None = None,
) -> Any:
    """A whole layer; `tensors` are weight and bias of the two norms and of the two linear ops of
    the feed-forward part, then perhaps a mask and its type. NotImplemented with a mask."""
    if mask is not None or any(tensor is not None for tensor in tensors[8:]):
        return NotImplemented
    functional = torch_module().nn.functional
    first, second, wide, narrow = (tensors[k : k + 2] for k in (0, 2, 4, 6))

    def norm(x: Any, weights: tuple[Any, ...]) -> Any:
        return functional.layer_norm(x, (embed_dim,), *weights, eps)

    def attend(x: Any) -> Any:
        return _attended(x, num_heads, qkv_weight, qkv_bias, proj_weight, proj_bias)

    def feed(x: Any) -> Any:
        hidden = functional.linear(x, *wide)
        hidden = functional.gelu(hidden) if use_gelu else functional.relu(hidden)
        return functional.linear(hidden, *narrow)

    if norm_first:
        x = src + attend(norm(src, first))
        return x + feed(norm(x, second))
    x = norm(src + attend(src), first)
    return norm(x + feed(x), second)
