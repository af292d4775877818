"""Tiles that the user chooses: an attribute of an op, which its lowering obeys.

    %y = ge.MatMul(%x, %w) {aicore.tile = [128, 256, 64]} : ...

A tile M, N, K has M x N elements of y, and K columns of the left factor in L0A; tiles larger than
the product are cut to it. What is left open (depth and buffers in L1, order) is searched.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias, cast

from xdsl.dialects.builtin import ArrayAttr, IntegerAttr, i64
from xdsl.ir import Attribute, Operation

from ge_xdsl.dialects.aicore.types import padded
from ge_xdsl.dialects.ge.names import describe
from ge_xdsl.dialects.ge.op import GeOp
from ge_xdsl.errors import CompileError, UsageError
from ge_xdsl.lowering.tile_price import ProductShape, needs, overfull
from ge_xdsl.lowering.tiling import BLOCK, MatmulTiling
from ge_xdsl.targets.target import Target

TILE = "aicore.tile"
"""Attribute of a matrix product or convolution: its tile."""
LIMIT = 1 << 20
"""The largest size of a tile that is looked at; what fits a chip is smaller by far."""

Choice: TypeAlias = tuple[int, int, int]
"""M, N, K."""


def choice_of(numbers: Sequence[int]) -> Choice:
    """Three numbers as a tile; raises UsageError for ones that no tile has."""
    text = ",".join(str(number) for number in numbers)
    if len(numbers) != 3 or any(n % BLOCK or not 0 < n <= LIMIT for n in numbers):
        raise UsageError(
            f"tile is '{text}', expected M,N,K, multiples of {BLOCK} such as 128,256,64"
        )
    return numbers[0], numbers[1], numbers[2]


def choice_or_value_error(numbers: Sequence[int]) -> Choice:
    """`choice_of` for an option of a pass; raises ValueError."""
    try:
        return choice_of(numbers)
    except UsageError as error:
        raise ValueError(str(error)) from None


def parse_choice(text: str) -> Choice:
    """`128,256,64`; raises UsageError for anything else."""
    words = text.split(",")
    if not all(word.strip().isdecimal() and len(word.strip()) < 9 for word in words):
        raise UsageError(
            f"tile is '{text}', expected M,N,K, multiples of {BLOCK} such as 128,256,64"
        )
    return choice_of([int(word) for word in words])


def choice(tile: Sequence[int] | str | None) -> Choice | None:
    """A tile as text or numbers; None is none. Raises UsageError for what is no tile."""
    if tile is None:
        return None
    return parse_choice(tile) if isinstance(tile, str) else choice_of(list(tile))


def choose(op: Operation, choice: Choice) -> None:
    """Give an op its tile."""
    op.attributes[TILE] = ArrayAttr([IntegerAttr(number, i64) for number in choice])


def chosen(op: GeOp) -> Choice | None:
    """The tile that an op was given; raises CompileError for an attribute that is none."""
    attr = op.attributes.get(TILE)
    if attr is None:
        return None
    try:
        return choice_of(_numbers(attr))
    except UsageError as error:
        raise CompileError(str(error), subject=describe(op), location=op.source) from None


def _numbers(attr: Attribute) -> list[int]:
    if not isinstance(attr, ArrayAttr):
        return []
    items = cast("ArrayAttr[Attribute]", attr)
    return [cast("IntegerAttr[Any]", i).value.data for i in items if isinstance(i, IntegerAttr)]


def cut(choice: Choice, shape: ProductShape) -> Choice:
    """A tile that is no larger than the product."""
    pairs = zip(choice, (shape.m, shape.n, shape.k), strict=True)
    m, n, k = (min(size, padded(extent, BLOCK)) for size, extent in pairs)
    return m, n, k


def check_choice(op: GeOp, choice: Choice | None, shape: ProductShape, target: Target) -> None:
    """Raise CompileError with the numbers when a tile does not fit with one buffer of each."""
    if choice is None or _fits(cut(choice, shape), shape, target):
        return
    found = needs(shape, _smallest(cut(choice, shape), shape))
    parts: list[str] = []
    for space in overfull(found, target):
        mine = [need for need in found if need.space == space]
        names = " + ".join(str(need) for need in mine)
        size = sum(need.total for need in mine)
        parts.append(f"{size} of {target.capacity(space)} bytes of {space} ({names})")
    fits = fitting(choice, shape, target)
    instead = f": {','.join(map(str, fits))} is the largest that fits" if fits else ""
    raise CompileError(
        f"tile {','.join(map(str, choice))} takes {', '.join(parts)}, "
        f"expected no more than {target.name} has{instead}",
        subject=describe(op),
        location=op.source,
    )


def fitting(choice: Choice, shape: ProductShape, target: Target) -> Choice | None:
    """The largest tile that fits and is no larger than this one; None if there is none.

    The one with the most elements of y, then with the longest k, then the most square one.
    """
    rows, cols, depth = cut(choice, shape)
    best: Choice | None = None
    for m in range(BLOCK, rows + 1, BLOCK):
        n = _most(cols, lambda n, m=m: _fits((m, n, BLOCK), shape, target))
        if not n:
            break
        if best is None or m * n >= best[0] * best[1]:
            k = _most(depth, lambda k, m=m, n=n: _fits((m, n, k), shape, target))
            best = max(best or (0, 0, 0), (m, n, k), key=_larger)
    return best


def _larger(tile: Choice) -> tuple[int, int, int, int]:
    m, n, k = tile
    return m * n, k, min(m, n), n


def _most(limit: int, fits: Callable[[int], bool]) -> int:
    """The largest multiple of a block up to `limit` that fits, 0 when none does.

    What is smaller than one that fits does, too.
    """
    low, high = 0, limit // BLOCK
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if fits(middle * BLOCK) else (low, middle - 1)
    return low * BLOCK


def _fits(choice: Choice, shape: ProductShape, target: Target) -> bool:
    return not overfull(needs(shape, _smallest(choice, shape)), target)


def _smallest(choice: Choice, shape: ProductShape) -> MatmulTiling:
    """One buffer of everything and the shortest k1."""
    m, n, k = choice
    k1 = padded(k, shape.k_step) if not shape.by_channels else shape.k_step
    return MatmulTiling(m, n, k, k1, 1, 1, 1, 1)
