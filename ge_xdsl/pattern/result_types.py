"""Result types of new ops, inferred once for all ops that look the same."""

from __future__ import annotations

from typing import TypeAlias

from xdsl.ir import Attribute

from ge_xdsl.dialects.ge.op import GeOp, KnownValues, set_type
from ge_xdsl.pattern.access import operands_of, type_of

LIMIT = 4096
"""How many kinds of ops are remembered; then all are forgotten."""

_Key: TypeAlias = tuple[object, ...]
_KNOWN: dict[_Key, tuple[list[Attribute], list[Attribute]]] = {}
"""Class, result count, names and values of the properties and operand types (by identity) ->
the result types, and what keeps the identities alive."""


def infer_types(op: GeOp) -> None:
    """`op.update_types()` for an op that has no attributes but its name.

    The answer is remembered unless it depends on subgraphs or on the value of a constant. Raises
    VerifyException like `update_types`.
    """
    if op.regions or len(op.attributes) > 1:
        op.update_types()
        return
    properties = op.properties
    values: list[Attribute] = [*properties.values(), *map(type_of, operands_of(op))]
    key = (type(op), len(op.results), *properties, *map(id, values))
    known = _KNOWN.get(key)
    if known is not None:
        for result, attr in zip(op.results, known[0], strict=True):
            if type_of(result) is not attr:
                set_type(result, attr)
        return
    reads = KnownValues.reads
    op.update_types()
    if KnownValues.reads == reads and operands_of(op):
        if len(_KNOWN) >= LIMIT:
            _KNOWN.clear()
        _KNOWN[key] = ([result.type for result in op.results], values)
