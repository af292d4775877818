"""Kernels, launches, loops over tiles, and buffers.

aicore.kernel @MatMul(%x : T, %w : T) writes (%y : T) on cube * 24 {
  aicore.for (%m : %vm, %n : %vn) in [16, 1536] by [16, 64] over cores {
    %c = aicore.alloc : !aicore.tile<16x64xf32, l0c, nz>
    ...
  }
}
%y = aicore.launch @MatMul(%x, %w) : (tensor<...>, tensor<...>) -> tensor<...>
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any, Self, cast

from xdsl.dialects.builtin import (
    StringAttr,
    SymbolRefAttr,
    UnitAttr,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.irdl import traits_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import IsolatedFromAbove, NoTerminator, SymbolOpInterface
from xdsl.utils.exceptions import VerifyException

from ge_xdsl.dialects.aicore.op import (
    INDEX,
    Index,
    dynamic_count,
    integer,
    integer_of,
    merge,
    one_block,
    parse_indices,
    print_indices,
    split,
)
from ge_xdsl.dialects.aicore.types import ALIGNMENT, CORE_KINDS, TileType, tile_of
from ge_xdsl.dialects.aicore.view import names_attr, names_of, parse_nodes, print_nodes
from ge_xdsl.dialects.located import Located

MAX_BUFFERS = 4


class AllocOp(Operation, Located):
    """A tile in a memory space of the core, with 1 to 4 buffers taken in turn.

    Each time the op runs it gives the next buffer, whose contents are undefined; the
    instructions that used that buffer before must have ended by the time it is written again.
    `at` gives the address of the first buffer, the others follow it; without it the address is
    left open. C1: a space of the core. C2: 1 to 4 buffers. C3: the address and the size of a
    buffer are multiples of what the space asks for, where there is more than one buffer.
    """

    name = "aicore.alloc"
    traits = traits_def()

    @property
    def buffers(self) -> int:
        return integer_of(self, "buffers") or 1

    @property
    def address(self) -> int | None:
        """Where the first buffer lies in its space, in bytes."""
        return integer_of(self, "address") if "address" in self.properties else None

    @classmethod
    def make(cls, type: TileType, buffers: int = 1, address: int | None = None) -> AllocOp:
        properties: dict[str, Attribute] = {}
        if buffers != 1:
            properties["buffers"] = integer(buffers)
        if address is not None:
            properties["address"] = integer(address)
        return cls.create(result_types=[type], properties=properties)

    def verify_(self) -> None:
        if len(self.results) != 1:
            raise VerifyException(f"has {len(self.results)} results, expected one")
        tile = tile_of(self.results[0])
        if tile.space == "gm":  # C1
            raise VerifyException("allocates in gm, expected a memory space of the core")
        if not 1 <= self.buffers <= MAX_BUFFERS:  # C2
            raise VerifyException(f"has {self.buffers} buffers, expected 1 to {MAX_BUFFERS}")
        align, address = ALIGNMENT[tile.space], self.address
        if address is not None and (address < 0 or address % align):  # C3
            raise VerifyException(
                f"is at address {address} of {tile.space}, expected a multiple of {align}"
            )

    def print(self, printer: Printer) -> None:
        if self.buffers != 1:
            printer.print_string(f" buffers {self.buffers}")
        if self.address is not None:
            printer.print_string(f" at {self.address}")
        printer.print_string(" : ")
        printer.print_attribute(self.results[0].type)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        buffers = parser.parse_integer() if parser.parse_optional_keyword("buffers") else 1
        address = parser.parse_integer() if parser.parse_optional_keyword("at") else None
        parser.parse_punctuation(":")
        found = parser.parse_type()
        if not isinstance(found, TileType):
            parser.raise_error(f"type is {found}, expected !aicore.tile<...>")
        return cast("Self", cls.make(found, buffers, address))


class ForOp(Operation, Located):
    """A loop nest over the tiles of a space: an origin and a valid length per dimension.

    The origins of dimension d are 0, step, 2 step, ... below its extent, the last dimension
    runs fastest, and the valid length is min(step, extent - origin). `from [...]` adds a base to
    the origins of each dimension: a loop within a core's block of tiles. With `over cores` the
    iterations are dealt to the cores in turn: core i takes iterations i, i + cores, ... With
    `strips of w` they go through w rows of the last two dimensions at a time, row by row within
    a column, so that what a strip of rows needs stays in L2. With `over subcores` they are dealt
    to the two vector cores of an AI core in the same way.

    C1: one extent, step and base per dimension, extents and steps at least 1. C2: over cores only
    at the top level, from 0, with constant extents. C3: strips of two dimensions over cores.
    C4: over subcores only in a vector section.
    """

    name = "aicore.for"
    traits = traits_def(NoTerminator())

    @property
    def extents(self) -> list[Index]:
        return merge(self.properties.get("extents"), iter(self.operands))

    @property
    def bases(self) -> list[Index]:
        """What the origins of each dimension start from: 0, unless there is a `from`."""
        static = self.properties.get("bases")
        if static is None:
            return [0] * len(self.steps)
        used = dynamic_count(self.properties.get("extents"))
        return merge(static, iter(self.operands[used:]))

    @property
    def steps(self) -> list[int]:
        return cast("list[int]", merge(self.properties.get("steps"), iter(())))

    @property
    def over_cores(self) -> bool:
        return "over_cores" in self.properties

    @property
    def over_subcores(self) -> bool:
        """Whether the two vector cores of an AI core share the iterations."""
        return "over_subcores" in self.properties

    @property
    def strip(self) -> int:
        """Tile rows of a strip, 0 when the loop does not go by strips."""
        return integer_of(self, "strip")

    @property
    def body(self) -> Block:
        return self.regions[0].block

    def origin(self, dim: int) -> SSAValue:
        return self.body.args[2 * dim]

    def length(self, dim: int) -> SSAValue:
        """The valid length of a dimension."""
        return self.body.args[2 * dim + 1]

    @classmethod
    def make(
        cls,
        extents: Sequence[Index],
        steps: Sequence[int],
        names: Sequence[str],
        over_cores: bool = False,
        strip: int = 0,
        bases: Sequence[Index] = (),
        over_subcores: bool = False,
    ) -> ForOp:
        """An empty loop; `names` are the SSA names of the origins."""
        static, dynamic = split(extents)
        properties = _loop_properties(static, steps, over_cores, strip)
        if over_subcores:
            properties["over_subcores"] = UnitAttr()
        if any(base != 0 for base in bases):
            properties["bases"], more = split(bases)
            dynamic += more
        block = Block(arg_types=[INDEX] * (2 * len(steps)))
        for i, name in enumerate(names):
            block.args[2 * i].name_hint = name
            block.args[2 * i + 1].name_hint = f"v{name}"
        return cls.create(operands=dynamic, properties=properties, regions=[Region(block)])

    def verify_(self) -> None:
        one_block(self)
        count = len(self.steps)
        if not count or len(self.extents) != count:
            raise VerifyException(
                f"has {len(self.extents)} extents and {count} steps, expected as many, at least "
                "one each"
            )
        if len(self.body.args) != 2 * count:
            raise VerifyException(f"body has {len(self.body.args)} arguments, expected {2 * count}")
        if len(self.bases) != count:
            raise VerifyException(f"starts from {len(self.bases)} bases, expected {count}")
        if self.over_cores and "bases" in self.properties:
            raise VerifyException("runs over cores from a base, expected to start at 0")
        for number in (*self.steps, *self.extents):
            if isinstance(number, int) and number < 1:
                raise VerifyException(f"extent or step is {number}, expected at least 1")
        if self.over_cores and dynamic_count(self.properties.get("extents")):
            raise VerifyException("runs over cores with a dynamic extent, expected constants")
        if self.strip and (self.strip < 0 or count < 2 or not self.over_cores):
            raise VerifyException("goes by strips, expected two dimensions over cores")
        if self.over_cores and isinstance(self.parent_op(), ForOp):
            raise VerifyException("runs over cores inside a loop, expected the kernel's top level")
        if self.over_subcores and self.over_cores:
            raise VerifyException("runs over cores and subcores, expected one of them")
        if self.over_subcores and not _in_vector_section(self):  # C4
            raise VerifyException("runs over subcores, expected it in a vector section")

    def print(self, printer: Printer) -> None:
        args = self.body.args
        printer.print_string(" (")
        for i in range(0, len(args), 2):
            printer.print_string(", " if i else "")
            printer.print_ssa_value(args[i])
            printer.print_string(" : ")
            printer.print_ssa_value(args[i + 1])
        printer.print_string(") in ")
        print_indices(printer, self.extents)
        if "bases" in self.properties:
            printer.print_string(" from ")
            print_indices(printer, self.bases)
        printer.print_string(" by ")
        print_indices(printer, self.steps)
        printer.print_string(" over cores" if self.over_cores else "")
        printer.print_string(" over subcores" if self.over_subcores else "")
        printer.print_string(f" strips of {self.strip} " if self.strip else " ")
        printer.print_region(self.regions[0], print_entry_block_args=False)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        pairs = parser.parse_comma_separated_list(parser.Delimiter.PAREN, lambda: _pair(parser))
        parser.parse_keyword("in")
        extents = parse_indices(parser)
        bases = parse_indices(parser) if parser.parse_optional_keyword("from") else []
        parser.parse_keyword("by")
        steps = [n if isinstance(n, int) else 0 for n in parse_indices(parser)]
        over = ""
        if parser.parse_optional_keyword("over"):
            over = parser.parse_identifier()
            if over not in ("cores", "subcores"):
                parser.raise_error(f"runs over {over}, expected cores or subcores")
        strip = 0
        if parser.parse_optional_keyword("strips"):
            parser.parse_keyword("of")
            strip = parser.parse_integer(allow_negative=False)
        region = parser.parse_region([arg for pair in pairs for arg in pair])
        values = [v if isinstance(v, int) else parser.resolve_operand(v, INDEX) for v in extents]
        starts = [v if isinstance(v, int) else parser.resolve_operand(v, INDEX) for v in bases]
        static, dynamic = split(values)
        properties = _loop_properties(static, steps, over == "cores", strip)
        if over == "subcores":
            properties["over_subcores"] = UnitAttr()
        if starts:
            properties["bases"], more = split(starts)
            dynamic += more
        return cls.create(operands=dynamic, properties=properties, regions=[region])


def _loop_properties(
    extents: Attribute, steps: Sequence[int], over_cores: bool, strip: int
) -> dict[str, Attribute]:
    properties: dict[str, Attribute] = {"extents": extents, "steps": split(list(steps))[0]}
    if over_cores:
        properties["over_cores"] = UnitAttr()
    if strip:
        properties["strip"] = integer(strip)
    return properties


def tile_order(counts: Sequence[int], strip: int = 0) -> Iterator[tuple[int, ...]]:
    """The tile indices of a loop nest in the order in which it goes through them."""
    *lead, rows, cols = (1, *counts) if len(counts) == 1 else counts
    whole = len(counts) == 1
    for first in product(*(range(n) for n in lead)):
        for top in range(0, rows, strip or 1):
            for c in range(cols):
                for r in range(top, min(rows, top + (strip or 1))):
                    yield (c,) if whole else (*first, r, c)


def _pair(parser: Parser) -> list[Parser.Argument]:
    origin = parser.parse_argument(expect_type=False).resolve(INDEX)
    parser.parse_punctuation(":")
    return [origin, parser.parse_argument(expect_type=False).resolve(INDEX)]


class SectionOp(Operation, Located):
    """The part of a mixed kernel that its cube cores run, or its vector cores.

    aicore.section cube { ... }

    The sections of a kernel run side by side and exchange tiles through a workspace in GM, in the
    order that cross-core flags give. C1: cube or vector. C2: at the top level of a mixed kernel.
    """

    name = "aicore.section"
    traits = traits_def(NoTerminator())

    @property
    def core(self) -> str:
        """`cube` or `vector`."""
        attr = self.properties.get("core")
        return attr.data if isinstance(attr, StringAttr) else ""

    @property
    def body(self) -> Block:
        return self.regions[0].block

    @classmethod
    def make(cls, core: str, body: Block) -> SectionOp:
        return cls.create(properties={"core": StringAttr(core)}, regions=[Region(body)])

    def verify_(self) -> None:
        one_block(self)
        if self.core not in ("cube", "vector"):  # C1
            raise VerifyException(f"is of '{self.core}', expected cube or vector")
        kernel = self.parent_op()
        if not isinstance(kernel, KernelOp) or kernel.core != "mix":  # C2
            raise VerifyException("is not at the top level of a mix kernel, expected to be")

    def print(self, printer: Printer) -> None:
        printer.print_string(f" {self.core} ")
        printer.print_region(self.regions[0], print_entry_block_args=False)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        core = StringAttr(parser.parse_identifier())
        region = parser.parse_region()
        if not region.blocks:
            region.add_block(Block())
        return cls.create(properties={"core": core}, regions=[region])


def bodies_of(kernel: KernelOp) -> list[Block]:
    """The blocks that cores run: the kernel's, or those of its sections."""
    return [section.body for section in kernel.sections] if kernel.core == "mix" else [kernel.body]


def _in_vector_section(op: Operation) -> bool:
    parent = op.parent_op()
    while parent is not None and not isinstance(parent, SectionOp):
        parent = parent.parent_op()
    return parent is not None and parent.core == "vector"


def section_kind(op: Operation) -> str:
    """The kind of core that runs an op: its section's, or its kernel's."""
    parent: Operation | None = op
    while parent is not None:
        if isinstance(parent, SectionOp | KernelOp):
            return parent.core
        parent = parent.parent_op()
    return ""


def _check_defined(block: Block, known: set[SSAValue]) -> None:
    """Raise VerifyException for a value that is used where it is not known yet, or no more."""
    mine: list[SSAValue] = [*block.args]
    known.update(mine)
    for op in block.ops:
        for value in op.operands:
            if value not in known:
                name = f"'{value.name_hint}'" if value.name_hint else "a value"
                raise VerifyException(
                    f"{op.name} uses {name}, expected it to be defined before, in the same block "
                    "or around it"
                )
        for region in op.regions:
            for inner in region.blocks:
                _check_defined(inner, known)
        mine += op.results
        known.update(op.results)
    known.difference_update(mine)


class KernelOp(Operation, Located):
    """A program that every one of `blocks` cores of one kind runs; its arguments are GM tiles.

    The last `outputs` arguments are written, the others read. A `synced` kernel has the flags
    that order its pipes; for one without, each instruction is taken to wait for its buffers. The
    `blocks` of a mixed kernel are cube cores with two vector cores each, and its instructions
    stand in one section per kind. C1: arguments are tiles in gm. C2: cube, vector or mix. C3: at
    least one core. C4: as many outputs as there are arguments, at most. C5: a mixed kernel has one
    section per kind, and loops and buffers stand in them. C6: what is used is defined before, in
    the same block or around it.
    """

    name = "aicore.kernel"
    traits = traits_def(IsolatedFromAbove(), NoTerminator(), SymbolOpInterface())

    @property
    def sym_name(self) -> str:
        attr = self.properties.get("sym_name")
        return attr.data if isinstance(attr, StringAttr) else ""

    @property
    def core(self) -> str:
        attr = self.properties.get("core")
        return attr.data if isinstance(attr, StringAttr) else ""

    @property
    def blocks(self) -> int:
        return integer_of(self, "blocks")

    @property
    def outputs(self) -> int:
        return integer_of(self, "outputs")

    @property
    def synced(self) -> bool:
        """Whether it has the flags that order its pipes."""
        return "synced" in self.properties

    @property
    def body(self) -> Block:
        return self.regions[0].block

    @classmethod
    def make(cls, name: str, core: str, blocks: int, outputs: int, body: Block) -> KernelOp:
        properties = _kernel_properties(name, core, blocks, outputs)
        return cls.create(properties=properties, regions=[Region(body)])

    def verify_(self) -> None:
        one_block(self)
        if not self.sym_name:
            raise VerifyException("has no symbol name, expected one")
        for arg in self.body.args:
            if not isinstance(arg.type, TileType) or arg.type.data.space != "gm":
                raise VerifyException(f"argument is {arg.type}, expected a tile in gm")
        if self.core not in CORE_KINDS:
            raise VerifyException(f"core kind is '{self.core}', expected cube, vector or mix")
        if self.core == "mix":
            self._check_sections()
        if self.blocks < 1:
            raise VerifyException(f"runs on {self.blocks} cores, expected at least 1")
        if not 0 <= self.outputs <= len(self.body.args):
            count = len(self.body.args)
            raise VerifyException(f"writes {self.outputs} arguments, expected 0 to {count}")
        _check_defined(self.body, set())

    @property
    def sections(self) -> list[SectionOp]:
        """The sections of a mixed kernel, in order."""
        return [op for op in self.body.ops if isinstance(op, SectionOp)]

    def _check_sections(self) -> None:
        kinds = [section.core for section in self.sections]
        known = all(kind in ("cube", "vector") for kind in kinds)
        if known and sorted(kinds) != ["cube", "vector"]:
            have = " and ".join(kinds) or "none"
            raise VerifyException(f"has sections {have}, expected one cube and one vector")
        for op in self.body.ops:
            if isinstance(op, ForOp | AllocOp):
                raise VerifyException(f"has {op.name} outside its sections, expected it in one")

    def print(self, printer: Printer) -> None:
        args = self.body.args
        printer.print_string(" ")
        printer.print_symbol_name(self.sym_name)
        first = len(args) - self.outputs
        for word, part in (("", args[:first]), (" writes ", args[first:])):
            printer.print_string(word)
            with printer.in_parens():
                printer.print_list(part, lambda arg: _print_argument(printer, arg))
        synced = " synced" if self.synced else ""
        printer.print_string(f" on {self.core} * {self.blocks}{synced} ")
        printer.print_region(self.regions[0], print_entry_block_args=False)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        name = parser.parse_symbol_name().data
        inputs = _arguments(parser)
        parser.parse_keyword("writes")
        outputs = _arguments(parser)
        parser.parse_keyword("on")
        core = parser.parse_identifier()
        parser.parse_punctuation("*")
        blocks = parser.parse_integer()
        synced = parser.parse_optional_keyword("synced") is not None
        region = parser.parse_region([*inputs, *outputs])
        properties = _kernel_properties(name, core, blocks, len(outputs))
        if synced:
            properties["synced"] = UnitAttr()
        return cls.create(properties=properties, regions=[region])


def _kernel_properties(name: str, core: str, blocks: int, outputs: int) -> dict[str, Attribute]:
    return {
        "sym_name": StringAttr(name),
        "core": StringAttr(core),
        "blocks": integer(blocks),
        "outputs": integer(outputs),
    }


def _print_argument(printer: Printer, value: SSAValue) -> None:
    printer.print_ssa_value(value)
    printer.print_string(" : ")
    printer.print_attribute(value.type)


def _arguments(parser: Parser) -> list[Parser.Argument]:
    return parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_argument)


class LaunchOp(Operation, Located):
    """Run a kernel on tensors: one operand per argument it reads, one result per it writes.

    Shapes may differ from the tiles' (a tensor is seen as a tile of the same elements in the
    same order), the number of elements may not. `for` names the GE nodes that it computes.
    C1: it names a kernel.
    """

    name = "aicore.launch"
    traits = traits_def()

    @property
    def kernel(self) -> str:
        """The symbol of the kernel."""
        attr = self.properties["kernel"]
        return cast("SymbolRefAttr", attr).root_reference.data

    @property
    def nodes(self) -> list[str]:
        """The names of the GE nodes that the launch computes, in order."""
        return names_of(self.properties.get("nodes"))

    @classmethod
    def make(
        cls,
        kernel: str,
        operands: Sequence[SSAValue],
        results: Sequence[Attribute],
        nodes: Sequence[str] = (),
    ) -> LaunchOp:
        properties: dict[str, Any] = {"kernel": SymbolRefAttr(kernel)}
        if nodes:
            properties["nodes"] = names_attr(nodes)
        return cls.create(operands=operands, result_types=results, properties=properties)

    def verify_(self) -> None:
        if not isinstance(self.properties.get("kernel"), SymbolRefAttr):
            raise VerifyException("names no kernel, expected a symbol")

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_symbol_name(self.kernel)
        with printer.in_parens():
            printer.print_list(self.operands, printer.print_ssa_value)
        print_nodes(printer, self.nodes)
        printer.print_string(" : ")
        printer.print_operation_type(self)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        kernel = parser.parse_symbol_name().data
        operands = parser.parse_comma_separated_list(
            parser.Delimiter.PAREN, parser.parse_unresolved_operand
        )
        nodes = parse_nodes(parser)
        parser.parse_punctuation(":")
        start = parser.pos
        types = parser.parse_function_type()
        values = parser.resolve_operands(operands, types.inputs.data, start)
        return cast("Self", cls.make(kernel, values, types.outputs.data, nodes))
