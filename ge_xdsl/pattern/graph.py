"""Pattern graphs: a pattern is itself a function of GE ops.

Block arguments are the pattern's inputs (any tensor), the operands of `func.return` its outputs.
Matching walks from the outputs backwards, so ops that no output needs are no part of it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

from xdsl.dialects.func import FuncOp
from xdsl.ir import BlockArgument, OpResult, SSAValue

from ge_xdsl.dialects.ge.data import ControlEdgeOp, UnconnectedOp
from ge_xdsl.dialects.ge.graph import topological_order
from ge_xdsl.dialects.ge.names import describe
from ge_xdsl.dialects.ge.op import CONSTANT_TYPES, GeOp
from ge_xdsl.pattern.access import operands_of, producer
from ge_xdsl.pattern.marks import Mark, marks_in

Capture: TypeAlias = tuple["GeOp | BlockArgument", int]
"""A captured tensor: its node (a block argument stands for GE's Data) and output index."""


@dataclass(frozen=True, eq=False)
class PatternGraph:
    """One pattern: the function, its captured tensors in capture order, and its name."""

    func: FuncOp
    captures: tuple[Capture, ...] = ()
    name: str = ""

    @staticmethod
    def from_function(
        func: FuncOp, captures: Sequence[Capture] = (), name: str = ""
    ) -> PatternGraph:
        """The pattern that a function of GE ops states; `validate` tells whether it can match."""
        return PatternGraph(func, tuple(captures), name or func.sym_name.data)

    @cached_property
    def inputs(self) -> Sequence[BlockArgument]:
        return self.func.body.block.args

    @cached_property
    def outputs(self) -> Sequence[SSAValue]:
        last = self.func.body.block.last_op
        return () if last is None else operands_of(last)

    @cached_property
    def branches(self) -> Sequence[Branch]:
        """The ops and inputs that each output is the first to reach, in matching order."""
        seen: set[SSAValue | GeOp] = set()
        return [_branch(output, seen) for output in self.outputs]

    @cached_property
    def nodes(self) -> Sequence[GeOp]:
        """The ops of the pattern in the order in which matching reaches them."""
        return [op for branch in self.branches for op in branch.nodes]

    @cached_property
    def used_inputs(self) -> Sequence[BlockArgument]:
        """The inputs that an output needs, by index: what a boundary's inputs correspond to."""
        found = {arg for branch in self.branches for arg in branch.inputs}
        return [arg for arg in self.inputs if arg in found]

    @cached_property
    def post_order(self) -> Sequence[GeOp]:
        """The ops of the pattern, producers before readers."""
        done: dict[GeOp, None] = {}
        stack = [(op, False) for v in self.outputs if isinstance(op := producer(v), GeOp)]
        while stack:
            op, ready = stack.pop()
            if ready:
                done[op] = None
            elif op not in done:
                stack.append((op, True))
                stack += [
                    (p, False)
                    for v in operands_of(op)
                    if isinstance(p := producer(v), GeOp) and p not in done
                ]
        return list(done)

    @cached_property
    def boundary_order(self) -> Sequence[GeOp]:
        """The ops breadth first from all outputs at once: outputs first."""
        roots = [op for v in self.outputs if (op := producer(v)) is not None]
        return list(_breadth_first(roots))

    @cached_property
    def marks(self) -> Mapping[SSAValue, Mark]:
        """What is asked of tensors of the pattern beyond GE's rules."""
        return marks_in(self.func.body.block)

    def validate(self, dynamic_inputs: bool = False) -> list[str]:
        """Why the pattern can never match (GE's checks, in their order); [] when it can.

        `dynamic_inputs`: ops with any number of operands are allowed, which GE refuses.
        """
        ops = [op for op in self.func.body.block.ops if isinstance(op, GeOp)]
        real = [op for op in ops if not isinstance(op, ControlEdgeOp)]
        reasons = [f"{describe(op)}: It has subgraph" for op in real if op.regions]
        for op in ops:
            if isinstance(op, ControlEdgeOp):
                ends = (producer(op.src), producer(op.dst))
                reasons += [f"{describe(e)}: has control edge" for e in ends if e is not None]
        for op in real:
            proto = op.prototype
            inputs = () if dynamic_inputs else proto.inputs
            for word, ios in (("output", proto.outputs), ("input", inputs)):
                names = [io.name for io in ios if io.kind == "dynamic"]
                reasons += [f"{describe(op)}: '{n}' is dynamic {word}" for n in names]
        reasons += [
            f"{describe(op)}: an operand is unconnected, expected a value"
            for op in real
            if any(isinstance(producer(v), UnconnectedOp) for v in operands_of(op))
        ]
        if topological_order(self.func.body.block) is None:
            reasons.append("the pattern has a cycle")
        if not self.outputs:
            reasons.append("the pattern has no output")
        elif isinstance(self.outputs[0], BlockArgument):
            reasons.append("output 0 is a pattern input, expected a node")
        used = {v for op in self.nodes for v in operands_of(op)}
        reasons += [
            f"pattern input {arg.index} is only returned, expected a node that uses it"
            for arg in self.used_inputs
            if arg not in used
        ]
        return list(dict.fromkeys(reasons))


@dataclass(frozen=True, slots=True)
class Branch:
    """What one pattern output adds to the match: the ops and inputs not reached before it."""

    output: SSAValue
    nodes: Sequence[GeOp]
    inputs: Sequence[BlockArgument]


def is_constant(op: GeOp) -> bool:
    """Whether a pattern op is a Const or Constant, which stand for each other."""
    return op.op_type in CONSTANT_TYPES


def _branch(output: SSAValue, seen: set[SSAValue | GeOp]) -> Branch:
    nodes: list[GeOp] = []
    inputs: list[BlockArgument] = []
    queue = deque([output])
    while queue:
        value = queue.popleft()
        if isinstance(value, BlockArgument):
            if value not in seen:
                seen.add(value)
                inputs.append(value)
        elif isinstance(value, OpResult) and isinstance(op := value.op, GeOp) and op not in seen:
            seen.add(op)
            nodes.append(op)
            queue += operands_of(op)
    return Branch(output, nodes, inputs)


def _breadth_first(roots: Sequence[object]) -> Iterator[GeOp]:
    seen = set(roots)
    queue = deque(dict.fromkeys(roots))
    while queue:
        op = queue.popleft()
        if not isinstance(op, GeOp):
            continue
        yield op
        for value in operands_of(op):
            source = producer(value)
            if source is not None and source not in seen:
                seen.add(source)
                queue.append(source)
