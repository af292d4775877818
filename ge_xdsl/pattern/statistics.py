"""Counts per pass and rule: tried, matched, refused by reason, applied, time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ge_xdsl.dialects.ge.op import GeOp
from ge_xdsl.errors import one_line
from ge_xdsl.pattern.rule import Applied, Outcome


@dataclass(slots=True)
class RuleCounts:
    """What one rule of one pass did."""

    tried: int = 0
    matched: int = 0
    applied: int = 0
    refused: dict[str, int] = field(default_factory=dict[str, int])
    """Reason -> matches that a check refused for it."""
    micros: float = 0.0


class Statistics:
    """A recorder that counts. GE's match_times is `matched`, its effect_times `applied`."""

    def __init__(self, explains: bool = False) -> None:
        self.explains = explains
        self.counts: dict[tuple[str, str], RuleCounts] = {}

    def of(self, pass_name: str, rule: str) -> RuleCounts:
        """The counts of a rule, made on first use."""
        return self.counts.setdefault((pass_name, rule), RuleCounts())

    def attempt(
        self, pass_name: str, rule: str, root: GeOp, outcome: Outcome, micros: float
    ) -> None:
        """Count a match."""
        counts = self.of(pass_name, rule)
        if isinstance(outcome, Applied):
            counts.matched += 1
            counts.applied += 1
        elif outcome.matched:
            counts.matched += 1
            counts.refused[outcome.reason] = counts.refused.get(outcome.reason, 0) + 1

    def swept(self, pass_name: str, rule: str, tried: int, micros: float) -> None:
        """Count the roots of a run."""
        counts = self.of(pass_name, rule)
        counts.tried += tried
        counts.micros += micros

    def as_json(self) -> list[dict[str, Any]]:
        """One entry per pass and rule, in the order of their first run."""
        return [
            {
                "pass": pass_name,
                "rule": rule,
                "tried": counts.tried,
                "matched": counts.matched,
                "applied": counts.applied,
                "refused": dict(sorted(counts.refused.items())),
                "microseconds": round(counts.micros, 1),
            }
            for (pass_name, rule), counts in self.counts.items()
        ]

    def as_table(self, time: bool = True) -> str:
        """A table for people; refusals stand under their rule. Ends with a newline."""
        rows = [("pass", "rule", "tried", "matched", "applied", *(("us",) if time else ()))]
        notes: dict[int, list[str]] = {}
        for (pass_name, rule), c in self.counts.items():
            numbers = (str(c.tried), str(c.matched), str(c.applied))
            rows.append(
                (
                    one_line(pass_name),
                    one_line(rule),
                    *numbers,
                    *((f"{c.micros:.0f}",) if time else ()),
                )
            )
            notes[len(rows)] = [
                f"  refused {n}: {' '.join(why.split())}" for why, n in sorted(c.refused.items())
            ]
        return _aligned(rows, notes)


def _aligned(rows: Sequence[Sequence[str]], notes: dict[int, list[str]]) -> str:
    """Columns with text to the left and numbers to the right, notes after their row."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines: list[str] = []
    for number, row in enumerate(rows, 1):
        cells = [
            cell.ljust(width) if i < 2 else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  ".join(cells).rstrip())
        lines += notes.get(number, [])
    return "\n".join(lines) + "\n"
