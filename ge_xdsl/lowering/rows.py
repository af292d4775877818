"""GE ops that reduce rows or columns of a tile: reductions, softmax and the norms.

All are computed in f32; sums go in pairs, the mean is the sum times 1 / n.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod

from xdsl.ir import SSAValue

from ge_xdsl.dialects.ge.op import GeOp
from ge_xdsl.dialects.ge.reduce import AttributeReduction, OperandReduction, reduced_axes
from ge_xdsl.dialects.ge.shapes import normalize_axes
from ge_xdsl.dialects.ge.types import tensor_of
from ge_xdsl.lowering.buffers import Value
from ge_xdsl.lowering.emitter import Emitter, Operand
from ge_xdsl.lowering.recipes_math import FLOATS
from ge_xdsl.lowering.tensors import element_of


@dataclass(frozen=True, slots=True)
class Rows:
    """The dimensions [start, stop) of `shape` that an op reduces."""

    shape: tuple[int, ...]
    start: int
    stop: int

    @property
    def small(self) -> tuple[int, ...]:
        """The shape of what is left, with 1 for the reduced dimensions."""
        return tuple(1 if self.start <= i < self.stop else d for i, d in enumerate(self.shape))

    @property
    def count(self) -> int:
        """Elements that are reduced to one."""
        return prod(self.shape[self.start : self.stop])

    @property
    def whole(self) -> str:
        """Whether they are the columns of a tile, or its rows because dimensions follow."""
        return "rows" if prod(self.shape[self.stop :]) > 1 else "cols"


Recipe = Callable[[Emitter, GeOp, Sequence[Operand], int], list[int]]
"""The results of an op from its operands and the number of elements that it reduces to one."""


def _reduction(kind: str) -> Recipe:
    return lambda emit, op, args, n: [emit.reduce(kind, args[0])]


def _mean_of(emit: Emitter, x: Operand, n: int) -> int:
    return emit.scalar("muls", emit.reduce("sum", x), 1 / n)


def _mean(emit: Emitter, op: GeOp, args: Sequence[Operand], n: int) -> list[int]:
    return [_mean_of(emit, args[0], n)]


def _powers(emit: Emitter, x: Operand) -> tuple[int, int, int]:
    """x - m, exp(x - m) and its sum, where m is the maximum."""
    below = emit.binary("sub", x, emit.reduce("max", x))
    power = emit.unary("exp", below)
    return below, power, emit.reduce("sum", power)


def _softmax(emit: Emitter, op: GeOp, args: Sequence[Operand], n: int) -> list[int]:
    _, power, total = _powers(emit, args[0])
    return [emit.binary("div", power, total)]


def _log_softmax(emit: Emitter, op: GeOp, args: Sequence[Operand], n: int) -> list[int]:
    below, _, total = _powers(emit, args[0])
    return [emit.binary("sub", below, emit.unary("ln", total))]


def _rstd(emit: Emitter, op: GeOp, square: int) -> int:
    """1 / sqrt(square + epsilon)"""
    return emit.unary("rsqrt", emit.scalar("adds", square, op.get_attr("epsilon")))


def _standard(
    emit: Emitter, op: GeOp, args: Sequence[Operand], n: int
) -> tuple[int, int, int, int]:
    """(x - mean) rstd gamma + beta, mean, variance and rstd; args are x, gamma and beta."""
    x, *affine = args
    mean = _mean_of(emit, x, n)
    centred = emit.binary("sub", x, mean)
    variance = _mean_of(emit, emit.binary("mul", centred, centred), n)
    rstd = _rstd(emit, op, variance)
    y = emit.binary("mul", centred, rstd)
    y = emit.binary("mul", y, affine[0]) if affine else y
    y = emit.binary("add", y, affine[1]) if len(affine) > 1 else y
    return y, mean, variance, rstd


def _layer_norm(emit: Emitter, op: GeOp, args: Sequence[Operand], n: int) -> list[int]:
    y, mean, variance, _ = _standard(emit, op, args, n)
    return [y, mean, variance]


def _layer_norm_v3(emit: Emitter, op: GeOp, args: Sequence[Operand], n: int) -> list[int]:
    y, mean, _, rstd = _standard(emit, op, args, n)
    return [y, mean, rstd]


def _rms_norm(emit: Emitter, op: GeOp, args: Sequence[Operand], n: int) -> list[int]:
    """x rstd gamma and rstd"""
    x, gamma = args
    value = emit.value(x)
    rstd = _rstd(emit, op, _mean_of(emit, emit.binary("mul", value, value), n))
    return [emit.binary("mul", emit.binary("mul", value, rstd), gamma), rstd]


def _places(kind: str) -> Recipe:
    return lambda emit, op, args, n: [_place_of(emit, kind, args[0])]


def _place_of(emit: Emitter, kind: str, x: Operand) -> int:
    """The place of the first largest or smallest element"""
    axis = emit.program.whole
    source = emit.fit(x, Value(emit.element))
    result = Value("i32", axis == "cols", axis == "rows")
    return emit.program.step("vargreduce", (source,), result, kind, axis=axis)


def _with_value(kind: str) -> Recipe:
    return lambda emit, op, args, n: [
        _place_of(emit, kind, args[0]),
        emit.reduce(kind, args[0]),
    ]


def _sort(emit: Emitter, op: GeOp, args: Sequence[Operand], n: int) -> list[int]:
    """The elements in order, and their places before"""
    x = emit.fit(args[0], Value(emit.element))
    kind = "descending" if op.get_attr("descending") else "ascending"
    order = emit.program.step("vsort", (x,), Value("i32"), kind)
    return [emit.program.step("vgather", (x, order), Value(emit.element)), order]


def _scan(kind: str) -> Recipe:
    def recipe(emit: Emitter, op: GeOp, args: Sequence[Operand], n: int) -> list[int]:
        flags = [name for name in ("exclusive", "reverse") if op.get_attr(name)]
        x = emit.fit(args[0], Value(emit.element))
        how = " ".join([kind, *flags])
        return [emit.program.step("vscan", (x,), Value(emit.element), how)]

    return recipe


RECIPES: dict[str, Recipe] = {
    "ReduceProd": _reduction("prod"),
    "ReduceProdD": _reduction("prod"),
    "ReduceAll": _reduction("min"),
    "ReduceAllD": _reduction("min"),
    "ReduceAny": _reduction("max"),
    "ReduceAnyD": _reduction("max"),
    "ArgMaxV2": _places("max"),
    "ArgMaxD": _places("max"),
    "ArgMin": _places("min"),
    "ArgMinD": _places("min"),
    "ArgMaxWithValue": _with_value("max"),
    "ArgMinWithValue": _with_value("min"),
    "Sort": _sort,
    "SortV2": _sort,
    "Cumsum": _scan("add"),
    "CumsumD": _scan("add"),
    "Cumprod": _scan("mul"),
    "CumprodD": _scan("mul"),
    "ReduceSum": _reduction("sum"),
    "ReduceSumD": _reduction("sum"),
    "ReduceMax": _reduction("max"),
    "ReduceMaxD": _reduction("max"),
    "ReduceMin": _reduction("min"),
    "ReduceMinD": _reduction("min"),
    "ReduceMean": _mean,
    "ReduceMeanD": _mean,
    "GlobalAveragePool": _mean,
    "SoftmaxV2": _softmax,
    "LogSoftmaxV2": _log_softmax,
    "LayerNorm": _layer_norm,
    "LayerNormV3": _layer_norm_v3,
    "LayerNormV4": _layer_norm_v3,
    "RmsNorm": _rms_norm,
}


PLACES = frozenset(
    {"ArgMaxV2", "ArgMaxD", "ArgMin", "ArgMinD", "ArgMaxWithValue", "ArgMinWithValue"}
)
SCANS = frozenset({"Cumsum", "CumsumD", "Cumprod", "CumprodD"})
SORTS = frozenset({"Sort", "SortV2"})
LOGIC = frozenset({"ReduceAll", "ReduceAllD", "ReduceAny", "ReduceAnyD"})
WHOLE_NUMBERS = {
    *("ReduceSum", "ReduceSumD", "ReduceMax", "ReduceMaxD", "ReduceMin", "ReduceMinD"),
    *("ReduceProd", "ReduceProdD", *SCANS),
}
"""The row ops that i32 has, too."""


def element_for(op: GeOp) -> str:
    """The element type that a row op computes in."""
    if op.op_type in LOGIC:
        return "f16"
    whole = element_of(tensor_of(op.operands[0].type).dtype) == "i32"
    return "i32" if whole and op.op_type in WHOLE_NUMBERS else "f32"


def shrinks(op: GeOp) -> bool:
    """Whether all results of a row op are small: one element per row or column."""
    return isinstance(op, OperandReduction | AttributeReduction) or (
        op.op_type == "GlobalAveragePool" or op.op_type in PLACES
    )


def data_operands(op: GeOp) -> list[SSAValue]:
    """The operands of a row op that its recipe gets, x first."""
    if isinstance(op, OperandReduction) or op.op_type in PLACES | SCANS | SORTS:
        return [op.operands[0]]
    if op.op_type == "LayerNormV4":
        return [op.operands[0], *op.operands[2:]]
    return list(op.operands)


def rows_of(op: GeOp) -> Rows | str:
    """What a row op reduces, or why it has no lowering; its shapes are static."""
    shape = tensor_of(op.operands[0].type).shape or ()
    axes = _axes(op, shape)
    if isinstance(axes, str):
        return axes
    axes = [axis for axis in axes if shape[axis] > 1]
    if not axes:
        return "no lowering for a reduction of one element"
    start, stop = axes[0], axes[-1] + 1
    between = prod(shape[start:stop])
    if between != prod(shape[axis] for axis in axes):
        return "no lowering for axes that are not neighbours"
    found = Rows(shape, start, stop)
    if op.op_type in SORTS and found.whole != "cols":
        return "no lowering for a sort along another dimension than the last"
    if op.op_type in SCANS and found.whole != "rows":
        return "no lowering for a scan along the last dimension"
    return found


def _axes(op: GeOp, shape: Sequence[int]) -> list[int] | str:
    rank = len(shape)
    if isinstance(op, OperandReduction):
        named = op.constant("axes")
        if named is None:
            return "no lowering for axes that are not constant"
        return list(reduced_axes([int(a) for a in named.reshape(-1)], rank, op.noop()))
    if isinstance(op, AttributeReduction):
        return list(reduced_axes(op.axes, rank, op.noop()))
    if op.op_type == "GlobalAveragePool":
        return list(range(2, rank))
    if op.op_type in PLACES | SCANS | SORTS:
        return _one_axis(op, rank)
    if op.op_type in ("SoftmaxV2", "LogSoftmaxV2"):
        return sorted(normalize_axes(op.get_attr("axes"), rank)) if rank else []
    if op.op_type in ("LayerNorm", "LayerNormV3"):
        return list(range(op.get_attr("begin_norm_axis") % max(rank, 1), rank))
    if op.op_type == "LayerNormV4":
        return list(range(rank - (tensor_of(op.operands[1].type).size() or 0), rank))
    return list(range(rank - (tensor_of(op.operands[1].type).rank or 0), rank))


def _one_axis(op: GeOp, rank: int) -> list[int] | str:
    """The dimension of an op that has one, an operand or an attribute."""
    name = "dimension" if op.op_type in PLACES else "axis"
    if name not in op.prototype.attr_by_name:
        array = op.constant(name)
        if array is None:
            return f"no lowering for {name} that is not constant"
        return [int(array.reshape(-1)[0]) % max(rank, 1)] if rank else []
    return [op.get_attr(name) % rank] if rank else []


def decline(op: GeOp) -> str:
    """Why a row op with static shapes has no lowering, '' when it has."""
    if op.op_type == "LayerNormV4" and len(op.operands) not in (2, 4):
        return "no lowering for one of gamma and beta alone"
    kinds = {"f16": frozenset({"i1"}), "i32": frozenset({"i32"})}
    allowed = kinds.get(element_for(op), FLOATS)
    results = () if op.op_type in PLACES | SORTS else op.results
    for value in (*data_operands(op), *results):
        element = element_of(tensor_of(value.type).dtype)
        if element not in allowed:
            return f"no lowering for a reduction of element type {element}"
    found = rows_of(op)
    return found if isinstance(found, str) else ""
