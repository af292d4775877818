"""`ge-opt --emit=patterns`: what the loaded passes look for, as text."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from ge_xdsl.errors import CompileError, UsageError, one_line

if TYPE_CHECKING:
    from xdsl.dialects.func import FuncOp

    from ge_xdsl.passes.registry import Contents, UserPass
    from ge_xdsl.passes.session import Session
    from ge_xdsl.pattern.pattern_rule import PatternRule


def emit_patterns(args: argparse.Namespace, session: Session) -> int:
    """Print the patterns of the loaded passes, or write them to `-o`."""
    from ge_xdsl.cli.compile import show_messages
    from ge_xdsl.cli.failures import user_code
    from ge_xdsl.cli.output import check_writable, write_text

    if args.input or args.pipelines:
        what = f"input '{args.input}'" if args.input else "-p"
        raise UsageError(f"--emit=patterns with {what}, expected only --load and -o")
    check_writable(args.output)
    try:
        with user_code():
            text = "\n".join(patterns_text(session))
    finally:
        show_messages(session)
    write_text(args.output, text)
    return 0


def patterns_text(session: Session) -> Iterator[str]:
    """Each loaded pass by stage and in running order: a comment, then its rules."""
    from ge_xdsl.passes import registry

    found = [item for stage in registry.STAGES for item in registry.passes_of(stage)]
    if not found:
        raise UsageError("--emit=patterns without passes, expected --load FILE with some")
    taken: set[str] = set()
    for item in found:
        with registry.contents(item, session) as contents:
            head = f"// {one_line(item.name)}: {item.kind}, {item.stage}"
            yield "\n".join([f"{head}\n", *rules_text(item, contents, taken)])


def rules_text(user_pass: UserPass, contents: Contents, taken: set[str]) -> Sequence[str]:
    """The rules of one pass."""
    from ge_xdsl.dialects.ge.names import fresh_name
    from ge_xdsl.pattern.extended import ExtendedPattern
    from ge_xdsl.pattern.pdl import rule_text

    if user_pass.kind == "fusion_base":
        return ["// run() edits the graph itself, there is no pattern\n"]
    if user_pass.kind == "decompose":
        types = ", ".join(contents.op_types)
        return [f"// each node of type {types} is replaced, in the order of the graph\n"]
    texts: list[str] = []
    for rule in contents.rules:
        name = fresh_name(rule.name, taken, {}) if rule.name in taken else rule.name
        taken.add(name)
        hook, pattern = f"{user_pass.name}.replacement", rule.pattern
        new = replacement_of(rule)
        more = pattern.notes() if isinstance(pattern, ExtendedPattern) else ()
        texts.append(rule_text(pattern.graph, pattern.config, hook, new, name, more))
    return texts or ["// no pattern that can match\n"]


def replacement_of(rule: PatternRule) -> FuncOp | None:
    """What a rule puts in the place of its own pattern; None when that does not say enough."""
    from ge_xdsl.passes.check.graphs import own_match

    try:
        return rule.build(own_match(rule.pattern))
    except CompileError:  # the hook asks a matched node for what the pattern does not say
        return None
