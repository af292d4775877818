"""Arithmetic on sizes that the run tells, and the choice of one result of several."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

from ge_xdsl.dialects.ge.types import DataType
from ge_xdsl.importers.torch.builder import TorchBuilder
from ge_xdsl.importers.torch.call import Call, is_value

_OPERATORS = {
    "add": "Add", "eq": "Equal", "floordiv": "FloorDiv", "ge": "GreaterEqual",
    "getitem": "getitem", "gt": "Greater", "le": "LessEqual", "lt": "Less", "mod": "FloorMod",
    "mul": "Mul", "ne": "NotEqual", "neg": "Neg", "pow": "Pow", "sub": "Sub",
    "truediv": "RealDiv",
}  # fmt: skip

SYMBOLIC: dict[Callable[..., Any], str] = {
    **{getattr(operator, name): op_type for name, op_type in _OPERATORS.items()},
    math.trunc: "trunc",
}
"""Python function in a graph -> the GE op on i64 scalars that it is."""


def convert_symbolic(call: Call, g: TorchBuilder, args: Sequence[Any]) -> Any:
    """The result of a Python function on sizes."""
    kind = call.op_type
    if kind == "getitem":
        found = args[0][args[1]]
        if found is None and call.node.users:
            call.fail(
                f"result {args[1]} of '{call.node.args[0].name}' is asked for, it is not given"
            )
        return found
    if not any(is_value(arg) for arg in args):
        return call.node.target(*args)
    if kind == "trunc":
        return g.cast(g.part("Trunc", args[0]), DataType.DT_INT64)
    dtype = DataType.DT_INT64
    if kind == "RealDiv" or any(
        isinstance(a, float) or (is_value(a) and g.dtype(a) != dtype) for a in args
    ):
        dtype = DataType.DT_DOUBLE
    return g.op(kind, *(g.operand(arg, dtype) for arg in args))
