"""`ge-opt`: read a graph, run passes, write the result."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from time import perf_counter
from typing import TYPE_CHECKING

from ge_xdsl.cli.failures import report, run_tool
from ge_xdsl.cli.options import (
    INPUTS,
    Parser,
    add_input_format,
    add_pipeline,
    load_user_passes,
    session_of_args,
    warn_of_idle_files,
    warn_of_idle_tile,
)
from ge_xdsl.errors import CompileError, UsageError, nearest

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp
    from xdsl.passes import ModulePass

    from ge_xdsl.cli.compile import Watch
    from ge_xdsl.passes.session import Session


def main(argv: Sequence[str] | None = None) -> int:
    """The entry point; `argv` without the program's name, that of the process by default."""
    return run_tool("ge-opt", _main, argv)


EXAMPLES = (
    "ge-opt model.onnx -o model.mlir",
    "ge-opt model.onnx --load my_pass.py -p ge-custom-passes --explain=MyPass -o out.mlir",
    "ge-opt model.onnx --load my_pass.py -p ge-optimize --verify-rewrites -o out.onnx",
    "ge-opt --describe MatMul",
)


def parser() -> Parser:
    """The options of ge-opt."""
    text = "Read a GE graph, run passes over it, write the result."
    made = Parser("ge-opt", "INPUT", text, EXAMPLES)
    add_files(made)
    add_pipeline(made)
    add_diagnosis(made)
    add_verification(made)
    made.information()
    made.add("--describe", metavar="OP", help="what is known about a GE op, or a pass")
    flags = {
        "--list-ops": "all GE ops and what there is for each, a line each",
        "--list-passes": "all passes, and those of --load, a line each",
        "--list-targets": "all chips, a line each",
    }
    for flag, text in flags.items():
        made.add(flag, action="store_true", help=text)
    made.add("--describe-target", metavar="NAME", help="every number of a chip")
    made.add_optional("--coverage", "=json", "count what is known and covered, by kind")
    return made


def add_files(made: Parser) -> None:
    """The section on what is read and written."""
    made.section("input and output")
    made.add("input", nargs="?", metavar="INPUT", help=f"{INPUTS} file, - for stdin")
    add_input_format(made)
    made.add("-o", "--output", metavar="FILE", help="output file, default stdout")
    made.add(
        "--emit",
        metavar="FORMAT",
        help="mlir, onnx, readable, ge-proto, ge-onnx, air, dot or html, by default as the ending "
        "of -o says; patterns: those of --load as text",
    )
    flags = {
        "--print-op-generic": "print ops in MLIR's generic form",
        "--print-debuginfo": "print what rewritten nodes came from (files have it)",
        "--allow-unregistered-dialect": "accept ops that no dialect has",
        "--strict": "fail for element types that GE does not list and unknown ops of a model",
        "--split-input-file": "treat the parts between // ----- lines one by one",
    }
    for flag, text in flags.items():
        made.add(flag, action="store_true", help=text)


def add_diagnosis(made: Parser) -> None:
    """The section on what rules did, and why."""
    made.section("diagnosis")
    made.add_optional("--stats", "=json", "what each rule did; to stdout with -o, else to stderr")
    made.add_optional("--explain", "=PASS[@NODE]", "why rules did or did not match; likewise")
    made.add("--explain-format", choices=("text", "json"), help="of --explain, default text")
    made.add_optional(
        "--order-report",
        "=json",
        "which rules interact, with a graph each: those of --load on graphs made from their "
        "patterns, or those of -p on INPUT; writes no graph",
    )
    made.add_optional("--print-ir-before", "=PASS", "print the graph before passes", repeat=True)
    made.add_optional("--print-ir-after", "=PASS", "print the graph after passes", repeat=True)
    made.add("--timing", action="store_true", help="show the time of each pass on stderr")


def add_verification(made: Parser) -> None:
    """The section on what makes a run fail."""
    made.section("verification")
    made.add_optional(
        "--verify-rewrites", "=each|pass|off", "check rewrites by numbers and undo wrong ones"
    )
    made.add(
        "--verify-limit",
        metavar="N",
        help="leave rewrites, and graphs, of more than N multiplications unchecked, default "
        "4294967296, and 68719476736 for a graph",
    )
    made.add(
        "--shape",
        action="append",
        default=[],
        metavar="NAME=1x3x224x224",
        help="shape of an input, or size of a symbolic dimension, in the samples that whole "
        "graphs are tried on; sizes that fit are searched without it",
    )
    made.add(
        "--bisect",
        action="store_true",
        help="find the pass, rule and site that breaks the numbers; write a small graph that "
        "shows it to -o FILE or INPUT.bisect.mlir, nothing else",
    )
    made.add(
        "--expect-matches",
        action="append",
        default=[],
        metavar="PASS:N",
        help="fail unless a pass applied exactly N rewrites",
    )
    made.add("--verify-each", action="store_true", help="verify the graph after each pass")
    made.add(
        "--verify-diagnostics",
        action="store_true",
        help="check errors against expected-error comments",
    )


PASS_FILES = ("load", "option", "upstream_quirks", "target")
"""What every call takes that runs passes or only reads their files."""
BISECTED = (
    *PASS_FILES,
    *("input", "input_format", "output", "pipelines", "tile", "strict", "verify_limit", "shape"),
    "allow_unregistered_dialect",
)
TELLING = ("describe", "list_ops", "list_passes", "list_targets", "describe_target", "coverage")
"""What asks for information only."""


def check_combination(made: Parser, args: argparse.Namespace) -> None:
    """Raise UsageError for options that would have no effect together."""
    given = made.given(args)
    if args.emit == "patterns":
        made.only_with(args, "emit", (*PASS_FILES, "output", "input", "pipelines"))
    if "order_report" in given:
        made.only_with(
            args, "order_report", (*PASS_FILES, "input", "input_format", "pipelines", "output")
        )
    if args.bisect:
        made.only_with(args, "bisect", (*BISECTED, "split_input_file", "verify_diagnostics"))
    checks = args.bisect or args.verify_rewrites in ("", "each", "pass")
    whole = args.bisect or args.verify_rewrites == "pass"
    made.needs(args, "explain_format", "--explain", "explain" in given)
    made.needs(args, "verify_limit", "--verify-rewrites or --bisect", checks)
    made.needs(args, "shape", "--bisect or --verify-rewrites=pass", whole)
    for option in ("print_ir_before", "print_ir_after"):
        made.needs(args, option, "-p PASSES", bool(args.pipelines))


def _main(argv: Sequence[str]) -> int:
    made = parser()
    args = made.read(argv)
    given = made.given(args)
    if asked := [name for name in TELLING if name in given]:
        from ge_xdsl.cli import describe, output

        text = describe.answer(args)
        made.only_with(args, asked[0], (*TELLING, "load"))
        output.print_text(text)
        return 0
    check_combination(made, args)
    if args.emit == "patterns":
        from ge_xdsl.cli.patterns import emit_patterns

        load_user_passes(args.load)
        return emit_patterns(args, session_of_args(args))
    if args.order_report is not None:
        from ge_xdsl.cli.order_report import order_report

        load_user_passes(args.load)
        return order_report(args, session_of_args(args))
    if not args.input:
        raise UsageError("no input given, expected a file or -")
    return Run(args).run()


class Run:
    """One call of ge-opt on an input."""

    def __init__(self, args: argparse.Namespace) -> None:
        from ge_xdsl.cli import bisect, output, reports, source
        from ge_xdsl.cli.compile import Watch

        self.args = args
        self.in_parts = args.split_input_file or args.verify_diagnostics
        if self.in_parts and not source.is_text(args.input, args.input_format):
            flag = "--split-input-file" if args.split_input_file else "--verify-diagnostics"
            raise UsageError(f"{flag} with input '{args.input}', expected MLIR text")
        self.format = output.check_format(args)
        self.session: Session = session_of_args(args)
        self.session.strict = args.strict
        self.reports = reports.Reports(args, self.session)
        self.watch: Watch = Watch(
            args.verify_each,
            args.print_ir_before or (),
            args.print_ir_after or (),
            args.print_op_generic,
            numbers=self.reports.numbers,
        )
        load_user_passes(args.load)
        self.passes: list[ModulePass] = self.make_passes()
        if args.bisect:
            bisect.check_options(args)
        warn_of_idle_files(args.load, self.passes, self.session)
        warn_of_idle_tile(self.passes, self.session)
        self.check_watched()
        output.check_writable(args.output)

    def make_passes(self) -> list[ModulePass]:
        from ge_xdsl.passes.pipeline import make_passes

        return [item for text in self.args.pipelines for item in make_passes(text)]

    def check_watched(self) -> None:
        """Raise UsageError when a dump is asked for around a pass that does not run."""
        from ge_xdsl.passes import stages

        names = list(dict.fromkeys(item.name for item in self.passes))
        for when in ("before", "after"):
            asked: list[str] = getattr(self.args, f"print_ir_{when}") or []
            asked[:] = [stages.OTHER_NAMES.get(name, name).split("{")[0] for name in asked]
            for name in asked:
                if name and name not in names:
                    hint = (
                        nearest(name, names) or f", expected one of: {', '.join(names) or 'none'}"
                    )
                    raise UsageError(f"--print-ir-{when}={name} is not in the pipeline{hint}")

    def run(self) -> int:
        if self.args.bisect:
            from ge_xdsl.cli.bisect import bisect

            return bisect(self.args, self.passes, self.session)
        start = perf_counter()
        code = self.run_parts() if self.in_parts else self.run_whole()
        if self.args.timing:
            report(self.watch.table(perf_counter() - start))
        return self.reports.finish() or code

    def compile(self, text: str | None) -> ModuleOp:
        """Read the input, or parse a part of it, and run the passes."""
        from ge_xdsl.cli import source
        from ge_xdsl.cli.arrays import sample_shapes
        from ge_xdsl.cli.compile import run_passes, show_messages
        from ge_xdsl.passes.session import SessionContext

        ctx = SessionContext(self.session, self.args.allow_unregistered_dialect)
        path = self.args.input
        try:
            if text is None:
                module = source.load(path, ctx, self.args.input_format)
            else:
                module = source.parse_text(text, path, ctx)
            if self.reports.numbers is not None:
                name = source.file_name(path)
                self.reports.numbers.shapes = sample_shapes(module, self.args.shape, name)
            run_passes(module, self.passes, self.session, self.watch, source.file_name(path))
        finally:
            show_messages(self.session)
        return module

    def run_whole(self) -> int:
        """The input as one module."""
        from ge_xdsl.cli.compile import show_messages
        from ge_xdsl.cli.output import write_module

        module = self.compile(None)
        generic, origins = self.args.print_op_generic, self.args.print_debuginfo
        write_module(module, self.args.output, self.session, generic, origins, self.format)
        show_messages(self.session)
        return 0

    def run_parts(self) -> int:
        """Each part by itself; its error is shown, or held against its expectations."""
        from ge_xdsl.cli import chunks, output, source

        text = source.read_text(self.args.input)
        file = source.file_name(self.args.input)
        texts: list[str] = []
        failed = False
        for part in chunks.split(text) if self.args.split_input_file else [text]:
            errors: list[CompileError] = []
            try:
                module = self.compile(part)
                generic, origins = self.args.print_op_generic, self.args.print_debuginfo
                texts.append(output.text_of(module, self.session, generic, origins))
            except CompileError as caught:
                errors.append(caught)
            if self.args.verify_diagnostics:
                wrong = chunks.mismatches(part, file, *errors, *self.reports.wrong_rewrites())
            else:
                wrong = [error.render() for error in errors]
            for line in wrong:
                report(line)
            failed = failed or bool(wrong)
        if not failed:
            output.write_text(self.args.output, f"{chunks.SEPARATOR}\n".join(texts))
        return int(failed)


if __name__ == "__main__":
    raise SystemExit(main())
