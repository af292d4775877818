"""What a kernel's Python code handles: dimensions, tiles in GM, windows of them, and buffers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from xdsl.ir import SSAValue

from ge_xdsl.dialects.aicore.cross import AffineOp
from ge_xdsl.dialects.aicore.op import Index
from ge_xdsl.dialects.aicore.types import Tile, tile_of

if TYPE_CHECKING:
    from ge_xdsl.kernels.builder import Kernel

Sizes: TypeAlias = tuple[Index, Index]
"""Valid rows and columns of a tile: numbers, or lengths of loops."""


@dataclass(frozen=True, slots=True)
class Dim:
    """Where a tile begins along a dimension, and how much of it is valid.

    A loop gives one per dimension; `dim + 16` and `dim + other` move the beginning.
    """

    kernel: Kernel = field(repr=False)
    origin: Index
    length: Index

    def __add__(self, other: Dim | int) -> Dim:
        """The sum of the beginnings; the length is that of the last Dim."""
        if isinstance(other, int):
            return Dim(self.kernel, self.kernel.sum_of(self.origin, other), self.length)
        return Dim(self.kernel, self.kernel.sum_of(self.origin, other.origin), other.length)

    def __sub__(self, other: int) -> Dim:
        return self + -other

    def at(self, origin: Index) -> Dim:
        """The same length from another beginning on."""
        return Dim(self.kernel, origin, self.length)

    def sized(self, length: Index) -> Dim:
        """The same beginning with another length."""
        return Dim(self.kernel, self.origin, length)


Selector: TypeAlias = "Dim | int | slice"
"""What selects along a dimension: a Dim, one place, or `a:b` with numbers."""


def selected(kernel: Kernel, selector: Selector, extent: int) -> tuple[Index, Index]:
    """Beginning and length of what a selector selects of a dimension."""
    if isinstance(selector, Dim):
        return selector.origin, selector.length
    if isinstance(selector, int):
        return selector, 1
    if selector.step not in (None, 1):
        raise kernel.error(f"a window has step {selector.step}, expected 1")
    first, end, _ = selector.indices(extent)
    if end <= first:
        raise kernel.error(f"a window goes from {first} to {end}, expected at least one element")
    return first, end - first


@dataclass(frozen=True, slots=True)
class Window:
    """A part of a tile: beginnings per dimension, valid rows and columns."""

    tile: Global | Buffer
    offsets: tuple[Index, ...]
    sizes: Sizes


@dataclass(frozen=True, slots=True, eq=False)
class Global:
    """A tile in GM: an input, an output, or a buffer of a workspace."""

    kernel: Kernel = field(repr=False)
    value: SSAValue = field(repr=False)
    name: str

    @property
    def type(self) -> Tile:
        """Shape and element type."""
        return tile_of(self.value)

    @property
    def shape(self) -> tuple[int, ...]:
        return self.type.shape

    def __getitem__(self, key: Selector | tuple[Selector, ...]) -> Window:
        """A window, one selector per dimension."""
        return window(self, key)


@dataclass(slots=True, eq=False)
class Buffer:
    """A tile in a memory of the core; `valid` is what was written last, so what is read."""

    kernel: Kernel = field(repr=False)
    value: SSAValue = field(repr=False)
    name: str
    valid: Sizes | None = None

    @property
    def type(self) -> Tile:
        """Shape, element type, memory and layout."""
        return tile_of(self.value)

    @property
    def shape(self) -> tuple[int, ...]:
        return self.type.shape

    @property
    def sizes(self) -> Sizes:
        """The valid rows and columns; raises CompileError before anything is written."""
        if self.valid is None:
            raise self.kernel.error(
                f"reads '{self.name}', to which nothing is written before, expected values"
            )
        return self.valid

    def __getitem__(self, key: Selector | tuple[Selector, ...]) -> Window:
        """A window, a selector for rows and one for columns."""
        return window(self, key)


def window(tile: Global | Buffer, key: Selector | tuple[Selector, ...]) -> Window:
    """The window that selectors select of a tile."""
    keys: Sequence[Selector] = key if isinstance(key, tuple) else (key,)
    kernel, shape = tile.kernel, tile.shape
    if len(keys) != len(shape):
        raise kernel.error(
            f"a window of '{tile.name}' has {len(keys)} selectors, expected {len(shape)}"
        )
    pairs = [selected(kernel, k, dim) for k, dim in zip(keys, shape, strict=True)]
    (_, rows), (_, cols) = pairs[-2:]
    for (_, length), dim in zip(pairs[:-2], shape, strict=False):
        if isinstance(length, int) and length != 1:
            raise kernel.error(
                f"a window of '{tile.name}' takes {length} of a dimension of {dim} that is neither "
                "row nor column, expected 1"
            )
    return Window(tile, tuple(first for first, _ in pairs), (rows, cols))


@dataclass(slots=True)
class Channel:
    """Tiles that the cube core and its vector cores hand over to each other through GM.

    The one side writes into what `produce` gives, the other reads what `consume` gives. Flags say
    when a buffer is filled and when it is free again.
    """

    kernel: Kernel = field(repr=False)
    workspace: SSAValue = field(repr=False)
    name: str
    depth: int
    filled: int
    """The first id of the flags that say that a buffer is filled."""
    free: int
    """The first id of the flags that say that a buffer is free."""
    producer: str = ""
    consumer: str = ""

    def produce(self) -> Handing:
        """`with channel.produce() as tile:` the next free buffer, handed over at the end."""
        return Handing(self, True)

    def consume(self) -> Handing:
        """`with channel.consume() as tile:` the next filled buffer, free again at the end."""
        return Handing(self, False)


@dataclass(slots=True)
class Handing:
    """One buffer of a channel, between its two flags."""

    channel: Channel
    produces: bool
    leave: Callable[[], None] | None = None

    def __enter__(self) -> Global:
        tile, self.leave = self.channel.kernel.enter_channel(self.channel, self.produces)
        return tile

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None and self.leave is not None:
            self.leave()


def sum_op(a: Index, b: Index) -> AffineOp | int:
    """The sum of two indices."""
    if isinstance(a, int) and isinstance(b, int):
        return a + b
    terms = [(1, value) for value in (a, b) if isinstance(value, SSAValue)]
    return AffineOp.make(terms, sum(n for n in (a, b) if isinstance(n, int)))
