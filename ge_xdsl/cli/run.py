"""`ge-run`: run a graph on arrays, as a whole or as tile programs, and compare the results."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ge_xdsl.cli.failures import run_tool
from ge_xdsl.cli.options import (
    INPUTS,
    Parser,
    add_input_format,
    add_pipeline,
    load_user_passes,
    session_of_args,
    warn_of_idle_files,
)
from ge_xdsl.errors import CompileError, Location, UsageError

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp
    from xdsl.ir import Operation
    from xdsl.passes import ModulePass

    from ge_xdsl.dialects.ge.types import Array
    from ge_xdsl.interpreters.timing import Report

ONE_OF_THEM = "expected one of them"
SEED = 0
"""The seed of `--random-inputs` without a value."""


def main(argv: Sequence[str] | None = None) -> int:
    """The entry point; `argv` without the program's name, that of the process by default."""
    return run_tool("ge-run", _main, argv)


EXAMPLES = (
    "ge-run model.onnx --random-inputs --compare onnxruntime",
    "ge-run model.onnx --load my_pass.py -p ge-custom-passes --random-inputs --compare ge",
    "ge-run model.onnx --shape x=1x3x48x192 --estimate",
    "ge-run model.onnx -p ge-optimize --random-inputs --cycles=diff --trace trace.json",
)


def parser() -> Parser:
    """The options of ge-run."""
    made = Parser(
        "ge-run",
        "MODEL",
        "Run a GE graph on arrays and show, save or compare its outputs. The line of an output has "
        "its name, shape, type and a digest of its values: equal digests are equal arrays.",
        EXAMPLES,
    )
    add_arrays(made)
    add_pipeline(made)
    add_tile_options(made)
    made.section("verification")
    made.add(
        "--compare",
        choices=("onnxruntime", "ge"),
        help="with onnxruntime (.onnx only), or with the graph as read, at level ge",
    )
    made.add(
        "--checked",
        action="store_true",
        help="reads of what is not written, and out of bounds, are errors (level aicore, slow)",
    )
    made.information()
    made.add("--list-targets", action="store_true", help="all chips, a line each")
    made.add("--describe-target", metavar="NAME", help="every number of a chip")
    return made


def add_arrays(made: Parser) -> None:
    """The section on what is read and written."""
    made.section("input and output")
    made.add("input", metavar="MODEL", nargs="?", help=f"{INPUTS} file, - for stdin")
    add_input_format(made)
    made.add(
        "--input",
        dest="arrays",
        action="append",
        default=[],
        metavar="NAME=FILE.npy",
        help="the array of one input",
    )
    made.add("--inputs", metavar="FILE.npz", help="arrays by input name")
    made.add_optional("--random-inputs", "=SEED", "random values for the inputs not given")
    made.add(
        "--shape",
        action="append",
        default=[],
        metavar="NAME=1x3x224x224",
        help="shape of an input, or size of a symbolic dimension; unknown ones are 1 without it",
    )
    made.add("--save-outputs", metavar="FILE.npz", help="write the outputs by name")


def add_tile_options(made: Parser) -> None:
    """The section on tile programs and their times."""
    made.section("diagnosis")
    made.add(
        "--level",
        choices=("ge", "aicore"),
        help="whole tensors, or tile programs; aicore with --cycles and after a lowering",
    )
    made.add_optional(
        "--cycles",
        "=json|diff",
        "time per kernel and pipe (level aicore); diff: and what the passes of -p save",
    )
    made.add(
        "--estimate", action="store_true", help="as --cycles, but nothing is computed; no outputs"
    )
    made.add(
        "--trace", metavar="FILE.json", help="write the pipes over time, for Perfetto or Chrome"
    )


def _main(argv: Sequence[str]) -> int:
    made = parser()
    args = made.read(argv)
    if args.estimate:
        args.cycles = args.cycles or ""
        args.random_inputs = args.random_inputs or ""
    told = ("list_targets", "describe_target")
    if asked := [name for name in told if name in made.given(args)]:
        from ge_xdsl.cli import describe, output

        text = describe.targets_answer(args)
        made.only_with(args, asked[0], told)
        output.print_text(text)
        return 0
    check_arguments(args)
    return Run(args).run()


def check_arguments(args: argparse.Namespace) -> None:
    """Raise UsageError for an empty input and for options that contradict each other."""
    if not args.input:
        raise UsageError("no model given, expected a file or -")
    for option in ("cycles", "trace"):
        if getattr(args, option) is not None and args.level == "ge":
            raise UsageError(f"--{option} with --level ge, expected --level aicore")
    if args.checked and args.level != "aicore" and not args.estimate:
        raise UsageError("--checked without --level aicore, expected both")
    if args.cycles not in (None, "", "json", "diff"):
        raise UsageError(f"--cycles={args.cycles}, expected --cycles, --cycles=json or =diff")
    if args.cycles == "diff" and not args.pipelines:
        raise UsageError("--cycles=diff without passes, expected some with -p")
    for option in ("compare", "save_outputs", "checked"):
        if args.estimate and getattr(args, option):
            flag = "--" + option.replace("_", "-")
            raise UsageError(f"--estimate with {flag}, {ONE_OF_THEM}")
    if args.estimate and args.random_inputs:
        raise UsageError(f"--estimate with --random-inputs={args.random_inputs}, {ONE_OF_THEM}")
    if args.compare == "onnxruntime" and not is_onnx(args):
        raise UsageError(f"--compare onnxruntime with '{args.input}', expected an .onnx file")


def same_file(path: str, other: str) -> bool:
    """Whether two paths lead to one file that exists."""
    import os

    try:
        return os.path.samefile(path, other)
    except (OSError, ValueError):
        return False


def is_onnx(args: argparse.Namespace) -> bool:
    """Whether the model is an .onnx file."""
    return args.input != "-" and (
        args.input_format == "onnx"
        or (args.input_format is None and args.input.lower().endswith(".onnx"))
    )


def seed_of(text: str | None) -> int | None:
    """The seed of `--random-inputs`, None without the option."""
    if text is None:
        return None
    if not text:
        return SEED
    if not text.isdecimal():
        raise UsageError(f"--random-inputs={text}, expected a seed of 0 or more")
    return int(text)


class Run:
    """One call of ge-run."""

    def __init__(self, args: argparse.Namespace) -> None:
        from ge_xdsl.cli.output import check_writable
        from ge_xdsl.passes.pipeline import make_passes

        self.args = args
        self.seed = seed_of(args.random_inputs)
        self.session = session_of_args(args)
        load_user_passes(args.load)
        self.passes = [item for text in args.pipelines for item in make_passes(text)]
        lowers = any(item.name == "convert-ge-to-aicore" for item in self.passes)
        has_tiles = args.cycles is not None or args.trace is not None or lowers
        self.level: str = args.level or ("aicore" if has_tiles else "ge")
        if lowers and self.level == "ge":
            raise UsageError("--level ge with convert-ge-to-aicore, expected --level aicore")
        if self.session.tile and self.level == "ge":
            raise UsageError(f"--tile {self.session.tile} at level ge, expected --level aicore")
        warn_of_idle_files(args.load, self.passes, self.session)
        check_writable(args.save_outputs)
        check_writable(args.trace)
        if args.save_outputs and same_file(args.save_outputs, args.input):
            raise UsageError(
                f"--save-outputs {args.save_outputs} is the model, expected a new file"
            )

    def run(self) -> int:
        """The exit code; errors that have no place of their own get the model's name."""
        from ge_xdsl.cli import source

        try:
            return self.run_model()
        except CompileError as error:
            raise error.with_location(Location(source.file_name(self.args.input))) from None

    def run_model(self) -> int:
        from ge_xdsl.cli import arrays, source
        from ge_xdsl.cli.compile import show_messages
        from ge_xdsl.dialects.ge.graph import main_function
        from ge_xdsl.passes.session import SessionContext

        module = source.load(self.args.input, SessionContext(self.session), self.args.input_format)
        func = main_function(module)
        if self.args.level is None and has_kernels(module):
            self.level = "aicore"
        shapes = arrays.asked_shapes(func, self.args.shape)
        files = (self.args.arrays, self.args.inputs)
        inputs = arrays.gather_inputs(func, *files, self.seed, shapes, self.args.estimate)
        did = "was timed" if self.args.estimate else "ran"
        assumed = arrays.assumed_shapes(func, inputs, shapes, did) if self.seed is not None else []
        report: Report | None = None
        self.before: Report | None = None
        try:
            reference = self.reference(module, inputs)
            if self.args.cycles == "diff":
                self.before = self.price(module, inputs)
            self.compile(module, inputs, self.passes)
            if self.args.estimate:
                outputs, report = {}, estimate_of(module, self.session.target)
            elif self.level == "ge":
                outputs = run_graph(module, inputs)
            else:
                outputs, report = self.run_kernels(module, inputs)
            if self.args.cycles is not None or self.args.trace is not None:
                for line in assumed:  # times are of little use for a size nobody asked for
                    self.session.warn(line)
        except CompileError as error:
            if not error.subject.startswith("graph input"):
                error.notes += tuple(assumed)
            raise
        finally:
            show_messages(self.session)
        if report is not None and self.args.trace is not None:
            self.write_trace(module, report)
        return int(self.show(outputs, reference, report))

    def show(
        self,
        outputs: dict[str, Array],
        reference: dict[str, Array] | None,
        report: Report | None,
    ) -> bool:
        """Print, compare and save the outputs; whether one differs from the reference."""
        from ge_xdsl.cli import arrays
        from ge_xdsl.cli.output import print_text

        lines = arrays.output_lines(outputs)
        failed = False
        if reference is not None:
            from ge_xdsl.cli.compare import compare

            more, failed = compare(outputs, reference, self.args.compare)
            lines += more
        if self.args.save_outputs:
            arrays.save_npz(self.args.save_outputs, outputs)
        if report is not None and self.args.cycles is not None:
            self.show_cycles(lines, report)
        else:
            print_text("\n".join(lines) + "\n")
        return failed

    def show_cycles(self, lines: list[str], report: Report) -> None:
        """Everything on stdout; as JSON the report alone, and the rest on stderr."""
        import json

        from ge_xdsl.cli.failures import report as to_stderr
        from ge_xdsl.cli.output import print_text
        from ge_xdsl.interpreters.timing import difference_table, report_table

        text = "\n".join(lines)
        if self.args.cycles == "json":
            to_stderr(text)
            print_text(json.dumps(report.to_json(), indent=2) + "\n")
            return
        parts = [text, report_table(report)] if text else [report_table(report)]
        if self.before is not None:
            parts.append(difference_table(self.before, report))
        print_text("\n".join(parts))

    def price(self, module: ModuleOp, inputs: Mapping[str, Array]) -> Report:
        """What a graph costs before any pass runs; the module is left as it is."""
        lowered = module.clone()
        self.compile(lowered, inputs, [])
        return estimate_of(lowered, self.session.target)

    def write_trace(self, module: ModuleOp, report: Report) -> None:
        """Write the trace of a report."""
        import json

        from ge_xdsl.cli.output import write_text
        from ge_xdsl.interpreters.aicore import kernels_of
        from ge_xdsl.interpreters.trace import trace
        from ge_xdsl.targets import target

        made = trace(report, kernels_of(module), target(self.session.target))
        write_text(self.args.trace, json.dumps(made, separators=(",", ":")) + "\n")

    def reference(self, module: ModuleOp, inputs: Mapping[str, Array]) -> dict[str, Array] | None:
        """The outputs to compare with, computed before any pass runs."""
        if self.args.compare == "ge":
            return run_graph(module, inputs)
        if self.args.compare == "onnxruntime":
            from ge_xdsl.cli.compare import run_onnxruntime

            return run_onnxruntime(self.args.input, inputs)
        return None

    def compile(
        self, module: ModuleOp, inputs: Mapping[str, Array], asked: Sequence[ModulePass]
    ) -> None:
        """Make the shapes static, run the passes asked for, and lower for level aicore."""
        from ge_xdsl.cli import source
        from ge_xdsl.cli.compile import run_passes
        from ge_xdsl.dialects.ge.graph import main_function
        from ge_xdsl.passes import stages
        from ge_xdsl.passes.infer_shape import GeInferShapePass, set_input_shapes
        from ge_xdsl.passes.pipeline import make_passes

        passes = list(asked)
        if self.level == "aicore":
            set_input_shapes(main_function(module), {n: a.shape for n, a in inputs.items()})
            passes.insert(0, GeInferShapePass())
            lowering = make_passes(",".join(stages.LOWER))
            done = {item.name for item in passes}
            passes += [item for item in lowering if item.name not in done]
        file = source.file_name(self.args.input)
        run_passes(module, passes, self.session, file=file, for_device=False)

    def run_kernels(
        self, module: ModuleOp, inputs: Mapping[str, Array]
    ) -> tuple[dict[str, Array], Report]:
        """Outputs by name and timing report of the lowered module."""
        from ge_xdsl.dialects.ge.graph import main_function
        from ge_xdsl.dialects.ge.names import output_names
        from ge_xdsl.interpreters.aicore import run

        target, checked = self.session.target, self.args.checked
        outputs, report = run(module, inputs, target, checked=checked)
        return dict(zip(output_names(main_function(module)), outputs, strict=True)), report


def estimate_of(module: ModuleOp, chip: str) -> Report:
    """The timing report of a lowered module."""
    from ge_xdsl.interpreters.aicore import estimate

    return estimate(module, chip)


def has_kernels(module: ModuleOp) -> bool:
    """Whether a module is lowered already."""
    return any(op.name == "aicore.kernel" for op in module.body.block.ops)


def run_graph(module: ModuleOp, inputs: Mapping[str, Array]) -> dict[str, Array]:
    """The outputs of the main graph by name, computed on whole tensors."""
    from ge_xdsl.cli.progress import Progress
    from ge_xdsl.dialects.ge.graph import main_function, verify
    from ge_xdsl.dialects.ge.names import output_names
    from ge_xdsl.interpreters.ge import run_function

    verify(module)
    func = main_function(module)
    progress = Progress(sum(1 for _ in func.body.block.ops) - 1, "running")

    def observe(op: Operation, results: Sequence[Array]) -> None:
        progress.step()

    try:
        outputs = run_function(func, inputs, observe)
    finally:
        progress.close()
    return dict(zip(output_names(func), outputs, strict=True))


if __name__ == "__main__":
    raise SystemExit(main())
