"""Replacements as straight-line Python that edits the graph in place.

A rule hands out the same replacement function again and again, for matches of the same pattern.
From its second time on a plan does what `pattern.rewrite` does in general: its source makes the
new ops, moves the readers and unlinks the old nodes without asking again what is known of both
graphs. It declines, before the first change, whatever is out of the ordinary: inherited
attributes, nodes without a name, a replacement that changed, types that it has not seen yet.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from types import CodeType
from typing import Any, TypeAlias

from xdsl.dialects.builtin import ArrayAttr, StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation, OpResult, SSAValue, Use
from xdsl.ir.core import SSAValues

from ge_xdsl.dialects.ge.data import ControlEdgeOp
from ge_xdsl.dialects.ge.op import NAME, GeOp
from ge_xdsl.pattern.access import WIDE, is_ge, operands_of, type_of
from ge_xdsl.pattern.graph import PatternGraph
from ge_xdsl.pattern.plan_source import PlanSource
from ge_xdsl.pattern.provenance import (
    INHERITED,
    MAX_NAME,
    ORIGIN_NAMES,
    ORIGIN_TYPES,
    PASS_NAME,
)
from ge_xdsl.pattern.result_types import value_of
from ge_xdsl.pattern.rewrite import Scope

LIMIT = 64
"""How many replacement functions of one rule are remembered; then all are forgotten."""
TYPES_LIMIT = 4096
"""The same for the combinations of types that one replacement meets."""

Function: TypeAlias = Callable[[Scope, Sequence[GeOp], Sequence[SSAValue]], bool]
Types: TypeAlias = tuple[Attribute, ...]
Key: TypeAlias = tuple[Any, ...]

ON_VALUES: Types = ()
"""In the place of types, which end in a mark: they depend on the values of constants, too."""


class Plans:
    """The plans of one rule, by the identity of what it handed out."""

    def __init__(self, pattern: PatternGraph) -> None:
        self.pattern = pattern
        self._plain = _is_plain_pattern(pattern)
        self._seen: dict[int, FuncOp] = {}
        self._plans: dict[int, Plan | None] = {}

    def find(self, func: FuncOp) -> Plan | None:
        """The plan for a function; None at first sight, and for one that is not plain."""
        key = id(func)
        if key in self._plans:
            return self._plans[key]
        if key in self._seen:
            plain = self._plain and _is_plain(func, self.pattern)
            plan = self._plans[key] = Plan(self.pattern, func) if plain else None
            return plan
        if len(self._seen) >= LIMIT:
            self._seen.clear()
            self._plans.clear()
        self._seen[key] = func
        return None

    def forget(self, func: FuncOp) -> None:
        """Drop the plan of a function that has changed."""
        self._plans.pop(id(func), None)


class Plan:
    """One replacement function, prepared for the matches of one pattern."""

    def __init__(self, pattern: PatternGraph, func: FuncOp) -> None:
        self.func = func
        self.known: dict[Key, Types] = {}
        """Identities of the types of the inputs and of the output -> those of the new results."""
        self._held: list[object] = []
        """What keeps the identities alive."""
        self.current: Callable[[], bool]
        """Whether the function is what it was."""
        self.rewrite: Function
        """Replaces a closed match (the nodes in the pattern's order, the inputs) in a graph
        without control edges; False, with nothing changed, for one that it leaves to others."""
        writer = PlanSource(pattern, func)
        self.source = writer.text()
        names: dict[str, Any] = {**_NAMES, **writer.names, "known": self.known}
        exec(_code(self.source), names)
        self.current, self.rewrite = names["current"], names["rewrite"]

    def learn(
        self, inputs: Sequence[SSAValue], output: SSAValue, new: Sequence[GeOp], scope: Scope
    ) -> None:
        """Remember the types that the new ops got for these inputs in the place of `output`.

        `scope.reads_values` tells whether they depend on constants.
        """
        if len(self.known) >= TYPES_LIMIT:
            self.known.clear()
            self._held.clear()
        held = [type_of(value) for value in (*inputs, output)]
        key: Key = (scope.infer, *map(id, held))
        if scope.reads_values:
            self.known[key] = ON_VALUES
            values = [value_of(value) for value in inputs]
            held += values
            key = (*key, *map(id, values))
        types = tuple([type_of(result) for op in new for result in op.results])
        self.known[key] = (*types, _MARK)
        self._held.append(held)


def values_key(values: Sequence[SSAValue]) -> Key:
    """The identities of the constants among tensors."""
    return tuple([id(value_of(value)) for value in values])


_MARK = StringAttr("")
"""Ends the types of the results, of which there may be none, to tell them from `ON_VALUES`."""

_NAMES: dict[str, Any] = {
    "INHERITED": INHERITED,
    "MAX_NAME": MAX_NAME,
    "NAME": NAME,
    "OpResult": OpResult,
    "ORIGIN_NAMES": ORIGIN_NAMES,
    "ORIGIN_TYPES": ORIGIN_TYPES,
    "PASS_NAME": PASS_NAME,
    "ArrayAttr": ArrayAttr,
    "SSAValues": SSAValues,
    "StringAttr": StringAttr,
    "Use": Use,
    "WIDE": WIDE,
    "new": object.__new__,
    "put": object.__setattr__,
    "values_key": values_key,
}


@lru_cache(maxsize=256)
def _code(source: str) -> CodeType:
    """Compiled once for all replacements that look the same: what differs are globals."""
    return compile(source, "<replacement>", "exec")


def _is_plain_pattern(pattern: PatternGraph) -> bool:
    """One output, of an op with one result; no op that could hold subgraphs."""
    if len(pattern.outputs) != 1 or len(pattern.boundary_order) != len(pattern.nodes):
        return False
    protos = [op.prototype for op in pattern.nodes]
    return all(proto.fixed_results == 1 and not proto.subgraphs for proto in protos)


def _is_plain(func: FuncOp, pattern: PatternGraph) -> bool:
    """Whether a replacement only has ops in order, without subgraphs, edges or attributes."""
    body = func.body.block
    known: set[SSAValue] = set(body.args)
    if body.last_op is None or len(body.args) != len(pattern.used_inputs):
        return False
    for op in _ops(func):
        plain = is_ge(op) and type(op) is not ControlEdgeOp and not op.regions
        if not plain or not op.attributes.keys() <= {NAME} or len(operands_of(op)) > WIDE:
            return False
        if not known.issuperset(operands_of(op)):
            return False
        known.update(op.results)
    outputs = operands_of(body.last_op)
    return len(outputs) == 1 and outputs[0] in known


def _ops(func: FuncOp) -> list[Operation]:
    """The ops of a function without its terminator."""
    body = func.body.block
    return [op for op in body.ops if op is not body.last_op]
