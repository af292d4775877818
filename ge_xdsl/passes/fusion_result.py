"""`fusion_result.json`: how often each pass matched and rewrote, in GE's file."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path

from ge_xdsl.pattern.statistics import Statistics

NAME = "fusion_result.json"
GRAPH = "session_and_graph_id_0_0"
"""A compile has one session and one graph, both 0."""

BUILTIN = "ge-"
"""How the names of the project's own passes start; their rules stand in the file."""


def fusion_counts(statistics: Statistics) -> dict[str, dict[str, str]]:
    """Pass -> its effect_times and match_times as text; passes that matched nothing are left out.

    Matches that a check refused count as matched, as in GE.
    """
    found: dict[str, list[int]] = {}
    for (pass_name, rule), counts in statistics.counts.items():
        if counts.matched:
            total = found.setdefault(rule if pass_name.startswith(BUILTIN) else pass_name, [0, 0])
            total[0] += counts.applied
            total[1] += counts.matched
    return {
        name: {"effect_times": str(applied), "match_times": str(matched)}
        for name, (applied, matched) in sorted(found.items())
    }


def result_path(environ: Mapping[str, str]) -> Path:
    """Where the file goes: below ASCEND_WORK_PATH, else here."""
    work = environ.get("ASCEND_WORK_PATH")
    return Path(work, "FE", str(os.getpid()), NAME) if work else Path(NAME)


def write_fusion_result(statistics: Statistics, path: Path) -> None:
    """Write the file in place of an older one, none when nothing matched. Raises OSError."""
    path.unlink(missing_ok=True)
    counts = fusion_counts(statistics)
    if counts:
        path.parent.mkdir(parents=True, exist_ok=True)
        text = json.dumps({GRAPH: {"graph_fusion": counts}}, indent=4, sort_keys=True)
        path.write_text(text + "\n", encoding="utf-8")
