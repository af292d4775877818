"""Garbage collection that leaves a run over a graph alone.

A graph is one web of cycles, which Python's collector walks again and again while ops are made:
with its default thresholds that takes three times as long as the rewriting itself.
"""

from __future__ import annotations

import gc
from collections.abc import Generator
from contextlib import contextmanager

SELDOM = (100_000, 50, 1000)
"""How many objects more there are before a collection of the young, the middle, all objects."""


@contextmanager
def seldom() -> Generator[None]:
    """Collect garbage at most this often inside of the `with`; what was set before comes back."""
    before = gc.get_threshold()
    gc.set_threshold(
        *(0 if not old else max(old, new) for old, new in zip(before, SELDOM, strict=True))
    )
    try:
        yield
    finally:
        gc.set_threshold(*before)
