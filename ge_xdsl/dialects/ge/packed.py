"""Packed weights, random masks of newer kinds, and streaming cells: mostly shapes.

Weights are packed by a tool that is not public, and streams of the device's generators are not
confirmed, which a docstring says where it matters.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from xdsl.utils.exceptions import VerifyException

from ge_xdsl.dialects.ge.elements import (
    FLOATS,
    INDICES,
    convert,
    one_element_type,
    require,
)
from ge_xdsl.dialects.ge.extents import bounded, count_of, int_of, merge_shapes
from ge_xdsl.dialects.ge.fields import (
    boolean,
    data_type,
    floating,
    floats,
    integer,
    operand,
    optional,
    result,
    string,
    strings,
)
from ge_xdsl.dialects.ge.op import GeOp
from ge_xdsl.dialects.ge.operands import check_channels, check_scalar
from ge_xdsl.dialects.ge.random import below, philox_words
from ge_xdsl.dialects.ge.recurrent import dims, expect
from ge_xdsl.dialects.ge.rounding import chosen
from ge_xdsl.dialects.ge.shapes import broadcast, merge_dim
from ge_xdsl.dialects.ge.types import DYNAMIC, DataType, Tensor, numpy_dtype, tensor_of

if TYPE_CHECKING:
    from ge_xdsl.dialects.ge.types import Array


class ClipOp(GeOp):
    """y = min(max(x, min), max), NaN stays

    C1: x is a floating-point tensor. C2: min is at most max.
    """

    name = "ge.Clip"

    x = operand()
    y = result()
    min = floating(0.0)
    max = floating(0.0)

    widens = True

    def infer(self, x: Tensor) -> Tensor:
        require(x, "x", FLOATS, "a floating-point type")  # C1
        if self.min > self.max:  # C2
            raise VerifyException(f"min is {self.min} and max {self.max}, expected min up to max")
        return x

    def evaluate(self, x: Array) -> Array:
        import numpy as np

        return np.clip(x, x.dtype.type(self.min), x.dtype.type(self.max))


class FullyConnectionCompressOp(GeOp):
    """FullyConnection on packed weights: y [rows, num_output] in i32; the packing is not public

    C1: x is i8 or u8. C2: axis is 1. C3: b has num_output entries.
    """

    name = "ge.FullyConnectionCompress"

    x = operand()
    w = operand()
    comress_index = operand()
    b = optional()
    offset_w = optional()
    y = result()
    num_output = integer()
    transpose = boolean(False)
    axis = integer(1)
    offset_x = integer(0)

    def infer(self, x: Tensor, w: Tensor, index: Tensor, *rest: Tensor | None) -> Tensor:
        bytes_ = (DataType.DT_INT8, DataType.DT_UINT8)
        require(x, "x", bytes_, "DT_INT8 or DT_UINT8")  # C1
        chosen(self.axis, "axis", (1,))  # C2
        count_of(self.num_output, "num_output")  # C3
        check_channels(rest[0], self.num_output, "b")  # C3
        rows = x.shape[0] if x.shape else DYNAMIC
        return Tensor(DataType.DT_INT32, bounded((rows, self.num_output)))


class MatMulV2CompressOp(GeOp):
    """MatMulV2 on packed weights: y = op(x1) @ op(x2) + bias in i32; the packing is not public

    C1: x1 and x2 are i8 matrices. C2: the inner dimensions are equal. C3: alg is weight_unzip or
    weight_sparse_4_2. C4: bias has a number per column.
    """

    name = "ge.MatMulV2Compress"

    x1 = operand()
    x2 = operand()
    compress_index = operand()
    bias = optional()
    offset_w = optional()
    y = result()
    transpose_x1 = boolean(False)
    transpose_x2 = boolean(False)
    offset_x = integer(0)
    alg = string("weight_unzip")

    def infer(self, x1: Tensor, x2: Tensor, index: Tensor, *rest: Tensor | None) -> Tensor:
        chosen(self.alg, "alg", ("weight_unzip", "weight_sparse_4_2"))  # C3
        for name, tensor in (("x1", x1), ("x2", x2)):
            require(tensor, name, (DataType.DT_INT8,), "DT_INT8")  # C1
        m, k = dims(x1, 2, "x1")[:: -1 if self.transpose_x1 else 1]  # C1
        inner, n = dims(x2, 2, "x2")[:: -1 if self.transpose_x2 else 1]  # C1
        merge_dim(k, inner, "inner dimensions")  # C2
        check_channels(rest[0], n, "bias")  # C4
        return Tensor(DataType.DT_INT32, (m, n))


class AscendRequantS16Op(GeOp):
    """y0 = x0 + x1 scaled to i8, y1 = x0 + x1; the scale's shift field is not public

    y1 has a meaning with dual_output only. C1: x0 and x1 are i16 of one shape. C2: req_scale is
    u64.
    """

    name = "ge.AscendRequantS16"

    x0 = operand()
    req_scale = operand()
    x1 = optional()
    y0 = result()
    y1 = result()
    dual_output = boolean(False)
    relu_flag = boolean(False)

    def infer(self, x0: Tensor, req_scale: Tensor, x1: Tensor | None) -> tuple[Tensor, Tensor]:
        require(x0, "x0", (DataType.DT_INT16,), "DT_INT16")  # C1
        require(req_scale, "req_scale", (DataType.DT_UINT64,), "DT_UINT64")  # C2
        shape = x0.shape
        if x1 is not None:
            require(x1, "x1", (DataType.DT_INT16,), "DT_INT16")  # C1
            shape = merge_shapes(shape, x1.shape, "shapes of x0 and x1")  # C1
        return Tensor(DataType.DT_INT8, shape), x0.with_shape(shape)


class DynamicQuantUpdateScatterV2Op(GeOp):
    """var, var_scale, var_offset with the rows of x, quantised to i4, at place indices[b] of item b

    The values are not modelled. C1: x is f16 or bf16, of rank 2 or more. C2: indices is i32, one
    per item of x. C3: var is i4, var_scale and var_offset f32.
    """

    name = "ge.DynamicQuantUpdateScatterV2"

    x = operand()
    indices = operand()
    var = operand()
    var_scale = operand()
    var_offset = operand()
    new_var = result("var")
    new_var_scale = result("var_scale")
    new_var_offset = result("var_offset")

    def infer(self, x: Tensor, indices: Tensor, *rest: Tensor) -> tuple[Tensor, ...]:
        halves = (DataType.DT_FLOAT16, DataType.DT_BF16)
        require(x, "x", halves, "DT_FLOAT16 or DT_BF16")  # C1
        if x.shape is not None and len(x.shape) < 2:  # C1
            raise VerifyException("x has rank below 2, expected 2 or more")
        require(indices, "indices", (DataType.DT_INT32,), "DT_INT32")  # C2
        expect(indices, (DYNAMIC if x.shape is None else x.shape[0],), "indices")  # C2
        types = (DataType.DT_INT4, DataType.DT_FLOAT, DataType.DT_FLOAT)
        for io, tensor, dtype in zip(self.prototype.inputs[2:], rest, types, strict=True):
            require(tensor, io.name, (dtype,), dtype.name)  # C3
        return tuple(rest)


class StatelessBernoulliV2Op(GeOp):
    """y = 1 with the probability x, element by element, else 0

    Philox words with the key seed and the counter offset: 1 where (word + 1/2) * 2^-32 < x. The
    stream of the device is not confirmed. C1: x is a floating-point tensor. C2: seed and offset are
    one i64 each. C3: dtype is DT_UNDEFINED, for that of x, or numeric.
    """

    name = "ge.StatelessBernoulliV2"

    x = operand()
    seed = operand()
    offset = operand()
    y = result()
    dtype = data_type(DataType.DT_UNDEFINED)

    def infer(self, x: Tensor, seed: Tensor, offset: Tensor) -> Tensor:
        require(x, "x", FLOATS, "a floating-point type")  # C1
        for tensor, name in ((seed, "seed"), (offset, "offset")):
            require(tensor, name, (DataType.DT_INT64,), "DT_INT64")  # C2
            check_scalar(tensor, name)  # C2
        if self.dtype in (DataType.DT_STRING, DataType.DT_RESOURCE, DataType.DT_VARIANT):  # C3
            raise VerifyException(f"dtype is {self.dtype.name}, expected a numeric type")
        return x if self.dtype is DataType.DT_UNDEFINED else x.with_dtype(self.dtype)

    def evaluate(self, x: Array, seed: Array, offset: Array) -> Array:
        import numpy as np

        words = philox_words(int_of(seed, "seed"), int_of(offset, "offset"), 0, x.size)
        hits = below(words, x.reshape(-1).astype(np.float64)).reshape(x.shape)
        return convert(hits, numpy_dtype(tensor_of(self.y.type).dtype))


class BernoulliOp(GeOp):
    """y = 1 with the probability p, else 0, in the shape and type of x; drawn by chance, no values

    C1: p is f32 or f64 and broadcasts to x.
    """

    name = "ge.Bernoulli"

    x = operand()
    p = operand()
    y = result()
    seed = integer(-1)

    def infer(self, x: Tensor, p: Tensor) -> Tensor:
        wide = (DataType.DT_FLOAT, DataType.DT_DOUBLE)
        require(p, "p", wide, "DT_FLOAT or DT_DOUBLE")  # C1
        merge_shapes(broadcast(x.shape, p.shape), x.shape, "shapes of x with p and x")  # C1
        return x


class DropOutV3Op(GeOp):
    """y = x / (1 - p) where the mask keeps, else 0; mask packs a bit per element, in blocks of 128

    p is the probability to drop. The stream of the device is not confirmed, so that it has no
    value here. C1: x is a floating-point tensor. C2: p is one number. C3: seed is i32 or i64, one
    number.
    """

    name = "ge.DropOutV3"

    x = operand()
    noise_shape = optional()
    p = operand()
    seed = operand()
    offset = operand()
    y = result()
    mask = result()

    def infer(self, x: Tensor, noise_shape: Tensor | None, *rest: Tensor) -> tuple[Tensor, Tensor]:
        p, seed, _ = rest
        require(x, "x", FLOATS, "a floating-point type")  # C1
        check_scalar(p, "p")  # C2
        require(seed, "seed", INDICES, "DT_INT32 or DT_INT64")  # C3
        check_scalar(seed, "seed")  # C3
        size = x.size()
        length = DYNAMIC if size is None else -(-size // 128) * 16
        return x, Tensor(DataType.DT_UINT8, (length,))


class _Streaming(GeOp):
    """int8 cells that write their states in place."""

    hidden_size = integer()
    activation_alpha = floats(())
    activation_beta = floats(())
    activations = strings(())
    clip = floating(-1.0)
    direction = string("forward")

    def states(self, x: Tensor, weights: Sequence[Tensor], state: Tensor) -> Tensor:
        """y [T, D, B, H] of states [D, B, H]."""
        chosen(self.direction, "direction", ("forward", "reverse", "bidirectional"))  # C1
        one_element_type(*weights)  # C2
        time = dims(x, 3, "x")[0]  # C3
        d, b, h = dims(state, 3, "h")  # C4
        if self.hidden_size > 0:
            merge_dim(h, self.hidden_size, "columns of h and hidden_size")  # C4
        return x.with_shape(bounded((time, d, b, h)))


class BasicGRUInplaceFillWindowCacheOp(_Streaming):
    """y [T, D, B, H] and h of a streaming gated cell in i8; the values are not modelled

    C1: direction is forward, reverse or bidirectional. C2: w and r have one element type. C3: x has
    rank 3. C4: h has rank 3 and hidden_size columns.
    """

    name = "ge.BasicGRUInplaceFillWindowCache"

    x = operand()
    w = operand()
    r = operand()
    h = operand()
    b = optional()
    sequence_lens = optional()
    clean_cache = optional()
    deq_scale = optional()
    y = result()
    new_h = result("h")
    linear_before_reset = integer(1)
    quant_scale_x = floating(0.0)
    quant_offset_x = floating(0.0)
    quant_sqrt_mode_x = boolean(False)
    quant_scale_h = floating(0.0)
    quant_offset_h = floating(0.0)
    quant_sqrt_mode_h = boolean(False)
    quant_dtype = integer(2)

    def infer(self, x: Tensor, w: Tensor, r: Tensor, h: Tensor, *rest: object) -> object:
        return self.states(x, (w, r), h), h


class BasicLSTMInplaceFillWindowCacheOp(_Streaming):
    """y [T, D, B, H], h and c of a streaming cell in i8; the values are not modelled

    C1: direction is forward, reverse or bidirectional. C2: w and r have one element type. C3: x has
    rank 3. C4: h has rank 3 and hidden_size columns.
    """

    name = "ge.BasicLSTMInplaceFillWindowCache"

    x = operand()
    w = operand()
    r = operand()
    h = operand()
    c = operand()
    b = optional()
    sequence_lens = optional()
    clean_cache = optional()
    deq_scale = operand()
    y = result()
    new_h = result("h")
    new_c = result("c")
    input_forget = integer(0)
    quant_scale_x = floating(0.0)
    quant_offset_x = floating(0.0)
    quant_sqrt_mode_x = boolean(False)
    quant_scale_h = floating(0.0)
    quant_offset_h = floating(0.0)
    quant_sqrt_mode_h = boolean(False)
    quant_dtype = integer(2)

    def infer(self, x: Tensor, w: Tensor, r: Tensor, h: Tensor, *rest: Tensor) -> object:
        return self.states(x, (w, r), h), h, rest[0]
