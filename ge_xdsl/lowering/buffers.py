"""Vector programs on virtual values, and the UB buffers that these values get."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from ge_xdsl.lowering.tiling import BUFFERS, Slot, Slots

APART = frozenset({"vreduce", "vbrc", "vargreduce", "vgather", "vscan", "vsort"})
"""Instructions that do not write where they read."""
BESIDE = frozenset({"scalar"})
"""Instructions of another unit than the vector unit."""


@dataclass(frozen=True, slots=True)
class Value:
    """A tile-sized value: its element type, and whether it has all rows and columns or one."""

    element: str
    rows: bool = True
    cols: bool = True


@dataclass(frozen=True, slots=True)
class Step:
    """One vector instruction on virtual values; `op` is its name without `aicore.`."""

    op: str
    sources: tuple[int, ...]
    dst: int
    kind: str | None = None
    value: float | None = None
    axis: str | None = None
    """Of a reduction: `rows` or `cols`."""


@dataclass
class Program:
    """A vector kernel before buffers and tile sizes are known."""

    values: list[Value] = field(default_factory=list[Value])
    steps: list[Step] = field(default_factory=list[Step])
    inputs: list[int] = field(default_factory=list[int])
    outputs: list[int] = field(default_factory=list[int])
    known: dict[tuple[object, ...], int] = field(default_factory=dict[tuple[object, ...], int])
    """What `once` has made."""
    bits: dict[int, int] = field(default_factory=dict[int, int])
    """Truth value in bytes -> the bits that it was made from."""
    whole: str = ""
    """`cols` or `rows` when a tile must have all of them, because they are reduced."""

    def key(self) -> tuple[object, ...]:
        """Equal for programs that are the same."""
        values, steps = tuple(self.values), tuple(self.steps)
        return (values, steps, tuple(self.inputs), tuple(self.outputs), self.whole)

    def add(self, value: Value) -> int:
        """A new virtual value."""
        self.values.append(value)
        return len(self.values) - 1

    def step(
        self,
        op: str,
        sources: Sequence[int],
        result: Value | str,
        kind: str | None = None,
        value: float | None = None,
        axis: str | None = None,
    ) -> int:
        """Append an instruction; its result, full-size when only an element type is given."""
        dst = self.add(Value(result) if isinstance(result, str) else result)
        self.steps.append(Step(op, tuple(sources), dst, kind, value, axis))
        return dst

    def once(
        self, op: str, sources: tuple[int, ...], result: Value, value: float | None = None
    ) -> int:
        """The result of a cast, broadcast or number, made when it is first wanted."""
        key = (op, sources, result, value)
        found = self.known.get(key)
        if found is None:
            found = self.known[key] = self.add(result)
            self.steps.append(Step(op, sources, found, None, value))
        return found


def assign(program: Program, buffers: int = BUFFERS) -> tuple[list[int], list[Slot]]:
    """The slot of each value, and the slots.

    Inputs and outputs have slots of their own with two buffers, because copies run beside the
    computation, or with fewer where the room is short. The others share: a slot is free after its
    value's last use, and an instruction may write where it reads.
    """
    last = {v: i for i, step in enumerate(program.steps) for v in step.sources}
    owned = {*program.inputs, *program.outputs}
    slots: list[Slot] = []
    slot_of = [-1] * len(program.values)
    for v in (*program.inputs, *program.outputs):
        slot_of[v] = len(slots)
        slots.append(_slot(program.values[v], buffers))
    free: dict[Value, list[int]] = {}
    for i, step in enumerate(program.steps):
        for v in dict.fromkeys(step.sources):
            if last[v] == i and v not in owned and step.op not in APART:
                free.setdefault(program.values[v], []).append(slot_of[v])
        if slot_of[step.dst] < 0:
            value = program.values[step.dst]
            if free.get(value):
                slot_of[step.dst] = free[value].pop()
            else:
                slot_of[step.dst] = len(slots)
                slots.append(_slot(value, 1))
        if step.op in APART:
            for v in dict.fromkeys(step.sources):
                if last[v] == i and v not in owned:
                    free.setdefault(program.values[v], []).append(slot_of[v])
    return slot_of, slots


def with_lives(program: Program, slot_of: Sequence[int], slots: Sequence[Slot]) -> Slots:
    """The slots with the steps between which they are in use.

    Those that copies or the scalar unit touch are always: these run beside the vector unit.
    """
    spans: dict[int, tuple[int, int]] = {}
    always = {slot_of[v] for v in (*program.inputs, *program.outputs)}
    for i, step in enumerate(program.steps):
        for v in (*step.sources, step.dst):
            slot = slot_of[v]
            spans[slot] = (spans.get(slot, (i, i))[0], i)
            if step.op in BESIDE:
                always.add(slot)
    lives = [None if k in always or k not in spans else spans[k] for k in range(len(slots))]
    return Slots(slots, lives)


def _slot(value: Value, buffers: int) -> Slot:
    return Slot(value.element, value.rows, value.cols, buffers)
