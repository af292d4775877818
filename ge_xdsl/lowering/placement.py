"""Addresses for the buffers of kernels: what does not live at one time may share bytes.

In each space the buffers are placed the largest first, each at the lowest free address. In UB, the
two sources of a vector instruction are kept 256 bytes apart modulo 512 where there is room: from
the same banks they would be read one after the other.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from xdsl.dialects.builtin import IntegerAttr, ModuleOp, i64
from xdsl.ir import Block, SSAValue

from ge_xdsl.dialects.aicore.lifetimes import Life, listed, spaces_of
from ge_xdsl.dialects.aicore.op import Instruction
from ge_xdsl.dialects.aicore.structure import AllocOp, KernelOp
from ge_xdsl.dialects.aicore.types import ALIGNMENT, padded
from ge_xdsl.errors import CompileError
from ge_xdsl.targets.target import Target

SPAN = 512
"""Bytes of UB after which the bank groups repeat [DEVKIT bank_conflict]."""
APART = 256
"""How far apart the sources of an instruction are read side by side."""

Pairs = Mapping[int, Sequence[int]]
"""Number of a buffer -> those that it had better not share banks with."""


def place_buffers(module: ModuleOp, target: Target) -> None:
    """Give every buffer of a module that has none an address.

    Raises CompileError for a kernel whose buffers do not fit.
    """
    for op in module.body.block.ops:
        if isinstance(op, KernelOp):
            place_kernel(op, target)


def place_kernel(kernel: KernelOp, target: Target) -> None:
    """Give the buffers of a kernel addresses; a kernel in which one has its own is left alone."""
    for body, space, part in spaces_of(kernel):
        if any(op.address is not None for op in part):
            continue
        capacity = target.capacity(space)
        found = list(part.values())
        pairs = _pairs(body, list(part)) if space == "ub" else {}
        addresses = placed(found, ALIGNMENT[space], pairs)
        if extent(found, addresses) > capacity:
            addresses = placed(found, ALIGNMENT[space], {})
        if extent(found, addresses) > capacity:
            raise CompileError(
                f"takes {extent(found, addresses)} bytes of {space} ({listed(found)}), "
                f"expected at most {capacity} on {target.name}",
                subject=f"aicore.kernel @{kernel.sym_name}",
                location=kernel.source,
            )
        for op, address in zip(part, addresses, strict=True):
            op.properties["address"] = IntegerAttr(address, i64)


def _pairs(body: Block, allocs: Sequence[AllocOp]) -> dict[int, list[int]]:
    """The buffers that are read by one vector instruction as first and second source."""
    number: dict[SSAValue, int] = {op.results[0]: i for i, op in enumerate(allocs)}
    found: dict[int, list[int]] = {}
    for op in body.walk():
        if not isinstance(op, Instruction) or op.pipe != "V":
            continue
        sources = [number[v] for v in op.read() if v in number][:2]
        if len(sources) == 2 and sources[0] != sources[1]:
            for a, b in (sources, sources[::-1]):
                found.setdefault(a, []).append(b)
    return found


def placed(found: Sequence[Life], align: int, pairs: Pairs) -> list[int]:
    """An address for each buffer, from 0 on."""
    order = sorted(range(len(found)), key=lambda i: (-found[i].bytes, found[i].first, i))
    addresses = [-1] * len(found)
    for i in order:
        life = found[i]
        others = [j for j in order if addresses[j] >= 0 and found[j].meets(life)]
        taken = sorted((addresses[j], addresses[j] + found[j].bytes) for j in others)
        wanted = [(addresses[j] + APART) % SPAN for j in pairs.get(i, ()) if addresses[j] >= 0]
        addresses[i] = _address(life.bytes, taken, align, wanted)
    return addresses


def _address(size: int, taken: Sequence[tuple[int, int]], align: int, wanted: Sequence[int]) -> int:
    """The lowest free address of those that meet the fewest banks."""
    best = (len(wanted) + 1, 0)
    for start, end in _gaps(taken):
        for address in dict.fromkeys((padded(start, align), *_residues(start, wanted))):
            if address % align or (end is not None and address + size > end):
                continue
            worst = sum(address % SPAN != residue for residue in wanted)
            best = min(best, (worst, address))
    return best[1]


def _residues(start: int, wanted: Sequence[int]) -> Iterator[int]:
    """The first addresses from `start` on with one of the residues."""
    for residue in wanted:
        yield start + (residue - start) % SPAN


def _gaps(taken: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int | None]]:
    """The free ranges between sorted ones, the last without an end."""
    free = 0
    for start, end in taken:
        if start > free:
            yield free, start
        free = max(free, end)
    yield free, None


def extent(found: Sequence[Life], addresses: Sequence[int]) -> int:
    """The end of the last buffer."""
    ends = (a + life.bytes for a, life in zip(addresses, found, strict=True))
    return max(ends, default=0)
