"""Counting and picking on the vector unit, and single elements as indices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

from xdsl.ir import SSAValue
from xdsl.parser import Parser
from xdsl.utils.exceptions import VerifyException

from ge_xdsl.dialects.aicore.encoding import vector_work
from ge_xdsl.dialects.aicore.op import INDEX, Instruction
from ge_xdsl.dialects.aicore.vector import UB, Vector
from ge_xdsl.targets.cost import Work


class ViotaOp(Vector):
    """dst[i, j] = start + step j, in every row i. C1: f16, f32, i32 or i16. C3: the sizes fit."""

    name = "aicore.viota"
    tiles = ("dst",)
    spaces = {"dst": UB}
    options = {"start": float, "step": float}
    computes = ("f16", "f32", "i32", "i16")

    def kind(self) -> str:
        return "dup"

    @property
    def start(self) -> float:
        """The first number, 0 when it is not given."""
        return self.option("start") or 0.0

    @property
    def step(self) -> float:
        """From one number to the next, 1 when it is not given."""
        found = self.option("step")
        return 1.0 if found is None else found


class VcompactOp(Vector):
    """dst[i, :n] = the n elements of src[i, :c] whose bit is set, in order; zero in the others.

    C1: mask is of bits, src and dst of one type of 2 or 4 bytes. C3: the sizes fit.
    """

    name = "aicore.vcompact"
    tiles = ("src", "mask", "dst")
    spaces = {"src": UB, "mask": UB, "dst": UB}

    def kind(self) -> str:
        return "muladd"  # the same rate

    def check(self) -> None:
        src, mask, dst = (self.tile_type(name) for name in self.tiles)
        if mask.element != "bit" or src.element != dst.element or src.size not in (2, 4):  # C1
            raise VerifyException(
                f"picks {src.element} to {dst.element} by {mask.element}, expected one type of 2 "
                "or 4 bytes by bit"
            )
        for name in self.tiles:
            self.check_fits(name, self.sizes)  # C3

    def work(self, sizes: Sequence[int]) -> Work:
        tiles = [self.tile_type(name) for name in ("src", "dst")]
        return vector_work(self.kind(), sizes, tiles[0].size, tiles=tiles)


class ScalarLoadOp(Instruction):
    """An element of a tile as an index.

    %n = aicore.scalar_load %t[0, 3], [1, 1] : !aicore.tile<1x8xi32, ub>

    C1: i32 or i64. C2: one element. C3: one result, an index.
    """

    name = "aicore.scalar_load"
    pipe = "S"
    tiles = ("src",)
    spaces = {"src": ("gm:nd", "ub:nd")}
    window = "src"
    gives_index = True

    @property
    def written(self) -> SSAValue:
        """The index, which is no tile."""
        return self.results[0]

    def read(self) -> list[SSAValue]:
        return [self.tile("src")]

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        found = super().parse(parser)
        return cls.create(
            operands=list(found.operands), properties=found.properties, result_types=[INDEX]
        )

    def check(self) -> None:
        element = self.tile_type("src").element
        if element not in ("i32", "i64"):  # C1
            raise VerifyException(f"loads {element}, expected i32 or i64")
        if self.sizes != [1, 1]:  # C2
            raise VerifyException(f"loads {self.sizes}, expected one element")

    def work(self, sizes: Sequence[int]) -> Work:
        return Work("scalar")


class ScalarStoreOp(Instruction):
    """dst[0, 0] = an index; it stands after `at`.

    aicore.scalar_store %t, [1, 1] at (%n) : !aicore.tile<1x8xi32, ub>

    C1: i32 or i64. C2: one element. C3: one index.
    """

    name = "aicore.scalar_store"
    pipe = "S"
    tiles = ("dst",)
    spaces = {"dst": ("ub:nd",)}

    def check(self) -> None:
        element = self.tile_type("dst").element
        if element not in ("i32", "i64"):  # C1
            raise VerifyException(f"stores {element}, expected i32 or i64")
        if self.sizes != [1, 1]:  # C2
            raise VerifyException(f"stores {self.sizes}, expected one element")
        if len(self.at) != 1:  # C3
            raise VerifyException(f"stores {len(self.at)} indices, expected one")

    def work(self, sizes: Sequence[int]) -> Work:
        return Work("scalar")
