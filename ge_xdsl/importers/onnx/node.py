"""One ONNX node as converters see it: checked attributes, inputs by position, errors by name."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NoReturn

from xdsl.ir import SSAValue

from ge_xdsl.errors import CompileError

if TYPE_CHECKING:
    from onnx import AttributeProto, GraphProto, NodeProto, TensorProto

    from ge_xdsl.importers.onnx.scope import Scope

_KINDS: dict[str, tuple[int, str]] = {
    "f": (1, "a number"),
    "i": (2, "an integer"),
    "s": (3, "a string"),
    "t": (4, "a tensor"),
    "g": (5, "a graph"),
    "sparse_tensor": (11, "a sparse tensor"),
    "floats": (6, "a list of numbers"),
    "ints": (7, "a list of integers"),
    "strings": (8, "a list of strings"),
}
"""Field of an AttributeProto -> the type it stands for, and how a message names that."""


class Node:
    """An ONNX node; `inputs` are IR values, None for an optional input left out.

    Attributes are read by kind with a default and ticked off, so that one which no converter
    knows is an error and never dropped.
    """

    __slots__ = ("attrs", "inputs", "name", "op_type", "opset", "outputs", "proto", "scope")
    scope: Scope
    """The scope that the node stands in."""

    def __init__(
        self,
        proto: NodeProto,
        name: str,
        opset: int,
        outputs: Sequence[str],
        bindings: Mapping[str, AttributeProto] | None = None,
    ) -> None:
        """`bindings` are the attributes that attributes of a function body may refer to."""
        self.proto = proto
        self.op_type: str = proto.op_type
        self.name = name
        self.opset = opset
        self.outputs = outputs
        self.inputs: list[SSAValue | None] = []
        self.attrs: dict[str, AttributeProto] = {}
        for attr in proto.attribute:
            if attr.name in self.attrs:
                self.fail(f"attribute '{attr.name}' is given twice, expected once")
            if bindings is not None and attr.ref_attr_name:
                bound = bindings.get(attr.ref_attr_name)
                if bound is not None:  # else left out by the caller, and here
                    self.attrs[attr.name] = bound
            else:
                self.attrs[attr.name] = attr

    def fail(self, message: str) -> NoReturn:
        """Raise the error that this node is ill-formed or not supported."""
        raise CompileError(message, subject=f"{self.op_type} '{self.name}'")

    # Inputs and outputs

    def input(self, index: int) -> SSAValue:
        """A required input."""
        value = self.optional(index)
        if value is None:
            self.fail(f"input {index} is missing, it is required")
        return value

    def optional(self, index: int) -> SSAValue | None:
        return self.inputs[index] if index < len(self.inputs) else None

    def all_inputs(self) -> list[SSAValue]:
        """The inputs of a variadic op, at least one and none left out."""
        return [self.input(index) for index in range(max(1, len(self.inputs)))]

    def wants(self, output: int) -> bool:
        """Whether an optional output is asked for."""
        return output < len(self.outputs) and self.outputs[output] != ""

    def only_outputs(self, count: int) -> None:
        """Refuse outputs that the converter does not give."""
        for index in range(count, len(self.outputs)):
            if self.wants(index):
                self.fail(f"output {index} is asked for, expected only the first {count}")

    # Attributes

    def has(self, name: str) -> bool:
        return name in self.attrs

    def value(self, name: str, field: str) -> Any:
        """The value in a field of an attribute, None when the node does not give it."""
        attr = self.attrs.pop(name, None)
        if attr is None:
            return None
        number, words = _KINDS[field]
        if attr.type != number or attr.ref_attr_name:
            self.fail(f"attribute '{name}' is of another type, expected {words}")
        return getattr(attr, field)

    def integer(self, name: str, default: int) -> int:
        found = self.value(name, "i")
        return default if found is None else found

    def peek_integer(self, name: str, default: int) -> int:
        """As `integer`, without ticking it off."""
        with self._kept(name):
            return self.integer(name, default)

    def peek_floating(self, name: str, default: float) -> float:
        """As `floating`, without ticking it off."""
        with self._kept(name):
            return self.floating(name, default)

    def peek_integers(self, name: str) -> list[int] | None:
        """As `integers`, without ticking it off."""
        with self._kept(name):
            return self.integers(name)

    @contextmanager
    def _kept(self, name: str) -> Generator[None]:
        attr = self.attrs.get(name)
        yield
        if attr is not None:
            self.attrs[name] = attr

    def required_integer(self, name: str) -> int:
        found = self.value(name, "i")
        if found is None:
            self.fail(f"attribute '{name}' is missing, it is required")
        return found

    def flag(self, name: str, default: bool) -> bool:
        """An integer that stands for a truth value."""
        return self.integer(name, int(default)) != 0

    def floating(self, name: str, default: float) -> float:
        found = self.value(name, "f")
        return default if found is None else found

    def string(self, name: str, default: str) -> str:
        found = self.value(name, "s")
        return default if found is None else found.decode("utf-8", "replace")

    def integers(self, name: str) -> list[int] | None:
        found = self.value(name, "ints")
        return None if found is None else list(found)

    def floats(self, name: str) -> list[float] | None:
        found = self.value(name, "floats")
        return None if found is None else list(found)

    def strings(self, name: str) -> list[str] | None:
        found = self.value(name, "strings")
        return None if found is None else [text.decode("utf-8", "replace") for text in found]

    def tensor(self, name: str) -> TensorProto | None:
        return self.value(name, "t")

    def graph(self, name: str) -> GraphProto:
        """A required subgraph."""
        found = self.value(name, "g")
        if found is None:
            self.fail(f"attribute '{name}' is missing, it is required")
        return found

    def ignore(self, *names: str) -> None:
        """Tick off attributes that do not change what the op computes."""
        for name in names:
            self.attrs.pop(name, None)

    def expect(self, name: str, value: int) -> None:
        """Tick off an integer attribute of which only one value is supported."""
        found = self.integer(name, value)
        if found != value:
            self.fail(f"attribute '{name}' is {found}, expected {value}")

    def finish(self) -> None:
        """Refuse attributes that the converter did not read."""
        for name in self.attrs:
            self.fail(f"attribute '{name}' is not supported")
