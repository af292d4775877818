"""Random numbers.

The ops with attributes seed and seed2 have no stream of their own in GE: zeros ask for another one
each time, and no two devices promise equal numbers. Here the numbers are those of numpy's Philox
generator with the key (seed, seed2), so that a run can be repeated. They are not pure: two of them
never become one, and none is folded.

The Stateless ops are functions of their operands: Philox 4x32 with 10 rounds, source: J. Salmon et
al., "Parallel Random Numbers: As Easy as 1, 2, 3", SC 2011. Its key is two and its counter four
words of 32 bits, the lowest first; one step of the counter gives four words.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from xdsl.irdl import traits_def
from xdsl.utils.exceptions import VerifyException

from ge_xdsl.dialects.ge.arg import check_index_type
from ge_xdsl.dialects.ge.elements import FLOATS, NO_NUMBERS, convert, one_element_type, require
from ge_xdsl.dialects.ge.extents import (
    bounded,
    checked_shape,
    count_of,
    int_of,
    ints_of,
    listed_shape,
    of_rank,
)
from ge_xdsl.dialects.ge.fields import data_type, integer, operand, optional, result
from ge_xdsl.dialects.ge.op import GeOp
from ge_xdsl.dialects.ge.operands import check_index, check_scalar, known_int
from ge_xdsl.dialects.ge.search import search_rows
from ge_xdsl.dialects.ge.shapes import Shape, multiply_dims
from ge_xdsl.dialects.ge.types import DYNAMIC, DataType, Tensor, numpy_dtype

if TYPE_CHECKING:
    from ge_xdsl.dialects.ge.types import Array

_WORD = (1 << 64) - 1
_MANTISSA = {
    DataType.DT_FLOAT16: 11,
    DataType.DT_BF16: 8,
    DataType.DT_FLOAT: 24,
    DataType.DT_DOUBLE: 53,
}
_MULTIPLIERS = 0xD2511F53, 0xCD9E8D57
_STEPS = 0x9E3779B9, 0xBB67AE85


def generator(seed: int, seed2: int) -> Any:
    """numpy's Philox generator with the key (seed, seed2)."""
    import numpy as np

    key = np.array([seed & _WORD, seed2 & _WORD], np.uint64)
    return np.random.Generator(np.random.Philox(key=key))


def philox_words(key: int, low: int, high: int, count: int) -> Array:
    """`count` u32 words for a key of 64 bits and a counter of 128, in two halves, `low` first."""
    import numpy as np

    steps = np.arange(-(-count // 4), dtype=np.uint64)
    first = np.uint64(low & _WORD) + steps
    carry = (first < steps).astype(np.uint64)
    second = np.uint64(high & _WORD) + carry
    mask, shift = np.uint64(0xFFFFFFFF), np.uint64(32)
    words = [first & mask, first >> shift, second & mask, second >> shift]
    keys = [key & 0xFFFFFFFF, (key >> 32) & 0xFFFFFFFF]
    for _ in range(10):
        a, b = (words[2 * i] * np.uint64(_MULTIPLIERS[i]) for i in range(2))
        words = [
            (b >> shift) ^ words[1] ^ np.uint64(keys[0]),
            b & mask,
            (a >> shift) ^ words[3] ^ np.uint64(keys[1]),
            a & mask,
        ]
        keys = [(k + step) & 0xFFFFFFFF for k, step in zip(keys, _STEPS, strict=True)]
    return np.stack(words, axis=-1).astype(np.uint32).reshape(-1)[:count]


class _Seeded(GeOp):
    traits = traits_def()


def _float_type(dtype: DataType) -> DataType:
    if dtype not in FLOATS:
        raise VerifyException(f"dtype is {dtype.name}, expected a floating-point type")
    return dtype


def uniform(source: Any, shape: tuple[int, ...], dtype: DataType) -> Array:
    """Numbers in [0, 1), multiples of half the type's precision so that none rounds to 1."""
    import numpy as np

    scale = 2.0 ** _MANTISSA[dtype]
    drawn = np.asarray(source.random(shape))
    return np.asarray(np.floor(drawn * scale) / scale).astype(numpy_dtype(dtype))


class RandomUniformOp(_Seeded):
    """y = uniform numbers in [0, 1), from numpy's Philox with the key (seed, seed2).

    C1: shape is an i32 or i64 vector of numbers >= 0, for at most 2^40 elements. C2: dtype is a
    floating-point type.
    """

    name = "ge.RandomUniform"

    shape = operand()
    y = result()
    dtype = data_type()
    seed = integer(0)
    seed2 = integer(0)

    def infer(self, shape: Tensor) -> Tensor:
        return Tensor(_float_type(self.dtype), listed_shape(self, "shape", shape))  # C2 C1

    def evaluate(self, shape: Array) -> Array:
        source = generator(self.seed, self.seed2)
        return uniform(source, checked_shape(ints_of(shape)), self.dtype)


class RandomStandardNormalOp(_Seeded):
    """y = normal numbers of mean 0 and deviation 1, from numpy's Philox keyed (seed, seed2).

    C1: shape is an i32 or i64 vector of numbers >= 0, for at most 2^40 elements. C2: dtype is a
    floating-point type.
    """

    name = "ge.RandomStandardNormal"

    shape = operand()
    y = result()
    dtype = data_type()
    seed = integer(0)
    seed2 = integer(0)

    def infer(self, shape: Tensor) -> Tensor:
        return Tensor(_float_type(self.dtype), listed_shape(self, "shape", shape))  # C2 C1

    def evaluate(self, shape: Array) -> Array:
        import numpy as np

        source = generator(self.seed, self.seed2)
        drawn = np.asarray(source.standard_normal(checked_shape(ints_of(shape))))
        return drawn.astype(numpy_dtype(self.dtype))


class TruncatedNormalOp(_Seeded):
    """y = normal numbers of mean 0 and deviation 1, drawn again while outside [-2, 2].

    From numpy's Philox with the key (seed, seed2). C1: shape is an i32 or i64 vector of numbers
    >= 0, for at most 2^40 elements. C2: dtype is a floating-point type.
    """

    name = "ge.TruncatedNormal"

    shape = operand()
    y = result()
    seed = integer(0)
    seed2 = integer(0)
    dtype = data_type(DataType.DT_FLOAT)

    def infer(self, shape: Tensor) -> Tensor:
        return Tensor(_float_type(self.dtype), listed_shape(self, "shape", shape))  # C2 C1

    def evaluate(self, shape: Array) -> Array:
        import numpy as np

        source = generator(self.seed, self.seed2)
        wanted = checked_shape(ints_of(shape))
        drawn = np.asarray(source.standard_normal(math.prod(wanted)))
        outside = np.flatnonzero(np.abs(drawn) > 2)
        while outside.size:
            drawn[outside] = source.standard_normal(outside.size)
            outside = outside[np.abs(drawn[outside]) > 2]
        return drawn.reshape(wanted).astype(numpy_dtype(self.dtype))


class RandomUniformIntOp(_Seeded):
    """y = uniform integers in [min, max), from numpy's Philox with the key (seed, seed2).

    An empty interval is not defined. C1: shape is an i32 or i64 vector of numbers >= 0, for at most
    2^40 elements. C2: min and max are one i32 or i64 each, of one type.
    """

    name = "ge.RandomUniformInt"

    shape = operand()
    min = operand()
    max = operand()
    y = result()
    seed = integer(0)
    seed2 = integer(0)

    def infer(self, shape: Tensor, min: Tensor, max: Tensor) -> Tensor:
        for tensor, name in ((min, "min"), (max, "max")):
            check_index(tensor, name)  # C2
            check_scalar(tensor, name)  # C2
        one_element_type(min, max)  # C2
        return Tensor(min.dtype, listed_shape(self, "shape", shape))  # C1

    def evaluate(self, shape: Array, min: Array, max: Array) -> Array:
        import numpy as np

        low, high = int_of(min, "min"), int_of(max, "max")
        if low >= high:
            raise ValueError(f"interval is [{low}, {high}), expected one that is not empty")
        source = generator(self.seed, self.seed2)
        return np.asarray(source.integers(low, high, checked_shape(ints_of(shape)), min.dtype))


class RandomShuffleOp(_Seeded):
    """y = the slices of x along its first dimension in random order.

    From numpy's Philox with the key (seed, seed2); a scalar stays. It has no constraint.
    """

    name = "ge.RandomShuffle"

    x = operand()
    y = result()
    seed = integer(0)
    seed2 = integer(0)

    def infer(self, x: Tensor) -> Tensor:
        return x

    def evaluate(self, x: Array) -> Array:
        if not x.ndim:
            return x
        return x[generator(self.seed, self.seed2).permutation(x.shape[0])]


class MultinomialOp(_Seeded):
    """y[b, :] = num_samples class numbers, class c with a probability of softmax(logits[b])[c].

    From numpy's Philox with the key (seed, seed2). C1: logits is a floating-point matrix. C2:
    num_samples is one i32 or i64, not negative, for at most 2^40 elements. C3: dtype is i32 or i64.
    """

    name = "ge.Multinomial"

    logits = operand()
    num_samples = operand()
    y = result()
    dtype = data_type(DataType.DT_INT64)
    seed = integer(0)
    seed2 = integer(0)

    widens = True

    def infer(self, logits: Tensor, num_samples: Tensor) -> Tensor:
        require(logits, "logits", FLOATS, "a floating-point type")  # C1
        of_rank(logits, 2, "logits")  # C1
        check_index(num_samples, "num_samples")  # C2
        check_scalar(num_samples, "num_samples")  # C2
        check_index_type(self.dtype, "dtype")  # C3
        known = known_int(self, "num_samples")
        count = DYNAMIC if known is None else count_of(known, "num_samples")  # C2
        rows = DYNAMIC if logits.shape is None else logits.shape[0]
        return Tensor(self.dtype, bounded((rows, count)))  # C2

    def evaluate(self, logits: Array, num_samples: Array) -> Array:
        import numpy as np

        rows, classes = logits.shape
        if not classes:
            raise ValueError("logits has no classes, expected at least one")
        shape = bounded((rows, count_of(int_of(num_samples, "num_samples"), "num_samples")))
        wide = logits.astype(np.float64)
        chances = np.cumsum(np.exp(wide - wide.max(axis=1, keepdims=True)), axis=1)
        drawn = np.asarray(generator(self.seed, self.seed2).random(shape)) * chances[:, -1:]
        found = search_rows(chances, drawn, right=True)
        return np.minimum(found, classes - 1).astype(numpy_dtype(self.dtype))


def _mask_shape(shape: Shape) -> tuple[int, ...]:
    """The bytes of a bit mask for tensors of `shape`: 16 for each 128 elements begun."""
    count = DYNAMIC if shape is None else multiply_dims(*shape)
    return (DYNAMIC if count == DYNAMIC else -(-count // 128) * 16,)


def _probability(prob: Array) -> float:
    value = float(prob.reshape(-1)[0]) if prob.size == 1 else math.nan
    if not 0 <= value <= 1:
        raise ValueError(f"prob is {prob.tolist()}, expected one number in [0, 1]")
    return value


class DropOutGenMaskOp(_Seeded):
    """y = a bit for each element of a tensor of `shape`, 1 (keep) with the probability prob.

    The lowest bit of a byte comes first, and 16 bytes stand for each 128 elements begun. From
    numpy's Philox with the key (seed, seed2). C1: shape is an i32 or i64 vector of numbers >= 0,
    for at most 2^40 elements. C2: prob is one floating-point number.
    """

    name = "ge.DropOutGenMask"

    shape = operand()
    prob = operand()
    y = result()
    seed = integer(0)
    seed2 = integer(0)

    def infer(self, shape: Tensor, prob: Tensor) -> Tensor:
        require(prob, "prob", FLOATS, "a floating-point type")  # C2
        check_scalar(prob, "prob")  # C2
        return Tensor(DataType.DT_UINT8, _mask_shape(listed_shape(self, "shape", shape)))  # C1

    def evaluate(self, shape: Array, prob: Array) -> Array:
        import numpy as np

        (count,) = _mask_shape(checked_shape(ints_of(shape)))
        source = generator(self.seed, self.seed2)
        return np.packbits(source.random(8 * count) < _probability(prob), bitorder="little")


def below(words: Array, prob: float | Array) -> Array:
    """Whether the middle of each word's interval of 2^-32 lies below prob."""
    import numpy as np

    return np.asarray(words.astype(np.float64) * 2.0**-32 + 2.0**-33 < prob)


class StatelessDropOutGenMaskOp(GeOp):
    """y = a bit for each element of a tensor of `shape`, 1 (keep) with the probability prob.

    The lowest bit of a byte comes first, and 16 bytes stand for each 128 elements begun. Philox
    words with the key seed and the counter (offset[0], offset[1]), 0 without offset; a bit is 1
    where (word + 1/2) * 2^-32 < prob. seed1 has no say. C1: shape is an i32 or i64 vector of
    numbers >= 0, for at most 2^40 elements. C2: prob is one floating-point number. C3: seed and
    seed1 are one i32 or i64 each. C4: offset is i64 of two numbers.
    """

    name = "ge.StatelessDropOutGenMask"

    shape = operand()
    prob = operand()
    seed = operand()
    seed1 = operand()
    offset = optional()
    y = result()

    def infer(
        self, shape: Tensor, prob: Tensor, seed: Tensor, seed1: Tensor, offset: Tensor | None
    ) -> Tensor:
        require(prob, "prob", FLOATS, "a floating-point type")  # C2
        check_scalar(prob, "prob")  # C2
        for tensor, name in ((seed, "seed"), (seed1, "seed1")):
            check_index(tensor, name)  # C3
            check_scalar(tensor, name)  # C3
        if offset is not None:
            require(offset, "offset", {DataType.DT_INT64}, "DT_INT64")  # C4
            if offset.size() not in (None, 2):  # C4
                raise VerifyException(f"offset has {offset.size()} elements, expected 2")
        return Tensor(DataType.DT_UINT8, _mask_shape(listed_shape(self, "shape", shape)))  # C1

    def evaluate(
        self, shape: Array, prob: Array, seed: Array, seed1: Array, offset: Array | None
    ) -> Array:
        import numpy as np

        (count,) = _mask_shape(checked_shape(ints_of(shape)))
        low, high = (0, 0) if offset is None else ints_of(offset)
        words = philox_words(int_of(seed, "seed"), low, high, 8 * count)
        return np.packbits(below(words, _probability(prob)), bitorder="little")


class _Keyed(GeOp):
    """C1: shape lists the result's. C2: dtype. C3: key. C4: counter. C5: alg, of the ops below."""

    def keyed(
        self, shape: Tensor, key: Tensor, counter: Tensor, alg: Tensor, dtype: DataType
    ) -> Tensor:
        unsigned = {DataType.DT_UINT64}
        for tensor, name, count in ((key, "key", 1), (counter, "counter", 2)):
            require(tensor, name, unsigned, "DT_UINT64")  # C3 C4
            if tensor.size() not in (None, count):  # C3 C4
                raise VerifyException(f"{name} has {tensor.size()} elements, expected {count}")
        require(alg, "alg", {DataType.DT_INT32}, "DT_INT32")  # C5
        check_scalar(alg, "alg")  # C5
        return Tensor(_float_type(dtype), listed_shape(self, "shape", shape))  # C2 C1

    def words(self, key: Array, counter: Array, alg: Array, count: int, dtype: DataType) -> Array:
        if dtype is not DataType.DT_FLOAT:
            raise ValueError(f"dtype is {dtype.name}, expected DT_FLOAT, whose stream is known")
        if int_of(alg, "alg") not in (1, 3):
            raise ValueError(f"alg is {int_of(alg, 'alg')}, expected 1 (Philox) or 3 (automatic)")
        low, high = ints_of(counter)
        return philox_words(int_of(key, "key"), low, high, count)


def unit_floats(words: Array) -> Array:
    """f32 numbers in [0, 1): the low 23 bits of each word as the fraction of 1.xxx, less 1."""
    import numpy as np

    bits = (words & np.uint32(0x7FFFFF)) | np.uint32(0x3F800000)
    return bits.view(np.float32) - np.float32(1)


class StatelessRandomUniformV2Op(_Keyed):
    """y = f32 numbers in [0, 1) from the low 23 bits of Philox words with this key and counter.

    alg is 1 (Philox) or 3 (the same here). Other float types have no known stream. C1: shape is an
    i32 or i64 vector of numbers >= 0, for at most 2^40 elements. C2: dtype is a floating-point
    type. C3: key is one u64. C4: counter is two u64. C5: alg is one i32.
    """

    name = "ge.StatelessRandomUniformV2"

    shape = operand()
    key = operand()
    counter = operand()
    alg = operand()
    y = result()
    dtype = data_type(DataType.DT_FLOAT)

    def infer(self, shape: Tensor, key: Tensor, counter: Tensor, alg: Tensor) -> Tensor:
        return self.keyed(shape, key, counter, alg, self.dtype)

    def evaluate(self, shape: Array, key: Array, counter: Array, alg: Array) -> Array:
        wanted = checked_shape(ints_of(shape))
        words = self.words(key, counter, alg, math.prod(wanted), self.dtype)
        return unit_floats(words).reshape(wanted)


class StatelessRandomNormalV2Op(_Keyed):
    """y = f32 normal numbers: Box and Muller's transform of pairs of Philox words.

    With u and v in [0, 1) of a pair, u at least 1e-7: sqrt(-2 log u) times sin and cos of 2 pi v.
    That the device does it in this way is not confirmed. C1: shape is an i32 or i64 vector of
    numbers >= 0, for at most 2^40 elements. C2: dtype is a floating-point type. C3: key is one u64.
    C4: counter is two u64. C5: alg is one i32.
    """

    name = "ge.StatelessRandomNormalV2"

    shape = operand()
    key = operand()
    counter = operand()
    alg = operand()
    y = result()
    dtype = data_type(DataType.DT_FLOAT)

    def infer(self, shape: Tensor, key: Tensor, counter: Tensor, alg: Tensor) -> Tensor:
        return self.keyed(shape, key, counter, alg, self.dtype)

    def evaluate(self, shape: Array, key: Array, counter: Array, alg: Array) -> Array:
        import numpy as np

        wanted = checked_shape(ints_of(shape))
        count = math.prod(wanted)
        pairs = unit_floats(self.words(key, counter, alg, count + count % 2, self.dtype))
        u, v = np.maximum(pairs[::2], np.float32(1e-7)), pairs[1::2] * np.float32(2 * math.pi)
        size = np.sqrt(np.float32(-2) * np.log(u))
        y = np.stack([np.sin(v) * size, np.cos(v) * size], axis=-1)
        return y.reshape(-1)[:count].reshape(wanted).astype(np.float32)


def _bernoulli_type(dtype: DataType) -> DataType:
    if dtype in NO_NUMBERS:
        raise VerifyException(f"dtype is {dtype.name}, expected a numeric type")
    return dtype


class StatelessBernoulliOp(GeOp):
    """y = 1 with the probability prob, else 0.

    Philox words with the key seed and the counter offset: 1 where (word + 1/2) * 2^-32 < prob. The
    stream of the device is not confirmed. C1: shape is an i32 or i64 vector of numbers >= 0, for at
    most 2^40 elements. C2: prob is one floating-point number. C3: seed and offset are one i64 each.
    C4: dtype is numeric.
    """

    name = "ge.StatelessBernoulli"

    shape = operand()
    prob = operand()
    seed = operand()
    offset = operand()
    y = result()
    dtype = data_type(DataType.DT_FLOAT)

    def infer(self, shape: Tensor, prob: Tensor, seed: Tensor, offset: Tensor) -> Tensor:
        require(prob, "prob", FLOATS, "a floating-point type")  # C2
        check_scalar(prob, "prob")  # C2
        for tensor, name in ((seed, "seed"), (offset, "offset")):
            require(tensor, name, {DataType.DT_INT64}, "DT_INT64")  # C3
            check_scalar(tensor, name)  # C3
        return Tensor(_bernoulli_type(self.dtype), listed_shape(self, "shape", shape))  # C4 C1

    def evaluate(self, shape: Array, prob: Array, seed: Array, offset: Array) -> Array:
        wanted = checked_shape(ints_of(shape))
        key, start = int_of(seed, "seed"), int_of(offset, "offset")
        hits = below(philox_words(key, start, 0, math.prod(wanted)), _probability(prob))
        return convert(hits.reshape(wanted), numpy_dtype(self.dtype))
