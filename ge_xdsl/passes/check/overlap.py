"""Graphs in which two patterns meet: laid over each other at one node, or one behind the other.

These are the critical pairs of two rules: whatever one of them does to a match of the other shows
on one of them first.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, BlockArgument, OpResult, Region, SSAValue

from ge_xdsl.dialects.ge.graph import ge_ops, main_function
from ge_xdsl.dialects.ge.names import ensure_names
from ge_xdsl.dialects.ge.op import NAME, GeOp
from ge_xdsl.pattern.access import operands_of, producer
from ge_xdsl.pattern.graph import PatternGraph, is_constant


def overlaps(first: FuncOp, second: FuncOp) -> Iterator[ModuleOp]:
    """The graphs of `first` and `second` merged at each pair of nodes that can be one."""
    for merger in _mergers(first, second):
        module = merger.module([*_outputs(first), *_outputs(second)])
        if module is not None:
            yield module


def feeding(pattern: PatternGraph, replacement: FuncOp, second: FuncOp) -> Iterator[ModuleOp]:
    """Graphs in which replacing the pattern makes nodes that `second` looks for.

    The graphs of the replacement and of `second` are merged; then the pattern stands where the
    replacement stood.
    """
    for merger in _mergers(replacement, second):
        merger.stand_in(replacement, pattern)
        module = merger.module([*_outputs(replacement), *_outputs(second)])
        if module is not None:
            yield module


def _mergers(first: FuncOp, second: FuncOp) -> Iterator[_Merger]:
    for p in ge_ops(first):
        for q in ge_ops(second):
            if not is_constant(p):
                merger = _Merger()
                if merger.align(p, q):
                    yield merger


def _outputs(func: FuncOp) -> Sequence[SSAValue]:
    last = func.body.block.last_op
    return () if last is None else operands_of(last)


class _Merger:
    """Two graphs being merged: which tensors are one, and what stands for which."""

    def __init__(self) -> None:
        self.same: dict[SSAValue, SSAValue] = {}
        """A tensor of the second graph, or an input of the first -> what it is."""
        self.aligned: dict[GeOp, GeOp] = {}
        """A node of the second graph -> the node of the first that it is."""
        self.stands: dict[SSAValue, SSAValue] = {}
        """A tensor of the replacement -> the tensor of the pattern that stands for it."""
        self.hidden: set[GeOp] = set()
        """Nodes that are not there as long as the pattern stands for the replacement."""

    def align(self, p: GeOp, q: GeOp) -> bool:
        """Let two nodes, and what they read, be one; whether that is possible."""
        if q in self.aligned:
            return self.aligned[q] is p
        if p.op_type != q.op_type or len(p.results) != len(q.results):
            return False
        if list(p.operand_counts()) != list(q.operand_counts()):
            return False
        self.aligned[q] = p
        self.same.update(zip(q.results, p.results, strict=True))
        return all(map(self.unify, operands_of(p), operands_of(q)))

    def unify(self, a: SSAValue, b: SSAValue) -> bool:
        """Let two tensors be one; whether that is possible."""
        a, b = self.find(a), self.find(b)
        if a is b:
            return True
        if isinstance(b, BlockArgument):
            self.same[b] = a
            return True
        if isinstance(a, BlockArgument):
            self.same[a] = b
            return True
        p, q = producer(a), producer(b)
        if not isinstance(p, GeOp) or not isinstance(q, GeOp):
            return False
        assert isinstance(a, OpResult)
        assert isinstance(b, OpResult)
        return a.index == b.index and self.align(p, q)

    def find(self, value: SSAValue) -> SSAValue:
        while value in self.same:
            value = self.same[value]
        return value

    def stand_in(self, replacement: FuncOp, pattern: PatternGraph) -> None:
        """Let a pattern stand for its replacement."""
        self.hidden = set(ge_ops(replacement))
        pairs = zip(_outputs(replacement), pattern.outputs, strict=False)
        self.stands = {new: old for new, old in pairs if producer(new) is not None}
        for new, old in zip(replacement.body.block.args, pattern.used_inputs, strict=False):
            self.same[old] = new

    def module(self, outputs: Sequence[SSAValue]) -> ModuleOp | None:
        """The merged graph; None when it has a cycle, or needs a node that is not there."""
        block = Block()
        copies: dict[SSAValue, SSAValue] = {}
        for value in dict.fromkeys(map(self.shown, outputs)):
            if not self.copy(value, block, copies):
                return None
        roots = list(dict.fromkeys(copies[self.shown(value)] for value in outputs))
        # What another node reads stays inside, else no pattern that goes on from there matches.
        results = [v for v in roots if isinstance(v, OpResult) and v.first_use is None]
        if not results:
            return None
        block.add_op(ReturnOp(*results))
        types = ([arg.type for arg in block.args], [value.type for value in results])
        module = ModuleOp([FuncOp("main", types, Region(block))])
        ensure_names(main_function(module))
        return module

    def shown(self, value: SSAValue) -> SSAValue:
        """What a tensor is in the merged graph."""
        value = self.find(value)
        while value in self.stands:
            value = self.find(self.stands[value])
        return value

    def copy(self, root: SSAValue, block: Block, copies: dict[SSAValue, SSAValue]) -> bool:
        """Copy what a tensor needs; False when there is a cycle or a node that is hidden."""
        open_ops: set[GeOp] = set()
        stack = [root]
        while stack:
            value = stack[-1]
            op = producer(value)
            if value in copies:
                stack.pop()
            elif isinstance(value, BlockArgument):
                arg = copies[value] = block.insert_arg(value.type, len(block.args))
                arg.name_hint = f"in{arg.index}"
            elif not isinstance(op, GeOp) or op in self.hidden:
                return False
            else:
                operands = [self.shown(v) for v in operands_of(op)]
                missing = [v for v in operands if v not in copies]
                if missing and op in open_ops:
                    return False
                open_ops.add(op)
                stack += reversed(missing)
                if not missing:
                    values = zip(op.operands, (copies[v] for v in operands), strict=True)
                    new = op.clone(dict(values))
                    new.attributes.pop(NAME, None)
                    block.add_op(new)
                    copies.update(zip(op.results, new.results, strict=True))
        return True
