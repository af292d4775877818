"""Pools over height and width, by kernel taps: the maximum, or the sum times one over a count."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ge_xdsl.dialects.ge.op import GeOp
from ge_xdsl.dialects.ge.pool import AvgPoolOp, AvgPoolV2Op, PoolGeometry, divisors
from ge_xdsl.dialects.ge.types import tensor_of
from ge_xdsl.errors import CompileError
from ge_xdsl.lowering.conv import geometry_of
from ge_xdsl.lowering.recipes_math import FLOATS
from ge_xdsl.lowering.taps import Taps, taps_kernel
from ge_xdsl.lowering.tensors import element_of, static_tensor, unshaped
from ge_xdsl.lowering.unit import Placer, Unit
from ge_xdsl.targets.target import Target

if TYPE_CHECKING:
    from xdsl.ir import SSAValue

    from ge_xdsl.dialects.ge.types import Array

TYPES = frozenset({"MaxPool", "MaxPoolV3", "AvgPool", "AvgPoolV2"})
MOST_TAPS = 64
"""Elements of a window up to which one instruction for each beats two passes, and their limit."""


def reason(op: GeOp, target: Target) -> str:
    """Why a pool is not lowered, '' when it is."""
    assert isinstance(op, PoolGeometry)
    if "vector" not in target.lowers:
        return f"no vector kernels for {target.name}"
    x, y = static_tensor(op.operands[0]), static_tensor(op.results[0])
    if x is None or y is None:
        return unshaped(op.operands[0], op.results[0])
    if element_of(x.dtype) not in FLOATS:
        return f"no lowering for element type {x.dtype.name}"
    if op.data_format != "NCHW":
        return f"no lowering for {op.data_format}"
    shape = x.shape or (0, 0, 0, 0)
    high, wide = op.windows(shape)
    if high.kernel > 1 and wide.kernel > 1 and high.kernel * wide.kernel > MOST_TAPS:
        return f"no lowering for windows of {high.kernel}x{wide.kernel} elements at once"
    if max(high.kernel, wide.kernel) > MOST_TAPS * 4:
        return f"no lowering for windows of {high.kernel}x{wide.kernel} elements"
    try:
        _taps_of(op)[0].lines(target)
    except CompileError as error:
        return f"no lowering: {error.message}"
    return ""


def _taps_of(op: GeOp) -> tuple[Taps, Array | None]:
    """The pool, and its row of factors when these differ."""
    import numpy as np

    assert isinstance(op, PoolGeometry)
    x = tensor_of(op.operands[0].type)
    images, channels, high, wide = x.shape or (0, 0, 0, 0)
    windows = op.windows((images, channels, high, wide))
    geometry, element = geometry_of(windows, (high, wide)), element_of(x.dtype)
    if not isinstance(op, AvgPoolOp | AvgPoolV2Op):
        return Taps("max", images, channels, geometry, element), None
    divisor = op.divisor_override if isinstance(op, AvgPoolV2Op) else 0
    counts = isinstance(op, AvgPoolV2Op) and not op.exclusive
    table = divisors(windows, (high, wide), counts).reshape(1, -1)
    if divisor or (table == table[0, 0]).all():
        factor = 1 / (divisor or int(table[0, 0]))
        return Taps("add", images, channels, geometry, element, factor=factor), None
    factors = (1 / table).astype(np.float32)
    return Taps("add", images, channels, geometry, element, varies=True), factors


def unit(op: GeOp, target: Target) -> Unit:
    """The launch of a pool."""

    def place(placer: Placer) -> list[SSAValue]:
        taps, factors = _taps_of(op)
        operands = [placer.value(op.operands[0])]
        if factors is not None:
            operands.append(placer.constant(factors, f"{op.node_name or 'pool'}_factors"))
        types = [op.results[0].type]
        return list(
            placer.launch(taps, lambda name: taps_kernel(name, taps, target), operands, types)
        )

    return Unit([op], op.results, place)
