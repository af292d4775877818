"""Elementwise ops that write their result over an operand that no one reads any more.

A result in the memory of an operand saves the pages of a new array, which cost more than the
arithmetic once arrays leave the cache. What `evaluate` gives stays the meaning: each function here
does the same steps on the same numbers.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ge_xdsl.dialects.ge.elements import rectify
from ge_xdsl.dialects.ge.norm import BatchNormOp

if TYPE_CHECKING:
    from ge_xdsl.dialects.ge.op import GeOp
    from ge_xdsl.dialects.ge.types import Array

LEAST_ELEMENTS = 4096
"""Smaller arrays are made anew: the look at them costs more."""

Writer = Callable[["GeOp", Sequence["Array"], "Array"], "Sequence[Array] | None"]
"""Writes the result of an op on its operands into an array, which is one of them; gives all
results when there are more."""


def _ufunc(name: str) -> Writer:
    def write(op: GeOp, arrays: Sequence[Array], out: Array) -> None:
        import numpy as np

        getattr(np, name)(*arrays, out=out)

    return write


def _scalar(name: str) -> Writer:
    def write(op: GeOp, arrays: Sequence[Array], out: Array) -> None:
        import numpy as np

        getattr(np, name)(arrays[0], op.get_attr("value"), out=out)

    return write


def _relu(op: GeOp, arrays: Sequence[Array], out: Array) -> None:
    rectify(arrays[0], out)


def _clip(op: GeOp, arrays: Sequence[Array], out: Array) -> None:
    import numpy as np

    x, low, high = arrays
    if low <= high:
        np.clip(x, low, high, out=out)
        return
    np.minimum(x, high, out=out)
    np.maximum(out, low, out=out)


def _batch_norm(op: GeOp, arrays: Sequence[Array], out: Array) -> Sequence[Array]:
    assert isinstance(op, BatchNormOp)
    operands: list[Any] = op.arrange(arrays)
    return op.value(*operands, out=out)


WRITERS: dict[str, Writer] = {
    "Add": _ufunc("add"),
    "Sub": _ufunc("subtract"),
    "Mul": _ufunc("multiply"),
    "RealDiv": _ufunc("true_divide"),
    "Div": _ufunc("true_divide"),
    "Maximum": _ufunc("maximum"),
    "Minimum": _ufunc("minimum"),
    "Neg": _ufunc("negative"),
    "Abs": _ufunc("abs"),
    "Sqrt": _ufunc("sqrt"),
    "Square": _ufunc("square"),
    "Exp": _ufunc("exp"),
    "Tanh": _ufunc("tanh"),
    "Adds": _scalar("add"),
    "Muls": _scalar("multiply"),
    "Relu": _relu,
    "ClipByValue": _clip,
    "BatchNorm": _batch_norm,
}
FITS: dict[str, Callable[[Sequence[int], Sequence[int]], bool]] = {
    "ClipByValue": lambda shape, other: not other,
    "BatchNorm": lambda shape, other: True,
}
"""The ops that write to their first operand only, and which shapes the others may have."""


def _broadcasts(shape: Sequence[int], other: Sequence[int]) -> bool:
    """Whether an operand of the other shape leaves the result in `shape`."""
    tail = shape[len(shape) - len(other) :]
    return len(other) <= len(shape) and all(o in (1, n) for o, n in zip(other, tail, strict=True))


def references(arrays: Sequence[Any], place: int) -> int:
    """How many hold an array, those of this call and of the list among them."""
    array = arrays[place]
    return sys.getrefcount(array)


def _of_one_holder() -> int:
    """`references` of an array that one list of values holds besides `arrays`."""
    values: list[Any] = [object()]
    return references([values[0]], 0)


HELD_ONCE = _of_one_holder() if hasattr(sys, "getrefcount") else -1


def spare(op_type: str, arrays: Sequence[Array], places: Sequence[int]) -> Array | None:
    """An operand, of those at `places` that nothing reads later, whose memory is free to take.

    It owns its memory and may be written, no view of it and no other holder exists, and the other
    operands have its element type and leave the result in its shape.
    """
    for place in places:
        if references(arrays, place) == HELD_ONCE and _is_room(op_type, arrays, arrays[place]):
            return arrays[place]
    return None


def _is_room(op_type: str, arrays: Sequence[Array], room: Array) -> bool:
    flags = room.flags
    if room.size < LEAST_ELEMENTS or room.dtype.kind != "f" or not flags.owndata:
        return False
    if not flags.writeable or not flags.c_contiguous:
        return False
    fits = FITS.get(op_type, _broadcasts)
    rest = (a for a in arrays if a is not room)
    return all(a.dtype == room.dtype and fits(room.shape, a.shape) for a in rest)


def raise_heap_thresholds() -> None:
    """Make the C library keep the memory that a run frees for the next one.

    glibc gives large blocks back to the system, and each new one costs a fault per page, until a
    block of about that size was freed once: so free one that nothing was written to.
    """
    import numpy as np

    np.empty(_HEAP_BYTES, np.uint8)


_HEAP_BYTES = 31 << 20
"""A little below the largest block that moves the threshold (32 MiB on machines of 64 bits)."""
