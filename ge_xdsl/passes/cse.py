"""`ge-cse`: compute equal things once."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Block, Operation
from xdsl.passes import ModulePass

from ge_xdsl.dialects.ge.graph import functions
from ge_xdsl.dialects.ge.op import NAME
from ge_xdsl.dialects.ge.weights import WeightAttr
from ge_xdsl.passes.edits import Replacements, is_pure, ordered_ops, visit_order

if TYPE_CHECKING:
    from ge_xdsl.dialects.ge.types import Array

CONTENT_LIMIT = 1 << 20
"""Weights of at most this many bytes are compared by content, larger ones by their buffer."""


@dataclass(frozen=True)
class GeCsePass(ModulePass):
    """Replace an op by an earlier one with the same type, attributes and operands.

    Only within one block; node names do not count, and the first name stays. Ops with side
    effects, with subgraphs or at a control edge are left alone.
    """

    name = "ge-cse"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in functions(op):
            _merge_equal(func.body.block)


def _merge_equal(root: Block) -> None:
    known: dict[tuple[Hashable, ...], Operation] = {}
    blocks: dict[Block, set[Operation]] = {}
    replacements = Replacements()
    for op in visit_order(root):
        replacements.rewire(op)
        block = op.parent
        assert block is not None
        if block not in blocks:
            blocks[block] = ordered_ops(block)
        if op.regions or not op.results or not is_pure(op) or op in blocks[block]:
            continue
        first = known.setdefault(_key(op, block), op)
        if first is not op:
            replacements.replace(op, first.results)
    replacements.finish()


def _key(op: Operation, block: Block) -> tuple[Hashable, ...]:
    """What two ops must share to compute the same; attribute order does not count."""
    extra = {key: attr for key, attr in op.attributes.items() if key != NAME}
    return (
        block,
        op.name,
        tuple(op.operands),
        _attribute_key(op.properties),
        _attribute_key(extra),
        tuple(value.type for value in op.results),
    )


def _attribute_key(attributes: dict[str, Attribute]) -> Hashable:
    return tuple(
        (key, _weight_key(attr) if isinstance(attr, WeightAttr) else attr)
        for key, attr in sorted(attributes.items(), key=lambda item: item[0])
    )


def _weight_key(attr: WeightAttr) -> Hashable:
    """Equal for weights with the same values; a digest, so that no two are compared at length."""
    weight = attr.data
    if not weight.attached:
        return ("key", weight.key)
    array: Array = weight.array()
    if array.nbytes > CONTENT_LIMIT:
        return (weight.tensor, array.__array_interface__["data"][0], array.strides)
    import hashlib

    import numpy as np

    data = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    return (weight.tensor, hashlib.blake2b(data.data, digest_size=16).digest())
