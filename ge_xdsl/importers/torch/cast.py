"""ATen conversions of element type, and copies, which are the value itself."""

from __future__ import annotations

from xdsl.ir import SSAValue

from ge_xdsl.importers.torch.builder import TorchBuilder
from ge_xdsl.importers.torch.call import Call
from ge_xdsl.importers.torch.table import Converter


def convert(call: Call, g: TorchBuilder) -> SSAValue:
    """Cast to the element type of the result; nothing for the same one"""
    x = call.value("a") if call.raw("a") is not None else call.value("self")
    if g.dtype(x) == call.dtype:
        return x
    return g.op("Cast", x, dst_type=int(call.dtype))


TABLE: dict[str, Converter] = dict.fromkeys(
    (
        "_to_copy", "alias", "clone", "contiguous", "convert_element_type", "detach",
        "lift_fresh_copy", "to",
    ),
    convert,
)  # fmt: skip
