"""`DUMP_GE_GRAPH`: a compile writes its graph before and after the stages, as GE does.

`DUMP_GRAPH_LEVEL` says which dumps, `DUMP_GRAPH_FORMAT` in which forms and `DUMP_GRAPH_PATH` where;
the names of the dumps are GE's.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from ge_xdsl.dialects.ge.graph import functions
from ge_xdsl.errors import CompileError
from ge_xdsl.exporters.dumps import dump_text, write_dump
from ge_xdsl.passes.manager import PassManager
from ge_xdsl.passes.session import Session

START = "PreRunBegin"
END = "Build"
STAGES = {
    "BeforeInferShape": "RunCustomPassBeforeInfershape",
    "AfterInferShape": "RunCustomPass_AfterInferShape",
    "AfterBuiltinFusionPass": "RunCustomPassAfterBuiltinFusionPass",
    "AfterOriginGraphOptimize": "RunCustomPassAfterOriginGraphOptimize",
}
"""Stage of user passes -> the name of the dump after it."""

AFTER = {"ge-infer-shape": "AfterInfershape", "ge-cse": "PreRunAfterPrepare", "ge-dce": END}
"""Pass -> the name of the dump after its first run."""

LISTED = frozenset(
    {
        START, END, "PreRunAfterNormalizeGraph", "AfterInfershape", "PreRunAfterPrepare",
        "PreRunAfterOptimizeOriginalGraph", "PreRunAfterOptimizeAfterStage1",
        "PreRunAfterOptimizeSubgraph", "PreRunAfterOptimizeGraphBeforeBuild",
    }
)  # fmt: skip
"""The dumps of level 2, which is the default, besides those of user passes."""


@dataclass(frozen=True)
class DumpPlan:
    """What the environment asks for: the level of content, the forms, and which dumps."""

    content: int
    forms: tuple[str, ...]
    level: str

    @classmethod
    def of(cls, environ: Mapping[str, str]) -> DumpPlan | None:
        """The plan, None when nothing is to be dumped."""
        asked = environ.get("DUMP_GE_GRAPH", "")
        if asked not in ("1", "2", "3"):
            return None
        text = (environ.get("DUMP_GRAPH_FORMAT") or "ge_proto|onnx").lower()
        named = {"ge_proto": "ge_proto", "onnx": "ge_onnx", "readable": "readable"}
        forms = tuple(form for key, form in named.items() if key in text)
        return cls(int(asked), forms, environ.get("DUMP_GRAPH_LEVEL") or "2")

    def takes(self, name: str) -> bool:
        """Whether a dump is among those of the level: a number, or parts of names between `|`."""
        if not self.level.isdigit():
            return any(part and part in name for part in self.level.split("|"))
        if self.level == "1":
            return True
        if self.level == "2":
            return name in LISTED or "RunCustomPass" in name
        return name == {"3": END, "4": START}.get(self.level)


class GraphDumps:
    """Writes the dumps of one compile; what cannot be written is told as a warning.

    Where the file system refuses one dump the rest are not tried.
    """

    def __init__(self, plan: DumpPlan, session: Session) -> None:
        self.plan = plan
        self.session = session
        self.done: set[str] = set()
        self.stopped = False

    def before(self, item: ModulePass, module: ModuleOp) -> None:
        """The dump before the first pass."""
        if START not in self.done:
            self.dump(START, module)

    def after(self, item: ModulePass, module: ModuleOp) -> None:
        """The dumps that follow a pass."""
        stage = getattr(item, "stage", None)
        if isinstance(stage, str) and stage in STAGES:
            self.dump(STAGES[stage], module)
            if stage == "AfterBuiltinFusionPass":
                self.dump("PreRunAfterOptimizeOriginalGraph", module)
            return
        if item.name in AFTER:
            self.dump(AFTER[item.name], module)

    def dump(self, name: str, module: ModuleOp) -> None:
        """Write one dump in every form, once in a compile."""
        if name in self.done:
            return
        self.done.add(name)
        if self.stopped or not self.plan.takes(name):
            return
        for form in self.plan.forms:
            if not self.stopped:
                self._write(name, form, module)

    def _write(self, name: str, form: str, module: ModuleOp) -> None:
        try:
            for number, func in enumerate(functions(module)):
                text = dump_text(func.body.block, form, self.plan.content)
                write_dump(text, form, name, number)
        except CompileError as error:
            self.session.warn(f"graph dump {name} in {form} is not written: {error.render()}")
        except OSError as error:
            reason = (error.strerror or str(error)).lower()
            self.session.warn(f"graph dump {error.filename} is not written: {reason}")
            self.stopped = True


def watch_graphs(manager: PassManager, session: Session) -> None:
    """Let a pass manager write the dumps that the environment asks for."""
    plan = DumpPlan.of(os.environ)
    if plan is not None:
        dumps = GraphDumps(plan, session)
        manager.before.append(dumps.before)
        manager.after.append(dumps.after)
