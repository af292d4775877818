"""Tiles: a block of a tensor in one memory space, in one storage layout.

A layout is given by its permutation, not by its name. For a tile of R x C elements in blocks of
r0 x c0, R1 = ceil(R/r0), C1 = ceil(C/c0):

    nd   R, C                    gm, ub, bt, fb, l1
    nz   C1, R1, r0, c0          l1, l0c (16 x 16 blocks there), l0a on arch 3510
    zz   R1, C1, r0, c0          l0a
    zn   R1, C1, c0, r0          l0b: blocks of k0 x n0 with n outside k; weights in gm and l1

Dimensions before R stay outside. r0 x c0 is 16 x C0 with C0 = 32 bytes; in zn it is C0 x 16.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from xdsl.ir import Attribute, Data, SSAValue, TypeAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer

SPACES = ("gm", "l1", "l0a", "l0b", "l0c", "ub", "bt", "fb")
LAYOUTS = ("nd", "nz", "zz", "zn")
PIPES = ("S", "MTE2", "MTE1", "M", "FIX", "V", "MTE3")
CORE_KINDS = ("cube", "vector", "mix")
"""What a kernel runs on; `mix` is a cube core with its two vector cores."""
SUB_CORES = 2
"""Vector cores that belong to one cube core."""

ELEMENT_BYTES = {
    **{"f32": 4, "f16": 2, "bf16": 2},
    **{"i64": 8, "i32": 4, "i16": 2, "i8": 1, "i1": 1, "bit": 1},
    **{"ui64": 8, "ui32": 4, "ui16": 2, "ui8": 1},
}
"""Element type of a tile -> its size in bytes.

i1 is a truth value in a byte, bit what a comparison gives: the unit packs eight of these in a
byte, a tile sets one byte aside for each.
"""

BLOCK_ROWS = 16
BLOCK_BYTES = 32
UB_ALIGN = 32

ALIGNMENT = {"l1": 32, "ub": 32, "l0a": 512, "l0b": 512, "l0c": 1024, "bt": 64, "fb": 128}
"""Memory space of a core -> bytes of which a tile's address is a multiple [ARCH]."""


@dataclass(frozen=True, slots=True)
class Tile:
    """Shape, element type, memory space and layout of a tile."""

    shape: tuple[int, ...]
    element: str
    space: str
    layout: str = "nd"

    @property
    def size(self) -> int:
        """Bytes of one element."""
        return ELEMENT_BYTES[self.element]

    @property
    def blocks(self) -> tuple[int, int]:
        """Rows and columns of a block; (1, 1) in layout nd."""
        if self.layout == "nd":
            return (1, 1)
        c0 = BLOCK_ROWS if self.space == "l0c" else BLOCK_BYTES // self.size
        return (c0, BLOCK_ROWS) if self.layout == "zn" else (BLOCK_ROWS, c0)

    @property
    def storage(self) -> tuple[int, ...]:
        """The shape of the storage in the order of the layout, whole blocks only."""
        if self.layout == "nd":
            return self.shape
        r0, c0 = self.blocks
        *lead, rows, cols = self.shape
        r1, c1 = -(-rows // r0), -(-cols // c0)
        if self.layout == "nz":
            return (*lead, c1, r1, r0, c0)
        return (*lead, r1, c1, r0, c0) if self.layout == "zz" else (*lead, r1, c1, c0, r0)

    @property
    def bytes(self) -> int:
        """Bytes that one buffer of the tile takes in its space; rows in UB start at 32 bytes."""
        if self.space == "ub":
            rows = 1
            for dim in self.shape[:-1]:
                rows *= dim
            return rows * padded(self.shape[-1] * self.size, UB_ALIGN)
        return padded(self.count * self.size, UB_ALIGN)

    @property
    def count(self) -> int:
        """Elements of the storage, whole blocks only."""
        return prod(self.storage)

    @property
    def type(self) -> TileType:
        return TileType(self)

    def __str__(self) -> str:
        return f"!aicore.tile<{self._text()}>"

    def _text(self) -> str:
        shape = "".join(f"{dim}x" for dim in self.shape)
        layout = "" if self.layout == "nd" else f", {self.layout}"
        return f"{shape}{self.element}, {self.space}{layout}"


def padded(count: int, step: int) -> int:
    """`count` rounded up to a multiple of `step`."""
    return -(-count // step) * step


@irdl_attr_definition
class TileType(Data[Tile], TypeAttribute):
    """`!aicore.tile<128x64xf16, l0a, zz>`; the layout is left out when it is nd."""

    name = "aicore.tile"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> Tile:
        with parser.in_angle_brackets():
            dims = parser.parse_dimension_list()
            parser.parse_shape_delimiter()
            element = _word(parser, ELEMENT_BYTES, "element type")
            parser.parse_punctuation(",")
            space = _word(parser, SPACES, "memory space")
            layout = "nd"
            if parser.parse_optional_punctuation(","):
                layout = _word(parser, LAYOUTS, "layout")
            if any(dim <= 0 for dim in dims):
                parser.raise_error(f"tile has a dimension {min(dims)}, expected at least 1")
            if layout != "nd" and (len(dims) < 2 or (len(dims) > 2 and space != "gm")):
                parser.raise_error(
                    f"tile has rank {len(dims)}, expected 2 in layout {layout} (or more in gm)"
                )
            return Tile(tuple(dims), element, space, layout)

    def print_parameter(self, printer: Printer) -> None:
        printer.print_string(str(self.data).removeprefix("!aicore.tile"))


def _word(parser: AttrParser, known: dict[str, int] | tuple[str, ...], what: str) -> str:
    word = parser.parse_identifier()
    if word not in known:
        parser.raise_error(f"'{word}' is no {what}, expected one of {', '.join(known)}")
    return word


def tile_of(value: SSAValue | Attribute) -> Tile:
    """The tile that a value or type is; raises ValueError for one that is no tile."""
    attr = value.type if isinstance(value, SSAValue) else value
    if not isinstance(attr, TileType):
        raise ValueError(f"type is {attr}, expected !aicore.tile<...>")
    return attr.data
