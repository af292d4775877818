"""Positions of ops in a block in O(1), kept up to date under insertion and removal.

xDSL's own `is_before_in_block` walks the block. Here every op has an integer label that grows
along the block; a new op takes a label between its neighbours', and when there is no room the
whole block is labelled again (rare: gaps start at 2**60).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from xdsl.ir import Block, Operation

from ge_xdsl.pattern.access import next_op

GAP = 1 << 60


class BlockOrder:
    """The order of one block; labels are made on first use."""

    def __init__(self, block: Block) -> None:
        self.block = block
        self.moves = 0
        """How often ops were moved: candidate lists in block order are stale after it."""
        self.labels: dict[Operation, int] | None = None
        """Op -> label, None before the first use."""

    def label(self, op: Operation) -> int:
        """A number that is smaller for ops that stand earlier in the block."""
        labels = self.labels
        if labels is None:
            labels = self._relabel()
        found = labels.get(op)
        if found is None:
            self.inserted(op)
            assert self.labels is not None
            found = self.labels[op]
        return found

    def sorted(self, ops: Iterable[Operation]) -> list[Operation]:
        """The ops in the order of the block."""
        return sorted(ops, key=self.label)

    def inserted(self, op: Operation) -> None:
        """Note an op that was put into the block."""
        labels = self.labels
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

    def spliced(
        self, before: Operation | None, new: Sequence[Operation], behind: Operation
    ) -> None:
        """Note ops that were put between two others."""
        labels = self.labels
        if labels is None or not new:
            return
        low = 0 if before is None else labels.get(before)
        high = labels.get(behind)
        step = 0 if low is None or high is None else (high - low) // (len(new) + 1)
        if low is None or step < 1:
            self._relabel()
            return
        for k, op in enumerate(new, 1):
            labels[op] = low + k * step

    def removed(self, op: Operation) -> None:
        """Note an op that left the block."""
        if self.labels is not None:
            self.labels.pop(op, None)

    def _relabel(self) -> dict[Operation, int]:
        labels: dict[Operation, int] = {}
        op = self.block.first_op
        label = 0
        while op is not None:
            label += GAP
            labels[op] = label
            op = next_op(op)
        self.labels = labels
        return labels
