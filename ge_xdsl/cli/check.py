"""`ge-check`: lint a pass file, try its passes on graphs made for them and on models."""

from __future__ import annotations

import argparse
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from ge_xdsl.cli.failures import report, run_tool
from ge_xdsl.cli.options import (
    INPUTS,
    Parser,
    add_input_format,
    add_pass_options,
    load_user_passes,
    session_of_args,
)
from ge_xdsl.errors import CompileError, Location, UsageError, counted

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from ge_xdsl.passes.check.findings import Finding
    from ge_xdsl.passes.check.lint import Opened
    from ge_xdsl.passes.check.trial import Trial
    from ge_xdsl.passes.registry import UserPass
    from ge_xdsl.passes.session import Session


def main(argv: Sequence[str] | None = None) -> int:
    """The entry point; `argv` without the program's name, that of the process by default."""
    return run_tool("ge-check", _main, argv)


EXAMPLES = (
    "ge-check my_pass.py",
    "ge-check my_passes/ model.onnx",
    "ge-check my_pass.py --option level=2 --target Ascend310P3",
)


def parser() -> Parser:
    """The options of ge-check."""
    made = Parser(
        "ge-check",
        "PASS.py [MODEL ...]",
        "Lint a pass file, run its passes on graphs made from their patterns and on models, "
        "and compare the numbers. Exits with 1 on any error that is found.",
        EXAMPLES,
    )
    made.section("pass files")
    made.add("passes", metavar="PASS.py", nargs="?", help="a pass file or a directory")
    add_pass_options(made)
    made.section("models")
    made.add("models", metavar="MODEL", nargs="*", help=f"{INPUTS} files to try the passes on")
    add_input_format(made, "overrides the models' endings")
    made.add("--target", metavar="NAME", help="the chip, see ge-opt --list-targets")
    made.information()
    return made


def _main(argv: Sequence[str]) -> int:
    made = parser()
    args = made.read(argv)
    if not args.passes:
        raise UsageError("no pass file given, expected PASS.py")
    made.needs(args, "input_format", "models", bool(args.models))
    return Check(args).run()


class Check:
    """One call of ge-check."""

    def __init__(self, args: argparse.Namespace) -> None:
        self.args = args
        self.session: Session = session_of_args(args)
        load_user_passes([args.passes])
        self.passes = passes_of(args.passes)
        if not self.passes:
            raise CompileError(
                "registers no pass, expected @register_fusion_pass or @register_decompose_pass",
                location=Location(args.passes),
            )
        self.models = [(path, self.model(path)) for path in args.models]

    def model(self, path: str) -> ModuleOp:
        from ge_xdsl.cli import source
        from ge_xdsl.passes.session import SessionContext

        return source.load(path, SessionContext(self.session), self.args.input_format)

    def run(self) -> int:
        """Check every pass and print what was found and tried; 1 when there is an error."""
        from ge_xdsl.cli.failures import user_code
        from ge_xdsl.cli.output import print_text

        with ExitStack() as stack:
            with user_code():
                opened = [self.open(item, stack) for item in self.passes]
            lines: list[str] = []
            findings: list[Finding] = []
            for item in opened:
                with user_code():
                    found, told = self.check(item)
                findings += found
                lines += told
            findings += shadowed_by_stage(opened)
        findings.sort(key=lambda finding: finding.order)
        print_text("".join(f"{line}\n" for line in [*(f.line() for f in findings), *lines]))
        errors = sum(finding.severity == "error" for finding in findings)
        warnings = counted(len(findings) - errors, "warning")
        report(f"note: {counted(errors, 'error')}, {warnings}")
        return int(errors > 0)

    def open(self, user_pass: UserPass, stack: ExitStack) -> Opened:
        from dataclasses import replace

        from ge_xdsl.passes import registry
        from ge_xdsl.passes.check.lint import Opened

        session = replace(self.session, messages=[])
        contents = stack.enter_context(registry.contents(user_pass, session))
        return Opened(user_pass, contents, list(session.messages))

    def check(self, opened: Opened) -> tuple[list[Finding], list[str]]:
        """The findings of one pass, and the lines of the report."""
        from ge_xdsl.passes.check.lint import lint
        from ge_xdsl.passes.check.trial import Trial

        trial = Trial(opened, self.session)
        trial.on_own_graphs()
        told = [f"  {trial.on_model(path, module)}" for path, module in self.models]
        findings = [*lint(opened, trial.tally.fired), *trial.findings(self.written(trial))]
        if opened.user_pass.kind == "fusion_base" and not self.models:
            text = "run() has no pattern to make graphs from, expected a MODEL to try it on"
            findings.append(opened.finding("warning", text))
        return findings, [*trial.tally.lines(opened.name), *told]

    def written(self, trial: Trial) -> str:
        """Write the counterexample, if there is one; its file."""
        from ge_xdsl.cli.output import check_writable, write_module

        example = trial.tally.example
        if example is None:
            return ""
        name = re.sub(r"[^\w.-]", "_", trial.opened.name)
        file = f"{name}.counterexample.mlir"
        check_writable(file)
        write_module(example.module, file, self.session, False)
        return file


def passes_of(path: str) -> list[UserPass]:
    """The passes that a file, or a directory, registered, by stage and in running order."""
    from ge_xdsl.passes import registry

    root = Path(os.path.realpath(os.path.expanduser(path)))
    found = [item for stage in registry.STAGES for item in registry.passes_of(stage)]
    return [
        item
        for item in found
        if item.location is None or Path(os.path.realpath(item.location.file)).is_relative_to(root)
    ]


def shadowed_by_stage(opened: Sequence[Opened]) -> Iterator[Finding]:
    """Findings about passes of one stage that get in each other's way."""
    from ge_xdsl.passes import registry
    from ge_xdsl.passes.check.lint import shadowed

    for stage in registry.STAGES:
        yield from shadowed([item for item in opened if item.user_pass.stage == stage])


if __name__ == "__main__":
    raise SystemExit(main())
