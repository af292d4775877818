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
    if op.get_attr("data_format") != "NCHW":
        raise NoFormError("the channels are not second")
    if g.rank(op.operands[0]) != 4:
        raise NoFormError("x has no four dimensions")
    ceil_mode = not named and op.get_attr("ceil_mode")
    if not named and op.get_attr("global_pooling"):
        return whole(g, op, is_max)
    if ceil_mode and (mode != "CALCULATED" or not is_max):
        raise NoFormError("ceil_mode adds other windows")
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
    if any(p >= k for p, k in zip(pads, [*kernel, *kernel], strict=True)):
        raise NoFormError("a window may lie in the padding")
    if is_max:
        return g.add("MaxPool", g.of(op.operands[0]), **attrs)
    if not named:
        g.defaults(op, "divisor_override")
        attrs["count_include_pad"] = int(not op.get_attr("exclusive"))
    return g.add("AveragePool", g.of(op.operands[0]), **attrs)


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
    if op.get_attr("data_format") != "NCDHW" or op.get_attr("padding") != "CALCULATED":
        raise NoFormError("the pads or the format are others")
    lists = {name: list(op.get_attr(name)) for name in ("ksize", "strides", "pads", "dilation")}
    if any(len(lists[name]) != 5 for name in ("ksize", "strides", "dilation")):
        raise NoFormError("there is no number for each dimension")
    kernel, pads = lists["ksize"][2:], onnx_pads(lists["pads"])
    if any(p >= k for p, k in zip(pads, [*kernel, *kernel], strict=True)):
        raise NoFormError("a window may lie in the padding")
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
    if op.get_attr("data_format") != "NCDHW" or any(
        len(lists[name]) != 5 for name in ("ksize", "strides")
    ):
        raise NoFormError("the channels are not second or a number is missing")
    kernel, pads = lists["ksize"][2:], onnx_pads(lists["pads"])
    if any(p >= k for p, k in zip(pads, [*kernel, *kernel], strict=True)):
        raise NoFormError("a window may lie in the padding")
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
