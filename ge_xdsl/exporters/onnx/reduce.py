"""Reductions, positions of extrema, running sums and sorting in ONNX."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from ge_xdsl.dialects.ge.op import GeOp, constant_of
from ge_xdsl.dialects.ge.types import FLOATS, DataType
from ge_xdsl.exporters.onnx.graph import Graph, NoFormError
from ge_xdsl.exporters.onnx.table import Converter

SAME = "ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean ReduceMin ReduceProd ReduceSum"


def axes_of(op: GeOp, g: Graph) -> tuple[str, bool]:
    """The axes as an i64 vector, and whether there are none; a scalar has none to name."""
    if g.is_scalar(op.operands[0]):
        raise NoFormError("x is a scalar")
    if len(op.operands) < 2:
        listed = list(op.get_attr("axes"))
        return (g.ints(listed) if listed else ""), not listed
    axes = op.operands[1]
    shape, known = g.tensor(axes).shape, constant_of(axes)
    if known is not None:
        listed = [int(n) for n in known.reshape(-1).tolist()]
        return (g.ints(list(dict.fromkeys(listed))) if listed else ""), not listed
    if shape is None or len(shape) != 1 or shape[0] < 1:
        raise NoFormError("the number of axes is unknown")
    return g.long(axes), False


def reduction(op: GeOp, g: Graph) -> str:
    """The op of the same name, without the D of attributes"""
    name = op.op_type.removesuffix("D")
    x = g.of(op.operands[0])
    if name == "ReduceMean" and g.types[x] not in FLOATS:
        raise NoFormError("means of integers are rounded otherwise")
    axes, none = axes_of(op, g)
    noop = name.startswith("ReduceLog") or (
        "noop_with_empty_axes" in op.prototype.attr_by_name and op.get_attr("noop_with_empty_axes")
    )
    if none and noop:
        return g.add("Log", x) if name == "ReduceLogSum" else _same(g, x, name)
    return g.add(name, x, axes, keepdims=int(op.get_attr("keep_dims")))


def _same(g: Graph, x: str, name: str) -> str:
    if name == "ReduceLogSumExp":
        raise NoFormError("there are no axes")
    return g.add("Identity", x)


def truth(op: GeOp, g: Graph) -> str:
    """ReduceMin of truth values as numbers; one is true unless all are false"""
    x = g.cast(g.of(op.operands[0]), DataType.DT_BOOL)
    is_any = op.op_type.startswith("ReduceAny")
    x = g.cast(g.add("Not", x) if is_any else x, DataType.DT_INT32)
    axes, _ = axes_of(op, g)
    found = g.add("ReduceMin", x, axes, keepdims=int(op.get_attr("keep_dims")))
    found = g.cast(found, DataType.DT_BOOL)
    return g.add("Not", found) if is_any else found


def lp_norm(op: GeOp, g: Graph) -> str:
    """ReduceL1 or ReduceL2, at least epsilon"""
    p, x, axes = op.get_attr("p"), g.of(op.operands[0]), list(op.get_attr("axes"))
    if p not in (1, 2):
        raise NoFormError("p is neither 1 nor 2")
    where = g.ints(axes) if axes else ""
    y = g.add(f"ReduceL{int(p)}", x, where, keepdims=int(op.get_attr("keepdim")))
    epsilon = op.get_attr("epsilon")
    return y if epsilon == 0 else g.add("Max", y, g.number_like(epsilon, x))


def square_sum(op: GeOp, g: Graph) -> str:
    """ReduceSumSquare"""
    axes = list(op.get_attr("axis"))
    if not axes:
        raise NoFormError("there are no axes")
    keep = int(op.get_attr("keep_dims"))
    return g.add("ReduceSumSquare", g.of(op.operands[0]), g.ints(axes), keepdims=keep)


def arg(op: GeOp, g: Graph) -> str:
    """ArgMax or ArgMin, in i64"""
    x = op.operands[0]
    if g.is_scalar(x):
        raise NoFormError("x is a scalar")
    axis = g.number(op.operands[1]) if len(op.operands) > 1 else op.get_attr("dimension")
    name = "ArgMax" if op.op_type.startswith("ArgMax") else "ArgMin"
    found = g.add(name, g.of(x), dtype=DataType.DT_INT64, axis=axis, keepdims=0)
    return g.cast(found, g.dtype(op.results[0]))


def hardmax(op: GeOp, g: Graph) -> str:
    """Hardmax"""
    return g.add("Hardmax", g.of(op.operands[0]), axis=op.get_attr("axis"))


def cumsum(op: GeOp, g: Graph) -> str:
    """CumSum"""
    x, axis = op.operands[0], op.operands[1] if len(op.operands) > 1 else None
    if g.is_scalar(x):
        raise NoFormError("x is a scalar")
    if axis is None:
        place = g.const(op.get_attr("axis"), DataType.DT_INT64)
    else:
        place = g.of(axis) if not g.rank(axis) else g.add("Reshape", g.of(axis), g.ints([]))
    exclusive, reverse = (int(op.get_attr(name)) for name in ("exclusive", "reverse"))
    return g.add("CumSum", g.of(x), place, exclusive=exclusive, reverse=reverse)


def top_k(op: GeOp, g: Graph) -> Sequence[str]:
    """TopK, best first; its k is a vector"""
    x, k = op.operand_slot("x"), op.operand_slot("k")
    assert isinstance(x, SSAValue)
    assert isinstance(k, SSAValue)
    count = g.add("Reshape", g.long(k), g.ints([1]))
    attrs = {"axis": op.get_attr("dim"), "largest": int(op.get_attr("largest")), "sorted": 1}
    values, indices = g.several("TopK", [g.of(x), count], 2, None, attrs)
    g.types[indices] = DataType.DT_INT64
    return [values, g.cast(indices, g.dtype(op.results[1]))]


TABLE: dict[str, Converter] = {
    **{name: reduction for stem in SAME.split() for name in (stem, f"{stem}D")},
    **dict.fromkeys(("ReduceAll", "ReduceAllD", "ReduceAny", "ReduceAnyD"), truth),
    **dict.fromkeys(("ArgMaxD", "ArgMaxV2", "ArgMin", "ArgMinD"), arg),
    **dict.fromkeys(("Cumsum", "CumsumD"), cumsum),
    **dict.fromkeys(("TopK", "TopKV2"), top_k),
    "HardMax": hardmax,
    "LpNormV2": lp_norm,
    "SquareSumV1": square_sum,
}
