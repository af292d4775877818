"""ATen tensors that are made: ranges and fillings."""

from __future__ import annotations

from xdsl.ir import SSAValue

from ge_xdsl.dialects.ge.types import DYNAMIC, DataType, numpy_dtype
from ge_xdsl.importers.torch.builder import Operand, TorchBuilder
from ge_xdsl.importers.torch.call import Call, Dim
from ge_xdsl.importers.torch.elementwise import base_of
from ge_xdsl.importers.torch.table import Converter


def arange(call: Call, g: TorchBuilder) -> SSAValue:
    """A Const for known bounds, else Range"""
    start, end, step = (call.raw(name) for name in ("start", "end", "step"))
    start, step = 0 if start is None else start, 1 if step is None else step
    bounds: list[Operand] = [start, end, step]
    if not any(isinstance(bound, SSAValue) for bound in bounds):
        import numpy as np

        (count,) = call.shape
        g.check_count(count)
        numbers = start + step * np.arange(count)
        return g.const(numbers.astype(numpy_dtype(call.dtype)), call.name)
    whole = all(not isinstance(bound, float) for bound in bounds)
    dtype = DataType.DT_INT64 if whole else DataType.DT_DOUBLE
    found = g.part("Range", *(g.operand(bound, dtype) for bound in bounds))
    return g.cast(found, call.dtype)


def fill(call: Call, g: TorchBuilder) -> SSAValue:
    """Fill; a scalar is a Const"""
    base, dtype = base_of(call), call.dtype
    dims = _dims_of(call, g)
    number = _number(call, base)
    value = g.operand(number, dtype)
    if not dims:
        return value
    return g.op("Fill", g.sizes(dims), value)


def overwrite(call: Call, g: TorchBuilder) -> SSAValue:
    """BroadcastTo of what is written over all elements of a tensor"""
    source = call.raw("src") if base_of(call) == "copy" else call.raw("value")
    x = call.value("self")
    dims = [g.known_dim(x, k) for k in range(g.rank(x, "copy"))]
    return g.broadcast(g.operand(source, call.dtype), dims, call.name)


def _number(call: Call, base: str) -> Operand:
    if "fill_value" in call.args:
        return call.raw("fill_value")
    return 1 if "ones" in base else 0


def _dims_of(call: Call, g: TorchBuilder) -> list[Dim]:
    """The sizes given, else those of the tensor that the call is like."""
    if call.raw("size") is not None:
        return call.dims("size")
    shape = call.shape
    if DYNAMIC not in shape:
        return list(shape)
    x = call.value("self")
    return [g.known_dim(x, k) for k in range(len(shape))]


def scalar(call: Call, g: TorchBuilder) -> SSAValue:
    """A scalar Const, or a size that the run tells as a tensor"""
    return g.operand(call.raw("s"), call.dtype)


TABLE: dict[str, Converter] = {
    **dict.fromkeys(
        (
            "empty", "empty_like", "empty_strided", "full", "full_like", "new_full", "new_ones",
            "new_zeros", "ones", "ones_like", "zeros", "zeros_like",
        ),
        fill,
    ),
    "arange": arange,
    "copy": overwrite,
    "fill": overwrite,
    "scalar_tensor": scalar,
}  # fmt: skip
