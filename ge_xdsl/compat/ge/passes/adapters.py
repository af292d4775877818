"""Running registered pass classes: one instance per stage run, its hooks called by the drivers."""

# The API names its own internals with underscores; this package shares them.
# pyright: reportPrivateUsage=false

from __future__ import annotations

import inspect
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from time import perf_counter
from typing import TYPE_CHECKING, Any, NoReturn, cast

from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation

from ge_xdsl.compat.ge.error import note_error
from ge_xdsl.compat.ge.graph.graph import Graph, take_function
from ge_xdsl.compat.ge.graph.node import node_of
from ge_xdsl.compat.ge.passes.pattern import ensure_pattern
from ge_xdsl.compat.ge.passes.values import (
    MatchResult,
    PassContext,
    Pattern,
    PatternMatcherConfig,
)
from ge_xdsl.dialects.ge.graph import location_of
from ge_xdsl.dialects.ge.names import describe, describe_value
from ge_xdsl.dialects.ge.op import CONSTANT_TYPES, GeOp
from ge_xdsl.dialects.ge.registry import op_class, unknown_op
from ge_xdsl.errors import CompileError, Location, PassError
from ge_xdsl.passes.loader import cause_of, user_line
from ge_xdsl.passes.registry import Contents, Runner, StageRun, running
from ge_xdsl.pattern.compile import compile_pattern
from ge_xdsl.pattern.driver import PatternRule, decompose, run_ge
from ge_xdsl.pattern.extended import (
    ATTRIBUTE,
    ExtendedMatch,
    ExtendedPattern,
    Matching,
    extend_pattern,
)
from ge_xdsl.pattern.graph import PatternGraph
from ge_xdsl.pattern.match import Match, MatcherConfig
from ge_xdsl.pattern.rule import Declined

if TYPE_CHECKING:
    from ge_xdsl.compat.ge.passes.registry import PassDescriptor

NOT_CHANGED = 0x033200C9
"""The status of a pass that ran well and changed nothing."""

_Raised = (Exception, SystemExit)


def open_pass(descriptor: PassDescriptor) -> Callable[[StageRun], Runner]:
    """How the engine makes the instance of a pass class that serves one stage run."""

    def start(run: StageRun) -> Runner:
        kind = _ADAPTERS.get(descriptor.kind)
        if kind is None:
            known = ", ".join(_ADAPTERS)
            raise PassError(
                f"pass kind is '{descriptor.kind}', expected one of {known}",
                subject=f"pass '{descriptor.pass_name}'",
                location=_class_location(descriptor.cls),
            )
        return kind(descriptor, run)

    return start


def _class_location(cls: type) -> Location | None:
    try:
        file = inspect.getsourcefile(cls)
        return Location(file, inspect.getsourcelines(cls)[1], 1) if file else None
    except (OSError, TypeError):
        return None


class _Adapter:
    """One instance of a pass class, and how its hooks fail."""

    def __init__(self, descriptor: PassDescriptor, run: StageRun) -> None:
        self.descriptor = descriptor
        self.stage = run
        try:
            with running(run):
                self.instance: Any = descriptor.cls()
        except _Raised as error:
            self.fail("__init__", error, None)

    def __call__(self, block: Block) -> bool:
        """Run the pass on a graph; raises PassError when a hook fails."""
        context = PassContext._create_from(self.stage)
        try:
            with running(self.stage):
                return self.run(block, context)
        finally:
            context._invalidate()

    def run(self, block: Block, context: PassContext) -> bool:
        raise NotImplementedError

    @contextmanager
    def look(self) -> Generator[Contents]:
        """What the instance consists of; hooks called by its rules work within the `with`."""
        context = PassContext._create_from(self.stage)
        try:
            with running(self.stage):
                yield self.contents(context)
        finally:
            context._invalidate()

    def contents(self, context: PassContext) -> Contents:
        return Contents()

    # What a hook's failure becomes

    def place(self, hook: str, error: BaseException | None = None) -> Location | None:
        """The user's line that raised, else where the hook, else where the class is."""
        line = user_line(error) if error is not None else None
        if line is not None:
            return line
        function = inspect.unwrap(getattr(self.descriptor.cls, hook, None) or _Adapter.run)
        code = getattr(function, "__code__", None)
        if code is None or function.__module__ != self.descriptor.module_name:
            return _class_location(self.descriptor.cls)
        return Location(code.co_filename, code.co_firstlineno, 1)

    def fail(
        self,
        hook: str,
        error: BaseException | str,
        root: Operation | None,
        match: Match | None = None,
    ) -> NoReturn:
        """Raise the PassError of a hook that raised or gave something wrong."""
        cause = error if isinstance(error, BaseException) else None
        text = error if isinstance(error, str) else f"raised {cause_of(error)}"
        at = f" at {describe(root)}" if root is not None else ""
        message = self.stage.error_message
        notes = [f"set_error_message: {message}"] if message and message not in text else []
        where = location_of(root) if root is not None else None
        matched = [f"the match is at {where}"] if where is not None else []
        matched += [bindings(match)] if match is not None else []
        failure = PassError(
            f"{hook}{at} {text}",
            subject=f"pass '{self.descriptor.pass_name}'",
            location=self.place(hook, cause),
            notes=[*notes, *matched],
        )
        note_error(failure.render())
        raise failure from cause

    def warn(self, hook: str, error: BaseException, taken_as: str) -> str:
        """Note that a hook raised and what that counts as; the text without the place."""
        text = f"{hook} raised {cause_of(error)}, taken as {taken_as}"
        place = self.place(hook, error)
        prefix = f"{place}: " if place is not None else ""
        self.stage.session.warn(f"{prefix}pass '{self.descriptor.pass_name}': {text}")
        return text

    def function(self, hook: str, graph: object, root: Operation | None) -> FuncOp:
        """The function of a graph that a replacement hook returned; the graph is emptied."""
        kind = "PatternFusionPass" if isinstance(self, _PatternAdapter) else "DecomposePass"
        if not isinstance(graph, Graph):
            name = type(graph).__name__
            self.fail(hook, f"returned {name}: {kind}.{hook} must return ge.graph.Graph", root)
        try:
            return take_function(graph, "Graph handle is empty")
        except RuntimeError as error:
            self.fail(hook, f"returned a graph that was used before: {error}", root)


class _FusionAdapter(_Adapter):
    """A FusionBasePass: its `run` edits the live graph."""

    def run(self, block: Block, context: PassContext) -> bool:
        self.stage.before_change()
        graph = Graph._create_from(block, owns_handle=False)
        started = perf_counter()
        try:
            status = self.instance.run(graph, context)
        except _Raised as error:
            self.stage.error_message = self.stage.error_message or cause_of(error)
            self.fail("run", error, None)
        self.swept((perf_counter() - started) * 1e6)
        if status is None or status is True or status == NOT_CHANGED:
            return True  # the graph itself tells whether it was changed
        if not isinstance(status, int):
            kind = type(status).__name__
            self.fail("run", f"python pass returned unsupported type: {kind}", None)
        if status is False or status != 0:
            self.fail("run", f"returned {status!r}, expected None, True or 0 for success", None)
        return True

    def swept(self, micros: float) -> None:
        """Note that the pass ran; each replace and each reported fusion notes itself."""
        name = self.descriptor.pass_name
        for recorder in self.stage.session.recorders:
            recorder.swept(name, name, 0, micros)


class _PatternAdapter(_Adapter):
    """A PatternFusionPass: patterns, each with the hooks as its check and its replacement."""

    def run(self, block: Block, context: PassContext) -> bool:
        rules = [self.rule(pattern, context) for pattern in self.patterns()]
        return _driven(
            self,
            lambda: (
                run_ge(
                    block,
                    [rule for rule in rules if rule is not None],
                    pass_name=self.descriptor.pass_name,
                    infer=self.stage.infers,
                    recorders=self.stage.session.recorders,
                    names=self.stage.names,
                ).changed
            ),
        )

    def contents(self, context: PassContext) -> Contents:
        found = [self.rule(pattern, context) for pattern in self.patterns()]
        rules = [rule for rule in found if rule is not None]
        prefix = f"{type(self.instance).__name__}_"
        methods = {r.name: r.name.removeprefix(prefix).removesuffix("_pattern") for r in rules}
        return Contents(rules, {name: self.place(method) for name, method in methods.items()})

    def patterns(self) -> Sequence[Pattern]:
        """The patterns of the instance; none, with a warning, when the hook fails."""
        try:
            found = self.instance.patterns()
            if found is None:
                return ()
            if isinstance(found, str | bytes) or not isinstance(found, Iterable):
                raise TypeError(
                    "PatternFusionPass.patterns must return an iterable of Pattern or Graph"
                )
            return [ensure_pattern(item) for item in cast("Iterable[Any]", found)]
        except _Raised as error:
            self.warn("patterns", error, "no pattern")
            return ()

    def rule(self, pattern: Pattern, context: PassContext) -> PatternRule | None:
        """The rule of one pattern; None, with a warning, for one that can never match."""
        config = self.config()
        try:
            func, captures = pattern._release()
            graph = PatternGraph.from_function(func, captures)
            matching = getattr(self.instance, ATTRIBUTE, None)
            if isinstance(matching, Matching) or graph.marks:
                compiled = extend_pattern(graph, config, matching or Matching())
            else:
                compiled = compile_pattern(graph, config)
        except (CompileError, RuntimeError) as error:
            text = error.message if isinstance(error, CompileError) else str(error)
            name = self.descriptor.pass_name
            self.stage.session.warn(f"pass '{name}': a pattern can never match: {text}")
            return None
        rule = PatternRule(
            compiled,
            build=lambda match: self.build(match, context),
            meet=lambda match: self.meet(match, context),
        )
        if isinstance(compiled, ExtendedPattern):
            rule.finite = compiled.matching.finite
            rule.many_outputs |= compiled.matching.boundary == "expose"
        return rule

    def config(self) -> MatcherConfig:
        """The matcher options of the instance; raises PassError when they are of another type."""
        try:
            given = self.instance.matcher_config
        except _Raised as error:
            self.fail("__init__", error, None)
        quirks = self.stage.session.upstream_quirks
        if given is None:
            return MatcherConfig(upstream_quirks=quirks)
        if not isinstance(given, PatternMatcherConfig):
            text = "PatternFusionPass.matcher_config must be PatternMatcherConfig or None"
            self.fail("__init__", text, None)
        return MatcherConfig(
            given.is_enable_const_value_match(), given.is_enable_ir_attr_match(), quirks
        )

    def meet(self, match: Match, context: PassContext) -> bool | Declined:
        result = MatchResult._create_from(match)
        try:
            return bool(self.instance.meet_requirements(result, context))
        except _Raised as error:
            text = self.warn("meet_requirements", error, "False")
            return Declined(text, match.root, matched=True)
        finally:
            result._invalidate()

    def build(self, match: Match, context: PassContext) -> FuncOp:
        result = MatchResult._create_from(match)
        try:
            graph = self.instance.replacement(result, context)
        except _Raised as error:
            self.fail("replacement", error, match.root, match)
        finally:
            result._invalidate()
        func = self.function("replacement", graph, match.root)
        self.stage.before_change()
        if isinstance(match, ExtendedMatch):
            self.tell_kept(match)
        return func

    def tell_kept(self, match: ExtendedMatch) -> None:
        """Note what the policy for inner tensors that something else reads costs."""
        twice = [describe(op) for op in match.kept if op.op_type not in CONSTANT_TYPES]
        if twice:
            name, count = self.descriptor.pass_name, len(twice)
            self.stage.session.warn(
                f"pass '{name}': {', '.join(twice)} stays for other readers beside what replaces "
                f"{describe(match.root)}, {count} node{'s' * (count > 1)} computed twice"
            )


class _DecomposeAdapter(_Adapter):
    """A DecomposePass: hooks over single nodes."""

    def __init__(self, descriptor: PassDescriptor, run: StageRun) -> None:
        super().__init__(descriptor, run)
        for op_type in descriptor.op_types:
            if op_class(op_type) is None:
                subject, message = unknown_op(op_type)
                run.session.warn(f"pass '{descriptor.pass_name}': op type {subject} {message}")

    def contents(self, context: PassContext) -> Contents:
        return Contents(op_types=list(self.descriptor.op_types))

    def run(self, block: Block, context: PassContext) -> bool:
        return _driven(
            self,
            lambda: (
                decompose(
                    block,
                    self.descriptor.op_types,
                    build=lambda op: self.build(op, context),
                    meet=lambda op: self.meet(op, context),
                    pass_name=self.descriptor.pass_name,
                    infer=self.stage.infers,
                    recorders=self.stage.session.recorders,
                    names=self.stage.names,
                ).changed
            ),
        )

    def meet(self, op: GeOp, context: PassContext) -> bool | Declined:
        try:
            return bool(self.instance.meet_requirements(node_of(op), context))
        except _Raised as error:
            text = self.warn("meet_requirements", error, "False")
            return Declined(text, op, matched=True)

    def build(self, op: GeOp, context: PassContext) -> FuncOp:
        try:
            graph = self.instance.replacement(node_of(op), context)
        except _Raised as error:
            self.fail("replacement", error, op)
        func = self.function("replacement", graph, op)
        self.stage.before_change()
        return func


def bindings(match: Match) -> str:
    """What the inputs and nodes of a pattern stand for in a match."""
    extended = isinstance(match, ExtendedMatch)
    groups = match.groups if extended else [(value,) for value in match.inputs]
    inputs = [
        f"inputs[{arg.index}] is {' and '.join(map(describe_value, group)) or 'absent'}"
        for arg, group in zip(match.graph.used_inputs, groups, strict=True)
    ]
    nodes = [f"{new.op_type} is {describe(old)}" for new, old in match.nodes.items()]
    return f"in the match, {', '.join([*inputs, *nodes])}"


def _driven(adapter: _Adapter, drive: Callable[[], bool]) -> bool:
    """Run a driver; a replacement that does not fit becomes an error of the pass."""
    try:
        return drive()
    except PassError:
        raise
    except CompileError as error:
        subject = f" of {error.subject}" if error.subject else ""
        place = [f"the match is at {error.location}"] if error.location is not None else []
        failure = PassError(
            f"replacement{subject}: {error.message}",
            subject=f"pass '{adapter.descriptor.pass_name}'",
            location=adapter.place("replacement"),
            notes=[*error.notes, *place],
        )
        note_error(failure.render())
        raise failure from error


_ADAPTERS: dict[str, type[_Adapter]] = {
    "fusion_base": _FusionAdapter,
    "pattern_fusion": _PatternAdapter,
    "decompose": _DecomposeAdapter,
}
