"""Quantisation, its inverse, and its fusions with norms and gates, as formulas.

Codes are whole numbers in f32, held to the limits of their type, then cast: the cast changes none.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xdsl.ir import SSAValue

from ge_xdsl.dialects.ge.op import GeOp, constant_of
from ge_xdsl.dialects.ge.rounding import LARGEST, short_scale
from ge_xdsl.dialects.ge.types import DataType
from ge_xdsl.lowering.expand.builder import Builder, Expansion
from ge_xdsl.lowering.expand.norms import last_axes, rms
from ge_xdsl.lowering.expand.tallies import ramp, tallied
from ge_xdsl.lowering.expand.terms import Formula, Term, formula, term

LIMITS = {DataType.DT_INT8: (-128.0, 127.0), DataType.DT_UINT8: (0.0, 255.0)}
"""The element types of codes that tiles have, and what they hold."""
ROUNDINGS = {
    **{"round": "Rint", "rint": "Rint"},
    **{"floor": "Floor", "ceil": "Ceil", "trunc": "Trunc"},
}
"""The word of a `round_mode`, in small letters -> the op."""


def codes(t: Term, dtype: DataType, mode: str = "rint") -> Term:
    """The codes nearest to t as a mode says; what has no number becomes 0."""
    how = ROUNDINGS.get(mode.lower())
    if dtype not in LIMITS or how is None:
        raise t.build.decline(f"for codes of {dtype.name} that are rounded by {mode}")
    whole = t.call(how)
    return whole.same(whole).pick(whole, 0.0).clip(*LIMITS[dtype])


def along(values: Term, x: Term, axes: tuple[int, ...]) -> Term:
    """One number, or one for each place of the first of `axes` that fits, to broadcast with x."""
    rank, count = len(x.shape), values.build.count(values.value)
    if count == 1:
        return values.reshape([1] * rank)
    if len(values.shape) == rank > 1:
        return values
    axis = next(a % rank for a in axes if x.shape[a] == count)
    return values.reshape([count if i == axis else 1 for i in range(rank)])


def _code_type(op: GeOp) -> DataType:
    return DataType(op.get_attr("dst_type"))


def _ascend_quant(build: Builder, op: GeOp, x: Term) -> Term:
    import numpy as np

    scale = np.float32(op.get_attr("scale"))
    factor = scale * scale if op.get_attr("sqrt_mode") else scale
    return codes(
        x * float(factor) + op.get_attr("offset"), _code_type(op), op.get_attr("round_mode")
    )


def _ascend_quant_v2(build: Builder, op: GeOp, x: Term, scale: Term, offset: Term | None) -> Term:
    axes = (op.get_attr("axis"),)
    factor = along(scale, x, axes)
    t = x * factor * factor if op.get_attr("sqrt_mode") else x * factor
    t = t if offset is None else t + along(offset, x, axes)
    return codes(t, _code_type(op), op.get_attr("round_mode"))


def wide_scale(build: Builder, value: SSAValue) -> Term:
    """A scale in f32; one that is packed in 64 bits must be known."""
    if build.dtype(value) in (DataType.DT_UINT64, DataType.DT_INT64):
        known = build.known(value, "a scale that is packed")
        return Term(build, build.array(short_scale(known)))
    return term(build, value)


def _ascend_dequant(build: Builder, op: GeOp) -> SSAValue:
    x = Term(build, build.cast(op.operands[0], DataType.DT_FLOAT))
    factor = along(wide_scale(build, op.operands[1]), x, (-1,))
    y = x * factor * factor if op.get_attr("sqrt_mode") else x * factor
    return (y.call("Relu") if op.get_attr("relu_flag") else y).like(op.results[0])


def _floats(build: Builder, x: Term) -> Term:
    return Term(build, build.cast(x.value, DataType.DT_FLOAT))


def _ascend_anti_quant(build: Builder, op: GeOp, x: Term) -> Term:
    scale = op.get_attr("scale")
    y = (_floats(build, x) + op.get_attr("offset")) * scale
    return y * scale if op.get_attr("sqrt_mode") else y


def _ascend_anti_quant_v2(
    build: Builder, op: GeOp, x: Term, scale: Term, offset: Term | None
) -> Term:
    axes = (-1, -2) if len(x.shape) > 1 else (-1,)
    t = _floats(build, x)
    factor = along(scale, x, axes)
    t = t if offset is None else t + along(offset, x, axes)
    return t * factor * factor if op.get_attr("sqrt_mode") else t * factor


def _quantize(build: Builder, op: GeOp, x: Term, scales: Term, zero_points: Term | None) -> Term:
    axes = (op.get_attr("axis"),)
    t = x / along(scales, x, axes)
    t = t if zero_points is None else t + along(_floats(build, zero_points), x, axes)
    return codes(t, build.dtype(op.results[0]))


def _dequantize(build: Builder, op: GeOp, x: Term, low: Term, high: Term) -> Term:
    kind = build.dtype(x.value)
    if kind not in LIMITS:
        raise build.decline(f"for element type {kind.name}")
    signed = kind is DataType.DT_INT8
    low, high = (t.reshape([1] * max(len(x.shape), 1)) for t in (low, high))
    wide = _floats(build, x)
    if op.get_attr("mode") == "SCALED":
        return wide * high / (127.0 if signed else 255.0)
    return (wide + (128.0 if signed else 0.0)) * (high - low) / 255.0 + low


def update_scatter(build: Builder, op: GeOp) -> SSAValue:
    """QuantUpdateScatter: codes of the updates, as Scatter puts them"""
    var, indices, updates, scales, *rest = op.operands
    x = term(build, updates)
    last = (len(x.shape) - 1,)
    scale = along(term(build, build.reshape(scales, [build.count(scales)])), x, last)
    t = x * scale if op.get_attr("reciprocal_scale") else x / scale
    if rest:
        zero = build.cast(build.reshape(rest[0], [build.count(rest[0])]), DataType.DT_FLOAT)
        t = t + along(Term(build, zero), x, last)
    dtype = build.dtype(var)
    found = build.cast(codes(t, dtype, op.get_attr("round_mode")).value, dtype)
    return build("Scatter", var, indices, found, reduce="update", axis=op.get_attr("axis"))


# Scales from the data


def symmetric(t: Term, axes: Sequence[int], dtype: DataType, least: float = 0.0) -> list[Term]:
    """(codes, scale): scale = max|t| / Q over axes, codes = rint(t / scale), 0 where that is 0."""
    if dtype not in LIMITS:
        raise t.build.decline(f"for codes of {dtype.name}")
    largest = t.abs().max(axes)
    largest = largest.call("Maximum", least) if least else largest
    scale = largest / LARGEST[dtype]
    return [codes(t / scale.same(0.0).pick(1.0, scale), dtype), scale]


def group_rows(build: Builder, ends: SSAValue, count: int) -> SSAValue:
    """The group of each of `count` rows, i32, from the ends of the groups.

    How many ends are not above a row: worked out when they are known, else counted by comparisons.
    """
    import numpy as np

    known = constant_of(ends)
    if known is not None:
        places = np.searchsorted(known.reshape(-1), np.arange(count), side="right")
        return build.array(places.astype(np.int32))
    flat = build.reshape(build.cast(ends, DataType.DT_FLOAT), [build.count(ends)])
    found = tallied(Term(build, flat), "LessEqual", ramp(build, count))
    return build.reshape(build.cast(found.value, DataType.DT_INT32), [count])


def by_group(build: Builder, table: Term, places: SSAValue) -> Term:
    """The row of `table` for each group in `places`."""
    return Term(build, build("GatherV2", table.value, places, [0]))


def _group_quant(
    build: Builder, op: GeOp, x: Term, scale: Term, ends: Term, offset: Term | None
) -> Term:
    t = x * by_group(build, scale, group_rows(build, ends.value, x.shape[0]))
    t = t if offset is None else t + offset.reshape([1, 1])
    return codes(t, _code_type(op))


def smoothed(
    build: Builder, x: Term, smooth: Term | None, places: SSAValue | None, axis: int
) -> Term:
    """x times factors along an axis, chosen per row where there are groups."""
    if smooth is None:
        return x
    if places is None:
        return x * (smooth if axis == -1 else smooth.reshape([*smooth.shape, 1]))
    rows = x.reshape([build.count(places), x.shape[-1]])
    return (rows * by_group(build, smooth, places)).reshape(x.shape)


def _group_places(build: Builder, x: Term, ends: Term | None) -> SSAValue | None:
    """The group of each row of x, where there are groups."""
    if ends is None:
        return None
    return group_rows(build, ends.value, build.count(x.value) // x.shape[-1])


def _dynamic_quant(
    build: Builder, op: GeOp, x: Term, smooth: Term | None, ends: Term | None
) -> list[Term]:
    t = smoothed(build, x, smooth, _group_places(build, x, ends), -1)
    return symmetric(t, [len(x.shape) - 1], _code_type(op))


def _dynamic_quant_v2(
    build: Builder, op: GeOp, x: Term, smooth: Term | None, ends: Term | None
) -> list[Term]:
    rank, mode, dtype = len(x.shape), op.get_attr("quant_mode"), _code_type(op)
    axis = -2 if mode == "perchannel" else -1
    axes = list(range(rank)) if mode == "pertensor" else [axis % rank]
    t = smoothed(build, x, smooth, _group_places(build, x, ends), axis)
    if op.get_attr("is_symmetrical"):
        y, scale = symmetric(t, axes, dtype)
        return [y, scale, _zeros(build, op.results[2])]
    high, low = t.max(axes), Term(build, build.reduce("Min", t.value, axes))
    scale = (high - low) / 255.0
    none = scale.same(0.0)
    offset = 127.0 - none.pick(0.0, high / none.pick(1.0, scale))
    share = none.pick(0.0, t / none.pick(1.0, scale))
    return [codes(share + offset, dtype), scale, offset]


def _zeros(build: Builder, like: SSAValue) -> Term:
    """Zeros in the shape of a result, in f32."""
    shape = build.shape(like)
    zero = build.const(0, DataType.DT_FLOAT)
    return Term(build, build.spread(zero, shape) if shape else zero)


def _swiglu_quant(
    build: Builder,
    op: GeOp,
    x: Term,
    smooth: Term | None,
    offsets: Term | None,
    groups: Term | None,
) -> list[Term]:
    last, dtype = len(x.shape) - 1, _code_type(op)
    left, right = (Term(build, v) for v in build.halves(x.value, last))
    a, b = (left, right) if op.get_attr("activate_left") else (right, left)
    if groups is not None and op.get_attr("group_list_type"):
        groups = Term(build, running_sum(build, groups.value))
    places = _group_places(build, a, groups)
    t = smoothed(build, a * a.sigmoid() * b, smooth, places, -1)
    if op.get_attr("quant_mode") == "static":
        if offsets is not None and places is not None:
            offsets = by_group(build, offsets, places).reshape(t.shape)
        t = t if offsets is None else t + offsets
        return [codes(t, dtype), _zeros(build, op.results[1])]
    if dtype not in LIMITS:
        raise build.decline(f"for codes of {dtype.name}")
    largest = t.abs().max([last])
    none = largest.same(0.0)
    number = Term(build, build.spread(build.const(127.0, DataType.DT_FLOAT), largest.shape))
    scale = none.pick(0.0, number / none.pick(1.0, largest))
    return [codes(t * scale, dtype), scale]


def running_sum(build: Builder, counts: SSAValue) -> SSAValue:
    """The running sum of a vector of integers, i32."""
    import numpy as np

    known = constant_of(counts)
    if known is not None:
        return build.array(np.cumsum(known).astype(np.int32))
    size = build.count(counts)
    wide = build.cast(counts, DataType.DT_INT32)
    return wide if size == 1 else build("CumsumD", build.reshape(wide, [size]), axis=0)


def extended_convolution(build: Builder, op: GeOp) -> list[SSAValue]:
    """ExtendConv2D: a convolution, then scale, Relu and codes, twice the same result"""
    import numpy as np

    x, y = op.operands[0], op.results[0]
    shared = [n for n in CONVOLUTION if n in op.prototype.attr_by_name]
    attrs = {name: op.get_attr(name) for name in shared}
    found = build("Conv2DV2", x, build.slot("filter"), build.slot("bias"), **attrs)
    letters = op.get_attr("data_format")
    scale = build.slot("scale0")
    t = Term(build, build.cast(found, DataType.DT_FLOAT))
    if scale is not None:
        words = build.known(scale, "a scale that is packed").astype(np.uint64)
        low = (words & np.uint64(0xFFFFFFFF)).astype(np.uint32).view(np.float32)
        along_channels = [low.size if c == "C" else 1 for c in letters]
        t = t * Term(build, build.array(low.reshape(along_channels)))
    t = t.call("Relu") if op.get_attr("enable_relu0") else t
    dtype = build.dtype(y)
    made = codes(t, dtype).like(y) if dtype in LIMITS else t.like(y)
    return [made, build("Identity", made)]


CONVOLUTION = ("strides", "pads", "dilations", "groups", "data_format", "offset_x", "pad_mode")
"""The attributes that a convolution has with and without a requantisation."""


# Behind a norm


def _normed(op: GeOp, x: Term, gamma: Term, beta: Term | None) -> tuple[Term, Term]:
    """rms(x) gamma, and that + beta"""
    n = x * rms(x, len(gamma.shape), op.get_attr("epsilon")) * gamma
    return n, n if beta is None else n + beta


def _add_rms_norm_quant(
    build: Builder, op: GeOp, x1: Term, x2: Term, gamma: Term, *rest: Term | None
) -> list[Term]:
    *scales, zeros1, zeros2, beta = rest
    x = x1 + x2
    _, n = _normed(op, x, gamma, beta)
    found: list[Term] = []
    for scale, zeros, y in zip(scales, (zeros1, zeros2), op.results, strict=False):
        if scale is None:
            found.append(_zeros(build, y))
            continue
        t = n / scale if op.get_attr("div_mode") else n * scale
        if zeros is not None:
            lead = [1] * (len(x.shape) - len(zeros.shape))
            t = t + _floats(build, zeros).reshape([*lead, *zeros.shape])
        found.append(codes(t, _code_type(op)))
    return [*found, x]


def _both(
    build: Builder, op: GeOp, n: Term, rank: int, smooth: Sequence[Term | None], least: float = 0.0
) -> list[Term]:
    """y1, y2, scale1 and scale2; the absent ones are zeros of one element."""
    names = [io.name for io in op.prototype.outputs]
    results = dict(zip(names, op.results, strict=True))
    found: dict[str, Term] = {}
    for k, factors in zip((1, 2), smooth, strict=True):
        y, scale = results[f"y{k}"], results[f"scale{k}"]
        if build.shape(y) != n.shape:
            pair = [_zeros(build, y), _zeros(build, scale)]
        else:
            t = n if factors is None else n * factors
            pair = symmetric(t, last_axes(n, rank), build.dtype(y), least)
        found[f"y{k}"], found[f"scale{k}"] = pair
    return [found[name] for name in ("y1", "y2", "scale1", "scale2")]


def _add_rms_norm_dynamic_quant(
    build: Builder, op: GeOp, x1: Term, x2: Term, gamma: Term, *rest: Term | None
) -> list[Term]:
    x = x1 + x2
    n, t = _normed(op, x, gamma, rest[2])
    y1, y2, scale1, scale2 = _both(build, op, t, len(gamma.shape), rest[:2])
    if not op.op_type.endswith("V2"):
        return [y1, y2, x, scale1, scale2]
    shown = [n if build.shape(r) == n.shape else _zeros(build, r) for r in op.results[2:4]]
    return [y1, y2, *shown, x, scale1, scale2]


def _multi_add_rms_norm(build: Builder, op: GeOp) -> list[SSAValue]:
    first, *more = [term(build, v) for v in build.many("x1")]
    names = ("x2", "gamma", "smooth_scale1", "smooth_scale2")
    slots = [build.slot(name) for name in names]
    x2, gamma, *smooth = (None if v is None else term(build, v) for v in slots)
    assert x2 is not None
    assert gamma is not None
    x = first
    for other in (*more, x2):
        x = x + other
    n, _ = _normed(op, x, gamma, None)
    y1, y2, scale1, scale2 = _both(build, op, n, len(gamma.shape), smooth, 1e-8)
    found = (y1, y2, x, n, scale1, scale2)
    return [t.like(r) for t, r in zip(found, op.results, strict=True)]


def _rms_norm_dynamic_quant(
    build: Builder, op: GeOp, x: Term, gamma: Term, smooth: Term | None, beta: Term | None
) -> list[Term]:
    _, n = _normed(op, x, gamma, beta)
    t = n if smooth is None else n * smooth
    return symmetric(t, last_axes(n, len(gamma.shape)), _code_type(op))


# Rounding to what quantisation keeps


def _nudged(op: GeOp, low: Term, high: Term) -> tuple[Term, Term, Term]:
    """(low, high, step) moved so that 0 is kept exactly"""
    first = 1.0 if op.get_attr("narrow_range") else 0.0
    last = 2.0 ** op.get_attr("num_bits") - 1
    step = (high - low) / (last - first)
    zero = (first - low / step + 0.5).call("Floor").clip(first, last)
    return (first - zero) * step, (last - zero) * step, step


def _held(x: Term, low: Term, high: Term) -> Term:
    return x.call("Minimum", high).call("Maximum", low)


def _range(op: GeOp, x: Term, low: Term | None = None, high: Term | None = None) -> Any:
    """(low, high, step) from operands, one number or one per place of the last dimension."""
    build, rank = x.build, max(len(x.shape), 1)
    pair: list[Term] = []
    for given, name in ((low, "min"), (high, "max")):
        if given is None:
            given = Term(build, build.const(op.get_attr(name), DataType.DT_FLOAT))
        pair.append(given.reshape([*[1] * (rank - 1), build.count(given.value)]))
    return _nudged(op, *pair)


def _fake_quant(build: Builder, op: GeOp, x: Term, low: Term, high: Term) -> Term:
    least, most, step = _range(op, x, low, high)
    places = ((_held(x, least, most) - least) / step + 0.5).call("Floor")
    return places * step + least


def _fake_quant_gradient(
    build: Builder, op: GeOp, grads: Term, x: Term, *limits: Term
) -> list[Term]:
    least, most, _ = _range(op, x, *limits)
    inside = (x >= least).both(x <= most).pick(grads, 0.0)
    if not limits:
        return [inside]
    count = len(x.shape) - ("PerChannel" in op.op_type)
    outside = [(x < least).pick(grads, 0.0), (x > most).pick(grads, 0.0)]
    return [inside, *(t.sum(range(count)) if count else t for t in outside)]


FORMULAS: dict[str, Formula] = {
    "AscendQuant": _ascend_quant,
    "AscendQuantV2": _ascend_quant_v2,
    "AscendAntiQuant": _ascend_anti_quant,
    "AscendAntiQuantV2": _ascend_anti_quant_v2,
    "Quantize": _quantize,
    "Dequantize": _dequantize,
    "GroupQuant": _group_quant,
    "DynamicQuant": _dynamic_quant,
    "DynamicQuantV2": _dynamic_quant_v2,
    "SwiGluQuant": _swiglu_quant,
    "AddRmsNormQuant": _add_rms_norm_quant,
    "AddRmsNormDynamicQuant": _add_rms_norm_dynamic_quant,
    "AddRmsNormDynamicQuantV2": _add_rms_norm_dynamic_quant,
    "RmsNormDynamicQuant": _rms_norm_dynamic_quant,
    "FakeQuantWithMinMaxVars": _fake_quant,
    "FakeQuantWithMinMaxVarsPerChannel": _fake_quant,
    "FakeQuantWithMinMaxArgsGradient": _fake_quant_gradient,
    "FakeQuantWithMinMaxVarsGradient": _fake_quant_gradient,
    "FakeQuantWithMinMaxVarsPerChannelGradient": _fake_quant_gradient,
}
"""Op type -> its formula."""

EXPANSIONS: dict[str, Expansion] = {
    **{name: formula(call) for name, call in FORMULAS.items()},
    "AscendDequant": _ascend_dequant,
    "QuantUpdateScatter": update_scatter,
    "ExtendConv2D": extended_convolution,
    "MultiAddRmsNormDynamicQuant": _multi_add_rms_norm,
}
