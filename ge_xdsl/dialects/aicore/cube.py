"""The cube unit: the matrix product into L0C, and the fixpipe that drains it."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.utils.exceptions import VerifyException

from ge_xdsl.dialects.aicore.move import ATOMIC, check_atomic, check_start
from ge_xdsl.dialects.aicore.op import Instruction
from ge_xdsl.dialects.aicore.types import BLOCK_ROWS
from ge_xdsl.targets.cost import Work

FIELD_LIMIT = 4095
"""The largest m, n and k of one instruction."""
FLOATS = ("f16", "bf16", "f32")
INTEGERS = ("i8", "ui8")


class MmadOp(Instruction):
    """c[:m, :n] = start + a[:m, :k] b[:k, :n], products exact, sums in f32.

    start is c itself, except where all indices after `at` are zero (or none is given): there it
    is zero, or with `init = bias` the row in the bias table; with `init = acc` it is always c.
    With `hf32` f32 factors are rounded to 10 bits of mantissa first, at twice the speed. With
    `unit_flag`, here and in the fixpipe, blocks of c are drained while later ones are computed.
    C1: f16, bf16 or f32 factors of one type and f32 sums, or i8 and ui8 factors and i32 sums; the
    bias is as c. C2: the sizes fit the tiles. C3: sizes of at most 4095. C4: hf32 is for f32.
    Factors of f32 and bf16 are of arch 2201 and 3510.
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
    options = {"init": ("zero", "bias", "acc"), "hf32": bool, "unit_flag": bool}

    def needed_arches(self) -> Sequence[str]:
        narrow = self.tile_type("a").element in ("f16", *INTEGERS)
        return () if narrow else ("2201", "3510")

    def variant(self) -> str:
        return f"of {self.tile_type('a').element} factors "

    def tile_names(self) -> tuple[str, ...]:
        return self.tiles if self.option("init") == "bias" else ("a", "b", "c")

    def check(self) -> None:
        a, b, c = (self.tile_type(name) for name in ("a", "b", "c"))
        want = "i32" if a.element in INTEGERS and b.element in INTEGERS else "f32"
        if want == "f32" and (a.element != b.element or a.element not in FLOATS):  # C1
            raise VerifyException(
                f"factors are {a.element} and {b.element}, expected both f16, bf16 or f32, or i8"
            )
        for name in self.tile_names()[2:]:
            if self.tile_type(name).element != want:  # C1
                have = self.tile_type(name).element
                raise VerifyException(f"'{name}' is {have}, expected {want}")
        if self.option("hf32") and a.element != "f32":  # C4
            raise VerifyException(f"rounds {a.element} to hf32, expected f32")
        m, n, k = self.sizes
        self.check_fits("a", (m, k))  # C2
        self.check_fits("b", (k, n))
        self.check_fits("c", (m, n))
        for tile, what in ((c.shape[0], "m"), (c.shape[1], "n"), (a.shape[1], "k")):
            if tile > FIELD_LIMIT:  # C3
                raise VerifyException(f"{what} is up to {tile}, expected at most {FIELD_LIMIT}")

    def work(self, sizes: Sequence[int]) -> Work:
        m, n, k = sizes
        mode = "hf32" if self.option("hf32") else ""
        return Work("mmad", m=m, n=n, k=k, size=self.tile_type("a").size, op=mode)


QUANT = {
    "none": ("f32:f32", "f32:f16", "f32:bf16", "i32:i32"),
    "deq_f16": ("i32:f16",),
    "q8": ("f32:i8", "f32:ui8"),
    "req8": ("i32:i8", "i32:ui8"),
}
"""What the fixpipe makes of elements -> `from:to` that it can. A `v` before the word means one
scale per column, from FB, in place of one in all."""


class FixpipeOp(Instruction):
    """dst window = act(src[:m, :n] * scale), rounded to nearest even in the destination's type.

    Quantised values are saturated. A scale keeps 10 bits of mantissa. act is nothing, `relu`, a
    `slope` for negative values, or with `prelu` a slope per column, from FB. `atomic` joins what
    is written with what GM holds; an output that is added to is all zero at first.
    C1: the conversion is one that the quantisation does. C2: the sizes fit the source. C3: one
    activation. C4: a scale for deq_f16, q8 and req8. C5: m and n of at most 4095. C6: GM can join
    elements of the type, and only GM. C7: a window in L1 starts at a whole block, one in UB at a
    block of 32 bytes. C8: a known n is a multiple of 16 where L1 takes it, in blocks. UB is a
    destination on arch 3510 only.
    """

    name = "aicore.fixpipe"
    pipe = "FIX"
    tiles = ("src", "scales", "slopes", "dst")
    spaces = {
        "src": ("l0c:nz",),
        "scales": ("fb:nd",),
        "slopes": ("fb:nd",),
        "dst": ("gm:nd", "l1:nz", "ub:nd"),
    }
    window = "dst"
    options = {
        "quant": (*QUANT, "vdeq_f16", "vq8", "vreq8"),
        "scale": float,
        "relu": bool,
        "slope": float,
        "prelu": bool,
        "atomic": ATOMIC,
        "unit_flag": bool,
    }

    def needed_arches(self) -> Sequence[str]:
        return ("3510",) if self.tile_type("dst").space == "ub" else ("2201", "3510")

    def variant(self) -> str:
        return "to ub " if self.tile_type("dst").space == "ub" else ""

    def tile_names(self) -> tuple[str, ...]:
        scales = ("scales",) if self.option("quant").startswith("v") else ()
        slopes = ("slopes",) if self.option("prelu") else ()
        return ("src", *scales, *slopes, "dst")

    def check(self) -> None:
        src, dst = self.tile_type("src"), self.tile_type("dst")
        quant = self.option("quant")
        allowed = QUANT[quant.removeprefix("v")]
        if f"{src.element}:{dst.element}" not in allowed:  # C1
            known = ", ".join(pair.replace(":", " to ") for pair in allowed)
            raise VerifyException(
                f"elements are {src.element} and {dst.element}, expected {known} for {quant}"
            )
        self.check_fits("src", self.sizes)  # C2
        for name in self.tile_names()[1:-1]:
            self.check_fits(name, (1, self.sizes[1]))  # C2
        acts = [name for name in ("relu", "slope", "prelu") if name in self.properties]
        if len(acts) > 1:  # C3
            raise VerifyException(f"activates by {' and '.join(acts)}, expected one of them")
        if quant in ("deq_f16", "q8", "req8") and "scale" not in self.properties:  # C4
            raise VerifyException(f"option 'scale' is missing, {quant} requires it")
        for size, what in zip(src.shape, ("m", "n"), strict=True):
            if size > FIELD_LIMIT:  # C5
                raise VerifyException(f"{what} is up to {size}, expected at most {FIELD_LIMIT}")
        check_atomic(self)  # C6
        if self.option("atomic") != "none" and dst.space != "gm":  # C6
            raise VerifyException(f"joins elements in {dst.space}, expected gm")
        if dst.space != "gm":
            check_start(self, "dst")  # C7
        n = self.sizes[1]
        if dst.layout == "nz" and isinstance(n, int) and n % BLOCK_ROWS:  # C8
            raise VerifyException(f"n is {n} in blocks, expected a multiple of {BLOCK_ROWS}")

    def work(self, sizes: Sequence[int]) -> Work:
        m, n = sizes
        dst = self.tile_type("dst")
        moved = m * n * dst.size if dst.space != "l1" else 0
        kind = "fixpipe_ub" if dst.space == "ub" else "fixpipe"
        return Work(kind, bytes=moved, rows=m, elements=m * n, size=dst.size)
