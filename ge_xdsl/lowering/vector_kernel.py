"""The kernel of a vector chain: load tiles, compute in UB, store.

for each tile, dealt to the vector cores:
    copy_gm_ub each input; vector instructions; copy_ub_gm each output
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from xdsl.ir import Block, Operation, SSAValue

from ge_xdsl.dialects.aicore.indexed import (
    ScalarOp,
    VargreduceOp,
    VgatherOp,
    VscanOp,
    VsortOp,
)
from ge_xdsl.dialects.aicore.move import CopyGmUbOp, CopyUbGmOp
from ge_xdsl.dialects.aicore.op import Index, Instruction
from ge_xdsl.dialects.aicore.structure import AllocOp, ForOp, KernelOp
from ge_xdsl.dialects.aicore.types import Tile
from ge_xdsl.dialects.aicore.vector import (
    VbinaryOp,
    VbrcOp,
    VcastOp,
    VcmpOp,
    VdupOp,
    VreduceOp,
    VscalarOp,
    VselOp,
    VunaryOp,
)
from ge_xdsl.dialects.aicore.view import StridedOp
from ge_xdsl.errors import CompileError
from ge_xdsl.interpreters.cycles import time_kernel
from ge_xdsl.lowering.buffers import Program, Step, assign, with_lives
from ge_xdsl.lowering.placement import place_kernel
from ge_xdsl.lowering.remembered import Remembered
from ge_xdsl.lowering.tiling import BUFFERS, MAX_VECTOR_TILE, Slot, fewest_cores, vector_tiling
from ge_xdsl.lowering.windows import Window
from ge_xdsl.targets.cost import ceil_div
from ge_xdsl.targets.target import Target

VECTOR_OPS: dict[str, type[Instruction]] = {
    "vunary": VunaryOp,
    "vbinary": VbinaryOp,
    "vscalar": VscalarOp,
    "vcast": VcastOp,
    "vdup": VdupOp,
    "vbrc": VbrcOp,
    "vcmp": VcmpOp,
    "vsel": VselOp,
    "vreduce": VreduceOp,
    "vargreduce": VargreduceOp,
    "vgather": VgatherOp,
    "vscan": VscanOp,
    "vsort": VsortOp,
    "scalar": ScalarOp,
}


@dataclass(frozen=True, slots=True)
class Chain:
    """A chain ready to be made a kernel: what it reads, writes and does.

    Shapes are those of GM tiles with merged dimensions. `sound` tells that they merge as the
    chain's reductions need.
    """

    program: Program
    operands: tuple[SSAValue, ...]
    results: tuple[SSAValue, ...]
    shape: tuple[int, ...]
    operand_shapes: tuple[tuple[int, ...], ...]
    result_shapes: tuple[tuple[int, ...], ...]
    sound: bool = True
    windows: tuple[Window | None, ...] = ()
    """For each operand the part of it that is read; all None when empty."""

    def key(self) -> tuple[object, ...]:
        """Equal for chains that make the same kernel."""
        shapes = (self.shape, self.operand_shapes, self.result_shapes)
        return ("vector", self.program.key(), *shapes, self.windows)

    def window(self, i: int) -> Window | None:
        """The part of an operand that is read, None for all."""
        return self.windows[i] if i < len(self.windows) else None


@dataclass(frozen=True, slots=True)
class Plan:
    """The slot of each value, the slots, and the rows and columns of a tile."""

    slot_of: Sequence[int]
    slots: Sequence[Slot]
    tile: tuple[int, int]


SMALLER = (2, 4)
"""Parts of the largest tile that are tried, the next one only if the one before is faster."""
WORTH = 0.005
"""Share of the time that a smaller tile has to save."""

_KNOWN: Remembered[Plan] = Remembered()


def vector_kernel(name: str, chain: Chain, target: Target) -> KernelOp:
    """The kernel of a chain, with the tile that the timing model says is the fastest."""
    return planned_kernel(name, chain, fastest_plan(chain, target), target)


def fastest_plan(chain: Chain, target: Target) -> Plan:
    """The plan with the largest tile, or with a part of it that is faster; remembered."""
    found = _KNOWN.get(chain.key(), target)
    if found is not None:
        return found
    best = plan(chain, target)
    least = predicted(chain, best, target)
    for part in SMALLER:
        other = plan(chain, target, MAX_VECTOR_TILE // part)
        if other == best:
            continue
        time = predicted(chain, other, target)
        if time > least * (1 - WORTH):
            break
        best, least = other, time
    return _KNOWN.put(chain.key(), target, best)


def predicted(chain: Chain, made: Plan, target: Target) -> float:
    """Microseconds of a chain's kernel, its buffers placed."""
    kernel = planned_kernel("candidate", chain, made, target)
    place_kernel(kernel, target)
    return time_kernel(kernel, target).us


def planned_kernel(name: str, chain: Chain, made: Plan, target: Target) -> KernelOp:
    """The kernel of a chain with the tile of a plan, on the fewest cores that are as fast."""
    steps = (*(1 for _ in chain.shape[:-2]), *made.tile)
    count = 1
    for dim, step in zip(chain.shape, steps, strict=True):
        count *= ceil_div(dim, step)
    blocks = fewest_cores(count, target.vector_cores)
    program = chain.program
    shapes = [*chain.operand_shapes, *chain.result_shapes]
    elements = [program.values[v].element for v in (*program.inputs, *program.outputs)]
    tiles = [Tile(s, e, "gm") for s, e in zip(shapes, elements, strict=True)]
    windows = [chain.window(i) for i in range(len(program.inputs))]
    block = Block(
        arg_types=[
            tile.type
            if i >= len(windows) or (window := windows[i]) is None
            else Tile((window.count,), tile.element, "gm").type
            for i, tile in enumerate(tiles)
        ]
    )
    for i, arg in enumerate(block.args):
        ins = len(program.inputs)
        arg.name_hint = f"x{i}" if i < ins else f"y{i - ins}"
    names = [*(f"d{i}" for i in range(len(steps) - 2)), "r", "c"]
    loop = ForOp.make(chain.shape, steps, names, over_cores=True)
    sources = [_source(block, i, tile, chain.window(i)) for i, tile in enumerate(tiles)]
    block.add_op(loop)
    _Body(loop, chain, made.slot_of, made.slots, made.tile).fill(sources)
    return KernelOp.make(name, "vector", blocks, len(chain.result_shapes), block)


def _source(block: Block, i: int, tile: Tile, window: Window | None) -> SSAValue:
    """An argument as a chain reads or writes it: the window of it, if there is one."""
    arg = block.args[i]
    if window is None:
        return arg
    view = StridedOp.make(arg, window.offset, window.strides(tile.shape), tile)
    view.results[0].name_hint = f"{arg.name_hint}_view"
    block.add_op(view)
    return view.results[0]


def plan(chain: Chain, target: Target, limit: int = MAX_VECTOR_TILE) -> Plan:
    """The plan of a chain with the largest tile of at most `limit` elements.

    Whole rows that do not fit with two buffers for each operand and result get one. Raises
    CompileError when no tile fits.
    """
    program = chain.program
    try:
        return _plan(chain, target, limit, BUFFERS)
    except CompileError:
        if not program.whole:
            raise
    return _plan(chain, target, limit, 1)


def _plan(chain: Chain, target: Target, limit: int, buffers: int) -> Plan:
    program = chain.program
    slot_of, slots = assign(program, buffers)
    room = with_lives(program, slot_of, slots)
    return Plan(slot_of, slots, vector_tiling(chain.shape, room, target, program.whole, limit))


class _Body:
    """Fills the loop body of a vector kernel."""

    def __init__(
        self,
        loop: ForOp,
        chain: Chain,
        slot_of: Sequence[int],
        slots: Sequence[Slot],
        tile: tuple[int, int],
    ) -> None:
        self.loop = loop
        self.chain = chain
        self.slot_of = slot_of
        rank = len(chain.shape)
        self.origins = [loop.origin(i) for i in range(rank)]
        self.length = (loop.length(rank - 2), loop.length(rank - 1))
        self.tiles: list[SSAValue] = []
        for i, slot in enumerate(slots):
            alloc = AllocOp.make(slot.tile(*tile).type, slot.buffers)
            alloc.results[0].name_hint = f"t{i}"
            self.add(alloc)
            self.tiles.append(alloc.results[0])

    def add(self, op: Operation) -> None:
        self.loop.body.add_op(op)

    def sizes(self, value: int) -> list[Index]:
        """The valid sizes of a value."""
        item = self.chain.program.values[value]
        return [self.length[0] if item.rows else 1, self.length[1] if item.cols else 1]

    def offsets(self, shape: Sequence[int]) -> list[Index]:
        """Where the tile stands in a GM tile; 0 where that is broadcast."""
        pairs = zip(self.origins, shape, self.chain.shape, strict=True)
        return [origin if dim == whole else 0 for origin, dim, whole in pairs]

    def fill(self, sources: Sequence[SSAValue]) -> None:
        """The loads, instructions and stores of a tile."""
        program = self.chain.program
        shapes, results = self.chain.operand_shapes, self.chain.result_shapes
        for value, arg, shape in zip(program.inputs, sources, shapes, strict=False):
            tile, offsets = self.tiles[self.slot_of[value]], self.offsets(shape)
            self.add(CopyGmUbOp.build(arg, tile, offsets=offsets, sizes=self.sizes(value)))
        for step in program.steps:
            self.add(self.instruction(step))
        outputs = sources[len(shapes) :]
        for value, arg, shape in zip(program.outputs, outputs, results, strict=True):
            tile, offsets = self.tiles[self.slot_of[value]], self.offsets(shape)
            self.add(CopyUbGmOp.build(tile, arg, offsets=offsets, sizes=self.sizes(value)))

    def instruction(self, step: Step) -> Instruction:
        tiles = [self.tiles[self.slot_of[v]] for v in (*step.sources, step.dst)]
        sizes = self.sizes(step.sources[0] if step.op in REDUCES else step.dst)
        return VECTOR_OPS[step.op].build(*tiles, sizes=sizes, **options_of(step))


REDUCES = frozenset({"vreduce", "vargreduce"})
"""Steps whose sizes are those of what they read."""


def options_of(step: Step) -> dict[str, Any]:
    """The options of a step's instruction."""
    if step.op == "vcast":
        return {"round": step.kind}
    if step.op == "vsort":
        return {"descending": step.kind == "descending"}
    if step.op == "vscan":
        kind, *flags = (step.kind or "add").split()
        return {"kind": kind, **dict.fromkeys(flags, True)}
    if step.op == "scalar" and step.kind is None:
        return {"kind": "cast" if step.sources else "fill", "value": step.value}
    return {"kind": step.kind, "value": step.value, "axis": step.axis}
