"""Mixtures of experts: choosing experts, rows in their order, and putting the rows back."""

from __future__ import annotations

from math import prod

from xdsl.ir import SSAValue

from ge_xdsl.dialects.ge.op import GeOp
from ge_xdsl.dialects.ge.types import DataType
from ge_xdsl.lowering.expand.builder import Builder, Expansion
from ge_xdsl.lowering.expand.quant import codes
from ge_xdsl.lowering.expand.tallies import ramp, tallied
from ge_xdsl.lowering.expand.terms import Formula, Term, formula, term

I32 = DataType.DT_INT32
LARGEST_EXACT = 1 << 24
"""Whole numbers up to here are exact in f32."""


def largest(x: Term, k: int) -> tuple[Term, SSAValue]:
    """The k largest along the last dimension, and their places."""
    values, places = x.build.results("TopKV2", x.value, [k], sorted=True, dim=-1, largest=True)
    return Term(x.build, values), places


def _picked(x: Term, places: SSAValue) -> Term:
    return Term(x.build, x.build("GatherElements", x.value, places, dim=-1))


def _unless_finished(build: Builder, places: SSAValue, finished: Term | None, count: int) -> Term:
    """The places, `count` for the rows that are finished."""
    found = Term(build, places)
    if finished is None:
        return found
    shape = build.shape(places)
    mask = build.spread(finished.reshape([*shape[:-1], 1]).value, shape)
    return Term(build, build.where(mask, build.const(count, I32), places))


def _top_k_softmax(build: Builder, op: GeOp, x: Term, finished: Term | None) -> list[Term]:
    import numpy as np

    k, experts = op.get_attr("k"), x.shape[-1]
    last = len(x.shape) - 1
    y, places = largest(x.call("SoftmaxV2", axes=[last]), k)
    rows = prod(y.shape[:-1])
    number = np.arange(rows * k, dtype=np.int32).reshape(k, rows).T.reshape(y.shape)
    chosen = _unless_finished(build, places, finished, experts)
    return [y, chosen, Term(build, build.array(number.copy()))]


def _top_k_softmax_v2(build: Builder, op: GeOp, x: Term, finished: Term | None) -> list[Term]:
    k, experts, last = op.get_attr("k"), x.shape[-1], len(x.shape) - 1
    shown = op.get_attr("output_softmax_result_flag") and not op.get_attr("renorm")
    p = x.call("SoftmaxV2", axes=[last])
    y, places = largest(x if op.get_attr("renorm") else p, k)
    y = y.call("SoftmaxV2", axes=[last]) if op.get_attr("renorm") else y
    zeros = Term(build, build.spread(build.const(0, DataType.DT_FLOAT), x.shape))
    return [y, _unless_finished(build, places, finished, experts), p if shown else zeros]


def _top_k(build: Builder, op: GeOp, x: Term, bias: Term | None) -> list[Term]:
    """Experts of the best groups, by softmax or sigmoid"""
    by_sigmoid = op.get_attr("norm_type")
    n = x.sigmoid() if by_sigmoid else x.call("SoftmaxV2", axes=[1])
    scores = n if bias is None else n + bias
    if op.get_attr("k_group") < op.get_attr("group_count"):
        scores = _within_groups(build, op, scores)
    _, places = largest(scores, op.get_attr("k"))
    y = _picked(n, places)
    if by_sigmoid:
        y = y / (y.sum([1]) + op.get_attr("eps"))
    y = y * op.get_attr("routed_scaling_factor")
    zeros = Term(build, build.spread(build.const(0, DataType.DT_FLOAT), x.shape))
    return [y, Term(build, places), n if op.get_attr("out_flag") else zeros]


def _within_groups(build: Builder, op: GeOp, scores: Term) -> Term:
    """Minus infinity outside the groups whose largest, or whose two largest, are best."""
    rows, count = scores.shape
    groups = op.get_attr("group_count")
    grouped = scores.reshape([rows, groups, count // groups])
    if op.get_attr("group_select_mode"):
        best = largest(grouped, 2)[0].sum([2], False)
    else:
        best = Term(build, build.reduce("Max", grouped.value, [2], False))
    _, chosen = largest(best, op.get_attr("k_group"))
    used = build.shape(chosen)[1]
    numbers = build.reshape(ramp(build, groups), [1, 1, groups])
    wide = build.reshape(build.cast(chosen, DataType.DT_FLOAT), [rows, used, 1])
    hot = Term(build, build("Equal", wide, numbers))
    inside = hot.pick(_ones(build, hot.shape), 0.0).max([1]).reshape([rows, groups, 1])
    mask = build.spread((inside > 0.0).value, grouped.shape)
    found = build.where(mask, grouped.value, build.const(float("-inf"), DataType.DT_FLOAT))
    return Term(build, found).reshape(scores.shape)


def _ones(build: Builder, shape: tuple[int, ...]) -> Term:
    return Term(build, build.const([[[1.0]]], DataType.DT_FLOAT))


# Rows in the order of their experts


def order_of(build: Builder, numbers: SSAValue) -> tuple[SSAValue, SSAValue]:
    """Whole numbers of i32 sorted, equal ones in their order, and their places: both [N] i32."""
    size = build.count(numbers)
    flat = build.cast(build.reshape(numbers, [size]), DataType.DT_FLOAT)
    y, order = build.results("Sort", flat, axis=-1, descending=False)
    return build.cast(y, I32), order


def _routed(build: Builder, op: GeOp) -> tuple[SSAValue, SSAValue, SSAValue]:
    """The rows in the order of their experts, the place of each choice, the sorted experts."""
    x, row_idx, experts = op.operands[:3]
    count, k = build.shape(experts)
    rows = build.shape(x)[0]
    if rows * k > LARGEST_EXACT:
        raise build.decline(f"for {rows * k} choices")
    found, order = order_of(build, experts)
    source = build("GatherV2", build.reshape(row_idx, [count * k]), order, [0])
    _, places = order_of(build, source)
    taken = min(rows, op.get_attr("active_num")) * k
    mine = build("FloorMod", build.slice(source, 0, 0, taken), rows)
    return build("GatherV2", x, mine, [0]), places, found


def init_routing(build: Builder, op: GeOp) -> list[SSAValue]:
    """MoeInitRouting, and MoeInitRoutingQuant with i8 rows"""
    rows, places, experts = _routed(build, op)
    if op.op_type == "MoeInitRoutingQuant":
        t = term(build, rows) * op.get_attr("scale") + op.get_attr("offset")
        rows = codes(t, DataType.DT_INT8).like(op.results[0])
    return [rows, places, experts]


def init_routing_v3(build: Builder, op: GeOp) -> list[SSAValue]:
    """Rows by expert, and how many each expert has"""
    whole = (0, op.get_attr("expert_num"))
    limits = tuple(op.get_attr("active_expert_range")) or whole
    if op.get_attr("drop_pad_mode") or op.get_attr("quant_mode") != -1 or limits != whole:
        raise build.decline("with drop_pad_mode, quant_mode or active_expert_range set")
    x, experts = op.operands[:2]
    count, k = build.shape(experts)
    active = op.get_attr("active_num")
    found, order = order_of(build, experts)
    taken = build.slice(order, 0, 0, min(active, count * k)) if active > 0 else order
    places = order if op.get_attr("row_idx_type") else order_of(build, order)[1]
    rows = build("FloorDiv", taken, k)
    scale = build.slot("scale")
    zeros = build.spread(build.const(0, DataType.DT_FLOAT), build.shape(rows))
    kept = zeros if scale is None else build("GatherV2", scale, rows, [0])
    tokens = _tokens(build, op, found)
    values = [build("GatherV2", x, rows, [0]), places, tokens, kept]
    return [build.like(v, r) for v, r in zip(values, op.results, strict=True)]


def _tokens(build: Builder, op: GeOp, experts: SSAValue) -> SSAValue:
    """The choices of each expert: counted, added up, or beside its number."""
    number = max(op.get_attr("expert_num"), 0)
    kind = op.get_attr("expert_tokens_num_type")
    if not op.get_attr("expert_tokens_num_flag"):
        counts = Term(build, build.spread(build.const(0, DataType.DT_FLOAT), [number, 1]))
    else:
        counts = counted(build, experts, number, "LessEqual" if kind == 1 else "Equal")
    if kind != 2:
        return counts.value
    numbers = build.reshape(ramp(build, number), [number, 1])
    return build.concat([numbers, counts.value], 1)


def counted(build: Builder, numbers: SSAValue, count: int, kind: str) -> Term:
    """[count, 1] f32: how many of the numbers are equal to, or at most, each of 0 to count - 1."""
    flat = build.reshape(build.cast(numbers, DataType.DT_FLOAT), [build.count(numbers)])
    return tallied(Term(build, flat), kind, ramp(build, count))


def expert_tokens(build: Builder, op: GeOp) -> SSAValue:
    """How many of the sorted experts are at most each"""
    found = counted(build, op.operands[0], op.get_attr("num_experts"), "LessEqual")
    return found.like(op.results[0])


# Putting rows back


def weighted(
    build: Builder,
    rows: SSAValue,
    places: SSAValue,
    scales: SSAValue | None,
    bias: SSAValue | None,
    experts: SSAValue | None,
) -> Term:
    """sum over k of scales[r, k] (rows[places[r, k]] + bias[experts[r, k]]); -1 gives nothing"""
    count, k = build.shape(places)
    width = build.shape(rows)[1]
    flat = build.reshape(build("Maximum", places, 0), [count * k])
    picked = term(build, build.reshape(build("GatherV2", rows, flat, [0]), [count, k, width]))
    if bias is not None and experts is not None:
        number = build.reshape(experts, [count * k])
        more = build.reshape(build("GatherV2", bias, number, [0]), [count, k, width])
        picked = picked + term(build, more)
    there = Term(build, build.reshape(build.cast(places, DataType.DT_FLOAT), [count, k, 1])) >= 0.0
    one = Term(build, build.const([[[1.0]]], DataType.DT_FLOAT))
    factor = there.pick(one, 0.0)
    if scales is not None:
        factor = factor * term(build, build.reshape(scales, [count, k, 1]))
    return (picked * factor).sum([1], False)


def finalize_routing(build: Builder, op: GeOp) -> SSAValue:
    """MoeFinalizeRouting: the choices in column order"""
    slots = {io.name: build.slot(io.name) for io in op.prototype.inputs}
    rows, scales = slots["expanded_x"], slots["scales"]
    first, places = slots["x1"], slots["expanded_row_idx"]
    assert rows is not None
    assert scales is not None
    assert first is not None
    assert places is not None
    count, k = build.shape(scales)
    by_row = build.transpose(build.reshape(places, [k, count]), [1, 0])
    experts = slots["expanded_expert_idx"]
    y = term(build, first)
    y = y if slots["x2"] is None else y + term(build, slots["x2"])
    return (y + weighted(build, rows, by_row, scales, slots["bias"], experts)).like(op.results[0])


def finalize_routing_v2(build: Builder, op: GeOp) -> SSAValue:
    """MoeFinalizeRoutingV2: the choices in column or row order"""
    slots = {io.name: build.slot(io.name) for io in op.prototype.inputs}
    rows, places, scales = (slots[n] for n in ("expanded_x", "expanded_row_idx", "scales"))
    assert rows is not None
    assert places is not None
    size = build.count(places)
    count, k = (size, 1) if scales is None else build.shape(scales)
    if op.get_attr("drop_pad_mode") >= 2:
        by_row = build.reshape(places, [count, k])
    else:
        by_row = build.transpose(build.reshape(places, [k, count]), [1, 0])
    width = build.shape(rows)[-1]
    flat = build.reshape(rows, [build.count(rows) // width, width])
    y = weighted(build, flat, by_row, scales, slots["bias"], slots["expert_idx"])
    for name in ("x1", "x2"):
        residual = slots[name]
        y = y if residual is None else y + term(build, residual)
    return y.like(op.results[0])


FORMULAS: dict[str, Formula] = {
    "MoeGatingTopKSoftmax": _top_k_softmax,
    "MoeGatingTopKSoftmaxV2": _top_k_softmax_v2,
    "MoeGatingTopK": _top_k,
}
"""Op type -> its formula."""

EXPANSIONS: dict[str, Expansion] = {
    **{name: formula(call) for name, call in FORMULAS.items()},
    **dict.fromkeys(("MoeInitRouting", "MoeInitRoutingQuant"), init_routing),
    "MoeInitRoutingV3": init_routing_v3,
    "MoeComputeExpertTokens": expert_tokens,
    "MoeFinalizeRouting": finalize_routing,
    "MoeFinalizeRoutingV2": finalize_routing_v2,
}
