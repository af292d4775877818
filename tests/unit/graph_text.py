"""Small graphs from a few lines of text, for tests of matching and rewriting.

x y[4,8]                      graph inputs, f32[4,4] unless a shape is given
m = MatMul(x, y) transpose_x1=True
c = Const 0.0                 or a Python list, `int64 [1, 2]`
s = Split(c, x) num_split=2 results=2
v = MatMulV2(x, y, -, b) typed=True     with the type of its first operand, not inferred
s -ctrl-> m                   a control edge
return m, s:1
"""

from __future__ import annotations

import ast
import re
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Region, SSAValue

from ge_xdsl.dialects.ge.data import ControlEdgeOp
from ge_xdsl.dialects.ge.names import INPUT_NAMES, set_string_list
from ge_xdsl.dialects.ge.op import GeOp
from ge_xdsl.dialects.ge.registry import op_class
from ge_xdsl.dialects.ge.types import DataType, Tensor
from ge_xdsl.dialects.ge.weights import const_attr
from ge_xdsl.pattern.compile import CompiledPattern, compile_pattern
from ge_xdsl.pattern.graph import PatternGraph
from ge_xdsl.pattern.match import MatcherConfig

_INPUT = re.compile(r"(\w+)(\[[\d, ]*\])?")


def graph(text: str, name: str = "main") -> FuncOp:
    """The function that the text states."""
    lines = [line.strip() for line in text.strip().splitlines() if line.strip()]
    inputs = [
        (m.group(1), tuple(ast.literal_eval(m.group(2))) if m.group(2) else (4, 4))
        for m in _INPUT.finditer("" if lines[0] == "-" else lines[0])
    ]
    block = Block(arg_types=[Tensor(DataType.DT_FLOAT, s).type for _, s in inputs])
    values: dict[str, SSAValue] = {n: a for (n, _), a in zip(inputs, block.args, strict=True)}
    edges: list[ControlEdgeOp] = []
    for line in lines[1:-1]:
        if "-ctrl->" in line:
            src, dst = (part.strip() for part in line.split("-ctrl->"))
            edges.append(ControlEdgeOp.build(values[src], values[dst]))
            continue
        op = _op(line, values)
        block.add_op(op)
        for i, result in enumerate(op.results):
            values[f"{op.node_name}:{i}"] = result
        values[op.node_name] = op.results[0]
    block.add_ops(edges)
    outs = [values[n.strip()] for n in lines[-1].removeprefix("return").split(",") if n.strip()]
    block.add_op(ReturnOp(*outs))
    types = ([a.type for a in block.args], [v.type for v in outs])
    func = FuncOp(name, types, Region(block))
    set_string_list(func, INPUT_NAMES, [n for n, _ in inputs])
    return func


def _op(line: str, values: dict[str, SSAValue]) -> GeOp:
    name, _, rest = line.partition(" = ")
    if rest.startswith(("Const ", "Constant ")):
        kind, _, literal = rest.partition(" ")
        dtype, _, tail = literal.partition(" ")
        array = np.array(
            ast.literal_eval(tail if tail and dtype.isidentifier() else literal),
            dtype if tail and dtype.isidentifier() else "float32",
        )
        return _class(kind).build(value=const_attr(array), node_name=name)
    head, _, tail = rest.partition(")")
    op_type, _, operands = head.partition("(")
    attrs: dict[str, Any] = {
        k: ast.literal_eval(v) for k, _, v in (a.partition("=") for a in tail.split())
    }
    names = [n.strip() for n in operands.split(",") if n.strip()]
    inputs: list[Any] = [None if n == "-" else values[n] for n in names]
    cls = _class(op_type)
    if cls.prototype.inputs and cls.prototype.inputs[-1].kind == "dynamic":
        fixed = len(cls.prototype.inputs) - 1
        inputs = [*inputs[:fixed], inputs[fixed:]]
    counts = attrs.pop("results", None)
    return cls.build(
        *inputs,
        node_name=name,
        result_counts=() if counts is None else (counts,),
        result_types=[values[names[0]].type] if attrs.pop("typed", False) else None,
        **attrs,
    )


def _class(op_type: str) -> type[GeOp]:
    cls = op_class(op_type)
    assert cls is not None, op_type
    return cls


def module_of(*funcs: FuncOp) -> ModuleOp:
    """A module that holds the functions."""
    return ModuleOp(list(funcs))


def node(func: FuncOp, name: str) -> GeOp:
    """The node of a graph by name."""
    return next(op for op in func.walk() if isinstance(op, GeOp) and op.node_name == name)


def types_of(func: FuncOp) -> list[str]:
    """The op types of a graph, in order, constants left out."""
    ops = [op for op in func.body.block.ops if isinstance(op, GeOp)]
    return [op.op_type for op in ops if op.op_type not in ("Const", "Constant")]


def pattern(text: str, *, name: str = "p", **config: bool) -> CompiledPattern:
    """A compiled pattern from a graph's text."""
    return compile_pattern(
        PatternGraph.from_function(graph(text, name), name=name), MatcherConfig(**config)
    )
