"""The objects that hooks are given and give back: context, patterns, match results, options."""

# The API names its own internals with underscores; this package shares them.
# pyright: reportPrivateUsage=false

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn, Self

from xdsl.dialects.func import FuncOp
from xdsl.ir import BlockArgument, OpResult

from ge_xdsl.compat.ge._quirks import upstream_quirks
from ge_xdsl.compat.ge.es.tensor_holder import TensorHolder
from ge_xdsl.compat.ge.graph.graph import Graph, take_function
from ge_xdsl.compat.ge.graph.node import Node, handle_behind, node_of
from ge_xdsl.compat.ge.passes._handles import hand_over
from ge_xdsl.dialects.ge import nodes as ports
from ge_xdsl.dialects.ge.op import GeOp
from ge_xdsl.errors import CompileError
from ge_xdsl.passes.registry import StageRun

if TYPE_CHECKING:
    from ge_xdsl.pattern.graph import Capture
    from ge_xdsl.pattern.match import Match


def _not_constructible(cls: type) -> NoReturn:
    raise TypeError(f"{cls.__name__} has no constructor")


class PassContext:
    """What a pass may ask of the compile; valid during the current callback."""

    _run: StageRun | None

    def __init__(self) -> None:
        _not_constructible(type(self))

    @classmethod
    def _create_from(cls, run: StageRun) -> Self:
        context = cls.__new__(cls)
        context._run = run
        return context

    def _live(self) -> StageRun:
        if self._run is None:
            raise RuntimeError("PassContext handle has expired")
        return self._run

    def _invalidate(self) -> None:
        self._run = None

    def get_pass_name(self) -> str:
        return self._live().pass_name

    def set_pass_name(self, name: str) -> None:
        self._live().pass_name = name

    def get_error_message(self) -> str:
        return self._live().error_message

    def set_error_message(self, message: str) -> None:
        self._live().error_message = message

    def get_option_value(self, key: str) -> str:
        """The value of a compile option; raises RuntimeError for one that is not set."""
        options = self._live().session.options
        if key not in options:
            raise RuntimeError(f"Failed to get option value for key: {key}")
        return options[key]


@dataclass(frozen=True)
class NodeIo:
    """An output of a node."""

    node: Node
    index: int = 0


class Pattern:
    """A pattern graph and its captured tensors. Takes the graph over."""

    def __init__(self, graph: Graph) -> None:
        if not hasattr(graph, "_handle"):
            raise RuntimeError("Graph object must carry _handle")
        self._func: FuncOp | None = take_function(graph, "Pattern graph handle is empty")
        self._captures: list[Capture] = []

    def _live(self) -> FuncOp:
        if self._func is None:
            raise RuntimeError("Pattern handle has been released")
        return self._func

    def capture_tensor(self, source: Any, index: int | None = None) -> Self:
        """Capture an output of a node of the pattern; a holder stands for its own output."""
        self._live()
        if index is None and hasattr(source, "node") and hasattr(source, "index"):
            source, index = source.node, source.index
        if isinstance(source, TensorHolder):
            if index is None:
                return self._capture_exactly(source)
            source = source._get_node_snapshot()
        handle = handle_behind(source)
        if not isinstance(handle, BlockArgument | GeOp):
            raise RuntimeError("Node object must carry _handle")
        self._captures.append((handle, index or 0))
        return self

    def _capture_exactly(self, tensor: TensorHolder) -> Self:
        """Capture the very output that a holder stands for."""
        value = tensor._handle
        handle = ports.handle_of(value)
        assert isinstance(handle, BlockArgument | GeOp)
        exact = isinstance(value, OpResult) and not upstream_quirks()
        index = value.index if exact and isinstance(value, OpResult) else 0
        self._captures.append((handle, index))
        return self

    def get_captured_tensors(self) -> list[NodeIo]:
        """The captured tensors in capture order."""
        self._live()
        return [NodeIo(node_of(handle), index) for handle, index in self._captures]

    def is_valid(self) -> bool:
        return self._func is not None

    def release(self) -> int:
        """Hand the pattern to an engine, once; the handle under which it finds it."""
        return hand_over(self._release())

    def _release(self) -> tuple[FuncOp, list[Capture]]:
        """The pattern's function and captures, taken away from this object."""
        func = self._live()
        self._func = None
        return func, self._captures


def create_pattern(graph: Graph) -> Pattern:
    """A pattern with this graph, which it takes over."""
    return Pattern(graph)


class MatchResult:
    """One match; valid until the hook that was given it returns."""

    _match: Match | None

    def __init__(self) -> None:
        _not_constructible(type(self))

    @classmethod
    def _create_from(cls, match: Match) -> Self:
        result = cls.__new__(cls)
        result._match = match
        return result

    def _live(self) -> Match:
        if self._match is None:
            raise RuntimeError("MatchResult handle has expired")
        return self._match

    def _invalidate(self) -> None:
        self._match = None

    def get_matched_nodes(self) -> list[Node]:
        """The matched nodes, constants included, in graph order."""
        return [node_of(op) for op in self._live().matched_nodes()]

    def get_captured_tensor(self, capture_index: int) -> NodeIo:
        """The tensor that captured tensor `capture_index` of the pattern stands for."""
        match = self._live()
        if not isinstance(capture_index, int) or capture_index < 0:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError("capture_index must be a non-negative integer")
        captures = match.graph.captures
        hidden = capture_index < len(captures) and (
            captures[capture_index] in captures[capture_index + 1 :]
        )
        if hidden and upstream_quirks():
            raise RuntimeError("Failed to get captured tensor from MatchResult: captured again")
        try:
            handle, index = match.captured(capture_index)
        except CompileError as error:
            raise RuntimeError(
                f"Failed to get captured tensor from MatchResult: {error.message}"
            ) from None
        return NodeIo(node_of(handle), index)

    def get_pattern_graph_name(self) -> str:
        return self._live().pattern_name

    def __str__(self) -> str:
        return str(self._live())


class PatternMatcherConfig:
    """What is compared besides topology and op types."""

    _const_value: bool
    _ir_attr: bool

    def __init__(self) -> None:
        _not_constructible(type(self))

    def is_enable_const_value_match(self) -> bool:
        return self._const_value

    def is_enable_ir_attr_match(self) -> bool:
        return self._ir_attr


class PatternMatcherConfigBuilder:
    """Makes a PatternMatcherConfig; everything is off until enabled."""

    def __init__(self) -> None:
        self._const_value = False
        self._ir_attr = False

    def enable_const_value_match(self) -> Self:
        self._const_value = True
        return self

    def enable_ir_attr_match(self) -> Self:
        self._ir_attr = True
        return self

    def build(self) -> PatternMatcherConfig:
        config = PatternMatcherConfig.__new__(PatternMatcherConfig)
        config._const_value = self._const_value
        config._ir_attr = self._ir_attr
        return config
