"""Rotary position embedding: y = x * cos + rotated x * sin over the last dimension.

half: [a, b] becomes [-b, a]. interleave: each pair (a, b) becomes (-b, a). quarter: [a, b, c, d]
becomes [-b, a, -d, c].
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from xdsl.utils.exceptions import VerifyException

from ge_xdsl.dialects.ge.elements import one_element_type
from ge_xdsl.dialects.ge.extents import merge_shapes, of_rank
from ge_xdsl.dialects.ge.fields import boolean, floating, integer, operand, optional, result, string
from ge_xdsl.dialects.ge.op import GeOp
from ge_xdsl.dialects.ge.operands import check_index
from ge_xdsl.dialects.ge.rounding import chosen
from ge_xdsl.dialects.ge.shapes import Shape, merge_dim, shape_text
from ge_xdsl.dialects.ge.suffix import check_floats, root_mean_square
from ge_xdsl.dialects.ge.types import DYNAMIC, Tensor

if TYPE_CHECKING:
    from ge_xdsl.dialects.ge.types import Array

_MODES = ("half", "interleave", "quarter")


def rotate(x: Array, mode: str) -> Array:
    """x rotated over its last dimension, as the module says."""
    import numpy as np

    if mode == "interleave":
        return np.stack([-x[..., 1::2], x[..., ::2]], axis=-1).reshape(x.shape)
    if mode == "quarter":
        a, b, c, d = np.split(x, 4, axis=-1)
        return np.concatenate([-b, a, -d, c], axis=-1)
    a, b = np.split(x, 2, axis=-1)
    return np.concatenate([-b, a], axis=-1)


def evens_first(x: Array) -> Array:
    """The even places of the last dimension, then the odd ones."""
    import numpy as np

    return np.concatenate([x[..., ::2], x[..., 1::2]], axis=-1)


def check_length(shape: Shape, parts: int, name: str) -> None:
    """The last dimension is a multiple of `parts`."""
    if shape is None:
        return
    if not shape or (shape[-1] != DYNAMIC and shape[-1] % parts):
        raise VerifyException(
            f"{name} is {shape_text(shape)}, expected a last dimension that {parts} divides"
        )


def check_angles(x: Shape, tensor: Tensor, name: str) -> None:
    """cos or sin: the rank of x, its last dimension, and 1 or its size for each other."""
    if x is None or tensor.shape is None:
        return
    have = tensor.shape
    fits = len(have) == len(x) and all(
        a == b or DYNAMIC in (a, b) or (a == 1 and i < len(x) - 1)
        for i, (a, b) in enumerate(zip(have, x, strict=True))
    )
    if not fits:
        raise VerifyException(
            f"{name} is {shape_text(have)}, expected one that broadcasts to {shape_text(x)}"
        )


class RotaryMulOp(GeOp):
    """y = x * r1 + rotated x * r2; [-b, a], a and b the halves of x, for rotary_mode half

    rotary_mode is half (the only one of the oldest form), interleave or quarter. C1: all operands
    are floating-point tensors of one element type. C2: x has a last dimension that 2 divides (4
    for quarter). C3: r1 and r2 broadcast to x and have its last dimension. C4: rotary_mode is one
    of these.
    """

    name = "ge.RotaryMul"

    x = operand()
    r1 = operand()
    r2 = operand()
    y = result()
    rotary_mode = string("half")

    widens = True

    def infer(self, x: Tensor, r1: Tensor, r2: Tensor) -> Tensor:
        check_floats(x=x, r1=r1, r2=r2)  # C1
        one_element_type(x, r1, r2)  # C1
        chosen(self.rotary_mode, "rotary_mode", _MODES)  # C4
        check_length(x.shape, 4 if self.rotary_mode == "quarter" else 2, "x")  # C2
        check_angles(x.shape, r1, "r1")  # C3
        check_angles(x.shape, r2, "r2")  # C3
        return x

    def evaluate(self, x: Array, r1: Array, r2: Array) -> Array:
        return x * r1 + rotate(x, self.rotary_mode) * r2


class RotaryMulGradOp(GeOp):
    """dx = dy * r1 + [d, -c], c and d the halves of dy * r2; dr1 = sum of dy * x,
    dr2 = sum of dy * [-b, a], a and b the halves of x

    The sums go over the dimensions in which r1 and r2 are 1. C1: all operands are floating-point
    tensors of one element type. C2: x has an even last dimension. C3: r1 and r2 broadcast to x and
    have its last dimension. C4: dy has the shape of x.
    """

    name = "ge.RotaryMulGrad"

    x = operand()
    r1 = operand()
    r2 = operand()
    dy = operand()
    dx = result()
    dr1 = result()
    dr2 = result()

    widens = True

    def infer(self, x: Tensor, r1: Tensor, r2: Tensor, dy: Tensor) -> tuple[Tensor, ...]:
        check_floats(x=x, r1=r1, r2=r2, dy=dy)  # C1
        one_element_type(x, r1, r2, dy)  # C1
        check_length(x.shape, 2, "x")  # C2
        check_angles(x.shape, r1, "r1")  # C3
        check_angles(x.shape, r2, "r2")  # C3
        return x.with_shape(merge_shapes(x.shape, dy.shape, "x and dy")), r1, r2  # C4

    def evaluate(self, x: Array, r1: Array, r2: Array, dy: Array) -> tuple[Array, ...]:
        from ge_xdsl.dialects.ge.gradients import reduce_to

        dx = dy * r1 - rotate(dy * r2, "half")
        return dx, reduce_to(dy * x, r1), reduce_to(dy * rotate(x, "half"), r2)


class RotaryPositionEmbeddingOp(GeOp):
    """y = x * cos + rotated x * sin; mode 0 half, 1 interleave, 2 quarter, 3 interleave-half

    Mode 3 puts the even places before the odd ones, then rotates by halves; y keeps that order.
    rotate [D, D] (not in the oldest form) makes the rotated x, x @ rotate, which is unconfirmed.
    C1: all operands are floating-point tensors of one element type. C2: mode is 0 to 3. C3: x has
    rank 4 and a last dimension that 2 divides (4 for mode 2). C4: cos and sin broadcast to x and
    have its last dimension. C5: rotate has a row and a column for each place of the last dimension.
    """

    name = "ge.RotaryPositionEmbedding"

    x = operand()
    cos = operand()
    sin = operand()
    rotate = optional(newer=True)
    y = result()
    mode = integer(0)

    widens = True

    def infer(self, x: Tensor, cos: Tensor, sin: Tensor, matrix: Tensor | None) -> Tensor:
        check_floats(x=x, cos=cos, sin=sin)  # C1
        one_element_type(x, cos, sin, *([] if matrix is None else [matrix]))  # C1
        if matrix is not None and x.shape:  # C5
            merge_shapes((x.shape[-1],) * 2, matrix.shape, "last dimension of x and rotate")
        chosen(self.mode, "mode", (0, 1, 2, 3))  # C2
        of_rank(x, 4, "x")  # C3
        check_length(x.shape, 4 if self.mode == 2 else 2, "x")  # C3
        check_angles(x.shape, cos, "cos")  # C4
        check_angles(x.shape, sin, "sin")  # C4
        return x

    def evaluate(self, x: Array, cos: Array, sin: Array, matrix: Array | None) -> Array:
        if matrix is not None:
            return x * cos + (x @ matrix) * sin
        x = evens_first(x) if self.mode == 3 else x
        return x * cos + rotate(x, (*_MODES, "half")[self.mode]) * sin


class ApplyRotaryPosEmbOp(GeOp):
    """query = query * cos + rotated query * sin, key the same: the results replace the operands

    layout 1 is BSND, 2 SBND, 3 BNSD, 4 TND; cos and sin have one head. rotary_mode is half,
    interleave or quarter. C1: all operands are floating-point tensors of one element type. C2:
    layout is 1 to 4. C3: rotary_mode is one of these. C4: query and key have the rank of the layout
    and a last dimension that 2 divides (4 for quarter). C5: cos and sin broadcast to both and have
    their last dimension.
    """

    name = "ge.ApplyRotaryPosEmb"

    query = operand()
    key = operand()
    cos = operand()
    sin = operand()
    new_query = result("query")
    new_key = result("key")
    layout = integer(1)
    rotary_mode = string("half")

    widens = True

    def infer(self, query: Tensor, key: Tensor, cos: Tensor, sin: Tensor) -> tuple[Tensor, Tensor]:
        check_floats(query=query, key=key, cos=cos, sin=sin)  # C1
        one_element_type(query, key, cos, sin)  # C1
        chosen(self.layout, "layout", (1, 2, 3, 4))  # C2
        chosen(self.rotary_mode, "rotary_mode", _MODES)  # C3
        for tensor, name in ((query, "query"), (key, "key")):
            of_rank(tensor, 3 if self.layout == 4 else 4, name)  # C4
            check_length(tensor.shape, 4 if self.rotary_mode == "quarter" else 2, name)  # C4
            check_angles(tensor.shape, cos, "cos")  # C5
            check_angles(tensor.shape, sin, "sin")  # C5
        return query, key

    def evaluate(self, query: Array, key: Array, cos: Array, sin: Array) -> tuple[Array, Array]:
        mode = self.rotary_mode
        return query * cos + rotate(query, mode) * sin, key * cos + rotate(key, mode) * sin


class InterleaveRopeOp(GeOp):
    """y = e * cos + [-b, a] * sin, e the even places of x before the odd ones, a and b its halves

    The value semantics is unconfirmed. C1: all operands are floating-point tensors of one element
    type. C2: x has rank 4 and an even last dimension. C3: cos and sin broadcast to x and have its
    last dimension.
    """

    name = "ge.InterleaveRope"

    x = operand()
    cos = operand()
    sin = operand()
    y = result()

    def infer(self, x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        check_floats(x=x, cos=cos, sin=sin)  # C1
        one_element_type(x, cos, sin)  # C1
        of_rank(x, 4, "x")  # C2
        check_length(x.shape, 2, "x")  # C2
        check_angles(x.shape, cos, "cos")  # C3
        check_angles(x.shape, sin, "sin")  # C3
        return x


class KvRmsNormRopeCacheOp(GeOp):
    """c_kv = rms(first columns of kv) * gamma, k_rope = e * cos + [-b, a] * sin

    kv is [B, 1, S, Dv + Dk]; e is the last Dk columns, even places before odd ones, a and b its
    halves. Row (b, s) goes to place index[b, s] of k_cache [B, 1, L, Dk] (k_rope) and ckv_cache
    [B, 1, L, Dv] (c_kv); -1 skips it. The caches are results too; k_rope and c_kv are filled when
    is_output_kv is set, else zeros. Only cache_mode Norm without scales and offsets has a value
    here. C1: kv, gamma, cos and sin are floating-point tensors. C2: kv has rank 4 and one head. C3:
    gamma has the first Dv columns, cos and sin the last Dk, an even number. C4: k_cache and
    ckv_cache have rank 4, and Dk and Dv columns. C5: index is i32 or i64, [B, S] for cache_mode
    Norm. C6: cache_mode is Norm,
    PA, PA_BNSD, PA_NZ, PA_BLK_BNSD or PA_BLK_NZ.
    """

    name = "ge.KvRmsNormRopeCache"

    kv = operand()
    gamma = operand()
    cos = operand()
    sin = operand()
    index = operand()
    k_cache = operand()
    ckv_cache = operand()
    k_rope_scale = optional()
    c_kv_scale = optional()
    k_rope_offset = optional()
    c_kv_offset = optional()
    v = optional(newer=True)
    new_k_cache = result("k_cache")
    new_ckv_cache = result("ckv_cache")
    k_rope = result()
    c_kv = result()
    epsilon = floating(1e-05)
    cache_mode = string("Norm")
    is_output_kv = boolean(False)

    widens = True

    def infer(self, kv: Tensor, gamma: Tensor, cos: Tensor, sin: Tensor, *rest: Any) -> Any:
        index, k_cache, ckv_cache = rest[:3]
        modes = ("Norm", "PA", "PA_BNSD", "PA_NZ", "PA_BLK_BNSD", "PA_BLK_NZ")
        chosen(self.cache_mode, "cache_mode", modes)  # C6
        check_floats(kv=kv, gamma=gamma, cos=cos, sin=sin)  # C1
        of_rank(kv, 4, "kv")  # C2
        check_index(index, "index")  # C5
        dv = gamma.shape[-1] if gamma.shape else DYNAMIC
        dk = cos.shape[-1] if cos.shape else DYNAMIC
        check_length(cos.shape, 2, "cos")  # C3
        dk = merge_dim(dk, sin.shape[-1] if sin.shape else DYNAMIC, "columns of cos and sin")  # C3
        for tensor, size, name in ((k_cache, dk, "k_cache"), (ckv_cache, dv, "ckv_cache")):  # C4
            of_rank(tensor, 4, name)
            if tensor.shape is not None:
                merge_dim(tensor.shape[3], size, f"columns of {name} and of its rows")
        if kv.shape is None:
            return k_cache, ckv_cache, kv.with_shape(None), kv.with_shape(None)
        merge_dim(kv.shape[1], 1, "heads of kv and of the caches")  # C2
        if DYNAMIC not in (dk, dv):
            merge_dim(kv.shape[3], dk + dv, "columns of kv and of both parts")  # C3
        lead = kv.shape[:3]
        if self.cache_mode == "Norm" and index.shape is not None:  # C5
            merge_shapes((lead[0], lead[2]), index.shape, "rows of kv and index")
        check_angles((*lead, dk), cos, "cos")  # C3
        check_angles((*lead, dk), sin, "sin")  # C3
        return k_cache, ckv_cache, kv.with_shape((*lead, dk)), kv.with_shape((*lead, dv))

    def evaluate(self, kv: Array, gamma: Array, cos: Array, sin: Array, *rest: Any) -> Any:
        import numpy as np

        index, k_cache, ckv_cache, *others = rest
        names = [io.name for io in self.prototype.inputs[7:]]
        for name, array in zip(names, others, strict=True):
            if array is not None:
                raise ValueError(f"{name} is given, expected none: its mode is not modelled")
        if self.cache_mode != "Norm":
            raise ValueError(f"cache_mode is '{self.cache_mode}', expected Norm")
        if k_cache.dtype != kv.dtype or ckv_cache.dtype != kv.dtype:
            raise ValueError("a cache has another element type than kv, expected the same")
        dv = gamma.shape[-1]
        left, right = kv[..., :dv], evens_first(kv[..., dv:])
        c_kv = left * root_mean_square(left, 1, self.epsilon) * gamma
        k_rope = right * cos + rotate(right, "half") * sin
        if index.size and (index.min() < -1 or index.max() >= k_cache.shape[2]):
            raise ValueError(
                f"index has a place outside [-1, {k_cache.shape[2]}), expected all inside"
            )
        caches = (
            _written(cache, index.reshape(kv.shape[0], kv.shape[2]), rows)
            for cache, rows in ((k_cache, k_rope), (ckv_cache, c_kv))
        )
        if self.is_output_kv:
            return *caches, k_rope.astype(kv.dtype), c_kv.astype(kv.dtype)
        return *caches, np.zeros(k_rope.shape, kv.dtype), np.zeros(c_kv.shape, kv.dtype)


def _written(cache: Array, index: Array, rows: Array) -> Array:
    """A copy of the cache with row (b, s) at place index[b, s]; -1 skips."""
    import numpy as np

    found = cache.copy()
    batch, place = np.nonzero(index >= 0)
    found[batch, 0, index[batch, place]] = rows[batch, 0, place]
    return found
