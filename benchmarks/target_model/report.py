"""The report as text and as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from benchmarks.target_model.leave_out import Left, Sensitivity
from benchmarks.target_model.model import MARGIN, Row, errors, mean, median, pairs
from ge_xdsl.targets import target
from ge_xdsl.targets.fields import FIELDS, number_text, value_of
from ge_xdsl.targets.sources import SOURCES

CHIP = "Ascend910B1"


def table_lines(rows: Sequence[Row]) -> Iterator[str]:
    """Every measurement, its prediction and error, what bounds it, and how its kernel is read."""
    yield f"{'measurement':52} {'measured':>10} {'model':>10} {'error':>8}  bound, reading"
    for row in rows:
        unit = row.point.get("unit", "us")
        error = "" if row.error is None else f"{100 * row.error:+.1f} %"
        model = "" if row.predicted is None else _number(row.predicted)
        why = f"not compared: {row.point['reason']}" if "reason" in row.point else ""
        bound = "+".join(timing.bound for timing in row.timings)
        reading = why or f"{bound}; {row.point['reading']}"
        tail = f"{reading} [{unit}]" if unit != "us" else reading
        yield f"{row.label:52} {_number(row.measured):>10} {model:>10} {error:>8}  {tail}".rstrip()


def _number(value: float) -> str:
    """Three decimals for a share, one for times."""
    return f"{value:.3f}" if value < 1 else f"{value:.1f}"


def summary(rows: Sequence[Row]) -> dict[str, Any]:
    """Counts and errors in per cent."""
    found, ladder = errors(rows), pairs(rows)
    return {
        "measurements": len(rows),
        "compared": len(found),
        "mean": round(100 * mean(found), 2),
        "median": round(100 * median(found), 2),
        "worst": round(100 * found[-1], 2),
        "pairs": len(ladder),
        "ordered": sum(pair.ordered for pair in ladder),
    }


def summary_line(rows: Sequence[Row]) -> str:
    """The summary in words."""
    s = summary(rows)
    return (
        f"{s['compared']} of {s['measurements']} measurements compared: mean error {s['mean']} %, "
        f"median {s['median']} %, worst {s['worst']} %"
    )


def ladder_lines(rows: Sequence[Row]) -> Iterator[str]:
    """Every step of a ladder with its published and its predicted gain."""
    found = pairs(rows)
    good = sum(pair.ordered for pair in found)
    yield f"{good} of {len(found)} ladder steps in order, each by at least {100 * MARGIN} %"
    for pair in found:
        published = 1 - pair.fast.measured / pair.slow.measured
        step = f"{pair.slow.label} -> {pair.fast.point.get('variant', '')}"
        mark = "" if pair.ordered else "  NOT IN ORDER"
        yield f"  {step:86} {100 * published:6.1f} % {100 * pair.gain:6.1f} %{mark}"


def coefficient_lines(found: Sensitivity | None) -> Iterator[str]:
    """The fitted numbers with meaning and what fixes them, then those of documents."""
    from ge_xdsl.targets.calibration import FITTED

    chip = target(CHIP)
    yield f"{len(FITTED)} fitted numbers, all of arch {chip.arch}:"
    for name, identified in FITTED.items():
        unit, meaning = FIELDS[name]
        value = f"{number_text(value_of(chip, name))} {unit}".rstrip()
        strongest = "; ".join(found.strongest(name)) if found else ""
        yield f"  {name:21} {value:19} {meaning}"
        yield f"    from: {identified}" + (f"; acts most on: {strongest}" if found else "")
    yield f"from documents ({CHIP}):"
    for name, (unit, meaning) in FIELDS.items():
        tag = chip.sources[name]
        if name in FITTED or name == "vector_rates":
            continue
        value = f"{number_text(value_of(chip, name))} {unit}".rstrip()
        yield f"  {name:21} {value:19} {meaning} [{tag}: {SOURCES[tag]}]"
    tag = chip.sources["vector_rates"]
    rates = ", ".join(f"{op} {two}/{four}" for op, (two, four) in chip.vector_rates.items())
    yield f"  vector_rates [{tag}: {SOURCES[tag]}]: {rates}"


def left_out_lines(found: Sequence[Left]) -> Iterator[str]:
    """The mean error of each family with all data, and fitted to the others only."""
    yield "families left out in turn: mean error with all data, and fitted to the others alone"
    for left in found:
        yield (
            f"  {left.family:13} {left.count:3} {100 * left.error:6.1f} % "
            f"{100 * left.without:6.1f} %  moved most: {left.moved}"
        )
    count = sum(left.count for left in found)
    with_all = sum(left.error * left.count for left in found) / count
    without = sum(left.without * left.count for left in found) / count
    yield f"  {'all':13} {count:3} {100 * with_all:6.1f} % {100 * without:6.1f} %"


def to_json(rows: Sequence[Row]) -> dict[str, Any]:
    """The report as plain JSON values."""
    return {
        "benchmark": "target_model",
        "rows": [
            {
                "id": row.point["id"],
                "variant": row.point.get("variant", ""),
                "target": row.point["target"],
                "unit": row.point.get("unit", "us"),
                "measured": row.measured,
                "model": None if row.predicted is None else round(row.predicted, 3),
                "error": None if row.error is None else round(row.error, 4),
                "reason": row.point.get("reason", ""),
            }
            for row in rows
        ],
        "summary": summary(rows),
    }
