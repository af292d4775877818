"""ATen convolutions, forward and transposed."""

from __future__ import annotations

from typing import Any

from xdsl.ir import SSAValue

from ge_xdsl.importers.torch.builder import TorchBuilder
from ge_xdsl.importers.torch.call import Call
from ge_xdsl.importers.torch.table import Converter

FORMATS = {1: "NCHW", 2: "NCHW", 3: "NCDHW"}
"""Spatial dimensions -> the data_format of the GE op; one becomes two."""


def convolution(call: Call, g: TorchBuilder) -> SSAValue:
    """Conv2D, Conv3D, Conv2DTranspose or Conv3DTranspose; a 1-D one between Unsqueeze and Squeeze
    of dimension 2"""
    x, weight, bias = call.value("input"), call.value("weight"), call.optional("bias")
    rank = g.rank(weight, "convolution") - 2
    if rank not in FORMATS:
        call.fail(f"the weight has rank {rank + 2}, expected 3 to 5 (1-D to 3-D)")
    if rank == 1:
        x, weight = (g.part("Unsqueeze", value, axes=[2]) for value in (x, weight))
    wide = 3 if rank == 3 else 2
    inputs = (x, weight, bias)
    if call.flag("transposed"):
        op_type = f"Conv{wide}DTranspose"
        inputs = (g.helper([0] * (wide + 2), "int32"), *inputs)
    else:
        op_type = f"Conv{wide}D"
    name = g.part_name(op_type) if rank == 1 else call.name
    y = g.add(op_type, inputs, _attributes(call, rank), name).results[0]
    return g.op("Squeeze", y, axis=[2]) if rank == 1 else y


def _attributes(call: Call, rank: int) -> dict[str, Any]:
    strides, dilations = (call.spread(name, rank) for name in ("stride", "dilation"))
    padding = call.spread("padding", rank)
    if rank == 1:
        strides, dilations, padding = [1, *strides], [1, *dilations], [0, *padding]
    attrs: dict[str, Any] = {
        "strides": [1, 1, *strides],
        "pads": [p for pad in padding for p in (pad, pad)],
        "dilations": [1, 1, *dilations],
        "groups": call.integer("groups"),
        "data_format": FORMATS[rank],
    }
    if call.flag("transposed"):
        extra = call.spread("output_padding", rank)
        attrs["output_padding"] = [0, 0, *([0] if rank == 1 else []), *extra]
    return attrs


TABLE: dict[str, Converter] = {"convolution": convolution}
