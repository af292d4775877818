"""What tests of replacing share: tensors by their names, boundaries, two small graphs."""

from __future__ import annotations

from graph_text import node
from xdsl.dialects.builtin import ArrayAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import SSAValue

from ge_xdsl.dialects.ge.op import GeOp
from ge_xdsl.pattern.rewrite import Boundary

PAIR = "x\n a = Abs(x)\n y = Neg(a)\n return y"
ONE = "a\n n = Neg(a)\n return n"


def value(func: FuncOp, name: str) -> SSAValue:
    """A tensor of a graph: `n`, `n:1` or a graph input `x`."""
    base, _, index = name.partition(":")
    names = [op.node_name for op in func.walk() if isinstance(op, GeOp)]
    if base in names:
        return node(func, base).results[int(index or 0)]
    inputs = func.attributes["ge.input_names"]
    assert isinstance(inputs, ArrayAttr)
    return func.body.block.args[[str(n.data) for n in inputs].index(base)]


def boundary(func: FuncOp, inputs: str, outputs: str) -> Boundary:
    return Boundary(
        [value(func, n) for n in inputs.split()], [value(func, n) for n in outputs.split()]
    )
