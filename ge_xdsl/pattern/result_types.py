"""Result types of new ops, inferred once for all ops that look the same."""

from __future__ import annotations

from typing import TypeAlias

from xdsl.dialects.builtin import NoneAttr
from xdsl.ir import Attribute, SSAValue

from ge_xdsl.dialects.ge.data import ConstantOp, ConstOp
from ge_xdsl.dialects.ge.op import GeOp, KnownValues, set_type
from ge_xdsl.pattern.access import operands_of, producer, type_of

LIMIT = 4096
"""How many kinds of ops are remembered; then all are forgotten."""

_Key: TypeAlias = tuple[object, ...]
_Known: TypeAlias = tuple[list[Attribute], list[Attribute]]
_KNOWN: dict[_Key, _Known | None] = {}
"""Class, result count, names and values of the properties and operand types (by identity), where
that is not enough (None) also the values of constant operands -> the result types, and what keeps
the identities alive."""


def infer_types(op: GeOp) -> bool:
    """`op.update_types()` for an op that has no attributes but its name.

    The answer is remembered. Whether it may depend on the values of constants. Raises
    VerifyException like `update_types`.
    """
    reads = KnownValues.reads
    if op.regions or len(op.attributes) > 1 or KnownValues.current:
        op.update_types()
        return True
    properties = op.properties
    operands = operands_of(op)
    held: list[Attribute] = [*properties.values(), *map(type_of, operands)]
    key = (type(op), len(op.results), *properties, *map(id, held))
    known = _KNOWN.get(key)
    on_values = known is None and key in _KNOWN
    if on_values:
        held += [value_of(v) for v in operands]
        key = (*key, *map(id, held[-len(operands) :]))
        known = _KNOWN.get(key)
    if known is not None:
        for result, attr in zip(op.results, known[0], strict=True):
            if type_of(result) is not attr:
                set_type(result, attr)
        return on_values
    op.update_types()
    on_values = on_values or KnownValues.reads != reads
    if operands:
        _remember(op, key, held, on_values)
    return on_values


def _remember(op: GeOp, key: _Key, held: list[Attribute], reads_values: bool) -> None:
    if len(_KNOWN) >= LIMIT:
        _KNOWN.clear()
    operands = operands_of(op)
    if reads_values and len(held) == len(op.properties) + len(operands):
        _KNOWN[key] = None
        held += [value_of(v) for v in operands]
        key = (*key, *map(id, held[-len(operands) :]))
    _KNOWN[key] = ([result.type for result in op.results], held)


def value_of(value: SSAValue) -> Attribute:
    """The value of a constant; something that is no value for any other tensor."""
    op = producer(value)
    if type(op) is ConstOp or type(op) is ConstantOp:
        return op.properties.get("value", NO_VALUE)
    return NO_VALUE


NO_VALUE = NoneAttr()
