"""Replacements as straight-line Python that edits the graph in place.

A rule hands out the same replacement function again and again, for matches of the same pattern,
or builds one like it for each match. From the second time on, or the tenth built one, a plan does
what `pattern.rewrite` does in general: its source makes the new ops, moves the readers and unlinks
the old nodes without asking again what is known of both graphs. It declines, before the first
change, whatever is out of the ordinary: inherited attributes, nodes without a name, a replacement
that changed, types that it has not seen yet.
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
from ge_xdsl.pattern.access import WIDE, is_ge, next_op, operands_of, type_of
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
SHAPES = 8
"""How many replacements that were built for one match are remembered for others like them."""
HITS = 8
"""How many must be like one before there is a plan for them: it takes a millisecond to make."""
MISSES = 64
"""After so many in a row that are like none before, a rule is taken to build no two alike."""
TYPES_LIMIT = 4096
"""The same for the combinations of types that one replacement meets."""

Function: TypeAlias = Callable[[Scope, Sequence[GeOp], Sequence[SSAValue]], bool]
Types: TypeAlias = tuple[Attribute, ...]
Key: TypeAlias = tuple[Any, ...]

ON_VALUES: Types = ()
"""In the place of types, which end in a mark: they depend on the values of constants, too."""


class _Shape:
    """A replacement that was built for one match, for others that may be built like it."""

    __slots__ = ("func", "hits", "plan")

    def __init__(self, func: FuncOp) -> None:
        self.func = func
        self.hits = 0
        self.plan: Plan | None = None


class Plans:
    """The plans of one rule, by the identity of what it handed out, or else by what is in it."""

    def __init__(self, pattern: PatternGraph) -> None:
        self.pattern = pattern
        self._plain = _is_plain_pattern(pattern)
        self._seen: dict[int, FuncOp] = {}
        self._plans: dict[int, Plan | None] = {}
        self._shapes: list[_Shape] = []
        """The last ones, newest hit first."""
        self._misses = 0

    def find(self, func: FuncOp) -> Plan | None:
        """The plan for a function; None at first sight, and for one that is not plain."""
        key = id(func)
        if key in self._plans:
            return self._plans[key]
        if key in self._seen:
            plan = self._plans[key] = self._make(func)
            return plan
        if self._plain and self._misses < MISSES:
            shape = self._like(func)
            if shape is not None:
                return shape.plan
        if len(self._seen) >= LIMIT:
            self._seen.clear()
            self._plans.clear()
        self._seen[key] = func
        return None

    def _make(self, func: FuncOp) -> Plan | None:
        plain = self._plain and _is_plain(func, self.pattern)
        return Plan(self.pattern, func) if plain else None

    def _like(self, func: FuncOp) -> _Shape | None:
        """What was built before like a function that is seen for the first time, if anything."""
        shapes = self._shapes
        for k, shape in enumerate(shapes):
            if same_body(shape.func, func):
                self._misses = 0
                shape.hits += 1
                if shape.hits == HITS:
                    shape.plan = self._make(shape.func)
                if k:
                    shapes.insert(0, shapes.pop(k))
                return shape
        self._misses += 1
        del shapes[SHAPES - 1 :]
        shapes.insert(0, _Shape(func))
        return None

    def forget(self, func: FuncOp) -> None:
        """Drop the plan of a function that has changed."""
        self._plans.pop(id(func), None)
        self._shapes = [shape for shape in self._shapes if shape.func is not func]


def same_body(ours: FuncOp, theirs: FuncOp) -> bool:
    """Whether two replacements give the same new ops.

    That is: the same ops in the same order, down to the places and the order of attributes, on
    the same operands.
    """
    body, other = ours.body.block, theirs.body.block
    if len(body.args) != len(other.args):
        return False
    values: dict[int, SSAValue] = {
        id(value): mine for mine, value in zip(body.args, other.args, strict=True)
    }
    a, b = body.first_op, other.first_op
    while a is not None and b is not None:
        if not _alike(a, b):
            return False
        mine, sources = operands_of(a), operands_of(b)
        if len(mine) != len(sources) or len(a.results) != len(b.results):
            return False
        for x, y in zip(mine, sources, strict=True):
            if values.get(id(y)) is not x:
                return False
        for x, y in zip(a.results, b.results, strict=True):
            if type_of(x) is not type_of(y) and type_of(x) != type_of(y):
                return False
            values[id(y)] = x
        a, b = next_op(a), next_op(b)
    return a is b


def _alike(a: Operation, b: Operation) -> bool:
    """Whether two ops without regions differ in operands and results only."""
    if type(a) is not type(b) or a.regions or b.regions:
        return False
    properties = a.properties
    if properties != b.properties or a.attributes != b.attributes:
        return False
    if len(properties) > 1 and list(properties) != list(b.properties):
        return False
    return a.location == b.location and (not is_ge(a) or not is_ge(b) or a.source == b.source)


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
