"""Counts: places in sorted rows, bins, best classes; bits in bytes; what fills tensors."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.ir import SSAValue

from ge_xdsl.dialects.ge.op import GeOp
from ge_xdsl.dialects.ge.types import HALVES, DataType, numpy_dtype
from ge_xdsl.lowering.expand.builder import Builder, Expansion
from ge_xdsl.lowering.expand.tallies import ramp, tallied
from ge_xdsl.lowering.expand.terms import Formula, Term, formula, term
from ge_xdsl.lowering.expand.training import number

EXACT = (DataType.DT_FLOAT, *HALVES, DataType.DT_INT16, DataType.DT_INT8, DataType.DT_UINT8)
"""Element types whose numbers f32 holds."""
FLOAT = DataType.DT_FLOAT


def floats(build: Builder, x: SSAValue) -> Term:
    """A value in f32."""
    return Term(build, build.cast(x, FLOAT))


def _exact(build: Builder, x: SSAValue) -> Term:
    if build.dtype(x) not in EXACT:
        raise build.decline(f"for element type {build.dtype(x).name}")
    return floats(build, x)


def _one(build: Builder, rank: int) -> Term:
    return Term(build, build.const(1.0, FLOAT)).reshape([1] * rank)


# Places in sorted rows: how many of a row are below


def _count_in_rows(
    build: Builder, op: GeOp, rows: SSAValue, values: SSAValue, right: bool
) -> SSAValue:
    """How many of a row are below each value, or at most it."""
    row, value = _exact(build, rows), _exact(build, values)
    if len(row.shape) == 1:
        wide, table = row, value.reshape([prod(value.shape)])
    else:
        lead = prod(row.shape[:-1])
        wide = row.reshape([lead, row.shape[-1]])
        table = value.reshape([lead, value.shape[-1]])
    return tallied(wide, "LessEqual" if right else "Less", table.value).like(op.results[0])


def search_sorted(build: Builder, op: GeOp) -> SSAValue:
    if build.slot("sorter") is not None:
        raise build.decline("with a sorter")
    rows, values = op.operands[:2]
    return _count_in_rows(build, op, rows, values, bool(op.get_attr("right")))


def bound(build: Builder, op: GeOp) -> SSAValue:
    """LowerBound and UpperBound"""
    rows, values = op.operands
    return _count_in_rows(build, op, rows, values, op.op_type == "UpperBound")


def bucketize(build: Builder, op: GeOp) -> SSAValue:
    row = build.const(list(op.get_attr("boundaries")), FLOAT)
    return _count_in_rows(build, op, row, op.operands[0], bool(op.get_attr("right")))


def bucketize_v2(build: Builder, op: GeOp) -> SSAValue:
    x, boundaries = op.operands
    return _count_in_rows(build, op, boundaries, x, bool(op.get_attr("right")))


# Counts by number


def weights_of(build: Builder, weights: SSAValue, shape: Sequence[int]) -> Term | None:
    """What each value counts, in the shape of the values; None for an empty tensor."""
    if not build.count(weights):
        return None
    if build.dtype(weights) is not FLOAT:
        raise build.decline(f"for weights of {build.dtype(weights).name}")
    return Term(build, build.reshape(weights, shape))


def bin_count(build: Builder, op: GeOp) -> SSAValue:
    """Bincount and DenseBincount"""
    values, _, weights = op.operands
    y = op.results[0]
    if build.dtype(y) not in (FLOAT, DataType.DT_INT32):
        raise build.decline(f"for element type {build.dtype(y).name}")
    x = floats(build, values)
    x = x if len(x.shape) == 2 else x.reshape([1, prod(x.shape)])
    given = weights_of(build, weights, x.shape)
    found = tallied(x, "Equal", ramp(build, build.shape(y)[-1]), given)
    if op.op_type == "DenseBincount" and op.get_attr("binary_output"):
        found = tallied(x, "Equal", ramp(build, build.shape(y)[-1])).call("Minimum", 1.0)
    return found.like(y)


def confusion(build: Builder, op: GeOp) -> SSAValue:
    """The numbers class by class of both labels together"""
    labels, predictions = (floats(build, v) for v in op.operands[:2])
    classes = op.get_attr("num_classes")
    both = (labels * float(classes) + predictions).reshape([1, prod(labels.shape)])
    weights = build.slot("weights")
    given = None if weights is None else floats(build, weights)
    return tallied(both, "Equal", ramp(build, classes * classes), given).like(op.results[0])


# Classes among the best


def in_top_k(build: Builder, op: GeOp) -> SSAValue:
    """Fewer than k scores of the row are larger than that of its class"""
    x, targets = floats(build, op.operands[0]), floats(build, op.operands[1])
    slot = build.slot("k") if "k" in op.prototype.input_index else None
    k = op.get_attr("k") if slot is None else int(build.known(slot, "k").reshape(-1)[0])
    rows, classes = x.shape
    ramp = Term(build, build.reshape(build.const(range(classes), FLOAT), [1, classes]))
    target = targets.reshape([rows, 1])
    hot = ramp.same(target)
    own = hot.pick(x, 0.0).sum([1])
    better = (x > own).pick(_one(build, 2), 0.0).sum([1])
    finite = (x - x).same(0.0).pick(_one(build, 2), 0.0)
    good = Term(build, build.reduce("Min", finite.value, [1]))
    inside = (target >= 0.0).both(target < float(classes)).both(good > 0.0)
    return inside.both(better < float(k)).like(op.results[0])


def nth_element(build: Builder, op: GeOp) -> SSAValue:
    x, slot = op.operands
    place = int(build.known(slot, "n").reshape(-1)[0])
    shape = build.shape(x)
    y = build("Sort", x, axis=-1, descending=bool(op.get_attr("reverse")))
    return build.reshape(build.slice(y, len(shape) - 1, place, 1), shape[:-1])


def arg_max_with_k(build: Builder, op: GeOp) -> list[SSAValue]:
    """The topk largest of each item, or along a dimension"""
    x, axis = op.operands[0], op.get_attr("axis")
    shape = build.shape(x)
    is_flat = axis == 10000
    if is_flat:
        x, axis = build.reshape(x, [shape[0], prod(shape[1:])]), 1
    values, places = build.results(
        "TopKV2", x, [op.get_attr("topk")], sorted=True, dim=axis, largest=True
    )
    first = values if op.get_attr("out_max_val") and not is_flat else places
    return [build.like(v, r) for v, r in zip((first, values), op.results, strict=True)]


# Bits


def _bits(build: Builder, x: SSAValue) -> Term:
    """The bits of bytes, the lowest first: floor(byte / 2^k) less twice floor(byte / 2^(k+1))

    f32 [bytes, 8].
    """
    byte = floats(build, x).reshape([build.count(x), 1])
    scale = Term(build, build.const([[2.0**-k for k in range(8)]], FLOAT))
    whole = (byte * scale).call("Floor")
    return whole - (byte * (scale * 0.5)).call("Floor") * 2.0


def _packed(build: Builder, bits: Term, like: SSAValue) -> SSAValue:
    """Bits [.., 8 n], the first in the highest place, as bytes."""
    rows = bits.reshape([prod(bits.shape) // 8, 8])
    weights = build.reshape(build.const([2.0 ** (7 - k) for k in range(8)], FLOAT), [1, 8])
    return (rows * Term(build, weights)).sum([1]).like(like)


def sign_bits_pack(build: Builder, op: GeOp) -> SSAValue:
    x = floats(build, op.operands[0])
    count = x.shape[0]
    bits = (x < 0.0).pick(_one(build, 1), 0.0)
    if count % 8:
        rest = build.spread(build.const(1.0, FLOAT), [-count % 8])
        bits = Term(build, build.concat([bits.value, rest], 0))
    return _packed(build, bits, op.results[0])


def sign_bits_unpack(build: Builder, op: GeOp) -> SSAValue:
    bits = _bits(build, op.operands[0])
    return (bits * 2.0 - 1.0).like(op.results[0])


def compare_and_pack(build: Builder, op: GeOp) -> SSAValue:
    x, threshold = (_exact(build, v) for v in op.operands)
    hot = x > number(threshold, x)
    return _packed(build, hot.pick(_one(build, len(x.shape)), 0.0), op.results[0])


def population_count(build: Builder, op: GeOp) -> SSAValue:
    """The byte less floor(byte / 2^k) for every k above 0: what bit b adds there sums to 2^b - 1"""
    x = op.operands[0]
    if build.dtype(x) not in (DataType.DT_UINT8, DataType.DT_INT8):
        raise build.decline(f"for element type {build.dtype(x).name}")
    byte = floats(build, x)
    byte = (byte < 0.0).pick(byte + 256.0, byte)
    count = byte
    for k in range(1, 8):
        count = count - (byte * 2.0**-k).call("Floor")
    return count.like(op.results[0])


def dropout_mask(build: Builder, op: GeOp) -> SSAValue:
    """DropOutDoMask: x / keep_prob where a bit is 1"""
    x = term(build, op.operands[0])
    count = prod(x.shape)
    used = build.slice(op.operands[1], 0, 0, -(-count // 8))
    bits = _bits(build, used).reshape([build.count(used) * 8])
    flat = build.reshape(build.slice(bits.value, 0, 0, count), x.shape)
    rate = number(term(build, op.operands[2]), x)
    none = rate.same(0.0)
    kept = none.pick(0.0, x / none.pick(1.0, rate))
    return (Term(build, flat) > 0.0).pick(kept, 0.0).like(op.results[0])


# Numbers that fill a tensor


def _spread_number(build: Builder, op: GeOp) -> SSAValue:
    """FillV2D and Empty"""
    y = op.results[0]
    value = op.get_attr("value") if "value" in op.prototype.attr_by_name else 0
    one = build.const(value, build.dtype(y))
    return build.spread(one, build.shape(y)) if build.shape(y) else one


def eye(build: Builder, op: GeOp) -> SSAValue:
    """1 where the row is the column"""
    y = op.results[0]
    *batch, rows, columns = build.shape(y)
    down = build.const([[i] for i in range(rows)], FLOAT)
    along = build.const([list(range(columns))], FLOAT)
    hot = build.cast(build("Equal", down, along), build.dtype(y))
    return build.spread(build.reshape(hot, [*[1] * len(batch), rows, columns]), build.shape(y))


def line(build: Builder, op: GeOp) -> SSAValue:
    """LinSpace of numbers that are not known: start + i (stop - start) / (n - 1)"""
    start, stop = (floats(build, v).reshape([1]) for v in op.operands[:2])
    count = build.shape(op.results[0])[0]
    if build.dtype(op.operands[0]) not in (FLOAT, *HALVES):
        raise build.decline(f"for element type {build.dtype(op.operands[0]).name}")
    if count == 1:
        return start.like(op.results[0])
    share = [i / (count - 1) for i in range(count)]
    near, far = ([1 - s for s in share], share)
    parts = [Term(build, build.const(part, FLOAT)) for part in (near, far)]
    return (parts[0] * start + parts[1] * stop).like(op.results[0])


def numbers_in_line(build: Builder, op: GeOp) -> SSAValue:
    """RangeD: start + i delta, of attributes alone"""
    import numpy as np

    x, y = op.operands[0], op.results[0]
    found = op.get_attr("start") + np.arange(build.count(x)) * op.get_attr("delta")
    return build.array(found.astype(numpy_dtype(build.dtype(y))), build.dtype(y))


def _ada_cast(build: Builder, op: GeOp) -> SSAValue:
    pixel = op.get_attr("pixel")
    y = floats(build, op.operands[0]) * (1 / (pixel if pixel > 0 else 65535))
    return y.clip(-65504.0, 65504.0).like(op.results[0])


def _blend(build: Builder, op: GeOp, face: Term, mask: Term, most: Term, image: Term) -> Term:
    shown = face / (mask + op.get_attr("epsilon")) * most
    return shown + floats(build, image.value) * (1 - most)


def _clip(build: Builder, op: GeOp, x: Term) -> Term:
    """np.clip: the lower limit first"""
    low, high = op.get_attr("min"), op.get_attr("max")
    return x.call("Maximum", low).call("Minimum", high)


def trans_argb(build: Builder, op: GeOp) -> SSAValue:
    turned = build.transpose(op.operands[0], [0, 3, 4, 2, 1])
    return build.cast(turned, DataType.DT_INT16)


FORMULAS: dict[str, Formula] = {"BlendFaceBgPartTwo": _blend, "Clip": _clip}
"""Op type -> its formula."""

EXPANSIONS: dict[str, Expansion] = {
    **{name: formula(call) for name, call in FORMULAS.items()},
    "SearchSorted": search_sorted,
    **dict.fromkeys(("LowerBound", "UpperBound"), bound),
    "Bucketize": bucketize,
    "BucketizeV2": bucketize_v2,
    **dict.fromkeys(("Bincount", "DenseBincount"), bin_count),
    "ConfusionMatrix": confusion,
    **dict.fromkeys(("InTopK", "InTopKD", "InTopKV2"), in_top_k),
    "NthElement": nth_element,
    "ArgMaxWithK": arg_max_with_k,
    "SignBitsPack": sign_bits_pack,
    "SignBitsUnpack": sign_bits_unpack,
    "CompareAndBitpack": compare_and_pack,
    "PopulationCount": population_count,
    "DropOutDoMask": dropout_mask,
    **dict.fromkeys(("FillV2D", "Empty"), _spread_number),
    "Eye": eye,
    **dict.fromkeys(("LinSpace", "LinSpaceD"), line),
    "RangeD": numbers_in_line,
    "AdaCast": _ada_cast,
    "TransArgb": trans_argb,
}
