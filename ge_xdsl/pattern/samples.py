"""Tensors on which rewrites and passes are tried, and when two results count as the same."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from ge_xdsl.dialects.ge.types import DYNAMIC, DataType, Tensor, numpy_dtype

if TYPE_CHECKING:
    import numpy as np

    from ge_xdsl.dialects.ge.types import Array

LIMIT = 1 << 24
"""Tensors of more elements than this are not sampled."""
SIZES = (3, 1, 2)
"""What unknown dimensions are tried as, in order, until the old value can be computed."""

RANDOM = "random values"
"""Normal floats, small integers."""
EDGES = "edge values"
"""Floats: zeros of both signs, one, negative and large ones; integers: the ends of the type too."""
ZEROS = "zeros"
HUGE = "huge values"
"""Finite floats whose products come near the end of their type."""
NONFINITE = "NaN and infinite values"

SAMPLES = (RANDOM, EDGES, ZEROS)
"""The kinds that whole graphs are tried on."""
EVERY_SAMPLE = (*SAMPLES, HUGE, NONFINITE)
"""The kinds that single rewrites are tried on."""
LISTED = (EDGES, NONFINITE)
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
_LONGEST = 11
"""Values in the longest list of a kind."""


class NotChecked(Exception):
    """What cannot be checked by numbers; the text says why."""


def turns_of(kind: str, sizes: list[int]) -> int:
    """How often a kind is tried on tensors of so many elements, to see all of its values."""
    filled = [count for count in sizes if count]
    if kind not in LISTED or not filled or sum(filled) > FEW:
        return 1
    return min(TURNS, -(-_LONGEST // min(filled)))


def sample(tensor: Tensor, kind: str, seed: int, size: int, turn: int = 0) -> Array:
    """An array of a tensor's type: `size` stands for unknown dimensions, `turn` for the part of
    the kind's values that a small tensor gets.

    Raises NotChecked for a tensor of unknown rank, above LIMIT, or without a numpy type.
    """
    import numpy as np

    if tensor.shape is None:
        raise NotChecked("a tensor of unknown rank enters")
    shape = tuple(size if dim == DYNAMIC else dim for dim in tensor.shape)
    if int(np.prod(shape, dtype=np.float64)) > LIMIT:
        raise NotChecked(f"a tensor of more than {LIMIT} elements enters")
    try:
        dtype = numpy_dtype(tensor.dtype)
    except ValueError as error:
        raise NotChecked(str(error)) from None
    if kind == ZEROS or dtype.kind == "O":
        return np.zeros(shape, dtype)
    rng = np.random.default_rng(seed)
    if dtype.kind in "biu":
        return _integers(rng, dtype, kind, shape, turn)
    if kind == RANDOM:
        values = rng.standard_normal(shape)
    else:
        values = _spread(rng, _floats(dtype, kind), shape, turn)
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
    import ml_dtypes

    real = dtype if dtype.kind != "c" else np.dtype(f"f{dtype.itemsize // 2}")
    largest = float(cast("Any", ml_dtypes).finfo(real).max)
    large = largest**0.5 / 4
    return np.array([large, -large, 1.0, -0.5, large / 2])


def _integers(
    rng: np.random.Generator, dtype: np.dtype[Any], kind: str, shape: tuple[int, ...], turn: int
) -> Array:
    import numpy as np

    if dtype.kind == "b" or kind != EDGES:
        return rng.integers(0, 2 if dtype.kind == "b" else 4, shape).astype(dtype)
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
    if kind == HUGE:
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
