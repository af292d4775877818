"""The base of all tile instructions: fields, one assembly, and the checks they share.

    aicore.copy_gm_l1 %x[%m, %k], %a, [%vm, %vk] : !aicore.tile<...>, !aicore.tile<...>
    aicore.mmad %a, %b, %c, [%vm, %vn, %vk] at (%k, %kk) {init = zero} : ...

Tiles come first, the written one last (destination-passing style). A window `[offsets]` picks
where in a larger tile the instruction reads or writes. `[sizes]` are the valid sizes: what lies
beyond them in a tile is neither read nor written. An offset or a size is a number or an index.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, ClassVar, Self, TypeAlias, cast

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    DenseArrayBase,
    FloatAttr,
    IndexType,
    IntegerAttr,
    StringAttr,
    UnitAttr,
    f64,
    i64,
)
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import traits_def
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from ge_xdsl.dialects.aicore.types import PIPES, Tile, TileType, tile_of
from ge_xdsl.dialects.located import Located
from ge_xdsl.targets.cost import Work

Index: TypeAlias = int | SSAValue
"""A number known at compile time, or an index value."""

INDEX = IndexType()


def split(values: Sequence[Index]) -> tuple[DenseArrayBase[Any], list[SSAValue]]:
    """The static list with a mark for every dynamic entry, and the dynamic entries."""
    static = [DYNAMIC_INDEX if isinstance(v, SSAValue) else v for v in values]
    return array_of(tuple(static)), [v for v in values if isinstance(v, SSAValue)]


@lru_cache(maxsize=1 << 14)
def array_of(numbers: tuple[int, ...]) -> DenseArrayBase[Any]:
    """The attribute of some numbers. The same few are in all kernels, and it is slow to make."""
    return cast("DenseArrayBase[Any]", DenseArrayBase.from_list(i64, list(numbers)))


@lru_cache(maxsize=1 << 14)
def integer(number: int) -> IntegerAttr[Any]:
    """The attribute of a number, which is slow to make, too."""
    return cast("IntegerAttr[Any]", IntegerAttr(number, i64))


def numbers_of(attr: Attribute | None) -> Sequence[int]:
    """The numbers of an attribute, none when it has none."""
    if not isinstance(attr, DenseArrayBase):
        return ()
    array = cast("DenseArrayBase[Any]", attr)
    if array.elt_type is not i64:
        return [int(n) for n in array.get_values()]
    data = array.data.data
    return struct.unpack(f"<{len(data) // 8}q", data)


def merge(static: Attribute | None, dynamic: Iterator[SSAValue]) -> list[Index]:
    """The inverse of `split`; takes from `dynamic` what it needs.

    Raises VerifyException when that is not there.
    """
    try:
        return [next(dynamic) if n == DYNAMIC_INDEX else n for n in numbers_of(static)]
    except StopIteration:
        raise VerifyException("has too few index operands, expected one per '?'") from None


def one_block(op: Operation) -> None:
    """Raise VerifyException unless the op has one region of one block."""
    if len(op.regions) != 1 or len(op.regions[0].blocks) != 1:
        raise VerifyException("has no body of one block, expected one")


def dynamic_count(static: Attribute | None) -> int:
    return sum(n == DYNAMIC_INDEX for n in numbers_of(static))


class Instruction(Operation, Located):
    """One instruction of a pipe on tiles. A subclass declares what is listed here.

    I1: the operands are tiles, then indices. I2: a tile has two dimensions, more only in gm.
    I3: each tile is in a memory and a layout that the instruction reaches. I4: the options are
    known, and words among those allowed. I5: as many sizes as the instruction has. I6: an offset
    per dimension of the tile with the window. I7: known sizes are at least 1 and fit.
    """

    traits = traits_def()
    pipe: ClassVar[str]
    tiles: ClassVar[tuple[str, ...]]
    """The tile operands in order; the last one is written."""
    spaces: ClassVar[Mapping[str, tuple[str, ...]]]
    """Tile name -> the `space` or `space:layout` that it may have."""
    window: ClassVar[str] = ""
    """The tile that the offsets select from; no offsets when ''."""
    rank: ClassVar[int] = 2
    """How many sizes there are."""
    gives_index: ClassVar[bool] = False
    """Whether the op gives an index, in place of writing a tile."""
    arches: ClassVar[tuple[str, ...]] = ()
    """The architectures that have the instruction; all, when none is named."""
    options: ClassVar[Mapping[str, Any]] = {}
    """Option name -> allowed words, `bool` for a flag, `float` or `list` of integers."""

    # The contract of a subclass

    def needed_arches(self) -> Sequence[str]:
        """The architectures that have the instruction with these operands; all, when empty."""
        return self.arches

    def variant(self) -> str:
        """What makes `needed_arches` narrower than the op: `of f32 factors `, with a space."""
        return ""

    def check(self) -> None:
        """Raise VerifyException for what the shared checks do not see."""

    def work(self, sizes: Sequence[int]) -> Work:
        """What the instruction does for these valid sizes."""
        raise NotImplementedError(self.name)

    # Fields

    def tile_names(self) -> tuple[str, ...]:
        """The tile operands that this op has, in operand order."""
        return self.tiles

    def tile(self, name: str) -> SSAValue:
        return self.operands[self.tile_names().index(name)]

    def tile_type(self, name: str) -> Tile:
        return tile_of(self.tile(name))

    @property
    def written(self) -> SSAValue:
        """The tile that the instruction writes."""
        return self.tile(self.tiles[-1])

    def read(self) -> list[SSAValue]:
        """The tiles that the instruction reads."""
        return [self.tile(name) for name in self.tile_names() if name != self.tiles[-1]]

    def _indices(self) -> Iterator[SSAValue]:
        return iter(self.operands[len(self.tile_names()) :])

    @property
    def offsets(self) -> list[Index]:
        return merge(self.properties.get("offsets"), self._indices())

    @property
    def sizes(self) -> list[Index]:
        dynamic = self._indices()
        merge(self.properties.get("offsets"), dynamic)
        return merge(self.properties.get("sizes"), dynamic)

    @property
    def at(self) -> list[SSAValue]:
        """The trailing index operands that are neither offsets nor sizes."""
        used = dynamic_count(self.properties.get("offsets"))
        used += dynamic_count(self.properties.get("sizes"))
        return list(self._indices())[used:]

    def option(self, name: str) -> Any:
        """The value of an option: word, flag, number or list; the first word when none is given."""
        attr = self.properties.get(name)
        spec = self.options[name]
        if spec is bool:
            return attr is not None
        if spec is list:
            return merge(attr, iter(()))
        if isinstance(attr, StringAttr):
            return attr.data
        if isinstance(attr, FloatAttr):
            return cast("FloatAttr[Any]", attr).value.data
        return cast("tuple[str, ...]", spec)[0] if isinstance(spec, tuple) else None

    @classmethod
    def build(
        cls,
        *tiles: SSAValue,
        sizes: Sequence[Index],
        offsets: Sequence[Index] = (),
        at: Sequence[SSAValue] = (),
        **options: Any,
    ) -> Self:
        """A new instruction; `tiles` in the declared order, options as Python values."""
        properties: dict[str, Attribute] = {}
        dynamic: list[SSAValue] = []
        if cls.window:
            properties["offsets"], part = split(offsets)
            dynamic += part
        properties["sizes"], part = split(sizes)
        for name, value in options.items():
            if value is not None and value is not False:
                properties[name] = _encode(value)
        return cls.create(operands=[*tiles, *dynamic, *part, *at], properties=properties)

    # Verification

    def verify_(self) -> None:
        names = self.tile_names()
        if len(self.results) != self.gives_index:
            wanted = "one" if self.gives_index else "none"
            raise VerifyException(f"has {len(self.results)} results, expected {wanted}")
        if len(self.operands) < len(names):
            raise VerifyException(f"has {len(self.operands)} operands, expected {len(names)} tiles")
        for name in names:
            self._check_tile(name)
        for value in self.operands[len(names) :]:
            if value.type != INDEX:
                raise VerifyException(f"index operand is {value.type}, expected index")
        self._check_options()
        self._check_sizes()
        self.check()

    def _check_tile(self, name: str) -> None:
        value = self.tile(name)
        if not isinstance(value.type, TileType):
            raise VerifyException(f"operand '{name}' is {value.type}, expected a tile")
        tile = value.type.data
        rank = len(tile.shape)
        if rank < 2 or (rank > 2 and tile.space != "gm"):
            raise VerifyException(f"'{name}' has rank {rank}, expected 2 (or more in gm)")
        allowed = self.spaces[name]
        if tile.space not in allowed and f"{tile.space}:{tile.layout}" not in allowed:
            have = f"{tile.space} in layout {tile.layout}"
            raise VerifyException(f"'{name}' is in {have}, expected {' or '.join(allowed)}")

    def _check_options(self) -> None:
        for name, attr in self.properties.items():
            if name in ("offsets", "sizes"):
                continue
            if name not in self.options:
                known = ", ".join(self.options) or "none"
                raise VerifyException(f"option '{name}' is unknown, expected: {known}")
            spec = self.options[name]
            if spec is list and attr.name != DenseArrayBase.name:
                raise VerifyException(f"option '{name}' is {attr}, expected integers")
            if isinstance(spec, tuple):
                word = attr.data if isinstance(attr, StringAttr) else str(attr)
                if word not in spec:
                    words = ", ".join(cast("tuple[str, ...]", spec))
                    raise VerifyException(f"option '{name}' is {word}, expected one of {words}")

    def _check_sizes(self) -> None:
        if len(self.sizes) != self.rank:
            raise VerifyException(f"has {len(self.sizes)} sizes, expected {self.rank}")
        if self.window:
            rank = len(self.tile_type(self.window).shape)
            if len(self.offsets) != rank:
                raise VerifyException(f"has {len(self.offsets)} offsets, expected {rank}")

    def check_fits(self, name: str, sizes: Sequence[Index]) -> None:
        """Raise when a known size is larger than the tile's, or not positive."""
        shape = self.tile_type(name).shape
        for size, dim in zip(sizes, shape[-len(sizes) :], strict=True):
            if isinstance(size, int) and not 0 < size <= dim:
                raise VerifyException(f"size is {size} in '{name}', expected 1 to {dim}")

    # Assembly

    def print(self, printer: Printer) -> None:
        """The tiles, sizes, trailing indices, options and types."""
        for i, name in enumerate(self.tile_names()):
            printer.print_string(", " if i else " ")
            printer.print_ssa_value(self.tile(name))
            if name == self.window:
                print_indices(printer, self.offsets)
        printer.print_string(", ")
        print_indices(printer, self.sizes)
        if self.at:
            printer.print_string(" at ")
            with printer.in_parens():
                printer.print_list(self.at, printer.print_ssa_value)
        self._print_options(printer)
        printer.print_string(" : ")
        names = self.tile_names()
        printer.print_list(names, lambda n: printer.print_attribute(self.tile(n).type))

    def _print_options(self, printer: Printer) -> None:
        texts: list[str] = []
        for name, spec in self.options.items():
            attr = self.properties.get(name)
            if attr is not None:
                value = self.option(name)
                texts.append(name if spec is bool else f"{name} = {_option_text(value)}")
        if texts:
            printer.print_string(" {" + ", ".join(texts) + "}")

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        tiles = [parser.parse_unresolved_operand()]
        offsets: list[int | UnresolvedOperand] = []
        if cls.window == cls.tiles[0] and cls.window:
            offsets = parse_indices(parser)
        sizes: list[int | UnresolvedOperand] = []
        while parser.parse_optional_punctuation(","):
            operand = parser.parse_optional_unresolved_operand()
            if operand is None:
                sizes = parse_indices(parser)
                break
            tiles.append(operand)
            if cls.window == cls.tiles[-1]:
                offsets = _optional_indices(parser) or offsets
        at: list[UnresolvedOperand] = []
        if parser.parse_optional_keyword("at"):
            at = parser.parse_comma_separated_list(
                parser.Delimiter.PAREN, parser.parse_unresolved_operand
            )
        properties = cls._parse_options(parser)
        parser.parse_punctuation(":")
        start = parser.pos
        types = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_type)
        if cls.window:
            properties["offsets"] = _static(offsets)
        properties["sizes"] = _static(sizes)
        indices = [v for v in (*offsets, *sizes, *at) if isinstance(v, UnresolvedOperand)]
        operands = [
            *parser.resolve_operands(tiles, types, start),
            *(parser.resolve_operand(v, INDEX) for v in indices),
        ]
        return cls.create(operands=operands, properties=properties)

    @classmethod
    def _parse_options(cls, parser: Parser) -> dict[str, Attribute]:
        found: dict[str, Attribute] = {}
        if not parser.parse_optional_punctuation("{"):
            return found
        while True:
            name = parser.parse_identifier()
            if name not in cls.options:
                known = ", ".join(cls.options) or "none"
                parser.raise_error(f"option '{name}' is unknown, expected: {known}")
            if cls.options[name] is bool:
                found[name] = UnitAttr()
            else:
                parser.parse_punctuation("=")
                found[name] = _encode(_parse_option(parser, cls.options[name]))
            if not parser.parse_optional_punctuation(","):
                break
        parser.parse_punctuation("}")
        return found


def _parse_option(parser: Parser, spec: Any) -> Any:
    if spec is list:
        return parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_integer)
    return float(parser.parse_number()) if spec is float else parser.parse_identifier()


def _option_text(value: Any) -> str:
    if not isinstance(value, float):
        return str(value)
    text = repr(value)
    if "e" in text and "." not in text:
        text = text.replace("e", ".0e")
    return text


def _encode(value: Any) -> Attribute:
    if value is True:
        return UnitAttr()
    if isinstance(value, str):
        return StringAttr(value)
    if isinstance(value, list):
        return array_of(tuple(cast("list[int]", value)))
    return FloatAttr(float(value), f64)


def _static(values: Sequence[int | UnresolvedOperand]) -> Attribute:
    numbers = [v if isinstance(v, int) else DYNAMIC_INDEX for v in values]
    return array_of(tuple(numbers))


def print_indices(printer: Printer, values: Sequence[Index]) -> None:
    """`[16, %vk]`"""
    with printer.in_square_brackets():
        for i, value in enumerate(values):
            if i:
                printer.print_string(", ")
            if isinstance(value, int):
                printer.print_string(str(value))
            else:
                printer.print_ssa_value(value)


def parse_indices(parser: Parser) -> list[int | UnresolvedOperand]:
    return parser.parse_comma_separated_list(
        parser.Delimiter.SQUARE, lambda: _index_or_number(parser)
    )


def _optional_indices(parser: Parser) -> list[int | UnresolvedOperand] | None:
    return parser.parse_optional_comma_separated_list(
        parser.Delimiter.SQUARE, lambda: _index_or_number(parser)
    )


def _index_or_number(parser: Parser) -> int | UnresolvedOperand:
    operand = parser.parse_optional_unresolved_operand()
    return parser.parse_integer() if operand is None else operand


def integer_of(op: Operation, name: str) -> int:
    """An integer property of an op, 0 when it is missing."""
    attr = op.properties.get(name)
    return cast("IntegerAttr[Any]", attr).value.data if isinstance(attr, IntegerAttr) else 0


__all__ = ["INDEX", "PIPES", "Index", "Instruction", "merge", "parse_indices", "print_indices"]
