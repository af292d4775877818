"""Constraints in tables: a good operand list per op, and what makes each constraint refuse it.

    GOOD   SwiGlu | x: 2x8xf32 | dim=-1
    BAD    SwiGlu GLU | c3 | x: 2x7xf32 | x is 2x7, expected an even dimension 1

A row may name several ops. `+` joins the tensors of a dynamic input, `-` leaves an operand out;
`c3` may have a suffix (`c3_scalar`). Attributes are Python literals; `results` counts those of
dynamic outputs.
"""

import ast
import re

from xdsl.ir import Block

from ge_xdsl.dialects.ge.registry import op_class
from ge_xdsl.dialects.ge.types import DYNAMIC, DataType, Tensor

DTYPES = {
    "f64": DataType.DT_DOUBLE,
    "f32": DataType.DT_FLOAT,
    "f16": DataType.DT_FLOAT16,
    "bf16": DataType.DT_BF16,
    "f8": DataType.DT_FLOAT8_E5M2,
    "i4": DataType.DT_INT4,
    "i8": DataType.DT_INT8,
    "i16": DataType.DT_INT16,
    "i32": DataType.DT_INT32,
    "i64": DataType.DT_INT64,
    "u8": DataType.DT_UINT8,
    "u64": DataType.DT_UINT64,
    "i1": DataType.DT_BOOL,
}


def tensor(text):
    """`2x?xf32`, `f32` (a scalar) or `*xf32` (unknown rank)."""
    *dims, dtype = text.split("x")
    if dims == ["*"]:
        return Tensor(DTYPES[dtype], None)
    return Tensor(DTYPES[dtype], tuple(DYNAMIC if d == "?" else int(d) for d in dims))


def settings(text):
    """`x: 2xf32, y: 3xf32; axis=1` -> operands (None, a tensor or a list), attributes."""
    left, _, right = text.partition(";")
    operands = {}
    for item in filter(None, (t.strip() for t in left.split(","))):
        name, _, types = item.partition(":")
        parts = [t.strip() for t in types.split("+")]
        operands[name] = None if parts == ["-"] else [tensor(t) for t in parts]
    attrs = {}
    for item in filter(None, (t.strip() for t in re.split(r",(?![^\[(]*[\])])", right))):
        name, _, value = item.partition("=")
        attrs[name.strip()] = ast.literal_eval(value)
    return operands, attrs


def rows(text):
    """The cells of each line that is neither blank nor a `#` comment."""
    lines = (line.strip() for line in text.splitlines())
    return [[c.strip() for c in line.split("|")] for line in lines if line and line[0] != "#"]


def good(text):
    """Op -> its operands and attributes."""
    return {op: settings(cell) for names, cell in rows(text) for op in names.split()}


def bad(text, snake):
    """Case name -> (op, changed operands, changed attributes, message)."""
    found = {}
    for names, constraint, change, message in rows(text):
        for op in names.split():
            name = f"{snake(op)}_{constraint}"
            assert name not in found, f"{name} stands twice"
            found[name] = (op, *settings(change), message)
    return found


def build(op_type, operands, attrs):
    """The op on graph inputs of these types; raises VerifyException as `infer` does."""
    cls = op_class(op_type)
    block = Block()
    inputs = []
    for io in cls.prototype.inputs:
        given = operands.get(io.name) or []
        values = [block.insert_arg(t.type, len(block.args)) for t in given]
        inputs.append(values if io.kind == "dynamic" else values[0] if values else None)
    unknown = set(operands) - {io.name for io in cls.prototype.inputs}
    assert not unknown, f"{op_type} has no operand {unknown}"
    plain = {name: value for name, value in attrs.items() if name != "results"}
    return cls.build(*inputs, result_counts=attrs.get("results", ()), **plain)
