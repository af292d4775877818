"""A GE graph into kernels, launches and views, in place.

Each family of ops has a file with `TYPES`, `reason(op, target)` and `unit(op, target)`; chains of
elementwise and row ops are grouped to one vector kernel. Equal kernels are made once. What has no
lowering stays, with an attribute that says why.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Block, Operation, SSAValue

from ge_xdsl.dialects.ge.graph import functions, root_blocks
from ge_xdsl.dialects.ge.names import ensure_names
from ge_xdsl.dialects.ge.op import CONSTANT_TYPES, GeOp
from ge_xdsl.lowering import (
    attention,
    conv,
    elementwise,
    gather,
    matmul,
    moves,
    pool,
    split_k,
    views,
)
from ge_xdsl.lowering.calls import reason_of_call
from ge_xdsl.lowering.expand import EXPANSIONS, expand_block
from ge_xdsl.lowering.placement import place_buffers
from ge_xdsl.lowering.sync import insert_sync
from ge_xdsl.lowering.tile_choice import TILE, Choice, choice, choose
from ge_xdsl.lowering.unit import Kernels, Placer, Unit
from ge_xdsl.targets import Target, target

TILED = matmul.TYPES | conv.TYPES
"""The op types whose lowering obeys a tile."""
REASON = "aicore.reason"
"""Attribute of a GE op that was not lowered: why."""
SILENT = CONSTANT_TYPES | {"NoOp", "control_edge", "unconnected", "yield"}
"""Ops that compute nothing, so need no lowering."""


class Family(Protocol):
    """A file of lowerings of single ops."""

    def reason(self, op: GeOp, target: Target) -> str: ...

    def unit(self, op: GeOp, target: Target) -> Unit: ...


FAMILIES: dict[str, Family] = {
    **dict.fromkeys(sorted(matmul.TYPES), split_k),
    **dict.fromkeys(sorted(conv.TYPES), conv),
    **dict.fromkeys(sorted(pool.TYPES), pool),
    **dict.fromkeys(sorted(moves.TYPES), moves),
    **dict.fromkeys(sorted(gather.TYPES), gather),
    **dict.fromkeys(sorted(attention.TYPES), attention),
    **dict.fromkeys(sorted(views.TYPES), views),
}
"""Op type -> the file that lowers it; the others are chained by `elementwise`."""


def lower(
    module: ModuleOp, chip: Target | str, tile: Sequence[int] | str | None = None
) -> ModuleOp:
    """A new module with the kernels, their flags, and launches; `module` is left as it is.

    `tile` is M,N,K for all matrix products and convolutions on the cube that have no tile of their
    own. Raises UsageError for an unknown target and for what is no tile, CompileError for a tile
    that does not fit.
    """
    lowered = module.clone()
    for old, new in zip(module.walk(), lowered.walk(), strict=True):
        if isinstance(old, GeOp) and isinstance(new, GeOp):
            new.source = old.source
    convert(lowered, target(chip), choice(tile))
    place_buffers(lowered, target(chip))
    insert_sync(lowered)
    return lowered


def convert(module: ModuleOp, chip: Target, tile: Choice | None = None) -> None:
    """Lower every graph of a module and its subgraphs in place.

    `tile` is that of the products that have none.
    """
    kernels = Kernels(module)
    for func in functions(module):
        ensure_names(func)  # reports count ops by name
        for block in list(root_blocks(func)):
            _convert_block(block, kernels, chip, tile)


def decompose(module: ModuleOp, chip: Target) -> None:
    """Replace the ops that have no kernel by graphs of ops that have one, in place."""
    for func in functions(module):
        for block in list(root_blocks(func)):
            expand_block(block, lambda op: reason_of(op, chip))
        ensure_names(func)


def _convert_block(block: Block, kernels: Kernels, chip: Target, tile: Choice | None) -> None:
    """Lower the ops of a graph or of a subgraph."""
    refused = expand_block(block, lambda op: reason_of(op, chip))
    ops = list(block.ops)
    choose_all(ops, tile)
    units = {unit.ops[-1]: unit for unit in _units(ops, refused, chip)}
    inputs = {v.owner for unit in units.values() for op in unit.ops for v in op.operands}
    replaced: dict[SSAValue, SSAValue] = {}
    for op in ops:
        unit = units.get(op) if isinstance(op, GeOp) else None
        if unit is not None:
            _place(unit, kernels, replaced)
    for op in ops:
        # constants that became numbers in instructions
        known = op in inputs and isinstance(op, GeOp) and op.op_type in CONSTANT_TYPES
        if known and not any(list(value.uses) for value in op.results):
            op.detach()
            op.erase()


def choose_all(ops: Sequence[Operation], tile: Choice | None, only: Sequence[str] = ()) -> int:
    """Give the products (of the nodes named) that have no tile this one; how many got it."""
    count = 0
    for op in ops:
        if tile is None or not isinstance(op, GeOp) or op.op_type not in TILED:
            continue
        if TILE not in op.attributes and (not only or op.node_name in only):
            choose(op, tile)
            count += 1
    return count


def reason_of(op: GeOp, chip: Target) -> str:
    """Why an op has no kernel of its own, '' when it has."""
    return (_family(op, chip) or elementwise).reason(op, chip)


def _units(ops: Sequence[Operation], refused: Mapping[GeOp, str], chip: Target) -> list[Unit]:
    """What is lowered; every other GE op gets its reason as an attribute."""
    units: list[Unit] = []
    fused: set[Operation] = set()
    eligible: list[bool] = []
    for op in ops:
        takes = False
        if isinstance(op, GeOp) and op not in fused:
            family = _family(op, chip)
            why = (family or elementwise).reason(op, chip)
            if why and op.op_type not in SILENT and not op.regions:
                said = refused.get(op) or reason_of_call(op.op_type, why)
                op.attributes[REASON] = StringAttr(said)
            elif not why and family is not None:
                units.append(family.unit(op, chip))
                fused.update(units[-1].ops)
            else:
                takes = not why
        eligible.append(takes)
    chains = elementwise.units(ops, eligible, chip)
    # slices that a chain reads in place need no kernel
    taken = {op for unit in chains for op in unit.ops}
    return [unit for unit in units if unit.ops[-1] not in taken] + chains


def _family(op: GeOp, chip: Target) -> Family | None:
    """The file that lowers an op; None when it is chained, which is tried first."""
    family = FAMILIES.get(op.op_type)
    chains = family is not None and op.op_type in elementwise.RECIPES
    return None if chains and not elementwise.reason(op, chip) else family


def _place(unit: Unit, kernels: Kernels, replaced: dict[SSAValue, SSAValue]) -> None:
    """Replace a unit's ops by its launches at the last of them; notes the new values."""
    block = unit.ops[-1].parent
    assert block is not None
    values = unit.place(Placer(unit, kernels, replaced, block))
    for old, new in zip(unit.results, values, strict=True):
        new.name_hint = _hint(old)
        old.replace_all_uses_with(new)
        replaced[old] = new
    for op in reversed(unit.ops):
        op.detach()
        op.erase()


def _hint(value: SSAValue) -> str | None:
    owner = value.owner
    name = owner.node_name if isinstance(owner, GeOp) else ""
    return name if name and SSAValue.is_valid_name(name) else None


def lowered_op_types() -> list[str]:
    """The op types that have a lowering, for some shapes, element types and attributes."""
    return sorted({*FAMILIES, *elementwise.op_types(), *EXPANSIONS})
