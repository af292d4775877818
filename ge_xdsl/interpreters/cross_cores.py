"""Cores that wait for each other: flags between them, workspaces, and whose turn it is.

The function of a core is a generator that gives what it waits for. The cores run in turn, each
until it waits for something that has not happened yet; when all wait, nothing ever will.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ge_xdsl.dialects.aicore.cross import CROSS_COUNT
from ge_xdsl.dialects.aicore.types import Tile
from ge_xdsl.dialects.ge.types import numpy_dtype
from ge_xdsl.interpreters.checked import CheckedMemory
from ge_xdsl.interpreters.tiles import DATA_TYPES, Memory

if TYPE_CHECKING:
    from ge_xdsl.dialects.ge.types import Array

CUBE = -1
"""`sub` of a cube core."""

Unit = tuple[int, int]
"""A core: the number of its AI core (or of itself), and its number there, CUBE for a cube core."""


class SharedMemory(CheckedMemory):
    """One buffer of a workspace: read and written, but not read before it is written."""

    def load(self, offsets: Sequence[int], rows: int, cols: int) -> Array:
        part = self.window(offsets, rows, cols)
        done = Memory("", self.done, True).window(offsets, rows, cols)
        if not done.all():
            at = ", ".join(str(o) for o in offsets)
            raise ValueError(
                f"reads {rows}x{cols} at [{at}] of workspace '{self.name}', of which "
                f"{int((~done).sum())} elements are not written"
            )
        return part

    def store(self, offsets: Sequence[int], values: Array) -> None:
        self.window(offsets, *values.shape)[...] = values
        Memory("", self.done, True).window(offsets, *values.shape)[...] = True


@dataclass(slots=True)
class Turns:
    """The buffers of a workspace as one core takes them."""

    buffers: Sequence[SharedMemory]
    next: int = 0

    def take(self) -> SharedMemory:
        """The next buffer."""
        found = self.buffers[self.next % len(self.buffers)]
        self.next += 1
        return found


@dataclass(slots=True)
class Wait:
    """What a core waits for: counts that have to be at least 1, or all to come to one place."""

    counts: Sequence[tuple[Any, ...]]
    text: str


@dataclass
class CrossCores:
    """The flags and workspaces of one launch on `units`."""

    units: Sequence[Unit]
    counts: dict[tuple[Any, ...], int] = field(default_factory=dict[tuple[Any, ...], int])
    """(who set, who waits, id) -> sets that were not waited for."""
    turns: dict[tuple[Any, ...], int] = field(default_factory=dict[tuple[Any, ...], int])
    buffers: dict[tuple[int, str], list[SharedMemory]] = field(
        default_factory=dict[tuple[int, str], list[SharedMemory]]
    )

    def workspace(self, name: str, tile: Tile, count: int, core: int, sub: int) -> Turns:
        """A core's view of its AI core's workspace."""
        import numpy as np

        del sub
        found = self.buffers.get((core, name))
        if found is None:
            dtype = numpy_dtype(DATA_TYPES[tile.element])
            found = [SharedMemory(name, np.zeros(tile.shape, dtype), False) for _ in range(count)]
            self.buffers[core, name] = found
        return Turns(found)

    def number(self, unit: Unit, what: str, first: int, count: int) -> int:
        """The id that a set or a wait speaks of this time."""
        turn = self.turns.get((unit, what, first, count), 0)
        self.turns[unit, what, first, count] = turn + 1
        return first + turn % count

    def partners(self, unit: Unit, mode: int) -> list[Unit]:
        """The cores that a core's flag is for, and that its wait waits for."""
        core, sub = unit
        if mode == 0:
            return [u for u in self.units if (u[1] == CUBE) == (sub == CUBE)]
        if mode == 1:
            return [u for u in self.units if u[0] == core and u[1] != CUBE]
        return [u for u in self.units if u[0] == core and (u[1] == CUBE) != (sub == CUBE)]

    def set(self, core: int, sub: int, first: int, count: int, mode: int) -> None:
        """Set a flag for each core that it is for; raises ValueError when it is set too often."""
        unit = (core, sub)
        number = self.number(unit, f"set {mode}", first, count)
        for other in self.partners(unit, mode):
            key = (unit, other, mode, number)
            self.counts[key] = self.counts.get(key, 0) + 1
            if self.counts[key] > CROSS_COUNT:
                raise ValueError(
                    f"sets flag {number} {self.counts[key]} times before it is waited for, "
                    f"expected at most {CROSS_COUNT} times"
                )

    def wait(self, core: int, sub: int, first: int, count: int, mode: int) -> Wait:
        """What a core waits for."""
        unit = (core, sub)
        number = self.number(unit, f"wait {mode}", first, count)
        others = self.partners(unit, mode)
        return Wait([(other, unit, mode, number) for other in others], f"flag {number}")

    def all(self, core: int, sub: int, cores: str) -> Wait:
        """Come to a place where all cores of a kind meet."""
        unit = (core, sub)
        turn = self.number(unit, cores, 0, 1 << 30)
        mine = [u for u in self.units if cores == "all" or (u[1] == CUBE) == (sub == CUBE)]
        for other in mine:
            key = (unit, other, cores, turn)
            self.counts[key] = self.counts.get(key, 0) + 1
        return Wait([(other, unit, cores, turn) for other in mine], "all cores")

    def ready(self, wait: Wait) -> bool:
        """Whether all that is waited for has happened."""
        return all(self.counts.get(key, 0) > 0 for key in wait.counts)

    def take_back(self, wait: Wait) -> None:
        """Take the flags back."""
        for key in wait.counts:
            self.counts[key] -= 1


def run_in_turn(cross: CrossCores, programs: dict[Unit, Generator[Wait | None]]) -> None:
    """Run cores until all have ended; raises ValueError when all that are left wait."""
    waiting: dict[Unit, Wait | None] = dict.fromkeys(programs)
    while waiting:
        moved = False
        for unit, wait in list(waiting.items()):
            while wait is None or cross.ready(wait):
                moved = True
                if wait is not None:
                    cross.take_back(wait)
                try:
                    wait = next(programs[unit])
                except StopIteration:
                    del waiting[unit]
                    break
                waiting[unit] = wait
        if not moved:
            raise ValueError(_stuck(waiting))
    left = sorted({key[3] for key, n in cross.counts.items() if n and isinstance(key[2], int)})
    if left:
        raise ValueError(f"flag {left[0]} between cores is set and not waited for at the end")


def _stuck(waiting: dict[Unit, Wait | None]) -> str:
    """Which cores wait for what."""
    texts: list[str] = []
    for (core, sub), wait in waiting.items():
        kind = "cube core" if sub == CUBE else "vector core"
        half = "" if sub == CUBE else f".{sub}"
        if wait is not None:
            texts.append(f"{kind} {core}{half} for {wait.text}")
    more = f" and {len(texts) - 4} more" if len(texts) > 4 else ""
    return f"all cores wait: {', '.join(texts[:4])}{more}"
