"""Integer arithmetic on shapes; no xDSL and no numpy here.

A shape is a tuple of dimensions, `DYNAMIC` for an unknown one, or None for unknown rank.
Functions raise VerifyException, whose text says what is and what was expected.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from xdsl.utils.exceptions import VerifyException

from ge_xdsl.dialects.ge.types import DYNAMIC

Shape: TypeAlias = tuple[int, ...] | None


def shape_text(shape: Sequence[int] | None) -> str:
    """A shape as messages write it: `2x?x3`, `scalar`, `unknown rank`."""
    if shape is None:
        return "unknown rank"
    return "x".join("?" if d == DYNAMIC else str(d) for d in shape) or "scalar"


def broadcast(*shapes: Shape) -> Shape:
    """Numpy broadcasting; an unknown dimension against a known one above 1 gives the known one."""
    first = shapes[0] if shapes else None
    if first is not None and all(shape == first for shape in shapes):
        return first
    if any(shape is None for shape in shapes):
        return None
    known = [shape for shape in shapes if shape is not None]
    rank = max(map(len, known), default=0)
    out: list[int] = []
    for dims in zip(*((1,) * (rank - len(s)) + tuple(s) for s in known), strict=True):
        sizes = {d for d in dims if d not in (1, DYNAMIC)}
        if len(sizes) > 1:
            texts = " and ".join(shape_text(s) for s in known)
            raise VerifyException(f"shapes are {texts}, expected ones that broadcast")
        out.append(sizes.pop() if sizes else DYNAMIC if DYNAMIC in dims else 1)
    return tuple(out)


def normalize_axis(axis: int, rank: int, what: str = "axis") -> int:
    """`axis` counted from the front; raises when it is outside [-rank, rank).

    A scalar counts as one dimension here, as it does in GE's reductions.
    """
    span = max(rank, 1)
    if not -span <= axis < span:
        raise VerifyException(f"{what} is {axis}, expected one in [{-span}, {span})")
    return axis % span


def normalize_axes(axes: Sequence[int], rank: int, what: str = "axes") -> tuple[int, ...]:
    """All of `axes` counted from the front, sorted; raises on repeats."""
    found = sorted(normalize_axis(axis, rank, what) for axis in axes)
    if len(set(found)) != len(found):
        raise VerifyException(f"{what} are {list(axes)}, expected no axis twice")
    return tuple(found)


def add_dims(*dims: int) -> int:
    """Sum of dimensions, unknown when one is."""
    return DYNAMIC if DYNAMIC in dims else sum(dims)


def multiply_dims(*dims: int) -> int:
    """Product of dimensions: 0 when one is 0, else unknown when one is."""
    if 0 in dims:
        return 0
    if DYNAMIC in dims:
        return DYNAMIC
    product = 1
    for dim in dims:
        product *= dim
    return product


def merge_dim(a: int, b: int, what: str) -> int:
    """The dimension that both stand for; raises when two known ones differ."""
    if a != b and DYNAMIC not in (a, b):
        raise VerifyException(f"{what} are {a} and {b}, expected equal ones")
    return b if a == DYNAMIC else a


def reshape_dims(count: int | None, wanted: Sequence[int]) -> tuple[int, ...]:
    """The shape of a reshape to `wanted`, where one entry may be -1 or DYNAMIC (to be inferred)."""
    unknown = [i for i, d in enumerate(wanted) if d < 0]
    if len(unknown) > 1:
        raise VerifyException(f"shape is {shape_text(wanted)}, expected at most one unknown")
    known = 1
    for dim in wanted:
        known *= dim if dim >= 0 else 1
    if not unknown:
        if count is not None and count != known:
            raise VerifyException(
                f"shape {shape_text(wanted)} has {known} elements, expected {count}"
            )
        return tuple(wanted)
    if count is None:
        inferred = DYNAMIC
    elif known == 0 or count % known:
        raise VerifyException(f"{count} elements, expected a multiple of {known}")
    else:
        inferred = count // known
    return tuple(inferred if d < 0 else d for d in wanted)
