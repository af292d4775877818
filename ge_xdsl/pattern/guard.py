"""Stops rewriting that feeds itself without end, and says which rules go round.

Each op that a rewrite makes carries a debt: 0 when the rewrite consumed an op of the original
graph, else one more than the largest debt it consumed, unless the rewrite made fewer ops than it
removed. A chain that collapses or an op that sinks through others keeps consuming originals or
shrinking; a loop only pays with its own results.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Operation

from ge_xdsl.dialects.ge.graph import location_of
from ge_xdsl.dialects.ge.op import NAME
from ge_xdsl.errors import CompileError, Location

MAX_DEBT = 1000
LONGEST_CYCLE = 8
"""How many rules a cycle may have to be named in full."""
SHOWN_NAME = 40


class _Step:
    """One rewrite: its rule, what it started from, and the rewrite that made that."""

    __slots__ = ("debt", "name", "op_type", "parent", "rule")

    def __init__(self, rule: str, root: Operation, parent: _Step | None, debt: int) -> None:
        self.rule = rule
        self.name = root.attributes.get(NAME)
        self.op_type = root.name.removeprefix("ge.")
        self.parent = parent
        self.debt = debt

    def text(self) -> str:
        name = self.name.data if isinstance(self.name, StringAttr) else ""
        if len(name) > SHOWN_NAME:
            name = f"{name[: SHOWN_NAME - 3]}..."
        return f"{self.op_type} '{name}'" if name else self.op_type


class Guard:
    """Follows the rewrites of one run over a graph of `size` nodes."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.count = 0
        self.created: list[Operation] = []
        self.erased: list[Operation] = []
        self._made: dict[Operation, _Step] = {}

    def applied(self, rule: str, root: Operation) -> None:
        """Note a rewrite; raises CompileError when rewriting does not come to an end."""
        self.count += 1
        made, created, erased = self._made, self.created, self.erased
        parent = made.get(root)
        original = parent is None
        for op in erased:
            step = made.pop(op, None)
            if step is None:
                original = original or op is not root
            elif parent is None or step.debt > parent.debt:
                parent = step
        debt = 0
        if parent is not None and not original:
            debt = parent.debt + (len(created) >= len(erased))
        step = _Step(rule, root, parent, debt)
        for op in created or (root,):
            made[op] = step
        created.clear()
        erased.clear()
        if debt > MAX_DEBT or self.count > self.limit:
            raise self._endless(step, location_of(root))

    def _endless(self, last: _Step, location: Location | None) -> CompileError:
        steps = [last]
        while (parent := steps[-1].parent) is not None and len(steps) <= 4 * LONGEST_CYCLE:
            steps.append(parent)
        steps.reverse()
        rules = [step.rule for step in steps]
        period = _period(rules)
        names = list(dict.fromkeys(rules[-period:]))
        shown = " -> ".join(step.text() for step in steps[-period - 1 :])
        word = "rule" if len(names) == 1 else "rules"
        subject = f"{word} {', '.join(repr(name) for name in names)}"
        return CompileError(
            f"rewrites its own result without end ({self.count} rewrites), "
            f"expected a fixed point: {shown}",
            subject=subject,
            location=location,
        )


def _period(names: Sequence[str]) -> int:
    """The length of the shortest cycle that the end of a sequence repeats."""
    for period in range(1, LONGEST_CYCLE + 1):
        tail = names[-3 * period :]
        if all(tail[i] == tail[i % period] for i in range(len(tail))):
            return period
    return min(len(names), LONGEST_CYCLE)
