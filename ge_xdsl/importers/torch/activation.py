"""ATen activations."""

from __future__ import annotations

from xdsl.ir import SSAValue

from ge_xdsl.dialects.ge.types import DataType
from ge_xdsl.importers.torch.builder import TorchBuilder
from ge_xdsl.importers.torch.call import Call
from ge_xdsl.importers.torch.elementwise import base_of
from ge_xdsl.importers.torch.table import Converter

PLAIN = {
    "hardswish": "HardSwish",
    "mish": "Mish",
    "relu": "Relu",
    "relu6": "Relu6",
    "selu": "Selu",
    "sigmoid": "Sigmoid",
    "silu": "Swish",
    "tanh": "Tanh",
}
"""ATen operator -> the GE op without attributes that it is."""


def plain(call: Call, g: TorchBuilder) -> SSAValue:
    """The op that `PLAIN` names"""
    return g.op(PLAIN[base_of(call)], g.cast(call.value("self"), call.dtype))


def gelu(call: Call, g: TorchBuilder) -> SSAValue:
    """GeluV2, whose `approximate` is torch's"""
    return g.op("GeluV2", call.value("self"), approximate=str(call.raw("approximate")))


def softmax(call: Call, g: TorchBuilder) -> SSAValue:
    """SoftmaxV2 or LogSoftmaxV2; of half floats asked for as f32 after a Cast"""
    x = g.cast(call.value("self"), call.dtype)
    if not g.shape(x):  # of a scalar: one dimension of one
        x = g.reshape(x, [1])
    op_type = "SoftmaxV2" if base_of(call) == "_softmax" else "LogSoftmaxV2"
    found = g.op(op_type, x, axes=[call.integer("dim")])
    return found if call.shape else g.as_scalar(found)


def leaky_relu(call: Call, g: TorchBuilder) -> SSAValue:
    """LeakyRelu"""
    return g.op(
        "LeakyRelu", call.value("self"), negative_slope=float(call.number("negative_slope"))
    )


def elu(call: Call, g: TorchBuilder) -> SSAValue:
    """Elu"""
    names = ("alpha", "scale", "input_scale")
    return g.op("Elu", call.value("self"), **{name: float(call.number(name)) for name in names})


def celu(call: Call, g: TorchBuilder) -> SSAValue:
    """CeluV2"""
    return g.op("CeluV2", call.value("self"), alpha=float(call.number("alpha")))


def hardtanh(call: Call, g: TorchBuilder) -> SSAValue:
    """Relu6 for the limits 0 and 6, else ClipByValue"""
    x, low, high = call.value("self"), call.number("min_val"), call.number("max_val")
    if (low, high) == (0, 6):
        return g.op("Relu6", x)
    return g.op("ClipByValue", x, g.like(low, x), g.like(high, x))


def hardsigmoid(call: Call, g: TorchBuilder) -> SSAValue:
    """HardSigmoid with the slope 1/6"""
    return g.op("HardSigmoid", call.value("self"), alpha=1 / 6, beta=0.5)


def softplus(call: Call, g: TorchBuilder) -> SSAValue:
    """SoftplusV2, which is linear above the threshold"""
    attrs = {name: float(call.number(name)) for name in ("beta", "threshold")}
    return g.op("SoftplusV2", g.floating(call.value("self"), DataType.DT_FLOAT), **attrs)


TABLE: dict[str, Converter] = {
    **dict.fromkeys(PLAIN, plain),
    "_log_softmax": softmax,
    "_softmax": softmax,
    "celu": celu,
    "elu": elu,
    "gelu": gelu,
    "hardsigmoid": hardsigmoid,
    "hardtanh": hardtanh,
    "leaky_relu": leaky_relu,
    "softplus": softplus,
}
