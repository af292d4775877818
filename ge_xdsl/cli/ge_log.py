"""Log lines as CANN writes them, for those who know its logs or have tools that read them.

`ASCEND_GLOBAL_LOG_LEVEL` (0 debug, 1 info, 2 warning, 3 error, 4 nothing) or `--log` says how
much; `ASCEND_SLOG_PRINT_TO_STDOUT=1` prints the lines, else they go to a file below
`ASCEND_PROCESS_LOG_PATH`, else below `~/ascend/log`.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Mapping
from datetime import UTC, datetime
from inspect import currentframe
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from ge_xdsl.cli.failures import report
from ge_xdsl.errors import one_line

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp
    from xdsl.passes import ModulePass

    from ge_xdsl.dialects.ge.op import GeOp
    from ge_xdsl.pattern.rule import Outcome

LEVELS = ("debug", "info", "warning", "error", "null")
DEBUG, INFO, WARNING, ERROR, NOTHING = range(5)


def level_of(asked: str | None, environ: Mapping[str, str]) -> int:
    """The level of `--log`, else of the environment, else nothing."""
    if asked is not None:
        return LEVELS.index(asked)
    text = environ.get("ASCEND_GLOBAL_LOG_LEVEL", "")
    return int(text) if text in ("0", "1", "2", "3") else NOTHING


def _caller() -> str:
    """File and line of the code outside this file that has something to tell."""
    frame = currentframe()
    while frame is not None and frame.f_code.co_filename == __file__:
        frame = frame.f_back
    return f"{Path(frame.f_code.co_filename).name}:{frame.f_lineno}" if frame else "pyatc:0"


class GeLog:
    """Writes lines at or above a level, and records what rules do, as GE's engine logs it."""

    def __init__(self, level: int, environ: Mapping[str, str] = os.environ) -> None:
        self.level = level
        self.explains = level == DEBUG
        self.prints = environ.get("ASCEND_SLOG_PRINT_TO_STDOUT") == "1"
        self.root = Path(
            environ.get("ASCEND_PROCESS_LOG_PATH")
            or Path(environ.get("HOME") or ".", "ascend", "log")
        )
        self.stdout = sys.stdout  # while user passes run, sys.stdout is another one
        self.file: TextIO | None = None
        self.counts = [0, 0]

    def write(self, level: int, place: str, text: str) -> None:
        """Write one line; `place` is the function that it stands for."""
        if level < self.level:
            return
        now = datetime.now(UTC).astimezone()
        stamp = f"{now:%Y-%m-%d-%H:%M:%S}.{now.microsecond // 1000:03}.{now.microsecond % 1000:03}"
        stream = self._stream()
        if stream is None:
            return
        head = f"[{LEVELS[level].upper()}] GE({os.getpid()},pyatc):{stamp}"
        print(
            f"{head} [{_caller()}]{threading.get_native_id()} {place}: {one_line(text)}",
            file=stream,
        )

    def _stream(self) -> TextIO | None:
        """Where lines go; None, with one warning, where no file can be made."""
        if self.prints:
            return self.stdout
        if self.file is None:
            folder = self.root / "debug" / "plog"
            name = f"plog-{os.getpid()}_{datetime.now(UTC):%Y%m%d%H%M%S%f}.log"
            try:
                folder.mkdir(parents=True, exist_ok=True)
                self.file = (folder / name).open("w", encoding="utf-8")
            except OSError as error:
                self.level = NOTHING
                reason = (error.strerror or str(error)).lower()
                report(f"warning: log {error.filename} is not written: {reason}")
        return self.file

    def close(self) -> None:
        """Close the file, if there is one."""
        if self.file is not None:
            self.file.close()
            self.file = None

    # What a pass manager calls

    def before(self, item: ModulePass, module: ModuleOp) -> None:
        self.write(INFO, "RunPass", f"{item} starts")

    def after(self, item: ModulePass, module: ModuleOp) -> None:
        self.write(INFO, "RunPass", f"{item} ends")

    # What the drivers call

    def attempt(
        self, pass_name: str, rule: str, root: GeOp, outcome: Outcome, micros: float
    ) -> None:
        """A match, or at level debug a miss and its reason."""
        from ge_xdsl.dialects.ge.names import describe
        from ge_xdsl.pattern.rule import Applied

        site = f"pass {pass_name}, pattern {rule}, at {describe(root)}"
        if isinstance(outcome, Applied):
            self.counts = [self.counts[0] + 1, self.counts[1] + 1]
            self.write(INFO, "Match", f"[MATCH][FOUND] {site}")
        elif outcome.matched:
            self.counts[0] += 1
            self.write(INFO, "Match", f"[MATCH][FOUND] {site}")
            self.write(INFO, "Replace", f"[REPLACE][INVALID] {site}, Reason: {outcome.reason}")
        else:
            self.write(DEBUG, "Match", f"[MATCH][MISS] {site}: {outcome.reason}")

    def swept(self, pass_name: str, rule: str, tried: int, micros: float) -> None:
        """The counts of a pattern on one graph."""
        matched, applied = self.counts
        self.counts = [0, 0]
        text = f"pattern={rule}, matched_times={matched}, effected_times={applied}"
        self.write(DEBUG, "Run", f"GraphId[0], GraphFusionPass[{pass_name}]: {text}")
