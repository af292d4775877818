"""Moves between memory spaces: GM to L1 and UB, L1 to L0 and BT, UB to GM.

Paths of arch 2201: UB and L1 are not connected, and L0C drains to GM only through the fixpipe
(in `cube`).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import gcd
from typing import Literal

from xdsl.ir import Block, BlockArgument, SSAValue
from xdsl.utils.exceptions import VerifyException

from ge_xdsl.dialects.aicore.encoding import copy_instructions, cut_instructions
from ge_xdsl.dialects.aicore.op import Index, Instruction
from ge_xdsl.dialects.aicore.structure import ForOp
from ge_xdsl.dialects.aicore.types import BLOCK_BYTES, BLOCK_ROWS, UB_ALIGN, padded, tile_of
from ge_xdsl.dialects.aicore.view import StridedOp
from ge_xdsl.targets.cost import Work

L2_HINT = ("normal", "bypass")
"""Whether what a copy reads stays in L2; data that is read once need not push out other data."""


ND2NZ_LIMITS = (16384, 65535)
"""The most rows and columns of one copy to L1 [ARCH]."""
LOADED_BLOCKS = 255
"""The most blocks of one load to L0 [ARCH]."""
BLOCK = 512
"""Bytes of a block in L0."""


class Copy(Instruction):
    """dst[:r, :c] = src[...]: one element type, a window in the larger tile.

    C1: both tiles have one element type. C2: the sizes fit the smaller tile.
    """

    def check(self) -> None:
        src, dst = self.tile_type("src"), self.tile_type("dst")
        if src.element != dst.element:  # C1
            raise VerifyException(
                f"elements are {src.element} and {dst.element}, expected one element type"
            )
        self.check_fits("src" if self.window == "dst" else "dst", self.sizes)  # C2


class CopyGmL1Op(Copy):
    """GM -> L1. A row-major matrix is cut into the blocks of layout nz on the way (nd2nz).

    Weights in layout zn are copied as they are. C3: zn goes to zn, nd to the others. C4: at most
    16384 rows and 65535 columns.
    """

    name = "aicore.copy_gm_l1"
    pipe = "MTE2"
    tiles = ("src", "dst")
    spaces = {"src": ("gm:nd", "gm:zn"), "dst": ("l1:nz", "l1:nd", "l1:zn")}
    window = "src"
    options = {"l2_hint": L2_HINT}

    def check(self) -> None:
        super().check()
        src, dst = self.tile_type("src").layout, self.tile_type("dst").layout
        if (src == "zn") != (dst == "zn"):  # C3
            raise VerifyException(f"layouts are {src} and {dst}, expected zn for both or neither")
        for dim, most in zip(self.tile_type("dst").shape, ND2NZ_LIMITS, strict=True):
            if dim > most:  # C4
                raise VerifyException(f"copies up to {dim} at once, expected at most {most}")

    def work(self, sizes: Sequence[int]) -> Work:
        rows, cols = sizes
        src = self.tile_type("src")
        size = src.size
        if src.layout == "zn":  # runs of whole blocks
            blocks = -(-rows // src.blocks[0])
            run = src.blocks[0] * padded(cols, BLOCK_ROWS) * size
            pitch = src.blocks[0] * padded(src.shape[-1], BLOCK_ROWS) * size
            count = copy_instructions(blocks, run, pitch)
            return Work("gm_l1", bytes=blocks * run, rows=blocks, size=size, instructions=count)
        pitch = row_pitch(self.tile("src"))
        count = cut_instructions(rows, pitch // size)
        if self.tile_type("dst").layout == "nd":
            count = copy_instructions(rows, cols * size, pitch)
        moved = rows * cols * size
        return Work("gm_l1", bytes=moved, rows=rows, size=size, instructions=count)


class CopyGmUbOp(Copy):
    """GM -> UB, row-major, every row at a multiple of 32 bytes."""

    name = "aicore.copy_gm_ub"
    pipe = "MTE2"
    tiles = ("src", "dst")
    spaces = {"src": ("gm:nd",), "dst": ("ub:nd",)}
    window = "src"
    options = {"l2_hint": L2_HINT}

    def work(self, sizes: Sequence[int]) -> Work:
        return burst_work("gm_ub", self.tile("src"), sizes)


ATOMIC = ("none", "add", "max", "min")
"""What a store does with what GM holds: take its place, or join with it."""
ATOMIC_ELEMENTS = ("f32", "f16", "bf16", "i32", "i16", "i8")


def check_atomic(op: Instruction) -> None:
    """Raise VerifyException unless GM can join elements of the type."""
    element = op.tile_type("dst").element
    if op.option("atomic") != "none" and element not in ATOMIC_ELEMENTS:
        known = ", ".join(ATOMIC_ELEMENTS)
        raise VerifyException(f"joins {element} in gm, expected one of {known}")


class CopyUbGmOp(Copy):
    """UB -> GM, row-major; `atomic` joins the elements with those in GM.

    An output that is added to is all zero at first. C3: GM can join elements of the type.
    """

    name = "aicore.copy_ub_gm"
    pipe = "MTE3"
    tiles = ("src", "dst")
    spaces = {"src": ("ub:nd",), "dst": ("gm:nd",)}
    window = "dst"
    options = {"atomic": ATOMIC}

    def check(self) -> None:
        super().check()
        check_atomic(self)  # C3

    def work(self, sizes: Sequence[int]) -> Work:
        return burst_work("ub_gm", self.tile("dst"), sizes)


class CopyRowsOp(Instruction):
    """UB[i, :c] = row index[0, i] of GM, for the first r indices: one DMA per row.

    C1: src and dst have one element type, index is i32 or i64. C2: the sizes fit. C3: src is a
    matrix. An index outside the matrix is an error, a negative one unless `wraps` is given.
    """

    name = "aicore.copy_rows"
    pipe = "MTE2"
    tiles = ("src", "index", "dst")
    spaces = {"src": ("gm:nd",), "index": ("ub:nd",), "dst": ("ub:nd",)}
    window = "src"
    options = {"wraps": bool}

    def check(self) -> None:
        src, index, dst = (self.tile_type(name) for name in self.tiles)
        if src.element != dst.element or index.element not in ("i32", "i64"):  # C1
            raise VerifyException(
                f"elements are {src.element} and {dst.element} by {index.element}, expected one "
                "element type by i32 or i64"
            )
        if len(src.shape) != 2:  # C3
            raise VerifyException(f"'src' has rank {len(src.shape)}, expected 2")
        self.check_fits("dst", self.sizes)  # C2
        self.check_fits("index", (1, self.sizes[0]))

    def work(self, sizes: Sequence[int]) -> Work:
        size = self.tile_type("src").size
        return Work("rows", bytes=sizes[0] * sizes[1] * size, rows=sizes[0], size=size)


def row_pitch(gm: SSAValue) -> int:
    """Bytes from row to row of a matrix in GM."""
    tile = tile_of(gm)
    strides = gm.owner.strides if isinstance(gm.owner, StridedOp) else None
    pitch = tile.shape[-1] if strides is None or len(strides) < 2 else strides[-2]
    return pitch * tile.size


def burst_work(kind: Literal["gm_ub", "ub_gm"], gm: SSAValue, sizes: Sequence[int]) -> Work:
    """A copy between GM and UB: a burst of bytes per row, or one where the rows touch.

    Rows touch when they are whole in GM and whole 32-byte blocks in UB.
    """
    size, pitch = tile_of(gm).size, row_pitch(gm)
    rows, row = sizes[0], sizes[1] * tile_of(gm).size
    count = 1 if pitch == row and row % UB_ALIGN == 0 else rows
    split = copy_instructions(count, row, pitch) if count > 1 else 1
    return Work(kind, bytes=rows * row, rows=count, size=size, instructions=split)


def check_whole_blocks(op: Instruction, name: str) -> None:
    """Raise VerifyException when a known offset in a tile is not at the start of a block.

    The origin of a loop is known to be a multiple of its step.
    """
    for offset, block in zip(op.offsets, op.tile_type(name).blocks, strict=True):
        step = known_multiple(offset)
        if step % block:
            what = "offset" if isinstance(offset, int) else "the step of an offset"
            raise VerifyException(
                f"{what} is {step} in '{name}', expected a multiple of {block}: whole blocks"
            )


def check_start(op: Instruction, name: str) -> None:
    """Raise VerifyException when a window in a core's memory starts at no block of 32 bytes.

    In a layout of blocks it starts at one of these. What is not known of an offset passes.
    """
    tile = op.tile_type(name)
    if tile.layout != "nd":
        check_whole_blocks(op, name)
        return
    row, col = (known_multiple(offset) for offset in op.offsets)
    pitch = tile.shape[-1] if tile.space != "ub" else 0  # rows in UB are aligned anyhow
    start = gcd(row * pitch, col) * tile.size
    if start % BLOCK_BYTES:
        raise VerifyException(
            f"window starts at a multiple of {start} bytes in '{name}', expected one of "
            f"{BLOCK_BYTES}"
        )


def known_multiple(offset: Index) -> int:
    """A number that divides the offset for certain; 0 when nothing is known of it."""
    if isinstance(offset, int):
        return offset
    block = offset.owner
    loop = block.parent_op() if isinstance(block, Block) else None
    if isinstance(loop, ForOp) and isinstance(offset, BlockArgument) and offset.index % 2 == 0:
        base = loop.bases[offset.index // 2]
        return gcd(loop.steps[offset.index // 2], known_multiple(base))
    return 0


class _Load(Instruction):
    """L1 -> L0 by whole blocks. The window stands in L1's own rows and columns.

    C1: one element type. C2: the sizes fit L0. C3: the window starts at a whole block. C4: at most
    255 blocks of 512 bytes. With `transpose` the L1 tile holds the transposed matrix; sizes are
    those of the L0 tile.
    """

    pipe = "MTE1"
    tiles = ("src", "dst")
    window = "src"
    options = {"transpose": bool}

    def check(self) -> None:
        src, dst = self.tile_type("src"), self.tile_type("dst")
        if src.element != dst.element:  # C1
            raise VerifyException(
                f"elements are {src.element} and {dst.element}, expected one element type"
            )
        self.check_fits("dst", self.sizes)  # C2
        check_whole_blocks(self, "src")  # C3
        count = dst.count * dst.size // BLOCK
        if count > LOADED_BLOCKS:  # C4
            raise VerifyException(f"loads up to {count} blocks, expected at most {LOADED_BLOCKS}")

    def loaded_bytes(self, sizes: Sequence[int]) -> int:
        """Bytes of the whole blocks that are moved."""
        dst = self.tile_type("dst")
        r0, c0 = dst.blocks
        return padded(sizes[0], r0) * padded(sizes[1], c0) * dst.size


class LoadL0aOp(_Load):
    """L1 -> L0A: the left factor, m x k, in layout zz (nz on arch 3510)."""

    name = "aicore.load_l0a"
    spaces = {"src": ("l1:nz",), "dst": ("l0a:zz", "l0a:nz")}

    def work(self, sizes: Sequence[int]) -> Work:
        return Work("l1_l0a", bytes=self.loaded_bytes(sizes), size=self.tile_type("dst").size)


class LoadL0bOp(_Load):
    """L1 -> L0B: the right factor, k x n, in layout zn."""

    name = "aicore.load_l0b"
    spaces = {"src": ("l1:nz", "l1:zn"), "dst": ("l0b:zn",)}

    def work(self, sizes: Sequence[int]) -> Work:
        return Work("l1_l0b", bytes=self.loaded_bytes(sizes), size=self.tile_type("dst").size)


class LoadBiasOp(Instruction):
    """L1 -> BT: one row, widened from f16 to f32 on the way.

    C1: the source is f32 or f16, the bias table f32. C2: the sizes fit the bias table. C3: the
    window starts at a block of 32 bytes.
    """

    name = "aicore.load_bias"
    pipe = "MTE1"
    tiles = ("src", "dst")
    spaces = {"src": ("l1:nd",), "dst": ("bt:nd",)}
    window = "src"

    def check(self) -> None:
        src, dst = self.tile_type("src"), self.tile_type("dst")
        if src.element not in ("f16", "f32") or dst.element != "f32":  # C1
            raise VerifyException(
                f"elements are {src.element} and {dst.element}, expected f16 or f32, and f32"
            )
        self.check_fits("dst", self.sizes)  # C2
        check_start(self, "src")  # C3

    def work(self, sizes: Sequence[int]) -> Work:
        return Work("l1_bt", bytes=sizes[0] * sizes[1] * 4, size=4)
