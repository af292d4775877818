"""`ge-opt --bisect`: which pass, rule and site breaks the numbers, and a graph that shows it."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ge_xdsl.errors import UsageError

if TYPE_CHECKING:
    from xdsl.passes import ModulePass

    from ge_xdsl.passes.session import Session


def check_options(args: argparse.Namespace) -> None:
    """Raise UsageError for options that do not go with `--bisect`."""
    if args.split_input_file or args.verify_diagnostics:
        raise UsageError("--bisect with an input in parts, expected one graph")
    if not args.pipelines:
        raise UsageError("--bisect without passes, expected -p PASSES with it")
    if args.output is not None and not args.output.endswith(".mlir"):
        raise UsageError(f"--bisect with -o {args.output}, expected an .mlir file")


def reduced_file(input_path: str, output: str | None) -> str:
    """Where the reduced graph goes: to `-o`, else into the current folder."""
    stem = Path(input_path).stem if input_path != "-" else "stdin"
    return output or f"{stem}.bisect.mlir"


def bisect(args: argparse.Namespace, passes: Sequence[ModulePass], session: Session) -> int:
    """Search, print a line per fact and write the reduced graph.

    1 when a pass is wrong, or none could be checked.
    """
    from ge_xdsl.cli import source
    from ge_xdsl.cli.arrays import sample_shapes
    from ge_xdsl.cli.compile import show_messages
    from ge_xdsl.cli.failures import report, user_code
    from ge_xdsl.cli.output import check_writable, print_text, write_module
    from ge_xdsl.cli.reports import limit_of
    from ge_xdsl.passes.bisect import Bisection
    from ge_xdsl.passes.session import SessionContext

    file = reduced_file(args.input, args.output)
    check_writable(file)
    search = Bisection(session, limit_of(args.verify_limit))
    context = SessionContext(session, args.allow_unregistered_dialect)
    try:
        module = source.load(args.input, context, args.input_format)
        search.shapes = sample_shapes(module, args.shape, source.file_name(args.input))
        with user_code():
            finding = search.run(module, passes)
    finally:
        show_messages(session)
    if finding is None:
        report(f"{'error' if search.blind else 'note'}: {search.summary()}")
        return 1 if search.blind else 0
    write_module(finding.reduced, file, session, False)
    print_text("".join(f"{line}\n" for line in finding.lines(file)))
    return 1
