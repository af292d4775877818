"""Depthwise convolutions and pools on the vector core: one instruction per kernel tap.

for each image, 8 channels and some output rows, dealt to the vector cores:
    copy_map_ub the map rows; cast to f32; vspread to one pixel per row with padding around
    for each tap: vtap (multiply-add by the channel's weight, maximum, or sum)
    vtranspose to a row per channel; bias, factor, relu; cast; copy_ub_gm
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.ir import Block, SSAValue

from ge_xdsl.dialects.aicore.maps import LANES, CopyMapUbOp, Geometry, VspreadOp, VtapOp
from ge_xdsl.dialects.aicore.move import CopyGmUbOp, CopyUbGmOp
from ge_xdsl.dialects.aicore.op import Index
from ge_xdsl.dialects.aicore.structure import ForOp, KernelOp
from ge_xdsl.dialects.aicore.types import Tile
from ge_xdsl.dialects.aicore.vector import (
    VbinaryOp,
    VbrcOp,
    VcastOp,
    VscalarOp,
    VtransposeOp,
    VunaryOp,
)
from ge_xdsl.lowering.conv_tiling import tap_lines
from ge_xdsl.lowering.matmul import alloc
from ge_xdsl.lowering.tiling import BUFFERS, fewest_cores
from ge_xdsl.targets.target import Target

LOWEST = -1e39
"""Beyond f32: rounds to minus infinity, the padding of a maximum."""


@dataclass(frozen=True, slots=True)
class Taps:
    """A depthwise convolution (kind muladd) or a pool (max, add) of N x C planes."""

    kind: str
    images: int
    channels: int
    geometry: Geometry
    element: str
    weight: str = ""
    """Element type of the weights, '' without any."""
    bias: str = ""
    relu: bool = False
    factor: float = 1.0
    """What a sum is multiplied by."""
    varies: bool = False
    """Whether a row of factors, one per output pixel, is an operand."""

    def lines(self, target: Target) -> int:
        """Output rows of a tile; raises CompileError when not one fits."""
        size = Tile((1,), self.element, "gm").size
        planes = self.images * -(-self.channels // LANES)
        return tap_lines(self.geometry, planes, size, size, bool(self.weight), target)


def taps_kernel(name: str, taps: Taps, target: Target) -> KernelOp:
    """The kernel; arguments are x, then weights, bias and factors where there are, and y."""
    g, lines = taps.geometry, taps.lines(target)
    high, wide = g.size
    args = {"x": Tile((taps.images, taps.channels, high * wide), taps.element, "gm")}
    if taps.weight:
        args["w"] = Tile((taps.channels, g.taps), taps.weight, "gm")
    if taps.bias:
        args["bias"] = Tile((taps.channels, 1), taps.bias, "gm")
    if taps.varies:
        args["factors"] = Tile((1, g.pixels), "f32", "gm")
    args["y"] = Tile((taps.images, taps.channels, g.pixels), taps.element, "gm")
    block = Block(arg_types=[tile.type for tile in args.values()])
    for arg, hint in zip(block.args, args, strict=True):
        arg.name_hint = hint
    extents = [taps.images, taps.channels, g.pixels]
    steps = [1, LANES, lines * g.out[1]]
    loop = ForOp.make(extents, steps, ["p", "c", "m"], over_cores=True)
    block.add_op(loop)
    _Body(taps, dict(zip(args, block.args, strict=True)), loop, lines).fill()
    count = 1
    for extent, step in zip(extents, steps, strict=True):
        count *= -(-extent // step)
    return KernelOp.make(name, "vector", fewest_cores(count, target.vector_cores), 1, block)


class _Body:
    """Fills the loop body of a tap kernel."""

    def __init__(self, taps: Taps, args: dict[str, SSAValue], loop: ForOp, lines: int) -> None:
        self.taps = taps
        self.args = args
        self.body = loop.body
        self.p, self.c, self.m = (loop.origin(i) for i in range(3))
        self.vc, self.vm = loop.length(1), loop.length(2)
        self.pixels = lines * taps.geometry.out[1]
        self.rows = (lines - 1) * taps.geometry.stride[0] + taps.geometry.span

    def ub(self, shape: tuple[int, int], element: str, hint: str, buffers: int = 1) -> SSAValue:
        return alloc(self.body, Tile(shape, element, "ub"), hint, buffers)

    def widened(self, value: SSAValue, element: str, shape: tuple[int, int]) -> SSAValue:
        """A tile in f32, all of it."""
        if element == "f32":
            return value
        wide = self.ub(shape, "f32", "wide")
        self.body.add_op(VcastOp.build(value, wide, sizes=list(shape)))
        return wide

    def fill(self) -> None:
        """Load, spread, all taps, turn back, finish, store."""
        taps, g, body = self.taps, self.taps.geometry, self.body
        shape = (LANES * self.rows, g.size[1])
        rows = self.ub(shape, taps.element, "rows", BUFFERS)
        sizes: list[Index] = [self.vc, self.vm]
        offsets: list[Index] = [self.p, self.c, self.m]
        options = g.options()
        body.add_op(
            CopyMapUbOp.build(self.args["x"], rows, offsets=offsets, sizes=sizes, **options)
        )
        wide = self.widened(rows, taps.element, shape)
        spread = self.ub((self.rows * g.width, LANES), "f32", "pixels")
        value = LOWEST if taps.kind == "max" else 0.0
        body.add_op(VspreadOp.build(wide, spread, sizes=sizes, at=[self.m], value=value, **options))
        sums = self.ub((self.pixels, LANES), "f32", "sums")
        weights = [self.weights()] if taps.weight else []
        for i in range(g.taps):
            body.add_op(
                VtapOp.build(
                    spread,
                    *weights,
                    sums,
                    sizes=sizes,
                    kind=taps.kind,
                    tap=list(divmod(i, g.kernel[1])),
                    first=i == 0,
                    **options,
                )
            )
        buffers = BUFFERS if taps.element == "f32" else 1
        turned = self.ub((LANES, self.pixels), "f32", "turned", buffers)
        body.add_op(VtransposeOp.build(sums, turned, sizes=[self.vm, self.vc]))
        self.store(self.finished(turned))

    def weights(self) -> SSAValue:
        """The weights with a row per tap and a column per channel."""
        count = self.taps.geometry.taps
        rows = self.ub((LANES, count), self.taps.weight, "weights", BUFFERS)
        sizes: list[Index] = [self.vc, count]
        self.body.add_op(CopyGmUbOp.build(self.args["w"], rows, offsets=[self.c, 0], sizes=sizes))
        if self.taps.weight != "f32":
            wide = self.ub((LANES, count), "f32", "wide")
            self.body.add_op(VcastOp.build(rows, wide, sizes=sizes))
            rows = wide
        turned = self.ub((count, LANES), "f32", "w")
        self.body.add_op(VtransposeOp.build(rows, turned, sizes=[self.vc, count]))
        return turned

    def finished(self, value: SSAValue) -> SSAValue:
        """Factor, bias and relu, in place."""
        taps = self.taps
        sizes: list[Index] = [self.vc, self.vm]
        if taps.factor != 1:
            self.body.add_op(
                VscalarOp.build(value, value, sizes=sizes, kind="muls", value=taps.factor)
            )
        if taps.varies:
            row = self.ub((1, self.pixels), "f32", "row", BUFFERS)
            part: list[Index] = [1, self.vm]
            self.body.add_op(
                CopyGmUbOp.build(self.args["factors"], row, offsets=[0, self.m], sizes=part)
            )
            self.combine("mul", value, row)
        if taps.bias:
            column = self.ub((LANES, 1), taps.bias, "column", BUFFERS)
            part = [self.vc, 1]
            self.body.add_op(
                CopyGmUbOp.build(self.args["bias"], column, offsets=[self.c, 0], sizes=part)
            )
            if taps.bias != "f32":
                wide = self.ub((LANES, 1), "f32", "wide")
                self.body.add_op(VcastOp.build(column, wide, sizes=part))
                column = wide
            self.combine("add", value, column)
        if taps.relu:
            self.body.add_op(VunaryOp.build(value, value, sizes=sizes, kind="relu"))
        return value

    def combine(self, kind: str, value: SSAValue, small: SSAValue) -> None:
        """value = kind(value, small repeated)"""
        sizes: list[Index] = [self.vc, self.vm]
        full = self.ub((LANES, self.pixels), "f32", "full")
        self.body.add_op(VbrcOp.build(small, full, sizes=sizes))
        self.body.add_op(VbinaryOp.build(value, full, value, sizes=sizes, kind=kind))

    def store(self, value: SSAValue) -> None:
        """Round and store the channels that there are."""
        sizes: list[Index] = [self.vc, self.vm]
        if self.taps.element != "f32":
            out = self.ub((LANES, self.pixels), self.taps.element, "out", BUFFERS)
            self.body.add_op(VcastOp.build(value, out, sizes=sizes))
            value = out
        offsets: list[Index] = [self.p, self.c, self.m]
        self.body.add_op(CopyUbGmOp.build(value, self.args["y"], offsets=offsets, sizes=sizes))
