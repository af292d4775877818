"""What rewrite rules share: who reads a value, and replacing ops by new ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter
from xdsl.utils.exceptions import VerifyException

from ge_xdsl.dialects.ge.data import ConstOp
from ge_xdsl.dialects.ge.names import describe
from ge_xdsl.dialects.ge.op import GeOp, operand_tensors, set_type
from ge_xdsl.dialects.ge.shapes import shape_text
from ge_xdsl.dialects.ge.types import Tensor, compatible, tensor_of
from ge_xdsl.dialects.ge.weights import const_attr
from ge_xdsl.pattern.access import (
    control_sources,
    control_successors,
    data_uses,
    producer,
    user_of,
)
from ge_xdsl.pattern.provenance import GraphNames, Origins, fuse_problem, graph_of, inherit

if TYPE_CHECKING:
    from ge_xdsl.dialects.ge.types import Array


class NamePool:
    """Unique names for new nodes, shared by the rules of a pass: one look at each graph."""

    def __init__(self) -> None:
        self._by_root: dict[Operation | None, GraphNames] = {}

    def unique(self, near: Operation, name: str) -> str:
        """`name`, with a number when a node of the graph around `near` has it already."""
        root = graph_of(near.parent_op())
        known = self._by_root.get(root)
        if known is None:
            known = self._by_root[root] = GraphNames(root)
        return known.unique(name)


def tensor(value: SSAValue) -> Tensor:
    return tensor_of(value.type)


def consumers(value: SSAValue) -> list[Operation]:
    """The ops that read a value, one entry per use; graph outputs count, control edges do not."""
    return [user_of(use) for use in data_uses(value)]


def sole_consumer(value: SSAValue, what: str) -> Operation | str:
    """The one op that reads a value, or why there is none."""
    found = consumers(value)
    return found[0] if len(found) == 1 else f"{what} has {len(found)} consumers, expected 1"


def defining(value: SSAValue, *op_types: str) -> GeOp | None:
    """The GE op of one of these types that defines a value."""
    op = producer(value)
    return op if isinstance(op, GeOp) and op.op_type in op_types else None


def is_ordered(op: Operation) -> bool:
    """Whether a control edge starts or ends at an op."""
    return bool(control_successors(op) or control_sources(op))


def merge_problem(ops: Sequence[GeOp]) -> str:
    """Why ops cannot become one in the place of the last, '' when they can."""
    for op in ops[:-1]:
        if is_ordered(op):
            return f"{describe(op)} is at a control edge, expected none"
    return fuse_problem(ops)


def make_like(
    old: GeOp,
    cls: type[GeOp],
    inputs: Sequence[Any],
    attrs: Mapping[str, Any],
    extra: Mapping[str, Attribute],
) -> GeOp | str:
    """A new op, not inserted yet, with the result types and the name of `old`; or why not.

    The result types stay as they are, so that graph outputs keep theirs. `extra` are attributes
    that no prototype declares.
    """
    new = cls.build(
        *inputs,
        result_types=[result.type for result in old.results],
        node_name=old.node_name,
        **attrs,
    )
    new.source = old.source
    new.attributes.update(extra)
    problem = _type_problem(new)
    if problem:
        new.erase()
        return problem
    return new


def _type_problem(new: GeOp) -> str:
    try:
        found = new.inferred(operand_tensors(new))
    except VerifyException as error:
        return str(error)
    for have, value in zip(found or (), new.results, strict=False):
        if not compatible(have, tensor(value)):
            return f"{new.name} gives {have}, expected {value.type}"
    return ""


def fuse(rewriter: PatternRewriter, new: GeOp, replaced: Sequence[GeOp], rule: str) -> None:
    """Put `new` in the place of the last of `replaced`, whose results it takes over.

    The other replaced ops must have no reader but a replaced one.
    """
    last = replaced[-1]
    inherit([new], replaced)
    origins = Origins()
    origins.record([new], replaced, rule)
    rewriter.replace(last, new)
    origins.flush()
    for op in reversed(replaced[:-1]):
        rewriter.erase(op)


def bypass_problem(old: SSAValue, new: SSAValue) -> str:
    """Why the readers of `old` cannot read `new` instead, '' when they can."""
    op = producer(old)
    if op is not None and is_ordered(op):
        return f"{describe(op)} is at a control edge, expected none"
    if old.type != new.type:
        return f"operand is {new.type}, expected the type of the result, {old.type}"
    return ""


def static_bypass_problem(old: SSAValue, new: SSAValue) -> str:
    """As `bypass_problem`, where equal types prove equal shapes only when nothing is unknown."""
    if not tensor(new).is_static:
        return f"shape is {shape_text(tensor(new).shape)}, expected a static one"
    return bypass_problem(old, new)


class Emitter:
    """Builds the ops that replace one op; nothing is inserted before `replace`."""

    def __init__(self, old: GeOp, names: NamePool) -> None:
        self.old = old
        self.names = names
        self.ops: list[GeOp] = []

    def __call__(self, cls: type[GeOp], *inputs: SSAValue, **attrs: Any) -> SSAValue:
        """The first result of a new op, named after the replaced op and its own type."""
        new = cls.build(*inputs, **attrs)
        new.node_name = self._name(new.op_type)
        return self._add(new)

    def const(self, array: Array, role: str) -> SSAValue:
        """A constant, named after the replaced op and its role."""
        name = self._name(role)
        return self._add(ConstOp.build(value=const_attr(array, name), node_name=name))

    def _name(self, part: str) -> str:
        return self.names.unique(self.old, f"{self.old.node_name or self.old.op_type}_{part}")

    def _add(self, new: GeOp) -> SSAValue:
        new.source = self.old.source
        self.ops.append(new)
        return new.results[0]

    def replace(self, rewriter: PatternRewriter, *values: SSAValue) -> None:
        """Insert the ops and let `values` stand for the results of the replaced op.

        A new op that gives the first result takes the replaced op's name and result types.
        """
        for value, result in zip(values, self.old.results, strict=True):
            if result.first_use is not None and value.owner in self.ops:
                set_type(value, result.type)
        first = values[0].owner
        if isinstance(first, GeOp) and first in self.ops and self.old.node_name:
            first.node_name = self.old.node_name
        inherit(self.ops, [self.old])
        rewriter.replace(self.old, self.ops, list(values))
