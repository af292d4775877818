"""Foreign formats -> IR. `load_module` chooses the reader; readers are imported on use."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, TextIO, cast

from ge_xdsl.errors import CompileError, Location, UsageError, nearest

if TYPE_CHECKING:
    from xdsl.context import Context
    from xdsl.dialects.builtin import ModuleOp

STDIN = "-"


def stdin_bytes() -> bytes:
    """What is on standard input; raises CompileError when the process has none."""
    stream = cast("TextIO | None", sys.stdin)
    if stream is None:
        raise CompileError("is closed, expected a module", location=Location("<stdin>"))
    return stream.buffer.read()


def load_module(path: str | Path, ctx: Context | None = None, input_format: str = "") -> ModuleOp:
    """The module in a file, or on standard input for `-`.

    The file's ending selects the reader, `input_format` (`mlir`, `onnx`, `air`, ...) overrides it;
    standard input is `mlir` unless told otherwise. Raises CompileError for what cannot be read,
    UsageError for an unknown format.
    """
    if input_format and input_format not in READERS:
        hint = nearest(input_format, list(READERS))
        raise UsageError(f"input format is '{input_format}', expected {_formats()}{hint}")
    if str(path) == STDIN:
        return READERS[input_format or "mlir"](None, ctx)
    path = Path(path)
    chosen = input_format or path.suffix.lower().removeprefix(".")
    if chosen not in READERS:
        raise CompileError(
            f"ending is '{path.suffix}', expected .{' or .'.join(READERS)} (or --input-format)",
            location=Location(str(path)),
        )
    return READERS[chosen](path, ctx)


def _mlir(path: Path | None, ctx: Context | None) -> ModuleOp:
    from ge_xdsl.importers.mlir import decoded, load_mlir, mlir_module

    if path is not None:
        return load_mlir(path, ctx)
    return mlir_module(decoded(stdin_bytes(), "<stdin>"), "<stdin>", Path(), ctx)


def _onnx(path: Path | None, ctx: Context | None) -> ModuleOp:
    from ge_xdsl.importers.onnx.reader import import_onnx, import_onnx_bytes

    if path is not None:
        return import_onnx(path, ctx)
    return import_onnx_bytes(stdin_bytes(), "<stdin>", None, ctx)


def _air(path: Path | None, ctx: Context | None) -> ModuleOp:
    from ge_xdsl.importers.gepb.reader import import_air

    return import_air(path, ctx)


def _proto_text(path: Path | None, ctx: Context | None) -> ModuleOp:
    from ge_xdsl.importers.gepb.reader import import_proto_text

    return import_proto_text(path, ctx)


READERS: dict[str, Callable[[Path | None, Context | None], ModuleOp]] = {
    "mlir": _mlir,
    "onnx": _onnx,
    "air": _air,
    "pbtxt": _proto_text,
    "txt": _proto_text,
}
"""Format -> its reader; the names are the file endings too."""


def _formats() -> str:
    return " or ".join(READERS)
