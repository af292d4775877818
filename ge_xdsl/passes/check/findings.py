"""What `ge-check` finds: one line each, with a place in the pass file."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Literal, TypeAlias

from ge_xdsl.errors import Location, one_line

Severity: TypeAlias = Literal["error", "warning"]


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong, or looks wrong, with a pass; `text` says what was expected."""

    severity: Severity
    pass_name: str
    text: str
    location: Location | None = None

    @property
    def order(self) -> tuple[str, int, str, str]:
        """Findings are shown by file and line."""
        place = self.location
        return (
            ("", 0, self.pass_name, "")
            if place is None
            else (place.file, place.line, self.pass_name, self.severity)
        )

    def line(self) -> str:
        """`file:line: warning|error: <pass>: <what>, <what was expected>`."""
        place = f"{place_text(self.location)}: " if self.location else ""
        return f"{place}{self.severity}: {one_line(self.pass_name)}: {one_line(self.text)}"


def place_text(location: Location) -> str:
    """File and line; a file below the current folder is named from there."""
    near = os.path.relpath(location.file)
    file = location.file if near.startswith(os.pardir) else near
    return f"{file}:{location.line}" if location.line else file
