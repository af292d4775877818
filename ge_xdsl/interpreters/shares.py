"""Which iterations of a loop a core takes, as runs of equal valid lengths."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from math import prod

from ge_xdsl.dialects.aicore.structure import tile_order

Lengths = tuple[int, ...]


def core_lengths(
    extents: Sequence[int], steps: Sequence[int], strip: int = 0, core: int = 0, cores: int = 1
) -> Iterator[tuple[Lengths, int]]:
    """The valid lengths of the iterations `core`, `core + cores`, ..., each with its run length."""
    counts = [-(-e // s) for e, s in zip(extents, steps, strict=True)]
    total = prod(counts)
    mine = len(range(core, total, cores))
    last = [e - (n - 1) * s for e, s, n in zip(extents, steps, counts, strict=True)]
    if not mine:
        return
    if all(a == b for a, b in zip(last, steps, strict=True)):
        yield tuple(steps), mine
        return
    ragged = [i for i, (a, b) in enumerate(zip(last, steps, strict=True)) if a != b]
    places = _places(counts, strip, core, cores)
    ends = (tuple(place[i] == counts[i] - 1 for i in ragged) for place in places)
    for at_end, run in groupby(ends):
        lengths = list(steps)
        for i, end in zip(ragged, at_end, strict=True):
            lengths[i] = last[i] if end else steps[i]
        yield tuple(lengths), sum(1 for _ in run)


def _places(counts: Sequence[int], strip: int, core: int, cores: int) -> Iterator[tuple[int, ...]]:
    """The tile indices of a core's iterations."""
    if strip:
        yield from list(tile_order(counts, strip))[core::cores]
        return
    for t in range(core, prod(counts), cores):
        place: list[int] = []
        for count in reversed(counts):
            t, k = divmod(t, count)
            place.append(k)
        yield tuple(reversed(place))


def loads(extents: Sequence[int], steps: Sequence[int], strip: int, cores: int) -> list[int]:
    """The elements that each core has to do."""
    counts = [-(-e // s) for e, s in zip(extents, steps, strict=True)]
    total, whole = prod(counts), prod(steps)
    if prod(extents) == total * whole:
        return [whole * len(range(core, total, cores)) for core in range(cores)]
    import numpy as np

    lengths = [
        np.minimum(s, e - np.arange(n) * s) for e, s, n in zip(extents, steps, counts, strict=True)
    ]
    size = lengths[0]
    for part in lengths[1:]:
        size = np.multiply.outer(size, part)
    flat = size.reshape(-1)
    if strip:
        *lead, rows, cols = counts
        places = np.arange(total).reshape(-1, rows, cols)
        tops = range(0, rows, strip)
        strips = [places[:, top : top + strip].transpose(0, 2, 1) for top in tops]
        flat = flat[np.concatenate([part.reshape(prod(lead), -1) for part in strips], 1).ravel()]
    found = np.bincount(np.arange(total) % cores, weights=flat, minlength=cores)
    return [int(n) for n in found]
