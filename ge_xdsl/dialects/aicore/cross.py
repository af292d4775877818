"""Between cores: tiles in GM that a kernel keeps for itself, flags from core to core, indices.

    %w = aicore.workspace buffers 2 : !aicore.tile<128x256xf32, gm>
    aicore.section cube {
      %s = aicore.take %w : !aicore.tile<128x256xf32, gm>
      aicore.fixpipe %c, %s[0, 0], [128, 256] : ...
      aicore.cross_set FIX, 0 of 2
    }
    aicore.section vector {
      %s = aicore.take %w : !aicore.tile<128x256xf32, gm>
      aicore.cross_wait MTE2, 0 of 2
      %row = aicore.affine 64 * %half + %r : index
    }

On arch 2201 a cube core and its two vector cores exchange tiles only through GM, that is L2.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Self, cast

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import traits_def
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from ge_xdsl.dialects.aicore.op import INDEX, array_of, integer, integer_of, numbers_of
from ge_xdsl.dialects.aicore.structure import MAX_BUFFERS, KernelOp, SectionOp, section_kind
from ge_xdsl.dialects.aicore.types import PIPES, Tile, TileType, tile_of
from ge_xdsl.dialects.located import Located

CROSS_FLAGS = 16
"""Ids of the flags between cores."""
CROSS_COUNT = 15
"""How often a flag between cores may be set before it is waited for [ARCH]."""
MODES = (0, 1, 2)


class WorkspaceOp(Operation, Located):
    """A tile in GM of each core's own, with 1 to 4 buffers, its contents undefined at first.

    In a mixed kernel a cube core shares it with its two vector cores. C1: in gm, row-major.
    C2: 1 to 4 buffers. C3: at the top level of a kernel.
    """

    name = "aicore.workspace"
    traits = traits_def()

    @property
    def buffers(self) -> int:
        """How many buffers take turns."""
        return integer_of(self, "buffers") or 1

    @property
    def tile(self) -> Tile:
        """One buffer."""
        return tile_of(self.results[0])

    @classmethod
    def make(cls, tile: Tile, buffers: int = 1) -> Self:
        properties: dict[str, Attribute] = {}
        if buffers != 1:
            properties["buffers"] = integer(buffers)
        return cls.create(result_types=[tile.type], properties=properties)

    def verify_(self) -> None:
        if len(self.results) != 1 or not isinstance(self.results[0].type, TileType):
            raise VerifyException("gives no tile, expected one")
        if (self.tile.space, self.tile.layout) != ("gm", "nd"):  # C1
            raise VerifyException(f"is {self.tile}, expected a row-major tile in gm")
        if not 1 <= self.buffers <= MAX_BUFFERS:  # C2
            raise VerifyException(f"has {self.buffers} buffers, expected 1 to {MAX_BUFFERS}")
        if not isinstance(self.parent_op(), KernelOp):  # C3
            raise VerifyException("is inside a loop or section, expected the kernel's top level")

    def print(self, printer: Printer) -> None:
        if self.buffers != 1:
            printer.print_string(f" buffers {self.buffers}")
        printer.print_string(" : ")
        printer.print_attribute(self.results[0].type)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        buffers = parser.parse_integer() if parser.parse_optional_keyword("buffers") else 1
        parser.parse_punctuation(":")
        found = parser.parse_type()
        if not isinstance(found, TileType):
            parser.raise_error(f"type is {found}, expected !aicore.tile<...>")
        return cls.make(found.data, buffers)


class TakeOp(Operation, Located):
    """The next buffer of a workspace, in turn for each core that takes.

    C1: of a workspace, and of its type.
    """

    name = "aicore.take"
    traits = traits_def()

    @property
    def workspace(self) -> WorkspaceOp:
        """Whose buffer it is."""
        return cast("WorkspaceOp", self.operands[0].owner)

    @classmethod
    def make(cls, workspace: SSAValue) -> Self:
        return cls.create(operands=[workspace], result_types=[workspace.type])

    def verify_(self) -> None:
        values = [*self.operands, *self.results]
        if len(values) != 2 or not isinstance(values[0].owner, WorkspaceOp):  # C1
            raise VerifyException("takes from no workspace, expected one")
        if values[0].type != values[1].type:  # C1
            raise VerifyException(f"gives {values[1].type}, expected {values[0].type}")

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.operands[0])
        printer.print_string(" : ")
        printer.print_attribute(self.results[0].type)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        operand = parser.parse_unresolved_operand()
        parser.parse_punctuation(":")
        found = parser.parse_type()
        value = parser.resolve_operand(operand, found)
        return cls.create(operands=[value], result_types=[found])


class CrossFlag(Operation, Located):
    """A flag between cores. `n of k` stands for the ids n to n + k - 1, taken in turn.

    A core counts its sets of `n of k`, and its waits, over all places where it does them.

    Mode 2 is between a cube core and its two vector cores: the cube core waits for both, and what
    it sets both wait for. Mode 0 is among all cores of a kind, 1 among the vector cores of one AI
    core: who waits, waits for all. C1: a pipe. C2: ids from 0 to 15. C3: a mode. C4: modes 1 and 2
    stand in a mixed kernel.
    """

    traits = traits_def()
    word: ClassVar[str] = ""

    @property
    def pipe(self) -> str:
        """The pipe that sets, once all that it was given before is complete, or that waits."""
        attr = self.properties.get("pipe")
        return attr.data if isinstance(attr, StringAttr) else ""

    @property
    def first(self) -> int:
        """The first id."""
        return integer_of(self, "id")

    @property
    def count(self) -> int:
        """How many ids are taken in turn."""
        return integer_of(self, "count") or 1

    @property
    def mode(self) -> int:
        """Among which cores."""
        return integer_of(self, "mode") if "mode" in self.properties else 2

    @classmethod
    def make(cls, pipe: str, first: int, count: int = 1, mode: int = 2) -> Self:
        properties: dict[str, Attribute] = {
            "pipe": StringAttr(pipe),
            "id": integer(first),
        }
        if count != 1:
            properties["count"] = integer(count)
        if mode != 2:
            properties["mode"] = integer(mode)
        return cls.create(properties=properties)

    def verify_(self) -> None:
        if self.pipe not in PIPES:  # C1
            raise VerifyException(f"is of {self.pipe}, expected one of {', '.join(PIPES)}")
        if self.first < 0 or self.count < 1 or self.first + self.count > CROSS_FLAGS:  # C2
            last = self.first + self.count - 1
            raise VerifyException(
                f"has ids {self.first} to {last}, expected 0 to {CROSS_FLAGS - 1}"
            )
        if self.mode not in MODES:  # C3
            raise VerifyException(f"has mode {self.mode}, expected one of 0, 1, 2")
        if self.mode and section_of(self) is None:  # C4
            raise VerifyException(
                f"has mode {self.mode} outside a section, expected it in a mix kernel"
            )

    def print(self, printer: Printer) -> None:
        of = f" of {self.count}" if self.count != 1 else ""
        mode = f" mode {self.mode}" if self.mode != 2 else ""
        printer.print_string(f" {self.pipe}, {self.first}{of}{mode}")

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        pipe = parser.parse_identifier()
        parser.parse_punctuation(",")
        first = parser.parse_integer()
        count = parser.parse_integer() if parser.parse_optional_keyword("of") else 1
        mode = parser.parse_integer() if parser.parse_optional_keyword("mode") else 2
        return cls.make(pipe, first, count, mode)


class CrossSetOp(CrossFlag):
    """Set a flag for other cores once all earlier instructions of the pipe are complete."""

    name = "aicore.cross_set"


class CrossWaitOp(CrossFlag):
    """Hold the pipe until other cores have set the flag, and take it back."""

    name = "aicore.cross_wait"


class SyncAllOp(Operation, Located):
    """Hold every pipe of all cores of a kind, or of all, until all have come here.

    aicore.sync_all vector

    C1: cube, vector or all, and such cores run it.
    """

    name = "aicore.sync_all"
    traits = traits_def()

    @property
    def cores(self) -> str:
        """`cube`, `vector` or `all`."""
        attr = self.properties.get("cores")
        return attr.data if isinstance(attr, StringAttr) else ""

    @classmethod
    def make(cls, cores: str) -> Self:
        return cls.create(properties={"cores": StringAttr(cores)})

    def verify_(self) -> None:
        kind = section_kind(self)
        if self.cores not in ("all", kind):  # C1
            raise VerifyException(f"holds {self.cores} cores, expected all or {kind}")

    def print(self, printer: Printer) -> None:
        printer.print_string(f" {self.cores}")

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        return cls.make(parser.parse_identifier())


class _CoreIndex(Operation, Located):
    """An index that tells cores apart."""

    traits = traits_def()

    @classmethod
    def make(cls) -> Self:
        return cls.create(result_types=[INDEX])

    def verify_(self) -> None:
        if [value.type for value in self.results] != [INDEX]:
            raise VerifyException("gives no index, expected one")

    def print(self, printer: Printer) -> None:
        printer.print_string(" : index")

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        parser.parse_punctuation(":")
        parser.parse_type()
        return cls.make()


class BlockIdxOp(_CoreIndex):
    """The number of the core among the kernel's `blocks`; of the AI core in a mixed kernel."""

    name = "aicore.block_idx"


class SubBlockIdxOp(_CoreIndex):
    """0 or 1: which of the two vector cores of an AI core runs. C1: in a vector section."""

    name = "aicore.sub_block_idx"

    def verify_(self) -> None:
        super().verify_()
        section = section_of(self)
        if section is None or section.core != "vector":  # C1
            raise VerifyException("tells vector cores apart, expected it in a vector section")


class AffineOp(Operation, Located):
    """A sum of indices, each with a factor, and a constant.

    %row = aicore.affine 64 * %half + %r + 16 : index
    """

    name = "aicore.affine"
    traits = traits_def()

    @property
    def factors(self) -> list[int]:
        """One per operand."""
        return list(numbers_of(self.properties.get("factors")))

    @property
    def constant(self) -> int:
        return integer_of(self, "constant")

    @classmethod
    def make(cls, terms: Sequence[tuple[int, SSAValue]], constant: int = 0) -> Self:
        factors = array_of(tuple(factor for factor, _ in terms))
        return cls.create(
            operands=[value for _, value in terms],
            result_types=[INDEX],
            properties={"factors": factors, "constant": integer(constant)},
        )

    def verify_(self) -> None:
        if any(value.type != INDEX for value in (*self.operands, *self.results)):
            raise VerifyException("has an operand or result that is no index, expected indices")
        if len(self.factors) != len(self.operands):
            raise VerifyException(
                f"has {len(self.factors)} factors for {len(self.operands)} indices, expected "
                "one each"
            )

    def print(self, printer: Printer) -> None:
        pairs = zip(self.factors, self.operands, strict=True)
        for i, (factor, value) in enumerate(pairs):
            printer.print_string(" + " if i else " ")
            printer.print_string(f"{factor} * " if factor != 1 else "")
            printer.print_ssa_value(value)
        if self.constant or not self.operands:
            printer.print_string(f" + {self.constant}" if self.operands else f" {self.constant}")
        printer.print_string(" : index")

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        terms: list[tuple[int, UnresolvedOperand]] = []
        constant = 0
        while True:
            operand = parser.parse_optional_unresolved_operand()
            number = 1 if operand is not None else parser.parse_integer()
            if operand is None and parser.parse_optional_punctuation("*"):
                operand = parser.parse_unresolved_operand()
            if operand is None:
                constant += number
            else:
                terms.append((number, operand))
            if not parser.parse_optional_punctuation("+"):
                break
        parser.parse_punctuation(":")
        parser.parse_type()
        return cls.make([(n, parser.resolve_operand(v, INDEX)) for n, v in terms], constant)


class BoundOp(Operation, Located):
    """An index in whole steps and within bounds: the largest multiple of `by` not above it, then
    at least `low` and at most `high`.

    %end = aicore.bound %last by 256 in [256, 4096] : index

    Loops whose extent it is have no iteration where it is 0. C1: of an index. C2: steps of at
    least 1. C3: bounds in order, from 0 on.
    """

    name = "aicore.bound"
    traits = traits_def()

    @property
    def by(self) -> int:
        """What it is a multiple of, unless a bound is taken."""
        return integer_of(self, "by")

    @property
    def low(self) -> int:
        """The least that it is."""
        return integer_of(self, "low")

    @property
    def high(self) -> int:
        """The most that it is."""
        return integer_of(self, "high")

    def of(self, value: int) -> int:
        """The result for a number."""
        return min(max(value // self.by * self.by, self.low), self.high)

    @classmethod
    def make(cls, value: SSAValue, by: int, low: int, high: int) -> Self:
        numbers = {"by": by, "low": low, "high": high}
        properties: dict[str, Attribute] = {key: integer(n) for key, n in numbers.items()}
        return cls.create(operands=[value], result_types=[INDEX], properties=properties)

    def verify_(self) -> None:
        if [v.type for v in (*self.operands, *self.results)] != [INDEX, INDEX]:  # C1
            raise VerifyException("is not of an index, expected one and an index result")
        if self.by < 1:  # C2
            raise VerifyException(f"is by {self.by}, expected at least 1")
        if not 0 <= self.low <= self.high:  # C3
            raise VerifyException(f"is in [{self.low}, {self.high}], expected bounds in order")

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.operands[0])
        by = f" by {self.by}" if self.by != 1 else ""
        printer.print_string(f"{by} in [{self.low}, {self.high}] : index")

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        operand = parser.parse_unresolved_operand()
        by = parser.parse_integer() if parser.parse_optional_keyword("by") else 1
        parser.parse_keyword("in")
        square = parser.Delimiter.SQUARE
        bounds = parser.parse_comma_separated_list(square, parser.parse_integer)
        if len(bounds) != 2:
            parser.raise_error(f"has {len(bounds)} bounds, expected two")
        parser.parse_punctuation(":")
        parser.parse_type()
        return cls.make(parser.resolve_operand(operand, INDEX), by, *bounds)


def section_of(op: Operation) -> SectionOp | None:
    """The section of a mixed kernel that an op stands in."""
    parent = op.parent_op()
    while parent is not None and not isinstance(parent, SectionOp):
        parent = parent.parent_op()
    return parent
