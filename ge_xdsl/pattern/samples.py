"""Tensors on which rewrites and passes are tried, and when two results count as the same."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from ge_xdsl.dialects.ge.types import DYNAMIC, DataType, Tensor, numpy_dtype

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    import numpy as np

    from ge_xdsl.dialects.ge.types import Array

LIMIT = 1 << 24
"""Tensors of more elements than this are not sampled."""
TOO_LARGE = f"a tensor of more than {LIMIT} elements enters"


class Size(NamedTuple):
    """What stands for the unknown dimensions of the tensors that enter a graph."""

    first: int
    """For a first dimension, which often is a batch."""
    others: int

    def fill(self, shape: Sequence[int]) -> tuple[int, ...]:
        """A shape without unknown dimensions."""
        return tuple(
            dim if dim != DYNAMIC else self.others if i else self.first
            for i, dim in enumerate(shape)
        )


SIZES = (
    *(Size(size, size) for size in (3, 1, 2)),
    *(Size(1, size) for size in (8, 16, 32, 64, 128, 256, 512)),
)
"""What unknown dimensions are tried as, in order, until the old value can be computed: windows,
strides and paddings ask for large ones."""

RANDOM = "random values"
"""Normal floats, small integers."""
EDGES = "edge values"
"""Floats: zeros of both signs, one, negative and large ones; integers: the ends of the type too."""
ZEROS = "zeros"
SMALL = "small values"
"""Floats beside which an epsilon is large; integers of both signs. Told apart in f64 alone: what
rounding does to them says nothing."""
HUGE = "huge values"
"""Finite floats whose products come near the end of their type."""
LARGE = "large values"
"""f16 alone: values of one sign whose squares and sums are beyond the end of the type."""
NONFINITE = "NaN and infinite values"

SAMPLES = (RANDOM, EDGES, ZEROS)
"""The kinds on which the values themselves must agree, without rounding where that can be told."""
EVERY_SAMPLE = (*SAMPLES, SMALL, HUGE, LARGE, NONFINITE)
"""The kinds that rewrites and passes are tried on."""
OVERFLOWING = (HUGE, LARGE)
"""The kinds of which an overflow that was not there before is all that counts."""
LISTED = (EDGES, LARGE, NONFINITE)
"""The kinds whose values come from a list: a small tensor holds only a part of it at a time."""
MANY = 1 << 12
"""So many values are drawn from a list one by one, fewer are shuffled."""
TURNS = 8
"""How many parts of such a list are tried at most."""
FEW = 1 << 10
"""Only where all tensors together have no more elements than this."""

THRESHOLDS = {
    DataType.DT_FLOAT16: 2.0**-10,
    DataType.DT_BF16: 2.0**-7,
    DataType.DT_FLOAT: 2.0**-13,
    DataType.DT_DOUBLE: 2.0**-40,
    DataType.DT_COMPLEX64: 2.0**-13,
    DataType.DT_COMPLEX128: 2.0**-40,
    DataType.DT_FLOAT8_E4M3FN: 2.0**-3,
    DataType.DT_FLOAT8_E5M2: 2.0**-2,
}
"""Relative error that is allowed on average; ten times it on any one element. The rule for
differential tests of Ascend operators; f64 is the project's own. Other types must be equal."""

_EDGES = (0.0, -0.0, 1.0, -1.0, 0.5, -3.0, 8.0, 100.0, -100.0, 1e-3)
_NONFINITE = (float("nan"), float("inf"), float("-inf"), 0.0, -0.0, 1.0, -2.0)
_LARGE = (300.0, 1000.0, 16000.0, 60000.0)
_LONGEST = 11
"""Values in the longest list of a kind."""
_DRAWN = 16
"""Random values that a small tensor sees in all its turns together, one after another."""
_SMALL_BITS = {DataType.DT_FLOAT16: 7, DataType.DT_FLOAT8_E4M3FN: 3, DataType.DT_FLOAT8_E5M2: 3}
"""How far below one the small values of short types are, in binary digits: their squares are no
subnormal numbers. 13 for the others."""


class NotChecked(Exception):
    """What cannot be checked by numbers; the text says why."""


def turns_of(kind: str, sizes: list[int]) -> int:
    """How often a kind is tried on tensors of so many elements, to see all of its values."""
    filled = [count for count in sizes if count]
    if kind not in (*LISTED, RANDOM) or not filled or sum(filled) > FEW:
        return 1
    if kind == RANDOM:
        return -(-_DRAWN // min(filled))
    wanted = _LONGEST if kind != EDGES or len(filled) == 1 else _LONGEST**2  # pairs of values
    return max(min(TURNS, -(-wanted // min(filled))), 1 + (kind == LARGE))


def adds(kind: str, dtypes: Collection[DataType]) -> bool:
    """Whether a kind gives other values than the kinds before it to tensors of these types."""
    if kind == LARGE:
        return DataType.DT_FLOAT16 in dtypes
    return kind not in (HUGE, NONFINITE) or not THRESHOLDS.keys().isdisjoint(dtypes)


def sample(tensor: Tensor, kind: str, seed: int, size: Size, turn: int = 0) -> Array:
    """An array of a tensor's type: `size` stands for unknown dimensions, `turn` for the part of
    the kind's values that a small tensor gets.

    Raises NotChecked for a tensor of unknown rank, above LIMIT, or without a numpy type.
    """
    import numpy as np

    if tensor.shape is None:
        raise NotChecked("a tensor of unknown rank enters")
    shape = size.fill(tensor.shape)
    if int(np.prod(shape, dtype=np.float64)) > LIMIT:
        raise NotChecked(TOO_LARGE)
    try:
        dtype = numpy_dtype(tensor.dtype)
    except ValueError as error:
        raise NotChecked(str(error)) from None
    if kind == ZEROS or dtype.kind == "O":
        return np.zeros(shape, dtype)
    drawn = kind in (RANDOM, SMALL) or dtype.kind == "b"
    rng = np.random.default_rng([seed, turn] if drawn and turn else seed)
    if dtype.kind in "biu":
        return _integers(rng, dtype, kind, shape, turn)
    if drawn or (kind == LARGE and tensor.dtype != DataType.DT_FLOAT16):
        small = _SMALL_BITS.get(tensor.dtype, 13) if kind == SMALL else 0
        values = rng.standard_normal(shape) * 2.0**-small
    else:
        values = _spread(rng, _floats(dtype, kind), shape, turn)
        values = -values if kind == LARGE and turn % 2 else values
    with np.errstate(all="ignore"):
        return values.astype(dtype)


def _spread(rng: np.random.Generator, choices: Array, shape: tuple[int, ...], turn: int) -> Array:
    """Values from a list in an order by chance, each about as often as any other; the next ones
    of the same order at each turn."""
    import numpy as np

    count = int(np.prod(shape))
    if count > MANY:  # a permutation of so many takes longer than most ops
        return choices[rng.integers(0, len(choices), shape, np.int8)]
    order = np.roll(rng.permutation(choices), -turn * count)
    values = np.resize(order, count) if count else np.empty(0, choices.dtype)
    return rng.permutation(values).reshape(shape)


def _floats(dtype: np.dtype[Any], kind: str) -> Array:
    import numpy as np

    if kind == EDGES:
        return np.array(_EDGES)
    if kind == NONFINITE:
        return np.array(_NONFINITE)
    if kind == LARGE:
        return np.array(_LARGE)
    import ml_dtypes

    real = dtype if dtype.kind != "c" else np.dtype(f"f{dtype.itemsize // 2}")
    largest = float(cast("Any", ml_dtypes).finfo(real).max)
    large = largest**0.5 / 4
    return np.array([large, -large, 1.0, -0.5, large / 2])


def _integers(
    rng: np.random.Generator, dtype: np.dtype[Any], kind: str, shape: tuple[int, ...], turn: int
) -> Array:
    import numpy as np

    if dtype.kind == "b" or kind not in (EDGES, SMALL):
        return rng.integers(0, 2 if dtype.kind == "b" else 4, shape).astype(dtype)
    if kind == SMALL:
        signed = dtype.kind == "i"
        return rng.integers(-4 * signed, 5 if signed else 8, shape).astype(dtype)
    import ml_dtypes

    low, high = int(ml_dtypes.iinfo(dtype).min), int(ml_dtypes.iinfo(dtype).max)
    few = [0, 1, 2, 3, high, high - 1, high // 2]
    choices = np.array(few if not low else [*few, -1, -3, low, low + 1], dtype)
    return _spread(rng, choices, shape, turn)


def without_overflow(old: Array, new: Array, wide: Array | None) -> Array:
    """An old result, where only the new one is finite as a longer float type gives it.

    exp(a) exp(b) overflows where exp(a + b) does not: a rewrite may make that better.
    """
    import numpy as np

    if wide is None or not old.shape == new.shape == wide.shape or old.dtype != new.dtype:
        return old
    with np.errstate(all="ignore"):
        return np.where(np.isfinite(new) & ~np.isfinite(old), wide.astype(old.dtype), old)


@dataclass(frozen=True, slots=True)
class Difference:
    """How two arrays differ: in words, and the place of the worst element, if there is one."""

    text: str
    at: tuple[int, ...] | None = None


def difference(old: Array, new: Array, dtype: DataType, kind: str = RANDOM) -> str:
    """How two arrays differ beyond the type's threshold, '' when they do not."""
    found = compared(old, new, dtype, kind)
    return found.text if found else ""


def compared(old: Array, new: Array, dtype: DataType, kind: str = RANDOM) -> Difference | None:
    """How two results on samples of a kind differ beyond the type's threshold.

    Where huge values make the old result overflow the new one may be better, and cancellation
    says nothing: there only an overflow that is new counts.
    """
    import numpy as np

    if old.shape != new.shape:
        return Difference(f"has shape {new.shape}, it was {old.shape}")
    if old.dtype != new.dtype:
        return Difference(f"is {new.dtype}, it was {old.dtype}")
    threshold = THRESHOLDS.get(dtype)
    if threshold is None:
        wrong = np.asarray(old != new)
        return _counted(wrong, f"differs in {int(wrong.sum())} of {old.size} elements")
    if ((old == new) | ((old != old) & (new != new))).all():  # NaN is the same as NaN
        return None
    wide = np.complex128 if old.dtype.kind == "c" else np.float64
    a, b = old.astype(wide), new.astype(wide)
    if kind in OVERFLOWING:
        lost = np.isfinite(a) & ~np.isfinite(b)
        text = f"overflows in {int(lost.sum())} elements of {old.size}, it did not before"
        return _counted(lost, text)
    with np.errstate(all="ignore"):
        odd = (np.isnan(a) != np.isnan(b)) | ((np.isinf(a) | np.isinf(b)) & ~(a == b))
        odd &= ~(np.isnan(a) & np.isnan(b))
        if odd.any():
            text = f"differs in {int(odd.sum())} infinite or NaN elements of {old.size}"
            return _counted(odd, text)
        return _beyond(a, b, threshold)


def judged(
    old: Array,
    new: Array,
    dtype: DataType,
    kind: str,
    wide_old: Callable[[], Array | None],
    wide_new: Callable[[], Array | None],
) -> tuple[Array, Array, Difference | None]:
    """How two results on samples of a kind differ, and the arrays that show it.

    `wide_old` and `wide_new` give them as f64 arithmetic does, None where that cannot be told:
    there small values are compared, and there it shows where the old result overflowed.
    """
    found = compared(old, new, dtype, kind)
    if found is not None and kind == SMALL:
        a, b = wide_old(), wide_new()
        if a is None or b is None:
            return old, new, None
        return a, b, compared(a, b, dtype)
    if found is not None and kind in SAMPLES and dtype in THRESHOLDS:
        found = compared(without_overflow(old, new, wide_old()), new, dtype, kind)
    return old, new, found


def _beyond(a: Array, b: Array, threshold: float) -> Difference | None:
    """The worst element whose error is above the threshold."""
    import numpy as np

    finite = np.isfinite(a)
    if not finite.any():
        return None
    error = np.where(finite, np.abs(a - b), 0)
    size = np.where(finite, np.abs(a), 0)
    scale = float(size.max())
    excess = error - (10 * threshold * size + threshold * scale)
    if (excess <= 0).all():
        return None
    text = f"is off by up to {error.max():.3g} where the largest value is {scale:.3g}"
    return Difference(text, _place(excess, int(excess.argmax())))


def _counted(wrong: Array, text: str) -> Difference | None:
    return Difference(text, _place(wrong, int(wrong.argmax()))) if wrong.any() else None


def _place(array: Array, flat: int) -> tuple[int, ...]:
    import numpy as np

    return tuple(int(i) for i in np.unravel_index(flat, array.shape))
