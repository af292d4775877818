"""The one assembly format that all GE ops share.

    %y = ge.Conv2D(%x, %filter, bias = %b) {strides = [1, 1, 1, 1]} : (T, T, T) -> T
    %y = ge.ConcatD([%a, %b]) {concat_dim = 1} : (T, T) -> T
    %r = ge.If(%c, [%a]) then_branch {...} else_branch {...} : (T, T) -> T

Required operands stand in order, optional ones by name, dynamic ones in brackets. Attributes that
no prototype declares (names with a dot or a leading underscore) share the braces. The generic
MLIR form is always accepted too.
"""

from __future__ import annotations

import math
from typing import Any

from xdsl.dialects.builtin import BytesAttr, StringAttr
from xdsl.ir import Attribute, Region
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.printer import Printer

from ge_xdsl.dialects.ge.op import (
    NAME,
    OPERAND_SEGMENTS,
    RESULT_SEGMENTS,
    GeOp,
    segments,
)
from ge_xdsl.dialects.ge.prototype import (
    KIND_WORDS,
    AttrSpec,
    Prototype,
    decode,
    encode,
    has_kind,
    normalize,
    round_f32,
)
from ge_xdsl.dialects.ge.types import DataType, is_tensor_type, tensor_of
from ge_xdsl.errors import nearest

ORIGINS = frozenset({"_datadump_original_op_names", "_datadump_original_op_types", "ge.pass_name"})
"""What a rewrite notes of the nodes it replaced; the screen shows it on request."""


def print_op(op: GeOp, printer: Printer) -> None:
    """Print everything after the op's name."""
    printer.print_string("(")
    for i, (io, value) in enumerate(_present_inputs(op)):
        if i:
            printer.print_string(", ")
        if io.kind == "optional":
            printer.print_string(f"{io.name} = ")
        if io.kind == "dynamic":
            with printer.in_square_brackets():
                printer.print_list(value, printer.print_ssa_value)
        else:
            printer.print_ssa_value(value)
    printer.print_string(")")
    for name, region in zip(region_names(op.prototype, len(op.regions)), op.regions, strict=True):
        printer.print_string(f" {name} ")
        printer.print_region(region)
    _print_attrs(op, printer)
    printer.print_string(" : (")
    printer.print_list(op.operands, lambda v: printer.print_attribute(v.type))
    printer.print_string(") -> ")
    if len(op.results) == 1:
        printer.print_attribute(op.results[0].type)
    else:
        with printer.in_parens():
            printer.print_list(op.results, lambda v: printer.print_attribute(v.type))


def _present_inputs(op: GeOp) -> list[tuple[Any, Any]]:
    arranged = op.arrange(list(op.operands))
    pairs = zip(op.prototype.inputs, arranged, strict=False)
    return [(io, value) for io, value in pairs if value is not None]


def region_names(proto: Prototype, count: int) -> list[str]:
    """The names of an op's regions; a dynamic subgraph's are numbered."""
    names: list[str] = []
    for graph in proto.subgraphs:
        if graph.kind == "static":
            names.append(graph.name)
        else:
            names += [f"{graph.name}{i}" for i in range(count - len(names))]
    return names


def _print_attrs(op: GeOp, printer: Printer) -> None:
    entries: list[tuple[str, Attribute, AttrSpec | None]] = []
    for spec in op.prototype.attrs:
        if (attr := op.properties.get(spec.name)) is not None:
            entries.append((spec.name, attr, spec))
    if op.prototype.needs_result_segments and RESULT_SEGMENTS in op.properties:
        entries.append((RESULT_SEGMENTS, op.properties[RESULT_SEGMENTS], None))
    hides_name = getattr(printer, "name_is_shown", None)
    shows_origins = getattr(printer, "origins", True)
    for name, attr in op.attributes.items():
        if name in ORIGINS and not shows_origins:
            continue
        if name != NAME or hides_name is None or not hides_name(op):
            entries.append((name, attr, None))
    if not entries:
        return
    printer.print_string(" ")
    with printer.in_braces():
        for i, (name, attr, spec) in enumerate(entries):
            if i:
                printer.print_string(", ")
            printer.print_identifier_or_string_literal(name)
            printer.print_string(" = ")
            if spec is None or spec.kind == "Tensor":
                printer.print_attribute(attr)
            else:
                printer.print_string(value_text(decode(attr)))


def value_text(value: Any) -> str:
    """A decoded attribute value as the assembly writes it."""
    if isinstance(value, DataType):
        return value.name
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return float_text(value)
    if isinstance(value, str):
        return string_text(value)
    return f"[{', '.join(value_text(v) for v in value)}]"


def string_text(value: str) -> str:
    """A string literal with MLIR's escapes."""
    out = ['"']
    for byte in value.encode("utf-8"):
        if byte == 0x5C:
            out.append("\\\\")
        elif byte < 0x20 or byte > 0x7E or byte == 0x22:
            out.append(f"\\{byte:02X}")
        else:
            out.append(chr(byte))
    return "".join([*out, '"'])


def float_text(value: float) -> str:
    """The shortest decimal with a point, as MLIR wants it, that rounds to the same f32."""
    if math.isnan(value) or math.isinf(value):
        return "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"
    candidates = (f"{value:.{digits}g}" for digits in range(1, 10))
    text = next((t for t in candidates if round_f32(float(t)) == value), repr(value))
    mantissa, e, exponent = text.partition("e")
    return text if "." in mantissa else f"{mantissa}.0{e}{exponent}"


def parse_op(cls: type[GeOp], parser: Parser) -> GeOp:
    """Parse everything after the op's name; the op is built and its types are as written."""
    proto = cls.prototype
    operands, counts = _parse_operands(proto, parser)
    regions = _parse_regions(proto, parser)
    properties, attributes = parse_attrs(proto, parser)
    start = parser.pos
    parser.parse_punctuation(":")
    operand_types = parser.parse_comma_separated_list(
        parser.Delimiter.PAREN, lambda: _parse_tensor(parser)
    )
    parser.parse_punctuation("->")
    result_types = parser.parse_optional_comma_separated_list(
        parser.Delimiter.PAREN, lambda: _parse_tensor(parser)
    )
    if result_types is None:
        result_types = [_parse_tensor(parser)]
    if len(operand_types) != len(operands):
        parser.raise_error(
            f"{cls.name}: {len(operand_types)} operand types, expected {len(operands)}", start
        )
    if proto.needs_operand_segments:
        properties[OPERAND_SEGMENTS] = segments(counts)
    return cls.create(
        operands=[
            parser.resolve_operand(o, t) for o, t in zip(operands, operand_types, strict=True)
        ],
        result_types=result_types,
        properties=properties,
        attributes=attributes,
        regions=regions,
    )


def _parse_tensor(parser: Parser) -> Attribute:
    attr = parser.parse_type()
    return tensor_of(attr).type if is_tensor_type(attr) else attr


def _parse_operands(proto: Prototype, parser: Parser) -> tuple[list[UnresolvedOperand], list[int]]:
    found: list[list[UnresolvedOperand]] = [[] for _ in proto.inputs]
    positions = [i for i, io in enumerate(proto.inputs) if io.kind != "optional"]
    seen = 0

    def parse_one() -> None:
        nonlocal seen
        start = parser.pos
        name = parser.parse_optional_identifier()
        if name is not None:
            index = proto.input_index.get(name)
            if index is None:
                hint = nearest(name, list(proto.input_index))
                parser.raise_error(f"ge.{proto.op_type}: no input '{name}'{hint}", start)
            parser.parse_punctuation("=")
        elif seen < len(positions):
            index = positions[seen]
            seen += 1
        else:
            optional = {io.name: " = ..." for io in proto.inputs if io.kind == "optional"}
            names = [io.name + optional.get(io.name, "") for io in proto.inputs]
            text = ", ".join(names) or "none"
            parser.raise_error(
                f"ge.{proto.op_type}: more inputs than the prototype has, expected: {text}", start
            )
        if found[index]:
            parser.raise_error(f"ge.{proto.op_type}: input given twice", start)
        if proto.inputs[index].kind == "dynamic":
            found[index] = parser.parse_comma_separated_list(
                parser.Delimiter.SQUARE, parser.parse_unresolved_operand
            )
        else:
            found[index] = [parser.parse_unresolved_operand()]

    start = parser.pos
    parser.parse_comma_separated_list(parser.Delimiter.PAREN, parse_one)
    for io, values in zip(proto.inputs, found, strict=True):
        if io.kind == "required" and not values:
            parser.raise_error(f"ge.{proto.op_type}: input '{io.name}' is missing", start)
    return [v for values in found for v in values], [len(values) for values in found]


def _parse_regions(proto: Prototype, parser: Parser) -> list[Region]:
    regions: list[Region] = []
    for graph in proto.subgraphs:
        if graph.kind == "static":
            parser.parse_keyword(graph.name)
            regions.append(parser.parse_region())
            continue
        while parser.parse_optional_keyword(f"{graph.name}{len(regions)}"):
            regions.append(parser.parse_region())
    return regions


def parse_attrs(
    proto: Prototype, parser: Parser
) -> tuple[dict[str, Attribute], dict[str, Attribute]]:
    """Declared and undeclared attributes of an optional `{...}`."""
    properties: dict[str, Attribute] = {}
    attributes: dict[str, Attribute] = {}

    def parse_entry() -> None:
        start = parser.pos
        name = parser.parse_optional_identifier() or parser.parse_str_literal("attribute name")
        spec = proto.attr_by_name.get(name)
        if name in properties or name in attributes:
            parser.raise_error(f"ge.{proto.op_type}: attribute '{name}' given twice", start)
        parser.parse_punctuation("=")
        if spec is not None:
            properties[name] = _parse_value(proto, spec, parser)
        elif name == RESULT_SEGMENTS:
            properties[name] = parser.parse_attribute()
        elif "." in name or name.startswith("_"):
            attributes[name] = _string_of_bytes(parser.parse_attribute())
            if name == NAME and not isinstance(attributes[name], StringAttr):
                parser.raise_error(f"ge.{proto.op_type}: {NAME} is no string", start)
        else:
            hint = nearest(name, list(proto.attr_by_name))
            known = ", ".join(proto.attr_by_name) or "none"
            parser.raise_error(
                f"ge.{proto.op_type}: attribute '{name}' is not in the prototype, "
                f"expected: {known}{hint}",
                start,
            )

    parser.parse_optional_comma_separated_list(parser.Delimiter.BRACES, parse_entry)
    return properties, attributes


def _parse_value(proto: Prototype, spec: AttrSpec, parser: Parser) -> Attribute:
    start = parser.pos
    if spec.kind.startswith("List"):
        item = {"ListListInt": "ListInt"}.get(spec.kind, spec.kind.removeprefix("List"))
        values = parser.parse_optional_comma_separated_list(
            parser.Delimiter.SQUARE, lambda: _parse_scalar(item, parser)
        )
        if values is not None:
            return _encode(proto, spec, values, parser, start)
    elif spec.kind != "Tensor":
        return _encode(proto, spec, _parse_scalar(spec.kind, parser), parser, start)
    attr = normalize(spec.kind, parser.parse_attribute())
    if not has_kind(attr, spec.kind):
        parser.raise_error(
            f"ge.{proto.op_type}: attribute '{spec.name}' is {attr}, "
            f"expected {KIND_WORDS[spec.kind]}",
            start,
        )
    return attr


def _encode(proto: Prototype, spec: AttrSpec, value: Any, parser: Parser, start: int) -> Attribute:
    try:
        return encode(spec.kind, value)
    except ValueError as error:
        parser.raise_error(f"ge.{proto.op_type}: attribute '{spec.name}' {error}", start)


_WORDS: dict[str, Any] = {"inf": math.inf, "nan": math.nan, "true": True, "false": False}


def _parse_scalar(kind: str, parser: Parser) -> Any:
    """A Python value in the short form, or the value of an attribute in the generic form."""
    if kind == "ListInt":
        return parser.parse_comma_separated_list(
            parser.Delimiter.SQUARE, lambda: _parse_scalar("Int", parser)
        )
    if kind == "Float" and parser.parse_optional_punctuation("-"):
        if parser.parse_optional_keyword("inf"):
            return -math.inf
        return -_typed(parser, parser.parse_number())
    word = parser.parse_optional_identifier()
    if word is not None:
        if word in DataType.__members__:
            return DataType[word]
        return _WORDS.get(word, word if kind != "String" else _Word(word))
    number = parser.parse_optional_number()
    if number is not None:
        return _typed(parser, number)
    text = parser.parse_optional_str_literal()
    if text is not None:
        return text
    return decode(_string_of_bytes(parser.parse_attribute()))


def _string_of_bytes(attr: Attribute) -> Attribute:
    """A string literal with escapes beyond ASCII, which the lexer takes for bytes, as a string."""
    if not isinstance(attr, BytesAttr):
        return attr
    try:
        return StringAttr(attr.data.decode())
    except UnicodeDecodeError:
        return attr


class _Word:
    """A bare word where a string literal must stand; never a valid value."""

    def __init__(self, word: str) -> None:
        self.word = word

    def __repr__(self) -> str:
        return self.word


def _typed(parser: Parser, number: float) -> int | float:
    """A number, and the type that the generic form writes after it."""
    if parser.parse_optional_punctuation(":"):
        parser.parse_type()
    return number
