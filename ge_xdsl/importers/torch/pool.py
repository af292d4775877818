"""ATen pooling."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from ge_xdsl.dialects.ge.types import DataType
from ge_xdsl.importers.torch.builder import TorchBuilder
from ge_xdsl.importers.torch.call import Call
from ge_xdsl.importers.torch.table import Converter


def max_pool(call: Call, g: TorchBuilder) -> Sequence[SSAValue | None]:
    """MaxPoolV3; MaxPoolWithArgmaxV3 when something reads the positions or for dilated windows"""
    x = _batched(call, g)
    kernel = call.spread("kernel_size", 2)
    strides = call.spread("stride", 2, kernel)
    padding, dilation = call.spread("padding", 2), call.spread("dilation", 2)
    ceil_mode = call.flag("ceil_mode")
    if dilation != [1, 1] or _reads(call, 1):
        attrs = {
            "ksize": kernel, "strides": strides, "pads": padding, "dilation": dilation,
            "dtype": int(DataType.DT_INT64), "ceil_mode": ceil_mode, "data_format": "NCHW",
        }  # fmt: skip
        return g.add("MaxPoolWithArgmaxV3", (x,), attrs, call.name).results
    pads = [p for pad in padding for p in (pad, pad)]
    y = g.op(
        "MaxPoolV3", x, ksize=[1, 1, *kernel], strides=[1, 1, *strides], pads=pads,
        padding_mode="CALCULATED", data_format="NCHW", ceil_mode=ceil_mode,
    )  # fmt: skip
    return [y, None]


def _batched(call: Call, g: TorchBuilder) -> SSAValue:
    x = call.value("self")
    if len(g.shape(x) or ()) != 4:
        call.fail(f"the input is {g.tensor_text(x)}, expected rank 4 with a batch dimension")
    return x


def _reads(call: Call, index: int) -> bool:
    """Whether something takes one of several results."""
    return any(user.args[1:] == (index,) and user.users for user in call.node.users)


def average_pool(call: Call, g: TorchBuilder) -> SSAValue:
    """AvgPoolV2"""
    x = _batched(call, g)
    kernel = call.spread("kernel_size", 2)
    strides = call.spread("stride", 2, kernel)
    pads = [p for pad in call.spread("padding", 2) for p in (pad, pad)]
    return g.op(
        "AvgPoolV2", x, ksize=[1, 1, *kernel], strides=[1, 1, *strides], pads=pads,
        padding_mode="CALCULATED", data_format="NCHW", ceil_mode=call.flag("ceil_mode"),
        exclusive=not call.flag("count_include_pad"),
        divisor_override=call.raw("divisor_override") or 0,
    )  # fmt: skip


def average_pool_3d(call: Call, g: TorchBuilder) -> SSAValue:
    """AvgPool3D"""
    x = call.value("self")
    kernel = call.spread("kernel_size", 3)
    strides = call.spread("stride", 3, kernel)
    pads = [p for pad in call.spread("padding", 3) for p in (pad, pad)]
    return g.op(
        "AvgPool3D", x, ksize=[1, 1, *kernel], strides=[1, 1, *strides], pads=pads,
        data_format="NCDHW", ceil_mode=call.flag("ceil_mode"),
        count_include_pad=call.flag("count_include_pad"),
        divisor_override=call.raw("divisor_override") or 0,
    )  # fmt: skip


def adaptive(call: Call, g: TorchBuilder) -> SSAValue:
    """GlobalAveragePool for one output, else AdaptiveAvgPool2d"""
    x, size = call.value("self"), call.integers("output_size")
    if size == [1, 1] and len(call.shape) == 4:
        return g.op("GlobalAveragePool", x)
    return g.op("AdaptiveAvgPool2d", x, output_size=size)


def max_pool_3d(call: Call, g: TorchBuilder) -> Sequence[SSAValue | None]:
    """MaxPool3D; the positions have no GE op that computes them, so nothing may read them"""
    if _reads(call, 1):
        call.fail("something reads the positions of the maxima, expected only the maxima")
    x, kernel = call.value("self"), call.spread("kernel_size", 3)
    strides, dilation = call.spread("stride", 3, kernel), call.spread("dilation", 3)
    y = g.op(
        "MaxPool3D", x, ksize=[1, 1, *kernel], strides=[1, 1, *strides], padding="CALCULATED",
        pads=[p for pad in call.spread("padding", 3) for p in (pad, pad)],
        dilation=[1, 1, *dilation], ceil_mode=int(call.flag("ceil_mode")), data_format="NCDHW",
    )  # fmt: skip
    return [y, None]


def adaptive_3d(call: Call, g: TorchBuilder) -> SSAValue:
    """AdaptiveAvgPool3d"""
    size = call.integers("output_size")
    return g.op("AdaptiveAvgPool3d", call.value("self"), output_size=size, data_format="NCDHW")


TABLE: dict[str, Converter] = {
    "_adaptive_avg_pool2d": adaptive,
    "_adaptive_avg_pool3d": adaptive_3d,
    "adaptive_avg_pool2d": adaptive,
    "avg_pool2d": average_pool,
    "avg_pool3d": average_pool_3d,
    "max_pool2d_with_indices": max_pool,
    "max_pool3d_with_indices": max_pool_3d,
}
