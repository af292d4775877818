"""ATen distances between rows."""

from __future__ import annotations

from math import inf

from xdsl.ir import SSAValue

from ge_xdsl.importers.torch.builder import TorchBuilder
from ge_xdsl.importers.torch.call import Call
from ge_xdsl.importers.torch.table import Converter


def cdist(call: Call, g: TorchBuilder) -> SSAValue:
    """The p-norm of the difference of each row of x1 and each of x2"""
    first, second, p = call.value("x1"), call.value("x2"), float(call.number("p"))
    rank = g.rank(first, "a distance")
    gaps = g.part(
        "Sub",
        g.part("Unsqueeze", first, axes=[rank - 1]),
        g.part("Unsqueeze", second, axes=[g.rank(second, "a distance") - 2]),
    )
    gaps, axis, dtype = g.part("Abs", gaps), g.helper([rank], "int32"), call.dtype
    if p == inf:
        return g.op("ReduceMax", gaps, axis)
    if p == 0:
        return g.op("ReduceSum", g.cast(g.part("NotEqual", gaps, g.operand(0, dtype)), dtype), axis)
    if p == 1:
        return g.op("ReduceSum", gaps, axis)
    if p == 2:
        return g.op("Sqrt", g.part("ReduceSum", g.part("Square", gaps), axis))
    total = g.part("ReduceSum", g.part("Pow", gaps, g.operand(p, dtype)), axis)
    return g.op("Pow", total, g.operand(1 / p, dtype))


TABLE: dict[str, Converter] = {"_cdist_forward": cdist}
