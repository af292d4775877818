"""`ge.graph`: graphs, nodes, tensors and their descriptions."""

from __future__ import annotations

from ge_xdsl.compat.ge.graph.graph import DumpFormat, Graph
from ge_xdsl.compat.ge.graph.node import Node
from ge_xdsl.compat.ge.graph.operator import Operator
from ge_xdsl.compat.ge.graph.tensor import Tensor
from ge_xdsl.compat.ge.graph.tensor_desc import Shape, TensorDesc
from ge_xdsl.compat.ge.graph.types import DataType, Format, Placement

__all__ = [
    "DataType",
    "DumpFormat",
    "Format",
    "Graph",
    "Node",
    "Operator",
    "Placement",
    "Shape",
    "Tensor",
    "TensorDesc",
]
