"""Attention over heads [B, N, S, D] to one mixed kernel; other layouts are turned to it first."""

from __future__ import annotations

from dataclasses import replace
from math import isfinite

from xdsl.ir import SSAValue

from ge_xdsl.dialects.ge.heads import Window
from ge_xdsl.dialects.ge.op import GeOp
from ge_xdsl.dialects.ge.types import tensor_of
from ge_xdsl.errors import CompileError
from ge_xdsl.lowering.flash import LONGEST, flash_kernel
from ge_xdsl.lowering.online import OUT_WIDTH, Flash
from ge_xdsl.lowering.placement import place_kernel
from ge_xdsl.lowering.spans import limits
from ge_xdsl.lowering.tensors import element_of, static_tensor, unshaped
from ge_xdsl.lowering.unit import Placer, Unit
from ge_xdsl.targets.target import Target

TYPES = frozenset({"FlashAttentionScore"})
TILES = ((256, 64, 2, 2), (256, 64, 2, 1), (256, 64, 1, 1), (128, 64, 1, 1))
"""Keys of a step and of a tile in UB, buffers of weights and of parts of the output in UB, those
that are faster first."""
EDGE_TILES = ((256, 64, 2, 1), (128, 64, 2, 2), (128, 64, 2, 1), (128, 64, 1, 1))
"""The same where queries do not see all keys. Beside the limits of both sides, or the parts of a
long head, UB or the flags of the first are too few."""
MIXED = ("2201", "3510")
"""Architectures with cube and vector cores apart, which can exchange tiles through GM."""


def reason(op: GeOp, target: Target) -> str:
    """Why attention is not lowered to one kernel, '' when it is."""
    if target.arch not in MIXED or not {"cube", "vector"} <= set(target.lowers):
        return f"no mixed kernels for {target.name}"
    used = [*op.operands, *op.results[:2], op.results[3]]
    if any(static_tensor(value) is None for value in used):
        return unshaped(*used)
    found = _flash_of(op)
    if isinstance(found, str):
        return found
    try:
        _fitted(replace(found, rows=True), target)
    except CompileError as error:
        return f"no lowering: {error.message}"
    return ""


def _fitted(flash: Flash, target: Target) -> Flash:
    """The largest tiles that fit; raises CompileError when the smallest do not."""
    wide = flash.first is not None or flash.dim > OUT_WIDTH
    tiles = EDGE_TILES[wide:] if flash.edges else TILES
    for step, width, stores, loads in tiles[:-1]:
        tried = replace(flash, step=step, width=width, stores=stores, loads=loads)
        try:
            place_kernel(flash_kernel("attention", tried, target), target)
        except CompileError:
            continue
        return tried
    step, width, stores, loads = tiles[-1]
    tried = replace(flash, step=step, width=width, stores=stores, loads=loads)
    place_kernel(flash_kernel("attention", tried, target), target)
    return tried


def _shape(value: SSAValue) -> tuple[int, ...]:
    return tuple(tensor_of(value.type).shape or ())


def _slot(op: GeOp, name: str) -> SSAValue | None:
    found = op.operand_slot(name)
    return found if isinstance(found, SSAValue) else None


def _flash_of(op: GeOp) -> Flash | str:
    """The attention in numbers, or why there is no kernel."""
    if op.get_attr("input_layout") != "BNSD":
        return f"no lowering for layout {op.get_attr('input_layout')}"
    q, k, v = op.operands[:3]
    element = element_of(tensor_of(q.type).dtype)
    if element not in ("f16", "bf16"):
        return f"no lowering for element type {element}"
    mask = _slot(op, "atten_mask")
    given = [op.prototype.inputs[i].name for i in range(3, len(op.prototype.inputs))]
    others = [n for n in given if n != "atten_mask" and _slot(op, n) is not None]
    if others:
        return f"no lowering with {' and '.join(others)}"
    mode = op.get_attr("sparse_mode")
    if mode not in (1, 2, 3, 4):
        return f"no lowering for sparse_mode {mode}"
    if list(op.results[2].uses):
        return "no lowering when softmax_out is used"
    (b, n, length, d), (_, heads, keys, _) = _shape(q), _shape(k)
    if d > LONGEST or _shape(v)[-1] != d:
        return f"no lowering for heads of {d} and {_shape(v)[-1]}, expected at most {LONGEST}"
    found = Flash(b, heads, n // heads, length, keys, d, op.get_attr("scale_value"), element)
    if mode > 1:
        before, after = op.get_attr("pre_tockens"), op.get_attr("next_tockens")
        found = _within(found, Window(mode, before, after))
        if not isfinite(found.scale) or not found.scale:
            return f"no lowering for sparse_mode {mode} and scale_value {found.scale}"
        if len(found.edges) > 1 and found.edges[0] < found.edges[1]:
            return "no lowering when no query sees a key"
        mask = None
    if found.edges:
        return found
    if mask is None:
        # heads of a group share keys and values, so they are more queries of one head
        return replace(found, group=1, length=found.group * length)
    shape = _shape(mask)
    if element_of(tensor_of(mask.type).dtype) != "i1" or len(shape) != 3:
        return "no lowering for a mask that is no truth value for each query and key"
    return replace(found, mask=shape[0])


def _within(flash: Flash, window: Window) -> Flash:
    """The edges of what the queries see; None for one that hides nothing."""
    apart = flash.keys - flash.length
    last = {2: 0, 3: apart, 4: apart + window.after}[window.mode]
    first = apart - window.before if window.mode == 4 else None
    if last >= flash.keys - 1:
        last = None
    if first is not None and first <= 1 - flash.length:
        first = None
    return replace(flash, first=first, last=last)


def unit(op: GeOp, target: Target) -> Unit:
    """The launch of an attention."""
    flash = _flash_of(op)
    assert isinstance(flash, Flash)
    rows = any(list(value.uses) for value in op.results[:2])
    flash = _fitted(replace(flash, rows=rows), target)
    mask = _slot(op, "atten_mask") if flash.mask else None
    operands = [v for v in (*op.operands[:3], mask) if v is not None]
    results = [*op.results[:2], op.results[3]] if rows else [op.results[3]]

    def place(placer: Placer) -> list[SSAValue]:
        values = [placer.value(v) for v in operands]
        if flash.edges:
            values.append(placer.constant(limits(flash), "limits"))
        types = [value.type for value in results]
        made = placer.launch(flash, lambda name: flash_kernel(name, flash, target), values, types)
        return list(made)

    return Unit([op], results, place)
