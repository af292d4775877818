"""ONNX control flow: If, Loop and Scan as GE's If and While.

A GE subgraph reads nothing from outside, so each value that an ONNX body captures becomes a
subgraph input; constants are copied into the body instead.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from xdsl.ir import Attribute, Block, Region, SSAValue

from ge_xdsl.dialects.ge.control import merge_tensors
from ge_xdsl.dialects.ge.data import YieldOp
from ge_xdsl.dialects.ge.types import tensor_of
from ge_xdsl.importers.onnx.builder import Builder
from ge_xdsl.importers.onnx.captures import free_names
from ge_xdsl.importers.onnx.gathered import Gathered, gathered
from ge_xdsl.importers.onnx.node import Node
from ge_xdsl.importers.onnx.scope import is_const
from ge_xdsl.importers.onnx.table import Converter

if TYPE_CHECKING:
    from onnx import GraphProto

ATTEMPTS = 4
"""Times that a loop body is built: each time with what is known of the loop values after it."""


def captured(node: Node, *graphs: GraphProto) -> dict[str, SSAValue]:
    """The values of the node's scope that the graphs read, by name, in order of their use.

    Initializers that nothing has read yet are left to the bodies.
    """
    scope = node.scope
    names = dict.fromkeys(name for graph in graphs for name in free_names(graph))
    found: dict[str, SSAValue] = {}
    for name in names:
        value = scope.values.get(name, scope.constants.get(name))
        if value is not None:
            found[name] = value
    return found


def operands_of(values: Mapping[str, SSAValue]) -> dict[str, SSAValue]:
    """The captured values that become operands: all that are no constants."""
    return {name: value for name, value in values.items() if not is_const(value)}


def if_(node: Node, g: Builder) -> Sequence[SSAValue]:
    """If(cond, captured values...)"""
    graphs = node.graph("then_branch"), node.graph("else_branch")
    outer = captured(node, *graphs)
    inputs = operands_of(outer)
    regions = [_branch(node, g, graph, outer, inputs) for graph in graphs]
    counts = [len(region.block.last_op.operands) for region in regions if region.block.last_op]
    if counts != [len(node.outputs)] * 2:
        node.fail(
            f"the branches have {counts[0]} and {counts[1]} outputs, expected {len(node.outputs)}"
        )
    op = g.add(
        "If", (node.input(0), list(inputs.values())), {}, node.name, (len(node.outputs),),
        regions=regions,
    )  # fmt: skip
    return op.results


def _branch(
    node: Node,
    g: Builder,
    graph: GraphProto,
    outer: Mapping[str, SSAValue],
    inputs: Mapping[str, SSAValue],
) -> Region:
    block = Block(arg_types=[value.type for value in inputs.values()])
    inner = {**outer, **dict(zip(inputs, block.args, strict=True))}
    with g.into(block):
        block.add_op(YieldOp.create(operands=node.scope.run(graph, [], inner)))
    return Region(block)


# Loops

Step = Callable[[SSAValue, SSAValue, Sequence[SSAValue], Mapping[str, SSAValue]], "Turn"]
"""Builds one turn in the current block from the turn's number, the condition, the carried values
and the captured ones."""


@dataclass(frozen=True)
class Turn:
    """What one turn of a loop gives: whether to go on, the carried values, values to gather."""

    go_on: SSAValue
    carried: Sequence[SSAValue]
    gathered: Sequence[SSAValue]


@dataclass(frozen=True)
class Start:
    """What a loop starts with; `limit` is the number of turns, None for no limit."""

    limit: SSAValue | None
    go_on: SSAValue
    carried: Sequence[SSAValue]
    captured: Mapping[str, SSAValue]
    prepend: Sequence[bool]
    """For each gathered value whether it goes before those of earlier turns."""


LIMIT = "\0limit"
"""The name of the number of turns among the captured values."""


def loop(node: Node, g: Builder) -> Sequence[SSAValue]:
    """While(turn, cond, carried values, captured values, gathered values)"""
    body = node.graph("body")
    carried = [node.input(k) for k in range(2, len(node.inputs))]
    limit, cond = node.optional(0), node.optional(1)
    go_on = g.scalar(True, "bool") if cond is None else g.as_scalar(cond)
    limit = None if limit is None else g.as_scalar(limit)
    count = len(node.outputs) - len(carried)
    expected = 1 + len(carried) + count
    if count < 0 or len(body.output) != expected:
        node.fail(f"the body has {len(body.output)} outputs, expected {expected}")

    def step(
        turn: SSAValue, cond: SSAValue, values: Sequence[SSAValue], outer: Mapping[str, SSAValue]
    ) -> Turn:
        found = node.scope.run(body, [turn, cond, *values], outer)
        split = 1 + len(carried)
        return Turn(g.as_scalar(found[0]), found[1:split], found[split:])

    start = Start(limit, go_on, carried, captured(node, body), [False] * count)
    return repeat(node, g, start, step)


def repeat(
    node: Node, g: Builder, start: Start, step: Step, name: str | None = None
) -> list[SSAValue]:
    """The While that runs `step`; its carried values at the end, and the gathered ones."""
    outer = dict(start.captured)
    if start.limit is not None:
        outer[LIMIT] = start.limit
    inputs = operands_of(outer)
    first = [g.scalar(0, "int64"), start.go_on, *start.carried]
    types = [value.type for value in first]
    taken = len(g.taken)
    for _ in range(ATTEMPTS):
        g.give_back(taken)
        body, parts = _body(node, g, types, outer, inputs, start, step)
        last = body.block.last_op
        assert last is not None
        merged = _merged(types, [value.type for value in last.operands])
        if merged == types:
            break
        types = merged
    else:
        node.fail("the types of the loop values change with every turn, expected ones that settle")
    initial = [value for part in parts for value in part.initial(g)]
    values = [*first, *inputs.values(), *initial]
    cond = _condition(g, [value.type for value in body.block.args], outer, inputs, len(types))
    op = g.add("While", (values,), {}, name or node.name, (len(values),), regions=(cond, body))
    at = len(first) + len(inputs)
    results: list[SSAValue] = list(op.results[2 : len(first)])
    for part in parts:
        results.append(part.result(g, op.results[at : at + part.count], op.results[0]))
        at += part.count
    return results


def _merged(types: Sequence[Attribute], given: Sequence[Attribute]) -> list[Attribute]:
    """Types that hold what a turn takes and what it gives."""
    pairs = zip(types, given, strict=False)
    return [merge_tensors(tensor_of(a), tensor_of(b)).type for a, b in pairs]


def _body(
    node: Node,
    g: Builder,
    types: Sequence[Attribute],
    outer: Mapping[str, SSAValue],
    inputs: Mapping[str, SSAValue],
    start: Start,
    step: Step,
) -> tuple[Region, list[Gathered]]:
    """The body of the While for loop values of these types."""
    block = Block(arg_types=[*types, *(value.type for value in inputs.values())])
    passed = block.args[len(types) :]
    with g.into(block):
        turn = block.args[0]
        inner = {**outer, **dict(zip(inputs, passed, strict=True))}
        inner.pop(LIMIT, None)
        done = step(turn, block.args[1], block.args[2 : len(types)], inner)
        if len(done.gathered) != len(start.prepend):
            node.fail(
                f"the body gives {len(done.gathered)} values to gather, "
                f"expected {len(start.prepend)}"
            )
        parts = [gathered(g, value) for value in done.gathered]
        grown: list[SSAValue] = []
        for part, value, prepend in zip(parts, done.gathered, start.prepend, strict=True):
            arguments = [block.insert_arg(t, len(block.args)) for t in part.types]
            grown += part.grow(g, arguments, value, prepend)
        after = g.part("Add", turn, g.scalar(1, "int64"))
        block.add_op(YieldOp.create(operands=[after, done.go_on, *done.carried, *passed, *grown]))
    return Region(block), parts


def _condition(
    g: Builder,
    types: Sequence[Attribute],
    outer: Mapping[str, SSAValue],
    inputs: Mapping[str, SSAValue],
    first: int,
) -> Region:
    """turn < limit, and the condition that the last turn gave."""
    block = Block(arg_types=types)
    with g.into(block):
        flag: SSAValue = block.args[1]
        limit = outer.get(LIMIT)
        if limit is not None:
            if LIMIT in inputs:
                limit = block.args[first + list(inputs).index(LIMIT)]
            else:
                limit = g.copy_const(limit)
            flag = g.part("LogicalAnd", g.part("Less", block.args[0], limit), flag)
        block.add_op(YieldOp.create(operands=[flag]))
    return Region(block)


def scan(node: Node, g: Builder) -> Sequence[SSAValue]:
    """A loop over the entries of the scan inputs along their axes."""
    if node.opset < 9:
        node.fail(f"the opset is {node.opset}, expected 9 or newer")
    body = node.graph("body")
    count = node.required_integer("num_scan_inputs")
    values = node.all_inputs()
    states = len(values) - count
    if count < 1 or states < 0:
        node.fail(f"attribute 'num_scan_inputs' is {count}, expected one in [1, {len(values)}]")
    outputs = len(node.outputs) - states
    if len(body.output) != states + outputs or outputs < 0:
        node.fail(f"the body has {len(body.output)} outputs, expected {len(node.outputs)}")
    axes = _listed(node, "scan_input_axes", count)
    backward = _listed(node, "scan_input_directions", count)
    total = g.dim(values[states], axes[0])
    outer = {**captured(node, body), TOTAL: total}
    outer.update((f"{SCANNED}{k}", value) for k, value in enumerate(values[states:]))

    def step(
        turn: SSAValue, cond: SSAValue, carried: Sequence[SSAValue], inner: Mapping[str, SSAValue]
    ) -> Turn:
        entries = _entries(g, turn, inner, axes, backward)
        known = {name: value for name, value in inner.items() if not name.startswith("\0")}
        found = node.scope.run(body, [*carried, *entries], known)
        return Turn(cond, found[:states], found[states:])

    prepend = [flag != 0 for flag in _listed(node, "scan_output_directions", outputs)]
    start = Start(total, g.scalar(True, "bool"), values[:states], outer, prepend)
    results = repeat(node, g, start, step)
    places = _listed(node, "scan_output_axes", outputs)
    ends = zip(results[states:], places, strict=True)
    return [*results[:states], *(g.move_first(value, axis) for value, axis in ends)]


TOTAL, SCANNED = "\0total", "\0scanned"
"""Names of the number of turns and of the scan inputs among the captured values."""


def _entries(
    g: Builder,
    turn: SSAValue,
    inner: Mapping[str, SSAValue],
    axes: Sequence[int],
    backward: Sequence[int],
) -> list[SSAValue]:
    """The entry of each scan input for a turn; the last one first where it is read backwards."""
    found: list[SSAValue] = []
    for k, (axis, reverse) in enumerate(zip(axes, backward, strict=True)):
        index = turn
        if reverse:
            last = g.part("Sub", g.local(inner[TOTAL]), g.scalar(1, "int64"))
            index = g.part("Sub", last, turn)
        found.append(g.take(g.local(inner[f"{SCANNED}{k}"]), index, axis))
    return found


def _listed(node: Node, name: str, count: int) -> list[int]:
    """A list attribute with one entry per scan input or output, all 0 by default."""
    values = node.integers(name) or [0] * count
    if len(values) != count:
        node.fail(f"attribute '{name}' has {len(values)} entries, expected {count}")
    return values


TABLE: dict[str, Converter] = {"If": if_, "Loop": loop, "Scan": scan}
