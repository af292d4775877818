"""Stops rewriting that feeds itself without end, and says which rules go round.

Each op that a rewrite makes carries a debt: 0 when the rewrite consumed an op of the original
graph, else one more than the smallest debt it consumed, unless the rewrite made fewer ops than it
removed. Every rewrite consumes an op, and only finitely many ops have a debt below any number, so
rewriting without end runs into every bound; a chain that collapses, or ops that sink through
others one after another, hardly do.

A rewrite that consumed nothing but what one other rewrite made feeds on itself. When its result
looks like that of a rewrite it comes from, again and again, the loop is found long before.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Operation

from ge_xdsl.dialects.ge.graph import location_of
from ge_xdsl.dialects.ge.op import NAME
from ge_xdsl.errors import CompileError, Location
from ge_xdsl.pattern.access import operands_of, producer
from ge_xdsl.pattern.provenance import ORIGIN_NAMES, ORIGIN_TYPES, PASS_NAME, type_text

MAX_DEBT = 1000
MAX_REPEATS = 32
"""How often a rewrite that feeds on itself may give ops of the same types, attributes, result
types and operands (those that rewrites made count as one) as a rewrite it comes from."""
LONGEST_CYCLE = 8
"""How many rules a cycle may have to be named in full."""
SHOWN_NAME = 40
BOOKKEEPING = frozenset({NAME, ORIGIN_NAMES, ORIGIN_TYPES, PASS_NAME})
"""Attributes that differ from rewrite to rewrite and say nothing of what an op is."""


class _Step:
    """One rewrite: its rule, what it started from, and the rewrite that made that."""

    parent: _Step | None = None
    debt = 0
    shape: object = None
    repeats = 0

    def __init__(self, rule: str, root: Operation) -> None:
        self.rule = rule
        self.root = root

    def text(self) -> str:
        attr = self.root.attributes.get(NAME)
        name = attr.data if isinstance(attr, StringAttr) else ""
        if len(name) > SHOWN_NAME:
            half = SHOWN_NAME // 2
            name = f"{name[: half - 3]}...{name[-half:]}"  # new nodes differ at the end
        op_type = type_text(type(self.root))
        return f"{op_type} '{name}'" if name else op_type


class Guard:
    """Follows the rewrites of one run; `limit`: how many of them may consume new ops only."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.count = 0
        self.indebted = 0
        self.created: list[Operation] = []
        self.erased: list[Operation] = []
        self._made: dict[int, tuple[Operation, _Step]] = {}
        """Identity of an op that a rewrite made -> the op and the rewrite."""

    def applied(self, rule: str, root: Operation) -> Sequence[Operation]:
        """Note a rewrite; its new ops when they are of all the types that it removed, else ().

        Such a rewrite may feed on itself. Raises CompileError when rewriting does not end.
        """
        self.count += 1
        made, created, erased = self._made, self.created, self.erased
        self.created, self.erased = [], []
        if id(root) in made:
            step, stays = self._follow(rule, root, created, erased)
        else:
            step, stays = _Step(rule, root), True
            for op in erased:
                if op is root:
                    stays = False
                elif made:
                    made.pop(id(op), None)
        for op in created:
            made[id(op)] = (op, step)
        if stays:
            made[id(root)] = (root, step)
        covers = len(created) >= len(erased) and _covers(created, erased or (root,))
        return created if covers else ()

    def _follow(
        self, rule: str, root: Operation, created: Sequence[Operation], erased: Sequence[Operation]
    ) -> tuple[_Step, bool]:
        """The step from a root that a rewrite made, and whether the root is still there."""
        made, step = self._made, _Step(rule, root)
        least = made.pop(id(root))[1]
        paid, alone, stays = False, True, True
        for op in erased:
            if op is root:
                stays = False
                continue
            found = made.pop(id(op), None)
            if found is None:
                paid = True
            elif found[1] is not least:
                alone = False
                if found[1].debt < least.debt:
                    least = found[1]
        if not paid:
            step.parent, step.debt = least, least.debt + (len(created) >= len(erased))
            self.indebted += 1
            for op in (*created, root) if stays else created:
                made[id(op)] = (op, step)
            if alone:
                self._compare(step, created or (root,))
        if step.repeats > MAX_REPEATS or step.debt > MAX_DEBT or self.indebted > self.limit:
            raise self._endless(step, location_of(root))
        return step, stays

    def _compare(self, step: _Step, made: Sequence[Operation]) -> None:
        """Count how often the rewrites that a step comes from gave the same ops."""
        step.shape = [self._shape(op) for op in made]
        before = step.parent
        for _ in range(LONGEST_CYCLE):
            if before is None:
                return
            if before.shape == step.shape:
                step.repeats = before.repeats + 1
                return
            before = before.parent

    def _shape(self, op: Operation) -> tuple[object, ...]:
        sources = [
            type(p) if (p := producer(v)) is not None and id(p) in self._made else v
            for v in operands_of(op)
        ]
        attributes = {k: v for k, v in op.attributes.items() if k not in BOOKKEEPING}
        return type(op), dict(op.properties), attributes, [r.type for r in op.results], sources

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


def _covers(created: Sequence[Operation], removed: Sequence[Operation]) -> bool:
    """Whether there is a new op for each removed one, of its type."""
    if len(removed) == 1:
        cls = type(removed[0])
        return any(type(op) is cls for op in created)
    left = [type(op) for op in created]
    for op in removed:
        if type(op) not in left:
            return False
        left.remove(type(op))
    return True


def _period(names: Sequence[str]) -> int:
    """The length of the shortest cycle that the end of a sequence repeats."""
    for period in range(1, LONGEST_CYCLE + 1):
        tail = names[-3 * period :]
        if all(tail[i] == tail[i % period] for i in range(len(tail))):
            return period
    return min(len(names), LONGEST_CYCLE)
