"""The error classes of the project and the one format that a user sees.

Every failure that input or a user's pass can cause ends as one `CompileError`, printed as

    file:line:col: error: <op or node>: <what is>, <what was expected>

`xdsl.utils.exceptions.VerifyException` stays the exception of `infer` and of verifiers (bad IR);
`at_op` gives it a place and turns it into a `CompileError`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

LINE_LIMIT = 1000
"""Most characters of a message; a longer one keeps its beginning and its end."""

SHORTEST_PART = 4
"""Fewest letters of a word that is looked for inside longer names."""

_BREAK = re.compile(r"[\t\n\r\v\f\x1c-\x1e\x85\u2028\u2029]")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")


@dataclass(frozen=True, slots=True)
class Location:
    """A place in a file; `line` and `column` start at 1, 0 means unknown."""

    file: str
    line: int = 0
    column: int = 0

    def __str__(self) -> str:
        if not self.line:
            return self.file
        return f"{self.file}:{self.line}:{self.column}"


class CompileError(Exception):
    """The input, a pass or a check failed: exit code 1.

    `subject` names the op, node, pass or file; `notes` are further one-line facts.
    """

    def __init__(
        self,
        message: str,
        *,
        subject: str = "",
        location: Location | None = None,
        notes: Sequence[str] = (),
    ) -> None:
        self.message = one_line(message)
        self.subject = subject
        self.location = location
        self.notes = tuple(one_line(note) for note in notes)
        super().__init__(self.render())

    def render(self) -> str:
        """The error and its notes, a line each, without a trailing newline."""
        place = f"{one_line(str(self.location))}: " if self.location else ""
        subject = f"{one_line(self.subject)}: " if self.subject else ""
        lines = [f"{place}error: {subject}{self.message}"]
        lines += [f"{place}note: {note}" for note in self.notes]
        return "\n".join(lines)

    def with_location(self, location: Location | None) -> CompileError:
        """This error placed at `location`, unless it has a place already."""
        if self.location is not None or location is None:
            return self
        self.location = location
        self.args = (self.render(),)
        return self


class PassError(CompileError):
    """A pass, builtin or user-written, failed; the graph is as it was before the pass."""


class UsageError(Exception):
    """The command line or an argument is wrong: exit code 2."""


def counted(count: int, word: str) -> str:
    """A number and a noun: `1 graph`, `2 graphs`, `2 passes`."""
    ending = "es" if word.endswith(("s", "ch")) else "s"
    return f"{count} {word}" if count == 1 else f"{count} {word}{ending}"


def one_line(text: str) -> str:
    """`text` as one line: line breaks become spaces, control characters escapes, and what is
    longer than LINE_LIMIT loses its middle. Names in a model may hold anything."""
    if not text.isprintable():
        text = _BREAK.sub(" ", text)
        text = _CONTROL.sub(lambda found: f"\\x{ord(found.group()):02x}", text)
    text = text.strip()
    if len(text) <= LINE_LIMIT:
        return text
    half = LINE_LIMIT // 2
    return f"{text[:half]} ... {text[-half:]}"


def nearest(word: str, known: Sequence[str]) -> str:
    """A hint `, did you mean 'x'?` when one of `known` is close to `word`, else ''.

    Close is the word in other capitals, then one of nearly the same letters, then the shortest of
    those that hold the whole word.
    """
    import difflib

    lower = word.lower()
    close = [name for name in known if name.lower() == lower]
    close = close or difflib.get_close_matches(word, known, n=1, cutoff=0.7)
    if not close and len(word) >= SHORTEST_PART:
        close = sorted((name for name in known if lower in name.lower()), key=len)
    return f", did you mean '{close[0]}'?" if close else ""
