"""`ge.graph.Operator`: the op that an ONNX plugin's callback fills in."""

# The API names its own internals with underscores; this package shares them.
# pyright: reportPrivateUsage=false

from __future__ import annotations

from typing import Any, Self, cast

from ge_xdsl.compat.ge.graph import attributes as attrs
from ge_xdsl.compat.ge.graph.tensor_desc import NotCopyable
from ge_xdsl.dialects.ge.prototype import Io, IoKind


class Operator(NotCopyable):
    """One op that is being described: its attributes, inputs and outputs."""

    _name: str
    _type: str
    _attrs: dict[str, Any]
    _inputs: list[Io]
    _outputs: list[Io]

    def __init__(self, *_: Any, **__: Any) -> None:
        raise RuntimeError("Operator objects should not be created directly.")

    @classmethod
    def _create_from(cls, name: str, op_type: str) -> Self:
        made = cls.__new__(cls)
        made._name, made._type = name, op_type
        made._attrs, made._inputs, made._outputs = {}, [], []
        return made

    @property
    def name(self) -> str:
        return self._name

    @property
    def type(self) -> str:
        return self._type

    def set_attr(self, key: str, value: Any) -> None:
        """Set an attribute; raises ValueError for a value that GE does not store."""
        attrs.check_key(key)
        attrs.kind_of_value(value)
        self._attrs[key] = value

    def register_input(self, name: str) -> None:
        """Declare a required input."""
        self._declare(self._inputs, name, "required")

    def register_optional_input(self, name: str) -> None:
        """Declare an optional input."""
        self._declare(self._inputs, name, "optional")

    def register_output(self, name: str) -> None:
        """Declare an output."""
        self._declare(self._outputs, name, "required")

    def register_dynamic_input(self, name: str, count: int) -> None:
        """Declare `count` inputs `<name>0`, `<name>1`, ..."""
        self._declare_many(self._inputs, name, count)

    def register_dynamic_output(self, name: str, count: int) -> None:
        """Declare `count` outputs `<name>0`, `<name>1`, ..."""
        self._declare_many(self._outputs, name, count)

    def _declare(self, ios: list[Io], name: str, kind: IoKind) -> None:
        if not isinstance(cast("object", name), str):
            raise TypeError("name must be a string")
        ios.append(Io(name, kind))

    def _declare_many(self, ios: list[Io], name: str, count: int) -> None:
        if not isinstance(cast("object", name), str):
            raise TypeError("name must be a string")
        if not isinstance(cast("object", count), int) or count < 0:
            raise TypeError("count must be an integer of at least 0")
        ios += [Io(f"{name}{i}") for i in range(count)]
