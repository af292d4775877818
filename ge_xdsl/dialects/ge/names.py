"""Node names: GE's unique strings, and the SSA names that stand for them in text."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import cast

from xdsl.dialects.builtin import ArrayAttr, StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Block, BlockArgument, Operation, SSAValue

from ge_xdsl.dialects.ge.op import GeOp
from ge_xdsl.dialects.ge.types import tensor_of

INPUT_NAMES = "ge.input_names"
"""Function attribute: the names of the graph inputs, in order."""
OUTPUT_NAMES = "ge.output_names"
INPUT_DIMS = "ge.input_dims"
"""Function attribute: the dimensions of each graph input with their symbolic names."""
METADATA = "ge.metadata"
"""Function attribute: what a model says of itself, keys and values in turn."""

_BAD = re.compile(r"[^\w$.-]", re.ASCII)
_VALID = re.compile(r"[A-Za-z_$.-][\w$.-]*", re.ASCII)


def ssa_name(name: str) -> str:
    """`name` with what an SSA name cannot hold replaced by underscores."""
    clean = _BAD.sub("_", name) or "_"
    return clean if _VALID.fullmatch(clean) else f"_{clean}"


def is_ssa_name(name: str) -> bool:
    return _VALID.fullmatch(name) is not None


def string_list(op: Operation, key: str) -> list[str]:
    """A list-of-strings attribute of an op, [] when it is not there."""
    attr = op.attributes.get(key)
    if not isinstance(attr, ArrayAttr):
        return []
    items = cast("ArrayAttr[Attribute]", attr)
    return [item.data for item in items if isinstance(item, StringAttr)]


def set_string_list(op: Operation, key: str, names: Iterable[str]) -> None:
    op.attributes[key] = ArrayAttr([StringAttr(name) for name in names])


def input_names(func: FuncOp) -> list[str]:
    """The names of the graph inputs; a nameless one is `input_<index>`."""
    names = string_list(func, INPUT_NAMES)
    count = len(func.body.block.args)
    return [names[i] if i < len(names) and names[i] else f"input_{i}" for i in range(count)]


def symbolic_dims(func: FuncOp) -> list[list[str]]:
    """The names of the dimensions of each graph input, '' for one without; [] of unknown rank."""
    texts = string_list(func, INPUT_DIMS)
    found: list[list[str]] = []
    for index, arg in enumerate(func.body.block.args):
        rank = len(tensor_of(arg.type).shape or ())
        words = texts[index].split(", ") if index < len(texts) and texts[index] else []
        named = words if len(words) == rank else [""] * rank
        found.append(["" if word == "?" or word.isdecimal() else word for word in named])
    return found


def output_names(func: FuncOp) -> list[str]:
    """The names of the graph outputs; a nameless one is `output_<index>`."""
    names = string_list(func, OUTPUT_NAMES)
    last = func.body.block.last_op
    count = len(last.operands) if last is not None else 0
    return [names[i] if i < len(names) and names[i] else f"output_{i}" for i in range(count)]


def all_names(func: Operation) -> set[str]:
    """Every node name in a graph and its subgraphs."""
    return {op.node_name for op in func.walk() if isinstance(op, GeOp)} - {""}


def ensure_names(func: FuncOp) -> None:
    """Give every nameless node a name `<Type>_<k>` that is unique in the graph."""
    taken = all_names(func) | set(input_names(func))
    counters: dict[str, int] = {}
    for op in func.walk():
        if isinstance(op, GeOp) and not op.node_name and op.results:
            op.node_name = fresh_name(op.op_type, taken, counters)


def fresh_name(stem: str, taken: set[str], counters: dict[str, int]) -> str:
    """The first `<stem>_<k>` that is not taken; notes it as taken."""
    k = counters.get(stem, 0)
    while f"{stem}_{k}" in taken:
        k += 1
    counters[stem] = k + 1
    name = f"{stem}_{k}"
    taken.add(name)
    return name


def describe(op: Operation) -> str:
    """How an error names an op: `ge.Conv2D 'conv1'`."""
    name = op.node_name if isinstance(op, GeOp) else ""
    return f"{op.name} '{name}'" if name else op.name


def describe_value(value: SSAValue) -> str:
    """How a message names a value: the node's name, or the graph input's."""
    owner = value.owner
    if isinstance(value, BlockArgument):
        assert isinstance(owner, Block)
        parent = owner.parent_op()
        if isinstance(parent, FuncOp):
            return f"graph input '{input_names(parent)[value.index]}'"
        return f"subgraph input {value.index}"
    assert isinstance(owner, Operation)
    return describe(owner)
