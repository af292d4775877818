"""Garbage collection that leaves work on a graph alone.

A graph is one web of cycles, which Python's collector walks again and again while ops are made:
with its default thresholds that takes three times as long as the rewriting itself. To collect the
young objects alone costs a microsecond for each on a graph that exceeds the processor's caches,
since what they read is looked at, too. So as many may come as the graph itself has, and at the
end they count as old ones without a walk; how many did so is noted, and when they are as many as
all objects were at the last collection, everything is collected: a fixed cost for each object.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager
from typing import TypeAlias

Held: TypeAlias = Callable[[], AbstractContextManager[None]]

SELDOM = (100_000, 50, 1000)
"""How many objects more there are before a collection of the young, the middle, all objects."""
PER_OP = 16
"""How many objects an op with its operands, results and attributes is, about: so many more for
each op of the graph are waited for."""
ROOM = 4_000_000
"""At least so many objects (about 400 MB) grow old without a walk before all are collected."""
OBJECT = 100
"""Bytes of memory that an object takes, about."""


@contextmanager
def seldom(ops: int) -> Generator[None]:
    """Collect garbage at most this often inside of the `with`; what was set before comes back.

    `ops`: how many ops the graph has.
    """
    before = gc.get_threshold()
    wanted = (max(SELDOM[0], PER_OP * ops), *SELDOM[1:])
    gc.set_threshold(
        *(0 if not old else max(old, new) for old, new in zip(before, wanted, strict=True))
    )
    try:
        yield
    finally:
        if gc.isenabled() and before[0]:
            Aged.all_young(before[0])
        gc.set_threshold(*before)


@contextmanager
def paused(size: int = 0) -> Generator[None]:
    """No collection inside of the `with`, for work that only makes objects that stay.

    `size`: bytes that they hold besides, which go when they go.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            Aged.all_young(gc.get_threshold()[0], size)
            gc.enable()


class Aged:
    """What grew old without a walk since everything was collected."""

    objects = 0
    room = ROOM

    @classmethod
    def all_young(cls, threshold: int, size: int = 0) -> None:
        """Count the young objects as old ones, if they are so many that they would be walked.

        `size`: bytes that they hold. Freezing and unfreezing does it; where the user froze
        something that would thaw it.
        """
        cls.objects += size // OBJECT
        young = gc.get_count()[0]
        if young > threshold and not gc.get_freeze_count():
            gc.freeze()
            gc.unfreeze()
            cls.objects += young
        if cls.objects > cls.room:
            gc.collect()
            cls.objects = 0
            cls.room = max(ROOM, len(gc.get_objects(generation=2)))
