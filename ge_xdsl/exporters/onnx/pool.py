"""Pooling in ONNX."""

from __future__ import annotations

from typing import Any

from ge_xdsl.dialects.ge.op import GeOp
from ge_xdsl.exporters.onnx.conv import onnx_pads
from ge_xdsl.exporters.onnx.graph import Graph, NoFormError
from ge_xdsl.exporters.onnx.table import Converter


def pool(op: GeOp, g: Graph) -> str:
    """MaxPool or AveragePool over two dimensions"""
    is_max = op.op_type.startswith("Max")
    named = op.op_type in ("AvgPool", "MaxPool")
    mode = op.get_attr("padding" if named else "padding_mode")
    channels_second(op, "NCHW")
    if g.rank(op.operands[0]) != 4:
        raise NoFormError("x does not have 4 dimensions")
    ceil_mode = not named and op.get_attr("ceil_mode")
    if not named and op.get_attr("global_pooling"):
        return whole(g, op, is_max)
    if ceil_mode and (mode != "CALCULATED" or not is_max):
        raise NoFormError("ceil_mode adds other windows than in ONNX")
    attrs: dict[str, Any] = {
        "kernel_shape": list(op.get_attr("ksize")[2:]), "strides": list(op.get_attr("strides")[2:]),
    }  # fmt: skip
    if mode == "CALCULATED":
        attrs["pads"] = onnx_pads(list(op.get_attr("pads")))
        attrs["ceil_mode"] = int(ceil_mode)
    else:
        attrs["auto_pad"] = "SAME_UPPER" if mode == "SAME" else "VALID"
    pads = attrs.get("pads", [0] * 4)
    kernel = attrs["kernel_shape"]
    if ceil_mode:
        check_last_windows(g, op, kernel, attrs["strides"], attrs["pads"])
    narrow_pads(pads, kernel)
    if is_max:
        return g.add("MaxPool", g.of(op.operands[0]), **attrs)
    if not named:
        g.defaults(op, "divisor_override")
        attrs["count_include_pad"] = int(not op.get_attr("exclusive"))
    return g.add("AveragePool", g.of(op.operands[0]), **attrs)


def channels_second(op: GeOp, form: str) -> None:
    """Decline another data_format than the one in which the channels are second."""
    if op.get_attr("data_format") != form:
        raise NoFormError(f"data_format is {op.get_attr('data_format')}")


def narrow_pads(pads: list[int], kernel: list[int]) -> None:
    """Decline pads as wide as the window: onnxruntime takes none, GE gives the value of no x."""
    if any(p >= k for p, k in zip(pads, [*kernel, *kernel], strict=True)):
        raise NoFormError("a window may lie in the padding")


def kernel_3d(lists: dict[str, list[int]]) -> tuple[list[int], list[int]]:
    """Sizes of a window over three dimensions and its pads in ONNX's order."""
    for name, numbers in lists.items():
        if name != "pads" and len(numbers) != 5:
            raise NoFormError(f"{name} has {len(numbers)} numbers, not 5")
    kernel, pads = lists["ksize"][2:], onnx_pads(lists["pads"])
    narrow_pads(pads, kernel)
    return kernel, pads


def check_last_windows(
    g: Graph, op: GeOp, kernel: list[int], strides: list[int], pads: list[int]
) -> None:
    """Decline ceil_mode where GE drops a window that starts in the padding: ONNX keeps it."""
    sizes, counts = g.dims(op.operands[0])[2:], g.dims(op.results[0])[2:]
    for k, (size, count) in enumerate(zip(sizes, counts, strict=True)):
        room = size + pads[k] + pads[len(kernel) + k] - kernel[k]
        if -(-room // strides[k]) + 1 != count:
            raise NoFormError("a window starts in the padding")


def whole(g: Graph, op: GeOp, is_max: bool) -> str:
    """The pool whose window is the plane"""
    if not is_max:
        g.defaults(op, "divisor_override")
    return g.add("GlobalMaxPool" if is_max else "GlobalAveragePool", g.of(op.operands[0]))


def max_3d(op: GeOp, g: Graph) -> str:
    """MaxPool over three dimensions, with explicit pads"""
    channels_second(op, "NCDHW")
    if op.get_attr("padding") != "CALCULATED":
        raise NoFormError(f"padding is {op.get_attr('padding')}")
    lists = {name: list(op.get_attr(name)) for name in ("ksize", "strides", "pads", "dilation")}
    kernel, pads = kernel_3d(lists)
    if op.get_attr("ceil_mode"):
        spans = [(k - 1) * d + 1 for k, d in zip(kernel, lists["dilation"][2:], strict=True)]
        check_last_windows(g, op, spans, lists["strides"][2:], pads)
    return g.add(
        "MaxPool", g.of(op.operands[0]), kernel_shape=kernel, strides=lists["strides"][2:],
        dilations=lists["dilation"][2:], pads=pads, ceil_mode=int(op.get_attr("ceil_mode") != 0),
    )  # fmt: skip


def average_3d(op: GeOp, g: Graph) -> str:
    """AveragePool over three dimensions"""
    g.defaults(op, "divisor_override", "ceil_mode")
    lists = {name: list(op.get_attr(name)) for name in ("ksize", "strides", "pads")}
    channels_second(op, "NCDHW")
    kernel, pads = kernel_3d(lists)
    return g.add(
        "AveragePool", g.of(op.operands[0]), kernel_shape=kernel, strides=lists["strides"][2:],
        pads=pads, count_include_pad=int(op.get_attr("count_include_pad")),
    )  # fmt: skip


def global_average(op: GeOp, g: Graph) -> str:
    """GlobalAveragePool"""
    return g.add("GlobalAveragePool", g.of(op.operands[0]))


TABLE: dict[str, Converter] = {
    **dict.fromkeys(("AvgPool", "AvgPoolV2", "MaxPool", "MaxPoolV3"), pool),
    "AvgPool3D": average_3d,
    "GlobalAveragePool": global_average,
    "MaxPool3D": max_3d,
}
