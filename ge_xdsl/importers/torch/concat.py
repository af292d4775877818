"""ATen concatenation and splits."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from ge_xdsl.importers.torch.builder import TorchBuilder
from ge_xdsl.importers.torch.call import Call
from ge_xdsl.importers.torch.table import Converter


def cat(call: Call, g: TorchBuilder) -> SSAValue:
    """ConcatD of the tensors that are not the empty vector, which torch leaves out"""
    rank = len(call.shape)
    parts = [v for v in call.values("tensors") if g.shape(v) != (0,) or rank == 1]
    parts = [g.cast(value, call.dtype) for value in parts]
    if len(parts) == 1:
        return parts[0]
    return g.op("ConcatD", parts, concat_dim=call.integer("dim") % rank, N=len(parts))


def stack(call: Call, g: TorchBuilder) -> SSAValue:
    """Pack"""
    parts = [g.cast(value, call.dtype) for value in call.values("tensors")]
    return g.op("Pack", parts, axis=call.integer("dim") % len(call.shape), N=len(parts))


def split(call: Call, g: TorchBuilder) -> Sequence[SSAValue]:
    """SplitV"""
    x = call.value("self")
    axis = call.integer("dim") % g.rank(x, "split")
    sizes = call.dims("split_sizes") if call.raw("split_sizes") is not None else None
    count = len(call.results)
    if sizes is None:
        found = g.shape(x)
        given = call.raw("split_size")
        if isinstance(given, list):
            sizes = call.dims("split_size")
        elif found is None or found[axis] < 0:
            call.fail("splits a dimension known at run time only, expected a known one")
        else:
            step = call.integer("split_size")
            sizes = [min(step, found[axis] - k * step) for k in range(count)]
    place = g.helper(axis, "int32")
    inputs, attrs = (x, g.sizes(sizes), place), {"num_split": count}
    return g.add("SplitV", inputs, attrs, call.name, result_counts=(count,)).results


def unbind(call: Call, g: TorchBuilder) -> Sequence[SSAValue]:
    """Unpack"""
    x = call.value("self")
    count = len(call.results)
    attrs = {"num": count, "axis": call.integer("dim") % g.rank(x, "unbind")}
    return g.add("Unpack", (x,), attrs, call.name, result_counts=(count,)).results


TABLE: dict[str, Converter] = {
    "cat": cat,
    "split": split,
    "split_with_sizes": split,
    "stack": stack,
    "unbind": unbind,
}
