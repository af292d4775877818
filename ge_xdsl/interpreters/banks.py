"""Which vector instructions meet themselves in the banks of UB.

UB serves one 32-byte access per cycle in each of 16 bank groups, which follow each other every 32
bytes. A repeat of 256 bytes takes 8 groups: two sources are read side by side only if they start
256 bytes apart, modulo 512. Else the instruction takes two cycles per repeat.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.ir import Block, SSAValue

from ge_xdsl.dialects.aicore.structure import AllocOp
from ge_xdsl.dialects.aicore.types import tile_of

GROUP_SPAN = 512
"""Bytes after which the bank groups repeat: 16 of 32 bytes."""
REPEAT = 256
"""Bytes of a source that one repeat reads."""


def addresses(body: Block) -> dict[SSAValue, int]:
    """The UB address of every buffer's first copy: as given, else one after the other."""
    found: dict[SSAValue, int] = {}
    free = 0
    for op in body.walk():
        if not isinstance(op, AllocOp):
            continue
        tile = tile_of(op.results[0])
        if tile.space == "ub":
            found[op.results[0]] = free if op.address is None else op.address
            free += tile.bytes * op.buffers
    return found


def conflicts(sources: Sequence[SSAValue], address: Mapping[SSAValue, int]) -> bool:
    """Whether the first two sources of an instruction in UB share bank groups."""
    places = [address[value] for value in sources if value in address]
    return len(places) > 1 and (places[0] - places[1]) % GROUP_SPAN != REPEAT
