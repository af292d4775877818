"""Reading and writing the IR as text: node names as SSA names, source positions, memoised types."""

from __future__ import annotations

import re
import warnings
from bisect import bisect_right
from collections.abc import Sequence
from importlib import import_module
from io import StringIO
from math import prod
from typing import Any

from xdsl.context import Context
from xdsl.dialects.builtin import AnyFloat, Builtin, DenseIntOrFPElementsAttr, ModuleOp
from xdsl.dialects.func import Func, FuncOp
from xdsl.ir import Attribute, BlockArgument, Operation, OpResult, SSAValue, TypeAttribute
from xdsl.parser import AttrParser, Parser, ParserState
from xdsl.printer import Printer
from xdsl.traits import IsolatedFromAbove
from xdsl.utils.exceptions import ParseError, VerifyException
from xdsl.utils.lexer import Input, Position, Span
from xdsl.utils.mlir_lexer import MLIRLexer, MLIRToken, MLIRTokenKind, StringLiteral

from ge_xdsl.dialects.ge.densetext import dense_of, literal_at
from ge_xdsl.dialects.ge.fasttext import LineParser
from ge_xdsl.dialects.ge.names import (
    INPUT_NAMES,
    input_names,
    is_ssa_name,
    set_string_list,
    ssa_name,
    string_list,
)
from ge_xdsl.dialects.ge.op import GeOp
from ge_xdsl.dialects.ge.prototype import normalize
from ge_xdsl.dialects.ge.registry import ATTRIBUTES, op_class
from ge_xdsl.dialects.ge.types import is_tensor_type, tensor_of
from ge_xdsl.dialects.located import Located
from ge_xdsl.errors import CompileError, Location

DENSE_LIMIT = 2**24
"""Most elements of a dense literal; a splat holds each of them. More belongs in a weight."""
DIMENSIONS_LIMIT = 1000
"""Most characters of a token in a shape."""

_SIMPLE_TYPE = re.compile(r"tensor<[^<>\n]*>")


class GeContext(Context):
    """A context that knows every GE op and makes its class on first use.

    Readers that are given one ask it whether what they do not know is an error, and tell it what
    the user should hear.
    """

    strict: bool = False
    """Whether an op that an importer does not know is an error."""

    def warn(self, text: str) -> None:
        """Tell the user something, one line."""
        warnings.warn(text, stacklevel=3)

    def __init__(self, allow_unregistered: bool = False) -> None:
        super().__init__(allow_unregistered)
        self.load_dialect(Builtin)
        self.load_dialect(Func)
        for attr in ATTRIBUTES:
            self.load_attr_or_type(attr)
        # the loop-level dialect is loaded when one of its ops or types is first read
        self.register_dialect("aicore", lambda: import_module("ge_xdsl.dialects.aicore").AICORE)

    def get_optional_op(
        self, name: str, *, dialect_stack: Sequence[str] = ()
    ) -> type[Operation] | None:
        if name.startswith("ge."):
            found = op_class(name.removeprefix("ge."))
            if found is not None:
                return found
        return super().get_optional_op(name, dialect_stack=dialect_stack)


class _Lexer(MLIRLexer):
    """xDSL's lexer without its exponential search for the end of an unterminated string.

    Escaped UTF-8 is a string: names in any script print as escapes and must read back.
    """

    _unescaped_characters_regex = re.compile(r'"(?:[^"\\\n\v\f]++|\\(?:["nt\\]|[0-9A-Fa-f]{2}))*+"')

    def _lex_string_literal(self, start_pos: Position) -> MLIRToken:
        token = super()._lex_string_literal(start_pos)
        if token.kind is MLIRTokenKind.BYTES_LIT:
            try:
                StringLiteral.from_span(token.span).bytes_contents.decode()
            except UnicodeDecodeError:
                return token
            return MLIRToken(MLIRTokenKind.STRING_LIT, token.span)
        return token


class _Bits(AttrParser._TensorLiteralElement):  # pyright: ignore[reportPrivateUsage]
    """A hexadecimal element of a dense literal: of a float type it gives the bits, which is how
    infinities and NaN are printed. xDSL 0.75 prints and does not read it so."""

    def to_type(self, parser: AttrParser, type: Any) -> Any:
        if not isinstance(type, AnyFloat) or not isinstance(self.value, int):
            return super().to_type(parser, type)
        size = type.compile_time_size
        if self.value >= 1 << 8 * size:
            parser.raise_error(f"{self.value:#x} is no {type}, expected {size} bytes", self.span)
        return type.unpack(self.value.to_bytes(size, "little"), 1)[0]


class GeParser(Parser):
    """Parser that keeps node names and source positions and memoises tensor types."""

    def __init__(self, ctx: Context, text: str, name: str = "<input>") -> None:
        super().__init__(ctx, "", name)
        self._parser_state = ParserState(_Lexer(Input(text, name)))
        self.file = name
        self.text = text
        self.types: dict[str, TypeAttribute] = {}
        self.argument_names: dict[SSAValue, str] = {}
        self.lines = LineParser(self, lambda part: GeParser(ctx, part, name))
        self.line_starts = [0, *(m.end() for m in re.finditer("\n", text))]

    def location(self, position: int) -> Location:
        line = bisect_right(self.line_starts, position)
        return Location(self.file, line, position - self.line_starts[line - 1] + 1)

    def here(self) -> Location:
        """The place of the next token."""
        return self.location(self._current_token.span.start)

    def is_at_end(self) -> bool:
        """Whether nothing is left but space and comments."""
        return self._current_token.kind is MLIRTokenKind.EOF

    def parse_operation(self) -> Operation:
        start = self._current_token.span.start
        lexer = self._parser_state.lexer
        found = self.lines.parse(lexer.input.content, start)
        if found is not None:
            op, lexer.pos = found
            self._parser_state.current_token = lexer.lex()
            op.source = self.location(start)
            return op
        op = super().parse_operation()
        if isinstance(op, GeOp | Located):
            op.source = self.location(start)
        if isinstance(op, GeOp):
            self.adopt_attributes(op, start)
        return op

    def adopt_attributes(self, op: GeOp, start: int) -> None:
        """Declared attributes that the generic form gives in {...} instead of <{...}>, and all of
        them in the form that the custom one gives."""
        declared = op.prototype.attr_by_name
        for name in [name for name in op.properties if name in declared]:
            op.properties[name] = normalize(declared[name].kind, op.properties[name])
        for name in [name for name in op.attributes if name in declared]:
            if name in op.properties:
                message = f"{op.name}: attribute '{name}' is given twice, expected it once"
                self.raise_error(message, start, start)
            op.properties[name] = normalize(declared[name].kind, op.attributes.pop(name))

    def parse_optional_type(self) -> TypeAttribute | None:
        token = self._current_token
        if token.kind is MLIRTokenKind.BARE_IDENT:
            lexer = self._parser_state.lexer
            found = _SIMPLE_TYPE.match(lexer.input.content, token.span.start)
            if found is not None:
                known = self.types.get(found.group())
                if known is None:
                    parsed = super().parse_optional_type()
                    if parsed is not None:
                        if is_tensor_type(parsed):
                            parsed = _interned(parsed)
                        self.types[found.group()] = parsed
                    return parsed
                lexer.pos = found.end()
                self._parser_state.current_token = lexer.lex()
                return known
        return super().parse_optional_type()

    def _parse_builtin_dense_attr(self) -> DenseIntOrFPElementsAttr:
        first = self._current_token
        lexer = self._parser_state.lexer
        found = literal_at(lexer.input.content, first.span.start)
        if found is not None:
            lexer.pos = found.end()
            self._parser_state.current_token = lexer.lex()
            self.parse_punctuation(":", " in dense attribute")
            made = dense_of(found.group(1), self._parse_dense_literal_type())
            if made is not None:
                return made
            lexer.pos = first.span.end
            self._parser_state.current_token = first
        return super()._parse_builtin_dense_attr()

    def _parse_dense_literal_type(self) -> Any:
        found = super()._parse_dense_literal_type()
        count = prod(found.get_shape())
        if count > DENSE_LIMIT:
            self.raise_error(f"literal has {count} elements, expected at most {DENSE_LIMIT}")
        return found

    def _parse_tensor_literal_element(self) -> AttrParser._TensorLiteralElement:
        token = self._current_token
        found = super()._parse_tensor_literal_element()
        if token.text[:2] in ("0x", "0X"):
            return _Bits(found.is_negative, found.value, found.span)
        return found

    def _parse_optional_shape_delimiter(self) -> str | None:
        # x1x1x1 is one token that is read again after each dimension
        span = self._current_token.span
        if span.end - span.start > DIMENSIONS_LIMIT:
            self.raise_error(f"shape is too long, expected at most {DIMENSIONS_LIMIT} characters")
        return super()._parse_optional_shape_delimiter()

    def _register_ssa_definition(self, name: str, values: Sequence[SSAValue], span: Span) -> None:
        super()._register_ssa_definition(name, values, span)
        if not values or name.isdigit():
            return
        owner = values[0].owner
        if isinstance(owner, GeOp):
            if not owner.node_name and len(values) == len(owner.results):
                owner.node_name = name
        elif isinstance(values[0], BlockArgument):
            self.argument_names[values[0]] = name


def _interned(attr: TypeAttribute) -> TypeAttribute:
    found = tensor_of(attr).type
    assert isinstance(found, TypeAttribute)
    return found


def parse_module(text: str, file: str = "<input>", ctx: Context | None = None) -> ModuleOp:
    """Parse a module; raises CompileError with the place of the first mistake."""
    try:
        parser = GeParser(ctx or GeContext(), text, file)
    except ParseError as error:  # the first token is read by the constructor
        place = Location(file, *line_and_column(text, error.span.start))
        raise CompileError(error.msg.strip(), location=place) from None
    if parser.is_at_end():
        return ModuleOp([])
    try:
        module = parser.parse_module()
    except ParseError as error:
        raise parse_failure(error, parser) from None
    except RecursionError:
        raise CompileError("nesting is too deep, expected less", location=Location(file)) from None
    except (ValueError, NotImplementedError, AssertionError, VerifyException) as error:
        # what xDSL's attribute and type constructors say, without a place
        message = str(error).strip().split("\n")[0] or "cannot be read, expected MLIR text"
        raise CompileError(message, location=parser.here()) from None
    _name_inputs(module, parser)
    return module


def line_and_column(text: str, position: int) -> tuple[int, int]:
    """Line and column of a position in a text, both counted from 1."""
    return text.count("\n", 0, position) + 1, position - text.rfind("\n", 0, position)


def parse_failure(error: ParseError, parser: GeParser) -> CompileError:
    """A parse error as the one line that users see."""
    message = error.msg.strip()
    subject, position = "", error.span.start
    unknown = re.fullmatch(r"Operation (\S+) is not registered", message)
    if unknown:
        from ge_xdsl.dialects.ge.registry import unknown_op

        name = unknown.group(1)
        subject, message = unknown_op(name, "" if name.startswith("ge.") else "ge.")
        position = max(parser.text.rfind(name, 0, position), 0)
    elif message.startswith("ge.") and ": " in message:
        subject, message = message.split(": ", 1)
    return CompileError(message, subject=subject, location=parser.location(position))


def is_graph(func: FuncOp) -> bool:
    """Whether a function has a body of one block, which any graph has."""
    return len(func.regions) == 1 and len(func.body.blocks) == 1


def _name_inputs(module: ModuleOp, parser: GeParser) -> None:
    for op in module.walk():
        if isinstance(op, FuncOp) and is_graph(op) and INPUT_NAMES not in op.attributes:
            names = [parser.argument_names.get(arg, "") for arg in op.body.block.args]
            if any(names):
                set_string_list(op, INPUT_NAMES, names)


class GePrinter(Printer):
    """Printer that shows node names as SSA names and remembers the text of attributes."""

    def __init__(self, *args: Any, origins: bool = True, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.origins = origins
        self._texts: dict[int, tuple[Attribute, str]] = {}
        self._taken: dict[str, int] = {}
        self._bases: dict[Operation, str] = {}

    def print_ssa_value(self, value: SSAValue) -> str:
        name = self._ssa_values.get(value)
        if name is None:
            name = self._value_name(value)
            self._ssa_values[value] = name
        self.print_string(f"%{name}")
        return name

    def _value_name(self, value: SSAValue) -> str:
        owner = value.owner
        if isinstance(value, OpResult) and isinstance(owner, GeOp):
            base = self.base_name(owner)
            return base if len(owner.results) == 1 else f"{base}#{value.index}"
        if isinstance(value, BlockArgument) and isinstance(
            parent := value.block.parent_op(), FuncOp
        ):
            names = string_list(parent, INPUT_NAMES)
            if value.index < len(names) and names[value.index]:
                return self._unique(ssa_name(names[value.index]))
        if value.name_hint:
            return self._unique(value.name_hint)
        return self._get_new_valid_name_id()

    def base_name(self, op: GeOp) -> str:
        """The SSA name of an op, without the index of one of several results."""
        found = self._bases.get(op)
        if found is None:
            name = op.node_name
            found = self._unique(ssa_name(name)) if name else self._get_new_valid_name_id()
            self._bases[op] = found
        return found

    def name_is_shown(self, op: GeOp) -> bool:
        """Whether the op's SSA name tells its node name, so that the attribute can be left out."""
        return bool(op.results) and self.base_name(op) == op.node_name

    def _unique(self, stem: str) -> str:
        count = self._taken.get(stem)
        if count is None:
            self._taken[stem] = 1
            return stem
        while f"{stem}_{count}" in self._taken:
            count += 1
        self._taken[stem] = count + 1
        return self._unique(f"{stem}_{count}")

    def _print_results(self, op: Operation) -> None:
        if isinstance(op, GeOp) and len(op.results) > 1:
            self.print_string(f"%{self.base_name(op)}:{len(op.results)} = ")
            for value in op.results:
                self._ssa_values[value] = self._value_name(value)
            return
        super()._print_results(op)

    def print_attribute(self, attribute: Attribute) -> None:
        known = self._texts.get(id(attribute))
        if known is None:
            stream, self.stream = self.stream, StringIO()
            column = self._current_column
            super().print_attribute(attribute)
            known = (attribute, self.stream.getvalue())
            self.stream, self._current_column = stream, column
            self._texts[id(attribute)] = known
        self.print_string(known[1])

    def print_op(self, op: Operation) -> None:
        if not isinstance(op, FuncOp) or self.print_generic_format or not op.body.blocks:
            if op.regions and op.has_trait(IsolatedFromAbove):
                self._taken = {}
            super().print_op(op)
            return
        names = op.attributes.get(INPUT_NAMES)
        self._taken = {}
        if names is not None and _shown_by_arguments(op):
            kept = dict(op.attributes)
            hidden = string_list(op, INPUT_NAMES)
            del op.attributes[INPUT_NAMES]
            for arg, name in zip(op.body.block.args, hidden, strict=True):
                if name:
                    self._ssa_values[arg] = self._unique(name)
            try:
                super().print_op(op)
            finally:
                op.attributes.clear()
                op.attributes.update(kept)
            return
        super().print_op(op)


def _shown_by_arguments(func: FuncOp) -> bool:
    names = string_list(func, INPUT_NAMES)
    args = func.body.block.args
    real = [n for n in names if n]
    return (
        len(names) == len(args)
        and len(set(real)) == len(real)
        and all(is_ssa_name(n) for n in real)
    )


def module_text(module: Operation, generic: bool = False, origins: bool = True) -> str:
    """A module, function or op as text, with a final newline.

    Without `origins` the custom form leaves out what rewrites note of replaced nodes.
    """
    stream = StringIO()
    printer = GePrinter(stream, print_generic_format=generic, origins=origins)
    printer.print_op(module)
    return stream.getvalue() + "\n"


__all__ = [
    "GeContext",
    "GeParser",
    "GePrinter",
    "input_names",
    "module_text",
    "parse_failure",
    "parse_module",
]
