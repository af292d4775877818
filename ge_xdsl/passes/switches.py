"""Switching user passes on and off: GE's options and its fusion switch file."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from ge_xdsl.errors import CompileError, Location
from ge_xdsl.passes.session import Session

SWITCH_OPTION = "ge.optimizationSwitch"
FILE_OPTION = "ge.fusionSwitchFile"
ALL = "ALL"
MAX_BYTES = 1 << 20


@dataclass
class Switches:
    """Which passes are on: the option first, then the file's entry, then its ALL, then on."""

    option: dict[str, str] = field(default_factory=dict[str, str])
    file: dict[str, str] = field(default_factory=dict[str, str])

    @classmethod
    def of(cls, session: Session) -> Switches:
        """The switches of a session; an unreadable file switches nothing off, with a warning."""
        option: dict[str, str] = {}
        for entry in session.options.get(SWITCH_OPTION, "").split(";"):
            name, colon, state = entry.rpartition(":")
            if colon:
                option[name.strip()] = state.strip()
        path = session.options.get(FILE_OPTION, "")
        return cls(option, _read(Path(path), session) if path else {})

    def is_on(self, name: str) -> bool:
        """Whether a pass runs: `on` is on, any other text is off."""
        for table, key in ((self.option, name), (self.file, name), (self.file, ALL)):
            if key in table:
                return table[key] == "on"
        return True


def _read(path: Path, session: Session) -> dict[str, str]:
    """Switch.GraphFusion of a switch file; raises CompileError for a state that is no string."""
    try:
        with path.open("rb") as file:
            data: Any = json.loads(file.read(MAX_BYTES))
    except (OSError, ValueError, RecursionError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not JSON"
        session.warn(f"fusion switch file {path} is not read, every pass is on: {reason}")
        return {}
    found = _member(_member(data, "Switch"), "GraphFusion")
    for name, state in found.items():
        if not isinstance(state, str):
            raise CompileError(
                f'switch \'{name}\' is {json.dumps(state)}, expected "on" or "off"',
                location=Location(str(path)),
            )
    return found


def _member(data: Any, key: str) -> dict[str, Any]:
    value = cast("dict[str, Any]", data).get(key) if isinstance(data, dict) else None
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}
