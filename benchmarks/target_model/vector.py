"""Vector kernels: copies that measure a path, elementwise chains, row kernels, a transpose."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.dialects.builtin import UnitAttr
from xdsl.ir import Block, SSAValue

from benchmarks.target_model.build import add, alloc, arguments, finish, loop
from ge_xdsl.dialects.aicore.indexed import ScalarOp
from ge_xdsl.dialects.aicore.move import CopyGmL1Op, CopyGmUbOp, CopyUbGmOp
from ge_xdsl.dialects.aicore.op import Instruction
from ge_xdsl.dialects.aicore.structure import KernelOp
from ge_xdsl.dialects.aicore.types import Tile, padded
from ge_xdsl.dialects.aicore.vector import (
    VbinaryOp,
    VcastOp,
    VreduceOp,
    VscalarOp,
    VtransposeOp,
    VunaryOp,
)
from ge_xdsl.targets import Target

MAX_TILE = 16384
"""Elements of the largest tile of an elementwise library kernel."""
LINE = 256
"""Tiles of an elementwise library kernel are multiples of this many elements."""
SIZES = {"f16": 2, "bf16": 2, "f32": 4}
BINARY = ("add", "sub", "mul", "div", "max", "min")
SCALAR = ("adds", "muls", "maxs", "mins")
UNARY = ("abs", "relu", "exp", "ln", "sqrt", "rsqrt", "rec", "copy")
DEPTH = 2
"""Buffers of what is copied in and out, unless the source tells another number."""


def read_kernel(
    chip: Target,
    shape: Sequence[int],
    tile: Sequence[int],
    space: str,
    passes: int = 1,
    chunks: int = 0,
    pitch: int = 0,
) -> KernelOp:
    """Reads a f16 matrix tile by tile and does nothing with it: no instruction waits for another.

    With `chunks` the passes go over one part of the rows after the other. `pitch` is the row
    length in GM when it is longer than the matrix.
    """
    rows, cols = shape
    parts = max(chunks, 1)
    body = arguments(Tile((parts, rows // parts, pitch or cols), "f16", "gm"))
    extents, steps = [parts, passes, rows // parts, cols], [1, 1, *tile]
    over = loop(body, extents, steps, ["c", "p", "r", "n"], True)
    buffers = 2 if prod(tile) * 2 * 2 <= chip.capacity(space) else 1
    layout = "nz" if space == "l1" else "nd"
    target = alloc(over.body, tile, "f16", space, layout=layout, buffers=buffers)
    copy = CopyGmL1Op if space == "l1" else CopyGmUbOp
    offsets = [over.origin(0), over.origin(2), over.origin(3)]
    sizes = [over.length(2), over.length(3)]
    add(over.body, copy.build(body.args[0], target, offsets=offsets, sizes=sizes))
    kind = "cube" if space == "l1" else "vector"
    kernel = finish("read", kind, chip.cores(kind), body, 0, synced=False)
    kernel.properties["synced"] = UnitAttr()
    return kernel


def chain_kernel(
    chip: Target,
    count: int,
    inputs: Sequence[str],
    output: str,
    steps: Sequence[str],
    tile: int = 0,
    buffers: int = DEPTH,
    cores: int = 0,
    bypass: bool = False,
    apart: bool = False,
) -> KernelOp:
    """An elementwise kernel on `count` elements in a row.

    `steps` are instructions like `add x0 x1 y` or `cast x0 t0:f32`. Without `tile` it is the
    largest that fits UB, cut so that all cores get the same. With `apart` 256 bytes lie between
    the inputs, so that they meet in no bank.
    """
    cores = cores or chip.vector_cores
    tile = tile or chain_tile(chip, count, inputs, output, steps)
    tiles = -(-count // tile)
    body = arguments(*(Tile((tiles, tile), e, "gm") for e in (*inputs, output)))
    over = loop(body, [tiles, tile], [1, tile], ["t", "e"], True)
    block, sizes = over.body, [1, over.length(1)]
    names: dict[str, SSAValue] = {}
    for i, element in enumerate(inputs):
        names[f"x{i}"] = alloc(block, (1, tile), element, "ub", buffers=buffers)
        if apart:
            alloc(block, (1, 256 // SIZES[element]), element, "ub")
    names["y"] = alloc(block, (1, tile), output, "ub", buffers=buffers)
    offsets = [over.origin(0), 0]
    hint = "bypass" if bypass else None
    for i in range(len(inputs)):
        target = names[f"x{i}"]
        add(
            block,
            CopyGmUbOp.build(body.args[i], target, offsets=offsets, sizes=sizes, l2_hint=hint),
        )
    compute(block, names, steps, sizes, (1, tile))
    add(block, CopyUbGmOp.build(names["y"], body.args[-1], offsets=offsets, sizes=sizes))
    return finish("chain", "vector", min(cores, tiles), body)


def chain_tile(
    chip: Target, count: int, inputs: Sequence[str], output: str, steps: Sequence[str]
) -> int:
    """The elements of a tile: two buffers for inputs and output, one for each temporary."""
    each = DEPTH * sum(SIZES[e] for e in (*inputs, output))
    temporaries = {word for step in steps for word in step.split() if ":" in word}
    each += sum(SIZES[word.split(":")[1]] for word in temporaries)
    most = min(chip.capacity("ub") // each, MAX_TILE) // LINE * LINE
    rounds = max(DEPTH, -(-count // (chip.vector_cores * most)))
    return max(LINE, min(most, padded(-(-count // (chip.vector_cores * rounds)), LINE)))


def compute(
    block: Block,
    names: dict[str, SSAValue],
    steps: Sequence[str],
    sizes: Sequence[int | SSAValue],
    shape: tuple[int, int],
) -> None:
    """Append the instructions that `steps` name; a new name with a type is a new buffer."""
    for step in steps:
        kind, *words = step.split()
        for word in words:
            name, _, element = word.partition(":")
            if element and name not in names:
                small = kind in ("sum", "max_of", "scalar")
                names[name] = alloc(block, (shape[0], 1) if small else shape, element, "ub")
        values = [names[word.partition(":")[0]] for word in words]
        add(block, instruction(kind, values, sizes))


def instruction(
    kind: str, values: Sequence[SSAValue], sizes: Sequence[int | SSAValue]
) -> Instruction:
    """One instruction; `sum` and `max_of` reduce rows, `scalar` computes a row's number on S."""
    if kind in BINARY:
        return VbinaryOp.build(*values, sizes=sizes, kind=kind)
    if kind in SCALAR:
        return VscalarOp.build(*values, sizes=sizes, kind=kind, value=1.0)
    if kind in UNARY:
        return VunaryOp.build(*values, sizes=sizes, kind=kind)
    if kind == "cast":
        return VcastOp.build(*values, sizes=sizes)
    if kind == "scalar":
        return ScalarOp.build(*values, sizes=[1, 1], kind="mul", value=1.0)
    if kind == "use":
        return VunaryOp.build(*values, sizes=[1, 1], kind="copy")
    word = {"sum": "sum", "max_of": "max"}[kind]
    return VreduceOp.build(*values, sizes=sizes, kind=word, axis="cols")


def row_kernel(
    chip: Target, rows: int, cols: int, inputs: Sequence[str], output: str, steps: Sequence[str]
) -> KernelOp:
    """A kernel that takes one row at a time; the first input has rows, others are one row for all.

    Those are brought to UB once.
    """
    body = arguments(
        Tile((rows, cols), inputs[0], "gm"),
        *(Tile((1, cols), e, "gm") for e in inputs[1:]),
        Tile((rows, cols), output, "gm"),
    )
    names: dict[str, SSAValue] = {}
    over = loop(body, [rows, cols], [1, cols], ["r", "c"], True)
    block, sizes = over.body, [1, cols]
    names["x0"] = alloc(block, (1, cols), inputs[0], "ub", buffers=DEPTH)
    names["y"] = alloc(block, (1, cols), output, "ub", buffers=DEPTH)
    offsets = [over.origin(0), 0]
    add(block, CopyGmUbOp.build(body.args[0], names["x0"], offsets=offsets, sizes=sizes))
    for i, element in enumerate(inputs[1:], 1):
        names[f"x{i}"] = alloc(block, (1, cols), element, "ub")
    compute(block, names, steps, sizes, (1, cols))
    add(block, CopyUbGmOp.build(names["y"], body.args[-1], offsets=offsets, sizes=sizes))
    return finish("rows", "vector", min(rows, chip.vector_cores), body)


def turn_kernel(chip: Target, rows: int, cols: int, element: str, side: int) -> KernelOp:
    """A transpose by square tiles with `side` rows."""
    body = arguments(Tile((rows, cols), element, "gm"), Tile((cols, rows), element, "gm"))
    over = loop(body, [rows, cols], [side, side], ["r", "c"], True)
    block = over.body
    source = alloc(block, (side, side), element, "ub", buffers=DEPTH)
    turned = alloc(block, (side, side), element, "ub", buffers=DEPTH)
    r, c = over.origin(0), over.origin(1)
    vr, vc = over.length(0), over.length(1)
    add(block, CopyGmUbOp.build(body.args[0], source, offsets=[r, c], sizes=[vr, vc]))
    add(block, VtransposeOp.build(source, turned, sizes=[vr, vc]))
    add(block, CopyUbGmOp.build(turned, body.args[1], offsets=[c, r], sizes=[vc, vr]))
    count = -(-rows // side) * -(-cols // side)
    return finish("turn", "vector", min(count, chip.vector_cores), body)
