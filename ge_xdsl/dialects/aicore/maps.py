"""Feature maps: convolutions as matrix products, depthwise ones and pools by kernel taps.

The im2col matrix of a map has a row per output pixel (m = row * width + column of the output) and
a column per (channel block, kernel row, kernel column, channel in the block). It is never stored:
`copy_map_l1` brings the rows of the map that a part of it needs, `load3d` unfolds them to L0A.
On the vector core a map is kept with one pixel per row, 8 f32 channels in a 32-byte block, so
that a kernel tap is a shifted and strided view.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from xdsl.utils.exceptions import VerifyException

from ge_xdsl.dialects.aicore.encoding import copy_instructions
from ge_xdsl.dialects.aicore.op import Instruction
from ge_xdsl.dialects.aicore.types import BLOCK_BYTES, Tile, padded
from ge_xdsl.targets.cost import Work

LOAD3D_LIMITS = {"stride": 63, "kernel": 255, "dilation": 255}
"""The largest numbers of the im2col load [ARCH]."""
LANES = 8
"""Channels of a pixel on the vector core."""


@dataclass(frozen=True, slots=True)
class Geometry:
    """Where windows lie: pairs of numbers, height first. `pad` is that above and to the left."""

    size: tuple[int, int]
    kernel: tuple[int, int]
    stride: tuple[int, int]
    dilation: tuple[int, int]
    pad: tuple[int, int]
    out: tuple[int, int]

    @property
    def taps(self) -> int:
        """Elements of the kernel."""
        return self.kernel[0] * self.kernel[1]

    @property
    def pixels(self) -> int:
        """Output pixels."""
        return self.out[0] * self.out[1]

    @property
    def span(self) -> int:
        """Map rows under one window."""
        return (self.kernel[0] - 1) * self.dilation[0] + 1

    @property
    def width(self) -> int:
        """Pixels of a padded map row that windows reach."""
        reach = (self.out[1] - 1) * self.stride[1] + (self.kernel[1] - 1) * self.dilation[1] + 1
        return max(reach, self.pad[1] + self.size[1])

    def top(self, m: int) -> int:
        """The first map row under the window of output pixel m; negative in the padding."""
        return m // self.out[1] * self.stride[0] - self.pad[0]

    def most_rows(self, m: int) -> int:
        """Map rows that windows of m neighbouring output pixels lie on, at most."""
        lines = min((m + self.out[1] - 2) // self.out[1] + 1, self.out[0])
        return min((lines - 1) * self.stride[0] + self.span, self.size[0])

    def rows(self, m: int) -> int:
        """Map rows, padding too, under the windows of m pixels that are whole output rows."""
        return (-(-m // self.out[1]) - 1) * self.stride[0] + self.span

    def options(self) -> dict[str, Any]:
        """As options of an instruction."""
        return {name: list(getattr(self, name)) for name in GEOMETRY}


GEOMETRY = ("size", "kernel", "stride", "dilation", "pad", "out")


class MapInstruction(Instruction):
    """An instruction on a map. G1: each option of the geometry has two numbers, none negative.

    G2: only pad may be 0.
    """

    options: ClassVar[Mapping[str, Any]] = dict.fromkeys(GEOMETRY, list)

    @property
    def geometry(self) -> Geometry:
        """The windows."""
        return Geometry(*(tuple(self.option(name)) for name in GEOMETRY))

    def check(self) -> None:
        for name in GEOMETRY:
            pair = self.option(name)
            if len(pair) != 2 or min(pair) < (0 if name == "pad" else 1):  # G1 G2
                raise VerifyException(f"option '{name}' is {pair}, expected two numbers in range")
        self.check_map()

    def check_map(self) -> None:
        """What is left to check when the geometry is right."""


def block_size(tile: Tile) -> int:
    """Channels of a block, C0."""
    return BLOCK_BYTES // tile.size


class CopyMapL1Op(MapInstruction):
    """GM -> L1: the part of a map that rows m.. and columns k.. of its im2col matrix need.

    src is [..., C1, H * W * C0] and its last two offsets are m and k; dst has the channel blocks
    as rows and the map rows as columns. k is a multiple of taps * C0. C1: one element type.
    """

    name = "aicore.copy_map_l1"
    pipe = "MTE2"
    tiles = ("src", "dst")
    spaces = {"src": ("gm:nd",), "dst": ("l1:nd",)}
    window = "src"

    def check_map(self) -> None:
        src, dst = self.tile_type("src"), self.tile_type("dst")
        high, wide = self.geometry.size
        if src.element != dst.element or src.shape[-1] != high * wide * block_size(src):  # C1
            raise VerifyException(
                f"copies {src} to {dst}, expected maps of one element type with "
                f"{high}x{wide}x{block_size(src)} columns"
            )

    def work(self, sizes: Sequence[int]) -> Work:
        src, geometry = self.tile_type("src"), self.geometry
        blocks = -(-sizes[1] // (geometry.taps * block_size(src)))
        row = geometry.size[1] * BLOCK_BYTES
        count = blocks * geometry.most_rows(sizes[0]) * row
        pitch = geometry.size[0] * row
        split = copy_instructions(blocks, count // blocks, pitch)
        return Work("gm_l1", bytes=count, rows=blocks, size=src.size, instructions=split)


class Load3dOp(MapInstruction):
    """L1 -> L0A: rows m.. and columns k.. of the im2col matrix of the map in L1.

    m counts from the start of the output, k from the first channel block in L1; both k and its
    size are multiples of C0. C1: one element type. C2: the sizes fit L0A. C3: strides of at most
    63, kernels and dilations of at most 255.
    """

    name = "aicore.load3d"
    pipe = "MTE1"
    tiles = ("src", "dst")
    spaces = {"src": ("l1:nd",), "dst": ("l0a:zz", "l0a:nz")}
    window = "src"

    def check_map(self) -> None:
        src, dst = self.tile_type("src"), self.tile_type("dst")
        if src.element != dst.element:  # C1
            raise VerifyException(
                f"elements are {src.element} and {dst.element}, expected one element type"
            )
        self.check_fits("dst", self.sizes)  # C2
        for name, most in LOAD3D_LIMITS.items():
            if max(self.option(name)) > most:  # C3
                raise VerifyException(f"{name} is {self.option(name)}, expected at most {most}")

    def work(self, sizes: Sequence[int]) -> Work:
        dst, geometry = self.tile_type("dst"), self.geometry
        r0, c0 = dst.blocks
        count = padded(sizes[0], r0) * padded(sizes[1], c0) * dst.size
        lines = -(-r0 // geometry.out[1])
        stride = geometry.stride[1]
        return Work("load3d", bytes=count, size=dst.size, stride=stride, lines=lines)


class CopyMapUbOp(MapInstruction):
    """GM -> UB: the map rows under the windows of whole output rows, for up to 8 channels.

    src is [..., C, H * W] and its last two offsets are the channel and the output pixel; sizes are
    channels and pixels. With R rows for the tile's pixels, row i * R + r of dst is map row r of
    channel i; rows in the padding are left as they are. C1: one element type.
    """

    name = "aicore.copy_map_ub"
    pipe = "MTE2"
    tiles = ("src", "dst")
    spaces = {"src": ("gm:nd",), "dst": ("ub:nd",)}
    window = "src"

    def check_map(self) -> None:
        src, dst = self.tile_type("src"), self.tile_type("dst")
        high, wide = self.geometry.size
        if src.element != dst.element or src.shape[-1] != high * wide or dst.shape[1] != wide:  # C1
            raise VerifyException(
                f"copies {src} to {dst}, expected {high}x{wide} columns to {wide} of one element "
                "type"
            )

    def work(self, sizes: Sequence[int]) -> Work:
        src, geometry = self.tile_type("src"), self.geometry
        rows = min(geometry.rows(sizes[1]), geometry.size[0])
        size = geometry.size[1] * src.size
        runs = sizes[0] * (1 if size % BLOCK_BYTES == 0 else rows)
        pitch = geometry.size[0] * size
        split = copy_instructions(runs, rows * size, pitch)
        moved = sizes[0] * rows * size
        return Work("gm_ub", bytes=moved, rows=runs, size=src.size, instructions=split)


class VspreadOp(MapInstruction):
    """dst = the map with `value` around it, one pixel of 8 channels per row.

    src is as `copy_map_ub` leaves it for the pixels from the index in `at` on; sizes are channels
    and pixels. A value beyond f32 is an infinity. C1: f32, 8 channels.
    """

    name = "aicore.vspread"
    pipe = "V"
    tiles = ("src", "dst")
    spaces = {"src": ("ub:nd",), "dst": ("ub:nd",)}
    options: ClassVar[Mapping[str, Any]] = {**MapInstruction.options, "value": float}

    def check_map(self) -> None:
        src, dst = self.tile_type("src"), self.tile_type("dst")
        if (src.element, dst.element, dst.shape[1]) != ("f32", "f32", LANES):  # C1
            raise VerifyException(f"spreads {src} to {dst}, expected f32 to pixels of 8 f32")
        if "value" not in self.properties:
            raise VerifyException("option 'value' is missing, it is required")
        if len(self.at) != 1:
            raise VerifyException(f"has {len(self.at)} indices, expected the first pixel")

    def work(self, sizes: Sequence[int]) -> Work:
        rows = self.geometry.rows(sizes[1])
        count = rows * padded(self.geometry.width, 16) * 2 * LANES
        return Work("vector", elements=count, size=4, op="transpose", instructions=2 * rows)


class VtapOp(MapInstruction):
    """dst = kind of dst (unless `first`) and one kernel tap of the map, a row per output pixel.

    src is as `vspread` leaves it, `tap` the kernel row and column, `weight` has a row per tap and
    is multiplied to it for kind muladd. Sizes are channels and pixels, whole output rows.
    C1: f32, 8 channels. C2: the tap lies in the kernel.
    """

    name = "aicore.vtap"
    pipe = "V"
    tiles = ("src", "weight", "dst")
    spaces = {"src": ("ub:nd",), "weight": ("ub:nd",), "dst": ("ub:nd",)}
    options: ClassVar[Mapping[str, Any]] = {
        **MapInstruction.options,
        "kind": ("muladd", "max", "add"),
        "tap": list,
        "first": bool,
    }

    def tile_names(self) -> tuple[str, ...]:
        return self.tiles if self.option("kind") == "muladd" else ("src", "dst")

    def read(self) -> list[Any]:
        found = super().read()
        return found if self.option("first") else [*found, self.written]

    def check_map(self) -> None:
        for name in self.tile_names():
            tile = self.tile_type(name)
            if (tile.element, tile.shape[1]) != ("f32", LANES):  # C1
                raise VerifyException(f"'{name}' is {tile}, expected pixels of 8 f32")
        tap = self.option("tap")
        pairs = zip(tap, self.geometry.kernel, strict=False)
        if len(tap) != 2 or any(not 0 <= t < k for t, k in pairs):  # C2
            raise VerifyException(
                f"tap is {tap}, expected one in a kernel of {list(self.geometry.kernel)}"
            )

    def work(self, sizes: Sequence[int]) -> Work:
        kind, geometry = self.option("kind"), self.geometry
        lines = -(-sizes[1] // geometry.out[1])
        op = "mul" if kind == "muladd" and self.option("first") else kind
        return Work(
            "vector",
            elements=lines * padded(geometry.out[1], LANES) * LANES,
            size=4,
            op=op,
            two_sources=True,
            instructions=lines,
        )
