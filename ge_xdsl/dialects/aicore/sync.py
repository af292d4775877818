"""Order between pipes: flags that one pipe sets and another waits for, and barriers.

    aicore.set_flag MTE2 -> V, 0 of 2
    aicore.wait_flag MTE2 -> V, 0 of 2
    aicore.pipe_barrier MTE2

A flag is set when all that its pipe was given before is complete. `n of k` stands for the ids n to
n + k - 1, taken in turn each time the op runs, as the k buffers of an `alloc` are.
"""

from __future__ import annotations

from typing import Self

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Attribute, Operation
from xdsl.irdl import traits_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from ge_xdsl.dialects.aicore.op import integer, integer_of
from ge_xdsl.dialects.aicore.types import PIPES
from ge_xdsl.dialects.located import Located

FLAGS = 8
"""Ids of the flags from one pipe to another."""
ALL = "ALL"


def _word(op: Operation, name: str) -> str:
    attr = op.properties.get(name)
    return attr.data if isinstance(attr, StringAttr) else ""


class Flag(Operation, Located):
    """A flag from one pipe to another. C1: two different pipes. C2: ids from 0 to 7."""

    traits = traits_def()

    @property
    def src(self) -> str:
        """The pipe that sets."""
        return _word(self, "src")

    @property
    def dst(self) -> str:
        """The pipe that waits."""
        return _word(self, "dst")

    @property
    def first(self) -> int:
        """The first id."""
        return integer_of(self, "id")

    @property
    def count(self) -> int:
        """How many ids are taken in turn."""
        return integer_of(self, "count") or 1

    @property
    def flag(self) -> tuple[str, str, int]:
        """What set and wait have in common."""
        return (self.src, self.dst, self.first)

    @property
    def pipe(self) -> str:
        """The pipe that runs the op."""
        raise NotImplementedError(self.name)

    @classmethod
    def make(cls, src: str, dst: str, first: int, count: int = 1) -> Self:
        properties: dict[str, Attribute] = {
            "src": StringAttr(src),
            "dst": StringAttr(dst),
            "id": integer(first),
        }
        if count != 1:
            properties["count"] = integer(count)
        return cls.create(properties=properties)

    def verify_(self) -> None:
        if self.src not in PIPES or self.dst not in PIPES or self.src == self.dst:  # C1
            known = ", ".join(PIPES)
            raise VerifyException(f"is from {self.src} to {self.dst}, expected two of {known}")
        if self.first < 0 or self.count < 1 or self.first + self.count > FLAGS:  # C2
            raise VerifyException(
                f"has ids {self.first} to {self.first + self.count - 1}, expected 0 to {FLAGS - 1}"
            )

    def print(self, printer: Printer) -> None:
        of = f" of {self.count}" if self.count != 1 else ""
        printer.print_string(f" {self.src} -> {self.dst}, {self.first}{of}")

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        src = parser.parse_identifier()
        parser.parse_punctuation("->")
        dst = parser.parse_identifier()
        parser.parse_punctuation(",")
        first = parser.parse_integer()
        count = parser.parse_integer() if parser.parse_optional_keyword("of") else 1
        return cls.make(src, dst, first, count)


class SetFlagOp(Flag):
    """Set the flag once all earlier instructions of the source pipe are complete."""

    name = "aicore.set_flag"

    @property
    def pipe(self) -> str:
        return self.src


class WaitFlagOp(Flag):
    """Hold the destination pipe until the flag is set, and take it back."""

    name = "aicore.wait_flag"

    @property
    def pipe(self) -> str:
        return self.dst


class PipeBarrierOp(Operation, Located):
    """Hold a pipe until all its earlier instructions are complete; ALL holds every pipe for all.

    C1: a pipe, or ALL.
    """

    name = "aicore.pipe_barrier"
    traits = traits_def()

    @property
    def pipe(self) -> str:
        """The pipe, or ALL."""
        return _word(self, "pipe")

    @classmethod
    def make(cls, pipe: str) -> PipeBarrierOp:
        return cls.create(properties={"pipe": StringAttr(pipe)})

    def verify_(self) -> None:
        if self.pipe not in (*PIPES, ALL):  # C1
            raise VerifyException(f"is of {self.pipe}, expected {ALL} or one of {', '.join(PIPES)}")

    def print(self, printer: Printer) -> None:
        printer.print_string(f" {self.pipe}")

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        return cls.create(properties={"pipe": StringAttr(parser.parse_identifier())})
