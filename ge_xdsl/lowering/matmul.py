"""Matrix products to one cube kernel.

    for each tile of y, dealt to the cube cores:
        for k1 in k:                              copy_gm_l1 both factors
            for k0 in k1:                         load_l0a, load_l0b, mmad into L0C
        fixpipe to GM (cast, relu)

Sums run in f32 in L0C over the whole of k; a bias is where the sum starts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import TypeVar

from xdsl.ir import Block, Operation, SSAValue

from ge_xdsl.dialects.aicore.cube import FixpipeOp, MmadOp
from ge_xdsl.dialects.aicore.move import CopyGmL1Op, LoadBiasOp, LoadL0aOp, LoadL0bOp
from ge_xdsl.dialects.aicore.op import Index
from ge_xdsl.dialects.aicore.paths import COUPLED
from ge_xdsl.dialects.aicore.structure import AllocOp, ForOp, KernelOp
from ge_xdsl.dialects.aicore.types import Tile
from ge_xdsl.dialects.ge.op import GeOp
from ge_xdsl.dialects.ge.types import Tensor, tensor_of
from ge_xdsl.lowering.drain import Way, drain_through_ub, refused, without_table
from ge_xdsl.lowering.tensors import element_of, static_tensor, unshaped
from ge_xdsl.lowering.tile_choice import Choice, check_choice, chosen
from ge_xdsl.lowering.tile_price import cores_of, strip_of
from ge_xdsl.lowering.tile_search import best_tiling
from ge_xdsl.lowering.tiling import BUFFERS, MatmulShape, MatmulTiling
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
CODES = ("i8", "ui8")
"""Integer factors: their products are summed in i32, which y is of."""


STAYS = {"a": ("m", "n"), "b": ("n", "m")}
"""The factor that stays -> the dimension that numbers its panels, and that of what passes by."""


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
    tile: Choice | None = None
    """The tile that the user wants."""

    @property
    def k(self) -> int:
        return self.a[-2] if self.transpose_a else self.a[-1]


def reason(op: GeOp, target: Target) -> str:
    """Why an op cannot be a cube kernel, '' when it can."""
    if "cube" not in target.lowers:
        return f"no cube kernels for {target.name}"
    codes = _is_codes(op)
    for value in (*op.operands, *op.results):
        tensor = static_tensor(value)
        if tensor is None:
            return unshaped(value)
        if not codes and element_of(tensor.dtype) not in FACTORS:
            return f"no lowering for element type {tensor.dtype.name}"
    why = refused(element_of(tensor_of(op.operands[0].type).dtype), target)
    if why:
        return why
    found = product_of(op, False)
    return found if isinstance(found, str) else ""


def _is_codes(op: GeOp) -> bool:
    """Whether two factors of one 8-bit integer type give i32."""
    kinds = [element_of(tensor_of(v.type).dtype) for v in (*op.operands, *op.results)]
    return len(kinds) == 3 and kinds[0] == kinds[1] in CODES and kinds[2] == "i32"


def unit(op: GeOp, target: Target) -> Unit:
    """The launch of a product, with the Relu that is its only user."""
    relu = only_relu(op)
    product = product_of(op, relu is not None)
    assert isinstance(product, Product)
    product = replace(product, tile=chosen(op))
    check_choice(op, product.tile, without_table(shape_of(product), target), target)
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
    made = element_of(tensor_of(op.results[0].type).dtype)
    out = "" if made == element else made
    batch_a, batch_b = prod(a[:-2]), prod(b[:-2])
    if batch_b == 1 and not t1:
        # one right factor: the batch is more rows
        rows = (batch_a * a[-2], a[-1])
        return Product(rows, tuple(b[-2:]), (rows[0], n), t1, t2, element, kind, relu, out)
    if not _aligned(a[:-2], b[:-2]):
        return "no lowering for batches that broadcast in part"
    batch = max(batch_a, batch_b)
    shapes = (batch_a, *a[-2:]), (batch_b, *b[-2:]), (batch, m, n)
    return Product(*shapes, t1, t2, element, kind, relu, out)


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

    `tiling` is the fastest one that the search finds unless it is given.
    """
    shape = shape_of(product)
    if tiling is None:
        tiling = best_tiling(
            (product, shape),
            target,
            lambda t: matmul_kernel(name, product, target, t),
            product.tile,
        )
    n = shape.n
    args = [Tile(product.a, product.element, "gm"), Tile(product.b, product.element, "gm")]
    names = ["a", "b"]
    if product.bias:
        args.append(Tile((1, n), product.bias, "gm"))
        names.append("bias")
    args.append(Tile(product.y, product.out or product.element, "gm"))
    block = Block(arg_types=[tile.type for tile in args])
    for arg, hint in zip(block.args, [*names, "y"], strict=True):
        arg.name_hint = hint
    Body(product, tiling, target, block).fill(tiling.strip or strip_of(shape, tiling, target))
    return KernelOp.make(name, "cube", cores_of(shape, tiling, target), 1, block)


def shape_of(product: Product) -> MatmulShape:
    """A product's sizes."""
    size = Tile((1,), product.element, "gm").size
    out = Tile((1,), product.out or product.element, "gm").size
    batch = product.y[0] if len(product.y) == 3 else 1
    batches = [prod(shape[:-2]) for shape in (product.a, product.b)]
    turns = (product.transpose_a, product.transpose_b)
    m, n = product.y[-2:]
    return MatmulShape(batch, m, n, product.k, size, out, bool(product.bias), *turns, *batches)


class Body:
    """Fills the body of a product's kernel."""

    def __init__(
        self, product: Product, tiling: MatmulTiling, target: Target, block: Block
    ) -> None:
        self.product = product
        self.tiling = tiling
        self.target = target
        self.block = block
        self.has_table = bool(product.bias and target.bt)
        """Whether sums start from a bias."""

    def fill(self, strip: int) -> None:
        """The loop over tiles, by strips when there is more than one row (or column) of them."""
        tiling = self.tiling
        dims = ["m", "n"] if not tiling.stay or tiling.group else [STAYS[tiling.stay][0]]
        if tiling.by_columns or (tiling.stay == "b" and tiling.group):
            dims.reverse()
        extents, steps = self.extents()
        if tiling.group:
            steps[STAYS[tiling.stay][1]] *= tiling.group
        lead = len(self.product.y) - 2
        hints = [*("p", "g")[:lead], *dims]
        loop = ForOp.make(
            [*self.product.y[:-2], *(extents[d] for d in dims)],
            [*(1 for _ in range(lead)), *(steps[d] for d in dims)],
            hints,
            True,
            strip if strip > 1 and not tiling.stay else 0,
        )
        self.block.add_op(loop)
        self.batch = [loop.origin(i) for i in range(lead)]
        for i, dim in enumerate(dims):
            self.take(dim, loop, lead + i)
        if tiling.stay:
            self.stay(loop.body)
        else:
            self.tile(loop.body)

    def extents(self) -> tuple[dict[str, int], dict[str, int]]:
        """The extent and the step of m and n."""
        m, n = self.product.y[-2:]
        return {"m": m, "n": n}, {"m": self.tiling.m, "n": self.tiling.n}

    def take(self, dim: str, loop: ForOp, place: int) -> None:
        """A loop's origin and length are those of the rows or columns from now on."""
        origin, length = loop.origin(place), loop.length(place)
        if dim == "m":
            self.m, self.vm = origin, length
        else:
            self.n, self.vn = origin, length

    def tile(self, body: Block) -> None:
        """One tile of y: both factors by k1 columns, those by k0."""
        tiling, product = self.tiling, self.product
        start = self.bias(body) if self.has_table else None
        c = self.sums(body)
        outer = ForOp.make([product.k], [tiling.k1], ["k1"])
        body.add_op(outer)
        k1, vk1 = outer.origin(0), outer.length(0)
        a1 = self.copy_a(outer.body, k1, vk1, tiling.k1)
        b1 = self.copy_b(outer.body, k1, vk1, tiling.k1)
        inner = ForOp.make([vk1], [tiling.k0], ["k0"])
        outer.body.add_op(inner)
        k0, vk0 = inner.origin(0), inner.length(0)
        a0 = self.load_a(inner.body, a1, k0, vk0)
        b0 = self.load_b(inner.body, b1, k0, vk0)
        self.multiply(inner.body, (a0, b0, c), start, vk0, [k1, k0])
        self.drain(body, c)

    def stay(self, body: Block) -> None:
        """The tiles of y beside one panel, which is brought once; the other passes by."""
        tiling, product = self.tiling, self.product
        keep_a, k = tiling.stay == "a", product.k
        panel = (self.copy_a if keep_a else self.copy_b)(body, 0, k, k)
        load = self.load_a if keep_a else self.load_b
        kept = load(body, panel, 0, k) if tiling.k0 >= k else None
        # the bias of a panel of columns stays as the panel does
        start = self.bias(body) if self.has_table and not keep_a else None
        dim = STAYS[tiling.stay][1]
        extents, steps = self.extents()
        extent: Index = extents[dim]
        base: Index = 0
        if tiling.group:
            base, extent = (self.n, self.vn) if keep_a else (self.m, self.vm)
        loop = ForOp.make([extent], [steps[dim]], [dim], bases=[base])
        body.add_op(loop)
        self.take(dim, loop, 0)
        tile = loop.body
        if keep_a and self.has_table:
            start = self.bias(tile)
        c = self.sums(tile)
        copy = self.copy_b if keep_a else self.copy_a
        whole = tiling.k1 >= k
        passing = copy(tile, 0, k, k) if whole else None
        inner = ForOp.make([k], [tiling.k0], ["k"])
        tile.add_op(inner)
        k0, vk0 = inner.origin(0), inner.length(0)
        if passing is None:
            passing = copy(inner.body, k0, vk0, tiling.k0)
        mine = kept if kept is not None else load(inner.body, panel, k0, vk0)
        corner: Index = k0 if whole else 0
        other = (self.load_b if keep_a else self.load_a)(inner.body, passing, corner, vk0)
        a0, b0 = (mine, other) if keep_a else (other, mine)
        self.multiply(inner.body, (a0, b0, c), start, vk0, [k0])
        self.drain(tile, c)

    def sums(self, body: Block) -> SSAValue:
        """The tile of y in L0C."""
        tiling = self.tiling
        element = "i32" if self.product.element in CODES else "f32"
        return alloc(body, Tile((tiling.m, tiling.n), element, "l0c", "nz"), "c", tiling.c_buffers)

    def drain(self, body: Block, c: SSAValue) -> None:
        """The tile of y to GM."""
        y = self.block.args[-1]
        if self.target.arch in COUPLED:
            bias = self.block.args[2] if self.product.bias else None
            at = (self.m, self.n, self.vm, self.vn)
            way = Way(y, self.batch, *at, self.product.relu, bias, self.bias_window())
            drain_through_ub(body, c, way)
            return
        window: list[Index] = [*self.batch, self.m, self.n]
        relu = self.product.relu or None
        body.add_op(FixpipeOp.build(c, y, offsets=window, sizes=[self.vm, self.vn], relu=relu))

    def bias_window(self) -> list[Index]:
        """Where the tile's part of the bias stands in GM."""
        return [0, self.n]

    def bias(self, body: Block) -> SSAValue:
        """Bring the tile's part of the bias to BT."""
        n = self.tiling.n
        arg = self.block.args[2]
        row = alloc(body, Tile((1, n), self.product.bias, "l1"), "bias_l1", BUFFERS)
        table = alloc(body, Tile((1, n), "f32", "bt"), "bias_bt", BUFFERS)
        body.add_op(CopyGmL1Op.build(arg, row, offsets=self.bias_window(), sizes=[1, self.vn]))
        body.add_op(LoadBiasOp.build(row, table, offsets=[0, 0], sizes=[1, self.vn]))
        return table

    def copy_a(self, body: Block, k: Index, length: Index, depth: int) -> SSAValue:
        """`length` columns of the left factor in L1, in a tile of `depth` of them."""
        product, tiling = self.product, self.tiling
        turn = product.transpose_a
        tile = Tile(_turned((tiling.m, depth), turn), product.element, "l1", "nz")
        a1 = alloc(body, tile, "a1", tiling.a_buffers)
        offsets = self.window(product.a, self.m, k, turn)
        sizes = _turned((self.vm, length), turn)
        body.add_op(CopyGmL1Op.build(self.block.args[0], a1, offsets=offsets, sizes=sizes))
        return a1

    def copy_b(self, body: Block, k: Index, length: Index, depth: int) -> SSAValue:
        """`length` rows of the right factor in L1, in a tile of `depth` of them."""
        product, tiling = self.product, self.tiling
        turn = product.transpose_b
        tile = Tile(_turned((depth, tiling.n), turn), product.element, "l1", "nz")
        b1 = alloc(body, tile, "b1", tiling.b_buffers)
        offsets = self.window(product.b, k, self.n, turn)
        sizes = _turned((length, self.vn), turn)
        body.add_op(CopyGmL1Op.build(self.block.args[1], b1, offsets=offsets, sizes=sizes))
        return b1

    def load_a(self, body: Block, a1: SSAValue, k: Index, length: Index) -> SSAValue:
        """`length` columns of the left factor, from column k of its tile in L1, in L0A."""
        turn = self.product.transpose_a or None
        a0 = self.left(body)
        offsets, sizes = self.corner(k, 1, bool(turn)), [self.vm, length]
        body.add_op(LoadL0aOp.build(a1, a0, offsets=offsets, sizes=sizes, transpose=turn))
        return a0

    def left(self, body: Block) -> SSAValue:
        """A tile of the left factor in L0A."""
        tiling = self.tiling
        tile = Tile((tiling.m, tiling.k0), self.product.element, "l0a", self.target.l0a_layout)
        return alloc(body, tile, "a0", tiling.l0_buffers)

    def load_b(self, body: Block, b1: SSAValue, k: Index, length: Index) -> SSAValue:
        """`length` rows of the right factor, from row k of its tile in L1, in L0B."""
        tiling, turn = self.tiling, self.product.transpose_b or None
        tile = Tile((tiling.k0, tiling.n), self.product.element, "l0b", "zn")
        b0 = alloc(body, tile, "b0", tiling.l0_buffers)
        offsets, sizes = self.corner(k, 0, bool(turn)), [length, self.vn]
        body.add_op(LoadL0bOp.build(b1, b0, offsets=offsets, sizes=sizes, transpose=turn))
        return b0

    def multiply(
        self,
        body: Block,
        tiles: tuple[SSAValue, SSAValue, SSAValue],
        start: SSAValue | None,
        length: Index,
        at: list[SSAValue],
    ) -> None:
        """Add the product of what is in L0; the sum starts where all of `at` are 0."""
        a0, b0, c = tiles
        factors = [a0, b0, c] if start is None else [a0, b0, start, c]
        sizes: list[Index] = [self.vm, self.vn, length]
        init = "zero" if start is None else "bias"
        body.add_op(MmadOp.build(*factors, sizes=sizes, at=at, init=init))

    @staticmethod
    def corner(along: Index, axis: int, transposed: bool) -> tuple[Index, Index]:
        """The window in an L1 tile that stands at `along` on one axis."""
        return (along, 0) if (axis == 0) != transposed else (0, along)

    def window(self, shape: Sequence[int], row: Index, col: Index, transposed: bool) -> list[Index]:
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
