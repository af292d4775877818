"""Convolutions in ONNX."""

from __future__ import annotations

from typing import Any

from xdsl.ir import SSAValue

from ge_xdsl.dialects.ge.conv import GroupedConvolution
from ge_xdsl.dialects.ge.op import GeOp
from ge_xdsl.dialects.ge.shapes import Shape
from ge_xdsl.dialects.ge.types import DYNAMIC, FLOATS
from ge_xdsl.exporters.onnx.graph import Graph, NoFormError
from ge_xdsl.exporters.onnx.table import Converter

CHANNELS_FIRST = ("NCHW", "NCDHW")


def onnx_pads(pads: list[int]) -> list[int]:
    """All befores, then all afters, from before and after of each dimension in turn."""
    return [*pads[0::2], *pads[1::2]]


def window(op: GroupedConvolution, shape: Shape, kernel: Shape) -> dict[str, Any]:
    """Strides, dilations and pads in ONNX's order; pads by a mode as numbers where sizes are known.

    onnxruntime refuses a mode along with dilations.
    """
    assert shape is not None
    assert kernel is not None
    found: dict[str, Any] = {
        "strides": list(op.full_strides()[2:]), "dilations": list(op.dilations[2:]),
    }  # fmt: skip
    mode = op.padding_mode()
    if mode == "EXPLICIT":
        found["pads"] = onnx_pads(list(op.pads))
    elif DYNAMIC not in (*shape[2:], *kernel[2:]):
        windows = op.windows(shape, kernel[2:])
        found["pads"] = [*(w.before for w in windows), *(w.after for w in windows)]
    else:
        found["auto_pad"] = mode
    return found


def convolution(op: GroupedConvolution, g: Graph) -> str:
    """Conv of x and filter with channels second, followed by Relu for the fused op"""
    g.defaults(op, "offset_x")
    x, weight = op.operands[0], op.operands[1]
    shape, kernel = g.tensor(x).shape, g.tensor(weight).shape
    if op.data_format not in CHANNELS_FIRST or op.filter_axes(g.tensor(weight))[:2] != (0, 1):
        raise NoFormError(f"data_format is {op.data_format}")
    if g.dtype(x) not in FLOATS or kernel is None:
        raise NoFormError("x or filter are no floats of a known rank")
    shape = (DYNAMIC,) * len(kernel) if shape is None else shape
    # of unknown channels onnxruntime finds out that they are not those of one group
    unknown = DYNAMIC in (shape[1], kernel[1]) and op.groups == 1
    groups = 1 if unknown else op.group_count(shape[1], kernel[1])
    inputs = [g.of(x), g.of(weight)]
    bias = op.operand_slot("bias")
    if isinstance(bias, SSAValue):
        inputs.append(g.vector(bias))
    y = g.add("Conv", *inputs, group=groups, **window(op, shape, kernel))
    return g.add("Relu", y) if op.op_type == "FusedConv2D_BiasAdd_ReLU" else y


def transposed(op: GeOp, g: Graph) -> str:
    """ConvTranspose, when input_size leaves the output size to the pads"""
    g.defaults(op, "offset_x")
    x, weight, bias = (op.operand_slot(name) for name in ("x", "filter", "bias"))
    size = op.operand_slot("input_size")
    assert isinstance(x, SSAValue)
    assert isinstance(weight, SSAValue)
    if any(g.known(size if isinstance(size, SSAValue) else None)):
        raise NoFormError("input_size is given")
    attrs: dict[str, Any] = {name: op.get_attr(name) for name in
                             ("strides", "dilations", "pads", "output_padding")}  # fmt: skip
    own = g.tensor(weight).layout.format.name.removeprefix("FORMAT_")
    plain = own in ("ND", *CHANNELS_FIRST)
    if op.get_attr("data_format") not in CHANNELS_FIRST or not plain:
        given = op.get_attr("data_format")
        raise NoFormError(f"data_format is {given} and the filter {own}")
    if any(key in op.attributes for key in ("ge.padding", "ge.auto_pad")):
        raise NoFormError("the pads follow from a padding mode")
    if g.dtype(x) not in FLOATS:
        raise NoFormError("integers are accumulated in i32")
    inputs = [g.of(x), g.of(weight)]
    if isinstance(bias, SSAValue):
        inputs.append(g.vector(bias))
    return g.add(
        "ConvTranspose", *inputs, group=op.get_attr("groups"), strides=list(attrs["strides"][2:]),
        dilations=list(attrs["dilations"][2:]), pads=onnx_pads(list(attrs["pads"])),
        output_padding=list(attrs["output_padding"][2:]),
    )  # fmt: skip


TABLE: dict[str, Converter] = {
    **dict.fromkeys(("Conv2D", "Conv3D", "FusedConv2D_BiasAdd_ReLU"), convolution),
    **dict.fromkeys(("Conv2DTranspose", "Conv3DTranspose"), transposed),
}
