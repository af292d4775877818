"""Graphs that are given to an op such as If: what they must be, and how they become its regions."""

# The API names its own internals with underscores; this package shares them.
# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

from xdsl.dialects.func import FuncOp
from xdsl.ir import Block

from ge_xdsl.compat.ge.graph.graph import Graph, function_of
from ge_xdsl.dialects.ge.data import YieldOp
from ge_xdsl.dialects.ge.names import INPUT_NAMES, string_list
from ge_xdsl.dialects.ge.nodes import INPUT_TYPES, SUBGRAPH_NAMES, set_argument_strings
from ge_xdsl.dialects.ge.prototype import encode
from ge_xdsl.dialects.ge.types import DataType, Tensor

if TYPE_CHECKING:
    from ge_xdsl.compat.ge.es.graph_builder import GraphBuilder
    from ge_xdsl.dialects.ge.op import GeOp

_UNDEFINED = Tensor(DataType.DT_UNDEFINED, None).type
_NO_HANDLE = "Tensor handle cannot be None"
"""What GE says when it refuses to make a node."""


def graph_list(op_type: str, parameter: str, value: Any) -> list[Graph]:
    """The graphs of one argument; raises TypeError for anything else."""
    found = cast("list[Any]", value) if isinstance(value, list) else [value]
    if not all(isinstance(graph, Graph) for graph in found):
        raise TypeError(f"{op_type}() argument '{parameter}' is no Graph, expected one")
    return cast("list[Graph]", found)


def check_graphs(
    op_type: str, graphs: Sequence[tuple[str, Graph]], inputs: int, outputs: int | None
) -> None:
    """Raise for a graph that cannot be a subgraph; none is changed.

    `graphs` are (parameter, graph). `inputs`: tensors that the op hands over. `outputs`: how many
    it expects back, which the condition of a loop is exempt from.
    """
    seen: list[Graph] = []
    for parameter, graph in graphs:
        if not graph._owns_handle or any(graph is other for other in seen):
            owner = graph._owner.name if graph._owner is not None else op_type
            raise RuntimeError(
                f"Graph :{graph.name} already has an new owner builder :{owner}, "
                "cannot transfer ownership again"
            )
        seen.append(graph)
        func = function_of(graph)
        if func is None:
            raise RuntimeError("Graph handle is empty, expected one that a GraphBuilder built")
        block = func.body.block
        last = block.last_op
        given = len(last.operands) if last is not None else 0
        if len(block.args) > inputs:
            what = f"has {len(block.args)} inputs, expected at most {inputs}"
        elif outputs is not None and given != outputs and parameter != "cond":
            what = f"has {given} outputs, expected {outputs}"
        else:
            continue
        raise ValueError(
            f"{_NO_HANDLE}: graph '{graph.name}' for '{parameter}' of {op_type} {what}"
        )


def attach(made: GeOp, graphs: Sequence[Graph], builder: GraphBuilder, inputs: int) -> None:
    """Make checked graphs the regions of an op; their inputs are filled up to the op's."""
    names: list[str] = []
    for graph in graphs:
        func = function_of(graph)
        assert func is not None
        graph._transfer_ownership_when_pass_as_subgraph(builder)
        names.append(func.sym_name.data)
        _attach_one(made, func, inputs)
    if names:
        made.attributes[SUBGRAPH_NAMES] = encode("ListString", names)


def _attach_one(made: GeOp, func: FuncOp, inputs: int) -> None:
    """Move a function's body into a new region: its return becomes a yield."""
    block: Block = func.body.block
    last = block.last_op
    assert last is not None
    yielded = YieldOp.build(list(last.operands))
    last.detach()
    last.erase()
    block.add_op(yielded)
    made.add_region(func.detach_region(0))
    for key in (INPUT_NAMES, INPUT_TYPES):
        listed = string_list(func, key)
        if listed and listed != [f"input_{i}" for i in range(len(listed))]:
            set_argument_strings(block, key, listed)
    while len(block.args) < inputs:
        block.insert_arg(_UNDEFINED, len(block.args))
