"""ATen orders of elements."""

from __future__ import annotations

from xdsl.ir import SSAValue

from ge_xdsl.importers.torch.builder import TorchBuilder
from ge_xdsl.importers.torch.call import Call
from ge_xdsl.importers.torch.table import Converter


def flip(call: Call, g: TorchBuilder) -> SSAValue:
    """ReverseV2"""
    x, dims = call.value("self"), call.integers("dims")
    if not dims:
        return x
    return g.op("ReverseV2", x, g.helper(g.axes_of(dims, x), "int32"))


def roll(call: Call, g: TorchBuilder) -> SSAValue:
    """Roll; without dimensions of the elements as a row"""
    x, shifts, dims = call.value("self"), call.integers("shifts"), call.integers("dims")
    return g.op("Roll", x, shifts=shifts, dims=dims)


def pixel_shuffle(call: Call, g: TorchBuilder) -> SSAValue:
    """DepthToSpace in NCHW, whose channels come first as in torch"""
    return g.op(
        "DepthToSpace", call.value("self"), block_size=call.integer("upscale_factor"),
        mode="CRD", data_format="NCHW",
    )  # fmt: skip


TABLE: dict[str, Converter] = {"flip": flip, "pixel_shuffle": pixel_shuffle, "roll": roll}
