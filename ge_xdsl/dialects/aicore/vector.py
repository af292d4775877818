"""The vector unit: elementwise instructions, reductions and turns of UB tiles.

Only what the unit computes itself is here; tanh, erf and the like are sequences of these made
by the lowering. There is no bf16 arithmetic before arch 3510: such values are cast to f32 and
back. There sums, differences, products and extremes of bf16 are those of f32, rounded.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue
from xdsl.utils.exceptions import VerifyException

from ge_xdsl.dialects.aicore.encoding import vector_work
from ge_xdsl.dialects.aicore.op import Index, Instruction
from ge_xdsl.dialects.aicore.types import ELEMENT_BYTES, Tile, padded
from ge_xdsl.targets.cost import Work

UB = ("ub:nd",)
FLOAT_ARITHMETIC = ("f16", "f32")
ARITHMETIC = ("f16", "f32", "i32", "i16")
BRAIN = "bf16"
BRAIN_ARCHES = ("3510",)
"""The architectures that compute in bf16."""
BRAIN_KINDS = ("add", "sub", "mul", "max", "min", "adds", "muls", "maxs", "mins")
CASTS = frozenset(
    {
        ("f16", "f32"),
        ("f32", "f16"),
        ("bf16", "f32"),
        ("f32", "bf16"),
        ("i32", "f32"),
        ("f32", "i32"),
        ("f16", "i32"),
        ("f32", "i64"),
        ("i64", "f32"),
        ("i32", "i64"),
        ("i64", "i32"),
        ("i1", "f16"),
        ("i8", "f16"),
        ("ui8", "f16"),
        ("f16", "i8"),
        ("f16", "ui8"),
        ("f16", "i16"),
        ("i16", "f16"),
        ("i16", "f32"),
        ("f32", "i16"),
        ("i32", "i16"),
        ("bf16", "i32"),
        ("f32", "f32"),
        ("f16", "i1"),
    }
)
"""The conversions that the unit has (of those that the lowering uses)."""


BITWISE = ("i16",)
"""The element types of and, or and not."""
SHIFTED = ("i16", "i32")
"""The element types of shl and shr."""
ROUNDINGS = ("rint", "floor", "ceil", "trunc", "round")
"""Ways to round to a whole number."""


class Vector(Instruction):
    """Elementwise on dst[:r, :c]; source and destination may be the same tile.

    C1: the element type is one that the unit computes in. C2: all tiles have one element type.
    C3: the sizes fit every tile.
    """

    pipe = "V"
    computes = FLOAT_ARITHMETIC

    def kind(self) -> str:
        """The op's name in a target's table of rates."""
        return self.option("kind")

    def allowed(self) -> Sequence[str]:
        """The element types that the instruction computes in."""
        return self.computes

    def check(self) -> None:
        elements = [self.tile_type(name).element for name in self.tile_names()]
        if elements[-1] not in self.allowed():  # C1
            known = ", ".join(self.allowed())
            raise VerifyException(f"computes in {elements[-1]}, expected one of {known}")
        if len(set(elements)) > 1:  # C2
            raise VerifyException(f"elements are {', '.join(elements)}, expected one element type")
        for name in self.tile_names():
            self.check_fits(name, self.sizes)  # C3

    def work(self, sizes: Sequence[int]) -> Work:
        tiles = [self.tile_type(name) for name in self.tile_names()]
        size = max(tile.size for tile in tiles)
        return vector_work(self.kind(), sizes, size, len(tiles) > 2, self.moving(tiles))

    def moving(self, tiles: Sequence[Tile]) -> Sequence[Tile]:
        """The tiles whose rows decide how many instructions there are: all but masks of bits."""
        return [tile for tile in tiles if tile.element != "bit"]


class VunaryOp(Vector):
    """dst = kind(src)"""

    name = "aicore.vunary"
    tiles = ("src", "dst")
    spaces = {"src": UB, "dst": UB}
    options = {"kind": ("abs", "relu", "exp", "ln", "sqrt", "rsqrt", "rec", "copy", "not")}

    def allowed(self) -> Sequence[str]:
        kind = self.option("kind")
        if kind == "not":
            return BITWISE
        return tuple(ELEMENT_BYTES) if kind == "copy" else self.computes

    def work(self, sizes: Sequence[int]) -> Work:
        kind = "abs" if self.option("kind") == "not" else self.option("kind")
        tiles = [self.tile_type(name) for name in self.tiles]
        return vector_work(kind, sizes, tiles[-1].size, tiles=tiles)


class VbinaryOp(Vector):
    """dst = kind(a, b); add, sub, mul, max and min also in bf16, on arch 3510."""

    name = "aicore.vbinary"
    tiles = ("a", "b", "dst")
    spaces = {"a": UB, "b": UB, "dst": UB}
    options = {"kind": ("add", "sub", "mul", "div", "max", "min", "and", "or")}
    computes = ARITHMETIC

    def kind(self) -> str:
        word = self.option("kind")
        return "add" if word in ("and", "or") else word

    def allowed(self) -> Sequence[str]:
        kind = self.option("kind")
        if kind in ("and", "or"):
            return BITWISE
        return (*self.computes, BRAIN) if kind in BRAIN_KINDS else self.computes

    def needed_arches(self) -> Sequence[str]:
        return BRAIN_ARCHES if self.tile_type("dst").element == BRAIN else ()

    def variant(self) -> str:
        return f"in {BRAIN} " if self.needed_arches() else ""

    def check(self) -> None:
        super().check()
        element = self.tile_type("dst").element
        if self.option("kind") == "div" and element not in FLOAT_ARITHMETIC:  # C1
            raise VerifyException(f"divides in {element}, expected f16 or f32")


class VfmaOp(Vector):
    """dst = kind(a, b, dst): muladddst a b + dst, muladd a dst + b, muladdrelu relu of that,
    addrelu relu(a + b), subrelu relu(a - b); each step is rounded to the element type.
    """

    name = "aicore.vfma"
    tiles = ("a", "b", "dst")
    spaces = {"a": UB, "b": UB, "dst": UB}
    options = {"kind": ("muladddst", "muladd", "muladdrelu", "addrelu", "subrelu")}

    def kind(self) -> str:
        return "muladd" if self.option("kind") == "muladddst" else "add"

    def read(self) -> list[SSAValue]:
        found = super().read()
        return [*found, self.written] if self.option("kind").startswith("muladd") else found


class VscalarOp(Vector):
    """dst = kind(src, value), the value rounded to the element type first.

    lrelu is src, times value where src is negative; axpy is src value + dst; shl and shr move the
    bits of integers, shr keeps the sign. adds, muls, maxs and mins also in bf16, on arch 3510.
    """

    name = "aicore.vscalar"
    tiles = ("src", "dst")
    spaces = {"src": UB, "dst": UB}
    options = {
        "kind": ("adds", "muls", "maxs", "mins", "lrelu", "axpy", "shl", "shr"),
        "value": float,
    }
    computes = ARITHMETIC

    def kind(self) -> str:
        word: str = self.option("kind")
        return {"lrelu": "relu", "axpy": "add", "shl": "muls", "shr": "muls"}.get(word, word)

    def allowed(self) -> Sequence[str]:
        kind = self.option("kind")
        if kind in ("shl", "shr"):
            return SHIFTED
        return FLOAT_ARITHMETIC if kind in ("lrelu", "axpy") else (*self.computes, BRAIN)

    def needed_arches(self) -> Sequence[str]:
        return BRAIN_ARCHES if self.tile_type("dst").element == BRAIN else ()

    def variant(self) -> str:
        return f"in {BRAIN} " if self.needed_arches() else ""

    def read(self) -> list[SSAValue]:
        return [*super().read(), self.written] if self.option("kind") == "axpy" else super().read()

    def check(self) -> None:
        super().check()
        if "value" not in self.properties:
            raise VerifyException("option 'value' is missing, it is required")


class VcastOp(Vector):
    """dst = src in dst's element type, rounded to nearest even (towards zero to an integer).

    `round` selects another way to a whole number: rint (halves to even), floor, ceil, trunc or
    round (halves away from zero). f32 to f32 gives whole numbers and needs it. C1: the unit has
    the conversion. C3: the sizes fit both tiles. C4: a way where one is needed, none but to an
    integer or from f32 to f32.
    """

    name = "aicore.vcast"
    tiles = ("src", "dst")
    spaces = {"src": UB, "dst": UB}

    options = {"round": ROUNDINGS}

    def kind(self) -> str:
        return "cast"

    def check(self) -> None:
        pair = (self.tile_type("src").element, self.tile_type("dst").element)
        if pair not in CASTS:  # C1
            known = ", ".join(f"{a} to {b}" for a, b in sorted(CASTS))
            raise VerifyException(f"casts {pair[0]} to {pair[1]}, expected one of {known}")
        chosen = "round" in self.properties
        if chosen and not (pair[1].startswith(("i", "ui")) or pair == ("f32", "f32")):  # C4
            raise VerifyException(f"rounds {pair[0]} to {pair[1]}, expected it to an integer")
        if pair == ("f32", "f32") and not chosen:  # C4
            raise VerifyException("option 'round' is missing, it is required from f32 to f32")
        for name in self.tile_names():
            self.check_fits(name, self.sizes)  # C3


class VdupOp(Vector):
    """dst = value everywhere in the valid part."""

    name = "aicore.vdup"
    tiles = ("dst",)
    spaces = {"dst": UB}
    options = {"value": float}
    computes = (*ARITHMETIC, "bf16")

    def kind(self) -> str:
        return "dup"

    def check(self) -> None:
        super().check()
        if "value" not in self.properties:
            raise VerifyException("option 'value' is missing, it is required")


class VbrcOp(Vector):
    """dst = src repeated along the dimensions in which src has one element.

    C2: one element type. C3: the sizes fit the destination. C4: a dimension of src is 1 or as
    large as dst's, and one of them is 1.
    """

    name = "aicore.vbrc"
    tiles = ("src", "dst")
    spaces = {"src": UB, "dst": UB}

    def kind(self) -> str:
        return "brc"

    def moving(self, tiles: Sequence[Tile]) -> Sequence[Tile]:
        return tiles[-1:]

    def check(self) -> None:
        src, dst = self.tile_type("src"), self.tile_type("dst")
        if src.element != dst.element:  # C2
            raise VerifyException(
                f"elements are {src.element} and {dst.element}, expected one element type"
            )
        self.check_fits("dst", self.sizes)  # C3
        if not broadcasts(src, dst):  # C4
            raise VerifyException(
                f"shapes are {_text(src)} and {_text(dst)}, expected a first with a dimension of 1"
            )


class VcmpOp(Vector):
    """dst = a kind b, a bit per element; NaN is unequal to all.

    C1: a and b have one element type, f16 or f32, and dst is of bits. C3: the sizes fit.
    """

    name = "aicore.vcmp"
    tiles = ("a", "b", "dst")
    spaces = {"a": UB, "b": UB, "dst": UB}
    options = {"kind": ("eq", "ne", "lt", "le", "gt", "ge")}

    def kind(self) -> str:
        return "compare"

    def check(self) -> None:
        a, b, dst = (self.tile_type(name).element for name in self.tiles)
        if a != b or a not in FLOAT_ARITHMETIC or dst != "bit":  # C1
            raise VerifyException(f"compares {a} and {b} to {dst}, expected f16 or f32 to bit")
        for name in self.tiles:
            self.check_fits(name, self.sizes)  # C3


class VcmpsOp(Vector):
    """dst = src kind value, a bit per element; NaN is unequal to all.

    C1: src is f16 or f32 and dst of bits. C3: the sizes fit. C4: a value.
    """

    name = "aicore.vcmps"
    tiles = ("src", "dst")
    spaces = {"src": UB, "dst": UB}
    options = {"kind": ("eq", "ne", "lt", "le", "gt", "ge"), "value": float}

    def kind(self) -> str:
        return "compare"

    def check(self) -> None:
        src, dst = (self.tile_type(name).element for name in self.tiles)
        if src not in FLOAT_ARITHMETIC or dst != "bit":  # C1
            raise VerifyException(f"compares {src} to {dst}, expected f16 or f32 to bit")
        for name in self.tiles:
            self.check_fits(name, self.sizes)  # C3
        if "value" not in self.properties:  # C4
            raise VerifyException("option 'value' is missing, it is required")


class VselOp(Vector):
    """dst = a where the bit of mask is set, else b: elements are moved as they are.

    C1: mask is of bits, a, b and dst of one element type of 2 or 4 bytes. C3: the sizes fit.
    """

    name = "aicore.vsel"
    tiles = ("mask", "a", "b", "dst")
    spaces = {"mask": UB, "a": UB, "b": UB, "dst": UB}

    def kind(self) -> str:
        return "select"

    def check(self) -> None:
        mask, *values = (self.tile_type(name) for name in self.tiles)
        elements = [tile.element for tile in values]
        if mask.element != "bit" or len(set(elements)) > 1 or values[0].size not in (2, 4):  # C1
            raise VerifyException(
                f"selects {', '.join(elements)} by {mask.element}, expected one element type of "
                "2 or 4 bytes by bit"
            )
        for name in self.tiles:
            self.check_fits(name, self.sizes)  # C3


class VselsOp(Vector):
    """dst = src where the bit of mask is set, else value.

    C1: mask is of bits, src and dst of one element type, f16 or f32. C3: the sizes fit.
    C4: a value.
    """

    name = "aicore.vsels"
    tiles = ("mask", "src", "dst")
    spaces = {"mask": UB, "src": UB, "dst": UB}
    options = {"value": float}

    def kind(self) -> str:
        return "select"

    def check(self) -> None:
        mask, src, dst = (self.tile_type(name).element for name in self.tiles)
        if mask != "bit" or src != dst or src not in FLOAT_ARITHMETIC:  # C1
            raise VerifyException(f"selects {src} to {dst} by {mask}, expected f16 or f32 by bit")
        for name in self.tiles:
            self.check_fits(name, self.sizes)  # C3
        if "value" not in self.properties:  # C4
            raise VerifyException("option 'value' is missing, it is required")


class VreduceOp(Vector):
    """dst[:r, :1] (axis = cols) or dst[:1, :c] (axis = rows) = the kind over src[:r, :c].

    axis = all gives dst[:1, :1]. Rows that are longer than a repeat are folded to one first, then
    a repeat is reduced to one element; sums go in pairs. C1: f16, f32 or i32. C2: one element type.
    C3: the sizes fit src, and what is left of them dst.
    """

    name = "aicore.vreduce"
    tiles = ("src", "dst")
    spaces = {"src": UB, "dst": UB}
    options = {"kind": ("sum", "max", "min", "prod"), "axis": ("cols", "rows", "all")}

    def left(self, r: Index, c: Index) -> tuple[Index, Index]:
        """The sizes that are left of r x c."""
        axis = self.option("axis")
        return (r if axis == "cols" else 1, c if axis == "rows" else 1)

    def check(self) -> None:
        src, dst = (self.tile_type(name).element for name in self.tiles)
        if src not in (*FLOAT_ARITHMETIC, "i32") or src != dst:  # C1 C2
            raise VerifyException(f"reduces {src} to {dst}, expected f16, f32 or i32 to itself")
        self.check_fits("src", self.sizes)  # C3
        r, c = self.sizes
        self.check_fits("dst", self.left(r, c))

    def work(self, sizes: Sequence[int]) -> Work:
        size = self.tile_type("src").size
        if self.option("axis") == "all":
            return Work("reduce", elements=sizes[0] * sizes[1], rows=1, size=size, op="reduce")
        if self.option("axis") == "rows":
            tiles = [self.tile_type("src")]
            return vector_work("add", (max(sizes[0] - 1, 1), sizes[1]), size, True, tiles)
        return Work("reduce", elements=sizes[0] * sizes[1], rows=sizes[0], size=size, op="reduce")


class VtransposeOp(Vector):
    """dst[:c, :r] = src[:r, :c] turned, by blocks of 16 x 16.

    C1: elements of 1, 2 or 4 bytes. C2: one element type. C3: the sizes fit.
    """

    name = "aicore.vtranspose"
    tiles = ("src", "dst")
    spaces = {"src": UB, "dst": UB}

    def kind(self) -> str:
        return "transpose"

    def check(self) -> None:
        src, dst = (self.tile_type(name) for name in self.tiles)
        if src.element != dst.element or src.size not in (1, 2, 4) or src.element == "bit":  # C1 C2
            raise VerifyException(
                f"turns {src.element} to {dst.element}, expected one element type of 1, 2 or 4 "
                "bytes"
            )
        self.check_fits("src", self.sizes)  # C3
        r, c = self.sizes
        self.check_fits("dst", (c, r))

    def work(self, sizes: Sequence[int]) -> Work:
        rows, cols = padded(sizes[0], 16), padded(sizes[1], 16)
        return Work("vector", elements=rows * cols, size=self.tile_type("src").size, op="transpose")


def broadcasts(src: Tile, dst: Tile) -> bool:
    """Whether `src` has a dimension of 1 and no other that differs from `dst`'s."""
    pairs = list(zip(src.shape, dst.shape, strict=True))
    return 1 in src.shape and all(a in (1, b) for a, b in pairs)


def _text(tile: Tile) -> str:
    return "x".join(str(dim) for dim in tile.shape)
