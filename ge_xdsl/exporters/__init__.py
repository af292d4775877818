"""IR -> foreign formats. `save_module` chooses the writer; writers are imported on use."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ge_xdsl.errors import CompileError, UsageError, nearest

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp
    from xdsl.dialects.func import FuncOp

Warn = Callable[[str], None]
Encode = Callable[["FuncOp", "Warn | None"], bytes]


@dataclass(frozen=True)
class Format:
    """An output format: the file endings that select it, and how a graph becomes its bytes.

    `encode` is None for `mlir`, which holds a whole module and has a writer of its own.
    """

    endings: tuple[str, ...]
    encode: Encode | None = None
    binary: bool = False


def _readable(func: FuncOp, warn: Warn | None) -> bytes:
    from ge_xdsl.exporters.readable import readable_text

    return readable_text(func.body.block).encode("utf-8")


def _ge_proto(func: FuncOp, warn: Warn | None) -> bytes:
    from ge_xdsl.exporters.gepb import proto_text

    return proto_text(func).encode("utf-8")


def _ge_onnx(func: FuncOp, warn: Warn | None) -> bytes:
    from ge_xdsl.exporters.ge_onnx import ge_onnx_text

    return ge_onnx_text(func.body.block).encode("utf-8")


def _air(func: FuncOp, warn: Warn | None) -> bytes:
    from ge_xdsl.exporters.gepb import air_bytes

    return air_bytes(func)


def _dot(func: FuncOp, warn: Warn | None) -> bytes:
    from ge_xdsl.exporters.dot import dot_text

    return dot_text(func.body.block).encode("utf-8")


def _html(func: FuncOp, warn: Warn | None) -> bytes:
    from ge_xdsl.exporters.html import html_text

    return html_text(func.body.block).encode("utf-8")


def _onnx(func: FuncOp, warn: Warn | None) -> bytes:
    from ge_xdsl.exporters.onnx.model import onnx_bytes

    return onnx_bytes(func, warn)


FORMATS: dict[str, Format] = {
    "mlir": Format((".mlir",)),
    "readable": Format((), _readable),
    "ge-proto": Format((".txt",), _ge_proto),
    "ge-onnx": Format((".pbtxt",), _ge_onnx),
    "onnx": Format((".onnx",), _onnx, binary=True),
    "air": Format((".air",), _air, binary=True),
    "dot": Format((".dot", ".gv"), _dot),
    "html": Format((".html", ".htm"), _html),
}
"""Output format -> how it is written."""


def known_formats() -> str:
    """The formats with their endings, for messages."""
    return ", ".join(
        f"{name} ({' '.join(form.endings)})" if form.endings else name
        for name, form in FORMATS.items()
    )


def format_named(name: str) -> Format:
    """The format of a name; raises UsageError."""
    found = FORMATS.get(name)
    if found is None:
        hint = nearest(name, list(FORMATS))
        raise UsageError(
            f"--emit={name} is not available, expected one of: {', '.join(FORMATS)}{hint}"
        )
    return found


def format_of_ending(path: str) -> str:
    """The name of the format that a file's ending selects; raises UsageError for none."""
    ending = Path(path).suffix.lower()
    for name, form in FORMATS.items():
        if ending in form.endings:
            return name
    raise UsageError(f"output is '{path}', expected an ending or --emit of: {known_formats()}")


def encoded(module: ModuleOp, name: str, warn: Warn | None = None) -> bytes:
    """The main graph in a format other than `mlir`; raises CompileError for what is no GE graph.

    `warn` is told what the format does not hold.
    """
    form = FORMATS[name]
    assert form.encode is not None, name
    return form.encode(checked_graph(module, name), warn)


def checked_graph(module: ModuleOp, name: str) -> FuncOp:
    """The one graph of a module, which a format other than `mlir` holds.

    Raises CompileError for several graphs and for ops that are no GE ops.
    """
    from ge_xdsl.dialects.ge.graph import functions, main_function
    from ge_xdsl.dialects.ge.names import describe
    from ge_xdsl.dialects.ge.op import GeOp

    func = main_function(module)
    count = len(functions(module))
    if count != 1:
        raise CompileError(f"the module has {count} functions, expected one for format {name}")
    for op in func.walk():
        if op is not func and not isinstance(op, GeOp) and op.name != "func.return":
            raise CompileError(f"is no GE op, expected only those for format {name}",
                               subject=describe(op))  # fmt: skip
    return func


def save_module(module: ModuleOp, path: str | Path) -> None:
    """Write a module in the format of the file's ending; raises UsageError or CompileError."""
    name = format_of_ending(str(path))
    target = Path(os.path.realpath(path)) if os.path.islink(path) else Path(path)
    if name == "mlir":
        from ge_xdsl.exporters.mlir import write_mlir

        write_mlir(module, target)
        return
    write_graph(module, target, name)


def write_graph(module: ModuleOp, path: Path, name: str, warn: Warn | None = None) -> None:
    """Write the main graph to a file in a format other than `mlir`, in one step."""
    from ge_xdsl.exporters.files import write_bytes

    if name == "onnx":
        from ge_xdsl.exporters.onnx.model import write_onnx

        write_onnx(checked_graph(module, name), path, warn)
    elif name == "air":
        from ge_xdsl.exporters.gepb import write_air

        write_air(checked_graph(module, name), path)
    else:
        write_bytes(path, encoded(module, name, warn))
