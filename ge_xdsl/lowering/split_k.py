"""Matrix products of few output tiles and many columns, split along k over the cores.

    cube:   for each part of k and each tile of y, dealt to the cores: parts[i] = a[:, k_i] b[k_i]
    vector: for each tile of y: y = parts[0] + parts[1] + ... (+ bias, relu)

Two launches, with sums in f32 (i32 for integers) in the order of the parts. Other products, and
those for which the timing model says that the second launch costs more than it saves, are one
cube kernel.
"""

from __future__ import annotations

from dataclasses import replace

from xdsl.ir import Block, SSAValue

from ge_xdsl.dialects.aicore.move import CopyGmUbOp, CopyUbGmOp
from ge_xdsl.dialects.aicore.op import Index
from ge_xdsl.dialects.aicore.paths import COUPLED
from ge_xdsl.dialects.aicore.structure import ForOp, KernelOp
from ge_xdsl.dialects.aicore.types import Tile
from ge_xdsl.dialects.aicore.vector import VbinaryOp, VbrcOp, VcastOp, VdupOp, VunaryOp
from ge_xdsl.dialects.aicore.view import StridedOp
from ge_xdsl.dialects.ge.op import GeOp
from ge_xdsl.dialects.ge.types import DataType, Tensor
from ge_xdsl.interpreters.cycles import time_kernel
from ge_xdsl.interpreters.timing import KernelTiming
from ge_xdsl.lowering import matmul
from ge_xdsl.lowering.matmul import CODES, Product, alloc, matmul_kernel
from ge_xdsl.lowering.placement import place_kernel
from ge_xdsl.lowering.remembered import Remembered
from ge_xdsl.lowering.tiling import BUFFERS
from ge_xdsl.lowering.unit import Placer, Unit, kernel_stem
from ge_xdsl.targets.target import Target

reason = matmul.reason

PART = 256
"""The fewest columns of a part."""
UNIT = 64
"""What the columns of a part are a multiple of."""
TILE = (128, 128)
"""A tile of y, when it is asked whether there are enough of them for all cores."""
WORTH = 0.05
"""Share of the time that a split has to save."""
SUMMED = 4096
"""Elements of a tile of y that a vector core sums up at a time."""
WIDEST = 512
"""Columns of such a tile."""
_KNOWN: Remembered[int] = Remembered()


def unit(op: GeOp, target: Target) -> Unit:
    """The launch of a product, or the two launches of one that is split."""
    whole = matmul.unit(op, target)
    product = matmul.product_of(op, len(whole.ops) > 1)
    assert isinstance(product, Product)
    product = single(product)
    parts = 1 if matmul.chosen(op) is not None else best_split(product, target)
    if parts == 1:
        return whole
    batched = in_parts(product, parts)
    k = product.k // parts
    stem = f"{kernel_stem(whole.ops)}_sum_k{parts}"

    def place(placer: Placer) -> list[SSAValue]:
        a, b, *bias = (placer.value(v) for v in op.operands)
        kind = DataType.DT_INT32 if batched.out == "i32" else DataType.DT_FLOAT
        key, types = ("split", product, parts), [Tensor(kind, batched.y).type]
        made = placer.launch(key, lambda n: split_kernel(n, product, parts, target), [a, b], types)
        types = [v.type for v in whole.results]
        key = ("sum", replace(product, a=(), b=()), parts, k)
        args = [*made, *bias]
        return list(
            placer.launch(key, lambda n: sum_kernel(n, product, parts, target), args, types, stem)
        )

    return Unit(whole.ops, whole.results, place)


def single(product: Product) -> Product:
    """A batch of one as the product that it is."""
    if len(product.y) == 2 or product.y[0] > 1:
        return product
    return replace(product, a=product.a[1:], b=product.b[1:], y=product.y[1:])


def best_split(product: Product, target: Target) -> int:
    """In how many parts k is the fastest, 1 for a product that is not split; remembered."""
    found = _KNOWN.get(product, target)
    if found is not None:
        return found
    best = 1
    tried = splits(product, target)
    if tried:
        whole = _time(matmul_kernel("candidate", product, target), target)
        least = whole.us * (1 - WORTH)
        if least - whole.launch_us < target.launch("vector", 1):
            tried = []  # the second launch alone takes longer
        for parts in tried:
            us = _time(split_kernel("candidate", product, parts, target), target).us
            us += _time(sum_kernel("candidate", product, parts, target), target).us
            if us < least:
                best, least = parts, us
    return _KNOWN.put(product, target, best)


def splits(product: Product, target: Target) -> list[int]:
    """Numbers of parts that are worth a look: as many as give the cores a tile each, and half."""
    if target.arch in COUPLED or len(product.y) != 2 or "vector" not in target.lowers:
        return []
    m, n = product.y
    tiles = -(-m // TILE[0]) * -(-n // TILE[1])
    most = min(target.cube_cores // tiles, product.k // PART)
    if most < 2 or product.k % UNIT:
        return []
    fit = [s for s in range(2, most + 1) if product.k // UNIT % s == 0]
    half = [s for s in fit if 2 * s <= fit[-1]]
    return [*fit[-1:], *half[-1:]]


def _time(kernel: KernelOp, target: Target) -> KernelTiming:
    place_kernel(kernel, target)
    return time_kernel(kernel, target)


def in_parts(product: Product, parts: int) -> Product:
    """The product of each part, as a batch."""
    m, n = product.y
    k = product.k // parts
    return replace(
        product,
        a=(parts, k, m) if product.transpose_a else (parts, m, k),
        b=(parts, n, k) if product.transpose_b else (parts, k, n),
        y=(parts, m, n),
        bias="",
        relu=False,
        out="i32" if product.element in CODES else "f32",
    )


def split_kernel(name: str, product: Product, parts: int, target: Target) -> KernelOp:
    """The products of all parts; arguments are a and b as they lie in GM, and the parts of y."""
    kernel = matmul_kernel(name, in_parts(product, parts), target)
    k = product.k // parts
    for i, along in ((0, not product.transpose_a), (1, product.transpose_b)):
        shape = product.b if i else product.a
        _cut(kernel.body, i, Tile(shape, product.element, "gm"), k, along)
    return kernel


def _cut(block: Block, i: int, whole: Tile, k: int, along: bool) -> None:
    """Let an argument be a whole factor, of which the parts are `k` columns (or rows) each."""
    old = block.args[i]
    rows, cols = whole.shape
    new = block.insert_arg(whole.type, i)
    new.name_hint = old.name_hint
    parts = (cols if along else rows) // k
    shape = (parts, rows, k) if along else (parts, k, cols)
    strides = [k if along else k * cols, cols, 1]
    view = StridedOp.make(new, 0, strides, Tile(shape, whole.element, "gm"))
    first = block.first_op
    assert first is not None
    block.insert_op_before(view, first)
    old.replace_all_uses_with(view.results[0])
    block.erase_arg(old)


def sum_kernel(name: str, product: Product, parts: int, target: Target) -> KernelOp:
    """y = the sum of its parts; arguments are the parts, the bias if there is one, and y."""
    element = in_parts(product, parts).out
    m, n = product.y
    args = {"parts": Tile((parts, m, n), element, "gm")}
    if product.bias:
        args["bias"] = Tile((1, n), product.bias, "gm")
    args["y"] = Tile((m, n), product.out or product.element, "gm")
    block = Block(arg_types=[tile.type for tile in args.values()])
    for arg, hint in zip(block.args, args, strict=True):
        arg.name_hint = hint
    cols = min(n, WIDEST)
    count = min(target.vector_cores, -(-m * n // SUMMED))
    rows = max(1, min(m, SUMMED // cols, -(-m * -(-n // cols) // count)))
    loop = ForOp.make([m, n], [rows, cols], ["m", "n"], over_cores=True)
    block.add_op(loop)
    _Sum(product, element, (rows, cols), loop).fill(block, parts)
    tiles = -(-m // rows) * -(-n // cols)
    return KernelOp.make(name, "vector", min(tiles, target.vector_cores), 1, block)


class _Sum:
    """One tile of y: the sum of its parts."""

    def __init__(self, product: Product, element: str, tile: tuple[int, int], loop: ForOp) -> None:
        self.product = product
        self.element = element
        self.tile = tile
        self.body = loop.body
        self.at: list[Index] = [loop.origin(0), loop.origin(1)]
        self.sizes: list[Index] = [loop.length(0), loop.length(1)]

    def ub(self, body: Block, element: str, hint: str, buffers: int = 1, rows: int = 0) -> SSAValue:
        """A tile in UB."""
        shape = (rows or self.tile[0], self.tile[1])
        return alloc(body, Tile(shape, element, "ub"), hint, buffers)

    def fill(self, block: Block, parts: int) -> None:
        """Add the parts one after the other, then the bias; relu; the element type of y."""
        body, sizes = self.body, self.sizes
        total = self.ub(body, self.element, "sum", BUFFERS)
        body.add_op(VdupOp.build(total, sizes=sizes, value=0.0))
        over = ForOp.make([parts], [1], ["s"])
        body.add_op(over)
        part = self.ub(over.body, self.element, "part", BUFFERS)
        offsets = [over.origin(0), *self.at]
        over.body.add_op(CopyGmUbOp.build(block.args[0], part, offsets=offsets, sizes=sizes))
        over.body.add_op(VbinaryOp.build(total, part, total, sizes=sizes, kind="add"))
        if self.product.bias:
            row = self.bias(block.args[1])
            body.add_op(VbinaryOp.build(total, row, total, sizes=sizes, kind="add"))
        if self.product.relu:
            body.add_op(VunaryOp.build(total, total, sizes=sizes, kind="relu"))
        out = self.product.out or self.product.element
        y = total
        if out != self.element:
            y = self.ub(body, out, "out", BUFFERS)
            body.add_op(VcastOp.build(total, y, sizes=sizes))
        body.add_op(CopyUbGmOp.build(y, block.args[-1], offsets=self.at, sizes=sizes))

    def bias(self, arg: SSAValue) -> SSAValue:
        """The bias for every row, in f32."""
        body, kind = self.body, self.product.bias
        row = self.ub(body, kind, "bias", BUFFERS, 1)
        sizes: list[Index] = [1, self.sizes[1]]
        body.add_op(CopyGmUbOp.build(arg, row, offsets=[0, self.at[1]], sizes=sizes))
        if kind != "f32":
            cast = self.ub(body, "f32", "bias_f32", 1, 1)
            body.add_op(VcastOp.build(row, cast, sizes=sizes))
            row = cast
        wide = self.ub(body, "f32", "biases")
        body.add_op(VbrcOp.build(row, wide, sizes=self.sizes))
        return wide
