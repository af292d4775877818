"""Dumps of a graph as text, the files they go to, and `.air` files."""

from __future__ import annotations

import os
from pathlib import Path

from xdsl.dialects.func import FuncOp
from xdsl.ir import Block

from ge_xdsl.errors import CompileError
from ge_xdsl.exporters.dumps import dump_text, write_dump

_FORMS = {"kOnnx": "ge_onnx", "kTxt": "ge_proto", "kReadable": "readable"}
"""The name of a DumpFormat -> the form of the dump."""


def text_of(block: Block, form: str) -> str:
    """The dump of a graph; `form` is the name of a DumpFormat."""
    try:
        return dump_text(block, _FORMS[form])
    except CompileError as error:
        raise RuntimeError(f"Failed to dump graph: {error.render()}") from None


def write(text: str, form: str, suffix: str) -> Path:
    """Write a dump under its GE name; raises RuntimeError when it cannot be written."""
    try:
        return write_dump(text, _FORMS[form], suffix)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise RuntimeError(f"Failed to dump graph: {error.filename}: {reason}") from None


def save_air(func: FuncOp, path: Path) -> None:
    """Write an `.air` file in one step; raises CompileError."""
    from ge_xdsl.exporters.gepb import air_bytes

    data = air_bytes(func)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        temporary.write_bytes(data)
        temporary.replace(path)
    except (OSError, ValueError) as error:
        reason = (getattr(error, "strerror", None) or str(error)).lower()
        raise CompileError(f"{path}: {reason}") from None
    finally:
        temporary.unlink(missing_ok=True)


def load_air(path: Path) -> FuncOp:
    """The root graph of an `.air` file; raises CompileError."""
    from ge_xdsl.dialects.ge.graph import main_function
    from ge_xdsl.importers.gepb.reader import import_air

    func = main_function(import_air(path))
    func.detach()
    return func
