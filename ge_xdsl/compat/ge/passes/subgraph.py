"""`SubgraphRewriter` and the boundary of the subgraph that it replaces."""

# The API names its own internals with underscores; this package shares them.
# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NoReturn, cast, overload

from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, BlockArgument, Operation, SSAValue

from ge_xdsl.compat.ge.graph.graph import Graph, function_of
from ge_xdsl.compat.ge.graph.node import Node, handle_behind
from ge_xdsl.compat.ge.passes.values import PassContext
from ge_xdsl.dialects.ge import nodes as ports
from ge_xdsl.dialects.ge.op import GeOp
from ge_xdsl.errors import CompileError
from ge_xdsl.passes.registry import StageRun, current_run
from ge_xdsl.pattern.boundary import Boundary
from ge_xdsl.pattern.rewrite import Scope, replace_in
from ge_xdsl.pattern.rule import APPLIED, Declined
from ge_xdsl.pattern.verify import verifier_of

SUCCESS = 0
FAILED = 0xFFFFFFFF


class SubgraphInput:
    """One tensor that enters a subgraph: the inner nodes that read it, with their input ports."""

    def __init__(self, node_inputs: Iterable[tuple[Node, int]] = ()) -> None:
        self._entries: list[tuple[Node, int]] = []
        for entry in cast("Iterable[object]", node_inputs):
            pair = cast("tuple[Any, ...]", entry) if isinstance(entry, tuple) else ()
            if len(pair) != 2 or not isinstance(pair[0], Node) or not isinstance(pair[1], int):
                raise RuntimeError("SubgraphInput expects iterable of (node, index)")
            self._entries.append((pair[0], pair[1]))

    def add_input(self, node: Node, out_index: int) -> int:
        """Add an inner reader by its input port; a failure status for a port of another tensor."""
        value = _input_value(node, out_index)
        if value is None or (self._entries and self._value() is not value):
            return FAILED
        self._entries.append((node, out_index))
        return SUCCESS

    def _value(self) -> SSAValue | None:
        return _input_value(*self._entries[0]) if self._entries else None


class SubgraphOutput:
    """One tensor that leaves a subgraph: an output of an inner node."""

    def __init__(self, node: Node | None = None, out_index: int = 0) -> None:
        self._entry: tuple[Node, int] | None = None if node is None else (node, out_index)

    def set_output(self, node: Node, out_index: int) -> int:
        """Set the output; a failure status when it is set or does not exist."""
        if self._entry is not None or _output_value(node, out_index) is None:
            return FAILED
        self._entry = (node, out_index)
        return SUCCESS

    def _value(self) -> SSAValue | None:
        return _output_value(*self._entry) if self._entry is not None else None


class SubgraphBoundary:
    """Inputs and outputs of the subgraph to replace, by index."""

    def __init__(self) -> None:
        self._inputs: dict[int, SubgraphInput] = {}
        self._outputs: dict[int, SubgraphOutput] = {}

    def add_input(self, index: int, input: SubgraphInput) -> int:
        """Set input `index`; a failure status when it is set."""
        _check_part(index, input, SubgraphInput)
        if index in self._inputs:
            return FAILED
        self._inputs[index] = input
        return SUCCESS

    def add_output(self, index: int, output: SubgraphOutput) -> int:
        """Set output `index`; a failure status when it is set."""
        _check_part(index, output, SubgraphOutput)
        if index in self._outputs:
            return FAILED
        self._outputs[index] = output
        return SUCCESS

    def _boundary(self) -> Boundary:
        """The engine's boundary; raises CompileError for gaps and for what does not exist."""
        inputs = _ordered("input", {i: part._value() for i, part in self._inputs.items()})
        outputs = _ordered("output", {i: part._value() for i, part in self._outputs.items()})
        return Boundary(inputs, outputs)


def _check_part(index: object, part: object, cls: type) -> None:
    if not isinstance(index, int) or index < 0:
        raise TypeError("index must be a non-negative integer")
    if not isinstance(part, cls):
        raise TypeError(f"boundary part is {type(part).__name__}, expected a {cls.__name__}")


def _ordered(word: str, values: dict[int, SSAValue | None]) -> list[SSAValue]:
    if sorted(values) != list(range(len(values))):
        raise CompileError(f"boundary {word} indices are {sorted(values)}, expected 0 to n-1")
    found: list[SSAValue] = []
    for index in range(len(values)):
        value = values[index]
        if value is None:
            raise CompileError(f"boundary {word} {index} is not connected, expected a tensor")
        found.append(value)
    return found


def _input_value(node: Node, port: int) -> SSAValue | None:
    handle = handle_behind(node)
    if not isinstance(handle, Operation):
        return None
    slots = ports.input_slots(handle)
    value = slots[port] if 0 <= port < len(slots) else None
    return None if value is None or ports.handle_of(value) is None else value


def _output_value(node: Node, port: int) -> SSAValue | None:
    handle = handle_behind(node)
    if not isinstance(handle, Operation | BlockArgument):
        return None
    values = ports.outputs(handle)
    return values[port] if 0 <= port < len(values) else None


class SubgraphRewriter:
    """Replaces the nodes inside a boundary by a graph."""

    def __init__(self) -> NoReturn:
        raise TypeError("SubgraphRewriter has no constructor")

    @overload
    @staticmethod
    def replace(boundary: SubgraphBoundary, replacement: Graph) -> int: ...
    @overload
    @staticmethod
    def replace(
        boundary: SubgraphBoundary, replacement: Graph, *, context: PassContext
    ) -> None: ...
    @staticmethod
    def replace(
        boundary: SubgraphBoundary, replacement: Graph, *, context: PassContext | None = None
    ) -> int | None:
        """Replace; the replacement is copied and stays the caller's.

        Without a context the result is a status, 0 for success. With one the replaced nodes are
        checked and recorded as a fusion of the pass; a failure raises RuntimeError.
        """
        _check_types(boundary, replacement)
        func = function_of(replacement)
        if func is None:
            raise RuntimeError("Graph handle is empty")
        name = "" if context is None else context.get_pass_name()
        problem = _replaced(boundary, func, name)
        if context is None:
            return FAILED if problem else SUCCESS
        if problem:
            text = (
                f"SubgraphRewriter::Replace with context failed, pass_name={name}, "
                f"status={FAILED}: {problem}"
            )
            context.set_error_message(text)
            raise RuntimeError(text)
        return None


def _check_types(boundary: object, replacement: object) -> None:
    if not isinstance(boundary, SubgraphBoundary):
        raise TypeError("boundary must be a SubgraphBoundary")
    if not isinstance(replacement, Graph):
        raise TypeError("replacement must be a ge.graph.Graph")


def _replaced(given: SubgraphBoundary, func: FuncOp, pass_name: str) -> str:
    """Replace; why it was refused, '' when it was done."""
    run = current_run()
    root: GeOp | None = None
    try:
        boundary = given._boundary()
        root = _root(boundary)
        problem = boundary.problem()
        block = boundary.block
        if not problem and block is not None:
            scope = _scope(block, run)
            scope.pass_name = pass_name
            replace_in(scope, boundary, func)
            scope.origins.flush()
    except CompileError as error:
        problem = error.message
    if problem and run is not None and not pass_name:
        run.session.warn(f"pass '{run.pass_name}': SubgraphRewriter.replace refused: {problem}")
    if run is not None and root is not None:
        run.report(root, Declined(problem, root, 1, True) if problem else APPLIED)
    return problem


def _root(boundary: Boundary) -> GeOp | None:
    """The node that reports name a replaced subgraph by: that of its first output."""
    owners = [value.owner for value in boundary.outputs]
    return next((op for op in owners if isinstance(op, GeOp)), None)


def _scope(block: Block, run: StageRun | None) -> Scope:
    """What the replaces of one pass over one block share: names and positions."""
    if run is None:
        return Scope(block, infer=False)
    found = run.scopes.get(block)
    if found is None:
        verifier = verifier_of(run.session.recorders)
        found = run.scopes[block] = Scope(block, infer=run.infers, verifier=verifier)
        found.rule = run.pass_name
    return found
