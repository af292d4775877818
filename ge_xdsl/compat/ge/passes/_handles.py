"""Handles: integers under which the pass framework hands objects to an engine and back.

GE's engine is a native library that only sees numbers; here they are keys of a table, so that the
protocol of `ge.passes._bridge` can be driven as GE drives it.
"""

from __future__ import annotations

import itertools
from typing import Any

_numbers = itertools.count(1)
_held: dict[int, Any] = {}


def hand_over(value: Any) -> int:
    """A new handle for an object, which lives until the handle is taken."""
    handle = next(_numbers)
    _held[handle] = value
    return handle


def held(handle: int) -> Any:
    """The object of a handle; raises RuntimeError for a number that is none."""
    if handle not in _held:
        raise RuntimeError(f"handle is {handle}, expected one that was handed over")
    return _held[handle]


def take(handle: int) -> Any:
    """The object of a handle, which ends; raises RuntimeError for a number that is none."""
    value = held(handle)
    del _held[handle]
    return value
