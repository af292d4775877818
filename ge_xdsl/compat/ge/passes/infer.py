"""`ge.passes.infer_shape`: types of a replacement from the tensors that it will read."""

# The API names its own internals with underscores; this package shares them.
# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from xdsl.ir import Block, Operation, SSAValue
from xdsl.utils.exceptions import VerifyException

from ge_xdsl.compat.ge.graph.graph import Graph, function_of, update_function_type
from ge_xdsl.compat.ge.graph.node import Node, handle_behind
from ge_xdsl.compat.ge.passes.subgraph import SubgraphBoundary
from ge_xdsl.compat.ge.passes.values import MatchResult
from ge_xdsl.dialects.ge.graph import topological_order
from ge_xdsl.dialects.ge.names import describe
from ge_xdsl.dialects.ge.op import GeOp, KnownValues, constant_of, set_type
from ge_xdsl.pattern.driver import node_boundary

if TYPE_CHECKING:
    from ge_xdsl.dialects.ge.types import Array


def infer_shape(replacement: Graph, source: MatchResult | Node | SubgraphBoundary) -> None:
    """Give the replacement's inputs the types of the boundary's, and infer its nodes in place.

    Constants among the boundary's inputs are known to value-dependent inference. Raises
    RuntimeError when an input is missing or a node does not take its operands.
    """
    if not isinstance(replacement, Graph):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError("replacement must be a ge.graph.Graph")
    inputs, name = _boundary_inputs(source)
    func = function_of(replacement)
    if func is None:
        raise RuntimeError("replacement graph was taken over, expected a live one")
    block = func.body.block
    if not block.args and block.first_op is block.last_op:
        raise RuntimeError("replacement graph is empty")
    what = f"replacement_graph={replacement.name}, source_type={type(source).__name__}{name}"
    known: dict[SSAValue, Array] = {}
    with kept_on_failure(block):
        for arg in block.args:
            value = inputs.get(arg.index)
            if value is None:
                raise RuntimeError(
                    f"infer_shape failed, {what}: the boundary has no input {arg.index}"
                )
            set_type(arg, value.type)
            array = constant_of(value)
            if array is not None:
                known[arg] = array
        with KnownValues(known):
            infer_block(block, f"infer_shape failed, {what}")
    update_function_type(func)


@contextmanager
def kept_on_failure(block: Block) -> Generator[None]:
    """Give every value of a graph its type back when the `with` ends in a RuntimeError."""
    kept = [(value, value.type) for value in _values(block)]
    try:
        yield
    except RuntimeError:
        for value, attr in kept:
            set_type(value, attr)
        raise


def _values(block: Block) -> list[SSAValue]:
    """Every value of a graph and its subgraphs."""
    found: list[SSAValue] = [*block.args]
    ops: list[Operation] = [op for top in block.ops for op in top.walk()]
    for op in ops:
        found += op.results
        found += [arg for region in op.regions for inner in region.blocks for arg in inner.args]
    return found


def infer_block(block: Block, failure: str) -> None:
    """Infer the nodes of a graph in place, and of their subgraphs.

    Raises RuntimeError with the text `failure` for a node that does not take its operands, and
    for a cycle.
    """
    order = topological_order(block)
    if order is None:
        raise RuntimeError(f"{failure}: the nodes form a cycle, expected none")
    for op in order:
        if isinstance(op, GeOp):
            for region in op.regions:
                _hand_down(op, region.block)
                infer_block(region.block, failure)
            _infer(op, failure)


def _hand_down(op: GeOp, block: Block) -> None:
    """Give the inputs of a subgraph the types of the op's last operands."""
    values = list(op.operands)[len(op.operands) - len(block.args) :]
    for arg, value in zip(block.args, values, strict=False):
        set_type(arg, value.type)


def _infer(op: GeOp, failure: str) -> None:
    try:
        op.update_types()
    except (VerifyException, ValueError) as error:
        raise RuntimeError(f"{failure}: {describe(op)}: {error}") from None


def _boundary_inputs(source: object) -> tuple[Mapping[int, SSAValue], str]:
    """The tensor of each boundary input by index, and what names the source in a message."""
    if isinstance(source, MatchResult):
        match = source._live()
        return dict(enumerate(match.boundary.inputs)), f", source_name={match.pattern_name}"
    if isinstance(source, Node):
        name = source.name
        handle = handle_behind(source)
        values = node_boundary(handle).inputs if isinstance(handle, GeOp) else ()
        return dict(enumerate(values)), f", source_name={name}"
    if isinstance(source, SubgraphBoundary):
        given = {index: part._value() for index, part in source._inputs.items()}
        return {index: value for index, value in given.items() if value is not None}, ""
    raise TypeError("source must be MatchResult, Node, or SubgraphBoundary")
