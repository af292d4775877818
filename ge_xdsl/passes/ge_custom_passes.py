"""`ge-custom-passes`: the registered user passes, stage by stage, in GE's order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Block
from xdsl.passes import ModulePass

from ge_xdsl.dialects.ge.collect import seldom
from ge_xdsl.dialects.ge.graph import functions, root_blocks
from ge_xdsl.dialects.ge.names import output_names
from ge_xdsl.dialects.ge.types import DYNAMIC, DataType, tensor_of
from ge_xdsl.errors import CompileError, PassError, UsageError, nearest
from ge_xdsl.passes import registry
from ge_xdsl.passes.graph_state import settle
from ge_xdsl.passes.loader import cause_of, user_line
from ge_xdsl.passes.registry import Runner, StageRun, UserPass
from ge_xdsl.passes.rollback import GraphRecord
from ge_xdsl.passes.session import Session, session_of
from ge_xdsl.passes.switches import Switches
from ge_xdsl.pattern.access import ops_of
from ge_xdsl.pattern.provenance import GraphNames


@dataclass(frozen=True)
class GeCustomPassesPass(ModulePass):
    """Run the user passes in the order of their names, each on the graph and then on its subgraphs.

    `stage` is one of GE's `PassStage` values; without it all four run in order. `only` keeps
    the pass of that name. A pass that fails ends the compile and leaves the graph as it was
    before that pass.
    """

    name = "ge-custom-passes"
    stage: str = ""
    only: str = ""

    def __post_init__(self) -> None:
        if self.stage and self.stage not in registry.STAGES:
            hint = nearest(self.stage, registry.STAGES)
            known = ", ".join(registry.STAGES)
            raise UsageError(f"stage is '{self.stage}', expected one of {known}{hint}")

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        names = [user_pass.name for user_pass in registry.registered()]
        if self.only and self.only not in names:
            known = nearest(self.only, names) or f", expected one of: {', '.join(names)}"
            hint = known if names else ", expected its file in --load or ASCEND_GE_PY_PASS_PATH"
            raise UsageError(f"no user pass '{self.only}' is loaded{hint}")
        for stage in (self.stage,) if self.stage else registry.STAGES:
            for func in functions(op):
                run_stage(func, stage, session_of(ctx), self.only)


def run_stage(
    func: FuncOp, stage: str, session: Session, only: str = "", changed: list[str] | None = None
) -> list[str]:
    """Run a stage's passes on one graph; the names of those that changed it.

    Raises PassError for a pass that fails, with the graph as before that pass; `changed` has then
    got the names of those before it.
    """
    changed = [] if changed is None else changed
    run = StageRun(session, stage)
    switches = Switches.of(session)
    found = [p for p in registry.passes_of(stage) if only in ("", p.name)]
    enabled = [p for p in found if switches.is_on(p.name)]
    runners = [(p, _opened(p, run)) for p in enabled]
    for user_pass, runner in runners:
        if _run_pass(user_pass, runner, func, run):
            changed.append(user_pass.name)
    return changed


def _opened(user_pass: UserPass, run: StageRun) -> Runner:
    run.pass_name = user_pass.name
    return user_pass.open(run)


def _run_pass(user_pass: UserPass, runner: Runner, func: FuncOp, run: StageRun) -> bool:
    """Run one pass on the graph, then on every subgraph that is still in it."""
    record = GraphRecord(func)
    run.pass_name = user_pass.name
    run.before_change = record.take
    run.scopes = {}
    message = run.error_message
    try:
        changed = _run_on_graphs(runner, func, run)
        changed = changed and not (user_pass.kind == "fusion_base" and record.is_same())
        if changed:
            before = list(func.function_type.outputs)
            settle(func, user_pass, infer=not run.infers or user_pass.kind == "fusion_base")
            _tell_new_outputs(user_pass, func, before, run.session)
    except CompileError:
        record.restore()
        raise
    except Exception as error:
        record.restore()
        error.add_note(f"in user pass '{user_pass.name}'")
        raise
    except BaseException as error:
        record.restore()
        if isinstance(error, KeyboardInterrupt):
            raise
        subject = f"pass '{user_pass.name}'"
        place = user_line(error) or user_pass.location
        raise PassError(f"raised {cause_of(error)}", subject=subject, location=place) from error
    if run.error_message != message:
        run.session.warn(f"pass '{user_pass.name}' set the message: {run.error_message}")
    return changed


def _run_on_graphs(runner: Runner, func: FuncOp, run: StageRun) -> bool:
    """Run a pass on each graph; what is done once for all of them would else be done for each."""
    blocks = list(root_blocks(func))
    run.names = GraphNames(func) if len(blocks) > 1 else None
    changed = False
    with seldom(sum(len(ops_of(block)) for block in blocks)):
        for block in blocks:
            if _is_inside(block, func):
                changed |= runner(block)
    return changed


def _tell_new_outputs(
    user_pass: UserPass, func: FuncOp, before: Sequence[Attribute], session: Session
) -> None:
    """Warn where a graph output now has another element type or shape: callers see it."""
    after = list(func.function_type.outputs)
    for name, old, new in zip(output_names(func), before, after, strict=False):
        was, now = tensor_of(old), tensor_of(new)
        if DataType.DT_UNDEFINED in (was.dtype, now.dtype):
            continue
        if now.dtype != was.dtype or not _may_equal(was.shape, now.shape):
            session.warn(
                f"pass '{user_pass.name}' changes graph output '{name}' from {old} to {new}"
            )


def _may_equal(one: tuple[int, ...] | None, other: tuple[int, ...] | None) -> bool:
    """Whether two shapes can be that of one tensor."""
    if one is None or other is None:
        return True
    return len(one) == len(other) and all(
        a == b or DYNAMIC in (a, b) for a, b in zip(one, other, strict=True)
    )


def _is_inside(block: Block, func: FuncOp) -> bool:
    """Whether a block still belongs to the graph."""
    owner = block.parent_op()
    while owner is not None and owner is not func:
        owner = owner.parent_op()
    return owner is func
