"""Verification of one op: counts against the prototype, attributes by kind, types by `infer`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING

from xdsl.utils.exceptions import VerifyException

from ge_xdsl.dialects.ge.prototype import (
    KIND_WORDS,
    OPERAND_SEGMENTS,
    RESULT_SEGMENTS,
    Io,
    has_kind,
)
from ge_xdsl.dialects.ge.prototypes import prototype_of
from ge_xdsl.dialects.ge.types import DataType, compatible, is_tensor_type, tensor_of

if TYPE_CHECKING:
    from xdsl.ir import SSAValue

    from ge_xdsl.dialects.ge.op import GeOp


def check_arity(op: GeOp) -> None:
    """Operand, result and region counts against the prototype."""
    proto = op.prototype
    for what, ios, counts in (
        ("operand", proto.inputs, op.operand_counts()),
        ("result", proto.outputs, op.result_counts()),
    ):
        actual = len(op.operands if what == "operand" else op.results)
        actual -= what == "result" and op.token and actual == 1
        if len(counts) != len(ios) or sum(counts) != actual:
            raise VerifyException(f"has {actual} {what}s, expected {_arity_text(ios)}")
        for io, count in zip(ios, counts, strict=True):
            if count < 0 or (io.kind != "dynamic" and count > 1) or _is_gap(io, count):
                raise VerifyException(f"has {actual} {what}s, expected {_arity_text(ios)}")
    static = sum(graph.kind == "static" for graph in proto.subgraphs)
    if len(op.regions) < static or (len(op.regions) > static and static == len(proto.subgraphs)):
        raise VerifyException(f"has {len(op.regions)} regions, expected {static}")


def _is_gap(io: Io, count: int) -> bool:
    return io.kind == "required" and count != 1


def _arity_text(ios: Sequence[Io]) -> str:
    required = sum(io.kind == "required" for io in ios)
    if any(io.kind == "dynamic" for io in ios):
        return f"{required} or more"
    if required < len(ios):
        return f"{required} to {len(ios)}"
    return str(required)


_HIDDEN = frozenset({OPERAND_SEGMENTS, RESULT_SEGMENTS})


def check_attrs(op: GeOp) -> None:
    """Declared attributes: no unknown one, none missing, each of its kind."""
    proto = op.prototype
    for name, attr in op.properties.items():
        if name in _HIDDEN:
            continue
        spec = proto.attr_by_name.get(name)
        if spec is None:
            known = ", ".join(proto.attr_by_name) or "none"
            raise VerifyException(f"attribute '{name}' is not in the prototype, expected: {known}")
        if not has_kind(attr, spec.kind):
            raise VerifyException(f"attribute '{name}' is {attr}, expected {KIND_WORDS[spec.kind]}")
    for spec in proto.attrs:
        if spec.required and spec.name not in op.properties:
            raise VerifyException(f"attribute '{spec.name}' is missing, it is required")


def check_types(op: GeOp) -> None:
    """Result types against `infer`."""
    for i, value in enumerate(op.results):
        if not is_tensor_type(value.type):
            raise VerifyException(f"result #{i} is {value.type}, expected a tensor")
    inferred = op.inferred()
    if inferred is None:
        return
    if len(inferred) != len(op.results):
        raise VerifyException(f"has {len(op.results)} results, expected {len(inferred)}")
    for i, (tensor, value) in enumerate(zip(inferred, op.results, strict=True)):
        if not compatible(tensor, tensor_of(value.type)):
            raise VerifyException(f"result #{i} is {value.type}, infer gives {tensor.type}")


LISTED = 6
"""Most element types that a message lists."""


def foreign_element_type(op: GeOp) -> str:
    """The first operand or result whose element type GE's table does not list for it, else ''.

    GE's own ops only: the prototype of a class that users register tells no types. An undefined
    type passes, and so does any where the table lists none.
    """
    table = _element_types(op.op_type)
    if table is None:
        return ""
    for what, ios, values, allowed in (
        ("operand", op.prototype.inputs, _slots(op.operand_counts(), op.operands), table[0]),
        ("result", op.prototype.outputs, _slots(op.result_counts(), op.results), table[1]),
    ):
        for slot, value in values:
            types = allowed[slot]
            dtype = tensor_of(value.type).dtype
            if types and dtype not in types and dtype is not DataType.DT_UNDEFINED:
                name = ios[slot].name
                return f"{what} '{name}' is {dtype.name}, expected {_type_list(types)}"
    return ""


def _slots(counts: Sequence[int], values: Sequence[SSAValue]) -> Iterator[tuple[int, SSAValue]]:
    """Each value with the number of the declared operand or result that it belongs to."""
    start = 0
    for slot, count in enumerate(counts):
        for value in values[start : start + count]:
            yield slot, value
        start += count


_Types = tuple[tuple[DataType, ...], ...]


@cache
def _element_types(op_type: str) -> tuple[_Types, _Types] | None:
    """The element types of each operand and result in GE's table; None when it lists none."""
    proto = prototype_of(op_type)
    if proto is None or not any(io.dtypes for io in (*proto.inputs, *proto.outputs)):
        return None
    return tuple(io.dtypes for io in proto.inputs), tuple(io.dtypes for io in proto.outputs)


def _type_list(types: Sequence[DataType]) -> str:
    names = [dtype.name for dtype in types[:LISTED]]
    return ", ".join(names) + (", ..." if len(types) > LISTED else "")
