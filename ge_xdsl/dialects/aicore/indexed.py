"""Elements by index: gather, scatter, sort, arg-reduction and scan of UB tiles, and scalar loops.

What the vector unit has no instruction for (64-bit and 8-bit integers, integer division, shifts)
is computed one element at a time by the scalar unit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from xdsl.ir import SSAValue
from xdsl.utils.exceptions import VerifyException

from ge_xdsl.dialects.aicore.op import Instruction
from ge_xdsl.dialects.aicore.types import UB_ALIGN, padded
from ge_xdsl.dialects.aicore.vector import FLOAT_ARITHMETIC, UB
from ge_xdsl.targets.cost import Work

SORT_BLOCK = 32
"""Elements that one sort instruction orders; longer rows are merged four runs at a time."""
SORT_RUNS = 4
INTEGERS = ("i64", "i32", "i16", "i8", "ui8", "i1")
COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge")
SCALAR_UNARY = ("not", "neg", "abs", "sign", "cast", "copy")
SCALAR_BINARY = (
    *("add", "sub", "mul", "div", "floordiv", "rem", "mod", "max", "min"),
    *("and", "or", "xor", "shl", "shr"),
    *COMPARISONS,
)


class VgatherOp(Instruction):
    """dst[i, j] = src[i, index[i, j]], or by the one row of index when it has one.

    C1: src and dst have one element type, index is i32. C2: index has one row or as many as dst.
    C3: the sizes fit. An index outside the written part of src is an error. Elements of 8 bytes
    are gathered as two halves, those of 1 byte are widened before and narrowed after.
    """

    name = "aicore.vgather"
    pipe = "V"
    tiles = ("src", "index", "dst")
    spaces = {"src": UB, "index": UB, "dst": UB}

    def check(self) -> None:
        src, index, dst = (self.tile_type(name) for name in self.tiles)
        if src.element != dst.element or index.element != "i32" or src.element == "bit":  # C1
            raise VerifyException(
                f"gathers {src.element} to {dst.element} by {index.element}, expected one element "
                "type by i32"
            )
        if index.shape[0] not in (1, dst.shape[0]):  # C2
            raise VerifyException(
                f"index has {index.shape[0]} rows, expected 1 or {dst.shape[0]} as 'dst' has"
            )
        self.check_fits("dst", self.sizes)  # C3

    def work(self, sizes: Sequence[int]) -> Work:
        size = self.tile_type("src").size
        passes = 2 if size in (1, 8) else 1
        count = sizes[0] * sizes[1] * passes
        return Work("vector", elements=count, size=min(size, 4), op="gather")


class VsortOp(Instruction):
    """dst[i] = the order of src[i]: the places of its elements, smallest (or largest) first.

    Equal elements keep their order, NaN counts as the largest. C1: src is f16 or f32, dst i32.
    C2: the sizes fit both.
    """

    name = "aicore.vsort"
    pipe = "V"
    tiles = ("src", "dst")
    spaces = {"src": UB, "dst": UB}
    options = {"descending": bool}

    def check(self) -> None:
        src, dst = (self.tile_type(name).element for name in self.tiles)
        if src not in FLOAT_ARITHMETIC or dst != "i32":  # C1
            raise VerifyException(f"sorts {src} to {dst}, expected f16 or f32 to i32")
        for name in self.tiles:
            self.check_fits(name, self.sizes)  # C2

    def work(self, sizes: Sequence[int]) -> Work:
        rows, cols = sizes[0], padded(sizes[1], SORT_BLOCK)
        passes, run = 1, SORT_BLOCK
        while run < cols:
            passes, run = passes + 1, run * SORT_RUNS
        size = self.tile_type("src").size
        count = rows * cols * passes
        return Work("vector", elements=count, size=size, op="sort", instructions=rows * passes)


class VargreduceOp(Instruction):
    """dst = the place of the first largest (smallest) element of each row, or of each column.

    C1: src is f16 or f32, dst i32. C2: the sizes fit src, and what is left of them dst.
    """

    name = "aicore.vargreduce"
    pipe = "V"
    tiles = ("src", "dst")
    spaces = {"src": UB, "dst": UB}
    options = {"kind": ("max", "min"), "axis": ("cols", "rows")}

    def check(self) -> None:
        src, dst = (self.tile_type(name).element for name in self.tiles)
        if src not in FLOAT_ARITHMETIC or dst != "i32":  # C1
            raise VerifyException(f"reduces {src} to {dst}, expected f16 or f32 to i32")
        self.check_fits("src", self.sizes)  # C2
        r, c = self.sizes
        self.check_fits("dst", (r, 1) if self.option("axis") == "cols" else (1, c))

    def work(self, sizes: Sequence[int]) -> Work:
        size = self.tile_type("src").size
        if self.option("axis") == "rows":  # a comparison and two selections for each row
            count = max(sizes[0] - 1, 1) * padded(sizes[1], UB_ALIGN // size) * 3
            return Work("vector", elements=count, size=size, op="select", instructions=3 * sizes[0])
        return Work("reduce", elements=sizes[0] * sizes[1], rows=sizes[0], size=size, op="reduce")


class VscanOp(Instruction):
    """dst[i] = kind of src[0] to src[i]: one vector instruction per row.

    With `exclusive` src[i] itself is left out, with `reverse` it goes from the last row up.
    C1: one element type, f16, f32 or i32. C2: the sizes fit both.
    """

    name = "aicore.vscan"
    pipe = "V"
    tiles = ("src", "dst")
    spaces = {"src": UB, "dst": UB}
    options = {"kind": ("add", "mul", "max", "min"), "exclusive": bool, "reverse": bool}

    def check(self) -> None:
        src, dst = (self.tile_type(name).element for name in self.tiles)
        if src != dst or src not in (*FLOAT_ARITHMETIC, "i32"):  # C1
            raise VerifyException(f"scans {src} to {dst}, expected one of f16, f32, i32 for both")
        for name in self.tiles:
            self.check_fits(name, self.sizes)  # C2

    def work(self, sizes: Sequence[int]) -> Work:
        size = self.tile_type("src").size
        count = sizes[0] * padded(sizes[1], UB_ALIGN // size)
        return Work(
            "vector",
            elements=count,
            size=size,
            op=self.option("kind"),
            two_sources=True,
            instructions=sizes[0],
        )


class VscatterOp(Instruction):
    """dst[index[j] - first] = kind(that, updates[j]) for each row j of updates, in their order.

    `first`, the index after `at`, is the place of dst's first row. An index of one row names whole
    rows; one as large as updates names a row for each element, and the scalar unit does these.
    Places that are not in dst's written part are passed over. C1: updates and dst have one element
    type, index is i32. C2: an index. C3: the sizes fit updates and dst's columns.
    """

    name = "aicore.vscatter"
    pipe = "V"
    tiles = ("updates", "index", "dst")
    spaces = {"updates": UB, "index": UB, "dst": UB}
    options: ClassVar[Mapping[str, Any]] = {
        "kind": ("update", "add", "sub", "mul", "div", "max", "min"),
        "elements": bool,
    }

    def read(self) -> list[SSAValue]:
        return [*super().read(), self.written]

    def check(self) -> None:
        updates, index, dst = (self.tile_type(name) for name in self.tiles)
        if updates.element != dst.element or index.element != "i32":  # C1
            raise VerifyException(
                f"scatters {updates.element} to {dst.element} by {index.element}, expected one "
                "element type by i32"
            )
        if len(self.at) != 1:  # C2
            raise VerifyException(f"has {len(self.at)} indices, expected that of the first row")
        self.check_fits("updates", self.sizes)  # C3
        self.check_fits("dst", (1, self.sizes[1]))

    def work(self, sizes: Sequence[int]) -> Work:
        size = self.tile_type("updates").size
        if self.option("elements") or size in (1, 8):
            return Work("scalar", elements=sizes[0] * sizes[1])
        kind = self.option("kind")
        count = sizes[0] * padded(sizes[1], UB_ALIGN // size)
        op = "copy" if kind == "update" else kind
        return Work("vector", elements=count, size=size, op=op, instructions=sizes[0])


class ScalarOp(Instruction):
    """dst = kind of a, of a and b, or of a and `value`; `fill`: `value`, `select`: mask ? a : b.

    `div` and `rem` go towards zero, `floordiv` and `mod` down; a division by zero gives 0.
    Integers wrap around. C1: element types that the kind takes: a comparison gives i1, `cast`
    anything, the others have one type. C2: the sizes fit.
    """

    name = "aicore.scalar"
    pipe = "S"
    tiles = ("mask", "a", "b", "dst")
    spaces = {"mask": UB, "a": UB, "b": UB, "dst": UB}
    options: ClassVar[Mapping[str, Any]] = {
        "kind": (*SCALAR_BINARY, *SCALAR_UNARY, "fill", "select"),
        "value": float,
    }

    def tile_names(self) -> tuple[str, ...]:
        kind = self.option("kind")
        if kind == "fill":
            return ("dst",)
        if kind == "select":
            return self.tiles
        return ("a", "dst") if kind in SCALAR_UNARY or self.has_value else ("a", "b", "dst")

    @property
    def has_value(self) -> bool:
        """Whether a number takes the place of b."""
        return "value" in self.properties

    def check(self) -> None:
        kind, names = self.option("kind"), self.tile_names()
        elements = [self.tile_type(name).element for name in names]
        if kind == "fill" and not self.has_value:
            raise VerifyException("option 'value' is missing, it is required")
        if kind == "select" and elements.pop(0) != "i1":  # C1
            raise VerifyException(f"selects by {self.tile_type('mask').element}, expected i1")
        if kind in COMPARISONS and elements.pop() != "i1":
            raise VerifyException(f"compares to {self.tile_type('dst').element}, expected i1")
        if kind != "cast" and len(set(elements)) > 1:
            raise VerifyException(f"elements are {', '.join(elements)}, expected one element type")
        for name in names:
            self.check_fits(name, self.sizes)  # C2

    def work(self, sizes: Sequence[int]) -> Work:
        return Work("scalar", elements=sizes[0] * sizes[1])
