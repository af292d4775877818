"""Why rules did not fire: the nearest miss at every root, equal reasons summed up."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from xdsl.ir import Operation

from ge_xdsl.dialects.ge.names import describe
from ge_xdsl.dialects.ge.op import GeOp
from ge_xdsl.errors import counted, one_line
from ge_xdsl.pattern.rule import Applied, Outcome

SITES = 3
"""How many sites a summed-up reason names."""
_NAMES = re.compile(r"'[^']*'")


@dataclass(slots=True)
class Miss:
    """One reason, and the sites where it was the nearest miss."""

    reason: str
    progress: int
    matched: bool
    total: int = 0
    sites: list[str] = field(default_factory=list[str])
    """Root nodes, in the order of the attempts."""
    at: list[str] = field(default_factory=list[str])
    """The node that differed, per site."""


@dataclass(slots=True)
class RuleExplanation:
    """What one rule of one pass met."""

    matched: list[str] = field(default_factory=list[str])
    """The roots that were rewritten."""
    misses: dict[str, Miss] = field(default_factory=dict[str, Miss])
    """Reason without node names -> the miss."""


class Explanation:
    """A recorder that keeps the reason of every attempt that rewrote nothing."""

    explains = True

    def __init__(self, pass_name: str = "", node: str = "") -> None:
        self.pass_name = pass_name
        """Only this pass is kept, '' for all."""
        self.node = node
        """Only attempts at this root node are kept, '' for all."""
        self.rules: dict[tuple[str, str], RuleExplanation] = {}
        self.others: dict[str, None] = {}
        """The passes that ran and are not kept, for hints."""
        self.roots: dict[str, None] = {}
        """The root nodes of the kept pass that are not kept, for hints."""

    def attempt(
        self, pass_name: str, rule: str, root: GeOp, outcome: Outcome, micros: float
    ) -> None:
        """Keep an attempt's outcome."""
        if self.pass_name not in ("", pass_name):
            return
        if self.node not in ("", root.node_name):
            self.roots[root.node_name] = None
            return
        entry = self.rules.setdefault((pass_name, rule), RuleExplanation())
        name = root.node_name or root.op_type
        if isinstance(outcome, Applied):
            entry.matched.append(name)
            return
        key = _NAMES.sub("'...'", outcome.reason)
        miss = entry.misses.get(key)
        if miss is None:
            miss = Miss(outcome.reason, outcome.progress, outcome.matched, outcome.total)
            entry.misses[key] = miss
        miss.progress = max(miss.progress, outcome.progress)
        miss.sites.append(name)
        miss.at.append(_place(outcome.at or root))

    def swept(self, pass_name: str, rule: str, tried: int, micros: float) -> None:
        """Make sure that a rule which found no root is listed too."""
        if self.pass_name not in ("", pass_name):
            self.others[pass_name] = None
        elif not self.node:
            self.rules.setdefault((pass_name, rule), RuleExplanation())

    def as_json(self) -> list[dict[str, Any]]:
        """One entry per pass and rule; the nearest misses first."""
        return [
            {
                "pass": pass_name,
                "rule": rule,
                "applied": entry.matched,
                "misses": [
                    {
                        "reason": miss.reason,
                        "count": len(miss.sites),
                        "progress": miss.progress,
                        "nodes": miss.total,
                        "matched": miss.matched,
                        "sites": miss.sites,
                        "at": miss.at,
                    }
                    for miss in _nearest_first(entry)
                ],
            }
            for (pass_name, rule), entry in self.rules.items()
        ]

    def as_text(self, describe_rule: Callable[[str, str], str] | None = None) -> str:
        """A paragraph per rule. Ends with a newline unless there is nothing to tell."""
        lines: list[str] = []
        for (pass_name, rule), entry in self.rules.items():
            head = describe_rule(pass_name, rule) if describe_rule else _head(pass_name, rule)
            tried = len(entry.matched) + sum(len(m.sites) for m in entry.misses.values())
            lines.append(
                f"{one_line(head)}: {len(entry.matched)} of {counted(tried, 'site')} rewritten"
            )
            if entry.matched:
                lines.append(f"  rewrote {_listed(entry.matched)}")
            for miss in _nearest_first(entry):
                count = len(miss.sites)
                sites = f"{count} sites: " if count > 1 else ""
                how = "refused" if miss.matched else _matched(miss)
                lines.append(f"  {sites}{miss.reason} [{how}] at {_listed(miss.sites)}")
        return "\n".join(lines) + "\n" if lines else ""


def _nearest_first(entry: RuleExplanation) -> list[Miss]:
    return sorted(entry.misses.values(), key=lambda m: (not m.matched, -m.progress))


def _head(pass_name: str, rule: str) -> str:
    return f"{pass_name}/{rule}" if pass_name and pass_name != rule else rule


def _listed(names: list[str]) -> str:
    shown = ", ".join(f"'{name}'" for name in names[:SITES])
    return shown if len(names) <= SITES else f"{shown} and {len(names) - SITES} more"


def _matched(miss: Miss) -> str:
    if miss.total:
        return f"{miss.progress} of {miss.total} nodes matched"
    return f"{miss.progress} node{'' if miss.progress == 1 else 's'} matched"


def _place(op: Operation) -> str:
    return (op.node_name if isinstance(op, GeOp) else "") or describe(op)
