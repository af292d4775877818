"""Other ways to look at the same bytes: a tensor in another shape, GM with other strides.

    %y = aicore.view %x for ["reshape"] : (tensor<2x3xf16>) -> tensor<6xf16>
    %t = aicore.strided %x, 0, [1, 3] : !aicore.tile<2x3xf16, gm>, !aicore.tile<3x2xf16, gm>

Neither moves anything, so neither takes time.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self, cast

from xdsl.dialects.builtin import ArrayAttr, IntegerAttr, StringAttr, i64
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import traits_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from ge_xdsl.dialects.aicore.op import integer_of, merge, parse_indices, print_indices, split
from ge_xdsl.dialects.aicore.types import Tile, TileType, tile_of
from ge_xdsl.dialects.ge.types import is_tensor_type, tensor_of
from ge_xdsl.dialects.located import Located


def names_attr(nodes: Sequence[str]) -> ArrayAttr[Any]:
    """Node names as an attribute."""
    return ArrayAttr([StringAttr(name) for name in nodes])


def names_of(attr: Attribute | None) -> list[str]:
    """The node names in an attribute."""
    if not isinstance(attr, ArrayAttr):
        return []
    items = cast("ArrayAttr[Attribute]", attr)
    return [item.data for item in items if isinstance(item, StringAttr)]


def print_nodes(printer: Printer, nodes: Sequence[str]) -> None:
    """` for ["a", "b"]`, nothing without nodes."""
    if nodes:
        printer.print_string(f" for [{', '.join(str(StringAttr(n)) for n in nodes)}]")


def parse_nodes(parser: Parser) -> list[str]:
    """The inverse of `print_nodes`."""
    if parser.parse_optional_keyword("for") is None:
        return []
    return parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_str_literal)


class ViewOp(Operation, Located):
    """The tensor x in another shape: the same elements in the same order, nothing is moved.

    `for` names the GE nodes that it stands for. C1: x and y have one element type and as many
    elements.
    """

    name = "aicore.view"
    traits = traits_def()

    @property
    def nodes(self) -> list[str]:
        """The names of the GE nodes that it stands for."""
        return names_of(self.properties.get("nodes"))

    @classmethod
    def make(cls, x: SSAValue, type: Attribute, nodes: Sequence[str] = ()) -> ViewOp:
        properties: dict[str, Attribute] = {"nodes": names_attr(nodes)} if nodes else {}
        return cls.create(operands=[x], result_types=[type], properties=properties)

    def verify_(self) -> None:
        if len(self.operands) != 1 or len(self.results) != 1:
            raise VerifyException(
                f"has {len(self.operands)} operands and {len(self.results)} results, "
                "expected one each"
            )
        values = (self.operands[0], self.results[0])
        if not all(is_tensor_type(value.type) for value in values):
            raise VerifyException(f"is {values[0].type} to {values[1].type}, expected tensors")
        x, y = (tensor_of(value.type) for value in values)
        if x.dtype != y.dtype or x.size() is None or x.size() != y.size():  # C1
            raise VerifyException(
                f"is {values[0].type} to {values[1].type}, expected the same elements"
            )

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.operands[0])
        print_nodes(printer, self.nodes)
        printer.print_string(" : ")
        printer.print_operation_type(self)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        operand = parser.parse_unresolved_operand()
        nodes = parse_nodes(parser)
        parser.parse_punctuation(":")
        start = parser.pos
        types = parser.parse_function_type()
        values = parser.resolve_operands([operand], types.inputs.data, start)
        properties: dict[str, Attribute] = {"nodes": names_attr(nodes)} if nodes else {}
        return cls.create(operands=values, result_types=types.outputs.data, properties=properties)


class StridedOp(Operation, Located):
    """A GM tile seen with other strides, in elements, from an element offset.

    A stride of 0 repeats the dimension. C1: both are row-major GM tiles of one element type.
    C2: one stride per dimension, none negative. C3: the last stride is 1, unless that dimension
    is 1: a copy moves runs of neighbouring elements. C4: all elements lie in the source.
    """

    name = "aicore.strided"
    traits = traits_def()

    @property
    def offset(self) -> int:
        return integer_of(self, "offset")

    @property
    def strides(self) -> list[int]:
        return cast("list[int]", merge(self.properties.get("strides"), iter(())))

    @classmethod
    def make(cls, x: SSAValue, offset: int, strides: Sequence[int], tile: Tile) -> StridedOp:
        properties: dict[str, Attribute] = {
            "offset": IntegerAttr(offset, i64),
            "strides": split(list(strides))[0],
        }
        return cls.create(operands=[x], result_types=[tile.type], properties=properties)

    def verify_(self) -> None:
        if len(self.operands) != 1 or len(self.results) != 1:
            raise VerifyException(
                f"has {len(self.operands)} operands and {len(self.results)} results, "
                "expected one each"
            )
        values = (self.operands[0], self.results[0])
        for value in values:
            if not isinstance(value.type, TileType) or value.type.data.space != "gm":  # C1
                raise VerifyException(f"is on {value.type}, expected a tile in gm")
        source, view = (tile_of(value) for value in values)
        if source.element != view.element or {source.layout, view.layout} != {"nd"}:  # C1
            raise VerifyException(
                f"is {source} as {view}, expected row-major tiles of one element type"
            )
        strides = self.strides
        if len(strides) != len(view.shape) or min(strides) < 0 or self.offset < 0:  # C2
            raise VerifyException(
                f"offset is {self.offset}, strides are {strides}, expected "
                f"{len(view.shape)} strides and none negative"
            )
        if strides[-1] != 1 and view.shape[-1] != 1:  # C3
            raise VerifyException(f"last stride is {strides[-1]}, expected 1")
        last = self.offset + sum((d - 1) * s for d, s in zip(view.shape, strides, strict=True))
        if last >= source.count:  # C4
            raise VerifyException(
                f"reaches element {last} of {source.count}, expected all to lie in the tile"
            )

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.operands[0])
        printer.print_string(f", {self.offset}, ")
        print_indices(printer, self.strides)
        printer.print_string(" : ")
        printer.print_list(
            (self.operands[0], self.results[0]), lambda v: printer.print_attribute(v.type)
        )

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        operand = parser.parse_unresolved_operand()
        parser.parse_punctuation(",")
        offset = parser.parse_integer()
        parser.parse_punctuation(",")
        strides = [n if isinstance(n, int) else -1 for n in parse_indices(parser)]
        parser.parse_punctuation(":")
        source = parser.parse_type()
        parser.parse_punctuation(",")
        view = parser.parse_type()
        properties: dict[str, Attribute] = {
            "offset": IntegerAttr(offset, i64),
            "strides": split(strides)[0],
        }
        value = parser.resolve_operand(operand, source)
        return cls.create(operands=[value], result_types=[view], properties=properties)
