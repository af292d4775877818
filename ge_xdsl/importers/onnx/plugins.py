"""Conversions that users register: what the importer asks before it looks at its own.

The package that user files import puts its look-up here; the importer knows nothing else of it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from xdsl.ir import SSAValue

from ge_xdsl.dialects.ge.prototype import AttrSpec, Io, Prototype, kind_of
from ge_xdsl.dialects.ge.registry import class_of_prototype, op_class, register, unknown_op
from ge_xdsl.importers.onnx.builder import Builder
from ge_xdsl.importers.onnx.native import form_of, native
from ge_xdsl.importers.onnx.node import Node
from ge_xdsl.importers.onnx.order import check_text


@dataclass(frozen=True)
class View:
    """A node as a user's conversion sees it; tensors are numpy arrays."""

    op_type: str
    name: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attrs: Mapping[str, Any]


@dataclass(frozen=True)
class Described:
    """The GE op that a user's conversion makes of a node; `attrs` are in the IR's form."""

    op_type: str
    attrs: Mapping[str, Any] = field(default_factory=dict[str, Any])
    inputs: Sequence[Io] = ()
    outputs: Sequence[Io] = ()


Conversion = Callable[[View], Described]
Finder = Callable[[str, int, str], "Conversion | None"]
"""Domain, version of its operator set and op type -> the conversion that a user registered."""

_finders: list[Finder] = []


def add_finder(finder: Finder) -> None:
    """Ask `finder` for conversions from now on."""
    _finders.append(finder)


def conversion_of(domain: str, opset: int, op_type: str) -> Conversion | None:
    """What a user registered for an op, None without it; the main domain has two names."""
    for name in (domain, "ai.onnx") if not domain else (domain,):
        for finder in _finders:
            found = finder(name, opset, op_type)
            if found is not None:
                return found
    return None


def by_plugin(node: Node, g: Builder, conversion: Conversion) -> Sequence[SSAValue]:
    """The results of the op that a user's conversion describes."""
    proto = node.proto
    view = View(
        node.op_type, node.name, tuple(proto.input), tuple(proto.output), _python_values(node, g)
    )
    made = conversion(view)
    cls = op_class(made.op_type)
    if cls is None:
        if not made.inputs and not made.outputs:
            node.fail(f"the plugin gives {' '.join(unknown_op(made.op_type))}")
        attrs = [AttrSpec(key, kind_of(value) or "String") for key, value in made.attrs.items()]
        cls = register(
            class_of_prototype(
                Prototype(made.op_type, tuple(made.inputs), tuple(made.outputs), tuple(attrs))
            )
        )
    return native(node, g, cls, made.attrs)


def _python_values(node: Node, g: Builder) -> dict[str, Any]:
    """The attributes as Python values; graphs and types are left out."""
    check_text(*node.attrs)
    found: dict[str, Any] = {}
    for name in list(node.attrs):
        if node.attrs[name].type not in (1, 2, 3, 4, 6, 7, 8):
            node.ignore(name)
            continue
        field_name, kind = form_of(node, name)
        value = node.value(name, field_name)
        if kind == "Tensor":
            try:
                found[name] = g.reader.array(value)
            except ValueError as error:
                node.fail(f"attribute '{name}' {error}")
        elif kind in ("String", "ListString"):
            texts = [value] if kind == "String" else value
            decoded = [text.decode("utf-8", "replace") for text in texts]
            found[name] = decoded[0] if kind == "String" else decoded
        else:
            found[name] = list(value) if kind.startswith("List") else value
    return found
