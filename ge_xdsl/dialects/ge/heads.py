"""Attention over heads: layouts of queries and keys, what a mask hides, and the reference itself.

B is the batch, N the number of heads, S the sequence, D the length of a head, H = N * D with one
head after another, T the sequences of all items one after another: the batch is 1 then.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from xdsl.utils.exceptions import VerifyException

from ge_xdsl.dialects.ge.grouped_matmul import group_spans
from ge_xdsl.dialects.ge.operands import check_index
from ge_xdsl.dialects.ge.shapes import merge_dim, shape_text
from ge_xdsl.dialects.ge.types import DYNAMIC, Tensor

if TYPE_CHECKING:
    from ge_xdsl.dialects.ge.types import Array

_RANKS = {"BSH": 3, "SBH": 3, "BSND": 4, "BNSD": 4, "NSD": 3, "SH": 2, "TND": 3, "NTD": 3}
PACKED = ("TND", "NTD")
"""Layouts whose items stand one after another, ending where the actual lengths say."""
_ORDERS = {"BSND": (0, 2, 1, 3), "BNSD": (0, 1, 2, 3)}


def split_layout(layout: str) -> tuple[str, str]:
    """The layouts of operands and result: `BNSD_BSND` names both."""
    before, _, after = layout.partition("_")
    return before, after or before


def head_dims(tensor: Tensor, layout: str, heads: int, name: str) -> tuple[int, int, int, int]:
    """(B, N, S, D), DYNAMIC for what is unknown; raises when the heads do not fit."""
    if heads < 1:
        raise VerifyException(f"number of heads of {name} is {heads}, expected 1 or more")
    shape = tensor.shape
    if shape is None:
        return DYNAMIC, heads, DYNAMIC, DYNAMIC
    if len(shape) != _RANKS[layout]:
        raise VerifyException(f"{name} is {shape_text(shape)}, expected rank {_RANKS[layout]}")
    if layout in _ORDERS:
        b, n, s, d = (shape[i] for i in _ORDERS[layout])
    elif layout in ("NSD", "NTD"):
        b, (n, s, d) = 1, shape
    elif layout == "TND":
        b, (s, n, d) = 1, shape
    else:
        b, s, width = (1, *shape) if layout == "SH" else shape
        b, s = (s, b) if layout == "SBH" else (b, s)
        if width != DYNAMIC and width % heads:
            raise VerifyException(f"{name} has {width} columns, expected a multiple of {heads}")
        n, d = heads, DYNAMIC if width == DYNAMIC else width // heads
    return b, merge_dim(n, heads, f"heads of {name} and the attribute"), s, d


def laid_out(layout: str, b: int, n: int, s: int, d: int) -> tuple[int, ...]:
    """The shape of a result in a layout; NBSD puts heads first."""
    h = DYNAMIC if d == DYNAMIC else n * d
    return {
        "BSH": (b, s, h),
        "SBH": (s, b, h),
        "BSND": (b, s, n, d),
        "BNSD": (b, n, s, d),
        "NBSD": (n, b, s, d),
        "NSD": (n, s, d),
        "NTD": (n, s, d),
        "TND": (s, n, d),
        "SH": (s, h),
    }[layout]


def to_heads(x: Array, layout: str, heads: int) -> Array:
    """An operand as [B, N, S, D]."""
    if layout in ("NSD", "NTD"):
        return x[None]
    if layout == "TND":
        return x.transpose(1, 0, 2)[None]
    if layout in _ORDERS:
        return x.transpose(_ORDERS[layout])
    x = x[None] if layout == "SH" else x.swapaxes(0, 1) if layout == "SBH" else x
    return x.reshape(*x.shape[:2], heads, x.shape[2] // heads).transpose(0, 2, 1, 3)


def from_heads(x: Array, layout: str) -> Array:
    """[B, N, S, D] in a layout."""
    b, n, s, d = x.shape
    if layout == "NBSD":
        return x.transpose(1, 0, 2, 3)
    if layout in _ORDERS:
        return x.transpose(_ORDERS[layout])
    if layout in ("NSD", "NTD"):
        return x[0]
    if layout == "TND":
        return x[0].transpose(1, 0, 2)
    wide = x.transpose(0, 2, 1, 3).reshape(b, s, n * d)
    return wide[0] if layout == "SH" else wide.swapaxes(0, 1) if layout == "SBH" else wide


def check_heads(
    query: Tensor, key: Tensor, value: Tensor, layout: str, heads: tuple[int, int]
) -> tuple[int, int, int, int, int]:
    """(B, N, Sq, Skv, Dv); raises when the operands do not fit together."""
    count, kv_count = heads
    if kv_count < 1 or count % kv_count:
        raise VerifyException(f"{count} heads of query and {kv_count} of key, expected a multiple")
    b, n, sq, d = head_dims(query, layout, count, "query")
    kb, _, sk, kd = head_dims(key, layout, kv_count, "key")
    vb, _, sv, dv = head_dims(value, layout, kv_count, "value")
    merge_dim(d, kd, "head lengths of query and key")
    skv = merge_dim(sk, sv, "sequences of key and value")
    batch = merge_dim(
        merge_dim(b, kb, "batches of query and key"), vb, "batches of query and value"
    )
    return batch, n, sq, skv, dv


def check_mask_shape(tensor: Tensor | None, name: str, b: int, n: int, sq: int, skv: int) -> None:
    """[Sq, Skv], [1 or B, Sq, Skv] or [1 or B, 1 or N, Sq, Skv]."""
    if tensor is None or tensor.shape is None:
        return
    shape = tensor.shape
    want = {2: (sq, skv), 3: (b, sq, skv), 4: (b, n, sq, skv)}.get(len(shape), ())
    pairs = list(zip(shape, want, strict=False))
    loose = len(shape) - 2
    fits = want != () and all(
        a == w or DYNAMIC in (a, w) or (a == 1 and i < loose) for i, (a, w) in enumerate(pairs)
    )
    if not fits:
        raise VerifyException(
            f"{name} is {shape_text(shape)}, expected one that broadcasts to "
            f"{shape_text((b, n, sq, skv))}"
        )


def check_lengths(tensor: Tensor | None, name: str, b: int) -> None:
    """One length, or one for each item of the batch."""
    check_index(tensor, name)
    if tensor is None or tensor.shape is None:
        return
    if len(tensor.shape) != 1:
        raise VerifyException(f"{name} is {shape_text(tensor.shape)}, expected rank 1")
    if tensor.shape[0] != 1:
        merge_dim(tensor.shape[0], b, f"lengths in {name} and batch")


@dataclass(frozen=True, slots=True)
class Window:
    """Which keys a query sees by its place: sparse mode, and how far before and after it."""

    mode: int = 0
    before: int = 0
    after: int = 0
    prefix: Sequence[int] = ()
    """How many first keys of each item are always seen."""


def hidden(
    window: Window, mask: Array | None, q_lengths: Array, kv_lengths: Array, size: tuple[int, int]
) -> Array:
    """[B or 1, N or 1, Sq, Skv], true where a key is not seen. Lengths are [B, 1, 1, 1].

    Mode 0: the mask, and with one also what lies outside i - before <= j <= i + after. 1: the mask.
    2: j > i. 3: j > i + Skv - Sq. 4: outside i + Skv - Sq - before <= j <= i + Skv - Sq + after.
    5 and 6: j > i + Skv - Sq, but for the prefix of the item.
    """
    import numpy as np

    i, j = np.arange(size[0])[:, None], np.arange(size[1])
    out = (j >= kv_lengths) | (i >= q_lengths)
    shift = 0 if window.mode in (0, 2) else kv_lengths - q_lengths
    if window.mode in (2, 3):
        return out | (j > i + shift)
    if window.mode in (5, 6):
        prefix = np.asarray(window.prefix).reshape(-1, 1, 1, 1)
        return out | ((j > i + shift) & (j >= prefix))
    if window.mode == 4 or (window.mode == 0 and mask is not None):
        out = out | (j < i + shift - window.before) | (j > i + shift + window.after)
    if mask is not None and window.mode in (0, 1):
        out = out | (as_scores(mask) != 0)
    return out


def as_scores(mask: Array) -> Array:
    """A mask or shift with the dimensions of scores [B, N, Sq, Skv]."""
    if mask.ndim == 2:
        return mask[None, None]
    return mask[:, None] if mask.ndim == 3 else mask


def lengths_of(values: Array | None, size: int, batch: int) -> Array:
    """Lengths per item as [B, 1, 1, 1]; raises ValueError for one outside [0, size]."""
    import numpy as np

    found = np.full(batch, size) if values is None else np.broadcast_to(values, (batch,))
    if found.size and (found.min() < 0 or found.max() > size):
        raise ValueError(f"actual lengths are {found.tolist()}, expected 0 to {size}")
    return found.reshape(-1, 1, 1, 1)


def scores_of(q: Array, k: Array) -> Array:
    """q @ k^T per head, [B, N, Sq, Skv]; query head h has key head h // (N / Nkv)."""
    b, n, sq, d = q.shape
    kv = k.shape[1]
    groups = q.reshape(b, kv, n // kv, sq, d)
    return (groups @ k[:, :, None].swapaxes(-1, -2)).reshape(b, n, sq, k.shape[2])


def weigh(scores: Array, hide: Array, v: Array, keep: Array | None = None) -> Any:
    """(attention, max, sum) of a softmax over what is not hidden; 0 for a row that sees nothing.

    `keep` multiplies the probabilities. max and sum are [B, N, Sq, 1].
    """
    import numpy as np

    lowest = np.finfo(np.float32).min
    seen = np.where(hide, lowest, scores)
    largest = np.max(seen, axis=-1, keepdims=True, initial=lowest)
    powers = np.where(hide, np.float32(0), np.exp(seen - largest))
    total = np.sum(powers, axis=-1, keepdims=True)
    p = powers / np.where(total == 0, np.float32(1), total)
    p = p if keep is None else p * keep
    b, n, sq, skv = p.shape
    kv = v.shape[1]
    out = p.reshape(b, kv, n // kv, sq, skv) @ v[:, :, None]
    return out.reshape(b, n, sq, v.shape[-1]), largest, total


def spans_of(
    qkv: tuple[Array, Array, Array], ends: Sequence[Array | None]
) -> list[tuple[slice, slice]]:
    """The places of each item's queries and keys; one item where no end is given.

    Raises ValueError when the ends do not rise, or are not as many for both.
    """
    sizes = qkv[0].shape[2], qkv[1].shape[2]
    lists = [[size] if e is None else e.tolist() for size, e in zip(sizes, ends, strict=True)]
    if len(lists[0]) != len(lists[1]):
        raise ValueError(
            f"queries have {len(lists[0])} ends and keys {len(lists[1])}, expected as many"
        )
    spans = [group_spans(items, size) for items, size in zip(lists, sizes, strict=True)]
    return list(zip(*spans, strict=True))


def weigh_packed(
    qkv: tuple[Array, Array, Array],
    spans: Sequence[tuple[slice, slice]],
    window: Window,
    scale: float,
) -> Any:
    """`weigh` for items one after another: each sees its own keys only, by its window.

    q, k and v are [1, N, T, D], `spans` the places of the queries and of the keys of each item.
    """
    import numpy as np

    q, k, v = qkv
    out: Array = np.zeros((*q.shape[:3], v.shape[-1]), q.dtype)
    rows: list[Array] = [np.zeros((*q.shape[:3], 1), np.float32) for _ in range(2)]
    for i, (mine, keys) in enumerate(spans):
        scores = scores_of(q[:, :, mine], k[:, :, keys]) * np.float32(scale)
        sq, skv = scores.shape[2:]
        own = replace(window, prefix=window.prefix[i : i + 1])
        hide = hidden(own, None, lengths_of(None, sq, 1), lengths_of(None, skv, 1), (sq, skv))
        out[:, :, mine], rows[0][:, :, mine], rows[1][:, :, mine] = weigh(
            scores, hide, v[:, :, keys]
        )
    return out, *rows


def joined(items: Sequence[Array], layout: str, heads: int) -> tuple[Array, Array | None]:
    """Keys or values as [B, N, S, D]: one tensor, or one per item, padded to the longest.

    The second result is the length of each item, None for one tensor.
    """
    import numpy as np

    parts = [to_heads(item, layout, heads) for item in items]
    if len(parts) == 1:
        return parts[0], None
    sizes = np.array([part.shape[2] for part in parts])
    longest = int(sizes.max())
    pads = [((0, 0), (0, 0), (0, longest - part.shape[2]), (0, 0)) for part in parts]
    return np.concatenate([np.pad(p, w) for p, w in zip(parts, pads, strict=True)]), sizes
