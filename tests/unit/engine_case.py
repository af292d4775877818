"""What the conformance tests of the engine share."""

from __future__ import annotations

import numpy as np
from graph_text import node
from xdsl.dialects.func import FuncOp
from xdsl.ir import SSAValue

from ge_xdsl.dialects.ge.names import input_names
from ge_xdsl.interpreters.ge import run_function
from ge_xdsl.pattern.boundary import Boundary
from ge_xdsl.pattern.compile import CompiledPattern
from ge_xdsl.pattern.index import BlockIndex
from ge_xdsl.pattern.match import Match


def all_matches(compiled: CompiledPattern, func: FuncOp) -> list[Match]:
    """What MatchNext gives one after another: each candidate of output 0 once, in node order."""
    index = BlockIndex(func.body.block)
    queue, _ = index.candidates(list(compiled.root_classes))
    return [match for op in queue if (match := compiled.match(op, index)) is not None]


def unary(text: str) -> str:
    return f"a\n y = {text}\n return y"


def tensor(func: FuncOp, name: str) -> SSAValue:
    base, _, index = name.partition(":")
    given = list(input_names(func))
    if base in given:
        return func.body.block.args[given.index(base)]
    return node(func, base).results[int(index or 0)]


def boundary(func: FuncOp, inputs: str, outputs: str) -> Boundary:
    values = [[tensor(func, n) for n in part.split()] for part in (inputs, outputs)]
    return Boundary(*values)


def outputs_of(func: FuncOp) -> list[np.ndarray]:
    arrays = {
        name: np.random.default_rng(i).standard_normal(arg.type.get_shape()).astype(np.float32)
        for i, (name, arg) in enumerate(zip(input_names(func), func.body.block.args, strict=True))
    }
    return run_function(func, arrays)
