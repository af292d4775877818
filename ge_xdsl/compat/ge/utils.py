"""`ge.utils`: shape inference of a graph, and whether a node runs on the AI core."""

# The API names its own internals with underscores; this package shares them.
# pyright: reportPrivateUsage=false

from __future__ import annotations

from typing import cast

from ge_xdsl.compat.ge.graph.graph import Graph, function_of, update_function_type
from ge_xdsl.compat.ge.graph.node import Node
from ge_xdsl.compat.ge.graph.tensor_desc import is_int_list, shape_of
from ge_xdsl.compat.ge.passes.infer import infer_block, kept_on_failure
from ge_xdsl.dialects.ge.op import GeOp, set_type
from ge_xdsl.dialects.ge.types import tensor_of

__all__ = ["GeUtils"]


class GeUtils:
    """Helpers for passes."""

    @staticmethod
    def infer_shape(graph: Graph, input_shapes: list[list[int]]) -> None:
        """Give the inputs these shapes, by index, and infer every node; the graph stays on failure.

        Raises RuntimeError when the shapes do not fit the graph.
        """
        if not isinstance(cast("object", graph), Graph):
            raise TypeError("graph must be a Graph")
        _check_shapes(input_shapes)
        func = function_of(graph)
        if func is None:
            raise RuntimeError("Failed to infer shape: graph is empty, expected a whole one")
        block = func.body.block
        if len(input_shapes) != len(block.args):
            raise RuntimeError(
                f"Failed to infer shape: {len(input_shapes)} shapes, expected {len(block.args)}"
            )
        with kept_on_failure(block):
            for arg, dims in zip(block.args, input_shapes, strict=True):
                set_type(arg, tensor_of(arg.type).with_shape(shape_of(dims)).type)
            infer_block(block, "Failed to infer shape")
        update_function_type(func)

    @staticmethod
    def check_node_support_on_aicore(node: Node) -> tuple[bool, str]:
        """Whether this project lowers a node's op to the AI core, and why not.

        Raises RuntimeError for a node that is no longer in a graph.
        """
        from ge_xdsl.lowering import lowered_op_types

        if not isinstance(cast("object", node), Node):
            raise TypeError("node must be a Node")
        handle = node._live("type")
        kind = node.type
        if isinstance(handle, GeOp) and kind in lowered_op_types():
            return True, ""
        return False, f"op type {kind} has no lowering to the AI core"


def _check_shapes(shapes: object) -> None:
    if not isinstance(shapes, list):
        raise TypeError("input_shapes must be a list of shape lists")
    for dims in cast("list[object]", shapes):
        if not isinstance(dims, list):
            raise TypeError("input_shapes must be a list of shape lists")
        if not is_int_list(cast("object", dims)):
            raise TypeError("each shape dim must be an integer")
