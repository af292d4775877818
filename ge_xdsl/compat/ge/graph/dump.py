"""Dumps of a graph as text, the files they go to, and `.air` files."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable
from pathlib import Path

from xdsl.dialects.func import FuncOp
from xdsl.ir import Block

from ge_xdsl.errors import CompileError

_FILES = {
    "kOnnx": ("ge_onnx", "pbtxt"),
    "kTxt": ("ge_proto", "txt"),
    "kReadable": ("ge_readable", "txt"),
}
_COUNTERS = {name: itertools.count() for name in _FILES}
"""Each form counts the files it wrote by itself, from 0."""

_NAME_LIMIT = 255
"""Longest file name, in bytes, that file systems take."""


def text_of(block: Block, form: str) -> str:
    """The dump of a graph; `form` is the name of a DumpFormat."""
    try:
        return _writer(form)(block)
    except CompileError as error:
        raise RuntimeError(f"Failed to dump graph: {error.render()}") from None


def _writer(form: str) -> Callable[[Block], str]:
    if form == "kReadable":
        from ge_xdsl.exporters.readable import readable_text

        return readable_text
    if form == "kTxt":
        from ge_xdsl.exporters.gepb import proto_text

        return proto_text
    from ge_xdsl.exporters.ge_onnx import ge_onnx_text

    return ge_onnx_text


def folder() -> Path:
    """Where dumps go: the first of GE's environment variables that is set, else here."""
    collect, dumps = os.environ.get("NPU_COLLECT_PATH"), os.environ.get("DUMP_GRAPH_PATH")
    if collect:
        return Path(collect) / "extra-info" / "graph" / f"{os.getpid()}_0"
    if dumps:
        return Path(dumps) / f"pid_{os.getpid()}_deviceid_0"
    return Path(os.environ.get("ASCEND_WORK_PATH") or ".")


def write(text: str, form: str, suffix: str) -> Path:
    """Write a dump under its GE name; raises RuntimeError when it cannot be written."""
    prefix, ending = _FILES[form]
    place = folder()
    clean = "".join(c if c.isalnum() or c in "._-" else "_" for c in suffix)
    tail = f"_{clean}" if clean else ""
    stem = f"{prefix}_{next(_COUNTERS[form]):08d}_graph_0{tail}"
    path = place / f"{stem[: _NAME_LIMIT - len(ending) - 1]}.{ending}"
    try:
        place.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise RuntimeError(f"Failed to dump graph: {path}: {reason}") from None
    return path


def save_air(func: FuncOp, path: Path) -> None:
    """Write an `.air` file in one step; raises CompileError."""
    from ge_xdsl.exporters.gepb import air_bytes

    data = air_bytes(func)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        temporary.write_bytes(data)
        temporary.replace(path)
    except (OSError, ValueError) as error:
        raise CompileError(f"{path}: {error}") from None
    finally:
        temporary.unlink(missing_ok=True)


def load_air(path: Path) -> FuncOp:
    """The root graph of an `.air` file; raises CompileError."""
    from ge_xdsl.dialects.ge.graph import main_function
    from ge_xdsl.importers.gepb.reader import import_air

    func = main_function(import_air(path))
    func.detach()
    return func
