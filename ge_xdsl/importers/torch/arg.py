"""ATen positions of extrema."""

from __future__ import annotations

from xdsl.ir import SSAValue

from ge_xdsl.dialects.ge.types import DataType
from ge_xdsl.importers.torch.builder import TorchBuilder
from ge_xdsl.importers.torch.call import Call
from ge_xdsl.importers.torch.elementwise import base_of
from ge_xdsl.importers.torch.table import Converter

OPS = {"argmax": "ArgMaxV2", "argmin": "ArgMin"}


def arg(call: Call, g: TorchBuilder) -> SSAValue:
    """ArgMaxV2 or ArgMin, of all elements after Reshape to a row"""
    x, dim, rank = call.value("self"), call.raw("dim"), len(call.shape)
    if dim is None:
        x = g.reshape(x, [-1])
    axis = g.helper(0 if dim is None else call.integer("dim"), "int32")
    found = g.op(OPS[base_of(call)], x, axis, dtype=DataType.DT_INT64)
    if not call.flag("keepdim"):
        return found
    if dim is None:
        return g.reshape(found, [1] * rank)
    return g.part("Unsqueeze", found, axes=[call.integer("dim")])


TABLE: dict[str, Converter] = dict.fromkeys(OPS, arg)
