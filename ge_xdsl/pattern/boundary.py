"""The boundary of a subgraph, the closure rule, and the cycle check.

A boundary is the tensors that enter a subgraph and the tensors that leave it. The ops between
them are found by walking from the outputs backwards to the producers of the inputs.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence

from xdsl.ir import Block, Operation, SSAValue

from ge_xdsl.dialects.ge.data import ControlEdgeOp
from ge_xdsl.dialects.ge.names import describe, describe_value
from ge_xdsl.pattern.access import (
    block_of,
    control_successors,
    data_uses,
    in_block,
    last_op,
    operands_of,
    prev_op,
    producer,
    user_of,
    uses,
)
from ge_xdsl.pattern.order import BlockOrder

NOT_CLOSED = "Boundary is not self contained"
NOT_ONE_GRAPH = "Boundary is not in same graph with others"


class Boundary:
    """Producer tensors that enter a subgraph, and its tensors that leave it, both in order."""

    __slots__ = ("_nodes", "inputs", "outputs")

    def __init__(
        self,
        inputs: Sequence[SSAValue],
        outputs: Sequence[SSAValue],
        nodes: Sequence[Operation] | None = None,
    ) -> None:
        self.inputs = tuple(inputs)
        self.outputs = tuple(outputs)
        self._nodes = nodes

    @property
    def block(self) -> Block | None:
        """The graph that the outputs are in, None for no output or several graphs."""
        blocks = [block_of(value) for value in self.outputs]
        return blocks[0] if blocks and all(b is blocks[0] for b in blocks) else None

    @property
    def nodes(self) -> Sequence[Operation]:
        """The ops inside, breadth first from the outputs, the outputs' own first."""
        if self._nodes is None:
            self._nodes = _inside(self.inputs, self.outputs)
        return self._nodes

    def consumers(self, index: int) -> list[tuple[Operation, int]]:
        """The operands inside that input `index` feeds: op and operand index, in node order."""
        value = self.inputs[index]
        return [(op, i) for op in self.nodes for i, v in enumerate(operands_of(op)) if v is value]

    def problem(self) -> str:
        """Why the subgraph cannot be replaced, '' when it can."""
        if self.block is None:
            return NOT_ONE_GRAPH
        for value in self.outputs:
            if producer(value) is None:
                return f"{NOT_CLOSED}: output {describe_value(value)} is no node's"
        leak = outside_use(self)
        if leak is not None:
            node, user = leak
            return f"{NOT_CLOSED}: {describe(node)} is used outside by {user_name(user)}"
        for op in self.nodes:
            for value in operands_of(op):
                if producer(value) is None and not any(value is v for v in self.inputs):
                    return f"{NOT_CLOSED}: {describe_value(value)} is no input of it"
        inner = tangled_input(self)
        if inner >= 0:
            return f"input {inner} is computed from an output, expected a tensor from outside"
        return ""


def user_name(op: Operation) -> str:
    """How a reason names the op that uses a tensor; the terminator is the graph's output."""
    if op.parent is not None and op is op.parent.last_op:
        return "the graph output"
    return describe(op)


def _inside(inputs: Sequence[SSAValue], outputs: Sequence[SSAValue]) -> list[Operation]:
    """GE's node set: breadth first from the output nodes, stopping at producers of inputs."""
    stops = {op for v in inputs if (op := producer(v)) is not None}
    found = dict.fromkeys(op for v in outputs if (op := producer(v)) is not None)
    queue = deque(found)
    while queue:
        for value in operands_of(queue.popleft()):
            op = producer(value)
            if op is not None and op not in found and op not in stops:
                found[op] = None
                queue.append(op)
    return list(found)


def outside_use(boundary: Boundary) -> tuple[Operation, Operation] | None:
    """The first node inside that is no output's and is read from outside, with its reader."""
    inside = set(boundary.nodes)
    owners = {producer(value) for value in boundary.outputs}
    for op in boundary.nodes:
        if op in owners:
            continue
        for result in op.results:
            readers = [user for use in data_uses(result) if (user := user_of(use)) not in inside]
            if readers:
                return op, readers[-1]
    return None


def outside_reads(boundary: Boundary) -> list[SSAValue]:
    """The tensors that ops inside give, no output's own op, and that are read from outside."""
    inside = set(boundary.nodes)
    owners = {producer(value) for value in boundary.outputs}
    return [
        result
        for op in boundary.nodes
        if op not in owners
        for result in op.results
        if any(user_of(use) not in inside for use in data_uses(result))
    ]


def tangled_input(boundary: Boundary) -> int:
    """The index of an input that depends on an output through nodes inside, -1 when none does.

    Replacing would make such an input depend on itself.
    """
    inside = set(boundary.nodes)
    outputs = set(boundary.outputs)
    tainted: set[SSAValue] = set(outputs)
    suspects = [v for v in boundary.inputs if v in outputs or producer(v) in inside]
    if not suspects:
        return -1
    queue = deque(boundary.outputs)
    while queue:
        for use in data_uses(queue.popleft()):
            user = user_of(use)
            if user in inside:
                new = [r for r in user.results if r not in tainted]
                tainted.update(new)
                queue += new
    return next((i for i, v in enumerate(boundary.inputs) if v in tainted), -1)


def makes_cycle(
    nodes: Sequence[Operation], order: BlockOrder | None = None, block: Block | None = None
) -> bool:
    """Whether fusing `nodes` into one would close a cycle through data or control edges.

    That is so when a path leaves the set and comes back. Data edges alone only lead forward in
    the block, so the walk stops behind the last node of the set.
    """
    home = nodes[0].parent if nodes and block is None else block
    if home is None or not nodes:
        return False
    inside = set(nodes)
    has_control = has_control_edge(home)
    last = None
    if not has_control:
        order = order or BlockOrder(home)
        last = max(order.label(op) for op in nodes)
    seen: set[Operation] = set()
    queue = deque(nodes)
    while queue:
        op = queue.popleft()
        for user in _successors(op, home, has_control):
            if user in inside:
                if op not in inside:
                    return True
                continue
            if user in seen or (last is not None and order and order.label(user) > last):
                continue
            seen.add(user)
            queue.append(user)
    return False


def has_control_edge(block: Block) -> bool:
    last = last_op(block)
    return last is not None and (
        type(prev_op(last)) is ControlEdgeOp or type(last) is ControlEdgeOp
    )


def _successors(op: Operation, block: Block, control: bool) -> Iterable[Operation]:
    for result in op.results:
        for use in uses(result):
            user = user_of(use)
            if type(user) is not ControlEdgeOp:
                home = in_block(user, block)
                if home is not None:
                    yield home
    if control:
        yield from control_successors(op)
