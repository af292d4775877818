"""User passes as the engine sees them: names, stages, and how to run one.

The `ge.passes` package registers an adapter here for each class that a pass file registers, so
the engine runs user passes without knowing how they are written.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias, runtime_checkable

from xdsl.ir import Block

from ge_xdsl.dialects.ge.op import GeOp
from ge_xdsl.errors import Location
from ge_xdsl.passes.session import Session
from ge_xdsl.pattern.pattern_rule import PatternRule
from ge_xdsl.pattern.provenance import GraphNames
from ge_xdsl.pattern.rewrite import Scope
from ge_xdsl.pattern.rule import Outcome

STAGES = (
    "BeforeInferShape",
    "AfterInferShape",
    "AfterBuiltinFusionPass",
    "AfterOriginGraphOptimize",
)
"""The stages a user pass can run in, in the order of a compile."""


@dataclass
class StageRun:
    """One execution of a stage: what all its passes share."""

    session: Session
    stage: str
    pass_name: str = ""
    error_message: str = ""
    before_change: Callable[[], None] = lambda: None
    """Called by a pass right before it first changes the graph, so that it can be undone."""

    scopes: dict[Block, Scope] = field(default_factory=dict["Block", "Scope"])
    """What the `SubgraphRewriter` calls of the current pass share, per graph."""
    names: GraphNames | None = None
    """The node names that the runs of the current pass over a graph and its subgraphs share."""

    def report(self, root: GeOp, outcome: Outcome) -> None:
        """Tell the recorders of a rewrite that a `run` made, or tried, by itself."""
        for recorder in self.session.recorders:
            recorder.attempt(self.pass_name, self.pass_name, root, outcome, 0.0)
            recorder.swept(self.pass_name, self.pass_name, 1, 0.0)

    @property
    def infers(self) -> bool:
        """Whether new nodes get their types at once; before inference they get them later."""
        return self.stage != STAGES[0]


Runner: TypeAlias = Callable[[Block], bool]
"""Runs one instance of a pass on a graph or subgraph; returns whether it changed."""


@dataclass(frozen=True)
class Contents:
    """What an instance of a user pass consists of, for tools that look into it."""

    rules: Sequence[PatternRule] = ()
    """The rules of a pattern pass, in order; those that can never match are left out."""
    places: Mapping[str, Location | None] = field(default_factory=dict[str, "Location | None"])
    """Rule name -> where the pattern is written."""
    op_types: Sequence[str] = ()
    """What a decompose pass replaces."""


@runtime_checkable
class Inspectable(Protocol):
    """A runner that shows its contents; the rules work within the `with`."""

    def look(self) -> AbstractContextManager[Contents]: ...


@dataclass(frozen=True)
class UserPass:
    """A registered user pass. `open` makes the instance that serves one stage run."""

    name: str
    stage: str
    kind: str
    open: Callable[[StageRun], Runner]
    location: Location | None = None
    key: str = ""


def contents(user_pass: UserPass, session: Session) -> AbstractContextManager[Contents]:
    """The contents of a new instance of a pass; its warnings go to the session.

    Raises PassError when the instance cannot be made.
    """
    run = StageRun(session, user_pass.stage, user_pass.name)
    runner = user_pass.open(run)
    return runner.look() if isinstance(runner, Inspectable) else nullcontext(Contents())


_lock = threading.RLock()
_passes: dict[str, UserPass] = {}
_current: ContextVar[StageRun | None] = ContextVar("ge_xdsl_stage", default=None)


def register(user_pass: UserPass) -> None:
    """Add a pass; raises ValueError when its key or name is taken, over all stages and kinds."""
    with _lock:
        known = _passes.get(user_pass.name)
        place = f", registered at {known.location}" if known and known.location else ""
        if any(other.key == user_pass.key for other in _passes.values()):
            raise ValueError(f"python pass descriptor_key already exists: {user_pass.key}{place}")
        if known is not None:
            raise ValueError(f"python pass name already exists: {user_pass.name}{place}")
        _passes[user_pass.name] = user_pass


def clear() -> None:
    """Forget every registered pass."""
    with _lock:
        _passes.clear()


def discard(names: set[str]) -> None:
    """Forget the passes with these names."""
    with _lock:
        for name in names:
            _passes.pop(name, None)


def registered() -> list[UserPass]:
    """Every pass, in registration order."""
    with _lock:
        return list(_passes.values())


def passes_of(stage: str) -> list[UserPass]:
    """The passes of a stage in the order in which they run: by name."""
    return sorted((p for p in registered() if p.stage == stage), key=lambda p: p.name)


def current_run() -> StageRun | None:
    """The stage run whose pass is executing, None outside of one."""
    return _current.get()


@contextmanager
def running(run: StageRun) -> Generator[None]:
    """Make `run` the current one for the length of a `with`."""
    token = _current.set(run)
    try:
        yield
    finally:
        _current.reset(token)
