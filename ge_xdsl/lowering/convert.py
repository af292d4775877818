"""A GE graph into kernels, launches and views, in place.

Each family of ops has a file with `TYPES`, `reason(op, target)` and `unit(op, target)`; chains of
elementwise and row ops are grouped to one vector kernel. Equal kernels are made once. What has no
lowering stays, with an attribute that says why.
"""

from __future__ import annotations

import warnings
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol

from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Block, Operation, SSAValue

from ge_xdsl.dialects.ge.graph import functions, root_blocks
from ge_xdsl.dialects.ge.names import describe, ensure_names
from ge_xdsl.dialects.ge.op import CONSTANT_TYPES, GeOp
from ge_xdsl.errors import CompileError
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
from ge_xdsl.lowering.expand import EXPANSIONS, Expanded, expand_block
from ge_xdsl.lowering.placement import place_buffers
from ge_xdsl.lowering.sync import insert_sync
from ge_xdsl.lowering.tile_choice import TILE, Choice, choice, choose, chosen
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
    wanted = choice(tile)
    if not convert(lowered, target(chip), wanted) and wanted is not None:
        warnings.warn(idle_tile(wanted), stacklevel=2)
    place_buffers(lowered, target(chip))
    insert_sync(lowered)
    return lowered


def idle_tile(tile: Choice) -> str:
    """The warning about a tile that no op takes."""
    text = ",".join(map(str, tile))
    return f"tile {text} has no effect, expected a matrix product or convolution without a tile"


def convert(module: ModuleOp, chip: Target, tile: Choice | None = None) -> int:
    """Lower every graph of a module and its subgraphs in place.

    `tile` is that of the products that have none; how many got it. Raises CompileError for a tile
    of an op that takes none, and for one that does not fit.
    """
    kernels = Kernels(module)
    count = 0
    for func in functions(module):
        ensure_names(func)  # reports count ops by name
        for block in list(root_blocks(func)):
            count += _convert_block(block, kernels, chip, tile)
    return count


def decompose(module: ModuleOp, chip: Target) -> None:
    """Replace the ops that have no kernel by graphs of ops that have one, in place."""
    for func in functions(module):
        for block in list(root_blocks(func)):
            _expand(block, chip)
        ensure_names(func)


def _expand(block: Block, chip: Target) -> Expanded:
    """Expand the ops of a block; products that take the place of an op with a tile get it.

    Raises CompileError for a tile of an op that is no product and becomes none.
    """
    for op in block.ops:
        if isinstance(op, GeOp) and TILE in op.attributes:
            chosen(op)
    found = expand_block(block, lambda op: reason_of(op, chip))
    for old, made in found.made:
        tile = old.attributes.get(TILE)
        products = [op for op in made if op.op_type in TILED]
        if tile is None:
            continue
        if not products and old.op_type not in TILED:
            raise _no_tile(old)
        for op in products:
            op.attributes[TILE] = tile
    for op in block.ops:
        if isinstance(op, GeOp) and TILE in op.attributes and op.op_type not in TILED:
            raise _no_tile(op)
    return found


def _no_tile(op: GeOp) -> CompileError:
    return CompileError(
        f"has {TILE}, expected it at a matrix product or convolution only",
        subject=describe(op),
        location=op.source,
    )


def _convert_block(block: Block, kernels: Kernels, chip: Target, tile: Choice | None) -> int:
    """Lower the ops of a graph or of a subgraph; how many got the tile."""
    found = _expand(block, chip)
    ops = list(block.ops)
    count = choose_all(ops, tile)
    old = {new: op for op, made in found.made for new in made}
    _lower_ops(ops, _Lowering(found.refused, old, chip), kernels)
    return count


@dataclass(frozen=True, slots=True)
class _Lowering:
    """What is known of the ops of a block: why they were left, and what they were."""

    refused: Mapping[GeOp, str]
    old: Mapping[GeOp, GeOp]
    """Op of an expansion -> the op of the user."""
    chip: Target

    @contextmanager
    def about(self, op: GeOp) -> Generator[None]:
        """What fails inside is told of the op that the user knows."""
        try:
            yield
        except CompileError as error:
            known = self.old.get(op, op)
            if known is op and error.subject and not error.subject.startswith("aicore."):
                raise
            inside = "" if known is op else f" ({op.op_type} in its expansion)"
            raise CompileError(
                error.message + inside, subject=describe(known), location=known.source
            ) from None


def _lower_ops(ops: Sequence[Operation], lowering: _Lowering, kernels: Kernels) -> None:
    """Replace ops by launches and views."""
    units = {unit.ops[-1]: unit for unit in _units(ops, lowering)}
    inputs = {v.owner for unit in units.values() for op in unit.ops for v in op.operands}
    replaced: dict[SSAValue, SSAValue] = {}
    for op in ops:
        unit = units.get(op) if isinstance(op, GeOp) else None
        if unit is not None:
            with lowering.about(unit.ops[0]):
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


def _units(ops: Sequence[Operation], lowering: _Lowering) -> list[Unit]:
    """What is lowered; every other GE op gets its reason as an attribute."""
    chip = lowering.chip
    units: list[Unit] = []
    fused: set[Operation] = set()
    eligible: list[bool] = []
    for op in ops:
        takes = False
        if isinstance(op, GeOp) and op not in fused:
            family = _family(op, chip)
            why = (family or elementwise).reason(op, chip)
            if why and op.op_type not in SILENT and not op.regions:
                said = lowering.refused.get(op) or reason_of_call(op.op_type, why)
                op.attributes[REASON] = StringAttr(said)
            elif not why and family is not None:
                with lowering.about(op):
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
