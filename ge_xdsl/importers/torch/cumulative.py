"""ATen running sums and products."""

from __future__ import annotations

from xdsl.ir import SSAValue

from ge_xdsl.importers.torch.builder import TorchBuilder
from ge_xdsl.importers.torch.call import Call
from ge_xdsl.importers.torch.elementwise import base_of
from ge_xdsl.importers.torch.table import Converter

OPS = {"cumprod": "Cumprod", "cumsum": "Cumsum"}


def running(call: Call, g: TorchBuilder) -> SSAValue:
    """Cumsum or Cumprod in the element type of the result"""
    x = g.cast(call.value("self"), call.dtype)
    if not call.shape:
        return x
    return g.op(OPS[base_of(call)], x, g.helper(call.integer("dim"), "int32"))


TABLE: dict[str, Converter] = dict.fromkeys(OPS, running)
