"""What a timed run of a lowered module reports, as data, text and JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

PIPES = ("S", "MTE2", "MTE1", "M", "FIX", "V", "MTE3")
"""The in-order pipes of a core, in the order data meets them."""


ALL_PIPES = (*PIPES, *(f"AIV.{pipe}" for pipe in PIPES))
"""Those, and those of the vector cores of a mixed kernel."""
PIPE_WORK = {
    "S": "scalar unit",
    "MTE2": "copies from GM",
    "MTE1": "loads to L0",
    "M": "cube unit",
    "FIX": "fixpipe, results to GM",
    "V": "vector unit",
    "MTE3": "copies to GM",
}
"""Pipe -> what it does."""
LAYOUT = "TransData"
"""How the kernels begin that bring maps and filters to blocks for the cube, and back."""
LIMITS = {
    "launch": "the launch takes longer than the work",
    "HBM": "bandwidth of HBM",
    "latency": "pipes wait for each other",
}
"""Bound that is no pipe -> in words."""


@dataclass(frozen=True, slots=True)
class KernelTiming:
    """The predicted time of one launch of a kernel.

    `cycles` is the time on the device without the launch, `us` is launch + cycles / clock.
    `busy` has the busy cycles of each pipe of the most loaded core (in a mixed kernel those of a
    vector core as `AIV.V` and so on), `hbm_bytes` the traffic to HBM of all cores together,
    `bound` what the time is spent on: a pipe, HBM, latency or launch. `core_us` and `hbm_us` are
    the times that the core and HBM would take alone, `roofline_us` one that no schedule can beat.
    `bytes` has the bytes of HBM and L2 (all cores, workspaces not counted), and of the paths of
    the most loaded core.
    """

    name: str
    ops: tuple[str, ...]
    core: str
    blocks: int
    cycles: float
    us: float
    launch_us: float
    busy: Mapping[str, float]
    hbm_bytes: int
    bound: str
    core_us: float = 0.0
    hbm_us: float = 0.0
    roofline_us: float = 0.0
    bytes: Mapping[str, float] = field(default_factory=dict[str, float])

    def to_json(self) -> dict[str, Any]:
        """The fields as plain JSON values."""
        return {
            "name": self.name,
            "ops": list(self.ops),
            "core": self.core,
            "blocks": self.blocks,
            "cycles": round(self.cycles, 1),
            "us": round(self.us, 3),
            "launch_us": round(self.launch_us, 3),
            "busy_cycles": {pipe: round(value, 1) for pipe, value in self.busy.items()},
            "hbm_bytes": self.hbm_bytes,
            "bound": self.bound,
            "limit": self.limit,
            "core_us": round(self.core_us, 3),
            "hbm_us": round(self.hbm_us, 3),
            "roofline_us": round(self.roofline_us, 3),
            "bytes": {level: round(count) for level, count in self.bytes.items()},
        }

    @property
    def limit(self) -> str:
        """What limits the kernel, in words."""
        if self.bound in LIMITS:
            return LIMITS[self.bound]
        pipe = self.bound.removeprefix("AIV.")
        busy = 100 * self.busy.get(self.bound, 0.0) / max(self.cycles, 1.0)
        return f"{PIPE_WORK.get(pipe, pipe)}: busy {busy:.0f} % of the time"


@dataclass(frozen=True, slots=True)
class Report:
    """Kernels in launch order, and the ops that ran as whole-tensor calls, not timed.

    `calls` counts those by op type; `reasons` says for each type why it was not lowered. `views`
    counts the views, which take no time.
    """

    target: str
    kernels: Sequence[KernelTiming] = ()
    calls: Mapping[str, int] = field(default_factory=dict[str, int])
    reasons: Mapping[str, Sequence[str]] = field(default_factory=dict[str, Sequence[str]])
    views: int = 0

    @property
    def us(self) -> float:
        """The sum of the kernels' times in microseconds; whole-tensor calls are not in it."""
        return sum(kernel.us for kernel in self.kernels)

    @property
    def timed(self) -> int:
        """The number of ops that the launches compute, views not among them."""
        return sum(len(kernel.ops) for kernel in self.kernels)

    def __str__(self) -> str:
        """The report as a table."""
        return report_table(self).rstrip("\n")

    def to_json(self) -> dict[str, Any]:
        """The report as plain JSON values."""
        return {
            "target": self.target,
            "us": round(self.us, 3),
            "kernels": [kernel.to_json() for kernel in self.kernels],
            "timed_ops": self.timed,
            "views": self.views,
            "whole_tensor_calls": dict(self.calls),
            "reasons": {op: list(texts) for op, texts in self.reasons.items()},
        }


def report_table(report: Report) -> str:
    """The report as a text table: one row per kernel, those that take longest in all first.

    `us` is one launch, `total` all launches of the kernel, `roof` the bound that no schedule can
    beat in per cent of `us`, MB are those of one launch, busy time is in per cent of the kernel's
    cycles.
    """
    pipes = [p for p in ALL_PIPES if any(k.busy.get(p) for k in report.kernels)]
    head = ["kernel", "launches", "core", "total us", "share", "us", "cycles", "bound"]
    head += ["roof %", "HBM MB", "L2 MB"]
    rows = [[*head, *(f"{p} %" for p in pipes)]]
    for kernel, count in by_time(report.kernels):
        total = kernel.us * count
        cells = [kernel.name, str(count), f"{kernel.core}*{kernel.blocks}", f"{total:.2f}"]
        cells += [f"{total / max(report.us, 1e-9):.0%}", f"{kernel.us:.2f}"]
        cells += [f"{kernel.cycles:.0f}", kernel.bound]
        moved = kernel.bytes.get("l2_read", 0.0) + kernel.bytes.get("l2_written", 0.0)
        cells += [f"{100 * kernel.roofline_us / max(kernel.us, 1e-9):.0f}"]
        cells += [f"{kernel.hbm_bytes / 1e6:.2f}", f"{moved / 1e6:.2f}"]
        busy = (100 * kernel.busy.get(p, 0) / max(kernel.cycles, 1) for p in pipes)
        rows.append([*cells, *(f"{percent:.0f}" for percent in busy)])
    lines = [f"target {report.target}", *aligned(rows, left=(0, 2, 7))]
    count = len(report.kernels)
    total = f"total {report.us:.2f} us in {count} launch{'' if count == 1 else 'es'}"
    untimed = sum(report.calls.values())
    lines.append(f"{total}, without {untimed} ops that are not timed" if untimed else total)
    lines.append(f"ops: {report.timed} timed, {report.views} views, {untimed} not timed")
    turned = [kernel for kernel in report.kernels if kernel.name.startswith(LAYOUT)]
    if turned:
        us = sum(kernel.us for kernel in turned)
        share = us / max(report.us, 1e-9)
        lines.append(f"layout changes: {us:.2f} us in {len(turned)} launches, {share:.0%}")
    for op_type, count in report.calls.items():
        why = "; ".join(report.reasons.get(op_type, ()))
        lines.append(f"whole-tensor calls, not timed: {op_type} x {count}: {why or 'no lowering'}")
    return "\n".join(lines) + "\n"


def difference_table(before: Report, after: Report) -> str:
    """What the graph costs before and after passes, and the kernels that came and went.

    Kernels with one name, time and number of launches on both sides are counted, not listed.
    """
    old, new = (Counter((k.name, round(k.us, 3)) for k in r.kernels) for r in (before, after))
    kept = sum((old & new).values())
    lines = [f"kernels in both: {kept}"] if kept else []
    for word, part in (("gone", old - new), ("new", new - old)):
        for (name, us), count in sorted(part.items(), key=lambda item: (-item[0][1], item[0])):
            lines.append(f"{word}: {count} x {name}, {us:.2f} us")
    pairs = (
        ("launches", len(before.kernels), len(after.kernels)),
        ("HBM MB", *(sum(k.hbm_bytes for k in r.kernels) / 1e6 for r in (before, after))),
        ("us", before.us, after.us),
    )
    for what, a, b in pairs:
        saved = 100 * (1 - b / a) if a else 0.0
        lines.append(f"{what}: {a:.6g} before, {b:.6g} after, {saved:.1f} % saved")
    untimed = [sum(r.calls.values()) for r in (before, after)]
    if any(untimed):
        lines.append(f"ops that are not timed: {untimed[0]} before, {untimed[1]} after")
    return "\n".join(lines) + "\n"


def by_time(kernels: Sequence[KernelTiming]) -> list[tuple[KernelTiming, int]]:
    """Each kernel once with its number of launches, the longest total first, ties by name."""
    launches = Counter(kernel.name for kernel in kernels)
    first = {kernel.name: kernel for kernel in reversed(kernels)}
    found = [(first[name], count) for name, count in launches.items()]
    return sorted(found, key=lambda item: (-item[0].us * item[1], item[0].name))


def aligned(rows: Sequence[Sequence[str]], left: Sequence[int]) -> list[str]:
    """Rows of cells as lines; the columns in `left` are aligned to the left."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return [
        "  ".join(
            cell.ljust(width) if i in left else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
