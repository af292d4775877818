"""Writing results: whole files or nothing."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, TextIO, cast

from ge_xdsl.errors import CompileError, Location, UsageError

if TYPE_CHECKING:
    from argparse import Namespace

    from xdsl.dialects.builtin import ModuleOp

    from ge_xdsl.passes.session import Session


def format_of(path: str | None, asked: str | None) -> str:
    """The output format: `--emit`, or else the one that the ending of `-o` selects, or mlir.

    Raises UsageError for a name or an ending that no writer has, and for a binary format that
    would go to a terminal.
    """
    from ge_xdsl.exporters import FORMATS, format_named, format_of_ending

    to_stream = path is None or path == "-" or is_special(path)
    if asked is not None:
        format_named(asked)
    name = asked or ("mlir" if to_stream else format_of_ending(path or ""))
    on_screen = path in (None, "-") and bool(sys.stdout) and sys.stdout.isatty()
    if on_screen and FORMATS[name].binary:
        raise UsageError(f"--emit={name} is binary, expected -o FILE or a pipe for it")
    return name


def check_format(args: Namespace) -> str:
    """The output format of ge-opt; raises UsageError for options that only `mlir` has."""
    name = format_of(args.output, args.emit)
    flags = ("split_input_file", "verify_diagnostics", "print_op_generic", "print_debuginfo")
    for flag in flags:
        if name != "mlir" and getattr(args, flag):
            option = f"--{flag.replace('_', '-')}"
            raise UsageError(f"{option} with output format {name}, expected mlir")
    return name


def check_writable(path: str | None) -> None:
    """Fail before the work, not after it, when the output cannot be written."""
    if path is None or path == "-" or is_special(path):
        return
    place = Location(path)
    folder = Path(os.path.realpath(path)).parent
    if Path(path).is_dir():
        raise CompileError("is a directory, expected a file to write", location=place)
    if not folder.is_dir():
        raise CompileError("its folder does not exist, expected one to write to", location=place)
    if not os.access(folder, os.W_OK | os.X_OK):
        raise CompileError("its folder is not writable, expected one that is", location=place)


def is_special(path: str) -> bool:
    """Whether a path is a device or a pipe, which no file can take the place of."""
    try:
        mode = os.stat(path).st_mode
    except (OSError, ValueError):
        return False
    return not stat.S_ISREG(mode) and not stat.S_ISDIR(mode)


def write_file(path: str, write: Callable[[str], None]) -> None:
    """Let `write` fill a new file beside `path`, then put it in its place.

    A failure leaves what stood at `path` before, and no other file. Raises CompileError.
    """
    target = Path(path) if is_special(path) else Path(os.path.realpath(path))
    part = target if is_special(path) else target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        write(str(part))
        if part is not target:
            part.replace(target)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise CompileError(f"cannot be written, {reason}", location=Location(path)) from error
    finally:
        if part is not target:
            part.unlink(missing_ok=True)


def print_text(text: str) -> None:
    """Write to standard output as UTF-8, whatever the locale.

    Raises CompileError when the process has none.
    """
    print_bytes(text.encode("utf-8"))


def print_bytes(data: bytes) -> None:
    """Write to standard output; raises CompileError when the process has none."""
    stream = cast("TextIO | None", sys.stdout)
    if stream is None or stream.closed:
        raise CompileError("is closed, expected it open or -o FILE", location=Location("<stdout>"))
    sys.stdout.flush()
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


def write_text(path: str | None, text: str) -> None:
    """Write text to a file in one step, or to standard output."""
    if path is None or path == "-":
        print_text(text)
    else:
        write_file(path, lambda name: fill(name, text))


def fill(name: str, text: str) -> None:
    """Write a text file with the same bytes on every system."""
    Path(name).write_text(text, encoding="utf-8", newline="\n")


def text_of(module: ModuleOp, session: Session, generic: bool, origins: bool) -> str:
    """A module as text; the session is warned about weights that the text has to leave out."""
    from ge_xdsl.exporters.mlir import mlir_text

    text, warning = mlir_text(module, generic, origins)
    if warning:
        session.warn(warning)
    return text


def write_module(
    module: ModuleOp,
    path: str | None,
    session: Session,
    generic: bool = False,
    origins: bool = True,
    name: str = "mlir",
) -> None:
    """Write a module in a format; of MLIR beside a file the weights that the text refers to.

    A file keeps the origins of rewritten nodes, the screen shows them with `origins`.
    """
    from ge_xdsl.exporters import encoded, write_graph
    from ge_xdsl.exporters.mlir import write_mlir

    if path is None or path == "-":
        if name == "mlir":
            print_text(text_of(module, session, generic, origins))
        else:
            print_bytes(encoded(module, name, session.warn))
        return
    # what a link leads to is replaced, not the link
    target = os.path.realpath(path) if os.path.islink(path) else path
    if name == "mlir":
        write_mlir(module, target, generic)
    else:
        write_graph(module, Path(target), name, session.warn)
