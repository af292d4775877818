"""ATen reductions."""

from __future__ import annotations

import math
from collections.abc import Sequence

from xdsl.ir import SSAValue

from ge_xdsl.dialects.ge.types import DataType
from ge_xdsl.importers.torch.builder import TorchBuilder
from ge_xdsl.importers.torch.call import Call
from ge_xdsl.importers.torch.elementwise import base_of
from ge_xdsl.importers.torch.table import Converter

OPS = {
    "amax": "ReduceMax",
    "amin": "ReduceMin",
    "max": "ReduceMax",
    "mean": "ReduceMean",
    "min": "ReduceMin",
    "prod": "ReduceProd",
    "sum": "ReduceSum",
}
OF_BOOLS = {
    "all": "ReduceAll",
    "amax": "ReduceAny",
    "amin": "ReduceAll",
    "any": "ReduceAny",
    "max": "ReduceAny",
    "min": "ReduceAll",
}
"""The op that is the reduction of truth values."""


def reduce(call: Call, g: TorchBuilder) -> SSAValue:
    """The op that `OPS` names; sums and means in the element type of the result"""
    x, base = g.cast(call.value("self"), call.dtype), base_of(call)
    op_type = OF_BOOLS[base] if g.dtype(x) == DataType.DT_BOOL else OPS[base]
    return _reduced(call, g, op_type, x)


def _reduced(call: Call, g: TorchBuilder, op_type: str, x: SSAValue) -> SSAValue:
    axes = g.axes_of(call.integers("dim"), x)
    if not axes:
        return x
    return g.op(op_type, x, g.helper(axes, "int32"), keep_dims=call.flag("keepdim"))


def truth(call: Call, g: TorchBuilder) -> SSAValue:
    """ReduceAll or ReduceAny of x != 0"""
    x = call.value("self")
    if g.dtype(x) != DataType.DT_BOOL:
        x = g.part("NotEqual", x, g.like(0, x))
    return _reduced(call, g, OF_BOOLS[base_of(call)], x)


def extremum(call: Call, g: TorchBuilder) -> SSAValue | Sequence[SSAValue]:
    """Of all elements or of two tensors as named; along one dimension the values and positions"""
    base = base_of(call)
    if call.raw("other") is not None:
        dtype = call.dtype
        op_type = "Maximum" if base == "max" else "Minimum"
        operands = (g.operand(call.raw(name), dtype) for name in ("self", "other"))
        return g.op(op_type, *operands)
    if call.raw("dim") is None:
        return reduce(call, g)
    x, axis = call.value("self"), call.integer("dim")
    op_type = "ArgMaxV2" if base == "max" else "ArgMin"
    values = _reduced(call, g, OPS[base], x)
    place = g.part(op_type, x, g.helper(axis, "int32"), dtype=DataType.DT_INT64)
    return [values, g.part("Unsqueeze", place, axes=[axis]) if call.flag("keepdim") else place]


def norm(call: Call, g: TorchBuilder) -> SSAValue:
    """LpNormV2; of order infinity ReduceMax of Abs"""
    x, order = g.cast(call.value("self"), call.dtype), float(call.number("ord"))
    axes, keep = g.axes_of(call.integers("dim"), x), call.flag("keepdim")
    if order == math.inf:
        return g.op("ReduceMax", g.part("Abs", x), g.helper(axes, "int32"), keep_dims=keep)
    if order <= 0:
        call.fail(f"argument 'ord' is {order}, expected one above 0")
    return g.op("LpNormV2", x, p=order, axes=axes, keepdim=keep, epsilon=0.0)


def spread(call: Call, g: TorchBuilder) -> SSAValue | Sequence[SSAValue]:
    """ReduceSum of the squares of x - ReduceMean(x), over the count less the correction: its Sqrt
    for std, with the mean for var_mean"""
    x, correction = call.value("self"), _correction(call)
    axes, keep = g.axes_of(call.integers("dim"), x), call.flag("keepdim")
    dtype, base = g.dtype(x), base_of(call)
    places = g.helper(axes, "int32")
    mean = g.part("ReduceMean", x, places, keep_dims=True)
    squares = g.part("Square", g.part("Sub", x, mean))
    if correction == 0:
        found = g.part("ReduceMean", squares, places, keep_dims=keep)
    else:
        total = g.part("ReduceSum", squares, places, keep_dims=keep)
        rest = g.part("Sub", g.count(x, axes, dtype), g.operand(correction, dtype))
        found = g.part("RealDiv", total, g.part("Maximum", rest, g.operand(0, dtype)))
    if base == "std":
        return g.op("Sqrt", found)
    if base == "var":
        return found
    return [found, mean if keep else g.part("Squeeze", mean, axis=axes)]


def _correction(call: Call) -> int | float:
    """1 where nothing is said; the older `unbiased` says 1 or 0."""
    if "unbiased" in call.args:
        return int(call.flag("unbiased"))
    return 1 if call.raw("correction") is None else call.number("correction")


TABLE: dict[str, Converter] = {
    "all": truth,
    "amax": reduce,
    "amin": reduce,
    "any": truth,
    "linalg_vector_norm": norm,
    "max": extremum,
    "mean": reduce,
    "min": extremum,
    "prod": reduce,
    "std": spread,
    "sum": reduce,
    "var": spread,
    "var_mean": spread,
}
