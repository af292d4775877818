"""Control flow in ONNX: If; Case as Ifs in each other; While and For as Loop.

What a GE subgraph gets as inputs an ONNX one reads by name. A Loop has its condition at the end of
the turn before, so the `cond` of a While is written twice: before the loop and in its body.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from xdsl.ir import Block, SSAValue

from ge_xdsl.dialects.ge.op import GeOp
from ge_xdsl.dialects.ge.types import DataType, Tensor, tensor_of
from ge_xdsl.exporters.onnx.graph import Graph, Node, NoFormError
from ge_xdsl.exporters.onnx.tensors import type_name

if TYPE_CHECKING:
    from onnx import GraphProto

    from ge_xdsl.exporters.onnx.model import Model

Typed: TypeAlias = "tuple[str, Tensor]"
LONG, BOOL = DataType.DT_INT64, DataType.DT_BOOL
FLAG = Tensor(BOOL, ())
COUNT = Tensor(LONG, ())


# Conditions


def check_truth(value: SSAValue) -> None:
    """Raise NoFormError for a value whose truth ONNX cannot tell."""
    dtype = tensor_of(value.type).dtype
    name = type_name(dtype)
    if not name or "string" in name or "complex" in name:
        raise NoFormError(f"a condition is {dtype.name}")


def truth(graph: Graph, name: str, shape: Sequence[int] | None) -> str:
    """A scalar bool: one element is true when it is not 0, several are true, none is false."""
    flag = graph.cast(name, BOOL)
    if shape == ():
        return flag
    if shape is not None and set(shape) == {1}:
        return graph.add("Reshape", flag, graph.const([], LONG))
    count = graph.add("ReduceSum", graph.cast(flag, LONG), keepdims=0)
    zero, one = (graph.const(number, LONG) for number in (0, 1))
    some = graph.add("Greater", count, zero, dtype=BOOL)
    many = graph.add("Greater", graph.add("Size", name, dtype=LONG), one, dtype=BOOL)
    return graph.add("Or", some, many)


def _condition(graph: Graph, value: SSAValue, name: str) -> str:
    found = truth(graph, name, tensor_of(value.type).shape)
    graph.keep()
    return found


# If and Case


def write_if(op: GeOp, graph: Graph, model: Model) -> list[Typed]:
    """If, whose branches read the operands by name."""
    condition, *inputs = op.operands
    check_truth(condition)
    name = graph.of(condition)
    if graph.tensor(condition).shape != (1,) or graph.types[name] is not BOOL:
        name = _condition(graph, condition, name)
    sources = [graph.of(value) for value in inputs]
    branches = [model.branch(region.block, graph, sources) for region in op.regions]
    graph.nodes.append(_if_node(graph, op, name, *branches))
    return []


def _if_node(graph: Graph, op: GeOp, flag: str, low: GraphProto, high: GraphProto) -> Node:
    outputs = _results(graph, op.results)
    attrs: dict[str, Any] = {"then_branch": low, "else_branch": high}
    return Node("If", [flag], outputs, attrs, name=op.node_name)


def _results(graph: Graph, values: Sequence[SSAValue]) -> list[str]:
    names = [graph.of(value) for value in values]
    graph.types.update(zip(names, map(graph.dtype, values), strict=True))
    return names


def write_case(op: GeOp, graph: Graph, model: Model) -> list[Typed]:
    """If(index == 0, branch 0, If(index == 1, branch 1, ...)), the last branch for all others."""
    if len(op.regions) < 2:
        raise NoFormError("there is one branch")
    index, *inputs = op.operands
    sources = [graph.of(value) for value in inputs]
    blocks = [region.block for region in op.regions]
    name = graph.add("Reshape", graph.of(index), graph.const([], LONG))
    flag = _is_number(graph, name, 0)
    rest = _other_cases(op, graph, model, blocks, sources, name)
    first = model.branch(blocks[0], graph, sources)
    graph.nodes.append(_if_node(graph, op, flag, first, rest))
    return []


def _is_number(graph: Graph, name: str, number: int) -> str:
    flag = graph.add("Equal", name, graph.const(number, graph.types[name]), dtype=BOOL)
    graph.keep()
    return flag


def _other_cases(
    op: GeOp, outer: Graph, model: Model, blocks: Sequence[Block], sources: Sequence[str], name: str
) -> GraphProto:
    """The branches after the first, from the last one outwards."""
    if len(blocks) == 2:
        return model.branch(blocks[1], outer, sources)
    inner = Graph(model.names, outer)
    inner.op = op
    flag = _is_number(inner, name, len(op.regions) - len(blocks) + 1)
    rest = _other_cases(op, inner, model, blocks[1:], sources, name)
    branch = model.branch(blocks[1], inner, sources)
    names = [model.names.unique(f"{op.node_name}_output") for _ in op.results]
    attrs: dict[str, Any] = {"then_branch": branch, "else_branch": rest}
    inner.nodes.append(Node("If", [flag], names, attrs, name=model.names.unique(op.node_name)))
    outputs = [(n, inner.tensor(value)) for n, value in zip(names, op.results, strict=True)]
    return model.close(inner, f"{op.node_name}_rest", [], outputs, [])


# Loops


def inline(
    model: Model, block: Block, graph: Graph, sources: Sequence[str]
) -> tuple[list[str], list[Typed]]:
    """Write the ops of a subgraph in `graph`, with the values `sources` for its inputs; the names
    of what it yields, and what is to be declared."""
    part = graph.part()
    part.values.update(zip(block.args, sources, strict=True))
    infos = model.write_ops(block, part)
    last = block.last_op
    assert last is not None
    return [part.of(value) for value in last.operands], infos


def yielded(block: Block) -> Sequence[SSAValue]:
    last = block.last_op
    return [] if last is None else list(last.operands)


class _Loop:
    """A Loop that is being written: the values that a turn hands on are its inputs and outputs, a
    value that no turn changes is read by name."""

    def __init__(self, op: GeOp, graph: Graph, model: Model, body: Block, first: int) -> None:
        """`first` is the number of operands, and of inputs of the body, before the values."""
        self.op, self.graph, self.model, self.body = op, graph, model, body
        self.sources = [graph.of(value) for value in op.operands]
        self.values = body.args[len(body.args) - len(op.results) :]
        self.initial = self.sources[first:]
        given = zip(self.values, yielded(body), strict=True)
        self.carried = [arg is not value for arg, value in given]
        self.inner = Graph(model.names, graph)
        self.inner.op = op
        self.turn, self.go_on = (self._name(text) for text in ("turn", "go_on"))
        self.inner.types |= {self.turn: LONG, self.go_on: BOOL}
        self.names = [
            self._name(f"value_{k}") if carried else source
            for k, (carried, source) in enumerate(zip(self.carried, self.initial, strict=True))
        ]
        for name, arg in zip(self.names, self.values, strict=True):
            self.inner.types[name] = tensor_of(arg.type).dtype

    def _name(self, what: str) -> str:
        return self.model.names.unique(f"{self.op.node_name or self.op.op_type}_{what}")

    def finish(
        self, limit: str, flag: str, found: Sequence[str], go_on: str, infos: Sequence[Typed]
    ) -> None:
        """Write the Loop, whose body gives `found` and goes on when `go_on` is true."""
        outputs = [(self._own(go_on), FLAG)]
        given = zip(found, yielded(self.body), self.carried, strict=True)
        outputs += [(self._own(n), tensor_of(v.type)) for n, v, carried in given if carried]
        typed = zip(self.names, self.values, self.carried, strict=True)
        inputs = [(self.turn, COUNT), (self.go_on, FLAG)]
        inputs += [(name, tensor_of(arg.type)) for name, arg, carried in typed if carried]
        title = self._name("body")
        attrs: dict[str, Any] = {
            "body": self.model.close(self.inner, title, inputs, outputs, infos)
        }
        results = _results(self.graph, self.op.results)
        kept = list(zip(results, self.initial, self.carried, strict=True))
        self.graph.nodes.append(
            Node("Loop", [limit, flag, *(source for _, source, carried in kept if carried)],
                 [name for name, _, carried in kept if carried], attrs, name=self.op.node_name)
        )  # fmt: skip
        for name, source, carried in kept:
            if not carried:
                self.graph.nodes.append(Node("Identity", [source], [name], name=name))

    def _own(self, name: str) -> str:
        """The value under a name that only this output has."""
        own = self._name("next")
        self.inner.nodes.append(Node("Identity", [name], [own], name=own))
        return own


def write_while(op: GeOp, graph: Graph, model: Model) -> list[Typed]:
    """Loop without a limit."""
    cond, body = (region.block for region in op.regions)
    [flag] = yielded(cond)
    check_truth(flag)
    if all(arg is value for arg, value in zip(body.args, yielded(body), strict=True)):
        raise NoFormError("no turn changes a value")
    loop = _Loop(op, graph, model, body, 0)
    [name], infos = inline(model, cond, graph, loop.sources)
    graph.op = op
    start = _condition(graph, flag, name)
    found, inner_infos = inline(model, body, loop.inner, loop.names)
    [name], more = inline(model, cond, loop.inner, found)
    go_on = _condition(loop.inner, flag, name)
    loop.finish("", start, found, go_on, [*inner_infos, *more])
    return infos


def write_for(op: GeOp, graph: Graph, model: Model) -> list[Typed]:
    """Loop of ceil(|limit - start| / |delta|) turns; a turn's number is start + turn * delta."""
    body = op.regions[0].block
    loop = _Loop(op, graph, model, body, 3)
    if not any(loop.carried):
        raise NoFormError("no turn changes a value")
    start, limit, delta = (
        graph.add("Reshape", graph.cast(name, LONG), graph.const([], LONG))
        for name in loop.sources[:3]
    )
    step, one = graph.add("Abs", delta), graph.const(1, LONG)
    length = graph.add("Abs", graph.add("Sub", limit, start))
    turns = graph.add("Div", graph.add("Sub", graph.add("Add", length, step), one), step)
    graph.keep()
    inner = loop.inner
    inner.types |= graph.types
    number = inner.add("Add", start, inner.add("Mul", loop.turn, delta))
    shape = inner.const(list(graph.tensor(op.operands[0]).shape or ()), LONG)
    index = inner.add("Reshape", inner.cast(number, DataType.DT_INT32), shape)
    inner.keep()
    found, infos = inline(model, body, inner, [index, *loop.names])
    loop.finish(turns, "", found, loop.go_on, infos)
    return []


WRITERS: dict[str, Callable[[GeOp, Graph, Model], list[Typed]]] = {
    **dict.fromkeys(("If", "StatelessIf", "_If"), write_if),
    **dict.fromkeys(("Case", "StatelessCase"), write_case),
    **dict.fromkeys(("While", "StatelessWhile"), write_while),
    "For": write_for,
}
"""GE op -> the function that writes it; it raises NoFormError before it writes anything."""
