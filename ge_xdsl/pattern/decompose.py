"""Replacing single nodes by graphs: GE's DecomposePass."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import perf_counter

from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, SSAValue

from ge_xdsl.dialects.ge.data import UnconnectedOp
from ge_xdsl.dialects.ge.names import describe
from ge_xdsl.dialects.ge.op import GeOp
from ge_xdsl.errors import CompileError
from ge_xdsl.pattern.access import operands_of, producer
from ge_xdsl.pattern.boundary import Boundary
from ge_xdsl.pattern.pattern_rule import UNMET, RuleReport, RunReport
from ge_xdsl.pattern.provenance import GraphNames
from ge_xdsl.pattern.recorder import Recorder
from ge_xdsl.pattern.rewrite import Scope, replace_in
from ge_xdsl.pattern.rule import APPLIED, Applied, Declined, Outcome
from ge_xdsl.pattern.verify import WrongRewrite, verifier_of


def decompose(
    block: Block,
    op_types: Sequence[str],
    build: Callable[[GeOp], FuncOp | None],
    meet: Callable[[GeOp], bool | Declined] | None = None,
    *,
    pass_name: str = "",
    infer: bool = True,
    recorders: Sequence[Recorder] = (),
    names: GraphNames | None = None,
) -> RunReport:
    """Replace each node of the given types, from a snapshot of the graph: GE's DecomposePass.

    The replacement has one input per tensor that the node reads (a tensor read twice counts
    once, missing optional operands are skipped) and one output per output of the node, used or
    not. New nodes are not visited. `names` is shared by the runs over a graph and its subgraphs.
    Raises CompileError when a replacement is None or does not fit.
    """
    wanted = frozenset(op_types)
    snapshot = [op for op in block.ops if isinstance(op, GeOp) and op.op_type in wanted]
    verifier = verifier_of(recorders)
    scope = Scope(block, pass_name, infer, batched=True, verifier=verifier, graph_names=names)
    rows: dict[str, RuleReport] = {}
    try:
        for op in snapshot:
            _timed(scope, op, build, meet, recorders, rows)
    finally:
        scope.finish()
    for row in rows.values():
        for recorder in recorders:
            recorder.swept(pass_name, row.rule, row.tried, row.micros)
    report = RunReport(list(rows.values()))
    if names is not None and report.changed:
        names.note_all(block)
    return report


def _timed(
    scope: Scope,
    op: GeOp,
    build: Callable[[GeOp], FuncOp | None],
    meet: Callable[[GeOp], bool | Declined] | None,
    recorders: Sequence[Recorder],
    rows: dict[str, RuleReport],
) -> None:
    """Decompose one node and note it in the row of its type."""
    begun = perf_counter()
    outcome = _decompose_one(scope, op, build, meet)
    micros = (perf_counter() - begun) * 1e6
    row = rows.setdefault(op.op_type, RuleReport(op.op_type))
    row.tried += 1
    row.matched += 1
    row.applied += isinstance(outcome, Applied)
    row.micros += micros
    for recorder in recorders:
        recorder.attempt(scope.pass_name, op.op_type, op, outcome, micros)


def _decompose_one(
    scope: Scope,
    op: GeOp,
    build: Callable[[GeOp], FuncOp | None],
    meet: Callable[[GeOp], bool | Declined] | None,
) -> Outcome:
    met = True if meet is None else meet(op)
    if isinstance(met, Declined):
        return Declined(met.reason, met.at or op, 1, True)
    if not met:
        return UNMET
    if not op.results:
        return Declined("has no output, expected one or more", op, 1, True)
    replacement = build(op)
    if replacement is None:
        raise CompileError("replacement is None, expected a graph", subject=describe(op))
    scope.rule = op.op_type
    try:
        replace_in(scope, node_boundary(op), replacement, acyclic=True)
    except WrongRewrite as error:
        return Declined(error.message, op, 1, True)
    return APPLIED


def node_boundary(op: GeOp) -> Boundary:
    """The boundary of one node: its operands, each tensor once, and all its outputs."""
    inputs: dict[SSAValue, None] = {}
    for value in operands_of(op):
        if not isinstance(producer(value), UnconnectedOp):
            inputs[value] = None
    return Boundary(tuple(inputs), op.results, [op])
