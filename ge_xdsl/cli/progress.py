"""A progress bar on stderr for work that takes a while, on terminals only."""

from __future__ import annotations

import sys
from time import monotonic
from typing import IO

WAIT = 1.0
"""Seconds before a bar shows up."""
INTERVAL = 0.1
"""Seconds between two drawings of it."""
WIDTH = 30


class Progress:
    """Counts steps; draws nothing within the first second, nor where nobody watches."""

    def __init__(self, total: int, what: str, stream: IO[str] | None = None) -> None:
        self.total = max(total, 1)
        self.what = what
        self.stream = sys.stderr if stream is None else stream
        self.shown = False
        self.count = 0
        self.next = monotonic() + WAIT if self.stream.isatty() else float("inf")

    def step(self) -> None:
        """Count one step, and draw the bar when it is time."""
        self.count += 1
        now = monotonic()
        if now >= self.next:
            self.next = now + INTERVAL
            self.shown = True
            done = min(self.count * WIDTH // self.total, WIDTH)
            bar = "#" * done + "-" * (WIDTH - done)
            self.stream.write(f"\r{self.what} [{bar}] {self.count}/{self.total}")
            self.stream.flush()

    def close(self) -> None:
        """Wipe the bar."""
        if self.shown:
            self.stream.write("\r\x1b[K")
            self.stream.flush()
