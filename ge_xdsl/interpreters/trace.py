"""A timed run of a lowered module as a trace: one track per core and pipe, over time.

The format is the JSON object of the Chrome trace events, which Perfetto reads: complete events
(`ph` X) with times in microseconds, and metadata that names processes and tracks. Process 0 has a
slice per launch. Cores that do the same are shown once, and their slice says for whom they stand;
of a kernel that is launched again only the launch is shown. Pipes are drawn at the speed of the
predicted time: what HBM adds to the core's own time is spread over it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ge_xdsl.dialects.aicore.structure import ForOp, KernelOp
from ge_xdsl.interpreters.core_time import CoreTime, Event
from ge_xdsl.interpreters.cycles import physical, simulate
from ge_xdsl.interpreters.shares import core_lengths
from ge_xdsl.interpreters.timing import PIPES, KernelTiming, Report
from ge_xdsl.interpreters.traffic import bodies, traffic_of
from ge_xdsl.targets import Target

KERNELS = 0
"""The process with the launches."""
STANDS_FOR = 0
"""The track that tells for which cores a core stands; pipes follow it."""
MOST_CLASSES = 8
"""Cores of a kernel that do different things and are shown."""

TraceEvent = dict[str, Any]


def trace(report: Report, kernels: Mapping[str, KernelOp], chip: Target) -> dict[str, Any]:
    """The trace of a report's launches, one after the other."""
    events: list[TraceEvent] = [*_named(KERNELS, "kernels", {0: "launches"})]
    processes: dict[tuple[str, int], int] = {}
    shown: set[str] = set()
    time = 0.0
    for number, timing in enumerate(report.kernels):
        start = time + timing.launch_us
        again = timing.name in shown
        events.append(_launch(timing, number, time, again))
        if not again:
            shown.add(timing.name)
            events += _cores(kernels[timing.name], timing, chip, start, processes)
        time += timing.us
    heads = [
        event
        for (kind, core), pid in processes.items()
        for event in _named(pid, f"{kind} core {core}", _tracks())
    ]
    other = {
        "target": report.target,
        "identical cores": "shown once; the track 'stands for' tells which",
        "repeated launches": "only the first launch of a kernel shows its pipes",
        "speed": "the pipes of a kernel are stretched to its predicted time",
    }
    return {"traceEvents": heads + events, "displayTimeUnit": "ns", "otherData": other}


def _tracks() -> dict[int, str]:
    """The tracks of a core."""
    return {STANDS_FOR: "stands for", **{i + 1: pipe for i, pipe in enumerate(PIPES)}}


def _named(pid: int, name: str, tracks: Mapping[int, str]) -> Iterator[TraceEvent]:
    """Metadata: the names of a process and of its tracks."""
    yield {"ph": "M", "pid": pid, "name": "process_name", "args": {"name": name}}
    yield {"ph": "M", "pid": pid, "name": "process_sort_index", "args": {"sort_index": pid}}
    for tid, track in tracks.items():
        yield {"ph": "M", "pid": pid, "tid": tid, "name": "thread_name", "args": {"name": track}}


def _slice(
    pid: int, tid: int, name: str, start: float, length: float, args: Mapping[str, object]
) -> TraceEvent:
    """A complete event; times in microseconds, to the picosecond."""
    return {
        "ph": "X",
        "pid": pid,
        "tid": tid,
        "name": name,
        "cat": "aicore",
        "ts": round(start, 6),
        "dur": round(max(length, 0.0), 6),
        "args": dict(args),
    }


def _launch(timing: KernelTiming, number: int, start: float, again: bool) -> TraceEvent:
    """The slice of a launch, with what the report says of it."""
    told = timing.to_json()
    keys = ("ops", "core", "blocks", "cycles", "bound", "launch_us", "roofline_us", "bytes")
    args: dict[str, object] = {"launch": number, **{key: told[key] for key in keys}}
    if again:
        args["pipes"] = "as in the first launch of this kernel"
    return _slice(KERNELS, 0, timing.name, start, timing.us, args)


def _cores(
    kernel: KernelOp,
    timing: KernelTiming,
    chip: Target,
    start: float,
    processes: dict[tuple[str, int], int],
) -> list[TraceEvent]:
    """The pipes of one core of each kind of share."""
    found: list[TraceEvent] = []
    traffic = traffic_of(kernel, chip)
    classes = core_classes(kernel, physical(kernel, chip))
    runs = [
        (simulate(kernel, chip, traffic, members[0], events=True), members) for members in classes
    ]
    end = max(core.end for cores, _ in runs for core in cores)
    scale = timing.cycles / max(end, 1.0) / chip.clock_mhz
    for cores, members in runs:
        for core in cores:
            pid = processes.setdefault((core.kind, members[0]), len(processes) + 1)
            args = {"cores": listed(members), "count": len(members), "kernel": kernel.sym_name}
            if kernel.core == "mix" and core.kind == "vector":
                args["vector cores"] = "one of the two of each"
            name = f"{kernel.sym_name}: {listed(members)}"
            found.append(_slice(pid, STANDS_FOR, name, start, core.end * scale, args))
            found += _pipe_slices(core, pid, start, scale)
    return found


def _pipe_slices(core: CoreTime, pid: int, start: float, scale: float) -> Iterator[TraceEvent]:
    """What the pipes of a core do; skipped iterations are a slice of every pipe that works."""
    events: Sequence[Event] = core.events or ()
    busy = [pipe for pipe, cycles in enumerate(core.busy) if cycles]
    for event in events:
        length = (event.end - event.start) * scale
        begin = start + event.start * scale
        for pipe in busy if event.pipe < 0 else [event.pipe]:
            yield _slice(pid, pipe + 1, event.name, begin, length, event.args)


def core_classes(kernel: KernelOp, cores: int) -> list[list[int]]:
    """The cores of a kernel that have the same share, the busiest share first.

    At most `MOST_CLASSES`: the last one has the others, too.
    """
    found: dict[tuple[object, ...], list[int]] = {}
    for core in range(min(kernel.blocks, cores)):
        share: list[object] = []
        for body in bodies(kernel):
            for op in body.ops:
                if isinstance(op, ForOp) and op.over_cores:
                    extents = [e for e in op.extents if isinstance(e, int)]
                    runs = core_lengths(extents, op.steps, op.strip, core, kernel.blocks)
                    share.append(tuple(runs))
        found.setdefault(tuple(share), []).append(core)
    classes = list(found.values())
    if len(classes) > MOST_CLASSES:
        rest = sorted(core for members in classes[MOST_CLASSES - 1 :] for core in members)
        classes = [*classes[: MOST_CLASSES - 1], rest]
    return classes


def listed(numbers: Sequence[int]) -> str:
    """Numbers in increasing order as text: `0-3, 7`."""
    parts: list[list[int]] = []
    for number in numbers:
        if parts and number == parts[-1][-1] + 1:
            parts[-1].append(number)
        else:
            parts.append([number])
    return ", ".join(str(part[0]) if len(part) == 1 else f"{part[0]}-{part[-1]}" for part in parts)
