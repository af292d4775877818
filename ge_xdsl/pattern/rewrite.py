"""Replacing a subgraph by a graph of new nodes, all or nothing.

`replace` is GE's SubgraphRewriter.Replace: everything that can fail happens before the first
change, so an error leaves the graph as it was. The replacement is a function (block arguments =
boundary inputs, returned tensors = boundary outputs) and is copied, so it can be used again.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from xdsl.dialects.builtin import StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter
from xdsl.utils.exceptions import VerifyException

from ge_xdsl.dialects.ge.data import ControlEdgeOp, NoOpOp
from ge_xdsl.dialects.ge.graph import location_of, topological_order
from ge_xdsl.dialects.ge.names import describe
from ge_xdsl.dialects.ge.op import NAME, GeOp, set_type
from ge_xdsl.dialects.ge.types import (
    DEFAULT_LAYOUT,
    DYNAMIC,
    DataType,
    Tensor,
    compatible,
    tensor_of,
)
from ge_xdsl.errors import CompileError
from ge_xdsl.pattern import provenance
from ge_xdsl.pattern.access import (
    WIDE,
    control_edges,
    control_sources,
    control_successors,
    copy_with,
    data_uses,
    in_block,
    is_ge,
    next_op,
    next_use,
    operands_of,
    producer,
    seal,
    set_operand,
    set_wide_operand,
    type_of,
    use_index,
    user_of,
    uses,
)
from ge_xdsl.pattern.boundary import Boundary, has_control_edge, makes_cycle
from ge_xdsl.pattern.order import BlockOrder
from ge_xdsl.pattern.provenance import Names, Origins, fuse_problem, held_nodes, inherit, texts
from ge_xdsl.pattern.result_types import infer_types
from ge_xdsl.pattern.verify import Verifier

Moved: TypeAlias = Callable[[Operation, int], None]
Replaced: TypeAlias = Callable[[list[GeOp], list[GeOp], list[tuple[Operation, int]]], None]


@dataclass(slots=True)
class Scope:
    """What the replaces of one run over a block share."""

    block: Block
    pass_name: str = ""
    infer: bool = True
    """Whether new ops get the types that `infer` gives for the real inputs, checked against the
    types that the readers had; off before shapes are inferred."""
    rewriter: PatternRewriter | None = None
    """Told of every insertion, modification and removal."""
    moved: Moved | None = None
    """Told of each operand that reads something else, in the place of the rewriter."""
    replaced: Replaced | None = None
    """Told, in the place of the rewriter, what a plan did at once: the new ops, the removed ones
    (readers before producers), the operands that read something else; None forbids plans."""
    batched: bool = False
    """Whether `finish` comes at the end of a run: what costs as much as an op is wide, or the
    graph has outputs, is then put off until there."""
    graph_names: provenance.GraphNames | None = None
    """The names of the graph, where runs over its blocks share them."""
    names: Names = field(init=False)
    order: BlockOrder = field(init=False)
    origins: Origins = field(default_factory=Origins)
    wide: dict[Operation, None] = field(default_factory=dict[Operation, None])
    retyped: bool = False
    first_edge: ControlEdgeOp | None = None
    verifier: Verifier | None = None
    """Checks each rewrite by numbers before it is applied."""
    rule: str = ""
    """The rule under attempt, for the verifier."""
    finite: bool = False
    """Whether that rule asks for no NaN and no infinity among its inputs."""
    reads_values: bool = False
    """Whether the types of the last replacement may depend on the values of constants."""
    passes: Attribute | None = field(init=False)
    """What a new node says of the passes that made it, when it replaces original nodes."""

    def __post_init__(self) -> None:
        self.names = Names(self.graph_names or provenance.names_around(self.block))
        self.order = BlockOrder(self.block)
        self.passes = texts((self.pass_name,)) if self.pass_name else None

    def finish(self) -> None:
        """End a run: write the origins, and whatever was put off."""
        self.origins.flush()
        seal(self.wide)
        self.wide.clear()
        if self.retyped:
            self.retyped = False
            _retype_outputs(self.block)

    def tail(self) -> Operation:
        """What stands behind the nodes: the first control edge, else the terminator."""
        first = self.first_edge
        if first is None or first.parent is not self.block or _is_edge(first.prev_op):
            edges = control_edges(self.block)
            first = self.first_edge = edges[0] if edges else None
        last = first or self.block.last_op
        assert last is not None
        return last

    def set_operand(self, op: Operation, index: int, value: SSAValue) -> None:
        """Let an op read something else."""
        if self.batched and len(operands_of(op)) > WIDE:
            set_wide_operand(op, index, value)
            self.wide[op] = None
        else:
            set_operand(op, index, value)

    def readers_retyped(self, touched: Sequence[tuple[Operation, int]]) -> None:
        """Note that operands got another type: the graph may return one of them."""
        last = self.block.last_op
        if any(user is last for user, _ in touched):
            self.output_retyped()

    def output_retyped(self) -> None:
        """Note that the graph returns a tensor of another type."""
        if self.batched:
            self.retyped = True
        else:
            _retype_outputs(self.block)


def _is_edge(op: Operation | None) -> bool:
    return type(op) is ControlEdgeOp


def replace(
    block: Block,
    boundary: Boundary,
    replacement: FuncOp,
    *,
    pass_name: str = "",
    infer: bool = True,
    rewriter: PatternRewriter | None = None,
) -> list[GeOp]:
    """Replace what lies between a boundary's inputs and outputs; the new ops, in order.

    Raises CompileError, with the graph unchanged, when the boundary is not closed, when counts
    of inputs or outputs differ, when attributes forbid the fusion, when it would close a cycle,
    or (with `infer`) when a new op does not take its operands or gives its readers another type.
    """
    scope = Scope(block, pass_name, infer, rewriter)
    problem = boundary.problem()
    if problem or boundary.block is not block:
        raise CompileError(problem or "Boundary is not in the graph, expected one of its own")
    new = replace_in(scope, boundary, replacement)
    scope.finish()
    return new


def replace_in(
    scope: Scope, boundary: Boundary, replacement: FuncOp, *, acyclic: bool = False
) -> list[GeOp]:
    """`replace` within a run, for a boundary that is known to be closed.

    `acyclic`: the caller has checked that fusing makes no cycle.
    """
    body = replacement.body.block
    check_counts(boundary, body)
    held = held_nodes(boundary.nodes)
    problem = fuse_problem(held) if held else ""
    if not problem and not acyclic and may_cycle(boundary.outputs, scope.block):
        cyclic = makes_cycle(boundary.nodes, scope.order, scope.block)
        problem = "it will create cycle after fuse" if cyclic else ""
    if problem:
        raise _failure(problem, boundary)
    copy = _Copy(scope, boundary, body)
    if scope.verifier is not None:
        copy.verify(scope, scope.verifier, boundary)
    if held:
        inherit(copy.ops, held)
    _commit(scope, boundary, copy)
    return copy.ops


def may_cycle(outputs: Sequence[SSAValue], block: Block) -> bool:
    """Whether fusing could close a cycle: never for one output without control edges."""
    return len(outputs) > 1 or has_control_edge(block)


def check_counts(boundary: Boundary, body: Block) -> None:
    """The replacement has one input per boundary input and one output per boundary output."""
    last = body.last_op
    outputs = 0 if last is None else len(operands_of(last))
    if len(body.args) != len(boundary.inputs):
        raise _failure(_sizes("input", len(body.args), len(boundary.inputs)), boundary)
    if outputs != len(boundary.outputs):
        raise _failure(_sizes("output", outputs, len(boundary.outputs)), boundary)


def _sizes(word: str, have: int, want: int) -> str:
    return f"Replacement {word} size: {have} not equal with Boundary {word} size: {want}"


def _failure(message: str, boundary: Boundary) -> CompileError:
    node = boundary.nodes[0]
    return CompileError(message, subject=describe(node), location=location_of(node))


class _Copy:
    """The new ops, linked to the boundary's inputs but not yet in the block."""

    def __init__(self, scope: Scope, boundary: Boundary, body: Block) -> None:
        self.ops: list[GeOp] = []
        self.edges: list[ControlEdgeOp] = []
        self.values: dict[int, SSAValue] = {}
        """Identity of a tensor of the replacement -> its counterpart."""
        last = body.last_op
        assert last is not None
        complete = False
        try:
            self._clone(boundary, body, _ops_in(body))
            self.outputs = [self.values[id(value)] for value in operands_of(last)]
            self._set_types(scope, boundary)
            complete = True
        finally:
            if not complete:
                self._drop()

    def _drop(self) -> None:
        for op in reversed([*self.ops, *self.edges]):
            op.drop_all_references()

    def verify(self, scope: Scope, verifier: Verifier, boundary: Boundary) -> None:
        """Raise WrongRewrite when the new outputs have other values than the old ones."""
        failure = verifier.check(
            scope.pass_name,
            scope.rule,
            boundary.outputs,
            self.outputs,
            scope.finite,
            boundary.inputs,
        )
        if failure is not None:
            self._drop()
            raise failure.error()

    def _clone(self, boundary: Boundary, body: Block, ops: Sequence[Operation]) -> None:
        """Copy the ops of the replacement, first in their order, else producers first."""
        root = boundary.nodes[0]
        source = root.source if is_ge(root) else None
        values = self.values = {
            id(arg): value for arg, value in zip(body.args, boundary.inputs, strict=True)
        }
        for op in ops:
            if not is_ge(op):
                raise _failure(f"replacement holds {op.name}, expected GE ops", boundary)
            try:
                operands = [values[id(v)] for v in operands_of(op)]
            except KeyError:
                self._clone_sorted(boundary, body, ops)
                return
            new = self._clone_regions(op, body) if op.regions else copy_with(op, operands)
            for old_result, new_result in zip(op.results, new.results, strict=True):
                values[id(old_result)] = new_result
            new.source = op.source or source
            if type(new) is ControlEdgeOp:
                self.edges.append(new)
            else:
                self.ops.append(new)

    def _clone_sorted(self, boundary: Boundary, body: Block, ops: Sequence[Operation]) -> None:
        """Start again in dependency order; raises CompileError where there is none."""
        ordered = topological_order(body)
        if ordered is None:
            raise _failure("replacement has a cycle, expected none", boundary)
        inside = set(ordered)
        if any((p := producer(v)) not in inside and p for op in ops for v in operands_of(op)):
            raise _failure(
                "replacement reads a tensor of another graph, expected one of its own", boundary
            )
        self._drop()
        self.ops, self.edges = [], []
        self._clone(boundary, body, [op for op in ordered if op is not body.last_op])

    def _clone_regions(self, op: GeOp, body: Block) -> GeOp:
        """A copy of an op with subgraphs, which may read any tensor of the replacement."""
        known: list[SSAValue] = [*body.args, *(r for o in body.ops for r in o.results)]
        return op.clone({v: self.values[id(v)] for v in known if id(v) in self.values})

    def _set_types(self, scope: Scope, boundary: Boundary) -> None:
        scope.reads_values = False
        for op in self.ops if scope.infer else ():
            try:
                scope.reads_values |= infer_types(op)
            except (VerifyException, ValueError) as error:
                text = str(error).removeprefix(f"{op.name}: ")
                raise _failure(f"replacement node {describe(op)}: {text}", boundary) from None
        for k, (new, old) in enumerate(zip(self.outputs, boundary.outputs, strict=True)):
            if type_of(new) is not type_of(old):
                _settle(k, new, old, scope.infer, boundary)


def _ops_in(body: Block) -> list[Operation]:
    """The ops of a block without its terminator."""
    ops: list[Operation] = []
    op, last = body.first_op, body.last_op
    while op is not None and op is not last:
        ops.append(op)
        op = next_op(op)
    return ops


def _settle(k: int, new: SSAValue, old: SSAValue, infer: bool, boundary: Boundary) -> None:
    """Give output `k` the most that its own type and its readers' tell.

    A graph input or other tensor that is only passed through keeps its type.
    """
    ours, theirs = tensor_of(new.type), tensor_of(old.type)
    if infer and not compatible(ours, theirs):
        raise _failure(
            f"replacement output {k} is {new.type}, its readers expect {old.type}", boundary
        )
    op = producer(new)
    if op is not None and op.parent is None and (infer or ours.dtype == DataType.DT_UNDEFINED):
        set_type(new, merged(ours, theirs).type)


def merged(new: Tensor, old: Tensor) -> Tensor:
    """Two compatible descriptions of one tensor as one; the new one wins where both are known."""
    dtype = old.dtype if new.dtype == DataType.DT_UNDEFINED else new.dtype
    layout = old.layout if new.layout == DEFAULT_LAYOUT else new.layout
    if new.shape is None or old.shape is None or len(new.shape) != len(old.shape):
        shape = old.shape if new.shape is None else new.shape
    else:
        shape = tuple(b if a == DYNAMIC else a for a, b in zip(new.shape, old.shape, strict=True))
    return Tensor(dtype, shape, layout)


def _commit(scope: Scope, boundary: Boundary, copy: _Copy) -> None:
    """Put the copy in the old nodes' place. Nothing here can fail."""
    nodes = boundary.nodes
    _name(scope, copy.ops, nodes)
    controlled = has_control_edge(scope.block)
    _insert(scope, boundary, copy)
    touched = _rewire(scope, boundary.outputs, copy.outputs)
    if controlled or copy.edges:
        _control(scope, nodes, copy)
    _prune(scope, nodes, controlled)
    if len(boundary.outputs) > 1:
        restore_order(scope.order, touched)


def _name(scope: Scope, new: Sequence[GeOp], nodes: Sequence[Operation]) -> None:
    scope.origins.record(new, nodes, scope.pass_name)
    joined = "_".join([_node_name(op) for op in nodes])
    for op in new:
        stem = _node_name(op) or op.op_type
        op.attributes[NAME] = StringAttr(scope.names.fresh(stem, joined))
        if op.regions:
            for inner in op.walk():
                if inner is not op and isinstance(inner, GeOp) and inner.node_name:
                    inner.node_name = scope.names.graph.unique(inner.node_name)


def _node_name(op: Operation) -> str:
    attr = op.attributes.get(NAME)
    return attr.data if type(attr) is StringAttr else ""


def _insert(scope: Scope, boundary: Boundary, copy: _Copy) -> None:
    """Insert behind output 0's node, or as far behind as the inputs need."""
    after = producer(boundary.outputs[0])
    assert after is not None
    if len(boundary.outputs) > 1:
        sources = [producer(v) for v in boundary.inputs]
        local = [op for op in sources if op is not None and op.parent is scope.block]
        after = max([after, *local], key=scope.order.label)
    place = after
    for op in copy.ops:
        scope.block.insert_op_after(op, place)
        _inserted(scope, op)
        place = op
    for edge in copy.edges:
        _append_edge(scope, edge)


def _inserted(scope: Scope, op: Operation) -> None:
    scope.order.inserted(op)
    if scope.rewriter is not None:
        scope.rewriter.has_done_action = True
        scope.rewriter.handle_operation_insertion(op)


def _append_edge(scope: Scope, edge: ControlEdgeOp) -> None:
    last = scope.block.last_op
    assert last is not None
    scope.block.insert_op_before(edge, last)
    _inserted(scope, edge)


def _rewire(
    scope: Scope, old: Sequence[SSAValue], new: Sequence[SSAValue]
) -> list[tuple[Operation, int]]:
    """Move the readers of each old tensor to the new one; the operands that changed."""
    touched: list[tuple[Operation, int]] = []
    last = scope.block.last_op
    for source, target in zip(old, new, strict=True):
        if source is target:
            continue
        use = source.first_use
        returned = False
        while use is not None:
            user, following = user_of(use), next_use(use)
            if type(user) is not ControlEdgeOp:
                index = use_index(use)
                scope.set_operand(user, index, target)
                touched.append((user, index))
                returned = returned or user is last
            use = following
        if returned and source.type is not target.type:
            scope.output_retyped()
    rewriter = scope.rewriter
    if rewriter is not None and touched:
        rewriter.has_done_action = True
        if scope.moved is not None:
            for user, index in touched:
                scope.moved(user, index)
        else:
            for user in dict.fromkeys(user for user, _ in touched):
                rewriter.handle_operation_modification(user)
    return touched


def _retype_outputs(block: Block) -> None:
    """Let a function state the types that it returns now."""
    func = block.parent_op()
    if isinstance(func, FuncOp) and func.body.block is block:
        returned = [value.type for value in operands_of(func.body.block.last_op or func)]
        if returned != list(func.function_type.outputs):
            func.update_function_type()


def _control(scope: Scope, nodes: Sequence[Operation], copy: _Copy) -> None:
    """New nodes wait for what the old ones waited for, and hold up what those held up.

    The edges of all old nodes meet in a NoOp before the new nodes and in one behind them.
    """
    new = [op for op in copy.ops if op.results]
    if not new:
        return
    inside = set(nodes)
    before = dict.fromkeys(
        v for op in nodes for v in control_sources(op) if producer(v) not in inside
    )
    behind = dict.fromkeys(s for op in nodes for s in control_successors(op) if s not in inside)
    if before:
        gate = _no_op(scope, f"noop_in_{_node_name(new[0])}")
        for value in before:
            _add_edge(scope, value, gate)
        for op in new:
            _add_edge(scope, gate, op.results[0])
    if behind:
        gate = _no_op(scope, f"noop_out_{_node_name(new[-1])}")
        for op in new:
            _add_edge(scope, op.results[0], gate)
        for other in behind:
            _add_edge(scope, gate, other.results[0])


def _no_op(scope: Scope, name: str) -> SSAValue:
    """The token of a new NoOp at the end of the graph."""
    made = NoOpOp.build(node_name=scope.names.graph.unique(name))
    scope.block.insert_op_before(made, scope.tail())
    _inserted(scope, made)
    return made.results[0]


def _add_edge(scope: Scope, src: SSAValue, dst: SSAValue) -> None:
    """A control edge, unless the nodes have one."""
    source, target = producer(src), producer(dst)
    assert target is not None
    for use in uses(dst):
        user = user_of(use)
        if type(user) is ControlEdgeOp and use.index == 1:
            known = user.src
            if known is src or (source is not None and producer(known) is source):
                return
    _append_edge(scope, ControlEdgeOp.create(operands=[src, dst]))


def _prune(scope: Scope, nodes: Sequence[Operation], controlled: bool) -> None:
    """Remove the old nodes that nothing reads any more, readers before producers.

    A node with another output in use stays, with what feeds it.
    """
    left = nodes
    while left:
        kept: list[Operation] = []
        for op in left:
            if _is_read(op):
                kept.append(op)
                continue
            if controlled:
                _isolate(scope, op)
            _removed(scope, op)
        if len(kept) == len(left):
            return
        left = kept


def _is_read(op: Operation) -> bool:
    for result in op.results:
        if result.first_use is not None and next(data_uses(result), None) is not None:
            return True
    return False


def _isolate(scope: Scope, op: Operation) -> None:
    """Hand the ordering that went through a dying node on to its neighbours."""
    before: list[SSAValue] = [
        *operands_of(op),
        *control_sources(op),
    ]
    behind = [s.results[0] for s in control_successors(op) if s.results]
    for result in op.results:
        for use in list(uses(result)):
            _removed(scope, user_of(use))
    for src in dict.fromkeys(before):
        for dst in behind:
            _add_edge(scope, src, dst)


def _removed(scope: Scope, op: Operation) -> None:
    if scope.rewriter is not None:
        scope.rewriter.has_done_action = True
        scope.rewriter.handle_operation_removal(op)
    scope.order.removed(op)
    op.detach()
    op.drop_all_references()


def restore_order(order: BlockOrder, operands: Sequence[tuple[Operation, int]]) -> None:
    """Move readers that stand before a producer behind it, with what depends on them.

    Looks at the operands that changed, and at ops between a reader and its producer.
    """
    block = order.block
    for user, index in operands:
        home = in_block(user, block)
        source = producer(operands_of(user)[index])
        if home is None or source is None or source.parent is not block:
            continue
        if order.label(source) > order.label(home):
            _move_behind(order, home, source)


def _move_behind(order: BlockOrder, op: Operation, place: Operation) -> None:
    block = order.block
    order.moves += 1
    limit = order.label(place)
    moving = {op}
    queue = deque([op])
    while queue:
        for result in queue.popleft().results:
            for use in data_uses(result):
                home = in_block(user_of(use), block)
                if home is not None and home not in moving and order.label(home) < limit:
                    moving.add(home)
                    queue.append(home)
    for dependent in order.sorted(moving):
        dependent.detach()
        order.removed(dependent)
        block.insert_op_after(dependent, place)
        order.inserted(dependent)
        place = dependent


__all__ = ["Boundary", "Scope", "replace", "replace_in"]
