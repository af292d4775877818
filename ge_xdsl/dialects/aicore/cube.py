"""The cube unit: the matrix product into L0C, and the fixpipe that drains it."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.utils.exceptions import VerifyException

from ge_xdsl.dialects.aicore.op import Instruction
from ge_xdsl.targets.cost import Work

FIELD_LIMIT = 4095
"""The largest m, n and k of one instruction."""


class MmadOp(Instruction):
    """c[:m, :n] = start + a[:m, :k] b[:k, :n], products exact, sums in f32.

    start is c itself, except where all indices after `at` are zero (or none is given): there it
    is zero, or with `init = bias` the row in the bias table. C1: a and b have one element type,
    f16, bf16 or f32, c is f32. C2: the sizes fit the tiles. C3: sizes of at most 4095. With
    `unit_flag`, here and in the fixpipe, blocks of c are drained while later ones are computed.
    """

    name = "aicore.mmad"
    pipe = "M"
    tiles = ("a", "b", "bias", "c")
    spaces = {
        "a": ("l0a:zz", "l0a:nz"),
        "b": ("l0b:zn",),
        "c": ("l0c:nz",),
        "bias": ("bt:nd",),
    }
    rank = 3
    options = {"init": ("zero", "bias"), "unit_flag": bool}

    def tile_names(self) -> tuple[str, ...]:
        return self.tiles if self.option("init") == "bias" else ("a", "b", "c")

    def check(self) -> None:
        a, b, c = (self.tile_type(name) for name in ("a", "b", "c"))
        if a.element != b.element or a.element not in ("f16", "bf16", "f32"):  # C1
            raise VerifyException(
                f"factors are {a.element} and {b.element}, expected both f16, bf16 or f32"
            )
        if c.element != "f32":  # C1
            raise VerifyException(f"'c' is {c.element}, expected f32")
        m, n, k = self.sizes
        self.check_fits("a", (m, k))  # C2
        self.check_fits("b", (k, n))
        self.check_fits("c", (m, n))
        for tile, what in ((c.shape[0], "m"), (c.shape[1], "n"), (a.shape[1], "k")):
            if tile > FIELD_LIMIT:  # C3
                raise VerifyException(f"{what} is up to {tile}, expected at most {FIELD_LIMIT}")

    def work(self, sizes: Sequence[int]) -> Work:
        m, n, k = sizes
        return Work("mmad", m=m, n=n, k=k, size=self.tile_type("a").size)


class FixpipeOp(Instruction):
    """GM window = relu?(src[:m, :n]), rounded to nearest even in the destination's type.

    C1: the source is f32, the destination f32, f16 or bf16. C2: the sizes fit the source.
    """

    name = "aicore.fixpipe"
    pipe = "FIX"
    tiles = ("src", "dst")
    spaces = {"src": ("l0c:nz",), "dst": ("gm:nd",)}
    window = "dst"
    options = {"relu": bool, "unit_flag": bool}

    def check(self) -> None:
        src, dst = self.tile_type("src"), self.tile_type("dst")
        if src.element != "f32" or dst.element not in ("f32", "f16", "bf16"):  # C1
            raise VerifyException(
                f"elements are {src.element} and {dst.element}, expected f32, and f32, f16 or bf16"
            )
        self.check_fits("src", self.sizes)  # C2

    def work(self, sizes: Sequence[int]) -> Work:
        m, n = sizes
        size = self.tile_type("dst").size
        return Work("fixpipe", bytes=m * n * size, rows=m, elements=m * n, size=size)
