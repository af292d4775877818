"""How long a kernel takes: the most loaded core's time, joined with that of HBM.

Cores that do the same are simulated once. HBM is shared by all: bytes that miss L2 and written
bytes that L2 does not absorb take their time at the HBM bandwidth, and (core^p + hbm^p)^(1/p)
joins it with the core's. Every kernel is taken to start with none of its operands in L2.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from xdsl.ir import SSAValue

from ge_xdsl.dialects.aicore.cross import BoundOp
from ge_xdsl.dialects.aicore.structure import ForOp, KernelOp
from ge_xdsl.errors import CompileError
from ge_xdsl.interpreters.core_time import CONFLICT, CoreTime, Mark, Meeting, run_together
from ge_xdsl.interpreters.roofline import roofline
from ge_xdsl.interpreters.rounds import all_rounds
from ge_xdsl.interpreters.shares import loads
from ge_xdsl.interpreters.timed import timed_kernel
from ge_xdsl.interpreters.timing import PIPES, KernelTiming
from ge_xdsl.interpreters.traffic import Traffic, bodies, traffic_of
from ge_xdsl.targets import Target

BUSY_BOUND = 0.7
"""A pipe that is busy for this share of the time is what the kernel is bound by."""

UNITS = ("products", "lanes", "scalar", CONFLICT)
"""What a core counts that is no path between memories."""


def time_kernel(kernel: KernelOp, target: Target) -> KernelTiming:
    """The predicted time of one launch of a kernel on a target; `ops` is left empty.

    Raises CompileError for a kernel whose cores wait for each other for ever, and for a vector op
    that the target has no rate for.
    """
    traffic = traffic_of(kernel, target)
    cores = simulate(kernel, target, traffic, busiest_core(kernel))
    end = max(core.end for core in cores) * waves(kernel, target)
    hbm = traffic.seconds * target.clock_hz
    cycles = joined(cores, traffic, waves(kernel, target), target)
    bound = roofline([core.traffic for core in cores], traffic.hbm_read, target)
    launch = target.launch(kernel.core, min(kernel.blocks, physical(kernel, target)))
    busy = {name: value for core in cores for name, value in named_busy(core, kernel).items()}
    return KernelTiming(
        name=kernel.sym_name,
        ops=(),
        core=kernel.core,
        blocks=kernel.blocks,
        cycles=cycles,
        us=launch + cycles / target.clock_mhz,
        launch_us=launch,
        busy=busy,
        hbm_bytes=traffic.hbm_bytes,
        bound=bound_of(cycles, end, busy, launch, hbm, target),
        core_us=end / target.clock_mhz,
        hbm_us=hbm / target.clock_mhz,
        roofline_us=launch + bound / target.clock_mhz,
        bytes=level_bytes(traffic, cores),
    )


def joined(cores: Sequence[CoreTime], traffic: Traffic, rounds: int, target: Target) -> float:
    """The cycles of core and HBM together, phase by phase, for cores that begin `rounds` times."""
    marks = [Mark(), *cores[0].marks, cores[0].mark()]
    if len(cores) > 1 or len(marks) != len(traffic.phases) + 1:
        parts = [core.mark() for core in cores]
        busy = tuple(max(values) for values in zip(*(part.busy for part in parts), strict=True))
        conflicts = max(part.conflicts for part in parts)
        whole = Mark(max(part.end for part in parts), busy, conflicts)
        return phase_cycles(whole, traffic.seconds, rounds, target)
    spans = [b.since(a) for a, b in pairwise(marks)]
    pairs = zip(spans, traffic.phases, strict=True)
    return sum(phase_cycles(span, phase.seconds, rounds, target) for span, phase in pairs)


def phase_cycles(span: Mark, seconds: float, rounds: int, target: Target) -> float:
    """The cycles of a phase: the core's and those of HBM.

    A core whose pipes wait for each other asks HBM for nothing meanwhile. Seen from HBM that is a
    second station: with two customers at two stations, a + b^2 / (a + b) passes between them
    (mean value analysis). While copies wait for HBM, a bank conflict in UB holds them up, too.
    """
    hbm, core, idle = seconds * target.clock_hz, span.end * rounds, span.idle * rounds
    if not hbm:
        return max(core, 1.0)
    queued = hbm + idle * idle / (hbm + idle)
    stalled = target.ub_stall * span.conflicts * rounds * hbm / (hbm + core)
    return smooth(core, queued, target.join_power) + stalled


def smooth(a: float, b: float, power: float) -> float:
    """(a^p + b^p)^(1/p), a maximum that counts a bit of the smaller one where both are close."""
    top = max(a, b, 1.0)
    return top * ((a / top) ** power + (b / top) ** power) ** (1 / power)


def physical(kernel: KernelOp, target: Target) -> int:
    """How many cores (AI cores of a mixed kernel) the target has for a kernel."""
    return target.cores("cube" if kernel.core == "mix" else kernel.core)


def waves(kernel: KernelOp, target: Target) -> int:
    """How often the cores begin anew when a kernel asks for more than there are."""
    return -(-kernel.blocks // physical(kernel, target))


def simulate(
    kernel: KernelOp,
    target: Target,
    traffic: Traffic,
    core: int,
    events: bool = False,
    cuts: bool = True,
) -> list[CoreTime]:
    """One core run to its end; for a mixed kernel a cube core and one of its vector cores.

    With `events` they note what their pipes do. Without `cuts` no loop in which cores wait for
    each other is cut short.
    """
    for cut in (cuts, False):
        cores = _cores(kernel, target, traffic, core, Meeting(cuts=cut))
        for item in cores:
            item.events = [] if events else None
        if run_together(cores):
            return cores
    raise CompileError(
        "waits for a flag that no core sets, expected a cross_set for every cross_wait",
        subject=f"aicore.kernel @{kernel.sym_name}",
        location=kernel.source,
    )


def _cores(
    kernel: KernelOp, target: Target, traffic: Traffic, core: int, meeting: Meeting
) -> list[CoreTime]:
    kinds = [s.core for s in kernel.sections] if kernel.core == "mix" else [kernel.core]
    rounds = [phase.rounds for phase in traffic.phases]
    return [
        CoreTime(
            timed_kernel(kernel, body, traffic), target, core, kernel.blocks, kind, meeting, rounds
        )
        for kind, body in zip(kinds, bodies(kernel), strict=True)
    ]


def busiest_core(kernel: KernelOp) -> int:
    """The core with the most elements to do in the loops over cores, the first of equals."""
    load = [0] * kernel.blocks
    for body in bodies(kernel):
        for op in body.ops:
            if isinstance(op, ForOp) and op.over_cores:
                for i, count in enumerate(core_loads(op, kernel.blocks)):
                    load[i] += count
    return load.index(max(load))


def core_loads(loop: ForOp, cores: int) -> list[int]:
    """What each core has to do of a loop over cores.

    The elements of its tiles; where loops in a tile go as far as its place tells, their elements.
    """
    uneven = uneven_loops(loop)
    if not uneven:
        extents = [e for e in loop.extents if isinstance(e, int)]
        return loads(extents, loop.steps, loop.strip, cores)
    rounds = all_rounds([loop], cores)
    sizes = [rounds.number(value) for inner in uneven for value in inner.extents]
    found = [0] * cores
    for part in rounds.places:
        for core, place in enumerate(part):
            found[core] += sum(size(place) for size in sizes)
    return found


def uneven_loops(loop: ForOp) -> list[ForOp]:
    """The loops in a loop over cores whose extents its tiles give bounds for."""
    inner = [op for op in loop.body.ops if isinstance(op, ForOp)]
    return [
        op
        for op in inner
        if any(isinstance(e, SSAValue) and isinstance(e.owner, BoundOp) for e in op.extents)
    ]


def named_busy(core: CoreTime, kernel: KernelOp) -> dict[str, float]:
    """Pipe -> busy cycles; in a mixed kernel the vector core's pipes carry its name."""
    apart = kernel.core == "mix" and core.kind == "vector"
    return {f"AIV.{p}" if apart else p: value for p, value in core.busy_cycles().items()}


def level_bytes(traffic: Traffic, cores: list[CoreTime]) -> dict[str, float]:
    """Bytes per memory level: HBM and L2 of all cores, the rest of the core simulated."""
    found = {
        "hbm_read": traffic.hbm_read,
        "hbm_written": traffic.hbm_written,
        "l2_read": traffic.gm_read,
        "l2_written": traffic.gm_written,
    }
    for core in cores:
        for path, count in core.traffic.items():
            if count and path not in UNITS:
                found[path] = found.get(path, 0.0) + count
    return found


def bound_of(
    cycles: float,
    end: float,
    busy: dict[str, float],
    launch: float,
    hbm: float,
    target: Target,
) -> str:
    """What most of the time is spent on: `launch`, `HBM`, a pipe, or `latency`."""
    if cycles / target.clock_mhz < launch:
        return "launch"
    if hbm >= end:
        return "HBM"
    order = [*PIPES, *(f"AIV.{pipe}" for pipe in PIPES)]
    pipe = max(order, key=lambda name: busy.get(name, 0.0))
    return pipe if busy.get(pipe, 0.0) >= BUSY_BOUND * end else "latency"
