"""Reading what a tool is given: a file or standard input, whole or in parts."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from ge_xdsl.passes.session import SessionContext

STDIN = "-"


def file_name(path: str) -> str:
    """How messages name an input."""
    return "<stdin>" if path == STDIN else path


def is_text(path: str, asked: str | None) -> bool:
    """Whether an input is MLIR text, by `--input-format` or the file's ending."""
    return asked == "mlir" or (asked is None and (path == STDIN or Path(path).suffix == ".mlir"))


def read_text(path: str) -> str:
    """The text of a file or of standard input; raises CompileError for what is no UTF-8 text."""
    from ge_xdsl.dialects.ge.store import open_regular
    from ge_xdsl.importers import stdin_bytes
    from ge_xdsl.importers.mlir import decoded

    if path == STDIN:
        return decoded(stdin_bytes(), file_name(path))
    with open_regular(Path(path)) as file:
        return decoded(file.read(), path)


def parse_text(text: str, path: str, ctx: SessionContext) -> ModuleOp:
    """The module of a text, or of a part of one; weights stand beside the file it came from."""
    from ge_xdsl.importers.mlir import mlir_module

    folder = Path() if path == STDIN else Path(path).parent
    return mlir_module(text, file_name(path), folder, ctx)


def load(path: str, ctx: SessionContext, asked: str | None) -> ModuleOp:
    """The module of an input in any format; whatever is wrong with it is a CompileError."""
    from ge_xdsl.importers import load_module

    if path != STDIN:
        ctx.session.source = Path(path)
    return load_module(path, ctx, asked or "")
