"""`pyatc`: ATC's command line over the whole flow, from a model file to the lowered graph."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING

from ge_xdsl.cli.atc_options import (
    READERS,
    check_arguments,
    ge_options,
    parse_outputs,
    parser,
    unwritten,
    without_effect,
)
from ge_xdsl.cli.failures import describe_failure, run_tool
from ge_xdsl.cli.ge_log import ERROR, INFO, WARNING, GeLog, level_of
from ge_xdsl.cli.options import load_user_passes
from ge_xdsl.errors import CompileError, UsageError, counted, nearest

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp
    from xdsl.dialects.func import FuncOp
    from xdsl.ir import SSAValue

    from ge_xdsl.passes.session import Session
    from ge_xdsl.pattern.statistics import Statistics


def main(argv: Sequence[str] | None = None, prog: str = "pyatc") -> int:
    """The entry point; `argv` without the program's name, that of the process by default.

    `prog` is how help and errors of usage name the program.
    """
    return run_tool(prog, lambda given: _main(given, prog), argv)


def _main(argv: Sequence[str], prog: str) -> int:
    args = parser(prog).read(argv)
    check_arguments(args)
    log = GeLog(level_of(args.log, os.environ))
    try:
        compile_model(args, log)
    except BaseException as error:
        log.write(ERROR, "Compile", describe_failure(error))
        raise
    finally:
        log.close()
    return 0


def compile_model(args: argparse.Namespace, log: GeLog) -> None:
    """Read the model, run every stage, write the result beside its weights, and statistics.

    In mode 3 the model is read and its types are inferred, and nothing is written.
    """
    from ge_xdsl.cli.compile import show_messages
    from ge_xdsl.cli.output import check_writable, print_text, write_module
    from ge_xdsl.passes.session import Session
    from ge_xdsl.pattern.statistics import Statistics
    from ge_xdsl.targets import target

    statistics = Statistics()
    session = Session(target(args.soc_version).name, ge_options(args))
    session.recorders = [statistics, log] if log.level <= INFO else [statistics]
    parse_outputs(args.out_nodes)
    checks_only = args.mode == "3"
    path = str(Path(f"{args.output}.mlir"))
    if not checks_only:
        check_writable(path)
    load_user_passes(())
    try:
        module = _read(args, session)
        _run(args, module, session, log, "ge-infer-shape" if checks_only else "ge-compile")
        if not checks_only:
            write_module(module, path, session, generic=False)
            _write_statistics(args, statistics, session)
        print_text("ATC check success\n" if checks_only else success_line(module, path))
    finally:
        for message in session.messages:
            log.write(WARNING, "Compile", message)
        show_messages(session)


def _read(args: argparse.Namespace, session: Session) -> ModuleOp:
    """The model with the shapes and outputs that the options give."""
    from ge_xdsl.cli import source
    from ge_xdsl.dialects.ge.graph import main_function
    from ge_xdsl.passes.infer_shape import parse_shapes, set_input_shapes
    from ge_xdsl.passes.session import SessionContext

    try:
        shapes = parse_shapes(args.input_shape)
    except ValueError as error:
        raise UsageError(f"--input_shape: {error}") from None
    if flags := without_effect(args):
        session.warn(f"{', '.join(flags)} changes nothing here, expected on a device only")
    if flags := unwritten(args):
        session.warn(f"{', '.join(flags)} has no effect in mode 3, which writes nothing")
    module = source.load(args.model, SessionContext(session), READERS[args.framework])
    set_input_shapes(main_function(module), shapes)
    wanted = parse_outputs(args.out_nodes)
    return cut_at(module, wanted) if wanted else module


def cut_at(module: ModuleOp, wanted: Sequence[tuple[str, int]]) -> ModuleOp:
    """A module that computes results of nodes, each named with its number; CompileError if
    there is no such result."""
    from ge_xdsl.dialects.ge.graph import main_function
    from ge_xdsl.dialects.ge.names import OUTPUT_NAMES, set_string_list
    from ge_xdsl.dialects.ge.op import GeOp
    from ge_xdsl.passes.extract import extract

    block = main_function(module).body.block
    nodes = {op.node_name: op for op in block.ops if isinstance(op, GeOp)}
    values: list[SSAValue] = []
    for name, index in wanted:
        if name not in nodes:
            hint = nearest(name, list(nodes))
            raise CompileError(f"no node is named '{name}'{hint}", subject="--out_nodes")
        if index >= len(nodes[name].results):
            count = len(nodes[name].results)
            raise CompileError(
                f"node '{name}' has {count} results, expected one with number {index}",
                subject="--out_nodes",
            )
        values.append(nodes[name].results[index])
    found = extract(values)
    set_string_list(main_function(found), OUTPUT_NAMES, [f"{name}:{k}" for name, k in wanted])
    return found


def _run(
    args: argparse.Namespace, module: ModuleOp, session: Session, log: GeLog, pipeline: str
) -> None:
    """Run the pipeline; at level info the passes' times follow on stderr."""
    from ge_xdsl.cli.compile import Watch, run_passes
    from ge_xdsl.cli.failures import report
    from ge_xdsl.passes.pipeline import make_passes

    watch, start = Watch(log=log), perf_counter()
    run_passes(module, make_passes(pipeline), session, watch, args.model)
    if args.log in ("debug", "info"):
        report(watch.table(perf_counter() - start))


def _write_statistics(args: argparse.Namespace, statistics: Statistics, session: Session) -> None:
    """Write fusion_result.json; where that fails a warning says so."""
    from ge_xdsl.passes.fusion_result import result_path, write_fusion_result

    if args.export_compile_stat == "0":
        return
    path = result_path(os.environ)
    try:
        write_fusion_result(statistics, path)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        session.warn(f"fusion statistics {path} are not written: {reason}")


def success_line(module: ModuleOp, path: str) -> str:
    """What was written: kernel launches, the ops that have no kernel, and why when a shape of an
    input is open."""
    from collections import Counter

    from ge_xdsl.dialects.aicore.structure import LaunchOp
    from ge_xdsl.dialects.ge.graph import ge_ops, main_function
    from ge_xdsl.interpreters.aicore import UNCOUNTED

    func = main_function(module)
    launches = sum(isinstance(op, LaunchOp) for op in func.walk())
    left = Counter(op.op_type for op in ge_ops(func) if op.op_type not in UNCOUNTED)
    text = f"ATC run success: {path}, {counted(launches, 'kernel launch')}"
    if left:
        kinds = ", ".join(f"{op_type} x {count}" for op_type, count in sorted(left.items()))
        text += f", {counted(left.total(), 'op')} without a kernel ({kinds})"
        if inputs := open_inputs(func):
            text += f"; {', '.join(inputs)}, expected --input_shape for kernels"
    return f"{text}\n"


def open_inputs(func: FuncOp) -> list[str]:
    """`'x' is ?x3` for each graph input whose shape is not fixed."""
    from ge_xdsl.dialects.ge.names import input_names
    from ge_xdsl.dialects.ge.shapes import shape_text
    from ge_xdsl.dialects.ge.types import tensor_of

    arguments = zip(input_names(func), map(tensor_of, func.body.block.arg_types), strict=True)
    return [
        f"'{name}' is {shape_text(tensor.shape)}"
        for name, tensor in arguments
        if tensor.shape is None or min(tensor.shape, default=0) < 0
    ]


if __name__ == "__main__":
    raise SystemExit(main())
