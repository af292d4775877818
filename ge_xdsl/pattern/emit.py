"""The source of a pattern's branch functions."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Mapping
from typing import Any

from xdsl.ir import BlockArgument, OpResult, SSAValue

from ge_xdsl.dialects.ge.data import ConstantOp, ConstOp, UnconnectedOp
from ge_xdsl.dialects.ge.op import OPERAND_SEGMENTS, GeOp
from ge_xdsl.pattern.access import operands_of, producer
from ge_xdsl.pattern.equal import attr_text, attr_value, same_constant, same_property, same_value
from ge_xdsl.pattern.graph import PatternGraph, is_constant
from ge_xdsl.pattern.match import MatcherConfig

MISS = "return None"


def namespace() -> dict[str, Any]:
    """The globals of a generated module; `BranchSource` adds the pattern's own."""
    return {
        "OpResult": OpResult,
        "ConstOp": ConstOp,
        "ConstantOp": ConstantOp,
        "Unconnected": UnconnectedOp,
        "GeOp": GeOp,
        "same_constant": same_constant,
        "same_property": same_property,
        "same_counts": same_counts,
        "same_node": same_node,
        "same_attributes": same_attributes,
    }


def same_counts(op: GeOp, counts: tuple[int, ...]) -> bool:
    """Whether the same optional operands are given."""
    return tuple(op.operand_counts()) == counts


def same_node(a: SSAValue, b: SSAValue) -> bool:
    """Whether two tensors come from one node (upstream's test for a repeated input)."""
    return producer(a) is producer(b) is not None


def same_attributes(op: GeOp, names: tuple[str, ...], values: tuple[Any, ...]) -> bool:
    """Upstream's attribute test: the names as a set, the values by position."""
    specs = op.prototype.attrs
    if len(specs) != len(names) or sorted(s.name for s in specs) != sorted(names):
        return False
    for spec, expected in zip(specs, values, strict=True):
        value = attr_value(op, spec)
        if (value is None and spec.required) or not same_value(value, expected):
            return False
    return True


class BranchSource:
    """Writes the function of one output; see `pattern.compile`."""

    def __init__(
        self, graph: PatternGraph, config: MatcherConfig, index: int, names: dict[str, Any]
    ) -> None:
        self.graph = graph
        self.config = config
        self.index = index
        self.names = names
        self.lines: list[str] = []
        self.bound: dict[SSAValue | GeOp, str] = {}
        self.tensors: dict[GeOp, str] = {}
        self.roots = {producer(v) for v in graph.outputs}
        self.ancestors = _ancestors(graph)

    def text(self) -> str:
        """The function `branch_<index>(op, nodes, values)`."""
        branch = self.graph.branches[self.index]
        self.unpack()
        output = branch.output
        assert isinstance(output, OpResult)
        assert isinstance(output.op, GeOp)
        name = self.node_name(output.op)
        self.lines.append(f"{name} = op")
        self.check_node(output.op, name)
        if self._has_many_results(output.op):
            self.lines.append(f"if len({name}.results) <= {output.index}: {MISS}")
        self.walk(output.op)
        nodes, values = self.state(self.index + 1)
        self.lines.append(f"return {self.closed()}, {_tuple(nodes)}, {_tuple(values)}")
        head = f"def branch_{self.index}(op, nodes, values):"
        note = f"    # output {self.index}: {output.op.op_type!r}"
        return "\n".join([head, note, *(f"    {line}" for line in self.lines)])

    def unpack(self) -> None:
        """Name what earlier branches bound."""
        nodes, values = self.state(self.index)
        if nodes:
            self.lines.append(f"{_tuple(nodes)} = nodes")
        if values:
            self.lines.append(f"{_tuple(values)} = values")
        for branch in self.graph.branches[: self.index]:
            for op in branch.nodes:
                self.bound[op] = self.node_name(op)
            for arg in branch.inputs:
                self.bound[arg] = f"i{arg.index}"

    def state(self, count: int) -> tuple[list[str], list[str]]:
        """The names bound by the first `count` branches: ops in order, inputs by index."""
        branches = self.graph.branches[:count]
        nodes = [self.node_name(op) for branch in branches for op in branch.nodes]
        indices = sorted(arg.index for branch in branches for arg in branch.inputs)
        return nodes, [f"i{i}" for i in indices]

    def node_name(self, op: GeOp) -> str:
        return f"n{self.graph.nodes.index(op)}"

    def add(self, value: Any, stem: str) -> str:
        """A global of the generated module that holds `value`."""
        stem = re.sub(r"\W", "_", stem)
        for name, known in self.names.items():
            if known is value and name.startswith(stem):
                return name
        name = f"{stem}_{sum(n.startswith(stem) for n in self.names)}"
        self.names[name] = value
        return name

    def walk(self, root: GeOp) -> None:
        """Breadth first from the output's op through the operands."""
        queue = deque([root])
        while queue:
            op = queue.popleft()
            name = self.node_name(op)
            operands = operands_of(op)
            if not operands:
                continue
            parts = [self.operand_name(name, i, value) for i, value in enumerate(operands)]
            self.lines.append(f"{', '.join(parts)}{',' * (len(parts) == 1)} = {name}._operands")
            for part, value in zip(parts, operands, strict=True):
                if isinstance(value, BlockArgument):
                    self.bind_input(value, part)
                elif (
                    isinstance(value, OpResult)
                    and isinstance(value.op, GeOp)
                    and self.bind_node(value, value.op, part)
                ):
                    queue.append(value.op)

    def operand_name(self, user: str, index: int, value: SSAValue) -> str:
        """The variable that an operand is unpacked into: a new input's own one."""
        if isinstance(value, BlockArgument) and value not in self.bound:
            self.bound[value] = f"i{value.index}"
            return f"i{value.index}"
        return f"{user}_{index}"

    def bind_input(self, arg: BlockArgument, source: str) -> None:
        name = f"i{arg.index}"
        if source == name:
            return
        if self.config.upstream_quirks:
            self.lines += [
                f"if {source} is not {name} and not same_node({source}, {name}): {MISS}",
                f"{name} = {source}",
            ]
        else:
            self.lines.append(f"if {source} is not {name}: {MISS}")

    def bind_node(self, value: OpResult, op: GeOp, source: str) -> bool:
        """Check an operand against a pattern op; whether it is met for the first time."""
        name = self.node_name(op)
        known = op in self.bound
        self.lines.append(f"if type({source}) is not OpResult: {MISS}")
        if known:
            self.lines.append(f"if {source}.op is not {name}: {MISS}")
        else:
            self.lines.append(f"{name} = {source}.op")
            self.check_node(op, name)
            if op.prototype.fixed_results == 1 and op not in self.roots:
                self.tensors[op] = source
        if self._has_many_results(op):
            self.lines.append(f"if {source}.index != {value.index}: {MISS}")
        return not known

    def _has_many_results(self, op: GeOp) -> bool:
        return op.prototype.fixed_results != 1 or self._loose(op)

    def _loose(self, op: GeOp) -> bool:
        quirks = self.config.upstream_quirks and self.config.ir_attr
        return quirks and op not in self.roots and not is_constant(op)

    def check_node(self, op: GeOp, name: str) -> None:
        """Type, attributes, arity, and that it is no op bound already."""
        if is_constant(op):
            self.lines.append(
                f"if type({name}) is not ConstOp and type({name}) is not ConstantOp: {MISS}"
            )
            self.check_constant(op, name)
        elif self._loose(op):
            self.lines.append(f"if not isinstance({name}, GeOp): {MISS}")
            self.check_loose(op, name)
        else:
            cls = self.add(type(op), type(op).__name__)
            self.lines.append(f"if type({name}) is not {cls}: {MISS}")
            if self.config.ir_attr:
                self.check_attributes(op, name)
            if op.prototype.fixed_operands < 0:
                self.check_arity(op, name)
        if not self.config.upstream_quirks and not is_constant(op):
            for other, other_name in self.bound.items():
                if isinstance(other, GeOp) and self._could_be(op, other):
                    self.lines.append(f"if {name} is {other_name}: {MISS}")
        self.bound[op] = name

    def _could_be(self, op: GeOp, other: GeOp) -> bool:
        if type(op) is not type(other):
            return False
        return other not in self.ancestors[op] and op not in self.ancestors[other]

    def check_constant(self, op: GeOp, name: str) -> None:
        expected = op.properties.get("value")
        if self.config.const_value and expected is not None:
            const = self.add(expected, "constant")
            self.lines.append(
                f'if {name}.properties.get("value") is not {const} '
                f"and not same_constant({name}, {const}): {MISS}"
            )

    def check_attributes(self, op: GeOp, name: str) -> None:
        for spec in op.prototype.attrs:
            want = attr_value(op, spec)
            if want is None and spec.required:
                self.lines.append(f"{MISS}  # attribute {spec.name} has no value")
                continue
            stored = self.add(op.properties.get(spec.name), "attr")
            expected = self.add(want, "expected")
            tests = [f"attr is not {stored}"] if op.properties.get(spec.name) is not None else []
            if op.properties.get(spec.name) is None or same_value(want, spec.unset):
                tests.append("attr is not None")
            self.lines.append(
                f"attr = {name}.properties.get({spec.name!r})  # {spec.name} = {attr_text(want)!r}"
            )
            tests.append(f"not same_property({name}, {spec.name!r}, {expected})")
            self.lines.append(f"if {' and '.join(tests)}: {MISS}")

    def check_loose(self, op: GeOp, name: str) -> None:
        specs = op.prototype.attrs
        names = self.add(tuple(s.name for s in specs), "names")
        values = self.add(tuple(attr_value(op, s) for s in specs), "expected")
        self.lines.append(f"if not same_attributes({name}, {names}, {values}): {MISS}")
        self.lines.append(f"if len({name}._operands) != {len(operands_of(op))}: {MISS}")

    def check_arity(self, op: GeOp, name: str) -> None:
        self.lines.append(f"if len({name}._operands) != {len(operands_of(op))}: {MISS}")
        if op.prototype.needs_operand_segments and not self.config.upstream_quirks:
            stored = self.add(op.properties.get(OPERAND_SEGMENTS), "segments")
            counts = self.add(tuple(op.operand_counts()), "counts")
            self.lines.append(
                f"if {name}.properties.get({OPERAND_SEGMENTS!r}) is not {stored} "
                f"and not same_counts({name}, {counts}): {MISS}"
            )

    def closed(self) -> str:
        """The expression that is true when the closure rule is plainly met."""
        if self.config.upstream_quirks or self.index + 1 < _last_branch(self.graph):
            return "False"
        constants = [op for op in self.graph.nodes if is_constant(op)]
        if len(constants) > 1 and not self.roots.isdisjoint(constants):
            return "False"  # two of them may be one op
        tests: list[str] = []
        for op in self.graph.nodes:
            if op in self.roots:
                continue
            if op.prototype.fixed_results != 1:
                return "False"
            tensor = self.tensors.get(op) or f"{self.node_name(op)}.results[0]"
            tests.append(f"{tensor}.first_use._next_use is None")
        for arg in self.graph.used_inputs:
            tests.append(self.outside(arg))
        return " and ".join(tests) if tests else "True"

    def outside(self, arg: BlockArgument) -> str:
        """That an input is a graph input or comes from a node that is no part of the match."""
        name = f"i{arg.index}"
        clashes = [
            f"{name}.op is not {self.node_name(op)}"
            for op in self.graph.nodes
            if not _only_below(op, arg, self.ancestors)
        ]
        inner = " and ".join([f"type({name}.op) is not Unconnected", *clashes])
        return f"(type({name}) is not OpResult or {inner})"


def _only_below(
    op: GeOp, arg: BlockArgument, ancestors: Mapping[GeOp, set[SSAValue | GeOp]]
) -> bool:
    """Whether a pattern input feeds `op`, so that `op` cannot be its producer."""
    return arg in ancestors[op]


def _ancestors(graph: PatternGraph) -> dict[GeOp, set[SSAValue | GeOp]]:
    """Pattern op -> the ops and inputs that it depends on."""
    found: dict[GeOp, set[SSAValue | GeOp]] = {}
    for op in graph.post_order:
        below: set[SSAValue | GeOp] = set(operands_of(op))
        for value in operands_of(op):
            if isinstance(source := producer(value), GeOp):
                below |= {source, *found[source]}
        found[op] = below
    return found


def _last_branch(graph: PatternGraph) -> int:
    """One past the last branch that binds an op."""
    return 1 + max(k for k, branch in enumerate(graph.branches) if branch.nodes)


def _tuple(names: list[str]) -> str:
    return f"({', '.join(names)}{',' if len(names) == 1 else ''})"
