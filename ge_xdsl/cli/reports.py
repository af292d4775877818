"""What `--stats`, `--explain` and `--expect-matches` collect while passes run, and print."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ge_xdsl.errors import CompileError, UsageError, nearest

if TYPE_CHECKING:
    from ge_xdsl.passes.numbers import NumberCheck
    from ge_xdsl.passes.session import Session
    from ge_xdsl.pattern.explain import Explanation
    from ge_xdsl.pattern.statistics import Statistics
    from ge_xdsl.pattern.verify import Verifier, WrongRewrite

NAMED = 5
"""How many root nodes a hint names."""


def parse_expected(entries: Sequence[str]) -> dict[str, int]:
    """`PASS:N` entries as pass name -> number of rewrites; raises UsageError."""
    found: dict[str, int] = {}
    for entry in entries:
        name, _, count = entry.rpartition(":")
        if not name or not count.isdecimal():
            raise UsageError(f"--expect-matches={entry}, expected PASS:N")
        found[name] = int(count)
    return found


def limit_of(text: str | None) -> int | None:
    """What `--verify-limit` says, None without it; raises UsageError for no such number."""
    if text is None:
        return None
    try:
        limit = int(float(text))
    except (ValueError, OverflowError):
        limit = 0
    if limit < 1:
        raise UsageError(f"--verify-limit={text}, expected a number of multiplications")
    return limit


def verification(
    how: str | None, limit: int | None = None
) -> tuple[Verifier | None, NumberCheck | None]:
    """What `--verify-rewrites[=each|pass|off]` asks for: a check per rewrite, or per pass."""
    if how in (None, "off"):
        return None, None
    from ge_xdsl.passes.numbers import NumberCheck
    from ge_xdsl.pattern.verify import WORK_LIMIT, Verifier

    if how in ("", "each"):
        return Verifier(limit=limit or WORK_LIMIT), None
    if how == "pass":
        return None, NumberCheck(limit=limit)
    raise UsageError(f"--verify-rewrites={how}, expected each, pass or off")


class Reports:
    """The recorders of one run. Reports go to stdout unless the graph goes there, else stderr."""

    def __init__(self, args: argparse.Namespace, session: Session) -> None:
        self.to_stdout = args.output not in (None, "-")
        self.stats_format: str | None = args.stats
        self.as_json = args.explain_format == "json"
        self.expected = parse_expected(args.expect_matches)
        self.statistics: Statistics | None = None
        self.explanation: Explanation | None = None
        self.misses: Explanation | None = None
        if args.stats not in (None, "", "json"):
            raise UsageError(f"--stats={args.stats}, expected --stats or --stats=json")
        self.attach(args.explain, session)
        limit = limit_of(args.verify_limit)
        self.verifier, self.numbers = verification(args.verify_rewrites, limit)
        self.handed_out = 0
        if self.verifier is not None:
            session.recorders.append(self.verifier)
        if self.numbers is not None:
            session.recorders.append(self.numbers.watch)

    def attach(self, explain: str | None, session: Session) -> None:
        """Give the session the recorders that the options need."""
        if self.stats_format is not None or self.expected:
            from ge_xdsl.pattern.statistics import Statistics

            self.statistics = Statistics()
            session.recorders.append(self.statistics)
        if explain is not None or self.expected:
            from ge_xdsl.pattern.explain import Explanation

            if explain is not None:
                name, _, node = explain.partition("@")
                self.explanation = Explanation(name, node)
                session.recorders.append(self.explanation)
            if self.expected:
                self.misses = Explanation()
                session.recorders.append(self.misses)

    def finish(self) -> int:
        """Print what was asked for; 1 when an expected count differs."""
        if self.explanation is not None:
            self.show(self.explanation_text(self.explanation))
        if self.statistics is not None and self.stats_format is not None:
            stats = self.statistics
            table = stats.as_table() if stats.counts else f"{nothing_ran('')}\n"
            self.show(to_json(stats.as_json()) if self.stats_format else table)
        wrong = [name for name, count in self.expected.items() if self.differs(name, count)]
        return int(bool(wrong)) | self.verdict()

    def wrong_rewrites(self) -> list[WrongRewrite]:
        """The errors of the wrong rewrites that were not handed out yet; the verdict leaves
        them to the caller."""
        failures = self.verifier.failures if self.verifier is not None else []
        found = [failure.error() for failure in failures[self.handed_out :]]
        self.handed_out = len(failures)
        return found

    def verdict(self) -> int:
        """Tell what `--verify-rewrites` found; 1 when a rewrite was wrong."""
        from ge_xdsl.cli.failures import report

        for check in (self.verifier, self.numbers):
            if check is not None:
                report(f"note: {check.summary()}")
        wrong = self.wrong_rewrites()
        for error in wrong:
            report(error.render())
        return int(bool(wrong))

    def explanation_text(self, explanation: Explanation) -> str:
        if self.as_json:
            return to_json(explanation.as_json())
        if text := explanation.as_text():
            return text
        at = f" at '{explanation.node}'" if explanation.node else ""
        others = list(dict.fromkeys(explanation.others))
        hint = "" if explanation.rules else nearest(explanation.pass_name, others)
        if not hint and others and explanation.pass_name and not explanation.rules:
            hint = f", expected one of {listed(others)}"
        if not hint and explanation.roots:
            roots = [name for name in explanation.roots if name]
            known = f", expected a root: {listed(roots)}"
            hint = nearest(explanation.node, roots) or known
        return f"{nothing_ran(explanation.pass_name)}{at}{hint}\n"

    def show(self, text: str) -> None:
        """Print a report."""
        from ge_xdsl.cli.failures import report
        from ge_xdsl.cli.output import print_text

        if self.to_stdout:
            print_text(text)
        else:
            report(text.rstrip("\n"))

    def differs(self, name: str, expected: int) -> bool:
        """Whether a pass (or rule) rewrote another number of sites; says so, with near misses."""
        from ge_xdsl.cli.failures import report
        from ge_xdsl.pattern.explain import Explanation

        assert self.statistics is not None
        assert self.misses is not None
        counts = {key: c for key, c in self.statistics.counts.items() if name in key}
        applied = sum(c.applied for c in counts.values())
        if applied == expected:
            return False
        known = list(dict.fromkeys(word for key in self.statistics.counts for word in key if word))
        notes: list[str] = [] if counts else [nothing_ran(name) + nearest(name, known)]
        near = Explanation()
        near.rules = {key: entry for key, entry in self.misses.rules.items() if name in key}
        notes += near.as_text().splitlines()
        message = f"rewrote {applied} site{'' if applied == 1 else 's'}, expected {expected}"
        report(CompileError(message, subject=name, notes=notes).render())
        return True


def listed(names: Sequence[str]) -> str:
    """The first names, quoted, and how many more there are."""
    shown = ", ".join(f"'{name}'" for name in names[:NAMED])
    return shown if len(names) <= NAMED else f"{shown} and {len(names) - NAMED} more"


def nothing_ran(name: str) -> str:
    """The line for a report without entries."""
    return f"no rule of '{name}' was tried" if name else "no rule was tried"


def to_json(value: object) -> str:
    """Indented JSON with a final newline."""
    return json.dumps(value, indent=2) + "\n"
