"""The vector instructions of a `Kernel`, by name.

Each takes tiles in UB and gives the one that it writes: `out`, or a new tile of the first one's
shape. A number in place of the second operand is a scalar.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from xdsl.ir import Block, BlockArgument, Operation, SSAValue

from ge_xdsl.dialects.aicore.op import Index
from ge_xdsl.dialects.aicore.structure import ForOp
from ge_xdsl.dialects.aicore.vector import (
    VbinaryOp,
    VbrcOp,
    VcastOp,
    VcmpOp,
    VcmpsOp,
    VdupOp,
    VfmaOp,
    VreduceOp,
    VscalarOp,
    VselOp,
    VselsOp,
    VtransposeOp,
    VunaryOp,
)
from ge_xdsl.errors import CompileError
from ge_xdsl.kernels.values import Buffer, Sizes

if TYPE_CHECKING:
    from collections.abc import Sequence

Operand = Buffer | float


class VectorMethods:
    """The methods that write vector instructions."""

    name: str

    def add(self, op: Operation) -> Operation:
        """Write an op."""
        raise NotImplementedError

    def error(self, text: str) -> CompileError:
        """An error at the line of Python that is being run."""
        raise NotImplementedError

    def new_tile(self, shape: Sequence[int], element: str) -> Buffer:
        """A tile in UB."""
        raise NotImplementedError

    def wrote(self, tile: Buffer, sizes: Sizes) -> Buffer:
        """Note what was written to a tile."""
        tile.valid = sizes
        return tile

    def largest(self, sizes: Sizes) -> tuple[int, int]:
        """The shape that holds all sizes that a loop gives."""
        rows, cols = (_at_most(size) for size in sizes)
        if not rows or not cols:
            raise self.error("a size is no number and no length of a loop, expected one")
        return rows, cols

    def _out(self, out: Buffer | None, like: Buffer, element: str = "") -> Buffer:
        if out is not None:
            return out
        return self.new_tile(like.shape, element or like.type.element)

    # One operand

    def _unary(self, kind: str, x: Buffer, out: Buffer | None) -> Buffer:
        out = self._out(out, x)
        self.add(VunaryOp.build(x.value, out.value, sizes=x.sizes, kind=kind))
        return self.wrote(out, x.sizes)

    def exp(self, x: Buffer, out: Buffer | None = None) -> Buffer:
        """e to the x."""
        return self._unary("exp", x, out)

    def ln(self, x: Buffer, out: Buffer | None = None) -> Buffer:
        """The natural logarithm."""
        return self._unary("ln", x, out)

    def sqrt(self, x: Buffer, out: Buffer | None = None) -> Buffer:
        """The square root."""
        return self._unary("sqrt", x, out)

    def rsqrt(self, x: Buffer, out: Buffer | None = None) -> Buffer:
        """1 / sqrt(x)."""
        return self._unary("rsqrt", x, out)

    def reciprocal(self, x: Buffer, out: Buffer | None = None) -> Buffer:
        """1 / x."""
        return self._unary("rec", x, out)

    def abs(self, x: Buffer, out: Buffer | None = None) -> Buffer:
        """The magnitude."""
        return self._unary("abs", x, out)

    def relu(self, x: Buffer, out: Buffer | None = None) -> Buffer:
        """max(x, 0)."""
        return self._unary("relu", x, out)

    def copy(self, x: Buffer, out: Buffer | None = None) -> Buffer:
        """The same elements."""
        return self._unary("copy", x, out)

    # Two operands

    def _binary(self, kind: str, a: Buffer, b: Operand, out: Buffer | None) -> Buffer:
        out = self._out(out, a)
        if isinstance(b, Buffer):
            self.add(VbinaryOp.build(a.value, b.value, out.value, sizes=a.sizes, kind=kind))
        else:
            word, value = _scalar(kind, b)
            op = VscalarOp.build(a.value, out.value, sizes=a.sizes, kind=word, value=float(value))
            self.add(op)
        return self.wrote(out, a.sizes)

    def plus(self, a: Buffer, b: Operand, out: Buffer | None = None) -> Buffer:
        """a + b."""
        return self._binary("add", a, b, out)

    def minus(self, a: Buffer, b: Operand, out: Buffer | None = None) -> Buffer:
        """a - b."""
        return self._binary("sub", a, b, out)

    def times(self, a: Buffer, b: Operand, out: Buffer | None = None) -> Buffer:
        """a b."""
        return self._binary("mul", a, b, out)

    def over(self, a: Buffer, b: Operand, out: Buffer | None = None) -> Buffer:
        """a / b; by a number, the product with its reciprocal."""
        return self._binary("div", a, b, out)

    def maximum(self, a: Buffer, b: Operand, out: Buffer | None = None) -> Buffer:
        """The larger of both."""
        return self._binary("max", a, b, out)

    def minimum(self, a: Buffer, b: Operand, out: Buffer | None = None) -> Buffer:
        """The smaller of both."""
        return self._binary("min", a, b, out)

    def fused(self, kind: str, a: Buffer, b: Buffer, out: Buffer) -> Buffer:
        """`muladddst` a b + out, `muladd` a out + b, `muladdrelu`, `addrelu`, `subrelu`."""
        self.add(VfmaOp.build(a.value, b.value, out.value, sizes=a.sizes, kind=kind))
        return self.wrote(out, a.sizes)

    # Others

    def fill(self, out: Buffer, value: float, sizes: Sizes | None = None) -> Buffer:
        """The same number everywhere; in all of the tile when no sizes are given."""
        found = sizes or (out.shape[0], out.shape[1])
        self.add(VdupOp.build(out.value, sizes=found, value=float(value)))
        return self.wrote(out, found)

    def cast(
        self, x: Buffer, element: str = "", out: Buffer | None = None, *, round: str = ""
    ) -> Buffer:
        """x in another element type; `round` is `rint`, `floor`, `ceil`, `trunc` or `round`."""
        out = self._out(out, x, element)
        op = VcastOp.build(x.value, out.value, sizes=x.sizes, round=round or None)
        self.add(op)
        return self.wrote(out, x.sizes)

    def reduce(self, x: Buffer, kind: str, axis: str = "cols", out: Buffer | None = None) -> Buffer:
        """`sum`, `max` or `min` of each row (axis `cols`), each column (`rows`), or of `all`."""
        rows, cols = x.sizes
        sizes: Sizes = (rows if axis == "cols" else 1, cols if axis == "rows" else 1)
        if out is None:
            shape = (x.shape[0] if axis == "cols" else 1, x.shape[1] if axis == "rows" else 1)
            out = self.new_tile(shape, x.type.element)
        self.add(VreduceOp.build(x.value, out.value, sizes=x.sizes, kind=kind, axis=axis))
        return self.wrote(out, sizes)

    def broadcast(self, x: Buffer, like: Buffer, out: Buffer | None = None) -> Buffer:
        """A row or column repeated to the sizes of `like`."""
        out = self._out(out, like, x.type.element)
        self.add(VbrcOp.build(x.value, out.value, sizes=like.sizes))
        return self.wrote(out, like.sizes)

    def transpose(self, x: Buffer, out: Buffer | None = None) -> Buffer:
        """Rows to columns."""
        rows, cols = x.sizes
        if out is None:
            out = self.new_tile((x.shape[1], x.shape[0]), x.type.element)
        self.add(VtransposeOp.build(x.value, out.value, sizes=x.sizes))
        return self.wrote(out, (cols, rows))

    def compare(self, kind: str, a: Buffer, b: Operand, out: Buffer | None = None) -> Buffer:
        """A bit per element: `eq`, `ne`, `lt`, `le`, `gt`, `ge`."""
        out = self._out(out, a, "bit")
        if isinstance(b, Buffer):
            self.add(VcmpOp.build(a.value, b.value, out.value, sizes=a.sizes, kind=kind))
        else:
            value = float(b)
            self.add(VcmpsOp.build(a.value, out.value, sizes=a.sizes, kind=kind, value=value))
        return self.wrote(out, a.sizes)

    def select(self, mask: Buffer, a: Buffer, b: Operand, out: Buffer | None = None) -> Buffer:
        """a where the bit is set, else b."""
        out = self._out(out, a)
        if isinstance(b, Buffer):
            tiles = (mask.value, a.value, b.value, out.value)
            self.add(VselOp.build(*tiles, sizes=a.sizes))
        else:
            op = VselsOp.build(mask.value, a.value, out.value, sizes=a.sizes, value=float(b))
            self.add(op)
        return self.wrote(out, a.sizes)


def _scalar(kind: str, value: float) -> tuple[str, float]:
    """The scalar instruction that does a binary one's work with a number."""
    if kind == "sub":
        return "adds", -value
    return ("muls", 1 / value) if kind == "div" else (f"{kind}s", value)


def _at_most(size: Index) -> int:
    """The largest value of a size; 0 when it is not known."""
    if isinstance(size, int):
        return size
    return _step_of(size)


def _step_of(value: SSAValue) -> int:
    """The step of the loop whose length a value is."""
    block = value.owner
    loop = block.parent_op() if isinstance(block, Block) else None
    if isinstance(loop, ForOp) and isinstance(value, BlockArgument):
        return loop.steps[value.index // 2]
    return 0
