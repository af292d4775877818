"""`ge.onnx_plugin`: how ONNX nodes of a user's own become GE ops.

A plugin's callback is given the node and an `Operator` to fill in. Plugins are kept by domain,
opset and op type; the ONNX importer asks for them before it looks at its own conversions.
"""

# The API names its own internals with underscores; this package shares them.
# pyright: reportPrivateUsage=false

from __future__ import annotations

import threading
import traceback
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar, cast

from ge_xdsl.compat.ge.graph.attributes import attribute_of
from ge_xdsl.compat.ge.graph.operator import Operator
from ge_xdsl.compat.ge.graph.tensor import Tensor
from ge_xdsl.errors import CompileError, Location
from ge_xdsl.importers.onnx.plugins import Described, View, add_finder

if TYPE_CHECKING:
    from xdsl.ir import Attribute

    from ge_xdsl.importers.onnx.plugins import Conversion

__all__ = [
    "OnnxNode",
    "OnnxPlugin",
    "clear_registered_onnx_plugins",
    "get_registered_onnx_plugin",
    "get_registered_onnx_plugins",
    "onnx_plugin",
    "parse",
]

F = TypeVar("F", bound="Callable[[OnnxNode, Operator], Any]")


@dataclass(frozen=True)
class OnnxNode:
    """An ONNX node: its op type, names, and attributes as Python values."""

    op_type: str
    name: str = ""
    inputs: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()
    attrs: Mapping[str, Any] = field(default_factory=dict[str, Any])

    def get_attr(self, name: str, default: Any = None) -> Any:
        """An attribute, `default` when the node does not give it."""
        return self.attrs.get(name, default)


class OnnxPlugin:
    """The conversion of one ONNX op type: made by `onnx_plugin`, completed by `parse_node`."""

    def __init__(self, source: str, domain: str, opsets: tuple[int, ...], target: str) -> None:
        self.source = source
        self.domain = domain
        self.opsets = opsets
        self.target = target
        self._parse: Callable[[OnnxNode, Operator], Any] | None = None

    @property
    def keys(self) -> list[str]:
        """`<domain>::<opset>::<source>` of each opset."""
        return [f"{self.domain}::{opset}::{self.source}" for opset in self.opsets]

    def parse_node(self, function: F) -> F:
        """Decorator: the callback that fills in the op, `fn(onnx_node, operator)`."""
        if not callable(cast("object", function)):
            raise TypeError("parse_node expects a function")
        if self._parse is not None:
            raise ValueError(f"parse_node of {self.source} is given twice, expected once")
        self._parse = function
        return function


_lock = threading.RLock()
_plugins: dict[str, OnnxPlugin] = {}


def onnx_plugin(*, source: str, domain: str, opsets: Iterable[int], target: str) -> OnnxPlugin:
    """Register a conversion from the ONNX op type `source` to the GE op type `target`.

    Raises TypeError or ValueError for wrong arguments and for a key that is taken.
    """
    for name, value in (("source", source), ("domain", domain), ("target", target)):
        if not isinstance(cast("object", value), str) or (not value and name != "domain"):
            raise TypeError(f"onnx_plugin {name} must be a non-empty string")
    if isinstance(cast("object", opsets), str | bytes) or not hasattr(opsets, "__iter__"):
        raise TypeError("onnx_plugin opsets must be an iterable of integers")
    numbers = tuple(opsets)
    if not numbers or not all(isinstance(cast("object", n), int) and n > 0 for n in numbers):
        raise ValueError("onnx_plugin opsets must be positive integers, expected at least one")
    made = OnnxPlugin(source, domain, numbers, target)
    with _lock:
        taken = next((key for key in made.keys if key in _plugins), None)
        if taken is not None:
            raise ValueError(f"onnx plugin already exists: {taken}")
        _plugins.update(dict.fromkeys(made.keys, made))
    return made


def get_registered_onnx_plugins() -> dict[str, OnnxPlugin]:
    """Key -> plugin, in registration order."""
    with _lock:
        return dict(_plugins)


def get_registered_onnx_plugin(domain: str, opset: int, source: str) -> OnnxPlugin | None:
    """The plugin of an op type at an opset, None without one."""
    with _lock:
        return _plugins.get(f"{domain}::{opset}::{source}")


def clear_registered_onnx_plugins() -> None:
    """Forget every plugin."""
    with _lock:
        _plugins.clear()


def parse(plugin: OnnxPlugin, node: OnnxNode) -> Operator:
    """The op that a plugin makes of a node; raises RuntimeError without a callback."""
    if plugin._parse is None:
        raise RuntimeError(f"onnx plugin of {plugin.source} has no parse_node, expected one")
    operator = Operator._create_from(node.name or node.op_type, plugin.target)
    plugin._parse(node, operator)
    return operator


def _conversion(domain: str, opset: int, source: str) -> Conversion | None:
    """What the importer runs for a node with a plugin."""
    plugin = get_registered_onnx_plugin(domain, opset, source)
    if plugin is None:
        return None
    return lambda view: _described(plugin, view)


def _described(plugin: OnnxPlugin, view: View) -> Described:
    """The op that a plugin describes; raises CompileError at the user's line."""
    subject = f"{view.op_type} '{view.name}'"
    attrs = {name: _given(value) for name, value in view.attrs.items()}
    node = OnnxNode(view.op_type, view.name, view.inputs, view.outputs, attrs)
    try:
        made = parse(plugin, node)
    except Exception as error:  # whatever the user's callback raises
        frames = traceback.extract_tb(error.__traceback__)
        last = frames[-1]
        place = None if last.filename == __file__ else Location(last.filename, last.lineno or 1, 1)
        text = str(error).strip().split("\n")[0]
        raise CompileError(
            f"onnx plugin raised {type(error).__name__}: {text}", subject=subject, location=place
        ) from error
    encoded: dict[str, Attribute] = {}
    for name, value in made._attrs.items():
        encoded[name] = attribute_of(value, f"{view.name}.{name}")
    return Described(made.type, encoded, made._inputs, made._outputs)


def _given(value: Any) -> Any:
    """An attribute's value as the callback sees it: tensors are those of `ge.graph`."""
    return Tensor._create_from(value) if hasattr(value, "__array_interface__") else value


add_finder(_conversion)
