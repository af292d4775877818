"""Positions of ops in a block in O(1), kept up to date under insertion and removal.

xDSL's own `is_before_in_block` walks the block. Here every op has an integer label that grows
along the block; a new op takes a label between its neighbours', and when there is no room the
whole block is labelled again (rare: gaps start at 2**60).
"""

from __future__ import annotations

from collections.abc import Iterable

from xdsl.ir import Block, Operation

from ge_xdsl.pattern.access import next_op

GAP = 1 << 60


class BlockOrder:
    """The order of one block; labels are made on first use."""

    def __init__(self, block: Block) -> None:
        self.block = block
        self.moves = 0
        """How often ops were moved: candidate lists in block order are stale after it."""
        self._labels: dict[Operation, int] | None = None

    def label(self, op: Operation) -> int:
        """A number that is smaller for ops that stand earlier in the block."""
        labels = self._labels
        if labels is None:
            labels = self._relabel()
        found = labels.get(op)
        if found is None:
            self.inserted(op)
            assert self._labels is not None
            found = self._labels[op]
        return found

    def sorted(self, ops: Iterable[Operation]) -> list[Operation]:
        """The ops in the order of the block."""
        return sorted(ops, key=self.label)

    def inserted(self, op: Operation) -> None:
        """Note an op that was put into the block."""
        labels = self._labels
        if labels is None:
            return
        before, after = op.prev_op, next_op(op)
        low = 0 if before is None else labels.get(before)
        high = None if after is None else labels.get(after)
        if low is None or (after is not None and high is None):
            self._relabel()
        elif high is None:
            labels[op] = low + GAP
        elif high - low < 2:
            self._relabel()
        else:
            labels[op] = (low + high) // 2

    def removed(self, op: Operation) -> None:
        """Note an op that left the block."""
        if self._labels is not None:
            self._labels.pop(op, None)

    def _relabel(self) -> dict[Operation, int]:
        labels: dict[Operation, int] = {}
        op = self.block.first_op
        label = 0
        while op is not None:
            label += GAP
            labels[op] = label
            op = next_op(op)
        self._labels = labels
        return labels
