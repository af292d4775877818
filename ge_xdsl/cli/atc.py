"""`pyatc`: ATC's command line over the whole flow, from a model file to the lowered graph."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING

from ge_xdsl.cli.failures import run_tool
from ge_xdsl.cli.options import Parser, load_user_passes
from ge_xdsl.errors import UsageError, nearest

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

FRAMEWORKS = {"0": "Caffe", "1": "AIR", "3": "TensorFlow", "5": "ONNX"}
"""ATC's numbers for model formats; only ONNX has a reader."""

LOG_LEVELS = ("debug", "info", "warning", "error", "null")


def main(argv: Sequence[str] | None = None) -> int:
    """The entry point; `argv` without the program's name, that of the process by default."""
    return run_tool("pyatc", _main, argv)


def parser() -> Parser:
    """The options of pyatc, spelled as ATC spells them."""
    made = Parser("pyatc", "Compile an ONNX model for a chip with ATC's options.")
    made.add_argument("--model", required=True, metavar="FILE", help="the model")
    made.add_argument("--framework", required=True, metavar="N", help="5 for ONNX")
    made.add_argument("--output", required=True, metavar="PATH", help="the result, .mlir is added")
    made.add_argument("--soc_version", required=True, metavar="NAME", help="the chip")
    made.add_argument(
        "--input_shape", default="", metavar="'NAME:1,3;NAME:4'", help="shapes of graph inputs"
    )
    made.add_argument("--log", default="null", metavar="LEVEL", help=", ".join(LOG_LEVELS))
    return made


def _main(argv: Sequence[str]) -> int:
    args = parser().read(argv)
    check_arguments(args)
    compile_model(args)
    return 0


def check_arguments(args: argparse.Namespace) -> None:
    """Raise UsageError for values that no compile can start with."""
    for flag in ("model", "output"):
        if not getattr(args, flag):
            raise UsageError(f"--{flag} is empty, expected a file")
    if args.framework != "5":
        known = FRAMEWORKS.get(args.framework)
        what = f"{args.framework} ({known})" if known else args.framework
        raise UsageError(f"--framework={what}, expected 5 (ONNX)")
    if args.log not in LOG_LEVELS:
        hint = nearest(args.log, LOG_LEVELS)
        raise UsageError(f"--log={args.log}, expected one of: {', '.join(LOG_LEVELS)}{hint}")


def compile_model(args: argparse.Namespace) -> None:
    """Read the model, run every stage, write the result beside its weights."""
    from ge_xdsl.cli import source
    from ge_xdsl.cli.compile import Watch, run_passes, show_messages
    from ge_xdsl.cli.failures import report
    from ge_xdsl.cli.output import check_writable, print_text, write_module
    from ge_xdsl.dialects.ge.graph import main_function
    from ge_xdsl.passes.infer_shape import parse_shapes, set_input_shapes
    from ge_xdsl.passes.pipeline import make_passes
    from ge_xdsl.passes.session import Session, SessionContext
    from ge_xdsl.targets import target

    session = Session(target=target(args.soc_version).name)
    try:
        shapes = parse_shapes(args.input_shape)
    except ValueError as error:
        raise UsageError(f"--input_shape: {error}") from None
    path = str(Path(f"{args.output}.mlir"))
    check_writable(path)
    load_user_passes(())
    watch, start = Watch(), perf_counter()
    try:
        module = source.load(args.model, SessionContext(session), "onnx")
        set_input_shapes(main_function(module), shapes)
        run_passes(module, make_passes("ge-compile"), session, watch, args.model)
        write_module(module, path, session, generic=False)
        print_text(success_line(module, path))
    finally:
        show_messages(session)
    if args.log in ("debug", "info"):
        report(watch.table(perf_counter() - start))


def success_line(module: ModuleOp, path: str) -> str:
    """What was written: kernel launches, and the ops that have no kernel."""
    from collections import Counter

    from ge_xdsl.dialects.aicore.structure import LaunchOp
    from ge_xdsl.dialects.ge.graph import ge_ops, main_function
    from ge_xdsl.interpreters.aicore import UNCOUNTED

    func = main_function(module)
    launches = sum(isinstance(op, LaunchOp) for op in func.walk())
    left = Counter(op.op_type for op in ge_ops(func) if op.op_type not in UNCOUNTED)
    text = f"ATC run success: {path}, {launches} kernel launches"
    if left:
        kinds = ", ".join(f"{op_type} x {count}" for op_type, count in sorted(left.items()))
        text += f", {left.total()} ops without a kernel ({kinds})"
    return f"{text}\n"


if __name__ == "__main__":
    raise SystemExit(main())
