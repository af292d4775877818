"""Making ops without the steps that xDSL's constructor takes for ops of any dialect.

It gives the fields their values one after the other through setters that undo earlier values; a
new op has none. That takes about three times as long, and making ops is most of an import.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Self

from xdsl.dialects.builtin import UNKNOWN_LOC, LocationAttr, StringAttr
from xdsl.ir import Attribute, Block, Operation, OpResult, Region, SSAValue, Use
from xdsl.ir.core import SSAValues


class QuickOperation(Operation):
    """An op that `create` makes quickly."""

    @classmethod
    def create(
        cls,
        *,
        operands: Sequence[SSAValue] = (),
        result_types: Sequence[Attribute] = (),
        properties: Mapping[str, Attribute] | None = None,
        attributes: Mapping[str, Attribute] | None = None,
        location: LocationAttr | None = None,
        successors: Sequence[Block] = (),
        regions: Sequence[Region] = (),
    ) -> Self:
        """The op that the inherited method makes, field by field."""
        if successors:
            return super().create(
                operands=operands, result_types=result_types, properties=properties or {},
                attributes=attributes or {}, location=location, successors=successors,
                regions=regions,
            )  # fmt: skip
        op = cls.__new__(cls)
        op._operands = values = SSAValues(operands)
        op._operand_uses = uses = tuple([Use(op, index) for index in range(len(values))])
        for value, use in zip(values, uses, strict=True):
            value.add_use(use)
        op.results = SSAValues([OpResult(kind, op, k) for k, kind in enumerate(result_types)])
        op.properties = {} if properties is None else dict(properties)
        op.attributes = {} if attributes is None else dict(attributes)
        op.location = UNKNOWN_LOC if location is None else location
        op.regions = ()
        for region in regions:
            op.add_region(region)
        return op


def string_attr(text: str) -> StringAttr:
    """`StringAttr(text)`, whose checks only concern other classes."""
    made = object.__new__(StringAttr)
    object.__setattr__(made, "data", text)
    return made
