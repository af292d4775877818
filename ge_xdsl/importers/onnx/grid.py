"""ONNX sampling of images at positions."""

from __future__ import annotations

from xdsl.ir import SSAValue

from ge_xdsl.importers.onnx.builder import Builder
from ge_xdsl.importers.onnx.node import Node
from ge_xdsl.importers.onnx.table import Converter

MODES = {"linear": "bilinear", "bilinear": "bilinear", "nearest": "nearest",
         "cubic": "bicubic", "bicubic": "bicubic"}  # fmt: skip
"""ONNX's names of interpolations, old and new -> GE's."""
PADDINGS = ("zeros", "border", "reflection")


def grid_sample(node: Node, g: Builder) -> SSAValue:
    """GridSampler2D, or GridSampler3D for a 3-D image"""
    x, grid = node.input(0), node.input(1)
    mode, padding = node.string("mode", "linear"), node.string("padding_mode", "zeros")
    if mode not in MODES:
        node.fail(f"attribute 'mode' is '{mode}', expected one of {', '.join(MODES)}")
    if padding not in PADDINGS:
        node.fail(f"attribute 'padding_mode' is '{padding}', expected {', '.join(PADDINGS)}")
    rank = g.rank(x, "GridSample")
    if rank not in (4, 5):
        node.fail(f"the input is {g.tensor_text(x)}, expected rank 4 or 5")
    return g.op(
        f"GridSampler{rank - 2}D", x, grid, interpolation_mode=MODES[mode], padding_mode=padding,
        align_corners=node.flag("align_corners", False),
    )  # fmt: skip


TABLE: dict[str, Converter] = {"GridSample": grid_sample}
