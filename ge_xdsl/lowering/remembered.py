"""What was found out before for a key on a target."""

from __future__ import annotations

from collections import OrderedDict
from typing import Generic, TypeVar

from ge_xdsl.targets.target import Target

T = TypeVar("T")
KEPT = 4096
"""Results that are kept; of more, those not asked for the longest are forgotten."""


class Remembered(Generic[T]):
    """Results by key and target. Targets of one name may differ, so they are told apart by id."""

    def __init__(self) -> None:
        self.known: OrderedDict[tuple[object, int], tuple[Target, T]] = OrderedDict()

    def get(self, key: object, target: Target) -> T | None:
        """The result, None when there is none."""
        found = self.known.get((key, id(target)))
        if found is None or found[0] is not target:
            return None
        self.known.move_to_end((key, id(target)))
        return found[1]

    def put(self, key: object, target: Target, result: T) -> T:
        """Keep a result; it is given back."""
        self.known[key, id(target)] = (target, result)
        if len(self.known) > KEPT:
            self.known.popitem(last=False)
        return result
