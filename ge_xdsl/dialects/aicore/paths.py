"""Moves that only some chips have, or that stay within the core; constants into L1 and L0.

Arch 100 and 200 (910A, 310P) have cube and vector unit in one core, with ways between UB and L1
and from L0C to UB. On arch 2201 there is none of these. Arch 3510 has UB to L1 and back, and the
fixpipe reaches UB.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.utils.exceptions import VerifyException

from ge_xdsl.dialects.aicore.encoding import copy_instructions, vector_work
from ge_xdsl.dialects.aicore.move import Copy, LoadBiasOp, check_start, row_pitch
from ge_xdsl.dialects.aicore.op import Instruction
from ge_xdsl.dialects.aicore.types import BLOCK_ROWS, padded
from ge_xdsl.dialects.aicore.vector import ARITHMETIC
from ge_xdsl.targets.cost import Work

COUPLED = ("100", "200")
"""The architectures with both units in one core."""
BETWEEN_UB_AND_L1 = (*COUPLED, "3510")


class CopyUbUbOp(Copy):
    """UB -> UB: dst[:r, :c] = a window of src, by whole 32-byte blocks.

    C1: one element type. C2: the sizes fit. C3: the window starts at a block of 32 bytes.
    """

    name = "aicore.copy_ub_ub"
    pipe = "V"
    tiles = ("src", "dst")
    spaces = {"src": ("ub:nd",), "dst": ("ub:nd",)}
    window = "src"

    def check(self) -> None:
        super().check()
        check_start(self, "src")  # C3

    def work(self, sizes: Sequence[int]) -> Work:
        tiles = [self.tile_type(name) for name in self.tiles]
        return vector_work("copy", sizes, tiles[0].size, tiles=tiles)


class CopyL1GmOp(Copy):
    """L1 -> GM. C1: one element type. C2: the sizes fit L1. Up to arch 2201."""

    name = "aicore.copy_l1_gm"
    pipe = "MTE3"
    arches = (*COUPLED, "2201")
    tiles = ("src", "dst")
    spaces = {"src": ("l1:nd", "l1:nz"), "dst": ("gm:nd",)}
    window = "dst"

    def work(self, sizes: Sequence[int]) -> Work:
        size, pitch = self.tile_type("src").size, row_pitch(self.tile("dst"))
        count = copy_instructions(sizes[0], sizes[1] * size, pitch)
        moved = sizes[0] * sizes[1] * size
        return Work("ub_gm", bytes=moved, rows=sizes[0], size=size, instructions=count)


class CopyUbL1Op(Copy):
    """UB -> L1, cut into blocks on the way when L1 is nz.

    C1: one element type. C2: the sizes fit. C3: the window starts at a block of 32 bytes. Arch
    100, 200 and 3510.
    """

    name = "aicore.copy_ub_l1"
    pipe = "MTE3"
    arches = BETWEEN_UB_AND_L1
    tiles = ("src", "dst")
    spaces = {"src": ("ub:nd",), "dst": ("l1:nd", "l1:nz")}
    window = "src"

    def check(self) -> None:
        super().check()
        check_start(self, "src")  # C3

    def work(self, sizes: Sequence[int]) -> Work:
        size = self.tile_type("src").size
        return Work("ub_l1", bytes=sizes[0] * sizes[1] * size, size=size)


class CopyL1UbOp(Copy):
    """L1 -> UB, blocks put together on the way when L1 is nz.

    C1: one element type. C2: the sizes fit. C3: the window starts at a block of the layout, or of
    32 bytes. Arch 100, 200 and 3510.
    """

    name = "aicore.copy_l1_ub"
    pipe = "MTE1"
    arches = BETWEEN_UB_AND_L1
    tiles = ("src", "dst")
    spaces = {"src": ("l1:nd", "l1:nz"), "dst": ("ub:nd",)}
    window = "src"

    def check(self) -> None:
        super().check()
        check_start(self, "src")  # C3

    def work(self, sizes: Sequence[int]) -> Work:
        size = self.tile_type("src").size
        return Work("l1_ub", bytes=sizes[0] * sizes[1] * size, size=size)


class CopyL0cUbOp(Instruction):
    """L0C -> UB, rounded to nearest even on the way; there is no fixpipe there.

    C1: f32 to f32 or f16, i32 to i32. C2: the sizes fit. C3: the window starts at a whole block.
    Arch 100 and 200.
    """

    name = "aicore.copy_l0c_ub"
    pipe = "V"
    arches = COUPLED
    tiles = ("src", "dst")
    spaces = {"src": ("l0c:nz",), "dst": ("ub:nd",)}
    window = "src"

    def check(self) -> None:
        pair = (self.tile_type("src").element, self.tile_type("dst").element)
        if pair not in (("f32", "f32"), ("f32", "f16"), ("i32", "i32")):  # C1
            raise VerifyException(
                f"elements are {pair[0]} and {pair[1]}, expected f32 to f32 or f16, or i32 to i32"
            )
        self.check_fits("dst", self.sizes)  # C2
        check_start(self, "src")  # C3

    def work(self, sizes: Sequence[int]) -> Work:
        return Work("l0c_ub", bytes=padded(sizes[0], BLOCK_ROWS) * padded(sizes[1], BLOCK_ROWS) * 4)


class LoadQuantOp(LoadBiasOp):
    """L1 -> FB: one row of scales, one per channel.

    C1: f32. C2: the sizes fit. C3: the window starts at a block of 32 bytes.
    """

    name = "aicore.load_quant"
    pipe = "FIX"
    spaces = {"src": ("l1:nd",), "dst": ("fb:nd",)}

    def check(self) -> None:
        src, dst = self.tile_type("src"), self.tile_type("dst")
        if (src.element, dst.element) != ("f32", "f32"):  # C1
            raise VerifyException(f"elements are {src.element} and {dst.element}, expected f32")
        self.check_fits("dst", self.sizes)  # C2
        check_start(self, "src")  # C3


class FillOp(Instruction):
    """dst = value everywhere in the valid part: a constant into L1.

    C1: an element type that the arithmetic knows, or bf16. C2: the sizes fit. C3: a value.
    """

    name = "aicore.fill"
    pipe = "MTE2"
    tiles = ("dst",)
    spaces = {"dst": ("l1:nd", "l1:nz", "l1:zn")}
    options = {"value": float}

    def check(self) -> None:
        element = self.tile_type("dst").element
        if element not in (*ARITHMETIC, "bf16", "i8", "ui8"):  # C1
            raise VerifyException(f"fills {element}, expected a number of up to 4 bytes")
        self.check_fits("dst", self.sizes)  # C2
        if "value" not in self.properties:  # C3
            raise VerifyException("option 'value' is missing, it is required")

    def work(self, sizes: Sequence[int]) -> Work:
        """32 bytes per cycle."""
        tile = self.tile_type("dst")
        r0, c0 = tile.blocks
        count = padded(sizes[0], r0) * padded(sizes[1], c0) * tile.size
        return Work("l1_bt", bytes=count, size=tile.size)


class FillL0Op(FillOp):
    """dst = value everywhere in the valid part: a constant into L0A or L0B."""

    name = "aicore.fill_l0"
    pipe = "MTE1"
    spaces = {"dst": ("l0a:zz", "l0a:nz", "l0b:zn")}
