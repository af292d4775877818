"""The parser's fast path: one GE op on one line, matched by one regular expression.

Operand lists, attribute dictionaries and type lists are parsed once per distinct text and
remembered. Whatever does not fit (regions, comments, forward references, mistakes) is left to the
general parser, which accepts the same language and writes the errors.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Attribute, SSAValue
from xdsl.parser import Parser
from xdsl.utils.exceptions import ParseError

from ge_xdsl.dialects.ge.assembly import parse_attrs
from ge_xdsl.dialects.ge.op import NAME, OPERAND_SEGMENTS, GeOp, segments
from ge_xdsl.dialects.ge.prototype import Prototype
from ge_xdsl.dialects.ge.registry import op_class
from ge_xdsl.dialects.ge.types import is_tensor_type, tensor_of

_LINE = re.compile(
    r"(?:%(\d+|[A-Za-z_$.-][\w$.-]*)(?::(\d+))? = )?ge\.([\w.]+)"
    r"\(([^()\n]*)\)( \{[^\n]*\})? : \(([^()\n]*)\) -> ([^\n(]+|\([^\n()]*\))\n",
    re.ASCII,
)
_ITEM = re.compile(r"(?:(\w+) = )?(%[\w$.#-]+|\[[^\]]*\])", re.ASCII)

Attrs = tuple[dict[str, Attribute], dict[str, Attribute]]


class LineParser:
    """Parses single-line GE ops for one parser, into its table of SSA values."""

    def __init__(self, parser: Parser, sub_parser: Callable[[str], Parser]) -> None:
        self.parser = parser
        self.sub_parser = sub_parser
        self.types: dict[str, tuple[Attribute, ...]] = {}
        self.attrs: dict[tuple[str, str], Attrs] = {}

    @property
    def values(self) -> dict[str, tuple[SSAValue, ...]]:
        """The parser's table; it has another one inside each region."""
        return self.parser.ssa_values

    def parse(self, text: str, start: int) -> tuple[GeOp, int] | None:
        """The op whose line starts at `start` and the position after it, or None."""
        line = _LINE.match(text, start)
        if line is None:
            return None
        try:
            op = self._build(line)
        except ParseError:
            return None
        return None if op is None else (op, line.end())

    def _build(self, line: re.Match[str]) -> GeOp | None:
        name, count, op_type, operand_text, attr_text, operand_types, result_types = line.groups()
        cls = op_class(op_type)
        if cls is None or name in self.values or name in self.parser.forward_ssa_references:
            return None
        found = self._operands(cls.prototype, operand_text)
        if found is None:
            return None
        operands, counts = found
        types = self._types(operand_types)
        results = self._types(result_types)
        if (1 if count is None else int(count)) != len(results) or (name is None) != (not results):
            return None
        if len(results) != 1 and result_types[0] != "(":
            return None
        if len(types) != len(operands) or any(
            value.type is not kind and value.type != kind
            for value, kind in zip(operands, types, strict=True)
        ):
            return None
        properties, attributes = self._attrs(cls.prototype, attr_text or "")
        if cls.prototype.needs_operand_segments:
            properties[OPERAND_SEGMENTS] = segments(counts)
        op = cls.create(
            operands=operands,
            result_types=results,
            properties=properties,
            attributes=attributes,
        )
        if name is not None:
            self.values[name] = op.results
            if NAME not in attributes and not name.isdigit():
                op.attributes[NAME] = StringAttr(name)
        return op

    def _operands(self, proto: Prototype, text: str) -> tuple[list[SSAValue], list[int]] | None:
        if not text:
            return None if proto.fixed_operands > 0 else ([], [0] * len(proto.inputs))
        if proto.fixed_operands >= 0 and "=" not in text and "[" not in text:
            names = text.split(", ")
            if len(names) != proto.fixed_operands:
                return None
            values = [self._value(n) for n in names]
            return None if None in values else ([v for v in values if v], [1] * len(values))
        return self._loose_operands(proto, text)

    def _loose_operands(
        self, proto: Prototype, text: str
    ) -> tuple[list[SSAValue], list[int]] | None:
        slots: list[list[SSAValue]] = [[] for _ in proto.inputs]
        positions = [i for i, io in enumerate(proto.inputs) if io.kind != "optional"]
        seen = 0
        items = list(_ITEM.finditer(text))
        if ", ".join(item.group() for item in items) != text:
            return None
        for item in items:
            key, value = item.groups()
            if key is None and seen == len(positions):
                return None
            index = positions[seen] if key is None else proto.input_index.get(key, -1)
            seen += key is None
            if index < 0 or slots[index]:
                return None
            if (value[0] == "[") != (proto.inputs[index].kind == "dynamic"):
                return None
            inner = value[1:-1] if value[0] == "[" else value
            names = inner.split(", ") if inner else []
            values = [self._value(n) for n in names]
            if None in values:
                return None
            slots[index] = [v for v in values if v]
        if any(io.kind == "required" and not s for io, s in zip(proto.inputs, slots, strict=True)):
            return None
        return [v for slot in slots for v in slot], [len(slot) for slot in slots]

    def _value(self, name: str) -> SSAValue | None:
        if name[:1] != "%":
            return None
        base, _, index = name[1:].partition("#")
        found = self.values.get(base)
        if found is None or (len(found) > 1) != bool(index):
            return None
        position = int(index) if index.isdigit() else 0
        return found[position] if position < len(found) else None

    def _types(self, text: str) -> Sequence[Attribute]:
        known = self.types.get(text)
        if known is None:
            inner = text[1:-1] if text[:1] == "(" else text
            parser = self.sub_parser(f"[{inner}]")
            found = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_type)
            _expect_end(parser, len(inner) + 2)
            known = tuple(tensor_of(t).type if is_tensor_type(t) else t for t in found)
            self.types[text] = known
        return known

    def _attrs(self, proto: Prototype, text: str) -> Attrs:
        key = (proto.op_type, text)
        if not text:
            return {}, {}
        known = self.attrs.get(key)
        if known is None:
            parser = self.sub_parser(text)
            known = parse_attrs(proto, parser)
            _expect_end(parser, len(text))
            self.attrs[key] = known
        return dict(known[0]), known[1]


def _expect_end(parser: Parser, end: int) -> None:
    """Raise ParseError, which leaves the line to the general parser, for text after a list."""
    if parser.pos < end:
        parser.raise_error("text after the list, expected its end")
