"""ONNX ops that put elements in another order."""

from __future__ import annotations

from xdsl.ir import SSAValue

from ge_xdsl.importers.onnx.builder import Builder
from ge_xdsl.importers.onnx.node import Node
from ge_xdsl.importers.onnx.table import Converter


def reverse_sequence(node: Node, g: Builder) -> SSAValue:
    """ReverseSequence"""
    batch, time = node.integer("batch_axis", 1), node.integer("time_axis", 0)
    return g.op(
        "ReverseSequence", node.input(0), node.input(1), seq_dim=time, batch_dim=batch
    )  # fmt: skip


def depth_to_space(node: Node, g: Builder) -> SSAValue:
    """DepthToSpace in NCHW"""
    size, mode = node.required_integer("blocksize"), node.string("mode", "DCR")
    return g.op("DepthToSpace", node.input(0), block_size=size, mode=mode, data_format="NCHW")


def space_to_depth(node: Node, g: Builder) -> SSAValue:
    """SpaceToDepth in NCHW, whose channels are in CRD order; for DCR in NHWC between Transposes"""
    x, size = node.input(0), node.required_integer("blocksize")
    mode = node.string("mode", "DCR")
    if mode == "CRD":
        return g.op("SpaceToDepth", x, block_size=size, data_format="NCHW")
    if mode != "DCR":
        node.fail(f"attribute 'mode' is '{mode}', expected 'DCR' or 'CRD'")
    last = g.transpose(x, [0, 2, 3, 1])
    y = g.part("SpaceToDepth", last, block_size=size, data_format="NHWC")
    return g.transpose(y, [0, 3, 1, 2])


TABLE: dict[str, Converter] = {
    "DepthToSpace": depth_to_space,
    "ReverseSequence": reverse_sequence,
    "SpaceToDepth": space_to_depth,
}
