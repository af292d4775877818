"""Matrix products to one cube kernel.

    for each tile of y, dealt to the cube cores:
        for k1 in k:                              copy_gm_l1 both factors
            for k0 in k1:                         load_l0a, load_l0b, mmad into L0C
        fixpipe to GM (cast, relu)

Sums run in f32 in L0C over the whole of k; a bias is where the sum starts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import TypeVar

from xdsl.ir import Block, Operation, SSAValue

from ge_xdsl.dialects.aicore.cube import FixpipeOp, MmadOp
from ge_xdsl.dialects.aicore.move import CopyGmL1Op, LoadBiasOp, LoadL0aOp, LoadL0bOp
from ge_xdsl.dialects.aicore.op import Index
from ge_xdsl.dialects.aicore.structure import AllocOp, ForOp, KernelOp
from ge_xdsl.dialects.aicore.types import Tile
from ge_xdsl.dialects.ge.op import GeOp
from ge_xdsl.dialects.ge.types import Tensor, tensor_of
from ge_xdsl.lowering.tensors import element_of, static_tensor
from ge_xdsl.lowering.tiling import BUFFERS, MatmulShape, MatmulTiling, matmul_tiling, strip_rows
from ge_xdsl.lowering.unit import Unit, launch_unit
from ge_xdsl.targets.target import Target

TRANSPOSE = {
    "MatMul": ("transpose_x1", "transpose_x2"),
    "MatMulV2": ("transpose_x1", "transpose_x2"),
    "BatchMatMul": ("adj_x1", "adj_x2"),
    "BatchMatMulV2": ("adj_x1", "adj_x2"),
}
"""Op type -> the attributes that transpose the factors."""
TYPES = frozenset(TRANSPOSE)
FACTORS = ("f16", "bf16", "f32")


@dataclass(frozen=True, slots=True)
class Product:
    """A matrix product as a kernel computes it.

    `a` and `b` are the shapes of the factors in GM, (rows, columns) or (batch, rows, columns)
    with a batch of 1 where one matrix serves all.
    """

    a: tuple[int, ...]
    b: tuple[int, ...]
    y: tuple[int, ...]
    transpose_a: bool
    transpose_b: bool
    element: str
    bias: str
    """Element type of the bias, '' without one."""
    relu: bool
    out: str = ""
    """Element type of y, that of the factors when ''."""

    @property
    def k(self) -> int:
        return self.a[-2] if self.transpose_a else self.a[-1]


def reason(op: GeOp, target: Target) -> str:
    """Why an op cannot be a cube kernel, '' when it can."""
    if "cube" not in target.lowers:
        return f"no cube kernels for {target.name}"
    for value in (*op.operands, *op.results):
        tensor = static_tensor(value)
        if tensor is None:
            return "no lowering for a shape that is empty or not static"
        if element_of(tensor.dtype) not in FACTORS:
            return f"no lowering for element type {tensor.dtype.name}"
    found = product_of(op, False)
    return found if isinstance(found, str) else ""


def unit(op: GeOp, target: Target) -> Unit:
    """The launch of a product, with the Relu that is its only user."""
    relu = only_relu(op)
    product = product_of(op, relu is not None)
    assert isinstance(product, Product)
    ops = [op] if relu is None else [op, relu]
    return launch_unit(
        ops,
        op.operands,
        ops[-1].results,
        product,
        lambda name: matmul_kernel(name, product, target),
    )


def only_relu(op: GeOp) -> GeOp | None:
    """The Relu that is the only user of an op's result, in the same block."""
    uses = list(op.results[0].uses)
    user = uses[0].operation if len(uses) == 1 else None
    if not isinstance(user, GeOp) or user.op_type != "Relu" or user.parent is not op.parent:
        return None
    return user


def product_of(op: GeOp, relu: bool) -> Product | str:
    """An op's product, or why there is none."""
    x1, x2 = (tensor_of(v.type) for v in op.operands[:2])
    t1, t2 = (bool(op.get_attr(name)) for name in TRANSPOSE[op.op_type])
    a, b = list(x1.shape or ()), list(x2.shape or ())
    if len(a) == 1:
        a, t1 = [1, *a], False
    if len(b) == 1:
        b, t2 = [*b, 1], False
    m = a[-1] if t1 else a[-2]
    n = b[-2] if t2 else b[-1]
    bias = _bias(op, n)
    if isinstance(bias, Tensor) and element_of(bias.dtype) == "bf16":
        return "no lowering for a bias of element type bf16"
    if isinstance(bias, str):
        return bias
    element = element_of(x1.dtype)
    kind = element_of(bias.dtype) if bias is not None else ""
    batch_a, batch_b = prod(a[:-2]), prod(b[:-2])
    if batch_b == 1 and not t1:
        # one right factor: the batch is more rows
        rows = (batch_a * a[-2], a[-1])
        return Product(rows, tuple(b[-2:]), (rows[0], n), t1, t2, element, kind, relu)
    if not _aligned(a[:-2], b[:-2]):
        return "no lowering for batches that broadcast in part"
    batch = max(batch_a, batch_b)
    shapes = (batch_a, *a[-2:]), (batch_b, *b[-2:]), (batch, m, n)
    return Product(*shapes, t1, t2, element, kind, relu)


def _bias(op: GeOp, n: int) -> Tensor | str | None:
    """The tensor of the bias, a reason why it cannot be one, or None."""
    if len(op.operands) < 3:
        return None
    tensor = tensor_of(op.operands[2].type)
    if tensor.size() != n:
        return "no lowering for a bias that is not one row"
    return tensor


def _aligned(a: Sequence[int], b: Sequence[int]) -> bool:
    """Whether the batches are equal or one of them is a single matrix."""
    rank = max(len(a), len(b))
    left = (1,) * (rank - len(a)) + tuple(a)
    right = (1,) * (rank - len(b)) + tuple(b)
    return left == right or prod(a) == 1 or prod(b) == 1


def matmul_kernel(
    name: str, product: Product, target: Target, tiling: MatmulTiling | None = None
) -> KernelOp:
    """The kernel of a product; its arguments are a, b, the bias if there is one, and y.

    `tiling` is the cheapest one unless it is given.
    """
    size = Tile((1,), product.element, "gm").size
    batch = product.y[0] if len(product.y) == 3 else 1
    m, n = product.y[-2:]
    shape = MatmulShape(batch, m, n, product.k, size, size, bool(product.bias))
    if tiling is None:
        tiling = matmul_tiling(shape, target)
    args = [Tile(product.a, product.element, "gm"), Tile(product.b, product.element, "gm")]
    names = ["a", "b"]
    if product.bias:
        args.append(Tile((1, n), product.bias, "gm"))
        names.append("bias")
    args.append(Tile(product.y, product.out or product.element, "gm"))
    block = Block(arg_types=[tile.type for tile in args])
    for arg, hint in zip(block.args, [*names, "y"], strict=True):
        arg.name_hint = hint
    count = batch * -(-m // tiling.m) * -(-n // tiling.n)
    Body(product, tiling, target, block).fill(strip_rows(shape, tiling, target))
    return KernelOp.make(name, "cube", min(count, target.cube_cores), 1, block)


class Body:
    """Fills the body of a product's kernel."""

    def __init__(
        self, product: Product, tiling: MatmulTiling, target: Target, block: Block
    ) -> None:
        self.product = product
        self.tiling = tiling
        self.target = target
        self.block = block

    def fill(self, strip: int) -> None:
        """The loop over tiles, by strips of rows when there is more than one."""
        tiling, product = self.tiling, self.product
        steps = [1] * (len(product.y) - 2) + [tiling.m, tiling.n]
        hints = [*("p", "g")[: len(steps) - 2], "m", "n"]
        loop = ForOp.make(product.y, steps, hints, True, strip if strip > 1 else 0)
        self.block.add_op(loop)
        origins = [loop.origin(i) for i in range(len(steps))]
        self.batch = origins[:-2]
        self.m, self.n = origins[-2:]
        self.vm, self.vn = loop.length(len(steps) - 2), loop.length(len(steps) - 1)
        body = loop.body
        start = self.bias(body) if product.bias else None
        c = alloc(body, Tile((tiling.m, tiling.n), "f32", "l0c", "nz"), "c", tiling.c_buffers)
        outer = ForOp.make([product.k], [tiling.k1], ["k1"])
        body.add_op(outer)
        self.l1_loop(outer, c, start)
        window: list[Index] = [*self.batch, self.m, self.n]
        y = self.block.args[-1]
        body.add_op(
            FixpipeOp.build(
                c, y, offsets=window, sizes=[self.vm, self.vn], relu=product.relu or None
            )
        )

    def bias(self, body: Block) -> SSAValue:
        """Bring the tile's part of the bias to BT."""
        n = self.tiling.n
        arg = self.block.args[2]
        row = alloc(body, Tile((1, n), self.product.bias, "l1"), "bias_l1", BUFFERS)
        table = alloc(body, Tile((1, n), "f32", "bt"), "bias_bt", BUFFERS)
        body.add_op(CopyGmL1Op.build(arg, row, offsets=[0, self.n], sizes=[1, self.vn]))
        body.add_op(LoadBiasOp.build(row, table, offsets=[0, 0], sizes=[1, self.vn]))
        return table

    def l1_loop(self, outer: ForOp, c: SSAValue, start: SSAValue | None) -> None:
        """Bring k1 columns of a and rows of b to L1, then multiply them."""
        tiling, body = self.tiling, outer.body
        k1, vk1 = outer.origin(0), outer.length(0)
        a1, b1 = self.copy_a(body, k1, vk1), self.copy_b(body, k1, vk1)
        inner = ForOp.make([vk1], [tiling.k0], ["k0"])
        body.add_op(inner)
        self.l0_loop(inner, (a1, b1, c), start, k1)

    def copy_a(self, body: Block, k1: SSAValue, vk1: SSAValue) -> SSAValue:
        """The left factor's part in L1."""
        product, tiling = self.product, self.tiling
        shape = _turned((tiling.m, tiling.k1), product.transpose_a)
        a1 = alloc(body, Tile(shape, product.element, "l1", "nz"), "a1", BUFFERS)
        offsets = self.window(product.a, self.m, k1, product.transpose_a)
        sizes = _turned((self.vm, vk1), product.transpose_a)
        body.add_op(CopyGmL1Op.build(self.block.args[0], a1, offsets=offsets, sizes=sizes))
        return a1

    def copy_b(self, body: Block, k1: SSAValue, vk1: SSAValue) -> SSAValue:
        """The right factor's part in L1."""
        product, tiling = self.product, self.tiling
        shape = _turned((tiling.k1, tiling.n), product.transpose_b)
        b1 = alloc(body, Tile(shape, product.element, "l1", "nz"), "b1", BUFFERS)
        offsets = self.window(product.b, k1, self.n, product.transpose_b)
        sizes = _turned((vk1, self.vn), product.transpose_b)
        body.add_op(CopyGmL1Op.build(self.block.args[1], b1, offsets=offsets, sizes=sizes))
        return b1

    def load_a(self, body: Block, a1: SSAValue, a0: SSAValue, k0: SSAValue, vk0: SSAValue) -> None:
        """Bring k0 columns of the left factor to L0A."""
        turn = self.product.transpose_a
        offsets = self.corner(k0, 1, turn)
        body.add_op(
            LoadL0aOp.build(a1, a0, offsets=offsets, sizes=[self.vm, vk0], transpose=turn or None)
        )

    def l0_loop(
        self,
        inner: ForOp,
        tiles: tuple[SSAValue, SSAValue, SSAValue],
        start: SSAValue | None,
        k1: SSAValue,
    ) -> None:
        """Bring k0 of them to L0 and multiply."""
        product, tiling, body = self.product, self.tiling, inner.body
        a1, b1, c = tiles
        k0, vk0 = inner.origin(0), inner.length(0)
        layout = self.target.l0a_layout
        a0 = alloc(body, Tile((tiling.m, tiling.k0), product.element, "l0a", layout), "a0", BUFFERS)
        self.load_a(body, a1, a0, k0, vk0)
        b0 = alloc(body, Tile((tiling.k0, tiling.n), product.element, "l0b", "zn"), "b0", BUFFERS)
        body.add_op(
            LoadL0bOp.build(
                b1,
                b0,
                offsets=self.corner(k0, 0, product.transpose_b),
                sizes=[vk0, self.vn],
                transpose=product.transpose_b or None,
            )
        )
        factors = [a0, b0, c] if start is None else [a0, b0, start, c]
        sizes: list[Index] = [self.vm, self.vn, vk0]
        init = "zero" if start is None else "bias"
        body.add_op(MmadOp.build(*factors, sizes=sizes, at=[k1, k0], init=init))

    @staticmethod
    def corner(along: SSAValue, axis: int, transposed: bool) -> tuple[Index, Index]:
        """The window in an L1 tile that stands at `along` on one axis."""
        return (along, 0) if (axis == 0) != transposed else (0, along)

    def window(
        self, shape: Sequence[int], row: SSAValue, col: SSAValue, transposed: bool
    ) -> list[Index]:
        """Where a factor's tile stands in GM."""
        lead: list[Index] = []
        if len(shape) == 3:
            lead = [self.batch[0] if shape[0] > 1 else 0]
        return [*lead, *_turned((row, col), transposed)]


T = TypeVar("T")


def _turned(pair: tuple[T, T], turn: bool) -> tuple[T, T]:
    return (pair[1], pair[0]) if turn else pair


def alloc(block: Block, tile: Tile, hint: str, buffers: int = 1) -> SSAValue:
    """Add an alloc to a block; the tile."""
    op: Operation = AllocOp.make(tile.type, buffers)
    op.results[0].name_hint = hint
    block.add_op(op)
    return op.results[0]
