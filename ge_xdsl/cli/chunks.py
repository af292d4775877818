"""`--split-input-file` and `--verify-diagnostics`, with the meaning they have in mlir-opt."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from ge_xdsl.errors import CompileError

SEPARATOR = "// -----"

_EXPECTED = re.compile(
    r"//\s*expected-(error|warning|note)(-re)?(?:\s*@(above|below|unknown|[+-]\d+))?\s*\{\{(.*?)\}\}"
)


def split(text: str) -> Iterator[str]:
    """The parts of a file between `// -----` lines.

    Each part is led by as many empty lines as stood before it, so places stay those of the file.
    """
    start = 0
    lines: list[str] = []
    for number, line in enumerate(text.split("\n"), 1):
        if line.startswith(SEPARATOR):
            yield "\n" * start + "\n".join(lines)
            start, lines = number, []
        else:
            lines.append(line)
    yield "\n" * start + "\n".join(lines)


@dataclass(frozen=True, slots=True)
class Expected:
    """One `expected-error {{text}}` comment; line 0 stands for a diagnostic without a place."""

    kind: str
    text: str
    line: int
    written: int
    is_pattern: bool = False

    def meets(self, kind: str, text: str, line: int) -> bool:
        """Whether a diagnostic is the expected one: its kind, its line, a part of its text."""
        if kind != self.kind or line != self.line:
            return False
        return re.search(self.text, text) is not None if self.is_pattern else self.text in text


def expectations(text: str) -> list[Expected]:
    """The expected diagnostics of a text, by the comments in it."""
    found: list[Expected] = []
    for number, line in enumerate(text.split("\n"), 1):
        for match in _EXPECTED.finditer(line):
            kind, pattern, where, body = match.groups()
            target = {"above": number - 1, "below": number + 1, "unknown": 0, None: number}.get(
                where, 0
            )
            if where and where[0] in "+-":
                target = number + int(where)
            expected = pattern_text(body) if pattern else body
            found.append(Expected(kind, expected, target, number, bool(pattern)))
    return found


def pattern_text(body: str) -> str:
    """The regular expression of `expected-error-re`: literal text with `[[...]]` patterns."""
    parts = re.split(r"\[\[(.*?)\]\]", body)
    return "".join(part if i % 2 else re.escape(part) for i, part in enumerate(parts))


def mismatches(text: str, file: str, *errors: CompileError | None) -> list[str]:
    """What differs between the expected diagnostics of a text and the errors it gave."""
    open_ones = expectations(text)
    wrong: list[str] = []
    found = [part for error in errors if error is not None for part in diagnostics_of(error)]
    for kind, message, line in found:
        met = next((e for e in open_ones if e.meets(kind, message, line)), None)
        if met is not None:
            open_ones.remove(met)
        elif kind == "error":
            place = f"{file}:{line}" if line else file
            wrong.append(f'{place}: error: unexpected {kind} "{message}", expected none here')
    wrong += [
        f'{file}:{e.written}: error: expected {e.kind} "{e.text}" was not produced'
        for e in open_ones
    ]
    return wrong


def diagnostics_of(error: CompileError) -> list[tuple[str, str, int]]:
    """(kind, text, line) of an error and its notes."""
    line = error.location.line if error.location else 0
    subject = f"{error.subject}: " if error.subject else ""
    return [
        ("error", f"{subject}{error.message}", line),
        *(("note", note, line) for note in error.notes),
    ]
