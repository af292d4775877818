"""Ops on words: n-grams of tokens, and strings made alike."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from xdsl.utils.exceptions import VerifyException

from ge_xdsl.dialects.ge.elements import require
from ge_xdsl.dialects.ge.extents import bounded, count_of
from ge_xdsl.dialects.ge.fields import (
    boolean,
    floats,
    integer,
    integers,
    operand,
    result,
    string,
    strings,
)
from ge_xdsl.dialects.ge.op import GeOp
from ge_xdsl.dialects.ge.rounding import chosen
from ge_xdsl.dialects.ge.shapes import shape_text
from ge_xdsl.dialects.ge.types import DYNAMIC, DataType, Tensor

if TYPE_CHECKING:
    from ge_xdsl.dialects.ge.types import Array


class StringNormalizerOp(GeOp):
    """output = the strings of input without stopwords, in upper or lower case

    Strings have no value here. C1: input holds strings. C2: input is [C] or [1, C]. C3:
    case_change_action is NONE, LOWER or UPPER.
    """

    name = "ge.StringNormalizer"

    input = operand()
    output = result()
    stopwords = strings(())
    is_case_sensitive = boolean(False)
    case_change_action = string("NONE")
    locale = string("C")

    def infer(self, input: Tensor) -> Tensor:
        require(input, "input", (DataType.DT_STRING,), "DT_STRING")  # C1
        chosen(self.case_change_action, "case_change_action", ("NONE", "LOWER", "UPPER"))  # C3
        if input.shape is None:
            return input
        if len(input.shape) not in (1, 2) or input.shape[:-1] not in ((), (1,), (DYNAMIC,)):  # C2
            raise VerifyException(f"input is {shape_text(input.shape)}, expected [C] or [1, C]")
        return input.with_shape((*input.shape[:-1], DYNAMIC))


class TfIdfVectorizerOp(GeOp):
    """output[..., ngram_indexes[i]] = how often n-gram i of the pool stands in a row of input

    The pool lists all 1-grams, then all 2-grams and so on; ngram_counts says where each length
    starts. Lengths from min_gram_length to max_gram_length count, with tokens that stand s + 1
    apart for every s up to max_skip_count (1-grams once). mode IDF gives the weight of what occurs
    at all, TFIDF the weight times the count; without weights they are 1. weights[c] is that of
    column c, as onnx and onnxruntime read the list. Strings have no value here. C1: input has rank
    1 or 2. C2: mode is TF, IDF or TFIDF. C3: lengths are positive and rise, max_skip_count is not
    negative. C4: ngram_indexes are not negative. C5: one of the pools is given. C6: weights have an
    entry per n-gram, if there are any. C7: ngram_counts rise, from 0, within the pool.
    """

    name = "ge.TfIdfVectorizer"

    input = operand()
    output = result()
    max_gram_length = integer()
    max_skip_count = integer()
    min_gram_length = integer()
    mode = string()
    ngram_counts = integers()
    ngram_indexes = integers()
    pool_int64s = integers(())
    pool_strings = strings(())
    weights = floats(())

    def infer(self, input: Tensor) -> Tensor:
        chosen(self.mode, "mode", ("TF", "IDF", "TFIDF"))  # C2
        least, most, skips = self.min_gram_length, self.max_gram_length, self.max_skip_count
        if not 1 <= least <= most or skips < 0:  # C3
            raise VerifyException(
                f"lengths are {least} to {most} with {skips} skips, expected 1 or more, rising, "
                "and no negative skips"
            )
        if not self.ngram_indexes or min(self.ngram_indexes) < 0:  # C4
            raise VerifyException(
                f"ngram_indexes are {list(self.ngram_indexes)}, expected some, none negative"
            )
        self._check_pool()
        width = count_of(max(self.ngram_indexes) + 1, "columns of output")
        if input.shape is None:
            return Tensor(DataType.DT_FLOAT, None)
        if len(input.shape) not in (1, 2):  # C1
            raise VerifyException(f"input is {shape_text(input.shape)}, expected rank 1 or 2")
        return Tensor(DataType.DT_FLOAT, bounded((*input.shape[:-1], width)))

    def _check_pool(self) -> None:
        pool = len(self.pool_int64s) or len(self.pool_strings)
        if not pool or (self.pool_int64s and self.pool_strings):  # C5
            raise VerifyException(
                "pool_int64s and pool_strings are both set or empty, expected one"
            )
        if self.weights and len(self.weights) != len(self.ngram_indexes):  # C6
            raise VerifyException(
                f"weights have {len(self.weights)} entries, expected {len(self.ngram_indexes)}"
            )
        starts = list(self.ngram_counts)
        if not starts or starts[0] != 0 or sorted(starts) != starts or starts[-1] > pool:  # C7
            raise VerifyException(
                f"ngram_counts are {starts}, expected rising ones from 0 to at most {pool}"
            )

    def evaluate(self, input: Array) -> Array:
        import numpy as np

        if not self.pool_int64s:
            raise ValueError("pool_int64s is empty, expected numbers: strings have no value")
        width = max(self.ngram_indexes) + 1
        rows = input.reshape(-1, input.shape[-1])
        counts = np.zeros((len(rows), width), np.float32)
        grams = self._grams()
        for length in sorted(grams):
            if not self.min_gram_length <= length <= self.max_gram_length:
                continue
            furthest = (rows.shape[1] - 1) // (length - 1) if length > 1 else 1
            for skip in range(min(self.max_skip_count + 1, furthest) if length > 1 else 1):
                places = [t * (skip + 1) for t in range(length)]
                last = rows.shape[1] - places[-1]
                for gram, column in grams[length] if last > 0 else ():
                    tokens = zip(places, gram, strict=True)
                    hits = [rows[:, place : place + last] == token for place, token in tokens]
                    counts[:, column] += np.logical_and.reduce(hits).sum(axis=1)
        factors = np.ones(width, np.float32)
        if self.weights:
            given = self.weights[:width]
            factors[: len(given)] = given
        if self.mode == "IDF":
            counts = (counts > 0).astype(np.float32)
        found = counts if self.mode == "TF" else counts * factors
        return found.reshape(*input.shape[:-1], width)

    def _grams(self) -> dict[int, list[tuple[tuple[int, ...], int]]]:
        """Length -> the n-grams of the pool with their columns."""
        pool, starts = self.pool_int64s, [*self.ngram_counts, len(self.pool_int64s)]
        columns = iter(self.ngram_indexes)
        found: dict[int, list[tuple[tuple[int, ...], int]]] = {}
        for length, (start, stop) in enumerate(pairwise(starts), start=1):
            grams = [tuple(pool[i : i + length]) for i in range(start, stop, length)]
            found[length] = list(zip(grams, columns, strict=False))
        return found
