"""How a tool ends: exit codes, and one line per error whatever went wrong."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, redirect_stdout
from typing import TextIO, cast

from ge_xdsl.errors import CompileError, Location, UsageError, one_line

DEBUG = "GE_XDSL_DEBUG"
"""Environment variable: 1 shows the traceback of an internal error."""

ONE_THREAD = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")
"""What numpy's libraries of products read when they are loaded. Products that several threads
share are rounded otherwise than those of one, and digests must not depend on the cores; the
products of most models are so small that threads make them slower, too."""

COLLECT_AFTER = (100_000, 50, 1000)
"""Thresholds of the garbage collector: a graph is many objects and few cycles."""


def run_tool(prog: str, tool: Callable[[Sequence[str]], int], argv: Sequence[str] | None) -> int:
    """Run a tool on its arguments and turn what it raises into an exit code.

    0 done; 1 the input, a pass or a check failed; 2 bad usage; 130 interrupted.
    """
    if argv is None:  # the process is ours
        gc.set_threshold(*COLLECT_AFTER)
        for name in ONE_THREAD:
            os.environ.setdefault(name, "1")
        argv = sys.argv[1:]
    try:
        code = tool(argv)
        _flush()
        return code
    except SystemExit as done:  # argparse after --help and --version
        return done.code if isinstance(done.code, int) else 0
    except BrokenPipeError:
        _silence_stdout()
        return 1
    except KeyboardInterrupt:
        return 130
    except UsageError as error:
        report(f"{prog}: error: {one_line(str(error))}")
        return 2
    except BaseException as error:  # user passes may raise anything
        report(describe_failure(error))
        return 1


def report(text: str) -> None:
    """Write a line, or the lines of an error and its notes, to stderr.

    Where stderr is closed the exit code alone has to tell.
    """
    stream = cast("TextIO | None", sys.stderr)
    if stream is not None and not stream.closed:
        print(text, file=stream)


def _flush() -> None:
    stream = cast("TextIO | None", sys.stdout)
    if stream is not None and not stream.closed:
        stream.flush()


@contextmanager
def user_code() -> Generator[None]:
    """What surrounds the code of user passes: it prints to stderr, so that the output stays whole,
    and the current folder is that of the caller again afterwards."""
    folder = os.getcwd()
    try:
        with redirect_stdout(sys.stderr):
            yield
    finally:
        os.chdir(folder)


def describe_failure(error: BaseException) -> str:
    """The line for an exception that is no bad usage; tracebacks only under GE_XDSL_DEBUG."""
    if os.environ.get(DEBUG) == "1":
        import traceback

        traceback.print_exception(error)
    if isinstance(error, CompileError):
        return error.render()
    if isinstance(error, OSError):
        return file_error(error).render()
    if isinstance(error, MemoryError):
        return "error: out of memory, expected a smaller graph or smaller constants"
    if isinstance(error, RecursionError):
        return "error: nesting is too deep, expected less"
    notes = "".join(f" ({note})" for note in getattr(error, "__notes__", ()))
    text = one_line(f"{type(error).__name__}: {error}{notes}")
    return f"error: internal: {text}; please report it, {DEBUG}=1 shows where"


def file_error(error: OSError) -> CompileError:
    """An error of the file system as the one line that users see."""
    place = Location(str(error.filename)) if error.filename is not None else None
    reason = (error.strerror or str(error) or type(error).__name__).lower()
    return CompileError(reason, location=place)


def _silence_stdout() -> None:
    """Let the interpreter's own flush at exit meet no closed pipe."""
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (OSError, ValueError):
        return
