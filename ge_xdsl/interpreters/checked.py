"""Checked buffers: of every element it is known whether it was written.

In a checked run an instruction that reads an element which no instruction wrote since its buffer
was taken, or that leaves its tile, is an error, and so is an output element that is written twice
or not at all. Buffers are filled with NaN (all bits set) when they are taken. Buffers with
addresses that overlap spoil each other: writing one unwrites the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ge_xdsl.dialects.aicore.types import ALIGNMENT, Tile, padded
from ge_xdsl.interpreters.tiles import Buffer, Memory, Ring

if TYPE_CHECKING:
    from ge_xdsl.dialects.ge.types import Array


class CheckedBuffer(Buffer):
    """A buffer with a mark per element. `place` is its space and bytes, when it has an address."""

    __slots__ = ("neighbours", "place", "written")

    def __init__(self, name: str, tile: Tile, place: tuple[str, int, int] | None = None) -> None:
        import numpy as np

        super().__init__(name, tile)
        self.written = np.zeros(tile.shape, np.bool_)
        self.place = place
        self.neighbours: list[CheckedBuffer] = []
        """The buffers that share bytes with this one."""

    def forget(self) -> None:
        """Make the contents undefined."""
        import numpy as np

        self.written[...] = False
        self.rows = self.cols = 0
        self.data.reshape(-1).view(np.uint8).fill(255 if self.data.dtype.kind != "b" else 1)

    def need(self, rows: int, cols: int) -> None:
        self.need_part(0, 0, rows, cols)

    def need_part(self, row: int, col: int, rows: int, cols: int) -> None:
        """Raise ValueError unless the part lies in the tile and all of it is written."""
        high, wide = self.tile.shape
        where = f"[{row}:{row + rows}, {col}:{col + cols}]"
        if min(row, col) < 0 or row + rows > high or col + cols > wide:
            raise ValueError(f"reads {where} of '{self.name}', a tile of {high}x{wide}")
        part = self.written[row : row + rows, col : col + cols]
        if not part.all():
            import numpy as np

            first = np.argwhere(~part)[0]
            count = part.size - int(np.count_nonzero(part))
            raise ValueError(
                f"reads {where} of '{self.name}', of which {count} elements are not written, the "
                f"first at [{row + first[0]}, {col + first[1]}]"
            )

    def room(self, rows: int, cols: int) -> None:
        super().room(rows, cols)
        self.mark(0, 0, rows, cols)

    def mark(self, row: int, col: int, rows: int, cols: int) -> None:
        """Note a part as written."""
        self.written[row : row + rows, col : col + cols] = True
        for other in self.neighbours:
            other.forget()

    def put_at(self, row: int, col: int, matrix: Array) -> None:
        before = self.written.copy()
        super().put_at(row, col, matrix)
        self.written[...] = before
        self.mark(row, col, *matrix.shape)


class CheckedRing(Ring):
    """The buffers of one `alloc`, checked."""

    __slots__ = ("checked",)

    def __init__(self, name: str, tile: Tile, count: int, address: int | None = None) -> None:
        each = padded(tile.bytes, ALIGNMENT[tile.space])
        starts = [None if address is None else address + k * each for k in range(count)]
        self.checked = [
            CheckedBuffer(name, tile, None if start is None else (tile.space, start, each))
            for start in starts
        ]
        self.buffers = list[Buffer](self.checked)
        self.next = 0

    def take(self) -> Buffer:
        """The next buffer, its contents undefined."""
        buffer = self.checked[self.next]
        buffer.forget()
        return super().take()


def connect(rings: Sequence[CheckedRing]) -> None:
    """Make the buffers that share bytes spoil each other."""
    placed = [buffer for ring in rings for buffer in ring.checked if buffer.place is not None]
    for a in placed:
        a.neighbours = [b for b in placed if b is not a and _overlap(a, b)]


def _overlap(a: CheckedBuffer, b: CheckedBuffer) -> bool:
    assert a.place is not None
    assert b.place is not None
    (space, start, size), (other, first, length) = a.place, b.place
    return space == other and start < first + length and first < start + size


class CheckedMemory(Memory):
    """A tile in GM; of an output it is known which elements are written."""

    __slots__ = ("done",)

    def __init__(
        self,
        name: str,
        array: Array,
        readable: bool,
        root: Memory | None = None,
        tile: Tile | None = None,
        done: Array | None = None,
    ) -> None:
        import numpy as np

        super().__init__(name, array, readable, root, tile)
        self.done: Array = done if done is not None else np.zeros(array.shape, np.bool_)
        """The elements that were written."""

    def strided(self, offset: int, strides: Sequence[int], shape: Sequence[int]) -> CheckedMemory:
        view = super().strided(offset, strides, shape)
        marks = Memory("", self.done, False).strided(offset, strides, shape)
        return CheckedMemory(self.name, view.array, self.readable, self.root, None, marks.array)

    def store(self, offsets: Sequence[int], values: Array) -> None:
        super().store(offsets, values)
        part = Memory(self.name, self.done, False).window(offsets, *values.shape)
        if part.any() and not self.root.joined:
            at = ", ".join(f"{o}" for o in offsets)
            rows, cols = values.shape
            raise ValueError(
                f"writes {rows}x{cols} at [{at}] of '{self.name}', of which "
                f"{int(part.sum())} elements are written before"
            )
        part[...] = True
