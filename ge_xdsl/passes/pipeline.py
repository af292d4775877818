"""Pass pipelines as text: `a,b{x=1 y=2,3}` and MLIR's `builtin.module(a,func.func(b{x=1}))`.

Anchors only group: every pass here works on a whole module, so nesting changes nothing. All
mistakes in the text are UsageErrors that name the column, counted from 1.
"""

from __future__ import annotations

import dataclasses
import re
from types import NoneType, UnionType
from typing import Any, Literal, NoReturn, Union, get_args, get_origin, get_type_hints

from xdsl.passes import ModulePass

from ge_xdsl.errors import UsageError, nearest
from ge_xdsl.passes import stages, table

ANCHORS = ("builtin.module", "func.func", "any")
"""The op names that a pipeline may nest under."""

_NAME = re.compile(r"[A-Za-z_][\w.-]*")
_BARE = re.compile(r"[^\s,{}\"'=]+")
_OPTION = re.compile(r"[A-Za-z_][\w-]*\s*=")
_SPACE = re.compile(r"\s*")


@dataclasses.dataclass(frozen=True, slots=True)
class PassSpec:
    """A pass as written: its name and, per option, the values given (none for a bare flag)."""

    name: str
    options: tuple[tuple[str, tuple[str, ...]], ...] = ()


class _Reader:
    """Reads one pipeline text from left to right."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.pos = 0

    def fail(self, message: str, at: int | None = None) -> NoReturn:
        column = (self.pos if at is None else at) + 1
        raise UsageError(f"pass pipeline, column {column}: {message}")

    def take(self, pattern: re.Pattern[str]) -> str:
        """The text that `pattern` matches here, '' for none; spaces before it are skipped."""
        self.pos = _end(_SPACE, self.text, self.pos)
        start, self.pos = self.pos, _end(pattern, self.text, self.pos)
        return self.text[start : self.pos]

    def accept(self, char: str) -> bool:
        self.pos = _end(_SPACE, self.text, self.pos)
        found = self.text.startswith(char, self.pos)
        self.pos += found
        return found

    def rest(self) -> str:
        """What stands here, as an error message shows it."""
        self.pos = _end(_SPACE, self.text, self.pos)
        return f"'{self.text[self.pos]}'" if self.pos < len(self.text) else "the end of the text"

    def items(self) -> list[PassSpec]:
        found = self.item()
        while self.accept(","):
            found += self.item()
        return found

    def item(self) -> list[PassSpec]:
        name = self.take(_NAME)
        if not name:
            self.fail(f"{self.rest()} found, expected the name of a pass")
        start = self.pos - len(name)
        if self.accept("("):
            if name not in ANCHORS:
                self.fail(f"unknown anchor '{name}', expected one of {', '.join(ANCHORS)}", start)
            inner = [] if self.accept(")") else self.nested()
            return inner
        if name in ANCHORS:
            self.fail(f"{self.rest()} found, expected '(' after the anchor {name}")
        return [PassSpec(name, self.options() if self.accept("{") else ())]

    def nested(self) -> list[PassSpec]:
        found = self.items()
        if not self.accept(")"):
            self.fail(f"{self.rest()} found, expected ',' or ')'")
        return found

    def options(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        found: dict[str, tuple[str, ...]] = {}
        while not self.accept("}"):
            if found:
                self.accept(",")
            key = self.take(_NAME).replace("_", "-")
            if not key:
                self.fail(f"{self.rest()} found, expected an option or '}}'")
            if key in found:
                self.fail(f"option '{key}' is given twice, expected it once")
            found[key] = self.values() if self.accept("=") else ()
        return tuple(found.items())

    def values(self) -> tuple[str, ...]:
        found = [self.value()]
        while self.text.startswith(",", self.pos):
            if _OPTION.match(self.text, _end(_SPACE, self.text, self.pos + 1)):
                break
            self.pos += 1
            found.append(self.value())
        return tuple(found)

    def value(self) -> str:
        for quote in "\"'":
            if self.accept(quote):
                end = self.text.find(quote, self.pos)
                if end < 0:
                    self.fail("the string has no end, expected a closing quote", self.pos - 1)
                found, self.pos = self.text[self.pos : end], end + 1
                return found
        found = self.take(_BARE)
        if not found:
            self.fail(f"{self.rest()} found, expected a value")
        return found


def _end(pattern: re.Pattern[str], text: str, pos: int) -> int:
    found = pattern.match(text, pos)
    return found.end() if found else pos


def parse_pipeline(text: str) -> list[PassSpec]:
    """The passes of a pipeline text in order, aliases such as `ge-compile` written out."""
    reader = _Reader(text)
    if not text.strip():
        return []
    specs = reader.items()
    if reader.rest() != "the end of the text":
        reader.fail(f"{reader.rest()} found, expected ',' or the end of the text")
    return [spec for written in specs for spec in _written_out(written)]


def _written_out(spec: PassSpec) -> list[PassSpec]:
    other = stages.OTHER_NAMES.get(spec.name)
    if other is not None:
        (found,) = parse_pipeline(other)
        return [PassSpec(found.name, (*found.options, *spec.options))]
    alias = stages.ALIASES.get(spec.name)
    if alias is None:
        return [spec]
    if spec.options:
        raise UsageError(f"pass {spec.name}: option '{spec.options[0][0]}' given, expected none")
    return [inner for text in alias for inner in parse_pipeline(text)]


def make_passes(text: str) -> list[ModulePass]:
    """The pass objects of a pipeline text; raises UsageError for what no pass understands."""
    return [make_pass(spec) for spec in parse_pipeline(text)]


def make_pass(spec: PassSpec) -> ModulePass:
    """A pass with its options converted to the types that its fields declare."""
    cls = table.pass_class(spec.name)
    hints = get_type_hints(cls)
    fields = {field.name.replace("_", "-"): field for field in dataclasses.fields(cls)}
    given: dict[str, Any] = {}
    for key, values in dict(spec.options).items():
        field = fields.get(key)
        if field is None:
            known = ", ".join(fields) or "none"
            hint = nearest(key, list(fields))
            raise UsageError(f"pass {spec.name}: unknown option '{key}', expected: {known}{hint}")
        try:
            given[field.name] = convert(values, hints[field.name])
        except ValueError as error:
            raise UsageError(f"pass {spec.name}: option '{key}' {error}") from None
    try:
        return cls(**given)
    except ValueError as error:
        raise UsageError(f"pass {spec.name}: {error}") from None
    except TypeError:
        missing = [key for key, field in fields.items() if _is_missing(field, given)]
        raise UsageError(
            f"pass {spec.name}: option '{missing[0]}' is missing, it is required"
        ) from None


def _is_missing(field: dataclasses.Field[Any], given: dict[str, Any]) -> bool:
    has_default = (
        field.default is not dataclasses.MISSING or field.default_factory is not dataclasses.MISSING
    )
    return not has_default and field.name not in given


def convert(values: tuple[str, ...], hint: Any) -> Any:
    """Option values as the type `hint`; raises ValueError `is <what is>, expected <what>`."""
    origin = get_origin(hint)
    if origin in (Union, UnionType):
        options = [arg for arg in get_args(hint) if arg is not NoneType]
        return convert(values, options[0])
    if origin is tuple:
        return tuple(convert((value,), get_args(hint)[0]) for value in values)
    if hint is bool and not values:
        return True
    if hint is str and values:
        return ",".join(values)
    if len(values) != 1:
        raise ValueError(f"has {len(values)} values, expected one")
    return _convert_one(values[0], hint, get_args(hint) if origin is Literal else ())


def _convert_one(value: str, hint: Any, choices: tuple[Any, ...]) -> Any:
    if choices:
        if value not in choices:
            hints = nearest(value, [str(choice) for choice in choices])
            raise ValueError(f"is '{value}', expected one of {', '.join(choices)}{hints}")
        return value
    if hint is bool:
        if value.lower() not in _SWITCH:
            raise ValueError(f"is '{value}', expected true or false")
        return _SWITCH[value.lower()]
    if hint in (int, float):
        try:
            return hint(value)
        except ValueError:
            what = "an integer" if hint is int else "a number"
            raise ValueError(f"is '{value}', expected {what}") from None
    return value


_SWITCH = {"true": True, "on": True, "1": True, "false": False, "off": False, "0": False}
