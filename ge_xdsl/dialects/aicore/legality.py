"""What a kernel's legality depends on the chip for: capacities, layouts, cores, paths.

A kernel with flags is held against the order that its buffers need, too.
"""

from __future__ import annotations

from math import prod

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block

from ge_xdsl.dialects.aicore.lifetimes import check_room
from ge_xdsl.dialects.aicore.op import Instruction
from ge_xdsl.dialects.aicore.ordering import check_order
from ge_xdsl.dialects.aicore.paths import COUPLED
from ge_xdsl.dialects.aicore.structure import AllocOp, ForOp, KernelOp, section_kind
from ge_xdsl.dialects.aicore.types import tile_of
from ge_xdsl.errors import CompileError
from ge_xdsl.targets.target import CORE_SPACES, Target

CORE_PIPES = {
    "cube": ("S", "MTE2", "MTE1", "M", "FIX"),
    "vector": ("S", "MTE2", "V", "MTE3"),
}
"""Core kind -> the pipes that it has where cube and vector cores are apart."""


COUPLED_PIPES = ("S", "MTE2", "MTE1", "M", "V", "MTE3")
"""What both units in one core have; there is no fixpipe."""


def core_pipes(kind: str, target: Target) -> tuple[str, ...]:
    """The pipes of a core of a kind; a cube core of arch 100 and 200 has the vector unit, too."""
    if kind == "cube" and target.arch in COUPLED:
        return COUPLED_PIPES
    return CORE_PIPES.get(kind, ())


def check(module: ModuleOp, target: Target) -> None:
    """Raise CompileError for the first kernel that the target cannot run."""
    for op in module.body.block.ops:
        if isinstance(op, KernelOp):
            check_kernel(op, target)


def check_kernel(kernel: KernelOp, target: Target) -> None:
    """Raise CompileError unless the kernel fits the target's cores and memories.

    K1: no more cores than the chip has. K2: instructions on pipes of the core that runs them.
    K3: instructions, paths and memories that the architecture has. K4: L0A in the chip's layout.
    K5: the buffers in use at one time fit their memory. K6: what has flags is ordered by them.
    K7: at most 2^24 tiles, and iterations per tile.
    """
    check_iterations(kernel)
    subject = f"aicore.kernel @{kernel.sym_name}"
    have = target.cores("cube" if kernel.core == "mix" else kernel.core)
    if kernel.blocks > have:
        raise CompileError(
            f"runs on {kernel.blocks} {kernel.core} cores, expected at most {have} on "
            f"{target.name}",
            subject=subject,
            location=kernel.source,
        )
    for op in kernel.walk():
        if isinstance(op, Instruction):
            _check_instruction(op, kernel, target)
        elif isinstance(op, AllocOp):
            _check_layout(op, kernel, target)
    check_room(kernel, target)
    if kernel.synced:
        check_order(kernel)


MOST_ITERATIONS = 1 << 24
"""Tiles of a kernel, and iterations per tile, beyond which no run ends in reasonable time."""


def check_iterations(kernel: KernelOp) -> None:
    """Raise CompileError for loops that go on for too long to be run or timed."""
    _check_loops(kernel, kernel.body, 1)


def _check_loops(kernel: KernelOp, block: Block, around: int) -> None:
    for op in block.ops:
        count = around
        if isinstance(op, ForOp):
            parts = zip(op.extents, op.steps, strict=True)
            count *= prod(-(-e // step) for e, step in parts if isinstance(e, int))
            if count > MOST_ITERATIONS:
                raise CompileError(
                    f"runs {count} {'tiles' if op.over_cores else 'iterations per tile'}, "
                    f"expected at most {MOST_ITERATIONS}",
                    subject=f"{op.name} in @{kernel.sym_name}",
                    location=op.source,
                )
            count = 1 if op.over_cores else count
        for region in op.regions:
            _check_loops(kernel, region.block, count)


def _check_instruction(op: Instruction, kernel: KernelOp, target: Target) -> None:
    subject = f"{op.name} in @{kernel.sym_name}"
    kind = section_kind(op)
    arches = op.needed_arches()
    if arches and target.arch not in arches:
        raise CompileError(
            f"{op.variant()}is of arch {' and '.join(arches)}, expected one that {target.name} "
            f"(arch {target.arch}) has",
            subject=subject,
            location=op.source,
        )
    pipes = core_pipes(kind, target)
    if op.pipe not in pipes:
        raise CompileError(
            f"runs on pipe {op.pipe}, expected one of a {kind} core: {', '.join(pipes)}",
            subject=subject,
            location=op.source,
        )


def _check_layout(op: AllocOp, kernel: KernelOp, target: Target) -> None:
    tile = tile_of(op.results[0])
    if not target.has(tile.space):
        have = ", ".join(name for name in CORE_SPACES if target.has(name))
        raise CompileError(
            f"is in {tile.space}, expected a memory that {target.name} has: {have}",
            subject=f"{op.name} in @{kernel.sym_name}",
            location=op.source,
        )
    if tile.space == "l0a" and tile.layout != target.l0a_layout:
        raise CompileError(
            f"l0a is in layout {tile.layout}, expected {target.l0a_layout} on {target.name}",
            subject=f"{op.name} in @{kernel.sym_name}",
            location=op.source,
        )
