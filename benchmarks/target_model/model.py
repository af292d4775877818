"""Measurements and predictions side by side."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from benchmarks.target_model.mixed import attention_kernel, epilogue_kernel
from benchmarks.target_model.products import Plan, conv_kernel, product_kernel
from benchmarks.target_model.vector import chain_kernel, read_kernel, row_kernel, turn_kernel
from ge_xdsl.dialects.aicore.maps import Geometry
from ge_xdsl.dialects.aicore.structure import KernelOp
from ge_xdsl.interpreters.cycles import time_kernel
from ge_xdsl.interpreters.timing import KernelTiming
from ge_xdsl.targets import Target, target

POINTS = Path(__file__).with_name("points.json")
MARGIN = 0.005
"""By how much a step of a ladder must be faster than the one before it."""
SIMPLE = {"read": read_kernel, "chain": chain_kernel, "rows": row_kernel, "turn": turn_kernel}


@dataclass(frozen=True, slots=True)
class Row:
    """One measurement and its prediction, in the unit of the measurement."""

    point: dict[str, Any]
    predicted: float | None
    """None when its kernel is not known well enough, see the point's `reason`."""
    timings: Sequence[KernelTiming] = ()

    @property
    def label(self) -> str:
        """The id and what tells it from others of that id."""
        return " ".join(part for part in (self.point["id"], self.point.get("variant")) if part)

    @property
    def measured(self) -> float:
        """What was published."""
        return self.point["measured"]

    @property
    def error(self) -> float | None:
        """Relative error; None for a point that is not compared."""
        if self.predicted is None or "reason" in self.point:
            return None
        return self.predicted / self.measured - 1


def points() -> list[dict[str, Any]]:
    """All measurements, in the order of the file."""
    return json.loads(POINTS.read_text(encoding="utf-8"))["points"]


def make_kernel(spec: dict[str, Any], chip: Target) -> KernelOp:
    """The kernel that an entry of `kernels` describes."""
    given = {key: value for key, value in spec.items() if key != "make"}
    make = spec["make"]
    if make in SIMPLE:
        return SIMPLE[make](chip, **given)
    if make == "attention":
        return attention_kernel(chip, **given)
    steps = given.pop("epilogue", ())
    sizes = {name: given.pop(name) for name in ("m", "n", "k") if name in given}
    if make == "conv":
        return _conv(chip, given)
    plan = _plan(given)
    if make == "product":
        return product_kernel(chip, **sizes, plan=plan)
    return epilogue_kernel(chip, **sizes, plan=plan, steps=steps)


def _plan(given: dict[str, Any]) -> Plan:
    """The plan of a product."""
    grid = given.get("grid")
    made: dict[str, Any] = {**given, "tile": tuple(given["tile"])}
    made["grid"] = tuple(grid) if grid else None
    return Plan(**made)


def _conv(chip: Target, given: dict[str, Any]) -> KernelOp:
    """A convolution with dilation 1 and the same padding on both sides."""
    pairs = [tuple(given.pop(name)) for name in ("size", "kernel", "stride", "pad")]
    size, kernel, stride, pad = pairs
    out = tuple(
        (s + 2 * p - k) // t + 1 for s, k, t, p in zip(size, kernel, stride, pad, strict=True)
    )
    geometry = Geometry(size, kernel, stride, (1, 1), pad, out)
    counts = {name: given.pop(name) for name in ("images", "blocks", "outputs")}
    return conv_kernel(chip, **counts, geometry=geometry, plan=_plan(given))


@cache
def _kernel(spec: str, name: str) -> KernelOp:
    """A kernel is built once, however often it is timed."""
    return make_kernel(json.loads(spec), target(name))


def predict(point: dict[str, Any], chip: Target | None = None) -> Row:
    """The prediction of a point, on another chip than its own when one is given."""
    if "kernels" not in point:
        return Row(point, None)
    name = point["target"]
    used = chip or target(name)
    kernels = [_kernel(json.dumps(spec), name) for spec in point["kernels"]]
    timings = [time_kernel(kernel, used) for kernel in kernels]
    total = sum(timing.us for timing in timings)
    kind, *rest = point.get("unit", "us").split()
    if kind == "us":
        return Row(point, total, timings)
    if kind == "rate":
        work_us = total - sum(timing.launch_us for timing in timings)
        return Row(point, point["bytes"] / work_us / 1e6, timings)
    pipe, unit = rest
    busy = sum(timing.busy.get(pipe, 0.0) for timing in timings)
    scale = {"cycles": 1.0, "us": 1 / used.clock_mhz, "share": 1 / used.clock_mhz / total}
    return Row(point, busy * scale[unit], timings)


def rows() -> list[Row]:
    """All measurements with their predictions."""
    return [predict(point) for point in points()]


def errors(found: Sequence[Row]) -> list[float]:
    """The absolute errors, in increasing order."""
    return sorted(abs(row.error) for row in found if row.error is not None)


def mean(values: Sequence[float]) -> float:
    """The mean, 0 of nothing."""
    return sum(values) / len(values) if values else 0.0


def median(values: Sequence[float]) -> float:
    """The median of values in order, 0 of nothing."""
    half = len(values) // 2
    if not values:
        return 0.0
    return values[half] if len(values) % 2 else (values[half - 1] + values[half]) / 2


@dataclass(frozen=True, slots=True)
class Pair:
    """Two steps of a ladder that follow each other."""

    slow: Row
    fast: Row

    @property
    def gain(self) -> float:
        """By how much the later step is predicted to be faster."""
        assert self.slow.predicted is not None
        assert self.fast.predicted is not None
        return 1 - self.fast.predicted / self.slow.predicted

    @property
    def ordered(self) -> bool:
        """Whether it is faster by the margin."""
        return self.gain >= MARGIN


def pairs(found: Sequence[Row]) -> list[Pair]:
    """The neighbours in each ladder; steps that are not compared are left out of the chain."""
    made: list[Pair] = []
    last: Row | None = None
    for row in found:
        if "ladder" not in row.point or "reason" in row.point:
            continue
        if last is not None and last.point["id"] == row.point["id"]:
            made.append(Pair(last, row))
        last = row
    return made
