"""How many instructions of the hardware an op stands for: what the fields of one can hold.

An op says what is done to a tile. A vector instruction counts the elements of a run in UB, or it
repeats: at most 255 times (as the target says), from row to row by at most 255 blocks of 32
bytes. A copy moves at most 4095 bursts with at most 65535 blocks between them [ARCH]. A tile that
asks for more takes several instructions, and each has its start. What no number of instructions
does is refused by the ops themselves.
"""

from __future__ import annotations

from collections.abc import Sequence

from ge_xdsl.dialects.aicore.types import BLOCK_BYTES, UB_ALIGN, Tile, padded
from ge_xdsl.targets.cost import REPEAT_BYTES, Work, ceil_div

REPEAT_STRIDE = 255
"""The most blocks of 32 bytes from one repeat of a vector instruction to the next."""
BY_REPEATS = ("brc",)
"""Ops whose instructions have no counter mode, however their rows lie."""
BURSTS = 4095
"""The most bursts of a copy: rows, or runs of whole rows."""
GAP = 65535
"""The most blocks of 32 bytes between two bursts."""
ND_PITCH = 65535
"""The most elements from row to row of a matrix that is cut into blocks on its way to L1."""


def vector_work(
    op: str,
    sizes: Sequence[int],
    size: int,
    two_sources: bool = False,
    tiles: Sequence[Tile] = (),
) -> Work:
    """The work of a vector op on r x c elements of `size` bytes: rows of whole 32-byte blocks.

    Rows that fill those of all `tiles` follow each other: one instruction counts their elements.
    Others take a repeat each, or several: one instruction for every 256 bytes of a row, with a
    repeat per row, or one for every row, whichever is fewer.
    """
    rows, cols = sizes[0], sizes[1]
    if rows > 1:
        cols = padded(cols, UB_ALIGN // size)
        pitches = [padded(tile.shape[-1] * tile.size, UB_ALIGN) for tile in tiles]
        if not _touch(sizes[1], tiles, pitches):
            per_repeat = REPEAT_BYTES // size
            columns = ceil_div(cols, per_repeat)
            by_column = max(pitches) <= REPEAT_STRIDE * UB_ALIGN
            count = min(rows, columns) if by_column else rows
            elements = rows * columns * per_repeat
            return Work(
                "vector",
                elements=elements,
                size=size,
                op=op,
                two_sources=two_sources,
                instructions=count,
            )
    return Work(
        "vector",
        elements=rows * cols,
        size=size,
        op=op,
        two_sources=two_sources,
        counted=op not in BY_REPEATS,
    )


def _touch(cols: int, tiles: Sequence[Tile], pitches: Sequence[int]) -> bool:
    """Whether rows of `cols` elements follow each other at one distance in all tiles."""
    if not tiles:
        return True
    lengths = {pitch // tile.size for pitch, tile in zip(pitches, tiles, strict=True)}
    block = UB_ALIGN // min(tile.size for tile in tiles)
    return lengths == {padded(cols, block)}


def copy_instructions(bursts: int, burst: int, pitch: int) -> int:
    """Instructions for bursts of so many bytes that begin `pitch` bytes apart in GM."""
    if pitch - burst > GAP * BLOCK_BYTES:
        return bursts
    return ceil_div(bursts, BURSTS)


def cut_instructions(rows: int, pitch: int) -> int:
    """Instructions that cut rows into blocks; they begin `pitch` elements apart in GM."""
    return rows if pitch > ND_PITCH else 1
