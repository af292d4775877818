"""`ge-opt --order-report`: which rules interact, and which can never fire."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING

from ge_xdsl.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from xdsl.passes import ModulePass

    from ge_xdsl.passes.check.interaction import OrderReport, Unit
    from ge_xdsl.passes.registry import UserPass
    from ge_xdsl.passes.session import Session
    from ge_xdsl.pattern.rule import Rule


def order_report(args: argparse.Namespace, session: Session) -> int:
    """Print the report on the loaded patterns, or on the passes of -p and an input."""
    from ge_xdsl.cli.compile import show_messages
    from ge_xdsl.cli.failures import user_code
    from ge_xdsl.cli.output import check_writable, write_text
    from ge_xdsl.cli.reports import to_json

    if args.order_report not in ("", "json"):
        raise UsageError(f"--order-report={args.order_report}, expected it alone or =json")
    if bool(args.input) != bool(args.pipelines):
        what = f"input '{args.input}'" if args.input else "-p"
        other = "-p" if args.input else "an input"
        raise UsageError(f"--order-report with {what} alone, expected {other} too, or only --load")
    check_writable(args.output)
    try:
        with ExitStack() as stack, user_code():
            found = _on_input(args, session, stack) if args.input else _on_patterns(session, stack)
    finally:
        show_messages(session)
    text = to_json(found.as_json()) if args.order_report else "\n".join(found.lines()) + "\n"
    write_text(args.output, text)
    return 0


def _on_patterns(session: Session, stack: ExitStack) -> OrderReport:
    """The pattern rules of the loaded passes, stage by stage."""
    from ge_xdsl.passes import registry
    from ge_xdsl.passes.check.interaction import report_on_patterns

    if not registry.registered():
        raise UsageError("--order-report without passes, expected --load FILE, or INPUT and -p")
    stages = [
        [unit for item in registry.passes_of(stage) for unit in _units(item, session, stack)]
        for stage in registry.STAGES
    ]
    return report_on_patterns(stages)


def _units(user_pass: UserPass, session: Session, stack: ExitStack) -> Iterator[Unit]:
    """The pattern rules of a user pass; they work as long as the stack is open."""
    from ge_xdsl.passes import registry
    from ge_xdsl.passes.check.interaction import Unit
    from ge_xdsl.passes.check.lint import rule_label

    contents = stack.enter_context(registry.contents(user_pass, session))
    for rule in contents.rules:
        name = f"{user_pass.name}/{rule_label(rule.name)}"
        yield Unit(name, rule, infers=user_pass.stage != registry.STAGES[0])


def _on_input(args: argparse.Namespace, session: Session, stack: ExitStack) -> OrderReport:
    """The rules of the passes of -p, on the input as these passes get it."""
    from ge_xdsl.cli import source
    from ge_xdsl.passes.check.interaction import report_on_graph
    from ge_xdsl.passes.infer_shape import GeInferShapePass
    from ge_xdsl.passes.manager import PassManager
    from ge_xdsl.passes.pipeline import make_passes
    from ge_xdsl.passes.session import SessionContext

    passes = [item for text in args.pipelines for item in make_passes(text)]
    units = [unit for item in passes for unit in _units_of(item, session, stack)]
    if not units:
        raise UsageError("--order-report: no pass of -p has rules, expected ge-simplify or another")
    ctx = SessionContext(session, args.allow_unregistered_dialect)
    module = source.load(args.input, ctx, args.input_format)
    PassManager(ctx, [GeInferShapePass()]).run(module)
    return report_on_graph(units, module)


def _units_of(item: ModulePass, session: Session, stack: ExitStack) -> Iterator[Unit]:
    from ge_xdsl.passes import registry
    from ge_xdsl.passes.check.interaction import Unit
    from ge_xdsl.passes.ge_custom_passes import GeCustomPassesPass

    if isinstance(item, GeCustomPassesPass):
        for stage in (item.stage,) if item.stage else registry.STAGES:
            for user_pass in registry.passes_of(stage):
                if item.only in ("", user_pass.name):
                    yield from _units(user_pass, session, stack)
    for rule in _builtin_rules(item):
        yield Unit(f"{item.name}/{rule.name}", rule, fixpoint=True)


def _builtin_rules(item: ModulePass) -> Sequence[Rule]:
    from ge_xdsl.passes.decompose import GeDecomposePass
    from ge_xdsl.passes.fuse import GeFusePass
    from ge_xdsl.passes.simplify import GeSimplifyPass
    from ge_xdsl.rewrites import catalog

    if isinstance(item, GeSimplifyPass):
        return catalog.selected(catalog.simplify_rules(), item.only)
    if isinstance(item, GeFusePass):
        return catalog.selected(catalog.fusion_rules(), item.only)
    if isinstance(item, GeDecomposePass):
        return catalog.selected(catalog.decompose_rules(), item.only)
    return ()
